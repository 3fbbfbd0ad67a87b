//! Tables of the cycle model: programs with their total of cycles, and the cycle of every stage of
//! every instruction.
//!
//! The two belong together: a row of a trace refers to a program of the other table. The column
//! `config` names the configuration of a program: `default`, or parameters by their dotted names,
//! such as `scheduler_policy=GTO` and `memory.latency=6`.

use std::collections::BTreeMap;

use isa::conform::{Case, Report};
use simt::machine::{Machine, Step};
use simt::memory::MemoryMap;

use super::{LIMIT, Row, heap, program_words, rows};
use crate::config::Profile;
use crate::launch::Launch;
use crate::program::Program;
use crate::timing::{Params, Timed, TimingCounts};

/// The names of the stages in traces.
const STAGES: [&str; 9] = [
    "fetch_req",
    "icache_out",
    "decode_out",
    "ibuf_in",
    "ibuf_out",
    "ops_ready",
    "dispatch",
    "ex_out",
    "wb",
];

/// Warp, address, and the number of this execution of the instruction.
type Key = (u32, u32, u32);
/// The cycles of the stages by instruction.
type Trace = BTreeMap<Key, [u64; 9]>;

/// Returns the kind of a table of the cycle model; `None` for other tables.
#[must_use]
pub fn is_timing(table: &str) -> Option<TimingTable> {
    let (header, _) = rows(table)?;
    match (header.contains(&"total_cycles"), header.contains(&STAGES[0])) {
        (true, _) => Some(TimingTable::Programs),
        (_, true) => Some(TimingTable::Traces),
        _ => None,
    }
}

/// The two kinds of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimingTable {
    /// Programs with their totals.
    Programs,
    /// The cycles of instructions.
    Traces,
}

/// The outcome of a run.
struct Outcome {
    trace: Trace,
    counts: TimingCounts,
}

/// The parameters that a `config` column names.
fn params(config: &str) -> Result<Params, String> {
    let mut params = Params::default();
    let settings = config.split([',', ';', ' ']).map(str::trim);
    for setting in settings.filter(|s| !s.is_empty() && *s != "default") {
        let (name, value) =
            setting.split_once('=').ok_or_else(|| format!("`{setting}` sets nothing"))?;
        let (name, value) = match (name.trim(), value.trim()) {
            ("scheduler_policy", "GTO") => ("scheduler", "greedy-then-oldest"),
            ("scheduler_policy", "RR") => ("scheduler", "round-robin"),
            ("memory_latency", value) => ("memory.latency", value),
            same => same,
        };
        params.set(name, value).map_err(|e| e.to_string())?;
    }
    Ok(params)
}

fn run(row: &Row<'_>) -> Result<Outcome, String> {
    let words = program_words(row)?;
    let profile = Profile::default();
    let config = profile.config();
    let params = params(row.get("config")?)?;
    let machine = Timed { config, profile, params, records: 1 << 20, ..Timed::default() };
    let program = Program::new(&words, config).map_err(|e| e.to_string())?;
    let mut memory = MemoryMap::new();
    heap(&mut memory)?;
    let (threads, blocks) = (row.number("threads")?, row.number("blocks").unwrap_or(1));
    let (total, argument, entry) = (None, 0, None);
    let launch = Launch { threads, blocks, total, argument, entry, memory };
    let mut state = machine.launch(&program, launch).map_err(|e| e.to_string())?;
    match machine.run_unobserved(&program, &mut state, LIMIT) {
        Step::Done => {}
        Step::Fault(fault) => return Err(fault.to_string()),
        Step::Issued | Step::Hang(_) => return Err(format!("no end after {LIMIT} instructions")),
    }
    let mut trace = Trace::new();
    let mut seen: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut records: Vec<_> = state.records().iter().collect();
    records.sort_by_key(|r| r.times.0[0]);
    for record in records {
        let occurrence = seen.entry((record.slot, record.pc)).or_default();
        trace.insert((record.slot, record.pc, *occurrence), record.times.0);
        *occurrence += 1;
    }
    Ok(Outcome { trace, counts: state.timing().clone() })
}

/// Reads one row of a trace.
fn traced(row: &Row<'_>) -> Result<(Key, [u64; 9]), String> {
    let key = (row.number("warp")?, row.number("pc")?, row.number("occurrence")?);
    let mut times = [0; 9];
    for (time, name) in times.iter_mut().zip(STAGES) {
        *time = row.number(name)?.into();
    }
    Ok((key, times))
}

/// Checks the cycles of an instruction against a row.
fn same_times(trace: &Trace, key: Key, expected: [u64; 9]) -> Result<(), String> {
    let (warp, pc, occurrence) = key;
    let place = format!("warp {warp} at {pc:#x}, time {occurrence}");
    let got = trace.get(&key).ok_or_else(|| format!("{place}: is not executed"))?;
    let mut stages = STAGES.iter().zip(got.iter().zip(&expected));
    match stages.find(|(_, (got, expected))| got != expected) {
        None => Ok(()),
        Some((stage, (got, expected))) => {
            Err(format!("{place}: {stage} in cycle {got}, not {expected}"))
        }
    }
}

fn program(row: &Row<'_>, traces: &[(Row<'_>, u32)]) -> Result<(), String> {
    let outcome = run(row)?;
    if !outcome.counts.adds_up() {
        return Err("the slots do not add up to the cycles".to_owned());
    }
    let name = row.get("trace")?;
    let mut expected = 0;
    for (row, _) in traces.iter().filter(|(row, _)| row.get("trace") == Ok(name)) {
        let (key, times) = traced(row)?;
        same_times(&outcome.trace, key, times)?;
        expected += 1;
    }
    if expected > 0 && outcome.trace.len() != expected {
        return Err(format!("{} instructions are executed, not {expected}", outcome.trace.len()));
    }
    let (got, expected) = (outcome.counts.cycles, u64::from(row.number("total_cycles")?));
    if got == expected { Ok(()) } else { Err(format!("{got} cycles, not {expected}")) }
}

fn case(row: &Row<'_>, line: u32, failure: Option<String>) -> Case {
    Case { line, fact: row.fact(4), failure }
}

/// Checks programs: words, totals, and their traces where the other table has them.
#[must_use]
pub(super) fn programs(programs: &str, traces: &str) -> Report {
    let traces = rows(traces).map(|(_, rows)| rows).unwrap_or_default();
    let mut report = Report::default();
    for (row, line) in rows(programs).map(|(_, rows)| rows).unwrap_or_default() {
        report.cases.push(case(&row, line, program(&row, &traces).err()));
    }
    report
}

/// Checks each row of the traces of these programs.
#[must_use]
pub(super) fn traces(programs: &str, traces: &str) -> Report {
    let programs = rows(programs).map(|(_, rows)| rows).unwrap_or_default();
    let mut outcomes: BTreeMap<&str, Result<Outcome, String>> = BTreeMap::new();
    let mut report = Report::default();
    for (row, line) in rows(traces).map(|(_, rows)| rows).unwrap_or_default() {
        let done = row.get("trace").and_then(|name| {
            let outcome = outcomes.entry(name).or_insert_with(|| {
                let program = programs.iter().find(|(row, _)| row.get("trace") == Ok(name));
                run(&program.ok_or_else(|| format!("there is no program `{name}`"))?.0)
            });
            let outcome = outcome.as_ref().map_err(Clone::clone)?;
            let (key, times) = traced(&row)?;
            same_times(&outcome.trace, key, times)
        });
        report.cases.push(case(&row, line, done.err()));
    }
    report
}
