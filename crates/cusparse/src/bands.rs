//! Systems with bands: tridiagonal and pentadiagonal ones, by elimination with row exchanges, in
//! the four layouts of the interface.

use culibs::device::{read, write};
use culibs::{Error, Outcome, count};
use operands::{Blas, Dense};

use crate::handle::get;

/// The least order that the interface takes.
const LEAST: usize = 3;

/// Solves a system of `diagonals`, the lowest first: element `i` of each is in row `i`. Elements
/// that are outside the matrix are not read. A matrix that is singular gives infinities or NaN.
fn solve<T: Blas>(diagonals: &[Vec<T>], x: &mut [T]) {
    let (n, reach) = (x.len(), diagonals.len() / 2);
    // Exchanges of rows fill as many more diagonals above. Column j of row i is at j + reach - i.
    let width = 3 * reach + 1;
    let mut a = vec![T::zero(); n * width];
    for (d, diagonal) in diagonals.iter().enumerate() {
        for i in (0..n).filter(|i| (reach..n + reach).contains(&(i + d))) {
            a[i * width + d] = diagonal[i];
        }
    }
    let at = |i: usize, j: usize| i * width + j + reach - i;
    for i in 0..n {
        let (below, right) = ((i + reach).min(n - 1), (i + 2 * reach).min(n - 1));
        let mut pivot = i;
        for row in i + 1..=below {
            if a[at(row, i)].abs1() > a[at(pivot, i)].abs1() {
                pivot = row;
            }
        }
        if pivot != i {
            (i..=right).for_each(|j| a.swap(at(i, j), at(pivot, j)));
            x.swap(i, pivot);
        }
        for row in i + 1..=below {
            let factor = a[at(row, i)] / a[at(i, i)];
            for j in i + 1..=right {
                let from = a[at(i, j)];
                a[at(row, j)] -= factor * from;
            }
            let from = x[i];
            x[row] -= factor * from;
        }
    }
    for i in (0..n).rev() {
        let right = (i + 2 * reach).min(n - 1);
        let sum = (i + 1..=right).fold(x[i], |sum, j| sum - a[at(i, j)] * x[j]);
        x[i] = sum / a[at(i, i)];
    }
}

fn order(m: i32) -> Outcome<usize> {
    let m = count(m.into())?;
    if m < LEAST { Err(Error::InvalidValue) } else { Ok(m) }
}

/// Solves one system with the right-hand sides that are the columns of a matrix.
pub(crate) fn with_columns<T: Blas>(
    handle: u64,
    [m, n]: [i32; 2],
    diagonals: [u64; 3],
    (b, ldb): (u64, i32),
) -> Outcome {
    let h = get(handle)?;
    let (m, n) = (order(m)?, count(n.into())?);
    let b = Dense::new(T::TYPE, [m, n], b, ldb.into())?;
    h.submit(move || {
        let lists = diagonals.map(|at| read::<T>(at, m));
        let lists = lists.into_iter().collect::<Outcome<Vec<_>>>()?;
        let mut matrix = b.read::<T>()?;
        (0..n).for_each(|j| solve(&lists, matrix.col_mut(j)));
        b.write(&matrix)
    })
}

/// Solves systems one after another, `stride` elements apart.
pub(crate) fn strided<T: Blas>(
    handle: u64,
    m: i32,
    diagonals: [u64; 3],
    x: u64,
    [batch, stride]: [i32; 2],
) -> Outcome {
    let h = get(handle)?;
    let (m, batch, stride) = (order(m)?, count(batch.into())?, count(stride.into())?);
    if stride < m {
        return Err(Error::InvalidValue);
    }
    h.submit(move || {
        for k in 0..batch {
            let place = |at: u64| at.wrapping_add((k * stride * size_of::<T>()) as u64);
            let lists = diagonals.map(|at| read::<T>(place(at), m));
            let lists = lists.into_iter().collect::<Outcome<Vec<_>>>()?;
            let mut right = read::<T>(place(x), m)?;
            solve(&lists, &mut right);
            write(place(x), &right)?;
        }
        Ok(())
    })
}

/// Solves systems whose elements alternate: element `i` of system `k` is at `i * batch + k`.
pub(crate) fn interleaved<T: Blas, const N: usize>(
    handle: u64,
    algorithm: i32,
    m: i32,
    diagonals: [u64; N],
    x: u64,
    batch: i32,
) -> Outcome {
    let h = get(handle)?;
    let (m, batch) = (order(m)?, count(batch.into())?);
    // Of tridiagonal systems there are three algorithms, of the others one.
    if !(0..=if N == 3 { 2 } else { 0 }).contains(&algorithm) {
        return Err(Error::InvalidValue);
    }
    let len = culibs::size(&[m, batch])?;
    h.submit(move || {
        let lists = diagonals.map(|at| read::<T>(at, len));
        let lists = lists.into_iter().collect::<Outcome<Vec<_>>>()?;
        let mut all = read::<T>(x, len)?;
        for k in 0..batch {
            let every = |list: &Vec<T>| list.iter().skip(k).step_by(batch).copied().collect();
            let system: Vec<Vec<T>> = lists.iter().map(every).collect();
            let mut right: Vec<T> = every(&all);
            solve(&system, &mut right);
            for (place, value) in all.iter_mut().skip(k).step_by(batch).zip(right) {
                *place = value;
            }
        }
        write(x, &all)
    })
}
