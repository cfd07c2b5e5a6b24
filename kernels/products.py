"""The matrix products: S^T = K Q^T, O^T += V^T P^T, and the row sums of P.

Owns: operand order. K and V are the A operands, Q and P the B operands: a lane keeps one query through both products.
"""

from __future__ import annotations

import flydsl.expr as fx

from . import isa, lane_maps
from .traits import HALF_KEYS, SUBTILE_KEYS, Traits

_FOUR_ONES = 0x38383838  # 1.0 in e4m3, four times


def zero_scores(count=16):
    return fx.Vector.filled(count, 0.0, fx.Float32)


def no_scores():
    """In the place of scores that nobody will read."""
    return isa.undefined_f32(16)


def no_operand():
    return isa.undefined_i32(8)


def ones_operand(lane):
    word = (lane_maps.ones_of_lane(lane) == 1).select(fx.Int32(_FOUR_ONES), fx.Int32(0))
    return fx.Vector.from_elements([word] * 8, fx.Int32)


def qk_order(traits: Traits):
    """(subtile, step) of the QK products of 64 keys; the first subtile is complete first."""
    return [(s, d) for s in range(HALF_KEYS // SUBTILE_KEYS) for d in range(traits.problem.qk_steps)]


def multiply_qk(key_operand, query_operand, total):
    """Adds 64 dims to the scores of 32 keys: register v of half h is key 16*h + v."""
    return isa.multiply_32x32x64(key_operand, query_operand, total)


def multiply_pv(value_operand, weights, block):
    """Adds 64 keys to 32 output columns."""
    return isa.multiply_32x32x64(value_operand, weights, block)


def sum_weights(ones, weights, total):
    """Adds the weights of 64 keys; all four registers hold the sum of the lane's own query, over both halves' keys."""
    return isa.multiply_16x16x128(ones, weights, total)
