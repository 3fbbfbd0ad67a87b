//! The command `bench`: times of the engines, and of native code for kernels that have it.
//!
//! Each kernel runs on every engine in turn, several times; a row has the median. A time covers the
//! whole launch. The first launch on an engine includes decoding and compilation, which later ones
//! reuse.

mod checked;
mod clock;
mod kernels;

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use inputs::launch::{Located, MachineOption, OptionValue, RunDefaults};
use isa::{Diagnostics, SourceMap, Span};
use lab::run::{Job, JobParts, RunWords, Settings, load_program, wanted};
use machines::{Choice, HostThreads, Level};

use self::kernels::{BenchKernel, KERNELS};
use super::run::LAUNCH_FILE;
use crate::args::{Bench, EngineName};
use crate::out::{Exit, Out};

/// A row of the table.
struct Row {
    kernel: String,
    engine: String,
    seconds: f64,
    thread_instructions: u64,
    /// Time divided by that of native code.
    ratio: Option<f64>,
}

/// Measures the given targets, or the known kernels if there are none.
pub(crate) fn bench(args: &Bench, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let names = KERNELS.iter().map(|k| k.name.to_owned());
    let targets = if args.targets.is_empty() { names.collect() } else { args.targets.clone() };
    let repeats = args.repeat.clamp(1, 1000);
    let level = super::run::level(args.simd);
    let options = options(args.matrix_sums.as_deref());
    if let Some(checks) = &args.check {
        let measured = checked::measure(&targets, checks, (repeats, level, &options), &mut sources);
        return match measured {
            Ok(rows) => write(args, &checked::table(&rows), &checked::json(&rows), out),
            Err(found) => {
                out.findings(&found, &sources);
                Exit::Usage
            }
        };
    }
    let mut rows = Vec::new();
    for target in &targets {
        let runs = runs((args.engine, args.jobs.map_or(1, usize::from)), level);
        match measure(target, repeats, (&runs, &options), &mut sources) {
            Ok(more) => rows.extend(more),
            Err(found) => {
                out.findings(&found, &sources);
                return Exit::Usage;
            }
        }
    }
    write(args, &table(&rows), &json(&rows), out)
}

/// Writes a table, or its rows as JSON to where they are asked for.
fn write(args: &Bench, table: &str, json: &serde_json::Value, out: &mut Out) -> Exit {
    match args.json.as_deref() {
        None => out.text(table),
        Some("-") => out.text(&format!("{json:#}\n")),
        Some(path) => {
            if let Err(error) = std::fs::write(path, format!("{json:#}\n")) {
                let message = format!("cannot write {path}: {}", inputs::file::io_reason(&error));
                out.finding(&isa::Diagnostic::error("cli::output", message), &SourceMap::new());
                return Exit::Usage;
            }
        }
    }
    Exit::Ok
}

/// A measurement: the engine, its highest level, host threads (0 for all), and whether to collect
/// all statistics.
type Configuration = (Choice, Option<Level>, usize, bool);

/// Returns the measurements: all of them, or that of one engine on so many threads.
fn runs(
    (engine, threads): (Option<EngineName>, usize),
    level: Option<Level>,
) -> Vec<Configuration> {
    let most = level.unwrap_or_else(Level::best).or_less();
    let level = Some(most);
    let fast = (Choice::Compiled, level, threads, false);
    match engine {
        None => {
            let mut runs = vec![
                (Choice::Exact, level, 1, false),
                (Choice::Interpreted, level, 1, false),
                fast,
                (Choice::Compiled, level, 0, false),
                (Choice::Compiled, level, 1, true),
            ];
            // The level of hosts without AVX-512.
            if most > Level::Avx2 {
                runs.push((Choice::Compiled, Some(Level::Avx2), 1, false));
            }
            runs
        }
        Some(EngineName::Fast | EngineName::Compiled) => vec![fast],
        Some(EngineName::Interpreted) => vec![(Choice::Interpreted, level, threads, false)],
        Some(EngineName::Exact) => vec![(Choice::Exact, level, threads, false)],
        Some(EngineName::Both) => vec![(Choice::Both, level, threads, false)],
    }
}

fn measure(
    target: &str,
    repeats: usize,
    (runs, options): (&[Configuration], &[MachineOption]),
    sources: &mut SourceMap,
) -> Result<Vec<Row>, Diagnostics> {
    let kernel = KERNELS.iter().find(|k| k.name == target);
    let mut job = job_of_target(target, options, sources)?;
    let mut native = kernel.and_then(|k| baseline::kernel(k.name, k.n));
    let (mut limits, mut engines) = (Vec::new(), vec![Vec::new(); runs.len()]);
    for _ in 0..repeats {
        for (times, &(choice, level, threads, detailed)) in engines.iter_mut().zip(runs) {
            times.push(job.time((choice, level), HostThreads::up_to(threads), detailed)?);
        }
        if let Some(work) = &mut native {
            let start = Instant::now();
            work();
            limits.push(start.elapsed().as_secs_f64());
        }
    }
    let limit = (!limits.is_empty()).then(|| median(limits));
    let mut rows = Vec::new();
    for (times, (_, _, threads, detailed)) in engines.into_iter().zip(runs) {
        let seconds = median(times.iter().map(|t| t.seconds).collect());
        // Later launches may run on one thread where the first one ran on several.
        let Some(last) = times.last() else { continue };
        let engine = last.engines.first().map_or("exact", String::as_str);
        let condition = match (detailed, threads) {
            (true, _) => ", with statistics",
            // The engine finds that one thread is the faster way.
            (false, 0) if !engine.contains("threads") => ", of all threads one chosen",
            _ => "",
        };
        rows.push(Row {
            kernel: target.to_owned(),
            engine: format!("{engine}{condition}"),
            seconds,
            thread_instructions: last.thread_instructions,
            ratio: limit.map(|limit| seconds / limit),
        });
    }
    if let (Some(limit), Some(count)) = (limit, rows.first().map(|r| r.thread_instructions)) {
        let (kernel, engine) = (target.to_owned(), "native".to_owned());
        rows.push(Row {
            kernel,
            engine,
            seconds: limit,
            thread_instructions: count,
            ratio: Some(1.0),
        });
    }
    Ok(rows)
}

/// Options of the machine that measured launches have.
fn options(matrix_sums: Option<&str>) -> Vec<MachineOption> {
    let located = |value: String| Located { value, span: Span::default() };
    let option = |rule: &str| MachineOption {
        key: located("matrix-sums".to_owned()),
        value: Located { value: OptionValue::String(rule.to_owned()), span: Span::default() },
    };
    matrix_sums.into_iter().map(option).collect()
}

/// Returns the job of a kernel with a fixed size, or of a launch file.
fn job_of_target(
    target: &str,
    options: &[MachineOption],
    sources: &mut SourceMap,
) -> Result<Job, Diagnostics> {
    if let Some(kernel) = KERNELS.iter().find(|k| k.name == target) {
        return job_of(kernel, options, sources);
    }
    let path = Path::new(target);
    let file = if path.is_dir() { path.join(LAUNCH_FILE) } else { path.to_owned() };
    let mut parts = JobParts::from_launch_file(&file, None, sources)?;
    parts.options.extend_from_slice(options);
    Job::prepare(parts, &Settings::default(), sources)
}

fn job_of(
    kernel: &BenchKernel,
    options: &[MachineOption],
    sources: &mut SourceMap,
) -> Result<Job, Diagnostics> {
    let isa = machines::find("ptx").map_err(|finding| {
        let mut found = Diagnostics::new();
        found.push(finding);
        found
    })?;
    let span = Span::default();
    let word = |text: &str| Located { value: text.to_owned(), span };
    let run = RunWords {
        kernel: Some(word(kernel.kernel)),
        grid: Some(word(kernel.grid)),
        block: Some(word(kernel.block)),
        shared: None,
        mechanism: None,
        warp_size: None,
        seed: None,
        limit: None,
        args: kernel.args.iter().map(|a| word(a)).collect(),
        options: Vec::new(),
        span,
    };
    let mut found = Diagnostics::new();
    let launches = vec![run.launch(&mut found)];
    let settings = run.settings(&mut found);
    if found.has_errors() {
        return Err(found);
    }
    let name = format!("{}.ptx", kernel.name);
    let text = kernel.program.as_bytes();
    let (program, _) = load_program(isa, &name, text, &wanted(&launches), sources)?;
    let parts = JobParts {
        machine: isa,
        module: name.into(),
        module_span: span,
        directory: Path::new("").to_owned(),
        run: RunDefaults::default(),
        options: options.to_vec(),
        buffers: Vec::new(),
        launches,
        expectations: Vec::new(),
    };
    Job::prepare_loaded(parts, program, &settings)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

impl Row {
    fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.thread_instructions as f64 / self.seconds } else { 0.0 }
    }
}

fn table(rows: &[Row]) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:<14} {:>12} {:>20} {:>15}  engine",
        "kernel", "ms", "M thread-inst/s", "over native"
    );
    for row in rows {
        let ratio = row.ratio.map_or_else(|| "-".to_owned(), |r| format!("{r:.2}"));
        let (ms, rate) = (row.seconds * 1e3, row.rate() / 1e6);
        let _ =
            writeln!(out, "{:<14} {ms:>12.3} {rate:>20.1} {ratio:>15}  {}", row.kernel, row.engine);
    }
    out
}

fn json(rows: &[Row]) -> serde_json::Value {
    let row = |row: &Row| {
        serde_json::json!({
            "kernel": row.kernel,
            "engine": row.engine,
            "seconds": row.seconds,
            "thread_inst_per_second": row.rate(),
            "ratio_to_native": row.ratio,
        })
    };
    serde_json::json!({ "rows": rows.iter().map(row).collect::<Vec<_>>() })
}
