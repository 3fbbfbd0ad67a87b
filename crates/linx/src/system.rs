//! System instructions and registers, and a guest's trap handlers.
//!
//! A handler is a block at EVBASE of the ring that takes the trap. It sees the snapshot of EBARG,
//! and `acre` continues where the trap was taken: state that is not in the snapshot (the mask, lane
//! queues, counters, groups) is saved separately.

use crate::action::{Maintenance, System, Transfer};
use crate::insn::Insn;
use crate::program::Program;
use crate::regid::Reg;
use crate::scalar::Effect;
use crate::state::{Phase, Saved, State};
use crate::trap::{Trap, TrapNum};

impl State {
    pub(crate) fn execute_system(
        &mut self,
        program: &Program,
        insn: &Insn,
        op: System,
        pc: u64,
    ) -> Result<(), Trap> {
        // System registers, the time among them, are not part of what a circle is found by.
        self.changes += 1;
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
            System::Acrc if self.serves(insn.imm) => self.serve(insn.imm),
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
            System::Maintain(check) => Self::maintain(check, self.scalar(insn.l), pc)?,
            System::Assert | System::Fence => {}
        }
        self.advance(insn.length, Effect::None);
        Ok(())
    }

    /// Checks the operand of an instruction that maintains caches or translations: there are none,
    /// so that it has no effect.
    fn maintain(check: Maintenance, operand: u64, pc: u64) -> Result<(), Trap> {
        let top = (operand as i64) >> 47;
        match check {
            Maintenance::Address if top != 0 && top != -1 => {
                let error = format!("{operand:#x} is not an address of 48 bits");
                Err(Trap { detail: error, ..Trap::translation(pc, operand) })
            }
            Maintenance::AddressSpace if operand >> 16 != 0 => {
                Err(Trap::illegal(pc, "an address space has 16 bits"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn get_ssr(&self, id: i64) -> u64 {
        let body = if let Phase::Body(body) = &self.phase { Some(body) } else { None };
        match id {
            0x10 | 0xC00 => self.issues,
            0x20 => self.cstate(),
            // log2 of the lanes of a group.
            0x24 => u64::from(self.options.group_width.trailing_zeros()) << 16,
            0x50..=0x52 => body.map_or_else(|| self.ssr_value(id), |b| b.lb[(id - 0x50) as usize]),
            // Those of the first lane.
            0x53..=0x55 => self.raw(Reg::Lc((id - 0x53) as u8), 0),
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
            0x20 => self.set_cstate(value),
            _ => {
                self.ssr.insert(id, value);
            }
        }
        Ok(())
    }

    /// Enters the guest's handler, if it has one: EVBASE of the ring that takes the trap.
    pub(crate) fn enter_handler(&mut self, program: &Program, trap: &Trap) -> bool {
        let ring = u64::from(self.ring != 0);
        let id = |index: i64| (ring as i64) << 12 | index;
        self.changes += 1;
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
        // A service call continues after itself.
        let tpc =
            if trap.num == TrapNum::ServiceCall { trap.tpc.wrapping_add(4) } else { trap.tpc };
        let mut set = vec![
            (0xF00, self.cstate() | u64::from(trap.bi) << 62),
            (0xF02, trap.trapno()),
            (0xF03, trap.arg.unwrap_or(0)),
            (0xF41, start),
            (0xF42, self.next_block()),
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
        let unmapped = trap.arg.filter(|_| trap.is_page_fault());
        let phase = std::mem::replace(&mut self.phase, Phase::Between { pc: base, source: base });
        let saved = Saved { phase, t: self.t, u: self.u, fatal: trap.fatal, unmapped };
        self.saved.insert(ring, saved);
        self.ring = ring;
        true
    }

    /// Returns the address after the running block, as far as it is known.
    fn next_block(&self) -> u64 {
        match &self.phase {
            Phase::Between { pc, .. } => *pc,
            Phase::Block(block) => match block.transfer {
                Transfer::Direct | Transfer::Call => block.target,
                Transfer::Cond if block.taken => block.target,
                Transfer::Indirect => block.indirect.unwrap_or(0),
                Transfer::Return => block.indirect.unwrap_or(self.gpr[10]),
                Transfer::Fall | Transfer::Field | Transfer::Cond => 0,
            },
            Phase::Body(body) => body.next,
            Phase::Header(_) | Phase::Done(_) => 0,
        }
    }

    /// `acre`: continues where the trap was taken, with the values that the handler has left in
    /// ECSTATE and in the EBARG registers of the program counter and the scalar queues.
    fn leave_handler(&mut self, program: &Program, pc: u64) -> Result<(), Trap> {
        let refuse = |why: &str| Err(Trap::plain(TrapNum::ExecStateCheck, pc, why));
        let own = |index: i64| self.ssr_value((self.ring as i64) << 12 | index);
        let (ecstate, tpc) = (own(0xF00), own(0xF43));
        let ring = ecstate & 15;
        match self.saved.get(&self.ring) {
            None => return refuse("no trap has been taken to return from"),
            Some(saved) if saved.fatal => return refuse("a body-fetch trap cannot be resumed"),
            Some(_) if ring > 2 || ring < self.ring => {
                return refuse("ECSTATE names a ring that this one does not return to");
            }
            Some(Saved { phase: Phase::Body(body), .. }) => {
                let here = body.group.as_ref().is_none_or(|group| group.pc == tpc);
                if !here && self.contained(program, body, tpc).is_err() {
                    return refuse("EBARG_TPC is outside the body");
                }
            }
            Some(_) => {}
        }
        let t = [0xF45, 0xF46, 0xF47, 0xF48].map(own);
        let u = [0xF49, 0xF4A, 0xF4B, 0xF4C].map(own);
        let Some(mut saved) = self.saved.remove(&self.ring) else { return Ok(()) };
        let group = match &mut saved.phase {
            Phase::Body(body) => body.group.as_mut(),
            _ => None,
        };
        match group {
            Some(group) => {
                (group.pc, group.t, group.u) = (tpc, t, u);
                (self.t, self.u) = (saved.t, saved.u);
            }
            None => (self.t, self.u) = (t, u),
        }
        if let Some(address) = saved.unmapped {
            // Without room the access faults again.
            self.page_in(address);
        }
        self.phase = saved.phase;
        if let Phase::Block(block) = &mut self.phase {
            block.pc = tpc;
        }
        self.ring = ring;
        self.set_cstate(ecstate);
        Ok(())
    }

    /// Flags and rounding mode of CSTATE.
    fn set_cstate(&mut self, value: u64) {
        self.flags = value >> 32 & 31;
        self.frm = value >> 37 & 7;
    }
}
