//! Floating-point arithmetic, of one value or of packed pairs.

use crate::{LaneFn, Settings, by_format, finish, lane};
use ir::mods::{Flag, Precision, TestP};
use ir::{Inst, Op, Ty};
use simt::arith::float::{self, Property};
use simt::arith::soft::MinMax;
use simt::arith::{BF16, F16, F32, Format, approx, int};

pub(super) fn resolve(inst: &Inst, ty: Ty) -> Option<LaneFn> {
    match ty {
        Ty::F16x2 => packed::<F16>(inst.op),
        Ty::Bf16x2 => packed::<BF16>(inst.op),
        Ty::F32x2 => pair(inst.op),
        Ty::F32 if inst.mods.precision.is_some() || always_approximate(inst.op) => {
            approximate_f32(inst.op, inst.mods.precision)
        }
        Ty::F64 if inst.mods.precision.is_some() || always_approximate(inst.op) => {
            approximate_f64(inst.op, inst.mods.flags.has(Flag::Ftz))
        }
        Ty::F16 | Ty::Bf16 if always_approximate(inst.op) => match ty {
            Ty::F16 => approximate::<F16>(inst.op),
            _ => approximate::<BF16>(inst.op),
        },
        _ => by_format!(ty, plain(inst.op)).flatten(),
    }
}

/// Operations that have no exact form.
fn always_approximate(op: Op) -> bool {
    matches!(op, Op::Rsqrt | Op::Sin | Op::Cos | Op::Ex2 | Op::Lg2 | Op::Tanh)
}

#[inline]
fn rule(e: &Settings) -> MinMax {
    if e.mods.flags.has(Flag::Nan) { MinMax::Propagate } else { MinMax::Number }
}

#[inline]
fn min<F: Format>(e: &Settings, a: u64, b: u64) -> u64 {
    let xorsign = e.mods.flags.has(Flag::XorSignAbs);
    let f = if xorsign { float::min_xorsign_abs::<F> } else { float::min::<F> };
    finish::<F>(e, f(a, b, rule(e), e.env))
}

#[inline]
fn max<F: Format>(e: &Settings, a: u64, b: u64) -> u64 {
    let xorsign = e.mods.flags.has(Flag::XorSignAbs);
    let f = if xorsign { float::max_xorsign_abs::<F> } else { float::max::<F> };
    finish::<F>(e, f(a, b, rule(e), e.env))
}

fn plain<F: Format>(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::Add => lane!([F: Format]; |e, a, b| finish::<F>(e, float::add::<F>(a, b, e.env))),
        Op::Sub => lane!([F: Format]; |e, a, b| finish::<F>(e, float::sub::<F>(a, b, e.env))),
        Op::Mul => lane!([F: Format]; |e, a, b| finish::<F>(e, float::mul::<F>(a, b, e.env))),
        Op::Fma => lane!([F: Format]; |e, a, b, c| finish::<F>(e, float::fma::<F>(a, b, c, e.env))),
        Op::Div => lane!([F: Format]; |e, a, b| float::div::<F>(a, b, e.env)),
        Op::Rcp => lane!([F: Format]; |e, a| float::rcp::<F>(a, e.env)),
        Op::Sqrt => lane!([F: Format]; |e, a| float::sqrt::<F>(a, e.env)),
        Op::Abs => lane!([F: Format]; |e, a| float::abs::<F>(a, e.env.ftz)),
        Op::Neg => lane!([F: Format]; |e, a| float::neg::<F>(a, e.env.ftz)),
        Op::Min => {
            lane!([F: Format]; |e, a, b, c| {
                let ab = min::<F>(e, a, b);
                if e.sources == 3 { min::<F>(e, ab, c) } else { ab }
            })
        }
        Op::Max => {
            lane!([F: Format]; |e, a, b, c| {
                let ab = max::<F>(e, a, b);
                if e.sources == 3 { max::<F>(e, ab, c) } else { ab }
            })
        }
        Op::Copysign => lane!([F: Format]; |_e, a, b| float::copysign::<F>(a, b)),
        Op::Testp => lane!([F: Format]; |e, a| u64::from(property(e.mods.testp).holds::<F>(a))),
        _ => return None,
    })
}

fn property(test: Option<TestP>) -> Property {
    match test {
        None | Some(TestP::Finite) => Property::Finite,
        Some(TestP::Infinite) => Property::Infinite,
        Some(TestP::Number) => Property::Number,
        Some(TestP::NotANumber) => Property::NotANumber,
        Some(TestP::Normal) => Property::Normal,
        Some(TestP::Subnormal) => Property::Subnormal,
    }
}

fn packed<F: Format>(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::Add => {
            lane!([F: Format]; |e, a, b| {
                int::lanes2([a, b], |[a, b]| finish::<F>(e, float::add::<F>(a, b, e.env)))
            })
        }
        Op::Sub => {
            lane!([F: Format]; |e, a, b| {
                int::lanes2([a, b], |[a, b]| finish::<F>(e, float::sub::<F>(a, b, e.env)))
            })
        }
        Op::Mul => {
            lane!([F: Format]; |e, a, b| {
                int::lanes2([a, b], |[a, b]| finish::<F>(e, float::mul::<F>(a, b, e.env)))
            })
        }
        Op::Fma => {
            lane!([F: Format]; |e, a, b, c| {
                let fma = |[a, b, c]: [u64; 3]| finish::<F>(e, float::fma::<F>(a, b, c, e.env));
                int::lanes2([a, b, c], fma)
            })
        }
        Op::Abs => lane!([F: Format]; |e, a| int::lanes2([a], |[a]| float::abs::<F>(a, e.env.ftz))),
        Op::Neg => lane!([F: Format]; |e, a| int::lanes2([a], |[a]| float::neg::<F>(a, e.env.ftz))),
        Op::Min => lane!([F: Format]; |e, a, b| int::lanes2([a, b], |[a, b]| min::<F>(e, a, b))),
        Op::Max => lane!([F: Format]; |e, a, b| int::lanes2([a, b], |[a, b]| max::<F>(e, a, b))),
        Op::Ex2 => lane!([F: Format]; |e, a| int::lanes2([a], |[a]| approx::ex2::<F>(a, e.env))),
        Op::Tanh => lane!([F: Format]; |e, a| int::lanes2([a], |[a]| approx::tanh::<F>(a, e.env))),
        _ => return None,
    })
}

/// The same function of the low and the high words.
#[inline]
fn words2<const K: usize>(values: [u64; K], f: impl Fn([u64; K]) -> u64) -> u64 {
    f(values.map(|v| v >> 32)) << 32 | f(values.map(|v| v & 0xffff_ffff))
}

/// Packed pairs of single precision.
fn pair(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::Add => lane!(|e, a, b| words2([a, b], |[a, b]| float::add::<F32>(a, b, e.env))),
        Op::Sub => lane!(|e, a, b| words2([a, b], |[a, b]| float::sub::<F32>(a, b, e.env))),
        Op::Mul => lane!(|e, a, b| words2([a, b], |[a, b]| float::mul::<F32>(a, b, e.env))),
        Op::Fma => {
            lane!(|e, a, b, c| words2([a, b, c], |[a, b, c]| float::fma::<F32>(a, b, c, e.env)))
        }
        _ => return None,
    })
}

fn approximate_f32(op: Op, precision: Option<Precision>) -> Option<LaneFn> {
    Some(match op {
        Op::Div if precision == Some(Precision::Full) => {
            lane!(|e, a, b| approx::div_full(a, b, e.env))
        }
        Op::Div => lane!(|e, a, b| approx::div(a, b, e.env)),
        op => return approximate::<F32>(op),
    })
}

/// Functions of one operand, of binary32 and of the half-precision formats.
fn approximate<F: Format>(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::Rcp => lane!([F: Format]; |e, a| approx::rcp::<F>(a, e.env)),
        Op::Sqrt => lane!([F: Format]; |e, a| approx::sqrt::<F>(a, e.env)),
        Op::Rsqrt => lane!([F: Format]; |e, a| approx::rsqrt::<F>(a, e.env)),
        Op::Sin => lane!([F: Format]; |e, a| approx::sin::<F>(a, e.env)),
        Op::Cos => lane!([F: Format]; |e, a| approx::cos::<F>(a, e.env)),
        Op::Ex2 => lane!([F: Format]; |e, a| approx::ex2::<F>(a, e.env)),
        Op::Lg2 => lane!([F: Format]; |e, a| approx::lg2::<F>(a, e.env)),
        Op::Tanh => lane!([F: Format]; |e, a| approx::tanh::<F>(a, e.env)),
        _ => return None,
    })
}

/// The forms with `.ftz` work only on the upper word.
fn approximate_f64(op: Op, ftz: bool) -> Option<LaneFn> {
    Some(match (op, ftz) {
        (Op::Rcp, _) => lane!(|_e, a| approx::rcp_upper_f64(a)),
        (Op::Rsqrt, true) => lane!(|_e, a| approx::rsqrt_upper_f64(a)),
        (Op::Rsqrt, false) => lane!(|e, a| approx::rsqrt_f64(a, e.env)),
        _ => return None,
    })
}
