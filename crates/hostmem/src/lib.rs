//! Reads and writes memory of the host process at addresses that a client gives.
//!
//! Clients pass addresses that nobody can vouch for. On Linux the kernel copies (`process_vm_readv`
//! on the own process), which answers for a bad address with an error where a load would end the
//! process. Where that call does not exist or is not permitted, bytes are copied directly: then a
//! bad address is the client's crash, as with a real driver.
#![allow(unsafe_code, reason = "addresses that others own can only be reached through pointers")]

mod arguments;
mod front;
mod maps;
mod room;
mod shared;

use std::sync::atomic::{AtomicBool, Ordering};

pub use arguments::{Argument, Arguments, layout};
pub use front::{on_own_stack, room_for_text};
pub use maps::{Extent, Extents};
pub use room::room;
pub use shared::{SharedMemory, SharedName};

/// Whether the kernel has refused to copy at all.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Bytes that one system call copies at most.
const CHUNK: usize = 1 << 30;

/// Copies from the host's `address` on; how many bytes there were before one that cannot be read.
#[must_use]
pub fn read_host(address: u64, out: &mut [u8]) -> usize {
    let mut done = 0;
    while done < out.len() {
        let end = out.len().min(done + CHUNK);
        let copied = read_some(address.wrapping_add(done as u64), &mut out[done..end]);
        if copied == 0 {
            break;
        }
        done += copied;
    }
    done
}

/// Copies to the host's `address` on; how many bytes there were before one that cannot be written.
#[must_use]
pub fn write_host(address: u64, bytes: &[u8]) -> usize {
    let mut done = 0;
    while done < bytes.len() {
        let end = bytes.len().min(done + CHUNK);
        let copied = write_some(address.wrapping_add(done as u64), &bytes[done..end]);
        if copied == 0 {
            break;
        }
        done += copied;
    }
    done
}

/// How many of `len` bytes from `address` on can be read. Where nobody can tell, all of them.
#[must_use]
pub fn readable(address: u64, len: u64) -> u64 {
    let mut buffer = vec![0; len.min(1 << 16) as usize];
    let mut done = 0;
    while done < len {
        let part = (len - done).min(buffer.len() as u64) as usize;
        let copied = read_host(address.wrapping_add(done), &mut buffer[..part]) as u64;
        done += copied;
        if copied < part as u64 {
            break;
        }
    }
    done
}

/// The bytes of the host's C string at `address`, without its end; `None` if it is longer than
/// `limit`, or goes on into what cannot be read, or if there is no memory for it.
#[must_use]
pub fn host_string(address: u64, limit: usize) -> Option<Vec<u8>> {
    // Up to the end of a page: a string may end right before a page that is not there.
    let mut part = vec![0; 1 << 16];
    let mut text = Vec::new();
    while text.len() <= limit {
        let at = address.wrapping_add(text.len() as u64);
        let to_end = part.len() - (at as usize & (part.len() - 1));
        let copied = read_host(at, &mut part[..to_end]);
        match part[..copied].iter().position(|&b| b == 0) {
            Some(end) => {
                text.try_reserve(end).ok()?;
                text.extend(&part[..end]);
                return (text.len() <= limit).then_some(text);
            }
            None if copied < to_end => return None,
            None => {
                text.try_reserve(copied).ok()?;
                text.extend(&part[..copied]);
            }
        }
    }
    None
}

#[cfg(target_os = "linux")]
fn read_some(address: u64, out: &mut [u8]) -> usize {
    if !REFUSED.load(Ordering::Relaxed) {
        let local = libc::iovec { iov_base: out.as_mut_ptr().cast(), iov_len: out.len() };
        let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: out.len() };
        // SAFETY: `local` is a live exclusive slice; the kernel checks every page of `remote` and
        // writes only to `local`.
        let copied = unsafe {
            libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0)
        };
        match answer(copied) {
            Some(count) => return count,
            None => REFUSED.store(true, Ordering::Relaxed),
        }
    }
    copy_in(address, out)
}

#[cfg(target_os = "linux")]
fn write_some(address: u64, bytes: &[u8]) -> usize {
    if !REFUSED.load(Ordering::Relaxed) {
        let local =
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes.len() };
        // SAFETY: `local` is a live slice that the kernel only reads; the kernel checks every page
        // of `remote`, which the caller names as memory that its owner has given for writing.
        let copied = unsafe {
            libc::process_vm_writev(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0)
        };
        match answer(copied) {
            Some(count) => return count,
            None => REFUSED.store(true, Ordering::Relaxed),
        }
    }
    copy_out(address, bytes)
}

/// Bytes copied; 0 at a bad address; `None` if the system does not do this.
#[cfg(target_os = "linux")]
fn answer(copied: isize) -> Option<usize> {
    if let Ok(count) = usize::try_from(copied) {
        return Some(count);
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EPERM | libc::ENOSYS | libc::ESRCH) => None,
        _ => Some(0),
    }
}

#[cfg(not(target_os = "linux"))]
fn read_some(address: u64, out: &mut [u8]) -> usize {
    REFUSED.store(true, Ordering::Relaxed);
    copy_in(address, out)
}

#[cfg(not(target_os = "linux"))]
fn write_some(address: u64, bytes: &[u8]) -> usize {
    REFUSED.store(true, Ordering::Relaxed);
    copy_out(address, bytes)
}

fn copy_in(address: u64, out: &mut [u8]) -> usize {
    if address == 0 {
        return 0;
    }
    // SAFETY: the system cannot check the address, so the client's word stands for it, as it does
    // at the interfaces that are imitated: `out.len()` readable bytes are there.
    unsafe { std::ptr::copy(address as *const u8, out.as_mut_ptr(), out.len()) };
    out.len()
}

fn copy_out(address: u64, bytes: &[u8]) -> usize {
    if address == 0 {
        return 0;
    }
    // SAFETY: as in `copy_in`, for `bytes.len()` writable bytes.
    unsafe { std::ptr::copy(bytes.as_ptr(), address as *mut u8, bytes.len()) };
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_copied() {
        let mut there = vec![1_u8, 2, 3, 4];
        let mut out = [0; 4];
        let at = there.as_mut_ptr() as u64;
        assert_eq!(read_host(at, &mut out), 4);
        assert_eq!(out, [1, 2, 3, 4]);
        assert_eq!(write_host(at + 1, &[9, 9]), 2);
        assert_eq!(read_host(at, &mut out), 4);
        assert_eq!(out, [1, 9, 9, 4]);
        assert_eq!(readable(at, 4), 4);
        drop(there);
    }

    #[test]
    fn bad_addresses_are_answers() {
        if REFUSED.load(Ordering::Relaxed) {
            return;
        }
        assert_eq!(read_host(0, &mut [0; 8]), 0);
        assert_eq!(write_host(8, &[0; 8]), 0);
        assert_eq!(read_host(u64::MAX - 3, &mut [0; 8]), 0);
        assert_eq!(readable(0x10, 1 << 40), 0);
        // A constant of the program can be read but not written.
        static CONSTANT: [u8; 4] = [5; 4];
        let at = CONSTANT.as_ptr() as u64;
        assert_eq!(readable(at, 4), 4);
        assert_eq!(write_host(at, &[0; 4]), 0);
        assert_eq!(host_string(0, 10), None);
    }

    #[test]
    fn strings_end() {
        let text = c"sixteen kernels".to_owned();
        let at = text.as_ptr() as u64;
        assert_eq!(host_string(at, 100).as_deref(), Some(&b"sixteen kernels"[..]));
        assert_eq!(host_string(at, 15).as_deref(), Some(&b"sixteen kernels"[..]));
        assert_eq!(host_string(at, 14), None);
        let long = std::ffi::CString::new(vec![b'x'; 200_000]).unwrap();
        assert_eq!(host_string(long.as_ptr() as u64, 1 << 20).map(|t| t.len()), Some(200_000));
    }
}
