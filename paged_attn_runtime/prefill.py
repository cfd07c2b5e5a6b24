"""`paged_prefill`: one call that finds the variant, checks its arguments and launches.

A kind of call that was seen before (same dtypes, shapes, strides, devices and bounds) is not checked again: its key
is looked up, and what was prepared for it is launched.
"""

from __future__ import annotations

from typing import Any

from . import checking
from .catalogue import catalogue
from .checks import bound
from .kernarg import POINTERS
from .launch import launch
from .outputs import address_of, allocate_lse, allocate_out
from .prepare import Limits, Prepared, check_call, choose, prepare
from .scalars import number, refuse_unserved, split_descale
from .streams import stream_handle
from .tensors import describe

MEMO_ENTRIES = 1024  # kinds of call kept; a server has a few per step, and a step's are of no use to the next

_memo: dict[tuple, Prepared] = {}
_OUT, _LSE = POINTERS.index("out"), POINTERS.index("lse")


def paged_prefill(
    q: Any,
    k_cache: Any,
    v_cache: Any,
    *,
    cu_seqlens_q: Any,
    max_seqlen_q: int,
    max_seqlen_k: int,
    q_descale: Any,
    k_descale: Any,
    v_descale: Any,
    seqlens_k: Any = None,
    block_table: Any = None,
    kv_indptr: Any = None,
    kv_page_indices: Any = None,
    kv_last_page_lens: Any = None,
    softmax_scale: float | None = None,
    out: Any = None,
    lse: Any = None,
    return_lse: bool = False,
    stream: Any = None,
    kv_layout: str | None = None,
    page_size: int | None = None,
    batch_policy: str | None = None,
    **unserved: Any,
) -> Any:
    """Causal attention of new tokens over a paged FP8 cache. docs/api.md has every shape, dtype, unit and error.

    Returns `out`, bf16 [total_q, Hq, Dv], or (out, lse) with return_lse=True. With out (and lse) given, the call
    allocates nothing, copies nothing and waits for nothing.
    """
    if unserved:
        refuse_unserved("paged_prefill", unserved)
    q_scale, q_value = split_descale("q_descale", q_descale)
    k_scale, k_value = split_descale("k_descale", k_descale)
    v_scale, v_value = split_descale("v_descale", v_descale)
    tensors = (
        q, k_cache, v_cache, out, lse, cu_seqlens_q, seqlens_k, block_table,
        kv_indptr, kv_page_indices, kv_last_page_lens, q_scale, k_scale, v_scale,
    )  # fmt: skip
    if stream is not None:
        stream = stream_handle(stream)
    if type(max_seqlen_q) is not int or type(max_seqlen_k) is not int:  # a NumPy integer, which need not be hashable
        max_seqlen_q, max_seqlen_k = bound("max_seqlen_q", max_seqlen_q), bound("max_seqlen_k", max_seqlen_k)
    keys, pointers = describe(tensors)
    key = (tuple(keys), max_seqlen_q, max_seqlen_k, kv_layout, page_size, batch_policy)
    try:
        prepared = _memo.get(key)
    except TypeError:  # something in it cannot be hashed, and the checks will say what
        prepared = None
    if prepared is None:
        limits = Limits(bound("max_seqlen_q", max_seqlen_q), bound("max_seqlen_k", max_seqlen_k))
        prepared = _remember(key, _first(tensors, limits, page_size, kv_layout, batch_policy, stream))
    scale = prepared.default_scale if softmax_scale is None else number("softmax_scale", softmax_scale)
    if out is None:
        out = allocate_out(prepared, q, stream)
        pointers[_OUT] = address_of(out)
    if lse is None and return_lse:
        lse = allocate_lse(prepared, q, stream)
        pointers[_LSE] = address_of(lse)
    if stream is None:
        stream = prepared.placement.default_stream()
    if checking.enabled():
        checking.check_metadata(prepared, tensors, pointers, stream)
    launch(
        prepared,
        (*tensors[:_OUT], out, lse, *tensors[_LSE + 1 :]),
        pointers,
        (scale, q_value, k_value, v_value),
        stream,
    )
    return (out, lse) if return_lse else out


def _first(
    tensors: tuple, limits: Limits, page_size: Any, kv_layout: Any, batch_policy: Any, stream: int | None
) -> Prepared:
    views, geometry = check_call(tensors, page_size, kv_layout)
    found = catalogue()
    entry = choose(found, geometry, limits, batch_policy)
    return prepare(found, entry, views, geometry, limits, stream)


def _remember(key: tuple, prepared: Prepared) -> Prepared:
    if len(_memo) >= MEMO_ENTRIES:
        _memo.clear()
    _memo[key] = prepared
    return prepared


def forget() -> None:
    """Drop what was prepared for earlier calls. Loaded kernels stay."""
    _memo.clear()
