"""Whatever the arguments: a correct result, or one of the documented errors. Small calls, some arguments wrong."""

import math

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import paged_attn_runtime as par
from tests.reference.compare import compare
from tests.reference.paged import from_bf16

from .scenario import Call

DOCUMENTED = (TypeError, ValueError, NotImplementedError, par.PagedAttnError)
SHAPES = st.lists(st.sampled_from([0, 1, 2, 3, 4, 16, 26, 64, 128, 192]), max_size=5)
TYPESTRS = st.sampled_from(["|u1", "<u2", "<i4", "<i8", "<f4", "<f8", "<f2", "|i1", "<V2", ">i4", "|b1"])


def array_of(shape, typestr):
    """Of zeros; a shape too large to be right has the memory of a small one and strides of 0."""
    if math.prod(shape) <= 1 << 20:
        return par.DeviceArray.zeros(shape, typestr)
    return par.DeviceArray.zeros((1,), typestr).view(shape, (0,) * len(shape))


JUNK = st.one_of(
    st.builds(array_of, SHAPES, TYPESTRS),
    st.sampled_from(
        [None, 0, 1, -1, 3.5, float("nan"), "x", b"", (), [], {}, object(), True, 2**40, np.zeros(3), np.float32(1)]
    ),
)
TENSORS = (
    "q",
    "k_cache",
    "v_cache",
    "cu_seqlens_q",
    "seqlens_k",
    "block_table",
    "kv_indptr",
    "kv_page_indices",
    "kv_last_page_lens",
)
OTHERS = ("out", "lse", "q_descale", "k_descale", "v_descale", "max_seqlen_q", "max_seqlen_k", "softmax_scale")
OPTIONS = ("kv_layout", "page_size", "batch_policy", "window_size", "causal", "unheard_of")


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_arguments(data):
    call = Call(metadata=data.draw(st.sampled_from(["block_table", "csr"])))
    given_arguments = (
        dict(zip(("q", "k_cache", "v_cache"), call.tensors)) | call.keywords | {"out": call.out, "lse": call.lse}
    )
    names = data.draw(st.lists(st.sampled_from((*TENSORS, *OTHERS, *OPTIONS)), min_size=1, max_size=3, unique=True))
    changes = {name: data.draw(JUNK, label=name) for name in names}
    # what only device memory can tell is not for this test: metadata of the right form would be taken at its word
    if any(isinstance(value, par.DeviceArray) and _fits(call, name, value) for name, value in changes.items()):
        return
    try:
        result = par.paged_prefill(**given_arguments | changes)
    except DOCUMENTED as error:
        assert str(error)
        return
    if set(changes) <= {
        "page_size",
        "kv_layout",
        "batch_policy",
        "window_size",
        "causal",
        "lse",
        "out",
        "max_seqlen_k",
    }:
        verify_out(call, result)


def verify_out(call, out):
    verdict = compare(call.expected, from_bf16(out.to_numpy()))
    assert verdict.ok, str(verdict)


def _fits(call, name, value):
    right = call.keywords.get(name)
    return isinstance(right, par.DeviceArray) and (right.shape, right.typestr) == (value.shape, value.typestr)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1, 2, 17, 40]), st.sampled_from([0, 1, 63, 64, 65, 130])), min_size=1, max_size=4
    ),
    st.sampled_from(["block_table", "csr"]),
    st.sampled_from([np.int32, np.int64]),
    st.integers(0, 3),
    st.sampled_from([0, 1, 1000, 2**31 - 1]),
)
def test_right_calls_are_right(lengths, metadata, id_dtype, rows, loose):
    call = Call(lengths=tuple(lengths), metadata=metadata, id_dtype=id_dtype, rows_before=rows, rows_after=rows)
    bounds = {name: min(call.keywords[name] + loose, 2**31 - 1) for name in ("max_seqlen_q", "max_seqlen_k")}
    call.prefill(**bounds)
    call.verify()


def test_the_checking_mode_answers_for_metadata():
    call = Call()
    rng = np.random.default_rng(0)
    par.set_checking(True)
    try:
        for _ in range(50):
            name = rng.choice(["cu_seqlens_q", "seqlens_k", "block_table"])
            values = call.keywords[name].to_numpy()
            values.flat[rng.integers(values.size)] = rng.choice([-1, 2**30, -(2**31), 500, 0])
            wrong = par.DeviceArray.from_numpy(values)
            try:
                call.prefill(**{name: wrong})
                call.out.to_numpy()
            except ValueError as error:
                assert name in str(error) or "sequence" in str(error)
    finally:
        par.set_checking(False)
