"""Times the published shapes on a device with HIP events, beside the figures that were published for them.

    python -m benchmarks.bench_gpu [--repeat N] [--only PATTERN] [--json FILE]
    python -m benchmarks.bench_gpu --tiny        a thousandth of each shape, to see on the emulator that it works

B=1, Hq=16, Hkv=1, causal. Each shape is run warm, over a rotation of buffers larger than the last-level cache, one
event pair a launch; the median is reported. TFLOP/s counts 2 * Hq * pairs * (D + Dv), pairs = Lq (Lq + 1) / 2 + (Lk -
Lq) Lq. On the emulator the times say how fast the emulator is, and nothing of a GPU: no figure of this table has been
measured with this package on hardware yet.
"""

from __future__ import annotations

import argparse
import array
import dataclasses
import json
import random
import statistics
import sys
from pathlib import Path

import paged_attn_runtime as par

HEADS = 16
CACHE_BYTES = 256 << 20  # the last-level cache, which a rotation must outgrow
WARM_UP = 3
TINY_DIVISOR = 64
FP8_BYTES = bytes(range(0x20, 0x38)) + bytes(range(0xA0, 0xB8))  # 2**-3 to 0.9375, both signs


@dataclasses.dataclass(frozen=True)
class Shape:
    head_dim: int
    v_head_dim: int
    page_size: int
    new: int
    keys: int
    published_ms: float | None  # MI350X
    source: str

    @property
    def name(self) -> str:
        return f"D{self.head_dim}/{self.v_head_dim} page {self.page_size} {self.new}/{self.keys}"

    @property
    def flops(self) -> int:
        pairs = self.new * (self.new + 1) // 2 + (self.keys - self.new) * self.new
        return 2 * HEADS * pairs * (self.head_dim + self.v_head_dim)

    def tiny(self) -> Shape:
        return dataclasses.replace(
            self, new=self.new // TINY_DIVISOR, keys=self.keys // TINY_DIVISOR, published_ms=None
        )


K = 1024
SHAPES = (
    Shape(128, 128, 64, 4 * K, 8 * K, 0.1635, "FlyDSL, paged"),
    Shape(128, 128, 64, 16 * K, 32 * K, 2.0737, "FlyDSL, paged"),
    Shape(192, 128, 64, 16 * K, 32 * K, 3.0717, "FlyDSL, paged"),
    Shape(192, 192, 64, 16 * K, 32 * K, 4.9083, "FlyDSL, paged"),
    Shape(192, 128, 16, 16 * K, 32 * K, None, ""),
    Shape(192, 128, 1024, 16 * K, 32 * K, None, ""),
    Shape(192, 128, 1, 16 * K, 32 * K, None, ""),
)


def buffers(shape: Shape, seed: int) -> dict[str, object]:
    """One call's tensors: FP8 bytes of ordinary size, pages shuffled."""
    generator = random.Random(seed)
    pages = -(-shape.keys // shape.page_size)
    ids = list(range(pages))
    generator.shuffle(ids)
    chunk = bytes(generator.choices(FP8_BYTES, k=65_537))  # repeats, but never in step with a row

    def fp8(*sizes: int) -> par.DeviceArray:
        count = 1
        for size in sizes:
            count *= size
        return par.DeviceArray.from_bytes((chunk * (count // len(chunk) + 1))[:count], sizes, "|u1")

    def ints(*values: int) -> par.DeviceArray:
        return par.DeviceArray.from_bytes(array.array("i", values).tobytes(), (len(values),), "<i4")

    d, dv, page = shape.head_dim, shape.v_head_dim, shape.page_size
    table = ints(*ids)
    return {
        "q": fp8(shape.new, HEADS, d),
        "k_cache": fp8(pages, 1, d) if page == 1 else fp8(pages, 1, d // 16, page, 16),
        "v_cache": fp8(pages, 1, dv) if page == 1 else fp8(pages, 1, page // 16, dv, 16),
        "out": par.DeviceArray.zeros((shape.new, HEADS, dv), "<u2"),
        "cu_seqlens_q": ints(0, shape.new),
        "seqlens_k": ints(shape.keys),
        "block_table": table.view((1, pages), (4 * pages, 4)),
        "max_seqlen_q": shape.new,
        "max_seqlen_k": shape.keys,
        "q_descale": 1.0,
        "k_descale": 1.0,
        "v_descale": 1.0,
    }


def check(result: tuple) -> object:
    if result[0]:
        raise RuntimeError(f"HIP: {result[0].name}")
    return result[1] if len(result) > 1 else None


def median_milliseconds(shape: Shape, repeat: int, rotation: int) -> float:
    from hip import hip

    calls = [buffers(shape, seed) for seed in range(rotation)]
    begin, end = check(hip.hipEventCreate()), check(hip.hipEventCreate())
    times = []
    for i in range(WARM_UP + repeat):
        check(hip.hipEventRecord(begin, None))
        par.paged_prefill(**calls[i % rotation])
        check(hip.hipEventRecord(end, None))
        check(hip.hipEventSynchronize(end))
        if i >= WARM_UP:
            times.append(check(hip.hipEventElapsedTime(begin, end)))
    for event in (begin, end):
        check(hip.hipEventDestroy(event))
    return statistics.median(times)


def rotation_of(shape: Shape) -> int:
    """Buffers enough that a launch finds none of its inputs in the last-level cache."""
    bytes_a_call = shape.new * HEADS * (shape.head_dim + 2 * shape.v_head_dim) + shape.keys * (
        shape.head_dim + shape.v_head_dim
    )
    return max(2, CACHE_BYTES // bytes_a_call + 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repeat", type=int, default=20, metavar="N", help="timed launches of each shape")
    parser.add_argument("--only", default="", metavar="PATTERN", help="shapes with this in their name")
    parser.add_argument("--tiny", action="store_true", help="shapes for the emulator")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    print(par.device_description(), "\n")
    print(f"{'shape':34}{'ms':>10}{'TFLOP/s':>10}{'published ms':>14}{'ratio':>8}")
    rows = []
    for shape in SHAPES:
        if options.only not in shape.name:
            continue
        run = shape.tiny() if options.tiny else shape
        time = median_milliseconds(run, options.repeat, 2 if options.tiny else rotation_of(run))
        published = f"{run.published_ms:.4f}" if run.published_ms else "-"
        ratio = f"{time / run.published_ms:.2f}" if run.published_ms else "-"
        print(f"{run.name:34}{time:10.4f}{run.flops / time / 1e9:10.1f}{published:>14}{ratio:>8}", flush=True)
        rows.append({"shape": run.name, "ms": time, "flops": run.flops, "published_ms": run.published_ms})
    if options.json:
        Path(options.json).write_text(json.dumps({"device": par.device_description(), "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
