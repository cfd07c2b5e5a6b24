"""What this node has, and which variants would run here: facts first, then a verdict in words.

Each finding is one line: a topic, a state (ok, note, bad) and a text that says what to do about it. Never raises for
what it finds.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
import sys

from . import driver as hip
from .catalogue import Catalogue, catalogue
from .errors import PagedAttnError
from .manifest import ARCH
from .selftest import run_selftest
from .version import __version__

WHOLE_DEVICE_CUS = 256
ROCM_FOLDER = "/opt/rocm"


@dataclasses.dataclass(frozen=True)
class Finding:
    topic: str
    state: str  # ok, note or bad
    text: str


def examine(selftest: bool = False) -> list[Finding]:
    """Every finding, in the order in which a reader needs them."""
    findings = [Finding("package", "ok", f"paged-attn-runtime {__version__}, Python {sys.version.split()[0]}")]
    found, finding = _kernels()
    findings += [finding, _hip_python(), _rocm()]
    try:
        driver = hip.driver()
        findings.append(_runtime(driver))
        devices = driver.device_count()
    except PagedAttnError as error:
        return [*findings, Finding("HIP", "bad", str(error))]
    if devices == 0:
        text = (
            "HIP sees no device: is the amdgpu driver loaded, and may this user open /dev/kfd? (groups render and "
            "video)"
        )
        return [*findings, Finding("devices", "bad", text)]
    usable = []
    for device in range(devices):
        finding, runs = _device(driver, device)
        findings.append(finding)
        usable += [device] * runs
    findings.append(_verdict(found, usable))
    if selftest and found is not None:
        for device in usable:
            findings += [_selftest(entry, device) for entry in found.manifest.variants]
    return findings


def _kernels() -> tuple[Catalogue | None, Finding]:
    try:
        found = catalogue()
    except PagedAttnError as error:
        return None, Finding("kernels", "bad", str(error))
    manifest = found.manifest
    text = (
        f"{len(manifest.variants)} variants for {manifest.arch} in {found.folder}, built with FlyDSL "
        f"{manifest.flydsl_version}"
    )
    if manifest.package.version != __version__:
        text += (
            f", for version {manifest.package.version} of this package: rebuild or reinstall if anything looks wrong"
        )
        return found, Finding("kernels", "note", text)
    return found, Finding("kernels", "ok", text)


def _hip_python() -> Finding:
    for name in ("hip-python", "hip_python"):
        try:
            return Finding("hip-python", "ok", f"hip-python {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return Finding(
        "hip-python", "bad", 'not installed: pip install hip-python, or "hip-python==7.2.*" on a ROCm 7.2 node'
    )


def _rocm() -> Finding:
    path = os.environ.get("ROCM_PATH") or os.environ.get("ROCM_HOME") or ROCM_FOLDER
    try:
        with open(os.path.join(path, ".info", "version"), encoding="utf-8") as file:
            return Finding("ROCm", "ok", f"ROCm {file.read().strip()} in {path}")
    except OSError:
        pass
    if os.path.isdir(path):
        return Finding("ROCm", "ok", f"{path}, which does not say its version")
    libraries = os.environ.get("LD_LIBRARY_PATH")
    if libraries:
        return Finding("ROCm", "note", f"no {path}; libraries are looked for in LD_LIBRARY_PATH={libraries}")
    return Finding("ROCm", "note", f"no {path}: set ROCM_PATH if ROCm is elsewhere")


def _runtime(driver: hip.Driver) -> Finding:
    version = driver.runtime_version()
    number = f"{version // 10_000_000}.{version // 100_000 % 100}.{version % 100_000}"
    kind = ", the emulator of this project (a CPU)" if hip.is_emulator() else ""
    return Finding(
        "HIP", "ok", f"HIP {number} from {', '.join(hip.loaded_runtimes())}{kind}; the only one in this process"
    )


def _device(driver: hip.Driver, device: int) -> tuple[Finding, bool]:
    properties = driver.properties(device)
    name = driver.device_name(device)
    units = properties.multiProcessorCount
    text = f"{name}, {driver.full_architecture(device)}, {units} CUs, {properties.totalGlobalMem / 2**30:.0f} GiB"
    if driver.architecture(device) != ARCH:
        return Finding(
            f"device {device}", "bad", f"{text}: the kernels are for {ARCH} (MI350X, MI355X) and do not run here"
        ), False
    if units != WHOLE_DEVICE_CUS:
        return Finding(
            f"device {device}", "note", f"{text}: a partition of a device; everything runs, on fewer CUs"
        ), True
    return Finding(f"device {device}", "ok", text), True


def _verdict(found: Catalogue | None, usable: list[int]) -> Finding:
    if found is None:
        return Finding("verdict", "bad", "nothing can run: there are no kernels (see above)")
    if not usable:
        return Finding("verdict", "bad", f"nothing can run: no device is {ARCH}")
    where = f"device{'s' * (len(usable) > 1)} {', '.join(map(str, usable))}"
    return Finding("verdict", "ok", f"all {len(found.manifest.variants)} variants run on {where}")


def _selftest(entry, device: int) -> Finding:
    topic = f"selftest {entry.name} on device {device}"
    try:
        outcome = run_selftest(entry, device)
    except PagedAttnError as error:
        return Finding(topic, "bad", str(error))
    return Finding(topic, "ok" if outcome.passed else "bad", outcome.text)
