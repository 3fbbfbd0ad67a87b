//! Eigenvalues and eigenvectors of symmetric and Hermitian matrices.

use culibs::{Error, Outcome, count};
use linalg::{Matrix, Op, Triangle, cholesky, hermitian_eigen, hermitian_full, solve_triangular};
use operands::{Blas, Dense, triangle};

use crate::factor::{Stepped, write_real};
use crate::handle::get;

/// Reads `cusolverEigMode_t`: whether vectors are asked for.
pub(crate) fn vectors(mode: i32) -> Outcome<bool> {
    match mode {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Error::InvalidValue),
    }
}

/// What `info` says where a method does not converge: how many off-diagonal elements have not. All
/// have not for a matrix with infinities or NaN.
fn not_converged(n: usize) -> i32 {
    n.max(1) as i32
}

fn solve<T: Blas>(a: Dense, half: Triangle, vectors: bool, values: u64) -> Outcome<i32>
where
    T::Real: Blas,
{
    let matrix = hermitian_full(&a.read::<T>()?, half, true);
    let Some((list, basis)) = hermitian_eigen(&matrix, vectors) else {
        return Ok(not_converged(a.rows));
    };
    write_real(<T::Real as culibs::Number>::TYPE, values, &list)?;
    if let Some(basis) = basis {
        a.write(&basis)?;
    }
    Ok(0)
}

pub(crate) fn syevd<T: Blas>(
    handle: u64,
    [mode, uplo]: [i32; 2],
    n: i64,
    a: Stepped,
    values: u64,
    info: u64,
) -> Outcome
where
    T::Real: Blas,
{
    let h = get(handle)?;
    let (vectors, half, n) = (vectors(mode)?, triangle(uplo)?, count(n)?);
    let a = Dense::new(T::TYPE, [n, n], a.0, a.1)?;
    h.submit(info, move || solve::<T>(a, half, vectors, values))
}

/// Matrices one after another.
pub(crate) fn syev_batched<T: Blas>(
    handle: u64,
    [mode, uplo]: [i32; 2],
    n: i64,
    a: Stepped,
    values: u64,
    info: u64,
    batch: i64,
) -> Outcome
where
    T::Real: Blas,
{
    let h = get(handle)?;
    let (vectors, half) = (vectors(mode)?, triangle(uplo)?);
    let (n, batch) = (count(n)?, count(batch)?);
    let step = a.1.checked_mul(n as i64).ok_or(Error::InvalidValue)?;
    let first = Dense::new(T::TYPE, [n, n], a.0, a.1)?;
    h.submit_batch(info, batch, move |k| {
        let values = values + (k * n * size_of::<T::Real>()) as u64;
        solve::<T>(first.offset(step.wrapping_mul(k as i64)), half, vectors, values)
    })
}

/// Generalised problems: `a x = l b x`, `a b x = l x`, `b a x = l x`.
pub(crate) fn sygvd<T: Blas>(
    handle: u64,
    [kind, mode, uplo]: [i32; 3],
    n: i64,
    a: Stepped,
    b: Stepped,
    values: u64,
    info: u64,
) -> Outcome
where
    T::Real: Blas,
{
    let h = get(handle)?;
    let (vectors, half, n) = (vectors(mode)?, triangle(uplo)?, count(n)?);
    if !(1..=3).contains(&kind) {
        return Err(Error::InvalidValue);
    }
    let a = Dense::new(T::TYPE, [n, n], a.0, a.1)?;
    let b = Dense::new(T::TYPE, [n, n], b.0, b.1)?;
    h.submit(info, move || {
        let mut factor: Matrix<T> = b.read()?;
        let minor = cholesky(&mut factor, half);
        b.write(&factor)?;
        if minor != 0 {
            return Ok((n + minor) as i32);
        }
        // With b = l l*: the problem of c = l^-1 a l^-*, or of l* a l.
        let l = linalg::triangular_full(&factor, half, false);
        let l = if half == Triangle::Lower { l } else { l.op(Op::Adjoint) };
        let mut c = hermitian_full(&a.read::<T>()?, half, true);
        if kind == 1 {
            solve_triangular(&l, Triangle::Lower, Op::None, false, &mut c);
            c = c.op(Op::Adjoint);
            solve_triangular(&l, Triangle::Lower, Op::None, false, &mut c);
        } else {
            let mut half_way = Matrix::zeros(n, n);
            let (one, zero) = (T::one(), T::zero());
            linalg::product(one, (&c, Op::None), (&l, Op::None), zero, &mut half_way);
            linalg::product(one, (&l, Op::Adjoint), (&half_way, Op::None), zero, &mut c);
        }
        let Some((list, basis)) = hermitian_eigen(&c, vectors) else {
            return Ok(not_converged(n));
        };
        write_real(<T::Real as culibs::Number>::TYPE, values, &list)?;
        if let Some(mut basis) = basis {
            if kind == 3 {
                let turned = basis.clone();
                linalg::product(
                    T::one(),
                    (&l, Op::None),
                    (&turned, Op::None),
                    T::zero(),
                    &mut basis,
                );
            } else {
                solve_triangular(&l, Triangle::Lower, Op::Adjoint, false, &mut basis);
            }
            a.write(&basis)?;
        }
        Ok(0)
    })
}
