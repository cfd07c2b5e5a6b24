"""What the build needs beside Python: the pinned FlyDSL (which imports torch) and an ld.lld that knows gfx950.

Owns the compiler's switches: the workers' environment is made here, from nothing the user's shell says about FlyDSL. Nothing here
imports FlyDSL or torch; a build with nothing to compile must not pay for that.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from paged_attn_runtime.manifest import ARCH

FLYDSL_VERSION = "0.5.0"
OLDEST_LLD = 20  # the first LLVM release that knows gfx950
INSTALL_LLD = "apt-get install lld-22"

# FLYDSL_GPU_ARCH decides the target (without it: gfx942, silently); ARCH is read by helper code. The cache would return objects of
# other sources.
COMPILE_OPTIONS = {"FLYDSL_GPU_ARCH": ARCH, "ARCH": ARCH, "FLYDSL_RUNTIME_ENABLE_CACHE": "0"}

_FOREIGN = re.compile(
    r"(FLYDSL|MLIR|LLVM|HSA|HIP|ROCM|ROCR|TORCH|PYTORCH)_.*|ARCH|GPU_ARCH|COMPILE_ONLY|PYTHONHASHSEED"
)


class ToolchainError(Exception):
    """Something that the build needs is not installed. The text ends in the command that installs it."""


@dataclasses.dataclass(frozen=True)
class Toolchain:
    flydsl_version: str
    linker_path: Path
    linker: str  # as `ld.lld --version` names it: another linker gives other bytes


def find_toolchain() -> Toolchain:
    return Toolchain(_flydsl_version(), *_find_linker())


def _flydsl_version() -> str:
    try:
        version = importlib.metadata.version("flydsl")
    except importlib.metadata.PackageNotFoundError:
        raise ToolchainError(f"FlyDSL is not installed: pip install flydsl=={FLYDSL_VERSION}") from None
    if version != FLYDSL_VERSION:
        raise ToolchainError(
            f"FlyDSL {version} is installed; this build is pinned to {FLYDSL_VERSION}: pip install flydsl=={FLYDSL_VERSION}"
        )
    needed = {"torch": "torch (FlyDSL imports it)", "elftools": "pyelftools", "msgpack": "msgpack"}
    for module, name in needed.items():
        if importlib.util.find_spec(module) is None:
            raise ToolchainError(f"{name} is not installed: pip install {name.split()[0]}")
    return version


def _linker_candidates() -> Iterator[Path]:
    """Debian's LLVM 22 first, since objects are compared with those of other machines; then whatever else is there."""
    names = ["ld.lld-22", "/usr/lib/llvm-22/bin/ld.lld", "ld.lld"]
    names += [f"{root}/llvm/bin/ld.lld" for root in (os.environ.get("ROCM_PATH"), "/opt/rocm") if root]
    for name in names:
        found = shutil.which(name)
        if found:
            yield Path(found).absolute()


def _find_linker() -> tuple[Path, str]:
    seen = []
    for path in _linker_candidates():
        shown = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout.strip()
        version = re.search(r"LLD (\d+)\.", shown)
        if version and int(version.group(1)) >= OLDEST_LLD:
            return path, shown.removesuffix(" (compatible with GNU linkers)")
        seen.append(f"{path} is {shown or 'no linker'}")
    found = f" ({'; '.join(seen)})" if seen else ""
    raise ToolchainError(f"no ld.lld of LLVM {OLDEST_LLD} or newer was found{found}: {INSTALL_LLD}")


def lay_out_rocm(toolchain: Toolchain, folder: Path) -> Path:
    """A ROCM_PATH in `folder` that holds the linker, which is all that FlyDSL takes from one."""
    bin_folder = folder / "llvm" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "ld.lld").symlink_to(toolchain.linker_path.resolve())
    return folder


def worker_environment(rocm: Path, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The caller's environment without its own switches for the compiler, with ours."""
    kept = {name: value for name, value in environment.items() if not _FOREIGN.fullmatch(name)}
    return {**kept, **COMPILE_OPTIONS, "ROCM_PATH": str(rocm), "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
