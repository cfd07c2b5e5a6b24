import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emulator.api.ctypes_hip import LIBRARY, Hip

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
KERNELS = ("store", "add_one", "mixed", "bump", "spin", "one_wave", "with_lds")


@pytest.fixture(scope="session", autouse=True)
def library(emulated):
    if not LIBRARY.exists():
        pytest.fail("the emulator is not built: run `make emulator`")
    return LIBRARY


@pytest.fixture(scope="session")
def hip(library):
    return Hip(library)


@pytest.fixture(autouse=True)
def clean_state(request):
    """Every test starts on device 0 with no error pending from the one before, and leaves no capture behind."""
    hip = request.getfixturevalue("hip")
    hip.ok("hipSetDevice", 0)
    hip("hipDeviceSynchronize")
    hip("hipGetLastError")


@pytest.fixture(scope="session")
def code_object_path(tmp_path_factory):
    clang = shutil.which("clang-22") or pytest.fail("clang-22 is not installed: run `make setup`")
    path = tmp_path_factory.mktemp("kernels") / "kernels.hsaco"
    flags = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx950", "-O2", "-nogpulib"]
    linker = f"--ld-path={shutil.which('ld.lld-22')}"
    subprocess.run([clang, *flags, linker, str(HERE / "kernels.cl"), "-o", str(path)], check=True)
    return path


@pytest.fixture(scope="session")
def image(code_object_path):
    return code_object_path.read_bytes()


@pytest.fixture
def module(hip, image):
    handle = hip.module(image)
    yield handle
    hip("hipModuleUnload", handle)


@pytest.fixture
def functions(hip, module):
    return {name: hip.function(module, name) for name in KERNELS}


@pytest.fixture
def stream(hip):
    handle = hip.stream()
    yield handle
    hip("hipStreamDestroy", handle)


@pytest.fixture
def run_process(code_object_path):
    """Runs Python code in a process of its own with variables set; `hip`, `image`, `functions` are there. Returns the completed process."""

    def run(code, timeout=60, check=True, **variables):
        prelude = (
            "import ctypes, os, struct, sys, threading, time\n"
            "from tests.emulator.api.ctypes_hip import *\n"
            f"KERNELS = {KERNELS!r}\n"
            f"image = open({str(code_object_path)!r}, 'rb').read()\n"
            "hip = Hip()\n"
            "def load():\n"
            "    module = hip.module(image)\n"
            "    return {name: hip.function(module, name) for name in KERNELS}\n"
        )
        env = {k: v for k, v in os.environ.items() if not k.startswith(("GFX950_EMU_", "HIP_VISIBLE"))} | variables
        done = subprocess.run(
            [sys.executable, "-c", prelude + code], cwd=ROOT, env=env, capture_output=True, text=True, timeout=timeout
        )
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run
