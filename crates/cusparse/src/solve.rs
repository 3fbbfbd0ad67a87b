//! Sparse triangular systems.

use culibs::device::put_host;
use culibs::handles::Handles;
use culibs::{DataType, Error, Outcome, Ptr};
use linalg::{Matrix, Op, Triangle};
use operands::{Blas, op};

use crate::entries::{Entry, consistent};
use crate::handle::get;
use crate::objects::{DENSE, SPARSE, Sparse, VECTORS, find};

/// What an analysis finds: nothing is kept.
static DESCRIPTORS: Handles<()> = Handles::new(0x5c_0000_0000);

pub(crate) fn create(out: Ptr) -> Outcome {
    let descriptor = DESCRIPTORS.add(());
    put_host(out, descriptor).inspect_err(|_| {
        let _ = DESCRIPTORS.remove(descriptor);
    })
}

pub(crate) fn destroy(descriptor: u64) -> Outcome {
    crate::objects::remove(&DESCRIPTORS, descriptor)
}

/// The rows of a triangular matrix.
struct Rows<T> {
    rows: Vec<Vec<(usize, T)>>,
    diagonal: Vec<T>,
    forward: bool,
}

impl<T: Blas> Rows<T> {
    fn new(a: &Sparse, op: Op) -> Outcome<Self> {
        let n = a.rows;
        let lower = (a.half == Triangle::Lower) == (op == Op::None);
        let half = if lower { Triangle::Lower } else { Triangle::Upper };
        let mut rows = vec![Vec::new(); n];
        let mut diagonal = vec![if a.unit { T::one() } else { T::zero() }; n];
        let entries: Vec<Entry<T>> = a.read(op)?;
        for (i, j, value) in entries {
            if i == j {
                if !a.unit {
                    diagonal[i] += value;
                }
            } else if half.has(i, j) {
                rows[i].push((j, value));
            }
        }
        Ok(Self { rows, diagonal, forward: lower })
    }

    /// Solves in place. A zero on the diagonal gives infinities or NaN.
    fn solve(&self, x: &mut [T]) {
        let n = x.len();
        for step in 0..n {
            let i = if self.forward { step } else { n - 1 - step };
            let mut sum = x[i];
            for &(j, value) in &self.rows[i] {
                sum -= value * x[j];
            }
            x[i] = sum / self.diagonal[i];
        }
    }
}

/// Solves `op(a) y = alpha x`.
pub(crate) fn spsv<T: Blas>(
    handle: u64,
    trans: i32,
    alpha: Ptr,
    [a, x, y]: [u64; 3],
    compute: i32,
) -> Outcome {
    let h = get(handle)?;
    let op = op(trans)?;
    let (a, x, y) = (find(&SPARSE, a)?, find(&VECTORS, x)?, find(&VECTORS, y)?);
    if a.rows != a.cols || x.len != a.rows || y.len != a.rows {
        return Err(Error::InvalidValue);
    }
    consistent(compute, &[a.dtype, x.dtype, y.dtype])?;
    let alpha = h.param::<T>(alpha, DataType::of(compute)?)?;
    h.submit(move || {
        let alpha = alpha.get()?;
        let mut out: Vec<T> = x.read::<T>()?.into_iter().map(|v| alpha * v).collect();
        let rows = Rows::<T>::new(&a, op)?;
        rows.solve(&mut out);
        y.write(&out)
    })
}

/// Solves `op(a) c = alpha op(b)`.
pub(crate) fn spsm<T: Blas>(
    handle: u64,
    [trans_a, trans_b]: [i32; 2],
    alpha: Ptr,
    [a, b, c]: [u64; 3],
    compute: i32,
) -> Outcome {
    let h = get(handle)?;
    let (op_a, op_b) = (op(trans_a)?, op(trans_b)?);
    let (a, b, c) = (find(&SPARSE, a)?, find(&DENSE, b)?, find(&DENSE, c)?);
    if a.rows != a.cols || b.size(op_b) != [c.rows, c.cols] || c.rows != a.rows {
        return Err(Error::InvalidValue);
    }
    consistent(compute, &[a.dtype, b.dtype, c.dtype])?;
    let alpha = h.param::<T>(alpha, DataType::of(compute)?)?;
    h.submit(move || {
        let alpha = alpha.get()?;
        let mut out: Matrix<T> = b.read::<T>(0)?.op(op_b);
        if out.data.is_empty() {
            return Ok(());
        }
        let rows = Rows::<T>::new(&a, op_a)?;
        for j in 0..out.cols {
            let column = out.col_mut(j);
            for x in column.iter_mut() {
                *x *= alpha;
            }
            rows.solve(column);
        }
        c.write(0, &out)
    })
}

/// Calls of the analysis check what the solution checks, and do nothing.
pub(crate) fn analysis(handle: u64, descriptor: u64) -> Outcome {
    get(handle)?;
    if DESCRIPTORS.has(descriptor) { Ok(()) } else { Err(Error::InvalidValue) }
}
