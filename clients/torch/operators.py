"""Operators on CUDA tensors beside the same on CPU tensors, on PyTorch's own samples of their arguments (its OpInfo database, which is in
the wheel): operators.py [SHARE [NAME...]] takes the share of operators and types that the hash of their names chooses."""

import collections
import hashlib
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db

TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.complex64, torch.bool)
SAMPLES = 4

#: Half precision on the CPU is rounded after each step, on CUDA once.
COARSE = {torch.float16: 3e-2, torch.bfloat16: 3e-2}

RANDOM = ("rand", "empty", "dropout", "fractional_max_pool", "alpha_dropout")
RANDOM_NAMES = {"bernoulli", "multinomial", "normal", "uniform", "exponential", "cauchy", "geometric", "log_normal", "svd_lowrank", "pca_lowrank"}

#: Takes minutes a sample, or is the CPU's alone.
LEFT_OUT = {"torch.ops.aten._scaled_dot_product_flash_attention_for_cpu"}


def moved(value, device):
    if isinstance(value, torch.Tensor):
        return value.detach().to(device)
    if isinstance(value, (list, tuple)):
        items = [moved(v, device) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {k: moved(v, device) for k, v in value.items()}
    if isinstance(value, torch.device) or value == "cuda":
        return torch.device(device)
    return value


def tensors(result):
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (list, tuple)):
        return [t for r in result for t in tensors(r)]
    return []


def is_random(name, kwargs):
    return name in RANDOM_NAMES or any(part in name for part in RANDOM) or bool(kwargs.get("dropout_p"))


def attempt(function):
    try:
        return function(), None
    except Exception as error:
        return None, error


def difference(op, dtype, sample, strides):
    """What is wrong, if something is; None; or the reason why the CPU refuses the sample."""
    kwargs = dict(sample.kwargs)
    wanted, refused = attempt(lambda: op.op(moved(sample.input, "cpu"), *moved(sample.args, "cpu"), **moved(kwargs, "cpu")))
    got, error = attempt(lambda: op.op(sample.input, *sample.args, **kwargs))
    if refused is not None:
        return "refused by the CPU, too"
    if error is not None:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    pairs = list(zip(tensors(wanted), tensors(got)))
    for cpu, cuda in pairs:
        if cuda.dtype != cpu.dtype or cuda.shape != cpu.shape:
            return f"{tuple(cuda.shape)} {cuda.dtype}, and {tuple(cpu.shape)} {cpu.dtype} on the CPU"
        if cpu.layout is torch.strided and cpu.stride() != cuda.stride():
            strides.append((op.name, str(dtype), cpu.stride(), cuda.stride()))
        if not is_random(op.name, kwargs):
            near = {"rtol": COARSE[dtype], "atol": COARSE[dtype]} if dtype in COARSE else {}
            _, wrong = attempt(lambda: torch.testing.assert_close(cuda.detach().cpu(), cpu.detach(), equal_nan=True, **near))
            if wrong is not None:
                return str(wrong).replace("\n", " ")[:160]
    return None


def main(share, names):
    counts, failed, strides = collections.Counter(), {}, []
    for op in op_db:
        if op.name in LEFT_OUT or (names and op.name not in names):
            continue
        for dtype in TYPES:
            full = f"{op.formatted_name} {dtype}"
            if int.from_bytes(hashlib.sha256(full.encode()).digest()[:8], "big") >= share * 2**64:
                continue
            if dtype not in op.supported_dtypes("cuda"):
                continue
            samples, error = attempt(lambda: list(op.sample_inputs("cuda", dtype))[:SAMPLES])
            if error is not None:
                failed[full] = f"no samples: {error}"
            for sample in samples or ():
                found = difference(op, dtype, sample, strides)
                kind = "equal" if found is None else "refused" if found.startswith("refused") else "failed"
                counts[kind] += 1
                if kind == "failed":
                    failed.setdefault(full, found)
    print(f"{sum(counts.values())} samples: {counts['equal']} agree, {counts['refused']} are refused by the CPU, too, {counts['failed']} do not agree")
    for name, reason in failed.items():
        print(f"  {name}: {reason}")
    for stride in sorted(set(strides)):
        print("  strides by the meta kernel differ from the CPU's:", *stride)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.1, set(sys.argv[2:])))
