"""The loop model on small listings whose clocks can be counted by hand."""

import pytest

from benchmarks.loop_model import Costs, flow, listing, simulation
from benchmarks.loop_model.analysis import _hot_loop, _useful, _valu_clocks

MFMA = "v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[32:39], v[40:47], v[0:15]"


def assemble(*lines, loop_to=None, address=0x1000):
    """objdump's text for instructions of 8 bytes each; `loop_to`: line that a branch at the end goes back to."""
    text, place = "", address
    for line in lines:
        text += f"\t{line}   // {place:012X}: 00000000 00000000\n"
        place += 8
    if loop_to is not None:
        offset = (address + 8 * loop_to - (place + 4)) // 4 & 0xFFFF
        text += f"\ts_cbranch_scc1 {offset}   // {place:012X}: BF85{offset:04X}\n"
    return listing.parse(text)


def iteration(*lines):
    blocks = flow.find_blocks(assemble(*lines, loop_to=0))
    _, path = _hot_loop(blocks, _valu_clocks(Costs()))
    return flow.expand(blocks, path)


def clocks(*lines, waves=1, stagger=0, **changes):
    return simulation.simulate(iteration(*lines), waves, stagger, Costs(**changes))[0]


@pytest.mark.parametrize(
    "text, kind, size, writes",
    [
        ("v_exp_f32_e32 v1, v2", "transcendental", 0, (("v", 1),)),
        ("v_cvt_pk_fp8_f32 v1, v2, v3", "convert", 0, (("v", 1),)),
        ("ds_read_b128 v[4:7], v1 offset:512", "lds_read", 1024, tuple(("v", n) for n in range(4, 8))),
        ("ds_read_b64_tr_b8 v[4:5], v1", "lds_read", 512, (("v", 4), ("v", 5))),
        ("buffer_load_dwordx4 v1, s[4:7], s2 offen lds", "dma", 1024, ()),
        ("global_load_lds_dwordx4 v[2:3], off", "dma", 1024, ()),
        ("global_load_dword v1, v[2:3], off", "vector_load", 256, (("v", 1),)),
        ("s_load_dword s4, s[0:1], 0x0", "scalar_load", 0, (("s", 4),)),
    ],
)
def test_classes(text, kind, size, writes):
    (i,) = assemble(text)
    assert (i.kind, i.bytes, i.writes) == (kind, size, writes)


@pytest.mark.parametrize(
    "text, matrix_clocks, flops",
    [
        (MFMA, 64, 131072),
        (MFMA + " cbsz:4 blgp:4", 32, 131072),
        ("v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[32:39], v[40:47], v[0:3]", 32, 65536),
        ("v_mfma_f32_32x32x16_fp8_fp8 v[0:15], v[32:33], v[40:41], v[0:15]", 32, 32768),
    ],
)
def test_matrix_work(text, matrix_clocks, flops):
    (i,) = assemble(text)
    assert (i.matrix_clocks, i.flops) == (matrix_clocks, flops)


def test_waits_are_read_from_their_text():
    (i,) = assemble("s_waitcnt vmcnt(4) lgkmcnt(0)")
    assert i.waits == {"vm": 4, "lgkm": 0}


def test_a_chain_of_products_keeps_the_matrix_unit_busy():
    assert clocks(MFMA, MFMA, MFMA) == 3 * 64


def test_exponentials_fit_into_the_shadow_of_a_product():
    """56 of its 64 clocks leave the VALU port free: seven exponentials."""
    exponentials = [f"v_exp_f32_e32 v{n}, v{n}" for n in range(60, 67)]
    assert clocks(MFMA, *exponentials[:4]) == 64
    assert clocks(*[MFMA] * 2, *exponentials, *exponentials[:4]) > 128


def test_a_second_wave_fills_the_gaps_of_the_first():
    work = [MFMA, *["v_add_f32_e32 v60, v61, v62"] * 14]
    assert clocks(*work, waves=2) == pytest.approx(2 * 64, rel=0.05)


def test_a_result_is_read_after_the_units_latency():
    lines = [MFMA, "v_add_f32_e32 v60, v0, v0"]
    longer = clocks(*lines, mfma_latency=116) - clocks(*lines)
    assert longer == pytest.approx(100, abs=8)


def test_a_wait_for_lds_costs_its_latency():
    lines = [MFMA, "ds_read_b128 v[32:35], v70", "s_waitcnt lgkmcnt(0)"]
    assert clocks(*lines, lds_latency=300) > clocks(*lines) + 150


def test_small_products_do_not_count_as_useful():
    code = assemble(*[MFMA] * 8, "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[32:39], v[40:47], v[0:3]")
    assert [i.name for i in _useful(code)] == ["v_mfma_f32_32x32x64_f8f6f4"] * 8


def test_an_unknown_cost_is_refused_by_name():
    with pytest.raises(ValueError, match="no cost is called 'r'"):
        Costs.with_changes({"r": "16"})


def test_an_object_without_a_loop_is_refused():
    with pytest.raises(listing.ListingError, match="no loop with matrix instructions"):
        _hot_loop(flow.find_blocks(assemble(MFMA, "s_endpgm")), _valu_clocks(Costs()))
