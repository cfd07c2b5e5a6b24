"""Reading paged FP8 caches token by token, and attention over a whole ragged batch: the reference the kernels meet.

Layouts (docs/api.md): `vectorized_5d` K [pages, Hkv, D/16, page, 16], V [pages, Hkv, page/16, Dv, 16]; `linear` (page 1)
K [pages, Hkv, D], V [pages, Hkv, Dv]. All caches are uint8 arrays holding float8_e4m3fn.
"""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from tests.reference.attention import attention


def from_fp8(raw):
    """uint8 array holding float8_e4m3fn -> float64."""
    return raw.view(ml_dtypes.float8_e4m3fn).astype(np.float64)


def to_fp8(values):
    """float array -> uint8 array holding float8_e4m3fn, rounded to nearest even and saturated at 448."""
    return np.clip(values, -448.0, 448.0).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)


def from_bf16(raw):
    """uint16 array holding bfloat16 -> float64."""
    return raw.view(ml_dtypes.bfloat16).astype(np.float64)


def read_k(k_cache, page_ids, length):
    """Keys of one sequence: -> uint8 [length, Hkv, D]."""
    pages = k_cache[page_ids]
    if k_cache.ndim == 3:
        return pages[:length]
    n, num_kv_heads, chunks, page_size, width = pages.shape
    return pages.transpose(0, 3, 1, 2, 4).reshape(n * page_size, num_kv_heads, chunks * width)[:length]


def read_v(v_cache, page_ids, length):
    """Values of one sequence: -> uint8 [length, Hkv, Dv]."""
    pages = v_cache[page_ids]
    if v_cache.ndim == 3:
        return pages[:length]
    n, num_kv_heads, chunks, v_head_dim, width = pages.shape
    return pages.transpose(0, 2, 4, 1, 3).reshape(n * chunks * width, num_kv_heads, v_head_dim)[:length]


@dataclass(frozen=True)
class Batch:
    """Expected results of a batch: out, out_bound [total_q, Hq, Dv]; lse, lse_bound [Hq, total_q]; inside [total_q] (bool).

    Rows outside cu_seqlens_q are False in `inside`; their other entries are NaN.
    """

    out: np.ndarray
    out_bound: np.ndarray
    lse: np.ndarray
    lse_bound: np.ndarray
    inside: np.ndarray


def paged_prefill(problem, *, independent=True, key_offset=0, kv_head_offset=0):
    """Attention of every sequence and head of `problem` (tests.reference.problems.Problem). -> Batch."""
    total_q, num_q_heads, _ = problem.q.shape
    v_head_dim = problem.shape.v_head_dim
    num_kv_heads = problem.shape.num_kv_heads
    out = np.full((total_q, num_q_heads, v_head_dim), np.nan)
    out_bound = np.full_like(out, np.nan)
    lse = np.full((num_q_heads, total_q), np.nan)
    lse_bound = np.full_like(lse, np.nan)
    inside = np.zeros(total_q, bool)
    scale = problem.softmax_scale * problem.q_descale * problem.k_descale
    for b, length in enumerate(problem.lengths_k):
        rows = slice(problem.cu_seqlens_q[b], problem.cu_seqlens_q[b + 1])
        page_ids = problem.pages_of(b)
        q = from_fp8(problem.q[rows])
        k = from_fp8(read_k(problem.k_cache, page_ids, length))
        v = from_fp8(read_v(problem.v_cache, page_ids, length))
        inside[rows] = True
        for head in range(num_q_heads):
            kv_head = (head // (num_q_heads // num_kv_heads) + kv_head_offset) % num_kv_heads
            one = attention(
                q[:, head],
                k[:, kv_head],
                v[:, kv_head],
                scale=scale,
                v_descale=problem.v_descale,
                independent=independent,
                key_offset=key_offset,
            )
            out[rows, head], out_bound[rows, head] = one.out, one.out_bound
            lse[head, rows], lse_bound[head, rows] = one.lse, one.lse_bound
    return Batch(out, out_bound, lse, lse_bound, inside)
