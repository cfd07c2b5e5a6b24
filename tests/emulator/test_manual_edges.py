"""Edges that the CDNA4 ISA manual's pseudo code and notes name: one case an instruction, the manual's words in the comment."""

import numpy as np
import pytest

from . import machine
from .one_instruction import Bench, Case, as_f32, f32, lanes, low

LANE = np.arange(64, dtype=np.uint32)
SHIFT_ADD = Case("v_lshl_add_u64 v[20:21], v[10:11], v12, v[14:15]")
MAD_CARRY = Case("v_mad_i64_i32 v[20:21], s[30:31], v10, v12, v[14:15]")
ASHR_LOW, ASHR_HIGH = (Case(f"v_ashr_pk_i8_i32 v20, v10, v12, v14{sel}") for sel in ("", " op_sel:[0,0,0,1]"))
DOT = Case("v_dot2_f32_bf16 v20, v10, v12, v14 neg_lo:[1,0,1]")
ROTATE = {"swizzle(ROTATE,0,3)": 3, "swizzle(ROTATE,1,3)": 29}
MASKED_ROTATE, FFT = (
    Case("ds_swizzle_b32 v20, v10 offset:0xc0a4"),
    Case("ds_swizzle_b32 v20, v10 offset:swizzle(FFT,3)"),
)
SR_FP4 = Case("v_cvt_scalef32_sr_pk_fp4_f32 v20, v[10:11], v12, v14")
CASES = [SHIFT_ADD, MAD_CARRY, ASHR_LOW, ASHR_HIGH, DOT, MASKED_ROTATE, FFT, SR_FP4]
BENCH = Bench(CASES + [Case(f"ds_swizzle_b32 v20, v10 offset:{p}") for p in ROTATE])


def test_shift_counts_above_four_shift_by_zero():
    """V_LSHL_ADD_U64: S1[2:0] counts; "treats unsupported shift counts as a shift of zero"."""
    count = np.resize(np.arange(16), 64)
    got = BENCH.run(SHIFT_ADD, 0x123456789, count, 7)[0]
    assert got.tolist() == [(0x123456789 << (n & 7 if n & 7 <= 4 else 0)) + 7 for n in count.tolist()]


def test_signed_multiply_add_gives_bit_64():
    """V_MAD_I64_I32: {D1.i1, D0.i64} is the sum of 65 bits, so D1 is its sign."""
    a, b = lanes([3, -3, 2**31 - 1, -(2**31)], np.int64), lanes([5, 5, 2**31 - 1, 2**31 - 1], np.int64)
    c = lanes([1, 1, 2**63 - 1, -(2**63)], np.int64)
    value, mask, _ = BENCH.run(MAD_CARRY, a, b, c)
    exact = [int(x) * int(y) + int(z) for x, y, z in zip(a, b, c)]
    assert value.tolist() == [x % 2**64 for x in exact]
    assert mask == sum(1 << n for n, x in enumerate(exact) if x < 0)


def test_packed_shift_writes_one_half():
    """V_ASHR_PK_I8_I32: D0[15:0] = tmp; op_sel's last bit picks the upper half (LLVM), the other half stays."""
    old = lanes(0xAAAABBBB)
    assert (low(BENCH.run(ASHR_LOW, 0x7FF, 0xFFFFFF00, 4, old)[0]) == 0xAAAAF07F).all()
    assert (low(BENCH.run(ASHR_HIGH, 0x7FF, 0xFFFFFF00, 4, old)[0]) == 0xF07FBBBB).all()


def test_dot_product_leaves_its_addend_alone():
    """V_DOT2_F32_BF16: "NEG and ABS input modifiers do not affect S2"."""
    got = as_f32(BENCH.run(DOT, 0x40003F80, 0x3F803F80, lanes(f32(8.0)))[0])
    assert (got == -1 + 2 + 8).all()


@pytest.mark.parametrize("pattern", ROTATE)
def test_rotating_swizzle(pattern):
    want = LANE // 32 * 32 + (LANE + ROTATE[pattern]) % 32
    assert (low(BENCH.run(Case(f"ds_swizzle_b32 v20, v10 offset:{pattern}"), LANE)[0]) == want).all()


def test_masked_rotation_and_fft_swizzle():
    """DS_SWIZZLE_B32: rotate keeps the lane's bits in offset[4:0]; FFT reverses five bits, shifts out as many as the mask has."""
    got = low(BENCH.run(MASKED_ROTATE, LANE)[0])
    assert got.tolist() == [(i & 32) | (i & 4) | ((i + 5) & ~4 & 31) for i in range(64)]
    got = low(BENCH.run(FFT, LANE)[0])
    assert got.tolist() == [(i & 32) | int(f"{i & 31:05b}"[::-1], 2) >> 2 | i & 3 for i in range(64)]


def test_packed_stochastic_rounding_steps_its_seed():
    """V_CVT_SCALEF32_SR_PK_FP4_F32: the second element takes v_prng_b32 of the random word. 1.25 is halfway between 1 and 1.5."""
    both = int(f32(1.25)[0]) * (1 + 2**32)
    random = lanes([0, 0x40000000, 0x80000000, 0xC0000000])
    got = low(BENCH.run(SR_FP4, both, random, lanes(f32(1.0)))[0]) & 0xFF
    seeds = random.astype(np.uint64)
    stepped = (seeds << np.uint64(1) & np.uint64(0xFFFFFFFF)) ^ (seeds >> np.uint64(31)) * np.uint64(197)
    assert got.tolist() == [2 + (int(a) >> 31) | 2 + (int(b) >> 31) << 4 for a, b in zip(seeds, stepped)]


def run_lds(body):
    source = machine.Source(
        "kernel", machine.LOAD_ARGUMENTS + body + "global_store_dwordx2 v1, v[20:21], s[6:7]\n", lds=64
    )
    out = machine.Buffer(64 * 8)
    machine.run_once(source, machine.Buffer(8), out)
    return out.read(np.uint32)


def test_conditional_exchange():
    """DS_CONDXCHG32_RTN_B64: a half is written where its data's top bit is set, without that bit."""
    body = """
v_lshlrev_b32 v1, 3, v0
v_mov_b32 v2, 8
v_mov_b32 v4, 17
v_mov_b32 v5, 18
v_bfrev_b32 v6, 5
v_or_b32 v6, 0x80000003, v6
v_mov_b32 v7, 9
s_mov_b64 exec, 1
ds_write_b64 v2, v[4:5]
ds_condxchg32_rtn_b64 v[8:9], v2, v[6:7]
ds_read_b64 v[20:21], v2
s_waitcnt lgkmcnt(0)
"""
    assert run_lds(body)[:2].tolist() == [0x20000003, 18]


def test_append_counts_active_lanes_at_its_offset():
    body = """
v_lshlrev_b32 v1, 3, v0
v_mov_b32 v2, 0
v_mov_b32 v3, 100
s_mov_b32 m0, 0
ds_write_b32 v2, v3 offset:12
s_mov_b64 exec, 7
ds_append v20 offset:12
ds_read_b32 v21, v2 offset:12
s_waitcnt lgkmcnt(0)
"""
    assert run_lds(body)[:6].tolist() == [100, 103] * 3


def test_append_whose_address_is_disputed_is_refused():
    """With M0 set the manual (offset alone) and LLVM (M0 + offset) name different words."""
    with pytest.raises(machine.LaunchError, match="M0 other than zero"):
        run_lds("s_mov_b32 m0, 8\nds_append v20\n")


def test_setvskip_passes_over_vector_instructions():
    """S_SETVSKIP: VSKIP = S0[S1[4:0]]; while it is set, vector ALU, LDS and memory instructions are not issued, scalar ones are."""
    body = """
v_lshlrev_b32 v1, 3, v0
v_mov_b32 v20, 1
v_mov_b32 v21, 2
v_mov_b32 v2, 0
s_mov_b32 s8, 5
s_setvskip s8, 2
v_mov_b32 v20, 9
ds_read_b32 v21, v2
global_store_dword v1, v20, s[0:1] offset:4095
s_mov_b32 s9, 7
s_setvskip s8, 1
v_add_u32 v21, v21, s9
"""
    assert run_lds(body)[:4].tolist() == [1, 9, 1, 9]
