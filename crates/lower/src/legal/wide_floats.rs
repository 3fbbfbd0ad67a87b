//! Floats for machines with registers of all widths, where they lack an operation: binary16 and
//! bfloat16, and binary64 with roundings that the machine has not.
//!
//! Values go through words, in which the sequences of `half` and `double` compute; everything else
//! stays.

use super::Target;
use super::build::{Builder, replace_each};
use super::half::half;
use super::words::Words;
use crate::Missing;
use ir::op::Class;
use ir::{Function, Inst, LaneReg, Module, Op, Operand, Reg, RegTy, Ty};

/// The function with sequences for the operations on floats that the target lacks.
pub(super) fn floats(
    function: Function,
    module: &Module,
    target: Target,
) -> Result<Function, Missing> {
    let mut stage = Words::none(function, module);
    replace_each(&mut stage, |stage, inst| {
        let computes = computes_halves(&inst) || computes_doubles(&inst);
        if computes && !(target.has)(&inst) {
            return stage.by_words(&inst);
        }
        stage.builder.keep(inst);
        Ok(())
    })?;
    Ok(stage.builder.function)
}

fn computes_halves(inst: &Inst) -> bool {
    let is_half = |ty: Option<Ty>| ty.and_then(half).is_some();
    let moves = matches!(inst.op, Op::Mov | Op::Selp | Op::Pack | Op::Unpack);
    inst.op.info().class == Class::Compute && !moves && (is_half(inst.ty) || is_half(inst.ty2))
}

/// Operations for which `double` has a sequence.
fn computes_doubles(inst: &Inst) -> bool {
    match inst.op {
        Op::Cvt => converts_doubles(inst),
        Op::Add | Op::Sub | Op::Mul | Op::Fma | Op::Div | Op::Rcp | Op::Sqrt | Op::Copysign => {
            inst.ty == Some(Ty::F64)
        }
        _ => false,
    }
}

/// Whether a conversion has 64 bits on one side, and a float.
fn converts_doubles(inst: &Inst) -> bool {
    let [to, from] = [inst.ty, inst.ty2].map(|ty| ty.unwrap_or(Ty::B32));
    (to.is_float() || from.is_float()) && (to.bits() == 64 || from.bits() == 64)
}

impl AsMut<Builder> for Words<'_> {
    fn as_mut(&mut self) -> &mut Builder {
        &mut self.builder
    }
}

impl Words<'_> {
    /// The instruction on words, between conversions of its operands and results.
    fn by_words(&mut self, inst: &Inst) -> Result<(), Missing> {
        let mut words = inst.clone();
        for operand in &mut words.operands {
            let Operand::Reg(Reg::Lane(reg)) = *operand else { continue };
            match self.builder.function.regs[reg.index()].ty {
                RegTy::B16 => {
                    let word = converted(Ty::U32, Ty::U16, Operand::lane(reg));
                    *operand = self.builder.value(word);
                }
                RegTy::B64 => *operand = Operand::lane(self.split(reg)),
                _ => {}
            }
        }
        let mut results = Vec::new();
        for result in words.results.iter_mut().flatten() {
            let Reg::Lane(reg) = *result else { continue };
            let ty = self.builder.function.regs[reg.index()].ty;
            let word = match ty {
                RegTy::B16 => self.builder.temp(),
                RegTy::B64 => self.new_pair(),
                _ => continue,
            };
            results.push((word, reg, ty));
            *result = Reg::Lane(word);
        }
        self.computed(inst, &words)?;
        for (word, reg, ty) in results {
            let back = match ty {
                RegTy::B64 => self.joined(word),
                _ => converted(Ty::U16, Ty::U32, Operand::lane(word)),
            };
            self.builder.emit(back.result(Reg::Lane(reg)));
        }
        Ok(())
    }

    /// `words` is the instruction on words.
    fn computed(&mut self, inst: &Inst, words: &Inst) -> Result<(), Missing> {
        match inst.op {
            Op::Cvt if self.convert_half(words).is_some() => Ok(()),
            Op::Cvt if converts_doubles(inst) => self.convert_double(words),
            Op::Cvt => Err(self.no_conversion(inst)),
            _ if inst.ty == Some(Ty::F64) => self.double(words),
            _ => self.half(words, inst.ty.and_then(half).unwrap_or(Ty::F16)),
        }
    }

    /// The low word of a pair that has the value of a register of 64 bits.
    fn split(&mut self, reg: LaneReg) -> LaneReg {
        let low = self.new_pair();
        let mut unpack = Inst::new(Op::Unpack).ty(Ty::B64).operand(Operand::lane(reg));
        unpack.ty2 = Some(Ty::B32);
        let high = self.high_word(low);
        self.builder.emit(unpack.result(Reg::Lane(low)).result(Reg::Lane(high)));
        low
    }

    /// A pair as a value of 64 bits.
    fn joined(&mut self, low: LaneReg) -> Inst {
        let high = self.high_word(low);
        let mut pack = Inst::new(Op::Pack).ty(Ty::B64).operand(Operand::lane(low));
        pack.ty2 = Some(Ty::B32);
        pack.operand(Operand::lane(high))
    }

    fn no_conversion(&self, inst: &Inst) -> Missing {
        let (ty, from) = (inst.ty.unwrap_or(Ty::F16), inst.ty2.unwrap_or(Ty::F32));
        Missing { what: format!("conversion from {from} to {ty}"), loc: inst.loc }
    }
}

fn converted(ty: Ty, from: Ty, value: Operand) -> Inst {
    let mut cvt = Inst::new(Op::Cvt).ty(ty).operand(value);
    cvt.ty2 = Some(from);
    cvt
}
