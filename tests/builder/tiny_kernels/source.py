"""y[i] = x[i] * scale + head_dim, through LDS. Closure values make each variant's object differ from the others'."""

import dataclasses
import os
import signal
import sys
import time

import flydsl.compiler as flyc
import flydsl.expr as fx
from flydsl.compiler.jit_argument import PointerJitArg

THREADS = 256
BLOCK = (THREADS, 1, 1)
KERNARG = (("x", "pointer", 8), ("y", "pointer", 8), ("count", "i32", 4), ("factor", "f32", 4), ("rows", "i64", 8))
GRID = {"x": ["ceil_div", "total_q", "query_rows_per_workgroup"], "y": "num_q_heads", "z": 1}


@dataclasses.dataclass(frozen=True)
class KernelSource:
    launcher: object
    placeholder_args: tuple
    hints: dict
    kernarg: tuple
    block: tuple
    query_rows_per_workgroup: int
    grid: dict
    lds_bytes: int


def make_source(variant, scale, fault):
    _misbehave(fault)
    lds_bytes = 164864 if fault == "too much LDS" else 1024
    launcher = _launcher(
        "another_name" if fault == "wrong name" else variant.name, variant.head_dim, scale, lds_bytes, fault
    )
    pointer = PointerJitArg(fx.Float32, 0)
    source = KernelSource(
        launcher=launcher,
        placeholder_args=(pointer, pointer, 1, 1.0, fx.Int64(1), 1),
        hints={"waves_per_eu": 8} if fault == "spill" else {"fastmath": "contract"},
        kernarg=KERNARG,
        block=BLOCK,
        query_rows_per_workgroup=64,
        grid=GRID,
        lds_bytes=lds_bytes,
    )
    wrong = {
        "undeclared argument": {"kernarg": KERNARG[:-1]},
        "argument of another size": {"kernarg": (*KERNARG[:4], ("rows", "i32", 4))},
        "pointer as integer": {"kernarg": (("x", "i64", 8), *KERNARG[1:])},
        "unknown kind": {"kernarg": (*KERNARG[:4], ("rows", "i128", 8))},
        "other block": {"block": (128, 1, 1)},
        "other LDS": {"lds_bytes": 2048},
        "unknown quantity": {"grid": {**GRID, "y": "num_heads"}},
        "no z": {"grid": {"x": 1, "y": 1}},
    }
    return dataclasses.replace(source, **wrong.get(fault, {}))


def _misbehave(fault):
    if fault == "raise":
        raise RuntimeError("no such tile")
    if fault == "die":
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "print an error":
        print("loc(unknown): error: this is what a compiler says", file=sys.stderr)
    if fault == "hang":
        time.sleep(600)


def _launcher(name, head_dim, scale, lds_bytes, fault):
    @fx.struct
    class Lds:
        cells: fx.Array[fx.Float32, lds_bytes // 4, 16]

    @flyc.kernel(name=name, known_block_size=list(BLOCK))
    def kernel(x: fx.Pointer, y: fx.Pointer, count: fx.Int32, factor: fx.Float32, rows: fx.Int64):
        t = fx.thread_idx.x
        i = fx.block_idx.x * THREADS + t
        cells = fx.SharedAllocator().allocate(Lds).peek().cells.ptr
        cells[t] = x[t] * factor
        fx.gpu.barrier()
        if fault == "spill":
            values = [x[i + k] for k in fx.range_constexpr(200)]
            fx.gpu.barrier()
            for k in fx.range_constexpr(200):
                y[i + k] = values[k] * values[(k * 7 + 3) % 200]
        if i < count:
            y[i] = cells[t ^ 1] * scale + fx.Float32(head_dim) + fx.Float32(rows)

    @flyc.kernel(name=name + "_second", known_block_size=list(BLOCK))
    def second(x: fx.Pointer):
        x[fx.thread_idx.x] = fx.Float32(1.0)

    @flyc.jit
    def launch(
        x: fx.Pointer,
        y: fx.Pointer,
        count: fx.Int32,
        factor: fx.Float32,
        rows: fx.Int64,
        groups: fx.Int32,
        stream: fx.Stream = fx.Stream(None),  # noqa: B008
    ):
        kernel(x, y, count, factor, rows).launch(grid=(groups, 1, 1), block=BLOCK, stream=stream)
        if fx.const_expr(fault == "two kernels"):
            second(x).launch(grid=(1, 1, 1), block=BLOCK, stream=stream)

    return launch
