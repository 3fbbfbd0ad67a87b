//! Tensor copies against loops over single elements, as NumPy would index them.

use simt::tensor::{
    Coordinates, Fill, Interleave, MAX_RANK, Mode, TensorElement, TensorMap, TensorSwizzle,
};

const BASE: u64 = 4096;

fn bytes_of(element: TensorElement) -> u64 {
    element.bits() / 8
}

/// Elements of whole bytes.
fn elements() -> impl Iterator<Item = TensorElement> {
    TensorElement::ALL.into_iter().filter(|e| e.bits() >= 8)
}

fn map(element: TensorElement, rank: usize, extents: &[u64], mode: Mode) -> TensorMap {
    let mut all = [1; MAX_RANK];
    all[..rank].copy_from_slice(extents);
    let mut strides = [0; MAX_RANK - 1];
    let mut next = (all[0] * bytes_of(element)).next_multiple_of(16) + 16;
    for (i, stride) in strides.iter_mut().enumerate().take(rank - 1) {
        *stride = next;
        next *= all[i + 1];
    }
    TensorMap {
        element,
        rank: rank as u32,
        address: BASE,
        extents: all,
        strides,
        steps: [1; MAX_RANK],
        interleave: Interleave::None,
        swizzle: TensorSwizzle::None,
        promotion: 0,
        fill: Fill::Zeros,
        mode,
    }
}

/// A byte of global memory.
fn global(address: u64) -> u8 {
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// The element at coordinates, or the fill: one index after the other, as a strided view has them.
fn element_at(map: &TensorMap, at: &[i64]) -> Vec<u8> {
    let size = bytes_of(map.element);
    let inside = at.iter().zip(map.extents).all(|(&c, n)| c >= 0 && (c as u64) < n);
    if !inside {
        return match (map.fill, size) {
            (Fill::Zeros, _) => vec![0; size as usize],
            (Fill::Nan, 2) => vec![0xff, 0x7f],
            (Fill::Nan, 4) => vec![0xff, 0xff, 0xff, 0x7f],
            (Fill::Nan, _) => vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
        };
    }
    let outer: u64 = at[1..].iter().zip(map.strides).map(|(&c, stride)| c as u64 * stride).sum();
    let first = BASE + outer + at[0] as u64 * size;
    (first..first + size).map(global).collect()
}

/// Where the swizzle puts a byte: the patterns as tables of units, from the figures of the text.
fn swizzled(swizzle: TensorSwizzle, address: u64) -> u64 {
    let (line, byte) = (address / 128, address % 128);
    let exchange =
        |unit: u64, pattern: u64| line * 128 + ((byte / unit) ^ pattern) * unit + byte % unit;
    match swizzle {
        TensorSwizzle::None => address,
        TensorSwizzle::B32 => exchange(16, line % 2),
        TensorSwizzle::B64 => exchange(16, line % 4),
        TensorSwizzle::B128 => exchange(16, line % 8),
        TensorSwizzle::B128Atom32 => exchange(32, line % 4),
        TensorSwizzle::B128Atom32Flip8 => {
            let address = exchange(32, line % 4);
            if line % 2 == 1 { address ^ 8 } else { address }
        }
        TensorSwizzle::B128Atom64 => exchange(64, line % 2),
    }
}

/// Shared memory after a load, by the runs.
fn load(map: &TensorMap, at: &Coordinates<'_>, shared: u64) -> Vec<Option<u8>> {
    let mut memory = vec![None; 1 << 17];
    for run in map.runs(at, shared) {
        for i in 0..run.bytes {
            let place = (run.shared + i) as usize;
            assert!(memory[place].is_none(), "a byte twice");
            let filling = map.filling()[((run.shared + i) % 8) as usize];
            memory[place] = Some(run.global.map_or(filling, |address| global(address + i)));
        }
    }
    memory
}

/// Compares a load with a list of the elements of each line.
fn check(map: &TensorMap, at: &Coordinates<'_>, lines: &[Vec<Vec<i64>>]) {
    assert_eq!(map.check(), Ok(()), "{map:?}");
    assert_eq!(TensorMap::decode(&map.encode()), Ok(*map));
    let shared = 1024;
    let memory = load(map, at, shared);
    let size = bytes_of(map.element);
    let line_bytes = lines[0].len() as u64 * size;
    let pitch = match map.swizzle {
        TensorSwizzle::None => line_bytes,
        TensorSwizzle::B32 => 32,
        TensorSwizzle::B64 => 64,
        _ => 128,
    };
    let mut written = 0;
    for (number, line) in lines.iter().enumerate() {
        for (index, at) in line.iter().enumerate() {
            for (i, byte) in element_at(map, at).into_iter().enumerate() {
                let address = shared + number as u64 * pitch + index as u64 * size + i as u64;
                let place = swizzled(map.swizzle, address) as usize;
                assert_eq!(memory[place], Some(byte), "{map:?} element {at:?}");
                written += 1;
            }
        }
    }
    assert_eq!(memory.iter().flatten().count(), written);
    assert_eq!(map.bytes(at), written as u64);
}

/// The elements of a box, line by line.
fn tile(map: &TensorMap, first: &[i32], extents: &[u32]) -> Vec<Vec<Vec<i64>>> {
    let mut lines = vec![vec![]];
    for dimension in (1..map.rank as usize).rev() {
        let step = map.steps[dimension];
        let along = (0..extents[dimension]).step_by(step as usize);
        let along: Vec<i64> = along.map(|k| i64::from(first[dimension]) + i64::from(k)).collect();
        lines = lines
            .into_iter()
            .flat_map(|rest: Vec<i64>| along.iter().map(move |&c| [&[c], &rest[..]].concat()))
            .collect();
    }
    // The dimension next to the innermost one varies fastest.
    let rank = map.rank as usize;
    if rank > 1 {
        lines.sort_by(|a, b| a.iter().rev().cmp(b.iter().rev()));
    }
    let inner = |rest: &Vec<i64>| {
        let element = |k: u32| [&[i64::from(first[0]) + i64::from(k)], &rest[..]].concat();
        (0..extents[0]).map(element).collect()
    };
    lines.iter().map(inner).collect()
}

#[test]
fn every_swizzle_of_every_element_in_every_rank() {
    for element in elements() {
        let size = bytes_of(element) as u32;
        for swizzle in TensorSwizzle::ALL {
            for rank in 1..=MAX_RANK {
                for line in [16, 32, 128]
                    .into_iter()
                    .filter(|&b| swizzle == TensorSwizzle::None || b <= swizzle.span())
                {
                    let inner = line as u32 / size;
                    let extents = [u64::from(inner) * 2, 7, 5, 3, 2];
                    let mut boxes = [1; MAX_RANK];
                    boxes[..rank].copy_from_slice(&[inner, 4, 3, 2, 2][..rank]);
                    let fill = if element.is_float() { Fill::Nan } else { Fill::Zeros };
                    let mode = Mode::Tiled { extents: boxes };
                    let map =
                        TensorMap { swizzle, fill, ..map(element, rank, &extents[..rank], mode) };
                    for first in [
                        [0, 0, 0, 0, 0],
                        [3, 1, 2, 1, 0],
                        [-2, -1, 3, -1, 1],
                        [inner as i32 + 1, 5, 4, 2, 1],
                    ] {
                        let lines = tile(&map, &first[..rank], &boxes);
                        check(&map, &Coordinates::At(&first[..rank], &[]), &lines);
                    }
                }
            }
        }
    }
}

#[test]
fn element_strides_leave_elements_out() {
    for steps in [[1, 2, 1, 3, 1], [4, 1, 8, 2, 5]] {
        let boxes = [8, 6, 8, 5, 5];
        let map = map(TensorElement::F32, 5, &[16, 9, 9, 6, 6], Mode::Tiled { extents: boxes });
        let map = TensorMap { steps, ..map };
        let first = [-1, 2, -3, 1, 0];
        check(&map, &Coordinates::At(&first, &[]), &tile(&map, &first, &boxes));
    }
}

#[test]
fn four_rows_are_gathered() {
    let mode = Mode::Tiled { extents: [32, 1, 1, 1, 1] };
    let map =
        TensorMap { swizzle: TensorSwizzle::B64, ..map(TensorElement::F16, 2, &[40, 10], mode) };
    let rows = [10, 7, -1, 0, 12];
    let line = |&row: &i32| (0..32).map(|k| vec![10 + k, i64::from(row)]).collect();
    let lines: Vec<_> = rows[1..].iter().map(line).collect();
    check(&map, &Coordinates::Rows(&rows), &lines);
}

#[test]
fn columns_of_pixels_run_through_the_box_of_pixels() {
    for rank in 3..=5 {
        for swizzle in [TensorSwizzle::None, TensorSwizzle::B32, TensorSwizzle::B128] {
            let spatial = rank - 2;
            let (lower, upper) = ([-1, -2, 0], [1, -1, -1]);
            let mode = Mode::Im2col { lower, upper, channels: 8, pixels: 50 };
            let extents = [12, 5, 6, 4, 3];
            let own = [&extents[..rank - 1], &[3]].concat();
            let map = map(TensorElement::F16, rank, &own, mode);
            let map = TensorMap { swizzle, steps: [1, 2, 1, 1, 1], ..map };
            let first: Vec<i32> = [&[4][..], &lower[..spatial], &[1]].concat();
            let offsets = [2, 1, 1];
            // All pixels of the boxes in order, from the first one on.
            let mut pixels = Vec::new();
            let range = |d: usize| {
                let last = own[d + 1] as i64 - 1 + i64::from(upper[d]);
                (i64::from(lower[d])..=last).step_by(map.steps[d + 1] as usize).collect::<Vec<_>>()
            };
            for image in 1i64..40 {
                let one = || vec![0];
                let (depths, heights) = (
                    if spatial > 2 { range(2) } else { one() },
                    if spatial > 1 { range(1) } else { one() },
                );
                for &d in &depths {
                    for &h in &heights {
                        for &w in &range(0) {
                            let mut at = vec![w + 2];
                            if spatial > 1 {
                                at.push(h + 1);
                            }
                            if spatial > 2 {
                                at.push(d + 1);
                            }
                            at.push(image);
                            pixels.push(at);
                        }
                    }
                }
            }
            let line = |pixel: &Vec<i64>| (0..8).map(|c| [&[4 + c], &pixel[..]].concat()).collect();
            let lines: Vec<_> = pixels[..50].iter().map(line).collect();
            check(&map, &Coordinates::At(&first, &offsets), &lines);
        }
    }
}

#[test]
fn columns_along_w_go_on_with_the_next_image() {
    for rank in 3..=5 {
        for wide128 in [false, true] {
            let (lower, upper, pixels) = (-1, 1, 20);
            let mode = Mode::Im2colWide { lower, upper, channels: 16, pixels, wide128 };
            let own = [&[40, 7, 5, 4][..rank - 1], &[30]].concat();
            let map = map(TensorElement::F16, rank, &own, mode);
            let swizzle = TensorSwizzle::B64;
            let map = TensorMap { swizzle, steps: [1, 2, 1, 1, 1], ..map };
            // The first pixel is left of the box, which is from 2 to 10 with the offset.
            let first: Vec<i32> = [&[8, -3][..], &[3, 2][..rank - 3], &[1]].concat();
            let mut pixels: Vec<[i64; 2]> = (0..=10).step_by(2).map(|w| [w, 1]).collect();
            pixels.extend((2..40).flat_map(|image| (2..=10).step_by(2).map(move |w| [w, image])));
            let line = |&[w, image]: &[i64; 2]| {
                let rest = [&[w][..], &[3, 2][..rank - 3], &[image]].concat();
                (0..16).map(|c| [&[8 + c], &rest[..]].concat()).collect()
            };
            let count = if wide128 { 128 } else { 20 };
            let lines: Vec<_> = pixels[..count].iter().map(line).collect();
            check(&map, &Coordinates::At(&first, &[0, 3]), &lines);
        }
    }
}

#[test]
fn packed_elements_leave_gaps() {
    use TensorElement::{U4x16Align16, U6x16Align16};
    use TensorSwizzle::{B128, B128Atom32, None};
    for (element, bytes) in [(U4x16Align16, 8), (U6x16Align16, 12)] {
        for swizzle in [None, B128, B128Atom32] {
            let mode = Mode::Tiled { extents: [128, 3, 1, 1, 1] };
            let whole = map(TensorElement::U8, 2, &[256, 6], mode);
            let strides = [16 * bytes, 0, 0, 0];
            let map = TensorMap { element, swizzle, strides, ..whole };
            assert_eq!(map.check(), Ok(()));
            let at = Coordinates::At(&[128, 4], &[]);
            let mut expected = Vec::new();
            for (line, row) in [4, 5, 6].into_iter().enumerate() {
                for group in 0..8 {
                    let inside = (row < 6).then(|| BASE + row * 16 * bytes + (8 + group) * bytes);
                    let place = swizzled(swizzle, 1024 + 128 * line as u64 + 16 * group);
                    expected.push((inside, place, bytes));
                }
            }
            let runs = map.runs(&at, 1024);
            let found: Vec<_> = runs.iter().map(|r| (r.global, r.shared, r.bytes)).collect();
            assert_eq!(found, expected, "{element:?} {swizzle:?}");
            assert_eq!(map.bytes(&at), 3 * 8 * bytes);
        }
    }
}

#[test]
fn every_rule_is_checked() {
    let tiled = |extents| Mode::Tiled { extents };
    let good = map(TensorElement::F32, 2, &[64, 64], tiled([32, 8, 1, 1, 1]));
    assert_eq!(good.check(), Ok(()));
    let bad = |change: &dyn Fn(&mut TensorMap), what: &str| {
        let mut map = good;
        change(&mut map);
        let error = map.check().expect_err(what).to_string();
        assert!(error.contains(what), "{error}, not {what}");
    };
    bad(&|m| m.rank = 0, "rank");
    bad(&|m| m.rank = 6, "rank");
    bad(&|m| m.interleave = Interleave::B16, "rank");
    bad(&|m| m.address += 8, "address");
    bad(&|m| m.extents[1] = 0, "dimension 1");
    bad(&|m| m.extents[0] = (1 << 31) + 1, "dimension 0");
    bad(&|m| m.strides[0] += 8, "stride");
    bad(&|m| m.strides[0] = 1 << 40, "stride");
    bad(&|m| m.steps[1] = 9, "element stride");
    bad(&|m| m.steps[0] = 0, "element stride");
    bad(&|m| m.mode = tiled([257, 1, 1, 1, 1]), "box has 257");
    bad(&|m| m.mode = tiled([32, 0, 1, 1, 1]), "box has 0");
    bad(&|m| m.mode = tiled([3, 1, 1, 1, 1]), "multiple of 16");
    bad(&|m| m.swizzle = TensorSwizzle::B64, "more than the 64");
    bad(&|m| m.promotion = 4, "granularity");
    bad(
        &|m| {
            m.element = TensorElement::S32;
            m.fill = Fill::Nan;
        },
        "floats",
    );
    let column = Mode::Im2col { lower: [-1, 0, 0], upper: [0, 0, 0], channels: 16, pixels: 8 };
    let pixels = map(TensorElement::F16, 3, &[64, 8, 8], column);
    assert_eq!(pixels.check(), Ok(()));
    for (mode, what) in [
        (Mode::Im2col { lower: [9, 0, 0], upper: [0; 3], channels: 16, pixels: 8 }, "empty"),
        (Mode::Im2col { lower: [40000, 0, 0], upper: [0; 3], channels: 16, pixels: 8 }, "corner"),
        (Mode::Im2col { lower: [0; 3], upper: [0; 3], channels: 0, pixels: 8 }, "channels"),
        (Mode::Im2col { lower: [0; 3], upper: [0; 3], channels: 16, pixels: 1025 }, "pixels"),
    ] {
        let error = TensorMap { mode, ..pixels }.check().expect_err(what).to_string();
        assert!(error.contains(what), "{error}, not {what}");
    }
    let wide = Mode::Im2colWide { lower: 0, upper: 0, channels: 16, pixels: 8, wide128: false };
    let wide = TensorMap { mode: wide, ..pixels };
    let swizzle = TensorSwizzle::B64;
    let interleave = Interleave::B16;
    assert!(wide.check().expect_err("no swizzle").to_string().contains("swizzle"));
    assert_eq!(TensorMap { swizzle, ..wide }.check(), Ok(()));
    let error = TensorMap { swizzle, interleave, ..wide }.check().expect_err("interleaved");
    assert!(error.to_string().contains("interleaving"), "{error}");
    assert!(TensorMap::decode(&[0; 128]).is_err());
}
