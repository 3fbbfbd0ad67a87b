"""Operators that PyTorch has CUDA kernels for and no CPU kernels, computed from others.

Each function takes what the operator takes, with CPU tensors of at least single precision, and returns what it returns. The formulas are
those of the operators' definitions in PyTorch's documentation and of the layers that they fuse.
"""

import math
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from torch import Tensor

from . import randomness

aten = torch.ops.aten


# Products with another type of result.


def _product(op: Any) -> Callable[..., Any]:
    def compute(*args: Any, out: Optional[Tensor] = None, **scalars: Any) -> Tensor:
        *operands, out_dtype = args
        result = op(*(t.to(out_dtype) for t in operands), **scalars)
        return result if out is None else out.copy_(result)

    return compute


# Softmax whose result is of single precision though its argument is not.


def _softmax(op: Any) -> Callable[..., Any]:
    def compute(x: Tensor, dim: int, half_to_float: bool, *, out: Optional[Tensor] = None) -> Tensor:
        result = op(x, dim, False)
        return result if out is None else out.copy_(result)

    return compute


# Attention.


def _scores(q: Tensor, k: Tensor, bias: Optional[Tensor], causal: bool, scale: Optional[float]) -> Tensor:
    scores = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(q.size(-1)) if scale is None else scale)
    if causal:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool, device="cpu").tril()
        scores = scores.masked_fill(~allowed, -math.inf)
    return scores if bias is None else scores + bias


def _spread(t: Tensor, heads: int) -> Tensor:
    """Heads of keys and values that several heads of queries share, once for each."""
    return t if t.size(1) == heads else t.repeat_interleave(heads // t.size(1), dim=1)


def _gathered(grad: Tensor, heads: int) -> Tensor:
    return grad if grad.size(1) == heads else grad.unflatten(1, (heads, -1)).sum(2)


def _kept(shape: torch.Size, p: float, seed: int) -> Tensor:
    mask = torch.empty(shape, dtype=torch.float32, device="cpu")
    return mask.bernoulli_(1.0 - p, generator=randomness.seeded(seed)) / (1.0 - p)


def _attend(
    q: Tensor, k: Tensor, v: Tensor, bias: Optional[Tensor], p: float, causal: bool, scale: Optional[float]
) -> Tuple[Tensor, Tensor, Tensor]:
    k, v = _spread(k, q.size(1)), _spread(v, q.size(1))
    scores = _scores(q, k, bias, causal, scale)
    lse = scores.logsumexp(-1)
    # Rows without a key have no weights.
    weights = (scores - lse.unsqueeze(-1)).exp().nan_to_num(0.0)
    seed = torch.initial_seed() & ((1 << 62) - 1)
    if p > 0:
        weights = weights * _kept(weights.shape, p, seed)
    return weights @ v, lse, torch.tensor(seed, dtype=torch.int64, device="cpu")


def _attend_backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, bias: Optional[Tensor], out: Tensor, lse: Tensor, seed: Tensor, p: float, causal: bool,
    scale: Optional[float],
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    heads, factor = k.size(1), 1.0 / math.sqrt(q.size(-1)) if scale is None else scale
    k, v = _spread(k, q.size(1)), _spread(v, q.size(1))
    weights = (_scores(q, k, bias, causal, scale) - lse[..., : q.size(2)].unsqueeze(-1)).exp().nan_to_num(0.0)
    dropped, grad_weights = weights, grad @ v.transpose(-2, -1)
    if p > 0:
        kept = _kept(weights.shape, p, int(seed.flatten()[0]))
        dropped, grad_weights = weights * kept, grad_weights * kept
    grad_scores = weights * (grad_weights - (grad * out).sum(-1, keepdim=True))
    return (
        grad_scores @ k * factor,
        _gathered(grad_scores.transpose(-2, -1) @ q * factor, heads),
        _gathered(dropped.transpose(-2, -1) @ grad, heads),
        grad_scores,
    )


def _flash(q: Tensor, k: Tensor, v: Tensor, dropout_p: float = 0.0, is_causal: bool = False, return_debug_mask: bool = False, *,
           scale: Optional[float] = None) -> Tuple[Any, ...]:
    out, lse, seed = _attend(q, k, v, None, dropout_p, is_causal, scale)
    empty = torch.empty(0, device="cpu")
    state = torch.stack([seed, torch.zeros_like(seed)])
    return out, lse, None, None, q.size(2), k.size(2), state, torch.zeros_like(seed), empty


def _flash_backward(grad: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, cum_q: Any, cum_k: Any, max_q: int, max_k: int,
                    dropout_p: float, is_causal: bool, seed: Tensor, offset: Tensor, *, scale: Optional[float] = None) -> Tuple[Tensor, ...]:
    return _attend_backward(grad, q, k, v, None, out, lse, seed.to(torch.int64), dropout_p, is_causal, scale)[:3]


def _efficient(q: Tensor, k: Tensor, v: Tensor, bias: Optional[Tensor], compute_log_sumexp: bool, dropout_p: float = 0.0,
               is_causal: bool = False, *, scale: Optional[float] = None) -> Tuple[Tensor, ...]:
    out, lse, seed = _attend(q, k, v, bias, dropout_p, is_causal, scale)
    padded = -(-q.size(2) // 32) * 32 if compute_log_sumexp else 0
    whole = torch.full((*lse.shape[:2], padded), math.inf, device="cpu")
    whole[..., : min(padded, lse.size(2))] = lse[..., :padded]
    return out, whole, seed, torch.zeros_like(seed)


def _efficient_backward(grad: Tensor, q: Tensor, k: Tensor, v: Tensor, bias: Optional[Tensor], out: Tensor, lse: Tensor, seed: Tensor,
                        offset: Tensor, dropout_p: float, grad_input_mask: List[bool], is_causal: bool = False, *,
                        scale: Optional[float] = None) -> Tuple[Optional[Tensor], ...]:
    *grads, scores = _attend_backward(grad, q, k, v, bias, out, lse, seed.to(torch.int64), dropout_p, is_causal, scale)
    of_bias = scores.sum_to_size(bias.shape) if bias is not None and grad_input_mask[3] else None
    return (*(g if wanted else None for g, wanted in zip(grads, grad_input_mask)), of_bias)


def _cudnn_attention(q: Tensor, k: Tensor, v: Tensor, bias: Optional[Tensor], compute_log_sumexp: bool, dropout_p: float = 0.0,
                     is_causal: bool = False, return_debug_mask: bool = False, *, scale: Optional[float] = None) -> Tuple[Any, ...]:
    out, lse, seed = _attend(q, k, v, bias, dropout_p, is_causal, scale)
    return out, lse.unsqueeze(-1), None, None, q.size(2), k.size(2), seed, torch.zeros_like(seed), torch.empty(0, device="cpu")


def _cudnn_attention_backward(grad: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, seed: Tensor, offset: Tensor,
                              bias: Optional[Tensor], cum_q: Any, cum_k: Any, max_q: int, max_k: int, dropout_p: float, is_causal: bool, *,
                              scale: Optional[float] = None) -> Tuple[Tensor, ...]:
    return _attend_backward(grad, q, k, v, bias, out, lse.squeeze(-1), seed.to(torch.int64), dropout_p, is_causal, scale)[:3]


# Recurrent cells.


def _sum(*parts: Optional[Tensor]) -> Tensor:
    given = [part for part in parts if part is not None]
    total = given[0]
    for part in given[1:]:
        total = total + part
    return total


def _lstm_cell(input_gates: Tensor, hidden_gates: Tensor, cx: Tensor, input_bias: Optional[Tensor] = None,
               hidden_bias: Optional[Tensor] = None) -> Tuple[Tensor, Tensor, Tensor]:
    i, f, g, o = _sum(input_gates, hidden_gates, input_bias, hidden_bias).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat([i, f, g, o], 1)


def _lstm_cell_backward(grad_hy: Optional[Tensor], grad_cy: Optional[Tensor], cx: Tensor, cy: Tensor, workspace: Tensor,
                        has_bias: bool) -> Tuple[Optional[Tensor], ...]:
    if grad_hy is None and grad_cy is None:
        return None, None, None
    i, f, g, o = workspace.chunk(4, 1)
    out = cy.tanh()
    of_hy = torch.zeros_like(cy) if grad_hy is None else grad_hy
    of_c = _sum(of_hy * o * (1 - out * out), grad_cy)
    gates = torch.cat([of_c * g * i * (1 - i), of_c * cx * f * (1 - f), of_c * i * (1 - g * g), of_hy * out * o * (1 - o)], 1)
    return gates, of_c * f, gates.sum(0) if has_bias else None


def _gru_cell(input_gates: Tensor, hidden_gates: Tensor, hx: Tensor, input_bias: Optional[Tensor] = None,
              hidden_bias: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
    ir, ii, inn = _sum(input_gates, input_bias).chunk(3, 1)
    hr, hi, hn = _sum(hidden_gates, hidden_bias).chunk(3, 1)
    r, z = (ir + hr).sigmoid(), (ii + hi).sigmoid()
    n = (inn + r * hn).tanh()
    return n + z * (hx - n), torch.cat([r, z, n, hx, hn], 1)


def _gru_cell_backward(grad: Tensor, workspace: Tensor, has_bias: bool) -> Tuple[Optional[Tensor], ...]:
    r, z, n, hx, hn = workspace.chunk(5, 1)
    of_z, of_n = grad * (hx - n) * (1 - z) * z, grad * (1 - z) * (1 - n * n)
    of_r = of_n * hn * (1 - r) * r
    of_input, of_hidden = torch.cat([of_r, of_z, of_n], 1), torch.cat([of_r, of_z, of_n * r], 1)
    biases = (of_input.sum(0), of_hidden.sum(0)) if has_bias else (None, None)
    return (of_input, of_hidden, grad * z, *biases)


# Normalisation.


def _rms_norm(x: Tensor, shape: List[int], weight: Optional[Tensor], eps: Optional[float]) -> Tuple[Tensor, Tensor]:
    dims = list(range(x.dim() - len(shape), x.dim()))
    rstd = (x.square().mean(dims, keepdim=True) + (torch.finfo(x.dtype).eps if eps is None else eps)).rsqrt()
    y = x * rstd
    return y if weight is None else y * weight, rstd


def _rms_norm_backward(grad: Tensor, x: Tensor, shape: List[int], rstd: Tensor, weight: Optional[Tensor],
                       output_mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    dims = list(range(x.dim() - len(shape), x.dim()))
    normed = x * rstd
    of_normed = grad if weight is None else grad * weight
    of_x = rstd * (of_normed - normed * (of_normed * normed).mean(dims, keepdim=True)) if output_mask[0] else None
    of_weight = (grad * normed).sum_to_size(weight.shape) if output_mask[1] and weight is not None else None
    return of_x, of_weight


def _over_channels(x: Tensor) -> List[int]:
    return [d for d in range(x.dim()) if d != 1]


def _by_channel(v: Tensor, x: Tensor) -> Tensor:
    return v.view([1, -1, *[1] * (x.dim() - 2)])


def _batch_norm_stats(x: Tensor, eps: float) -> Tuple[Tensor, Tensor]:
    variance, mean = torch.var_mean(x, _over_channels(x), correction=0)
    return mean, (variance + eps).rsqrt()


def _batch_norm_elemt(x: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], mean: Tensor, invstd: Tensor, eps: float, *,
                      out: Optional[Tensor] = None) -> Tensor:
    y = (x - _by_channel(mean, x)) * _by_channel(invstd, x)
    y = y if weight is None else y * _by_channel(weight, x)
    y = y if bias is None else y + _by_channel(bias, x)
    return y if out is None else out.copy_(y)


def _gather_stats(x: Tensor, mean: Tensor, invstd: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], momentum: float,
                  eps: float, counts: Any) -> Tuple[Tensor, Tensor]:
    n = counts.to(mean.dtype).view(-1, 1) if isinstance(counts, Tensor) else torch.full((mean.size(0), 1), float(counts), device="cpu")
    total = n.sum()
    all_mean = (mean * n).sum(0) / total
    variance = ((invstd.pow(-2) - eps + (mean - all_mean).square()) * n).sum(0) / total
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(all_mean.to(running_mean.dtype), alpha=momentum)
    if running_var is not None:
        running_var.mul_(1 - momentum).add_((variance * total / (total - 1)).to(running_var.dtype), alpha=momentum)
    return all_mean, (variance + eps).rsqrt()


def _batch_norm_reduce(grad: Tensor, x: Tensor, mean: Tensor, invstd: Tensor, weight: Optional[Tensor], input_g: bool, weight_g: bool,
                       bias_g: bool) -> Tuple[Optional[Tensor], ...]:
    dims = _over_channels(x)
    sum_dy, sum_dy_xmu = grad.sum(dims), (grad * (x - _by_channel(mean, x))).sum(dims)
    return sum_dy if input_g else None, sum_dy_xmu if input_g else None, sum_dy_xmu * invstd if weight_g else None, sum_dy if bias_g else None


def _batch_norm_backward_elemt(grad: Tensor, x: Tensor, mean: Tensor, invstd: Tensor, weight: Optional[Tensor], sum_dy: Tensor,
                               sum_dy_xmu: Tensor, count: Tensor) -> Tensor:
    n = count.sum().to(x.dtype)
    scale = invstd if weight is None else invstd * weight
    centred = (x - _by_channel(mean, x)) * _by_channel(invstd.square() * sum_dy_xmu / n, x)
    return (grad - _by_channel(sum_dy / n, x) - centred) * _by_channel(scale, x)


def _cudnn_batch_norm(x: Tensor, weight: Tensor, bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor],
                      training: bool, momentum: float, eps: float) -> Tuple[Tensor, ...]:
    y, mean, invstd = aten.native_batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps)
    return y, mean, invstd, torch.empty(0, dtype=torch.uint8, device="cpu")


def _cudnn_batch_norm_backward(x: Tensor, grad: Tensor, weight: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor],
                               mean: Optional[Tensor], invstd: Optional[Tensor], eps: float, reserve: Tensor) -> Tuple[Tensor, ...]:
    return aten.native_batch_norm_backward(
        grad, x, weight, running_mean, running_var, mean, invstd, True, eps, [True, True, True]
    )


# Convolutions.


def _convolution(x: Tensor, weight: Tensor, padding: List[int], stride: List[int], dilation: List[int], groups: int, *_: bool) -> Tensor:
    return aten.convolution(x, weight, None, stride, padding, dilation, False, [0] * len(stride), groups)


def _convolution_transpose(x: Tensor, weight: Tensor, padding: List[int], output_padding: List[int], stride: List[int], dilation: List[int],
                           groups: int, *_: bool) -> Tensor:
    return aten.convolution(x, weight, None, stride, padding, dilation, True, output_padding, groups)


def _convolution_relu(x: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int],
                      groups: int) -> Tensor:
    return aten.convolution(x, weight, bias, stride, padding, dilation, False, [0] * len(stride), groups).relu()


def _convolution_add_relu(x: Tensor, weight: Tensor, z: Tensor, alpha: Optional[float], bias: Optional[Tensor], stride: List[int],
                          padding: List[int], dilation: List[int], groups: int) -> Tensor:
    y = aten.convolution(x, weight, bias, stride, padding, dilation, False, [0] * len(stride), groups)
    return (y + (1.0 if alpha is None else alpha) * z).relu()


def _depthwise(x: Tensor, weight: Tensor, kernel_size: List[int], bias: Optional[Tensor], stride: List[int], padding: List[int],
               dilation: List[int], *, out: Optional[Tensor] = None) -> Tensor:
    y = aten.convolution(x, weight, bias, stride, padding, dilation, False, [0] * len(stride), x.size(-len(stride) - 1))
    return y if out is None else out.copy_(y)


# Dropout.


def _fused_dropout(x: Tensor, p: float, generator: Optional[torch.Generator] = None) -> Tuple[Tensor, Tensor]:
    kept = torch.empty(x.shape, device="cpu").bernoulli_(p, generator=generator)
    return x * kept / p, kept.to(torch.uint8)


def _masked_scale(x: Tensor, mask: Tensor, scale: float) -> Tensor:
    return x * mask * scale


ROUTES: Dict[str, Callable[..., Any]] = {
    "aten::mm.dtype": _product(aten.mm),
    "aten::mm.dtype_out": _product(aten.mm),
    "aten::bmm.dtype": _product(aten.bmm),
    "aten::bmm.dtype_out": _product(aten.bmm),
    "aten::addmm.dtype": _product(aten.addmm),
    "aten::addmm.dtype_out": _product(aten.addmm),
    "aten::baddbmm.dtype": _product(aten.baddbmm),
    "aten::baddbmm.dtype_out": _product(aten.baddbmm),
    "aten::_softmax": _softmax(aten._softmax),
    "aten::_softmax.out": _softmax(aten._softmax),
    "aten::_log_softmax": _softmax(aten._log_softmax),
    "aten::_log_softmax.out": _softmax(aten._log_softmax),
    "aten::_scaled_dot_product_flash_attention": _flash,
    "aten::_scaled_dot_product_flash_attention_backward": _flash_backward,
    "aten::_scaled_dot_product_efficient_attention": _efficient,
    "aten::_scaled_dot_product_efficient_attention_backward": _efficient_backward,
    "aten::_scaled_dot_product_cudnn_attention": _cudnn_attention,
    "aten::_scaled_dot_product_cudnn_attention_backward": _cudnn_attention_backward,
    "aten::_thnn_fused_lstm_cell": _lstm_cell,
    "aten::_thnn_fused_lstm_cell_backward_impl": _lstm_cell_backward,
    "aten::_thnn_fused_gru_cell": _gru_cell,
    "aten::_thnn_fused_gru_cell_backward": _gru_cell_backward,
    "aten::_fused_rms_norm": _rms_norm,
    "aten::_fused_rms_norm_backward": _rms_norm_backward,
    "aten::batch_norm_stats": _batch_norm_stats,
    "aten::batch_norm_elemt": _batch_norm_elemt,
    "aten::batch_norm_elemt.out": _batch_norm_elemt,
    "aten::batch_norm_gather_stats": _gather_stats,
    "aten::batch_norm_gather_stats_with_counts": _gather_stats,
    "aten::batch_norm_backward_reduce": _batch_norm_reduce,
    "aten::batch_norm_backward_elemt": _batch_norm_backward_elemt,
    "aten::cudnn_batch_norm": _cudnn_batch_norm,
    "aten::cudnn_batch_norm_backward": _cudnn_batch_norm_backward,
    "aten::cudnn_convolution": _convolution,
    "aten::cudnn_convolution_transpose": _convolution_transpose,
    "aten::cudnn_convolution_relu": _convolution_relu,
    "aten::cudnn_convolution_add_relu": _convolution_add_relu,
    "aten::_conv_depthwise2d": _depthwise,
    "aten::_conv_depthwise2d.out": _depthwise,
    "aten::conv_depthwise3d": _depthwise,
    "aten::_fused_dropout": _fused_dropout,
    "aten::_masked_scale": _masked_scale,
}
