"""The emulator's library through ctypes, as a C program would call it: no binding in between that could hide or change a call.

`Hip(path)` wraps the library; `hip("hipMalloc", ...)` returns the name of the code, `hip.ok(...)` demands hipSuccess, `hip.error(...)` returns
the code's name and the explaining text. Integers are passed as 64-bit words.
"""

import contextlib
import ctypes
import struct
from pathlib import Path

LIBRARY = Path(__file__).parents[3] / "emulator" / "build" / "rocm" / "lib" / "libamdhip64.so.7"

HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT = 1, 2, 3, 4
GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2
PER_THREAD_STREAM = 2
NON_BLOCKING = 1


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32)]


class PointerAttributes(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("device", ctypes.c_int),
        ("device_pointer", ctypes.c_uint64),
        ("host_pointer", ctypes.c_uint64),
        ("managed", ctypes.c_int),
        ("flags", ctypes.c_uint),
    ]


class KernelNodeParams(ctypes.Structure):
    _fields_ = [
        ("block", Dim3),
        ("extra", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("grid", Dim3),
        ("kernel_params", ctypes.c_void_p),
        ("lds", ctypes.c_uint),
    ]


class MemsetParams(ctypes.Structure):
    _fields_ = [
        ("to", ctypes.c_void_p),
        ("element", ctypes.c_uint),
        ("height", ctypes.c_size_t),
        ("pitch", ctypes.c_size_t),
        ("value", ctypes.c_uint),
        ("width", ctypes.c_size_t),
    ]


def word(value):
    if isinstance(value, int):
        return ctypes.c_uint64(value & 0xFFFFFFFFFFFFFFFF)
    if isinstance(value, str):
        return ctypes.c_char_p(value.encode())
    return value


class Hip:
    def __init__(self, path=LIBRARY):
        self.library = ctypes.CDLL(str(path))
        for name in ("hipGetErrorName", "hipGetErrorString", "gfx950_emu_last_error_text", "gfx950_emu_version"):
            getattr(self.library, name).restype = ctypes.c_char_p
        self.library.gfx950_emu_live_objects.restype = ctypes.c_longlong

    def code(self, name, *arguments):
        return getattr(self.library, name)(*map(word, arguments))

    def __call__(self, name, *arguments):
        return self.name_of(self.code(name, *arguments))

    def name_of(self, code):
        return self.library.hipGetErrorName(code).decode()

    def text(self):
        return self.library.gfx950_emu_last_error_text().decode()

    def error(self, name, *arguments):
        """The code's name and the text, which starts with the call and the code; that start is taken off."""
        code = self(name, *arguments)
        if code == "hipSuccess":
            return code, ""
        start = f"{name}: {code}: "
        text = self.text()
        assert text.startswith(start), text
        return code, text.removeprefix(start)

    def ok(self, name, *arguments):
        code, text = self.error(name, *arguments)
        assert code == "hipSuccess", f"{name}: {code}: {text}"

    def get(self, name, *arguments, of=ctypes.c_uint64):
        """For calls whose first argument receives the result."""
        result = of()
        self.ok(name, ctypes.byref(result), *arguments)
        return result.value if hasattr(result, "value") else result

    def live(self, kind):
        return self.library.gfx950_emu_live_objects(kind.encode())

    # ---- short forms that many tests need ----
    def malloc(self, size):
        return self.get("hipMalloc", size)

    def upload(self, data):
        pointer = self.malloc(len(data))
        self.ok("hipMemcpy", pointer, ctypes.c_char_p(bytes(data)), len(data), HOST_TO_DEVICE)
        return pointer

    def download(self, pointer, size):
        buffer = ctypes.create_string_buffer(size)
        self.ok("hipMemcpy", buffer, pointer, size, DEVICE_TO_HOST)
        return buffer.raw

    def read_u32(self, pointer, index=0):
        return struct.unpack("<I", self.download(pointer + 4 * index, 4))[0]

    def pinned(self, size):
        return self.get("hipHostMalloc", size, 0)

    def stream(self, flags=0):
        return self.get("hipStreamCreateWithFlags", flags)

    def event(self, flags=0):
        return self.get("hipEventCreateWithFlags", flags)

    def module(self, image):
        return self.get("hipModuleLoadData", ctypes.c_char_p(image))

    def function(self, module, name):
        return self.get("hipModuleGetFunction", module, name)

    def launch(self, function, kernarg, stream=0, grid=(1, 1, 1), block=(64, 1, 1), lds=0, call=None):
        """By `extra`, the way this package's runtime launches. Returns the code's name (or call(name, ...))."""
        buffer = ctypes.create_string_buffer(bytes(kernarg), len(kernarg))
        size = ctypes.c_size_t(len(kernarg))
        extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(buffer), 2, ctypes.addressof(size), 3)
        return (call or self)("hipModuleLaunchKernel", function, *grid, *block, lds, stream, None, extra)

    def store(self, functions, pointer, value, stream=0, **options):
        return self.launch(functions["store"], struct.pack("<QI", pointer, value), stream, **options)

    @contextlib.contextmanager
    def capture(self, stream, mode=GLOBAL):
        """Yields a list that holds the graph's handle after the block."""
        result = []
        self.ok("hipStreamBeginCapture", stream, mode)
        yield result
        graph = ctypes.c_uint64()
        self.ok("hipStreamEndCapture", stream, ctypes.byref(graph))
        result.append(graph.value)

    def instantiate(self, graph):
        return self.get("hipGraphInstantiateWithFlags", graph, 0)
