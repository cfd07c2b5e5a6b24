"""Variants, their names, and what is refused."""

import dataclasses
import itertools

import pytest

from paged_attn_runtime.variant import BATCH_POLICIES, HEAD_DIM_PAIRS, PAGE_LAYOUT, Variant

EVERY = [
    Variant(d, v, page, layout, policy)
    for (d, v), (page, layout), policy in itertools.product(HEAD_DIM_PAIRS, PAGE_LAYOUT.items(), BATCH_POLICIES)
]
ONE = Variant(192, 128, 64, "vectorized_5d", "longest_first")


def test_the_matrix_has_36_of_36_names():
    assert len({variant.name for variant in EVERY}) == len(EVERY) == 36


@pytest.mark.parametrize("variant", EVERY, ids=str)
def test_a_name_parses_back(variant):
    assert Variant.parse(variant.name) == variant
    assert variant.file_name == f"{variant.name}.hsaco"
    assert Variant(**variant.key()) == variant


def test_the_name_is_made_of_every_field():
    assert ONE.name == "paged_prefill_d192_v128_p64_vectorized_5d_longest_first"
    changed = {"head_dim": 128, "v_head_dim": 192, "page_size": 16, "batch_policy": "single"}
    names = {dataclasses.replace(ONE, **{field: value}).name for field, value in changed.items()}
    assert len(names | {ONE.name}) == 5


def test_a_variant_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ONE.page_size = 16


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("head_dim", 64, r"^head_dim/v_head_dim is 64/128; allowed: 128/128, 192/128, 192/192$"),
        ("v_head_dim", 256, r"^head_dim/v_head_dim is 192/256; allowed: "),
        ("page_size", 32, r"^page_size is 32; allowed: 1, 16, 64, 1024$"),
        ("page_size", 1, r"^kv_layout is 'vectorized_5d' with page_size 1; allowed: 'linear'$"),
        ("kv_layout", "linear", r"^kv_layout is 'linear' with page_size 64; allowed: 'vectorized_5d'$"),
        ("kv_layout", "blocked", r"^kv_layout is 'blocked'; allowed: linear, vectorized_5d$"),
        ("batch_policy", "fair", r"^batch_policy is 'fair'; allowed: single, interleaved, longest_first$"),
    ],
)
def test_a_value_that_no_kernel_has(field, value, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(ONE, **{field: value})


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("page_size", True, r"^page_size must be int, not bool \(True\)$"),
        ("head_dim", 192.0, r"^head_dim must be int, not float \(192\.0\)$"),
        ("v_head_dim", "128", r"^v_head_dim must be int, not str \('128'\)$"),
        ("kv_layout", None, r"^kv_layout must be str, not NoneType \(None\)$"),
        ("batch_policy", 1, r"^batch_policy must be str, not int \(1\)$"),
    ],
)
def test_a_value_of_another_type(field, value, message):
    with pytest.raises(TypeError, match=message):
        dataclasses.replace(ONE, **{field: value})


@pytest.mark.parametrize(
    "name",
    [
        "",
        ONE.name + "_x",
        "x" + ONE.name,
        ONE.name + "\n",
        ONE.name.replace("d192", "d0192"),
        ONE.name.replace("prefill", "decode"),
        ONE.name.replace("p64", "p٦٤"),  # digits, but not ours
        ONE.name.replace("_longest_first", ""),
    ],
)
def test_what_is_no_name(name):
    with pytest.raises(ValueError, match=r"is no variant's name; one looks like paged_prefill_d192"):
        Variant.parse(name)


def test_a_name_of_something_that_is_not_built():
    with pytest.raises(ValueError, match=r"page_size is 32; allowed"):
        Variant.parse(ONE.name.replace("p64", "p32"))
