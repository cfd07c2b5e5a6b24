"""What the runtime asks of torch: its current stream, and outputs that it allocates. torch is imported only if it is
loaded already."""

from __future__ import annotations

import contextlib
from typing import Any

from .tensors import torch_module


def current_stream(device: int) -> int:
    """The handle of torch's current stream on a device."""
    torch = torch_module()
    raw = getattr(
        torch._C, "_cuda_getCurrentRawStream", None
    )  # what torch's own compilers call: 0.1 us; the public way takes 2
    return raw(device) if raw is not None else torch.cuda.current_stream(device).cuda_stream


def allocate(shape: tuple[int, ...], dtype: str, value: float, like: Any, stream: Any) -> Any:
    """A tensor filled with `value` beside `like`, written on `stream`, or on torch's current stream when it is None."""
    torch = torch_module()
    with _on_stream(torch, like, stream):
        return torch.full(shape, value, dtype=getattr(torch, dtype), device=like.device)


def _on_stream(torch: Any, like: Any, stream: Any) -> Any:
    if stream is None or like.device.type != "cuda":
        return contextlib.nullcontext()
    return torch.cuda.stream(torch.cuda.ExternalStream(int(stream), device=like.device))
