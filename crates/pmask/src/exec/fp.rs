//! Floating point: exact values and flags of `simt::arith::soft`, and its faster twin where it
//! shows no difference.

use simt::arith::soft::{self, IntConversion, MinMax};
use simt::arith::{Cmp, F32, F64, Flags, Format, FpEnv, Rounding, float};

use crate::op::{Fmt, FpOp, IntType};

/// The upper half of a register that holds a binary32.
const BOX: u64 = 0xffff_ffff_0000_0000;

/// A binary32 as it stands in a register.
#[inline]
pub(crate) fn boxed(bits: u64) -> u64 {
    BOX | bits & 0xffff_ffff
}

/// Reads a register in a format: a value that is not boxed reads as a NaN.
#[inline]
pub(crate) fn unboxed(fmt: Fmt, register: u64) -> u64 {
    match fmt {
        Fmt::D => register,
        Fmt::S if register & BOX == BOX => register & 0xffff_ffff,
        Fmt::S => F32::RISCV_NAN,
    }
}

/// The rounding of a mode number; none for reserved ones.
pub(crate) fn rounding(mode: u8) -> Option<Rounding> {
    Some(match mode {
        0 => Rounding::NearestEven,
        1 => Rounding::TowardZero,
        2 => Rounding::TowardNegative,
        3 => Rounding::TowardPositive,
        4 => Rounding::NearestAway,
        _ => return None,
    })
}

/// The operands of one lane: registers as they stand, integers for operations that take one.
#[derive(Clone, Copy)]
pub(crate) struct Operands {
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) c: u64,
}

/// The register value and the flags of an operation. `raised` are the flags that are set already.
#[inline]
pub(crate) fn eval(op: FpOp, fmt: Fmt, from: Operands, env: FpEnv, raised: u8) -> (u64, Flags) {
    match op {
        FpOp::MoveToInt => match fmt {
            Fmt::S => (from.a as i32 as u64, Flags::NONE),
            Fmt::D => (from.a, Flags::NONE),
        },
        FpOp::MoveFromInt => match fmt {
            Fmt::S => (boxed(from.a), Flags::NONE),
            Fmt::D => (from.a, Flags::NONE),
        },
        FpOp::Convert => match fmt {
            Fmt::S => {
                let (value, flags) = soft::convert::<F64, F32>(from.a, env);
                (boxed(value), flags)
            }
            Fmt::D => soft::convert::<F32, F64>(unboxed(Fmt::S, from.a), env),
        },
        FpOp::FromInt(kind) => match fmt {
            Fmt::S => {
                let (value, flags) = from_int::<F32>(kind, from.a, env);
                (boxed(value), flags)
            }
            Fmt::D => from_int::<F64>(kind, from.a, env),
        },
        _ => {
            let Operands { a, b, c } = from;
            match fmt {
                Fmt::S => {
                    let read = |v| unboxed(Fmt::S, v);
                    let from = Operands { a: read(a), b: read(b), c: read(c) };
                    let (value, flags) = format_op::<F32>(op, from, env, raised);
                    (if is_float(op) { boxed(value) } else { value }, flags)
                }
                Fmt::D => format_op::<F64>(op, from, env, raised),
            }
        }
    }
}

/// Returns whether the result is a number of the format rather than an integer.
fn is_float(op: FpOp) -> bool {
    !matches!(op, FpOp::Eq | FpOp::Lt | FpOp::Le | FpOp::Class | FpOp::ToInt(_))
}

fn from_int<F: Format>(kind: IntType, a: u64, env: FpEnv) -> (u64, Flags) {
    match kind {
        IntType::W => soft::from_int::<i32, F>(a, env),
        IntType::Wu => soft::from_int::<u32, F>(a, env),
        IntType::L => soft::from_int::<i64, F>(a, env),
        IntType::Lu => soft::from_int::<u64, F>(a, env),
    }
}

/// 32-bit results are sign-extended, unsigned ones too.
fn to_int<F: Format>(kind: IntType, a: u64, env: FpEnv) -> (u64, Flags) {
    const RULE: IntConversion = IntConversion::RiscV;
    let word = |(value, flags): (u64, Flags)| (value as i32 as u64, flags);
    match kind {
        IntType::W => word(soft::to_int::<F, i32>(a, RULE, env)),
        IntType::Wu => word(soft::to_int::<F, u32>(a, RULE, env)),
        IntType::L => soft::to_int::<F, i64>(a, RULE, env),
        IntType::Lu => soft::to_int::<F, u64>(a, RULE, env),
    }
}

/// Operations within one format.
fn format_op<F: Format>(op: FpOp, from: Operands, env: FpEnv, raised: u8) -> (u64, Flags) {
    let Operands { a, b, c } = from;
    let nearest = env.rounding == Rounding::NearestEven;
    if nearest
        && Flags::from_bits_truncate(raised).contains(Flags::NX)
        && let Some(value) = quick::<F>(op, from, env)
    {
        return (value, Flags::NONE);
    }
    let negated = |v: u64| v ^ F::SIGN;
    let compare = |cmp: Cmp, quiet: bool| {
        let (relation, flags) = if quiet {
            soft::compare::<F>(a, b, env)
        } else {
            soft::compare_signalling::<F>(a, b, env)
        };
        (u64::from(cmp.holds(relation)), flags)
    };
    match op {
        FpOp::Madd => soft::fma::<F>(a, b, c, env),
        FpOp::Msub => soft::fma::<F>(a, b, negated(c), env),
        FpOp::Nmsub => soft::fma::<F>(negated(a), b, c, env),
        FpOp::Nmadd => soft::fma::<F>(negated(a), b, negated(c), env),
        FpOp::Add => soft::add::<F>(a, b, env),
        FpOp::Sub => soft::sub::<F>(a, b, env),
        FpOp::Mul => soft::mul::<F>(a, b, env),
        FpOp::Div => soft::div::<F>(a, b, env),
        FpOp::Sqrt => soft::sqrt::<F>(a, env),
        FpOp::Sgnj => (float::copysign::<F>(b, a), Flags::NONE),
        FpOp::Sgnjn => (float::copysign::<F>(negated(b), a), Flags::NONE),
        FpOp::Sgnjx => (a ^ b & F::SIGN, Flags::NONE),
        FpOp::Min => soft::min::<F>(a, b, MinMax::Number, env),
        FpOp::Max => soft::max::<F>(a, b, MinMax::Number, env),
        FpOp::Eq => compare(Cmp::Eq, true),
        FpOp::Lt => compare(Cmp::Lt, false),
        FpOp::Le => compare(Cmp::Le, false),
        FpOp::Class => (float::classify::<F>(a), Flags::NONE),
        FpOp::ToInt(kind) => to_int::<F>(kind, a, env),
        // Handled before the operands were read in one format.
        FpOp::FromInt(_) | FpOp::Convert | FpOp::MoveToInt | FpOp::MoveFromInt => (a, Flags::NONE),
    }
}

/// Returns the value where the only flag that can be raised is inexact: a normal result (its
/// exponent above the least, so that it was not tiny before rounding either) is neither invalid nor
/// a division by zero, an overflow or an underflow.
#[inline]
fn quick<F: Format>(op: FpOp, from: Operands, env: FpEnv) -> Option<u64> {
    let Operands { a, b, c } = from;
    let value = match op {
        FpOp::Madd => float::fma::<F>(a, b, c, env),
        FpOp::Msub => float::fma::<F>(a, b, c ^ F::SIGN, env),
        FpOp::Nmsub => float::fma::<F>(a ^ F::SIGN, b, c, env),
        FpOp::Nmadd => float::fma::<F>(a ^ F::SIGN, b, c ^ F::SIGN, env),
        FpOp::Add => float::add::<F>(a, b, env),
        FpOp::Sub => float::sub::<F>(a, b, env),
        FpOp::Mul => float::mul::<F>(a, b, env),
        FpOp::Div => float::div::<F>(a, b, env),
        FpOp::Sqrt => float::sqrt::<F>(a, env),
        _ => return None,
    };
    let magnitude = value & F::MAGNITUDE;
    (magnitude >= F::MIN_NORMAL << 1 && magnitude < F::INFINITY).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With inexact raised already, values are those of the exact path, and so are the flags that
    /// are left.
    #[test]
    fn the_quick_path_shows_no_difference() {
        let mut rng = isa::testing::Rng::new(7);
        let ops = [
            FpOp::Madd,
            FpOp::Msub,
            FpOp::Nmsub,
            FpOp::Nmadd,
            FpOp::Add,
            FpOp::Sub,
            FpOp::Mul,
            FpOp::Div,
            FpOp::Sqrt,
        ];
        let mut value = |fmt: Fmt| {
            let bits = rng.bits();
            let special = [0, 1, F32::INFINITY, F32::ONE, F32::MIN_NORMAL, F32::MAX_FINITE];
            match (bits >> 60, fmt) {
                (0..4, Fmt::S) => boxed(special[bits as usize % special.len()]),
                (4..8, Fmt::S) => boxed(0x3f80_0000 + (bits & 0x3ff)),
                (_, Fmt::S) => boxed(bits),
                (0..4, Fmt::D) => 0x3ff0_0000_0000_0000 + (bits & 0xffff),
                (4, Fmt::D) => 1 << (bits & 63),
                (_, Fmt::D) => bits,
            }
        };
        for _ in 0..20_000 {
            for fmt in [Fmt::S, Fmt::D] {
                let from = Operands { a: value(fmt), b: value(fmt), c: value(fmt) };
                for op in ops {
                    let exact = eval(op, fmt, from, FpEnv::RISCV, 0);
                    let quick = eval(op, fmt, from, FpEnv::RISCV, Flags::NX.bits());
                    assert_eq!(exact.0, quick.0, "{op:?} {fmt:?}");
                    assert_eq!(exact.1 | Flags::NX, quick.1 | Flags::NX, "{op:?} {fmt:?}");
                }
            }
        }
    }
}
