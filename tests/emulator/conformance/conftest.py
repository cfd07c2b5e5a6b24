"""Fixtures of the conformance suites. The venv with the foreign programs is made by `make conformance-venv` (requirements.txt)."""

import os
from pathlib import Path

import pytest

from .device import Device
from .triton_programs import Compiler, Triton

ROOT = Path(__file__).resolve().parents[3]
VENV = Path(os.environ.get("CONFORMANCE_VENV", ROOT / ".venv-conformance"))


@pytest.fixture(scope="session")
def foreign_python():
    python = VENV / "bin" / "python"
    if not python.exists():
        line = f"python3 -m venv {VENV} && {python} -m pip install --no-deps -r {Path(__file__).with_name('requirements.txt')}"
        if os.environ.get("CI"):
            pytest.fail(f"CI runs the conformance suites, and their venv is missing: {line}")
        pytest.skip(f"no venv with the foreign programs: {line}")
    return python


@pytest.fixture(scope="session")
def site_packages(foreign_python):
    (found,) = (VENV / "lib").glob("python3*/site-packages")
    return found


@pytest.fixture(scope="session")
def device():
    return Device()


@pytest.fixture(scope="session")
def compiler(foreign_python):
    worker = Compiler(foreign_python)
    yield worker
    worker.close()


@pytest.fixture
def triton(compiler, device):
    return Triton(compiler, device)
