//! Descriptors: where vectors and matrices are, and how they are stored.

use culibs::device::{get_host, put_host};
use culibs::handles::Handles;
use culibs::{DataType, Error, Outcome, Ptr, count};
use linalg::Triangle;

/// The type of indices (`cusparseIndexType_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Index {
    Narrow,
    Wide,
}

impl Index {
    pub(crate) fn of(value: i32) -> Outcome<Self> {
        match value {
            1 => Err(Error::NotSupported),
            2 => Ok(Self::Narrow),
            3 => Ok(Self::Wide),
            _ => Err(Error::InvalidValue),
        }
    }

    fn number(self) -> i32 {
        if self == Self::Narrow { 2 } else { 3 }
    }

    pub(crate) fn bytes(self) -> usize {
        if self == Self::Narrow { 4 } else { 8 }
    }
}

/// Reads `cusparseIndexBase_t`.
pub(crate) fn base(value: i32) -> Outcome<i64> {
    if (0..=1).contains(&value) { Ok(value.into()) } else { Err(Error::InvalidValue) }
}

/// The format of a sparse matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Csr,
    Csc,
    Coo,
    /// Blocks of a height and a width, in rows of blocks as in CSR; elements of a block are stored
    /// by rows or by columns.
    Bsr {
        block: [usize; 2],
        by_rows: bool,
    },
    /// Square blocks, as many in each row of blocks: `width` elements in each row.
    BlockedEll {
        block: usize,
        width: usize,
    },
    /// Slices of rows, each padded to its longest row; how many values are stored.
    SlicedEll {
        slice: usize,
        stored: usize,
    },
}

impl Format {
    fn number(self) -> i32 {
        match self {
            Self::Csr => 1,
            Self::Csc => 2,
            Self::Coo => 3,
            Self::BlockedEll { .. } => 5,
            Self::Bsr { .. } => 6,
            Self::SlicedEll { .. } => 7,
        }
    }
}

/// A sparse matrix. `first` is the list of offsets of the compressed formats, or of rows; `second`
/// the list of columns, or of rows of columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sparse {
    pub(crate) format: Format,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) nnz: usize,
    pub(crate) first: u64,
    pub(crate) second: u64,
    pub(crate) values: u64,
    pub(crate) first_index: Index,
    pub(crate) second_index: Index,
    pub(crate) base: i64,
    pub(crate) dtype: DataType,
    /// For triangular solves: the half, and whether its diagonal is taken for ones.
    pub(crate) half: Triangle,
    pub(crate) unit: bool,
    /// The matrices of a batch, and how many elements of the three lists are between them.
    pub(crate) batches: usize,
    pub(crate) steps: [i64; 3],
}

/// A dense matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dense {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) ld: usize,
    pub(crate) values: u64,
    pub(crate) dtype: DataType,
    /// Whether rows are adjacent rather than columns.
    pub(crate) by_rows: bool,
    pub(crate) batches: usize,
    pub(crate) distance: i64,
}

/// A dense vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vector {
    pub(crate) len: usize,
    pub(crate) values: u64,
    pub(crate) dtype: DataType,
}

/// A sparse vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SparseVector {
    pub(crate) len: usize,
    pub(crate) nnz: usize,
    pub(crate) indices: u64,
    pub(crate) values: u64,
    pub(crate) index: Index,
    pub(crate) base: i64,
    pub(crate) dtype: DataType,
}

pub(crate) static SPARSE: Handles<Sparse> = Handles::new(0x58_0000_0000);
pub(crate) static DENSE: Handles<Dense> = Handles::new(0x59_0000_0000);
pub(crate) static VECTORS: Handles<Vector> = Handles::new(0x5a_0000_0000);
pub(crate) static SPARSE_VECTORS: Handles<SparseVector> = Handles::new(0x5b_0000_0000);

/// Descriptors are arguments, not handles: one that is not valid is an invalid value.
pub(crate) fn find<T: Clone>(table: &Handles<T>, descriptor: u64) -> Outcome<T> {
    table.get(descriptor).map_err(|_| Error::InvalidValue)
}

pub(crate) fn remove<T>(table: &Handles<T>, descriptor: u64) -> Outcome {
    // As documented, null is accepted.
    if descriptor == 0 {
        return Ok(());
    }
    table.remove(descriptor).map(drop).map_err(|_| Error::InvalidValue)
}

fn add<T>(table: &Handles<T>, out: Ptr, object: T) -> Outcome {
    let descriptor = table.add(object);
    put_host(out, descriptor).inspect_err(|_| drop(table.remove(descriptor)))
}

pub(crate) fn create_sparse(
    out: Ptr,
    format: Format,
    [rows, cols, nnz]: [i64; 3],
    [first, second, values]: [u64; 3],
    [first_index, second_index, base_, dtype]: [i32; 4],
) -> Outcome {
    let object = Sparse {
        format,
        rows: count(rows)?,
        cols: count(cols)?,
        nnz: count(nnz)?,
        first,
        second,
        values,
        first_index: Index::of(first_index)?,
        second_index: Index::of(second_index)?,
        base: base(base_)?,
        dtype: DataType::of(dtype)?,
        half: Triangle::Lower,
        unit: false,
        batches: 1,
        steps: [0; 3],
    };
    add(&SPARSE, out, object)
}

/// Refuses sizes of blocks or slices that are not positive.
fn positive(size: i64) -> Outcome<usize> {
    if size > 0 { count(size) } else { Err(Error::InvalidValue) }
}

pub(crate) fn create_bsr(
    out: Ptr,
    [rows, cols, blocks]: [i64; 3],
    block: [i64; 2],
    lists: [u64; 3],
    kinds: [i32; 4],
    order: i32,
) -> Outcome {
    let by_rows = by_rows(order)?;
    let block = [positive(block[0])?, positive(block[1])?];
    let elements = culibs::size(&[count(blocks)?, block[0], block[1]])?;
    let sizes =
        [culibs::size(&[count(rows)?, block[0]])?, culibs::size(&[count(cols)?, block[1]])?];
    let sizes = [sizes[0] as i64, sizes[1] as i64, elements as i64];
    create_sparse(out, Format::Bsr { block, by_rows }, sizes, lists, kinds)
}

pub(crate) fn create_blocked_ell(
    out: Ptr,
    [rows, cols, block, width]: [i64; 4],
    [indices, values]: [u64; 2],
    [index, base_, dtype]: [i32; 3],
) -> Outcome {
    let (block, width) = (positive(block)?, count(width)?);
    let elements = culibs::size(&[count(rows)?, width])?;
    let whole = |n: i64| n % block as i64 == 0;
    if !whole(rows) || !whole(cols) || !whole(width as i64) || width as i64 > cols {
        return Err(Error::InvalidValue);
    }
    let (sizes, lists) = ([rows, cols, elements as i64], [0, indices, values]);
    let kinds = [index, index, base_, dtype];
    create_sparse(out, Format::BlockedEll { block, width }, sizes, lists, kinds)
}

pub(crate) fn create_sliced_ell(
    out: Ptr,
    sizes: [i64; 3],
    [stored, slice]: [i64; 2],
    lists: [u64; 3],
    kinds: [i32; 4],
) -> Outcome {
    let (stored, slice) = (count(stored)?, positive(slice)?);
    if !stored.is_multiple_of(slice) || count(sizes[2])? > stored {
        return Err(Error::InvalidValue);
    }
    create_sparse(out, Format::SlicedEll { slice, stored }, sizes, lists, kinds)
}

/// Tells everything of a matrix in blocked ELL.
pub(crate) fn tell_blocked_ell(
    descriptor: u64,
    sizes: [Ptr; 4],
    lists: [Ptr; 2],
    kinds: [Ptr; 3],
) -> Outcome {
    let m = find(&SPARSE, descriptor)?;
    let Format::BlockedEll { block, width } = m.format else { return Err(Error::InvalidValue) };
    tell(&sizes, &[m.rows, m.cols, block, width].map(|n| n as i64))?;
    tell(&lists, &[m.second, m.values])?;
    tell(&kinds, &[m.second_index.number(), m.base as i32, m.dtype as i32])
}

/// Sets how many matrices a descriptor stands for, and how far apart they are.
pub(crate) fn set_sparse_batches(
    descriptor: u64,
    is: fn(Format) -> bool,
    batches: i32,
    steps: [i64; 3],
) -> Outcome {
    let batches = positive(batches.into())?;
    if !is(find(&SPARSE, descriptor)?.format) {
        return Err(Error::InvalidValue);
    }
    change(&SPARSE, descriptor, |m| (m.batches, m.steps) = (batches, steps))
}

/// Reads `cusparseOrder_t`.
fn by_rows(order: i32) -> Outcome<bool> {
    match order {
        1 => Ok(false),
        2 => Ok(true),
        _ => Err(Error::InvalidValue),
    }
}

pub(crate) fn create_dense(
    out: Ptr,
    [rows, cols, ld]: [i64; 3],
    values: u64,
    dtype: i32,
    order: i32,
) -> Outcome {
    let by_rows = by_rows(order)?;
    let (rows, cols, ld) = (count(rows)?, count(cols)?, count(ld)?);
    if ld < if by_rows { cols } else { rows } {
        return Err(Error::InvalidValue);
    }
    let dtype = DataType::of(dtype)?;
    add(&DENSE, out, Dense { rows, cols, ld, values, dtype, by_rows, batches: 1, distance: 0 })
}

pub(crate) fn create_vector(out: Ptr, len: i64, values: u64, dtype: i32) -> Outcome {
    add(&VECTORS, out, Vector { len: count(len)?, values, dtype: DataType::of(dtype)? })
}

pub(crate) fn create_sparse_vector(
    out: Ptr,
    [len, nnz]: [i64; 2],
    [indices, values]: [u64; 2],
    [index, base_, dtype]: [i32; 3],
) -> Outcome {
    let (len, nnz) = (count(len)?, count(nnz)?);
    if nnz > len {
        return Err(Error::InvalidValue);
    }
    let (index, base, dtype) = (Index::of(index)?, base(base_)?, DataType::of(dtype)?);
    add(&SPARSE_VECTORS, out, SparseVector { len, nnz, indices, values, index, base, dtype })
}

/// Tells everything of a matrix in a format.
pub(crate) fn tell_sparse(
    descriptor: u64,
    format: Format,
    sizes: [Ptr; 3],
    addresses: [Ptr; 3],
    kinds: &[Ptr],
) -> Outcome {
    let m = find(&SPARSE, descriptor)?;
    if m.format != format {
        return Err(Error::InvalidValue);
    }
    tell(&sizes, &[m.rows, m.cols, m.nnz].map(|n| n as i64))?;
    tell(&addresses, &[m.first, m.second, m.values])?;
    let (first, second) = (m.first_index.number(), m.second_index.number());
    // The list of COO has one type of indices.
    match kinds.len() {
        3 => tell(kinds, &[first, m.base as i32, m.dtype as i32]),
        _ => tell(kinds, &[first, second, m.base as i32, m.dtype as i32]),
    }
}

/// Writes values to addresses of the client.
fn tell<T: culibs::Pod>(places: &[Ptr], values: &[T]) -> Outcome {
    places.iter().zip(values).try_for_each(|(&place, &value)| put_host(place, value))
}

pub(crate) fn tell_size(descriptor: u64, places: [Ptr; 3]) -> Outcome {
    let m = find(&SPARSE, descriptor)?;
    tell(&places, &[m.rows, m.cols, m.nnz].map(|n| n as i64))
}

pub(crate) fn tell_format(descriptor: u64, out: Ptr) -> Outcome {
    put_host(out, find(&SPARSE, descriptor)?.format.number())
}

pub(crate) fn tell_base(descriptor: u64, out: Ptr) -> Outcome {
    put_host(out, find(&SPARSE, descriptor)?.base as i32)
}

pub(crate) fn tell_dense(
    descriptor: u64,
    sizes: [Ptr; 3],
    values: Ptr,
    dtype: Ptr,
    order: Ptr,
) -> Outcome {
    let m = find(&DENSE, descriptor)?;
    tell(&sizes, &[m.rows, m.cols, m.ld].map(|n| n as i64))?;
    put_host(values, m.values)?;
    tell(&[dtype, order], &[m.dtype as i32, if m.by_rows { 2 } else { 1 }])
}

pub(crate) fn tell_vector(descriptor: u64, len: Ptr, values: Ptr, dtype: Ptr) -> Outcome {
    let v = find(&VECTORS, descriptor)?;
    put_host(len, v.len as i64)?;
    put_host(values, v.values)?;
    put_host(dtype, v.dtype as i32)
}

pub(crate) fn tell_sparse_vector(
    descriptor: u64,
    sizes: [Ptr; 2],
    addresses: [Ptr; 2],
    kinds: [Ptr; 3],
) -> Outcome {
    let v = find(&SPARSE_VECTORS, descriptor)?;
    tell(&sizes, &[v.len as i64, v.nnz as i64])?;
    tell(&addresses, &[v.indices, v.values])?;
    tell(&kinds, &[v.index.number(), v.base as i32, v.dtype as i32])
}

/// Changes an object.
pub(crate) fn change<T>(table: &Handles<T>, descriptor: u64, to: impl FnOnce(&mut T)) -> Outcome {
    let changed = table.with(descriptor, |object| {
        to(object);
        Ok(())
    });
    changed.map_err(|_| Error::InvalidValue)
}

pub(crate) fn set_pointers(
    descriptor: u64,
    format: Format,
    [first, second, values]: [u64; 3],
) -> Outcome {
    if find(&SPARSE, descriptor)?.format != format {
        return Err(Error::InvalidValue);
    }
    change(&SPARSE, descriptor, |m| (m.first, m.second, m.values) = (first, second, values))
}

/// Sets the half or the diagonal of a triangular matrix (`cusparseSpMatAttribute_t`).
pub(crate) fn set_attribute(descriptor: u64, attribute: i32, data: Ptr, size: usize) -> Outcome {
    if size != 4 {
        return Err(Error::InvalidValue);
    }
    let value: i32 = get_host(data)?;
    match (attribute, value) {
        (0, 0) => change(&SPARSE, descriptor, |m| m.half = Triangle::Lower),
        (0, 1) => change(&SPARSE, descriptor, |m| m.half = Triangle::Upper),
        (1, 0 | 1) => change(&SPARSE, descriptor, |m| m.unit = value == 1),
        _ => Err(Error::InvalidValue),
    }
}

pub(crate) fn attribute(descriptor: u64, attribute: i32, out: Ptr, size: usize) -> Outcome {
    let m = find(&SPARSE, descriptor)?;
    match (attribute, size) {
        (0, 4) => put_host(out, i32::from(m.half == Triangle::Upper)),
        (1, 4) => put_host(out, i32::from(m.unit)),
        _ => Err(Error::InvalidValue),
    }
}

pub(crate) fn set_batches(descriptor: u64, batches: i32, distance: i64) -> Outcome {
    let batches = count(batches.into())?;
    if batches == 0 {
        return Err(Error::InvalidValue);
    }
    change(&DENSE, descriptor, |m| (m.batches, m.distance) = (batches, distance))
}

pub(crate) fn tell_batches(descriptor: u64, batches: Ptr, distance: Ptr) -> Outcome {
    let m = find(&DENSE, descriptor)?;
    put_host(batches, m.batches as i32)?;
    put_host(distance, m.distance)
}

pub(crate) fn tell_sparse_batches(descriptor: u64, out: Ptr) -> Outcome {
    put_host(out, find(&SPARSE, descriptor)?.batches as i32)
}
