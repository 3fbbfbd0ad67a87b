//! Checked access to the client's memory, at addresses that it passes.

use hostmem::{host_string, read_host, write_host};

use crate::layout::Abi;
use crate::status::{Outcome, Status};

/// An address in the client's memory.
pub type Ptr = usize;

/// The maximum length of a name in bytes.
const MAX_NAME: usize = 64 << 10;

/// The maximum length of a list of a client.
const MAX_LIST: usize = 1 << 20;

/// Writes bytes.
///
/// # Errors
/// [`Status::INVALID_VALUE`] for a null pointer and for one that cannot be written; the same of the
/// functions below.
pub fn put_bytes(at: Ptr, bytes: &[u8]) -> Outcome {
    if at == 0 || write_host(at as u64, bytes) < bytes.len() {
        return Err(Status::INVALID_VALUE);
    }
    Ok(())
}

/// Writes a result.
///
/// # Errors
/// As [`put_bytes`].
pub fn put<T: Abi>(at: Ptr, value: &T) -> Outcome {
    put_bytes(at, &value.to_bytes())
}

/// Writes an optional result; does nothing if the pointer is null.
///
/// # Errors
/// As [`put_bytes`], for other pointers.
pub fn put_if<T: Abi>(at: Ptr, value: &T) -> Outcome {
    if at == 0 { Ok(()) } else { put(at, value) }
}

/// Writes an `int`.
///
/// # Errors
/// As [`put_bytes`].
pub fn put_i32(at: Ptr, value: i32) -> Outcome {
    put(at, &value)
}

/// Writes a `size_t`, a handle or a device address.
///
/// # Errors
/// As [`put_bytes`].
pub fn put_u64(at: Ptr, value: u64) -> Outcome {
    put(at, &value)
}

/// Does the same as [`put_u64`] for an optional result.
///
/// # Errors
/// As [`put_if`].
pub fn put_u64_if(at: Ptr, value: u64) -> Outcome {
    put_if(at, &value)
}

/// Reads bytes. No bytes can be read anywhere.
///
/// # Errors
/// [`Status::INVALID_VALUE`] for a null pointer and for one that cannot be read; the same of the
/// functions below.
pub fn get_bytes(at: Ptr, out: &mut [u8]) -> Outcome {
    if out.is_empty() {
        return Ok(());
    }
    if at == 0 || read_host(at as u64, out) < out.len() {
        return Err(Status::INVALID_VALUE);
    }
    Ok(())
}

/// Reads a value. A structure is copied at once, so that its fields stay what they were.
///
/// # Errors
/// As [`get_bytes`].
pub fn get<T: Abi>(at: Ptr) -> Outcome<T> {
    let mut bytes = vec![0; size_of::<T>()];
    get_bytes(at, &mut bytes)?;
    Ok(T::from_bytes(&bytes))
}

/// Reads `count` values.
///
/// # Errors
/// As [`get_bytes`], and for a list that is too long.
pub fn get_list<T: Abi>(at: Ptr, count: usize) -> Outcome<Vec<T>> {
    if count > MAX_LIST {
        return Err(Status::INVALID_VALUE);
    }
    let mut bytes = vec![0; size_of::<T>() * count];
    get_bytes(at, &mut bytes)?;
    Ok(bytes.chunks_exact(size_of::<T>()).map(T::from_bytes).collect())
}

/// Reads a C string.
///
/// # Errors
/// As [`get_bytes`], and for a text that is too long or not UTF-8.
pub fn name(at: Ptr) -> Outcome<String> {
    String::from_utf8(name_bytes(at)?).map_err(|_| Status::INVALID_VALUE)
}

/// Reads a C string of any bytes, without its end.
///
/// # Errors
/// As [`get_bytes`], and for a text that is too long.
pub fn name_bytes(at: Ptr) -> Outcome<Vec<u8>> {
    if at == 0 {
        return Err(Status::INVALID_VALUE);
    }
    host_string(at as u64, MAX_NAME).ok_or(Status::INVALID_VALUE)
}

/// Returns the address of a value, for a call of another library while the value lives.
#[must_use]
pub fn address<T>(value: &T) -> Ptr {
    std::ptr::from_ref(value).expose_provenance()
}

/// Returns the value that a call writes to the address that it gets; `start` is the initial value.
///
/// # Errors
/// The call's.
pub fn written<T: Copy>(start: T, call: impl FnOnce(Ptr) -> Outcome) -> Outcome<T> {
    let mut value = start;
    call((&raw mut value).expose_provenance())?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CUlaunchConfig, CUmemLocation};

    #[test]
    fn structures_are_read_and_written_field_by_field() {
        let config = CUlaunchConfig { blockDimX: 32, attrs: 0x1234, numAttrs: 2, ..Abi::zeroed() };
        let mut copy = CUlaunchConfig::zeroed();
        put((&raw mut copy).expose_provenance(), &config).unwrap();
        assert_eq!(copy, config);
        assert_eq!(get::<CUlaunchConfig>(address(&config)), Ok(config));
        let list = [CUmemLocation { r#type: 1, id: 3 }, CUmemLocation { r#type: 2, id: -1 }];
        assert_eq!(get_list::<CUmemLocation>(address(&list), 2), Ok(list.to_vec()));
        assert_eq!(CUmemLocation::from_word(3 << 32 | 1), list[0]);
    }

    #[test]
    fn invalid_addresses_are_invalid_values() {
        let invalid = Status::INVALID_VALUE;
        assert_eq!(get::<u64>(0), Err(invalid));
        assert_eq!(put_i32(0, 1), Err(invalid));
        assert_eq!(put_u64_if(0, 1), Ok(()));
        assert_eq!(get_list::<u64>(0, 0), Ok(Vec::new()));
        assert_eq!(get_list::<u64>(64, MAX_LIST + 1), Err(invalid));
        assert_eq!(name(0), Err(invalid));
        let text = c"\xff";
        assert_eq!(name_bytes(text.as_ptr().expose_provenance()), Ok(vec![0xff]));
        assert_eq!(name(text.as_ptr().expose_provenance()), Err(invalid));
    }
}
