//! Conversions between dense and sparse matrices.

use culibs::{Error, Outcome};
use linalg::{Matrix, Op};
use operands::Blas;

use crate::blocks::Slot;
use crate::entries::Entry;
use crate::handle::get;
use crate::objects::{DENSE, Format, SPARSE, Sparse, change, find};

/// Writes a sparse matrix as a dense one. Entries at one place are added up.
pub(crate) fn to_dense<T: Blas>(handle: u64, a: u64, b: u64) -> Outcome {
    let h = get(handle)?;
    let (a, b) = (find(&SPARSE, a)?, find(&DENSE, b)?);
    if [a.rows, a.cols] != [b.rows, b.cols] || a.dtype != b.dtype {
        return Err(Error::InvalidValue);
    }
    h.submit(move || {
        let mut out: Matrix<T> = b.zeros(0)?;
        for (i, j, value) in a.read::<T>(Op::None)? {
            out[(i, j)] += value;
        }
        b.write(0, &out)
    })
}

/// The elements of a dense matrix that are not zero, as a sparse one stores them.
fn nonzero<T: Blas>(a: &Matrix<T>, b: &Sparse) -> Vec<Entry<T>> {
    let filled = if a.rows == 0 { 0 } else { a.cols };
    let all = (0..filled).flat_map(|j| (0..a.rows).map(move |i| (i, j)));
    let mut entries: Vec<Entry<T>> =
        all.map(|(i, j)| (i, j, a[(i, j)])).filter(|e| e.2 != T::zero()).collect();
    b.sort(&mut entries);
    entries
}

/// Counts the elements that are not zero, and writes the offsets of a compressed format.
pub(crate) fn analyse_dense<T: Blas>(handle: u64, a: u64, descriptor: u64) -> Outcome {
    let h = get(handle)?;
    let (a, b) = (find(&DENSE, a)?, find(&SPARSE, descriptor)?);
    if [a.rows, a.cols] != [b.rows, b.cols] || a.dtype != b.dtype {
        return Err(Error::InvalidValue);
    }
    if matches!(b.format, Format::BlockedEll { .. }) {
        return Ok(());
    }
    h.submit(move || {
        let entries = nonzero::<T>(&a.read(0)?, &b);
        change(&SPARSE, descriptor, |b| b.nnz = entries.len())?;
        if b.format == Format::Coo { Ok(()) } else { b.write_first(&entries) }
    })
}

/// The elements of a dense matrix at the places that are stored, and zeros in padding.
fn at_slots<T: Blas>(a: &Matrix<T>, b: &Sparse) -> Outcome {
    b.read_values::<T>()?;
    let value = |slot: Slot| slot.map_or(T::zero(), |place| a[place]);
    b.write_values(&b.slots()?.into_iter().map(value).collect::<Vec<T>>())
}

/// Writes a dense matrix as a sparse one. In blocked ELL the client says which blocks there are.
pub(crate) fn to_sparse<T: Blas>(handle: u64, a: u64, b: u64) -> Outcome {
    let h = get(handle)?;
    let (a, b) = (find(&DENSE, a)?, find(&SPARSE, b)?);
    if [a.rows, a.cols] != [b.rows, b.cols] || a.dtype != b.dtype {
        return Err(Error::InvalidValue);
    }
    h.submit(move || {
        if matches!(b.format, Format::BlockedEll { .. }) {
            return at_slots::<T>(&a.read(0)?, &b);
        }
        let entries = nonzero::<T>(&a.read(0)?, &b);
        if entries.len() != b.nnz {
            return Err(Error::Execution);
        }
        b.write_first(&entries)?;
        b.write_rest(&entries)
    })
}
