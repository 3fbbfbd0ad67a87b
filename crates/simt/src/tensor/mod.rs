//! Tensor maps: tensors in global memory, and the boxes of them that tensor copies move.
//!
//! A [`TensorMap`] is what the driver's `cuTensorMapEncode*` functions encode and tensor copies
//! read: [`TensorMap::check`] holds the rules that the driver documents, `encoding` is our form of
//! the opaque 128 bytes, and `boxes` says which bytes a copy moves from where to where.
//!
//! Source: the CUDA driver API, "Tensor Map Object Management", and PTX ISA 9.1, "Tensors".

mod boxes;
mod encoding;

pub use boxes::{Coordinates, Run};
pub use encoding::{BYTES, EncodingError, Field, MAGIC};

use thiserror::Error;

/// Dimensions of a tensor at most.
pub const MAX_RANK: usize = 5;

/// What the elements of a tensor are, in the order of `CUtensorMapDataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are CUDA's")]
pub enum TensorElement {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F64,
    Bf16,
    F32Ftz,
    Tf32,
    Tf32Ftz,
    U4x16Align8,
    U4x16Align16,
    U6x16Align16,
}

impl TensorElement {
    /// All of them, by number.
    pub const ALL: [Self; 16] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::Bf16,
        Self::F32Ftz,
        Self::Tf32,
        Self::Tf32Ftz,
        Self::U4x16Align8,
        Self::U4x16Align16,
        Self::U6x16Align16,
    ];

    /// Bits of an element in global memory.
    #[must_use]
    pub const fn bits(self) -> u64 {
        match self {
            Self::U8 => 8,
            Self::U16 | Self::F16 | Self::Bf16 => 16,
            Self::U32 | Self::S32 | Self::F32 | Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz => 32,
            Self::U64 | Self::S64 | Self::F64 => 64,
            Self::U4x16Align8 | Self::U4x16Align16 => 4,
            Self::U6x16Align16 => 6,
        }
    }

    /// Whether 16 elements make a unit of 16 bytes in shared memory, with a gap.
    #[must_use]
    pub const fn is_padded(self) -> bool {
        matches!(self, Self::U4x16Align16 | Self::U6x16Align16)
    }

    /// Whether elements out of bounds can be NaN.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Self::F16
                | Self::F32
                | Self::F64
                | Self::Bf16
                | Self::F32Ftz
                | Self::Tf32
                | Self::Tf32Ftz
        )
    }
}

/// How channels are stored in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interleave {
    /// As the strides say.
    None,
    /// In slices of 16 bytes.
    B16,
    /// In slices of 32 bytes.
    B32,
}

/// How a box is spread over the banks of shared memory, in the order of `CUtensorMapSwizzle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TensorSwizzle {
    /// It is not.
    None,
    /// Units of 16 bytes within 32.
    B32,
    /// Units of 16 bytes within 64.
    B64,
    /// Units of 16 bytes within 128.
    B128,
    /// Units of 32 bytes within 128.
    B128Atom32,
    /// The same, and halves of 16 bytes change places in every second line.
    B128Atom32Flip8,
    /// Units of 64 bytes within 128.
    B128Atom64,
}

impl TensorSwizzle {
    /// All of them, by number.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::B32,
        Self::B64,
        Self::B128,
        Self::B128Atom32,
        Self::B128Atom32Flip8,
        Self::B128Atom64,
    ];

    /// Bytes within which units change places.
    #[must_use]
    pub const fn span(self) -> u64 {
        match self {
            Self::None => 16,
            Self::B32 => 32,
            Self::B64 => 64,
            _ => 128,
        }
    }

    /// How it places bytes: as the exclusive or of an address with two parts of the number of its
    /// line of 128 bytes, each a mask and a shift. The least shift is that of what stays together.
    const fn parts(self) -> [(u64, u32); 2] {
        match self {
            // Nothing is as long.
            Self::None => [(0, 63), (0, 63)],
            Self::B32 => [(1, 4), (0, 63)],
            Self::B64 => [(3, 4), (0, 63)],
            Self::B128 => [(7, 4), (0, 63)],
            Self::B128Atom32 => [(3, 5), (0, 63)],
            Self::B128Atom32Flip8 => [(3, 5), (1, 3)],
            Self::B128Atom64 => [(1, 6), (0, 63)],
        }
    }

    /// Returns whether it moves units of so many bytes, a power of two, and leaves each together.
    #[must_use]
    pub const fn keeps(self, bytes: u64) -> bool {
        !matches!(self, Self::None) && self.unit() >= bytes
    }

    /// Bytes that stay together, from a multiple of them on.
    const fn unit(self) -> u64 {
        let [(_, shift), (_, flip)] = self.parts();
        1 << if shift < flip { shift } else { flip }
    }

    /// The units of bytes that follow each other before the swizzle, each where the swizzle puts
    /// it.
    #[inline]
    pub fn units(self, bytes: Run) -> impl Iterator<Item = Run> {
        let unit = self.unit();
        let mut done = 0;
        std::iter::from_fn(move || {
            let left = bytes.bytes - done;
            if left == 0 {
                return None;
            }
            let address = bytes.shared + done;
            let rest = unit - (address & (unit - 1));
            let run = Run {
                global: bytes.global.map(|global| global.wrapping_add(done)),
                shared: self.place(address),
                bytes: rest.min(left),
            };
            done += run.bytes;
            Some(run)
        })
    }

    /// The shared address of a byte.
    #[must_use]
    pub const fn place(self, address: u64) -> u64 {
        let ([(mask, shift), (flips, flip)], line) = (self.parts(), address >> 7);
        address ^ (line & mask) << shift ^ (line & flips) << flip
    }
}

/// What is read of elements out of bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fill {
    /// Zeros.
    Zeros,
    /// A NaN that fused multiply-adds take as zero.
    Nan,
}

/// Which part of a tensor a copy moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// A box with so many elements in each dimension, before element strides.
    Tiled {
        /// Elements along each dimension.
        extents: [u32; MAX_RANK],
    },
    /// Columns of pixels of images, for convolutions.
    Im2col {
        /// The least offsets of pixels from the image's first ones: W, H, D.
        lower: [i32; 3],
        /// The greatest offsets from the image's last ones.
        upper: [i32; 3],
        /// Elements of a pixel.
        channels: u32,
        /// Pixels of a column.
        pixels: u32,
    },
    /// The same along W alone.
    Im2colWide {
        /// The least offset of W.
        lower: i32,
        /// The greatest one.
        upper: i32,
        /// Elements of a pixel.
        channels: u32,
        /// Pixels of a column.
        pixels: u32,
        /// Whether a column has 128 pixels.
        wide128: bool,
    },
}

/// A tensor in global memory, and how it is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorMap {
    /// Its elements.
    pub element: TensorElement,
    /// Dimensions, 1 to 5. Entries beyond them are 1, strides 0.
    pub rank: u32,
    /// The global address of the first element.
    pub address: u64,
    /// Elements along each dimension, the innermost one first.
    pub extents: [u64; MAX_RANK],
    /// Bytes from one element to the next along each dimension but the innermost.
    pub strides: [u64; MAX_RANK - 1],
    /// Which elements of a box are taken along each dimension: each so many.
    pub steps: [u32; MAX_RANK],
    /// How channels are stored.
    pub interleave: Interleave,
    /// How the box is spread.
    pub swizzle: TensorSwizzle,
    /// The granularity of fetches into the second level of caches, 0 to 3; changes no result.
    pub promotion: u8,
    /// What is read out of bounds.
    pub fill: Fill,
    /// What is copied.
    pub mode: Mode,
}

/// A rule of the driver that a tensor map breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the messages say what is wrong")]
pub enum TensorMapError {
    #[error("the rank {rank} is not from {least} to 5")]
    Rank { rank: u32, least: u32 },
    #[error("the address {address:#x} is not a multiple of {align}")]
    Address { address: u64, align: u64 },
    #[error("dimension {dimension} has {extent} elements: 1 to 2^31 are possible")]
    Extent { dimension: usize, extent: u64 },
    #[error("the innermost dimension of {extent} elements is not a multiple of {multiple}")]
    Packed { extent: u64, multiple: u64 },
    #[error("the stride {stride} of dimension {dimension} is not a multiple of {align} below 2^40")]
    Stride { dimension: usize, stride: u64, align: u64 },
    #[error("the box has {extent} elements along dimension {dimension}: 1 to 256 are possible")]
    Box { dimension: usize, extent: u32 },
    #[error("the innermost dimension of the box has {bytes} bytes, not a multiple of 16")]
    BoxBytes { bytes: u64 },
    #[error(
        "the innermost dimension of the box has {bytes} bytes, more than the {span} of the swizzle"
    )]
    SwizzleSpan { bytes: u64, span: u64 },
    #[error("the element stride {step} of dimension {dimension} is not from 1 to 8")]
    Step { dimension: usize, step: u32 },
    #[error("this interleaving does not go with the swizzle or the elements")]
    Interleave,
    #[error("this swizzle does not go with the elements or the mode")]
    Swizzle,
    #[error("elements out of bounds can be NaN only if they are floats")]
    Fill,
    #[error("the corner {corner} of dimension {dimension} is not from {least} to {most}")]
    Corner { dimension: usize, corner: i32, least: i32, most: i32 },
    #[error("the box of pixels is empty along dimension {dimension}")]
    Empty { dimension: usize },
    #[error("{channels} channels of a pixel: {possible} are possible")]
    Channels { channels: u32, possible: &'static str },
    #[error("{pixels} pixels of a column: 1 to 1024 are possible")]
    Pixels { pixels: u32 },
    #[error("the granularity of fetches is {0}, not from 0 to 3")]
    Promotion(u8),
}

impl TensorMap {
    /// Checks it against the driver's rules.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn check(&self) -> Result<(), TensorMapError> {
        let tiled = matches!(self.mode, Mode::Tiled { .. });
        let least = if tiled && self.interleave == Interleave::None { 1 } else { 3 };
        if self.rank < least || self.rank as usize > MAX_RANK {
            return Err(TensorMapError::Rank { rank: self.rank, least });
        }
        if self.promotion > 3 {
            return Err(TensorMapError::Promotion(self.promotion));
        }
        self.check_tensor()?;
        self.check_steps()?;
        self.check_spread()?;
        match self.mode {
            Mode::Tiled { extents } => self.check_box(&extents),
            Mode::Im2col { lower, upper, channels, pixels } => {
                self.check_corners(&lower, &upper)?;
                self.check_column(channels, Some(pixels))
            }
            Mode::Im2colWide { lower, upper, channels, pixels, wide128 } => {
                self.check_corner(1, [lower, upper], [-32768, 32767])?;
                if self.interleave != Interleave::None {
                    return Err(TensorMapError::Interleave);
                }
                let spans = [TensorSwizzle::B64, TensorSwizzle::B128, TensorSwizzle::B128Atom32];
                if !spans.contains(&self.swizzle) {
                    return Err(TensorMapError::Swizzle);
                }
                self.check_column(channels, (!wide128).then_some(pixels))
            }
        }
    }

    fn rank(&self) -> usize {
        (self.rank as usize).min(MAX_RANK)
    }

    fn check_tensor(&self) -> Result<(), TensorMapError> {
        let wide = self.interleave == Interleave::B32 || self.element.is_padded();
        let align = if wide { 32 } else { 16 };
        if !self.address.is_multiple_of(align) {
            return Err(TensorMapError::Address { address: self.address, align });
        }
        for (dimension, &extent) in self.extents.iter().enumerate().take(self.rank()) {
            if extent == 0 || extent > 1 << 31 {
                return Err(TensorMapError::Extent { dimension, extent });
            }
        }
        let multiple = match self.element {
            TensorElement::U4x16Align8 => 2,
            _ if self.element.is_padded() => 128,
            _ => 1,
        };
        if !self.extents[0].is_multiple_of(multiple) {
            return Err(TensorMapError::Packed { extent: self.extents[0], multiple });
        }
        for (i, &stride) in self.strides.iter().enumerate().take(self.rank() - 1) {
            if !stride.is_multiple_of(align) || stride >= 1 << 40 {
                return Err(TensorMapError::Stride { dimension: i + 1, stride, align });
            }
        }
        Ok(())
    }

    fn check_steps(&self) -> Result<(), TensorMapError> {
        for (dimension, &step) in self.steps.iter().enumerate().take(self.rank()) {
            if !(1..=8).contains(&step) {
                return Err(TensorMapError::Step { dimension, step });
            }
        }
        Ok(())
    }

    fn check_spread(&self) -> Result<(), TensorMapError> {
        use TensorSwizzle::{B32, B128, B128Atom32, B128Atom64, None};
        if self.interleave == Interleave::B32 && self.swizzle != B32 {
            return Err(TensorMapError::Interleave);
        }
        let (interleaved, swizzles): (bool, &[TensorSwizzle]) = match self.element {
            TensorElement::U6x16Align16 => (false, &[None, B128, B128Atom32, B128Atom64]),
            TensorElement::U4x16Align16 => (true, &[None, B128, B128Atom32]),
            _ => (true, &TensorSwizzle::ALL),
        };
        if !interleaved && self.interleave != Interleave::None {
            return Err(TensorMapError::Interleave);
        }
        let wide = matches!(self.mode, Mode::Im2colWide { .. });
        if !wide && !swizzles.contains(&self.swizzle) {
            return Err(TensorMapError::Swizzle);
        }
        if self.fill == Fill::Nan && !self.element.is_float() {
            return Err(TensorMapError::Fill);
        }
        Ok(())
    }

    /// Checks the innermost dimension of what is copied.
    fn check_inner(&self, elements: u32) -> Result<(), TensorMapError> {
        let bytes = u64::from(elements) * self.element.bits() / 8;
        let span = self.swizzle.span();
        if self.interleave != Interleave::None || self.element.is_padded() {
            return Ok(());
        }
        if self.swizzle != TensorSwizzle::None && bytes > span {
            return Err(TensorMapError::SwizzleSpan { bytes, span });
        }
        Ok(())
    }

    fn check_box(&self, extents: &[u32; MAX_RANK]) -> Result<(), TensorMapError> {
        for (dimension, &extent) in extents.iter().enumerate().take(self.rank()) {
            let padded = dimension == 0 && self.element.is_padded();
            if extent == 0 || extent > 256 || padded && extent != 128 {
                return Err(TensorMapError::Box { dimension, extent });
            }
        }
        let bits = u64::from(extents[0]) * self.element.bits();
        if self.interleave == Interleave::None
            && !self.element.is_padded()
            && !bits.is_multiple_of(128)
        {
            return Err(TensorMapError::BoxBytes { bytes: bits / 8 });
        }
        self.check_inner(extents[0])
    }

    fn check_corners(&self, lower: &[i32; 3], upper: &[i32; 3]) -> Result<(), TensorMapError> {
        let limits = match self.rank {
            3 => [-32768, 32767],
            4 => [-128, 127],
            _ => [-16, 15],
        };
        (1..self.rank() - 1).try_for_each(|dimension| {
            self.check_corner(dimension, [lower[dimension - 1], upper[dimension - 1]], limits)
        })
    }

    fn check_corner(
        &self,
        dimension: usize,
        [lower, upper]: [i32; 2],
        [least, most]: [i32; 2],
    ) -> Result<(), TensorMapError> {
        for corner in [lower, upper] {
            if !(least..=most).contains(&corner) {
                return Err(TensorMapError::Corner { dimension, corner, least, most });
            }
        }
        let extent = i64::try_from(self.extents[dimension]).unwrap_or(i64::MAX);
        let empty = extent + i64::from(upper) - i64::from(lower) <= 0;
        if empty { Err(TensorMapError::Empty { dimension }) } else { Ok(()) }
    }

    fn check_column(&self, channels: u32, pixels: Option<u32>) -> Result<(), TensorMapError> {
        let padded = self.element.is_padded();
        let possible = if padded { "128" } else { "1 to 256" };
        if channels == 0 || channels > 256 || padded && channels != 128 {
            return Err(TensorMapError::Channels { channels, possible });
        }
        if let Some(pixels) = pixels.filter(|p| !(1..=1024).contains(p)) {
            return Err(TensorMapError::Pixels { pixels });
        }
        self.check_inner(channels)
    }
}
