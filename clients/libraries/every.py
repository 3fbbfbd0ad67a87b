"""All libraries at once: calls by the names of functions alone, and contexts that may fail."""

import ctypes as c

import numpy as np
from device import Memory, context, cuda, library

LIBRARIES = {
    name: library(f"lib{name}.so.{version}")
    for name, version in (("cublas", 12), ("cublasLt", 12), ("curand", 10), ("cufft", 11), ("cusolver", 11), ("cusparse", 12))
}
wide, one = c.c_longlong, np.ones(2)


def made(name, *arguments):
    out = c.c_uint64()
    call_of(name)(name, c.byref(out), *arguments)
    return out


def call_of(function):
    return next(LIBRARIES[name] for name in sorted(LIBRARIES, key=len, reverse=True) if function.lower().startswith(name.lower()))


def status(function, *arguments):
    return call_of(function).status(function, *arguments)


class Other:
    """Another context, which is current meanwhile, and which may fail."""

    def __enter__(self):
        self.context = c.c_void_p()
        assert cuda.cuCtxCreate_v2(c.byref(self.context), 0, 0) == 0
        return self

    def __exit__(self, *_):
        cuda.cuCtxDestroy_v2(self.context)
        assert cuda.cuCtxSetCurrent(context) == 0


class Lost(Memory):
    """Memory of another context, which frees it."""

    def __del__(self):
        pass
