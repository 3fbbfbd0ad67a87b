//! `cp.async`: copies from global to shared memory that end at a later wait, and their groups.

use ir::{Inst, Op, Origin, Reg, RegTy};

use super::Lowering;
use super::address::Address;
use super::function::Body;
use super::modifiers::ir_mods;
use crate::ast::{Instruction, Operand, OperandKind, Type};
use crate::spelling::{Kind, Spelled, Val};

impl Body<'_, '_> {
    pub(super) fn copy(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        let tree = self.cx.tree;
        let hinted = self.has_cache_policy(i);
        let hints = usize::from(hinted);
        self.count(i, 3 + hints, 4 + hints)?;
        let all = &tree.operands[i.operands];
        let mut spaces = tree.modifiers[i.modifiers].iter().map(|m| tree.name(m.symbol));
        if spaces.find(|word| word.starts_with("shared") || *word == "global") == Some("global") {
            let message = "copies go from global to shared memory";
            let label = "written `.shared.global`: first where to, then where from";
            return self.cx.error("ptx::space", message, i.opcode.span, label);
        }
        let size = self.copied(s, &all[2])?;
        if hinted && let Some(policy) = all.last() {
            self.source(policy, Type::B64, false)?;
        }
        let (to, from) = (self.address(&all[0])?, self.address(&all[1])?);
        let mut inst = Inst::new(Op::CpAsync);
        inst.ty = Some(match size {
            4 => ir::Ty::B32,
            8 => ir::Ty::B64,
            _ => ir::Ty::B128,
        });
        inst.mods = ir_mods(s, Op::CpAsync);
        let (
            Address::Memory { base: to, offset, space },
            Address::Memory { base: from, offset: start, space: from_space },
        ) = (to, from)
        else {
            let message = "copies go from global to shared memory";
            return self.cx.error("ptx::space", message, i.span, "a parameter is neither");
        };
        inst.mods.space = self.access_space(&all[0], Some(ir::mods::Space::Shared), space)?;
        self.access_space(&all[1], Some(ir::mods::Space::Global), from_space)?;
        inst.offset = offset;
        self.address_width(from, Some(ir::mods::Space::Global), all[1].span)?;
        let from = self.zero_extended(from);
        inst.operands.extend([to, from, ir::Operand::Imm(u128::from(start as u64))]);
        if all.len() > 3 + hints {
            let bytes = self.bytes_read(&all[3], size)?;
            inst.operands.push(bytes);
        }
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// Bytes that are copied: a constant.
    fn copied(&mut self, s: &Spelled, operand: &Operand) -> Lowering<u64> {
        let value = match self.source(operand, Type::U32, false)? {
            ir::Operand::Imm(value) => u64::try_from(value).unwrap_or(u64::MAX),
            _ => 0,
        };
        let label = match s.word(Kind::CopyCache) {
            Some("cg") if value != 16 => "16 is needed with `.cg`",
            _ if !matches!(value, 4 | 8 | 16) => "4, 8 or 16 is needed: a constant",
            _ => return Ok(value),
        };
        let message = "not as many bytes as are copied at once";
        self.cx.error("ptx::copy", message, operand.span, label)
    }

    /// Bytes that are read of them: the operand's number, or none where a predicate says that the
    /// source is ignored.
    fn bytes_read(&mut self, operand: &Operand, size: u64) -> Lowering<ir::Operand> {
        let negated = matches!(operand.kind, OperandKind::Not(_));
        if !negated && !self.is_predicate(operand) {
            let bytes = self.source(operand, Type::U32, false)?;
            if let ir::Operand::Imm(given) = bytes
                && given > size.into()
            {
                let message = format!("{given} bytes are read where {size} are copied");
                return self.cx.error("ptx::copy", message, operand.span, "too many");
            }
            return Ok(bytes);
        }
        let ignored = self.value(operand, Type::Pred, Val::PNot, false)?;
        let bytes = self.code.temporary(RegTy::B32);
        let mut select = Inst::new(Op::Selp).ty(ir::Ty::B32).result(Reg::Lane(bytes));
        select.operands.extend([ir::Operand::Imm(0), ir::Operand::Imm(size.into()), ignored]);
        self.emit(select, Origin::Lowering);
        Ok(ir::Operand::lane(bytes))
    }

    fn is_predicate(&self, operand: &Operand) -> bool {
        match operand.kind {
            OperandKind::Name(name) => matches!(
                self.scopes.find(self.cx.tree, name),
                Some(super::names::Found::Register(_, Type::Pred, ..))
            ),
            _ => false,
        }
    }

    /// A value of 32 bits, such as an address, in 64 bits.
    pub(super) fn zero_extended(&mut self, base: ir::Operand) -> ir::Operand {
        let ir::Operand::Reg(Reg::Lane(reg)) = base else { return base };
        if self.code.reg_ty(reg) != RegTy::B32 {
            return base;
        }
        let wide = self.code.temporary(RegTy::B64);
        let mut inst = Inst::new(Op::Cvt).ty(ir::Ty::U64).result(Reg::Lane(wide)).operand(base);
        inst.ty2 = Some(ir::Ty::U32);
        self.emit(inst, Origin::Lowering);
        ir::Operand::lane(wide)
    }

    /// Groups of copies and waits for them.
    pub(super) fn copy_group(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        if s.has(Kind::Bulk) {
            return self.bulk_group(s, i);
        }
        let word = s.word(Kind::CopyGroup);
        let counts = usize::from(word == Some("wait_group"));
        self.count(i, counts, counts)?;
        let commits = word == Some("commit_group");
        let mut inst = Inst::new(if commits { Op::CopyCommit } else { Op::CopyWait });
        if let Some(pending) = self.cx.tree.operands[i.operands].first() {
            let pending = self.immediate(pending)?;
            inst.operands.push(pending);
        }
        self.emit(inst, Origin::Source);
        Ok(())
    }
}
