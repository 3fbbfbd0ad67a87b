//! Runs of a job under several mechanisms, warp sizes and settings.

use isa::Diagnostics;
use lab::run::{Job, UNSUPPORTED, Variant, VariantRun};
use lab::stats::ReconvergenceTimes;
use machines::probe::{Probe, ProbePair, ScheduleDependenceProbe};
use machines::{End, LaunchMonitor, ProbedMonitor, Reference};

use super::axes::{self, Settings};
use super::comparison::{Comparison, Impact, Row, max_divergence_depth};
use super::sentence::sentence;
use super::verdict::{self, Verdict};
use super::views::{Views, WARPS, steps_of_warp};
use crate::probes::{LaneTraceProbe, LostSlots, Rejoins};
use checks::race::{Race, Races};

/// Limit of issues of the reference, if the job has none.
const REFERENCE_LIMIT: u64 = 1 << 28;
/// Limit of the other runs, if the job has none, as a multiple of the reference's issues.
const LIMIT_FACTOR: u64 = 4;
/// Most issues of a run that is repeated under every order of branch sides.
const MOST_ISSUES_OF_ORDERS: u64 = 1 << 18;
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
    let Reference { mechanism, warp_size, settings } = job.machine().reference;
    let chosen: Settings =
        settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let variant = Variant {
        mechanism: mechanism.to_owned(),
        warp_size: axes::width(job.machine(), &chosen).unwrap_or(warp_size),
        order: None,
        options: chosen.clone(),
        limit: Some(REFERENCE_LIMIT),
    };
    let reference_name = match chosen.is_empty() {
        false => axes::describe(&chosen),
        true if warp_size == job.machine().default_warp_size => mechanism.to_owned(),
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
    let steps = steps_of_warp(many);
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
        machine: job.machine().name.to_owned(),
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
        orders: Vec::new(),
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
    let views = Views { losses: losses.explanation(), lanes: lanes.recorded(WARPS) };
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
    if !orders(job, setting, (&variant, &mut row), monitor)? {
        return Ok(None);
    }
    row.sentence = sentence(&row);
    Ok(Some(row))
}

/// Runs a row's variant under every order of branch sides, if lanes part and that is a choice of
/// the mechanism. Returns `false` if the monitor stopped it.
fn orders(
    job: &mut Job,
    setting: &RowSetup,
    (variant, row): (&Variant, &mut Row),
    monitor: &mut dyn LaunchMonitor,
) -> Result<bool, Diagnostics> {
    let chosen =
        converge::Entry::find(&variant.mechanism).is_ok_and(|entry| entry.knobs.contains(&"order"));
    let counts = row.stats.as_ref().map(|stats| stats.counts);
    let parts = counts.is_some_and(|counts| {
        counts.divergent_branches > 0 && counts.slots.issues() <= MOST_ISSUES_OF_ORDERS
    });
    if !chosen || !parts || setting.order.is_some() || row.verdict == Verdict::Unsupported {
        return Ok(true);
    }
    for (name, _) in converge::Order::ALL {
        let variant = Variant { order: Some(name.to_owned()), ..variant.clone() };
        let run = job.run_plain(&variant, monitor)?;
        if interrupted(&run) {
            return Ok(false);
        }
        let differs =
            || !verdict::differences(&run, &setting.reference, &setting.multisets, "").is_empty();
        let verdict = match verdict::of_end(&run) {
            Some((verdict, _)) => verdict,
            None if verdict::of_end(&setting.reference).is_none() && differs() => {
                if row.races.is_empty() { Verdict::OrderDependent } else { Verdict::Racy }
            }
            None => Verdict::Ok,
        };
        row.orders.push((name, verdict));
    }
    Ok(true)
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
