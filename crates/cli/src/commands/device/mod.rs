//! The command `device`: kernels on a real GPU, and comparison of its results with ours.

mod run;
mod suites;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as Group, Subcommand};
use device::DeviceError;
use device::record::Identity;
use device::request::{Choice, Request};
use device::supervise::{self, Patience, WorkerCommand};
use serde_json::json;

use crate::args::Subject;
use crate::out::{Exit, Out};

pub(crate) const HELP: &str = "\
The device is used through the driver that is installed (libcuda.so.1), which compiles PTX itself.
No CUDA toolkit and no network are needed. See docs/device.md.

Exit codes: 0 all results agree, 1 a result differs, 2 usage or input error, 3 a kernel faulted or
hung on the device, 4 the device cannot be used or does not take the program, 130 interrupted.";

/// `device`.
#[derive(Debug, Group)]
pub(crate) struct Device {
    #[command(subcommand)]
    command: DeviceCommand,
}

#[derive(Debug, Subcommand)]
enum DeviceCommand {
    /// Tell which driver library there is, which driver, which device
    Info(Info),
    /// Run a program or a launch file on the device
    Run(Box<RunDevice>),
    /// Run suites on the device and compare, within a time budget; a later call with the same
    /// folder goes on
    Verify(Verify),
    /// Print tables of folders that `verify` has written
    Report(Report),
    /// The process that uses the device
    #[command(hide = true)]
    Worker {
        /// The request's file.
        request: PathBuf,
        /// The answers' file.
        replies: PathBuf,
    },
}

/// Parses a number of seconds, up to a day.
fn seconds() -> clap::builder::RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(1..=86_400)
}

/// Which device, and how long it may take.
#[derive(Clone, Debug, Group)]
pub(crate) struct Which {
    /// The driver library; by default the libcuda.so.1 that the system finds
    #[arg(long, value_name = "PATH")]
    library: Option<PathBuf>,
    /// Take Simtlab's own driver library, too: for tests of these commands. Records are marked as
    /// simulated
    #[arg(long)]
    allow_simulated: bool,
    /// The device's number
    #[arg(long, value_name = "N", default_value_t = 0)]
    device: i32,
    /// Seconds after which a launch is taken to hang
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = seconds())]
    timeout: u64,
}

impl Which {
    fn choice(&self) -> Choice {
        Choice {
            library: self.library.clone(),
            allow_simulated: self.allow_simulated,
            ordinal: self.device,
        }
    }

    fn patience(&self) -> Patience {
        Patience { step: Duration::from_secs(self.timeout), ..Patience::default() }
    }
}

/// `device info`.
#[derive(Debug, Group)]
pub(crate) struct Info {
    #[command(flatten)]
    which: Which,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `device run`.
#[derive(Debug, Group)]
pub(crate) struct RunDevice {
    #[command(flatten)]
    subject: Subject,
    #[command(flatten)]
    which: Which,
    /// Run it here, too, and hold the device's results against ours bit by bit
    #[arg(long)]
    compare: bool,
    /// Write the device's results to a file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Hold the results of a file against ours; needs no device
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "library", "device"])]
    recorded: Option<PathBuf>,
}

/// `device verify`.
#[derive(Debug, Group)]
pub(crate) struct Verify {
    #[command(flatten)]
    which: Which,
    /// Suites: arithmetic, matrix, kernels, statistics, sync, random, or all
    #[arg(long, value_name = "NAME,..", default_value = "all")]
    suite: String,
    /// Folder for records and results
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Time after which no more is begun: 90s, 8m, 1h
    #[arg(long, value_name = "TIME", default_value = "8m")]
    time: String,
    /// Most cases that this call runs
    #[arg(long, value_name = "N")]
    cases: Option<usize>,
    /// Workers that run modules of random kernels at the same time; by default one for each host
    /// thread, up to 8
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: Option<u16>,
    /// Run only cases whose name or one of whose instructions or kernels contains a text; may be
    /// repeated
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// A folder of kernels in place of the bundled ones
    #[arg(long, value_name = "DIR")]
    kernels: Option<PathBuf>,
}

/// `device report`.
#[derive(Debug, Group)]
pub(crate) struct Report {
    /// Folders that `verify` has written
    #[arg(required = true)]
    folders: Vec<PathBuf>,
}

pub(crate) fn device(args: &Device, out: &mut Out) -> Exit {
    match &args.command {
        DeviceCommand::Info(args) => info(args, out),
        DeviceCommand::Run(args) => run::run(args, out),
        DeviceCommand::Verify(args) => suites::verify(args, out),
        DeviceCommand::Report(args) => suites::report(args, out),
        DeviceCommand::Worker { request, replies } => {
            match device::worker::work(request, replies) {
                Ok(()) => Exit::Ok,
                Err(error) => {
                    out.note(&format!("error: {error}\n"));
                    Exit::NoDevice
                }
            }
        }
    }
}

/// Returns the command that starts this program as a worker.
fn worker() -> Result<WorkerCommand, DeviceError> {
    let program = std::env::current_exe().map_err(|e| {
        DeviceError::Worker(format!("cannot be started: this program has no known file: {e}"))
    })?;
    Ok(WorkerCommand { program, arguments: vec!["device".into(), "worker".into()] })
}

fn refuse(error: &DeviceError, out: &mut Out) -> Exit {
    out.note(&format!("error: {error}\n  help: {}\n", error.help()));
    Exit::NoDevice
}

fn identify(which: &Which) -> Result<Identity, DeviceError> {
    let request = Request { choice: which.choice(), runs: Vec::new() };
    let answers = supervise::run(&request, &worker()?, which.patience(), &mut |_, _| true)?;
    Ok(answers.device)
}

fn info(args: &Info, out: &mut Out) -> Exit {
    let found = match identify(&args.which) {
        Ok(found) => found,
        Err(error) => return refuse(&error, out),
    };
    let most = device::worker::newest_ptx(found.driver);
    if args.json {
        let json = json!({ "device": found, "newest_ptx": most });
        out.text(&format!("{json:#}\n"));
        return Exit::Ok;
    }
    let kind = if found.simulated { "Simtlab's own: simulated, not a device" } else { "real" };
    let [major, minor] = found.capability;
    let most = most.map_or_else(String::new, |most| format!(", PTX up to {most}"));
    out.text(&format!(
        "library          {} ({kind})\ndriver           CUDA {}{most}\ndevice {:<9} {}\n\
         capability       {major}.{minor}\nmultiprocessors  {}, {} MHz\nmemory           {} MiB\n\
         uuid             {}\n",
        found.library,
        found.cuda(),
        found.ordinal,
        found.name,
        found.multiprocessors,
        found.clock / 1000,
        found.memory >> 20,
        found.uuid,
    ));
    Exit::Ok
}
