//! Warp collectives whose member lanes are all active: shuffles, votes, reductions. Where members
//! are missing or lanes name different members, the interpreter executes the step.

use super::{Emitter, On};
use crate::asm::at;
use crate::frame::Frame;
use fast::code::{Collective, Dst, Src};
use fast::ops::Op32;
use iced_x86::{Code as Op, Register};
use ir::Ty;
use ir::mods::{AtomOp, Vote};
use vm::CollectiveKind;

use Register::{AL, EAX, ECX, R15, RAX, RBP};

impl Emitter<'_> {
    pub(super) fn collective(&mut self, what: &Collective, on: On) -> bool {
        let kind = what.what.kind();
        if !can(kind, what) {
            return false;
        }
        let (cold, back) = self.cold(on);
        let count = match what.members {
            None => Frame::UNNAMED,
            Some(members) => {
                self.uniform(members, EAX);
                // All active lanes must be members, and all live members active.
                self.asm.rr(Op::Mov_r32_rm32, ECX, EAX);
                self.asm.r(Op::Not_rm32, ECX);
                self.asm.rr(Op::Test_rm32_r32, ECX, on.lanes);
                self.asm.jump(Op::Jne_rel32_64, cold);
                self.asm.rr(Op::Mov_r32_rm32, ECX, on.lanes);
                self.asm.r(Op::Not_rm32, ECX);
                self.asm.rr(Op::And_r32_rm32, ECX, EAX);
                self.asm.rm(Op::And_r32_rm32, ECX, at(RBP, Frame::LIVE));
                self.asm.jump(Op::Jne_rel32_64, cold);
                Frame::COLLECTIVES
            }
        };
        self.asm.m(Op::Inc_rm64, at(RBP, count));
        match kind {
            CollectiveKind::Vote(vote) => self.vote(vote, what, on),
            CollectiveKind::ActiveMask => {
                self.asm.rr(Op::Mov_r32_rm32, EAX, on.lanes);
                self.put_word(what.dst.first(), on);
            }
            CollectiveKind::Shuffle(_) | CollectiveKind::Redux { .. } => {
                self.vectors.collective(self, what, on);
            }
            _ => {}
        }
        self.asm.bind(back);
        true
    }

    /// Loads a uniform 32-bit operand.
    fn uniform(&mut self, src: Src, to: Register) {
        match src {
            Src::Line(i, ..) => self.asm.rm(Op::Mov_r32_rm32, to, at(R15, 8 * i64::from(i))),
            Src::Const(bits) => self.asm.ri(Op::Mov_r32_imm32, to, bits as i32),
            _ => self.asm.ri(Op::Mov_r32_imm32, to, 0),
        }
    }

    /// Stores the word in `eax` as the result of all active lanes.
    pub(super) fn put_word(&mut self, dst: Option<&Dst>, on: On) {
        match dst {
            Some(&Dst::Scalar(i)) => self.asm.mr(Op::Mov_rm64_r64, at(R15, 8 * i64::from(i)), RAX),
            Some(&dst @ Dst::Narrow(_)) => self.vectors.splat(self, dst, on),
            Some(&Dst::Pred(mask)) => {
                self.asm.ri(Op::And_rm32_imm8, EAX, 1);
                self.asm.r(Op::Neg_rm32, EAX);
                self.put_predicate(mask, on);
            }
            _ => {}
        }
    }

    fn vote(&mut self, vote: Vote, what: &Collective, on: On) {
        self.predicate(what.src[0], EAX);
        self.asm.rr(Op::And_r32_rm32, EAX, on.lanes);
        match vote {
            Vote::Ballot => {}
            Vote::All => {
                self.asm.rr(Op::Cmp_r32_rm32, EAX, on.lanes);
                self.asm.r(Op::Sete_rm8, AL);
            }
            Vote::Any => {
                self.asm.rr(Op::Test_rm32_r32, EAX, EAX);
                self.asm.r(Op::Setne_rm8, AL);
            }
            Vote::Uni => {
                self.asm.rr(Op::Cmp_r32_rm32, EAX, on.lanes);
                self.asm.r(Op::Sete_rm8, Register::CL);
                self.asm.rr(Op::Test_rm32_r32, EAX, EAX);
                self.asm.r(Op::Sete_rm8, AL);
                self.asm.rr(Op::Or_r8_rm8, AL, Register::CL);
            }
        }
        if vote != Vote::Ballot {
            self.asm.rr(Op::Movzx_r32_rm8, EAX, AL);
        }
        self.put_word(what.dst.first(), on);
    }
}

/// Returns the operation of a reduction and its neutral element.
pub(super) fn reduction(op: AtomOp, ty: Ty) -> Option<(Op32, u32)> {
    Some(match (op, ty) {
        (AtomOp::Add, Ty::U32 | Ty::S32) => (Op32::Add, 0),
        (AtomOp::And, _) => (Op32::And, u32::MAX),
        (AtomOp::Or, _) => (Op32::Or, 0),
        (AtomOp::Xor, _) => (Op32::Xor, 0),
        (AtomOp::Min, Ty::U32) => (Op32::MinU, u32::MAX),
        (AtomOp::Max, Ty::U32) => (Op32::MaxU, 0),
        (AtomOp::Min, Ty::S32) => (Op32::MinS, i32::MAX as u32),
        (AtomOp::Max, Ty::S32) => (Op32::MaxS, i32::MIN as u32),
        _ => return None,
    })
}

/// Returns whether there is code for a collective.
fn can(kind: CollectiveKind, what: &Collective) -> bool {
    let members = what.members.is_none_or(|m| matches!(m, Src::Const(_) | Src::Line(_, 0, _)));
    let word =
        |d: Option<&Dst>| matches!(d, None | Some(Dst::None | Dst::Narrow(_) | Dst::Scalar(_)));
    let source = what.src.first().copied();
    let narrow = !matches!(source, Some(Src::Wide(_) | Src::Pair(..)));
    members
        && match kind {
            CollectiveKind::Shuffle(_) => {
                let row = matches!(what.dst.first(), Some(Dst::None | Dst::Narrow(_)));
                let flag = matches!(what.dst.get(1), None | Some(Dst::None | Dst::Pred(_)));
                let constant = matches!(what.src.get(2), Some(Src::Const(_)));
                narrow && row && flag && constant && what.src.len() == 3
            }
            CollectiveKind::Vote(vote) => {
                let pred =
                    matches!(source, Some(Src::Pred(_) | Src::Line(_, 0, _) | Src::Const(_)));
                let bit =
                    matches!(what.dst.first(), Some(Dst::Pred(_) | Dst::Scalar(_) | Dst::None));
                pred && if vote == Vote::Ballot { word(what.dst.first()) } else { bit }
            }
            CollectiveKind::Redux { op, ty, .. } => {
                narrow && reduction(op, ty).is_some() && word(what.dst.first())
            }
            CollectiveKind::ActiveMask => word(what.dst.first()),
            CollectiveKind::Sync => true,
            CollectiveKind::Match { .. } | CollectiveKind::Elect | CollectiveKind::Matrix(_) => {
                false
            }
        }
}
