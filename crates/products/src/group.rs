//! Products of a warp group: `wgmma`.
//!
//! Factors are tiles: eight lines, rows of A or columns of B, of 16 bytes along the depth. That is
//! a register of A or B of a warp as [`simt::matrix::Fragment`] has it, and eight units of shared
//! memory. A warp and eight columns are a *cell*, whose sums are registers as those of a product of
//! 16 rows and 8 columns of a warp. Whoever has AVX-512 computes all cells of floats together;
//! others, and single cells of numbers that are infinite or near the ends of a range, are computed
//! as products of warps, or by the model.

use crate::level::Level;
use crate::multiply::Multiply;
#[cfg(target_arch = "x86_64")]
use crate::{level::Avx512, permute::Permute, sparse::Expansion, vectors};
use simt::arith::Rounding;
use simt::matrix::{
    A_REGISTERS, BitOp, Descriptor, Element, GroupProduct, LANES, Major, MatrixSums, Product, Role,
    Shape, Spread, WARPS,
};

/// A value of 32 bits in each lane, or eight lines of four words.
pub type Tile = [u32; LANES];

/// Tiles along the depth of what is stored of A: 32 bytes.
const DEPTH: usize = 2;

/// Rows of a warp, and columns of a cell.
const CELL: (usize, usize) = (16, 8);

/// What is multiplied. The same factors can be cleared and read again without an allocation.
#[derive(Clone, Debug, Default)]
pub struct Factors {
    /// Of A: by warp, rows 0 to 7 and 8 to 15, and depth.
    pub(crate) a: Vec<Tile>,
    /// Of B: by eight columns and depth.
    pub(crate) b: Vec<Tile>,
    /// Of a sparse A: the words and selectors of each warp.
    pub metadata: Option<[[Tile; 2]; WARPS]>,
}

impl Factors {
    /// Factors of tiles, in the order of [`GroupMultiply::read`], and the words and selectors of
    /// each warp.
    #[must_use]
    pub fn new(a: Vec<Tile>, b: Vec<Tile>, metadata: Option<[[Tile; 2]; WARPS]>) -> Self {
        Self { a, b, metadata }
    }

    /// Forgets all tiles.
    pub fn clear(&mut self) {
        self.a.clear();
        self.b.clear();
        self.metadata = None;
    }

    /// A tile of A.
    pub(crate) fn left(&self, warp: usize, half: usize, depth: usize) -> &Tile {
        &self.a[(2 * warp + half) * DEPTH + depth]
    }
}

/// A product of a warp group that is ready to be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMultiply {
    product: GroupProduct,
    /// The product of a cell.
    cell: Multiply,
}

impl GroupMultiply {
    /// Prepares a product.
    #[must_use]
    pub fn new(product: GroupProduct) -> Self {
        let [sum, a, b] = product.elements;
        let cell = Product {
            shape: Shape { m: CELL.0, n: CELL.1, k: product.depth() },
            elements: [sum, a, b, sum],
            spread: Spread::Mma,
            columns: [false; 2],
            bits: BitOp::And,
            saturate: product.saturate,
            rounding: Rounding::NearestEven,
            sparse: product.metadata().map(|metadata| metadata.order),
        };
        Self { product, cell: Multiply::new(cell) }
    }

    /// The product.
    #[must_use]
    pub fn product(&self) -> &GroupProduct {
        &self.product
    }

    /// Reads the tiles of A or B in shared memory: `eight` gives the words of the units of 16 bytes
    /// at eight offsets. A is ordered by rows, B by columns, each then by depth.
    #[inline]
    pub fn read(
        &self,
        from: &Descriptor,
        role: Role,
        eight: impl Fn([u32; 8]) -> Tile,
        to: &mut Factors,
    ) {
        let product = &self.product;
        let (lines, depth, side) = match role {
            Role::A => (CELL.0 * WARPS, DEPTH, 0),
            _ => (product.columns, product.depth() / product.stored_depth() * DEPTH, 1),
        };
        let (lines, major) = (lines as u32 / 8, product.major[side]);
        let out = if side == 0 { &mut to.a } else { &mut to.b };
        out.resize(lines as usize * depth, [0; LANES]);
        let places = |line: u32, depth: u32| match major {
            Major::Depth => from.eight_along_depth(8 * line, 16 * depth),
            Major::Across => from.eight_across(8 * depth, 16 * line),
        };
        let mut put = |line: u32, at: u32, places: [u32; 8]| {
            let units = eight(places);
            out[line as usize * depth + at as usize] = match major {
                Major::Depth => units,
                Major::Across => transposed(&units),
            };
        };
        // Tiles whose places differ by a multiple of a step: those of a depth, or of eight lines.
        let (outer, inner) = match major {
            Major::Depth => (depth as u32, lines),
            Major::Across => (lines, depth as u32),
        };
        for outer in 0..outer {
            let of = |inner: u32| match major {
                Major::Depth => (inner, outer),
                Major::Across => (outer, inner),
            };
            let (line, at) = of(0);
            let first = places(line, at);
            for inner in 0..inner {
                let (line, at) = of(inner);
                put(
                    line,
                    at,
                    match from.step(major) {
                        Some(step) => first.map(|place| place + inner * step),
                        None => places(line, at),
                    },
                );
            }
        }
    }

    /// Reads the tiles of A in registers, which are given by warp and register.
    pub fn read_registers(&self, register: impl Fn(usize, usize) -> Tile, to: &mut Factors) {
        let tiles = (0..WARPS).flat_map(|warp| (0..A_REGISTERS).map(move |at| (warp, at)));
        to.a.extend(tiles.map(|(warp, at)| register(warp, at / DEPTH + 2 * (at % DEPTH))));
    }

    /// Adds products, one after the other, to sums: the registers of the first warp, then those of
    /// the next one.
    pub fn multiply(
        &self,
        level: Level,
        rule: MatrixSums,
        factors: &mut [Factors],
        sums: &mut [&mut Tile],
    ) {
        let [_, a, b] = self.product.elements;
        let [negated_a, negated_b] = self.product.negated;
        for factors in &mut *factors {
            negate(&mut factors.a, a, negated_a);
            negate(&mut factors.b, b, negated_b);
        }
        let undone = self.in_vectors(level, rule, factors, sums);
        let of_warp = sums.len() / WARPS;
        let each = of_warp / (self.product.columns / CELL.1);
        for (warp, column) in undone {
            let sums = &mut sums[warp * of_warp + column * each..][..each];
            for factors in &*factors {
                if !self.as_warp(level, rule, factors, (warp, column), sums) {
                    self.by_model(rule, factors, (warp, column), sums);
                }
            }
        }
    }

    /// Adds what vector instructions add of whole products; returns the cells that remain.
    fn in_vectors(
        &self,
        level: Level,
        rule: MatrixSums,
        factors: &[Factors],
        sums: &mut [&mut Tile],
    ) -> Vec<(usize, usize)> {
        #[cfg(target_arch = "x86_64")]
        if let (false, Some(avx512)) = (self.product.elements[1].is_integer(), Avx512::of(level)) {
            let expansion = |factors: &Factors, warp: usize| {
                let [words, selectors] = &factors.metadata?[warp];
                let stored =
                    |depth| avx512.words([0, 1].map(|half| factors.left(warp, half, depth)));
                let metadata = self.product.metadata()?;
                Some(Expansion::new(&metadata, [words, selectors], stored))
            };
            let of = |factors: &Factors| {
                let expansion = |warp| expansion(factors, warp);
                Some([expansion(0)?, expansion(1)?, expansion(2)?, expansion(3)?])
            };
            let (elements, expansions) = (self.product.elements, factors.iter().map(of).collect());
            let undone =
                vectors::multiply_group(avx512, rule, elements, &(factors, expansions), sums);
            if let Some(undone) = undone {
                return undone;
            }
        }
        let columns = self.product.columns / CELL.1;
        (0..columns).flat_map(|column| (0..WARPS).map(move |warp| (warp, column))).collect()
    }

    /// Adds a cell as the product of a warp, where sums are the same. Returns `false`, having
    /// changed nothing, if they are not, or this cannot be computed so.
    fn as_warp(
        &self,
        level: Level,
        rule: MatrixSums,
        factors: &Factors,
        (warp, column): (usize, usize),
        sums: &mut [&mut Tile],
    ) -> bool {
        let integers = self.product.elements[1].is_integer();
        if !integers && rule == MatrixSums::Device {
            return false;
        }
        let mut operands: Vec<&Tile> = Vec::with_capacity(16);
        let registers = (0..DEPTH).flat_map(|depth| [(0, depth), (1, depth)]);
        operands.extend(registers.map(|(half, depth)| factors.left(warp, half, depth)));
        operands.extend(self.right(factors, column));
        operands.extend(sums.iter().map(|sum| &**sum));
        operands.extend(factors.metadata.iter().flat_map(|of| &of[warp]));
        let mut results = [[0; LANES]; 4];
        let done = self.cell.narrow(level, rule, &operands, &mut results[..sums.len()]).is_some();
        if done {
            sums.iter_mut().zip(results).for_each(|(sum, result)| **sum = result);
        }
        done
    }

    /// The tiles of eight columns of B.
    fn right<'f>(&self, factors: &'f Factors, column: usize) -> &'f [Tile] {
        let depth = factors.b.len() / (self.product.columns / CELL.1);
        &factors.b[column * depth..][..depth]
    }

    /// Adds a cell as [`simt::matrix`] defines it. Factors are negated already.
    fn by_model(
        &self,
        rule: MatrixSums,
        factors: &Factors,
        (warp, column): (usize, usize),
        sums: &mut [&mut Tile],
    ) {
        let product = GroupProduct { columns: CELL.1, negated: [false; 2], ..self.product };
        let [_, a, b] = product.elements;
        let left = &factors.a[2 * warp * DEPTH..][..2 * DEPTH];
        let factors_of_cell = (
            lines(left, DEPTH, a),
            lines(
                self.right(factors, column),
                factors.b.len() / (self.product.columns / CELL.1),
                b,
            ),
        );
        let register = |thread: usize, index: usize| u64::from(sums[index][thread]);
        // Of a group of warps the first one has these rows.
        let all = product.gather_sums(|thread, index| match thread {
            ..LANES => register(thread, index),
            _ => 0,
        });
        let addend = &all[..CELL.0 * CELL.1];
        let metadata = |_| match &factors.metadata {
            Some(of) => (of[warp][0].map(u64::from), of[warp][1][0].into()),
            None => ([0; LANES], 0),
        };
        let mut results = product.multiply(rule, factors_of_cell, addend, metadata);
        results.resize(all.len(), 0);
        let registers = product.scatter_sums(&results);
        for (sums, registers) in sums.iter_mut().zip(registers.chunks(WARPS * LANES)) {
            for (to, &value) in sums.iter_mut().zip(registers) {
                *to = value as u32;
            }
        }
    }
}

/// Eight units of elements of 16 bits that lie across, as a tile.
fn transposed(units: &Tile) -> Tile {
    let halves = |unit: &[u32; 4]| std::array::from_fn(|i| (unit[i / 2] >> (16 * (i % 2))) as u16);
    let mut lines = [[0; 8]; 8];
    for (line, unit) in lines.iter_mut().zip(units.as_chunks::<4>().0) {
        *line = halves(unit);
    }
    let lines = crate::permute::transposed_halves(&lines);
    std::array::from_fn(|lane| {
        let [low, high] = [0, 1].map(|part| lines[lane / 4][2 * (lane % 4) + part]);
        u32::from(low) | u32::from(high) << 16
    })
}

/// The elements of lines, line by line, from tiles of eight lines and a depth.
fn lines(tiles: &[Tile], depth: usize, element: Element) -> Vec<u64> {
    let bits = element.bits();
    let (parts, mask) = (32 / bits, u64::MAX >> (64 - bits));
    let mut out = Vec::with_capacity(tiles.len() * LANES * parts);
    for tiles in tiles.chunks(depth) {
        for line in 0..8 {
            for word in tiles.iter().flat_map(|tile| &tile[4 * line..][..4]) {
                out.extend((0..parts).map(|part| u64::from(*word) >> (part * bits) & mask));
            }
        }
    }
    out
}

/// Changes the signs of elements, if they are to be negated.
fn negate(tiles: &mut [Tile], element: Element, negated: bool) {
    if !negated {
        return;
    }
    let bits = element.bits();
    let signs = (0..32 / bits).fold(0, |signs, part| signs | 1 << (bits - 1 + part * bits));
    tiles.as_flattened_mut().iter_mut().for_each(|word| *word ^= signs);
}
