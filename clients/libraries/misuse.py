"""Bad input to all libraries: arguments one by one against the documentation's tables, handles that are not valid, sizes of zero, memory that
is not there, more than 2^31 elements, operands that overlap, and calls of many threads."""

import ctypes as c
import threading

import numpy as np
from device import Memory, context, cuda
from every import Lost, Other, call_of, made, one, status, wide
from families import family, main, pick

# The status of a handle that is not valid, as each library's documentation has it.
NOT_VALID = {"cublas": 1, "cublasLt": 1, "curand": 101, "cufft": 1, "cusolver": 1, "cusparse": 1}


def creator(library_name):
    """How a handle is made, and destroyed, and one call on it."""
    memory = Memory(np.zeros(64, np.complex128))
    if library_name == "cufft":
        plan = c.c_int()
        call_of("cufft").status("cufftPlan1d", c.byref(plan), 8, 0x29, 1)
        return plan, "cufftDestroy", lambda h: status("cufftExecC2C", h, memory, memory, -1)
    if library_name == "curand":
        return made("curandCreateGenerator", 101), "curandDestroyGenerator", lambda h: status("curandGenerate", h, memory, c.c_size_t(4))
    if library_name == "cublas":
        return made("cublasCreate_v2"), "cublasDestroy_v2", lambda h: status("cublasDscal_v2", h, 4, one, memory, 1)
    if library_name == "cublasLt":
        ids, count = np.zeros(1, np.int32), np.zeros(1, np.int32)
        use = lambda h: status("cublasLtMatmulAlgoGetIds", h, 68, 0, 0, 0, 0, 0, 1, ids, count)
        return made("cublasLtCreate"), "cublasLtDestroy", use
    if library_name == "cusolver":
        return made("cusolverDnCreate"), "cusolverDnDestroy", lambda h: status("cusolverDnDpotrf", h, 0, 0, memory, 1, memory, 1, memory)
    return made("cusparseCreate"), "cusparseDestroy", lambda h: status("cusparseXcoo2csr", h, memory, 0, 1, memory, 0)


@family
def handles(rng):
    """Null, a number, one of another library, one of another context, one that is destroyed."""
    name = pick(rng, list(NOT_VALID))
    handle, destroy, use = creator(name)
    assert use(handle) == 0
    # Handles of cuBLAS are valid in cuBLASLt.
    alien = [n for n in NOT_VALID if n not in (name, "cufft") and (n, name) != ("cublas", "cublasLt")]
    other, destroy_other, _ = creator(pick(rng, alien))
    kind = c.c_int if name == "cufft" else c.c_uint64
    # Plans are small numbers, which the other's would be, too, without its upper half.
    of_pointers = [] if name == "cufft" else [other, c.c_uint64(0)]
    for wrong in (kind(0x7FFF0000), kind(16 * int(rng.integers(1, 1 << 16)) + 7), *of_pointers):
        assert use(wrong) == NOT_VALID[name], (name, wrong)
        assert status(destroy, wrong) == NOT_VALID[name], (name, wrong)
    with Other():
        assert use(handle) == NOT_VALID[name], f"{name}: of another context"
    assert use(handle) == 0
    assert status(destroy, handle) == 0
    assert use(handle) == NOT_VALID[name] and status(destroy, handle) == NOT_VALID[name]
    assert status(destroy_other, other) == 0


@family
def descriptors(rng):
    """Null, a number, one of another kind, one that is destroyed."""
    light, sparse, d = made("cublasLtCreate"), made("cusparseCreate"), Memory(np.zeros(8))
    description, layout = made("cublasLtMatmulDescCreate", 70, 1), made("cublasLtMatrixLayoutCreate", 1, wide(2), wide(2), wide(2))
    matrix, vector = made("cusparseCreateCsr", wide(2), wide(2), wide(0), d, d, d, 2, 2, 0, 1), made("cusparseCreateDnVec", wide(2), d, 1)

    def product(description=description, a=layout, b=layout, c=layout):
        return status("cublasLtMatmul", light, description, one, d, a, d, b, one, d, c, d, c, None, None, wide(0), None)

    def sparse_product(a=matrix, x=vector, y=vector):
        return status("cusparseSpMV", sparse, 0, one, a, x, one, y, 1, 0, None)

    assert product() == 0 and sparse_product() == 0
    wrong = lambda other: (c.c_uint64(0), c.c_uint64(int(rng.integers(1, 1 << 20))), other)
    for other in wrong(layout):
        assert product(description=other) == 7, f"description {other}"
    for other in wrong(description):
        got = [product(**{name: other}) for name in "abc"]
        assert got == [7, 7, 7], f"layout {other}: {got}"
    for other in wrong(vector):
        assert sparse_product(a=other) == 3, f"matrix {other}"
    for other in wrong(matrix):
        assert sparse_product(x=other) == 3 and sparse_product(y=other) == 3, f"vector {other}"
    assert status("cublasLtMatrixLayoutDestroy", layout) == 0 and status("cusparseDestroyDnVec", vector) == 0
    assert product() == 7 and status("cublasLtMatrixLayoutDestroy", layout) == 7
    assert sparse_product() == 3 and status("cusparseDestroyDnVec", vector) == 3
    assert status("cublasLtDestroy", light) == 0 and status("cusparseDestroy", sparse) == 0
    # Those of a destroyed handle are valid with another one, but not its calls.
    assert product(a=description) == 1


def table():
    """Functions of cuBLAS with arguments that are right, and for each argument what is wrong and its status: CUBLAS_STATUS_INVALID_VALUE."""
    d = Memory(np.zeros((8, 8)))
    flag, size, ld, step, matrix, scalar = [9, -1], [-1], [3, 0, -5], [0], [None], [None]
    bad_ld, none = ld, []
    return {
        "cublasDgemm_v2": [(0, flag), (0, flag), (4, size), (4, size), (4, size), (one, scalar), (d, matrix), (4, bad_ld), (d, matrix), (4, bad_ld), (one, scalar), (d, matrix), (4, bad_ld)],
        "cublasDsymm_v2": [(0, flag), (0, flag), (4, size), (4, size), (one, scalar), (d, matrix), (4, bad_ld), (d, matrix), (4, bad_ld), (one, scalar), (d, matrix), (4, bad_ld)],
        "cublasDsyrk_v2": [(0, flag), (0, flag), (4, size), (4, size), (one, scalar), (d, matrix), (4, bad_ld), (one, scalar), (d, matrix), (4, bad_ld)],
        "cublasDsyr2k_v2": [(0, flag), (0, flag), (4, size), (4, size), (one, scalar), (d, matrix), (4, bad_ld), (d, matrix), (4, bad_ld), (one, scalar), (d, matrix), (4, bad_ld)],
        "cublasDtrmm_v2": [(0, flag), (0, flag), (0, flag), (0, flag), (4, size), (4, size), (one, scalar), (d, matrix), (4, bad_ld), (d, matrix), (4, bad_ld), (d, matrix), (4, bad_ld)],
        "cublasDtrsm_v2": [(0, flag), (0, flag), (0, flag), (0, flag), (4, size), (4, size), (one, scalar), (d, matrix), (4, bad_ld), (d, matrix), (4, bad_ld)],
        "cublasDgemv_v2": [(0, flag), (4, size), (4, size), (one, scalar), (d, matrix), (4, bad_ld), (d, matrix), (1, step), (one, scalar), (d, matrix), (1, step)],
        "cublasDger_v2": [(4, size), (4, size), (one, scalar), (d, matrix), (1, step), (d, matrix), (1, step), (d, matrix), (4, bad_ld)],
        "cublasDsymv_v2": [(0, flag), (4, size), (one, scalar), (d, matrix), (4, bad_ld), (d, matrix), (1, step), (one, scalar), (d, matrix), (1, step)],
        "cublasDsyr_v2": [(0, flag), (4, size), (one, scalar), (d, matrix), (1, step), (d, matrix), (4, bad_ld)],
        "cublasDtrmv_v2": [(0, flag), (0, flag), (0, flag), (4, size), (d, matrix), (4, bad_ld), (d, matrix), (1, step)],
        "cublasDtrsv_v2": [(0, flag), (0, flag), (0, flag), (4, size), (d, matrix), (4, bad_ld), (d, matrix), (1, step)],
        "cublasDgbmv_v2": [(0, flag), (4, size), (4, size), (1, size), (1, size), (one, scalar), (d, matrix), (3, [2, 0]), (d, matrix), (1, step), (one, scalar), (d, matrix), (1, step)],
        "cublasDgeam": [(0, flag), (0, flag), (4, size), (4, size), (one, scalar), (d, none), (4, bad_ld), (one, scalar), (d, none), (4, bad_ld), (d, matrix), (4, bad_ld)],
        "cublasDdgmm": [(0, flag), (4, size), (4, size), (d, matrix), (4, bad_ld), (d, matrix), (1, none), (d, matrix), (4, bad_ld)],
    }


@family
def arguments_of_cublas(rng):
    """Every argument of a function, wrong alone."""
    handle, functions = made("cublasCreate_v2"), table()
    name = pick(rng, list(functions))
    right = [value for value, _ in functions[name]]
    assert status(name, handle, *right) == 0, name
    for place, (_, wrongs) in enumerate(functions[name]):
        for wrong in wrongs:
            arguments = list(right)
            arguments[place] = wrong
            got = status(name, handle, *arguments)
            assert got == 7, f"{name}, argument {place + 1} = {wrong}: {got}"
    assert status("cublasDestroy_v2", handle) == 0


@family
def arguments_of_others(rng):
    """The same of the other libraries, for functions whose documentation names the status of each argument."""
    d, solver, sparse = Memory(np.eye(8)), made("cusolverDnCreate"), made("cusparseCreate")
    cases = [
        ("cusolverDnDgetrf", [solver, 4, 4, d, 4, d, d, d], {1: [-1], 2: [-1], 4: [3, 0]}, 3),
        ("cusolverDnDgetrs", [solver, 0, 4, 1, d, 4, d, d, 4, d], {1: [9], 2: [-1], 3: [-1], 5: [3], 8: [3]}, 3),
        ("cusolverDnDpotrf", [solver, 0, 4, d, 4, d, 4, d], {1: [7], 2: [-1], 4: [3]}, 3),
        ("cusolverDnDgeqrf", [solver, 4, 4, d, 4, d, d, 4, d], {1: [-1], 2: [-1], 4: [3]}, 3),
        ("cusolverDnDsyevd", [solver, 0, 0, 4, d, 4, d, d, 4, d], {1: [5], 2: [5], 3: [-1], 5: [3]}, 3),
        ("cusolverDnDsyevdx", [solver, 0, 1001, 0, 4, d, 4, c.c_double(0), c.c_double(1), 1, 4, np.zeros(1, np.int32), d, d, 4, d], {1: [5], 2: [7], 3: [5], 4: [-1], 6: [3], 11: [None]}, 3),
        ("cusparseXcsr2coo", [sparse, d, 0, 1, d, 0], {2: [-1], 3: [-1], 5: [4]}, 3),
    ]
    name, right, wrongs, expected = pick(rng, cases)
    for place, values in wrongs.items():
        for wrong in values:
            arguments = list(right)
            arguments[place] = wrong
            got = status(name, *arguments)
            assert got == expected, f"{name}, argument {place} = {wrong}: {got}"
    plan, size = c.c_int(), np.zeros(1, np.uint64)
    assert status("cufftCreate", c.byref(plan)) == 0
    for arguments, expected in (((0, 0x29, 1), 8), ((-4, 0x29, 1), 8), ((8, 0x77, 1), 3), ((8, 0x29, -1), 8)):
        got = status("cufftMakePlan1d", plan, *arguments, size)
        assert got == expected, f"cufftMakePlan1d{arguments}: {got}"
    assert status("cufftDestroy", plan) == 0
    assert status("cusolverDnDestroy", solver) == 0 and status("cusparseDestroy", sparse) == 0


@family
def sizes_of_zero(rng):
    """They succeed, and write nothing but what is told."""
    before = rng.standard_normal((8, 8))
    d, told = Memory(before.copy()), Memory(np.full(1, 7, np.int32))
    blas, solver, generator = made("cublasCreate_v2"), made("cusolverDnCreate"), made("curandCreateGenerator", 101)
    m, n, k = ((0, 4, 4), (4, 0, 4), (0, 0, 0))[int(rng.integers(3))]
    assert status("cublasDgemm_v2", blas, 0, 0, m, n, k, one, d, 4, d, 4, one, d, 4) == 0
    assert status("cublasDgemv_v2", blas, 0, m, n, one, d, 4, d, 1, one, d, 1) == 0
    assert status("cublasDaxpy_v2", blas, 0, one, None, 1, None, 1) == 0
    result = np.full(1, 5.0)
    assert status("cublasDnrm2_v2", blas, 0, None, 1, result) == 0 and result[0] == 0
    assert status("cusolverDnDpotrf", solver, 0, 0, d, 1, d, 1, told) == 0 and told.get()[0] == 0
    assert status("curandGenerateUniform", generator, d, c.c_size_t(0)) == 0
    np.testing.assert_array_equal(d.get(), before)
    # A product without terms is beta times what was there.
    assert status("cublasDgemm_v2", blas, 0, 0, 8, 8, 0, one, d, 8, d, 8, one * 2, d, 8) == 0
    np.testing.assert_array_equal(d.get(), 2 * before)
    for destroy, handle in (("cublasDestroy_v2", blas), ("cusolverDnDestroy", solver), ("curandDestroyGenerator", generator)):
        assert status(destroy, handle) == 0


def vast_product(sparse, size, memory):
    """A sparse matrix without entries times a vector, with as many rows as the vector's memory has no room for."""
    a, x, y = c.c_uint64(), c.c_uint64(), c.c_uint64()
    assert status("cusparseCreateCoo", c.byref(a), wide(size), wide(4), wide(0), memory, memory, memory, 2, 0, 1) == 0
    assert status("cusparseCreateDnVec", c.byref(x), wide(4), memory, 1) == 0
    assert status("cusparseCreateDnVec", c.byref(y), wide(size), memory, 1) == 0
    return status("cusparseSpMV", sparse, 0, one, a, x, one, y, 1, 0, None)


@family
def memory_that_is_not_there(rng):
    """As with a kernel the call succeeds, and the context has failed: the next call that waits tells. Sizes go up to 2^31 and more."""
    with Other():
        d, far = Lost(np.zeros(16)), pick(rng, [33, 1 << 20, (1 << 31) - 1])
        vast = pick(rng, [1 << 31, 1 << 33, 1 << 40])
        blas, solver, generator, sparse = made("cublasCreate_v2"), made("cusolverDnCreate"), made("curandCreateGenerator", 101), made("cusparseCreate")
        plan, place, result = c.c_int(), c.c_uint64(int(rng.integers(1, 1 << 40))), np.zeros(1)
        assert status("cufftPlan1d", c.byref(plan), 64, 0x29, 1) == 0
        vector = c.c_uint64()
        calls = [
            lambda: status("cublasDscal_v2", blas, far, one, d, 1),
            lambda: status("cublasDscal_v2_64", blas, wide(vast), one, d, wide(1)),
            lambda: status("cublasDnrm2_v2_64", blas, wide(vast), d, wide(1), result),
            lambda: status("cublasDcopy_v2", blas, 4, place, 1, d, 1),
            lambda: status("cublasDgemm_v2", blas, 0, 0, 4, 4, 4, one, d, 4, place, 4, one, d, 4),
            lambda: status("cublasDgemm_v2_64", blas, 0, 0, wide(vast), wide(1), wide(1), one, d, wide(vast), d, wide(1), one, d, wide(vast)),
            lambda: status("curandGenerateUniform", generator, d, c.c_size_t(vast)),
            lambda: status("curandGenerate", generator, place, c.c_size_t(4)),
            lambda: status("cufftExecC2C", plan, d, d, -1),
            lambda: status("cusolverDnDpotrf", solver, 0, 8, d, 8, d, 1, d),
            lambda: status("cusparseXcoo2csr", sparse, d, far, 1, d, 0),
            lambda: status("cusparseCreateIdentityPermutation", sparse, far, d),
            lambda: status("cusparseXcoo2csr", sparse, d, 0, far, d, 0),
            lambda: status("cublasDsyrk_v2", blas, 0, 0, far, 0, one, d, far, one, d, far),
            lambda: status("cublasDtrmm_v2", blas, 0, 0, 0, 0, far, 1, np.zeros(1), d, far, d, far, d, far),
            lambda: vast_product(sparse, vast, d),
        ]
        which = int(rng.integers(len(calls)))
        assert calls[which]() == 0, f"call {which}"
        assert cuda.cuCtxSynchronize() in (700, 719), f"call {which}"
        # Nothing works in a context that has failed, and nothing hangs.
        assert status("cublasDscal_v2", blas, 4, one, d, 1) != 0


@family
def overlapping(rng):
    """Results where operands are: operands are read before results are written."""
    blas, n = made("cublasCreate_v2"), int(rng.integers(1, 8))
    a = rng.standard_normal((n, n))
    d = Memory(np.asfortranarray(a))
    assert status("cublasDgemm_v2", blas, 0, 0, n, n, n, one, d, n, d, n, np.zeros(1), d, n) == 0
    np.testing.assert_allclose(d.get(), a @ a, rtol=1e-12, atol=1e-12)
    x = rng.standard_normal(10)
    d = Memory(x)
    assert status("cublasDaxpy_v2", blas, 10, one, d, 1, d, 1) == 0
    np.testing.assert_array_equal(d.get(), 2 * x)
    shifted = c.c_uint64(d.address.value + 8)
    assert status("cublasDcopy_v2", blas, 9, d, 1, shifted, 1) == 0
    np.testing.assert_array_equal(d.get(), 2 * np.concatenate([x[:1], x[:9]]))
    assert status("cublasDestroy_v2", blas) == 0


@family
def threads(rng):
    """Threads with handles of their own and with a shared one; each has its results."""
    shared, failures = made("cublasCreate_v2"), []

    def work(seed):
        try:
            assert cuda.cuCtxSetCurrent(context) == 0
            own, random = made("cublasCreate_v2"), np.random.default_rng(seed)
            for turn in range(5):
                a, b = random.standard_normal((2, 6, 6))
                x, y, z = Memory(np.asfortranarray(a)), Memory(np.asfortranarray(b)), Memory(np.zeros((6, 6), order="F"))
                assert status("cublasDgemm_v2", shared if turn % 2 else own, 0, 0, 6, 6, 6, one, x, 6, y, 6, np.zeros(1), z, 6) == 0
                np.testing.assert_allclose(z.get(), a @ b, rtol=1e-12, atol=1e-12)
            assert status("cublasDestroy_v2", own) == 0
        except Exception as error:
            failures.append(error)

    running = [threading.Thread(target=work, args=(int(rng.integers(1 << 30)),)) for _ in range(6)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not failures, failures[0]
    assert status("cublasDestroy_v2", shared) == 0


if __name__ == "__main__":
    main()
