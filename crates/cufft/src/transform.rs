//! Transforms of device memory by layouts.

use culibs::device::{Rows, zeroed};
use culibs::{Number, Outcome, size};
use fourier::{FftDirection, Precision, transform};
use num_complex::Complex;

use crate::layout::{Layout, Side};

/// Runs a transform from one address to another; this is work.
pub(crate) fn run<T: Precision + Number>(
    layout: &Layout,
    from: u64,
    to: u64,
    inverse: bool,
) -> Outcome
where
    Complex<T>: Number,
{
    let in_place = from == to;
    let (input, output) = (layout.side(true, in_place)?, layout.side(false, in_place)?);
    let direction = if inverse { FftDirection::Inverse } else { FftDirection::Forward };
    let source: Vec<Complex<T>> = input.dtype.read(whole(&input, from, layout.batches)?)?;
    let rows = whole(&output, to, layout.batches)?;
    let mut target: Vec<Complex<T>> = match output.is_dense(layout.batches) {
        true => zeroed(size(&[rows.width])?)?,
        // What is between the elements stays.
        false => output.dtype.read(rows)?,
    };
    for batch in 0..layout.batches {
        let mut data = Vec::with_capacity(layout.sizes.iter().product());
        let len = input.sizes[input.sizes.len() - 1];
        for start in input.rows(batch) {
            data.extend((0..len).map(|i| source[start + i * input.stride()]));
        }
        let done = transform(data, &layout.sizes, layout.types.kind, direction);
        let len = output.sizes[output.sizes.len() - 1];
        for (start, row) in output.rows(batch).into_iter().zip(done.chunks_exact(len)) {
            for (i, x) in row.iter().enumerate() {
                target[start + i * output.stride()] = *x;
            }
        }
    }
    output.dtype.write(rows, &target)
}

fn whole(side: &Side, at: u64, batches: usize) -> Outcome<Rows> {
    Ok(Rows::flat(at, side.span(batches)?))
}
