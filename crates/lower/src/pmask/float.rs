//! Computations on binary32 values: the machine's own instructions, whose results are those of PTX
//! but for the bits of NaNs, which are put right where something looks at them.

use super::emit::Window::{Row, Same};
use super::live::writes;
use super::rows::File;
use super::select::{Select, missing};
use super::target::rounding;
use crate::Missing;
use ir::mods::Cmp;
use ir::{Function, Inst, LaneReg, Op, Operand, RegTy, Ty};
use rustc_hash::FxHashSet;

/// Whether an instruction's result is a floating-point instruction's, with its NaN.
fn computes_float(inst: &Inst) -> bool {
    use Op::{Add, Cvt, Div, Fma, Max, Min, Mul, Rcp, Sqrt, Sub};
    inst.ty == Some(Ty::F32)
        && matches!(inst.op, Add | Sub | Mul | Div | Fma | Sqrt | Rcp | Min | Max | Cvt)
}

/// Registers of which every write is a floating-point computation or a constant other than a NaN.
/// Their slots may hold the machine's NaN.
pub(super) fn raw(function: &Function) -> FxHashSet<LaneReg> {
    let mut out: FxHashSet<LaneReg> = FxHashSet::default();
    let mut other: FxHashSet<LaneReg> = FxHashSet::default();
    for inst in function.blocks.iter().flat_map(|block| &block.insts) {
        let number = |operand: &Operand| match operand {
            Operand::Imm(bits) => !f32::from_bits(*bits as u32).is_nan(),
            _ => false,
        };
        let constant = inst.op == Op::Mov && inst.operands.first().is_some_and(number);
        for reg in writes(inst) {
            if computes_float(inst) {
                out.insert(reg);
            } else if !constant {
                other.insert(reg);
            }
        }
    }
    out.retain(|reg| !other.contains(reg) && function.regs[reg.index()].ty == RegTy::B32);
    out
}

impl Select<'_> {
    /// The result of a floating-point computation; `None` if the instruction is none.
    pub(super) fn float(&mut self, inst: &Inst) -> Result<Option<(File, u32)>, Missing> {
        let to_integer = inst.op == Op::Cvt && inst.ty2 == Some(Ty::F32);
        if inst.ty != Some(Ty::F32) && !to_integer {
            return Ok(None);
        }
        let Some(mode) = rounding(inst) else {
            return Err(missing(inst, "such rounding"));
        };
        let name = match inst.op {
            Op::Add => "fadd.s",
            Op::Sub => "fsub.s",
            Op::Mul => "fmul.s",
            Op::Div => "fdiv.s",
            Op::Min => "fmin.s",
            Op::Max => "fmax.s",
            Op::Sqrt => return Ok(Some(self.root(inst, mode))),
            Op::Fma => return Ok(Some(self.fused(inst, mode))),
            Op::Rcp => return Ok(Some(self.reciprocal(inst, mode))),
            Op::Cvt => return self.convert(inst, mode).map(Some),
            Op::Neg | Op::Abs => return Ok(Some((File::X, self.sign(inst)))),
            _ => return Ok(None),
        };
        let a = self.f_row(Self::operand(inst, 0));
        let b = self.f_row(Self::operand(inst, 1));
        let to = self.temp(File::F);
        let tail =
            if matches!(inst.op, Op::Min | Op::Max) { String::new() } else { format!(", {mode}") };
        self.emit.lane(format!("{name} f{to}, f{a}, f{b}{tail}"), Some(Row), Some(Row));
        Ok(Some((File::F, to)))
    }

    fn root(&mut self, inst: &Inst, mode: &str) -> (File, u32) {
        let a = self.f_row(Self::operand(inst, 0));
        let to = self.temp(File::F);
        self.emit.lane(format!("fsqrt.s f{to}, f{a}, {mode}"), Some(Row), None);
        (File::F, to)
    }

    fn fused(&mut self, inst: &Inst, mode: &str) -> (File, u32) {
        let [a, b, c] = [0, 1, 2].map(|index| self.f_row(Self::operand(inst, index)));
        let to = self.temp(File::F);
        self.emit.lane(format!("fmadd.s f{to}, f{a}, f{b}, f{c}, {mode}"), Some(Row), Some(Row));
        (File::F, to)
    }

    fn reciprocal(&mut self, inst: &Inst, mode: &str) -> (File, u32) {
        let one = self.f_row(Operand::Imm(u128::from(1f32.to_bits())));
        let a = self.f_row(Self::operand(inst, 0));
        self.emit.lane(format!("fdiv.s f{one}, f{one}, f{a}, {mode}"), Some(Row), Some(Row));
        (File::F, one)
    }

    /// Negation and absolute value: the sign bit alone.
    fn sign(&mut self, inst: &Inst) -> u32 {
        let a = self.x(Self::operand(inst, 0));
        let to = self.result_row(File::X, &[a]);
        let (a, window) = a.parts();
        if inst.op == Op::Neg {
            let bit = self.scratch();
            self.emit.constant(bit, 0x8000_0000);
            self.emit.lane(format!("xor x{to}, x{a}, x{bit}"), Some(window), Some(Same));
        } else {
            self.emit.lane(format!("slli x{to}, x{a}, 33"), Some(window), None);
            self.emit.lane(format!("srli x{to}, x{to}, 33"), Some(Row), None);
        }
        to
    }

    fn convert(&mut self, inst: &Inst, mode: &str) -> Result<(File, u32), Missing> {
        let a = Self::operand(inst, 0);
        match (inst.ty, inst.ty2) {
            (Some(Ty::F32), Some(from @ (Ty::S32 | Ty::U32))) => {
                let unsigned = if from == Ty::U32 { "u" } else { "" };
                let a = self.x_row(a);
                let to = self.temp(File::F);
                let text = format!("fcvt.s.w{unsigned} f{to}, x{a}, {mode}");
                self.emit.lane(text, Some(Row), None);
                Ok((File::F, to))
            }
            (Some(to_ty @ (Ty::S32 | Ty::U32)), Some(Ty::F32)) => {
                let unsigned = if to_ty == Ty::U32 { "u" } else { "" };
                let a = self.f_row(a);
                let to = self.temp(File::X);
                let text = format!("fcvt.w{unsigned}.s x{to}, f{a}, {mode}");
                self.emit.lane(text, Some(Row), None);
                // A NaN gives 0, where the machine gives the greatest integer.
                let number = self.temp(File::X);
                self.emit.lane(format!("feq.s x{number}, f{a}, f{a}"), Some(Row), Some(Row));
                self.emit.lane(format!("sub x{number}, x0, x{number}"), Some(Same), Some(Row));
                self.emit.lane(format!("and x{to}, x{to}, x{number}"), Some(Row), Some(Row));
                self.drop_temp(File::X, number);
                Ok((File::X, to))
            }
            _ => Err(missing(inst, "such conversion")),
        }
    }

    /// A comparison of floats; see [`Select::compare`].
    pub(super) fn compare_floats(&mut self, inst: &Inst, cmp: Cmp) -> Result<(u32, bool), Missing> {
        use Cmp::{Eq, Equ, Ge, Geu, Gt, Gtu, Le, Leu, Lt, Ltu, Nan, Ne, Neu, Num};
        let a = self.f_row(Self::operand(inst, 0));
        let b = self.f_row(Self::operand(inst, 1));
        let to = self.temp(File::X);
        let mut test = |name: &str, to: u32, x: u32, y: u32| {
            self.emit.lane(format!("{name} x{to}, f{x}, f{y}"), Some(Row), Some(Row));
        };
        let (name, x, y, not) = match cmp {
            Eq => ("feq.s", a, b, false),
            Neu => ("feq.s", a, b, true),
            Lt => ("flt.s", a, b, false),
            Gt => ("flt.s", b, a, false),
            Le => ("fle.s", a, b, false),
            Ge => ("fle.s", b, a, false),
            Geu => ("flt.s", a, b, true),
            Leu => ("flt.s", b, a, true),
            Gtu => ("fle.s", a, b, true),
            Ltu => ("fle.s", b, a, true),
            // Less or greater; both are numbers.
            Ne | Equ | Num | Nan => {
                let (name, join, [x, y]) = match cmp {
                    Ne | Equ => ("flt.s", "or", [(a, b), (b, a)]),
                    _ => ("feq.s", "and", [(a, a), (b, b)]),
                };
                test(name, to, x.0, x.1);
                let second = self.temp(File::X);
                let text = format!("{name} x{second}, f{}, f{}", y.0, y.1);
                self.emit.lane(text, Some(Row), Some(Row));
                self.emit.lane(format!("{join} x{to}, x{to}, x{second}"), Some(Row), Some(Row));
                return Ok((to, matches!(cmp, Equ | Nan)));
            }
            _ => return Err(missing(inst, "such comparison")),
        };
        test(name, to, x, y);
        Ok((to, not))
    }
}
