//! Operands: their meaning, and whether they fit the type that they are read or written as.
//!
//! Rules of PTX ISA, section 9.4: sizes must agree, untyped bits go with everything of their size,
//! integers with integers whatever their sign, floats only with the same format. Loads, stores and
//! conversions may use wider registers.

use ir::{LaneReg, Op, Origin, RegTy, Sreg};
use isa::{Diagnostic, Span};

use super::constant::{bits_as, evaluate};
use super::emit::inst;
use super::function::Body;
use super::names::Found;
use super::{Global, Lowering};
use crate::ast::{Operand, OperandKind, Type};
use crate::names::{Symbol, kw};
use crate::print::operand_text;

/// The value of a special register.
#[derive(Clone, Copy, Debug)]
pub(super) enum Special {
    Register(Sreg),
    Constant(u64),
}

/// Returns whether a register of type `found` can be used as `wanted`.
pub(super) fn fits(found: Type, wanted: Type, wider: bool) -> bool {
    if found == Type::Pred || wanted == Type::Pred {
        return found == wanted;
    }
    let (f, w) = (class(found), class(wanted));
    let same_size = found.bits() == wanted.bits();
    let wide_enough = wider && found.bits() > wanted.bits() && f != Class::Float;
    if !(same_size || wide_enough) {
        return false;
    }
    match (f, w) {
        (Class::Bits, _) | (_, Class::Bits) | (Class::Int, Class::Int) => true,
        (Class::Float, Class::Float) => found == wanted,
        // Formats that have no registers of their own are kept in untyped or unsigned ones.
        (Class::Int, Class::Float) => !matches!(wanted, Type::F32 | Type::F64),
        (Class::Float, Class::Int) => false,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Bits,
    Int,
    Float,
}

fn class(ty: Type) -> Class {
    match ty {
        Type::B8 | Type::B16 | Type::B32 | Type::B64 | Type::B128 => Class::Bits,
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => Class::Int,
        Type::S8 | Type::S16 | Type::S32 | Type::S64 => Class::Int,
        _ => Class::Float,
    }
}

/// The number of an element of a vector.
pub(super) fn element_of(member: &str) -> Option<u8> {
    Some(match member {
        "x" | "r" => 0,
        "y" | "g" => 1,
        "z" | "b" => 2,
        "w" | "a" => 3,
        _ => return None,
    })
}

impl Body<'_, '_> {
    /// The register that an operand names, if it names one: with its type and the place of its
    /// declaration.
    fn named_register(&mut self, operand: &Operand) -> Lowering<Option<(LaneReg, Type, Span)>> {
        let tree = self.cx.tree;
        let (name, member) = match operand.kind {
            OperandKind::Name(name) | OperandKind::Not(name) => (name, None),
            OperandKind::Member(name, member) => (name, Some(member)),
            _ => return Ok(None),
        };
        let Some(Found::Register(key, ty, vector, span)) = self.scopes.find(tree, name) else {
            return Ok(None);
        };
        let part = match member {
            None if vector == 1 => 0,
            None => {
                let message = format!("`{}` is a vector", tree.name(name));
                let diagnostic = Diagnostic::error("ptx::operand", message)
                    .at(operand.span, "one element is needed")
                    .also(span, "declared here")
                    .help("write `.x`, `.y`, `.z` or `.w` behind it");
                return Err(self.cx.fail(diagnostic));
            }
            Some(member) => match element_of(tree.name(member)) {
                Some(part) if part < vector => part,
                _ => {
                    let message = format!("`{}` has no `.{}`", tree.name(name), tree.name(member));
                    let diagnostic = Diagnostic::error("ptx::operand", message)
                        .at(operand.span, "no such element")
                        .also(span, "declared here");
                    return Err(self.cx.fail(diagnostic));
                }
            },
        };
        Ok(Some((self.register(key, part, ty, name), ty, span)))
    }

    /// A value that is read as `ty`.
    pub(super) fn source(
        &mut self,
        operand: &Operand,
        ty: Type,
        wider: bool,
    ) -> Lowering<ir::Operand> {
        let tree = self.cx.tree;
        if let Some(value) = evaluate(tree, operand).map_err(|d| self.cx.fail(d))? {
            return match bits_as(value, ty) {
                Ok(bits) => Ok(ir::Operand::Imm(bits)),
                Err(why) => {
                    let text = operand_text(tree, operand);
                    let message = format!("`{text}` cannot be read as `.{}`", ty.word());
                    self.cx.error("ptx::constant-type", message, operand.span, why)
                }
            };
        }
        if let OperandKind::Sum(name, offset) = operand.kind
            && let Some(Found::Register(key, found, 1, declared)) = self.scopes.find(tree, name)
            && matches!(class(found), Class::Bits | Class::Int)
            && matches!(found.bits(), 16 | 32 | 64)
        {
            self.check_type(operand, found, ty, wider, declared)?;
            let reg = self.register(key, 0, found, name);
            return Ok(self.sum(reg, offset));
        }
        if let Some((reg, found, declared)) = self.named_register(operand)? {
            if let OperandKind::Not(_) = operand.kind {
                return self.complement(operand, reg, ty);
            }
            self.check_type(operand, found, ty, wider, declared)?;
            return Ok(ir::Operand::lane(reg));
        }
        Err(self.not_a_value(operand))
    }

    /// `r+1`: a register plus a constant, in a register of its own.
    fn sum(&mut self, reg: LaneReg, offset: i64) -> ir::Operand {
        let ty = self.code.reg_ty(reg);
        let to = self.code.temporary(ty);
        let bits = offset.cast_unsigned() & u64::MAX >> (64 - ty.bits());
        let unsigned = match ty.bits() {
            16 => ir::Ty::U16,
            32 => ir::Ty::U32,
            _ => ir::Ty::U64,
        };
        let operands = [ir::Operand::lane(reg), ir::Operand::Imm(bits.into())];
        self.emit(inst(Op::Add, Some(unsigned), to, &operands), Origin::Lowering);
        ir::Operand::lane(to)
    }

    /// `!p`: the complement, in a register of its own.
    fn complement(&mut self, operand: &Operand, reg: LaneReg, ty: Type) -> Lowering<ir::Operand> {
        if ty != Type::Pred || self.code.reg_ty(reg) != RegTy::Pred {
            let message = "only predicates can be complemented";
            return self.cx.error("ptx::operand", message, operand.span, "not a predicate");
        }
        let to = self.code.temporary(RegTy::Pred);
        let not = inst(Op::Not, Some(ir::Ty::Pred), to, &[ir::Operand::lane(reg)]);
        self.emit(not, Origin::Lowering);
        Ok(ir::Operand::lane(to))
    }

    fn check_type(
        &mut self,
        operand: &Operand,
        found: Type,
        wanted: Type,
        wider: bool,
        declared: Span,
    ) -> Lowering<()> {
        if fits(found, wanted, wider) {
            return Ok(());
        }
        let text = operand_text(self.cx.tree, operand);
        let message = format!(
            "`{text}` is declared `.{}`; the instruction uses it as `.{}`",
            found.word(),
            wanted.word()
        );
        let label = if found.bits() == wanted.bits() || found == Type::Pred {
            "of another type".to_owned()
        } else {
            format!("{} bits, {} are needed", found.bits(), wanted.bits())
        };
        let diagnostic = Diagnostic::error("ptx::operand-type", message)
            .at(operand.span, label)
            .also(declared, "declared here");
        Err(self.cx.fail(diagnostic))
    }

    /// A register that is written as `ty`; `None` for `_` where that is possible.
    pub(super) fn destination(
        &mut self,
        operand: &Operand,
        ty: Type,
        wider: bool,
        sink: bool,
    ) -> Lowering<Option<LaneReg>> {
        if operand.kind == OperandKind::Sink {
            if sink {
                return Ok(None);
            }
            let message = "the result of this instruction cannot be discarded";
            return self.cx.error("ptx::operand", message, operand.span, "a register is needed");
        }
        let is_name = matches!(operand.kind, OperandKind::Name(_) | OperandKind::Member(..));
        if is_name && let Some((reg, found, declared)) = self.named_register(operand)? {
            self.check_type(operand, found, ty, wider, declared)?;
            return Ok(Some(reg));
        }
        if is_name && self.special(operand).is_some() {
            let text = operand_text(self.cx.tree, operand);
            let message = format!("the special register `{text}` cannot be written");
            return self.cx.error("ptx::operand", message, operand.span, "read-only");
        }
        if !is_name {
            let text = operand_text(self.cx.tree, operand);
            let message = format!("`{text}` cannot be written");
            return self.cx.error("ptx::operand", message, operand.span, "a register is needed");
        }
        Err(self.not_a_value(operand))
    }

    /// Both sides of `d|p`; a single destination has no second.
    pub(super) fn pair(
        &mut self,
        operand: &Operand,
        ty: Type,
        must: bool,
    ) -> Lowering<(Option<LaneReg>, Option<Option<LaneReg>>)> {
        let OperandKind::Pair(first, second) = operand.kind else {
            if must {
                let message = "two destinations are needed";
                return self.cx.error("ptx::operand", message, operand.span, "write `d|p`");
            }
            return Ok((self.destination(operand, ty, false, true)?, None));
        };
        let side = |name: Symbol| {
            let kind = if name == kw::SINK { OperandKind::Sink } else { OperandKind::Name(name) };
            Operand { kind, span: operand.span }
        };
        let first = self.destination(&side(first), ty, false, true)?;
        let second = self.destination(&side(second), Type::Pred, false, true)?;
        // Of two writes to one register the second wins.
        Ok((first.filter(|_| first != second), Some(second)))
    }

    /// The special register that an operand names.
    pub(super) fn special(&self, operand: &Operand) -> Option<(Special, Type)> {
        let tree = self.cx.tree;
        let name = match operand.kind {
            OperandKind::Name(name) => tree.name(name).to_owned(),
            OperandKind::Member(name, member) => {
                format!("{}.{}", tree.name(name), tree.name(member))
            }
            _ => return None,
        };
        let name = name.strip_prefix('%')?;
        match name {
            // No device graph, no performance monitor, nothing from a driver, no shared memory that
            // the system keeps.
            "current_graph_exec" => return Some((Special::Constant(0), Type::U64)),
            name if is_idle(name) => {
                let ty = if name.ends_with("_64") { Type::U64 } else { Type::U32 };
                return Some((Special::Constant(0), ty));
            }
            _ => {}
        }
        let sreg = Sreg::from_name(name)?;
        let ty = match sreg {
            Sreg::Clock64 | Sreg::GlobalTimer | Sreg::GridId => Type::U64,
            Sreg::ExplicitCluster => Type::Pred,
            _ => Type::U32,
        };
        Some((Special::Register(sreg), ty))
    }

    /// Reports an operand that is not a value.
    pub(super) fn not_a_value(&mut self, operand: &Operand) -> super::Failed {
        let tree = self.cx.tree;
        let text = operand_text(tree, operand);
        let (OperandKind::Name(name)
        | OperandKind::Member(name, _)
        | OperandKind::Not(name)
        | OperandKind::Neg(name)
        | OperandKind::Sum(name, _)
        | OperandKind::Element(name, _)
        | OperandKind::Address(name, _)) = operand.kind
        else {
            let message = format!("`{text}` is not possible here");
            let label = "a register or constant is needed";
            let diagnostic = Diagnostic::error("ptx::operand", message).at(operand.span, label);
            return self.cx.fail(diagnostic);
        };
        let diagnostic = match (self.scopes.find(tree, name), self.cx.globals.get(&name)) {
            (Some(Found::Register(..)), _) => {
                Diagnostic::error("ptx::operand", format!("`{text}` is not possible here"))
                    .at(operand.span, "a register or constant by itself is needed")
            }
            (Some(Found::Other(_, declared)), _) => {
                variable(tree.name(name), operand.span).also(declared, "declared here")
            }
            (None, Some(Global::Variable(..))) => variable(tree.name(name), operand.span),
            (None, Some(Global::Function(_))) => {
                let name = tree.name(name);
                Diagnostic::error("ptx::operand", format!("`{name}` is a function, not a value"))
                    .at(operand.span, "a register or constant is needed")
                    .help("take its address with `mov.u64`")
            }
            (None, None) if self.special(operand).is_some() => {
                let message = format!("the special register `{text}` is not possible here");
                Diagnostic::error("ptx::operand", message)
                    .at(operand.span, "only `mov` and `cvt` read special registers")
                    .help("move it into a register first")
            }
            (None, None) => return self.undefined(name, operand.span),
        };
        self.cx.fail(diagnostic)
    }

    /// Reports an undefined name.
    pub(super) fn undefined(&mut self, name: Symbol, span: Span) -> super::Failed {
        let tree = self.cx.tree;
        if tree.incomplete {
            // Its declaration may be among the text that could not be read.
            return super::Failed;
        }
        let text = tree.name(name);
        let diagnostic = Diagnostic::error("ptx::undefined", format!("`{text}` is not declared"))
            .at(span, "unknown name");
        if let Some((stem, count)) = self.scopes.range_of(tree, name) {
            let last = count.saturating_sub(1);
            let help =
                format!("`{stem}<{count}>` declares `{stem}0` to `{stem}{last}`: raise the number");
            return self.cx.fail(diagnostic.help(help));
        }
        if let Some(count) = self.scopes.registers_of(name) {
            let last = count.saturating_sub(1);
            let help = format!("`{text}<{count}>` declares `{text}0` to `{text}{last}`");
            return self.cx.fail(diagnostic.help(help));
        }
        // Searching all names takes time, which is not worth it after many errors.
        let few = self.cx.diagnostics.error_count() < 50;
        let near = few.then(|| self.scopes.nearest(tree, name)).flatten();
        self.cx.fail(match near {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None if text.starts_with('%') => diagnostic
                .help(format!("declare it, such as `.reg .b32 {text};`, or check its number")),
            None => diagnostic,
        })
    }
}

/// Returns whether PTX has a special register of this name, without its percent sign, that reads as
/// zero here: `%envreg0` to `%envreg31` but for 1 and 2, `%pm0` to `%pm7` and their `_64`.
fn is_idle(name: &str) -> bool {
    let numbered = |number: &str, count: u8| {
        let plain = number == "0" || !number.starts_with('0');
        plain && number.parse::<u8>().is_ok_and(|n| n < count)
    };
    if let Some(number) = name.strip_prefix("envreg") {
        return numbered(number, 32) && !matches!(number, "1" | "2");
    }
    name.strip_prefix("pm").is_some_and(|n| numbered(n.strip_suffix("_64").unwrap_or(n), 8))
}

/// Reports a variable where a value is needed.
fn variable(name: &str, span: Span) -> Diagnostic {
    Diagnostic::error("ptx::operand", format!("`{name}` is a variable, not a value"))
        .at(span, "a register or constant is needed")
        .help("load it with `ld`, or take its address with `mov`")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows agree with what `ptxas` 13.5 takes.
    #[test]
    fn types_fit_as_the_assembler_says() {
        use Type::*;
        for (found, wanted, wider, expected) in [
            (B32, U32, false, true),
            (F32, B32, false, true),
            (F32, U32, false, false),
            (U32, F32, false, false),
            (S32, U32, false, true),
            (B32, B64, false, false),
            (B64, U8, true, true),
            (B64, F32, true, true),
            (F32, U32, true, false),
            (F32, B32, true, true),
            (F64, F32, true, false),
            (B32, U64, true, false),
            (Pred, B32, false, false),
            (B16, Bf16, false, true),
            (U16, Bf16, false, true),
            (F16, F16, false, true),
        ] {
            assert_eq!(fits(found, wanted, wider), expected, "{found:?} as {wanted:?}");
        }
    }
}
