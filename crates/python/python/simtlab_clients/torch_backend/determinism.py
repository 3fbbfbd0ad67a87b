"""Operators whose CUDA kernels give results that depend on the order of threads.

Computed on the host they are the same each time. A program that has called `torch.use_deterministic_algorithms(True)` is stopped by PyTorch where
it uses one on a device, so it is stopped here, too.
"""

import warnings
from typing import Dict, Optional

import torch

#: The names in PyTorch's messages, by operators.
_NAMES: Dict[str, str] = {
    **{
        name: f"{name.lstrip('_')}_cuda"
        for name in (
            "_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward adaptive_max_pool2d_backward avg_pool3d_backward "
            "max_pool3d_with_indices_backward fractional_max_pool2d_backward fractional_max_pool3d_backward grid_sampler_2d_backward "
            "grid_sampler_3d_backward replication_pad1d_backward replication_pad2d_backward replication_pad3d_backward"
        ).split()
    },
    **{
        name: f"{name}_out_cuda"
        for name in (
            "upsample_linear1d_backward upsample_bilinear2d_backward upsample_bicubic2d_backward upsample_trilinear3d_backward "
            "reflection_pad1d_backward reflection_pad3d_backward"
        ).split()
    },
    "nll_loss2d_forward": "nll_loss2d_forward_out_cuda_template",
    "_ctc_loss_backward": "ctc_loss_backward_gpu",
    "median.dim": "median CUDA with indices output",
    "median.dim_values": "median CUDA with indices output",
    "kthvalue": "kthvalue CUDA",
}


def name_of(operator: str) -> Optional[str]:
    """The name in the message about an operator (`aten::median.dim`), if there is one."""
    plain = operator.split("::", 1)[1]
    return _NAMES.get(plain) or _NAMES.get(plain.split(".", 1)[0])


def alert(name: str) -> None:
    """Raises, or warns, if the program has asked for deterministic algorithms alone."""
    if not torch.are_deterministic_algorithms_enabled():
        return
    only = torch.is_deterministic_algorithms_warn_only_enabled()
    mode = "True, warn_only=True" if only else "True"
    # In PyTorch's words, which programs look for.
    text = f"{name} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms({mode})'."
    if not only:
        raise RuntimeError(f"{text} You can turn off determinism just for this operation, or use the 'warn_only=True' option.")
    warnings.warn(text, UserWarning, stacklevel=3)
