"""Which rows of which sequence and head a workgroup does: one small function of its ids for each batch policy."""

from __future__ import annotations

import dataclasses

import flydsl.expr as fx

from . import control, isa
from .loads import PageTable
from .traits import Traits


@dataclasses.dataclass(frozen=True)
class Work:
    """A workgroup's share. All scalars."""

    found: object  # False: nothing to do
    sequence: fx.Int32
    block: fx.Int32  # query block of the sequence
    head: fx.Int32
    first_row: fx.Int32  # packed row of the sequence's first query
    queries: fx.Int32  # Lq


def find_work(traits: Traits, arguments) -> Work:
    """Blocks are numbered through the batch: those of sequence b start at cu_seqlens_q[b] // rows + b."""
    rows = traits.rows
    index = fx.Int32(fx.block_idx.y)
    head = fx.Int32(fx.block_idx.x)
    cu = arguments.cu_seqlens_q
    shift = rows.bit_length() - 1

    def start(sequence):
        return (isa.load_scalar(cu, sequence) >> shift) + sequence

    def narrow(_, bounds):
        low, high = bounds
        middle = low + ((high - low) >> 1)
        below = start(middle) <= index
        return [below.select(middle, low), below.select(high, middle)]

    low, _ = control.repeat(fx.Int32(0), fx.Int32(16), [fx.Int32(0), arguments.batch], narrow)
    first_row = isa.load_scalar(cu, low)
    queries = isa.load_scalar(cu, low + 1) - first_row
    blocks = (queries + (rows - 1)) >> shift
    local = index - start(low)
    return Work((local >= 0) & (local < blocks), low, blocks - 1 - local, head, first_row, queries)


def keys_of(traits: Traits, arguments, sequence):
    """(page table, Lk) of a sequence, from a block table or from CSR."""
    shift = traits.problem.page_shift
    words_shift = fx.Int32((arguments.page_id_bytes == 8).select(fx.Int32(3), fx.Int32(2)))
    zero = fx.Int32(0)

    def from_csr(_):
        first = isa.load_scalar(arguments.kv_indptr, sequence)
        pages = isa.load_scalar(arguments.kv_indptr, sequence + 1) - first
        full = fx.Int32(1 << shift)
        last = control.choose(
            isa.is_null(arguments.kv_last_page_lens),
            full,
            lambda _: full,
            lambda _: isa.load_scalar(arguments.kv_last_page_lens, sequence),
        )
        keys = (pages > 0).select(((pages - 1) << shift) + last, zero)
        return [fx.Int64(first), keys]

    def from_block_table(_):
        row = fx.Int64(sequence) * arguments.block_table_row_stride
        return [row, isa.load_scalar(arguments.seqlens_k, sequence)]

    csr = isa.is_null(arguments.kv_indptr) == False  # noqa: E712
    first, keys = control.choose(csr, [fx.Int64(0), zero], from_csr, from_block_table)
    form = (arguments.kv_page_indices, arguments.block_table)
    ids = fx.Int64(csr.select(*(fx.Int64(fx.ptrtoint(pointer)) for pointer in form)))
    last_page = fx.max(keys - 1, zero) >> shift
    return PageTable(isa.bytes_at(ids + (first << fx.Int64(words_shift))), words_shift, last_page), keys
