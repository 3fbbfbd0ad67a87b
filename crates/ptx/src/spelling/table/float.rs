//! Floating point and comparison.

use ir::Op;
use ir::mods::Kind as IrKind;

use super::Arg::{D, Dp, S};
use super::Form;
use super::Val::{P, PNot, T, T2};
use super::rules::{CMP_TEXT, comparable, one_bound, xorsign};
use super::sets::{
    BHALF, COMPARED, DS1, DS2, DS3, FLOAT, HALF, HALF_SCALARS, MIXED2, MIXED3, ONLY_F32, ONLY_F64,
    PAIRS, op,
};
use crate::ast::Type::{
    B16, B32, B64, Bf16, Bf16x2, F16, F16x2, F32, F32x2, F64, S16, S32, S64, U16, U32, U64,
};
use crate::spelling::Kind;

pub(super) static ROWS: &[Form] = &[
    // Floating point.
    op("add", Op::Add, DS2).ty(ONLY_F32).opt(&[Kind::Rounding, Kind::Ftz, Kind::Sat]),
    op("add", Op::Add, DS2).ty(ONLY_F64).opt(&[Kind::Rounding]),
    op("add", Op::Add, DS2).ty(HALF).opt(&[Kind::Nearest, Kind::Ftz, Kind::Sat]).since(4, 2, 53),
    op("add", Op::Add, DS2).ty(BHALF).opt(&[Kind::Nearest]).since(7, 8, 90),
    op("add", Op::Add, DS2).ty(&[F32x2]).opt(&[Kind::Rounding, Kind::Ftz]).since(8, 6, 100),
    op("add", Op::Add, MIXED2)
        .ty(ONLY_F32)
        .ty(HALF_SCALARS)
        .opt(&[Kind::Rounding, Kind::Sat])
        .since(8, 6, 100),
    op("sub", Op::Sub, DS2).ty(ONLY_F32).opt(&[Kind::Rounding, Kind::Ftz, Kind::Sat]),
    op("sub", Op::Sub, DS2).ty(ONLY_F64).opt(&[Kind::Rounding]),
    op("sub", Op::Sub, DS2).ty(HALF).opt(&[Kind::Nearest, Kind::Ftz, Kind::Sat]).since(4, 2, 53),
    op("sub", Op::Sub, DS2).ty(BHALF).opt(&[Kind::Nearest]).since(7, 8, 90),
    op("sub", Op::Sub, DS2).ty(&[F32x2]).opt(&[Kind::Rounding, Kind::Ftz]).since(8, 6, 100),
    op("sub", Op::Sub, MIXED2)
        .ty(ONLY_F32)
        .ty(HALF_SCALARS)
        .opt(&[Kind::Rounding, Kind::Sat])
        .since(8, 6, 100),
    op("mul", Op::Mul, DS2).ty(ONLY_F32).opt(&[Kind::Rounding, Kind::Ftz, Kind::Sat]),
    op("mul", Op::Mul, DS2).ty(ONLY_F64).opt(&[Kind::Rounding]),
    op("mul", Op::Mul, DS2).ty(HALF).opt(&[Kind::Nearest, Kind::Ftz, Kind::Sat]).since(4, 2, 53),
    op("mul", Op::Mul, DS2).ty(BHALF).opt(&[Kind::Nearest]).since(7, 8, 90),
    op("mul", Op::Mul, DS2).ty(&[F32x2]).opt(&[Kind::Rounding, Kind::Ftz]).since(8, 6, 100),
    op("fma", Op::Fma, DS3).ty(&[F32x2]).need(&[Kind::Rounding]).opt(&[Kind::Ftz]).since(8, 6, 100),
    op("fma", Op::Fma, DS3)
        .ty(ONLY_F32)
        .need(&[Kind::Rounding])
        .opt(&[Kind::Ftz, Kind::Sat])
        .since(2, 0, 20),
    op("fma", Op::Fma, MIXED3)
        .ty(ONLY_F32)
        .ty(HALF_SCALARS)
        .need(&[Kind::Rounding])
        .opt(&[Kind::Sat])
        .since(8, 6, 100),
    op("fma", Op::Fma, DS3).ty(ONLY_F64).need(&[Kind::Rounding]),
    op("fma", Op::Fma, DS3)
        .ty(HALF)
        .need(&[Kind::Nearest])
        .opt(&[Kind::Ftz, Kind::Sat, Kind::Relu])
        .rule(one_bound, "`.sat` or `.relu`, not both")
        .since(4, 2, 53),
    op("fma", Op::Fma, DS3).ty(BHALF).need(&[Kind::Rounding]).opt(&[Kind::Relu]).since(7, 0, 80),
    op("mad", Op::Fma, DS3).ty(ONLY_F32).need(&[Kind::Rounding]).opt(&[Kind::Ftz, Kind::Sat]),
    op("mad", Op::Fma, DS3).ty(ONLY_F64).need(&[Kind::Rounding]),
    op("div", Op::Div, DS2).ty(ONLY_F32).need(&[Kind::Approx]).opt(&[Kind::Ftz]),
    op("div", Op::Div, DS2).ty(ONLY_F32).need(&[Kind::Full]).opt(&[Kind::Ftz]),
    op("div", Op::Div, DS2).ty(ONLY_F32).need(&[Kind::Rounding]).opt(&[Kind::Ftz]).since(2, 0, 20),
    op("div", Op::Div, DS2).ty(ONLY_F64).need(&[Kind::Rounding]),
    op("abs", Op::Abs, DS1).ty(ONLY_F32).opt(&[Kind::Ftz]),
    op("abs", Op::Abs, DS1).ty(ONLY_F64),
    op("abs", Op::Abs, DS1).ty(HALF).opt(&[Kind::Ftz]).since(6, 5, 53),
    op("abs", Op::Abs, DS1).ty(BHALF).since(7, 0, 80),
    op("neg", Op::Neg, DS1).ty(ONLY_F32).opt(&[Kind::Ftz]),
    op("neg", Op::Neg, DS1).ty(ONLY_F64),
    op("neg", Op::Neg, DS1).ty(HALF).opt(&[Kind::Ftz]).since(6, 0, 53),
    op("neg", Op::Neg, DS1).ty(BHALF).since(7, 0, 80),
    op("min", Op::Min, DS2)
        .ty(ONLY_F32)
        .opt(&[Kind::Ftz, Kind::Nan, Kind::XorSign, Kind::Abs])
        .rule(xorsign, "`.xorsign.abs`, both words"),
    op("min", Op::Min, DS3).ty(ONLY_F32).opt(&[Kind::Ftz, Kind::Nan]).since(8, 8, 100),
    op("min", Op::Min, DS2).ty(ONLY_F64),
    op("min", Op::Min, DS2)
        .ty(HALF)
        .opt(&[Kind::Ftz, Kind::Nan, Kind::XorSign, Kind::Abs])
        .rule(xorsign, "`.xorsign.abs`, both words")
        .since(7, 0, 80),
    op("min", Op::Min, DS2)
        .ty(BHALF)
        .opt(&[Kind::Nan, Kind::XorSign, Kind::Abs])
        .rule(xorsign, "`.xorsign.abs`, both words")
        .since(7, 0, 80),
    op("max", Op::Max, DS2)
        .ty(ONLY_F32)
        .opt(&[Kind::Ftz, Kind::Nan, Kind::XorSign, Kind::Abs])
        .rule(xorsign, "`.xorsign.abs`, both words"),
    op("max", Op::Max, DS3).ty(ONLY_F32).opt(&[Kind::Ftz, Kind::Nan]).since(8, 8, 100),
    op("max", Op::Max, DS2).ty(ONLY_F64),
    op("max", Op::Max, DS2)
        .ty(HALF)
        .opt(&[Kind::Ftz, Kind::Nan, Kind::XorSign, Kind::Abs])
        .rule(xorsign, "`.xorsign.abs`, both words")
        .since(7, 0, 80),
    op("max", Op::Max, DS2)
        .ty(BHALF)
        .opt(&[Kind::Nan, Kind::XorSign, Kind::Abs])
        .rule(xorsign, "`.xorsign.abs`, both words")
        .since(7, 0, 80),
    op("rcp", Op::Rcp, DS1).ty(ONLY_F32).need(&[Kind::Approx]).opt(&[Kind::Ftz]),
    op("rcp", Op::Rcp, DS1).ty(ONLY_F64).need(&[Kind::Approx, Kind::Ftz]),
    op("rcp", Op::Rcp, DS1).ty(ONLY_F32).need(&[Kind::Rounding]).opt(&[Kind::Ftz]).since(2, 0, 20),
    op("rcp", Op::Rcp, DS1).ty(ONLY_F64).need(&[Kind::Rounding]),
    op("sqrt", Op::Sqrt, DS1).ty(ONLY_F32).need(&[Kind::Approx]).opt(&[Kind::Ftz]),
    op("sqrt", Op::Sqrt, DS1)
        .ty(ONLY_F32)
        .need(&[Kind::Rounding])
        .opt(&[Kind::Ftz])
        .since(2, 0, 20),
    op("sqrt", Op::Sqrt, DS1).ty(ONLY_F64).need(&[Kind::Rounding]),
    op("rsqrt", Op::Rsqrt, DS1).ty(FLOAT).need(&[Kind::Approx]).opt(&[Kind::Ftz]),
    op("sin", Op::Sin, DS1).ty(ONLY_F32).need(&[Kind::Approx]).opt(&[Kind::Ftz]),
    op("cos", Op::Cos, DS1).ty(ONLY_F32).need(&[Kind::Approx]).opt(&[Kind::Ftz]),
    op("lg2", Op::Lg2, DS1).ty(ONLY_F32).need(&[Kind::Approx]).opt(&[Kind::Ftz]),
    op("ex2", Op::Ex2, DS1).ty(ONLY_F32).need(&[Kind::Approx]).opt(&[Kind::Ftz]),
    op("ex2", Op::Ex2, DS1).ty(HALF).need(&[Kind::Approx]).since(7, 0, 75),
    op("ex2", Op::Ex2, DS1).ty(BHALF).need(&[Kind::Approx, Kind::Ftz]).since(7, 8, 90),
    op("tanh", Op::Tanh, DS1).ty(&[F32, F16, F16x2]).need(&[Kind::Approx]).since(7, 0, 75),
    op("tanh", Op::Tanh, DS1).ty(BHALF).need(&[Kind::Approx]).since(7, 8, 90),
    op("copysign", Op::Copysign, DS2).ty(FLOAT).since(2, 0, 20),
    op("testp", Op::Testp, &[D(P), S(T)])
        .ty(FLOAT)
        .need(&[Kind::Ir(IrKind::TestP)])
        .since(2, 0, 20),
    // Comparison.
    op("setp", Op::Setp, &[Dp(P), S(T), S(T)])
        .ty(COMPARED)
        .need(&[Kind::Cmp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("setp", Op::Setp, &[Dp(P), S(T), S(T), S(PNot)])
        .ty(COMPARED)
        .need(&[Kind::Cmp, Kind::Ir(IrKind::BoolOp)])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("setp", Op::Setp, &[D(P), S(T), S(T)])
        .ty(HALF_SCALARS)
        .need(&[Kind::Cmp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT)
        .since(4, 2, 53),
    op("setp", Op::Setp, &[D(P), S(T), S(T), S(PNot)])
        .ty(HALF_SCALARS)
        .need(&[Kind::Cmp, Kind::Ir(IrKind::BoolOp)])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT)
        .since(4, 2, 53),
    op("setp", Op::Setp, &[Dp(P), S(T), S(T)])
        .ty(PAIRS)
        .need(&[Kind::Cmp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT)
        .since(4, 2, 53),
    op("setp", Op::Setp, &[Dp(P), S(T), S(T), S(PNot)])
        .ty(PAIRS)
        .need(&[Kind::Cmp, Kind::Ir(IrKind::BoolOp)])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT)
        .since(4, 2, 53),
    op("set", Op::Set, &[D(T), S(T2), S(T2)])
        .ty(&[U32, S32, F32])
        .ty(&[B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64])
        .need(&[Kind::Cmp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("set", Op::Set, &[D(T), S(T2), S(T2), S(PNot)])
        .ty(&[U32, S32, F32])
        .ty(&[B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64])
        .need(&[Kind::Cmp, Kind::Ir(IrKind::BoolOp)])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("set", Op::Set, &[D(T), S(T2), S(T2)])
        .ty(&[U16, S16, U32, S32, F16, Bf16])
        .ty(&[F16])
        .need(&[Kind::Cmp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("set", Op::Set, &[D(T), S(T2), S(T2), S(PNot)])
        .ty(&[U16, S16, U32, S32, F16, Bf16])
        .ty(&[F16])
        .need(&[Kind::Cmp, Kind::Ir(IrKind::BoolOp)])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("set", Op::Set, &[D(T), S(T2), S(T2)])
        .ty(&[U16, S16, U32, S32, Bf16])
        .ty(&[Bf16])
        .need(&[Kind::Cmp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("set", Op::Set, &[D(T), S(T2), S(T2), S(PNot)])
        .ty(&[U16, S16, U32, S32, Bf16])
        .ty(&[Bf16])
        .need(&[Kind::Cmp, Kind::Ir(IrKind::BoolOp)])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("set", Op::Set, &[D(T), S(T2), S(T2)])
        .ty(&[F16x2, U32, S32])
        .ty(&[F16x2])
        .need(&[Kind::Cmp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT)
        .since(4, 2, 53),
    op("set", Op::Set, &[D(T), S(T2), S(T2), S(PNot)])
        .ty(&[F16x2, U32, S32])
        .ty(&[F16x2])
        .need(&[Kind::Cmp, Kind::Ir(IrKind::BoolOp)])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT)
        .since(4, 2, 53),
    op("set", Op::Set, &[D(T), S(T2), S(T2)])
        .ty(&[Bf16x2, U32, S32])
        .ty(&[Bf16x2])
        .need(&[Kind::Cmp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT)
        .since(4, 2, 53),
    op("set", Op::Set, &[D(T), S(T2), S(T2), S(PNot)])
        .ty(&[Bf16x2, U32, S32])
        .ty(&[Bf16x2])
        .need(&[Kind::Cmp, Kind::Ir(IrKind::BoolOp)])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT)
        .since(4, 2, 53),
    op("set", Op::Set, &[D(T), S(T2), S(T2)])
        .ty(HALF_SCALARS)
        .ty(COMPARED)
        .need(&[Kind::Cmp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT)
        .since(4, 2, 53),
    op("set", Op::Set, &[D(T), S(T2), S(T2), S(PNot)])
        .ty(HALF_SCALARS)
        .ty(COMPARED)
        .need(&[Kind::Cmp, Kind::Ir(IrKind::BoolOp)])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT)
        .since(4, 2, 53),
];
