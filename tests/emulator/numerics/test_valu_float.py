"""Float VALU semantics: NaN, -0, ties, denormals, and division as LLVM's whole sequence.

Sources: CDNA3 ISA reference, chapter 12 (pseudo code of V_MIN, V_MAX, V_MED3, V_FREXP, V_FRACT, V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP,
V_CMP_CLASS, V_TRIG_PREOP); IEEE 754-2019 9.6 for maximum and minimum; LLVM AMDGPU's lowering of fdiv for the order of the division steps.
"""

import numpy as np
import pytest

F = np.float32
QUIET, SIGNALLING = np.uint32(0x7FC12345), np.uint32(0x7F812345)


def bits(x):
    return np.atleast_1d(np.asarray(x)).view(np.uint32).tolist()


def test_min_and_max_order_the_zeros(numerics):
    a, b = F([0.0, -0.0]), F([-0.0, 0.0])
    assert bits(numerics.f32("min_f32", a, b)) == [0x80000000] * 2
    assert bits(numerics.f32("max_f32", a, b)) == [0, 0]
    assert (
        np.signbit(numerics.f64("min_f64", [0.0], [-0.0])).all()
        and not np.signbit(numerics.f64("max_f64", [-0.0], [0.0])).any()
    )
    assert numerics.f16("min_f16", np.float16([0.0]), np.float16([-0.0])).view(np.uint16).tolist() == [0x8000]


def test_min_and_max_drop_a_quiet_nan_and_keep_a_signalling_one(numerics):
    for name in ("min_f32", "max_f32"):
        assert bits(numerics.f32(name, QUIET, F(3))) == bits(F(3))
        assert bits(numerics.f32(name, F(3), QUIET)) == bits(F(3))
        assert bits(numerics.f32(name, F(3), SIGNALLING)) == [int(SIGNALLING) | 0x400000]
        assert bits(numerics.f32(name, SIGNALLING, F(3))) == [int(SIGNALLING) | 0x400000]
        assert bits(numerics.f32(name + "_no_ieee", F(3), SIGNALLING)) == bits(F(3))


def test_maximum_and_minimum_propagate_nan(numerics):
    for name in ("maximum3_f32", "minimum3_f32"):
        for at in range(3):
            values = [np.uint32(F(1).view(np.uint32))] * 3
            values[at] = QUIET
            assert bits(numerics.f32(name, *values)) == [int(QUIET)]
    assert bits(numerics.f32("maximum3_f32", F(-0.0), F(0.0), F(-1))) == [0]
    assert bits(numerics.f32("minimum3_f32", F(-0.0), F(0.0), F(1))) == [0x80000000]
    assert np.isnan(numerics.f16("maximum3_f16", np.float16([1]), np.float16([np.nan]), np.float16([2]))).all()


def test_med3(numerics):
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((3, 5000)).astype(F)
    assert (numerics.f32("med3_f32", a, b, c) == np.median([a, b, c], axis=0)).all()
    assert bits(numerics.f32("med3_f32", QUIET, F(2), F(1))) == bits(F(1))  # a NaN makes it min3
    assert bits(numerics.f32("med3_f32", F(-448), F(900), F(448))) == bits(F(448))
    assert (numerics.f32("min3_f32", a, b, c) == np.min([a, b, c], axis=0)).all()
    assert (numerics.f32("max3_f32", a, b, c) == np.max([a, b, c], axis=0)).all()
    ha, hb, hc = (x.astype(np.float16) for x in (a, b, c))
    assert (numerics.f16("med3_f16", ha, hb, hc) == np.median([ha, hb, hc], axis=0)).all()


@pytest.mark.parametrize(
    "name, function", [("trunc", np.trunc), ("ceil", np.ceil), ("floor", np.floor), ("rndne", np.rint)]
)
def test_rounding_to_integers(numerics, name, function):
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [
            rng.uniform(-10, 10, 5000),
            np.arange(-20, 20) / 2,
            [8388607.5, 8388608, 1e30, np.inf, -np.inf, 0.0, -0.0, 0.49999997],
        ]
    )
    x = x.astype(F)
    got, want = numerics.f32(f"{name}_f32", x), function(x)
    assert (got.view(np.uint32) == want.view(np.uint32)).all()
    assert bits(numerics.f32(f"{name}_f32", SIGNALLING)) == [int(SIGNALLING) | 0x400000]
    halves = np.arange(65536, dtype=np.uint32).astype(np.uint16).view(np.float16)
    halves = halves[~np.isnan(halves)]
    assert (numerics.f16(f"{name}_f16", halves).view(np.uint16) == function(halves).view(np.uint16)).all()


def test_fract_stays_below_one(numerics):
    x = np.concatenate(
        [np.random.default_rng(2).uniform(-100, 100, 5000), [-1e-10, -0.0, 1.0, 1e20, -(2.0**-149)]]
    ).astype(F)
    got = numerics.f32("fract_f32", x)
    assert (got >= 0).all() and (got < 1).all()
    assert got[5000] == np.nextafter(F(1), F(0))
    assert np.isnan(numerics.f32("fract_f32", F([np.inf, -np.inf, np.nan]))).all()
    assert numerics.f64("fract_f64", [-1e-20, 2.25]).tolist() == [np.nextafter(1, 0), 0.25]
    assert numerics.f16("fract_f16", np.float16([-6e-8, 2.25])).tolist() == [
        float(np.nextafter(np.float16(1), np.float16(0))),
        0.25,
    ]


def test_frexp(numerics):
    x = np.concatenate(
        [np.random.default_rng(3).integers(0, 1 << 32, 5000, dtype=np.uint32).view(F), F([1e-45, -1e-40, 0.0, -0.0])]
    )
    x = x[np.isfinite(x)]
    mantissa, exponent = np.frexp(x)
    assert (numerics.f32("frexp_mant_f32", x).view(np.uint32) == mantissa.view(np.uint32)).all()
    assert (numerics.f32("frexp_exp_i32_f32", x).view(np.int32) == exponent).all()
    assert numerics.f32("frexp_exp_i32_f32", F([np.inf, np.nan])).view(np.int32).tolist() == [0, 0]
    assert numerics.f32("frexp_mant_f32", F([-np.inf])).tolist() == [-np.inf]
    assert numerics.f64("frexp_exp_f64", [0.75, 5e-324]).tolist() == [0, -1073]
    assert numerics.f16("frexp_exp_i16_f16", np.float16([6e-8])).view(np.int16).tolist() == [-23]


def test_ldexp_rounds_once(numerics):
    rng = np.random.default_rng(4)
    x = rng.integers(0, 1 << 32, 20000, dtype=np.uint32).view(F)
    x = x[np.isfinite(x)]
    e = rng.integers(-300, 300, x.size).astype(np.int32)
    with np.errstate(all="ignore"):
        want = np.ldexp(x, e)
    assert (numerics.f32("ldexp_f32", x, e.view(np.uint32)).view(np.uint32) == want.view(np.uint32)).all()
    extreme = np.array([2**31 - 1, -(2**31)], np.int32).view(np.uint32)
    assert numerics.f32("ldexp_f32", F([1e-45, 3e38]), extreme).tolist() == [np.inf, 0]
    assert numerics.f64("ldexp_f64", [3.0, 1.0], [-1074, 1023]).tolist() == [1.5e-323, 2.0**1023]
    assert numerics.f16("ldexp_f16", np.float16([3]), np.array([-25], np.int16)).view(np.uint16).tolist() == [2]


def random_pairs(count, seed):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 1 << 32, count, dtype=np.uint32)
    b = rng.integers(0, 1 << 32, count, dtype=np.uint32)
    close = (a & 0xFF800000) ^ (b & 0x007FFFFF)
    b[::3] = close[::3]
    a[::5] &= 0x80FFFFFF  # tiny numerators, denormals among them
    b[::7] &= 0x807FFFFF
    b[1::7] |= 0x7E000000
    return a.view(F), b.view(F)


def test_division_is_correctly_rounded(numerics):
    a, b = random_pairs(400000, 5)
    with np.errstate(all="ignore"):
        want = a / b
    got = numerics.f32("divide", a, b)
    same = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
    assert same.all(), [
        (x.hex(), y.hex(), g, w)
        for x, y, g, w in zip(a[~same].astype(float), b[~same].astype(float), got[~same], want[~same])
    ][:5]


def test_division_of_special_values(numerics):
    values = F([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3.4e38])
    a, b = (x.ravel() for x in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        want = a / b
    got = numerics.f32("divide", a, b)
    nan = np.isnan(want)
    assert (np.isnan(got) == nan).all()
    assert (got[~nan].view(np.uint32) == want[~nan].view(np.uint32)).all()
    assert bits(numerics.f32("div_fixup_f32", F(1), F(0), F(0))) == [0xFFC00000]


def test_double_division_is_correctly_rounded(numerics):
    rng = np.random.default_rng(6)
    a = rng.integers(0, 1 << 63, 200000).astype(np.uint64)
    b = rng.integers(0, 1 << 63, 200000).astype(np.uint64)
    b[::3] = (a[::3] & np.uint64(0xFFF0000000000000)) ^ (b[::3] & np.uint64(0xFFFFFFFFFFFFF))
    a[::5] &= np.uint64(0x800FFFFFFFFFFFFF)
    b[::7] &= np.uint64(0x800FFFFFFFFFFFFF)
    a, b = a.view(np.float64), b.view(np.float64)
    with np.errstate(all="ignore"):
        want = a / b
    got = numerics.f64("divide", a, b)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    assert same.all(), [
        (x.hex(), y.hex(), g.hex(), w.hex()) for x, y, g, w in zip(a[~same], b[~same], got[~same], want[~same])
    ][:5]


def test_classes(numerics):
    import ctypes

    order = [SIGNALLING, QUIET, 0xFF800000, 0xBF800000, 0x80000001, 0x80000000, 0, 1, 0x3F800000, 0x7F800000]
    halves = [0x7D00, 0x7E00, 0xFC00, 0xBC00, 0x8001, 0x8000, 0, 1, 0x3C00, 0x7C00]
    for at, (word, half) in enumerate(zip(order, halves)):
        for mask in (1 << at, 0x3FF, 0x3FF & ~(1 << at)):
            assert numerics.c.class_f32(ctypes.c_uint32(int(word)), ctypes.c_uint32(mask)) == bool(mask >> at & 1)
            assert numerics.c.class_f16(ctypes.c_uint16(half), ctypes.c_uint32(mask)) == bool(mask >> at & 1)


def test_f16_arithmetic_rounds_once(numerics):
    rng = np.random.default_rng(7)
    a, b, c = rng.integers(0, 65536, (3, 300000)).astype(np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        pairs = {"add_f16": a + b, "mul_f16": a * b, "sub_f16": a - b}
        product = a.astype(np.longdouble) * b.astype(np.longdouble) + c.astype(np.longdouble)  # 64 bits hold 22 + 40
        fused = product.astype(np.float16)
    for name, want in pairs.items():
        got = numerics.f16(name, a, b)
        same = (got.view(np.uint16) == want.view(np.uint16)) | (np.isnan(got) & np.isnan(want))
        assert same.all(), name
    got = numerics.f16("fma_f16", a, b, c)
    wide = np.isfinite(fused)
    with np.errstate(invalid="ignore"):
        exact = np.abs(got.astype(np.longdouble) - product) <= np.abs(fused.astype(np.longdouble) - product)
    assert exact[wide].all()


def test_fma_f16_does_not_round_twice(numerics):
    # 1 + 2^-11 is a tie; the product's far tail must break it, though double rounds the tail away.
    one, tie = np.float16(1), np.float16(2.0**-11)
    tail = np.float16(2.0**-24)
    up = numerics.f16("fma_f16", np.float16([1 + 2.0**-10]), np.float16([2.0**-11]), np.float16([1]))
    assert up.tolist() == [1 + 2.0**-10]
    assert numerics.f16("fma_f16", [tie], [one], [one]).tolist() == [1]
    assert numerics.f16("fma_f16", [tail], [tail], np.float16([2048])).tolist() == [2048]


def test_trig_preop(numerics):
    """2/pi cut into 53-bit pieces: the pieces of segments 0, 1, 2 add up to 2/pi."""
    pieces = [np.longdouble(numerics.f64("trig_preop_f64", [1.0], [s])[0]) for s in range(3)]
    two_over_pi = np.longdouble(2) / np.longdouble("3.14159265358979323846264338327950288")
    assert abs(sum(pieces) - two_over_pi) < 1e-18
    assert pieces[0] == np.floor(two_over_pi * np.longdouble(2) ** 53) / np.longdouble(2) ** 53
