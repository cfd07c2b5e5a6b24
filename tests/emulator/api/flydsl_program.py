"""Run by test_flydsl.py in a process of its own: FlyDSL compiles a kernel and its own JIT runtime launches it on the emulator."""

import os
import struct
from pathlib import Path

import flydsl.compiler as flyc
import flydsl.expr as fx
from flydsl.compiler.jit_argument import PointerJitArg

from tests.emulator.api.ctypes_hip import Hip

COUNT = 1000


@flyc.kernel(name="scale_and_shift", known_block_size=[256, 1, 1])
def scale_and_shift(source: fx.Pointer, target: fx.Pointer, count: fx.Int32, factor: fx.Float32, shift: fx.Int32):
    i = fx.block_idx.x * 256 + fx.thread_idx.x
    if i < count:
        target[i] = source[i] * factor + fx.Float32(shift)


@flyc.jit
def launch(
    source: fx.Pointer,
    target: fx.Pointer,
    count: fx.Int32,
    factor: fx.Float32,
    shift: fx.Int32,
    stream: fx.Stream,
):
    blocks = (COUNT + 255) // 256
    scale_and_shift(source, target, count, factor, shift).launch(grid=(blocks, 1, 1), block=(256, 1, 1), stream=stream)


def main():
    hip = Hip()
    source = hip.upload(struct.pack(f"<{COUNT}f", *range(COUNT)))
    target = hip.upload(bytes(4 * COUNT))
    stream = hip.stream()
    pointers = [PointerJitArg(fx.Float32, address) for address in (source, target)]
    launch(*pointers, COUNT, 0.5, 3, stream=fx.Stream(stream))
    hip.ok("hipStreamSynchronize", stream)
    result = struct.unpack(f"<{COUNT}f", hip.download(target, 4 * COUNT))
    assert result == tuple(i * 0.5 + 3 for i in range(COUNT)), result[:8]
    maps = Path("/proc/self/maps").read_text()
    assert "libfly_jit_runtime.so" in maps and str(os.path.realpath(hip.library._name)) in maps
    print("flydsl ran", hip.live("modules"), "module")


if __name__ == "__main__":
    main()
