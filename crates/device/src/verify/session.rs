//! Runs cases in workers, one batch after another, and judges what they give.

mod modules;

use std::collections::{BTreeSet, VecDeque};
use std::io::Write as _;
use std::time::{Duration, Instant};

use lab::run::Job;
use machines::{LaunchMonitor, Progress as LaunchProgress};

use super::prepare::{prepare, text_of};
use super::split::{self, Blame};
use super::{
    Case, CaseResult, Kind, Plan, Progress, Suite, VerifyError, arithmetic, at, counters, matrix,
    random, result, statistics, sync,
};
use crate::compare::compare;
use crate::error::DeviceError;
use crate::record::{Identity, Record, RunEnd, RunRecord};
use crate::request::{Request, Run};
use crate::supervise::{self, Patience};

/// Cases of one worker process: as many as start it rarely, and few enough that little is prepared
/// in vain at the end.
const BATCH: usize = 8;

/// Bytes of buffers after which a batch takes no further case.
const BATCH_BYTES: usize = 32 << 20;

/// How long a step of the suite `sync` may take: its kernels are short, or hang.
const SHORT: Duration = Duration::from_secs(5);

/// Receives the result of each case.
type Sink<'a> = dyn FnMut(&CaseResult, Progress) + 'a;

/// Cases of one worker.
#[derive(Default)]
struct Batch {
    cases: Vec<(Case, Job)>,
    /// A run for each of them.
    runs: Vec<Run>,
}

impl Batch {
    /// Whether a case can join. A case that may hang has a worker of its own.
    fn takes(&self, case: &Case) -> bool {
        let is_alone = |case: &Case| case.suite == Suite::Sync;
        case.suite != Suite::Random
            && case.kind == Kind::Compared
            && self.cases.first().is_none_or(|(first, _)| !is_alone(first) && !is_alone(case))
    }
}

pub(super) struct Session<'a> {
    plan: &'a Plan,
    maker: random::Maker,
    device: Identity,
    cases: VecDeque<Case>,
    done: BTreeSet<String>,
    results: std::fs::File,
    until: Instant,
    /// Cases that have ended in this call.
    recorded: usize,
    /// Cases of the batch that have not ended.
    pending: usize,
    monitor: &'a mut dyn LaunchMonitor,
    sink: &'a mut Sink<'a>,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        device: Identity,
        cases: Vec<Case>,
        done: BTreeSet<String>,
        monitor: &'a mut dyn LaunchMonitor,
        sink: &'a mut Sink<'a>,
    ) -> Result<Self, VerifyError> {
        let path = plan.folder.join(result::FILE);
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
        Ok(Self {
            plan,
            maker: random::Maker::new(&device),
            device,
            cases: cases.into(),
            done,
            results: file.map_err(at(&path))?,
            until: Instant::now() + plan.time,
            recorded: 0,
            pending: 0,
            monitor,
            sink,
        })
    }

    /// Runs cases until all is done or the time is over.
    pub(super) fn run(&mut self) -> Result<(), VerifyError> {
        while !self.cases.is_empty() && self.goes_on() {
            self.batch()?;
        }
        Ok(())
    }
}

impl Session<'_> {
    pub(super) fn progress(&self) -> Progress {
        Progress { done: self.done.len(), left: self.cases.len() + self.pending }
    }

    fn goes_on(&self) -> bool {
        Instant::now() < self.until && self.recorded < self.plan.most
    }

    /// Runs the next cases: several in one worker, a module of random kernels or one case alone.
    fn batch(&mut self) -> Result<(), VerifyError> {
        match self.cases.front() {
            Some(case) if case.suite == Suite::Random => return self.modules(),
            Some(case) => {
                let result = match &case.kind {
                    Kind::Compared => None,
                    Kind::Skipped(why) => Some(CaseResult::unprepared(case, why.clone())),
                    Kind::Profiled => Some(counters::result(self.plan, case, self.monitor)),
                };
                if let Some(result) = result {
                    self.cases.pop_front();
                    return self.record(&result);
                }
            }
            None => {}
        }
        let batch = self.choose()?;
        if batch.runs.is_empty() { Ok(()) } else { self.run_batch(batch) }
    }

    /// Takes the next cases for one worker.
    fn choose(&mut self) -> Result<Batch, VerifyError> {
        let mut batch = Batch::default();
        let mut bytes = 0;
        let most = BATCH.min(self.plan.most.saturating_sub(self.recorded));
        while batch.cases.len() < most
            && bytes < BATCH_BYTES
            && let Some(case) = self.cases.pop_front_if(|case| batch.takes(case))
        {
            match prepare(&case) {
                Ok((job, run)) => {
                    bytes += run.buffers.iter().map(|(_, b)| b.data().len()).sum::<usize>();
                    batch.cases.push((case, job));
                    batch.runs.push(run);
                }
                Err(why) => self.record(&CaseResult::unprepared(&case, why))?,
            }
        }
        Ok(batch)
    }

    /// Runs cases in one worker, and compares them.
    fn run_batch(&mut self, batch: Batch) -> Result<(), VerifyError> {
        let Batch { mut cases, runs } = batch;
        let request = Request { choice: self.plan.choice.clone(), runs };
        let plan = self.plan;
        let step = match cases.first() {
            Some((case, _)) if case.suite == Suite::Sync => SHORT.min(plan.patience.step),
            _ => plan.patience.step,
        };
        let patience = Patience { step, ..plan.patience };
        let (count, mut ended, mut failed) = (cases.len(), 0, None);
        self.pending = count;
        supervise::run(&request, &plan.worker, patience, &mut |index, record| {
            ended = index + 1;
            self.pending = count.saturating_sub(ended);
            let Some((case, job)) = cases.get_mut(index) else { return false };
            if let Err(error) = self.judge(case, job, record) {
                failed = Some(error);
            }
            failed.is_none() && self.goes_on()
        })?;
        self.pending = 0;
        // What was prepared and not run is left for the next batch, or the next call.
        for (case, _) in cases.into_iter().skip(ended).rev() {
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

    /// Puts smaller cases in the place of one of which a part does not run, so that this does not
    /// hide the others; false if the record is to be judged.
    fn set_apart(&mut self, case: &Case, record: &RunRecord) -> Result<bool, VerifyError> {
        self.check_interrupt()?;
        // What other processes leave free changes: a later call tries again.
        if let RunEnd::Refused { error: error @ DeviceError::Memory { .. } } = &record.end {
            return Err(error.clone().into());
        }
        match Blame::of(&record.end) {
            Some(blame) => self.split(case, blame),
            None => Ok(false),
        }
    }

    fn judge(
        &mut self,
        case: &Case,
        job: &mut Job,
        mut record: RunRecord,
    ) -> Result<(), VerifyError> {
        if self.set_apart(case, &record)? {
            return Ok(());
        }
        let mut result = match &record.end {
            RunEnd::Refused { .. } => CaseResult::refused(case, &record.end),
            RunEnd::Done if case.suite == Suite::Statistics => {
                statistics::result(case, job, &record, self.monitor)
            }
            _ => match compare(&record, job, self.monitor) {
                Ok(comparison) => CaseResult {
                    notes: match case.suite {
                        Suite::Matrix => matrix::notes(case, &record, &comparison),
                        Suite::Arithmetic => arithmetic::notes(case, &comparison),
                        _ => Vec::new(),
                    },
                    ..CaseResult::compared(case, &record, &comparison)
                },
                Err(found) => CaseResult::unprepared(case, text_of(&found)),
            },
        };
        match case.suite {
            Suite::Arithmetic => keep_differing(case, &result, &mut record),
            Suite::Sync => result.notes = sync::notes(case, job, self.monitor),
            _ => {}
        }
        self.save(case, record)?;
        self.record(&result)
    }

    fn save(&self, case: &Case, record: RunRecord) -> Result<(), VerifyError> {
        let path = self.plan.folder.join("records").join(format!("{}.record", case.name));
        let record = Record::now(self.device.clone(), vec![record]);
        record.save(&path).map_err(|e| VerifyError::Damaged {
            path: path.display().to_string(),
            why: e.to_string(),
        })
    }

    /// Fails once the monitor has stopped the suites: results from then on are those of runs that
    /// were cut short.
    fn check_interrupt(&mut self) -> Result<(), VerifyError> {
        match self.monitor.poll(LaunchProgress::default()) {
            true => Ok(()),
            false => Err(VerifyError::Interrupted),
        }
    }

    fn record(&mut self, result: &CaseResult) -> Result<(), VerifyError> {
        self.check_interrupt()?;
        let path = self.plan.folder.join(result::FILE);
        let line = serde_json::to_string(result).unwrap_or_default() + "\n";
        self.results.write_all(line.as_bytes()).map_err(at(&path))?;
        self.done.insert(result.name.clone());
        self.recorded += 1;
        let progress = self.progress();
        (self.sink)(result, progress);
        Ok(())
    }
}

/// Keeps of buffers that agree the hashes: our own results are the same.
fn keep_differing(case: &Case, result: &CaseResult, record: &mut RunRecord) {
    let differing: BTreeSet<&str> = result.differences.iter().map(|d| d.what.as_str()).collect();
    let label = |name: &str| case.labels.iter().find(|(known, _)| known == name);
    record.keep(|name| differing.contains(label(name).map_or(name, |(_, label)| label.as_str())));
}
