//! Addresses of loads, stores and atomic operations.

use ir::mods::Space as IrSpace;
use isa::Diagnostic;

use super::Lowering;
use super::constant::{Constant, evaluate};
use super::function::Body;
use super::names::{Found, Meaning};
use crate::ast::{Operand, OperandKind, Type};
use crate::names::Symbol;
use crate::pool::Id;

/// The target of an address.
#[derive(Clone, Copy, Debug)]
pub(super) enum Address {
    /// Memory.
    Memory {
        /// The base.
        base: ir::Operand,
        /// Bytes added.
        offset: i64,
        /// The space of the symbol, where the base is one.
        space: Option<IrSpace>,
    },
    /// A parameter in registers, by index; bytes from its start.
    Param(u32, i64),
}

impl Body<'_, '_> {
    /// Reads `[...]`, or the element of an array.
    pub(super) fn address(&mut self, operand: &Operand) -> Lowering<Address> {
        let tree = self.cx.tree;
        match operand.kind {
            OperandKind::Address(name, offset) => self.named_address(operand, name, offset),
            OperandKind::Suffixed(inner, _) => self.address(&tree.operands[inner]),
            OperandKind::Element(name, index) => self.element_address(operand, name, index),
            OperandKind::Bracket(parts) => match &tree.operands[parts] {
                [only] => self.bracketed(operand, only),
                _ => self.bad_address(operand, "one address is needed"),
            },
            _ => self.bad_address(operand, "an address in brackets is needed"),
        }
    }

    fn bad_address<T>(&mut self, operand: &Operand, label: &str) -> Lowering<T> {
        let text = crate::print::operand_text(self.cx.tree, operand);
        let message = format!("`{text}` is not an address");
        let diagnostic = Diagnostic::error("ptx::address", message)
            .at(operand.span, label)
            .help("write `[register]`, `[variable]`, either with `+` and a constant");
        Err(self.cx.fail(diagnostic))
    }

    fn bracketed(&mut self, operand: &Operand, only: &Operand) -> Lowering<Address> {
        if let OperandKind::Element(name, index) = only.kind {
            return self.element_address(only, name, index);
        }
        match evaluate(self.cx.tree, only).map_err(|d| self.cx.fail(d))? {
            Some(Constant::Int(i)) => {
                let base = ir::Operand::Imm(i.bits.into());
                Ok(Address::Memory { base, offset: 0, space: None })
            }
            _ => self.bad_address(operand, "a register or variable, and a constant, is needed"),
        }
    }

    fn element_address(
        &mut self,
        operand: &Operand,
        name: Symbol,
        index: Id<Operand>,
    ) -> Lowering<Address> {
        let Some((symbol, element)) = self.symbol(name, operand)? else {
            return self.bad_address(operand, "only variables have elements");
        };
        let offset = self.element_offset(index, element)?;
        let space = self.space_of(symbol);
        Ok(Address::Memory { base: ir::Operand::Symbol(symbol, 0), offset, space })
    }

    /// Bytes from the start of an array to an element.
    pub(super) fn element_offset(&mut self, index: Id<Operand>, element: u64) -> Lowering<i64> {
        let operand = &self.cx.tree.operands[index];
        let value = evaluate(self.cx.tree, operand).map_err(|d| self.cx.fail(d))?;
        let bytes = match value {
            Some(Constant::Int(i)) => {
                i64::try_from(element).ok().and_then(|e| e.checked_mul(i.bits as i64))
            }
            _ => None,
        };
        match bytes {
            Some(bytes) => Ok(bytes),
            None => {
                let message = "the index of an element is a constant";
                self.cx.error("ptx::address", message, operand.span, "not possible")
            }
        }
    }

    fn named_address(&mut self, operand: &Operand, name: Symbol, offset: i64) -> Lowering<Address> {
        let tree = self.cx.tree;
        match self.scopes.find(tree, name) {
            Some(Found::Register(key, ty, 1, declared)) => {
                let integer = matches!(
                    ty,
                    Type::B32 | Type::U32 | Type::S32 | Type::B64 | Type::U64 | Type::S64
                );
                if !integer {
                    let text = tree.name(name);
                    let message = format!("`{text}` is declared `.{}`", ty.word());
                    let diagnostic = Diagnostic::error("ptx::operand-type", message)
                        .at(operand.span, "an address is an integer of 32 or 64 bits")
                        .also(declared, "declared here");
                    return Err(self.cx.fail(diagnostic));
                }
                let base = ir::Operand::lane(self.register(key, 0, ty, name));
                Ok(Address::Memory { base, offset, space: None })
            }
            Some(Found::Other(Meaning::Param(index), _)) => Ok(Address::Param(index, offset)),
            _ => match self.symbol(name, operand)? {
                Some((ir::Symbol::Func(_), _)) => {
                    self.bad_address(operand, "functions cannot be read or written")
                }
                Some((symbol, _)) => {
                    let space = self.space_of(symbol);
                    Ok(Address::Memory { base: ir::Operand::Symbol(symbol, 0), offset, space })
                }
                None => Err(self.not_a_value(operand)),
            },
        }
    }

    fn space_of(&self, symbol: ir::Symbol) -> Option<IrSpace> {
        match symbol {
            ir::Symbol::Var(id) => self.cx.out.vars.get(id.index()).map(|v| v.space),
            ir::Symbol::Local(_) => Some(IrSpace::Local),
            ir::Symbol::Param(_) => Some(IrSpace::Param),
            ir::Symbol::Func(_) => None,
        }
    }

    /// Checks the width of the register that is an address in a space.
    pub(super) fn address_width(
        &mut self,
        base: ir::Operand,
        space: Option<IrSpace>,
        at: isa::Span,
    ) -> Lowering<()> {
        match base {
            ir::Operand::Reg(ir::Reg::Lane(reg)) if self.code.reg_ty(reg).bits() < 64 => {
                self.cx.narrow_address(space, at)
            }
            _ => Ok(()),
        }
    }

    /// The space of an access: the one written, else that of the variable where generic addresses
    /// would not reach it.
    pub(super) fn access_space(
        &mut self,
        operand: &Operand,
        written: Option<IrSpace>,
        found: Option<IrSpace>,
    ) -> Lowering<Option<IrSpace>> {
        let written = super::spilled::space_of_access(written, found);
        match (written, found) {
            (Some(written), Some(found)) if written != found => {
                let text = crate::print::operand_text(self.cx.tree, operand);
                let message = format!(
                    "`{text}` is in `.{}`, the instruction accesses `.{}`",
                    found.word(),
                    written.word()
                );
                self.cx.error("ptx::space", message, operand.span, "in another state space")
            }
            (None, Some(found @ (IrSpace::Shared | IrSpace::Local | IrSpace::Param))) => {
                Ok(Some(found))
            }
            _ => Ok(written),
        }
    }
}
