//! A full log of a run without the debugger: who wrote each register of each lane, and each byte of
//! memory, last. What an instruction writes follows from its text; what it does not say, from a
//! comparison of all registers before and after each issue.

use std::collections::{BTreeMap, HashMap};

use ::linx::Linx;
use ::pmask::Pmask;
use ::prf::{PredicateWrites, Prf};
use simt::inspect::{FramePlace, Inspect, RegisterOwner};
use simt::machine::Step;
use simt::memory::{AccessKind, Addr};
use simt::observe::{Access, AnyObserver, Events, GroupId, Issue, Observer};
use simt::slots::Domain;
use simt::{LaneMask, Pc};

use super::cases::Case;

/// The owner of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Scope {
    Machine,
    Group(u64, u32),
    Lane(u64, u32, u32),
}

/// A register.
pub(super) type Key = (Scope, u32);

/// A write: position, lane, place.
pub(super) type Write = (u64, u32, Pc);

/// An issue as the machine's observer saw it.
#[derive(Clone, Default)]
pub(super) struct Seen {
    pub(super) group: GroupId,
    pub(super) pc: Pc,
    pub(super) launched: LaneMask<1>,
    pub(super) on: LaneMask<1>,
    vector: bool,
    stores: Vec<(u64, u32, u32)>,
}

impl Observer<1> for Seen {
    const EVENTS: Events = Events::ISSUE.and(Events::ACCESS);

    fn issue(&mut self, issue: &Issue<'_, 1>) {
        (self.group, self.pc) = (issue.group, issue.pc);
        self.vector = issue.domain == Domain::Vector;
        // A scalar instruction is executed once, whatever lanes its group has.
        let of = |lanes| if self.vector { lanes } else { LaneMask::first(1) };
        (self.launched, self.on) = (of(issue.lanes.launched), of(issue.lanes.on));
    }

    fn access(&mut self, access: &Access<'_>) {
        if access.kind != AccessKind::Load {
            let lanes = access.lanes.iter();
            self.stores.extend(lanes.map(|&(lane, at)| (at, access.size, u32::from(lane))));
        }
    }
}

/// What the text of an instruction says that it writes, by names, each with the lanes; and queues,
/// by their first entries, on which it pushes.
#[derive(Default)]
pub(super) struct Said {
    writes: Vec<(String, LaneMask<1>)>,
    push: Option<(String, LaneMask<1>)>,
}

/// Reads a text, with the state before the issue.
pub(super) type Style<M> = fn(&Case<M>, &<M as simt::machine::Machine<1>>::State, &Seen) -> Said;

fn words<M: Inspect<1>>(case: &Case<M>, seen: &Seen) -> (String, Vec<String>) {
    let text = case.texts.get(&seen.pc.0).map_or("", String::as_str);
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let rest = rest.split(['@', '!']).next().unwrap_or_default();
    let operands = rest.split(',').map(|operand| operand.trim().to_owned()).collect();
    (name.to_owned(), operands)
}

/// The first operand is written, unless the instruction stores, jumps or ends.
pub(super) fn prf(case: &Case<Prf>, _: &::prf::State, seen: &Seen) -> Said {
    let (name, operands) = words(case, seen);
    let none = ["sw", "sh", "sb", "prsw", "jpnz", "halt"].contains(&name.as_str());
    let first = operands[0].clone();
    if none || first == "x0" {
        return Said::default();
    }
    let whole = name == "prlw" || case.machine.config.writes == PredicateWrites::And;
    let lanes = if first.starts_with('p') && whole { seen.launched } else { seen.on };
    Said { writes: vec![(first, lanes)], push: None }
}

/// What stands behind the arrow is written; queues are pushed on.
pub(super) fn linx(case: &Case<Linx>, _: &::linx::State, seen: &Seen) -> Said {
    let text = case.texts.get(&seen.pc.0).map_or("", String::as_str);
    let Some((_, to)) = text.split_once("->") else { return Said::default() };
    let to = to.trim().split('.').next().unwrap_or_default();
    match to {
        "t" | "u" => Said { push: Some((to.to_owned(), seen.on)), ..Said::default() },
        "vt" | "vu" | "vm" | "vn" => {
            Said { push: Some((to.to_owned(), seen.on)), ..Said::default() }
        }
        _ => Said { writes: vec![(to.to_owned(), seen.on)], ..Said::default() },
    }
}

/// The first operand is written, unless the instruction stores or branches; those on masks have it
/// elsewhere. Under RSV a lane's register lies in the window of destinations.
pub(super) fn pmask(case: &Case<Pmask>, state: &::pmask::state::State, seen: &Seen) -> Said {
    let (name, operands) = words(case, seen);
    let all = seen.on;
    let named = |names: &[String]| Said {
        writes: names.iter().map(|name| (name.clone(), all)).collect(),
        push: None,
    };
    let bank = || format!("bank{}", operands[0]);
    match name.as_str() {
        "pmlow.rd" | "pmhigh.rd" => named(&operands[1..2]),
        "pmlow.wr" | "pmhigh.wr" => named(&[bank()]),
        name if name.starts_with("pm") || name.starts_with("pcmp") || name == "ptestnz" => {
            named(&[bank(), "p0".to_owned()])
        }
        name if name.starts_with('b') || name.starts_with("sv") => Said::default(),
        "sw" | "sd" | "sh" | "sb" | "fsw" | "fsd" | "j" | "ecall" | "ebreak" | "csrw" | "csrwi"
        | "csrci" | "csrsi" | "" => Said::default(),
        _ if seen.vector => {
            let (file, number) = operands[0].split_at(1);
            let number: u8 = number.parse().expect("a register");
            let window = |lane: usize| {
                let register = state.rsv.dest.register(number, lane as u8);
                (format!("{file}{register}"), LaneMask::lane(lane))
            };
            Said { writes: seen.on.iter().map(window).collect(), push: None }
        }
        _ => named(&operands[..1]),
    }
}

/// All registers of some lanes.
pub(super) fn registers<M: Inspect<1>>(
    case: &Case<M>,
    state: &M::State,
    lanes: LaneMask<1>,
) -> HashMap<Key, u128> {
    let mut out = HashMap::new();
    for group in case.machine.groups(&case.program, state) {
        let (cta, number) = (group.id.cta, group.id.group);
        for lane in (group.launched - group.exited) & lanes {
            let at = FramePlace { group: group.id, lane: lane as u32, frame: 0 };
            for register in case.machine.registers(&case.program, Pc(0)) {
                let scope = match register.owner {
                    RegisterOwner::Machine => Scope::Machine,
                    RegisterOwner::Group => Scope::Group(cta, number),
                    RegisterOwner::Lane => Scope::Lane(cta, number, at.lane),
                };
                let value = case.machine.register(&case.program, state, at, register.index);
                if let Ok(value) = value {
                    out.insert((scope, register.index), value);
                }
            }
        }
    }
    out
}

/// The log of a run up to a position, for some lanes, the first one among them.
pub(super) struct Log<'c, M: Inspect<1>> {
    case: &'c Case<M>,
    lanes: LaneMask<1>,
    names: BTreeMap<String, (u32, RegisterOwner)>,
    values: HashMap<Key, u128>,
    pub(super) registers: HashMap<Key, Write>,
    pub(super) memory: HashMap<u64, Write>,
    pub(super) position: u64,
}

impl<'c, M: Inspect<1>> Log<'c, M> {
    /// Runs the launch for so many issues, or to its end.
    pub(super) fn of(case: &'c Case<M>, until: u64, lanes: LaneMask<1>) -> (Self, M::State) {
        let all = case.machine.registers(&case.program, Pc(0));
        let mut names = BTreeMap::new();
        for register in &all {
            names.insert(register.name.to_string(), (register.index, register.owner));
        }
        // The hart's registers have numbers beside the names of the calling convention.
        if names.contains_key("pc") {
            names.extend((0..32).map(|i| (format!("x{i}"), (i, RegisterOwner::Group))));
        }
        let mut state = case.first.clone();
        let mut log = Self {
            case,
            lanes,
            names,
            values: HashMap::new(),
            registers: HashMap::new(),
            memory: HashMap::new(),
            position: 0,
        };
        let machine = &case.machine;
        let mut there = machine.upcoming(&case.program, &mut state).is_ok();
        log.values = registers(case, &state, lanes);
        while there && log.position < until {
            let (before, mut seen) = (state.clone(), Seen::default());
            let step = machine.run_observed(
                &case.program,
                &mut state,
                &mut AnyObserver::new(&mut seen),
                1,
            );
            assert!(matches!(step, Step::Issued), "a kernel that ends");
            there = machine.upcoming(&case.program, &mut state).is_ok();
            log.note(&before, &state, &seen);
        }
        (log, state)
    }

    fn note(&mut self, before: &M::State, state: &M::State, seen: &Seen) {
        let position = self.position;
        self.position += 1;
        let said = (self.case.style)(self.case, before, seen);
        // What moves in queues is what was there before.
        let old = if said.push.is_some() { self.registers.clone() } else { Default::default() };
        let now = registers(self.case, state, self.lanes);
        // What is written without a word: kernels that end give their exports.
        for (key, value) in &now {
            if self.values.get(key).is_some_and(|old| old != value) {
                let lane = match key.0 {
                    Scope::Lane(_, _, lane) => lane,
                    _ => seen.on.lowest().unwrap_or(0) as u32,
                };
                self.registers.insert(*key, (position, lane, seen.pc));
            }
        }
        for (name, lanes) in &said.writes {
            self.write(name, *lanes, position, seen);
        }
        if let Some((queue, lanes)) = &said.push {
            self.push(queue, *lanes, (position, seen), (&old, &now));
        }
        for &(address, size, lane) in &seen.stores {
            for byte in 0..u64::from(size) {
                self.memory.insert(address + byte, (position, lane, seen.pc));
            }
        }
        self.check_stores(before, state);
        self.values = now;
    }

    fn key(&self, (index, owner): (u32, RegisterOwner), seen: &Seen, lane: u32) -> Key {
        let scope = match owner {
            RegisterOwner::Machine => Scope::Machine,
            RegisterOwner::Group => Scope::Group(seen.group.cta, seen.group.group),
            RegisterOwner::Lane => Scope::Lane(seen.group.cta, seen.group.group, lane),
        };
        (scope, index)
    }

    fn write(&mut self, name: &str, lanes: LaneMask<1>, position: u64, seen: &Seen) {
        // Descriptors write what is no register here.
        let Some(&register) = self.names.get(name) else { return };
        if name == "zero" || name == "x0" {
            return;
        }
        for lane in lanes {
            let key = self.key(register, seen, lane as u32);
            self.registers.insert(key, (position, lane as u32, seen.pc));
        }
    }

    /// Entries of the queue move; the newest one is new in lanes that are on, and where it differs.
    fn push(
        &mut self,
        queue: &str,
        on: LaneMask<1>,
        (position, seen): (u64, &Seen),
        (old, now): (&HashMap<Key, Write>, &HashMap<Key, u128>),
    ) {
        for lane in seen.launched & self.lanes {
            let keys: Vec<Key> = (1..5)
                .map(|entry| {
                    let register = self.names[&format!("{queue}#{entry}")];
                    self.key(register, seen, lane as u32)
                })
                .collect();
            for pair in keys.windows(2) {
                match old.get(&pair[0]) {
                    Some(write) => self.registers.insert(pair[1], *write),
                    None => self.registers.remove(&pair[1]),
                };
            }
            let changed = self.values.get(&keys[0]) != now.get(&keys[0]);
            let write = (on.contains(lane) || changed).then_some((position, lane as u32, seen.pc));
            match write.or(old.get(&keys[0]).copied()) {
                Some(write) => self.registers.insert(keys[0], write),
                None => self.registers.remove(&keys[0]),
            };
        }
    }

    /// Bytes that an issue has changed are among those that it stored to.
    fn check_stores(&self, before: &M::State, state: &M::State) {
        let machine = &self.case.machine;
        for range in &self.case.buffers {
            let mut bytes = [(); 2].map(|()| vec![0; (range.end - range.start) as usize]);
            for (bytes, state) in bytes.iter_mut().zip([before, state]) {
                let read = machine.memory(state).read_bytes(Addr(range.start), bytes);
                read.expect("mapped");
            }
            if bytes[0] == bytes[1] {
                continue;
            }
            for (at, (old, new)) in (range.start..).zip(bytes[0].iter().zip(&bytes[1])) {
                let write = self.memory.get(&at).map(|write| write.0);
                assert!(old == new || write == Some(self.position - 1), "{at:#x}");
            }
        }
    }
}
