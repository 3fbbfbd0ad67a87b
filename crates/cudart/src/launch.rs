//! Launches.

use hostmem::Argument;

use crate::driver::{
    cuDeviceGetAttribute, cuLaunchCooperativeKernel, cuLaunchKernel, cuLaunchKernelEx,
    cuStreamGetFlags,
};
use crate::error::{Error, Outcome};
use crate::host::{Block, Ptr, out, put, structure};
use crate::registry::function;
use crate::state::{context, device, pop};

/// `dim3`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim3 {
    /// Along x.
    pub x: u32,
    /// Along y.
    pub y: u32,
    /// Along z.
    pub z: u32,
}

impl Argument for Dim3 {
    fn text(&self, _: &str) -> String {
        format!("({},{},{})", self.x, self.y, self.z)
    }
}

impl Dim3 {
    fn bytes(self) -> Vec<u8> {
        [self.x, self.y, self.z].iter().flat_map(|n| n.to_ne_bytes()).collect()
    }
}

/// A launch configuration, written between `<<<` and `>>>`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Configuration {
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    pub(crate) shared: usize,
    pub(crate) stream: u64,
}

/// Pops the last configuration and writes its fields.
pub(crate) fn pop_configuration(grid: Ptr, block: Ptr, shared: Ptr, stream: Ptr) -> Outcome {
    let c = pop()?;
    put(grid, &c.grid.bytes())?;
    put(block, &c.block.bytes())?;
    put(shared, &c.shared.to_ne_bytes())?;
    put(stream, &c.stream.to_ne_bytes())
}

/// Checks a launch's sizes against the limits of this thread's device.
fn check(grid: Dim3, block: Dim3) -> Outcome {
    let limit = |attribute| out(0_i32, |at| cuDeviceGetAttribute(at, attribute, device()));
    // Threads of a block; then block sizes and grid sizes in x, y, z.
    let threads = [block.x, block.y, block.z].iter().map(|&n| u64::from(n)).product::<u64>();
    if threads == 0 || threads > limit(1)? as u64 {
        return Err(Error::INVALID_CONFIGURATION);
    }
    for (attribute, size) in (2..).zip([block.x, block.y, block.z, grid.x, grid.y, grid.z]) {
        if size == 0 || i64::from(size) > i64::from(limit(attribute)?) {
            return Err(Error::INVALID_CONFIGURATION);
        }
    }
    Ok(())
}

/// Checks a launch, and returns its dynamic shared memory in bytes.
fn prepare(c: &Configuration) -> Outcome<u32> {
    check(c.grid, c.block)?;
    u32::try_from(c.shared).map_err(|_| Error::INVALID_VALUE)
}

/// Runs a launch. If it faults, the call still succeeds; the next call that waits returns the
/// fault. A context that has failed before refuses the launch.
fn begin(launch: impl FnOnce() -> Outcome) -> Outcome {
    // The cheapest call that returns the context's error without invalidating a stream capture.
    out(0_u32, |at| cuStreamGetFlags(0, at))?;
    match launch() {
        Err(error) if error.is_sticky() => Ok(()),
        end => end,
    }
}

/// Launches a kernel. The blocks of a cooperative launch can wait for each other, so all must fit
/// on the device at once.
pub(crate) fn kernel(host: Ptr, c: Configuration, args: Ptr, cooperative: bool) -> Outcome {
    context()?;
    let function = function(host)?;
    let shared = prepare(&c)?;
    let Configuration { grid: g, block: b, stream, .. } = c;
    begin(|| match cooperative {
        true => {
            cuLaunchCooperativeKernel(function, g.x, g.y, g.z, b.x, b.y, b.z, shared, stream, args)
        }
        false => cuLaunchKernel(function, g.x, g.y, g.z, b.x, b.y, b.z, shared, stream, args, 0),
    })
}

/// Launches a kernel as `cudaLaunchConfig_t` says: sizes, 64-bit shared memory at 24, stream,
/// attributes and their number.
pub(crate) fn configured(config: Ptr, host: Ptr, args: Ptr) -> Outcome {
    context()?;
    let s = structure(config, 56)?;
    let three = |o: usize| Dim3 { x: s.u32(o), y: s.u32(o + 4), z: s.u32(o + 8) };
    let c = Configuration {
        grid: three(0),
        block: three(12),
        shared: s.u64(24) as usize,
        stream: s.u64(32),
    };
    let function = function(host)?;
    let shared = prepare(&c)?;
    // `CUlaunchConfig` has the same layout, but 32 bits for shared memory.
    let mut driver = Block::new(56);
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    driver.set(0, pair(c.grid.x, c.grid.y));
    driver.set(8, pair(c.grid.z, c.block.x));
    driver.set(16, pair(c.block.y, c.block.z));
    driver.set(24, shared.into());
    driver.set(32, c.stream);
    driver.set(40, s.u64(40));
    driver.set(48, s.u32(48).into());
    begin(|| cuLaunchKernelEx(driver.at(), function, args, 0))
}
