"""A serving-shaped prefill on whatever device is there, checked against float64.

    python -m examples.demo         (make demo sets everything up first)

192/128 head dims, 16 query heads on 1 KV head, pages of 64 tokens in shuffled order, three ragged sequences with cached prefixes. Prints
the device, the variant that was picked, the time, and each sequence's error; exits with 1 if a result is wrong.
"""

import logging
import sys
import time

import numpy as np

import paged_attn_runtime as par
from tests.reference.compare import RMS_LIMIT, compare
from tests.reference.paged import from_bf16, paged_prefill
from tests.reference.problems import Shape, make_problem

SHAPE = Shape(
    head_dim=192,
    v_head_dim=128,
    page_size=64,
    num_q_heads=16,
    num_kv_heads=1,
    lengths=((300, 300), (1, 514), (77, 1077)),
)


class Choices(logging.Handler):
    """Keeps what the runtime logs about the variant it takes."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def main():
    choices = Choices()
    logger = logging.getLogger("paged_attn_runtime")
    logger.addHandler(choices)
    logger.setLevel(logging.DEBUG)

    problem = make_problem(SHAPE, seed=0, logit_std=2.0, q_descale=0.5, k_descale=0.25, v_descale=2.0)
    print("device   ", par.device_description())
    put = par.DeviceArray.from_numpy
    out = par.DeviceArray.zeros((len(problem.q), SHAPE.num_q_heads, SHAPE.v_head_dim), "<u2")
    lse = par.DeviceArray.zeros((SHAPE.num_q_heads, len(problem.q)), "<f4")
    tensors = put(problem.q), put(problem.k_cache), put(problem.v_cache)
    keywords = dict(
        cu_seqlens_q=put(problem.cu_seqlens_q),
        seqlens_k=put(problem.lengths_k),
        block_table=put(problem.block_table()),
        max_seqlen_q=problem.max_seqlen_q,
        max_seqlen_k=problem.max_seqlen_k,
        q_descale=problem.q_descale,
        k_descale=problem.k_descale,
        v_descale=problem.v_descale,
        out=out,
        lse=lse,
    )
    par.paged_prefill(*tensors, **keywords)  # loads the code object
    start = time.perf_counter()
    par.paged_prefill(*tensors, **keywords)
    raw_out, raw_lse = out.to_numpy(), lse.to_numpy()  # waits for the kernel
    elapsed = time.perf_counter() - start
    print("variant  ", next((line for line in choices.lines if "chosen" in line), "the runtime did not say"))
    print(f"time      {1e3 * elapsed:.1f} ms, copy to the host included")

    expected = paged_prefill(problem)
    verdict = compare(expected, from_bf16(raw_out), raw_lse.astype(np.float64))
    for b, (new, keys) in enumerate(SHAPE.lengths):
        rows = slice(problem.cu_seqlens_q[b], problem.cu_seqlens_q[b + 1])
        error = np.abs(from_bf16(raw_out)[rows] - expected.out[rows])
        ratio = float((error / expected.out_bound[rows]).max())
        print(
            f"sequence {b}: {new:4} new tokens on {keys - new:4} cached   "
            f"max error {error.max():.4f}, {ratio:.2f} of what rounding P to FP8 allows   {'ok' if ratio <= 1 else 'WRONG'}"
        )
    right = verdict.ok and verdict.rms < RMS_LIMIT
    print(f"verdict   {'right' if right else 'WRONG'}: {verdict} (limits 1, {RMS_LIMIT}, 1)")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
