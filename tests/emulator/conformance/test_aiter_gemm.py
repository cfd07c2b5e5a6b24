"""amd-aiter's Triton matrix kernels: bf16, fp8 with scales, mxfp4, atomics, experts. Against numpy in double.

The kernels' sources come from the wheel amd-aiter in the conformance venv; triton 3.9 compiles them for gfx950.
"""

import numpy as np
import pytest

from .device import HipFailure
from .test_aiter_rows import FP4, KERNELS, RNG, close
from .triton_programs import BF16, FP8


def strides(**names):
    return {f"stride_{k}": int(v) for k, v in names.items()}


def matrices(kind, m, n, k, seed=0):
    """a [m, k], b stored [n, k] and used as [k, n], and the product in double."""
    a = (RNG(seed).standard_normal((m, k))).astype(kind)
    b = (RNG(seed + 1).standard_normal((n, k))).astype(kind)
    return a, b, a.astype(np.float64) @ b.astype(np.float64).T


TILE = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 2}


@pytest.mark.parametrize("instruction", [16, 32])
@pytest.mark.parametrize("kind", [BF16, np.float16])
def test_gemm_a16w16(triton, kind, instruction):
    m, n, k = 100, 136, 200
    a, b, want = matrices(kind, m, n, k)
    bias, c = RNG(2).standard_normal(n).astype(kind), np.zeros((m, n), kind)
    triton.run(
        KERNELS + "gemm_a16w16:_gemm_a16_w16_kernel",
        (2 * 3,),
        {
            "a_ptr": a,
            "b_ptr": b,
            "bias_ptr": bias,
            "c_ptr": c,
            "M": m,
            "N": n,
            "K": k,
            **strides(am=k, ak=1, bk=1, bn=k, ck=0, cm=n, cn=1),
        },
        {
            **TILE,
            "NUM_KSPLIT": 1,
            "SPLITK_BLOCK_SIZE": k,
            "cache_modifier": ".cg",
            "activation": "",
            "use_activation": False,
            "ADD_BIAS": True,
            "SKIP_REDUCE": False,
        },
        matrix_instr_nonkdim=instruction,
        num_stages=2,
    )
    close(c, want + bias.astype(np.float64), 2e-2, 0.1)


def test_gemm_a16w16_with_gelu(triton):
    m, n, k = 64, 64, 128
    a, b, want = matrices(BF16, m, n, k, 3)
    c = np.zeros((m, n), BF16)
    triton.run(
        KERNELS + "gemm_a16w16:_gemm_a16_w16_kernel",
        (1,),
        {
            "a_ptr": a,
            "b_ptr": b,
            "bias_ptr": None,
            "c_ptr": c,
            "M": m,
            "N": n,
            "K": k,
            **strides(am=k, ak=1, bk=1, bn=k, ck=0, cm=n, cn=1),
        },
        {
            **TILE,
            "NUM_KSPLIT": 1,
            "SPLITK_BLOCK_SIZE": k,
            "cache_modifier": ".cg",
            "activation": {"jit": KERNELS + "activation:_gelu_tanh"},
            "use_activation": True,
            "ADD_BIAS": False,
            "SKIP_REDUCE": False,
        },
    )
    close(c, want / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (want + 0.044715 * want**3))), 2e-2, 0.1)


def test_gemm_with_atomic_split_of_k(triton):
    m, n, k = 64, 128, 512
    a, b, want = matrices(BF16, m, n, k, 5)
    c = np.zeros((m, n), np.float32)
    triton.run(
        KERNELS + "gemm_a16w16_atomic:_gemm_a16_w16_atomic_kernel",
        (2 * 4,),
        {"a_ptr": a, "b_ptr": b, "c_ptr": c, "M": m, "N": n, "K": k, **strides(am=k, ak=1, bk=1, bn=k, cm=n, cn=1)},
        {**TILE, "NUM_KSPLIT": 4, "SPLITK_BLOCK_SIZE": 128, "cache_modifier": ".cg"},
    )
    close(c, want, 1e-4, 1e-3)


def gemm_a8w8(triton, m, n, k, instruction):
    a, b, product = matrices(FP8, m, n, k, 7)
    sa, sb = RNG(9).uniform(0.5, 2, m).astype(np.float32), RNG(10).uniform(0.5, 2, n).astype(np.float32)
    c = np.zeros((m, n), BF16)
    triton.run(
        KERNELS + "gemm_a8w8:_gemm_a8w8_kernel",
        (-(-m // 64) * -(-n // 64),),
        {
            "a_ptr": a,
            "b_ptr": b,
            "a_scale_ptr": sa,
            "b_scale_ptr": sb,
            "bias_ptr": None,
            "c_ptr": c,
            "M": m,
            "N": n,
            "K": k,
            **strides(am=k, ak=1, bk=1, bn=k, cm=n, cn=1),
        },
        {**TILE, "HAS_BIAS": False, "BLOCK_SIZE_K": 128, "NUM_XCDS": 8},
        matrix_instr_nonkdim=instruction,
    )
    close(c, product * sa[:, None] * sb, 1e-2, 0.1)


@pytest.mark.parametrize("instruction", [16, 32])
def test_gemm_fp8_with_row_and_column_scales(triton, instruction):
    gemm_a8w8(triton, 128, 64, 256, instruction)


def test_gemm_fp8_reads_past_its_scales_when_rows_are_ragged(triton):
    """The kernel loads its scales without a mask: a fault of its own that strict mode finds."""
    with pytest.raises(HipFailure, match="past the end of a device allocation of 384 bytes"):
        gemm_a8w8(triton, 96, 80, 256, 16)


def test_gemm_int8(triton):
    m, n, k = 64, 64, 256
    a, b = RNG(11).integers(-128, 128, (m, k)).astype(np.int8), RNG(12).integers(-128, 128, (n, k)).astype(np.int8)
    ones, c = np.ones(64, np.float32), np.zeros((m, n), np.int32)
    triton.run(
        KERNELS + "gemm_a8w8:_gemm_a8w8_kernel",
        (1,),
        {
            "a_ptr": a,
            "b_ptr": b,
            "a_scale_ptr": ones,
            "b_scale_ptr": ones,
            "bias_ptr": None,
            "c_ptr": c,
            "M": m,
            "N": n,
            "K": k,
            **strides(am=k, ak=1, bk=1, bn=k, cm=n, cn=1),
        },
        {**TILE, "HAS_BIAS": False, "BLOCK_SIZE_K": 128, "NUM_XCDS": 8},
    )
    assert (c == a.astype(np.int64) @ b.astype(np.int64).T).all()


def test_gemm_fp8_with_block_scales(triton):
    m, n, k = 48, 256, 384
    a, b, _ = matrices(FP8, m, n, k, 13)
    sa = RNG(15).uniform(0.5, 2, (m, k // 128)).astype(np.float32)
    sb = RNG(16).uniform(0.5, 2, (n // 128, k // 128)).astype(np.float32)
    c = np.zeros((m, n), BF16)
    triton.run(
        KERNELS + "gemm_a8w8_blockscale:_gemm_a8w8_blockscale_kernel",
        (2,),
        {
            "a_ptr": a,
            "b_ptr": b,
            "c_ptr": c,
            "a_scale_ptr": sa,
            "b_scale_ptr": sb,
            "M": m,
            "N": n,
            "K": k,
            **strides(
                am=k, ak=1, bk=1, bn=k, ck=0, cm=n, cn=1, ascale_m=k // 128, ascale_k=1, bscale_k=1, bscale_n=k // 128
            ),
        },
        {
            "GROUP_K": 128,
            "GROUP_N": 128,
            "BLOCK_SIZE_M": 64,
            "BLOCK_SIZE_N": 128,
            "BLOCK_SIZE_K": 128,
            "GROUP_SIZE_M": 1,
            "NUM_KSPLIT": 1,
            "SPLITK_BLOCK_SIZE": k,
            "cache_modifier": ".cg",
        },
    )
    wa = a.astype(np.float64) * np.repeat(sa, 128, axis=1)
    wb = b.astype(np.float64) * np.repeat(np.repeat(sb, 128, axis=0), 128, axis=1)
    close(c, wa @ wb.T, 1e-2, 0.1)


def fp4_matrix(rows, k, seed):
    codes = RNG(seed).integers(0, 256, (rows, k // 2)).astype(np.uint8)
    scales = RNG(seed + 1).integers(122, 132, (rows, k // 32)).astype(np.uint8)
    values = np.stack([FP4[codes & 15], FP4[codes >> 4]], axis=-1).reshape(rows, k)
    return codes, scales, values.astype(np.float64) * np.repeat(2.0 ** (scales.astype(np.float64) - 127), 32, axis=1)


@pytest.mark.parametrize("instruction", [16, 32])
def test_gemm_mxfp4(triton, instruction):
    """v_mfma_scale with scales that differ by row and k block, both operands 4 bits."""
    m, n, k = 64, 96, 512
    a, sa, wa = fp4_matrix(m, k, 17)
    b, sb, wb = fp4_matrix(n, k, 19)
    c = np.zeros((m, n), BF16)
    triton.run(
        KERNELS + "gemm_afp4wfp4:_gemm_afp4_wfp4_kernel",
        (2,),
        {
            "a_ptr": a,
            "b_ptr": b,
            "c_ptr": c,
            "a_scales_ptr": sa,
            "b_scales_ptr": sb,
            "M": m,
            "N": n,
            "K": k // 2,
            **strides(am=k // 2, ak=1, bk=1, bn=k // 2, ck=0, cm=n, cn=1, asm=k // 32, ask=1, bsn=k // 32, bsk=1),
        },
        {
            "BLOCK_SIZE_M": 64,
            "BLOCK_SIZE_N": 64,
            "BLOCK_SIZE_K": 256,
            "GROUP_SIZE_M": 1,
            "NUM_KSPLIT": 1,
            "SPLITK_BLOCK_SIZE": k,
            "cache_modifier": ".cg",
        },
        matrix_instr_nonkdim=instruction,
    )
    want = wa @ wb.T
    close(c, want, 1e-2, 1e-2 * np.abs(want).max())
    assert np.corrcoef(c.astype(np.float64).ravel(), want.ravel())[0, 1] > 0.99999


@pytest.mark.parametrize("instruction", [16, 32])
def test_gemm_fp8_by_mxfp4(triton, instruction):
    """8-bit and 4-bit operands in one v_mfma_scale: their k layouts must agree."""
    m, n, k = 64, 64, 512
    a = RNG(21).standard_normal((m, k)).astype(FP8)
    sa = RNG(22).uniform(0.5, 2, (m, 1)).astype(np.float32)
    b, sb, wb = fp4_matrix(n, k, 23)
    c = np.zeros((m, n), BF16)
    triton.run(
        KERNELS + "gemm_a8wfp4:_gemm_a8wfp4_kernel",
        (1,),
        {
            "a_ptr": a,
            "b_ptr": b,
            "c_ptr": c,
            "a_scales_ptr": sa,
            "b_scales_ptr": sb,
            "M": m,
            "N": n,
            "K": k,
            **strides(am=k, ak=1, bk=1, bn=k // 2, ck=0, cm=n, cn=1, asm=1, ask=1, bsn=k // 32, bsk=1),
        },
        {
            "BLOCK_SIZE_M": 64,
            "BLOCK_SIZE_N": 64,
            "BLOCK_SIZE_K": 256,
            "GROUP_SIZE_M": 1,
            "NUM_KSPLIT": 1,
            "SPLITK_BLOCK_SIZE": k,
            "RAW_MASKED_LOADS": True,
            "cache_modifier": ".cg",
        },
        matrix_instr_nonkdim=instruction,
    )
    want = a.astype(np.float64) @ wb.T * sa
    close(c, want, 1e-2, 1e-2 * np.abs(want).max())
    assert np.corrcoef(c.astype(np.float64).ravel(), want.ravel())[0, 1] > 0.99999


def test_batched_gemm_bf16(triton):
    batch, m, n, k = 3, 40, 64, 96
    a, b = RNG(25).standard_normal((batch, m, k)).astype(BF16), RNG(26).standard_normal((batch, n, k)).astype(BF16)
    bias, c = RNG(27).standard_normal((batch, 1, n)).astype(BF16), np.zeros((batch, m, n), BF16)
    triton.run(
        KERNELS + "batched_gemm_bf16:_batched_gemm_bf16_kernel",
        (batch, 1),
        {
            "a_ptr": a,
            "b_ptr": b,
            "c_ptr": c,
            "bias_ptr": bias,
            "M": m,
            "N": n,
            "K": k,
            **strides(ab=m * k, am=k, ak=1, bb=n * k, bk=1, bn=k, cb=m * n, cm=n, cn=1, biasb=n),
        },
        {**TILE, "HAS_BIAS": True},
    )
    close(c, a.astype(np.float64) @ b.astype(np.float64).swapaxes(1, 2) + bias.astype(np.float64), 2e-2, 0.1)


def test_grouped_gemm(triton):
    sizes, k, n = np.int32([20, 0, 70, 33]), 64, 96
    m = int(sizes.sum())
    lhs, rhs = RNG(28).standard_normal((m, k)).astype(BF16), RNG(29).standard_normal((4, k, n)).astype(BF16)
    out = np.zeros((m, n), BF16)
    triton.run(
        KERNELS + "gmm:gmm_kernel",
        (4,),
        {"lhs_ptr": lhs, "rhs_ptr": rhs, "group_sizes_ptr": sizes, "out_ptr": out, "M": m, "K": k, "N": n, "G": 4},
        {
            "TRANS_RHS": False,
            "BLOCK_SIZE_M": 32,
            "BLOCK_SIZE_K": 32,
            "BLOCK_SIZE_N": 32,
            "GROUP_SIZE": 1,
            "GRID_DIM": 4,
        },
    )
    want, at = [], 0
    for group, size in enumerate(sizes):
        want.append(lhs[at : at + size].astype(np.float64) @ rhs[group].astype(np.float64))
        at += size
    close(out, np.concatenate(want), 2e-2, 0.1)
