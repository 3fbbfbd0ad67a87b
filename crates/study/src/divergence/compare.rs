//! Runs of a job under several mechanisms, warp sizes and settings.

use std::collections::BTreeMap;

use checks::race::{Race, Races};
use isa::Diagnostics;
use lab::run::{Job, UNSUPPORTED, Variant, VariantRun};
use machines::probe::{Probe, ProbePair, ScheduleDependenceProbe};
use machines::stats::LaunchStats;
use machines::{End, Isa, LaunchMonitor, ProbedMonitor, Profile, Reference};
use simt::slots::SlotCause;

use super::axes::{self, Settings};
use super::comparison::{Comparison, Impact, Row, max_divergence_depth};
use super::pool;
use super::sentence::sentence;
use super::verdict::{self, Verdict};
use super::views::{Views, WARPS, steps_of_warp};
use probes::{
    BranchCosts, ExecutionCounts, LaneTraceProbe, LeastIssues, LostSlots, Occupancy, Rejoins,
};

/// Limit of issues of the reference, if the job has none.
const REFERENCE_LIMIT: u64 = 1 << 28;
/// Limit of the other runs, if the job has none, as a multiple of the reference's issues.
const LIMIT_FACTOR: u64 = 4;
/// Most issues of a run that is repeated under every order of branch sides.
const MOST_ISSUES_OF_ORDERS: u64 = 1 << 18;
/// Least limit of the other runs.
const LEAST_LIMIT: u64 = 1 << 20;

/// The scope of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// Profiles of real machines, each a row of its own.
    pub profiles: Vec<&'static Profile>,
    /// Whether to record lanes over time and losses by line, for the HTML report.
    pub record_views: bool,
    /// Rows that run at once; as many as the host has cores if 0. Only time depends on it.
    pub jobs: usize,
}

/// One run of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cell {
    /// The mechanism.
    pub mechanism: String,
    /// Width of an issue group in lanes.
    pub warp_size: u64,
    /// Values of the machine's axes that the mechanism reads.
    pub settings: Settings,
    /// The name of the profile that it is, if it is one.
    pub profile: Option<String>,
}

impl Plan {
    /// Returns the runs, each once: knobs that a mechanism does not read make no runs of their own.
    #[must_use]
    pub fn cells(&self, machine: &Isa) -> Vec<Cell> {
        let mut out: Vec<Cell> = Vec::new();
        for (index, mechanism) in self.mechanisms.iter().enumerate() {
            for &warp_size in &self.warp_sizes {
                let all = |s: &&Settings| !self.star || index == 0 || s.is_empty();
                for settings in self.settings.iter().filter(all) {
                    let read = settings.iter().filter(|(name, _)| machine.reads(mechanism, name));
                    let settings: Settings = read.cloned().collect();
                    let warp_size = axes::width(machine, &settings).unwrap_or(warp_size);
                    let mechanism = mechanism.clone();
                    out.push(Cell { mechanism, warp_size, settings, profile: None });
                }
            }
        }
        out.extend(self.profiles.iter().map(|profile| Cell {
            mechanism: profile.mechanism.to_owned(),
            warp_size: profile.warp_size,
            settings: profile.settings.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect(),
            profile: Some(profile.name.to_owned()),
        }));
        let mut seen = rustc_hash::FxHashSet::default();
        out.retain(|cell| seen.insert(cell.clone()));
        // A width that is listed as a warp size needs no row for the axis of that name.
        let is_width = |cell: &Cell| {
            let width = axes::width(machine, &cell.settings).is_some();
            width && cell.settings.len() == 1 && cell.profile.is_none()
        };
        let plain = |cell: &Cell| Cell { settings: Settings::new(), ..cell.clone() };
        out.retain(|cell| !is_width(cell) || !seen.contains(&plain(cell)));
        out
    }
}

/// Runs the job under every mechanism, warp size, setting and profile of the plan. Returns `None`
/// if the monitor stopped it.
///
/// # Errors
/// Returns diagnostics if the launches cannot start for reasons other than the mechanism or the
/// warp size.
pub fn compare(
    job: &Job,
    plan: &Plan,
    monitor: &mut dyn LaunchMonitor,
) -> Result<Option<Comparison>, Diagnostics> {
    let cells = plan.cells(job.machine());
    let widths: Vec<u64> = cells.iter().map(|cell| cell.warp_size).collect();
    let Some(base) = Baseline::new(job, &widths, monitor)? else { return Ok(None) };
    let steps = steps_of_warp(cells.len());
    let how = RowOptions {
        order: plan.order.clone(),
        record_views: plan.record_views,
        steps,
        all_orders: true,
    };
    let jobs = pool::jobs(plan.jobs);
    let made = pool::run(&cells, jobs, monitor, |cell, monitor| base.row(job, cell, &how, monitor));
    let Some(made) = made else { return Ok(None) };
    let (mut rows, mut unsupported) = (Vec::new(), Vec::new());
    for row in made {
        match row? {
            Some(row) if row.verdict == Verdict::Unsupported => unsupported.push(row),
            Some(row) => rows.push(row),
            None => return Ok(None),
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
        reference_name: base.name,
        races_complete: base.races_complete,
        warp_size_dependent: job.warp_size_dependences(),
        reference: verdict::of_end(&base.reference).map_or(Ok(()), |(_, report)| Err(report)),
        rows,
        unsupported,
    }))
}

/// The reference run, with which all rows of a job are compared.
#[derive(Debug)]
pub struct Baseline {
    /// The name of the reference.
    name: String,
    multisets: Vec<String>,
    reference: VariantRun,
    /// Races of the reference. They are races under every mechanism.
    races: Vec<Race>,
    races_complete: bool,
    limit: u64,
    /// Thread instructions that the kernel needs, if the reference tells.
    work: Option<u64>,
    /// The fewest issues that they can take, by width.
    least: BTreeMap<u64, LeastIssues>,
}

/// How rows are made.
#[derive(Clone, Debug, Default)]
pub struct RowOptions {
    /// The side of a divergent branch that runs first.
    pub order: Option<String>,
    /// Whether to record lanes over time and losses by line.
    pub record_views: bool,
    /// Most recorded issues of a warp.
    pub steps: usize,
    /// Whether to repeat short runs under every order of branch sides, if none is chosen.
    pub all_orders: bool,
}

impl Baseline {
    /// Runs the reference, with default knobs, and finds the fewest issues of rows of these widths.
    /// Returns `None` if the monitor stopped it.
    ///
    /// # Errors
    /// Returns diagnostics if the launches cannot start.
    pub fn new(
        job: &Job,
        widths: &[u64],
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<Option<Self>, Diagnostics> {
        let Reference { mechanism, warp_size, settings } = job.machine().reference;
        let chosen: Settings =
            settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let variant = Variant {
            mechanism: mechanism.to_owned(),
            warp_size: axes::width(job.machine(), &chosen).unwrap_or(warp_size),
            order: None,
            options: chosen.clone(),
            limit: Some(REFERENCE_LIMIT),
            default_knobs: true,
        };
        let name = match chosen.is_empty() {
            false => axes::describe(&chosen),
            true if warp_size == job.machine().default_warp_size => mechanism.to_owned(),
            true => format!("{mechanism} of width {warp_size}"),
        };
        let (mut races, mut executions) = (Races::default(), ExecutionCounts::new(widths));
        let mut probes = ProbePair(&mut races, &mut executions);
        let mut probed = ProbedMonitor { monitor, probe: &mut probes };
        let reference = job.run_variant(&variant, &mut probed)?;
        if interrupted(&reference) {
            return Ok(None);
        }
        let total = reference.total().counts;
        let ended = verdict::of_end(&reference).is_none();
        let limit = total.slots.issues().saturating_mul(LIMIT_FACTOR);
        let work = (ended && mechanism == converge::serial::NAME).then(|| total.slots.active());
        Ok(Some(Self {
            name,
            multisets: job.multisets().map(str::to_owned).collect(),
            races_complete: races.complete(),
            races: races.found(),
            limit: limit.clamp(LEAST_LIMIT, REFERENCE_LIMIT),
            least: if work.is_some() { executions.bounds() } else { BTreeMap::new() },
            work,
            reference,
        }))
    }

    /// Runs one cell. Returns `None` if the monitor stopped it.
    ///
    /// # Errors
    /// Returns diagnostics if the launches cannot start for reasons other than the mechanism or the
    /// warp size; for those the row is [`Verdict::Unsupported`].
    pub fn row(
        &self,
        job: &Job,
        cell: &Cell,
        how: &RowOptions,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<Option<Row>, Diagnostics> {
        let mut row = Row::new(cell, self.races.clone());
        let mut rejoins = Rejoins::default();
        let mut witnesses = ScheduleDependenceProbe::default();
        let (mut losses, mut lanes) = (LostSlots::default(), LaneTraceProbe::new(how.steps));
        let mut branches = BranchCosts::default();
        let variant = Variant {
            mechanism: cell.mechanism.clone(),
            warp_size: cell.warp_size,
            order: how.order.clone(),
            options: cell.settings.clone(),
            limit: Some(self.limit),
            default_knobs: false,
        };
        let mut probes = ProbePair(&mut rejoins, &mut witnesses);
        let mut closely = ProbePair(&mut losses, &mut lanes);
        let mut occupancy = Occupancy::default();
        let mut of_branches = ProbePair(&mut branches, &mut occupancy);
        let mut closely = ProbePair(&mut closely, &mut of_branches);
        let mut all = ProbePair(&mut probes, &mut closely);
        let probe: &mut dyn Probe = if how.record_views { &mut all } else { &mut probes };
        let mut probed = ProbedMonitor { monitor: &mut *monitor, probe };
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
        let total = run.total();
        let views = Views {
            losses: losses.explanation(),
            lanes: lanes.recorded(WARPS),
            branches: branches.table(),
            occupancy: occupancy.map(),
        };
        row.views = Some(views).filter(|v| how.record_views && !v.lanes.warps.is_empty());
        if let Some((verdict, report)) = verdict::of_end(&run) {
            (row.verdict, row.report) = (verdict, Some(report));
        } else {
            row.useful = Some(self.useful(&total, cell.warp_size));
            row.least = self.least(&total, cell);
            if verdict::of_end(&self.reference).is_none() {
                let stopped = self.judge(&mut row, &run, witnesses, |races| {
                    let mut probed = ProbedMonitor { monitor: &mut *monitor, probe: races };
                    Ok(interrupted(&job.run_variant(&variant, &mut probed)?))
                })?;
                if stopped {
                    return Ok(None);
                }
            }
        }
        row.stats = Some(total);
        let ordered = how.order.is_some() || cell.settings.iter().any(|(name, _)| name == "order");
        if how.all_orders && !ordered && !self.orders(job, (&variant, &mut row), monitor)? {
            return Ok(None);
        }
        row.sentence = sentence(&row);
        Ok(Some(row))
    }

    /// Runs a row's variant under every order of branch sides, if lanes part and that is a choice
    /// of the mechanism. Returns `false` if the monitor stopped it.
    fn orders(
        &self,
        job: &Job,
        (variant, row): (&Variant, &mut Row),
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<bool, Diagnostics> {
        let chosen = converge::Entry::find(&variant.mechanism)
            .is_ok_and(|entry| entry.knobs.contains(&"order"));
        let counts = row.stats.as_ref().map(|stats| stats.counts);
        let parts = counts.is_some_and(|counts| {
            counts.divergent_branches > 0 && counts.slots.issues() <= MOST_ISSUES_OF_ORDERS
        });
        if !chosen || !parts || row.verdict == Verdict::Unsupported {
            return Ok(true);
        }
        for (name, _) in converge::Order::ALL {
            let variant = Variant { order: Some(name.to_owned()), ..variant.clone() };
            let run = job.run_plain(&variant, monitor)?;
            if interrupted(&run) {
                return Ok(false);
            }
            let differs =
                || !verdict::differences(&run, &self.reference, &self.multisets, "").is_empty();
            let verdict = match verdict::of_end(&run) {
                Some((verdict, _)) => verdict,
                None if verdict::of_end(&self.reference).is_none() && differs() => {
                    if row.races.is_empty() { Verdict::OrderDependent } else { Verdict::Racy }
                }
                None => Verdict::Ok,
            };
            row.orders.push((name, verdict));
        }
        Ok(true)
    }

    /// Returns the efficiency of a run that has ended, in percent: the thread instructions that the
    /// kernel needs over all lanes of all issues. Without serial execution to tell what it needs,
    /// those are the lanes that executed lane-wise instructions other than operations on masks.
    fn useful(&self, stats: &LaunchStats, warp_size: u64) -> f64 {
        let slots = &stats.counts.slots;
        let all = slots.issues().saturating_mul(warp_size.max(1));
        let work = self.work.unwrap_or_else(|| slots.of(SlotCause::On) - stats.mask_lanes());
        100.0 * work as f64 / all.max(1) as f64
    }

    /// Returns the fewest issues of a run that has ended: known if it executed what the reference
    /// did, without what a pass adds.
    fn least(&self, stats: &LaunchStats, cell: &Cell) -> Option<LeastIssues> {
        let same = self.work == Some(stats.counts.slots.active()) && stats.code.is_none();
        self.least.get(&cell.warp_size).copied().filter(|_| same)
    }

    /// Compares a run that has ended with the reference. `again` repeats it with a probe, and
    /// returns whether it was stopped.
    fn judge(
        &self,
        row: &mut Row,
        run: &VariantRun,
        witnesses: ScheduleDependenceProbe,
        mut again: impl FnMut(&mut Races) -> Result<bool, Diagnostics>,
    ) -> Result<bool, Diagnostics> {
        row.differences = verdict::differences(run, &self.reference, &self.multisets, &self.name);
        row.equal = Some(row.differences.is_empty());
        if !row.differences.is_empty() {
            row.witnesses = witnesses.found();
            let seen = !row.witnesses.is_empty();
            row.verdict = if seen { Verdict::OrderDependent } else { Verdict::Unsound };
            if row.races.is_empty() {
                // Another schedule may take paths that the reference did not take.
                let mut races = Races::default();
                if again(&mut races)? {
                    return Ok(true);
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
        Ok(false)
    }
}

fn interrupted(run: &VariantRun) -> bool {
    matches!(run.ends.last(), Some(End::Interrupted))
}

/// Returns whether two rows are compared by their issues: rows of one warp size, and rows of a
/// machine's axes, whose width may be an axis.
fn comparable(a: &Row, b: &Row) -> bool {
    let of_axes = |row: &Row| row.profile.is_none() && !row.settings.is_empty();
    a.warp_size == b.warp_size || of_axes(a) || of_axes(b)
}

/// Returns whether a mechanism is one that a machine could have: not a bound.
fn realisable(mechanism: &str) -> bool {
    converge::Entry::find(mechanism).map_or(true, |entry| !entry.bound)
}

fn impacts(rows: &mut [Row]) {
    let ended = |r: &Row| {
        let done = !matches!(r.verdict, Verdict::Hang | Verdict::Fault | Verdict::Unsupported);
        r.stats.as_ref().filter(|_| done).map(|s| s.counts.slots.issues())
    };
    let best: Vec<Option<u64>> = rows
        .iter()
        .map(|row| {
            let others = rows.iter().filter(|r| comparable(r, row) && realisable(&r.mechanism));
            others.filter_map(ended).min()
        })
        .collect();
    for (row, best) in rows.iter_mut().zip(best) {
        let factor = |best: u64| Some(ended(row)? as f64 / best.max(1) as f64);
        let depth = row.stats.as_ref().map_or(0, max_divergence_depth);
        row.impact = Impact {
            divergence_impact_factor: best.and_then(factor),
            legacy: row.times.mean.map(|mean| mean * depth as f64 / 100.0),
        };
    }
}
