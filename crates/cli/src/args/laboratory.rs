//! The arguments of the divergence laboratory's commands.

use std::path::PathBuf;

use clap::{Args as Group, ValueEnum};

use super::{CheckOptions, MachineOptions, Run, Subject};

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
    /// How products of matrices of floats are added, in every row
    #[arg(long, value_name = "device|exact|f32")]
    pub(crate) matrix_sums: Option<String>,
}

impl Target {
    /// The same as `run` takes it.
    pub(crate) fn as_run(&self) -> Run {
        let machine = MachineOptions {
            options: self.options.clone(),
            asynchrony: self.asynchrony.clone(),
            cluster: self.cluster.clone(),
            matrix_sums: self.matrix_sums.clone(),
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

/// What `trace` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    /// Events of the Trace Event format.
    Events,
    /// Lines of text.
    Text,
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
    /// What to write: events for Perfetto and Chrome, or a line for each issue with the mask of its
    /// group before and after it
    #[arg(long, value_name = "FORMAT", default_value = "events")]
    pub(crate) format: TraceFormat,
    /// Most slices and instants in the trace, or most issues
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pub(crate) slices: usize,
}
