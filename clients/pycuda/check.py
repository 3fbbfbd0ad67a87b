"""PyCUDA against NumPy: source modules, arrays, elementwise, reduction and scan kernels, constants, streams, errors."""

import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from checks import check, run
from pycuda import cumath, gpuarray
from pycuda.compiler import SourceModule
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.scan import InclusiveScanKernel

rng = np.random.default_rng(4)


@check
def source_modules():
    module = SourceModule(
        """
        __global__ void multiply(float *out, const float *a, const float *b) {
          const int i = threadIdx.x + blockIdx.x * blockDim.x;
          out[i] = a[i] * b[i];
        }
        __global__ void twice(int *data, int n, double by) {
          extern __shared__ int tile[];
          if (threadIdx.x < n) tile[threadIdx.x] = data[threadIdx.x];
          __syncthreads();
          if (threadIdx.x < n) data[threadIdx.x] = (int)(tile[n - 1 - threadIdx.x] * by);
        }
        """
    )
    multiply = module.get_function("multiply")
    a, b = rng.standard_normal((2, 400)).astype(np.float32)
    out = np.zeros_like(a)
    multiply(drv.Out(out), drv.In(a), drv.In(b), block=(100, 1, 1), grid=(4, 1))
    np.testing.assert_array_equal(out, a * b)
    data = np.arange(50, dtype=np.int32)
    module.get_function("twice")(drv.InOut(data), np.int32(50), np.float64(2), block=(64, 1, 1), shared=256)
    np.testing.assert_array_equal(data, np.arange(50)[::-1] * 2)
    # Prepared calls pack their parameters themselves.
    multiply.prepare("PPP")
    da, db = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    dout = gpuarray.zeros_like(da)
    multiply.prepared_call((4, 1), (100, 1, 1), dout.gpudata, da.gpudata, db.gpudata)
    np.testing.assert_array_equal(dout.get(), a * b)
    assert multiply.max_threads_per_block == 1024 and multiply.num_regs > 0


@check
def arrays():
    a, b = (rng.random((2, 777)) * 10).astype(np.float32)
    x, y = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    np.testing.assert_array_equal((x + y).get(), a + b)
    np.testing.assert_allclose((2 * x - y / 3).get(), 2 * a - b / 3, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose((x**2).get(), a**2, rtol=1e-6)
    np.testing.assert_allclose(cumath.sqrt(x).get(), np.sqrt(a), rtol=1e-6)
    np.testing.assert_allclose(cumath.sin(x).get(), np.sin(a), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gpuarray.sum(x).get(), a.sum(), rtol=1e-5)
    assert gpuarray.max(x).get() == a.max() and gpuarray.min(y).get() == b.min()
    np.testing.assert_allclose(gpuarray.dot(x, y).get(), a @ b, rtol=1e-5)
    np.testing.assert_array_equal(gpuarray.arange(100, dtype=np.int32).get(), np.arange(100))
    np.testing.assert_array_equal(gpuarray.maximum(x, y).get(), np.maximum(a, b))
    np.testing.assert_array_equal(x[10:50].get(), a[10:50])
    x.fill(np.float32(3))
    np.testing.assert_array_equal(x.get(), np.full(777, 3, np.float32))


@check
def kernels_of_expressions():
    combine = ElementwiseKernel("float a, float *x, float b, float *y, float *z", "z[i] = a * x[i] + b * y[i]", "combine")
    a, b = rng.random((2, 500)).astype(np.float32)
    x, y = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    z = gpuarray.empty_like(x)
    combine(5, x, 6, y, z)
    np.testing.assert_allclose(z.get(), 5 * a + 6 * b, rtol=1e-6)
    product = ReductionKernel(np.float32, neutral="0", reduce_expr="a+b", map_expr="x[i]*y[i]", arguments="float *x, float *y")
    np.testing.assert_allclose(product(x, y).get(), a @ b, rtol=1e-5)
    n = rng.integers(0, 10, 3000).astype(np.int32)
    scan = gpuarray.to_gpu(n)
    InclusiveScanKernel(np.int32, "a+b")(scan)
    np.testing.assert_array_equal(scan.get(), np.cumsum(n))


@check
def constants_and_addresses():
    module = SourceModule(
        """
        __constant__ float weights[4];
        __device__ int calls;
        __global__ void weigh(float *data) {
          data[threadIdx.x] *= weights[threadIdx.x % 4];
          atomicAdd(&calls, 1);
        }
        """
    )
    address, size = module.get_global("weights")
    assert size == 16
    weights = np.array([1, 2, 3, 4], np.float32)
    drv.memcpy_htod(address, weights)
    a = rng.random(32).astype(np.float32)
    got = a.copy()
    module.get_function("weigh")(drv.InOut(got), block=(32, 1, 1))
    np.testing.assert_array_equal(got, a * np.tile(weights, 8))
    calls = np.zeros(1, np.int32)
    drv.memcpy_dtoh(calls, module.get_global("calls")[0])
    assert calls[0] == 32


@check
def memory_and_streams():
    stream = drv.Stream()
    start, stop = drv.Event(), drv.Event()
    pinned = drv.pagelocked_empty(1000, np.float32)
    pinned[:] = np.arange(1000)
    start.record(stream)
    x = gpuarray.to_gpu_async(pinned, stream=stream)
    got = np.empty_like(pinned)
    drv.memcpy_dtoh_async(got, x.gpudata, stream)
    stop.record(stream)
    stream.synchronize()
    assert stop.time_since(start) >= 0
    np.testing.assert_array_equal(got, pinned)
    rows = rng.random((20, 30)).astype(np.float32)
    device, pitch = drv.mem_alloc_pitch(30 * 4, 20, 4)
    copy = drv.Memcpy2D()
    copy.set_src_host(rows)
    copy.set_dst_device(device)
    copy.src_pitch, copy.dst_pitch, copy.width_in_bytes, copy.height = 120, pitch, 120, 20
    copy(aligned=True)
    back = np.zeros_like(rows)
    copy = drv.Memcpy2D()
    copy.set_src_device(device)
    copy.set_dst_host(back)
    copy.src_pitch, copy.dst_pitch, copy.width_in_bytes, copy.height = pitch, 120, 120, 20
    copy(aligned=True)
    np.testing.assert_array_equal(back, rows)
    managed = drv.managed_zeros(100, np.int32, mem_flags=drv.mem_attach_flags.GLOBAL)
    managed[:] = 5
    SourceModule("__global__ void add(int *d) { d[threadIdx.x] += threadIdx.x; }").get_function("add")(
        managed, block=(100, 1, 1)
    )
    pycuda.autoinit.context.synchronize()
    np.testing.assert_array_equal(managed, np.arange(100) + 5)
    drv.memset_d32(x.gpudata, 7, 1000)
    assert (x.get().view(np.int32) == 7).all()


@check
def devices_and_errors():
    device = drv.Device(0)
    assert "Simtlab" in device.name() and device.compute_capability() == (8, 0)
    assert device.get_attribute(drv.device_attribute.WARP_SIZE) == 32
    free, total = drv.mem_get_info()
    assert 0 < free <= total == device.total_memory()
    try:
        drv.mem_alloc(1 << 60)
        raise AssertionError("an exabyte was there")
    except drv.MemoryError:
        pass
    function = SourceModule("__global__ void nothing() {}").get_function("nothing")
    try:
        function(block=(2000, 1, 1))
        raise AssertionError("a block of 2000 threads ran")
    except drv.LogicError:
        pass
    try:
        drv.module_from_buffer(b"no image at all")
        raise AssertionError("garbage was loaded")
    except (drv.LogicError, drv.RuntimeError):
        pass


run()
