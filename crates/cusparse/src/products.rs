//! Products with dense vectors and matrices.

use culibs::{DataType, Error, Outcome, Ptr};
use linalg::{Matrix, Op};
use operands::{Blas, op};

use crate::entries::{consistent, scaled};
use crate::handle::get;
use crate::objects::{DENSE, SPARSE, SPARSE_VECTORS, SparseVector, VECTORS, Vector, find};

/// `y = alpha op(a) x + beta y`.
pub(crate) fn spmv<T: Blas>(
    handle: u64,
    trans: i32,
    alpha: Ptr,
    [a, x, y]: [u64; 3],
    beta: Ptr,
    compute: i32,
) -> Outcome {
    let h = get(handle)?;
    let op = op(trans)?;
    let (a, x, y) = (find(&SPARSE, a)?, find(&VECTORS, x)?, find(&VECTORS, y)?);
    if [y.len, x.len] != a.size(op) {
        return Err(Error::InvalidValue);
    }
    consistent(compute, &[a.dtype, x.dtype, y.dtype])?;
    let scalar = DataType::of(compute)?;
    let (alpha, beta) = (h.param::<T>(alpha, scalar)?, h.param::<T>(beta, scalar)?);
    h.submit(move || {
        let (alpha, beta) = (alpha.get()?, beta.get()?);
        let mut sums = y.zeros::<T>()?;
        let (entries, x) = (a.read::<T>(op)?, x.read::<T>()?);
        for (i, j, value) in entries {
            sums[i] += value * x[j];
        }
        let mut out =
            if beta == T::zero() { vec![T::zero(); y.len] } else { scaled(beta, y.read()?) };
        for (out, sum) in out.iter_mut().zip(sums) {
            *out += alpha * sum;
        }
        y.write(&out)
    })
}

/// `c = alpha op(a) op(b) + beta c`, for a sparse `a`.
pub(crate) fn spmm<T: Blas>(
    handle: u64,
    [trans_a, trans_b]: [i32; 2],
    alpha: Ptr,
    [a, b, c]: [u64; 3],
    beta: Ptr,
    compute: i32,
) -> Outcome {
    let h = get(handle)?;
    let (op_a, op_b) = (op(trans_a)?, op(trans_b)?);
    let (a, b, c) = (find(&SPARSE, a)?, find(&DENSE, b)?, find(&DENSE, c)?);
    let ([m, k], [k2, n]) = (a.size(op_a), b.size(op_b));
    if k != k2 || [c.rows, c.cols] != [m, n] {
        return Err(Error::InvalidValue);
    }
    consistent(compute, &[a.dtype, b.dtype, c.dtype])?;
    let scalar = DataType::of(compute)?;
    let (alpha, beta) = (h.param::<T>(alpha, scalar)?, h.param::<T>(beta, scalar)?);
    h.submit(move || {
        let (alpha, beta) = (alpha.get()?, beta.get()?);
        if m == 0 || n == 0 {
            return Ok(());
        }
        for batch in 0..c.batches {
            let entries = a.batch(batch).read::<T>(op_a)?;
            let right = b.read::<T>(batch)?.op(op_b);
            let mut sums: Matrix<T> = c.zeros(batch)?;
            for column in 0..n {
                let (from, to) = (right.col(column), sums.col_mut(column));
                for &(i, j, value) in &entries {
                    to[i] += value * from[j];
                }
            }
            let old = match beta == T::zero() {
                true => Matrix::zeros(m, n),
                false => c.read(batch)?,
            };
            for (sum, old) in sums.data.iter_mut().zip(scaled(beta, old.data)) {
                *sum = alpha * *sum + old;
            }
            c.write(batch, &sums)?;
        }
        Ok(())
    })
}

/// `c = alpha (op(a) op(b)) + beta c`, at the places of a sparse `c`.
pub(crate) fn sddmm<T: Blas>(
    handle: u64,
    [trans_a, trans_b]: [i32; 2],
    alpha: Ptr,
    [a, b, c]: [u64; 3],
    beta: Ptr,
    compute: i32,
) -> Outcome {
    let h = get(handle)?;
    let (op_a, op_b) = (op(trans_a)?, op(trans_b)?);
    let (a, b, c) = (find(&DENSE, a)?, find(&DENSE, b)?, find(&SPARSE, c)?);
    let ([m, k], [k2, n]) = (a.size(op_a), b.size(op_b));
    if k != k2 || [c.rows, c.cols] != [m, n] {
        return Err(Error::InvalidValue);
    }
    consistent(compute, &[a.dtype, b.dtype, c.dtype])?;
    let scalar = DataType::of(compute)?;
    let (alpha, beta) = (h.param::<T>(alpha, scalar)?, h.param::<T>(beta, scalar)?);
    h.submit(move || {
        let (alpha, beta) = (alpha.get()?, beta.get()?);
        for batch in 0..c.batches {
            let (left, right, c) = (a.read::<T>(batch)?, b.read::<T>(batch)?, c.batch(batch));
            // Columns of the left factor's transpose are its rows.
            let (rows, columns) = (left.op(op_a).op(Op::Transpose), right.op(op_b));
            let mut values = c.read_values::<T>()?;
            for (slot, value) in c.slots()?.into_iter().zip(&mut values) {
                let Some((i, j)) = slot else { continue };
                let terms = rows.col(i).iter().zip(columns.col(j));
                let sum: T = terms.map(|(x, y)| *x * *y).sum();
                let old = if beta == T::zero() { T::zero() } else { beta * *value };
                *value = alpha * sum + old;
            }
            c.write_values(&values)?;
        }
        Ok(())
    })
}

/// The dot product of a sparse vector, or its conjugate, and a dense one.
pub(crate) fn spvv<T: Blas>(
    handle: u64,
    trans: i32,
    x: u64,
    y: u64,
    out: Ptr,
    compute: i32,
) -> Outcome {
    let h = get(handle)?;
    let conj = op(trans)? == Op::Adjoint;
    let (x, y) = (find(&SPARSE_VECTORS, x)?, find(&VECTORS, y)?);
    if x.len != y.len {
        return Err(Error::InvalidValue);
    }
    consistent(compute, &[x.dtype, y.dtype])?;
    let place = culibs::dtype::Place::take(out, h.on_device, DataType::of(compute)?)?;
    h.submit(move || {
        let (places, list, dense) = (x.places()?, x.read::<T>()?, y.read::<T>()?);
        let term = |(i, v): (usize, T)| if conj { v.conj() * dense[i] } else { v * dense[i] };
        place.put::<T>(places.into_iter().zip(list).map(term).sum())
    })
}

/// Returns a sparse and a dense vector of one length and one type.
fn pair(sparse: u64, dense: u64) -> Outcome<(SparseVector, Vector)> {
    let (x, y) = (find(&SPARSE_VECTORS, sparse)?, find(&VECTORS, dense)?);
    if x.len != y.len || x.dtype != y.dtype {
        return Err(Error::InvalidValue);
    }
    Ok((x, y))
}

/// `y = alpha x + beta y`, for a sparse `x`.
pub(crate) fn axpby<T: Blas>(handle: u64, alpha: Ptr, x: u64, beta: Ptr, y: u64) -> Outcome {
    let h = get(handle)?;
    let (x, y) = pair(x, y)?;
    let (alpha, beta) = (h.param::<T>(alpha, T::TYPE)?, h.param::<T>(beta, T::TYPE)?);
    h.submit(move || {
        let (alpha, mut out) = (alpha.get()?, scaled(beta.get()?, y.read::<T>()?));
        for (i, value) in x.places()?.into_iter().zip(x.read::<T>()?) {
            out[i] += alpha * value;
        }
        y.write(&out)
    })
}

/// Copies the elements of a dense vector at the places of a sparse one to it, or back.
pub(crate) fn gather<T: Blas>(handle: u64, dense: u64, sparse: u64, back: bool) -> Outcome {
    let h = get(handle)?;
    let (x, y) = pair(sparse, dense)?;
    h.submit(move || {
        let (places, mut all) = (x.places()?, y.read::<T>()?);
        if back {
            for (i, value) in places.into_iter().zip(x.read::<T>()?) {
                all[i] = value;
            }
            return y.write(&all);
        }
        x.write(&places.into_iter().map(|i| all[i]).collect::<Vec<T>>())
    })
}

/// Rotates a sparse and a dense vector in the plane.
pub(crate) fn rot<T: Blas>(handle: u64, c: Ptr, s: Ptr, x: u64, y: u64) -> Outcome {
    let h = get(handle)?;
    let (x, y) = pair(x, y)?;
    let (c, s) = (h.param::<T>(c, T::TYPE)?, h.param::<T>(s, T::TYPE)?);
    h.submit(move || {
        let (c, s) = (c.get()?, s.get()?);
        let (mut sparse, mut dense) = (x.read::<T>()?, y.read::<T>()?);
        for (i, a) in x.places()?.into_iter().zip(&mut sparse) {
            let (p, q) = (*a, dense[i]);
            *a = c * p + s * q;
            dense[i] = c * q - s.conj() * p;
        }
        x.write(&sparse)?;
        y.write(&dense)
    })
}
