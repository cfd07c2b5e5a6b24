"""The reference against another implementation, and its error bound against the rounding it describes."""

import ml_dtypes
import numpy as np
import pytest

from tests.reference.attention import attention
from tests.reference.compare import compare
from tests.reference.paged import paged_prefill, read_k, read_v
from tests.reference.problems import Shape, make_problem, store


def draw(rng, Lq, Lk, D=64, Dv=32, logit_std=1.0):
    q = rng.standard_normal((Lq, D)) * np.sqrt(logit_std)
    k = rng.standard_normal((Lk, D)) * np.sqrt(logit_std)
    return q, k, rng.standard_normal((Lk, Dv))


@pytest.mark.parametrize("Lq, Lk", [(1, 1), (1, 70), (33, 33), (20, 90), (90, 20)])
def test_attention_matches_row_by_row_loops(Lq, Lk):
    q, k, v = draw(np.random.default_rng(0), Lq, Lk)
    got = attention(q, k, v, scale=0.125, v_descale=2.0)
    for i in range(Lq):
        last = i + Lk - Lq
        if last < 0:
            assert (got.out[i] == 0).all()
            assert got.lse[i] == -np.inf
            continue
        weights = np.array([np.exp(0.125 * q[i] @ k[j]) for j in range(last + 1)])
        np.testing.assert_allclose(got.out[i], 2.0 * weights @ v[: last + 1] / weights.sum(), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(got.lse[i], np.log(weights.sum()), rtol=1e-12, atol=1e-14)


def test_attention_matches_torch_on_square_causal_input():
    torch = pytest.importorskip("torch")
    q, k, v = draw(np.random.default_rng(1), 50, 50)
    want = torch.nn.functional.scaled_dot_product_attention(
        *(torch.from_numpy(x)[None] for x in (q, k, v)), is_causal=True, scale=0.125
    )[0]
    np.testing.assert_allclose(attention(q, k, v, scale=0.125).out, want.numpy(), rtol=1e-10, atol=1e-12)


def rounding_kernel(q, k, v, *, scale, p_scale, tile=64):
    """What a kernel does to the numbers, in plain numpy: tiles, P as e4m3 at p_scale, sums of the rounded P, bf16 output."""
    Lq, Lk = len(q), len(k)
    visible = np.arange(Lk)[None, :] <= np.arange(Lq)[:, None] + Lk - Lq
    s = np.where(visible, (scale * np.log2(np.e) * (q @ k.T)).astype(np.float32), -np.inf)
    running = np.full(Lq, -np.inf, np.float32)
    total, acc = np.zeros(Lq, np.float32), np.zeros((Lq, v.shape[1]), np.float32)
    for start in range(0, Lk, tile):
        part = s[:, start : start + tile]
        new = np.maximum(running, part.max(axis=1))
        shift = np.where(np.isneginf(new), 0, new)
        rescale = np.exp2(running - shift)
        p = np.exp2(part - shift[:, None]) * np.float32(p_scale)
        p = p.astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
        total = total * rescale + p.sum(axis=1)
        acc = acc * rescale[:, None] + p @ v[start : start + tile].astype(np.float32)
        running = new
    with np.errstate(invalid="ignore", divide="ignore"):
        out = np.where(total[:, None] > 0, acc / total[:, None], 0)
        lse = np.where(total > 0, (np.log2(total / p_scale) + running) * np.log(2), -np.inf)
    return out.astype(ml_dtypes.bfloat16).astype(np.float64), lse


@pytest.mark.parametrize("p_scale", [128, 256, 448])
@pytest.mark.parametrize("logit_std", [0.5, 2.0, 6.0])
def test_the_bound_holds_for_the_rounding_it_describes_and_is_not_loose(p_scale, logit_std):
    q, k, v = draw(np.random.default_rng(2), 96, 700, logit_std=logit_std)
    want = attention(q, k, v, scale=0.125)
    out, lse = rounding_kernel(q, k, v, scale=0.125, p_scale=p_scale)
    ratio = np.abs(out - want.out) / want.out_bound
    assert ratio.max() <= 1
    assert ratio.max() > 0.1, "the bound is so loose that it says nothing"
    assert (np.abs(lse - want.lse) <= want.lse_bound).all()


def test_the_bound_of_dependent_errors_covers_equal_logits():
    q, k, v = draw(np.random.default_rng(3), 40, 640)
    want = attention(q * 0, k, v, scale=1.0, independent=False)
    out, lse = rounding_kernel(q * 0, k, v, scale=1.0, p_scale=300)
    assert (np.abs(out - want.out) <= want.out_bound).all()
    assert (np.abs(lse - want.lse) <= want.lse_bound).all()


@pytest.mark.parametrize("page_size", [1, 16, 64])
def test_caches_give_back_the_tokens_that_were_stored(page_size):
    rng = np.random.default_rng(4)
    pool_k = rng.integers(0, 255, (5, page_size, 2, 128), np.uint8)
    pool_v = rng.integers(0, 255, (5, page_size, 2, 192), np.uint8)
    k_cache, v_cache = store(pool_k, pool_v, page_size)
    pages, length = [3, 0, 4], 3 * page_size - page_size // 3
    np.testing.assert_array_equal(read_k(k_cache, pages, length), pool_k[pages].reshape(-1, 2, 128)[:length])
    np.testing.assert_array_equal(read_v(v_cache, pages, length), pool_v[pages].reshape(-1, 2, 192)[:length])


def test_vectorized_5d_places_bytes_as_documented():
    pool_k = np.zeros((2, 16, 1, 128), np.uint8)
    pool_v = np.zeros((2, 16, 1, 128), np.uint8)
    pool_k[1, 5, 0, 37] = 1
    pool_v[1, 5, 0, 37] = 1
    k_cache, v_cache = store(pool_k, pool_v, 16)
    assert k_cache.shape == (2, 1, 8, 16, 16)
    assert k_cache[1, 0, 37 // 16, 5, 37 % 16] == 1
    assert v_cache.shape == (2, 1, 1, 128, 16)
    assert v_cache[1, 0, 5 // 16, 37, 5 % 16] == 1


def test_a_problem_has_the_logits_it_was_asked_for():
    shape = Shape(128, 128, 16, 4, 2, ((40, 300), (1, 200)))
    problem = make_problem(shape, logit_std=3.0, q_descale=0.5, k_descale=2.0, softmax_scale=0.05)
    from tests.reference.paged import from_fp8

    k = from_fp8(read_k(problem.k_cache, problem.pages_of(0), 300))
    q = from_fp8(problem.q[:40])
    logits = 0.05 * 0.5 * 2.0 * np.einsum("ihd,jhd->hij", q[:, ::2], k)
    assert abs(logits.std() - 3.0) < 0.3


def test_compare_finds_one_wrong_element_and_nan():
    problem = make_problem(Shape(128, 128, 16, 2, 1, ((5, 40),)), rows_before=2, rows_after=1)
    expected = paged_prefill(problem)
    good = np.where(expected.inside[:, None, None], expected.out, 7.0)
    assert compare(expected, good, expected.lse).ok
    wrong = good.copy()
    wrong[4, 1, 17] += 10 * expected.out_bound[4, 1, 17]
    verdict = compare(expected, wrong)
    assert verdict.ratio == pytest.approx(10)
    assert verdict.where == (2, 1, 17)
    wrong[4, 1, 17] = np.nan
    assert compare(expected, wrong).ratio == np.inf
