//! Diagnostics for spin loops: warnings before a run, an explanation after a hang.

use ::flow::{PostDominators, SpinWait, WriteIs, kernel::graph_of, spin_waits};
use converge::{Entry, Idle};
use ir::{BlockId, Function, LocId};
use isa::Diagnostic;
use simt::machine::{Hang, HangKind, Wait, Waiter};
use simt::{LaneMask, Pc};

use super::program::VmProgram;
use crate::adapters::shared::option_text;
use crate::launch::{HANGS, LaunchRequest};

/// Warns of the loops of all functions that may wait for ever.
pub(super) fn warnings(program: &VmProgram) -> Vec<Diagnostic> {
    let module = program.module();
    let found = spin_waits(module).found;
    found.iter().map(|spin| warning(program, &module.functions[spin.function], spin)).collect()
}

/// The same of the first functions alone; `None` if there is a warning of any other.
pub(super) fn warnings_of(program: &VmProgram, functions: usize) -> Option<Vec<Diagnostic>> {
    let module = program.module();
    let found = spin_waits(module).found;
    let one = |spin: &SpinWait| {
        let function = module.functions[..functions].get(spin.function)?;
        Some(warning(program, function, spin))
    };
    found.iter().map(one).collect()
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

/// A program as it is run, and as it is written: passes give code other places.
#[derive(Clone, Copy)]
pub(super) struct Programs<'a> {
    pub(super) run: &'a VmProgram,
    pub(super) written: &'a VmProgram,
}

/// Explains a hang in one sentence.
pub(super) fn sentence<const N: usize>(
    programs: Programs<'_>,
    hang: &Hang<N>,
    request: &LaunchRequest<'_>,
) -> Option<String> {
    let first = hang.waiters.first()?;
    let group: Vec<&Waiter<N>> = hang.waiters.iter().filter(|w| w.group == first.group).collect();
    let story = match hang.kind {
        HangKind::Deadlock => deadlock(programs.run, &hang.waiters)?,
        HangKind::Repeats | HangKind::Limit => endless(programs, &group, request.mechanism)?,
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
            Wait::Cluster { .. } => "at the barrier of the cluster".to_owned(),
            Wait::Mbarrier(barrier) => format!("for {barrier}"),
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
        Wait::WarpGroup { missing } => format!(
            "{here} for products that warps {missing:#06b} of the warp group have not issued"
        ),
        Wait::Cluster { arrived, expected } => format!(
            "{here} at the barrier of the cluster for {} more threads",
            expected.saturating_sub(*arrived)
        ),
        Wait::Mbarrier(barrier) => format!("{here} for {barrier}"),
        Wait::BulkGroup => format!("{here} for a group of bulk copies"),
        Wait::CopyGroup => format!("{here} for a group of copies"),
        Wait::Turn | Wait::Running => format!("{here} for another path"),
    };
    Some(match rest {
        Some(rest) => format!("{story}, while {rest}"),
        None => format!("{story}, which never come"),
    })
}

/// Explains a livelock: which lanes loop where, and what keeps the lanes that they wait for from
/// running.
fn endless<const N: usize>(
    programs: Programs<'_>,
    group: &[&Waiter<N>],
    mechanism: &str,
) -> Option<String> {
    let program = programs.run;
    let idle = Entry::find(mechanism).map_or(Idle::Held, |entry| entry.idle);
    let mut running = group.iter().filter(|w| w.wait == Wait::Running);
    let spinner =
        running.clone().find_map(|w| Some((*w, spin_at(programs, w.pc).filter(|_| w.on().any())?)));
    let Some((spinner, spin)) = spinner else {
        return round(program, running.next()?, group);
    };
    let (who, spins) = (spinner.on(), verb(&spinner.on(), "spins", "spin"));
    let read = line(program, spin.wait.read);
    let read = read.map_or_else(|| at(program, spinner.pc), |n| format!("line {n}"));
    let write = line(program, spin.wait.write).map_or(String::new(), |n| format!(" (line {n})"));
    if idle == Idle::MaskedOff && spinner.off.any() {
        let off = spinner.off;
        return Some(format!(
            "{} at {read} {spins} on what {}, masked off, {} to release{write}: all lanes of the group are in the loop \
             until the last has left it",
            names(&who),
            names(&off),
            verb(&off, "has", "have")
        ));
    }
    let outside = |w: &&&Waiter<N>| !spin.contains(programs, w.pc);
    let Some(other) = group.iter().find(outside) else {
        return Some(format!(
            "{} at {read} {spins} on what is released only behind the loop{write}",
            names(&who)
        ));
    };
    let (them, there) = (names(&other.lanes), at(program, other.pc));
    let [has, waits, is] =
        [("has", "have"), ("waits", "wait"), ("is", "are")].map(|(o, m)| verb(&other.lanes, o, m));
    let whose = if other.lanes.count() == 1 { "its" } else { "their" };
    let spinning = format!("{} at {read} {spins} on what", names(&who));
    Some(match (&other.wait, idle) {
        (Wait::Barrier { .. } | Wait::Collective { .. } | Wait::WarpGroup { .. }, _) => format!(
            "{spinning} {them}, which {waits} for others at {there}, {has} to release{write}"
        ),
        (_, Idle::Passed(preferred)) => format!(
            "{spinning} {them} {has} to release{write}; {them} at {there} {is} ready but never chosen: {mechanism} \
             prefers {preferred}, {}",
            at(program, spinner.pc)
        ),
        (_, Idle::AtBarrier) => format!(
            "{spinning} {them}, waiting at {whose} convergence barrier at {there}, {has} to release{write}"
        ),
        _ if spin.rejoins(programs, other.pc) => format!(
            "{spinning} {them}, parked at {whose} rejoin point at {there}, {has} to release{write}"
        ),
        _ => format!(
            "{spinning} {them}, waiting below the running path at {there}, {has} to release{write}"
        ),
    })
}

/// Says that lanes loop, where nothing is known of what they wait for.
fn round<const N: usize>(
    program: &VmProgram,
    spinner: &Waiter<N>,
    group: &[&Waiter<N>],
) -> Option<String> {
    let who = if spinner.on().any() { spinner.on() } else { spinner.lanes };
    let here = at(program, spinner.pc);
    let goes = verb(&who, "goes", "go");
    let mut story = format!("{} at {here} {goes} round without end", names(&who));
    if spinner.off.any() && spinner.on().any() {
        let is = verb(&spinner.off, "is", "are");
        story.push_str(&format!(", while {} {is} masked off", names(&spinner.off)));
    }
    if let Some(p) = group.iter().find(|w| w.pc != spinner.pc) {
        let (who, here) = (names(&p.lanes), at(program, p.pc));
        let waits = verb(&p.lanes, "waits", "wait");
        story.push_str(&format!(", while {who} at {here} {waits} for another path"));
    }
    Some(story)
}

/// A loop that waits, in the program as it is written.
struct Spin {
    function: usize,
    wait: SpinWait,
}

impl Spin {
    /// Returns whether an instruction of the running program comes from the loop.
    fn contains(&self, programs: Programs<'_>, pc: Pc) -> bool {
        let loc = programs.run.loc_of(pc);
        let function = programs.written.module().functions.get(self.function);
        function.is_some_and(|f| in_blocks(f, &self.wait.body, loc))
    }

    /// Returns whether lanes that leave the loop meet at an instruction: its block post-dominates
    /// the loop's.
    fn rejoins(&self, programs: Programs<'_>, pc: Pc) -> bool {
        let loc = programs.run.loc_of(pc);
        let Some(function) = programs.written.module().functions.get(self.function) else {
            return false;
        };
        let mut blocks = (0..function.blocks.len()).map(|b| BlockId(b as u32));
        let block = blocks.find(|&b| in_blocks(function, &[b], loc));
        let (Some(block), Ok(cfg)) = (block, graph_of(function)) else { return false };
        match (cfg.node(block.index()), cfg.node(self.wait.header.index())) {
            (Some(b), Some(header)) => PostDominators::new(&cfg).post_dominates(b, header),
            _ => false,
        }
    }
}

/// Returns whether an instruction of this location is in one of the blocks.
fn in_blocks(function: &Function, blocks: &[BlockId], loc: LocId) -> bool {
    loc != LocId(0)
        && blocks
            .iter()
            .filter_map(|b| function.blocks.get(b.index()))
            .any(|block| block.insts.iter().any(|inst| inst.loc == loc) || block.term.loc == loc)
}

/// Returns the spin loop from which an instruction of the running program comes.
fn spin_at(programs: Programs<'_>, pc: Pc) -> Option<Spin> {
    let loc = programs.run.loc_of(pc);
    let function = programs.run.program.at(pc)?.function();
    let module = programs.written.module();
    let written = module.functions.get(function)?;
    let mut found = spin_waits(module).found.into_iter();
    let wait = found.find(|s| s.function == function && in_blocks(written, &s.body, loc))?;
    Some(Spin { function, wait })
}
