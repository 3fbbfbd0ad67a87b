//! If-conversion of branches around a few steps on registers: where lanes split, both sides run in
//! place, one after the other under the masks of their lanes, and the stack's counters are updated
//! as if it had been used.
//!
//! This is invisible from outside: the steps of such a side cannot fault and do not need the
//! interpreter, and no turn ends in it, so nothing reads the warp's place in the meantime. Only
//! counters could show the split, and they get the stack's values.

use super::Emitter;
use super::predicate::float_relation;
use crate::asm::at;
use crate::frame::{ENTRY_DEPTH, ENTRY_SIZE, Frame};
use fast::code::{Block, End, Kind, Rejoin, Step};
use fast::ops::{Native, Op32, Op64, Test};
use iced_x86::{Code as Op, Register};

use Register::{EAX, EBX, ECX, R8, R10D, RBP, RCX};

/// Most steps and blocks of a side.
const MOST: usize = 24;
const MOST_BLOCKS: usize = 4;

/// A branch with two short sides.
pub(super) struct Short {
    /// The blocks that the lanes in `eax` run, and the blocks of the others; empty for a side that
    /// goes straight to the reconvergence point.
    sides: [Vec<u32>; 2],
    rejoin: u32,
}

/// Returns whether every level has code for a step that never calls the interpreter.
fn is_plain(step: &Step) -> bool {
    let plain = match step.kind {
        Kind::Narrow { op, .. } => !matches!(op, Op32::Popc | Op32::Clz),
        Kind::Wide { op, .. } => {
            !matches!(op, Op64::DAdd | Op64::DSub | Op64::DMul | Op64::DFma | Op64::DDiv)
        }
        Kind::Test { test: Test::F(cmp), wide, .. } => !wide && float_relation(cmp).is_some(),
        Kind::Scalar { native, .. } => is_plain_scalar(native),
        Kind::Low { .. } | Kind::Test { .. } | Kind::Select { .. } | Kind::Logic { .. } => true,
        Kind::Nothing => true,
        _ => false,
    };
    plain && step.guard.is_none()
}

/// The same for an operation on scalars.
fn is_plain_scalar(native: Native) -> bool {
    match native {
        Native::Narrow(op) => matches!(
            op,
            Op32::Mov
                | Op32::Add
                | Op32::Sub
                | Op32::Mul
                | Op32::Mad
                | Op32::And
                | Op32::Or
                | Op32::Xor
                | Op32::Not
                | Op32::Neg
                | Op32::Shl
                | Op32::ShrU
                | Op32::ShrS
        ),
        Native::Wide(op) => matches!(op, Op64::Mov | Op64::Add | Op64::Sub | Op64::And | Op64::Or),
        Native::Low | Native::Select { .. } | Native::Logic(_) => true,
        Native::Test { .. } => false,
    }
}

impl Emitter<'_> {
    /// Returns the sides of a branch if both are short.
    pub(super) fn short(&self, block: &Block) -> Option<Short> {
        let (&End::Branch(_, to, next), Rejoin::At(rejoin)) = (&block.end, block.rejoin) else {
            return None;
        };
        // A side has no back-edges, because a back-edge may end a turn.
        let side = |first: u32| {
            let (mut blocks, mut at, mut steps, mut from) = (Vec::new(), first, 0, block);
            while at != rejoin {
                let next = &self.code.blocks[at as usize];
                steps += next.steps.len();
                let End::Go(to) = next.end else { return None };
                let plain = self.code.steps[next.steps.clone()].iter().all(is_plain);
                if next.first <= from.pc || steps > MOST || blocks.len() == MOST_BLOCKS || !plain {
                    return None;
                }
                blocks.push(at);
                (at, from) = (to, next);
            }
            (self.code.blocks[rejoin as usize].first > from.pc).then_some(blocks)
        };
        Some(Short { sides: [side(to)?, side(next)?], rejoin })
    }

    /// Compiles both sides, for the first side's lanes in `eax` and the stack's top at `r8`.
    /// Control continues after this code if lanes already wait at the reconvergence point.
    pub(super) fn convert(&mut self, short: &Short) {
        let (waited, high) = (self.asm.label(), self.asm.label());
        let count = short.sides.iter().filter(|s| !s.is_empty()).count() as i32;
        self.asm.mi(Op::Cmp_rm32_imm32, at(RBP, Frame::REJOIN), short.rejoin as i32);
        self.asm.jump(Op::Je_rel32_64, waited);
        self.asm.m(Op::Inc_rm64, at(RBP, Frame::SPLIT_BRANCHES));
        self.asm.mi(Op::Add_rm64_imm32, at(RBP, Frame::PUSHES), count);
        self.asm.mi(Op::Add_rm64_imm32, at(RBP, Frame::MERGES), count);
        // The height that the stack would have, in entries.
        self.asm.rr(Op::Mov_r64_rm64, RCX, R8);
        self.asm.rm(Op::Sub_r64_rm64, RCX, at(RBP, Frame::BOTTOM));
        self.asm.ri(Op::Shr_rm64_imm8, RCX, ENTRY_SIZE.trailing_zeros() as i32);
        self.asm.ri(Op::Add_rm64_imm8, RCX, 1 + count);
        self.asm.rm(Op::Cmp_r64_rm64, RCX, at(RBP, Frame::MAX_HEIGHT));
        self.asm.jump(Op::Jbe_rel32_64, high);
        self.asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::MAX_HEIGHT), RCX);
        self.asm.bind(high);
        self.asm.rr(Op::Mov_r32_rm32, R10D, EBX);
        self.asm.rr(Op::Xor_r32_rm32, R10D, EAX);
        self.asm.rr(Op::Mov_r32_rm32, EBX, EAX);
        if self.detailed {
            self.asm.rm(Op::Mov_r32_rm32, ECX, at(R8, ENTRY_DEPTH));
            self.asm.r(Op::Inc_rm32, ECX);
            self.count_depth_of(RCX);
        }
        let code = self.code;
        for (lanes, side) in [EBX, R10D].into_iter().zip(&short.sides) {
            if side.is_empty() {
                continue;
            }
            if lanes != EBX {
                self.asm.rr(Op::Mov_r32_rm32, EBX, lanes);
            }
            self.lanes();
            for &b in side {
                self.steps(b as usize, &code.blocks[b as usize]);
            }
        }
        self.asm.rm(Op::Mov_r32_rm32, EBX, at(RBP, Frame::LANES));
        self.lanes();
        if self.detailed {
            self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::TOP));
            self.count_depth();
        }
        let rejoin = self.blocks[short.rejoin as usize];
        self.asm.jump(Op::Jmp_rel32_64, rejoin);
        self.asm.bind(waited);
    }
}
