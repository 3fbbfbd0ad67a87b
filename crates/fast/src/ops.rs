//! Operations that the fast engine computes itself. All others use the exact engine's functions.
//!
//! Each operation is one expression over bits, used for rows and scalars alike. Floating-point
//! operations round to nearest even without flushing subnormals, by the host's IEEE 754 operations;
//! a NaN result is PTX's canonical NaN.

mod rare;

pub use rare::Rare;
pub(crate) use rare::rare;

use crate::row::{Narrow, Wide};
use ir::mods::{BoolOp, Cmp, Flag, Rounding};
use ir::{Inst, Op, Ty};

macro_rules! operations {
    ($doc:literal $name:ident $row:ident $t:ty {
        $($op:ident |$a:ident, $b:ident, $c:ident| $e:expr;)*
    }) => {
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $(#[doc = stringify!($e)] $op),*
        }

        impl $name {
            /// Computes one lane.
            #[inline(always)]
            #[must_use]
            pub fn one(self, x: $t, y: $t, z: $t) -> $t {
                match self {
                    $(Self::$op => {
                        let ($a, $b, $c) = (x, y, z);
                        let _ = ($a, $b, $c);
                        $e
                    })*
                }
            }

            /// Computes all lanes.
            #[inline(always)]
            pub(crate) fn all(self, x: &$row, y: &$row, z: &$row) -> $row {
                match self {
                    $(Self::$op => $row::map3(x, y, z, #[inline(always)] |$a: $t, $b: $t, $c: $t| {
                        let _ = ($a, $b, $c);
                        $e
                    }),)*
                }
            }
        }
    };
}

pub(crate) use operations;

#[inline(always)]
fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

#[inline(always)]
fn d(bits: u64) -> f64 {
    f64::from_bits(bits)
}

#[inline(always)]
fn single(x: f32) -> u32 {
    if x.is_nan() { 0x7fff_ffff } else { x.to_bits() }
}

#[inline(always)]
fn double(x: f64) -> u64 {
    if x.is_nan() { 0x7fff_ffff_ffff_ffff } else { x.to_bits() }
}

operations! { "Operations on 32-bit values, as an expression over their bits." Op32 Narrow u32 {
    Mov |a, b, c| a;
    Add |a, b, c| a.wrapping_add(b);
    Sub |a, b, c| a.wrapping_sub(b);
    Mul |a, b, c| a.wrapping_mul(b);
    Mad |a, b, c| a.wrapping_mul(b).wrapping_add(c);
    MulHiU |a, b, c| ((u64::from(a) * u64::from(b)) >> 32) as u32;
    MulHiS |a, b, c| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32;
    And |a, b, c| a & b;
    Or |a, b, c| a | b;
    Xor |a, b, c| a ^ b;
    Not |a, b, c| !a;
    Neg |a, b, c| a.wrapping_neg();
    Shl |a, b, c| if b > 31 { 0 } else { a << (b & 31) };
    ShrU |a, b, c| if b > 31 { 0 } else { a >> (b & 31) };
    ShrS |a, b, c| ((a as i32) >> b.min(31)) as u32;
    MinU |a, b, c| a.min(b);
    MaxU |a, b, c| a.max(b);
    MinS |a, b, c| (a as i32).min(b as i32) as u32;
    MaxS |a, b, c| (a as i32).max(b as i32) as u32;
    AbsS |a, b, c| (a as i32).wrapping_abs() as u32;
    Popc |a, b, c| a.count_ones();
    Clz |a, b, c| a.leading_zeros();
    FAdd |a, b, c| single(f(a) + f(b));
    FSub |a, b, c| single(f(a) - f(b));
    FMul |a, b, c| single(f(a) * f(b));
    FFma |a, b, c| single(f(a).mul_add(f(b), f(c)));
    FDiv |a, b, c| single(f(a) / f(b));
    FRcp |a, b, c| single(1.0 / f(a));
    FSqrt |a, b, c| single(f(a).sqrt());
    FAbs |a, b, c| a & 0x7fff_ffff;
    FNeg |a, b, c| a ^ 0x8000_0000;
    FFromU |a, b, c| (a as f32).to_bits();
    FFromS |a, b, c| (a as i32 as f32).to_bits();
} }

operations! { "Operations on 64-bit values, as an expression over their bits." Op64 Wide u64 {
    Mov |a, b, c| a;
    Add |a, b, c| a.wrapping_add(b);
    Sub |a, b, c| a.wrapping_sub(b);
    Mul |a, b, c| a.wrapping_mul(b);
    Mad |a, b, c| a.wrapping_mul(b).wrapping_add(c);
    And |a, b, c| a & b;
    Or |a, b, c| a | b;
    Xor |a, b, c| a ^ b;
    Not |a, b, c| !a;
    Neg |a, b, c| a.wrapping_neg();
    // Shift amounts are 32-bit operands, zero-extended.
    Shl |a, b, c| if b > 63 { 0 } else { a << (b & 63) };
    ShrU |a, b, c| if b > 63 { 0 } else { a >> (b & 63) };
    ShrS |a, b, c| ((a as i64) >> b.min(63)) as u64;
    MinU |a, b, c| a.min(b);
    MaxU |a, b, c| a.max(b);
    MinS |a, b, c| (a as i64).min(b as i64) as u64;
    MaxS |a, b, c| (a as i64).max(b as i64) as u64;
    // Operands of these are 32-bit values, zero-extended.
    MulWideU |a, b, c| a.wrapping_mul(b);
    MulWideS |a, b, c| (i64::from(a as i32).wrapping_mul(i64::from(b as i32))) as u64;
    MadWideU |a, b, c| a.wrapping_mul(b).wrapping_add(c);
    MadWideS |a, b, c|
        (i64::from(a as i32).wrapping_mul(i64::from(b as i32)) as u64).wrapping_add(c);
    Zext32 |a, b, c| a & 0xffff_ffff;
    Sext32 |a, b, c| i64::from(a as i32) as u64;
    DAdd |a, b, c| double(d(a) + d(b));
    DSub |a, b, c| double(d(a) - d(b));
    DMul |a, b, c| double(d(a) * d(b));
    DFma |a, b, c| double(d(a).mul_add(d(b), d(c)));
    DDiv |a, b, c| double(d(a) / d(b));
} }

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// Unsigned integers.
    U(Rel),
    /// Signed integers.
    S(Rel),
    /// 32-bit floats.
    F(Cmp),
}

impl Test {
    /// Returns the comparison of integers of a relation, if it is one of integers. Some relations
    /// compare signed integers as unsigned ones.
    #[must_use]
    pub fn of_integers(cmp: Cmp, signed: bool) -> Option<Self> {
        let unsigned = matches!(cmp, Cmp::Lo | Cmp::Ls | Cmp::Hi | Cmp::Hs);
        let rel = match cmp {
            Cmp::Eq => Rel::Eq,
            Cmp::Ne => Rel::Ne,
            Cmp::Lt | Cmp::Lo => Rel::Lt,
            Cmp::Le | Cmp::Ls => Rel::Le,
            Cmp::Gt | Cmp::Hi => Rel::Gt,
            Cmp::Ge | Cmp::Hs => Rel::Ge,
            _ => return None,
        };
        Some(if signed && !unsigned { Self::S(rel) } else { Self::U(rel) })
    }
}

/// Relations of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rel {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

macro_rules! by_relation {
    ($rel:expr, $row:ident, $x:expr, $y:expr, |$a:ident, $b:ident| $left:expr, $right:expr) => {
        match $rel {
            Rel::Eq => $row::test(
                $x,
                $y,
                #[inline(always)]
                |$a, $b| $left == $right,
            ),
            Rel::Ne => $row::test(
                $x,
                $y,
                #[inline(always)]
                |$a, $b| $left != $right,
            ),
            Rel::Lt => $row::test(
                $x,
                $y,
                #[inline(always)]
                |$a, $b| $left < $right,
            ),
            Rel::Le => $row::test(
                $x,
                $y,
                #[inline(always)]
                |$a, $b| $left <= $right,
            ),
            Rel::Gt => $row::test(
                $x,
                $y,
                #[inline(always)]
                |$a, $b| $left > $right,
            ),
            Rel::Ge => $row::test(
                $x,
                $y,
                #[inline(always)]
                |$a, $b| $left >= $right,
            ),
        }
    };
}

/// Compares floats by an ordered relation; any other `cmp` tests that both are numbers.
#[inline(always)]
fn ordered(x: &Narrow, y: &Narrow, cmp: Cmp) -> u32 {
    match cmp {
        Cmp::Eq => Narrow::test(
            x,
            y,
            #[inline(always)]
            |a, b| f(a) == f(b),
        ),
        Cmp::Ne => Narrow::test(
            x,
            y,
            #[inline(always)]
            |a, b| (f(a) < f(b)) | (f(a) > f(b)),
        ),
        Cmp::Lt => Narrow::test(
            x,
            y,
            #[inline(always)]
            |a, b| f(a) < f(b),
        ),
        Cmp::Le => Narrow::test(
            x,
            y,
            #[inline(always)]
            |a, b| f(a) <= f(b),
        ),
        Cmp::Gt => Narrow::test(
            x,
            y,
            #[inline(always)]
            |a, b| f(a) > f(b),
        ),
        Cmp::Ge => Narrow::test(
            x,
            y,
            #[inline(always)]
            |a, b| f(a) >= f(b),
        ),
        _ => Narrow::test(
            x,
            y,
            #[inline(always)]
            |a, b| !f(a).is_nan() & !f(b).is_nan(),
        ),
    }
}

impl Test {
    #[inline(always)]
    pub(crate) fn narrow(self, x: &Narrow, y: &Narrow) -> u32 {
        match self {
            Self::U(rel) => by_relation!(rel, Narrow, x, y, |a, b| a, b),
            Self::S(rel) => by_relation!(rel, Narrow, x, y, |a, b| a as i32, b as i32),
            Self::F(cmp) => {
                // An unordered relation is the complement of the opposite ordered one.
                match cmp {
                    Cmp::Equ => !ordered(x, y, Cmp::Ne),
                    Cmp::Neu => !ordered(x, y, Cmp::Eq),
                    Cmp::Ltu => !ordered(x, y, Cmp::Ge),
                    Cmp::Leu => !ordered(x, y, Cmp::Gt),
                    Cmp::Gtu => !ordered(x, y, Cmp::Le),
                    Cmp::Geu => !ordered(x, y, Cmp::Lt),
                    Cmp::Nan => !ordered(x, y, Cmp::Num),
                    cmp => ordered(x, y, cmp),
                }
            }
        }
    }

    #[inline(always)]
    pub(crate) fn wide(self, x: &Wide, y: &Wide) -> u32 {
        match self {
            Self::U(rel) => by_relation!(rel, Wide, x, y, |a, b| a, b),
            Self::S(rel) => by_relation!(rel, Wide, x, y, |a, b| a as i64, b as i64),
            // `native` does not select 64-bit floats.
            Self::F(_) => 0,
        }
    }
}

/// An operation of this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Native {
    /// An operation on 32-bit values.
    Narrow(Op32),
    /// An operation on 64-bit values.
    Wide(Op64),
    /// A comparison of 32-bit or 64-bit values, combined with a predicate if there is a third
    /// operand.
    Test {
        /// The comparison.
        test: Test,
        /// Whether it compares 64-bit values.
        wide: bool,
        /// How its outcome is combined with the third operand.
        combine: Option<BoolOp>,
    },
    /// A selection by a predicate.
    Select {
        /// Whether the values have 64 bits.
        wide: bool,
    },
    /// Logic on predicates.
    Logic(Logic),
    /// The low half of a 64-bit value.
    Low,
}

/// Logic on predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logic {
    /// The first operand.
    Mov,
    /// Conjunction.
    And,
    /// Disjunction.
    Or,
    /// Exclusive or.
    Xor,
    /// The complement of the first operand.
    Not,
    /// The first operand and the complement of the second.
    AndNot,
}

impl Logic {
    #[inline(always)]
    pub(crate) fn of(self, a: u32, b: u32) -> u32 {
        match self {
            Self::Mov => a,
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::Not => !a,
            Self::AndNot => a & !b,
        }
    }
}

/// Returns the operation of an instruction, if this module has it.
pub(crate) fn native(inst: &Inst) -> Option<Native> {
    let ty = inst.ty?;
    let plain_float = inst.mods.flags == ir::mods::Flags::NONE
        && matches!(inst.mods.rounding, None | Some(Rounding::Rn))
        && inst.mods.precision.is_none();
    match (inst.op, ty) {
        (Op::Setp, _) if inst.results.len() == 1 => test(inst, ty),
        (Op::Selp, _) if ty != Ty::Pred && matches!(ty.bits(), 32 | 64) => {
            Some(Native::Select { wide: ty.bits() == 64 })
        }
        (_, Ty::Pred) => logic(inst.op).map(Native::Logic),
        (Op::Cvt, _) => convert(inst, ty, plain_float),
        (Op::MulWide | Op::MadWide, Ty::U32 | Ty::S32) => {
            Some(Native::Wide(match (inst.op, ty.is_signed()) {
                (Op::MulWide, false) => Op64::MulWideU,
                (Op::MulWide, true) => Op64::MulWideS,
                (_, false) => Op64::MadWideU,
                (_, true) => Op64::MadWideS,
            }))
        }
        (Op::Mov, _) if ty.bits() == 32 => Some(Native::Narrow(Op32::Mov)),
        (Op::Mov, _) if ty.bits() == 64 => Some(Native::Wide(Op64::Mov)),
        (_, Ty::F32) if plain_float => float32(inst.op).map(Native::Narrow),
        (_, Ty::F64) if plain_float => float64(inst.op).map(Native::Wide),
        (_, Ty::U32 | Ty::S32 | Ty::B32) if inst.mods.flags == ir::mods::Flags::NONE => {
            int32(inst, ty.is_signed()).map(Native::Narrow)
        }
        (_, Ty::U64 | Ty::S64 | Ty::B64) if inst.mods.flags == ir::mods::Flags::NONE => {
            int64(inst, ty.is_signed()).map(Native::Wide)
        }
        _ => None,
    }
}

fn int32(inst: &Inst, signed: bool) -> Option<Op32> {
    Some(match (inst.op, signed) {
        (Op::Add, _) => Op32::Add,
        (Op::Sub, _) => Op32::Sub,
        (Op::Mul, _) => Op32::Mul,
        (Op::Mad, _) => Op32::Mad,
        (Op::MulHi, false) => Op32::MulHiU,
        (Op::MulHi, true) => Op32::MulHiS,
        (Op::And, _) => Op32::And,
        (Op::Or, _) => Op32::Or,
        (Op::Xor, _) => Op32::Xor,
        (Op::Not, _) => Op32::Not,
        (Op::Neg, _) => Op32::Neg,
        (Op::Shl, _) => Op32::Shl,
        (Op::Shr, false) => Op32::ShrU,
        (Op::Shr, true) => Op32::ShrS,
        (Op::Min, false) if inst.operands.len() == 2 => Op32::MinU,
        (Op::Min, true) if inst.operands.len() == 2 => Op32::MinS,
        (Op::Max, false) if inst.operands.len() == 2 => Op32::MaxU,
        (Op::Max, true) if inst.operands.len() == 2 => Op32::MaxS,
        (Op::Abs, true) => Op32::AbsS,
        (Op::Popc, _) => Op32::Popc,
        (Op::Clz, _) => Op32::Clz,
        _ => return None,
    })
}

fn int64(inst: &Inst, signed: bool) -> Option<Op64> {
    Some(match (inst.op, signed) {
        (Op::Add, _) => Op64::Add,
        (Op::Sub, _) => Op64::Sub,
        (Op::Mul, _) => Op64::Mul,
        (Op::Mad, _) => Op64::Mad,
        (Op::And, _) => Op64::And,
        (Op::Or, _) => Op64::Or,
        (Op::Xor, _) => Op64::Xor,
        (Op::Not, _) => Op64::Not,
        (Op::Neg, _) => Op64::Neg,
        (Op::Shl, _) => Op64::Shl,
        (Op::Shr, false) => Op64::ShrU,
        (Op::Shr, true) => Op64::ShrS,
        (Op::Min, false) if inst.operands.len() == 2 => Op64::MinU,
        (Op::Min, true) if inst.operands.len() == 2 => Op64::MinS,
        (Op::Max, false) if inst.operands.len() == 2 => Op64::MaxU,
        (Op::Max, true) if inst.operands.len() == 2 => Op64::MaxS,
        // Global and constant addresses are generic addresses.
        (Op::CvtaTo | Op::CvtaFrom, _) if flat(inst) => Op64::Mov,
        _ => return None,
    })
}

fn flat(inst: &Inst) -> bool {
    use ir::mods::Space;
    matches!(inst.mods.space, Some(Space::Global | Space::Const))
}

fn float32(op: Op) -> Option<Op32> {
    Some(match op {
        Op::Add => Op32::FAdd,
        Op::Sub => Op32::FSub,
        Op::Mul => Op32::FMul,
        Op::Fma => Op32::FFma,
        Op::Div => Op32::FDiv,
        Op::Rcp => Op32::FRcp,
        Op::Sqrt => Op32::FSqrt,
        Op::Abs => Op32::FAbs,
        Op::Neg => Op32::FNeg,
        _ => return None,
    })
}

fn float64(op: Op) -> Option<Op64> {
    Some(match op {
        Op::Add => Op64::DAdd,
        Op::Sub => Op64::DSub,
        Op::Mul => Op64::DMul,
        Op::Fma => Op64::DFma,
        Op::Div => Op64::DDiv,
        _ => return None,
    })
}

fn logic(op: Op) -> Option<Logic> {
    Some(match op {
        Op::Mov => Logic::Mov,
        Op::And => Logic::And,
        Op::Or => Logic::Or,
        Op::Xor => Logic::Xor,
        Op::Not => Logic::Not,
        Op::AndNot => Logic::AndNot,
        _ => return None,
    })
}

fn test(inst: &Inst, ty: Ty) -> Option<Native> {
    let cmp = inst.mods.cmp?;
    let wide = match ty.bits() {
        32 => false,
        64 if !ty.is_float() => true,
        _ => return None,
    };
    let test = if ty == Ty::F32 {
        if inst.mods.flags.has(Flag::Ftz) {
            return None;
        }
        Test::F(cmp)
    } else if ty.is_float() {
        return None;
    } else {
        Test::of_integers(cmp, ty.is_signed())?
    };
    let combine = if inst.operands.len() > 2 { Some(inst.mods.bool_op?) } else { None };
    Some(Native::Test { test, wide, combine })
}

fn convert(inst: &Inst, to: Ty, plain: bool) -> Option<Native> {
    let from = inst.ty2?;
    if inst.mods.flags != ir::mods::Flags::NONE || inst.operands.len() != 1 {
        return None;
    }
    let int = |t: Ty| matches!(t, Ty::U32 | Ty::S32 | Ty::U64 | Ty::S64 | Ty::B32 | Ty::B64);
    Some(match (from, to) {
        (Ty::U32, Ty::F32) if plain => Native::Narrow(Op32::FFromU),
        (Ty::S32, Ty::F32) if plain => Native::Narrow(Op32::FFromS),
        _ if !int(from) || !int(to) => return None,
        _ => match (from.bits(), to.bits()) {
            (32, 32) => Native::Narrow(Op32::Mov),
            (64, 64) => Native::Wide(Op64::Mov),
            (64, _) => Native::Low,
            _ if from.is_signed() => Native::Wide(Op64::Sext32),
            _ => Native::Wide(Op64::Zext32),
        },
    })
}
