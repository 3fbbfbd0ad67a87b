"""What Python imports at its start under `simtlab exec`: installs the import hook, then runs the environment's own module of this name."""

import os
import sys


def _start() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    try:
        from simtlab_clients import hook
    except ImportError:
        # Another Python's path, or the run's folder is gone: the program goes on without.
        pass
    else:
        hook.install()
    # The next module of this name on the path is the user's.
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    others = [path for path in sys.path if os.path.abspath(path or ".") != here]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None and spec.origin != __file__:
        spec.loader.exec_module(module_from_spec(spec))


_start()
