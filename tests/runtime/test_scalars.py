"""Arguments that are numbers, and options that are not served."""

import math
from fractions import Fraction

import numpy as np
import pytest

from paged_attn_runtime.checks import INT32_MAX, bound
from paged_attn_runtime.scalars import UNSERVED, number, refuse_unserved, split_descale


@pytest.mark.parametrize("value", [1, 0.25, np.float32(0.25), np.int64(3), Fraction(1, 4)])
def test_numbers(value):
    assert number("softmax_scale", value) == float(value)
    assert split_descale("q_descale", value) == (None, float(value))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e39, -0.5, 10**400, -(10**400)])
def test_numbers_that_float32_does_not_hold(value):
    with pytest.raises(ValueError, match=r"k_descale is .*; allowed: a finite float32, not negative"):
        split_descale("k_descale", value)


@pytest.mark.parametrize("value", ["1", True, None, 1j])
def test_what_is_no_number(value):
    with pytest.raises(TypeError, match="softmax_scale is .*; wanted a number"):
        number("softmax_scale", value)


def test_a_missing_descale():
    with pytest.raises(TypeError, match="v_descale is None; it is required"):
        split_descale("v_descale", None)


@pytest.mark.parametrize("value", [0, 5, np.int32(5), INT32_MAX])
def test_bounds(value):
    assert bound("max_seqlen_q", value) == value


@pytest.mark.parametrize("value", [-1, INT32_MAX + 1])
def test_bounds_out_of_range(value):
    with pytest.raises(ValueError, match=rf"max_seqlen_k is {value}; allowed: 0 to {INT32_MAX}"):
        bound("max_seqlen_k", value)


@pytest.mark.parametrize("value", [1.0, True, "3", None])
def test_bounds_of_another_kind(value):
    with pytest.raises(TypeError, match="max_seqlen_q is .*; wanted an int known on the host"):
        bound("max_seqlen_q", value)


def test_a_tensor_is_no_bound():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="a tensor would have to be read back"):
        bound("max_seqlen_q", torch.tensor(5))


@pytest.mark.parametrize("name", sorted(UNSERVED))
def test_unserved_options_are_named(name):
    with pytest.raises(
        NotImplementedError, match=rf"{name}=7: {UNSERVED[name]} are not served in this version; allowed: None"
    ):
        refuse_unserved("paged_prefill", {name: 7})


@pytest.mark.parametrize(
    ("name", "value"), [("causal", True), ("window_size", (-1, -1)), ("sinks", None), ("soft_cap", None)]
)
def test_unserved_options_that_ask_for_nothing(name, value):
    refuse_unserved("paged_prefill", {name: value})


def test_unknown_options_are_type_errors():
    with pytest.raises(TypeError, match=r"paged_prefill\(\) got an unexpected keyword argument 'k_scale'"):
        refuse_unserved("paged_prefill", {"k_scale": 1.0})
