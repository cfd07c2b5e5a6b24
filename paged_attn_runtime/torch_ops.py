"""The custom operators, for torch.compile: prefill, prefill_with_lse and prefill_out in torch.ops.paged_attn.

Importing this module imports torch and registers them; the package does so itself when torch was imported before it,
or at the first call with a torch tensor. `prefill` returns a new out, `prefill_with_lse` (out, lse), and
`prefill_out` writes into the caller's out and, if it is given, lse. A descale is a tensor of one float32, or None
with its value beside it. They run on torch's current stream.
"""

from __future__ import annotations

from typing import Any

import torch

from .driver import driver
from .layouts import v_head_dim_of
from .prefill import paged_prefill

_TENSORS = (
    "seqlens_k",
    "block_table",
    "kv_indptr",
    "kv_page_indices",
    "kv_last_page_lens",
    "q_descale",
    "k_descale",
    "v_descale",
)
_INPUTS = (
    "Tensor q, Tensor k_cache, Tensor v_cache, Tensor cu_seqlens_q, SymInt max_seqlen_q, SymInt max_seqlen_k, "
    + "".join(f"Tensor? {name}=None, " for name in _TENSORS)  # custom_op takes no keyword-only tensors
    + "*, float q_descale_value=1.0, float k_descale_value=1.0, float v_descale_value=1.0, float? softmax_scale=None, "
    "str? batch_policy=None"
)


def _call(inputs: tuple, options: dict[str, Any], **outputs: Any) -> Any:
    """paged_prefill with an operator's arguments."""
    q, k_cache, v_cache, cu_seqlens_q, max_seqlen_q, max_seqlen_k, *tensors = inputs
    options.update(zip(_TENSORS, tensors))
    for name in ("q_descale", "k_descale", "v_descale"):
        value = options.pop(f"{name}_value", 1.0)
        if options.get(name) is None:
            options[name] = value
    bounds = {"max_seqlen_q": int(max_seqlen_q), "max_seqlen_k": int(max_seqlen_k)}
    result = paged_prefill(q, k_cache, v_cache, cu_seqlens_q=cu_seqlens_q, **bounds, **options, **outputs)
    if q.device.type == "cpu":  # whoever reads a CPU tensor next, or frees it, waits for no stream
        driver().synchronize(0)
    return result


def _new_out(q: torch.Tensor, v_cache: torch.Tensor) -> torch.Tensor:
    return q.new_empty((q.shape[0], q.shape[1], v_head_dim_of(v_cache)), dtype=torch.bfloat16)


@torch.library.custom_op("paged_attn::prefill", mutates_args=(), schema=f"({_INPUTS}) -> Tensor")
def prefill(*inputs: Any, **options: Any) -> Any:
    return _call(inputs, options)


@prefill.register_fake
def _(q: Any, k_cache: Any, v_cache: Any, *_rest: Any, **_options: Any) -> Any:
    return _new_out(q, v_cache)


@torch.library.custom_op("paged_attn::prefill_with_lse", mutates_args=(), schema=f"({_INPUTS}) -> (Tensor, Tensor)")
def prefill_with_lse(*inputs: Any, **options: Any) -> Any:
    return _call(inputs, options, return_lse=True)


@prefill_with_lse.register_fake
def _(q: Any, k_cache: Any, v_cache: Any, *_rest: Any, **_options: Any) -> Any:
    return _new_out(q, v_cache), q.new_empty((q.shape[1], q.shape[0]), dtype=torch.float32)


@torch.library.custom_op(
    "paged_attn::prefill_out",
    mutates_args=("out", "lse"),
    schema=f"(Tensor(a!) out, Tensor(b!)? lse, {_INPUTS}) -> ()",
)
def prefill_out(out: Any, lse: Any, *inputs: Any, **options: Any) -> None:
    _call(inputs, options, out=out, lse=lse)


@prefill_out.register_fake
def _(*_arguments: Any, **_options: Any) -> None:
    return None
