"""Attention of one sequence and one head in float64, and how far a kernel that rounds P to e4m3 may be from it.

The error bound
---------------
The kernels hold P as e4m3 at a scale where a probability of 1 (relative to the running maximum) is at least 2^7, take the row
sum of those *rounded* values, accumulate in FP32 and store bf16. With exact p_j = exp(s_j - max s), L = sum_j p_j,
O = sum_j p_j V_j / L and rounded p_j + d_j:

    O_kernel - O = sum_j d_j (V_j - O) / (L + sum_j d_j)

e4m3 has three stored mantissa bits, so rounding to nearest moves a normal value by at most 2^-4 of itself and a subnormal one by at
most 2^-10, which is 2^-17 of a P of 1. FP32 work in front of the rounding (the QK sum, the scale, exp2) moves p_j by a
relative amount r_i, see `argument_error`. So |d_j| <= D_j = p_j (2^-4 + r_i) + 2^-17, and the numerator is below

    worst case      sum_j D_j |V_j - O|  <=  sqrt(sum_j D_j * sum_j D_j (V_j - O)^2)          (Cauchy-Schwarz)
    independent     z sigma + z^2 M / 3,  sigma^2 = sum_j D_j^2 (V_j - O)^2 / 3,  M = max_j D_j |V_j - O|

The second is Bernstein's inequality for independent errors, each uniform in its rounding interval (variance D^2/3); z = 6.5 leaves
a chance of 1e-9 per element. It holds for random data; data with repeated scores (all-equal logits) repeats its rounding errors too and
needs `independent=False`. On top: the FP32 accumulation (n 2^-24 of sum p|V|, n the number of sequential additions) and the
output's own rounding, 2^-8 of its value (bf16 stores seven mantissa bits).
"""

from dataclasses import dataclass

import numpy as np

P_RELATIVE = 2.0**-4
P_ABSOLUTE = 2.0**-17
BF16_RELATIVE = 2.0**-8
BF16_ABSOLUTE = 2.0**-134
FP32 = 2.0**-24
Z = 6.5


@dataclass(frozen=True)
class Expected:
    """Float64 results and element-wise error bounds: out, out_bound [Lq, Dv]; lse, lse_bound [Lq]."""

    out: np.ndarray
    out_bound: np.ndarray
    lse: np.ndarray
    lse_bound: np.ndarray


def attention(q, k, v, *, scale, v_descale=1.0, independent=True, key_offset=0):
    """Causal (bottom-right aligned) attention of one head.

    q [Lq, D], k [Lk, D], v [Lk, Dv]: float64. scale = softmax_scale * q_descale * k_descale.
    key_offset shifts the mask (0 is right; the negative controls use 1). Rows with no key give out 0, lse -inf, bound 0.
    """
    Lq, Lk, Dv = len(q), len(k), v.shape[1]
    if Lk == 0 or Lq == 0:
        empty = np.zeros((Lq, Dv))
        return Expected(empty, empty.copy(), np.full(Lq, -np.inf), np.zeros(Lq))
    visible = np.arange(Lk)[None, :] <= np.arange(Lq)[:, None] + (Lk - Lq) + key_offset
    has_key = visible.any(axis=1)

    s = np.where(visible, scale * (q @ k.T), -np.inf)
    maximum = np.where(has_key, s.max(axis=1), 0.0)
    p = np.exp(s - maximum[:, None])
    total = np.where(has_key, p.sum(axis=1), 1.0)
    out = (p @ v) / total[:, None]
    with np.errstate(divide="ignore"):
        lse = np.where(has_key, np.log(total) + maximum, -np.inf)

    relative = argument_error(q, k, visible, scale)
    d = np.where(visible, p * (P_RELATIVE + relative[:, None]) + P_ABSOLUTE, 0.0)
    spread = _weighted_spread(d, v, out)
    d_sum = d.sum(axis=1)
    out_error = np.sqrt(d_sum[:, None] * spread)
    total_error = d_sum
    if independent:
        largest = d.max(axis=1)
        sigma = np.sqrt(_weighted_spread(d * d, v, out) / 3)
        extent = largest[:, None] * (np.abs(v).max(axis=0)[None, :] + np.abs(out))
        out_error = np.minimum(out_error, Z * sigma + Z * Z / 3 * extent)
        total_error = np.minimum(total_error, Z * np.sqrt((d * d).sum(axis=1) / 3) + Z * Z / 3 * largest)
    # A total error above half of L would make the quotient meaningless; it cannot happen: P_ABSOLUTE * Lk stays small against L >= 1.
    least_total = np.maximum(total - total_error, total / 2)
    additions = Lk / 64 + 64
    out_error = out_error / least_total[:, None] + additions * FP32 * (p @ np.abs(v)) / total[:, None]
    out_bound = abs(v_descale) * (out_error + BF16_RELATIVE * (np.abs(out) + out_error)) + BF16_ABSOLUTE
    lse_bound = total_error / least_total + additions * FP32 + 4 * FP32 * np.abs(np.where(has_key, lse, 0.0)) + relative
    return Expected(
        np.where(has_key[:, None], out * v_descale, 0.0),
        np.where(has_key[:, None], out_bound, 0.0),
        lse,
        np.where(has_key, lse_bound, 0.0),
    )


def argument_error(q, k, visible, scale):
    """[Lq]: bound on the relative error of p from FP32 work before the rounding.

    The products of e4m3 values are exact in FP32; summing D of them (in blocks, in an order hardware does not promise) errs by
    about 16 units in the last place of sum |q k|; scaling, subtracting the maximum and exp2 add a few of |s| itself.
    """
    magnitude = np.where(visible, np.abs(q) @ np.abs(k).T, 0.0).max(axis=1, initial=0.0)
    return np.minimum(32 * FP32 * abs(scale) * magnitude + 8 * FP32, 1.0)


def _weighted_spread(weights, v, out):
    """sum_j weights[i, j] (v[j, d] - out[i, d])^2, without an [Lq, Lk, Dv] array."""
    return np.maximum(weights @ (v * v) - 2 * out * (weights @ v) + out * out * weights.sum(axis=1)[:, None], 0.0)
