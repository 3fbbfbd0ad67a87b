//! The first stage for values below a word: integers of 8 and 16 bits, conversions, packing.

use super::build::{Builder, word};
use super::words::{Words, missing};
use crate::Missing;
use ir::mods::{Flag, Rounding};
use ir::{Inst, Op, Operand, Reg, RegTy, Ty};

/// Whether a type is an integer or plain bits.
fn whole(ty: Ty) -> bool {
    matches!(
        ty,
        Ty::U8 | Ty::S8 | Ty::B8 | Ty::U16 | Ty::S16 | Ty::B16 | Ty::U32 | Ty::S32 | Ty::B32
    ) || matches!(ty, Ty::U64 | Ty::S64 | Ty::B64)
}

/// The low bits of a word as a value of a type, extended to the word.
fn extend(build: &mut Builder, value: Operand, ty: Ty) -> Operand {
    let bits = ty.bits();
    if bits >= 32 {
        return value;
    }
    if ty.is_signed() {
        let up = build.shl(value, word(32 - bits));
        build.sar(up, word(32 - bits))
    } else {
        build.and(value, word((1 << bits) - 1))
    }
}

impl Words<'_> {
    /// An operand of a small type, extended to a word.
    pub(super) fn extended(&mut self, inst: &Inst, index: usize, ty: Ty) -> Operand {
        let value = self.low(inst, index);
        // Small values are kept with zeros above them.
        let register = matches!(inst.operands.get(index), Some(Operand::Reg(_)));
        if register && !ty.is_signed() && self.width(inst, index).bits() == ty.bits() {
            return value;
        }
        extend(&mut self.builder, value, ty)
    }

    /// An operation on integers of 8 or 16 bits: on words, then the low bits.
    pub(super) fn narrow(&mut self, inst: &Inst, ty: Ty) -> Result<(), Missing> {
        let wide = if ty.is_signed() { Ty::S32 } else { Ty::U32 };
        let amount = matches!(inst.op, Op::Shl | Op::Shr);
        let count = inst.operands.len();
        let mut operands = Vec::with_capacity(count);
        for index in 0..count {
            let whole = (amount && index == 1) || (inst.op == Op::Selp && index == 2);
            operands.push(if whole || inst.op == Op::Sreg {
                inst.operands[index]
            } else {
                self.extended(inst, index, ty)
            });
        }
        let bitwise = matches!(inst.op, Op::And | Op::Or | Op::Xor | Op::Not | Op::AndNot);
        let value = match inst.op {
            Op::Setp => {
                let mut compare = Inst::new(Op::Setp).ty(wide);
                compare.operands.extend(operands[..2].iter().copied());
                compare.mods.cmp = inst.mods.cmp;
                let p = self.builder.holds(compare);
                self.put_predicates(inst, p);
                return Ok(());
            }
            Op::MulHi | Op::MadHi => {
                let product = self.builder.mul(operands[0], operands[1]);
                let high = match ty.is_signed() {
                    true => self.builder.sar(product, word(ty.bits())),
                    false => self.builder.shr(product, word(ty.bits())),
                };
                operands.get(2).map_or(high, |&c| self.builder.add(high, c))
            }
            Op::Sreg => self.builder.op(Op::Sreg, Ty::U32, &operands),
            Op::Slct => {
                let p = self.not_negative(inst, inst.ty2.unwrap_or(Ty::S32));
                self.builder.select(p, operands[0], operands[1])
            }
            Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Mad
            | Op::Div
            | Op::Rem
            | Op::Abs
            | Op::Neg
            | Op::Min
            | Op::Max
            | Op::Sad => self.builder.op(inst.op, wide, &operands),
            Op::And
            | Op::Or
            | Op::Xor
            | Op::Not
            | Op::AndNot
            | Op::Cnot
            | Op::Mov
            | Op::Selp
            | Op::Shl => self.builder.op(inst.op, Ty::B32, &operands),
            Op::Shr => self.builder.op(Op::Shr, wide, &operands),
            _ => return Err(missing(inst, &format!("operations on {ty} values"))),
        };
        let clean = !ty.is_signed()
            && (bitwise && inst.op != Op::Not || matches!(inst.op, Op::Mov | Op::Selp | Op::Shr));
        let value = if clean { value } else { self.builder.and(value, word((1 << ty.bits()) - 1)) };
        self.put_word(inst, value);
        Ok(())
    }

    pub(super) fn convert(&mut self, inst: &Inst) -> Result<(), Missing> {
        let (ty, from) = (inst.ty.unwrap_or(Ty::B32), inst.ty2.unwrap_or(Ty::B32));
        let what = || missing(inst, &format!("conversion from {from} to {ty}"));
        if inst.operands.len() != 1 {
            return Err(what());
        }
        let flags = inst.mods.flags;
        if whole(ty) && whole(from) {
            if flags.has(Flag::Sat) && !contains(ty, from) {
                return Err(missing(inst, "saturation"));
            }
            return self.convert_integer(inst, ty, from);
        }
        // Floats: on words, with the integers extended.
        if ty.bits() == 64 || from.bits() == 64 {
            return self.convert_double(inst);
        }
        let (operand, source) = match from {
            from if whole(from) => {
                let wide = if from.is_signed() { Ty::S32 } else { Ty::U32 };
                (self.extended(inst, 0, from), wide)
            }
            Ty::F32 => (self.low(inst, 0), Ty::F32),
            _ => return Err(what()),
        };
        match ty {
            Ty::F32 => {
                let mut convert = Inst::new(Op::Cvt).ty(Ty::F32).operand(operand);
                (convert.ty2, convert.mods) = (Some(source), inst.mods);
                let value = self.builder.value(convert);
                self.put_word(inst, value);
                Ok(())
            }
            Ty::U32 | Ty::S32 if source == Ty::F32 => {
                let mut convert = Inst::new(Op::Cvt).ty(ty).operand(operand);
                (convert.ty2, convert.mods) = (Some(source), inst.mods);
                let value = self.builder.value(convert);
                self.put_word(inst, value);
                self.extend_long(inst, ty, value);
                Ok(())
            }
            _ => Err(what()),
        }
    }

    /// The high word of a result that is wider than the type of the conversion.
    fn extend_long(&mut self, inst: &Inst, ty: Ty, low: Operand) {
        let wide = Self::result(inst, 0).is_some_and(|to| self.was(to) == RegTy::B64);
        if wide {
            let high = if ty.is_signed() { self.builder.sign(low) } else { word(0) };
            self.put_at(inst, 0, [low, high]);
        }
    }

    fn convert_integer(&mut self, inst: &Inst, ty: Ty, from: Ty) -> Result<(), Missing> {
        let mut value = if from.bits() == 64 {
            self.pair(inst, 0)
        } else {
            let low = self.extended(inst, 0, from);
            let high = if from.is_signed() { self.builder.sign(low) } else { word(0) };
            [low, high]
        };
        // The low bits are a value of the result's type, which its register extends by its sign.
        if ty.bits() < 64 {
            let fits = ty.bits() == 32 || contains(ty, from);
            let low = if fits { value[0] } else { extend(&mut self.builder, value[0], ty) };
            let high = if ty.is_signed() { self.builder.sign(low) } else { word(0) };
            value = [low, high];
        }
        let held = Self::result(inst, 0).map_or(RegTy::B32, |to| self.was(to)).bits();
        if held < 32 && (ty.is_signed() || from.is_signed()) {
            value[0] = self.builder.and(value[0], word((1 << held) - 1));
        }
        self.put_at(inst, 0, value);
        Ok(())
    }

    /// Values joined to a wider one, or a value split.
    pub(super) fn repack(&mut self, inst: &Inst) -> Result<(), Missing> {
        let (ty, part) = (inst.ty.unwrap_or(Ty::B32), inst.ty2.unwrap_or(Ty::B32));
        if ty.bits() > 64 || part.bits() > 32 {
            return Err(missing(inst, &format!("packing of {ty} values")));
        }
        let bits = part.bits();
        let per_word = 32 / bits;
        if inst.op == Op::Pack {
            let mut value = [word(0), word(0)];
            for index in 0..inst.operands.len() {
                let field = self.extended(inst, index, part);
                let index = index as u32;
                let at = self.builder.shl(field, word(index % per_word * bits));
                let half = &mut value[(index / per_word) as usize & 1];
                *half = self.builder.or(*half, at);
            }
            self.put_at(inst, 0, value);
            return Ok(());
        }
        let value = self.pair(inst, 0);
        let mut parts = Vec::with_capacity(inst.results.len());
        for index in 0..inst.results.len() as u32 {
            let half = value[(index / per_word) as usize & 1];
            let field = self.builder.shr(half, word(index % per_word * bits));
            let last = index % per_word == per_word - 1;
            let field = if last { field } else { extend(&mut self.builder, field, unsigned(bits)) };
            // The results may be what is split.
            let copied = matches!(field, Operand::Reg(Reg::Lane(reg)) if field == half
                && inst.results.contains(&Some(Reg::Lane(reg))));
            parts.push(match copied {
                true => self.builder.op(Op::Mov, Ty::B32, &[field]),
                false => field,
            });
        }
        for (index, part) in parts.into_iter().enumerate() {
            self.put_at(inst, index, [part, word(0)]);
        }
        Ok(())
    }
}

fn unsigned(bits: u32) -> Ty {
    match bits {
        8 => Ty::U8,
        16 => Ty::U16,
        _ => Ty::U32,
    }
}

/// Whether each value of `from` is one of `to`.
fn contains(to: Ty, from: Ty) -> bool {
    match (to.is_signed(), from.is_signed()) {
        (true, true) | (false, false) => to.bits() >= from.bits(),
        (true, false) => to.bits() > from.bits(),
        (false, true) => false,
    }
}

/// Whether a rounding gives an integral value.
pub(super) fn integral(rounding: Option<Rounding>) -> bool {
    matches!(rounding, Some(Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi))
}
