"""cuda.core against NumPy."""

import ctypes

import numpy as np
from checks import check, run

from cuda.bindings import nvjitlink
from cuda.core import Device, LaunchConfig, Linker, LinkerOptions, Program, ProgramOptions, launch

SOURCE = r"""
template <typename T>
__global__ void saxpy(T a, const T *x, T *y, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void fill(int *p, int v) { p[blockIdx.x * blockDim.x + threadIdx.x] = v; }
"""

device = Device(0)
device.set_current()
stream = device.create_stream()
program = Program(SOURCE, code_type="c++", options=ProgramOptions(std="c++17", arch="compute_80"))
module = program.compile("ptx", name_expressions=("saxpy<float>", "saxpy<double>"))


def upload(array):
    buffer = device.allocate(array.nbytes, stream=stream)
    from cuda.bindings import driver

    assert driver.cuMemcpyHtoD(int(buffer.handle), array.ctypes.data, array.nbytes)[0] == 0
    return buffer


def download(buffer, like):
    from cuda.bindings import driver

    stream.sync()
    out = np.zeros_like(like)
    assert driver.cuMemcpyDtoH(out.ctypes.data, int(buffer.handle), out.nbytes)[0] == 0
    return out


@check
def the_device():
    assert device.compute_capability == (8, 0)
    assert "Simtlab" in device.name
    assert device.properties.warp_size == 32
    assert device.properties.max_threads_per_block == 1024


@check
def templates():
    for name, dtype, scalar in (("saxpy<float>", np.float32, ctypes.c_float), ("saxpy<double>", np.float64, ctypes.c_double)):
        kernel = module.get_kernel(name)
        n = 1000
        x, y = np.random.rand(n).astype(dtype), np.random.rand(n).astype(dtype)
        bx, by = upload(x), upload(y)
        config = LaunchConfig(grid=(n + 255) // 256, block=256)
        launch(stream, config, kernel, scalar(2.0), bx, by, ctypes.c_size_t(n))
        np.testing.assert_allclose(download(by, y), 2 * x + y, rtol=1e-6)
        bx.close(stream)
        by.close(stream)


@check
def three_dimensions():
    kernel = module.get_kernel("saxpy<float>")
    x = np.ones(64, np.float32)
    bx, by = upload(x), upload(x)
    launch(stream, LaunchConfig(grid=(1, 1, 1), block=(64, 1, 1)), kernel, ctypes.c_float(3), bx, by, ctypes.c_size_t(64))
    assert (download(by, x) == 4).all()


@check
def attributes():
    kernel = module.get_kernel("saxpy<float>")
    assert kernel.attributes.max_threads_per_block == 1024
    assert kernel.attributes.shared_size_bytes == 0
    assert kernel.num_arguments == 4


@check
def events():
    from cuda.core import EventOptions

    options = EventOptions(timing_enabled=True)
    start = stream.record(options=options)
    kernel = module.get_kernel("saxpy<float>")
    x = np.ones(64, np.float32)
    launch(stream, LaunchConfig(grid=1, block=64), kernel, ctypes.c_float(1), upload(x), upload(x), ctypes.c_size_t(64))
    end = stream.record(options=options)
    end.sync()
    assert end - start > 0


@check
def copies():
    x = np.arange(256, dtype=np.int32)
    a, b = upload(x), device.allocate(x.nbytes, stream=stream)
    a.copy_to(b, stream=stream)
    np.testing.assert_array_equal(download(b, x), x)
    assert b.size == 1024 and b.is_device_accessible


CALLER = """extern __device__ int twice(int);
extern "C" __global__ void k(int *p) { p[threadIdx.x] = twice(p[threadIdx.x]); }"""
CALLEE = "__device__ int twice(int x) { return 2 * x; }"


def doubles(module):
    x = np.arange(32, dtype=np.int32)
    buffer = upload(x)
    launch(stream, LaunchConfig(grid=1, block=32), module.get_kernel("k"), buffer)
    np.testing.assert_array_equal(download(buffer, x), 2 * x)


@check
def machine_code():
    whole = CALLEE + CALLER.split(";", 1)[1]
    options = ProgramOptions(std="c++17", arch="sm_80")
    doubles(Program(whole, code_type="c++", options=options).compile("cubin"))
    text = Program(whole, code_type="c++", options=options).compile("ptx").code.decode()
    doubles(Program(text, code_type="ptx", options=options).compile("cubin"))


@check
def linkers():
    for kind, lto in (("ptx", None), ("ltoir", True)):
        options = ProgramOptions(std="c++17", arch="sm_80", relocatable_device_code=True, link_time_optimization=lto)
        parts = [Program(source, code_type="c++", options=options).compile(kind) for source in (CALLER, CALLEE)]
        doubles(Linker(*parts, options=LinkerOptions(arch="sm_80", link_time_optimization=lto)).link("cubin"))
        if lto:
            doubles(Linker(*parts, options=LinkerOptions(arch="sm_80", link_time_optimization=lto, ptx=True)).link("ptx"))
            continue
        alone = Linker(parts[0], options=LinkerOptions(arch="sm_80"))
        try:
            alone.link("cubin")
        except nvjitlink.nvJitLinkError as error:
            assert "Undefined reference to '_Z5twicei'" in str(error), error
        else:
            raise AssertionError("a name is missing")


@check
def wrong_links():
    assert nvjitlink.version()[0] == 12
    link = nvjitlink.create(1, ["-arch=sm_80"])
    for call, words in (
        (lambda: nvjitlink.create(1, ["-nonsense"]), "UNRECOGNIZED_OPTION"),
        (lambda: nvjitlink.create(0, []), "MISSING_ARCH"),
        (lambda: nvjitlink.add_data(link, nvjitlink.InputType.PTX, b"nonsense", 8, "x"), "INCORRECT_INPUT_TYPE"),
        (lambda: nvjitlink.add_file(link, nvjitlink.InputType.ANY, "/nonexistent"), "INVALID_INPUT"),
        (lambda: nvjitlink.get_linked_cubin_size(link), "INTERNAL"),
        (lambda: nvjitlink.complete(1234), "INVALID_INPUT"),
    ):
        try:
            call()
        except nvjitlink.nvJitLinkError as error:
            assert words in str(error), (words, error)
        else:
            raise AssertionError(words)
    log = bytearray(nvjitlink.get_error_log_size(link))
    nvjitlink.get_error_log(link, log)
    assert b"x does not match type NVJITLINK_INPUT_PTX" in log, log
    nvjitlink.destroy(link)


run()
