"""cuSPARSE against SciPy: formats, bases, index types, operations, types; products, solutions, conversions, sorts."""

import ctypes as c

import numpy as np
import scipy.sparse as sp
from device import Memory, handle, library
from families import TYPES, exact, family, main, near, pick, values

call = library("libcusparse.so.12")
sparse = handle(call, "cusparseCreate")
NUMBERS = {"S": 0, "D": 1, "C": 4, "Z": 5}
wide = c.c_longlong


def letter(rng):
    kind = pick(rng, "SDCZ")
    return kind, TYPES[kind]


def random_sparse(rng, rows, cols, dtype):
    count = int(rng.integers(0, max(1, rows * cols // 2) + 1))
    places = rng.choice(rows * cols, count, replace=False)
    return sp.coo_matrix((values(rng, count, dtype), (places // cols, places % cols)), (rows, cols))


class Matrix:
    """A sparse matrix on the device, in a random format."""

    def __init__(self, rng, matrix, kind, formats=("csr", "csc", "coo"), half=None, unit=None):
        self.base = int(rng.integers(2))
        index, number = pick(rng, [(np.int32, 2), (np.int64, 3)])
        format = pick(rng, list(formats))
        matrix = matrix.asformat(format)
        if format == "coo":
            order = np.lexsort((matrix.col, matrix.row))
            lists = [matrix.row[order], matrix.col[order], matrix.data[order]]
        else:
            matrix.sort_indices()
            lists = [matrix.indptr, matrix.indices, matrix.data]
        lists = [np.asarray(lists[0] + self.base, index), np.asarray(lists[1] + self.base, index), lists[2]]
        self.memory = [Memory(x) for x in lists]
        self.descriptor = c.c_uint64()
        sizes = [wide(n) for n in (*matrix.shape, matrix.nnz)]
        kinds = [number] if format == "coo" else [number, number]
        call(f"cusparseCreate{format.capitalize()}", c.byref(self.descriptor), *sizes, *self.memory, *kinds, self.base, NUMBERS[kind])
        if half is not None:
            for attribute, value in ((0, half), (1, unit)):
                call("cusparseSpMatSetAttribute", self.descriptor, attribute, np.asarray([value], np.int32), c.c_size_t(4))


class Dense:
    """A dense matrix on the device, in a random order with a leading dimension."""

    def __init__(self, rng, array, kind):
        rows, cols = array.shape
        self.by_rows, self.shape = bool(rng.integers(2)), array.shape
        inner, outer = (cols, rows) if self.by_rows else (rows, cols)
        ld = inner + int(rng.integers(0, 3))
        whole = values(rng, (outer, ld), array.dtype)
        whole[:, :inner] = array if self.by_rows else array.T
        self.inner, self.memory, self.descriptor = inner, Memory(whole), c.c_uint64()
        call("cusparseCreateDnMat", c.byref(self.descriptor), wide(rows), wide(cols), wide(ld), self.memory, NUMBERS[kind], 2 if self.by_rows else 1)

    def get(self):
        part = self.memory.get()[:, : self.inner]
        return part if self.by_rows else part.T


class Vector:
    def __init__(self, array, kind):
        self.memory, self.descriptor = Memory(array), c.c_uint64()
        call("cusparseCreateDnVec", c.byref(self.descriptor), wide(len(array)), self.memory, NUMBERS[kind])


def op(matrix, flag):
    return [matrix, matrix.T, matrix.conj().T][flag]


def scalars(rng, dtype):
    return [values(rng, 1, dtype) if rng.random() < 0.8 else np.asarray([pick(rng, [0, 1])], dtype) for _ in range(2)]


@family
def products(rng):
    kind, dtype = letter(rng)
    m, k, n, flag, flag_b = int(rng.integers(1, 20)), int(rng.integers(1, 20)), int(rng.integers(1, 6)), int(rng.integers(3)), int(rng.integers(3))
    full = random_sparse(rng, *((m, k) if flag == 0 else (k, m)), dtype)
    a, (alpha, beta) = Matrix(rng, full, kind), scalars(rng, dtype)
    left, al, be = op(exact(full.toarray()), flag), exact(alpha)[0], exact(beta)[0]
    x, old = values(rng, k, dtype), values(rng, m, dtype)
    u, v, size = Vector(x, kind), Vector(old, kind), np.zeros(1, np.uint64)
    call("cusparseSpMV_bufferSize", sparse, flag, alpha, a.descriptor, u.descriptor, beta, v.descriptor, NUMBERS[kind], 0, size)
    call("cusparseSpMV", sparse, flag, alpha, a.descriptor, u.descriptor, beta, v.descriptor, NUMBERS[kind], 0, None)
    scale = abs(al) * np.abs(left) @ np.abs(x) + np.abs(be * exact(old))
    near(v.memory.get(), al * left @ exact(x) + be * exact(old), scale, k + 2, dtype)
    right, old = values(rng, (k, n) if flag_b == 0 else (n, k), dtype), values(rng, (m, n), dtype)
    b, d = Dense(rng, right, kind), Dense(rng, old, kind)
    call("cusparseSpMM", sparse, flag, flag_b, alpha, a.descriptor, b.descriptor, beta, d.descriptor, NUMBERS[kind], 0, None)
    right = op(exact(right), flag_b)
    scale = abs(al) * np.abs(left) @ np.abs(right) + np.abs(be * exact(old))
    near(d.get(), al * left @ right + be * exact(old), scale, k + 2, dtype)


@family
def sparse_products(rng):
    kind, dtype = letter(rng)
    m, k, n = (int(rng.integers(1, 20)) for _ in range(3))
    left, right = random_sparse(rng, m, k, dtype), random_sparse(rng, k, n, dtype)
    a, b = Matrix(rng, left, kind, ["csr"]), Matrix(rng, right, kind, ["csr"])
    empty, alpha, beta = Matrix(rng, sp.coo_matrix((m, n), dtype=dtype), kind, ["csr"]), values(rng, 1, dtype), np.zeros(1, dtype)
    made, size, buffer = handle(call, "cusparseSpGEMM_createDescr"), np.zeros(1, np.uint64), Memory(np.zeros(4))
    operands = (sparse, 0, 0, alpha, a.descriptor, b.descriptor, beta, empty.descriptor, NUMBERS[kind], 0, made)
    for step in ("workEstimation", "compute"):
        for at in (None, buffer):
            call(f"cusparseSpGEMM_{step}", *operands, size, at)
    rows, cols, nnz = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)
    call("cusparseSpMatGetSize", empty.descriptor, rows, cols, nnz)
    index = empty.memory[0].array.dtype
    offsets, columns, data = Memory(np.zeros(m + 1, index)), Memory(np.zeros(nnz[0], index)), Memory(np.zeros(nnz[0], dtype))
    call("cusparseCsrSetPointers", empty.descriptor, offsets, columns, data)
    call("cusparseSpGEMM_copy", *operands)
    got = sp.csr_matrix((data.get(), columns.get() - empty.base, offsets.get() - empty.base), (m, n))
    want = exact(left.toarray()) @ exact(right.toarray())
    near(got.toarray(), exact(alpha)[0] * want, np.abs(alpha) * np.abs(left.toarray()) @ np.abs(right.toarray()), k + 2, dtype)
    call("cusparseSpGEMM_destroyDescr", made)
    # At the places of a sparse matrix.
    full = random_sparse(rng, m, n, dtype)
    x, y, z = Dense(rng, left.toarray(), kind), Dense(rng, right.toarray(), kind), Matrix(rng, full, kind, ["csr"])
    call("cusparseSDDMM", sparse, 0, 0, alpha, x.descriptor, y.descriptor, alpha, z.descriptor, NUMBERS[kind], 0, None)
    csr = full.tocsr()
    csr.sort_indices()
    row = np.repeat(np.arange(m), np.diff(csr.indptr))
    expected = exact(alpha)[0] * (want[row, csr.indices] + exact(csr.data))
    scale = np.abs(alpha) * ((np.abs(left.toarray()) @ np.abs(right.toarray()))[row, csr.indices] + np.abs(csr.data))
    near(z.memory[2].get(), expected, scale, k + 3, dtype)


@family
def solutions(rng):
    kind, dtype = letter(rng)
    n, nrhs, flag, half, unit = int(rng.integers(1, 20)), int(rng.integers(1, 4)), int(rng.integers(3)), int(rng.integers(2)), int(rng.integers(2))
    full = sp.coo_matrix(random_sparse(rng, n, n, dtype).toarray() * 0.3 + 2 * np.eye(n, dtype=dtype)).astype(dtype)
    a, alpha = Matrix(rng, full, kind, ["csr", "coo"], half, unit), values(rng, 1, dtype)
    dense = exact(full.toarray())
    dense = np.tril(dense) if half == 0 else np.triu(dense)
    if unit:
        dense = dense - np.diag(np.diag(dense)) + np.eye(n)
    dense = op(dense, flag)
    x = values(rng, n, dtype)
    u, v, made, size = Vector(x, kind), Vector(x * 0, kind), handle(call, "cusparseSpSV_createDescr"), np.zeros(1, np.uint64)
    arguments = (sparse, flag, alpha, a.descriptor, u.descriptor, v.descriptor, NUMBERS[kind], 0, made)
    call("cusparseSpSV_bufferSize", *arguments, size)
    call("cusparseSpSV_analysis", *arguments, None)
    call("cusparseSpSV_solve", *arguments)
    got, want = exact(v.memory.get()), exact(alpha)[0] * exact(x)
    near(dense @ got, want, np.abs(dense) @ np.abs(got) + np.abs(want), n + 2, dtype)
    right = values(rng, (n, nrhs), dtype)
    b, d, made = Dense(rng, right, kind), Dense(rng, right * 0, kind), handle(call, "cusparseSpSM_createDescr")
    arguments = (sparse, flag, 0, alpha, a.descriptor, b.descriptor, d.descriptor, NUMBERS[kind], 0, made)
    call("cusparseSpSM_analysis", *arguments, None)
    call("cusparseSpSM_solve", *arguments)
    got, want = exact(d.get()), exact(alpha)[0] * exact(right)
    near(dense @ got, want, np.abs(dense) @ np.abs(got) + np.abs(want), n + 2, dtype)


@family
def conversions(rng):
    kind, dtype = letter(rng)
    m, n = int(rng.integers(1, 20)), int(rng.integers(1, 20))
    full = random_sparse(rng, m, n, dtype)
    a, out, size = Matrix(rng, full, kind), Dense(rng, np.zeros((m, n), dtype), kind), np.zeros(1, np.uint64)
    call("cusparseSparseToDense", sparse, a.descriptor, out.descriptor, 0, None)
    np.testing.assert_array_equal(out.get(), full.toarray())
    # And back, in compressed rows.
    made, offsets = c.c_uint64(), Memory(np.zeros(m + 1, np.int32))
    call("cusparseCreateCsr", c.byref(made), wide(m), wide(n), wide(0), offsets, None, None, 2, 2, 0, NUMBERS[kind])
    call("cusparseDenseToSparse_analysis", sparse, out.descriptor, made, 0, None)
    rows, cols, nnz = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)
    call("cusparseSpMatGetSize", made, rows, cols, nnz)
    columns, data = Memory(np.zeros(nnz[0], np.int32)), Memory(np.zeros(nnz[0], dtype))
    call("cusparseCsrSetPointers", made, offsets, columns, data)
    call("cusparseDenseToSparse_convert", sparse, out.descriptor, made, 0, None)
    got = sp.csr_matrix((data.get(), columns.get(), offsets.get()), (m, n))
    np.testing.assert_array_equal(got.toarray(), full.toarray())
    # Lists: offsets to rows and back, sorted columns, the transpose.
    csr, base = full.tocsr(), int(rng.integers(2))
    described = handle(call, "cusparseCreateMatDescr")
    call("cusparseSetMatIndexBase", described, base)
    order = np.concatenate([rng.permutation(np.arange(*csr.indptr[i : i + 2])) for i in range(m)] or [[]]).astype(int)
    first, second, count = Memory((csr.indptr + base).astype(np.int32)), Memory((csr.indices[order] + base).astype(np.int32)), csr.nnz
    row, back, permutation = Memory(np.zeros(count, np.int32)), Memory(np.zeros(m + 1, np.int32)), Memory(np.zeros(count, np.int32))
    call("cusparseXcsr2coo", sparse, first, count, m, row, base)
    call("cusparseXcoo2csr", sparse, row, count, m, back, base)
    np.testing.assert_array_equal(back.get(), csr.indptr + base)
    call("cusparseCreateIdentityPermutation", sparse, count, permutation)
    call("cusparseXcsrsort", sparse, m, n, count, described, first, second, permutation, None)
    sorted_ = csr.copy()
    sorted_.sort_indices()
    np.testing.assert_array_equal(second.get(), sorted_.indices + base)
    np.testing.assert_array_equal(csr.data[order][permutation.get()], sorted_.data)
    value, lists = Memory(sorted_.data), [Memory(np.zeros(count, dtype)), Memory(np.zeros(n + 1, np.int32)), Memory(np.zeros(count, np.int32))]
    call("cusparseCsr2cscEx2", sparse, m, n, count, value, first, second, *lists, NUMBERS[kind], 1, base, 1, None)
    csc = full.tocsc()
    csc.sort_indices()
    for got, want in zip(lists, (csc.data, csc.indptr + base, csc.indices + base)):
        np.testing.assert_array_equal(got.get(), want)


@family
def sums(rng):
    kind, dtype = letter(rng)
    m, n = int(rng.integers(1, 20)), int(rng.integers(1, 20))
    summands = [random_sparse(rng, m, n, dtype).tocsr() for _ in range(2)]
    described, total = handle(call, "cusparseCreateMatDescr"), np.zeros(1, np.int32)
    for s in summands:
        s.sort_indices()
    lists = [[Memory(s.data), Memory(s.indptr.astype(np.int32)), Memory(s.indices.astype(np.int32))] for s in summands]
    (a, b), offsets = lists, Memory(np.zeros(m + 1, np.int32))
    alpha, beta = values(rng, 1, dtype), values(rng, 1, dtype)
    call(
        "cusparseXcsrgeam2Nnz", sparse, m, n, described, summands[0].nnz, a[1], a[2], described, summands[1].nnz, b[1], b[2], described, offsets, total, None
    )
    columns, data = Memory(np.zeros(total[0], np.int32)), Memory(np.zeros(total[0], dtype))
    call(
        f"cusparse{kind}csrgeam2", sparse, m, n, alpha, described, summands[0].nnz, *a, beta, described, summands[1].nnz, *b, described, data, offsets, columns, None
    )
    got = sp.csr_matrix((data.get(), columns.get(), offsets.get()), (m, n)).toarray()
    left, right = exact(alpha)[0] * exact(summands[0].toarray()), exact(beta)[0] * exact(summands[1].toarray())
    near(got, left + right, np.abs(left) + np.abs(right), 3, dtype)
    # Sparse vectors.
    length, count = int(rng.integers(1, 40)), 0
    count = int(rng.integers(0, length + 1))
    index, dense = np.sort(rng.choice(length, count, replace=False)).astype(np.int32), values(rng, length, dtype)
    part, made = Memory(values(rng, count, dtype)), c.c_uint64()
    indices, y, out = Memory(index), Vector(dense, kind), np.zeros(1, dtype)
    call("cusparseCreateSpVec", c.byref(made), wide(length), wide(count), indices, part, 2, 0, NUMBERS[kind])
    call("cusparseSpVV", sparse, 0, made, y.descriptor, out, NUMBERS[kind], None)
    x = exact(part.get())
    near(out, x @ exact(dense[index]), np.abs(x) @ np.abs(dense[index]), count + 2, dtype)
    call("cusparseAxpby", sparse, alpha, made, beta, y.descriptor)
    want = exact(beta)[0] * exact(dense)
    want[index] += exact(alpha)[0] * x
    near(y.memory.get(), want, np.abs(want) + np.abs(beta) * np.abs(dense) + 1, 3, dtype)
    call("cusparseGather", sparse, y.descriptor, made)
    np.testing.assert_array_equal(part.get(), y.memory.get()[index])


@family
def blocks(rng):
    """Formats of blocks and of padding: products, solutions, conversions."""
    kind, dtype = letter(rng)
    height, width, n = int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(1, 5))
    rows, cols, base = int(rng.integers(1, 6)), int(rng.integers(1, 6)), int(rng.integers(2))
    format, descriptor = pick(rng, ["bsr", "ell", "sell"]), c.c_uint64()
    if format == "bsr":
        by_rows = bool(rng.integers(2))
        pattern = random_sparse(rng, rows, cols, np.float64).tocsr()
        pattern.sort_indices()
        data = values(rng, (pattern.nnz, height, width), dtype)
        full = sp.bsr_matrix((data, pattern.indices, pattern.indptr), (rows * height, cols * width)).toarray()
        stored = data if by_rows else np.ascontiguousarray(data.transpose(0, 2, 1))
        memory = [Memory(x) for x in (pattern.indptr.astype(np.int32) + base, pattern.indices.astype(np.int64) + base, stored)]
        sizes = [wide(x) for x in (rows, cols, pattern.nnz, height, width)]
        call("cusparseCreateBsr", c.byref(descriptor), *sizes, *memory, 2, 3, base, NUMBERS[kind], 2 if by_rows else 1)
    elif format == "ell":
        of_line = int(rng.integers(0, cols + 1))
        places = np.array([rng.permutation(cols)[:of_line] for _ in range(rows)]).reshape(rows, of_line)
        places[rng.random(places.shape) < 0.3] = -1
        full, data = np.zeros((rows * height, cols * height), dtype), values(rng, (rows * height, of_line * height), dtype)
        for i, k in np.ndindex(places.shape):
            if places[i, k] >= 0:
                full[i * height : (i + 1) * height, places[i, k] * height : (places[i, k] + 1) * height] = data[i * height : (i + 1) * height, k * height : (k + 1) * height]
        memory = [Memory(np.where(places < 0, -1, places + base).astype(np.int32)), Memory(data)]
        sizes = [wide(x) for x in (rows * height, cols * height, height, of_line * height)]
        call("cusparseCreateBlockedEll", c.byref(descriptor), *sizes, *memory, 2, base, NUMBERS[kind])
        told = [np.zeros(1, np.int64) for _ in range(9)]
        call("cusparseBlockedEllGet", descriptor, *told)
        assert [int(x[0]) for x in told[:4]] == [x.value for x in sizes]
        # A dense matrix gives its elements at the places that there are, and zeros to padding.
        dense = values(rng, full.shape, dtype)
        memory[1], wanted = Memory(values(rng, data.shape, dtype)), np.zeros(data.shape, dtype)
        for i, k in np.ndindex(places.shape):
            if places[i, k] >= 0:
                wanted[i * height : (i + 1) * height, k * height : (k + 1) * height] = dense[i * height : (i + 1) * height, places[i, k] * height : (places[i, k] + 1) * height]
        call("cusparseSpMatSetValues", descriptor, memory[1])
        from_dense = Dense(rng, dense, kind)
        call("cusparseDenseToSparse_analysis", sparse, from_dense.descriptor, descriptor, 0, None)
        call("cusparseDenseToSparse_convert", sparse, from_dense.descriptor, descriptor, 0, None)
        np.testing.assert_array_equal(memory[1].get(), wanted)
        full = np.where(full != 0, dense, 0).astype(dtype)
    else:
        matrix = random_sparse(rng, rows * height, cols, dtype).tocsr()
        matrix.sort_indices()
        full, slice_size = matrix.toarray(), width
        offsets, columns, stored = [0], [], []
        for start in range(0, rows * height, slice_size):
            lists = [(matrix.indices[a:b], matrix.data[a:b]) for a, b in zip(matrix.indptr[start:], matrix.indptr[start + 1 : start + 1 + slice_size])]
            longest = max(len(x) for x, _ in lists)
            for k in range(longest):
                for i in range(slice_size):
                    there = i < len(lists) and k < len(lists[i][0])
                    columns.append(int(lists[i][0][k]) + base if there else -1)
                    stored.append(lists[i][1][k] if there else 0)
            offsets.append(len(columns))
        memory = [Memory(np.asarray(x, t)) for x, t in ((np.asarray(offsets) + base, np.int32), (columns, np.int32), (stored, dtype))]
        sizes = [wide(x) for x in (*full.shape, matrix.nnz, len(columns), slice_size)]
        call("cusparseCreateSlicedEll", c.byref(descriptor), *sizes, *memory, 2, 2, base, NUMBERS[kind])
    (alpha, beta), flag = scalars(rng, dtype), int(rng.integers(3))
    left, al, be = op(exact(full), flag), exact(alpha)[0], exact(beta)[0]
    right, old = values(rng, (left.shape[1], n), dtype), values(rng, (left.shape[0], n), dtype)
    b, d = Dense(rng, right, kind), Dense(rng, old, kind)
    call("cusparseSpMM", sparse, flag, 0, alpha, descriptor, b.descriptor, beta, d.descriptor, NUMBERS[kind], 0, None)
    scale = abs(al) * np.abs(left) @ np.abs(exact(right)) + np.abs(be * exact(old))
    near(d.get(), al * left @ exact(right) + be * exact(old), scale, left.shape[1] + 2, dtype)
    call("cusparseDestroySpMat", descriptor)


@family
def batches(rng):
    """Products with batches of sparse matrices, which may have one pattern."""
    kind, dtype = letter(rng)
    m, k, n, count, format = int(rng.integers(1, 9)), int(rng.integers(1, 9)), int(rng.integers(1, 5)), int(rng.integers(1, 5)), pick(rng, ["csr", "coo"])
    first = random_sparse(rng, m, k, dtype).tocsr()
    first.sort_indices()
    data, shared = values(rng, (count, first.nnz), dtype), rng.random() < 0.5
    lines = first.indptr if format == "csr" else first.tocoo().row
    repeat = 1 if shared and format == "csr" else count
    memory = [Memory(np.tile(x, repeat).astype(np.int32)) for x in (lines, first.indices if repeat == count else np.tile(first.indices, count))]
    memory.append(Memory(data))
    descriptor, kinds = c.c_uint64(), [2, 2] if format == "csr" else [2]
    call(f"cusparseCreate{format.capitalize()}", c.byref(descriptor), wide(m), wide(k), wide(first.nnz), *memory, *kinds, 0, NUMBERS[kind])
    if format == "csr":
        call("cusparseCsrSetStridedBatch", descriptor, count, wide(0 if shared else m + 1), wide(first.nnz))
    else:
        call("cusparseCooSetStridedBatch", descriptor, count, wide(first.nnz))
    told = np.zeros(1, np.int32)
    call("cusparseSpMatGetStridedBatch", descriptor, told)
    assert told[0] == count
    right, old, (alpha, beta) = values(rng, (count, n, k), dtype), values(rng, (count, n, m), dtype), scalars(rng, dtype)
    b, d = Memory(right), Memory(old)
    descriptors = []
    for rows, memory_ in ((k, b), (m, d)):
        made = c.c_uint64()
        call("cusparseCreateDnMat", c.byref(made), wide(rows), wide(n), wide(rows), memory_, NUMBERS[kind], 1)
        call("cusparseDnMatSetStridedBatch", made, count, wide(rows * n))
        descriptors.append(made)
    call("cusparseSpMM", sparse, 0, 0, alpha, descriptor, descriptors[0], beta, descriptors[1], NUMBERS[kind], 0, None)
    got = d.get()
    for i in range(count):
        full = exact(sp.csr_matrix((data[i], first.indices, first.indptr), (m, k)).toarray())
        al, be = exact(alpha)[0], exact(beta)[0]
        scale = abs(al) * np.abs(full) @ np.abs(exact(right[i]).T) + np.abs(be * exact(old[i]).T)
        near(got[i].T, al * full @ exact(right[i]).T + be * exact(old[i]).T, scale, k + 2, dtype)


@family
def reused_products(rng):
    """The places of a product once, its values twice."""
    kind, dtype = letter(rng)
    m, k, n = (int(rng.integers(1, 15)) for _ in range(3))
    left, right = random_sparse(rng, m, k, dtype), random_sparse(rng, k, n, dtype)
    a, b = Matrix(rng, left, kind, ["csr"]), Matrix(rng, right, kind, ["csr"])
    offsets, d, product = Memory(np.zeros(m + 1, np.int32)), c.c_uint64(), c.c_uint64()
    call("cusparseCreateCsr", c.byref(d), wide(m), wide(n), wide(0), offsets, None, None, 2, 2, 0, NUMBERS[kind])
    call("cusparseSpGEMM_createDescr", c.byref(product))
    sizes, some = [np.zeros(1, np.uint64) for _ in range(3)], Memory(np.zeros(64))
    for memory in (None, some):
        call("cusparseSpGEMMreuse_workEstimation", sparse, 0, 0, a.descriptor, b.descriptor, d, 0, product, sizes[0], memory)
    for memory in (None, some):
        call("cusparseSpGEMMreuse_nnz", sparse, 0, 0, a.descriptor, b.descriptor, d, 0, product, sizes[0], memory, sizes[1], memory, sizes[2], memory)
    shape = [np.zeros(1, np.int64) for _ in range(3)]
    call("cusparseSpMatGetSize", d, *shape)
    nnz = int(shape[2][0])
    columns, data = Memory(np.zeros(max(nnz, 1), np.int32)), Memory(np.zeros(max(nnz, 1), dtype))
    call("cusparseCsrSetPointers", d, offsets, columns, data)
    for memory in (None, some):
        call("cusparseSpGEMMreuse_copy", sparse, 0, 0, a.descriptor, b.descriptor, d, 0, product, sizes[0], memory)
    alpha, beta = values(rng, 1, dtype), np.zeros(1, dtype)
    wanted = exact(alpha)[0] * exact(left.toarray()) @ exact(right.toarray())
    scale = abs(exact(alpha)[0]) * np.abs(exact(left.toarray())) @ np.abs(exact(right.toarray()))
    for times in (1, 2):
        call("cusparseSpGEMMreuse_compute", sparse, 0, 0, alpha, a.descriptor, b.descriptor, beta, d, NUMBERS[kind], 0, product)
        got = sp.csr_matrix((data.get()[:nnz], columns.get()[:nnz], offsets.get()), (m, n)).toarray()
        near(got, times * wanted, times * scale, k + 4, dtype)
        beta[:] = 1
    call("cusparseSpGEMM_destroyDescr", product)


@family
def bands(rng):
    """Tridiagonal and pentadiagonal systems in all layouts; their bound has the condition of the matrix."""
    kind, dtype = letter(rng)
    m, n, form = int(rng.integers(3, 30)), int(rng.integers(1, 5)), pick(rng, ["gtsv2", "gtsv2_nopivot", "gtsv2StridedBatch", "gtsvInterleavedBatch", "gpsvInterleavedBatch"])
    reach, count = (2 if form.startswith("gpsv") else 1), (1 if form in ("gtsv2", "gtsv2_nopivot") else n)
    lists, right = [values(rng, (count, m), dtype) for _ in range(2 * reach + 1)], values(rng, (n, m), dtype)
    if form == "gtsv2_nopivot" or rng.random() < 0.5:
        lists[reach] += 4
    interleaved = form.endswith("InterleavedBatch")
    memory = [Memory(np.ascontiguousarray(x.T) if interleaved else x) for x in (*lists, right)]
    if count == 1 and not interleaved and "Batch" not in form:
        call(f"cusparse{kind}{form}", sparse, m, n, *memory, m, None)
    elif form == "gtsv2StridedBatch":
        call(f"cusparse{kind}{form}", sparse, m, *memory, n, m, None)
    else:
        call(f"cusparse{kind}{form}", sparse, 0, m, *memory, n, None)
    got = memory[-1].get()
    got = got.T if interleaved else got
    for i in range(n):
        full = np.zeros((m, m), np.complex128)
        for d, diagonal in enumerate(lists):
            row = exact(diagonal[min(i, count - 1)])
            for k in range(m):
                if 0 <= k + d - reach < m:
                    full[k, k + d - reach] = row[k]
        x = exact(got[i])
        # The residual of elimination with row exchanges.
        near(full @ x, exact(right[i]), np.linalg.norm(full) * np.linalg.norm(x) + 1, 16, dtype)


@family
def incomplete(rng):
    """Incomplete factors agree with the matrix at its own places (LU), or the lower half of them (Cholesky)."""
    kind, dtype = letter(rng)
    n, base, which = int(rng.integers(1, 20)), int(rng.integers(2)), pick(rng, ["csrilu02", "csric02"])
    full = exact(random_sparse(rng, n, n, dtype).toarray())
    if which == "csric02":
        full = full + full.conj().T
    full += np.diag(np.full(n, 1 + np.abs(full).sum()))
    matrix = sp.csr_matrix(full.astype(dtype))
    matrix.sort_indices()
    lists = [Memory(matrix.data), Memory(matrix.indptr.astype(np.int32) + base), Memory(matrix.indices.astype(np.int32) + base)]
    info, descriptor, size, place = c.c_uint64(), c.c_uint64(), np.zeros(1, np.int32), np.zeros(1, np.int32)
    call(f"cusparseCreate{which.capitalize()}Info", c.byref(info))
    call("cusparseCreateMatDescr", c.byref(descriptor))
    call("cusparseSetMatIndexBase", descriptor, base)
    call(f"cusparse{kind}{which}_bufferSize", sparse, n, matrix.nnz, descriptor, *lists, info, size)
    for step in ("_analysis", ""):
        call(f"cusparse{kind}{which}{step}", sparse, n, matrix.nnz, descriptor, *lists, info, 0, None)
    call(f"cusparseX{which}_zeroPivot", sparse, info, place)
    assert place[0] == -1
    factors = exact(sp.csr_matrix((lists[0].get(), matrix.indices, matrix.indptr), (n, n)).toarray())
    there = matrix.toarray() != 0
    if which == "csrilu02":
        left, right = np.tril(factors, -1) + np.eye(n), np.triu(factors)
    else:
        left, right, there = np.tril(factors), np.tril(factors).conj().T, np.tril(there)
        np.testing.assert_array_equal(np.triu(factors, 1), np.triu(exact(matrix.toarray()), 1))
    scale = np.abs(left) @ np.abs(right)
    near((left @ right)[there], exact(matrix.toarray())[there], scale[there], n + 2, dtype)
    # A row without a pivot is told, from the base on.
    row = int(rng.integers(n))
    zero = matrix.copy()
    zero.data = zero.data.copy()
    zero[row, row] = 0
    zero.eliminate_zeros()
    zero.sort_indices()
    lists = [Memory(zero.data), Memory(zero.indptr.astype(np.int32) + base), Memory(zero.indices.astype(np.int32) + base)]
    call(f"cusparse{kind}{which}_analysis", sparse, n, zero.nnz, descriptor, *lists, info, 0, None)
    assert call.status(f"cusparseX{which}_zeroPivot", sparse, info, place) == 9
    assert place[0] == row + base
    call(f"cusparseDestroy{which.capitalize()}Info", info)
    call("cusparseDestroyMatDescr", descriptor)


@family
def statuses(rng):
    """Wrong arguments have the documented status; indices out of range are not followed."""
    good, out, one = Memory(np.zeros(16)), c.c_uint64(), np.ones(1)
    assert call.status("cusparseCreateCsr", c.byref(out), wide(-1), wide(1), wide(0), good, good, good, 2, 2, 0, 1) == 3
    assert call.status("cusparseCreateCsr", c.byref(out), wide(1), wide(1), wide(0), good, good, good, 9, 2, 0, 1) == 3
    assert call.status("cusparseDestroy", c.c_uint64(5)) == 1
    x = Vector(np.zeros(3), "D")
    offsets, columns, data = Memory(np.asarray([0, 1, 2, 3], np.int32)), Memory(np.asarray([0, int(rng.integers(3, 1 << 30)), 1], np.int32)), Memory(np.ones(3))
    call("cusparseCreateCsr", c.byref(out), wide(3), wide(3), wide(3), offsets, columns, data, 2, 2, 0, 1)
    arguments = [sparse, 0, one, out, x.descriptor, one, x.descriptor, 1, 0, None]
    assert call.status("cusparseSpMV", *arguments) == 6
    y = Vector(np.zeros(4), "D")
    arguments[4] = y.descriptor
    assert call.status("cusparseSpMV", *arguments) == 3
    assert call.status("cusparseDbsrmv", sparse) == 10
    # Blocks that do not divide the matrix, a slice of no rows, lists that are too short, and a system that is too small.
    assert call.status("cusparseCreateBlockedEll", c.byref(out), wide(5), wide(4), wide(2), wide(2), good, good, 2, 0, 1) == 3
    assert call.status("cusparseCreateSlicedEll", c.byref(out), wide(5), wide(4), wide(2), wide(6), wide(0), good, good, good, 2, 2, 0, 1) == 3
    assert call.status("cusparseCreateSlicedEll", c.byref(out), wide(5), wide(4), wide(2), wide(7), wide(2), good, good, good, 2, 2, 0, 1) == 3
    assert call.status("cusparseCreateBsr", c.byref(out), wide(1), wide(1), wide(1), wide(0), wide(2), good, good, good, 2, 2, 0, 1, 1) == 3
    assert call.status("cusparseDgtsv2", sparse, 2, 1, good, good, good, good, 2, None) == 3
    assert call.status("cusparseDgpsvInterleavedBatch", sparse, 1, 4, good, good, good, good, good, good, 1, None) == 3
    assert call.status("cusparseCooSetStridedBatch", c.c_uint64(77), 1, wide(0)) == 3


if __name__ == "__main__":
    main()
