"""The checking mode: PAGED_ATTN_CHECK=1 reads the metadata back and validates it before every launch.

For debugging, and slow: each call waits for its stream and copies lengths and page tables to the host. It finds what
only device memory can tell, and is the first thing to try when results are garbage. Refuses as a ValueError that
names the argument, the index and the value: lengths that run backwards or past the bounds, page ids outside the cache
(token ids passed as page ids among them), a page table too short for its lengths, descales that are negative or not
finite, and pointers that HIP does not know.
"""

from __future__ import annotations

import array
import math
import os
from collections.abc import Sequence
from typing import Any

from . import driver as hip
from .errors import HipError
from .kernarg import POINTERS
from .prepare import Prepared

CHECK_VARIABLE = "PAGED_ATTN_CHECK"

_enabled = os.environ.get(CHECK_VARIABLE, "") not in ("", "0")


def enabled() -> bool:
    return _enabled


def set_checking(on: bool) -> None:
    """Turn the checking mode on or off; the variable sets it when the package is imported."""
    global _enabled
    _enabled = bool(on)


def check_metadata(prepared: Prepared, tensors: Sequence[Any], pointers: Sequence[int], stream: Any) -> None:
    """Everything that can be known of a call before it is launched. Waits for `stream`."""
    driver = hip.driver()
    if driver.is_capturing(stream):
        raise HipError(
            "CheckingInCapture",
            f"the checking mode ({CHECK_VARIABLE}=1) waits and copies, which a capture does not allow; turn it off",
        )
    address = dict(zip(POINTERS, pointers))
    with driver.device(prepared.device):
        for name, pointer in address.items():
            if pointer and driver.pointer(pointer) is None:
                raise ValueError(
                    f"{name} points to 0x{pointer:x}, which HIP does not know: freed, or of another HIP runtime"
                )
        driver.synchronize(stream)
        rows = _query_rows(prepared, address)
        lengths = _key_lengths(prepared, address)
        for name in ("q_descale", "k_descale", "v_descale"):
            if address[name]:
                value = _read(address[name], 1, "f")[0]
                if not 0 <= value < math.inf:
                    raise ValueError(f"{name} holds {value}; allowed: a finite float32, not negative")
    for b, (new, keys) in enumerate(zip(rows, lengths)):
        if keys > prepared.limits.max_seqlen_k:
            raise ValueError(
                f"sequence {b} has {keys} keys; max_seqlen_k is {prepared.limits.max_seqlen_k}, which must be an "
                f"upper bound"
            )
        if new > prepared.limits.max_seqlen_q:
            raise ValueError(
                f"sequence {b} has {new} new tokens; max_seqlen_q is {prepared.limits.max_seqlen_q}, which must be an "
                f"upper bound"
            )


def _read(address: int, count: int, code: str) -> array.array:
    values = array.array(code, bytes(count * array.array(code).itemsize))
    if count:
        hip.driver().copy(values.buffer_info()[0], address, count * values.itemsize)
    return values


def _rising(name: str, values: Sequence[int]) -> None:
    for i in range(len(values) - 1):
        if values[i + 1] < values[i]:
            raise ValueError(f"{name}[{i + 1}] is {values[i + 1]}, less than {name}[{i}], which is {values[i]}")
    if values[0] < 0:
        raise ValueError(f"{name}[0] is {values[0]}; allowed: 0 or more")


def _query_rows(prepared: Prepared, address: dict[str, int]) -> list[int]:
    starts = _read(address["cu_seqlens_q"], prepared.geometry.batch + 1, "i")
    _rising("cu_seqlens_q", starts)
    if starts[-1] > prepared.geometry.total_q:
        raise ValueError(f"cu_seqlens_q ends at {starts[-1]}; q has {prepared.geometry.total_q} rows")
    return [after - before for before, after in zip(starts, starts[1:])]


def _key_lengths(prepared: Prepared, address: dict[str, int]) -> list[int]:
    return _csr_lengths(prepared, address) if prepared.geometry.has_csr else _table_lengths(prepared, address)


def _table_lengths(prepared: Prepared, address: dict[str, int]) -> list[int]:
    g = prepared.geometry
    lengths = list(_read(address["seqlens_k"], g.batch, "i"))
    code, id_bytes = ("i", 4) if g.page_id_bytes == 4 else ("q", 8)
    for b, length in enumerate(lengths):
        if length < 0:
            raise ValueError(f"seqlens_k[{b}] is {length}; allowed: 0 or more")
        pages = -(-length // g.page_size)
        if pages > g.table_width:
            raise ValueError(
                f"seqlens_k[{b}] is {length}, {pages} pages of {g.page_size}; block_table has {g.table_width} columns"
            )
        row = address["block_table"] + b * g.strides["block_table_row_stride"] * id_bytes
        _pages_exist(f"block_table[{b}]", _read(row, pages, code), g.num_pages, g.page_size)
    return lengths


def _csr_lengths(prepared: Prepared, address: dict[str, int]) -> list[int]:
    g = prepared.geometry
    starts = _read(address["kv_indptr"], g.batch + 1, "i")
    _rising("kv_indptr", starts)
    if starts[-1] > g.table_width:
        raise ValueError(f"kv_indptr ends at {starts[-1]}; kv_page_indices has {g.table_width} elements")
    code, id_bytes = ("i", 4) if g.page_id_bytes == 4 else ("q", 8)
    last = (
        _read(address["kv_last_page_lens"], g.batch, "i") if address["kv_last_page_lens"] else [g.page_size] * g.batch
    )
    lengths = []
    for b in range(g.batch):
        pages = starts[b + 1] - starts[b]
        if pages and not 1 <= last[b] <= g.page_size:
            raise ValueError(f"kv_last_page_lens[{b}] is {last[b]}; allowed: 1 to {g.page_size}")
        ids = _read(address["kv_page_indices"] + starts[b] * id_bytes, pages, code)
        _pages_exist(f"kv_page_indices of sequence {b}", ids, g.num_pages, g.page_size)
        lengths.append((pages - 1) * g.page_size + last[b] if pages else 0)
    return lengths


def _pages_exist(label: str, ids: Sequence[int], num_pages: int, page_size: int) -> None:
    for i, page in enumerate(ids):
        if not 0 <= page < num_pages:
            token = (
                "; it looks like a token id"
                if page >= num_pages and page // page_size < num_pages and page_size > 1
                else ""
            )
            raise ValueError(f"{label}: page {i} is {page}; the cache has pages 0 to {num_pages - 1}{token}")
