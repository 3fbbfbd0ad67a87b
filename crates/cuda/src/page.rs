//! Whole pages of the host for memory that the driver gives out.
#![allow(
    unsafe_code,
    reason = "aligned zeroed memory for others has no safe form in the standard library"
)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Zeroed pages. Only their address leaves this value: the driver itself reads and writes them by checked copies.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the value owns its pages, and never makes a reference to them.
unsafe impl Send for Pages {}

impl Pages {
    /// Pages for so many bytes, at least one; `None` if there is no memory.
    pub(crate) fn new(len: usize) -> Option<Self> {
        let layout = Layout::from_size_align(len.max(1), 4096).ok()?;
        let layout =
            Layout::from_size_align(layout.size().checked_next_multiple_of(4096)?, 4096).ok()?;
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self { start, layout })
    }

    /// The first byte's address.
    pub(crate) fn address(&self) -> u64 {
        self.start.addr().get() as u64
    }

    /// Bytes, in whole pages.
    pub(crate) fn len(&self) -> u64 {
        self.layout.size() as u64
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: `start` is from the allocator, with this layout, and is freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
