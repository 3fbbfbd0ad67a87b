//! The command line's grammar.

pub(crate) mod debug;
pub(crate) mod device;
mod exec;
mod laboratory;
mod machine;
pub(crate) mod sweep;

pub(crate) use exec::Exec;
pub(crate) use laboratory::{Compare, Diff, Explain, Explore, Target, Trace, TraceFormat};
pub(crate) use machine::MachineOptions;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as Group, Parser, Subcommand, ValueEnum};

/// A SIMT virtual machine and divergence laboratory: runs GPU kernels with exact results and shows
/// where lanes are lost.
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

/// The words of a command line: `debug --dap` and `debug --attach` have no target, and so are
/// commands of their own.
pub(crate) fn words(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    let debug = words.get(1).is_some_and(|word| word == "debug");
    for (option, command) in [("--dap", "dap"), ("--attach", "attach")] {
        if debug && let Some(at) = words.iter().position(|word| word == option) {
            words.remove(at);
            words[1] = command.into();
            break;
        }
    }
    words
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
    /// Measure the engines side by side, and the native limit of known kernels
    Bench(Bench),
    /// Run in other orders of threads: whether results, hangs and faults depend on them
    Explore(Box<Explore>),
    /// Run under every convergence mechanism: one table, results held against serial execution
    Compare(Box<Compare>),
    /// Run suites of kernels under mechanisms, widths, orders, profiles and options, to tables and
    /// plots
    #[command(after_long_help = sweep::HELP)]
    Sweep(Box<sweep::Sweep>),
    /// Show where lanes are lost: by cause, by branch, by line
    Explain(Box<Explain>),
    /// Find the first issue at which two mechanisms part
    Diff(Box<Diff>),
    /// Write a trace for Perfetto or Chrome
    Trace(Box<Trace>),
    /// Debug launches: breakpoints, steps, watches, forwards and backwards in time
    #[command(after_long_help = debug::HELP)]
    Debug(Box<debug::Debug>),
    /// Debug the launches of a program under `exec --debug`; the same as `debug --attach`
    Attach(debug::Attach),
    /// Serve an editor as debugger, by the Debug Adapter Protocol; the same as `debug --dap`
    Dap(debug::Dap),
    /// List the convergence mechanisms with their sources, state and limits
    Mechanisms,
    /// Check programs without running them: lists all that is wrong or not supported
    Check(Check),
    /// List a program's kernels with their parameters and sizes
    List(List),
    /// Show a kernel's control-flow graph with immediate post-dominators
    Cfg(Cfg),
    /// Turn a kernel's branches into predicates: how many, spills, added instructions
    Predicate(Predicate),
    /// Write a kernel as assembly of another machine
    Lower(Lower),
    /// Assemble text to a binary
    Asm(Asm),
    /// Disassemble a binary to text
    Disasm(Disasm),
    /// Run a machine's conformance suite
    Conform(Conform),
    /// Run a program that uses CUDA, with the virtual device in place of a GPU; say at the end what
    /// ran
    #[command(after_long_help = exec::HELP)]
    Exec(Exec),
    /// Run kernels on a real GPU through its driver, and hold its results against Simtlab's
    #[command(after_long_help = device::HELP)]
    Device(Box<device::Device>),
    /// A stand-in for NVIDIA's ptxas: checks PTX and passes it on as it is
    #[command(hide = true, disable_help_flag = true)]
    Ptxas {
        /// As ptxas takes them.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// List machines and their convergence mechanisms; with options, what they make of one
    Machines(Box<Machines>),
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

Exit codes: 0 ok, 1 an expectation is not met or the result depends on the order of groups (linx,
--option conflicts=on), 2 usage or input error, 3 the kernel faulted or hung, 6 a check found a
defect (see docs/checks.md), 130 interrupted.";

/// Which instruction set a program is for.
#[derive(Clone, Debug, Group)]
pub(crate) struct IsaChoice {
    /// Machine; by default the file name's extension tells
    #[arg(long, value_name = "NAME")]
    pub(crate) isa: Option<String>,
    /// linx: numbers of the tile operations
    #[arg(long, value_name = "v0.4|v0.3")]
    pub(crate) tile_ops: Option<String>,
    /// linx: conventions of fields and frames; by default those of the kind of file
    #[arg(long, value_name = "v0.4|compiler")]
    pub(crate) conventions: Option<String>,
    /// linx: a table (TSV) that gives forms other bits, bodies other terminators and causes of
    /// traps other numbers
    #[arg(long, value_name = "FILE")]
    pub(crate) table: Option<String>,
    /// ptx: compute capability of the device whose limits hold, by default that of the program's
    /// target
    #[arg(long, value_name = "X.Y|none")]
    pub(crate) limits_of: Option<String>,
}

impl IsaChoice {
    /// The options that say how programs are read, those that were given.
    pub(crate) fn reading(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let options = [
            ("tile-ops", &self.tile_ops),
            ("conventions", &self.conventions),
            ("table", &self.table),
            ("limits-of", &self.limits_of),
        ];
        options.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }
}

/// What to run, and on what: the same for every command that runs something.
#[derive(Clone, Debug, Group)]
pub(crate) struct Subject {
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
    /// Seed for everything random
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<String>,
    /// Most instructions issued before a launch is taken to hang
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<String>,
}

/// `run`.
#[derive(Debug, Group)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) subject: Subject,
    /// Convergence mechanism
    #[arg(long, value_name = "NAME")]
    pub(crate) mechanism: Option<String>,
    /// Lanes of an issue group
    #[arg(long, value_name = "N")]
    pub(crate) warp_size: Option<String>,
    /// Side of a divergent branch that runs first, where the mechanism asks: taken, fallthrough,
    /// minority, majority
    #[arg(long, value_name = "NAME")]
    pub(crate) order: Option<String>,
    /// Engine that runs the launches, of machines that have several
    #[arg(long, value_enum, default_value_t = EngineName::Fast)]
    pub(crate) engine: EngineName,
    /// Vector instructions that the fast engine may use, at most; by default SIMTLAB_SIMD, or all
    /// that the host has. Only time depends on them
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) simd: Option<LevelName>,
    /// Threads of the host that run the blocks of a launch; by default SIMTLAB_JOBS, or as many as
    /// the host has. Only time depends on it
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// How to print statistics
    #[arg(long, value_enum, default_value_t = Stats::Text)]
    pub(crate) stats: Stats,
    /// Say which engine ran each launch and why no faster one did, and under which schedule
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Write a buffer to a file after the run
    #[arg(long, value_name = "NAME=FILE.npy")]
    pub(crate) dump: Vec<String>,
    /// Write memory after the run as words in hexadecimal with their addresses, zeros left out: all
    /// that programs may write, or a range of it
    #[arg(long, value_name = "[ADDRESS+LENGTH=]FILE")]
    pub(crate) dump_hex: Vec<String>,
    /// Write the words from the program's symbol begin_signature up to end_signature after the run,
    /// as architecture tests compare them
    #[arg(long, value_name = "FILE")]
    pub(crate) signature: Vec<String>,
    /// Run in a recorded schedule, on the exact engine (docs/explore.md); it says under which
    /// mechanism
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mechanism", "warp_size"])]
    pub(crate) schedule: Option<String>,
    /// Write a recording of the run, which `simtlab debug FILE` opens at its end, fault or hang, on
    /// any computer
    #[arg(long, value_name = "FILE.json", conflicts_with = "schedule")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) checks: CheckOptions,
    #[command(flatten)]
    pub(crate) machine: MachineOptions,
}

/// Checks of launches, and reports of what they find.
#[derive(Debug, Default, Group)]
#[command(next_help_heading = "Checks")]
pub(crate) struct CheckOptions {
    /// Check the launches for defects: race, init, sync, memory, or all; or volatile, strict
    #[arg(
        long,
        value_name = "CHECKS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all"
    )]
    pub(crate) check: Option<String>,
    /// Report findings as text, json, sarif, junit or github, to standard output or to a file
    #[arg(long, value_name = "FORMAT[=FILE]")]
    pub(crate) report: Vec<String>,
    /// A file with findings that are accepted
    #[arg(long, value_name = "FILE")]
    pub(crate) suppressions: Option<PathBuf>,
    /// End with this code if there are findings
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) error_exit: Option<u8>,
}

impl Run {
    /// The arguments of a run of a subject about which nothing else is said but options of the
    /// machine.
    pub(crate) fn of(subject: &Subject, machine: MachineOptions) -> Self {
        Self {
            subject: subject.clone(),
            mechanism: None,
            warp_size: None,
            order: None,
            engine: EngineName::Fast,
            simd: None,
            jobs: None,
            stats: Stats::None,
            verbose: false,
            dump: Vec::new(),
            dump_hex: Vec::new(),
            signature: Vec::new(),
            schedule: None,
            record: None,
            checks: CheckOptions::default(),
            machine,
        }
    }
}

/// `bench`.
#[derive(Debug, Group)]
pub(crate) struct Bench {
    /// Launch files, folders with one, or names of bundled kernels such as saxpy; all of these if
    /// none is given
    pub(crate) targets: Vec<String>,
    /// Runs of each kernel on each engine; the median counts
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) repeat: usize,
    /// Vector instructions that are measured, at most; by default all that the host has, and
    /// compiled code with AVX2, too
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) simd: Option<LevelName>,
    /// Measure this engine alone; `fast` is the compiled one without statistics
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<EngineName>,
    /// Measure this engine with so many threads of the host, rather than one
    #[arg(long, short, value_name = "N", requires = "engine",
        value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// How products of matrices of floats are added, on machines that have them
    #[arg(long, value_name = "device|exact|f32")]
    pub(crate) matrix_sums: Option<String>,
    /// Measure how much slower compiled code is with each of these checks: memory, init, race, sync
    /// and all of these if none is named
    #[arg(
        long,
        value_name = "CHECKS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "memory,init,race,sync,all",
        conflicts_with = "engine"
    )]
    pub(crate) check: Option<String>,
    /// Write the rows as JSON, to standard output if FILE is -
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(crate) json: Option<String>,
}

/// The engines of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineName {
    /// The fastest that runs a launch to the same end as the exact one.
    #[default]
    Fast,
    /// As fast, with nothing compiled.
    Interpreted,
    /// As fast, with short launches compiled, too.
    Compiled,
    /// The one that defines results, faults and statistics.
    Exact,
    /// Both, one after the other, whose memory is compared after each launch; exit code 5 if they
    /// differ.
    Both,
}

/// Sets of vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LevelName {
    /// What every host of the architecture has; nothing is compiled.
    Portable,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// x86-64 with AVX-512.
    Avx512,
}

impl From<LevelName> for machines::Level {
    fn from(name: LevelName) -> Self {
        match name {
            LevelName::Portable => Self::Portable,
            LevelName::Avx2 => Self::Avx2,
            LevelName::Avx512 => Self::Avx512,
        }
    }
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
    /// Programs, launch files, or folders with a launch file
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) isa: IsaChoice,
}

/// `machines`.
#[derive(Debug, Group)]
pub(crate) struct Machines {
    /// One machine
    #[arg(long, value_name = "NAME")]
    pub(crate) isa: Option<String>,
    #[command(flatten)]
    pub(crate) machine: MachineOptions,
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

/// `predicate`.
#[derive(Debug, Group)]
pub(crate) struct Predicate {
    /// A program, a launch file (.toml), or a directory that holds a launch.toml
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) isa: IsaChoice,
    /// Which kernel; all of them if left away
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    /// Predicate registers of a warp, the one of all lanes counted
    #[arg(long, value_name = "N")]
    pub(crate) np: Option<String>,
    /// Print the predicated code, too, as IR
    #[arg(long)]
    pub(crate) code: bool,
}

/// `lower`.
#[derive(Debug, Group)]
pub(crate) struct Lower {
    /// A program in PTX or the IR, a launch file (.toml), or a directory that holds a launch.toml
    pub(crate) file: PathBuf,
    /// The machine that is to run the kernel
    #[arg(long, value_name = "MACHINE")]
    pub(crate) isa: String,
    /// Which kernel
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    /// A setting of the lowering to this machine; an unknown one lists those that there are
    #[arg(long = "option", value_name = "NAME=NUMBER")]
    pub(crate) options: Vec<String>,
    /// Print what the program takes instead of the program
    #[arg(long)]
    pub(crate) report: bool,
    /// Write the program to a file
    #[arg(short, long, value_name = "FILE.s")]
    pub(crate) output: Option<String>,
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
    /// Where to write the binary; with --listing it may be left away
    #[arg(short, long, value_name = "FILE", required_unless_present = "listing")]
    pub(crate) output: Option<PathBuf>,
    /// Print a listing: addresses, bytes and the text
    #[arg(long)]
    pub(crate) listing: bool,
    /// linx: how operands of 64-bit forms are read
    #[arg(long, value_name = "regid10|b")]
    pub(crate) codec: Option<String>,
}

/// `disasm`.
#[derive(Debug, Group)]
pub(crate) struct Disasm {
    /// A binary
    #[arg(required_unless_present = "hex", conflicts_with = "hex")]
    pub(crate) file: Option<PathBuf>,
    /// Bytes in hexadecimal, in memory order, instead of a file
    #[arg(short = 'x', long, value_name = "HEX", requires = "isa")]
    pub(crate) hex: Option<String>,
    /// linx: how operands of 64-bit forms are read
    #[arg(long, value_name = "regid10|b")]
    pub(crate) codec: Option<String>,
    #[command(flatten)]
    pub(crate) isa: IsaChoice,
}

/// `conform`.
#[derive(Debug, Group)]
pub(crate) struct Conform {
    /// Machine
    #[arg(long, value_name = "NAME")]
    pub(crate) isa: String,
    /// linx: numbers of the tile operations
    #[arg(long, value_name = "v0.4|v0.3")]
    pub(crate) tile_ops: Option<String>,
    /// Tables of the machine's own form; without any, the machine's own suite is run
    pub(crate) tables: Vec<PathBuf>,
}
