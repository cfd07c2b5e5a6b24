"""The r-th heaviest query block of the batch, found by one wave from the sequences' lengths.

The blocks of a sequence are numbered by levels: its last block has level ceil(Lk / rows), each earlier one a level less,
so that a block of level L sees about L * rows keys. Ranks go by falling level, and inside a level by sequence. At least
L are, in sequence b of n blocks, min(max(top - L + 1, 0), n): the level is found by bisection over that sum, with 64
sequences in the lanes; batches of more are walked through 64 at a time.
"""

from __future__ import annotations

import dataclasses

import flydsl.expr as fx

from . import batch, control, isa
from .traits import LANES, LANES_SHIFT, Traits


@dataclasses.dataclass(frozen=True)
class Levels:
    """One sequence a lane: its heaviest level and its number of blocks (0: no such sequence)."""

    top: fx.Int32
    blocks: fx.Int32


def _levels(traits: Traits, arguments, first_sequence, lane) -> Levels:
    sequence = first_sequence + lane
    inside = fx.min(sequence, arguments.batch - 1)
    shift = traits.rows_shift
    _, queries = batch.query_rows(arguments, inside, isa.load_lanes)
    key_count = batch.keys(traits, arguments, inside, isa.load_lanes)
    blocks = (queries + (traits.rows - 1)) >> shift
    blocks = fx.Int32((sequence < arguments.batch).select(blocks, fx.Int32(0)))
    return Levels(((key_count - 1) >> shift) + 1, blocks)


class Ranking:
    """The batch's levels: the first 64 sequences in registers, the others read again at every step."""

    def __init__(self, traits: Traits, arguments, lane):
        self.traits, self.arguments, self.lane = traits, arguments, lane
        self.head = _levels(traits, arguments, fx.Int32(0), lane)
        self.chunks = (arguments.batch + (LANES - 1)) >> LANES_SHIFT

    def walk(self, state, visit):
        """state = visit(state, number of the first sequence, levels) for all sequences, 64 at a time."""

        def step(chunk, now):
            first = chunk << LANES_SHIFT
            return visit(now, first, _levels(self.traits, self.arguments, first, self.lane))

        state = visit(state, fx.Int32(0), self.head)
        return control.repeat(fx.Int32(1), self.chunks, state, step)

    def bounds(self):
        """(lowest level - 1, highest level + 1)."""

        def visit(state, _, levels):
            low, high = state
            bottom = fx.Int32((levels.blocks > 0).select(levels.top - levels.blocks, low))
            top = fx.Int32((levels.blocks > 0).select(levels.top, high))
            return [isa.reduce_lanes(bottom, fx.min), isa.reduce_lanes(top, fx.max)]

        low, high = self.walk([fx.Int32(1 << 24), fx.Int32(-(1 << 24))], visit)
        return low, high + 1

    def at_least(self, level):
        """How many blocks have this level or a higher one."""

        def visit(count, _, levels):
            here = fx.min(fx.max(levels.top - level + 1, fx.Int32(0)), levels.blocks)
            return count + isa.reduce_lanes(here, lambda a, b: a + b)

        return self.walk(fx.Int32(0), visit)

    def find(self, rank):
        """(found, sequence, block) of a rank."""
        low, high = self.bounds()
        low = fx.min(low, high - 1)
        count = self.at_least(low)

        def narrow(_, state):
            low, high = state
            middle = low + ((high - low) >> 1)
            inside = self.at_least(middle) > rank
            return [fx.Int32(inside.select(middle, low)), fx.Int32(inside.select(high, middle))]

        steps = 32 - isa.leading_zeros(high - low)
        level, _ = control.repeat(fx.Int32(0), steps, [low, high], narrow)
        place = rank - self.at_least(level + 1)

        def visit(state, first, levels):
            sequence, block, place = state
            has = (levels.top >= level) & (levels.top - levels.blocks < level)
            mask = isa.lanes_where(has)
            hit = isa.lanes_where(has & (isa.lanes_below(mask) == place))
            lane = isa.first_lane(hit)
            from_end = isa.lane_value(levels.top, lane) - level
            here = hit != fx.Int64(0)
            sequence = fx.Int32(here.select(first + lane, sequence))
            block = fx.Int32(here.select(isa.lane_value(levels.blocks, lane) - 1 - from_end, block))
            return [sequence, block, place - isa.count_lanes(mask)]

        sequence, block, _ = self.walk([fx.Int32(0), fx.Int32(0), place], visit)
        return rank < count, sequence, block
