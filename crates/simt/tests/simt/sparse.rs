//! Products with a sparse left factor against dense ones: the same factor with its zeros, and rows
//! of half the depth. Every shape and type against a computation in Python is a file test.

use proptest::prelude::*;
use simt::arith::Rounding;
use simt::matrix::{BitOp, Element, IndexOrder, LANES, MatrixSums, Product, Shape, Spread, Wrong};

/// Sizes, elements, lanes of each four with metadata.
const PRODUCTS: &[(&str, [Element; 4], u64)] = {
    use Element::*;
    &[
        ("m16n8k16", [F32, F16, F16, F32], 1),
        ("m16n8k32", [F16; 4], 2),
        ("m16n8k16", [F32, Bf16, Bf16, F32], 1),
        ("m16n8k32", [F32, Bf16, Bf16, F32], 2),
        ("m16n8k8", [F32, Tf32, Tf32, F32], 1),
        ("m16n8k16", [F32, Tf32, Tf32, F32], 2),
        ("m16n8k64", [F32, E4m3, E5m2, F32], 4),
        ("m16n8k32", [S32, S8, U8, S32], 2),
        ("m16n8k64", [S32, U8, S8, S32], 4),
        ("m16n8k64", [S32, S4, U4, S32], 2),
        ("m16n8k128", [S32, U4, S4, S32], 4),
    ]
};

fn product(word: &str, elements: [Element; 4], sparse: Option<IndexOrder>) -> Product {
    Product {
        shape: Shape::parse(word).unwrap(),
        elements,
        spread: Spread::Mma,
        columns: [false; 2],
        bits: BitOp::Xor,
        saturate: false,
        rounding: Rounding::NearestEven,
        sparse,
    }
}

type Row = [u64; LANES];

/// The encoding of a small integer.
fn small(element: Element, value: i32) -> u64 {
    let single = u64::from((value as f32).to_bits());
    match element {
        Element::F32 | Element::Tf32 => single,
        Element::Bf16 => single >> 16,
        _ if element.is_integer() => value as u64 & (u64::MAX >> (64 - element.bits())),
        // 0, 1 and 2.
        _ => {
            let (one, two, sign) = match element {
                Element::F16 => (0x3c00, 0x4000, 0x8000),
                Element::E4m3 => (0x38, 0x40, 0x80),
                _ => (0x3c, 0x40, 0x80),
            };
            [0, one, two][value.unsigned_abs() as usize] | if value < 0 { sign } else { 0 }
        }
    }
}

/// Random words.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.0 >> 33
    }

    /// Registers of small integers.
    fn registers(&mut self, element: Element, count: usize) -> Vec<Row> {
        let parts = 32 / element.bits();
        let low = if matches!(element, Element::U8 | Element::U4) { 0 } else { -2 };
        let word = |words: &mut Self| {
            (0..parts).fold(0, |all, part| {
                let value = low + (words.next() % (3 - low) as u64) as i32;
                all | small(element, value) << (part * element.bits())
            })
        };
        (0..count).map(|_| std::array::from_fn(|_| word(self))).collect()
    }

    /// Words of metadata in every lane.
    fn metadata(&mut self, element: Element, order: IndexOrder) -> Row {
        let increasing: &[u64] = &[0x4, 0x8, 0xc, 0x9, 0xd, 0xe];
        let any: &[u64] = &[0x4, 0x8, 0xc, 0x9, 0xd, 0xe, 0x1, 0x2, 0x3, 0x6, 0x7, 0xb];
        let codes = match order {
            _ if element == Element::Tf32 => &[0x4, 0xe],
            IndexOrder::Increasing => increasing,
            IndexOrder::Any => any,
        };
        let code = |words: &mut Self| codes[words.next() as usize % codes.len()];
        std::array::from_fn(|_| (0..8).fold(0, |word, _| word << 4 | code(self)))
    }
}

/// The whole left factor, as registers of the dense product.
fn expanded(sparse: &Product, stored: &[Row], words: &Row, selector: u64) -> Vec<Row> {
    let dense = Product { sparse: None, ..*sparse };
    let (from, to) = (sparse.a(), dense.a());
    let (bits, metadata) = (from.element.bits(), sparse.metadata().unwrap());
    let mut whole = vec![vec![0; sparse.shape.k]; sparse.shape.m];
    for (register, lanes) in stored.iter().enumerate() {
        for (lane, value) in lanes.iter().enumerate() {
            for part in 0..from.parts() {
                let (_, row, column) = from.place(lane, register, part);
                let at = metadata.row(words, selector, row)[column];
                whole[row][at] = value >> (part * bits) & (u64::MAX >> (64 - bits));
            }
        }
    }
    let word = |register: usize, lane: usize| {
        (0..to.parts()).fold(0, |all, part| {
            let (_, row, column) = to.place(lane, register, part);
            all | whole[row][column] << (part * bits)
        })
    };
    let registers = 0..to.registers();
    registers.map(|register| std::array::from_fn(|lane| word(register, lane))).collect()
}

proptest! {
    #[test]
    fn a_sparse_factor_is_the_dense_one_without_zeros(
        (word, elements, lanes) in proptest::sample::select(PRODUCTS),
        increasing: bool, seed: u64, selector in 0..4_u64,
    ) {
        let order = if increasing { IndexOrder::Increasing } else { IndexOrder::Any };
        let sparse = product(word, elements, Some(order));
        let dense = product(word, elements, None);
        let selector = selector % (4 / lanes);
        let mut random = Words(seed);
        let a = random.registers(elements[1], sparse.a().registers());
        let b = random.registers(elements[2], sparse.b().registers());
        let c = random.registers(elements[3], sparse.c().registers());
        let words = random.metadata(elements[1], order);
        let metadata = [words, [selector; LANES]];
        let got = sparse.multiply(MatrixSums::Device, &[&a, &b, &c, &metadata[..]].concat());
        let whole = expanded(&sparse, &a, &words, selector);
        prop_assert_eq!(got, dense.multiply(MatrixSums::Device, &[whole, b, c].concat()));
    }
}

#[test]
fn lanes_and_selectors_are_those_of_the_shape() {
    for &(word, elements, lanes) in PRODUCTS {
        let sparse = product(word, elements, Some(IndexOrder::Any));
        let metadata = sparse.metadata().unwrap();
        assert_eq!((metadata.lanes(), metadata.selectors()), (lanes as usize, 4 / lanes as usize));
        for selector in 0..4 / lanes {
            let read = (0..LANES).filter(|&lane| metadata.is_read(lane, selector));
            assert_eq!(read.count() as u64, 8 * lanes, "{word}");
        }
        let dense = product(word, elements, None);
        assert_eq!(2 * sparse.a().registers(), dense.a().registers(), "{word}");
        assert_eq!(sparse.operands(), dense.operands() - sparse.a().registers() + 2, "{word}");
    }
}

/// Elements of the right factor that no stored element meets are not read.
#[test]
fn what_is_not_chosen_does_not_matter() {
    let sparse = product(
        "m16n8k16",
        [Element::F32, Element::F16, Element::F16, Element::F32],
        Some(IndexOrder::Increasing),
    );
    // The first two of each four columns are stored; rows 2 and 3 of each four are NaN.
    let ones = [0x3c00_3c00; LANES];
    let right = std::array::from_fn(|lane| if lane % 2 == 0 { 0x3c00_3c00 } else { 0x7e00_7e00 });
    let (words, zeros) = ([0x4444_4444; LANES], [0; LANES]);
    let operands = [ones, ones, right, right, zeros, zeros, zeros, zeros, words, zeros];
    let eight = u64::from(8_f32.to_bits());
    assert_eq!(sparse.multiply(MatrixSums::Device, &operands), [[eight; LANES]; 4]);
}

#[test]
fn codes_without_a_meaning_are_found() {
    let wrong = |element, order, word| {
        let metadata = simt::matrix::Metadata { element, columns: 32, order };
        metadata.misuse(word).map(|misuse| (misuse.low, misuse.code, misuse.why))
    };
    use IndexOrder::{Any, Increasing};
    assert_eq!(wrong(Element::F16, Increasing, 0xe4d9_c84e), None);
    assert_eq!(wrong(Element::F16, Increasing, 0x4444_5444), Some((12, 5, Wrong::Equal)));
    assert_eq!(wrong(Element::S8, Any, 0), Some((0, 0, Wrong::Equal)));
    assert_eq!(wrong(Element::S4, Increasing, 0x1444_4444), Some((28, 1, Wrong::Decreasing)));
    assert_eq!(wrong(Element::S4, Any, 0x1444_4444), None);
    assert_eq!(wrong(Element::Tf32, Any, 0x4e4e_4e4e), None);
    assert_eq!(wrong(Element::Tf32, Any, 0x4e4e_4e8e), Some((4, 8, Wrong::Halves)));
    let text = simt::matrix::Misuse { code: 5, low: 12, why: Wrong::Equal }.to_string();
    assert_eq!(text, "0b0101, in bits 12 to 15, names one position twice");
}
