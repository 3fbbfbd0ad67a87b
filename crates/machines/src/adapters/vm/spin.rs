//! Diagnostics for spin loops: warnings before a run, an explanation after a hang.

use ::flow::{PostDominators, SpinWait, WriteIs, kernel::graph_of, spin_waits};
use ir::{Function, LocId};
use isa::Diagnostic;
use simt::machine::{Hang, HangKind, Wait, Waiter};
use simt::{LaneMask, Pc};

use super::program::VmProgram;
use crate::adapters::shared::option_text;
use crate::launch::{HANGS, LaunchRequest};

/// Warns of the loops of all functions that may wait for ever.
pub(super) fn warnings(program: &VmProgram) -> Vec<Diagnostic> {
    let functions = program.module().functions.iter();
    functions
        .flat_map(|f| spin_waits(f).found.into_iter().map(move |spin| (f, spin)))
        .map(|(function, spin)| warning(program, function, &spin))
        .collect()
}

fn warning(program: &VmProgram, function: &Function, spin: &SpinWait) -> Diagnostic {
    let place = match spin.place {
        WriteIs::After => "that comes only after the place where its lanes rejoin",
        WriteIs::Beside => "on a path beside it",
    };
    let message = format!("this loop may wait for ever: it waits for a write {place}");
    let mut finding = Diagnostic::warning("flow::spin", message);
    if let Some(span) = program.span(spin.read) {
        finding = finding.at(span, "its end depends on this read");
    }
    if let Some(span) = program.span(spin.write) {
        finding = finding.also(span, "the write");
    }
    let who = match spin.place {
        WriteIs::After => "lanes that have left the loop",
        WriteIs::Beside => "lanes on the other path",
    };
    finding
        .note(format!(
            "in `{}`: a mechanism that keeps {who} waiting for the others hangs",
            places::shown(&function.name)
        ))
        .help("let go inside of the loop, or run it where every lane makes progress; `simtlab compare` shows where it ends")
}

/// Formats lanes as `lane 3` or `lanes 0-3,7`.
fn names<const N: usize>(lanes: &LaneMask<N>) -> String {
    let text = lanes.to_string();
    let list = text.trim_matches(['{', '}']);
    if lanes.count() == 1 { format!("lane {list}") } else { format!("lanes {list}") }
}

/// Selects the singular or plural form of a verb.
fn verb<const N: usize>(
    lanes: &LaneMask<N>,
    one: &'static str,
    many: &'static str,
) -> &'static str {
    if lanes.count() == 1 { one } else { many }
}

/// Explains a hang in one sentence.
pub(super) fn sentence<const N: usize>(
    program: &VmProgram,
    hang: &Hang<N>,
    request: &LaunchRequest<'_>,
) -> Option<String> {
    let first = hang.waiters.first()?;
    let group: Vec<&Waiter<N>> = hang.waiters.iter().filter(|w| w.group == first.group).collect();
    let story = match hang.kind {
        HangKind::Deadlock => deadlock(program, &hang.waiters)?,
        HangKind::Repeats | HangKind::Limit => endless(program, &group)?,
    };
    Some(format!("{HANGS}{}: {story}", request.mechanism))
}

/// Describes the schedule, which reproduces a run.
pub(super) fn schedule(request: &LaunchRequest<'_>) -> String {
    let options = request.options.iter().filter(|o| o.key.value != "map");
    let options: String =
        options.map(|o| format!(", {} {}", o.key.value, option_text(o))).collect();
    format!(
        "the schedule: mechanism {}, warp size {}, seed {}{options}; the same again is the same run, issue by issue",
        request.mechanism, request.warp_size, request.seed
    )
}

fn line(program: &VmProgram, loc: LocId) -> Option<u32> {
    program.span(loc).map(|span| program.line(span))
}

fn at(program: &VmProgram, pc: Pc) -> String {
    line(program, program.loc_of(pc))
        .map_or_else(|| "a line of a pass".to_owned(), |n| format!("line {n}"))
}

/// Explains a deadlock: which lanes wait for what, and what the lanes that they need wait for.
fn deadlock<const N: usize>(program: &VmProgram, waiters: &[Waiter<N>]) -> Option<String> {
    let first = waiters.iter().find(|w| w.wait != Wait::Turn).or(waiters.first())?;
    let waits = |w: &Waiter<N>| verb(&w.lanes, "waits", "wait");
    let of_group = |w: &Waiter<N>| w.group == first.group && w.pc != first.pc;
    let other = waiters.iter().find(|w| of_group(w)).or(waiters.iter().find(|w| w.pc != first.pc));
    let rest = other.map(|w| {
        let whose = if w.group == first.group { "" } else { " of another warp" };
        let what = match &w.wait {
            Wait::Turn => "for another path".to_owned(),
            Wait::Barrier { id, .. } => format!("at barrier {id}"),
            _ => "for others".to_owned(),
        };
        format!("{}{whose} {} {what} at {}", names(&w.lanes), waits(w), at(program, w.pc))
    });
    let here = format!("{} at {} {}", names(&first.lanes), at(program, first.pc), waits(first));
    let story = match &first.wait {
        Wait::Barrier { id, arrived, expected } => {
            format!("{here} at barrier {id} for {} more threads", expected.saturating_sub(*arrived))
        }
        Wait::Collective { missing } => format!("{here} for {}", names(missing)),
        Wait::Turn | Wait::Running => format!("{here} for another path"),
    };
    Some(match rest {
        Some(rest) => format!("{story}, while {rest}"),
        None => format!("{story}, which never come"),
    })
}

/// Explains a livelock: which lanes loop where, and what the waiting lanes would have to do.
fn endless<const N: usize>(program: &VmProgram, group: &[&Waiter<N>]) -> Option<String> {
    let mut running = group.iter().filter(|w| w.wait == Wait::Running);
    let waiting = running.clone().find_map(|w| Some((*w, spin_at(program, w.pc)?)));
    let Some((spinner, (function, block, spin))) = waiting else {
        let spinner = running.next()?;
        let (who, here) = (names(&spinner.lanes), at(program, spinner.pc));
        let goes = verb(&spinner.lanes, "goes", "go");
        let story = format!("{who} at {here} {goes} round without end");
        return Some(match group.iter().find(|w| w.pc != spinner.pc) {
            Some(p) => {
                let (who, here) = (names(&p.lanes), at(program, p.pc));
                let waits = verb(&p.lanes, "waits", "wait");
                format!("{story}, while {who} at {here} {waits} for another path")
            }
            None => story,
        });
    };
    let read =
        line(program, spin.read).map_or_else(|| at(program, spinner.pc), |n| format!("line {n}"));
    let write = line(program, spin.write).map_or(String::new(), |n| format!(" (line {n})"));
    let spins = verb(&spinner.lanes, "spins", "spin");
    let outside = |w: &&&Waiter<N>| match block_of(program, w.pc) {
        Some((f, b)) => f != function || !spin.body.iter().any(|id| id.index() == b),
        None => true,
    };
    let parked = group.iter().find(outside);
    let Some(parked) = parked else {
        return Some(format!(
            "{} at {read} {spins} on what is released only behind the loop{write}",
            names(&spinner.lanes)
        ));
    };
    // Lanes that leave a loop wait at a block that post-dominates it: its rejoin point.
    let rejoins = block_of(program, parked.pc).is_some_and(|(f, b)| {
        f == function && {
            let cfg = graph_of(&program.module().functions[f]);
            cfg.is_ok_and(|cfg| match (cfg.node(b), cfg.node(block)) {
                (Some(b), Some(block)) => PostDominators::new(&cfg).post_dominates(b, block),
                _ => false,
            })
        }
    });
    let (whose, has) = if parked.lanes.count() == 1 { ("its", "has") } else { ("their", "have") };
    let where_to = if rejoins { format!("{whose} rejoin point at ") } else { String::new() };
    Some(format!(
        "{} at {read} {spins} on what {}, parked at {where_to}{}, {has} to release{write}",
        names(&spinner.lanes),
        names(&parked.lanes),
        at(program, parked.pc)
    ))
}

/// Returns the function and block of a program counter.
fn block_of(program: &VmProgram, pc: Pc) -> Option<(usize, usize)> {
    let function = program.program.at(pc)?.function();
    let base = program.program.entry(function)?.0;
    let places = ::flow::kernel::block_places(program.module().functions.get(function)?, base);
    places.iter().position(|range| range.contains(&pc.0)).map(|block| (function, block))
}

/// Returns the spin loop around a program counter, with its function and block.
fn spin_at(program: &VmProgram, pc: Pc) -> Option<(usize, usize, SpinWait)> {
    let (function, block) = block_of(program, pc)?;
    let found = spin_waits(program.module().functions.get(function)?).found;
    let spin = found.into_iter().find(|s| s.body.iter().any(|b| b.index() == block))?;
    Some((function, block, spin))
}
