"""f32 and f64 arithmetic against numpy's IEEE operations. Rules without an operator (min/max of NaN and signed zeros, omod, clamp):
CDNA3 ISA reference, chapters 6 and 12."""

import numpy as np
import pytest

from .one_instruction import Bench, Case, as_f32, as_f64, f32, f64, lanes, low, pairs, same_floats

NAN, INF = float("nan"), float("inf")
VALUES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1.5,
    3.0,
    -2.5,
    1e-45,
    -1e-40,
    1.1754944e-38,
    3.4e38,
    -3.4e38,
    INF,
    -INF,
    NAN,
    0.1,
    16777217.0,
]
VALUES64 = [0.0, -0.0, 1.0, -1.0, 1.5, 1e-320, 2.2e-308, 1.7e308, -1.7e308, INF, -INF, NAN, 0.1, 3.0]

BINARY = {
    "v_add_f32 v20, v10, v12": lambda a, b: a + b,
    "v_sub_f32 v20, v10, v12": lambda a, b: a - b,
    "v_subrev_f32 v20, v10, v12": lambda a, b: b - a,
    "v_mul_f32 v20, v10, v12": lambda a, b: a * b,
    "v_add_f32_e64 v20, -v10, |v12|": lambda a, b: -a + np.abs(b),
}
DOUBLE = {
    "v_add_f64 v[20:21], v[10:11], v[12:13]": lambda a, b: a + b,
    "v_mul_f64 v[20:21], v[10:11], v[12:13]": lambda a, b: a * b,
    "v_mul_f64 v[20:21], -v[10:11], |v[12:13]|": lambda a, b: -a * np.abs(b),
}
MINMAX = ["v_max_f32 v20, v10, v12", "v_min_f32 v20, v10, v12"]
FUSED = "v_fma_f32 v20, v10, v12, v14"
FMAC = "v_fmac_f32 v20, v10, v12"
PK_FMA = "v_pk_fma_f32 v[20:21], v[10:11], v[12:13], v[14:15] op_sel:[0,1,0] op_sel_hi:[1,0,1] neg_lo:[1,0,0]"
OMOD = {"mul:2": 2.0, "mul:4": 4.0, "div:2": 0.5}
CLAMP = "v_add_f32_e64 v20, v10, v12 clamp"
UNARY = {
    "v_trunc_f32": np.trunc,
    "v_ceil_f32": np.ceil,
    "v_floor_f32": np.floor,
    "v_rndne_f32": np.rint,
    "v_sqrt_f32": np.sqrt,
}
FLUSH = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0"
TEXTS = list(BINARY) + list(DOUBLE) + MINMAX + [FUSED, FMAC, PK_FMA, CLAMP]
# Output modifiers work with MODE.IEEE off and denormals flushed only.
OMOD_MODE = f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), 0\n{FLUSH}"
OMOD_CASES = [Case(f"v_add_f32_e64 v20, v10, v12 {m}", setup) for m in OMOD for setup in ("", FLUSH, OMOD_MODE)]
TEXTS += [f"{u} v20, v10" for u in UNARY]
FIXUP = "v_div_fixup_f32 v20, v10, v12, v14"
FLUSH_CASES = [Case("v_add_f32 v20, v10, v12", FLUSH), Case(FIXUP, FLUSH), Case(FIXUP)]
BENCH = Bench(OMOD_CASES + [Case(t) for t in TEXTS] + FLUSH_CASES + [Case("v_ldexp_f32 v20, v10, v12")])


@pytest.mark.parametrize("text", BINARY)
def test_binary(text):
    for a, b in pairs(f32(*VALUES), f32(*VALUES)):
        with np.errstate(all="ignore"):
            expected = BINARY[text](a.view(np.float32), b.view(np.float32))
        same_floats(as_f32(BENCH.run(Case(text), a, b)[0]), expected)


@pytest.mark.parametrize("text", DOUBLE)
def test_double(text):
    for a, b in pairs(f64(*VALUES64), f64(*VALUES64), np.uint64):
        with np.errstate(all="ignore"):
            expected = DOUBLE[text](a.view(np.float64), b.view(np.float64))
        same_floats(as_f64(BENCH.run(Case(text), a, b)[0]), expected)


@pytest.mark.parametrize("text", MINMAX)
def test_min_max(text):
    """A NaN loses to a number; -0 is less than +0 (ISA: V_MAX_F32)."""

    def expected(x, y):
        if np.isnan(x) or np.isnan(y):
            return y if np.isnan(x) else x
        if x == y:
            negative = [v for v in (x, y) if np.signbit(v)]
            positive = [v for v in (x, y) if not np.signbit(v)]
            return (positive or negative)[0] if "max" in text else (negative or positive)[0]
        return max(x, y) if "max" in text else min(x, y)

    for a, b in pairs(f32(*VALUES), f32(*VALUES)):
        want = np.array([expected(x, y) for x, y in zip(a.view(np.float32), b.view(np.float32))], np.float32)
        same_floats(as_f32(BENCH.run(Case(text), a, b)[0]), want)


def test_fused_multiply_add_rounds_once():
    """(1 + 2^-12)^2 - (1 + 2^-11) is 2^-24: a product rounded first would give 0."""
    x = np.float32(1 + 2.0**-12)
    a, c = lanes(f32(x)), lanes(f32(-(1 + 2.0**-11)))
    assert (as_f32(BENCH.run(Case(FUSED), a, a, c)[0]) == np.float32(2.0**-24)).all()
    assert (as_f32(BENCH.run(Case(FMAC), a, a, 0, c)[0]) == np.float32(2.0**-24)).all()


def test_packed_fma_selects_and_negates():
    rng = np.random.default_rng(1)
    word = rng.standard_normal((6, 64)).astype(np.float32)
    wide = [
        word[2 * n].view(np.uint32).astype(np.uint64)
        | word[2 * n + 1].view(np.uint32).astype(np.uint64) << np.uint64(32)
        for n in range(3)
    ]
    got = BENCH.run(Case(PK_FMA), *wide)[0]
    fma = lambda a, b, c: (a.astype(np.float64) * b + c).astype(np.float32)  # noqa: E731  exact enough: no double rounding in these rows
    same_floats(low(got).view(np.float32), fma(-word[0], word[3], word[4]))
    same_floats((got >> np.uint64(32)).astype(np.uint32).view(np.float32), fma(word[1], word[2], word[5]))


@pytest.mark.parametrize("modifier", OMOD)
def test_output_modifiers(modifier):
    """CDNA4 ISA 6.2.2: ignored with MODE.IEEE or where denormals are kept; -0 becomes +0."""
    text = f"v_add_f32_e64 v20, v10, v12 {modifier}"
    a, b = lanes(f32(*VALUES)), lanes(f32(1.0))
    with np.errstate(all="ignore"):
        plain = a.view(np.float32) + np.float32(1)
        expected = plain * np.float32(OMOD[modifier])
    for setup, want in (("", plain), (FLUSH, plain), (OMOD_MODE, expected)):
        same_floats(as_f32(BENCH.run(Case(text, setup), a, b)[0]), want)
    minus_zero = lanes(f32(-0.0))
    assert (low(BENCH.run(Case(text, OMOD_MODE), minus_zero, minus_zero)[0]) == 0).all()


def test_clamp_takes_nan_to_zero():
    """DX10_CLAMP is set in the kernel descriptor by default: NaN becomes 0."""
    a = lanes(f32(*VALUES))
    x = a.view(np.float32)
    expected = np.where(np.isnan(x), 0, np.clip(x, 0, 1)).astype(np.float32) + np.float32(0)
    same_floats(as_f32(BENCH.run(Case(CLAMP), a, lanes(f32(0.0)))[0]), expected)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    """v_sqrt_f32 takes a denormal as zero [assumption: rcp-flush in numerics/transcendental.h]."""
    values = VALUES + [0.5, 2.5, -0.5, -1.5, 8388607.5, 2.0**31]
    a = lanes(f32(*values))
    x = a.view(np.float32)
    if name == "v_sqrt_f32":
        x = np.where(np.abs(x) < 1.17e-38, np.copysign(np.float32(0), x), x)
    with np.errstate(all="ignore"):
        same_floats(as_f32(BENCH.run(Case(f"{name} v20, v10"), a)[0]), UNARY[name](x).astype(np.float32))


def test_denormal_flush_follows_mode():
    """MODE.denorm32 = 0: denormal sources and results are zeros of their sign."""
    a, b = lanes(f32(1e-45, -1e-40, 1.1754944e-38, 1.5)), lanes(f32(1e-45, 0.0, -1.1e-38, 1.0))
    got = as_f32(BENCH.run(Case("v_add_f32 v20, v10, v12", FLUSH), a, b)[0])
    same_floats(got[:4], np.array([0.0, 0.0, 1.1754944e-38, 2.5], np.float32))


def test_division_follows_the_denormal_mode():
    """LLVM folds divisions of a function that flushes so: a denormal operand is a zero, a denormal quotient becomes one."""
    quotient, below, above = lanes(f32(1.0, 2e38, 1e-40)), lanes(f32(0.5, -1e-40, 2.0)), lanes(f32(0.5, 1.0, 2e-40))
    kept = [np.float32(1.0), np.float32(-2e38), np.float32(1e-40)]
    flushed = [1.0, -INF, 0.0]
    for case, want in ((Case(FIXUP), kept), (Case(FIXUP, FLUSH), flushed)):
        same_floats(as_f32(BENCH.run(case, quotient, below, above)[0])[:3], np.array(want, np.float32))


def test_ldexp_saturates_its_exponent():
    a, e = (
        lanes(f32(1.5, 1.0, -0.0, INF, 1e-45, 3.0)),
        lanes(np.array([2, -149, 5, -400, 149, 1000], np.int32).view(np.uint32)),
    )
    got = as_f32(BENCH.run(Case("v_ldexp_f32 v20, v10, v12"), a, e)[0])
    same_floats(got[:6], np.array([6.0, 1.4e-45, -0.0, INF, 1.0, INF], np.float32))
