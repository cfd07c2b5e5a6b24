"""Stands for torch on a GPU, which is not at hand: what the runtime asks of torch, over DeviceArray.

Only torch.Tensor with a "cuda" device, its current stream and torch.full. The tests' programs put it into sys.modules.
"""

import contextlib
import sys
import types

import numpy as np

import paged_attn_runtime as par

CALLS = []
_NUMPY = {"uint8": "|u1", "float8_e4m3fn": "|u1", "bfloat16": "<u2", "float32": "<f4", "int32": "<i4", "int64": "<i8"}


class Dtype:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"


class Device:
    type = "cuda"

    def __init__(self, index):
        self.index = index

    def __eq__(self, other):
        return self.index == other.index

    def __hash__(self):
        return hash(self.index)


class Tensor:
    layout = "strided"

    def __init__(self, array, dtype):
        self.array, self.dtype = array, dtype
        self.shape, self.device = array.shape, Device(array.device)

    def stride(self):
        return tuple(step // self.array.item_bytes for step in self.array.strides)

    def is_contiguous(self):
        return self.array.is_contiguous

    def data_ptr(self):
        return self.array.pointer

    def element_size(self):
        return self.array.item_bytes


def install(current_stream, raw=True):
    """Make the stand-in `torch`; `current_stream` is a function of the device, `raw`: the private quick way exists."""
    torch = types.ModuleType("torch")
    for name in _NUMPY:
        setattr(torch, name, Dtype(name))
    torch.Tensor, torch.strided = Tensor, "strided"
    torch._C = types.SimpleNamespace(**({"_cuda_getCurrentRawStream": current_stream} if raw else {}))
    stream = lambda device: types.SimpleNamespace(cuda_stream=current_stream(device))  # noqa: E731
    torch.cuda = types.SimpleNamespace(
        current_stream=stream, stream=_stream, ExternalStream=lambda handle, device: handle
    )
    torch.full = _full
    sys.modules["torch"] = torch
    return torch


_current = [None]


@contextlib.contextmanager
def _stream(handle):
    CALLS.append(("stream", handle))
    before, _current[0] = _current[0], handle
    yield
    _current[0] = before


def _full(shape, value, dtype, device):
    CALLS.append(("full", tuple(shape), value, dtype.name))
    word = {0.0: 0, float("-inf"): 0xFF800000}[value]
    array = par.DeviceArray.empty(shape, _NUMPY[dtype.name], device.index)
    array.fill(word, _current[0])
    return Tensor(array, dtype)


def tensor(torch, array, dtype=None):
    """A stand-in tensor over a DeviceArray."""
    names = {"|u1": "uint8", "<u2": "bfloat16", "<f4": "float32", "<i4": "int32", "<i8": "int64"}
    return Tensor(array, getattr(torch, dtype or names[np.dtype(array.typestr).str]))
