"""What a launch costs on the host: this runtime beside a bare hipModuleLaunchKernel and FlyDSL's own launchers.

    make emulator kernels
    python -m benchmarks.launch_cost [--json FILE] [--no-flydsl] [--check]

One process on the emulator's null device (GFX950_EMU_NULL=1), where a launch returns at once: what is left is the
price of getting there. Each row is the best of several rounds, in microseconds a call. The bare launch is what a
careful user of hip-python writes by hand: take the tensors' pointers, pack the segment with one struct.pack_into, pass
it with HIP_LAUNCH_PARAM_BUFFER_POINTER, look at the result. It checks nothing. torch's tensors are CPU tensors in
memory that the emulator calls device-accessible; each call asks whether that still holds, which GPU tensors do not
need. --check exits with 1 when a limit is passed.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.metadata
import json
import math
import os
import struct
import sys
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EMULATOR_LIB = ROOT / "emulator" / "build" / "rocm" / "lib"
ROUNDS, CALLS_A_ROUND = 60, 500

ROWS, HEADS, DIM, V_DIM, PAGE, PAGES, BATCH = 378, 16, 192, 128, 64, 32, 3
BOUNDS = {"max_seqlen_q": 300, "max_seqlen_k": 1077}
POINTERS_AND_REST = struct.Struct("<14Q10q4f6i")

# multiples of the bare launch with the same tensors; hip-python 7.2 has the cheaper calls
LIMITS = {
    "10": {"checked": 3.0, "unchecked": 2.5, "prefill": 8.0},
    "7": {"checked": 5.0, "unchecked": 5.0, "prefill": 8.0},
}


def set_up_environment(folder: Path) -> None:
    """A ROCM_PATH with the emulator and the linker that FlyDSL's @jit wants; before anything imports hip-python."""
    (folder / "lib").symlink_to(EMULATOR_LIB)
    if "flydsl" in _installed():
        from builder.toolchain import COMPILE_OPTIONS, find_toolchain, lay_out_rocm

        lay_out_rocm(find_toolchain(), folder)
        os.environ.update(COMPILE_OPTIONS)
    os.environ |= {"ROCM_PATH": str(folder), "GFX950_EMU_NULL": "1", "GFX950_EMU_ALL_HOST_MEMORY": "1"}
    os.environ.pop("GFX950_EMU_STRICT", None)


def _installed() -> set[str]:
    return {(distribution.metadata["Name"] or "").lower() for distribution in importlib.metadata.distributions()}


def microseconds(*calls: Callable[[], object]) -> list[float]:
    """The best round's time a call.

    Rounds are short and take turns, so that what else the machine does hits all calls alike.
    """
    timers = [timeit.Timer(call) for call in calls]
    best = [math.inf] * len(calls)
    for _ in range(ROUNDS):
        best = [min(least, timer.timeit(CALLS_A_ROUND) / CALLS_A_ROUND) for least, timer in zip(best, timers)]
    return [time * 1e6 for time in best]


def device_arrays() -> dict[str, object]:
    import paged_attn_runtime as par

    zeros = par.DeviceArray.zeros
    return {
        "q": zeros((ROWS, HEADS, DIM), "|u1"),
        "k_cache": zeros((PAGES, 1, DIM // 16, PAGE, 16), "|u1"),
        "v_cache": zeros((PAGES, 1, PAGE // 16, V_DIM, 16), "|u1"),
        "out": zeros((ROWS, HEADS, V_DIM), "<u2"),
        "cu_seqlens_q": zeros((BATCH + 1,), "<i4"),
        "seqlens_k": zeros((BATCH,), "<i4"),
        "block_table": zeros((BATCH, 17), "<i4"),
        **{name: zeros((1,), "<f4") for name in ("q_descale", "k_descale", "v_descale")},
    }


def torch_tensors() -> dict[str, object]:
    import torch

    dtypes = {"|u1": torch.uint8, "<u2": torch.bfloat16, "<i4": torch.int32, "<f4": torch.float32}
    return {name: torch.zeros(array.shape, dtype=dtypes[array.typestr]) for name, array in device_arrays().items()}


def bare_launch(tensors: dict[str, object], pointer: Callable[[object], int], entry, function) -> Callable[[], None]:
    """The launch that a user writes by hand for one variant."""
    from hip import hip

    order = ("q", "k_cache", "v_cache", "out", None, "cu_seqlens_q", "seqlens_k", "block_table", None, None, None)
    order += ("q_descale", "k_descale", "v_descale")
    given = [None if name is None else tensors[name] for name in order]
    strides = (
        HEADS * DIM,
        DIM,
        DIM * PAGE,
        DIM * PAGE,
        V_DIM * PAGE,
        V_DIM * PAGE,
        HEADS * V_DIM * 2,
        V_DIM * 2,
        ROWS,
        17,
    )
    scalars = (DIM**-0.5, 1.0, 1.0, 1.0, BATCH, ROWS, HEADS, 1, BOUNDS["max_seqlen_q"], 4)
    segment = ctypes.create_string_buffer(entry.kernarg.bytes)
    size = ctypes.c_size_t(entry.kernarg.bytes)
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(segment), 2, ctypes.addressof(size), 3)
    extra.keep_alive = size  # the array holds its address only
    x, y, z = entry.grid.workgroups(
        {"batch": BATCH, "total_q": ROWS, "num_q_heads": HEADS, "num_kv_heads": 1, **BOUNDS}
        | {"query_rows_per_workgroup": entry.query_rows_per_workgroup}
    )
    threads = entry.block[0]

    def call() -> None:
        pointers = [0 if tensor is None else pointer(tensor) for tensor in given]
        POINTERS_AND_REST.pack_into(segment, 0, *pointers, *strides, *scalars)
        (error,) = hip.hipModuleLaunchKernel(function, x, y, z, threads, 1, 1, 0, None, None, extra)
        if error != hip.hipError_t.hipSuccess:
            raise RuntimeError(error)

    return call


def measure_runtime(
    kind: str, tensors: dict[str, object], pointer: Callable[[object], int]
) -> list[tuple[str, str, float, float]]:
    """(name, what its limit is called, microseconds, multiple of the bare launch)"""
    import paged_attn_runtime as par
    from paged_attn_runtime.catalogue import catalogue
    from paged_attn_runtime.modules import loaded_kernel
    from paged_attn_runtime.variant import Variant

    found = catalogue()
    entry = found.find(Variant(DIM, V_DIM, PAGE, "vectorized_5d", "longest_first"))
    sizes = {"head_dim": DIM, "v_head_dim": V_DIM, "num_q_heads": HEADS, "num_kv_heads": 1, "page_size": PAGE}
    plan = par.PagedPrefillPlan(**sizes, max_batch=64, max_total_q=4096, **BOUNDS, batch_policy="longest_first")
    calls = [
        (
            "bare hipModuleLaunchKernel",
            "",
            bare_launch(tensors, pointer, entry, loaded_kernel(found, entry, 0, 0).function),
        ),
        ("plan.run, checked", "checked", lambda: plan.run(**tensors)),
        ("plan.run, check=False", "unchecked", lambda: plan.run(**tensors, check=False)),
        ("paged_prefill", "prefill", lambda: par.paged_prefill(**tensors, **BOUNDS)),
    ]
    times = microseconds(*(call for _, _, call in calls))
    return [(f"{name}, {kind}", limit, time, time / times[0]) for (name, limit, _), time in zip(calls, times)]


def measure_flydsl() -> list[tuple[str, str, float, float]]:
    """FlyDSL's launchers with arguments made beforehand, which is the least that they can cost."""
    import flydsl.compiler as flyc
    import flydsl.expr as fx

    from kernels import build_variant
    from paged_attn_runtime.variant import Variant

    source = build_variant(Variant(DIM, V_DIM, PAGE, "vectorized_5d", "longest_first"))
    compiled = flyc.compile[source.hints](source.launcher, *source.placeholder_args)
    arguments = (*source.placeholder_args, fx.Stream(None))  # a compiled function takes no defaults
    jit = min(timeit.repeat(lambda: source.launcher(*arguments), number=1, repeat=4)) * 1e6
    return [
        ("FlyDSL 0.5.0 CompiledFunction", "", *microseconds(lambda: compiled(*arguments)), 0.0),
        ("FlyDSL 0.5.0 @jit call", "", jit, 0.0),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--no-flydsl", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a limit is passed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        set_up_environment(Path(folder))
        version = importlib.metadata.version("hip-python")
        limits = LIMITS[version.split(".", 1)[0]]
        rows = measure_runtime("DeviceArray", device_arrays(), lambda array: array.pointer)
        if "torch" in _installed():
            rows += measure_runtime("torch", torch_tensors(), lambda tensor: tensor.data_ptr())
        if "flydsl" in _installed() and not options.no_flydsl:
            rows += measure_flydsl()
    passed = True
    print(f"hip-python {version}, Python {sys.version.split()[0]}, null device\n")
    print(f"{'call':48}{'us':>10}{'x bare':>8}{'limit':>7}")
    for name, limit, time, multiple in rows:
        passed &= not limit or multiple <= limits[limit]
        shown = f"{multiple:.2f}" if multiple else f"{time / rows[0][2]:.0f}"
        print(f"{name:48}{time:10.2f}{shown:>8}{limits.get(limit, ''):>7}")
    if options.json:
        value = {"hip_python": version, "rows": [dict(zip(("call", "limit", "us", "x_bare"), row)) for row in rows]}
        Path(options.json).write_text(json.dumps(value, indent=1) + "\n")
    return 0 if passed or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
