//! Counts of launches: their one declaration.
//!
//! Each counter is one row below. The row yields the field, its sum over launches, the metric of
//! reports with its name and definition, and by that JSON, schemas, pages and the Python package;
//! what remains is the place that counts. Lane slots are counted by [`LaneSlots`].
//!
//! All counts are exact. What a launch issues is counted by its machine, in every launch. What
//! shows in events ([`crate::observe`]) is counted by an observer, if a launch is observed:
//! [`Counts::with_events`] puts both together.

mod declare;
mod metric;

pub use metric::{Counter, METRICS, Metric, Unit, metric};

use crate::slots::{LaneSlots, SlotCause, ratio};
use declare::counters;
use metric::Value;

counters! {
    /// The memory traffic of one instruction, or of several.
    pub struct Traffic {
        /// Requests to global memory.
        event sum global_requests
            = "Accesses to global memory issued by groups with a lane on: loads, stores, atomics.";
        /// Sectors of 32 bytes that they touched.
        event sum global_sectors
            = "Sectors of 32 bytes that they touched, each counted once a request.";
            => sectors_per_request Mean "global_sectors / global_requests."
                |t| ratio(t.global_sectors, t.global_requests);
        /// Bytes asked for, each counted once a request.
        event sum global_bytes;
            => global_efficiency Percent
                "Bytes that lanes asked for, each counted once a request, over 32 global_sectors."
                |t| 100.0 * ratio(t.global_bytes, SECTOR * t.global_sectors);
        /// Requests to shared memory.
        event sum shared_requests
            = "Accesses to shared memory issued by groups with a lane on.";
        /// Passes over the banks that they took.
        event sum shared_passes = "Passes over the 32 banks of 4 bytes that they took.";
        /// Passes needed only because lanes met in a bank.
        event sum bank_conflicts
            = "Of shared_passes: those needed only because lanes met in a bank.";
    }

    /// Operations of a convergence mechanism.
    pub struct Charges {
        machine sum splits = "Branches, calls and returns that made more than one path of one.";
        machine sum merges = "Times that two paths became one.";
        machine sum pushes = "Entries that the mechanism put on a stack, list or table.";
        machine sum pops = "Entries that the mechanism took off.";
        machine sum visits = "Entries that the mechanism looked at in a search.";
        machine sum switches
            = "Times that the mechanism went to another path without a split or merge.";
        /// Most live paths or stack entries at once, whichever the mechanism keeps.
        machine max max_depth;
        machine sum unsound_splits
            = "Splits that the mechanism expected to meet where not all ways from the branch come \
                by (`basic`).";
        machine sum predicated_regions
            = "Branches run as predicated code (`predicated-stack`).";
    }

    /// The counts of one launch, or of several.
    pub struct Counts {
        /// Where the lanes of every issue went.
        machine part slots: LaneSlots;
            => inst_executed Count "Instructions issued by groups (warps): vector and uniform ones."
                |c| c.slots.issues();
            => vector_issues Count "Lane-wise instructions issued, idle issues included."
                |c| c.slots.vector_issues;
            => uniform_issues Count "Scalar instructions issued, each of width 1."
                |c| c.slots.uniform_issues;
            => idle_issues Count "Vector issues with no lane in the issuing group."
                |c| c.slots.idle_issues;
        machine sum block_issues
            = "Basic blocks begun by a group; 0 on machines without basic blocks.";
            => thread_inst_executed Count "Lanes in the issuing groups, summed over vector issues."
                |c| c.slots.active();
            => thread_inst_pred_on Count
                "As thread_inst_executed, without lanes that a guard or mask turned off, and those \
                of branches, returns and exits whose guard does not hold."
                |c| c.pred_on();
            => avg_active_threads Mean "thread_inst_executed / vector_issues, in lanes."
                |c| ratio(c.slots.active(), c.slots.vector_issues);
            => avg_pred_on_threads Mean "thread_inst_pred_on / vector_issues, in lanes."
                |c| ratio(c.pred_on(), c.slots.vector_issues);
            => warp_execution_efficiency Percent
                "thread_inst_executed / lane_slots: SIMD efficiency."
                |c| 100.0 * c.slots.execution_efficiency();
            => warp_nonpred_execution_efficiency Percent "thread_inst_pred_on / lane_slots."
                |c| 100.0 * c.slots.share(c.pred_on());
        /// Lanes of guarded branches, returns and exits whose guard does not hold. They are on in
        /// lane slots, for the instruction decides where they go.
        event sum control_guard_off;
        event sum branches = "Branch instructions issued.";
        event sum divergent_branches
            = "Branch issues whose lanes went to more than one place.";
            => branch_efficiency Percent
                "(branches - divergent_branches) / branches; 100 without branches."
                |c| c.branch_efficiency();
        event sum divergent_paths = "Distinct next places of divergent branches, summed.";
            => average_divergence_rate Percent
                "divergent_branches / branches; 0 without branches."
                |c| 100.0 - c.branch_efficiency();
        event sum branch_targets = "Distinct next places, summed over branch issues.";
        /// Most paths that one group held at an issue.
        event max max_depth;
            => max_depth Count
                "Most paths or stack entries of one group at once, whichever the mechanism keeps."
                |c| c.max_depth.max(c.charges.max_depth);
            => max_divergence_depth Count
                "Most paths of one group at an issue beyond its first; 0 for a run that never \
                diverges."
                |c| c.max_depth.saturating_sub(1);
        /// Paths of the issuing group, summed over all issues.
        event sum depth_sum;
        /// Issues that `depth_sum` is the sum of.
        event sum depth_issues;
            => mean_depth Mean "Paths that the group held, averaged over issues."
                |c| ratio(c.depth_sum, c.depth_issues);
            => lane_slots Count
                "Sum of the widths of all vector issues: the whole that the six causes divide."
                |c| c.slots.width;
            => slots_on Count "Lane slots whose lane executed the instruction."
                |c| c.slots.of(SlotCause::On);
            => slots_predicated_off Count
                "Lane slots in the issuing group, turned off by a guard or mask."
                |c| c.slots.of(SlotCause::PredicatedOff);
            => slots_masked_off Count
                "Of slots_predicated_off: turned off by the machine's mask rather than a guard."
                |c| c.slots.masked_off;
            => slots_diverged Count "Lane slots whose lane was on another path."
                |c| c.slots.of(SlotCause::Diverged);
            => slots_waiting Count "Lane slots whose lane waited at a barrier or a collective."
                |c| c.slots.of(SlotCause::Waiting);
            => slots_exited Count "Lane slots whose thread had ended."
                |c| c.slots.of(SlotCause::Exited);
            => slots_never_launched Count "Lane slots beyond the block's last thread."
                |c| c.slots.of(SlotCause::NeverLaunched);
        event sum loads = "Load instructions issued with a lane on.";
        event sum stores = "Store instructions issued with a lane on.";
        event sum atomics = "Atomic instructions issued with a lane on.";
        /// Traffic to global and shared memory.
        event part traffic: Traffic;
        event sum barrier_arrivals = "Arrivals of groups at block-wide barriers.";
        event sum collectives
            = "Warp-wide collectives completed: votes, shuffles, matches, reductions, warp \
                barriers.";
        event sum fences = "Memory fences issued.";
        event sum ctas = "Blocks completed.";
        machine sum threads = "Threads launched.";
        machine sum cycles = "Cycles, on machines that have them; else 0.";
        /// Operations of the convergence mechanism, summed over all groups.
        machine part charges: Charges;
        /// Issues of conditional and indirect branches, of calls through addresses, and of branches
        /// on masks.
        machine sum conditional_branches;
        /// Memory instructions issued with some lane on.
        machine sum memory_instructions;
        /// Collectives whose members have all arrived, by architectural warp.
        machine sum member_collectives;
        /// CTA barriers that completed.
        machine sum barriers;
    }
}

/// Bytes of a sector of global memory.
pub const SECTOR: u64 = 32;

impl Traffic {
    /// Returns the traffic of `times` accesses with this traffic each.
    #[inline]
    #[must_use]
    pub fn times(&self, times: u64) -> Self {
        let mut all = Self::default();
        all.add_times(self, times);
        all
    }

    /// Returns the sectors in excess of those that the requested bytes would fill if they were
    /// contiguous.
    #[must_use]
    pub fn excess_sectors(&self) -> u64 {
        self.global_sectors.saturating_sub(self.global_bytes.div_ceil(SECTOR))
    }

    /// Returns the cost in excess of the minimum: sectors plus passes.
    #[must_use]
    pub fn excess(&self) -> u64 {
        self.excess_sectors() + self.bank_conflicts
    }
}

impl Counts {
    /// Lanes that executed, but for those of branches, returns and exits whose guard does not hold:
    /// NVIDIA's "thread instructions executed where the guard predicate was true".
    #[must_use]
    pub fn pred_on(&self) -> u64 {
        self.slots.of(SlotCause::On).saturating_sub(self.control_guard_off)
    }

    /// Percentage of branches that did not diverge; 100 without branches.
    fn branch_efficiency(&self) -> f64 {
        match self.branches {
            0 => 100.0,
            branches => 100.0 * ratio(branches - self.divergent_branches, branches),
        }
    }
}

/// A part of the counts with metrics of its own.
trait Part {
    fn metrics(&self) -> Vec<(Metric, f64)> {
        Vec::new()
    }
}

/// Its metrics are those of [`Counts`].
impl Part for LaneSlots {}

impl Part for Traffic {
    fn metrics(&self) -> Vec<(Metric, f64)> {
        self.metrics()
    }
}

impl Part for Charges {
    fn metrics(&self) -> Vec<(Metric, f64)> {
        self.metrics()
    }
}
