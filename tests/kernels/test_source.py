"""kernels/ as a source of variants: what it imports and reads, what it declares, what its pieces add up to."""

import ast
import itertools
import os
from pathlib import Path

import pytest

import kernels
from kernels import source
from kernels.traits import LDS_LIMIT, STAGES, TILE_KEYS, TILE_SHIFT, UNIT, WAVES, traits_of
from paged_attn_runtime.manifest import evaluate
from paged_attn_runtime.variant import BATCH_POLICIES, HEAD_DIM_PAIRS, PAGE_LAYOUT, Variant

FOLDER = Path(kernels.__file__).parent
FILES = sorted(FOLDER.glob("*.py"))
ALLOWED = {"__future__", "dataclasses", "inspect", "math", "types", "flydsl", "paged_attn_runtime"}
VARIANTS = [
    Variant(*pair, page, layout, policy)
    for pair, (page, layout), policy in itertools.product(HEAD_DIM_PAIRS, PAGE_LAYOUT.items(), BATCH_POLICIES)
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_code_generation_reads_the_variant_and_nothing_else(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= ALLOWED
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            assert node.module.split(".")[0] in ALLOWED
            if node.module.startswith("paged_attn_runtime"):
                assert node.module == "paged_attn_runtime.variant"
        if isinstance(node, ast.Name):
            assert node.id not in ("os", "open", "environ", "getenv")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_files_stay_short(file):
    assert len(file.read_text().splitlines()) <= 300


def test_arguments_lie_at_natural_alignment_without_holes():
    offset = 0
    for _, kind, size in source.KERNARG:
        assert offset % size == 0 and size == {"pointer": 8, "i64": 8, "f32": 4, "i32": 4}[kind]
        offset += size


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.name)
def test_stages_fit_in_lds_and_loads_cover_a_tile(variant):
    traits = traits_of(variant)
    assert traits.stages.total <= LDS_LIMIT
    assert traits.loads.k_units * UNIT * WAVES == TILE_KEYS * variant.head_dim
    assert traits.loads.v_units * UNIT * WAVES == TILE_KEYS * variant.v_head_dim
    assert 1 << TILE_SHIFT == TILE_KEYS


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.name)
def test_the_partial_results_fit_where_the_stages_were(variant):
    from kernels.merge import lds_bytes

    assert lds_bytes(traits_of(variant)) <= traits_of(variant).stages.total


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.name)
def test_wait_counts_follow_from_the_order_of_loads(variant):
    """A wave's vector memory instructions in order; whatever a wait lets fly must not belong to the tile waited for."""
    loads = traits_of(variant).loads
    ahead = STAGES if traits_of(variant).split_keys else STAGES - 1
    order = ["id"] * ahead * loads.ids + [tile for tile in range(ahead) for _ in range(loads.tile)] + ["id"] * loads.ids
    for now in range(20):
        asked = ["id"] * loads.ids + [now + ahead] * loads.tile
        if not traits_of(variant).split_keys:
            order += asked  # the shared schedule asks before it waits, the split one after its wait
        flying = order[len(order) - loads.after_newest :]
        assert now + 1 not in flying
        assert set(flying) - {"id"} <= {now + 2}
        if traits_of(variant).split_keys:
            order += asked


@pytest.mark.parametrize("lengths", [[1], [0, 0, 0], [256], [257, 1, 255], [1, 512, 0, 77, 300], [4096] * 5])
@pytest.mark.parametrize("policy", BATCH_POLICIES)
def test_the_grid_has_a_workgroup_for_every_block(policy, lengths):
    if policy == "single" and len(lengths) > 1:
        return
    variant = Variant(192, 128, 64, "vectorized_5d", policy)
    rows = traits_of(variant).rows
    quantities = {
        "batch": len(lengths),
        "total_q": sum(lengths),
        "max_seqlen_q": max(lengths),
        "num_q_heads": 16,
        "query_rows_per_workgroup": rows,
    }
    grid = source._grid(policy)
    assert evaluate(grid["x"], quantities) == 16 and grid["z"] == 1
    blocks = [-(-length // rows) for length in lengths]
    needed = sum(blocks) if policy == "longest_first" else len(lengths) * max(blocks)
    assert evaluate(grid["y"], quantities) >= needed


def test_every_build_gets_a_launcher_of_its_own():
    """Compile hints stick to a launcher."""
    os.environ.setdefault("FLYDSL_GPU_ARCH", "gfx950")
    pytest.importorskip("flydsl")
    first, second = (kernels.build_variant(VARIANTS[0]) for _ in range(2))
    assert first.launcher is not second.launcher and first.hints is not second.hints
    assert first.kernarg == source.KERNARG and len(first.placeholder_args) == len(source.KERNARG)
