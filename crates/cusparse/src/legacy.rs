//! Functions of lists in the compressed formats, with descriptors of the older kind.

use culibs::device::{Rows, put_host, read, write};
use culibs::dtype::Param;
use culibs::handles::Handles;
use culibs::{DataType, Error, Outcome, Ptr, count};
use linalg::Matrix;
use operands::{Blas, Dense, dimensions};

use crate::entries::{check_indices, offsets, read_indices, read_lines, write_indices};
use crate::handle::get;
use crate::objects::{Index, base};

/// What a descriptor says: type, half, diagonal, base.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Description([i32; 4]);

static DESCRIPTIONS: Handles<Description> = Handles::new(0x5e_0000_0000);

pub(crate) fn create(out: Ptr) -> Outcome {
    let descriptor = DESCRIPTIONS.add(Description::default());
    put_host(out, descriptor).inspect_err(|_| {
        let _ = DESCRIPTIONS.remove(descriptor);
    })
}

pub(crate) fn destroy(descriptor: u64) -> Outcome {
    crate::objects::remove(&DESCRIPTIONS, descriptor)
}

/// Sets one of a descriptor's fields, which has values up to a last one.
pub(crate) fn set(descriptor: u64, field: usize, value: i32, last: i32) -> Outcome {
    if !(0..=last).contains(&value) {
        return Err(Error::InvalidValue);
    }
    crate::objects::change(&DESCRIPTIONS, descriptor, |d| d.0[field] = value)
}

/// Returns a field: these functions have no status.
pub(crate) fn field(descriptor: u64, field: usize) -> i32 {
    DESCRIPTIONS.get(descriptor).map_or(0, |d| d.0[field])
}

pub(crate) fn base_of(descriptor: u64) -> Outcome<i64> {
    let found = DESCRIPTIONS.get(descriptor).map_err(|_| Error::InvalidValue)?;
    Ok(found.0[3].into())
}

/// Offsets of lines to the line of each entry.
pub(crate) fn expand(
    handle: u64,
    from: u64,
    [nnz, lines]: [i32; 2],
    to: u64,
    base_: i32,
) -> Outcome {
    let h = get(handle)?;
    let ([nnz, lines], base) = (dimensions([nnz.into(), lines.into()])?, base(base_)?);
    h.submit(move || {
        let list = read_lines(from, lines, nnz, Index::Narrow, base)?;
        write_indices(to, &list, Index::Narrow, base)
    })
}

/// The line of each entry, in ascending order, to offsets.
pub(crate) fn compress(
    handle: u64,
    from: u64,
    [nnz, lines]: [i32; 2],
    to: u64,
    base_: i32,
) -> Outcome {
    let h = get(handle)?;
    let ([nnz, lines], base) = (dimensions([nnz.into(), lines.into()])?, base(base_)?);
    h.submit(move || {
        check_indices(to, lines + 1, Index::Narrow)?;
        let list = read_indices(from, nnz, Index::Narrow, base, lines)?;
        write_indices(to, &offsets(lines, list.into_iter()), Index::Narrow, base)
    })
}

/// 0, 1, 2, ...
pub(crate) fn identity(handle: u64, n: i32, out: u64) -> Outcome {
    let h = get(handle)?;
    let n = count(n.into())?;
    h.submit(move || {
        check_indices(out, n, Index::Narrow)?;
        write(out, &(0..n as i32).collect::<Vec<_>>())
    })
}

/// Applies an order to lists of 32-bit numbers on the device.
fn reorder(lists: &[u64], order: &[usize]) -> Outcome {
    for &at in lists.iter().filter(|&&at| at != 0) {
        let list: Vec<i32> = read(at, order.len())?;
        write(at, &order.iter().map(|&i| list[i]).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Sorts the entries of a list, by row and then column, or by column and then row. `order` changes
/// with it, if it is not null.
pub(crate) fn sort_list(
    handle: u64,
    nnz: i32,
    rows: u64,
    cols: u64,
    order: u64,
    by_column: bool,
) -> Outcome {
    let h = get(handle)?;
    let nnz = count(nnz.into())?;
    h.submit(move || {
        let (i, j): (Vec<i32>, Vec<i32>) = (read(rows, nnz)?, read(cols, nnz)?);
        let mut sorted: Vec<usize> = (0..nnz).collect();
        sorted.sort_by_key(|&k| if by_column { (j[k], i[k]) } else { (i[k], j[k]) });
        reorder(&[rows, cols, order], &sorted)
    })
}

/// Sorts the entries of each line of a compressed format.
pub(crate) fn sort_lines(
    handle: u64,
    [lines, nnz]: [i32; 2],
    descriptor: u64,
    first: u64,
    second: u64,
    order: u64,
) -> Outcome {
    let h = get(handle)?;
    let ([lines, nnz], base) = (dimensions([lines.into(), nnz.into()])?, base_of(descriptor)?);
    h.submit(move || {
        let lines = read_lines(first, lines, nnz, Index::Narrow, base)?;
        let others: Vec<i32> = read(second, nnz)?;
        let mut sorted: Vec<usize> = (0..nnz).collect();
        sorted.sort_by_key(|&k| (lines[k], others[k]));
        reorder(&[second, order], &sorted)
    })
}

/// The lists of a matrix in a compressed format: values, offsets, indices.
pub(crate) type Lists = [u64; 3];

/// The same matrix compressed along the other dimension.
pub(crate) fn transpose<T: Blas>(
    handle: u64,
    [m, n, nnz]: [i32; 3],
    from: Lists,
    to: Lists,
    (dtype, action, base_): (i32, i32, i32),
) -> Outcome {
    let h = get(handle)?;
    let [m, n, nnz] = dimensions([m.into(), n.into(), nnz.into()])?;
    let (dtype, base) = (DataType::of(dtype)?, base(base_)?);
    if !(0..=1).contains(&action) {
        return Err(Error::InvalidValue);
    }
    h.submit(move || {
        let lines = read_lines(from[1], m, nnz, Index::Narrow, base)?;
        let others = read_indices(from[2], nnz, Index::Narrow, base, n)?;
        let mut order: Vec<usize> = (0..nnz).collect();
        order.sort_by_key(|&k| (others[k], lines[k]));
        check_indices(to[1], n + 1, Index::Narrow)?;
        let list = offsets(n, order.iter().map(|&k| others[k]));
        write_indices(to[1], &list, Index::Narrow, base)?;
        let indices: Vec<usize> = order.iter().map(|&k| lines[k]).collect();
        write_indices(to[2], &indices, Index::Narrow, base)?;
        if action == 1 {
            let values: Vec<T> = dtype.read(Rows::flat(from[0], nnz))?;
            let values: Vec<T> = order.iter().map(|&k| values[k]).collect();
            dtype.write(Rows::flat(to[0], nnz), &values)?;
        }
        Ok(())
    })
}

/// A summand: its descriptor, its number of entries, its lists.
#[derive(Clone, Copy)]
pub(crate) struct Summand {
    pub(crate) descriptor: u64,
    pub(crate) nnz: i32,
    pub(crate) lists: Lists,
}

impl Summand {
    fn places(self, [m, n]: [usize; 2]) -> Outcome<Vec<(usize, usize)>> {
        let (nnz, base) = (count(self.nnz.into())?, base_of(self.descriptor)?);
        let rows = read_lines(self.lists[1], m, nnz, Index::Narrow, base)?;
        let cols = read_indices(self.lists[2], nnz, Index::Narrow, base, n)?;
        Ok(rows.into_iter().zip(cols).collect())
    }
}

/// The places of a sum, in order.
fn union(a: &[(usize, usize)], b: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut all: Vec<_> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Counts the entries of a sum, and writes its offsets.
pub(crate) fn count_sum(
    handle: u64,
    size: [i32; 2],
    a: Summand,
    b: Summand,
    (descriptor, first): (u64, u64),
    total: Ptr,
) -> Outcome {
    let h = get(handle)?;
    let size = dimensions(size.map(i64::from))?;
    let base = base_of(descriptor)?;
    let place = culibs::dtype::Place::take(total, h.on_device, DataType::I32)?;
    h.submit(move || {
        let all = union(&a.places(size)?, &b.places(size)?);
        let list = offsets(size[0], all.iter().map(|p| p.0));
        write_indices(first, &list, Index::Narrow, base)?;
        place.put(all.len() as i32)
    })
}

/// `c = alpha a + beta b`, whose offsets are there.
pub(crate) fn sum<T: Blas>(
    handle: u64,
    size: [i32; 2],
    alpha: Ptr,
    a: Summand,
    beta: Ptr,
    b: Summand,
    (descriptor, lists): (u64, Lists),
) -> Outcome {
    let h = get(handle)?;
    let size = dimensions(size.map(i64::from))?;
    let base = base_of(descriptor)?;
    let (alpha, beta): (Param<T>, Param<T>) = (h.param(alpha, T::TYPE)?, h.param(beta, T::TYPE)?);
    h.submit(move || {
        let (left, right) = (a.places(size)?, b.places(size)?);
        let all = union(&left, &right);
        let mut values = vec![T::zero(); all.len()];
        for (factor, places, summand) in [(alpha, left, a), (beta, right, b)] {
            let (factor, list): (T, Vec<T>) =
                (factor.get()?, read(summand.lists[0], places.len())?);
            for (place, value) in places.into_iter().zip(list) {
                if let Ok(at) = all.binary_search(&place) {
                    values[at] += factor * value;
                }
            }
        }
        let list = offsets(size[0], all.iter().map(|p| p.0));
        write_indices(lists[1], &list, Index::Narrow, base)?;
        let cols: Vec<usize> = all.iter().map(|p| p.1).collect();
        write_indices(lists[2], &cols, Index::Narrow, base)?;
        write(lists[0], &values)
    })
}

/// Counts the elements of a dense matrix that are not zero, in each row or column and in all.
pub(crate) fn count_dense<T: Blas>(
    handle: u64,
    by_column: i32,
    size: [i32; 2],
    a: (u64, i32),
    each: u64,
    total: Ptr,
) -> Outcome {
    let h = get(handle)?;
    let size = dimensions(size.map(i64::from))?;
    if !(0..=1).contains(&by_column) {
        return Err(Error::InvalidValue);
    }
    let a = Dense::new(T::TYPE, size, a.0, a.1.into())?;
    let place = culibs::dtype::Place::take(total, h.on_device, DataType::I32)?;
    h.submit(move || {
        let matrix: Matrix<T> = a.read()?;
        let lines = if by_column == 1 { size[1] } else { size[0] };
        check_indices(each, lines, Index::Narrow)?;
        let mut counts = vec![0_i32; lines];
        for j in 0..size[1] {
            for i in (0..size[0]).filter(|&i| matrix[(i, j)] != T::zero()) {
                counts[if by_column == 1 { j } else { i }] += 1;
            }
        }
        write(each, &counts)?;
        place.put(counts.iter().sum::<i32>())
    })
}
