"""Builds the numerics as a shared object, once for each instruction set that the engine may choose and this machine has."""

import ctypes
import hashlib
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "emulator" / "numerics"
BUILD = ROOT / "emulator" / "build" / "numerics_tests"
FLAGS = [
    "-std=c++20",
    "-O3",
    "-fPIC",
    "-shared",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-Wno-psabi",
]
ISA_FLAGS = {
    "avx2": ["-mavx2", "-mfma", "-mf16c"],
    "avx512": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mf16c", "-mprefer-vector-width=512"],
}


def host_isas():
    flags = Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0].split()
    return ["avx2", "avx512"] if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= set(flags) else ["avx2"]


def build(isa):
    compiler = os.environ.get("CXX", "g++")
    files = sorted(SOURCES.glob("*.cpp")) + [Path(__file__).with_name("library.cpp")]
    command = [compiler, *FLAGS, *ISA_FLAGS[isa], f"-I{ROOT / 'emulator'}"]
    state = hashlib.sha256(" ".join(command).encode())
    for file in files + sorted(SOURCES.glob("*.h")):
        state.update(file.name.encode() + file.read_bytes())
    target = BUILD / f"numerics_{isa}_{state.hexdigest()[:16]}.so"
    if not target.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        for old in BUILD.glob(f"numerics_{isa}_*"):
            old.unlink()
        aside = target.with_suffix(f".{os.getpid()}")
        subprocess.run([*command, *map(str, files), "-o", str(aside)], check=True)
        aside.rename(target)
    return target


def pointer(array):
    return None if array is None else array.ctypes.data_as(ctypes.c_void_p)


class Numerics:
    """The C functions with numpy arrays: values in, values out."""

    def __init__(self, path, isa):
        self.c = ctypes.CDLL(str(path))
        self.isa = isa
        self.c.mfma_name.restype = ctypes.c_char_p
        self.c.mfma_count.restype = ctypes.c_size_t
        self.c.e8m0.restype = ctypes.c_double
        self.c.scalef32_from.restype = ctypes.c_float
        self.c.scalef32_from.argtypes = [ctypes.c_int, ctypes.c_uint32, ctypes.c_float]
        self.c.scalef32_to.argtypes = [ctypes.c_int, ctypes.c_float, ctypes.c_float, ctypes.c_bool]
        for name in (
            "unary_f32",
            "ternary_f32",
            "unary_f16",
            "ternary_f16",
            "ternary_f64",
            "mfma_run",
            "mfma_operands",
            "class_f32",
        ):
            getattr(self.c, name).restype = ctypes.c_bool
        self.c.class_f16.restype = ctypes.c_bool

    def _map(self, call, name, arrays):
        arrays = [np.ascontiguousarray(x) for x in np.broadcast_arrays(*arrays)]
        out = np.empty_like(arrays[0])
        done = call(name.encode(), *map(pointer, arrays), pointer(out), ctypes.c_size_t(out.size))
        assert done, f"library.cpp has no {name}"
        return out

    def f32(self, name, *values):
        arrays = [
            np.asarray(v).view(np.uint32) if np.asarray(v).dtype.itemsize == 4 else np.float32(v).view(np.uint32)
            for v in values
        ]
        if len(arrays) == 1:
            return self._map(self.c.unary_f32, name, arrays).view(np.float32)
        arrays += [np.zeros(1, np.uint32)] * (3 - len(arrays))
        return self._map(self.c.ternary_f32, name, arrays).view(np.float32)

    def f16(self, name, *values):
        arrays = [np.asarray(v).view(np.uint16) for v in values]
        if len(arrays) == 1:
            return self._map(self.c.unary_f16, name, arrays).view(np.float16)
        arrays += [np.zeros(1, np.uint16)] * (3 - len(arrays))
        return self._map(self.c.ternary_f16, name, arrays).view(np.float16)

    def f64(self, name, *values):
        arrays = [np.asarray(v, np.float64) for v in values]
        return self._map(self.c.ternary_f64, name, arrays + [np.zeros(1)] * (3 - len(arrays)))

    def decode(self, fmt, codes):
        codes = np.ascontiguousarray(codes, np.uint32)
        out = np.empty(codes.shape, np.float32)
        self.c.decode_codes(fmt, pointer(codes), pointer(out), ctypes.c_size_t(codes.size))
        return out

    def encode(self, fmt, values, saturate=False, rounding=0, random=None):
        with np.errstate(invalid="ignore"):  # signalling NaNs are widened too
            values = np.ascontiguousarray(values, np.float64)
        out = np.empty(values.shape, np.uint32)
        random = None if random is None else np.ascontiguousarray(np.broadcast_to(random, values.shape), np.uint32)
        self.c.encode_values(
            fmt, pointer(values), saturate, rounding, pointer(random), pointer(out), ctypes.c_size_t(values.size)
        )
        return out

    def encode_f32(self, fmt, values, saturate=False):
        values = np.ascontiguousarray(values, np.float32)
        out = np.empty(values.shape, np.uint32)
        self.c.encode_f32(fmt, pointer(values), saturate, pointer(out), ctypes.c_size_t(values.size))
        return out

    def mfma_names(self):
        return [self.c.mfma_name(ctypes.c_size_t(i)).decode() for i in range(self.c.mfma_count())]

    def mfma(self, name, a, b, c, cbsz=0, abid=0, blgp=0, index=None):
        counts = [ctypes.c_int() for _ in range(4)]
        assert self.c.mfma_operands(name.encode(), *map(ctypes.byref, counts)), f"no {name} in the table"
        assert [len(a), len(b), len(c)] == [n.value for n in counts[:3]], f"{name}: rows {[n.value for n in counts]}"
        a, b, c = (np.ascontiguousarray(x, np.uint32) for x in (a, b, c))
        d = np.zeros((counts[3].value, 64), np.uint32)
        index = None if index is None else np.ascontiguousarray(index, np.uint32)
        self.c.mfma_run(name.encode(), pointer(a), pointer(b), pointer(c), pointer(d), cbsz, abid, blgp, pointer(index))
        return d

    def scaled(self, m, a, fa, b, fb, c, scale_a=None, scale_b=None):
        a, b, c = (np.ascontiguousarray(x, np.uint32) for x in (a, b, c))
        d = np.zeros_like(c)
        scales = [None if s is None else np.ascontiguousarray(s, np.uint8) for s in (scale_a, scale_b)]
        self.c.mfma_scaled(m, pointer(a), fa, pointer(b), fb, pointer(c), pointer(d), *map(pointer, scales))
        return d


@pytest.fixture(scope="session", params=host_isas())
def numerics(request):
    return Numerics(build(request.param), request.param)


@pytest.fixture(scope="session")
def every_numerics():
    return [Numerics(build(isa), isa) for isa in host_isas()]
