//! `wgmma`: products of warp groups.

use ir::mods::Flag;
use ir::{Inst, Op, Origin};
use simt::matrix::{A_REGISTERS, GroupProduct};

use super::constant::evaluate;
use super::function::Body;
use super::{Failed, Lowering};
use crate::ast::{Instruction, Operand, OperandKind, Type};
use crate::spelling::{Kind, Spelled, Val, group_product, register_type};

impl Body<'_, '_> {
    pub(super) fn warp_group(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        let op = match s.word(Kind::GroupAction) {
            Some("fence") => Op::WgmmaFence,
            Some("commit_group") => Op::WgmmaCommit,
            Some("wait_group") => Op::WgmmaWait,
            _ => return self.warp_group_product(s, i),
        };
        let count = usize::from(op == Op::WgmmaWait);
        self.count(i, count, count)?;
        let mut inst = Inst::new(op);
        if let Some(groups) = self.cx.tree.operands[i.operands].first() {
            inst.operands.push(self.immediate(groups)?);
        }
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// `wgmma.mma_async`: registers of D, A, the descriptor of B, metadata and its selector, the
    /// predicate, then negations and transpositions as far as the elements have them.
    fn warp_group_product(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        let tree = self.cx.tree;
        let (mods, product) = group_product(s).ok_or(Failed)?;
        let all = &tree.operands[i.operands];
        let in_registers = matches!(all.get(1).map(|o| o.kind), Some(OperandKind::Vector(_)));
        let sparse = if product.sparse { 2 } else { 0 };
        let signs = if product.elements[1].is_integer() { 0 } else { 2 };
        let transposes = match product.elements[1].bits() {
            16 if in_registers => 1,
            16 => 2,
            _ => 0,
        };
        let count = 4 + sparse + signs + transposes;
        self.count(i, count, count)?;
        let mut inst = Inst::new(if in_registers { Op::WgmmaReg } else { Op::Wgmma });
        inst.ty = Some(ir::Ty::B32);
        inst.mods = mods;
        let sum = register_type(product.elements[0]);
        let (metadata, rest) = all[3..].split_at(sparse);
        let mut wrong =
            self.written_registers(&mut inst, &all[0], sum, product.registers()).is_err();
        wrong |= self.switches(&mut inst, &product, (in_registers, &rest[1..])).is_err();
        wrong |= self.adds(&mut inst, &rest[0]).is_err();
        let (descriptors, left) = match in_registers {
            true => (&all[2..3], Some(&all[1])),
            false => (&all[1..3], None),
        };
        for descriptor in descriptors {
            match self.source(descriptor, Type::B64, false) {
                Ok(value) => inst.operands.push(value),
                Err(_) => wrong = true,
            }
        }
        if let Some(left) = left {
            wrong |= self.read_registers(&mut inst, left, Type::B32, A_REGISTERS).is_err();
        }
        wrong |= self.read_registers(&mut inst, &all[0], sum, product.registers()).is_err();
        if let (Some(layout), [word, selector]) = (product.metadata(), metadata) {
            wrong |= self.sparsity(&mut inst, layout, [word, selector]).is_err();
        }
        if wrong {
            return Err(Failed);
        }
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// Whether D is added: a predicate, or a constant.
    fn adds(&mut self, inst: &mut Inst, operand: &Operand) -> Lowering<()> {
        let constant = evaluate(self.cx.tree, operand).map_err(|d| self.cx.fail(d))?;
        let value = match constant {
            Some(_) => {
                let ir::Operand::Imm(value) = self.source(operand, Type::S32, false)? else {
                    return Err(Failed);
                };
                ir::Operand::Imm(u128::from(value != 0))
            }
            None => self.value(operand, Type::Pred, Val::PNot, false)?,
        };
        inst.operands.push(value);
        Ok(())
    }

    /// Negations, which are 1 or -1, and transpositions, which are 0 or 1.
    fn switches(
        &mut self,
        inst: &mut Inst,
        product: &GroupProduct,
        (in_registers, operands): (bool, &[Operand]),
    ) -> Lowering<()> {
        let negates = [Flag::NegA, Flag::NegB];
        let transposes: &[Flag] =
            if in_registers { &[Flag::TransB] } else { &[Flag::TransA, Flag::TransB] };
        let floats = !product.elements[1].is_integer();
        let flags = negates.iter().filter(|_| floats).map(|f| (*f, [1, u128::from(u32::MAX)]));
        let flags = flags.chain(transposes.iter().map(|f| (*f, [0, 1])));
        for (operand, (flag, [off, on])) in operands.iter().zip(flags) {
            let ir::Operand::Imm(value) = self.source(operand, Type::S32, false)? else {
                let message = "a constant is needed here";
                return self.cx.error("ptx::operand", message, operand.span, "not a constant");
            };
            if value == on {
                inst.mods.flags = inst.mods.flags.with(flag);
            } else if value != off {
                let message = match off {
                    1 => "a factor is multiplied by 1 or by -1",
                    _ => "a factor is transposed, 1, or not, 0",
                };
                return self.cx.error("ptx::constant-range", message, operand.span, "another one");
            }
        }
        Ok(())
    }
}
