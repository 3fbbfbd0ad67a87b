//! Copies of vectors and matrices between host and device.

use culibs::device::{Rows, get_host_list, put_host_list};
use culibs::stream::{context, submit};
use culibs::{Error, Outcome, Ptr, count, size};

/// Elements of a client: their size in bytes, how many are adjacent, how many such groups, and the
/// distances of groups in elements, on both sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) element: i64,
    pub(crate) rows: i64,
    pub(crate) cols: i64,
    pub(crate) from: i64,
    pub(crate) to: i64,
}

impl Shape {
    /// A vector.
    pub(crate) fn vector(n: i64, element: i64, from: i64, to: i64) -> Self {
        Self { element, rows: 1, cols: n, from, to }
    }

    fn checked(&self) -> Outcome<[usize; 5]> {
        let Self { element, rows, cols, from, to } = *self;
        if element <= 0 || from < rows.max(1) || to < rows.max(1) {
            return Err(Error::InvalidValue);
        }
        Ok([count(element)?, count(rows)?, count(cols)?, count(from)?, count(to)?])
    }
}

/// Copies to the device.
pub(crate) fn set(shape: Shape, host: Ptr, device: u64, stream: u64) -> Outcome {
    context()?;
    let [element, rows, cols, from, to] = shape.checked()?;
    if rows == 0 || cols == 0 {
        return Ok(());
    }
    let width = size(&[rows, element])?;
    let pitch = size(&[to, element])?;
    submit(stream, move || {
        let data = gather(host, width, cols, size(&[from, element])?)?;
        Rows { at: device, width, height: cols, pitch }.write(&data)
    })
}

/// Copies to the host.
pub(crate) fn get(shape: Shape, device: u64, host: Ptr, stream: u64) -> Outcome {
    context()?;
    let [element, rows, cols, from, to] = shape.checked()?;
    if rows == 0 || cols == 0 {
        return Ok(());
    }
    let width = size(&[rows, element])?;
    let pitch = size(&[from, element])?;
    submit(stream, move || {
        let data: Vec<u8> = Rows { at: device, width, height: cols, pitch }.read()?;
        let step = size(&[to, element])?;
        for (i, row) in data.chunks_exact(width).enumerate() {
            put_host_list(host.wrapping_add(i * step), row)?;
        }
        Ok(())
    })
}

/// Reads rows of the host without gaps.
fn gather(host: Ptr, width: usize, height: usize, pitch: usize) -> Outcome<Vec<u8>> {
    if pitch == width {
        return get_host_list(host, size(&[width, height])?);
    }
    let mut data = Vec::new();
    for i in 0..height {
        data.extend(get_host_list::<u8>(host.wrapping_add(i * pitch), width)?);
    }
    Ok(data)
}
