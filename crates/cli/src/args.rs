//! The command line's grammar.

use std::path::PathBuf;

use clap::{Args as Group, Parser, Subcommand, ValueEnum};

/// A SIMT virtual machine and divergence laboratory: runs GPU kernels with exact results and shows where lanes are lost.
#[derive(Debug, Parser)]
#[command(name = "simtlab", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Args {
    /// When to use colour.
    #[arg(long, value_enum, default_value_t = Color::Auto, global = true, hide_possible_values = true, value_name = "WHEN")]
    pub(crate) color: Color,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a kernel, or what a launch file says
    #[command(after_long_help = RUN_HELP)]
    Run(Box<Run>),
    /// Check programs without running them: lists all that is wrong or not supported
    Check(Check),
    /// List a program's kernels with their parameters and sizes
    List(List),
    /// Show a kernel's control-flow graph with immediate post-dominators
    Cfg(Cfg),
    /// Assemble text to a binary
    Asm(Asm),
    /// Disassemble a binary to text
    Disasm(Disasm),
    /// Run a machine's conformance suite
    Conform(Conform),
    /// List machines and their convergence mechanisms
    Machines,
    /// Print a completion script for a shell
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

const RUN_HELP: &str = "\
Arguments (--arg), by parameter name or in order:
  n=u32:1024                            a scalar
  x=f32[1024]:iota                      a buffer: zeros, ones, fill(v), iota, random, [v, v, ...]
  a=f32[64,64]:random(seed=1,lo=-1,hi=1)
  m=@matrix.npy                         a buffer from a file
  y=&x                                  the address of a buffer that has a name
  p=bytes[01 00 00 00]                  raw bytes

Exit codes: 0 ok, 1 an expectation is not met, 2 usage or input error, 3 the kernel faulted or hung,
130 interrupted.";

/// Which instruction set a program is for.
#[derive(Debug, Group)]
pub(crate) struct IsaChoice {
    /// Machine; by default the file name's extension tells
    #[arg(long, value_name = "NAME")]
    pub(crate) isa: Option<String>,
}

/// `run`.
#[derive(Debug, Group)]
pub(crate) struct Run {
    /// A program, a launch file (.toml), or a directory that holds a launch.toml
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) isa: IsaChoice,
    /// Kernel to run; may be left away if there is only one
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    /// Blocks
    #[arg(long, value_name = "X[,Y,Z]")]
    pub(crate) grid: Option<String>,
    /// Threads of a block
    #[arg(long, value_name = "X[,Y,Z]")]
    pub(crate) block: Option<String>,
    /// An argument, by name or in order; repeat it for each parameter
    #[arg(long = "arg", value_name = "SPEC", allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
    /// Dynamic shared memory
    #[arg(long, value_name = "BYTES")]
    pub(crate) shared: Option<String>,
    /// Convergence mechanism
    #[arg(long, value_name = "NAME")]
    pub(crate) mechanism: Option<String>,
    /// Lanes of an issue group
    #[arg(long, value_name = "N")]
    pub(crate) warp_size: Option<String>,
    /// How to print statistics
    #[arg(long, value_enum, default_value_t = Stats::Text)]
    pub(crate) stats: Stats,
    /// Write a buffer to a file after the run
    #[arg(long, value_name = "NAME=FILE.npy")]
    pub(crate) dump: Vec<String>,
    /// Seed for everything random
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<String>,
    /// Most instructions issued before a launch is taken to hang
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<String>,
}

/// How to print statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stats {
    /// A table.
    #[default]
    Text,
    /// One JSON object (docs/stats-json.md).
    Json,
    /// Not at all.
    None,
}

/// `check`.
#[derive(Debug, Group)]
pub(crate) struct Check {
    /// Programs
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) isa: IsaChoice,
}

/// `list`.
#[derive(Debug, Group)]
pub(crate) struct List {
    /// A program
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) isa: IsaChoice,
}

/// `cfg`.
#[derive(Debug, Group)]
pub(crate) struct Cfg {
    /// A program
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) isa: IsaChoice,
    /// Which kernel; may be left away if there is only one
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    /// Text, or Graphviz's language
    #[arg(long, value_enum, default_value_t = GraphFormat::Text)]
    pub(crate) format: GraphFormat,
}

/// Forms of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// For people.
    #[default]
    Text,
    /// For Graphviz.
    Dot,
}

/// `asm`.
#[derive(Debug, Group)]
pub(crate) struct Asm {
    /// Assembly text
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) isa: IsaChoice,
    /// Where to write the binary
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// `disasm`.
#[derive(Debug, Group)]
pub(crate) struct Disasm {
    /// A binary
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) isa: IsaChoice,
}

/// `conform`.
#[derive(Debug, Group)]
pub(crate) struct Conform {
    /// Machine
    #[arg(long, value_name = "NAME")]
    pub(crate) isa: String,
}
