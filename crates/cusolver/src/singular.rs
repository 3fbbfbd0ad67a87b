//! Singular values and vectors.

use culibs::device::put_host;
use culibs::{Error, Number, Outcome, Ptr, count};
use linalg::{Matrix, Op, Svd, residual, svd};
use operands::{Blas, Dense, dimensions};

use crate::eigen::vectors;
use crate::factor::{Stepped, write_real};
use crate::handle::get;
use crate::infos::Residual;

/// What is asked for of singular vectors, by LAPACK's letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    All,
    Some,
    Overwrite,
    None,
}

fn job(letter: u8) -> Outcome<Job> {
    match letter {
        b'A' => Ok(Job::All),
        b'S' => Ok(Job::Some),
        b'O' => Ok(Job::Overwrite),
        b'N' => Ok(Job::None),
        _ => Err(Error::InvalidValue),
    }
}

/// Returns where vectors go that are wanted.
fn side<T: Blas>(wanted: bool, size: [usize; 2], (at, ld): Stepped) -> Outcome<Option<Dense>> {
    if wanted { Dense::new(T::TYPE, size, at, ld).map(Some) } else { Ok(None) }
}

fn write_values<T: Blas>(at: u64, values: &[T::Real]) -> Outcome
where
    T::Real: Blas,
{
    write_real(<T::Real as Number>::TYPE, at, values)
}

/// `a = u diag(s) vt`, of a matrix with at least as many rows as columns.
pub(crate) fn gesvd<T: Blas>(
    handle: u64,
    [jobu, jobvt]: [u8; 2],
    size: [i64; 2],
    a: Stepped,
    values: u64,
    u: Stepped,
    vt: Stepped,
    info: u64,
) -> Outcome
where
    T::Real: Blas,
{
    let h = get(handle)?;
    let (jobu, jobvt, [m, n]) = (job(jobu)?, job(jobvt)?, dimensions(size)?);
    // As documented: no wide matrices, and not both in place.
    if m < n || (jobu == Job::Overwrite && jobvt == Job::Overwrite) {
        return Err(Error::InvalidValue);
    }
    let a = Dense::new(T::TYPE, [m, n], a.0, a.1)?;
    let wanted = |job| matches!(job, Job::All | Job::Some);
    let u = side::<T>(wanted(jobu), [m, if jobu == Job::All { m } else { n }], u)?;
    let vt = side::<T>(wanted(jobvt), [n, n], vt)?;
    h.submit(info, move || {
        [u, vt].iter().flatten().try_for_each(Dense::check_write)?;
        let Some(found) = svd(&a.read::<T>()?, jobu == Job::All) else {
            return Ok(n.max(1) as i32);
        };
        write_values::<T>(values, &found.s)?;
        let right = found.v.op(Op::Adjoint);
        match (u, jobu) {
            (Some(u), _) => u.write(&found.u.block(0, 0, m, u.cols))?,
            (None, Job::Overwrite) => a.write(&found.u.block(0, 0, m, n))?,
            _ => {}
        }
        match (vt, jobvt) {
            (Some(vt), _) => vt.write(&right)?,
            (None, Job::Overwrite) => {
                let mut over = Matrix::zeros(m, n);
                over.set_block(0, 0, &right);
                a.write(&over)?;
            }
            _ => {}
        }
        Ok(0)
    })
}

/// Where singular values and vectors go (`v`, not its adjoint), and the residual.
#[derive(Clone, Copy)]
struct Places {
    values: u64,
    u: Option<Dense>,
    v: Option<Dense>,
    residual: Residual,
}

fn decompose<T: Blas>(a: Dense, whole: bool, to: Places, rank: usize) -> Outcome<i32>
where
    T::Real: Blas,
{
    let least = a.rows.min(a.cols);
    [to.u, to.v].iter().flatten().try_for_each(Dense::check_write)?;
    let matrix = a.read::<T>()?;
    let Some(Svd { s, u, v }) = svd(&matrix, whole) else {
        return Ok(least.max(1) as i32);
    };
    let s = &s[..rank.min(s.len())];
    write_values::<T>(to.values, s)?;
    to.residual.tell(|| residual(&matrix, &u, s, &v).wide().0)?;
    if let Some(place) = to.u {
        place.write(&u.block(0, 0, u.rows, place.cols))?;
    }
    if let Some(place) = to.v {
        place.write(&v.block(0, 0, v.rows, place.cols))?;
    }
    Ok(0)
}

/// Matrices of singular vectors: two addresses and leading dimensions.
pub(crate) type Pair = (Stepped, Stepped);

/// `a = u diag(s) v*`, with as many vectors as singular values if `economical`.
pub(crate) fn gesvdj<T: Blas>(
    handle: u64,
    [mode, economical]: [i32; 2],
    size: [i64; 2],
    a: Stepped,
    values: u64,
    (u, v): Pair,
    info: u64,
    residual: Residual,
) -> Outcome
where
    T::Real: Blas,
{
    let h = get(handle)?;
    let (vectors, [m, n]) = (vectors(mode)?, dimensions(size)?);
    let whole = economical == 0;
    let least = m.min(n);
    let a = Dense::new(T::TYPE, [m, n], a.0, a.1)?;
    let cols = |rows| if whole { rows } else { least };
    let (u, v) = (side::<T>(vectors, [m, cols(m)], u)?, side::<T>(vectors, [n, cols(n)], v)?);
    let to = Places { values, u, v, residual };
    h.submit(info, move || decompose::<T>(a, whole && vectors, to, least))
}

/// Small matrices one after another, with all vectors.
pub(crate) fn gesvdj_batched<T: Blas>(
    handle: u64,
    mode: i32,
    size: [i64; 2],
    a: Stepped,
    values: u64,
    (u, v): Pair,
    info: u64,
    batch: i64,
) -> Outcome
where
    T::Real: Blas,
{
    let h = get(handle)?;
    let (vectors, [m, n], batch) = (vectors(mode)?, dimensions(size)?, count(batch)?);
    // As documented.
    if m > 32 || n > 32 {
        return Err(Error::InvalidValue);
    }
    let least = m.min(n);
    let first = Dense::new(T::TYPE, [m, n], a.0, a.1)?;
    let (left, right) = (side::<T>(vectors, [m, m], u)?, side::<T>(vectors, [n, n], v)?);
    h.submit_batch(info, batch, move |k| {
        let nth = |m: Dense, ld: i64, cols: usize| m.offset(ld * cols as i64 * k as i64);
        let to = Places {
            values: values + (k * least * size_of::<T::Real>()) as u64,
            u: left.map(|d| nth(d, u.1, d.cols)),
            v: right.map(|d| nth(d, v.1, d.cols)),
            residual: Residual::Nowhere,
        };
        decompose::<T>(nth(first, a.1, n), vectors, to, least)
    })
}

/// The same by a method that may perturb the matrix, and tells by how much: not at all.
pub(crate) fn gesvdp<T: Blas>(
    handle: u64,
    modes: [i32; 2],
    size: [i64; 2],
    a: Stepped,
    values: u64,
    vectors: Pair,
    info: u64,
    perturbation: Ptr,
) -> Outcome
where
    T::Real: Blas,
{
    get(handle)?;
    put_host(perturbation, 0.0_f64)?;
    gesvdj::<T>(handle, modes, size, a, values, vectors, info, Residual::Nowhere)
}

/// The largest singular values, and the vectors that are asked for (`S` or `N`): they are computed
/// without randomness, whatever the sample and the number of iterations.
pub(crate) fn gesvdr<T: Blas>(
    handle: u64,
    [jobu, jobv]: [u8; 2],
    [m, n, rank, more, iterations]: [i64; 5],
    a: Stepped,
    values: u64,
    (u, v): Pair,
    info: u64,
) -> Outcome
where
    T::Real: Blas,
{
    let h = get(handle)?;
    let [m, n, rank, more, _] = dimensions([m, n, rank, more, iterations])?;
    if rank.checked_add(more).is_none_or(|sample| sample > m.min(n)) {
        return Err(Error::InvalidValue);
    }
    let a = Dense::new(T::TYPE, [m, n], a.0, a.1)?;
    let some = |letter| match job(letter)? {
        Job::Some => Ok(true),
        Job::None => Ok(false),
        _ => Err(Error::InvalidValue),
    };
    let (u, v) = (side::<T>(some(jobu)?, [m, rank], u)?, side::<T>(some(jobv)?, [n, rank], v)?);
    let to = Places { values, u, v, residual: Residual::Nowhere };
    h.submit(info, move || decompose::<T>(a, false, to, rank))
}

/// Where the matrices of a batch are: an address, a leading dimension, and a distance in elements.
pub(crate) type Strided = (u64, i64, i64);

/// The largest singular values of tall matrices. What they leave of each matrix is told to the host
/// as its Frobenius norm, if there is an address for these.
pub(crate) fn gesvda<T: Blas>(
    handle: u64,
    mode: i32,
    [rank, m, n]: [i64; 3],
    a: Strided,
    (values, step): (u64, i64),
    (u, v): (Strided, Strided),
    info: u64,
    residuals: Ptr,
    batch: i64,
) -> Outcome
where
    T::Real: Blas,
{
    let h = get(handle)?;
    let vectors = vectors(mode)?;
    let ([rank, m, n], batch) = (dimensions([rank, m, n])?, count(batch)?);
    if m < n || rank > n {
        return Err(Error::InvalidValue);
    }
    let first = Dense::new(T::TYPE, [m, n], a.0, a.1)?;
    let left = side::<T>(vectors, [m, rank], (u.0, u.1))?;
    let right = side::<T>(vectors, [n, rank], (v.0, v.1))?;
    h.submit_batch(info, batch, move |k| {
        let k = k as i64;
        let skip = step.wrapping_mul(k).wrapping_mul(size_of::<T::Real>() as i64);
        let to = Places {
            values: values.wrapping_add(skip as u64),
            u: left.map(|d| d.offset(u.2.wrapping_mul(k))),
            v: right.map(|d| d.offset(v.2.wrapping_mul(k))),
            residual: Residual::Host(match residuals {
                0 => 0,
                at => at + k as usize * size_of::<f64>(),
            }),
        };
        decompose::<T>(first.offset(a.2.wrapping_mul(k)), false, to, rank)
    })
}
