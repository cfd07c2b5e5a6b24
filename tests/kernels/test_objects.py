"""Quality of the shipped code objects, read from their machine code: what the builder's checks of metadata cannot see."""

import pytest

from benchmarks.loop_model import Costs, analyse, flow, listing
from benchmarks.loop_model.costs import SETTINGS
from tests.kernels.test_source import VARIANTS

# flops/clk/CU of FlyDSL's dense FP8 D128 kernel and aiter's v3 FP8 D128 kernel, by the same model and settings.
PEERS = {
    "default": (4510, 4799),
    "lds_latency=128": (4025, 4579),
    "mfma_port=16": (4420, 4457),
    "packed_beside_mfma": (4871, 4799),
    "convert=8": (4207, 4481),
}
NAMES = [variant.name for variant in VARIANTS]


@pytest.fixture(scope="module")
def code(prebuilt):
    cache = {}

    def load(name):
        if name not in cache:
            cache[name] = listing.disassemble(prebuilt / f"{name}.hsaco")
        return cache[name]

    return load


@pytest.mark.parametrize("name", NAMES)
def test_no_descriptor_is_looped_over(code, name):
    """A waterfall reads the first lane's value and goes round until all lanes had theirs."""
    blocks = flow.find_blocks(code(name))
    for body in flow.find_loops(blocks).values():
        inside = {i.name for block in body for i in blocks.of(block)}
        assert not ("v_readfirstlane_b32" in inside and "s_and_saveexec_b64" in inside)


@pytest.mark.parametrize("name", NAMES)
def test_no_packed_arithmetic_scratch_or_register_moves_in_the_loop(code, name):
    names = [i.name for i in code(name)]
    assert not [n for n in names if n.startswith(("v_pk_", "scratch_", "v_accvgpr"))]


@pytest.mark.parametrize("name", NAMES)
def test_page_ids_stay_out_of_the_vector_memory_queue(code, name):
    """With pages, ids come by scalar loads; only tokens of their own (page 1) need a gather."""
    blocks = flow.find_blocks(code(name))
    loads = [
        i.kind
        for body in flow.find_loops(blocks).values()
        for block in body
        for i in blocks.of(block)
        if any(j.kind == "matrix" for other in body for j in blocks.of(other))
    ]
    assert ("vector_load" in loads) == ("_p1_linear_" in name)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", [n for n in NAMES if "d128_v128_p64_" in n])
def test_128_at_page_64_beats_both_peers_under_every_setting(prebuilt, name, setting):
    result = analyse(prebuilt / f"{name}.hsaco", Costs.with_changes(SETTINGS[setting]))
    assert result.flops_per_clock >= 1.05 * max(PEERS[setting])
    if setting == "default":
        assert result.flops_per_clock >= 5100


@pytest.mark.parametrize("name", [n for n in NAMES if "d192_" in n])
def test_wide_heads_keep_the_matrix_units_busy(prebuilt, name):
    assert analyse(prebuilt / f"{name}.hsaco").useful_share >= 0.65


@pytest.mark.parametrize(
    "page, share", [("p16_vectorized_5d", 0.97), ("p1024_vectorized_5d", 0.97), ("p1_linear", 0.85)]
)
@pytest.mark.parametrize("name", [n for n in NAMES if "_p64_" in n])
def test_other_pages_keep_up_with_page_64(prebuilt, name, page, share):
    other = name.replace("p64_vectorized_5d", page)
    first, second = (analyse(prebuilt / f"{n}.hsaco").flops_per_clock for n in (name, other))
    assert second >= share * first
