"""Online softmax of 64 keys: scores in, FP8 weights out.

Weights are P = exp2(s * scale + shift), scale = softmax_scale * q_descale * k_descale * log2(e). `shift` stands for the
running maximum: it is set to HEADROOM - (maximum * scale), so that the largest weight is 2^7 = 128 then, and it is
left alone while s * scale + shift stays at or below LIMIT. No weight exceeds 2^8.8 = 446 then (v_exp_f32 is off by
less than 1e-6 of it), e4m3 holds 448, and its conversion turns into NaN above 464 only. The test uses the very sum
that is exponentiated, and a fused multiply-add is monotonic in s, so that testing the largest score tests all.

After a move the sum for the maximum itself is HEADROOM up to the rounding of the product and of `shift`: less than 1
while |maximum * scale| < 2^23. Beyond SQUEEZE_FROM a query gets a scale of its own that brings its maximum to SQUEEZE_TO.
Only scores that differ from the maximum by some 2^-17 of it could tell, which is less than they differ by rounding.

NaN among a query's scores (of its own or of a key) makes NaN of all it has summed up, and its weights 0 from there on:
the row sums of queries c and c + 16 share a product, and 0 * NaN would reach the other.
"""

from __future__ import annotations

import flydsl.expr as fx

from . import control, isa

HEADROOM = 7.0
LIMIT = 8.8
GROUP = 8  # scores that are exponentiated together
SQUEEZE_FROM = 2.0**22  # of |maximum * scale|; logits of a model are below 100
SQUEEZE_TO = 2.0**21
FIRST_SHIFT = 1e30  # no maximum seen yet: any score exceeds LIMIT, while a masked one (-inf) gives weight 0


def largest(scores):
    """The maximum over the lane's own scores: half of the query's. NaN if one of them is."""
    values = [block[v] for block in scores for v in range(block.numel)]
    peak = values[0]
    for a, b in zip(values[1::2], values[2::2]):
        peak = isa.maximum_or_nan(isa.maximum_or_nan(peak, a), b)
    return isa.maximum_or_nan(peak, values[-1])


def rescale(peak, state):
    """Moves `shift` to the new maximum for the queries that need it, and with it what they have summed up.

    Queries that met a NaN are spoiled."""
    scores, shift, scale, total, out = state
    peak = isa.with_other_half(peak, isa.maximum_or_nan)
    spoiled = (peak == peak) == False  # noqa: E712
    exceeds = isa.fma(peak, scale, shift) > LIMIT
    scaled = peak * scale
    factor = fx.Float32(exceeds.select(isa.exp2(HEADROOM - scaled - shift), fx.Float32(1.0)))
    size = fx.maxnumf(scaled, -scaled)
    squeezed = fx.Float32((size > SQUEEZE_FROM).select(scale * (isa.reciprocal(size) * SQUEEZE_TO), scale))
    scale = fx.Float32(exceeds.select(squeezed, scale))
    shift = fx.Float32(exceeds.select(HEADROOM - peak * scale, shift))
    factor = fx.Float32(spoiled.select(fx.Float32(float("nan")), factor))
    hidden = fx.Float32(float("-inf"))
    scores = [
        fx.Vector.from_elements([spoiled.select(hidden, block[i]) for i in range(block.numel)], fx.Float32)
        for block in scores
    ]
    total = fx.Vector.from_elements([total[i] * factor for i in range(total.numel)], fx.Float32)
    out = [fx.Vector.from_elements([block[i] * factor for i in range(block.numel)], fx.Float32) for block in out]
    return [scores, shift, scale, total, out]


def keep_in_range(scores, shift, scale, total, out):
    """Rescales in the rare case that some query of the wave needs it."""
    peak = largest(scores)
    exceeds = (isa.fma(peak, scale, shift) <= LIMIT) == False  # noqa: E712 - true for NaN too
    state = [scores, shift, scale, total, out]
    return control.choose(isa.any_lane(exceeds), state, lambda state: rescale(peak, state))


def unsqueezed(shift, scale, whole_scale):
    """What `shift` would be with the scale that all queries started from."""
    stretched = HEADROOM - (HEADROOM - shift) * (whole_scale * isa.reciprocal(scale))
    return fx.Float32((scale == whole_scale).select(shift, stretched))


def weigh(scores, shift, scale):
    """P as the B operand of PV: byte 16*i + j of a lane is its score register j of subtile i.

    The scores go in groups: the conversions of one wait for its exponentials only.
    """
    values = [block[v] for block in scores for v in range(block.numel)]
    words = []
    for first in range(0, len(values), GROUP):
        p = [isa.exp2(isa.fma(value, scale, shift)) for value in values[first : first + GROUP]]
        words += [isa.pack_fp8(*p[i : i + 4]) for i in range(0, GROUP, 4)]
        isa.fence()
    return fx.Vector.from_elements(words, fx.Int32)
