"""PyCUDA against NumPy: source modules, arrays on the device, events, streams."""

import numpy as np
import pycuda.autoinit  # noqa: F401 (makes a context)
import pycuda.driver as cuda
import pycuda.gpuarray as gpuarray
from checks import check, run
from pycuda.compiler import SourceModule

rng = np.random.default_rng(3)


@check
def the_device():
    device = cuda.Device(0)
    assert cuda.Device.count() == 1
    assert "Simtlab" in device.name()
    assert device.compute_capability() == (8, 0)


@check
def a_source_module():
    module = SourceModule("__global__ void twice(float *a) { a[threadIdx.x + 4 * threadIdx.y] *= 2; }")
    a = rng.random((4, 4)).astype(np.float32)
    pointer = cuda.mem_alloc(a.nbytes)
    cuda.memcpy_htod(pointer, a)
    module.get_function("twice")(pointer, block=(4, 4, 1))
    out = np.empty_like(a)
    cuda.memcpy_dtoh(out, pointer)
    np.testing.assert_array_equal(out, a * 2)


@check
def arguments_in_and_out():
    module = SourceModule(
        "__global__ void mix(double *d, const int *x, double f, int n)"
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) d[i] = f * x[i]; }"
    )
    x = rng.integers(0, 99, 500).astype(np.int32)
    d = np.zeros(500)
    module.get_function("mix")(cuda.Out(d), cuda.In(x), np.float64(1.5), np.int32(500), grid=(4, 1), block=(128, 1, 1))
    np.testing.assert_array_equal(d, 1.5 * x)


@check
def constants():
    module = SourceModule("__constant__ int c[3]; __global__ void k(int *o) { o[threadIdx.x] = c[threadIdx.x]; }")
    address, size = module.get_global("c")
    assert size == 12
    values = np.array([7, 8, 9], np.int32)
    cuda.memcpy_htod(address, values)
    out = np.zeros(3, np.int32)
    module.get_function("k")(cuda.Out(out), block=(3, 1, 1))
    np.testing.assert_array_equal(out, values)


@check
def arrays():
    x, y = rng.random(1000).astype(np.float32), rng.random(1000).astype(np.float32)
    a, b = gpuarray.to_gpu(x), gpuarray.to_gpu(y)
    np.testing.assert_allclose((a + 2 * b).get(), x + 2 * y, rtol=1e-6)
    np.testing.assert_allclose((a * b).get(), x * y, rtol=1e-6)
    np.testing.assert_allclose(gpuarray.sum(a).get(), x.sum(), rtol=1e-4)
    np.testing.assert_allclose(gpuarray.dot(a, b).get(), x @ y, rtol=1e-4)


@check
def events_and_streams():
    stream = cuda.Stream()
    start, end = cuda.Event(), cuda.Event()
    start.record(stream)
    a = gpuarray.zeros(100, np.float32)
    a.fill(3, stream=stream)
    end.record(stream)
    end.synchronize()
    assert start.time_till(end) >= 0
    assert (a.get() == 3).all()


run()
