"""Integer and packed conversions: saturation, NaN, ties. Source: CDNA3 ISA reference, chapter 12 (V_CVT_*)."""

import numpy as np

F = np.float32


def words(x):
    return np.atleast_1d(np.asarray(x)).view(np.uint32).tolist()


def test_float_to_int_saturates_and_drops_nan(numerics):
    x = F([1.9, -1.9, 2147483520, 2147483648, 1e30, -2147483648, -1e30, np.inf, -np.inf, np.nan, -0.5])
    big, low = 2**31 - 1, -(2**31)
    assert numerics.f32("cvt_i32_f32", x).view(np.int32).tolist() == [
        1,
        -1,
        2147483520,
        big,
        big,
        low,
        low,
        big,
        low,
        0,
        0,
    ]
    x = F([1.9, -1.0, 4294967040, 4294967296, np.inf, -np.inf, np.nan, 0.99])
    assert words(numerics.f32("cvt_u32_f32", x)) == [1, 0, 4294967040, 2**32 - 1, 2**32 - 1, 0, 0, 0]
    assert numerics.f64("cvt_i32_f64", [2147483647.9, -2147483648.9, np.nan, 1e300]).tolist() == [big, low, 0, big]
    assert numerics.f64("cvt_u32_f64", [4294967295.9, -1.0]).tolist() == [2**32 - 1, 0]
    halves = np.float16([40000, -40000, 1.5, np.nan, np.inf])
    assert numerics.f16("cvt_i16_f16", halves).view(np.int16).tolist() == [32767, -32768, 1, 0, 32767]
    assert numerics.f16("cvt_u16_f16", halves).view(np.uint16).tolist() == [40000, 0, 1, 0, 65535]


def test_floor_and_nearest_to_int(numerics):
    x = F([1.5, -1.5, 2.5, -0.5, np.nan, 1e20])
    assert numerics.f32("cvt_flr_i32_f32", x).view(np.int32).tolist() == [1, -2, 2, -1, 0, 2**31 - 1]
    assert numerics.f32("cvt_rpi_i32_f32", x).view(np.int32).tolist() == [2, -1, 3, 0, 0, 2**31 - 1]


def test_int_to_float_rounds_to_even(numerics):
    values = np.array([0, 1, -1, 2**24 + 1, 2**24 + 3, -(2**31), 2**31 - 1], np.int32)
    assert (numerics.f32("cvt_f32_i32", values.view(np.uint32)) == values.astype(F)).all()
    values = np.array([2**32 - 1, 2**31 + 128, 2**31 + 129, 7], np.uint32)
    assert (numerics.f32("cvt_f32_u32", values) == values.astype(F)).all()
    halves = np.arange(65536, dtype=np.uint32).astype(np.uint16)
    with np.errstate(over="ignore"):
        assert (numerics.f16("cvt_f16_u16", halves) == halves.astype(np.float16)).all()
        assert (numerics.f16("cvt_f16_i16", halves) == halves.view(np.int16).astype(np.float16)).all()
    assert numerics.f32("cvt_off_f32_i4", np.uint32([0, 7, 8, 15])).tolist() == [0, 0.4375, -0.5, -0.0625]


def test_packed_halves(numerics):
    a, b = F([1.0, 65504, 65520, -(2.0**-25)]), F([-2.0, 65519.99, -np.inf, np.nan])
    assert words(numerics.f32("cvt_pk_f16_f32", a, b)) == [0xC0003C00, 0x7BFF7BFF, 0xFC007C00, 0x7E008000]
    assert words(
        numerics.f32("cvt_pkrtz_f16_f32", F([65535, 1 + 2**-11 + 2**-12]), F([-1e9, -(1 + 2**-11 + 2**-12)]))
    ) == [0xFBFF7BFF, 0xBC003C00]
    assert words(numerics.f32("cvt_pk_bf16_f32", F([1.00390625, 1.01171875]), np.uint32([0x7F800001, 0xFFFFFFFF]))) == [
        0x7FC03F80,
        0xFFFF3F82,
    ]


def test_packed_fp8_puts_the_first_source_low(numerics):
    assert words(numerics.f32("cvt_pk_fp8_f32", F([1.0, 464]), F([-448, 465]))) == [0xFE38, 0x7F7E]


def test_packed_integers_saturate(numerics):
    a, b = (
        np.array([40000, -40000, 5], np.int32).view(np.uint32),
        np.array([-32769, 32767, -1], np.int32).view(np.uint32),
    )
    assert words(numerics.f32("cvt_pk_i16_i32", a, b)) == [0x80007FFF, 0x7FFF8000, 0xFFFF0005]
    assert words(numerics.f32("cvt_pk_u16_u32", np.uint32([70000, 3]), np.uint32([65535, 65536]))) == [
        0xFFFFFFFF,
        0xFFFF0003,
    ]


def test_normalised_integers(numerics):
    assert words(numerics.f32("cvt_pknorm_i16_f32", F([1, -1, 2, np.nan]), F([0, 0.5, -3, 0.25]))) == [
        0x00007FFF,
        0x40008001,
        0x80017FFF,
        0x20000000,
    ]
    assert words(numerics.f32("cvt_pknorm_u16_f32", F([1, -1, 0.5]), F([0, 2, np.nan]))) == [0xFFFF, 0xFFFF0000, 0x8000]


def test_packed_byte(numerics):
    assert words(numerics.f32("cvt_pk_u8_f32", F([1.5, 2.5, 300, -3, np.nan]))) == [
        0xAA02CCDD,
        0xAA02CCDD,
        0xAAFFCCDD,
        0xAA00CCDD,
        0xAA00CCDD,
    ]


def test_packed_rows_are_their_lanes(numerics):
    import ctypes

    rng = np.random.default_rng(1)
    for fmt in (0, 1, 6):
        for _ in range(50):
            a, b = rng.integers(0, 1 << 32, (2, 64), dtype=np.uint32)
            a[::2] = (rng.standard_normal(32) * 100).astype(F).view(np.uint32)
            width = 16 if fmt == 6 else 8
            want = numerics.encode_f32(fmt, a.view(F)) | numerics.encode_f32(fmt, b.view(F)) << width
            out = a.copy()
            numerics.c.packed_row(
                fmt,
                out.ctypes.data_as(ctypes.c_void_p),
                b.ctypes.data_as(ctypes.c_void_p),
                out.ctypes.data_as(ctypes.c_void_p),
                False,
            )
            assert (out == want).all()
