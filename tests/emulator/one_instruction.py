"""Value tests: one instruction, rows of 64 lanes in, rows out.

A case's instruction reads v[10:11] as operand a, v[12:13] as b, v[14:15] as c, old destination v[20:21]; it writes v[20:21] and, if it
makes a lane mask, s[30:31]. All cases of a test file are assembled into one object.
"""

from dataclasses import dataclass

import numpy as np

from . import machine

ROWS = 8  # input rows: a.lo a.hi b.lo b.hi c.lo c.hi old.lo old.hi


@dataclass(frozen=True)
class Case:
    text: str
    setup: str = ""  # instructions before it (MODE, VCC, EXEC)


def f32(*values):
    return np.array(values, np.float32).view(np.uint32)


def f64(*values):
    return np.array(values, np.float64).view(np.uint64)


def f16(*values):
    return np.array(values, np.float16).view(np.uint16).astype(np.uint32)


def lanes(values, dtype=np.uint32):
    """64 lanes that repeat the given values."""
    return np.resize(np.asarray(values, dtype), 64)


def pairs(values_a, values_b, dtype=np.uint32):
    """All pairs, as many launches of 64 lanes as they need: lists of (a, b) rows."""
    a, b = np.meshgrid(np.asarray(values_a, dtype), np.asarray(values_b, dtype), indexing="ij")
    a, b = a.ravel(), b.ravel()
    return [(lanes(a[i : i + 64], dtype), lanes(b[i : i + 64], dtype)) for i in range(0, len(a), 64)]


class Bench:
    """Collects cases, assembles them once, runs each with given rows."""

    def __init__(self, cases):
        self.cases = list(dict.fromkeys(cases))
        loads = "\n".join(
            f"global_load_dword v{10 + r if r < 6 else 14 + r}, v1, s[4:5] offset:{256 * r}" for r in range(ROWS)
        )
        self.sources = [
            machine.Source(
                f"case_{n}",
                f"""{machine.LOAD_ARGUMENTS}
{loads}
s_mov_b64 s[30:31], 0
s_mov_b64 vcc, 0
s_waitcnt vmcnt(0)
{case.setup}
{case.text}
s_waitcnt vmcnt(0) lgkmcnt(0)
s_mov_b64 exec, -1
v_mov_b32 v40, s30
v_mov_b32 v41, s31
v_mov_b32 v42, vcc_lo
v_mov_b32 v43, vcc_hi
global_store_dword v1, v20, s[6:7]
global_store_dword v1, v21, s[6:7] offset:256
global_store_dword v1, v40, s[6:7] offset:512
global_store_dword v1, v41, s[6:7] offset:768
global_store_dword v1, v42, s[6:7] offset:1024
global_store_dword v1, v43, s[6:7] offset:1280
""",
            )
            for n, case in enumerate(self.cases)
        ]
        self._module = None

    def run(self, case, a=0, b=0, c=0, old=0):
        """Result rows: value (uint64), mask in s[30:31], VCC."""
        if self._module is None:
            self._module = machine.module(*self.sources)
        rows = np.zeros((4, 2, 64), np.uint32)
        for n, operand in enumerate((a, b, c, old)):
            wide = np.resize(np.asarray(operand).astype(np.uint64), 64)
            rows[n, 0], rows[n, 1] = wide & 0xFFFFFFFF, wide >> np.uint64(32)
        source, result = machine.Buffer.of(rows), machine.Buffer(6 * 256)
        self._module.launch(f"case_{self.cases.index(case)}", source, result)
        out = result.read(np.uint32).reshape(6, 64).astype(np.uint64)
        mask = int(out[2, 0] | out[3, 0] << np.uint64(32))
        vcc = int(out[4, 0] | out[5, 0] << np.uint64(32))
        return out[0] | out[1] << np.uint64(32), mask, vcc


def low(value):
    return (value & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def as_f32(value):
    return low(value).view(np.float32)


def as_f64(value):
    return value.astype(np.uint64).view(np.float64)


def same_floats(got, expected):
    """Equal bits, or NaN for NaN."""
    got, expected = np.asarray(got), np.asarray(expected)
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(got), nan), (got[np.isnan(got) != nan], expected[np.isnan(got) != nan])
    kind = {4: np.uint32, 8: np.uint64, 2: np.uint16}[got.dtype.itemsize]
    wrong = (got.view(kind) != expected.astype(got.dtype).view(kind)) & ~nan
    assert not wrong.any(), (np.flatnonzero(wrong)[:4], got[wrong][:4], expected[wrong][:4])
