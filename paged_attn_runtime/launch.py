"""What each call does once its kind is known: pointers and floats into a buffer, and one hipModuleLaunchKernel.

Allocates nothing, copies nothing, waits for nothing and reads no device memory. Every line here is paid by every
layer of every step: a HIP call through hip-python is about 0.5 us, and so are three Python function calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import driver as hip
from .errors import HipError
from .kernarg import POINTERS
from .prepare import Prepared
from .tensors import place, reachable

LOW_BITS_16 = 15  # q, k_cache, v_cache and out start at multiples of 16 bytes
LOW_BITS_4 = 3  # everything else at multiples of 4; int64 page ids at multiples of 8, of which the low word is read


def launch(
    prepared: Prepared, tensors: Sequence[Any], pointers: list[int], floats: tuple[float, ...], stream: Any
) -> None:
    """Enqueue a call. `tensors` and `pointers` in the order of POINTERS, `floats` of FLOATS; `stream` a handle or
    hip-python's object.
    """
    q, k, v, out, lse, cu, lens, table, indptr, indices, last, qd, kd, vd = pointers
    if (q | k | v | out) & LOW_BITS_16 or (
        lse | cu | lens | table | indptr | indices | last | qd | kd | vd
    ) & LOW_BITS_4:
        _refuse_alignment(pointers)
    for slot in prepared.host_slots:
        if reachable.get(id(tensors[slot])) != pointers[slot]:
            _refuse_unreachable(slot, tensors, pointers)
    grid = prepared.grid
    if grid is None:
        return
    driver = hip.driver()
    device = prepared.device
    result = driver.raw_get_device()
    if result[1] != device or result[0]:
        driver.check("hipGetDevice", result)
        with driver.device(device):
            launch(prepared, tensors, pointers, floats, stream)
        return
    kernel = prepared.kernel
    try:
        buffer = kernel.buffers.pop()
    except IndexError:
        buffer = kernel.new_buffer()
    memory = buffer.memory
    buffer.view[:] = prepared.template
    for pack_into, offset, pick in prepared.pointers:
        pack_into(memory, offset, *(pointers if pick is None else pick(pointers)))
    for pack_into, offset, pick in prepared.floats:
        pack_into(memory, offset, *(floats if pick is None else pick(floats)))
    x, y, z = grid
    block_x, block_y, block_z = prepared.block
    try:
        result = driver.raw_launch(prepared.function, x, y, z, block_x, block_y, block_z, 0, stream, None, buffer.extra)
    except ValueError as error:  # a code that the binding has no name for
        raise HipError("UnknownError", f"hipModuleLaunchKernel({kernel.entry.name}): {error}") from None
    kernel.buffers.append(buffer)
    if result[0]:
        driver.check(f"hipModuleLaunchKernel({kernel.entry.name}, grid {grid}, device {device})", result)


def _refuse_alignment(pointers: Sequence[int]) -> None:
    for name, pointer in zip(POINTERS, pointers):
        alignment = 16 if name in ("q", "k_cache", "v_cache", "out") else 4
        if pointer % alignment:
            raise ValueError(
                f"{name} starts at 0x{pointer:x}; it must be a multiple of {alignment} bytes: {name} = {name}.clone()"
            )


def _refuse_unreachable(slot: int, tensors: Sequence[Any], pointers: Sequence[int]) -> None:
    if place(tensors[slot], pointers[slot]) is None:
        name = POINTERS[slot]
        raise ValueError(f"{name} is host memory that the device cannot reach: {name} = {name}.to('cuda')")
