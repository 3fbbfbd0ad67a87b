//! One way to run launches of kernel programs.
//!
//! [`launch`] tries the fast engine and leaves what that one declines to the exact engine: the
//! whole launch, or its CTAs from the first one that the fast engine has not committed. The exact
//! engine defines how a launch ends, so every fault, hang and line of output is its own. Launches
//! that the fast engine never takes (other mechanisms than `ipdom`, groups of more than 64 lanes,
//! observers of single events) go to [`run_exact`].
//!
//! Policies are the caller's: whether a launch that hangs runs again under a mechanism with forward
//! progress ([`Restart`]), and whether both engines run it and have to agree ([`Choice::Both`]).
//!
//! The exact engine's interpreter is generic over its observer. It is instantiated here, for each
//! group width with and without [`Counters`] and an [`EventSink`], and in no crate above this one.

mod ahead;
mod attempt;
mod cache;
mod counters;
mod exact;
mod launch;
mod monitor;
mod options;
mod scheduled;
mod sink;
mod undo;

pub use ahead::Ahead;
pub use cache::Cache;
pub use counters::{Counters, PcSlots, PcTraffic};
pub use exact::{End, Exact, ExactLaunch, ExactRun, Guest, Restart, run_exact};
pub use fast::{
    Declined, Exempt, ExemptUntil, Level, RowPattern, Screen, ScreenedAccess, ScreenedAddresses,
    ScreenedLaunch, Threads, Verdict, wide,
};
pub use jit::{Coverage, Refused};
pub use launch::{EngineUsed, KeptLaunch, Launch, Outcome, launch, resume};
pub use monitor::{Attached, Monitor, Progress, Selected, Unmonitored};
pub use options::{Choice, HostThreads, Options, host_threads};
pub use sink::{EventSink, SINK_WORDS, SinkObserver, WideLanes};
pub use undo::Undo;

use simt::memory::MapError;
use thiserror::Error;
use vm::RecheckError;

/// Why a launch cannot be run to its end, beside faults and hangs of the program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error<E: std::error::Error> {
    /// The launch hangs, and cannot begin again under the mechanism with forward progress.
    #[error(transparent)]
    Restart(E),
    /// Memory before the launch cannot be restored.
    #[error("memory before the launch cannot be restored: {0}")]
    Memory(#[from] MapError),
    /// The engines cannot be compared.
    #[error(transparent)]
    Recheck(#[from] RecheckError),
}
