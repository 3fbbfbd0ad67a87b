//! Statistics of runs, and reports.
//!
//! [`Counters`] observes a run. [`LaunchStats`] holds the counts of one launch and what identifies
//! it. [`METRICS`] is the only list of metrics: the text report, the JSON report, `statistic`
//! expectations and `docs/statistics.md` take names and definitions from it. A metric has the name
//! that NVIDIA's profilers give it, if they have it.

mod json;
mod text;

pub use engine::{Counters, PcSlots, PcTraffic};
pub use json::{JSON_SCHEMA_NAME, JSON_VERSION, to_json};
pub(crate) use json::{counters, slots, times_json};
pub use simt::counts::{Counts, METRICS, Metric, Traffic, Unit, metric};
pub use text::to_text;

use ir::Origin;
use simt::slots::LaneSlots;
use vm::PassCost;

use crate::divergence::ReconvergenceTimes;

/// The statistics of one launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchStats {
    /// The kernel's name.
    pub kernel: String,
    /// Size of the grid in x, y, z, in blocks.
    pub grid: [u64; 3],
    /// Size of a block in x, y, z, in threads.
    pub block: [u64; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u64,
    /// The engine that ran the launch: `exact` or `fast`; empty on machines with a single engine.
    pub engine: &'static str,
    /// The mechanism of the second run, if the launch hung under the requested one. All counts are
    /// those of the second run.
    pub retried: Option<&'static str>,
    /// How the launch ended: `done`, or the short name of its fault or hang.
    pub outcome: String,
    /// All counts, lane slots among them.
    pub counts: Counts,
    /// Vector issues by the number of active lanes in the issuing group; index 0 counts idle
    /// issues.
    pub active_lanes: Vec<u64>,
    /// Lane slots by instruction, on machines whose program counters are small and dense.
    pub by_pc: PcSlots,
    /// Most bits of state that the mechanism kept for one group; 0 if unknown.
    pub state_bits: u64,
    /// The cost of the code that a pass produced for the mechanism, if one did.
    pub code: Option<CodeCost>,
    /// Lane slots by source line, in line order; empty if the program has no line table.
    pub lines: Vec<LineSlots>,
    /// Counts that only this machine has, by name.
    pub own: Vec<(String, u64)>,
    /// Timeline in the Trace Event format, if one was requested. Not part of the reports.
    pub timeline: Vec<serde_json::Value>,
    /// Instructions that access global or shared memory, in program order.
    pub sites: Vec<AccessSite>,
}

impl LaunchStats {
    /// Creates the statistics of a launch from what its machine and an observer have counted.
    #[must_use]
    pub(crate) fn of(machine: &Counts, observed: Counters) -> Self {
        let Counters { counts, active_lanes, by_pc, .. } = observed;
        Self { counts: machine.with_events(&counts), active_lanes, by_pc, ..Self::default() }
    }
}

/// The cost of the code that a pass produced for a mechanism.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeCost {
    /// Static counts of the kernel and the functions it calls.
    pub pass: PassCost,
    /// Issues of inserted operations, in the order of [`INSERTED`].
    pub inserted: [u64; INSERTED.len()],
}

/// Reasons for which a pass inserts operations, with their names in reports.
pub const INSERTED: [(Origin, &str); 5] = [
    (Origin::Mask, "mask"),
    (Origin::Spill, "spill"),
    (Origin::Structure, "structure"),
    (Origin::Copy, "copy"),
    (Origin::Sync, "sync"),
];

impl CodeCost {
    /// Returns the issues of operations inserted for one reason.
    #[must_use]
    pub fn inserted(&self, origin: Origin) -> u64 {
        let counts = INSERTED.iter().zip(self.inserted);
        counts.filter(|((o, _), _)| *o == origin).map(|(_, count)| count).sum()
    }

    fn add(&mut self, other: &Self, new_code: bool) {
        for (sum, count) in self.inserted.iter_mut().zip(other.inserted) {
            *sum += count;
        }
        if !new_code {
            return;
        }
        let (sum, pass) = (&mut self.pass, &other.pass);
        sum.before += pass.before;
        sum.after += pass.after;
        sum.saved_masks += pass.saved_masks;
        if let Some(more) = pass.predicates {
            let sum = sum.predicates.get_or_insert_default();
            sum.needed = sum.needed.max(more.needed);
            sum.spilled += more.spilled;
            sum.stores += more.stores;
            sum.loads += more.loads;
        }
    }
}

/// The memory traffic of one line of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessSite {
    /// Line of the program's text, from 1.
    pub line: u32,
    /// File and line of the source, if the program has a line table.
    pub source: Option<(String, u32)>,
    /// The instruction's text.
    pub text: String,
    /// The traffic of its accesses.
    pub traffic: Traffic,
}

/// Lane slots of one source line.
#[derive(Clone, Debug, PartialEq)]
pub struct LineSlots {
    /// The source file's name.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The line's slots.
    pub slots: LaneSlots,
}

/// The statistics of a run: a sequence of launches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunStats {
    /// The machine's name.
    pub machine: String,
    /// The program, as the user named it.
    pub module: String,
    /// Convergence mechanism.
    pub mechanism: String,
    /// Width of an issue group in lanes.
    pub warp_size: u64,
    /// The seed of the run.
    pub seed: u64,
    /// The launches, in order.
    pub launches: Vec<LaunchStats>,
    /// How long lanes stayed divergent, if that was measured.
    pub times: Option<RunTimes>,
}

/// How long lanes stayed divergent in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTimes {
    /// By launch.
    pub launches: Vec<ReconvergenceTimes>,
    /// Over all launches.
    pub total: ReconvergenceTimes,
}

impl RunStats {
    /// Returns the sum over all launches; maxima are combined by maximum.
    #[must_use]
    pub fn total(&self) -> LaunchStats {
        let mut total = LaunchStats::default();
        let mut kernels: Vec<&str> = Vec::new();
        for launch in &self.launches {
            let new_code = !kernels.contains(&launch.kernel.as_str());
            if let Some(code) = &launch.code {
                total.code.get_or_insert_default().add(code, new_code);
            }
            kernels.push(&launch.kernel);
            total.state_bits = total.state_bits.max(launch.state_bits);
            total.counts.add(&launch.counts);
        }
        total
    }

    /// Returns a metric's value for one launch, or for all launches if `launch` is `None`. Returns
    /// `None` if there is no such metric or launch.
    #[must_use]
    pub fn value(&self, name: &str, launch: Option<usize>) -> Option<f64> {
        match launch {
            Some(index) => self.launches.get(index)?.counts.metric(name),
            None => self.total().counts.metric(name),
        }
    }
}
