"""Loads and launches mutated code objects in a process of its own; prints the seed before each, so that a crash names it.

python -m tests.emulator.fuzz.worker LIBRARY OBJECT SYMBOL KERNARG_BYTES FIRST_SEED COUNT [SECONDS]
"""

import ctypes
import sys
import tempfile
import time
from pathlib import Path

from tests.emulator.fuzz.mutate import mutate

HOST_BYTES = 1 << 20
EXTRA_POINTER, EXTRA_SIZE, EXTRA_END = 1, 2, 3


def main(library, path, symbol, kernarg_bytes, first, count, seconds=0.0):
    with tempfile.TemporaryDirectory() as folder:
        fuzz(ctypes.CDLL(library), Path(folder) / "object.hsaco", path, symbol, kernarg_bytes, first, count, seconds)


def fuzz(hip, scratch, path, symbol, kernarg_bytes, first, count, seconds):
    good = Path(path).read_bytes()
    memory = ctypes.c_void_p()
    assert hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(HOST_BYTES)) == 0
    assert hip.hipMemset(memory, 0, ctypes.c_size_t(HOST_BYTES)) == 0
    kernarg = (ctypes.c_uint64 * (kernarg_bytes // 8))(*[memory.value] * (kernarg_bytes // 8))
    size = ctypes.c_size_t(kernarg_bytes)
    extra = (ctypes.c_void_p * 5)(
        EXTRA_POINTER, ctypes.addressof(kernarg), EXTRA_SIZE, ctypes.addressof(size), EXTRA_END
    )
    loaded = ran = 0
    deadline = time.monotonic() + seconds if seconds else None
    seed = first
    while (seed < first + count) if deadline is None else time.monotonic() < deadline:
        kind, data = mutate(good, seed)
        print(f"seed {seed} {kind}", flush=True)
        seed += 1
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        # From a file, whose size the library can see: hipModuleLoadData is told none and has to trust the ELF headers.
        scratch.write_bytes(data)
        if hip.hipModuleLoad(ctypes.byref(module), str(scratch).encode()) != 0:
            continue
        loaded += 1
        found = hip.hipModuleGetFunction(ctypes.byref(function), module, symbol.encode()) == 0
        if found and hip.hipModuleLaunchKernel(function, 2, 1, 1, 512, 1, 1, 0, None, None, extra) == 0:
            hip.hipDeviceSynchronize()
            ran += 1
        hip.hipModuleUnload(module)
        hip.hipGetLastError()
    # A good object still runs after all that.
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    assert hip.hipModuleLoadData(ctypes.byref(module), good) == 0
    assert hip.hipModuleGetFunction(ctypes.byref(function), module, symbol.encode()) == 0
    print(f"done {seed - first} objects, {loaded} loaded, {ran} launched", flush=True)


if __name__ == "__main__":
    library, path, symbol, kernarg_bytes, first, count, *rest = sys.argv[1:]
    main(library, path, symbol, int(kernarg_bytes), int(first), int(count), *map(float, rest))
