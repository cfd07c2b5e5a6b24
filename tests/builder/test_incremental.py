"""Incremental by content: what a change rebuilds, and what it does not."""

import os
import subprocess
import sys
import time

import pytest

from paged_attn_runtime.manifest_check import check_folder
from paged_attn_runtime.manifest_reader import load_manifest

LINEAR = {f"paged_prefill_d{d}_v128_p1_linear_longest_first" for d in (128, 192)}
VECTORIZED = {f"paged_prefill_d{d}_v128_p64_vectorized_5d_longest_first" for d in (128, 192)}
ALL = LINEAR | VECTORIZED


def built_names(outcome):
    return {row["name"] for row in outcome["built"]}


def test_a_first_build_compiles_everything(built_once):
    assert built_names(built_once.first_build) == ALL
    assert set(built_once.first_build["listed"]) == ALL
    assert check_folder(built_once.published) == []
    assert max(row["peak_mib"] for row in built_once.first_build["built"]) < 2048


def test_a_second_build_compiles_nothing_in_under_two_seconds(built):
    before = {path: path.stat().st_mtime_ns for path in built.published.iterdir()}
    started = time.monotonic()
    outcome = built.build()
    assert time.monotonic() - started < 2
    assert outcome["built"] == [] and set(outcome["kept"]) == ALL and not outcome["published"]
    assert {path: path.stat().st_mtime_ns for path in built.published.iterdir()} == before


def test_a_build_with_nothing_to_compile_imports_no_compiler(built):
    script = (
        "import sys; sys.path.insert(0, '.'); from pathlib import Path; from builder.command_line import main;"
        "assert main(Path('.').resolve(), []) == 0; print(sorted({'flydsl', 'torch', 'hip', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=built.root, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


CHANGES = {
    "what all import": ("kernels/source.py", "* factor", "* factor * factor", ALL),
    "what some import": ("kernels/linear.py", "SCALE = 2.0", "SCALE = 4.0", LINEAR),
    "a comment": ("kernels/vectorized.py", "only vectorized_5d", "none but vectorized_5d", VECTORIZED),
    "what nobody imports": ("kernels/unused.py", "UNUSED = True", "UNUSED = False", set()),
    "the checks": ("builder/code_object.py", "_WAVE = 64", "_WAVE = 32 + 32", ALL),
    "the variant's definition": ("paged_attn_runtime/variant.py", '"""One compiled', '"""Exactly one compiled', ALL),
    "the builder elsewhere": ("builder/progress.py", "_BAR_CELLS = 24", "_BAR_CELLS = 25", set()),
    "the runtime elsewhere": ("paged_attn_runtime/errors.py", '"""The errors', '"""All errors', set()),
    "a comment in the matrix": ("configs/gfx950.yaml", "arch: gfx950", "arch: gfx950  # MI350X", set()),
    "the schema's version": ("paged_attn_runtime/manifest.py", "SCHEMA_VERSION = 1\nSUPPORTED_SCHEMA_VERSIONS = (1,)",
                             "SCHEMA_VERSION = 2\nSUPPORTED_SCHEMA_VERSIONS = (2,)", ALL),
    "the compiler's switches": ("builder/toolchain.py", '"ARCH": ARCH,', '"ARCH": ARCH, "FLYDSL_DEBUG_PRINT_AFTER_ALL": "0",', ALL),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_rebuilds_what_depends_on_it(built, change):
    path, old, new, expected = CHANGES[change]
    built.edit(path, old, new)
    assert built_names(built.build()) == expected
    assert built_names(built.build()) == set()


def test_an_edit_within_the_same_second_is_seen(built):
    """Byte code of the old source has the new one's size and time stamp here."""
    path = built.root / "kernels" / "linear.py"
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(path.parent)], check=True)
    stamp = path.stat().st_mtime
    built.edit("kernels/linear.py", "SCALE = 2.0", "SCALE = 5.0")
    os.utime(path, (stamp, stamp))
    before = built.contents()
    assert built_names(built.build()) == LINEAR
    after = built.contents()
    assert all(after[f"{name}.hsaco"] != before[f"{name}.hsaco"] for name in LINEAR)


def test_another_rule_rewrites_the_manifest_and_compiles_nothing(built):
    built.edit("configs/gfx950.yaml", "[longest_first]", "[single, longest_first]")
    rule = "policy_rules:\n  - {policy: single, when: {batch: {max: 1}}}\n"
    built.edit("configs/gfx950.yaml", "policy_rules:\n", rule)
    assert len(built.build()["built"]) == 4
    built.edit("configs/gfx950.yaml", "max: 1}", "max: 2}")
    outcome = built.build()
    assert outcome["built"] == [] and outcome["published"]
    assert load_manifest(built.published).batch_policies[0].when["batch"].max == 2


def test_another_package_version_rewrites_the_manifest_and_compiles_nothing(built):
    path = built.root / "paged_attn_runtime" / "version.py"
    path.write_text('__version__ = "9.8.7"\n')
    outcome = built.build()
    assert outcome["built"] == [] and outcome["published"]
    assert load_manifest(built.published).package.version == "9.8.7"


def test_a_smaller_matrix_removes_what_it_does_not_name_and_a_larger_one_takes_it_back(built):
    built.edit("configs/gfx950.yaml", "[1, 64]", "[64]")
    outcome = built.build()
    assert outcome["built"] == [] and set(outcome["listed"]) == VECTORIZED
    assert check_folder(built.published) == []
    built.edit("configs/gfx950.yaml", "[64]", "[1, 64]")
    outcome = built.build()
    assert outcome["built"] == [] and set(outcome["listed"]) == ALL


def test_only_builds_what_it_names_and_keeps_what_is_current(built):
    built.edit("kernels/source.py", "* factor", "* factor * factor")
    outcome = built.build("--only", "*_p1_*")
    assert built_names(outcome) == LINEAR and set(outcome["listed"]) == LINEAR
    outcome = built.build("--only", "d192")
    assert built_names(outcome) == {name for name in VECTORIZED if "d192" in name}
    assert set(outcome["listed"]) == LINEAR | built_names(outcome)
    assert check_folder(built.published) == []


def test_only_without_a_match_names_what_there_is(built_once):
    done = built_once.run("--only", "p16", code=1)
    assert "--only 'p16' picks no variant" in done.stderr and all(name in done.stderr for name in ALL)


def test_a_failed_variant_leaves_the_others_good(built):
    built.edit("kernels/linear.py", "SCALE = 2.0", "SCALE = None")
    built.edit("kernels/vectorized.py", "SCALE = 3.0", "SCALE = 7.0")
    done = built.run(code=1)
    for name in LINEAR:
        assert f"FAILED {name}\n" in done.stdout
    assert set(entry.name for entry in load_manifest(built.published).variants) == VECTORIZED
    assert check_folder(built.published) == []
    built.edit("kernels/linear.py", "SCALE = None", "SCALE = 2.0")
    assert built_names(built.build()) == set(), "the linear ones were compiled before"
    assert check_folder(built.published) == []


def test_when_everything_fails_what_was_published_stays(built):
    before = built.contents()
    built.set_fault("raise")
    built.run(code=1)
    assert built.contents() == before


def test_a_source_that_changes_during_the_build_fails_the_variant(fresh):
    """The kernel edits its own source: what was compiled is no longer what is there."""
    fresh.edit(
        "kernels/linear.py",
        "SCALE = 2.0",
        "SCALE = 2.0\nwith open(__file__, 'a') as file:\n    file.write('# edited\\n')\n",
    )
    outcome = fresh.build(code=1)
    assert {failure["name"] for failure in outcome["failed"]} == LINEAR
    assert all(f["failure"] == "kernels/linear.py was changed during the build; build again" for f in outcome["failed"])
