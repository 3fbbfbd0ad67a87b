//! Comparisons, minimum and maximum.

use super::{flush, nan, order_key};
use crate::arith::compare::Relation;
use crate::arith::env::{Flags, FpEnv};
use crate::arith::format::Format;

/// The relation of `a` to `b`, quietly: only a signalling NaN is invalid (RISC-V `feq`, PTX
/// `setp`).
#[must_use]
pub fn compare<F: Format>(a: u64, b: u64, env: FpEnv) -> (Relation, Flags) {
    let signalling = F::is_signalling(a) || F::is_signalling(b);
    (relation::<F>(a, b, env), Flags::NV.when(signalling))
}

/// The relation of `a` to `b`; any NaN is invalid (RISC-V `flt`, `fle`).
#[must_use]
pub fn compare_signalling<F: Format>(a: u64, b: u64, env: FpEnv) -> (Relation, Flags) {
    (relation::<F>(a, b, env), Flags::NV.when(F::is_nan(a) || F::is_nan(b)))
}

#[inline]
fn relation<F: Format>(a: u64, b: u64, env: FpEnv) -> Relation {
    if F::is_nan(a) || F::is_nan(b) {
        return Relation::Unordered;
    }
    let (a, b) = (flush::<F>(a, env.ftz), flush::<F>(b, env.ftz));
    if F::is_zero(a) && F::is_zero(b) {
        return Relation::Equal;
    }
    order_key::<F>(a).cmp(&order_key::<F>(b)).into()
}

/// The rule of `min` and `max` for NaNs. In every rule minus zero is less than plus zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MinMax {
    /// A NaN loses against a number; two NaNs give the NaN of the environment. PTX `min`, RISC-V
    /// `fmin`, IEEE 754-2019 minimumNumber.
    #[default]
    Number,
    /// Any NaN gives the NaN of the environment. PTX `min.NaN`, RISC-V `fminm`, IEEE 754-2019
    /// minimum.
    Propagate,
}

/// The lesser of two numbers; a signalling NaN is invalid.
#[must_use]
pub fn min<F: Format>(a: u64, b: u64, rule: MinMax, env: FpEnv) -> (u64, Flags) {
    select::<F>(a, b, rule, env, |a, b| a <= b)
}

/// The greater of two numbers; a signalling NaN is invalid.
#[must_use]
pub fn max<F: Format>(a: u64, b: u64, rule: MinMax, env: FpEnv) -> (u64, Flags) {
    select::<F>(a, b, rule, env, |a, b| a >= b)
}

#[inline]
fn select<F: Format>(
    a: u64,
    b: u64,
    rule: MinMax,
    env: FpEnv,
    takes_first: impl Fn(i64, i64) -> bool,
) -> (u64, Flags) {
    let flags = Flags::NV.when(F::is_signalling(a) || F::is_signalling(b));
    let (fa, fb) = (flush::<F>(a, env.ftz), flush::<F>(b, env.ftz));
    let value = match (F::is_nan(a), F::is_nan(b), rule) {
        (true, true, _) | (true, _, MinMax::Propagate) | (_, true, MinMax::Propagate) => {
            nan::<F>(&[a, b], env).0
        }
        (true, false, MinMax::Number) => fb,
        (false, true, MinMax::Number) => fa,
        (false, false, _) => {
            if takes_first(order_key::<F>(fa), order_key::<F>(fb)) {
                fa
            } else {
                fb
            }
        }
    };
    (value, flags)
}
