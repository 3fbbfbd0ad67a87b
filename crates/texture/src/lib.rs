//! Textures and surfaces: what a descriptor says, where elements lie, and what sampling gives.
//!
//! A texture or surface object is a [`Descriptor`] of 128 bytes in guest memory, and its handle is
//! the address. Elements lie in guest memory as [`Shape`] says; functions here are given a function
//! that reads bytes, so that they know no memory and no machine.
//!
//! Sources: CUDA C++ Programming Guide, appendix "Texture Fetching", for addressing and filters;
//! PTX ISA 9.1, "Texture Instructions" and "Surface Instructions", for operands. Both leave open
//! what docs/ptx.md, "Textures and surfaces", settles: the rounding of weights, the level between
//! two, values out of range.

mod address;
mod cube;
mod descriptor;
mod format;
mod level;
mod query;
mod rows;
mod sample;
mod shape;
mod surface;

pub use descriptor::{BYTES, Descriptor, DescriptorError, MAGIC};
pub use format::{Channel, Format, Texel};
pub use query::query;
pub use rows::{LANES, MOST, Places, Plane, Reads};
pub use sample::{Request, gather, sample};
pub use shape::{Resource, ResourceError, Shape, Storage};
pub use surface::{SurfaceError, convert, place};

pub use ir::mods::Geometry;

/// How a coordinate out of range is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressMode {
    /// The texture repeats.
    Wrap,
    /// The element at the edge.
    Clamp,
    /// The texture repeats, every second time mirrored.
    Mirror,
    /// The border colour.
    Border,
}

impl AddressMode {
    /// All modes, by their numbers in CUDA.
    pub const ALL: [Self; 4] = [Self::Wrap, Self::Clamp, Self::Mirror, Self::Border];
}

/// How a value is made of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// The nearest element.
    Point,
    /// The weighted mean of the two nearest along each dimension.
    Linear,
}

impl Filter {
    /// Both, by their numbers in CUDA.
    pub const ALL: [Self; 2] = [Self::Point, Self::Linear];
}

/// The state of a sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// Modes of the dimensions.
    pub modes: [AddressMode; 3],
    /// Between elements.
    pub filter: Filter,
    /// Between levels of a mipmap.
    pub level_filter: Filter,
    /// Whether coordinates are from 0 to 1 instead of to the number of elements.
    pub normalized: bool,
    /// Whether integers of 8 and 16 bits are read as integers, not as fractions.
    pub integers: bool,
    /// Whether colours are converted from sRGB.
    pub srgb: bool,
    /// Whether a filter goes across the edges of cubes.
    pub seamless: bool,
    /// The most samples along an axis. Kept; samples are isotropic.
    pub anisotropy: u8,
    /// Added to the level.
    pub bias: f32,
    /// The level is between these.
    pub levels: [f32; 2],
    /// What is outside in the mode [`AddressMode::Border`].
    pub border: [f32; 4],
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            modes: [AddressMode::Wrap; 3],
            filter: Filter::Point,
            level_filter: Filter::Point,
            normalized: false,
            integers: false,
            srgb: false,
            seamless: false,
            anisotropy: 0,
            bias: 0.0,
            levels: [0.0; 2],
            border: [0.0; 4],
        }
    }
}

impl Sampler {
    /// The mode of a dimension: coordinates that are not normalised do not repeat.
    #[must_use]
    pub fn mode(&self, dimension: usize) -> AddressMode {
        match self.modes[dimension] {
            AddressMode::Wrap | AddressMode::Mirror if !self.normalized => AddressMode::Clamp,
            mode => mode,
        }
    }
}
