//! Runs of a job under several mechanisms, warp sizes and settings.

use isa::{Diagnostic, Diagnostics};

use super::axes::{self, Settings};
use super::explain::{Explanation, LostSlots};
use super::lane_trace::{LaneTrace, LaneTraceProbe};
use super::probed::{ProbedMonitor, ScheduleDependenceProbe};
use super::race::{Race, Races};
use super::rejoin::{ReconvergenceTimes, Rejoins};
use super::verdict::{self, Difference, Verdict};
use crate::machine::{Dependence, End, LaunchMonitor};
use crate::probe::{Place, Probe, ProbePair, ScheduleDependence};
use crate::run::{Job, UNSUPPORTED, Variant, VariantRun};
use crate::stats::LaunchStats;

/// Limit of issues of the reference, if the job has none.
const REFERENCE_LIMIT: u64 = 1 << 28;
/// Limit of the other runs, if the job has none, as a multiple of the reference's issues.
const LIMIT_FACTOR: u64 = 4;
/// Least limit of the other runs.
const LEAST_LIMIT: u64 = 1 << 20;

/// The scope of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Mechanisms, by the machine's names.
    pub mechanisms: Vec<String>,
    /// Warp sizes.
    pub warp_sizes: Vec<u64>,
    /// The side of a divergent branch that runs first, for mechanisms with that choice.
    pub order: Option<String>,
    /// Values of the machine's axes; each setting is run with each mechanism and warp size.
    pub settings: Vec<Settings>,
    /// Whether non-default settings are run with the first mechanism only.
    pub star: bool,
    /// Whether to record lanes over time and losses by line, for the HTML report.
    pub record_views: bool,
}

/// The results of a mechanism at a warp size, under one setting.
#[derive(Clone, Debug)]
pub struct Row {
    /// The mechanism.
    pub mechanism: String,
    /// Width of an issue group in lanes.
    pub warp_size: u64,
    /// Values of the machine's axes that differ from the defaults.
    pub settings: Settings,
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
    /// Reconvergence times.
    pub times: ReconvergenceTimes,
    /// The verdict in one sentence, if it can be explained.
    pub sentence: Option<String>,
    /// The diagnostic of a hang, a fault or a refusal.
    pub report: Option<Diagnostic>,
    /// The cost relative to the other rows.
    pub impact: Impact,
    /// Lanes over time and losses by line, if the plan requests them and the machine supports
    /// probes.
    pub views: Option<Views>,
}

impl Row {
    /// Formats mechanism and warp size as `ipdom, W = 32`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}, W = {}", self.name(), self.warp_size)
    }

    /// Returns the values of the axes if they are not the defaults, otherwise the mechanism.
    #[must_use]
    pub fn name(&self) -> String {
        let settings = axes::describe(&self.settings);
        if settings.is_empty() { self.mechanism.clone() } else { settings }
    }

    /// Returns the most nested splits at an issue.
    #[must_use]
    pub fn max_divergence_depth(&self) -> u64 {
        self.stats.as_ref().map_or(0, max_divergence_depth)
    }
}

/// Detailed records of a row's run.
#[derive(Clone, Debug, PartialEq)]
pub struct Views {
    /// Lost lane slots by line.
    pub losses: Explanation,
    /// Lanes over time, for some warps.
    pub lanes: LaneTrace,
}

/// The cost of a row relative to the others of its warp size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impact {
    /// Issues divided by the fewest issues of a completed run; `None` if this run did not complete.
    pub divergence_impact_factor: Option<f64>,
    /// Mean reconvergence time times depth over 100, as older tools compute it. It has no meaning
    /// of its own.
    pub legacy: f64,
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
    /// One row for each mechanism, warp size and setting, in this order of nesting.
    pub rows: Vec<Row>,
}

impl Comparison {
    /// Returns whether no row is [`Verdict::Unsound`] with results that differ from the
    /// reference's. Dependence on the schedule is a property of the kernel, and a mechanism with
    /// unsound rejoin points may still compute the same results.
    #[must_use]
    pub fn sound(&self) -> bool {
        self.rows.iter().all(|r| r.verdict != Verdict::Unsound || r.equal != Some(false))
    }
}

/// Runs the job under every mechanism, warp size and setting of the plan. Returns `None` if the
/// watch stopped it.
///
/// # Errors
/// Returns diagnostics if the launches cannot start for reasons other than the mechanism or the
/// warp size.
pub fn compare(
    job: &mut Job,
    plan: &Plan,
    monitor: &mut dyn LaunchMonitor,
) -> Result<Option<Comparison>, Diagnostics> {
    let multisets: Vec<String> = job.multisets().map(str::to_owned).collect();
    let (mechanism, warp_size) = job.machine().reference();
    let own = job.machine().reference_settings().iter();
    let chosen: Settings = own.map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let variant = Variant {
        mechanism: mechanism.to_owned(),
        warp_size: axes::width(job.machine(), &chosen).unwrap_or(warp_size),
        order: None,
        options: chosen.clone(),
        limit: Some(REFERENCE_LIMIT),
    };
    let reference_name = match chosen.is_empty() {
        false => axes::describe(&chosen),
        true if warp_size == job.machine().default_warp_size() => mechanism.to_owned(),
        true => format!("{mechanism} of width {warp_size}"),
    };
    let mut races = Races::default();
    let mut probed = ProbedMonitor { monitor, probe: &mut races };
    let reference = job.run_variant(&variant, &mut probed)?;
    if interrupted(&reference) {
        return Ok(None);
    }
    let issues = reference.total().counts.slots.issues();
    let limit = issues.saturating_mul(LIMIT_FACTOR).clamp(LEAST_LIMIT, REFERENCE_LIMIT);
    let races_complete = races.complete();
    let races = races.found();
    let many = plan.mechanisms.len() * plan.warp_sizes.len() * plan.settings.len();
    let steps = crate::html::steps_of_warp(many);
    let (order, record_views) = (plan.order.clone(), plan.record_views);
    let name = reference_name.clone();
    let setting = RowSetup { name, multisets, reference, races, limit, order, record_views, steps };
    let mut rows = Vec::new();
    for (index, mechanism) in plan.mechanisms.iter().enumerate() {
        for &warp_size in &plan.warp_sizes {
            let all = |s: &&Settings| !plan.star || index == 0 || s.is_empty();
            for settings in plan.settings.iter().filter(all) {
                match row(job, &setting, (mechanism, warp_size, settings), monitor)? {
                    Some(row) => rows.push(row),
                    None => return Ok(None),
                }
            }
        }
    }
    impacts(&mut rows);
    Ok(Some(Comparison {
        machine: job.machine().name().to_owned(),
        module: job.module_name().to_owned(),
        kernels: job.kernel_names().map(str::to_owned).collect(),
        seed: job.seed(),
        order: plan.order.clone(),
        warnings: job.warnings(),
        reference_name,
        races_complete,
        warp_size_dependent: job.warp_size_dependences(),
        reference: verdict::of_end(&setting.reference).map_or(Ok(()), |(_, report)| Err(report)),
        rows,
    }))
}

/// The inputs that all rows share.
struct RowSetup {
    /// The name of the reference.
    name: String,
    multisets: Vec<String>,
    reference: VariantRun,
    /// Races of the reference. They are races under every mechanism.
    races: Vec<Race>,
    limit: u64,
    order: Option<String>,
    record_views: bool,
    /// Most recorded issues of a warp.
    steps: usize,
}

fn interrupted(run: &VariantRun) -> bool {
    matches!(run.ends.last(), Some(End::Interrupted))
}

fn row(
    job: &mut Job,
    setting: &RowSetup,
    (mechanism, warp_size, settings): (&str, u64, &Settings),
    monitor: &mut dyn LaunchMonitor,
) -> Result<Option<Row>, Diagnostics> {
    let warp_size = axes::width(job.machine(), settings).unwrap_or(warp_size);
    let mut row = Row {
        mechanism: mechanism.to_owned(),
        warp_size,
        settings: settings.clone(),
        verdict: Verdict::Ok,
        equal: None,
        differences: Vec::new(),
        witnesses: Vec::new(),
        races: setting.races.clone(),
        stats: None,
        times: ReconvergenceTimes::default(),
        sentence: None,
        report: None,
        impact: Impact::default(),
        views: None,
    };
    let (mut rejoins, mut witnesses) = (Rejoins::default(), ScheduleDependenceProbe::default());
    let (mut losses, mut lanes) = (LostSlots::default(), LaneTraceProbe::new(setting.steps));
    let variant = Variant {
        mechanism: mechanism.to_owned(),
        warp_size,
        order: setting.order.clone(),
        options: settings.clone(),
        limit: Some(setting.limit),
    };
    let mut probes = ProbePair(&mut rejoins, &mut witnesses);
    let mut closely = ProbePair(&mut losses, &mut lanes);
    let mut all = ProbePair(&mut probes, &mut closely);
    let probe: &mut dyn Probe = if setting.record_views { &mut all } else { &mut probes };
    let mut probed = ProbedMonitor { monitor, probe };
    let run = match job.run_variant(&variant, &mut probed) {
        Ok(run) if interrupted(&run) => return Ok(None),
        Ok(run) => run,
        Err(found) => {
            let refusal = found.iter().find(|f| f.code == UNSUPPORTED);
            let Some(refusal) = refusal.cloned() else { return Err(found) };
            (row.verdict, row.report) = (Verdict::Unsupported, Some(refusal));
            return Ok(Some(row));
        }
    };
    row.times = rejoins.times();
    row.stats = Some(run.total());
    let views = Views { losses: losses.explanation(), lanes: lanes.recorded(crate::html::WARPS) };
    row.views = Some(views).filter(|v| setting.record_views && !v.lanes.warps.is_empty());
    if let Some((verdict, report)) = verdict::of_end(&run) {
        (row.verdict, row.report) = (verdict, Some(report));
    } else if verdict::of_end(&setting.reference).is_none() {
        row.differences =
            verdict::differences(&run, &setting.reference, &setting.multisets, &setting.name);
        row.equal = Some(row.differences.is_empty());
        if !row.differences.is_empty() {
            row.witnesses = witnesses.found();
            let seen = !row.witnesses.is_empty();
            row.verdict = if seen { Verdict::OrderDependent } else { Verdict::Unsound };
            if row.races.is_empty() {
                // Another schedule may take paths that the reference did not take.
                let mut races = Races::default();
                let mut probed = ProbedMonitor { monitor, probe: &mut races };
                if interrupted(&job.run_variant(&variant, &mut probed)?) {
                    return Ok(None);
                }
                row.races = races.found();
            }
        }
        if row.equal == Some(true)
            && let Some(report) = verdict::expectation(&run.total().counts.charges)
        {
            (row.verdict, row.report) = (Verdict::Unsound, Some(report));
        }
        if !row.races.is_empty() {
            row.verdict = Verdict::Racy;
        }
    }
    row.sentence = verdict::sentence(&row);
    Ok(Some(row))
}

/// Returns whether two rows are compared by their issues: rows of one warp size, and rows of a
/// machine's axes, whose width may be an axis.
fn comparable(a: &Row, b: &Row) -> bool {
    a.warp_size == b.warp_size || !a.settings.is_empty() || !b.settings.is_empty()
}

fn impacts(rows: &mut [Row]) {
    let ended = |r: &Row| {
        let done = !matches!(r.verdict, Verdict::Hang | Verdict::Fault | Verdict::Unsupported);
        r.stats.as_ref().filter(|_| done).map(|s| s.counts.slots.issues())
    };
    let best: Vec<Option<u64>> = rows
        .iter()
        .map(|row| rows.iter().filter(|r| comparable(r, row)).filter_map(ended).min())
        .collect();
    for (row, best) in rows.iter_mut().zip(best) {
        let factor = |best: u64| Some(ended(row)? as f64 / best.max(1) as f64);
        let depth = row.stats.as_ref().map_or(0, max_divergence_depth);
        row.impact = Impact {
            divergence_impact_factor: best.and_then(factor),
            legacy: row.times.mean * depth as f64 / 100.0,
        };
    }
}

/// Returns the most nested splits at an issue; 0 for a run that never diverged.
pub(super) fn max_divergence_depth(stats: &LaunchStats) -> u64 {
    stats.counts.max_depth.saturating_sub(1)
}
