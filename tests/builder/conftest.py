"""A project of its own for each test: the real builder with tiny kernels, in a temporary folder, run as a user runs it."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from paged_attn_runtime.manifest import seal, unseal

ROOT = Path(__file__).resolve().parents[2]
TINY_KERNELS = Path(__file__).parent / "tiny_kernels"
MATRIX = """\
arch: gfx950
matrix:
  - head_dims: [[128, 128], [192, 128]]
    page_sizes: [1, 64]
    batch_policies: [longest_first]
policy_rules:
  - policy: longest_first
"""
NO_BYTECODE = shutil.ignore_patterns("__pycache__")


@dataclasses.dataclass
class Project:
    root: Path

    @property
    def published(self):
        return self.root / "prebuilt" / "gfx950"

    def command(self, *arguments):
        return [sys.executable, str(self.root / "build_kernels.py"), "--jobs", "2", *arguments]

    def run(self, *arguments, code=0, **options):
        """Runs build_kernels.py and expects its exit code."""
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=120, **options)
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def build(self, *arguments, code=0, **options):
        """Builds, and returns what --json says of it."""
        return json.loads(self.run("--json", *arguments, code=code, **options).stdout)

    def edit(self, path, old, new):
        text = (self.root / path).read_text()
        assert old in text
        text = text.replace(old, new)
        if path.endswith("manifest.json"):  # another manifest, not a damaged one
            text = seal(unseal(text)[0])
        (self.root / path).write_text(text)

    def set_fault(self, fault):
        self.edit("kernels/__init__.py", 'FAULT = "none"', f'FAULT = "{fault}"')

    def copy(self, root):
        shutil.copytree(self.root, root, ignore=NO_BYTECODE)
        return Project(root)

    def contents(self):
        return {path.name: path.read_bytes() for path in self.published.iterdir()}

    def processes(self):
        """Every process of which the command line names this project."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                line = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(str(self.root)) in line and int(folder.name) != os.getpid():
                found.append(int(folder.name))
        return found


def lay_out(root):
    for name in ("builder", "paged_attn_runtime"):
        shutil.copytree(ROOT / name, root / name, ignore=NO_BYTECODE)
    shutil.copy(ROOT / "build_kernels.py", root)
    shutil.copytree(TINY_KERNELS, root / "kernels", ignore=NO_BYTECODE)
    (root / "configs").mkdir()
    (root / "configs" / "gfx950.yaml").write_text(MATRIX)
    return Project(root)


@pytest.fixture(scope="session")
def built_once(tmp_path_factory):
    """A project that is built; for tests that only look at it, and to copy from."""
    project = lay_out(tmp_path_factory.mktemp("built"))
    project.first_build = project.build()
    return project


@pytest.fixture
def fresh(tmp_path):
    """A project in which nothing is built yet."""
    (tmp_path / "project").mkdir()
    return lay_out(tmp_path / "project")


@pytest.fixture
def built(built_once, tmp_path):
    """A project of the test's own that is built."""
    return built_once.copy(tmp_path / "project")
