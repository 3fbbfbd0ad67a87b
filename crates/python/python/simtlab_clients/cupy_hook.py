"""CuPy: memory exactly as long as the arrays are, so that accesses beyond an array are seen."""

from typing import Any


def enable(cupy: Any) -> None:
    """Turns off CuPy's pool, which rounds sizes up and hands out parts of large blocks."""
    cupy.cuda.set_allocator(None)
    cupy.cuda.set_pinned_memory_allocator(None)
