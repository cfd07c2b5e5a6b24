"""Device memory in strict mode: who may be read, who wrote it, and reports that are the same whatever the threads do."""

import ctypes

import numpy as np
import pytest

from . import machine
from .machine import LOAD_ARGUMENTS, Buffer, LaunchError, Source, environment
from .planted import DESCRIPTOR, data, outcome

READ = LOAD_ARGUMENTS + "{load}\ns_waitcnt vmcnt(0) lgkmcnt(0)\n"


def text_of(body, first, second=None, **options):
    return outcome(Source("probe", body), first, second or Buffer(64 << 10), seeds=[0], **options)[0]


ENDS = {
    "global": ("global_load_dword v2, v1, s[4:5] offset:{off}", "lane 63"),
    "global x4": ("v_lshlrev_b32 v1, 2, v1\nglobal_load_dwordx4 v[8:11], v1, s[4:5] offset:{off}", "lane 63, 16 bytes"),
    "byte": ("global_load_ubyte v2, v0, s[4:5] offset:{byte}", "1 bytes at"),
    "buffer": (DESCRIPTOR + "s_mov_b32 s10, -1\nbuffer_load_dword v2, v1, s[8:11], 0 offen offset:{off}", "lane 63"),
    "store": ("global_store_dword v1, v0, s[4:5] offset:{off}", "store to"),
    "atomic": ("global_atomic_add v1, v0, s[4:5] offset:{off}", "lane 63"),
    "scalar": ("s_load_dwordx4 s[12:15], s[4:5], {scalar}", "load from"),
    "DMA": ("s_mov_b32 m0, 0\ns_nop 0\nglobal_load_lds_dword v1, s[4:5] offset:{off}", "lane 63"),
}


ALIGNED = ("atomic", "scalar", "DMA", "byte")


@pytest.mark.parametrize("kind, past", [(k, past) for k in ENDS for past in (0, 1, 4) if past != 1 or k not in ALIGNED])
def test_the_end_of_an_allocation(kind, past):
    """The last bytes are fine; one byte further straddles the end, four bytes further lie behind it. Two neighbours do not help."""
    load, where = ENDS[kind]
    size = 1024 if kind == "global x4" else 256
    body = READ.format(load=load.format(off=past, byte=192 + past, scalar=size - 16 + past))
    first, neighbour = data(size // 4), data(size // 4)
    text = text_of(body, first, neighbour) if kind != "DMA" else outcome(
        Source("probe", body, lds=1024), first, neighbour, seeds=[0])[0]  # fmt: skip
    if past == 0:
        assert text == ""
    else:
        assert "bad address" in text and where in text
        assert ("running 1 bytes past its end" in text) == (past == 1)


WRITTEN = READ.format(load="global_load_dword v2, v1, s[4:5]")


def test_a_copy_of_unwritten_memory_unwrites():
    """The bytes of the destination are what the source's were, not what they had been."""
    hip = machine._hip()
    source, destination = Buffer(256), data(64)

    def copy():
        return hip.hipMemcpy(
            ctypes.c_void_p(destination.address), ctypes.c_void_p(source.address), ctypes.c_size_t(256), 3
        )

    assert text_of(WRITTEN, destination) == ""
    assert copy() == 0
    assert "unwritten memory" in text_of(WRITTEN, destination)
    assert hip.hipMemset(ctypes.c_void_p(source.address), 0, ctypes.c_size_t(256)) == 0
    assert copy() == 0
    assert text_of(WRITTEN, destination) == ""


def test_partly_written_words_and_fills():
    hip = machine._hip()
    buffer = Buffer(256)
    for at in range(256):
        if at != 130:
            assert hip.hipMemset(ctypes.c_void_p(buffer.address + at), 1, ctypes.c_size_t(1)) == 0
    text = text_of(WRITTEN, buffer)
    assert "nobody wrote byte 2 of it" in text and "lane 32" in text and "1 report in" in text
    assert hip.hipMemsetAsync(ctypes.c_void_p(buffer.address + 130), 1, ctypes.c_size_t(1), None) == 0
    assert text_of(WRITTEN, buffer) == ""


@pytest.mark.parametrize("form", ["global_atomic_add v1, v0, s[4:5]", "global_atomic_swap v2, v1, v0, s[4:5] sc0"])
def test_an_atomic_reads_what_nobody_wrote(form):
    assert "unwritten memory" in text_of(READ.format(load=form), Buffer(256))
    assert text_of(READ.format(load=form), data(64)) == ""


def test_a_swap_that_returns_nothing_only_writes():
    buffer = Buffer(256)
    assert text_of(READ.format(load="global_atomic_swap v1, v0, s[4:5]"), buffer) == ""
    assert text_of(WRITTEN, buffer) == ""


def test_registered_memory_is_the_hosts_to_write():
    hip = machine._hip()
    host = np.arange(64, dtype=np.uint32)
    assert hip.hipHostRegister(host.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(256), 0) == 0
    try:
        assert text_of(WRITTEN, host.ctypes.data) == ""
    finally:
        assert hip.hipHostUnregister(host.ctypes.data_as(ctypes.c_void_p)) == 0
    assert "bad address" in text_of(WRITTEN, host.ctypes.data)


def test_arguments_end_where_the_kernel_says():
    body = READ.format(load="s_load_dwordx2 s[12:13], s[0:1], {at}")
    assert text_of(body.format(at=8), data()) == ""
    text = text_of(body.format(at=16), data())
    assert "unwritten memory" in text and "s_load_dwordx2" in text


def test_registers_past_the_allocation():
    """32 registers are 32: v32 is no register of this wave. Those that lie where AccVGPRs could be count as allocated."""
    body = LOAD_ARGUMENTS + "v_mov_b32 v{n}, v0\n"
    for agprs, good, bad in ((0, 31, 32), (8, 39, 40)):
        assert outcome(Source("fits", body.format(n=good), vgprs=32, agprs=agprs), data(), data(), seeds=[0]) == [""]
        text = outcome(Source("past", body.format(n=bad), vgprs=32, agprs=agprs), data(), data(), seeds=[0])[0]
        assert "bad register" in text and f"v_mov_b32_e32 v{bad}, v0" in text


def test_scratch_does_not_leak_between_workgroups():
    """Workgroup 1 on the thread of workgroup 0 sees the pattern of fresh scratch, as on a thread of its own."""
    body = (
        LOAD_ARGUMENTS
        + "scratch_load_dword v2, off, off\ns_waitcnt vmcnt(0)\nv_add_u32 v3, 1, v2\nscratch_store_dword off, v3, off\n"
    )
    body += "s_lshl_b32 s8, s2, 8\nv_add_u32 v1, s8, v1\nglobal_store_dword v1, v2, s[6:7]\n"
    loaded = machine.module(Source("leak", body, scratch=16))
    results = []
    for threads in (1, 2):
        result = Buffer(4 * 256)
        loaded.launch("leak", data(), result, grid=(4, 1, 1), strict=True, threads=threads)
        results.append(result.read(np.uint32).tolist())
    assert results[0] == results[1] == [0xA5A5A5A5] * 256


MANY = (
    LOAD_ARGUMENTS
    + """
v_lshrrev_b32 v5, 6, v0
s_nop 0
v_readfirstlane_b32 s12, v5
global_load_dword v2, v1, s[4:5]
v_mov_b32 v3, v2
v_exp_f32 v4, v2
v_add_f32 v4, v4, v4
ds_read_b32 v6, v1
s_waitcnt vmcnt(0) lgkmcnt(0)
v_mov_b32 v7, 0
ds_write_b32 v7, v1
s_waitcnt lgkmcnt(0)
v_lshlrev_b32 v1, 6, v1
global_load_dword v2, v1, s[4:5]
s_waitcnt vmcnt(0)
"""
)


@pytest.mark.parametrize("kept", [1, 5, 40, 1000])
def test_reports_do_not_depend_on_threads(kept):
    """Same seed, same reports, same order, same count; fewer kept ones are the first of many."""
    loaded, buffers = machine.module(Source("many", MANY, lds=1024)), (data(1024), Buffer(256))
    texts = set()
    for threads in (1, 2, 3, 7):
        with environment(GFX950_EMU_REPORTS=kept), pytest.raises(LaunchError) as error:
            loaded.launch("many", *buffers, grid=(97, 1, 1), block=(128, 1, 1), strict=True, seed=4, threads=threads)
        texts.add(error.value.text)
    assert len(texts) == 1
    lines = [line for line in texts.pop().splitlines() if line.startswith("  ")]
    assert len(lines) == min(kept, len(lines)) and len(lines) == kept or kept == 1000
    for kind in ("missing wait", "hazard", "unwritten LDS", "LDS race", "bad address"):
        assert kept < 1000 or any(kind in line for line in lines)


def test_a_grid_that_is_all_wrong_keeps_the_first_reports():
    """Memory for the reports is bounded: 20000 workgroups of which each has one."""
    body = LOAD_ARGUMENTS + "global_load_dword v2, v1, s[4:5]\nv_mov_b32 v3, v2\n"
    text = text_of(body, data(), grid=(20000, 1, 1), reports=3, threads=2)
    assert "20000 reports" in text
    assert [f"workgroup ({n},0,0)" in line for n, line in enumerate(text.splitlines()[1:4])] == [True] * 3


def test_a_wave_that_never_ends_is_stopped():
    """Another waits at a barrier for it meanwhile."""
    body = (
        LOAD_ARGUMENTS
        + "v_lshrrev_b32 v5, 6, v0\ns_nop 0\nv_readfirstlane_b32 s12, v5\ns_cmp_eq_u32 s12, 0\ns_cbranch_scc1 wait\nagain:\ns_branch again\nwait:\ns_barrier\n"
    )
    text = text_of(body, data(), block=(128, 1, 1), max_instructions=10000)
    assert "runaway" in text and "s_branch" in text and "wave 1" in text
