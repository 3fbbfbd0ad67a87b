//! Warp collectives of lanes that are all here: shuffles, votes, reductions. Where lanes are missing, or name others than each
//! other, the interpreter sees to it.

use super::{Emitter, On, T};
use crate::asm::{V, at};
use crate::frame::Frame;
use fast::code::{Collective, Dst, Src};
use iced_x86::{Code as Op, Register};
use ir::Ty;
use ir::mods::{AtomOp, Shuffle, Vote};
use vm::CollectiveKind;

use Register::{AL, EAX, ECX, EDX, K5, K6, R15, RAX, RBP};

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
                // All that are on are members, and all members that live are on.
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
            CollectiveKind::Shuffle(mode) => self.shuffle(mode, what, on),
            CollectiveKind::Vote(vote) => self.vote(vote, what, on),
            CollectiveKind::Redux { op, ty, .. } => self.redux(op, ty, what, on),
            CollectiveKind::ActiveMask => {
                self.asm.rr(Op::Mov_r32_rm32, EAX, on.lanes);
                self.put_word(what.dst.first(), on);
            }
            _ => {}
        }
        self.asm.bind(back);
        true
    }

    /// A 32-bit operand that is the same in all lanes.
    fn uniform(&mut self, src: Src, to: Register) {
        match src {
            Src::Line(i, ..) => self.asm.rm(Op::Mov_r32_rm32, to, at(R15, 8 * i64::from(i))),
            Src::Const(bits) => self.asm.ri(Op::Mov_r32_imm32, to, bits as i32),
            _ => self.asm.ri(Op::Mov_r32_imm32, to, 0),
        }
    }

    /// The word in `eax` as the result of all lanes that are on.
    fn put_word(&mut self, dst: Option<&Dst>, on: On) {
        match dst {
            Some(&Dst::Scalar(i)) => self.asm.mr(Op::Mov_rm64_r64, at(R15, 8 * i64::from(i)), RAX),
            Some(&Dst::Narrow(row)) => {
                self.asm.rr(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, T[0], EAX);
                for half in 0..2 {
                    self.put(row, half, on, T[0]);
                }
            }
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

    /// Each lane's value of the lane that it names, if that is on; else its own.
    fn shuffle(&mut self, mode: Shuffle, what: &Collective, on: On) {
        // T[5], T[6]: the sources of the halves; eax: in which lanes they are inside of the segment.
        match what.pattern {
            Some((lanes, inside)) => {
                for half in 0..2 {
                    let line = self.lanes_vector(|lane| lanes[lane].into(), half);
                    self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, T[5 + half], line, None);
                }
                self.asm.ri(Op::Mov_r32_imm32, EDX, inside as i32);
            }
            None => self.sources(mode, what.src[1], what.src[2]),
        }
        for half in 0..2 {
            self.nc(what.src[0], half, T[2 + half]);
        }
        self.asm.rr(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, T[4], on.lanes);
        if let Some(&Dst::Narrow(row)) = what.dst.first() {
            for half in 0..2 {
                let index = T[5 + half];
                // Lanes whose source is on.
                self.asm.v3(Op::EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32, T[0], T[4], V::Z(index), None);
                let one = self.bits32(1);
                self.asm.v3(Op::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32, K5, T[0], one, None);
                let permute = Op::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32;
                self.asm.v3(permute, index, T[2], V::Z(T[3]), None);
                let blend = Op::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32;
                self.asm.v3(blend, index, T[2 + half], V::Z(index), Some(K5));
            }
            for half in 0..2 {
                self.put(row, half, on, T[5 + half]);
            }
        }
        if let Some(&Dst::Pred(mask)) = what.dst.get(1) {
            self.asm.rr(Op::Mov_r32_rm32, EAX, EDX);
            self.put_predicate(mask, on);
        }
    }

    /// Sources of a shuffle by a lane or distance and a constant segment.
    fn sources(&mut self, mode: Shuffle, by: Src, segment: Src) {
        let Src::Const(c) = segment else { return };
        let (clamp, segment) = (c as u32 & 0x1f, c as u32 >> 8 & 0x1f);
        let (mut k, add) = ([K5, K6].into_iter(), Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32);
        for half in 0..2 {
            let Some(k) = k.next() else { return };
            let lane = self.lanes_vector(|lane| lane as u32, half);
            let most = self.lanes_vector(|l| l as u32 & segment | clamp & !segment, half);
            let by = self.nz(by, half, T[2]);
            let low = self.bits32(0x1f);
            let and = Op::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
            self.asm.v3(and, T[2], by, low, None);
            self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, T[3], lane, None);
            let to = T[5 + half];
            match mode {
                Shuffle::Up => {
                    self.asm.v3(Op::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, to, T[3], V::Z(T[2]), None);
                }
                Shuffle::Down => self.asm.v3(add, to, T[2], lane, None),
                Shuffle::Bfly => {
                    self.asm.v3(Op::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, to, T[2], lane, None);
                }
                Shuffle::Idx => {
                    let free = self.bits32(!segment);
                    self.asm.v3(and, T[2], T[2], free, None);
                    let least = self.lanes_vector(|lane| lane as u32 & segment, half);
                    self.asm.v3(Op::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, to, T[2], least, None);
                }
            }
            // Not less than the bound, or not greater; both as signed numbers.
            let relation = if mode == Shuffle::Up { 5 } else { 2 };
            let compare = Op::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
            self.asm.v3i(compare, k, to, most, relation, None);
            let blend = Op::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32;
            self.asm.v3(blend, to, T[3], V::Z(to), Some(k));
        }
        self.asm.rrr(Op::VEX_Kunpckwd_kr_kr_kr, K5, K6, K5);
        self.asm.rr(Op::VEX_Kmovd_r32_kr, EDX, K5);
    }

    /// A constant vector of 32-bit words by lane.
    fn lanes_vector(&mut self, word: impl Fn(usize) -> u32, half: usize) -> V {
        let pair = |i: usize| {
            let word = |lane| u64::from(word(16 * half + lane));
            word(2 * i) | word(2 * i + 1) << 32
        };
        V::M(Register::R11, self.pool.vector(std::array::from_fn(pair)))
    }

    /// All values of the lanes that are on as one.
    fn redux(&mut self, op: AtomOp, ty: Ty, what: &Collective, on: On) {
        let Some((op, neutral)) = reduction(op, ty) else { return };
        for (half, to) in [T[0], T[1]].into_iter().enumerate() {
            let value = self.nz(what.src[0], half, T[2]);
            self.broadcast32(to, neutral);
            let copy = Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512;
            self.asm.v2(copy, to, V::Z(value), Some(on.halves[half]));
        }
        self.asm.v3(op, T[0], T[0], V::Z(T[1]), None);
        for rotation in [0x4e, 0xb1] {
            let shuffle = Op::EVEX_Vshufi32x4_zmm_k1z_zmm_zmmm512b32_imm8;
            self.asm.v3i(shuffle, T[1], T[0], V::Z(T[0]), rotation, None);
            self.asm.v3(op, T[0], T[0], V::Z(T[1]), None);
        }
        for rotation in [0x4e, 0xb1] {
            self.asm.v2i(Op::EVEX_Vpshufd_zmm_k1z_zmmm512b32_imm8, T[1], T[0], rotation);
            self.asm.v3(op, T[0], T[0], V::Z(T[1]), None);
        }
        self.asm.rr(Op::EVEX_Vmovd_rm32_xmm, EAX, Register::XMM0);
        self.put_word(what.dst.first(), on);
    }
}

/// The operation of a reduction, and a word that changes nothing.
fn reduction(op: AtomOp, ty: Ty) -> Option<(Op, u32)> {
    Some(match (op, ty) {
        (AtomOp::Add, Ty::U32 | Ty::S32) => (Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, 0),
        (AtomOp::And, _) => (Op::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, u32::MAX),
        (AtomOp::Or, _) => (Op::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, 0),
        (AtomOp::Xor, _) => (Op::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, 0),
        (AtomOp::Min, Ty::U32) => (Op::EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32, u32::MAX),
        (AtomOp::Max, Ty::U32) => (Op::EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32, 0),
        (AtomOp::Min, Ty::S32) => (Op::EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32, i32::MAX as u32),
        (AtomOp::Max, Ty::S32) => (Op::EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32, i32::MIN as u32),
        _ => return None,
    })
}

/// Whether there is code for a collective.
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
