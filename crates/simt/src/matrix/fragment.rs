//! The position of each element of a matrix: lane, register and part of the register.
//!
//! Source: PTX ISA 9.1, "Matrix Fragments for mma". All shapes but one follow one rule: lane `l`
//! belongs to group `g = l / 4` and is thread `t = l % 4` of it; a register holds `e` neighbouring
//! elements of a row of A or of a column of B, those from `t * e` on; further registers continue 8
//! rows below and `4 * e` columns to the right. `m8n8k4` of f16 is four products of eight lanes
//! each.
//!
//! PTX leaves the fragments of `wmma` open: a program only passes on what it has loaded. Here they
//! are the fragments of the `mma` tiles that make up the shape, as on devices since compute
//! capability 7.5: adjacent tiles for 16 by 16, one below the other for 32 by 8, and the transpose
//! of that for 8 by 32. Half-precision A and B have eight registers; where there are fewer
//! elements, registers repeat.

use super::{Element, LANES, Shape};

/// The role of a matrix in a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The left factor.
    A,
    /// The right factor.
    B,
    /// The addend, and the result.
    C,
}

/// The distribution of a matrix over a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spread {
    /// The fragments of `mma`.
    Mma,
    /// The fragments of `mma.m8n8k4` of f16, with A or B by columns or not: lanes 0 to 3 and 16 to
    /// 19 hold one product, and so on.
    Quads {
        /// Whether the matrix is stored by columns.
        columns: bool,
    },
    /// The fragments of `wmma`, as defined here.
    Wmma,
}

/// A matrix in the registers of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// The matrix's role.
    pub role: Role,
    /// Sizes of the product.
    pub shape: Shape,
    /// The type of its elements.
    pub element: Element,
    /// Its distribution.
    pub spread: Spread,
}

impl Fragment {
    /// Rows of the matrix.
    #[must_use]
    pub const fn rows(&self) -> usize {
        match self.role {
            Role::A | Role::C => self.shape.m,
            Role::B => self.shape.k,
        }
    }

    /// Columns of the matrix.
    #[must_use]
    pub const fn columns(&self) -> usize {
        match self.role {
            Role::A => self.shape.k,
            Role::B | Role::C => self.shape.n,
        }
    }

    /// Elements in a register.
    #[must_use]
    pub const fn parts(&self) -> usize {
        self.element.register_bits() / self.element.bits()
    }

    /// Products that the warp computes.
    #[must_use]
    pub const fn matrices(&self) -> usize {
        match self.spread {
            Spread::Quads { .. } => 4,
            Spread::Mma | Spread::Wmma => 1,
        }
    }

    /// Registers of a lane that hold elements which no register before them holds.
    #[must_use]
    pub const fn distinct(&self) -> usize {
        self.rows() * self.columns() * self.matrices() / LANES / self.parts()
    }

    /// Registers of a lane.
    #[must_use]
    pub const fn registers(&self) -> usize {
        match (self.spread, self.element, self.role) {
            (Spread::Wmma, Element::F16, Role::A | Role::B) => 8,
            _ => self.distinct(),
        }
    }

    /// Returns the product, row and column of a part of a lane's register.
    #[must_use]
    pub const fn place(&self, lane: usize, register: usize, part: usize) -> (usize, usize, usize) {
        match self.spread {
            Spread::Quads { columns } => self.quad(lane, register * self.parts() + part, columns),
            Spread::Mma => {
                let (row, column) = self.tile(self.shape.m, lane, register, part);
                (0, row, column)
            }
            Spread::Wmma => {
                let (row, column) = self.wmma(lane, register % self.distinct(), part);
                (0, row, column)
            }
        }
    }

    /// Positions in a tile of `m` by 8, of any depth.
    const fn tile(&self, m: usize, lane: usize, register: usize, part: usize) -> (usize, usize) {
        let (group, thread, parts) = (lane / 4, lane % 4, self.parts());
        let tall = m / 8;
        match self.role {
            Role::A => {
                let column = thread * parts + part + 4 * parts * (register / tall);
                (group + 8 * (register % tall), column)
            }
            Role::B => (thread * parts + part + 4 * parts * register, group),
            Role::C => {
                let index = register * parts + part;
                (group + 8 * (index / 2), thread * 2 + index % 2)
            }
        }
    }

    /// Positions in the `mma` tiles of a `wmma` fragment.
    const fn wmma(&self, lane: usize, register: usize, part: usize) -> (usize, usize) {
        let Shape { m, n, k } = self.shape;
        if m == 8 && n == 8 {
            return self.tile(8, lane, register, part);
        }
        if m == 8 {
            let role = match self.role {
                Role::A => Role::B,
                Role::B => Role::A,
                Role::C => Role::C,
            };
            let transposed = Self { role, shape: Shape { m: n, n: m, k }, ..*self };
            let (row, column) = transposed.wmma(lane, register, part);
            return (column, row);
        }
        // Registers of one tile of 16 by 8, and which tile this is.
        let elements = match self.role {
            Role::A => 16 * k,
            Role::B => k * 8,
            Role::C => 16 * 8,
        };
        let each = elements / LANES / self.parts();
        let (row, column) = self.tile(16, lane, register % each, part);
        let tile = register / each;
        match self.role {
            Role::A => (row + 16 * tile, column),
            Role::B => (row, column + 8 * tile),
            // 16 by 16 has adjacent tiles, 32 by 8 one below the other.
            Role::C if m == 16 => (row, column + 8 * tile),
            Role::C => (row + 16 * tile, column),
        }
    }

    /// `m8n8k4` of f16: the `index`-th element of a lane.
    const fn quad(&self, lane: usize, index: usize, columns: bool) -> (usize, usize, usize) {
        let (quad, own) = (lane % 16 / 4, lane % 4 + 4 * (lane / 16));
        let upper = 4 * (lane / 16);
        let (row, column) = match (self.role, columns, self.element) {
            (Role::A, false, _) => (own, index),
            (Role::A, true, _) => (index + upper, lane % 4),
            (Role::B, false, _) => (lane % 4, index + upper),
            (Role::B, true, _) => (index, own),
            (Role::C, _, Element::F32) => {
                ((lane & 1) + (index & 2) + upper, (index & 4) + (lane & 2) + (index & 1))
            }
            (Role::C, ..) => (own, index),
        };
        (quad, row, column)
    }
}

/// Returns the row and column of a part of a lane's register in an 8 by 8 matrix of 16-bit
/// elements, as `ldmatrix` defines them.
#[must_use]
pub const fn tile_place(lane: usize, part: usize, transposed: bool) -> (usize, usize) {
    let (row, column) = (lane / 4, lane % 4 * 2 + part);
    if transposed { (column, row) } else { (row, column) }
}
