"""Scores that are hard on an online softmax and on FP8: peaks, ties, maxima that rise along the keys, extremes of the formats."""

from dataclasses import replace

import numpy as np
import pytest

from tests.end_to_end.cases import HEAD_DIMS, PAGE_SIZES
from tests.end_to_end.launch import check
from tests.reference.paged import to_fp8
from tests.reference.problems import Problem, Shape, make_problem, store

pytestmark = pytest.mark.usefixtures("prebuilt")

every_pair = pytest.mark.parametrize("head_dim, v_head_dim", HEAD_DIMS)


def problem_of(q, k, v, *, page_size=64, softmax_scale=1.0, descales=(1.0, 1.0, 1.0)):
    """One sequence with the given float q [Lq, D], k [Lk, D], v [Lk, Dv], one head, pages in order."""
    Lq, Lk = len(q), len(k)
    pages = -(-Lk // page_size)
    pools = []
    for x in (k, v):
        pool = np.full((pages * page_size, x.shape[1]), 0x7F, np.uint8)
        pool[:Lk] = to_fp8(x)
        pools.append(pool.reshape(pages, page_size, 1, x.shape[1]))
    shape = Shape(q.shape[1], v.shape[1], page_size, 1, 1, ((Lq, Lk),))
    return Problem(
        shape,
        to_fp8(q)[:, None],
        *store(*pools, page_size),
        np.array([0, Lq], np.int32),
        np.array([Lk], np.int32),
        [np.arange(pages)],
        softmax_scale,
        *descales,
    )


def rising(Lq, Lk, D, Dv, step, seed=40):
    """Scores that grow by `step` (in powers of e) from key to key: every tile has a new maximum."""
    rng = np.random.default_rng(seed)
    q = np.zeros((Lq, D))
    k = np.zeros((Lk, D))
    ramp = step * np.arange(Lk)
    q[:, :8] = 8.0
    coarse = np.round(ramp / 64)
    k[:, :8] = to_fp8_values(np.repeat(coarse[:, None], 8, axis=1))
    q[:, 8] = 1.0
    k[:, 8] = to_fp8_values(ramp - 64 * k[:, 0])
    return q, k, rng.standard_normal((Lk, Dv))


def to_fp8_values(x):
    from tests.reference.paged import from_fp8

    return from_fp8(to_fp8(x))


@every_pair
@pytest.mark.parametrize("step", [-0.5, 0.005, 0.02, 0.05, 0.5])
def test_maxima_that_rise_or_fall_along_the_keys(head_dim, v_head_dim, step):
    """From steps that a lazy rescale may skip to steps that force one in every tile, and inside a tile."""
    check(problem_of(*rising(40, 700, head_dim, v_head_dim, step)), independent=False)


@every_pair
def test_a_jump_just_below_and_above_the_headroom_of_p(head_dim, v_head_dim):
    """The maximum jumps by 1.7, 1.8 and 1.9 in powers of two at tile borders: both sides of the lazy rescale's bound."""
    rng = np.random.default_rng(41)
    for jump in (1.7, 1.8, 1.81, 1.9, 3.5):
        q = np.zeros((33, head_dim))
        k = np.zeros((320, head_dim))
        q[:, 0] = 1.0
        k[:, 0] = np.repeat(np.arange(5.0), 64)
        problem = problem_of(q, k, rng.standard_normal((320, v_head_dim)), softmax_scale=jump * np.log(2))
        check(problem, independent=False)


@every_pair
@pytest.mark.parametrize("logit_std", [8.0, 20.0])
def test_peaked_logits(head_dim, v_head_dim, logit_std):
    check(make_problem(Shape(head_dim, v_head_dim, 64, 2, 1, ((70, 500),)), seed=42, logit_std=logit_std))


@every_pair
def test_all_logits_equal(head_dim, v_head_dim):
    rng = np.random.default_rng(43)
    q, k, v = np.ones((70, head_dim)), np.ones((500, head_dim)), rng.standard_normal((500, v_head_dim))
    check(problem_of(q, k, v, softmax_scale=0.05), independent=False)


@every_pair
def test_fp8_extremes(head_dim, v_head_dim):
    """448, the smallest subnormal and -0 in q, k and v; descales bring the logits back to where they differ."""
    rng = np.random.default_rng(44)
    values = np.array([448.0, -448.0, 2.0**-9, -(2.0**-9), -0.0, 0.0, 1.0])
    q = rng.choice(values, (70, head_dim), p=[0.02, 0.02, 0.2, 0.2, 0.2, 0.2, 0.16])
    k = rng.choice(values, (300, head_dim), p=[0.02, 0.02, 0.2, 0.2, 0.2, 0.2, 0.16])
    v = rng.choice(values, (300, v_head_dim))
    check(problem_of(q, k, v, softmax_scale=2.0**-14), independent=False)


@pytest.mark.parametrize("q_descale, k_descale, v_descale", [(1e-4, 1e3, 1.0), (1e3, 1e-4, 1e3), (1e-4, 1e-4, 1e-4)])
def test_descales_from_1e_4_to_1e3(q_descale, k_descale, v_descale):
    problem = make_problem(Shape(192, 128, 64, 2, 1, ((70, 200),)), seed=45)
    problem = replace(problem, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale)
    check(problem, independent=q_descale * k_descale > 1e-3)


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_rows_whose_first_tiles_are_masked(page_size):
    """More queries than keys: whole blocks of rows see nothing, the block after them only a part of one tile."""
    check(make_problem(Shape(128, 128, page_size, 1, 1, ((400, 70),)), seed=46))


@pytest.mark.slow
@pytest.mark.parametrize("page_size", [64, 1024])
def test_64k_keys(page_size):
    check(make_problem(Shape(192, 128, page_size, 1, 1, ((17, 65_536),)), seed=47), rms_limit=0.03)
