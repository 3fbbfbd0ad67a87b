"""Device memory and calls of CUDA's libraries by ctypes, for tests that compare them with NumPy and SciPy."""

import ctypes as c

import numpy as np

cuda = c.CDLL("libcuda.so.1")
context = c.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(c.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0


class Memory:
    """Device memory with the bytes of an array, which `get` returns with the array's shape and order."""

    def __init__(self, array):
        self.array = array
        self.address = c.c_uint64()
        self.size = max(array.nbytes, 1)
        assert cuda.cuMemAlloc_v2(c.byref(self.address), c.c_size_t(self.size)) == 0
        host = np.ascontiguousarray(array.ravel(order="K"))
        if array.nbytes:
            assert cuda.cuMemcpyHtoD_v2(self.address, host.ctypes.data_as(c.c_void_p), c.c_size_t(array.nbytes)) == 0

    def get(self):
        host = np.empty(self.array.size, self.array.dtype)
        if self.array.nbytes:
            assert cuda.cuMemcpyDtoH_v2(host.ctypes.data_as(c.c_void_p), self.address, c.c_size_t(self.array.nbytes)) == 0
        order = "F" if self.array.flags.f_contiguous and not self.array.flags.c_contiguous else "C"
        return host.reshape(self.array.shape, order=order)

    def __del__(self):
        cuda.cuMemFree_v2(self.address)


def plain(value):
    """An argument as ctypes passes it: integers are `int`s, arrays are on the host, floats are doubles."""
    if isinstance(value, Memory):
        return value.address
    if isinstance(value, np.ndarray):
        return value.ctypes.data_as(c.c_void_p)
    if isinstance(value, float):
        return c.c_double(value)
    if isinstance(value, (int, np.integer)):
        return c.c_int(int(value))
    return value


def library(name, ok=0):
    """Calls of a library's functions, which must succeed."""
    loaded = c.CDLL(name)

    def call(function, *arguments):
        status = getattr(loaded, function)(*map(plain, arguments))
        assert status == ok, f"{function} returns {status}"

    call.status = lambda function, *arguments: getattr(loaded, function)(*map(plain, arguments))
    return call


def handle(call, function):
    """A handle that a function creates."""
    made = c.c_uint64()
    call(function, c.byref(made))
    return made
