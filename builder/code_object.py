"""What a compiled object says of itself, and whether that is what was asked for.

Owns the checks on every object of a build: gfx950, one kernel with the variant's name, no scratch, no spill, no dynamic stack, LDS
within 160 KiB and as the kernel source says, block size and kernel arguments as declared. The manifest's numbers are read here.
"""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Sequence
from typing import Any

import msgpack
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from paged_attn_runtime.manifest import ARCH, ARG_KINDS, MAX_LDS_BYTES, Kernarg, KernelArg, Spills

_MACHINE = "EM_AMDGPU"
_FLAGS_ARCH_MASK, _FLAGS_GFX950 = 0xFF, 0x4F
_TARGET = re.compile(rf"amdgcn-amd-amdhsa-(unknown)?-{ARCH}(:.*)?")
_VALUE_KIND = {"pointer": "global_buffer", "i64": "by_value", "i32": "by_value", "f32": "by_value"}
_WAVE = 64


class CodeObjectError(Exception):
    """The compiler's output is not what the variant needs."""


@dataclasses.dataclass(frozen=True)
class Declared:
    """What the kernel source says of its object."""

    symbol: str
    kernarg: tuple[tuple[str, str, int], ...]  # name, kind, bytes
    block: tuple[int, int, int]
    lds_bytes: int


@dataclasses.dataclass(frozen=True)
class Facts:
    vgprs: int
    agprs: int
    sgprs: int
    lds_bytes: int
    scratch_bytes: int
    spills: Spills
    kernarg: Kernarg


def only_object(objects: Sequence[bytes]) -> bytes:
    if len(objects) != 1:
        raise CodeObjectError(f"the compiler wrote {len(objects)} code objects; exactly one is expected")
    return objects[0]


def check_object(data: bytes, declared: Declared) -> Facts:
    """The facts of an object that is as declared. CodeObjectError otherwise."""
    kernel = _only_kernel(data, declared.symbol)
    spills = Spills(vgpr=kernel[".vgpr_spill_count"], sgpr=kernel[".sgpr_spill_count"])
    facts = Facts(
        vgprs=kernel[".vgpr_count"],
        agprs=kernel[".agpr_count"],
        sgprs=kernel[".sgpr_count"],
        lds_bytes=kernel[".group_segment_fixed_size"],
        scratch_bytes=kernel[".private_segment_fixed_size"],
        spills=spills,
        kernarg=_kernarg(kernel, declared.kernarg),
    )
    if facts.lds_bytes > MAX_LDS_BYTES:
        raise CodeObjectError(f"{facts.lds_bytes} bytes of LDS; gfx950 has {MAX_LDS_BYTES} a workgroup")
    if facts.lds_bytes != declared.lds_bytes:
        raise CodeObjectError(f"{facts.lds_bytes} bytes of LDS; the kernel source says {declared.lds_bytes}")
    if spills.vgpr or spills.sgpr:
        raise CodeObjectError(f"registers spill: {spills.vgpr} vector, {spills.sgpr} scalar; none is allowed")
    if facts.scratch_bytes or kernel.get(".uses_dynamic_stack"):
        raise CodeObjectError(f"{facts.scratch_bytes} bytes of scratch a lane; none is allowed")
    _check_block(kernel, declared.block)
    return facts


def _only_kernel(data: bytes, symbol: str) -> dict[str, Any]:
    """The metadata of the object's one kernel, which is named `symbol` and has a descriptor."""
    try:
        elf = ELFFile(io.BytesIO(data))
        machine, flags = elf["e_machine"], elf["e_flags"]
        metadata, descriptors = _metadata(elf), _descriptors(elf)
    except (ELFError, ValueError, KeyError) as error:
        raise CodeObjectError(f"the compiler's output is no code object: {error}") from None
    if machine != _MACHINE or flags & _FLAGS_ARCH_MASK != _FLAGS_GFX950:
        raise CodeObjectError(f"the object is for machine {machine}, flags {flags:#x}; expected AMDGPU {ARCH}")
    target = metadata.get("amdhsa.target", "")
    if not _TARGET.fullmatch(target):
        raise CodeObjectError(f"the object is for {target!r}; expected {ARCH}")
    kernels = metadata.get("amdhsa.kernels", [])
    names = [kernel[".name"] for kernel in kernels]
    if names != [symbol] or kernels[0][".symbol"] != f"{symbol}.kd" or descriptors != [f"{symbol}.kd"]:
        raise CodeObjectError(f"the object has the kernels {names} and descriptors {descriptors}; expected {symbol}")
    return kernels[0]


def _metadata(elf: ELFFile) -> dict[str, Any]:
    for segment in elf.iter_segments():
        if segment["p_type"] == "PT_NOTE":
            for note in segment.iter_notes():
                if note["n_name"] == "AMDGPU":
                    return msgpack.unpackb(bytes(note["n_descdata"]), strict_map_key=False)
    raise ValueError("it has no AMDGPU note")


def _descriptors(elf: ELFFile) -> list[str]:
    symbols = elf.get_section_by_name(".dynsym")
    if symbols is None:
        raise ValueError("it has no dynamic symbols")
    return [symbol.name for symbol in symbols.iter_symbols() if symbol["st_info"]["type"] == "STT_OBJECT"]


def _kernarg(kernel: dict[str, Any], declared: Sequence[tuple[str, str, int]]) -> Kernarg:
    """The declared names with the object's offsets. Hidden arguments may follow; they only make the segment longer."""
    found = [arg for arg in kernel.get(".args", []) if not arg[".value_kind"].startswith("hidden_")]
    if len(found) != len(declared):
        raise CodeObjectError(f"the kernel takes {len(found)} arguments; the kernel source declares {len(declared)}")
    args = []
    for arg, (name, kind, size) in zip(found, declared):
        if ARG_KINDS.get(kind) != size:
            raise CodeObjectError(f"argument {name} is declared as {kind!r} of {size} bytes; allowed: {ARG_KINDS}")
        if arg[".size"] != size or arg[".value_kind"] != _VALUE_KIND[kind]:
            raise CodeObjectError(
                f"argument {name} is {arg['.value_kind']} of {arg['.size']} bytes in the object; declared: {kind} of {size}"
            )
        args.append(KernelArg(name, arg[".offset"], size, kind))
    return Kernarg(kernel[".kernarg_segment_size"], tuple(args))


def _check_block(kernel: dict[str, Any], block: tuple[int, int, int]) -> None:
    required = tuple(kernel.get(".reqd_workgroup_size", ()))
    if required != tuple(block):
        raise CodeObjectError(f"the object is for blocks of {list(required)}; the kernel source says {list(block)}")
    if kernel[".wavefront_size"] != _WAVE:
        raise CodeObjectError(f"the object is for waves of {kernel['.wavefront_size']} lanes; expected {_WAVE}")
