"""Integer and bit instructions against Python integers. Meanings: CDNA3 ISA reference chapter 12; v_bitop3_b32: the table bit is
4*S0 + 2*S1 + S2 (AMD's LLVM documentation)."""

import numpy as np
import pytest

from .one_instruction import Bench, Case, lanes, low, pairs

EDGE = [
    0,
    1,
    2,
    31,
    32,
    33,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    0x12345678,
    0xDEADBEEF,
]
M32, M64 = 2**32 - 1, 2**64 - 1


def signed(x, bits=32):
    x &= 2**bits - 1
    return x - 2**bits if x >> (bits - 1) else x


def clamp(x, low_, high):
    return max(low_, min(high, x))


BINARY = {
    "v_add_u32 v20, v10, v12": lambda a, b: a + b,
    "v_sub_u32 v20, v10, v12": lambda a, b: a - b,
    "v_subrev_u32 v20, v10, v12": lambda a, b: b - a,
    "v_add_u32_e64 v20, v10, v12 clamp": lambda a, b: min(a + b, M32),
    "v_sub_u32_e64 v20, v10, v12 clamp": lambda a, b: max(a - b, 0),
    "v_add_i32 v20, v10, v12 clamp": lambda a, b: clamp(signed(a) + signed(b), -(2**31), 2**31 - 1),
    "v_mul_lo_u32 v20, v10, v12": lambda a, b: a * b,
    "v_mul_hi_u32 v20, v10, v12": lambda a, b: a * b >> 32,
    "v_mul_hi_i32 v20, v10, v12": lambda a, b: signed(a) * signed(b) >> 32,
    "v_mul_u32_u24 v20, v10, v12": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF),
    "v_mul_i32_i24 v20, v10, v12": lambda a, b: signed(a, 24) * signed(b, 24),
    "v_lshlrev_b32 v20, v10, v12": lambda a, b: b << (a & 31),
    "v_lshrrev_b32 v20, v10, v12": lambda a, b: b >> (a & 31),
    "v_ashrrev_i32 v20, v10, v12": lambda a, b: signed(b) >> (a & 31),
    "v_min_i32 v20, v10, v12": lambda a, b: min(signed(a), signed(b)),
    "v_max_u32 v20, v10, v12": lambda a, b: max(a, b),
    "v_xnor_b32 v20, v10, v12": lambda a, b: ~(a ^ b),
    "v_bfm_b32 v20, v10, v12": lambda a, b: ((1 << (a & 31)) - 1) << (b & 31),
    "v_bcnt_u32_b32 v20, v10, v12": lambda a, b: bin(a).count("1") + b,
    "v_add_u16 v20, v10, v12": lambda a, b: (a + b) & 0xFFFF,
    "v_lshlrev_b16 v20, v10, v12": lambda a, b: ((b & 0xFFFF) << (a & 15)) & 0xFFFF,
    "v_mul_lo_u16 v20, v10, v12": lambda a, b: ((a & 0xFFFF) * (b & 0xFFFF)) & 0xFFFF,
    "v_min_i16 v20, v10, v12": lambda a, b: min(signed(a, 16), signed(b, 16)) & 0xFFFF,
}
TERNARY = {
    "v_add3_u32 v20, v10, v12, v14": lambda a, b, c: a + b + c,
    "v_lshl_add_u32 v20, v10, v12, v14": lambda a, b, c: (a << (b & 31)) + c,
    "v_lshl_or_b32 v20, v10, v12, v14": lambda a, b, c: (a << (b & 31)) | c,
    "v_and_or_b32 v20, v10, v12, v14": lambda a, b, c: (a & b) | c,
    "v_xad_u32 v20, v10, v12, v14": lambda a, b, c: (a ^ b) + c,
    "v_bfe_u32 v20, v10, v12, v14": lambda a, b, c: (a >> (b & 31)) & ((1 << (c & 31)) - 1),
    "v_bfe_i32 v20, v10, v12, v14": lambda a, b, c: signed(signed(a) >> (b & 31), c & 31) if c & 31 else 0,
    "v_bfi_b32 v20, v10, v12, v14": lambda a, b, c: (a & b) | (~a & c),
    "v_alignbit_b32 v20, v10, v12, v14": lambda a, b, c: (a << 32 | b) >> (c & 31),
    "v_alignbyte_b32 v20, v10, v12, v14": lambda a, b, c: (a << 32 | b) >> (8 * (c & 3)),
    "v_med3_i32 v20, v10, v12, v14": lambda a, b, c: sorted((signed(a), signed(b), signed(c)))[1],
    "v_max3_u32 v20, v10, v12, v14": lambda a, b, c: max(a, b, c),
    "v_mad_u32_u24 v20, v10, v12, v14": lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c,
    "v_sad_u8 v20, v10, v12, v14": lambda a, b, c: (
        c + sum(abs((a >> n & 255) - (b >> n & 255)) for n in (0, 8, 16, 24))
    ),
    "v_dot4_i32_i8 v20, v10, v12, v14": lambda a, b, c: (
        signed(c) + sum(signed(a >> n, 8) * signed(b >> n, 8) for n in (0, 8, 16, 24))
    ),
    "v_dot2_u32_u16 v20, v10, v12, v14": lambda a, b, c: (
        c + sum((a >> n & 0xFFFF) * (b >> n & 0xFFFF) for n in (0, 16))
    ),
    "v_bitop3_b32 v20, v10, v12, v14 bitop3:0x1b": lambda a, b, c: sum(
        (0x1B >> (4 * (a >> n & 1) + 2 * (b >> n & 1) + (c >> n & 1)) & 1) << n for n in range(32)
    ),
}
UNARY = {
    "v_not_b32 v20, v10": lambda a: ~a,
    "v_bfrev_b32 v20, v10": lambda a: int(f"{a:032b}"[::-1], 2),
    "v_ffbh_u32 v20, v10": lambda a: 32 - a.bit_length() if a else -1,
    "v_ffbl_b32 v20, v10": lambda a: (a & -a).bit_length() - 1 if a else -1,
    "v_ffbh_i32 v20, v10": lambda a: 32 - (a ^ (M32 if a >> 31 else 0)).bit_length() if a not in (0, M32) else -1,
}
WIDE = {
    "v_lshl_add_u64 v[20:21], v[10:11], 4, v[12:13]": lambda a, b: (a << 4) + b,
    "v_lshlrev_b64 v[20:21], v12, v[10:11]": lambda a, b: a << (b & 63),
    "v_ashrrev_i64 v[20:21], v12, v[10:11]": lambda a, b: signed(a, 64) >> (b & 63),
    "v_mov_b64 v[20:21], v[10:11]": lambda a, b: a,
}
CARRY = {
    "v_add_co_u32 v20, vcc, v10, v12": lambda a, b: (a + b, a + b > M32),
    "v_sub_co_u32 v20, vcc, v10, v12": lambda a, b: (a - b, b > a),
}
CARRY_IN = "v_addc_co_u32 v20, vcc, v10, v12, vcc"
MAD64 = "v_mad_u64_u32 v[20:21], s[30:31], v10, v12, v[14:15]"
PERM = "v_perm_b32 v20, v10, v12, v14"
TEXTS = [*BINARY, *TERNARY, *UNARY, *WIDE, *CARRY, MAD64, PERM]
BENCH = Bench([Case(t) for t in TEXTS] + [Case(CARRY_IN, "s_mov_b64 vcc, 0x55555555")])


@pytest.mark.parametrize("text", BINARY)
def test_binary(text):
    for a, b in pairs(EDGE, EDGE):
        want = [BINARY[text](int(x), int(y)) & M32 for x, y in zip(a, b)]
        assert low(BENCH.run(Case(text), a, b)[0]).tolist() == want


@pytest.mark.parametrize("text", TERNARY)
def test_ternary(text):
    rng = np.random.default_rng(2)
    for _ in range(4):
        a, b, c = (rng.choice(np.array(EDGE, np.uint32), 64) for _ in range(3))
        want = [TERNARY[text](int(x), int(y), int(z)) & M32 for x, y, z in zip(a, b, c)]
        assert low(BENCH.run(Case(text), a, b, c)[0]).tolist() == want


@pytest.mark.parametrize("text", UNARY)
def test_unary(text):
    a = lanes(EDGE)
    assert low(BENCH.run(Case(text), a)[0]).tolist() == [UNARY[text](int(x)) & M32 for x in a]


@pytest.mark.parametrize("text", WIDE)
def test_wide(text):
    values = np.array([0, 1, 63, 64, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 0x123456789ABCDEF0], np.uint64)
    for a, b in pairs(values, values, np.uint64):
        got = BENCH.run(Case(text), a, b)[0]
        assert got.tolist() == [WIDE[text](int(x), int(y)) & M64 for x, y in zip(a, b)]


@pytest.mark.parametrize("text", CARRY)
def test_carry_out(text):
    for a, b in pairs(EDGE, EDGE):
        value, _, vcc = BENCH.run(Case(text), a, b)
        want = [CARRY[text](int(x), int(y)) for x, y in zip(a, b)]
        assert low(value).tolist() == [w[0] & M32 for w in want]
        assert [vcc >> n & 1 for n in range(64)] == [int(w[1]) for w in want]


def test_carry_in_and_out():
    a, b = lanes([M32, M32, 0, 0]), lanes([0, 1, 0, M32])
    value, _, vcc = BENCH.run(Case(CARRY_IN, "s_mov_b64 vcc, 0x55555555"), a, b)
    carry = [(0x55555555 >> n) & 1 if n < 32 else 0 for n in range(64)]
    sums = [int(x) + int(y) + c for x, y, c in zip(a, b, carry)]
    assert low(value).tolist() == [s & M32 for s in sums]
    assert [vcc >> n & 1 for n in range(64)] == [s >> 32 for s in sums]


def test_mad_u64_carries_out():
    a, b, c = lanes([M32, M32, 3, 0]), lanes([M32, M32, 5, 7]), lanes([M64, 0, 2**63, 1], np.uint64)
    value, mask, _ = BENCH.run(Case(MAD64), a, b, c)
    sums = [int(x) * int(y) + int(z) for x, y, z in zip(a, b, c)]
    assert value.tolist() == [s & M64 for s in sums]
    assert [mask >> n & 1 for n in range(64)] == [s >> 64 for s in sums]


def test_perm_selectors():
    """Bytes 0-3 are the second source's, 4-7 the first's, 8-11 signs of halves, 12 is 0, above is 0xff (ISA V_PERM_B32)."""
    a, b = 0x80123456, 0x7FFF8001
    pool = [b >> 8 * n & 255 for n in range(4)] + [a >> 8 * n & 255 for n in range(4)]
    signs = [0xFF if (b >> 15) & 1 else 0, 0xFF if b >> 31 else 0, 0xFF if (a >> 15) & 1 else 0, 0xFF if a >> 31 else 0]
    table = pool + signs + [0, 0xFF, 0xFF, 0xFF]
    selector = lanes([n | (15 - n) << 8 | 0x0C << 16 | 0xF0 << 24 for n in range(16)])
    want = [table[n] | table[15 - n] << 8 | 0 << 16 | 0xFF << 24 for n in range(16)]
    assert low(BENCH.run(Case(PERM), a, b, selector)[0]).tolist() == want * 4
