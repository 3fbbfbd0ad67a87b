//! Runs of a job in many schedules.

use std::rc::Rc;
use std::sync::Arc;

use checks::probe::{Place, Shape};
use inputs::array::Array;
use isa::{Diagnostic, Diagnostics};
use lab::run::{Job, UNSUPPORTED, Variant, VariantRun};
use machines::{End, LaunchMonitor, ProbedMonitor, ScheduledMonitor};
use study::divergence::{Difference, differences};

use crate::blame::{Reversed, reversed};
use crate::outcome::{Ending, Outcome};
use crate::random::Priorities;
use crate::recorded::{Deviation, RecordedSchedule};
use crate::recorder::{Default as Canonical, Launches, Picker, Recorder};
use crate::replay::Replay;
use crate::search::{Progress, Search};
use crate::shorten::shorten;
use crate::trace::Trace;

/// Outcomes of a row that are kept apart; further ones are counted with the last.
const MOST_CLASSES: usize = 256;
/// Limit of issues of other runs, as a multiple of those of the canonical one.
const LIMIT_FACTOR: u64 = 16;
/// Least limit of the other runs.
const LEAST_LIMIT: u64 = 1 << 20;
/// Limit of issues of the canonical run, if the job has none.
const CANONICAL_LIMIT: u64 = 1 << 28;
/// The mechanism under which every lane makes progress.
const FAIR: &str = "serial";

/// Which schedules are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Random ones.
    Random,
    /// All that differ in more than the order of what commutes; only those with at most so many
    /// preemptions, if there is a bound.
    Exhaustive(Option<u32>),
}

/// The scope of an exploration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Mechanisms: those that keep lanes of a warp together restrict what schedules there are.
    pub mechanisms: Vec<String>,
    /// Which side of a divergent branch runs first, if only one is wanted; all that a mechanism has
    /// otherwise.
    pub order: Option<String>,
    /// Which schedules.
    pub how: How,
    /// The most schedules under a mechanism and an order.
    pub schedules: u64,
    /// Seed of random schedules.
    pub seed: u64,
}

/// Returns the mechanisms that are explored if none are named: the job's own, and the one that runs
/// each lane by itself.
#[must_use]
pub fn default_mechanisms(job: &Job) -> Vec<String> {
    let mut out = vec![job.mechanism().to_owned()];
    if job.mechanism() != FAIR {
        out.push(FAIR.to_owned());
    }
    out
}

/// Runs with one outcome.
#[derive(Clone, Debug)]
pub struct Class {
    /// The outcome.
    pub outcome: Outcome,
    /// How many schedules have it.
    pub count: u64,
    /// The first run with it.
    pub(crate) run: Rc<VariantRun>,
    /// Its schedule, shortened where it is reported.
    pub schedule: RecordedSchedule,
}

impl Class {
    /// Returns the contents of a buffer after the first run with this outcome.
    #[must_use]
    pub fn buffer(&self, name: &str) -> Option<&Array> {
        self.run.buffers.iter().find(|buffer| buffer.name == name).map(|buffer| &buffer.contents)
    }
}

/// The schedules under a mechanism and an order.
#[derive(Clone, Debug)]
pub struct Row {
    /// The mechanism.
    pub mechanism: String,
    /// Which side of a divergent branch runs first; `None` for mechanisms without that choice.
    pub order: Option<String>,
    /// Schedules that were run to their ends.
    pub schedules: u64,
    /// Whether these are all, up to what commutes and within the bound.
    pub complete: bool,
    /// Whether the bound on preemptions has excluded any.
    pub bounded: bool,
    /// Outcomes, that of the canonical schedule first.
    pub classes: Vec<Class>,
    /// Why the mechanism does not run the program.
    pub refused: Option<String>,
}

impl Row {
    /// Returns whether all schedules end in a way.
    #[must_use]
    pub fn all(&self, ending: Ending) -> bool {
        !self.classes.is_empty() && self.classes.iter().all(|c| c.outcome.ending == ending)
    }
}

/// What the accesses of a launch refer to.
#[derive(Clone, Default)]
pub(crate) struct Launched {
    pub(crate) kernels: Vec<String>,
    pub(crate) code: Vec<Arc<[Place]>>,
    pub(crate) shapes: Vec<Shape>,
}

/// A schedule that shows a difference.
#[derive(Clone)]
pub(crate) struct Witness {
    pub(crate) class: Class,
    pub(crate) reversed: Option<Reversed>,
    pub(crate) differences: Vec<Difference>,
}

/// What was found about the schedules of a job.
#[derive(Clone)]
pub struct Exploration {
    /// The program's name.
    pub program: String,
    /// One row for each mechanism and order.
    pub rows: Vec<Row>,
    pub(crate) how: How,
    pub(crate) launched: Launched,
    /// Limit of issues of its runs.
    limit: u64,
    pub(crate) hang: Option<Witness>,
    pub(crate) fault: Option<Witness>,
    pub(crate) result: Option<Witness>,
}

impl Exploration {
    /// Returns the report of the fault or hang in which every schedule ends.
    #[must_use]
    pub fn stop(&self) -> Option<&Diagnostic> {
        let stops = |row: &&Row| row.all(Ending::Hang) || row.all(Ending::Fault);
        let mut rows = self.rows.iter().filter(|row| !row.classes.is_empty());
        let class = self.rows.iter().flat_map(|row| &row.classes).next();
        match class?.run.ends.last()? {
            End::Fault(stop) | End::Hang(stop) if rows.all(|row| stops(&row)) => Some(&stop.report),
            _ => None,
        }
    }

    /// Runs a schedule of [`Self::witnesses`] again, and returns whether it ends as it did.
    ///
    /// # Errors
    /// Returns diagnostics if the launches cannot start.
    pub fn agrees(
        &self,
        job: &mut Job,
        schedule: &RecordedSchedule,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<bool, Diagnostics> {
        let multisets = job.multisets().map(str::to_owned).collect();
        let (launched, limit) = (self.launched.clone(), self.limit);
        let mut runner = Runner { job, monitor, multisets, launched, limit };
        let variant = runner.variant(&schedule.mechanism, schedule.order.as_deref());
        let mut replay = Replay::new(&schedule.deviations);
        let outcome = runner.run(&variant, &mut replay, Until::Report)?.outcome;
        let witnesses = [&self.hang, &self.fault, &self.result].into_iter().flatten();
        let mut same = witnesses.filter(|witness| witness.class.schedule == *schedule);
        Ok(replay.unused().is_none() && same.any(|w| outcome == Some(w.class.outcome)))
    }

    /// Returns the schedules that show differences: of a hang, of a fault, of results.
    pub fn witnesses(&self) -> impl Iterator<Item = &RecordedSchedule> {
        let all = [&self.hang, &self.fault, &self.result];
        all.into_iter().flatten().map(|witness| &witness.class.schedule)
    }
}

/// A run with what happened in it.
struct Ran {
    run: VariantRun,
    deviations: Vec<Deviation>,
    trace: Trace,
    outcome: Option<Outcome>,
}

/// How far runs go that hang.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// Until all paths spin.
    Spins,
    /// Until the engine finds the hang, and says who waits for whom.
    Report,
}

/// The runs of one job.
struct Runner<'j> {
    job: &'j mut Job,
    monitor: &'j mut dyn LaunchMonitor,
    multisets: Vec<String>,
    launched: Launched,
    limit: u64,
}

/// The outcome of a step of the exploration; `None` if the user interrupted it.
type Step<T> = Result<Option<T>, Diagnostics>;

impl Runner<'_> {
    fn variant(&self, mechanism: &str, order: Option<&str>) -> Variant {
        Variant {
            mechanism: mechanism.to_owned(),
            warp_size: self.job.warp_size(),
            order: order.map(str::to_owned),
            options: vec![("policy".to_owned(), "first".to_owned())],
            limit: Some(self.limit),
            default_knobs: false,
        }
    }

    fn run(
        &mut self,
        variant: &Variant,
        picker: &mut dyn Picker,
        until: Until,
    ) -> Result<Ran, Diagnostics> {
        let mut recorder = Recorder::new(picker, &self.launched.code);
        if until == Until::Spins {
            recorder.stop_spins(&self.launched.shapes);
        }
        let mut monitor = ScheduledMonitor { monitor: &mut *self.monitor, strategy: &mut recorder };
        let run = self.job.run_plain(variant, &mut monitor)?;
        let Recorder { deviations, trace, spun, .. } = recorder;
        let outcome = match spun {
            true => Some(Outcome::spun(&run)),
            false => Outcome::of(&run, &self.multisets),
        };
        Ok(Ran { run, deviations, trace, outcome })
    }

    /// Learns what is launched.
    fn look(&mut self, variant: &Variant) -> Step<()> {
        let mut launches = Launches::default();
        let mut probed = ProbedMonitor { monitor: &mut *self.monitor, probe: &mut launches };
        let run = self.job.run_plain(variant, &mut probed)?;
        if Outcome::of(&run, &[]).is_none() {
            return Ok(None);
        }
        let Launches { kernels, code, shapes } = launches;
        self.launched = Launched { kernels, code, shapes };
        let issues = run.total().counts.slots.issues();
        self.limit = issues.saturating_mul(LIMIT_FACTOR).clamp(LEAST_LIMIT, CANONICAL_LIMIT);
        Ok(Some(()))
    }
}

/// Runs a job in the schedules of a plan. Returns `None` if the monitor stopped it.
///
/// # Errors
/// Returns diagnostics if the launches cannot start for reasons other than the mechanism.
pub fn explore(
    job: &mut Job,
    plan: &Plan,
    monitor: &mut dyn LaunchMonitor,
) -> Result<Option<Exploration>, Diagnostics> {
    let multisets = job.multisets().map(str::to_owned).collect();
    let program = job.module_name().to_owned();
    let launched = Launched::default();
    let mut runner = Runner { job, monitor, multisets, launched, limit: CANONICAL_LIMIT };
    let mut rows = Vec::new();
    for mechanism in &plan.mechanisms {
        for order in orders(mechanism, plan.order.as_deref()) {
            let variant = runner.variant(mechanism, order.as_deref());
            match row(&mut runner, &variant, plan) {
                Ok(Some(row)) => rows.push(row),
                Ok(None) => return Ok(None),
                Err(found) => {
                    let refusal = found.iter().find(|finding| finding.code == UNSUPPORTED);
                    let Some(refusal) = refusal else { return Err(found) };
                    rows.push(Row {
                        mechanism: mechanism.clone(),
                        order,
                        schedules: 0,
                        complete: true,
                        bounded: false,
                        classes: Vec::new(),
                        refused: Some(refusal.message.clone()),
                    });
                }
            }
        }
    }
    let mut out = Exploration {
        program,
        rows,
        how: plan.how,
        launched: runner.launched.clone(),
        limit: runner.limit,
        hang: None,
        fault: None,
        result: None,
    };
    for ending in [Ending::Hang, Ending::Fault, Ending::Done] {
        let Some((index, class)) = unlike(&out.rows, ending) else { continue };
        let Some(witness) = witness(&mut runner, &out.rows, (index, class))? else {
            return Ok(None);
        };
        match ending {
            Ending::Hang => out.hang = Some(witness),
            Ending::Fault => out.fault = Some(witness),
            Ending::Done => out.result = Some(witness),
        }
    }
    Ok(Some(out))
}

/// The orders of branch sides under a mechanism.
fn orders(mechanism: &str, wanted: Option<&str>) -> Vec<Option<String>> {
    let entry = converge::Entry::find(mechanism);
    if !entry.is_ok_and(|entry| entry.knobs.contains(&"order")) {
        return vec![None];
    }
    match wanted {
        Some(order) => vec![Some(order.to_owned())],
        None => converge::Order::ALL.iter().map(|(name, _)| Some((*name).to_owned())).collect(),
    }
}

/// Returns the run with the shortest schedule of those that end in a way, if not all do: or, of
/// those that are done, one whose results are not those of the first.
fn unlike(rows: &[Row], ending: Ending) -> Option<(usize, Class)> {
    let all = rows.iter().enumerate().flat_map(|(row, r)| r.classes.iter().map(move |c| (row, c)));
    let such = all.clone().filter(|(_, class)| class.outcome.ending == ending);
    if ending == Ending::Done {
        let first = such.clone().next()?.1.outcome.result;
        let others = such.filter(|(_, class)| class.outcome.result != first);
        return others
            .min_by_key(|(_, c)| c.schedule.deviations.len())
            .map(|(r, c)| (r, c.clone()));
    }
    if all.clone().count() == such.clone().count() {
        return None;
    }
    such.min_by_key(|(_, c)| c.schedule.deviations.len()).map(|(r, c)| (r, c.clone()))
}

/// Shortens the schedule of a run, and compares it with the first that is done.
fn witness(runner: &mut Runner<'_>, rows: &[Row], (row, class): (usize, Class)) -> Step<Witness> {
    let RecordedSchedule { mechanism, order, .. } = &class.schedule;
    let variant = runner.variant(mechanism, order.as_deref());
    let wanted = class.outcome;
    // The run that it is compared with: of its row if there is one, so that one choice tells them
    // apart and not another mechanism.
    let done = |c: &&Class| {
        c.outcome.ending == Ending::Done && (wanted.ending != Ending::Done || c.outcome != wanted)
    };
    let other = rows[row].classes.iter().find(done);
    let other = other.or_else(|| rows.iter().flat_map(|r| &r.classes).find(done)).cloned();
    let alike = |outcome: &Outcome| match wanted.ending {
        Ending::Done => {
            let other = other.as_ref().map(|class| class.outcome);
            outcome.ending == Ending::Done && other.is_none_or(|o| o.result != outcome.result)
        }
        ending => outcome.ending == ending && outcome.code == wanted.code,
    };
    let mut interrupted = false;
    let deviations = shorten(class.schedule.deviations.clone(), |candidate| {
        let mut replay = Replay::new(candidate);
        let ran = runner.run(&variant, &mut replay, Until::Spins)?;
        interrupted |= ran.outcome.is_none();
        Ok::<_, Diagnostics>(ran.outcome.filter(alike).map(|_| ran.deviations))
    })?;
    if interrupted {
        return Ok(None);
    }
    let shortest = runner.run(&variant, &mut Replay::new(&deviations), Until::Report)?;
    let Some(outcome) = shortest.outcome else { return Ok(None) };
    let (mut blamed, mut changed) = (None, Vec::new());
    if let Some(other) = &other {
        let RecordedSchedule { mechanism, order, .. } = &other.schedule;
        let variant = runner.variant(mechanism, order.as_deref());
        let against =
            runner.run(&variant, &mut Replay::new(&other.schedule.deviations), Until::Report)?;
        blamed = reversed(&against.trace, &shortest.trace);
        if wanted.ending == Ending::Done {
            let name = "in another schedule";
            changed = differences(&shortest.run, &against.run, &runner.multisets, name);
        }
    }
    let schedule = RecordedSchedule { deviations: shortest.deviations, ..class.schedule };
    let class = Class { outcome, count: class.count, run: Rc::new(shortest.run), schedule };
    Ok(Some(Witness { class, reversed: blamed, differences: changed }))
}

/// Runs the schedules under a mechanism and an order.
fn row(runner: &mut Runner<'_>, variant: &Variant, plan: &Plan) -> Step<Row> {
    if runner.launched.code.is_empty() && runner.look(variant)?.is_none() {
        return Ok(None);
    }
    let variant = Variant { limit: Some(runner.limit), ..variant.clone() };
    let mut row = Row {
        mechanism: variant.mechanism.clone(),
        order: variant.order.clone(),
        schedules: 0,
        complete: false,
        bounded: false,
        classes: Vec::new(),
        refused: None,
    };
    let done = match plan.how {
        How::Random => random(runner, &variant, plan, &mut row)?,
        How::Exhaustive(bound) => exhaustive(runner, &variant, (plan, bound), &mut row)?,
    };
    Ok(done.map(|()| row))
}

impl Row {
    /// Counts a run.
    fn add(&mut self, variant: &Variant, ran: Ran, outcome: Outcome) {
        self.schedules += 1;
        let known = self.classes.iter().position(|class| class.outcome == outcome);
        let full = self.classes.len() == MOST_CLASSES;
        match known.or(full.then_some(MOST_CLASSES - 1)) {
            Some(index) => {
                let class = &mut self.classes[index];
                class.count += 1;
                if ran.deviations.len() < class.schedule.deviations.len() {
                    class.schedule.deviations = ran.deviations;
                }
            }
            None => self.classes.push(Class {
                outcome,
                count: 1,
                run: Rc::new(ran.run),
                schedule: RecordedSchedule {
                    mechanism: variant.mechanism.clone(),
                    warp_size: variant.warp_size,
                    order: variant.order.clone(),
                    deviations: ran.deviations,
                },
            }),
        }
    }
}

fn random(runner: &mut Runner<'_>, variant: &Variant, plan: &Plan, row: &mut Row) -> Step<()> {
    let ran = runner.run(variant, &mut Canonical, Until::Report)?;
    let Some(outcome) = ran.outcome else { return Ok(None) };
    let mut points = ran.trace.events.len() as u64;
    let alone = ran.trace.events.iter().all(|event| event.point.is_none());
    row.add(variant, ran, outcome);
    // Without a choice the canonical schedule is the only one.
    row.complete = alone && outcome.ending == Ending::Done;
    while !row.complete && row.schedules < plan.schedules {
        let mut priorities = Priorities::new(plan.seed, row.schedules, points);
        let ran = runner.run(variant, &mut priorities, Until::Spins)?;
        points = priorities.points.max(1);
        let Some(outcome) = ran.outcome else { return Ok(None) };
        row.add(variant, ran, outcome);
    }
    Ok(Some(()))
}

fn exhaustive(
    runner: &mut Runner<'_>,
    variant: &Variant,
    (plan, bound): (&Plan, Option<u32>),
    row: &mut Row,
) -> Step<()> {
    let mut search = Search::new(bound);
    // Runs that only repeat others are not counted, but take time too.
    let mut left = plan.schedules.saturating_mul(4);
    loop {
        let until = if row.schedules == 0 { Until::Report } else { Until::Spins };
        let ran = runner.run(variant, &mut search, until)?;
        let redundant = search.redundant;
        let progress = search.advance(&ran.trace);
        if !redundant {
            let Some(outcome) = ran.outcome else { return Ok(None) };
            row.add(variant, ran, outcome);
        }
        left = left.saturating_sub(1);
        row.bounded = search.bounded;
        if progress == Progress::Complete {
            row.complete = !search.lossy;
            return Ok(Some(()));
        }
        if row.schedules >= plan.schedules || left == 0 {
            return Ok(Some(()));
        }
    }
}
