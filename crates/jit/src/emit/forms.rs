//! Properties of float operations that every level uses: which results can be NaNs, and which
//! operations on 32-bit floats have code for other roundings, `.ftz`, `.sat`, approximations and
//! conversions.

use fast::code::Src;
use fast::ops::{Op32, Op64};
use iced_x86::RoundingControl;
use ir::mods::{Flag, Precision, Rounding};
use ir::{Inst, Op as Operation, Ty};

/// PTX's canonical NaNs.
pub(super) const NAN32: u32 = 0x7fff_ffff;
pub(super) const NAN64: u64 = 0x7fff_ffff_ffff_ffff;

/// Returns whether a result can be a NaN, which must then be made canonical.
pub(super) fn makes_nan(op: Op32) -> bool {
    matches!(
        op,
        Op32::FAdd | Op32::FSub | Op32::FMul | Op32::FFma | Op32::FDiv | Op32::FRcp | Op32::FSqrt
    )
}

/// The same for 64-bit operations.
pub(super) fn makes_nan64(op: Op64) -> bool {
    matches!(op, Op64::DAdd | Op64::DSub | Op64::DMul | Op64::DFma | Op64::DDiv)
}

/// Returns whether an operand has no bit set above its low word.
pub(super) fn is_word(src: Src) -> bool {
    match src {
        Src::Narrow(_) => true,
        Src::Line(_, _, mask) => mask <= u64::from(u32::MAX),
        Src::Const(bits) => bits <= u64::from(u32::MAX),
        _ => false,
    }
}

/// A function of one operand that is computed in 64-bit floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Approx {
    Rsqrt,
    Ex2,
    Lg2,
    Sin,
    Cos,
    Tanh,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Add,
    Sub,
    Mul,
    Div,
    Fma,
    /// The reciprocal of the operand.
    Rcp,
    Sqrt,
    /// Division by the rule of `div.approx`.
    DivApprox,
    Approx(Approx),
    /// The operand itself.
    Same,
    /// The operand, rounded to an integral value.
    Integral,
    ToSigned,
    ToUnsigned,
}

/// An operation on 32-bit floats.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) what: What,
    pub(super) rounding: RoundingControl,
    pub(super) ftz: bool,
    pub(super) sat: bool,
}

impl Form {
    pub(super) fn of(inst: &Inst) -> Option<Self> {
        let flags = inst.mods.flags;
        let known = [Flag::Ftz, Flag::Sat];
        if Flag::ALL.iter().any(|&f| flags.has(f) && !known.contains(&f)) {
            return None;
        }
        let approximate = inst.mods.precision.is_some();
        let rounding = match inst.mods.rounding {
            None | Some(Rounding::Rn | Rounding::Rni) => RoundingControl::RoundToNearest,
            Some(Rounding::Rz | Rounding::Rzi) => RoundingControl::RoundTowardZero,
            Some(Rounding::Rm | Rounding::Rmi) => RoundingControl::RoundDown,
            Some(Rounding::Rp | Rounding::Rpi) => RoundingControl::RoundUp,
            Some(Rounding::Rna) => return None,
        };
        let what = match (inst.op, inst.ty?) {
            (Operation::Cvt, ty) => conversion(inst, ty)?,
            (Operation::Add, Ty::F32) => What::Add,
            (Operation::Sub, Ty::F32) => What::Sub,
            (Operation::Mul, Ty::F32) => What::Mul,
            (Operation::Fma, Ty::F32) => What::Fma,
            (Operation::Div, Ty::F32) if inst.mods.precision == Some(Precision::Approx) => {
                What::DivApprox
            }
            (Operation::Div, Ty::F32) => What::Div,
            // The approximate forms of these are correctly rounded.
            (Operation::Rcp, Ty::F32) => What::Rcp,
            (Operation::Sqrt, Ty::F32) => What::Sqrt,
            (Operation::Rsqrt, Ty::F32) => What::Approx(Approx::Rsqrt),
            (Operation::Ex2, Ty::F32) => What::Approx(Approx::Ex2),
            (Operation::Lg2, Ty::F32) => What::Approx(Approx::Lg2),
            (Operation::Sin, Ty::F32) => What::Approx(Approx::Sin),
            (Operation::Cos, Ty::F32) => What::Approx(Approx::Cos),
            (Operation::Tanh, Ty::F32) => What::Approx(Approx::Tanh),
            _ => return None,
        };
        let approximate = approximate || matches!(what, What::Approx(_));
        let rounding = if approximate { RoundingControl::RoundToNearest } else { rounding };
        Some(Self { what, rounding, ftz: flags.has(Flag::Ftz), sat: flags.has(Flag::Sat) })
    }

    /// Number of operands.
    pub(super) fn operands(&self) -> usize {
        match self.what {
            What::Fma => 3,
            What::Add | What::Sub | What::Mul | What::Div | What::DivApprox => 2,
            _ => 1,
        }
    }

    /// Whether the result is a float, and so can be a NaN.
    pub(super) fn is_float(&self) -> bool {
        !matches!(self.what, What::ToSigned | What::ToUnsigned)
    }
}

/// Returns the conversion of one 32-bit float.
fn conversion(inst: &Inst, to: Ty) -> Option<What> {
    if inst.ty2 != Some(Ty::F32) || inst.operands.len() != 1 {
        return None;
    }
    let integral = matches!(
        inst.mods.rounding,
        Some(Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi)
    );
    let plain = !inst.mods.flags.has(Flag::Sat);
    Some(match to {
        Ty::F32 if integral => What::Integral,
        Ty::F32 if inst.mods.rounding.is_none() => What::Same,
        Ty::S32 if integral && plain => What::ToSigned,
        Ty::U32 if integral && plain => What::ToUnsigned,
        _ => return None,
    })
}

/// Operands with a special logarithm, as (comparand, comparison predicate, result): equal to 0,
/// less than 0, infinite, NaN.
pub(super) const LOG2_SPECIALS: [(f64, i32, f64); 4] = [
    (0.0, 0x00, f64::NEG_INFINITY),
    (0.0, 0x11, f64::NAN),
    (f64::INFINITY, 0x00, f64::INFINITY),
    (0.0, 0x03, f64::NAN),
];
