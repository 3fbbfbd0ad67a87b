//! Commands that show or change the state.

use std::fmt::Write as _;

use simt::inspect::{FramePlace, InspectError, Register, RegisterOwner};
use simt::memory::Space;
use simt::observe::GroupId;

use super::{Answer, nothing, points, show};
use crate::expr::{Expr, Type};
use crate::session::breakpoint::number;
use crate::session::writers::{Dependence, Written};
use crate::session::{LookNames, Session, called_from, home};
use crate::target::{Event, Lanes, Look, Memory, RegisterWatch, Stops, TargetError};
use crate::variables::variables as shown_variables;

/// Why there is no mask on machines whose lanes do not go paths of their own.
const NO_MASK: &str = "no mask turns lanes off now: `set` takes the registers of `info mechanism`";

/// Lines that `list` shows.
const LINES: u32 = 10;
/// Most elements that `x` shows.
const ELEMENTS: u64 = 4096;
/// Banks of shared memory, of four bytes each.
const BANKS: u64 = 32;

pub(super) fn focus(session: &mut Session<'_>, text: &str) -> Answer {
    let mut at = session.focus();
    let mut words = text.split_whitespace();
    let width = session.look().groups().first().map_or(32, |group| group.width.max(1));
    let mut thread = None;
    while let Some(what) = words.next() {
        let word = words.next().ok_or_else(|| format!("the number of the {what} is missing"))?;
        let value = number(word).ok_or_else(|| format!("`{word}` is not a number"))?;
        let small = || u32::try_from(value).map_err(|_| format!("there is no {what} {value}"));
        match what {
            "block" => at.group = GroupId { cta: value, ..GroupId::default() },
            "warp" => at.group.group = small()?,
            "lane" => at.lane = small()?,
            "thread" => thread = Some(small()?),
            _ => return Err("write block B, warp W, lane L or thread T".to_owned()),
        }
    }
    if let Some(thread) = thread {
        (at.group.group, at.lane) = (thread / width, thread % width);
    }
    at.frame = 0;
    session.set_focus(at)?;
    Ok(show::here(session))
}

fn to_frame(session: &mut Session<'_>, frame: u32) -> Answer {
    let at = FramePlace { frame, ..session.focus() };
    session.set_focus(at)?;
    Ok(show::here(session))
}

pub(super) fn frame(session: &mut Session<'_>, text: &str) -> Answer {
    let frame = text.parse().map_err(|_| "write the number of a frame".to_owned())?;
    to_frame(session, frame)
}

pub(super) fn up(session: &mut Session<'_>, text: &str) -> Answer {
    nothing(text)?;
    let frame = session.focus().frame + 1;
    to_frame(session, frame)
}

pub(super) fn down(session: &mut Session<'_>, text: &str) -> Answer {
    nothing(text)?;
    let frame = session.focus().frame.checked_sub(1).ok_or("this is the running function")?;
    to_frame(session, frame)
}

pub(super) fn backtrace(session: &mut Session<'_>, text: &str) -> Answer {
    nothing(text)?;
    let (look, at) = (session.look(), session.focus());
    let frames = look.frames(FramePlace { frame: 0, ..at });
    if frames.is_empty() {
        return Ok("the lane's thread is not resident or has ended\n".to_owned());
    }
    let mut out = String::new();
    for (frame, &pc) in (0u32..).zip(&frames) {
        let pc = called_from(look.code(), FramePlace { frame, ..at }, pc);
        let sign = if frame == at.frame { '*' } else { ' ' };
        let name = look.code().function(pc).map(|f| places::shown(&f.name).to_string());
        let name = name.map_or(String::new(), |name| format!(" in `{name}`"));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{sign}{frame} {}{name}", look.code().describe(pc));
        let source = look.code().at(pc).and_then(|i| i.source.as_ref());
        for call in source.iter().flat_map(|source| source.inlined.iter()) {
            let function = places::shown(&call.function);
            let _ = writeln!(out, "   inlined `{function}` at {}:{}", call.file, call.line);
        }
    }
    Ok(out)
}

pub(super) fn list(session: &mut Session<'_>, text: &str) -> Answer {
    let here = session.place();
    let code = session.look().code();
    if code.text.is_empty() {
        return Err("the program is a binary: it has no lines".to_owned());
    }
    let at = here.and_then(|pc| code.at(pc)).and_then(|instruction| instruction.line);
    let first = match (text, session.listed, at) {
        ("", Some(line), _) => line,
        ("", None, Some(line)) => line.saturating_sub(LINES / 2).max(1),
        ("", None, None) => 1,
        (text, ..) => {
            let line: u32 = text.parse().map_err(|_| format!("`{text}` is not a line"))?;
            line.saturating_sub(LINES / 2).max(1)
        }
    };
    let lines = code.text.lines().skip(first as usize - 1).take(LINES as usize);
    let mut out = String::new();
    for (line, text) in (first..).zip(lines) {
        let sign = if Some(line) == at { "=>" } else { "  " };
        let _ = writeln!(out, "{}", format!("{sign} {line:>4}  {text}").trim_end());
    }
    if out.is_empty() {
        return Err(format!("the program has no line {first}"));
    }
    session.listed = Some(first + LINES);
    Ok(out)
}

pub(super) fn print(session: &mut Session<'_>, text: &str) -> Answer {
    let (value, ty) = session.evaluate(text)?;
    Ok(format!("{text} = {}\n", show::value(value, ty)))
}

pub(super) fn lanes(session: &mut Session<'_>, text: &str) -> Answer {
    let mut out = String::new();
    // Lanes with equal values share a line.
    let mut rows: Vec<(String, Lanes)> = Vec::new();
    for (lane, value) in session.across(text)? {
        let lane = lane as usize;
        let shown = match value {
            Ok((value, ty)) => show::value(value, ty),
            Err(error) => error,
        };
        match rows.last_mut().filter(|(text, _)| *text == shown) {
            Some((_, lanes)) => lanes.insert(lane),
            None => rows.push((shown, Lanes::lane(lane))),
        }
    }
    for (value, lanes) in rows {
        let _ = writeln!(out, "{:<8} {value}", lanes.to_string());
    }
    if out.is_empty() { Err("no lane of the warp is alive".to_owned()) } else { Ok(out) }
}

pub(super) fn examine(session: &mut Session<'_>, text: &str) -> Answer {
    let (count, text) = match text.strip_prefix('/') {
        Some(rest) => {
            let (count, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            (number(count).ok_or_else(|| format!("`{count}` is not a count"))?, rest)
        }
        None => (1, text),
    };
    if !(1..=ELEMENTS).contains(&count) {
        return Err(format!("1 to {ELEMENTS} elements can be shown"));
    }
    let expr = Expr::parse(text).map_err(|error| error.to_string())?;
    let (space, address, ty) = expr.as_load().unwrap_or((Space::Global, expr, Type::Unsigned(32)));
    let at = session.focus();
    let address = address.evaluate(&LookNames::new(session.look()), at)?.int() as u64;
    memory_rows(session.look(), Memory { space, at }, address, (ty, count))
}

/// Elements of memory, several a line; lines of shared memory begin with the bank.
fn memory_rows(look: &dyn Look, memory: Memory, address: u64, (ty, count): (Type, u64)) -> Answer {
    let size = ty.bytes() as u64;
    let per_line = (32 / size).clamp(1, 8);
    let mut out = String::new();
    for first in (0..count).step_by(per_line as usize) {
        let row = address.wrapping_add(first * size);
        let _ = write!(out, "{}[{row:#x}]", memory.space.name());
        if memory.space == Space::Shared {
            let _ = write!(out, " bank {}", row / 4 % BANKS);
        }
        out.push(':');
        for index in first..count.min(first + per_line) {
            let mut bytes = [0; 16];
            let place = address.wrapping_add(index * size);
            let read = look.read(memory, place, &mut bytes[..ty.bytes()]);
            read.map_err(|error| error.to_string())?;
            let _ = write!(out, " {}", ty.value(u128::from_le_bytes(bytes)));
        }
        out.push('\n');
    }
    Ok(out)
}

/// What a query is about, and its name.
fn subject(session: &Session<'_>, text: &str) -> Result<(Written, String), String> {
    let expr = Expr::parse(text).map_err(|error| error.to_string())?;
    let (look, at) = (session.look(), session.focus());
    if let Some((space, address, ty)) = expr.as_load() {
        let address = address.evaluate(&LookNames::new(look), at)?.int() as u64;
        let bytes = ty.bytes() as u64;
        let what = Written::Memory { memory: Memory { space, at }, address, bytes };
        return Ok((what, format!("{}[{address:#x}]", space.name())));
    }
    let name = expr.as_name().ok_or("write a register or [ADDRESS]:TYPE")?;
    let register = LookNames::new(look).register(name, at);
    let register = register.ok_or_else(|| format!("there is no register `{name}` here"))?;
    Ok((Written::Register { at, index: register.index }, register.name.to_string()))
}

pub(super) fn who(session: &mut Session<'_>, text: &str) -> Answer {
    let (text, depth) = match text.rsplit_once(" depth ") {
        Some((text, depth)) => {
            (text, depth.parse().map_err(|_| format!("`{depth}` is not a depth"))?)
        }
        None => (text, 0),
    };
    let (what, name) = subject(session, text)?;
    let now = session.look().position();
    let found = session.writers(what, &name, now, depth).map_err(|error| error.to_string())?;
    let look = session.look();
    Ok(found.iter().map(|dependence| written_by(look, dependence)).collect())
}

fn written_by(look: &dyn Look, dependence: &Dependence) -> String {
    let indent = "  ".repeat(dependence.depth as usize);
    let name = &dependence.name;
    let Some(writer) = dependence.writer else {
        return format!("{indent}{name}: not written since the launch began\n");
    };
    let verb = if writer.known { "written" } else { "changed" };
    let site = show::site(look, writer.group, &Lanes::lane(writer.lane as usize));
    let site = site.replace("lanes {", "lane ").replace('}', "");
    let place = look.code().describe(writer.pc);
    let text = look.code().at(writer.pc).map_or("", |instruction| &instruction.text);
    format!("{indent}{name}: {verb} at issue {} by {site}, {place}: {text}\n", writer.position)
}

pub(super) fn history(session: &mut Session<'_>, text: &str) -> Answer {
    let (name, count) = match text.rsplit_once(' ') {
        Some((name, count)) if number(count).is_some() => (name, number(count).unwrap_or(0)),
        _ => (text, 10),
    };
    let (what, name) = subject(session, name)?;
    let Written::Register { at, index } = what else {
        return Err("the history of a register is kept: name one".to_owned());
    };
    let here = session.look().position();
    let frames = session.look().frames(FramePlace { frame: 0, ..at }).len() as u32;
    let level = frames.saturating_sub(at.frame + 1);
    let owner = session.owner(at, index);
    let place = FramePlace { frame: level, ..home(session.look(), at, owner) };
    let watch = RegisterWatch::changes(place, index);
    let stops = Stops { registers: vec![watch], ..Stops::default() };
    let mut rows = Vec::new();
    let scanned = session.scan_back(
        here,
        &stops,
        &mut |_, event| match event {
            Event::Issued(issued) => {
                let change = issued.changes.first()?;
                Some((change.old, change.new, issued.pc))
            }
            Event::Before(_) => None,
        },
        &mut |position, row| {
            rows.push((position, row));
            rows.len() as u64 >= count
        },
    );
    scanned.map_err(|error| error.to_string())?;
    session.target.seek(here).map_err(|error| error.to_string())?;
    let shown = |value: Option<u128>| value.map_or("-".to_owned(), |value| format!("{value:#x}"));
    let mut out = match owner {
        RegisterOwner::Lane => format!("{name} of lane {}\n", at.lane),
        RegisterOwner::Group => format!("{name} of the warp\n"),
        RegisterOwner::Machine => format!("{name}\n"),
    };
    for (position, (old, new, pc)) in rows.into_iter().rev() {
        let place = session.look().code().describe(pc);
        let _ = writeln!(out, "  issue {position}: {} -> {} at {place}", shown(old), shown(new));
    }
    Ok(out)
}

pub(super) fn info(session: &mut Session<'_>, text: &str) -> Answer {
    let (what, rest) = text.split_once(' ').unwrap_or((text, ""));
    let rest = rest.trim();
    Ok(match what {
        "lanes" => show::lane_grid(session),
        "registers" | "r" => registers(session, rest)?,
        "mechanism" | "stack" => show::mechanism(session),
        "barriers" => show::barriers(session),
        "breakpoints" | "b" => points::listing(session),
        "line" => show::here(session),
        "shared" => shared(session)?,
        "locals" => locals(session),
        "variables" => {
            let line = |v: &simt::inspect::VariableView| {
                format!("{} {:#x}, {} bytes: {}\n", v.space.name(), v.address, v.bytes, v.name)
            };
            some(session.look().variables().iter().map(line).collect(), "variables")
        }
        "allocations" => {
            let line = |(name, address, bytes): &(std::sync::Arc<str>, u64, u64)| {
                format!("{address:#x}, {bytes} bytes: {name}\n")
            };
            some(session.look().allocations().iter().map(line).collect(), "allocations")
        }
        "branches" => branches(session),
        "recording" => {
            let (bytes, count) = session.target.recorded();
            let position = session.look().position();
            let ahead = match session.target.ran_ahead() {
                None => String::new(),
                Some(Ok(at)) => format!("the fast engine ran ahead to issue {at}\n"),
                Some(Err(why)) => format!("the fast engine did not run ahead: {why}\n"),
            };
            format!("{count} snapshots of {bytes} bytes in all; at issue {position}\n{ahead}")
        }
        "output" => String::from_utf8_lossy(&session.look().output()).into_owned(),
        _ => {
            return Err("write info lanes, registers, locals, mechanism, barriers, shared, \
                        variables, allocations, breakpoints, branches, recording, output or line"
                .to_owned());
        }
    })
}

fn some(text: String, what: &str) -> String {
    if text.is_empty() { format!("there are no {what}\n") } else { text }
}

fn registers(session: &Session<'_>, names: &str) -> Answer {
    let look = session.look();
    let at = session.focus();
    let all = session.registers();
    if all.is_empty() {
        return Err("the lane in focus has no frame now".to_owned());
    }
    let wanted: Vec<&str> = names.split_whitespace().collect();
    let named = |register: &&Register| {
        let plain = register.name.trim_start_matches('%');
        wanted.is_empty() || wanted.iter().any(|name| name.trim_start_matches('%') == plain)
    };
    let mut out = String::new();
    for register in all.iter().filter(named) {
        let owner = match register.owner {
            RegisterOwner::Lane => "",
            RegisterOwner::Group => "  (of the warp)",
            RegisterOwner::Machine => "  (of the machine)",
        };
        let value = show::register(look, at, register);
        let _ = writeln!(out, "{:<10} {value}{owner}", register.name);
    }
    if out.is_empty() { Err(format!("there is no register `{names}` here")) } else { Ok(out) }
}

fn shared(session: &Session<'_>) -> Answer {
    let memory = Memory { space: Space::Shared, at: session.focus() };
    let bytes = session.look().block_bytes(memory).ok_or("there is no shared memory here")?;
    if bytes == 0 {
        return Ok("the block has no shared memory\n".to_owned());
    }
    let count = (bytes / 4).min(256);
    let mut out = memory_rows(session.look(), memory, 0, (Type::Unsigned(32), count))?;
    if count * 4 < bytes {
        let _ = writeln!(out, "and so on up to {bytes:#x}: `x /N shared[OFFSET]:TYPE` shows more");
    }
    Ok(out)
}

/// Variables of the source; without debug information the registers that the line uses.
fn locals(session: &Session<'_>) -> String {
    let (look, at) = (session.look(), session.focus());
    let mut out = String::new();
    for variable in shown_variables(look, at) {
        let _ = writeln!(out, "{} {} = {}", variable.ty, variable.name, variable.value);
    }
    if !out.is_empty() || !look.code().variables.is_empty() {
        return some(out, "variables of the source here");
    }
    let used = session.line_registers();
    let names = session.registers();
    for register in names.iter().filter(|register| used.contains(&register.index)) {
        let _ = writeln!(out, "{:<10} {}", register.name, show::register(look, at, register));
    }
    if out.is_empty() {
        return "the program has no debug information, and its line uses no registers\n".to_owned();
    }
    "the program has no debug information; registers of the line:\n".to_owned() + &out
}

fn branches(session: &Session<'_>) -> String {
    let (branches, current) = session.target.branches();
    let mut out = String::new();
    for branch in branches {
        let sign = if branch.number == current { '*' } else { ' ' };
        let _ = write!(out, "{sign}{}", branch.number);
        if let Some((parent, at)) = branch.parent {
            let edits = branch.edits.join("; ");
            let _ = write!(out, " from branch {parent} at issue {at}: {edits};");
        }
        let _ = writeln!(out, " recorded up to issue {}", branch.reached);
    }
    out
}

pub(super) fn set(session: &mut Session<'_>, text: &str) -> Answer {
    let (left, right) = text.split_once('=').ok_or("write `set REGISTER = VALUE`")?;
    let (left, right) = (left.trim(), right.trim());
    let expr = Expr::parse(right).map_err(|error| error.to_string())?;
    let at = session.focus();
    let value = expr.evaluate(&LookNames::new(session.look()), at)?;
    let what = format!("set {text}");
    if left == "mask" {
        let mut words = [0; 16];
        let bits = value.int() as u128;
        (words[0], words[1]) = (bits as u64, (bits >> 64) as u64);
        let set = session.target.set_mask(at.group, Lanes::from_words(words), &what);
        let one_file = session.look().abilities().one_file;
        set.map_err(|error| match error {
            TargetError::Inspect(InspectError::NoMask) if one_file => NO_MASK.to_owned(),
            error => error.to_string(),
        })?;
        return Ok(changed(session));
    }
    let target = Expr::parse(left).map_err(|error| error.to_string())?;
    if let Some((space, address, ty)) = target.as_load() {
        let address = address.evaluate(&LookNames::new(session.look()), at)?.int() as u64;
        let bytes = ty.bits(value).to_le_bytes();
        let bytes = &bytes[..ty.bytes()];
        let written = session.target.write(Memory { space, at }, address, bytes, &what);
        written.map_err(|error| error.to_string())?;
        return Ok(changed(session));
    }
    let (name, lane) = match left.split_once('@') {
        Some((name, lane)) => {
            let lane = lane.parse().map_err(|_| format!("`{lane}` is not a lane"))?;
            (name, lane)
        }
        None => (left, at.lane),
    };
    let (name, ty) = match name.split_once(':') {
        Some((name, ty)) => {
            (name, Some(Type::find(ty).ok_or_else(|| format!("`{ty}` is not a type"))?))
        }
        None => (name, None),
    };
    let at = FramePlace { lane, ..at };
    let register = LookNames::new(session.look()).register(name, at);
    let register = register.ok_or_else(|| format!("there is no register `{name}` here"))?;
    let own = Type::Unsigned(register.bits.next_power_of_two().clamp(1, 128));
    let bits = ty.unwrap_or(own).bits(value);
    let set = session.target.set_register(at, register.index, bits, &what);
    set.map_err(|error| error.to_string())?;
    Ok(changed(session))
}

fn changed(session: &mut Session<'_>) -> String {
    let (_, current) = session.target.branches();
    format!("branch {current} begins at issue {}\n", session.look().position())
}

pub(super) fn allocate(session: &mut Session<'_>, text: &str) -> Answer {
    let (name, bytes) = text.split_once(' ').ok_or("write `allocate NAME BYTES`")?;
    let bytes = number(bytes.trim()).ok_or_else(|| format!("`{bytes}` is not a length"))?;
    let address = session.target.allocate(name, bytes).map_err(|error| error.to_string())?;
    Ok(format!("{name} is at {address:#x}\n{}", changed(session)))
}

pub(super) fn branch(session: &mut Session<'_>, text: &str) -> Answer {
    let branch = text.parse().map_err(|_| "write the number of a branch".to_owned())?;
    session.target.switch(branch).map_err(|error| error.to_string())?;
    session.last = None;
    session.refocus();
    Ok(show::stop(session))
}

pub(super) fn log(session: &mut Session<'_>, text: &str) -> Answer {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [path, range @ ..] = words.as_slice() else {
        return Err("write the name of a file".to_owned());
    };
    let here = session.look().position();
    let bound = |index: usize, otherwise| match range.get(index) {
        Some(word) => number(word).ok_or_else(|| format!("`{word}` is not an issue")),
        None => Ok(otherwise),
    };
    let (from, to) = (bound(0, 0)?, bound(1, here)?);
    let file = std::fs::File::create(path).map_err(|error| format!("{path}: {error}"))?;
    let mut file = std::io::BufWriter::new(file);
    session.target.seek(from).map_err(|error| error.to_string())?;
    let stops = Stops { issued: true, ..Stops::default() };
    let mut written = 0u64;
    let mut failed = None;
    session.target.run(to, &stops, false, &mut |look, event| {
        if let Event::Issued(issued) = event {
            let text = look.code().at(issued.pc).map_or("", |instruction| &instruction.text);
            let position = look.position() - 1;
            let site = show::site(look, issued.group, &issued.on);
            let place = look.code().describe(issued.pc);
            let line = format!("{position}\t{site}\t{place}\t{text}\n");
            let write = std::io::Write::write_all(&mut file, line.as_bytes());
            failed = write.err();
            written += 1;
        }
        failed.is_some()
    });
    let flushed = std::io::Write::flush(&mut file);
    session.target.seek(here).map_err(|error| error.to_string())?;
    match failed.or(flushed.err()) {
        Some(error) => Err(format!("{path}: {error}")),
        None => Ok(format!("{written} instructions are in {path}\n")),
    }
}

pub(super) fn digest(session: &mut Session<'_>, text: &str) -> Answer {
    nothing(text)?;
    Ok(format!("{:016x}\n", session.look().digest()))
}
