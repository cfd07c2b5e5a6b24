"""Run by test_triton_driver.py under the conformance venv's Python: Triton compiles, and its own AMD driver loads and launches.

No torch: a tensor is a pointer with a dtype, and the driver gets its device and stream from here. All else is Triton's: the C module that it
compiles and that looks libamdhip64's functions up, its launcher, its check of pointers, its JIT.
"""

import ctypes
import os
import struct

import triton
import triton.language as tl
from triton.backends.amd.driver import HIPDriver, HIPLauncher, HIPUtils
from triton.runtime import driver

HIP = ctypes.CDLL(os.environ["TRITON_LIBHIP_PATH"])


class Tensor:
    def __init__(self, dtype, data, address=None):
        self.dtype, self.bytes = dtype, len(data)
        pointer = ctypes.c_uint64()
        ok(HIP.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(len(data))))
        ok(HIP.hipMemcpy(pointer, data, ctypes.c_size_t(len(data)), 1))
        self.address = address or pointer.value

    def data_ptr(self):
        return self.address

    def read(self, form):
        data = ctypes.create_string_buffer(self.bytes)
        ok(HIP.hipMemcpy(data, ctypes.c_uint64(self.address), ctypes.c_size_t(self.bytes), 2))
        return struct.unpack(form, data.raw)


def ok(code):
    assert code == 0, code


def own_driver(stream):
    made = HIPDriver.__new__(HIPDriver)  # its __init__ wants torch
    made.utils, made.launcher_cls = HIPUtils(), HIPLauncher
    made.get_current_device = lambda: 0
    made.get_current_stream = lambda device: stream
    return made


@triton.jit
def add(x, y, out, n, scale, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * scale + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def multiply(a, b, c, N: tl.constexpr):
    i, k = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.store(c + i * N + k, tl.dot(tl.load(a + i * N + k), tl.load(b + i * N + k)))


def main():
    stream = ctypes.c_uint64()
    ok(HIP.hipStreamCreate(ctypes.byref(stream)))
    driver.set_active(own_driver(stream.value))
    target = driver.active.get_current_target()
    assert (target.backend, target.arch, target.warp_size) == ("hip", "gfx950", 64), target

    n = 1000
    x, y, out = (Tensor("fp32", struct.pack(f"<{n}f", *(step * i for i in range(n)))) for step in (1, 2, 0))
    add[(4,)](x, y, out, n, 0.5, BLOCK=256)
    ok(HIP.hipStreamSynchronize(stream))
    assert out.read(f"<{n}f") == tuple(2.5 * i for i in range(n))

    n = 32
    rows = [[(i * 7 + k * 3) % 11 - 5 for k in range(n)] for i in range(n)]
    a = Tensor("fp16", struct.pack(f"<{n * n}e", *(v for row in rows for v in row)))
    c = Tensor("fp32", bytes(4 * n * n))
    multiply[(1,)](a, a, c, N=n)
    ok(HIP.hipStreamSynchronize(stream))
    assert c.read(f"<{n * n}f") == tuple(sum(row[j] * rows[j][k] for j in range(n)) for row in rows for k in range(n))

    host = ctypes.create_string_buffer(4096)
    try:
        add[(1,)](Tensor("fp32", bytes(4), ctypes.addressof(host)), y, out, 4, 0.5, BLOCK=256)
    except ValueError as error:
        assert "cannot be accessed from Triton" in str(error), error
    else:
        raise AssertionError("a pointer of the host was launched")
    print("triton's driver launched 2 kernels")


if __name__ == "__main__":
    main()
