"""The C example, built with the manifest's header alone and run: what docs/manifest.md says is enough to launch a variant."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import EMULATOR_ROCM, ROOT

EXAMPLE = ROOT / "examples" / "c"


@pytest.fixture
def compiler():
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang", "clang-22"))), None)
    assert found, "no C compiler: apt-get install gcc"
    return found


def make_header(folder, name, path):
    command = [sys.executable, str(EXAMPLE / "make_header.py"), str(folder), name]
    done = subprocess.run(command, capture_output=True, text=True)
    path.write_text(done.stdout)
    return done


@pytest.mark.parametrize(
    "name",
    [
        "paged_prefill_d192_v128_p64_vectorized_5d_longest_first",
        "paged_prefill_d128_v128_p16_vectorized_5d_interleaved",
        "paged_prefill_d192_v192_p1_linear_longest_first",
    ],
)
def test_a_stranger_launches_a_variant(prebuilt, target, compiler, tmp_path, name):
    assert make_header(prebuilt, name, tmp_path / "variant.h").returncode == 0
    warnings = ["-Wall", "-Wextra", "-Werror"]
    command = [compiler, "-std=c11", "-O2", *warnings, "-I", str(tmp_path), str(EXAMPLE / "launch.c"), "-ldl", "-lm"]
    subprocess.run([*command, "-o", str(tmp_path / "launch")], check=True)
    environment = dict(os.environ)
    if target == "emulator":
        environment["LD_LIBRARY_PATH"] = str(EMULATOR_ROCM / "lib")
    done = subprocess.run([str(tmp_path / "launch")], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(rf"{name}: largest error 0\.\d+ of what rounding allows, lse 0\.\d+\n", done.stdout)


def test_the_header_is_of_the_file_that_is_there(built_once, tmp_path):
    (entry, *_) = sorted(built_once.published.glob("*.hsaco"))
    shutil.copytree(built_once.published, tmp_path / "copy")
    (tmp_path / "copy" / entry.name).write_bytes(b"x")
    done = make_header(tmp_path / "copy", entry.stem, tmp_path / "variant.h")
    assert done.returncode == 1 and f"{entry.name} is not the file that the manifest describes" in done.stderr


def test_a_variant_that_is_not_there_names_those_that_are(built_once, tmp_path):
    done = make_header(built_once.published, "nothing", tmp_path / "variant.h")
    assert done.returncode == 1 and "no such variant; there are:\n  paged_prefill_d128" in done.stderr
