"""Causal and length masks, for the tiles that reach past some row's last key.

A row sees the keys up to row + Lk - Lq; that is at most Lk - 1, so that one comparison masks both. V has to be zeroed
as well: what lies behind the last key may be NaN, and 0 * NaN is NaN.
"""

from __future__ import annotations

import flydsl.expr as fx

from . import isa, lane_maps
from .traits import GROUP_KEYS, SUBTILE_KEYS

_WORD = 4  # FP8 values of a register
_GROUP = 8  # scores masked together


def mask_scores(scores, lane, first_key, last_visible):
    """-inf where the key lies behind the row's last visible one.

    Comparisons go ahead of their selections by a group: a selection just behind its comparison would wait for it.
    """
    room = last_visible - first_key - lane_maps.half_of(lane) * GROUP_KEYS
    hidden = fx.Float32(float("-inf"))
    flat = [block[v] for block in scores for v in range(block.numel)]
    keys = [subtile * SUBTILE_KEYS + v for subtile, block in enumerate(scores) for v in range(block.numel)]
    masked = []
    for first in range(0, len(flat), _GROUP):
        visible = [room >= key for key in keys[first : first + _GROUP]]
        isa.fence()
        masked += [seen.select(value, hidden) for seen, value in zip(visible, flat[first : first + _GROUP])]
        isa.fence()
    numel = scores[0].numel
    return [fx.Vector.from_elements(masked[i : i + numel], fx.Float32) for i in range(0, len(masked), numel)]


def value_mask(lane, first_key, keys):
    """One word for each V register: ones over the bytes whose key is below `keys`."""
    room = keys - first_key - lane_maps.half_of(lane) * GROUP_KEYS
    words = []
    for register in range(8):
        before = register // 4 * SUBTILE_KEYS + register % 4 * _WORD
        count = fx.min(room - before, fx.Int32(_WORD))
        bits = fx.Int32(fx.Uint32(0xFFFFFFFF) >> fx.Uint32(32 - count * 8))
        words.append((count > 0).select(bits, fx.Int32(0)))
    return words


def mask_values(values, words):
    return [fx.Vector.from_elements([value[i] & words[i] for i in range(8)], fx.Int32) for value in values]
