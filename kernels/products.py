"""The matrix products: S^T = K Q^T, O^T += V^T P^T, and the row sums of P.

Owns: operand order. K and V are the A operands, Q and P the B operands: a lane keeps one query through both products.
"""

from __future__ import annotations

import flydsl.expr as fx

from . import isa, lane_maps, loads
from .traits import SUBTILE_KEYS, HALF_KEYS, Traits

_FOUR_ONES = 0x38383838  # 1.0 in e4m3, four times


def zero_scores(count=16):
    return fx.Vector.filled(count, 0.0, fx.Float32)


def ones_operand(lane):
    word = (lane_maps.ones_of_lane(lane) == 1).select(fx.Int32(_FOUR_ONES), fx.Int32(0))
    return fx.Vector.from_elements([word] * 8, fx.Int32)


def multiply_qk(traits: Traits, lds, at, query):
    """Scores of 64 keys: two f32x16, register v of half h is key 16*h + v of its 32."""
    scores = []
    for subtile in range(HALF_KEYS // SUBTILE_KEYS):
        total = zero_scores()
        for step in range(traits.problem.qk_steps):
            total = isa.multiply_32x32x64(loads.read_k(traits, lds, at, subtile, step), query[step], total)
        scores.append(total)
    return scores


def multiply_pv(traits: Traits, values, weights, out):
    return [isa.multiply_32x32x64(value, weights, block) for value, block in zip(values, out)]


def sum_weights(ones, weights, total):
    """All four registers: the lane's own query, over both halves' keys."""
    return isa.multiply_16x16x128(ones, weights, total)
