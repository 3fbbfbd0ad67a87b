//! Random coordinates in every combination of geometry, modes and filters.

use ir::mods::Geometry;
use ir::testing::Rng;
use texture::{
    AddressMode, Channel, Filter, Format, LANES, Places, Plane, Reads, Request, Resource, Sampler,
    Shape, Storage, Texel, sample,
};

use crate::model::{PART, element, level_value, levels, rounded};

/// Where textures of the tests begin.
const BASE: u64 = 0x1000;

fn resource(geometry: Geometry, extents: [u32; 3], layers: u32, levels: u32) -> Resource {
    let format = Format { channel: Channel::F32, channels: 4 };
    let shape = Shape { format, geometry, extents, layers, levels };
    let resource = Resource::whole(Storage::Array, BASE, shape);
    resource.check().unwrap();
    resource
}

/// The memory of a texture whose elements are those of the model.
pub(crate) fn memory(resource: &Resource) -> Vec<u8> {
    let shape = resource.shape;
    let mut bytes = vec![0; shape.bytes().unwrap() as usize];
    for level in 0..shape.levels {
        let [width, height, depth] = resource.extents_at(level);
        for layer in 0..shape.layers {
            for z in 0..depth {
                for y in 0..height {
                    for x in 0..width {
                        let at = (resource.address_of([x, y, z], layer, level) - BASE) as usize;
                        for c in 0..4 {
                            let index = [x, y, z].map(i64::from);
                            let value = element(index, layer.into(), level.into(), c);
                            let value = value as f32 / 16.0;
                            bytes[at + 4 * c..][..4].copy_from_slice(&value.to_le_bytes());
                        }
                    }
                }
            }
        }
    }
    bytes
}

pub(crate) fn reader(memory: &[u8]) -> impl FnMut(u64, usize) -> Result<[u8; 16], String> + '_ {
    move |at, len| {
        let from = at.checked_sub(BASE).ok_or("below")? as usize;
        let found = memory.get(from..from + len).ok_or("beyond")?;
        let mut out = [0; 16];
        out[..len].copy_from_slice(found);
        Ok(out)
    }
}

/// A coordinate in parts: mostly around the texture, at times far away.
fn coordinate(rng: &mut Rng, size: u32, normalized: bool) -> i128 {
    let whole = if normalized { PART } else { PART * i128::from(size) };
    // A float has 24 bits, and so has a number of parts.
    let range = whole.min(1 << 22) * 4;
    let x = i128::from(rng.bits()) % range - range / 2 + whole / 2;
    match rng.below(8) {
        // The places where elements begin, and their middles.
        0 => x.div_euclid(PART / 2) * (PART / 2),
        1 if normalized => (i128::from(rng.bits()) % 16 - 8) * PART / 4,
        _ => x,
    }
}

/// The value in one lane of a whole warp.
fn in_a_warp(
    (plane, memory): (&Plane, &[u8]),
    (layer, at, offsets): (u32, [f32; 3], [i32; 3]),
    rng: &mut Rng,
) -> Texel {
    let lane = rng.below(LANES);
    let others = std::array::from_fn(|_| rng.value() as u32);
    let (mut at, mut layers) = (at.map(|at| (at.to_bits(), others)), others);
    at.iter_mut().for_each(|(at, row)| row[lane] = *at);
    layers[lane] = layer;
    let offsets = offsets.map(|offset| [offset.cast_unsigned(); LANES]);
    let places = Places {
        layer: layers,
        at: at.map(|(_, row)| row),
        offsets: rng.one_in(2).then_some(offsets),
        level: others,
        on: 1 << lane | rng.value() as u32,
    };
    let (base, len) = plane.extent();
    let bytes = &memory[(base - BASE) as usize..][..len as usize];
    let rows = plane.sample(bytes, &places, None);
    Texel::Float([0, 1, 2, 3].map(|c| f32::from_bits(rows[c][lane])))
}

fn check(geometry: Geometry, levels_too: bool, sampler: &Sampler, rng: &mut Rng, count: usize) {
    let (extents, layers, mip) = match geometry {
        Geometry::D1 => ([13, 1, 1], 1, 4),
        Geometry::D1Layered => ([8, 1, 1], 3, 1),
        Geometry::D2 => ([8, 5, 1], 1, 4),
        Geometry::D2Layered => ([7, 4, 1], 3, 2),
        _ => ([4, 3, 5], 1, 3),
    };
    let mip = if levels_too { mip } else { 1 };
    let resource = resource(geometry, extents, layers, mip);
    let memory = memory(&resource);
    let plane = Plane::new(&resource, sampler);
    assert_eq!(plane.is_some(), mip == 1);
    for _ in 0..count {
        let parts = extents.map(|size| coordinate(rng, size, sampler.normalized));
        let layer = rng.below(layers as usize + 2) as u32;
        let lod = i128::from(rng.bits()) % (6 * PART) - PART;
        let float = |parts: i128| parts as f32 / PART as f32;
        let exact = parts.iter().chain([&lod]).all(|&p| (float(p) * PART as f32) as i128 == p);
        if !exact {
            continue;
        }
        let request = Request::At {
            layer,
            at: parts.map(float),
            lod: float(lod),
            derivatives: None,
            offsets: [0; 3],
        };
        let found = sample(&resource, sampler, &request, reader(&memory)).unwrap();
        let layer = i64::from(layer.min(layers - 1));
        let expected = [0, 1, 2, 3].map(|c| {
            let used = levels(lod, sampler, mip);
            let of_level = |(level, weight): (i64, i128)| {
                level_value(&resource, sampler, (parts, layer, level), c) * weight
            };
            rounded(used.into_iter().map(of_level).sum())
        });
        assert_eq!(found, Texel::Float(expected), "{geometry:?} {sampler:?} {request:?}");
        if let Some(plane) = &plane {
            let place = (layer as u32, parts.map(float), [0; 3]);
            let found = in_a_warp((plane, &memory), place, rng);
            assert_eq!(found, Texel::Float(expected), "{geometry:?} {sampler:?} {request:?}");
        }
    }
}

fn every_mode(count: usize, seed: u64) {
    let mut rng = Rng::new(seed);
    let geometries =
        [Geometry::D1, Geometry::D1Layered, Geometry::D2, Geometry::D2Layered, Geometry::D3];
    for geometry in geometries {
        for mode in AddressMode::ALL {
            for filter in Filter::ALL {
                for normalized in [false, true] {
                    let mut modes = [mode; 3];
                    if rng.one_in(3) {
                        modes[1] = AddressMode::ALL[rng.below(4)];
                    }
                    let sampler = Sampler {
                        modes,
                        filter,
                        level_filter: Filter::ALL[rng.below(2)],
                        normalized,
                        bias: [0.0, 0.75][rng.below(2)],
                        levels: [[0.0, 8.0], [1.25, 2.5]][rng.below(2)],
                        border: [0.5, -3.0, 7.25, 1.0],
                        ..Sampler::default()
                    };
                    check(geometry, true, &sampler, &mut rng, count);
                    check(geometry, false, &sampler, &mut rng, count);
                }
            }
        }
    }
}

#[test]
fn a_value_is_that_of_the_formulas() {
    every_mode(400, 1);
}

/// A campaign: `cargo test -p simtlab-texture --release -- --ignored`.
#[test]
#[ignore = "minutes"]
fn many_values_are_those_of_the_formulas() {
    every_mode(100_000, 2);
}

/// Offsets add elements to the coordinates; four gathered elements are those of a linear filter.
#[test]
fn offsets_and_gathered_elements_are_those_of_the_formulas() {
    let resource = resource(Geometry::D2, [8, 5, 1], 1, 1);
    let memory = memory(&resource);
    let mut rng = Rng::new(3);
    for _ in 0..2000 {
        let mode = AddressMode::ALL[rng.below(4)];
        let sampler = Sampler { modes: [mode; 3], filter: Filter::Linear, ..Sampler::default() };
        let at = [rng.below(160) as f32 / 8.0 - 6.0, rng.below(160) as f32 / 8.0 - 7.0, 0.0];
        let offsets = [rng.below(16) as i32 - 8, rng.below(16) as i32 - 8, 0];
        let request =
            |at, offsets| Request::At { layer: 0, at, lod: 0.0, derivatives: None, offsets };
        let moved = [at[0] + offsets[0] as f32, at[1] + offsets[1] as f32, 0.0];
        let [one, other] = [request(at, offsets), request(moved, [0; 3])]
            .map(|request| sample(&resource, &sampler, &request, reader(&memory)).unwrap());
        assert_eq!(one, other);
        // A point between four elements with equal weights is their mean.
        let corner = [at[0].floor() + 1.0, at[1].floor() + 1.0, 0.0];
        let place = (0, corner, [0; 3]);
        let found =
            texture::gather(&resource, &sampler, place, ir::mods::Component::G, reader(&memory));
        let found = found.unwrap().map(f32::from_bits);
        let request = request(corner, [0; 3]);
        let Texel::Float(mean) = sample(&resource, &sampler, &request, reader(&memory)).unwrap()
        else {
            panic!("a texture of floats gives floats");
        };
        assert_eq!(found.iter().sum::<f32>() / 4.0, mean[1]);
        // Counterclockwise from the one at the lower left.
        for (value, [dx, dy]) in found.into_iter().zip([[0, 1], [1, 1], [1, 0], [0, 0]]) {
            let point = Sampler { filter: Filter::Point, ..sampler };
            let at = [corner[0] - 0.5 + dx as f32, corner[1] - 0.5 + dy as f32, 0.0];
            let at = Request::At { layer: 0, at, lod: 0.0, derivatives: None, offsets: [0; 3] };
            let texel = sample(&resource, &point, &at, reader(&memory)).unwrap();
            assert_eq!(texel.bits()[1], value.to_bits());
        }
    }
}

/// Whole coordinates name elements of a level; what is not there is zero.
#[test]
fn elements_are_found_by_their_indices() {
    let resource = resource(Geometry::D3, [4, 3, 5], 1, 3);
    let memory = memory(&resource);
    let sampler = Sampler { filter: Filter::Linear, normalized: true, ..Sampler::default() };
    for level in -1..4 {
        for (x, y, z) in
            [(0, 0, 0), (1, 0, 1), (3, 2, 4), (4, 0, 0), (-1, 0, 0), (0, 3, 0), (0, 0, i32::MAX)]
        {
            let request = Request::Element { layer: 9, at: [x, y, z], level, offsets: [0; 3] };
            let found = sample(&resource, &sampler, &request, reader(&memory)).unwrap();
            let sizes = [4, 3, 5].map(|size: i32| (size >> level.max(0)).max(1));
            let inside = (0..3).contains(&level)
                && [x, y, z].iter().zip(sizes).all(|(&at, size)| (0..size).contains(&at));
            let index = [x, y, z].map(i64::from);
            let expected = match inside {
                true => [0, 1, 2, 3].map(|c| element(index, 0, level.into(), c) as f32 / 16.0),
                false => [0.0; 4],
            };
            assert_eq!(found, Texel::Float(expected), "{request:?}");
        }
    }
}

/// Derivatives of one element for each step of the coordinate give the first level, of two the
/// second.
#[test]
fn derivatives_give_the_level() {
    let resource = resource(Geometry::D2, [8, 8, 1], 1, 4);
    let memory = memory(&resource);
    let base = Sampler { levels: [0.0, 10.0], ..Sampler::default() };
    for normalized in [false, true] {
        let sampler = Sampler { normalized, ..base };
        for level in 0..4 {
            let step = (1 << level) as f32 / if normalized { 8.0 } else { 1.0 };
            for derivatives in [[[step, 0.0, 0.0], [0.0; 3]], [[0.0; 3], [0.0, -step, 0.0]]] {
                let at = [0.3, 0.6, 0.0];
                let given = |lod, derivatives| Request::At {
                    layer: 0,
                    at,
                    lod,
                    derivatives,
                    offsets: [0; 3],
                };
                let [one, other] = [given(0.0, Some(derivatives)), given(level as f32, None)]
                    .map(|request| sample(&resource, &sampler, &request, reader(&memory)).unwrap());
                assert_eq!(one, other, "{derivatives:?}");
            }
        }
    }
}

/// Whole warps of every format have the values of their lanes, bit by bit, at coordinates inside
/// and outside, and at such that are none.
#[test]
fn warps_have_the_values_of_their_lanes() {
    let mut rng = Rng::new(4);
    let mut planes = 0;
    let geometries =
        [Geometry::D1, Geometry::D1Layered, Geometry::D2, Geometry::D2Layered, Geometry::D3];
    for _ in 0..4000 {
        let geometry = geometries[rng.below(5)];
        let channel = Channel::ALL[rng.below(12)];
        let format = Format { channel, channels: [1, 2, 4][rng.below(3)] };
        let mut extent = |there: bool| if there { 1 + rng.below(6) as u32 } else { 1 };
        let dimensions = geometry.dimensions();
        let extents = [extent(true), extent(dimensions > 1), extent(dimensions > 2)];
        let layers = extent(geometry.is_layered());
        let shape = Shape { format, geometry, extents, layers, levels: 1 };
        let resource = Resource::whole(Storage::Array, BASE, shape);
        resource.check().unwrap();
        let mut any = || AddressMode::ALL[rng.below(4)];
        let sampler = Sampler {
            modes: [any(), any(), any()],
            filter: Filter::ALL[rng.below(2)],
            normalized: rng.one_in(2),
            integers: rng.one_in(2),
            srgb: rng.one_in(8),
            border: [0.5, -3.0, f32::NAN, 300.0],
            ..Sampler::default()
        };
        let memory: Vec<u8> = (0..shape.bytes().unwrap() / 4)
            .flat_map(|_| match rng.one_in(8) {
                true => (rng.value() as u32).to_le_bytes(),
                false => (rng.below(4096) as f32 / 8.0 - 100.0).to_le_bytes(),
            })
            .collect();
        let Some(plane) = Plane::new(&resource, &sampler) else {
            assert!(sampler.srgb && channel.bytes() == 1, "{resource:?} {sampler:?}");
            continue;
        };
        planes += 1;
        let whole = rng.one_in(4);
        let mut coordinate = || match rng.below(8) {
            0 => rng.value() as u32,
            _ if whole => (rng.below(10) as u32).wrapping_sub(2),
            1 => (rng.below(32) as f32 / 2.0 - 4.0).to_bits(),
            _ => (rng.below(4096) as f32 / 256.0 - 4.0).to_bits(),
        };
        let mut row = || std::array::from_fn::<u32, LANES, _>(|_| coordinate());
        let (at, layer, offset) = ([row(), row(), row()], row(), row());
        let offsets = rng.one_in(2).then_some([offset.map(|o| o & 15), offset, [0; LANES]]);
        let level = offset.map(|o| u32::from(o & 7 == 0));
        let places = Places { layer, at, offsets, level, on: rng.value() as u32 };
        let (base, len) = plane.extent();
        let bytes = &memory[(base - BASE) as usize..][..len as usize];
        let mut reads = Reads::default();
        let rows = match whole {
            true => plane.elements(bytes, &places, Some(&mut reads)),
            false => plane.sample(bytes, &places, Some(&mut reads)),
        };
        for lane in 0..LANES {
            let mut pieces = Vec::new();
            let read = |at: u64, len: usize| {
                pieces.push((at, len));
                reader(&memory)(at, len)
            };
            let [at, moved] = [places.at, places.offsets.unwrap_or_default()]
                .map(|rows| rows.map(|row| row[lane]));
            let offsets = moved.map(u32::cast_signed);
            let layer = places.layer[lane];
            let request = match whole {
                true => {
                    let level = places.level[lane].cast_signed();
                    Request::Element { layer, at: at.map(u32::cast_signed), level, offsets }
                }
                false => {
                    let at = at.map(f32::from_bits);
                    Request::At { layer, at, lod: 0.0, derivatives: None, offsets }
                }
            };
            if places.on >> lane & 1 != 0 {
                let expected = sample(&resource, &sampler, &request, read).unwrap().bits();
                let found = [0, 1, 2, 3].map(|c| rows[c][lane]);
                assert_eq!(found, expected, "{resource:?} {sampler:?} {request:?}");
            }
            let count = usize::from(reads.count[lane]);
            let read: Vec<_> = (0..count).map(|i| (reads.at[i][lane], format.bytes())).collect();
            assert_eq!(read, pieces, "{resource:?} {sampler:?} {request:?}");
        }
    }
    assert!(planes > 3000, "{planes}");
}

/// No coordinate, not even one that is no number, reaches memory outside.
#[test]
fn odd_coordinates_stay_inside() {
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, -0.0, 1e-45, -1e-45];
    for geometry in [Geometry::D1, Geometry::D2Layered, Geometry::D3, Geometry::Cube] {
        let (extents, layers) = match geometry {
            Geometry::D1 => ([5, 1, 1], 1),
            Geometry::D2Layered => ([5, 3, 1], 2),
            Geometry::D3 => ([5, 3, 2], 1),
            _ => ([4, 4, 1], 6),
        };
        let resource = resource(geometry, extents, layers, 2);
        let memory = memory(&resource);
        for mode in AddressMode::ALL {
            for (filter, normalized) in [(0, false), (1, false), (0, true), (1, true)] {
                let filter = Filter::ALL[filter];
                let levels = [0.0, f32::INFINITY];
                let seamless = normalized;
                let modes = [mode; 3];
                let sampler = Sampler {
                    modes,
                    filter,
                    level_filter: filter,
                    normalized,
                    levels,
                    seamless,
                    ..Sampler::default()
                };
                for x in odd {
                    for y in odd {
                        for derivatives in [None, Some([[x, y, x], [y, y, x]])] {
                            let at = [x, y, x];
                            let request = Request::At {
                                layer: u32::MAX,
                                at,
                                lod: y,
                                derivatives,
                                offsets: [-8, 7, 7],
                            };
                            sample(&resource, &sampler, &request, reader(&memory)).unwrap();
                        }
                    }
                }
            }
        }
    }
}
