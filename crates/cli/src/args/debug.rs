//! The arguments of `debug`.

use std::path::PathBuf;

use clap::Args as Group;

use super::Target;

pub(super) const HELP: &str = "\
Commands are read from a script, or from standard input; `help` lists them, and docs/debugger.md explains them.

Exit codes: 0 ok or quit, 2 usage or input error, 3 a launch ran on to a fault or hang.";

/// `debug`.
#[derive(Debug, Group)]
pub(crate) struct Debug {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Convergence mechanism
    #[arg(long, value_name = "NAME")]
    pub(crate) mechanism: Option<String>,
    /// Lanes of an issue group
    #[arg(long, value_name = "N")]
    pub(crate) warp_size: Option<String>,
    /// Where launches are first shown: fault, hang, or a location such as 12, k.cu:12 or a
    /// function; by default before their first instruction
    #[arg(long, value_name = "fault|hang|LOCATION")]
    pub(crate) at: Option<String>,
    /// Read commands from a file, and repeat them in the output
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Read commands from standard input line by line, also in a terminal
    #[arg(long, conflicts_with = "script")]
    pub(crate) plain: bool,
    /// Serve GDB at this address instead of reading commands, for launches of the machine pmask
    #[arg(long, value_name = "[HOST]:PORT", conflicts_with_all = ["script", "at"])]
    pub(crate) gdb: Option<String>,
    /// Write a recording when the session ends: the inputs, where the launches stand and what was
    /// changed. `simtlab debug FILE` opens it at the same issue, on any computer
    #[arg(long, value_name = "FILE.json", conflicts_with = "gdb")]
    pub(crate) record: Option<PathBuf>,
    /// Memory that snapshots may take, in MiB
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub(crate) memory: Option<u32>,
}

/// `dap`.
#[derive(Debug, Group)]
pub(crate) struct Dap {
    /// Listen at this port of this host for one client, instead of using standard input and output
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
}

/// `attach`.
#[derive(Debug, Group)]
pub(crate) struct Attach {
    /// What `simtlab exec --debug` has said; by default the program that was started last
    pub(crate) folder: Option<PathBuf>,
    /// Read commands from standard input line by line, also in a terminal
    #[arg(long, conflicts_with = "script")]
    pub(crate) plain: bool,
    /// Read commands from a file, and repeat them in the output
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
}
