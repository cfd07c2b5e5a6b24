"""LDS between waves and on its own: races of every pairing, DMA against the rest, bytes nobody wrote; right programs pass."""

import pytest

from .machine import LOAD_ARGUMENTS, Buffer, Source
from .planted import DESCRIPTOR, data, outcome, pair, passes

TWO = {"block": (128, 1, 1), "lds": 4096}
WAIT = "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
BARRIER = WAIT + "s_barrier\n"
# s12 = the wave's number, v6 = 4 * lane, v7 = a word of the other wave, v5 = 0, v8 = 1; 32 bytes a lane are zeroed, a barrier passed.
SETUP = (
    DESCRIPTOR
    + """
v_mbcnt_lo_u32_b32 v6, -1, 0
v_mbcnt_hi_u32_b32 v6, -1, v6
v_sub_u32 v3, v0, v6
v_lshlrev_b32 v6, 2, v6
v_lshrrev_b32 v3, 6, v3
s_nop 0
v_readfirstlane_b32 s12, v3
s_nop 0
s_xor_b32 s13, s12, 1
v_mov_b32 v5, 0
v_mov_b32 v8, 1
v_lshl_add_u32 v7, s13, 8, v6
v_mov_b32 v20, 0
v_mov_b32 v21, 0
v_mov_b32 v22, 0
v_mov_b32 v23, 0
v_lshlrev_b32 v9, 5, v0
ds_write_b128 v9, v[20:23]
ds_write_b128 v9, v[20:23] offset:16
"""
)
SETUP += BARRIER


def by_wave(first, second):
    """Wave 0 runs the one, wave 1 the other."""
    return f"s_cmp_eq_u32 s12, 0\ns_cbranch_scc0 second\n{first}\ns_branch joined\nsecond:\n{second}\njoined:\n"


DMA = "s_mov_b32 m0, 0\ns_nop 0\nbuffer_load_dword v6, s[8:11], 0 offen lds\n"
# name: (wave 0, wave 1, the instruction reported or its other): they race in one epoch and not with a barrier between
PAIRS = {
    "write and read": ("ds_write_b32 v6, v0", "ds_read_b32 v3, v6", "ds_read_b32"),
    "write and write": ("ds_write_b32 v6, v0", "ds_write_b32 v6, v7", "ds_write_b32"),
    "byte write in a word that is read": ("ds_write_b8 v6, v8 offset:3", "ds_read_b32 v3, v6", "ds_write_b8"),
    "wide write over a byte that is read": ("ds_write_b64 v5, v[0:1] offset:8", "ds_read_u8 v3, v5 offset:15", "ds_read_u8"),
    "second address of a write": ("ds_write2_b32 v6, v0, v0 offset1:4", "ds_read_b32 v3, v5 offset:268", "ds_write2_b32"),
    "second address of a read": ("ds_write_b32 v5, v8 offset:300", "ds_read2st64_b32 v[2:3], v6 offset1:1", "ds_read2st64"),
    "transposing read": ("ds_write_b32 v6, v0", "v_lshlrev_b32 v3, 1, v6\nds_read_b64_tr_b8 v[2:3], v3", "ds_read_b64_tr_b8"),
    "atomic and plain read": ("ds_add_u32 v6, v8", "ds_read_b32 v3, v6", "ds_add_u32"),
    "atomic and plain write": ("ds_add_u32 v6, v8", "ds_write_b32 v6, v0", "ds_add_u32"),
    "atomic and a write of what it leaves": ("ds_add_u32 v6, v8", "ds_write_b32 v6, v8", "ds_add_u32"),
    "append and plain read": ("s_mov_b32 m0, 0\ns_nop 0\nds_append v3", "ds_read_b32 v3, v5", "ds_append"),
    "DMA and read": (DMA, "ds_read_b32 v3, v6", "buffer_load_dword"),
    "DMA and write": (DMA, "ds_write_b32 v6, v0", "buffer_load_dword"),
    "DMA and a write of what was there": (DMA, "ds_write_b32 v6, v5", "buffer_load_dword"),
    "DMA and DMA": (DMA, DMA, "buffer_load_dword"),
    "DMA and atomic": (DMA, "ds_add_u32 v6, v8", "ds_add_u32"),
    "read and write, read first": ("ds_read_b32 v3, v6", "ds_write_b32 v6, v0", "ds_write_b32"),
    "flat store": ("v_mov_b32 v2, v6\ns_mov_b32 s14, 0x10000\nv_mov_b32 v3, s14\nflat_store_dword v[2:3], v0", "ds_read_b32 v3, v6", "flat_store_dword"),
}  # fmt: skip


@pytest.mark.parametrize("kind", PAIRS)
def test_race(kind):
    first, second, named = PAIRS[kind]
    apart = by_wave(first + "\n" + BARRIER, "s_barrier\n" + second + "\n" + WAIT)
    pair(SETUP + by_wave(first, second) + WAIT, SETUP + apart, "LDS race", named, "lane ", "bytes at 0x", **TWO)


# The barrier is there and the wait is not, or on its wrong side: (wave 0, its wait, wave 1 behind the barrier)
LATE = {
    "write": ("ds_write_b32 v6, v0", "ds_read_b32 v3, v6"),
    "read": ("ds_read_b32 v3, v6", "ds_write_b32 v6, v0"),
    "second address of a read": ("ds_read2_b32 v[2:3], v6 offset1:80", "ds_write_b32 v6, v0 offset:320"),
    "DMA, then a read": (DMA, "ds_read_b32 v3, v6"),
    "DMA, then a write": (DMA, "ds_write_b32 v6, v0"),
    "DMA, then a DMA": (DMA, DMA),
    "read, then a DMA": ("ds_read_b32 v3, v6", DMA),
    "atomic": ("ds_add_u32 v6, v8", "ds_read_b32 v3, v6"),
    "returning atomic": ("ds_add_rtn_u32 v3, v6, v8", "ds_read_b32 v3, v6"),
}


@pytest.mark.parametrize("kind", LATE)
def test_open_over_a_barrier(kind):
    first, second = LATE[kind]
    body = by_wave(first + "\n{before}s_barrier\n" + WAIT, "s_barrier\n" + second + "\n" + WAIT)
    pair(SETUP + body.format(before=""), SETUP + body.format(before=WAIT), "LDS race", **TWO)


def test_dma_spans_several_barriers():
    body = by_wave(
        DMA + "s_barrier\ns_barrier\n{wait}s_barrier\n" + WAIT,
        "s_barrier\ns_barrier\ns_barrier\nds_read_b32 v3, v6\n" + WAIT,
    )
    pair(
        SETUP + body.format(wait=""), SETUP + body.format(wait="s_waitcnt vmcnt(0)\n"), "LDS race", "ds_read_b32", **TWO
    )


OWN = {
    "over a read": ("ds_read_b32 v3, v6\n{wait}", "may not have reached", "ds_read_b32"),
    "over the second address of a read": (
        "ds_read2st64_b32 v[2:3], v6 offset0:3 offset1:0\n{wait}",
        "may not have reached",
        "ds_read2st64",
    ),
    "over a write": ("ds_write_b32 v6, v0\n{wait}", "may not have reached", "ds_write_b32"),
    "over an atomic": ("ds_add_u32 v6, v8\n{wait}", "may not have reached", "ds_add_u32"),
}


@pytest.mark.parametrize("kind", OWN)
def test_a_waves_own_dma(kind):
    before, what, other = OWN[kind]
    faulty, mended = (SETUP + before.format(wait=wait) + DMA + WAIT for wait in ("", "s_waitcnt lgkmcnt(0)\n"))
    pair(faulty, mended, "missing wait", what, "buffer_load_dword", other, lds=4096)


@pytest.mark.parametrize("size, stride", [("dword", 4), ("dwordx3", 16), ("dwordx4", 16)])
@pytest.mark.parametrize("use", ["ds_read_u8 v3, v9", "ds_write_b8 v9, v5", "ds_add_u32 v10, v8"])
def test_dma_reaches_the_bytes_of_its_lanes(size, stride, use):
    """EXEC leaves out the odd lanes: their slots are free, the others' are in flight; so is the gap behind three dwords."""
    body = (
        SETUP
        + f"v_mul_u32_u24 v9, {stride}, v0\ns_mov_b32 s14, 0x55555555\ns_mov_b32 s15, s14\ns_mov_b64 exec, s[14:15]\n"
    )
    body += f"s_mov_b32 m0, 512\ns_nop 0\nglobal_load_lds_{size} v9, s[4:5]\ns_mov_b64 exec, 1\n"
    touched = "v_add_u32 v9, 512, v9\nv_add_u32 v9, {delta}, v9\nv_and_b32 v10, -4, v9\n" + use + "\n" + WAIT
    before = "v_mov_b32 v9, 0\n"
    last = {"dword": 4, "dwordx3": 12, "dwordx4": 16}[size] - 1
    pair(body + before + touched.format(delta=2 * stride + last), body + before + touched.format(delta=stride + 1),
         "missing wait", "DMA still in flight", f"global_load_lds_{size}", use.split()[0], lds=4096)  # fmt: skip
    if size == "dwordx3":
        passes(body + before + touched.format(delta=2 * stride + 13), lds=4096)


UNWRITTEN = {
    "read": ("ds_read_b32 v3, v6", "ds_read_b32"),
    "the last byte": ("ds_write_b8 v6, v5\nds_write_b16 v6, v5 offset:1\nds_read_b32 v3, v6", "ds_read_b32"),
    "second address": ("ds_write_b32 v6, v5\nds_read2_b32 v[2:3], v6 offset1:64", "ds_read2_b32"),
    "atomic": ("ds_add_u32 v6, v8", "ds_add_u32"),
    "returning swap": ("ds_wrxchg_rtn_b32 v3, v6, v8", "ds_wrxchg_rtn_b32"),
    "append": ("s_mov_b32 m0, 0\ns_nop 0\nds_append v3", "ds_append"),
    "flat": (
        "v_mov_b32 v2, v6\ns_mov_b32 s14, 0x10000\nv_mov_b32 v3, s14\nflat_load_dword v4, v[2:3]",
        "flat_load_dword",
    ),
}


@pytest.mark.parametrize("kind", UNWRITTEN)
def test_unwritten(kind):
    body, named = UNWRITTEN[kind]
    start = "v_lshlrev_b32 v6, 2, v0\nv_mov_b32 v5, 0\nv_mov_b32 v8, 1\n"
    fill = "ds_write2st64_b32 v6, v5, v5 offset1:1\n" + WAIT
    pair(start + body + "\n" + WAIT, start + fill + body + "\n" + WAIT, "unwritten LDS", named, "lane 0", lds=512)


def test_the_next_workgroup_starts_with_unwritten_lds():
    body = (
        "v_lshlrev_b32 v6, 2, v0\ns_cmp_eq_u32 s2, 0\ns_cbranch_scc0 over\nds_write_b32 v6, v0\n"
        + WAIT
        + "over:\nds_read_b32 v3, v6\n"
        + WAIT
    )
    text = outcome(
        Source("leak", LOAD_ARGUMENTS + body, lds=256), data(), Buffer(256), seeds=[0], grid=(2, 1, 1), threads=1
    )[0]
    assert "unwritten LDS" in text and "workgroup (1,0,0)" in text and "workgroup (0,0,0)" not in text


def test_append_outside_lds():
    body = "v_mov_b32 v5, 0\nds_write_b32 v5, v5\n" + WAIT + "s_mov_b32 m0, 0\ns_nop 0\nds_append v3{offset}\n" + WAIT
    faulty, mended = (body.format(offset=offset) for offset in (" offset:64", ""))
    pair(faulty, mended, "bad LDS address", "ds_append", "lane 0, 4 bytes at 0x40", lds=64)


def test_dma_outside_lds():
    """Only the lanes that take part count."""
    body = (
        DESCRIPTOR
        + "s_mov_b32 m0, 240\ns_nop 0\ns_mov_b64 exec, {lanes}\nbuffer_load_dword v1, s[8:11], 0 offen lds\n"
        + WAIT
    )
    pair(
        body.format(lanes=31),
        body.format(lanes=15),
        "bad LDS address",
        "lane 4, 4 bytes at 0x100",
        "buffer_load_dword",
        lds=256,
    )
    passes(body.format(lanes=0).replace("240", "0x1001"), lds=256)


EQUAL = "v_mov_b32 v9, 5\nds_write_b32 v5, v9\n"
RIGHT = {
    "neighbouring bytes": SETUP + "v_mov_b32 v9, s12\nds_write_b8 v9, v8\n" + BARRIER + "ds_read_u8 v3, v9\n" + WAIT,
    "neighbouring halves of a word": SETUP + "s_lshl_b32 s14, s12, 1\nv_mov_b32 v9, s14\nds_write_b16 v9, v8\n" + BARRIER,
    "one value by all waves": SETUP + EQUAL + BARRIER,
    "one value by all waves, waited for behind the barrier": SETUP + EQUAL + "s_barrier\n" + WAIT + "s_barrier\nds_read_b32 v3, v5\n" + WAIT,
    "readers only": SETUP + "ds_read_b32 v3, v5\nds_read_b32 v2, v5\n" + WAIT,
    "atomics only": SETUP + "ds_add_u32 v5, v8\nds_add_rtn_u32 v3, v5, v8\ns_mov_b32 m0, 0\ns_nop 0\nds_append v2\n" + WAIT,
    "one wave has a barrier more": SETUP + by_wave(BARRIER + BARRIER, BARRIER + "s_endpgm"),
    "waves end before the barrier": SETUP + by_wave("s_endpgm", BARRIER + "ds_read_b32 v3, v5\n" + WAIT),
    "DMA of all waves, read behind the barrier": SETUP + "s_lshl_b32 m0, s12, 8\ns_nop 0\nbuffer_load_dword v6, s[8:11], 0 offen lds\n" + BARRIER + "ds_read_b32 v3, v7\n" + WAIT,
    "a wave's own LDS operations stay in order": SETUP + "ds_write_b32 v1, v0\nds_read_b32 v3, v1\nds_write_b32 v1, v8\nds_read_b32 v2, v1\n" + WAIT,
    "read in flight between the lanes of a DMA": SETUP + "v_mov_b32 v9, 32\ns_lshl_b32 m0, s12, 8\ns_brev_b32 s15, 1\ns_mov_b32 s14, 1\nds_read_b32 v3, v9\nv_mov_b32 v9, 0x120\nds_read_b32 v2, v9\ns_mov_b64 exec, s[14:15]\nbuffer_load_dword v6, s[8:11], 0 offen lds\n" + WAIT,
    "read in flight beside a DMA": SETUP + "s_add_u32 s14, s12, 4\ns_lshl_b32 m0, s14, 8\nds_read_b32 v3, v1\nbuffer_load_dword v6, s[8:11], 0 offen lds\n" + WAIT,
}  # fmt: skip


@pytest.mark.parametrize("kind", RIGHT)
def test_right_programs(kind):
    passes(RIGHT[kind], **TWO)
