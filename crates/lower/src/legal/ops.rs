//! The second stage: operations on words that the target lacks become other ones.
//!
//! Each expansion is one level; what it emits is looked at again, until the target has all of it.

use super::Target;
use super::build::Builder;
use crate::Missing;
use ir::{Function, Inst, LaneReg, Operand, Reg, Ty};

/// Most levels of expansions inside one another. No chain in the tables is as long.
const MAX_LEVELS: usize = 16;

/// The function with the target's operations alone.
pub(super) fn legal(mut function: Function, target: Target) -> Result<Function, Missing> {
    let blocks = std::mem::take(&mut function.blocks);
    let mut stage = Stage { builder: Builder::new(function), target };
    let mut done = Vec::with_capacity(blocks.len());
    for mut block in blocks {
        let mut out = Vec::with_capacity(block.insts.len());
        for inst in block.insts {
            stage.inst(inst, 0, &mut out)?;
        }
        block.insts = out;
        done.push(block);
    }
    let mut function = stage.builder.function;
    function.blocks = done;
    Ok(function)
}

struct Stage {
    builder: Builder,
    target: Target,
}

impl Stage {
    fn inst(&mut self, inst: Inst, level: usize, out: &mut Vec<Inst>) -> Result<(), Missing> {
        if (self.target.has)(&inst) {
            out.push(inst);
            return Ok(());
        }
        self.builder.stand_for(&inst);
        if level == MAX_LEVELS || !self.builder.expand(&inst) {
            self.builder.insts.clear();
            let ty = inst.ty.map_or(String::new(), |ty| format!(".{ty}"));
            let what = format!("operation `{}{ty}`", inst.op.name());
            return Err(Missing { what, loc: inst.loc });
        }
        for made in std::mem::take(&mut self.builder.insts) {
            self.inst(made, level + 1, out)?;
        }
        Ok(())
    }
}

impl Builder {
    /// Emits a sequence for an instruction; returns false if there is none.
    fn expand(&mut self, inst: &Inst) -> bool {
        let ty = inst.ty.unwrap_or(Ty::B32);
        let float = ty == Ty::F32 || inst.ty2 == Some(Ty::F32);
        let done = if float { self.expand_float(inst) } else { self.expand_integer(inst) };
        done.is_some()
    }
}

/// The register of a result.
pub(super) fn result(inst: &Inst, index: usize) -> Option<LaneReg> {
    match inst.results.get(index).copied().flatten() {
        Some(Reg::Lane(reg)) => Some(reg),
        _ => None,
    }
}

/// An operand of an instruction; zero if it is not there.
pub(super) fn operand(inst: &Inst, index: usize) -> Operand {
    inst.operands.get(index).copied().unwrap_or(Operand::Imm(0))
}
