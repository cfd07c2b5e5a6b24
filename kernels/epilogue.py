"""Results: O * v_descale / sum as bf16, and lse = ln(sum) - shift * ln 2 on demand.

Only rows of the sequence are written. A row without keys has sum 0: O = 0, lse = -inf.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import flydsl.expr as fx

from . import control, isa, lane_maps
from .traits import COLUMN_BLOCK, Traits

_BF16 = 2
_F32 = 4


def store_out(traits: Traits, row_start, lane, out, total, v_descale):
    """`row_start`: per-lane pointer to the row's first byte. Lane halves trade 8-byte pieces, for 16-byte stores."""
    inverse = (total[0] > 0.0).select(isa.reciprocal(total[0]) * v_descale, fx.Float32(0.0))
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


def store_results(traits: Traits, arguments, work, row, lane, state, v_descale):
    """`row`: the lane's row in its sequence; both halves of the wave hold the same 32 rows."""
    shift, total, out = state

    def store():
        packed_row = fx.Int64(work.first_row + row)
        start = arguments.out + (
            packed_row * arguments.out_row_stride + fx.Int64(work.head) * arguments.out_head_stride
        )
        store_out(traits, start, lane, out, total, v_descale)

        def store_lse():
            index = fx.Int64(work.head) * arguments.lse_head_stride + packed_row
            isa.store_global(arguments.lse + index, log_sum(total, shift).bitcast(fx.Int32), alignment=_F32)

        control.when((isa.is_null(arguments.lse) == False) & (lane < 32), store_lse)  # noqa: E712

    control.when(row < work.queries, store)


def merge(ours, theirs):
    """Two partial results of the same rows, over different keys."""
    raise NotImplementedError(SimpleNamespace(ours=ours, theirs=theirs))
