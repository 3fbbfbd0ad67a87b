//! Recipes: each micro-operation is an instruction or a few.

use super::chunk::Chunk;
use super::float::mode;
use super::group::{MODE, pointer};
use super::operand::{BLEND, BLEND64, COPY, xmm};
use crate::asm::V;
use crate::emit::recipe::{Arith, Micro, Node, Recipe, Value};
use fast::code::{Dst, Generic, Src};
use iced_x86::{Code as Op, Register, RoundingControl};

use Register::R11;

const AND: Op = Op::VEX_Vpand_ymm_ymm_ymmm256;
const ANDN: Op = Op::VEX_Vpandn_ymm_ymm_ymmm256;
const OR: Op = Op::VEX_Vpor_ymm_ymm_ymmm256;
const XOR: Op = Op::VEX_Vpxor_ymm_ymm_ymmm256;

/// Where values are, of a chunk or half of one.
struct Cook<'r> {
    recipe: &'r Recipe,
    src: &'r [Src],
    half: usize,
    at: Vec<Option<Register>>,
}

impl Chunk<'_, '_> {
    /// Compiles an operation that has a recipe; predicates are collected.
    pub(super) fn recipe(&mut self, recipe: &Recipe, generic: &Generic) {
        let mut halves = Vec::new();
        for half in 0..if recipe.wide { 2 } else { 1 } {
            halves.push(self.results(recipe, &generic.src, half));
        }
        // The first result wins where two go to one place.
        for (i, &dst) in generic.dst.iter().enumerate().rev() {
            let low = halves[0][i];
            let high = halves.get(1).map(|h| h[i]);
            match (dst, high) {
                (Dst::Wide(row), Some(high)) => self.put_halves(row, [low, high]),
                (Dst::Narrow(row), Some(high)) => {
                    self.narrowed(low, low, V::Z(high));
                    self.put(row, low);
                    self.free(high);
                }
                (Dst::Narrow(row), None) => self.put(row, low),
                (Dst::Pred(mask), high) => {
                    if let Some(high) = high {
                        self.narrowed(low, low, V::Z(high));
                        self.free(high);
                    }
                    self.collect(mask, (low, false), false);
                }
                _ => {}
            }
        }
    }

    /// All results of a chunk or half of one, each in scratch of its own.
    pub(super) fn results(&mut self, recipe: &Recipe, src: &[Src], half: usize) -> Vec<Register> {
        let mut cook = Cook { recipe, src, half, at: vec![None; recipe.nodes.len()] };
        for index in 0..recipe.nodes.len() {
            self.node(&mut cook, index);
        }
        let mut results: Vec<Register> = Vec::new();
        for &(value, _) in &recipe.results {
            let from = self.place_of(&cook, value);
            // What comes from a row may still be that row's.
            let mine = matches!(recipe.nodes[value.0], Node::Do(..))
                && !matches!(from, V::Z(r) if results.contains(&r));
            let register = match (from, mine) {
                (V::Z(register), true) => register,
                (other, _) => {
                    let to = self.temp();
                    self.e.asm.v2(COPY, to, other, None);
                    to
                }
            };
            results.push(register);
        }
        results
    }

    fn place_of(&mut self, cook: &Cook<'_>, value: Value) -> V {
        match (cook.recipe.nodes[value.0], cook.at[value.0]) {
            (_, Some(register)) => V::Z(register),
            (Node::Bytes(bytes), _) => {
                let word =
                    |i: usize| u64::from_le_bytes(std::array::from_fn(|b| bytes[8 * (i % 2) + b]));
                V::M(R11, self.e.pool.vector(std::array::from_fn(word)))
            }
            (Node::Const(bits), _) => self.bits64(bits),
            // Nothing else is asked for before it is there.
            _ => self.bits64(0),
        }
    }

    fn in_hand(&mut self, cook: &Cook<'_>, value: Value, room: Register) -> Register {
        match self.place_of(cook, value) {
            V::Z(register) => register,
            other => {
                self.e.asm.v2(COPY, room, other, None);
                room
            }
        }
    }

    fn node(&mut self, cook: &mut Cook<'_>, index: usize) {
        let recipe = cook.recipe;
        match recipe.nodes[index] {
            Node::Const(_) | Node::Bytes(_) => {}
            Node::Operand(i, _) => {
                let src = cook.src.get(i).copied().unwrap_or(Src::Const(0));
                let register = match recipe.wide {
                    true => self.wz(src, cook.half),
                    false => self.nz(src),
                };
                cook.at[index] = Some(register);
            }
            Node::Do(micro, operands, wide) => {
                let to = self.temp();
                self.micro(cook, micro, operands, (to, wide));
                cook.at[index] = Some(to);
            }
        }
        for (value, &last) in recipe.last.iter().enumerate().take(index + 1) {
            if let (true, Some(register)) = (last == index, cook.at[value]) {
                self.free(register);
            }
        }
    }

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
            let second = self.place_of(cook, b);
            self.e.asm.v3(two, to, first, second, None);
            return;
        }
        match micro {
            Micro::ShlBy(by) | Micro::ShrBy(by) | Micro::SarBy(by) => {
                let first = self.in_hand(cook, a, to);
                self.vi(shift(micro, wide), to, first, by.into());
            }
            Micro::Table(table) => self.table(cook, operands, to, table),
            Micro::Choose => {
                let (yes, no) = (self.place_of(cook, b), self.in_hand(cook, c, to));
                let room = self.temp();
                let holds = self.in_hand(cook, a, room);
                let blend = if wide { BLEND64 } else { BLEND };
                self.blendv(blend, to, no, yes, holds);
                self.free(room);
            }
            Micro::Compare(number) => {
                let first = self.in_hand(cook, a, to);
                let second = self.place_of(cook, b);
                let op = match wide {
                    true => Op::VEX_Vcmppd_ymm_ymm_ymmm256_imm8,
                    false => Op::VEX_Vcmpps_ymm_ymm_ymmm256_imm8,
                };
                self.e.asm.v3i(op, to, first, second, number.into(), None);
            }
            Micro::Float(arith, rounding) => {
                self.rounded(rounding, |s| s.arithmetic(cook, arith, operands, (to, wide)));
            }
            _ => {
                let first = self.in_hand(cook, a, to);
                self.convert_lanes(micro, to, first, wide);
            }
        }
    }

    /// Does something under another rounding of the processor.
    fn rounded(&mut self, rounding: RoundingControl, act: impl FnOnce(&mut Self)) {
        let switched = rounding != RoundingControl::RoundToNearest;
        if switched {
            self.round(rounding);
        }
        act(self);
        if switched {
            self.e.asm.m(Op::VEX_Vldmxcsr_m32, pointer(MODE));
        }
    }

    fn arithmetic(
        &mut self,
        cook: &Cook<'_>,
        arith: Arith,
        operands: [Value; 3],
        (to, wide): (Register, bool),
    ) {
        let [a, b, c] = operands;
        let op = arithmetic(arith, wide);
        match arith {
            Arith::Sqrt => {
                let first = self.place_of(cook, a);
                self.e.asm.v2(op, to, first, None);
            }
            Arith::Fma => {
                let first = self.place_of(cook, a);
                self.e.asm.v2(COPY, to, first, None);
                let room = self.temp();
                let (second, third) = (self.in_hand(cook, b, room), self.place_of(cook, c));
                self.e.asm.v3(op, to, second, third, None);
                self.free(room);
            }
            _ => {
                let first = self.in_hand(cook, a, to);
                let second = self.place_of(cook, b);
                self.e.asm.v3(op, to, first, second, None);
            }
        }
    }

    /// Any function of three bits: one of the last two where the first is 0, changed by another
    /// where it is not.
    fn table(&mut self, cook: &Cook<'_>, [a, b, c]: [Value; 3], to: Register, table: u8) {
        let (x, y, z) = (self.temp(), self.temp(), self.temp());
        let (rb, rc) = (self.in_hand(cook, b, y), self.in_hand(cook, c, z));
        let none = table & 0xf;
        let change = table >> 4 ^ none;
        self.of_two(none, to, rb, rc);
        if change != 0 {
            self.of_two(change, x, rb, rc);
            let first = self.place_of(cook, a);
            self.e.asm.v3(AND, x, x, first, None);
            self.vvv(XOR, to, to, x);
        }
        for register in [x, y, z] {
            self.free(register);
        }
    }

    /// A function of two bits by its truth table: bit `2 * a + b`.
    fn of_two(&mut self, table: u8, to: Register, a: Register, b: Register) {
        let complement = |s: &mut Self| s.vvq(XOR, to, to, u64::MAX);
        match table {
            0b0000 => self.zero(to),
            0b1111 => self.ones(to),
            0b1100 => self.copy(to, a),
            0b1010 => self.copy(to, b),
            0b1000 => self.vvv(AND, to, a, b),
            0b1110 => self.vvv(OR, to, a, b),
            0b0110 => self.vvv(XOR, to, a, b),
            0b0010 => self.vvv(ANDN, to, a, b),
            0b0100 => self.vvv(ANDN, to, b, a),
            other => {
                self.of_two(!other & 0xf, to, a, b);
                complement(self);
            }
        }
    }

    fn ones(&mut self, to: Register) {
        self.vvv(Op::VEX_Vpcmpeqd_ymm_ymm_ymmm256, to, to, to);
    }

    fn convert_lanes(&mut self, micro: Micro, to: Register, a: Register, wide: bool) {
        match micro {
            Micro::Integral(rounding) => {
                let op = match wide {
                    true => Op::VEX_Vroundpd_ymm_ymmm256_imm8,
                    false => Op::VEX_Vroundps_ymm_ymmm256_imm8,
                };
                self.vi(op, to, a, mode(rounding));
            }
            Micro::FloatOf(rounding) => self.rounded(rounding, |s| {
                s.e.asm.v2(Op::VEX_Vcvtdq2ps_ymm_ymmm256, to, V::Z(a), None);
            }),
            Micro::HalfOf(rounding) => {
                let op = Op::VEX_Vcvtps2ph_xmmm128_ymm_imm8;
                self.e.asm.rri(op, xmm(to), a, mode(rounding) & 3);
                self.e.asm.rr(Op::VEX_Vpmovzxwd_ymm_xmmm128, to, xmm(to));
            }
            Micro::OfHalf => {
                // The low halves of words side by side: in 16 bytes, then in all.
                let order = [0x0d0c_0908_0504_0100, u64::MAX];
                let order = self.e.pool.vector(std::array::from_fn(|i| order[i % 2]));
                self.e.asm.v3(Op::VEX_Vpshufb_ymm_ymm_ymmm256, to, a, V::M(R11, order), None);
                self.vi(Op::VEX_Vpermq_ymm_ymmm256_imm8, to, to, 0x08);
                self.e.asm.rr(Op::VEX_Vcvtph2ps_ymm_xmmm128, to, xmm(to));
            }
            Micro::Double => {
                self.low_words(to, a);
                self.e.asm.rr(Op::VEX_Vcvtps2pd_ymm_xmmm128, to, xmm(to));
            }
            Micro::Single(rounding) => {
                self.rounded(rounding, |s| {
                    s.e.asm.rr(Op::VEX_Vcvtpd2ps_xmm_ymmm256, xmm(to), a);
                });
                self.e.asm.rr(Op::VEX_Vpmovzxdq_ymm_xmmm128, to, xmm(to));
            }
            _ => {}
        }
    }

    /// The low words of 64-bit lanes, side by side.
    fn low_words(&mut self, to: Register, a: Register) {
        self.vi(Op::VEX_Vpshufd_ymm_ymmm256_imm8, to, a, 0x08);
        self.vi(Op::VEX_Vpermq_ymm_ymmm256_imm8, to, to, 0x08);
    }
}

/// What is one instruction on two operands.
fn two(micro: Micro, wide: bool) -> Option<Op> {
    Some(match (micro, wide) {
        (Micro::And, _) => AND,
        (Micro::Or, _) => OR,
        (Micro::Xor, _) => XOR,
        (Micro::AndNot, _) => ANDN,
        (Micro::Add, false) => Op::VEX_Vpaddd_ymm_ymm_ymmm256,
        (Micro::Add, true) => Op::VEX_Vpaddq_ymm_ymm_ymmm256,
        (Micro::Sub, false) => Op::VEX_Vpsubd_ymm_ymm_ymmm256,
        (Micro::Sub, true) => Op::VEX_Vpsubq_ymm_ymm_ymmm256,
        (Micro::Mul, false) => Op::VEX_Vpmulld_ymm_ymm_ymmm256,
        (Micro::Mul, true) => Op::VEX_Vpmuludq_ymm_ymm_ymmm256,
        (Micro::MulSigned, _) => Op::VEX_Vpmuldq_ymm_ymm_ymmm256,
        (Micro::Shl, false) => Op::VEX_Vpsllvd_ymm_ymm_ymmm256,
        (Micro::Shl, true) => Op::VEX_Vpsllvq_ymm_ymm_ymmm256,
        (Micro::Shr, false) => Op::VEX_Vpsrlvd_ymm_ymm_ymmm256,
        (Micro::Shr, true) => Op::VEX_Vpsrlvq_ymm_ymm_ymmm256,
        (Micro::Sar, _) => Op::VEX_Vpsravd_ymm_ymm_ymmm256,
        (Micro::MinU, _) => Op::VEX_Vpminud_ymm_ymm_ymmm256,
        (Micro::MinS, _) => Op::VEX_Vpminsd_ymm_ymm_ymmm256,
        (Micro::MaxS, _) => Op::VEX_Vpmaxsd_ymm_ymm_ymmm256,
        (Micro::Equal, false) => Op::VEX_Vpcmpeqd_ymm_ymm_ymmm256,
        (Micro::Equal, true) => Op::VEX_Vpcmpeqq_ymm_ymm_ymmm256,
        (Micro::Greater, false) => Op::VEX_Vpcmpgtd_ymm_ymm_ymmm256,
        (Micro::Greater, true) => Op::VEX_Vpcmpgtq_ymm_ymm_ymmm256,
        (Micro::Shuffle, _) => Op::VEX_Vpshufb_ymm_ymm_ymmm256,
        (Micro::Sub16, _) => Op::VEX_Vpsubw_ymm_ymm_ymmm256,
        (Micro::Dot16, _) => Op::VEX_Vpmaddwd_ymm_ymm_ymmm256,
        (Micro::FMin, false) => Op::VEX_Vminps_ymm_ymm_ymmm256,
        (Micro::FMin, true) => Op::VEX_Vminpd_ymm_ymm_ymmm256,
        (Micro::FMax, false) => Op::VEX_Vmaxps_ymm_ymm_ymmm256,
        (Micro::FMax, true) => Op::VEX_Vmaxpd_ymm_ymm_ymmm256,
        _ => return None,
    })
}

fn shift(micro: Micro, wide: bool) -> Op {
    match (micro, wide) {
        (Micro::ShlBy(_), false) => Op::VEX_Vpslld_ymm_ymm_imm8,
        (Micro::ShlBy(_), true) => Op::VEX_Vpsllq_ymm_ymm_imm8,
        (Micro::ShrBy(_), false) => Op::VEX_Vpsrld_ymm_ymm_imm8,
        (Micro::ShrBy(_), true) => Op::VEX_Vpsrlq_ymm_ymm_imm8,
        _ => Op::VEX_Vpsrad_ymm_ymm_imm8,
    }
}

fn arithmetic(arith: Arith, wide: bool) -> Op {
    match (arith, wide) {
        (Arith::Add, false) => Op::VEX_Vaddps_ymm_ymm_ymmm256,
        (Arith::Add, true) => Op::VEX_Vaddpd_ymm_ymm_ymmm256,
        (Arith::Sub, false) => Op::VEX_Vsubps_ymm_ymm_ymmm256,
        (Arith::Sub, true) => Op::VEX_Vsubpd_ymm_ymm_ymmm256,
        (Arith::Mul, false) => Op::VEX_Vmulps_ymm_ymm_ymmm256,
        (Arith::Mul, true) => Op::VEX_Vmulpd_ymm_ymm_ymmm256,
        (Arith::Div, false) => Op::VEX_Vdivps_ymm_ymm_ymmm256,
        (Arith::Div, true) => Op::VEX_Vdivpd_ymm_ymm_ymmm256,
        (Arith::Sqrt, false) => Op::VEX_Vsqrtps_ymm_ymmm256,
        (Arith::Sqrt, true) => Op::VEX_Vsqrtpd_ymm_ymmm256,
        (Arith::Fma, false) => Op::VEX_Vfmadd213ps_ymm_ymm_ymmm256,
        (Arith::Fma, true) => Op::VEX_Vfmadd213pd_ymm_ymm_ymmm256,
    }
}
