"""A wheel is built from a prebuilt/ that is whole, complete and current, and from no other."""

import subprocess
import sys
import zipfile

import pytest

PYPROJECT = """\
[build-system]
requires = ["setuptools", "PyYAML"]
build-backend = "setuptools.build_meta"

[project]
name = "paged-attn-runtime"
version = "0"

[tool.setuptools]
packages = ["paged_attn_runtime"]

[tool.setuptools.cmdclass]
build_py = "builder.wheel.BuildPy"
"""
NAME = "paged_prefill_d128_v128_p1_linear_longest_first"


def build_wheel(project, hook="build_wheel"):
    """Runs the build back end as a front end does, without fetching anything."""
    (project.root / "pyproject.toml").write_text(PYPROJECT)
    script = f"import sys; from setuptools import build_meta; build_meta.{hook}(sys.argv[1])"
    command = [sys.executable, "-c", script, str(project.root / "dist")]
    return subprocess.run(command, cwd=project.root, capture_output=True, text=True)


def packed(project):
    (path,) = (project.root / "dist").glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist()}


def test_a_wheel_carries_the_published_files(built):
    done = build_wheel(built)
    assert done.returncode == 0, done.stderr
    prefix = "paged_attn_runtime/prebuilt/gfx950/"
    files = packed(built)
    assert {n.removeprefix(prefix): data for n, data in files.items() if n.startswith(prefix)} == built.contents()
    assert not [
        name for name in files if not name.startswith(("paged_attn_runtime/", "paged_attn_runtime-0.dist-info/"))
    ]


def test_a_wheel_carries_nothing_of_an_earlier_build(built):
    left = built.root / "build" / "lib" / "paged_attn_runtime" / "prebuilt" / "gfx950"
    left.mkdir(parents=True)
    (left / "old.hsaco").touch()
    (left.parents[1] / "removed_module.py").touch()
    assert build_wheel(built).returncode == 0
    assert not [name for name in packed(built) if "old.hsaco" in name or "removed_module" in name]


def test_an_editable_install_needs_no_objects(fresh):
    done = build_wheel(fresh, hook="build_editable")
    assert done.returncode == 0, done.stderr
    assert not [name for name in packed(fresh) if "hsaco" in name]


def remove(project, name):
    (project.published / name).unlink()


UNFIT = {
    "missing": (
        lambda project: (project.root / "prebuilt").rename(project.root / "elsewhere"),
        "manifest.json is not there",
    ),
    "without an object": (
        lambda project: remove(project, f"{NAME}.hsaco"),
        f"{NAME}.hsaco is listed in the manifest, but is not there",
    ),
    "with a stray file": (
        lambda project: (project.published / "notes.txt").touch(),
        "notes.txt is there, but is not listed in the manifest",
    ),
    "damaged": (
        lambda project: (project.published / f"{NAME}.hsaco").write_bytes(b"x" * 5000),
        f"{NAME}.hsaco has 5000 bytes; the manifest says",
    ),
    "partial": (
        lambda project: project.edit("configs/gfx950.yaml", "[1, 64]", "[1, 64, 16]"),
        "paged_prefill_d128_v128_p16_vectorized_5d_longest_first is in the matrix, but is not built",
    ),
    "more than the matrix": (
        lambda project: project.edit("configs/gfx950.yaml", "[1, 64]", "[64]"),
        f"{NAME} is built, but is not in the matrix",
    ),
    "of other sources": (
        lambda project: project.edit("kernels/linear.py", "SCALE = 2.0", "SCALE = 2.5"),
        "stale: kernels/linear.py was changed after the build",
    ),
    "of sources that are gone": (
        lambda project: (project.root / "kernels" / "linear.py").unlink(),
        "stale: kernels/linear.py was removed after the build",
    ),
    "of another matrix": (
        lambda project: project.edit(
            "configs/gfx950.yaml",
            "policy_rules:\n",
            "policy_rules:\n  - {policy: longest_first, when: {batch: {max: 2}}}\n",
        ),
        "stale: built with the matrix's digest ",
    ),
    "of another version": (
        lambda project: (project.root / "paged_attn_runtime" / "version.py").write_text('__version__ = "9.8.7"\n'),
        "stale: built with package version ",
    ),
    "of another FlyDSL": (
        lambda project: project.edit("builder/toolchain.py", 'FLYDSL_VERSION = "0.5.0"', 'FLYDSL_VERSION = "0.6.0"'),
        "stale: built with FlyDSL 0.5.0; it is 0.6.0 now",
    ),
    "with other switches": (
        lambda project: project.edit("builder/toolchain.py", '"ARCH": ARCH,', '"ARCH": ARCH, "FLYDSL_X": "1",'),
        "stale: built with compile options ",
    ),
    "of another linker than it says": (
        lambda project: project.edit("prebuilt/gfx950/manifest.json", '"linker": "', '"linker": "Another '),
        f"stale: {NAME} was made of other inputs than the manifest says",
    ),
    "by a matrix that cannot be read": (
        lambda project: project.edit("configs/gfx950.yaml", "arch:", "architecture:"),
        "configs/gfx950.yaml:1: unknown key 'architecture'",
    ),
}


@pytest.mark.parametrize("fault", UNFIT)
def test_no_wheel_is_built_from_a_prebuilt_that_is(built, fault):
    make, message = UNFIT[fault]
    make(built)
    done = build_wheel(built)
    assert done.returncode != 0 and not list((built.root / "dist").glob("*.whl"))
    assert message in done.stderr
    if "matrix that cannot" not in fault:
        assert "Build it with: make kernels (or python build_kernels.py)" in done.stderr
