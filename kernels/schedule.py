"""The pipeline of one workgroup over its KV tiles.

Waves 0..3 and 4..7 run the same phases, one apart, with a barrier after each: while one group keeps the matrix units
busy, the other group of the same four SIMDs does its softmax. Phases of tile T (128 keys, halves a and b):

| phase      | computes                                     | reads LDS            | asks for                         | waits for |
|------------|----------------------------------------------|----------------------|----------------------------------|-----------|
| softmax a  | P of half a from its scores, rescale if due  |                      |                                  |           |
| multiply b | O += V P of half a, row sums; scores of b    | K of b, V of b       | K, V of tile T+2; page id of T+3 | tile T+1  |
| softmax b  | P of half b                                  |                      |                                  |           |
| multiply a | O += V P of half b; scores of T+1's half a   | K, V of T+1's half a |                                  |           |

V is read in the phase before its softmax, under the last products: its operands have arrived when they are needed.
Stages: tile T+2 goes where T-1 was. The last wave's V operands of T-1's half b arrive in the phase before the first wave
asks for T+2, and a barrier lies between. Tile T+1 has a full round of phases to arrive.

Main rounds carry no mask and no test; the last two rounds, and those that reach past some row's last key, go through
tail rounds: they mask, and ask for a tile or multiply only as far as there are keys.
"""

from __future__ import annotations

from . import control, isa, loads, phases
from .traits import HALF_KEYS, STAGES, TILE_KEYS

AHEAD = STAGES - 1  # a tile is asked for this many rounds before it is read


def main_round(pipe: phases.Pipeline, tile, state):
    """The four phases of a tile that every row sees whole, with AHEAD more tiles behind it."""
    traits, cache = pipe.traits, pipe.cache
    values = phases.read_values(pipe, state.stages[0], 0)
    page = loads.open_page(traits, cache, tile + AHEAD, state.page_id)
    isa.barrier()
    state, weights = phases.softmax_phase(pipe, state)
    isa.barrier()
    asked = loads.stage_loads(traits, cache, pipe.lds, state.stages[AHEAD], page)
    if traits.loads.ids:  # in front of the DMA, so that who waits for the ids need not wait for the tile
        state.page_id = loads.load_page_id(traits, cache, tile + AHEAD + 1)
    state = phases.multiply_phase(pipe, state, weights, values, state.stages[0], 1, asked)
    values = phases.read_values(pipe, state.stages[0], 1)
    if not traits.loads.ids:
        state.page_id = loads.load_page_id(traits, cache, tile + AHEAD + 1)
    isa.wait_loads(traits.loads.after_newest)
    isa.barrier()
    state, weights = phases.softmax_phase(pipe, state)
    isa.barrier()
    state = phases.multiply_phase(pipe, state, weights, values, state.stages[1], 0)
    state.stages = state.stages[1:] + state.stages[:1]
    return state


def tail_round(pipe: phases.Pipeline, tile, state):
    """The same with masks, for the last tiles: nothing is asked for or multiplied beyond them."""
    traits = pipe.traits
    more = (tile + AHEAD) < pipe.tiles
    first_key = tile * TILE_KEYS

    def ask():
        number = tile + AHEAD
        page_id = loads.load_page_id(traits, pipe.cache, number)
        loads.stage_tile(traits, pipe.cache, pipe.lds, state.stages[2], number, page_id)

    values = phases.read_values(pipe, state.stages[0], 0)
    isa.barrier()
    state, weights, values = phases.masked_softmax_phase(pipe, state, first_key, values)
    isa.barrier()
    control.when(more, ask)
    state = phases.multiply_phase(pipe, state, weights, values, state.stages[0], 1)
    values = phases.read_values(pipe, state.stages[0], 1)
    control.when(more, lambda: isa.wait_loads(traits.loads.tile))
    control.when(more == False, lambda: isa.wait_loads(0))  # noqa: E712
    isa.barrier()
    state, weights, values = phases.masked_softmax_phase(pipe, state, first_key + HALF_KEYS, values)
    isa.barrier()
    goes_on = (tile + 1) < pipe.tiles
    state = phases.multiply_phase(pipe, state, weights, values, state.stages[1], 0, goes_on=goes_on)
    state.stages = state.stages[1:] + state.stages[:1]
    return state
