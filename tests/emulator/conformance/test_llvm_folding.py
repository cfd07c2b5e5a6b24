"""What LLVM computes at compile time against what the emulator computes when it runs the same operation compiled for gfx950.

The folder is LLVM's own (APFloat, APInt, AMDGPUInstCombineIntrinsic.cpp, ConstantFolding.cpp) and shares nothing with the emulator.
Every bit counts, except which NaN a NaN is. v: an operand a lane, in vector registers; s: an operand a wave, in scalar registers.
"""

import subprocess

import numpy as np
import pytest

from ..machine import tool
from .device import kernels_of, packed
from .llvm_chains import chains
from .llvm_folding import folded, kernels
from .llvm_operations import is_nan, operations, skips
from .test_clang import CLANG, TARGET
from .triton_programs import OBJECTS

OPERATIONS = operations() + chains()


@pytest.fixture(scope="module")
def compiled():
    OBJECTS.mkdir(parents=True, exist_ok=True)
    target = OBJECTS / "llvm_folding.hsaco"
    command = [CLANG, "-x", "ir", *TARGET, "-O2", "-w", "-", "-o", str(target)]
    subprocess.run(command, input=kernels(OPERATIONS), text=True, check=True)
    binary = target.read_bytes()
    return binary, kernels_of(binary)


@pytest.fixture(scope="module")
def wanted():
    return folded(tool("opt"), OPERATIONS)


def same(kind, got, want):
    if kind[0] == "<":
        half = kind.split()[-1][:-1]
        bits = np.uint64(32 if half == "float" else 16)
        mask = (np.uint64(1) << bits) - np.uint64(1)
        return same(half, got & mask, want & mask) & same(half, got >> bits, want >> bits)
    return (got == want) | is_nan(kind, got) & is_nan(kind, want)


@pytest.mark.parametrize(
    "number, way",
    [pytest.param(n, way, id=f"{way}-{op.name}") for n, op in enumerate(OPERATIONS) for way in op.ways],
)
def test_runs_as_it_folds(device, compiled, wanted, number, way):
    op = OPERATIONS[number]
    rows = op.rows()
    judged = np.array([w is not None and not skips(op, r, w) for r, w in zip(rows, wanted[op])])
    assert judged.any(), "LLVM folds none of it"
    size = -(-len(rows) // 64) * 64
    arrays = np.zeros((4, size), np.uint64)
    for n in range(len(op.operands)):
        arrays[1 + n, : len(rows)] = [row[n] for row in rows]
    binary, metadata = compiled
    name = f"{way}_{number}"
    places = [device.upload(x) for x in arrays]
    try:
        grid = (size // 64 if way == "v" else len(rows), 1, 1)
        device.launch(binary, name, grid, (64, 1, 1), packed(metadata[name], places))
        got = device.download(places[0], arrays[0])[: len(rows)]
    finally:
        device.release()
    want = np.array([w or 0 for w in wanted[op]], np.uint64)
    right = same(op.result, got, want)
    if op.tolerance:
        kind = {"float": (np.uint32, np.float32), "half": (np.uint16, np.float16)}[op.result]
        with np.errstate(all="ignore"):
            near, far = (x.astype(kind[0]).view(kind[1]).astype(np.float64) for x in (got, want))
            right |= np.abs(near - far) <= op.tolerance * np.maximum(np.abs(far), 1)
    wrong = np.flatnonzero(judged & ~right)
    assert not len(wrong), [([hex(x) for x in rows[n]], hex(got[n]), "LLVM:", hex(want[n])) for n in wrong[:6]]
