//! Checked access to the client's memory, at addresses that it passes.

pub(crate) use hostmem::HostStruct as Struct;
use hostmem::{host_string, write_host};

use crate::error::{Error, Outcome};

/// An address in the client's memory.
pub(crate) type Ptr = usize;

/// Writes a result. A null pointer and one that cannot be written are invalid values.
pub(crate) fn put(at: Ptr, bytes: &[u8]) -> Outcome {
    if at == 0 || write_host(at as u64, bytes) < bytes.len() {
        return Err(Error::INVALID_VALUE);
    }
    Ok(())
}

/// Writes an `int`.
pub(crate) fn put_i32(at: Ptr, value: i32) -> Outcome {
    put(at, &value.to_ne_bytes())
}

/// Writes a `size_t`, a handle or an address.
pub(crate) fn put_u64(at: Ptr, value: u64) -> Outcome {
    put(at, &value.to_ne_bytes())
}

/// Reads the name of a kernel or a variable.
pub(crate) fn name(at: Ptr) -> Option<Vec<u8>> {
    if at == 0 { None } else { host_string(at as u64, 64 << 10) }
}

/// Reads a structure of `size` bytes.
pub(crate) fn structure(at: Ptr, size: usize) -> Outcome<Struct> {
    Struct::read(at as u64, size).ok_or(Error::INVALID_VALUE)
}

/// A structure for the driver, written field by field at documented offsets.
pub(crate) struct Block(Vec<u64>);

impl Block {
    /// Creates a zeroed structure of `size` bytes, a multiple of eight.
    pub(crate) fn new(size: usize) -> Self {
        Self(vec![0; size / 8])
    }

    /// Writes eight bytes at an offset that is a multiple of eight. A field of four bytes there is
    /// the lower half of `value`.
    pub(crate) fn set(&mut self, offset: usize, value: u64) {
        self.0[offset / 8] = value;
    }

    /// Returns the address of the structure.
    pub(crate) fn at(&self) -> Ptr {
        self.0.as_ptr().expose_provenance()
    }
}

/// Returns the value that a driver call writes to its result; `start` is the initial value.
pub(crate) fn out<T: Copy>(start: T, call: impl FnOnce(Ptr) -> Outcome) -> Outcome<T> {
    let mut value = start;
    call((&raw mut value).expose_provenance())?;
    Ok(value)
}
