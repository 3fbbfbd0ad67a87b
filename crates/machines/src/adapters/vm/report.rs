//! Diagnostics for faults and hangs, and for differences between the engines.

use ir::LocId;
use isa::Diagnostic;
use places::{Place, Site};
use simt::LaneMask;
use simt::machine::{Hang, HangKind, Waiter};
use simt::observe::GroupId;
use simt::trap::{Cause as _, Fault};
use vm::Recheck;

use super::program::VmProgram;
use super::spin::{self, Programs};
use crate::launch::{End, LaunchRequest, Stop};

/// Waiting paths that are listed individually.
const SHOWN: usize = 6;

/// Returns the location of lanes in the grid.
fn site<const N: usize>(id: GroupId, lanes: &LaneMask<N>, request: &LaunchRequest<'_>) -> Site {
    Site::new(id, lanes, request.grid, request.block)
}

/// Returns the location of lanes in the grid and in the source.
fn place<const N: usize>(
    program: &VmProgram,
    (id, lanes, loc): (GroupId, &LaneMask<N>, LocId),
    request: &LaunchRequest<'_>,
) -> Option<Box<Place>> {
    let (text, source) = (program.text_line(loc), program.source(loc));
    Some(Box::new(Place { site: site(id, lanes, request), text, source }))
}

/// The end of a launch.
pub(super) fn end<const N: usize>(
    programs: Programs<'_>,
    end: engine::End<N>,
    request: &LaunchRequest<'_>,
) -> End {
    let program = programs.run;
    match end {
        engine::End::Done => End::Done,
        engine::End::Interrupted => End::Interrupted,
        engine::End::Fault(found) => End::Fault(fault(program, &found, request)),
        engine::End::Hang(found) => End::Hang(hang(programs, &found, request)),
        engine::End::Differs(recheck) => End::Differs(difference(program, &recheck, request)),
    }
}

/// A fault.
fn fault<const N: usize>(
    program: &VmProgram,
    fault: &Fault<vm::Cause, N>,
    request: &LaunchRequest<'_>,
) -> Stop {
    let code = fault.cause.code();
    let message = match &fault.cause {
        vm::Cause::Access(error) => places::explain(error),
        other => other.to_string(),
    };
    let loc = program.loc_of(fault.pc);
    let span = program.span(loc);
    let mut report = Diagnostic::error(code, message);
    if let Some(span) = span {
        report = report.at(span, format!("lanes {} fault here", fault.lanes));
    }
    report = report.note(format!(
        "in kernel `{}` under {}: {}",
        places::shown(request.kernel),
        request.mechanism,
        site(fault.group, &fault.lanes, request)
    ));
    if let Some(source) = program.source(loc) {
        report = report.note(format!("compiled from {source}"));
    }
    let place = place(program, (fault.group, &fault.lanes, loc), request);
    Stop { code, report, line: span.map(|s| u64::from(program.line(s))), place }
}

/// A hang: who waits where for whom.
fn hang<const N: usize>(
    programs: Programs<'_>,
    hang: &Hang<N>,
    request: &LaunchRequest<'_>,
) -> Stop {
    let program = programs.run;
    let (code, message) = match hang.kind {
        HangKind::Deadlock => ("deadlock", "the kernel hangs: no lane can go on"),
        HangKind::Repeats => ("repeats", "the kernel hangs: its complete state repeats"),
        HangKind::Limit => {
            ("limit", "the kernel has reached the limit of instructions: it may hang")
        }
    };
    let mut report = Diagnostic::error(code, message);
    let first = hang.waiters.first().map(|w| program.loc_of(w.pc));
    let span = first.and_then(|loc| program.span(loc));
    if let (Some(span), Some(waiter)) = (span, hang.waiters.first()) {
        report = report.at(span, waiter.wait.to_string());
    }
    if let Some(sentence) = spin::sentence(programs, hang, request) {
        report = report.note(sentence);
    }
    report = report.note(format!(
        "in kernel `{}` under {}",
        places::shown(request.kernel),
        request.mechanism
    ));
    for waiter in hang.waiters.iter().take(SHOWN) {
        report = report.note(describe(program, waiter, request));
    }
    let more = hang.waiters.len().saturating_sub(SHOWN) + hang.more;
    if more > 0 {
        report = report.note(format!("and {more} more"));
    }
    report = report.note(spin::schedule(request));
    if hang.kind == HangKind::Limit {
        report = report.help("raise it with --limit if the kernel needs that long");
    }
    let place = hang.waiters.first().and_then(|w| {
        let at = (w.group, &w.lanes, program.loc_of(w.pc));
        place(program, at, request)
    });
    Stop { code, report, line: span.map(|s| u64::from(program.line(s))), place }
}

/// The first thing in which the engines differ, and who wrote the word last.
fn difference(program: &VmProgram, recheck: &Recheck, request: &LaunchRequest<'_>) -> Stop {
    let mut report = Diagnostic::error(vm::DIFFER, recheck.to_string());
    let writer = match recheck {
        Recheck::Memory(difference) => difference.writer,
        _ => None,
    };
    let loc = writer.map(|w| program.loc_of(w.pc));
    let span = loc.and_then(|loc| program.span(loc));
    let mut stop_place = None;
    if let (Some(writer), Some(loc)) = (writer, loc) {
        let lanes: LaneMask<1> = LaneMask::lane(writer.lane.into());
        if let Some(span) = span {
            report = report.at(span, "writes it last on the exact engine");
        }
        report = report.note(format!(
            "in kernel `{}` under {}: {}",
            places::shown(request.kernel),
            request.mechanism,
            site(writer.group, &lanes, request)
        ));
        if let Some(source) = program.source(loc) {
            report = report.note(format!("compiled from {source}"));
        }
        stop_place = place(program, (writer.group, &lanes, loc), request);
    } else {
        let kernel = places::shown(request.kernel);
        report = report.note(format!("in kernel `{kernel}` under {}", request.mechanism));
    }
    report = report
        .note("memory is the exact engine's now, whose results are the right ones by definition")
        .help("this is a mistake of Simtlab's: `--engine exact` does without the wrong engine");
    let line = span.map(|s| u64::from(program.line(s)));
    Stop { code: vm::DIFFER, report, line, place: stop_place }
}

fn describe<const N: usize>(
    program: &VmProgram,
    waiter: &Waiter<N>,
    request: &LaunchRequest<'_>,
) -> String {
    let loc = program.loc_of(waiter.pc);
    let line = program.span(loc).map_or(String::new(), |s| format!(" at line {}", program.line(s)));
    let source = program.source(loc).map_or(String::new(), |source| format!(" ({source})"));
    let site = site(waiter.group, &waiter.lanes, request);
    let off = match waiter.off.any() {
        true => format!("; lanes {} are masked off", waiter.off),
        false => String::new(),
    };
    format!("{site}{line}{source}: {}{off}", waiter.wait)
}
