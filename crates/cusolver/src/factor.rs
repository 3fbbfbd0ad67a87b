//! LU, Cholesky and QR factorisations, and what is solved with them.

use culibs::device::{Rows, put_host, read, write};
use culibs::{DataType, Error, Outcome, Ptr, count};
use linalg::{
    Matrix, Op, Triangle, apply_q, cholesky, form_q, lu, qr, solve_lu, solve_triangular,
    triangular_full,
};
use operands::{Blas, Dense, dimensions, op, right, triangle, unit};

use crate::handle::get;

/// A matrix as an argument: its address and leading dimension.
pub(crate) type Stepped = (u64, i64);

fn dense<T: Blas>(size: [usize; 2], (at, ld): Stepped) -> Outcome<Dense> {
    Dense::new(T::TYPE, size, at, ld)
}

/// A list of numbers of swapped rows, of 32 or 64 bits.
#[derive(Clone, Copy)]
pub(crate) struct Pivots {
    pub(crate) at: u64,
    pub(crate) wide: bool,
}

impl Pivots {
    fn write(self, swaps: &[usize]) -> Outcome {
        match (self.at, self.wide) {
            (0, _) => Ok(()),
            (at, true) => write(at, &swaps.iter().map(|&p| p as i64 + 1).collect::<Vec<_>>()),
            (at, false) => write(at, &swaps.iter().map(|&p| p as i32 + 1).collect::<Vec<_>>()),
        }
    }

    fn read(self, n: usize) -> Outcome<Vec<usize>> {
        let list: Vec<i64> = match (self.at, self.wide) {
            (0, _) => (1..=n as i64).collect(),
            (at, true) => read(at, n)?,
            (at, false) => read::<i32>(at, n)?.into_iter().map(i64::from).collect(),
        };
        let swap =
            |(i, p): (usize, i64)| usize::try_from(p - 1).ok().filter(|&p| p < n).unwrap_or(i);
        Ok(list.into_iter().enumerate().map(swap).collect())
    }
}

pub(crate) fn getrf<T: Blas>(
    handle: u64,
    size: [i64; 2],
    a: Stepped,
    pivots: Pivots,
    info: u64,
) -> Outcome {
    let h = get(handle)?;
    let a = dense::<T>(dimensions(size)?, a)?;
    h.submit(info, move || {
        let mut matrix: Matrix<T> = a.read()?;
        let (swaps, zero) = lu(&mut matrix, pivots.at != 0);
        a.write(&matrix)?;
        pivots.write(&swaps)?;
        Ok(zero as i32)
    })
}

pub(crate) fn getrs<T: Blas>(
    handle: u64,
    trans: i32,
    size: [i64; 2],
    a: Stepped,
    pivots: Pivots,
    b: Stepped,
    info: u64,
) -> Outcome {
    let h = get(handle)?;
    let (op, [n, nrhs]) = (op(trans)?, dimensions(size)?);
    let (a, b) = (dense::<T>([n, n], a)?, dense::<T>([n, nrhs], b)?);
    h.submit(info, move || {
        let (factors, mut x): (Matrix<T>, Matrix<T>) = (a.read()?, b.read()?);
        solve_lu(&factors, &pivots.read(n)?, op, &mut x);
        b.write(&x)?;
        Ok(0)
    })
}

pub(crate) fn potrf<T: Blas>(handle: u64, uplo: i32, n: i64, a: Stepped, info: u64) -> Outcome {
    let h = get(handle)?;
    let (half, n) = (triangle(uplo)?, count(n)?);
    let a = dense::<T>([n, n], a)?;
    h.submit(info, move || factorise::<T>(a, half))
}

fn factorise<T: Blas>(a: Dense, half: Triangle) -> Outcome<i32> {
    let mut matrix: Matrix<T> = a.read()?;
    let minor = cholesky(&mut matrix, half);
    a.write(&matrix)?;
    Ok(minor as i32)
}

fn solve_factorised<T: Blas>(a: Dense, half: Triangle, b: Dense) -> Outcome<i32> {
    let (factor, mut x): (Matrix<T>, Matrix<T>) = (a.read()?, b.read()?);
    let (first, second) =
        if half == Triangle::Lower { (Op::None, Op::Adjoint) } else { (Op::Adjoint, Op::None) };
    solve_triangular(&factor, half, first, false, &mut x);
    solve_triangular(&factor, half, second, false, &mut x);
    b.write(&x)?;
    Ok(0)
}

pub(crate) fn potrs<T: Blas>(
    handle: u64,
    uplo: i32,
    size: [i64; 2],
    a: Stepped,
    b: Stepped,
    info: u64,
) -> Outcome {
    let h = get(handle)?;
    let (half, [n, nrhs]) = (triangle(uplo)?, dimensions(size)?);
    let (a, b) = (dense::<T>([n, n], a)?, dense::<T>([n, nrhs], b)?);
    h.submit(info, move || solve_factorised::<T>(a, half, b))
}

/// The form of the matrices of a list, whose addresses are read when the work is done.
fn form<T: Blas>(size: [usize; 2], ld: i64) -> Outcome<Dense> {
    Dense::form(T::TYPE, size, ld)
}

fn nth(list: u64, k: usize) -> Outcome<u64> {
    Ok(read::<u64>(list + (k * 8) as u64, 1)?[0])
}

pub(crate) fn potrf_batched<T: Blas>(
    handle: u64,
    uplo: i32,
    n: i64,
    a: Stepped,
    info: u64,
    batch: i64,
) -> Outcome {
    let h = get(handle)?;
    let (half, n, batch) = (triangle(uplo)?, count(n)?, count(batch)?);
    let one = form::<T>([n, n], a.1)?;
    h.submit_batch(info, batch, move |k| factorise::<T>(one.at(nth(a.0, k)?), half))
}

pub(crate) fn potrs_batched<T: Blas>(
    handle: u64,
    uplo: i32,
    size: [i64; 2],
    a: Stepped,
    b: Stepped,
    info: u64,
    batch: i64,
) -> Outcome {
    let h = get(handle)?;
    let (half, [n, nrhs], batch) = (triangle(uplo)?, dimensions(size)?, count(batch)?);
    let (left, right) = (form::<T>([n, n], a.1)?, form::<T>([n, nrhs], b.1)?);
    // There is one `info`, not one a matrix.
    h.submit(info, move || {
        for k in 0..batch {
            solve_factorised::<T>(left.at(nth(a.0, k)?), half, right.at(nth(b.0, k)?))?;
        }
        Ok(0)
    })
}

/// Overwrites a half with that of the inverse, given the Cholesky factor in it.
pub(crate) fn potri<T: Blas>(handle: u64, uplo: i32, n: i64, a: Stepped, info: u64) -> Outcome {
    let h = get(handle)?;
    let (half, n) = (triangle(uplo)?, count(n)?);
    let a = dense::<T>([n, n], a)?;
    h.submit(info, move || {
        let mut matrix: Matrix<T> = a.read()?;
        if let Some(zero) = (0..n).find(|&i| matrix[(i, i)] == T::zero()) {
            return Ok(zero as i32 + 1);
        }
        let mut inverse = Matrix::eye(n, n);
        let (first, second) =
            if half == Triangle::Lower { (Op::None, Op::Adjoint) } else { (Op::Adjoint, Op::None) };
        solve_triangular(&matrix, half, first, false, &mut inverse);
        solve_triangular(&matrix, half, second, false, &mut inverse);
        replace_half(&mut matrix, &inverse, half);
        a.write(&matrix)?;
        Ok(0)
    })
}

fn replace_half<T: Blas>(matrix: &mut Matrix<T>, by: &Matrix<T>, half: Triangle) {
    for j in 0..matrix.cols {
        for i in half.rows(matrix.rows, j) {
            matrix[(i, j)] = by[(i, j)];
        }
    }
}

/// Overwrites a triangular matrix with its inverse.
pub(crate) fn trtri<T: Blas>(
    handle: u64,
    [uplo, diag]: [i32; 2],
    n: i64,
    a: Stepped,
    info: u64,
) -> Outcome {
    let h = get(handle)?;
    let (half, unit, n) = (triangle(uplo)?, unit(diag)?, count(n)?);
    let a = dense::<T>([n, n], a)?;
    h.submit(info, move || {
        let mut matrix: Matrix<T> = a.read()?;
        if !unit && let Some(zero) = (0..n).find(|&i| matrix[(i, i)] == T::zero()) {
            return Ok(zero as i32 + 1);
        }
        let mut inverse = Matrix::eye(n, n);
        solve_triangular(&matrix, half, Op::None, unit, &mut inverse);
        if unit {
            for i in 0..n {
                inverse[(i, i)] = matrix[(i, i)];
            }
        }
        replace_half(&mut matrix, &inverse, half);
        a.write(&matrix)?;
        Ok(0)
    })
}

pub(crate) fn geqrf<T: Blas>(
    handle: u64,
    size: [i64; 2],
    a: Stepped,
    tau: u64,
    info: u64,
) -> Outcome {
    let h = get(handle)?;
    let a = dense::<T>(dimensions(size)?, a)?;
    h.submit(info, move || {
        let mut matrix: Matrix<T> = a.read()?;
        let taus = qr(&mut matrix);
        a.write(&matrix)?;
        write(tau, &taus)?;
        Ok(0)
    })
}

/// Overwrites reflectors with the first columns of their product.
pub(crate) fn orgqr<T: Blas>(
    handle: u64,
    size: [i64; 3],
    a: Stepped,
    tau: u64,
    info: u64,
) -> Outcome {
    let h = get(handle)?;
    let [m, n, k] = dimensions(size)?;
    if n > m || k > n {
        return Err(Error::InvalidValue);
    }
    let a = dense::<T>([m, n], a)?;
    h.submit(info, move || {
        let (matrix, taus): (Matrix<T>, Vec<T>) = (a.read()?, read(tau, k)?);
        a.write(&form_q(&matrix, &taus, n))?;
        Ok(0)
    })
}

/// Multiplies a matrix by a product of reflectors.
pub(crate) fn ormqr<T: Blas>(
    handle: u64,
    [side, trans]: [i32; 2],
    size: [i64; 3],
    a: Stepped,
    tau: u64,
    c: Stepped,
    info: u64,
) -> Outcome {
    let h = get(handle)?;
    let (right, op, [m, n, k]) = (right(side)?, op(trans)?, dimensions(size)?);
    let order = if right { n } else { m };
    if k > order || (T::COMPLEX && op == Op::Transpose) {
        return Err(Error::InvalidValue);
    }
    let (a, c) = (dense::<T>([order, k], a)?, dense::<T>([m, n], c)?);
    h.submit(info, move || {
        let (reflectors, taus): (Matrix<T>, Vec<T>) = (a.read()?, read(tau, k)?);
        let mut matrix: Matrix<T> = c.read()?;
        if right {
            // c op(q) is the adjoint of op(q)* c*.
            let mut turned = matrix.op(Op::Adjoint);
            let inverse = if op == Op::None { Op::Adjoint } else { Op::None };
            apply_q(&reflectors, &taus, inverse, &mut turned);
            matrix = turned.op(Op::Adjoint);
        } else {
            apply_q(&reflectors, &taus, op, &mut matrix);
        }
        c.write(&matrix)?;
        Ok(0)
    })
}

/// A system that is solved at once: a matrix, right-hand sides, and where the solutions go.
#[derive(Clone, Copy)]
pub(crate) struct System {
    pub(crate) a: Stepped,
    pub(crate) b: Stepped,
    pub(crate) x: Stepped,
    /// The number of refinements that were made, on the host.
    pub(crate) iterations: Ptr,
    pub(crate) info: u64,
}

/// Solves a square system. It is solved in the type of its elements: nothing is refined.
pub(crate) fn gesv<T: Blas>(
    handle: u64,
    size: [i64; 2],
    system: System,
    pivots: Pivots,
) -> Outcome {
    let h = get(handle)?;
    let [n, nrhs] = dimensions(size)?;
    let a = dense::<T>([n, n], system.a)?;
    let (b, x) = (dense::<T>([n, nrhs], system.b)?, dense::<T>([n, nrhs], system.x)?);
    put_host(system.iterations, 0_i32)?;
    h.submit(system.info, move || {
        let (mut factors, mut solution): (Matrix<T>, Matrix<T>) = (a.read()?, b.read()?);
        let (swaps, zero) = lu(&mut factors, true);
        if zero != 0 {
            return Ok(zero as i32);
        }
        solve_lu(&factors, &swaps, Op::None, &mut solution);
        pivots.write(&swaps)?;
        x.write(&solution)?;
        Ok(0)
    })
}

/// Solves a system with too many equations in the sense of least squares.
pub(crate) fn gels<T: Blas>(handle: u64, size: [i64; 3], system: System) -> Outcome {
    let h = get(handle)?;
    let [m, n, nrhs] = dimensions(size)?;
    if m < n {
        return Err(Error::InvalidValue);
    }
    let a = dense::<T>([m, n], system.a)?;
    let (b, x) = (dense::<T>([m, nrhs], system.b)?, dense::<T>([n, nrhs], system.x)?);
    put_host(system.iterations, 0_i32)?;
    h.submit(system.info, move || {
        let (mut factors, mut sides): (Matrix<T>, Matrix<T>) = (a.read()?, b.read()?);
        let taus = qr(&mut factors);
        if let Some(zero) = (0..n).find(|&i| factors[(i, i)] == T::zero()) {
            return Ok(zero as i32 + 1);
        }
        apply_q(&factors, &taus, Op::Adjoint, &mut sides);
        let mut solution = sides.block(0, 0, n, nrhs);
        let r = triangular_full(&factors.block(0, 0, n, n), Triangle::Upper, false);
        solve_triangular(&r, Triangle::Upper, Op::None, false, &mut solution);
        x.write(&solution)?;
        Ok(0)
    })
}

/// Writes real numbers of a type.
pub(crate) fn write_real<T: culibs::Number>(dtype: DataType, at: u64, list: &[T]) -> Outcome {
    dtype.write(Rows::flat(at, list.len()), list)
}
