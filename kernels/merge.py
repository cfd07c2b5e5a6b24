"""Two partial results of the same rows over different keys, made one through LDS.

Wave w of the first group and wave w + 4 hold the same 32 rows. Each keeps half of the output columns, gives the other
half away, and brings both parts to the smaller shift, which stands for the larger maximum.
"""

from __future__ import annotations

import flydsl.expr as fx

from . import control, isa
from .traits import CHUNK, GROUP_WAVES, UNIT, WAVES, Traits

_WORDS = CHUNK // 4


def _give(lds, at, out):
    for block, values in enumerate(out):
        words = values.bitcast(fx.Int32)
        for quarter in range(values.numel // _WORDS):
            part = fx.Vector.from_elements([words[quarter * _WORDS + i] for i in range(_WORDS)], fx.Int32)
            isa.write_lds(lds + (at + (block * values.numel // _WORDS + quarter) * UNIT), part)


def _take(lds, at, blocks, registers):
    out = []
    for block in range(blocks):
        parts = [
            isa.read_lds(lds + (at + (block * registers // _WORDS + i) * UNIT)) for i in range(registers // _WORDS)
        ]
        out.append(isa.join(parts).bitcast(fx.Float32))
    return out


def lds_bytes(traits: Traits) -> int:
    """What the exchange needs: half of the columns and a pair of numbers from every wave."""
    return WAVES * (_column_bytes(traits) + UNIT)


def _column_bytes(traits: Traits) -> int:
    return traits.problem.column_blocks // 2 * 16 // _WORDS * UNIT


def merge(traits: Traits, lds, wave, lane, second_group, state):
    """[shift, total, out]: this wave's half of the columns, over all keys."""
    shift, total, out = state
    blocks = len(out) // 2
    kept, given = control.choose(second_group, [out[:blocks], out[blocks:]], lambda parts: [parts[1], parts[0]])
    columns = _column_bytes(traits)
    slot = columns + UNIT
    ours = wave * slot + lane * CHUNK
    theirs = (wave ^ GROUP_WAVES) * slot + lane * CHUNK
    isa.wait_lds()  # the last rounds have read operands, needed or not, where the results go
    isa.barrier()
    _give(lds, ours, given)
    zero = fx.Int32(0)
    numbers = [shift.bitcast(fx.Int32), total[0].bitcast(fx.Int32), zero, zero]
    isa.write_lds(lds + (ours + columns), fx.Vector.from_elements(numbers, fx.Int32))
    isa.wait_lds()
    isa.barrier()
    numbers = isa.read_lds(lds + (theirs + columns)).bitcast(fx.Float32)
    merged = fx.minnumf(shift, numbers[0], fastmath="nnan")
    our_factor, their_factor = isa.exp2(merged - shift), isa.exp2(merged - numbers[0])
    result = [
        fx.Vector.from_elements([a[i] * our_factor + b[i] * their_factor for i in range(a.numel)], fx.Float32)
        for a, b in zip(kept, _take(lds, theirs, blocks, out[0].numel))
    ]
    whole = total[0] * our_factor + numbers[1] * their_factor
    return [merged, fx.Vector.from_elements([whole] * total.numel, fx.Float32), result]
