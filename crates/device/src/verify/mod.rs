//! Suites of kernels on a device, compared with our own results, within a time budget.
//!
//! A folder holds what has been done: `device.json`, one record a case under `records/`, and
//! `results.jsonl` with a line for each case that has ended. A later call with the same folder goes
//! on with the cases that are left. Cases that were made for the suite are launch files under
//! `cases/`, so that each can be run alone.

mod arithmetic;
mod kernels;
mod matrix;
mod random;
mod result;
mod split;
mod statistics;
mod sync;

use std::collections::{BTreeSet, VecDeque};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use isa::{Diagnostics, SourceMap};
use lab::machine::Watch;
use lab::run::{Job, JobParts, Settings};

use crate::compare::{Comparison, compare, outline};
use crate::error::DeviceError;
use crate::record::{Identity, Record, RunEnd, RunRecord};
use crate::request::{Choice, Request, Run};
use crate::supervise::{self, Patience, WorkerCommand};
pub use result::{CaseResult, Differing, Verdict};
use split::Blame;

/// Cases of one worker process: as many as start it rarely, and few enough that little is prepared
/// in vain at the end.
const BATCH: usize = 8;

/// Bytes of buffers after which a batch takes no further case.
const BATCH_BYTES: usize = 32 << 20;

/// How long a step of the suite `sync` may take: its kernels are short, or hang.
const SHORT: Duration = Duration::from_secs(5);

/// Kinds of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suite {
    /// Every form of every arithmetic instruction, on special values and random bits.
    Arithmetic,
    /// Every form of `mma`, on random values with spread exponents.
    Matrix,
    /// The bundled kernels.
    Kernels,
    /// What divergence costs, beside what a mechanism predicts.
    Statistics,
    /// Barriers and locks that hang or not, each in a process of its own.
    Sync,
    /// Random kernels of both generators, recorded by seed.
    Random,
}

impl Suite {
    /// All suites with their names.
    pub const ALL: [(&'static str, Self); 6] = [
        ("arithmetic", Self::Arithmetic),
        ("matrix", Self::Matrix),
        ("kernels", Self::Kernels),
        ("statistics", Self::Statistics),
        ("sync", Self::Sync),
        ("random", Self::Random),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, suite)| *suite == self).map_or("", |(name, _)| *name)
    }
}

/// What to verify, where, and until when.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The device.
    pub choice: Choice,
    /// How to start workers.
    pub worker: WorkerCommand,
    /// How long they may take.
    pub patience: Patience,
    /// The suites.
    pub suites: Vec<Suite>,
    /// The folder of the results.
    pub folder: PathBuf,
    /// Where the bundled kernels are.
    pub kernels: PathBuf,
    /// The time after which no more is begun, counted from when the cases are made.
    pub time: Duration,
    /// Most cases that this call runs.
    pub most: usize,
}

/// Why suites cannot be run at all.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A file cannot be read or written.
    #[error("{path}: {}", lab::run::io_reason(.error))]
    Io {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// The folder holds results of another device.
    #[error("{folder} holds results of another device: {of}")]
    OtherDevice {
        /// The folder.
        folder: String,
        /// That device.
        of: String,
    },
    /// The folder holds something else.
    #[error("{path} is damaged: {why}")]
    Damaged {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
}

/// Adds the path to an error of the operating system.
pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> VerifyError {
    let path = path.display().to_string();
    move |error| VerifyError::Io { path, error }
}

/// What to run next.
#[derive(Clone, Debug)]
struct Case {
    name: String,
    suite: Suite,
    /// How much its result is worth: approximations and what is written down nowhere come first.
    value: u32,
    launch_file: PathBuf,
    /// What the buffers stand for: of cases that were made for the suite, the instructions.
    labels: Vec<(String, String)>,
    /// The instructions, of which smaller cases can be made.
    parts: Vec<String>,
}

/// How far it came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Cases that have ended, in this call or an earlier one.
    pub done: usize,
    /// Cases left.
    pub left: usize,
}

/// Runs the suites until all is done or the time is over. `told` is told of each case.
///
/// # Errors
/// If the device cannot be used, or the folder not be written.
pub fn verify(
    plan: &Plan,
    watch: &mut dyn Watch,
    told: &mut dyn FnMut(&CaseResult, Progress),
) -> Result<Progress, VerifyError> {
    let none = Request { choice: plan.choice.clone(), runs: Vec::new() };
    let answers = supervise::run(&none, &plan.worker, plan.patience, &mut |_, _| true)?;
    let device = answers.device;
    for folder in [&plan.folder, &plan.folder.join("records"), &plan.folder.join("cases")] {
        std::fs::create_dir_all(folder).map_err(at(folder))?;
    }
    claim(&plan.folder, &device)?;
    let results = plan.folder.join(result::FILE);
    let done: BTreeSet<String> =
        result::read(&plan.folder)?.into_iter().map(|result| result.name).collect();
    let mut cases = Vec::new();
    for suite in &plan.suites {
        match suite {
            Suite::Arithmetic => cases.extend(arithmetic::cases(&plan.folder, &device)?),
            Suite::Matrix => cases.extend(matrix::cases(&plan.folder, &device)?),
            Suite::Kernels => cases.extend(kernels::cases(&plan.kernels)?),
            Suite::Statistics => cases.extend(statistics::cases(&plan.folder)?),
            Suite::Sync => cases.extend(sync::cases(&plan.folder)?),
            Suite::Random => cases.extend(random::cases(&plan.folder)?),
        }
    }
    cases.sort_by(|a, b| b.value.cmp(&a.value).then_with(|| a.name.cmp(&b.name)));
    cases.retain(|case| !done.contains(&case.name));
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&results);
    let mut session = Session {
        plan,
        maker: random::Maker::new(&device),
        device,
        cases: cases.into(),
        done,
        results: file.map_err(at(&results))?,
        until: Instant::now() + plan.time,
        told_of: 0,
        pending: 0,
        watch,
        told,
    };
    while !session.cases.is_empty() && session.goes_on() {
        session.batch()?;
    }
    Ok(session.progress())
}

/// The device and the results in a folder.
///
/// # Errors
/// If it has none, or they cannot be read.
pub fn results(folder: &Path) -> Result<(Identity, Vec<CaseResult>), VerifyError> {
    let path = folder.join("device.json");
    let text = std::fs::read_to_string(&path).map_err(at(&path))?;
    let device = serde_json::from_str(&text).map_err(|e| VerifyError::Damaged {
        path: path.display().to_string(),
        why: e.to_string(),
    })?;
    Ok((device, result::read(folder)?))
}

/// Makes the folder one of this device, or finds that it is one.
fn claim(folder: &Path, device: &Identity) -> Result<(), VerifyError> {
    let path = folder.join("device.json");
    if let Ok(text) = std::fs::read_to_string(&path) {
        let known: Identity = serde_json::from_str(&text).map_err(|e| VerifyError::Damaged {
            path: path.display().to_string(),
            why: e.to_string(),
        })?;
        let same = (&known.uuid, known.driver, known.simulated)
            == (&device.uuid, device.driver, device.simulated);
        let folder = folder.display().to_string();
        let other = || VerifyError::OtherDevice { folder, of: known.line() };
        return if same { Ok(()) } else { Err(other()) };
    }
    let text = serde_json::to_string_pretty(device).unwrap_or_default();
    std::fs::write(&path, text + "\n").map_err(at(&path))
}

struct Session<'a> {
    plan: &'a Plan,
    maker: random::Maker,
    device: Identity,
    cases: VecDeque<Case>,
    done: BTreeSet<String>,
    results: std::fs::File,
    until: Instant,
    /// Cases that have ended in this call.
    told_of: usize,
    /// Cases of the batch that have not ended.
    pending: usize,
    watch: &'a mut dyn Watch,
    told: &'a mut dyn FnMut(&CaseResult, Progress),
}

impl Session<'_> {
    fn progress(&self) -> Progress {
        Progress { done: self.done.len(), left: self.cases.len() + self.pending }
    }

    fn goes_on(&self) -> bool {
        Instant::now() < self.until && self.told_of < self.plan.most
    }

    /// Runs the next cases in one worker, and compares them.
    fn batch(&mut self) -> Result<(), VerifyError> {
        let mut ready: Vec<(Case, Job)> = Vec::new();
        let mut runs = Vec::new();
        let (mut bytes, mut alone) = (0, false);
        let most = BATCH.min(self.plan.most.saturating_sub(self.told_of));
        while ready.len() < most
            && bytes < BATCH_BYTES
            && !alone
            && let Some(case) = self.cases.pop_front()
        {
            alone = case.suite == Suite::Sync;
            if alone && !ready.is_empty() {
                self.cases.push_front(case);
                break;
            }
            if case.suite == Suite::Random {
                self.maker.write(&case)?;
            }
            match prepare(&case) {
                Ok((job, run)) => {
                    bytes += run.buffers.iter().map(|(_, b)| b.data().len()).sum::<usize>();
                    ready.push((case, job));
                    runs.push(run);
                }
                Err(_) if case.suite == Suite::Random && self.split(&case, Blame::Unknown)? => {}
                Err(why) => self.tell(&CaseResult::unprepared(&case, why))?,
            }
        }
        if runs.is_empty() {
            return Ok(());
        }
        let request = Request { choice: self.plan.choice.clone(), runs };
        let mut taken = 0;
        let mut failed = None;
        let plan = self.plan;
        let batch = ready.len();
        self.pending = batch;
        let step =
            if alone && batch == 1 { SHORT.min(plan.patience.step) } else { plan.patience.step };
        let patience = Patience { step, ..plan.patience };
        supervise::run(&request, &plan.worker, patience, &mut |index, record| {
            taken = index + 1;
            self.pending = batch.saturating_sub(taken);
            let Some((case, job)) = ready.get_mut(index) else { return false };
            if let Err(error) = self.judge(case, job, record) {
                failed = Some(error);
            }
            failed.is_none() && self.goes_on()
        })?;
        self.pending = 0;
        // What was prepared and not run is left for the next batch, or the next call.
        for (case, _) in ready.into_iter().skip(taken).rev() {
            if case.suite == Suite::Random {
                random::remove(&case)?;
            }
            self.cases.push_front(case);
        }
        failed.map_or(Ok(()), Err)
    }

    /// Puts two smaller cases in the place of one; false if it cannot be parted.
    fn split(&mut self, case: &Case, blame: Blame<'_>) -> Result<bool, VerifyError> {
        let mark = match case.suite {
            Suite::Arithmetic => ".visible .entry",
            Suite::Random => random::MARK,
            _ => return Ok(false),
        };
        let path = case.launch_file.with_extension("ptx");
        let program = std::fs::read_to_string(&path).map_err(at(&path))?;
        let Some(parts) = split::parted(&program, mark, case.parts.len(), blame) else {
            return Ok(false);
        };
        if case.suite == Suite::Random {
            random::remove(case)?;
        }
        for (mark, numbers) in ["b", "a"].into_iter().zip(parts.iter().rev()) {
            let part = match case.suite {
                Suite::Random => random::part(case, mark, numbers),
                _ => arithmetic::part(&self.plan.folder, &self.device, case, mark, numbers)?,
            };
            if !self.done.contains(&part.name) {
                self.cases.push_front(part);
            }
        }
        Ok(true)
    }

    /// Holds a record against our results. Of a module of many kernels, those that differ first are
    /// looked at in a case of their own, which stays in the folder.
    fn hold(
        &mut self,
        case: &Case,
        job: &mut Job,
        record: &RunRecord,
    ) -> Result<Result<Comparison, Diagnostics>, VerifyError> {
        if case.suite != Suite::Random {
            return Ok(compare(record, job, self.watch));
        }
        let mut comparison = match outline(record, job, self.watch) {
            Ok(comparison) if !comparison.agrees() => comparison,
            other => return Ok(other),
        };
        let (small, record) = random::differing(case, record, &comparison);
        self.maker.write(&small)?;
        if let Ok((mut job, _)) = prepare(&small)
            && let Ok(found) = compare(&record, &mut job, self.watch)
        {
            for buffer in found.buffers {
                let known = comparison.buffers.iter_mut().find(|b| b.name == buffer.name);
                if let Some(known) = known {
                    *known = buffer;
                }
            }
        }
        Ok(Ok(comparison))
    }

    fn judge(
        &mut self,
        case: &Case,
        job: &mut Job,
        mut record: RunRecord,
    ) -> Result<(), VerifyError> {
        // A part that does not run must not hide the others.
        if let Some(blame) = Blame::of(&record.end)
            && self.split(case, blame)?
        {
            return Ok(());
        }
        let mut result = match &record.end {
            RunEnd::Refused { .. } => CaseResult::refused(case, &record.end),
            RunEnd::Done if case.suite == Suite::Statistics => {
                let notes = statistics::notes(case, job, &record, self.watch);
                CaseResult::measured(case, &record, notes)
            }
            _ => match self.hold(case, job, &record)? {
                Ok(comparison) => CaseResult {
                    notes: match case.suite {
                        Suite::Matrix => matrix::notes(case, &record, &comparison),
                        _ => Vec::new(),
                    },
                    ..CaseResult::compared(case, &record, &comparison)
                },
                Err(found) => CaseResult::unprepared(case, text_of(&found)),
            },
        };
        match case.suite {
            Suite::Random => random::settle(case, &result, &mut record)?,
            Suite::Sync => result.notes = sync::notes(case, job, self.watch),
            _ => {}
        }
        let path = self.plan.folder.join("records").join(format!("{}.record", case.name));
        let record = Record::now(self.device.clone(), vec![record]);
        record.save(&path).map_err(|e| VerifyError::Damaged {
            path: path.display().to_string(),
            why: e.to_string(),
        })?;
        self.tell(&result)
    }

    fn tell(&mut self, result: &CaseResult) -> Result<(), VerifyError> {
        let path = self.plan.folder.join(result::FILE);
        let line = serde_json::to_string(result).unwrap_or_default() + "\n";
        self.results.write_all(line.as_bytes()).map_err(at(&path))?;
        self.done.insert(result.name.clone());
        self.told_of += 1;
        let progress = self.progress();
        (self.told)(result, progress);
        Ok(())
    }
}

/// The job of a case, and the run.
fn prepare(case: &Case) -> Result<(Job, Run), String> {
    let mut sources = SourceMap::new();
    let parts = JobParts::from_launch_file(&case.launch_file, None, &mut sources);
    let job = parts.and_then(|parts| Job::prepare(parts, &Settings::default(), &mut sources));
    let job = job.map_err(|found| text_of(&found))?;
    let run = Run::of(&case.name, &job).map_err(|found| text_of(&found))?;
    Ok((job, run))
}

fn text_of(found: &Diagnostics) -> String {
    let lines: Vec<&str> = found.iter().map(|d| d.message.as_str()).collect();
    lines.join("; ")
}
