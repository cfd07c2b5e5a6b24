"""A serving-shaped call that every device test starts from, small enough for the emulator to take milliseconds.

Programs that tests run in processes of their own import this too.
"""

import functools

import numpy as np

import paged_attn_runtime as par
from tests.end_to_end.launch import arguments
from tests.reference.compare import compare
from tests.reference.paged import from_bf16, paged_prefill
from tests.reference.problems import Shape, make_problem

LENGTHS = ((5, 70), (1, 1), (20, 130))
SIZES = {"head_dim": 192, "v_head_dim": 128, "num_q_heads": 4, "num_kv_heads": 1, "page_size": 64}
BOUNDS = {"max_batch": 8, "max_total_q": 256, "max_seqlen_q": 64, "max_seqlen_k": 1024}


@functools.cache
def problem(page_size=64, lengths=LENGTHS, seed=0, **options):
    shape = Shape(192, 128, page_size, SIZES["num_q_heads"], SIZES["num_kv_heads"], lengths)
    return make_problem(shape, seed=seed, q_descale=0.5, k_descale=2.0, v_descale=0.25, **options)


@functools.cache
def expected(page_size=64, lengths=LENGTHS, seed=0, **options):
    return paged_prefill(problem(page_size, lengths, seed, **options))


class Call:
    """The arguments of one call on the device, with an output of its own."""

    def __init__(
        self,
        *,
        page_size=64,
        lengths=LENGTHS,
        seed=0,
        metadata="block_table",
        id_dtype=np.int32,
        device=None,
        **options,
    ):
        self.problem = problem(page_size, lengths, seed, **options)
        self.expected = expected(page_size, lengths, seed, **options)
        tensors, self.keywords = arguments(self.problem, metadata=metadata, id_dtype=id_dtype)
        self.tensors = list(tensors)
        self.out = zeros_like_out(self.problem)
        self.lse = par.DeviceArray.zeros((SIZES["num_q_heads"], len(self.problem.q)), "<f4")

    def prefill(self, **changes):
        return par.paged_prefill(*self.tensors, **{"out": self.out, "lse": self.lse} | self.keywords | changes)

    def run(self, plan, **changes):
        keywords = {
            name: value
            for name, value in self.keywords.items()
            if name not in ("max_seqlen_q", "max_seqlen_k", "softmax_scale")
        }
        return plan.run(*self.tensors, **{"out": self.out, "lse": self.lse} | keywords | changes)

    def verify(self, out=None, lse=None):
        """Compare with float64, element by element."""
        out = self.out if out is None else out
        lse = self.lse if lse is None else lse
        verdict = compare(self.expected, from_bf16(out.to_numpy()), lse.to_numpy().astype(np.float64))
        assert verdict.ok, str(verdict)

    def clear(self):
        self.out.fill(0)
        self.lse.fill(0)
        hip_synchronize()


def zeros_like_out(of):
    return par.DeviceArray.zeros((len(of.q), of.shape.num_q_heads, of.shape.v_head_dim), "<u2")


def make_plan(**changes):
    return par.PagedPrefillPlan(**SIZES | BOUNDS | {"softmax_scale": problem().softmax_scale} | changes)


def hip_synchronize():
    from hip import hip

    assert hip.hipDeviceSynchronize()[0] == 0


def new_stream():
    from hip import hip

    error, stream = hip.hipStreamCreateWithFlags(1)  # non-blocking: no order with the null stream
    assert error == 0
    return stream


def live_objects():
    """What the emulator says is alive, by kind."""
    import ctypes

    from paged_attn_runtime.driver import loaded_runtimes

    library = ctypes.CDLL(loaded_runtimes()[0])
    library.gfx950_emu_live_objects.restype = ctypes.c_longlong
    kinds = ("allocations", "bytes", "modules", "functions", "streams", "events", "graphs", "graph_execs")
    return {kind: library.gfx950_emu_live_objects(kind.encode()) for kind in kinds}
