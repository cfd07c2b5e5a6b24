"""The pipeline when the two wave groups share the query rows and split the keys.

A workgroup has 128 rows. Of every tile of 128 keys, waves 0..3 stage and use the first 64, waves 4..7 the others: the
groups share nothing but the matrix units, and their results are merged at the end (merge.py). Per key this costs twice
the loads of schedule.py, but a query block is half as long, so that few blocks fill the device evenly.
Phases of tile T, a group's own half of it; the second group is one phase behind:

| phase    | computes                                       | reads LDS  | asks for                         | waits for |
|----------|------------------------------------------------|------------|----------------------------------|-----------|
| softmax  | P from the scores, rescale if due              |            |                                  | tile T+1  |
| multiply | O += V P of T, row sums; scores of tile T+1    | K, V: T+1  | K, V of tile T+3, page id of T+4 |           |

Tile T+3 goes where T was: the group's V operands of T have arrived before the barrier that ends its softmax.
"""

from __future__ import annotations

from . import control, isa, loads, phases
from .traits import HALF_KEYS, STAGES, TILE_KEYS

AHEAD = STAGES


def main_round(pipe: phases.Pipeline, tile, state):
    """The two phases of a tile that every row sees whole, with AHEAD more tiles behind it."""
    traits, cache = pipe.traits, pipe.cache
    values = phases.read_values(pipe, state.stages[0], pipe.half)
    page = loads.open_page(traits, cache, tile + AHEAD, state.page_id)
    isa.barrier()
    state, weights = phases.softmax_phase(pipe, state)
    isa.wait_lds()
    isa.wait_loads(traits.loads.after_newest)
    isa.barrier()
    asked = loads.stage_loads(traits, cache, pipe.lds, state.stages[0], page)
    if traits.loads.ids:  # in front of the DMA, so that who waits for the ids need not wait for the tile
        state.page_id = loads.load_page_id(traits, cache, tile + AHEAD + 1)
    state = phases.multiply_phase(pipe, state, weights, values, state.stages[1], pipe.half, asked)
    if not traits.loads.ids:
        state.page_id = loads.load_page_id(traits, cache, tile + AHEAD + 1)
    state.stages = state.stages[1:] + state.stages[:1]
    return state


def tail_round(pipe: phases.Pipeline, tile, state):
    """The same with masks, for the last tiles: nothing is asked for or multiplied beyond them."""
    traits = pipe.traits

    def ask():
        number = tile + AHEAD
        page_id = loads.load_page_id(traits, pipe.cache, number)
        loads.stage_tile(traits, pipe.cache, pipe.lds, state.stages[0], number, page_id)

    values = phases.read_values(pipe, state.stages[0], pipe.half)
    isa.barrier()
    first_key = tile * TILE_KEYS + pipe.half * HALF_KEYS
    state, weights, values = phases.masked_softmax_phase(pipe, state, first_key, values)
    isa.wait_lds()
    behind = (tile + AHEAD - 1) < pipe.tiles  # tile T+2 has been asked for
    control.when(behind, lambda: isa.wait_loads(traits.loads.tile))
    control.when(behind == False, lambda: isa.wait_loads(0))  # noqa: E712
    isa.barrier()
    control.when((tile + AHEAD) < pipe.tiles, ask)
    goes_on = (tile + 1) < pipe.tiles
    state = phases.multiply_phase(pipe, state, weights, values, state.stages[1], pipe.half, goes_on=goes_on)
    state.stages = state.stages[1:] + state.stages[:1]
    return state
