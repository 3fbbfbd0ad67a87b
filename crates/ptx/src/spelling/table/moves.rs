//! Moves and conversions.

use ir::Op;

use super::Arg::{Any, D, S};
use super::Val::{P, PNot, T, T2};
use super::rules::{
    FTZ_TEXT, addressable, bounded_rounding, convertible, flushable, nearest, nearest_or_zero,
    saturable, vector_of_128,
};
use super::sets::{
    CVT1, CVT2, DS1, F8X2, FLOATS, HALF_SCALARS, INTEGERS, MOVABLE, ONLY_B32, ONLY_F32, ONLY_S32,
    PTR, SELECTABLE, VECTORS, op, special,
};
use super::{Form, Special, Val};
use crate::ast::Type::{Bf16x2, F16x2, S2, S4, S8, S16, Tf32, U2, U4, U8, U16};
use crate::spelling::Kind;

pub(super) static ROWS: &[Form] = &[
    special("mov", Special::Mov, &[Any, Any]).ty(MOVABLE),
    special("mov", Special::Mov, &[Any, Any])
        .ty(VECTORS)
        .need(&[Kind::Vector])
        .rule(vector_of_128, "`.v2` or `.v4`, and at most 128 bits"),
    op("selp", Op::Selp, &[D(T), S(T), S(T), S(PNot)]).ty(SELECTABLE),
    op("slct", Op::Slct, &[D(T), S(T), S(T), S(T2)]).ty(SELECTABLE).ty(ONLY_S32),
    op("slct", Op::Slct, &[D(T), S(T), S(T), S(T2)]).ty(SELECTABLE).ty(ONLY_F32).opt(&[Kind::Ftz]),
    // Integers to integers, floats to integers, integers to floats, floats to floats, floats to
    // packed formats.
    op("cvt", Op::Cvt, CVT1)
        .ty(INTEGERS)
        .ty(INTEGERS)
        .opt(&[Kind::Sat])
        .rule(saturable, "no `.sat`: the type holds every value"),
    op("cvt", Op::Cvt, CVT1)
        .ty(INTEGERS)
        .ty(FLOATS)
        .need(&[Kind::Integral])
        .opt(&[Kind::Ftz, Kind::Sat])
        .rule(flushable, FTZ_TEXT),
    op("cvt", Op::Cvt, CVT1)
        .ty(FLOATS)
        .ty(INTEGERS)
        .need(&[Kind::Rounding])
        .opt(&[Kind::Ftz, Kind::Sat])
        .rule(flushable, FTZ_TEXT),
    op("cvt", Op::Cvt, CVT1)
        .ty(FLOATS)
        .ty(FLOATS)
        .opt(&[Kind::Rounding, Kind::Integral, Kind::Ftz, Kind::Sat])
        .rule(convertible, "a rounding mode that goes with the types"),
    op("cvt", Op::Cvt, CVT1)
        .ty(HALF_SCALARS)
        .ty(ONLY_F32)
        .need(&[Kind::Rounding])
        .opt(&[Kind::Relu, Kind::SatFinite])
        .rule(bounded_rounding, "`.rn` or `.rz`")
        .since(7, 0, 80),
    op("cvt", Op::Cvt, CVT2)
        .ty(&[F16x2, Bf16x2])
        .ty(ONLY_F32)
        .need(&[Kind::Rounding])
        .opt(&[Kind::Relu, Kind::SatFinite])
        .rule(nearest_or_zero, "`.rn` or `.rz`")
        .since(7, 0, 80),
    op("cvt", Op::Cvt, CVT1)
        .ty(&[Tf32])
        .ty(ONLY_F32)
        .need(&[Kind::Away])
        .opt(&[Kind::SatFinite])
        .since(7, 0, 80),
    op("cvt", Op::Cvt, CVT1)
        .ty(&[Tf32])
        .ty(ONLY_F32)
        .need(&[Kind::Rounding])
        .opt(&[Kind::Relu, Kind::SatFinite])
        .rule(nearest_or_zero, "`.rn` or `.rz`")
        .since(7, 8, 90),
    op("cvt", Op::Cvt, CVT2)
        .ty(F8X2)
        .ty(ONLY_F32)
        .need(&[Kind::Rounding, Kind::SatFinite])
        .opt(&[Kind::Relu])
        .rule(nearest, "`.rn`")
        .since(8, 1, 89),
    op("cvt", Op::Cvt, CVT1)
        .ty(F8X2)
        .ty(&[F16x2])
        .need(&[Kind::Rounding, Kind::SatFinite])
        .opt(&[Kind::Relu])
        .rule(nearest, "`.rn`")
        .since(8, 1, 89),
    op("cvt", Op::Cvt, CVT1)
        .ty(&[F16x2])
        .ty(F8X2)
        .need(&[Kind::Rounding])
        .opt(&[Kind::Relu])
        .rule(nearest, "`.rn`")
        .since(8, 1, 89),
    op("cvt", Op::CvtPack, &[D(Val::B32), S(T2), S(T2)])
        .ty(&[U16, S16])
        .ty(ONLY_S32)
        .need(&[Kind::Pack, Kind::Sat])
        .since(6, 5, 72),
    op("cvt", Op::CvtPack, &[D(Val::B32), S(T2), S(T2), S(Val::B32)])
        .ty(&[U8, S8])
        .ty(ONLY_S32)
        .ty(ONLY_B32)
        .need(&[Kind::Pack, Kind::Sat])
        .since(6, 5, 72),
    op("cvt", Op::CvtPack, &[D(Val::B32), S(T2), S(T2), S(Val::B32)])
        .ty(&[U4, S4, U2, S2])
        .ty(ONLY_S32)
        .ty(ONLY_B32)
        .need(&[Kind::Pack, Kind::Sat])
        .since(6, 5, 75),
    op("cvta", Op::CvtaFrom, DS1)
        .ty(PTR)
        .need(&[Kind::To, Kind::Space])
        .rule(addressable, "a space that has generic addresses")
        .since(2, 0, 20),
    op("cvta", Op::CvtaTo, DS1)
        .ty(PTR)
        .need(&[Kind::Space])
        .rule(addressable, "a space that has generic addresses")
        .since(2, 0, 20),
    op("isspacep", Op::IsSpace, &[D(P), S(Val::B64)])
        .need(&[Kind::Space])
        .rule(addressable, "a space that has generic addresses")
        .reads(ir::Ty::U64)
        .since(2, 0, 20),
];
