//! The 128 bytes of a texture or surface object.
//!
//! CUDA leaves them opaque. Ours are, with all numbers little-endian:
//!
//! | bytes | |
//! |---|---|
//! | 0 to 3 | `STX1` |
//! | 4, 5 | 0 texture, 1 surface; storage: 0 linear, 1 pitched, 2 array |
//! | 6 | geometry, in the order of [`Geometry::ALL`] |
//! | 7, 8 | channel format in the order of [`Channel::ALL`], channels |
//! | 9 to 11 | address modes as CUDA numbers them |
//! | 12, 13 | filters of elements and of levels |
//! | 14 | bits: normalised coordinates, integers, sRGB, seamless cubes |
//! | 15 | anisotropy |
//! | 16 to 23, 24 to 31 | address, pitch |
//! | 32 to 43 | extents, 4 bytes each |
//! | 44 to 67 | layers and levels; first level and levels seen, first layer and layers seen |
//! | 68 to 79 | bias, least and greatest level |
//! | 80 to 95 | border colour |
//!
//! All other bytes are 0.

use ir::mods::Geometry;
use thiserror::Error;

use crate::{
    AddressMode, Channel, Filter, Format, Resource, ResourceError, Sampler, Shape, Storage,
};

/// Bytes of a descriptor.
pub const BYTES: usize = ir::texture::OBJECT_BYTES;

/// What a descriptor begins with.
pub const MAGIC: [u8; 4] = *b"STX1";

/// A texture or a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Descriptor {
    /// Whether it is a surface.
    pub surface: bool,
    /// Its elements.
    pub resource: Resource,
    /// How they are sampled.
    pub sampler: Sampler,
}

/// Bytes that are no descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DescriptorError {
    /// They were not made by the driver, or the object is destroyed.
    #[error("there is no texture or surface object")]
    Magic,
    /// A number that means nothing.
    #[error("byte {0} of the object has a value that means nothing")]
    Value(usize),
    /// Numbers that describe no memory.
    #[error(transparent)]
    Resource(#[from] ResourceError),
}

impl Descriptor {
    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; BYTES] {
        let (resource, sampler, shape) = (&self.resource, &self.sampler, &self.resource.shape);
        let mut out = [0; BYTES];
        out[..4].copy_from_slice(&MAGIC);
        out[4] = self.surface.into();
        let (storage, pitch) = match resource.storage {
            Storage::Linear => (0, 0),
            Storage::Pitched(pitch) => (1, pitch),
            Storage::Array => (2, 0),
        };
        out[5] = storage;
        out[6] = shape.geometry as u8;
        out[7] = shape.format.channel as u8;
        out[8] = shape.format.channels;
        (0..3).for_each(|i| out[9 + i] = sampler.modes[i] as u8);
        out[12] = sampler.filter as u8;
        out[13] = sampler.level_filter as u8;
        let bits = [sampler.normalized, sampler.integers, sampler.srgb, sampler.seamless];
        out[14] = bits.iter().enumerate().map(|(i, &bit)| u8::from(bit) << i).sum();
        out[15] = sampler.anisotropy;
        out[16..24].copy_from_slice(&resource.address.to_le_bytes());
        out[24..32].copy_from_slice(&pitch.to_le_bytes());
        let [width, height, depth] = shape.extents;
        let words = [
            width,
            height,
            depth,
            shape.layers,
            shape.levels,
            resource.first_level,
            resource.levels,
            resource.first_layer,
            resource.layers,
        ];
        let floats = [sampler.bias, sampler.levels[0], sampler.levels[1]];
        let floats = floats.into_iter().chain(sampler.border).map(f32::to_bits);
        for (to, word) in out[32..96].chunks_exact_mut(4).zip(words.into_iter().chain(floats)) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        out
    }

    /// Reads the bytes of a descriptor, and checks it: kernels can write anything.
    ///
    /// # Errors
    /// If they are none.
    pub fn decode(bytes: &[u8; BYTES]) -> Result<Self, DescriptorError> {
        if bytes[..4] != MAGIC {
            return Err(DescriptorError::Magic);
        }
        let bad = DescriptorError::Value;
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| bytes[at + i]));
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let float = |at: usize| f32::from_bits(word(at));
        let filter = |at: usize| Filter::ALL.get(usize::from(bytes[at])).copied().ok_or(bad(at));
        let mode = |at: usize| AddressMode::ALL.get(usize::from(bytes[at])).copied().ok_or(bad(at));
        let storage = match bytes[5] {
            0 => Storage::Linear,
            1 => Storage::Pitched(long(24)),
            2 => Storage::Array,
            _ => return Err(bad(5)),
        };
        let channel = *Channel::ALL.get(usize::from(bytes[7])).ok_or(bad(7))?;
        let shape = Shape {
            format: Format { channel, channels: bytes[8] },
            geometry: *Geometry::ALL.get(usize::from(bytes[6])).ok_or(bad(6))?,
            extents: [word(32), word(36), word(40)],
            layers: word(44),
            levels: word(48),
        };
        let resource = Resource {
            storage,
            address: long(16),
            shape,
            first_level: word(52),
            levels: word(56),
            first_layer: word(60),
            layers: word(64),
        };
        resource.check()?;
        let sampler = Sampler {
            modes: [mode(9)?, mode(10)?, mode(11)?],
            filter: filter(12)?,
            level_filter: filter(13)?,
            normalized: bytes[14] & 1 != 0,
            integers: bytes[14] & 2 != 0,
            srgb: bytes[14] & 4 != 0,
            seamless: bytes[14] & 8 != 0,
            anisotropy: bytes[15],
            bias: float(68),
            levels: [float(72), float(76)],
            border: [80, 84, 88, 92].map(float),
        };
        Ok(Self { surface: bytes[4] != 0, resource, sampler })
    }
}
