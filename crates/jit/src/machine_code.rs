//! Machine code before it is placed in memory, and what its host has to know of it.

use crate::access_groups::AccessGroup;
use crate::histograms::IssueCells;
use crate::layout::LayoutSite;
use crate::pool::PoolRow;
use crate::screen_log::{ExemptSite, LogSite};
use vector::{BlockCounts, Home};

/// Machine code, with offsets of its places.
pub(crate) struct MachineCode {
    pub(crate) bytes: Vec<u8>,
    pub(crate) pool: Box<[PoolRow]>,
    pub(crate) entries: Entries,
    pub(crate) facts: Facts,
}

/// Where code begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entries {
    /// The code goes from warp to warp: the offsets of the entry point, and of the code that takes
    /// a warp: the first of a visit, one at the kernel's entry, one that continues.
    #[cfg(target_arch = "x86_64")]
    Visit { enter: u32, first: u32, fresh: u32, again: u32 },
    /// The code is a function that runs the turn of one warp: its offset.
    #[cfg(any(target_arch = "aarch64", feature = "cranelift"))]
    Turn(u32),
}

/// What the host has to know of a kernel's code.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The block of each step.
    pub(crate) block_of: Vec<u32>,
    /// Steps that always call the interpreter.
    pub(crate) interpreted: Vec<u32>,
    /// Steps that read special registers into scalars, in the frame's order.
    pub(crate) sregs: Vec<u32>,
    /// Steps that read special registers that differ by lane into rows, in the contexts' order.
    pub(crate) sreg_rows: Vec<u32>,
    /// Steps that keep the region of their last global access, in the frame's order, which need not
    /// be the steps' order.
    pub(crate) region_steps: Vec<u32>,
    /// Rows of addresses whose layouts are kept.
    pub(crate) layout_sites: Vec<LayoutSite>,
    /// Bytes of a warp's seat.
    pub(crate) seat_bytes: usize,
    /// Counts of an execution, by counter of blocks.
    pub(crate) block_counts: Vec<BlockCounts>,
    /// Points where warps stand between turns.
    pub(crate) resume_points: Vec<ResumePoint>,
    /// Places where launches in detail count issues.
    pub(crate) issue_cells: Vec<IssueCells>,
    /// Accesses that launches in detail count together.
    pub(crate) access_groups: Vec<AccessGroup>,
    /// Places where screened launches log accesses.
    pub(crate) log_sites: Vec<LogSite>,
    /// The accesses of each cell that tells which of them are exempt.
    pub(crate) exempt_sites: Vec<ExemptSite>,
}

/// A point where warps stand between turns.
#[derive(Debug)]
pub(crate) struct ResumePoint {
    /// The barrier after which the warp continues; `None` if it continues at the beginning of a
    /// block.
    pub(crate) after: Option<u32>,
    /// Where values are that the interpreter may ask for.
    pub(crate) kept: Vec<(Home, KeptAt)>,
}

/// Where a value is while its warp stands between turns.
#[derive(Clone, Debug)]
pub(crate) enum KeptAt {
    /// It is a constant in all lanes.
    Const(u64),
    /// Offsets in the seat of its vectors, or halves of a mask, or of the scalar.
    Seat(Vec<i64>),
}
