"""A small array in device memory, for programs without torch: demos, tests, allocated outputs.

Owns its memory until it is collected. Knows shapes, strides and views, and no arithmetic. A dtype is a typestr as in
NumPy's array interface ("|u1", "<u2", "<i4", "<f4"); bf16 is "<u2". Copies are synchronous. NumPy is imported by
from_numpy and to_numpy alone.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Sequence
from typing import Any

from . import driver as hip


class _Memory:
    """One allocation, freed once with its last view."""

    __slots__ = ("device", "pointer")

    def __init__(self, size: int, device: int) -> None:
        self.pointer = 0
        self.device = device
        driver = hip.driver()
        with driver.device(device):
            self.pointer = driver.allocate(max(size, 1))

    def __del__(self) -> None:
        # At exit, and in a forked child, the memory is not ours to free any more.
        if self.pointer and not sys.is_finalizing() and hip.is_open():
            with contextlib.suppress(Exception):  # a destructor has nobody to tell
                hip.driver().free(self.pointer)
            self.pointer = 0


class DeviceArray:
    """An n-dimensional array on a device. `strides` are in bytes."""

    __slots__ = ("__weakref__", "_memory", "device", "item_bytes", "key", "pointer", "shape", "strides", "typestr")

    def __init__(
        self, memory: _Memory, pointer: int, shape: Sequence[int], strides: Sequence[int], typestr: str
    ) -> None:
        self._memory = memory
        self.pointer = pointer
        self.shape = tuple(shape)
        self.strides = tuple(strides)
        self.typestr = typestr
        self.item_bytes = int(typestr[2:])
        self.device = memory.device
        self.key = (typestr, self.shape, self.strides, self.device)

    @classmethod
    def empty(cls, shape: Sequence[int] | int, typestr: str, device: int | None = None) -> DeviceArray:
        """Memory that nobody has written yet, on `device` or the current one."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        item_bytes = int(typestr[2:])
        memory = _Memory(math.prod(shape) * item_bytes, hip.driver().current_device() if device is None else device)
        return cls(memory, memory.pointer, shape, packed_strides(shape, item_bytes), typestr)

    @classmethod
    def zeros(cls, shape: Sequence[int] | int, typestr: str, device: int | None = None) -> DeviceArray:
        array = cls.empty(shape, typestr, device)
        array.fill(0)
        hip.driver().synchronize(hip.driver().null_stream)
        return array

    @classmethod
    def from_bytes(
        cls, data: bytes | bytearray, shape: Sequence[int] | int, typestr: str, device: int | None = None
    ) -> DeviceArray:
        """A copy of raw bytes, C-contiguous."""
        result = cls.empty(shape, typestr, device)
        size = result.size * result.item_bytes
        if len(data) != size:
            raise ValueError(f"{len(data)} bytes for {result.shape} of {typestr}; wanted {size}")
        if size:
            hip.driver().copy(result.pointer, data, size)
        return result

    @classmethod
    def from_numpy(cls, array: Any, device: int | None = None) -> DeviceArray:
        """A copy of a NumPy array, C-contiguous."""
        import numpy

        source = numpy.ascontiguousarray(array).reshape(numpy.shape(array))
        result = cls.empty(source.shape, source.dtype.str, device)
        if source.nbytes:
            hip.driver().copy(result.pointer, source.ctypes.data, source.nbytes)
        return result

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_contiguous(self) -> bool:
        return self.strides == packed_strides(self.shape, self.item_bytes) or self.size == 0

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "strides": None if self.is_contiguous else self.strides,
            "typestr": self.typestr,
            "data": (self.pointer, False),
            "version": 3,
        }

    def to_bytes(self) -> bytes:
        """The raw bytes of a contiguous array, after everything enqueued on the null stream."""
        if not self.is_contiguous:
            raise ValueError(f"{self!r} is not contiguous")
        host = bytearray(self.size * self.item_bytes)
        if host:
            hip.driver().copy(host, self.pointer, len(host))
        return bytes(host)

    def to_numpy(self) -> Any:
        """A copy on the host, after everything enqueued on the null stream. Synchronise other streams first."""
        import numpy

        if self.size == 0:
            return numpy.zeros(self.shape, self.typestr)
        low, span = self._extent()
        host = numpy.empty(span, "|u1")
        hip.driver().copy(host.ctypes.data, low, span)
        start = self.pointer - low
        return numpy.ndarray(self.shape, self.typestr, host, start, self.strides).copy()

    def copy_from_numpy(self, array: Any) -> None:
        """Overwrite a contiguous array, on the null stream, finished at return."""
        import numpy

        source = numpy.ascontiguousarray(array)
        if source.dtype.str[1:] != self.typestr[1:] or source.size != self.size or not self.is_contiguous:
            raise ValueError(
                f"cannot copy {source.dtype.str}{source.shape} into {self.typestr}{self.shape}; allowed: the same "
                f"dtype and size, into a contiguous array"
            )
        if source.nbytes:
            hip.driver().copy(self.pointer, source.ctypes.data, source.nbytes)

    def fill(self, word: int, stream: Any = None) -> None:
        """Set every 32-bit word of a contiguous array, enqueued on a stream (the null stream by default)."""
        size = self.size * self.item_bytes
        driver = hip.driver()
        stream = driver.null_stream if stream is None else stream
        with driver.device(self.device):
            if size // 4:
                driver.fill32(self.pointer, word, size // 4, stream)
            if size % 4:
                driver.fill8(self.pointer + size // 4 * 4, word & 0xFF, size % 4, stream)

    def view(
        self, shape: Sequence[int], strides: Sequence[int], offset: int = 0, typestr: str | None = None
    ) -> DeviceArray:
        """Another array over the same memory; `offset` and `strides` in bytes. Not checked against the allocation."""
        return DeviceArray(self._memory, self.pointer + offset, shape, strides, typestr or self.typestr)

    def __repr__(self) -> str:
        return (
            f"DeviceArray(shape={self.shape}, typestr={self.typestr!r}, device={self.device}, "
            f"pointer=0x{self.pointer:x})"
        )

    def _extent(self) -> tuple[int, int]:
        """(lowest address, bytes) that the elements span."""
        reach = [(size - 1) * step for size, step in zip(self.shape, self.strides)]
        low = self.pointer + sum(step for step in reach if step < 0)
        return low, sum(abs(step) for step in reach) + self.item_bytes


def packed_strides(shape: Sequence[int], item_bytes: int) -> tuple[int, ...]:
    strides, step = [], item_bytes
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
