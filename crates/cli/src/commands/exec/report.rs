//! The report on the processes of a run, as text and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use runtime::{DIFFERENCE, Event, LaunchTotals};
use serde_json::json;

use super::program::ExitOutcome;
use super::setup::Libraries;
use super::signals;

/// Most stops, refusals and calls that are printed of each kind.
const SHOWN: usize = 10;

/// The launches of one kernel.
#[derive(Default)]
struct Kernel {
    launches: u64,
    seconds: f64,
    /// Number of launches on the exact engine, by reason.
    exact: BTreeMap<String, u64>,
    totals: LaunchTotals,
}

/// A launch that faulted or hung, or in which the engines differ.
struct Stop {
    kernel: String,
    kind: String,
    code: String,
    text: String,
}

/// Failed calls of one function with the same status.
struct Failed {
    times: u64,
    name: String,
    /// Arguments of the first call.
    arguments: String,
    /// Explanation of the first failure.
    note: Option<String>,
}

/// A launch that was interrupted by the end of its process.
struct Running {
    kernel: String,
    text: String,
}

/// The events of all processes, aggregated.
#[derive(Default)]
pub(super) struct Report {
    processes: u64,
    kernels: BTreeMap<String, Kernel>,
    stops: Vec<Stop>,
    /// By process.
    running: BTreeMap<u32, Running>,
    /// Number of calls of each unsupported function.
    unsupported: BTreeMap<String, u64>,
    /// By function and status, in the order of their first occurrence.
    failed: Vec<((String, i32), Failed)>,
    refused: Vec<String>,
}

impl Report {
    pub(super) fn new(events: impl Iterator<Item = Event>) -> Self {
        let mut report = Self::default();
        for event in events {
            report.add(event);
        }
        report
    }

    fn add(&mut self, event: Event) {
        match event {
            Event::Start { .. } => self.processes += 1,
            Event::Launch { process, kernel, exact, seconds, totals, .. } => {
                self.running.remove(&process);
                let kernel = self.kernels.entry(kernel).or_default();
                kernel.launches += 1;
                kernel.seconds += seconds;
                kernel.totals.add(&totals);
                if let Some(why) = exact {
                    *kernel.exact.entry(why).or_default() += 1;
                }
            }
            Event::Stop { process, kernel, kind, code, text, .. } => {
                self.running.remove(&process);
                self.stops.push(Stop { kernel, kind, code, text });
            }
            Event::Running { process, kernel, text, .. } => {
                self.running.insert(process, Running { kernel, text });
            }
            Event::Unsupported { call, .. } => *self.unsupported.entry(call).or_default() += 1,
            Event::Failed { call, status, name, arguments, note, .. } => {
                let key = (call, status);
                match self.failed.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, failed)) => failed.times += 1,
                    None => self.failed.push((key, Failed { times: 1, name, arguments, note })),
                }
            }
            Event::Refused { text, .. } => self.refused.push(text),
        }
    }

    fn count(&self, kind: &str) -> u64 {
        self.stops.iter().filter(|s| s.kind == kind).count() as u64
    }

    /// Returns whether a launch faulted or hung, or the engines differ.
    pub(super) fn has_stops(&self) -> bool {
        !self.stops.is_empty()
    }

    /// Returns whether the engines differ in a launch.
    pub(super) fn has_differences(&self) -> bool {
        self.count(DIFFERENCE) > 0
    }

    /// Returns whether a call failed, is not supported, or was refused.
    pub(super) fn has_errors(&self) -> bool {
        !(self.failed.is_empty() && self.unsupported.is_empty() && self.refused.is_empty())
    }

    pub(super) fn text(&self, stats: bool, ended: &ExitOutcome, libraries: &Libraries) -> String {
        let mut text = self.head();
        if self.processes == 0 {
            let _ = writeln!(text, "  {}", nothing_initialised(ended, libraries));
        }
        for stop in self.stops.iter().take(SHOWN) {
            let _ = writeln!(text, "  {}: {}", stop.kind, stop.text.replace('\n', "\n  "));
        }
        more(&mut text, self.stops.len());
        for running in self.running.values() {
            let _ = writeln!(text, "  interrupted: {}", running.text.replace('\n', "\n  "));
        }
        for refused in self.refused.iter().take(SHOWN) {
            let _ = writeln!(text, "  {}", refused.replace('\n', "\n    "));
        }
        more(&mut text, self.refused.len());
        for ((call, status), failed) in self.failed.iter().take(SHOWN) {
            let Failed { times, name, arguments, note } = failed;
            let times = many(*times, "time", "times");
            let _ = writeln!(text, "  failed {times}: {call}({arguments}) = {status} {name}");
            if let Some(note) = note {
                let _ = writeln!(text, "    {note}");
            }
        }
        more(&mut text, self.failed.len());
        for (call, times) in &self.unsupported {
            let times = many(*times, "time", "times");
            let _ = writeln!(text, "  not supported, called {times}: {call}");
        }
        if stats {
            self.table(&mut text);
        }
        text
    }

    /// Returns the first line. It counts every launch that was started.
    fn head(&self) -> String {
        let ended: u64 = self.kernels.values().map(|k| k.launches).sum();
        let begun = ended + (self.stops.len() + self.running.len()) as u64;
        let mut kernels: Vec<&str> = self.kernels.keys().map(String::as_str).collect();
        kernels.extend(self.stops.iter().map(|s| s.kernel.as_str()));
        kernels.extend(self.running.values().map(|r| r.kernel.as_str()));
        kernels.sort_unstable();
        kernels.dedup();
        let failed: u64 = self.failed.iter().map(|(_, f)| f.times).sum();
        let mut text = format!(
            "simtlab: {} of {}, {}, {}",
            many(begun, "launch", "launches"),
            many(kernels.len() as u64, "kernel", "kernels"),
            many(self.count("fault"), "fault", "faults"),
            many(self.count("hang"), "hang", "hangs"),
        );
        if self.has_differences() {
            let differ = many(self.count(DIFFERENCE), "launch", "launches");
            let _ = write!(text, ", {differ} in which the engines differ");
        }
        if !self.running.is_empty() {
            let _ = write!(text, ", {} interrupted", self.running.len());
        }
        if failed > 0 {
            let _ = write!(text, ", {}", many(failed, "failed call", "failed calls"));
        }
        text.push('\n');
        text
    }

    /// Appends the table of kernels, in descending order of time.
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
                "  {:>9} {:>10.2} {:>12} {:>14} {share:>5.1}% {:>10} {:>9}  {}",
                kernel.launches,
                1e3 * kernel.seconds,
                t.threads,
                t.issues,
                t.branches,
                t.divergent_branches,
                places::shown(name),
            );
            for (why, times) in &kernel.exact {
                let _ = writeln!(text, "  {times:>9} on the exact engine: {why}");
            }
        }
    }

    pub(super) fn json(&self, code: u8) -> serde_json::Value {
        let kernels: Vec<_> = self
            .kernels
            .iter()
            .map(|(name, k)| {
                json!({
                    "kernel": name, "name": places::demangled(name), "launches": k.launches,
                    "seconds": k.seconds, "totals": k.totals, "exact": k.exact,
                })
            })
            .collect();
        let stops: Vec<_> = self
            .stops
            .iter()
            .map(|s| {
                let name = places::demangled(&s.kernel);
                json!({
                    "kernel": s.kernel, "name": name, "kind": s.kind, "code": s.code,
                    "text": s.text,
                })
            })
            .collect();
        let running: Vec<_> = self
            .running
            .iter()
            .map(|(process, r)| json!({ "process": process, "kernel": r.kernel, "text": r.text }))
            .collect();
        let failed: Vec<_> = self
            .failed
            .iter()
            .map(|((call, status), f)| {
                json!({
                    "call": call, "status": status, "name": f.name, "times": f.times,
                    "arguments": f.arguments, "note": f.note,
                })
            })
            .collect();
        json!({
            "processes": self.processes,
            "exit_code": code,
            "kernels": kernels,
            "stops": stops,
            "running": running,
            "refused": self.refused,
            "failed": failed,
            "unsupported": self.unsupported,
        })
    }
}

/// Explains why no process initialised the driver.
fn nothing_initialised(ended: &ExitOutcome, libraries: &Libraries) -> String {
    if let Some(signal) = ended.signal() {
        let name = signals::name(signal);
        return format!("{name} ({signal}) ended the program before it initialised the driver");
    }
    let missing = libraries.missing_runtimes();
    if missing.is_empty() {
        return "no process has initialised the driver (one with a statically linked CUDA runtime \
            cannot: link with `nvcc -cudart shared`)"
            .to_owned();
    }
    format!(
        "no process has initialised the driver; {} not in {}, and a program with a shared CUDA \
        runtime needs it: build `simtlab-cudart`, then run crates/cudart/link.sh",
        match missing[..] {
            [one] => format!("{one} is"),
            _ => format!("{} are", missing.join(" and ")),
        },
        libraries.folder().display()
    )
}

fn many(n: u64, one: &str, more: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { more })
}

/// Appends the number of list items that were omitted.
fn more(text: &mut String, all: usize) {
    if all > SHOWN {
        let _ = writeln!(text, "  and {} more", all - SHOWN);
    }
}
