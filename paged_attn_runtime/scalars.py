"""The arguments of a call that are numbers: descales, the softmax scale, and what this version does not serve."""

from __future__ import annotations

import math
import numbers
from typing import Any

FLOAT32_MAX = 3.4028234663852886e38

# Options of other attention calls, by the names that they go by, and what they mean here.
UNSERVED = {
    "window_size": "sliding windows",
    "window_left": "sliding windows",
    "sliding_window": "sliding windows",
    "sinks": "attention sinks",
    "sink_ptr": "attention sinks",
    "logits_soft_cap": "soft caps",
    "soft_cap": "soft caps",
    "bias": "biases",
    "attn_bias": "biases",
    "alibi_slopes": "biases",
    "causal": "non-causal masks",
    "mask": "masks other than the causal one",
    "attn_mask": "masks other than the causal one",
    "num_kv_splits": "split KV",
    "num_splits": "split KV",
    "dropout_p": "dropout",
    "kv_block_descale": "descales per block",
}
_HARMLESS = {"causal": True, "dropout_p": 0.0, "logits_soft_cap": 0.0, "window_size": (-1, -1), "window_left": -1}


def refuse_unserved(function: str, options: dict[str, Any]) -> None:
    """Raise for an option that is not served, unless its value asks for nothing.

    Unknown names are a TypeError, as Python's own.
    """
    for name, value in options.items():
        if name not in UNSERVED:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
        harmless = _HARMLESS.get(name)
        if value is None or (type(value) in (bool, int, float, tuple) and value == harmless):
            continue
        allowed = "None" if harmless is None else f"None or {harmless!r}"
        raise NotImplementedError(
            f"{name}={value!r}: {UNSERVED[name]} are not served in this version; allowed: {allowed}"
        )


def number(label: str, value: Any) -> float:
    """A finite float32 that is not negative, as a Python float: the kernels' running maximum relies on the sign."""
    if type(value) is not float:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(f"{label} is {value!r}; wanted a number")
        try:
            value = float(value)
        except OverflowError:  # an int beyond any float
            value = math.inf if value > 0 else -math.inf
    if not 0.0 <= value <= FLOAT32_MAX:
        raise ValueError(f"{label} is {value}; allowed: a finite float32, not negative")
    return value


_is_number: dict[type, bool] = {float: True}  # asking numbers.Real costs as much as a HIP call; types are few


def split_descale(label: str, descale: Any) -> tuple[Any, float]:
    """(tensor or None, value): a number goes by value, everything else is taken for a tensor of one float32."""
    kind = type(descale)
    known = _is_number.get(kind)
    if known is None:
        known = _is_number[kind] = issubclass(kind, numbers.Real)
    if known:
        return None, number(label, descale)
    if descale is None:
        raise TypeError(f"{label} is None; it is required: a Python float, or a device tensor of one float32")
    return descale, 1.0
