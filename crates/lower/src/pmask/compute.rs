//! Integer computations and comparisons on rows, selection, and values that all lanes share.
//!
//! A word in a row is sign-extended to 64 bits, whatever its type: comparisons of both kinds are
//! right on such values, and instructions on words make them.

use super::emit::Window::{Row, Same};
use super::rows::{File, Source};
use super::select::{Select, missing};
use super::target::whole;
use crate::Missing;
use ir::mods::Cmp;
use ir::sreg::Sreg;
use ir::{Inst, Op, Operand, Ty};

/// An immediate that an instruction takes.
fn short(operand: Operand) -> Option<i32> {
    match operand {
        Operand::Imm(value) => {
            Some((value as u32).cast_signed()).filter(|value| (-2048..2048).contains(value))
        }
        _ => None,
    }
}

impl Select<'_> {
    pub(super) fn operand(inst: &Inst, index: usize) -> Operand {
        inst.operands.get(index).copied().unwrap_or(Operand::Imm(0))
    }

    /// The result of a computation, in a row of one of the files.
    pub(super) fn compute(&mut self, inst: &Inst) -> Result<(File, u32), Missing> {
        let ty = inst.ty.unwrap_or(Ty::B32);
        if inst.op == Op::Ballot {
            return Ok((File::X, self.ballot(inst)));
        }
        if ty.bits() != 32 || matches!(ty, Ty::F16x2 | Ty::Bf16x2) {
            return Err(missing(inst, &format!("operations on {ty} values")));
        }
        if let Some(row) = self.float(inst)? {
            return Ok(row);
        }
        Ok((File::X, self.integer(inst)?))
    }

    /// An instruction on two sources.
    pub(super) fn two(&mut self, name: &str, a: Source, b: Source) -> u32 {
        let to = self.result_row(File::X, &[a, b]);
        self.two_into(name, to, a, b);
        self.unpin(File::X, a);
        self.unpin(File::X, b);
        to
    }

    fn two_into(&mut self, name: &str, to: u32, a: Source, b: Source) {
        let ((a, wa), (b, wb)) = (a.parts(), b.parts());
        self.emit.lane(format!("{name} x{to}, x{a}, x{b}"), Some(wa), Some(wb));
    }

    /// An instruction on a source and an immediate.
    fn with(&mut self, name: &str, a: Source, immediate: i32) -> u32 {
        let to = self.result_row(File::X, &[a]);
        let source = a;
        let (a, window) = a.parts();
        self.emit.lane(format!("{name} x{to}, x{a}, {immediate}"), Some(window), None);
        self.unpin(File::X, source);
        to
    }

    fn one(&mut self, name: &str, a: Source) -> u32 {
        let to = self.result_row(File::X, &[a]);
        let (a, window) = a.parts();
        self.emit.lane(format!("{name} x{to}, x{a}"), Some(window), None);
        to
    }

    fn binary(&mut self, name: &str, inst: &Inst) -> u32 {
        let (a, b) = (self.x(Self::operand(inst, 0)), self.x(Self::operand(inst, 1)));
        self.two(name, a, b)
    }

    /// A commutative operation, with its immediate form.
    fn either(&mut self, [name, immediate]: [&str; 2], inst: &Inst) -> u32 {
        let (mut a, mut b) = (Self::operand(inst, 0), Self::operand(inst, 1));
        if matches!(a, Operand::Imm(_)) {
            (a, b) = (b, a);
        }
        if let Some(value) = short(b) {
            let a = self.x(a);
            return self.with(immediate, a, value);
        }
        let (a, b) = (self.x(a), self.x(b));
        self.two(name, a, b)
    }

    fn integer(&mut self, inst: &Inst) -> Result<u32, Missing> {
        let ty = inst.ty.unwrap_or(Ty::B32);
        let signed = ty.is_signed();
        let a = Self::operand(inst, 0);
        Ok(match inst.op {
            Op::Mov | Op::Cvt if inst.operands.len() == 1 => {
                let a = self.x(a);
                let to = self.temp(File::X);
                let (a, window) = a.parts();
                self.emit.lane(format!("addi x{to}, x{a}, 0"), Some(window), None);
                to
            }
            Op::Sreg => self.sreg(inst)?,
            Op::Selp => self.select(inst),
            Op::Add => self.either(["addw", "addiw"], inst),
            Op::Sub => match Self::operand(inst, 1) {
                Operand::Imm(value)
                    if short(Operand::Imm(u128::from((value as u32).wrapping_neg()))).is_some() =>
                {
                    let a = self.x(a);
                    self.with("addiw", a, (value as u32).wrapping_neg().cast_signed())
                }
                _ => self.binary("subw", inst),
            },
            Op::Mul => self.binary("mulw", inst),
            Op::Mad => {
                let product = self.binary("mulw", inst);
                let c = self.x(Self::operand(inst, 2));
                self.two("addw", Source::Row(product), c)
            }
            Op::MulHi if signed => {
                let product = self.binary("mul", inst);
                self.with("srai", Source::Row(product), 32)
            }
            Op::MulHi => {
                let a = self.x_row(a);
                let a = self.zero_extended(a);
                let b = self.x_row(Self::operand(inst, 1));
                let b = self.zero_extended(b);
                let product = self.two("mul", Source::Row(a), Source::Row(b));
                self.with("srai", Source::Row(product), 32)
            }
            Op::Div => self.binary(if signed { "divw" } else { "divuw" }, inst),
            Op::Rem => self.binary(if signed { "remw" } else { "remuw" }, inst),
            Op::And => self.either(["and", "andi"], inst),
            Op::Or => self.either(["or", "ori"], inst),
            Op::Xor => self.either(["xor", "xori"], inst),
            Op::AndNot => self.binary("andn", inst),
            Op::Not => {
                let a = self.x(a);
                self.with("xori", a, -1)
            }
            Op::Cnot => {
                let a = self.x(a);
                self.with("sltiu", a, 1)
            }
            Op::Neg => {
                let a = self.x(a);
                self.two("subw", Source::Same(0), a)
            }
            Op::Abs => {
                let row = self.x_row(a);
                let negative = self.temp(File::X);
                self.two_into("subw", negative, Source::Same(0), Source::Row(row));
                self.two("max", Source::Row(negative), Source::Row(row))
            }
            Op::Min | Op::Max => {
                let name = if inst.op == Op::Min { "min" } else { "max" };
                self.binary(&format!("{name}{}", if signed { "" } else { "u" }), inst)
            }
            Op::Popc => {
                let a = self.x(a);
                self.one("cpopw", a)
            }
            Op::Clz => {
                let a = self.x(a);
                self.one("clzw", a)
            }
            Op::Shl | Op::Shr => self.shift(inst),
            _ => return Err(missing(inst, &format!("operation `{}`", inst.op.name()))),
        })
    }

    /// A word with zeros above it.
    fn zero_extended(&mut self, row: u32) -> u32 {
        let to = self.temp_or(row);
        self.emit.lane(format!("add.uw x{to}, x{row}, x0"), Some(Row), Some(Same));
        self.unpin(File::X, Source::Row(row));
        to
    }

    /// The row itself if nothing needs what it holds, else a new one.
    fn temp_or(&mut self, row: u32) -> u32 {
        self.result_row(File::X, &[Source::Row(row)])
    }

    /// Shifts whose amounts clamp: on 64 bits, amounts from 32 to 63 give what 32 gives.
    fn shift(&mut self, inst: &Inst) -> u32 {
        let left = inst.op == Op::Shl;
        let signed = inst.ty.is_some_and(Ty::is_signed);
        let a = Self::operand(inst, 0);
        if let Operand::Imm(amount) = Self::operand(inst, 1) {
            let amount = amount as u32;
            return match (left, signed, amount < 32) {
                (true, _, true) => {
                    let a = self.x(a);
                    self.with("slliw", a, amount.cast_signed())
                }
                (false, true, _) => {
                    let a = self.x(a);
                    self.with("sraiw", a, amount.min(31).cast_signed())
                }
                (false, false, true) => {
                    let a = self.x(a);
                    self.with("srliw", a, amount.cast_signed())
                }
                _ => self.with("addi", Source::Same(0), 0),
            };
        }
        let amount = self.x_row(Self::operand(inst, 1));
        let value = self.x_row(a);
        let limit = self.scratch();
        self.emit.constant(limit, 63);
        let clamped = self.temp_or(amount);
        self.two_into("minu", clamped, Source::Row(amount), Source::Same(limit));
        self.unpin(File::X, Source::Row(amount));
        if left {
            let shifted = self.two("sll", Source::Row(value), Source::Row(clamped));
            return self.with("addiw", Source::Row(shifted), 0);
        }
        if signed {
            return self.two("sra", Source::Row(value), Source::Row(clamped));
        }
        let value = self.zero_extended(value);
        let shifted = self.two("srl", Source::Row(value), Source::Row(clamped));
        self.with("addiw", Source::Row(shifted), 0)
    }

    /// `p ? a : b`: one instruction under the predicate's mask; with zero as `b`, ZMODE makes it.
    fn select(&mut self, inst: &Inst) -> u32 {
        let (a, b) = (Self::operand(inst, 0), Self::operand(inst, 1));
        let zero = |operand: Operand| matches!(operand, Operand::Imm(value) if value as u32 == 0);
        let flipped = zero(a) && !zero(b);
        let (taken, other) = if flipped { (b, a) } else { (a, b) };
        let taken = self.x(taken);
        let to = if zero(other) {
            self.temp(File::X)
        } else {
            let other = self.x(other);
            let to = self.result_row(File::X, &[other]);
            if other != Source::Row(to) {
                let (other, window) = other.parts();
                self.emit.lane(format!("addi x{to}, x{other}, 0"), Some(window), None);
            }
            to
        };
        self.load_predicate(1, Self::operand(inst, 2));
        if flipped {
            self.emit.scalar("xori x1, x1, -1");
        }
        self.under(1);
        let (taken, window) = taken.parts();
        self.emit.windows(Some(window), None);
        if zero(other) {
            self.emit.close();
            self.emit.once("svon.fpctl rne, 0, 1");
        }
        self.emit.lane(format!("addi x{to}, x{taken}, 0"), Some(window), None);
        self.emit.close();
        self.unguarded();
        to
    }

    /// A special register of each lane.
    fn sreg(&mut self, inst: &Inst) -> Result<u32, Missing> {
        let Operand::Sreg(sreg) = Self::operand(inst, 0) else {
            return Err(missing(inst, "such special register"));
        };
        if super::live::launch_word(sreg).is_some() {
            return Ok(self.x_row(Operand::Sreg(sreg)));
        }
        let to = self.temp(File::X);
        // The thread's number in its block: the warp's first one and the lane's.
        self.emit.address(1, "lanes", 0);
        self.emit.lane(format!("lw x{to}, 0(x1)"), Some(Same), None);
        self.load_word(4, super::select::FIRST_THREAD);
        self.emit.lane(format!("addw x{to}, x4, x{to}"), Some(Same), Some(Row));
        if sreg != Sreg::TidX {
            return Err(missing(inst, &format!("special register `{}`", sreg.name())));
        }
        Ok(to)
    }

    /// The lanes that are on and where a predicate holds, in each lane.
    fn ballot(&mut self, inst: &Inst) -> u32 {
        match inst.guard {
            Some(guard) => self.guard_mask(guard),
            None => self.read_exec(4),
        }
        self.load_predicate(5, Self::operand(inst, 0));
        self.emit.scalar("and x4, x4, x5");
        let to = self.temp(File::X);
        self.emit.lane(format!("addi x{to}, x4, 0"), Some(Same), None);
        to
    }

    /// A comparison: a row with zero where it does not hold, or, if the second value is true, where
    /// it does.
    pub(super) fn compare(&mut self, inst: &Inst) -> Result<(u32, bool), Missing> {
        let ty = inst.ty.unwrap_or(Ty::B32);
        let Some(cmp) = inst.mods.cmp else { return Err(missing(inst, "such comparison")) };
        if ty == Ty::F32 {
            return self.compare_floats(inst, cmp);
        }
        if !whole(ty) {
            return Err(missing(inst, &format!("comparison of {ty} values")));
        }
        let unsigned = matches!(cmp, Cmp::Lo | Cmp::Ls | Cmp::Hi | Cmp::Hs) || !ty.is_signed();
        let less = if unsigned { "sltu" } else { "slt" };
        let (a, b) = (Self::operand(inst, 0), Self::operand(inst, 1));
        Ok(match cmp {
            Cmp::Eq | Cmp::Ne => {
                let different = match short(b) {
                    Some(0) => self.x_row(a),
                    Some(value) => {
                        let a = self.x(a);
                        self.with("xori", a, value)
                    }
                    None => self.binary("xor", inst),
                };
                (different, cmp == Cmp::Eq)
            }
            Cmp::Lt | Cmp::Lo | Cmp::Ge | Cmp::Hs => {
                let row = match short(b) {
                    Some(value) => {
                        let a = self.x(a);
                        self.with(if unsigned { "sltiu" } else { "slti" }, a, value)
                    }
                    None => self.binary(less, inst),
                };
                (row, matches!(cmp, Cmp::Ge | Cmp::Hs))
            }
            Cmp::Gt | Cmp::Hi | Cmp::Le | Cmp::Ls => {
                let (a, b) = (self.x(a), self.x(b));
                (self.two(less, b, a), matches!(cmp, Cmp::Le | Cmp::Ls))
            }
            _ => return Err(missing(inst, "such comparison")),
        })
    }

    /// A computation whose result is the same in all lanes, once.
    pub(super) fn uniform(&mut self, inst: &Inst, word: u32) -> Result<(), Missing> {
        let Some(a) = self.same(Self::operand(inst, 0)) else {
            return Err(missing(inst, "such operand"));
        };
        let shift = match Self::operand(inst, 1) {
            Operand::Imm(value) => value as u32 & 31,
            _ => 0,
        };
        let signed = inst.ty.is_some_and(Ty::is_signed);
        let name = match inst.op {
            Op::Mov | Op::Sreg => {
                self.store_word(a, word);
                return Ok(());
            }
            Op::Shl | Op::Shr => {
                let name = match (inst.op, signed) {
                    (Op::Shl, _) => "slliw",
                    (_, true) => "sraiw",
                    _ => "srliw",
                };
                self.emit.scalar(format!("{name} x1, x{a}, {shift}"));
                self.store_word(1, word);
                return Ok(());
            }
            Op::Add => "addw",
            Op::Sub => "subw",
            Op::Mul => "mulw",
            Op::And => "and",
            Op::Or => "or",
            Op::Xor => "xor",
            _ => return Err(missing(inst, "such computation")),
        };
        let Some(b) = self.same(Self::operand(inst, 1)) else {
            return Err(missing(inst, "such operand"));
        };
        // A word beyond the reach of an instruction is addressed by x1.
        self.emit.scalar(format!("{name} x6, x{a}, x{b}"));
        self.store_word(6, word);
        Ok(())
    }
}
