//! Eigenvalues and eigenvectors of symmetric and Hermitian matrices.

use culibs::device::{get_host, put_host};
use culibs::{Error, Number, Outcome, Ptr, count};
use linalg::{
    Matrix, Op, Triangle, cholesky, hermitian_eigen, hermitian_full, residual, solve_triangular,
};
use operands::{Blas, Dense, triangle};

use crate::factor::{Stepped, write_real};
use crate::handle::get;
use crate::infos::Residual;

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

/// Which eigenvalues are asked for (`cusolverEigRange_t`).
#[derive(Clone, Copy)]
enum Range {
    All,
    /// Above the first number, up to the second.
    Values(f64, f64),
    /// From the place of the first to that of the second, counted from 1 on.
    Places(usize, usize),
}

/// Which eigenvalues are asked for, and where on the host their number goes.
#[derive(Clone, Copy)]
pub(crate) struct Selection {
    range: Range,
    count: Ptr,
    wide: bool,
}

impl Selection {
    pub(crate) const ALL: Self = Self { range: Range::All, count: 0, wide: false };

    /// Reads a range with the values and the places of the client, for a matrix of order `n`.
    pub(crate) fn new(
        range: i32,
        limits: impl FnOnce() -> Outcome<[f64; 2]>,
        places: [i64; 2],
        n: i64,
        (count, wide): (Ptr, bool),
    ) -> Outcome<Self> {
        let range = match range {
            1001 => Range::All,
            1002 if 1 <= places[0] && places[0] <= places[1] && places[1] <= n => {
                Range::Places(places[0] as usize, places[1] as usize)
            }
            1003 => match limits()? {
                [low, high] if low < high => Range::Values(low, high),
                _ => return Err(Error::InvalidValue),
            },
            _ => return Err(Error::InvalidValue),
        };
        if count == 0 {
            return Err(Error::InvalidValue);
        }
        Ok(Self { range, count, wide })
    }

    /// Returns the places of the eigenvalues, which are in ascending order.
    fn pick<R: num_traits::ToPrimitive>(&self, list: &[R]) -> std::ops::Range<usize> {
        let up_to = |limit: f64| list.partition_point(|x| x.to_f64().is_some_and(|x| x <= limit));
        match self.range {
            Range::All => 0..list.len(),
            Range::Places(first, last) => first - 1..last,
            Range::Values(low, high) => up_to(low)..up_to(high),
        }
    }

    fn tell(&self, found: usize) -> Outcome {
        match (self.count, self.wide) {
            (0, _) => Ok(()),
            (at, true) => put_host(at, found as i64),
            (at, false) => put_host(at, found as i32),
        }
    }
}

/// Reads two limits of the client, of the type of the eigenvalues.
pub(crate) fn limits<T: Blas>(low: Ptr, high: Ptr) -> Outcome<[f64; 2]>
where
    T::Real: Blas,
{
    let read = |at| get_host::<T::Real>(at).map(|x| Number::wide(x).0);
    Ok([read(low)?, read(high)?])
}

/// Writes the eigenvalues that are asked for, and their vectors to the first columns of `a`.
fn write_found<T: Blas>(
    mut a: Dense,
    values: u64,
    list: &[T::Real],
    basis: Option<Matrix<T>>,
    of: &Selection,
) -> Outcome<i32>
where
    T::Real: Blas,
{
    let part = of.pick(list);
    // Behind the ones from the first on a device has the others, too.
    let told = if part.start == 0 { list } else { &list[part.clone()] };
    write_real(<T::Real as Number>::TYPE, values, told)?;
    if let Some(basis) = basis {
        a.cols = part.len();
        a.write(&basis.block(0, part.start, a.rows, a.cols))?;
    }
    of.tell(part.len())?;
    Ok(0)
}

fn solve<T: Blas>(
    a: Dense,
    half: Triangle,
    vectors: bool,
    values: u64,
    of: &Selection,
    rest: Residual,
) -> Outcome<i32>
where
    T::Real: Blas,
{
    let matrix = hermitian_full(&a.read::<T>()?, half, true);
    let Some((list, basis)) = hermitian_eigen(&matrix, vectors || rest.is_wanted()) else {
        return Ok(not_converged(a.rows));
    };
    if let Some(basis) = &basis {
        rest.tell(|| residual(&matrix, basis, &list, basis).wide().0)?;
    }
    write_found(a, values, &list, basis.filter(|_| vectors), of)
}

pub(crate) fn syevd<T: Blas>(
    handle: u64,
    [mode, uplo]: [i32; 2],
    n: i64,
    a: Stepped,
    values: u64,
    info: u64,
    of: Selection,
    rest: Residual,
) -> Outcome
where
    T::Real: Blas,
{
    let h = get(handle)?;
    let (vectors, half, n) = (vectors(mode)?, triangle(uplo)?, count(n)?);
    let a = Dense::new(T::TYPE, [n, n], a.0, a.1)?;
    h.submit(info, move || solve::<T>(a, half, vectors, values, &of, rest))
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
        let a = first.offset(step.wrapping_mul(k as i64));
        solve::<T>(a, half, vectors, values, &Selection::ALL, Residual::Nowhere)
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
    of: Selection,
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
        let turned = basis.map(|mut basis| {
            if kind == 3 {
                let plain = basis.clone();
                let (one, zero) = (T::one(), T::zero());
                linalg::product(one, (&l, Op::None), (&plain, Op::None), zero, &mut basis);
            } else {
                solve_triangular(&l, Triangle::Lower, Op::Adjoint, false, &mut basis);
            }
            basis
        });
        write_found(a, values, &list, turned, &of)
    })
}
