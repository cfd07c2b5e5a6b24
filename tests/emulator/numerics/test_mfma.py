"""Every matrix instruction against numpy in double, with values whose sums are exact, then the special rows.

Sources of the layouts: see layouts.py. Of the arithmetic: the order and rounding are this emulator's own (mfma.h); where the
values make every order exact, the result is the mathematical one. Smfmac: PR 193541 of LLVM for the widths of the index sets.
"""

import ctypes

import ml_dtypes
import numpy as np
import pytest

from .conftest import Numerics, build, host_isas
from .layouts import (
    BF6,
    BF8,
    FP4,
    FP6,
    FP8,
    WIDTH,
    accumulator_matrix,
    accumulator_rows,
    f8f6f4_rows,
    operand_rows,
    pack,
    shape_of,
    sparse_rows,
)

NAMES = Numerics(build(host_isas()[0]), host_isas()[0]).mfma_names()
DENSE32 = [n for n in NAMES if n.startswith("v_mfma") and "f64" not in n]
SPARSE = [n for n in NAMES if "smfmac" in n]
DTYPES = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp8": ml_dtypes.float8_e4m3fn,
    "bf8": ml_dtypes.float8_e5m2,
    "i8": np.int8,
}
UINTS = {8: np.uint8, 16: np.uint16, 32: np.uint32}
SMALL = {
    FP8: ml_dtypes.float8_e4m3fn,
    BF8: ml_dtypes.float8_e5m2,
    FP6: ml_dtypes.float6_e2m3fn,
    BF6: ml_dtypes.float6_e3m2fn,
    FP4: ml_dtypes.float4_e2m1fn,
}
SMALL_BITS = {FP8: 8, BF8: 8, FP6: 6, BF6: 6, FP4: 4}


def random_values(rng, kind, shape):
    """Small values: every product and partial sum is exact in f32, whatever the order."""
    if kind == "i8":
        return rng.integers(-128, 128, shape).astype(np.int8)
    return rng.integers(-3, 4, shape).astype(np.float64).astype(DTYPES[kind])


def codes(values):
    return values.view(UINTS[values.dtype.itemsize * 8]).astype(np.uint64)


def c_words(rng, shape, integer):
    if integer:
        return rng.integers(-(2**31), 2**31, shape).astype(np.int32).view(np.uint32)
    return rng.integers(-100, 100, shape).astype(np.float32).view(np.uint32)


def wide(values):
    return values.astype(np.float64) if values.dtype != np.int8 else values.astype(np.int64)


def total(c, product, integer):
    if integer:
        return (c.view(np.int32).astype(np.int64) + product).astype(np.int32).view(np.uint32)
    return (c.view(np.float32).astype(np.float64) + product).astype(np.float32).view(np.uint32)


def test_the_table_has_every_shape_of_the_assembler():
    assert len(NAMES) == len(set(NAMES)) == 64
    assert len(SPARSE) == 28 and len([n for n in NAMES if "f64" in n]) == 2


@pytest.mark.parametrize("name", DENSE32)
def test_dense_shapes(numerics, name):
    shape, rng = shape_of(name), np.random.default_rng(len(name) + 37 * shape_of(name).k)
    integer = "i32" in name
    a = random_values(rng, shape.a, (shape.blocks, shape.m, shape.k))
    b = random_values(rng, shape.b, (shape.blocks, shape.m, shape.k))  # b[block][column][k]
    c = c_words(rng, (shape.blocks, shape.m, shape.m), integer)
    want = total(c, np.einsum("bmk,bnk->bmn", wide(a), wide(b)), integer)
    rows_a, rows_b = operand_rows(shape, codes(a), WIDTH[shape.a]), operand_rows(shape, codes(b), WIDTH[shape.b])
    got = numerics.mfma(name, rows_a, rows_b, accumulator_rows(shape.m, shape.blocks, c))
    assert (accumulator_matrix(shape.m, shape.blocks, got) == want).all()


@pytest.mark.parametrize("name", [n for n in DENSE32 if "b_" in n])
def test_block_broadcast(numerics, name):
    """cbsz: groups of 2^cbsz blocks take the abid-th block of A in their group."""
    shape, rng = shape_of(name), np.random.default_rng(3)
    integer = "i32" in name
    a = random_values(rng, shape.a, (shape.blocks, shape.m, shape.k))
    b = random_values(rng, shape.b, (shape.blocks, shape.m, shape.k))
    c = c_words(rng, (shape.blocks, shape.m, shape.m), integer)
    rows_a, rows_b = operand_rows(shape, codes(a), WIDTH[shape.a]), operand_rows(shape, codes(b), WIDTH[shape.b])
    for cbsz in range(1, shape.blocks.bit_length()):
        size = 1 << cbsz
        for abid in {0, 1, size - 1}:
            taken = a[[block // size * size + abid for block in range(shape.blocks)]]
            want = total(c, np.einsum("bmk,bnk->bmn", wide(taken), wide(b)), integer)
            got = numerics.mfma(name, rows_a, rows_b, accumulator_rows(shape.m, shape.blocks, c), cbsz=cbsz, abid=abid)
            assert (accumulator_matrix(shape.m, shape.blocks, got) == want).all(), (cbsz, abid)


@pytest.mark.parametrize("blgp", range(8))
@pytest.mark.parametrize("name", ["v_mfma_f32_32x32x1_2b_f32", "v_mfma_f32_4x4x4_16b_f16", "v_mfma_f32_16x16x16_f16"])
def test_lane_patterns_of_b(numerics, name, blgp):
    lanes = np.arange(64)
    source = [
        lanes,
        lanes % 32,
        32 + lanes % 32,
        (lanes + 16) % 64,
        lanes % 16,
        16 + lanes % 16,
        32 + lanes % 16,
        48 + lanes % 16,
    ][blgp]
    shape, rng = shape_of(name), np.random.default_rng(4)
    words = shape.per_lane * WIDTH[shape.a] // 32
    a, b = (codes(random_values(rng, shape.a, (64, shape.per_lane))) for _ in range(2))
    rows_a, rows_b = pack(a, WIDTH[shape.a]), pack(b, WIDTH[shape.a])
    assert len(rows_a) == words
    c = np.zeros((shape.m * shape.m * shape.blocks // 64, 64), np.uint32)
    assert (
        numerics.mfma(name, rows_a, rows_b, c, blgp=blgp) == numerics.mfma(name, rows_a, rows_b[:, source], c)
    ).all()


@pytest.mark.parametrize("neg", range(8))
@pytest.mark.parametrize("name", ["v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64"])
def test_double(numerics, name, neg):
    rng = np.random.default_rng(5)
    blocks, m = (1, 16) if "16x16" in name else (4, 4)
    a, b = rng.integers(-9, 10, (2, blocks, m, 4)).astype(np.float64)
    c = rng.integers(-9, 10, (blocks, m, m)).astype(np.float64)
    signs = [-1 if neg >> bit & 1 else 1 for bit in range(3)]
    want = signs[0] * signs[1] * np.einsum("bmk,bnk->bmn", a, b) + signs[2] * c

    def pairs(lanes):  # [pair][lane] doubles -> rows
        return lanes.view(np.uint32).reshape(len(lanes), 64, 2).transpose(0, 2, 1).reshape(-1, 64)

    lane = np.arange(64)
    row, block, k = (lane % 16, lane * 0, lane // 16) if m == 16 else (lane % 4, lane // 4 % 4, lane // 16)
    count = m * m * blocks // 64
    place = [(block, 4 * v + lane // 16, lane % 16) if m == 16 else (block, lane // 16, lane % 4) for v in range(count)]
    got = numerics.mfma(
        name,
        pairs(a[block, row, k][None].copy()),
        pairs(b[block, row, k][None].copy()),
        pairs(np.array([c[p] for p in place])),
        blgp=neg,
    )
    got = np.ascontiguousarray(got.reshape(count, 2, 64).transpose(0, 2, 1)).view(np.float64).reshape(count, 64)
    assert (got == np.array([want[p] for p in place])).all()


def random_positions(rng, rows, pairs):
    """Two ascending positions out of four for each group."""
    choices = np.array([(i, j) for i in range(4) for j in range(i + 1, 4)])
    return choices[rng.integers(0, 6, (rows, pairs))].reshape(rows, 2 * pairs)


def sparse_case(name, rng):
    shape = shape_of(name)
    kept = random_values(rng, shape.a, (shape.m, shape.k // 2))
    positions = random_positions(rng, shape.m, shape.k // 4)
    b = random_values(rng, shape.b, (1, shape.m, shape.k))
    full = np.zeros((shape.m, shape.k), wide(kept).dtype)
    full[np.arange(shape.m)[:, None], 4 * (np.arange(shape.k // 2) // 2) + positions] = wide(kept)
    rows_a, index = sparse_rows(shape, codes(kept), positions, WIDTH[shape.a])
    return shape, rows_a, index, b, full


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_shapes(numerics, name):
    rng = np.random.default_rng(6)
    integer = "i32" in name
    shape, rows_a, index, b, full = sparse_case(name, rng)
    c = c_words(rng, (1, shape.m, shape.m), integer)
    want = total(c, (full @ wide(b)[0].T)[None], integer)
    rows_b, rows_c = operand_rows(shape, codes(b), WIDTH[shape.b]), accumulator_rows(shape.m, 1, c)
    bits = shape.per_lane
    for chosen in range(32 // bits):
        garbage = rng.integers(0, 1 << 32, 64, dtype=np.uint64)
        mask = np.uint64(((1 << bits) - 1) << (bits * chosen))
        word = (garbage & ~mask) | (index << np.uint64(bits * chosen))
        got = numerics.mfma(name, rows_a, rows_b, rows_c, abid=chosen, index=word.astype(np.uint32))
        assert (accumulator_matrix(shape.m, 1, got) == want).all(), chosen
    first = numerics.mfma(name, rows_a, rows_b, rows_c, cbsz=1, abid=1, index=index.astype(np.uint32))
    assert (accumulator_matrix(shape.m, 1, first) == want).all()


def test_sparse_ignores_what_it_does_not_choose(numerics):
    name, rng = "v_smfmac_f32_16x16x64_fp8_fp8", np.random.default_rng(7)
    shape, rows_a, index, b, full = sparse_case(name, rng)
    index[:] = 0x4444  # positions 0 and 1 everywhere
    rows_b = operand_rows(shape, codes(b), 8)
    poisoned = rows_b | np.uint32(0x7F7F0000)  # positions 2 and 3 are NaN
    c = np.zeros((4, 64), np.uint32)
    assert (
        numerics.mfma(name, rows_a, poisoned, c, index=index) == numerics.mfma(name, rows_a, rows_b, c, index=index)
    ).all()


@pytest.mark.parametrize("m, depth", [(32, 64), (16, 128)])
@pytest.mark.parametrize("fa", SMALL)
@pytest.mark.parametrize("fb", SMALL)
def test_f8f6f4_pairs_with_and_without_scales(numerics, m, depth, fa, fb):
    rng = np.random.default_rng(100 * fa + fb)
    a, b = (rng.integers(-3, 4, (m, depth)).astype(np.float64).astype(SMALL[f]) for f in (fa, fb))
    c = rng.integers(-50, 50, (1, m, m)).astype(np.float32)
    rows = [f8f6f4_rows(m, x.view(np.uint8).astype(np.uint64), SMALL_BITS[f]) for x, f in ((a, fa), (b, fb))]
    rows_c = accumulator_rows(m, 1, c.view(np.uint32))
    wa, wb = a.astype(np.float64), b.astype(np.float64)
    plain = accumulator_matrix(m, 1, numerics.scaled(m, rows[0], fa, rows[1], fb, rows_c)).view(np.float32)
    assert (plain == c + wa @ wb.T).all()
    # Lane l scales row l % m, k group l // m of 32 values; exponents close enough that f32 stays exact.
    scale_a, scale_b = rng.integers(125, 130, (2, depth // 32, m))
    scaled = accumulator_matrix(
        m, 1, numerics.scaled(m, rows[0], fa, rows[1], fb, rows_c, scale_a.ravel(), scale_b.ravel())
    ).view(np.float32)
    xa = wa * np.repeat(2.0 ** (scale_a - 127), 32, axis=0).T
    xb = wb * np.repeat(2.0 ** (scale_b - 127), 32, axis=0).T
    assert (scaled == c + xa @ xb.T).all()
    uniform = accumulator_matrix(
        m, 1, numerics.scaled(m, rows[0], fa, rows[1], fb, rows_c, [129] * 64, [124] * 64)
    ).view(np.float32)
    assert (uniform == c + wa @ wb.T / 2).all()


@pytest.mark.parametrize("m, depth", [(32, 64), (16, 128)])
def test_f8f6f4_is_the_documented_chain_for_any_values(numerics, m, depth):
    rng = np.random.default_rng(8)
    a, b = rng.integers(0, 256, (2, m, depth)).astype(np.uint8)
    a[(a & 0x7F) == 0x7F], b[(b & 0x7F) == 0x7F] = 0, 0
    c = rng.standard_normal((1, m, m)).astype(np.float32)
    rows = [f8f6f4_rows(m, x.astype(np.uint64), 8) for x in (a, b)]
    wa, wb = (x.view(ml_dtypes.float8_e4m3fn).astype(np.float32) for x in (a, b))
    scale = rng.integers(120, 134, (2, depth // 32, m))
    acc = c[0].copy()
    for g in range(depth // 32):
        dot = np.zeros((m, m), np.float32)
        for k in range(32 * g, 32 * g + 32):
            dot = (dot + np.outer(wa[:, k], wb[:, k])).astype(np.float32)  # the product is exact, so this is the fma
        power = 2.0 ** (scale[0, g][:, None] + scale[1, g][None, :] - 254.0)
        acc = (dot.astype(np.float64) * power + acc).astype(np.float32)
    got = numerics.scaled(
        m, rows[0], FP8, rows[1], FP8, accumulator_rows(m, 1, c.view(np.uint32)), scale[0].ravel(), scale[1].ravel()
    )
    got = accumulator_matrix(m, 1, got).view(np.float32)[0]
    # numpy's double sum may round twice where the hardware-like fma rounds once: allow that one bit, rarely.
    different = got.view(np.uint32) != acc.view(np.uint32)
    assert different.mean() < 1e-3 and np.allclose(got, acc, rtol=2e-7, atol=0)


def test_scales_far_out_of_range(numerics):
    one = f8f6f4_rows(32, np.full((32, 64), 0x38, np.uint64), 8)
    c = accumulator_rows(32, 1, np.full((1, 32, 32), 1.0, np.float32).view(np.uint32))

    def with_scales(a, b):
        return np.unique(numerics.scaled(32, one, FP8, one, FP8, c, [a] * 64, [b] * 64).view(np.float32))

    assert with_scales(254, 0).tolist() == [65.0]  # 2^127 * 2^-127
    assert with_scales(254, 254).tolist() == [np.inf]
    assert with_scales(0, 0).tolist() == [1.0]
    assert with_scales(0, 127 + 10).tolist() == [1.0]
    assert np.isnan(with_scales(255, 127)).all() and np.isnan(with_scales(127, 255)).all()
    zero = np.zeros_like(c)
    tiny = numerics.scaled(32, one, FP8, one, FP8, zero, [0] * 64, [127] * 64).view(np.float32)
    assert np.unique(tiny).tolist() == [64 * 2.0**-127], "denormal results are kept"


def test_one_nan_scale_spoils_its_row_or_column_only(numerics):
    one = f8f6f4_rows(32, np.full((32, 64), 0x38, np.uint64), 8)
    zero = np.zeros((16, 64), np.uint32)
    scale = np.full(64, 127)
    scale[5] = 255  # row 5, first 32 k
    got = accumulator_matrix(32, 1, numerics.scaled(32, one, FP8, one, FP8, zero, scale, [127] * 64)).view(np.float32)[
        0
    ]
    assert np.isnan(got[5]).all() and (np.delete(got, 5, axis=0) == 64).all()
    got = accumulator_matrix(32, 1, numerics.scaled(32, one, FP8, one, FP8, zero, [127] * 64, scale)).view(np.float32)[
        0
    ]
    assert np.isnan(got[:, 5]).all() and (np.delete(got, 5, axis=1) == 64).all()


def special_case(kind, fill):
    """An instruction of the kind, all ones but for `fill` at row 3, k 1 of A."""
    name = {
        "f32": "v_mfma_f32_32x32x2_f32",
        "f16": "v_mfma_f32_16x16x16_f16",
        "bf16": "v_mfma_f32_32x32x16_bf16",
        "fp8": "v_mfma_f32_32x32x16_fp8_fp8",
        "bf8": "v_mfma_f32_16x16x32_bf8_bf8",
    }[kind]
    shape = shape_of(name)
    a = np.ones((1, shape.m, shape.k), np.float32).astype(DTYPES[kind])
    b = a.copy()
    a[0, 3, 1] = fill
    return name, shape, a, b


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "fp8", "bf8"])
def test_nan_stays_in_its_row_and_is_one_nan(numerics, kind):
    name, shape, a, b = special_case(kind, np.nan)
    c = np.zeros((1, shape.m, shape.m), np.uint32)
    c[0, 0, 0] = 0xFF812345  # a signalling NaN of C
    got = numerics.mfma(
        name, *(operand_rows(shape, codes(x), WIDTH[kind]) for x in (a, b)), accumulator_rows(shape.m, 1, c)
    )
    got = accumulator_matrix(shape.m, 1, got)[0]
    assert (got[3] == 0x7FC00000).all() and got[0, 0] == 0x7FC00000
    assert (np.delete(got, 3, axis=0).ravel()[1:].view(np.float32) == shape.k).all()


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "bf8"])
def test_infinities(numerics, kind):
    name, shape, a, b = special_case(kind, np.inf)
    b[0, 7, 1] = 0  # inf * 0
    b[0, 8, 1] = -1
    c = np.zeros((1, shape.m, shape.m), np.float32)
    c[0, 3, 9] = -np.inf
    got = numerics.mfma(
        name,
        *(operand_rows(shape, codes(x), WIDTH[kind]) for x in (a, b)),
        accumulator_rows(shape.m, 1, c.view(np.uint32)),
    )
    got = accumulator_matrix(shape.m, 1, got).view(np.float32)[0]
    assert np.isnan(got[3, 7]) and got[3, 8] == -np.inf and np.isnan(got[3, 9]) and got[3, 0] == np.inf
    assert got.view(np.uint32)[3, 7] == 0x7FC00000


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "fp8", "bf8"])
def test_negative_zero_survives_only_negative_zeros(numerics, kind):
    """The chain starts from C: -0 + (-0) = -0, and any +0 makes it +0."""
    name, shape, a, b = special_case(kind, 1)
    a[:] = -0.0
    c = np.full((1, shape.m, shape.m), 0x80000000, np.uint32)
    c[0, 0, 0] = 0
    got = numerics.mfma(
        name, *(operand_rows(shape, codes(x), WIDTH[kind]) for x in (a, b)), accumulator_rows(shape.m, 1, c)
    )
    got = accumulator_matrix(shape.m, 1, got)[0]
    assert got[0, 0] == 0 and (got.ravel()[1:] == 0x80000000).all()


@pytest.mark.parametrize(
    "kind, tiny", [("f32", 1e-45), ("f16", 6e-8), ("bf16", 1e-40), ("fp8", 2.0**-9), ("bf8", 2.0**-16)]
)
def test_denormal_inputs_and_results_are_kept(numerics, kind, tiny):
    name, shape, a, b = special_case(kind, 1)
    a[:] = np.float32(tiny).astype(DTYPES[kind])
    got = numerics.mfma(
        name, *(operand_rows(shape, codes(x), WIDTH[kind]) for x in (a, b)), np.zeros((shape.m**2 // 64, 64), np.uint32)
    )
    assert (got.view(np.float32) == np.float32(float(a.ravel()[0]) * shape.k)).all() and got.all()


def test_integers_wrap(numerics):
    name = "v_mfma_i32_16x16x64_i8"
    shape = shape_of(name)
    low = np.full((1, 16, 64), -128, np.int8)
    c = np.full((1, 16, 16), 2**31 - 1, np.uint32)
    got = numerics.mfma(name, *(operand_rows(shape, codes(low), 8) for _ in range(2)), accumulator_rows(16, 1, c))
    assert (got == (2**31 - 1 + 64 * 16384) % 2**32).all()


def test_the_destination_may_be_a_source(numerics):
    rng = np.random.default_rng(9)
    block = rng.integers(0, 1 << 32, (40, 64), dtype=np.uint32) & np.uint32(0x3F3F3F3F)
    want = numerics.scaled(32, block[0:8], FP8, block[8:16], FP8, block[16:32])
    rows = [block[i:].ctypes.data_as(ctypes.c_void_p) for i in (0, 8, 16)]
    numerics.c.mfma_scaled(
        32, rows[0], FP8, rows[1], FP8, rows[2], rows[1], None, None
    )  # d = v[8:23]: over B and half of C
    assert (block[8:24] == want).all()


def test_every_instruction_set_gives_the_same_bits(every_numerics):
    rng = np.random.default_rng(10)
    for name in NAMES:
        results = set()
        a, b, c = (rng.integers(0, 1 << 32, (32, 64), dtype=np.uint32) for _ in range(3))
        index = rng.integers(0, 1 << 32, 64, dtype=np.uint32)
        for n in every_numerics:
            sizes = [ctypes.c_int() for _ in range(4)]
            n.c.mfma_operands(name.encode(), *map(ctypes.byref, sizes))
            ra, rb, rc, _ = (s.value for s in sizes)
            results.add(n.mfma(name, a[:ra], b[:rb], c[:rc], index=index).tobytes())
        assert len(results) == 1, name
    for m in (16, 32):
        a, b, c = (rng.integers(0, 1 << 32, (16, 64), dtype=np.uint32) for _ in range(3))
        scale = rng.integers(100, 150, (2, 64))
        for fa, fb in ((FP8, FP8), (BF8, FP4), (FP6, BF6)):
            results = {
                n.scaled(m, a[: SMALL_BITS[fa]], fa, b[: SMALL_BITS[fb]], fb, c[: m * m // 64], *s).tobytes()
                for n in every_numerics
                for s in [scale]
            }
            assert len(results) == 1
