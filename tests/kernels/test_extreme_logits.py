"""Logits far beyond what a model has: 448 everywhere with descales up to 1e3. The exponent's sum then rounds by more than FP8's headroom."""

import numpy as np
import pytest

from paged_attn_runtime.variant import HEAD_DIM_PAIRS
from tests.end_to_end.launch import launch
from tests.end_to_end.test_numerics import problem_of

pytestmark = pytest.mark.usefixtures("prebuilt")

pairs = pytest.mark.parametrize("pair", HEAD_DIM_PAIRS)
policies = pytest.mark.parametrize("policy", ["single", "longest_first"])
descales = pytest.mark.parametrize("descale", [1.0, 30.0, 1e3])


def result_of(q, k, v, descale, policy):
    problem = problem_of(q, k, v, softmax_scale=1.0, descales=(descale, descale, 1.0))
    return launch(problem, batch_policy=policy)


@pairs
@policies
@descales
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_equal_logits_give_the_mean_of_v(pair, policy, descale, sign):
    d, dv = pair
    v = np.random.default_rng(1).integers(-4, 5, (300, dv)).astype(float)
    result = result_of(np.full((300, d), 448.0), np.full((300, d), sign * 448.0), v, descale, policy)
    seen = np.cumsum(v, axis=0) / np.arange(1, 301)[:, None]
    assert np.abs(result.out[:, 0] - seen).max() <= 0.02
    logit = sign * 448.0**2 * d * descale**2
    assert np.allclose(result.lse[0], logit, rtol=1e-5)


@pairs
@policies
@descales
def test_the_largest_logit_takes_all(pair, policy, descale):
    """A new largest key every 40 keys; each is 0.2 % above the one before, far more than float32 resolves."""
    d, dv = pair
    v = np.random.default_rng(2).integers(-4, 5, (300, dv)).astype(float)
    q, k = np.full((300, d), 448.0), np.full((300, d), 208.0)
    best = np.zeros(300, int)
    for number, key in enumerate(range(0, 300, 40)):
        k[key] = 416.0
        k[key, : number + 1] = 448.0
        best[key:] = key
    result = result_of(q, k, v, descale, policy)
    assert (result.out[:, 0] == v[best]).all()
