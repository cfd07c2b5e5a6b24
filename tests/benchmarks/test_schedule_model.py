"""The schedule model against published times, and the shipped policy rules against the model."""

from pathlib import Path

import pytest

from benchmarks import schedule_model as model
from builder.matrix import read_matrix

CONFIG = Path(__file__).parents[2] / "configs" / "gfx950.yaml"


def test_published_ratios_are_reproduced_within_10_percent():
    base = model.published_clocks((128, 128), 16384, 32768)
    for (pair, length_q, length_k), ms in model.PUBLISHED_MS.items():
        ratio = model.published_clocks(pair, length_q, length_k) / base
        assert ratio == pytest.approx(ms / model.PUBLISHED_MS[(128, 128), 16384, 32768], rel=0.10)


@pytest.mark.parametrize("policy", ["interleaved", "longest_first"])
@pytest.mark.parametrize("name", [*model.UNIFORM, *model.MIXES])
def test_every_order_covers_every_block_once(policy, name):
    lengths = {**model.UNIFORM, **model.MIXES}[name]
    rows = model.policy_costs(policy, len(lengths), model.ROUND[(128, 128)]).rows
    order = [work for work in model.ORDERS[policy](lengths, rows) if work is not None]
    assert sorted(order) == sorted(model.order_ascending(lengths, rows))


def test_longest_first_is_sorted_by_visible_keys():
    lengths = model.MIXES["four: 1K, 2K, 4K, 8K"]
    order = model.order_longest_first(lengths, 256)[:60]
    keys = [model.visible_keys(*lengths[b], block, 256) for b, block in order]
    assert keys == sorted(keys, reverse=True)


@pytest.mark.parametrize(
    "lengths, block, keys", [((300, 300), 0, 256), ((300, 300), 1, 300), ((300, 17), 0, 0), ((1, 514), 0, 514)]
)
def test_visible_keys_of_the_last_row(lengths, block, keys):
    assert model.visible_keys(*lengths, block, 256) == keys


def test_one_workgroup_per_cu_ends_with_the_longest():
    assert model.makespan([100.0] * 255 + [900.0], model.Machine(dispatch_clocks=0)) == 900


def test_a_second_round_waits_for_a_free_cu_of_its_own_xcd():
    machine = model.Machine(xcds=2, cus_per_xcd=1, dispatch_clocks=0)
    assert model.makespan([10.0, 1.0, 10.0, 1.0], machine) == 20


@pytest.mark.parametrize("pair", sorted(model.ROUND))
def test_the_rules_pick_the_best_policy_or_one_close_to_it(pair):
    rules = read_matrix(CONFIG).rules
    for row in model.report(rules, round_clocks=model.ROUND[pair]):
        limit = 0.02 if row["batch"] in model.UNIFORM else 0.10
        assert row["loss"] <= limit, row


def test_each_policy_pays_somewhere():
    rows = model.report(read_matrix(CONFIG).rules, round_clocks=model.ROUND[(128, 128)])
    best = {min(row["clocks"], key=row["clocks"].get) for row in rows}
    assert best == set(model.ORDERS)
