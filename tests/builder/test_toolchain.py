"""What the build needs and does not find: the error ends in the command that installs it."""

import importlib.metadata
import importlib.util
import os
import stat
import subprocess
import sys

import pytest

from builder import toolchain
from builder.toolchain import ToolchainError, find_toolchain, worker_environment


def test_what_is_here_is_found():
    found = find_toolchain()
    assert found.flydsl_version == toolchain.FLYDSL_VERSION
    assert "LLD " in found.linker and "compatible" not in found.linker
    assert found.linker_path.exists()


def test_no_flydsl(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(ToolchainError, match=r"^FlyDSL is not installed: pip install flydsl==0\.5\.0$"):
        find_toolchain()


def test_another_flydsl(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.4.2")
    with pytest.raises(
        ToolchainError, match=r"FlyDSL 0\.4\.2 is installed; .* pinned to 0\.5\.0: pip install flydsl==0\.5\.0$"
    ):
        find_toolchain()


@pytest.mark.parametrize(
    "module, message",
    {
        "torch": r"^torch \(FlyDSL imports it\) is not installed: pip install torch$",
        "elftools": r"^pyelftools is not installed: pip install pyelftools$",
        "msgpack": r"^msgpack is not installed: pip install msgpack$",
    }.items(),
)
def test_no_module(monkeypatch, module, message):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else real(name))
    with pytest.raises(ToolchainError, match=message):
        find_toolchain()


def use_only(monkeypatch, folder):
    """A machine on which the linkers are those of `folder`."""
    real = toolchain.shutil.which
    inside = {"ld.lld-22", "ld.lld"}
    monkeypatch.setattr(
        toolchain.shutil, "which", lambda name: real(name, path=str(folder)) if name in inside else None
    )


def write_linker(folder, name, says):
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_no_linker(monkeypatch, tmp_path):
    use_only(monkeypatch, tmp_path)
    with pytest.raises(ToolchainError, match=r"^no ld\.lld of LLVM 20 or newer was found: apt-get install lld-22$"):
        find_toolchain()


def test_an_old_linker(monkeypatch, tmp_path):
    use_only(monkeypatch, tmp_path)
    write_linker(tmp_path, "ld.lld", "Debian LLD 14.0.6 (compatible with GNU linkers)")
    with pytest.raises(
        ToolchainError, match=r"found \(.*/ld\.lld is Debian LLD 14\.0\.6 .*\): apt-get install lld-22$"
    ):
        find_toolchain()


def test_the_pinned_linker_goes_before_another(monkeypatch, tmp_path):
    use_only(monkeypatch, tmp_path)
    write_linker(tmp_path, "ld.lld", "AMD LLD 23.0.0 (compatible with GNU linkers)")
    assert find_toolchain().linker == "AMD LLD 23.0.0"
    write_linker(tmp_path, "ld.lld-22", "Debian LLD 22.1.8 (compatible with GNU linkers)")
    assert find_toolchain().linker == "Debian LLD 22.1.8"


def test_the_callers_switches_do_not_reach_the_compiler(tmp_path):
    environment = worker_environment(
        tmp_path,
        {"PATH": "/bin", "FLYDSL_DUMP_IR": "1", "COMPILE_ONLY": "1", "ARCH": "gfx942", "ROCM_PATH": "/opt/rocm"},
    )
    assert environment["PATH"] == "/bin" and environment["ROCM_PATH"] == str(tmp_path)
    assert environment["ARCH"] == environment["FLYDSL_GPU_ARCH"] == "gfx950"
    assert not {"FLYDSL_DUMP_IR", "COMPILE_ONLY"} & set(environment)


def test_a_flydsl_that_cannot_be_imported_is_reported_in_its_own_words(fresh):
    broken = fresh.root / "broken" / "flydsl"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('libsomething.so: cannot open shared object file')\n")
    done = fresh.run(code=2, env={**os.environ, "PYTHONPATH": str(broken.parent)})
    assert "FlyDSL cannot be imported" in done.stderr and "libsomething.so: cannot open shared object" in done.stderr


def test_no_pyyaml(fresh):
    script = "import sys, runpy; sys.modules['yaml'] = None; runpy.run_path('build_kernels.py', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", script], cwd=fresh.root, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.strip() == "build_kernels: PyYAML is not installed: pip install PyYAML"
