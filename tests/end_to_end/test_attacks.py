"""What a hostile or careless caller passes: shapes of batches, numbers and metadata that nobody sane would, and what must come of it."""

import threading
from dataclasses import replace

import numpy as np
import pytest

import paged_attn_runtime as par
from tests.end_to_end.cases import HEAD_DIMS, PAGE_SIZES, POLICIES
from tests.end_to_end.launch import arguments, check, launch, launch_arguments
from tests.reference.compare import compare
from tests.reference.paged import paged_prefill
from tests.reference.problems import NAN_BYTE, Shape, make_problem

pytestmark = pytest.mark.usefixtures("prebuilt")

every_page_size = pytest.mark.parametrize("page_size", PAGE_SIZES)
every_policy = pytest.mark.parametrize("policy", POLICIES)
of_many = pytest.mark.parametrize("policy", POLICIES[1:])
put = par.DeviceArray.from_numpy


def verify(problem, result, expected=None):
    verdict = compare(expected or paged_prefill(problem), result.out, result.lse)
    assert verdict.ok, str(verdict)


# -- batches ----------------------------------------------------------------------------------------------------------


@of_many
@pytest.mark.parametrize("metadata", ["block_table", "csr"])
@pytest.mark.parametrize("batch", [2, 64, 65, 300])
def test_many_sequences_most_of_them_empty(batch, metadata, policy):
    """Runs of empty sequences before, between and after the others: no new tokens, no keys, or neither."""
    rng = np.random.default_rng(batch)
    kinds = [(0, 0), (0, 37), (3, 0), (1, 17), (2, 2), (5, 3), (0, 0), (0, 0)]
    lengths = [kinds[i] for i in rng.integers(0, len(kinds), batch)]
    lengths[0], lengths[-1] = (0, 0), (0, 5)
    lengths[batch // 2] = (130, 140)
    check(make_problem(Shape(128, 128, 16, 1, 1, tuple(lengths)), seed=70), batch_policy=policy, metadata=metadata)


@of_many
def test_ranks_of_equal_blocks_beyond_one_wave_of_sequences(policy):
    """150 sequences of the same length: every level of the ranking has more blocks than a wave has lanes."""
    check(make_problem(Shape(128, 128, 16, 1, 1, ((2, 20),) * 150), seed=71), batch_policy=policy)


@every_policy
@every_page_size
def test_thousands_of_queries_over_five_keys(page_size, policy):
    """Whole query blocks, and most of the last one, see no key at all."""
    check(make_problem(Shape(128, 128, page_size, 1, 1, ((1500, 5),)), seed=72), batch_policy=policy)


@pytest.mark.parametrize("metadata", ["block_table", "csr"])
def test_a_pool_without_pages_and_a_table_without_columns(metadata):
    problem = make_problem(Shape(192, 128, 64, 2, 1, ((3, 0), (200, 0))), seed=73, spare_pages=0)
    assert len(problem.k_cache) == 0
    if metadata == "csr":
        check(problem, metadata="csr")
        return
    tensors, keywords = arguments(problem)
    keywords["block_table"] = put(np.zeros((2, 0), np.int32))
    verify(problem, launch_arguments(problem, tensors, keywords))


@every_page_size
def test_csr_that_starts_inside_its_indices(page_size):
    """kv_indptr need not start at 0 nor end at the last index."""
    problem = make_problem(Shape(192, 128, page_size, 2, 1, ((7, 90), (0, 0), (20, 2 * page_size))), seed=74)
    tensors, keywords = arguments(problem, metadata="csr")
    indptr, indices, _ = problem.csr()
    keywords["kv_indptr"] = put(indptr + 3)
    keywords["kv_page_indices"] = put(np.concatenate([[-1, 1 << 30, -1], indices, [-1, -1]]).astype(np.int32))
    verify(problem, launch_arguments(problem, tensors, keywords))


@pytest.mark.parametrize("last", [1, 63, 64])
def test_last_page_lengths(last):
    """At page 1 kv_last_page_lens may be left out or hold ones; at page 64 every length counts."""
    lengths = ((1, 64 + last),)
    check(make_problem(Shape(192, 128, 64, 2, 1, lengths), seed=75), metadata="csr")
    problem = make_problem(Shape(192, 128, 1, 2, 1, lengths), seed=75)
    tensors, keywords = arguments(problem, metadata="csr")
    keywords["kv_last_page_lens"] = put(np.ones(1, np.int32))
    verify(problem, launch_arguments(problem, tensors, keywords))


@pytest.mark.parametrize("groups", [1, 3, 5, 7, 64])
@of_many
def test_any_number_of_heads_in_a_group(groups, policy):
    for num_kv_heads in (1, 3):
        shape = Shape(192, 128, 64, groups * num_kv_heads, num_kv_heads, ((5, 70),))
        check(make_problem(shape, seed=76), batch_policy=policy)


@pytest.mark.parametrize("head_dim, v_head_dim", HEAD_DIMS)
@every_page_size
def test_policies_agree(page_size, head_dim, v_head_dim):
    problem = make_problem(Shape(head_dim, v_head_dim, page_size, 2, 1, ((140, 400),)), seed=77)
    expected = paged_prefill(problem)
    results = [launch(problem, batch_policy=policy) for policy in POLICIES]
    for result in results:
        verify(problem, result, expected)
    for result in results[1:]:
        assert (np.abs(result.out - results[0].out) <= 2 * expected.out_bound).all()


@every_page_size
def test_one_page_repeated_for_thousands_of_keys(page_size):
    """A table far larger than the pool: Lk grows, the memory does not."""
    page_keys, keys = max(page_size, 16), 12_000
    small = make_problem(Shape(128, 128, page_size, 1, 1, ((2, page_keys),)), seed=78, spare_pages=0)
    pages = np.resize(small.page_lists[0], -(-keys // page_size))
    problem = replace(small, lengths_k=np.array([keys], np.int32), page_lists=[pages])
    check(problem, independent=False)


# -- numbers ----------------------------------------------------------------------------------------------------------


@every_page_size
@of_many
def test_nan_stays_where_it_is(page_size, policy):
    """A NaN row of q spoils that row and head; a cache full of NaN spoils its sequence; nobody else notices."""
    lengths = ((40, 90), (3, 70), (50, 50))
    problem = make_problem(Shape(192, 128, page_size, 2, 1, lengths), seed=79)
    q = problem.q.copy()
    q[17, 1] = NAN_BYTE
    k, v = problem.k_cache.copy(), problem.v_cache.copy()
    k[problem.page_lists[1]] = NAN_BYTE
    v[problem.page_lists[1]] = NAN_BYTE
    clean = launch(problem, batch_policy=policy)
    dirty = launch(replace(problem, q=q, k_cache=k, v_cache=v), batch_policy=policy)
    spoiled = np.zeros(clean.out.shape[:2], bool)
    spoiled[17, 1] = spoiled[40:43] = True
    assert np.isnan(dirty.out[spoiled]).all() and np.isnan(dirty.lse.T[spoiled]).all()
    np.testing.assert_array_equal(dirty.raw_out[~spoiled], clean.raw_out[~spoiled])
    np.testing.assert_array_equal(dirty.raw_lse.T[~spoiled], clean.raw_lse.T[~spoiled])


@every_policy
@pytest.mark.parametrize("head_dim, v_head_dim", HEAD_DIMS)
def test_a_nan_key_reaches_only_the_rows_that_see_it(head_dim, v_head_dim, policy):
    """Rows in front of it keep their bits, though they share matrix products with rows behind it."""
    problem = make_problem(Shape(head_dim, v_head_dim, 1, 1, 1, ((100, 150),)), seed=84)
    k = problem.k_cache.copy()
    k[problem.page_lists[0][60]] = NAN_BYTE
    clean = launch(problem, batch_policy=policy)
    dirty = launch(replace(problem, k_cache=k), batch_policy=policy)
    first = 60 - 50  # row i sees keys 0..i + 50
    np.testing.assert_array_equal(dirty.raw_out[:first], clean.raw_out[:first])
    np.testing.assert_array_equal(dirty.raw_lse[:, :first], clean.raw_lse[:, :first])
    assert np.isnan(dirty.out[first:]).all() and np.isnan(dirty.lse[:, first:]).all()


@pytest.mark.parametrize("head_dim, v_head_dim", HEAD_DIMS)
@every_policy
def test_values_of_448_everywhere(head_dim, v_head_dim, policy):
    problem = make_problem(Shape(head_dim, v_head_dim, 64, 1, 1, ((70, 600),)), seed=80)
    v = np.where(problem.v_cache == NAN_BYTE, NAN_BYTE, 0x7E).astype(np.uint8)
    for v_descale in (1.0, 2.0**-20, 1e30):
        check(replace(problem, v_cache=v, v_descale=v_descale), independent=False, batch_policy=policy)


@pytest.mark.parametrize(
    "scales",
    [
        (0.0, 1.0, 1.0, 1.0),
        (-0.0, 1.0, 0.0, 1.0),
        (1e-45, 1.0, 1.0, 1.0),
        (1e-30, 1e-30, 1.0, 1.0),
        (0.1, 1.0, 1.0, 0.0),
        (1e-38, 1e-4, 1e3, 1e3),
    ],
    ids=str,
)
@pytest.mark.parametrize("on_device", [False, True])
def test_scales_of_zero_and_next_to_it(scales, on_device):
    """No logit differs from another: the mean of the visible V, times v_descale."""
    problem = make_problem(Shape(192, 128, 64, 2, 1, ((70, 200),)), seed=81)
    softmax_scale, q_descale, k_descale, v_descale = scales
    problem = replace(
        problem, softmax_scale=softmax_scale, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale
    )
    check(problem, independent=False, descales_on_device=on_device)


BAD_NUMBERS = [float("nan"), float("inf"), -float("inf"), -1.0, -1e-45, 1e39, 10**400, -(10**400)]


@pytest.mark.parametrize("value", BAD_NUMBERS, ids=lambda value: str(value)[:8])
@pytest.mark.parametrize("name", ["q_descale", "k_descale", "v_descale", "softmax_scale"])
def test_numbers_that_are_no_scale_are_refused(name, value):
    problem = make_problem(Shape(128, 128, 64, 1, 1, ((2, 5),)), seed=82)
    tensors, keywords = arguments(problem)
    keywords[name] = value
    with pytest.raises(ValueError, match=f"{name} is .*; allowed: a finite float32, not negative"):
        par.paged_prefill(*tensors, **keywords)


# -- processes --------------------------------------------------------------------------------------------------------


def test_different_calls_from_eight_threads():
    """Shapes, page sizes and tables of different kinds at once, each checked on its own."""
    problems = [
        make_problem(Shape(*HEAD_DIMS[i % 3], PAGE_SIZES[i % 4], 2, 1, ((9 + i, 60 + i), (i, 3))), seed=83 + i)
        for i in range(8)
    ]
    failures = []

    def work(problem, metadata):
        try:
            for _ in range(2):
                check(problem, metadata=metadata)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(p, ("block_table", "csr")[i % 2])) for i, p in enumerate(problems)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
