//! Queries of attributes, with the numbers of OpenCL.
//!
//! Source: PTX ISA 9.1, "Texture Sampler and Surface Types", for the values of channel types and
//! orders.

use ir::mods::{Geometry, Query};

use crate::{AddressMode, Channel, Descriptor, Filter, Storage};

/// The answer to a query, of a level if the query is of a size. A level that is not there has no
/// elements.
#[must_use]
pub fn query(descriptor: &Descriptor, query: Query, level: u32) -> u32 {
    let (resource, sampler) = (&descriptor.resource, &descriptor.sampler);
    let size = |i: usize| match level < resource.levels {
        true => resource.extents_at(level)[i],
        false => 0,
    };
    let dimensions = match resource.shape.geometry {
        Geometry::Cube | Geometry::CubeLayered => 2,
        geometry => geometry.dimensions(),
    };
    let sized = |i: usize| if i < dimensions { size(i) } else { 0 };
    match query {
        Query::Width => sized(0),
        Query::Height => sized(1),
        Query::Depth => sized(2),
        Query::ChannelDataType => channel_type(resource.shape.format.channel),
        Query::ChannelOrder => match resource.shape.format.channels {
            1 => 0x10b0,
            2 => 0x10b2,
            _ => 0x10b5,
        },
        Query::NormalizedCoords => sampler.normalized.into(),
        Query::ArraySize => match resource.shape.geometry {
            Geometry::D1Layered | Geometry::D2Layered => resource.layers,
            Geometry::CubeLayered => resource.layers / 6,
            _ => 0,
        },
        Query::MipmapLevels => resource.levels,
        Query::Samples => 1,
        Query::ForceUnnormalized => (!sampler.normalized).into(),
        Query::FilterMode => (sampler.filter == Filter::Linear).into(),
        Query::AddrMode0 => mode(sampler.mode(0)),
        Query::AddrMode1 => mode(sampler.mode(1)),
        Query::AddrMode2 => mode(sampler.mode(2)),
        Query::MemoryLayout => (resource.storage == Storage::Array).into(),
    }
}

/// The modes in the order in which the PTX ISA names them: wrap, mirror, clamp to the edge, to the
/// border.
fn mode(mode: AddressMode) -> u32 {
    match mode {
        AddressMode::Wrap => 0,
        AddressMode::Mirror => 1,
        AddressMode::Clamp => 2,
        AddressMode::Border => 3,
    }
}

fn channel_type(channel: Channel) -> u32 {
    match channel {
        Channel::Snorm8 => 0x10d0,
        Channel::Snorm16 => 0x10d1,
        Channel::Unorm8 => 0x10d2,
        Channel::Unorm16 => 0x10d3,
        Channel::S8 => 0x10d7,
        Channel::S16 => 0x10d8,
        Channel::S32 => 0x10d9,
        Channel::U8 => 0x10da,
        Channel::U16 => 0x10db,
        Channel::U32 => 0x10dc,
        Channel::F16 => 0x10dd,
        Channel::F32 => 0x10de,
    }
}
