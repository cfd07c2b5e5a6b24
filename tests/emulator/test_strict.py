"""Strict mode refutes planted faults: each kernel with a fault is reported at its place, and its mended twin passes.

Every test names the check, the reported instruction and, where one exists, the other instruction of the pair.
"""

import numpy as np
import pytest

from . import machine
from .machine import LOAD_ARGUMENTS, Buffer, LaunchError, Source
from .planted import DESCRIPTOR, SEEDS, data, outcome, pair


def test_overwriting_a_register_in_flight():
    load = "global_load_dword v2, v1, s[4:5]\n"
    tail = "s_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[6:7]\n"
    pair(load + "v_mov_b32 v2, 0\n" + tail, load + "s_waitcnt vmcnt(0)\nv_mov_b32 v2, 0\n" + tail,
         "missing wait", "overwrites v2", "global_load_dword")  # fmt: skip


def test_vmcnt_counts_in_order():
    """vmcnt(1) with two loads outstanding gives the first, not the second."""
    loads = "global_load_dword v2, v1, s[4:5]\nglobal_load_dword v3, v1, s[4:5] offset:256\ns_waitcnt vmcnt(1)\n"
    tail = "s_waitcnt vmcnt(0)\nglobal_store_dword v1, v4, s[6:7]\n"
    pair(loads + "v_mov_b32 v4, v3\n" + tail, loads + "v_mov_b32 v4, v2\n" + tail,
         "missing wait", "reads v3", "offset:256")  # fmt: skip


def test_scalar_loads_return_in_any_order():
    """lgkmcnt(1) says nothing about either of two scalar loads."""
    loads = "s_load_dword s12, s[4:5], 0x0\ns_load_dword s13, s[4:5], 0x4\n"
    use = "v_mov_b32 v3, s12\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v3, s[6:7]\n"
    pair(loads + "s_waitcnt lgkmcnt(1)\n" + use, loads + "s_waitcnt lgkmcnt(0)\n" + use,
         "missing wait", "reads s12", "s_load_dword")  # fmt: skip


def test_scalar_load_makes_lds_counts_unsure():
    """One LDS read and one scalar load: lgkmcnt(1) may be the scalar load's."""
    body = "ds_write_b32 v1, v0\ns_waitcnt lgkmcnt(0)\nds_read_b32 v2, v1\ns_load_dword s12, s[4:5], 0x0\n"
    use = "v_mov_b32 v3, v2\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v3, s[6:7]\n"
    pair(body + "s_waitcnt lgkmcnt(1)\n" + use, body + "s_waitcnt lgkmcnt(0)\n" + use,
         "missing wait", "reads v2", "ds_read_b32", lds=256)  # fmt: skip


def test_results_come_late():
    """Without the wait the register holds what it held: the planted bug gives the old value, not by luck the new one."""
    source = Source(
        "late",
        LOAD_ARGUMENTS
        + "v_mov_b32 v2, 7\nglobal_load_dword v2, v1, s[4:5]\nv_mov_b32 v3, 9\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[6:7]",
    )
    result = Buffer(256)
    assert outcome(source, data(), result) == [""] * len(SEEDS)
    assert result.read(np.uint32).tolist() == list(range(64))


def test_own_store_after_a_load_keeps_program_order():
    """A wave's load before its store to the same place sees the old value, however late the wait is."""
    body = "global_load_dword v2, v1, s[4:5]\nv_mov_b32 v3, 5\nglobal_store_dword v1, v3, s[4:5]\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[6:7]"
    result = Buffer(256)
    assert outcome(Source("war", LOAD_ARGUMENTS + body), data(), result, seeds=[0]) == [""]
    assert result.read(np.uint32).tolist() == list(range(64))


EXCHANGE = """
v_xor_b32 v2, 0x100, v1
ds_write_b32 v1, v0
{before}
{barrier}
ds_read_b32 v3, v2
s_waitcnt lgkmcnt(0)
global_store_dword v1, v3, s[6:7]
"""


def test_lds_race_without_a_barrier():
    pair(EXCHANGE.format(before="s_waitcnt lgkmcnt(0)", barrier=""),
         EXCHANGE.format(before="s_waitcnt lgkmcnt(0)", barrier="s_barrier"),
         "LDS race", "ds_read_b32", "ds_write_b32", block=(128, 1, 1), lds=512)  # fmt: skip


def test_lds_write_not_waited_for_before_the_barrier():
    """A barrier orders only what the wave has waited for."""
    pair(EXCHANGE.format(before="", barrier="s_barrier"),
         EXCHANGE.format(before="s_waitcnt lgkmcnt(0)", barrier="s_barrier"),
         "LDS race", "ds_write_b32", block=(128, 1, 1), lds=512)  # fmt: skip


def test_lds_read_not_waited_for_before_the_barrier():
    """Write after read: the second write may overtake a read that nobody waited for."""
    body = """
v_xor_b32 v2, 0x100, v1
ds_write_b32 v1, v0
s_waitcnt lgkmcnt(0)
s_barrier
ds_read_b32 v3, v2
{wait}
s_barrier
ds_write_b32 v1, v1
s_waitcnt lgkmcnt(0)
global_store_dword v1, v3, s[6:7]
"""
    pair(body.format(wait=""), body.format(wait="s_waitcnt lgkmcnt(0)"),
         "LDS race", "ds_write_b32 v1, v1", "ds_read_b32", block=(128, 1, 1), lds=512)  # fmt: skip


def test_two_waves_write_different_values_to_a_byte():
    body = "v_mov_b32 v2, 0\nv_mov_b32 v3, {value}\nds_write_b32 v2, v3\ns_waitcnt lgkmcnt(0)\n"
    pair(body.format(value="v0"), body.format(value="77"),
         "LDS race", "ds_write_b32", block=(128, 1, 1), lds=512)  # fmt: skip


def test_lds_atomics_race_with_plain_accesses_only():
    """Atomics of two waves on one word are ordered by the LDS unit; a plain read beside them is not."""
    body = "v_mov_b32 v2, 0\nv_mov_b32 v3, 1\nds_write_b32 v2, v2\ns_waitcnt lgkmcnt(0)\ns_barrier\nds_add_u32 v2, v3\n"
    body += (
        "s_waitcnt lgkmcnt(0)\n{barrier}\nds_read_b32 v4, v2\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v4, s[6:7]\n"
    )
    faulty, mended = (body.format(barrier=barrier) for barrier in ("", "s_barrier"))
    pair(faulty, mended, "LDS race", "ds_add_u32", block=(128, 1, 1), lds=64)


DMA = (
    DESCRIPTOR
    + """
s_mov_b32 m0, 0
s_nop 0
buffer_load_dword v1, s[8:11], 0 offen lds
{wait}
ds_read_b32 v3, v1
s_waitcnt vmcnt(0) lgkmcnt(0)
global_store_dword v1, v3, s[6:7]
"""
)


def test_dma_not_waited_for():
    pair(DMA.format(wait=""), DMA.format(wait="s_waitcnt vmcnt(0)"),
         "missing wait", "ds_read_b32", "buffer_load_dword", lds=256)  # fmt: skip


def test_dma_of_another_wave_not_waited_for_before_the_barrier():
    body = (
        DESCRIPTOR
        + """
v_readfirstlane_b32 s12, v1
s_mov_b32 m0, s12
v_xor_b32 v2, 0x100, v1
buffer_load_dword v1, s[8:11], 0 offen lds
{wait}
s_barrier
ds_read_b32 v3, v2
s_waitcnt vmcnt(0) lgkmcnt(0)
global_store_dword v1, v3, s[6:7]
"""
    )
    pair(body.format(wait=""), body.format(wait="s_waitcnt vmcnt(0)"),
         "LDS race", "ds_read_b32", "buffer_load_dword", block=(128, 1, 1), lds=512)  # fmt: skip


def test_dma_over_a_read_in_flight():
    body = (
        DESCRIPTOR
        + """
s_mov_b32 m0, 0
ds_write_b32 v1, v0
s_waitcnt lgkmcnt(0)
ds_read_b32 v3, v1
{wait}
buffer_load_dword v1, s[8:11], 0 offen lds
s_waitcnt vmcnt(0) lgkmcnt(0)
global_store_dword v1, v3, s[6:7]
"""
    )
    pair(body.format(wait=""), body.format(wait="s_waitcnt lgkmcnt(0)"),
         "missing wait", "overwrites LDS", "buffer_load_dword", "ds_read_b32", lds=256)  # fmt: skip


def test_lds_nobody_wrote():
    body = (
        "{write}\ns_waitcnt lgkmcnt(0)\nds_read_b32 v3, v1\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v3, s[6:7]\n"
    )
    pair(body.format(write=""), body.format(write="ds_write_b32 v1, v0"),
         "unwritten LDS", "ds_read_b32", lds=256)  # fmt: skip


def test_lds_out_of_bounds():
    body = "ds_write_b32 v1, v0 offset:{offset}\ns_waitcnt lgkmcnt(0)\n"
    pair(body.format(offset=4), body.format(offset=0),
         "bad LDS address", "lane 63", "4 bytes at 0x100", lds=256)  # fmt: skip


def test_misaligned_transposing_read():
    body = "v_lshlrev_b32 v2, 3, v0\nv_mov_b32 v3, 0\nds_write_b32 v2, v3\nds_write_b32 v2, v3 offset:4\nds_write_b32 v2, v3 offset:8\ns_waitcnt lgkmcnt(0)\n{shift}ds_read_b64_tr_b8 v[4:5], v2\ns_waitcnt lgkmcnt(0)\n"
    pair(body.format(shift="v_add_u32 v2, 4, v2\n"), body.format(shift=""),
         "misaligned", "multiple of 8", "ds_read_b64_tr_b8", lds=1024)  # fmt: skip


def test_device_memory_nobody_wrote():
    source = Source(
        "virgin",
        LOAD_ARGUMENTS + "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[6:7]",
    )
    fresh, result = Buffer(256), Buffer(256)
    text = outcome(source, fresh, result, seeds=[0])[0]
    assert (
        "unwritten memory" in text
        and "global_load_dword" in text
        and "byte 0 of a device allocation of 256 bytes" in text
    )
    assert outcome(source, data(64), result, seeds=[0]) == [""]


def test_what_a_kernel_wrote_counts_as_written():
    writer = Source("writer", LOAD_ARGUMENTS + "global_store_dword v1, v0, s[6:7]")
    reader = Source(
        "reader",
        LOAD_ARGUMENTS + "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[6:7]",
    )
    middle, result = Buffer(256), Buffer(256)
    loaded = machine.module(writer, reader)
    loaded.launch("writer", data(64), middle)  # not strict: still tracked
    loaded.launch("reader", middle, result, strict=True)
    assert result.read(np.uint32).tolist() == list(range(64))


def test_memory_past_the_end_and_freed_memory():
    body = (
        LOAD_ARGUMENTS
        + "global_load_dword v2, v1, s[4:5] offset:{offset}\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[6:7]"
    )
    result = Buffer(256)
    text = outcome(Source("past", body.format(offset=4)), data(64), result, seeds=[0])[0]
    assert (
        "bad address" in text
        and "lane 63" in text
        and "0 bytes past the end of a device allocation of 256 bytes" in text
    )
    stale = data(64)
    address = stale.address
    stale.free()
    text = outcome(Source("stale", body.format(offset=0)), address, result, seeds=[0])[0]
    assert "bad address" in text and "which was freed" in text
    assert outcome(Source("fine", body.format(offset=0)), data(64), result, seeds=[0]) == [""]


def test_buffer_range_check_is_no_bad_access():
    """Dwords past num_records give 0 and touch nothing, even where the allocation ends."""
    body = (
        LOAD_ARGUMENTS
        + DESCRIPTOR
        + "s_mov_b32 s10, 128\nbuffer_load_dword v2, v1, s[8:11], 0 offen\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[6:7]"
    )
    result = Buffer(256)
    assert outcome(Source("ranged", body), data(32), result, seeds=[0]) == [""]
    assert result.read(np.uint32).tolist() == list(range(32)) + [0] * 32


def test_reports_are_sorted_repeatable_and_limited():
    body = (
        LOAD_ARGUMENTS
        + "global_load_dword v2, v1, s[4:5]\nv_mov_b32 v3, v2\nglobal_load_dword v4, v1, s[4:5]\nv_mov_b32 v5, v4\ns_waitcnt vmcnt(0)\n"
    )
    source, result = Source("many", body), Buffer(256)
    first, second = (
        outcome(source, data(), result, seeds=[3], grid=(20, 1, 1), block=(128, 1, 1), reports=6)[0] for _ in range(2)
    )
    assert first == second
    lines = [line for line in first.splitlines() if line.startswith("  ")]
    assert len(lines) == 6 and "80 reports" in first and "the first 6" in first
    places = [line.split("workgroup (")[1].split(",")[0] for line in lines]
    assert places == sorted(places, key=int)


def test_the_process_lives_on():
    bad = Source("bad", LOAD_ARGUMENTS + "global_load_dword v2, v1, s[4:5]\nv_mov_b32 v3, v2\n")
    good = Source("good", LOAD_ARGUMENTS + "global_store_dword v1, v0, s[6:7]")
    loaded, result = machine.module(bad, good), Buffer(256)
    with pytest.raises(LaunchError, match="missing wait"):
        loaded.launch("bad", data(), result, strict=True)
    loaded.launch("good", data(), result, strict=True)
    assert result.read(np.uint32).tolist() == list(range(64))


def test_waves_interleave_by_the_seed():
    """Each wave appends its number through a returning atomic: the order differs between seeds and repeats for one seed."""
    body = (
        LOAD_ARGUMENTS
        + """
v_lshrrev_b32 v5, 6, v0
s_nop 0
v_readfirstlane_b32 s12, v5
s_mov_b64 exec, 1
v_mov_b32 v2, 0
s_movk_i32 s13, 0
again:
v_mov_b32 v3, 1
global_atomic_add v4, v2, v3, s[4:5] sc0
s_waitcnt vmcnt(0)
v_lshlrev_b32 v4, 2, v4
v_mov_b32 v6, s12
global_store_dword v4, v6, s[6:7]
s_add_i32 s13, s13, 1
s_cmp_lt_i32 s13, 32
s_cbranch_scc1 again
"""
    )
    source = Source("order", body)
    loaded = machine.module(source)

    def order(seed):
        counter, result = Buffer.of(np.zeros(1, np.uint32)), Buffer(4 * 128)
        loaded.launch("order", counter, result, block=(256, 1, 1), strict=True, seed=seed)
        return result.read(np.uint32).tolist()

    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(4)}) > 1


def test_addresses_whose_end_wraps_to_zero():
    """The last bytes below 2^64: begin + size is small again, and must not pass for the start of something."""
    body = (
        "v_mov_b32_e32 v2, {low}\nv_mov_b32_e32 v3, -1\n"
        "global_load_dwordx2 v[4:5], v[2:3], off\ns_waitcnt vmcnt(0)\nv_mov_b32_e32 v6, v4"
    )
    for name, low in (("wrapped", -4), ("ends_at_zero", -8)):
        text = outcome(Source(name, body.format(low=low)), data(64), data(64), seeds=[0])[0]
        assert "bad address" in text
        assert "global_load_dwordx2 v[4:5], v[2:3], off" in text
