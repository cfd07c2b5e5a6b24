"""Argument checks of a call: every shape, dtype, stride and device, before anything is launched.

Takes views of the tensors and gives a `Geometry`, in which all that a launch needs is a number. Reads no device
memory: what only device memory can tell (lengths, page ids) is for checking.py.
TypeError: a wrong kind of object or dtype. ValueError: a wrong shape, stride, alignment, device or combination. Each
names the argument, its value and what is allowed; where a conversion would help, the message ends in the line that
does it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from .tensors import HOST, View, packed_strides
from .variant import KV_LAYOUTS, PAGE_LAYOUT

ALIGNMENT = 16  # bytes: the kernels move q, k, v and out in pieces of 16
VECTOR = 16  # elements in the innermost dimension of vectorized_5d
INT32_MAX = 2**31 - 1
LINEAR_PAGE_STRIDE_MAX = 2**32 - 16  # those kernels multiply 32-bit ids by 32-bit strides
FP8 = ("float8_e4m3fn", "uint8")
BF16 = ("bfloat16", "uint16", "void16")
PAGE_ID_BYTES = {"int32": 4, "int64": 8}


@dataclasses.dataclass(frozen=True)
class Geometry:
    """A call whose tensors fit together. Strides as in the kernel arguments."""

    head_dim: int
    v_head_dim: int
    page_size: int
    kv_layout: str
    num_q_heads: int
    num_kv_heads: int
    num_pages: int
    total_q: int
    batch: int
    page_id_bytes: int
    has_csr: bool
    table_width: int  # columns of the block table, or elements of kv_page_indices
    strides: Mapping[str, int]
    device: int  # HOST: all of it is host memory, any device will do


Views = Mapping[str, View]  # the tensors that were given, by argument name


def check_tensors(views: Views, page_size: int | None, kv_layout: str | None) -> Geometry:
    """The geometry of a call. `page_size` and `kv_layout` are what the caller states, or None."""
    q = views["q"]
    _dtype(q, FP8)
    _shape(q, "[total_q, Hq, D]", 3)
    total_q, num_q_heads, head_dim = q.shape
    layout, found_page, num_pages, num_kv_heads, v_head_dim, strides = _caches(views, head_dim, kv_layout)
    if page_size is not None and page_size != found_page:
        raise ValueError(f"page_size is {page_size!r}, but k_cache has pages of {found_page}")
    if num_kv_heads == 0 or num_q_heads == 0 or num_q_heads % num_kv_heads:
        raise ValueError(
            f"q has {num_q_heads} heads and k_cache {num_kv_heads}; allowed: Hq a multiple of Hkv, neither 0"
        )
    _at_most(total_q, INT32_MAX, "rows of q")
    strides |= _rows(q, "q", head_dim)
    strides |= _outputs(views, total_q, num_q_heads, v_head_dim)
    batch, page_id_bytes, row_stride = _metadata(views)
    strides["block_table_row_stride"] = row_stride
    _descales(views)
    _aligned_pointers(views)
    return Geometry(
        head_dim=head_dim,
        v_head_dim=v_head_dim,
        page_size=found_page,
        kv_layout=layout,
        num_q_heads=num_q_heads,
        num_kv_heads=num_kv_heads,
        num_pages=num_pages,
        total_q=total_q,
        batch=batch,
        page_id_bytes=page_id_bytes,
        has_csr="kv_indptr" in views,
        table_width=views["kv_page_indices"].shape[0] if "kv_indptr" in views else views["block_table"].shape[1],
        strides=strides,
        device=_one_device(views),
    )


# -- caches -----------------------------------------------------------------------------------------------------------


def _caches(views: Views, head_dim: int, kv_layout: str | None) -> tuple[str, int, int, int, int, dict[str, int]]:
    """(layout, page size, pages, KV heads, Dv, strides)"""
    k, v = views["k_cache"], views["v_cache"]
    _dtype(k, FP8)
    _dtype(v, FP8)
    if kv_layout is not None and kv_layout not in KV_LAYOUTS:
        raise ValueError(f"kv_layout is {kv_layout!r}; allowed: {', '.join(KV_LAYOUTS)}")
    layout = "vectorized_5d" if len(k.shape) == 5 else "linear"
    if kv_layout is not None and kv_layout != layout:
        raise ValueError(
            f"kv_layout is {kv_layout!r}, but k_cache has {len(k.shape)} dimensions {k.shape}, as {layout} has"
        )
    found = (_vectorized if layout == "vectorized_5d" else _linear)(k, v)
    page_size, k_dim, v_dim, k_pages, v_pages, k_heads, v_heads, strides = found
    if k_dim != head_dim:
        raise ValueError(f"q has head dim {head_dim} and k_cache {k_dim}; they must be equal")
    if k_pages != v_pages or k_heads != v_heads:
        raise ValueError(
            f"k_cache has {k_pages} pages of {k_heads} heads and v_cache {v_pages} of {v_heads}; they must be equal"
        )
    if PAGE_LAYOUT.get(page_size) != layout:
        allowed = ", ".join(f"{size} ({name})" for size, name in PAGE_LAYOUT.items())
        raise ValueError(f"k_cache has pages of {page_size} tokens in the layout {layout}; allowed: {allowed}")
    return layout, page_size, k_pages, k_heads, v_dim, strides


def _vectorized(k: View, v: View) -> tuple:
    _shape(k, "[num_pages, Hkv, D/16, page, 16]", 5)
    _shape(v, "[num_pages, Hkv, page/16, Dv, 16]", 5)
    for view in (k, v):
        if view.shape[4] != VECTOR:
            raise ValueError(f"{view.label} has shape {view.shape}; the last dimension must be {VECTOR}")
    page_size = k.shape[3]
    if v.shape[2] * VECTOR != page_size:
        raise ValueError(
            f"k_cache has pages of {page_size} tokens and v_cache of {v.shape[2] * VECTOR}; they must be equal"
        )
    _inner(k, 3)
    _inner(v, 3)
    strides = _two_strides(k, "k_page_stride", 0, "k_head_stride", 1) | _two_strides(
        v, "v_page_stride", 0, "v_head_stride", 1
    )
    return page_size, k.shape[2] * VECTOR, v.shape[3], k.shape[0], v.shape[0], k.shape[1], v.shape[1], strides


def _linear(k: View, v: View) -> tuple:
    heads = {}
    for view, letter in ((k, "D"), (v, "Dv")):
        if len(view.shape) not in (3, 4):
            raise ValueError(
                f"{view.label} has shape {view.shape}; allowed: [num_pages, Hkv, {letter}] or [num_pages, 1, Hkv, "
                f"{letter}] (linear), "
                "or the 5 dimensions of vectorized_5d"
            )
        heads[view.label] = len(view.shape) - 2
        if len(view.shape) == 4 and view.shape[1] != 1:
            raise ValueError(
                f"{view.label} has shape {view.shape}; linear caches have pages of 1 token: [num_pages, 1, Hkv, "
                f"{letter}]"
            )
        _inner(view, 1)
    strides = _two_strides(k, "k_page_stride", 0, "k_head_stride", heads["k_cache"])
    strides |= _two_strides(v, "v_page_stride", 0, "v_head_stride", heads["v_cache"])
    for name in ("k_page_stride", "v_page_stride"):
        _at_most(strides[name], LINEAR_PAGE_STRIDE_MAX, f"bytes between the pages of a linear cache ({name})")
    return 1, k.shape[-1], v.shape[-1], k.shape[0], v.shape[0], k.shape[-2], v.shape[-2], strides


# -- rows -------------------------------------------------------------------------------------------------------------


def _rows(view: View, prefix: str, dim: int) -> dict[str, int]:
    """Strides of a [rows, heads, dim] tensor whose innermost dimension is packed."""
    if view.shape[2] != dim:
        raise ValueError(f"{view.label} has shape {view.shape}; the last dimension must be {dim}")
    _inner(view, 1)
    return _two_strides(view, f"{prefix}_row_stride", 0, f"{prefix}_head_stride", 1)


def _outputs(views: Views, total_q: int, num_q_heads: int, v_head_dim: int) -> dict[str, int]:
    strides = {
        "out_row_stride": num_q_heads * v_head_dim * 2,
        "out_head_stride": v_head_dim * 2,
        "lse_head_stride": total_q,
    }
    out, lse = views.get("out"), views.get("lse")
    if out is not None:
        _dtype(out, BF16)
        _exact(out, "[total_q, Hq, Dv]", (total_q, num_q_heads, v_head_dim))
        _writable(out)
        strides |= _rows(out, "out", v_head_dim)
        _disjoint(out, v_head_dim * 2)
    if lse is not None:
        _dtype(lse, ("float32",))
        _exact(lse, "[Hq, total_q]", (num_q_heads, total_q))
        _writable(lse)
        _inner(lse, 1)
        _disjoint(lse, total_q * 4)
        strides["lse_head_stride"] = _stride_in_elements(lse)
    return strides


def _writable(view: View) -> None:
    if view.read_only:
        raise ValueError(f"{view.label} is read-only; allowed: memory that can be written")


def _disjoint(view: View, inner_bytes: int) -> None:
    """No two rows of an output share a byte (an expanded tensor would)."""
    reach = inner_bytes
    for stride, size in sorted((_stride(view, axis), view.shape[axis]) for axis in range(len(view.shape) - 1)):
        if size > 1 and stride < reach and view.has_elements:
            raise ValueError(
                f"{view.label} has overlapping rows (shape {view.shape}, byte strides {view.strides}); allowed: each "
                f"row in memory of its own"
            )
        reach = stride * max(size - 1, 0) + reach


# -- lengths and pages ------------------------------------------------------------------------------------------------


def _metadata(views: Views) -> tuple[int, int, int]:
    """(batch, bytes of a page id, row stride of the block table in ids)"""
    cu_seqlens_q = views["cu_seqlens_q"]
    _vector(cu_seqlens_q, "[B+1]")
    batch = cu_seqlens_q.shape[0] - 1
    if batch < 0:
        raise ValueError("cu_seqlens_q has no element; wanted [B+1], a 0 first")
    _at_most(batch, INT32_MAX, "sequences")
    csr = [name for name in ("kv_indptr", "kv_page_indices", "kv_last_page_lens") if name in views]
    if "block_table" in views and csr:
        raise ValueError(
            f"block_table and {csr[0]} are both given; allowed: a block table with seqlens_k, or the CSR tensors"
        )
    if "block_table" in views:
        return batch, *_block_table(views, batch)
    if "kv_indptr" in csr and "kv_page_indices" in csr:
        return batch, _csr(views, batch), 0
    given = ", ".join(csr) or "neither"
    raise ValueError(
        f"page table: {given} given; wanted: block_table with seqlens_k, or kv_indptr with kv_page_indices"
    )


def _block_table(views: Views, batch: int) -> tuple[int, int]:
    table = views["block_table"]
    if "seqlens_k" not in views:
        raise ValueError(
            "block_table is given without seqlens_k; wanted: seqlens_k, int32 [B], keys per sequence with the prefix"
        )
    _vector(views["seqlens_k"], "[B]", batch)
    _dtype(table, tuple(PAGE_ID_BYTES))
    _shape(table, "[B, max_pages]", 2)
    if table.shape[0] != batch:
        raise ValueError(f"block_table has shape {table.shape}; cu_seqlens_q says {batch} sequences")
    _inner(table, 1)
    return PAGE_ID_BYTES[table.dtype], _stride_in_elements(table)


def _csr(views: Views, batch: int) -> int:
    if "seqlens_k" in views:
        raise ValueError(
            "seqlens_k is given with CSR page tables; there the lengths come from kv_indptr and kv_last_page_lens: "
            "leave it out"
        )
    _vector(views["kv_indptr"], "[B+1]", batch + 1)
    indices = views["kv_page_indices"]
    _vector(indices, "[sum of pages]", dtypes=tuple(PAGE_ID_BYTES))
    if "kv_last_page_lens" in views:
        _vector(views["kv_last_page_lens"], "[B]", batch)
    elif len(views["k_cache"].shape) == 5:
        raise ValueError("kv_last_page_lens is missing; it may be left out with pages of 1 token only")
    return PAGE_ID_BYTES[indices.dtype]


def _descales(views: Views) -> None:
    for name in ("q_descale", "k_descale", "v_descale"):
        view = views.get(name)
        if view is None:
            continue
        _dtype(view, ("float32",))
        if view.shape not in ((), (1,)):
            raise ValueError(f"{name} has shape {view.shape}; allowed: one value, () or (1,), or a Python float")


# -- what every tensor is asked ---------------------------------------------------------------------------------------


def _dtype(view: View, allowed: Sequence[str]) -> None:
    if view.dtype in allowed:
        return
    hint = ""
    if view.dtype in ("float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"):
        hint = "; it is another encoding: quantise to float8_e4m3fn"
    elif view.dtype in ("int64", "int32", "float64", "float16", "float32") and allowed[0] in (
        "int32",
        "float32",
        "bfloat16",
    ):
        to = f".to(torch.{allowed[0]})" if view.kind.startswith("torch") else f".astype({allowed[0]!r})"
        hint = f": {view.label} = {view.label}{to}"
    raise TypeError(f"{view.label} is {view.dtype}; allowed: {', '.join(allowed)}{hint}")


def _shape(view: View, wanted: str, dimensions: int) -> None:
    if len(view.shape) != dimensions:
        raise ValueError(f"{view.label} has shape {view.shape}; wanted {wanted}, {dimensions} dimensions")


def _exact(view: View, wanted: str, shape: tuple[int, ...]) -> None:
    if view.shape != shape:
        raise ValueError(f"{view.label} has shape {view.shape}; wanted {wanted}, here {shape}")


def _vector(view: View, wanted: str, length: int | None = None, dtypes: Sequence[str] = ("int32",)) -> None:
    _dtype(view, dtypes)
    _shape(view, wanted, 1)
    if length is not None and view.shape[0] != length:
        raise ValueError(f"{view.label} has {view.shape[0]} elements; wanted {wanted}, here {length}")
    _inner(view, 1)


def _inner(view: View, dimensions: int) -> None:
    """The last `dimensions` are packed. A dimension of one element may have any stride."""
    packed = packed_strides(view.shape[-dimensions:], view.item_bytes)
    for size, stride, wanted in zip(view.shape[-dimensions:], view.strides[-dimensions:], packed):
        if size > 1 and stride != wanted and view.has_elements:
            raise ValueError(
                f"{view.label} has byte strides {view.strides} with shape {view.shape}; the last {dimensions} must be "
                f"packed, {packed}: "
                f"{view.label} = {view.label}.contiguous()"
            )


def _stride(view: View, axis: int) -> int:
    """The byte stride of an axis; the packed one where the axis has one element and any stride will do."""
    return view.strides[axis] if view.shape[axis] > 1 else packed_strides(view.shape, view.item_bytes)[axis]


def _stride_in_elements(view: View) -> int:
    """The stride of the rows of a matrix whose rows are packed."""
    stride = _stride(view, 0)
    if (stride % view.item_bytes or stride < 0) and view.has_elements:
        raise ValueError(
            f"{view.label} has byte strides {view.strides}; the first must be a multiple of {view.item_bytes} and not "
            f"negative: {view.label} = {view.label}.contiguous()"
        )
    return stride // view.item_bytes


def _two_strides(view: View, first: str, first_axis: int, second: str, second_axis: int) -> dict[str, int]:
    strides = {first: _stride(view, first_axis), second: _stride(view, second_axis)}
    for name, stride in strides.items():
        if (stride % ALIGNMENT or stride < 0) and view.has_elements:
            raise ValueError(
                f"{view.label} has byte strides {view.strides}; {name} must be a multiple of {ALIGNMENT} and not "
                f"negative: "
                f"{view.label} = {view.label}.contiguous()"
            )
    return strides


def _aligned_pointers(views: Views) -> None:
    for name, view in views.items():
        alignment = ALIGNMENT if name in ("q", "k_cache", "v_cache", "out") else view.item_bytes
        if view.pointer % alignment:
            raise ValueError(
                f"{name} starts at 0x{view.pointer:x}; it must be a multiple of {alignment} bytes: {name} = "
                f"{name}.clone()"
            )


def _one_device(views: Views) -> int:
    found = {view.device: view for view in reversed(list(views.values())) if view.device != HOST}
    if len(found) > 1:
        said = ", ".join(f"{view.label} on device {device}" for device, view in sorted(found.items()))
        raise ValueError(f"tensors on different devices: {said}; allowed: all on one")
    return next(iter(found), HOST)


def _at_most(value: int, limit: int, what: str) -> None:
    if value > limit:
        raise ValueError(f"{value} {what}; allowed: at most {limit}")


# -- scalars ----------------------------------------------------------------------------------------------------------


def bound(label: str, value: object) -> int:
    """A caller's upper bound: an int that int32 holds."""
    if type(value) is not int:
        index = getattr(type(value), "__index__", None)
        if index is None or isinstance(value, bool) or hasattr(value, "data_ptr"):
            raise TypeError(
                f"{label} is {value!r}; wanted an int known on the host (a tensor would have to be read back)"
            )
        value = index(value)
    if not 0 <= value <= INT32_MAX:
        raise ValueError(f"{label} is {value}; allowed: 0 to {INT32_MAX}")
    return value
