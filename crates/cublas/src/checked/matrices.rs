//! Functions of matrices.

use culibs::{DataType, Error, Number, Outcome, Ptr, count};

use super::Stepped;
use crate::handle::get;
use crate::level3::{self, Half, Sided};
use operands::{Blas, Dense, Vector, dimensions, op, right, stored, triangle, unit};

fn dense<T: Number>(size: [usize; 2], (at, ld): Stepped) -> Outcome<Dense> {
    Dense::new(T::TYPE, size, at, ld)
}

pub(crate) fn gemm<T: Blas>(
    handle: u64,
    [transa, transb]: [i32; 2],
    size: [i64; 3],
    alpha: Ptr,
    a: Stepped,
    b: Stepped,
    beta: Ptr,
    c: Stepped,
) -> Outcome {
    let h = get(handle)?;
    let (op_a, op_b, [m, n, k]) = (op(transa)?, op(transb)?, dimensions(size)?);
    let a = dense::<T>(stored(op_a, m, k), a)?;
    let b = dense::<T>(stored(op_b, k, n), b)?;
    let c = dense::<T>([m, n], c)?;
    level3::gemm::<T>(&h, h.param(alpha)?, (a, op_a), (b, op_b), h.param(beta)?, c)
}

/// Whether a result is symmetric or Hermitian, and the operations that its factors may have.
fn factor_op(trans: i32, conj: bool, complex: bool) -> Outcome<linalg::Op> {
    let op = op(trans)?;
    let other = if conj { linalg::Op::Transpose } else { linalg::Op::Adjoint };
    if complex && op == other { Err(Error::InvalidValue) } else { Ok(op) }
}

/// An update of a half by one factor, with scalars of the type `A`.
pub(crate) fn syrk<T: Blas, A: Number>(
    handle: u64,
    [uplo, trans]: [i32; 2],
    size: [i64; 2],
    alpha: Ptr,
    a: Stepped,
    beta: Ptr,
    c: Stepped,
    conj: bool,
) -> Outcome {
    update::<T, A>(handle, [uplo, trans], size, alpha, (a, T::TYPE), beta, c, conj)
}

/// The same in single precision, of a factor of the type that an argument is.
pub(crate) fn syrk_of<A: Number>(
    handle: u64,
    flags: [i32; 2],
    size: [i64; 2],
    alpha: Ptr,
    (a, atype): (Stepped, i32),
    beta: Ptr,
    (c, ctype): (Stepped, i32),
    conj: bool,
) -> Outcome {
    get(handle)?;
    let atype = DataType::of(atype)?;
    if !matches!(atype, DataType::CI8 | DataType::C32) || DataType::of(ctype)? != DataType::C32 {
        return Err(Error::NotSupported);
    }
    update::<linalg::c32, A>(handle, flags, size, alpha, (a, atype), beta, c, conj)
}

fn update<T: Blas, A: Number>(
    handle: u64,
    [uplo, trans]: [i32; 2],
    size: [i64; 2],
    alpha: Ptr,
    (a, atype): (Stepped, DataType),
    beta: Ptr,
    c: Stepped,
    conj: bool,
) -> Outcome {
    let h = get(handle)?;
    let half = triangle(uplo)?;
    let (op, [n, k]) = (factor_op(trans, conj, T::COMPLEX)?, dimensions(size)?);
    let a = Dense::new(atype, stored(op, n, k), a.0, a.1)?;
    let c = Half { c: dense::<T>([n, n], c)?, half, conj };
    let (alpha, beta) = (h.param_of(alpha, A::TYPE)?, h.param_of(beta, A::TYPE)?);
    level3::syrk::<T>(&h, alpha, (a, op), beta, c)
}

/// An update of a half by two factors, with `beta` of the type `B`; once, or twice with the factors
/// swapped if `both`.
pub(crate) fn syr2k<T: Blas, B: Number>(
    handle: u64,
    [uplo, trans]: [i32; 2],
    size: [i64; 2],
    alpha: Ptr,
    a: Stepped,
    b: Stepped,
    beta: Ptr,
    c: Stepped,
    [conj, both]: [bool; 2],
) -> Outcome {
    let h = get(handle)?;
    let half = triangle(uplo)?;
    let (op, [n, k]) = (factor_op(trans, conj, T::COMPLEX)?, dimensions(size)?);
    let (a, b) = (dense::<T>(stored(op, n, k), a)?, dense::<T>(stored(op, n, k), b)?);
    let c = Half { c: dense::<T>([n, n], c)?, half, conj };
    let (alpha, beta) = (h.param(alpha)?, h.param_of(beta, B::TYPE)?);
    match both {
        true => level3::syr2k::<T>(&h, alpha, (a, b, op), beta, c),
        false => level3::syrkx::<T>(&h, alpha, (a, b, op), beta, c),
    }
}

fn sided<T: Number>(side: i32, uplo: i32, [m, n]: [usize; 2], a: Stepped) -> Outcome<Sided> {
    let right = right(side)?;
    let order = if right { n } else { m };
    Ok(Sided { a: dense::<T>([order, order], a)?, half: triangle(uplo)?, right })
}

pub(crate) fn symm<T: Blas>(
    handle: u64,
    [side, uplo]: [i32; 2],
    size: [i64; 2],
    alpha: Ptr,
    a: Stepped,
    b: Stepped,
    beta: Ptr,
    c: Stepped,
    conj: bool,
) -> Outcome {
    let h = get(handle)?;
    let size = dimensions(size)?;
    let a = sided::<T>(side, uplo, size, a)?;
    let (b, c) = (dense::<T>(size, b)?, dense::<T>(size, c)?);
    level3::symm::<T>(&h, h.param(alpha)?, (a, conj), b, h.param(beta)?, c)
}

pub(crate) fn trmm<T: Blas>(
    handle: u64,
    [side, uplo, trans, diag]: [i32; 4],
    size: [i64; 2],
    alpha: Ptr,
    a: Stepped,
    b: Stepped,
    c: Stepped,
) -> Outcome {
    let h = get(handle)?;
    let size = dimensions(size)?;
    let a = (sided::<T>(side, uplo, size, a)?, op(trans)?, unit(diag)?);
    level3::trmm::<T>(&h, h.param(alpha)?, a, dense::<T>(size, b)?, dense::<T>(size, c)?)
}

pub(crate) fn trsm<T: Blas>(
    handle: u64,
    [side, uplo, trans, diag]: [i32; 4],
    size: [i64; 2],
    alpha: Ptr,
    a: Stepped,
    b: Stepped,
) -> Outcome {
    let h = get(handle)?;
    let size = dimensions(size)?;
    let a = (sided::<T>(side, uplo, size, a)?, op(trans)?, unit(diag)?);
    level3::trsm::<T>(&h, h.param(alpha)?, a, dense::<T>(size, b)?)
}

pub(crate) fn geam<T: Blas>(
    handle: u64,
    [transa, transb]: [i32; 2],
    size: [i64; 2],
    alpha: Ptr,
    a: Stepped,
    beta: Ptr,
    b: Stepped,
    c: Stepped,
) -> Outcome {
    let h = get(handle)?;
    let (op_a, op_b, [m, n]) = (op(transa)?, op(transb)?, dimensions(size)?);
    let a_in_place = a.0 == c.0 && (op_a != linalg::Op::None || a.1 != c.1);
    let b_in_place = b.0 == c.0 && (op_b != linalg::Op::None || b.1 != c.1);
    if a_in_place || b_in_place {
        return Err(Error::InvalidValue);
    }
    // A matrix that is not used may be null.
    let or_any = |(at, ld): Stepped| (if at == 0 { c.0 } else { at }, ld);
    let a = dense::<T>(stored(op_a, m, n), or_any(a))?;
    let b = dense::<T>(stored(op_b, m, n), or_any(b))?;
    let c = dense::<T>([m, n], c)?;
    level3::geam::<T>(&h, h.param(alpha)?, (a, op_a), h.param(beta)?, (b, op_b), c)
}

pub(crate) fn dgmm<T: Blas>(
    handle: u64,
    mode: i32,
    size: [i64; 2],
    a: Stepped,
    x: Stepped,
    c: Stepped,
) -> Outcome {
    let h = get(handle)?;
    let (right, size) = (right(mode)?, dimensions(size)?);
    let x = Vector::new(T::TYPE, if right { size[1] } else { size[0] }, x.0, x.1)?;
    level3::dgmm::<T>(&h, dense::<T>(size, a)?, right, x, dense::<T>(size, c)?)
}

/// Copies a half from packed storage to a matrix if `unpack`, else back.
pub(crate) fn packed<T: Blas>(
    handle: u64,
    uplo: i32,
    n: i64,
    packed: u64,
    a: Stepped,
    unpack: bool,
) -> Outcome {
    let h = get(handle)?;
    let (half, n) = (triangle(uplo)?, count(n)?);
    let a = dense::<T>([n, n], a)?;
    if packed == 0 && n > 0 {
        return Err(Error::InvalidValue);
    }
    culibs::size(&[n, n + 1, size_of::<T>()])?;
    level3::packed::<T>(&h, half, packed, a, unpack)
}
