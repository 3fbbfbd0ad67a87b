//! Surfaces: where a coordinate is, and what becomes of one that is outside.

use ir::mods::Bounds;
use thiserror::Error;

use crate::{Format, Resource};

/// An access to a surface that cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SurfaceError {
    /// Outside, and the instruction traps.
    #[error(
        "layer {layer}, coordinates {at:?} are outside a surface of {layers} layers and {extents:?} elements, {bytes} bytes each"
    )]
    Outside {
        /// The layer.
        layer: u32,
        /// The coordinates, the first in bytes unless the access is formatted.
        at: [i32; 3],
        /// Layers that there are.
        layers: u32,
        /// Elements along each dimension.
        extents: [u32; 3],
        /// Bytes of an element.
        bytes: usize,
    },
    /// Not aligned.
    #[error("byte {x} of a row is not a multiple of the {bytes} bytes accessed")]
    Alignment {
        /// The first coordinate.
        x: i32,
        /// Bytes accessed.
        bytes: u64,
    },
    /// A reduction of elements that are not single integers of its width.
    #[error("elements of the surface are not single integers of the reduction's width")]
    Reduction,
}

/// The address of `bytes` at a place of a surface; none if the access has no effect. The first
/// coordinate counts bytes, or elements if the access is formatted.
///
/// # Errors
/// If the place is outside and the instruction traps, or if it is not aligned.
pub fn place(
    resource: &Resource,
    layer: u32,
    at: [i32; 3],
    (bytes, formatted): (u64, bool),
    bounds: Bounds,
) -> Result<Option<u64>, SurfaceError> {
    let extents = resource.extents_at(0);
    let element = resource.shape.format.bytes() as u64;
    let row = u64::from(extents[0]) * element;
    let x = i64::from(at[0]) * if formatted { element as i64 } else { 1 };
    let last = (row as i64 - bytes as i64).max(0);
    let clamped = x.clamp(0, last);
    let clamped = clamped - if clamped == x { 0 } else { clamped % bytes as i64 };
    let [y, z] = [1, 2].map(|i| at[i].clamp(0, (extents[i] - 1) as i32));
    let inside = clamped == x && y == at[1] && z == at[2] && layer < resource.layers;
    let fits = bytes <= row;
    if !inside || !fits {
        match bounds {
            Bounds::Clamp if fits => {}
            Bounds::Zero => return Ok(None),
            _ => {
                let (layers, bytes) = (resource.layers, element as usize);
                return Err(SurfaceError::Outside { layer, at, layers, extents, bytes });
            }
        }
    }
    if !formatted && !(clamped as u64).is_multiple_of(bytes) {
        return Err(SurfaceError::Alignment { x: at[0], bytes });
    }
    let layer = layer.min(resource.layers - 1);
    let row = resource.row_of([y as u32, z as u32], layer, 0);
    Ok(Some(row.wrapping_add(clamped as u64)))
}

/// The bytes of an element of a formatted store; components that are not given are 0.
#[must_use]
pub fn convert(format: Format, values: &[u32]) -> [u8; 16] {
    let mut all = [0; 4];
    all.iter_mut().zip(values).for_each(|(to, from)| *to = *from);
    format.write(all)
}
