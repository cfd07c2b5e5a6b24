"""The small float formats: every code, every tie, overflow, NaN.

Sources: OCP 8-bit floating point 1.0 (e4m3, e5m2), OCP Microscaling 1.0 (e2m3, e3m2, e2m1, e8m0), IEEE 754 (binary16); saturation
and the tie at 464: docs/emulator_numerics.md. ml_dtypes is the independent implementation.
"""

import ml_dtypes
import numpy as np
import pytest

FP8, BF8, FP6, BF6, FP4, F16, BF16 = range(7)
DTYPES = {
    FP8: ml_dtypes.float8_e4m3fn,
    BF8: ml_dtypes.float8_e5m2,
    FP6: ml_dtypes.float6_e2m3fn,
    BF6: ml_dtypes.float6_e3m2fn,
    FP4: ml_dtypes.float4_e2m1fn,
    F16: np.float16,
    BF16: ml_dtypes.bfloat16,
}
BITS = {FP8: 8, BF8: 8, FP6: 6, BF6: 6, FP4: 4, F16: 16, BF16: 16}
LARGEST = {FP8: 448.0, BF8: 57344.0, FP6: 7.5, BF6: 28.0, FP4: 6.0, F16: 65504.0, BF16: 3.3895313892515355e38}
NEAREST, TOWARD_ZERO, UP, DOWN, STOCHASTIC = range(5)


def codes_of(fmt):
    return np.arange(1 << BITS[fmt], dtype=np.uint32)


def as_dtype(fmt, codes):
    return codes.astype(np.uint16 if BITS[fmt] == 16 else np.uint8).view(DTYPES[fmt])


@pytest.mark.parametrize("fmt", DTYPES)
def test_every_code_decodes(numerics, fmt):
    got = numerics.decode(fmt, codes_of(fmt))
    want = as_dtype(fmt, codes_of(fmt)).astype(np.float32)
    nan = np.isnan(want)
    assert (np.isnan(got) == nan).all()
    assert (got[~nan].view(np.uint32) == want[~nan].view(np.uint32)).all()
    assert (got[nan].view(np.uint32) & 0x400000).all(), "a decoded NaN is quiet"


@pytest.mark.parametrize("fmt", DTYPES)
def test_every_code_survives_a_round_trip(numerics, fmt):
    values = numerics.decode(fmt, codes_of(fmt))
    finite = ~np.isnan(values)
    assert (numerics.encode(fmt, values)[finite] == codes_of(fmt)[finite]).all()


@pytest.mark.parametrize("fmt", DTYPES)
def test_ties_go_to_even_and_neighbours_of_ties_to_the_nearer(numerics, fmt):
    magnitudes = numerics.decode(fmt, codes_of(fmt)[: 1 << (BITS[fmt] - 1)]).astype(np.float64)
    last = int(np.argmax(np.where(np.isfinite(magnitudes), magnitudes, -1)))
    low, high = magnitudes[:last], magnitudes[1 : last + 1]
    middle = (low + high) / 2
    lower_code = np.arange(last, dtype=np.uint32)
    assert (numerics.encode(fmt, middle) == lower_code + (lower_code & 1)).all()
    assert (numerics.encode(fmt, np.nextafter(middle, 0)) == lower_code).all()
    assert (numerics.encode(fmt, np.nextafter(middle, np.inf)) == lower_code + 1).all()
    sign = np.uint32(1 << (BITS[fmt] - 1))
    assert (numerics.encode(fmt, -np.nextafter(middle, np.inf)) == (lower_code + 1 | sign)).all()


@pytest.mark.parametrize("fmt", DTYPES)
def test_random_values_match_ml_dtypes(numerics, fmt):
    rng = np.random.default_rng(fmt)
    values = np.concatenate([rng.standard_normal(20000) * 2.0 ** rng.integers(-30, 20, 20000), [0.0, -0.0]]).astype(
        np.float32
    )
    values = values[np.abs(values) <= LARGEST[fmt]]
    want = values.astype(DTYPES[fmt]).view(np.uint16 if BITS[fmt] == 16 else np.uint8)
    mask = np.uint32((1 << BITS[fmt]) - 1)
    assert (numerics.encode(fmt, values) == (want & mask)).all()


@pytest.mark.parametrize("fmt, saturate", [(f, s) for f in (FP8, BF8, F16) for s in (False, True)] + [(BF16, False)])
def test_the_inline_forms_agree_with_the_general_one(numerics, fmt, saturate):
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 1 << 32, 200000, dtype=np.uint32)
    edges = [
        448,
        464,
        np.nextafter(np.float32(464), np.float32(500)),
        480,
        57344,
        61439.99,
        61440,
        65504,
        65519.99,
        65520,
        np.inf,
        2**-9,
        2**-10,
        2**-16,
        2**-17,
        2**-24,
        2**-25,
        3e38,
        3.4e38,
        1e-45,
        0.0,
    ]
    near = (rng.standard_normal(100000) * 2.0 ** rng.integers(-20, 18, 100000)).astype(np.float32)
    values = np.concatenate([bits.view(np.float32), near, np.float32(edges), -np.float32(edges)])
    got = numerics.encode_f32(fmt, values, saturate)
    assert (got == numerics.encode(fmt, values, saturate)).all()


def test_fp8_overflow_is_nan_or_saturates(numerics):
    edge = np.float32([464, np.nextafter(np.float32(464), np.float32(1000)), 1e30, np.inf, -465, -np.inf])
    assert numerics.encode_f32(FP8, edge).tolist() == [0x7E, 0x7F, 0x7F, 0x7F, 0xFF, 0xFF]
    assert numerics.encode_f32(FP8, edge, saturate=True).tolist() == [0x7E, 0x7E, 0x7E, 0x7E, 0xFE, 0xFE]


def test_bf8_overflow_is_inf_or_saturates(numerics):
    edge = np.float32([61439.9, 61440, np.inf, -1e9])
    assert numerics.encode_f32(BF8, edge).tolist() == [0x7B, 0x7C, 0x7C, 0xFC]
    assert numerics.encode_f32(BF8, edge, saturate=True).tolist() == [0x7B, 0x7B, 0x7B, 0xFB]


def test_f16_saturation_keeps_a_true_infinity(numerics):
    edge = np.float32([65519.9, 65520, 1e30, np.inf])
    assert numerics.encode_f32(F16, edge).tolist() == [0x7BFF, 0x7C00, 0x7C00, 0x7C00]
    assert numerics.encode_f32(F16, edge, saturate=True).tolist() == [0x7BFF, 0x7BFF, 0x7BFF, 0x7C00]


@pytest.mark.parametrize("fmt", [FP6, BF6, FP4])
def test_formats_without_inf_saturate(numerics, fmt):
    top = (1 << (BITS[fmt] - 1)) - 1
    assert numerics.encode(fmt, [LARGEST[fmt] * 1.01, 1e30, np.inf]).tolist() == [top] * 3
    assert numerics.encode(fmt, [-1e30]).tolist() == [top | 1 << (BITS[fmt] - 1)]


def test_nan_stays_quiet_nan(numerics):
    signalling = np.uint32([0x7F800001, 0xFF800001, 0x7FFFFFFF, 0x7FA00000]).view(np.float32)
    assert numerics.encode_f32(FP8, signalling).tolist() == [0x7F, 0xFF, 0x7F, 0x7F]
    assert numerics.encode_f32(BF8, signalling).tolist() == [0x7F, 0xFF, 0x7F, 0x7F]
    assert numerics.encode_f32(F16, signalling).tolist() == [0x7E00, 0xFE00, 0x7FFF, 0x7F00]
    assert numerics.encode_f32(BF16, signalling).tolist() == [0x7FC0, 0xFFC0, 0x7FFF, 0x7FE0]


def test_fp8_subnormals_are_not_flushed(numerics):
    tiny = np.float32([2.0**-9, 2.0**-10, 1.5 * 2.0**-10, 7 * 2.0**-9, -(2.0**-9)])
    assert numerics.encode_f32(FP8, tiny).tolist() == [0x01, 0x00, 0x01, 0x07, 0x81]


@pytest.mark.parametrize("rounding", [TOWARD_ZERO, UP, DOWN])
@pytest.mark.parametrize("fmt", [FP8, F16])
def test_directed_rounding(numerics, fmt, rounding):
    rng = np.random.default_rng(3)
    values = rng.standard_normal(5000) * 2.0 ** rng.integers(-12, 8, 5000)
    values = values[np.abs(values) < LARGEST[fmt]]
    back = numerics.decode(fmt, numerics.encode(fmt, values, rounding=rounding)).astype(np.float64)
    towards = {TOWARD_ZERO: np.abs(back) <= np.abs(values), UP: back >= values, DOWN: back <= values}[rounding]
    assert towards.all()
    nearest = numerics.decode(fmt, numerics.encode(fmt, values)).astype(np.float64)
    assert (
        np.abs(back - values)
        <= 2 * np.abs(np.spacing(nearest.astype(np.float16).astype(np.float64))) + np.abs(nearest) / 8 + 2**-9
    ).all()


def test_toward_zero_overflows_to_the_largest_finite(numerics):
    assert numerics.encode(F16, [1e9, -1e9, np.inf], rounding=TOWARD_ZERO).tolist() == [0x7BFF, 0xFBFF, 0x7C00]


def test_stochastic_rounding_adds_the_top_of_the_random_word(numerics):
    """v_cvt_sr_fp8_f32: the mantissa plus S1[31:12], then truncated (CDNA3 ISA pseudo code)."""
    rng = np.random.default_rng(11)
    values = (rng.uniform(1, 2, 5000) * 2.0 ** rng.integers(-5, 8, 5000)).astype(np.float32)
    random = rng.integers(0, 1 << 32, 5000, dtype=np.uint32)
    raw = (values.view(np.uint32) & 0x7FFFFFFF) + (random >> 12)
    want = (raw >> 20) - (120 << 3)
    want = np.where(want > 0x7E, 0x7F, want)
    assert (numerics.encode(FP8, values, rounding=STOCHASTIC, random=random) == want).all()


@pytest.mark.parametrize("fmt", [FP8, BF8, F16, BF16, FP6, FP4])
def test_stochastic_rounding_is_unbiased_and_brackets(numerics, fmt):
    value = 1.0 + 0.3 / 2 ** {FP8: 3, BF8: 2, F16: 10, BF16: 7, FP6: 3, FP4: 1}[fmt]
    random = np.random.default_rng(5).integers(0, 1 << 32, 20000, dtype=np.uint32)
    codes = numerics.encode(fmt, np.full(20000, value), rounding=STOCHASTIC, random=random)
    one = numerics.encode(fmt, [1.0])[0]
    assert set(codes.tolist()) == {one, one + 1}
    assert abs((codes == one + 1).mean() - 0.3) < 0.02


def test_exact_values_do_not_move_under_stochastic_rounding(numerics):
    codes = np.arange(0x7F, dtype=np.uint32)
    values = numerics.decode(FP8, codes)
    assert (numerics.encode(FP8, values, rounding=STOCHASTIC, random=0xFFFFFFFF) == codes).all()


def test_e8m0(numerics):
    import ctypes

    for code in range(255):
        assert numerics.c.e8m0(ctypes.c_uint32(code)) == 2.0 ** (code - 127)
    assert np.isnan(numerics.c.e8m0(ctypes.c_uint32(255)))


def test_scaled_conversion_uses_the_exponent_of_the_scale_only(numerics):
    assert numerics.c.scalef32_from(FP8, 0x38, 8.0) == 8.0  # 1.0 * 2^3
    assert numerics.c.scalef32_from(FP8, 0x38, 15.9) == 8.0
    assert numerics.c.scalef32_to(FP8, 8.0, 8.0, False) == 0x38
    assert numerics.c.scalef32_to(FP4, 24.0, 4.0, False) == 0x7
    assert np.isnan(numerics.c.scalef32_from(FP8, 0x38, float("nan")))


def test_packed_codes_round_trip(numerics):
    import ctypes

    codes = np.random.default_rng(2).integers(0, 64, 32, dtype=np.uint32)
    words, back = np.zeros(6, np.uint32), np.zeros(32, np.uint32)
    call = [x.ctypes.data_as(ctypes.c_void_p) for x in (codes, words, back)]
    numerics.c.packed_codes(6, call[0], 32, call[1], call[2])
    assert (back == codes).all()
    bits = "".join(f"{int(c):06b}"[::-1] for c in codes)
    assert [int(bits[32 * i : 32 * i + 32][::-1], 2) for i in range(6)] == words.tolist()
