"""Which policy rules can be reached: a rule is dead when the rules before it match every batch that it matches.

A rule's condition is a box: for each quantity a closed range of integers. The boxes of the earlier rules are cut out of it; what
is left, if anything, is what the rule is for. Exact for boxes; that some combinations never occur together (a bound below another)
is not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from paged_attn_runtime.manifest import PolicyRule

Box = dict[str, tuple[float, float]]  # the ends are integers or math.inf

_AT_LEAST_ONE = ("batch", "num_q_heads", "num_kv_heads")


def dead_rules(rules: Sequence[PolicyRule]) -> list[int]:
    """The indices of rules that no batch can reach."""
    quantities = sorted({name for rule in rules for name in rule.when})
    boxes = [_box(rule, quantities) for rule in rules]
    return [i for i, box in enumerate(boxes) if not _left([box], boxes[:i])]


def _box(rule: PolicyRule, quantities: Sequence[str]) -> Box:
    box: Box = {}
    for name in quantities:
        low, high = (1 if name in _AT_LEAST_ONE else 0), math.inf
        bounds = rule.when.get(name)
        if bounds is not None:
            low = low if bounds.min is None else max(low, bounds.min)
            high = high if bounds.max is None else bounds.max
        box[name] = (low, high)
    return box


def _left(boxes: list[Box], cuts: Sequence[Box]) -> list[Box]:
    """What is left of `boxes` once every box of `cuts` is cut out."""
    boxes = [box for box in boxes if all(low <= high for low, high in box.values())]
    for cut in cuts:
        boxes = [piece for box in boxes for piece in _cut(box, cut)]
    return boxes


def _cut(box: Box, cut: Box) -> list[Box]:
    pieces, rest = [], dict(box)
    for name, (low, high) in box.items():
        cut_low, cut_high = cut[name]
        if cut_low > high or cut_high < low:
            return [box]  # they do not meet
        if low < cut_low:
            pieces.append({**rest, name: (low, cut_low - 1)})
        if high > cut_high:
            pieces.append({**rest, name: (cut_high + 1, high)})
        rest[name] = (max(low, cut_low), min(high, cut_high))
    return pieces
