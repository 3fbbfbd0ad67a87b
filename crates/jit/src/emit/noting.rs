//! Takes note of accesses whose addresses lie anyhow, in launches that are run in detail: see `notes`.

use super::{Emitter, On};
use crate::asm::{Label, at};
use crate::frame::Frame;
use crate::notes::{Note, NotePlace, Pattern, Shape};
use fast::Line;
use fast::code::Memory;
use iced_x86::{Code as Op, MemoryOperand, Register};
use ir::mods::Space;

use Register::{CL, EAX, ECX, EDX, R8, R8D, RAX, RBP, RCX, RDI, RDX, RSI};

/// An access that is like none of the pattern that was looked at first.
pub(super) struct Unlike {
    from: Label,
    back: Label,
    place: usize,
    on: Register,
}

impl Emitter<'_> {
    /// Takes note of an access of some lanes at a step.
    pub(super) fn note(&mut self, step: u32, memory: &Memory, on: On) {
        let wide = !matches!(memory.space, Space::Shared | Space::Param | Space::Local);
        let shift = memory.bytes().min(Line::ALIKE).trailing_zeros();
        let place = self.notes.len();
        self.notes.push(NotePlace { step: step as usize, shift, wide });
        let (unlike, back) = (self.asm.label(), self.asm.label());
        self.vectors.apart(self, memory, wide, on);
        if memory.offset != 0 && wide {
            self.asm.ri64(RDX, memory.offset as u64);
            self.asm.rr(Op::Add_r64_rm64, RAX, RDX);
        } else if memory.offset != 0 {
            self.asm.ri(Op::Add_rm32_imm32, EAX, memory.offset as i32);
        }
        self.asm.rm(Op::Mov_r64_rm64, RSI, at(RBP, Frame::SHAPES));
        let current = place as i64 * Shape::SIZE + Shape::CURRENT;
        self.asm.rm(Op::Mov_r64_rm64, RSI, at(RSI, current));
        self.asm.rm(Op::Add_r64_rm64, RSI, at(RBP, Frame::PATTERNS));
        self.asm.rm(Op::Cmp_r32_rm32, on.lanes, at(RSI, Pattern::ON));
        self.asm.jump(Op::Jne_rel32_64, unlike);
        if wide {
            self.page();
            self.asm.rm(Op::Cmp_r32_rm32, ECX, at(RSI, Pattern::PAGE));
            self.asm.jump(Op::Jne_rel32_64, unlike);
        }
        self.vectors.unlike(self, wide, on, unlike);
        self.asm.ri(Op::And_rm32_imm32, EAX, Line::ALIKE as i32 - 1);
        if shift > 0 {
            self.asm.ri(Op::Shr_rm32_imm8, EAX, shift as i32);
        }
        self.asm.m(Op::Inc_rm64, times());
        self.asm.bind(back);
        self.unlike.push(Unlike { from: unlike, back, place, on: on.lanes });
    }

    /// `ecx` becomes the high half of the address in `rax`.
    fn page(&mut self) {
        self.asm.rr(Op::Mov_r64_rm64, RCX, RAX);
        self.asm.ri(Op::Shr_rm64_imm8, RCX, 32);
    }

    pub(super) fn unlike_out_of_line(&mut self) {
        for unlike in std::mem::take(&mut self.unlike) {
            self.asm.bind(unlike.from);
            self.asm.rr(Op::Mov_r32_rm32, EDX, unlike.on);
            self.asm.ri64(RCX, unlike.place as u64 * Shape::SIZE as u64);
            let wide = self.notes[unlike.place].wide;
            let stub = if wide { self.stubs.note64 } else { self.stubs.note32 };
            self.asm.jump(Op::Call_rel32_64, stub);
            self.asm.jump(Op::Jmp_rel32_64, unlike.back);
        }
    }

    /// Looks through a step's patterns, and puts an access that is like none into the log: lanes in `edx`, the shape's place in `rcx`.
    pub(super) fn note_stub(&mut self, stub: Label, wide: bool) {
        let (again, next, log) = (self.asm.label(), self.asm.label(), self.asm.label());
        self.asm.bind(stub);
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::SHAPES));
        self.asm.rr(Op::Add_r64_rm64, R8, RCX);
        self.asm.rm(Op::Mov_r64_rm64, RDI, at(RBP, Frame::PATTERNS));
        self.asm.rm(Op::Mov_r64_rm64, RSI, at(R8, Shape::HEAD));
        if wide {
            self.page();
        }
        self.asm.bind(again);
        self.asm.rr(Op::Test_rm64_r64, RSI, RSI);
        self.asm.jump(Op::Je_rel32_64, log);
        self.asm.rr(Op::Add_r64_rm64, RSI, RDI);
        self.asm.rm(Op::Cmp_r32_rm32, EDX, at(RSI, Pattern::ON));
        self.asm.jump(Op::Jne_rel32_64, next);
        if wide {
            self.asm.rm(Op::Cmp_r32_rm32, ECX, at(RSI, Pattern::PAGE));
            self.asm.jump(Op::Jne_rel32_64, next);
        }
        self.vectors.unlike(self, wide, On { lanes: EDX }, next);
        self.asm.rm(Op::Mov_r32_rm32, ECX, at(RSI, Pattern::SHIFT));
        self.asm.ri(Op::And_rm32_imm32, EAX, Line::ALIKE as i32 - 1);
        self.asm.rr(Op::Shr_rm32_CL, EAX, CL);
        self.asm.m(Op::Inc_rm64, times());
        self.asm.rr(Op::Sub_r64_rm64, RSI, RDI);
        self.asm.mr(Op::Mov_rm64_r64, at(R8, Shape::CURRENT), RSI);
        self.asm.op0(Op::Retnq);
        self.asm.bind(next);
        self.asm.rm(Op::Mov_r64_rm64, RSI, at(RSI, Pattern::NEXT));
        self.asm.jump(Op::Jmp_rel32_64, again);
        self.asm.bind(log);
        self.log(wide);
    }

    /// The shape is at `r8`.
    fn log(&mut self, wide: bool) {
        self.asm.rm(Op::Mov_r64_rm64, RDI, at(RBP, Frame::LOGGED));
        self.asm.rr(Op::Mov_r64_rm64, RSI, RDI);
        self.asm.rm(Op::Add_r64_rm64, RSI, at(RBP, Frame::LOG));
        self.asm.rm(Op::Sub_r64_rm64, R8, at(RBP, Frame::SHAPES));
        self.asm.mr(Op::Mov_rm32_r32, at(RSI, Note::ON), EDX);
        self.asm.mr(Op::Mov_rm32_r32, at(RSI, Note::SHAPE), R8D);
        self.asm.mr(Op::Mov_rm64_r64, at(RSI, Note::FIRST), RAX);
        self.vectors.put_apart(self, wide);
        self.asm.ri(Op::Add_rm64_imm32, RDI, Note::SIZE as i32);
        self.asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::LOGGED), RDI);
        self.asm.ri(Op::Cmp_rm64_imm32, RDI, Note::ROOM as i32);
        let drain = self.stubs.drain;
        self.asm.jump(Op::Jae_rel32_64, drain);
        self.asm.op0(Op::Retnq);
    }
}

/// The counter of the pattern at `rsi` of the first lane's place in `rax`.
fn times() -> MemoryOperand {
    MemoryOperand::with_base_index_scale_displ_size(RSI, RAX, 8, Pattern::TIMES, 1)
}
