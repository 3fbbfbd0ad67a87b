//! The results of comparisons.

use isa::Diagnostic;
use lab::stats::ReconvergenceTimes;
use machines::Dependence;
use machines::probe::{Place, ScheduleDependence};
use machines::stats::LaunchStats;

use super::axes::{self, Settings};
use super::compare::Cell;
use super::verdict::{Difference, Verdict};
use super::views::Views;
use checks::race::Race;
use probes::LeastIssues;

/// The results of a mechanism at a warp size, under one setting.
#[derive(Clone, Debug)]
pub struct Row {
    /// The mechanism.
    pub mechanism: String,
    /// Width of an issue group in lanes.
    pub warp_size: u64,
    /// Values of the machine's axes that differ from the defaults.
    pub settings: Settings,
    /// The name of the profile that it is a row of, if it is.
    pub profile: Option<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether memory and output equal the reference's; `None` if either run did not complete.
    pub equal: Option<bool>,
    /// The differences from the reference.
    pub differences: Vec<Difference>,
    /// Executed instructions that expose the schedule; collected only if results differ.
    pub witnesses: Vec<(ScheduleDependence, Place)>,
    /// Pairs of instructions that race.
    pub races: Vec<Race>,
    /// Statistics summed over all launches; `None` if the run could not start.
    pub stats: Option<LaunchStats>,
    /// Efficiency in percent, comparable between all mechanisms: the thread instructions that the
    /// kernel needs over the lanes of all issues. `None` if the run did not end.
    pub useful: Option<f64>,
    /// The fewest issues that any mechanism needs for what this run executed; `None` if it did not
    /// end, if it executed other instructions than the reference, or if a pass changed the code.
    pub least: Option<LeastIssues>,
    /// Reconvergence times.
    pub times: ReconvergenceTimes,
    /// The verdict in one sentence, if it can be explained.
    pub sentence: Option<String>,
    /// The diagnostic of a hang, a fault or a refusal.
    pub report: Option<Diagnostic>,
    /// The verdict under each order of the sides of divergent branches, for mechanisms with that
    /// choice; empty if no branch diverged, if one order was asked for, or if the runs are long.
    pub orders: Vec<(&'static str, Verdict)>,
    /// The cost relative to the other rows.
    pub impact: Impact,
    /// Lanes over time and losses by line, if the plan requests them and the machine supports
    /// probes.
    pub views: Option<Views>,
}

impl Row {
    /// Creates the row of a run that has not begun.
    #[must_use]
    pub(super) fn new(cell: &Cell, races: Vec<Race>) -> Self {
        Self {
            mechanism: cell.mechanism.clone(),
            warp_size: cell.warp_size,
            settings: cell.settings.clone(),
            profile: cell.profile.clone(),
            verdict: Verdict::Ok,
            equal: None,
            differences: Vec::new(),
            witnesses: Vec::new(),
            races,
            stats: None,
            useful: None,
            least: None,
            times: ReconvergenceTimes::default(),
            sentence: None,
            report: None,
            orders: Vec::new(),
            impact: Impact::default(),
            views: None,
        }
    }

    /// Formats mechanism and warp size as `ipdom, W = 32`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}, W = {}", self.name(), self.warp_size)
    }

    /// Returns the profile, or the mechanism with the knobs that differ from the defaults, or the
    /// values of a machine's axes alone.
    #[must_use]
    pub fn name(&self) -> String {
        let settings = axes::describe(&self.settings);
        match &self.profile {
            Some(profile) => profile.clone(),
            None if settings.is_empty() => self.mechanism.clone(),
            None if self.settings.iter().any(|(name, _)| is_knob(name)) => {
                format!("{} {settings}", self.mechanism)
            }
            None => settings,
        }
    }

    /// Returns the most nested splits at an issue.
    #[must_use]
    pub fn max_divergence_depth(&self) -> u64 {
        self.stats.as_ref().map_or(0, max_divergence_depth)
    }
}

/// The cost of a row relative to the others of its warp size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impact {
    /// Issues divided by the fewest issues of a completed run under a mechanism that a machine
    /// could have; `None` if this run did not complete.
    pub divergence_impact_factor: Option<f64>,
    /// Mean reconvergence time times depth over 100, as older tools compute it. It has no meaning
    /// of its own. `None` if no split rejoined.
    pub legacy: Option<f64>,
}

/// The rows of a comparison, and its reference.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The machine's name.
    pub machine: String,
    /// The program's name as the user wrote it.
    pub module: String,
    /// The kernels, in the order of the launches.
    pub kernels: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// The order of branch sides, if one was requested.
    pub order: Option<String>,
    /// Kernels whose results depend on the warp size that they see, with the first instruction that
    /// causes this and the number of such instructions.
    pub warp_size_dependent: Vec<(String, Dependence, usize)>,
    /// Warnings from the static analysis of the program.
    pub warnings: Vec<Diagnostic>,
    /// The name of the reference: `serial`, or values of the machine's axes.
    pub reference_name: String,
    /// The diagnostic of the reference if it did not complete.
    pub reference: Result<(), Diagnostic>,
    /// Whether the race detector could follow all of memory; if not, races may have been missed.
    pub races_complete: bool,
    /// One row for each mechanism, warp size and setting, in this order of nesting; then those of
    /// profiles.
    pub rows: Vec<Row>,
    /// Rows of mechanisms or warp sizes that cannot take the kernel.
    pub unsupported: Vec<Row>,
}

/// Kernels that the title of a report names.
const NAMED: usize = 8;

impl Comparison {
    /// The kernels, as titles name them: of many only the first.
    #[must_use]
    pub fn title(&self) -> String {
        let named = self.kernels.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>();
        let named = named.join(", ");
        match self.kernels.len().saturating_sub(NAMED) {
            0 => named,
            more => format!("{named} and {more} more"),
        }
    }

    /// Returns whether no row is [`Verdict::Unsound`] with results that differ from the
    /// reference's. Dependence on the schedule is a property of the kernel, and a mechanism with
    /// unsound rejoin points may still compute the same results.
    #[must_use]
    pub fn sound(&self) -> bool {
        self.rows.iter().all(|r| r.verdict != Verdict::Unsound || r.equal != Some(false))
    }
}

/// Returns whether an option is a knob of some mechanism, rather than a machine's.
fn is_knob(option: &str) -> bool {
    converge::CATALOGUE.iter().any(|entry| entry.knobs.contains(&option))
}

/// Returns the most nested splits at an issue; 0 for a run that never diverged.
pub(super) fn max_divergence_depth(stats: &LaunchStats) -> u64 {
    stats.counts.max_depth.saturating_sub(1)
}
