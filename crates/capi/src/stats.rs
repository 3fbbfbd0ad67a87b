//! The statistics of a launch as C programs see them. Made from `runtime::LaunchTotals` by a test
//! (`SIMTLAB_BLESS=1` writes it anew); do not edit.

/// What a launch did.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct simtlab_stats {
    /// Blocks run.
    pub blocks: u64,
    /// Threads run.
    pub threads: u64,
    /// Instructions issued to warps.
    pub issues: u64,
    /// Instructions executed by lanes.
    pub lane_instructions: u64,
    /// Lane slots of all issues: issues times 32.
    pub lane_slots: u64,
    /// Branches issued.
    pub branches: u64,
    /// Branches whose lanes went to different places.
    pub divergent_branches: u64,
    /// Memory instructions issued.
    pub memory_instructions: u64,
    /// Block barriers completed.
    pub barriers: u64,
    /// Nanoseconds it took.
    pub nanoseconds: u64,
    /// 1 if the fast engine ran it, 0 if the exact one did.
    pub fast: u32,
}
