"""f16 arithmetic and packed (VOP3P) forms against numpy's float16, whose single operations round once.

Which half is written and what happens to the other: LLVM's GCNSubtarget::zeroesHigh16BitsOfDest describes gfx9 (older two-source
instructions clear the upper half, three-source ones keep it)."""

import numpy as np
import pytest

from .one_instruction import Bench, Case, f16, lanes, low, pairs

VALUES = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    65504.0,
    -65504.0,
    6e-8,
    -6e-5,
    1 / 3,
    2049.0,
    float("inf"),
    float("-inf"),
    float("nan"),
]
BINARY = {"v_add_f16": lambda a, b: a + b, "v_sub_f16": lambda a, b: a - b, "v_mul_f16": lambda a, b: a * b}
PACKED = {"v_pk_add_f16": lambda a, b: a + b, "v_pk_mul_f16": lambda a, b: a * b}
FMA_HIGH = "v_fma_f16 v20, v10, v12, v14 op_sel:[0,1,0,1]"
PK_SELECT = "v_pk_add_f16 v20, v10, v12 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[0,1]"
PK_U16 = "v_pk_add_u16 v20, v10, v12 clamp"
PK_I16 = "v_pk_sub_i16 v20, v10, v12 clamp"
MIX = "v_fma_mix_f32 v20, v10, v12, v14 op_sel:[1,0,0] op_sel_hi:[1,1,0]"
MIXHI = "v_fma_mixhi_f16 v20, v10, v12, v14 op_sel_hi:[1,1,1]"
PK_MOV = "v_pk_mov_b32 v[20:21], v[10:11], v[12:13] op_sel:[1,0]"
TEXTS = [f"{n} v20, v10, v12" for n in (*BINARY, *PACKED)] + [FMA_HIGH, PK_SELECT, PK_U16, PK_I16, MIX, MIXHI, PK_MOV]
BENCH = Bench([Case(t) for t in TEXTS])


def half(bits):
    return (bits & 0xFFFF).astype(np.uint16).view(np.float16)


def same(got, expected):
    expected = expected.astype(np.float16)
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(got), nan)
    assert np.array_equal(got.view(np.uint16)[~nan], expected.view(np.uint16)[~nan])


@pytest.mark.parametrize("name", BINARY)
def test_binary_clears_the_upper_half(name):
    for a, b in pairs(f16(*VALUES), f16(*VALUES)):
        got = low(BENCH.run(Case(f"{name} v20, v10, v12"), a, b, 0, 0xAAAA5555)[0])
        with np.errstate(all="ignore"):
            same(half(got), BINARY[name](half(a), half(b)))
        assert not (got >> 16).any()


@pytest.mark.parametrize("name", PACKED)
def test_packed(name):
    for a, b in pairs(f16(*VALUES), f16(*VALUES)):
        x, y = a | np.roll(a, 5) << 16, b | np.roll(b, 9) << 16
        got = low(BENCH.run(Case(f"{name} v20, v10, v12"), x, y)[0])
        with np.errstate(all="ignore"):
            same(half(got), PACKED[name](half(x), half(y)))
            same(half(got >> 16), PACKED[name](half(x >> 16), half(y >> 16)))


def test_three_source_keeps_the_other_half():
    a, b, c = lanes(f16(1.5, 2.0)), lanes(f16(3.0, -4.0) << 16), lanes(f16(0.25))
    got = low(BENCH.run(Case(FMA_HIGH), a, b, c, 0x12345678)[0])
    assert (got & 0xFFFF == 0x5678).all()
    same(half(got >> 16)[:2], np.array([1.5 * 3 + 0.25, -8 + 0.25]))


def test_packed_selects_and_negates():
    a, b = lanes(f16(1.0) | f16(2.0) << 16), lanes(f16(10.0) | f16(20.0) << 16)
    got = low(BENCH.run(Case(PK_SELECT), a, b)[0])
    same(half(got)[:1], np.array([2.0 - 10.0]))
    same(half(got >> 16)[:1], np.array([1.0 + 20.0]))


def test_packed_integers_saturate():
    a, b = lanes([0xFFFF0001, 0x80000000]), lanes([0x00010002, 0x00017FFF])
    assert low(BENCH.run(Case(PK_U16), a, b)[0])[:2].tolist() == [0xFFFF0003, 0x80017FFF]
    assert low(BENCH.run(Case(PK_I16), a, b)[0])[:2].tolist() == [0xFFFEFFFF, 0x80008001]


def test_mixed_precision():
    a, b, c = lanes(f16(9.0) | f16(0.5) << 16), lanes(f16(3.0)), lanes(np.float32(0.125).view(np.uint32))
    assert (low(BENCH.run(Case(MIX), a, b, c)[0]).view(np.float32) == 0.5 * 3 + 0.125).all()
    got = low(BENCH.run(Case(MIXHI), a, b, lanes(f16(1.0)), 0x1234)[0])
    assert (got & 0xFFFF == 0x1234).all() and (half(got >> 16) == 28.0).all()


def test_packed_move_selects_words():
    got = BENCH.run(Case(PK_MOV), lanes([0x1111111122222222], np.uint64), lanes([0x3333333344444444], np.uint64))[0]
    assert int(got[0]) == 0x4444444411111111
