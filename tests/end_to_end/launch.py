"""Puts a problem on the device, calls `paged_prefill` as a server would, and brings the results back as float64."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

import paged_attn_runtime as par
from tests.reference.compare import compare
from tests.reference.paged import from_bf16, paged_prefill

# What `out` and `lse` hold before a launch: rows that nobody may touch must still hold it afterwards.
SENTINEL_BF16 = np.float32(-777.0).astype(ml_dtypes.bfloat16).view(np.uint16)
SENTINEL_LSE = np.float32(-777.0)


@dataclass(frozen=True)
class Result:
    """out [total_q, Hq, Dv] and lse [Hq, total_q] as float64; raw_out is the bf16 bits, for comparisons bit by bit."""

    out: np.ndarray
    lse: np.ndarray
    raw_out: np.ndarray
    raw_lse: np.ndarray


def arguments(problem, *, metadata="block_table", id_dtype=np.int32, poison=None, descales_on_device=False):
    """The call's tensors on the device, and its keywords: ((q, k_cache, v_cache), keywords)."""
    put = par.DeviceArray.from_numpy
    shape = problem.shape
    if metadata == "block_table":
        lengths = {
            "seqlens_k": put(problem.lengths_k),
            "block_table": put(problem.block_table(id_dtype, poison)),
        }
    else:
        indptr, indices, last = problem.csr(id_dtype)
        lengths = {"kv_indptr": put(indptr), "kv_page_indices": put(indices)}
        if shape.page_size > 1:
            lengths["kv_last_page_lens"] = put(last)
    descales = {name: getattr(problem, name) for name in ("q_descale", "k_descale", "v_descale")}
    if descales_on_device:
        descales = {name: put(np.array([value], np.float32)) for name, value in descales.items()}
    keywords = dict(
        cu_seqlens_q=put(problem.cu_seqlens_q),
        max_seqlen_q=problem.max_seqlen_q,
        max_seqlen_k=problem.max_seqlen_k,
        softmax_scale=problem.softmax_scale,
        **lengths,
        **descales,
    )
    return (put(problem.q), put(problem.k_cache), put(problem.v_cache)), keywords


def launch(problem, *, batch_policy=None, **options):
    """-> Result. Options as for `arguments`."""
    tensors, keywords = arguments(problem, **options)
    return launch_arguments(problem, tensors, keywords, batch_policy=batch_policy)


def launch_arguments(problem, tensors, keywords, *, batch_policy=None):
    shape, total_q = problem.shape, len(problem.q)
    out = par.DeviceArray.from_numpy(np.full((total_q, shape.num_q_heads, shape.v_head_dim), SENTINEL_BF16, np.uint16))
    lse = par.DeviceArray.from_numpy(np.full((shape.num_q_heads, total_q), SENTINEL_LSE, np.float32))
    par.paged_prefill(*tensors, out=out, lse=lse, batch_policy=batch_policy, **keywords)
    raw_out, raw_lse = out.to_numpy(), lse.to_numpy()
    return Result(from_bf16(raw_out), raw_lse.astype(np.float64), raw_out, raw_lse)


def check(problem, *, expected=None, independent=True, rms_limit=None, **options):
    """Launches `problem` and asserts the element-wise bound, and that rows outside cu_seqlens_q are untouched. -> Verdict."""
    expected = paged_prefill(problem, independent=independent) if expected is None else expected
    result = launch(problem, **options)
    verdict = compare(expected, result.out, result.lse)
    assert verdict.ok, str(verdict)
    assert rms_limit is None or verdict.rms < rms_limit, str(verdict)
    outside = ~expected.inside
    assert (result.raw_out[outside] == SENTINEL_BF16).all(), "rows of out outside cu_seqlens_q were written"
    assert (result.raw_lse[:, outside] == SENTINEL_LSE).all(), "rows of lse outside cu_seqlens_q were written"
    return verdict
