//! The arguments of the command `device`.

use std::path::PathBuf;

use clap::{Args as Group, Subcommand};
use device::verify::MODULE_KERNELS;

use super::Subject;

pub(crate) const HELP: &str = "\
The device is used through the driver that is installed (libcuda.so.1), which compiles PTX itself.
No CUDA toolkit and no network are needed. See docs/device.md.

Exit codes: 0 all results agree, 1 a result differs, 2 usage or input error, 3 a kernel faulted or
hung on the device, 4 the device cannot be used or does not take the program, 130 interrupted.";

/// `device`.
#[derive(Debug, Group)]
pub(crate) struct Device {
    #[command(subcommand)]
    pub(crate) command: DeviceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DeviceCommand {
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
    pub(crate) library: Option<PathBuf>,
    /// Take Simtlab's own driver library, too: for tests of these commands. Records are marked as
    /// simulated
    #[arg(long)]
    pub(crate) allow_simulated: bool,
    /// The device's number
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) device: i32,
    /// Seconds after which a launch is taken to hang
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = seconds())]
    pub(crate) timeout: u64,
}

/// `device info`.
#[derive(Debug, Group)]
pub(crate) struct Info {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Accepts sizes of modules.
fn module() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(1..=i64::from(MODULE_KERNELS))
}

/// `device run`.
#[derive(Debug, Group)]
pub(crate) struct RunDevice {
    #[command(flatten)]
    pub(crate) subject: Subject,
    #[command(flatten)]
    pub(crate) which: Which,
    /// Run it here, too, and hold the device's results against ours bit by bit
    #[arg(long)]
    pub(crate) compare: bool,
    /// Write the device's results to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Hold the results of a file against ours; needs no device
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "library", "device"])]
    pub(crate) recorded: Option<PathBuf>,
}

/// `device verify`.
#[derive(Debug, Group)]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Suites: arithmetic, matrix, kernels, statistics, sync, random, or all
    #[arg(long, value_name = "NAME,..", default_value = "all")]
    pub(crate) suite: String,
    /// Folder for records and results
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Time after which no more is begun: 90s, 8m, 1h
    #[arg(long, value_name = "TIME", default_value = "8m")]
    pub(crate) time: String,
    /// Most cases that this call runs
    #[arg(long, value_name = "N")]
    pub(crate) cases: Option<usize>,
    /// Workers that run modules of random kernels at the same time; by default one for each host
    /// thread, up to 8
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: Option<u16>,
    /// Kernels of a module of random kernels: smaller modules load sooner
    #[arg(long, value_name = "N", default_value_t = MODULE_KERNELS, value_parser = module())]
    pub(crate) module_kernels: u16,
    /// Run only cases whose name or one of whose instructions or kernels contains a text; may be
    /// repeated
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Vec<String>,
    /// A folder of kernels in place of the bundled ones
    #[arg(long, value_name = "DIR")]
    pub(crate) kernels: Option<PathBuf>,
}

/// `device report`.
#[derive(Debug, Group)]
pub(crate) struct Report {
    /// Folders that `verify` has written
    #[arg(required = true)]
    pub(crate) folders: Vec<PathBuf>,
}
