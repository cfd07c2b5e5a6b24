"""`PagedPrefillPlan`: a variant, head counts, layout and bounds fixed once; then a run per layer per step.

The kernel is loaded when the plan is made, so that every run is legal inside a stream capture. A run checks what it
is given against the plan; a kind of call that the plan has seen is looked up instead of checked again. A plan may be
used from several threads at once.
"""

from __future__ import annotations

from typing import Any

from . import checking
from . import driver as hip
from .catalogue import catalogue
from .checks import PAGE_ID_BYTES, Geometry, bound
from .device_array import DeviceArray
from .kernarg import POINTERS
from .launch import launch
from .modules import check_device, loaded_kernel
from .outputs import address_of, allocate_lse, allocate_out
from .prepare import Limits, Prepared, check_call, choose, prepare, refuse_single
from .scalars import number, split_descale
from .streams import stream_handle
from .tensors import HOST, View, describe, pointer_of
from .variant import PAGE_LAYOUT

MEMO_ENTRIES = 256  # kinds of call kept by one plan

_OUT, _LSE, _CU, _INDPTR = (POINTERS.index(name) for name in ("out", "lse", "cu_seqlens_q", "kv_indptr"))


class PagedPrefillPlan:
    """Fixes the variant, head counts, layout and bounds of a series of calls. docs/api.md has every unit and error.

    max_batch, max_total_q, max_seqlen_q and max_seqlen_k are upper bounds; the batch policy is chosen from them by the
    manifest's rules unless `batch_policy` names one. `device` is the current device if it is None.
    """

    def __init__(
        self,
        *,
        head_dim: int,
        v_head_dim: int,
        num_q_heads: int,
        num_kv_heads: int,
        page_size: int,
        max_batch: int,
        max_total_q: int,
        max_seqlen_q: int,
        max_seqlen_k: int,
        kv_layout: str | None = None,
        page_id_dtype: str = "int32",
        softmax_scale: float | None = None,
        batch_policy: str | None = None,
        device: int | None = None,
    ) -> None:
        if page_id_dtype not in PAGE_ID_BYTES:
            raise ValueError(f"page_id_dtype is {page_id_dtype!r}; allowed: {', '.join(PAGE_ID_BYTES)}")
        num_q_heads, num_kv_heads = _positive("num_q_heads", num_q_heads), _positive("num_kv_heads", num_kv_heads)
        if num_q_heads % num_kv_heads:
            raise ValueError(
                f"num_q_heads is {num_q_heads} and num_kv_heads {num_kv_heads}; allowed: a multiple of num_kv_heads"
            )
        self.page_id_dtype = page_id_dtype
        self.limits = Limits(bound("max_seqlen_q", max_seqlen_q), bound("max_seqlen_k", max_seqlen_k))
        self._catalogue = catalogue()
        self._sizes = Geometry(  # of the largest call
            head_dim=head_dim,
            v_head_dim=v_head_dim,
            page_size=page_size,
            kv_layout=PAGE_LAYOUT.get(page_size, "linear") if kv_layout is None else kv_layout,
            num_q_heads=num_q_heads,
            num_kv_heads=num_kv_heads,
            num_pages=0,
            total_q=_positive("max_total_q", max_total_q),
            batch=_positive("max_batch", max_batch),
            page_id_bytes=PAGE_ID_BYTES[page_id_dtype],
            has_csr=False,
            table_width=0,
            strides={},
            device=HOST,
        )
        self._entry = choose(self._catalogue, self._sizes, self.limits, batch_policy)
        self.softmax_scale = head_dim**-0.5 if softmax_scale is None else number("softmax_scale", softmax_scale)
        driver = hip.driver()
        self.device = driver.current_device() if device is None else device
        check_device(driver, self.device)
        loaded_kernel(self._catalogue, self._entry, self.device, 0)
        self._memo: dict[tuple, Prepared] = {}
        self._by_counts: dict[tuple, Prepared] = {}
        self._last: tuple[list | None, Prepared | None] = (None, None)

    @property
    def variant(self) -> str:
        """The name of the variant that this plan launches."""
        return self._entry.name

    def __repr__(self) -> str:
        sizes = self._sizes
        return (
            f"PagedPrefillPlan({self.variant}, Hq={sizes.num_q_heads}, Hkv={sizes.num_kv_heads}, device={self.device})"
        )

    def run(
        self,
        q: Any,
        k_cache: Any,
        v_cache: Any,
        *,
        cu_seqlens_q: Any,
        q_descale: Any,
        k_descale: Any,
        v_descale: Any,
        seqlens_k: Any = None,
        block_table: Any = None,
        kv_indptr: Any = None,
        kv_page_indices: Any = None,
        kv_last_page_lens: Any = None,
        out: Any = None,
        lse: Any = None,
        return_lse: bool = False,
        stream: Any = None,
        check: bool = True,
    ) -> Any:
        """Launch one call; tensors as for paged_prefill. Returns `out`, or (out, lse) with return_lse=True.

        check=False promises that calls with the same total_q and batch come with the same dtypes, strides, devices and
        kind of page table: the first of them is checked, and of later ones only the pointers are read.
        """
        q_scale, q_value = split_descale("q_descale", q_descale)
        k_scale, k_value = split_descale("k_descale", k_descale)
        v_scale, v_value = split_descale("v_descale", v_descale)
        tensors = (
            q, k_cache, v_cache, out, lse, cu_seqlens_q, seqlens_k, block_table,
            kv_indptr, kv_page_indices, kv_last_page_lens, q_scale, k_scale, v_scale,
        )  # fmt: skip
        if stream is not None:
            stream = stream_handle(stream)
        checking_metadata = checking.enabled()
        checked = check or out is None or checking_metadata
        prepared = None if checked else self._by_counts.get(_counts(tensors))
        if prepared is not None:
            pointers = [0 if t is None else t.pointer if type(t) is DeviceArray else pointer_of(t) for t in tensors]
        else:
            keys, pointers = describe(tensors)
            last_keys, prepared = self._last  # comparing with the call before costs half of what hashing does
            if keys != last_keys:
                prepared = self._memo.get(tuple(keys))
                if prepared is None:
                    prepared = self._first(tuple(keys), tensors, stream)
                self._last = keys, prepared
            if out is None:
                out = allocate_out(prepared, q, stream)
                pointers[_OUT] = address_of(out)
            if lse is None and return_lse:
                lse = allocate_lse(prepared, q, stream)
                pointers[_LSE] = address_of(lse)
            if checking_metadata:
                checking.check_metadata(
                    prepared, tensors, pointers, prepared.placement.default_stream() if stream is None else stream
                )
        if stream is None:
            stream = prepared.placement.default_stream()
        launch(prepared, tensors, pointers, (self.softmax_scale, q_value, k_value, v_value), stream)
        return (out, lse) if return_lse else out

    def _first(self, key: tuple, tensors: tuple, stream: int | None) -> Prepared:
        """Check a kind of call that this plan has not seen."""
        views, geometry = check_call(tensors, self._sizes.page_size, self._sizes.kv_layout)
        self._refuse_other(geometry, views)
        prepared = prepare(self._catalogue, self._entry, views, geometry, self.limits, stream)
        if prepared.device != self.device:
            raise ValueError(f"the tensors are on device {prepared.device}; the plan is for device {self.device}")
        if len(self._memo) >= MEMO_ENTRIES:
            self._memo.clear()
            self._by_counts.clear()
        self._memo[key] = prepared
        self._by_counts[_counts(tensors)] = prepared
        return prepared

    def _refuse_other(self, found: Geometry, views: dict[str, View]) -> None:
        planned = self._sizes
        for name in ("head_dim", "v_head_dim", "num_q_heads", "num_kv_heads"):
            if getattr(found, name) != getattr(planned, name):
                raise ValueError(
                    f"the tensors have {name} {getattr(found, name)}; the plan has {getattr(planned, name)}"
                )
        for name, value in (("total_q", found.total_q), ("batch", found.batch)):
            if value > getattr(planned, name):
                raise ValueError(f"{name} is {value}; the plan's max_{name} is {getattr(planned, name)}")
        if found.page_id_bytes != planned.page_id_bytes:
            table = "kv_page_indices" if found.has_csr else "block_table"
            raise TypeError(f"{table} is {views[table].dtype}; the plan has page_id_dtype={self.page_id_dtype!r}")
        refuse_single(self._entry, found.batch)


def _counts(tensors: tuple) -> tuple:
    """What tells the kinds of call apart for a caller who promises the rest."""
    return tensors[0].shape[0], tensors[_CU].shape[0], tensors[_LSE] is None, tensors[_INDPTR] is None


def _positive(label: str, value: Any) -> int:
    value = bound(label, value)
    if value == 0:
        raise ValueError(f"{label} is 0; allowed: 1 or more")
    return value
