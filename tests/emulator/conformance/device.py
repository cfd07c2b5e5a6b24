"""A small host for foreign code objects: memory, launch and errors over libamdhip64's C API, with numpy arrays.

Owns: packing of kernel arguments by the object's own metadata. Refuses: an argument list that does not match it.
"""

import ctypes
import os
import struct
from io import BytesIO
from pathlib import Path

import msgpack
import numpy as np
from elftools.elf.elffile import ELFFile

LAUNCH_PARAM_BUFFER_POINTER, LAUNCH_PARAM_BUFFER_SIZE, LAUNCH_PARAM_END = 1, 2, 3


class HipFailure(RuntimeError):
    pass


def kernels_of(binary):
    """{kernel name: its metadata} of a code object (LLVM AMDGPUUsage: the NT_AMDGPU_METADATA note)."""
    for segment in ELFFile(BytesIO(binary)).iter_segments("PT_NOTE"):
        for note in segment.iter_notes():
            if note["n_name"] == "AMDGPU":
                described = note["n_desc"]
                described = described if isinstance(described, bytes) else bytes.fromhex(described)
                return {k[".name"]: k for k in msgpack.unpackb(described, strict_map_key=False)["amdhsa.kernels"]}
    raise ValueError("the object has no AMDGPU metadata")


class Device:
    """Device 0 of the library at ROCM_PATH. Every array that it makes has no room to spare, so that an overrun is seen."""

    def __init__(self):
        library = Path(os.environ.get("CONFORMANCE_ROCM", os.environ["ROCM_PATH"]), "lib", "libamdhip64.so")
        self.c = ctypes.CDLL(str(library))
        self.c.hipGetErrorName.restype = ctypes.c_char_p
        self.error_text = getattr(self.c, "gfx950_emu_last_error_text", None)
        if self.error_text:
            self.error_text.restype = ctypes.c_char_p
        self.live = []

    def check(self, code, what):
        if code:
            text = self.error_text().decode() if self.error_text else ""
            raise HipFailure(f"{what}: {self.c.hipGetErrorName(code).decode()}\n{text}")

    def upload(self, array):
        array = np.ascontiguousarray(array)
        at = ctypes.c_void_p()
        self.check(self.c.hipMalloc(ctypes.byref(at), ctypes.c_size_t(max(array.nbytes, 1))), "hipMalloc")
        self.live.append(at)
        source = array.ctypes.data_as(ctypes.c_void_p)
        if array.nbytes:
            self.check(self.c.hipMemcpy(at, source, ctypes.c_size_t(array.nbytes), 1), "hipMemcpy to the device")
        return at.value

    def reserve(self, nbytes):
        """Device memory that nobody has written."""
        at = ctypes.c_void_p()
        self.check(self.c.hipMalloc(ctypes.byref(at), ctypes.c_size_t(nbytes)), "hipMalloc")
        self.live.append(at)
        return at.value

    def download(self, address, like):
        out = np.empty_like(np.ascontiguousarray(like))
        target = out.ctypes.data_as(ctypes.c_void_p)
        self.check(
            self.c.hipMemcpy(target, ctypes.c_void_p(address), ctypes.c_size_t(out.nbytes), 2),
            "hipMemcpy from the device",
        )
        return out

    def release(self):
        for at in self.live:
            self.check(self.c.hipFree(at), "hipFree")
        self.live.clear()

    def launch(self, binary, name, grid, block, arguments, shared=0):
        """arguments: bytes of the explicit arguments in order (see packed), or values by position."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.c.hipModuleLoadData(ctypes.byref(module), binary), "hipModuleLoadData")
        self.check(
            self.c.hipModuleGetFunction(ctypes.byref(function), module, name.encode()), f"hipModuleGetFunction {name}"
        )
        buffer = ctypes.create_string_buffer(arguments, len(arguments))
        size = ctypes.c_size_t(len(arguments))
        extra = (ctypes.c_void_p * 5)(
            LAUNCH_PARAM_BUFFER_POINTER,
            ctypes.addressof(buffer),
            LAUNCH_PARAM_BUFFER_SIZE,
            ctypes.addressof(size),
            LAUNCH_PARAM_END,
        )
        sizes = [ctypes.c_uint(int(n)) for n in (*grid, *block)]
        self.check(
            self.c.hipModuleLaunchKernel(function, *sizes, ctypes.c_uint(shared), None, None, extra),
            f"launch of {name}",
        )
        self.check(self.c.hipDeviceSynchronize(), f"{name}")
        self.check(self.c.hipModuleUnload(module), "hipModuleUnload")


def packed(metadata, values):
    """The kernarg bytes of the explicit arguments. values: an int (address or integer), a float, or bytes, one an argument."""
    explicit = [a for a in metadata.get(".args", ()) if not a[".value_kind"].startswith("hidden_")]
    if len(explicit) != len(values):
        raise ValueError(f"{metadata['.name']} takes {len(explicit)} arguments, {len(values)} given")
    end = max((a[".offset"] + a[".size"] for a in explicit), default=0)
    out = bytearray(end)
    for argument, value in zip(explicit, values):
        at, size = argument[".offset"], argument[".size"]
        if isinstance(value, bytes):
            raw = value
        elif isinstance(value, (float, np.floating)):
            raw = struct.pack("<f" if size == 4 else "<d", value)
        else:
            raw = (int(value) % (1 << 8 * size)).to_bytes(size, "little")
        if len(raw) != size:
            raise ValueError(f"{metadata['.name']}: argument {argument} got {len(raw)} bytes")
        out[at : at + size] = raw
    return bytes(out)
