"""Which rows of which sequence and head a workgroup does: one small function of its ids for each batch policy.

Heads are the fastest grid axis: neighbours read the same keys at the same time. Workgroups go to the eight XCDs in
turn, each with a cache of its own, so that heads are dealt out in eight consecutive shares: those of a KV group meet in
few caches. Heavy query blocks, which see the most keys, come first.
"""

from __future__ import annotations

import dataclasses

import flydsl.expr as fx

from . import batch, isa, ranking
from .traits import Traits

XCDS = 8


@dataclasses.dataclass(frozen=True)
class Work:
    """A workgroup's share. All scalars."""

    found: object  # False: nothing to do
    sequence: fx.Int32
    block: fx.Int32  # query block of the sequence
    head: fx.Int32
    first_row: fx.Int32  # packed row of the sequence's first query
    queries: fx.Int32  # Lq


def _head(arguments):
    """Workgroup x of a row of the grid runs on XCD x % 8, when the heads divide by eight."""
    x, heads = fx.Int32(fx.block_idx.x), arguments.num_q_heads
    dealt = (x & (XCDS - 1)) * (heads >> 3) + (x >> 3)
    return fx.Int32(((heads & (XCDS - 1)) == 0).select(dealt, x))


def _from_the_end(traits: Traits, arguments, sequence, step):
    """Block number `step` of a sequence, counted from its last."""
    first_row, queries = batch.query_rows(arguments, sequence, isa.load_scalar)
    block = ((queries + (traits.rows - 1)) >> traits.rows_shift) - 1 - step
    return Work(block >= 0, sequence, block, _head(arguments), first_row, queries)


def single(traits: Traits, arguments, lane):
    """The only sequence, last block first."""
    return _from_the_end(traits, arguments, fx.Int32(0), fx.Int32(fx.block_idx.y))


def interleaved(traits: Traits, arguments, lane):
    """All last blocks, all last but one, ...; a short sequence leaves workgroups with nothing to do."""
    rank = fx.Int32(fx.block_idx.y)
    step = rank // arguments.batch
    return _from_the_end(traits, arguments, rank - step * arguments.batch, step)


def longest_first(traits: Traits, arguments, lane):
    """The blocks of the batch by falling number of visible keys."""
    found, sequence, block = ranking.Ranking(traits, arguments, lane).find(fx.Int32(fx.block_idx.y))
    first_row, queries = batch.query_rows(arguments, sequence, isa.load_scalar)
    return Work(found, sequence, block, _head(arguments), first_row, queries)


POLICIES = {"single": single, "interleaved": interleaved, "longest_first": longest_first}


def find_work(traits: Traits, arguments, lane) -> Work:
    return POLICIES[traits.variant.batch_policy](traits, arguments, lane)
