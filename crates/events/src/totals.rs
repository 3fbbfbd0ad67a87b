//! The counts of launches that the libraries report: few, in a layout that does not change.

use serde::{Deserialize, Serialize};
use simt::counts::Counts;
use simt::slots::SlotCause;

/// Declares [`LaunchTotals`]. A row is a documented name and its value in [`Counts`]. The C
/// library's struct is made from the rows: it has them in their order.
macro_rules! totals {
    ($($(#[doc = $doc:literal])* $name:ident = |$counts:ident| $value:expr;)*) => {
        /// The counts of one or more launches.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct LaunchTotals {
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        impl LaunchTotals {
            /// The names of the counts and what they are, in their order.
            pub const COUNTS: &'static [(&'static str, &'static str)] =
                &[$((stringify!($name), concat!($($doc),*)),)*];

            /// Returns the counts of one launch.
            #[must_use]
            pub fn of(counts: &Counts) -> Self {
                Self { $($name: { let $counts = counts; $value },)* }
            }

            /// Adds the counts of other launches.
            pub fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
            }

            /// Returns the counts in their order.
            #[must_use]
            pub fn values(&self) -> Vec<u64> {
                vec![$(self.$name),*]
            }
        }
    };
}

totals! {
    /// Blocks run.
    blocks = |c| c.ctas;
    /// Threads run.
    threads = |c| c.threads;
    /// Instructions issued to warps.
    issues = |c| c.slots.issues();
    /// Instructions executed by lanes.
    lane_instructions = |c| c.slots.of(SlotCause::On);
    /// Lane slots of all issues: issues times 32.
    lane_slots = |c| c.slots.width;
    /// Branches issued.
    branches = |c| c.conditional_branches;
    /// Branches whose lanes went to different places.
    divergent_branches = |c| c.divergent_branches;
    /// Memory instructions issued.
    memory_instructions = |c| c.memory_instructions;
    /// Block barriers completed.
    barriers = |c| c.barriers;
}
