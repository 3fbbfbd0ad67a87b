//! Template blocks: frames of functions (FENTRY, FEXIT, FRET.RA, FRET.STK), and copies and fills
//! of memory.
//!
//! By the formal model of v0.4 a frame has `uimm` bytes besides the saved registers, which lie
//! above them in ascending order. What upstream's compiler and RTL do differs
//! ([`Conventions::Compiler`]): `uimm` is the whole frame, registers lie in descending order from
//! its end, and a range wraps from `x3` to `a0`.

use simt::memory::{AccessKind, Addr};

use crate::action::Template;
use crate::encoding::Conventions;
use crate::insn::Insn;
use crate::program::Program;
use crate::state::State;
use crate::trap::Trap;

/// The stack pointer.
const SP: usize = 1;
/// The return address.
const RA: usize = 10;
/// The last general register, and the one that a range goes on with behind it.
const LAST: i64 = 23;
const FIRST: i64 = 2;

/// A frame: its size, and where each register lies from its lower end.
struct Frame {
    size: u64,
    slots: Vec<(usize, u64)>,
}

/// The frame that an instruction names.
fn frame(i: &Insn, conventions: Conventions, pc: u64) -> Result<Frame, Trap> {
    let (begin, end, bytes) = (i.l, i.r, i.imm as u64);
    if begin > LAST || end > LAST {
        return Err(Trap::parameter(pc, bytes, "a frame holds general registers"));
    }
    if conventions == Conventions::V04 {
        let slot = |(k, r): (u64, i64)| (r as usize, bytes + 8 * k);
        let slots: Vec<_> = (0..).zip(begin..=end).map(slot).collect();
        return Ok(Frame { size: bytes + 8 * slots.len() as u64, slots });
    }
    let mut registers = vec![begin];
    // A range holds each register at most once.
    while registers.last() != Some(&end) && registers.len() <= LAST as usize {
        let last = registers.last().copied().unwrap_or(end);
        registers.push(if last == LAST { FIRST } else { last + 1 });
    }
    let needed = 8 * registers.len() as u64;
    if bytes < needed {
        let words = format!("a frame of {bytes} bytes for registers of {needed}");
        return Err(Trap::parameter(pc, bytes, words));
    }
    let slot = |(k, r): (u64, i64)| (r as usize, bytes - 8 * (k + 1));
    let slots = (0..).zip(registers).filter(|(_, r)| *r != 0).map(slot).collect();
    Ok(Frame { size: bytes, slots })
}

impl State {
    /// Executes a template block; returns the address where execution continues if it is not
    /// behind it.
    pub(crate) fn execute_template(
        &mut self,
        program: &Program,
        insn: &Insn,
        template: Template,
        pc: u64,
    ) -> Result<Option<u64>, Trap> {
        match template {
            Template::MCopy | Template::MSet => self.move_memory(insn, template, pc).map(|()| None),
            Template::FEntry => self.enter_frame(program, insn, pc).map(|()| None),
            Template::FExit | Template::FRetRa | Template::FRetStk => {
                self.leave_frame(program, insn, template, pc)
            }
        }
    }

    /// Copies or fills memory. Ranges may overlap.
    fn move_memory(&mut self, insn: &Insn, template: Template, pc: u64) -> Result<(), Trap> {
        let (to, from, length) = (self.scalar(insn.l), self.scalar(insn.r), self.scalar(insn.a));
        let (to, source) = (Addr(to), Addr(from));
        if length == 0 {
            return Ok(());
        }
        self.changes += 1;
        let done = match template {
            Template::MCopy => self.memory.copy(to, source, length),
            _ => self.memory.fill(to, length, from as u8),
        };
        done.map_err(|error| Trap::data(pc, error.addr, &error))
    }

    fn enter_frame(&mut self, program: &Program, insn: &Insn, pc: u64) -> Result<(), Trap> {
        let frame = frame(insn, program.conventions(), pc)?;
        let base = self.gpr[SP].wrapping_sub(frame.size);
        for (_, offset) in &frame.slots {
            self.check_access(pc, base.wrapping_add(*offset), 8, AccessKind::Store, false)?;
        }
        for (register, offset) in frame.slots {
            let value = self.gpr[register];
            self.store(pc, base.wrapping_add(offset), 8, value, false)?;
        }
        self.gpr[SP] = base;
        Ok(())
    }

    fn leave_frame(
        &mut self,
        program: &Program,
        insn: &Insn,
        template: Template,
        pc: u64,
    ) -> Result<Option<u64>, Trap> {
        let frame = frame(insn, program.conventions(), pc)?;
        let base = self.gpr[SP];
        let mut restored = self.gpr;
        for (register, offset) in frame.slots {
            restored[register] = self.load(pc, base.wrapping_add(offset), 8, false)?;
        }
        restored[0] = 0;
        restored[SP] = base.wrapping_add(frame.size);
        let target = match template {
            Template::FRetRa => Some(self.gpr[RA]),
            Template::FRetStk => Some(restored[RA]),
            _ => None,
        };
        if let Some(target) = target.filter(|&target| !program.is_marker(target)) {
            return Err(Trap::bad_target(pc, target));
        }
        self.gpr = restored;
        Ok(target)
    }
}
