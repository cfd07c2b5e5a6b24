"""liger-kernel's Triton kernels: losses, activations, norms, rope. Against numpy in double.

The kernels' sources come from the wheel liger-kernel in the conformance venv; triton 3.9 compiles them for gfx950.
"""

import numpy as np
import pytest

from .test_aiter_rows import RNG, close
from .triton_programs import BF16

OPS = "liger_kernel.ops."


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def test_rms_norm(triton):
    n, rows = 700, 5
    x, w = RNG(0).standard_normal((rows, n)).astype(BF16), RNG(1).standard_normal(n).astype(BF16)
    y, rstd = np.zeros_like(x), np.zeros(rows, np.float32)
    triton.run(
        OPS + "rms_norm:_rms_norm_forward_kernel",
        (rows,),
        {
            "Y_ptr": y,
            "Y_row_stride": n,
            "X_ptr": x,
            "X_row_stride": n,
            "W_ptr": w,
            "W_row_stride": 1,
            "RSTD_ptr": rstd,
            "RSTD_row_stride": 1,
            "n_cols": n,
            "eps": 1e-6,
            "offset": 0.0,
        },
        {"casting_mode": 0, "elementwise_affine": True, "BLOCK_SIZE": 1024},
    )
    x64 = x.astype(np.float64)
    want = 1 / np.sqrt((x64 * x64).mean(axis=1) + 1e-6)
    close(rstd, want, 1e-5)
    close(y, x64 * want[:, None] * w.astype(np.float64), 2e-2, 1e-2)


def test_layer_norm(triton):
    n, rows = 900, 4
    x, w, b = (RNG(s).standard_normal((rows, n) if s == 2 else n).astype(np.float32) for s in (2, 3, 4))
    y, mean, rstd = np.zeros_like(x), np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    triton.run(
        OPS + "layer_norm:_layer_norm_forward_kernel",
        (rows,),
        {
            "Y_ptr": y,
            "Y_row_stride": n,
            "X_ptr": x,
            "X_row_stride": n,
            "W_ptr": w,
            "W_row_stride": 1,
            "B_ptr": b,
            "B_row_stride": 1,
            "Mean_ptr": mean,
            "Mean_row_stride": 1,
            "RSTD_ptr": rstd,
            "RSTD_row_stride": 1,
            "n_cols": n,
            "eps": 1e-5,
        },
        {"BLOCK_SIZE": 1024},
    )
    x64 = x.astype(np.float64)
    close(
        y, (x64 - x64.mean(axis=1, keepdims=True)) / np.sqrt(x64.var(axis=1, keepdims=True) + 1e-5) * w + b, 1e-4, 1e-5
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_with_gradients(triton, smoothing):
    n, rows = 1500, 6
    x, y = RNG(5).standard_normal((rows, n)).astype(np.float32) * 3, RNG(6).integers(0, n, rows).astype(np.int64)
    y[2] = -100
    logits, loss = x.astype(np.float64), np.zeros(rows, np.float32)
    triton.run(
        OPS + "cross_entropy:liger_cross_entropy_kernel",
        (rows,),
        {
            "X_ptr": x,
            "X_stride": n,
            "Y_ptr": y,
            "Y_stride": 1,
            "weight_ptr": None,
            "loss_ptr": loss,
            "z_loss_ptr": None,
            "loss_stride": 1,
            "token_accuracy_ptr": None,
            "token_accuracy_stride": None,
            "predicted_tokens_ptr": None,
            "predicted_tokens_stride": None,
            "n_cols": n,
            "n_non_ignore": rows - 1,
            "sum_non_ignore_weight": float(rows - 1),
            "weight_sum": 0.0,
            "ignore_index": -100,
            "softcap": None,
        },
        {
            "lse_square_scale": 0.0,
            "label_smoothing": smoothing,
            "reduction": "mean",
            "RETURN_Z_LOSS": False,
            "RETURN_TOKEN_ACCURACY": False,
            "RETURN_PREDICTED_TOKENS": False,
            "BLOCK_SIZE": 512,
            "HAS_WEIGHT": False,
            "HAS_SOFTCAPPING": False,
            "HAS_GRADIENTS": True,
        },
    )
    p = softmax(logits)
    target = np.full((rows, n), smoothing / n)
    target[np.arange(rows), np.maximum(y, 0)] += 1 - smoothing
    want = -(target * np.log(p)).sum(axis=1) / (rows - 1)
    want[2] = 0
    gradient = (p - target) / (rows - 1)
    gradient[2] = 0
    close(loss, want, 1e-4, 1e-5)
    close(x, gradient, 1e-3, 1e-6)


def test_swiglu_forward_and_backward(triton):
    n, rows = 600, 3
    a, b, dc = RNG(7).standard_normal((3, rows, n)).astype(np.float32)
    c = np.zeros_like(a)
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    sigmoid = 1 / (1 + np.exp(-a64))
    triton.run(
        OPS + "swiglu:_swiglu_forward_kernel",
        (rows,),
        {"a_ptr": a, "b_ptr": b, "c_ptr": c, "stride": n, "gate_multiplier": 1.0},
        {"n_cols": n, "BLOCK_SIZE": 1024},
    )
    close(c, a64 * sigmoid * b64, 1e-5, 1e-6)
    triton.run(
        OPS + "swiglu:_swiglu_backward_kernel",
        (rows,),
        {"dc_ptr": dc, "a_ptr": a, "b_ptr": b, "stride": n, "gate_multiplier": 1.0},
        {"n_cols": n, "BLOCK_SIZE": 1024},
    )
    close(b, dc * a64 * sigmoid, 1e-5, 1e-6)
    close(a, dc * (a64 * sigmoid * (1 - sigmoid) + sigmoid) * b64, 1e-4, 1e-5)


def test_geglu_forward(triton):
    n, rows = 520, 3
    a, b = RNG(8).standard_normal((2, rows, n)).astype(BF16)
    c = np.zeros_like(a)
    triton.run(
        OPS + "geglu:_geglu_tanh_forward_kernel",
        (rows,),
        {"a": a, "b": b, "c": c, "stride": n},
        {"n_cols": n, "BLOCK_SIZE": 1024},
    )
    x = a.astype(np.float64)
    close(c, x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) * b.astype(np.float64), 2e-2, 1e-2)


def test_rope(triton):
    length, hq, hk, d = 7, 6, 2, 64
    q, k = (
        RNG(9).standard_normal((1, length, hq, d)).astype(np.float32),
        RNG(10).standard_normal((1, length, hk, d)).astype(np.float32),
    )
    angle = RNG(11).uniform(-3, 3, (1, length, d // 2))
    angle = np.concatenate([angle, angle], axis=2)
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    want = []
    for x in (q, k):
        x64 = x.astype(np.float64)
        turned = np.concatenate([-x64[..., d // 2 :], x64[..., : d // 2]], axis=3)
        want.append(x64 * np.cos(angle)[:, :, None] + turned * np.sin(angle)[:, :, None])
    triton.run(
        OPS + "rope:_triton_rope",
        (length,),
        {
            "q_ptr": q,
            "q_row_stride": hq * d,
            "k_ptr": k,
            "k_row_stride": hk * d,
            "cos": cos,
            "cos_row_stride": d,
            "sin": sin,
            "sin_row_stride": d,
            "sl": length,
        },
        {
            "bs": 1,
            "cos_bs": 1,
            "n_qh": hq,
            "n_kh": hk,
            "hd": d,
            "pad_n_qh": 8,
            "pad_n_kh": 2,
            "pad_hd": d,
            "pad_rd": d,
            "rd": d,
            "BLOCK_SIZE": 8,
            "BACKWARD_PASS": False,
        },
    )
    close(q, want[0], 1e-5, 1e-5)
    close(k, want[1], 1e-5, 1e-5)


def test_softmax_forward_and_backward(triton):  # triton 3.9 does not take the multi-block form (tl.float32 is called)
    n, rows = 800, 4
    x, dy = RNG(12).standard_normal((2, rows, n)).astype(np.float32)
    y, dx = np.zeros_like(x), np.zeros_like(x)
    triton.run(
        OPS + "softmax:_softmax_single_block_forward_kernel",
        (rows,),
        {"Y_ptr": y, "Y_row_stride": n, "X_ptr": x, "X_row_stride": n, "n_cols": n},
        {"BLOCK_SIZE": 1024},
    )
    want = softmax(x.astype(np.float64))
    close(y, want, 1e-5, 1e-8)
    triton.run(
        OPS + "softmax:_softmax_single_block_backward_kernel",
        (rows,),
        {"dy_ptr": dy, "dy_stride": n, "y_ptr": y, "y_stride": n, "dx_ptr": dx, "dx_stride": n, "n_cols": n},
        {"BLOCK_SIZE": 1024},
    )
    close(dx, want * (dy - (dy * want).sum(axis=1, keepdims=True)), 1e-3, 1e-7)


def test_kl_divergence(triton):
    n, rows = 700, 3
    target = softmax(RNG(13).standard_normal((rows, n))).astype(np.float32)
    log_p = np.log(softmax(RNG(14).standard_normal((rows, n)))).astype(np.float32)
    loss = np.zeros(rows, np.float32)
    triton.run(
        OPS + "kl_div:_kldiv_kernel_forward",
        (rows,),
        {
            "y_ptr": log_p,
            "y_stride": n,
            "gt_ptr": target,
            "gt_stride": n,
            "loss_ptr": loss,
            "loss_stride": 1,
            "n_cols": n,
            "eps": 1e-10,
        },
        {"BLOCK_SIZE": 256, "reduction": 2, "log_target": False},
    )
    close(loss, (target * (np.log(target.astype(np.float64)) - log_p)).sum(axis=1), 1e-4, 1e-6)


def test_jensen_shannon_divergence(triton):
    n, rows, beta = 500, 3, 0.3
    x, y = (np.log(softmax(RNG(s).standard_normal((rows, n)))).astype(np.float32) for s in (15, 16))
    loss, dx = np.zeros((rows, n), np.float32), np.zeros((rows, n), np.float32)
    triton.run(
        OPS + "jsd:_jsd_kernel",
        (rows,),
        {
            "X_ptr": x,
            "X_stride": n,
            "Y_ptr": y,
            "Y_stride": n,
            "loss_ptr": loss,
            "loss_stride": n,
            "dX_ptr": dx,
            "dX_stride": n,
            "label_ptr": np.zeros(rows, np.int64),
            "n_non_ignore": rows,
            "n_cols": n,
        },
        {"beta": beta, "ignore_index": -100, "BLOCK_SIZE": 256, "HAS_LABEL": False},
    )
    q, p = np.exp(x.astype(np.float64)), np.exp(y.astype(np.float64))
    m = beta * p + (1 - beta) * q
    close(loss, (beta * p * (y - np.log(m)) + (1 - beta) * q * (x - np.log(m))) / rows, 1e-3, 1e-8)
    close(dx, (1 - beta) * q * (x - np.log(m)) / rows, 1e-3, 1e-8)


def test_total_variation(triton):
    n, rows = 450, 3
    p, q = (softmax(RNG(s).standard_normal((rows, n))).astype(np.float32) for s in (17, 18))
    loss, gradients = np.zeros((rows, n), np.float32), np.zeros((rows, n), np.float32)
    triton.run(
        OPS + "tvd:_tv_distance_kernel",
        (rows,),
        {
            "p_ptr": p,
            "p_stride": n,
            "q_ptr": q,
            "q_stride": n,
            "loss_ptr": loss,
            "loss_stride": n,
            "grads_ptr": gradients,
            "grads_stride": n,
            "label_ptr": np.zeros(rows, np.int64),
            "n_cols": n,
            "scale": 1.0,
        },
        {"ignore_index": -100, "BLOCK_SIZE": 256, "HAS_LABEL": False, "reduction": 0},
    )
    close(loss, np.abs(p.astype(np.float64) - q) / 2, 1e-4, 1e-9)
    close(gradients, np.sign(p - q) / 2, 0, 0)


def test_group_norm(triton):
    batch, channels, groups, hidden = 2, 8, 4, 70
    x, w, b = (
        RNG(19).standard_normal((batch, channels, hidden)).astype(np.float32),
        *RNG(20).standard_normal((2, channels)).astype(np.float32),
    )
    y, mean, rstd = np.zeros_like(x), np.zeros((batch, groups), np.float32), np.zeros((batch, groups), np.float32)
    size = channels // groups * hidden
    triton.run(
        OPS + "group_norm:_group_norm_forward_kernel",
        (batch, groups),
        {
            "Y_ptr": y,
            "Y_row_stride": groups * size,
            "Y_col_stride": size,
            "X_ptr": x,
            "X_row_stride": groups * size,
            "X_col_stride": size,
            "Mean_ptr": mean,
            "Mean_row_stride": groups,
            "Mean_col_stride": 1,
            "RSTD_ptr": rstd,
            "RSTD_row_stride": groups,
            "RSTD_col_stride": 1,
            "W_ptr": w,
            "B_ptr": b,
            "hidden_size": size,
            "channels_per_group": channels // groups,
            "eps": 1e-5,
        },
        {"BLOCK_SIZE": 64},
    )
    g = x.astype(np.float64).reshape(batch, groups, size)
    hat = ((g - g.mean(axis=2, keepdims=True)) / np.sqrt(g.var(axis=2, keepdims=True) + 1e-5)).reshape(x.shape)
    close(y, hat * w[:, None] + b[:, None], 1e-3, 1e-4)


def test_sparsemax(triton):
    n, rows = 300, 4
    x = RNG(21).standard_normal((rows, n)).astype(np.float32)
    ordered, out = -np.sort(-x, axis=1), np.zeros_like(x)
    triton.run(
        OPS + "sparsemax:_sparsemax_forward_kernel",
        (rows,),
        {
            "x_ptr": x,
            "x_stride_row": n,
            "sorted_x_ptr": ordered,
            "sorted_x_stride_row": n,
            "o_ptr": out,
            "o_stride_row": n,
            "n_cols": n,
        },
        {"BLOCK_SIZE": 512, "num_warps": 4},
    )
    total = np.cumsum(ordered.astype(np.float64), axis=1)
    support = (1 + np.arange(1, n + 1) * ordered > total).sum(axis=1)
    tau = (total[np.arange(rows), support - 1] - 1) / support
    close(out, np.maximum(x - tau[:, None], 0), 1e-4, 1e-6)


def test_dynamic_tanh(triton):
    n, rows = 400, 3
    x, gamma, beta = (
        RNG(22).standard_normal((rows, n)).astype(np.float32),
        *RNG(23).standard_normal((2, n)).astype(np.float32),
    )
    alpha, y = np.float32([0.7]), np.zeros((rows, n), np.float32)
    triton.run(
        OPS + "dyt:_dyt_fwd_kernel",
        (-(-n // 256), rows),
        {"X": x, "Y": y, "Alpha": alpha, "Gamma": gamma, "Beta": beta},
        {"HAVE_BETA": True, "N": n, "BLOCK_N": 256},
    )
    close(y, np.tanh(0.7 * x.astype(np.float64)) * gamma + beta, 1e-5, 1e-5)


def test_relu_squared(triton):
    n, rows = 333, 3
    x, y = RNG(24).standard_normal((rows, n)).astype(np.float32), np.zeros((rows, n), np.float32)
    triton.run(
        OPS + "relu_squared:_relu_squared_forward_kernel",
        (rows,),
        {"Y_ptr": y, "Y_stride": n, "X_ptr": x, "X_stride": n},
        {"n_cols": n, "BLOCK_SIZE": 512},
    )
    close(y, np.maximum(x, 0).astype(np.float64) ** 2, 1e-6)
