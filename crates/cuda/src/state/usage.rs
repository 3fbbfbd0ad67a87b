//! How the device is used now, for those who look on without waiting for a launch to end: the lock
//! of the driver is held while kernels run.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

/// The use of the device by this process.
#[derive(Debug)]
pub(crate) struct Usage {
    memory: AtomicU64,
    /// Contexts by device.
    contexts: [AtomicU32; MOST_DEVICES],
    /// Nanoseconds of the launches that have ended.
    busy: AtomicU64,
    /// When the running launch has begun; 0 if none runs.
    running: AtomicU64,
}

/// The maximum number of devices.
pub(crate) const MOST_DEVICES: usize = 16;

/// The use by this process. It is beside the driver, whose lock is held while kernels run.
pub(crate) static USAGE: Usage = Usage {
    memory: AtomicU64::new(0),
    contexts: [const { AtomicU32::new(0) }; MOST_DEVICES],
    busy: AtomicU64::new(0),
    running: AtomicU64::new(0),
};

/// Returns nanoseconds since the first call of this function, not 0.
fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}

impl Usage {
    /// Notes the bytes of memory in use, and the devices of the contexts.
    pub(crate) fn note(&self, memory: u64, devices: impl Iterator<Item = i32>) {
        let mut contexts = [0; MOST_DEVICES];
        for device in devices {
            if let Some(count) = contexts.get_mut(device as usize) {
                *count += 1;
            }
        }
        self.memory.store(memory, Ordering::Relaxed);
        for (to, count) in self.contexts.iter().zip(contexts) {
            to.store(count, Ordering::Relaxed);
        }
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn memory(&self) -> u64 {
        self.memory.load(Ordering::Relaxed)
    }

    /// Returns the number of contexts of a device.
    pub(crate) fn contexts(&self, device: i32) -> u32 {
        self.contexts.get(device as usize).map_or(0, |count| count.load(Ordering::Relaxed))
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
