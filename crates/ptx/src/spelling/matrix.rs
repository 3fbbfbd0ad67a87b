//! The modifiers of instructions on matrices, in the IR's terms.

use ir::Mods;
use ir::matrix::Instruction;
use ir::mods::{
    BoolOp, Flag, Flags, MatrixLayout, MatrixRole, MatrixShape, MatrixTypes, Rounding, TileFormat,
};
use simt::matrix::{Element, Fragment, GroupProduct, Role, Spread};

use super::{Kind, Spelled};
use crate::ast::Type;

fn shape(s: &Spelled) -> Option<MatrixShape> {
    MatrixShape::from_word(s.word(Kind::MatrixShape)?)
}

/// The types of D, A, B and C. `wmma.mma` of half precision names those of D and C alone.
fn types(s: &Spelled) -> Option<[ir::Ty; 4]> {
    let ty = |t: &Type| ir::Ty::from_name(t.word());
    match s.types.as_slice() {
        [d, a, b, c] => Some([ty(d)?, ty(a)?, ty(b)?, ty(c)?]),
        [d, c] => Some([ty(d)?, ir::Ty::F16, ir::Ty::F16, ty(c)?]),
        _ => None,
    }
}

/// The flags of `mma`, `mma.sp` or `wmma.mma`.
fn product_flags(s: &Spelled) -> Flags {
    let flags = [
        (s.has(Kind::SatFinite), Flag::SatFinite),
        (s.has(Kind::WmmaMma), Flag::Wmma),
        (s.has(Kind::Sparse) || s.has(Kind::SparseOrdered), Flag::Sparse),
        (s.has(Kind::SparseOrdered), Flag::Ordered),
    ];
    flags.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag).collect()
}

/// The modifiers of an `mma`, `mma.sp` or `wmma.mma`, if there is such a product.
pub(crate) fn matrix_mods(s: &Spelled) -> Option<Mods> {
    let (shape, types) = (shape(s)?, types(s)?);
    let flags = product_flags(s);
    let instruction = Instruction::of(flags);
    let wmma = instruction == Instruction::Wmma;
    let layouts = (s.word(Kind::LayoutA)?, s.word(Kind::LayoutB)?);
    let factor = types[1];
    // Only the first shape has fragments of matrices stored in more than one way; elements of less
    // than a byte are stored in one way.
    let quads = !wmma && shape == MatrixShape::M8n8k4 && factor == ir::Ty::F16;
    let narrow = factor.bits() < 8;
    let known = ir::matrix::exists(instruction, shape, types);
    if !known || !(quads || wmma && !narrow) && layouts != ("row", "col") {
        return None;
    }
    let layout = match layouts {
        ("row", "row") => MatrixLayout::RowRow,
        ("row", _) => MatrixLayout::RowCol,
        (_, "row") => MatrixLayout::ColRow,
        _ => MatrixLayout::ColCol,
    };
    Some(Mods {
        shape: Some(shape),
        elements: MatrixTypes::of(types),
        layout: quads.then_some(layout),
        bool_op: s.word(Kind::BitOp).and_then(BoolOp::from_word),
        rounding: s.word(Kind::Rounding).and_then(Rounding::from_word),
        flags,
        ..Mods::default()
    })
}

/// What a `wgmma.mma_async` multiplies, as far as its modifiers say, with the IR's modifiers.
pub(crate) fn group_product(s: &Spelled) -> Option<(Mods, GroupProduct)> {
    let [d, a, b] = s.types.as_slice() else { return None };
    let ty = |t: &Type| ir::Ty::from_name(t.word());
    let types = [ty(d)?, ty(a)?, ty(b)?, ty(d)?];
    let [_, columns, depth] = super::shape_of(s.word(Kind::MatrixShape)?)?;
    let flags = [(s.has(Kind::SatFinite), Flag::SatFinite), (s.has(Kind::Sparse), Flag::Sparse)];
    let mods = Mods {
        elements: MatrixTypes::of(types),
        flags: flags.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag).collect(),
        ..Mods::default()
    };
    let mut inst = ir::Inst::new(ir::Op::Wgmma);
    inst.mods = mods;
    let product = GroupProduct { columns: columns as usize, ..ir::matrix::group_product(&inst)? };
    let known = ir::matrix::group_exists(product.columns, types);
    (known && product.depth() == depth as usize).then_some((mods, product))
}

/// Returns the matrix that a `wmma.load` or `wmma.store` moves.
pub(super) fn role(s: &Spelled) -> MatrixRole {
    match s.word(Kind::Factor) {
        Some("a") => MatrixRole::A,
        Some(_) => MatrixRole::B,
        None => MatrixRole::C,
    }
}

/// The fragment that a `wmma.load` or `wmma.store` moves, with its modifiers, if there is such a
/// one.
pub(crate) fn fragment_mods(s: &Spelled) -> Option<(Mods, Fragment)> {
    let (shape, role, by_rows) = (shape(s)?, role(s), s.word(Kind::LayoutA)? == "row");
    let ty = ir::Ty::from_name(s.ty().word())?;
    let along = (role == MatrixRole::A) == by_rows;
    if !ir::matrix::has_fragment(shape, role, ty) || ty.bits() < 8 && !along {
        return None;
    }
    let mods = Mods {
        shape: Some(shape),
        role: (!s.has(Kind::Sum)).then_some(role),
        layout: Some(if by_rows { MatrixLayout::Row } else { MatrixLayout::Col }),
        ..Mods::default()
    };
    let of = match role {
        MatrixRole::A => Role::A,
        MatrixRole::B => Role::B,
        MatrixRole::C => Role::C,
    };
    let element = ir::matrix::element(ty)?;
    Some((mods, Fragment { role: of, shape: shape.sizes(), element, spread: Spread::Wmma }))
}

/// The fragment alone.
pub(crate) fn fragment(s: &Spelled) -> Option<Fragment> {
    fragment_mods(s).map(|(_, fragment)| fragment)
}

/// Returns the elements of the matrices that an `ldmatrix` or `stmatrix` moves, and how many
/// registers of a lane they take.
pub(crate) fn tiles(s: &Spelled) -> (Option<TileFormat>, usize) {
    let matrices = match s.word(Kind::MatrixCount) {
        Some("x2") => 2,
        Some("x4") => 4,
        _ => 1,
    };
    let format = match s.word(Kind::Packed) {
        Some("b6x16_p32") => Some(TileFormat::Bits6),
        Some(_) => Some(TileFormat::Bits4),
        None => (s.ty() == Type::B8).then_some(TileFormat::Bits8),
    };
    let each = if s.word(Kind::MatrixShape) == Some("m16n16") { 2 } else { 1 };
    (format, matrices * each)
}

/// The type of registers that hold elements.
pub(crate) fn register_type(element: Element) -> Type {
    match element {
        Element::F64 => Type::F64,
        Element::F32 => Type::F32,
        Element::S32 => Type::S32,
        _ => Type::B32,
    }
}
