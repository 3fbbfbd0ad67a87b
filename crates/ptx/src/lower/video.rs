//! Scalar video instructions: `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`, `vshl`, `vshr`, `vmad`
//! and `vset`.
//!
//! They become arithmetic on 64-bit integers, in the steps of the PTX ISA ("Video Instructions"):
//! bytes, halves or words of the sources are extended by their types; one operation gives a signed
//! result of 34 bits; `.sat` clamps it to the destination's range; a secondary operation combines
//! it with the third operand, or its low part replaces a part of that operand. Instructions on
//! several elements of a word are in [`simd`].

mod simd;

use ir::mods::Cmp;
use ir::{Inst, LaneReg, Op, Operand as Value, Origin, Reg, RegTy, Ty};

use super::Lowering;
use super::emit::inst;
use super::function::Body;
use super::names::Found;
use crate::ast::{Instruction, Operand, OperandKind, Operator, Type};
use crate::names::Symbol;
use crate::spelling::{Kind, Spelled};

/// Bits of an intermediate result.
const INTERMEDIATE: u32 = 34;

/// The greatest product that must be distinguished from greater ones before it is clamped: results
/// are shifted by 15 bits at most, and clamped to 32.
const LARGE: u64 = 1 << 62;

/// A part of a word: position and length in bits.
#[derive(Clone, Copy, Debug)]
struct Part {
    at: u32,
    bits: u32,
}

impl Part {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "b0" => Self { at: 0, bits: 8 },
            "b1" => Self { at: 8, bits: 8 },
            "b2" => Self { at: 16, bits: 8 },
            "b3" => Self { at: 24, bits: 8 },
            "h0" => Self { at: 0, bits: 16 },
            "h1" => Self { at: 16, bits: 16 },
            _ => return None,
        })
    }
}

impl Body<'_, '_> {
    pub(super) fn video(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        match s.form.opcode {
            "vmad" => self.video_product(s, i),
            opcode if opcode.ends_with(['2', '4']) => self.video_elements(s, i),
            _ => self.video_sum(s, i),
        }
    }

    /// All of them but `vmad`.
    fn video_sum(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        let secondary = s.word(Kind::SecondaryOp);
        self.count(i, 3 + usize::from(secondary.is_some()), 4)?;
        let all = &self.cx.tree.operands[i.operands];
        let (to, part) = self.selected(&all[0])?;
        if part.is_some() && (secondary.is_some() || all.len() < 4) {
            let message =
                "a part of the destination needs a third source and no secondary operation";
            return self.cx.error("ptx::operand", message, all[0].span, "a part is selected");
        }
        let to = self.destination(&to, Type::U32, false, false)?;
        // The result of a comparison has no sign.
        let compares = s.form.opcode == "vset";
        let sources = if compares { &s.types[..] } else { &s.types[1..] };
        let ty = if compares { Type::U32 } else { s.ty() };
        let a = self.video_source(&all[1], sources[0])?;
        let b = self.video_source(&all[2], sources[1])?;
        let third = all.get(3).map(|c| self.source(c, Type::U32, false)).transpose()?;
        let Some(to) = to else { return Ok(()) };
        let mut value = self.intermediate(s, a, b);
        if s.has(Kind::Sat) {
            value = self.saturated(value, ty == Type::S32, part.map_or(32, |p| p.bits));
        }
        if let (Some(word), Some(third)) = (secondary, third) {
            let third = self.extended(third, ty);
            let op = match word {
                "add" => Op::Add,
                "min" => Op::Min,
                _ => Op::Max,
            };
            value = self.wide(op, Ty::S64, &[value, third]);
        }
        self.video_result(to, value, part, third);
        Ok(())
    }

    /// Computes the result before it is clamped: a signed 64-bit integer.
    fn intermediate(&mut self, s: &Spelled, a: Value, b: Value) -> Value {
        match s.form.opcode {
            "vadd" => self.wide(Op::Add, Ty::S64, &[a, b]),
            "vsub" => self.wide(Op::Sub, Ty::S64, &[a, b]),
            "vmin" => self.wide(Op::Min, Ty::S64, &[a, b]),
            "vmax" => self.wide(Op::Max, Ty::S64, &[a, b]),
            "vabsdiff" => {
                let difference = self.wide(Op::Sub, Ty::S64, &[a, b]);
                self.wide(Op::Abs, Ty::S64, &[difference])
            }
            "vset" => self.comparison(s, Ty::S64, RegTy::B64, [a, b]),
            _ => self.shift(s, a, b),
        }
    }

    /// 1 if a comparison of integers of a type holds, else 0.
    fn comparison(&mut self, s: &Spelled, ty: Ty, reg: RegTy, [a, b]: [Value; 2]) -> Value {
        let holds = self.code.temporary(RegTy::Pred);
        let mut setp = inst(Op::Setp, Some(ty), holds, &[a, b]);
        setp.mods.cmp = s.word(Kind::IntegerCmp).and_then(Cmp::from_word);
        self.emit(setp, Origin::Lowering);
        self.step(Op::Selp, ty, reg, &[Value::Imm(1), Value::Imm(0), Value::lane(holds)])
    }

    /// `vshl` and `vshr`. Bits shifted out of the intermediate result are lost.
    fn shift(&mut self, s: &Spelled, a: Value, b: Value) -> Value {
        let amount = match s.word(Kind::ShiftMode) {
            Some("wrap") => self.wide(Op::And, Ty::B64, &[b, Value::Imm(31)]),
            _ => self.wide(Op::Min, Ty::U64, &[b, Value::Imm(32)]),
        };
        let amount = self.narrow(amount);
        if s.form.opcode == "vshr" {
            return self.wide(Op::Shr, Ty::S64, &[a, amount]);
        }
        let shifted = self.wide(Op::Shl, Ty::B64, &[a, amount]);
        let rest = Value::Imm((64 - INTERMEDIATE).into());
        let shifted = self.wide(Op::Shl, Ty::B64, &[shifted, rest]);
        self.wide(Op::Shr, Ty::S64, &[shifted, rest])
    }

    /// `vmad`: a product with a sign of its own, plus the third operand, scaled and clamped.
    fn video_product(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        self.count(i, 4, 4)?;
        let all = &self.cx.tree.operands[i.operands];
        let to = self.destination(&all[0], Type::U32, false, false)?;
        let (a, negated_a) = self.negated(&all[1]);
        let (b, negated_b) = self.negated(&all[2]);
        let (c, negated_c) = self.negated(&all[3]);
        let negated = negated_a != negated_b;
        let plus_one = s.has(Kind::PlusOne);
        if negated && negated_c || plus_one && (negated_a || negated_b || negated_c) {
            let message = "the product or the third operand can be negated, and neither with `.po`";
            return self.cx.error("ptx::operand", message, i.span, "negated too often");
        }
        let signed = s.types[1] == Type::S32 || s.types[2] == Type::S32;
        let last_signed = signed || negated || negated_c;
        let a = self.video_source(&a, s.types[1])?;
        let b = self.video_source(&b, s.types[2])?;
        let c = self.source(&c, Type::U32, false)?;
        let Some(to) = to else { return Ok(()) };
        let mut product = self.wide(Op::Mul, Ty::U64, &[a, b]);
        // Without signs a product may take all 64 bits, so that its negation does not fit.
        if s.has(Kind::Sat) && !signed && last_signed {
            product = self.wide(Op::Min, Ty::U64, &[product, Value::Imm(LARGE.into())]);
        }
        if negated {
            product = self.wide(Op::Not, Ty::B64, &[product]);
        }
        let c = if negated_c { self.word(Op::Not, Ty::B32, &[c]) } else { c };
        let c = self.extended(c, if last_signed { Type::S32 } else { Type::U32 });
        let mut sum = self.wide(Op::Add, Ty::U64, &[product, c]);
        if negated || negated_c || plus_one {
            sum = self.wide(Op::Add, Ty::U64, &[sum, Value::Imm(1)]);
        }
        let ty = if last_signed { Ty::S64 } else { Ty::U64 };
        if let Some(scale) = s.word(Kind::Scale) {
            let amount = if scale == "shr7" { 7 } else { 15 };
            sum = self.wide(Op::Shr, ty, &[sum, Value::Imm(amount)]);
        }
        if s.has(Kind::Sat) && last_signed {
            sum = self.saturated(sum, true, 32);
        } else if s.has(Kind::Sat) {
            sum = self.wide(Op::Min, Ty::U64, &[sum, Value::Imm(u32::MAX.into())]);
        }
        self.video_result(to, sum, None, None);
        Ok(())
    }

    /// Writes the result: its low word, or its low part in place of that of the third operand.
    fn video_result(&mut self, to: LaneReg, value: Value, part: Option<Part>, c: Option<Value>) {
        let (Some(part), Some(c)) = (part, c) else {
            let mut cvt = inst(Op::Cvt, Some(Ty::U32), to, &[value]);
            cvt.ty2 = Some(Ty::U64);
            return self.emit(cvt, Origin::Source);
        };
        let low = self.narrow(value);
        let place = [part.at, part.bits].map(|bits| Value::Imm(bits.into()));
        let operands = [low, c, place[0], place[1]];
        self.emit(inst(Op::Bfi, Some(Ty::B32), to, &operands), Origin::Source);
    }

    /// Clamps to the range of `bits` bits, signed or not.
    fn saturated(&mut self, value: Value, signed: bool, bits: u32) -> Value {
        let range = 1_i64 << bits;
        let (least, most) = if signed { (-range / 2, range / 2 - 1) } else { (0, range - 1) };
        let [least, most] = [least, most].map(|v| Value::Imm(v.cast_unsigned().into()));
        let value = self.wide(Op::Max, Ty::S64, &[value, least]);
        self.wide(Op::Min, Ty::S64, &[value, most])
    }

    // Operands.

    /// A source, or the part of it that a selector names, extended to 64 bits.
    fn video_source(&mut self, operand: &Operand, ty: Type) -> Lowering<Value> {
        let (operand, part) = self.selected(operand)?;
        let mut value = self.source(&operand, ty, false)?;
        if let Some(part) = part {
            let place = [part.at, part.bits].map(|bits| Value::Imm(bits.into()));
            let of = if ty == Type::S32 { Ty::S32 } else { Ty::U32 };
            value = self.word(Op::Bfe, of, &[value, place[0], place[1]]);
        }
        Ok(self.extended(value, ty))
    }

    /// Splits an operand into the register and the part that its selector names.
    fn selected(&mut self, operand: &Operand) -> Lowering<(Operand, Option<Part>)> {
        let OperandKind::Member(name, selector) = operand.kind else {
            return Ok((operand.clone(), None));
        };
        if !self.is_scalar_register(name) {
            return Ok((operand.clone(), None));
        }
        let word = self.cx.tree.name(selector);
        let Some(part) = Part::of(word) else {
            let message = format!("`.{word}` selects no part of a register");
            let label = "`.b0` to `.b3`, `.h0` or `.h1` is possible";
            return self.cx.error("ptx::operand", message, operand.span, label);
        };
        Ok((Operand { kind: OperandKind::Name(name), span: operand.span }, Some(part)))
    }

    fn is_scalar_register(&self, name: Symbol) -> bool {
        matches!(self.scopes.find(self.cx.tree, name), Some(Found::Register(_, _, 1, _)))
    }

    /// Splits the minus sign from an operand of `vmad`. That of a constant is part of the constant.
    fn negated(&self, operand: &Operand) -> (Operand, bool) {
        let tree = self.cx.tree;
        match operand.kind {
            OperandKind::Neg(name) => {
                (Operand { kind: OperandKind::Name(name), span: operand.span }, true)
            }
            OperandKind::Expression(id) if tree.expressions[id].op == Operator::Neg => {
                match &tree.operands[tree.expressions[id].args] {
                    [of] if matches!(of.kind, OperandKind::Member(..)) => (of.clone(), true),
                    _ => (operand.clone(), false),
                }
            }
            _ => (operand.clone(), false),
        }
    }

    // Steps.

    /// A word in 64 bits, by the sign of its type.
    fn extended(&mut self, value: Value, ty: Type) -> Value {
        let signed = ty == Type::S32;
        if let Value::Imm(bits) = value {
            let word = bits as u32;
            let wide = if signed { i64::from(word as i32).cast_unsigned() } else { word.into() };
            return Value::Imm(wide.into());
        }
        let to = self.code.temporary(RegTy::B64);
        let mut cvt = inst(Op::Cvt, Some(Ty::S64), to, &[value]);
        cvt.ty2 = Some(if signed { Ty::S32 } else { Ty::U32 });
        self.emit(cvt, Origin::Lowering);
        Value::lane(to)
    }

    /// The low word of 64 bits.
    fn narrow(&mut self, value: Value) -> Value {
        let to = self.code.temporary(RegTy::B32);
        let mut cvt = inst(Op::Cvt, Some(Ty::U32), to, &[value]);
        cvt.ty2 = Some(Ty::U64);
        self.emit(cvt, Origin::Lowering);
        Value::lane(to)
    }

    fn wide(&mut self, op: Op, ty: Ty, operands: &[Value]) -> Value {
        self.step(op, ty, RegTy::B64, operands)
    }

    fn word(&mut self, op: Op, ty: Ty, operands: &[Value]) -> Value {
        self.step(op, ty, RegTy::B32, operands)
    }

    fn step(&mut self, op: Op, ty: Ty, reg: RegTy, operands: &[Value]) -> Value {
        let to = self.code.temporary(reg);
        let mut step = Inst::new(op).ty(ty).result(Reg::Lane(to));
        step.operands.extend_from_slice(operands);
        self.emit(step, Origin::Lowering);
        Value::lane(to)
    }
}
