//! Counts: issues and lanes by block, and in launches that run in detail everything that their
//! report shows.

use super::{ALL, Emitter, On};
use crate::asm::{Label, at};
use crate::counters::{AlignmentCounters, COUNTED, IssueSpan, PARTLY_COUNTED, SiteCounters};
use crate::frame::{ENTRY_DEPTH, Frame};
use fast::StridedAccess;
use fast::code::{Block, Kind, Memory, Src, Step};
use iced_x86::{Code as Op, MemoryOperand, Register};
use std::mem::offset_of;

use Register::{EAX, EDX, R8, R9, R9D, RAX, RBP, RCX, RDX, RSI};

/// An access under a partial mask, which is logged out of line.
pub(super) struct Told {
    from: Label,
    back: Label,
    step: u32,
    on: On,
}

/// A place whose absent or exited lanes are counted, out of line.
pub(super) struct Gone {
    from: Label,
    back: Label,
    site: i64,
}

impl Emitter<'_> {
    /// Counts the issues from a step of a block to the next barrier or the block's end.
    pub(super) fn count(&mut self, b: u32, block: &Block, first: usize) {
        let steps = &self.code.steps[block.steps.clone()];
        let barrier = |s: &Step| matches!(s.kind, Kind::Barrier { .. });
        let issues = match steps[first..].iter().position(barrier) {
            Some(at) => at + 1,
            None => steps.len() - first + usize::from(block.end_issues),
        };
        if issues == 0 || block.is_free {
            return;
        }
        let n = i32::try_from(issues).unwrap_or(i32::MAX);
        self.asm.mi(Op::Add_rm64_imm32, at(RBP, Frame::ISSUES), n);
        if first == 0 && block.is_head {
            self.asm.m(Op::Inc_rm64, at(RBP, Frame::BLOCKS));
        }
        self.asm.rri(Op::Imul_r32_rm32_imm32, EAX, R9D, n);
        self.asm.mr(Op::Add_rm64_r64, at(RBP, Frame::LANE_SUM), RAX);
        if self.detailed {
            self.count_place(IssueSpan { block: b, first, issues }, n);
        }
    }

    /// Counts a run of issues by place, for launches in detail.
    fn count_place(&mut self, place: IssueSpan, n: i32) {
        let site = self.places.len() as i64 * size_of::<SiteCounters>() as i64;
        self.places.push(place);
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::SITES));
        self.asm.m(Op::Inc_rm64, at(R8, site + offset_of!(SiteCounters, times) as i64));
        self.asm.mr(Op::Add_rm64_r64, at(R8, site + offset_of!(SiteCounters, lanes) as i64), R9);
        // Mostly no lane of a warp is absent or exited.
        let (from, back) = (self.asm.label(), self.asm.label());
        self.asm.rm(Op::Mov_r64_rm64, RAX, at(RBP, Frame::EXITED));
        self.asm.rm(Op::Or_r64_rm64, RAX, at(RBP, Frame::NEVER_LAUNCHED));
        self.asm.jump(Op::Jne_rel32_64, from);
        self.asm.bind(back);
        self.gone.push(Gone { from, back, site });
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::ACTIVE));
        self.asm.mi(Op::Add_rm64_imm32, MemoryOperand::with_base_index_scale(R8, R9, 8), n);
        self.asm.rm(Op::Mov_r64_rm64, RAX, at(RBP, Frame::DEPTH));
        self.asm.rri(Op::Imul_r64_rm64_imm32, RAX, RAX, n);
        self.asm.mr(Op::Add_rm64_r64, at(RBP, Frame::DEPTH_SUM), RAX);
    }

    pub(super) fn gone_out_of_line(&mut self) {
        for Gone { from, back, site } in std::mem::take(&mut self.gone) {
            self.asm.bind(from);
            for (field, to) in [
                (Frame::EXITED, offset_of!(SiteCounters, exited)),
                (Frame::NEVER_LAUNCHED, offset_of!(SiteCounters, never_launched)),
            ] {
                self.asm.rm(Op::Mov_r64_rm64, RAX, at(RBP, field));
                self.asm.mr(Op::Add_rm64_r64, at(R8, site + to as i64), RAX);
            }
            self.asm.jump(Op::Jmp_rel32_64, back);
        }
    }

    /// Counts an access: together with others if all running lanes execute it. Applies to the
    /// access of the last out-of-line call.
    pub(super) fn count_memory(&mut self, on: On) {
        if on.lanes == ALL.lanes {
            self.accesses += 1;
            if let Some(cold) = self.cold.last_mut() {
                cold.counted = true;
            }
        } else {
            self.asm.m(Op::Inc_rm64, at(RBP, Frame::MEMORY));
        }
    }

    /// Flushes the count of accesses of all running lanes; called before anything can read the
    /// count.
    pub(super) fn count_accesses(&mut self) {
        match std::mem::take(&mut self.accesses) {
            0 => {}
            n => self.asm.mi(Op::Add_rm64_imm32, at(RBP, Frame::MEMORY), n),
        }
    }

    /// Counts the lanes that the step's guard has turned off; `rax` holds their number.
    pub(super) fn count_off(&mut self) {
        if self.detailed {
            self.asm.rm(Op::Mov_r64_rm64, RCX, at(RBP, Frame::GUARDED_OFF));
            self.asm.mr(Op::Add_rm64_r64, at(RCX, 8 * i64::from(self.now)), RAX);
        }
    }

    /// Records the split levels of the stack entry at `r8`.
    pub(super) fn count_depth(&mut self) {
        if self.detailed {
            self.asm.rm(Op::Mov_r32_rm32, EAX, at(R8, ENTRY_DEPTH));
            self.count_depth_of(RAX);
        }
    }

    /// Records split levels from a register whose upper half is zero. Clobbers `rdx`.
    pub(super) fn count_depth_of(&mut self, depth: Register) {
        self.asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::DEPTH), depth);
        self.asm.rm(Op::Mov_r64_rm64, RDX, at(RBP, Frame::MAX_DEPTH));
        self.asm.rr(Op::Cmp_r64_rm64, RDX, depth);
        self.asm.rr(Op::Cmovb_r64_rm64, RDX, depth);
        self.asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::MAX_DEPTH), RDX);
    }

    /// Emitted before an access: logs it unless [`Self::count_access`] counts it later. Sets the
    /// flags that tell the interpreter whether the access has been counted.
    pub(super) fn announce(&mut self, memory: &Memory, on: On) {
        if !self.detailed {
            return;
        }
        if lies_on_a_line(memory) {
            let (from, back) = (self.asm.label(), self.asm.label());
            self.asm.ri(Op::Cmp_rm32_imm8, on.lanes, -1);
            self.asm.jump(Op::Jne_rel32_64, from);
            self.asm.bind(back);
            self.told.push(Told { from, back, step: self.now, on });
            self.told_as = PARTLY_COUNTED;
        } else {
            self.announce_any(memory, on);
        }
    }

    /// Emitted before an access that is not counted later: logs it.
    pub(super) fn announce_any(&mut self, memory: &Memory, on: On) {
        if self.detailed {
            self.note(self.now, memory, on);
            self.told_as = COUNTED;
        }
    }

    pub(super) fn told_out_of_line(&mut self) {
        for told in std::mem::take(&mut self.told) {
            self.asm.bind(told.from);
            if let Some((memory, _)) = self.code.steps[told.step as usize].access() {
                self.note(told.step, memory, told.on);
            }
            self.asm.jump(Op::Jmp_rel32_64, told.back);
        }
    }

    /// Counts an access of a whole warp at affine addresses, by lane 0's offset in its region, in
    /// `rax`, modulo [`StridedAccess::CONGRUENCE`]. Preserves `rax`, `rcx` and `rdi`.
    pub(super) fn count_access(&mut self, memory: &Memory, near: Option<u32>, on: On) {
        if !self.detailed || !lies_on_a_line(memory) {
            return;
        }
        let align = memory.bytes().min(StridedAccess::CONGRUENCE);
        let count = AlignmentCounters::len(align);
        let first = self.stretches.last().map_or(0, |s| s.first + s.count);
        let near = near.map(|n| n as usize);
        self.stretches.push(AlignmentCounters {
            step: self.now as usize,
            first,
            count,
            entry: near,
        });
        let part = self.asm.label();
        self.asm.ri(Op::Cmp_rm32_imm8, on.lanes, -1);
        self.asm.jump(Op::Jne_rel32_64, part);
        self.asm.rr(Op::Mov_r32_rm32, EDX, EAX);
        self.asm.ri(Op::And_rm32_imm32, EDX, StridedAccess::CONGRUENCE as i32 - 1);
        if align > 1 {
            self.asm.ri(Op::Shr_rm32_imm8, EDX, align.trailing_zeros() as i32);
        }
        self.asm.rm(Op::Mov_r64_rm64, RSI, at(RBP, Frame::STRIDED));
        let counter =
            MemoryOperand::with_base_index_scale_displ_size(RSI, RDX, 8, 8 * first as i64, 1);
        self.asm.m(Op::Inc_rm64, counter);
        self.asm.bind(part);
    }
}

fn lies_on_a_line(memory: &Memory) -> bool {
    matches!(memory.addr, Src::Line(..) | Src::Const(_))
}
