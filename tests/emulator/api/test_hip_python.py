"""hip-python finds the emulator the way it finds ROCm: 10.0 under $ROCM_PATH/lib, 7.2 on LD_LIBRARY_PATH."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.emulator.api.ctypes_hip import LIBRARY

PROGRAM = Path(__file__).with_name("hip_python_program.py")
OLD = "7.2.2.562.43"


def run(python, code_object, **variables):
    env = {k: v for k, v in os.environ.items() if k not in ("ROCM_PATH", "LD_LIBRARY_PATH")} | variables
    command = [python, str(PROGRAM), str(code_object)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stdout + done.stderr


def test_installed_hip_python(code_object_path):
    if int(version("hip-python").split(".")[0]) >= 10:
        run(sys.executable, code_object_path, ROCM_PATH=str(LIBRARY.parents[1]))
    else:
        run(sys.executable, code_object_path, LD_LIBRARY_PATH=str(LIBRARY.parent))


@pytest.mark.slow
def test_hip_python_7_2(code_object_path, tmp_path):
    """In an environment of its own: a ROCm 7.2 node pins this version."""
    if version("hip-python") == OLD:
        pytest.skip("it is the installed one: test_installed_hip_python ran it")
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target), f"hip-python=={OLD}"]
    subprocess.run(pip, check=True)
    run(sys.executable, code_object_path, LD_LIBRARY_PATH=str(LIBRARY.parent), PYTHONPATH=str(target))
