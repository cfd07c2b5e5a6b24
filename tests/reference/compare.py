"""Comparing a kernel's results with the reference: element by element against the bound, and as a whole by rms."""

from dataclasses import dataclass

import numpy as np

RMS_LIMIT = 0.03


@dataclass(frozen=True)
class Verdict:
    """ratio: largest |error| / bound of `out` (1 is the limit); lse_ratio likewise; rms: relative rms error of `out`."""

    ratio: float
    where: tuple
    rms: float
    lse_ratio: float

    @property
    def ok(self):
        return self.ratio <= 1 and self.lse_ratio <= 1

    def __str__(self):
        return f"error/bound {self.ratio:.3g} at {self.where}, rms {self.rms:.3g}, lse error/bound {self.lse_ratio:.3g}"


def compare(expected, out, lse=None):
    """expected: tests.reference.paged.Batch; out [total_q, Hq, Dv] float; lse [Hq, total_q] or None. -> Verdict."""
    inside = expected.inside
    ratio, where = _largest_ratio(out[inside], expected.out[inside], expected.out_bound[inside])
    error = out[inside] - expected.out[inside]
    norm = np.sqrt(np.mean(expected.out[inside] ** 2)) if inside.any() else 0.0
    rms = float(np.sqrt(np.mean(error**2)) / norm) if norm else 0.0
    lse_ratio = 0.0
    if lse is not None:
        got, want = lse[:, inside], expected.lse[:, inside]
        same_infinity = np.isneginf(want) & np.isneginf(got)
        got, want = np.where(same_infinity, 0.0, got), np.where(same_infinity, 0.0, want)
        lse_ratio, _ = _largest_ratio(got, want, expected.lse_bound[:, inside])
    return Verdict(ratio, where, rms, lse_ratio)


def _largest_ratio(got, want, bound):
    if got.size == 0:
        return 0.0, ()
    error = np.abs(got - want)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(error == 0, 0.0, error / bound)
    ratio = np.where(np.isnan(ratio), np.inf, ratio)
    where = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    return float(ratio[where]), tuple(int(i) for i in where)
