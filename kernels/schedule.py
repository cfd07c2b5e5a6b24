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
from .traits import HALF_KEYS, TILE_KEYS, STAGES, Traits


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
        scores=[products.zero_scores() for _ in range(2)],
        stages=[fx.Int32(stage * traits.stages.stage) for stage in range(STAGES)],
        page_id=fx.Int32(0),
    )


def softmax_phase(pipe: Pipeline, state, half, tile, masked):
    """Scores to weights. Returns the state, the weights and the V operands that are on their way."""
    scores = state.scores
    first_key = tile * TILE_KEYS + half * HALF_KEYS
    if masked:
        scores = masks.mask_scores(scores, pipe.lane, first_key, pipe.last_visible)
    at = loads.v_half(pipe.traits, state.stages[0], half)
    at = [at + part for part in pipe.reader.v]
    values = [loads.read_v(pipe.traits, pipe.lds, at, block) for block in range(pipe.traits.problem.column_blocks)]
    isa.fence()
    state.shift, state.total, state.out = softmax.keep_in_range(
        scores, pipe.scale, state.shift, state.total, state.out
    )
    weights = softmax.weigh(scores, pipe.scale, state.shift)
    isa.barrier()
    return state, weights, values


def multiply_phase(pipe: Pipeline, state, values, weights, at, ask, wait, masked_values, has_next):
    """PV of the half that the weights belong to, then the scores of the next half, whose K lies at `at`."""
    isa.priority(1)
    if masked_values is not None:
        values = masks.mask_values(values, masked_values)
    state.out = products.multiply_pv(pipe.traits, values, weights, state.out)
    state.total = products.sum_weights(pipe.ones, weights, state.total)
    state = ask(state)

    def next_scores(_):
        return products.multiply_qk(pipe.traits, pipe.lds, at + pipe.reader.k, pipe.query)

    state.scores = next_scores(None) if has_next is None else control.choose(has_next, state.scores, next_scores)
    isa.priority(0)
    wait()
    isa.barrier()
    return state


def ask_for_tile(pipe: Pipeline, state, tile):
    """Stages tile T+2, and fetches the page id of T+3 for the next round."""
    following = loads.load_page_id(pipe.traits, pipe.cache, tile + 3)
    loads.stage_tile(pipe.traits, pipe.cache, pipe.lds, state.stages[2], tile + 2, state.page_id)
    state.page_id = following
    return state


def round_of_tile(pipe: Pipeline, tile, state, tail):
    """The four phases of one tile."""
    traits = pipe.traits
    newer = traits.loads.after_newest
    more = (tile + 2) < pipe.tiles
    value_words = [None, None]
    if tail:
        first_key = tile * TILE_KEYS
        value_words = [masks.value_mask(pipe.lane, first_key + half * HALF_KEYS, pipe.keys) for half in range(2)]

    def ask(current):
        if not tail:
            return ask_for_tile(pipe, current, tile)
        return control.choose(more, current, lambda inner: ask_for_tile(pipe, inner, tile))

    def wait():
        if not tail:
            isa.wait_loads(newer)
        else:
            control.choose(more, [], lambda _: isa.wait_loads(newer) or [], lambda _: isa.wait_loads(0) or [])

    state, weights, values = softmax_phase(pipe, state, 0, tile, tail)
    at = loads.k_half(traits, state.stages[0], 1)
    state = multiply_phase(pipe, state, values, weights, at, ask, wait, value_words[0], None)

    state, weights, values = softmax_phase(pipe, state, 1, tile, tail)
    at = loads.k_half(traits, state.stages[1], 0)
    has_next = (tile + 1) < pipe.tiles if tail else None
    state = multiply_phase(
        pipe, state, values, weights, at, lambda s: s, lambda: None, value_words[1], has_next
    )
    state.stages = state.stages[1:] + state.stages[:1]
    return state


def run(pipe: Pipeline, state, main_tiles, second_group):
    """All tiles; `main_tiles` of them need no mask and leave two more behind them."""
    traits = pipe.traits
    loads_of_tile = traits.loads.tile
    last = pipe.tiles - 1
    for tile in range(2):
        number = fx.min(fx.Int32(tile), last)
        page_id = loads.load_page_id(traits, pipe.cache, number)
        loads.stage_tile(traits, pipe.cache, pipe.lds, state.stages[tile], number, page_id)
    state.page_id = loads.load_page_id(traits, pipe.cache, fx.Int32(2))
    isa.wait_loads(loads_of_tile + traits.loads.ids)
    isa.barrier()
    control.when(second_group, isa.bare_barrier)
    state.scores = products.multiply_qk(
        traits, pipe.lds, loads.k_half(traits, state.stages[0], 0) + pipe.reader.k, pipe.query
    )
    isa.barrier()
    zero = fx.Int32(0)
    state = control.repeat(zero, main_tiles, state, lambda i, s: round_of_tile(pipe, i, s, tail=False))
    state = control.repeat(main_tiles, pipe.tiles, state, lambda i, s: round_of_tile(pipe, i, s, tail=True))
    control.when(second_group == False, isa.bare_barrier)  # noqa: E712
    return state
