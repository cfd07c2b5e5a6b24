"""The kernel: one workgroup computes the rows of one query block of one head.

| tensor | shape | held by |
|---|---|---|
| q | [total_q, Hq, D] FP8, rows and heads by byte stride | registers: wave w the block's rows 32*w.., lane l row l % 32 |
| k_cache, v_cache | pages, see lane_maps.py | LDS, three tiles of 128 keys; operands in registers |
| out | [total_q, Hq, Dv] bf16 | registers, FP32, transposed: a lane's row, columns by register |
| lse | [Hq, total_q] FP32, or null | a register |

Scales: softmax_scale, q_descale, k_descale and log2(e) are one factor of the exponent; v_descale meets 1 / sum at the
end. The schedule is the table in schedule.py.
"""

from __future__ import annotations

import math

import flydsl.expr as fx

from . import (
    batch,
    control,
    epilogue,
    isa,
    lane_maps,
    loads,
    mapping,
    merge,
    phases,
    products,
    rounds,
    softmax,
    split_schedule,
)
from . import schedule as shared_schedule
from .traits import CHUNK, GROUP_SHIFT, GROUP_WAVES, LANES, LANES_SHIFT, STEP_DIMS, TILE_SHIFT, WAVE_ROWS, Traits

_SMALLEST_SCALE = 1e-30  # instead of 0, which would make NaN of a masked score


def _descale(pointer, value):
    return control.choose(isa.is_null(pointer), value, lambda v: v, lambda _: isa.load_scalar_f32(pointer))


def _load_query(traits: Traits, arguments, work, row, lane):
    """Rows past the sequence's end take its last row: what they compute is never stored."""
    inside = fx.Int64(work.first_row + fx.min(row, work.queries - 1))
    start = arguments.q + (inside * arguments.q_row_stride + fx.Int64(work.head) * arguments.q_head_stride)
    half = fx.Int64(lane_maps.half_of(lane) * CHUNK)
    parts = [start + (half + fx.Int64(offset)) for offset in range(0, traits.problem.head_dim, STEP_DIMS // 2)]
    words = [isa.load_global(part) for part in parts]
    return [isa.join(words[i : i + 2]) for i in range(0, len(words), 2)]


def attend(traits: Traits, arguments):
    """The whole kernel body."""
    thread = fx.Int32(fx.thread_idx.x)
    lane = thread & (LANES - 1)
    work = mapping.find_work(traits, arguments, lane)
    control.when(work.found, lambda: _attend_block(traits, arguments, work, isa.uniform(thread >> LANES_SHIFT), lane))


def _attend_block(traits: Traits, arguments, work, wave, lane):
    problem = traits.problem
    lds = fx.SharedAllocator().allocate(fx.Array[fx.Uint8, traits.stages.total, 1024]).peek().ptr

    keys = batch.keys(traits, arguments, work.sequence, isa.load_scalar)
    table = batch.page_table(traits, arguments, work.sequence, keys)
    kv_head = work.head // (arguments.num_q_heads // arguments.num_kv_heads)
    k = arguments.k_cache + fx.Int64(kv_head) * arguments.k_head_stride
    v = arguments.v_cache + fx.Int64(kv_head) * arguments.v_head_stride
    cache = loads.open_cache(traits, table, k, v, arguments.k_page_stride, arguments.v_page_stride, wave, lane)

    group = wave >> GROUP_SHIFT  # 1: one phase behind
    row_wave, schedule, first_half = wave, shared_schedule, 0
    if traits.split_keys:
        row_wave, schedule, first_half = wave & (GROUP_WAVES - 1), split_schedule, group
    first = work.block * traits.rows
    row = first + row_wave * WAVE_ROWS + lane_maps.row_of(lane)
    behind = keys - work.queries  # row i sees keys 0..i + behind
    seen_by_last = fx.min(first + traits.rows, work.queries) + behind
    seen_by_first = first + 1 + behind
    tiles = ((fx.max(seen_by_last, fx.Int32(0)) - 1) >> TILE_SHIFT) + 1
    main_tiles = isa.uniform(fx.max(fx.min(seen_by_first >> TILE_SHIFT, tiles - schedule.AHEAD), fx.Int32(0)))

    scale = arguments.softmax_scale * fx.Float32(math.log2(math.e))
    scale = scale * _descale(arguments.q_descale, arguments.q_descale_value)
    scale = scale * _descale(arguments.k_descale, arguments.k_descale_value)
    scale = isa.maximum(scale, fx.Float32(_SMALLEST_SCALE))
    v_descale = _descale(arguments.v_descale, arguments.v_descale_value)

    state = phases.first_state(traits, scale)

    def attend_keys(current):
        pipe = phases.Pipeline(
            traits=traits,
            cache=cache,
            lds=lds,
            lane=lane,
            query=_load_query(traits, arguments, work, row, lane),
            ones=products.ones_operand(lane),
            keys=keys,
            last_visible=fx.min(row, work.queries - 1) + behind,
            tiles=tiles,
            half=first_half,
        )
        current = rounds.run(schedule, pipe, current, main_tiles, group == 1)
        shift = softmax.unsqueezed(current.shift, current.scale, scale)
        return [shift, current.total, current.out]

    nothing = [state.shift, state.total, state.out]
    if traits.split_keys:

        def attend_and_merge(_):
            return merge.merge(traits, lds, wave, lane, group == 1, attend_keys(state))

        share = problem.column_blocks // 2
        result = control.choose(tiles > 0, [*nothing[:2], state.out[:share]], attend_and_merge)
        epilogue.store_results(arguments, work, row, lane, group * share, group == 0, result, v_descale)
    else:
        result = control.choose(tiles > 0, nothing, lambda _: attend_keys(state))
        zero = fx.Int32(0)
        epilogue.store_results(arguments, work, row, lane, zero, zero == zero, result, v_descale)
