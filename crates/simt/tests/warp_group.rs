//! Products of warp groups against sums of products of numbers, and matrices in shared memory
//! against the canonical layouts as CUTLASS writes them: shapes and strides of 16-byte units, then
//! `Swizzle<B, 4, 3>` of the address.

use simt::matrix::{Descriptor, Element, GroupProduct, Major, MatrixSums, Role, THREADS};

/// A generator of numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// From -4 to 4, or from 0.
    fn number(&mut self, element: Element) -> i64 {
        match element {
            Element::B1 => (self.next() & 1) as i64,
            Element::U8 => (self.next() % 9) as i64,
            _ => (self.next() % 9) as i64 - 4,
        }
    }
}

/// A small integer in a format.
fn encode(value: i64, element: Element) -> u64 {
    let (exponent, fraction): (u32, u32) = match element {
        Element::F16 => (5, 10),
        Element::Bf16 => (8, 7),
        Element::Tf32 | Element::F32 => (8, 23),
        Element::E4m3 => (4, 3),
        Element::E5m2 => (5, 2),
        Element::S32 => return u64::from(value as u32),
        _ => return (value as u64) & 0xff,
    };
    if value == 0 {
        return 0;
    }
    let magnitude = value.unsigned_abs();
    let power = 63 - magnitude.leading_zeros();
    let rest = (magnitude << fraction >> power) & ((1 << fraction) - 1);
    let biased = u64::from(power + (1 << (exponent - 1)) - 1);
    u64::from(value < 0) << (exponent + fraction) | biased << fraction | rest
}

fn decode_sum(bits: u64, element: Element) -> f64 {
    match element {
        Element::F32 => f64::from(f32::from_bits(bits as u32)),
        Element::S32 => f64::from(bits as u32 as i32),
        _ => {
            let (sign, field, rest) = (bits >> 15 & 1, bits >> 10 & 31, (bits & 1023) as f64);
            let magnitude = match field {
                0 => rest * 2f64.powi(-24),
                _ => (1024.0 + rest) * 2f64.powi(field as i32 - 25),
            };
            if sign == 1 { -magnitude } else { magnitude }
        }
    }
}

/// One layout of a matrix of `lines` rows or columns by `units` of 16 bytes of depth, or across.
#[derive(Clone, Copy, Debug)]
struct Layout {
    major: Major,
    /// Bits of the swizzle: 0 to 3.
    bits: u32,
}

const LAYOUTS: [Layout; 8] = {
    let mut all = [Layout { major: Major::Depth, bits: 0 }; 8];
    let mut i = 0;
    while i < 8 {
        all[i].bits = i as u32 % 4;
        if i >= 4 {
            all[i].major = Major::Across;
        }
        i += 1;
    }
    all
};

/// Coordinates and strides of a mode, in units of 16 bytes.
fn mode(mut coordinate: u64, shape: &[u64], stride: &[u64]) -> u64 {
    let mut at = 0;
    for (&extent, &stride) in shape.iter().zip(stride) {
        at += coordinate % extent * stride;
        coordinate /= extent;
    }
    at
}

impl Layout {
    /// Leading and stride offsets in 16-byte units for a matrix, so that nothing overlaps.
    fn offsets(self, lines: u64, depth_bytes: u64, element_bytes: u64) -> (u64, u64) {
        let width = 1 << self.bits;
        match (self.major, self.bits) {
            (Major::Depth, 0) => (lines, 8),
            (Major::Depth, _) => (8 * width * lines.div_ceil(8), 8 * width),
            (Major::Across, 0) => {
                let depth = depth_bytes / element_bytes;
                (8, depth)
            }
            (Major::Across, _) => {
                let depth = depth_bytes / element_bytes;
                (width * depth, 8 * width)
            }
        }
    }

    /// The byte of an element of row or column `line` at `depth`.
    fn place(
        self,
        start: u64,
        (leading, stride): (u64, u64),
        line: u64,
        depth: u64,
        size: u64,
    ) -> u64 {
        let (t, units) = (16 / size, 1 << self.bits);
        let (unit, byte) = match (self.major, self.bits) {
            // ((8,n),2):((1,SBO),LBO)
            (Major::Depth, 0) => (
                mode(line, &[8, 99], &[1, stride]) + mode(depth / t, &[99], &[leading]),
                depth % t * size,
            ),
            // ((8,n),2):((W,SBO),1), and further atoms LBO away
            (Major::Depth, _) => (
                mode(line, &[8, 99], &[units, stride])
                    + mode(depth / t, &[units, 99], &[1, leading]),
                depth % t * size,
            ),
            // ((1,n),(8,k)):((X,SBO),(1,LBO))
            (Major::Across, 0) => (
                mode(line / t, &[99], &[stride]) + mode(depth, &[8, 99], &[1, leading]),
                line % t * size,
            ),
            // ((W,n),(8,k)):((1,LBO),(W,SBO))
            (Major::Across, _) => (
                mode(line / t, &[units, 99], &[1, leading])
                    + mode(depth, &[8, 99], &[units, stride]),
                line % t * size,
            ),
        };
        // Swizzle<B, 4, 3> of the address.
        let at = start + 16 * unit + byte;
        at ^ (at & ((units - 1) << 7)) >> 3
    }

    fn descriptor(self, start: u64, (leading, stride): (u64, u64)) -> u64 {
        let swizzle = [0u64, 3, 2, 1][self.bits as usize];
        start >> 4 | leading << 16 | stride << 32 | swizzle << 62
    }
}

/// Numbers of a matrix: `lines` by `depth`.
fn numbers(random: &mut Random, lines: usize, depth: usize, element: Element) -> Vec<i64> {
    (0..lines * depth).map(|_| random.number(element)).collect()
}

/// Writes a matrix to shared memory; its descriptor.
fn store(
    memory: &mut [u8],
    start: u64,
    (numbers, depth): (&[i64], usize),
    element: Element,
    layout: Layout,
) -> u64 {
    let lines = numbers.len() / depth;
    if element == Element::B1 {
        // A unit is 128 elements: bytes of eight bits.
        let bytes: Vec<i64> =
            numbers.chunks(8).map(|c| c.iter().enumerate().map(|(i, b)| b << i).sum()).collect();
        return store(memory, start, (&bytes, depth / 8), Element::U8, layout);
    }
    let size = element.bits() as u64 / 8;
    let offsets = layout.offsets(lines as u64, depth as u64 * size, size);
    for (index, &number) in numbers.iter().enumerate() {
        let (line, k) = ((index / depth) as u64, (index % depth) as u64);
        let at = layout.place(start, offsets, line, k, size) as usize;
        let bytes = encode(number, element).to_le_bytes();
        memory[at..at + size as usize].copy_from_slice(&bytes[..size as usize]);
    }
    layout.descriptor(start, offsets)
}

fn read(memory: &[u8]) -> impl Fn(u32) -> u128 + '_ {
    |at| u128::from_le_bytes(memory[at as usize..at as usize + 16].try_into().expect("16 bytes"))
}

/// Runs a product with both factors in shared memory; every element of D against the sum.
fn check(product: &GroupProduct, [left, right]: [Layout; 2], random: &mut Random) {
    let product = GroupProduct { major: [left.major, right.major], ..*product };
    let [sum, a_element, b_element] = product.elements;
    let (depth, stored, n) = (product.depth(), product.stored_depth(), product.columns);
    let a = numbers(random, 64, stored, a_element);
    let b = numbers(random, n, depth, b_element);
    let c = numbers(random, 64, n, if sum == Element::S32 { Element::S32 } else { Element::F32 });
    let mut memory = vec![0xee; 1 << 18];
    let from_a = store(&mut memory, 1024, (&a, stored), a_element, left);
    let from_b = store(&mut memory, 1 << 17, (&b, depth), b_element, right);
    let [from_a, from_b] = [from_a, from_b].map(|d| Descriptor::parse(d).expect("it is right"));
    let factors = (product.read_a(&from_a, read(&memory)), product.read_b(&from_b, read(&memory)));
    let addend: Vec<u64> = c.iter().map(|&c| encode(c, sum)).collect();
    // Metadata: a code for each chunk of four, of pairs in the order of the lanes' words.
    let codes = [0x4444_4444u64, 0x9999_9999, 0xeeee_eeee, 0xdddd_dddd];
    let word = |warp: usize, lane: usize| codes[(warp + lane) % 4];
    let words = |warp| (std::array::from_fn(|lane| tf32(word(warp, lane), a_element)), 0);
    let found = product.multiply(MatrixSums::Device, factors, &addend, words);
    for row in 0..64 {
        let chosen = match product.metadata() {
            Some(metadata) => metadata.row(&words(row / 16).0, 0, row % 16),
            None => (0..depth).collect(),
        };
        for column in 0..n {
            let term = |(i, &k): (usize, &usize)| match a_element {
                Element::B1 => a[row * stored + i] & b[column * depth + k],
                _ => a[row * stored + i] * b[column * depth + k],
            };
            let sign = if product.negated[0] == product.negated[1] { 1 } else { -1 };
            let total: i64 = chosen.iter().enumerate().map(term).sum();
            let expected = (sign * total + c[row * n + column]) as f64;
            let found = decode_sum(found[row * n + column], sum);
            assert!(
                (found - expected).abs() < 1e-9,
                "{product:?} {left:?} {right:?} row {row} column {column}: {found}, not {expected}"
            );
        }
    }
}

/// A code for pairs of halves names one element.
fn tf32(word: u64, element: Element) -> u64 {
    if element == Element::Tf32 { word & 0x1111_1111 | 0x4444_4444 } else { word }
}

/// Every combination of elements, with the columns that go with it.
fn products() -> Vec<GroupProduct> {
    use Element::{B1, Bf16, E4m3, E5m2, F16, F32, S8, S32, Tf32, U8};
    let mut out = Vec::new();
    let mut add = |elements: [Element; 3]| {
        for columns in (8..=256).step_by(8) {
            let odd = columns > 32 && columns % 16 != 0;
            if elements[0] == S32 && odd {
                continue;
            }
            out.push(GroupProduct {
                columns,
                elements,
                sparse: false,
                negated: [false; 2],
                major: [Major::Depth; 2],
                saturate: false,
            });
        }
    };
    for sum in [F16, F32] {
        add([sum, F16, F16]);
        for a in [E4m3, E5m2] {
            for b in [E4m3, E5m2] {
                add([sum, a, b]);
            }
        }
    }
    add([F32, Bf16, Bf16]);
    add([F32, Tf32, Tf32]);
    for a in [S8, U8] {
        for b in [S8, U8] {
            add([S32, a, b]);
        }
    }
    add([S32, B1, B1]);
    out
}

fn layouts(product: &GroupProduct) -> &'static [Layout] {
    if product.elements[1].bits() == 16 { &LAYOUTS } else { &LAYOUTS[..4] }
}

#[test]
fn every_shape_of_every_type_is_a_sum_of_products() {
    let mut random = Random(1);
    for (i, product) in products().into_iter().enumerate() {
        let all = layouts(&product);
        let negatable = !product.elements[1].is_integer();
        let product =
            GroupProduct { negated: [negatable && i % 3 == 1, negatable && i % 5 == 1], ..product };
        check(&product, [all[i % all.len()], all[(i / 3 + 1) % all.len()]], &mut random);
    }
}

#[test]
fn every_pair_of_layouts_of_every_type() {
    let mut random = Random(2);
    for product in products().into_iter().filter(|p| matches!(p.columns, 8 | 32)) {
        for &left in layouts(&product) {
            for &right in layouts(&product) {
                check(&product, [left, right], &mut random);
            }
        }
    }
}

#[test]
fn sparse_products_take_the_columns_that_metadata_name() {
    let mut random = Random(3);
    let some = |p: &GroupProduct| matches!(p.columns, 8 | 24 | 48) && p.elements[1] != Element::B1;
    for product in products().into_iter().filter(some) {
        for &right in layouts(&product) {
            check(&GroupProduct { sparse: true, ..product }, [LAYOUTS[2], right], &mut random);
        }
    }
}

#[test]
fn every_element_of_a_fragment_is_in_one_place() {
    for product in products() {
        let mut seen = vec![false; 64 * product.columns];
        let parts = 32 / product.elements[0].bits();
        for thread in 0..THREADS {
            for register in 0..product.registers() {
                for part in 0..parts {
                    let (row, column) = product.place(thread, register, part);
                    let seen = &mut seen[row * product.columns + column];
                    assert!(!*seen, "{row}, {column} twice");
                    *seen = true;
                }
            }
        }
        assert!(seen.into_iter().all(|s| s));
        // The first row of a warp group's thread 37: warp 1, lane 5.
        assert_eq!(product.place(37, 0, 0), (17, 2));
    }
}

#[test]
fn a_base_offset_moves_the_pattern_of_a_swizzle() {
    // The pattern begins at 1024 + 3 * 128: line 0 there is not exchanged, line 1 is by one unit.
    let start = 1024 + 3 * 128;
    let bits = |base: u64| start >> 4 | 1 << 16 | 64 << 32 | base << 49 | 1 << 62;
    let moved = Descriptor::parse(bits(3)).expect("it is right");
    assert_eq!(moved.along_depth(0, 0), start as u32);
    assert_eq!(moved.along_depth(1, 0), start as u32 + 128 + 16);
    let fixed = Descriptor::parse(bits(0)).expect("it is right");
    assert_eq!(fixed.along_depth(0, 0), start as u32 + 3 * 16);
    assert!(Descriptor::parse(1 << 14).is_err());
    assert!(Descriptor::parse(1 << 49).is_err());
}

#[test]
fn units_of_a_matrix_are_distinct() {
    let mut random = Random(4);
    for product in products().into_iter().filter(|p| p.columns == 64) {
        let mut memory = vec![0; 1 << 18];
        let b = numbers(&mut random, 64, product.depth(), product.elements[2]);
        let from = store(&mut memory, 2048, (&b, product.depth()), product.elements[2], LAYOUTS[3]);
        let from = Descriptor::parse(from).expect("it is right");
        let mut places: Vec<u32> = product.places(&from, Role::B).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 64 * 2);
    }
}

/// The end of a matrix is a multiple of 128 behind all of its units, and not far behind.
#[test]
fn no_unit_lies_behind_the_end() {
    let mut random = Random(7);
    for product in products() {
        for role in [Role::A, Role::B] {
            for layout in LAYOUTS {
                let product = GroupProduct { major: [layout.major; 2], ..product };
                if layout.major == Major::Across && product.elements[1].bits() != 16 {
                    continue;
                }
                let (leading, stride) = (random.next() % 64, random.next() % 64);
                let descriptor = layout.descriptor(16 * (random.next() % 64), (leading, stride));
                let descriptor = Descriptor::parse(descriptor).expect("it is right");
                let last = product.places(&descriptor, role).max().expect("a unit") + 16;
                let end = product.end(&descriptor, role);
                assert!(end.is_multiple_of(128) && last <= end, "{product:?} {descriptor:?}");
                assert!(end <= last + 256 || leading * 16 < 128, "{end} {last} {descriptor:?}");
            }
        }
    }
}
