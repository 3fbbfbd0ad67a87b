//! The command `sweep`, and what is made of the directories that it leaves.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use isa::{Diagnostic, Diagnostics, SourceMap};
use machines::LaunchMonitor;
use study::divergence::pool;
use sweep::{Manifest, Progress, Shard, Store, StoreError, Suite};

use super::target::one;
use crate::args::sweep::{Export, Merge, Plot, Report, Sweep, SweepCommand};
use crate::line::Line;
use crate::out::{Exit, Out};
use crate::progress::ProgressMonitor;

/// Runs a suite, or does something with the rows of one.
pub(crate) fn sweep(args: &Sweep, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let outcome = match &args.command {
        None => suite(args, &mut sources, out),
        Some(SweepCommand::Merge(args)) => merge(args, out),
        Some(SweepCommand::Export(args)) => export(args, out),
        Some(SweepCommand::Plot(args)) => plots(args, out),
        Some(SweepCommand::Report(args)) => report(args, out),
    };
    outcome.unwrap_or_else(|found| {
        out.findings(&found, &sources);
        Exit::Usage
    })
}

/// Wraps an error of a directory.
fn refused(error: impl Into<StoreError>) -> Diagnostics {
    one(Diagnostic::error("sweep::store", error.into().to_string()))
}

fn suite(args: &Sweep, sources: &mut SourceMap, out: &mut Out) -> Result<Exit, Diagnostics> {
    let mut line = Line::new("sweep");
    let Some(path) = &args.suite else {
        let finding = Diagnostic::error("cli::missing", "a suite file is needed");
        return Err(one(finding
            .help("write simtlab sweep SUITE.toml, or a command: merge, export, report, plot")));
    };
    let span = line.path(path);
    let shard = args.shard.as_ref().map(|text| (text, line.option("shard", text)));
    line.enter(sources);
    let shard = match shard {
        None => Shard::WHOLE,
        Some((text, span)) => Shard::parse(text)
            .map_err(|message| one(Diagnostic::error("cli::shard", message).at(span, "")))?,
    };
    let suite = Suite::load(path, Some(span), sources)?;
    let folder = match &args.out {
        Some(folder) => folder.clone(),
        None if shard == Shard::WHOLE => PathBuf::from(format!("{}.sweep", suite.name)),
        None => PathBuf::from(format!("{}.sweep.{}-of-{}", suite.name, shard.index, shard.count)),
    };
    let manifest = Manifest {
        suite: suite.name.clone(),
        digest: suite.digest.clone(),
        shard,
        rows: suite.rows(),
    };
    let mut store = Store::open(&folder, &manifest, args.resume).map_err(refused)?;
    let (all, before) = (shard.rows(suite.rows()), store.len());
    out.note(&format!(
        "{}: {all} rows{} in {}\n",
        manifest.describe(),
        if before > 0 { format!(", {before} of them finished") } else { String::new() },
        folder.display()
    ));
    let threads = pool::jobs(args.jobs.map_or(0, usize::from));
    let mut bar = ProgressMonitor::new();
    let mut last = Progress::default();
    let finished = sweep::run(&suite, shard, &mut store, threads, &mut |progress| {
        last = progress;
        bar.rows(progress.done as u64, progress.all as u64, progress.issues)
    });
    drop(bar);
    let finished = finished.map_err(refused)?;
    let rate = last.new as f64 / last.elapsed.max(Duration::from_millis(1)).as_secs_f64();
    out.note(&format!(
        "{} rows in {:.1} s, {rate:.1} rows a second on {threads} threads\n",
        last.new,
        last.elapsed.as_secs_f64()
    ));
    if !finished {
        out.note(&format!("{} of {all} rows are finished: go on with --resume\n", store.len()));
        return Ok(Exit::Interrupted);
    }
    tables(&folder).map_err(refused)?;
    out.text(&format!("{}\n", folder.join("rows.csv").display()));
    Ok(Exit::Ok)
}

/// Writes the table and its schema into a directory.
fn tables(folder: &Path) -> Result<(), StoreError> {
    write_csv(folder, &folder.join("rows.csv"), true)?;
    let path = folder.join("columns.json");
    std::fs::write(&path, format!("{:#}\n", sweep::columns_json()))
        .map_err(|e| io("write", &path, e))
}

fn io(what: &'static str, path: &Path, error: std::io::Error) -> StoreError {
    StoreError::Io { what, path: path.display().to_string(), error }
}

fn write_csv(folder: &Path, path: &Path, times: bool) -> Result<(), StoreError> {
    let file = std::fs::File::create(path).map_err(|e| io("write", path, e))?;
    let mut file = std::io::BufWriter::new(file);
    sweep::csv(folder, &mut file, times)?;
    file.flush().map_err(|e| io("write", path, e))
}

fn merge(args: &Merge, out: &mut Out) -> Result<Exit, Diagnostics> {
    let rows = sweep::merge(&args.folders, &args.out).map_err(refused)?;
    tables(&args.out).map_err(refused)?;
    out.text(&format!("{rows} rows in {}\n", args.out.join("rows.csv").display()));
    Ok(Exit::Ok)
}

fn export(args: &Export, out: &mut Out) -> Result<Exit, Diagnostics> {
    Manifest::read(&args.folder).map_err(refused)?;
    if let Some(path) = &args.csv {
        if path.as_os_str() == "-" {
            let mut text = Vec::new();
            sweep::csv(&args.folder, &mut text, !args.no_times).map_err(refused)?;
            out.bytes(&text);
        } else {
            write_csv(&args.folder, path, !args.no_times).map_err(refused)?;
        }
    }
    if let Some(path) = &args.parquet {
        parquet(&args.folder, path)?;
    }
    Ok(Exit::Ok)
}

/// Has `simtlab-parquet` write the table: the crate that can is a program of its own, which nobody
/// waits for who wants the command alone.
fn parquet(folder: &Path, path: &Path) -> Result<(), Diagnostics> {
    let name = format!("simtlab-parquet{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join(&name)));
    let program = beside.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from(&name));
    let status = std::process::Command::new(&program).arg(folder).arg(path).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        // It has said why.
        Ok(_) => Err(one(Diagnostic::error("sweep::parquet", "the table was not written"))),
        Err(error) => {
            let message = format!("cannot run {name}: {error}");
            let help = "build it with cargo build --release -p simtlab-parquet, or write --csv, which every reader of Parquet reads, too";
            Err(one(Diagnostic::error("sweep::parquet", message).help(help)))
        }
    }
}

fn plots(args: &Plot, out: &mut Out) -> Result<Exit, Diagnostics> {
    Manifest::read(&args.folder).map_err(refused)?;
    std::fs::create_dir_all(&args.svg).map_err(|e| refused(io("make", &args.svg, e)))?;
    for plot in sweep::plot::plots(&args.folder).map_err(refused)? {
        let path = args.svg.join(format!("{}.svg", plot.name));
        std::fs::write(&path, plot.svg).map_err(|e| refused(io("write", &path, e)))?;
        out.text(&format!("{}: {}\n", path.display(), plot.title));
    }
    Ok(Exit::Ok)
}

fn report(args: &Report, out: &mut Out) -> Result<Exit, Diagnostics> {
    let html = sweep::report(&args.folder).map_err(refused)?;
    if args.html.as_os_str() == "-" {
        out.text(&html);
        return Ok(Exit::Ok);
    }
    std::fs::write(&args.html, html).map_err(|e| refused(io("write", &args.html, e)))?;
    out.text(&format!("{}\n", args.html.display()));
    Ok(Exit::Ok)
}
