//! Rules of all instructions: V13 to V15, V17 to V20, V22, V26, as their rows say.

use super::{At, Checker, Violation};
use crate::module::{Inst, Operand, Reg};
use crate::op::{Class, Op, Slot};
use crate::slots::count_range;
use crate::ty::{RegTy, Ty};

impl Checker<'_> {
    pub(super) fn inst(&mut self, at: &At<'_>, inst: &Inst) {
        self.loc(at);
        self.types(at, inst);
        self.modifiers(at, inst);
        self.counts(at, inst);
        self.guard(at, inst);
        self.results(at, inst);
        self.operands(at, inst);
        self.op_rules(at, inst);
        self.memory(at, inst);
    }

    fn types(&mut self, at: &At<'_>, inst: &Inst) {
        let row = inst.op.info();
        let op = row.name;
        let fits = inst.ty.map_or(row.types.is_empty(), |t| row.types.has(t));
        self.check(at, fits, || Violation::Type { op, ty: inst.ty });
        let fits = inst.ty2.map_or(row.types2.is_empty(), |t| row.types2.has(t));
        self.check(at, fits, || Violation::Type2 { op, ty: inst.ty2 });
    }

    fn counts(&mut self, at: &At<'_>, inst: &Inst) {
        let row = inst.op.info();
        for (what, list, count) in [
            ("result", row.results, inst.results.len()),
            ("operand", row.operands, inst.operands.len()),
        ] {
            let (least, most) = count_range(list);
            let fits = count >= least && most.is_none_or(|m| count <= m);
            self.check(at, fits, || Violation::Count { op: row.name, what, count });
        }
        let has_address =
            (0..inst.operands.len()).any(|i| inst.operand_slot(i) == Some(Slot::Addr));
        self.check(at, inst.offset == 0 || has_address, || Violation::Offset { op: row.name });
    }

    fn guard(&mut self, at: &At<'_>, inst: &Inst) {
        let Some(guard) = inst.guard else { return };
        self.guard_reg(at, guard);
        let allowed = match inst.op.info().class {
            Class::Exec | Class::Call => false,
            Class::Converge => inst.op == Op::CbBreak,
            Class::Compute => !inst.is_uniform(),
            Class::Memory | Class::Collective | Class::Barrier | Class::System => true,
        };
        self.check(at, allowed, || Violation::GuardNotAllowed { op: inst.op.name() });
    }

    fn results(&mut self, at: &At<'_>, inst: &Inst) {
        for (index, result) in inst.results.iter().enumerate() {
            let Some(slot) = inst.result_slot(index) else { continue };
            let Some(reg) = *result else {
                let mask = inst.slot_ty(slot) == Some(Ty::Mask);
                let expected = "a mask register: a mask cannot be discarded";
                self.check(at, !mask, || Violation::ResultKind { index, expected });
                continue;
            };
            if inst.results[..index].contains(result) {
                self.report(at, Violation::ResultTwice { index });
            }
            let Some(found) = at.reg_ty(reg) else {
                self.report(at, Violation::NoSuchRegister { reg });
                continue;
            };
            self.file_of_result(at, inst, index, reg);
            // Of a call and of a barrier's reduction the rules of the operation know more.
            let Some(ty) = inst.slot_ty(slot) else { continue };
            let wider = matches!(inst.op, Op::Ld | Op::SurfLoad | Op::Cvt);
            let fits = holds(found, ty, wider);
            self.check(at, fits, || Violation::ResultType { index, ty, found });
        }
    }

    /// Which register file a result may be in.
    fn file_of_result(&mut self, at: &At<'_>, inst: &Inst, index: usize, reg: Reg) {
        let op = inst.op.name();
        let warp = matches!(reg, Reg::Warp(_));
        match inst.op.info().class {
            Class::Compute => {
                let expected = "in the warp file, as others of the instruction are";
                let alike = warp == inst.is_uniform();
                self.check(at, alike, || Violation::ResultKind { index, expected });
            }
            Class::Exec => {
                let mask = inst.result_slot(index) == Some(Slot::Mask);
                let expected = if mask { "a mask register" } else { "a per-lane register" };
                self.check(at, warp == mask, || Violation::ResultKind { index, expected });
            }
            _ => self.check(at, !warp, || Violation::NotUniform { op }),
        }
    }

    fn operands(&mut self, at: &At<'_>, inst: &Inst) {
        let uniform = inst.is_uniform() && inst.op.info().class == Class::Compute;
        for (index, &operand) in inst.operands.iter().enumerate() {
            let Some(slot) = inst.operand_slot(index) else { continue };
            let for_all = matches!(operand, Operand::Imm(_) | Operand::Reg(Reg::Warp(_)));
            self.check(at, !uniform || for_all, || Violation::UniformOperand { index });
            self.operand(at, inst, index, slot, operand);
        }
    }

    fn operand(&mut self, at: &At<'_>, inst: &Inst, index: usize, slot: Slot, operand: Operand) {
        let kind = match (slot, operand) {
            (Slot::Addr, _) => {
                self.address(at, inst, index, operand);
                None
            }
            (Slot::Imm, Operand::Imm(value)) => {
                let fits = u32::try_from(value).is_ok();
                let what = || "32 bits".to_owned();
                self.check(at, fits, || Violation::Immediate { index, value, what: what() });
                None
            }
            (Slot::Imm, _) => Some("an immediate"),
            (Slot::Sreg, Operand::Sreg(_)) | (Slot::Func, Operand::Func(_)) => None,
            (Slot::Sreg, _) => Some("a special register"),
            (Slot::Func, _) => Some("a function"),
            (Slot::Block, Operand::Block(target)) => {
                let known = target.index() < at.function.blocks.len();
                self.check(at, known, || Violation::NoSuchBlock { target });
                None
            }
            (Slot::Block, _) => Some("a block"),
            (_, Operand::Sreg(_) | Operand::Func(_) | Operand::Block(_)) => Some("a value"),
            // Arguments go by the function that is called.
            (Slot::Any, Operand::Reg(reg)) => {
                self.known_register(at, reg);
                None
            }
            (Slot::Any, _) => None,
            (Slot::P, Operand::Reg(Reg::Warp(_)))
                if matches!(inst.op.info().class, Class::Exec | Class::Converge) =>
            {
                Some("a per-lane predicate")
            }
            _ => {
                let stored = match inst.op {
                    Op::St => index > 0,
                    Op::SurfStore => index > 3,
                    _ => false,
                };
                let wider = stored || inst.op == Op::Cvt;
                if let Some(ty) = inst.slot_ty(slot) {
                    self.value(at, index, operand, ty, wider);
                }
                None
            }
        };
        if let Some(expected) = kind {
            self.report(at, Violation::OperandKind { index, expected });
        }
    }

    /// Whether a register exists.
    fn known_register(&mut self, at: &At<'_>, reg: Reg) {
        self.check(at, at.reg_ty(reg).is_some(), || Violation::NoSuchRegister { reg });
    }

    /// A register, immediate or symbol that is read as `ty`.
    pub(super) fn value(
        &mut self,
        at: &At<'_>,
        index: usize,
        operand: Operand,
        ty: Ty,
        wider: bool,
    ) {
        match operand {
            Operand::Reg(reg) => match at.reg_ty(reg) {
                None => self.report(at, Violation::NoSuchRegister { reg }),
                Some(found) => {
                    let fits = holds(found, ty, wider);
                    self.check(at, fits, || Violation::OperandType { index, ty, found });
                }
            },
            Operand::Imm(value) => {
                let fits = ty.bits() >= 128 || value >> ty.bits() == 0;
                let what = || ty.to_string();
                self.check(at, fits, || Violation::Immediate { index, value, what: what() });
            }
            Operand::Symbol(symbol, _) => {
                let address =
                    matches!(ty, Ty::U32 | Ty::U64 | Ty::S32 | Ty::S64 | Ty::B32 | Ty::B64);
                self.check(at, address, || Violation::SymbolType { index, ty: Some(ty) });
                self.symbol(at, index, symbol);
            }
            Operand::Sreg(_) | Operand::Func(_) | Operand::Block(_) => {
                self.report(at, Violation::OperandKind { index, expected: "a value" });
            }
        }
    }
}

/// Whether a register can be read or written as `ty`.
pub(super) fn holds(reg: RegTy, ty: Ty, wider: bool) -> bool {
    let special = |r: RegTy| matches!(r, RegTy::Pred | RegTy::Mask);
    let exact = reg == ty.reg();
    exact || wider && !special(reg) && !special(ty.reg()) && reg.bits() > ty.bits()
}
