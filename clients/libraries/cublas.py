"""cuBLAS against NumPy and SciPy: random sizes, leading dimensions, steps, operations, types, scalars, batches."""

import ctypes as c

import numpy as np
import scipy.linalg
from device import Memory, handle, library
from families import TYPES, exact, family, main, near, pick, values

call = library("libcublas.so.12")
blas = handle(call, "cublasCreate_v2")


def op(matrix, flag):
    return [matrix, matrix.T, matrix.conj().T][flag]


def size(rng, most=24):
    return int(rng.integers(0, most)) if rng.random() < 0.1 else int(rng.integers(1, most))


def matrix(rng, rows, cols, dtype):
    """A matrix with a leading dimension: its memory, and the part that counts."""
    ld = max(1, rows) + int(rng.integers(0, 4))
    whole = np.asfortranarray(values(rng, (ld, max(cols, 1)), dtype))
    return whole, whole[:rows, :cols], ld


def vector(rng, n, dtype, positive=False):
    """A vector with a step: its memory, the elements in order, the step."""
    step = int(rng.integers(1, 4))
    whole = values(rng, max(1, (n - 1) * step + 1), dtype)
    part = whole[: (n - 1) * step + 1 : step] if n else whole[:0]
    if positive or rng.random() < 0.7:
        return whole, part, step
    return whole, part[::-1], -step


def scalar(rng, dtype):
    return values(rng, 1, dtype) if rng.random() < 0.8 else np.asarray([pick(rng, [0, 1])], dtype)


def letter(rng, letters="SDCZ"):
    kind = pick(rng, letters)
    return kind, TYPES[kind]


def real(dtype):
    return np.finfo(dtype).dtype


@family
def gemm(rng):
    kind, dtype = letter(rng)
    m, n, k = size(rng), size(rng), size(rng)
    ta, tb = int(rng.integers(3)), int(rng.integers(3))
    a, a_part, lda = matrix(rng, *((m, k) if ta == 0 else (k, m)), dtype)
    b, b_part, ldb = matrix(rng, *((k, n) if tb == 0 else (n, k)), dtype)
    full, part, ldc = matrix(rng, m, n, dtype)
    alpha, beta = scalar(rng, dtype), scalar(rng, dtype)
    old = exact(part)
    if beta[0] == 0:
        part[:] = np.nan
    left, right = op(exact(a_part), ta), op(exact(b_part), tb)
    x, y, z = Memory(a), Memory(b), Memory(full)
    call(f"cublas{kind}gemm_v2", blas, ta, tb, m, n, k, alpha, x, lda, y, ldb, beta, z, ldc)
    al, be = exact(alpha)[0], exact(beta)[0]
    out = z.get()
    want = al * (left @ right) + be * old
    near(out[:m, :n], want, abs(al) * (np.abs(left) @ np.abs(right)) + np.abs(be * old), k + 2, dtype)
    np.testing.assert_array_equal(out[m:], full[m:])


@family
def gemm_batched(rng):
    kind, dtype = letter(rng)
    m, n, k, batch = size(rng, 9), size(rng, 9), size(rng, 9), int(rng.integers(1, 5))
    ta, tb = int(rng.integers(3)), int(rng.integers(3))
    a = [np.asfortranarray(values(rng, (m, k) if ta == 0 else (k, m), dtype)) for _ in range(batch)]
    b = [np.asfortranarray(values(rng, (k, n) if tb == 0 else (n, k), dtype)) for _ in range(batch)]
    out = [np.asfortranarray(values(rng, (m, n), dtype)) for _ in range(batch)]
    alpha, beta = scalar(rng, dtype), scalar(rng, dtype)
    lda, ldb, ldc = (max(1, x[0].shape[0]) for x in (a, b, out))
    al, be = exact(alpha)[0], exact(beta)[0]
    if rng.random() < 0.5:
        xs, ys, zs = ([Memory(x) for x in list] for list in (a, b, out))
        pointers = [Memory(np.asarray([x.address.value for x in list], np.uint64)) for list in (xs, ys, zs)]
        call(f"cublas{kind}gemmBatched", blas, ta, tb, m, n, k, alpha, pointers[0], lda, pointers[1], ldb, beta, pointers[2], ldc, batch)
        got = [z.get() for z in zs]
    else:
        stacks = [np.concatenate([x.ravel(order="F") for x in list] + [np.zeros(1, dtype)]) for list in (a, b, out)]
        x, y, z = map(Memory, stacks)
        stride = [c.c_longlong(list[0].size) for list in (a, b, out)]
        call(
            f"cublas{kind}gemmStridedBatched", blas, ta, tb, m, n, k, alpha, x, lda, stride[0], y, ldb, stride[1], beta, z, ldc, stride[2], batch
        )
        flat = z.get()
        got = [flat[i * m * n : (i + 1) * m * n].reshape((m, n), order="F") for i in range(batch)]
    for i in range(batch):
        left, right, old = op(exact(a[i]), ta), op(exact(b[i]), tb), exact(out[i])
        near(got[i], al * (left @ right) + be * old, abs(al) * (np.abs(left) @ np.abs(right)) + np.abs(be * old), k + 2, dtype)


def half_of(matrix, uplo):
    return np.tril(matrix) if uplo == 0 else np.triu(matrix)


def whole_of(matrix, uplo, hermitian):
    """The matrix whose half is stored."""
    half = half_of(matrix, uplo)
    other = (half.conj() if hermitian else half).T
    out = half + other - np.diag(np.diag(half))
    return out - 1j * np.diag(np.diag(out).imag) if hermitian and np.iscomplexobj(out) else out


@family
def rank_updates(rng):
    hermitian = bool(rng.random() < 0.5)
    kind, dtype = letter(rng, "CZ" if hermitian else "SDCZ")
    n, k, uplo = size(rng), size(rng), int(rng.integers(2))
    trans = int(rng.integers(2)) * (2 if hermitian else 1)
    two = pick(rng, ["rk", "r2k", "rkx"])
    shape = (n, k) if trans == 0 else (k, n)
    a, a_part, lda = matrix(rng, *shape, dtype)
    b, b_part, ldb = matrix(rng, *shape, dtype)
    full, part, ldc = matrix(rng, n, n, dtype)
    alpha = scalar(rng, real(dtype) if hermitian and two == "rk" else dtype)
    beta = scalar(rng, real(dtype) if hermitian else dtype)
    x, y, z = Memory(a), Memory(b), Memory(full)
    name = f"cublas{kind}{'he' if hermitian else 'sy'}{two}" + ("" if two == "rkx" else "_v2")
    if two == "rk" and kind == "C" and rng.random() < 0.5:
        # With types as arguments, of single precision alone.
        middle = "3m" if rng.random() < 0.5 else ""
        call(f"cublasC{'he' if hermitian else 'sy'}rk{middle}Ex", blas, uplo, trans, n, k, alpha, x, 4, lda, beta, z, 4, ldc)
    elif two == "rk":
        call(name, blas, uplo, trans, n, k, alpha, x, lda, beta, z, ldc)
    else:
        call(name, blas, uplo, trans, n, k, alpha, x, lda, y, ldb, beta, z, ldc)
    flip = (lambda m: m.conj().T) if hermitian else (lambda m: m.T)
    left, right = (exact(m) if trans == 0 else flip(exact(m)) for m in (a_part, b_part))
    if two == "rk":
        right = left
    al, be, old = exact(alpha)[0], exact(beta)[0], exact(part)
    want = al * left @ flip(right) + be * old
    scale = abs(al) * np.abs(left) @ np.abs(right).T + np.abs(be * old)
    if two == "r2k":
        second = np.conj(al) if hermitian else al
        want = want + second * right @ flip(left)
        scale = scale + abs(al) * np.abs(right) @ np.abs(left).T
    out = z.get()[:n, :n]
    if hermitian:
        # The diagonal's imaginary part is taken for zero.
        want = want - 1j * np.diag(np.diag(want).imag)
    near(half_of(out, uplo), half_of(want, uplo), scale, 2 * k + 3, dtype)
    other = 1 - uplo
    np.testing.assert_array_equal(half_of(out, other) - np.diag(np.diag(out)), half_of(part, other) - np.diag(np.diag(part)))


@family
def sided_products(rng):
    name = pick(rng, ["symm", "hemm", "trmm", "trsm"])
    kind, dtype = letter(rng, "CZ" if name == "hemm" else "SDCZ")
    m, n, side, uplo = size(rng), size(rng), int(rng.integers(2)), int(rng.integers(2))
    trans, diag = int(rng.integers(3)), int(rng.integers(2))
    order = n if side else m
    a, a_part, lda = matrix(rng, order, order, dtype)
    if name == "trsm":
        a_part[np.diag_indices(order)] += 6
        a_part *= 0.5
    b, b_part, ldb = matrix(rng, m, n, dtype)
    full, part, ldc = matrix(rng, m, n, dtype)
    alpha, beta = scalar(rng, dtype), scalar(rng, dtype)
    al, be, old, right = exact(alpha)[0], exact(beta)[0], exact(part), exact(b_part)
    x, y, z = Memory(a), Memory(b), Memory(full)
    if name in ("symm", "hemm"):
        left = whole_of(exact(a_part), uplo, name == "hemm")
        call(f"cublas{kind}{name}_v2", blas, side, uplo, m, n, alpha, x, lda, y, ldb, beta, z, ldc)
    else:
        left = half_of(exact(a_part), uplo)
        if diag:
            left = left - np.diag(np.diag(left)) + np.eye(order)
        left = op(left, trans)
        be = 0
    if name == "trmm":
        call(f"cublas{kind}trmm_v2", blas, side, uplo, trans, diag, m, n, alpha, x, lda, y, ldb, z, ldc)
    if name == "trsm":
        call(f"cublas{kind}trsm_v2", blas, side, uplo, trans, diag, m, n, alpha, x, lda, y, ldb)
        out = exact(y.get()[:m, :n])
        back = out @ left if side else left @ out
        scale = (np.abs(out) @ np.abs(left) if side else np.abs(left) @ np.abs(out)) + np.abs(al * right)
        near(back, al * right, scale, order + 2, dtype)
        return
    product = right @ left if side else left @ right
    scale = np.abs(right) @ np.abs(left) if side else np.abs(left) @ np.abs(right)
    near(z.get()[:m, :n], al * product + be * old, abs(al) * scale + np.abs(be * old), order + 2, dtype)


def band(full, below, above, ld):
    """The diagonals of a matrix as rows."""
    m, n = full.shape
    out = np.zeros((ld, max(n, 1)), full.dtype, order="F")
    for j in range(n):
        for i in range(max(0, j - above), min(m, j + below + 1)):
            out[above + i - j, j] = full[i, j]
    return out


def packed(full, uplo):
    n = len(full)
    columns = [full[j:, j] if uplo == 0 else full[: j + 1, j] for j in range(n)]
    return np.concatenate(columns + [np.zeros(1, full.dtype)])


@family
def matrix_vector(rng):
    name = pick(rng, ["gemv", "gbmv", "mv", "bmv", "pmv"])
    kind, dtype = letter(rng)
    alpha, beta = scalar(rng, dtype), scalar(rng, dtype)
    al, be = exact(alpha)[0], exact(beta)[0]
    m, n, trans, uplo = int(rng.integers(1, 20)), int(rng.integers(1, 20)), int(rng.integers(3)), int(rng.integers(2))
    if name in ("gemv", "gbmv"):
        a, a_part, lda = matrix(rng, m, n, dtype)
        rows, cols = (m, n) if trans == 0 else (n, m)
        x, x_part, incx = vector(rng, cols, dtype)
        y, y_part, incy = vector(rng, rows, dtype)
        p, q, r = Memory(a), Memory(x), Memory(y)
        if name == "gemv":
            call(f"cublas{kind}gemv_v2", blas, trans, m, n, alpha, p, lda, q, incx, beta, r, incy)
        else:
            below, above = int(rng.integers(0, 5)), int(rng.integers(0, 5))
            a_part = np.triu(np.tril(a_part, above), -below)
            ld = below + above + 1 + int(rng.integers(3))
            p = Memory(band(a_part, below, above, ld))
            call(f"cublas{kind}gbmv_v2", blas, trans, m, n, below, above, alpha, p, ld, q, incx, beta, r, incy)
        full = op(exact(a_part), trans)
    else:
        hermitian = kind in "CZ"
        a, a_part, lda = matrix(rng, n, n, dtype)
        x, x_part, incx = vector(rng, n, dtype)
        y, y_part, incy = vector(rng, n, dtype)
        q, r = Memory(x), Memory(y)
        first = {"mv": ("sy", "he"), "bmv": ("sb", "hb"), "pmv": ("sp", "hp")}[name][hermitian]
        call_name = f"cublas{kind}{first}mv_v2"
        if name == "mv":
            p = Memory(a)
            call(call_name, blas, uplo, n, alpha, p, lda, q, incx, beta, r, incy)
        elif name == "bmv":
            k = int(rng.integers(0, 4))
            a_part = np.triu(np.tril(a_part, k), -k)
            stored = half_of(a_part, uplo)
            p = Memory(band(stored, k if uplo == 0 else 0, 0 if uplo == 0 else k, k + 2))
            call(call_name, blas, uplo, n, k, alpha, p, k + 2, q, incx, beta, r, incy)
        else:
            p = Memory(packed(a_part, uplo))
            call(call_name, blas, uplo, n, alpha, p, q, incx, beta, r, incy)
        full = whole_of(exact(a_part), uplo, hermitian)
    got = r.get()[:: abs(incy)]
    got = got[::-1] if incy < 0 else got
    want = al * full @ exact(x_part) + be * exact(y_part)
    near(got, want, abs(al) * np.abs(full) @ np.abs(exact(x_part)) + np.abs(be * exact(y_part)), n + m + 2, dtype)


@family
def triangular_vector(rng):
    kind, dtype = letter(rng)
    n, uplo, trans, diag = int(rng.integers(1, 20)), int(rng.integers(2)), int(rng.integers(3)), int(rng.integers(2))
    form, solve = pick(rng, "rbp"), rng.random() < 0.5
    a, a_part, lda = matrix(rng, n, n, dtype)
    a_part[np.diag_indices(n)] += 6
    a_part *= 0.5
    x, x_part, incx = vector(rng, n, dtype)
    q = Memory(x)
    k = int(rng.integers(0, 4))
    if form == "b":
        a_part = np.triu(np.tril(a_part, k), -k)
    stored = half_of(a_part, uplo)
    name = f"cublas{kind}t{form}{'sv' if solve else 'mv'}_v2"
    if form == "r":
        p = Memory(a)
        call(name, blas, uplo, trans, diag, n, p, lda, q, incx)
    elif form == "b":
        p = Memory(band(stored, k if uplo == 0 else 0, 0 if uplo == 0 else k, k + 1))
        call(name, blas, uplo, trans, diag, n, k, p, k + 1, q, incx)
    else:
        p = Memory(packed(a_part, uplo))
        call(name, blas, uplo, trans, diag, n, p, q, incx)
    full = exact(stored)
    if diag:
        full = full - np.diag(np.diag(full)) + np.eye(n)
    full = op(full, trans)
    got = q.get()[:: abs(incx)]
    got = exact(got[::-1] if incx < 0 else got)
    before, after = (got, exact(x_part)) if solve else (exact(x_part), got)
    near(after, full @ before, np.abs(full) @ np.abs(before) + np.abs(after), n + 2, dtype)


@family
def vector_updates(rng):
    name = pick(rng, ["ger", "syr", "her", "syr2", "her2", "spr", "hpr"])
    kind, dtype = letter(rng, {"her": "CZ", "her2": "CZ", "hpr": "CZ", "spr": "SD"}.get(name, "SDCZ"))
    m, n, uplo = int(rng.integers(1, 20)), int(rng.integers(1, 20)), int(rng.integers(2))
    hermitian = name in ("her", "her2", "hpr")
    alpha = scalar(rng, real(dtype) if name in ("her", "hpr") else dtype)
    al = exact(alpha)[0]
    y, y_part, incy = vector(rng, n, dtype)
    right = exact(y_part)
    if name == "ger":
        x, x_part, incx = vector(rng, m, dtype)
        a, a_part, lda = matrix(rng, m, n, dtype)
        conj = kind in "CZ" and rng.random() < 0.5
        p, q, r = Memory(x), Memory(y), Memory(a)
        call(f"cublas{kind}ger{'' if kind in 'SD' else 'c' if conj else 'u'}_v2", blas, m, n, alpha, p, incx, q, incy, r, lda)
        change = al * np.outer(exact(x_part), right.conj() if conj else right)
        near(r.get()[:m, :n], exact(a_part) + change, np.abs(exact(a_part)) + np.abs(change), 3, dtype)
        return
    a, a_part, lda = matrix(rng, n, n, dtype)
    q = Memory(y)
    if name in ("spr", "hpr"):
        r = Memory(packed(a_part, uplo))
        call(f"cublas{kind}{name}_v2", blas, uplo, n, alpha, q, incy, r)
    elif name in ("syr", "her"):
        r = Memory(a)
        call(f"cublas{kind}{name}_v2", blas, uplo, n, alpha, q, incy, r, lda)
    else:
        x, x_part, incx = vector(rng, n, dtype)
        p, r = Memory(x), Memory(a)
        call(f"cublas{kind}{name}_v2", blas, uplo, n, alpha, p, incx, q, incy, r, lda)
    turn = np.conj if hermitian else (lambda v: v)
    if name in ("syr2", "her2"):
        left = exact(x_part)
        change = al * np.outer(left, turn(right)) + turn(al) * np.outer(right, turn(left))
        scale = 2 * abs(al) * np.outer(np.abs(left), np.abs(right)) + 2 * abs(al) * np.outer(np.abs(right), np.abs(left))
    else:
        change = al * np.outer(right, turn(right))
        scale = np.abs(change)
    want = exact(a_part) + change
    if hermitian and al != 0:
        want = want - 1j * np.diag(np.diag(want).imag)
    got = r.get()
    if name in ("spr", "hpr"):
        near(got[:-1], packed(want, uplo)[:-1], packed(scale + np.abs(exact(a_part)), uplo)[:-1], 3, dtype)
    else:
        near(half_of(got[:n, :n], uplo), half_of(want, uplo), scale + np.abs(exact(a_part)), 3, dtype)


@family
def vectors(rng):
    kind, dtype = letter(rng)
    n = int(rng.integers(0, 200))
    x, x_part, incx = vector(rng, n, dtype)
    y, y_part, incy = vector(rng, n, dtype)
    left, right = exact(x_part), exact(y_part)
    p, q = Memory(x), Memory(y)
    out, part = np.zeros(1, dtype), np.zeros(1, real(dtype))
    names = {"S": "", "D": "", "C": "u", "Z": "u"}
    call(f"cublas{kind}dot{names[kind]}_v2", blas, n, p, incx, q, incy, out)
    near(out, left @ right, np.abs(left) @ np.abs(right), np.log2(n + 2) + 64, dtype)
    if kind in "CZ":
        call(f"cublas{kind}dotc_v2", blas, n, p, incx, q, incy, out)
        near(out, left.conj() @ right, np.abs(left) @ np.abs(right), np.log2(n + 2) + 64, dtype)
    prefix = {"S": "S", "D": "D", "C": "Sc", "Z": "Dz"}[kind]
    step = abs(incx)
    call(f"cublas{prefix}nrm2_v2", blas, n, p, step, part)
    near(part, np.linalg.norm(left), np.linalg.norm(left), 8, dtype)
    call(f"cublas{prefix}asum_v2", blas, n, p, step, part)
    total = np.abs(left.real).sum() + np.abs(left.imag).sum()
    near(part, total, total, 64, dtype)
    found = np.zeros(1, np.int32)
    forward = x[: (n - 1) * step + 1 : step] if n else x[:0]
    sizes = np.abs(forward.real) + np.abs(forward.imag)
    for name, best in (("amax", np.argmax), ("amin", np.argmin)):
        call(f"cublasI{kind.lower()}{name}_v2", blas, n, p, step, found)
        assert found[0] == (best(sizes) + 1 if n else 0), (name, found, n)
    alpha = scalar(rng, dtype)
    call(f"cublas{kind}axpy_v2", blas, n, alpha, p, incx, q, incy)
    got = q.get()[:: abs(incy)][:n]
    got = got[::-1] if incy < 0 else got
    al = exact(alpha)[0]
    near(got, right + al * left, np.abs(right) + np.abs(al * left), 3, dtype)


@family
def elementwise(rng):
    kind, dtype = letter(rng)
    m, n = size(rng), size(rng)
    ta, tb = int(rng.integers(3)), int(rng.integers(3))
    a, a_part, lda = matrix(rng, *((m, n) if ta == 0 else (n, m)), dtype)
    b, b_part, ldb = matrix(rng, *((m, n) if tb == 0 else (n, m)), dtype)
    full, part, ldc = matrix(rng, m, n, dtype)
    alpha, beta = scalar(rng, dtype), scalar(rng, dtype)
    x, y, z = Memory(a), Memory(b), Memory(full)
    call(f"cublas{kind}geam", blas, ta, tb, m, n, alpha, x, lda, beta, y, ldb, z, ldc)
    left, right = exact(alpha)[0] * op(exact(a_part), ta), exact(beta)[0] * op(exact(b_part), tb)
    near(z.get()[:m, :n], left + right, np.abs(left) + np.abs(right), 3, dtype)
    side = int(rng.integers(2))
    v, v_part, inc = vector(rng, n if side else m, dtype)
    c_full, c_part, ld = matrix(rng, m, n, dtype)
    p, q = Memory(c_full), Memory(v)
    call(f"cublas{kind}dgmm", blas, side, m, n, p, ld, q, inc, z, ldc)
    want = exact(c_part) * exact(v_part) if side else exact(c_part) * exact(v_part)[:, None]
    near(z.get()[:m, :n], want, np.abs(want), 2, dtype)


@family
def factorised_batches(rng):
    kind, dtype = letter(rng)
    n, nrhs, batch, trans = int(rng.integers(1, 12)), int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.integers(3))
    a = [np.asfortranarray(values(rng, (n, n), dtype)) for _ in range(batch)]
    b = [np.asfortranarray(values(rng, (n, nrhs), dtype)) for _ in range(batch)]
    out = [np.asfortranarray(np.zeros((n, n), dtype)) for _ in range(batch)]
    xs, ys, zs = ([Memory(x) for x in list] for list in (a, b, out))
    x, y, z = (Memory(np.asarray([m.address.value for m in list], np.uint64)) for list in (xs, ys, zs))
    pivots, info, told = Memory(np.zeros(n * batch, np.int32)), Memory(np.full(batch, 9, np.int32)), np.full(1, 9, np.int32)
    call(f"cublas{kind}getrfBatched", blas, n, x, n, pivots, info, batch)
    assert not info.get().any()
    call(f"cublas{kind}getrsBatched", blas, trans, n, nrhs, x, n, pivots, y, n, told, batch)
    call(f"cublas{kind}getriBatched", blas, n, x, n, pivots, z, n, info, batch)
    assert not info.get().any() and told[0] == 0
    for i in range(batch):
        full = op(exact(a[i]), trans)
        condition = np.linalg.cond(full)
        got = exact(ys[i].get())
        near(full @ got, exact(b[i]), np.linalg.norm(full) * np.linalg.norm(got) + 1, 8 * n, dtype)
        if condition < 1e3:
            near(exact(zs[i].get()) @ exact(a[i]), np.eye(n), condition, 8 * n, dtype)


HALVES = {2: np.float16, 0: np.float32, 1: np.float64, 3: np.int8, 10: np.int32, 4: np.complex64, 5: np.complex128}
COMBINATIONS = [(68, 0, 2, 2), (68, 0, 2, 0), (68, 0, 0, 0), (70, 1, 1, 1), (64, 2, 2, 2), (72, 10, 3, 10), (68, 0, 3, 0), (68, 4, 4, 4), (70, 5, 5, 5)]


@family
def mixed_types(rng):
    compute, scale_type, in_type, out_type = pick(rng, COMBINATIONS)
    m, n, k = (int(rng.integers(1, 16)) for _ in range(3))
    ta, tb = int(rng.integers(2)), int(rng.integers(2))
    source, target, scalar_type = HALVES[in_type], HALVES[out_type], HALVES[scale_type]
    make = (lambda s: rng.integers(-50, 50, s).astype(np.int8)) if in_type == 3 else (lambda s: values(rng, s, source))
    a = np.asfortranarray(make((m, k) if ta == 0 else (k, m)))
    b = np.asfortranarray(make((k, n) if tb == 0 else (n, k)))
    old = np.asfortranarray(rng.integers(-9, 9, (m, n)).astype(target))
    alpha, beta = (np.asarray([pick(rng, [0, 1, 2, -3])], scalar_type) for _ in range(2))
    x, y, z = Memory(a), Memory(b), Memory(old)
    call(
        "cublasGemmEx", blas, ta, tb, m, n, k, alpha, x, in_type, a.shape[0], y, in_type, b.shape[0], beta, z, out_type, m, compute, -1
    )
    left, right, al, be = op(exact(a), ta), op(exact(b), tb), exact(alpha)[0], exact(beta)[0]
    want = al * (left @ right) + be * exact(old)
    if out_type == 10:
        np.testing.assert_array_equal(z.get(), want)
    else:
        scale = np.abs(al) * (np.abs(left) @ np.abs(right)) + np.abs(be * exact(old))
        eps = np.finfo(np.float32).eps * (k + 2) * 4 if out_type in (0, 2, 4) else np.finfo(np.float64).eps * (k + 2) * 4
        bound = eps * scale + np.abs(want) * np.finfo(target).eps
        assert np.all(np.abs(exact(z.get()) - want) <= bound)


@family
def rotations(rng):
    kind, dtype = letter(rng, "SD")
    numbers = (values(rng, 4, dtype) * 10.0 ** rng.integers(-3, 4)).astype(dtype)
    numbers[rng.random(4) < 0.1] = 0
    a, b, cos, sin = (numbers[i : i + 1].copy() for i in range(4))
    call(f"cublas{kind}rotg_v2", blas, a, b, cos, sin)
    reference = getattr(scipy.linalg.blas, f"{kind.lower()}rotg")(numbers[0], numbers[1])
    near([cos[0], sin[0]], np.asarray(reference, float), 1, 4, dtype)
    d = np.abs(values(rng, 2, dtype))
    x = values(rng, 2, dtype)
    want = getattr(scipy.linalg.blas, f"{kind.lower()}rotmg")(d[0], d[1], x[0], x[1])
    d1, d2, x1, y1, param = d[:1].copy(), d[1:].copy(), x[:1].copy(), x[1:].copy(), np.zeros(5, dtype)
    call(f"cublas{kind}rotmg_v2", blas, d1, d2, x1, y1, param)
    used = {-1: [1, 2, 3, 4], 0: [2, 3], 1: [1, 4], -2: []}[int(param[0])]
    assert param[0] == want[0]
    for i in used:
        near(param[i], float(want[i]), abs(float(want[i])), 8, dtype)
    n = int(rng.integers(0, 20))
    v, v_part, incv = vector(rng, n, dtype)
    w, w_part, incw = vector(rng, n, dtype)
    p, q = Memory(v), Memory(w)
    call(f"cublas{kind}rot_v2", blas, n, p, incv, q, incw, cos, sin)
    got = p.get()[:: abs(incv)][:n]
    got = got[::-1] if incv < 0 else got
    near(got, float(cos[0]) * exact(v_part) + float(sin[0]) * exact(w_part), np.abs(exact(v_part)) + np.abs(exact(w_part)), 3, dtype)


@family
def statuses(rng):
    """Wrong arguments have the documented status, whatever else is right."""
    kind, dtype = letter(rng)
    good = Memory(np.zeros((8, 8), dtype, order="F"))
    one = np.ones(1, dtype)
    arguments = [blas, 0, 0, 4, 4, 4, one, good, 4, good, 4, one, good, 4]
    wrong = pick(rng, [(0, c.c_uint64(0), 1), (0, c.c_uint64(77), 1), (1, 9, 7), (3, -1, 7), (4, -2, 7), (5, -1, 7), (6, None, 7), (8, 3, 7), (13, 3, 7), (11, None, 7), (7, None, 7)])
    arguments[wrong[0]] = wrong[1]
    assert call.status(f"cublas{kind}gemm_v2", *arguments) == wrong[2], wrong
    assert call.status(f"cublas{kind}trsv_v2", blas, 0, 0, 0, 3, good, 2, good, 1) == 7
    assert call.status(f"cublas{kind}trsv_v2", blas, 0, 0, 0, 3, good, 3, good, 0) == 7
    assert call.status("cublasUint8gemmBias", blas) == 15


if __name__ == "__main__":
    main()
