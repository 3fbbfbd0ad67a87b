//! Breakpoints, watches and catches.

use std::fmt;

use simt::Pc;
use simt::inspect::FramePlace;
use simt::memory::{AccessKind, Space};
use simt::observe::{GroupId, SyncKind};

use super::motion::Reason;
use super::{LookNames, Session};
use crate::companion::Search;
use crate::expr::{Expr, Type};
use crate::target::{
    AccessWatch, Before, Event, Issued, Lanes, Look, RegisterWatch, Stops, TargetError, Used,
};

/// Events that stop a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Catch {
    /// Lanes part.
    Split,
    /// Paths merge.
    Merge,
    /// Lanes arrive at a barrier of the block.
    Arrive,
    /// A barrier of the block releases lanes.
    Release,
    /// A block begins.
    Block,
    /// Accesses race, or the launch differs for the first time from what another mechanism does.
    Search(Search),
    /// An instruction is issued for exactly these lanes, and the one before of the warp was not.
    Mask(Lanes),
}

impl Catch {
    /// The names of events, without those that take arguments.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("split", Self::Split),
        ("merge", Self::Merge),
        ("arrive", Self::Arrive),
        ("release", Self::Release),
        ("block", Self::Block),
        ("race", Self::Search(Search::Race)),
    ];
}

impl fmt::Display for Catch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mask(lanes) => write!(f, "mask {lanes:#x}"),
            Self::Search(Search::Difference(other)) => write!(f, "difference {other}"),
            other => {
                let named = Self::NAMES.iter().find(|(_, catch)| catch == other);
                f.write_str(named.map_or("", |(name, _)| name))
            }
        }
    }
}

/// What a breakpoint waits for.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// An instruction.
    Place {
        /// Where, ascending.
        places: Vec<Pc>,
    },
    /// Accesses of memory.
    Memory {
        /// The range.
        watch: AccessWatch,
        /// The type in which its contents are shown.
        ty: Type,
        /// Whether only accesses that change the contents stop.
        change: bool,
    },
    /// Changes of a register.
    Register {
        /// Which one.
        watch: RegisterWatch,
    },
    /// An event.
    Catch(Catch),
}

/// A breakpoint, a watch or a catch.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakpoint {
    /// Its number, from 1.
    pub number: u32,
    /// What it waits for.
    pub what: What,
    /// As the user wrote it.
    pub text: String,
    /// A condition that one of the lanes must fulfil, with its text.
    pub condition: Option<(Expr, String)>,
    /// Whether it goes after its first stop.
    pub temporary: bool,
    /// Whether it stops anything.
    pub enabled: bool,
    /// Hits that are still to be ignored.
    pub ignore: u64,
    /// Hits so far.
    pub hits: u64,
}

/// A place that a user has named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The instructions.
    pub places: Vec<Pc>,
    /// What the user should know: that the line was moved, say.
    pub note: Option<String>,
}

/// Finds a location: `LINE`, `FILE:LINE`, `*ADDRESS`, a function, or a label.
///
/// # Errors
/// Returns why there is none.
pub fn locate(look: &dyn Look, text: &str) -> Result<Location, String> {
    let code = look.code();
    let here = |places| Ok(Location { places, note: None });
    if let Some(address) = text.strip_prefix('*') {
        let address = number(address).ok_or_else(|| format!("`{address}` is not an address"))?;
        if !code.instructions().is_empty() && code.index(Pc(address)).is_none() {
            return Err(format!("there is no instruction at {address:#x}"));
        }
        return here(vec![Pc(address)]);
    }
    let (file, line) = match text.rsplit_once(':') {
        Some((file, line)) => (Some(file), line),
        None => (None, text),
    };
    let Ok(line) = line.parse::<u32>() else {
        if let Some(function) = code.find_function(text) {
            return here(vec![function.entry]);
        }
        let labels = code.labels.iter();
        let places: Vec<Pc> = labels.filter(|(name, _)| name == text).map(|&(_, pc)| pc).collect();
        if !places.is_empty() {
            return here(places);
        }
        let names = code.functions().iter().map(|f| f.name.as_str());
        let labels = code.labels.iter().map(|(name, _)| name.as_str());
        let near = isa::suggest::nearest(text, names.chain(labels));
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        return Err(format!("there is no function, label or line `{text}`{near}"));
    };
    if code.text.is_empty() && file.is_none() {
        return Err("the program is a binary without lines: write *ADDRESS".to_owned());
    }
    let found = match file {
        Some(file) => code.find_source(file, line),
        None => code.find_line(line),
    };
    let Some(found) = found else {
        let files: Vec<String> = code.source_files().iter().map(ToString::to_string).collect();
        return Err(match (file, files.is_empty()) {
            (Some(_), true) => "the program has no table of source lines".to_owned(),
            (Some(file), false) => format!(
                "there is no code at or behind line {line} of `{file}`; files are {}",
                files.join(", ")
            ),
            (None, _) => format!("there is no code at or behind line {line}"),
        });
    };
    let moved = found.line != line;
    let note =
        moved.then(|| format!("line {line} has no code; the next that has is {}", found.line));
    Ok(Location { places: found.places, note })
}

/// A number as users write it.
pub(crate) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Session<'_> {
    /// Adds a breakpoint and returns its number.
    pub fn add_point(
        &mut self,
        what: What,
        text: &str,
        condition: Option<(Expr, String)>,
        temporary: bool,
    ) -> u32 {
        self.debugger.numbers += 1;
        let number = self.debugger.numbers;
        let text = text.to_owned();
        self.debugger.points.push(Breakpoint {
            number,
            what,
            text,
            condition,
            temporary,
            enabled: true,
            ignore: 0,
            hits: 0,
        });
        number
    }

    /// Removes a breakpoint.
    ///
    /// # Errors
    /// If there is none of this number.
    pub fn delete_point(&mut self, number: u32) -> Result<(), String> {
        let before = self.debugger.points.len();
        self.debugger.points.retain(|point| point.number != number);
        if self.debugger.points.len() == before {
            return Err(format!("there is no breakpoint {number}"));
        }
        Ok(())
    }

    /// Removes all breakpoints that `which` holds for.
    pub fn delete_points(&mut self, which: impl Fn(&Breakpoint) -> bool) {
        self.debugger.points.retain(|point| !which(point));
    }

    /// Finds the places of breakpoints in the code of this launch; watches of lanes go, and
    /// searches that this launch has not.
    pub(crate) fn resolve_points(&mut self) {
        for point in &mut self.debugger.points {
            match &mut point.what {
                What::Place { places } => {
                    let found = locate(self.target.look(), &point.text).map(|found| found.places);
                    *places = found.unwrap_or_default();
                }
                What::Register { .. } => point.enabled = false,
                What::Catch(Catch::Search(search)) => {
                    point.enabled &= self.target.prepare(search).is_ok();
                }
                What::Memory { .. } | What::Catch(_) => {}
            }
        }
    }

    /// Begins the searches of enabled breakpoints on the current branch.
    pub(crate) fn prepare_searches(&mut self) -> Result<(), TargetError> {
        for point in self.debugger.points.iter().filter(|point| point.enabled) {
            if let What::Catch(Catch::Search(search)) = &point.what {
                self.target.prepare(search)?;
            }
        }
        Ok(())
    }

    /// What has to be told so that the enabled breakpoints can be judged.
    pub(crate) fn armed(&self) -> Stops {
        let mut stops = Stops::default();
        let mut places = Vec::new();
        let mut every = false;
        for point in self.debugger.points.iter().filter(|point| point.enabled) {
            match &point.what {
                What::Place { places: own } => places.extend(own),
                What::Memory { watch, .. } => stops.accesses.push(watch.clone()),
                What::Register { watch } => stops.registers.push(*watch),
                What::Catch(catch) => match catch {
                    Catch::Split => stops.splits = true,
                    Catch::Merge => stops.merges = true,
                    Catch::Arrive | Catch::Release => stops.syncs = true,
                    Catch::Block | Catch::Mask(_) => every = true,
                    Catch::Search(search) => stops.searches.push(search.clone()),
                },
            }
        }
        places.sort_unstable();
        places.dedup();
        stops.before = match (every, places.is_empty()) {
            (true, _) => Before::Every,
            (false, true) => Before::None,
            (false, false) => Before::At(places),
        };
        stops
    }
}

/// Judges events against breakpoints in one run.
pub(crate) struct Points<'p> {
    points: &'p mut Vec<Breakpoint>,
    /// Whether the run goes forwards: then contents and hits are kept.
    forward: bool,
    /// The last mask by group, if a catch waits for one.
    masks: Option<Vec<(GroupId, Lanes)>>,
}

/// The mask of an issue, and of the group's last one.
type Masks = Option<(Lanes, Option<Lanes>)>;

/// A hit: why, and the lane to look at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hit {
    pub(crate) reason: Reason,
    pub(crate) group: GroupId,
    pub(crate) lane: Option<u32>,
}

impl<'p> Points<'p> {
    pub(crate) fn new(points: &'p mut Vec<Breakpoint>, look: &dyn Look, forward: bool) -> Self {
        let waits = |point: &Breakpoint| matches!(point.what, What::Catch(Catch::Mask(_)));
        let first = || look.upcoming().map(|next| (next.group, look.on(&next)));
        let masks = points.iter().any(waits).then(|| first().into_iter().collect());
        Self { points, forward, masks }
    }

    /// Returns the first hit of an event.
    pub(crate) fn judge(&mut self, look: &dyn Look, event: &Event<'_>) -> Option<Hit> {
        let (mut accesses, mut registers) = (0, 0);
        let masks = self.note(look, event);
        let mut found = None;
        for point in self.points.iter_mut().filter(|point| point.enabled) {
            let hit = match (&mut point.what, event) {
                (What::Place { places }, Event::Before(next)) => {
                    let here = places.binary_search(&next.pc).is_ok();
                    here.then_some((next.group, next.lanes, None))
                }
                (What::Memory { watch, ty, change }, Event::Issued(issued)) => {
                    accesses += 1;
                    let told = accessed(issued, accesses - 1, watch);
                    let told = told.filter(|told| !*change || told.old != told.new);
                    told.map(|told| {
                        let text = told.describe(&point.text, *ty);
                        (issued.group, told.lanes, Some(text))
                    })
                }
                (What::Memory { .. }, Event::Before(_)) => {
                    accesses += 1;
                    None
                }
                (What::Register { watch }, Event::Issued(issued)) if watch.uses() => {
                    registers += 1;
                    let used = issued.uses.iter().find(|used| used.watch == registers - 1);
                    let lane = Lanes::lane(watch.at.lane as usize);
                    used.map(|used| (issued.group, lane, Some(described(used, &point.text))))
                }
                (What::Register { .. }, Event::Issued(issued)) => {
                    registers += 1;
                    let change = issued.changes.iter().find(|c| c.watch == registers - 1);
                    change.map(|change| {
                        let shown = |value: Option<u128>| {
                            value.map_or("not there".to_owned(), |value| format!("{value:#x}"))
                        };
                        let (old, new) = (shown(change.old), shown(change.new));
                        let text = format!("{}: {old} -> {new}", point.text);
                        (issued.group, issued.on, Some(text))
                    })
                }
                (What::Register { .. }, Event::Before(_)) => {
                    registers += 1;
                    None
                }
                (What::Catch(catch), event) => caught(catch, look, event, masks)
                    .map(|(group, lanes, text)| (group, lanes, Some(text))),
                _ => None,
            };
            let Some((group, lanes, text)) = hit else { continue };
            let (lane, text) = match point.condition.as_ref().map(|c| met(look, c, (group, lanes)))
            {
                None => (lanes.lowest(), text),
                Some(Ok(None)) => continue,
                Some(Ok(lane)) => (lane, text),
                Some(Err(error)) => (lanes.lowest(), Some(error)),
            };
            if self.forward {
                point.hits += 1;
                if point.ignore > 0 {
                    point.ignore -= 1;
                    continue;
                }
            }
            if found.is_none() {
                let number = point.number;
                let reason = match text {
                    None => Reason::Breakpoint { number },
                    Some(text) => Reason::Told { number, text },
                };
                found = Some(Hit { reason, group, lane: lane.map(|lane| lane as u32) });
            }
        }
        found
    }

    /// Notes the mask of an issue, if a catch waits for one; returns it with that of the group's
    /// last one.
    fn note(&mut self, look: &dyn Look, event: &Event<'_>) -> Masks {
        let (Event::Before(next), Some(masks)) = (event, &mut self.masks) else { return None };
        let on = look.on(next);
        match masks.iter_mut().find(|(group, _)| super::same(*group, next.group)) {
            Some((_, lanes)) => Some((on, Some(std::mem::replace(lanes, on)))),
            None => {
                masks.push((next.group, on));
                Some((on, None))
            }
        }
    }

    /// Removes temporary breakpoints that have stopped.
    pub(crate) fn retire(points: &mut Vec<Breakpoint>, reason: &Reason) {
        let (Reason::Breakpoint { number } | Reason::Told { number, .. }) = reason else { return };
        points.retain(|point| !(point.temporary && point.number == *number));
    }
}

/// The first lane in which a condition holds.
///
/// # Errors
/// If it can be evaluated in none of them; in one that it cannot be, it does not hold.
fn met(
    look: &dyn Look,
    (condition, text): &(Expr, String),
    (group, lanes): (GroupId, Lanes),
) -> Result<Option<usize>, String> {
    let (names, mut error, mut evaluated) = (LookNames::new(look), None, false);
    for lane in lanes {
        let at = FramePlace { group, lane: lane as u32, frame: 0 };
        match condition.evaluate(&names, at) {
            Ok(value) if value.holds() => return Ok(Some(lane)),
            Ok(_) => evaluated = true,
            Err(found) => error = error.or(Some(found)),
        }
    }
    match error.filter(|_| !evaluated) {
        Some(error) => Err(format!("the condition `{text}` cannot be evaluated: {error}")),
        None => Ok(None),
    }
}

/// A use of a register, in words.
fn described(used: &Used, text: &str) -> String {
    let verb = match (used.read, used.written) {
        (true, true) => "read and written",
        (true, false) => "read",
        (false, _) => "written",
    };
    let value = used.value.map_or("not there".to_owned(), |value| format!("{value:#x}"));
    format!("{text} {verb}: {value}")
}

/// Whether a place is the first of its function, or of all.
fn is_entry(look: &dyn Look, pc: Pc) -> bool {
    let code = look.code();
    let first = || code.instructions().first().map(|instruction| instruction.pc);
    code.function(pc).map(|function| function.entry).or_else(first) == Some(pc)
}

/// Whether all lanes of a block stand at its first instruction.
fn begins(look: &dyn Look, cta: u64) -> bool {
    let untouched = |group: &simt::inspect::GroupView<16>| {
        let nothing = group.exited.is_empty() && group.waiting.is_empty();
        nothing && group.paths.len() == 1 && group.paths.iter().all(|p| is_entry(look, p.pc))
    };
    look.groups().iter().filter(|group| group.id.cta == cta).all(untouched)
}

fn caught(
    catch: &Catch,
    look: &dyn Look,
    event: &Event<'_>,
    masks: Masks,
) -> Option<(GroupId, Lanes, String)> {
    match (catch, event) {
        (Catch::Split, Event::Issued(issued)) if !issued.split.is_empty() => {
            let parts: Vec<String> =
                issued.split.iter().map(|(_, lanes)| lanes.to_string()).collect();
            Some((issued.group, issued.active, format!("lanes part: {}", parts.join(" and "))))
        }
        (Catch::Merge, Event::Issued(issued)) => {
            let merge = issued.merges.first()?;
            let parts: Vec<String> = merge.parts.iter().map(ToString::to_string).collect();
            Some((issued.group, merge.lanes, format!("lanes meet: {}", parts.join(" and "))))
        }
        (Catch::Arrive | Catch::Release, Event::Issued(issued)) => {
            let (wanted, verb) = match catch {
                Catch::Arrive => (SyncKind::BarrierArrive, "arrive at"),
                _ => (SyncKind::BarrierRelease, "leave"),
            };
            let found = issued.syncs.iter().find(|(kind, ..)| *kind == wanted)?;
            let (_, barrier, group, lanes) = *found;
            Some((group, lanes, format!("lanes {lanes} {verb} barrier {barrier}")))
        }
        (Catch::Block, Event::Before(next))
            if is_entry(look, next.pc) && begins(look, next.group.cta) =>
        {
            Some((next.group, next.lanes, format!("block {} begins", next.group.cta)))
        }
        (Catch::Mask(lanes), Event::Before(next))
            if masks.is_some_and(|(on, last)| on == *lanes && last != Some(on)) =>
        {
            Some((next.group, *lanes, format!("lanes {lanes} are active")))
        }
        (Catch::Search(search), Event::Issued(issued)) => {
            let (_, found) = issued.found.iter().find(|(of, _)| of == search)?;
            Some((found.group, found.lanes, found.text.clone()))
        }
        _ => None,
    }
}

/// An access of a watched range.
struct Told<'i> {
    lanes: Lanes,
    kind: AccessKind,
    old: &'i [u8],
    new: &'i [u8],
}

impl Told<'_> {
    fn describe(&self, text: &str, ty: Type) -> String {
        let (old, new) = (self.old, self.new);
        let value = |bytes: &[u8]| {
            let mut wide = [0; 16];
            let length = bytes.len().min(ty.bytes()).min(16);
            wide[..length].copy_from_slice(&bytes[..length]);
            ty.value(u128::from_le_bytes(wide)).to_string()
        };
        let verb = match self.kind {
            AccessKind::Load => "read",
            AccessKind::Store => "written",
            AccessKind::Atomic => "updated",
        };
        let lanes = self.lanes;
        if old == new {
            return format!("{text} {verb} by lanes {lanes}: {}", value(new));
        }
        let first = old.iter().zip(new).position(|(a, b)| a != b).unwrap_or(0);
        let first = first - first % ty.bytes().max(1);
        let from = |bytes: &[u8]| value(bytes.get(first..).unwrap_or_default());
        let (old, new) = (from(old), from(new));
        let place = if first == 0 { String::new() } else { format!(" +{first}") };
        format!("{text}{place} {verb} by lanes {lanes}: {old} -> {new}")
    }
}

fn accessed<'i>(issued: &'i Issued, index: usize, watch: &AccessWatch) -> Option<Told<'i>> {
    let mine = |access: &&crate::target::Accessed| access.watch == index;
    let mut lanes = Lanes::EMPTY;
    let mut kind = None;
    for access in issued.accesses.iter().filter(mine) {
        let own = |lane: u16| {
            let same =
                |at: FramePlace| super::same(issued.group, at.group) && u32::from(lane) == at.lane;
            watch.space != Space::Local || watch.at.is_none_or(same)
        };
        for &(lane, _) in access.lanes.iter().filter(|(lane, _)| own(*lane)) {
            lanes.insert(lane.into());
            kind = Some(access.kind);
        }
    }
    // Each access of the issue has the contents before it; those of the first count.
    let first = issued.accesses.iter().find(mine)?;
    Some(Told { lanes, kind: kind?, old: &first.old, new: &first.new })
}
