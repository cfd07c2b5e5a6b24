"""Conversions: numpy casts, and the OCP formats' definitions through ml-free tables (see tests/emulator/numerics for the exhaustive ones).
Here: which operand, which half, which byte. e4m3fn values: OCP 8-bit floating point specification 1.0; op_sel meanings as clang-22 emits them."""

import numpy as np

from .one_instruction import Bench, Case, as_f32, as_f64, f16, f32, f64, lanes, low, same_floats

INF, NAN = float("inf"), float("nan")
PLAIN = {
    "v_cvt_f32_i32 v20, v10": lambda x: x.view(np.int32).astype(np.float32),
    "v_cvt_f32_u32 v20, v10": lambda x: x.astype(np.float32),
    "v_cvt_f32_ubyte2 v20, v10": lambda x: (x >> 16 & 255).astype(np.float32),
    "v_cvt_f32_f16 v20, v10": lambda x: (x & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float32),
}
TO_INT = ["v_cvt_i32_f32 v20, v10", "v_cvt_u32_f32 v20, v10"]
FP8_LOW, FP8_HIGH = "v_cvt_pk_fp8_f32 v20, v10, v12", "v_cvt_pk_fp8_f32 v20, v10, v12 op_sel:[0,0,1]"
BF16, PKRTZ = "v_cvt_pk_bf16_f32 v20, v10, v12", "v_cvt_pkrtz_f16_f32 v20, v10, v12"
FROM_FP8, FROM_FP8_BYTE, FROM_FP8_WORD = (
    "v_cvt_f32_fp8 v20, v10",
    "v_cvt_f32_fp8_sdwa v20, v10 src0_sel:BYTE_2",
    "v_cvt_pk_f32_fp8_sdwa v[20:21], v10 src0_sel:WORD_1",
)
SR_BYTE = "v_cvt_sr_fp8_f32 v20, v10, v12 op_sel:[0,0,1,1]"
SCALED_BYTE = "v_cvt_scalef32_f32_fp8 v20, v10, v12 op_sel:[0,1,0]"
SCALED_PACK = "v_cvt_scalef32_pk_fp8_f32 v20, v10, v12, v14 op_sel:[0,0,0,1]"
FP4_BYTE = "v_cvt_scalef32_pk_fp4_f32 v20, v10, v12, v14 op_sel:[0,0,1,0]"
FROM_FP4 = "v_cvt_scalef32_pk_f32_fp4 v[20:21], v10, v12 op_sel:[1,0,0]"
F64 = ["v_cvt_f64_f32 v[20:21], v10", "v_cvt_f32_f64 v20, v[10:11]", "v_cvt_i32_f64 v20, v[10:11]"]
OVERFLOW = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1"
TEXTS = [
    *PLAIN,
    *TO_INT,
    FP8_LOW,
    FP8_HIGH,
    BF16,
    PKRTZ,
    FROM_FP8,
    FROM_FP8_BYTE,
    FROM_FP8_WORD,
    SR_BYTE,
    SCALED_BYTE,
    SCALED_PACK,
    FP4_BYTE,
    FROM_FP4,
    *F64,
]
BENCH = Bench([Case(t) for t in TEXTS] + [Case(FP8_LOW, OVERFLOW)])


def test_plain():
    x = lanes([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 16777217, 0x12345678, 0x3C00, 0x0001, 0xFC00, 0x7E00])
    for text, expected in PLAIN.items():
        same_floats(as_f32(BENCH.run(Case(text), x)[0]), expected(x))


def test_to_integers_saturate_and_nan_is_zero():
    x = lanes(f32(0.9, -0.9, 1e10, -1e10, INF, -INF, NAN, 2147483520.0, -5.5))
    want_i = [0, 0, 2**31 - 1, 2**31, 2**31 - 1, 2**31, 0, 2147483520, 2**32 - 5]
    want_u = [0, 0, 2**32 - 1, 0, 2**32 - 1, 0, 0, 2147483520, 0]
    assert low(BENCH.run(Case(TO_INT[0]), x)[0])[:9].tolist() == want_i
    assert low(BENCH.run(Case(TO_INT[1]), x)[0])[:9].tolist() == want_u


def test_fp8_pack_places_its_half():
    a, b = lanes(f32(1.0, 448.0, 1000.0, 2.0**-9, NAN)), lanes(f32(-2.0))
    want = [0x38, 0x7E, 0x7F, 0x01, 0x7F]  # out of range is NaN unless MODE.FP16_OVFL
    got = low(BENCH.run(Case(FP8_LOW), a, b, 0, 0xABCD1234)[0])[:5].tolist()
    assert got == [0xABCD0000 | 0xC0 << 8 | w for w in want]
    got = low(BENCH.run(Case(FP8_HIGH), a, b, 0, 0xABCD1234)[0])[:5].tolist()
    assert got == [0x1234 | (0xC0 << 8 | w) << 16 for w in want]


def test_fp8_pack_saturates_by_mode():
    got = low(BENCH.run(Case(FP8_LOW, OVERFLOW), lanes(f32(1000.0, -1000.0, INF)), 0)[0])[:3]
    assert (got & 0xFF).tolist() == [0x7E, 0xFE, 0x7E]


def test_bf16_rounds_to_even_and_keeps_nan():
    a = lanes(np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x7F800001, 0x7F7FFFFF, 0x80000001], np.uint32))
    got = low(BENCH.run(Case(BF16), a, lanes(f32(1.0)))[0])[:6]
    assert (got >> 16 == 0x3F80).all()
    assert (got & 0xFFFF).tolist() == [0x3F80, 0x3F82, 0x3F81, 0x7FC0, 0x7F80, 0x8000]


def test_pkrtz_truncates():
    got = low(BENCH.run(Case(PKRTZ), lanes(f32(2049.9)), lanes(f32(-1e9)))[0])[0]
    assert got & 0xFFFF == int(f16(2048.0)[0]) and got >> 16 == 0xFBFF  # toward zero never reaches infinity


def test_from_fp8_bytes_and_words():
    x = lanes([0x7E38C001])
    assert as_f32(BENCH.run(Case(FROM_FP8), x)[0])[0] == 2.0**-9
    assert as_f32(BENCH.run(Case(FROM_FP8_BYTE), x)[0])[0] == 1.0
    pair = BENCH.run(Case(FROM_FP8_WORD), x)[0]
    assert (
        low(pair).view(np.float32)[0] == 1.0 and (pair >> np.uint64(32)).astype(np.uint32).view(np.float32)[0] == 448.0
    )


def test_stochastic_rounding_places_a_byte():
    got = low(BENCH.run(Case(SR_BYTE), lanes(f32(1.0)), 0xFFFFFFFF, 0, 0x11223344)[0])
    assert (got == 0x38223344).all()  # exact: the random bits do not matter


def test_scaled_conversions():
    assert (as_f32(BENCH.run(Case(SCALED_BYTE), lanes([0x00380000]), lanes(f32(8.0)))[0]) == 8.0).all()
    got = low(BENCH.run(Case(SCALED_PACK), lanes(f32(4.0)), lanes(f32(-8.0)), lanes(f32(4.0)), 0x1234)[0])
    assert (got == (0xC0 << 8 | 0x38) << 16 | 0x1234).all()  # divided by the scale
    got = low(BENCH.run(Case(FP4_BYTE), lanes(f32(6.0)), lanes(f32(-0.5)), lanes(f32(1.0)), 0)[0])
    assert (got == 0x97 << 8).all() or (got == (0x9 << 4 | 0x7) << 16).all()  # byte 1 of op_sel [0,0,1,0]
    pair = BENCH.run(Case(FROM_FP4), lanes([0x2700]), lanes(f32(2.0)))[0]
    assert (
        low(pair).view(np.float32)[0] == 12.0 and (pair >> np.uint64(32)).astype(np.uint32).view(np.float32)[0] == 2.0
    )


def test_doubles():
    x = lanes(f32(1.5, -0.0, 1e-45, INF, NAN))
    same_floats(as_f64(BENCH.run(Case(F64[0]), x)[0]), x.view(np.float32).astype(np.float64))
    d = lanes(f64(1.1, -0.0, 1e300, 1e-300, NAN, 2.0**31, -3.9), np.uint64)
    with np.errstate(all="ignore"):
        same_floats(as_f32(BENCH.run(Case(F64[1]), d)[0]), d.view(np.float64).astype(np.float32))
    assert low(BENCH.run(Case(F64[2]), d)[0])[:7].tolist() == [1, 0, 2**31 - 1, 0, 0, 2**31 - 1, 2**32 - 3]
