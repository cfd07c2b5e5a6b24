"""The wave's search for the r-th heaviest query block, run with numpy in the place of lanes and scalar registers."""

from functools import reduce
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import ranking
from kernels.traits import LANES, traits_of
from paged_attn_runtime.variant import Variant

TRAITS = traits_of(Variant(128, 128, 64, "vectorized_5d", "longest_first"))
LANE = np.arange(LANES)


class Value(np.ndarray):
    """A scalar, or one number a lane, with the DSL's way to select."""

    def select(self, a, b):
        return value(np.where(self, a, b))


def value(x):
    return np.asarray(x, dtype=None if np.asarray(x).dtype == bool else np.int64).view(Value)


def mask_of(lanes):
    """A bit for each of 64 lanes, in 64 bits."""
    return np.packbits(lanes, bitorder="little").view("<u8").reshape(()).view(Value)


def repeat(start, stop, state, body):
    for i in range(int(start), int(stop)):
        state = body(value(i), state)
    return state


FX = SimpleNamespace(
    Int32=value, Int64=value, min=lambda a, b: value(np.minimum(a, b)), max=lambda a, b: value(np.maximum(a, b))
)
ISA = SimpleNamespace(
    load_lanes=lambda array, index: value(array[np.asarray(index)]),
    reduce_lanes=lambda x, combine: reduce(combine, [value(n) for n in np.broadcast_to(x, LANES)]),
    lanes_where=lambda condition: mask_of(np.broadcast_to(condition, LANES)),
    lanes_below=lambda mask: value([bin(mask.item() & ((1 << int(lane)) - 1)).count("1") for lane in LANE]),
    count_lanes=lambda mask: value(bin(mask.item()).count("1")),
    first_lane=lambda mask: value((mask.item() & -mask.item()).bit_length() - 1 if mask.item() else 0),
    leading_zeros=lambda x: value(32 - int(x).bit_length()),
    lane_value=lambda x, lane: value(np.broadcast_to(x, LANES)[int(lane)]),
)


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    monkeypatch.setattr(ranking, "fx", FX)
    monkeypatch.setattr(ranking, "isa", ISA)
    monkeypatch.setattr(ranking.control, "repeat", repeat)
    monkeypatch.setattr(ranking.batch, "keys", lambda _, arguments, sequence, load: load(arguments.lengths, sequence))


def ranked(lengths, count):
    """[(found, sequence, block)] of the ranks 0..count-1."""
    cu = np.concatenate([[0], np.cumsum([q for q, _ in lengths])])
    arguments = SimpleNamespace(
        batch=value(len(lengths)), cu_seqlens_q=cu, lengths=np.array([k for _, k in lengths] or [0])
    )
    search = ranking.Ranking(TRAITS, arguments, value(LANE))
    return [tuple(int(x) for x in search.find(value(rank))) for rank in range(count)]


def expected(lengths):
    rows = TRAITS.rows
    blocks = []
    for sequence, (queries, keys) in enumerate(lengths):
        number = -(-queries // rows)
        blocks += [(-(-(-keys // rows) - (number - 1 - block)), sequence, block) for block in range(number)]
    return [(1, sequence, block) for _, sequence, block in sorted(blocks, key=lambda b: (b[0], b[1]))]


def agree(lengths):
    wanted = expected(lengths)
    slots = sum(q for q, _ in lengths) // TRAITS.rows + len(lengths)
    assert len(wanted) <= slots
    got = ranked(lengths, slots)
    assert got[: len(wanted)] == wanted
    assert not any(found for found, _, _ in got[len(wanted) :])


@pytest.mark.parametrize(
    "lengths",
    [
        [(1, 1)],
        [(0, 5)],
        [(5, 0)],
        [(4096, 8192)] * 3,
        [(300, 300), (1, 513), (77, 1077), (0, 9), (700, 20)],
        [(256, 2**31 - 1), (257, 2**31 - 1), (1, 1)],
    ],
)
def test_ranks_fall_with_the_keys_that_a_block_sees(lengths):
    agree(lengths)


@settings(deadline=None, max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 1500), st.integers(0, 20_000)), min_size=1, max_size=12))
def test_any_batch(lengths):
    agree(lengths)


@pytest.mark.parametrize("batch", [64, 65, 150])
def test_batches_of_more_sequences_than_lanes(batch):
    rng = np.random.default_rng(batch)
    lengths = [(int(q), int(k)) for q, k in zip(rng.integers(0, 600, batch), rng.integers(0, 5000, batch))]
    agree(lengths)
