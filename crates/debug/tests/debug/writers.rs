//! Last writers against a log of everything.

use std::collections::HashMap;

use debug::{Debugger, Memory, Session, Written};
use ir::testing::Rng;
use simt::inspect::{FramePlace, Inspect as _, RegisterOwner};
use simt::memory::{AccessKind, Space};
use simt::observe::{Access, Events, GroupId, Issue, Observer};
use vm::State;

use crate::common::{Case, ENGINE, random};

const MOST: u64 = 150;

/// A register: group, lane, depth of calls, function, name.
type Key = ((u64, u32), u32, usize, usize, String);

/// Logs what instructions write according to their text, and what changes.
#[derive(Default)]
struct Log {
    last: Option<(GroupId, simt::Pc, Vec<u32>)>,
    stores: Vec<(u64, u32, u32)>,
    /// Position of the last write.
    registers: HashMap<Key, u64>,
    /// Position and lane, by address.
    memory: HashMap<u64, (u64, u32)>,
    values: HashMap<Key, u128>,
}

impl Observer<1> for Log {
    const EVENTS: Events = Events::ISSUE.and(Events::ACCESS);

    fn issue(&mut self, issue: &Issue<'_, 1>) {
        let on = issue.lanes.on.iter().map(|lane| lane as u32).collect();
        self.last = Some((issue.group, issue.pc, on));
    }

    fn access(&mut self, access: &Access<'_>) {
        if access.kind != AccessKind::Load && access.space == Space::Global {
            let lanes = access.lanes.iter();
            self.stores.extend(lanes.map(|&(lane, at)| (at, access.size, u32::from(lane))));
        }
    }
}

/// The register that an instruction writes, by its text.
fn written(text: &str) -> Option<&str> {
    let text = match text.strip_prefix('@') {
        Some(guarded) => guarded.split_once(' ')?.1,
        None => text,
    };
    let (name, operands) = text.split_once(' ')?;
    let first = operands.split(',').next()?.trim().trim_end_matches(';');
    let stores = name.starts_with("st.") || name.starts_with("bra") || name.starts_with("brx");
    (first.starts_with('%') && !stores).then_some(first)
}

impl Log {
    /// All registers of all lanes that live.
    fn registers(case: &Case, state: &State<1>) -> HashMap<Key, u128> {
        let mut out = HashMap::new();
        for group in ENGINE.groups(&case.program, state) {
            for lane in group.launched - group.exited {
                let at = FramePlace { group: group.id, lane: lane as u32, frame: 0 };
                let frames = ENGINE.frames(&case.program, state, at);
                for (frame, &pc) in frames.iter().enumerate() {
                    let pc = simt::Pc(pc.0 - u64::from(frame > 0));
                    let function = case.program.at(pc).map_or(0, vm::Code::function);
                    let depth = frames.len() - frame;
                    for register in ENGINE.registers(&case.program, pc) {
                        let at = FramePlace { frame: frame as u32, ..at };
                        let value = ENGINE.register(&case.program, state, at, register.index);
                        let group = (group.id.cta, group.id.group);
                        let name = register.name.to_string();
                        let key = (group, lane as u32, depth, function, name);
                        out.insert(key, value.expect("a register of the frame"));
                    }
                }
            }
        }
        out
    }

    /// After an issue.
    fn note(&mut self, case: &Case, position: u64, state: &State<1>) {
        let now = Self::registers(case, state);
        if let Some((group, pc, on)) = self.last.take() {
            for (key, value) in &now {
                // What was not there has been made by this issue.
                if self.values.get(key) != Some(value) {
                    self.registers.insert(key.clone(), position);
                }
            }
            if let Some(name) = written(case.written(pc)) {
                let function = case.program.at(pc).map_or(0, vm::Code::function);
                for key in now.keys() {
                    let own = key.0 == (group.cta, group.group) && on.contains(&key.1);
                    if own && key.3 == function && key.4 == name {
                        self.registers.insert(key.clone(), position);
                    }
                }
            }
            for (address, size, lane) in self.stores.drain(..) {
                for byte in 0..u64::from(size) {
                    self.memory.insert(address + byte, (position, lane));
                }
            }
        }
        self.values = now;
    }
}

#[test]
fn last_writers_are_those_of_a_full_log() {
    let (mut asked, mut found) = (0, 0);
    for seed in 0..16 {
        let case = random(seed + 300);
        let mut rng = Rng::new(seed);
        let until = 50 + rng.below(MOST as usize - 50) as u64;
        let mut log = Log::default();
        let ran = case.run(&mut log, until + 1, |issue, state, log| {
            if issue <= until {
                log.note(&case, issue.wrapping_sub(1), state);
            }
        });
        let until = until.min(ran);
        let mut execution = case.execution().with_gap(64);
        let mut debugger = Debugger::default();
        let mut session = Session::new(&mut debugger, &mut execution);
        session.goto(until).expect("there");
        for _ in 0..12 {
            let groups = session.look().groups();
            if groups.is_empty() {
                break;
            }
            let group = &groups[rng.below(groups.len())];
            let alive: Vec<usize> = (group.launched - group.exited).iter().collect();
            if alive.is_empty() {
                continue;
            }
            let lane = alive[rng.below(alive.len())] as u32;
            let at = FramePlace { group: group.id, lane, frame: 0 };
            let frames = session.look().frames(at);
            let function = case.program.at(frames[0]).map_or(0, vm::Code::function);
            let registers = session.look().registers(frames[0]);
            // Those of parameters of calls have no names in the text.
            let own = |r: &&simt::inspect::Register| {
                r.owner == RegisterOwner::Lane && r.name.starts_with("%v")
            };
            let registers: Vec<_> = registers.iter().filter(own).collect();
            let register = registers[rng.below(registers.len())];
            let name = register.name.to_string();
            let group = (group.id.cta, group.id.group);
            let key = (group, lane, frames.len(), function, name);
            let what = Written::Register { at, index: register.index };
            let writer = session.last_writer(what, until).expect("found");
            let wanted = log.registers.get(&key).copied();
            assert_eq!(writer.map(|w| w.position), wanted, "seed {seed} at {until}: {key:?}");
            asked += 1;
            found += u32::from(wanted.is_some());
        }
        for _ in 0..6 {
            let address = case.out + rng.below(case.bytes as usize / 4) as u64 * 4;
            let at = FramePlace::default();
            let memory = Memory { space: Space::Global, at };
            let what = Written::Memory { memory, address, bytes: 4 };
            let writer = session.last_writer(what, until).expect("found");
            let wanted = log.memory.get(&address).copied();
            let writer = writer.map(|w| (w.position, w.lane));
            assert_eq!(writer, wanted, "seed {seed} at {until}: {address:#x}");
        }
    }
    assert!(found * 4 > asked && asked > 80, "{found} of {asked}");
}
