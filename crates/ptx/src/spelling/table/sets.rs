//! Sets of types, and lists of operands that many forms have.

use ir::Op;

use super::Arg::{self, D, S};
use super::Val::{T, T2};
use super::{Form, Special, Target};
use crate::ast::Type::{self, *};

pub(super) const INT: &[Type] = &[U16, U32, U64, S16, S32, S64];
pub(super) const INT_16_32: &[Type] = &[U16, U32, S16, S32];
pub(super) const INT_32_64: &[Type] = &[U32, U64, S32, S64];
pub(super) const INT_PAIRS: &[Type] = &[U16x2, S16x2];
pub(super) const ONLY32: &[Type] = &[U32, S32];
pub(super) const SIGNED: &[Type] = &[S16, S32, S64];
pub(super) const ONLY_S32: &[Type] = &[S32];
pub(super) const BITS: &[Type] = &[B16, B32, B64];
pub(super) const BITS_PRED: &[Type] = &[Pred, B16, B32, B64];
pub(super) const BITS32: &[Type] = &[B32, B64];
pub(super) const ONLY_B32: &[Type] = &[B32];
pub(super) const ONLY_U32: &[Type] = &[U32];
pub(super) const ONLY_PRED: &[Type] = &[Pred];
pub(super) const PTR: &[Type] = &[U64, U32];
pub(super) const ONLY_F32: &[Type] = &[F32];
pub(super) const ONLY_F64: &[Type] = &[F64];
pub(super) const FLOAT: &[Type] = &[F32, F64];
pub(super) const HALF: &[Type] = &[F16, F16x2];
pub(super) const BHALF: &[Type] = &[Bf16, Bf16x2];
pub(super) const MOVABLE: &[Type] =
    &[Pred, B16, B32, B64, B128, U16, U32, U64, S16, S32, S64, F32, F64];
pub(super) const VECTORS: &[Type] = &[B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64];
pub(super) const MEMORY: &[Type] =
    &[B8, B16, B32, B64, B128, U8, U16, U32, U64, S8, S16, S32, S64, F32, F64];
pub(super) const SELECTABLE: &[Type] = &[B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64];
pub(super) const COMPARED: &[Type] = &[B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64];
pub(super) const HALF_SCALARS: &[Type] = &[F16, Bf16];
pub(super) const PAIRS: &[Type] = &[F16x2, Bf16x2];
pub(super) const INTEGERS: &[Type] = &[U8, U16, U32, U64, S8, S16, S32, S64];
pub(super) const FLOATS: &[Type] = &[F16, Bf16, F32, F64];
pub(super) const F8X2: &[Type] = &[E4m3x2, E5m2x2];
pub(super) const ATOMIC: &[Type] =
    &[B16, B32, B64, B128, U32, U64, S32, S64, F32, F64, F16, F16x2, Bf16, Bf16x2];

pub(super) const D_T: &[Arg] = &[D(T)];
pub(super) const DS1: &[Arg] = &[D(T), S(T)];
pub(super) const DS2: &[Arg] = &[D(T), S(T), S(T)];
pub(super) const DS3: &[Arg] = &[D(T), S(T), S(T), S(T)];
pub(super) const CVT1: &[Arg] = &[D(T), S(T2)];
pub(super) const CVT2: &[Arg] = &[D(T), S(T2), S(T2)];
pub(super) const MIXED2: &[Arg] = &[D(T), S(T2), S(T)];
pub(super) const MIXED3: &[Arg] = &[D(T), S(T2), S(T2), S(T)];

pub(super) const fn op(opcode: &'static str, op: Op, args: &'static [Arg]) -> Form {
    Form::new(opcode, Target::Op(op), args)
}

pub(super) const fn special(opcode: &'static str, special: Special, args: &'static [Arg]) -> Form {
    Form::new(opcode, Target::Special(special), args)
}
