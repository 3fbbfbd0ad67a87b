//! "Who wrote this?": the last writer of a register of a lane, or of memory, and what it read.

use std::collections::BTreeMap;

use simt::Pc;
use simt::inspect::{FramePlace, RegisterOwner};
use simt::memory::Space;
use simt::observe::GroupId;

use super::{Session, called_from, home, same};
use crate::target::{
    AccessWatch, Before, Event, Issued, Lanes, Look, Memory, RegisterWatch, Stopped, Stops,
    TargetError,
};

/// Most writers that one question finds.
const MOST: usize = 64;

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// A register of a lane.
    Register {
        /// The lane and its frame.
        at: FramePlace,
        /// The register.
        index: u32,
    },
    /// Memory.
    Memory {
        /// Where.
        memory: Memory,
        /// The first address.
        address: u64,
        /// How many bytes.
        bytes: u64,
    },
}

/// An instruction that wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writer {
    /// The position of its issue.
    pub position: u64,
    /// The issue group.
    pub group: GroupId,
    /// The lane.
    pub lane: u32,
    /// The instruction.
    pub pc: Pc,
    /// Whether the machine says that it writes; else the value changed when it was issued.
    pub known: bool,
}

/// The register that a question is about.
struct Asked {
    /// The lane as which it is read.
    at: FramePlace,
    owner: RegisterOwner,
    index: u32,
    /// Frames outside of the one that has it.
    level: usize,
    /// The entry of its function.
    function: Option<Pc>,
}

/// The lanes for which an instruction writes the register.
#[derive(Clone, Copy, Default)]
struct Writing {
    lanes: Lanes,
    /// Also for those that are off.
    unmasked: bool,
    /// The register whose value it takes, in all lanes.
    from: Option<u32>,
}

impl Asked {
    /// The lanes for which an issue writes the register by what the machine tells.
    fn writing(&self, look: &dyn Look, (group, pc, lanes): (GroupId, Pc, Lanes)) -> Writing {
        let mut out = Writing::default();
        let own = self.owner == RegisterOwner::Machine || same(group, self.at.group);
        let function = || look.code().function(pc).map(|f| f.entry);
        if !own || !self.shared(look) && function() != self.function {
            return out;
        }
        let asked = match self.owner {
            RegisterOwner::Lane => Lanes::lane(self.at.lane as usize),
            RegisterOwner::Group | RegisterOwner::Machine => lanes,
        };
        for lane in asked {
            let Some(effects) = look.effects(pc, lane as u32) else { break };
            out.unmasked |= effects.unmasked;
            let moved = effects.moves.iter().find(|(to, _)| *to == self.index);
            out.from = moved.map(|&(_, from)| from);
            let writes = effects.writes.contains(&self.index);
            match (writes, effects.momentary) {
                (true, true) => out.lanes.insert(lane),
                // All lanes, in every state.
                (true, false) => out.lanes = Lanes::from_words([u64::MAX; 16]),
                (false, true) => {}
                // Nor in another lane.
                (false, false) => break,
            }
        }
        if self.owner == RegisterOwner::Lane {
            out.lanes &= Lanes::lane(self.at.lane as usize);
        }
        out
    }

    /// Whether functions share the register.
    fn shared(&self, look: &dyn Look) -> bool {
        self.owner != RegisterOwner::Lane || look.abilities().one_file
    }

    /// The last lane of an issue that wrote the register.
    fn wrote(&self, look: &dyn Look, issued: &Issued, writing: &Writing) -> Option<u32> {
        if self.owner != RegisterOwner::Machine && !same(issued.group, self.at.group) {
            return None;
        }
        if writing.from.is_some() {
            return Some(self.at.lane);
        }
        let on = if writing.unmasked { issued.active | issued.on } else { issued.on };
        let lane = (writing.lanes & on).highest()? as u32;
        let frames = || look.frames(FramePlace { frame: 0, ..self.at }).len();
        (self.shared(look) || frames() == self.level + 1).then_some(lane)
    }

    /// The lane that changed the register where the machine does not tell.
    fn changed_by(&self, issued: &Issued) -> u32 {
        match self.owner {
            RegisterOwner::Lane => self.at.lane,
            _ => issued.on.lowest().map_or(0, |lane| lane as u32),
        }
    }
}

/// A writer among those that others depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// How many steps away from the question.
    pub depth: u32,
    /// What was written.
    pub what: Written,
    /// The name of the register, or the memory, as text.
    pub name: String,
    /// Who wrote it; `None` if it is from before the recording.
    pub writer: Option<Writer>,
}

impl Session<'_> {
    /// Finds the last writer before a position. Afterwards the target is where it was.
    ///
    /// # Errors
    /// If a state cannot be restored.
    pub fn last_writer(
        &mut self,
        what: Written,
        before: u64,
    ) -> Result<Option<Writer>, TargetError> {
        let here = self.target.position();
        self.target.seek(before)?;
        let found = match what {
            Written::Register { at, index } => self.value_writer(at, index, before),
            Written::Memory { memory, address, bytes } => {
                self.memory_writer(memory, (address, bytes), before)
            }
        };
        self.target.seek(here)?;
        found
    }

    /// Who has a register of a frame.
    pub(crate) fn owner(&self, at: FramePlace, index: u32) -> RegisterOwner {
        let look = self.look();
        let frames = look.frames(FramePlace { frame: 0, ..at });
        let pc = frames.get(at.frame as usize).map(|&pc| called_from(look.code(), at, pc));
        let registers = pc.map(|pc| look.registers(pc)).unwrap_or_default();
        let found = registers.iter().find(|register| register.index == index);
        found.map_or(RegisterOwner::Lane, |register| register.owner)
    }

    /// Who wrote the value of a register: values that have moved are followed.
    fn value_writer(
        &mut self,
        at: FramePlace,
        mut index: u32,
        mut before: u64,
    ) -> Result<Option<Writer>, TargetError> {
        while let Some((writer, from)) = self.register_writer(at, index, before)? {
            let Some(from) = from else { return Ok(Some(writer)) };
            (index, before) = (from, writer.position);
            self.target.seek(before)?;
        }
        Ok(None)
    }

    /// Who wrote a register, and the register whose value it took.
    fn register_writer(
        &mut self,
        at: FramePlace,
        index: u32,
        before: u64,
    ) -> Result<Option<(Writer, Option<u32>)>, TargetError> {
        let look = self.target.look();
        let frames = look.frames(FramePlace { frame: 0, ..at });
        let Some(&pc) = frames.get(at.frame as usize) else { return Ok(None) };
        let pc = called_from(look.code(), at, pc);
        let owner = self.owner(at, index);
        let look = self.target.look();
        // Frames are counted from the outermost one, which stays.
        let level = frames.len() - 1 - at.frame as usize;
        let function = look.code().function(pc).map(|f| f.entry);
        let momentary = look.effects(pc, at.lane).is_some_and(|effects| effects.momentary);
        let home = home(look, at, owner);
        let asked = Asked { at: home, owner, index, level, function };
        let watch = RegisterWatch::changes(FramePlace { frame: level as u32, ..home }, index);
        let before_each = if momentary { Before::Every } else { Before::None };
        let registers = vec![watch];
        let stops = Stops { before: before_each, issued: true, registers, ..Stops::default() };
        let mut known: BTreeMap<Pc, Writing> = BTreeMap::new();
        let mut next = Writing::default();
        let mut writer = None;
        self.scan_back(
            before,
            &stops,
            &mut |look, event| match event {
                Event::Before(issue) => {
                    next = asked.writing(look, (issue.group, issue.pc, issue.lanes));
                    None
                }
                Event::Issued(issued) => {
                    let writing = if momentary {
                        next
                    } else {
                        let issue = (issued.group, issued.pc, issued.active);
                        *known
                            .entry(issued.pc)
                            .or_insert_with(|| asked.writing(look, (at.group, issue.1, issue.2)))
                    };
                    let lane = asked.wrote(look, issued, &writing);
                    // Registers that functions share begin with their group, not with a call.
                    let one_file = look.abilities().one_file;
                    let changed = issued.changes.iter().any(|c| c.old.is_some() || !one_file);
                    let lane = lane.map(|lane| (lane, true));
                    let lane = lane.or_else(|| changed.then(|| (asked.changed_by(issued), false)));
                    lane.map(|(lane, known)| (issued.group, issued.pc, lane, (known, writing.from)))
                }
            },
            &mut |position, (group, pc, lane, (known, from))| {
                writer = Some((Writer { position, group, lane, pc, known }, from));
                true
            },
        )?;
        Ok(writer)
    }

    fn memory_writer(
        &mut self,
        memory: Memory,
        (address, bytes): (u64, u64),
        before: u64,
    ) -> Result<Option<Writer>, TargetError> {
        let local = memory.space == Space::Local;
        let watch = AccessWatch {
            space: memory.space,
            range: address..address.saturating_add(bytes.max(1)),
            cta: matches!(memory.space, Space::Shared | Space::Local)
                .then_some(memory.at.group.cta),
            reads: false,
            writes: true,
            at: None,
        };
        let stops = Stops { accesses: vec![watch], ..Stops::default() };
        let mut writer = None;
        self.scan_back(
            before,
            &stops,
            &mut |_, event| {
                let Event::Issued(issued) = event else { return None };
                let lane = last_lane(issued, local.then_some(memory.at))?;
                Some((issued.group, lane, issued.pc))
            },
            &mut |position, (group, lane, pc)| {
                writer = Some(Writer { position, group, lane, pc, known: true });
                true
            },
        )?;
        Ok(writer)
    }

    /// Finds the last writer before a position, the writers of what it read, and so on to a depth;
    /// at most 64 of them.
    ///
    /// # Errors
    /// If a state cannot be restored.
    pub fn writers(
        &mut self,
        what: Written,
        name: &str,
        before: u64,
        depth: u32,
    ) -> Result<Vec<Dependence>, TargetError> {
        let mut out: Vec<Dependence> = Vec::new();
        let mut open = vec![(0, what, name.to_owned(), before)];
        while let Some((level, what, name, before)) = open.pop() {
            if out.len() == MOST {
                break;
            }
            let writer = self.last_writer(what, before)?;
            out.push(Dependence { depth: level, what, name, writer });
            if let Some(writer) = writer.filter(|_| level < depth) {
                let read = self.read_by(&writer)?;
                let read = read.into_iter().rev();
                open.extend(read.map(|(what, name)| (level + 1, what, name, writer.position)));
            }
        }
        Ok(out)
    }

    /// What a writer read: registers of its lane, and memory.
    fn read_by(&mut self, writer: &Writer) -> Result<Vec<(Written, String)>, TargetError> {
        let here = self.target.position();
        self.target.seek(writer.position)?;
        let at = FramePlace { group: writer.group, lane: writer.lane, frame: 0 };
        let look = self.target.look();
        let mut out = Vec::new();
        if let Some(effects) = look.effects(writer.pc, writer.lane) {
            let registers = look.registers(writer.pc);
            for index in effects.reads {
                let register = registers.iter().find(|r| r.index == index);
                if let Some(register) = register {
                    out.push((Written::Register { at, index }, register.name.to_string()));
                }
            }
        }
        let spaces = [Space::Global, Space::Shared, Space::Local];
        let watch = |space| AccessWatch {
            space,
            range: 0..u64::MAX,
            cta: None,
            reads: true,
            writes: false,
            at: None,
        };
        let stops = Stops { accesses: spaces.map(watch).into(), ..Stops::default() };
        let mut read = None;
        let stopped = self.target.run(writer.position + 1, &stops, true, &mut |_, event| {
            if let Event::Issued(issued) = event {
                read = issued.accesses.iter().find_map(|access| {
                    let mine = |&&(lane, _): &&(u16, u64)| u32::from(lane) == writer.lane;
                    let (_, address) = access.lanes.iter().find(mine)?;
                    Some((spaces[access.watch], *address, u64::from(access.size)))
                });
            }
            true
        });
        if let (Some((space, address, bytes)), Stopped::Judged) = (read, stopped) {
            let what = Written::Memory { memory: Memory { space, at }, address, bytes };
            out.push((what, format!("{}[{address:#x}]", space.name())));
        }
        self.target.seek(here)?;
        Ok(out)
    }
}

/// The lane of an issue whose write stays: lanes write in increasing order.
fn last_lane(issued: &Issued, only: Option<FramePlace>) -> Option<u32> {
    let lanes = issued.accesses.iter().flat_map(|access| &access.lanes);
    let mut lanes = lanes.map(|&(lane, _)| u32::from(lane));
    match only {
        None => lanes.next_back(),
        Some(at) => lanes.find(|&lane| same(issued.group, at.group) && lane == at.lane),
    }
}
