"""A code object as a list of instructions with their class, registers and memory traffic.

Owns: what the disassembler's text means. An instruction of no class listed here costs an issue slot and nothing else.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess

WAVE = 64
VALU_CLASSES = ("plain", "transcendental", "packed", "quarter", "permlane", "convert")
MEMORY_CLASSES = ("lds_read", "lds_write", "dma", "vector_load", "store", "scratch")

_LINE = re.compile(r"^\s+([a-z]\w*)\s*(.*?)\s*//\s*([0-9A-F]{12}):((?: [0-9A-F]{8})+)")
_REGISTER = re.compile(r"(?<![\w.])-?\|?([vas])(?:\[(\d+):(\d+)\]|(\d+))")
_NAMED = re.compile(r"\b(vcc|exec|m0)\b")
_TRANSCENDENTAL = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos|rcp_iflag|exp_legacy)_(f32|f16|bf16)")
_QUARTER = re.compile(r"v_(mul_lo_u32|mul_hi_u32|mul_hi_i32|mad_u64_u32|mad_i64_i32|rcp_f64|rsq_f64|sqrt_f64)")
_PACKED = re.compile(r"v_pk_(fma|mul|add)_f32|v_pk_mov_b32")
_SHAPE = re.compile(r"_(\d+)x(\d+)x(\d+)_?(.*)$")
_WIDTHS = (("x4", 16), ("b128", 16), ("x3", 12), ("b96", 12), ("x2", 8), ("b64", 8))


@dataclasses.dataclass
class Instruction:
    name: str  # without the encoding's suffix
    arguments: str
    address: int
    kind: str = "other"
    reads: tuple = ()
    accumulates: tuple = ()  # C of a matrix instruction: forwarded inside the unit
    writes: tuple = ()
    bytes: int = 0  # of memory or LDS, for the whole wave
    matrix_clocks: int = 0
    flops: int = 0
    counter: str | None = None  # lgkm or vm
    waits: dict = dataclasses.field(default_factory=dict)
    number: int = 0  # of s_nop and s_setprio
    target: int | None = None  # address

    @property
    def conditional(self) -> bool:
        return self.name.startswith("s_cbranch")


class ListingError(Exception):
    """The object cannot be read, or has no loop with matrix work."""


def _tool(name: str) -> str:
    for candidate in (f"{name}-22", name):
        if shutil.which(candidate):
            return candidate
    raise ListingError(f"{name}-22 is not installed: apt-get install llvm-22")


def disassemble(path: str) -> list[Instruction]:
    command = [_tool("llvm-objdump"), "-d", "--mcpu=gfx950", str(path)]
    result = subprocess.run(command, capture_output=True, text=True)
    instructions = parse(result.stdout)
    if result.returncode or not instructions:
        raise ListingError(f"{path}: no gfx950 code ({result.stderr.strip() or 'empty disassembly'})")
    return instructions


def parse(text: str) -> list[Instruction]:
    instructions = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if not match:
            continue
        name, arguments, address, words = match.groups()
        name = re.sub(r"_(e32|e64|dpp|sdwa)$", "", name)
        instruction = Instruction(name, arguments, int(address, 16))
        _classify(instruction)
        if name.startswith(("s_cbranch", "s_branch")):
            offset = int(words.split()[0], 16) & 0xFFFF
            instruction.target = instruction.address + 4 + 4 * (offset - 0x10000 if offset & 0x8000 else offset)
        instructions.append(instruction)
    return instructions


def registers(text: str) -> tuple:
    found = []
    for kind, first, last, only in _REGISTER.findall(text):
        found += [(kind, n) for n in (range(int(first), int(last) + 1) if first else [int(only)])]
    return tuple(found + [("special", name) for name in _NAMED.findall(text)])


def _split(arguments: str) -> list[str]:
    return re.split(r",\s*(?![^\[]*\])", arguments) if arguments else []


def _classify(i: Instruction) -> None:
    parts = _split(i.arguments)
    first, rest = (parts[0] if parts else ""), ",".join(parts[1:])
    if i.name.startswith("v_mfma"):
        i.kind, i.writes, i.accumulates = "matrix", registers(first), registers(parts[3])
        i.reads = registers(",".join(parts[1:3])) + registers(",".join(parts[4:]))
        i.matrix_clocks, i.flops = _matrix_work(i)
    elif i.name.startswith("v_"):
        _classify_valu(i, parts, first, rest)
    elif i.name.startswith("ds_"):
        i.bytes, i.counter = WAVE * _width(i.name), "lgkm"
        if re.search("read|load|permute|swizzle", i.name):
            i.kind, i.writes, i.reads = "lds_read", registers(first), registers(rest)
        else:
            i.kind, i.reads = "lds_write", registers(i.arguments)
    elif i.name.startswith(("buffer_", "global_", "flat_", "scratch_")):
        _classify_memory(i, first, rest)
    elif i.name.startswith(("s_load", "s_buffer_load")):
        i.kind, i.counter, i.writes, i.reads = "scalar_load", "lgkm", registers(first), registers(rest)
    elif i.name == "s_waitcnt":
        i.kind = "wait"
        i.waits = {name: int(n) for name, n in re.findall(r"(vm|lgkm)cnt\((\d+)\)", i.arguments)}
    elif i.name in ("s_barrier", "s_nop", "s_setprio"):
        i.kind = i.name[2:]
        i.number = int(i.arguments.split()[0], 0) if i.arguments else 0
    elif i.name.startswith(("s_cbranch", "s_branch", "s_endpgm")):
        i.kind = "branch"
        source = {"scc": "scc", "vcc": "vcc", "exe": "exec"}.get(i.name[len("s_cbranch_") :][:3])
        i.reads = (("special", source),) if source in ("scc", "vcc") else ()
    elif i.name.startswith("s_"):
        i.kind, i.writes, i.reads = "scalar", registers(first), registers(rest)
        if i.name.startswith(("s_cmp", "s_bitcmp")):
            i.writes, i.reads = (("special", "scc"),), registers(i.arguments)


def _classify_valu(i: Instruction, parts: list[str], first: str, rest: str) -> None:
    i.writes, i.reads = registers(first), registers(rest)
    if _TRANSCENDENTAL.match(i.name):
        i.kind = "transcendental"
    elif _PACKED.match(i.name):
        i.kind = "packed"
    elif _QUARTER.match(i.name):
        i.kind = "quarter"
    elif i.name.startswith("v_permlane"):
        i.kind = "permlane"
        i.writes = i.reads = registers(",".join(parts[:2]))
    elif i.name.startswith("v_cvt"):
        i.kind = "convert"
    else:
        i.kind = "plain"
    if i.name.startswith(("v_fmac", "v_mac", "v_cvt_pk_fp8", "v_cvt_pk_bf8", "v_writelane")):
        i.reads += i.writes


def _classify_memory(i: Instruction, first: str, rest: str) -> None:
    i.bytes, i.counter = WAVE * _width(i.name), "vm"
    if i.name.startswith("scratch_"):
        i.kind, i.reads = "scratch", registers(i.arguments)
    elif "load" in i.name and ("lds" in i.name or re.search(r"\blds\b", i.arguments)):
        i.kind, i.reads = "dma", registers(i.arguments)
    elif "load" in i.name:
        i.kind, i.writes, i.reads = "vector_load", registers(first), registers(rest)
    else:
        i.kind, i.reads = "store", registers(i.arguments)


def _width(name: str) -> int:
    return next((width for text, width in _WIDTHS if text in name), 4)


def _matrix_work(i: Instruction) -> tuple[int, int]:
    """(clocks in the matrix unit, flops of the wave)."""
    m, n, k, kind = _SHAPE.search(i.name).groups()
    m, n, k = int(m), int(n), int(k)
    if kind.startswith("f8f6f4"):
        formats = re.search(r"cbsz:(\d)", i.arguments), re.search(r"blgp:(\d)", i.arguments)
        eight_bit = any(int(f[1]) < 2 if f else True for f in formats)
        return (64 if m == 32 else 32) // (1 if eight_bit else 2), 2 * m * n * k
    return (32 if m == 32 else 16), 2 * m * n * k
