"""Triton sources of this project, where a semantic has no carrier in the wheels: a foreign compiler on our programs.

Runs only inside the conformance venv's worker; the tests are in test_own_triton.py.
"""

import triton
import triton.language as tl


@triton.jit
def scaled_dot(
    a,
    b,
    sa,
    sb,
    c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    A: tl.constexpr,
    B: tl.constexpr,
    PA: tl.constexpr,
    PB: tl.constexpr,
):
    """c = (a * 2^sa) @ (b * 2^sb), formats A and B, PA and PB values a byte, a scale for each row (column) and 32 k."""
    m, n, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    ka, kb = tl.arange(0, K // PA), tl.arange(0, K // PB)
    x = tl.load(a + m[:, None] * (K // PA) + ka[None, :])
    y = tl.load(b + n[None, :] * (K // PB) + kb[:, None])
    u = tl.load(sa + m[:, None] * (K // 32) + s[None, :])
    v = tl.load(sb + n[:, None] * (K // 32) + s[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot_scaled(x, u, A, y, v, B))


@triton.jit
def prefix_sums(x, sums, maxima, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + tl.program_id(0) * N + i)
    tl.store(sums + tl.program_id(0) * N + i, tl.cumsum(value, 0))
    tl.store(maxima + tl.program_id(0) * N + i, tl.associative_scan(value, 0, larger))


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def sorted_rows(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + tl.program_id(0) * N + i, tl.sort(tl.load(x + tl.program_id(0) * N + i)))


@triton.jit
def atomics(x, adds, least, most, bits, fadds, N: tl.constexpr, BINS: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    value = tl.load(x + i)
    place = value & (BINS - 1)
    tl.atomic_add(adds + place, value)
    tl.atomic_min(least + place, value)
    tl.atomic_max(most + place, value)
    tl.atomic_or(bits + place, value)
    tl.atomic_add(fadds + place, value.to(tl.float32))


@triton.jit
def counter_by_compare_and_swap(lock, count, N: tl.constexpr):
    """Each program takes the lock by compare-and-swap, adds one without an atomic, and lets go by exchange."""
    for _ in range(N):
        while tl.atomic_cas(lock, 0, 1) == 1:
            pass
        tl.store(count, tl.load(count, volatile=True) + 1)
        tl.debug_barrier()
        tl.atomic_xchg(lock, 0)


@triton.jit
def histogram(x, out, N: tl.constexpr, BINS: tl.constexpr):
    tl.store(out + tl.arange(0, BINS), tl.histogram(tl.load(x + tl.arange(0, N)), BINS))


@triton.jit
def wide_integers(a, b, products, quotients, remainders, high, shifts, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(a + i), tl.load(b + i)
    tl.store(products + i, x * y)
    tl.store(quotients + i, x // y)
    tl.store(remainders + i, x % y)
    tl.store(
        high + i, tl.umulhi(x.to(tl.uint64, bitcast=True), y.to(tl.uint64, bitcast=True)).to(tl.int64, bitcast=True)
    )
    tl.store(shifts + i, (x >> (y & 63)) ^ (x << (y & 63)))


@triton.jit
def double_math(a, b, out, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(a + i), tl.load(b + i)
    tl.store(out + i, tl.sqrt(x) / y + tl.exp(-x) * tl.log(x) + tl.floor(y * 3.7) + tl.fma(x, y, x))


@triton.jit
def conversions(x, half, brain, whole, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(half + i, v.to(tl.float16))
    tl.store(brain + i, v.to(tl.bfloat16))
    tl.store(whole + i, v.to(tl.int32))


@triton.jit
def small_conversions(x, half, fp8, bf8, N: tl.constexpr):
    """Triton sets MODE.FP16_OVFL for the FP8 conversions, and so for the f16 one beside them."""
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(half + i, v.to(tl.float16))
    tl.store(fp8 + i, v.to(tl.float8e4nv))
    tl.store(bf8 + i, v.to(tl.float8e5))


@triton.jit
def random_numbers(out, seed, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + i, tl.randint(seed, i))


@triton.jit
def gathered(x, index, out, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    at = m[:, None] * N + n[None, :]
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(index + at), 1))


@triton.jit
def transposed(x, y, N: tl.constexpr):
    i, j = tl.arange(0, N), tl.arange(0, N)
    tl.store(y + i[:, None] * N + j[None, :], tl.trans(tl.load(x + i[:, None] * N + j[None, :])))


@triton.jit
def double_dot(a, b, c, N: tl.constexpr, PRECISION: tl.constexpr):
    i, j = tl.arange(0, N), tl.arange(0, N)
    at = i[:, None] * N + j[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at), input_precision=PRECISION, out_dtype=c.dtype.element_ty))
