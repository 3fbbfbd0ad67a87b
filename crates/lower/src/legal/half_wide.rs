//! binary16 and bfloat16 for machines with registers of all widths, where they lack an operation.
//!
//! Values go through words, in which the sequences of `half` compute; everything else stays.

use super::Target;
use super::build::{Builder, replace_each};
use super::half::half;
use super::words::Words;
use crate::Missing;
use ir::op::Class;
use ir::{Function, Inst, Module, Op, Operand, Reg, RegTy, Ty};

/// The function with sequences for the operations on numbers of 16 bits that the target lacks.
pub(super) fn halves(
    function: Function,
    module: &Module,
    target: Target,
) -> Result<Function, Missing> {
    let mut stage = Words::none(function, module);
    replace_each(&mut stage, |stage, inst| {
        if computes_halves(&inst) && !(target.has)(&inst) {
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
            if let Operand::Reg(Reg::Lane(reg)) = *operand
                && self.builder.function.regs[reg.index()].ty == RegTy::B16
            {
                *operand = self.builder.value(converted(Ty::U32, Ty::U16, Operand::lane(reg)));
            }
        }
        let mut narrow = Vec::new();
        for result in words.results.iter_mut().flatten() {
            if let Reg::Lane(reg) = *result
                && self.builder.function.regs[reg.index()].ty == RegTy::B16
            {
                let word = self.builder.temp();
                narrow.push((word, reg));
                *result = Reg::Lane(word);
            }
        }
        let format = inst.ty.and_then(half).unwrap_or(Ty::F16);
        match inst.op {
            Op::Cvt => self.convert_half(&words).ok_or_else(|| self.no_conversion(inst))?,
            _ => self.half(&words, format)?,
        }
        for (word, reg) in narrow {
            let back = converted(Ty::U16, Ty::U32, Operand::lane(word));
            self.builder.emit(back.result(Reg::Lane(reg)));
        }
        Ok(())
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
