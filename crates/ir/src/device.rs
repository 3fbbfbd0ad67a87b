//! What CUDA devices can hold, by compute capability: the one table that checks, launches and
//! device attributes read.
//!
//! Sources: CUDA C++ Programming Guide 13.0, "Compute Capabilities", the table "Technical
//! Specifications per Compute Capability"; for parameters PTX ISA 9.1, `.entry`. Capabilities below
//! 5.0 have left CUDA and are not in the table.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Multiprocessors of the device that launches run on.
pub const MULTIPROCESSORS: u32 = 16;
/// Most threads of a block.
pub const MAX_THREADS: u32 = 1024;
/// Most threads of a block in x, y, z.
pub const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Most blocks of a grid in x, y, z.
pub const MAX_GRID: [u32; 3] = [0x7fff_ffff, 0xffff, 0xffff];
/// Most bytes of the shared variables of a block whose size is fixed.
pub const STATIC_SHARED: u64 = 48 << 10;
/// Most bytes of constant variables.
pub const CONSTANT: u64 = 64 << 10;
/// Most bytes of a thread's local variables.
pub const LOCAL: u64 = 512 << 10;

/// Most bytes of a kernel's parameters, in a text of a version of PTX for a target such as 80 (of
/// `sm_80`).
#[must_use]
pub const fn parameter_bytes(version: (u32, u32), sm: u32) -> u64 {
    let recent = version.0 > 8 || (version.0 == 8 && version.1 >= 1);
    if recent && sm >= 70 { 32_764 } else { 4352 }
}

/// A compute capability: `9.0` is 9 and 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Capability {
    /// Before the dot.
    pub major: u32,
    /// Behind the dot: one digit.
    pub minor: u32,
}

impl Capability {
    /// The capability of a target's number: `sm_103` is 10.3.
    #[must_use]
    pub const fn of_target(sm: u32) -> Self {
        Self { major: sm / 10, minor: sm % 10 }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A text that is not a compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a compute capability is two numbers such as 8.0")]
pub struct NoCapability;

impl FromStr for Capability {
    type Err = NoCapability;

    fn from_str(text: &str) -> Result<Self, NoCapability> {
        let (major, minor) = text.trim().split_once('.').ok_or(NoCapability)?;
        let number = |digits: &str| digits.parse::<u32>().map_err(|_| NoCapability);
        let (major, minor) = (number(major)?, number(minor)?);
        let possible = (1..=99).contains(&major) && minor <= 9;
        if possible { Ok(Self { major, minor }) } else { Err(NoCapability) }
    }
}

/// What the devices of a compute capability hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// The first capability of which this holds.
    pub capability: Capability,
    /// Bytes of shared memory of a multiprocessor.
    pub shared: u64,
    /// Most bytes of shared memory of a block, static and dynamic, for kernels that ask for more
    /// than [`STATIC_SHARED`].
    pub shared_opt_in: u64,
    /// Bytes of shared memory that the system keeps of each block.
    pub shared_reserved: u64,
    /// Threads that a multiprocessor holds.
    pub threads: u32,
    /// Blocks that a multiprocessor holds.
    pub blocks: u32,
}

const fn row(
    (major, minor): (u32, u32),
    [shared, opt_in, reserved]: [u64; 3],
    threads: u32,
    blocks: u32,
) -> Device {
    Device {
        capability: Capability { major, minor },
        shared: shared << 10,
        shared_opt_in: opt_in << 10,
        shared_reserved: reserved << 10,
        threads,
        blocks,
    }
}

/// By capability. Shared memory in KiB: of a multiprocessor, of a block, kept of each block; then
/// threads and blocks of a multiprocessor.
#[rustfmt::skip]
const DEVICES: [Device; 17] = [
    row((5, 0),  [ 64,  48, 0], 2048, 32),
    row((5, 2),  [ 96,  48, 0], 2048, 32),
    row((5, 3),  [ 64,  48, 0], 2048, 32),
    row((6, 0),  [ 64,  48, 0], 2048, 32),
    row((6, 1),  [ 96,  48, 0], 2048, 32),
    row((6, 2),  [ 64,  48, 0], 2048, 32),
    row((7, 0),  [ 96,  96, 0], 2048, 32),
    row((7, 5),  [ 64,  64, 0], 1024, 16),
    row((8, 0),  [164, 163, 1], 2048, 32),
    row((8, 6),  [100,  99, 1], 1536, 16),
    row((8, 7),  [164, 163, 1], 1536, 16),
    row((8, 8),  [100,  99, 1], 1536, 16),
    row((8, 9),  [100,  99, 1], 1536, 24),
    row((9, 0),  [228, 227, 1], 2048, 32),
    row((10, 0), [228, 227, 1], 2048, 32),
    row((11, 0), [228, 227, 1], 1536, 24),
    row((12, 0), [100,  99, 1], 1536, 24),
];

impl Device {
    /// The devices of a capability; of one that is not in the table, those of the last before it,
    /// or the first.
    #[must_use]
    pub fn of(capability: Capability) -> &'static Self {
        let at = DEVICES.partition_point(|d| d.capability <= capability);
        &DEVICES[at.saturating_sub(1)]
    }

    /// Bytes in which shared memory is allocated (PTX ISA 9.1, `%total_smem_size`).
    #[must_use]
    pub fn shared_unit(&self) -> u64 {
        if self.capability < (Capability { major: 8, minor: 0 }) { 256 } else { 128 }
    }

    /// Blocks of so many threads, each with so many bytes of shared memory, that a multiprocessor
    /// holds. Threads take whole warps.
    #[must_use]
    pub fn blocks_of(&self, threads: u32, shared: u64) -> u32 {
        if shared > self.shared_opt_in {
            return 0;
        }
        let by_threads = self.threads / threads.max(1).next_multiple_of(32);
        let by_shared = self.shared.checked_div(shared + self.shared_reserved);
        let by_shared = by_shared.and_then(|blocks| u32::try_from(blocks).ok());
        self.blocks.min(by_threads).min(by_shared.unwrap_or(u32::MAX))
    }

    /// Blocks that are resident on all multiprocessors: one on each at least, even if its size is
    /// beyond the device's limits.
    #[must_use]
    pub fn resident_blocks(&self, threads: u32, shared: u64) -> u32 {
        MULTIPROCESSORS * self.blocks_of(threads, shared).max(1)
    }
}

/// Whose limits hold for a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Limits {
    /// Those of the devices of the program's own target.
    #[default]
    OfTarget,
    /// Those of the devices of a capability.
    Of(Capability),
    /// None: only what the machine here can hold.
    None,
}

impl Limits {
    /// The device whose limits hold for a program with a target; none if there are no limits.
    #[must_use]
    pub fn device(self, target: Option<Capability>) -> Option<&'static Device> {
        let capability = match self {
            Self::OfTarget => target?,
            Self::Of(capability) => capability,
            Self::None => return None,
        };
        Some(Device::of(capability))
    }
}

impl FromStr for Limits {
    type Err = NoCapability;

    /// `target`, `none`, or a capability.
    fn from_str(text: &str) -> Result<Self, NoCapability> {
        match text {
            "target" => Ok(Self::OfTarget),
            "none" => Ok(Self::None),
            _ => text.parse().map(Self::Of),
        }
    }
}
