"""An import hook: prepares a framework before its module runs, and finishes when it has run."""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

from . import driver

Before = Callable[[importlib.machinery.ModuleSpec], None]
After = Callable[[ModuleType], None]

#: A variable that turns the hook off, if it is 0.
SWITCH = "SIMTLAB_CLIENTS"


def _nothing_before(spec: importlib.machinery.ModuleSpec) -> None:
    pass


def _torch_before(spec: importlib.machinery.ModuleSpec) -> None:
    # Before torch's own libraries ask for them: the loader takes libraries that are there already by their name.
    version = _cuda_of_torch(spec)
    if version is None:
        return
    driver.preload()
    # A driver of an older version than the runtime is refused.
    if "SIMTLAB_CUDA_VERSION" not in os.environ:
        os.environ["SIMTLAB_CUDA_VERSION"] = version


def _cuda_of_torch(spec: importlib.machinery.ModuleSpec) -> Optional[str]:
    """The CUDA version that torch is built for; None if it is built without CUDA. Reads torch/version.py and does not import it."""
    for folder in spec.submodule_search_locations or ():
        try:
            with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
                values: Dict[str, Any] = {}
                exec(compile(file.read(), file.name, "exec"), values)
        except (OSError, SyntaxError, ValueError):
            continue
        cuda = values.get("cuda")
        return cuda if isinstance(cuda, str) else None
    return None


def _pathfinder_before(spec: importlib.machinery.ModuleSpec) -> None:
    # Before it looks for NVIDIA's libraries: it takes those that are there already by their name.
    from . import packages

    packages.preload()


def _nothing_after(module: ModuleType) -> None:
    pass


def _torch_after(module: ModuleType) -> None:
    if getattr(getattr(module, "version", None), "cuda", None) is None:
        sys.stderr.write(
            "simtlab: this PyTorch is built without CUDA, so that device=\"cuda\" is not there: install the CUDA build of the same "
            "version (on Linux `pip install torch` from PyPI is one); it needs no GPU under simtlab\n"
        )
        return
    from . import torch_backend

    torch_backend.enable()


def _triton_after(module: ModuleType) -> None:
    from . import triton_hook

    triton_hook.enable(module)


def _cupy_after(module: ModuleType) -> None:
    from . import cupy_hook

    cupy_hook.enable(module)


#: What is done before and after modules are imported.
MODULES: Dict[str, Tuple[Before, After]] = {
    "torch": (_torch_before, _torch_after),
    "triton.testing": (_nothing_before, _triton_after),
    "cupy": (_nothing_before, _cupy_after),
    "cuda.pathfinder": (_pathfinder_before, _nothing_after),
}


class _Loader(importlib.abc.Loader):
    """A module's own loader, with what is done before and after."""

    def __init__(self, inner: Any, name: str):
        self._inner, self._name = inner, name

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Optional[ModuleType]:
        return self._inner.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        # Who asks the module for its loader gets its own.
        spec = module.__spec__
        module.__loader__ = self._inner
        if spec is not None:
            spec.loader = self._inner
        self._inner.exec_module(module)
        MODULES[self._name][1](module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of `MODULES` by the finders behind this one."""

    def __init__(self) -> None:
        self._searching = False

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if fullname not in MODULES or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec(fullname)
        except (ImportError, ValueError):
            return None
        finally:
            self._searching = False
        # A folder of that name without `__init__.py` has no loader of its own.
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module") or spec.origin is None:
            return None
        MODULES[fullname][0](spec)
        spec.loader = _Loader(spec.loader, fullname)
        return spec


def installed() -> bool:
    """Whether the hook is installed."""
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


def install() -> None:
    """Installs the hook, once, unless a variable turns it off."""
    if os.environ.get(SWITCH, "1") != "0" and not installed():
        sys.meta_path.insert(0, Finder())
