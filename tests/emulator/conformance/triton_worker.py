"""Compiles Triton kernels of installed wheels for gfx950, on a machine without a GPU. Runs under the conformance venv's Python.

Reads one JSON request a line from stdin, answers with one JSON line on stdout. Request:
  kernel     "package.module:name" or "/path/file.py:name"
  args       [[name, type], ...]: "*bf16" and the like, "i32", "i64", "fp32"; in any order
  aligned    names of pointers and integers that are multiples of 16
  constexprs {name: value}; {"dtype": "bf16"} for a Triton dtype, {"jit": "module:name"} for a function
  options    num_warps and the like
Answer: object (path of the hsaco), name, params (the kernel's own arguments in order), shared, num_warps, warp_size; or error.

The wheels' packages are imported file by file: their __init__ files want ROCm, torch and a device. torch is a stand-in that
answers every name with a class, since kernels do not use it, only the host functions beside them.
"""

import hashlib
import importlib
import importlib.util
import json
import os
import sys
import traceback
import types
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget

TARGET = GPUTarget("hip", "gfx950", 64)
OUT = Path(os.environ["CONFORMANCE_OBJECTS"])


class NoDevice:
    """Stands for the driver: kernels ask it for the architecture while they are traced."""

    def get_current_target(self):
        return TARGET

    def get_current_device(self):
        return 0

    def get_device_capability(self, device=0):
        return (9, 5)


class StandInType(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return StandInType(name, (StandIn,), {})


class StandIn(metaclass=StandInType):
    """Any name of torch: a class, so that it serves as annotation, base, dtype and call alike."""

    min, max = -448.0, 448.0  # of torch.finfo, in defaults of FP8 kernels

    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn


class StandInFinder:
    """Answers imports of torch with stand-ins, and of a wheel's packages with folders without their __init__."""

    BARE = ("aiter", "liger_kernel")

    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top == "torch":
            return importlib.util.spec_from_loader(name, self, is_package=True)
        if top not in self.BARE:
            return None
        for base in sys.path:
            folder = Path(base, *name.split("."))
            if folder.is_dir():
                spec = importlib.util.spec_from_loader(name, self, is_package=True)
                spec.submodule_search_locations = [str(folder)]
                return spec
        return None

    def create_module(self, spec):
        if spec.name.split(".")[0] == "torch":
            module = types.ModuleType(spec.name)
            module.__path__, module.__version__ = [], "2.8.0"
            module.__getattr__ = lambda name: getattr(StandIn, name)
            return module
        return types.ModuleType(spec.name)

    def exec_module(self, module):
        pass


def module_of(name):
    if name.endswith(".py"):
        spec = importlib.util.spec_from_file_location(Path(name).stem, name)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module
    return importlib.import_module(name)


def function_of(reference):
    """The JIT function, and the heuristics wrapped around it, innermost last."""
    module, name = reference.rsplit(":", 1)
    function, heuristics = getattr(module_of(module), name), []
    while not isinstance(function, triton.runtime.JITFunction):
        if not type(function).__module__.startswith("triton."):
            raise TypeError(f"{reference} is no Triton kernel")
        if hasattr(function, "values") and isinstance(function.values, dict):
            heuristics.append(function.values)
        function = function.fn
    return function, heuristics


def constexpr_value(value):
    if isinstance(value, dict):
        return (
            getattr(
                tl,
                {
                    "fp16": "float16",
                    "bf16": "bfloat16",
                    "fp32": "float32",
                    "fp8": "float8e4nv",
                    "i8": "int8",
                    "i32": "int32",
                    "fp8e5": "float8e5",
                    "u8": "uint8",
                }[value["dtype"]],
            )
            if "dtype" in value
            else function_of(value["jit"])[0]
        )
    return value


def compile_kernel(request):
    function, heuristics = function_of(request["kernel"])
    types_of = dict(request["args"])
    constants = {k: constexpr_value(v) for k, v in request["constexprs"].items()}
    visible = {**request.get("values", {}), **constants}
    for values in heuristics:
        for name, rule in values.items():
            constants[name] = visible[name] = rule(visible)
    for parameter in function.params:  # defaults that nobody set
        if parameter.name not in types_of and parameter.name not in constants:
            if not parameter.has_default:
                raise KeyError(f"{request['kernel']} also wants {parameter.name}")
            constants[parameter.name] = parameter.default
    order = [p.name for p in function.params]
    unknown = (set(types_of) | set(constants)) - set(order)
    if unknown:
        raise KeyError(f"{request['kernel']} has no {sorted(unknown)}")
    signature = {name: types_of.get(name, "constexpr") for name in order}
    aligned = set(request.get("aligned", ()))
    attributes = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(order) if name in aligned}
    source = triton.compiler.ASTSource(
        function, signature, {(order.index(k),): v for k, v in constants.items()}, attributes
    )
    compiled = triton.compile(source, target=TARGET, options=request.get("options") or {})
    binary = compiled.asm["hsaco"]
    path = OUT / f"{hashlib.sha256(binary).hexdigest()[:24]}.hsaco"
    aside = path.with_suffix(f".{os.getpid()}")
    aside.write_bytes(binary)
    aside.rename(path)
    meta = compiled.metadata
    return {
        "object": str(path),
        "name": meta.name,
        "params": [n for n in order if n in types_of],
        "shared": meta.shared,
        "num_warps": meta.num_warps,
        "warp_size": meta.warp_size,
    }


def main():
    sys.meta_path.insert(0, StandInFinder())
    triton.runtime.driver.set_active(NoDevice())
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what compilers print must not mix with the answers
    for line in sys.stdin:
        try:
            answer = compile_kernel(json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()[-3000:]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
