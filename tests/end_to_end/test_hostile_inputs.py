"""Inputs that broke other paged-attention systems, over all page sizes. Caches of make_problem hold NaN wherever no key is stored."""

from dataclasses import replace

import numpy as np
import pytest

import paged_attn_runtime as par
from tests.end_to_end.cases import PAGE_SIZES
from tests.end_to_end.launch import arguments, check, launch, launch_arguments
from tests.reference.compare import compare
from tests.reference.paged import paged_prefill
from tests.reference.problems import NAN_BYTE, Shape, make_problem

pytestmark = pytest.mark.usefixtures("prebuilt")

every_page_size = pytest.mark.parametrize("page_size", PAGE_SIZES)


def ragged(page_size, seed=30, **options):
    lengths = ((40, 40), (1, page_size + 1), (30, 2 * page_size + 29), (3, 3))
    return make_problem(Shape(192, 128, page_size, 2, 1, lengths), seed=seed, **options)


@every_page_size
@pytest.mark.parametrize("kind", ["stale", "minus_one", "huge"])
def test_table_entries_past_the_end_are_never_followed(page_size, kind):
    """Stale entries name a page that exists and is NaN throughout."""
    problem = ragged(page_size)
    used = np.concatenate(problem.page_lists)
    stale = int(np.setdiff1d(np.arange(len(problem.k_cache)), used)[0])
    assert (problem.k_cache[stale] == NAN_BYTE).all()
    check(problem, poison={"stale": stale, "minus_one": -1, "huge": 0x7FFFFFF0}[kind])


@every_page_size
@pytest.mark.parametrize("metadata", ["block_table", "csr"])
def test_exactly_tight_tables_in_exactly_sized_allocations(page_size, metadata):
    """One sequence: the table ends with its last page, and the emulator reports a read of the byte behind it."""
    for keys in (page_size, 2 * page_size, 2 * page_size + 1, 130):
        check(make_problem(Shape(192, 128, page_size, 2, 1, ((9, keys),)), seed=31, spare_pages=0), metadata=metadata)


@every_page_size
def test_rows_outside_cu_seqlens_q_are_untouched(page_size):
    check(ragged(page_size, rows_before=7, rows_after=300))


@every_page_size
def test_one_sequence_still_honours_cu_seqlens_q(page_size):
    lengths = ((70, 90),)
    problem = make_problem(Shape(128, 128, page_size, 2, 1, lengths), seed=32, rows_before=5, rows_after=9)
    check(problem, batch_policy="single")


@every_page_size
def test_pages_shared_between_sequences_and_repeated_in_one(page_size):
    problem = ragged(page_size)
    pages = [p.copy() for p in problem.page_lists]
    full = problem.lengths_k[2] // page_size
    pages[2][:full] = pages[2][0]
    pages[1][0] = pages[2][0]
    check(replace(problem, page_lists=pages), independent=False)


@every_page_size
def test_loose_bounds_change_nothing(page_size):
    problem = ragged(page_size)
    tensors, keywords = arguments(problem)
    tight = launch_arguments(problem, tensors, keywords)
    keywords.update(max_seqlen_q=1 << 20, max_seqlen_k=1 << 20)
    loose = launch_arguments(problem, tensors, keywords)
    verdict = compare(paged_prefill(problem), loose.out, loose.lse)
    assert verdict.ok, str(verdict)
    np.testing.assert_array_equal(loose.raw_out[problem.cu_seqlens_q[1] :], tight.raw_out[problem.cu_seqlens_q[1] :])


@pytest.mark.parametrize("page_size", [1, 16])
def test_more_than_65536_pages(page_size):
    """Page ids above 16 bits: the sequence's own pages sit at the far end of the pool."""
    small = make_problem(Shape(128, 128, page_size, 1, 1, ((20, 5 * page_size + 3),)), seed=33, spare_pages=0)
    far = 66_000
    k_cache = np.full((far + len(small.k_cache), *small.k_cache.shape[1:]), NAN_BYTE, np.uint8)
    v_cache = np.full((far + len(small.v_cache), *small.v_cache.shape[1:]), NAN_BYTE, np.uint8)
    k_cache[far:], v_cache[far:] = small.k_cache, small.v_cache
    check(replace(small, k_cache=k_cache, v_cache=v_cache, page_lists=[p + far for p in small.page_lists]))


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_a_pool_beyond_4_gib(page_size, emulated):
    """The pages in use sit above 2^32 bytes of the pool; the emulator keeps the rest of it unbacked."""
    small = make_problem(Shape(192, 128, page_size, 2, 1, ((20, page_size + 70),)), seed=34, spare_pages=0)
    (k_dense, v_dense), base = (small.k_cache, small.v_cache), (5 << 30) // (128 * page_size)
    pools = []
    for dense in (k_dense, v_dense):
        pool = par.DeviceArray.empty((base + len(dense), *dense.shape[1:]), "|u1")
        page_bytes = dense[0].nbytes
        strides = (page_bytes, *dense.strides[1:])
        pool.view(dense.shape, strides, offset=base * page_bytes).copy_from_numpy(dense)
        pools.append(pool)
    far = replace(small, page_lists=[p + base for p in small.page_lists])
    (q, _, _), keywords = arguments(far)
    result = launch_arguments(far, (q, *pools), keywords)
    verdict = compare(paged_prefill(small), result.out, result.lse)
    assert verdict.ok, str(verdict)


@every_page_size
def test_lse_of_two_parts_merges_to_the_whole(page_size):
    """Prefix and new keys computed apart, merged by lse as a server does; a row that sees no key has lse -inf and weight 0."""
    whole = make_problem(Shape(128, 128, page_size, 1, 1, ((3, 3),)), seed=35)
    empty = make_problem(Shape(128, 128, page_size, 1, 1, ((3, 0),)), seed=35)
    a, b = launch(whole), launch(empty)
    assert np.isneginf(b.lse).all()
    assert (b.out == 0).all()
    total = np.logaddexp(a.lse, b.lse)
    merged = a.out * np.exp(a.lse - total).T[..., None] + b.out * np.exp(b.lse - total).T[..., None]
    np.testing.assert_array_equal(merged, a.out)
