"""The wheel in an environment of its own: hip-python and nothing else of ours, read-only, running the demo's problem."""

import os
import shutil
import stat
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.conftest import EMULATOR_ROCM, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prebuilt")]

HIP_PYTHONS = ["10.0.0.0.1.2", "7.2.2.562.43"]
LIMIT_BYTES = 5 << 20


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_is_small_and_carries_the_runtime_and_the_objects_only(wheel, prebuilt):
    assert wheel.name.endswith("-py3-none-any.whl")
    assert wheel.stat().st_size < LIMIT_BYTES
    names = zipfile.ZipFile(wheel).namelist()
    folders = {name.split("/")[0] for name in names}
    assert {f for f in folders if not f.endswith(".dist-info")} == {"paged_attn_runtime"}
    packed = {Path(name).name for name in names if name.startswith("paged_attn_runtime/prebuilt/gfx950/")}
    assert packed == {path.name for path in prebuilt.iterdir()}
    assert "paged_attn_runtime/py.typed" in names


@pytest.fixture(scope="module", params=HIP_PYTHONS)
def environment(request, wheel, tmp_path_factory):
    """A fresh virtual environment: the wheel, hip-python, and for the check numpy with ml_dtypes."""
    folder = tmp_path_factory.mktemp("node")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "-q"]
    subprocess.run([*pip, f"hip-python=={request.param}", str(wheel)], check=True, capture_output=True, text=True)
    listed = subprocess.run([str(python), "-m", "pip", "list"], check=True, capture_output=True, text=True).stdout
    assert not {"torch", "flydsl", "PyYAML"} & {line.split()[0] for line in listed.splitlines()}
    subprocess.run([*pip, "numpy", "ml_dtypes"], check=True, capture_output=True, text=True)
    # The demo and the reference, away from the checkout, so that `paged_attn_runtime` is the installed one.
    shutil.copytree(ROOT / "tests" / "reference", folder / "tests" / "reference")
    shutil.copytree(ROOT / "examples", folder / "examples")
    (installed,) = (folder / "venv").glob("lib/python*/site-packages/paged_attn_runtime")
    for path in [installed, *installed.rglob("*")]:
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    return folder, python


def run(environment, *arguments):
    folder, python = environment
    settings = {k: v for k, v in os.environ.items() if not k.startswith(("PAGED_ATTN_", "PYTHON"))}
    settings.update(
        ROCM_PATH=str(EMULATOR_ROCM), LD_LIBRARY_PATH=str(EMULATOR_ROCM / "lib"), PYTHONDONTWRITEBYTECODE="1"
    )
    return subprocess.run([str(python), *arguments], cwd=folder, env=settings, capture_output=True, text=True)


def test_the_demo_runs_from_an_installed_wheel(environment, emulated):
    done = run(environment, "-m", "examples.demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verdict   right" in done.stdout


def test_the_command_line_works_from_an_installed_wheel(environment, emulated):
    done = run(environment, "-m", "paged_attn_runtime", "verify")
    assert done.returncode == 0, done.stdout + done.stderr
    done = run(environment, "-m", "paged_attn_runtime", "list")
    assert "paged_prefill_d192_v128_p64_vectorized_5d_single" in done.stdout
