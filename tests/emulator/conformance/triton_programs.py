"""Triton kernels compiled for gfx950 by the worker in the conformance venv, and launched with numpy arrays."""

import json
import os
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np

from .device import kernels_of, packed

ROOT = Path(__file__).resolve().parents[3]
OBJECTS = ROOT / "emulator" / "build" / "conformance"
POINTERS = {
    "float32": "*fp32",
    "float64": "*fp64",
    "float16": "*fp16",
    "bfloat16": "*bf16",
    "float8_e4m3fn": "*fp8e4nv",
    "float8_e5m2": "*fp8e5",
    "uint8": "*u8",
    "int8": "*i8",
    "int16": "*i16",
    "int32": "*i32",
    "int64": "*i64",
    "uint32": "*u32",
    "uint64": "*u64",
    "bool": "*i1",
}
BF16, FP8, BF8 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


class CompileFailure(RuntimeError):
    pass


class Compiler:
    """One worker process for the session. Triton keeps what it compiled under emulator/build/conformance/triton."""

    def __init__(self, python):
        OBJECTS.mkdir(parents=True, exist_ok=True)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        environment |= {"CONFORMANCE_OBJECTS": str(OBJECTS), "TRITON_CACHE_DIR": str(OBJECTS / "triton")}
        self.process = subprocess.Popen(
            [str(python), str(Path(__file__).with_name("triton_worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def compile(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise CompileFailure(f"the worker died on {request['kernel']}")
        answer = json.loads(line)
        if "error" in answer:
            raise CompileFailure(f"{answer['error']}\n{answer.get('trace', '')}")
        return answer


def described(value):
    """(type, is a multiple of 16) of an argument, or None for what Triton makes a constant."""
    if isinstance(value, np.ndarray):
        return POINTERS[value.dtype.name], True
    if isinstance(value, (float, np.floating)):
        return "fp32", False
    if isinstance(value, (bool, np.bool_)):
        return "i1", False
    if isinstance(value, (int, np.integer)):
        return ("i32" if -(2**31) <= value < 2**31 else "i64"), value % 16 == 0
    raise TypeError(f"no kernel argument can be made of {type(value).__name__}")


class Triton:
    """run() is the launch of a Triton program: arrays are uploaded, run on, and brought back in place."""

    def __init__(self, compiler, device):
        self.compiler, self.device = compiler, device

    def run(self, kernel, grid, arguments, constexprs=None, strict=True, **options):
        """strict=False: for programs that trip a strict check which the hardware forgives; say at the call which."""
        constexprs = dict(constexprs or {})
        types, aligned, values = [], [], {}
        for name, value in arguments.items():
            if value is None or (isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value == 1):
                constexprs[name] = None if value is None else 1  # as Triton's own launcher specialises
                continue
            kind, multiple = described(value)
            types.append([name, kind])
            if multiple:
                aligned.append(name)
            if not isinstance(value, np.ndarray):
                values[name] = value if isinstance(value, (bool, float)) else int(value)
        request = {
            "kernel": kernel,
            "args": types,
            "aligned": aligned,
            "values": values,
            "constexprs": constexprs,
            "options": options,
        }
        built = self.compiler.compile(request)
        binary = Path(built["object"]).read_bytes()
        metadata = kernels_of(binary)[built["name"]]
        on_device = {}
        given = []
        for name in built["params"]:
            value = arguments[name]
            if isinstance(value, np.ndarray):
                on_device[name] = self.device.upload(value)
                value = on_device[name]
            given.append(value)
        explicit = [a for a in metadata[".args"] if not a[".value_kind"].startswith("hidden_")]
        given += [0] * (len(explicit) - len(given))  # Triton's global and profile scratch, not used
        block = (built["num_warps"] * built["warp_size"], 1, 1)
        grid = (*grid, 1, 1)[:3]
        before = os.environ.get("GFX950_EMU_STRICT")
        try:
            if not strict:
                os.environ["GFX950_EMU_STRICT"] = "0"
            self.device.launch(binary, built["name"], grid, block, packed(metadata, given), built["shared"])
            for name, address in on_device.items():
                arguments[name][...] = self.device.download(address, arguments[name])
        finally:
            if before is not None:
                os.environ["GFX950_EMU_STRICT"] = before
            self.device.release()
        return built
