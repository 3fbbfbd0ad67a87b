//! Functions of vectors, and of a matrix and vectors.

use culibs::{DataType, Error, Number, Outcome, Ptr, count};
use linalg::Triangle;

use super::Stepped;
use crate::handle::{Handle, get};
use crate::level1;
use crate::level2::{self, StorageKind, Stored, Triangular, Update};
use operands::{Blas, Dense, Vector, dimensions, op, stored, triangle, unit};

fn vector<T: Number>(n: usize, (at, step): Stepped) -> Outcome<Vector> {
    Vector::new(T::TYPE, n, at, step)
}

/// The length of a vector that functions of vectors work on: nothing is done if it is negative.
fn length(n: i64) -> usize {
    usize::try_from(n).unwrap_or(0)
}

/// A function of one vector with a result, which is zero without a positive step.
fn reduced(n: i64, step: i64) -> usize {
    if step <= 0 { 0 } else { length(n) }
}

pub(crate) fn nrm2<T: Blas>(handle: u64, n: i64, x: Stepped, out: Ptr) -> Outcome
where
    T::Real: Blas,
{
    let h = get(handle)?;
    let out = h.place::<T::Real>(out)?;
    level1::nrm2::<T>(&h, vector::<T>(reduced(n, x.1), x)?, out)
}

pub(crate) fn asum<T: Blas>(handle: u64, n: i64, x: Stepped, out: Ptr) -> Outcome
where
    T::Real: Blas,
{
    let h = get(handle)?;
    let out = h.place::<T::Real>(out)?;
    level1::asum::<T>(&h, vector::<T>(reduced(n, x.1), x)?, out)
}

pub(crate) fn dot<T: Blas>(
    handle: u64,
    n: i64,
    x: Stepped,
    y: Stepped,
    out: Ptr,
    conj: bool,
) -> Outcome {
    let h = get(handle)?;
    let out = h.place::<T>(out)?;
    let n = length(n);
    level1::dot::<T>(&h, vector::<T>(n, x)?, vector::<T>(n, y)?, conj, out)
}

pub(crate) fn extreme<T: Blas>(
    handle: u64,
    n: i64,
    x: Stepped,
    out: Ptr,
    largest: bool,
    wide: bool,
) -> Outcome {
    let h = get(handle)?;
    level1::extreme::<T>(&h, vector::<T>(reduced(n, x.1), x)?, largest, out, wide)
}

pub(crate) fn axpy<T: Blas>(handle: u64, n: i64, alpha: Ptr, x: Stepped, y: Stepped) -> Outcome {
    let h = get(handle)?;
    let n = length(n);
    level1::axpy::<T>(&h, h.param(alpha)?, vector::<T>(n, x)?, vector::<T>(n, y)?)
}

/// `x *= alpha`, with `alpha` of the type `A`.
pub(crate) fn scal<T: Blas, A: Number>(handle: u64, n: i64, alpha: Ptr, x: Stepped) -> Outcome {
    let h = get(handle)?;
    level1::scal::<T>(&h, h.param_of(alpha, A::TYPE)?, vector::<T>(reduced(n, x.1), x)?)
}

pub(crate) fn copy<T: Blas>(handle: u64, n: i64, x: Stepped, y: Stepped) -> Outcome {
    let n = length(n);
    level1::copy::<T>(&get(handle)?, vector::<T>(n, x)?, vector::<T>(n, y)?)
}

pub(crate) fn swap<T: Blas>(handle: u64, n: i64, x: Stepped, y: Stepped) -> Outcome {
    let n = length(n);
    level1::swap::<T>(&get(handle)?, vector::<T>(n, x)?, vector::<T>(n, y)?)
}

/// A rotation, with a sine of the type `S`.
pub(crate) fn rot<T: Blas, S: Number>(
    handle: u64,
    n: i64,
    x: Stepped,
    y: Stepped,
    c: Ptr,
    s: Ptr,
) -> Outcome
where
    T::Real: Number,
{
    let h = get(handle)?;
    let n = length(n);
    let c = h.param_of::<T>(c, <T::Real as Number>::TYPE)?;
    level1::rot::<T>(&h, vector::<T>(n, x)?, vector::<T>(n, y)?, c, h.param_of(s, S::TYPE)?)
}

pub(crate) fn rotg<T: Blas>(handle: u64, a: Ptr, b: Ptr, c: Ptr, s: Ptr) -> Outcome
where
    T::Real: Blas,
{
    level1::rotg::<T>(&get(handle)?, a, b, c, s)
}

pub(crate) fn rotm<T: Blas>(handle: u64, n: i64, x: Stepped, y: Stepped, param: Ptr) -> Outcome {
    let n = length(n);
    level1::rotm::<T>(&get(handle)?, vector::<T>(n, x)?, vector::<T>(n, y)?, param)
}

fn stepping<T: Number>(n: usize, (at, step): Stepped) -> Outcome<Vector> {
    Vector::stepping(T::TYPE, n, at, step)
}

pub(crate) fn gemv<T: Blas>(
    handle: u64,
    trans: i32,
    size: [i64; 2],
    alpha: Ptr,
    a: Stepped,
    x: Stepped,
    beta: Ptr,
    y: Stepped,
) -> Outcome {
    let h = get(handle)?;
    let (op, [m, n]) = (op(trans)?, dimensions(size)?);
    let a = Dense::new(T::TYPE, [m, n], a.0, a.1)?;
    let [rows, cols] = stored(op, m, n);
    let (x, y) = (stepping::<T>(cols, x)?, stepping::<T>(rows, y)?);
    level2::gemv::<T>(&h, h.param(alpha)?, (a, op), x, h.param(beta)?, y)
}

pub(crate) fn gbmv<T: Blas>(
    handle: u64,
    trans: i32,
    size: [i64; 4],
    alpha: Ptr,
    a: Stepped,
    x: Stepped,
    beta: Ptr,
    y: Stepped,
) -> Outcome {
    let h = get(handle)?;
    let (op, [m, n, below, above]) = (op(trans)?, dimensions(size)?);
    let kind = StorageKind::Band { ld: count(a.1)?, below, above };
    let a = Stored::new(T::TYPE, [m, n], a.0, kind)?;
    let [rows, cols] = stored(op, m, n);
    let (x, y) = (stepping::<T>(cols, x)?, stepping::<T>(rows, y)?);
    level2::gbmv::<T>(&h, h.param(alpha)?, (a, op), x, h.param(beta)?, y)
}

/// How the matrix of a function is stored: whole, as a band, or packed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Storage {
    Full(Stepped),
    Band(Stepped, i64),
    Packed(u64),
}

impl Storage {
    /// A square matrix of which a half is stored.
    fn half<T: Number>(self, n: usize, half: Triangle) -> Outcome<Stored> {
        let (at, kind) = match self {
            Self::Full((at, ld)) => (at, StorageKind::Full { ld: count(ld)? }),
            Self::Band((at, ld), k) => {
                let (ld, k) = (count(ld)?, count(k)?);
                let (below, above) = if half == Triangle::Lower { (k, 0) } else { (0, k) };
                (at, StorageKind::Band { ld, below, above })
            }
            Self::Packed(at) => (at, StorageKind::Packed(half)),
        };
        Stored::new(T::TYPE, [n, n], at, kind)
    }
}

/// A symmetric matrix, or a Hermitian one if `conj`, and a vector.
pub(crate) fn symv<T: Blas>(
    handle: u64,
    uplo: i32,
    n: i64,
    alpha: Ptr,
    a: Storage,
    x: Stepped,
    beta: Ptr,
    y: Stepped,
    conj: bool,
) -> Outcome {
    let h = get(handle)?;
    let (half, n) = (triangle(uplo)?, count(n)?);
    let a = a.half::<T>(n, half)?;
    let (x, y) = (stepping::<T>(n, x)?, stepping::<T>(n, y)?);
    level2::symv::<T>(&h, h.param(alpha)?, (a, half, conj), x, h.param(beta)?, y)
}

/// A triangular matrix and a vector, which is multiplied, or solved for if `solve`.
pub(crate) fn triangular<T: Blas>(
    handle: u64,
    [uplo, trans, diag]: [i32; 3],
    n: i64,
    a: Storage,
    x: Stepped,
    solve: bool,
) -> Outcome {
    let h = get(handle)?;
    let t = Triangular { half: triangle(uplo)?, op: op(trans)?, unit: unit(diag)? };
    let n = count(n)?;
    let (a, x) = (a.half::<T>(n, t.half)?, stepping::<T>(n, x)?);
    if n == 0 {
        return Ok(());
    }
    if solve { level2::trsv::<T>(&h, a, t, x) } else { level2::trmv::<T>(&h, a, t, x) }
}

pub(crate) fn ger<T: Blas>(
    handle: u64,
    size: [i64; 2],
    alpha: Ptr,
    x: Stepped,
    y: Stepped,
    a: Stepped,
    conj: bool,
) -> Outcome {
    let h = get(handle)?;
    let [m, n] = dimensions(size)?;
    let a = Dense::new(T::TYPE, [m, n], a.0, a.1)?;
    level2::ger::<T>(&h, h.param(alpha)?, stepping::<T>(m, x)?, stepping::<T>(n, y)?, conj, a)
}

fn update<T: Number>(uplo: i32, n: i64, a: Storage, conj: bool) -> Outcome<(usize, Update)> {
    let (half, n) = (triangle(uplo)?, count(n)?);
    Ok((n, Update { a: a.half::<T>(n, half)?, half, conj }))
}

/// An update of a half by one vector, with `alpha` of the type `A`.
pub(crate) fn syr<T: Blas, A: Number>(
    handle: u64,
    uplo: i32,
    n: i64,
    alpha: Ptr,
    x: Stepped,
    a: Storage,
    conj: bool,
) -> Outcome {
    let h = get(handle)?;
    let (n, update) = update::<T>(uplo, n, a, conj)?;
    level2::syr::<T>(&h, h.param_of(alpha, A::TYPE)?, stepping::<T>(n, x)?, update)
}

/// An update of a half by two vectors.
pub(crate) fn syr2<T: Blas>(
    handle: u64,
    uplo: i32,
    n: i64,
    alpha: Ptr,
    x: Stepped,
    y: Stepped,
    a: Storage,
    conj: bool,
) -> Outcome {
    let h = get(handle)?;
    let (n, update) = update::<T>(uplo, n, a, conj)?;
    level2::syr2::<T>(&h, h.param(alpha)?, stepping::<T>(n, x)?, stepping::<T>(n, y)?, update)
}

// Functions whose types are arguments.

/// A vector of a type that is an argument.
pub(crate) type Typed = (u64, i32, i64);

fn typed(n: usize, (at, dtype, step): Typed) -> Outcome<(Vector, DataType)> {
    let dtype = DataType::of(dtype)?;
    Ok((Vector::new(dtype, n, at, step)?, dtype))
}

/// Calls a function with the type that another computes in: `execution`, which numbers of the
/// operands' types allow.
macro_rules! in_type {
    ($execution:expr, $T:ident => $body:expr) => {
        match DataType::of($execution)? {
            DataType::F32 => {
                type $T = f32;
                $body
            }
            DataType::F64 => {
                type $T = f64;
                $body
            }
            DataType::C32 => {
                type $T = linalg::c32;
                $body
            }
            DataType::C64 => {
                type $T = linalg::c64;
                $body
            }
            _ => Err(Error::NotSupported),
        }
    };
}

/// Refuses a mixture of types that the documentation does not have: narrow types are computed with
/// in `f32`, others in their own.
fn consistent(execution: i32, types: &[DataType]) -> Outcome {
    use DataType as D;
    let execution = DataType::of(execution)?;
    let fits = |&dtype: &DataType| match execution {
        D::F32 => matches!(dtype, D::F32 | D::F16 | D::BF16),
        D::C32 => matches!(dtype, D::C32 | D::C16 | D::CBF16 | D::F32),
        D::F64 => dtype == D::F64,
        D::C64 => matches!(dtype, D::C64 | D::F64),
        _ => false,
    };
    if types.iter().all(fits) { Ok(()) } else { Err(Error::NotSupported) }
}

pub(crate) fn nrm2_ex(handle: u64, n: i64, x: Typed, out: Ptr, kind: i32, exec: i32) -> Outcome {
    let h = get(handle)?;
    let (x, dtype) = typed(reduced(n, x.2), x)?;
    let result = DataType::of(kind)?;
    let out = culibs::dtype::Place::take(out, h.on_device, result)?;
    let complex = matches!(dtype, DataType::C32 | DataType::C64);
    let exec = if complex { dtype as i32 } else { exec };
    consistent(exec, &[dtype, result])?;
    in_type!(exec, T => level1::nrm2::<T>(&h, x, out))
}

pub(crate) fn asum_ex(handle: u64, n: i64, x: Typed, out: Ptr, kind: i32, exec: i32) -> Outcome {
    let h = get(handle)?;
    let (x, dtype) = typed(reduced(n, x.2), x)?;
    let result = DataType::of(kind)?;
    let out = culibs::dtype::Place::take(out, h.on_device, result)?;
    let complex = matches!(dtype, DataType::C32 | DataType::C64);
    let exec = if complex { dtype as i32 } else { exec };
    consistent(exec, &[dtype, result])?;
    in_type!(exec, T => level1::asum::<T>(&h, x, out))
}

pub(crate) fn dot_ex(
    handle: u64,
    n: i64,
    x: Typed,
    y: Typed,
    (out, kind): (Ptr, i32),
    exec: i32,
    conj: bool,
) -> Outcome {
    let h = get(handle)?;
    let n = length(n);
    let ((x, a), (y, b)) = (typed(n, x)?, typed(n, y)?);
    let out = culibs::dtype::Place::take(out, h.on_device, DataType::of(kind)?)?;
    consistent(exec, &[a, b, DataType::of(kind)?])?;
    in_type!(exec, T => level1::dot::<T>(&h, x, y, conj, out))
}

pub(crate) fn axpy_ex(
    handle: u64,
    n: i64,
    (alpha, kind): (Ptr, i32),
    x: Typed,
    y: Typed,
    exec: i32,
) -> Outcome {
    let h = get(handle)?;
    let n = length(n);
    let ((x, a), (y, b)) = (typed(n, x)?, typed(n, y)?);
    let kind = DataType::of(kind)?;
    consistent(exec, &[a, b, kind])?;
    in_type!(exec, T => level1::axpy::<T>(&h, h.param_of(alpha, kind)?, x, y))
}

pub(crate) fn scal_ex(
    handle: u64,
    n: i64,
    (alpha, kind): (Ptr, i32),
    x: Typed,
    exec: i32,
) -> Outcome {
    let h = get(handle)?;
    let (x, a) = typed(reduced(n, x.2), x)?;
    let kind = DataType::of(kind)?;
    consistent(exec, &[a, kind])?;
    in_type!(exec, T => level1::scal::<T>(&h, h.param_of(alpha, kind)?, x))
}

pub(crate) fn rot_ex(
    handle: u64,
    n: i64,
    x: Typed,
    y: Typed,
    (c, s, kind): (Ptr, Ptr, i32),
    exec: i32,
) -> Outcome {
    let h = get(handle)?;
    let n = length(n);
    let ((x, a), (y, b)) = (typed(n, x)?, typed(n, y)?);
    let kind = DataType::of(kind)?;
    consistent(exec, &[a, b, kind])?;
    let cosine = match kind {
        DataType::C32 => DataType::F32,
        DataType::C64 => DataType::F64,
        kind => kind,
    };
    in_type!(exec, T => {
        level1::rot::<T>(&h, x, y, h.param_of(c, cosine)?, h.param_of(s, kind)?)
    })
}

/// The type that elements are moved in without a change.
fn natural(dtype: DataType) -> i32 {
    match dtype {
        DataType::F16 | DataType::BF16 => DataType::F32 as i32,
        dtype => dtype as i32,
    }
}

pub(crate) fn copy_ex(handle: u64, n: i64, x: Typed, y: Typed) -> Outcome {
    let h = get(handle)?;
    let n = length(n);
    let ((x, a), (y, b)) = (typed(n, x)?, typed(n, y)?);
    if a != b {
        return Err(Error::NotSupported);
    }
    in_type!(natural(a), T => level1::copy::<T>(&h, x, y))
}

pub(crate) fn swap_ex(handle: u64, n: i64, x: Typed, y: Typed) -> Outcome {
    let h = get(handle)?;
    let n = length(n);
    let ((x, a), (y, b)) = (typed(n, x)?, typed(n, y)?);
    if a != b {
        return Err(Error::NotSupported);
    }
    in_type!(natural(a), T => level1::swap::<T>(&h, x, y))
}

pub(crate) fn extreme_ex(
    handle: u64,
    n: i64,
    x: Typed,
    out: Ptr,
    largest: bool,
    wide: bool,
) -> Outcome {
    let h = get(handle)?;
    let (x, a) = typed(reduced(n, x.2), x)?;
    in_type!(natural(a), T => level1::extreme::<T>(&h, x, largest, out, wide))
}

/// Makes the parameter of a modified rotation that maps the second of `(sqrt(d1) x, sqrt(d2) y)` to
/// zero.
pub(crate) fn rotmg<T: Blas<Real = T> + linalg::Real>(
    handle: u64,
    [d1, d2, x1, y1, param]: [Ptr; 5],
) -> Outcome {
    let h: Handle = get(handle)?;
    let place = |at| h.place::<T>(at);
    let (d1, d2, x1, y1) = (place(d1)?, place(d2)?, place(x1)?, h.param::<T>(y1)?);
    if param == 0 {
        return Err(Error::InvalidValue);
    }
    let size = size_of::<T>();
    let parts = [0, 1, 2, 3, 4].map(|i| place(param + i * size));
    h.submit(move || {
        let given = [d1.get()?, d2.get()?, x1.get()?, y1.get()?];
        let made = level1::modified_rotation::<T>(given);
        let [d, e, x] = made.changed;
        d1.put(d)?;
        d2.put(e)?;
        x1.put(x)?;
        for (place, value) in parts.into_iter().zip(made.param) {
            if let Some(value) = value {
                place?.put(value)?;
            }
        }
        Ok(())
    })
}

/// Whether a matrix is conjugated by an operation; for tables of exports.
pub(crate) const SYMMETRIC: bool = false;
/// See [`SYMMETRIC`].
pub(crate) const HERMITIAN: bool = true;
