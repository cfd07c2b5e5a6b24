"""Assembles small gfx950 kernels with llvm-mc and lld and runs them on the emulator through the HIP C API.

A kernel body finds s[0:1] = kernarg, s2 = workgroup id x, v0 = work-item id (x) and ends with s_endpgm. Arguments: 8-byte pointers
and 4-byte integers, in order, naturally aligned.
"""

import ctypes
import os
import struct
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent.parent
LIBRARY = Path(os.environ.get("GFX950_EMU_LIBRARY", ROOT / "emulator" / "build" / "rocm" / "lib" / "libamdhip64.so"))
ERROR_NAMES = {0: "success", 700: "illegal address", 719: "launch failure"}


@dataclass(frozen=True)
class Source:
    """One kernel: `body` is assembly; `arguments` are 'p' (pointer) and 'i' (int32)."""

    name: str
    body: str
    arguments: str = "pp"
    lds: int = 0
    scratch: int = 0
    vgprs: int = 128
    agprs: int = 0
    sgprs: int = 96
    extra: str = ""
    group_ids: int = 1
    metadata: tuple = field(default=())

    def offsets(self):
        at, out = 0, []
        for kind in self.arguments:
            size = 8 if kind == "p" else 4
            at = (at + size - 1) // size * size
            out.append((at, size))
            at += size
        return out, (at + 7) // 8 * 8


def _assembly(sources):
    text = ['.amdgcn_target "amdgcn-amd-amdhsa--gfx950"', ".text"]
    for s in sources:
        text += [f".globl {s.name}", ".p2align 8", f".type {s.name},@function", f"{s.name}:", s.body, "s_endpgm"]
        text += [f".L{s.name}_end:", f".size {s.name}, .L{s.name}_end-{s.name}"]
    text += [".rodata", ".p2align 6"]
    for s in sources:
        accum = (s.vgprs + 3) // 4 * 4
        text += [
            f".amdhsa_kernel {s.name}",
            f".amdhsa_group_segment_fixed_size {s.lds}",
            f".amdhsa_private_segment_fixed_size {s.scratch}",
            f".amdhsa_kernarg_size {s.offsets()[1]}",
            ".amdhsa_user_sgpr_kernarg_segment_ptr 1",
            ".amdhsa_float_denorm_mode_32 3",  # the directive's default would flush
            ".amdhsa_system_sgpr_workgroup_id_x 1",
            f".amdhsa_system_sgpr_workgroup_id_y {int(s.group_ids > 1)}",
            f".amdhsa_system_sgpr_workgroup_id_z {int(s.group_ids > 2)}",
            f".amdhsa_next_free_vgpr {accum + s.agprs}",
            f".amdhsa_accum_offset {accum}",
            f".amdhsa_next_free_sgpr {s.sgprs}",
            s.extra,
            ".end_amdhsa_kernel",
        ]
    text += [
        ".amdgpu_metadata",
        "---",
        "amdhsa.version: [1, 2]",
        "amdhsa.target: amdgcn-amd-amdhsa--gfx950",
        "amdhsa.kernels:",
    ]
    for s in sources:
        offsets, size = s.offsets()
        text += [
            f"  - .name: {s.name}",
            f"    .symbol: {s.name}.kd",
            f"    .kernarg_segment_size: {size}",
            f"    .group_segment_fixed_size: {s.lds}",
            f"    .private_segment_fixed_size: {s.scratch}",
            "    .kernarg_segment_align: 8",
            "    .wavefront_size: 64",
            f"    .sgpr_count: {s.sgprs}",
            f"    .vgpr_count: {s.vgprs}",
            f"    .agpr_count: {s.agprs}",
            "    .max_flat_workgroup_size: 1024",
        ]
        if offsets:
            text.append("    .args:")
        for (at, nbytes), kind in zip(offsets, s.arguments):
            value_kind = "global_buffer" if kind == "p" else "by_value"
            text.append(f"      - {{ .offset: {at}, .size: {nbytes}, .value_kind: {value_kind} }}")
    text += ["...", ".end_amdgpu_metadata", ""]
    return "\n".join(text)


def tool(name):
    for candidate in (name + "-22", name):
        for folder in os.environ.get("PATH", "").split(os.pathsep) + ["/usr/lib/llvm-22/bin"]:
            if (Path(folder) / candidate).exists():
                return str(Path(folder) / candidate)
    raise FileNotFoundError(f"{name}-22 is not installed (Debian packages llvm-22 and lld-22)")


def assemble(*sources):
    """The code object of these kernels; an assembler error names its line."""
    with tempfile.TemporaryDirectory() as folder:
        source, unit, linked = (Path(folder) / n for n in ("kernel.s", "kernel.o", "kernel.hsaco"))
        source.write_text(_assembly(sources))
        command = [
            tool("llvm-mc"),
            "-triple=amdgcn-amd-amdhsa",
            "-mcpu=gfx950",
            "-filetype=obj",
            str(source),
            "-o",
            str(unit),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ValueError(done.stderr)
        subprocess.run([tool("ld.lld"), "-shared", str(unit), "-o", str(linked)], check=True, capture_output=True)
        return linked.read_bytes()


class LaunchError(RuntimeError):
    """A HIP error with the emulator's text."""

    def __init__(self, code, text):
        super().__init__(f"{ERROR_NAMES.get(code, code)}: {text}")
        self.code, self.text = code, text


@cache
def _hip():
    library = ctypes.CDLL(str(LIBRARY))
    library.gfx950_emu_last_error_text.restype = ctypes.c_char_p
    return library


def _check(code):
    if code:
        text = (_hip().gfx950_emu_last_error_text() or b"").decode()
        _hip().hipGetLastError()
        raise LaunchError(code, text)


class Buffer:
    """Device memory; bytes that nobody wrote stay unwritten."""

    def __init__(self, nbytes):
        pointer = ctypes.c_void_p()
        _check(_hip().hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(nbytes)))
        self.address, self.nbytes = pointer.value, nbytes

    @classmethod
    def of(cls, array):
        array = np.ascontiguousarray(array)
        self = cls(array.nbytes)
        _check(
            _hip().hipMemcpy(
                ctypes.c_void_p(self.address), array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes), 1
            )
        )
        return self

    def read(self, dtype, count=None):
        array = np.empty(self.nbytes // np.dtype(dtype).itemsize if count is None else count, dtype)
        _check(
            _hip().hipMemcpy(
                array.ctypes.data_as(ctypes.c_void_p), ctypes.c_void_p(self.address), ctypes.c_size_t(array.nbytes), 2
            )
        )
        return array

    def free(self):
        if self.address:
            _check(_hip().hipFree(ctypes.c_void_p(self.address)))
            self.address = None

    def __del__(self):
        with suppress(Exception):  # interpreter shutdown
            self.free()


@contextmanager
def environment(**values):
    before = {k: os.environ.get(k) for k in values}
    os.environ.update({k: str(v) for k, v in values.items()})
    try:
        yield
    finally:
        for k, v in before.items():
            if v is None:
                os.environ.pop(k, None)
            else:
                os.environ[k] = v


class Module:
    def __init__(self, image, sources=()):
        self.handle = ctypes.c_void_p()
        self.sources = {s.name: s for s in sources}
        _check(_hip().hipModuleLoadData(ctypes.byref(self.handle), image))

    def launch(self, name, *arguments, grid=(1, 1, 1), block=(64, 1, 1), strict=False, seed=0, lds=0, **settings):
        """Raises LaunchError with the emulator's text. Settings: reports=, threads=, ... become GFX950_EMU_* variables."""
        source = self.sources[name]
        offsets, size = source.offsets()
        packed = bytearray(size)
        for (at, nbytes), kind, value in zip(offsets, source.arguments, arguments, strict=True):
            number = value.address if isinstance(value, Buffer) else value
            packed[at : at + nbytes] = struct.pack("<Q" if kind == "p" else "<I", int(number) & (2 ** (8 * nbytes) - 1))
        function = ctypes.c_void_p()
        _check(_hip().hipModuleGetFunction(ctypes.byref(function), self.handle, name.encode()))
        raw = ctypes.create_string_buffer(bytes(packed), max(size, 1))
        count = ctypes.c_size_t(size)
        extra = (ctypes.c_void_p * 5)(
            1, ctypes.cast(raw, ctypes.c_void_p), 2, ctypes.cast(ctypes.byref(count), ctypes.c_void_p), 3
        )
        variables = {"GFX950_EMU_STRICT": int(strict), "GFX950_EMU_SEED": seed}
        variables |= {f"GFX950_EMU_{k.upper()}": v for k, v in settings.items()}
        with environment(**variables):
            _check(_hip().hipModuleLaunchKernel(function, *grid, *block, lds, None, None, extra))
            _check(_hip().hipDeviceSynchronize())


def module(*sources):
    return Module(assemble(*sources), sources)


def run_once(source, *arguments, **options):
    module(source).launch(source.name, *arguments, **options)


LOAD_ARGUMENTS = """
s_load_dwordx4 s[4:7], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
"""
