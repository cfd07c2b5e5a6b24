"""Drop-in form: the signature that servers call in aiter today, for the calls that this package can serve.

What it cannot serve raises NotImplementedError with the argument and its value, before anything is launched, so that
a caller can fall back. A block table takes precedence over the CSR tensors. lse is float32 [Hq, total_q], natural
logarithm.
"""

from __future__ import annotations

from typing import Any

from .prefill import paged_prefill

_NOT_SERVED = "is not served by paged_attn_runtime"


def mha_batch_prefill_func(
    q: Any,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    kv_indptr: Any,
    kv_page_indices: Any,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    logits_soft_cap: float = 0.0,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    alibi_slopes: Any = None,
    deterministic: bool = False,
    return_lse: bool = False,
    return_attn_probs: bool = False,
    out: Any = None,
    kv_last_page_lens: Any = None,
    block_table: Any = None,
    seqlen_k: Any = None,
    q_descale: Any = None,
    k_descale: Any = None,
    v_descale: Any = None,
    kv_block_descale: Any = None,
    sink_ptr: Any = None,
    sink_size: int = 0,
) -> Any:
    """Returns out, or [out, lse] with return_lse=True. `deterministic` is always so."""
    _refuse("dropout_p", dropout_p, dropout_p == 0.0, "0.0")
    _refuse("logits_soft_cap", logits_soft_cap, logits_soft_cap in (None, 0.0), "0.0")
    _refuse("causal", causal, causal is True or causal == 1, "True")
    _refuse(
        "window_size", window_size, _unbounded(window_size), "(-1, -1), or (-1, 0), which a causal mask makes the same"
    )
    for name, value in (("alibi_slopes", alibi_slopes), ("kv_block_descale", kv_block_descale), ("sink_ptr", sink_ptr)):
        _refuse(name, value, value is None, "None")
    _refuse("sink_size", sink_size, sink_size == 0, "0")
    _refuse("return_attn_probs", return_attn_probs, not return_attn_probs, "False")
    for name, value in (("q_descale", q_descale), ("k_descale", k_descale), ("v_descale", v_descale)):
        _refuse(name, value, value is not None, "a float, or a tensor of one float32: the caches are FP8")
    for name, value in (("q", q), ("k", k), ("v", v)):
        _refuse_dtype(name, value)
    if block_table is not None:
        _refuse("seqlen_k", seqlen_k, seqlen_k is not None, "int32 [B] with block_table")
        pages = {"block_table": block_table, "seqlens_k": seqlen_k}
    else:
        _refuse(
            "block_table",
            block_table,
            kv_indptr is not None and kv_page_indices is not None,
            "a table, or the CSR tensors",
        )
        pages = {"kv_indptr": kv_indptr, "kv_page_indices": kv_page_indices, "kv_last_page_lens": kv_last_page_lens}
    result = paged_prefill(
        q,
        k,
        v,
        cu_seqlens_q=cu_seqlens_q,
        max_seqlen_q=max_seqlen_q,
        max_seqlen_k=max_seqlen_k,
        q_descale=q_descale,
        k_descale=k_descale,
        v_descale=v_descale,
        softmax_scale=softmax_scale,
        out=out,
        return_lse=return_lse,
        **pages,
    )
    return list(result) if return_lse else result


def _refuse(name: str, value: Any, served: bool, allowed: str) -> None:
    if not served:
        raise NotImplementedError(f"{name}={_short(value)} {_NOT_SERVED}; allowed: {allowed}")


def _short(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return repr(value) if shape is None else f"<{type(value).__name__} of shape {tuple(shape)}>"


def _unbounded(window_size: Any) -> bool:
    return window_size is None or (
        window_size[0] in (-1, None)
        and window_size[1] in (-1, 0, None)
        and len(window_size) in (2, 3)
        and not any(window_size[2:])
    )


def _refuse_dtype(name: str, tensor: Any) -> None:
    """bf16 and fp16 caches are another kernel's work, and a caller falls back for them."""
    dtype = str(getattr(tensor, "dtype", "")).removeprefix("torch.")
    _refuse(
        f"{name}.dtype",
        dtype,
        dtype not in ("bfloat16", "float16", "float32", "float8_e4m3fnuz", "float8_e5m2"),
        "float8_e4m3fn or uint8",
    )
