"""The drop-in form: aiter's signature, what it serves, and what it refuses with argument and value."""

import inspect

import numpy as np
import pytest

from paged_attn_runtime.compat import mha_batch_prefill_func

from .scenario import Call

SIGNATURE = (
    "q, k, v, cu_seqlens_q, kv_indptr, kv_page_indices, max_seqlen_q, max_seqlen_k, dropout_p=0.0, softmax_scale=None, "
    "logits_soft_cap=0.0, causal=False, window_size=(-1, -1), alibi_slopes=None, deterministic=False, "
    "return_lse=False, "
    "return_attn_probs=False, out=None, kv_last_page_lens=None, block_table=None, seqlen_k=None, q_descale=None, "
    "k_descale=None, "
    "v_descale=None, kv_block_descale=None, sink_ptr=None, sink_size=0"
)


def keywords(call, **changes):
    k = call.keywords
    given = {
        "cu_seqlens_q": k["cu_seqlens_q"],
        "kv_indptr": k.get("kv_indptr"),
        "kv_page_indices": k.get("kv_page_indices"),
        "kv_last_page_lens": k.get("kv_last_page_lens"),
        "block_table": k.get("block_table"),
        "seqlen_k": k.get("seqlens_k"),
        "max_seqlen_q": k["max_seqlen_q"],
        "max_seqlen_k": k["max_seqlen_k"],
        "softmax_scale": k["softmax_scale"],
        "causal": True,
        **{name: k[name] for name in ("q_descale", "k_descale", "v_descale")},
    }
    return given | changes


def test_the_signature():
    parameters = inspect.signature(mha_batch_prefill_func).parameters.values()
    shown = ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters)
    assert shown == SIGNATURE


@pytest.mark.parametrize("metadata", ["block_table", "csr"])
@pytest.mark.parametrize("page_size", [1, 64])
def test_results(page_size, metadata):
    call = Call(page_size=page_size, metadata=metadata)
    out, lse = mha_batch_prefill_func(*call.tensors, **keywords(call, return_lse=True, out=call.out))
    assert out is call.out
    call.verify(out, lse)
    assert not isinstance(mha_batch_prefill_func(*call.tensors, **keywords(call)), list)


def test_a_block_table_goes_before_csr():
    call, other = Call(), Call(metadata="csr", seed=3)
    wrong = {name: other.keywords[name] for name in ("kv_indptr", "kv_page_indices", "kv_last_page_lens")}
    out, lse = mha_batch_prefill_func(*call.tensors, **keywords(call, return_lse=True, **wrong))
    call.verify(out, lse)


class Typed:
    """Looks like a bf16 tensor, and is never read."""

    dtype = "torch.bfloat16"
    shape = (1, 2, 3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"causal": False}, "causal=False is not served by paged_attn_runtime; allowed: True"),
        ({"dropout_p": 0.1}, "dropout_p=0.1"),
        ({"logits_soft_cap": 30.0}, "logits_soft_cap=30.0"),
        ({"window_size": (128, 0)}, r"window_size=\(128, 0\)"),
        ({"alibi_slopes": np.zeros(4)}, r"alibi_slopes=<ndarray of shape \(4,\)>"),
        ({"return_attn_probs": True}, "return_attn_probs=True"),
        ({"q_descale": None}, "q_descale=None"),
        ({"kv_block_descale": np.zeros((2, 2))}, r"kv_block_descale=<ndarray of shape \(2, 2\)>"),
        ({"sink_ptr": np.zeros(1)}, "sink_ptr="),
        ({"sink_size": 4}, "sink_size=4"),
        ({"seqlen_k": None}, "seqlen_k=None"),
        ({"block_table": None}, "block_table=None"),
        ({"q": Typed()}, "q.dtype='bfloat16'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refusals(change, said):
    call = Call()
    q, k, v = call.tensors
    with pytest.raises(NotImplementedError, match=said):
        mha_batch_prefill_func(**{"q": q, "k": k, "v": v} | keywords(call, **change))


@pytest.mark.parametrize(
    "change", [{"window_size": (-1, 0)}, {"window_size": None}, {"deterministic": True}, {"logits_soft_cap": None}]
)
def test_what_asks_for_nothing_is_served(change):
    call = Call()
    out, lse = mha_batch_prefill_func(*call.tensors, **keywords(call, return_lse=True, **change))
    call.verify(out, lse)
