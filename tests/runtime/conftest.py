"""The runtime's tests: folders of objects to look at and to damage, and a fresh process where a test needs one."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from paged_attn_runtime import catalogue, prefill
from paged_attn_runtime.manifest import seal
from paged_attn_runtime.manifest_reader import load_manifest

ROOT = Path(__file__).parents[2]
EMULATOR_ROCM = ROOT / "emulator" / "build" / "rocm"


@pytest.fixture(scope="session")
def objects():
    """The folder that the runtime itself finds: the checkout's prebuilt/, or what PAGED_ATTN_PREBUILT names."""
    try:
        return catalogue.prebuilt_folder()
    except Exception as error:  # noqa: BLE001
        pytest.fail(f"{error}")


@pytest.fixture
def manifest(objects):
    return load_manifest(objects)


@pytest.fixture
def damaged(objects, tmp_path, monkeypatch):
    """A copy of the objects that the runtime looks at, for a test to damage. Nothing prepared before is used."""
    folder = tmp_path / "prebuilt" / "gfx950"
    shutil.copytree(objects, folder)
    monkeypatch.setenv("PAGED_ATTN_PREBUILT", str(folder.parent))
    prefill.forget()
    yield folder
    prefill.forget()


def edit_manifest(folder, change):
    """Apply `change` to the JSON of a folder's manifest, and give it the digest that belongs to it."""
    path = folder / "manifest.json"
    value = json.loads(path.read_text())
    change(value)
    value.pop("digest", None)
    path.write_text(seal(json.dumps(value, indent=1) + "\n"))


@pytest.fixture
def fresh_process(objects):
    """Runs a program in a Python of its own, on the same target; returns what it printed.

    Extra environment by keyword.
    """

    def run(program, *, code=0, **environment):
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        env = {**os.environ, "PAGED_ATTN_PREBUILT": str(objects), "PYTHONPATH": path, **environment}
        env = {name: value for name, value in env.items() if value is not None}
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            capture_output=True,
            text=True,
            timeout=120,
            env=env,
            cwd=ROOT,
        )
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr if code else done.stdout

    return run
