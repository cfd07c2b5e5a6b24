"""The phases that a schedule is made of: softmax of 64 keys, and the two products around it.

Owns: the order of instructions inside a phase. Products, LDS reads and DMA are pinned by fences, since the compiler would
put all of one kind first; what is pinned was tried with benchmarks/loop_model.py.
"""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import flydsl.expr as fx

from . import control, isa, loads, masks, products, softmax
from .traits import HALF_KEYS, HALVES, STAGES, Traits


@dataclasses.dataclass(frozen=True)
class Pipeline:
    """What stays the same through all rounds."""

    traits: Traits
    cache: loads.Cache
    lds: fx.Pointer
    lane: fx.Int32
    query: list  # Q operands, one for each 64 dims
    ones: fx.Vector
    keys: fx.Int32  # Lk
    last_visible: fx.Int32  # per lane: the row's last key
    tiles: fx.Int32
    half: fx.Int32 | int  # of each tile, that the wave multiplies first; its only one where the groups split the keys

    @property
    def reader(self):
        return loads.reader(self.traits, self.lane)


def first_state(traits: Traits, scale):
    """Loop-carried values: softmax state, scores of the half that comes next, LDS offsets of tiles T, T+1, T+2."""
    return SimpleNamespace(
        shift=fx.Float32(softmax.FIRST_SHIFT),
        scale=scale,
        total=products.zero_scores(4),
        out=[products.zero_scores() for _ in range(traits.problem.column_blocks)],
        stages=[fx.Int32(stage * traits.stages.stage) for stage in range(STAGES)],
        page_id=fx.Int32(0),
    )


def softmax_phase(pipe: Pipeline, state):
    """Scores to weights."""
    state.scores, state.shift, state.scale, state.total, state.out = softmax.keep_in_range(
        state.scores, state.shift, state.scale, state.total, state.out
    )
    return state, softmax.weigh(state.scores, state.shift, state.scale)


def masked_softmax_phase(pipe: Pipeline, state, first_key, values):
    """The same for the 64 keys from `first_key` on, where rows may end; V loses the bytes behind the last key, if any.

    Scores are masked without asking: of the waves that meet at the next barrier, some row's last key is always near.
    """
    state.scores = masks.mask_scores(state.scores, pipe.lane, first_key, pipe.last_visible)
    state, weights = softmax_phase(pipe, state)
    values = control.choose(
        first_key + (HALF_KEYS - 1) >= pipe.keys,
        values,
        lambda operands: masks.mask_values(operands, masks.value_mask(pipe.lane, first_key, pipe.keys)),
    )
    return state, weights, values


class KeyOperands:
    """The K operands of 64 keys in the order of their products, read from LDS one by one."""

    def __init__(self, pipe: Pipeline, stage, half):
        self.pipe = pipe
        self.at = loads.k_half(pipe.traits, stage, half) + pipe.reader.k
        self.order = products.qk_order(pipe.traits)
        self.operands = []

    def read(self):
        if len(self.operands) < len(self.order):
            place = self.order[len(self.operands)]
            self.operands.append(loads.read_k(self.pipe.traits, self.pipe.lds, self.at, *place))


def multiply_values(pipe: Pipeline, state, weights, values, chore=lambda: None):
    """PV and row sums in a pinned order, with a chore behind each product."""
    out = []
    for value, total in zip(values, state.out):
        out.append(products.multiply_pv(value, weights, total))
        isa.fence()
        chore()
        isa.fence()
    state.out = out
    state.total = products.sum_weights(pipe.ones, weights, state.total)
    isa.fence()
    return state


def multiply_keys(pipe: Pipeline, keys: KeyOperands):
    """Scores of 64 keys; operands that have not been read yet are read on the way."""
    scores = [products.zero_scores() for _ in range(HALVES)]
    for product, (subtile, step) in enumerate(keys.order):
        if product == len(keys.operands):
            keys.read()
        scores[subtile] = products.multiply_qk(keys.operands[product], pipe.query[step], scores[subtile])
        isa.fence()
        keys.read()
    return scores


def read_values(pipe: Pipeline, stage, half):
    at = [loads.v_half(pipe.traits, stage, half) + part for part in pipe.reader.v]
    return [loads.read_v(pipe.traits, pipe.lds, at, block) for block in range(pipe.traits.problem.column_blocks)]


def multiply_phase(pipe: Pipeline, state, weights, values, stage, half, asked=(), goes_on=None):
    """PV of the half that the weights belong to, then the scores of the half that follows, in `stage`, if it goes on.

    Under each PV product a K operand is read, several products ahead of its use, and a DMA of `asked` is issued.
    """
    keys = KeyOperands(pipe, stage, half)
    asked = list(asked)
    share = -(-len(asked) // len(state.out))

    def chore():
        keys.read()
        for _ in range(min(share, len(asked))):
            asked.pop(0)()

    isa.priority(1)
    isa.fence()
    state = multiply_values(pipe, state, weights, values, chore)
    if goes_on is None:
        state.scores = multiply_keys(pipe, keys)
    else:
        nothing = [products.no_scores() for _ in range(HALVES)]
        state.scores = control.choose(goes_on, nothing, lambda _: multiply_keys(pipe, keys))
    isa.priority(0)
    return state
