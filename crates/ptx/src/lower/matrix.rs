//! `mma`, `wmma`, `ldmatrix` and `stmatrix`: vectors of registers that hold fragments of matrices.

use ir::mods::{Flag, Space as IrSpace};
use ir::{Inst, Op, Origin, Reg};
use simt::matrix::{Fragment, Metadata};

use super::address::Address;
use super::function::Body;
use super::modifiers::space;
use super::{Failed, Lowering};
use crate::ast::{Instruction, Operand, OperandKind, Type};
use crate::spelling::{
    Kind, Special, Spelled, Target, fragment_mods, matrix_mods, register_type, tiles,
};

impl<'t> Body<'_, 't> {
    /// Returns the elements of `{a, b}`, whose number must be `count`.
    fn registers(&mut self, operand: &Operand, count: usize) -> Lowering<&'t [Operand]> {
        let tree = self.cx.tree;
        match operand.kind {
            OperandKind::Vector(parts) if parts.len() == count => Ok(&tree.operands[parts]),
            _ => {
                let message = match count {
                    1 => "a vector of one register is needed".to_owned(),
                    _ => format!("a vector of {count} registers is needed"),
                };
                let label = match operand.kind {
                    OperandKind::Vector(parts) => format!("{} given", parts.len()),
                    _ => "not in braces".to_owned(),
                };
                self.cx.error("ptx::matrix", message, operand.span, &label)
            }
        }
    }

    /// Registers that are written.
    pub(super) fn written_registers(
        &mut self,
        inst: &mut Inst,
        operand: &Operand,
        ty: Type,
        count: usize,
    ) -> Lowering<()> {
        for part in self.registers(operand, count)? {
            let reg = self.destination(part, ty, false, true)?.map(Reg::Lane);
            // Of two writes to one register the last wins.
            for earlier in inst.results.iter_mut().filter(|r| **r == reg) {
                *earlier = None;
            }
            inst.results.push(reg);
        }
        Ok(())
    }

    /// Registers that are read.
    pub(super) fn read_registers(
        &mut self,
        inst: &mut Inst,
        operand: &Operand,
        ty: Type,
        count: usize,
    ) -> Lowering<()> {
        for part in self.registers(operand, count)? {
            let value = self.source(part, ty, false)?;
            inst.operands.push(value);
        }
        Ok(())
    }

    /// `mma`, `mma.sp` and `wmma.mma`.
    pub(super) fn mma(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        let tree = self.cx.tree;
        let mods = matrix_mods(s).ok_or(Failed)?;
        let product = ir::matrix::product(&mods).ok_or(Failed)?;
        let metadata = product.metadata();
        let count = if metadata.is_some() { 6 } else { 4 };
        self.count(i, count, count)?;
        let mut inst = Inst::new(Op::Mma).ty(ir::matrix::register_ty(product.elements[0]));
        inst.mods = mods;
        let all = &tree.operands[i.operands];
        let of = |f: Fragment| (register_type(f.element), f.registers());
        let (ty, count) = of(product.d());
        let mut wrong = self.written_registers(&mut inst, &all[0], ty, count).is_err();
        for (operand, f) in all[1..].iter().zip([product.a(), product.b(), product.c()]) {
            let (ty, count) = of(f);
            wrong |= self.read_registers(&mut inst, operand, ty, count).is_err();
        }
        if let (Some(metadata), [.., word, selector]) = (metadata, all) {
            wrong |= self.sparsity(&mut inst, metadata, [word, selector]).is_err();
        }
        if wrong {
            return Err(Failed);
        }
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// The last operands of `mma.sp`: the register with metadata, and the selector.
    pub(super) fn sparsity(
        &mut self,
        inst: &mut Inst,
        metadata: Metadata,
        [word, selector]: [&Operand; 2],
    ) -> Lowering<()> {
        let found = self.source(word, Type::B32, false)?;
        if matches!(found, ir::Operand::Imm(_)) {
            let message = "sparsity metadata is in a register";
            return self.cx.error("ptx::operand", message, word.span, "a register is needed");
        }
        let by = self.immediate(selector)?;
        let count = metadata.selectors();
        if !matches!(by, ir::Operand::Imm(by) if by < count as u128) {
            let message = match count {
                1 => "the sparsity selector of this shape is 0".to_owned(),
                _ => format!("the sparsity selector of this shape is 0 to {}", count - 1),
            };
            let label = match metadata.lanes() {
                1 => "one of each four lanes has metadata",
                2 => "two of each four lanes have metadata",
                _ => "all lanes have metadata",
            };
            return self.cx.error("ptx::matrix", message, selector.span, label);
        }
        inst.operands.extend([found, by]);
        Ok(())
    }

    /// `ldmatrix` and `stmatrix`.
    pub(super) fn tiles(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        self.count(i, 2, 2)?;
        let all = &self.cx.tree.operands[i.operands];
        let loads = s.form.target == Target::Special(Special::LdMatrix);
        let mut inst = Inst::new(if loads { Op::LdMatrix } else { Op::StMatrix });
        if s.has(Kind::Trans) {
            inst.mods.flags = inst.mods.flags.with(Flag::Trans);
        }
        let (format, count) = tiles(s);
        inst.mods.tile = format;
        let (place, vector) = if loads { (&all[1], &all[0]) } else { (&all[0], &all[1]) };
        self.place(&mut inst, s, place)?;
        let shared = matches!(inst.mods.space, None | Some(IrSpace::Generic | IrSpace::Shared));
        if !shared {
            let message = "tiles of matrices are in shared memory";
            return self.cx.error("ptx::space", message, place.span, "in another state space");
        }
        match loads {
            true => self.written_registers(&mut inst, vector, Type::B32, count)?,
            false => self.read_registers(&mut inst, vector, Type::B32, count)?,
        }
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// `wmma.load` and `wmma.store`.
    pub(super) fn fragment_access(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        self.count(i, 2, 3)?;
        let all = &self.cx.tree.operands[i.operands];
        let (mods, fragment) = fragment_mods(s).ok_or(Failed)?;
        let loads = s.form.target == Target::Special(Special::WmmaLoad);
        let mut inst = Inst::new(if loads { Op::WmmaLoad } else { Op::WmmaStore });
        inst.ty = Some(ir::matrix::register_ty(fragment.element));
        inst.ty2 = ir::Ty::from_name(s.ty().word());
        inst.mods = mods;
        let (place, vector) = if loads { (&all[1], &all[0]) } else { (&all[0], &all[1]) };
        self.place(&mut inst, s, place)?;
        let stride = match all.get(2) {
            Some(stride) => self.source(stride, Type::U32, false)?,
            None => {
                let by_rows = s.word(Kind::LayoutA) == Some("row");
                let tight = if by_rows { fragment.columns() } else { fragment.rows() };
                ir::Operand::Imm(tight as u128)
            }
        };
        inst.operands.push(stride);
        let (ty, count) = (register_type(fragment.element), fragment.registers());
        match loads {
            true => self.written_registers(&mut inst, vector, ty, count)?,
            false => self.read_registers(&mut inst, vector, ty, count)?,
        }
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// Adds the address of a load or store.
    fn place(&mut self, inst: &mut Inst, s: &Spelled, operand: &Operand) -> Lowering<()> {
        let Address::Memory { base, offset, space: found } = self.address(operand)? else {
            let message = "matrices are in shared or global memory";
            return self.cx.error("ptx::space", message, operand.span, "a parameter is not");
        };
        let written = s.word(Kind::Space).and_then(space);
        inst.mods.space = self.access_space(operand, written, found)?;
        let reachable = matches!(
            inst.mods.space,
            None | Some(IrSpace::Generic | IrSpace::Global | IrSpace::Shared)
        );
        if !reachable {
            let message = "matrices are in shared or global memory";
            return self.cx.error("ptx::space", message, operand.span, "in another state space");
        }
        inst.operands.push(base);
        inst.offset = offset;
        Ok(())
    }
}
