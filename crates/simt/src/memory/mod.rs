//! Guest memory: one 64-bit address map per context.
//!
//! A [`MemoryMap`] holds what a context's kernels share: global and constant memory, as named
//! [`Region`]s at deterministic addresses. What belongs to a CTA or a thread (shared memory, local
//! memory, parameters) is a [`Block`] of whoever executes it, reached through a window of generic
//! addresses ([`resolve`], [`generic`]). The layout (bounds are the constants [`SHARED_WINDOW`] and
//! so on):
//!
//! | from | to (exclusive) | what |
//! |---|---|---|
//! | `0` | `0x1_0000` | null guard |
//! | `0x1_0000` | `0x1_0000_0000` | free for [`MemoryMap::map_at`] |
//! | `0x1_0000_0000` | `0x4_0000_0000` | windows: shared, local, parameters, 4 GiB each |
//! | `0x4_0000_0000` | `0x7_0000_0000` | constant heap |
//! | `0x7_0000_0000` | `0x8000_0000_0000` | global heap |
//! | `0x8000_0000_0000` | 2^64 | free for [`MemoryMap::map_at`] |
//!
//! Always holds:
//!
//! - An access reaches bytes of one live region or fails with an [`AccessError`] that names the
//!   nearest allocation; an access that fails has changed nothing.
//! - Scalars are little-endian and must be naturally aligned.
//! - Heap allocations start at multiples of 256 bytes with at least 256 unmapped bytes between
//!   them. The address of an allocation depends on the allocations and frees before it only. Freed
//!   addresses are not used again before the heap's whole range has been used once, and at least
//!   the last 16,384 frees are remembered by name.
//! - Memory is zero until written, and the host commits its pages no earlier.
//! - While a device [accesses](MemoryMap::set_accessing) the map, regions that it may not access
//!   have no bytes that can be accessed.
//! - [`MemoryMap::snapshot`] copies the pages written since the last snapshot and no others.
//! - Host threads may share a map through [`SharedMemory`]: a racing guest gets some value it
//!   wrote, never undefined behaviour of the host.
//!
//! Uninitialised reads are not tracked; a map of the bytes written would accompany the map of
//! the pages written, in the one type that all stores to a region pass through (`Tracked`).

mod access;
mod address;
mod block;
mod claims;
#[cfg(test)]
mod claims_tests;
mod direct;
mod error;
mod hints;
mod host;
mod journal;
mod map;
mod region;
mod save;
mod shared;
mod sharing;
mod snapshot;
mod words;
mod zeroed;

/// What [`claims`] uses of the standard library, and what its models replace.
mod sync {
    pub(super) use std::sync::Mutex;
    pub(super) use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64};
}

pub use address::{
    Addr, CONST_HEAP, GLOBAL_HEAP, LOCAL_WINDOW, NULL_GUARD, PARAM_WINDOW, SHARED_WINDOW, Space,
    generic, resolve,
};
pub use block::{Block, Width};
pub use direct::{DirectMemory, Place, RegionUses, Together};
pub use error::{
    AccessError, AccessKind, AccessResult, BlockInfo, MapError, Nearest, Position, Symbol,
    Violation,
};
pub use host::HostRange;
pub use map::{ALLOCATION_ALIGN, DEFAULT_LIMIT, Heap, MemoryMap, RED_ZONE, Request};
pub use region::{Backing, Permission, Region, RegionId};
pub use save::{RegionSnapshot, Snapshot};
pub use shared::SharedMemory;
pub use sharing::{Accessing, MAX_DEVICES, Sharing};
pub use snapshot::PAGE_BYTES;
pub use zeroed::OutOfHostMemory;
