//! Memory pools, and those of each device.

use std::collections::BTreeMap;

use cuda_abi::{CUmemPool_attribute, Outcome, Status};

use super::process::SharedMemory;

/// A memory pool.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub(crate) device: i32,
    /// The devices that may access its memory, as bits.
    pub(crate) devices: u16,
    /// Attributes that were set.
    pub(crate) attributes: BTreeMap<CUmemPool_attribute, u64>,
    pub(crate) used: u64,
    pub(crate) most: u64,
    /// Whether it is a device's default pool.
    pub(crate) default: bool,
    /// The file of its handles for other processes, if it can have any.
    pub(crate) shared: Option<SharedMemory>,
    /// Whether it is a pool of another process, from which only that can allocate.
    pub(crate) imported: bool,
}

impl Pool {
    /// Returns a pool of a device, which alone may access it.
    pub(crate) fn of(device: i32) -> Self {
        Self { device, devices: 1 << device, ..Self::default() }
    }

    /// Returns the number of the pool in handles of its allocations, in all processes, if these can
    /// have any.
    pub(crate) fn number(&self) -> Option<u64> {
        self.shared.as_ref().map(|shared| shared.name().token[0])
    }
}

/// All pools.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    pub(crate) pools: BTreeMap<u64, Pool>,
    /// The default and the current pool of each device.
    pub(crate) of_device: BTreeMap<i32, (u64, u64)>,
}

impl Pools {
    /// Returns a pool by handle.
    pub(crate) fn find(&self, pool: u64) -> Outcome<&Pool> {
        self.pools.get(&pool).ok_or(Status::INVALID_VALUE)
    }
}
