//! Logging of accesses whose addresses are not affine, in launches that run in detail: see
//! `patterns`.

use super::{Emitter, On};
use crate::asm::{Label, at};
use crate::frame::Frame;
use crate::patterns::{AccessPattern, PatternList, PatternSite, log};
use fast::StridedAccess;
use fast::code::Memory;
use iced_x86::{Code as Op, MemoryOperand, Register};
use ir::mods::Space;

use Register::{CL, EAX, ECX, EDX, R8, RAX, RBP, RCX, RDI, RDX, RSI};

/// An access that does not match its step's current pattern, or whose step has no list.
pub(super) struct Unlike {
    from: Label,
    closed: Label,
    back: Label,
    place: usize,
    step: u32,
    on: On,
}

impl Emitter<'_> {
    /// Counts an access at the step's current pattern if it matches.
    pub(super) fn note(&mut self, step: u32, memory: &Memory, on: On) {
        let wide = !matches!(memory.space, Space::Shared | Space::Param | Space::Local);
        let shift = memory.bytes().min(StridedAccess::CONGRUENCE).trailing_zeros();
        let (place, offset) = (self.notes.len(), memory.offset);
        self.notes.push(PatternSite { step: step as usize, offset, shift, wide });
        let (unlike, closed, back) = (self.asm.label(), self.asm.label(), self.asm.label());
        self.asm.rm(Op::Mov_r64_rm64, RSI, at(RBP, Frame::PATTERN_LISTS));
        let current = place as i64 * PatternList::SIZE + PatternList::CURRENT;
        self.asm.rm(Op::Mov_r64_rm64, RSI, at(RSI, current));
        self.asm.rr(Op::Test_rm64_r64, RSI, RSI);
        self.asm.jump(Op::Js_rel32_64, closed);
        self.vectors.apart(self, memory, wide, on);
        if offset != 0 && wide {
            self.asm.ri64(RDX, offset as u64);
            self.asm.rr(Op::Add_r64_rm64, RAX, RDX);
        } else if offset != 0 {
            self.asm.ri(Op::Add_rm32_imm32, EAX, offset as i32);
        }
        self.asm.rm(Op::Add_r64_rm64, RSI, at(RBP, Frame::PATTERNS));
        self.asm.rm(Op::Cmp_r32_rm32, on.lanes, at(RSI, AccessPattern::ON));
        self.asm.jump(Op::Jne_rel32_64, unlike);
        if wide {
            self.page();
            self.asm.rm(Op::Cmp_r32_rm32, ECX, at(RSI, AccessPattern::PAGE));
            self.asm.jump(Op::Jne_rel32_64, unlike);
        }
        self.vectors.unlike(self, wide, on, unlike);
        self.asm.ri(Op::And_rm32_imm32, EAX, StridedAccess::CONGRUENCE as i32 - 1);
        if shift > 0 {
            self.asm.ri(Op::Shr_rm32_imm8, EAX, shift as i32);
        }
        self.asm.m(Op::Inc_rm64, times());
        self.asm.bind(back);
        self.unlike.push(Unlike { from: unlike, closed, back, place, step, on });
    }

    /// Sets `ecx` to the high half of the address in `rax`.
    fn page(&mut self) {
        self.asm.rr(Op::Mov_r64_rm64, RCX, RAX);
        self.asm.ri(Op::Shr_rm64_imm8, RCX, 32);
    }

    pub(super) fn unlike_out_of_line(&mut self) {
        for unlike in std::mem::take(&mut self.unlike) {
            let Unlike { from, closed, back, place, step, on } = unlike;
            let wide = self.notes[place].wide;
            self.asm.bind(from);
            self.asm.rr(Op::Mov_r32_rm32, EDX, on.lanes);
            self.asm.ri64(RCX, place as u64 * PatternList::SIZE as u64);
            let stub = if wide { self.stubs.note64 } else { self.stubs.note32 };
            self.asm.jump(Op::Call_rel32_64, stub);
            self.asm.rr(Op::Test_rm64_r64, RSI, RSI);
            self.asm.jump(Op::Jne_rel32_64, back);
            self.asm.bind(closed);
            if let Some((memory, _)) = self.code.steps[step as usize].access() {
                self.log(place, memory, wide, on);
            }
            self.asm.jump(Op::Jmp_rel32_64, back);
        }
    }

    /// Appends an access to the log of its step.
    fn log(&mut self, place: usize, memory: &Memory, wide: bool, on: On) {
        let (room, drain) = (self.asm.label(), self.stubs.drain);
        let shape = place as i64 * PatternList::SIZE;
        self.asm.rm(Op::Mov_r64_rm64, RSI, at(RBP, Frame::PATTERN_LISTS));
        self.asm.rm(Op::Mov_r64_rm64, RCX, at(RSI, shape + PatternList::LOGGED));
        self.asm.ri(Op::Cmp_rm32_imm8, ECX, log::ENTRIES);
        self.asm.jump(Op::Jb_rel32_64, room);
        self.asm.rr(Op::Mov_r32_rm32, EDX, on.lanes);
        self.asm.ri(Op::Mov_r32_imm32, Register::ESI, place as i32);
        self.asm.jump(Op::Call_rel32_64, drain);
        self.asm.rm(Op::Mov_r64_rm64, RSI, at(RBP, Frame::PATTERN_LISTS));
        self.asm.rm(Op::Mov_r64_rm64, RCX, at(RSI, shape + PatternList::LOGGED));
        self.asm.bind(room);
        self.asm.m(Op::Inc_rm64, at(RSI, shape + PatternList::LOGGED));
        self.asm.rm(Op::Mov_r64_rm64, RDI, at(RSI, shape + PatternList::LOG));
        let lanes = MemoryOperand::with_base_index_scale_displ_size(RDI, RCX, 4, log::ON, 1);
        self.asm.mr(Op::Mov_rm32_r32, lanes, on.lanes);
        self.asm.ri(Op::Shl_rm32_imm8, ECX, if wide { 8 } else { 7 });
        self.asm.rr(Op::Add_r64_rm64, RDI, RCX);
        self.vectors.put_addresses(self, memory, wide, log::AT);
    }

    /// Searches a step's patterns for the access of the lanes in `edx`, with the offset of the
    /// step's shape in `rcx`. Sets `rsi` to 0 if none matches.
    pub(super) fn note_stub(&mut self, stub: Label, wide: bool) {
        let (again, next, none) = (self.asm.label(), self.asm.label(), self.asm.label());
        self.asm.bind(stub);
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::PATTERN_LISTS));
        self.asm.rr(Op::Add_r64_rm64, R8, RCX);
        self.asm.rm(Op::Mov_r64_rm64, RDI, at(RBP, Frame::PATTERNS));
        self.asm.rm(Op::Mov_r64_rm64, RSI, at(R8, PatternList::HEAD));
        if wide {
            self.page();
        }
        self.asm.bind(again);
        self.asm.rr(Op::Test_rm64_r64, RSI, RSI);
        self.asm.jump(Op::Je_rel32_64, none);
        self.asm.rr(Op::Add_r64_rm64, RSI, RDI);
        self.asm.rm(Op::Cmp_r32_rm32, EDX, at(RSI, AccessPattern::ON));
        self.asm.jump(Op::Jne_rel32_64, next);
        if wide {
            self.asm.rm(Op::Cmp_r32_rm32, ECX, at(RSI, AccessPattern::PAGE));
            self.asm.jump(Op::Jne_rel32_64, next);
        }
        self.vectors.unlike(self, wide, On { lanes: EDX }, next);
        self.asm.rm(Op::Mov_r32_rm32, ECX, at(RSI, AccessPattern::SHIFT));
        self.asm.ri(Op::And_rm32_imm32, EAX, StridedAccess::CONGRUENCE as i32 - 1);
        self.asm.rr(Op::Shr_rm32_CL, EAX, CL);
        self.asm.m(Op::Inc_rm64, times());
        self.asm.rr(Op::Sub_r64_rm64, RSI, RDI);
        self.asm.mr(Op::Mov_rm64_r64, at(R8, PatternList::CURRENT), RSI);
        self.asm.bind(none);
        self.asm.op0(Op::Retnq);
        self.asm.bind(next);
        self.asm.rm(Op::Mov_r64_rm64, RSI, at(RSI, AccessPattern::NEXT));
        self.asm.jump(Op::Jmp_rel32_64, again);
    }
}

/// Returns the counter in the pattern at `rsi` for the first lane's position in `rax`.
fn times() -> MemoryOperand {
    MemoryOperand::with_base_index_scale_displ_size(RSI, RAX, 8, AccessPattern::TIMES, 1)
}
