//! Batches: lists of addresses in device memory, or matrices at equal distances.

use culibs::device::read;
use culibs::dtype::Param;
use culibs::{Error, Outcome, count};
use linalg::Op;

use crate::handle::Handle;
use crate::level2::gemv_now;
use crate::level3::{Sided, gemm_now, trsm_now};
use operands::{Blas, Dense, Vector};

/// Where the matrices of a batch are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Batch {
    /// At the addresses in this list of the device.
    List(u64),
    /// At this distance from each other, in elements.
    Stride(i64),
}

impl Batch {
    /// A list of addresses.
    pub(crate) fn list(at: u64, batch: usize) -> Outcome<Self> {
        if at == 0 && batch > 0 { Err(Error::InvalidValue) } else { Ok(Self::List(at)) }
    }

    /// Returns the matrices of a batch; this is work. A list would have to hold as many as the
    /// client says, which are matrices that are there only as far as the work gets.
    pub(crate) fn all(self, first: Dense, batch: usize) -> Outcome<Each<Dense>> {
        match self {
            Self::List(at) => {
                Ok(Box::new(read::<u64>(at, batch)?.into_iter().map(move |at| first.at(at))))
            }
            Self::Stride(step) => {
                Ok(Box::new((0..batch as i64).map(move |i| first.offset(i.wrapping_mul(step)))))
            }
        }
    }
}

/// The operands of a batch, one after another.
pub(crate) type Each<T> = Box<dyn Iterator<Item = T>>;

/// An operand of a product: its first matrix, or the form of all, and where the others are.
pub(crate) type Many = (Dense, Op, Batch);

/// `c = alpha op(a) op(b) + beta c` for each of a batch.
pub(crate) fn gemm<T: Blas>(
    h: &Handle,
    alpha: Param<T>,
    a: Many,
    b: Many,
    beta: Param<T>,
    (c, to): (Dense, Batch),
    batch: i64,
) -> Outcome {
    let batch = count(batch)?;
    h.submit(move || {
        if c.rows == 0 || c.cols == 0 || batch == 0 {
            return Ok(());
        }
        let (alpha, beta) = (alpha.get()?, beta.get()?);
        let (left, right, out) = (a.2.all(a.0, batch)?, b.2.all(b.0, batch)?, to.all(c, batch)?);
        for ((left, right), out) in left.zip(right).zip(out) {
            gemm_now(alpha, (left, a.1), (right, b.1), beta, out)?;
        }
        Ok(())
    })
}

/// The vectors of a batch: a step, and where they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vectors {
    pub(crate) at: u64,
    pub(crate) len: usize,
    pub(crate) step: i64,
    pub(crate) dtype: culibs::DataType,
    pub(crate) batch: Batch,
}

impl Vectors {
    fn all(self, batch: usize) -> Outcome<Each<Outcome<Vector>>> {
        let form = Dense::new(self.dtype, [1, 1], self.at, 1)?;
        let vector =
            move |at: Dense| Vector::stepping(self.dtype, self.len, at.address(), self.step);
        Ok(Box::new(self.batch.all(form, batch)?.map(vector)))
    }
}

/// `y = alpha op(a) x + beta y` for each of a batch.
pub(crate) fn gemv<T: Blas>(
    h: &Handle,
    alpha: Param<T>,
    (a, op, from): Many,
    x: Vectors,
    beta: Param<T>,
    y: Vectors,
    batch: i64,
) -> Outcome {
    let batch = count(batch)?;
    if x.step == 0 || y.step == 0 {
        return Err(Error::InvalidValue);
    }
    h.submit(move || {
        if a.rows == 0 || a.cols == 0 || batch == 0 {
            return Ok(());
        }
        let (alpha, beta) = (alpha.get()?, beta.get()?);
        let (matrices, x, y) = (from.all(a, batch)?, x.all(batch)?, y.all(batch)?);
        for ((a, x), y) in matrices.zip(x).zip(y) {
            gemv_now(alpha, (a, op), x?, beta, y?)?;
        }
        Ok(())
    })
}

/// Solves triangular systems for each of a batch.
pub(crate) fn trsm<T: Blas>(
    h: &Handle,
    alpha: Param<T>,
    (sided, op, unit): (Sided, Op, bool),
    (a, b): (u64, u64),
    form: Dense,
    batch: i64,
) -> Outcome {
    let batch = count(batch)?;
    let (a, b) = (Batch::list(a, batch)?, Batch::list(b, batch)?);
    h.submit(move || {
        if form.rows == 0 || form.cols == 0 || batch == 0 {
            return Ok(());
        }
        let alpha = alpha.get()?;
        let (left, right) = (a.all(sided.a, batch)?, b.all(form, batch)?);
        for (a, b) in left.zip(right) {
            trsm_now(alpha, (Sided { a, ..sided }, op, unit), b)?;
        }
        Ok(())
    })
}
