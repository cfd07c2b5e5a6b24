"""Matrix instructions and 6-bit conversions by clang's builtins, against numpy.

Layouts: tests/emulator/numerics/layouts.py (the documents'). Values make every sum exact, so no order of accumulation matters.
"""

import re

import ml_dtypes
import numpy as np
import pytest

from ..numerics.layouts import accumulator_matrix, accumulator_rows, f8f6f4_rows, operand_rows, shape_of, sparse_rows
from .test_clang import HERE, TARGET, build, run  # noqa: F401

SOURCE = (HERE / "matrix_kernels.c").read_text()
FORMATS = [
    (ml_dtypes.float8_e4m3fn, 8),
    (ml_dtypes.float8_e5m2, 8),
    (ml_dtypes.float6_e2m3fn, 6),
    (ml_dtypes.float6_e3m2fn, 6),
    (ml_dtypes.float4_e2m1fn, 4),
]
SIX = {"fp6": (ml_dtypes.float6_e2m3fn, 3), "bf6": (ml_dtypes.float6_e3m2fn, 2)}
WAVE = ((1, 1, 1), (64, 1, 1))


@pytest.fixture(scope="module")
def matrix(build):  # noqa: F811
    return build("matrix_kernels.c", *TARGET, "-O2", name="matrix.hsaco").read_bytes()


def by_lane(rows, words):
    """rows[register][lane] -> [lane][word], as the kernels' arrays have it; what is left of a lane stays zero."""
    out = np.zeros((64, words), np.uint32)
    out[:, : len(rows)] = rows.T
    return out


def accumulators(got, m, blocks):
    return accumulator_matrix(m, blocks, got.T).view(np.float32)


@pytest.mark.parametrize("b", range(5))
@pytest.mark.parametrize("a", range(5))
@pytest.mark.parametrize("m, depth", [(32, 64), (16, 128)])
def test_scaled(device, matrix, m, depth, a, b):
    rng = np.random.default_rng(25 * m + 5 * a + b)
    values = [rng.integers(-2, 3, (m, depth)).astype(FORMATS[f][0]) for f in (a, b)]
    words = [f8f6f4_rows(m, v.view(np.uint8).astype(np.uint64), FORMATS[f][1]) for v, f in zip(values, (a, b))]
    # Every byte of every lane's scale differs; the selected one is lane l's row or column, its block of 32 k.
    scales = rng.integers(125, 130, (2, 64, 4)).astype(np.uint8)
    chosen = [scales[0, :, (a + b) % 4], scales[1, :, (a + 2 * b + 1) % 4]]
    c = rng.integers(-9, 10, (1, m, m)).astype(np.float32)
    acc = by_lane(accumulator_rows(m, 1, c.view(np.uint32)), m * m // 64)
    inputs = np.concatenate([by_lane(w, 8) for w in words])
    got = run(device, matrix, f"scaled_{m}_{a}_{b}", *WAVE, acc, inputs, scales.view(np.uint32))[0]
    wide = [
        v.astype(np.float64) * np.repeat(2.0 ** (s.astype(np.float64) - 127).reshape(depth // 32, m).T, 32, axis=1)
        for v, s in zip(values, chosen)
    ]
    assert (accumulators(got, m, 1)[0] == c[0] + wide[0] @ wide[1].T).all()


@pytest.mark.parametrize(
    "m, depth, cbsz, abid",
    [tuple(map(int, x)) for x in re.findall(r"^BLOCKS\((\d+)x\d+x(\d+), \w+, (\d+), (\d+)\)", SOURCE, re.M)],
)
def test_blocks_and_their_broadcast(device, matrix, m, depth, cbsz, abid):
    blocks = 64 // m
    shape = shape_of(f"v_mfma_f32_{m}x{m}x{depth}_{blocks}b_f16")
    rng = np.random.default_rng(m + abid)
    a, b = rng.integers(-3, 4, (2, blocks, m, depth)).astype(np.float16)
    c = rng.integers(-9, 10, (blocks, m, m)).astype(np.float32)
    inputs = np.concatenate([by_lane(operand_rows(shape, x.view(np.uint16).astype(np.uint64), 16), 2) for x in (a, b)])
    acc = by_lane(accumulator_rows(m, blocks, c.view(np.uint32)), m * m * blocks // 64)
    got = run(device, matrix, f"blocks_{m}x{m}x{depth}_{cbsz}_{abid}", *WAVE, acc, inputs)[0]
    source = np.arange(blocks) >> cbsz << cbsz | abid
    want = c + np.einsum("bik,bjk->bij", a[source].astype(np.float64), b.astype(np.float64))
    assert (accumulators(got, m, blocks) == want).all()


ELEMENTS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "fp8": FORMATS[0][0], "bf8": FORMATS[1][0]}
SPARSE_KERNELS = re.findall(r"^SPARSE\((\d+)x\d+x(\d+), \w+, (\w+), .*, (\d)\)", SOURCE, re.M)
for formats in ("fp8_fp8", "fp8_bf8", "bf8_fp8", "bf8_bf8"):
    SPARSE_KERNELS += [("16", "128", formats, "0"), ("32", "64", formats, "0")]
    SPARSE_KERNELS += [(m, k, formats, str(int(formats.endswith("fp8")))) for m, k in (("16", "64"), ("32", "32"))]


@pytest.mark.parametrize("m, depth, formats, abid", SPARSE_KERNELS)
def test_sparse(device, matrix, m, depth, formats, abid):
    m, depth, abid = int(m), int(depth), int(abid)
    result = np.int32 if formats == "i8" else np.float32
    shape = shape_of(f"v_smfmac_{'i32' if formats == 'i8' else 'f32'}_{m}x{m}x{depth}_{formats}")
    kinds = [np.dtype(ELEMENTS[x]) for x in (shape.a, shape.b)]
    width = 8 * kinds[0].itemsize
    codes = [lambda x, n=n: x.astype(kinds[n]).view(f"u{kinds[n].itemsize}").astype(np.uint64) for n in range(2)]
    rng = np.random.default_rng(depth + abid)
    kept = rng.integers(-3, 4, (m, depth // 2)).astype(np.float64)
    pairs = np.array([(i, j) for i in range(4) for j in range(i + 1, 4)])
    positions = pairs[rng.integers(0, 6, (m, depth // 4))]
    dense = np.zeros((m, depth // 4, 4))
    np.put_along_axis(dense, positions, kept.reshape(m, -1, 2), 2)
    b = rng.integers(-3, 4, (1, m, depth)).astype(np.float64)
    c = rng.integers(-9, 10, (1, m, m)).astype(result)
    rows, index = sparse_rows(shape, codes[0](kept), positions.reshape(m, -1), width)
    set_bits = 2 * (shape.per_lane // 2)
    noise = rng.integers(0, 1 << 32, 64, dtype=np.uint64) & ~np.uint64(((1 << set_bits) - 1) << set_bits * abid)
    index = (index << np.uint64(set_bits * abid) | noise).astype(np.uint32)
    b_rows = operand_rows(shape, codes[1](b), width)
    acc = by_lane(accumulator_rows(m, 1, c.view(np.uint32)), m * m // 64)
    arrays = (acc, by_lane(rows, len(rows)), by_lane(b_rows, len(b_rows)), index)
    got = run(device, matrix, f"sparse_{m}x{m}x{depth}_{formats}_{abid}", *WAVE, *arrays)[0]
    assert (accumulators(got, m, 1).view(result)[0] == c[0] + dense.reshape(m, depth) @ b[0].T).all()


def test_dot_of_bf16_pairs(device, matrix):
    a, b = np.random.default_rng(9).integers(-8, 9, (2, 64, 2)).astype(ml_dtypes.bfloat16)
    c = np.arange(64, dtype=np.float32)
    got = run(device, matrix, "dot2_bf16", *WAVE, c, np.concatenate([a, b]).view(np.uint32))[0]
    assert (got == c + (a.astype(np.float32) * b.astype(np.float32)).sum(1)).all()


def six_bits(words):
    """[64, 8] words (clang pads six to eight) -> [64, 32] codes."""
    bits = (words[:, :6, None] >> np.arange(32, dtype=np.uint32) & 1).reshape(64, 32, 6)
    return (bits << np.arange(6)).sum(2).astype(np.uint8)


@pytest.mark.parametrize("name", SIX)
def test_six_bit_conversions(device, matrix, name):
    kind, _ = SIX[name]
    codes = np.arange(2048).reshape(64, 32).astype(np.uint8) % 64
    bits = (codes[:, :, None] >> np.arange(6) & 1).reshape(64, 6, 32).astype(np.uint32)
    words = by_lane((bits << np.arange(32, dtype=np.uint32)).sum(2, dtype=np.uint32).T, 8)
    got = run(device, matrix, f"widen_{name}", *WAVE, np.zeros((64, 32), np.float32), words, 8.0)[0]
    assert (got.view(np.uint32) == (codes.view(kind).astype(np.float32) * 8).view(np.uint32)).all()

    x = (np.random.default_rng(3).standard_normal((64, 32)) * 4).astype(np.float32)
    got = six_bits(run(device, matrix, f"narrow_{name}", *WAVE, np.zeros((64, 8), np.uint32), x, 2.0)[0])
    # CDNA4 ISA: "S0 and S1 inputs are interleaved in the packed result".
    assert (got == (x / 2).reshape(64, 2, 16).transpose(0, 2, 1).reshape(64, 32).astype(kind).view(np.uint8)).all()


@pytest.mark.parametrize("name", SIX)
def test_stochastic_six_bits(device, matrix, name):
    """1 + a quarter step: up where the random word's top bits reach three quarters. Its seed steps by v_prng_b32 each element."""
    kind, mantissa = SIX[name]
    seeds = np.random.default_rng(4).integers(0, 1 << 32, 64, dtype=np.uint32)
    x = np.full((64, 32), 1 + 2.0 ** -(mantissa + 2), np.float32)
    got = six_bits(run(device, matrix, f"stochastic_{name}", *WAVE, np.zeros((64, 8), np.uint32), x, seeds, 1.0)[0])
    one = int(np.float32(1).astype(kind).view(np.uint8))
    for n in range(32):
        assert (got[:, n] == one + (seeds >= 3 << 30)).all()
        seeds = seeds << np.uint32(1) ^ (seeds >> np.uint32(31)) * np.uint32(197)
