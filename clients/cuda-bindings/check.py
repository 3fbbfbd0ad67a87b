"""cuda.bindings against NumPy: contexts, memory, modules, launches, streams, events, graphs, linking, wrong calls."""

import ctypes

import numpy as np
from checks import check, run
from cuda.bindings import driver, nvrtc

SOURCE = r"""
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
extern "C" __global__ void total(const int *x, int *out, int n) {
    extern __shared__ int part[];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    part[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) atomicAdd(out, part[0]);
}
__constant__ int scale[4];
__device__ int counter;
extern "C" __global__ void scaled(int *out) { out[threadIdx.x] = scale[threadIdx.x % 4] * 10; atomicAdd(&counter, 1); }
"""


def ok(result):
    status, *values = result
    assert int(status) == 0, status
    return values[0] if len(values) == 1 else tuple(values)


def ptx(source):
    program = ok(nvrtc.nvrtcCreateProgram(source.encode(), b"t.cu", 0, [], []))
    options = [b"--gpu-architecture=compute_80", b"-lineinfo", b"--relocatable-device-code=true"]
    ok(nvrtc.nvrtcCompileProgram(program, len(options), options))
    text = b" " * ok(nvrtc.nvrtcGetPTXSize(program))
    ok(nvrtc.nvrtcGetPTX(program, text))
    return text


ok(driver.cuInit(0))
device = ok(driver.cuDeviceGet(0))
context = ok(driver.cuDevicePrimaryCtxRetain(device))
ok(driver.cuCtxSetCurrent(context))
module = ok(driver.cuModuleLoadData(np.char.array(ptx(SOURCE))))
stream = ok(driver.cuStreamCreate(0))


def kernel(name):
    return ok(driver.cuModuleGetFunction(module, name))


def upload(array):
    pointer = ok(driver.cuMemAlloc(array.nbytes))
    ok(driver.cuMemcpyHtoD(pointer, array.ctypes.data, array.nbytes))
    return pointer


def download(pointer, like):
    out = np.zeros_like(like)
    ok(driver.cuMemcpyDtoH(out.ctypes.data, pointer, out.nbytes))
    return out


@check
def the_device():
    assert ok(driver.cuDeviceGetCount()) == 1
    assert b"Simtlab" in ok(driver.cuDeviceGetName(100, device))
    major = ok(driver.cuDeviceGetAttribute(driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device))
    assert major == 8
    assert ok(driver.cuDriverGetVersion()) >= 12000
    free, total = ok(driver.cuMemGetInfo())
    assert 0 < free <= total


@check
def saxpy():
    n = 10_000
    x, y = np.random.rand(n).astype(np.float32), np.random.rand(n).astype(np.float32)
    px, py = upload(x), upload(y)
    values = (ctypes.c_float(2.5), None, None, ctypes.c_int(n))
    arguments = ((2.5, px, py, n), (ctypes.c_float, None, None, ctypes.c_int))
    ok(driver.cuLaunchKernel(kernel(b"saxpy"), (n + 255) // 256, 1, 1, 256, 1, 1, 0, stream, arguments, 0))
    ok(driver.cuStreamSynchronize(stream))
    np.testing.assert_allclose(download(py, y), np.float32(2.5) * x + y, rtol=1e-6)
    for pointer in (px, py):
        ok(driver.cuMemFree(pointer))
    del values


@check
def shared_memory_and_atomics():
    x = np.arange(5000, dtype=np.int32)
    px, out = upload(x), upload(np.zeros(1, np.int32))
    arguments = ((px, out, x.size), (None, None, ctypes.c_int))
    ok(driver.cuLaunchKernel(kernel(b"total"), 20, 1, 1, 256, 1, 1, 1024, stream, arguments, 0))
    assert download(out, np.zeros(1, np.int32))[0] == x.sum()


@check
def variables():
    address, size = ok(driver.cuModuleGetGlobal(module, b"scale"))
    assert size == 16
    scale = np.array([3, 1, 4, 1], np.int32)
    ok(driver.cuMemcpyHtoD(address, scale.ctypes.data, 16))
    out = upload(np.zeros(8, np.int32))
    ok(driver.cuLaunchKernel(kernel(b"scaled"), 1, 1, 1, 8, 1, 1, 0, 0, ((out,), (None,)), 0))
    np.testing.assert_array_equal(download(out, np.zeros(8, np.int32)), np.tile(scale, 2) * 10)
    address, _ = ok(driver.cuModuleGetGlobal(module, b"counter"))
    assert download(address, np.zeros(1, np.int32))[0] == 8


@check
def managed_memory():
    n = 1000
    pointer = ok(driver.cuMemAllocManaged(4 * n, driver.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL.value))
    host = np.ctypeslib.as_array(ctypes.cast(int(pointer), ctypes.POINTER(ctypes.c_float)), (n,))
    host[:] = 1
    x = upload(np.arange(n, dtype=np.float32))
    arguments = ((3.0, x, pointer, n), (ctypes.c_float, None, None, ctypes.c_int))
    ok(driver.cuLaunchKernel(kernel(b"saxpy"), 4, 1, 1, 256, 1, 1, 0, 0, arguments, 0))
    ok(driver.cuCtxSynchronize())
    np.testing.assert_array_equal(host, 3 * np.arange(n) + 1)
    ok(driver.cuMemFree(pointer))


@check
def pinned_memory():
    n = 512
    y = ok(driver.cuMemHostAlloc(4 * n, 0))
    host = np.ctypeslib.as_array(ctypes.cast(int(y), ctypes.POINTER(ctypes.c_float)), (n,))
    host[:] = 2
    x = upload(np.ones(n, np.float32))
    mapped = ok(driver.cuMemHostGetDevicePointer(y, 0))
    arguments = ((1.0, x, mapped, n), (ctypes.c_float, None, None, ctypes.c_int))
    ok(driver.cuLaunchKernel(kernel(b"saxpy"), 2, 1, 1, 256, 1, 1, 0, 0, arguments, 0))
    assert (host == 3).all()
    ok(driver.cuMemFreeHost(y))


@check
def copies_and_fills():
    a = ok(driver.cuMemAlloc(4096))
    ok(driver.cuMemsetD32(a, 7, 1024))
    ok(driver.cuMemsetD8(int(a) + 4, 0xFF, 4))
    wanted = np.full(1024, 7, np.int32)
    wanted[1] = -1
    np.testing.assert_array_equal(download(a, wanted), wanted)
    b = ok(driver.cuMemAlloc(4096))
    ok(driver.cuMemcpyDtoD(b, a, 4096))
    np.testing.assert_array_equal(download(b, wanted), wanted)
    source = np.arange(64, dtype=np.uint8).reshape(8, 8)
    copy = driver.CUDA_MEMCPY2D()
    copy.srcMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_HOST
    copy.srcHost = source.ctypes.data
    copy.srcPitch, copy.dstPitch, copy.WidthInBytes, copy.Height = 8, 16, 4, 8
    copy.dstMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
    copy.dstDevice = a
    ok(driver.cuMemcpy2D(copy))
    got = download(a, np.zeros((8, 16), np.uint8))
    np.testing.assert_array_equal(got[:, :4], source[:, :4])


@check
def streams_and_events():
    start, end = ok(driver.cuEventCreate(0)), ok(driver.cuEventCreate(0))
    ok(driver.cuEventRecord(start, stream))
    out = upload(np.zeros(8, np.int32))
    ok(driver.cuLaunchKernel(kernel(b"scaled"), 1, 1, 1, 8, 1, 1, 0, stream, ((out,), (None,)), 0))
    ok(driver.cuEventRecord(end, stream))
    ok(driver.cuEventSynchronize(end))
    assert ok(driver.cuEventElapsedTime(start, end)) > 0
    ok(driver.cuStreamWaitEvent(stream, end, 0))


@check
def pools():
    pool = ok(driver.cuDeviceGetDefaultMemPool(device))
    pointer = ok(driver.cuMemAllocFromPoolAsync(1 << 16, pool, stream))
    ok(driver.cuMemsetD8Async(pointer, 1, 1 << 16, stream))
    used = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_USED_MEM_CURRENT
    assert int(ok(driver.cuMemPoolGetAttribute(pool, used))) == 1 << 16
    ok(driver.cuMemFreeAsync(pointer, stream))


@check
def attributes():
    info = driver.CUfunction_attribute
    f = kernel(b"total")
    assert ok(driver.cuFuncGetAttribute(info.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f)) == 1024
    assert ok(driver.cuFuncGetAttribute(info.CU_FUNC_ATTRIBUTE_PTX_VERSION, f)) == 80
    assert ok(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(f, 256, 1024)) > 0
    pointer = ok(driver.cuMemAlloc(100))
    kinds = driver.CUpointer_attribute
    assert int(ok(driver.cuPointerGetAttribute(kinds.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer))) == 2
    status, _ = driver.cuPointerGetAttribute(kinds.CU_POINTER_ATTRIBUTE_DEVICE_POINTER, np.zeros(1).ctypes.data)
    assert status == driver.CUresult.CUDA_ERROR_INVALID_VALUE


@check
def linking():
    library = ptx('extern "C" __device__ int twice(int x) { return 2 * x; }').strip()
    main = ptx(
        'extern "C" __device__ int twice(int); extern "C" __global__ void go(int *p) { p[threadIdx.x] = twice(p[threadIdx.x]) + 1; }'
    )
    state = ok(driver.cuLinkCreate(0, [], []))
    for name, text in ((b"main", main), (b"library", library)):
        kind = driver.CUjitInputType.CU_JIT_INPUT_PTX
        ok(driver.cuLinkAddData(state, kind, text, len(text), name, 0, [], []))
    image, _ = ok(driver.cuLinkComplete(state))
    linked = ok(driver.cuModuleLoadData(image))
    ok(driver.cuLinkDestroy(state))
    go = ok(driver.cuModuleGetFunction(linked, b"go"))
    x = np.arange(32, dtype=np.int32)
    pointer = upload(x)
    ok(driver.cuLaunchKernel(go, 1, 1, 1, 32, 1, 1, 0, 0, ((pointer,), (None,)), 0))
    np.testing.assert_array_equal(download(pointer, x), 2 * x + 1)
    ok(driver.cuModuleUnload(linked))


# What `nvcc` of CUDA 11 makes of `tex2D(plane, x, y)`; later ones know no references.
SAMPLE = b"""
.version 7.0
.target sm_52
.address_size 64
.visible .global .texref plane;
.visible .entry sample(.param .u64 from, .param .u64 to) {
  .reg .b32 %t; .reg .f32 %f<8>; .reg .b64 %d<4>;
  ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to];
  mov.u32 %t, %tid.x; mul.wide.u32 %d2, %t, 8; add.u64 %d0, %d0, %d2;
  mul.wide.u32 %d2, %t, 4; add.u64 %d1, %d1, %d2;
  ld.global.v2.f32 {%f0, %f1}, [%d0];
  tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [plane, {%f0, %f1}];
  st.global.f32 [%d1], %f2;
  ret;
}
\0"""


@check
def texture_references():
    linked = ok(driver.cuModuleLoadData(SAMPLE))
    sample = ok(driver.cuModuleGetFunction(linked, b"sample"))
    reference = ok(driver.cuModuleGetTexRef(linked, b"plane"))
    picture = np.random.default_rng(1).random((16, 32), dtype=np.float32)
    shape = driver.CUDA_ARRAY_DESCRIPTOR()
    shape.Width, shape.Height, shape.Format, shape.NumChannels = 32, 16, driver.CUarray_format.CU_AD_FORMAT_FLOAT, 1
    pitched = upload(picture)
    ok(driver.cuTexRefSetAddress2D(reference, shape, pitched, 128))
    ok(driver.cuTexRefSetFilterMode(reference, driver.CUfilter_mode.CU_TR_FILTER_MODE_LINEAR))
    for dimension in range(2):
        ok(driver.cuTexRefSetAddressMode(reference, dimension, driver.CUaddress_mode.CU_TR_ADDRESS_MODE_CLAMP))
    # Coordinates whose weights are multiples of 1/256, as the hardware has them.
    at = np.random.default_rng(2).integers(-256, 256 * 33, (128, 2)).astype(np.float32) / 256
    points, results = upload(at), upload(np.zeros(128, np.float32))
    ok(driver.cuLaunchKernel(sample, 1, 1, 1, 128, 1, 1, 0, 0, ((points, results), (None, None)), 0))
    low = np.floor(at - 0.5)
    (wx, wy), (x, y) = (at - 0.5 - low).T, low.T.astype(int)
    row, column = (lambda i: np.clip(i, 0, 15)), (lambda i: np.clip(i, 0, 31))
    corners = [[picture[row(y + j), column(x + i)].astype(np.float64) for i in range(2)] for j in range(2)]
    expected = (1 - wy) * ((1 - wx) * corners[0][0] + wx * corners[0][1]) + wy * ((1 - wx) * corners[1][0] + wx * corners[1][1])
    np.testing.assert_allclose(download(results, np.zeros(128, np.float32)), expected, rtol=1e-5, atol=1e-6)
    assert int(ok(driver.cuTexRefGetAddress(reference))) == int(pitched)
    assert ok(driver.cuTexRefGetFormat(reference)) == (shape.Format, 1)
    ok(driver.cuModuleUnload(linked))


@check
def wrong_calls():
    codes = driver.CUresult
    assert driver.cuMemAlloc(1 << 60)[0] == codes.CUDA_ERROR_OUT_OF_MEMORY
    assert driver.cuMemFree(12345)[0] == codes.CUDA_ERROR_INVALID_VALUE
    assert driver.cuModuleLoadData(b"garbage\0")[0] == codes.CUDA_ERROR_INVALID_PTX
    assert driver.cuModuleLoadData(b"\x7fELF" + bytes(60))[0] == codes.CUDA_ERROR_NO_BINARY_FOR_GPU
    assert driver.cuModuleGetFunction(module, b"nothing")[0] == codes.CUDA_ERROR_NOT_FOUND
    assert driver.cuDeviceGet(99)[0] == codes.CUDA_ERROR_INVALID_DEVICE
    f = kernel(b"scaled")
    assert driver.cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, 0, 0, 0)[0] == codes.CUDA_ERROR_INVALID_VALUE
    _, text = driver.cuGetErrorName(codes.CUDA_ERROR_INVALID_VALUE)
    assert text == b"CUDA_ERROR_INVALID_VALUE"


run()
