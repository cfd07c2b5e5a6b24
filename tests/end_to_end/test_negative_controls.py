"""The checks of test_variants fail, by a factor of 3 or more, for each of the mistakes they are there to find."""

from dataclasses import replace

import numpy as np
import pytest

from tests.end_to_end.launch import launch
from tests.reference.compare import RMS_LIMIT, compare
from tests.reference.paged import paged_prefill
from tests.reference.problems import Shape, make_problem

pytestmark = pytest.mark.usefixtures("prebuilt")

FACTOR = 3


@pytest.fixture(scope="module")
def problem():
    return make_problem(
        Shape(192, 128, 64, 4, 2, ((250, 250), (30, 400))), seed=20, q_descale=0.5, k_descale=0.5, v_descale=0.5
    )


@pytest.fixture(scope="module")
def result(problem):
    return launch(problem)


def assert_fails(verdict):
    assert verdict.ratio >= FACTOR, str(verdict)
    assert verdict.rms >= FACTOR * RMS_LIMIT, str(verdict)


def test_the_right_answer_passes(problem, result):
    verdict = compare(paged_prefill(problem), result.out, result.lse)
    assert verdict.ok, str(verdict)
    assert verdict.rms < RMS_LIMIT


@pytest.mark.parametrize("key_offset", [-1, 1])
def test_a_mask_off_by_one(problem, result, key_offset):
    assert_fails(compare(paged_prefill(problem, key_offset=key_offset), result.out, result.lse))


def test_two_pages_swapped(problem):
    """Under the causal mask: pages that every row sees whole may be swapped freely."""
    pages = [p.copy() for p in problem.page_lists]
    pages[0][[0, 2]] = pages[0][[2, 0]]
    swapped = launch(replace(problem, page_lists=pages))
    assert_fails(compare(paged_prefill(problem), swapped.out))


@pytest.mark.parametrize("name", ["q_descale", "k_descale", "v_descale"])
def test_a_descale_dropped(problem, name):
    dropped = launch(replace(problem, **{name: 1.0}))
    assert_fails(compare(paged_prefill(problem), dropped.out))


def test_a_v_column_shifted(problem, result):
    assert_fails(compare(paged_prefill(problem), np.roll(result.out, 1, axis=2)))


def test_a_kv_head_taken_for_another(problem, result):
    assert_fails(compare(paged_prefill(problem, kv_head_offset=1), result.out))
