"""Kernels loaded on devices: one per variant and device in a process, kept until it ends.

Owns the path from a manifest entry to a function that can be launched, and every check on it: bytes, architecture of
the object and of the device, the kernarg segment of manifest, metadata and descriptor. One lock is held while a
module is loaded. Refuses to load inside a stream capture, with the line that loads before it.
"""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path
from typing import Any

from . import driver as hip
from .catalogue import Catalogue, rebuild
from .errors import ArtifactError, HipError
from .kernarg import Buffer, KernargLayout
from .manifest import ARCH, VariantEntry

_log = logging.getLogger("paged_attn_runtime")
_lock = threading.RLock()
_kernels: dict[tuple[Path, str, int], LoadedKernel] = {}


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.RLock()  # another thread of the parent may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


class LoadedKernel:
    """A function on a device, and buffers to launch it with."""

    def __init__(
        self, entry: VariantEntry, device: int, function: Any, layout: KernargLayout, keep_alive: tuple
    ) -> None:
        self.entry = entry
        self.device = device
        self.function = function
        self.block = entry.block
        self.layout = layout
        self.buffers: list[Buffer] = []  # free ones; list.pop and list.append are atomic
        self._keep_alive = keep_alive

    def new_buffer(self) -> Buffer:
        return Buffer(self.layout.bytes, hip.driver().launch_extra)


def loaded_kernel(catalogue: Catalogue, entry: VariantEntry, device: int, stream: Any) -> LoadedKernel:
    """The kernel on that device, loaded now if it was not. `stream` is where the caller is going to launch."""
    key = (catalogue.folder, entry.sha256, device)
    kernel = _kernels.get(key)
    if kernel is not None:
        return kernel
    driver = hip.driver()
    with _lock:
        kernel = _kernels.get(key)
        if kernel is None:
            _refuse_capture(driver, entry, device, stream)
            hip.refuse_second_runtime()
            kernel = _kernels[key] = _load(driver, catalogue, entry, device)
            _log.debug("%s loaded on device %d", entry.name, device)
    return kernel


def loaded_count() -> int:
    return len(_kernels)


def check_device(driver: hip.Driver, device: int) -> None:
    """Whether a device can run these objects: by its architecture's name, since partitions differ in everything
    else.
    """
    if type(device) is not int:
        raise TypeError(f"device is {device!r}; wanted an ordinal, an int")
    count = driver.device_count()
    if not 0 <= device < count:
        raise ValueError(f"device is {device}; this process has {count} device{'s' * (count != 1)}, numbered from 0")
    found = driver.architecture(device)
    if found != ARCH:
        raise ArtifactError(
            f"device {device} is {found}; the prebuilt kernels are for {ARCH} (MI350X, MI355X) and run on nothing else"
        )


def _refuse_capture(driver: hip.Driver, entry: VariantEntry, device: int, stream: Any) -> None:
    # the null stream is asked too: it knows of captures that other streams are in
    if driver.is_capturing(stream) or driver.is_capturing(driver.null_stream):
        key = entry.key
        raise HipError(
            "ColdCapture",
            f"{entry.name} is not loaded on device {device}, and loading is not allowed while a stream is captured. "
            f"Before the "
            f"capture: paged_attn_runtime.warmup(head_dim={key.head_dim}, v_head_dim={key.v_head_dim}, "
            f"page_size={key.page_size}, "
            f"device={device})",
        )


def _load(driver: hip.Driver, catalogue: Catalogue, entry: VariantEntry, device: int) -> LoadedKernel:
    image = catalogue.read_object(entry)
    check_object(entry, image)
    layout = KernargLayout(entry.name, entry.kernarg)
    check_device(driver, device)
    with driver.device(device):
        module = driver.load_module(image, entry.name)
        function = driver.module_function(module, entry.symbol)
    return LoadedKernel(entry, device, function, layout, keep_alive=(module, image))


def check_object(entry: VariantEntry, image: bytes) -> None:
    """The object's own account against the manifest's. ArtifactError names the first difference."""
    from .code_object import inspect  # 3 ms of an import that a process pays when it loads a kernel, not before

    try:
        facts = inspect(image)
    except ValueError as error:
        raise ArtifactError(f"{entry.file} is no code object: {error}; {rebuild(entry.name)}") from None
    if facts.architecture != ARCH:
        raise ArtifactError(
            f"{entry.file} is for {facts.architecture}; the manifest is for {ARCH}; {rebuild(entry.name)}"
        )
    kernel = next((kernel for kernel in facts.kernels if kernel.symbol == entry.symbol), None)
    if kernel is None or len(facts.kernels) != 1:
        names = ", ".join(kernel.symbol for kernel in facts.kernels) or "nothing"
        raise ArtifactError(f"{entry.file} holds {names}; the manifest says {entry.symbol}; {rebuild(entry.name)}")
    for what, found, said in _comparisons(entry, kernel):
        if found != said:
            raise ArtifactError(f"{entry.file} has {what} {found}; the manifest says {said}; {rebuild(entry.name)}")


def _comparisons(entry: VariantEntry, kernel: Any) -> list[tuple[str, Any, Any]]:
    return [
        (
            "a kernarg segment of",
            f"{kernel.descriptor_kernarg_bytes} bytes in its descriptor",
            f"{entry.kernarg.bytes} bytes in its descriptor",
        ),
        ("a kernarg segment of", f"{kernel.kernarg_bytes} bytes", f"{entry.kernarg.bytes} bytes"),
        (
            "arguments at (offset, bytes)",
            [arg[:2] for arg in kernel.args],
            [(arg.offset, arg.bytes) for arg in entry.kernarg.args],
        ),
        ("LDS bytes", kernel.lds_bytes, entry.lds_bytes),
        ("scratch bytes", kernel.scratch_bytes, entry.scratch_bytes),
        ("vector registers", kernel.vgprs, entry.vgprs),
        ("accumulation registers", kernel.agprs, entry.agprs),
        ("scalar registers", kernel.sgprs, entry.sgprs),
    ]
