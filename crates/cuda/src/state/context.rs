//! Contexts of devices.

use std::collections::BTreeMap;

use cuda_abi::{CUlimit, Status};
use runtime::Heap;

/// A context of a device.
#[derive(Debug, Default)]
pub(crate) struct Ctx {
    pub(crate) device: i32,
    pub(crate) flags: u32,
    /// The error that all calls with this context return.
    pub(crate) failed: Option<Status>,
    /// Limits that were set.
    pub(crate) limits: BTreeMap<CUlimit, u64>,
    pub(crate) cache_config: i32,
    pub(crate) shared_config: i32,
    /// Contexts whose memory this one can access.
    pub(crate) peers: Vec<u64>,
    /// The device heap of `malloc` in kernels.
    pub(crate) heap: Heap,
}
