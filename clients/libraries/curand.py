"""cuRAND against its device interface: NVIDIA's header, compiled by NVRTC, runs on the virtual device, and gives the same bits."""

import ctypes as c
import os

import numpy as np
from device import Memory, cuda, library
from families import family, main, pick

call = library("libcurand.so.10")
KINDS = {"XORWOW": 101, "MRG32k3a": 121, "Philox4_32_10": 161}
SOBOL = {"Sobol32": 201, "Sobol64": 203}

# One thread a subsequence; each writes what the documented order gives it.
PROGRAM = """
#include <curand_kernel.h>
template <class State, int Threads, class T, int Group, class Give>
__device__ void fill(unsigned long long seed, unsigned long long offset, unsigned long long n, T *out, Give give) {
  // The first turn is that of the subsequence at the offset.
  unsigned long long turn = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  unsigned long long first = offset + turn;
  if (turn >= Threads || turn * Group >= n) return;
  State state;
  unsigned long long skip = first / Threads * (Threads == 65536 ? 4 : 1);
  curand_init(seed, first % Threads, skip, &state);
  for (unsigned long long at = turn * Group; at < n; at += (unsigned long long)Threads * Group) {
    T group[4];
    give(&state, group);
    for (int i = 0; i < Group && at + i < n; i++) out[at + i] = group[i];
  }
}
#define KERNEL(Name, State, Threads, T, Group, ...)                                                                           \\
  extern "C" __global__ void Name(unsigned long long seed, unsigned long long offset, unsigned long long n, T *out) {         \\
    fill<State, Threads, T, Group>(seed, offset, n, out, [](State *s, T *g) { __VA_ARGS__; });                                \\
  }
#define EACH(Name, State, Threads, T, Give) KERNEL(Name, State, Threads, T, 1, g[0] = Give(s))
EACH(XORWOW_bits, curandStateXORWOW_t, 4096, unsigned, curand)
EACH(XORWOW_uniform, curandStateXORWOW_t, 4096, float, curand_uniform)
EACH(XORWOW_double, curandStateXORWOW_t, 4096, double, curand_uniform_double)
KERNEL(XORWOW_normal, curandStateXORWOW_t, 4096, float, 2, float2 v = curand_normal2(s); g[0] = v.x; g[1] = v.y)
KERNEL(XORWOW_normal_double, curandStateXORWOW_t, 4096, double, 2, double2 v = curand_normal2_double(s); g[0] = v.x; g[1] = v.y)
EACH(MRG32k3a_bits, curandStateMRG32k3a_t, 4096, unsigned, curand)
EACH(MRG32k3a_uniform, curandStateMRG32k3a_t, 4096, float, curand_uniform)
EACH(MRG32k3a_double, curandStateMRG32k3a_t, 4096, double, curand_uniform_double)
KERNEL(MRG32k3a_normal, curandStateMRG32k3a_t, 4096, float, 2, float2 v = curand_normal2(s); g[0] = v.x; g[1] = v.y)
KERNEL(MRG32k3a_normal_double, curandStateMRG32k3a_t, 4096, double, 2, double2 v = curand_normal2_double(s); g[0] = v.x; g[1] = v.y)
#define FOUR(T, Give) auto v = Give(s); g[0] = v.x; g[1] = v.y; g[2] = v.z; g[3] = v.w
KERNEL(Philox4_32_10_bits, curandStatePhilox4_32_10_t, 65536, unsigned, 4, FOUR(unsigned, curand4))
KERNEL(Philox4_32_10_uniform, curandStatePhilox4_32_10_t, 65536, float, 4, FOUR(float, curand_uniform4))
KERNEL(Philox4_32_10_double, curandStatePhilox4_32_10_t, 65536, double, 4, FOUR(double, curand_uniform4_double))
KERNEL(Philox4_32_10_normal, curandStatePhilox4_32_10_t, 65536, float, 4, FOUR(float, curand_normal4))
KERNEL(Philox4_32_10_normal_double, curandStatePhilox4_32_10_t, 65536, double, 4, FOUR(double, curand_normal4_double))
// One thread a coordinate, dimension by dimension; the generator is that of the host's direction vectors.
#define SOBOL(Name, State, Word, T, Give)                                                                                     \\
  extern "C" __global__ void Name(Word *vectors, unsigned long long offset, unsigned long long points,                        \\
                                  unsigned long long dimensions, T *out) {                                                    \\
    unsigned long long at = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;                                        \\
    if (at >= points * dimensions) return;                                                                                    \\
    State state;                                                                                                              \\
    curand_init(vectors + at / points * (sizeof(Word) * 8), offset + at % points, &state);                                    \\
    out[at] = Give(&state);                                                                                                   \\
  }
#define ALL_SOBOL(Name, State, Word)                                                                                          \\
  SOBOL(Name##_bits, State, Word, Word, curand)                                                                               \\
  SOBOL(Name##_uniform, State, Word, float, curand_uniform)                                                                   \\
  SOBOL(Name##_double, State, Word, double, curand_uniform_double)                                                            \\
  SOBOL(Name##_normal, State, Word, float, curand_normal)                                                                     \\
  SOBOL(Name##_normal_double, State, Word, double, curand_normal_double)                                                      \\
  __device__ unsigned Name##_poisson_of(State *s) { return curand_poisson(s, 20.5); }                                         \\
  SOBOL(Name##_poisson, State, Word, unsigned, Name##_poisson_of)
ALL_SOBOL(Sobol32, curandStateSobol32_t, unsigned)
ALL_SOBOL(Sobol64, curandStateSobol64_t, unsigned long long)
"""


def compiled():
    """The kernels, loaded."""
    nvrtc = c.CDLL("libnvrtc.so.12")
    program, size = c.c_void_p(), c.c_size_t()
    assert nvrtcs(nvrtc.nvrtcCreateProgram(c.byref(program), PROGRAM.encode(), b"curand.cu", 0, None, None))
    folders = os.environ["CURAND_HEADERS"].split(":")
    options = [b"--gpu-architecture=compute_80", b"--std=c++17"] + [f"-I{folder}".encode() for folder in folders]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (c.c_char_p * len(options))(*options))
    if status:
        nvrtc.nvrtcGetProgramLogSize(program, c.byref(size))
        log = c.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise SystemExit(log.value.decode())
    nvrtc.nvrtcGetPTXSize(program, c.byref(size))
    ptx = c.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    module = c.c_void_p()
    assert cuda.cuModuleLoadData(c.byref(module), ptx) == 0
    return module


def nvrtcs(status):
    return status == 0


MODULE = compiled()


def on_device(name, threads, seed, offset, n, dtype):
    function, out = c.c_void_p(), Memory(np.zeros(n, dtype))
    assert cuda.cuModuleGetFunction(c.byref(function), MODULE, name.encode()) == 0
    arguments = [c.c_uint64(seed), c.c_uint64(offset), c.c_uint64(n), out.address]
    pointers = (c.c_void_p * 4)(*(c.addressof(a) for a in arguments))
    blocks = min(threads, n) // 64 + 1
    assert cuda.cuLaunchKernel(function, blocks, 1, 1, 64, 1, 1, 0, None, pointers, None) == 0
    return out.get()


def vectors(name):
    """The host's direction vectors: one row a dimension."""
    bits, at = int(name[5:]), c.c_void_p()
    call(f"curandGetDirectionVectors{bits}", c.byref(at), {32: 101, 64: 103}[bits])
    return np.ctypeslib.as_array(c.cast(at, c.POINTER({32: c.c_uint32, 64: c.c_uint64}[bits])), (20000, bits))


def generated(made, what, n, bits=32):
    """Numbers of a generator, standard where the distribution has parameters."""
    dtypes = {"bits": f"u{bits // 8}", "uniform": "f4", "double": "f8", "normal": "f4", "normal_double": "f8", "poisson": "u4"}
    names = {"double": "UniformDouble", "normal_double": "NormalDouble", "bits": "LongLong" if bits == 64 else ""}
    more = {"normal": (c.c_float(0), c.c_float(1)), "normal_double": (c.c_double(0), c.c_double(1)), "poisson": (c.c_double(20.5),)}
    out = Memory(np.zeros(n, dtypes[what]))
    call("curandGenerate" + names.get(what, what.title()), made, out, c.c_size_t(n), *more.get(what, ()))
    return out.get()


def same_numbers(what, got, want):
    if what == "normal":
        # The device's sine and cosine are fast ones, with an absolute error.
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=5e-6)
    elif what == "normal_double":
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)
    else:
        np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8))


def generator(kind, seed, offset=0):
    made = c.c_uint64()
    call("curandCreateGenerator", c.byref(made), kind)
    call("curandSetPseudoRandomGeneratorSeed", made, c.c_uint64(seed))
    if offset:
        call("curandSetGeneratorOffset", made, c.c_uint64(offset))
    return made


@family
def device_interface(rng):
    name = pick(rng, list(KINDS))
    seed, philox = int(rng.integers(0, 1 << 63)) if rng.random() < 0.9 else 0, name.startswith("Philox")
    n = 2 * int(rng.integers(1, 200)) if rng.random() < 0.8 else 2 * int(rng.integers(2000, 5000))
    what = pick(rng, ["bits", "uniform", "double", "normal", "normal_double"])
    # Groups of Philox begin at multiples of four.
    offset = int(rng.integers(0, 20000)) * (4 if philox else 1) if rng.random() < 0.5 else 0
    made = generator(KINDS[name], seed, offset)
    got = generated(made, what, n)
    call("curandDestroyGenerator", made)
    want = on_device(f"{name}_{what}", 65536 if philox else 4096, seed, offset // (4 if philox else 1), n, got.dtype)
    same_numbers(what, got, want)


@family
def sobol(rng):
    """Points of the device interface with the host's direction vectors, by one call or two."""
    name = pick(rng, list(SOBOL))
    what = pick(rng, ["bits", "uniform", "double", "normal", "normal_double", "poisson"])
    bits, dimensions, points = int(name[5:]), int(rng.integers(1, 40)), int(rng.integers(1, 60))
    offset, first = int(rng.integers(0, 1 << 31)) if rng.random() < 0.7 else 0, int(rng.integers(0, points + 1))
    made = c.c_uint64()
    call("curandCreateGenerator", c.byref(made), SOBOL[name])
    call("curandSetQuasiRandomGeneratorDimensions", made, dimensions)
    call("curandSetGeneratorOffset", made, c.c_uint64(offset))
    parts = [generated(made, what, dimensions * n, bits).reshape(dimensions, n) for n in (first, points - first)]
    call("curandDestroyGenerator", made)
    got = np.concatenate(parts, axis=1).ravel()
    directions, out = Memory(vectors(name)[:dimensions].copy()), Memory(np.zeros(got.size, got.dtype))
    function = c.c_void_p()
    assert cuda.cuModuleGetFunction(c.byref(function), MODULE, f"{name}_{what}".encode()) == 0
    arguments = [directions.address, c.c_uint64(offset), c.c_uint64(points), c.c_uint64(dimensions), out.address]
    pointers = (c.c_void_p * 5)(*(c.addressof(a) for a in arguments))
    assert cuda.cuLaunchKernel(function, got.size // 64 + 1, 1, 1, 64, 1, 1, 0, None, pointers, None) == 0
    same_numbers(what, got, out.get())


@family
def direction_vectors(rng):
    """The host's table is that of NVIDIA's own library, where that is (CURAND_ORIGINAL names it): its table needs no device."""
    original, name = os.environ.get("CURAND_ORIGINAL"), pick(rng, list(SOBOL))
    if not original:
        raise SystemExit("CURAND_ORIGINAL does not name NVIDIA's libcurand.so")
    ours, bits, at = vectors(name), int(name[5:]), c.c_void_p()
    theirs = c.CDLL(original)
    assert getattr(theirs, f"curandGetDirectionVectors{bits}")(c.byref(at), {32: 101, 64: 103}[bits]) == 0
    row = int(rng.integers(0, 20000))
    want = np.ctypeslib.as_array(c.cast(at, c.POINTER({32: c.c_uint32, 64: c.c_uint64}[bits])), (20000, bits))[row]
    np.testing.assert_array_equal(ours[row], want)


@family
def seeded_order(rng):
    """Each of the 4096 subsequences is a XORWOW sequence: the same seed gives the same numbers, which are uniform, and not the legacy ones."""
    seed, n = int(rng.integers(0, 1 << 63)), 4096 * 2
    lists = []
    for order in (102, 102, 101):
        made = generator(101, seed)
        call("curandSetGeneratorOrdering", made, order)
        lists.append(generated(made, "uniform", n).astype(float))
        call("curandDestroyGenerator", made)
    np.testing.assert_array_equal(lists[0], lists[1])
    assert not np.any(lists[0][:64] == lists[2][:64])
    assert abs(lists[0].mean() - 0.5) < 5 / np.sqrt(12 * n)
    assert abs(np.corrcoef(lists[0][:4096], lists[0][4096:])[0, 1]) < 5 / np.sqrt(4096)


@family
def calls_continue(rng):
    """Two calls give what one gives."""
    kind, seed = pick(rng, list(KINDS.values()) + [142]), int(rng.integers(0, 1 << 32))
    first, second = int(rng.integers(1, 3000)), int(rng.integers(1, 3000))
    whole, parts = Memory(np.zeros(first + second, np.uint32)), [Memory(np.zeros(n, np.uint32)) for n in (first, second)]
    made = generator(kind, seed)
    call("curandGenerate", made, whole, c.c_size_t(first + second))
    call("curandSetPseudoRandomGeneratorSeed", made, c.c_uint64(seed))
    if kind == KINDS["Philox4_32_10"]:
        first -= first % 4
    for part, n in zip(parts, (first, second)):
        call("curandGenerate", made, part, c.c_size_t(n))
    got = np.concatenate([parts[0].get()[:first], parts[1].get()])
    np.testing.assert_array_equal(got, whole.get()[: first + second])
    call("curandDestroyGenerator", made)


@family
def mersenne_twister(rng):
    seed, n = int(rng.integers(0, 1 << 32)), int(rng.integers(1, 2000))
    made, out = generator(142, seed), Memory(np.zeros(n, np.uint32))
    call("curandGenerate", made, out, c.c_size_t(n))
    reference = np.random.RandomState(seed)
    np.testing.assert_array_equal(out.get(), np.frombuffer(reference.bytes(4 * n), "<u4"))
    assert call.status("curandSetGeneratorOffset", made, c.c_uint64(4)) == 103
    call("curandDestroyGenerator", made)


@family
def statuses(rng):
    made, out = generator(101, 1), Memory(np.zeros(16))
    assert call.status("curandGenerateNormal", made, out, c.c_size_t(3), c.c_float(0), c.c_float(1)) == 105
    assert call.status("curandGeneratePoisson", made, out, c.c_size_t(3), c.c_double(-1)) == 104
    assert call.status("curandSetGeneratorOrdering", made, 7) == 104
    assert call.status("curandSetGeneratorOrdering", made, 201) == 104
    assert call.status("curandSetQuasiRandomGeneratorDimensions", made, 2) == 103
    assert call.status("curandGenerateLongLong", made, out, c.c_size_t(2)) == 103
    assert call.status("curandCreateGenerator", c.byref(c.c_uint64()), 99) == 103
    for kind in (141, 202, 204):
        assert call.status("curandCreateGenerator", c.byref(c.c_uint64()), kind) == 204
    sobol = c.c_uint64()
    call("curandCreateGenerator", c.byref(sobol), 203)
    assert call.status("curandGenerate", sobol, out, c.c_size_t(2)) == 103
    assert call.status("curandSetPseudoRandomGeneratorSeed", sobol, c.c_uint64(2)) == 103
    assert call.status("curandSetGeneratorOrdering", sobol, 101) == 104
    for dimensions in (0, 20001):
        assert call.status("curandSetQuasiRandomGeneratorDimensions", sobol, dimensions) == 104
    call("curandSetQuasiRandomGeneratorDimensions", sobol, 3)
    assert call.status("curandGenerateUniform", sobol, out, c.c_size_t(4)) == 105
    call("curandDestroyGenerator", sobol)
    for kind, status in ((32, {101: 0, 102: 204, 103: 104}), (64, {101: 104, 103: 0, 104: 204})):
        for vectors_set, expected in status.items():
            assert call.status(f"curandGetDirectionVectors{kind}", c.byref(c.c_void_p()), vectors_set) == expected
    assert call.status("curandGenerate", c.c_uint64(5), out, c.c_size_t(1)) == 101
    call("curandDestroyGenerator", made)
    assert call.status("curandDestroyGenerator", made) == 101


if __name__ == "__main__":
    main()
