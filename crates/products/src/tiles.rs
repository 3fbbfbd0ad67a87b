//! The tiles of fragments: where a product's registers are in its matrices.
//!
//! A register of a factor holds eight lines (rows of A, columns of B) of four words along the
//! depth, lane `4 * line + word`; one of a sum holds the even or the odd columns of eight rows and
//! columns, lane `4 * row + column / 2`, and of half precision both. All fragments but those of
//! `m8n8k4` of f16 are made of such tiles, some of them as the transpose. The positions are those
//! of [`simt::matrix::Fragment`]; a fragment that is laid out in another way has no tiles.

use simt::matrix::{Fragment, LANES, Product, Role};

/// Most tiles along one side of a matrix.
const SIDE: usize = 4;

/// The registers of a factor, by line and depth, in units of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Factor {
    registers: [[u8; SIDE]; SIDE],
    /// Tiles along the lines.
    pub(super) lines: usize,
    /// Tiles along the depth.
    pub(super) depth: usize,
}

impl Factor {
    fn new(fragment: &Fragment) -> Option<Self> {
        let along = |register, lane, part| {
            let (matrix, row, column) = fragment.place(lane, register, part);
            let place = if fragment.role == Role::A { (row, column) } else { (column, row) };
            (matrix, place.0, place.1)
        };
        let parts = fragment.parts();
        let (lines, depth) = match fragment.role {
            Role::B => (fragment.columns(), fragment.rows()),
            _ => (fragment.rows(), fragment.columns()),
        };
        let (lines, depth) = (lines / 8, depth / (4 * parts));
        let mut this = Self { registers: [[0; SIDE]; SIDE], lines, depth };
        for register in 0..fragment.distinct() {
            let (_, line, at) = along(register, 0, 0);
            let expected = |lane, part| (0, line + lane / 4, at + lane % 4 * parts + part);
            let all = |lane| (0..parts).all(|p| along(register, lane, p) == expected(lane, p));
            if line % 8 != 0 || at % (4 * parts) != 0 || !(0..LANES).all(all) {
                return None;
            }
            *this.registers.get_mut(line / 8)?.get_mut(at / (4 * parts))? = register as u8;
        }
        Some(this)
    }

    /// The register of a tile.
    #[inline(always)]
    pub(super) fn register(&self, line: usize, depth: usize) -> usize {
        self.registers[line % SIDE][depth % SIDE].into()
    }
}

/// The registers of addends or results, by row and column in units of tiles: of even columns, and
/// of odd ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sums {
    registers: [[[u8; 2]; SIDE]; SIDE],
}

impl Sums {
    fn new(fragment: &Fragment, transposed: bool) -> Option<Self> {
        let place = |register, lane, part| {
            let (matrix, row, column) = fragment.place(lane, register, part);
            let place = if transposed { (column, row) } else { (row, column) };
            (matrix, place.0, place.1)
        };
        let mut this = Self { registers: [[[0; 2]; SIDE]; SIDE] };
        for register in 0..fragment.registers() {
            for part in 0..fragment.parts() {
                let (_, row, column) = place(register, 0, part);
                let expected = |lane| (0, row + lane / 4, column + lane % 4 * 2);
                let all = (0..LANES).all(|lane| place(register, lane, part) == expected(lane));
                // Where a register holds two columns, the even one is the first.
                let wrong_part = fragment.parts() == 2 && part != column % 2;
                if row % 8 != 0 || column % 8 > 1 || !all || wrong_part {
                    return None;
                }
                let tile = this.registers.get_mut(row / 8)?.get_mut(column / 8)?;
                tile[column % 2] = register as u8;
            }
        }
        Some(this)
    }

    /// The register of the even columns of a tile, or of the odd ones.
    #[inline(always)]
    pub(super) fn register(&self, row: usize, column: usize, odd: usize) -> usize {
        self.registers[row % SIDE][column % SIDE][odd % 2].into()
    }
}

/// The tiles of a product `left * right + addends`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tiles {
    /// Whether the product is computed as its transpose: `left` is B, and `right` is A.
    pub(super) transposed: bool,
    pub(super) left: Factor,
    pub(super) right: Factor,
    pub(super) addends: Sums,
    pub(super) results: Sums,
}

impl Tiles {
    /// The bands of the result, of sixteen rows or fewer: the first tile of each, and how many
    /// tiles it has.
    #[inline(always)]
    pub(super) fn bands(&self) -> impl Iterator<Item = (usize, usize)> {
        let lines = self.left.lines;
        (0..lines).step_by(2).map(move |first| (first, (lines - first).min(2)))
    }

    /// The tiles of a product; `None` if its fragments are not made of tiles.
    pub(super) fn new(product: &Product) -> Option<Self> {
        let (a, b) = (Factor::new(&product.a())?, Factor::new(&product.b())?);
        [false, true].into_iter().find_map(|transposed| {
            let (left, right) = if transposed { (b, a) } else { (a, b) };
            let addends = Sums::new(&product.c(), transposed)?;
            let results = Sums::new(&product.d(), transposed)?;
            Some(Self { transposed, left, right, addends, results })
        })
    }
}
