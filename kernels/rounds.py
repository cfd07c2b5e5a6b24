"""The way of a workgroup through its tiles: the first ones asked for, main rounds, tail rounds.

A schedule (schedule.py, split_schedule.py) brings the two kinds of round and AHEAD, the rounds between asking for a tile and reading it.
"""

from __future__ import annotations

import flydsl.expr as fx

from . import control, isa, loads, phases


def run(schedule, pipe: phases.Pipeline, state, main_tiles, second_group):
    """All tiles; `main_tiles` of them need no mask and leave AHEAD more behind them."""
    traits, cache, ahead = pipe.traits, pipe.cache, schedule.AHEAD
    last = pipe.tiles - 1
    numbers = [fx.min(fx.Int32(tile), last) for tile in range(ahead)]
    page_ids = [loads.load_page_id(traits, cache, number) for number in numbers]
    for stage, number, page_id in zip(state.stages, numbers, page_ids):
        loads.stage_tile(traits, cache, pipe.lds, stage, number, page_id)
    state.page_id = loads.load_page_id(traits, cache, fx.Int32(ahead))  # behind the tiles: rounds count it there
    isa.wait_loads((ahead - 1) * traits.loads.tile)
    isa.barrier()
    control.when(second_group, isa.bare_barrier)
    state.scores = phases.multiply_keys(pipe, phases.KeyOperands(pipe, state.stages[0], pipe.half))
    state = control.repeat(fx.Int32(0), main_tiles, state, lambda tile, now: schedule.main_round(pipe, tile, now))
    state = control.repeat(main_tiles, pipe.tiles, state, lambda tile, now: schedule.tail_round(pipe, tile, now))
    control.when(second_group == False, isa.bare_barrier)  # noqa: E712
    return state
