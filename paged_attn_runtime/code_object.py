"""What a gfx950 code object says of itself: a reader of the few ELF and MessagePack parts that a check needs.

Refuses, as a ValueError that says what is wrong and where: anything that is not a 64-bit little-endian AMDGPU HSA
ELF, whatever lies outside the file, and MessagePack types that code-object metadata does not use. Standard library
only; takes bytes, reads no file.
"""

from __future__ import annotations

import dataclasses
import struct
from typing import Any

ELF_MACHINE_AMDGPU = 224
ELF_OSABI_HSA = 64
MACH_GFX950 = 0x4F  # e_flags & 0xff
NOTE_AMDGPU_METADATA = 32
KERNARG_SIZE_OFFSET = 8  # in the 64-byte kernel descriptor
DESCRIPTOR_BYTES = 64
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SHT_DYNSYM, _SHT_NOTE, _SHT_NOBITS = 11, 7, 8
_MACH_NAMES = {0x3F: "gfx90a", 0x4C: "gfx942", MACH_GFX950: "gfx950"}


@dataclasses.dataclass(frozen=True)
class KernelFacts:
    """One kernel: from its descriptor and from its metadata."""

    symbol: str
    kernarg_bytes: int
    descriptor_kernarg_bytes: int
    args: tuple[tuple[int, int, str], ...]  # (offset, bytes, value kind), hidden ones left out
    lds_bytes: int
    scratch_bytes: int
    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int


@dataclasses.dataclass(frozen=True)
class CodeObjectFacts:
    architecture: str
    kernels: tuple[KernelFacts, ...]


@dataclasses.dataclass(frozen=True)
class _Section:
    type: int
    address: int
    offset: int
    size: int
    link: int


def inspect(image: bytes) -> CodeObjectFacts:
    """The facts of a code object."""
    sections = _sections(image)
    symbols = _dynamic_symbols(image, sections)
    kernels = []
    for kernel in _metadata(image, sections).get("amdhsa.kernels", ()):
        try:
            kernels.append(_kernel(image, sections, symbols, kernel))
        except KeyError as error:
            raise ValueError(f"the metadata of a kernel lacks {error.args[0]!r}") from None
    return CodeObjectFacts(_architecture(image), tuple(kernels))


def _bytes_at(image: bytes, offset: int, size: int, what: str) -> bytes:
    if offset + size > len(image):
        raise ValueError(f"{what} ends at {offset + size}, but the file has {len(image)} bytes")
    return image[offset : offset + size]


def _header(image: bytes) -> tuple:
    header = _HEADER.unpack(_bytes_at(image, 0, _HEADER.size, "the ELF header"))
    if header[0][:7] != b"\x7fELF\x02\x01\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    if header[2] != ELF_MACHINE_AMDGPU or header[0][7] != ELF_OSABI_HSA:
        raise ValueError(f"not an AMDGPU HSA object (machine {header[2]}, OS ABI {header[0][7]})")
    return header


def _architecture(image: bytes) -> str:
    machine = _header(image)[7] & 0xFF
    return _MACH_NAMES.get(machine, f"machine 0x{machine:x}")


def _sections(image: bytes) -> list[_Section]:
    header = _header(image)
    offset, entry_size, count = header[6], header[11], header[12]
    if entry_size != _SECTION.size:
        raise ValueError(f"section headers of {entry_size} bytes; expected {_SECTION.size}")
    table = _bytes_at(image, offset, entry_size * count, "the section table")
    result = []
    for _, kind, _, address, start, size, link, *_ in _SECTION.iter_unpack(table):
        if kind != _SHT_NOBITS:
            _bytes_at(image, start, size, "a section")
        result.append(_Section(kind, address, start, size, link))
    return result


def _dynamic_symbols(image: bytes, sections: list[_Section]) -> dict[str, int]:
    """Name to address."""
    symbols: dict[str, int] = {}
    for section in sections:
        if section.type != _SHT_DYNSYM:
            continue
        if section.link >= len(sections):
            raise ValueError(f"symbol names are in section {section.link} of {len(sections)}")
        names = sections[section.link]
        strings = image[names.offset : names.offset + names.size]
        table = image[section.offset : section.offset + section.size // _SYMBOL.size * _SYMBOL.size]
        for name, _, _, _, address, _ in _SYMBOL.iter_unpack(table):
            text = strings[name : strings.find(b"\0", name)]
            symbols[text.decode("utf-8", "replace")] = address
    return symbols


def _metadata(image: bytes, sections: list[_Section]) -> dict[str, Any]:
    for section in sections:
        if section.type != _SHT_NOTE:
            continue
        position, end = section.offset, section.offset + section.size
        while position + 12 <= end:
            name_size, size, kind = struct.unpack_from("<III", image, position)
            data = position + 12 + _align4(name_size)
            if kind == NOTE_AMDGPU_METADATA:
                reader = _MessagePack(_bytes_at(image, data, size, "the metadata note"))
                value = reader.value()
                if isinstance(value, dict):
                    return value
            position = data + _align4(size)
    raise ValueError("no AMDGPU metadata note")


def _align4(size: int) -> int:
    return (size + 3) & ~3


def _kernel(image: bytes, sections: list[_Section], symbols: dict[str, int], kernel: dict[str, Any]) -> KernelFacts:
    descriptor = _at_address(image, sections, symbols, kernel[".symbol"])
    args = tuple(
        (arg[".offset"], arg[".size"], arg[".value_kind"])
        for arg in kernel.get(".args", ())
        if not arg[".value_kind"].startswith("hidden_")
    )
    return KernelFacts(
        symbol=kernel[".name"],
        kernarg_bytes=kernel[".kernarg_segment_size"],
        descriptor_kernarg_bytes=struct.unpack_from("<I", descriptor, KERNARG_SIZE_OFFSET)[0],
        args=args,
        lds_bytes=kernel[".group_segment_fixed_size"],
        scratch_bytes=kernel[".private_segment_fixed_size"],
        vgprs=kernel[".vgpr_count"],
        agprs=kernel.get(".agpr_count", 0),
        sgprs=kernel[".sgpr_count"],
        vgpr_spills=kernel.get(".vgpr_spill_count", 0),
        sgpr_spills=kernel.get(".sgpr_spill_count", 0),
    )


def _at_address(image: bytes, sections: list[_Section], symbols: dict[str, int], symbol: str) -> bytes:
    address = symbols.get(symbol)
    if address is None:
        raise ValueError(f"no symbol {symbol}, which the metadata names")
    for section in sections:
        if (
            section.type != _SHT_NOBITS
            and section.address
            and section.address <= address < section.address + section.size
        ):
            return _bytes_at(
                image, section.offset + address - section.address, DESCRIPTOR_BYTES, f"the descriptor {symbol}"
            )
    raise ValueError(f"{symbol} at 0x{address:x} lies in no section")


class _MessagePack:
    """The part of MessagePack that code-object metadata uses: maps, arrays, strings, integers, booleans, nil."""

    _SIZED = {
        0xD9: (1, "str"),
        0xDA: (2, "str"),
        0xDB: (4, "str"),
        0xDC: (2, "array"),
        0xDD: (4, "array"),
        0xDE: (2, "map"),
        0xDF: (4, "map"),
    }
    _NUMBERS = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
    _CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def value(self, depth: int = 0) -> Any:
        if depth > 16:
            raise ValueError("metadata nested more than 16 deep")
        byte = self._take(1)[0]
        if byte < 0x80:
            return byte
        if byte >= 0xE0:
            return byte - 0x100
        if byte < 0xC0:
            kind, count = (
                ("map", byte & 15) if byte < 0x90 else ("array", byte & 15) if byte < 0xA0 else ("str", byte & 31)
            )
        elif byte in self._CONSTANTS:
            return self._CONSTANTS[byte]
        elif byte in self._NUMBERS:
            return struct.unpack(self._NUMBERS[byte], self._take(struct.calcsize(self._NUMBERS[byte])))[0]
        elif byte in self._SIZED:
            size, kind = self._SIZED[byte]
            count = int.from_bytes(self._take(size), "big")
        else:
            raise ValueError(f"metadata has a MessagePack type 0x{byte:x}, which code objects do not use")
        if kind == "str":
            return self._take(count).decode("utf-8", "replace")
        if kind == "array":
            return [self.value(depth + 1) for _ in range(count)]
        return {self._key(depth): self.value(depth + 1) for _ in range(count)}

    def _key(self, depth: int) -> str:
        key = self.value(depth + 1)
        if not isinstance(key, str):
            raise ValueError(f"metadata has {key!r} as a key")
        return key

    def _take(self, count: int) -> bytes:
        start, self._position = self._position, self._position + count
        if self._position > len(self._data):
            raise ValueError(f"the metadata ends at {len(self._data)}, in the middle of a value")
        return self._data[start : self._position]
