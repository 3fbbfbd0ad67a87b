//! Matrices in shared memory as the descriptors of `wgmma` name them.
//!
//! A descriptor gives the place of the first element, two strides and a swizzle. A matrix is made
//! of bricks of eight lines of 16 bytes. Along the *depth* (K-major) a line holds elements of one
//! row of A or of one column of B; across it (MN-major, the transposed layouts) a line holds the
//! elements of eight rows or columns at one depth. With a swizzle of `w` bytes a line is `w` bytes
//! long, and eight lines follow each other without gaps.
//!
//! | layout | leading byte offset | stride byte offset |
//! |---|---|---|
//! | K-major, no swizzle | from 16 bytes of depth to the next | from eight lines to the next |
//! | K-major, swizzled | not read while the depth fits a line | from eight lines to the next |
//! | MN-major, no swizzle | from eight depths to the next | from a line to the next one across |
//! | MN-major, swizzled | from a line to the next one across | from eight depths to the next |
//!
//! A swizzle exchanges the 16-byte units of a line: bits 4 to 6 of the address are combined with
//! the number of the line, which is in bits 7 to 9, by exclusive or; of 64 bytes two bits, of 32
//! bytes one. The base offset is the number of the line where the pattern begins, if that is not
//! 0.
//!
//! Source: PTX ISA 9.1, "Shared memory matrix layout", "Strides" and "Matrix descriptor format";
//! the canonical layouts in CUTLASS's `mma_sm90_desc.hpp` agree. Neither says where the second half
//! of a depth of 64 bytes (the right factor of a sparse product) lies in lines of 32 bytes: here it
//! is the leading byte offset away.

use thiserror::Error;

/// How the 16-byte units of a line are exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Swizzle {
    /// They are not: lines have 16 bytes.
    None,
    /// Within 32 bytes.
    B32,
    /// Within 64 bytes.
    B64,
    /// Within 128 bytes.
    B128,
}

impl Swizzle {
    /// Bytes of a line.
    #[must_use]
    #[inline]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::None => 16,
            Self::B32 => 32,
            Self::B64 => 64,
            Self::B128 => 128,
        }
    }

    /// The address of a byte, if the line at address 0 has the number `base`.
    #[must_use]
    #[inline]
    pub const fn place(self, address: u32, base: u32) -> u32 {
        let units = self.bytes() / 16 - 1;
        address ^ (((address >> 7).wrapping_sub(base) & units) << 4)
    }
}

/// Which elements of a matrix are neighbours in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Major {
    /// Those of a row of A, or of a column of B.
    Depth,
    /// Those at one depth.
    Across,
}

/// A matrix in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Descriptor {
    /// The offset of its first element in shared memory, a multiple of 16.
    pub start: u32,
    /// The leading byte offset.
    pub leading: u32,
    /// The stride byte offset.
    pub stride: u32,
    /// The number of the line at which the pattern of the swizzle begins, from 0 to 7.
    pub base: u32,
    /// The swizzle.
    pub swizzle: Swizzle,
}

/// A descriptor that the PTX ISA leaves undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DescriptorMisuse {
    /// Bits that mean nothing are not 0.
    #[error("bits {bits:#x} of it are reserved and must be 0")]
    Reserved {
        /// The bits.
        bits: u64,
    },
    /// A base offset without a swizzle.
    #[error("its base offset is {base}, but it has no swizzle")]
    Base {
        /// The base offset.
        base: u32,
    },
}

/// The bits of a descriptor that have a meaning.
const KNOWN: u64 = 0x3fff | 0x3fff << 16 | 0x3fff << 32 | 7 << 49 | 3 << 62;

impl Descriptor {
    /// Reads the 64 bits that an instruction takes.
    ///
    /// # Errors
    /// If the bits mean nothing.
    pub fn parse(bits: u64) -> Result<Self, DescriptorMisuse> {
        if bits & !KNOWN != 0 {
            return Err(DescriptorMisuse::Reserved { bits: bits & !KNOWN });
        }
        let field = |low: u32| ((bits >> low & 0x3fff) << 4) as u32;
        let swizzle = match bits >> 62 {
            0 => Swizzle::None,
            1 => Swizzle::B128,
            2 => Swizzle::B64,
            _ => Swizzle::B32,
        };
        let base = (bits >> 49 & 7) as u32;
        if base != 0 && swizzle == Swizzle::None {
            return Err(DescriptorMisuse::Base { base });
        }
        Ok(Self { start: field(0), leading: field(16), stride: field(32), base, swizzle })
    }

    /// The offset in shared memory of a byte of a matrix: of the row or column `line`, `byte` bytes
    /// into it.
    #[must_use]
    pub const fn along_depth(&self, line: u32, byte: u32) -> u32 {
        let [next_byte, next_line] = [self.leading, self.stride];
        self.place([line, byte], [next_line, next_byte], line % 8)
    }

    /// The offsets of the same byte of eight rows or columns, of which the first is a multiple of
    /// eight.
    #[must_use]
    #[inline]
    pub fn eight_along_depth(&self, line: u32, byte: u32) -> [u32; 8] {
        let strides = [self.stride, self.leading];
        std::array::from_fn(|i| self.place([line, byte], strides, i as u32))
    }

    /// The offset in shared memory of a byte of a matrix that is stored across: at a depth, `byte`
    /// bytes from the first row or column.
    #[must_use]
    pub const fn across(&self, depth: u32, byte: u32) -> u32 {
        let (next_line, next_depths) = self.strides_across();
        self.place([depth, byte], [next_depths, next_line], depth % 8)
    }

    /// The offsets of the same byte at eight depths, of which the first is a multiple of eight.
    #[must_use]
    #[inline]
    pub fn eight_across(&self, depth: u32, byte: u32) -> [u32; 8] {
        let (next_line, next_depths) = self.strides_across();
        std::array::from_fn(|i| self.place([depth, byte], [next_depths, next_line], i as u32))
    }

    /// How far the same byte of eight lines and of the eight lines behind them, along the depth, or
    /// of eight depths and the next ones, across, lie apart, if it is the same for all bytes.
    #[must_use]
    #[inline]
    pub const fn step(&self, major: Major) -> Option<u32> {
        let step = match major {
            Major::Depth => self.stride,
            Major::Across => self.strides_across().1,
        };
        // The pattern of a swizzle repeats after eight lines of 128 bytes.
        if step % 1024 == 0 || matches!(self.swizzle, Swizzle::None) { Some(step) } else { None }
    }

    /// The offset of a byte of line `number` of the eight that one is among. The strides are from
    /// eight lines to the next, and from a line to where it goes on.
    #[inline]
    const fn place(&self, [line, byte]: [u32; 2], [eight, along]: [u32; 2], number: u32) -> u32 {
        let width = self.swizzle.bytes();
        let bits = width.trailing_zeros();
        let offset =
            number * width + line / 8 * eight + (byte >> bits) * along + (byte & (width - 1));
        self.swizzle.place(self.start + offset, self.base)
    }

    /// Of matrices that are stored across: bytes from a line to the next one across, and from eight
    /// depths to the next.
    const fn strides_across(&self) -> (u32, u32) {
        match self.swizzle {
            Swizzle::None => (self.stride, self.leading),
            _ => (self.leading, self.stride),
        }
    }

    /// A multiple of 128 that no byte reaches of a matrix of so many lines, eight or more, of so
    /// many bytes: lines of rows or columns, or of depths.
    #[must_use]
    pub const fn end(&self, major: Major, lines: u32, bytes: u32) -> u32 {
        let width = self.swizzle.bytes();
        let (along, across) = match major {
            Major::Depth => (self.leading, self.stride),
            Major::Across => self.strides_across(),
        };
        let last = self.start + (lines - 1) / 8 * across + (bytes - 1) / width * along;
        // A swizzle exchanges units within 128 bytes.
        (last + 8 * width).next_multiple_of(128)
    }
}
