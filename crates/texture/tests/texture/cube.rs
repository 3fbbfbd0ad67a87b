//! Cubes against geometry: faces as the guide's table has them, and neighbours across edges as
//! points in space are neighbours.

use ir::mods::Geometry;
use texture::{Channel, Filter, Format, Request, Resource, Sampler, Shape, Storage, Texel, sample};

const SIZE: i64 = 4;

fn cube() -> (Resource, Vec<u8>) {
    let format = Format { channel: Channel::F32, channels: 1 };
    let size = SIZE as u32;
    let shape = Shape {
        format,
        geometry: Geometry::CubeLayered,
        extents: [size, size, 1],
        layers: 12,
        levels: 1,
    };
    let resource = Resource::whole(Storage::Array, 0, shape);
    resource.check().unwrap();
    let mut memory = vec![0; shape.bytes().unwrap() as usize];
    for layer in 0..12 {
        for y in 0..size {
            for x in 0..size {
                let at = resource.address_of([x, y, 0], layer, 0) as usize;
                let value = number(layer.into(), x.into(), y.into()) as f32;
                memory[at..at + 4].copy_from_slice(&value.to_le_bytes());
            }
        }
    }
    (resource, memory)
}

fn number(layer: i64, x: i64, y: i64) -> i64 {
    (layer * SIZE + y) * SIZE + x
}

/// A point of a face at coordinates from -1 to 1: the guide's table, solved for the direction.
fn point(face: i64, s: f64, t: f64) -> [f64; 3] {
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

/// From -1 to 1: the middle of an element.
fn middle(index: i64) -> f64 {
    (2 * index + 1) as f64 / SIZE as f64 - 1.0
}

fn value(sampler: &Sampler, layer: u32, direction: [f64; 3]) -> f32 {
    let (resource, memory) = cube();
    let at = direction.map(|a| a as f32);
    let request = Request::At { layer, at, lod: 0.0, derivatives: None, offsets: [0; 3] };
    let read = |at: u64, len: usize| {
        let mut out = [0; 16];
        out[..len].copy_from_slice(&memory[at as usize..][..len]);
        Ok::<_, ()>(out)
    };
    let Texel::Float([value, ..]) = sample(&resource, sampler, &request, read).unwrap() else {
        panic!("a texture of floats gives floats");
    };
    value
}

#[test]
fn a_direction_meets_the_element_that_it_points_to() {
    for filter in Filter::ALL {
        let sampler = Sampler { filter, ..Sampler::default() };
        for (cube, face) in (0..2).flat_map(|cube| (0..6).map(move |face| (cube, face))) {
            for (x, y) in (0..SIZE).flat_map(|y| (0..SIZE).map(move |x| (x, y))) {
                let direction = point(face, middle(x), middle(y)).map(|a| a * 2.5);
                let found = value(&sampler, cube, direction);
                assert_eq!(found as i64, number(i64::from(cube) * 6 + face, x, y));
            }
        }
    }
}

/// At the edge of a face, half of a value is the element behind the edge: the nearest in space, as
/// all faces' elements lie on the cube.
#[test]
fn a_seamless_filter_takes_the_element_behind_the_edge() {
    let sampler = Sampler { filter: Filter::Linear, seamless: true, ..Sampler::default() };
    let plain = Sampler { seamless: false, ..sampler };
    for face in 0..6 {
        for k in 0..SIZE {
            let edges = [
                ([-1.0, middle(k)], [0, k]),
                ([1.0, middle(k)], [SIZE - 1, k]),
                ([middle(k), -1.0], [k, 0]),
                ([middle(k), 1.0], [k, SIZE - 1]),
            ];
            for ([s, t], [x, y]) in edges {
                let own = number(face, x, y);
                // A little inside, so that the face is the one meant; weights are rounded.
                let direction = point(face, s * 0.9999, t);
                let direction = if s.abs() == 1.0 { direction } else { point(face, s, t * 0.9999) };
                assert_eq!(value(&plain, 0, direction) as i64, own);
                let found = 2.0 * f64::from(value(&sampler, 0, direction)) - own as f64;
                assert_eq!(
                    found,
                    nearest(face, x, y, s.abs() == 1.0) as f64,
                    "face {face}, {x}, {y}"
                );
            }
        }
    }
}

/// The element of another face whose middle is nearest to that of an element, of those as far along
/// the edge, which runs down or across.
fn nearest(face: i64, x: i64, y: i64, down: bool) -> i64 {
    let (origin, moved) = (point(face, 0.0, 0.0), if down { [0.0, 1.0] } else { [1.0, 0.0] });
    let moved = point(face, moved[0], moved[1]);
    let along = (0..3).find(|&i| moved[i] != origin[i]).unwrap();
    let here = point(face, middle(x), middle(y));
    let mut best = (f64::INFINITY, 0);
    for other in (0..6).filter(|&other| other != face) {
        for (i, j) in (0..SIZE).flat_map(|j| (0..SIZE).map(move |i| (i, j))) {
            let there = point(other, middle(i), middle(j));
            let distance = here.iter().zip(there).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
            if here[along] == there[along] && distance < best.0 {
                best = (distance, number(other, i, j));
            }
        }
    }
    best.1
}
