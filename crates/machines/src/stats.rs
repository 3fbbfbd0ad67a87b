//! The statistics of a launch.

use engine::{Counters, PcSlots};
use ir::Origin;
use simt::counts::{Counts, Traffic};
use simt::slots::LaneSlots;
use vm::PassCost;

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
    /// Further texts that were requested, by the name of the option. Not part of the reports.
    pub texts: Vec<(&'static str, String)>,
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

impl LaunchStats {
    /// Returns the lanes that executed lane-wise operations on masks alone, such as comparisons
    /// whose result is a predicate, on machines that tell; on others such operations are issued
    /// once for all lanes.
    #[must_use]
    pub fn mask_lanes(&self) -> u64 {
        let own = self.own.iter().find(|(name, _)| name == "comparing_lanes");
        own.map_or(0, |(_, count)| *count)
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

    /// Adds the cost of another launch; `new_code` tells whether its kernel is not counted yet.
    pub fn add(&mut self, other: &Self, new_code: bool) {
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
