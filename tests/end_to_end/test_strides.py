"""Tensors as servers hold them: slices of pools, padded rows, other orders of axes, far and awkward addresses. Nothing is copied."""

from dataclasses import replace

import numpy as np
import pytest

import paged_attn_runtime as par
from tests.end_to_end.cases import PAGE_SIZES
from tests.end_to_end.launch import SENTINEL_BF16, arguments
from tests.reference.compare import compare
from tests.reference.paged import from_bf16, paged_prefill
from tests.reference.problems import NAN_BYTE, Shape, make_problem

pytestmark = pytest.mark.usefixtures("prebuilt")

every_page_size = pytest.mark.parametrize("page_size", PAGE_SIZES)
put = par.DeviceArray.from_numpy


def ragged(page_size, *, seed=60, heads=(4, 2), lengths=None, **options):
    lengths = ((9, 9), (33, page_size + 40)) if lengths is None else lengths
    return make_problem(Shape(192, 128, page_size, *heads, lengths), seed=seed, **options)


def scattered(dense, strides, *, offset=0, fill=NAN_BYTE, background=True):
    """A device view with these byte strides that holds `dense`; every other byte is `fill` (or unwritten: background=False)."""
    reach = sum((n - 1) * s for n, s in zip(dense.shape, strides)) + dense.itemsize
    memory = par.DeviceArray.empty((offset + reach,), "|u1")
    if background:
        host = np.full(memory.shape, fill, np.uint8)
        np.ndarray(dense.shape, dense.dtype, host, offset, strides)[...] = dense
        memory.copy_from_numpy(host)
    else:
        for i, j in np.ndindex(dense.shape[:2]):
            row = np.ascontiguousarray(dense[i, j]).view(np.uint8).reshape(-1)
            memory.view(row.shape, (1,), offset + i * strides[0] + j * strides[1]).copy_from_numpy(row)
    return memory.view(dense.shape, strides, offset, dense.dtype.str)


def run(problem, *, q=None, k=None, v=None, out=None, lse=None, batch_policy=None, **changes):
    (q0, k0, v0), keywords = arguments(problem)
    shape, total_q = problem.shape, len(problem.q)
    if out is None:
        out = put(np.full((total_q, shape.num_q_heads, shape.v_head_dim), SENTINEL_BF16, np.uint16))
    if lse is None:
        lse = put(np.zeros((shape.num_q_heads, total_q), np.float32))
    keywords |= changes
    par.paged_prefill(q or q0, k or k0, v or v0, out=out, lse=lse, batch_policy=batch_policy, **keywords)
    return out, lse


def verify(problem, out, lse):
    verdict = compare(paged_prefill(problem), from_bf16(out.to_numpy()), lse.to_numpy().astype(np.float64))
    assert verdict.ok, str(verdict)


@every_page_size
def test_one_layer_of_a_pool_of_interleaved_keys_and_values(page_size):
    """[pages, layers, K | V]: page strides far larger than a page, K and V in one allocation, all other layers NaN."""
    problem = ragged(page_size)
    pages, k_page, v_page = len(problem.k_cache), problem.k_cache[0].nbytes, problem.v_cache[0].nbytes
    layers, layer = 3, k_page + v_page
    host = np.full((pages, layers, layer), NAN_BYTE, np.uint8)
    host[:, 1, :k_page] = problem.k_cache.reshape(pages, -1)
    host[:, 1, k_page:] = problem.v_cache.reshape(pages, -1)
    pool = put(host)
    inner = [c.strides[1:] for c in (problem.k_cache, problem.v_cache)]
    stride = layers * layer
    k = pool.view(problem.k_cache.shape, (stride, *inner[0]), layer)
    v = pool.view(problem.v_cache.shape, (stride, *inner[1]), layer + k_page)
    verify(problem, *run(problem, k=k, v=v))


@every_page_size
def test_heads_outside_pages(page_size):
    """[Hkv, pages, ...] in memory: the head stride is larger than the page stride."""
    problem = ragged(page_size)
    views = []
    for cache in (problem.k_cache, problem.v_cache):
        memory = put(np.moveaxis(cache, 1, 0))
        views.append(memory.view(cache.shape, (memory.strides[1], memory.strides[0], *memory.strides[2:])))
    verify(problem, *run(problem, k=views[0], v=views[1]))


@pytest.mark.parametrize("dims", [3, 4])
def test_keys_and_values_side_by_side_in_each_token(dims):
    """linear [tokens, Hkv, D + Dv], cut along its last axis."""
    problem = ragged(1)
    pool = put(np.concatenate([problem.k_cache, problem.v_cache], axis=2))
    views = []
    for cache, offset in ((problem.k_cache, 0), (problem.v_cache, 192)):
        shape, strides = cache.shape, pool.strides
        if dims == 4:
            shape, strides = (shape[0], 1, *shape[1:]), (strides[0], 16, *strides[1:])
        views.append(pool.view(shape, strides, offset))
    verify(problem, *run(problem, k=views[0], v=views[1]))


@pytest.mark.parametrize("policy", ["interleaved", "longest_first"])
def test_padded_and_head_major_rows(policy):
    """q cut out of a fused QKV row, out head-major with padded rows, lse padded: what lies between is left alone."""
    problem = ragged(64, rows_before=2, rows_after=5)
    total_q, heads = len(problem.q), 4
    q = scattered(problem.q, (6 * 208 + 16, 208, 1), offset=48)
    out_strides = (272, total_q * 272 + 16, 2)
    empty = np.full((total_q, heads, 128), SENTINEL_BF16, np.uint16)
    out = scattered(empty, out_strides, offset=16, fill=0xA5)
    lse_pitch = total_q + 3
    lse_memory = put(np.full((heads, lse_pitch), -777.0, np.float32))
    lse = lse_memory.view((heads, total_q), (4 * lse_pitch, 4))
    run(problem, q=q, out=out, lse=lse, batch_policy=policy)
    verify(problem, out, lse)
    reach = 16 + (total_q - 1) * out_strides[0] + (heads - 1) * out_strides[1] + 256
    host = out.view((reach,), (1,), -16, "|u1").to_numpy()
    inside = np.zeros(host.shape, bool)
    np.ndarray((total_q, heads, 256), bool, inside, 16, (272, out_strides[1], 1))[...] = True
    assert (host[~inside] == 0xA5).all(), "bytes between the rows of out were written"
    assert (lse_memory.to_numpy()[:, total_q:] == -777.0).all(), "floats between the rows of lse were written"
    outside = np.r_[0:2, total_q - 5 : total_q]
    assert (out.to_numpy()[outside] == SENTINEL_BF16).all()


@pytest.mark.parametrize("policy", ["single", "interleaved", "longest_first"])
def test_rows_and_heads_further_apart_than_2_gib(policy, emulated):
    """Every product of a row or head number with its stride needs more than 31 bits: q, out, lse, K and V alike."""
    problem = ragged(16, lengths=((3, 40),), heads=(2, 2), spare_pages=0)
    far, head = (1 << 31) + 16, (7 << 30) + 16
    q = scattered(problem.q, (far, head, 1), background=False)
    k_strides = [(far, head, *cache.strides[2:]) for cache in (problem.k_cache, problem.v_cache)]
    k = scattered(problem.k_cache, k_strides[0], background=False)
    v = scattered(problem.v_cache, k_strides[1], background=False)
    total_q = len(problem.q)
    out_memory = par.DeviceArray.empty(((total_q - 1) * far + head + 256,), "|u1")
    out = out_memory.view((total_q, 2, 128), (far, head, 2), 0, "<u2")
    lse_memory = par.DeviceArray.empty((head + 16,), "|u1")
    lse = lse_memory.view((2, total_q), (head, 4), 0, "<f4")
    run(problem, q=q, k=k, v=v, out=out, lse=lse, batch_policy=policy)
    got = np.stack(
        [
            [out_memory.view((128,), (2,), i * far + h * head, "<u2").to_numpy() for h in range(2)]
            for i in range(total_q)
        ]
    )
    sums = np.stack([lse_memory.view((total_q,), (4,), h * head, "<f4").to_numpy() for h in range(2)])
    verdict = compare(paged_prefill(problem), from_bf16(got), sums.astype(np.float64))
    assert verdict.ok, str(verdict)


@every_page_size
def test_addresses_whose_low_32_bits_overflow(page_size, emulated):
    """Pages, rows of q, rows of out and page tables begin below a multiple of 4 GiB and end above it."""
    problem = ragged(page_size)

    def across(dense, typestr):
        memory = par.DeviceArray.empty(((1 << 32) + 2 * dense.nbytes,), "|u1")
        border = -(memory.pointer + dense.nbytes) % (1 << 32) + dense.nbytes
        step = 4 if typestr == "<i4" else 16
        offset = border - dense.nbytes // 2 // step * step
        view = memory.view(dense.shape, dense.strides, offset, typestr)
        view.copy_from_numpy(dense)
        assert view.pointer >> 32 != (view.pointer + dense.nbytes - 1) >> 32
        return view

    empty = np.full((len(problem.q), 4, 128), SENTINEL_BF16, np.uint16)
    out = across(empty, "<u2")
    q, k, v = (across(np.ascontiguousarray(x), "|u1") for x in (problem.q, problem.k_cache, problem.v_cache))
    changes = {
        "block_table": across(problem.block_table(), "<i4"),
        "seqlens_k": across(problem.lengths_k, "<i4"),
        "cu_seqlens_q": across(problem.cu_seqlens_q, "<i4"),
    }
    verify(
        problem,
        *run(problem, q=q, k=k, v=v, out=out, lse=across(np.zeros((4, len(problem.q)), np.float32), "<f4"), **changes),
    )


@every_page_size
def test_int64_page_ids_with_garbage_in_their_high_words(page_size):
    problem = ragged(page_size)
    table = problem.block_table(np.int64, poison=0)
    garbage = np.random.default_rng(61).integers(-(2**31), 2**31, table.shape)
    _, keywords = arguments(problem)
    verify(problem, *run(problem, block_table=put((garbage << 32) | table)))


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@every_page_size
def test_a_page_table_in_a_wider_one(page_size, dtype, far):
    """Columns of a server's table for its longest context; rows further apart than 2 GiB too."""
    problem = ragged(page_size, lengths=((9, 9), (20, page_size + 40)), heads=(1, 1))
    table = problem.block_table(dtype)
    pitch = (3 << 30) // table.itemsize if far else table.shape[1] + 5
    strides = (pitch * table.itemsize, table.itemsize)
    memory = par.DeviceArray.empty((strides[0] + table[0].nbytes,), "|u1")
    for i, row in enumerate(table):
        memory.view(row.shape, row.strides, i * strides[0], row.dtype.str).copy_from_numpy(row)
    view = memory.view(table.shape, strides, 0, table.dtype.str)
    verify(problem, *run(problem, block_table=view))


@pytest.mark.parametrize("policy", ["interleaved", "longest_first"])
def test_one_page_table_row_and_one_q_row_for_all(policy):
    """Strides of 0: every sequence reads the same pages, every query row the same q."""
    problem = ragged(64, lengths=((40, 150), (3, 150)))
    same = replace(
        problem,
        q=np.broadcast_to(problem.q[:1], problem.q.shape),
        page_lists=[problem.page_lists[0]] * 2,
    )
    q = put(problem.q)
    row = put(problem.page_lists[0].astype(np.int32))
    q = q.view(q.shape, (0, *q.strides[1:]))
    verify(same, *run(problem, q=q, block_table=row.view((2, row.shape[0]), (0, 4)), batch_policy=policy))


BAD = {
    "q rows backwards": ("q", (-768, 192, 1), "not negative"),
    "q heads by 8 bytes": ("q", (768, 200, 1), "multiple of 16"),
    "q dims by two": ("q", (768, 192, 2), "packed"),
    "out rows by 8 bytes": ("out", (1032, 256, 2), "multiple of 16"),
    "out heads on top of each other": ("out", (1024, 0, 2), "overlapping"),
    "lse rows by half a float": ("lse", (170, 4), "lse has byte strides"),
    "lse rows backwards": ("lse", (-168, 4), "overlapping"),
    "block_table rows by half an id": ("block_table", (22, 4), "block_table has byte strides"),
    "block_table rows by a byte more": ("block_table", (21, 4), "block_table has byte strides"),
    "block_table columns by two": ("block_table", (64, 8), "packed"),
    "k_cache pages by 8 bytes": ("k_cache", None, "multiple of 16"),
    "k_cache pages backwards": ("k_cache", "negative", "not negative"),
}


@pytest.mark.parametrize("what", BAD)
def test_strides_that_no_kernel_follows_are_refused(what):
    name, strides, said = BAD[what]
    problem = ragged(64)
    (q, k, v), keywords = arguments(problem)
    tensors = {
        "q": q,
        "k_cache": k,
        "v_cache": v,
        "out": put(np.zeros((len(problem.q), 4, 128), np.uint16)),
        "lse": put(np.zeros((4, len(problem.q)), np.float32)),
        **keywords,
    }
    plain = tensors[name]
    if strides is None:
        strides = (plain.strides[0] + 8, *plain.strides[1:])
    elif strides == "negative":
        strides = (-plain.strides[0], *plain.strides[1:])
    tensors[name] = plain.view(plain.shape, strides)
    with pytest.raises(ValueError, match=said):
        par.paged_prefill(tensors.pop("q"), tensors.pop("k_cache"), tensors.pop("v_cache"), **tensors)
