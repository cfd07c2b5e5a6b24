"""The kernel arguments this runtime knows, and how they get into a launch buffer.

Names are those of docs/manifest.md; offsets and sizes come from a variant's manifest entry, never from here. A
manifest that names another argument, or lacks one of these, is refused: a value that nobody sets, or sets in vain, is
a wrong result.

A call writes two kinds of argument each time (the pointers, the float values); the rest is a template made when the
call was first seen. A buffer belongs to one launch at a time: HIP copies it before hipModuleLaunchKernel returns.
"""

from __future__ import annotations

import ctypes
import operator
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import ArtifactError
from .manifest import Kernarg, KernelArg

# The tensors of a call, in the order in which pointers are handed around here.
POINTERS = (
    "q",
    "k_cache",
    "v_cache",
    "out",
    "lse",
    "cu_seqlens_q",
    "seqlens_k",
    "block_table",
    "kv_indptr",
    "kv_page_indices",
    "kv_last_page_lens",
    "q_descale",
    "k_descale",
    "v_descale",
)
FLOATS = ("softmax_scale", "q_descale_value", "k_descale_value", "v_descale_value")
STRIDES = (
    "q_row_stride",
    "q_head_stride",
    "k_page_stride",
    "k_head_stride",
    "v_page_stride",
    "v_head_stride",
    "out_row_stride",
    "out_head_stride",
    "lse_head_stride",
    "block_table_row_stride",
)
COUNTS = ("batch", "total_q", "num_q_heads", "num_kv_heads", "max_seqlen_q", "page_id_bytes")

KINDS = {
    **dict.fromkeys(POINTERS, "pointer"),
    **dict.fromkeys(STRIDES, "i64"),
    **dict.fromkeys(FLOATS, "f32"),
    **dict.fromkeys(COUNTS, "i32"),
}
_FORMATS = {"pointer": "Q", "i64": "q", "i32": "i", "f32": "f"}
_BUFFER_POINTER, _BUFFER_SIZE, _END = 1, 2, 3  # HIP_LAUNCH_PARAM_*


class Buffer:
    """One kernarg segment with the `extra` array that hands it to hipModuleLaunchKernel."""

    __slots__ = ("_array", "_size", "extra", "memory", "view")

    def __init__(self, size: int, make_extra: Any) -> None:
        self.memory = ctypes.create_string_buffer(size)
        self.view = memoryview(self.memory).cast("B")
        self._size = ctypes.c_size_t(size)
        addresses = (_BUFFER_POINTER, ctypes.addressof(self.memory), _BUFFER_SIZE, ctypes.addressof(self._size), _END)
        self._array = (ctypes.c_void_p * 5)(*addresses)
        self.extra = make_extra(ctypes.addressof(self._array))


class KernargLayout:
    """A variant's kernarg segment, checked against the names above."""

    def __init__(self, name: str, kernarg: Kernarg) -> None:
        self.bytes = kernarg.bytes
        self._args = {arg.name: arg for arg in kernarg.args}
        _check_names(name, self._args)
        self.pointers = _runs(self._args, POINTERS)
        self.floats = _runs(self._args, FLOATS)

    def template(self, values: Mapping[str, int]) -> bytes:
        """The segment with everything but pointers and floats in place. `values` has each of STRIDES and COUNTS."""
        segment = bytearray(self.bytes)
        for name in (*STRIDES, *COUNTS):
            arg = self._args[name]
            struct.pack_into("<" + _FORMATS[arg.kind], segment, arg.offset, values[name])
        return bytes(segment)


def _check_names(name: str, args: Mapping[str, KernelArg]) -> None:
    unknown = [arg for arg in args if arg not in KINDS]
    missing = [arg for arg in KINDS if arg not in args]
    other = [
        f"{arg.name} is {arg.kind}, not {KINDS[arg.name]}"
        for arg in args.values()
        if arg.name in KINDS and arg.kind != KINDS[arg.name]
    ]
    if unknown or missing or other:
        said = (
            [f"unknown: {', '.join(unknown)}"] * bool(unknown)
            + [f"missing: {', '.join(missing)}"] * bool(missing)
            + other
        )
        raise ArtifactError(
            f"{name} takes other kernel arguments than this runtime passes ({'; '.join(said)}). Objects and runtime "
            f"must be of one "
            "version: install the package that the objects came with, or rebuild them: python build_kernels.py"
        )


def _runs(args: Mapping[str, KernelArg], names: Sequence[str]) -> list[tuple[Any, int, Any]]:
    """(pack_into, offset, pick) for each contiguous run; pick(values) puts `names`' order into the run's.

    None: it is the same.
    """
    ordered = sorted(names, key=lambda name: args[name].offset)
    runs: list[list[str]] = []
    for name in ordered:
        last = args[runs[-1][-1]] if runs else None
        if last is not None and last.offset + last.bytes == args[name].offset:
            runs[-1].append(name)
        else:
            runs.append([name])
    result = []
    for run in runs:
        packer = struct.Struct("<" + "".join(_FORMATS[args[name].kind] for name in run))
        result.append(
            (packer.pack_into, args[run[0]].offset, None if tuple(run) == tuple(names) else _picker(run, names))
        )
    return result


def _picker(run: Sequence[str], names: Sequence[str]) -> Any:
    indices = [names.index(name) for name in run]
    if len(indices) == 1:
        return lambda values, index=indices[0]: (values[index],)
    return operator.itemgetter(*indices)
