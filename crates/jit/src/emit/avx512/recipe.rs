//! Recipes: each micro-operation is an instruction or two. What is true of lanes is a vector here,
//! too; masks are used at once.

use super::T;
use super::operand::ymm;
use crate::asm::{V, at};
use crate::emit::recipe::{Arith, Micro, Node, Recipe, Sort, Value};
use crate::emit::{Emitter, On};
use fast::code::{Dst, Generic, Src};
use iced_x86::{Code as Op, Register, RoundingControl};

use Register::{EAX, EDX, ESI, K5, R11, R15, RAX};

/// Registers of values: results are put away through the one that is missing.
const POOL: [Register; 7] = [T[0], T[2], T[3], T[4], T[5], T[6], T[7]];

/// Where the outcomes of predicates come together, of two at most.
const TOLD: [Register; 2] = [EDX, ESI];

/// A recipe under way.
struct Cook<'r> {
    recipe: &'r Recipe,
    src: &'r [Src],
    /// Half or quarter of the rows.
    part: usize,
    free: Vec<Register>,
    at: Vec<Option<Register>>,
}

impl Emitter<'_> {
    /// Compiles an operation that has a recipe.
    pub(super) fn recipe(&mut self, recipe: &Recipe, generic: &Generic, on: On) {
        let dst = &generic.dst;
        let words = recipe.results.iter().filter(|r| recipe.wide && r.1 == Sort::Word).count();
        let (kept, pool) = (&POOL[POOL.len() - words..], &POOL[..POOL.len() - words]);
        let scalar = dst.iter().all(|d| matches!(d, Dst::Scalar(_) | Dst::None));
        let parts = match (scalar, recipe.wide) {
            (true, _) => 1,
            (_, true) => 4,
            _ => 2,
        };
        for part in 0..parts {
            let mut cook = Cook {
                recipe,
                src: &generic.src,
                part,
                free: pool.iter().rev().copied().collect(),
                at: vec![None; recipe.nodes.len()],
            };
            for index in 0..recipe.nodes.len() {
                self.node(&mut cook, index);
            }
            let (mut word, mut told) = (0, 0);
            // The first result wins where two go to one place.
            for (i, &(value, sort)) in recipe.results.iter().enumerate().rev() {
                let value = self.held(&cook, value);
                match (dst[i], sort) {
                    // Later parts may read what the scalar held before.
                    (Dst::Scalar(_), _) if part + 1 < parts => {}
                    (Dst::Scalar(scalar), _) => self.scalar_result(scalar, value, sort),
                    (Dst::None, _) => {}
                    (_, Sort::Predicate) => {
                        self.tell(TOLD[told], value, part, recipe.wide);
                        told += 1;
                    }
                    (Dst::Narrow(row), Sort::Word) if recipe.wide => {
                        self.join_words(kept[word], value, part);
                        if part % 2 == 1 {
                            self.put(row, part / 2, on, kept[word]);
                        }
                        word += 1;
                    }
                    (Dst::Narrow(row), _) => self.put(row, part, on, value),
                    (Dst::Wide(row), _) => self.put_wide(row, part, on, value),
                    _ => {}
                }
            }
        }
        let masks = dst.iter().rev().filter_map(|d| match d {
            Dst::Pred(mask) => Some(*mask),
            _ => None,
        });
        for (mask, told) in masks.zip(TOLD) {
            self.asm.rr(Op::Mov_r32_rm32, EAX, told);
            self.put_predicate(mask, on);
        }
    }

    fn scalar_result(&mut self, scalar: u32, value: Register, sort: Sort) {
        let low = Register::XMM0 + (value as u32 - Register::ZMM0 as u32);
        match sort {
            Sort::Whole => self.asm.rr(Op::EVEX_Vmovq_rm64_xmm, RAX, low),
            _ => self.asm.rr(Op::EVEX_Vmovd_rm32_xmm, EAX, low),
        }
        if sort == Sort::Predicate {
            self.asm.ri(Op::And_rm32_imm8, EAX, 1);
        }
        self.asm.mr(Op::Mov_rm64_r64, at(R15, 8 * i64::from(scalar)), RAX);
    }

    /// Collects a predicate of part of the lanes.
    fn tell(&mut self, told: Register, value: Register, part: usize, wide: bool) {
        let (mask, lanes) =
            if wide { (Op::EVEX_Vpmovq2m_kr_zmm, 8) } else { (Op::EVEX_Vpmovd2m_kr_zmm, 16) };
        self.asm.rr(mask, K5, value);
        if part == 0 {
            self.asm.rr(Op::VEX_Kmovd_r32_kr, told, K5);
            return;
        }
        self.asm.rr(Op::VEX_Kmovd_r32_kr, EAX, K5);
        self.asm.ri(Op::Shl_rm32_imm8, EAX, lanes * part as i32);
        self.asm.rr(Op::Or_r32_rm32, told, EAX);
    }

    /// Low words of a quarter's lanes become those of a half.
    fn join_words(&mut self, kept: Register, value: Register, part: usize) {
        if part.is_multiple_of(2) {
            self.asm.rr(Op::EVEX_Vpmovqd_ymmm256_k1z_zmm, ymm(kept), value);
            return;
        }
        self.asm.rr(Op::EVEX_Vpmovqd_ymmm256_k1z_zmm, ymm(T[1]), value);
        let insert = Op::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8;
        self.asm.v3i(insert, kept, kept, V::Z(ymm(T[1])), 1, None);
    }

    /// A value as a last operand.
    fn value(&mut self, cook: &Cook<'_>, value: Value) -> V {
        match (cook.recipe.nodes[value.0], cook.at[value.0]) {
            (_, Some(register)) => V::Z(register),
            (Node::Bytes(bytes), _) => {
                let word =
                    |i: usize| u64::from_le_bytes(std::array::from_fn(|b| bytes[8 * (i % 2) + b]));
                V::M(R11, self.pool.vector(std::array::from_fn(word)))
            }
            (Node::Const(bits), _) => self.bits64(bits),
            // Nothing else is asked for before it is there.
            _ => V::Z(T[0]),
        }
    }

    /// The same in a register, with another one in hand for a constant.
    fn in_hand(&mut self, cook: &Cook<'_>, value: Value, room: Register) -> Register {
        match self.value(cook, value) {
            V::B(base, d) => self.asm.rm(Op::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, room, at(base, d)),
            V::M(base, d) => {
                self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, room, V::M(base, d), None);
            }
            V::Z(register) => return register,
        }
        room
    }

    /// A result in a register.
    fn held(&mut self, cook: &Cook<'_>, value: Value) -> Register {
        self.in_hand(cook, value, cook.free.last().copied().unwrap_or(T[0]))
    }

    fn node(&mut self, cook: &mut Cook<'_>, index: usize) {
        let recipe = cook.recipe;
        match recipe.nodes[index] {
            Node::Const(_) | Node::Bytes(_) => {}
            Node::Operand(i, _) => {
                let src = cook.src.get(i).copied().unwrap_or(Src::Const(0));
                let Some(room) = cook.free.pop() else { return };
                let register = match recipe.wide {
                    true => self.wz(src, cook.part, room),
                    false => self.nz(src, cook.part, room),
                };
                if register != room {
                    cook.free.push(room);
                }
                cook.at[index] = Some(register);
            }
            Node::Do(micro, operands, wide) => {
                let Some(to) = cook.free.pop() else { return };
                self.micro(cook, micro, operands, (to, wide));
                cook.at[index] = Some(to);
            }
        }
        // What nobody uses any more makes room; rows that have a register keep it.
        for (value, &last) in recipe.last.iter().enumerate().take(index + 1) {
            if let (true, Some(register)) = (last == index, cook.at[value])
                && POOL.contains(&register)
                && !cook.free.contains(&register)
            {
                cook.free.push(register);
            }
        }
    }

    /// One micro-operation; `to` is none of its operands.
    fn micro(
        &mut self,
        cook: &Cook<'_>,
        micro: Micro,
        operands: [Value; 3],
        (to, wide): (Register, bool),
    ) {
        let [a, b, c] = operands;
        if let Some(two) = two(micro, wide) {
            // A constant as the first operand waits where the result will be.
            let first = self.in_hand(cook, a, to);
            let second = self.last_of(cook, b, wide);
            self.asm.v3(two, to, first, second, None);
            return;
        }
        if let Some(two) = bytewise(micro) {
            let first = self.in_hand(cook, a, to);
            let second = self.in_hand(cook, b, T[1]);
            self.asm.v3(two, to, first, V::Z(second), None);
            return;
        }
        match micro {
            Micro::ShlBy(by) | Micro::ShrBy(by) | Micro::SarBy(by) => {
                let first = self.in_hand(cook, a, to);
                self.asm.v2i(shift(micro, wide), to, first, by.into());
            }
            Micro::Table(table) => self.table(cook, operands, to, table),
            Micro::Choose => self.table(cook, operands, to, 0xca),
            Micro::Equal | Micro::Greater | Micro::Compare(_) => {
                let (op, number) = comparison(micro, wide);
                let first = self.in_hand(cook, a, to);
                let second = self.last_of(cook, b, wide);
                self.asm.v3i(op, K5, first, second, number, None);
                let spread = if wide { Op::EVEX_Vpmovm2q_zmm_kr } else { Op::EVEX_Vpmovm2d_zmm_kr };
                self.asm.rr(spread, to, K5);
            }
            Micro::Float(Arith::Fma, rounding) => {
                let first = self.in_hand(cook, a, to);
                if first != to {
                    self.copy(to, first);
                }
                // Of the factors and the addend one at most is a constant.
                let (b, c) = (self.in_hand(cook, b, T[1]), self.in_hand(cook, c, T[1]));
                let op = match wide {
                    true => Op::EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er,
                    false => Op::EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er,
                };
                self.asm.rounded(op, &[to, b, c], rounding);
            }
            Micro::Float(arith, rounding) => {
                let first = self.in_hand(cook, a, to);
                if arith == Arith::Sqrt {
                    self.asm.rounded(arithmetic(arith, wide), &[to, first], rounding);
                } else {
                    let second = self.in_hand(cook, b, T[1]);
                    self.asm.rounded(arithmetic(arith, wide), &[to, first, second], rounding);
                }
            }
            _ => {
                let first = self.in_hand(cook, a, to);
                self.convert_lanes(micro, to, first, wide);
            }
        }
    }

    /// A last operand: constants of 32-bit lanes are broadcast as such.
    fn last_of(&mut self, cook: &Cook<'_>, value: Value, wide: bool) -> V {
        match (cook.recipe.nodes[value.0], wide) {
            (Node::Const(bits), false) if bits >> 32 == bits & 0xffff_ffff => {
                self.bits32(bits as u32)
            }
            (Node::Const(bits), false) => V::M(R11, self.pool.vector([bits; 8])),
            _ => self.value(cook, value),
        }
    }

    fn table(&mut self, cook: &Cook<'_>, operands: [Value; 3], to: Register, table: u8) {
        let [a, b, c] = operands;
        let first = self.in_hand(cook, a, to);
        if first != to {
            self.copy(to, first);
        }
        let second = self.in_hand(cook, b, T[1]);
        let third = self.value(cook, c);
        let op = Op::EVEX_Vpternlogq_zmm_k1z_zmm_zmmm512b64_imm8;
        self.asm.v3i(op, to, second, third, table.into(), None);
    }

    fn convert_lanes(&mut self, micro: Micro, to: Register, a: Register, wide: bool) {
        match micro {
            Micro::Integral(rounding) => {
                let op = match wide {
                    true => Op::EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae,
                    false => Op::EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae,
                };
                // Without the exception for inexact results.
                self.asm.v2i(op, to, a, 8 | number(rounding));
            }
            Micro::FloatOf(rounding) => {
                self.asm.rounded(Op::EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er, &[to, a], rounding);
            }
            Micro::HalfOf(rounding) => {
                let op = Op::EVEX_Vcvtps2ph_ymmm256_k1z_zmm_imm8_sae;
                self.asm.v2i(op, ymm(to), a, number(rounding));
                self.asm.rr(Op::EVEX_Vpmovzxwd_zmm_k1z_ymmm256, to, ymm(to));
            }
            Micro::OfHalf => {
                self.asm.rr(Op::EVEX_Vpmovdw_ymmm256_k1z_zmm, ymm(to), a);
                self.asm.rr(Op::EVEX_Vcvtph2ps_zmm_k1z_ymmm256_sae, to, ymm(to));
            }
            Micro::Double => {
                self.asm.rr(Op::EVEX_Vpmovqd_ymmm256_k1z_zmm, ymm(to), a);
                self.asm.rr(Op::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae, to, ymm(to));
            }
            Micro::Single(rounding) => {
                let op = Op::EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er;
                self.asm.rounded(op, &[ymm(to), a], rounding);
                self.asm.rr(Op::EVEX_Vpmovzxdq_zmm_k1z_ymmm256, to, ymm(to));
            }
            _ => {}
        }
    }
}

/// A rounding as instructions number it.
fn number(rounding: RoundingControl) -> i32 {
    match rounding {
        RoundingControl::RoundDown => 1,
        RoundingControl::RoundUp => 2,
        RoundingControl::RoundTowardZero => 3,
        _ => 0,
    }
}

/// What is one instruction on two operands.
fn two(micro: Micro, wide: bool) -> Option<Op> {
    Some(match (micro, wide) {
        (Micro::And, false) => Op::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32,
        (Micro::And, true) => Op::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64,
        (Micro::Or, false) => Op::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32,
        (Micro::Or, true) => Op::EVEX_Vporq_zmm_k1z_zmm_zmmm512b64,
        (Micro::Xor, false) => Op::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32,
        (Micro::Xor, true) => Op::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64,
        (Micro::AndNot, false) => Op::EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32,
        (Micro::AndNot, true) => Op::EVEX_Vpandnq_zmm_k1z_zmm_zmmm512b64,
        (Micro::Add, false) => Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
        (Micro::Add, true) => Op::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64,
        (Micro::Sub, false) => Op::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32,
        (Micro::Sub, true) => Op::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64,
        (Micro::Mul, false) => Op::EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32,
        (Micro::Mul, true) => Op::EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64,
        (Micro::MulSigned, _) => Op::EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64,
        (Micro::Shl, false) => Op::EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32,
        (Micro::Shl, true) => Op::EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64,
        (Micro::Shr, false) => Op::EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32,
        (Micro::Shr, true) => Op::EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64,
        (Micro::Sar, _) => Op::EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32,
        (Micro::MinU, _) => Op::EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32,
        (Micro::MinS, _) => Op::EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32,
        (Micro::MaxS, _) => Op::EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32,
        (Micro::FMin, false) => Op::EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae,
        (Micro::FMin, true) => Op::EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae,
        (Micro::FMax, false) => Op::EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae,
        (Micro::FMax, true) => Op::EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae,
        _ => return None,
    })
}

/// What is one instruction on two operands without constants in memory for all lanes.
fn bytewise(micro: Micro) -> Option<Op> {
    Some(match micro {
        Micro::Shuffle => Op::EVEX_Vpshufb_zmm_k1z_zmm_zmmm512,
        Micro::Sub16 => Op::EVEX_Vpsubw_zmm_k1z_zmm_zmmm512,
        Micro::Dot16 => Op::EVEX_Vpmaddwd_zmm_k1z_zmm_zmmm512,
        _ => return None,
    })
}

fn shift(micro: Micro, wide: bool) -> Op {
    match (micro, wide) {
        (Micro::ShlBy(_), false) => Op::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8,
        (Micro::ShlBy(_), true) => Op::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8,
        (Micro::ShrBy(_), false) => Op::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8,
        (Micro::ShrBy(_), true) => Op::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8,
        _ => Op::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8,
    }
}

fn comparison(micro: Micro, wide: bool) -> (Op, i32) {
    match (micro, wide) {
        (Micro::Compare(number), false) => {
            (Op::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae, number.into())
        }
        (Micro::Compare(number), true) => {
            (Op::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae, number.into())
        }
        (other, wide) => {
            let number = if other == Micro::Equal { 0 } else { 6 };
            match wide {
                true => (Op::EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8, number),
                false => (Op::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8, number),
            }
        }
    }
}

fn arithmetic(arith: Arith, wide: bool) -> Op {
    match (arith, wide) {
        (Arith::Add, false) => Op::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
        (Arith::Add, true) => Op::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er,
        (Arith::Sub, false) => Op::EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er,
        (Arith::Sub, true) => Op::EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er,
        (Arith::Mul, false) => Op::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er,
        (Arith::Mul, true) => Op::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er,
        (Arith::Sqrt, false) => Op::EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er,
        (Arith::Sqrt, true) => Op::EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er,
        (_, false) => Op::EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er,
        (_, true) => Op::EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er,
    }
}
