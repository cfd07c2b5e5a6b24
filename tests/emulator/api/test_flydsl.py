"""FlyDSL's own JIT runtime (libfly_jit_runtime.so, linked against libamdhip64.so.7 with hip_4.2 symbols) runs a kernel on the emulator."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emulator.api.ctypes_hip import LIBRARY

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(importlib.util.find_spec("flydsl") is None, reason="flydsl is not installed (the build extra)")
def test_flydsl_runs_a_kernel(tmp_path):
    (tmp_path / "llvm" / "bin").mkdir(parents=True)
    (tmp_path / "llvm" / "bin" / "ld.lld").symlink_to(shutil.which("ld.lld-22"))
    (tmp_path / "lib").symlink_to(LIBRARY.parent)
    log = tmp_path / "calls"
    env = os.environ | {
        "ROCM_PATH": str(tmp_path),
        "LD_LIBRARY_PATH": str(LIBRARY.parent),
        "FLYDSL_GPU_ARCH": "gfx950",
        "ARCH": "gfx950",
        "FLYDSL_RUNTIME_ENABLE_CACHE": "0",
        "GFX950_EMU_LOG": str(log),
    }
    command = [sys.executable, "-m", "tests.emulator.api.flydsl_program"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "flydsl ran 1 module\n"
    launches = [line for line in log.read_text().splitlines() if line.startswith("hipModuleLaunchKernel(")]
    assert len(launches) == 1 and "grid=(4, 1, 1), block=(256, 1, 1), lds=0" in launches[0]
