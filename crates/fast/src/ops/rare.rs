//! Operations that the interpreter computes itself but that are too rare for a compiling tier.

use super::{f, operations};
use crate::row::Narrow;
use ir::mods::Flag;
use ir::{Inst, Op, Ty};

operations! {
    "Rarer operations on 32-bit values, as an expression over their bits." Rare Narrow u32 {
    // Funnel shifts of the 64-bit value `b:a`.
    FunnelL |a, b, c| ((u64::from(b) << 32 | u64::from(a)) << c.min(32) >> 32) as u32;
    FunnelLWrap |a, b, c| ((u64::from(b) << 32 | u64::from(a)) << (c & 31) >> 32) as u32;
    FunnelR |a, b, c| ((u64::from(b) << 32 | u64::from(a)) >> c.min(32)) as u32;
    FunnelRWrap |a, b, c| ((u64::from(b) << 32 | u64::from(a)) >> (c & 31)) as u32;
    // A number wins over a NaN; -0 is less than +0.
    FMin |a, b, c| lesser(a, b, ordinal(a) <= ordinal(b));
    FMax |a, b, c| lesser(a, b, ordinal(a) >= ordinal(b));
    DivU |a, b, c| a.checked_div(b).unwrap_or(u32::MAX);
    RemU |a, b, c| a.checked_rem(b).unwrap_or(a);
    DivS |a, b, c| if b == 0 { u32::MAX } else { (a as i32).wrapping_div(b as i32) as u32 };
    RemS |a, b, c| if b == 0 { a } else { (a as i32).wrapping_rem(b as i32) as u32 };
} }

/// Maps floats that are not NaN to integers of the same order.
#[inline(always)]
fn ordinal(bits: u32) -> i32 {
    bits as i32 ^ ((bits as i32 >> 31) as u32 >> 1) as i32
}

/// Returns the chosen operand, or the other one if that is a NaN; the canonical NaN if both are.
#[inline(always)]
fn lesser(a: u32, b: u32, first: bool) -> u32 {
    let number = if first { a } else { b };
    let number = if f(b).is_nan() { a } else { number };
    let number = if f(a).is_nan() { b } else { number };
    if f(number).is_nan() { 0x7fff_ffff } else { number }
}

/// Returns the rare operation of an instruction, if it is one.
pub(crate) fn rare(inst: &Inst) -> Option<Rare> {
    let ty = inst.ty.filter(|t| t.bits() == 32 && inst.results.len() == 1)?;
    let flags = inst.mods.flags;
    let (plain, two) = (flags == ir::mods::Flags::NONE, inst.operands.len() == 2);
    Some(match (inst.op, ty) {
        (Op::ShfL, _) if plain => Rare::FunnelL,
        (Op::ShfR, _) if plain => Rare::FunnelR,
        (Op::ShfL, _) if flags.has(Flag::Wrap) => Rare::FunnelLWrap,
        (Op::ShfR, _) if flags.has(Flag::Wrap) => Rare::FunnelRWrap,
        (Op::Min, Ty::F32) if plain && two => Rare::FMin,
        (Op::Max, Ty::F32) if plain && two => Rare::FMax,
        (Op::Div, Ty::U32) if plain => Rare::DivU,
        (Op::Rem, Ty::U32) if plain => Rare::RemU,
        (Op::Div, Ty::S32) if plain => Rare::DivS,
        (Op::Rem, Ty::S32) if plain => Rare::RemS,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use simt::arith::int::{DivByZero, FunnelShift, Overshift};
    use simt::arith::soft::MinMax;
    use simt::arith::{F32, FpEnv, float, int};

    #[test]
    fn rare_operations_match_the_exact_engine() {
        let values = [
            0,
            1,
            2,
            31,
            32,
            33,
            0x8000_0000,
            0x8000_0001,
            0xffff_ffff,
            0x7fff_ffff,
            0x7f80_0000,
            0xff80_0000,
            0x7f80_0001,
            0xffc0_0000,
            0x3f80_0000,
            0xbf80_0000,
            0x0080_0000,
        ];
        let funnel = |a, b, c, how, rule| int::funnel_shift(a, b, c, how, rule);
        for x in values {
            for y in values {
                for z in values {
                    let (a, b, c) = (u64::from(x), u64::from(y), u64::from(z));
                    let (left, right) = (FunnelShift::Left, FunnelShift::Right);
                    for (op, expected) in [
                        (Rare::FunnelL, funnel(a, b, c, left, Overshift::Clamp)),
                        (Rare::FunnelLWrap, funnel(a, b, c, left, Overshift::Wrap)),
                        (Rare::FunnelR, funnel(a, b, c, right, Overshift::Clamp)),
                        (Rare::FunnelRWrap, funnel(a, b, c, right, Overshift::Wrap)),
                        (Rare::FMin, float::min::<F32>(a, b, MinMax::Number, FpEnv::PTX)),
                        (Rare::FMax, float::max::<F32>(a, b, MinMax::Number, FpEnv::PTX)),
                        (Rare::DivU, int::div::<u32>(a, b, DivByZero::AllOnes)),
                        (Rare::RemU, int::rem::<u32>(a, b)),
                        (Rare::DivS, int::div::<i32>(a, b, DivByZero::AllOnes)),
                        (Rare::RemS, int::rem::<i32>(a, b)),
                    ] {
                        assert_eq!(
                            u64::from(op.one(x, y, z)),
                            expected,
                            "{op:?} {x:#x} {y:#x} {z:#x}"
                        );
                        let row = op.all(&Narrow::splat(x), &Narrow::splat(y), &Narrow::splat(z));
                        assert_eq!(u64::from(row.0[7]), expected, "{op:?} {x:#x} {y:#x} {z:#x}");
                    }
                }
            }
        }
    }
}
