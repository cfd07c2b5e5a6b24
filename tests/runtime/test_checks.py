"""Argument checks, on views that stand for tensors: each way to be wrong, and what is said of it. Needs no device."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paged_attn_runtime.checks import check_tensors
from paged_attn_runtime.tensors import HOST, View, packed_strides

ITEM_BYTES = {
    "uint8": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float8_e4m3fnuz": 1,
    "bfloat16": 2,
    "uint16": 2,
    "float16": 2,
}
ITEM_BYTES |= {"int32": 4, "float32": 4, "int64": 8, "float64": 8, "uint32": 4}
ROWS, HEADS, DIM, V_DIM, PAGE, PAGES, BATCH = 40, 4, 192, 128, 64, 6, 3


def tensor(label, shape, dtype, **changes):
    size = ITEM_BYTES[dtype]
    made = View(label, 0x10000, tuple(shape), packed_strides(shape, size), dtype, size, 0, "torch")
    return dataclasses.replace(made, **changes)


def call(**changes):
    """The views of a right call with a block table, some replaced; None takes one away."""
    views = {
        "q": tensor("q", (ROWS, HEADS, DIM), "uint8"),
        "k_cache": tensor("k_cache", (PAGES, 2, DIM // 16, PAGE, 16), "uint8"),
        "v_cache": tensor("v_cache", (PAGES, 2, PAGE // 16, V_DIM, 16), "uint8"),
        "out": tensor("out", (ROWS, HEADS, V_DIM), "bfloat16"),
        "lse": tensor("lse", (HEADS, ROWS), "float32"),
        "cu_seqlens_q": tensor("cu_seqlens_q", (BATCH + 1,), "int32"),
        "seqlens_k": tensor("seqlens_k", (BATCH,), "int32"),
        "block_table": tensor("block_table", (BATCH, 5), "int32"),
    }
    views |= changes
    return {name: view for name, view in views.items() if view is not None}


def csr(**changes):
    indices = tensor("kv_page_indices", (7,), "int32")
    return call(
        **{
            "seqlens_k": None,
            "block_table": None,
            "kv_indptr": tensor("kv_indptr", (BATCH + 1,), "int32"),
            "kv_page_indices": indices,
            "kv_last_page_lens": tensor("kv_last_page_lens", (BATCH,), "int32"),
        }
        | changes
    )


def linear(**changes):
    return call(
        **{
            "k_cache": tensor("k_cache", (PAGES, 2, DIM), "uint8"),
            "v_cache": tensor("v_cache", (PAGES, 2, V_DIM), "uint8"),
        }
        | changes
    )


def test_geometry_of_a_block_table_call():
    g = check_tensors(call(), None, None)
    assert (g.head_dim, g.v_head_dim, g.page_size, g.kv_layout) == (DIM, V_DIM, PAGE, "vectorized_5d")
    assert (g.num_q_heads, g.num_kv_heads, g.total_q, g.batch, g.num_pages) == (HEADS, 2, ROWS, BATCH, PAGES)
    assert (g.page_id_bytes, g.has_csr, g.table_width, g.device) == (4, False, 5, 0)
    assert g.strides == {
        "q_row_stride": HEADS * DIM,
        "q_head_stride": DIM,
        "k_page_stride": 2 * DIM * PAGE,
        "k_head_stride": DIM * PAGE,
        "v_page_stride": 2 * V_DIM * PAGE,
        "v_head_stride": V_DIM * PAGE,
        "out_row_stride": HEADS * V_DIM * 2,
        "out_head_stride": V_DIM * 2,
        "lse_head_stride": ROWS,
        "block_table_row_stride": 5,
    }


def test_geometry_of_a_csr_call():
    g = check_tensors(csr(kv_page_indices=tensor("kv_page_indices", (7,), "int64")), None, None)
    assert (g.has_csr, g.page_id_bytes, g.table_width, g.batch) == (True, 8, 7, BATCH)


@pytest.mark.parametrize("extra", [(), (1,)])
def test_geometry_of_a_linear_cache(extra):
    k = tensor("k_cache", (PAGES, *extra, 2, DIM), "uint8")
    v = tensor("v_cache", (PAGES, *extra, 2, V_DIM), "uint8")
    g = check_tensors(linear(k_cache=k, v_cache=v), 1, "linear")
    assert (g.page_size, g.kv_layout, g.num_kv_heads) == (1, "linear", 2)
    assert (g.strides["k_page_stride"], g.strides["k_head_stride"]) == (2 * DIM, DIM)


def test_last_page_lengths_may_be_left_out_with_pages_of_one_token():
    views = csr(kv_last_page_lens=None, k_cache=linear()["k_cache"], v_cache=linear()["v_cache"])
    assert check_tensors(views, None, None).has_csr


def test_strided_views_are_launched_through_their_strides():
    layer = (2 * PAGES * DIM * PAGE * 2, DIM * PAGE, PAGE * 16, 16, 1)
    g = check_tensors(call(k_cache=dataclasses.replace(call()["k_cache"], strides=layer)), None, None)
    assert g.strides["k_page_stride"] == layer[0]
    padded = dataclasses.replace(call()["q"], strides=(HEADS * 256, 256, 1))
    assert check_tensors(call(q=padded), None, None).strides["q_head_stride"] == 256
    table = dataclasses.replace(call()["block_table"], strides=(400, 4))
    assert check_tensors(call(block_table=table), None, None).strides["block_table_row_stride"] == 100


def test_a_dimension_of_one_may_have_any_stride():
    one = tensor("q", (1, HEADS, DIM), "uint8", strides=(7, DIM, 1))
    views = call(q=one, out=None, lse=None)
    assert check_tensors(views, None, None).strides["q_row_stride"] == HEADS * DIM


def test_host_memory_goes_with_any_device():
    views = call(
        cu_seqlens_q=tensor("cu_seqlens_q", (BATCH + 1,), "int32", device=HOST),
        q=tensor("q", (ROWS, HEADS, DIM), "uint8", device=HOST),
    )
    assert check_tensors(views, None, None).device == 0


TYPE_ERRORS = [
    (call(q=tensor("q", (ROWS, HEADS, DIM), "bfloat16")), "q is bfloat16; allowed: float8_e4m3fn, uint8"),
    (call(q=tensor("q", (ROWS, HEADS, DIM), "float8_e5m2")), "q is float8_e5m2; .*quantise to float8_e4m3fn"),
    (
        call(k_cache=tensor("k_cache", (PAGES, 2, 12, PAGE, 16), "float8_e4m3fnuz")),
        "k_cache is float8_e4m3fnuz; .*another encoding",
    ),
    (
        call(out=tensor("out", (ROWS, HEADS, V_DIM), "float16")),
        r"out is float16; allowed: bfloat16.*out = out.to\(torch.bfloat16\)",
    ),
    (
        call(lse=tensor("lse", (HEADS, ROWS), "float64")),
        r"lse is float64; allowed: float32: lse = lse.to\(torch.float32\)",
    ),
    (
        call(cu_seqlens_q=tensor("cu_seqlens_q", (BATCH + 1,), "int64")),
        r"cu_seqlens_q is int64; allowed: int32: cu_seqlens_q = cu_seqlens_q.to\(torch.int32\)",
    ),
    (
        call(seqlens_k=tensor("seqlens_k", (BATCH,), "int64", kind="interface")),
        r"seqlens_k is int64; allowed: int32: seqlens_k = seqlens_k.astype\('int32'\)",
    ),
    (call(block_table=tensor("block_table", (BATCH, 5), "uint32")), "block_table is uint32; allowed: int32, int64"),
    (csr(kv_indptr=tensor("kv_indptr", (BATCH + 1,), "int64")), "kv_indptr is int64; allowed: int32"),
    (call(q_descale=tensor("q_descale", (1,), "float64")), "q_descale is float64; allowed: float32"),
]
VALUE_ERRORS = [
    (
        call(q=tensor("q", (ROWS, HEADS * DIM), "uint8")),
        r"q has shape \(40, 768\); wanted \[total_q, Hq, D\], 3 dimensions",
    ),
    (call(q=tensor("q", (ROWS, 3, DIM), "uint8")), "q has 3 heads and k_cache 2; allowed: Hq a multiple of Hkv"),
    (call(q=tensor("q", (ROWS, 0, DIM), "uint8")), "q has 0 heads"),
    (call(q=tensor("q", (ROWS, HEADS, 128), "uint8")), "q has head dim 128 and k_cache 192"),
    (
        call(v_cache=tensor("v_cache", (PAGES + 1, 2, 4, V_DIM, 16), "uint8")),
        "k_cache has 6 pages of 2 heads and v_cache 7 of 2",
    ),
    (
        call(v_cache=tensor("v_cache", (PAGES, 1, 4, V_DIM, 16), "uint8")),
        "k_cache has 6 pages of 2 heads and v_cache 6 of 1",
    ),
    (
        call(v_cache=tensor("v_cache", (PAGES, 2, 2, V_DIM, 16), "uint8")),
        "k_cache has pages of 64 tokens and v_cache of 32",
    ),
    (
        call(v_cache=tensor("v_cache", (PAGES, 2, V_DIM), "uint8")),
        r"v_cache has shape .*wanted \[num_pages, Hkv, page/16, Dv, 16\]",
    ),
    (
        call(k_cache=tensor("k_cache", (PAGES, 2, 24, PAGE, 8), "uint8")),
        r"k_cache has shape \(6, 2, 24, 64, 8\); the last dimension must be 16",
    ),
    (
        call(
            k_cache=tensor("k_cache", (9, 2, 12, 32, 16), "uint8"),
            v_cache=tensor("v_cache", (9, 2, 2, V_DIM, 16), "uint8"),
        ),
        r"k_cache has pages of 32 tokens in the layout vectorized_5d; allowed: 1 \(linear\), 16",
    ),
    (
        call(k_cache=tensor("k_cache", (PAGES, DIM), "uint8")),
        r"k_cache has shape \(6, 192\); allowed: \[num_pages, Hkv, D\]",
    ),
    (
        linear(k_cache=tensor("k_cache", (PAGES, 64, 2, DIM), "uint8")),
        r"k_cache has shape \(6, 64, 2, 192\); linear caches have pages of 1 token",
    ),
    (
        call(out=tensor("out", (ROWS + 1, HEADS, V_DIM), "bfloat16")),
        r"out has shape \(41, 4, 128\); wanted \[total_q, Hq, Dv\], here \(40, 4, 128\)",
    ),
    (
        call(lse=tensor("lse", (ROWS, HEADS), "float32")),
        r"lse has shape \(40, 4\); wanted \[Hq, total_q\], here \(4, 40\)",
    ),
    (call(out=tensor("out", (ROWS, HEADS, V_DIM), "bfloat16", read_only=True)), "out is read-only"),
    (call(out=tensor("out", (ROWS, HEADS, V_DIM), "bfloat16", strides=(0, 256, 2))), "out has overlapping rows"),
    (call(out=tensor("out", (ROWS, HEADS, V_DIM), "bfloat16", strides=(1024, 128, 2))), "out has overlapping rows"),
    (call(lse=tensor("lse", (HEADS, ROWS), "float32", strides=(0, 4))), "lse has overlapping rows"),
    (
        call(lse=tensor("lse", (HEADS, ROWS), "float32", strides=(4, 16))),
        r"lse has byte strides .*lse = lse.contiguous\(\)",
    ),
    (
        call(q=tensor("q", (ROWS, HEADS, DIM), "uint8", strides=(768, 1, 4))),
        r"q has byte strides .*q = q.contiguous\(\)",
    ),
    (call(q=tensor("q", (ROWS, HEADS, DIM), "uint8", strides=(776, 192, 1))), "q_row_stride must be a multiple of 16"),
    (
        call(q=tensor("q", (ROWS, HEADS, DIM), "uint8", strides=(-768, 192, 1))),
        "q_row_stride must be a multiple of 16 and not negative",
    ),
    (
        call(q=tensor("q", (ROWS, HEADS, DIM), "uint8", pointer=0x10008)),
        r"q starts at 0x10008; it must be a multiple of 16 bytes: q = q.clone\(\)",
    ),
    (
        call(block_table=tensor("block_table", (BATCH, 5), "int64", pointer=0x10004)),
        "block_table starts at 0x10004; it must be a multiple of 8",
    ),
    (call(cu_seqlens_q=tensor("cu_seqlens_q", (0,), "int32")), r"cu_seqlens_q has no element; wanted \[B\+1\]"),
    (
        call(cu_seqlens_q=tensor("cu_seqlens_q", (BATCH + 1, 1), "int32")),
        r"cu_seqlens_q has shape .*wanted \[B\+1\], 1 dimensions",
    ),
    (call(seqlens_k=tensor("seqlens_k", (BATCH + 1,), "int32")), r"seqlens_k has 4 elements; wanted \[B\], here 3"),
    (call(seqlens_k=tensor("seqlens_k", (BATCH,), "int32", strides=(8,))), "seqlens_k has byte strides"),
    (
        linear(k_cache=tensor("k_cache", (PAGES, 2, DIM), "uint8", strides=(2**32, DIM, 1))),
        r"4294967296 bytes between the pages of a linear cache \(k_page_stride\); allowed: at most",
    ),
    (call(seqlens_k=None), "block_table is given without seqlens_k"),
    (
        call(block_table=None),
        "page table: neither given; wanted: block_table with seqlens_k, or kv_indptr with kv_page_indices",
    ),
    (
        call(block_table=tensor("block_table", (BATCH + 1, 5), "int32")),
        "block_table has shape .*cu_seqlens_q says 3 sequences",
    ),
    (call(block_table=tensor("block_table", (BATCH, 5), "int32", strides=(4, 12))), "block_table has byte strides"),
    (
        call(block_table=tensor("block_table", (BATCH, 5), "int64", strides=(44, 8))),
        r"block_table has byte strides \(44, 8\); the first must be a multiple of 8 and not negative",
    ),
    (
        call(block_table=tensor("block_table", (BATCH, 5), "int32", strides=(-20, 4))),
        r"block_table has byte strides \(-20, 4\); the first must be a multiple of 4 and not negative",
    ),
    (
        call(lse=tensor("lse", (HEADS, ROWS), "float32", strides=(162, 4))),
        r"lse has byte strides \(162, 4\); the first must be a multiple of 4",
    ),
    (csr(block_table=tensor("block_table", (BATCH, 5), "int32")), "block_table and kv_indptr are both given"),
    (csr(seqlens_k=tensor("seqlens_k", (BATCH,), "int32")), "seqlens_k is given with CSR page tables; .*leave it out"),
    (csr(kv_indptr=None), "page table: kv_page_indices, kv_last_page_lens given"),
    (csr(kv_page_indices=None), "page table: kv_indptr, kv_last_page_lens given"),
    (csr(kv_indptr=tensor("kv_indptr", (BATCH,), "int32")), r"kv_indptr has 3 elements; wanted \[B\+1\], here 4"),
    (csr(kv_last_page_lens=None), "kv_last_page_lens is missing; it may be left out with pages of 1 token only"),
    (
        call(k_descale=tensor("k_descale", (2,), "float32")),
        r"k_descale has shape \(2,\); allowed: one value, \(\) or \(1,\)",
    ),
    (
        call(k_cache=tensor("k_cache", (PAGES, 2, 12, PAGE, 16), "uint8", device=1)),
        "tensors on different devices: q on device 0, k_cache on device 1",
    ),
]


@pytest.mark.parametrize(("views", "said"), TYPE_ERRORS, ids=[said for _, said in TYPE_ERRORS])
def test_type_errors(views, said):
    with pytest.raises(TypeError, match=said):
        check_tensors(views, None, None)


@pytest.mark.parametrize(("views", "said"), VALUE_ERRORS, ids=[said for _, said in VALUE_ERRORS])
def test_value_errors(views, said):
    with pytest.raises(ValueError, match=said):
        check_tensors(views, None, None)


@pytest.mark.parametrize(
    ("page_size", "kv_layout", "said"),
    [
        (16, None, "page_size is 16, but k_cache has pages of 64"),
        (None, "linear", "kv_layout is 'linear', but k_cache has 5 dimensions"),
        (None, "HND", "kv_layout is 'HND'; allowed: linear, vectorized_5d"),
    ],
)
def test_what_the_caller_states_is_compared(page_size, kv_layout, said):
    with pytest.raises(ValueError, match=said):
        check_tensors(call(), page_size, kv_layout)


DTYPES = sorted(ITEM_BYTES)
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        name: st.one_of(
            st.none(),
            st.builds(
                lambda shape, dtype, strides, pointer, device, name=name: tensor(
                    name, shape, dtype, strides=tuple(strides[: len(shape)]), pointer=pointer, device=device
                ),
                st.lists(st.sampled_from([0, 1, 2, 3, 4, 16, 40, 64, 128, 192]), max_size=6),
                st.sampled_from(DTYPES),
                st.lists(st.sampled_from([-4, 0, 1, 2, 4, 16, 128, 4096]), min_size=6, max_size=6),
                st.sampled_from([0, 0x1000, 0x1001, 0x1008]),
                st.sampled_from([0, 0, 0, 1, HOST]),
            ),
        )
        for name in (*csr(), "seqlens_k", "block_table", "q_descale")
    },
)


@given(
    CHANGES,
    st.sampled_from([call, csr, linear]),
    st.sampled_from([None, 1, 64]),
    st.sampled_from([None, "linear", "x"]),
)
def test_whatever_the_tensors_are_it_is_a_geometry_or_a_documented_error(changes, make, page_size, kv_layout):
    changes = {
        name: view
        for name, view in changes.items()
        if view is not None or name not in ("q", "k_cache", "v_cache", "cu_seqlens_q")
    }
    try:
        geometry = check_tensors(make(**changes), page_size, kv_layout)
    except (TypeError, ValueError) as error:
        assert str(error)
    else:
        assert all(stride >= 0 for stride in geometry.strides.values())
        assert geometry.num_q_heads % geometry.num_kv_heads == 0
