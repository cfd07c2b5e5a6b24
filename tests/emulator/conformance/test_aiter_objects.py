"""Hand-written gfx950 code objects from amd-aiter's wheel (aiter_meta/hsa/gfx950): attention against torch in double, the rest numpy.

Nobody compiled these for us: assembly by hand, with inline waits, LDS-DMA and transposing LDS reads. Their arguments are packed structs
of 16-byte slots (aiter_meta/csrc/include/mha_fwd.h and csrc/py_itfs_cu/*.cu in the wheel).
"""

import struct

import numpy as np
import pytest
import torch

from .device import HipFailure
from .test_aiter_rows import FP4, RNG, close
from .triton_programs import BF16


def slots(*values):
    """Each value in a slot of 16 bytes: an address (int beyond 2^32 or None), an unsigned, a float."""
    out = b""
    for value in values:
        raw = struct.pack("<f", value) if isinstance(value, float) else struct.pack("<Q", value or 0)
        out += raw.ljust(16, b"\0")
    return out


@pytest.fixture
def objects(site_packages):
    return site_packages / "aiter_meta" / "hsa" / "gfx950"


def name_of(file):
    kernel = f"fmha_{file}"
    return f"_ZN5aiter{len(kernel)}{kernel}E"


def torch_attention(q, k, v, scale, causal):
    """Output [Lq, H, Dv] and natural-log lse [H, Lq] in double; q [Lq, H, D], k and v [Lk, Hkv, D]; bottom-right causal."""
    q, k, v = (torch.from_numpy(x.astype(np.float64)).transpose(0, 1) for x in (q, k, v))
    mask = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool)
    if causal:
        mask = mask.tril(k.shape[1] - q.shape[1])
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, scale=scale, enable_gqa=True)
    scores = scale * q @ k.repeat_interleave(len(q) // len(k), 0).transpose(1, 2)
    lse = torch.logsumexp(scores.masked_fill(~mask, -torch.inf), -1)
    return out.transpose(0, 1).numpy(), lse.numpy()


def attention_forward(device, objects, file, d, rows, lq, lk):
    causal = file.endswith("causal")
    hq, hk, dv = 8, 2, 128
    q, k = RNG(0).standard_normal((lq, hq, d)).astype(BF16), RNG(1).standard_normal((lk, hk, d)).astype(BF16)
    v = RNG(2).standard_normal((lk, hk, dv)).astype(BF16)
    out, lse = np.zeros((lq, hq, dv), BF16), np.zeros((hq, lq), np.float32)
    scale = float(d**-0.5)
    q_at, k_at, v_at, out_at, lse_at = (device.upload(x) for x in (q, k, v, out, lse))
    group = hq // hk
    blocks = -(-lq // rows)
    arguments = slots(
        out_at,
        q_at,
        k_at,
        v_at,
        lse_at,
        scale,
        lq,
        hq * d * 2,
        rows * hq * d * 2,
        d * 2,
        lq * hq * d * 2,
        group,
        hk * d * 2,
        d * 2,
        lk * hk * d * 2,
        5,
        1,
        lk,
        d,
        dv,
        hq,
        hk * dv * 2,
        dv * 2,
        lk * hk * dv * 2,
        hq * dv * 2,
        dv * 2,
        lq * hq * dv * 2,
        None,
        None,
        lq * 4,
        None,
        None,
    )
    grid = (-(-blocks // 2) if causal else blocks, hq, 1)
    try:
        device.launch(
            (objects / "fmha_v3_fwd" / f"{file}.co").read_bytes(),
            name_of(file),
            grid,
            (256 if d == 192 else 512, 1, 1),
            arguments,
        )
        out, lse = device.download(out_at, out), device.download(lse_at, lse)
    finally:
        device.release()
    want, want_lse = torch_attention(q, k, v, scale, causal)
    close(out, want, 2e-2, 1e-2)
    close(lse, want_lse, 1e-3, 1e-3)


@pytest.mark.parametrize(
    "file, lq, lk", [("fwd_hd128_bf16", 256, 256), ("fwd_hd128_bf16", 300, 427), ("fwd_hd128_bf16_causal", 256, 256)]
)
def test_attention_forward(device, objects, file, lq, lk):
    attention_forward(device, objects, file, 128, 256, lq, lk)


RACY = [("fwd_hd128_bf16_causal", 128, 256, 300, 427)] + [
    (f"fwd_hd192_hd128_bf16{mask}", 192, 128, lq, lk) for mask in ("", "_causal") for lq, lk in ((256, 256), (300, 427))
]


@pytest.mark.parametrize("file, d, rows, lq, lk", RACY)
def test_attention_forward_of_racy_objects_in_step(device, objects, monkeypatch, file, d, rows, lq, lk):
    """These objects let LDS-DMA overwrite what other waves of the workgroup may still read, with no barrier between: on hardware the waves
    run in step and the load's latency hides it. So do they here, in turns of eight instructions."""
    monkeypatch.setenv("GFX950_EMU_STRICT", "0")
    monkeypatch.setenv("GFX950_EMU_QUANTUM", "8")
    attention_forward(device, objects, file, d, rows, lq, lk)


@pytest.mark.parametrize("file, d, rows, lq, lk", RACY[:2])
def test_strict_mode_finds_their_race(device, objects, file, d, rows, lq, lk):
    with pytest.raises(HipFailure, match="LDS race.*lds"):
        attention_forward(device, objects, file, d, rows, lq, lk)


@pytest.mark.parametrize("tile, m", [("32x64", 64), ("64x64", 128)])
def test_bf16_gemm(device, objects, tile, m):
    n, k = 128, 512
    a, b, out = (
        RNG(3).standard_normal((m, k)).astype(BF16),
        RNG(4).standard_normal((n, k)).astype(BF16),
        np.zeros((m, n), np.float32),
    )
    a_at, b_at, out_at = (device.upload(x) for x in (a, b, out))
    rows = int(tile.split("x")[0])
    name = f"bf16gemm_outf32_tn_{tile}_pf3"
    arguments = slots(out_at, None, a_at, b_at, 1.0, 0.0, 0, 0, n * 4, n * 4, k * 2, k * 2, k * 2, k * 2, m, n, k, 1)
    try:
        device.launch(
            (objects / "bf16gemm" / f"{name}.co").read_bytes(),
            f"_ZN5aiter{len(name)}{name}E",
            (n // 64, -(-m // rows), 1),
            (256, 1, 1),
            arguments,
        )
        out = device.download(out_at, out)
    finally:
        device.release()
    close(out, a.astype(np.float64) @ b.astype(np.float64).T, 1e-4, 1e-3)


def shuffled_scales(scales):
    """The order that the kernel's 16x16x128 tiles take: [m/32, 2, 16, k/8, 2, 4] with axes 0, 3, 5, 2, 4, 1 (aiter/utility/fp4_utils.py)."""
    m, n = scales.shape
    return scales.reshape(m // 32, 2, 16, n // 8, 2, 4).transpose(0, 3, 5, 2, 4, 1).reshape(m, n).copy()


def test_mxfp4_gemm(device, objects):
    """v_mfma_scale_f32_16x16x128_f8f6f4 by hand, FP4 operands, a scale for every row and 32 k."""
    m, n, k = 256, 256, 512
    codes = [RNG(s).integers(0, 256, (rows, k // 2)).astype(np.uint8) for s, rows in ((5, m), (6, n))]
    scales = [RNG(s).integers(122, 132, (rows, k // 32)).astype(np.uint8) for s, rows in ((7, m), (8, n))]
    out = np.zeros((m, n), BF16)
    a_at, b_at = (device.upload(x) for x in codes)
    # The kernel prefetches scales past the end of the array (and drops them), as a pool's neighbours allow: room for that.
    sa_at, sb_at = (
        device.upload(np.concatenate([shuffled_scales(x).ravel(), np.zeros(4096, np.uint8)])) for x in scales
    )
    out_at = device.upload(out)
    name = "f4gemm_bf16_per1x32Fp4_noBpreShuffle_256x256"
    arguments = slots(
        out_at, None, a_at, b_at, 1.0, 0.0, 0, 0, n, 0, k, 0, k, 0, m, n, k, sa_at, sb_at, k // 32, 0, k // 32, 0
    )
    try:
        device.launch(
            (objects / "f4gemm" / f"{name}.co").read_bytes(),
            f"_ZN5aiter{len(name)}{name}E",
            (1, 1, 1),
            (256, 1, 1),
            arguments,
        )
        out = device.download(out_at, out)
    finally:
        device.release()
    wa, wb = (
        np.stack([FP4[c & 15], FP4[c >> 4]], -1).reshape(len(c), k).astype(np.float64)
        * np.repeat(2.0 ** (s.astype(np.float64) - 127), 32, axis=1)
        for c, s in zip(codes, scales)
    )
    want = wa @ wb.T
    close(out, want, 1e-2, 1e-2 * np.abs(want).max())
    assert np.corrcoef(out.astype(np.float64).ravel(), want.ravel())[0, 1] > 0.99999
