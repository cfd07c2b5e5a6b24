"""Runtime loops and branches over a state of any shape (lists, dicts, namespaces of DSL values).

Owns: the only places where the kernel's control flow is built, so that phases can be plain functions in any file.
"""

from __future__ import annotations

import flydsl.expr as fx
from flydsl._mlir import ir
from flydsl._mlir.dialects import scf
from flydsl.compiler.protocol import construct_from_ir_values, extract_to_ir_values, get_ir_types
from flydsl.expr.typing import as_ir_value

_NOT_UNROLLED = "#llvm.loop_annotation<unroll = <count = 1 : i32, disable = true>>"


def _rebuild(state, values):
    return construct_from_ir_values(type(state), state, list(values))


def repeat(start, stop, state, body):
    """state = body(i, state) for i in start..stop-1; LLVM is told not to unroll."""
    loop = scf.ForOp(as_ir_value(start), as_ir_value(stop), as_ir_value(fx.Int32(1)), extract_to_ir_values(state))
    loop.attributes["loop_annotation"] = ir.Attribute.parse(_NOT_UNROLLED)
    with ir.InsertionPoint(loop.body):
        after = body(fx.Int32(loop.induction_variable), _rebuild(state, loop.inner_iter_args))
        scf.YieldOp(extract_to_ir_values(after))
    return _rebuild(state, loop.results)


def choose(condition, state, then, otherwise=None):
    """then(state) where the condition holds, otherwise(state) (default: the state itself) where not.

    Each path gets its own copy: what it assigns to the fields of a namespace does not leak into the other.
    """
    branch = scf.IfOp(as_ir_value(condition), get_ir_types(state), has_else=True)
    blocks = (branch.regions[0].blocks[0], branch.regions[1].blocks[0])
    for block, path in zip(blocks, (then, otherwise)):
        with ir.InsertionPoint(block):
            copy = _rebuild(state, extract_to_ir_values(state))
            scf.YieldOp(extract_to_ir_values(path(copy) if path else copy))
    return _rebuild(state, branch.results)


def when(condition, then):
    """then() where the condition holds; it leaves nothing behind but its stores, loads and barriers."""
    branch = scf.IfOp(as_ir_value(condition), [], has_else=False)
    with ir.InsertionPoint(branch.regions[0].blocks[0]):
        then()
        scf.YieldOp([])
