"""Comparisons, selections, DPP, SDWA and cross-lane moves. DPP and SDWA: CDNA3 ISA reference sections 6.6 and 13.3; permlane swaps: GFX950
instruction descriptions in LLVM (exchange of odd rows of the first with even rows of the second operand)."""

import numpy as np
import pytest

from . import machine
from .machine import LOAD_ARGUMENTS, Buffer, Source
from .one_instruction import Bench, Case, f32, lanes, low, pairs

NAN = float("nan")
VALUES = [0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), NAN, 1e-45]
CONDITIONS = {
    "lt": lambda a, b: a < b, "eq": lambda a, b: a == b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "lg": lambda a, b: (a < b) | (a > b), "o": lambda a, b: ~(np.isnan(a) | np.isnan(b)), "u": lambda a, b: np.isnan(a) | np.isnan(b),
    "nge": lambda a, b: ~(a >= b), "nlg": lambda a, b: ~((a < b) | (a > b)), "ngt": lambda a, b: ~(a > b), "nle": lambda a, b: ~(a <= b),
    "neq": lambda a, b: ~(a == b), "nlt": lambda a, b: ~(a < b),
}  # fmt: skip
LANE = np.arange(64)
ROW = LANE // 16 * 16
DPP = {  # source lane of each lane, -1 outside
    "quad_perm:[3,0,2,1]": LANE // 4 * 4 + np.array([3, 0, 2, 1])[LANE % 4],
    "row_shl:3": np.where(LANE % 16 + 3 < 16, LANE + 3, -1),
    "row_shr:5": np.where(LANE % 16 - 5 >= 0, LANE - 5, -1),
    "row_ror:4": ROW + (LANE - 4) % 16,
    "wave_shr:1": LANE - 1,
    "wave_rol:1": (LANE + 1) % 64,
    "row_mirror": ROW + 15 - LANE % 16,
    "row_half_mirror": LANE // 8 * 8 + 7 - LANE % 8,
    "row_bcast:15": np.where(ROW > 0, ROW - 1, -1),
    "row_bcast:31": np.where(LANE >= 32, 31, -1),
    "row_newbcast:6": ROW + 6,
}
SDWA = {
    "v_add_u32_sdwa v20, v10, v12 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1": lambda a, b, o: (
        (a >> 8 & 255) + (b >> 16)
    ),
    "v_add_u32_sdwa v20, v10, v12 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 src1_sel:BYTE_0": lambda a, b, o: (
        (o & 0xFF00FFFF) | ((a + b) & 255) << 16
    ),
    "v_add_u32_sdwa v20, v10, v12 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:WORD_0": lambda a, b, o: (
        ((a + b) & 0xFFFF) << 16
    ),
    "v_add_u32_sdwa v20, sext(v10), v12 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD": lambda a, b, o: (
        ((a & 255) - 256 * (a >> 7 & 1)) + b
    ),
}
HALF_EXEC = "s_mov_b64 exec, 0xf0f0f0f0"
TEXTS = [f"v_cmp_{c}_f32 s[30:31], v10, v12" for c in CONDITIONS] + list(SDWA)
TEXTS += [f"v_mov_b32_dpp v20, v10 {d} row_mask:0xf bank_mask:0xf{b}" for d in DPP for b in ("", " bound_ctrl:0")]
CLASS, CNDMASK = "v_cmp_class_f32 s[30:31], v10, v12", "v_cndmask_b32 v20, v10, v12, vcc"
BANKS = "v_mov_b32_dpp v20, v10 row_shl:1 row_mask:0x5 bank_mask:0x3 bound_ctrl:0"
SWAP32 = "v_mov_b32 v20, v10\nv_mov_b32 v21, v12\nv_permlane32_swap_b32 v20, v21"
SWAP16 = "v_mov_b32 v20, v10\nv_mov_b32 v21, v12\nv_permlane16_swap_b32 v20, v21"
SWIZZLE = {
    "swizzle(QUAD_PERM,1,0,3,2)": LANE ^ 1,
    "swizzle(SWAP,8)": LANE ^ 8,
    "swizzle(REVERSE,16)": LANE ^ 15,
    "swizzle(BROADCAST,32,5)": LANE // 32 * 32 + 5,
}
BPERM, PERMUTE = "ds_bpermute_b32 v20, v12, v10", "ds_permute_b32 v20, v12, v10"
MBCNT = "v_mbcnt_lo_u32_b32 v20, s12, 0\nv_mbcnt_hi_u32_b32 v20, s13, v20"
MBCNT_SETUP = "s_mov_b32 s12, 0x0f0f0f0f\ns_mov_b32 s13, 0xff00ff00"
CASES = [Case(t) for t in TEXTS + [CLASS, BANKS, SWAP32, SWAP16, BPERM, PERMUTE]] + [
    Case(f"ds_swizzle_b32 v20, v10 offset:{s}") for s in SWIZZLE
]
CASES += [
    Case(CNDMASK, "s_mov_b64 vcc, 0x0f0f0f0f"),
    Case(MBCNT, MBCNT_SETUP),
    Case("v_cmp_eq_u32 s[30:31], v10, v10", HALF_EXEC),
]
CASES += [
    Case("v_cmpx_lt_u32 vcc, v10, v12\nv_mov_b32 v20, 1"),
    Case("v_mov_b32_dpp v20, v10 row_shr:1 row_mask:0xf bank_mask:0xf", HALF_EXEC),
]

BENCH = Bench(CASES)


def mask_of(bits):
    return sum(1 << n for n in range(64) if bits[n])


@pytest.mark.parametrize("condition", CONDITIONS)
def test_float_conditions(condition):
    for a, b in pairs(f32(*VALUES), f32(*VALUES)):
        want = CONDITIONS[condition](a.view(np.float32), b.view(np.float32))
        assert BENCH.run(Case(f"v_cmp_{condition}_f32 s[30:31], v10, v12"), a, b)[1] == mask_of(want)


def test_inactive_lanes_compare_false():
    assert BENCH.run(Case("v_cmp_eq_u32 s[30:31], v10, v10", HALF_EXEC), 3)[1] == 0xF0F0F0F0


def test_cmpx_narrows_exec():
    got, _, vcc = BENCH.run(Case("v_cmpx_lt_u32 vcc, v10, v12\nv_mov_b32 v20, 1", ""), LANE, 10)
    assert vcc == 0x3FF and low(got).tolist() == [1] * 10 + [0] * 54


def test_class():
    x = lanes(
        np.array(
            [0x7F800001, 0x7FC00000, 0xFF800000, 0xBF800000, 0x80000001, 0x80000000, 0, 1, 0x3F800000, 0x7F800000],
            np.uint32,
        )
    )
    for n in range(10):
        assert BENCH.run(Case(CLASS), x, 1 << n)[1] == mask_of(n == LANE % 10)


def test_cndmask():
    got = low(BENCH.run(Case(CNDMASK, "s_mov_b64 vcc, 0x0f0f0f0f"), 1, 2)[0])
    assert (
        got.tolist() == [2 if 0x0F0F0F0F >> n & 1 else 1 for n in range(32)] + [1] * 32
    )  # the literal is zero-extended


@pytest.mark.parametrize("control", DPP)
@pytest.mark.parametrize("bound", ["", " bound_ctrl:0"])
def test_dpp(control, bound):
    """A source outside the row: the lane is not written, or gives 0 with bound_ctrl (which the assembler spells bound_ctrl:0)."""
    values, old = LANE + 1000, 7
    got = low(
        BENCH.run(Case(f"v_mov_b32_dpp v20, v10 {control} row_mask:0xf bank_mask:0xf{bound}"), values, 0, 0, old)[0]
    )
    source = DPP[control]
    want = np.where(source >= 0, values[source], 0 if bound else old)
    assert got.tolist() == want.tolist()


def test_dpp_row_and_bank_masks():
    got = low(BENCH.run(Case(BANKS), LANE + 1000, 0, 0, 7)[0])
    written = ((0x5 >> LANE // 16) & 1) & ((0x3 >> LANE % 16 // 4) & 1)
    want = np.where(written == 1, np.where(LANE % 16 < 15, LANE + 1001, 0), 7)
    assert got.tolist() == want.tolist()


def test_dpp_from_an_inactive_lane():
    """Without bound_ctrl a lane whose source is switched off keeps its value."""
    got = low(
        BENCH.run(Case("v_mov_b32_dpp v20, v10 row_shr:1 row_mask:0xf bank_mask:0xf", HALF_EXEC), LANE + 1000, 0, 0, 7)[
            0
        ]
    )
    on = [(0xF0F0F0F0 >> n & 1) if n < 32 else 0 for n in range(64)]
    want = [LANE[n] + 999 if on[n] and n % 16 and on[n - 1] else 7 for n in range(64)]
    assert got.tolist() == want


@pytest.mark.parametrize("text", SDWA)
def test_sdwa(text):
    a, b, old = 0x8180FF7F, 0x12345678, 0xCAFEBABE
    assert int(low(BENCH.run(Case(text), a, b, 0, old)[0])[0]) == SDWA[text](a, b, old) & 0xFFFFFFFF


def test_permlane_swaps():
    a, b = LANE, LANE + 100
    got = BENCH.run(Case(SWAP32), a, b)[0]
    assert low(got).tolist() == list(range(32)) + list(range(100, 132))
    assert (got >> np.uint64(32)).tolist() == list(range(32, 64)) + list(range(132, 164))
    got = BENCH.run(Case(SWAP16), a, b)[0]
    odd = LANE // 16 % 2 == 1
    assert low(got).tolist() == np.where(odd, b - 16, a).tolist()
    assert (got >> np.uint64(32)).tolist() == np.where(odd, b, a + 16).tolist()


@pytest.mark.parametrize("pattern", SWIZZLE)
def test_swizzle(pattern):
    assert (
        low(BENCH.run(Case(f"ds_swizzle_b32 v20, v10 offset:{pattern}"), LANE + 5)[0]).tolist()
        == (SWIZZLE[pattern] + 5).tolist()
    )


def test_bpermute_pulls_and_permute_pushes():
    lane = (LANE * 7 + 3) % 64
    assert low(BENCH.run(Case(BPERM), LANE + 5, lane * 4)[0]).tolist() == (lane + 5).tolist()
    pushed = np.zeros(64, int)
    pushed[lane] = LANE + 5
    assert low(BENCH.run(Case(PERMUTE), LANE + 5, lane * 4)[0]).tolist() == pushed.tolist()


def test_mbcnt_counts_lower_lanes():
    mask = 0x0F0F0F0F | 0xFF00FF00 << 32
    want = [bin(mask & ((1 << n) - 1)).count("1") for n in range(64)]
    assert low(BENCH.run(Case(MBCNT, MBCNT_SETUP), 0)[0]).tolist() == want


def test_readlane_writelane_and_readfirstlane():
    body = """
s_mov_b64 exec, 0xff00
v_readfirstlane_b32 s12, v0
s_mov_b64 exec, -1
v_readlane_b32 s13, v0, 41
v_mov_b32 v2, s12
v_mov_b32 v3, 0
v_writelane_b32 v3, s13, 5
v_add_u32 v2, v2, v3
global_store_dword v1, v2, s[6:7]
"""
    result = Buffer(256)
    machine.run_once(Source("lanes", LOAD_ARGUMENTS + body), result, result)
    assert result.read(np.uint32).tolist() == [8 + (41 if n == 5 else 0) for n in range(64)]
