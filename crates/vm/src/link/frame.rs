//! The function being linked: rows of its registers, places of its blocks, operands resolved.

use super::{Linked, operand_error};
use crate::code::{GuardRow, Rows, Src};
use crate::program::function_address;
use ir::module::Signature;
use ir::{Function, Guard, Inst, LaneReg, Operand, Reg, RegTy, Symbol, Ty, WarpReg};
use rustc_hash::FxHashMap;
use simt::Pc;
use smallvec::{SmallVec, smallvec};

/// The layout of the function being linked.
pub(super) struct Frame<'m> {
    pub(super) function: &'m Function,
    /// First row of each register.
    pub(super) rows: Vec<u32>,
    pub(super) next_row: u32,
    pub(super) local_rows: FxHashMap<i64, u32>,
    pub(super) scratch: u32,
    /// First of two scalars for discarded results of uniform instructions.
    pub(super) warp_scratch: u32,
    /// First index of each warp register in its file.
    pub(super) warp: Vec<u32>,
    pub(super) spill_base: u32,
    pub(super) block_pcs: Vec<Pc>,
    pub(super) callees: Vec<u32>,
    pub(super) shared: Vec<u32>,
    pub(super) reserved_shared: bool,
    pub(super) indirect: bool,
}

impl Frame<'_> {
    pub(super) fn guard(&self, guard: Guard) -> GuardRow {
        GuardRow { row: self.rows[guard.pred.index()], negated: guard.negated }
    }

    pub(super) fn reg_ty(&self, reg: LaneReg) -> RegTy {
        self.function.regs.get(reg.index()).map_or(RegTy::B64, |r| r.ty)
    }

    /// Rows of a register: one, or low and high.
    pub(super) fn rows_of(&self, reg: LaneReg) -> Rows {
        let row = self.rows[reg.index()];
        if self.reg_ty(reg) == RegTy::B128 { smallvec![row, row + 1] } else { smallvec![row] }
    }

    /// Indices of a warp register in its file: one, or low and high.
    fn scalars_of(&self, reg: WarpReg) -> Rows {
        let index = self.warp[reg.index()];
        let ty = self.function.warp_regs.get(reg.index()).map(|r| r.ty);
        if ty == Some(RegTy::B128) { smallvec![index, index + 1] } else { smallvec![index] }
    }

    pub(super) fn all_rows(&self, regs: &[LaneReg]) -> Rows {
        regs.iter().flat_map(|&r| self.rows_of(r)).collect()
    }

    /// Rows, or warp-file indices, of an instruction's results; discarded ones go to the scratch
    /// rows.
    pub(super) fn results(&self, inst: &Inst) -> Linked<Rows> {
        let mut out = Rows::new();
        let scratch = if inst.is_uniform() { self.warp_scratch } else { self.scratch };
        for (i, result) in inst.results.iter().enumerate() {
            match *result {
                Some(Reg::Lane(reg)) => out.extend(self.rows_of(reg)),
                Some(Reg::Warp(reg)) => out.extend(self.scalars_of(reg)),
                None => {
                    out.push(scratch);
                    // The parts of a split 128-bit value are narrower.
                    let ty = inst.result_slot(i).and_then(|slot| inst.slot_ty(slot));
                    if ty == Some(Ty::B128) {
                        out.push(scratch + 1);
                    }
                }
            }
        }
        Ok(out)
    }

    /// The type of the first register that is written.
    pub(super) fn result_ty(&self, inst: &Inst) -> RegTy {
        match inst.first_written() {
            Some(Reg::Lane(reg)) => self.reg_ty(reg),
            Some(Reg::Warp(reg)) => {
                self.function.warp_regs.get(reg.index()).map_or(RegTy::B64, |r| r.ty)
            }
            None => RegTy::B64,
        }
    }

    /// An operand of up to 64 bits.
    pub(super) fn src(&mut self, operand: &Operand) -> Option<Src> {
        Some(match *operand {
            Operand::Reg(Reg::Lane(reg)) => Src::Row(self.rows[reg.index()]),
            Operand::Reg(Reg::Warp(reg)) => Src::Scalar(self.warp[reg.index()]),
            Operand::Imm(bits) => Src::Const(bits as u64),
            Operand::Symbol(Symbol::Var(v), offset) => Src::Var(v.0, offset),
            Operand::Symbol(Symbol::Func(f), offset) => {
                Src::Const(function_address(f.0).wrapping_add_signed(offset))
            }
            Operand::Symbol(Symbol::Param(p), offset) => {
                let Signature::Kernel { params, .. } = &self.function.signature else {
                    return None;
                };
                Src::Const(u64::from(params.get(p as usize)?.offset).wrapping_add_signed(offset))
            }
            Operand::Symbol(Symbol::Local(l), offset) => {
                let at =
                    i64::from(self.function.locals.get(l as usize)?.offset).checked_add(offset)?;
                let next_row = &mut self.next_row;
                let row = *self.local_rows.entry(at).or_insert_with(|| {
                    *next_row += 1;
                    *next_row - 1
                });
                Src::Row(row)
            }
            Operand::Sreg(_) | Operand::Func(_) | Operand::Block(_) => return None,
        })
    }

    /// An operand as one source, or two if it is of 128 bits.
    pub(super) fn flatten(
        &mut self,
        operand: &Operand,
        ty: Option<Ty>,
        out: &mut SmallVec<[Src; 4]>,
    ) -> Result<(), ()> {
        match *operand {
            Operand::Reg(Reg::Lane(reg)) => out.extend(self.rows_of(reg).into_iter().map(Src::Row)),
            Operand::Reg(Reg::Warp(reg)) => {
                out.extend(self.scalars_of(reg).into_iter().map(Src::Scalar));
            }
            Operand::Imm(bits) if ty == Some(Ty::B128) => {
                out.extend([Src::Const(bits as u64), Src::Const((bits >> 64) as u64)]);
            }
            _ => out.push(self.src(operand).ok_or(())?),
        }
        Ok(())
    }

    pub(super) fn operand(&mut self, inst: &Inst, index: usize) -> Linked<Src> {
        let operand = inst.operands.get(index).ok_or_else(|| operand_error(inst, index))?;
        self.src(operand).ok_or_else(|| operand_error(inst, index))
    }

    pub(super) fn immediate(&self, inst: &Inst, index: usize) -> Linked<u32> {
        match inst.operands.get(index) {
            Some(Operand::Imm(bits)) => {
                u32::try_from(*bits).map_err(|_| operand_error(inst, index))
            }
            _ => Err(operand_error(inst, index)),
        }
    }
}
