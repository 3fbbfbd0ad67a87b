"""cuSOLVER's dense solvers against NumPy and SciPy: residuals of factorisations, and values where they are unique."""

import ctypes as c

import numpy as np
import scipy.linalg
from device import Memory, handle, library
from families import TYPES, exact, family, main, near, pick, values

call = library("libcusolver.so.11")
solver = handle(call, "cusolverDnCreate")


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
    assert call.status("cusolverSpCreate", solver) == 9


if __name__ == "__main__":
    main()
