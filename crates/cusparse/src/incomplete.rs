//! Incomplete factorisations without fill-in, in place in a matrix in CSR: LU and Cholesky (Saad,
//! Iterative Methods for Sparse Linear Systems, 2003, chapter 10).

use culibs::device::{get_host, put_host, read, write};
use culibs::handles::Handles;
use culibs::{Error, Number, Outcome, Ptr, count};
use operands::Blas;

use crate::entries::{read_indices, read_lines};
use crate::handle::get;
use crate::legacy::base_of;
use crate::objects::{Index, change, find};
use crate::status::CUSPARSE_STATUS_ZERO_PIVOT;

/// What a factorisation has found, and how pivots are replaced.
#[derive(Clone, Copy, Debug, Default)]
struct Info {
    /// The first row, from the base on, whose pivot is missing or zero.
    zero: Option<i64>,
    /// Pivots up to the first number are replaced by the second, whose parts are here.
    boost: Option<(f64, (f64, f64))>,
}

static INFOS: Handles<Info> = Handles::new(0x5f_0000_0000);

pub(crate) fn create(out: Ptr) -> Outcome {
    let info = INFOS.add(Info::default());
    put_host(out, info).inspect_err(|_| {
        let _ = INFOS.remove(info);
    })
}

pub(crate) fn destroy(info: u64) -> Outcome {
    crate::objects::remove(&INFOS, info)
}

/// Sets how small pivots are replaced; the numbers are on the host.
pub(crate) fn set_boost<T: Blas>(
    handle: u64,
    info: u64,
    enable: i32,
    tolerance: Ptr,
    value: Ptr,
) -> Outcome {
    get(handle)?;
    let boost = match enable {
        0 => None,
        _ => Some((get_host(tolerance)?, get_host::<T>(value)?.wide())),
    };
    change(&INFOS, info, |info| info.boost = boost)
}

/// Tells the first zero pivot, and -1 if there is none.
pub(crate) fn zero_pivot(handle: u64, info: u64, out: Ptr) -> Outcome {
    let h = get(handle)?;
    let zero = find(&INFOS, info)?.zero;
    let position = zero.unwrap_or(-1) as i32;
    match h.on_device {
        true => write(out as u64, &[position])?,
        false => put_host(out, position)?,
    }
    match zero {
        Some(_) => Err(Error::Status(CUSPARSE_STATUS_ZERO_PIVOT)),
        None => Ok(()),
    }
}

/// The rows of a matrix: where each begins, and the columns of its entries.
struct Pattern {
    starts: Vec<usize>,
    cols: Vec<usize>,
    base: i64,
}

/// A matrix as a call gives it: sizes, descriptor, values, offsets, columns.
#[derive(Clone, Copy)]
pub(crate) struct Given {
    pub(crate) size: [i32; 2],
    pub(crate) descriptor: u64,
    pub(crate) values: u64,
    pub(crate) first: u64,
    pub(crate) second: u64,
}

impl Given {
    fn pattern(&self) -> Outcome<Pattern> {
        let base = base_of(self.descriptor)?;
        let (m, nnz) = (count(self.size[0].into())?, count(self.size[1].into())?);
        let rows = read_lines(self.first, m, nnz, Index::Narrow, base)?;
        let cols = read_indices(self.second, nnz, Index::Narrow, base, m)?;
        Ok(Pattern { starts: crate::entries::offsets(m, rows.into_iter()), cols, base })
    }

    fn check(&self, info: u64) -> Outcome {
        count(self.size[0].into())?;
        count(self.size[1].into())?;
        base_of(self.descriptor)?;
        find(&INFOS, info).map(drop)
    }
}

impl Pattern {
    fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The entries of a row.
    fn row(&self, i: usize) -> std::ops::Range<usize> {
        self.starts[i]..self.starts[i + 1]
    }

    /// The entry at a place. Columns of a row are sorted, as the interface asks for.
    fn find(&self, i: usize, j: usize) -> Option<usize> {
        let row = self.row(i);
        self.cols[row.clone()].binary_search(&j).ok().map(|at| row.start + at)
    }

    /// The number of the first row without a diagonal entry.
    fn missing(&self) -> Option<i64> {
        let row = (0..self.rows()).find(|&i| self.find(i, i).is_none())?;
        Some(row as i64 + self.base)
    }
}

/// Looks for missing diagonal entries.
pub(crate) fn analyse(handle: u64, given: Given, info: u64) -> Outcome {
    let h = get(handle)?;
    given.check(info)?;
    h.submit(move || {
        let zero = given.pattern()?.missing();
        change(&INFOS, info, |info| info.zero = zero)
    })
}

/// Factorises in place: with `factor`, which returns the first row with a zero pivot.
fn factorise<T: Blas>(
    handle: u64,
    given: Given,
    info: u64,
    factor: fn(&Pattern, &mut [T], &Info) -> Option<usize>,
) -> Outcome {
    let h = get(handle)?;
    given.check(info)?;
    h.submit(move || {
        let pattern = given.pattern()?;
        let mut values = read::<T>(given.values, pattern.cols.len())?;
        let settings = find(&INFOS, info)?;
        let zero = factor(&pattern, &mut values, &settings);
        let zero = pattern.missing().or(zero.map(|row| row as i64 + pattern.base));
        change(&INFOS, info, |info| info.zero = zero)?;
        write(given.values, &values)
    })
}

/// `a` is about `l u`, with ones on the diagonal of `l`, at the places of the entries of `a`.
pub(crate) fn lu<T: Blas>(handle: u64, given: Given, info: u64) -> Outcome {
    factorise::<T>(handle, given, info, |pattern, values, info| {
        let mut zero = None;
        for i in 0..pattern.rows() {
            for at in pattern.row(i) {
                let k = pattern.cols[at];
                if k >= i {
                    break;
                }
                let Some(pivot) = pattern.find(k, k) else { continue };
                values[at] /= values[pivot];
                let factor = values[at];
                for right in pivot + 1..pattern.row(k).end {
                    if let Some(to) = pattern.find(i, pattern.cols[right]) {
                        let from = values[right];
                        values[to] -= factor * from;
                    }
                }
            }
            let Some(pivot) = pattern.find(i, i) else { continue };
            if let Some((tolerance, (re, im))) = info.boost
                && wide_modulus(values[pivot]) <= tolerance
            {
                values[pivot] = T::of_wide(re, im);
            }
            if values[pivot] == T::zero() {
                zero = zero.or(Some(i));
            }
        }
        zero
    })
}

fn wide_modulus<T: Number>(x: T) -> f64 {
    let (re, im) = x.wide();
    re.hypot(im)
}

/// `a` is about `l l*`, at the places of the lower half, which alone is read and written.
pub(crate) fn cholesky<T: Blas>(handle: u64, given: Given, info: u64) -> Outcome {
    factorise::<T>(handle, given, info, |pattern, values, _| {
        let mut zero = None;
        for i in 0..pattern.rows() {
            for at in pattern.row(i) {
                let j = pattern.cols[at];
                if j > i {
                    break;
                }
                let mut sum = values[at];
                for left in pattern.row(i).take_while(|&left| pattern.cols[left] < j) {
                    if let Some(right) = pattern.find(j, pattern.cols[left]) {
                        sum -= values[left] * values[right].conj();
                    }
                }
                if j < i {
                    let Some(pivot) = pattern.find(j, j) else { continue };
                    values[at] = sum / values[pivot];
                    continue;
                }
                // The root of what is not positive is NaN, as on a device.
                let root = num_traits::Float::sqrt(sum.re());
                let positive = root > num_traits::Zero::zero();
                if !positive {
                    zero = zero.or(Some(i));
                }
                values[at] = T::from_real(root);
            }
        }
        zero
    })
}
