//! How the device is used now, for those who look on without waiting for a launch to end: the lock
//! of the driver is held while kernels run.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use runtime::MAX_DEVICES;

/// The use of the device by this process.
#[derive(Debug)]
pub(crate) struct Usage {
    /// Bytes of memory, and contexts, by device.
    devices: [(AtomicU64, AtomicU32); MAX_DEVICES],
    /// Nanoseconds of the launches that have ended.
    busy: AtomicU64,
    /// When the running launch has begun; 0 if none runs.
    running: AtomicU64,
}

/// The use by this process. It is beside the driver, whose lock is held while kernels run.
pub(crate) static USAGE: Usage = Usage {
    devices: [const { (AtomicU64::new(0), AtomicU32::new(0)) }; MAX_DEVICES],
    busy: AtomicU64::new(0),
    running: AtomicU64::new(0),
};

/// Returns nanoseconds since the first call of this function, not 0.
fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}

impl Usage {
    /// Notes the bytes of memory and the contexts of a device of the machine.
    pub(crate) fn note(&self, device: i32, memory: u64, contexts: u32) {
        if let Some((bytes, count)) = self.devices.get(device as usize) {
            bytes.store(memory, Ordering::Relaxed);
            count.store(contexts, Ordering::Relaxed);
        }
    }

    /// Returns the bytes of memory of a device that are in use.
    pub(crate) fn memory(&self, device: i32) -> u64 {
        self.devices.get(device as usize).map_or(0, |(bytes, _)| bytes.load(Ordering::Relaxed))
    }

    /// Returns the number of contexts of a device.
    pub(crate) fn contexts(&self, device: i32) -> u32 {
        self.devices.get(device as usize).map_or(0, |(_, count)| count.load(Ordering::Relaxed))
    }

    /// Returns the nanoseconds for which kernels have run, up to now.
    pub(crate) fn busy(&self) -> u64 {
        let begun = self.running.load(Ordering::Relaxed);
        let current = if begun == 0 { 0 } else { now().saturating_sub(begun) };
        self.busy.load(Ordering::Relaxed) + current
    }

    /// Does work during which a kernel runs. One runs at a time.
    pub(crate) fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let begun = now();
        self.running.store(begun, Ordering::Relaxed);
        let end = work();
        self.running.store(0, Ordering::Relaxed);
        self.busy.fetch_add(now() - begun, Ordering::Relaxed);
        end
    }
}
