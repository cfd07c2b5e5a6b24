"""amd-aiter's Triton attention kernels: prefill (bf16 and fp8), paged decode, chunked and unified paged attention, logits.

The kernels' sources come from the wheel amd-aiter in the conformance venv; triton 3.9 compiles them for gfx950.
"""

import numpy as np
import pytest

from .test_aiter_rows import KERNELS, RNG, close
from .triton_programs import BF16, FP8


def attention(q, k, v, scale, causal):
    """q [Lq, H, D], k and v [Lk, Hkv, D]; bottom-right causal. Output and the natural-log lse, in double."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    s = np.einsum("ihd,jhd->hij", q, np.repeat(k, group, axis=1)) * scale
    if causal:
        i, j = np.indices(s.shape[1:])
        s = np.where(j <= i + s.shape[2] - s.shape[1], s, -np.inf)
    top = s.max(axis=2, keepdims=True)
    e = np.exp(s - top)
    total = e.sum(axis=2, keepdims=True)
    return np.einsum("hij,jhd->ihd", e / total, np.repeat(v, group, axis=1)), (top + np.log(total))[:, :, 0]


def four(prefix, shape, order):
    """Strides by name for the axes of `shape` in `order`."""
    steps = np.cumprod([1, *shape[:0:-1]])[::-1]
    return {f"stride_{prefix}{axis}_in": int(step) for axis, step in zip(order, steps)}


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kind", [BF16, FP8])
def test_mha_forward(triton, kind, causal):
    batch, lq, lk, hq, hk, d = 2, 150, 150, 4, 2, 128
    q, k, v = (
        RNG(s).standard_normal(shape).astype(kind)
        for s, shape in enumerate([(batch, lq, hq, d), (batch, lk, hk, d), (batch, lk, hk, d)])
    )
    fp8 = kind is FP8
    out, lse = np.zeros((batch, lq, hq, d), np.float32 if fp8 else kind), np.zeros((batch, hq, lq), np.float32)
    scales = [np.full((batch, h), s, np.float32) for s, h in ((0.5, hq), (0.75, hk), (1.25, hk))] if fp8 else [None] * 3
    scale = d**-0.5
    arguments = {
        "q_ptr": q,
        "k_ptr": k,
        "v_ptr": v,
        "descale_q_ptr": scales[0],
        "descale_k_ptr": scales[1],
        "descale_v_ptr": scales[2],
        "out_ptr": out,
        "alibi_slopes_ptr": None,
        "s_dmask_ptr": None,
        "dropout_mask_ptr": None,
        "softmax_lse_ptr": lse,
        **four("q", q.shape, "zmhk"),
        **four("k", k.shape, "znhk"),
        **four("v", v.shape, "znhk"),
        **four("o", out.shape, "zmhn"),
        **{f"stride_descale_{x}_z_in": h if fp8 else None for x, h in (("q", hq), ("k", hk), ("v", hk))},
        "stride_alibi_z_in": 0,
        "stride_alibi_h_in": 0,
        "stride_sd_z_in": 0,
        "stride_sd_h_in": 0,
        "stride_sd_m_in": 0,
        "stride_sd_n_in": 0,
        **four("lse_", lse.shape, "zhm"),
        "sm_scale": float(scale),
        "cu_seqlens_q": None,
        "cu_seqlens_k": None,
        "dropout_p": 0.0,
        "philox_seed": 0,
        "philox_offset_base_in": 0,
        "SEQLEN_Q": lq,
        "SEQLEN_K": lk,
        "BATCH": batch,
    }
    triton.run(
        KERNELS + "mha:_attn_fwd",
        (batch * hq * -(-lq // 64),),
        arguments,
        {
            "IS_CAUSAL": causal,
            "NUM_Q_HEADS": hq,
            "NUM_K_HEADS": hk,
            "PRELOAD_V": False,
            "BLOCK_M": 64,
            "BLOCK_N": 64,
            "BLOCK_DMODEL": d,
            "BLOCK_DMODEL_POW2": d,
            "BLOCK_DMODEL_PE": 0,
            "RETURN_SCORES": False,
            "ENABLE_DROPOUT": False,
            "IS_FP8": fp8,
            "FP8_MAX": 448.0,
            "VARLEN": False,
            "NUM_XCD": 8,
            "USE_INT64_STRIDES": True,
        },
    )
    for b in range(batch):
        want, want_lse = attention(q[b], k[b], v[b], scale * (0.375 if fp8 else 1), causal)
        close(out[b], want * (1.25 if fp8 else 1), 0.05 if fp8 else 2e-2, 0.06 if fp8 else 1e-2)
        close(lse[b], want_lse, 1e-2, 1e-2)


@pytest.mark.parametrize("causal", [True, False])
def test_prefill_of_ragged_sequences(triton, causal):
    lengths, hq, hk, d = np.int32([70, 1, 129]), 2, 1, 64
    starts = np.int32([0, 70, 71])
    q, k, v = (RNG(s).standard_normal((200, h, d)).astype(np.float16) for s, h in ((3, hq), (4, hk), (5, hk)))
    out = np.zeros_like(q)
    triton.run(
        KERNELS + "prefill_attention:_fwd_kernel",
        (3, hq, 3),
        {
            "Q": q,
            "K": k,
            "V": v,
            "sm_scale": 0.125,
            "B_Start_Loc": starts,
            "B_Seqlen": lengths,
            "Out": out,
            "stride_qbs": hq * d,
            "stride_qh": d,
            "stride_kbs": hk * d,
            "stride_kh": d,
            "stride_vbs": hk * d,
            "stride_vh": d,
            "stride_obs": hq * d,
            "stride_oh": d,
        },
        {"kv_group_num": 2, "BLOCK_M": 64, "BLOCK_DMODEL": d, "BLOCK_N": 64, "IS_CAUSAL": causal, "Lk": d},
    )
    for start, length in zip(starts, lengths):
        here = slice(start, start + length)
        close(out[here], attention(q[here], k[here], v[here], 0.125, causal)[0], 1e-2, 5e-3)


def paged(kind, heads, d, lengths, page, seed):
    """Shuffled pages [pages, heads, page, d], a table, and the contiguous keys of each sequence."""
    blocks = [-(-n // page) for n in lengths]
    order, table, rows, at = RNG(seed).permutation(sum(blocks)), np.zeros((len(lengths), max(blocks)), np.int32), [], 0
    cache = RNG(seed + 1).standard_normal((sum(blocks), heads, page, d)).astype(kind)
    for i, (n, count) in enumerate(zip(lengths, blocks)):
        table[i, :count] = order[at : at + count]
        rows.append(cache[order[at : at + count]].swapaxes(1, 2).reshape(-1, heads, d)[:n])
        at += count
    return cache, table, rows


@pytest.mark.parametrize("kind", [BF16, FP8])
def test_paged_decode(triton, kind):
    lengths, hq, hk, d, page = [100, 17], 8, 2, 128, 16
    k_cache, table, keys = paged(kind, hk, d, lengths, page, 6)
    v_cache, _, _ = paged(kind, hk, d, lengths, page, 6)
    v_cache = RNG(9).standard_normal(k_cache.shape).astype(kind)
    values = [v_cache[table[i, : -(-n // page)]].swapaxes(1, 2).reshape(-1, hk, d)[:n] for i, n in enumerate(lengths)]
    q = RNG(8).standard_normal((2, hq, d)).astype(BF16)
    out = np.zeros_like(q)
    scale, k_scale, v_scale = d**-0.5, 0.5, 0.75
    common = {
        "q_ptr": q,
        "k_cache_ptr": k_cache,
        "v_cache_ptr": v_cache,
        "blk_tables_ptr": table,
        "seq_lens_ptr": np.int32(lengths),
        "scale": scale,
        "k_scale": k_scale,
        "v_scale": v_scale,
        "stride_o_s": hq * d,
        "stride_o_nh": d,
        "stride_o_hs": 1,
        "stride_k_b": hk * page * d,
        "stride_k_nh": page * d,
        "stride_k_kb": d,
        "stride_bt_s": table.shape[1],
        "stride_q_s": hq * d,
    }
    sizes = {
        "compute_type": {"dtype": "bf16"},
        "KV_BLK_SZ": page,
        "KV_BLK_SZ_POW2": page,
        "HEAD_SZ": d,
        "HEAD_SZ_POW2": d,
        "QUERY_GRP_SZ": hq // hk,
    }
    triton.run(
        KERNELS + "pa_decode:_paged_attn_decode_v1_w_dot_kernel",
        (2, hk, 1),
        {
            **common,
            "out_ptr": out,
            "alibi_slopes": None,
            "stride_q_nh": d,
            "stride_q_hs": 1,
            "stride_k_hs": 1,
            "stride_bt_nb": 1,
        },
        {**sizes, "QUERY_GRP_SZ_POW2": 16},
    )
    fp8 = kind is FP8
    for i in range(2):
        want = attention(q[i][None], keys[i], values[i], scale * (k_scale if fp8 else 1), False)[0][0]
        close(out[i], want * (v_scale if fp8 else 1), 3e-2, 2e-2)


@pytest.mark.parametrize("kind", [BF16, FP8])
def test_unified_attention_over_pages(triton, kind):
    """Prefill and decode in one launch, a block table over shuffled pages, query lengths 40, 1 and 16 on longer contexts."""
    new, lengths, hq, hk, d, page = [40, 1, 16], [72, 90, 16], 4, 2, 128, 16
    blocks = [-(-n // page) for n in lengths]
    order, table, at = RNG(10).permutation(sum(blocks)), np.zeros((3, max(blocks)), np.int32), 0
    for i, count in enumerate(blocks):
        table[i, :count] = order[at : at + count]
        at += count
    k_cache, v_cache = (RNG(s).standard_normal((sum(blocks), page, hk, d)).astype(kind) for s in (11, 12))
    starts = np.cumsum([0, *new]).astype(np.int32)
    q = RNG(13).standard_normal((sum(new), hq, d)).astype(BF16)
    out = np.zeros_like(q)
    group, fp8 = hq // hk, kind is FP8
    block_m = 16
    block_q = block_m // group
    one = np.float32([0.5]) if fp8 else None
    two = np.float32([0.75]) if fp8 else None
    triton.run(
        KERNELS + "unified_attention:kernel_unified_attention_2d",
        (hk, sum(new) // block_q + 3),
        {
            "output_ptr": out,
            "query_ptr": q,
            "key_cache_ptr": k_cache,
            "value_cache_ptr": v_cache,
            "sink_ptr": None,
            "block_tables_ptr": table,
            "seq_lens_ptr": np.int32(lengths),
            "alibi_slopes_ptr": None,
            "qq_bias_ptr": None,
            "k_scale": one,
            "v_scale": two,
            "out_scale": None,
            "softcap": 0.0,
            "block_table_stride": table.shape[1],
            "query_stride_0": hq * d,
            "query_stride_1": d,
            "output_stride_0": hq * d,
            "output_stride_1": d,
            "qq_bias_stride_0": 0,
            **{f"stride_{x}_cache_{axis}": step for x in "kv" for axis, step in enumerate((page * hk * d, hk * d, d))},
            "query_start_len_ptr": starts,
            "num_seqs": 3,
        },
        {
            "scale": float(d**-0.5),
            "num_query_heads": hq,
            "num_queries_per_kv": group,
            "BLOCK_SIZE": page,
            "TILE_SIZE": page,
            "HEAD_SIZE": d,
            "HEAD_SIZE_PADDED": d,
            "USE_ALIBI_SLOPES": False,
            "USE_QQ_BIAS": False,
            "USE_SOFTCAP": False,
            "USE_SINKS": False,
            "SLIDING_WINDOW": 0,
            "stride_k_cache_3": 1,
            "stride_v_cache_3": 1,
            "BLOCK_Q": block_q,
            "BLOCK_M": block_m,
            "USE_FP8": False,
            "FP8_MIN": -448.0,
            "FP8_MAX": 448.0,
            "ALL_DECODE": False,
        },
    )
    for i, n in enumerate(lengths):
        keys, values = (c[table[i, : blocks[i]]].reshape(-1, hk, d)[:n] for c in (k_cache, v_cache))
        here = slice(starts[i], starts[i + 1])
        want = attention(q[here], keys, values, d**-0.5 * (0.5 if fp8 else 1), True)[0] * (0.75 if fp8 else 1)
        close(out[here], want, 3e-2, 2e-2)


def test_fp8_logits_of_many_heads(triton):
    rows, keys, heads, d = 5, 200, 64, 128
    q, kv = RNG(14).standard_normal((rows, heads, d)).astype(FP8), RNG(15).standard_normal((keys, d)).astype(FP8)
    scales, weights = (
        RNG(16).uniform(0.5, 2, keys).astype(np.float32),
        RNG(17).standard_normal((rows, heads)).astype(np.float32),
    )
    starts, ends = np.zeros(rows, np.int32), np.int32([200, 1, 64, 130, 199])
    logits = np.full((rows, keys), -np.inf, np.float32)
    triton.run(
        KERNELS + "fp8_mqa_logits:_fp8_mqa_logits_kernel",
        (rows,),
        {
            "Q_ptr": q,
            "KV_ptr": kv,
            "kv_scales_ptr": scales,
            "weights_ptr": weights,
            "cu_start_ptr": starts,
            "cu_end_ptr": ends,
            "logits_ptr": logits,
            "seq_len": rows,
            "seq_len_kv": keys,
            "stride_q_s": heads * d,
            "stride_kv_s": d,
            "stride_w_s": heads,
            "stride_logits_s": keys,
            "stride_logits_k": 1,
        },
        {
            "NUM_HEADS": heads,
            "HEAD_SIZE": d,
            "stride_q_h": d,
            "stride_q_d": 1,
            "stride_kv_d": 1,
            "stride_w_h": 1,
            "BLOCK_KV": 64,
        },
        strict=False,  # software pipelining reads a tile of LDS that nobody wrote when the loop runs no time, and drops it
    )
    scores = np.einsum("rhd,kd->rhk", q.astype(np.float64), kv.astype(np.float64)) * scales
    want = (np.maximum(scores, 0) * weights[:, :, None]).sum(axis=1)
    for row, end in enumerate(ends):
        close(logits[row, :end], want[row, :end], 1e-4, 1e-2)
        assert (logits[row, end:] == -np.inf).all()
