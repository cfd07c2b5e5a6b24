"""C compiled by clang 22 for gfx950, no device libraries.

portable_kernels.c runs against itself compiled for the host by the same clang (exact, NaN payloads apart); wave_kernels.c, what only a
wave can do, against numpy. Sources of the cross-lane rules: LLVM's AMDGPU documentation of the builtins and the CDNA3 ISA's DPP chapter.
"""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from .device import kernels_of, packed
from .triton_programs import OBJECTS

HERE = Path(__file__).parent
CLANG = shutil.which("clang-22") or "clang"
TARGET = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx950", "-nogpulib"]
COMMON = ["-x", "c", "-std=gnu2x", "-ffp-contract=off", "-fno-strict-aliasing", "-w"]
PORTABLE = re.findall(r"^KERNEL\((\w+)\)", (HERE / "portable_kernels.c").read_text(), re.MULTILINE)
EDGES = np.uint32(
    [
        0,
        1,
        2,
        0xFFFFFFFF,
        0x7FFFFFFF,
        0x80000000,
        0x80000001,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        0x7F800001,
        0x00800000,
        0x007FFFFF,
        0x00000001,
        0x80000001,
        0x3F800000,
        0xBF800000,
        0x4B000000,
        0x4B000001,
        0x3F000000,
        0x3FC00000,
        0x7F7FFFFF,
        0x7C007C00,
        0x7BFF7BFF,
        0x00010001,
        0x04000400,
    ]
)


@pytest.fixture(scope="module")
def build():
    OBJECTS.mkdir(parents=True, exist_ok=True)

    def compiled(source, *flags, name):
        target = OBJECTS / name
        subprocess.run([CLANG, *COMMON, *flags, str(HERE / source), "-o", str(target)], check=True)
        return target

    return compiled


@pytest.fixture(scope="module", params=["-O2", "-O0"])
def portable(build, request):
    level = request.param
    device = build("portable_kernels.c", *TARGET, level, name=f"portable{level}.hsaco")
    host = build("portable_kernels.c", "-O1", "-fPIC", "-shared", name="portable_host.so")
    return device.read_bytes(), ctypes.CDLL(str(host))


def run(device, binary, kernel, grid, block, *arguments):
    """Arrays are uploaded and brought back; numbers go as they are."""
    metadata = kernels_of(binary)[kernel]
    places = [device.upload(a) if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        device.launch(binary, kernel, grid, block, packed(metadata, places))
        return [device.download(p, a) if isinstance(a, np.ndarray) else a for p, a in zip(places, arguments)]
    finally:
        device.release()


@pytest.mark.parametrize("kernel", PORTABLE)
def test_the_gpu_agrees_with_the_host(device, portable, kernel):
    binary, host = portable
    rng = np.random.default_rng(len(kernel))
    a, b = rng.integers(0, 1 << 32, (2, 1024), dtype=np.uint32)
    pairs = np.array(np.meshgrid(EDGES, EDGES)).reshape(2, -1)[:, :640]
    a[: pairs.shape[1]], b[: pairs.shape[1]] = pairs
    zero = np.zeros((1024, 16), np.uint64)
    got = run(device, binary, kernel, (16, 1, 1), (64, 1, 1), a, b, zero)[2]
    want = zero.copy()
    getattr(host, kernel)(*(x.ctypes.data_as(ctypes.c_void_p) for x in (a, b, want)), 1024)
    wrong = np.argwhere(got != want)
    assert not len(wrong), [
        (int(r), int(c), hex(a[r]), hex(b[r]), hex(got[r, c]), hex(want[r, c])) for r, c in wrong[:5]
    ]


@pytest.fixture(scope="module")
def wave(build):
    return build("wave_kernels.c", *TARGET, "-O2", name="wave.hsaco").read_bytes()


def words(seed, count):
    return np.random.default_rng(seed).integers(0, 1 << 32, count, dtype=np.uint32)


def test_reduction_and_rotation_in_lds(device, wave):
    x = words(1, 256)
    out = run(device, wave, "reduce_and_rotate", (1, 1, 1), (256, 1, 1), x, np.zeros(257, np.uint32), 77)[1]
    assert out[0] == x.sum(dtype=np.uint32) and (out[1:] == np.roll(x, -77)).all()


def test_widths_of_lds_accesses(device, wave):
    x = words(2, 256)
    out = run(device, wave, "lds_widths", (1, 1, 1), (256, 1, 1), x, np.zeros(1536, np.uint32))[1]
    assert (out[:1024].reshape(256, 4) == x.reshape(64, 4)[np.arange(256) // 4]).all()
    cells = np.stack([x, ~x], axis=1).ravel()
    assert (out[1024:1280] == cells[511 - np.arange(256)]).all()
    i = np.arange(256)
    want = cells.view(np.int8)[(i * 7) % 2048].astype(np.int32) ^ cells.view(np.int16)[(i * 5) % 1024].astype(np.int32)
    assert (out[1280:].view(np.int32) == want).all()


def test_global_atomics(device, wave):
    x = words(3, 1024)
    w, d, f, g = np.zeros(16 + 1024, np.uint32), np.zeros(3, np.uint64), np.zeros(1, np.float32), np.zeros(1)
    w[[2, 7]] = 0xFFFFFFFF
    got, d, f, g = run(device, wave, "global_atomics", (4, 1, 1), (256, 1, 1), x, w, d, f, g)[1:]
    signed = x.view(np.int32)
    with np.errstate(over="ignore"):
        assert got[0] == x.sum(dtype=np.uint32) and got[1] == np.uint32(0) - x.sum(dtype=np.uint32)
    assert got[2] == np.bitwise_and.reduce(x | 0xF0F0F0F0) and got[3] == np.bitwise_or.reduce(x & 0x11111111)
    assert got[4] == np.bitwise_xor.reduce(x)
    assert got[5].view(np.int32) == min(0, signed.min()) and got[6].view(np.int32) == max(0, signed.max())
    assert got[7] == x.min() and got[8] == x.max()
    chain = 0
    for _ in range(1024):
        chain = (chain * 3 + 1) % 2**32
    assert got[9] == chain and sorted(got[16:].tolist()) == list(range(1024))
    wide = x.astype(np.uint64)
    assert d[0] == (wide << 20).sum(dtype=np.uint64) and d[1] == ((wide << 20) | np.arange(1024, dtype=np.uint64)).max()
    assert d[2] == np.bitwise_xor.reduce((wide << 32) | (~x).astype(np.uint64))
    assert f[0] == (x & 1023).sum() == g[0]


def test_lds_atomics(device, wave):
    x = words(4, 256)
    out = run(device, wave, "lds_atomics", (1, 1, 1), (256, 1, 1), x, np.zeros(16 + 256, np.uint32))[1]
    bits = np.bitwise_or.reduce(np.uint32(1) << (x % 32))
    assert out[:7].tolist() == [
        x.sum(dtype=np.uint32),
        bits,
        np.uint32(~bits),
        np.bitwise_xor.reduce(x),
        x.max(),
        x.min(),
        256,
    ]
    assert sorted(out[16:].tolist()) == list(range(256))


def test_cross_lane(device, wave):
    v = words(5, 64)
    got = run(device, wave, "cross_lane", (1, 1, 1), (64, 1, 1), v, np.zeros((22, 64), np.uint32))[1]
    i, ones = np.arange(64), np.uint32(0xFFFFFFFF)
    row, at = i // 16 * 16, i % 16
    shifted = np.where(at > 0, v[np.maximum(i - 1, 0)], 0)
    left = np.where(at < 12, v[np.minimum(i + 4, 63)], ones)
    half_mirror = i // 8 * 8 + 7 - i % 8
    low = i < 32
    odd_row = i // 16 % 2 == 1
    swap16 = (np.where(odd_row, ~v[i - 16], v), np.where(odd_row, ~v, v[np.minimum(i + 16, 63)]))
    odd = (v & 1).astype(bool)
    mask = sum(1 << int(lane) for lane in i[odd])
    want = [
        v[63 - i],
        v[(i - 5) % 64],
        v[i ^ 1],
        v[i // 4 * 4 + 3 - i % 4],
        v[17],
        v[0],
        v[i ^ 1],
        shifted,
        left,
        v[row + (at - 3) % 16],
        v[row + 15 - at],
        v[half_mirror],
        np.where(np.isin(i // 16, (1, 3)), v[np.maximum(row - 1, 0)], ones),
        np.where(i >= 32, v[31], ones),
        np.where(low, v, ~v[i - 32]),
        np.where(low, v[np.minimum(i + 32, 63)], ~v),
        *swap16,
        mask & 0xFFFFFFFF,
        mask >> 32,
        np.cumsum(odd) - odd,
        np.where(v & 2, ((v & 2) > 0).sum(), 0),
    ]
    for number, (line, expected) in enumerate(zip(got, want)):
        assert (line == np.asarray(expected).astype(np.uint32)).all(), f"row {number} of cross_lane"


def test_bit_tricks(device, wave):
    inputs = words(6, 192)
    a, b, c = (x.astype(np.uint64) for x in inputs.reshape(3, 64))
    got = run(device, wave, "bit_tricks", (1, 1, 1), (64, 1, 1), inputs, np.zeros((12, 64), np.uint32))[1]
    both = a << np.uint64(32) | b

    def byte(x, n):
        return x >> np.uint64(8 * n) & np.uint64(255)

    def signed(x, width):
        return (x.astype(np.int64) & ((1 << width) - 1) ^ 1 << width - 1) - (1 << width - 1)

    selector = c & np.uint64(0x07070707)
    width = (c & np.uint64(31)).astype(np.int64)
    start = (b & np.uint64(31)).astype(np.int64)
    field = (a.astype(np.int64) >> start) & ((1 << width) - 1)
    # S0 is the first source: bits 31:start when the field would pass the end.
    arithmetic = np.where(
        start + width > 32,
        signed(a, 32) >> start,
        np.where(width > 0, (field ^ (1 << np.maximum(width - 1, 0))) - (1 << np.maximum(width - 1, 0)), 0),
    )
    want = [
        sum((both >> (byte(selector, n) * np.uint64(8)) & np.uint64(255)) << np.uint64(8 * n) for n in range(4)),
        both >> (c & np.uint64(31)),
        both >> ((c & np.uint64(3)) * np.uint64(8)),
        field,
        arithmetic,
        c + sum(np.abs(byte(a, n).astype(np.int64) - byte(b, n).astype(np.int64)) for n in range(4)).astype(np.uint64),
        a & b | ~a & c,
        signed(c, 32) + sum(signed(byte(a, n), 8) * signed(byte(b, n), 8) for n in range(4)),
        c + sum(byte(a, n) * byte(b, n) for n in range(4)),
        signed(c, 32)
        + sum(
            signed(a >> np.uint64(4 * n) & np.uint64(15), 4) * signed(b >> np.uint64(4 * n) & np.uint64(15), 4)
            for n in range(8)
        ),
        a << np.uint64(1) ^ np.where(a >> np.uint64(31), np.uint64(197), np.uint64(0)),
        sum(
            (byte(a, n) + byte(b, n) + (byte(c, n) & np.uint64(1)) >> np.uint64(1)) << np.uint64(8 * n)
            for n in range(4)
        ),
    ]
    for number, (line, expected) in enumerate(zip(got, want)):
        assert (line == (np.asarray(expected).astype(np.int64) & 0xFFFFFFFF)).all(), f"row {number} of bit_tricks"


def test_float_builtins(device, wave):
    rng = np.random.default_rng(7)
    a, b, c = (rng.standard_normal((3, 64)) * 2.0 ** rng.integers(-6, 6, (3, 64))).astype(np.float32)
    a[:8] = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.5]
    got = run(
        device, wave, "float_builtins", (1, 1, 1), (64, 1, 1), np.concatenate([a, b, c]), np.zeros((21, 64), np.uint32)
    )[1]
    x = a.astype(np.float64)
    fp8, bf8 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
    with np.errstate(all="ignore"):
        wide = {
            0: np.exp2(x),
            1: np.log2(x),
            2: 1 / x,
            3: 1 / np.sqrt(x),
            4: np.sqrt(x),
            5: np.sin(2 * np.pi * x),
            6: np.cos(2 * np.pi * x),
            7: np.where(np.isinf(x), np.nan, x - np.floor(x)),
        }
        mantissa, exponent = np.frexp(a)
    for number, want in wide.items():
        np.testing.assert_allclose(got[number].view(np.float32), want, rtol=1.2e-7, atol=1e-7, err_msg=f"row {number}")
    usable = ~np.isnan(a)
    assert (got[8].view(np.float32)[usable] == np.median([a, b, c], axis=0)[usable]).all()
    finite = np.isfinite(a)
    assert (got[9].view(np.int32)[finite] == exponent[finite]).all() and (got[9][~finite] == 0).all()
    assert (got[10].view(np.float32)[finite] == mantissa[finite]).all()
    assert (got[11].view(np.float32)[usable] == np.ldexp(a, np.arange(64) - 30)[usable]).all()
    assert (got[12] == np.isfinite(a)).all()
    small = finite & (np.abs(a) < 400) & (np.abs(b) < 400)
    pair = a.astype(fp8).view(np.uint8).astype(np.uint32) | b.astype(fp8).view(np.uint8).astype(np.uint32) << 8
    assert (got[13][small] == pair[small]).all()
    pair = a.astype(bf8).view(np.uint8).astype(np.uint32) | b.astype(bf8).view(np.uint8).astype(np.uint32) << 8
    assert (got[14][small] == (pair[small] << 16 | 0x5678)).all()
    np.testing.assert_array_equal(
        got[15].view(np.float32), (a.view(np.uint32) >> 8 & 255).astype(np.uint8).view(fp8).astype(np.float32)
    )
    np.testing.assert_array_equal(
        got[16].view(np.float32), (a.view(np.uint32) >> 24).astype(np.uint8).view(bf8).astype(np.float32)
    )
    halves = got[17].view(np.float16).reshape(64, 2).astype(np.float32)
    assert (np.abs(halves[small]) <= np.abs(np.stack([a, b], 1)[small])).all() and np.allclose(
        halves[small], np.stack([a, b], 1)[small], rtol=1e-3, atol=1e-7
    )
    stochastic = (got[18] >> 16 & 255).astype(np.uint8).view(fp8).astype(np.float32)
    assert (got[18] & 0xFF00FFFF == 0).all() and np.allclose(stochastic[small], a[small], rtol=0.125, atol=2.0**-9)
    upper = (b.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8).reshape(64, 2).view(fp8).astype(np.float32)
    np.testing.assert_array_equal(np.stack([got[19].view(np.float32), got[20].view(np.float32)], 1), upper)
