"""What the runtime reads of a tensor, for torch tensors, DeviceArray and anything with __cuda_array_interface__.

Two views of one thing. `describe` is the hot path: per tensor a hashable key, equal only for tensors that are the
same in dtype, shape, strides and place, and its pointer. `view` is what checks read: shape, byte strides, one
spelling of dtypes, the device.
Refuses: NumPy arrays and other host objects (TypeError). A CPU torch tensor is taken when HIP says that its memory is
device-accessible. torch is never imported here: an object can only be a torch tensor when torch is loaded already.
"""

from __future__ import annotations

import contextlib
import dataclasses
import operator
import sys
import weakref
from collections.abc import Sequence
from typing import Any

from . import driver as hip
from .device_array import DeviceArray, packed_strides

ADDRESS_MAX = 2**64 - 1
HOST = -1  # the place of host memory that every device reaches


@dataclasses.dataclass(frozen=True)
class View:
    label: str
    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes
    dtype: str
    item_bytes: int
    device: int  # ordinal, or HOST
    kind: str  # torch, torch_cpu, array or interface
    stream: int | None = None  # what __cuda_array_interface__ asks a consumer to be ordered with
    read_only: bool = False

    @property
    def has_elements(self) -> bool:
        return 0 not in self.shape


class _NoTorch:
    """Stands for torch.Tensor while torch is not loaded."""


_torch_tensor: type = _NoTorch
# What HIP said of objects that live: id(object) to the pointer that is reachable, and to (object, place). An entry
# leaves with its object, before the id can belong to another.
reachable: dict[int, int] = {}
_places: dict[int, tuple[weakref.ref, int]] = {}

_INTERFACE_DTYPES = {
    "u1": "uint8",
    "u2": "uint16",
    "V2": "void16",
    "i4": "int32",
    "i8": "int64",
    "f4": "float32",
}


def torch_module() -> Any:
    """torch if this process has loaded it, else None."""
    torch = sys.modules.get("torch")
    return torch if getattr(torch, "Tensor", None) is not None else None


def register_operators() -> None:
    """Register torch.ops.paged_attn, when torch is loaded and new enough (2.4) to have custom operators."""
    if hasattr(getattr(torch_module(), "library", None), "custom_op"):
        from . import torch_ops  # noqa: F401 - importing it is what registers


def is_torch(value: Any) -> bool:
    global _torch_tensor
    if _torch_tensor is _NoTorch:
        torch = torch_module()
        if torch is None:
            return False
        _torch_tensor = torch.Tensor
        register_operators()
    return isinstance(value, _torch_tensor)


def describe(tensors: Sequence[Any]) -> tuple[list, list[int]]:
    """(keys, pointers) of a call's tensors.

    None gives None and 0; what is no tensor gets a key of its own, for `view` to refuse. In the
    key of a torch tensor True stands for packed strides: asking takes half the time of fetching them.
    """
    keys: list = []
    pointers: list[int] = []
    add_key, add_pointer, torch_tensor = keys.append, pointers.append, _torch_tensor
    for tensor in tensors:
        if tensor is None:
            add_key(None)
            add_pointer(0)
            continue
        kind = type(tensor)
        if kind is torch_tensor:
            try:
                add_key((tensor.dtype, tensor.shape, tensor.is_contiguous() or tensor.stride(), tensor.device))
                add_pointer(tensor.data_ptr())
            except RuntimeError as error:  # a sparse or otherwise unreadable tensor
                raise TypeError(f"a torch tensor cannot be read: {error}") from None
        elif kind is DeviceArray:
            add_key(tensor.key)
            add_pointer(tensor.pointer)
        else:
            key, pointer = _describe_other(tensor)
            add_key(key)
            add_pointer(pointer)
    return keys, pointers


def _describe_other(tensor: Any) -> tuple[Any, int]:
    if is_torch(tensor):  # a subclass, or the first torch tensor ever seen
        try:
            strides = tensor.is_contiguous() or tensor.stride()
            return (tensor.dtype, tensor.shape, strides, tensor.device), tensor.data_ptr()
        except RuntimeError as error:
            raise TypeError(f"a torch tensor cannot be read: {error}") from None
    if isinstance(tensor, DeviceArray):
        return tensor.key, tensor.pointer
    interface = getattr(tensor, "__cuda_array_interface__", None)
    if not _is_interface(interface):
        return (type(tensor), id(tensor)), 0
    pointer, read_only = interface["data"]
    strides = interface.get("strides")
    key = (
        interface["typestr"],
        tuple(interface["shape"]),
        strides and tuple(strides),
        interface.get("stream"),
        read_only,
    )
    return (key, place(tensor, pointer or 0)), pointer or 0


def pointer_of(tensor: Any) -> int:
    """The address alone, of something that was described before."""
    if type(tensor) is DeviceArray:
        return tensor.pointer
    if isinstance(tensor, _torch_tensor):
        return tensor.data_ptr()
    return tensor.__cuda_array_interface__["data"][0] or 0


def view(label: str, tensor: Any) -> View:
    if isinstance(tensor, DeviceArray):
        dtype = _interface_dtype(label, tensor.typestr)
        return View(
            label, tensor.pointer, tensor.shape, tensor.strides, dtype, tensor.item_bytes, tensor.device, "array"
        )
    if is_torch(tensor):
        return _torch_view(label, tensor)
    interface = _interface(label, tensor)
    shape, typestr = tuple(map(operator.index, interface["shape"])), interface["typestr"]
    item_bytes = int(typestr[2:])
    strides = tuple(map(operator.index, interface.get("strides") or packed_strides(shape, item_bytes)))
    if len(strides) != len(shape) or min(shape, default=0) < 0:
        raise ValueError(f"{label} has shape {shape} and byte strides {strides}; wanted a stride for each dimension")
    pointer = interface["data"][0] or 0
    device = _require_place(label, tensor, pointer, shape, "an array of HIP device memory")
    dtype, read_only = _interface_dtype(label, typestr), bool(interface["data"][1])
    return View(
        label,
        pointer,
        shape,
        strides,
        dtype,
        item_bytes,
        device,
        "interface",
        interface.get("stream"),
        read_only,
    )


def _torch_view(label: str, tensor: Any) -> View:
    if tensor.layout is not torch_module().strided:
        raise TypeError(f"{label} has the layout {tensor.layout}; allowed: torch.strided")
    pointer, item_bytes, where = tensor.data_ptr(), tensor.element_size(), tensor.device
    shape = tuple(tensor.shape)
    kind = "torch"
    if where.type == "cuda":
        device = where.index
    elif where.type == "cpu":
        device, kind = (
            _require_place(label, tensor, pointer, shape, f"on the GPU: {label} = {label}.to('cuda')"),
            "torch_cpu",
        )
    else:
        raise TypeError(f"{label} is on {where}; allowed: a GPU ('cuda' in torch for ROCm)")
    strides = tuple(step * item_bytes for step in tensor.stride())
    return View(label, pointer, shape, strides, str(tensor.dtype).removeprefix("torch."), item_bytes, device, kind)


def _require_place(label: str, tensor: Any, pointer: int, shape: tuple[int, ...], wanted: str) -> int:
    if 0 in shape:
        return HOST  # no byte of it is read
    found = place(tensor, pointer)
    if found is None:
        raise ValueError(
            f"{label} is host memory that the device cannot reach (HIP does not know its address 0x{pointer:x}); "
            f"wanted: {wanted}"
        )
    return found


def place(tensor: Any, pointer: int) -> int | None:
    """The device of a pointer, HOST, or None when no device reaches it. Asked of HIP once per object and pointer."""
    key = id(tensor)
    if reachable.get(key) == pointer:
        return _places[key][1]
    found = hip.driver().pointer(pointer) if 0 <= pointer <= ADDRESS_MAX else None
    if found is None:
        return None
    device, on_device = found
    if on_device != pointer:
        return None  # mapped at another address: passing ours would be wrong
    with contextlib.suppress(TypeError):  # not weakly referable: asked again at each call
        _places[key] = (weakref.ref(tensor, _forgetter(key)), device)
        reachable[key] = pointer
    return device


def _forgetter(key: int) -> Any:
    def forget(_: Any, reachable: dict = reachable, places: dict = _places) -> None:
        reachable.pop(key, None)
        places.pop(key, None)

    return forget


def _is_interface(interface: Any) -> bool:
    return isinstance(interface, dict) and {"data", "shape", "typestr"} <= interface.keys()


def _interface(label: str, tensor: Any) -> dict[str, Any]:
    interface = getattr(tensor, "__cuda_array_interface__", None)
    if _is_interface(interface):
        return interface
    raise TypeError(
        f"{label} is a {type(tensor).__module__}.{type(tensor).__qualname__}; allowed: a torch tensor, a "
        f"paged_attn_runtime.DeviceArray, or an "
        "object with __cuda_array_interface__ (a NumPy array goes to the device with DeviceArray.from_numpy)"
    )


def _interface_dtype(label: str, typestr: str) -> str:
    if typestr[0] == ">":
        raise TypeError(f"{label} is big-endian ({typestr}); allowed: little-endian")
    return _INTERFACE_DTYPES.get(typestr[1:], typestr)
