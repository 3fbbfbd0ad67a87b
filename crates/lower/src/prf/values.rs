//! Operands, constants, and the sequences that stand for one operation.

use super::select::Select;
use crate::Missing;
use ir::{Inst, Operand, Reg, Ty};

/// The first scratch register.
pub(super) const FIRST_SCRATCH: u32 = 60;

/// Whether an immediate of six bits holds it.
pub(super) fn short(value: u32) -> bool {
    (-32..32).contains(&value.cast_signed())
}

impl Select<'_> {
    /// An operand in a register; a constant is put into scratch register `scratch`.
    pub(super) fn value(
        &mut self,
        inst: &Inst,
        index: usize,
        scratch: u32,
    ) -> Result<u32, Missing> {
        match inst.operands.get(index) {
            Some(&Operand::Reg(Reg::Lane(reg))) => Ok(self.reg(reg)),
            Some(&Operand::Imm(value)) => Ok(self.constant(value as u32, scratch)),
            Some(&Operand::Symbol(symbol, at)) => match self.data.address(symbol, at) {
                Some(address) => Ok(self.constant(address, scratch)),
                None => Err(self.missing(inst, "addresses of variables")),
            },
            _ => Err(self.missing(inst, "such operand")),
        }
    }

    /// The bits of a constant operand.
    pub(super) fn immediate(inst: &Inst, index: usize) -> Option<u32> {
        match inst.operands.get(index) {
            Some(&Operand::Imm(value)) => Some(value as u32),
            _ => None,
        }
    }

    /// A constant in a register.
    pub(super) fn constant(&mut self, value: u32, scratch: u32) -> u32 {
        if value == 0 {
            return 0;
        }
        if short(value) {
            self.code(format!("addi x{scratch}, x0, {}", value.cast_signed()));
            return scratch;
        }
        let parts = [("lli", value & 0xfff), ("lmi", value >> 12 & 0xfff), ("lui", value >> 24)];
        // Each inserts some bits and keeps the rest: all three, or on zero those that are not zero.
        if parts.iter().any(|p| p.1 == 0) {
            self.code(format!("addi x{scratch}, x0, 0"));
        }
        for (name, bits) in parts {
            if bits != 0 {
                self.code(format!("{name} x{scratch}, {bits:#x}"));
            }
        }
        scratch
    }

    /// `to = p ? a : b` for p in 0 and 1, on scratch registers 62 and 63.
    pub(super) fn choose(&mut self, to: u32, p: u32, a: u32, b: u32) {
        self.code(format!("sub x63, x0, x{p}"));
        self.code(format!("xor x62, x{a}, x{b}"));
        self.code("and x62, x62, x63".to_owned());
        self.code(format!("xor x{to}, x{b}, x62"));
    }

    /// A comparison into `to`, 0 or 1; `greater` and its kin swap.
    pub(super) fn compare(&mut self, to: u32, inst: &Inst, a: u32, b: u32) -> Result<(), Missing> {
        use ir::mods::Cmp::{
            Eq, Equ, Ge, Geu, Gt, Gtu, Hi, Hs, Le, Leu, Lo, Ls, Lt, Ltu, Nan, Ne, Neu, Num,
        };
        let ty = inst.ty.unwrap_or(Ty::B32);
        let Some(cmp) = inst.mods.cmp else { return Err(self.missing(inst, "such comparison")) };
        if ty == Ty::F32 {
            let (name, x, y, not) = match cmp {
                Lt => ("sltf", a, b, false),
                Gt => ("sltf", b, a, false),
                Ge => ("sgef", a, b, false),
                Le => ("sgef", b, a, false),
                Geu => ("sltf", a, b, true),
                Leu => ("sltf", b, a, true),
                Ltu => ("sgef", a, b, true),
                Gtu => ("sgef", b, a, true),
                Eq | Neu => {
                    self.both(to, ("sgef", a, b), ("sgef", b, a), "and", cmp == Neu);
                    return Ok(());
                }
                Ne | Equ => {
                    self.both(to, ("sltf", a, b), ("sltf", b, a), "or", cmp == Equ);
                    return Ok(());
                }
                Num | Nan => {
                    self.both(to, ("sgef", a, a), ("sgef", b, b), "and", cmp == Nan);
                    return Ok(());
                }
                _ => return Err(self.missing(inst, "such comparison")),
            };
            self.code(format!("{name} x{to}, x{x}, x{y}"));
            if not {
                self.code(format!("xori x{to}, x{to}, 1"));
            }
            return Ok(());
        }
        if ty.bits() != 32 || ty == Ty::F16x2 || ty == Ty::Bf16x2 {
            return Err(self.missing(inst, &format!("comparison of {ty} values")));
        }
        let u = if matches!(cmp, Lo | Ls | Hi | Hs) || !ty.is_signed() { "u" } else { "" };
        match cmp {
            Eq => {
                self.code(format!("xor x63, x{a}, x{b}"));
                self.code(format!("sltiu x{to}, x63, 1"));
            }
            Ne => {
                self.code(format!("xor x63, x{a}, x{b}"));
                self.code(format!("sltu x{to}, x0, x63"));
            }
            Lt | Lo => self.code(format!("slt{u} x{to}, x{a}, x{b}")),
            Gt | Hi => self.code(format!("slt{u} x{to}, x{b}, x{a}")),
            Ge | Hs => self.code(format!("sge{u} x{to}, x{a}, x{b}")),
            Le | Ls => self.code(format!("sge{u} x{to}, x{b}, x{a}")),
            _ => return Err(self.missing(inst, "such comparison")),
        }
        Ok(())
    }

    fn both(
        &mut self,
        to: u32,
        first: (&str, u32, u32),
        second: (&str, u32, u32),
        join: &str,
        not: bool,
    ) {
        self.code(format!("{} x62, x{}, x{}", first.0, first.1, first.2));
        self.code(format!("{} x63, x{}, x{}", second.0, second.1, second.2));
        self.code(format!("{join} x{to}, x62, x63"));
        if not {
            self.code(format!("xori x{to}, x{to}, 1"));
        }
    }

    /// Shifts whose amounts clamp to the width, by an instruction that takes them modulo 32.
    pub(super) fn shift(&mut self, to: u32, inst: &Inst, name: &str) -> Result<(), Missing> {
        let a = self.value(inst, 0, 60)?;
        if let Some(amount) = Self::immediate(inst, 1) {
            match (amount < 32, name) {
                (true, _) => {
                    self.code(format!("{} x{to}, x{a}, {}", immediate_form(name), signed6(amount)));
                }
                (false, "sra") => self.code(format!("srai x{to}, x{a}, 31")),
                (false, _) => self.code(format!("addi x{to}, x0, 0")),
            }
            return Ok(());
        }
        let amount = self.value(inst, 1, 61)?;
        // x63 is all ones if the amount is below 32.
        self.code("addi x63, x0, 31".to_owned());
        self.code(format!("sgeu x63, x63, x{amount}"));
        self.code("sub x63, x0, x63".to_owned());
        if name == "sra" {
            self.code("xori x62, x63, -1".to_owned());
            self.code(format!("or x62, x{amount}, x62"));
            self.code(format!("sra x{to}, x{a}, x62"));
        } else {
            self.code(format!("{name} x62, x{a}, x{amount}"));
            self.code(format!("and x{to}, x62, x63"));
        }
        Ok(())
    }
}

fn immediate_form(name: &str) -> &'static str {
    match name {
        "sll" => "slli",
        "srl" => "srli",
        _ => "srai",
    }
}

/// An amount below 32 as six signed bits: it fits.
fn signed6(amount: u32) -> u32 {
    amount & 31
}

/// Whether a type is an integer of 32 bits, or plain bits.
pub(super) fn whole(ty: Ty) -> bool {
    matches!(ty, Ty::U32 | Ty::S32 | Ty::B32)
}
