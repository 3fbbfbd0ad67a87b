//! `exec`: runs a program with the virtual device's libraries in place of NVIDIA's, and tells what its kernels did.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use runtime::{Event, Journal, LaunchTotals};
use serde_json::json;

use crate::args::{EngineName, Exec};
use crate::out::{Exit, Out};

/// Names under which programs look for the driver, and the file that is behind both.
const DRIVER: (&str, [&str; 2]) = ("libcuda.so", ["libcuda.so.1", "libcuda.so"]);

/// The runtime libraries, where they have been built: `crates/cudart/link.sh` makes them.
const RUNTIMES: [&str; 2] = ["libcudart.so.12", "libcudart.so.13"];

/// Stops and refusals that are printed whole.
const SHOWN: usize = 10;

pub(crate) fn exec(args: &Exec, out: &mut Out) -> Exit {
    let end = run(args, out);
    match end {
        Ok(exit) => exit,
        Err(message) => {
            out.note(&format!("error: {message}\n"));
            Exit::Usage
        }
    }
}

fn run(args: &Exec, out: &mut Out) -> Result<Exit, String> {
    let this = std::env::current_exe()
        .map_err(|e| format!("this program's own place is not known: {e}"))?;
    let libraries = libraries(args, &this)?;
    let folder = Folder::new().map_err(|e| format!("no folder for the run can be made: {e}"))?;
    let journal = folder.path.join("journal");
    for name in DRIVER.1 {
        link(&libraries.join(DRIVER.0), &folder.path.join(name))?;
    }
    for name in RUNTIMES {
        let library = libraries.join(name);
        if library.is_file() {
            link(&library, &folder.path.join(name))?;
        }
    }
    let ptxas = folder.path.join("ptxas");
    write_ptxas(&ptxas, &this)?;
    let Some((program, rest)) = args.command.split_first() else {
        return Err("no program is given".to_owned());
    };
    let mut command = Command::new(program);
    command.args(rest);
    environment(&mut command, args, &folder.path, &journal, &ptxas);
    // The program gets an interrupt, too; this one stays to tell what ran.
    let _ = ctrlc::set_handler(|| {});
    let status =
        command.status().map_err(|e| format!("{} cannot be run: {e}", program.display()))?;
    let text = std::fs::read_to_string(&journal).unwrap_or_default();
    let report = Report::new(Journal::read(&text));
    out.note(&report.text(args.stats));
    if let Some(path) = &args.json {
        let json = serde_json::to_string_pretty(&report.json(code_of(status))).unwrap_or_default();
        std::fs::write(path, json + "\n")
            .map_err(|e| format!("{} cannot be written: {e}", path.display()))?;
    }
    Ok(match code_of(status) {
        0 if !report.stops.is_empty() => Exit::Stopped,
        code => Exit::Child(code),
    })
}

/// The program's code; of one that a signal has ended, 128 and the signal's number, as shells have it.
fn code_of(status: ExitStatus) -> u8 {
    if let Some(code) = status.code() {
        return code as u8;
    }
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return (128 + signal) as u8;
    }
    1
}

/// The folder that has the driver library.
fn libraries(args: &Exec, this: &Path) -> Result<PathBuf, String> {
    let mut places: Vec<PathBuf> = args.libraries.iter().cloned().collect();
    if places.is_empty() {
        places.extend(std::env::var_os("SIMTLAB_LIBRARIES").map(PathBuf::from));
        let beside = this.parent().unwrap_or(Path::new("."));
        places.push(beside.to_owned());
        places.push(beside.join("deps"));
        places.push(beside.join("../lib/simtlab"));
        places.push(beside.join("../lib"));
    }
    let found = places.iter().find(|place| place.join(DRIVER.0).is_file());
    let place = found.ok_or_else(|| {
        let places: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
        format!(
            "{} is in none of {}: build it with `cargo build -p simtlab-cuda`, or say with --libraries where it is",
            DRIVER.0,
            places.join(", ")
        )
    })?;
    place.canonicalize().map_err(|e| format!("{}: {e}", place.display()))
}

/// What clients are told by their environment.
fn environment(command: &mut Command, args: &Exec, folder: &Path, journal: &Path, ptxas: &Path) {
    let mut paths: Vec<PathBuf> = vec![folder.to_owned()];
    paths.extend(std::env::var_os("LD_LIBRARY_PATH").iter().flat_map(std::env::split_paths));
    if let Ok(joined) = std::env::join_paths(paths) {
        command.env("LD_LIBRARY_PATH", joined);
    }
    command.env("SIMTLAB_JOURNAL", journal);
    // Triton: the assemblers that it calls, for capabilities below 9.0 and from there on, and the driver that it links.
    command.env("TRITON_PTXAS_PATH", ptxas).env("TRITON_PTXAS_BLACKWELL_PATH", ptxas);
    command.env("TRITON_LIBCUDA_PATH", folder);
    // CuPy: PTX instead of machine code, and no closed libraries for sums and sorting.
    command.env("CUPY_COMPILE_WITH_PTX", "1").env("CUPY_ACCELERATORS", "");
    if let Some(capability) = &args.capability {
        command.env("SIMTLAB_COMPUTE_CAPABILITY", capability);
    }
    if let Some(limit) = args.limit {
        command.env("SIMTLAB_LIMIT", limit.to_string());
    }
    if let Some(threads) = args.jobs {
        command.env("SIMTLAB_JOBS", threads.to_string());
    }
    if args.engine == EngineName::Exact {
        command.env("SIMTLAB_ENGINE", "exact");
    }
    if args.trace {
        command.env("SIMTLAB_TRACE", "1");
    }
}

#[cfg(unix)]
fn link(to: &Path, from: &Path) -> Result<(), String> {
    std::os::unix::fs::symlink(to, from).map_err(|e| format!("{}: {e}", from.display()))
}

#[cfg(not(unix))]
fn link(to: &Path, from: &Path) -> Result<(), String> {
    std::fs::copy(to, from).map(drop).map_err(|e| format!("{}: {e}", from.display()))
}

/// A script that calls this program as `ptxas`.
fn write_ptxas(path: &Path, this: &Path) -> Result<(), String> {
    let quoted = this.display().to_string().replace('\'', r"'\''");
    let script = format!("#!/bin/sh\nexec '{quoted}' ptxas \"$@\"\n");
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    std::fs::write(path, script).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).map_err(failed)?;
    }
    Ok(())
}

/// A folder that goes away at the end.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new() -> std::io::Result<Self> {
        let base = std::env::temp_dir();
        let mut last = std::io::Error::other("no name is free");
        for n in 0..100 {
            let path = base.join(format!("simtlab-exec-{}-{n}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed stays for the system to clear away.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// What a kernel did in all its launches.
#[derive(Default)]
struct Kernel {
    launches: u64,
    seconds: f64,
    /// Launches on the exact engine, by reason.
    exact: BTreeMap<String, u64>,
    totals: LaunchTotals,
}

/// What processes have run.
#[derive(Default)]
struct Report {
    processes: u64,
    kernels: BTreeMap<String, Kernel>,
    /// Kernel, kind, code and text of each stop.
    stops: Vec<(String, String, String, String)>,
    /// Calls that are not supported, and how often.
    unsupported: BTreeMap<String, u64>,
    refused: Vec<String>,
}

impl Report {
    fn new(events: impl Iterator<Item = Event>) -> Self {
        let mut report = Self::default();
        for event in events {
            match event {
                Event::Start { .. } => report.processes += 1,
                Event::Launch { kernel, exact, seconds, totals, .. } => {
                    let kernel = report.kernels.entry(kernel).or_default();
                    kernel.launches += 1;
                    kernel.seconds += seconds;
                    kernel.totals.add(&totals);
                    if let Some(why) = exact {
                        *kernel.exact.entry(why).or_default() += 1;
                    }
                }
                Event::Stop { kernel, kind, code, text, .. } => {
                    report.stops.push((kernel, kind, code, text));
                }
                Event::Unsupported { call, .. } => {
                    *report.unsupported.entry(call).or_default() += 1;
                }
                Event::Refused { text, .. } => report.refused.push(text),
            }
        }
        report
    }

    fn count(&self, kind: &str) -> usize {
        self.stops.iter().filter(|s| s.1 == kind).count()
    }

    fn text(&self, stats: bool) -> String {
        let launches: u64 = self.kernels.values().map(|k| k.launches).sum();
        let many =
            |n: u64, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
        let mut text = format!(
            "simtlab: {} of {}, {}, {}\n",
            many(launches, "launch", "launches"),
            many(self.kernels.len() as u64, "kernel", "kernels"),
            many(self.count("fault") as u64, "fault", "faults"),
            many(self.count("hang") as u64, "hang", "hangs"),
        );
        if self.processes == 0 {
            text.push_str("  no process has initialised the driver (one with a statically linked CUDA runtime cannot: link with `nvcc -cudart shared`)\n");
        }
        for (_, kind, _, stop) in self.stops.iter().take(SHOWN) {
            let _ = writeln!(text, "  {kind}: {}", stop.replace('\n', "\n  "));
        }
        if self.stops.len() > SHOWN {
            let _ = writeln!(text, "  and {} more", self.stops.len() - SHOWN);
        }
        for refused in self.refused.iter().take(SHOWN) {
            let _ = writeln!(text, "  {}", refused.replace('\n', "\n    "));
        }
        for (call, times) in &self.unsupported {
            let _ =
                writeln!(text, "  not supported, called {}: {call}", many(*times, "time", "times"));
        }
        if stats {
            self.table(&mut text);
        }
        text
    }

    /// Kernels, those that took longest first.
    fn table(&self, text: &mut String) {
        let mut kernels: Vec<(&String, &Kernel)> = self.kernels.iter().collect();
        kernels.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds));
        let _ = writeln!(
            text,
            "  {:>9} {:>10} {:>12} {:>14} {:>6} {:>10} {:>9}  kernel",
            "launches", "ms", "threads", "instructions", "lanes", "branches", "diverged"
        );
        for (name, kernel) in kernels {
            let t = &kernel.totals;
            let share = 100.0 * t.lane_instructions as f64 / t.lane_slots.max(1) as f64;
            let _ = writeln!(
                text,
                "  {:>9} {:>10.2} {:>12} {:>14} {share:>5.1}% {:>10} {:>9}  {name}",
                kernel.launches,
                1e3 * kernel.seconds,
                t.threads,
                t.issues,
                t.branches,
                t.divergent_branches,
            );
            for (why, times) in &kernel.exact {
                let _ = writeln!(text, "  {times:>9} on the exact engine: {why}");
            }
        }
    }

    fn json(&self, code: u8) -> serde_json::Value {
        let kernels: Vec<_> = self.kernels.iter().map(|(name, k)| {
            json!({
                "kernel": name, "launches": k.launches, "seconds": k.seconds, "totals": k.totals, "exact": k.exact,
            })
        }).collect();
        let stops: Vec<_> = self.stops.iter().map(|(kernel, kind, code, text)| {
            json!({ "kernel": kernel, "kind": kind, "code": code, "text": text })
        }).collect();
        json!({
            "processes": self.processes,
            "exit_code": code,
            "kernels": kernels,
            "stops": stops,
            "refused": self.refused,
            "unsupported": self.unsupported,
        })
    }
}
