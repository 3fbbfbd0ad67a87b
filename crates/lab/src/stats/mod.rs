//! What a run cost: counters, the metrics derived from them, and reports.
//!
//! [`Counters`] observes a run; [`LaunchStats`] holds the counts of one launch with what identifies it; [`METRICS`] is the one
//! list of metrics, from which the text report, the JSON report, `statistic` expectations and `docs/statistics.md` all
//! take their names and definitions. Metric names are those of NVIDIA's profilers where they have one.

mod json;
mod metrics;
#[cfg(test)]
mod tests;
mod text;

pub use engine::{Counters, Line, PcSlots, PcTraffic, Traffic};
pub(crate) use json::times_json;
pub use json::{JSON_SCHEMA_NAME, JSON_VERSION, to_json};
pub use metrics::{METRICS, Metric, Unit, metric};
pub use text::to_text;

use converge::Charges;
use ir::Origin;
use simt::slots::LaneSlots;
use vm::PassCost;

use crate::divergence::Times;

/// The statistics of one launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchStats {
    /// The kernel's name.
    pub kernel: String,
    /// Blocks in x, y, z.
    pub grid: [u64; 3],
    /// Threads of a block in x, y, z.
    pub block: [u64; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u64,
    /// Which engine ran it: `exact` or `fast`; empty on machines that have one alone.
    pub engine: &'static str,
    /// The mechanism under which it ran again, having come to hang under the one asked for; all
    /// counts are of this second run.
    pub retried: Option<&'static str>,
    /// How the launch ended: `done`, or the short name of its fault or hang.
    pub outcome: String,
    /// Lane slots.
    pub slots: LaneSlots,
    /// Everything else that was counted.
    pub counters: Counters,
    /// Basic blocks begun by groups; 0 on machines without basic blocks.
    pub block_issues: u64,
    /// Threads launched.
    pub threads: u64,
    /// What the convergence mechanisms did.
    pub charges: Charges,
    /// Bits that the mechanism keeps for a group at its greatest depth; 0 where that is not known.
    pub state_bits: u64,
    /// What a pass made of the code for the mechanism, if one did.
    pub code: Option<CodeCost>,
    /// Lane slots by source line, in the order of lines; empty where the program has no line table.
    pub lines: Vec<LineSlots>,
    /// Cycles, on machines that have them.
    pub cycles: u64,
    /// What only this machine counts, by name.
    pub own: Vec<(String, u64)>,
    /// Events of a timeline in the Trace Event format, if one was asked for. Not part of the reports.
    pub timeline: Vec<serde_json::Value>,
    /// Instructions that access global or shared memory, in the order of the program.
    pub sites: Vec<AccessSite>,
}

/// What a pass made of the code for a mechanism.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeCost {
    /// In the code, of the kernel and what it calls.
    pub pass: PassCost,
    /// Issues of what the pass inserted, in the order of [`INSERTED`].
    pub inserted: [u64; INSERTED.len()],
}

/// Why a pass inserts operations, with the names that reports use.
pub const INSERTED: [(Origin, &str); 5] = [
    (Origin::Mask, "mask"),
    (Origin::Spill, "spill"),
    (Origin::Structure, "structure"),
    (Origin::Copy, "copy"),
    (Origin::Sync, "sync"),
];

impl CodeCost {
    /// Issues of what was inserted for one reason.
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

/// What the accesses of one line of the program came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessSite {
    /// Line of the program's text, from 1.
    pub line: u32,
    /// File and line of the source behind it, where the program has a line table.
    pub source: Option<(String, u32)>,
    /// The instruction's text.
    pub text: String,
    /// Requests, sectors, passes.
    pub traffic: Traffic,
}

/// Lane slots of one source line.
#[derive(Clone, Debug, PartialEq)]
pub struct LineSlots {
    /// The source file's name.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// Its slots.
    pub slots: LaneSlots,
}

/// The statistics of a run: one launch after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunStats {
    /// The machine's name.
    pub machine: String,
    /// The program, as the user named it.
    pub module: String,
    /// Convergence mechanism.
    pub mechanism: String,
    /// Lanes of an issue group.
    pub warp_size: u64,
    /// The seed.
    pub seed: u64,
    /// The launches, in order.
    pub launches: Vec<LaunchStats>,
    /// How long lanes stayed apart, if that was measured.
    pub times: Option<RunTimes>,
}

/// How long lanes stayed apart in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTimes {
    /// In each launch.
    pub launches: Vec<Times>,
    /// In all of them.
    pub total: Times,
}

impl RunStats {
    /// All launches together: counts add up, maxima are maxima.
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
            total.slots.add(&launch.slots);
            total.counters.add(&launch.counters);
            total.charges.add(&launch.charges);
            total.block_issues += launch.block_issues;
            total.threads += launch.threads;
            total.cycles += launch.cycles;
        }
        total
    }

    /// Value of a metric, of one launch or of all together; none if there is no such metric or launch.
    #[must_use]
    pub fn value(&self, name: &str, launch: Option<usize>) -> Option<f64> {
        let metric = metric(name)?;
        match launch {
            Some(index) => self.launches.get(index).map(|l| (metric.value)(l)),
            None => Some((metric.value)(&self.total())),
        }
    }
}
