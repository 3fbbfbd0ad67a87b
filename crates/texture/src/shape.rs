//! Where the elements of a texture or surface lie in memory.

use ir::mods::Geometry;
use thiserror::Error;

use crate::Format;

/// Rows of an array begin at multiples of so many bytes.
const ROW_ALIGN: u64 = 64;

/// Levels of a mipmap begin at multiples of so many bytes.
const LEVEL_ALIGN: u64 = 512;

/// The most levels: those of a row of the most elements.
const MAX_LEVELS: u32 = 32;

/// The most bytes that are described.
const MAX_BYTES: u128 = 1 << 48;

/// An array of elements as CUDA allocates it, perhaps with levels.
///
/// All layers of a level lie together, behind those of the level before; of cubes, each face is a
/// layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its elements.
    pub format: Format,
    /// Which coordinates it has.
    pub geometry: Geometry,
    /// Elements along x, y and z; 1 for dimensions that it does not have.
    pub extents: [u32; 3],
    /// Layers, six for each cube; 1 without layers.
    pub layers: u32,
    /// Levels.
    pub levels: u32,
}

impl Shape {
    /// Elements along x, y and z at a level.
    #[must_use]
    pub fn extents_at(&self, level: u32) -> [u32; 3] {
        self.extents.map(|extent| extent.checked_shr(level).unwrap_or(0).max(1))
    }

    /// Bytes from one row to the next at a level.
    #[must_use]
    pub fn pitch_at(&self, level: u32) -> u64 {
        let [width, ..] = self.extents_at(level);
        (u64::from(width) * self.format.bytes() as u64).next_multiple_of(ROW_ALIGN)
    }

    /// Bytes of a layer at a level.
    #[must_use]
    pub fn layer_bytes(&self, level: u32) -> u64 {
        let [_, height, depth] = self.extents_at(level);
        self.pitch_at(level) * u64::from(height) * u64::from(depth)
    }

    /// Bytes in front of a level.
    #[must_use]
    pub fn level_offset(&self, level: u32) -> u64 {
        let bytes = |level| self.layer_bytes(level) * u64::from(self.layers);
        (0..level).map(|level| bytes(level).next_multiple_of(LEVEL_ALIGN)).sum()
    }

    /// All bytes; none if they are more than an address space holds.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        let rows = self.extents[1..].iter().chain([&self.layers]);
        let width = u128::from(self.extents[0]) * self.format.bytes() as u128 + 512;
        let most = rows.map(|&n| u128::from(n)).try_fold(width, u128::checked_mul)?;
        (self.levels <= MAX_LEVELS && most <= MAX_BYTES).then(|| self.level_offset(self.levels))
    }
}

/// What kind of memory a resource is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Elements one behind the other at an address.
    Linear,
    /// Rows of elements at an address, so many bytes apart.
    Pitched(u64),
    /// An array of CUDA.
    Array,
}

/// Elements in memory and the part of them that is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Its kind.
    pub storage: Storage,
    /// Where it begins.
    pub address: u64,
    /// All of it. Its format is that with which it is read.
    pub shape: Shape,
    /// The first level seen.
    pub first_level: u32,
    /// Levels seen.
    pub levels: u32,
    /// The first layer seen.
    pub first_layer: u32,
    /// Layers seen: faces of cubes are layers.
    pub layers: u32,
}

/// A resource that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ResourceError {
    /// The channels of its elements.
    #[error("elements have 1, 2 or 4 channels")]
    Channels,
    /// A dimension.
    #[error("its extents are those of no {}", .0.word())]
    Extents(Geometry),
    /// More than memory holds.
    #[error("it is larger than memory")]
    Size,
    /// The part that is seen.
    #[error("the levels or layers that are seen are not there")]
    View,
    /// Rows that overlap.
    #[error("its rows overlap")]
    Pitch,
}

impl Resource {
    /// All levels and layers of a shape.
    #[must_use]
    pub fn whole(storage: Storage, address: u64, shape: Shape) -> Self {
        let (levels, layers) = (shape.levels, shape.layers);
        Self { storage, address, shape, first_level: 0, levels, first_layer: 0, layers }
    }

    /// Whether an instruction of a geometry can access it, as a surface or as a texture.
    #[must_use]
    pub fn accepts(&self, instruction: Geometry, surface: bool) -> bool {
        let geometry = self.shape.geometry;
        // The faces of a cube are layers of a surface.
        let faces = surface && instruction == Geometry::D2Layered && geometry.is_cube();
        instruction == geometry || faces || !surface && self.is_row_for(instruction)
    }

    /// Whether an instruction takes a plane of one row for that row.
    #[must_use]
    pub fn is_row_for(&self, instruction: Geometry) -> bool {
        let is_plane = self.shape.geometry == Geometry::D2;
        instruction == Geometry::D1 && is_plane && self.shape.extents[1] == 1
    }

    /// Checks that it can be accessed: after this, no sum of it overflows.
    ///
    /// # Errors
    /// If its numbers describe no memory.
    pub fn check(&self) -> Result<(), ResourceError> {
        let shape = &self.shape;
        if !matches!(shape.format.channels, 1 | 2 | 4) {
            return Err(ResourceError::Channels);
        }
        let [width, height, depth] = shape.extents;
        let geometry = shape.geometry;
        let planes = match geometry {
            Geometry::D1 | Geometry::D1Layered => height == 1 && depth == 1,
            Geometry::D2 | Geometry::D2Layered => depth == 1,
            Geometry::D3 => true,
            Geometry::Cube | Geometry::CubeLayered => depth == 1 && width == height,
        };
        let layers = match geometry {
            Geometry::D1 | Geometry::D2 | Geometry::D3 => shape.layers == 1,
            Geometry::D1Layered | Geometry::D2Layered => shape.layers >= 1,
            Geometry::Cube => shape.layers >= 6,
            Geometry::CubeLayered => shape.layers >= 6 && self.layers.is_multiple_of(6),
        };
        if shape.extents.contains(&0) || !planes || !layers {
            return Err(ResourceError::Extents(geometry));
        }
        shape.bytes().ok_or(ResourceError::Size)?;
        let within = |first: u32, count: u32, all: u32| {
            count > 0 && first.checked_add(count).is_some_and(|end| end <= all)
        };
        let faces = geometry != Geometry::Cube || self.layers == 6;
        if !within(self.first_level, self.levels, shape.levels)
            || !within(self.first_layer, self.layers, shape.layers)
            || !faces
        {
            return Err(ResourceError::View);
        }
        if let Storage::Pitched(pitch) = self.storage {
            let row = u64::from(width) * shape.format.bytes() as u64;
            if pitch < row || u128::from(pitch) * u128::from(height) > MAX_BYTES {
                return Err(ResourceError::Pitch);
            }
        }
        Ok(())
    }

    /// Elements along x, y and z at a level that is seen.
    #[must_use]
    pub fn extents_at(&self, level: u32) -> [u32; 3] {
        self.shape.extents_at(self.first_level + level)
    }

    /// The address of an element within bounds: coordinates, layer and level that are seen.
    #[must_use]
    pub fn address_of(&self, [x, y, z]: [u32; 3], layer: u32, level: u32) -> u64 {
        self.row_of([y, z], layer, level) + u64::from(x) * self.shape.format.bytes() as u64
    }

    /// The address of a row.
    #[must_use]
    pub fn row_of(&self, [y, z]: [u32; 2], layer: u32, level: u32) -> u64 {
        let level = self.first_level + level;
        let layer = u64::from(self.first_layer + layer);
        let [_, height, _] = self.shape.extents_at(level);
        let offset = match self.storage {
            Storage::Linear => 0,
            Storage::Pitched(pitch) => pitch * u64::from(y),
            Storage::Array => {
                let row = u64::from(z) * u64::from(height) + u64::from(y);
                self.shape.level_offset(level)
                    + self.shape.layer_bytes(level) * layer
                    + self.shape.pitch_at(level) * row
            }
        };
        self.address.wrapping_add(offset)
    }
}
