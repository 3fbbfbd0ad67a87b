//! The parameters of a launch, constant while it runs.

use crate::code::Code;
use crate::row::{Narrow, Wide};
use converge::mechanism::Order;
use ir::Sreg;
use products::Level;
use simt::matrix::MatrixSums;
use std::ops::Range;
use vm::{Clusters, Counts, Setup, SharedLayout, WARP_SIZE};

/// CTAs that need at least this many bytes of host memory are probed before the launch begins: an
/// allocation that fails later would abort the process.
const PROBE_BYTES: usize = 16 << 20;

/// An estimate of the bytes that a worker allocates for each warp.
const WARP_OVERHEAD: usize = 2 << 10;

/// The parameters of a launch, constant while it runs.
pub(crate) struct Context<'c> {
    pub(crate) code: &'c Code,
    /// The vector instructions of the interpreter.
    pub(crate) level: Level,
    /// Those of products of warp groups.
    pub(crate) products: Level,
    /// How the products of matrices of floats are added.
    pub(crate) matrix_sums: MatrixSums,
    pub(crate) params: Vec<u8>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) threads: u32,
    pub(crate) total: u64,
    /// CTAs resident at first, and at most.
    pub(crate) resident: usize,
    pub(crate) most_resident: usize,
    pub(crate) shared: SharedLayout,
    /// Bytes of its variables, if others lie between them; else nothing.
    pub(crate) variables: Vec<Range<u64>>,
    pub(crate) workspace: u64,
    pub(crate) clusters: Clusters,
    /// CTAs of a cluster: slots of resident CTAs that follow each other.
    pub(crate) cluster_size: usize,
    pub(crate) order: Option<Order>,
    pub(crate) limit: u64,
    /// Statistics of the CTAs that ended before this engine took over.
    pub(crate) done: Counts,
    /// Bytes that the launch may still print.
    pub(crate) output_room: usize,
}

impl<'c> Context<'c> {
    pub(crate) fn new(code: &'c Code, setup: &Setup<'_>, level: Level) -> Self {
        Self {
            code,
            level,
            products: Level::best(),
            matrix_sums: setup.matrix_sums,
            params: setup.params.clone(),
            grid: setup.grid,
            block: setup.block,
            threads: setup.threads,
            total: setup.total,
            resident: setup.resident,
            most_resident: setup.most_resident,
            shared: setup.shared,
            variables: variables(setup),
            workspace: setup.workspace,
            clusters: setup.clusters,
            cluster_size: setup.clusters.size().max(1) as usize,
            order: setup.knobs.order,
            limit: setup.limit,
            done: setup.done,
            output_room: setup.output_room,
        }
    }

    /// Checks whether the host has memory for this many resident CTAs.
    pub(crate) fn fits(&self, ctas: usize) -> bool {
        // Small amounts are not probed.
        self.is_small(ctas) || Vec::<u8>::new().try_reserve_exact(self.bytes(ctas)).is_ok()
    }

    /// Returns whether so many resident CTAs take little memory, which the host always has.
    pub(crate) fn is_small(&self, ctas: usize) -> bool {
        self.bytes(ctas) < PROBE_BYTES
    }

    /// Returns whether bytes of shared memory lie in one of the variables.
    pub(crate) fn is_in_variable(&self, start: u64, end: u64) -> bool {
        let inside = |bytes: &Range<u64>| start >= bytes.start && end <= bytes.end;
        start >= self.shared.own || self.variables.iter().any(inside)
    }

    /// Returns the bytes of shared memory around some that lie in a variable, or that are not
    /// guarded; `None` if those lie in several.
    pub(crate) fn variable_around(&self, bytes: Range<u64>) -> Option<Range<u64>> {
        let whole = 0..self.shared.bytes();
        if self.variables.is_empty() {
            return Some(whole);
        }
        let own = self.shared.own..whole.end;
        let around = |all: &&Range<u64>| bytes.start >= all.start && bytes.end <= all.end;
        self.variables.iter().chain([&own]).find(around).cloned()
    }

    /// Estimates the host memory of so many resident CTAs.
    fn bytes(&self, ctas: usize) -> usize {
        let code = self.code;
        let rows =
            size_of::<Narrow>() * code.narrow as usize + size_of::<Wide>() * code.wide as usize;
        let warp = rows + 4 * code.preds as usize + 8 * code.scalars as usize + WARP_OVERHEAD;
        let warps = self.threads.div_ceil(WARP_SIZE) as usize;
        let local = code.local_bytes.saturating_mul(self.threads as usize);
        let cta = warp.saturating_mul(warps).saturating_add(local);
        cta.saturating_add(self.shared.bytes() as usize).saturating_mul(ctas)
    }

    /// Returns a special register of a thread of a CTA.
    pub(crate) fn sreg(&self, reg: Sreg, cta: [u32; 3], slot: usize, thread: u32) -> u64 {
        let tid = || unrank(thread.into(), self.block);
        let lane = thread % WARP_SIZE;
        let own = 1u32 << lane;
        match reg {
            // Most CTAs are one-dimensional.
            Sreg::TidX if self.block[1] == 1 && self.block[2] == 1 => thread.into(),
            Sreg::TidX => tid()[0].into(),
            Sreg::TidY => tid()[1].into(),
            Sreg::TidZ => tid()[2].into(),
            Sreg::NtidX => self.block[0].into(),
            Sreg::NtidY => self.block[1].into(),
            Sreg::NtidZ => self.block[2].into(),
            Sreg::CtaidX => cta[0].into(),
            Sreg::CtaidY => cta[1].into(),
            Sreg::CtaidZ => cta[2].into(),
            Sreg::NctaidX => self.grid[0].into(),
            Sreg::NctaidY => self.grid[1].into(),
            Sreg::NctaidZ => self.grid[2].into(),
            Sreg::LaneId => lane.into(),
            Sreg::WarpId => u64::from(thread / WARP_SIZE),
            Sreg::NWarpId => self.threads.div_ceil(WARP_SIZE).into(),
            Sreg::SmId => slot as u64,
            Sreg::NSmId => self.most_resident as u64,
            Sreg::LaneMaskEq => own.into(),
            Sreg::LaneMaskLt => (own - 1).into(),
            Sreg::LaneMaskLe => ((own - 1) | own).into(),
            Sreg::LaneMaskGe => (!(own - 1)).into(),
            Sreg::LaneMaskGt => (!((own - 1) | own)).into(),
            Sreg::EnvReg1 => self.workspace >> 32,
            Sreg::EnvReg2 => self.workspace & u64::from(u32::MAX),
            // Clocks are steps of their own; `%gridid` is 0.
            _ => {
                let rank = (slot % self.cluster_size) as u32;
                let of_cluster = self.clusters.sreg(reg, self.grid, cta, rank);
                of_cluster.map_or_else(|| self.shared.sreg(reg).unwrap_or(0), u64::from)
            }
        }
    }
}

/// Returns the bytes of shared variables with bytes between them.
fn variables(setup: &Setup<'_>) -> Vec<Range<u64>> {
    match setup.shared.guards {
        0 => Vec::new(),
        _ => setup.shared_names.iter().map(|name| name.offset..name.offset + name.len).collect(),
    }
}

/// Returns the coordinates of the `index`-th element of a box, x fastest.
pub(crate) fn unrank(index: u64, size: [u32; 3]) -> [u32; 3] {
    if size[1] == 1 && size[2] == 1 {
        return [index as u32, 0, 0];
    }
    let (x, y) = (u64::from(size[0]), u64::from(size[1]));
    [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32]
}
