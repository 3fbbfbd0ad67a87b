//! Which engine runs launches, and with what of the host.

use fast::Level;

/// Which engine runs a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The fastest one that runs it to the same end.
    #[default]
    Fast,
    /// As [`Self::Fast`], with nothing compiled.
    Interpreted,
    /// As [`Self::Fast`], with short launches compiled, too.
    Compiled,
    /// The one that defines what the end is.
    Exact,
    /// The fastest one, then the exact one, with which it has to agree.
    Both,
}

impl Choice {
    /// Returns the choice of a name: `fast`, `interpreted`, `compiled`, `exact`, `both`.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Some(match name {
            "fast" => Self::Fast,
            "interpreted" => Self::Interpreted,
            "compiled" => Self::Compiled,
            "exact" => Self::Exact,
            "both" => Self::Both,
            _ => return None,
        })
    }
}

/// Host threads for a launch. Only time depends on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostThreads {
    /// The most; as many as the host has if 0.
    pub count: usize,
    /// Whether they are used even if that takes longer.
    pub eager: bool,
}

impl HostThreads {
    /// At most `count`, used where they pay.
    #[must_use]
    pub fn up_to(count: usize) -> Self {
        Self { count, eager: false }
    }
}

/// Returns the number of host threads per launch that `SIMTLAB_JOBS` asks for; 0, for as many as
/// the host has, if it is unset or not a number. All interfaces with this setting use this
/// function; `variable` looks up an environment variable.
pub fn host_threads(variable: impl FnOnce(&str) -> Option<String>) -> usize {
    variable("SIMTLAB_JOBS").and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// How a launch is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The engine.
    pub engine: Choice,
    /// The most vector instructions that it may use; all that the host has if `None`. Only time
    /// depends on them.
    pub level: Option<Level>,
    /// The host threads.
    pub threads: HostThreads,
    /// Whether more than [`vm::Counts`] is counted.
    pub detailed: bool,
    /// Whether a launch that repeats its state is kept, to go on when something else has changed
    /// memory ([`resume`](crate::resume)).
    pub keeps_waiting: bool,
    /// Whether a launch that ends in a fault or a hang, and is not kept, leaves memory and heap as
    /// they were before it.
    pub takes_back: bool,
}
