//! The list of metrics.

use simt::slots::SlotCause;

use super::LaunchStats;

/// The kind of value of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// An integer, in the unit that the definition names.
    Count,
    /// An average, in the unit that the definition names.
    Mean,
    /// Percent of a whole.
    Percent,
}

impl Unit {
    /// Returns the unit's name in the JSON report's documentation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Mean => "mean",
            Self::Percent => "percent",
        }
    }
}

/// A metric.
#[derive(Clone, Copy)]
pub struct Metric {
    /// The name in all reports and expectations.
    pub name: &'static str,
    /// The kind of its value.
    pub unit: Unit,
    /// What it counts, or the formula that computes it.
    pub definition: &'static str,
    /// Computes the value for a launch or a sum of launches. 0 if there is nothing to count or to
    /// divide by, unless the definition says otherwise.
    pub value: fn(&LaunchStats) -> f64,
}

impl Metric {
    /// Compares a value with an expected one. Counts have to be equal; means and percentages may
    /// differ by 0.005, the precision of a report's two decimals.
    #[must_use]
    pub fn equals(&self, value: f64, expected: f64) -> bool {
        match self.unit {
            Unit::Count => value == expected,
            Unit::Mean | Unit::Percent => (value - expected).abs() <= 0.005 + 1e-9,
        }
    }
}

impl std::fmt::Debug for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metric").field("name", &self.name).field("unit", &self.unit).finish()
    }
}

/// Returns the metric of this name.
#[must_use]
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|m| m.name == name)
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Percentage of branches that did not diverge; 100 without branches.
fn branch_efficiency(l: &LaunchStats) -> f64 {
    let c = &l.counters;
    if c.branches == 0 {
        100.0
    } else {
        100.0 * ratio(c.branches - c.divergent_branches, c.branches)
    }
}

macro_rules! metrics {
    ($($name:literal $unit:ident $definition:literal $value:expr;)*) => {
        /// All metrics, in the order of reports.
        pub const METRICS: &[Metric] = &[
            $(Metric { name: $name, unit: Unit::$unit, definition: $definition, value: $value },)*
        ];
    };
}

metrics! {
    "inst_executed" Count "Instructions issued by groups (warps): vector and uniform ones."
        |l| l.slots.issues() as f64;
    "vector_issues" Count "Lane-wise instructions issued, idle issues included."
        |l| l.slots.vector_issues as f64;
    "uniform_issues" Count "Scalar instructions issued, each of width 1."
        |l| l.slots.uniform_issues as f64;
    "idle_issues" Count "Vector issues with no lane in the issuing group."
        |l| l.slots.idle_issues as f64;
    "block_issues" Count "Basic blocks begun by a group; 0 on machines without basic blocks."
        |l| l.block_issues as f64;
    "thread_inst_executed" Count "Lanes in the issuing groups, summed over vector issues."
        |l| l.slots.active() as f64;
    "thread_inst_pred_on" Count "As thread_inst_executed, without lanes that a guard or mask turned off."
        |l| l.slots.of(SlotCause::On) as f64;
    "avg_active_threads" Mean "thread_inst_executed / vector_issues, in lanes."
        |l| ratio(l.slots.active(), l.slots.vector_issues);
    "avg_pred_on_threads" Mean "thread_inst_pred_on / vector_issues, in lanes."
        |l| ratio(l.slots.of(SlotCause::On), l.slots.vector_issues);
    "warp_execution_efficiency" Percent "thread_inst_executed / lane_slots: SIMD efficiency."
        |l| 100.0 * l.slots.execution_efficiency();
    "warp_nonpred_execution_efficiency" Percent "thread_inst_pred_on / lane_slots."
        |l| 100.0 * l.slots.nonpred_efficiency();
    "branches" Count "Branch instructions issued."
        |l| l.counters.branches as f64;
    "divergent_branches" Count "Branch issues whose lanes went to more than one place."
        |l| l.counters.divergent_branches as f64;
    "branch_efficiency" Percent "(branches - divergent_branches) / branches; 100 without branches."
        branch_efficiency;
    "divergent_paths" Count "Distinct next places of divergent branches, summed."
        |l| l.counters.divergent_targets as f64;
    "average_divergence_rate" Percent "divergent_branches / branches; 0 without branches."
        |l| 100.0 - branch_efficiency(l);
    "branch_targets" Count "Distinct next places, summed over branch issues."
        |l| l.counters.branch_targets as f64;
    "max_depth" Count "Most paths or stack entries of one group at once, whichever the mechanism keeps."
        |l| l.counters.max_depth.max(u64::from(l.charges.max_depth)) as f64;
    "max_divergence_depth" Count "Most paths of one group at an issue beyond its first; 0 for a run that never diverges."
        |l| l.counters.max_depth.saturating_sub(1) as f64;
    "mean_depth" Mean "Paths that the group held, averaged over issues."
        |l| ratio(l.counters.depth_sum, l.counters.depth_issues);
    "lane_slots" Count "Sum of the widths of all vector issues: the whole that the six causes divide."
        |l| l.slots.width as f64;
    "slots_on" Count "Lane slots whose lane executed the instruction."
        |l| l.slots.of(SlotCause::On) as f64;
    "slots_predicated_off" Count "Lane slots in the issuing group, turned off by a guard or mask."
        |l| l.slots.of(SlotCause::PredicatedOff) as f64;
    "slots_masked_off" Count "Of slots_predicated_off: turned off by the machine's mask rather than a guard."
        |l| l.slots.masked_off as f64;
    "slots_diverged" Count "Lane slots whose lane was on another path."
        |l| l.slots.of(SlotCause::Diverged) as f64;
    "slots_waiting" Count "Lane slots whose lane waited at a barrier or a collective."
        |l| l.slots.of(SlotCause::Waiting) as f64;
    "slots_exited" Count "Lane slots whose thread had ended."
        |l| l.slots.of(SlotCause::Exited) as f64;
    "slots_never_launched" Count "Lane slots beyond the block's last thread."
        |l| l.slots.of(SlotCause::NeverLaunched) as f64;
    "loads" Count "Load instructions issued with a lane on."
        |l| l.counters.loads as f64;
    "stores" Count "Store instructions issued with a lane on."
        |l| l.counters.stores as f64;
    "atomics" Count "Atomic instructions issued with a lane on."
        |l| l.counters.atomics as f64;
    "global_requests" Count "Accesses to global memory issued by groups with a lane on: loads, stores, atomics."
        |l| l.counters.traffic.global_requests as f64;
    "global_sectors" Count "Sectors of 32 bytes that they touched, each counted once a request."
        |l| l.counters.traffic.global_sectors as f64;
    "sectors_per_request" Mean "global_sectors / global_requests."
        |l| ratio(l.counters.traffic.global_sectors, l.counters.traffic.global_requests);
    "global_efficiency" Percent "Bytes that lanes asked for, each counted once a request, over 32 global_sectors."
        |l| 100.0 * ratio(l.counters.traffic.global_bytes, 32 * l.counters.traffic.global_sectors);
    "shared_requests" Count "Accesses to shared memory issued by groups with a lane on."
        |l| l.counters.traffic.shared_requests as f64;
    "shared_passes" Count "Passes over the 32 banks of 4 bytes that they took."
        |l| l.counters.traffic.shared_passes as f64;
    "bank_conflicts" Count "Of shared_passes: those needed only because lanes met in a bank."
        |l| l.counters.traffic.bank_conflicts as f64;
    "barrier_arrivals" Count "Arrivals of groups at block-wide barriers."
        |l| l.counters.barrier_arrivals as f64;
    "collectives" Count "Warp-wide collectives completed: votes, shuffles, matches, reductions, warp barriers."
        |l| l.counters.collectives as f64;
    "fences" Count "Memory fences issued."
        |l| l.counters.fences as f64;
    "ctas" Count "Blocks completed."
        |l| l.counters.ctas as f64;
    "threads" Count "Threads launched."
        |l| l.threads as f64;
    "cycles" Count "Cycles, on machines that have them; else 0."
        |l| l.cycles as f64;
    "splits" Count "Branches, calls and returns that made more than one path of one."
        |l| l.charges.splits as f64;
    "merges" Count "Times that two paths became one."
        |l| l.charges.merges as f64;
    "pushes" Count "Entries that the mechanism put on a stack, list or table."
        |l| l.charges.pushes as f64;
    "pops" Count "Entries that the mechanism took off."
        |l| l.charges.pops as f64;
    "visits" Count "Entries that the mechanism looked at in a search."
        |l| l.charges.visits as f64;
    "switches" Count "Times that the mechanism went to another path without a split or merge."
        |l| l.charges.switches as f64;
    "unsound_splits" Count "Splits that the mechanism expected to meet where not all ways from the branch come by (`basic`)."
        |l| l.charges.unsound as f64;
    "predicated_regions" Count "Branches run as predicated code (`predicated-stack`)."
        |l| l.charges.predicated as f64;
}
