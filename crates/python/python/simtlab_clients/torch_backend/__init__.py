"""PyTorch on the virtual device: the operators of its CUDA backend, computed on the host.

PyTorch's own kernels are machine code, which does not run here. Triton's kernels, and others that come as PTX, do. What remains is
everything that PyTorch itself does with CUDA tensors; `operators` computes it with PyTorch's CPU kernels on the same memory.

This is Python rather than C++ compiled on the spot: kernels are registered by the public `torch.library`, so that one file serves
all versions of PyTorch and no compiler is needed, and an operator costs some ten microseconds, beside which its work on the CPU and
the launches of kernels dominate.
"""

import warnings
from typing import Any, List, Set

import torch

from . import capture, ledger, operators, routes

_libraries: List[Any] = []
_done = False


def enable() -> None:
    """Registers the kernels, once."""
    global _done
    if _done:
        return
    _done = True
    # Memory as long as tensors are, so that accesses beyond one are seen. Pools serve graphs alone (`capture`).
    torch._C._cuda_cudaCachingAllocator_enable(False)
    capture.enable()
    ledger.start()
    _keep_cudnn_off()
    register()


def _keep_cudnn_off() -> None:
    """Kernels of cuDNN are machine code; its choice would lead to operators of its own, also where a program asks for it."""
    torch.backends.cudnn.enabled = False

    def stays_off(enabled: bool) -> None:
        pass

    torch._C._set_cudnn_enabled = stays_off
    type(torch.backends.cudnn).__dict__["enabled"].setter = stays_off


#: Keys of CUDA tensors with the keys of CPU tensors of the same kind. Of sparse tensors, what takes and gives them is computed.
KEYS = (("CUDA", "CPU"), ("SparseCUDA", "SparseCPU"), ("SparseCsrCUDA", "SparseCsrCPU"))


def register() -> None:
    """Gives every operator with a kernel for a CUDA key one on the host."""
    composite = set()
    for key in ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutograd"):
        composite.update(torch._C._dispatch_get_registrations_for_dispatch_key(key))
    for key, cpu_key in KEYS:
        _register_key(key, set(torch._C._dispatch_get_registrations_for_dispatch_key(cpu_key)), composite)


def _register_key(key: str, cpu: Set[str], composite: Set[str]) -> None:
    names = torch._C._dispatch_get_registrations_for_dispatch_key(key)
    added = operators.ADDED if key == "CUDA" else ()
    by_namespace: Any = {}
    for name in [*names, *(n for n in added if n not in names)]:
        namespace, rest = name.split("::", 1)
        op = operators.find(name)
        if op is None or rest.split(".", 1)[0] in operators.KEPT or operators.is_view(op) or namespace in _OTHERS:
            continue
        if key != "CUDA" and operators.describes(op):
            continue
        route = routes.ROUTES.get(name)
        if route is None and name not in cpu and name not in composite:
            kernel: Any = operators.refuse(name)
        else:
            kernel = operators.Operator(name, op)
            if route is not None:
                kernel.compute = route
            kernel = ledger.profiled(name.removesuffix(".default"), kernel)
        if namespace not in by_namespace:
            by_namespace[namespace] = torch.library.Library(namespace, "IMPL")
        _register(by_namespace[namespace], rest, kernel, key)
    _libraries.extend(by_namespace.values())


#: Namespaces whose operators are about several devices or processes: they stay PyTorch's.
_OTHERS = frozenset({"c10d", "symm_mem", "inductor_prims", "fsdp"})


def _register(library: Any, name: str, kernel: Any, key: str) -> None:
    with warnings.catch_warnings():
        # PyTorch warns, once, that a kernel is replaced, which is what this is for.
        warnings.simplefilter("ignore")
        library.impl(name, kernel, key)
