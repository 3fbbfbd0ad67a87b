//! Device memory for tests that call the driver.

use cuda::exports::memory::cuMemAlloc_v2;

use crate::common::{at, ok};

/// New memory of the device.
#[track_caller]
pub(crate) fn alloc(len: usize) -> u64 {
    let mut address = 0_u64;
    ok(cuMemAlloc_v2(at(&mut address), len));
    address
}
