//! Warp-wide matrix multiplication: fragments, and what a product of them is.
//!
//! A matrix is spread over the registers of the 32 lanes of a warp; [`Fragment`] says which lane,
//! register and part of a register holds which element, and is the only place that knows.
//! [`Product::multiply`] gathers the elements, multiplies, and spreads the result.
//!
//! **Arithmetic.** Integers are exact: the sum wraps or, on request, saturates. Bits are combined
//! and counted. Double precision is a chain of fused multiply-adds in increasing `k`. All other
//! floats are added as [`MatrixSums`] says: as a rule `dot`'s fused sums of blocks, which are what
//! measurements of devices show (of compute capability 8.x, for `wgmma` of 9.0).

mod descriptor;
mod dot;
mod exact;
mod fragment;
mod group;
mod multiply;
mod sparse;
mod tiles;

pub use descriptor::{Descriptor, DescriptorMisuse, Major, Swizzle};
pub use fragment::{Fragment, Role, Spread, tile_place};
pub use group::{A_REGISTERS, GroupProduct, THREADS, WARPS};
pub use multiply::{BitOp, Product};
pub use sparse::{IndexOrder, Metadata, Misuse, Wrong};
pub use tiles::{TileElement, Tiles};

/// Lanes of a warp.
pub const LANES: usize = 32;

/// The type of a matrix's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// Half precision.
    F16,
    /// The upper half of single precision.
    Bf16,
    /// Single precision of which the lowest 13 bits are not read.
    Tf32,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// Eight bits, three of them of fraction; no infinities.
    E4m3,
    /// Eight bits, two of them of fraction.
    E5m2,
    /// Signed bytes.
    S8,
    /// Bytes.
    U8,
    /// Signed integers of four bits.
    S4,
    /// Integers of four bits.
    U4,
    /// Bits.
    B1,
    /// Sums of integers.
    S32,
}

impl Element {
    /// Bits of an element in a register and in memory.
    #[must_use]
    pub const fn bits(self) -> usize {
        match self {
            Self::F64 => 64,
            Self::F32 | Self::Tf32 | Self::S32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::E4m3 | Self::E5m2 | Self::S8 | Self::U8 => 8,
            Self::S4 | Self::U4 => 4,
            Self::B1 => 1,
        }
    }

    /// Returns whether it is an integer or a bit.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::S8 | Self::U8 | Self::S4 | Self::U4 | Self::B1 | Self::S32)
    }

    /// Bits of a register that holds elements.
    #[must_use]
    pub const fn register_bits(self) -> usize {
        if self.bits() == 64 { 64 } else { 32 }
    }
}

/// How the products of floats of at most 32 bits are added. Sums of integers are exact in any case,
/// and those of doubles are chains of fused multiply-adds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MatrixSums {
    /// As the matrix units of a device add them: in blocks, cut to a number of bits.
    #[default]
    Device,
    /// Exactly: the sum of all products of an instruction and the addend is rounded once.
    Exact,
    /// By fused multiply-adds of single precision in the order of `k`.
    F32,
}

impl MatrixSums {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Device, Self::Exact, Self::F32];

    /// The name as users write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Exact => "exact",
            Self::F32 => "f32",
        }
    }
}

impl std::fmt::Display for MatrixSums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is not that of a [`MatrixSums`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sums of matrix products are `device`, `exact` or `f32`")]
pub struct NotMatrixSums;

impl std::str::FromStr for MatrixSums {
    type Err = NotMatrixSums;

    fn from_str(text: &str) -> Result<Self, NotMatrixSums> {
        Self::ALL.into_iter().find(|sums| sums.name() == text).ok_or(NotMatrixSums)
    }
}

/// The sizes of a product: A is `m` by `k`, B is `k` by `n`, C and D are `m` by `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Rows of A, C and D.
    pub m: usize,
    /// Columns of B, C and D.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
}

impl Shape {
    /// Reads `m16n8k16`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some(Self { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? })
    }
}
