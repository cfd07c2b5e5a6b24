"""Triton's own AMD driver, unchanged, finds the emulator as its libamdhip64, and compiles, loads and launches through it."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.emulator.api.ctypes_hip import LIBRARY


def test_tritons_driver_launches_on_the_emulator(foreign_python, tmp_path):
    where = [str(foreign_python), "-c", "import sysconfig; print(sysconfig.get_path('include'))"]
    headers = Path(subprocess.run(where, check=True, capture_output=True, text=True).stdout.strip())
    if not (headers / "Python.h").exists():
        pytest.skip(f"Triton's driver compiles a module of its own, for which {headers}/Python.h is missing")
    log = tmp_path / "calls"
    env = os.environ | {
        "TRITON_LIBHIP_PATH": str(LIBRARY.with_name("libamdhip64.so")),
        "TRITON_CACHE_DIR": str(tmp_path / "cache"),
        "GFX950_EMU_LOG": str(log),
    }
    program = Path(__file__).with_name("triton_driver_program.py")
    done = subprocess.run([str(foreign_python), str(program)], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "triton's driver launched 2 kernels\n"
    calls = log.read_text().splitlines()
    assert sum(call.startswith(("hipModuleLaunchKernel(", "hipDrvLaunchKernelEx(")) for call in calls) == 2
    looked_up = [call for call in calls if call.startswith("hipGetProcAddress(")]
    assert looked_up and all("= hipSuccess" in call for call in looked_up)
