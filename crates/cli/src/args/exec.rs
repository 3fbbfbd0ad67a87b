//! The arguments of `exec`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as Group;

use super::EngineName;

pub(super) const HELP: &str = "\
The program finds the virtual device's driver library before any other, and gets PTX where it would make machine code.
Settings of the device can also be given as environment variables: see docs/cuda.md.

Exit codes: the program's own, or 3 if it ended well but a kernel faulted or hung, or that of --error-exit.";

/// `exec`.
#[derive(Debug, Group)]
pub(crate) struct Exec {
    /// Print counts of each kernel at the end
    #[arg(long)]
    pub(crate) stats: bool,
    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Check all launches for defects: race, init, sync, memory, api, leak, or all; or volatile,
    /// strict
    #[arg(
        long,
        value_name = "CHECKS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all"
    )]
    pub(crate) check: Option<String>,
    /// Write findings, faults and hangs as json, sarif, junit or github annotations
    #[arg(long, value_name = "FORMAT=FILE")]
    pub(crate) report: Vec<String>,
    /// A file with findings that are accepted
    #[arg(long, value_name = "FILE")]
    pub(crate) suppressions: Option<PathBuf>,
    /// Compute capability that the device reports
    #[arg(long, value_name = "X.Y")]
    pub(crate) capability: Option<String>,
    /// Engine that runs the launches
    #[arg(long, value_enum, default_value_t = EngineName::Fast)]
    pub(crate) engine: EngineName,
    /// What a fault of a kernel does: stop the use of its context, as on hardware; warn and go on,
    /// where an access reads zero or stores nothing; or undo and fail its launch alone
    #[arg(
        long,
        value_name = "stop|warn|launch",
        value_parser = ["stop", "warn", "launch"],
        hide_possible_values = true
    )]
    pub(crate) faults: Option<String>,
    /// When steps of asynchronous operations are done; by default late under checks that see
    /// events, else early
    #[arg(long = "async", value_name = "early|late|random:SEED", value_parser = async_order)]
    pub(crate) asynchrony: Option<String>,
    /// How products of matrices of floats are added: as devices do, exactly, or by fused
    /// multiply-adds of single precision
    #[arg(long, value_name = "device|exact|f32", value_parser = matrix_sums)]
    pub(crate) matrix_sums: Option<String>,
    /// Threads of the host that run the blocks of a launch; by default as many as it has
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Most instructions issued in a block before a launch is taken to hang
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Tell every call of the driver on the standard error stream
    #[arg(long)]
    pub(crate) trace: bool,
    /// End with this code if the program ends well but a check has found something, or a call has
    /// failed or is not supported
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) error_exit: Option<u8>,
    /// Let the first launch wait for a debugger, which `simtlab debug --attach` is. Launches run at
    /// full speed while none is attached
    #[arg(long, conflicts_with = "check")]
    pub(crate) debug: bool,
    /// Where launches are first shown to the debugger: fault, hang, or a location; others run on
    #[arg(long, value_name = "fault|hang|LOCATION", requires = "debug")]
    pub(crate) at: Option<String>,
    /// Print no report, and end with the program's exit code whatever its kernels did: for programs
    /// that report themselves, such as the pytest plug-in
    #[arg(long, conflicts_with_all = ["stats", "error_exit"])]
    pub(crate) quiet: bool,
    /// Load libcudart into every process before its other libraries: for programs that have a
    /// search path of their own for it. Python programs do without
    #[arg(long)]
    pub(crate) preload: bool,
    /// Where libcuda.so is; by default it is looked for beside this program
    #[arg(long, value_name = "FOLDER")]
    pub(crate) libraries: Option<PathBuf>,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub(crate) command: Vec<OsString>,
}

/// A rule of sums, as the libraries read it.
fn matrix_sums(text: &str) -> Result<String, String> {
    let rule = text.parse::<machines::MatrixSums>();
    rule.map(|rule| rule.to_string()).map_err(|error| error.to_string())
}

/// An order of asynchronous steps, as the libraries read it.
fn async_order(text: &str) -> Result<String, String> {
    let order = text.parse::<machines::Asynchrony>();
    order.map(|order| order.to_string()).map_err(|error| error.to_string())
}
