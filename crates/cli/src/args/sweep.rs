//! The grammar of `sweep`.

use std::path::PathBuf;

use clap::{Args as Group, Subcommand};

/// What `sweep --help` ends with.
pub(crate) const HELP: &str = "\
A suite names launch files and the axes that are varied: docs/sweeps.md. Rows are appended to a directory as they
finish; --resume goes on with a sweep that was stopped, and runs no row again. Shards run anywhere, and are merged:

  simtlab sweep suite.toml --shard 1/3 --out a        (2/3 to b and 3/3 to c, on other machines)
  simtlab sweep merge a b c --out all
  simtlab sweep report all --html all.html";

/// `sweep`.
#[derive(Debug, Group)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Sweep {
    #[command(subcommand)]
    pub(crate) command: Option<SweepCommand>,
    /// The suite file
    pub(crate) suite: Option<PathBuf>,
    /// Rows that run at once; by default as many as the host has cores. Only time depends on it
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Run one part of the rows only: part I of N
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<String>,
    /// The directory of the rows; by default NAME.sweep
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with the rows that the directory has
    #[arg(long)]
    pub(crate) resume: bool,
}

/// What is done with the rows of a sweep.
#[derive(Debug, Subcommand)]
pub(crate) enum SweepCommand {
    /// Put the shards of a sweep together
    Merge(Merge),
    /// Write the rows as CSV or Parquet, sorted by key
    Export(Export),
    /// Draw the rows as SVG
    Plot(Plot),
    /// Write a report with plots and tables as one HTML file
    Report(Report),
}

/// `sweep merge`.
#[derive(Debug, Group)]
pub(crate) struct Merge {
    /// The directories of all shards
    #[arg(required = true)]
    pub(crate) folders: Vec<PathBuf>,
    /// The directory of the whole
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

/// `sweep export`.
#[derive(Debug, Group)]
pub(crate) struct Export {
    /// The directory of a sweep
    pub(crate) folder: PathBuf,
    /// Write CSV; `-` is standard output
    #[arg(long, value_name = "FILE", required_unless_present = "parquet")]
    pub(crate) csv: Option<PathBuf>,
    /// Leave out columns of time, which differ from run to run
    #[arg(long)]
    pub(crate) no_times: bool,
    /// Write Parquet, by the program simtlab-parquet
    #[arg(long, value_name = "FILE")]
    pub(crate) parquet: Option<PathBuf>,
}

/// `sweep plot`.
#[derive(Debug, Group)]
pub(crate) struct Plot {
    /// The directory of a sweep
    pub(crate) folder: PathBuf,
    /// The folder of the pictures
    #[arg(long, value_name = "FOLDER")]
    pub(crate) svg: PathBuf,
}

/// `sweep report`.
#[derive(Debug, Group)]
pub(crate) struct Report {
    /// The directory of a sweep
    pub(crate) folder: PathBuf,
    /// Where to write it; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) html: PathBuf,
}
