"""Results: O * v_descale / sum as bf16, and lse = ln(sum) - shift * ln 2 on demand.

Only rows of the sequence are written. A row without keys has sum 0: O = 0, lse = -inf.
"""

from __future__ import annotations

import math

import flydsl.expr as fx

from . import control, isa, lane_maps
from .traits import COLUMN_BLOCK

_BF16 = 2
_F32 = 4


def store_out(row_start, lane, out, total, v_descale):
    """`row_start`: per-lane pointer to where the row's first column of `out` goes. Lane halves trade 8-byte pieces, for 16-byte stores."""
    inverse = (total[0] == 0.0).select(fx.Float32(0.0), isa.reciprocal(total[0]) * v_descale)
    half = lane_maps.half_of(lane)
    for block, values in enumerate(out):
        words = [isa.pack_bf16(values[v] * inverse, values[v + 1] * inverse) for v in range(0, values.numel, 2)]
        for pair in range(2):
            w = words[4 * pair : 4 * pair + 4]
            w[0], w[2] = isa.swap_halves(w[0], w[2])
            w[1], w[3] = isa.swap_halves(w[1], w[3])
            column = block * COLUMN_BLOCK + pair * 16 + half * 8
            isa.store_global(row_start + fx.Int64(column * _BF16), fx.Vector.from_elements(w, fx.Int32))


def log_sum(total, shift):
    return (isa.log2(total[0]) - shift) * fx.Float32(math.log(2.0))


def store_results(arguments, work, row, lane, first_block, writes_lse, state, v_descale):
    """`row`: the lane's row in its sequence; both halves of the wave hold the same 32 rows.

    `first_block`: the first of the wave's blocks of output columns; one wave of those that share rows writes lse.
    """
    shift, total, out = state

    def store():
        packed_row = fx.Int64(work.first_row + row)
        start = packed_row * arguments.out_row_stride + fx.Int64(work.head) * arguments.out_head_stride
        start = start + fx.Int64(first_block * (COLUMN_BLOCK * _BF16))
        store_out(arguments.out + start, lane, out, total, v_descale)

        def store_lse():
            index = fx.Int64(work.head) * arguments.lse_head_stride + packed_row
            isa.store_global(arguments.lse + index, log_sum(total, shift).bitcast(fx.Int32), alignment=_F32)

        wanted = (isa.is_null(arguments.lse) == False) & writes_lse & (lane < 32)  # noqa: E712
        control.when(wanted, store_lse)

    control.when(row < work.queries, store)
