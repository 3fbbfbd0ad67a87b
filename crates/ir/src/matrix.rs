//! Matrix products: which sizes go with which elements, and how many registers the fragments of an
//! instruction have.
//!
//! One table, [`KINDS`], says what products there are; the verifier and the PTX front end read it.
//! Where elements are in registers is [`simt::matrix`]'s.

use crate::mods::{
    BoolOp, Flag, Flags, MatrixLayout, MatrixRole, MatrixShape, MatrixTypes, Mods, Rounding,
    TileFormat,
};
use crate::module::{Inst, Operand};
use crate::op::Op;
use crate::ty::Ty;
use simt::matrix::{
    A_REGISTERS, BitOp, Element, Fragment, GroupProduct, IndexOrder, LANES, Major, Product, Role,
    Shape, Spread, TileElement, Tiles,
};

/// The instructions that multiply matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// `mma`.
    Mma,
    /// `mma.sp`: the left factor is sparse.
    MmaSp,
    /// `wmma`.
    Wmma,
}

impl Instruction {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Mma, Self::MmaSp, Self::Wmma];

    /// What the flags of an `mma` say.
    #[must_use]
    pub const fn of(flags: Flags) -> Self {
        match (flags.has(Flag::Wmma), flags.has(Flag::Sparse)) {
            (true, _) => Self::Wmma,
            (_, true) => Self::MmaSp,
            _ => Self::Mma,
        }
    }
}

/// Products of the same sizes.
#[derive(Clone, Copy, Debug)]
pub struct MatrixKind {
    /// The instruction that has them.
    pub instruction: Instruction,
    /// What its factors are: any two of these.
    pub factors: &'static [Ty],
    /// What its sums and addends are: any two of these, or the same of one of them if factors are
    /// not of half precision.
    pub sums: &'static [Ty],
    /// Sizes.
    pub shapes: &'static [MatrixShape],
}

const HALF: &[Ty] = &[Ty::F16];
const SUMS: &[Ty] = &[Ty::F16, Ty::F32];
const F8: &[Ty] = &[Ty::E4m3, Ty::E5m2];
const I8: &[Ty] = &[Ty::S8, Ty::U8];
const I4: &[Ty] = &[Ty::S4, Ty::U4];
const SINGLE: &[Ty] = &[Ty::F32];
const DOUBLE: &[Ty] = &[Ty::F64];
const WORD: &[Ty] = &[Ty::S32];

const fn kind(
    instruction: Instruction,
    factors: &'static [Ty],
    sums: &'static [Ty],
    shapes: &'static [MatrixShape],
) -> MatrixKind {
    MatrixKind { instruction, factors, sums, shapes }
}

/// All products.
pub static KINDS: &[MatrixKind] = {
    use Instruction::*;
    use MatrixShape::*;
    const FLAT: &[MatrixShape] = &[M16n16k16, M8n32k16, M32n8k16];
    &[
        kind(Mma, HALF, SUMS, &[M8n8k4, M16n8k8, M16n8k16]),
        kind(Mma, &[Ty::Bf16], SINGLE, &[M16n8k8, M16n8k16]),
        kind(Mma, &[Ty::Tf32], SINGLE, &[M16n8k4, M16n8k8]),
        kind(Mma, DOUBLE, DOUBLE, &[M8n8k4, M16n8k4, M16n8k8, M16n8k16]),
        kind(Mma, F8, SUMS, &[M16n8k16, M16n8k32]),
        kind(Mma, I8, WORD, &[M8n8k16, M16n8k16, M16n8k32]),
        kind(Mma, I4, WORD, &[M8n8k32, M16n8k32, M16n8k64]),
        kind(Mma, &[Ty::B1], WORD, &[M8n8k128, M16n8k128, M16n8k256]),
        kind(MmaSp, HALF, SUMS, &[M16n8k16, M16n8k32]),
        kind(MmaSp, &[Ty::Bf16], SINGLE, &[M16n8k16, M16n8k32]),
        kind(MmaSp, &[Ty::Tf32], SINGLE, &[M16n8k8, M16n8k16]),
        kind(MmaSp, F8, SINGLE, &[M16n8k64]),
        kind(MmaSp, I8, WORD, &[M16n8k32, M16n8k64]),
        kind(MmaSp, I4, WORD, &[M16n8k64, M16n8k128]),
        kind(Wmma, HALF, SUMS, FLAT),
        kind(Wmma, &[Ty::Bf16], SINGLE, FLAT),
        kind(Wmma, &[Ty::Tf32], SINGLE, &[M16n16k8]),
        kind(Wmma, DOUBLE, DOUBLE, &[M8n8k4]),
        kind(Wmma, &[Ty::S8], WORD, FLAT),
        kind(Wmma, &[Ty::U8], WORD, FLAT),
        kind(Wmma, &[Ty::S4], WORD, &[M8n8k32]),
        kind(Wmma, &[Ty::U4], WORD, &[M8n8k32]),
        kind(Wmma, &[Ty::B1], WORD, &[M8n8k128]),
    ]
};

impl MatrixKind {
    /// Whether elements of D, A, B and C are of this kind.
    #[must_use]
    pub fn has(&self, shape: MatrixShape, [d, a, b, c]: [Ty; 4]) -> bool {
        let factors = self.factors.contains(&a) && self.factors.contains(&b);
        let sums = self.sums.contains(&d) && self.sums.contains(&c);
        // Eight-bit floats and `mma` beyond the first shape add what they give.
        let wmma = self.instruction == Instruction::Wmma;
        let alike = d == c || a == Ty::F16 && (wmma || shape == MatrixShape::M8n8k4);
        // The first shape gives half precision of half precision alone.
        let narrows = d == Ty::F16 && c == Ty::F32 && !wmma;
        self.shapes.contains(&shape) && factors && sums && alike && !narrows
    }
}

/// Whether there is such a product.
#[must_use]
pub fn exists(instruction: Instruction, shape: MatrixShape, elements: [Ty; 4]) -> bool {
    KINDS.iter().any(|k| k.instruction == instruction && k.has(shape, elements))
}

/// Whether `wmma` has a fragment of such elements.
#[must_use]
pub fn has_fragment(shape: MatrixShape, role: MatrixRole, element: Ty) -> bool {
    let wmma = |k: &&MatrixKind| k.instruction == Instruction::Wmma && k.shapes.contains(&shape);
    KINDS.iter().filter(wmma).any(|k| match role {
        MatrixRole::A | MatrixRole::B => k.factors.contains(&element),
        MatrixRole::C => k.sums.contains(&element),
    })
}

impl MatrixShape {
    /// Its sizes.
    #[must_use]
    pub fn sizes(self) -> Shape {
        // Every word reads so; see the test.
        Shape::parse(self.word()).unwrap_or(Shape { m: 8, n: 8, k: 4 })
    }
}

impl MatrixTypes {
    /// What the elements of D, A, B and C are.
    #[must_use]
    pub fn types(self) -> [Ty; 4] {
        let mut out = [Ty::F32; 4];
        for (ty, word) in out.iter_mut().zip(self.word().split('_')) {
            *ty = Ty::from_name(word).unwrap_or(Ty::F32);
        }
        out
    }

    /// The elements of D, A, B and C.
    #[must_use]
    pub fn of(types: [Ty; 4]) -> Option<Self> {
        Self::ALL.iter().copied().find(|e| e.types() == types)
    }
}

/// An element of a type, if matrices have such.
#[must_use]
pub fn element(ty: Ty) -> Option<Element> {
    Some(match ty {
        Ty::F16 => Element::F16,
        Ty::Bf16 => Element::Bf16,
        Ty::Tf32 => Element::Tf32,
        Ty::F32 => Element::F32,
        Ty::F64 => Element::F64,
        Ty::E4m3 => Element::E4m3,
        Ty::E5m2 => Element::E5m2,
        Ty::S8 => Element::S8,
        Ty::U8 => Element::U8,
        Ty::S4 => Element::S4,
        Ty::U4 => Element::U4,
        Ty::B1 => Element::B1,
        Ty::S32 => Element::S32,
        _ => return None,
    })
}

/// The type of registers that hold elements.
#[must_use]
pub fn register_ty(element: Element) -> Ty {
    if element.register_bits() == 64 { Ty::B64 } else { Ty::B32 }
}

/// What an `mma` multiplies.
#[must_use]
pub fn product(mods: &Mods) -> Option<Product> {
    let types = mods.elements?.types();
    let mut elements = [Element::F32; 4];
    for (to, ty) in elements.iter_mut().zip(types) {
        *to = element(ty)?;
    }
    let columns = match mods.layout {
        Some(MatrixLayout::ColCol) => [true, true],
        Some(MatrixLayout::ColRow) => [true, false],
        Some(MatrixLayout::RowCol) => [false, true],
        _ => [false, false],
    };
    let rounding = match mods.rounding {
        Some(Rounding::Rz) => simt::arith::Rounding::TowardZero,
        Some(Rounding::Rm) => simt::arith::Rounding::TowardNegative,
        Some(Rounding::Rp) => simt::arith::Rounding::TowardPositive,
        _ => simt::arith::Rounding::NearestEven,
    };
    Some(Product {
        shape: mods.shape?.sizes(),
        elements,
        spread: if mods.flags.has(Flag::Wmma) { Spread::Wmma } else { Spread::Mma },
        columns,
        bits: if mods.bool_op == Some(BoolOp::And) { BitOp::And } else { BitOp::Xor },
        saturate: mods.flags.has(Flag::SatFinite),
        rounding,
        sparse: match (mods.flags.has(Flag::Sparse), mods.flags.has(Flag::Ordered)) {
            (false, _) => None,
            (true, false) => Some(IndexOrder::Any),
            (true, true) => Some(IndexOrder::Increasing),
        },
    })
}

/// What a `wgmma` or `wgmmareg` multiplies: the number of columns follows from that of registers.
#[must_use]
pub fn group_product(inst: &Inst) -> Option<GroupProduct> {
    let [sum, left, right, _] = inst.mods.elements?.types();
    let elements = [element(sum)?, element(left)?, element(right)?];
    let flags = inst.mods.flags;
    let major = |across| if flags.has(across) { Major::Across } else { Major::Depth };
    Some(GroupProduct {
        // 64 rows, in 128 threads.
        columns: inst.results.len() * 2 * (32 / elements[0].bits()),
        elements,
        sparse: flags.has(Flag::Sparse),
        negated: [flags.has(Flag::NegA), flags.has(Flag::NegB)],
        major: [major(Flag::TransA), major(Flag::TransB)],
        saturate: flags.has(Flag::SatFinite),
    })
}

/// Whether a warp group has a product of so many columns and elements of D, A, B and C.
#[must_use]
pub fn group_exists(columns: usize, [d, a, b, c]: [Ty; 4]) -> bool {
    let floats = match a {
        Ty::F16 => b == a && matches!(d, Ty::F16 | Ty::F32),
        Ty::Bf16 | Ty::Tf32 => b == a && d == Ty::F32,
        Ty::E4m3 | Ty::E5m2 => F8.contains(&b) && matches!(d, Ty::F16 | Ty::F32),
        _ => false,
    };
    let bits = a == Ty::B1 && b == a;
    let integers = d == Ty::S32 && (bits || I8.contains(&a) && I8.contains(&b));
    // Beyond 32 columns, integers come in steps of 16.
    let step = if integers && columns > 32 { 16 } else { 8 };
    let whole = (8..=256).contains(&columns) && columns.is_multiple_of(step);
    c == d && (floats || integers) && whole
}

/// The fragment that a `wmmald` or `wmmast` moves.
#[must_use]
pub fn fragment(inst: &Inst) -> Option<Fragment> {
    let role = match inst.mods.role {
        Some(MatrixRole::A) => Role::A,
        Some(MatrixRole::B) => Role::B,
        _ => Role::C,
    };
    let shape = inst.mods.shape?.sizes();
    Some(Fragment { role, shape, element: element(inst.ty2?)?, spread: Spread::Wmma })
}

/// The matrices that an `ldmatrix` or `stmatrix` moves, if its modifiers and registers go together.
#[must_use]
pub fn tiles(inst: &Inst) -> Option<Tiles> {
    let stored = inst.op == Op::StMatrix;
    let registers = if stored { inst.operands.len().checked_sub(1)? } else { inst.results.len() };
    let element = match inst.mods.tile {
        None => TileElement::Bits16,
        Some(TileFormat::Bits8) => TileElement::Bits8,
        Some(TileFormat::Bits6) => TileElement::Bits6,
        Some(TileFormat::Bits4) => TileElement::Bits4,
    };
    let transposed = inst.mods.flags.has(Flag::Trans);
    let one = Tiles { matrices: 1, element, transposed, stored };
    let matrices = registers / one.registers();
    let tiles = Tiles { matrices, ..one };
    let exists = match element {
        TileElement::Bits16 => true,
        // Bytes need no other form where they are not transposed: pairs of them are 16 bits.
        TileElement::Bits8 => transposed,
        TileElement::Bits6 | TileElement::Bits4 => !stored,
    };
    let few = matches!(matrices, 1 | 2 | 4) && tiles.lines() <= LANES;
    (exists && few && tiles.registers() == registers).then_some(tiles)
}

/// A modifier of `mma` that does not go with its elements.
pub(crate) fn ill_typed_word(mods: &Mods) -> Option<&'static str> {
    let [sum, factor, ..] = mods.elements?.types();
    if let Some(rounding) = mods.rounding.filter(|_| sum != Ty::F64) {
        return Some(rounding.word());
    }
    if let Some(op) = mods.bool_op.filter(|&op| factor != Ty::B1 || op == BoolOp::Or) {
        return Some(op.word());
    }
    let saturates = sum == Ty::S32 && factor != Ty::B1;
    (mods.flags.has(Flag::SatFinite) && !saturates).then_some(Flag::SatFinite.word())
}

/// What does not add up in an instruction on matrices.
pub(crate) fn parts(inst: &Inst) -> Option<&'static str> {
    let (results, operands) = (inst.results.len(), inst.operands.len());
    let says = |holds: bool, why: &'static str| (!holds).then_some(why);
    match inst.op {
        Op::LdMatrix | Op::StMatrix => says(
            tiles(inst).is_some(),
            "no number of matrices of such elements has these registers",
        ),
        Op::WmmaLoad | Op::WmmaStore => {
            let role = inst.mods.role.unwrap_or(MatrixRole::C);
            let (shape, ty) = (inst.mods.shape?, inst.ty2?);
            if !has_fragment(shape, role, ty) {
                return Some("there is no such fragment");
            }
            let fragment = fragment(inst)?;
            let one_layout =
                matches!(inst.mods.layout, Some(MatrixLayout::Row | MatrixLayout::Col));
            if !one_layout {
                return Some("a fragment is stored by rows or by columns");
            }
            // Elements below a byte are loaded whole registers at a time.
            let along = (role == MatrixRole::A) == (inst.mods.layout == Some(MatrixLayout::Row));
            if fragment.element.bits() < 8 && !along {
                return Some("elements of less than a byte are stored along the depth");
            }
            let count = if inst.op == Op::WmmaLoad { results } else { operands.saturating_sub(2) };
            let fits =
                count == fragment.registers() && inst.ty == Some(register_ty(fragment.element));
            says(fits, "these are not the registers of the fragment")
        }
        Op::Wgmma | Op::WgmmaReg => wgmma_parts(inst),
        _ => mma_parts(inst),
    }
}

fn wgmma_parts(inst: &Inst) -> Option<&'static str> {
    let types = inst.mods.elements?.types();
    let product = group_product(inst)?;
    if !group_exists(product.columns, types) {
        return Some("there is no product of a warp group of these elements and registers");
    }
    let flags = inst.mods.flags;
    let (integer, wide) = (product.elements[1].is_integer(), product.elements[1].bits() == 16);
    if integer && (flags.has(Flag::NegA) || flags.has(Flag::NegB)) {
        return Some("integers and bits are not negated");
    }
    if !wide && (flags.has(Flag::TransA) || flags.has(Flag::TransB)) {
        return Some("only matrices of 16-bit elements are transposed");
    }
    if flags.has(Flag::SatFinite) && (!integer || types[1] == Ty::B1) {
        return Some("only sums of integers saturate");
    }
    if product.sparse && types[1] == Ty::B1 {
        return Some("matrices of bits are not sparse");
    }
    let fixed = if inst.op == Op::Wgmma { 3 } else { 2 + A_REGISTERS };
    let sparse = if product.sparse { 2 } else { 0 };
    if inst.operands.len() != fixed + product.registers() + sparse {
        return Some("these are not the registers of the matrices");
    }
    let selectors = product.metadata()?.selectors() as u128;
    let selects = matches!(inst.operands.last(), Some(Operand::Imm(by)) if *by < selectors);
    (!selects).then_some("the sparsity selector is a constant below the number of selectors")
}

fn mma_parts(inst: &Inst) -> Option<&'static str> {
    let (shape, elements) = (inst.mods.shape?, inst.mods.elements?);
    let product = product(&inst.mods)?;
    let flags = inst.mods.flags;
    if !exists(Instruction::of(flags), shape, elements.types()) {
        return Some("there is no product of these sizes and elements");
    }
    let sparse = flags.has(Flag::Sparse);
    if sparse && flags.has(Flag::Wmma) || flags.has(Flag::Ordered) && !sparse {
        return Some("`ordered` goes with `sp`, and neither with `wmma`");
    }
    let quads = matches!(product.a().spread, Spread::Quads { .. });
    let pair = !matches!(inst.mods.layout, None | Some(MatrixLayout::Row | MatrixLayout::Col));
    if quads != pair || !quads && inst.mods.layout.is_some() {
        return Some("two layouts go with `m8n8k4` of f16 alone");
    }
    let bits = elements.types()[1] == Ty::B1;
    if bits != inst.mods.bool_op.is_some() {
        return Some("bits are combined by `and` or `xor`");
    }
    let fits = inst.results.len() == product.d().registers()
        && inst.operands.len() == product.operands()
        && inst.ty == Some(register_ty(product.elements[0]));
    if !fits {
        return Some("these are not the registers of the fragments");
    }
    let selectors = product.metadata()?.selectors() as u128;
    let selects = matches!(inst.operands.last(), Some(Operand::Imm(by)) if *by < selectors);
    (!selects).then_some("the sparsity selector is a constant below the number of selectors")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_as_what_they_are() {
        for shape in MatrixShape::ALL {
            let sizes = Shape::parse(shape.word());
            assert!(sizes.is_some(), "{}", shape.word());
            assert_eq!(
                format!("m{}n{}k{}", shape.sizes().m, shape.sizes().n, shape.sizes().k),
                shape.word()
            );
        }
        for elements in MatrixTypes::ALL {
            let words = elements.types().map(Ty::name).join("_");
            assert_eq!(words, elements.word());
            assert_eq!(MatrixTypes::of(elements.types()), Some(*elements));
            assert!(elements.types().iter().all(|&ty| element(ty).is_some()));
        }
    }

    #[test]
    fn every_shape_and_every_type_occurs_in_a_product() {
        let mut products = 0;
        for elements in MatrixTypes::ALL {
            for shape in MatrixShape::ALL {
                let known = Instruction::ALL.map(|i| exists(i, *shape, elements.types()));
                products += known.iter().filter(|k| **k).count();
            }
            let any = |shape: &MatrixShape| {
                Instruction::ALL.iter().any(|&i| exists(i, *shape, elements.types()))
            };
            assert!(MatrixShape::ALL.iter().any(any), "{}", elements.word());
        }
        assert_eq!(products, 112);
    }
}
