"""Random paged problems shaped like serving: ragged sequences with cached prefixes, shuffled pages, NaN wherever nothing is stored."""

from dataclasses import dataclass, field

import numpy as np

from tests.reference.paged import to_fp8

NAN_BYTE = 0x7F


@dataclass(frozen=True)
class Shape:
    """What fixes a problem's sizes. lengths: one (new tokens Lq, keys Lk with the prefix included) a sequence."""

    head_dim: int
    v_head_dim: int
    page_size: int
    num_q_heads: int
    num_kv_heads: int
    lengths: tuple

    @property
    def kv_layout(self):
        return "linear" if self.page_size == 1 else "vectorized_5d"

    def pages(self, length):
        return -(-length // self.page_size)


@dataclass(frozen=True)
class Problem:
    """Arrays of one call, on the host: q uint8 [total_q, Hq, D], caches uint8, metadata int32, scales Python floats."""

    shape: Shape
    q: np.ndarray
    k_cache: np.ndarray
    v_cache: np.ndarray
    cu_seqlens_q: np.ndarray
    lengths_k: np.ndarray
    page_lists: list
    softmax_scale: float
    q_descale: float
    k_descale: float
    v_descale: float
    extra: dict = field(default_factory=dict)

    def pages_of(self, b):
        return self.page_lists[b]

    @property
    def max_seqlen_q(self):
        return int(np.diff(self.cu_seqlens_q).max(initial=0))

    @property
    def max_seqlen_k(self):
        return int(self.lengths_k.max(initial=0))

    def block_table(self, dtype=np.int32, poison=None, width=None):
        """[B, max_pages]; entries past a sequence's last page hold `poison` (default: a huge id)."""
        longest = max([len(p) for p in self.page_lists] + [1]) if width is None else width
        table = np.full((len(self.page_lists), longest), 0x7FFFFFF0 if poison is None else poison, dtype)
        for b, pages in enumerate(self.page_lists):
            table[b, : len(pages)] = pages
        return table

    def csr(self, dtype=np.int32):
        """kv_indptr [B+1], kv_page_indices [sum of pages], kv_last_page_lens [B]."""
        counts = [len(p) for p in self.page_lists]
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        indices = np.concatenate([*self.page_lists, []]).astype(dtype)
        last = np.array([(n - 1) % self.shape.page_size + 1 if n else 0 for n in self.lengths_k], np.int32)
        return indptr, indices, last


def make_problem(
    shape,
    *,
    seed=0,
    logit_std=1.0,
    softmax_scale=None,
    q_descale=1.0,
    k_descale=1.0,
    v_descale=1.0,
    spare_pages=3,
    rows_before=0,
    rows_after=0,
):
    """Normal q, k, v such that the scaled logits have standard deviation `logit_std`; caches in the layout of shape.page_size.

    Pages are shuffled over a pool with `spare_pages` more pages than needed; every byte that belongs to no key is NaN.
    rows_before / rows_after: rows of q outside cu_seqlens_q.
    """
    rng = np.random.default_rng(seed)
    head_dim, page_size, num_kv_heads = shape.head_dim, shape.page_size, shape.num_kv_heads
    scale = head_dim**-0.5 if softmax_scale is None else softmax_scale
    amplitude = np.sqrt(logit_std / (scale * q_descale * k_descale * np.sqrt(head_dim)))
    lengths_q = np.array([lq for lq, _ in shape.lengths], np.int64)
    lengths_k = np.array([lk for _, lk in shape.lengths], np.int32)
    cu_seqlens_q = (rows_before + np.concatenate([[0], np.cumsum(lengths_q)])).astype(np.int32)
    total_q = int(cu_seqlens_q[-1]) + rows_after

    q = to_fp8(amplitude * rng.standard_normal((total_q, shape.num_q_heads, head_dim)))
    counts = [shape.pages(int(n)) for n in lengths_k]
    order = rng.permutation(sum(counts) + spare_pages)
    ends = np.cumsum(counts)
    page_lists = [order[end - count : end].astype(np.int64) for end, count in zip(ends, counts)]
    k_pool = np.full((len(order), page_size, num_kv_heads, head_dim), NAN_BYTE, np.uint8)
    v_pool = np.full((len(order), page_size, num_kv_heads, shape.v_head_dim), NAN_BYTE, np.uint8)
    for pages, length in zip(page_lists, lengths_k):
        k = to_fp8(amplitude * rng.standard_normal((length, num_kv_heads, head_dim)))
        v = to_fp8(rng.standard_normal((length, num_kv_heads, shape.v_head_dim)) / v_descale)
        for n, page in enumerate(pages):
            k_page, v_page = k[n * page_size : (n + 1) * page_size], v[n * page_size : (n + 1) * page_size]
            k_pool[page, : len(k_page)] = k_page
            v_pool[page, : len(v_page)] = v_page
    k_cache, v_cache = store(k_pool, v_pool, page_size)
    return Problem(
        shape, q, k_cache, v_cache, cu_seqlens_q, lengths_k, page_lists, scale, q_descale, k_descale, v_descale
    )


def store(k_pool, v_pool, page_size):
    """[pages, page, Hkv, D] pools -> caches in the layout that the page size takes."""
    if page_size == 1:
        return k_pool[:, 0], v_pool[:, 0]
    pages, _, num_kv_heads, head_dim = k_pool.shape
    v_head_dim = v_pool.shape[3]
    k = k_pool.reshape(pages, page_size, num_kv_heads, head_dim // 16, 16).transpose(0, 2, 3, 1, 4)
    v = v_pool.reshape(pages, page_size // 16, 16, num_kv_heads, v_head_dim).transpose(0, 3, 1, 4, 2)
    return np.ascontiguousarray(k), np.ascontiguousarray(v)
