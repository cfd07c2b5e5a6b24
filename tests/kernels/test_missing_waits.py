"""Each wait and barrier of the pipeline is needed: without it, strict mode reports a race on the very kernel that passes with it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("kernels", "builder", "paged_attn_runtime", "configs", "build_kernels.py")
PREFIX = "paged_prefill_d128_v128_"
MUTATIONS = {
    "a tile more in flight, shared keys": (
        "p64_vectorized_5d_longest_first",
        "traits.py",
        "return self.tile + self.ids",
        "return 2 * self.tile + self.ids",
    ),
    "a tile more in flight, split keys": (
        "p64_vectorized_5d_single",
        "traits.py",
        "return self.tile + self.ids",
        "return 2 * self.tile + self.ids",
    ),
    "V operands on their way when their stage is filled again": (
        "p1_linear_single",  # with pages, the wait for a page id waits for them as well
        "split_schedule.py",
        "    isa.wait_lds()\n    isa.wait_loads(traits.loads.after_newest)",
        "    isa.wait_loads(traits.loads.after_newest)",
    ),
    "no wait for the first tile": (
        "p64_vectorized_5d_longest_first",
        "rounds.py",
        "isa.wait_loads((ahead - 1) * traits.loads.tile)",
        "isa.wait_loads(ahead * traits.loads.tile + 8)",
    ),
    "no barrier before results go where keys were": (
        "p64_vectorized_5d_single",
        "merge.py",
        "    isa.barrier()\n    _give(lds, ours, given)",
        "    _give(lds, ours, given)",
    ),
    "no barrier between giving and taking": (
        "p64_vectorized_5d_single",
        "merge.py",
        "    isa.wait_lds()\n    isa.barrier()\n    numbers",
        "    isa.wait_lds()\n    numbers",
    ),
}
LAUNCH = """
import sys
from paged_attn_runtime.variant import Variant
from tests.end_to_end.launch import launch
from tests.reference.problems import Shape, make_problem
variant = Variant.parse(sys.argv[1])
shape = Shape(variant.head_dim, variant.v_head_dim, variant.page_size, 1, 1, ((300, 1700),))
launch(make_problem(shape, seed=1), batch_policy=variant.batch_policy)
"""

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("emulated")]


def run_mutated(folder, name, edit=None):
    """What the launches of a kernel say that was built with `edit` = (file, old, new): one text for three wave orders."""
    for source in SOURCES:
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
        copy(ROOT / source, folder / source)
    if edit:
        file, old, new = edit
        path = folder / "kernels" / file
        text = path.read_text()
        assert text.count(old) >= 1, f"{file} no longer holds {old!r}"
        path.write_text(text.replace(old, new))
    out = folder / "out"
    build = [sys.executable, "build_kernels.py", "--out", out, "--jobs", "1", "--only", name]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)
    said = ""
    for seed in range(3):
        environment = {
            **os.environ,
            "PAGED_ATTN_PREBUILT": str(out / "gfx950"),
            "GFX950_EMU_STRICT": "1",
            "GFX950_EMU_SEED": str(seed),
        }
        command = [sys.executable, "-c", LAUNCH, name]
        said += subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True).stderr
    return said


@pytest.mark.parametrize("variant", sorted({variant for variant, *_ in MUTATIONS.values()}))
def test_the_kernels_as_they_are_say_nothing(tmp_path, variant):
    assert run_mutated(tmp_path, PREFIX + variant) == ""


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_strict_mode_reports(tmp_path, mutation):
    variant, *edit = MUTATIONS[mutation]
    said = run_mutated(tmp_path, PREFIX + variant, edit)
    assert "LDS race" in said or "unwritten LDS" in said
