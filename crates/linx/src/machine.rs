//! The machine: blocks, their headers and transfers, system instructions, traps and their handlers.

use simt::machine::{Machine, Step};
use simt::mask::WarpMask;
use simt::observe::{Events, Issue, Observer, Pc};
use simt::slots::{Domain, IssueLanes, LaneSlots};
use simt::trap::Fault;

use crate::action::{Action, Marker, SOp, System, Template, Transfer};
use crate::compute::extend;
use crate::header::{Header, Kind};
use crate::insn::Insn;
use crate::names::TileOps;
use crate::program::{Fetched, LoadError, Program};
use crate::scalar::Effect;
use crate::state::{Block, Launch, LaunchError, Phase, Saved, State};
use crate::trap::{Detail, Family, Trap, TrapNum};

/// LinxISA v0.4.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linx {
    /// Numbers of tile operations in binaries.
    pub tile_ops: TileOps,
}

impl Machine for Linx {
    const NAME: &'static str = "linx";
    type Program = Program;
    type LoadError = LoadError;
    type Launch = Launch;
    type LaunchError = LaunchError;
    type State = State;
    type Cause = Trap;

    fn load(&self, image: &[u8]) -> Result<Program, LoadError> {
        Program::from_binary(image, self.tile_ops)
    }

    fn launch(&self, program: &Program, launch: Launch) -> Result<State, LaunchError> {
        State::new(program, launch)
    }

    fn step<O: Observer<1>>(
        &self,
        program: &Program,
        state: &mut State,
        observer: &mut O,
    ) -> Step<Trap> {
        if let Some(trap) = &state.dead {
            return fault(state, (**trap).clone(), WarpMask::EMPTY);
        }
        let result = match &state.phase {
            Phase::Done(_) => return Step::Done,
            Phase::Between { .. } => state.between(program, observer),
            Phase::Block(_) => state.in_block(program, observer),
            Phase::Header(_) => state.in_header(program, observer),
            Phase::Body(_) => return state.in_body(program, observer),
        };
        state.settle(program, result.map_err(|trap| (trap, WarpMask::EMPTY)))
    }

    fn slots<'s>(&self, state: &'s State) -> &'s LaneSlots {
        &state.slots
    }
}

fn fault(state: &State, trap: Trap, lanes: WarpMask) -> Step<Trap> {
    let (group, pc) = (state.group_id(), Pc(trap.tpc));
    Step::Fault(Box::new(Fault { cause: trap, group, pc, lanes }))
}

impl State {
    /// Ends a step: enters the guest's handler for a trap, or reports it.
    pub(crate) fn settle(
        &mut self,
        program: &Program,
        result: Result<(), (Trap, WarpMask)>,
    ) -> Step<Trap> {
        let Err((trap, lanes)) = result else { return Step::Issued };
        if self.enter_handler(program, &trap) {
            return Step::Issued;
        }
        if trap.fatal {
            self.dead = Some(Box::new(trap.clone()));
        }
        fault(self, trap, lanes)
    }

    /// Counts a scalar issue.
    pub(crate) fn count_uniform<O: Observer<1>>(&mut self, pc: u64, observer: &mut O) {
        self.issues += 1;
        self.slots.uniform();
        if O::EVENTS.has(Events::ISSUE) {
            let on = WarpMask::first(1);
            let lanes = IssueLanes {
                width: 1,
                launched: on,
                exited: WarpMask::EMPTY,
                waiting: WarpMask::EMPTY,
                active: on,
                unmasked: on,
                on,
            };
            let group = self.group_id();
            observer.issue(&Issue {
                group,
                pc: Pc(pc),
                domain: Domain::Uniform,
                lanes: &lanes,
                depth: 1,
            });
        }
    }

    fn between<O: Observer<1>>(&mut self, program: &Program, observer: &mut O) -> Result<(), Trap> {
        let Phase::Between { pc, source } = self.phase else { return Ok(()) };
        match self.fetch(program, pc) {
            Fetched::Insn(insn) if insn.starts_block() => self.begin(program, &insn, pc, observer),
            Fetched::Unmapped => Err(Trap::fetch(pc)),
            _ => Err(Trap::missing_marker(source, pc)),
        }
    }

    /// Starts the block whose marker stands at `pc`.
    fn begin<O: Observer<1>>(
        &mut self,
        program: &Program,
        insn: &Insn,
        pc: u64,
        observer: &mut O,
    ) -> Result<(), Trap> {
        let marker = match insn.action {
            Action::Marker(marker) => marker,
            Action::Template(template) => {
                let next = pc.wrapping_add(insn.length);
                if !program.is_marker(next) {
                    return Err(Trap::missing_marker(pc, next));
                }
                self.execute_template(insn, template, pc)?;
                self.count_uniform(pc, observer);
                return self.fall_through(program, next, pc);
            }
            Action::ReservedTile => {
                let number = insn.bits(15, 10);
                return Err(Trap::illegal(pc, program.tile_ops().refusal(number)));
            }
            Action::None(why) => return Err(Trap::illegal(pc, why)),
            _ => return Err(Trap::missing_marker(pc, pc)),
        };
        let after = pc.wrapping_add(insn.length);
        let header = |kind| {
            let data_type = insn.bits(27, 5) as u8;
            Phase::Header(Box::new(Header::new(kind, pc, after, data_type)))
        };
        let reserved = || Trap::illegal(pc, "this block type or function is reserved");
        let phase = match marker {
            Marker::Coupled(_) | Marker::FusedCall => self.coupled(insn, marker, pc)?,
            Marker::Simt(simt) => {
                if !insn.short && insn.bits(25, 2) != 0 {
                    return Err(reserved());
                }
                header(Kind::Simt(simt))
            }
            Marker::Tma(function) => header(match function.map_or(insn.bits(20, 5), u64::from) {
                0 => Kind::Load,
                1 => Kind::Store,
                2 => Kind::Move,
                _ => return Err(reserved()),
            }),
            Marker::Cube(function) => header(match function.map_or(insn.bits(20, 5), u64::from) {
                0 => Kind::Matmul { accumulate: false },
                2 => Kind::Matmul { accumulate: true },
                8 => Kind::Convert,
                _ => return Err(reserved()),
            }),
            Marker::Tepl => {
                let op = program.tile_ops().find(insn.bits(15, 10));
                header(Kind::Tile(op.ok_or_else(reserved)?))
            }
            Marker::Fixp => return Err(reserved()),
        };
        self.count_uniform(pc, observer);
        if matches!(phase, Phase::Block(_)) {
            (self.t, self.u) = ([0; 4], [0; 4]);
        }
        if marker == Marker::FusedCall {
            let uimm = if insn.length == 4 { insn.bits(22, 5) } else { insn.bits(38, 5) };
            let second = pc.wrapping_add(insn.length - 2);
            self.gpr[10] = second.wrapping_add(uimm << 1);
        }
        self.phase = phase;
        Ok(())
    }

    /// A coupled block's state. The transfer's target is relative to the marker.
    fn coupled(&self, insn: &Insn, marker: Marker, pc: u64) -> Result<Phase, Trap> {
        let offset = match marker {
            // Two immediates: the target is the first, signed, in half-words.
            Marker::FusedCall if insn.length == 4 => extend(insn.bits(4, 12), 12, true) << 1,
            Marker::FusedCall => extend(insn.bits(7, 25), 25, true) << 1,
            _ => insn.imm as u64,
        };
        let transfer = match marker {
            Marker::Coupled(Transfer::Field) => match insn.bits(11, 3) {
                1 => Transfer::Fall,
                5 | 6 => Transfer::Indirect,
                7 => Transfer::Return,
                _ => {
                    return Err(Trap::illegal(
                        pc,
                        "this kind of block needs a target, which this form has not",
                    ));
                }
            },
            Marker::Coupled(transfer) => transfer,
            _ => Transfer::Direct,
        };
        let target = pc.wrapping_add(offset);
        let start = pc;
        let pc = pc.wrapping_add(insn.length);
        Ok(Phase::Block(Block { start, pc, transfer, target, taken: false, indirect: None }))
    }

    fn in_block<O: Observer<1>>(
        &mut self,
        program: &Program,
        observer: &mut O,
    ) -> Result<(), Trap> {
        let Phase::Block(block) = &self.phase else { return Ok(()) };
        let (pc, start) = (block.pc, block.start);
        let insn = match self.fetch(program, pc) {
            Fetched::Insn(insn) => insn,
            Fetched::Illegal => return Err(Trap::illegal(pc, "no instruction")),
            Fetched::Unmapped => return Err(Trap::fetch(pc)),
        };
        match insn.action {
            _ if insn.starts_block() => self.end_block(program, pc, start),
            Action::Stop => {
                let next = pc.wrapping_add(insn.length);
                self.end_block(program, next, pc)?;
                self.count_uniform(pc, observer);
                Ok(())
            }
            Action::Scalar(op) => {
                let effect = self.execute_scalar(&insn, op, pc)?;
                self.count_uniform(pc, observer);
                self.advance(insn.length, effect);
                Ok(())
            }
            Action::System(op) => {
                self.execute_system(program, &insn, op, pc)?;
                self.count_uniform(pc, observer);
                Ok(())
            }
            // Descriptors of coupled blocks say nothing.
            Action::Descriptor(_) => {
                self.count_uniform(pc, observer);
                self.advance(insn.length, Effect::None);
                Ok(())
            }
            Action::Branch(_) => Err(Trap::illegal(pc, "a body's branch in a scalar block")),
            Action::Vector(_) => Err(Trap::illegal(pc, "a kernel instruction in a scalar block")),
            Action::None(why) => Err(Trap::illegal(pc, why)),
            Action::Marker(_) | Action::Template(_) | Action::LegacyStop | Action::ReservedTile => {
                Ok(())
            }
        }
    }

    fn advance(&mut self, length: u64, effect: Effect) {
        if let Phase::Block(block) = &mut self.phase {
            block.pc = block.pc.wrapping_add(length);
            match effect {
                Effect::None => {}
                Effect::Predicate(taken) => block.taken = taken,
                Effect::Target(target) => block.indirect = Some(target),
            }
        }
    }

    /// Leaves a coupled block: `next` follows it in the text, `last` is its end.
    fn end_block(&mut self, program: &Program, next: u64, last: u64) -> Result<(), Trap> {
        let Phase::Block(block) = &self.phase else { return Ok(()) };
        let target = match block.transfer {
            Transfer::Fall | Transfer::Field => None,
            Transfer::Cond => block.taken.then_some(block.target),
            Transfer::Direct | Transfer::Call => Some(block.target),
            Transfer::Indirect => Some(block.indirect.unwrap_or(0)),
            Transfer::Return => Some(block.indirect.unwrap_or(self.gpr[10])),
        };
        match target {
            None => self.fall_through(program, next, last),
            Some(target) if program.is_marker(target) => {
                self.phase = Phase::Between { pc: target, source: block.start };
                Ok(())
            }
            Some(target) => Err(Trap::bad_target(block.start, target)),
        }
    }

    /// Goes on behind a block, where a marker must stand.
    pub(crate) fn fall_through(
        &mut self,
        program: &Program,
        next: u64,
        last: u64,
    ) -> Result<(), Trap> {
        if !program.is_marker(next) {
            return Err(Trap::missing_marker(last, next));
        }
        self.phase = Phase::Between { pc: next, source: last };
        Ok(())
    }

    fn in_header<O: Observer<1>>(
        &mut self,
        program: &Program,
        observer: &mut O,
    ) -> Result<(), Trap> {
        let Phase::Header(header) = &self.phase else { return Ok(()) };
        let pc = header.pc;
        let insn = match self.fetch(program, pc) {
            Fetched::Insn(insn) => insn,
            Fetched::Illegal => return Err(Trap::illegal(pc, "no instruction")),
            Fetched::Unmapped => return Err(Trap::fetch(pc)),
        };
        match insn.action {
            _ if insn.starts_block() => self.end_header(program, pc, pc),
            Action::Stop => {
                let next = pc.wrapping_add(insn.length);
                if !program.is_marker(next) {
                    header.validate(pc, self)?;
                    return Err(Trap::missing_marker(pc, next));
                }
                self.end_header(program, next, pc)?;
                self.count_uniform(pc, observer);
                Ok(())
            }
            Action::Descriptor(what) => {
                let mut header = header.clone();
                header.take(what, &insn, self);
                header.pc = pc.wrapping_add(insn.length);
                self.phase = Phase::Header(header);
                self.count_uniform(pc, observer);
                Ok(())
            }
            _ => Err(Trap::format(pc, Family::Generic, Detail::Illegal, "payload inside a header")),
        }
    }

    fn end_header(&mut self, program: &Program, next: u64, end: u64) -> Result<(), Trap> {
        let Phase::Header(header) = &self.phase else { return Ok(()) };
        let header = header.clone();
        header.validate(end, self)?;
        match header.kind {
            Kind::Simt(simt) => self.launch_body(program, &header, simt, next, end),
            _ => {
                self.execute_engine(&header, end)?;
                self.phase = Phase::Between { pc: next, source: end };
                Ok(())
            }
        }
    }

    /// Copies or fills memory. Ranges may overlap.
    fn execute_template(&mut self, insn: &Insn, template: Template, pc: u64) -> Result<(), Trap> {
        let (to, from, length) = (self.scalar(insn.l), self.scalar(insn.r), self.scalar(insn.a));
        let (to, source) = (simt::memory::Addr(to), simt::memory::Addr(from));
        if length == 0 {
            return Ok(());
        }
        let done = match template {
            Template::MCopy => self.memory.copy(to, source, length),
            Template::MSet => self.memory.fill(to, length, from as u8),
        };
        done.map_err(|error| Trap::data(pc, error.addr, &error))
    }

    fn execute_system(
        &mut self,
        program: &Program,
        insn: &Insn,
        op: System,
        pc: u64,
    ) -> Result<(), Trap> {
        match op {
            System::Ebreak => {
                let code = if insn.short { insn.imm } else { insn.bits(24, 4) as i64 };
                if code == 0 {
                    self.phase = Phase::Done(self.gpr[2]);
                    return Ok(());
                }
                return Err(Trap::plain(TrapNum::Breakpoint, pc, format!("ebreak {code}")));
            }
            System::Assert if self.scalar(insn.l) == 0 => {
                return Err(Trap::plain(TrapNum::AssertFail, pc, "the asserted value is 0"));
            }
            System::Acrc => {
                let kind = insn.imm;
                return Err(Trap::plain(TrapNum::ServiceCall, pc, format!("acrc {kind}")));
            }
            System::Acre => return self.leave_handler(program, pc),
            System::SsrGet => {
                let value = self.get_ssr(insn.imm);
                self.write_scalar(insn.rd, value);
            }
            System::SsrSet => self.set_ssr(insn.imm, self.scalar(insn.l), pc)?,
            System::SsrSwap => {
                let (old, new) = (self.get_ssr(insn.imm), self.scalar(insn.l));
                self.set_ssr(insn.imm, new, pc)?;
                self.write_scalar(insn.rd, old);
            }
            System::Assert | System::Fence => {}
        }
        self.advance(insn.length, Effect::None);
        Ok(())
    }

    pub(crate) fn get_ssr(&self, id: i64) -> u64 {
        let body = if let Phase::Body(body) = &self.phase { Some(body) } else { None };
        let counter = |i: usize| {
            let group = body.and_then(|b| b.group.as_ref());
            group.map_or(0, |g| [g.first, g.lc1, g.lc2][i])
        };
        match id {
            0x10 | 0xC00 => self.issues,
            0x20 => self.cstate(),
            // log2 of the lanes of a group.
            0x24 => u64::from(self.options.group_width.trailing_zeros()) << 16,
            0x50..=0x52 => body.map_or_else(|| self.ssr_value(id), |b| b.lb[(id - 0x50) as usize]),
            0x53..=0x55 => counter((id - 0x53) as usize),
            _ => self.ssr_value(id),
        }
    }

    fn ssr_value(&self, id: i64) -> u64 {
        self.ssr.get(&id).copied().unwrap_or(0)
    }

    fn set_ssr(&mut self, id: i64, value: u64, pc: u64) -> Result<(), Trap> {
        match id {
            0x10 | 0xC00 | 0x21..=0x24 => {
                return Err(Trap::illegal(pc, "this system register is read-only"));
            }
            0x20 => {
                self.flags = value >> 32 & 31;
                self.frm = value >> 37 & 7;
            }
            _ => {
                self.ssr.insert(id, value);
            }
        }
        Ok(())
    }

    /// Enters the guest's handler, if it has one: EVBASE of the ring that takes the trap.
    fn enter_handler(&mut self, program: &Program, trap: &Trap) -> bool {
        let ring = u64::from(self.ring != 0);
        let id = |index: i64| (ring as i64) << 12 | index;
        let base = self.ssr_value(id(0xF01));
        if base == 0 || !program.is_marker(base) || self.saved.contains_key(&ring) {
            return false;
        }
        let start = match &self.phase {
            Phase::Block(block) => block.start,
            Phase::Header(header) => header.start,
            Phase::Body(body) => body.header,
            Phase::Between { source, .. } => *source,
            Phase::Done(_) => return false,
        };
        let (t, u) = match &self.phase {
            Phase::Body(body) => body.group.as_ref().map_or((self.t, self.u), |g| (g.t, g.u)),
            _ => (self.t, self.u),
        };
        let pack =
            |ids: [i64; 3]| (0..3).map(|i| (self.get_ssr(ids[i]) & 0xffff) << (16 * i)).sum();
        let (lb, lc): (u64, u64) = (pack([0x50, 0x51, 0x52]), pack([0x53, 0x54, 0x55]));
        // A service call goes on behind itself.
        let tpc =
            if trap.num == TrapNum::ServiceCall { trap.tpc.wrapping_add(4) } else { trap.tpc };
        let mut set = vec![
            (0xF00, self.cstate() | u64::from(trap.bi) << 62),
            (0xF02, trap.trapno()),
            (0xF03, trap.arg.unwrap_or(0)),
            (0xF41, start),
            (0xF43, tpc),
            (0xF4D, lb),
            (0xF4E, lc),
        ];
        for k in 0..4 {
            set.push((0xF45 + k, t[k as usize]));
            set.push((0xF49 + k, u[k as usize]));
        }
        for (index, value) in set {
            self.ssr.insert(id(index), value);
        }
        let phase = std::mem::replace(&mut self.phase, Phase::Between { pc: base, source: base });
        let saved = Saved { phase, t: self.t, u: self.u, ring: self.ring, fatal: trap.fatal };
        self.saved.insert(ring, saved);
        self.ring = ring;
        true
    }

    /// `acre`: goes on where the trap was taken.
    fn leave_handler(&mut self, _program: &Program, pc: u64) -> Result<(), Trap> {
        let refuse = |why: &str| Err(Trap::plain(TrapNum::ExecStateCheck, pc, why));
        match self.saved.get(&self.ring) {
            None => return refuse("no trap has been taken to return from"),
            Some(saved) if saved.fatal => return refuse("a body-fetch trap cannot be resumed"),
            Some(_) => {}
        }
        let tpc = self.ssr_value((self.ring as i64) << 12 | 0xF43);
        let Some(saved) = self.saved.remove(&self.ring) else { return Ok(()) };
        self.phase = saved.phase;
        if let Phase::Block(block) = &mut self.phase {
            block.pc = tpc;
        }
        (self.t, self.u, self.ring) = (saved.t, saved.u, saved.ring);
        Ok(())
    }

    /// Scalar instructions that may stand in a body.
    pub(crate) fn allowed_in_body(op: SOp) -> bool {
        !matches!(
            op,
            SOp::Load(..)
                | SOp::Store(_)
                | SOp::LoadPcr(..)
                | SOp::StorePcr(_)
                | SOp::Atomic(..)
                | SOp::Setc(_)
                | SOp::SetTgt
                | SOp::SetRet
        )
    }
}
