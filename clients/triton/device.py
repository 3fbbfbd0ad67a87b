"""What Triton needs of a framework without PyTorch: a context that is current, and arrays on the device."""

import ctypes

import numpy as np

cuda = ctypes.CDLL("libcuda.so.1")


def ok(status):
    assert status == 0, status


ok(cuda.cuInit(0))
device, context = ctypes.c_int(), ctypes.c_void_p()
ok(cuda.cuDeviceGet(ctypes.byref(device), 0))
ok(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
ok(cuda.cuCtxSetCurrent(context))


class Tensor:
    """An array on the device: all that Triton asks of one is where it is and what its elements are."""

    def __init__(self, host, dtype=None):
        self.allocate(np.ascontiguousarray(host), dtype)
        source = self.host.ctypes.data_as(ctypes.c_void_p)
        ok(cuda.cuMemcpyHtoD_v2(self.pointer, source, ctypes.c_size_t(self.host.nbytes)))

    @classmethod
    def empty(cls, shape, dtype):
        """An array whose bytes nobody has written."""
        tensor = cls.__new__(cls)
        tensor.allocate(np.empty(shape, dtype), None)
        return tensor

    def allocate(self, host, dtype):
        self.host = host
        self.dtype = dtype or str(host.dtype)
        self.shape = host.shape
        self.pointer = ctypes.c_uint64()
        ok(cuda.cuMemAlloc_v2(ctypes.byref(self.pointer), ctypes.c_size_t(host.nbytes)))

    def data_ptr(self):
        return self.pointer.value

    def numpy(self):
        out = np.empty_like(self.host)
        target = out.ctypes.data_as(ctypes.c_void_p)
        ok(cuda.cuMemcpyDtoH_v2(target, self.pointer, ctypes.c_size_t(out.nbytes)))
        return out
