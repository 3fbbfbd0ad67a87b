//! The machine: blocks, their headers and transfers, system instructions, traps and their handlers.

use simt::machine::{Machine, Step};
use simt::mask::WarpMask;
use simt::observe::{Events, Issue, Observer, Pc};
use simt::slots::{Domain, IssueLanes, LaneSlots};
use simt::trap::Fault;

use crate::action::{Action, Marker, SOp, Template, Transfer};
use crate::compute::extend;
use crate::encoding::Conventions;
use crate::header::{Header, Kind};
use crate::insn::Insn;
use crate::names::TileOps;
use crate::program::{Fetched, LoadError, Program};
use crate::scalar::Effect;
use crate::state::{Block, Launch, LaunchError, Phase, State};
use crate::trap::{Detail, Family, Trap};

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
            Phase::Header(_) => {
                let issues = state.issues;
                let result = state.in_header(program, observer);
                // A header that a marker ends is no issue: what comes next is.
                match (&result, &state.phase) {
                    (Ok(()), Phase::Between { .. }) if state.issues == issues => {
                        state.between(program, observer)
                    }
                    (Ok(()), Phase::Body(_)) if state.issues == issues => {
                        return state.in_body(program, observer);
                    }
                    _ => result,
                }
            }
            Phase::Body(_) => return state.in_body(program, observer),
        };
        state.settle(program, result.map_err(|trap| (trap, WarpMask::EMPTY)))
    }

    simt::compiled_runs!();

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
        let Err((mut trap, lanes)) = result else { return Step::Issued };
        let variant = program.encoding().variant;
        trap.reported = variant.and_then(|variant| variant.cause(trap.num, trap.cause));
        if self.enter_handler(program, &trap) {
            return Step::Issued;
        }
        if trap.fatal {
            self.dead = Some(Box::new(trap.clone()));
        }
        fault(self, trap, lanes)
    }

    /// Counts a scalar issue; in a body observers see the lanes of the group for which it runs.
    pub(crate) fn count_uniform<O: Observer<1>>(&mut self, pc: u64, observer: &mut O) {
        let p = self.group_mask();
        self.count_uniform_under(p, pc, observer);
    }

    /// Counts a scalar issue before which `p` was this.
    pub(crate) fn count_uniform_under<O: Observer<1>>(
        &mut self,
        p: Option<WarpMask>,
        pc: u64,
        observer: &mut O,
    ) {
        self.issues += 1;
        self.slots.uniform();
        if observer.wants(Events::ISSUE) {
            let one = WarpMask::first(1);
            let (width, valid, on) = match (self.body_group(), p) {
                (Some((_, group)), Some(p)) => (self.options.group_width, group.valid, p),
                _ => (1, one, one),
            };
            let lanes = IssueLanes {
                width,
                launched: valid,
                exited: WarpMask::EMPTY,
                waiting: WarpMask::EMPTY,
                active: valid,
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
                guard_off: 0,
            });
        }
    }

    /// Does what the next step does before it issues an instruction: leaves a block or header that
    /// a marker ends, and enters or leaves a kernel. After a trap the step does the same again.
    pub(crate) fn approach(&mut self, program: &Program) -> Result<(), Trap> {
        let ends = |pc| matches!(self.fetch(program, pc), Fetched::Insn(i) if i.starts_block());
        match &self.phase {
            Phase::Block(block) if ends(block.pc) => {
                let (next, last) = (block.pc, block.start);
                self.end_block(program, next, last)?;
            }
            Phase::Header(header) if matches!(header.kind, Kind::Simt(_)) && ends(header.pc) => {
                let pc = header.pc;
                self.end_header(program, pc, pc)?;
            }
            _ => {}
        }
        self.approach_body(program)
    }

    pub(crate) fn between<O: Observer<1>>(
        &mut self,
        program: &Program,
        observer: &mut O,
    ) -> Result<(), Trap> {
        let Phase::Between { pc, source } = self.phase else { return Ok(()) };
        match self.fetch(program, pc) {
            Fetched::Insn(insn) if insn.starts_block() => self.begin(program, &insn, pc, observer),
            Fetched::Unmapped(at) => Err(Trap::fetch(pc, at)),
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
                return self.begin_template(program, insn, template, pc, observer);
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
        self.link = None;
        // Compiled code reads across blocks what it has pushed.
        if matches!(phase, Phase::Block(_)) && program.conventions() == Conventions::V04 {
            (self.t, self.u) = ([0; 4], [0; 4]);
        }
        if marker == Marker::FusedCall {
            let uimm = if insn.length == 4 { insn.bits(22, 5) } else { insn.bits(38, 5) };
            let second = pc.wrapping_add(insn.length - 2);
            self.gpr[10] = second.wrapping_add(uimm << 1);
            self.link = Some(self.gpr[10]);
        }
        self.phase = phase;
        Ok(())
    }

    fn begin_template<O: Observer<1>>(
        &mut self,
        program: &Program,
        insn: &Insn,
        template: Template,
        pc: u64,
        observer: &mut O,
    ) -> Result<(), Trap> {
        let next = pc.wrapping_add(insn.length);
        let returns = matches!(template, Template::FRetRa | Template::FRetStk);
        let marked = returns || program.is_marker(next);
        if !marked && program.conventions() == Conventions::V04 {
            return Err(Trap::missing_marker(pc, next));
        }
        let target = self.execute_template(program, insn, template, pc)?;
        self.count_uniform(pc, observer);
        if let Some(target) = target {
            self.calls.leave(target);
        }
        if marked {
            let pc = target.unwrap_or(next);
            self.phase = Phase::Between { pc, source: pc };
            return Ok(());
        }
        // The compiler goes on in the block that the template has begun.
        let (start, transfer) = (pc, Transfer::Fall);
        self.phase = Phase::Block(Block {
            start,
            pc: next,
            transfer,
            target: 0,
            taken: false,
            indirect: None,
        });
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
            Fetched::Unmapped(at) => return Err(Trap::fetch(pc, at)),
        };
        match insn.action {
            _ if insn.starts_block() => {
                self.end_block(program, pc, start)?;
                self.between(program, observer)
            }
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
            // Descriptors of coupled blocks have no effect.
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

    pub(crate) fn advance(&mut self, length: u64, effect: Effect) {
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
                // A block that sets a return address calls what it goes on with.
                match (self.link, block.transfer) {
                    (_, Transfer::Return) | (None, Transfer::Indirect) => self.calls.leave(target),
                    (Some(back), _) => self.calls.enter(back),
                    (None, _) => {}
                }
                self.phase = Phase::Between { pc: target, source: block.start };
                Ok(())
            }
            Some(target) => Err(Trap::bad_target(block.start, target)),
        }
    }

    /// Continues after a block, where a marker must stand.
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
            Fetched::Unmapped(at) => return Err(Trap::fetch(pc, at)),
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

    /// Returns whether a scalar instruction may stand in a body.
    pub(crate) fn allowed_in_body(op: SOp) -> bool {
        !matches!(op, SOp::Setc(_) | SOp::SetTgt | SOp::SetRet) && !op.accesses_memory()
    }
}
