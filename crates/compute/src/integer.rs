//! Integer arithmetic.

use crate::{LaneFn, by_int, lane, lane2};
use ir::mods::Flag;
use ir::{Inst, Op, Ty};
use simt::arith::int::{self, DivByZero, Int};

pub(super) fn resolve(inst: &Inst, ty: Ty) -> Option<LaneFn> {
    let sat = inst.mods.flags.has(Flag::Sat);
    match inst.op {
        op if ty == Ty::U16x2 => packed::<u16>(op),
        op if ty == Ty::S16x2 => packed::<i16>(op),
        Op::MadHi | Op::Mad24Hi if sat => by_int!(ty, saturating(inst.op)).flatten(),
        Op::Add | Op::Sub if sat => by_int!(ty, saturating(inst.op)).flatten(),
        op => by_int!(ty, plain(op)).flatten(),
    }
}

/// Pairs of 16-bit integers.
fn packed<T: Int>(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::Add => lane!([T: Int]; |_e, a, b| int::lanes2([a, b], |[a, b]| int::add::<T>(a, b))),
        Op::Min => lane!([T: Int]; |e, a, b| int::lanes2([a, b], |[a, b]| {
            relu::<T>(e.mods.flags.has(Flag::Relu), int::min::<T>(a, b))
        })),
        Op::Max => lane!([T: Int]; |e, a, b| int::lanes2([a, b], |[a, b]| {
            relu::<T>(e.mods.flags.has(Flag::Relu), int::max::<T>(a, b))
        })),
        _ => return None,
    })
}

fn saturating<T: Int>(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::Add => lane!([T: Int]; |_e, a, b| int::add_sat::<T>(a, b)),
        Op::Sub => lane!([T: Int]; |_e, a, b| int::sub_sat::<T>(a, b)),
        Op::MadHi => lane!([T: Int]; |_e, a, b, c| int::mad_hi_sat::<T>(a, b, c)),
        Op::Mad24Hi => lane!([T: Int]; |_e, a, b, c| int::mad24_hi_sat::<T>(a, b, c)),
        _ => return None,
    })
}

fn plain<T: Int>(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::Add => lane!([T: Int]; |_e, a, b| int::add::<T>(a, b)),
        Op::Sub => lane!([T: Int]; |_e, a, b| int::sub::<T>(a, b)),
        Op::Mul => lane!([T: Int]; |_e, a, b| int::mul_lo::<T>(a, b)),
        Op::MulHi => lane!([T: Int]; |_e, a, b| int::mul_hi::<T>(a, b)),
        Op::MulWide => lane!([T: Int]; |_e, a, b| int::mul_wide::<T>(a, b)),
        Op::Mad => lane!([T: Int]; |_e, a, b, c| int::mad_lo::<T>(a, b, c)),
        Op::MadHi => lane!([T: Int]; |_e, a, b, c| int::mad_hi::<T>(a, b, c)),
        Op::MadWide => lane!([T: Int]; |_e, a, b, c| int::mad_wide::<T>(a, b, c)),
        Op::Mul24 => lane!([T: Int]; |_e, a, b| int::mul24_lo::<T>(a, b)),
        Op::Mul24Hi => lane!([T: Int]; |_e, a, b| int::mul24_hi::<T>(a, b)),
        Op::Mad24 => lane!([T: Int]; |_e, a, b, c| int::mad24_lo::<T>(a, b, c)),
        Op::Mad24Hi => lane!([T: Int]; |_e, a, b, c| int::mad24_hi::<T>(a, b, c)),
        Op::Sad => lane!([T: Int]; |_e, a, b, c| int::sad::<T>(a, b, c)),
        Op::Div => lane!([T: Int]; |_e, a, b| int::div::<T>(a, b, DivByZero::AllOnes)),
        Op::Rem => lane!([T: Int]; |_e, a, b| int::rem::<T>(a, b)),
        Op::Abs => lane!([T: Int]; |_e, a| int::abs::<T>(a)),
        Op::Neg => lane!([T: Int]; |_e, a| int::neg::<T>(a)),
        Op::Min => {
            lane!([T: Int]; |e, a, b| relu::<T>(e.mods.flags.has(Flag::Relu), int::min::<T>(a, b)))
        }
        Op::Max => {
            lane!([T: Int]; |e, a, b| relu::<T>(e.mods.flags.has(Flag::Relu), int::max::<T>(a, b)))
        }
        Op::AddCarry => lane2!([T: Int]; |_e, a, b, c| carry(int::add_carry::<T>(a, b, c != 0))),
        Op::SubCarry => lane2!([T: Int]; |_e, a, b, c| carry(int::sub_carry::<T>(a, b, c != 0))),
        Op::MadCarry => {
            lane2!([T: Int]; |_e, a, b, c, d| {
                carry(int::add_carry::<T>(int::mul_lo::<T>(a, b), c, d != 0))
            })
        }
        Op::MadHiCarry => {
            lane2!([T: Int]; |_e, a, b, c, d| {
                carry(int::add_carry::<T>(int::mul_hi::<T>(a, b), c, d != 0))
            })
        }
        _ => return None,
    })
}

fn carry((value, out): (u64, bool)) -> (u64, u64) {
    (value, u64::from(out))
}

fn relu<T: Int>(on: bool, value: u64) -> u64 {
    if on { int::relu::<T>(value) } else { value }
}
