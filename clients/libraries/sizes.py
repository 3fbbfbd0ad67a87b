"""Sizes that no device has, and sizes of zero beside them, in all libraries: each call ends soon, and none takes the process along.

A call either refuses its arguments, or faults as a kernel does, or has nothing to do because a size is zero."""

import ctypes as c
import os
import threading

import numpy as np
from device import cuda
from every import Lost, Other, made, one, status, wide
from families import family, main, pick

# The seconds of a case, after which the process ends.
LIMIT = 60
SIZES = [0, 1, 3, (1 << 31) - 1, 1 << 31, 1 << 36, 1 << 40, 1 << 62, (1 << 63) - 1]
NARROW = [0, 1, 3, 1 << 20, (1 << 31) - 1]
zero = np.zeros(1)


def leading(rows):
    return wide(max(rows, 1))


def blas(m, n, k, d):
    """Calls of cuBLAS, with the sizes that matter to each."""
    h, batch = made("cublasCreate_v2"), c.c_longlong(k)
    dense = (d, leading(m))
    pointers = Lost(np.full(4, d.address.value, np.uint64))
    m, n, k = wide(m), wide(n), wide(k)
    return {
        "cublasDgemm_v2_64": (h, 0, 0, m, n, k, one, *dense, d, leading(k.value), zero, *dense),
        "cublasDgemmStridedBatched_64": (h, 0, 0, m, n, wide(1), one, *dense, wide(0), d, wide(1), wide(0), zero, *dense, wide(3), batch),
        "cublasDgemmBatched_64": (h, 0, 0, m, n, wide(1), one, pointers, leading(m.value), pointers, wide(1), zero, pointers, leading(m.value), batch),
        "cublasDgemv_v2_64": (h, 0, m, n, one, *dense, d, wide(1), zero, d, wide(1)),
        "cublasDgemvStridedBatched_64": (h, 0, m, n, one, *dense, wide(0), d, wide(1), wide(0), zero, d, wide(1), wide(8), batch),
        "cublasDger_v2_64": (h, m, n, one, d, wide(1), d, wide(1), *dense),
        "cublasDsyrk_v2_64": (h, 0, 0, m, k, one, *dense, zero, *dense),
        "cublasDsyr2k_v2_64": (h, 0, 0, m, k, one, *dense, *dense, zero, *dense),
        "cublasDsymm_v2_64": (h, 0, 0, m, n, one, *dense, *dense, zero, *dense),
        "cublasDtrsm_v2_64": (h, 0, 0, 0, 0, m, n, zero, *dense, *dense),
        "cublasDtrmm_v2_64": (h, 0, 0, 0, 0, m, n, zero, *dense, *dense, *dense),
        "cublasDtrmv_v2_64": (h, 0, 0, 0, m, *dense, d, wide(1)),
        "cublasDtbmv_v2_64": (h, 0, 0, 0, m, k, d, wide(min(k.value + 1, (1 << 63) - 1)), d, wide(1)),
        "cublasDspmv_v2_64": (h, 0, m, one, d, d, wide(1), zero, d, wide(1)),
        "cublasDgbmv_v2_64": (h, 0, m, n, k, wide(0), one, d, wide(min(k.value + 1, (1 << 63) - 1)), d, wide(1), zero, d, wide(1)),
        "cublasDgeam_64": (h, 0, 0, m, n, zero, *dense, zero, *dense, *dense),
        "cublasDdgmm_64": (h, 0, m, n, *dense, d, wide(1), *dense),
        "cublasDaxpy_v2_64": (h, m, one, d, wide(1), d, n),
        "cublasDdot_v2_64": (h, m, d, wide(0), d, wide(1), zero.copy()),
        "cublasIdamax_v2_64": (h, m, d, n, np.zeros(1, np.int64)),
        "cublasDrot_v2_64": (h, m, d, wide(0), d, wide(0), one, one),
    }


def light(m, n, k, d):
    h, description, layouts = made("cublasLtCreate"), c.c_uint64(), []
    assert status("cublasLtMatmulDescCreate", c.byref(description), 70, 1) == 0
    for rows, cols in ((m, k), (k, n), (m, n)):
        layout = c.c_uint64()
        assert status("cublasLtMatrixLayoutCreate", c.byref(layout), 1, wide(rows), wide(cols), wide(rows)) == 0
        layouts.append(layout)
    transform, epilogue = c.c_uint64(), pick(np.random.default_rng([m % 97, n % 97, k % 97]), [1, 4, 2 | 128, 32 | 128, 256])
    for number, value in ((7, np.int32(epilogue)), (8, np.uint64(d.address.value)), (11, np.uint64(d.address.value)), (12, np.int64(m))):
        value = np.atleast_1d(value)
        assert status("cublasLtMatmulDescSetAttribute", description, number, value, c.c_size_t(value.nbytes)) == 0
    assert status("cublasLtMatrixTransformDescCreate", c.byref(transform), 1) == 0
    a, b, r = layouts
    return {
        "cublasLtMatmul": (h, description, one, d, a, d, b, zero, d, r, d, r, None, None, c.c_size_t(0), None),
        "cublasLtMatrixTransform": (h, transform, one, d, r, zero, None, None, d, r, None),
    }


def sparse(m, n, k, d):
    h, a, e, x, y, p, q, r = made("cusparseCreate"), *(c.c_uint64() for _ in range(7))
    create = {
        "cusparseCreateCoo": (c.byref(a), wide(m), wide(n), wide(k), d, d, d, 2, 0, 1),
        "cusparseCreateCsr": (c.byref(e), wide(m), wide(n), wide(k), d, d, d, 2, 2, 0, 1),
        "cusparseCreateDnVec": (c.byref(x), wide(n), d, 1),
        "cusparseCreateSpVec": (c.byref(y), wide(n), wide(k), d, d, 2, 0, 1),
        "cusparseCreateDnMat": (c.byref(p), wide(n), wide(k), leading(n), d, 1, 1),
    }
    calls = dict(create)
    if all(status(name, *arguments) == 0 for name, arguments in create.items()):
        assert status("cusparseCreateDnVec", c.byref(q), wide(m), d, 1) == 0
        assert status("cusparseCreateDnMat", c.byref(r), wide(m), wide(k), leading(m), d, 1, 1) == 0
        for name, matrix in (("Coo", a), ("Csr", e)):
            calls[f"cusparseSpMV {name}"] = (h, 0, one, matrix, x, zero, q, 1, 0, None)
            calls[f"cusparseSpMM {name}"] = (h, 0, 0, one, matrix, p, zero, r, 1, 0, None)
            calls[f"cusparseSDDMM {name}"] = (h, 0, 1, one, r, p, zero, matrix, 1, 0, None)
        whole = c.c_uint64()
        assert status("cusparseCreateDnMat", c.byref(whole), wide(m), wide(n), leading(m), d, 1, 1) == 0
        calls |= {
            "cusparseSparseToDense": (h, a, whole, 0, None),
            "cusparseDenseToSparse_analysis": (h, whole, e, 0, None),
            "cusparseGather": (h, x, y),
            "cusparseScatter": (h, y, x),
            "cusparseAxpby": (h, one, y, zero, x),
        }
    return calls


def solver(m, n, k, d):
    h, parameters = made("cusolverDnCreate"), made("cusolverDnCreateParams")
    m, n, k, work = wide(m), wide(n), wide(k), (None, c.c_size_t(0), None, c.c_size_t(0))
    dense = (1, d, leading(m.value))
    return {
        "cusolverDnXgetrf": (h, parameters, m, n, *dense, d, 1, *work, d),
        "cusolverDnXgetrs": (h, parameters, 0, m, n, *dense, d, *dense, d),
        "cusolverDnXpotrf": (h, parameters, 0, m, *dense, 1, *work, d),
        "cusolverDnXgeqrf": (h, parameters, m, n, *dense, 1, d, 1, *work, d),
        "cusolverDnXsyevd": (h, parameters, 0, 0, m, *dense, 1, d, 1, *work, d),
        "cusolverDnXgesvd": (h, parameters, c.c_char(b"A"), c.c_char(b"A"), m, n, *dense, 1, d, *dense, 1, d, leading(n.value), 1, *work, d),
        "cusolverDnXtrtri": (h, 0, 0, m, *dense, *work, d),
    }


def narrow(m, n, k, d):
    """Functions with sizes of 32 bits alone."""
    blas_handle, sparse_handle, solver_handle = made("cublasCreate_v2"), made("cusparseCreate"), made("cusolverDnCreate")
    plain = made("cusparseCreateMatDescr")
    lead = max(m, 1)
    return {
        "cublasDtrttp": (blas_handle, 0, m, d, lead, d),
        "cublasDtpttr": (blas_handle, 0, m, d, d, lead),
        "cublasDgetrfBatched": (blas_handle, m, d, lead, d, d, k),
        "cusparseXcoo2csr": (sparse_handle, d, k, m, d, 0),
        "cusparseXcsr2coo": (sparse_handle, d, k, m, d, 0),
        "cusparseCsr2cscEx2": (sparse_handle, m, n, k, d, d, d, d, d, d, 1, 1, 0, 1, None),
        "cusparseXcsrsort": (sparse_handle, m, n, k, plain, d, d, d, None),
        "cusparseDnnz": (sparse_handle, 0, m, n, plain, d, lead, d, d),
        "cusparseDgtsv2": (sparse_handle, m, n, d, d, d, d, lead, None),
        "cusparseDgtsv2StridedBatch": (sparse_handle, m, d, d, d, d, k, m, None),
        "cusparseDgtsvInterleavedBatch": (sparse_handle, 0, m, d, d, d, d, k, None),
        "cusolverDnDpotrfBatched": (solver_handle, 0, m, d, lead, d, k),
        "cusolverDnDsyevjBatched": (solver_handle, 0, 0, m, d, lead, d, d, 8, d, made("cusolverDnCreateSyevjInfo"), k),
        "cusolverDnDgesvdjBatched": (solver_handle, 0, m, n, d, lead, d, d, lead, d, max(n, 1), d, 8, d, made("cusolverDnCreateGesvdjInfo"), k),
    }


def transforms(m, n, k, d):
    calls, sizes = {}, np.asarray([m, n], np.int64)
    for name, lists in (("dense", (None, wide(1), wide(0), None, wide(1), wide(0))), ("strided", (sizes, wide(2), wide(m), sizes, wide(2), wide(m)))):
        plan = c.c_int()
        assert status("cufftCreate", c.byref(plan)) == 0
        if status("cufftMakePlanMany64", plan, 2, sizes, *lists, 0x69, wide(k), np.zeros(1, np.uint64)) == 0:
            calls[f"cufftExecZ2Z {name}"] = (plan, d, d, -1)
    return calls


def give_up(what):
    print(f"{what} does not end", flush=True)
    os._exit(1)


@family
def vast(rng):
    """One call with three sizes. Without a zero among them, what they need is more than there is."""
    build = pick(rng, [blas, light, sparse, solver, transforms, narrow])
    choices = NARROW if build is narrow else SIZES
    sizes = [pick(rng, choices) for _ in range(3)]
    with Other():
        # Zeros: an index, an offset and an address of nothing.
        d = Lost(np.zeros(64))
        calls = build(*sizes, d)
        if not calls:
            return
        name = pick(rng, sorted(calls))
        watch = threading.Timer(LIMIT, give_up, [f"{name} {sizes}"])
        watch.start()
        got = status(name.split()[0], *calls[name])
        after = cuda.cuCtxSynchronize()
        watch.cancel()
        assert after in (0, 700, 719), f"{name} {sizes}: {after}"
        assert got == 0 or after == 0, f"{name} {sizes}: status {got} and a fault"


if __name__ == "__main__":
    main()
