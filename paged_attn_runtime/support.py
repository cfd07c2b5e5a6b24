"""Asking before serving: `warmup` loads kernels, `is_supported` answers without raising, `device_description` says
where we are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import driver as hip
from .catalogue import catalogue
from .checks import bound
from .errors import PagedAttnError
from .manifest import ARCH
from .modules import check_device, loaded_kernel
from .scalars import refuse_unserved
from .variant import PAGE_LAYOUT, Variant


def warmup(
    *,
    head_dim: int | None = None,
    v_head_dim: int | None = None,
    page_size: int | None = None,
    batch_policy: str | None = None,
    device: int | Iterable[int] | None = None,
) -> list[str]:
    """Load every prebuilt variant with these properties (None: any) on a device, some, or the current one; returns
    their names.

    After it, calls that these variants serve are legal inside a stream capture, and the first of them is as quick as
    any.
    """
    driver = hip.driver()
    found = catalogue()
    wanted = {"head_dim": head_dim, "v_head_dim": v_head_dim, "page_size": page_size, "batch_policy": batch_policy}
    wanted = {name: value for name, value in wanted.items() if value is not None}
    entries = [
        entry
        for entry in found.manifest.variants
        if all(getattr(entry.key, name) == value for name, value in wanted.items())
    ]
    if not entries:
        page = wanted.get("page_size", 64)
        like = {"head_dim": 192, "v_head_dim": 128, "page_size": page, "batch_policy": "longest_first", **wanted}
        found.find(
            Variant(kv_layout=PAGE_LAYOUT.get(page, "linear"), **like)
        )  # raises, with the nearest and the command
    devices = [driver.current_device()] if device is None else [device] if isinstance(device, int) else list(device)
    for ordinal in devices:
        check_device(driver, ordinal)
        for entry in entries:
            loaded_kernel(found, entry, ordinal, 0)
    return [entry.name for entry in entries]


def is_supported(
    *,
    head_dim: int,
    v_head_dim: int,
    page_size: int,
    kv_layout: str | None = None,
    num_q_heads: int = 1,
    num_kv_heads: int = 1,
    batch_policy: str | None = None,
    device: int | None = None,
    **options: Any,
) -> tuple[bool, str]:
    """(True, "") or (False, why not). Raises nothing; looks at a device only when one is named.

    `options` are those of other attention calls (window_size, sinks, logits_soft_cap, ...), refused as paged_prefill
    refuses them.
    """
    try:
        refuse_unserved("is_supported", options)
        if (
            bound("num_kv_heads", num_kv_heads) == 0
            or bound("num_q_heads", num_q_heads) % num_kv_heads
            or num_q_heads == 0
        ):
            raise ValueError(
                f"num_q_heads is {num_q_heads} and num_kv_heads {num_kv_heads}; allowed: a multiple of num_kv_heads, "
                f"neither 0"
            )
        found = catalogue()
        layout = PAGE_LAYOUT.get(page_size, "linear") if kv_layout is None else kv_layout
        policies = [rule.policy for rule in found.manifest.batch_policies] if batch_policy is None else [batch_policy]
        for policy in dict.fromkeys(policies):
            found.find(Variant(head_dim, v_head_dim, page_size, layout, policy))
        if device is not None:
            check_device(hip.driver(), device)
    except (TypeError, ValueError, NotImplementedError, PagedAttnError) as error:
        return False, str(error)
    return True, ""


def device_description(device: int | None = None) -> str:
    """One line on a device: its name, architecture and compute units, and which HIP runtime speaks for it."""
    driver = hip.driver()
    device = driver.current_device() if device is None else device
    properties = driver.properties(device)
    name = driver.device_name(device)
    runtimes = hip.loaded_runtimes()
    kind = " (the emulator, on a CPU)" if hip.is_emulator() else ""
    served = "" if driver.architecture(device) == ARCH else f"; the prebuilt kernels are for {ARCH} and do not run here"
    return (
        f"device {device}: {name}, {driver.full_architecture(device)}, {properties.multiProcessorCount} CUs, through "
        f"{', '.join(runtimes) or 'an unknown runtime'}{kind}{served}"
    )
