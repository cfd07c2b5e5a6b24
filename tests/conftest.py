"""Picks what the tests run on before anything imports hip-python: the emulator in strict mode, or a gfx950.

pytest                    the emulator (emulator/build), strict
pytest --target gpu       the machine's own ROCm and gfx950
"""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EMULATOR_ROCM = ROOT / "emulator" / "build" / "rocm"


def pytest_addoption(parser):
    parser.addoption("--target", choices=("emulator", "gpu"), default="emulator", help="what runs the code objects")


def pytest_configure(config):
    if config.getoption("--target") == "gpu":
        return
    os.environ["ROCM_PATH"] = str(EMULATOR_ROCM)
    os.environ.setdefault("GFX950_EMU_STRICT", "1")


def pytest_report_header(config):
    if config.getoption("--target") == "gpu":
        return "target: the machine's own gfx950"
    built = (EMULATOR_ROCM / "lib" / "libamdhip64.so").exists()
    return f"target: {'the emulator' if built else 'the emulator, WHICH IS NOT BUILT: run `make emulator`'}"


@pytest.fixture(scope="session")
def target(request):
    return request.config.getoption("--target")


@pytest.fixture(scope="session")
def emulated(target):
    """For tests of what only the emulator can tell; on a gfx950 they have nothing to look at."""
    if target == "gpu":
        pytest.skip("needs the emulator's own reports")


@pytest.fixture(scope="session")
def prebuilt():
    """The checkout's prebuilt/gfx950 with every variant of configs/gfx950.yaml in it."""
    folder = ROOT / "prebuilt" / "gfx950"
    if not (folder / "manifest.json").exists():
        pytest.fail("prebuilt/ holds no manifest: run `make kernels`")
    return folder
