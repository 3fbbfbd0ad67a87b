"""cuda.bindings' runtime half against NumPy."""

import numpy as np
from checks import check, run

from cuda.bindings import driver, nvrtc
from cuda.bindings import runtime as rt

SUCCESS = rt.cudaError_t.cudaSuccess
SOURCE = b'extern "C" __global__ void scale(float *x, float a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= a; }'


def ok(result):
    assert result[0].value == 0, result
    return result[1] if len(result) == 2 else result[1:]


@check
def the_device():
    assert ok(rt.cudaGetDeviceCount()) == 1
    assert ok(rt.cudaRuntimeGetVersion()) == ok(rt.cudaDriverGetVersion()) == 12090
    properties = ok(rt.cudaGetDeviceProperties(0))
    assert b"Simtlab" in properties.name and (properties.major, properties.minor, properties.warpSize) == (8, 0, 32)
    assert ok(rt.cudaDeviceGetAttribute(rt.cudaDeviceAttr.cudaDevAttrMaxThreadsPerBlock, 0)) == 1024
    free, total = ok(rt.cudaMemGetInfo())
    assert 0 < free <= total


@check
def copies_and_fills():
    a = np.arange(4096, dtype=np.int32)
    device, stream = ok(rt.cudaMalloc(a.nbytes)), ok(rt.cudaStreamCreate())
    ok(rt.cudaMemcpyAsync(device, a.ctypes.data, a.nbytes, rt.cudaMemcpyKind.cudaMemcpyHostToDevice, stream))
    ok(rt.cudaMemsetAsync(device, 0xFF, 1024, stream))
    ok(rt.cudaStreamSynchronize(stream))
    b = np.zeros_like(a)
    ok(rt.cudaMemcpy(b.ctypes.data, device, a.nbytes, rt.cudaMemcpyKind.cudaMemcpyDeviceToHost))
    a[:256] = -1
    np.testing.assert_array_equal(a, b)
    attributes = ok(rt.cudaPointerGetAttributes(device))
    assert attributes.type == rt.cudaMemoryType.cudaMemoryTypeDevice
    ok(rt.cudaFree(device))
    ok(rt.cudaStreamDestroy(stream))


@check
def kernels_of_the_driver_share_memory_and_events():
    program = ok(nvrtc.nvrtcCreateProgram(SOURCE, b"scale.cu", 0, [], []))
    ok(nvrtc.nvrtcCompileProgram(program, 1, [b"-arch=sm_80"]))
    size = ok(nvrtc.nvrtcGetCUBINSize(program))
    code = bytes(size)
    ok(nvrtc.nvrtcGetCUBIN(program, code))
    library = ok(driver.cuLibraryLoadData(code, [], [], 0, [], [], 0))
    module = ok(driver.cuLibraryGetModule(library))
    kernel = ok(driver.cuModuleGetFunction(module, b"scale"))
    x = np.arange(1000, dtype=np.float32)
    managed = ok(rt.cudaMallocManaged(x.nbytes, rt.cudaMemAttachGlobal))
    ok(rt.cudaMemcpy(managed, x.ctypes.data, x.nbytes, rt.cudaMemcpyKind.cudaMemcpyDefault))
    events = [ok(rt.cudaEventCreate()) for _ in range(2)]
    ok(rt.cudaEventRecord(events[0], 0))
    arguments = np.array([managed], np.uint64), np.array([3], np.float32), np.array([1000], np.int32)
    pointers = np.array([argument.ctypes.data for argument in arguments], np.uint64)
    ok(driver.cuLaunchKernel(kernel, 8, 1, 1, 128, 1, 1, 0, 0, pointers.ctypes.data, 0))
    ok(rt.cudaEventRecord(events[1], 0))
    ok(rt.cudaEventSynchronize(events[1]))
    assert ok(rt.cudaEventElapsedTime(*events)) >= 0
    y = np.zeros_like(x)
    ok(rt.cudaMemcpy(y.ctypes.data, managed, x.nbytes, rt.cudaMemcpyKind.cudaMemcpyDeviceToHost))
    np.testing.assert_array_equal(y, 3 * x)
    ok(rt.cudaFree(managed))
    ok(driver.cuLibraryUnload(library))


@check
def graphs_are_captured():
    a = np.arange(256, dtype=np.int32)
    device, stream = ok(rt.cudaMalloc(a.nbytes)), ok(rt.cudaStreamCreate())
    ok(rt.cudaStreamBeginCapture(stream, rt.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal))
    ok(rt.cudaMemcpyAsync(device, a.ctypes.data, a.nbytes, rt.cudaMemcpyKind.cudaMemcpyHostToDevice, stream))
    graph = ok(rt.cudaStreamEndCapture(stream))
    instance = ok(rt.cudaGraphInstantiate(graph, 0))
    a += 7
    ok(rt.cudaGraphLaunch(instance, stream))
    ok(rt.cudaStreamSynchronize(stream))
    b = np.zeros_like(a)
    ok(rt.cudaMemcpy(b.ctypes.data, device, a.nbytes, rt.cudaMemcpyKind.cudaMemcpyDeviceToHost))
    np.testing.assert_array_equal(a, b)
    ok(rt.cudaGraphExecDestroy(instance))
    ok(rt.cudaGraphDestroy(graph))


@check
def errors():
    assert rt.cudaMalloc(1 << 60)[0] == rt.cudaError_t.cudaErrorMemoryAllocation
    assert rt.cudaGetLastError()[0] == rt.cudaError_t.cudaErrorMemoryAllocation
    assert rt.cudaPeekAtLastError()[0] == SUCCESS
    assert ok(rt.cudaGetErrorName(rt.cudaError_t.cudaErrorInvalidValue)) == b"cudaErrorInvalidValue"
    assert rt.cudaSetDevice(7)[0] == rt.cudaError_t.cudaErrorInvalidDevice
    assert rt.cudaFree(0x1234)[0] == rt.cudaError_t.cudaErrorInvalidValue


run()
