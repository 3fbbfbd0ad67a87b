//! One launch file with one seed, ready to run: its job, its reference, and the keys of its rows.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use inputs::file::{MAX_PROGRAM_BYTES, read_input};
use inputs::launch::MAX_FILE_BYTES;
use isa::{Diagnostics, SourceMap};
use lab::run::{Job, JobParts, Settings};
use machines::LaunchMonitor;
use sha2::{Digest, Sha256};
use study::divergence::{Baseline, Cell, RowOptions};

use crate::record::{Record, RowPlace};
use crate::suite::{Group, Suite, first_message};

/// The version of rows: it changes whenever equal inputs may give other rows.
pub(crate) const ROWS_VERSION: u64 = 3;

/// A hash of fields, each with its length.
pub(crate) struct Hasher(Sha256);

impl Hasher {
    pub(crate) fn new(kind: &str) -> Self {
        let mut this = Self(Sha256::new());
        this.field(kind.as_bytes());
        this.field(env!("CARGO_PKG_VERSION").as_bytes());
        this.field(&ROWS_VERSION.to_le_bytes());
        this
    }

    pub(crate) fn field(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Returns the first 128 bits in hexadecimal.
    pub(crate) fn finish(self) -> String {
        self.0.finalize().iter().take(16).fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// A group whose launch file has been read.
pub struct OpenGroup<'s> {
    suite: &'s Suite,
    group: &'s Group,
    /// Its cells, with the key of each.
    cells: Vec<(Cell, String)>,
    /// The job, or why there is none.
    job: Result<Job, String>,
    /// The kernels' names.
    kernels: String,
}

impl<'s> OpenGroup<'s> {
    /// Reads the launch file, the program and the inputs of a group. What cannot be read is told by
    /// its rows.
    #[must_use]
    pub fn new(suite: &'s Suite, group: &'s Group) -> Self {
        let job = job(suite, group);
        let digest = match &job {
            Ok(job) => job_digest(job),
            Err(_) => text_digest(group),
        };
        let key = |cell: &Cell| {
            let mut hash = Hasher::new("row");
            hash.field(digest.as_bytes());
            hash.field(group.name.as_bytes());
            hash.field(cell.mechanism.as_bytes());
            hash.field(&cell.warp_size.to_le_bytes());
            hash.field(cell.profile.as_deref().unwrap_or("").as_bytes());
            for (name, value) in &cell.settings {
                hash.field(name.as_bytes());
                hash.field(value.as_bytes());
            }
            hash.field(format!("{:?} {:?}", group.seed, suite.limit()).as_bytes());
            hash.finish()
        };
        let cells = suite.cells(group).into_iter().map(|cell| {
            let key = key(&cell);
            (cell, key)
        });
        let kernels = match &job {
            Ok(job) => job.kernel_names().collect::<Vec<_>>().join("+"),
            Err(_) => String::new(),
        };
        Self { suite, group, cells: cells.collect(), job, kernels }
    }

    /// Returns the keys of its rows, by cell.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.cells.iter().map(|(_, key)| key.as_str())
    }

    /// Runs the reference. Returns `None` if the monitor stopped it.
    pub fn baseline(&self, monitor: &mut dyn LaunchMonitor) -> Option<Result<Baseline, String>> {
        let job = match &self.job {
            Ok(job) => job,
            Err(message) => return Some(Err(message.clone())),
        };
        let widths: Vec<u64> = self.cells.iter().map(|(cell, _)| cell.warp_size).collect();
        match guarded(|| Baseline::new(job, &widths, monitor)) {
            Ok(Ok(Some(baseline))) => Some(Ok(baseline)),
            Ok(Ok(None)) => None,
            Ok(Err(found)) => Some(Err(first_message(&found))),
            Err(message) => Some(Err(message)),
        }
    }

    /// Runs one cell. Returns `None` if the monitor stopped it.
    pub fn row(
        &self,
        index: usize,
        baseline: &Result<Baseline, String>,
        monitor: &mut dyn LaunchMonitor,
    ) -> Option<Record> {
        let (cell, key) = self.cells.get(index)?;
        let seed = match &self.job {
            Ok(job) => job.seed(),
            Err(_) => self.group.seed.unwrap_or(0),
        };
        let place = RowPlace {
            key,
            suite: &self.suite.name,
            launch: &self.group.name,
            machine: self.group.machine.as_ref().map_or("", |machine| machine.name),
            kernels: &self.kernels,
            seed,
        };
        let started = Instant::now();
        let row = match (&self.job, baseline) {
            (Err(message), _) | (_, Err(message)) => Err(message.clone()),
            (Ok(job), Ok(baseline)) => {
                let how = RowOptions::default();
                match guarded(|| baseline.row(job, cell, &how, monitor)) {
                    Ok(Ok(row)) => Ok(row?),
                    Ok(Err(found)) => Err(first_message(&found)),
                    Err(message) => Err(message),
                }
            }
        };
        let seconds = started.elapsed().as_secs_f64();
        Some(match row {
            Ok(row) => Record::of(&place, &row, seconds),
            Err(message) => Record::failed(&place, cell, &message, seconds),
        })
    }
}

/// Runs something that must not end the sweep: a panic is a failed row.
fn guarded<R>(run: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        format!("a defect of Simtlab: {}", text.unwrap_or_default())
    })
}

fn job(suite: &Suite, group: &Group) -> Result<Job, String> {
    if let Err(message) = &group.machine {
        return Err(message.clone());
    }
    let prepared = || -> Result<Job, Diagnostics> {
        let mut sources = SourceMap::new();
        let parts = JobParts::from_launch_file(&group.path, None, &mut sources)?;
        let settings = Settings { seed: group.seed, limit: suite.limit(), ..Settings::default() };
        Job::prepare(parts, &settings, &mut sources)
    };
    guarded(prepared)?.map_err(|found| first_message(&found))
}

/// Hashes all that a job's runs depend on: the program, the launches with their parameters, the
/// contents of buffers, options, seed and limit.
fn job_digest(job: &Job) -> String {
    let mut hash = Hasher::new("job");
    hash.field(job.machine().name.as_bytes());
    let program = read_input(job.module_path(), MAX_PROGRAM_BYTES, None).unwrap_or_default();
    hash.field(&program);
    match job.bound_launches() {
        Ok(launches) => hash.field(format!("{launches:?}").as_bytes()),
        Err(found) => hash.field(first_message(&found).as_bytes()),
    }
    for (name, array) in job.inputs() {
        hash.field(name.as_bytes());
        hash.field(format!("{:?} {:?}", array.ty(), array.shape()).as_bytes());
        hash.field(array.data());
    }
    for option in job.options() {
        hash.field(format!("{}={:?}", option.key.value, option.value.value).as_bytes());
    }
    for name in job.multisets() {
        hash.field(name.as_bytes());
    }
    hash.field(format!("{} {}", job.seed(), job.warp_size()).as_bytes());
    hash.finish()
}

/// Hashes the text of a launch file that cannot be run.
fn text_digest(group: &Group) -> String {
    let mut hash = Hasher::new("text");
    hash.field(&read_input(&group.path, MAX_FILE_BYTES, None).unwrap_or_default());
    hash.finish()
}
