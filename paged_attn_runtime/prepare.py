"""What is computed once per kind of call: the checks, the variant, the grid and a template of the kernel arguments.

A kind of call is the dtypes, shapes, strides and devices of its tensors with the caller's bounds; see launch.py for
what each call does.
Refuses: whatever checks.py refuses, a grid that HIP cannot express, and tensors that ask for different streams.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence
from typing import Any

from . import driver as hip
from .catalogue import Catalogue
from .checks import Geometry, check_tensors
from .kernarg import POINTERS
from .manifest import VariantEntry
from .modules import LoadedKernel, loaded_kernel
from .tensors import HOST, View, view
from .torch_support import current_stream
from .variant import Variant

MAX_GRID_THREADS = 2**32 - 1  # along each axis, workgroups times threads
MAX_GRID_YZ = 65535
REQUIRED = ("q", "k_cache", "v_cache", "cu_seqlens_q")

_log = logging.getLogger("paged_attn_runtime")


@dataclasses.dataclass(frozen=True)
class Limits:
    """The caller's upper bounds."""

    max_seqlen_q: int
    max_seqlen_k: int


@dataclasses.dataclass(frozen=True)
class Placement:
    """Where a kind of call runs, and what that asks of each call."""

    device: int
    host_slots: tuple[int, ...]  # torch tensors in host memory: HIP is asked whether it still knows them
    stream: (
        int | Callable[[int], int] | None
    )  # when the caller names none: a handle, a function of the device, or the null stream
    torch_outputs: bool

    def default_stream(self) -> int:
        if self.stream is None:
            return 0
        return self.stream if isinstance(self.stream, int) else self.stream(self.device)


class Prepared:
    """A kind of call, checked, on its device."""

    __slots__ = (
        "block",
        "default_scale",
        "device",
        "floats",
        "function",
        "geometry",
        "grid",
        "host_slots",
        "kernel",
        "limits",
        "placement",
        "pointers",
        "stream",
        "template",
    )

    def __init__(self, kernel: LoadedKernel, geometry: Geometry, limits: Limits, placement: Placement) -> None:
        quantities = quantities_of(geometry, limits, kernel.entry)
        self.kernel, self.geometry, self.limits, self.placement = kernel, geometry, limits, placement
        self.grid = grid_of(kernel.entry, geometry, quantities)  # None: nothing to do
        self.template = kernel.layout.template(
            {**geometry.strides, **quantities, "page_id_bytes": geometry.page_id_bytes}
        )
        self.default_scale = geometry.head_dim**-0.5
        # what launch() reads, one attribute away
        self.block, self.function, self.device = kernel.block, kernel.function, placement.device
        self.pointers, self.floats = kernel.layout.pointers, kernel.layout.floats
        self.host_slots, self.stream = placement.host_slots, placement.stream


def check_call(
    tensors: Sequence[Any], page_size: int | None, kv_layout: str | None
) -> tuple[dict[str, View], Geometry]:
    """The views and the geometry of a call whose tensors come in the order of POINTERS."""
    given = dict(zip(POINTERS, tensors))
    for name in REQUIRED:
        if given[name] is None:
            raise TypeError(f"{name} is None; it is required")
    views = {name: view(name, tensor) for name, tensor in given.items() if tensor is not None}
    return views, check_tensors(views, page_size, kv_layout)


def choose(catalogue: Catalogue, geometry: Geometry, limits: Limits, batch_policy: str | None) -> VariantEntry:
    """The manifest entry for a batch: of the caller's policy, or of the one that the manifest's rules give."""
    family = (geometry.head_dim, geometry.v_head_dim, geometry.page_size, geometry.kv_layout)
    wanted = Variant(
        *family, batch_policy="single" if batch_policy is None else batch_policy
    )  # ValueError: no kernel is written for this
    if batch_policy is None:
        quantities = quantities_of(geometry, limits, None)
        entry, why = catalogue.select(*family, quantities), f"by the manifest's rules from {quantities}"
    else:
        entry, why = catalogue.find(wanted), "as asked"
    refuse_single(entry, geometry.batch)
    _log.debug("%s chosen %s", entry.name, why)
    return entry


def refuse_single(entry: VariantEntry, batch: int) -> None:
    if entry.key.batch_policy == "single" and batch > 1:
        raise ValueError(
            f"batch_policy is 'single' with {batch} sequences; allowed: 'interleaved' or 'longest_first', or one "
            f"sequence"
        )


def prepare(
    catalogue: Catalogue,
    entry: VariantEntry,
    views: dict[str, View],
    geometry: Geometry,
    limits: Limits,
    stream: int | None,
) -> Prepared:
    driver = hip.driver()
    device = geometry.device if geometry.device != HOST else driver.current_device()
    host_slots = tuple(POINTERS.index(name) for name, v in views.items() if v.kind == "torch_cpu" and v.has_elements)
    placement = Placement(device, host_slots, _stream_of(views), views["q"].kind.startswith("torch"))
    kernel = loaded_kernel(catalogue, entry, device, placement.default_stream() if stream is None else stream)
    return Prepared(kernel, geometry, limits, placement)


def _stream_of(views: dict[str, View]) -> int | Callable[[int], int] | None:
    """torch's current stream when a tensor is torch's, else the one that the interfaces ask for, else the null
    stream.
    """
    if any(v.kind == "torch" for v in views.values()):
        return current_stream
    asked = {v.stream: v.label for v in views.values() if v.stream is not None}
    if len(asked) > 1:
        said = ", ".join(f"{label}: {stream}" for stream, label in asked.items())
        raise ValueError(f"the tensors' __cuda_array_interface__ ask for different streams ({said}); pass stream=")
    return next(iter(asked), None)


def quantities_of(geometry: Geometry, limits: Limits, entry: VariantEntry | None) -> dict[str, int]:
    """The manifest's quantities.

    A bound above total_q says no more than total_q does, and would only make the grid larger.
    """
    quantities = {
        "batch": geometry.batch,
        "total_q": geometry.total_q,
        "max_seqlen_q": min(limits.max_seqlen_q, geometry.total_q),
        "max_seqlen_k": limits.max_seqlen_k,
        "num_q_heads": geometry.num_q_heads,
        "num_kv_heads": geometry.num_kv_heads,
    }
    if entry is not None:
        quantities["query_rows_per_workgroup"] = entry.query_rows_per_workgroup
    return quantities


def grid_of(entry: VariantEntry, geometry: Geometry, quantities: dict[str, int]) -> tuple[int, int, int] | None:
    """Workgroups along each axis; None when there is no query row to compute."""
    if 0 in (geometry.total_q, geometry.batch, quantities["max_seqlen_q"]):
        return None
    grid = entry.grid.workgroups(quantities)
    if (
        any(count * threads > MAX_GRID_THREADS for count, threads in zip(grid, entry.block))
        or max(grid[1:]) > MAX_GRID_YZ
    ):
        raise ValueError(
            f"the call needs a grid of {grid} workgroups of {entry.block} threads for {quantities}; HIP allows "
            f"{MAX_GRID_THREADS} threads "
            f"along an axis and {MAX_GRID_YZ} workgroups along y and z: split the batch"
        )
    return grid if min(grid) > 0 else None
