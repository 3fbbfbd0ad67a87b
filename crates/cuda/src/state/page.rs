//! Whole pages of host memory that the driver gives to clients.
//!
//! They are mappings of their own: an address that a client uses after it has freed the memory is
//! one that copies refuse, and not memory of the process that something else has got meanwhile.

use memmap2::MmapMut;

/// Allocations of at least this size are aligned to it, as on hardware with pages of this size.
pub(crate) const LARGE_PAGE: u64 = 2 << 20;
/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;

/// Zeroed pages. Only their address leaves this value; the driver accesses them by checked copies.
#[derive(Debug)]
pub(crate) struct Pages {
    /// The mapping, somewhere in which the pages begin.
    _mapping: MmapMut,
    address: usize,
    len: usize,
}

impl Pages {
    /// Allocates pages for `len` bytes, at least one page. Returns `None` if there is no memory.
    /// Pages of at least [`LARGE_PAGE`] bytes in all are aligned to that.
    pub(crate) fn new(len: usize) -> Option<Self> {
        let len = len.max(1).checked_next_multiple_of(PAGE)?;
        let align = if len as u64 >= LARGE_PAGE { LARGE_PAGE as usize } else { PAGE };
        // The system commits no page before it is written.
        let mut mapping = MmapMut::map_anon(len.checked_add(align)?).ok()?;
        let address = mapping.as_mut_ptr().expose_provenance().next_multiple_of(align);
        Some(Self { _mapping: mapping, address, len })
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
