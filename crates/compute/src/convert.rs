//! Conversions.

use crate::{LaneFn, Settings, by_format, by_int, finish, lane};
use ir::mods::{Flag, Rounding as Word};
use ir::{Inst, Op, Ty};
use simt::arith::float;
use simt::arith::int::{self, Int};
use simt::arith::soft::IntConversion;
use simt::arith::{BF16, E4M3, E5M2, F16, F32, Format, Rounding, TF32};

pub(super) fn resolve(inst: &Inst, ty: Ty) -> Option<LaneFn> {
    let from = inst.ty2?;
    let sat = inst.mods.flags.has(Flag::Sat);
    match inst.op {
        Op::CvtPack => pack_int(ty, inst.operands.len()),
        Op::Cvt if inst.operands.len() == 2 => pack_float(ty, from),
        Op::Cvt if is_packed(from) || is_packed(ty) => unpack_float(ty, from),
        Op::Cvt => match (ty.is_float() || narrow(ty), from.is_float() || narrow(from)) {
            (false, false) => by_int!(from, int_to(ty, sat)).flatten(),
            (true, false) => by_int!(from, int_to_float(ty)).flatten(),
            (false, true) => by_format!(from, float_to_int(ty)).flatten(),
            (true, true) => float_to_float(inst, ty, from),
        },
        _ => None,
    }
}

fn narrow(ty: Ty) -> bool {
    matches!(ty, Ty::Tf32 | Ty::E4m3 | Ty::E5m2 | Ty::E4m3x2 | Ty::E5m2x2)
}

fn is_packed(ty: Ty) -> bool {
    matches!(ty, Ty::F16x2 | Ty::Bf16x2 | Ty::E4m3x2 | Ty::E5m2x2)
}

/// Extends a value of a narrow integer type to the register it is written to: conversions
/// sign-extend into wider registers. `op.extra` holds the register's value mask.
#[inline]
fn widen<D: Int>(e: &Settings, value: u64) -> u64 {
    D::extend(value) & e.extra
}

fn int_to<S: Int>(to: Ty, sat: bool) -> Option<LaneFn> {
    fn to_type<S: Int, D: Int>(sat: bool) -> LaneFn {
        if sat {
            lane!([S: Int, D: Int]; |e, a| widen::<D>(e, int::convert_sat::<S, D>(a)))
        } else {
            lane!([S: Int, D: Int]; |e, a| widen::<D>(e, int::convert::<S, D>(a)))
        }
    }
    Some(match to {
        Ty::U8 | Ty::B8 => to_type::<S, u8>(sat),
        Ty::U16 | Ty::B16 => to_type::<S, u16>(sat),
        Ty::U32 | Ty::B32 => to_type::<S, u32>(sat),
        Ty::U64 | Ty::B64 => to_type::<S, u64>(sat),
        Ty::S8 => to_type::<S, i8>(sat),
        Ty::S16 => to_type::<S, i16>(sat),
        Ty::S32 => to_type::<S, i32>(sat),
        Ty::S64 => to_type::<S, i64>(sat),
        _ => return None,
    })
}

fn int_to_float<S: Int>(to: Ty) -> Option<LaneFn> {
    fn to_format<S: Int, F: Format>() -> LaneFn {
        lane!([S: Int, F: Format]; |e, a| finish::<F>(e, float::from_int::<S, F>(a, e.env)))
    }
    Some(match to {
        Ty::F16 => to_format::<S, F16>(),
        Ty::Bf16 => to_format::<S, BF16>(),
        Ty::F32 => to_format::<S, F32>(),
        Ty::F64 => to_format::<S, simt::arith::F64>(),
        _ => return None,
    })
}

fn float_to_int<F: Format>(to: Ty) -> Option<LaneFn> {
    fn to_type<F: Format, D: Int>() -> LaneFn {
        lane!([F: Format, D: Int]; |e, a| {
            widen::<D>(e, float::to_int::<F, D>(a, IntConversion::Ptx, e.env))
        })
    }
    Some(match to {
        Ty::U8 | Ty::B8 => to_type::<F, u8>(),
        Ty::U16 | Ty::B16 => to_type::<F, u16>(),
        Ty::U32 | Ty::B32 => to_type::<F, u32>(),
        Ty::U64 | Ty::B64 => to_type::<F, u64>(),
        Ty::S8 => to_type::<F, i8>(),
        Ty::S16 => to_type::<F, i16>(),
        Ty::S32 => to_type::<F, i32>(),
        Ty::S64 => to_type::<F, i64>(),
        _ => return None,
    })
}

/// Converts one value from one format to another, saturated by the flags.
#[inline]
fn convert<S: Format, D: Format>(e: &Settings, a: u64) -> u64 {
    let value = if e.mods.flags.has(Flag::SatFinite) {
        float::convert_satfinite::<S, D>(a, e.env)
    } else {
        float::convert::<S, D>(a, e.env)
    };
    finish::<D>(e, value)
}

fn float_to_float(inst: &Inst, to: Ty, from: Ty) -> Option<LaneFn> {
    use simt::arith::F64;
    let integral =
        matches!(inst.mods.rounding, Some(Word::Rni | Word::Rzi | Word::Rmi | Word::Rpi));
    if to == from {
        return if integral { by_format!(to, integral_of()) } else { by_format!(to, same()) };
    }
    fn pair<S: Format, D: Format>() -> LaneFn {
        lane!([S: Format, D: Format]; |e, a| convert::<S, D>(e, a))
    }
    Some(match (from, to) {
        (Ty::F16, Ty::F32) => pair::<F16, F32>(),
        (Ty::F16, Ty::F64) => pair::<F16, F64>(),
        (Ty::F16, Ty::Bf16) => pair::<F16, BF16>(),
        (Ty::Bf16, Ty::F16) => pair::<BF16, F16>(),
        (Ty::Bf16, Ty::F32) => pair::<BF16, F32>(),
        (Ty::Bf16, Ty::F64) => pair::<BF16, F64>(),
        (Ty::F32, Ty::F16) => pair::<F32, F16>(),
        (Ty::F32, Ty::Bf16) => pair::<F32, BF16>(),
        (Ty::F32, Ty::F64) => pair::<F32, F64>(),
        (Ty::F32, Ty::Tf32) => pair::<F32, TF32>(),
        (Ty::F64, Ty::F16) => pair::<F64, F16>(),
        (Ty::F64, Ty::Bf16) => pair::<F64, BF16>(),
        (Ty::F64, Ty::F32) => pair::<F64, F32>(),
        _ => return None,
    })
}

fn integral_of<F: Format>() -> LaneFn {
    lane!([F: Format]; |e, a| finish::<F>(e, float::round_to_integral::<F>(a, e.env)))
}

fn same<F: Format>() -> LaneFn {
    lane!([F: Format]; |e, a| convert::<F, F>(e, a))
}

/// Two binary32 values into a packed pair; the first operand goes to the high half.
fn pack_float(to: Ty, from: Ty) -> Option<LaneFn> {
    fn pair<D: Format>(half: u32) -> LaneFn {
        fn wide<D: Format>() -> LaneFn {
            lane!([D: Format]; |e, a, b| convert::<F32, D>(e, a) << 16 | convert::<F32, D>(e, b))
        }
        fn thin<D: Format>() -> LaneFn {
            lane!([D: Format]; |e, a, b| convert::<F32, D>(e, a) << 8 | convert::<F32, D>(e, b))
        }
        if half == 16 { wide::<D>() } else { thin::<D>() }
    }
    match (from, to) {
        (Ty::F32, Ty::F16x2) => Some(pair::<F16>(16)),
        (Ty::F32, Ty::Bf16x2) => Some(pair::<BF16>(16)),
        (Ty::F32, Ty::E4m3x2) => Some(pair::<E4M3>(8)),
        (Ty::F32, Ty::E5m2x2) => Some(pair::<E5M2>(8)),
        _ => None,
    }
}

/// Packed pairs of one format into packed pairs of another.
fn unpack_float(to: Ty, from: Ty) -> Option<LaneFn> {
    fn widen<S: Format, D: Format>() -> LaneFn {
        lane!([S: Format, D: Format]; |e, a| {
            convert::<S, D>(e, a >> 8 & 0xff) << 16 | convert::<S, D>(e, a & 0xff)
        })
    }
    fn shrink<S: Format, D: Format>() -> LaneFn {
        lane!([S: Format, D: Format]; |e, a| {
            convert::<S, D>(e, a >> 16 & 0xffff) << 8 | convert::<S, D>(e, a & 0xffff)
        })
    }
    Some(match (from, to) {
        (Ty::E4m3x2, Ty::F16x2) => widen::<E4M3, F16>(),
        (Ty::E5m2x2, Ty::F16x2) => widen::<E5M2, F16>(),
        (Ty::F16x2, Ty::E4m3x2) => shrink::<F16, E4M3>(),
        (Ty::F16x2, Ty::E5m2x2) => shrink::<F16, E5M2>(),
        _ => return None,
    })
}

/// Two signed integers, saturated to `to`, above the low bits of a third operand.
fn pack_int(to: Ty, operands: usize) -> Option<LaneFn> {
    fn pack<D: Int>(e: &Settings, a: u64, b: u64, c: u64) -> u64 {
        let part = |x| {
            if e.mods.flags.has(Flag::Sat) {
                int::convert_sat::<i32, D>(x)
            } else {
                int::convert::<i32, D>(x)
            }
        };
        let pair = part(a) << D::BITS | part(b);
        (c << (2 * D::BITS) | pair) & 0xffff_ffff
    }
    /// For fewer bits than any integer type has.
    fn pack_bits<const BITS: u32, const SIGNED: bool>(e: &Settings, a: u64, b: u64, c: u64) -> u64 {
        let mask = (1_u64 << BITS) - 1;
        let (least, most) =
            if SIGNED { (-1 << (BITS - 1), (1 << (BITS - 1)) - 1) } else { (0, mask as i32) };
        let part = |x: u64| {
            let x = x as u32 as i32;
            let x = if e.mods.flags.has(Flag::Sat) { x.clamp(least, most) } else { x };
            u64::from(x as u32) & mask
        };
        (c << (2 * BITS) | part(a) << BITS | part(b)) & 0xffff_ffff
    }
    Some(match (to, operands) {
        (Ty::U8, 3) => lane!(|e, a, b, c| pack::<u8>(e, a, b, c)),
        (Ty::S8, 3) => lane!(|e, a, b, c| pack::<i8>(e, a, b, c)),
        (Ty::U4, 3) => lane!(|e, a, b, c| pack_bits::<4, false>(e, a, b, c)),
        (Ty::S4, 3) => lane!(|e, a, b, c| pack_bits::<4, true>(e, a, b, c)),
        (Ty::U2, 3) => lane!(|e, a, b, c| pack_bits::<2, false>(e, a, b, c)),
        (Ty::S2, 3) => lane!(|e, a, b, c| pack_bits::<2, true>(e, a, b, c)),
        (Ty::U16, 2) => lane!(|e, a, b| pack::<u16>(e, a, b, 0)),
        (Ty::S16, 2) => lane!(|e, a, b| pack::<i16>(e, a, b, 0)),
        _ => return None,
    })
}

/// The rounding that a conversion to an integer has if none is written: toward zero.
pub(super) fn default_rounding(inst: &Inst) -> Option<Rounding> {
    let to_int = inst.op == Op::Cvt
        && inst.mods.rounding.is_none()
        && inst.ty2.is_some_and(Ty::is_float)
        && inst.ty.is_some_and(|t| !t.is_float() && !narrow(t));
    to_int.then_some(Rounding::TowardZero)
}
