//! Types: what registers hold, and how operations read them.
//!
//! A register holds bits of a [`RegTy`]; an operation reads them as a [`Ty`]. Nothing is converted
//! by being read.

use std::fmt;

/// How an operation reads or writes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Ty {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    Bf16,
    F16x2,
    Bf16x2,
    F32,
    F64,
    F32x2,
    U16x2,
    S16x2,
    Tf32,
    E4m3,
    E5m2,
    E4m3x2,
    E5m2x2,
    U4,
    S4,
    U2,
    S2,
    B1,
    Mask,
}

/// All types with their spellings.
const TYPES: [(Ty, &str, u32); 34] = [
    (Ty::Pred, "pred", 1),
    (Ty::B8, "b8", 8),
    (Ty::B16, "b16", 16),
    (Ty::B32, "b32", 32),
    (Ty::B64, "b64", 64),
    (Ty::B128, "b128", 128),
    (Ty::U8, "u8", 8),
    (Ty::U16, "u16", 16),
    (Ty::U32, "u32", 32),
    (Ty::U64, "u64", 64),
    (Ty::S8, "s8", 8),
    (Ty::S16, "s16", 16),
    (Ty::S32, "s32", 32),
    (Ty::S64, "s64", 64),
    (Ty::F16, "f16", 16),
    (Ty::Bf16, "bf16", 16),
    (Ty::F16x2, "f16x2", 32),
    (Ty::Bf16x2, "bf16x2", 32),
    (Ty::F32, "f32", 32),
    (Ty::F64, "f64", 64),
    (Ty::F32x2, "f32x2", 64),
    (Ty::U16x2, "u16x2", 32),
    (Ty::S16x2, "s16x2", 32),
    (Ty::Tf32, "tf32", 32),
    (Ty::E4m3, "e4m3", 8),
    (Ty::E5m2, "e5m2", 8),
    (Ty::E4m3x2, "e4m3x2", 16),
    (Ty::E5m2x2, "e5m2x2", 16),
    (Ty::U4, "u4", 4),
    (Ty::S4, "s4", 4),
    (Ty::U2, "u2", 2),
    (Ty::S2, "s2", 2),
    (Ty::B1, "b1", 1),
    (Ty::Mask, "mask", 64),
];

impl Ty {
    /// All types.
    pub fn all() -> impl Iterator<Item = Self> {
        TYPES.iter().map(|t| t.0)
    }

    /// Width in bits. A mask's is that of one mask word.
    #[must_use]
    pub fn bits(self) -> u32 {
        TYPES[self as usize].2
    }

    /// Width in bytes in memory; a predicate takes one.
    #[must_use]
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Its spelling in the text form, which is PTX's without the dot.
    #[must_use]
    pub fn name(self) -> &'static str {
        TYPES[self as usize].1
    }

    /// The type of a spelling.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        TYPES.iter().find(|t| t.1 == name).map(|t| t.0)
    }

    /// Whether it is read as a signed integer.
    #[must_use]
    pub fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// Whether it is read as floating point, packed pairs included.
    #[must_use]
    pub fn is_float(self) -> bool {
        FLOAT.or(PAIR).has(self)
    }

    /// The register type that holds it exactly.
    #[must_use]
    pub fn reg(self) -> RegTy {
        match (self, self.bits()) {
            (Self::Mask, _) => RegTy::Mask,
            (Self::Pred, _) => RegTy::Pred,
            (_, 1 | 2 | 4 | 8) => RegTy::B8,
            (_, 16) => RegTy::B16,
            (_, 32) => RegTy::B32,
            (_, 64) => RegTy::B64,
            _ => RegTy::B128,
        }
    }

    /// The integer or bit type of twice the width, for widening multiplication.
    #[must_use]
    pub fn widened(self) -> Option<Self> {
        Some(match self {
            Self::U8 => Self::U16,
            Self::U16 => Self::U32,
            Self::U32 => Self::U64,
            Self::S8 => Self::S16,
            Self::S16 => Self::S32,
            Self::S32 => Self::S64,
            _ => return None,
        })
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RegTy {
    /// One bit a lane.
    Pred,
    /// 8 bits.
    B8,
    /// 16 bits.
    B16,
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
    /// 128 bits.
    B128,
    /// A set of lanes; in the warp file only.
    Mask,
}

impl RegTy {
    /// Width in bits.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::Pred => 1,
            Self::B8 => 8,
            Self::B16 => 16,
            Self::B32 => 32,
            Self::B64 | Self::Mask => 64,
            Self::B128 => 128,
        }
    }

    /// The untyped [`Ty`] of the same width.
    #[must_use]
    pub fn ty(self) -> Ty {
        match self {
            Self::Pred => Ty::Pred,
            Self::B8 => Ty::B8,
            Self::B16 => Ty::B16,
            Self::B32 => Ty::B32,
            Self::B64 => Ty::B64,
            Self::B128 => Ty::B128,
            Self::Mask => Ty::Mask,
        }
    }
}

impl fmt::Display for RegTy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.ty().name())
    }
}

/// A set of types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TySet(u64);

impl TySet {
    /// The set of these types.
    #[must_use]
    pub const fn of(types: &[Ty]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < types.len() {
            bits |= 1 << types[i] as u64;
            i += 1;
        }
        Self(bits)
    }

    /// Both sets together.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether a type is in the set.
    #[must_use]
    pub const fn has(self, ty: Ty) -> bool {
        self.0 >> ty as u64 & 1 != 0
    }

    /// Whether it is empty: the operation takes no type.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its types in order.
    pub fn iter(self) -> impl Iterator<Item = Ty> {
        Ty::all().filter(move |&t| self.has(t))
    }
}

/// No type.
pub const NONE: TySet = TySet::of(&[]);
/// A predicate.
pub const PRED: TySet = TySet::of(&[Ty::Pred]);
/// A mask.
pub const MASK: TySet = TySet::of(&[Ty::Mask]);
/// Integers of 16 to 64 bits.
pub const INT: TySet = TySet::of(&[Ty::U16, Ty::U32, Ty::U64, Ty::S16, Ty::S32, Ty::S64]);
/// Integers of 32 and 64 bits.
pub const INT32: TySet = TySet::of(&[Ty::U32, Ty::U64, Ty::S32, Ty::S64]);
/// 32-bit integers.
pub const ONLY32: TySet = TySet::of(&[Ty::U32, Ty::S32]);
/// Integers of 8 bits.
pub const INT8: TySet = TySet::of(&[Ty::U8, Ty::S8]);
/// Untyped bits of 16 to 64 bits.
pub const BITS: TySet = TySet::of(&[Ty::B16, Ty::B32, Ty::B64]);
/// Untyped bits of 32 and 64 bits.
pub const BITS32: TySet = TySet::of(&[Ty::B32, Ty::B64]);
/// Binary floating point of 32 and 64 bits.
pub const F: TySet = TySet::of(&[Ty::F32, Ty::F64]);
/// Half-precision formats and their packed pairs.
pub const HALF: TySet = TySet::of(&[Ty::F16, Ty::Bf16, Ty::F16x2, Ty::Bf16x2]);
/// All floating point that arithmetic works on.
pub const FLOAT: TySet = F.or(HALF);
/// Packed pairs of 16-bit integers, which only a few operations work on.
pub const INT_PAIR: TySet = TySet::of(&[Ty::U16x2, Ty::S16x2]);
/// Packed pairs of single precision, which only a few operations work on.
pub const PAIR: TySet = TySet::of(&[Ty::F32x2]);
/// Everything that memory and moves take.
pub const ANY: TySet = FLOAT.or(INT).or(BITS).or(INT8).or(TySet::of(&[Ty::B8, Ty::B128]));
/// Integers that conversions pack into 32 bits.
pub const PACKED: TySet = INT8.or(TySet::of(&[Ty::U16, Ty::S16, Ty::U4, Ty::S4, Ty::U2, Ty::S2]));
/// Elements of matrices.
pub const MATRIX: TySet = TySet::of(&[
    Ty::F16,
    Ty::Bf16,
    Ty::Tf32,
    Ty::F32,
    Ty::F64,
    Ty::S8,
    Ty::U8,
    Ty::S4,
    Ty::U4,
    Ty::B1,
    Ty::S32,
]);
/// Conversion formats.
pub const CVT: TySet =
    FLOAT.or(INT).or(INT8).or(TySet::of(&[Ty::Tf32, Ty::E4m3, Ty::E5m2, Ty::E4m3x2, Ty::E5m2x2]));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_of_the_enum() {
        for (i, ty) in Ty::all().enumerate() {
            assert_eq!(ty as usize, i);
            assert_eq!(Ty::from_name(ty.name()), Some(ty));
        }
    }
}
