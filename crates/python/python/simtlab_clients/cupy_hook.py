"""CuPy: memory exactly as long as the arrays are, so that accesses beyond an array are seen."""

from typing import Any

_NO_MEMORY = 2  # cudaErrorMemoryAllocation


def enable(cupy: Any) -> None:
    """Turns off CuPy's pool, which rounds sizes up and hands out parts of large blocks; its statistics are zero then."""
    cuda = cupy.cuda

    def allocate(size: int) -> Any:
        try:
            return cuda.MemoryPointer(cuda.Memory(size), 0)
        except cuda.runtime.CUDARuntimeError as error:
            if error.status != _NO_MEMORY:
                raise
        # What programs expect of the pool.
        free, total = cuda.runtime.memGetInfo()
        raise cuda.memory.OutOfMemoryError(size, total - free)

    cuda.set_allocator(allocate)
    cuda.set_pinned_memory_allocator(None)
