//! Operations on scalars.

use super::Selector;
use super::masks::float_relation;
use crate::Refused;
use crate::vcode::{Block, Part, VReg, View};
use fast::ops::{Logic, Native, Op32, Op64, Rel, Test};
use iced_x86::{Code as Op, Register};
use ir::mods::BoolOp;
use vector::Value;

use View::{R32, R64};

/// A block with arguments.
type To<'a> = (Block, &'a [VReg]);

fn jump_if(rel: Rel, signed: bool) -> Op {
    match (rel, signed) {
        (Rel::Eq, _) => Op::Je_rel32_64,
        (Rel::Ne, _) => Op::Jne_rel32_64,
        (Rel::Lt, true) => Op::Jl_rel32_64,
        (Rel::Le, true) => Op::Jle_rel32_64,
        (Rel::Gt, true) => Op::Jg_rel32_64,
        (Rel::Ge, true) => Op::Jge_rel32_64,
        (Rel::Lt, false) => Op::Jb_rel32_64,
        (Rel::Le, false) => Op::Jbe_rel32_64,
        (Rel::Gt, false) => Op::Ja_rel32_64,
        (Rel::Ge, false) => Op::Jae_rel32_64,
    }
}

fn comparison(wide: bool) -> (Op, View) {
    if wide { (Op::Cmp_r64_rm64, R64) } else { (Op::Cmp_r32_rm32, R32) }
}

/// Returns the instruction that sets a byte if a relation holds after a comparison.
fn set_if(rel: Rel, signed: bool) -> Op {
    match (rel, signed) {
        (Rel::Eq, _) => Op::Sete_rm8,
        (Rel::Ne, _) => Op::Setne_rm8,
        (Rel::Lt, true) => Op::Setl_rm8,
        (Rel::Le, true) => Op::Setle_rm8,
        (Rel::Gt, true) => Op::Setg_rm8,
        (Rel::Ge, true) => Op::Setge_rm8,
        (Rel::Lt, false) => Op::Setb_rm8,
        (Rel::Le, false) => Op::Setbe_rm8,
        (Rel::Gt, false) => Op::Seta_rm8,
        (Rel::Ge, false) => Op::Setae_rm8,
    }
}

/// Returns the form of an operation of two registers that takes a constant in place of the second.
fn with_constant(op: Op) -> Option<Op> {
    Some(match op {
        Op::Add_r32_rm32 => Op::Add_rm32_imm32,
        Op::Add_r64_rm64 => Op::Add_rm64_imm32,
        Op::Sub_r32_rm32 => Op::Sub_rm32_imm32,
        Op::Sub_r64_rm64 => Op::Sub_rm64_imm32,
        Op::And_r32_rm32 => Op::And_rm32_imm32,
        Op::And_r64_rm64 => Op::And_rm64_imm32,
        Op::Or_r32_rm32 => Op::Or_rm32_imm32,
        Op::Or_r64_rm64 => Op::Or_rm64_imm32,
        Op::Xor_r32_rm32 => Op::Xor_rm32_imm32,
        Op::Xor_r64_rm64 => Op::Xor_rm64_imm32,
        Op::Cmp_r32_rm32 => Op::Cmp_rm32_imm32,
        Op::Cmp_r64_rm64 => Op::Cmp_rm64_imm32,
        _ => return None,
    })
}

/// What a branch on a bit tests in its own instruction.
enum Tested {
    /// A comparison of two integers.
    Compared(Rel, bool, bool, [Value; 2]),
    /// Whether some bits of two scalars meet, or of one that is both.
    Meet([Value; 2]),
}

impl Selector<'_> {
    /// Returns what a branch on the lowest bit of a scalar can test itself.
    fn tested(&self, scalar: Value) -> Option<Tested> {
        let data = |value: Value| Some(self.source.inst(self.defined[value.index()]?));
        let inst = data(scalar)?;
        match inst.op {
            vector::Op::Scalar(Native::Test { test, wide, combine: None }) => match test {
                Test::U(rel) | Test::S(rel) => {
                    let signed = matches!(test, Test::S(_));
                    Some(Tested::Compared(rel, signed, wide, [inst.args[0], inst.args[1]]))
                }
                Test::F(_) => None,
            },
            vector::Op::IsNonzero => {
                let bits = inst.args[0];
                let both = data(bits).filter(|of| {
                    of.op == vector::Op::Scalar(Native::Wide(Op64::And))
                        && self.uses[bits.index()] <= 1
                });
                Some(Tested::Meet(both.map_or([bits; 2], |of| [of.args[0], of.args[1]])))
            }
            _ => None,
        }
    }

    /// Leaves out what only a branch on a bit reads, if the branch tests that itself.
    pub(super) fn leave_to_branch(&mut self, scalar: Value) {
        if self.uses[scalar.index()] != 1 {
            return;
        }
        let Some(tested) = self.tested(scalar) else { return };
        self.uses[scalar.index()] = 0;
        let of = self.defined[scalar.index()].map(|inst| self.source.inst(inst).args[0]);
        if let (Tested::Meet(both), Some(bits)) = (tested, of)
            && both != [bits; 2]
        {
            self.uses[bits.index()] = 0;
        }
    }

    /// Branches on the lowest bit of a scalar; a comparison of integers is made here.
    pub(super) fn branch_on_bit(&mut self, scalar: Value, yes: To<'_>, no: To<'_>) {
        match self.tested(scalar) {
            Some(Tested::Compared(rel, signed, wide, [a, b])) => {
                let (compare, view) = comparison(wide);
                let (a, constant) = (self.s(a), self.immediate(b, view));
                let jump = jump_if(rel, signed);
                if let (Some(constant), Some(op)) = (constant, with_constant(compare)) {
                    return self.f.branch((op, view), (a, constant), jump, yes, no);
                }
                let b = self.s(b);
                self.f.branch((compare, view), (a, b), jump, yes, no);
            }
            Some(Tested::Meet([a, b])) => {
                let (a, b) = (self.s(a), self.s(b));
                self.f.branch((Op::Test_rm64_r64, R64), (a, b), Op::Jne_rel32_64, yes, no);
            }
            None => {
                let bit = self.s(scalar);
                self.f.branch((Op::Test_rm32_imm32, R32), (bit, 1), Op::Jne_rel32_64, yes, no);
            }
        }
    }

    /// Returns a constant that an instruction on a part of registers may have in place of a
    /// register.
    fn immediate(&self, value: Value, view: View) -> Option<i32> {
        let bits = self.known(value)?;
        match view {
            R32 => Some(bits as u32 as i32),
            _ => i32::try_from(bits.cast_signed()).ok(),
        }
    }

    /// An operation on two scalars, of which the second may be a constant.
    fn two(&mut self, op: Op, view: View, a: VReg, b: Value) -> VReg {
        if let (Some(constant), Some(op)) = (self.immediate(b, view), with_constant(op)) {
            return self.f.alu(op, view, a, (constant,));
        }
        let b = self.s(b);
        self.f.alu(op, view, a, (b,))
    }

    pub(super) fn scalar_op(&mut self, native: Native, args: &[Value], result: Option<Value>) {
        let value = match native {
            Native::Narrow(op) => self.narrow_scalar(op, args),
            Native::Wide(op) => self.wide_scalar(op, args),
            Native::Low => {
                let a = self.s(args[0]);
                self.f.int(Op::Mov_r32_rm32, R32, (a,))
            }
            Native::Test { test, wide, combine } => {
                let mut bit = self.scalar_test(test, wide, args);
                if let Some(how) = combine {
                    let other = self.s(args[2]);
                    let op = match how {
                        BoolOp::And => Op::And_r32_rm32,
                        BoolOp::Or => Op::Or_r32_rm32,
                        BoolOp::Xor => Op::Xor_r32_rm32,
                    };
                    bit = self.f.alu(op, R32, bit, (other,));
                    bit = self.f.alu(Op::And_rm32_imm8, R32, bit, (1,));
                }
                bit
            }
            Native::Select { .. } => {
                let (a, b, by) = (self.s(args[0]), self.s(args[1]), self.s(args[2]));
                let mut p = self.f.pseudo();
                let to = p.output_tied(R64, b);
                p.int(Op::Test_rm32_imm32, R32, (by, 1));
                p.int(Op::Cmovne_r64_rm64, R64, (to, a));
                p.end();
                to
            }
            Native::Logic(op) => self.scalar_logic(op, args),
        };
        self.put_scalar(result, value);
    }

    fn scalar_logic(&mut self, op: Logic, args: &[Value]) -> VReg {
        let a = self.s(args[0]);
        let two = |this: &mut Self, op| {
            let b = this.s(args[1]);
            this.f.alu(op, R32, a, (b,))
        };
        let value = match op {
            Logic::Mov => a,
            Logic::And => two(self, Op::And_r32_rm32),
            Logic::Or => two(self, Op::Or_r32_rm32),
            Logic::Xor => two(self, Op::Xor_r32_rm32),
            Logic::Not => self.f.alu(Op::Not_rm32, R32, a, ()),
            Logic::AndNot => {
                let b = self.s(args[1]);
                let b = self.f.alu(Op::Not_rm32, R32, b, ());
                self.f.alu(Op::And_r32_rm32, R32, a, (b,))
            }
        };
        self.f.alu(Op::And_rm32_imm8, R32, value, (1,))
    }

    fn scalar_test(&mut self, test: Test, wide: bool, args: &[Value]) -> VReg {
        let (a, b) = (self.s(args[0]), self.s(args[1]));
        match test {
            Test::F(cmp) => {
                let Some(number) = float_relation(cmp) else {
                    self.refuse(Refused::Unsound);
                    return a;
                };
                let (a, b) = (self.float_in(a), self.float_in(b));
                self.level(|l| l.scalar_float_test(a, b, number))
            }
            Test::U(rel) | Test::S(rel) => {
                let set = set_if(rel, matches!(test, Test::S(_)));
                let (compare, view) = comparison(wide);
                let mut p = self.f.pseudo();
                let to = p.output(R32);
                p.int(compare, view, (a, b));
                p.op(set, (to.b(),));
                p.op(Op::Movzx_r32_rm8, (to.d(), to.b()));
                p.end();
                to
            }
        }
    }

    fn float_in(&mut self, a: VReg) -> VReg {
        self.f.def(self.codes.single.into, View::X, (a.d(),))
    }

    /// Returns a float result, whose NaNs become the canonical one.
    fn float_out(&mut self, value: VReg) -> VReg {
        let nan = self.f.constant(0x7fff_ffff);
        let codes = &self.codes.single;
        let mut p = self.f.pseudo();
        let to = p.output(R32);
        p.op(codes.out_of, (to.d(), value.x()));
        p.op(codes.compare, (value.x(), value.x()));
        p.op(Op::Cmovp_r32_rm32, (to.d(), nan.d()));
        p.end();
        to
    }

    fn narrow_scalar(&mut self, op: Op32, args: &[Value]) -> VReg {
        let a = self.s(args[0]);
        let two = |this: &mut Self, op| this.two(op, R32, a, args[1]);
        match op {
            Op32::Mov => self.f.int(Op::Mov_r32_rm32, R32, (a,)),
            Op32::Add => two(self, Op::Add_r32_rm32),
            Op32::Sub => two(self, Op::Sub_r32_rm32),
            Op32::Mul => two(self, Op::Imul_r32_rm32),
            Op32::Mad => {
                let product = two(self, Op::Imul_r32_rm32);
                self.two(Op::Add_r32_rm32, R32, product, args[2])
            }
            Op32::And => two(self, Op::And_r32_rm32),
            Op32::Or => two(self, Op::Or_r32_rm32),
            Op32::Xor => two(self, Op::Xor_r32_rm32),
            Op32::Not => self.f.alu(Op::Not_rm32, R32, a, ()),
            Op32::Neg => self.f.alu(Op::Neg_rm32, R32, a, ()),
            Op32::MulHiU | Op32::MulHiS => {
                let b = self.s(args[1]);
                let (a, b) = match op {
                    Op32::MulHiU => [a, b].map(|v| self.f.int(Op::Mov_r32_rm32, R32, (v,))).into(),
                    _ => [a, b].map(|v| self.f.def(Op::Movsxd_r64_rm32, R64, (v.d(),))).into(),
                };
                let product = self.f.alu(Op::Imul_r64_rm64, R64, a, (b,));
                self.f.alu(Op::Shr_rm64_imm8, R64, product, (32,))
            }
            Op32::Shl | Op32::ShrU | Op32::ShrS if self.known(args[1]).is_some() => {
                let (shift, most) = match op {
                    Op32::Shl => (Op::Shl_rm32_imm8, 31),
                    Op32::ShrU => (Op::Shr_rm32_imm8, 31),
                    _ => (Op::Sar_rm32_imm8, 31),
                };
                // The amount has 32 bits.
                let by = self.known(args[1]).unwrap_or(0) & 0xffff_ffff;
                self.shift_by((shift, R32), a, by, most, op == Op32::ShrS)
            }
            Op32::Shl | Op32::ShrU | Op32::ShrS => {
                let b = self.s(args[1]);
                let shift = match op {
                    Op32::Shl => Op::Shl_rm32_CL,
                    Op32::ShrU => Op::Shr_rm32_CL,
                    _ => Op::Sar_rm32_CL,
                };
                self.shift(shift, a, b, op == Op32::ShrS, 31, R32)
            }
            Op32::MinU | Op32::MaxU | Op32::MinS | Op32::MaxS => {
                let b = self.s(args[1]);
                let take = match op {
                    Op32::MinU => Op::Cmovb_r32_rm32,
                    Op32::MaxU => Op::Cmova_r32_rm32,
                    Op32::MinS => Op::Cmovl_r32_rm32,
                    _ => Op::Cmovg_r32_rm32,
                };
                self.choose(Op::Cmp_r32_rm32, take, a, b, R32)
            }
            Op32::AbsS => {
                let mut p = self.f.pseudo();
                let to = p.output_tied(R64, a);
                let old = p.temp(R64);
                p.op(Op::Mov_r32_rm32, (old.d(), to.d()));
                p.op(Op::Neg_rm32, (to.d(),));
                p.op(Op::Cmovs_r32_rm32, (to.d(), old.d()));
                p.end();
                to
            }
            Op32::Popc => self.f.int(Op::Popcnt_r32_rm32, R32, (a,)),
            Op32::Clz => self.f.int(Op::Lzcnt_r32_rm32, R32, (a,)),
            Op32::FAbs => self.f.alu(Op::And_rm32_imm32, R32, a, (0x7fff_ffff,)),
            Op32::FNeg => self.f.alu(Op::Xor_rm32_imm32, R32, a, (i32::MIN,)),
            _ => self.float_scalar(op, args),
        }
    }

    /// A shift by a constant, which may exceed the width.
    fn shift_by(
        &mut self,
        (op, view): (Op, View),
        a: VReg,
        by: u64,
        most: u64,
        signed: bool,
    ) -> VReg {
        if by > most && !signed {
            return self.f.constant(0);
        }
        self.f.alu(op, view, a, (by.min(most) as i32,))
    }

    /// A shift whose amount may exceed the width.
    fn shift(&mut self, op: Op, a: VReg, by: VReg, signed: bool, most: i32, view: View) -> VReg {
        let (compare, above, zero) = match view {
            R32 => (Op::Cmp_rm32_imm8, Op::Cmova_r32_rm32, Op::Mov_r32_rm32),
            _ => (Op::Cmp_rm64_imm8, Op::Cmova_r64_rm64, Op::Mov_r64_rm64),
        };
        let limit = self.f.constant(if signed { most as u64 } else { 0 });
        let mut p = self.f.pseudo();
        let to = p.output_tied(R64, a);
        let amount = p.temp_fixed(Register::RCX);
        p.int(zero, view, (amount, by));
        p.int(compare, view, (amount, most));
        if signed {
            p.int(above, view, (amount, limit));
            p.op(op, (part(to, view), amount.b()));
        } else {
            // The shift does not change the flags' meaning for the move only if it comes after.
            let saved = p.label();
            p.jump(Op::Jbe_rel32_64, saved);
            p.int(zero, view, (to, limit));
            p.bind(saved);
            p.op(op, (part(to, view), amount.b()));
        }
        p.end();
        to
    }

    /// `a` or `b`: the second if a comparison of the second with the first holds.
    fn choose(&mut self, compare: Op, take: Op, a: VReg, b: VReg, view: View) -> VReg {
        let mut p = self.f.pseudo();
        let to = p.output_tied(R64, a);
        p.int(compare, view, (b, to));
        p.int(take, view, (to, b));
        if view == R32 {
            // Clears the upper half where nothing was taken.
            p.op(Op::Mov_r32_rm32, (to.d(), to.d()));
        }
        p.end();
        to
    }

    fn float_scalar(&mut self, op: Op32, args: &[Value]) -> VReg {
        let a = self.s(args[0]);
        let codes = &self.codes.single;
        let any = |this: &mut Self| this.f.same(this.codes.zero, View::X, 2);
        let value = match op {
            Op32::FFromU => {
                let (a, any) = (self.f.int(Op::Mov_r32_rm32, R32, (a,)), any(self));
                self.f.def(self.codes.float_of_long, View::X, (any.x(), a))
            }
            Op32::FFromS => {
                let any = any(self);
                self.f.def(self.codes.float_of_int, View::X, (any.x(), a.d()))
            }
            Op32::FSqrt => {
                let a = self.float_in(a);
                self.f.def(codes.sqrt, View::X, (a.x(), a.x()))
            }
            Op32::FRcp => {
                let one = self.f.constant(1f32.to_bits().into());
                let (one, a) = (self.float_in(one), self.float_in(a));
                self.f.def(codes.div, View::X, (one.x(), a.x()))
            }
            Op32::FFma => {
                let (b, c) = (self.s(args[1]), self.s(args[2]));
                let (a, b, c) = (self.float_in(a), self.float_in(b), self.float_in(c));
                self.f.tied(codes.fma, View::X, a, (b.x(), c.x()))
            }
            _ => {
                let op = match op {
                    Op32::FAdd => codes.add,
                    Op32::FSub => codes.sub,
                    Op32::FMul => codes.mul,
                    Op32::FDiv => codes.div,
                    _ => {
                        self.refuse(Refused::Form(format!("{op:?} has no pattern")));
                        return a;
                    }
                };
                let b = self.s(args[1]);
                let (a, b) = (self.float_in(a), self.float_in(b));
                self.f.def(op, View::X, (a.x(), b.x()))
            }
        };
        self.float_out(value)
    }

    fn wide_scalar(&mut self, op: Op64, args: &[Value]) -> VReg {
        let a = self.s(args[0]);
        let two = |this: &mut Self, op| this.two(op, R64, a, args[1]);
        match op {
            Op64::Mov => a,
            Op64::Add => two(self, Op::Add_r64_rm64),
            Op64::Sub => two(self, Op::Sub_r64_rm64),
            Op64::And => two(self, Op::And_r64_rm64),
            Op64::Or => two(self, Op::Or_r64_rm64),
            Op64::Xor => two(self, Op::Xor_r64_rm64),
            Op64::Not => self.f.alu(Op::Not_rm64, R64, a, ()),
            Op64::Neg => self.f.alu(Op::Neg_rm64, R64, a, ()),
            Op64::Zext32 => self.f.int(Op::Mov_r32_rm32, R32, (a,)),
            Op64::Sext32 => self.f.def(Op::Movsxd_r64_rm32, R64, (a.d(),)),
            Op64::Mul | Op64::MulWideU => two(self, Op::Imul_r64_rm64),
            Op64::Mad | Op64::MadWideU => {
                let product = self.product(a, args[1]);
                self.sum(product, args[2])
            }
            Op64::MulWideS | Op64::MadWideS => {
                let b = self.s(args[1]);
                let [a, b] = [a, b].map(|v| self.f.def(Op::Movsxd_r64_rm32, R64, (v.d(),)));
                let product = self.f.alu(Op::Imul_r64_rm64, R64, a, (b,));
                if op == Op64::MulWideS { product } else { self.sum(product, args[2]) }
            }
            Op64::Shl | Op64::ShrU | Op64::ShrS if self.known(args[1]).is_some() => {
                let shift = match op {
                    Op64::Shl => Op::Shl_rm64_imm8,
                    Op64::ShrU => Op::Shr_rm64_imm8,
                    _ => Op::Sar_rm64_imm8,
                };
                let by = self.known(args[1]).unwrap_or(0);
                self.shift_by((shift, R64), a, by, 63, op == Op64::ShrS)
            }
            Op64::Shl | Op64::ShrU | Op64::ShrS => {
                let b = self.s(args[1]);
                let shift = match op {
                    Op64::Shl => Op::Shl_rm64_CL,
                    Op64::ShrU => Op::Shr_rm64_CL,
                    _ => Op::Sar_rm64_CL,
                };
                self.shift(shift, a, b, op == Op64::ShrS, 63, R64)
            }
            Op64::MinU | Op64::MaxU | Op64::MinS | Op64::MaxS => {
                let b = self.s(args[1]);
                let take = match op {
                    Op64::MinU => Op::Cmovb_r64_rm64,
                    Op64::MaxU => Op::Cmova_r64_rm64,
                    Op64::MinS => Op::Cmovl_r64_rm64,
                    _ => Op::Cmovg_r64_rm64,
                };
                self.choose(Op::Cmp_r64_rm64, take, a, b, R64)
            }
            Op64::DAdd | Op64::DSub | Op64::DMul | Op64::DFma | Op64::DDiv => {
                self.double_scalar(op, args)
            }
        }
    }

    /// A product with a scalar, which may be a power of two.
    fn product(&mut self, a: VReg, b: Value) -> VReg {
        match self.known(b) {
            Some(1) => a,
            Some(by) if by.is_power_of_two() => {
                self.f.alu(Op::Shl_rm64_imm8, R64, a, (by.trailing_zeros() as i32,))
            }
            _ => {
                let b = self.s(b);
                self.f.alu(Op::Imul_r64_rm64, R64, a, (b,))
            }
        }
    }

    fn sum(&mut self, a: VReg, b: Value) -> VReg {
        if self.known(b) == Some(0) {
            return a;
        }
        self.two(Op::Add_r64_rm64, R64, a, b)
    }

    fn double_scalar(&mut self, op: Op64, args: &[Value]) -> VReg {
        let codes = &self.codes.double;
        let into = |this: &mut Self, value: Value| {
            let value = this.s(value);
            this.f.def(codes.into, View::X, (value,))
        };
        let (a, b) = (into(self, args[0]), into(self, args[1]));
        let value = match op {
            Op64::DFma => {
                let c = into(self, args[2]);
                self.f.tied(codes.fma, View::X, a, (b.x(), c.x()))
            }
            _ => {
                let op = match op {
                    Op64::DAdd => codes.add,
                    Op64::DSub => codes.sub,
                    Op64::DMul => codes.mul,
                    _ => codes.div,
                };
                self.f.def(op, View::X, (a.x(), b.x()))
            }
        };
        let nan = self.f.constant(0x7fff_ffff_ffff_ffff);
        let mut p = self.f.pseudo();
        let to = p.output(R64);
        p.op(codes.out_of, (to, value.x()));
        p.op(codes.compare, (value.x(), value.x()));
        p.op(Op::Cmovp_r64_rm64, (to, nan));
        p.end();
        to
    }

    /// Whether a 32-bit line wraps around over the lanes of a warp when it is widened.
    pub(super) fn wraps(&mut self, signed: bool, stride: i64, base: Value, result: Option<Value>) {
        let reach = stride.saturating_mul(31) as i32;
        let base = self.s(base);
        let start = match signed {
            true => self.f.def(Op::Movsxd_r64_rm32, R64, (base.d(),)),
            false => self.f.int(Op::Mov_r32_rm32, R32, (base,)),
        };
        let end = self.f.lea(crate::vcode::Mem::at(start, reach.into()));
        let bit = if signed {
            let cut = self.f.def(Op::Movsxd_r64_rm32, R64, (end.d(),));
            let mut p = self.f.pseudo();
            let to = p.output(R32);
            p.int(Op::Cmp_r64_rm64, R64, (cut, end));
            p.op(Op::Setne_rm8, (to.b(),));
            p.op(Op::Movzx_r32_rm8, (to.d(), to.b()));
            p.end();
            to
        } else {
            // Bit 32 is set if the sum leaves the range of words, on either side.
            self.f.alu(Op::Shr_rm64_imm8, R64, end, (32,))
        };
        self.put_scalar(result, bit);
    }
}

fn part(register: VReg, view: View) -> crate::vcode::Source {
    if view == R32 { register.d() } else { register.into() }
}
