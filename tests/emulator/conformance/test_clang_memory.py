"""Transposing LDS reads, floating-point atomics and narrow LDS DMA by clang's builtins, against numpy.

Sources: the transposition is the documents' (elements of 16 lanes in lane order; lane l's slot j is element 16 j + l); LLVM's feature
memory-atomic-fadd-f32-denormal-support for the denormals of FP32 adds.
"""

import ml_dtypes
import numpy as np
import pytest

from .test_clang import TARGET, build, run  # noqa: F401

WAVE = ((1, 1, 1), (64, 1, 1))


@pytest.fixture(scope="module")
def memory(build):  # noqa: F811
    return build("memory_kernels.c", *TARGET, "-O2", name="memory.hsaco").read_bytes()


@pytest.mark.parametrize("width, nbytes", [(4, 8), (8, 8), (6, 12), (16, 8)])
def test_transposing_reads(device, memory, width, nbytes):
    data = np.random.default_rng(width).integers(0, 256, (64, 16), dtype=np.uint8)
    got = run(
        device, memory, f"transposed_{width}", *WAVE, np.zeros((64, 16 if nbytes == 12 else nbytes), np.uint8), data
    )[0]
    read = data[5 * np.arange(64) % 64, :nbytes]
    elements = np.unpackbits(read, axis=1, bitorder="little").reshape(4, -1, width)  # [group of 16 lanes][element][bit]
    want = elements.reshape(4, -1, 16, width).transpose(0, 2, 1, 3).reshape(64, -1)
    assert (np.unpackbits(got[:, :nbytes], axis=1, bitorder="little") == want).all()


@pytest.mark.parametrize("name", ["add_f32", "add_f16", "add_bf16", "min_f64", "max_f64"])
def test_atomics(device, memory, name):
    rng = np.random.default_rng(len(name))
    kind = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f64": np.float64}[name[4:]]
    each = 2 if np.dtype(kind).itemsize == 2 else 1
    cells, values = (rng.integers(-64, 65, (n, each)).astype(kind) / kind(8) for n in (192, 64))
    smallest = {"f32": 1e-40, "f16": 6e-8, "bf16": 1e-40, "f64": 1e-310}[name[4:]]  # denormals
    cells[5:192:16], values[5:64:16] = kind(3 * smallest), kind(-2 * smallest)
    cells[6:192:16], values[6:64:16] = kind(-0.0), kind(0.0)
    cells[7:192:16], values[7:64:16] = kind(np.inf), kind(-1.0)
    operation = {"add": np.add, "min": np.minimum, "max": np.maximum}[name[:3]]
    want = operation(cells.reshape(3, 64, each), values).astype(kind)
    if name[:3] != "add":  # numpy does not order the zeros: -0 is the smaller one
        want[:, 6::16] = kind(-0.0) if name[:3] == "min" else kind(0.0)
    got, _, old = run(device, memory, name, *WAVE, cells, values, np.zeros((128, each), kind))
    assert got.tobytes() == want.tobytes()
    assert old.tobytes() == cells.reshape(3, 64, each)[[0, 2]].tobytes()


def test_narrow_dma_fills_a_dword_a_lane(device, memory):
    data = np.random.default_rng(1).integers(0, 1 << 32, 64, dtype=np.uint32)
    got = run(device, memory, "narrow_dma", *WAVE, np.zeros(128, np.uint32), data)[0]
    assert (got[:64] == data & 0xFF).all() and (got[64:] == data >> 16).all()
