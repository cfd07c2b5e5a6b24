"""The sequences of the batch: their query rows, their keys, their pages; from a block table or from CSR.

`load` reads one i32 of an array: isa.load_scalar for one sequence in scalar registers, isa.load_lanes for one a lane.
"""

from __future__ import annotations

import flydsl.expr as fx

from . import control, isa
from .loads import PageTable
from .traits import Traits


def query_rows(arguments, sequence, load):
    """(first packed row, Lq)."""
    first = load(arguments.cu_seqlens_q, sequence)
    return first, load(arguments.cu_seqlens_q, sequence + 1) - first


def _is_csr(arguments):
    return isa.is_null(arguments.kv_indptr) == False  # noqa: E712


def keys(traits: Traits, arguments, sequence, load):
    """Lk: given, or the full pages of CSR less what the last one does not hold.

    (As pages - 1 full ones plus a last one it is a sum of three terms, which LLVM compiles to one of two forms, depending
    on addresses in the compiler: builds would differ.)
    """
    zero = sequence - sequence
    shift = traits.problem.page_shift

    def from_csr(_):
        pages = load(arguments.kv_indptr, sequence + 1) - load(arguments.kv_indptr, sequence)
        unused = control.choose(
            isa.is_null(arguments.kv_last_page_lens),
            zero,
            lambda nothing: nothing,
            lambda _: traits.problem.page_keys - load(arguments.kv_last_page_lens, sequence),
        )
        return fx.Int32((pages > 0).select((pages << shift) - unused, zero))

    return control.choose(_is_csr(arguments), zero, from_csr, lambda _: load(arguments.seqlens_k, sequence))


def page_table(traits: Traits, arguments, sequence, key_count):
    words_shift = fx.Int32((arguments.page_id_bytes == 8).select(fx.Int32(3), fx.Int32(2)))
    csr = _is_csr(arguments)
    first = control.choose(
        csr,
        fx.Int64(sequence) * arguments.block_table_row_stride,
        lambda _: fx.Int64(isa.load_scalar(arguments.kv_indptr, sequence)),
    )
    forms = (arguments.kv_page_indices, arguments.block_table)
    ids = fx.Int64(csr.select(*(fx.Int64(fx.ptrtoint(form)) for form in forms)))
    last_page = fx.max(key_count - 1, fx.Int32(0)) >> traits.problem.page_shift
    return PageTable(isa.bytes_at(ids + (first << fx.Int64(words_shift))), words_shift, last_page)
