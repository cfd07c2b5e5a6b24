"""The same inputs give the same bytes: in another folder, under another environment, for another number of jobs."""

import os
import shutil
import subprocess

import pytest

from .conftest import lay_out


def test_two_folders_two_environments_the_same_bytes(built_once, tmp_path):
    root = tmp_path / "a folder with spaces, and a much longer name than the other one has" / "project"
    root.mkdir(parents=True)
    other = lay_out(root)
    environment = {
        **os.environ,
        "HOME": "/nonexistent",
        "USER": "somebody-else",
        "TZ": "Pacific/Auckland",
        "LANG": "C",
        "PYTHONHASHSEED": "77",
        "FLYDSL_GPU_ARCH": "gfx942",
        "FLYDSL_DEBUG_ENABLE_DEBUG_INFO": "1",
        "ROCM_PATH": "/nonexistent",
        "COMPILE_ONLY": "1",
    }
    other.run("--jobs", "1", cwd=root.parent, env=environment, umask=0o077)
    assert other.contents() == built_once.contents()


def test_another_user_checks_what_this_one_built(built):
    """In a user namespace, where we are somebody else who may read the same files."""
    somebody = ["unshare", "--user", "--map-user=12345", "--map-group=12345"]
    if subprocess.run([*somebody, "true"], capture_output=True).returncode:
        pytest.skip("user namespaces are not allowed here")
    command = [*somebody, *built.command("--check")]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HOME": "/nonexistent"})
    assert "4 variants compiled anew give the same bytes" in done.stdout, done.stderr


def test_check_passes_on_what_another_folder_built(built_once, fresh):
    shutil.copytree(built_once.published, fresh.published)
    done = fresh.run("--check")
    assert "4 variants compiled anew give the same bytes" in done.stdout
    assert sorted(path.name for path in (fresh.root / "prebuilt").iterdir()) == ["gfx950"], "it leaves nothing behind"


def test_check_of_some_variants(built_once):
    assert "2 variants compiled anew give the same bytes" in built_once.run("--check", "--only", "p64").stdout


def test_what_another_folder_built_is_taken_as_it_is(built_once, fresh):
    shutil.copytree(built_once.published, fresh.published)
    assert fresh.build()["built"] == []


NAME = "paged_prefill_d128_v128_p1_linear_longest_first.hsaco"


def flip(project):
    path = project.published / NAME
    data = bytearray(path.read_bytes())
    data[1000] ^= 1
    path.write_bytes(data)


DAMAGE = {
    "flipped": (flip, f"{NAME} differs from byte 1000 on"),
    "deleted": (lambda project: (project.published / NAME).unlink(), f"{NAME} cannot be read: No such file"),
    "stray": (
        lambda project: (project.published / "old.hsaco").touch(),
        "old.hsaco is published, but the build does not make it",
    ),
    "another rule": (
        lambda project: project.edit(
            "prebuilt/gfx950/manifest.json", '"policy": "longest_first"', '"policy": "single"'
        ),
        "manifest.json differs from byte",
    ),
    "a changed source": (
        lambda project: project.edit("kernels/linear.py", "SCALE = 2.0", "SCALE = 2.5"),
        f"{NAME} differs from byte",
    ),
    "a changed comment": (
        lambda project: project.edit("kernels/linear.py", "# only", "# none but"),
        "manifest.json differs from byte",
    ),
    "a kernel that is broken now": (
        lambda project: project.edit("kernels/linear.py", "SCALE = 2.0", "SCALE = None"),
        f"{NAME.removesuffix('.hsaco')} does not compile: ",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_check_finds(built, damage):
    make, message = DAMAGE[damage]
    make(built)
    before = built.contents()
    assert message in built.run("--check", code=1).stdout
    assert built.contents() == before, "a check changes nothing"


def test_check_refuses_to_compare_with_another_linker(built):
    built.edit("prebuilt/gfx950/manifest.json", '"linker": "', '"linker": "Another ')
    said = built.run("--check", code=1).stderr
    assert "was built with linker Another " in said and "the bytes cannot be compared" in said


def test_check_needs_something_to_compare_with(fresh):
    assert "manifest.json is not there or not readable; build first" in fresh.run("--check", code=1).stderr
