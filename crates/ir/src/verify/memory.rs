//! Rules of addresses, symbols and memory operations: V21, V24.

use super::{At, Checker, Violation};
use crate::mods::{Order, Space};
use crate::module::{Inst, Operand, Symbol};
use crate::op::Op;
use crate::ty::{RegTy, Ty};

impl Checker<'_> {
    /// An address operand.
    pub(super) fn address(&mut self, at: &At<'_>, inst: &Inst, index: usize, operand: Operand) {
        match operand {
            Operand::Reg(reg) => match at.reg_ty(reg) {
                None => self.report(at, Violation::NoSuchRegister { reg }),
                Some(found) => {
                    let fits = matches!(found, RegTy::B32 | RegTy::B64);
                    let ty = Ty::B64;
                    self.check(at, fits, || Violation::OperandType { index, ty, found });
                }
            },
            Operand::Imm(_) => self.value(at, index, operand, Ty::B64, false),
            Operand::Symbol(symbol, _) => {
                self.symbol(at, index, symbol);
                let space = inst.mods.space.unwrap_or(Space::Generic);
                match self.space_of(symbol) {
                    Some(found) if reaches(space, found) => {}
                    Some(found) => self.report(at, Violation::SymbolSpace { index, found, space }),
                    None if matches!(symbol, Symbol::Func(_)) => {
                        self.report(at, Violation::SymbolType { index, ty: None });
                    }
                    None => {}
                }
            }
            Operand::Sreg(_) | Operand::Func(_) | Operand::Block(_) => {
                let expected = "a register, a symbol or an immediate";
                self.report(at, Violation::OperandKind { index, expected });
            }
        }
    }

    /// A symbol exists.
    pub(super) fn symbol(&mut self, at: &At<'_>, index: usize, symbol: Symbol) {
        let known = match symbol {
            Symbol::Var(id) => id.index() < self.module.vars.len(),
            Symbol::Func(id) => id.index() < self.module.functions.len(),
            Symbol::Local(i) => (i as usize) < at.function.locals.len(),
            Symbol::Param(i) => (i as usize) < at.function.params().len(),
        };
        self.check(at, known, || Violation::NoSuchSymbol { index });
    }

    fn space_of(&self, symbol: Symbol) -> Option<Space> {
        match symbol {
            Symbol::Var(id) => self.module.vars.get(id.index()).map(|v| v.space),
            Symbol::Local(_) => Some(Space::Local),
            Symbol::Param(_) => Some(Space::Param),
            Symbol::Func(_) => None,
        }
    }

    /// Space, order and scope.
    pub(super) fn memory(&mut self, at: &At<'_>, inst: &Inst) {
        let op = inst.op.name();
        if let Some(space) = inst.mods.space {
            // Questions about addresses, and conversions of them, are for any function.
            let accesses = !matches!(inst.op, Op::CvtaTo | Op::CvtaFrom | Op::IsSpace);
            if !spaces(inst.op, space) {
                let why = "cannot have this address space";
                self.report(at, Violation::Memory { op, why });
            } else if space == Space::Param && accesses && !at.function.is_kernel() {
                let why = "is in a device function, which has no parameter space";
                self.report(at, Violation::Memory { op, why });
            }
        }
        if let Some(order) = inst.mods.order {
            let why = "cannot have this memory order";
            self.check(at, orders(inst.op, order), || Violation::Memory { op, why });
        }
        let ordered = !matches!(inst.mods.order, None | Some(Order::Weak | Order::Volatile));
        let plain = matches!(inst.op, Op::Ld | Op::St) && !ordered;
        let why = "has a scope but no memory order to which it could belong";
        let holds = inst.mods.scope.is_none() || !plain;
        self.check(at, holds, || Violation::Memory { op, why });
    }
}

/// Whether an address in `found` is one in `space`.
fn reaches(space: Space, found: Space) -> bool {
    let generic = space == Space::Generic && matches!(found, Space::Global | Space::Const);
    space == found || generic
}

/// Spaces that an operation can name.
fn spaces(op: Op, space: Space) -> bool {
    match op {
        Op::St => !matches!(space, Space::Const | Space::Param),
        Op::CpAsync => space == Space::Shared,
        Op::Atom | Op::AtomVec | Op::WmmaLoad | Op::WmmaStore => {
            matches!(space, Space::Generic | Space::Global | Space::Shared)
        }
        Op::LdMatrix | Op::StMatrix => matches!(space, Space::Generic | Space::Shared),
        op if op.is_mbarrier() => matches!(space, Space::Generic | Space::Shared),
        Op::CvtaTo | Op::CvtaFrom | Op::IsSpace => space != Space::Generic,
        _ => true,
    }
}

/// Orders that an operation can have.
fn orders(op: Op, order: Order) -> bool {
    match op {
        Op::Ld => !matches!(order, Order::Release | Order::AcqRel | Order::SeqCst),
        Op::St => !matches!(order, Order::Acquire | Order::AcqRel | Order::SeqCst),
        Op::Atom | Op::AtomVec => !matches!(order, Order::Weak | Order::Volatile),
        Op::MbarArrive => matches!(order, Order::Relaxed | Order::Release),
        Op::MbarExpect | Op::MbarComplete => order == Order::Relaxed,
        Op::MbarTest | Op::MbarTry => matches!(order, Order::Relaxed | Order::Acquire),
        Op::ClusterArrive => matches!(order, Order::Relaxed | Order::Release),
        Op::ClusterWait => order == Order::Acquire,
        Op::Fence => !matches!(order, Order::Weak | Order::Volatile | Order::Relaxed),
        _ => true,
    }
}
