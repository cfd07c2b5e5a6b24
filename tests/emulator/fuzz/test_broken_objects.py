"""Truncated, corrupted and random code objects end in an error, never in a crash or a hang (a short run; `make soak` is the long one)."""

import pytest

from tests.conftest import EMULATOR_ROCM
from tests.emulator.fuzz.mutate import KINDS, mutate, text_offset
from tests.emulator.fuzz.run import Campaign


@pytest.fixture(scope="module")
def campaign(prebuilt, emulated):
    return Campaign(EMULATOR_ROCM / "lib" / "libamdhip64.so", prebuilt, {})


@pytest.mark.parametrize("page_size", [64, 1])
def test_a_hundred_broken_objects(campaign, page_size):
    entry = next(e for e in campaign.entries() if e["key"]["page_size"] == page_size)
    print(campaign.run(entry, 7000 * page_size, 100, timeout=120))


def test_mutations_differ_and_repeat(campaign):
    good = (campaign.prebuilt / campaign.entries()[0]["file"]).read_bytes()
    assert {mutate(good, seed)[0] for seed in range(len(KINDS))} == set(KINDS)
    for seed in range(20):
        assert mutate(good, seed) == mutate(good, seed)
        assert mutate(good, seed)[1] != good
    assert 0 < text_offset(good) < len(good)
