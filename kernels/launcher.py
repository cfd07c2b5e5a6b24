"""The kernel's entry: its argument list, as the DSL wants it spelled out, and the launcher that flyc.compile takes.

The names are those of source.KERNARG, in its order (a test compares them).
"""

from __future__ import annotations

from types import SimpleNamespace

import flydsl.compiler as flyc
import flydsl.expr as fx

from .kernel import attend
from .traits import THREADS, Traits

_DEFAULT_STREAM = fx.Stream(None)


def make_launcher(traits: Traits):
    """A fresh launcher of the variant (compile hints stick to a launcher)."""

    @flyc.kernel(name=traits.variant.name, known_block_size=[THREADS, 1, 1])
    def paged_prefill(
        q: fx.Pointer,
        k_cache: fx.Pointer,
        v_cache: fx.Pointer,
        out: fx.Pointer,
        lse: fx.Pointer,
        cu_seqlens_q: fx.Pointer,
        seqlens_k: fx.Pointer,
        block_table: fx.Pointer,
        kv_indptr: fx.Pointer,
        kv_page_indices: fx.Pointer,
        kv_last_page_lens: fx.Pointer,
        q_descale: fx.Pointer,
        k_descale: fx.Pointer,
        v_descale: fx.Pointer,
        q_row_stride: fx.Int64,
        q_head_stride: fx.Int64,
        k_page_stride: fx.Int64,
        k_head_stride: fx.Int64,
        v_page_stride: fx.Int64,
        v_head_stride: fx.Int64,
        out_row_stride: fx.Int64,
        out_head_stride: fx.Int64,
        lse_head_stride: fx.Int64,
        block_table_row_stride: fx.Int64,
        softmax_scale: fx.Float32,
        q_descale_value: fx.Float32,
        k_descale_value: fx.Float32,
        v_descale_value: fx.Float32,
        batch: fx.Int32,
        total_q: fx.Int32,
        num_q_heads: fx.Int32,
        num_kv_heads: fx.Int32,
        max_seqlen_q: fx.Int32,
        page_id_bytes: fx.Int32,
    ):
        attend(traits, SimpleNamespace(**{name: value for name, value in locals().items() if name != "traits"}))

    @flyc.jit
    def launch(
        q: fx.Pointer,
        k_cache: fx.Pointer,
        v_cache: fx.Pointer,
        out: fx.Pointer,
        lse: fx.Pointer,
        cu_seqlens_q: fx.Pointer,
        seqlens_k: fx.Pointer,
        block_table: fx.Pointer,
        kv_indptr: fx.Pointer,
        kv_page_indices: fx.Pointer,
        kv_last_page_lens: fx.Pointer,
        q_descale: fx.Pointer,
        k_descale: fx.Pointer,
        v_descale: fx.Pointer,
        q_row_stride: fx.Int64,
        q_head_stride: fx.Int64,
        k_page_stride: fx.Int64,
        k_head_stride: fx.Int64,
        v_page_stride: fx.Int64,
        v_head_stride: fx.Int64,
        out_row_stride: fx.Int64,
        out_head_stride: fx.Int64,
        lse_head_stride: fx.Int64,
        block_table_row_stride: fx.Int64,
        softmax_scale: fx.Float32,
        q_descale_value: fx.Float32,
        k_descale_value: fx.Float32,
        v_descale_value: fx.Float32,
        batch: fx.Int32,
        total_q: fx.Int32,
        num_q_heads: fx.Int32,
        num_kv_heads: fx.Int32,
        max_seqlen_q: fx.Int32,
        page_id_bytes: fx.Int32,
        stream: fx.Stream = _DEFAULT_STREAM,
    ):
        paged_prefill(
            q,
            k_cache,
            v_cache,
            out,
            lse,
            cu_seqlens_q,
            seqlens_k,
            block_table,
            kv_indptr,
            kv_page_indices,
            kv_last_page_lens,
            q_descale,
            k_descale,
            v_descale,
            q_row_stride,
            q_head_stride,
            k_page_stride,
            k_head_stride,
            v_page_stride,
            v_head_stride,
            out_row_stride,
            out_head_stride,
            lse_head_stride,
            block_table_row_stride,
            softmax_scale,
            q_descale_value,
            k_descale_value,
            v_descale_value,
            batch,
            total_q,
            num_q_heads,
            num_kv_heads,
            max_seqlen_q,
            page_id_bytes,
        ).launch(grid=(1, 1, 1), block=(THREADS, 1, 1), stream=stream)

    return launch
