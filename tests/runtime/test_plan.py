"""Plans: what they fix, what a run checks, threads, and a thousand of them."""

import threading

import numpy as np
import pytest

import paged_attn_runtime as par

from .scenario import Call, make_plan


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("metadata", ["block_table", "csr"])
def test_results(metadata, check):
    plan = make_plan()
    for seed in range(3):
        call = Call(seed=seed, metadata=metadata)
        assert call.run(plan, check=check) is call.out
        call.verify()


def test_batches_of_several_sizes():
    plan = make_plan()
    for check in (True, False):
        for lengths in (((3, 3),), ((7, 90), (2, 64)), ((1, 200),) * 8):
            call = Call(lengths=lengths)
            call.run(plan, check=check)
            call.verify()


def test_outputs_can_be_allocated():
    call = Call()
    out, lse = call.run(make_plan(), out=None, lse=None, return_lse=True)
    call.verify(out, lse)


def test_int64_page_ids():
    call = Call(id_dtype=np.int64)
    call.run(make_plan(page_id_dtype="int64"))
    call.verify()


def test_what_it_says_of_itself():
    plan = make_plan(batch_policy="longest_first")
    assert plan.variant == "paged_prefill_d192_v128_p64_vectorized_5d_longest_first"
    assert repr(plan) == f"PagedPrefillPlan({plan.variant}, Hq=4, Hkv=1, device=0)"


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"page_id_dtype": "int16"}, ValueError, "page_id_dtype is 'int16'; allowed: int32, int64"),
        ({"num_q_heads": 3, "num_kv_heads": 2}, ValueError, "num_q_heads is 3 and num_kv_heads 2"),
        ({"num_kv_heads": 0}, ValueError, "num_kv_heads is 0; allowed: 1 or more"),
        ({"max_batch": 0}, ValueError, "max_batch is 0; allowed: 1 or more"),
        ({"max_total_q": "many"}, TypeError, "max_total_q is 'many'"),
        ({"max_seqlen_k": -1}, ValueError, "max_seqlen_k is -1"),
        ({"head_dim": 96}, ValueError, "head_dim/v_head_dim is 96/128; allowed"),
        ({"page_size": 32}, ValueError, "page_size is 32; allowed: 1, 16, 64, 1024"),
        ({"kv_layout": "linear"}, ValueError, "kv_layout is 'linear' with page_size 64"),
        ({"batch_policy": "single"}, ValueError, "batch_policy is 'single' with 8 sequences"),
        ({"device": 99}, ValueError, r"device is 99; this process has \d+ devices?, numbered from 0"),
        ({"softmax_scale": float("inf")}, ValueError, "softmax_scale is inf"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_plans_that_cannot_be(change, error, said):
    with pytest.raises(error, match=said):
        make_plan(**change)


@pytest.mark.parametrize(
    ("plan", "call", "error", "said"),
    [
        ({"num_q_heads": 8}, {}, ValueError, "the tensors have num_q_heads 4; the plan has 8"),
        ({"v_head_dim": 192}, {}, ValueError, "the tensors have v_head_dim 128; the plan has 192"),
        ({"max_batch": 2}, {}, ValueError, "batch is 3; the plan's max_batch is 2"),
        ({"max_total_q": 25}, {}, ValueError, "total_q is 26; the plan's max_total_q is 25"),
        ({"page_size": 16}, {}, ValueError, "page_size is 16, but k_cache has pages of 64"),
        ({}, {"id_dtype": np.int64}, TypeError, "block_table is int64; the plan has page_id_dtype='int32'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_runs_that_do_not_fit(plan, call, error, said):
    plan = make_plan(**plan)
    with pytest.raises(error, match=said):
        Call(**call).run(plan)


def test_a_misaligned_pointer_is_refused_even_unchecked():
    plan, call = make_plan(), Call()
    call.run(plan, check=False)
    shifted = par.DeviceArray.zeros((26 * 4 * 192 + 16,), "|u1").view((26, 4, 192), (768, 192, 1), 8)
    call.tensors[0] = shifted
    with pytest.raises(ValueError, match="q starts at 0x.*8; it must be a multiple of 16 bytes"):
        call.run(plan, check=False)


def test_one_plan_in_many_threads():
    plan, calls, errors = make_plan(), [Call(seed=seed) for seed in range(8)], []

    def work(call):
        try:
            for _ in range(10):
                call.run(plan)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    for call in calls:
        call.verify()


def test_a_thousand_plans_and_runs_leave_nothing_behind(fresh_process, emulated):
    program = """
        import gc, resource
        from tests.runtime.scenario import Call, hip_synchronize, live_objects, make_plan
        call = Call()
        for _ in range(100):
            call.run(make_plan())
        hip_synchronize(); gc.collect()
        objects, resident = live_objects(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(1000):
            call.run(make_plan())
        hip_synchronize(); gc.collect()
        assert live_objects() == objects, (live_objects(), objects)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident
        assert grown < 4096, f"{grown} KiB"
        call.verify()
        """
    fresh_process(program, GFX950_EMU_STRICT=None)
