"""exp, log, rcp, rsq, sqrt, sin, cos: accuracy against long double, edges, and the same bits on every instruction set.

Sources: CDNA3 ISA reference for the edge values and the domain of sin and cos; the flushing of denormals by the f32 forms is an
assumption (exp-flush, log-flush, rcp-flush in emulator/numerics/transcendental.h), tested here so that it cannot change unseen.
"""

import numpy as np
import pytest

INF, NAN = np.float32(np.inf), np.float32(np.nan)


def ulp_error(got, want):
    """Distance in units of the last place of the exact result, a long double."""
    spacing = np.spacing(np.abs(want).astype(np.float32)).astype(np.longdouble)
    return np.abs(got.astype(np.longdouble) - want) / spacing


def random_floats(count, low, high, seed=1):
    rng = np.random.default_rng(seed)
    return (rng.uniform(1, 2, count) * 2.0 ** rng.integers(low, high, count)).astype(np.float32)


def test_exp_is_within_an_ulp(numerics):
    x = np.concatenate([np.linspace(-126, 127.999, 400001), np.linspace(-1, 1, 200001)]).astype(np.float32)
    error = ulp_error(numerics.f32("exp_f32", x), np.exp2(x.astype(np.longdouble)))
    assert error.max() < 0.79


def test_exp_is_exact_on_integers(numerics):
    n = np.arange(-126, 128)
    assert (numerics.f32("exp_f32", n.astype(np.float32)) == np.ldexp(np.float32(1), n)).all()


def test_exp_edges(numerics):
    x = np.float32([128, 1e30, INF, -INF, -126.00001, -149, -1e30, 0.0, -0.0, 1e-40])
    assert numerics.f32("exp_f32", x).tolist() == [np.inf, np.inf, np.inf, 0, 0, 0, 0, 1, 1, 1]
    assert np.isnan(numerics.f32("exp_f32", NAN))
    below = np.nextafter(np.float32(128), np.float32(0))
    assert np.isfinite(numerics.f32("exp_f32", below))


def test_exp_never_decreases(numerics):
    x = np.linspace(-4, 4, 2000001).astype(np.float32)
    y = numerics.f32("exp_f32", x).astype(np.float64)
    assert (np.diff(y) >= -np.spacing(y[1:].astype(np.float32))).all()


def test_log_is_within_an_ulp(numerics):
    x = np.concatenate([random_floats(200000, -126, 127), np.linspace(0.5, 2, 200001).astype(np.float32)])
    want = np.log2(x.astype(np.longdouble))
    got = numerics.f32("log_f32", x)
    error = ulp_error(got[want != 0], want[want != 0])
    assert error.max() < 0.51
    assert (got[want == 0] == 0).all()


def test_log_edges(numerics):
    got = numerics.f32("log_f32", np.float32([0.0, -0.0, 1e-40, -1e-40, INF, 1, 2**-126, 2**100]))
    assert got.tolist() == [-np.inf, -np.inf, -np.inf, -np.inf, np.inf, 0, -126, 100]
    assert np.isnan(numerics.f32("log_f32", np.float32([-1, -INF, NAN]))).all()


@pytest.mark.parametrize(
    "name, exact", [("rcp_f32", lambda x: 1 / x), ("rsq_f32", lambda x: 1 / np.sqrt(x)), ("sqrt_f32", np.sqrt)]
)
def test_roots_and_reciprocals_are_nearest(numerics, name, exact):
    x = random_floats(300000, -125, 125)
    error = ulp_error(numerics.f32(name, x), exact(x.astype(np.longdouble)))
    assert error.max() <= 0.5000001


def test_reciprocal_edges(numerics):
    got = numerics.f32("rcp_f32", np.float32([0.0, -0.0, INF, -INF, 1e-40, -1e-40, 2.0**127, -3e38]))
    assert got.view(np.uint32).tolist() == [
        0x7F800000,
        0xFF800000,
        0,
        0x80000000,
        0x7F800000,
        0xFF800000,
        0,
        0x80000000,
    ]
    assert np.isnan(numerics.f32("rcp_f32", NAN))


def test_root_edges(numerics):
    assert numerics.f32("rsq_f32", np.float32([0.0, -0.0, INF, 1e-40])).tolist() == [np.inf, -np.inf, 0, np.inf]
    assert numerics.f32("sqrt_f32", np.float32([0.0, -0.0, INF, 1e-40])).view(np.uint32).tolist() == [
        0,
        0x80000000,
        0x7F800000,
        0,
    ]
    assert np.isnan(numerics.f32("sqrt_f32", np.float32([-1, NAN, -INF]))).all()
    assert np.isnan(numerics.f32("rsq_f32", np.float32([-1, NAN, -INF]))).all()


@pytest.mark.parametrize("name, function", [("sin_f32", np.sin), ("cos_f32", np.cos)])
def test_sine_and_cosine_of_turns(numerics, name, function):
    x = np.concatenate([np.linspace(-256, 256, 300001), np.linspace(-1, 1, 100001)]).astype(np.float32)
    turns = x.astype(np.longdouble) - np.rint(x.astype(np.longdouble))
    two_pi = np.longdouble("6.28318530717958647692528676655900577")
    assert np.abs(numerics.f32(name, x).astype(np.longdouble) - function(turns * two_pi)).max() < 4e-8


def test_sine_and_cosine_edges(numerics):
    quarter = np.float32([0, 0.25, 0.5, 0.75, 1, -0.25])
    assert numerics.f32("sin_f32", quarter).tolist() == [0, 1, 0, -1, 0, -1]
    assert numerics.f32("cos_f32", quarter).tolist() == [1, 0, -1, 0, 1, 0]
    assert numerics.f32("sin_f32", np.float32([256.5, -1e9])).tolist() == [0, 0]
    assert numerics.f32("cos_f32", np.float32([256.5, -1e9])).tolist() == [1, 1]
    assert np.isnan(numerics.f32("sin_f32", np.float32([INF, -INF, NAN]))).all()


HALVES = np.arange(65536, dtype=np.uint32).astype(np.uint16).view(np.float16)


@pytest.mark.parametrize(
    "name, exact",
    [
        ("exp_f16", np.exp2),
        ("log_f16", np.log2),
        ("rcp_f16", lambda x: 1 / x),
        ("rsq_f16", lambda x: 1 / np.sqrt(x)),
        ("sqrt_f16", np.sqrt),
    ],
)
def test_f16_forms_are_nearest_for_every_input(numerics, name, exact):
    with np.errstate(all="ignore"):
        want = exact(HALVES.astype(np.longdouble)).astype(np.float64).astype(np.float16)
    got = numerics.f16(name, HALVES)
    same = (got.view(np.uint16) == want.view(np.uint16)) | (np.isnan(got) & np.isnan(want))
    assert same.all(), HALVES[~same][:5]


def test_f16_sine_and_cosine(numerics):
    x = HALVES[np.isfinite(HALVES) & (np.abs(HALVES) <= 256)]
    turns = x.astype(np.longdouble) - np.rint(x.astype(np.longdouble))
    two_pi = np.longdouble("6.28318530717958647692528676655900577")
    assert np.abs(numerics.f16("sin_f16", x).astype(np.longdouble) - np.sin(turns * two_pi)).max() < 2.5e-4
    assert np.abs(numerics.f16("cos_f16", x).astype(np.longdouble) - np.cos(turns * two_pi)).max() < 2.5e-4


def test_f64_forms(numerics):
    x = np.random.default_rng(4).uniform(1, 2, 1000) * 2.0 ** np.random.default_rng(5).integers(-1000, 1000, 1000)
    assert (numerics.f64("rcp_f64", x) == 1 / x).all()
    assert (numerics.f64("sqrt_f64", x) == np.sqrt(x)).all()
    assert (np.abs(numerics.f64("rsq_f64", x) * np.sqrt(x) - 1) < 4e-16).all()
    assert numerics.f64("rsq_f64", [0.0, -0.0, np.inf]).tolist() == [np.inf, -np.inf, 0]
    assert np.isnan(numerics.f64("sqrt_f64", [-1.0, np.nan])).all()


def test_every_instruction_set_gives_the_same_bits(every_numerics):
    bits = np.random.default_rng(6).integers(0, 1 << 32, 300000, dtype=np.uint32)
    near = random_floats(300000, -10, 8).view(np.uint32)
    x = np.concatenate([bits, near, near | np.uint32(1 << 31)]).view(np.float32)
    for name in ("exp_f32", "log_f32", "rcp_f32", "rsq_f32", "sqrt_f32", "sin_f32", "cos_f32"):
        results = {n.f32(name, x).tobytes() for n in every_numerics}
        assert len(results) == 1, name


def test_a_row_of_exp_is_exp_of_its_lanes(numerics):
    import ctypes

    rows = np.random.default_rng(8).integers(0, 1 << 32, (200, 64), dtype=np.uint32)
    rows[::2] = np.random.default_rng(9).uniform(-140, 140, (100, 64)).astype(np.float32).view(np.uint32)
    for row in rows:
        out = row.copy()
        at = out.ctypes.data_as(ctypes.c_void_p)
        numerics.c.exp_row(at, at)
        assert (out == numerics.f32("exp_f32", row.view(np.float32)).view(np.uint32)).all()


def test_prng(numerics):
    assert numerics.f32("prng_b32", np.uint32([1, 0x80000000, 0xC0000001])).view(np.uint32).tolist() == [
        2,
        197,
        0x80000002 ^ 197,
    ]
