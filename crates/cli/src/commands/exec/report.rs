//! The report on the processes of a run, as text and as JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use events::{DIFFERENCE, Event, Instruction, LaunchTotals};
use findings::report::finding_from_json;
use findings::{Check, CheckSet, Finding, Findings, Kind, Location};
use places::Source;
use serde_json::json;

use super::program::ExitOutcome;
use super::setup::Libraries;
use super::signals;

/// Most stops, refusals and calls that are printed of each kind.
const SHOWN: usize = 10;

/// Most operators computed on the host that are printed without `--stats`.
const SHOWN_OPERATORS: usize = 3;

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
    instruction: Option<Instruction>,
}

/// Refused accesses of an instruction from which launches went on.
struct Tolerated {
    code: String,
    /// The report of the first one.
    text: String,
    issues: u64,
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

/// An allocation of device memory.
struct Allocated {
    bytes: u64,
    call: String,
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
    /// By kernel and line.
    tolerated: BTreeMap<(String, u32), Tolerated>,
    /// What checks have found, by process and number.
    found: BTreeMap<(u32, usize), Finding>,
    /// Number of findings that were not kept, by kind.
    omitted: Vec<(Kind, u64)>,
    /// Allocations that are not freed, by process and address: bytes, call, and whether their
    /// context has ended.
    allocated: BTreeMap<(u32, u64), Allocated>,
    /// Processes in which a launch stopped, which ends the use of its context.
    faulted: BTreeSet<u32>,
    /// Allocations whose context has ended.
    abandoned: Vec<Allocated>,
    /// What kernels hold of device heaps, by process, context and kernel: blocks and bytes.
    heap_held: BTreeMap<(u32, u64, String), (u64, u64)>,
    /// Checks that could not follow everything.
    incomplete: Vec<Check>,
    /// By process.
    running: BTreeMap<u32, Running>,
    /// Number of calls of each unsupported function.
    unsupported: BTreeMap<String, u64>,
    /// By function and status, in the order of their first occurrence.
    failed: Vec<((String, i32), Failed)>,
    refused: Vec<String>,
    /// What plug-ins of frameworks have computed on the host: calls and seconds by operator.
    host_work: BTreeMap<String, (u64, f64)>,
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
            Event::Stop { process, kernel, kind, code, text, instruction, .. } => {
                self.running.remove(&process);
                self.faulted.insert(process);
                self.stops.push(Stop { kernel, kind, code, text, instruction });
            }
            Event::Tolerated { kernel, code, text, line, issues, .. } => {
                let new = Tolerated { code, text, issues: 0 };
                self.tolerated.entry((kernel, line)).or_insert(new).issues += issues;
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
            Event::HostWork { operator, calls, seconds, .. } => {
                let work = self.host_work.entry(operator).or_default();
                *work = (work.0 + calls, work.1 + seconds);
            }
            Event::Finding { process, number, finding } => {
                if let Some(finding) = finding_from_json(&finding) {
                    self.found.insert((process, number), finding);
                }
            }
            Event::FoundAgain { process, number, count } => {
                if let Some(finding) = self.found.get_mut(&(process, number)) {
                    finding.count = finding.count.saturating_add(count);
                }
            }
            Event::FindingsOmitted { kind, count, .. } => {
                self.omitted.extend(Kind::find(&kind).ok().map(|kind| (kind, count)));
            }
            Event::Allocated { process, address, bytes, call } => {
                self.allocated.insert((process, address), Allocated { bytes, call });
            }
            Event::Freed { process, address } => drop(self.allocated.remove(&(process, address))),
            Event::HeapHeld { process, context, kernel, blocks, bytes } => {
                self.heap_held.insert((process, context, kernel), (blocks, bytes));
            }
            Event::Abandoned { process, addresses } => {
                let own = addresses.into_iter();
                let own = own.filter_map(|at| self.allocated.remove(&(process, at)));
                let own: Vec<Allocated> = own.collect();
                if !self.faulted.contains(&process) {
                    self.abandoned.extend(own);
                }
            }
            Event::Incomplete { check, .. } => {
                self.incomplete.extend(Check::ALL.into_iter().find(|c| c.name() == check));
            }
        }
    }

    fn count(&self, kind: &str) -> u64 {
        self.stops.iter().filter(|s| s.kind == kind).count() as u64
    }

    /// Returns whether a launch faulted or hung, or the engines differ.
    pub(super) fn has_stops(&self) -> bool {
        !self.stops.is_empty()
    }

    /// Returns what these checks have found, with faults and hangs; not in order yet.
    pub(super) fn findings(&self, program: &str, checks: CheckSet) -> Findings {
        let mut findings = Findings::new(program, checks);
        self.found.values().for_each(|finding| findings.add(finding.clone()));
        self.omitted.iter().for_each(|(kind, count)| findings.add_omitted(*kind, *count));
        self.incomplete.iter().for_each(|check| findings.set_incomplete(*check));
        let kinds = [("fault", Kind::Fault), ("hang", Kind::Hang)];
        for stop in &self.stops {
            let Some((_, kind)) = kinds.iter().find(|(name, _)| *name == stop.kind) else {
                continue;
            };
            findings.add(finding(*kind, stop));
        }
        if checks.has(Check::Api) {
            self.failed.iter().for_each(|((call, _), failed)| {
                findings.add(failed_call(call, failed));
            });
        }
        if checks.has(Check::Leak) {
            self.abandoned.iter().for_each(|leak| {
                findings.add(leaked(leak, "its context ended before it was freed"));
            });
            // After a fault nothing can be freed.
            let left =
                self.allocated.iter().filter(|((process, _), _)| !self.faulted.contains(process));
            left.for_each(|(_, leak)| {
                findings.add(leaked(leak, "the program ended before it was freed"));
            });
            let held = self.heap_held.iter().filter(|((process, ..), (blocks, _))| {
                *blocks > 0 && !self.faulted.contains(process)
            });
            held.for_each(|((.., kernel), held)| findings.add(held_by_kernel(kernel, *held)));
        }
        findings
    }

    /// Returns whether the engines differ in a launch.
    pub(super) fn has_differences(&self) -> bool {
        self.count(DIFFERENCE) > 0
    }

    /// Returns whether a call failed, is not supported, or was refused.
    pub(super) fn has_errors(&self) -> bool {
        !(self.failed.is_empty()
            && self.unsupported.is_empty()
            && self.refused.is_empty()
            && self.tolerated.is_empty())
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
        for tolerated in self.tolerated.values().take(SHOWN) {
            let Tolerated { text: told, issues, .. } = tolerated;
            let issues = many(*issues, "time", "times");
            let _ = writeln!(text, "  went on {issues}: {}", told.replace('\n', "\n  "));
        }
        more(&mut text, self.tolerated.len());
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
        self.host_work(&mut text, if stats { usize::MAX } else { SHOWN_OPERATORS });
        if stats {
            self.table(&mut text);
        }
        text
    }

    /// Appends the operators that were computed on the host, in descending order of time, so that
    /// nobody takes them for kernels.
    fn host_work(&self, text: &mut String, shown: usize) {
        if self.host_work.is_empty() {
            return;
        }
        let mut work: Vec<_> = self.host_work.iter().collect();
        work.sort_by(|a, b| b.1.1.total_cmp(&a.1.1).then_with(|| a.0.cmp(b.0)));
        let (calls, seconds) =
            work.iter().fold((0, 0.0), |(n, sum), (_, (calls, s))| (n + calls, sum + s));
        let _ = writeln!(
            text,
            "  computed on the host, not by kernels: {} of {}, {seconds:.2} s",
            many(calls, "call", "calls"),
            many(work.len() as u64, "operator", "operators"),
        );
        for (operator, (calls, seconds)) in work.iter().take(shown) {
            let _ = writeln!(text, "  {calls:>9} {:>10.2} ms  {operator}", 1e3 * seconds);
        }
        if work.len() > shown {
            let _ = writeln!(text, "  and {} more, with --stats", work.len() - shown);
        }
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
        if !self.tolerated.is_empty() {
            let places = many(self.tolerated.len() as u64, "place", "places");
            let _ = write!(text, ", refused accesses at {places}");
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
        let tolerated: Vec<_> = self
            .tolerated
            .iter()
            .map(|((kernel, line), t)| {
                json!({
                    "kernel": kernel, "name": places::demangled(kernel), "line": line,
                    "code": t.code, "text": t.text, "issues": t.issues,
                })
            })
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
        let host_work = self.host_work.iter().map(|(operator, (calls, seconds))| {
            json!({ "operator": operator, "calls": calls, "seconds": seconds })
        });
        let host_work: Vec<_> = host_work.collect();
        json!({
            "processes": self.processes,
            "exit_code": code,
            "kernels": kernels,
            "stops": stops,
            "running": running,
            "refused": self.refused,
            "failed": failed,
            "tolerated": tolerated,
            "unsupported": self.unsupported,
            "host_work": host_work,
        })
    }
}

/// A finding that has no place in a kernel.
fn without_place(kind: Kind, message: String, causes: Vec<String>, count: u64) -> Finding {
    Finding {
        kind,
        code: "".into(),
        kernel: String::new(),
        launch: None,
        message,
        location: Location::default(),
        site: None,
        accesses: Vec::new(),
        related: None,
        causes,
        cure: kind.row().cure.to_owned(),
        count,
    }
}

fn failed_call(call: &str, failed: &Failed) -> Finding {
    let Failed { times, name, arguments, note } = failed;
    let causes = std::iter::once(format!("the first of these calls was {call}({arguments})"));
    let causes = causes.chain(note.clone()).collect();
    let message = format!("{call} fails with {name}");
    Finding {
        code: name.clone().into(),
        ..without_place(Kind::FailedCall, message, causes, *times)
    }
}

fn leaked(leak: &Allocated, why: &str) -> Finding {
    let Allocated { bytes, call } = leak;
    let plural = if *bytes == 1 { "" } else { "s" };
    let message = format!("{bytes} byte{plural} that {call} has allocated are not freed");
    without_place(Kind::Leak, message, vec![why.to_owned()], 1)
}

fn held_by_kernel(kernel: &str, (blocks, bytes): (u64, u64)) -> Finding {
    let plural = if blocks == 1 { "" } else { "s" };
    let message =
        format!("{blocks} block{plural} that `malloc` has allocated in `{kernel}` are not freed");
    let why = format!("the device heap still holds {bytes} bytes of them when the program ends");
    let found = without_place(Kind::Leak, message, vec![why], 1);
    Finding { kernel: kernel.into(), ..found }
}

fn finding(kind: Kind, stop: &Stop) -> Finding {
    let mut lines = stop.text.lines().map(|line| line.trim().to_owned());
    let instruction = stop.instruction.clone().unwrap_or_default();
    let source = instruction.source.map(|(file, line)| Source {
        file: file.into(),
        line,
        inlined: Vec::new().into(),
    });
    Finding {
        kind,
        code: stop.code.clone().into(),
        kernel: stop.kernel.clone(),
        launch: None,
        message: lines.next().unwrap_or_default(),
        location: Location {
            text: instruction.text.into(),
            line: Some(instruction.line).filter(|&line| line > 0),
            span: None,
            source,
        },
        site: None,
        accesses: Vec::new(),
        related: None,
        causes: lines.collect(),
        cure: kind.row().cure.to_owned(),
        count: 1,
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
        return "no process has initialised the driver (what carries NVIDIA's static CUDA runtime \
            cannot: see docs/build.md)"
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
