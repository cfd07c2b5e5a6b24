"""The pipeline of one workgroup over its KV tiles.

Waves 0..3 and 4..7 run the same phases, one apart, with a barrier after each: while one group keeps the matrix units
busy, the other group of the same four SIMDs does its softmax. Phases of tile T (128 keys, halves a and b):

| phase      | computes                                     | reads LDS        | asks for          | waits for |
|------------|----------------------------------------------|------------------|-------------------|-----------|
| softmax a  | P of half a from its scores, rescale if due  | V of half a      | page id of T+3    |           |
| multiply b | O += V P of half a, row sums; scores of b    | K of half b      | K, V of tile T+2  | tile T+1  |
| softmax b  | P of half b                                  | V of half b      |                   |           |
| multiply a | O += V P of half b; scores of T+1's half a   | K of T+1, half a |                   |           |

Stages: tile T+2 goes where T-1 was. The last wave reads V of T-1's half b in the phase before the first wave asks for
T+2, and a barrier lies between. Tile T+1 has a full round of phases to arrive.

Main rounds carry no mask and no test; the last two rounds, and those that reach past some row's last key, go through
tail rounds: they mask, and ask for a tile or multiply only as far as there are keys.
"""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import flydsl.expr as fx

from . import control, isa, loads, masks, products, softmax
from .traits import HALF_KEYS, HALVES, STAGES, TILE_KEYS, Traits

AHEAD = STAGES - 1  # a tile is asked for this many rounds before it is read


@dataclasses.dataclass(frozen=True)
class Pipeline:
    """What stays the same through all rounds."""

    traits: Traits
    cache: loads.Cache
    lds: fx.Pointer
    lane: fx.Int32
    query: list  # Q operands, one for each 64 dims
    ones: fx.Vector
    scale: fx.Float32
    keys: fx.Int32  # Lk
    last_visible: fx.Int32  # per lane: the row's last key
    tiles: fx.Int32

    @property
    def reader(self):
        return loads.reader(self.traits, self.lane)


def first_state(traits: Traits):
    """Loop-carried values: softmax state, scores of the half that comes next, LDS offsets of tiles T, T+1, T+2."""
    return SimpleNamespace(
        shift=fx.Float32(softmax.FIRST_SHIFT),
        total=products.zero_scores(4),
        out=[products.zero_scores() for _ in range(traits.problem.column_blocks)],
        stages=[fx.Int32(stage * traits.stages.stage) for stage in range(STAGES)],
        page_id=fx.Int32(0),
    )


def softmax_phase(pipe: Pipeline, state):
    """Scores to weights."""
    state.shift, state.total, state.out = softmax.keep_in_range(
        state.scores, pipe.scale, state.shift, state.total, state.out
    )
    return state, softmax.weigh(state.scores, pipe.scale, state.shift)


def masked_softmax_phase(pipe: Pipeline, state, half, tile, values):
    """The same where rows end in this tile; V loses the bytes behind the last key."""
    first_key = tile * TILE_KEYS + half * HALF_KEYS
    state.scores = masks.mask_scores(state.scores, pipe.lane, first_key, pipe.last_visible)
    state, weights = softmax_phase(pipe, state)
    words = masks.value_mask(pipe.lane, first_key, pipe.keys)
    return state, weights, masks.mask_values(values, words)


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


def multiply_phase(pipe: Pipeline, state, weights, values, stage, half, asked=()):
    """PV of the half that the weights belong to, then the scores of the half that follows, in `stage`.

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
    state.scores = multiply_keys(pipe, keys)
    isa.priority(0)
    return state


def main_round(pipe: Pipeline, tile, state):
    """The four phases of a tile that every row sees whole, with AHEAD more tiles behind it.

    V is read at the end of the phase before its softmax, under the last products.
    """
    traits, cache = pipe.traits, pipe.cache
    values = read_values(pipe, state.stages[0], 0)
    page = loads.open_page(traits, cache, tile + AHEAD, state.page_id)
    isa.barrier()
    state, weights = softmax_phase(pipe, state)
    isa.barrier()
    asked = loads.stage_loads(traits, cache, pipe.lds, state.stages[2], page)
    state = multiply_phase(pipe, state, weights, values, state.stages[0], 1, asked)
    values = read_values(pipe, state.stages[0], 1)
    state.page_id = loads.load_page_id(traits, cache, tile + AHEAD + 1)
    isa.wait_loads(traits.loads.after_newest)
    isa.barrier()
    state, weights = softmax_phase(pipe, state)
    isa.barrier()
    state = multiply_phase(pipe, state, weights, values, state.stages[1], 0)
    state.stages = state.stages[1:] + state.stages[:1]
    return state


def tail_round(pipe: Pipeline, tile, state):
    """The same with masks, for the last tiles: nothing is asked for or multiplied beyond them."""
    traits = pipe.traits
    more = (tile + AHEAD) < pipe.tiles

    def ask():
        number = tile + AHEAD
        page_id = loads.load_page_id(traits, pipe.cache, number)
        loads.stage_tile(traits, pipe.cache, pipe.lds, state.stages[2], number, page_id)

    values = read_values(pipe, state.stages[0], 0)
    isa.barrier()
    state, weights, values = masked_softmax_phase(pipe, state, 0, tile, values)
    isa.barrier()
    control.when(more, ask)
    state = multiply_phase(pipe, state, weights, values, state.stages[0], 1)
    values = read_values(pipe, state.stages[0], 1)
    control.when(more, lambda: isa.wait_loads(traits.loads.tile))
    control.when(more == False, lambda: isa.wait_loads(0))  # noqa: E712
    isa.barrier()
    state, weights, values = masked_softmax_phase(pipe, state, 1, tile, values)
    isa.barrier()
    state = multiply_values(pipe, state, weights, values)
    state.scores = control.choose(
        (tile + 1) < pipe.tiles,
        [products.no_scores() for _ in range(HALVES)],
        lambda _: multiply_keys(pipe, KeyOperands(pipe, state.stages[1], 0)),
    )
    state.stages = state.stages[1:] + state.stages[:1]
    return state


def run(pipe: Pipeline, state, main_tiles, second_group):
    """All tiles; `main_tiles` of them need no mask and leave AHEAD more behind them."""
    traits, cache = pipe.traits, pipe.cache
    last = pipe.tiles - 1
    for tile in range(AHEAD):
        number = fx.min(fx.Int32(tile), last)
        page_id = loads.load_page_id(traits, cache, number)
        loads.stage_tile(traits, cache, pipe.lds, state.stages[tile], number, page_id)
    state.page_id = loads.load_page_id(traits, cache, fx.Int32(AHEAD))
    isa.wait_loads((AHEAD - 1) * traits.loads.tile)
    isa.barrier()
    control.when(second_group, isa.bare_barrier)
    state.scores = multiply_keys(pipe, KeyOperands(pipe, state.stages[0], 0))
    state = control.repeat(fx.Int32(0), main_tiles, state, lambda tile, now: main_round(pipe, tile, now))
    state = control.repeat(main_tiles, pipe.tiles, state, lambda tile, now: tail_round(pipe, tile, now))
    control.when(second_group == False, isa.bare_barrier)  # noqa: E712
    return state
