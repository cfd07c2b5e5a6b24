"""Eight threads in the whole API at once (threads.cpp), each checking its own results."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.emulator.api.ctypes_hip import LIBRARY


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    compiler = (
        shutil.which("c++")
        or shutil.which("clang++-22")
        or pytest.fail("no C++ compiler is installed: run `make setup`")
    )
    path = tmp_path_factory.mktemp("threads") / "threads"
    source = Path(__file__).with_name("threads.cpp")
    subprocess.run([compiler, "-std=c++20", "-O1", str(source), "-o", str(path), "-pthread", "-ldl"], check=True)
    return path


@pytest.mark.parametrize("delay", ["0", "300"])
def test_threads(program, code_object_path, delay):
    env = os.environ | {"GFX950_EMU_DEVICES": "2", "GFX950_EMU_STREAM_DELAY_US": delay}
    command = [str(program), str(LIBRARY), str(code_object_path), "1.5", "8"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, (done.returncode, done.stderr[-2000:])
    rounds, graphs = map(int, done.stdout.replace("rounds,", "").replace("graphs", "").split())
    assert rounds > 100 and graphs > 5
