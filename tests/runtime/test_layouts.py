"""Packing plain rows into pages and back, for NumPy and torch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paged_attn_runtime import layouts
from tests.reference.problems import store

PAGE_SIZES = (1, 16, 64, 1024)


def rows(tokens, heads, dim, dtype=np.uint8, seed=0):
    return np.random.default_rng(seed).integers(0, 255, (tokens, heads, dim)).astype(dtype)


@given(st.sampled_from(PAGE_SIZES), st.integers(0, 200), st.integers(1, 3), st.sampled_from([16, 128, 192]))
def test_there_and_back(page_size, tokens, heads, dim):
    plain = rows(tokens, heads, dim)
    for pack, unpack in ((layouts.pack_k, layouts.unpack_k), (layouts.pack_v, layouts.unpack_v)):
        assert np.array_equal(unpack(pack(plain, page_size), length=tokens), plain)


def test_places_of_single_elements():
    plain = rows(200, 2, 192)
    k, v = layouts.pack_k(plain, 64), layouts.pack_v(plain, 64)
    assert k.shape == (4, 2, 12, 64, 16) and v.shape == (4, 2, 4, 192, 16)
    assert k[1, 1, 3, 5, 7] == plain[64 + 5, 1, 3 * 16 + 7]
    assert v[2, 0, 1, 9, 3] == plain[2 * 64 + 16 + 3, 0, 9]


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_agrees_with_the_reference(page_size):
    k, v = rows(2 * page_size, 2, 192), rows(2 * page_size, 2, 128, seed=1)
    pools = [x.reshape(2, page_size, 2, x.shape[-1]) for x in (k, v)]
    k_cache, v_cache = store(*pools, page_size)
    assert np.array_equal(layouts.pack_k(k, page_size).reshape(k_cache.shape), k_cache)
    assert np.array_equal(layouts.pack_v(v, page_size).reshape(v_cache.shape), v_cache)


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_torch_is_the_same(page_size):
    torch = pytest.importorskip("torch")
    plain = rows(100, 2, 128)
    for pack, unpack in ((layouts.pack_k, layouts.unpack_k), (layouts.pack_v, layouts.unpack_v)):
        packed = pack(torch.from_numpy(plain), page_size, pad=0x7F)
        assert np.array_equal(packed.numpy(), pack(plain, page_size, pad=0x7F))
        assert np.array_equal(unpack(packed, length=100).numpy(), plain)


def test_pages_of_one_sequence():
    plain = rows(300, 1, 128)
    cache = layouts.pack_v(plain, 64)
    assert np.array_equal(layouts.unpack_v(cache, [3, 1], length=70), np.concatenate([plain[192:256], plain[64:70]]))


def test_padding():
    assert (layouts.pack_k(rows(17, 1, 128), 16, pad=0x7F)[1, 0, :, 1:] == 0x7F).all()


def test_four_dimensions_of_a_linear_cache():
    plain = rows(5, 2, 128)
    assert np.array_equal(layouts.unpack_k(plain[:, None]), plain)


def test_sizes_read_off_shapes():
    plain = rows(70, 2, 192)
    for page_size in PAGE_SIZES:
        assert layouts.page_size_of(layouts.pack_k(plain, page_size)) == page_size
        assert layouts.v_head_dim_of(layouts.pack_v(plain, page_size)) == 192


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: layouts.pack_k(rows(5, 1, 128), 32), "page_size is 32; allowed: 1, 16, 64, 1024"),
        (
            lambda: layouts.pack_k(rows(5, 1, 128), 64, "linear"),
            "kv_layout is 'linear' with page_size 64; allowed: vectorized_5d",
        ),
        (
            lambda: layouts.pack_v(rows(5, 1, 128), 64, "hnd"),
            "kv_layout is 'hnd' with page_size 64; allowed: linear, vectorized_5d",
        ),
        (lambda: layouts.pack_k(rows(5, 1, 120), 64), "D is 120; allowed: multiples of 16"),
        (
            lambda: layouts.pack_k(rows(5, 1, 128)[0], 64),
            r"the tokens have shape \(1, 128\); wanted \[tokens, heads, dim\]",
        ),
    ],
)
def test_refuses(call, said):
    with pytest.raises(ValueError, match=said):
        call()
