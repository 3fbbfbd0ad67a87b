//! Texts about the state.

use std::fmt::Write as _;

use places::Site;
use simt::inspect::{FramePlace, GroupView, Register, RegisterKind, RegisterOwner};
use simt::observe::GroupId;

use crate::expr::{Type, Value};
use crate::session::motion::Reason;
use crate::session::{Session, ctas, same};
use crate::target::{EndKind, Lanes, Look};

/// What is launched, in one line.
#[must_use]
pub fn summary(session: &Session<'_>) -> String {
    let look = session.look();
    let (grid, block) = look.extents();
    let extents = |[x, y, z]: [u64; 3]| match (y, z) {
        (1, 1) => format!("{x}"),
        _ => format!("{x},{y},{z}"),
    };
    format!(
        "kernel `{}` under {}, grid {}, block {}\n",
        places::shown(look.kernel()),
        look.mechanism_name(),
        extents(grid),
        extents(block)
    )
}

/// The block, warp and lanes of a group.
pub(super) fn site(look: &dyn Look, group: GroupId, lanes: &Lanes) -> String {
    let (grid, block) = look.extents();
    Site::new(group, lanes, grid, block).to_string()
}

/// Why and where the launch stopped.
#[must_use]
pub fn stop(session: &Session<'_>) -> String {
    let look = session.look();
    let mut out = format!("issue {}", look.position());
    // Writing to a string cannot fail.
    let _ = match session.last_stop().map(|stop| &stop.reason) {
        None | Some(Reason::Step | Reason::Position) => writeln!(out),
        Some(Reason::Start) if look.position() == 0 => writeln!(out, ": the start of the launch"),
        Some(Reason::Start) => writeln!(out, ": nothing earlier"),
        Some(Reason::Breakpoint { number }) => writeln!(out, ": breakpoint {number}"),
        Some(Reason::Told { number, text }) => writeln!(out, ": {number}: {text}"),
        Some(Reason::Interrupted) => writeln!(out, ": interrupted"),
        Some(Reason::Gone) => writeln!(out, ": what was stepped has ended"),
        Some(Reason::End(_)) => writeln!(out, ": {}", end(look)),
    };
    if !matches!(look.end().map(|end| end.kind), Some(EndKind::Done)) {
        out.push_str(&here(session));
    }
    out
}

fn end(look: &dyn Look) -> String {
    let Some(end) = look.end() else { return String::new() };
    let what = match end.kind {
        EndKind::Done => return end.message.clone(),
        EndKind::Fault => "fault",
        EndKind::Hang => "hang",
    };
    let place = end.place.as_ref().map(|(group, _, lanes)| site(look, *group, lanes));
    let place = place.map_or(String::new(), |place| format!("\n  {place}"));
    format!("{what} `{}`: {}{place}", end.code, end.message)
}

/// The place in focus: the warp with its active lanes, and the line.
pub(super) fn here(session: &Session<'_>) -> String {
    let (look, at) = (session.look(), session.focus());
    let Some(group) = look.group(at.group) else {
        return "the lane in focus is not resident\n".to_owned();
    };
    let lane = Lanes::lane(at.lane as usize);
    let mut out = site(look, group.id, &lane).replace("lanes {", "lane ").replace('}', "");
    let _ = match group.next {
        Some(path) if path.lanes.contains(at.lane as usize) => {
            writeln!(out, ", active {}", path.lanes)
        }
        Some(path) => writeln!(out, " ({}), active {}", state(&group, at.lane), path.lanes),
        None => writeln!(out, " ({})", state(&group, at.lane)),
    };
    if let Some(pc) = session.place() {
        let pc = crate::session::called_from(look.code(), at, pc);
        out.push_str(&instruction(look, pc, "=>"));
    }
    out
}

/// What a lane does.
fn state(group: &GroupView<16>, lane: u32) -> &'static str {
    match letter(group, lane as usize) {
        '#' => "active",
        '-' => "off",
        'w' => "waiting",
        'x' => "exited",
        '.' => "diverged",
        _ => "never launched",
    }
}

/// A line with the instruction at a place.
pub(super) fn instruction(look: &dyn Look, pc: simt::Pc, sign: &str) -> String {
    let code = look.code();
    let Some(found) = code.at(pc) else { return format!("{sign} {:#x}\n", pc.0) };
    let line = found.line.map_or_else(|| format!("{:#x}", pc.0), |line| line.to_string());
    let source = found.source.as_ref().map_or(String::new(), |source| format!("    // {source}"));
    format!("{sign} {line:>4}  {}{source}\n", found.text)
}

/// A letter for what a lane does.
fn letter(group: &GroupView<16>, lane: usize) -> char {
    let next = group.next.filter(|path| path.lanes.contains(lane));
    if !group.launched.contains(lane) {
        ' '
    } else if group.exited.contains(lane) {
        'x'
    } else if group.waiting.contains(lane) {
        'w'
    } else if next.is_some() {
        if group.enabled.contains(lane) { '#' } else { '-' }
    } else {
        '.'
    }
}

/// The lanes of all resident warps as a grid, with the paths of those that have parted.
pub(super) fn lane_grid(session: &Session<'_>) -> String {
    let look = session.look();
    let (grid, block) = look.extents();
    let mut out = "# active  - off  . diverged  w waiting  x exited\n".to_owned();
    for (cta, groups) in ctas(look) {
        let id = GroupId { cta, ..GroupId::default() };
        let [x, y, z] = Site::new(id, &Lanes::EMPTY, grid, block).block;
        let _ = writeln!(out, "block ({x},{y},{z})");
        for group in groups {
            let letters: String =
                (0..group.width as usize).map(|lane| letter(&group, lane)).collect();
            let focus = if same(group.id, session.focus().group) { '*' } else { ' ' };
            let _ = writeln!(out, "{focus} warp {:<3} {}", group.id.group, letters.trim_end());
            for path in &group.paths {
                let next = group.next.is_some_and(|next| next.lanes == path.lanes);
                let next = if next { ", next" } else { "" };
                let place = look.code().describe(path.pc);
                let _ = writeln!(out, "    {} at {place}{next}", path.lanes);
            }
        }
    }
    out
}

/// A value with its type.
pub(super) fn value(value: Value, ty: Option<Type>) -> String {
    match (value, ty) {
        (Value::Int(int), Some(Type::Unsigned(1)) | None) => format!("{int}"),
        (Value::Int(int), _) if (0..10).contains(&int) => format!("{int}"),
        (Value::Int(int), Some(ty)) => format!("{int} ({:#x})", ty.bits(Value::Int(int))),
        (float, _) => float.to_string(),
    }
}

/// The value of a register in a lane.
pub(super) fn register(look: &dyn Look, at: FramePlace, register: &Register) -> String {
    let Ok(bits) = look.register(at, register.index) else { return "not there".to_owned() };
    match (register.kind, register.owner) {
        (RegisterKind::Mask, _) => format!("{bits:#x}"),
        (RegisterKind::Predicate, RegisterOwner::Lane) => (bits & 1).to_string(),
        _ if register.bits > 64 => format!("{bits:#x}"),
        _ => {
            let ty = Type::Unsigned(register.bits.next_power_of_two().clamp(8, 128));
            value(ty.value(bits), Some(ty))
        }
    }
}

/// The rows of the mechanism of the warp in focus.
pub(super) fn mechanism(session: &Session<'_>) -> String {
    let look = session.look();
    let mut out = format!("{}, what runs next last\n", look.mechanism_name());
    for row in look.mechanism(session.focus().group) {
        let _ = write!(out, "  {:<10} {}", row.what, row.lanes);
        if let Some(pc) = row.pc {
            let _ = write!(out, " at {}", look.code().describe(pc));
        }
        if let Some(rejoin) = row.rejoin {
            let _ = write!(out, ", rejoins at {}", look.code().describe(rejoin));
        }
        out.push('\n');
    }
    out
}

/// The barriers of the block in focus with arrivals.
pub(super) fn barriers(session: &Session<'_>) -> String {
    let look = session.look();
    let cta = session.focus().group.cta;
    let mut out = String::new();
    for barrier in look.barriers(cta) {
        let _ = writeln!(
            out,
            "barrier {}: {} of {} arrivals, of threads {}; waiting {}",
            barrier.id, barrier.arrivals, barrier.expected, barrier.arrived, barrier.waiting
        );
    }
    if out.is_empty() { "no thread of the block is at a barrier\n".to_owned() } else { out }
}
