"""Outputs that the caller did not bring: out starts as 0 and lse as -inf, so rows outside cu_seqlens_q mean "no
key"."""

from __future__ import annotations

from typing import Any

from . import driver as hip
from . import torch_support
from .device_array import DeviceArray
from .errors import HipError
from .prepare import Prepared

MINUS_INFINITY_BITS = 0xFF800000


def allocate_out(prepared: Prepared, q: Any, stream: int | None) -> Any:
    """[total_q, Hq, Dv] in bf16, of the kind that q is."""
    g = prepared.geometry
    shape = (g.total_q, g.num_q_heads, g.v_head_dim)
    if prepared.placement.torch_outputs:
        return torch_support.allocate(shape, "bfloat16", 0.0, q, stream)
    return _array(prepared, shape, "<u2", 0, stream)


def allocate_lse(prepared: Prepared, q: Any, stream: int | None) -> Any:
    """[Hq, total_q] in float32."""
    g = prepared.geometry
    shape = (g.num_q_heads, g.total_q)
    if prepared.placement.torch_outputs:
        return torch_support.allocate(shape, "float32", float("-inf"), q, stream)
    return _array(prepared, shape, "<f4", MINUS_INFINITY_BITS, stream)


def address_of(output: Any) -> int:
    return output.pointer if isinstance(output, DeviceArray) else output.data_ptr()


def _array(prepared: Prepared, shape: tuple[int, ...], typestr: str, word: int, stream: int | None) -> DeviceArray:
    stream = prepared.placement.default_stream() if stream is None else stream
    if hip.driver().is_capturing(stream):
        raise HipError("ColdCapture", "outputs cannot be allocated while a stream is captured; pass out= (and lse=)")
    array = DeviceArray.empty(shape, typestr, prepared.device)
    array.fill(word, stream)
    return array
