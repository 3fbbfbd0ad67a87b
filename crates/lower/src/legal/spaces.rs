//! Address spaces: shared and local memory as regions of global memory.

use super::build::word;
use super::launch::{Stage, Value};
use super::words::missing;
use crate::Missing;
use ir::mods::{Cmp, Mods, Space};
use ir::module::Symbol;
use ir::{Inst, Op, Operand, Reg, RegTy, Ty};

impl Stage<'_> {
    /// The low word of an address.
    pub(super) fn low_word(&mut self, operand: Operand) -> Operand {
        match operand {
            Operand::Imm(value) => word(value as u32),
            Operand::Reg(Reg::Lane(reg))
                if self.builder.function.regs[reg.index()].ty == RegTy::B64 =>
            {
                let mut cvt = Inst::new(Op::Cvt).ty(Ty::U32).operand(operand);
                cvt.ty2 = Some(Ty::U64);
                self.builder.value(cvt)
            }
            Operand::Symbol(..) => self.address(operand),
            other => other,
        }
    }

    /// A word as an address of a type.
    fn widened(&mut self, value: Operand, ty: Ty, to: Option<Option<Reg>>) {
        let mut inst = match ty {
            Ty::U64 => Inst::new(Op::Cvt).ty(Ty::U64).operand(value),
            _ => Inst::new(Op::Mov).ty(Ty::B32).operand(value),
        };
        inst.ty2 = (ty == Ty::U64).then_some(Ty::U32);
        inst.results.extend(to);
        self.builder.emit(inst);
    }

    /// The region that a space is, with its size.
    fn window(&mut self, space: Space) -> Option<(Operand, u32)> {
        let (shared, local) = self.sizes();
        let (value, bytes) = match space {
            Space::Shared => (Value::Shared, shared),
            Space::Local => (Value::Local, local),
            _ => return None,
        };
        // A kernel without variables of that space has no region of it.
        if bytes == 0 {
            return Some((word(0), 0));
        }
        Some((self.begin_with(value), bytes))
    }

    /// An address and an offset as those of a global access.
    pub(super) fn global(
        &mut self,
        inst: &Inst,
        operand: Operand,
        offset: i64,
    ) -> Result<(Operand, i64), Missing> {
        let space = inst.mods.space.unwrap_or(Space::Generic);
        if let Operand::Symbol(symbol, at) = operand {
            let Some(within) = self.offset(symbol, at) else {
                return match symbol {
                    Symbol::Var(_) => Ok((operand, offset)),
                    _ => Err(missing(inst, "such addresses")),
                };
            };
            let space = if matches!(symbol, Symbol::Local(_)) { Space::Local } else { space };
            let Some((base, _)) = self.window(space) else {
                return Err(missing(inst, "such addresses"));
            };
            return Ok((base, offset + i64::from(within)));
        }
        match space {
            Space::Shared | Space::Local => {
                let Some((base, _)) = self.window(space) else {
                    return Err(missing(inst, "such addresses"));
                };
                let low = self.low_word(operand);
                Ok((self.builder.add(base, low), offset))
            }
            _ => Ok((operand, offset)),
        }
    }

    /// A load or store.
    pub(super) fn access(&mut self, inst: &Inst) -> Result<(), Missing> {
        if inst.mods.space == Some(Space::Param) {
            self.builder.keep(inst.clone());
            return Ok(());
        }
        let mut access = self.resolved_values(inst)?;
        let (operand, offset) = self.global(inst, inst.operands[0], inst.offset)?;
        (access.operands[0], access.offset) = (operand, offset);
        access.mods.space = Some(Space::Global);
        // Lanes and warps see each other's accesses in program order.
        (access.mods.order, access.mods.scope) = (None, None);
        self.builder.keep(access);
        Ok(())
    }

    /// The instruction with values in the place of all symbols but the first operand.
    pub(super) fn resolved_values(&mut self, inst: &Inst) -> Result<Inst, Missing> {
        let mut values = inst.clone();
        let first = std::mem::replace(&mut values.operands[0], word(0));
        let mut values = self.resolved(&values)?;
        values.operands[0] = first;
        Ok(values)
    }

    /// Conversions between generic addresses and those of spaces, and questions about them.
    pub(super) fn convert_address(&mut self, inst: &Inst) -> Result<(), Missing> {
        let space = inst.mods.space.unwrap_or(Space::Generic);
        let ty = inst.ty.unwrap_or(Ty::U64);
        let inst = &self.resolved(inst)?;
        let operand = inst.operands[0];
        let to = inst.results.first().copied();
        if inst.op == Op::IsSpace {
            return self.is_in(inst, space);
        }
        let Some((base, _)) = self.window(space) else {
            if !matches!(space, Space::Global | Space::Const) {
                return Err(missing(inst, &format!("{space:?} addresses").to_lowercase()));
            }
            let bits = if ty.bits() == 64 { Ty::B64 } else { Ty::B32 };
            let mut mov = Inst::new(Op::Mov).ty(bits).operand(operand);
            mov.results.extend(to);
            self.builder.emit(mov);
            return Ok(());
        };
        let low = self.low_word(operand);
        let value = match inst.op {
            Op::CvtaTo => self.builder.add(low, base),
            _ => self.builder.sub(low, base),
        };
        self.widened(value, ty, to);
        Ok(())
    }

    fn is_in(&mut self, inst: &Inst, space: Space) -> Result<(), Missing> {
        let low = self.low_word(inst.operands[0]);
        let inside = |stage: &mut Self, space: Space| {
            let (base, bytes) = stage.window(space)?;
            let distance = stage.builder.sub(low, base);
            Some(stage.builder.compare(Cmp::Lo, Ty::U32, distance, word(bytes)))
        };
        let holds = match space {
            Space::Global => {
                let (shared, local) = (inside(self, Space::Shared), inside(self, Space::Local));
                let (Some(shared), Some(local)) = (shared, local) else {
                    return Err(missing(inst, "such addresses"));
                };
                let other = self.builder.logic(Op::Or, &[shared, local]);
                self.builder.logic(Op::Not, &[other])
            }
            Space::Shared | Space::Local => match inside(self, space) {
                Some(holds) => holds,
                None => return Err(missing(inst, "such addresses")),
            },
            _ => return Err(missing(inst, &format!("{space:?} addresses").to_lowercase())),
        };
        let mut mov = Inst::new(Op::Mov).ty(Ty::Pred).operand(holds);
        mov.results.extend(inst.results.first().copied());
        self.builder.emit(mov);
        Ok(())
    }

    /// An asynchronous copy is one that has happened.
    pub(super) fn copy(&mut self, inst: &Inst) -> Result<(), Missing> {
        let ty = inst.ty.unwrap_or(Ty::B32);
        let (words, distance) = match (ty.bytes() / 4, inst.operands.get(2)) {
            (words @ 1..=4, Some(&Operand::Imm(distance))) => (words, distance as i64),
            _ => return Err(missing(inst, "such copies")),
        };
        let mut inst = inst.clone();
        let (to, offset, space) = match self.layout.collectives {
            true => (inst.operands[0], inst.offset, inst.mods.space.unwrap_or(Space::Shared)),
            false => {
                inst = self.resolved_values(&inst)?;
                let (to, offset) = self.global(&inst, inst.operands[0], inst.offset)?;
                (to, offset, Space::Global)
            }
        };
        let mods = Mods { space: Some(Space::Global), ..Mods::default() };
        let bytes = inst.operands.get(3).copied();
        for index in 0..words {
            let mut load = Inst::new(Op::Ld).ty(Ty::B32).operand(inst.operands[1]);
            (load.mods, load.offset) = (mods, distance + i64::from(4 * index));
            let value = match bytes {
                None => self.builder.value(load),
                Some(bytes) => self.copied_part(&load, bytes, index),
            };
            let mut store = Inst::new(Op::St).ty(Ty::B32).operand(to).operand(value);
            store.mods = Mods { space: Some(space), ..mods };
            store.offset = offset + i64::from(4 * index);
            self.builder.emit(store);
        }
        Ok(())
    }

    /// A word of which `bytes` bytes, counted from the first word of the copy, are copied; the
    /// rest is zero. What is not copied is not read.
    fn copied_part(&mut self, load: &Inst, bytes: Operand, index: u32) -> Operand {
        let result = self.builder.temp();
        self.builder.put(Some(result), word(0));
        for byte in 0..4 {
            let some = self.builder.compare(Cmp::Hi, Ty::U32, bytes, word(4 * index + byte));
            let mut one = Inst { ty: Some(Ty::U8), ..load.clone() };
            one.offset += i64::from(byte);
            let value = self.builder.under(some, one);
            let value = self.builder.shl(value, word(8 * byte));
            let sum = self.builder.or(Operand::lane(result), value);
            self.builder.put(Some(result), sum);
        }
        Operand::lane(result)
    }
}
