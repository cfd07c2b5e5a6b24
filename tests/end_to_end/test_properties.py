"""Generated batches: whatever the lengths, heads, pages and metadata, every element is within the bound. Failures shrink."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.end_to_end.cases import HEAD_DIMS, PAGE_SIZES, POLICIES
from tests.end_to_end.launch import check
from tests.reference.problems import Shape, make_problem

pytestmark = pytest.mark.usefixtures("prebuilt")

BLOCK = 256
TILE = 128


def around(*edges):
    """Lengths at, just below and just above the given edges."""
    return st.sampled_from(sorted({max(0, edge + d) for edge in edges for d in (-1, 0, 1)}))


def lengths(page_size):
    keys = st.one_of(around(0, page_size, 2 * page_size, TILE, 2 * TILE, BLOCK), st.integers(0, 700))
    queries = st.one_of(around(0, 1, 32, TILE, BLOCK), st.integers(0, 300))
    return st.tuples(queries, keys)


@st.composite
def batches(draw):
    """(problem, how to launch it)."""
    head_dim, v_head_dim = draw(st.sampled_from(HEAD_DIMS))
    page_size = draw(st.sampled_from(PAGE_SIZES))
    policy = draw(st.sampled_from([None, *POLICIES]))
    most = 1 if policy == "single" else 5
    sequences = draw(st.lists(lengths(page_size), min_size=1, max_size=most))
    num_kv_heads = draw(st.sampled_from([1, 2]))
    group = draw(st.sampled_from([1, 2, 3, 8, 16]))
    problem = make_problem(
        Shape(head_dim, v_head_dim, page_size, num_kv_heads * group, num_kv_heads, tuple(sequences)),
        seed=draw(st.integers(0, 1000)),
        logit_std=draw(st.sampled_from([0.1, 1.0, 3.0, 10.0])),
        q_descale=draw(st.sampled_from([1.0, 0.01, 30.0])),
        v_descale=draw(st.sampled_from([1.0, 0.5])),
        rows_before=draw(st.sampled_from([0, 3])),
        rows_after=draw(st.sampled_from([0, 260])),
    )
    if draw(st.booleans()):  # a page of the pool serves several sequences
        share_pages(problem)
    options = {
        "batch_policy": policy,
        "metadata": draw(st.sampled_from(["block_table", "csr"])),
        "id_dtype": draw(st.sampled_from([np.int32, np.int64])),
        "poison": draw(st.sampled_from([None, -1, 0])),
        "descales_on_device": draw(st.booleans()),
    }
    return problem, options


def share_pages(problem):
    """Every full page of the first sequence serves as the same page of the others, where they have it in full."""
    page_size = problem.shape.page_size
    first = problem.page_lists[0]
    for pages, keys in zip(problem.page_lists[1:], problem.lengths_k[1:]):
        full = min(len(first), keys // page_size, problem.lengths_k[0] // page_size)
        pages[:full] = first[:full]


def run(examples):
    @settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(batches())
    def property_holds(batch):
        problem, options = batch
        check(problem, **options)

    property_holds()


def test_generated_batches():
    run(25)


@pytest.mark.slow
def test_many_generated_batches():
    run(100)
