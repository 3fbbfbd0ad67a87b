//! Places of surfaces: inside, outside, and not aligned.

use ir::mods::{Bounds, Geometry};
use texture::{Channel, Format, Resource, Shape, Storage, SurfaceError, place};

fn surface() -> Resource {
    let shape = Shape {
        format: Format { channel: Channel::U16, channels: 2 },
        geometry: Geometry::D2Layered,
        extents: [6, 3, 1],
        layers: 2,
        levels: 1,
    };
    Resource::whole(Storage::Array, 0x1000, shape)
}

#[test]
fn every_place_inside_has_an_address_of_its_own() {
    let surface = surface();
    let mut seen = std::collections::BTreeSet::new();
    for layer in 0..2 {
        for y in 0..3 {
            for x in 0..6 {
                let bytes = place(&surface, layer, [4 * x, y, 0], (4, false), Bounds::Trap);
                let element = place(&surface, layer, [x, y, 0], (4, true), Bounds::Zero);
                assert_eq!(bytes, element);
                let at = bytes.unwrap().unwrap();
                assert!(seen.insert(at));
                assert_eq!(at, surface.address_of([x as u32, y as u32, 0], layer, 0));
            }
        }
    }
}

#[test]
fn a_place_outside_is_what_the_instruction_says() {
    let surface = surface();
    let outside = [
        (0, [-4, 1, 0], (0, [0, 1, 0])),
        (0, [24, 1, 0], (0, [20, 1, 0])),
        (0, [21, 1, 0], (0, [20, 1, 0])),
        (1, [8, -1, 0], (1, [8, 0, 0])),
        (1, [8, 3, 0], (1, [8, 2, 0])),
        (2, [8, 2, 0], (1, [8, 2, 0])),
        (u32::MAX, [i32::MAX, i32::MIN, 0], (1, [20, 0, 0])),
        (0, [i32::MIN, 0, 7], (0, [0, 0, 0])),
    ];
    for (layer, at, (near_layer, near)) in outside {
        let access = (4, false);
        let trapped = place(&surface, layer, at, access, Bounds::Trap);
        assert!(matches!(trapped, Err(SurfaceError::Outside { .. })), "{at:?}");
        assert_eq!(place(&surface, layer, at, access, Bounds::Zero), Ok(None));
        let nearest = place(&surface, near_layer, near, access, Bounds::Trap);
        assert_eq!(place(&surface, layer, at, access, Bounds::Clamp), nearest, "{at:?}");
    }
    let odd = place(&surface, 0, [2, 0, 0], (4, false), Bounds::Clamp);
    assert_eq!(odd, Err(SurfaceError::Alignment { x: 2, bytes: 4 }));
    let narrow = Resource { shape: Shape { extents: [1, 1, 1], ..surface.shape }, ..surface };
    // There is no place for 16 bytes in a row of 4.
    let wide = place(&narrow, 0, [0, 0, 0], (16, false), Bounds::Clamp);
    assert!(matches!(wide, Err(SurfaceError::Outside { .. })));
}
