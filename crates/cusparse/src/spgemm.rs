//! Products of sparse matrices, in the interface's steps: the product is made when its number of
//! entries is asked for, and kept on the host until it is copied.

use culibs::device::put_host;
use culibs::handles::Handles;
use culibs::{DataType, Error, Outcome, Ptr};
use linalg::Op;
use operands::{Blas, op};

use crate::entries::{Entry, consistent};
use crate::handle::get;
use crate::objects::{SPARSE, Sparse, change, find};

/// Parts of entries as `f64`, which hold those of all types.
type Wide = (usize, usize, (f64, f64));

/// A product.
#[derive(Clone, Debug, Default)]
struct Product {
    entries: Vec<Wide>,
    /// How many products of entries it has.
    products: i64,
}

static PRODUCTS: Handles<Product> = Handles::new(0x5d_0000_0000);

pub(crate) fn create(out: Ptr) -> Outcome {
    let descriptor = PRODUCTS.add(Product::default());
    put_host(out, descriptor).inspect_err(|_| drop(PRODUCTS.remove(descriptor)))
}

pub(crate) fn destroy(descriptor: u64) -> Outcome {
    crate::objects::remove(&PRODUCTS, descriptor)
}

/// The operands of a product.
#[derive(Clone, Copy)]
pub(crate) struct Operands {
    pub(crate) ops: [i32; 2],
    pub(crate) alpha: Ptr,
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) beta: Ptr,
    pub(crate) c: u64,
    pub(crate) compute: i32,
    pub(crate) descriptor: u64,
}

impl Operands {
    fn checked(&self) -> Outcome<(Sparse, Op, Sparse, Op, Sparse)> {
        let (op_a, op_b) = (op(self.ops[0])?, op(self.ops[1])?);
        let (a, b, c) = (find(&SPARSE, self.a)?, find(&SPARSE, self.b)?, find(&SPARSE, self.c)?);
        let ([m, k], [k2, n]) = (a.size(op_a), b.size(op_b));
        if k != k2 || [c.rows, c.cols] != [m, n] {
            return Err(Error::InvalidValue);
        }
        consistent(self.compute, &[a.dtype, b.dtype, c.dtype])?;
        find(&PRODUCTS, self.descriptor)?;
        Ok((a, op_a, b, op_b, c))
    }
}

/// Asks for the size of a buffer if there is none. Returns whether it did.
fn asked(buffer: u64, size: Ptr) -> Outcome<bool> {
    if buffer != 0 {
        return Ok(false);
    }
    put_host(size, 16_usize)?;
    Ok(true)
}

pub(crate) fn estimate(handle: u64, operands: Operands, size: Ptr, buffer: u64) -> Outcome {
    get(handle)?;
    operands.checked()?;
    asked(buffer, size).map(drop)
}

/// Multiplies entries row by row. Room is made for entries alone, however large the matrices are.
fn multiply<T: Blas>(mut left: Vec<Entry<T>>, mut right: Vec<Entry<T>>) -> (Vec<Entry<T>>, i64) {
    left.sort_by_key(|entry| entry.0);
    right.sort_by_key(|entry| entry.0);
    let (mut entries, mut products) = (Vec::new(), 0);
    for row in left.chunk_by(|a, b| a.0 == b.0) {
        let mut terms: Vec<(usize, T)> = Vec::new();
        for &(_, k, x) in row {
            let from = right.partition_point(|entry| entry.0 < k);
            let of_k = right[from..].iter().take_while(|entry| entry.0 == k);
            terms.extend(of_k.map(|&(_, column, y)| (column, x * y)));
        }
        products += terms.len() as i64;
        terms.sort_by_key(|term| term.0);
        for column in terms.chunk_by(|a, b| a.0 == b.0) {
            entries.push((row[0].0, column[0].0, column.iter().map(|term| term.1).sum()));
        }
    }
    (entries, products)
}

/// Makes the product, and tells its number of entries. The call waits for the stream: a capture
/// refuses it.
pub(crate) fn compute<T: Blas>(handle: u64, operands: Operands, size: Ptr, buffer: u64) -> Outcome {
    let h = get(handle)?;
    let (a, op_a, b, op_b, _) = operands.checked()?;
    if asked(buffer, size)? {
        return Ok(());
    }
    h.submit(move || {
        let (entries, products) = multiply::<T>(a.read(op_a)?, b.read(op_b)?);
        let wide = entries.into_iter().map(|(i, j, x)| (i, j, culibs::Number::wide(x)));
        let entries: Vec<Wide> = wide.collect();
        change(&SPARSE, operands.c, |c| c.nnz = entries.len())?;
        change(&PRODUCTS, operands.descriptor, |p| *p = Product { entries, products })
    })
}

/// Writes the product.
pub(crate) fn copy<T: Blas>(handle: u64, operands: Operands) -> Outcome {
    let h = get(handle)?;
    let (_, _, _, _, c) = operands.checked()?;
    let scalar = DataType::of(operands.compute)?;
    let alpha = h.param::<T>(operands.alpha, scalar)?;
    // A beta of null is zero.
    let beta = match operands.beta {
        0 => None,
        at => Some(h.param::<T>(at, scalar)?),
    };
    h.submit(move || {
        let alpha = alpha.get()?;
        let product = find(&PRODUCTS, operands.descriptor)?;
        let value = |(re, im): (f64, f64)| alpha * <T as culibs::Number>::of_wide(re, im);
        let mut entries: Vec<Entry<T>> =
            product.entries.iter().map(|&(i, j, x)| (i, j, value(x))).collect();
        if let Some(beta) = beta {
            let beta = beta.get()?;
            if beta != T::zero() && c.nnz == entries.len() {
                // The result has the same places.
                for (entry, old) in entries.iter_mut().zip(c.read_values::<T>()?) {
                    entry.2 += beta * old;
                }
            }
        }
        c.write_first(&entries)?;
        c.write_rest(&entries)
    })
}

/// Tells the sizes of both buffers of the algorithms that save memory: the second when the first is
/// there.
pub(crate) fn estimate_both(
    handle: u64,
    operands: Operands,
    size: Ptr,
    buffer: u64,
    compute_size: Ptr,
) -> Outcome {
    get(handle)?;
    operands.checked()?;
    if asked(buffer, size)? || compute_size == 0 {
        return Ok(());
    }
    put_host(compute_size, 16_usize)
}

/// Finds the places of a product, and tells how many they are.
pub(crate) fn count_places(
    handle: u64,
    operands: Operands,
    sizes: [Ptr; 3],
    buffer: u64,
) -> Outcome {
    let h = get(handle)?;
    let (a, op_a, b, op_b, _) = operands.checked()?;
    if asked(buffer, sizes[0])? {
        return sizes[1..].iter().try_for_each(|&size| put_host(size, 16_usize));
    }
    h.submit(move || {
        let ones = |m: &Sparse, op: Op| -> Outcome<Vec<Entry<f64>>> {
            let place = |(i, j)| if op == Op::None { (i, j, 1.0) } else { (j, i, 1.0) };
            Ok(m.slots()?.into_iter().flatten().map(place).collect())
        };
        let (entries, products) = multiply(ones(&a, op_a)?, ones(&b, op_b)?);
        let entries: Vec<Wide> = entries.into_iter().map(|(i, j, x)| (i, j, (x, 0.0))).collect();
        change(&SPARSE, operands.c, |c| c.nnz = entries.len())?;
        change(&PRODUCTS, operands.descriptor, |p| *p = Product { entries, products })
    })
}

/// Writes the places of a product.
pub(crate) fn copy_places(handle: u64, operands: Operands, size: Ptr, buffer: u64) -> Outcome {
    let h = get(handle)?;
    let (_, _, _, _, c) = operands.checked()?;
    if asked(buffer, size)? {
        return Ok(());
    }
    h.submit(move || {
        let entries = find(&PRODUCTS, operands.descriptor)?.entries;
        c.write_first(&entries)?;
        c.write_second(&entries)
    })
}

/// Computes a product again, whose places are known.
pub(crate) fn recompute<T: Blas>(handle: u64, operands: Operands) -> Outcome {
    compute::<T>(handle, operands, 0, 1)?;
    copy::<T>(handle, operands)
}

pub(crate) fn number(descriptor: u64, out: Ptr) -> Outcome {
    put_host(out, find(&PRODUCTS, descriptor)?.products)
}
