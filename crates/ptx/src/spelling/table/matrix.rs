//! Matrices: products, and loads and stores of fragments.
//!
//! [`ir::matrix::KINDS`] defines which sizes go with which elements; rows here group them by the
//! version that introduced them.

use ir::Op;

use super::Arg::{D, Rest, S};
use super::sets::{op, special};
use super::{Form, Special, Val};
use crate::ast::Type::{
    self, B1, B8, B16, Bf16, E4m3, E5m2, F16, F32, F64, S4, S8, S32, Tf32, U4, U8,
};
use crate::spelling::matrix::{fragment, matrix_mods};
use crate::spelling::{Kind, Spelled};

const SUMS: &[Type] = &[F16, F32];
const F8: &[Type] = &[E4m3, E5m2];
const I8: &[Type] = &[S8, U8];
const I4: &[Type] = &[S4, U4];
const MMA: &[Kind] = &[Kind::Sync, Kind::Aligned, Kind::MatrixShape, Kind::LayoutA, Kind::LayoutB];
const MMA_SP: &[Kind] =
    &[Kind::Sparse, Kind::Sync, Kind::Aligned, Kind::MatrixShape, Kind::LayoutA, Kind::LayoutB];
const MMA_SP_ORDERED: &[Kind] = &[
    Kind::SparseOrdered,
    Kind::Sync,
    Kind::Aligned,
    Kind::MatrixShape,
    Kind::LayoutA,
    Kind::LayoutB,
];
const MMA_BITS: &[Kind] = &[
    Kind::Sync,
    Kind::Aligned,
    Kind::MatrixShape,
    Kind::LayoutA,
    Kind::LayoutB,
    Kind::BitOp,
    Kind::Popc,
];
const WMMA: &[Kind] =
    &[Kind::WmmaMma, Kind::Sync, Kind::Aligned, Kind::MatrixShape, Kind::LayoutA, Kind::LayoutB];
const WMMA_BITS: &[Kind] = &[
    Kind::WmmaMma,
    Kind::Sync,
    Kind::Aligned,
    Kind::MatrixShape,
    Kind::LayoutA,
    Kind::LayoutB,
    Kind::BitOp,
    Kind::Popc,
];
const WMMA_FACTOR: &[Kind] =
    &[Kind::WmmaLoad, Kind::Factor, Kind::Sync, Kind::Aligned, Kind::MatrixShape, Kind::LayoutA];
const WMMA_ADDEND: &[Kind] =
    &[Kind::WmmaLoad, Kind::Addend, Kind::Sync, Kind::Aligned, Kind::MatrixShape, Kind::LayoutA];
const WMMA_STORE: &[Kind] =
    &[Kind::WmmaStore, Kind::Sum, Kind::Sync, Kind::Aligned, Kind::MatrixShape, Kind::LayoutA];
const TILES: &[Kind] = &[Kind::Sync, Kind::Aligned, Kind::MatrixShape, Kind::MatrixCount];
const TILES_TURNED: &[Kind] =
    &[Kind::Sync, Kind::Aligned, Kind::MatrixShape, Kind::MatrixCount, Kind::Trans];
const TILES_UNPACKED: &[Kind] = &[
    Kind::Sync,
    Kind::Aligned,
    Kind::MatrixShape,
    Kind::MatrixCount,
    Kind::Unpacked,
    Kind::Packed,
];
const TILES_TURNED_UNPACKED: &[Kind] = &[
    Kind::Sync,
    Kind::Aligned,
    Kind::MatrixShape,
    Kind::MatrixCount,
    Kind::Trans,
    Kind::Unpacked,
    Kind::Packed,
];
const FLAT: &[&str] = &["m16n16k16", "m8n32k16", "m32n8k16"];
const BIT_SHAPES: &[&str] = &["m8n8k128", "m16n8k128", "m16n8k256"];

const PRODUCT: &str =
    "elements that go together, and `.row.col` except for `.m8n8k4` of `.f16` and for `wmma`";
const SPARSE: &str = "elements that go together, and `.row.col`";
const FRAGMENT: &str = "a matrix of such elements; of less than a byte, `.a` by `.row` and `.b` by `.col`; `.shared` or `.global`";
const SHARED: &str = "`.shared`, or no space";
const TWO: &str = "`.x1` or `.x2`";

fn exists(s: &Spelled) -> bool {
    matrix_mods(s).is_some()
}

fn xor(s: &Spelled) -> bool {
    exists(s) && s.word(Kind::BitOp) == Some("xor")
}

fn and(s: &Spelled) -> bool {
    exists(s) && s.word(Kind::BitOp) == Some("and")
}

fn movable(s: &Spelled) -> bool {
    let reachable = matches!(s.word(Kind::Space), None | Some("shared" | "shared::cta" | "global"));
    reachable && fragment(s).is_some()
}

fn shared(s: &Spelled) -> bool {
    matches!(s.word(Kind::Space), None | Some("shared" | "shared::cta"))
}

fn two(s: &Spelled) -> bool {
    s.word(Kind::MatrixCount) != Some("x4")
}

const fn mma(shapes: &'static [&'static str], types: [&'static [Type]; 3]) -> Form {
    let [sums, factors, addends] = types;
    special("mma", Special::Mma, &[Rest])
        .shapes(shapes)
        .ty(sums)
        .ty(factors)
        .ty(factors)
        .ty(addends)
        .need(MMA)
        .rule(exists, PRODUCT)
}

/// `mma.sp`: the left factor is sparse.
const fn mma_sp(shapes: &'static [&'static str], types: [&'static [Type]; 3]) -> Form {
    mma(shapes, types).need(MMA_SP).rule(exists, SPARSE).since(7, 1, 80)
}

/// `mma.sp::ordered_metadata`.
const fn mma_sp_ordered(shapes: &'static [&'static str], types: [&'static [Type]; 3]) -> Form {
    mma_sp(shapes, types).need(MMA_SP_ORDERED).since(8, 5, 80)
}

const fn wmma(
    shapes: &'static [&'static str],
    sums: &'static [Type],
    factors: &'static [Type],
) -> Form {
    special("wmma", Special::Mma, &[Rest])
        .shapes(shapes)
        .ty(sums)
        .ty(factors)
        .ty(factors)
        .ty(sums)
        .need(WMMA)
        .rule(exists, PRODUCT)
}

const fn load(
    needs: &'static [Kind],
    shapes: &'static [&'static str],
    types: &'static [Type],
) -> Form {
    special("wmma", Special::WmmaLoad, &[Rest])
        .shapes(shapes)
        .ty(types)
        .need(needs)
        .opt(&[Kind::Space])
        .rule(movable, FRAGMENT)
}

const fn store(shapes: &'static [&'static str], types: &'static [Type]) -> Form {
    special("wmma", Special::WmmaStore, &[Rest])
        .shapes(shapes)
        .ty(types)
        .need(WMMA_STORE)
        .opt(&[Kind::Space])
        .rule(movable, FRAGMENT)
}

pub(super) static ROWS: &[Form] = &[
    mma(&["m8n8k4"], [SUMS, &[F16], SUMS]).since(6, 4, 70),
    mma(&["m16n8k8"], [SUMS, &[F16], SUMS]).since(6, 5, 75),
    mma(&["m16n8k16"], [SUMS, &[F16], SUMS]).since(7, 0, 80),
    mma(&["m16n8k8", "m16n8k16"], [&[F32], &[Bf16], &[F32]]).since(7, 0, 80),
    mma(&["m16n8k4", "m16n8k8"], [&[F32], &[Tf32], &[F32]]).since(7, 0, 80),
    mma(&["m8n8k4"], [&[F64], &[F64], &[F64]]).opt(&[Kind::Rounding]).since(7, 0, 80),
    mma(&["m16n8k4", "m16n8k8", "m16n8k16"], [&[F64], &[F64], &[F64]])
        .opt(&[Kind::Rounding])
        .since(7, 8, 90),
    mma(&["m16n8k32"], [&[F32], F8, &[F32]]).since(8, 4, 89),
    mma(&["m16n8k16"], [&[F32], F8, &[F32]]).since(8, 7, 89),
    mma(&["m16n8k16", "m16n8k32"], [&[F16], F8, &[F16]]).since(8, 7, 89),
    mma(&["m8n8k16"], [&[S32], I8, &[S32]]).opt(&[Kind::SatFinite]).since(6, 5, 75),
    mma(&["m16n8k16", "m16n8k32"], [&[S32], I8, &[S32]]).opt(&[Kind::SatFinite]).since(7, 0, 80),
    mma(&["m8n8k32"], [&[S32], I4, &[S32]]).opt(&[Kind::SatFinite]).since(6, 5, 75),
    mma(&["m16n8k32", "m16n8k64"], [&[S32], I4, &[S32]]).opt(&[Kind::SatFinite]).since(7, 0, 80),
    mma(&["m8n8k128"], [&[S32], &[B1], &[S32]]).need(MMA_BITS).rule(xor, "`.xor`").since(7, 0, 75),
    mma(&["m16n8k128", "m16n8k256"], [&[S32], &[B1], &[S32]])
        .need(MMA_BITS)
        .rule(xor, "`.xor`")
        .since(7, 0, 80),
    mma(BIT_SHAPES, [&[S32], &[B1], &[S32]]).need(MMA_BITS).rule(and, "`.and`").since(7, 1, 80),
    mma_sp(&["m16n8k16", "m16n8k32"], [SUMS, &[F16], SUMS]),
    mma_sp(&["m16n8k16", "m16n8k32"], [&[F32], &[Bf16], &[F32]]),
    mma_sp(&["m16n8k8", "m16n8k16"], [&[F32], &[Tf32], &[F32]]),
    mma_sp(&["m16n8k64"], [&[F32], F8, &[F32]]).since(8, 4, 89),
    mma_sp(&["m16n8k32", "m16n8k64"], [&[S32], I8, &[S32]]).opt(&[Kind::SatFinite]),
    mma_sp(&["m16n8k64", "m16n8k128"], [&[S32], I4, &[S32]]).opt(&[Kind::SatFinite]),
    mma_sp_ordered(&["m16n8k16", "m16n8k32"], [SUMS, &[F16], SUMS]),
    mma_sp_ordered(&["m16n8k16", "m16n8k32"], [&[F32], &[Bf16], &[F32]]),
    mma_sp_ordered(&["m16n8k8", "m16n8k16"], [&[F32], &[Tf32], &[F32]]),
    mma_sp_ordered(&["m16n8k64"], [&[F32], F8, &[F32]]).since(8, 5, 89),
    mma_sp_ordered(&["m16n8k32", "m16n8k64"], [&[S32], I8, &[S32]]).opt(&[Kind::SatFinite]),
    mma_sp_ordered(&["m16n8k64", "m16n8k128"], [&[S32], I4, &[S32]]).opt(&[Kind::SatFinite]),
    special("ldmatrix", Special::LdMatrix, &[Rest])
        .shapes(&["m8n8"])
        .ty(&[B16])
        .need(TILES)
        .opt(&[Kind::Trans, Kind::Space])
        .rule(shared, SHARED)
        .since(6, 5, 75),
    special("ldmatrix", Special::LdMatrix, &[Rest])
        .shapes(&["m16n16"])
        .ty(&[B8])
        .need(TILES_TURNED)
        .opt(&[Kind::Space])
        .rule(shared, SHARED)
        .then_rule(two, TWO)
        .since(8, 6, 100),
    special("ldmatrix", Special::LdMatrix, &[Rest])
        .shapes(&["m16n16"])
        .need(TILES_TURNED_UNPACKED)
        .opt(&[Kind::Space])
        .rule(shared, SHARED)
        .then_rule(two, TWO)
        .since(8, 6, 100),
    special("ldmatrix", Special::LdMatrix, &[Rest])
        .shapes(&["m8n16"])
        .need(TILES_UNPACKED)
        .opt(&[Kind::Space])
        .rule(shared, SHARED)
        .since(8, 6, 100),
    special("stmatrix", Special::StMatrix, &[Rest])
        .shapes(&["m8n8"])
        .ty(&[B16])
        .need(TILES)
        .opt(&[Kind::Trans, Kind::Space])
        .rule(shared, SHARED)
        .since(7, 8, 90),
    special("stmatrix", Special::StMatrix, &[Rest])
        .shapes(&["m16n8"])
        .ty(&[B8])
        .need(TILES_TURNED)
        .opt(&[Kind::Space])
        .rule(shared, SHARED)
        .since(8, 6, 100),
    op("movmatrix", Op::MovMatrix, &[D(Val::B32), S(Val::B32)])
        .shapes(&["m8n8"])
        .ty(&[B16])
        .need(&[Kind::Sync, Kind::Aligned, Kind::MatrixShape, Kind::Trans])
        .since(7, 8, 75),
    // For half precision, the types of the factors are not written.
    special("wmma", Special::Mma, &[Rest])
        .shapes(FLAT)
        .ty(SUMS)
        .ty(SUMS)
        .need(WMMA)
        .rule(exists, PRODUCT)
        .since(6, 0, 70),
    wmma(FLAT, &[F32], &[Bf16]).since(7, 0, 80),
    wmma(&["m16n16k8"], &[F32], &[Tf32]).since(7, 0, 80),
    wmma(&["m8n8k4"], &[F64], &[F64]).opt(&[Kind::Rounding]).since(7, 0, 80),
    wmma(FLAT, &[S32], I8).opt(&[Kind::SatFinite]).since(6, 3, 72),
    wmma(&["m8n8k32"], &[S32], I4).opt(&[Kind::SatFinite]).since(6, 3, 75),
    wmma(&["m8n8k128"], &[S32], &[B1]).need(WMMA_BITS).rule(xor, "`.xor`").since(6, 3, 75),
    wmma(&["m8n8k128"], &[S32], &[B1]).need(WMMA_BITS).rule(and, "`.and`").since(7, 1, 80),
    load(WMMA_FACTOR, FLAT, &[F16]).since(6, 0, 70),
    load(WMMA_FACTOR, FLAT, I8).since(6, 3, 72),
    load(WMMA_FACTOR, FLAT, &[Bf16]).since(7, 0, 80),
    load(WMMA_FACTOR, &["m16n16k8"], &[Tf32]).since(7, 0, 80),
    load(WMMA_FACTOR, &["m8n8k4"], &[F64]).since(7, 0, 80),
    load(WMMA_FACTOR, &["m8n8k32"], I4).since(6, 3, 75),
    load(WMMA_FACTOR, &["m8n8k128"], &[B1]).since(6, 3, 75),
    load(WMMA_ADDEND, FLAT, SUMS).since(6, 0, 70),
    load(WMMA_ADDEND, FLAT, &[S32]).since(6, 3, 72),
    load(WMMA_ADDEND, &["m16n16k8"], &[F32]).since(7, 0, 80),
    load(WMMA_ADDEND, &["m8n8k4"], &[F64]).since(7, 0, 80),
    load(WMMA_ADDEND, &["m8n8k32", "m8n8k128"], &[S32]).since(6, 3, 75),
    store(FLAT, SUMS).since(6, 0, 70),
    store(FLAT, &[S32]).since(6, 3, 72),
    store(&["m16n16k8"], &[F32]).since(7, 0, 80),
    store(&["m8n8k4"], &[F64]).since(7, 0, 80),
    store(&["m8n8k32", "m8n8k128"], &[S32]).since(6, 3, 75),
];
