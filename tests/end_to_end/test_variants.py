"""Every shipped variant, element by element within the bound of tests/reference/attention.py."""

import ctypes

import numpy as np
import pytest

from tests.conftest import EMULATOR_ROCM
from tests.end_to_end.cases import HEAD_DIMS, PAGE_SIZES, POLICIES, every_variant
from tests.end_to_end.launch import check, launch
from tests.reference.compare import RMS_LIMIT
from tests.reference.problems import Shape, make_problem

pytestmark = pytest.mark.usefixtures("prebuilt")

SERVING = ((300, 300), (1, 514), (77, 1077))
EDGES = ((1, 1), (1, 63), (64, 64), (63, 65), (65, 128), (2, 129), (255, 256), (257, 300), (16, 17), (15, 1040))


@every_variant
def test_a_serving_batch(head_dim, v_head_dim, page_size, batch_policy):
    lengths = SERVING if batch_policy != "single" else SERVING[2:]
    problem = make_problem(Shape(head_dim, v_head_dim, page_size, 4, 1, lengths), seed=1)
    check(problem, batch_policy=batch_policy, rms_limit=RMS_LIMIT)


@pytest.mark.parametrize("page_size", PAGE_SIZES)
@pytest.mark.parametrize("head_dim, v_head_dim", HEAD_DIMS)
def test_lengths_around_page_and_block_edges(head_dim, v_head_dim, page_size):
    problem = make_problem(Shape(head_dim, v_head_dim, page_size, 1, 1, EDGES), seed=2)
    check(problem)


@pytest.mark.parametrize("num_q_heads, num_kv_heads", [(1, 1), (4, 4), (4, 1), (16, 4), (16, 1), (16, 16)])
def test_head_counts(num_q_heads, num_kv_heads):
    problem = make_problem(Shape(192, 128, 64, num_q_heads, num_kv_heads, ((70, 150), (3, 20))), seed=3)
    check(problem)


@pytest.mark.parametrize("logit_std", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("head_dim, v_head_dim", HEAD_DIMS)
def test_rms_for_logits_of_standard_deviation_1_to_4(head_dim, v_head_dim, logit_std):
    problem = make_problem(Shape(head_dim, v_head_dim, 64, 2, 1, ((260, 900),)), seed=4, logit_std=logit_std)
    check(problem, rms_limit=RMS_LIMIT)


@pytest.mark.parametrize("descales_on_device", [False, True])
@pytest.mark.parametrize("softmax_scale", [0.03, 0.25])
def test_scales_other_than_the_default(softmax_scale, descales_on_device):
    problem = make_problem(
        Shape(192, 128, 64, 2, 1, ((70, 200),)),
        seed=5,
        softmax_scale=softmax_scale,
        q_descale=0.4,
        k_descale=2.5,
        v_descale=0.125,
    )
    check(problem, descales_on_device=descales_on_device)


@pytest.mark.parametrize("id_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("metadata", ["block_table", "csr"])
@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_block_tables_and_csr_with_both_widths_of_page_ids(page_size, metadata, id_dtype):
    problem = make_problem(Shape(128, 128, page_size, 2, 1, ((40, 200), (5, 5), (1, 77))), seed=6)
    check(problem, metadata=metadata, id_dtype=id_dtype)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("lengths", [((0, 5),), ((3, 0),), ((0, 0),), ((5, 2),), ((300, 17),)])
def test_empty_sequences_and_more_queries_than_keys(policy, lengths):
    batch = lengths if policy == "single" else lengths + ((4, 9),) + lengths
    check(make_problem(Shape(192, 128, 64, 2, 1, batch), seed=7), batch_policy=policy)


def test_the_same_call_gives_the_same_bits_and_neighbours_do_not_matter():
    alone = make_problem(Shape(192, 128, 64, 2, 1, ((70, 300),)), seed=8)
    first = launch(alone, batch_policy="longest_first")
    again = launch(alone, batch_policy="longest_first")
    np.testing.assert_array_equal(first.raw_out, again.raw_out)
    np.testing.assert_array_equal(first.raw_lse, again.raw_lse)
    beside = with_neighbours(alone)
    mixed = launch(beside, batch_policy="longest_first")
    rows = slice(beside.cu_seqlens_q[1], beside.cu_seqlens_q[2])
    np.testing.assert_array_equal(mixed.raw_out[rows], first.raw_out)
    np.testing.assert_array_equal(mixed.raw_lse[:, rows], first.raw_lse)


def with_neighbours(problem):
    """The same sequence as the second of three, the others made anew."""
    from dataclasses import replace

    (length,) = problem.shape.lengths
    others = make_problem(replace(problem.shape, lengths=((33, 90), length, (2, 600))), seed=9)
    rows = slice(others.cu_seqlens_q[1], others.cu_seqlens_q[2])
    others.q[rows] = problem.q
    for cache, source in ((others.k_cache, problem.k_cache), (others.v_cache, problem.v_cache)):
        cache[others.pages_of(1)] = source[problem.pages_of(0)]
    return others


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
@every_variant
def test_wave_orders_do_not_matter(monkeypatch, emulated, head_dim, v_head_dim, page_size, batch_policy, seed):
    """Strict mode finds nothing to report, and the result is right, however the waves interleave."""
    monkeypatch.setenv("GFX950_EMU_SEED", str(seed))
    lengths = ((257, 330),) if batch_policy == "single" else ((70, 200), (257, 330))
    check(make_problem(Shape(head_dim, v_head_dim, page_size, 1, 1, lengths), seed=10), batch_policy=batch_policy)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_the_bits_are_the_same_under_every_wave_order(monkeypatch, emulated, page_size, policy):
    problem = make_problem(Shape(192, 128, page_size, 1, 1, ((257, 330),)), seed=12)
    results = []
    for seed in range(1, 5):
        monkeypatch.setenv("GFX950_EMU_SEED", str(seed))
        results.append(launch(problem, batch_policy=policy))
    for other in results[1:]:
        np.testing.assert_array_equal(other.raw_out, results[0].raw_out)
        np.testing.assert_array_equal(other.raw_lse, results[0].raw_lse)


@every_variant
def test_no_lds_bank_conflicts(monkeypatch, emulated, head_dim, v_head_dim, page_size, batch_policy):
    """As the emulator's bank model counts them, per instruction, over a problem that runs the main loop."""
    monkeypatch.setenv("GFX950_EMU_BANK_CONFLICTS", "1")
    launch(
        make_problem(Shape(head_dim, v_head_dim, page_size, 1, 1, ((128, 1500),)), seed=11), batch_policy=batch_policy
    )
    library = ctypes.CDLL(str(EMULATOR_ROCM / "lib" / "libamdhip64.so.7"))
    library.gfx950_emu_bank_conflicts.restype = ctypes.c_char_p
    lines = [line.split(maxsplit=3) for line in library.gfx950_emu_bank_conflicts().decode().splitlines()]
    often = max(int(executed) for executed, *_ in lines)
    hot = [line for line in lines if int(line[0]) > often // 2]
    assert len(hot) >= 8, "the main loop reads K and V from LDS"
    assert [line for line in hot if int(line[1]) > 0] == []
