//! Factorisations of batches of small matrices.

use culibs::device::{put_host, read, write};
use culibs::{Error, Outcome, Ptr, count};
use linalg::{Matrix, Op, inverse_of_lu, lu, qr, solve_lu, solve_triangular};

use crate::batched::{Batch, Each};
use crate::handle::Handle;
use operands::{Blas, Dense};

/// A list of matrices of one form.
pub(crate) type List = (Dense, u64);

fn all((form, at): List, batch: usize) -> Outcome<Each<Dense>> {
    Batch::list(at, batch)?.all(form, batch)
}

/// Numbers of swapped rows from 1, as clients have them, to numbers from 0.
fn swaps_of(pivots: &[i32], n: usize) -> Vec<usize> {
    let swap = |(i, &p): (usize, &i32)| {
        usize::try_from(i64::from(p) - 1).ok().filter(|&p| p < n).unwrap_or(i)
    };
    pivots.iter().enumerate().map(swap).collect()
}

/// LU factorisations, with swapped rows if `pivots` is not null.
pub(crate) fn getrf<T: Blas>(h: &Handle, a: List, pivots: u64, info: u64, batch: i64) -> Outcome {
    let batch = count(batch)?;
    h.submit(move || {
        let n = a.0.rows;
        for (k, place) in all(a, batch)?.enumerate() {
            let mut matrix: Matrix<T> = place.read()?;
            let (swaps, zero) = lu(&mut matrix, pivots != 0);
            place.write(&matrix)?;
            if pivots != 0 {
                let list: Vec<i32> = swaps.iter().map(|&p| p as i32 + 1).collect();
                write(pivots + (k * n * 4) as u64, &list)?;
            }
            write(info + (k * 4) as u64, &[zero as i32])?;
        }
        Ok(())
    })
}

fn pivots_of(pivots: u64, k: usize, n: usize) -> Outcome<Vec<usize>> {
    if pivots == 0 {
        return Ok((0..n).collect());
    }
    Ok(swaps_of(&read::<i32>(pivots + (k * n * 4) as u64, n)?, n))
}

/// Returns the number, from 1, of the first zero on a diagonal; 0 without one.
fn singular<T: Blas>(factors: &Matrix<T>) -> i32 {
    (0..factors.cols).find(|&i| factors[(i, i)] == T::zero()).map_or(0, |i| i as i32 + 1)
}

/// Inverses of factorised matrices.
pub(crate) fn getri<T: Blas>(
    h: &Handle,
    a: List,
    pivots: u64,
    c: List,
    info: u64,
    batch: i64,
) -> Outcome {
    let batch = count(batch)?;
    h.submit(move || {
        for (k, (a, c)) in all(a, batch)?.zip(all(c, batch)?).enumerate() {
            let factors: Matrix<T> = a.read()?;
            let zero = singular(&factors);
            if zero == 0 {
                c.write(&inverse_of_lu(&factors, &pivots_of(pivots, k, factors.rows)?))?;
            }
            write(info + (k * 4) as u64, &[zero])?;
        }
        Ok(())
    })
}

/// Inverses.
pub(crate) fn matinv<T: Blas>(h: &Handle, a: List, c: List, info: u64, batch: i64) -> Outcome {
    let batch = count(batch)?;
    // The documentation has this for small matrices alone.
    if a.0.rows > 32 {
        return Err(Error::InvalidValue);
    }
    h.submit(move || {
        for (k, (a, c)) in all(a, batch)?.zip(all(c, batch)?).enumerate() {
            let mut factors: Matrix<T> = a.read()?;
            let (swaps, zero) = lu(&mut factors, true);
            if zero == 0 {
                c.write(&inverse_of_lu(&factors, &swaps))?;
            }
            write(info + (k * 4) as u64, &[zero as i32])?;
        }
        Ok(())
    })
}

/// Solutions of factorised systems. `info`, on the host, tells of arguments alone.
pub(crate) fn getrs<T: Blas>(
    h: &Handle,
    op: Op,
    a: List,
    pivots: u64,
    b: List,
    info: Ptr,
    batch: i64,
) -> Outcome {
    let batch = count(batch)?;
    put_host(info, 0_i32)?;
    h.submit(move || {
        for (k, (a, b)) in all(a, batch)?.zip(all(b, batch)?).enumerate() {
            let (factors, mut x): (Matrix<T>, Matrix<T>) = (a.read()?, b.read()?);
            solve_lu(&factors, &pivots_of(pivots, k, factors.rows)?, op, &mut x);
            b.write(&x)?;
        }
        Ok(())
    })
}

/// QR factorisations.
pub(crate) fn geqrf<T: Blas>(h: &Handle, a: List, tau: u64, info: Ptr, batch: i64) -> Outcome {
    let batch = count(batch)?;
    put_host(info, 0_i32)?;
    h.submit(move || {
        let taus = if batch == 0 { Vec::new() } else { read::<u64>(tau, batch)? };
        for (place, tau) in all(a, batch)?.zip(taus) {
            let mut matrix: Matrix<T> = place.read()?;
            write(tau, &qr(&mut matrix))?;
            place.write(&matrix)?;
        }
        Ok(())
    })
}

/// Least squares of matrices with at least as many rows as columns.
pub(crate) fn gels<T: Blas>(
    h: &Handle,
    a: List,
    c: List,
    info: Ptr,
    infos: u64,
    batch: i64,
) -> Outcome {
    let batch = count(batch)?;
    put_host(info, 0_i32)?;
    h.submit(move || {
        for (k, (a, c)) in all(a, batch)?.zip(all(c, batch)?).enumerate() {
            let (mut factors, mut x): (Matrix<T>, Matrix<T>) = (a.read()?, c.read()?);
            let n = factors.cols;
            let taus = qr(&mut factors);
            let zero = singular(&factors);
            if zero == 0 {
                linalg::apply_q(&factors, &taus, Op::Adjoint, &mut x);
                let (r, mut top) = (factors.block(0, 0, n, n), x.block(0, 0, n, x.cols));
                solve_triangular(&r, linalg::Triangle::Upper, Op::None, false, &mut top);
                x.set_block(0, 0, &top);
                c.write(&x)?;
            }
            a.write(&factors)?;
            if infos != 0 {
                write(infos + (k * 4) as u64, &[zero])?;
            }
        }
        Ok(())
    })
}
