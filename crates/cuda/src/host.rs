//! Checked access to the client's memory, at addresses that it passes.

pub(crate) use runtime::HostStruct as Struct;
use runtime::{host_string, read_host, write_host};

use crate::status::{Outcome, Status};

/// An address in the client's memory.
pub(crate) type Ptr = usize;

/// The maximum length of a name in bytes.
const MAX_NAME: usize = 64 << 10;

/// Writes a result. A null pointer and one that cannot be written are invalid values.
pub(crate) fn put(at: Ptr, bytes: &[u8]) -> Outcome {
    if at == 0 || write_host(at as u64, bytes) < bytes.len() {
        return Err(Status::INVALID_VALUE);
    }
    Ok(())
}

/// Writes an optional result; does nothing if the pointer is null.
pub(crate) fn put_if(at: Ptr, bytes: &[u8]) -> Outcome {
    if at == 0 { Ok(()) } else { put(at, bytes) }
}

/// Writes an `int`.
pub(crate) fn put_i32(at: Ptr, value: i32) -> Outcome {
    put(at, &value.to_ne_bytes())
}

/// Writes a `size_t`, a handle or a device address.
pub(crate) fn put_u64(at: Ptr, value: u64) -> Outcome {
    put(at, &value.to_ne_bytes())
}

/// Does the same as [`put_u64`] for an optional result.
pub(crate) fn put_u64_if(at: Ptr, value: u64) -> Outcome {
    put_if(at, &value.to_ne_bytes())
}

/// Reads bytes.
pub(crate) fn get(at: Ptr, out: &mut [u8]) -> Outcome {
    if out.is_empty() {
        return Ok(());
    }
    if at == 0 || read_host(at as u64, out) < out.len() {
        return Err(Status::INVALID_VALUE);
    }
    Ok(())
}

/// Reads a handle or an address.
pub(crate) fn get_u64(at: Ptr) -> Outcome<u64> {
    let mut bytes = [0; 8];
    get(at, &mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Reads `count` handles or addresses.
pub(crate) fn get_u64s(at: Ptr, count: usize) -> Outcome<Vec<u64>> {
    if count > 1 << 20 {
        return Err(Status::INVALID_VALUE);
    }
    let mut bytes = vec![0; 8 * count];
    get(at, &mut bytes)?;
    let word = |b: &[u8]| u64::from_ne_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
    Ok(bytes.chunks_exact(8).map(word).collect())
}

/// Reads a C string.
pub(crate) fn name(at: Ptr) -> Outcome<String> {
    if at == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let bytes = host_string(at as u64, MAX_NAME).ok_or(Status::INVALID_VALUE)?;
    String::from_utf8(bytes).map_err(|_| Status::INVALID_VALUE)
}

/// Reads a structure of `size` bytes.
pub(crate) fn structure(at: Ptr, size: usize) -> Outcome<Struct> {
    Struct::read(at as u64, size).ok_or(Status::INVALID_VALUE)
}
