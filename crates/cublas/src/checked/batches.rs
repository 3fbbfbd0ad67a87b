//! Functions of batches.

use culibs::{Error, Number, Outcome, Ptr, count};

use super::Stepped;
use crate::batched::{self, Batch, Vectors};
use crate::factor;
use crate::handle::get;
use crate::level3::Sided;
use operands::{Blas, Dense, dimensions, op, right, stored, triangle, unit};

/// The matrices of a batch: a list of addresses and a leading dimension; or an address, a leading
/// dimension, and a distance in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Matrices {
    List(u64, i64),
    Strided(u64, i64, i64),
}

impl Matrices {
    /// The form of all matrices, and where they are.
    pub(crate) fn of(
        self,
        dtype: culibs::DataType,
        size: [usize; 2],
        batch: i64,
    ) -> Outcome<(Dense, Batch)> {
        match self {
            Self::List(at, ld) => {
                Ok((Dense::form(dtype, size, ld)?, Batch::list(at, count(batch)?)?))
            }
            Self::Strided(at, ld, step) => {
                Ok((Dense::new(dtype, size, at, ld)?, Batch::Stride(step)))
            }
        }
    }
}

pub(crate) fn gemm<T: Blas>(
    handle: u64,
    [transa, transb]: [i32; 2],
    size: [i64; 3],
    alpha: Ptr,
    a: Matrices,
    b: Matrices,
    beta: Ptr,
    c: Matrices,
    batch: i64,
) -> Outcome {
    let h = get(handle)?;
    let (op_a, op_b, [m, n, k]) = (op(transa)?, op(transb)?, dimensions(size)?);
    let (a, from_a) = a.of(T::TYPE, stored(op_a, m, k), batch)?;
    let (b, from_b) = b.of(T::TYPE, stored(op_b, k, n), batch)?;
    let c = c.of(T::TYPE, [m, n], batch)?;
    let (alpha, beta) = (h.param(alpha)?, h.param(beta)?);
    batched::gemm::<T>(&h, alpha, (a, op_a, from_a), (b, op_b, from_b), beta, c, batch)
}

/// Vectors of a batch as arguments: a list and a step; or an address, a step, and a distance.
fn vectors(dtype: culibs::DataType, len: usize, of: Matrices, batch: i64) -> Outcome<Vectors> {
    Ok(match of {
        Matrices::List(at, step) => {
            Vectors { at: 1, len, step, dtype, batch: Batch::list(at, count(batch)?)? }
        }
        Matrices::Strided(at, step, distance) => {
            Vectors { at, len, step, dtype, batch: Batch::Stride(distance) }
        }
    })
}

/// Products of matrices of the type `A` and vectors, with results of the type `Y`, computed in `T`.
pub(crate) fn gemv<T: Blas, A: Number, Y: Number>(
    handle: u64,
    trans: i32,
    size: [i64; 2],
    alpha: Ptr,
    a: Matrices,
    x: Matrices,
    beta: Ptr,
    y: Matrices,
    batch: i64,
) -> Outcome {
    let h = get(handle)?;
    let (op, [m, n]) = (op(trans)?, dimensions(size)?);
    let (a, from) = a.of(A::TYPE, [m, n], batch)?;
    let [rows, cols] = stored(op, m, n);
    let (x, y) = (vectors(A::TYPE, cols, x, batch)?, vectors(Y::TYPE, rows, y, batch)?);
    batched::gemv::<T>(&h, h.param(alpha)?, (a, op, from), x, h.param(beta)?, y, batch)
}

pub(crate) fn trsm<T: Blas>(
    handle: u64,
    [side, uplo, trans, diag]: [i32; 4],
    size: [i64; 2],
    alpha: Ptr,
    a: Stepped,
    b: Stepped,
    batch: i64,
) -> Outcome {
    let h = get(handle)?;
    let [m, n] = dimensions(size)?;
    let right = right(side)?;
    let order = if right { n } else { m };
    let form = Dense::form(T::TYPE, [order, order], a.1)?;
    let sided = Sided { a: form, half: triangle(uplo)?, right };
    let b_form = Dense::form(T::TYPE, [m, n], b.1)?;
    let a_op = (sided, op(trans)?, unit(diag)?);
    batched::trsm::<T>(&h, h.param(alpha)?, a_op, (a.0, b.0), b_form, batch)
}

fn list<T: Number>(size: [usize; 2], (at, ld): Stepped) -> Outcome<factor::List> {
    Ok((Dense::form(T::TYPE, size, ld)?, at))
}

/// Checks the address of a list of numbers on the device.
fn device_list(at: u64, batch: i64) -> Outcome<u64> {
    if at == 0 && batch > 0 { Err(Error::InvalidValue) } else { Ok(at) }
}

pub(crate) fn getrf<T: Blas>(
    handle: u64,
    n: i32,
    a: Stepped,
    pivots: u64,
    info: u64,
    batch: i32,
) -> Outcome {
    let h = get(handle)?;
    let n = count(n.into())?;
    let info = device_list(info, batch.into())?;
    factor::getrf::<T>(&h, list::<T>([n, n], a)?, pivots, info, batch.into())
}

pub(crate) fn getri<T: Blas>(
    handle: u64,
    n: i32,
    a: Stepped,
    pivots: u64,
    c: Stepped,
    info: u64,
    batch: i32,
) -> Outcome {
    let h = get(handle)?;
    let n = count(n.into())?;
    let info = device_list(info, batch.into())?;
    let (a, c) = (list::<T>([n, n], a)?, list::<T>([n, n], c)?);
    factor::getri::<T>(&h, a, pivots, c, info, batch.into())
}

pub(crate) fn matinv<T: Blas>(
    handle: u64,
    n: i32,
    a: Stepped,
    c: Stepped,
    info: u64,
    batch: i32,
) -> Outcome {
    let h = get(handle)?;
    let n = count(n.into())?;
    let info = device_list(info, batch.into())?;
    factor::matinv::<T>(&h, list::<T>([n, n], a)?, list::<T>([n, n], c)?, info, batch.into())
}

/// Writes the number of an argument that is not valid, for functions that have an `info` on the
/// host.
fn told(info: Ptr, bad: &[(bool, i32)]) -> Outcome {
    if let Some((_, number)) = bad.iter().find(|(bad, _)| *bad) {
        culibs::device::put_host(info, -number)?;
        return Err(Error::InvalidValue);
    }
    Ok(())
}

pub(crate) fn getrs<T: Blas>(
    handle: u64,
    trans: i32,
    [n, nrhs]: [i32; 2],
    a: Stepped,
    pivots: u64,
    b: Stepped,
    info: Ptr,
    batch: i32,
) -> Outcome {
    let h = get(handle)?;
    let order = i64::from(n.max(1));
    told(
        info,
        &[
            (!(0..=2).contains(&trans), 1),
            (n < 0, 2),
            (nrhs < 0, 3),
            (a.0 == 0 && batch > 0, 4),
            (a.1 < order, 5),
            (b.0 == 0 && batch > 0, 7),
            (b.1 < order, 8),
            (batch < 0, 10),
        ],
    )?;
    let [n, nrhs] = dimensions([n.into(), nrhs.into()])?;
    let (a, b) = (list::<T>([n, n], a)?, list::<T>([n, nrhs], b)?);
    factor::getrs::<T>(&h, op(trans)?, a, pivots, b, info, batch.into())
}

pub(crate) fn geqrf<T: Blas>(
    handle: u64,
    [m, n]: [i32; 2],
    a: Stepped,
    tau: u64,
    info: Ptr,
    batch: i32,
) -> Outcome {
    let h = get(handle)?;
    told(
        info,
        &[
            (m < 0, 1),
            (n < 0, 2),
            (a.0 == 0 && batch > 0, 3),
            (a.1 < i64::from(m.max(1)), 4),
            (tau == 0 && batch > 0, 5),
            (batch < 0, 7),
        ],
    )?;
    let [m, n] = dimensions([m.into(), n.into()])?;
    factor::geqrf::<T>(&h, list::<T>([m, n], a)?, tau, info, batch.into())
}

pub(crate) fn gels<T: Blas>(
    handle: u64,
    trans: i32,
    [m, n, nrhs]: [i32; 3],
    a: Stepped,
    c: Stepped,
    (info, infos): (Ptr, u64),
    batch: i32,
) -> Outcome {
    let h = get(handle)?;
    // The documentation has this for systems with too many equations, not transposed.
    if trans != 0 || m < n {
        culibs::device::put_host(info, 0_i32)?;
        return Err(Error::NotSupported);
    }
    told(
        info,
        &[
            (m < 0, 2),
            (n < 0, 3),
            (nrhs < 0, 4),
            (a.1 < i64::from(m.max(1)), 6),
            (c.1 < i64::from(m.max(1)), 8),
            (batch < 0, 11),
        ],
    )?;
    let [m, n, nrhs] = dimensions([m.into(), n.into(), nrhs.into()])?;
    let (a, c) = (list::<T>([m, n], a)?, list::<T>([m, nrhs], c)?);
    factor::gels::<T>(&h, a, c, info, infos, batch.into())
}
