//! Commands on breakpoints, watches and catches.

use std::fmt::Write as _;

use simt::inspect::RegisterOwner;
use simt::memory::Space;

use super::Answer;
use crate::companion::Search;
use crate::expr::{Expr, Type};
use crate::session::breakpoint::{Breakpoint, Catch, What, locate, number};
use crate::session::{LookNames, Session, home};
use crate::target::{AccessWatch, Lanes, RegisterWatch};

/// Most bytes that are watched.
const MOST_BYTES: u64 = 1 << 20;

type Condition = Option<(Expr, String)>;

/// Splits `TEXT if CONDITION`.
fn conditional(text: &str) -> Result<(&str, Condition), String> {
    let split = match text.strip_prefix("if ") {
        Some(condition) => Some(("", condition)),
        None => text.split_once(" if "),
    };
    if text.ends_with(" if") {
        return Err("the condition behind `if` is missing".to_owned());
    }
    let Some((text, condition)) = split else { return Ok((text, None)) };
    let expr = Expr::parse(condition).map_err(|error| format!("condition: {error}"))?;
    Ok((text.trim(), Some((expr, condition.trim().to_owned()))))
}

fn add_place(session: &mut Session<'_>, text: &str, temporary: bool) -> Answer {
    let (text, condition) = conditional(text)?;
    let here;
    let text = match text {
        "" => {
            let pc = session.place().ok_or("there is no present place: name one")?;
            here = format!("*{:#x}", pc.0);
            &here
        }
        text => text,
    };
    let found = locate(session.look(), text)?;
    let place =
        found.places.first().map_or(String::new(), |&pc| session.look().code().describe(pc));
    let more = match found.places.len() {
        0 | 1 => String::new(),
        count => format!(", {count} places"),
    };
    let what = What::Place { places: found.places };
    let number = session.add_point(what, text, condition, temporary);
    let note = found.note.map_or(String::new(), |note| format!("note: {note}\n"));
    Ok(format!("{note}breakpoint {number}: {place}{more}\n"))
}

pub(super) fn place(session: &mut Session<'_>, text: &str) -> Answer {
    add_place(session, text, false)
}

pub(super) fn place_once(session: &mut Session<'_>, text: &str) -> Answer {
    add_place(session, text, true)
}

impl Session<'_> {
    /// Adds a breakpoint as the command `break` does; returns its number and what the user should
    /// know.
    ///
    /// # Errors
    /// If the location or the condition is wrong.
    pub fn break_at(&mut self, text: &str) -> Result<(u32, String), String> {
        let answer = add_place(self, text, false)?;
        Ok((self.debugger.numbers, answer))
    }

    /// Adds a watch as the commands `watch`, `rwatch` and `awatch` do; returns its number.
    ///
    /// # Errors
    /// If there is nothing to be watched.
    pub fn watch(&mut self, text: &str, reads: bool, writes: bool) -> Result<u32, String> {
        add_watch(self, text, For { reads, writes, change: writes && !reads })?;
        Ok(self.debugger.numbers)
    }
}

/// Accesses that a watch is for.
#[derive(Clone, Copy)]
struct For {
    reads: bool,
    writes: bool,
    change: bool,
}

pub(super) fn watch(session: &mut Session<'_>, text: &str) -> Answer {
    add_watch(session, text, For { reads: false, writes: true, change: true })
}

pub(super) fn watch_reads(session: &mut Session<'_>, text: &str) -> Answer {
    add_watch(session, text, For { reads: true, writes: false, change: false })
}

pub(super) fn watch_any(session: &mut Session<'_>, text: &str) -> Answer {
    add_watch(session, text, For { reads: true, writes: true, change: false })
}

fn add_watch(session: &mut Session<'_>, text: &str, wanted: For) -> Answer {
    let (text, condition) = conditional(text)?;
    let (expr, rest) = Expr::parse_start(text).map_err(|error| error.to_string())?;
    let rest = rest.trim();
    let (look, at) = (session.look(), session.focus());
    if let Some(name) = expr.as_name()
        && let Some(register) = LookNames::new(look).register(name, at)
    {
        // Some instructions of a machine may tell nothing, such as markers.
        let mut instructions = look.code().instructions().iter();
        let tells = instructions.any(|one| look.effects(one.pc, at.lane).is_some());
        if wanted.reads && !tells {
            return Err("this machine does not tell which registers instructions read: `watch` \
                        stops when one changes"
                .to_owned());
        }
        if !rest.is_empty() {
            return Err(format!("`{rest}` was not expected"));
        }
        let frames = look.frames(simt::inspect::FramePlace { frame: 0, ..at }).len() as u32;
        let level = frames.saturating_sub(at.frame + 1);
        let watch = RegisterWatch {
            at: simt::inspect::FramePlace { frame: level, ..home(look, at, register.owner) },
            owner: register.owner,
            index: register.index,
            reads: wanted.reads,
            writes: wanted.writes && !wanted.change,
        };
        let text = match register.owner {
            RegisterOwner::Lane => format!("{} of lane {}", register.name, at.lane),
            RegisterOwner::Group => format!("{} of the warp", register.name),
            RegisterOwner::Machine => register.name.to_string(),
        };
        let number = session.add_point(What::Register { watch }, &text, condition, false);
        return Ok(format!("watch {number}: {text}\n"));
    }
    let (space, address, ty, bytes) = range(session, &expr, rest)?;
    let cta = matches!(space, Space::Shared | Space::Local).then_some(at.group.cta);
    let (reads, writes) = (wanted.reads, wanted.writes);
    let range = address..address + bytes;
    let watch = AccessWatch { space, range, cta, reads, writes, at: Some(at) };
    let memory = crate::target::Memory { space, at };
    let readable = session.look().read(memory, address, &mut vec![0; bytes as usize]);
    readable.map_err(|error| error.to_string())?;
    let what = What::Memory { watch, ty, change: wanted.change };
    let number = session.add_point(what, text, condition, false);
    Ok(format!("watch {number}: {} bytes at {}[{address:#x}]\n", bytes, space.name()))
}

/// The memory that an expression names: `[address]:type`, or a variable as a whole.
fn range(
    session: &Session<'_>,
    expr: &Expr,
    count: &str,
) -> Result<(Space, u64, Type, u64), String> {
    let names = LookNames::new(session.look());
    let at = session.focus();
    let (space, address, ty, mut bytes) = if let Some((space, address, ty)) = expr.as_load() {
        let address = address.evaluate(&names, at)?.int() as u64;
        (space, address, ty, ty.bytes() as u64)
    } else {
        let name = expr.as_name().ok_or("write a register, a variable, or [ADDRESS]:TYPE")?;
        let variables = session.look().variables();
        let variable = variables.iter().find(|v| &*v.name == name);
        let allocations = session.look().allocations();
        let allocation = allocations.iter().find(|(known, ..)| &**known == name);
        match (variable, allocation) {
            (Some(v), _) => {
                let space = if v.space == Space::Const { Space::Global } else { v.space };
                (space, v.address, Type::Unsigned(32), v.bytes)
            }
            (None, Some((_, address, bytes))) => {
                (Space::Global, *address, Type::Unsigned(32), *bytes)
            }
            (None, None) => return Err(format!("there is no register or variable `{name}`")),
        }
    };
    if !count.is_empty() {
        bytes = number(count).ok_or_else(|| format!("`{count}` is not a number of bytes"))?;
    }
    if bytes == 0 || bytes > MOST_BYTES {
        return Err(format!("1 to {MOST_BYTES} bytes can be watched, not {bytes}"));
    }
    if address.checked_add(bytes).is_none() {
        return Err(format!("{bytes} bytes at {address:#x} pass the end of memory"));
    }
    Ok((space, address, ty, bytes))
}

pub(super) fn catch(session: &mut Session<'_>, text: &str) -> Answer {
    let (text, condition) = conditional(text)?;
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let catch = if name == "mask" {
        let (value, _) = session.evaluate(rest)?;
        let value = value.int() as u128;
        let mut words = [0; 16];
        (words[0], words[1]) = (value as u64, (value >> 64) as u64);
        Catch::Mask(Lanes::from_words(words))
    } else if name == "difference" {
        if rest.is_empty() {
            return Err("write the other mechanism: catch difference min-pc".to_owned());
        }
        Catch::Search(Search::Difference(rest.trim().into()))
    } else if name == "fault" || name == "hang" {
        super::nothing(rest)?;
        return Ok("faults and hangs always stop\n".to_owned());
    } else {
        let found = Catch::NAMES.iter().find(|(known, _)| *known == name);
        let names: Vec<&str> = Catch::NAMES.iter().map(|(known, _)| *known).collect();
        let names = names.join(", ");
        let found = found.ok_or_else(|| format!("events are {names}, difference and mask"))?;
        super::nothing(rest)?;
        found.1.clone()
    };
    let abilities = session.look().abilities();
    match &catch {
        Catch::Search(search) => {
            session.target.prepare(search).map_err(|error| error.to_string())?;
        }
        Catch::Split | Catch::Merge => abilities.no_parting.map_or(Ok(()), Err)?,
        Catch::Arrive | Catch::Release => abilities.no_barriers.map_or(Ok(()), Err)?,
        Catch::Block | Catch::Mask(_) => {}
    }
    let text = catch.to_string();
    let number = session.add_point(What::Catch(catch), &text, condition, false);
    Ok(format!("catch {number}: {text}\n"))
}

pub(super) fn delete(session: &mut Session<'_>, numbers: &str) -> Answer {
    if numbers.is_empty() {
        session.delete_points(|_| true);
    }
    for word in numbers.split_whitespace() {
        session.delete_point(point_number(word)?)?;
    }
    Ok(String::new())
}

fn point_number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is not the number of a breakpoint"))
}

fn point<'s>(session: &'s mut Session<'_>, text: &str) -> Result<&'s mut Breakpoint, String> {
    let number = point_number(text)?;
    let found = session.debugger.points.iter_mut().find(|point| point.number == number);
    found.ok_or_else(|| format!("there is no breakpoint {number}"))
}

pub(super) fn enable(session: &mut Session<'_>, text: &str) -> Answer {
    point(session, text)?.enabled = true;
    Ok(String::new())
}

pub(super) fn disable(session: &mut Session<'_>, text: &str) -> Answer {
    point(session, text)?.enabled = false;
    Ok(String::new())
}

pub(super) fn condition(session: &mut Session<'_>, text: &str) -> Answer {
    let (number, rest) = text.split_once(' ').unwrap_or((text, ""));
    let condition = match rest.trim() {
        "" => None,
        text => {
            let expr = Expr::parse(text).map_err(|error| error.to_string())?;
            Some((expr, text.to_owned()))
        }
    };
    point(session, number)?.condition = condition;
    Ok(String::new())
}

pub(super) fn ignore(session: &mut Session<'_>, text: &str) -> Answer {
    let (which, count) = text.split_once(' ').ok_or("write `ignore N COUNT`")?;
    let count = number(count.trim()).ok_or_else(|| format!("`{count}` is not a count"))?;
    point(session, which)?.ignore = count;
    Ok(String::new())
}

/// The list of breakpoints.
pub(super) fn listing(session: &Session<'_>) -> String {
    let mut out = String::new();
    for point in session.debugger().points() {
        let kind = match &point.what {
            What::Place { places } if places.is_empty() => "break (pending)",
            What::Place { .. } if point.temporary => "tbreak",
            What::Place { .. } => "break",
            What::Memory { watch: AccessWatch { reads: true, writes: true, .. }, .. }
            | What::Register { watch: RegisterWatch { reads: true, writes: true, .. } } => "awatch",
            What::Memory { watch: AccessWatch { reads: true, .. }, .. }
            | What::Register { watch: RegisterWatch { reads: true, .. } } => "rwatch",
            What::Memory { .. } | What::Register { .. } => "watch",
            What::Catch(_) => "catch",
        };
        let condition = point.condition.as_ref();
        let condition = condition.map_or(String::new(), |(_, text)| format!(" if {text}"));
        let off = if point.enabled { "" } else { " (disabled)" };
        // Writing to a string cannot fail.
        let _ = write!(out, "{} {kind} {}{condition}{off}", point.number, point.text);
        let _ = match point.hits {
            0 => writeln!(out),
            hits => writeln!(out, ", {hits} hits"),
        };
    }
    if out.is_empty() { "there are no breakpoints\n".to_owned() } else { out }
}
