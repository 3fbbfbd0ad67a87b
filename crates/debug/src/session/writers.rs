//! "Who wrote this?": the last writer of a register of a lane, or of memory, and what it read.

use std::collections::BTreeMap;

use simt::Pc;
use simt::inspect::FramePlace;
use simt::memory::Space;
use simt::observe::GroupId;

use super::{Session, called_from, same};
use crate::target::{
    AccessWatch, Event, Issued, Memory, RegisterWatch, Stopped, Stops, TargetError,
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
            Written::Register { at, index } => self.register_writer(at, index, before),
            Written::Memory { memory, address, bytes } => {
                self.memory_writer(memory, (address, bytes), before)
            }
        };
        self.target.seek(here)?;
        found
    }

    fn register_writer(
        &mut self,
        at: FramePlace,
        index: u32,
        before: u64,
    ) -> Result<Option<Writer>, TargetError> {
        let look = self.target.look();
        let frames = look.frames(FramePlace { frame: 0, ..at });
        let Some(&pc) = frames.get(at.frame as usize) else { return Ok(None) };
        let function = look.code().function(called_from(look.code(), at, pc)).map(|f| f.entry);
        // Frames are counted from the outermost one, which stays.
        let level = frames.len() - 1 - at.frame as usize;
        let watch = RegisterWatch::changes(FramePlace { frame: level as u32, ..at }, index);
        let stops = Stops { issued: true, registers: vec![watch], ..Stops::default() };
        let mut writes: BTreeMap<Pc, bool> = BTreeMap::new();
        let mut writer = None;
        self.scan_back(
            before,
            &stops,
            &mut |look, event| {
                let Event::Issued(issued) = event else { return None };
                let changed = !issued.changes.is_empty();
                let known = same(issued.group, at.group)
                    && issued.on.contains(at.lane as usize)
                    && *writes.entry(issued.pc).or_insert_with(|| {
                        let effects = look.effects(issued.pc);
                        let inside = look.code().function(issued.pc).map(|f| f.entry) == function;
                        inside && effects.is_some_and(|effects| effects.writes.contains(&index))
                    })
                    && look.frames(FramePlace { frame: 0, ..at }).len() == level + 1;
                (changed || known).then_some((issued.group, issued.pc, known))
            },
            &mut |position, (group, pc, known)| {
                let lane = at.lane;
                writer = Some(Writer { position, group, lane, pc, known });
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
        if let Some(effects) = look.effects(writer.pc) {
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
