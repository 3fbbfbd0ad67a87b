"""Kernels from tinygrad's PTX renderer: a fused elementwise expression and a product of matrices. No device is used."""

import os

os.environ["DEV"] = "NULL"

from tinygrad import Tensor, dtypes  # noqa: E402
from tinygrad.engine.realize import to_program  # noqa: E402
from tinygrad.helpers import Target  # noqa: E402
from tinygrad.renderer.ptx import PTXRenderer  # noqa: E402
from tinygrad.uop.ops import Ops  # noqa: E402


def expressions():
    x, y = Tensor.empty(256), Tensor.empty(256)
    yield "fused", (x * y + 2).relu()
    yield "product", Tensor.empty(32, 32) @ Tensor.empty(32, 32)
    yield "total", Tensor.empty(512, dtype=dtypes.int32).sum()


def programs(arch):
    """Names and PTX texts."""
    renderer = PTXRenderer(Target(device="CUDA", renderer="PTX", arch=arch))
    for name, tensor in expressions():
        for number, call in enumerate(tensor.schedule_linear().src):
            program = to_program(call.src[0], renderer)
            for part in program.src:
                if part.op == Ops.SOURCE:
                    text = part.arg.replace("VERSION", "7.5").replace("TARGET", arch)
                    yield name if number == 0 else f"{name}{number}", text
