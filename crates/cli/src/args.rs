//! The command line's grammar.

pub(crate) mod debug;
pub(crate) mod device;
pub(crate) mod sweep;

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
    #[command(after_long_help = EXEC_HELP)]
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
6 a check found a defect (see docs/checks.md), 130 interrupted.";

const EXEC_HELP: &str = "\
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
    /// Check all launches for defects: race, init, sync, memory, api, leak, or all; or volatile
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
    /// Check the launches for defects: race, init, sync, memory, or all; or volatile
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

/// Options of one machine or another.
#[derive(Debug, Default, Group)]
#[command(next_help_heading = "Machine options")]
pub(crate) struct MachineOptions {
    /// An option of the machine by name
    #[arg(long = "option", value_name = "NAME=VALUE")]
    pub(crate) options: Vec<String>,
    /// pmask: mask banks, the virtual bank 0 included
    #[arg(long, value_name = "1..4")]
    pub(crate) banks: Option<String>,
    /// pmask: conformance level
    #[arg(long, value_name = "m1|m2")]
    pub(crate) level: Option<String>,
    /// ptx, ir: when steps of asynchronous operations are done
    #[arg(long = "async", value_name = "early|late|random:SEED")]
    pub(crate) asynchrony: Option<String>,
    /// ptx, ir: blocks of a cluster along x, y, z
    #[arg(long, value_name = "X,Y,Z")]
    pub(crate) cluster: Option<String>,
    /// pmask: whether PMASK exists
    #[arg(long, value_name = "on|off")]
    pub(crate) pmask: Option<String>,
    /// pmask: bits of a mask bank
    #[arg(long, value_name = "1..64")]
    pub(crate) maskw: Option<String>,
    /// pmask: what becomes of lanes that are off, after reset
    #[arg(long, value_name = "merge|zero")]
    pub(crate) zmode: Option<String>,
    /// pmask: the bit of CAP.PREC.MODE that is ZMODE
    #[arg(long, value_name = "3|11")]
    pub(crate) zmode_bit: Option<String>,
    /// pmask: vector length after reset
    #[arg(long, value_name = "N")]
    pub(crate) vl: Option<String>,
    /// pmask: `bp.any` and `bp.none`
    #[arg(long, value_name = "on|off")]
    pub(crate) fused_branches: Option<String>,
    /// pmask: `pmmov.to_p0` with a bank
    #[arg(long, value_name = "on|off")]
    pub(crate) to_p0_bank: Option<String>,
    /// pmask: lane data to masks under RSV
    #[arg(long, value_name = "on|off")]
    pub(crate) lane_forms: Option<String>,
    /// pmask: on a machine with one bank, mask algebra acts on P0
    #[arg(long)]
    pub(crate) scalar_algebra: bool,
    /// pmask: RT.BBOX
    #[arg(long)]
    pub(crate) rt: bool,
    /// pmask: random predicates at reset
    #[arg(long, value_name = "SEED")]
    pub(crate) reset_random: Option<String>,
    /// linx: lanes of a group
    #[arg(long, value_name = "1..64")]
    pub(crate) group_width: Option<String>,
    /// linx: inactive lanes of a pushed entry
    #[arg(long, value_name = "merge|zero|poison")]
    pub(crate) inactive: Option<String>,
    /// linx: where a body may go
    #[arg(long, value_name = "first-terminator|taken-path")]
    pub(crate) region: Option<String>,
    /// linx: one lane at a time, `p` only a branch flag
    #[arg(long)]
    pub(crate) replay: bool,
    /// linx: ranges ADDRESS+LENGTH to map when a trap reports an address there; prf, pmask: to map
    /// before the launch
    #[arg(long, value_name = "RANGES")]
    pub(crate) map: Option<String>,
    /// A named set of choices; prf: founding, cardinal, clean; pmask: full, p0-only
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// prf: threads of a block
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<String>,
    /// prf: blocks
    #[arg(long, value_name = "N")]
    pub(crate) blocks: Option<String>,
    /// prf: where to start
    #[arg(long, value_name = "PC")]
    pub(crate) entry: Option<String>,
    /// prf: run on the cycle-level model
    #[arg(long)]
    pub(crate) timing: bool,
    /// prf: what orders a warp's instructions on the cycle-level model
    #[arg(long, value_name = "faithful|interlocked")]
    pub(crate) hazards: Option<String>,
    /// prf: which warp fetches on the cycle-level model
    #[arg(long, value_name = "round-robin|greedy-then-oldest")]
    pub(crate) scheduler: Option<String>,
    /// prf: sizes and latencies of the cycle-level model
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) params: Option<String>,
    /// prf: write a timeline of the cycle-level model for Perfetto or Chrome
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<String>,
}

impl MachineOptions {
    /// The options that were given: the command line's name, the machine's, the value.
    pub(crate) fn given(&self) -> Vec<(&'static str, String, String)> {
        let named = [
            ("async", &self.asynchrony),
            ("cluster", &self.cluster),
            ("banks", &self.banks),
            ("level", &self.level),
            ("pmask", &self.pmask),
            ("maskw", &self.maskw),
            ("zmode", &self.zmode),
            ("zmode-bit", &self.zmode_bit),
            ("vl", &self.vl),
            ("fused-branches", &self.fused_branches),
            ("to-p0-bank", &self.to_p0_bank),
            ("lane-forms", &self.lane_forms),
            ("reset-random", &self.reset_random),
            ("group-width", &self.group_width),
            ("inactive", &self.inactive),
            ("region", &self.region),
            ("map", &self.map),
            ("profile", &self.profile),
            ("threads", &self.threads),
            ("blocks", &self.blocks),
            ("entry", &self.entry),
            ("hazards", &self.hazards),
            ("scheduler", &self.scheduler),
            ("params", &self.params),
            ("trace", &self.trace),
        ];
        let named = named
            .into_iter()
            .filter_map(|(name, value)| Some((name, name.to_owned(), value.clone()?)));
        let switches = [
            ("scalar-algebra", self.scalar_algebra),
            ("rt", self.rt),
            ("replay", self.replay),
            ("timing", self.timing),
        ];
        let switches = switches.into_iter().filter(|(_, on)| *on);
        let switches = switches.map(|(name, _)| (name, name.to_owned(), "on".to_owned()));
        let free = self.options.iter().map(|text| {
            let (name, value) = text.split_once('=').unwrap_or((text, "on"));
            ("option", name.to_owned(), value.to_owned())
        });
        named.chain(switches).chain(free).collect()
    }
}

/// What the commands of the divergence laboratory run.
#[derive(Debug, Group)]
pub(crate) struct Target {
    #[command(flatten)]
    pub(crate) subject: Subject,
    /// Side of a divergent branch that runs first, where a mechanism asks: taken, fallthrough,
    /// minority, majority
    #[arg(long, value_name = "NAME")]
    pub(crate) order: Option<String>,
    /// An option of the machine by name, in every row; repeat it for more
    #[arg(long = "option", value_name = "NAME=VALUE")]
    pub(crate) options: Vec<String>,
    /// When steps of asynchronous operations are done, in every row
    #[arg(long = "async", value_name = "early|late|random:SEED")]
    pub(crate) asynchrony: Option<String>,
    /// Blocks of a cluster along x, y, z, in every row
    #[arg(long, value_name = "X,Y,Z")]
    pub(crate) cluster: Option<String>,
}

impl Target {
    /// The same as `run` takes it.
    pub(crate) fn as_run(&self) -> Run {
        let machine = MachineOptions {
            options: self.options.clone(),
            asynchrony: self.asynchrony.clone(),
            cluster: self.cluster.clone(),
            ..MachineOptions::default()
        };
        Run::of(&self.subject, machine)
    }
}

/// `explore`.
#[derive(Debug, Group)]
pub(crate) struct Explore {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Mechanisms, which restrict what schedules there are; by default the launch's, and serial
    #[arg(long, value_name = "all|A,B,..")]
    pub(crate) mechanisms: Option<String>,
    /// The most schedules under a mechanism and an order of branch sides; by default 256 random
    /// ones, and 10000 if all are wanted
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) schedules: Option<u64>,
    /// Run all schedules that differ in more than the order of what commutes
    #[arg(long)]
    pub(crate) exhaustive: bool,
    /// Only those that take a path off that could go on at most so often
    #[arg(long, value_name = "K", requires = "exhaustive")]
    pub(crate) preemptions: Option<u32>,
    /// Write the shortest schedule that shows a difference, for `run --schedule`
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<String>,
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

impl Explore {
    /// The same as `run` takes it.
    pub(crate) fn as_run(&self) -> Run {
        let checks = CheckOptions {
            check: None,
            report: self.report.clone(),
            suppressions: self.suppressions.clone(),
            error_exit: self.error_exit,
        };
        Run { checks, ..self.target.as_run() }
    }
}

/// `compare`.
#[derive(Debug, Group)]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Mechanisms
    #[arg(long, value_name = "all|A,B,..")]
    pub(crate) mechanisms: Option<String>,
    /// Warp sizes; by default the launch's
    #[arg(long, value_name = "N,N,..")]
    pub(crate) warp_size: Option<String>,
    /// Write the comparison as JSON (docs/compare.md); `-` writes it to standard output, in place
    /// of the table
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<String>,
    /// Compare machines instead of mechanisms: those that the kernel is lowered to, as in
    /// ptx,linx,prf
    #[arg(
        long,
        value_name = "A,B,..",
        conflicts_with_all = ["mechanisms", "warp_size", "axes", "profiles", "jobs", "svg"]
    )]
    pub(crate) machines: Option<String>,
    /// A machine's option to vary, with its values (all that there are, if none is named); repeat
    /// it for combinations
    #[arg(long = "axis", value_name = "NAME[=V,V,..]")]
    pub(crate) axes: Vec<String>,
    /// Models of real machines such as pascal,turing,gcn; `simtlab machines` lists them. Alone they
    /// are all that is compared
    #[arg(long, value_name = "all|A,B,..")]
    pub(crate) profiles: Option<String>,
    /// Rows that run at once; by default as many as the host has cores. Only time depends on it
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Write a report that opens in any browser, without a network (docs/compare.md); `-` writes it
    /// to standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<String>,
    /// Write plots of all rows to a folder: lanes over the whole run, and the lane slots lost
    /// because of each branch
    #[arg(long, value_name = "FOLDER")]
    pub(crate) svg: Option<String>,
}

/// `explain`.
#[derive(Debug, Group)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Convergence mechanism
    #[arg(long, value_name = "NAME")]
    pub(crate) mechanism: Option<String>,
    /// Lanes of an issue group
    #[arg(long, value_name = "N")]
    pub(crate) warp_size: Option<String>,
    /// Lines shown in each table
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub(crate) lines: usize,
    /// Write all lines as JSON (docs/explain.md); `-` writes it to standard output, in place of the
    /// tables
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<String>,
}

/// `diff`.
#[derive(Debug, Group)]
pub(crate) struct Diff {
    #[command(flatten)]
    pub(crate) target: Target,
    /// The two mechanisms
    #[arg(long, value_name = "A,B")]
    pub(crate) mechanisms: String,
    /// Lanes of an issue group
    #[arg(long, value_name = "N")]
    pub(crate) warp_size: Option<String>,
    /// Write the difference as JSON (docs/explain.md); `-` writes it to standard output, in place
    /// of the text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<String>,
}

/// `trace`.
#[derive(Debug, Group)]
pub(crate) struct Trace {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Convergence mechanism
    #[arg(long, value_name = "NAME")]
    pub(crate) mechanism: Option<String>,
    /// Lanes of an issue group
    #[arg(long, value_name = "N")]
    pub(crate) warp_size: Option<String>,
    /// Where to write the trace; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: String,
    /// Most slices and instants in the trace
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pub(crate) slices: usize,
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

/// An order of asynchronous steps, as the libraries read it.
fn async_order(text: &str) -> Result<String, String> {
    let order = text.parse::<runtime::Asynchrony>();
    order.map(|order| order.to_string()).map_err(|error| error.to_string())
}
