//! The writer.

use std::io::{self, Write};
use std::path::Path;

use super::Header;
use crate::array::Array;

/// Writes an array to a file, replacing it.
///
/// # Errors
/// Returns the error of the operating system.
pub fn save(path: &Path, array: &Array) -> io::Result<()> {
    let mut file = io::BufWriter::new(std::fs::File::create(path)?);
    write(&mut file, array)?;
    file.flush()
}

/// Writes an array: little-endian, in C order, version 1.0 (2.0 if the header is too long for it),
/// with the elements at a multiple of 64 bytes.
///
/// # Errors
/// Returns the error of `to`.
pub fn write(mut to: impl Write, array: &Array) -> io::Result<()> {
    let header = Header {
        ty: array.ty(),
        big_endian: false,
        fortran_order: false,
        shape: array.shape().to_vec(),
    };
    let mut text = header.to_text();
    // NumPy leaves room for the first extent to grow to 21 digits, for appending to the array.
    if let Some(first) = array.shape().first() {
        let digits = first.to_string().len();
        text.extend(std::iter::repeat_n(' ', 21 - digits));
    }
    let short = padded_length(10, text.len());
    match u16::try_from(short) {
        Ok(length) => {
            pad(&mut text, short);
            to.write_all(b"\x93NUMPY\x01\x00")?;
            to.write_all(&length.to_le_bytes())?;
        }
        Err(_) => {
            let long = padded_length(12, text.len());
            pad(&mut text, long);
            to.write_all(b"\x93NUMPY\x02\x00")?;
            to.write_all(&(long as u32).to_le_bytes())?;
        }
    }
    to.write_all(text.as_bytes())?;
    to.write_all(array.data())
}

/// Returns the length of the header text, padding and newline, such that the elements are aligned.
fn padded_length(prefix: usize, text: usize) -> usize {
    (prefix + text + 1).next_multiple_of(64) - prefix
}

fn pad(text: &mut String, length: usize) {
    let spaces = length.saturating_sub(text.len() + 1);
    text.extend(std::iter::repeat_n(' ', spaces));
    text.push('\n');
}
