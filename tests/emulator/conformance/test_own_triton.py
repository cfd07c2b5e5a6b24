"""Triton programs of our own (own_kernels.py), compiled by triton 3.9: what the wheels' kernels do not reach. Against numpy."""

from pathlib import Path

import numpy as np
import pytest

from .test_aiter_rows import FP4, RNG, close
from .triton_programs import BF8, BF16, FP8

OWN = str(Path(__file__).with_name("own_kernels.py")) + ":"


def mx_operand(kind, rows, k, seed):
    """(bytes as stored, scales, values in double, values a byte)"""
    scales = RNG(seed).integers(120, 134, (rows, k // 32)).astype(np.uint8)
    if kind == "e2m1":
        stored = RNG(seed + 1).integers(0, 256, (rows, k // 2)).astype(np.uint8)
        values = np.stack([FP4[stored & 15], FP4[stored >> 4]], axis=-1).reshape(rows, k)
    else:
        stored = RNG(seed + 1).standard_normal((rows, k)).astype({"e4m3": FP8, "e5m2": BF8}[kind])
        values = stored
    return (
        stored,
        scales,
        values.astype(np.float64) * np.repeat(2.0 ** (scales.astype(np.float64) - 127), 32, axis=1),
        2 if kind == "e2m1" else 1,
    )


@pytest.mark.parametrize("instruction", [16, 32])
@pytest.mark.parametrize(
    "left, right",
    [("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e5m2", "e5m2"), ("e2m1", "e2m1"), ("e4m3", "e2m1"), ("e2m1", "e5m2")],
)
def test_scaled_dot(triton, left, right, instruction):
    m, n, k = 64, 64, 256
    a, sa, wa, pa = mx_operand(left, m, k, 0)
    b, sb, wb, pb = mx_operand(right, n, k, 2)
    c = np.zeros((m, n), np.float32)
    triton.run(
        OWN + "scaled_dot",
        (1,),
        {"a": a, "b": b, "sa": sa, "sb": sb, "c": c},
        {"M": m, "N": n, "K": k, "A": left, "B": right, "PA": pa, "PB": pb},
        matrix_instr_nonkdim=instruction,
    )
    want = wa @ wb.T
    close(c, want, 1e-4, 1e-5 * np.abs(want).max())


@pytest.mark.parametrize("kind", [np.int32, np.float32])
def test_scans(triton, kind):
    n = 1024
    x = RNG(4).integers(-50, 50, (3, n)).astype(kind)
    sums, maxima = np.zeros_like(x), np.zeros_like(x)
    triton.run(OWN + "prefix_sums", (3,), {"x": x, "sums": sums, "maxima": maxima}, {"N": n})
    assert (sums == np.cumsum(x, axis=1)).all() and (maxima == np.maximum.accumulate(x, axis=1)).all()


@pytest.mark.parametrize("kind", [np.float32, np.int32, BF16])
def test_sorting(triton, kind):
    x = (RNG(5).standard_normal((2, 512)) * 1000).astype(kind)
    y = np.zeros_like(x)
    triton.run(OWN + "sorted_rows", (2,), {"x": x, "y": y}, {"N": 512})
    assert (y == np.sort(x, axis=1)).all()


def test_atomics_of_many_workgroups(triton):
    bins, n, groups = 32, 256, 8
    x = RNG(6).integers(0, 10000, n * groups).astype(np.int32)
    adds, most, bits = (np.zeros(bins, np.int32) for _ in range(3))
    least, fadds = np.full(bins, 2**31 - 1, np.int32), np.zeros(bins, np.float32)
    triton.run(
        OWN + "atomics",
        (groups,),
        {"x": x, "adds": adds, "least": least, "most": most, "bits": bits, "fadds": fadds},
        {"N": n, "BINS": bins},
    )
    for place in range(bins):
        here = x[x & (bins - 1) == place]
        assert adds[place] == here.sum() == fadds[place]
        assert (least[place], most[place], bits[place]) == (here.min(), here.max(), np.bitwise_or.reduce(here))


def test_a_lock_by_compare_and_swap(triton):
    lock, count = np.zeros(1, np.int32), np.zeros(1, np.int32)
    triton.run(OWN + "counter_by_compare_and_swap", (16,), {"lock": lock, "count": count}, {"N": 5}, num_warps=1)
    assert count[0] == 80 and lock[0] == 0


def test_histogram(triton):
    x, out = RNG(7).integers(0, 64, 1024).astype(np.int32), np.zeros(64, np.int32)
    triton.run(OWN + "histogram", (1,), {"x": x, "out": out}, {"N": 1024, "BINS": 64})
    assert (out == np.bincount(x, minlength=64)).all()


def test_integers_of_64_bits(triton):
    n = 256
    a, b = (RNG(s).integers(-(2**62), 2**62, n) >> RNG(s + 2).integers(0, 60, n) for s in (8, 9))
    b[b == 0] = 7
    outs = {name: np.zeros(n, np.int64) for name in ("products", "quotients", "remainders", "high", "shifts")}
    triton.run(OWN + "wide_integers", (1,), {"a": a, "b": b, **outs}, {"N": n})
    ia, ib = [int(v) for v in a], [int(v) for v in b]

    def wrapped(value):
        return (value + 2**63) % 2**64 - 2**63

    truncated = [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(ia, ib)]
    assert outs["products"].tolist() == [wrapped(x * y) for x, y in zip(ia, ib)]
    assert outs["quotients"].tolist() == truncated
    assert outs["remainders"].tolist() == [x - q * y for x, y, q in zip(ia, ib, truncated)]
    assert outs["high"].tolist() == [wrapped((x % 2**64) * (y % 2**64) >> 64) for x, y in zip(ia, ib)]
    assert outs["shifts"].tolist() == [wrapped((x >> (y & 63)) ^ wrapped(x << (y & 63))) for x, y in zip(ia, ib)]


def test_double_math(triton):
    n = 512
    a, b = RNG(10).uniform(0.1, 30, n), RNG(11).uniform(-8, 8, n)
    out = np.zeros(n)
    triton.run(OWN + "double_math", (1,), {"a": a, "b": b, "out": out}, {"N": n})
    np.testing.assert_allclose(
        out, np.sqrt(a) / b + np.exp(-a) * np.log(a) + np.floor(b * 3.7) + (a * b + a), rtol=1e-13, atol=1e-13
    )


def test_conversions_with_ties_and_special_values(triton):
    n = 1024
    x = np.concatenate(
        [
            RNG(12).standard_normal(n - 64) * 2.0 ** RNG(13).integers(-30, 18, n - 64),
            1 + np.arange(48) / 32,
            [
                0.0,
                -0.0,
                np.inf,
                -np.inf,
                np.nan,
                1e-45,
                -1e-40,
                65519.9,
                65520,
                2**-24,
                2**-25,
                2**31,
                -(2.0**31),
                1e20,
                0.5,
                2.5,
            ],
        ]
    )
    x = x.astype(np.float32)
    half, clamped, brain, fp8, bf8, whole = (np.zeros(n, t) for t in (np.float16, np.float16, BF16, FP8, BF8, np.int32))
    triton.run(OWN + "conversions", (1,), {"x": x, "half": half, "brain": brain, "whole": whole}, {"N": n})
    triton.run(OWN + "small_conversions", (1,), {"x": x, "half": clamped, "fp8": fp8, "bf8": bf8}, {"N": n})
    with np.errstate(over="ignore", invalid="ignore"):
        for got, kind, bits in ((half, np.float16, np.uint16), (brain, BF16, np.uint16)):
            want = x.astype(kind)
            same = (got.view(bits) == want.view(bits)) | (np.isnan(got) & np.isnan(want))
            assert same.all(), (kind, x[~same][:4])
        for got, kind, largest in ((fp8, FP8, 448), (bf8, BF8, 57344)):
            inside = np.abs(x) <= largest
            assert (got.view(np.uint8)[inside] == x.astype(kind).view(np.uint8)[inside]).all()
            assert np.isnan(got[np.isnan(x)].astype(np.float32)).all()
            beyond = np.isfinite(x) & (np.abs(x) > largest * 1.1)
            assert (np.abs(got[beyond].astype(np.float32)) == largest).all(), (
                "Triton sets FP16_OVFL: conversions saturate"
            )
    overflowing = np.isfinite(x) & np.isinf(half)
    assert overflowing.any() and (np.abs(clamped[overflowing]) == 65504).all()
    assert (clamped.view(np.uint16)[~overflowing] == half.view(np.uint16)[~overflowing]).all(), (
        "a true infinity stays one"
    )
    inside = np.abs(x) < 2**31
    assert (whole[inside] == x[inside].astype(np.int32)).all()


def test_philox(triton):
    out = np.zeros(2048, np.int32)
    triton.run(OWN + "random_numbers", (2,), {"out": out, "seed": 1234567}, {"N": 1024})

    def philox(counter, key):
        c, k = [counter, 0, 0, 0], [key, 0]
        for _ in range(10):
            low, high = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(high >> 32) ^ c[1] ^ k[0], high & 0xFFFFFFFF, (low >> 32) ^ c[3] ^ k[1], low & 0xFFFFFFFF]
            k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
        return c[0]

    assert out.view(np.uint32)[:64].tolist() == [philox(i, 1234567) for i in range(64)]
    assert len(np.unique(out)) > 2040


def test_gather(triton):
    x, index = RNG(14).standard_normal((16, 64)).astype(np.float32), RNG(15).integers(0, 64, (16, 64)).astype(np.int32)
    out = np.zeros_like(x)
    triton.run(OWN + "gathered", (1,), {"x": x, "index": index, "out": out}, {"M": 16, "N": 64})
    assert (out == np.take_along_axis(x, index, axis=1)).all()


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.float32, np.float64])
def test_transpose(triton, kind):
    x = RNG(16).integers(-100, 100, (64, 64)).astype(kind)
    y = np.zeros_like(x)
    triton.run(OWN + "transposed", (1,), {"x": x, "y": y}, {"N": 64})
    assert (y == x.T).all()


@pytest.mark.parametrize(
    "kind, precision", [(np.float32, "ieee"), (np.float64, "ieee"), (BF8, "ieee"), (FP8, "ieee"), (np.float16, "ieee")]
)
def test_dot(triton, kind, precision):
    a, b = RNG(17).standard_normal((2, 64, 64)).astype(kind)
    c = np.zeros((64, 64), np.float64 if kind is np.float64 else np.float32)
    triton.run(OWN + "double_dot", (1,), {"a": a, "b": b, "c": c}, {"N": 64, "PRECISION": precision})
    close(c, a.astype(np.float64) @ b.astype(np.float64), *((1e-12, 1e-12) if kind is np.float64 else (1e-4, 1e-4)))
