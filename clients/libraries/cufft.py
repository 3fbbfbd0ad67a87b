"""cuFFT against NumPy and SciPy: one to three axes, real and complex, embedded arrays with strides, batches, in place and not."""

import ctypes as c

import numpy as np
import scipy.fft
from device import Memory, library
from families import exact, family, main, near, pick, values

call = library("libcufft.so.11")
KINDS = {"C2C": 0x29, "R2C": 0x2A, "C2R": 0x2C, "Z2Z": 0x69, "D2Z": 0x6A, "Z2D": 0x6C}


def plan():
    made = np.zeros(1, np.int32)
    call("cufftCreate", made)
    return int(made[0])


def compare(got, want, sizes, dtype):
    near(got, want, np.linalg.norm(want) + 1e-30, np.log2(np.prod(sizes) + 2) + 2, dtype)


def kind_of(rng):
    kind = pick(rng, list(KINDS))
    double = "Z" in kind or "D" in kind
    return kind, np.float64 if double else np.float32, np.complex128 if double else np.complex64


def half_sizes(kind, sizes):
    """Sizes of input and output."""
    half = sizes[:-1] + [sizes[-1] // 2 + 1]
    if kind in ("C2C", "Z2Z"):
        return sizes, sizes
    return (sizes, half) if kind in ("R2C", "D2Z") else (half, sizes)


def expected(kind, data, sizes, inverse):
    axes = tuple(range(-len(sizes), 0))
    data = exact(data)
    count = np.prod(sizes)
    if kind in ("C2C", "Z2Z"):
        return scipy.fft.ifftn(data, axes=axes) * count if inverse else scipy.fft.fftn(data, axes=axes)
    if kind in ("R2C", "D2Z"):
        return scipy.fft.rfftn(data, axes=axes)
    return scipy.fft.irfftn(data, s=sizes, axes=axes) * count


def spectrum(rng, kind, shape, sizes, dtype):
    """The half of a real signal's spectrum, or any numbers."""
    if kind in ("C2R", "Z2D"):
        signal = rng.standard_normal(shape[:-1] + [sizes[-1]])
        return scipy.fft.rfftn(signal, axes=tuple(range(-len(sizes), 0))).astype(dtype)
    return values(rng, shape, dtype)


def run(kind, made, source, target, inverse):
    if kind in ("C2C", "Z2Z"):
        call(f"cufftExec{kind}", made, source, target, 1 if inverse else -1)
    else:
        call(f"cufftExec{kind}", made, source, target)


@family
def dense(rng):
    kind, real, complex_ = kind_of(rng)
    rank = int(rng.integers(1, 4))
    sizes = [int(rng.integers(1, [200, 24, 9][rank - 1])) for _ in range(rank)]
    batch = int(rng.integers(1, 4)) if rank == 1 else 1
    inverse = bool(rng.random() < 0.5)
    shape_in, shape_out = half_sizes(kind, sizes)
    types = {"R": real, "D": real, "C": complex_, "Z": complex_}
    data = spectrum(rng, kind, [batch] + shape_in, sizes, types[kind[0]])
    source, target = Memory(data), Memory(np.zeros([batch] + shape_out, types[kind[2]]))
    made, size = plan(), np.zeros(1, np.uint64)
    call(f"cufftMakePlan{rank}d", made, *sizes, KINDS[kind], *([batch] if rank == 1 else []), size)
    run(kind, made, source, target, inverse)
    compare(target.get(), expected(kind, data, sizes, inverse), sizes, real)
    call("cufftDestroy", made)


@family
def in_place(rng):
    kind, real, complex_ = kind_of(rng)
    sizes, batch = [int(rng.integers(1, 12)) for _ in range(int(rng.integers(1, 3)))], int(rng.integers(1, 4))
    inverse = bool(rng.random() < 0.5)
    shape_in, shape_out = half_sizes(kind, sizes)
    padded = sizes[:-1] + [2 * (sizes[-1] // 2 + 1)]
    if kind in ("C2C", "Z2Z"):
        data = values(rng, [batch] + sizes, complex_)
        memory = Memory(data)
    elif kind[0] in "RD":
        data = values(rng, [batch] + padded, real)
        memory = Memory(data)
        data = data[..., : sizes[-1]]
    else:
        data = spectrum(rng, kind, [batch] + shape_in, sizes, complex_)
        memory = Memory(data)
    made, n = plan(), np.asarray(sizes, np.int32)
    call("cufftMakePlanMany", made, len(sizes), n, None, 1, 0, None, 1, 0, KINDS[kind], batch, np.zeros(1, np.uint64))
    run(kind, made, memory, memory, inverse)
    flat = memory.get().ravel()
    if kind[2] in "RD":
        got = flat.view(real).reshape([batch] + padded)[..., : sizes[-1]]
    else:
        got = flat.view(complex_).reshape([batch] + shape_out)
    compare(got, expected(kind, data, sizes, inverse), sizes, real)


@family
def embedded(rng):
    kind, real, complex_ = kind_of(rng)
    sizes, batch = [int(rng.integers(1, 8)) for _ in range(int(rng.integers(1, 4)))], int(rng.integers(1, 4))
    inverse = bool(rng.random() < 0.5)
    types = {"R": real, "D": real, "C": complex_, "Z": complex_}
    shapes = half_sizes(kind, sizes)
    sides = []
    for shape in shapes:
        embed = [n + int(rng.integers(0, 3)) for n in shape]
        stride = int(rng.integers(1, 3))
        distance = int(np.prod(embed)) * stride + int(rng.integers(0, 3))
        sides.append((np.asarray(embed, np.int64), stride, distance))

    def place(array, shape, side):
        """The elements of an embedded array, as a view."""
        embed, stride, distance = side
        steps = [stride]
        for n in reversed(embed[1:]):
            steps.insert(0, steps[0] * int(n))
        item = array.itemsize
        return np.lib.stride_tricks.as_strided(array, [batch] + shape, [distance * item] + [s * item for s in steps])

    data = spectrum(rng, kind, [batch] + shapes[0], sizes, types[kind[0]])
    arrays = [values(rng, batch * side[2], types[kind[i]]) for side, i in zip(sides, (0, 2))]
    place(arrays[0], shapes[0], sides[0])[...] = data
    source, target = map(Memory, arrays)
    made, n, size = plan(), np.asarray(sizes, np.int64), np.zeros(1, np.uint64)
    wide = c.c_longlong
    arguments = [made, len(sizes), n, sides[0][0], wide(sides[0][1]), wide(sides[0][2]), sides[1][0], wide(sides[1][1]), wide(sides[1][2])]
    call("cufftMakePlanMany64", *arguments, KINDS[kind], wide(batch), size)
    run(kind, made, source, target, inverse)
    got, kept = target.get(), arrays[1].copy()
    view = place(got, shapes[1], sides[1])
    compare(view, expected(kind, data, sizes, inverse), sizes, real)
    # What is between the elements is kept.
    place(kept, shapes[1], sides[1])[...] = view
    np.testing.assert_array_equal(got, kept)
    call("cufftDestroy", made)


@family
def halves(rng):
    n, batch = int(2 ** rng.integers(0, 9)), int(rng.integers(1, 4))
    data = rng.standard_normal((batch, n, 2)).astype(np.float16)
    source, target = Memory(data), Memory(np.zeros_like(data))
    made, sizes, size, wide = plan(), np.asarray([n], np.int64), np.zeros(1, np.uint64), c.c_longlong
    call("cufftXtMakePlanMany", made, 1, sizes, None, wide(1), wide(0), 6, None, wide(1), wide(0), 6, wide(batch), size, 6)
    call("cufftXtExec", made, source, target, -1)
    want = np.fft.fft(data[..., 0].astype(float) + 1j * data[..., 1])
    got = target.get().astype(float)
    # One rounding of each part.
    for part, exact_ in ((got[..., 0], want.real), (got[..., 1], want.imag)):
        assert np.all(np.abs(part - exact_) <= np.abs(exact_) * 2.0**-10 + 1e-3)


@family
def statuses(rng):
    """Wrong arguments have the documented status."""
    size, memory = np.zeros(1, np.uint64), Memory(np.zeros(64, np.complex128))
    assert call.status("cufftDestroy", 12345) == 1
    made = plan()
    assert call.status("cufftExecC2C", made, memory, memory, -1) == 1
    assert call.status("cufftMakePlan1d", made, 0, KINDS["C2C"], 1, size) == 8
    assert call.status("cufftMakePlan1d", made, 8, 0x77, 1, size) == 3
    call("cufftMakePlan1d", made, 8, KINDS["C2C"], 1, size)
    assert call.status("cufftExecC2C", made, memory, memory, 7) == 4
    assert call.status("cufftExecC2C", made, None, memory, 1) == 4
    assert call.status("cufftXtSetCallback", made, None, 0, None) == 16
    call("cufftDestroy", made)
    assert call.status("cufftDestroy", made) == 1


if __name__ == "__main__":
    main()
