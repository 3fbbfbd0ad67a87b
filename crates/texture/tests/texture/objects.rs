//! Objects as bytes: what was encoded is decoded, and no bytes make a panic.

use ir::mods::{Geometry, Query};
use ir::testing::Rng;
use texture::{
    AddressMode, BYTES, Channel, Descriptor, DescriptorError, Filter, Format, Request, Resource,
    Sampler, Shape, Storage, query, sample,
};

fn object() -> Descriptor {
    let shape = Shape {
        format: Format { channel: Channel::Snorm16, channels: 2 },
        geometry: Geometry::D2Layered,
        extents: [100, 30, 1],
        layers: 7,
        levels: 3,
    };
    let whole = Resource::whole(Storage::Array, 0x7000_0000_0040, shape);
    let sampler = Sampler {
        modes: [AddressMode::Mirror, AddressMode::Border, AddressMode::Clamp],
        filter: Filter::Linear,
        level_filter: Filter::Linear,
        normalized: true,
        srgb: true,
        anisotropy: 16,
        bias: -0.5,
        levels: [0.25, 2.0],
        border: [1.0, 2.0, 3.0, 4.0],
        ..Sampler::default()
    };
    let resource = Resource { first_level: 1, levels: 2, first_layer: 2, layers: 3, ..whole };
    Descriptor { surface: false, resource, sampler }
}

#[test]
fn an_object_is_read_as_it_was_written() {
    let object = object();
    assert_eq!(Descriptor::decode(&object.encode()), Ok(object));
    let mut bytes = object.encode();
    bytes[0] = 0;
    assert_eq!(Descriptor::decode(&bytes), Err(DescriptorError::Magic));
}

/// Kernels can write anything over an object: it is refused, or describes memory whose addresses
/// can be computed.
#[test]
fn changed_bytes_are_refused_or_harmless() {
    let mut rng = Rng::new(7);
    let mut kept = 0;
    for _ in 0..200_000 {
        let mut bytes = object().encode();
        for _ in 0..1 + rng.below(4) {
            let at = 4 + rng.below(BYTES - 4);
            bytes[at] = if rng.one_in(2) { rng.below(8) as u8 } else { rng.bits() as u8 };
        }
        let Ok(object) = Descriptor::decode(&bytes) else { continue };
        kept += 1;
        let at = [0.3, f32::MAX, -7.0];
        let request =
            Request::At { layer: 3, at, lod: 1.5, derivatives: None, offsets: [7, -8, 0] };
        let read = |_, len: usize| if len <= 16 { Ok([0x3c; 16]) } else { Err(()) };
        sample(&object.resource, &object.sampler, &request, read).unwrap();
        for &asked in Query::ALL {
            let _ = query(&object, asked, rng.bits() as u32);
        }
    }
    assert!(kept > 1000, "{kept}");
}

#[test]
fn queries_tell_what_an_object_says() {
    let object = object();
    let expected = [
        (Query::Width, 50),
        (Query::Height, 15),
        (Query::Depth, 0),
        (Query::ChannelDataType, 0x10d1),
        (Query::ChannelOrder, 0x10b2),
        (Query::NormalizedCoords, 1),
        (Query::ArraySize, 3),
        (Query::MipmapLevels, 2),
        (Query::Samples, 1),
        (Query::ForceUnnormalized, 0),
        (Query::FilterMode, 1),
        (Query::AddrMode0, 1),
        (Query::AddrMode1, 3),
        (Query::AddrMode2, 2),
        (Query::MemoryLayout, 1),
    ];
    for (asked, answer) in expected {
        assert_eq!(query(&object, asked, 0), answer, "{asked:?}");
    }
    assert_eq!([1, 2].map(|level| query(&object, Query::Width, level)), [25, 0]);
}
