//! `bench`: the engines side by side, and the native limit where there is one.
//!
//! Each kernel runs on every engine in turn, several times over; a row has the median. Times are those of launches as a whole:
//! memory copied, code decoded, run.

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use isa::{Diagnostics, SourceMap, Span};
use lab::launch::{Located, RunDefaults};
use lab::machine::{self, Choice};
use lab::run::{Job, JobParts, RunWords, Settings, load_program, wanted};

use super::run::LAUNCH_FILE;
use crate::args::Bench;
use crate::out::{Exit, Out};

/// A kernel that is measured at a size at which its native limit is known.
struct Known {
    name: &'static str,
    program: &'static str,
    /// Elements, or the side of a square of them.
    n: usize,
    grid: &'static str,
    block: &'static str,
    args: &'static [&'static str],
}

macro_rules! bundled {
    ($name:literal) => {
        include_str!(concat!("../../../../kernels/", $name, "/", $name, ".ptx"))
    };
}

const KNOWN: [Known; 5] = [
    Known {
        name: "saxpy",
        program: bundled!("saxpy"),
        n: 1 << 20,
        grid: "4096",
        block: "256",
        args: &["u32:1048576", "f32:2.5", "f32[1048576]:ones", "f32[1048576]:ones"],
    },
    Known {
        name: "mandelbrot",
        program: bundled!("mandelbrot"),
        n: 512,
        grid: "16,64",
        block: "32,8",
        args: &[
            "u16[512,512]:zeros",
            "u32:512",
            "u32:512",
            "f32:-2",
            "f32:-1.25",
            "f32:0.0048828125",
            "u32:256",
        ],
    },
    Known {
        name: "sgemm",
        program: bundled!("sgemm"),
        n: 256,
        grid: "8,32",
        block: "32,8",
        args: &[
            "u32:256",
            "u32:256",
            "u32:256",
            "f32:1.5",
            "f32[65536]:ones",
            "f32[65536]:ones",
            "f32:-0.3",
            "f32[65536]:ones",
        ],
    },
    Known {
        name: "reduce",
        program: bundled!("reduce"),
        n: 1 << 20,
        grid: "512",
        block: "256",
        args: &["f32[1048576]:ones", "u32:1048576", "f32[512]:zeros"],
    },
    Known {
        name: "collatz",
        program: bundled!("collatz"),
        n: 1 << 16,
        grid: "512",
        block: "128",
        args: &["u32:65536", "u32[65536]:zeros", "u64[65536]:zeros"],
    },
];

/// One line of the table.
struct Row {
    kernel: String,
    engine: String,
    seconds: f64,
    thread_instructions: u64,
    /// Time over that of the native limit.
    ratio: Option<f64>,
}

/// Measures what is named, or the known kernels.
pub(crate) fn bench(args: &Bench, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let known = KNOWN.iter().map(|k| k.name.to_owned());
    let targets = if args.targets.is_empty() { known.collect() } else { args.targets.clone() };
    let repeats = args.repeat.clamp(1, 1000);
    let mut rows = Vec::new();
    for target in &targets {
        match measure(target, repeats, &mut sources) {
            Ok(more) => rows.extend(more),
            Err(found) => {
                out.findings(&found, &sources);
                return Exit::Usage;
            }
        }
    }
    match args.json.as_deref() {
        None => out.text(&table(&rows)),
        Some("-") => out.text(&format!("{:#}\n", json(&rows))),
        Some(path) => {
            if let Err(error) = std::fs::write(path, format!("{:#}\n", json(&rows))) {
                let message = format!("cannot write {path}: {}", lab::run::io_reason(&error));
                out.finding(&isa::Diagnostic::error("cli::output", message), &sources);
                return Exit::Usage;
            }
        }
    }
    Exit::Ok
}

fn measure(target: &str, repeats: usize, sources: &mut SourceMap) -> Result<Vec<Row>, Diagnostics> {
    let known = KNOWN.iter().find(|k| k.name == target);
    let mut job = match known {
        Some(known) => job_of(known, sources)?,
        None => {
            let path = Path::new(target);
            let file = if path.is_dir() { path.join(LAUNCH_FILE) } else { path.to_owned() };
            let parts = JobParts::from_launch_file(&file, None, sources)?;
            Job::prepare(parts, &Settings::default(), sources)?
        }
    };
    let mut native = known.and_then(|k| fast::native::native(k.name, k.n));
    const ENGINES: [Choice; 3] = [Choice::Exact, Choice::Interpreted, Choice::Fast];
    let (mut limits, mut engines) = (Vec::new(), ENGINES.map(|_| Vec::new()));
    for _ in 0..repeats {
        for (times, choice) in engines.iter_mut().zip(ENGINES) {
            times.push(job.time(choice)?);
        }
        if let Some(work) = &mut native {
            let start = Instant::now();
            work();
            limits.push(start.elapsed().as_secs_f64());
        }
    }
    let limit = (!limits.is_empty()).then(|| median(limits));
    let mut rows = Vec::new();
    for times in engines {
        let seconds = median(times.iter().map(|t| t.seconds).collect());
        let Some(first) = times.first() else { continue };
        rows.push(Row {
            kernel: target.to_owned(),
            engine: first.engines.first().cloned().unwrap_or_else(|| "exact".to_owned()),
            seconds,
            thread_instructions: first.thread_instructions,
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

fn job_of(known: &Known, sources: &mut SourceMap) -> Result<Job, Diagnostics> {
    let isa = machine::find("ptx").map_err(|finding| {
        let mut found = Diagnostics::new();
        found.push(finding);
        found
    })?;
    let span = Span::default();
    let word = |text: &str| Located { value: text.to_owned(), span };
    let run = RunWords {
        kernel: Some(word(known.name)),
        grid: Some(word(known.grid)),
        block: Some(word(known.block)),
        shared: None,
        mechanism: None,
        warp_size: None,
        seed: None,
        limit: None,
        args: known.args.iter().map(|a| word(a)).collect(),
        options: Vec::new(),
        span,
    };
    let mut found = Diagnostics::new();
    let launches = vec![run.launch(&mut found)];
    let settings = run.settings(&mut found);
    if found.has_errors() {
        return Err(found);
    }
    let name = format!("{}.ptx", known.name);
    let program = load_program(isa, &name, known.program.as_bytes(), &wanted(&launches), sources)?;
    let parts = JobParts {
        machine: isa,
        module: name.into(),
        module_span: span,
        directory: Path::new("").to_owned(),
        run: RunDefaults::default(),
        options: Vec::new(),
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
