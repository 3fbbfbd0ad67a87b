//! The reader.

use std::io::Read;
use std::path::Path;

use super::NpyError;
use super::error::MAX_HEADER;
use super::header::Header;
use crate::array::{Array, byte_size};

/// Reads an array from a file, with at most `cap` bytes of elements.
///
/// # Errors
/// Returns an error if the file cannot be read, is not a complete `.npy` file, or exceeds the cap.
pub fn load(path: &Path, cap: u64) -> Result<Array, NpyError> {
    let file = std::fs::File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(std::io::Error::from(std::io::ErrorKind::IsADirectory).into());
    }
    read(std::io::BufReader::new(file), cap)
}

/// Reads an array from `source`, to its end, with at most `cap` bytes of elements.
///
/// # Errors
/// Returns errors like [`load`].
pub fn read(mut source: impl Read, cap: u64) -> Result<Array, NpyError> {
    let (header, header_end) = read_header(&mut source)?;
    let needed = byte_size(header.ty, &header.shape, cap)?;
    let data = read_exactly(&mut source, needed, "the elements")?;
    if source.read(&mut [0])? != 0 {
        return Err(NpyError::Trailing { end: header_end + needed });
    }
    let data = native_order(&header, data);
    Ok(Array::new(header.ty, header.shape, data)?)
}

/// Reads the header; returns it with the offset of the elements.
fn read_header(source: &mut impl Read) -> Result<(Header, u64), NpyError> {
    let mut start = Vec::new();
    source.by_ref().take(8).read_to_end(&mut start)?;
    let [magic @ .., major, minor] = start.as_slice() else { return Err(NpyError::Magic) };
    if magic != b"\x93NUMPY" {
        return Err(NpyError::Magic);
    }
    let (length_bytes, utf8) = match (*major, *minor) {
        (1, 0) => (2, false),
        (2, 0) => (4, false),
        (3, 0) => (4, true),
        (major, minor) => return Err(NpyError::Version { major, minor }),
    };
    let field = read_exactly(source, length_bytes, "the header's length")?;
    let length = field.iter().rev().fold(0_u64, |n, &byte| n << 8 | u64::from(byte));
    if length > MAX_HEADER {
        return Err(NpyError::HeaderTooLong { length });
    }
    let bytes = read_exactly(source, length, "the header")?;
    let header = Header::parse(&header_text(bytes, utf8)?)?;
    Ok((header, 8 + length_bytes + length))
}

/// Decodes the header: Latin-1 in versions 1 and 2, UTF-8 in version 3.
fn header_text(bytes: Vec<u8>, utf8: bool) -> Result<String, NpyError> {
    if !utf8 {
        return Ok(bytes.iter().map(|&byte| char::from(byte)).collect());
    }
    String::from_utf8(bytes)
        .map_err(|e| NpyError::Header { at: e.utf8_error().valid_up_to(), expected: "UTF-8 text" })
}

/// Reads exactly `needed` bytes. Memory grows with the bytes that are read, not with the number
/// requested.
fn read_exactly(
    source: &mut impl Read,
    needed: u64,
    part: &'static str,
) -> Result<Vec<u8>, NpyError> {
    let mut data = Vec::new();
    source.by_ref().take(needed).read_to_end(&mut data)?;
    let got = data.len() as u64;
    if got == needed { Ok(data) } else { Err(NpyError::Truncated { part, needed, got }) }
}

/// Converts elements to little-endian and C order.
fn native_order(header: &Header, mut data: Vec<u8>) -> Vec<u8> {
    let size = header.ty.bytes();
    if header.big_endian {
        data.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    let dims = header.shape.iter().filter(|&&extent| extent > 1).count();
    if header.fortran_order && dims > 1 && !data.is_empty() {
        to_c_order(&header.shape, size, &data)
    } else {
        data
    }
}

/// Collects the elements in C order from data in Fortran order.
fn to_c_order(shape: &[u64], size: usize, data: &[u8]) -> Vec<u8> {
    let extents: Vec<usize> = shape.iter().map(|&e| e as usize).collect();
    let mut strides = Vec::with_capacity(extents.len());
    let mut stride = size;
    for &extent in &extents {
        strides.push(stride);
        stride *= extent;
    }
    let mut out = Vec::with_capacity(data.len());
    let mut index = vec![0; extents.len()];
    for _ in 0..data.len() / size {
        let at: usize = index.iter().zip(&strides).map(|(i, s)| i * s).sum();
        out.extend_from_slice(&data[at..at + size]);
        for dim in (0..extents.len()).rev() {
            index[dim] += 1;
            if index[dim] < extents[dim] {
                break;
            }
            index[dim] = 0;
        }
    }
    out
}
