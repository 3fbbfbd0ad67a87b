//! Sparse systems: elimination column by column with row exchanges (Gilbert and Peierls, 1988), for
//! the functions that are named after LU, Cholesky and QR factorisations.
//!
//! Matrices are in CSR with a descriptor of cuSPARSE, of which the base of the indices is asked
//! there. Reorderings are accepted and not done.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use culibs::device::{get_host_list, put_host, put_host_list, read, write};
use culibs::driver::other_library_knows;
use culibs::handles::Handles;
use culibs::stream::submit;
use culibs::{Error, Number, Outcome, Ptr, count};
use linalg::Scalar;
use operands::Blas;

use crate::handle::{Handle, get_sparse};

/// The columns of a matrix, each as a list of rows and values.
type Columns<T> = Vec<Vec<(usize, T)>>;

/// A factorised matrix.
struct Factors<T> {
    /// Below each pivot: rows of the matrix, and what is subtracted of the pivot's row.
    lower: Columns<T>,
    /// Of each column: the numbers of earlier pivots, and the pivot itself as the last.
    upper: Columns<T>,
    /// The row of each pivot.
    rows: Vec<usize>,
}

/// How pivots are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pivoting {
    /// The largest element of a column.
    Largest,
    /// The diagonal, which must be positive.
    Positive,
}

/// Factorises. The error is the first column without a pivot above the tolerance.
fn factorise<T: Scalar>(
    columns: &Columns<T>,
    pivoting: Pivoting,
    tolerance: T::Real,
) -> Result<Factors<T>, usize> {
    let n = columns.len();
    let (mut lower, mut upper) = (Columns::with_capacity(n), Columns::with_capacity(n));
    let (mut rows, mut order) = (Vec::with_capacity(n), vec![usize::MAX; n]);
    let (mut x, mut seen) = (vec![T::zero(); n], vec![usize::MAX; n]);
    for (j, column) in columns.iter().enumerate() {
        let (mut touched, mut earlier) = (Vec::new(), BinaryHeap::new());
        let mut touch = |i: usize, x: &mut Vec<T>, earlier: &mut BinaryHeap<_>| {
            if seen[i] != j {
                seen[i] = j;
                x[i] = T::zero();
                touched.push(i);
                if order[i] != usize::MAX {
                    earlier.push(Reverse(order[i]));
                }
            }
        };
        for &(i, value) in column {
            touch(i, &mut x, &mut earlier);
            x[i] += value;
        }
        let mut above = Vec::new();
        while let Some(Reverse(k)) = earlier.pop() {
            let factor = x[rows[k]];
            above.push((k, factor));
            let below: &Vec<(usize, T)> = &lower[k];
            for &(i, value) in below {
                touch(i, &mut x, &mut earlier);
                x[i] -= value * factor;
            }
        }
        let open = || touched.iter().copied().filter(|&i| order[i] == usize::MAX);
        let best = match pivoting {
            Pivoting::Positive => open().find(|&i| i == j).filter(|&i| x[i].re() > tolerance),
            Pivoting::Largest => open()
                .max_by(|&a, &b| {
                    let order = x[a].modulus().partial_cmp(&x[b].modulus());
                    // Of equal ones the first row.
                    order.unwrap_or(std::cmp::Ordering::Equal).then(b.cmp(&a))
                })
                .filter(|&i| x[i].modulus() > tolerance),
        };
        let row = best.ok_or(j)?;
        let pivot = x[row];
        lower.push(open().filter(|&i| i != row).map(|i| (i, x[i] / pivot)).collect());
        above.push((j, pivot));
        upper.push(above);
        order[row] = j;
        rows.push(row);
    }
    Ok(Factors { lower, upper, rows })
}

impl<T: Scalar> Factors<T> {
    fn solve(&self, mut b: Vec<T>) -> Vec<T> {
        let n = b.len();
        let mut y = vec![T::zero(); n];
        for k in 0..n {
            y[k] = b[self.rows[k]];
            for &(i, value) in &self.lower[k] {
                b[i] -= value * y[k];
            }
        }
        for j in (0..n).rev() {
            let above = &self.upper[j];
            y[j] /= above[above.len() - 1].1;
            for &(k, value) in &above[..above.len() - 1] {
                let of = y[j];
                y[k] -= value * of;
            }
        }
        y
    }
}

/// Where a matrix is, or right-hand sides are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Device,
    Host,
}

impl Place {
    fn read<T: Number>(self, at: u64, len: usize) -> Outcome<Vec<T>> {
        match self {
            Self::Device => read(at, len),
            Self::Host => get_host_list(at as Ptr, len),
        }
    }

    fn write<T: Number>(self, at: u64, list: &[T]) -> Outcome {
        match self {
            Self::Device => write(at, list),
            Self::Host if list.is_empty() => Ok(()),
            Self::Host => put_host_list(at as Ptr, list),
        }
    }
}

/// A square matrix as a call gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given {
    pub(crate) size: [i32; 2],
    pub(crate) descriptor: u64,
    pub(crate) values: u64,
    pub(crate) first: u64,
    pub(crate) second: u64,
}

impl Given {
    /// Checks what does not need memory, and returns the order and the number of entries.
    pub(crate) fn checked(&self) -> Outcome<[usize; 2]> {
        if self.descriptor == 0 {
            return Err(Error::InvalidValue);
        }
        Ok([count(self.size[0].into())?, count(self.size[1].into())?])
    }

    /// Returns the number of the first row and column: 0 or 1.
    pub(crate) fn base(&self) -> i32 {
        let library = c"libcusparse.so.12";
        other_library_knows(library, c"cusparseGetMatIndexBase", self.descriptor).into()
    }

    /// Reads the columns of the matrix whose values are at another address.
    fn columns<T: Number + Scalar>(&self, place: Place, values: u64) -> Outcome<Columns<T>> {
        let [n, nnz] = self.checked()?;
        let base = self.base();
        let index = |i: i32, limit: usize| {
            let i = usize::try_from(i64::from(i) - i64::from(base)).ok();
            i.filter(|&i| i < limit).ok_or(Error::Execution)
        };
        let (first, second) =
            (place.read::<i32>(self.first, n + 1)?, place.read(self.second, nnz)?);
        let values: Vec<T> = place.read(values, nnz)?;
        let mut columns = vec![Vec::new(); n];
        let mut at = 0;
        for (i, end) in first[1..].iter().enumerate() {
            let end = index(*end, nnz + 1)?;
            for k in at..end.max(at) {
                columns[index(second[k], n)?].push((i, values[k]));
            }
            at = end;
        }
        Ok(columns)
    }
}

/// Solves `a x = b`, and tells on the host the first column without a pivot, or -1.
pub(crate) fn solve<T: Blas>(
    handle: u64,
    given: Given,
    (place, pivoting): (Place, Pivoting),
    b: u64,
    tolerance: T::Real,
    x: u64,
    singularity: Ptr,
) -> Outcome {
    let h = get_sparse(handle)?;
    let [n, _] = given.checked()?;
    let work = move || {
        let columns = given.columns::<T>(place, given.values)?;
        let right = place.read::<T>(b, n)?;
        match factorise(&columns, pivoting, tolerance) {
            Ok(factors) => place.write(x, &factors.solve(right))?,
            Err(column) => return put_host(singularity, column as i32),
        }
        put_host(singularity, -1_i32)
    };
    match place {
        Place::Host => work(),
        Place::Device => submit(h.stream, work),
    }
}

/// What an analysis of a batch keeps: nothing.
static INFOS: Handles<()> = Handles::new(0x61_0000_0000);

pub(crate) fn create_info(out: Ptr) -> Outcome {
    let info = INFOS.add(());
    put_host(out, info).inspect_err(|_| {
        let _ = INFOS.remove(info);
    })
}

pub(crate) fn destroy_info(info: u64) -> Outcome {
    INFOS.remove(info).map_err(|_| Error::InvalidValue)
}

fn batch_checked(handle: u64, given: Given, n: i32, info: u64) -> Outcome<Handle> {
    let h = get_sparse(handle)?;
    given.checked()?;
    if !INFOS.has(info) {
        return Err(Error::InvalidValue);
    }
    // Systems with more equations than unknowns are solved by QR alone, which is not here.
    if n != given.size[0] { Err(Error::NotSupported) } else { Ok(h) }
}

pub(crate) fn analyse_batch(handle: u64, given: Given, n: i32, info: u64) -> Outcome {
    batch_checked(handle, given, n, info).map(drop)
}

pub(crate) fn batch_sizes(
    handle: u64,
    given: Given,
    n: i32,
    info: u64,
    [internal, work]: [Ptr; 2],
) -> Outcome {
    batch_checked(handle, given, n, info)?;
    put_host(internal, 16_usize)?;
    put_host(work, 16_usize)
}

/// Solves systems with one pattern, whose values, right-hand sides and solutions are one after
/// another. Those of a singular matrix are infinite or NaN.
pub(crate) fn solve_batch<T: Blas>(
    handle: u64,
    given: Given,
    n: i32,
    [b, x]: [u64; 2],
    batch: i32,
    info: u64,
) -> Outcome {
    let h = batch_checked(handle, given, n, info)?;
    let ([n, nnz], batch) = (given.checked()?, count(batch.into())?);
    submit(h.stream, move || {
        for k in 0..batch {
            let skip = |at: u64, len: usize| at.wrapping_add((k * len * size_of::<T>()) as u64);
            let columns = given.columns::<T>(Place::Device, skip(given.values, nnz))?;
            let right = read::<T>(skip(b, n), n)?;
            let solution = match factorise(&columns, Pivoting::Largest, num_traits::Zero::zero()) {
                Ok(factors) => factors.solve(right),
                Err(_) => right.into_iter().map(|b| b / T::zero()).collect(),
            };
            write(skip(x, n), &solution)?;
        }
        Ok(())
    })
}
