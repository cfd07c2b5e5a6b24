"""The kernel's entry and the launcher that flyc.compile takes.

Both take the arguments of source.KERNARG by name. FlyDSL reads a function's parameters from its signature and passes them
by keyword, so that the list need not be spelled out here a second and a third time.
"""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import flydsl.compiler as flyc
import flydsl.expr as fx

from .kernel import attend
from .source import KERNARG
from .traits import THREADS, Traits

_TYPES = {"pointer": fx.Pointer, "i64": fx.Int64, "f32": fx.Float32, "i32": fx.Int32}


def _parameter(name, annotation, default=inspect.Parameter.empty):
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation, default=default)


_ARGUMENTS = [_parameter(name, _TYPES[kind]) for name, kind, _ in KERNARG]
_STREAM = _parameter("stream", fx.Stream, fx.Stream(None))


def _takes(*parameters):
    def declare(function):
        function.__signature__ = inspect.Signature(parameters)
        return function

    return declare


def make_launcher(traits: Traits):
    """A fresh launcher of the variant (compile hints stick to a launcher)."""

    @flyc.kernel(name=traits.variant.name, known_block_size=[THREADS, 1, 1])
    @_takes(*_ARGUMENTS)
    def paged_prefill(**arguments):
        attend(traits, SimpleNamespace(**arguments))

    @flyc.jit
    @_takes(*_ARGUMENTS, _STREAM)
    def launch(stream, **arguments):
        paged_prefill(**arguments).launch(grid=(1, 1, 1), block=(THREADS, 1, 1), stream=stream)

    return launch
