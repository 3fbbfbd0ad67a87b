//! Products of warp groups at every level against the scalar definition: elements, columns, rules
//! of sums, layouts in shared memory, sparse factors.

use crate::levels;
use crate::numbers::{EXPONENTS, Exponents, metadata, number};
use ir::testing::Rng;
use products::{Factors, GroupMultiply, Tile};
use simt::matrix::{Descriptor, Element, GroupProduct, LANES, Major, MatrixSums, Role, WARPS};

/// Bytes of shared memory.
const MEMORY: usize = 1 << 17;

/// Random words with elements of a format.
fn word(rng: &mut Rng, element: Element, exponents: Exponents) -> u32 {
    let bits = element.bits();
    let mask = u64::MAX >> (64 - bits);
    let part = |rng: &mut Rng| number(rng, element, exponents) & mask;
    (0..32 / bits).fold(0, |word, at| word | part(rng) << (at * bits)) as u32
}

/// The elements of products, and whether there are sparse ones.
fn elements() -> Vec<[Element; 3]> {
    use Element::{B1, Bf16, E4m3, E5m2, F16, F32, S8, S32, Tf32, U8};
    let mut out = vec![[S32, B1, B1], [F32, Tf32, Tf32], [F32, Bf16, Bf16]];
    for sum in [F16, F32] {
        out.push([sum, F16, F16]);
        out.extend([E4m3, E5m2].iter().flat_map(|&a| [E4m3, E5m2].map(|b| [sum, a, b])));
    }
    out.extend([S8, U8].iter().flat_map(|&a| [S8, U8].map(|b| [S32, a, b])));
    out
}

/// Products of random numbers, one after the other: both factors in shared memory, in layouts where
/// lines overlap others; what lies there does not matter.
fn compare(
    rng: &mut Rng,
    product: GroupProduct,
    rule: MatrixSums,
    [left, right, sum]: [Exponents; 3],
) {
    let [d, a, b] = product.elements;
    let mut memory = vec![0u128; MEMORY / 16];
    let (low, high) = memory.split_at_mut(MEMORY / 32);
    for (units, element, exponents) in [(low, a, left), (high, b, right)] {
        for unit in units {
            let mut part = || u128::from(word(rng, element, exponents));
            *unit = part() | part() << 32 | part() << 64 | part() << 96;
        }
    }
    let read = |at: u32| memory[at as usize / 16];
    let descriptor = |rng: &mut Rng, start: u64| {
        // The pattern of a swizzle repeats after 1024 bytes.
        let mut stride = || match rng.below(3) {
            0 => 64 * (1 + rng.below(3) as u64),
            _ => 1 + rng.below(20) as u64,
        };
        let strides = stride() << 16 | stride() << 32;
        let swizzle = rng.below(4) as u64;
        let base = if swizzle == 0 { 0 } else { rng.below(8) as u64 };
        let start = (start >> 4) + rng.below(8) as u64;
        Descriptor::parse(start | strides | base << 49 | swizzle << 62).expect("it is right")
    };
    let from: Vec<[Descriptor; 2]> = (0..1 + rng.below(3))
        .map(|_| [descriptor(rng, 0), descriptor(rng, MEMORY as u64 / 2)])
        .collect();
    let registers = product.registers();
    let addends: Vec<Tile> =
        (0..WARPS * registers).map(|_| std::array::from_fn(|_| word(rng, d, sum))).collect();
    let of_warp: Vec<[[u64; LANES]; 2]> =
        (0..WARPS).filter_map(|_| metadata(rng, &product.metadata()?).try_into().ok()).collect();

    let of = |thread: usize, index: usize| {
        u64::from(addends[thread / LANES * registers + index][thread % LANES])
    };
    let words = |warp: usize| {
        of_warp.get(warp).map_or(([0; LANES], 0), |[words, selector]| (*words, selector[0]))
    };
    let mut wanted = product.gather_sums(of);
    for [a, b] in &from {
        let factors = (product.read_a(a, read), product.read_b(b, read));
        wanted = product.multiply(rule, factors, &wanted, words);
    }
    let wanted = product.scatter_sums(&wanted);

    let multiply = GroupMultiply::new(product);
    for level in levels() {
        let narrow = |row: [u64; LANES]| row.map(|value| value as u32);
        let metadata = product.metadata().map(|_| std::array::from_fn(|w| of_warp[w].map(narrow)));
        let eight = |places: [u32; 8]| -> Tile {
            std::array::from_fn(|at| (read(places[at / 4]) >> (32 * (at % 4))) as u32)
        };
        let factors = |[a, b]: &[Descriptor; 2]| {
            let mut factors = Factors::default();
            multiply.read(a, Role::A, eight, &mut factors);
            multiply.read(b, Role::B, eight, &mut factors);
            factors.metadata = metadata;
            factors
        };
        let mut factors: Vec<Factors> = from.iter().map(factors).collect();
        let mut sums = addends.clone();
        let rows = &mut sums.iter_mut().collect::<Vec<_>>();
        multiply.multiply(level, rule, &mut factors, rows);
        for (thread, index) in (0..WARPS * LANES).flat_map(|t| (0..registers).map(move |i| (t, i)))
        {
            let got = sums[thread / LANES * registers + index][thread % LANES];
            let wanted = wanted[index * WARPS * LANES + thread];
            assert_eq!(
                u64::from(got),
                wanted,
                "{product:?} {rule} {level} {left:?} {right:?} {sum:?} thread {thread}, {index}"
            );
        }
    }
}

/// A product with choices at random.
fn product(rng: &mut Rng, elements: [Element; 3], sparse: bool) -> GroupProduct {
    let wide = elements[1].bits() == 16;
    let float = !elements[1].is_integer();
    let mut major = || if wide && rng.one_in(2) { Major::Across } else { Major::Depth };
    let major = [major(), major()];
    GroupProduct {
        columns: 8 * (1 + rng.below(4)),
        elements,
        sparse: sparse && elements[1] != Element::B1,
        negated: [0; 2].map(|_| float && elements[1].bits() >= 16 && rng.one_in(3)),
        major,
        saturate: !float && rng.one_in(2),
    }
}

fn all(seed: u64, rule: MatrixSums, sparse: bool, rounds: usize) {
    let mut rng = Rng::new(seed);
    for elements in elements() {
        for left in EXPONENTS {
            for sum in EXPONENTS {
                for _ in 0..rounds {
                    let right = *rng.pick(&EXPONENTS).expect("a choice");
                    let right = if rng.one_in(2) { left } else { right };
                    let product = product(&mut rng, elements, sparse);
                    compare(&mut rng, product, rule, [left, right, sum]);
                }
            }
        }
    }
}

#[test]
fn dense_products_are_those_of_the_model() {
    all(1, MatrixSums::Device, false, 1);
}

#[test]
fn sparse_products_are_those_of_the_model() {
    all(2, MatrixSums::Device, true, 1);
}

#[test]
fn chains_are_those_of_the_model() {
    all(3, MatrixSums::F32, false, 1);
    all(4, MatrixSums::F32, true, 1);
}

#[test]
fn exact_sums_are_those_of_the_model() {
    let mut rng = Rng::new(5);
    for elements in elements() {
        for exponents in EXPONENTS {
            let product = product(&mut rng, elements, false);
            compare(&mut rng, product, MatrixSums::Exact, [exponents; 3]);
        }
    }
}

/// Sums of sixteen of the greatest products beside a great addend leave the range of a word.
#[test]
fn totals_beyond_a_word_are_those_of_the_model() {
    for (element, greatest) in [(Element::F16, 0x3fff), (Element::Bf16, 0x3fff)] {
        for (columns, negative) in [(8, false), (16, true)] {
            let product = GroupProduct {
                columns,
                elements: [Element::F32, element, element],
                sparse: false,
                negated: [negative, false],
                major: [Major::Depth; 2],
                saturate: false,
            };
            let multiply = GroupMultiply::new(product);
            let two = [greatest | greatest << 16; LANES];
            // A little less than 2: with the products, each a little less than 4, more than 64.
            let addend = 0x3fff_ffff | u32::from(negative) << 31;
            let all = |registers| vec![[addend; LANES]; WARPS * registers];
            let ones = |lines: usize| vec![greatest.into(); lines * product.depth()];
            let wanted = product.multiply(
                MatrixSums::Device,
                (ones(64), ones(columns)),
                &vec![addend.into(); 64 * columns],
                |_| ([0; LANES], 0),
            );
            for level in levels() {
                let factors = &mut [Factors::new(vec![two; 16], vec![two; columns / 4], None)];
                let mut sums = all(product.registers());
                let rows = &mut sums.iter_mut().collect::<Vec<_>>();
                multiply.multiply(level, MatrixSums::Device, factors, rows);
                assert!(sums.iter().flatten().all(|&sum| u64::from(sum) == wanted[0]), "{level}");
            }
        }
    }
}

/// Great elements of the right factor that no stored element meets do not align the others.
#[test]
fn what_a_sparse_factor_has_not_has_no_exponent() {
    let product = GroupProduct {
        columns: 8,
        elements: [Element::F32, Element::Bf16, Element::Bf16],
        sparse: true,
        negated: [false; 2],
        major: [Major::Depth; 2],
        saturate: false,
    };
    let multiply = GroupMultiply::new(product);
    // The first two of each four elements are stored. The others meet 2^100.
    let metadata = [[[0x4444_4444; LANES], [0; LANES]]; WARPS];
    let small = vec![[0x2000_2000; LANES]; 16];
    let right = std::array::from_fn(|lane| if lane % 2 == 0 { 0x3f80_3f80 } else { 0x7180_7180 });
    for level in levels() {
        let factors = &mut [Factors::new(small.clone(), vec![right; 4], Some(metadata))];
        let mut sums = vec![[0; LANES]; WARPS * product.registers()];
        let rows = &mut sums.iter_mut().collect::<Vec<_>>();
        multiply.multiply(level, MatrixSums::Device, factors, rows);
        // 16 times 2^-63.
        let wanted = 2f32.powi(-59).to_bits();
        assert!(sums.iter().flatten().all(|&sum| sum == wanted), "{level}");
    }
}
