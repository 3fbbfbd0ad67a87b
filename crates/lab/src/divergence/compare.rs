//! Runs a job under many mechanisms and warp sizes.

use isa::{Diagnostic, Diagnostics};

use super::axes::{self, Settings};
use super::explain::{Explanation, Losses};
use super::lanes::{Recorded, Recorder};
use super::race::{Race, Races};
use super::rejoin::{Rejoins, Times};
use super::verdict::{self, Difference, Verdict};
use super::watching::{Watched, Witnesses};
use crate::machine::{Dependence, End, Watch};
use crate::probe::{Both, Place, Probe, Shows};
use crate::run::{Job, UNSUPPORTED, Variant, VariantRun};
use crate::stats::LaunchStats;

/// Most issues of a block in the reference, if the job sets no limit.
const REFERENCE_LIMIT: u64 = 1 << 28;
/// A run may take so many times the reference's issues, if the job sets no limit, before it is taken to hang.
const PATIENCE: u64 = 4;
/// But at least so many.
const LEAST_LIMIT: u64 = 1 << 20;

/// What to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Mechanisms, by the machine's names.
    pub mechanisms: Vec<String>,
    /// Warp sizes.
    pub warp_sizes: Vec<u64>,
    /// Which side of a divergent branch runs first, where a mechanism asks.
    pub order: Option<String>,
    /// Values of the machine's axes: each is tried with each mechanism and warp size.
    pub settings: Vec<Settings>,
    /// Whether settings are tried with the first mechanism alone, the others being run by default.
    pub star: bool,
    /// Whether lanes over time and losses by line are kept, for the report.
    pub look: bool,
}

/// A mechanism at a warp size.
#[derive(Clone, Debug)]
pub struct Row {
    /// The mechanism.
    pub mechanism: String,
    /// Lanes of an issue group.
    pub warp_size: u64,
    /// Values of the machine's axes that are not by default.
    pub settings: Settings,
    /// What is said of it.
    pub verdict: Verdict,
    /// Whether memory and output are those of the reference; none if one of the two did not end.
    pub equal: Option<bool>,
    /// What is not.
    pub differences: Vec<Difference>,
    /// Instructions executed that show the schedule; filled where results differ.
    pub witnesses: Vec<(Shows, Place)>,
    /// Accesses that race.
    pub races: Vec<Race>,
    /// All launches together; none if the run could not begin.
    pub stats: Option<LaunchStats>,
    /// How long lanes stayed apart.
    pub times: Times,
    /// The verdict in a sentence, where one explains it.
    pub sentence: Option<String>,
    /// What is told of a hang, a fault or a refusal.
    pub report: Option<Diagnostic>,
    /// What the mechanism cost beside the others.
    pub impact: Impact,
    /// Lanes over time and losses by line, where the plan asks and the machine tells events.
    pub views: Option<Views>,
}

impl Row {
    /// `ipdom, W = 32`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}, W = {}", self.name(), self.warp_size)
    }

    /// The mechanism, or the values of axes where the machine has only one.
    #[must_use]
    pub fn name(&self) -> String {
        let settings = axes::describe(&self.settings);
        if settings.is_empty() { self.mechanism.clone() } else { settings }
    }

    /// Most nested splits at an issue.
    #[must_use]
    pub fn max_divergence_depth(&self) -> u64 {
        self.stats.as_ref().map_or(0, max_divergence_depth)
    }
}

/// A row's run looked at closely.
#[derive(Clone, Debug, PartialEq)]
pub struct Views {
    /// Lost lane slots by line.
    pub losses: Explanation,
    /// Lanes over time of some warps.
    pub lanes: Recorded,
}

/// The cost of a row beside the others of its warp size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impact {
    /// Issues over those of the mechanism with the fewest, among those that ended; none if this one did not.
    pub divergence_impact_factor: Option<f64>,
    /// Mean reconvergence time times depth over 100: what older tools print. It has no meaning of its own.
    pub legacy: f64,
}

/// All rows, with the reference.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The machine's name.
    pub machine: String,
    /// The program, as the user named it.
    pub module: String,
    /// The kernels, in the order of the launches.
    pub kernels: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// The order asked for.
    pub order: Option<String>,
    /// Kernels whose results depend on the size of the warp that they see, with the first instruction that makes it so, and how
    /// many there are.
    pub warp_size_dependent: Vec<(String, Dependence, usize)>,
    /// What may go wrong, as far as that can be told without running anything.
    pub warnings: Vec<Diagnostic>,
    /// What the reference is: `serial`, or values of the machine's axes.
    pub reference_name: String,
    /// How the reference ended; what is told of it if it did not end well.
    pub reference: Result<(), Diagnostic>,
    /// Whether the search for races could follow all of memory: if not, some may have been missed.
    pub races_complete: bool,
    /// A row for each mechanism and warp size: mechanisms in the order asked for, sizes within.
    pub rows: Vec<Row>,
}

impl Comparison {
    /// Whether no row is `unsound` with other results: a mechanism that computes something else is a finding, a kernel that
    /// depends on its schedule a property, and a mechanism that only expects lanes where they never come is known for it.
    #[must_use]
    pub fn sound(&self) -> bool {
        self.rows.iter().all(|r| r.verdict != Verdict::Unsound || r.equal != Some(false))
    }
}

/// Runs the job under every mechanism and warp size of the plan. None if the watch stopped it.
///
/// # Errors
/// If the launches cannot begin at all: what a single run would be refused for.
pub fn compare(
    job: &mut Job,
    plan: &Plan,
    watch: &mut dyn Watch,
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
    let mut watched = Watched { watch, probe: &mut races };
    let reference = job.run_variant(&variant, &mut watched)?;
    if interrupted(&reference) {
        return Ok(None);
    }
    let issues = reference.total().slots.issues();
    let limit = issues.saturating_mul(PATIENCE).clamp(LEAST_LIMIT, REFERENCE_LIMIT);
    let races_complete = races.complete();
    let races = races.found();
    let many = plan.mechanisms.len() * plan.warp_sizes.len() * plan.settings.len();
    let steps = crate::html::steps_of_warp(many);
    let (order, look) = (plan.order.clone(), plan.look);
    let name = reference_name.clone();
    let setting = Setting { name, multisets, reference, races, limit, order, look, steps };
    let mut rows = Vec::new();
    for (index, mechanism) in plan.mechanisms.iter().enumerate() {
        for &warp_size in &plan.warp_sizes {
            let all = |s: &&Settings| !plan.star || index == 0 || s.is_empty();
            for settings in plan.settings.iter().filter(all) {
                match row(job, &setting, (mechanism, warp_size, settings), watch)? {
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

/// What all rows share.
struct Setting {
    /// Of the reference.
    name: String,
    multisets: Vec<String>,
    reference: VariantRun,
    /// Races of the reference: what races there races under every mechanism.
    races: Vec<Race>,
    limit: u64,
    order: Option<String>,
    look: bool,
    /// Issues of a warp that are kept.
    steps: usize,
}

fn interrupted(run: &VariantRun) -> bool {
    matches!(run.ends.last(), Some(End::Interrupted))
}

fn row(
    job: &mut Job,
    setting: &Setting,
    (mechanism, warp_size, settings): (&str, u64, &Settings),
    watch: &mut dyn Watch,
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
        times: Times::default(),
        sentence: None,
        report: None,
        impact: Impact::default(),
        views: None,
    };
    let (mut rejoins, mut witnesses) = (Rejoins::default(), Witnesses::default());
    let (mut losses, mut lanes) = (Losses::default(), Recorder::new(setting.steps));
    let variant = Variant {
        mechanism: mechanism.to_owned(),
        warp_size,
        order: setting.order.clone(),
        options: settings.clone(),
        limit: Some(setting.limit),
    };
    let mut probes = Both(&mut rejoins, &mut witnesses);
    let mut closely = Both(&mut losses, &mut lanes);
    let mut all = Both(&mut probes, &mut closely);
    let probe: &mut dyn Probe = if setting.look { &mut all } else { &mut probes };
    let mut watched = Watched { watch, probe };
    let run = match job.run_variant(&variant, &mut watched) {
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
    row.views = Some(views).filter(|v| setting.look && !v.lanes.warps.is_empty());
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
                // Another schedule may take ways that the reference did not take.
                let mut races = Races::default();
                let mut watched = Watched { watch, probe: &mut races };
                if interrupted(&job.run_variant(&variant, &mut watched)?) {
                    return Ok(None);
                }
                row.races = races.found();
            }
        }
        if row.equal == Some(true)
            && let Some(report) = verdict::expectation(&run.total().charges)
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

/// Rows are held against others of their warp size; those of a machine's axes against all, for the width may be an axis.
fn comparable(a: &Row, b: &Row) -> bool {
    a.warp_size == b.warp_size || !a.settings.is_empty() || !b.settings.is_empty()
}

fn impacts(rows: &mut [Row]) {
    let ended = |r: &Row| {
        let done = !matches!(r.verdict, Verdict::Hang | Verdict::Fault | Verdict::Unsupported);
        r.stats.as_ref().filter(|_| done).map(|s| s.slots.issues())
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

/// Most nested splits at an issue: 0 for a run that never diverged.
pub(super) fn max_divergence_depth(stats: &LaunchStats) -> u64 {
    stats.counters.max_depth.saturating_sub(1)
}
