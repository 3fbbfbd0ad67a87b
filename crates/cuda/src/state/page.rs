//! Whole pages of host memory that the driver gives to clients.
#![allow(
    unsafe_code,
    reason = "aligned zeroed memory for others has no safe form in the standard library"
)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Allocations of at least this size are aligned to it, as on hardware with pages of this size.
pub(crate) const LARGE_PAGE: u64 = 2 << 20;
/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;

/// Zeroed pages. Only their address leaves this value; the driver accesses them by checked copies.
#[derive(Debug)]
pub(crate) struct Pages {
    /// The allocation, somewhere in which the pages begin.
    start: NonNull<u8>,
    layout: Layout,
    address: usize,
    len: usize,
}

// SAFETY: the value owns its pages, and never makes a reference to them.
unsafe impl Send for Pages {}

impl Pages {
    /// Allocates pages for `len` bytes, at least one page. Returns `None` if there is no memory.
    /// Pages of at least [`LARGE_PAGE`] bytes in all are aligned to that.
    pub(crate) fn new(len: usize) -> Option<Self> {
        let len = len.max(1).checked_next_multiple_of(PAGE)?;
        let align = if len as u64 >= LARGE_PAGE { LARGE_PAGE as usize } else { PAGE };
        // Without an alignment, the allocator returns memory that the system has zeroed and not
        // committed; with one, it writes the zeros itself.
        let layout = Layout::from_size_align(len.checked_add(align)?, 1).ok()?;
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let address = start.addr().get().next_multiple_of(align);
        Some(Self { start, layout, address, len })
    }

    /// Returns the address of the first byte.
    pub(crate) fn address(&self) -> u64 {
        self.address as u64
    }

    /// Returns the length in bytes, a multiple of the page size.
    pub(crate) fn len(&self) -> u64 {
        self.len as u64
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: `start` is from the allocator, with this layout, and is freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
