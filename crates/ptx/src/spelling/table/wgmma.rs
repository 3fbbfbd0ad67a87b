//! Products of warp groups.
//!
//! [`ir::matrix::group_exists`] defines which columns go with which elements.

use super::Arg::Rest;
use super::sets::special;
use super::{Form, Special};
use crate::ast::Type::{self, B1, Bf16, E4m3, E5m2, F16, F32, S8, S32, Tf32, U8};
use crate::spelling::matrix::group_product;
use crate::spelling::{Kind, Spelled};

const SUMS: &[Type] = &[F16, F32];
const F8: &[Type] = &[E4m3, E5m2];
const I8: &[Type] = &[S8, U8];

/// Sizes of 64 rows, a depth, and every number of columns of floats.
macro_rules! by_columns {
    ($depth:literal) => {
        by_columns!(@ $depth: 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120 128 136 144 152 160
            168 176 184 192 200 208 216 224 232 240 248 256)
    };
    (integers $depth:literal) => {
        by_columns!(@ $depth: 8 16 24 32 48 64 80 96 112 128 144 160 176 192 208 224 240 256)
    };
    (@ $depth:literal: $($columns:literal)+) => {
        &[$(concat!("m64n", $columns, "k", $depth)),+]
    };
}

const MULTIPLY: &[Kind] = &[Kind::GroupAction, Kind::Sync, Kind::MatrixShape];
const MULTIPLY_SPARSE: &[Kind] = &[Kind::GroupAction, Kind::Sparse, Kind::Sync, Kind::MatrixShape];
const MULTIPLY_BITS: &[Kind] =
    &[Kind::GroupAction, Kind::Sync, Kind::MatrixShape, Kind::BitOp, Kind::Popc];

fn multiplies(s: &Spelled) -> bool {
    s.word(Kind::GroupAction) == Some("mma_async") && group_product(s).is_some()
}

fn multiplies_bits(s: &Spelled) -> bool {
    multiplies(s) && s.word(Kind::BitOp) == Some("and")
}

fn steers(s: &Spelled) -> bool {
    s.word(Kind::GroupAction) != Some("mma_async")
}

const fn multiply(shapes: &'static [&'static str], types: [&'static [Type]; 2]) -> Form {
    let [sums, factors] = types;
    special("wgmma", Special::Wgmma, &[Rest])
        .shapes(shapes)
        .ty(sums)
        .ty(factors)
        .ty(factors)
        .need(MULTIPLY)
        .opt(&[Kind::Aligned])
        .rule(multiplies, "`.mma_async`")
        .since(8, 0, 90)
}

const fn integers(shapes: &'static [&'static str]) -> Form {
    multiply(shapes, [&[S32], I8]).opt(&[Kind::Aligned, Kind::SatFinite])
}

/// The left factor is sparse.
const fn sparse(form: Form) -> Form {
    form.need(MULTIPLY_SPARSE).since(8, 2, 90)
}

pub(super) static ROWS: &[Form] = &[
    multiply(by_columns!(16), [SUMS, &[F16]]),
    multiply(by_columns!(16), [&[F32], &[Bf16]]),
    multiply(by_columns!(8), [&[F32], &[Tf32]]),
    multiply(by_columns!(32), [SUMS, F8]),
    integers(by_columns!(integers 32)),
    multiply(by_columns!(integers 256), [&[S32], &[B1]])
        .need(MULTIPLY_BITS)
        .rule(multiplies_bits, "`.mma_async` and `.and.popc`"),
    sparse(multiply(by_columns!(32), [SUMS, &[F16]])),
    sparse(multiply(by_columns!(32), [&[F32], &[Bf16]])),
    sparse(multiply(by_columns!(16), [&[F32], &[Tf32]])),
    sparse(multiply(by_columns!(64), [SUMS, F8])),
    sparse(integers(by_columns!(integers 64))),
    special("wgmma", Special::Wgmma, &[Rest])
        .need(&[Kind::GroupAction, Kind::Sync])
        .opt(&[Kind::Aligned])
        .rule(steers, "`.fence`, `.commit_group` or `.wait_group`")
        .since(8, 0, 90),
];
