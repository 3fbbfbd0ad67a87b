//! Suites of kernels on a device, compared with our own results, within a time budget.
//!
//! A folder holds what has been done: `device.json`, one record a case under `records/`, and
//! `results.jsonl` with a line for each case that has ended. A later call with the same folder goes
//! on with the cases that are left. Cases that were made for the suite are launch files under
//! `cases/`, so that each can be run alone.

mod arithmetic;
mod counters;
mod folder;
mod kernels;
mod matrix;
mod prepare;
mod random;
mod result;
mod session;
mod split;
mod statistics;
mod sync;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use machines::LaunchMonitor;

use crate::error::DeviceError;
use crate::request::{Choice, Request};
use crate::supervise::{self, Patience, WorkerCommand};
pub use folder::results;
pub use random::MODULE_KERNELS;
pub use result::{CaseResult, Differing, Verdict};
use session::Session;

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

    /// Whether results follow from inputs alone, under every schedule.
    const fn is_determinate(self) -> bool {
        matches!(self, Self::Arithmetic | Self::Matrix | Self::Random)
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
    /// A folder of kernels in place of the bundled ones.
    pub kernels: Option<PathBuf>,
    /// If not empty, only cases are run whose name or one of whose instructions or kernels contains
    /// one of these texts.
    pub only: Vec<String>,
    /// The time after which no more is begun, counted from when the cases are made.
    pub time: Duration,
    /// Most cases that this call runs.
    pub most: usize,
    /// Workers that run modules of random kernels at the same time.
    pub jobs: usize,
    /// Kernels of a module of the random suite, 1 to [`MODULE_KERNELS`].
    pub module_kernels: u16,
}

/// Why suites cannot be run at all.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A file cannot be read or written.
    #[error("{path}: {}", inputs::file::io_reason(.error))]
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
    /// The folder holds results of another version of this program, whose cases are others.
    #[error("{folder} holds results of {found}, this program is {this}")]
    OtherVersion {
        /// The folder.
        folder: String,
        /// The program that wrote them.
        found: String,
        /// This program.
        this: String,
    },
    /// The monitor stopped the suites. Results recorded before are kept.
    #[error("interrupted; the same command continues where it ended")]
    Interrupted,
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

/// How a case is run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// On the device and here; what the device gives is compared.
    Compared,
    /// On the device under a profiler, and here; counts are compared.
    Profiled,
    /// Not at all, for this reason.
    Skipped(String),
}

/// What to run next.
#[derive(Clone, Debug)]
struct Case {
    name: String,
    suite: Suite,
    kind: Kind,
    /// How much its result is worth: approximations and what is written down nowhere come first.
    value: u32,
    launch_file: PathBuf,
    /// What the buffers stand for: of cases that were made for the suite, the instructions.
    labels: Vec<(String, String)>,
    /// The instructions, of which smaller cases can be made.
    parts: Vec<String>,
}

impl Case {
    /// A case that is not run, for a reason.
    fn skipped(suite: Suite, name: &str, value: u32, why: String) -> Self {
        Self {
            name: name.to_owned(),
            suite,
            kind: Kind::Skipped(why),
            value,
            launch_file: PathBuf::new(),
            labels: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Whether its name or one of its parts contains one of the texts.
    fn is_meant(&self, texts: &[String]) -> bool {
        let mut names = self.parts.iter().chain([&self.name]);
        texts.is_empty() || names.any(|name| texts.iter().any(|text| name.contains(text)))
    }
}

/// How far it came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Cases that have ended, in this call or an earlier one.
    pub done: usize,
    /// Cases left.
    pub left: usize,
}

/// Runs the suites until all is done or the time is over, and passes the result of each case to
/// `sink`.
///
/// # Errors
/// If the device cannot be used, or the folder not be written.
pub fn verify(
    plan: &Plan,
    monitor: &mut dyn LaunchMonitor,
    sink: &mut dyn FnMut(&CaseResult, Progress),
) -> Result<Progress, VerifyError> {
    let none = Request { choice: plan.choice.clone(), runs: Vec::new() };
    let answers = supervise::run(&none, &plan.worker, plan.patience, &mut |_, _| true)?;
    let device = answers.device;
    for folder in [&plan.folder, &plan.folder.join("records"), &plan.folder.join("cases")] {
        std::fs::create_dir_all(folder).map_err(at(folder))?;
    }
    folder::claim(&plan.folder, &device)?;
    let done: BTreeSet<String> =
        result::read(&plan.folder)?.into_iter().map(|result| result.name).collect();
    let mut cases = Vec::new();
    for suite in &plan.suites {
        match suite {
            Suite::Arithmetic => cases.extend(arithmetic::cases(&plan.folder, &device)?),
            Suite::Matrix => cases.extend(matrix::cases(&plan.folder, &device)?),
            Suite::Kernels => {
                let kernels = plan.kernels.as_deref();
                cases.extend(kernels::cases(&plan.folder, kernels, &device)?);
            }
            Suite::Statistics => {
                cases.extend(statistics::cases(&plan.folder)?);
                cases.push(counters::case(&plan.folder)?);
            }
            Suite::Sync => cases.extend(sync::cases(&plan.folder)?),
            Suite::Random => cases.extend(random::cases(&plan.folder, plan.module_kernels)?),
        }
    }
    cases.sort_by(|a, b| b.value.cmp(&a.value).then_with(|| a.name.cmp(&b.name)));
    cases.retain(|case| !done.contains(&case.name) && case.is_meant(&plan.only));
    let mut session = Session::new(plan, device, cases, done, monitor, sink)?;
    session.run()?;
    Ok(session.progress())
}
