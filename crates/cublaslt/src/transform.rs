//! Sums of matrices with changes of type, order and orientation.

use culibs::dtype::Param;
use culibs::stream::submit;
use culibs::{DataType, Error, Outcome, Ptr};
use linalg::{Matrix, Op};
use operands::{Blas, op};

use crate::handle::check;
use crate::layout::Layout;
use crate::objects::{Object, ObjectKind, find};

/// Returns the attributes of a new description.
pub(crate) fn object(scale: i32) -> Object {
    Object::new(ObjectKind::Transform).with(0, scale)
}

/// A matrix as arguments: its address and its layout.
pub(crate) type Operand = (u64, u64);

/// `c = alpha op(a) + beta op(b)`; a null matrix is left out.
pub(crate) fn run(
    handle: u64,
    description: u64,
    (alpha, a): (Ptr, Operand),
    (beta, b): (Ptr, Operand),
    c: Operand,
    stream: u64,
) -> Outcome {
    check(handle)?;
    let description = find(description, ObjectKind::Transform)?;
    let ops = [op(description.get(2))?, op(description.get(3))?];
    let (scale, on_device) = (DataType::of(description.get(0))?, description.get::<i32>(1) == 1);
    let to = Layout::of(c.1)?;
    if c.0 == 0 || alpha == 0 {
        return Err(Error::InvalidValue);
    }
    let mut summands = Vec::new();
    for ((factor, (at, layout)), op) in [(alpha, a), (beta, b)].into_iter().zip(ops) {
        if at == 0 || layout == 0 || factor == 0 {
            continue;
        }
        let layout = Layout::of(layout)?;
        if layout.size(op) != [to.rows, to.cols] || layout.batches != to.batches {
            return Err(Error::InvalidValue);
        }
        summands.push((factor, at, layout, op));
    }
    match scale {
        DataType::F64 => sum::<f64>(summands, scale, on_device, c.0, to, stream),
        DataType::C64 => sum::<linalg::c64>(summands, scale, on_device, c.0, to, stream),
        DataType::C32 => sum::<linalg::c32>(summands, scale, on_device, c.0, to, stream),
        DataType::F32 | DataType::F16 => sum::<f32>(summands, scale, on_device, c.0, to, stream),
        DataType::I32 => sum::<f64>(summands, scale, on_device, c.0, to, stream),
        _ => Err(Error::NotSupported),
    }
}

fn sum<T: Blas>(
    summands: Vec<(Ptr, u64, Layout, Op)>,
    scale: DataType,
    on_device: bool,
    out: u64,
    to: Layout,
    stream: u64,
) -> Outcome {
    let mut terms = Vec::new();
    for (factor, at, layout, op) in summands {
        terms.push((Param::<T>::take(factor, on_device, scale)?, at, layout, op));
    }
    submit(stream, move || {
        for batch in 0..to.batches {
            let mut sum: Matrix<T> = to.zeros(out, batch)?;
            for &(factor, at, layout, op) in &terms {
                let factor = factor.get()?;
                if factor == T::zero() {
                    continue;
                }
                let matrix = layout.read::<T>(at, batch)?.op(op);
                for (s, x) in sum.data.iter_mut().zip(matrix.data) {
                    *s += factor * x;
                }
            }
            to.write(out, batch, &sum)?;
        }
        Ok(())
    })
}
