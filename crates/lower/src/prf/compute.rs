//! Arithmetic, logic, selection.

use super::select::Select;
use super::values::{short, whole};
use crate::Missing;
use ir::mods::Rounding;
use ir::{Inst, Op, Ty};

impl Select<'_> {
    pub(super) fn compute(&mut self, inst: &Inst, to: u32) -> Result<(), Missing> {
        let ty = inst.ty.unwrap_or(Ty::B32);
        if ty == Ty::F32 && inst.op != Op::Selp {
            return self.float(inst, to);
        }
        let pred = ty == Ty::Pred;
        let word = whole(ty);
        let low = word || pred;
        match inst.op {
            Op::Add if low => self.add(inst, to),
            Op::Sub if low => self.binary("sub", inst, to),
            Op::Mul if low => self.binary("mul", inst, to),
            Op::Mad if word => self.multiply_add(inst, to),
            Op::And if low => self.binary("and", inst, to),
            Op::Or if low => self.binary("or", inst, to),
            Op::Xor if low => self.binary("xor", inst, to),
            Op::AndNot if low => {
                let b = self.value(inst, 1, 61)?;
                self.code(format!("xori x63, x{b}, {}", if pred { 1 } else { -1 }));
                let a = self.value(inst, 0, 60)?;
                self.code(format!("and x{to}, x{a}, x63"));
                Ok(())
            }
            Op::Not if low => {
                let a = self.value(inst, 0, 60)?;
                self.code(format!("xori x{to}, x{a}, {}", if pred { 1 } else { -1 }));
                Ok(())
            }
            Op::Cnot if word => {
                let a = self.value(inst, 0, 60)?;
                self.code(format!("sltiu x{to}, x{a}, 1"));
                Ok(())
            }
            Op::Neg if low => {
                let a = self.value(inst, 0, 60)?;
                self.code(format!("sub x{to}, x0, x{a}"));
                Ok(())
            }
            Op::Abs if ty == Ty::S32 => {
                let a = self.value(inst, 0, 60)?;
                self.code(format!("srai x63, x{a}, 31"));
                self.code(format!("xor x62, x{a}, x63"));
                self.code(format!("sub x{to}, x62, x63"));
                Ok(())
            }
            Op::Min | Op::Max if word && inst.operands.len() == 2 => self.extreme(inst, to),
            Op::Div | Op::Rem if ty == Ty::S32 => self.divide(inst, to),
            Op::Shl if low && !pred => self.shift(to, inst, "sll"),
            Op::Shr if word => self.shift(to, inst, if ty.is_signed() { "sra" } else { "srl" }),
            Op::Selp if low || ty == Ty::F32 => self.select_value(inst, to),
            _ => Err(self.missing(inst, &format!("operation `{}`", inst.op.name()))),
        }
    }

    fn binary(&mut self, name: &str, inst: &Inst, to: u32) -> Result<(), Missing> {
        let (a, b) = (self.value(inst, 0, 60)?, self.value(inst, 1, 61)?);
        self.code(format!("{name} x{to}, x{a}, x{b}"));
        Ok(())
    }

    fn add(&mut self, inst: &Inst, to: u32) -> Result<(), Missing> {
        match Self::immediate(inst, 1) {
            Some(b) if short(b) => {
                let a = self.value(inst, 0, 60)?;
                self.code(format!("addi x{to}, x{a}, {}", b.cast_signed()));
                Ok(())
            }
            _ => self.binary("add", inst, to),
        }
    }

    fn multiply_add(&mut self, inst: &Inst, to: u32) -> Result<(), Missing> {
        self.binary("mul", inst, 62)?;
        let c = self.value(inst, 2, 60)?;
        self.code(format!("add x{to}, x62, x{c}"));
        Ok(())
    }

    fn extreme(&mut self, inst: &Inst, to: u32) -> Result<(), Missing> {
        let (a, b) = (self.value(inst, 0, 60)?, self.value(inst, 1, 61)?);
        let u = if inst.ty.is_some_and(Ty::is_signed) { "" } else { "u" };
        let (x, y) = if inst.op == Op::Min { (a, b) } else { (b, a) };
        self.code(format!("slt{u} x63, x{x}, x{y}"));
        self.choose(to, 63, a, b);
        Ok(())
    }

    /// By zero, the machine gives 0 and the IR all ones; the remainder is the dividend in both.
    fn divide(&mut self, inst: &Inst, to: u32) -> Result<(), Missing> {
        let (a, b) = (self.value(inst, 0, 60)?, self.value(inst, 1, 61)?);
        self.code(format!("div x62, x{a}, x{b}"));
        if inst.op == Op::Rem {
            self.code(format!("mul x62, x62, x{b}"));
            self.code(format!("sub x{to}, x{a}, x62"));
        } else {
            self.code(format!("sltiu x63, x{b}, 1"));
            self.code("sub x63, x0, x63".to_owned());
            self.code(format!("or x{to}, x62, x63"));
        }
        Ok(())
    }

    fn select_value(&mut self, inst: &Inst, to: u32) -> Result<(), Missing> {
        let (a, b) = (self.value(inst, 0, 60)?, self.value(inst, 1, 61)?);
        let p = self.value(inst, 2, 63)?;
        self.choose(to, p, a, b);
        Ok(())
    }

    fn float(&mut self, inst: &Inst, to: u32) -> Result<(), Missing> {
        if !matches!(inst.mods.rounding, None | Some(Rounding::Rn)) {
            return Err(self.missing(inst, "rounding other than to nearest"));
        }
        match inst.op {
            Op::Add => self.binary("addf", inst, to),
            Op::Sub => self.binary("subf", inst, to),
            Op::Mul => self.binary("mulf", inst, to),
            Op::Neg | Op::Abs => {
                let a = self.value(inst, 0, 60)?;
                let sign = self.constant(0x8000_0000, 62);
                if inst.op == Op::Neg {
                    self.code(format!("xor x{to}, x{a}, x{sign}"));
                } else {
                    self.code(format!("xori x62, x{sign}, -1"));
                    self.code(format!("and x{to}, x{a}, x62"));
                }
                Ok(())
            }
            Op::Fma => Err(self.missing(inst, "multiplication and addition rounded once")),
            Op::Div => Err(self.missing(inst, "division that gives infinity by zero")),
            _ => Err(self.missing(inst, &format!("operation `{}`", inst.op.name()))),
        }
    }
}
