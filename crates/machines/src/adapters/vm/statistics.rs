//! The statistics of launches.

use std::collections::BTreeMap;

use engine::{Counters, PcSlots};
use simt::Pc;
use simt::counts::Traffic;
use simt::slots::LaneSlots;
use vm::Retry;

use super::program::VmProgram;
use crate::launch::{End, LaunchRequest, LaunchResult};
use crate::stats::{AccessSite, INSERTED, LaunchStats, LineSlots};

/// Counters for a launch that begins, if its events are counted.
pub(super) fn counters(program: &VmProgram, request: &LaunchRequest<'_>) -> Option<Counters> {
    let new = || Counters::with_pcs(PcSlots::new(program.program.code().len()));
    request.detailed.then(new)
}

/// What a launch has left.
pub(super) struct RunTotals<'a> {
    pub(super) stats: &'a vm::Counts,
    pub(super) counters: Counters,
    pub(super) output: &'a [u8],
    /// Whether it ran again under [`Retry::MECHANISM`].
    pub(super) retried: bool,
}

pub(super) fn result(
    program: &VmProgram,
    request: &LaunchRequest<'_>,
    end: End,
    totals: RunTotals<'_>,
) -> LaunchResult {
    let RunTotals { stats: counted, counters, output, retried } = totals;
    let mut stats = match retried {
        true => {
            let request = LaunchRequest { mechanism: Retry::MECHANISM, ..request.clone() };
            stats(program, &request, &end, counted, counters)
        }
        false => stats(program, request, &end, counted, counters),
    };
    stats.retried = retried.then_some(Retry::MECHANISM);
    LaunchResult { end, stats, output: output.to_vec(), words: String::new() }
}

fn stats(
    program: &VmProgram,
    request: &LaunchRequest<'_>,
    end: &End,
    counted: &vm::Counts,
    counters: Counters,
) -> LaunchStats {
    LaunchStats {
        kernel: request.kernel.to_owned(),
        grid: request.grid,
        block: request.block,
        shared: request.shared,
        outcome: end.name().to_owned(),
        lines: lines(program, &counters),
        sites: sites(program, &counters),
        engine: "exact",
        state_bits: state_bits(request, counted.charges.max_depth),
        ..LaunchStats::of(counted, counters)
    }
}

/// Returns the bits that the mechanism keeps for the lanes of one group.
fn state_bits(request: &LaunchRequest<'_>, depth: u64) -> u64 {
    let Ok(entry) = converge::Entry::find(request.mechanism) else { return 0 };
    let threads = request.block.iter().copied().fold(1, u64::saturating_mul);
    let lanes = match entry.scope {
        converge::Scope::Group => request.warp_size,
        converge::Scope::Cta => threads.next_multiple_of(request.warp_size.max(1)),
    };
    entry.state_bits(lanes, depth)
}

/// Counts the issues of operations that a pass inserted.
pub(super) fn inserted(program: &VmProgram, by_pc: &PcSlots) -> [u64; INSERTED.len()] {
    let mut out = [0; INSERTED.len()];
    for (code, slots) in program.program.code().iter().zip(by_pc.slots()) {
        let why = INSERTED.iter().position(|(origin, _)| *origin == code.origin());
        if let Some(count) = why.and_then(|why| out.get_mut(why)) {
            *count += slots.issues();
        }
    }
    out
}

/// Returns lane slots by source line; without a line table, by line of the program's text.
fn lines(program: &VmProgram, counters: &Counters) -> Vec<LineSlots> {
    let mut by_line: BTreeMap<(String, u32), LaneSlots> = BTreeMap::new();
    for (code, slots) in program.program.code().iter().zip(counters.by_pc.slots()) {
        if slots.issues() == 0 {
            continue;
        }
        let loc = code.loc();
        let source = program.source(loc).map(|s| (s.file.to_string(), s.line));
        let place = source.or_else(|| {
            let span = program.span(loc)?;
            Some((String::new(), program.line(span)))
        });
        if let Some(place) = place {
            by_line.entry(place).or_default().add(slots);
        }
    }
    let line = |((file, line), slots): ((String, u32), _)| {
        let file = places::shown_file(&file).to_owned();
        LineSlots { file, line, slots }
    };
    by_line.into_iter().map(line).collect()
}

/// Returns memory traffic by line of the program's text.
fn sites(program: &VmProgram, counters: &Counters) -> Vec<AccessSite> {
    let mut by_line: BTreeMap<u32, AccessSite> = BTreeMap::new();
    for (pc, traffic) in counters.traffic_by_pc.iter() {
        let loc = program.loc_of(Pc(pc));
        let Some(span) = program.span(loc) else { continue };
        let line = program.line(span);
        let site = by_line.entry(line).or_insert_with(|| AccessSite {
            line,
            source: program.source(loc).map(|s| (places::shown_file(&s.file).to_owned(), s.line)),
            text: program.written(span).unwrap_or_default(),
            traffic: Traffic::default(),
        });
        site.traffic.add(traffic);
    }
    by_line.into_values().collect()
}
