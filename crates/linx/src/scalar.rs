//! Scalar instructions of 16, 32 and 48 bits, in blocks and in bodies.
//!
//! A body's group has its own queues `t` and `u`; GPRs are shared. `*W` operations compute on 32
//! bits and sign-extend.

use simt::arith::{Flags, FpEnv};
use simt::memory::{AccessKind, Addr, Width};

use crate::action::{Alu, Rmw, SOp};
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
    fn right(&self, i: &Insn, narrow: bool) -> u64 {
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
                self.write_scalar(10, pc.wrapping_add_signed(i.imm));
                return Ok(Effect::None);
            }
            SOp::Csel => {
                let r = self.scalar(i.r);
                let r = if i.modifier == 3 { r.wrapping_neg() } else { r };
                if self.scalar(i.a) != 0 { l } else { r }
            }
            SOp::Bits(op) => bit_field(op, l, i.m, i.n, 64),
            SOp::Extend(bits, signed) => extend(l, u32::from(bits), signed),
            SOp::Move => l,
            SOp::Immediate(shift) => (i.imm as u64) << shift,
            SOp::AddTpc => pc.wrapping_add_signed(i.imm),
            SOp::Load(..)
            | SOp::LoadPcr(..)
            | SOp::Store(_)
            | SOp::StorePcr(_)
            | SOp::Atomic(..) => {
                return self.access_scalar(i, op, l, pc);
            }
            SOp::Prefetch => return Ok(Effect::None),
            SOp::Float(op) => {
                let bits = if i.from == 1 { 32 } else { 64 };
                let mut flags = Flags::NONE;
                let (r, a) = (self.scalar(i.r), self.scalar(i.a));
                let value = float_op(op, bits, l, r, a, self.env(), &mut flags);
                self.raise(flags);
                value
            }
            SOp::FloatFloat | SOp::FloatInt(_) | SOp::IntFloat(_) => {
                self.convert_scalar(i, op, l, pc)?
            }
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

    fn access_scalar(&mut self, i: &Insn, op: SOp, l: u64, pc: u64) -> Result<Effect, Trap> {
        let size = |log2: u8| 1u64 << log2;
        match op {
            SOp::Load(log2, signed) => {
                let at = l.wrapping_add(self.right(i, false));
                let value = self.load(pc, at, size(log2), false)?;
                self.write_scalar(i.rd, extend(value, 8 << log2, signed));
            }
            SOp::LoadPcr(log2, signed) => {
                let value = self.load(pc, pc.wrapping_add_signed(i.imm), size(log2), false)?;
                self.write_scalar(i.rd, extend(value, 8 << log2, signed));
            }
            SOp::Store(log2) => {
                let (data, at) = self.store_operands(i, l, log2);
                self.store(pc, at, size(log2), data, false)?;
            }
            SOp::StorePcr(log2) => {
                self.store(pc, pc.wrapping_add_signed(i.imm), size(log2), l, false)?;
            }
            SOp::Atomic(op, log2) => {
                let operand = self.scalar(i.r);
                let old = self.read_modify_write(pc, l, log2, op, operand, false)?;
                self.write_scalar(i.rd, extend(old, 8 << log2, true));
            }
            _ => {}
        }
        Ok(Effect::None)
    }

    /// Data and address of a store.
    fn store_operands(&self, i: &Insn, l: u64, log2: u8) -> (u64, u64) {
        if i.short {
            // The 16-bit stores take their data from t#1.
            return (self.scalar(24), l.wrapping_add_signed(i.imm));
        }
        if i.has_imm {
            // Data is SrcL, or SrcD in the 48-bit forms; SrcR is the base.
            let data = if i.length == 6 { self.scalar(i.a) } else { l };
            return (data, self.scalar(i.r).wrapping_add_signed(i.imm));
        }
        let scale = if i.unscaled { 0 } else { log2 };
        (self.scalar(i.a), l.wrapping_add(self.right(i, false) << scale))
    }

    /// Loads bytes of global memory, little-endian. Misaligned accesses are done byte by byte or
    /// trap by option.
    pub(crate) fn load(&self, pc: u64, at: u64, size: u64, body: bool) -> Result<u64, Trap> {
        self.check_access(pc, at, size, AccessKind::Load, body)?;
        let mut bytes = [0; 8];
        let wanted = bytes.get_mut(..size as usize).unwrap_or_default();
        let read = self.memory.read_bytes(Addr(at), wanted);
        read.map_err(|error| Self::data_trap(pc, at, body, &error))?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Stores the low bytes of a value.
    pub(crate) fn store(
        &mut self,
        pc: u64,
        at: u64,
        size: u64,
        value: u64,
        body: bool,
    ) -> Result<(), Trap> {
        self.check_access(pc, at, size, AccessKind::Store, body)?;
        let bytes = value.to_le_bytes();
        let written =
            self.memory.write_bytes(Addr(at), bytes.get(..size as usize).unwrap_or_default());
        written.map_err(|error| Self::data_trap(pc, at, body, &error))
    }

    /// A read-modify-write; gives the old value. Atomics are aligned always.
    pub(crate) fn read_modify_write(
        &mut self,
        pc: u64,
        at: u64,
        log2: u8,
        op: Rmw,
        operand: u64,
        body: bool,
    ) -> Result<u64, Trap> {
        self.check_access(pc, at, 1 << log2, AccessKind::Atomic, body)?;
        let width = Width::from_bytes(1 << log2).unwrap_or(Width::B8);
        let bits = 8u32 << log2;
        let result = self.memory.atomic(Addr(at), width, |old| {
            compute::rmw(op, old, operand, log2) & compute::ones(bits)
        });
        result.map_err(|error| Self::data_trap(pc, at, body, &error))
    }

    /// Checks that an access is possible.
    pub(crate) fn check_access(
        &self,
        pc: u64,
        at: u64,
        size: u64,
        kind: AccessKind,
        body: bool,
    ) -> Result<(), Trap> {
        let atomic = kind == AccessKind::Atomic;
        if !at.is_multiple_of(size) && (self.options.align || atomic) {
            let trap = Trap::align(pc, at, size);
            return Err(if body { trap.in_body() } else { trap });
        }
        let allowed = self.memory.check(kind, Addr(at), size, 1);
        allowed.map_err(|error| Self::data_trap(pc, at, body, &error))
    }

    fn data_trap(pc: u64, at: u64, body: bool, error: &simt::memory::AccessError) -> Trap {
        let trap = Trap::data(pc, at, error);
        if body { trap.in_body() } else { trap }
    }
}
