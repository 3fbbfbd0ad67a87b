//! The 128 bytes of a tensor map.
//!
//! CUDA leaves them opaque. Instructions that change a map do so by stores to its [`Field`]s. Ours
//! are, with all numbers little-endian:
//!
//! | bytes | |
//! |---|---|
//! | 0 to 3 | `STM1` |
//! | 4 | mode: 0 tiled, 1 im2col, 2 im2col::w, 3 im2col::w::128 |
//! | 5 | rank less 1 |
//! | 6, 7, 9, 10 | element type, interleaving, granularity of fetches, fill, as CUDA numbers them |
//! | 8, 11 | swizzle: span (0 none, 1 32, 2 64, 3 128 bytes), and with 128 what stays together |
//! | 16 to 23 | address |
//! | 24 to 43 | elements of each dimension less 1, 4 bytes each |
//! | 44 to 48 | element strides less 1, a byte each |
//! | 64 to 95 | strides of the dimensions but the innermost in bytes, 8 bytes each |
//! | 96 to 105 | tiled: elements of the box along each dimension less 1, 2 bytes each |
//! | 96 to 101, 102 to 107 | else: lower and upper corners along W, H, D, 2 bytes each |
//! | 108, 110 | else: channels less 1, pixels less 1, 2 bytes each |
//!
//! All other bytes are 0.

use super::{
    Fill, Interleave, MAX_RANK, Mode, TensorElement, TensorMap, TensorMapError, TensorSwizzle,
};
use thiserror::Error;

/// Bytes of a tensor map.
pub const BYTES: usize = 128;

/// What the bytes of a map begin with.
pub const MAGIC: [u8; 4] = *b"STM1";

/// A field of a map that instructions replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum Field {
    GlobalAddress,
    Rank,
    BoxDim,
    GlobalDim,
    GlobalStride,
    ElementStride,
    Elemtype,
    InterleaveLayout,
    SwizzleMode,
    SwizzleAtomicity,
    FillMode,
}

impl Field {
    /// Its place in the map: the first byte, bytes of an element, and elements.
    #[must_use]
    pub const fn place(self) -> (u64, u64, u64) {
        match self {
            Self::Rank => (5, 1, 1),
            Self::Elemtype => (6, 1, 1),
            Self::InterleaveLayout => (7, 1, 1),
            Self::SwizzleMode => (8, 1, 1),
            Self::FillMode => (10, 1, 1),
            Self::SwizzleAtomicity => (11, 1, 1),
            Self::GlobalAddress => (16, 8, 1),
            Self::GlobalDim => (24, 4, 5),
            Self::ElementStride => (44, 1, 5),
            Self::GlobalStride => (64, 8, 4),
            Self::BoxDim => (96, 2, 5),
        }
    }

    /// Whether a map has one less than the number.
    #[must_use]
    pub const fn counts_from_one(self) -> bool {
        matches!(self, Self::GlobalDim | Self::ElementStride | Self::BoxDim)
    }
}

/// The swizzles by the numbers of their span and of what stays together.
const SWIZZLES: [(TensorSwizzle, [u8; 2]); 7] = [
    (TensorSwizzle::None, [0, 0]),
    (TensorSwizzle::B32, [1, 0]),
    (TensorSwizzle::B64, [2, 0]),
    (TensorSwizzle::B128, [3, 0]),
    (TensorSwizzle::B128Atom32, [3, 1]),
    (TensorSwizzle::B128Atom32Flip8, [3, 2]),
    (TensorSwizzle::B128Atom64, [3, 3]),
];

/// Bytes that are no tensor map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EncodingError {
    /// They were not made by the driver.
    #[error("these bytes are no tensor map")]
    Magic,
    /// A number that means nothing.
    #[error("byte {0} of the tensor map has a value that means nothing")]
    Value(usize),
    /// It breaks a rule.
    #[error(transparent)]
    Rule(#[from] TensorMapError),
}

impl TensorMap {
    /// The bytes of a map that has been checked.
    #[must_use]
    pub fn encode(&self) -> [u8; BYTES] {
        let mut out = [0; BYTES];
        out[..4].copy_from_slice(&MAGIC);
        out[5] = (self.rank - 1) as u8;
        out[6] = self.element as u8;
        out[7] = self.interleave as u8;
        [out[8], out[11]] = SWIZZLES[self.swizzle as usize].1;
        out[9] = self.promotion;
        out[10] = self.fill as u8;
        out[16..24].copy_from_slice(&self.address.to_le_bytes());
        for i in 0..MAX_RANK {
            let extent = self.extents[i].wrapping_sub(1) as u32;
            out[24 + 4 * i..][..4].copy_from_slice(&extent.to_le_bytes());
            out[44 + i] = (self.steps[i] - 1) as u8;
        }
        for (i, stride) in self.strides.iter().enumerate() {
            out[64 + 8 * i..][..8].copy_from_slice(&stride.to_le_bytes());
        }
        let mut column = |lower: [i32; 3], upper: [i32; 3], channels: u32, pixels: u32| {
            for i in 0..3 {
                out[96 + 2 * i..][..2].copy_from_slice(&(lower[i] as i16).to_le_bytes());
                out[102 + 2 * i..][..2].copy_from_slice(&(upper[i] as i16).to_le_bytes());
            }
            out[108..110].copy_from_slice(&(channels.wrapping_sub(1) as u16).to_le_bytes());
            out[110..112].copy_from_slice(&(pixels.wrapping_sub(1) as u16).to_le_bytes());
        };
        match self.mode {
            Mode::Tiled { extents } => {
                for (to, extent) in out[96..].chunks_exact_mut(2).zip(extents) {
                    to.copy_from_slice(&(extent.wrapping_sub(1) as u16).to_le_bytes());
                }
            }
            Mode::Im2col { lower, upper, channels, pixels } => {
                column(lower, upper, channels, pixels);
                out[4] = 1;
            }
            Mode::Im2colWide { lower, upper, channels, pixels, wide128 } => {
                column([lower, 0, 0], [upper, 0, 0], channels, pixels);
                out[4] = if wide128 { 3 } else { 2 };
            }
        }
        out
    }

    /// Reads the bytes of a map, and checks it.
    ///
    /// # Errors
    /// If they are no tensor map, or one that breaks a rule: instructions change maps, too.
    pub fn decode(bytes: &[u8; BYTES]) -> Result<Self, EncodingError> {
        if bytes[..4] != MAGIC {
            return Err(EncodingError::Magic);
        }
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| bytes[at + i]));
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let bad = EncodingError::Value;
        let corners = |at: usize| [0, 2, 4].map(|i| i32::from(half(at + i).cast_signed()));
        let (channels, pixels) = (u32::from(half(108)) + 1, u32::from(half(110)) + 1);
        let mode = match bytes[4] {
            0 => Mode::Tiled { extents: std::array::from_fn(|i| u32::from(half(96 + 2 * i)) + 1) },
            1 => Mode::Im2col { lower: corners(96), upper: corners(102), channels, pixels },
            wide @ (2 | 3) => Mode::Im2colWide {
                lower: corners(96)[0],
                upper: corners(102)[0],
                channels,
                pixels,
                wide128: wide == 3,
            },
            _ => return Err(bad(4)),
        };
        let map = Self {
            element: *TensorElement::ALL.get(usize::from(bytes[6])).ok_or(bad(6))?,
            rank: u32::from(bytes[5]) + 1,
            address: long(16),
            extents: std::array::from_fn(|i| u64::from(word(24 + 4 * i)) + 1),
            strides: std::array::from_fn(|i| long(64 + 8 * i)),
            steps: std::array::from_fn(|i| u32::from(bytes[44 + i]) + 1),
            interleave: match bytes[7] {
                0 => Interleave::None,
                1 => Interleave::B16,
                2 => Interleave::B32,
                _ => return Err(bad(7)),
            },
            swizzle: SWIZZLES
                .iter()
                .find(|(_, numbers)| *numbers == [bytes[8], bytes[11]])
                .ok_or(bad(8))?
                .0,
            promotion: bytes[9],
            fill: match bytes[10] {
                0 => Fill::Zeros,
                1 => Fill::Nan,
                _ => return Err(bad(10)),
            },
            mode,
        };
        map.check()?;
        Ok(map)
    }
}
