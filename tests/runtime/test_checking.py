"""The checking mode: what it finds in device memory, and that it passes what is right."""

import numpy as np
import pytest

import paged_attn_runtime as par

from .scenario import Call, make_plan


@pytest.fixture(autouse=True)
def checking():
    par.set_checking(True)
    yield
    par.set_checking(False)


def put(values, dtype=np.int32):
    return par.DeviceArray.from_numpy(np.array(values, dtype))


@pytest.mark.parametrize("id_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("metadata", ["block_table", "csr"])
@pytest.mark.parametrize("page_size", [1, 64])
def test_what_is_right_passes(page_size, metadata, id_dtype):
    call = Call(page_size=page_size, metadata=metadata, id_dtype=id_dtype)
    call.prefill()
    call.verify()


def test_plans_are_checked_too():
    call = Call()
    with pytest.raises(ValueError, match=r"seqlens_k\[0\] is -1"):
        call.run(make_plan(), seqlens_k=put([-1, 1, 1]))
    plan = make_plan()
    call.run(plan)
    call.verify()
    with pytest.raises(ValueError, match=r"seqlens_k\[0\] is -1"):
        call.run(plan, seqlens_k=put([-1, 1, 1]), check=False)


def table(first):
    return np.array([[first, 1, 2], [3, -1, -1], [4, 5, 6]], np.int32)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"cu_seqlens_q": [0, 6, 5, 26]}, r"cu_seqlens_q\[2\] is 5, less than cu_seqlens_q\[1\], which is 6"),
        ({"cu_seqlens_q": [-1, 5, 6, 26]}, r"cu_seqlens_q\[0\] is -1; allowed: 0 or more"),
        ({"cu_seqlens_q": [0, 5, 6, 27]}, "cu_seqlens_q ends at 27; q has 26 rows"),
        ({"seqlens_k": [70, 1, -3]}, r"seqlens_k\[2\] is -3; allowed: 0 or more"),
        ({"seqlens_k": [70, 1, 193]}, r"seqlens_k\[2\] is 193, 4 pages of 64; block_table has 3 columns"),
        ({"block_table": table(-1)}, r"block_table\[0\]: page 0 is -1; the cache has pages 0 to 8"),
        (
            {"block_table": table(9)},
            r"block_table\[0\]: page 0 is 9; the cache has pages 0 to 8; it looks like a token id",
        ),
        ({"block_table": table(1 << 30)}, r"block_table\[0\]: page 0 is 1073741824; the cache has pages 0 to 8$"),
        ({"max_seqlen_k": 100}, "sequence 2 has 130 keys; max_seqlen_k is 100, which must be an upper bound"),
        ({"max_seqlen_q": 19}, "sequence 2 has 20 new tokens; max_seqlen_q is 19, which must be an upper bound"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_block_tables(change, said):
    call = Call()
    change = {name: value if name.startswith("max") else put(value) for name, value in change.items()}
    with pytest.raises(ValueError, match=said):
        call.prefill(**change)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kv_indptr": [0, 2, 1, 6]}, r"kv_indptr\[2\] is 1, less than kv_indptr\[1\], which is 2"),
        ({"kv_indptr": [0, 2, 3, 7]}, "kv_indptr ends at 7; kv_page_indices has 6 elements"),
        ({"kv_last_page_lens": [6, 65, 2]}, r"kv_last_page_lens\[1\] is 65; allowed: 1 to 64"),
        ({"kv_last_page_lens": [0, 1, 2]}, r"kv_last_page_lens\[0\] is 0; allowed: 1 to 64"),
        ({"kv_page_indices": [0, 1, 2, 3, 4, -7]}, "kv_page_indices of sequence 2: page 2 is -7"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_csr(change, said):
    call = Call(metadata="csr")
    with pytest.raises(ValueError, match=said):
        call.prefill(**{name: put(value) for name, value in change.items()})


def test_descales_that_are_not_finite():
    with pytest.raises(ValueError, match="k_descale holds nan; allowed: a finite float32, not negative"):
        Call().prefill(k_descale=put([np.nan], np.float32))


def test_pointers_that_hip_does_not_know():
    call = Call()
    q = call.tensors[0]
    call.tensors[0] = q.view(q.shape, q.strides, 1 << 46)
    with pytest.raises(ValueError, match="q points to 0x.*, which HIP does not know"):
        call.prefill()


@pytest.mark.parametrize(("value", "on"), [("1", "True"), ("0", "False"), ("", "False"), (None, "False")])
def test_the_variable(fresh_process, value, on):
    program = "from paged_attn_runtime import checking; print(checking.enabled())"
    assert fresh_process(program, PAGED_ATTN_CHECK=value).strip() == on
