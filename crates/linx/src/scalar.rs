//! Scalar instructions of 16, 32 and 48 bits, in blocks and in bodies.
//!
//! A body's group has its own queues `t` and `u`; GPRs are shared. `*W` operations compute on 32
//! bits and sign-extend.

use simt::arith::{Flags, FpEnv};

use crate::action::{Alu, SOp};
use crate::compute::{
    self, FloatType, alu, bit_field, divide, extend, float_op, float_to_float, float_to_int,
    int_to_float, int_type, rounding, test,
};
use crate::insn::Insn;
use crate::state::{Phase, State};
use crate::trap::Trap;

/// Pushes on a queue.
pub(crate) fn push(queue: &mut [u64; 4], value: u64) {
    queue.copy_within(0..3, 1);
    queue[0] = value;
}

/// An effect of a scalar instruction on the block, besides registers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effect {
    None,
    /// The block's predicate.
    Predicate(bool),
    /// The block's target.
    Target(u64),
}

impl State {
    /// A register of the 5-bit codes.
    pub(crate) fn scalar(&self, code: i64) -> u64 {
        let (t, u) = match &self.phase {
            Phase::Body(body) => match &body.group {
                Some(group) => (&group.t, &group.u),
                None => (&self.t, &self.u),
            },
            _ => (&self.t, &self.u),
        };
        match code {
            0..=23 => self.gpr[code as usize],
            24..=27 => t[code as usize - 24],
            28..=31 => u[code as usize - 28],
            _ => 0,
        }
    }

    /// Writes a result: 1 to 23 a register, 31 pushes `t`, 30 pushes `u`, others drop it.
    pub(crate) fn write_scalar(&mut self, code: i64, value: u64) {
        let (t, u) = match &mut self.phase {
            Phase::Body(body) => match &mut body.group {
                Some(group) => (&mut group.t, &mut group.u),
                None => (&mut self.t, &mut self.u),
            },
            _ => (&mut self.t, &mut self.u),
        };
        match code {
            1..=23 => self.gpr[code as usize] = value,
            30 => push(u, value),
            31 => push(t, value),
            _ => {}
        }
    }

    pub(crate) fn env(&self) -> FpEnv {
        FpEnv::RISCV.with_rounding(rounding(self.frm))
    }

    pub(crate) fn raise(&mut self, flags: Flags) {
        self.flags |= u64::from(flags.bits());
    }

    /// The right operand: the immediate, or the register after its modifier and shift.
    pub(crate) fn right(&self, i: &Insn, narrow: bool) -> u64 {
        if !i.has_r {
            return i.imm as u64;
        }
        let value = self.scalar(i.r);
        let value = match i.modifier {
            1 => extend(value, 32, true),
            2 => extend(value, 32, false),
            3 if i.not => !value,
            3 => value.wrapping_neg(),
            _ => value,
        };
        if narrow { extend(value, 32, true) << i.shift.min(63) } else { value << i.shift.min(63) }
    }

    /// Executes a scalar instruction. Effects are all-or-nothing.
    pub(crate) fn execute_scalar(&mut self, i: &Insn, op: SOp, pc: u64) -> Result<Effect, Trap> {
        let l = self.scalar(i.l);
        let value = match op {
            SOp::Alu(op, narrow) => self.arithmetic(i, op, narrow, l),
            SOp::MinMaxU(max) => {
                let r = self.scalar(i.r);
                if max { l.max(r) } else { l.min(r) }
            }
            SOp::Madd(narrow) => {
                let sum = l.wrapping_mul(self.scalar(i.r)).wrapping_add(self.scalar(i.a));
                if narrow { extend(sum, 32, true) } else { sum }
            }
            SOp::Div(remainder, signed, narrow) => {
                let (q, r) = self.quotient(i, l, signed, narrow);
                if remainder { r } else { q }
            }
            SOp::DivBoth(first_remainder, signed, narrow) => {
                let (q, r) = self.quotient(i, l, signed, narrow);
                let (first, second) = if first_remainder { (r, q) } else { (q, r) };
                self.write_scalar(i.rd, first);
                self.write_scalar(i.rd1, second);
                return Ok(Effect::None);
            }
            SOp::MulBoth(signed) => {
                let r = self.scalar(i.r);
                let high = if signed {
                    simt::arith::int::mul_hi::<i64>(l, r)
                } else {
                    simt::arith::int::mul_hi::<u64>(l, r)
                };
                self.write_scalar(i.rd, l.wrapping_mul(r));
                self.write_scalar(i.rd1, high);
                return Ok(Effect::None);
            }
            SOp::Cmp(op) => {
                let r = self.comparand(i);
                u64::from(test(op, l, r, true))
            }
            SOp::Setc(op) => {
                // The immediate is shifted; a register is not, since no form has both.
                let r = if i.has_r { self.comparand(i) } else { (i.imm as u64) << i.shift.min(63) };
                return Ok(Effect::Predicate(test(op, l, r, true)));
            }
            SOp::SetTgt => return Ok(Effect::Target(l)),
            SOp::SetRet => {
                let back = pc.wrapping_add_signed(i.imm);
                self.write_scalar(10, back);
                self.link = Some(back);
                return Ok(Effect::None);
            }
            SOp::Csel => {
                let r = self.scalar(i.r);
                let r = if i.modifier == 3 { r.wrapping_neg() } else { r };
                if (self.scalar(i.a) != 0) != i.compiled { l } else { r }
            }
            SOp::Bits(op) => bit_field(op, l, i.m, i.n, 64),
            SOp::Extend(bits, signed) => extend(l, u32::from(bits), signed),
            SOp::Move => l,
            SOp::Immediate(shift) => (i.imm as u64) << shift,
            SOp::AddTpc => {
                let base = if i.compiled && i.length == 4 { pc & !0xfff } else { pc };
                base.wrapping_add_signed(i.imm)
            }
            op if op.accesses_memory() => return self.access_scalar(i, op, l, pc),
            SOp::Prefetch => return Ok(Effect::None),
            SOp::PrefetchAddress => l.wrapping_add(self.right(i, false)),
            SOp::BitInsert => compute::bit_insert(l, self.scalar(i.r), i.m, i.imms()),
            SOp::Concat(narrow) => {
                let (low, high) = compute::concat(l, self.scalar(i.r), i.shift, narrow);
                self.write_scalar(i.rd, low);
                self.write_scalar(i.rd1, high);
                return Ok(Effect::None);
            }
            SOp::MaddBoth(narrow) => {
                let of = |value: u64| {
                    let value = if narrow { extend(value, 32, true) } else { value };
                    i128::from(value as i64)
                };
                let product = of(l).wrapping_mul(of(self.scalar(i.r)));
                let sum = product.wrapping_add(of(self.scalar(i.a)));
                self.write_scalar(i.rd, sum as u64);
                self.write_scalar(i.rd1, (sum >> 64) as u64);
                return Ok(Effect::None);
            }
            SOp::MulImmediate(subtract) => {
                let product = self.scalar(i.r).wrapping_mul(i.imm as u64);
                if subtract { l.wrapping_sub(product) } else { l.wrapping_add(product) }
            }
            SOp::Float(op) => {
                let bits = if i.from == 1 { 32 } else { 64 };
                let mut flags = Flags::NONE;
                let (r, a) = (self.scalar(i.r), self.scalar(i.a));
                let value = float_op(op, bits, l, r, a, self.env(), &mut flags);
                self.raise(flags);
                value
            }
            // Converts alone are left.
            op => self.convert_scalar(i, op, l, pc)?,
        };
        self.write_scalar(i.rd, value);
        Ok(Effect::None)
    }

    fn arithmetic(&self, i: &Insn, op: Alu, narrow: bool, l: u64) -> u64 {
        let r = self.right(i, narrow);
        // Immediate shifts have their amount in `shift`, register shifts in the right operand.
        let shifting = matches!(op, Alu::Sll | Alu::Srl | Alu::Sra);
        let r = if shifting && !i.has_r {
            if i.has_imm { i.imm as u64 } else { u64::from(i.shift) }
        } else {
            r
        };
        let bits = if narrow { 32 } else { 64 };
        let value = alu(op, l, r, bits, false);
        if narrow { extend(value, 32, true) } else { value }
    }

    /// The right operand of a comparison, which has no shift; code 3 is ignored where the form has
    /// no `.not`.
    fn comparand(&self, i: &Insn) -> u64 {
        if i.has_r && i.modifier == 3 && !i.not { self.scalar(i.r) } else { self.right(i, false) }
    }

    fn quotient(&self, i: &Insn, l: u64, signed: bool, narrow: bool) -> (u64, u64) {
        let r = self.scalar(i.r);
        if !narrow {
            return divide(l, r, 64, signed);
        }
        let (l, r) = (extend(l, 32, signed), extend(r, 32, signed));
        let (q, rest) = divide(l, r, 32, signed);
        (extend(q, 32, true), extend(rest, 32, true))
    }

    fn convert_scalar(&mut self, i: &Insn, op: SOp, l: u64, pc: u64) -> Result<u64, Trap> {
        let reserved = || Trap::illegal(pc, "this convert type is reserved or not specified");
        let mut flags = Flags::NONE;
        let env = self.env();
        let source = if i.from == 1 { FloatType::Fp32 } else { FloatType::Fp64 };
        let value = match op {
            SOp::FloatFloat => {
                let to = FloatType::of(i.to).ok_or_else(reserved)?;
                float_to_float(l, source, to, env, &mut flags)
            }
            SOp::FloatInt(mode) => {
                let (bits, signed) = int_type(i.to).ok_or_else(reserved)?;
                let env = mode.map_or(env, |mode| env.with_rounding(mode));
                float_to_int(l, source, bits, signed, env, &mut flags)
            }
            SOp::IntFloat(signed) => {
                let to = FloatType::of(i.to).ok_or_else(reserved)?;
                let value = extend(l, if i.from == 1 { 32 } else { 64 }, signed);
                int_to_float(value, signed, to, env, &mut flags)
            }
            _ => return Err(reserved()),
        };
        self.raise(flags);
        Ok(value)
    }
}
