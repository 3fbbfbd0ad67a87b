"""cuSOLVER's dense solvers against NumPy and SciPy: residuals of factorisations, and values where they are unique."""

import ctypes as c

import numpy as np
import scipy.linalg
import scipy.sparse
from device import Memory, handle, library
from families import TYPES, exact, family, main, near, pick, values

call = library("libcusolver.so.11")
solver = handle(call, "cusolverDnCreate")
cusparse = library("libcusparse.so.12")


def letter(rng):
    kind = pick(rng, "SDCZ")
    return kind, TYPES[kind]


def real(dtype):
    return np.finfo(dtype).dtype


def matrix(rng, rows, cols, dtype):
    ld = rows + int(rng.integers(0, 3))
    whole = np.asfortranarray(values(rng, (ld, cols), dtype))
    return whole, whole[:rows, :cols], ld


def positive(rng, n, dtype):
    """A Hermitian positive definite matrix with a leading dimension."""
    whole, part, ld = matrix(rng, n, n, dtype)
    part[:] = (exact(part) @ exact(part).conj().T + n * np.eye(n)).astype(dtype)
    part[np.diag_indices(n)] = part.diagonal().real
    return whole, part, ld


def buffer(name, *arguments):
    """The workspace that a function asks for."""
    size = np.zeros(1, np.int32)
    call(f"{name}_bufferSize", solver, *arguments, size)
    return Memory(np.zeros(max(int(size[0]), 1), np.complex128)), int(size[0])


def info():
    return Memory(np.full(1, 77, np.int32))


def word(kind, real_name, complex_name):
    return f"cusolverDn{kind}{real_name if kind in 'SD' else complex_name}"


def told_residual(name, params):
    """The residual of the last method with these parameters."""
    residual = np.zeros(1)
    call(f"cusolverDnX{name}GetResidual", solver, params, residual)
    return residual[0]


def half_of(m, uplo):
    return np.tril(m) if uplo == 0 else np.triu(m)


def adjoint(m):
    return m.conj().T


@family
def lu(rng):
    kind, dtype = letter(rng)
    m, n, nrhs = (int(rng.integers(1, 60)) for _ in range(3))
    a, a_part, lda = matrix(rng, m, n, dtype)
    x, pivots, told = Memory(a), Memory(np.zeros(min(m, n), np.int32)), info()
    work, size = buffer(f"cusolverDn{kind}getrf", m, n, x, lda)
    call(f"cusolverDn{kind}getrf", solver, m, n, x, lda, work, pivots, told)
    assert told.get()[0] == 0
    out, swaps, k = exact(x.get()[:m, :n]), pivots.get() - 1, min(m, n)
    lower = np.tril(out, -1)[:, :k] + np.eye(m, k)
    back = lower @ np.triu(out)[:k]
    for i in reversed(range(k)):
        back[[i, swaps[i]]] = back[[swaps[i], i]]
    near(back, exact(a_part), np.linalg.norm(a_part) + 1, 4 * k, dtype)
    if m == n:
        trans = int(rng.integers(3))
        b, b_part, ldb = matrix(rng, n, nrhs, dtype)
        y = Memory(b)
        call(f"cusolverDn{kind}getrs", solver, trans, n, nrhs, x, lda, pivots, y, ldb, told)
        full = [exact(a_part), exact(a_part).T, adjoint(exact(a_part))][trans]
        got = exact(y.get()[:n])
        near(full @ got, exact(b_part), np.linalg.norm(full) * np.linalg.norm(got) + 1, 4 * n, dtype)


@family
def cholesky(rng):
    kind, dtype = letter(rng)
    n, nrhs, uplo = int(rng.integers(1, 60)), int(rng.integers(1, 6)), int(rng.integers(2))
    a, a_part, lda = positive(rng, n, dtype)
    x, told = Memory(a), info()
    work, size = buffer(f"cusolverDn{kind}potrf", uplo, n, x, lda)
    call(f"cusolverDn{kind}potrf", solver, uplo, n, x, lda, work, size, told)
    assert told.get()[0] == 0
    out = x.get()[:n, :n]
    factor = exact(half_of(out, uplo))
    back = factor @ adjoint(factor) if uplo == 0 else adjoint(factor) @ factor
    near(back, exact(a_part), np.linalg.norm(a_part), 2 * n, dtype)
    np.testing.assert_array_equal(half_of(out, 1 - uplo) - np.diag(np.diag(out)), half_of(a_part, 1 - uplo) - np.diag(np.diag(a_part)))
    b, b_part, ldb = matrix(rng, n, nrhs, dtype)
    y = Memory(b)
    call(f"cusolverDn{kind}potrs", solver, uplo, n, nrhs, x, lda, y, ldb, told)
    got = exact(y.get()[:n])
    near(exact(a_part) @ got, exact(b_part), np.linalg.norm(a_part) * np.linalg.norm(got) + 1, 4 * n, dtype)
    call(f"cusolverDn{kind}potri", solver, uplo, n, x, lda, work, size, told)
    inverse = exact(half_of(x.get()[:n, :n], uplo))
    inverse = inverse + adjoint(inverse) - np.diag(np.diag(inverse))
    near(inverse @ exact(a_part), np.eye(n), np.linalg.cond(exact(a_part)), 4 * n, dtype)
    # The first minor that is not positive definite is told.
    k = int(rng.integers(n))
    a_part[k, k] = -abs(a_part[k, k]) - 1000 * n
    z = Memory(a)
    call(f"cusolverDn{kind}potrf", solver, uplo, n, z, lda, work, size, told)
    assert told.get()[0] == k + 1


@family
def qr(rng):
    kind, dtype = letter(rng)
    m, n = int(rng.integers(1, 50)), int(rng.integers(1, 50))
    a, a_part, lda = matrix(rng, m, n, dtype)
    k = min(m, n)
    x, tau, told = Memory(a), Memory(np.zeros(k, dtype)), info()
    work, size = buffer(f"cusolverDn{kind}geqrf", m, n, x, lda)
    call(f"cusolverDn{kind}geqrf", solver, m, n, x, lda, tau, work, size, told)
    out = x.get()
    upper = exact(np.triu(out[:m, :n])[:k])
    # The same packed form as LAPACK's, element for element.
    reference = scipy.linalg.qr(exact(a_part), mode="raw")[0]
    near(out[:m, :n], reference[0], np.linalg.norm(a_part) * 2, 8 * (m + n), dtype)
    near(tau.get(), reference[1], np.full(k, 2.0), 8 * (m + n) * max(1, np.linalg.cond(exact(a_part)[:, :k])), dtype)
    y = Memory(out)
    name = word(kind, "orgqr", "ungqr")
    call(name, solver, m, k, k, y, lda, tau, work, size, told)
    q = exact(y.get()[:m, :k])
    near(adjoint(q) @ q, np.eye(k), 1, 4 * m, dtype)
    near(q @ upper, exact(a_part), np.linalg.norm(a_part) + 1, 4 * m, dtype)
    side, trans = int(rng.integers(2)), pick(rng, [0, 1 if kind in "SD" else 2])
    other = int(rng.integers(1, 8))
    rows, cols = (other, m) if side else (m, other)
    b, b_part, ldb = matrix(rng, rows, cols, dtype)
    z = Memory(b)
    call(word(kind, "ormqr", "unmqr"), solver, side, trans, rows, cols, k, x, lda, tau, z, ldb, work, size, told)
    full = np.zeros((m, m), complex)
    vectors = np.tril(exact(out[:m, :k]), -1) + np.eye(m, k)
    full = np.eye(m)
    for i, t in enumerate(exact(tau.get())):
        full = full @ (np.eye(m) - t * np.outer(vectors[:, i], vectors[:, i].conj()))
    full = adjoint(full) if trans else full
    want = exact(b_part) @ full if side else full @ exact(b_part)
    near(z.get()[:rows, :cols], want, np.linalg.norm(b_part) + 1, 4 * m, dtype)


@family
def eigenvalues(rng):
    kind, dtype = letter(rng)
    n, uplo, mode = int(rng.integers(1, 50)), int(rng.integers(2)), int(rng.integers(2))
    a, a_part, lda = matrix(rng, n, n, dtype)
    if rng.random() < 0.2:
        # Repeated eigenvalues.
        q = np.linalg.qr(exact(a_part))[0]
        a_part[:] = (q @ np.diag(rng.integers(0, 3, n)) @ adjoint(q)).astype(dtype)
    half = exact(half_of(a_part, uplo))
    full = half + adjoint(half) - np.diag(np.diag(half))
    full = full - 1j * np.diag(np.diag(full).imag) if kind in "CZ" else full
    x, w, told = Memory(a), Memory(np.zeros(n, real(dtype))), info()
    name = word(kind, "syevd", "heevd") if rng.random() < 0.5 else word(kind, "syevj", "heevj")
    extra = ()
    if name.endswith("j"):
        extra = (handle(call, "cusolverDnCreateSyevjInfo"),)
    size = np.zeros(1, np.int32)
    call(f"{name}_bufferSize", solver, mode, uplo, n, x, lda, w, size, *extra)
    call(name, solver, mode, uplo, n, x, lda, w, x, int(size[0]), told, *extra)
    assert told.get()[0] == 0
    values_ = w.get().astype(float)
    near(values_, np.linalg.eigvalsh(full), np.linalg.norm(full) + 1, 2 * n, dtype)
    if mode:
        v = exact(x.get()[:n, :n])
        near(adjoint(v) @ v, np.eye(n), 1, 4 * n, dtype)
        near(full @ v, v * values_, np.linalg.norm(full) + 1, 4 * n, dtype)
    if extra:
        rest = told_residual("syevj", *extra)
        near(rest, 0, np.linalg.norm(full) + 1, 4 * n, dtype)
        assert rest > 0 or n < 4, "no product of rounded factors is exact"


@family
def generalised_eigenvalues(rng):
    kind, dtype = letter(rng)
    n, uplo, itype = int(rng.integers(1, 20)), int(rng.integers(2)), int(rng.integers(1, 4))
    a, a_part, lda = positive(rng, n, dtype)
    b, b_part, ldb = positive(rng, n, dtype)
    x, y, w, told = Memory(a), Memory(b), Memory(np.zeros(n, real(dtype))), info()
    name = word(kind, "sygvd", "hegvd")
    call(name, solver, itype, 1, uplo, n, x, lda, y, ldb, w, x, 1, told)
    assert told.get()[0] == 0
    left, right, v, l = exact(a_part), exact(b_part), exact(x.get()[:n, :n]), w.get().astype(float)
    first, second = {1: (left @ v, right @ v * l), 2: (left @ right @ v, v * l), 3: (right @ left @ v, v * l)}[itype]
    scale = np.linalg.norm(left) * np.linalg.norm(right) * np.linalg.norm(v) + 1
    near(first, second, scale, 8 * n, dtype)


@family
def singular_values(rng):
    kind, dtype = letter(rng)
    m, n = int(rng.integers(1, 40)), int(rng.integers(1, 40))
    jacobi = rng.random() < 0.5
    if not jacobi and m < n:
        m, n = n, m
    a, a_part, lda = matrix(rng, m, n, dtype)
    if rng.random() < 0.2:
        a_part[:, n // 2 :] = a_part[:, : n - n // 2]
    k = min(m, n)
    x, s, told = Memory(a), Memory(np.zeros(k, real(dtype))), info()
    u, v = Memory(np.zeros((m, m), dtype, order="F")), Memory(np.zeros((n, n), dtype, order="F"))
    if jacobi:
        economical = int(rng.integers(2))
        params = handle(call, "cusolverDnCreateGesvdjInfo")
        call(f"cusolverDn{kind}gesvdj", solver, 1, economical, m, n, x, lda, s, u, m, v, n, x, 1, told, params)
        columns = k if economical else m
        left, right = exact(u.get()[:, :columns]), adjoint(exact(v.get()[:, : k if economical else n]))
    else:
        whole = rng.random() < 0.5
        call(f"cusolverDn{kind}gesvd", solver, c.c_byte(ord("A" if whole else "S")), c.c_byte(ord("A")), m, n, x, lda, s, u, m, v, n, x, 1, None, told)
        columns = m if whole else n
        left, right = exact(u.get()[:, :columns]), exact(v.get())
    assert told.get()[0] == 0
    got = s.get().astype(float)
    near(got, np.linalg.svd(exact(a_part), compute_uv=False), np.linalg.norm(a_part) + 1e-3, m + n, dtype)
    near(adjoint(left) @ left, np.eye(columns), 1, 4 * (m + n), dtype)
    near(right @ adjoint(right), np.eye(len(right)), 1, 4 * (m + n), dtype)
    near(left[:, :k] * got @ right[:k], exact(a_part), np.linalg.norm(a_part) + 1e-3, 4 * (m + n), dtype)
    if jacobi:
        rest = told_residual("gesvdj", params)
        near(rest, 0, np.linalg.norm(a_part) + 1e-3, 4 * (m + n), dtype)
        assert rest > 0 or k < 4, "no product of rounded factors is exact"


@family
def largest_singular_values(rng):
    """Of several tall matrices, with what they leave of each."""
    kind, dtype = letter(rng)
    n, batch, mode = int(rng.integers(1, 12)), int(rng.integers(1, 4)), int(rng.integers(2))
    m, rank = n + int(rng.integers(0, 12)), int(rng.integers(1, n + 1))
    apart = int(rng.integers(0, 5))
    sizes = [m * n + apart, rank + apart, m * rank + apart, n * rank + apart]
    a = values(rng, (batch, sizes[0]), dtype)
    x, s = Memory(a.ravel()), Memory(np.zeros(batch * sizes[1], real(dtype)))
    u, v = (Memory(np.zeros(batch * size, dtype)) for size in sizes[2:])
    told, rest = Memory(np.full(batch, 77, np.int32)), np.full(batch, np.nan)
    step_a, step_s, step_u, step_v = map(c.c_longlong, sizes)
    shape = (solver, mode, rank, m, n)
    call(f"cusolverDn{kind}gesvdaStridedBatched", *shape, x, m, step_a, s, step_s, u, m, step_u, v, n, step_v, x, 1, told, rest, batch)
    assert not told.get().any()
    for k in range(batch):
        one = exact(a[k, : m * n].reshape((m, n), order="F"))
        all_values = np.linalg.svd(one, compute_uv=False)
        scale = np.linalg.norm(one) + 1e-3
        near(s.get().reshape(batch, -1)[k, :rank], all_values[:rank], scale, m + n, dtype)
        near(rest[k], np.linalg.norm(all_values[rank:]), scale, 4 * (m + n), dtype)
        if mode:
            left = exact(u.get().reshape(batch, -1)[k, : m * rank].reshape((m, rank), order="F"))
            right = exact(v.get().reshape(batch, -1)[k, : n * rank].reshape((n, rank), order="F"))
            near(np.linalg.norm(one - left * all_values[:rank] @ adjoint(right)), rest[k], scale, 8 * (m + n), dtype)


@family
def selected_eigenvalues(rng):
    """Eigenvalues of a range, by number or by value, and their vectors; of one matrix, or of two."""
    kind, dtype = letter(rng)
    n, uplo, mode, generic, two = int(rng.integers(1, 25)), int(rng.integers(2)), int(rng.integers(2)), rng.random() < 0.3, rng.random() < 0.4
    a, a_part, lda = positive(rng, n, dtype)
    b, b_part, ldb = positive(rng, n, dtype)
    left, right = exact(a_part), exact(b_part) if two and not generic else np.eye(n)
    every = scipy.linalg.eigh(left, right, eigvals_only=True)
    # Limits lie between eigenvalues, so that rounding does not choose.
    which, cut = pick(rng, [1001, 1002, 1003]), sorted(int(x) for x in rng.integers(0, n + 1, 2))
    middle = np.concatenate([[every[0] - 1], (every[1:] + every[:-1]) / 2, [every[-1] + 1]])
    low, high = (middle[cut[0]], middle[cut[1]]) if cut[0] < cut[1] else (middle[0], middle[-1])
    if np.any(np.abs(every[:, None] - [low, high]) < 1e-4 * np.abs(every).max()):
        which = 1001
    first, last = cut[0] + 1 if cut[0] < n else n, max(cut[1], cut[0] + 1 if cut[0] < n else n)
    part = {1001: slice(0, n), 1002: slice(first - 1, last), 1003: slice(int(np.searchsorted(every, low)), int(np.searchsorted(every, high)))}[which]
    x, y, w, told, found = Memory(a), Memory(b), Memory(np.zeros(n, real(dtype))), info(), np.full(1, -1, np.int64)
    limit = (lambda v: c.c_float(v)) if kind in "SC" else (lambda v: c.c_double(v))
    ranged = (limit(low), limit(high), first, last, found)
    wide, number = c.c_longlong, {"S": (0, 0), "D": (1, 1), "C": (4, 0), "Z": (5, 1)}[kind]
    if generic:
        ends = [np.asarray([v], real(dtype)) for v in (low, high)]
        call("cusolverDnXsyevdx", solver, None, mode, which, uplo, wide(n), number[0], x, wide(lda), *ends, wide(first), wide(last), found, number[1], w, number[0], x, c.c_size_t(1), None, c.c_size_t(0), told)
    elif two:
        call(word(kind, "sygvdx", "hegvdx"), solver, 1, mode, which, uplo, n, x, lda, y, ldb, *ranged, w, x, 1, told)
    else:
        call(word(kind, "syevdx", "heevdx"), solver, mode, which, uplo, n, x, lda, *ranged, w, x, 1, told)
    count = int(found.view(np.int32)[0])
    wanted = every[part]
    assert told.get()[0] == 0 and count == len(wanted), f"{count} eigenvalues instead of {len(wanted)}"
    got = w.get()[:count].astype(float)
    scale = (np.linalg.norm(left) + 1) * np.linalg.cond(right)
    near(got, wanted, scale, 8 * n, dtype)
    if mode and count:
        v = exact(x.get()[:n, :count])
        near(left @ v, right @ v * got, scale * np.linalg.norm(right) * max(np.linalg.norm(v), 1), 8 * n, dtype)


@family
def other_singular_values(rng):
    """Singular values by the polar decomposition, and the largest ones by the randomised method."""
    kind, dtype = letter(rng)
    m, n = int(rng.integers(1, 20)), int(rng.integers(1, 20))
    least, wide, number = min(m, n), c.c_longlong, {"S": (0, 0), "D": (1, 1), "C": (4, 0), "Z": (5, 1)}[kind]
    a, a_part, lda = matrix(rng, m, n, dtype)
    x, told, s = Memory(a), info(), Memory(np.zeros(least, real(dtype)))
    every, scale = np.linalg.svd(exact(a_part), compute_uv=False), np.linalg.norm(a_part) + 1
    if rng.random() < 0.5:
        economical, error = int(rng.integers(2)), np.full(1, 7.0)
        shapes = [(rows, least if economical else rows) for rows in (m, n)]
        u, v = (Memory(np.zeros(shape, dtype, order="F")) for shape in shapes)
        call("cusolverDnXgesvdp", solver, None, 1, economical, wide(m), wide(n), number[0], x, wide(lda), number[1], s, number[0], u, wide(m), number[0], v, wide(n), number[0], x, c.c_size_t(1), None, c.c_size_t(0), told, error)
        assert told.get()[0] == 0 and error[0] == 0
        left, right, values_ = exact(u.get())[:, :least], exact(v.get())[:, :least], s.get().astype(float)
        near(values_, every, scale, 4 * (m + n), dtype)
        near(left * values_ @ adjoint(right), exact(a_part), scale, 8 * (m + n), dtype)
    else:
        rank = int(rng.integers(1, least + 1))
        u, v = Memory(np.zeros((m, rank), dtype, order="F")), Memory(np.zeros((n, rank), dtype, order="F"))
        job = c.c_byte(ord("S"))
        call("cusolverDnXgesvdr", solver, None, job, job, wide(m), wide(n), wide(rank), wide(least - rank), wide(2), number[0], x, wide(lda), number[1], s, number[0], u, wide(m), number[0], v, wide(n), number[0], x, c.c_size_t(1), None, c.c_size_t(0), told)
        assert told.get()[0] == 0
        left, right, values_ = exact(u.get()), exact(v.get()), s.get().astype(float)[:rank]
        near(values_, every[:rank], scale, 4 * (m + n), dtype)
        near(exact(a_part) @ right, left * values_, scale, 8 * (m + n), dtype)


@family
def nonsymmetric_eigenvalues(rng):
    """Matrices without structure: eigenvalues as a set, and right vectors in the forms that there are."""
    kind, dtype = letter(rng)
    n, right, wide = int(rng.integers(1, 25)), int(rng.integers(2)), c.c_longlong
    real_number, complex_number = {"S": (0, 4), "D": (1, 5), "C": (4, 4), "Z": (5, 5)}[kind]
    a, a_part, lda = matrix(rng, n, n, dtype)
    if rng.random() < 0.2:
        a_part[:] = np.triu(a_part)
    both = np.result_type(dtype, np.complex64)
    w_number, v_number = pick(rng, [(real_number, real_number), (complex_number, real_number), (complex_number, complex_number)])
    x, told = Memory(a), info()
    w = Memory(np.zeros(n, both) if w_number == complex_number else np.zeros(2 * n, dtype))
    v = Memory(np.zeros((n, n), both if v_number == complex_number else dtype, order="F"))
    call("cusolverDnXgeev", solver, None, 0, right, wide(n), real_number, x, wide(lda), w_number, w, v_number, None, wide(n), v_number, v, wide(n), real_number, x, c.c_size_t(1), None, c.c_size_t(0), told)
    assert told.get()[0] == 0
    got = w.get().astype(np.complex128) if w_number == complex_number else w.get()[:n] + 1j * w.get()[n:].astype(float)
    full, scale = exact(a_part).astype(np.complex128), np.linalg.norm(a_part) + 1
    # Sums of powers do not depend on the order, nor on how well single values are determined.
    near(got.sum(), np.trace(full), scale * n, 16 * n, dtype)
    near((got**2).sum(), np.trace(full @ full), scale**2 * n, 16 * n, dtype)
    for value in got:
        assert np.linalg.svd(full - value * np.eye(n), compute_uv=False)[-1] <= 64 * n * np.finfo(dtype).eps * scale
    if right:
        vectors = exact(v.get()).astype(np.complex128)
        if v_number in (0, 1):
            packed, vectors, j = vectors, vectors.copy(), 0
            while j < n:
                if got[j].imag > 0:
                    vectors[:, j], vectors[:, j + 1] = packed[:, j] + 1j * packed[:, j + 1], packed[:, j] - 1j * packed[:, j + 1]
                    j += 1
                j += 1
        near(full @ vectors, vectors * got, scale, 64 * n, dtype)
        near(np.linalg.norm(vectors, axis=0), np.ones(n), 1, 8 * n, dtype)
    assert call.status("cusolverDnXgeev", solver, None, 1, 0, wide(n), real_number, x, wide(lda), w_number, w, v_number, v, wide(n), v_number, v, wide(n), real_number, x, c.c_size_t(1), None, c.c_size_t(0), told) == 3


@family
def sparse_systems(rng):
    """Sparse systems on the device and on the host, alone and in batches."""
    kind, dtype = letter(rng)
    n, count, base = int(rng.integers(1, 30)), int(rng.integers(1, 4)), int(rng.integers(2))
    name = pick(rng, ["csrlsvqr", "csrlsvqrHost", "csrlsvluHost", "csrlsvchol", "csrlsvcholHost", "csrqrsvBatched"])
    full = np.where(rng.random((n, n)) < 0.2, exact(values(rng, (n, n), dtype)), 0)
    full[np.arange(n), rng.permutation(n)] += 2
    if "chol" in name:
        full = full @ adjoint(full) + np.eye(n)
    there = scipy.sparse.csr_matrix(full.astype(dtype))
    there.sort_indices()
    descriptor, right = handle(cusparse, "cusparseCreateMatDescr"), values(rng, (count, n), dtype)
    cusparse("cusparseSetMatIndexBase", descriptor, base)
    lists = [there.data, there.indptr.astype(np.int32) + base, there.indices.astype(np.int32) + base]
    solution, tolerance = np.zeros((count, n), dtype), (c.c_float if kind in "SC" else c.c_double)(0)
    single, singular = c.c_uint64(), np.full(1, 77, np.int32)
    call("cusolverSpCreate", c.byref(single))
    if name == "csrqrsvBatched":
        many = np.stack([there.data * (1 + k) for k in range(count)]).astype(dtype)
        memory, x, plan = [Memory(many), Memory(lists[1]), Memory(lists[2]), Memory(right)], Memory(solution), handle(call, "cusolverSpCreateCsrqrInfo")
        call("cusolverSpXcsrqrAnalysisBatched", single, n, n, there.nnz, descriptor, *memory[1:3], plan)
        call(f"cusolverSp{kind}csrqrsvBatched", single, n, n, there.nnz, descriptor, *memory, x, count, plan, None)
        solution, factors = x.get(), [1 + k for k in range(count)]
        call("cusolverSpDestroyCsrqrInfo", plan)
    else:
        onto = (lambda array: array) if name.endswith("Host") else Memory
        memory, x, factors = [onto(y) for y in (*lists, right[0])], onto(solution[0]), [1]
        call(f"cusolverSp{kind}{name}", single, n, there.nnz, descriptor, *memory, tolerance, 0, x, singular)
        assert singular[0] == -1
        solution = [x if name.endswith("Host") else x.get()]
        # A column of zeros is told.
        column = int(rng.integers(n))
        zeroed = np.where(there.indices == column, 0, there.data).astype(dtype)
        call(f"cusolverSp{kind}{name}", single, n, there.nnz, descriptor, onto(zeroed), *memory[1:], tolerance, 0, x, singular)
        assert 0 <= singular[0] < n
    matrix_ = exact(there.toarray())
    for k, factor in enumerate(factors):
        got = exact(solution[k])
        near(factor * matrix_ @ got, exact(right[k]), factor * np.linalg.norm(matrix_) * np.linalg.norm(got) + 1, 8 * n, dtype)
    call("cusolverSpDestroy", single)
    assert call.status("cusolverSpDestroy", single) == 1


@family
def statuses(rng):
    """Wrong arguments have the documented status."""
    kind, _ = letter(rng)
    good, told = Memory(np.eye(8, dtype=np.complex128)), info()
    assert call.status(f"cusolverDn{kind}potrf", c.c_uint64(0), 0, 4, good, 4, good, 1, told) == 1
    assert call.status(f"cusolverDn{kind}potrf", solver, 5, 4, good, 4, good, 1, told) == 3
    assert call.status(f"cusolverDn{kind}potrf", solver, 0, -1, good, 4, good, 1, told) == 3
    assert call.status(f"cusolverDn{kind}potrf", solver, 0, 4, good, 3, good, 1, told) == 3
    assert call.status(f"cusolverDn{kind}gesvd", solver, c.c_byte(65), c.c_byte(65), 3, 4, good, 4, good, good, 4, good, 4, good, 1, None, told) == 3
    assert call.status("cusolverRfCreate", solver) == 9


if __name__ == "__main__":
    main()
