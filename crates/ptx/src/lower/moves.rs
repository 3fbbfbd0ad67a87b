//! `mov`: values, packing and unpacking, addresses, special registers.

use ir::{Inst, Op, Origin, Reg};
use smallvec::SmallVec;

use super::function::Body;
use super::names::{Found, Meaning};
use super::operand::Special;
use super::{Global, Lowering};
use crate::ast::{Instruction, Operand, OperandKind, Type};
use crate::names::Symbol;
use crate::spelling::{Kind, Spelled};

/// Untyped bits of a width.
pub(super) fn bits_type(bits: u32) -> Option<Type> {
    Some(match bits {
        8 => Type::B8,
        16 => Type::B16,
        32 => Type::B32,
        64 => Type::B64,
        128 => Type::B128,
        _ => return None,
    })
}

impl Body<'_, '_> {
    pub(super) fn mov(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        self.count(i, 2, 2)?;
        let tree = self.cx.tree;
        let [to, from] = &tree.operands[i.operands] else { return Ok(()) };
        let ty = s.ty();
        if s.has(Kind::Vector) {
            return self.vector_to_vector(s, to, from);
        }
        if let Some(()) = self.whole_vector(ty, to, from)? {
            return Ok(());
        }
        match (to.kind, from.kind) {
            (OperandKind::Vector(_), OperandKind::Vector(_)) => {
                let message = "`mov` packs or unpacks, not both at once";
                self.cx.error("ptx::operand", message, i.span, "two vectors")
            }
            (OperandKind::Vector(parts), _) => {
                let part = self.part_type(ty, parts.len(), to)?;
                let mut inst = self.packing(Op::Unpack, ty, part);
                for operand in &tree.operands[parts] {
                    let reg = self.destination(operand, part, false, true)?.map(Reg::Lane);
                    // Of two writes to one register the last wins.
                    for earlier in inst.results.iter_mut().filter(|r| **r == reg) {
                        *earlier = None;
                    }
                    inst.results.push(reg);
                }
                inst.operands.push(self.source(from, ty, false)?);
                self.emit(inst, Origin::Source);
                Ok(())
            }
            (_, OperandKind::Vector(parts)) => {
                let part = self.part_type(ty, parts.len(), from)?;
                let mut inst = self.packing(Op::Pack, ty, part);
                inst.results.push(self.destination(to, ty, false, false)?.map(Reg::Lane));
                for operand in &tree.operands[parts] {
                    inst.operands.push(self.source(operand, part, false)?);
                }
                self.emit(inst, Origin::Source);
                Ok(())
            }
            _ => self.scalar_mov(ty, to, from),
        }
    }

    /// `mov.v2` and `mov.v4`: vector registers, or lists of registers, as a whole.
    fn vector_to_vector(&mut self, s: &Spelled, to: &Operand, from: &Operand) -> Lowering<()> {
        let ir_ty = self.ir_ty(s.ty(), to.span)?;
        let mut values = self.stored(s, from, false)?;
        let results = self.loaded(s, to, false)?;
        // A value that an earlier element overwrites is saved first.
        for (k, value) in values.iter_mut().enumerate() {
            if let ir::Operand::Reg(Reg::Lane(reg)) = *value
                && results[..k].contains(&Some(reg))
            {
                let kept = self.code.temporary(self.code.reg_ty(reg));
                let mov = super::emit::inst(Op::Mov, Some(ir_ty), kept, &[*value]);
                self.emit(mov, Origin::Lowering);
                *value = ir::Operand::lane(kept);
            }
        }
        let mut origin = Origin::Source;
        for (to, from) in results.iter().zip(&values) {
            let Some(to) = *to else { continue };
            self.emit(super::emit::inst(Op::Mov, Some(ir_ty), to, &[*from]), origin);
            origin = Origin::Lowering;
        }
        if origin == Origin::Source {
            self.emit(Inst::new(Op::Nop), origin);
        }
        Ok(())
    }

    /// A vector register as untyped bits: `mov.b64` of a `.v2 .u32`, there and back. `None` if
    /// neither operand is one, or both are.
    fn whole_vector(&mut self, ty: Type, to: &Operand, from: &Operand) -> Lowering<Option<()>> {
        let (to_parts, from_parts) = (self.elements(to), self.elements(from));
        let (op, operand, parts, other) = match (to_parts, from_parts) {
            (None, Some(parts)) => (Op::Pack, from, parts, to),
            (Some(parts), None) => (Op::Unpack, to, parts, from),
            _ => return Ok(None),
        };
        let untyped = matches!(ty, Type::B16 | Type::B32 | Type::B64 | Type::B128);
        if !untyped || matches!(other.kind, OperandKind::Vector(_)) {
            return Ok(None);
        }
        let part = self.part_type(ty, parts.len(), operand)?;
        if self.code.reg_ty(parts[0]).bits() != part.bits() {
            let text = crate::print::operand_text(self.cx.tree, operand);
            let message = format!("the elements of `{text}` do not make up a `.{}`", ty.word());
            let label = "of another size";
            return self.cx.error("ptx::operand-type", message, operand.span, label);
        }
        let mut inst = self.packing(op, ty, part);
        if op == Op::Pack {
            inst.results.push(self.destination(other, ty, false, false)?.map(Reg::Lane));
            inst.operands.extend(parts.into_iter().map(ir::Operand::lane));
        } else {
            inst.results.extend(parts.into_iter().map(|reg| Some(Reg::Lane(reg))));
            inst.operands.push(self.source(other, ty, false)?);
        }
        self.emit(inst, Origin::Source);
        Ok(Some(()))
    }

    /// The elements of a vector register, if the operand names one as a whole.
    fn elements(&mut self, operand: &Operand) -> Option<SmallVec<[ir::LaneReg; 4]>> {
        let OperandKind::Name(name) = operand.kind else { return None };
        match self.scopes.find(self.cx.tree, name) {
            Some(Found::Register(key, ty, vector, _)) if vector > 1 => {
                Some((0..vector).map(|part| self.register(key, part, ty, name)).collect())
            }
            _ => None,
        }
    }

    fn packing(&self, op: Op, whole: Type, part: Type) -> Inst {
        let mut inst = Inst::new(op);
        inst.ty = bits_type(whole.bits()).and_then(|t| ir::Ty::from_name(t.word()));
        inst.ty2 = ir::Ty::from_name(part.word());
        inst
    }

    /// The type of a part, if this number of parts makes up the whole.
    fn part_type(&mut self, whole: Type, parts: usize, operand: &Operand) -> Lowering<Type> {
        let untyped = matches!(whole, Type::B16 | Type::B32 | Type::B64 | Type::B128);
        let bits =
            u32::try_from(parts).ok().filter(|n| *n > 1).and_then(|n| whole.bits().checked_div(n));
        let part = bits.filter(|b| b * parts as u32 == whole.bits()).and_then(bits_type);
        match part {
            Some(part) if untyped && whole.bits() > part.bits() => Ok(part),
            _ => {
                let message =
                    format!("{parts} elements do not make up a value of `.{}`", whole.word());
                let label = "`.b16` to `.b128` in 2, 4 or 8 parts is possible";
                self.cx.error("ptx::operand", message, operand.span, label)
            }
        }
    }

    fn scalar_mov(&mut self, ty: Type, to: &Operand, from: &Operand) -> Lowering<()> {
        if let Some(()) = self.vector_mov(ty, to, from)? {
            return Ok(());
        }
        if self.scopes_do_not_have(from)
            && let Some((special, width)) = self.special(from)
        {
            return self.special_mov(ty, to, from, special, width);
        }
        let value = match self.symbol_of(from)? {
            Some(symbol) => {
                let address = matches!(
                    ty,
                    Type::U32 | Type::U64 | Type::S32 | Type::S64 | Type::B32 | Type::B64
                );
                if !address {
                    let message = format!("an address is not of type `.{}`", ty.word());
                    let label = "use `mov.u64` or, in `.shared`, `.local` and `.const`, `mov.u32`";
                    return self.cx.error("ptx::operand-type", message, from.span, label);
                }
                symbol
            }
            None => self.source(from, ty, false)?,
        };
        let reg = self.destination(to, ty, false, false)?;
        let mut inst = Inst::new(Op::Mov);
        inst.ty = Some(self.ir_ty(ty, to.span)?);
        inst.results.push(reg.map(Reg::Lane));
        inst.operands.push(value);
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// A whole vector register to another.
    fn vector_mov(&mut self, ty: Type, to: &Operand, from: &Operand) -> Lowering<Option<()>> {
        let (Some(to_parts), Some(from_parts)) =
            (self.vector_register(to, ty)?, self.vector_register(from, ty)?)
        else {
            return Ok(None);
        };
        let ir_ty = self.ir_ty(ty, to.span)?;
        for (k, (to, from)) in to_parts.iter().zip(&from_parts).enumerate() {
            let inst = super::emit::inst(Op::Mov, Some(ir_ty), *to, &[ir::Operand::lane(*from)]);
            self.emit(inst, if k == 0 { Origin::Source } else { Origin::Lowering });
        }
        Ok(Some(()))
    }

    /// The elements of a vector register, if the operand names one.
    pub(super) fn vector_register(
        &mut self,
        operand: &Operand,
        ty: Type,
    ) -> Lowering<Option<SmallVec<[ir::LaneReg; 4]>>> {
        let OperandKind::Name(name) = operand.kind else { return Ok(None) };
        let Some(Found::Register(key, declared, vector, span)) =
            self.scopes.find(self.cx.tree, name)
        else {
            return Ok(None);
        };
        if vector == 1 {
            return Ok(None);
        }
        if !super::operand::fits(declared, ty, false) {
            let text = self.cx.tree.name(name);
            let message = format!("the elements of `{text}` are `.{}`", declared.word());
            let diagnostic = isa::Diagnostic::error("ptx::operand-type", message)
                .at(operand.span, format!("`.{}` is needed", ty.word()))
                .also(span, "declared here");
            return Err(self.cx.fail(diagnostic));
        }
        Ok(Some((0..vector).map(|part| self.register(key, part, declared, name)).collect()))
    }

    fn special_mov(
        &mut self,
        ty: Type,
        to: &Operand,
        from: &Operand,
        special: Special,
        width: Type,
    ) -> Lowering<()> {
        let reg = self.destination(to, ty, false, false)?;
        // The old types of 16 bits, and 32 bits of the grid's number, are still taken.
        let narrower = ty.bits() == 16 || (ty.bits() == 32 && width == Type::U64);
        if ty.bits() != width.bits() && !narrower {
            let text = crate::print::operand_text(self.cx.tree, from);
            let message = format!("`{text}` has {} bits", width.bits());
            let label = format!("`.{}` has {}", ty.word(), ty.bits());
            return self.cx.error("ptx::operand-type", message, from.span, label);
        }
        if width == Type::Pred
            && let Special::Register(sreg) = special
        {
            self.special_predicate(sreg, reg);
            return Ok(());
        }
        let mut inst = match special {
            Special::Register(sreg) => {
                let mut inst = Inst::new(Op::Sreg);
                inst.operands.push(ir::Operand::Sreg(sreg));
                inst
            }
            Special::Constant(value) => {
                let mut inst = Inst::new(Op::Mov);
                inst.operands.push(ir::Operand::Imm(value.into()));
                inst
            }
        };
        inst.ty = Some(super::function::register_ty(ty).ty());
        inst.results.push(reg.map(Reg::Lane));
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// A special register that is a predicate: whether its number is not 0.
    fn special_predicate(&mut self, sreg: ir::Sreg, to: Option<ir::LaneReg>) {
        let word = self.code.temporary(ir::RegTy::B32);
        let read = Inst::new(Op::Sreg).ty(ir::Ty::U32).result(Reg::Lane(word));
        self.emit(read.operand(ir::Operand::Sreg(sreg)), Origin::Source);
        let mut test = Inst::new(Op::Setp).ty(ir::Ty::U32);
        test.mods.cmp = Some(ir::mods::Cmp::Ne);
        test.results.push(to.map(Reg::Lane));
        test.operands.extend([ir::Operand::lane(word), ir::Operand::Imm(0)]);
        self.emit(test, Origin::Lowering);
    }

    /// Returns the address that an operand denotes, if it names something with an address.
    pub(super) fn symbol_of(&mut self, operand: &Operand) -> Lowering<Option<ir::Operand>> {
        let (name, offset, index) = match operand.kind {
            OperandKind::Name(name) => (name, 0, None),
            OperandKind::Sum(name, offset) => (name, offset, None),
            OperandKind::Element(name, index) => (name, 0, Some(index)),
            _ => return Ok(None),
        };
        let Some((symbol, element)) = self.symbol(name, operand)? else { return Ok(None) };
        let offset = match index {
            None => offset,
            Some(index) => self.element_offset(index, element)?,
        };
        Ok(Some(ir::Operand::Symbol(symbol, offset)))
    }

    /// The IR's symbol of a name, and the bytes of an element of it.
    pub(super) fn symbol(
        &mut self,
        name: Symbol,
        operand: &Operand,
    ) -> Lowering<Option<(ir::Symbol, u64)>> {
        let tree = self.cx.tree;
        match self.scopes.find(tree, name) {
            Some(Found::Register(..)) => Ok(None),
            Some(Found::Other(meaning, _)) => match meaning {
                Meaning::Local { index, element } => Ok(Some((ir::Symbol::Local(index), element))),
                Meaning::Variable { id, element } => Ok(Some((ir::Symbol::Var(id), element))),
                Meaning::KernelParam { index, element } => {
                    Ok(Some((ir::Symbol::Param(index), element)))
                }
                Meaning::Param(_) => {
                    let text = tree.name(name);
                    let message = format!("the parameter `{text}` has no address");
                    let diagnostic = isa::Diagnostic::error("ptx::unsupported", message)
                        .at(operand.span, "its address is taken here")
                        .note("parameters of device functions travel in registers")
                        .help("copy it to a `.local` variable and take that one's address");
                    Err(self.cx.fail(diagnostic))
                }
                Meaning::Register { .. } => Ok(None),
            },
            None => match self.cx.globals.get(&name).copied() {
                Some(Global::Variable(d, declarator)) => {
                    let id = self.cx.variable(d, declarator, Some(operand.span))?;
                    let element = self
                        .cx
                        .layout(&tree.declarations[d], &tree.declarators[declarator])?
                        .element;
                    Ok(Some((ir::Symbol::Var(id), element)))
                }
                Some(Global::Function(id)) => {
                    let func = self.cx.defined_function(id, operand.span)?;
                    Ok(Some((ir::Symbol::Func(func), 1)))
                }
                None => Ok(None),
            },
        }
    }
}
