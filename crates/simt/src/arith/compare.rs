//! Outcomes of comparisons and the operators that read them.

use std::cmp::Ordering;

/// The relation of one number to another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Relation {
    /// Less.
    Less,
    /// Equal; zeros of different signs are.
    Equal,
    /// Greater.
    Greater,
    /// At least one is a NaN.
    Unordered,
}

impl From<Ordering> for Relation {
    #[inline]
    fn from(order: Ordering) -> Self {
        match order {
            Ordering::Less => Self::Less,
            Ordering::Equal => Self::Equal,
            Ordering::Greater => Self::Greater,
        }
    }
}

/// A comparison operator: the set of relations for which it is true. Covers all fourteen of PTX
/// `setp` on floats; on integers, which are never unordered, the first six.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cmp {
    /// `eq`: equal.
    Eq,
    /// `ne`: less or greater.
    Ne,
    /// `lt`: less.
    Lt,
    /// `le`: less or equal.
    Le,
    /// `gt`: greater.
    Gt,
    /// `ge`: greater or equal.
    Ge,
    /// `equ`: equal or unordered.
    Equ,
    /// `neu`: not equal (C's `!=`).
    Neu,
    /// `ltu`: less or unordered.
    Ltu,
    /// `leu`: not greater.
    Leu,
    /// `gtu`: greater or unordered.
    Gtu,
    /// `geu`: not less.
    Geu,
    /// `num`: ordered.
    Num,
    /// `nan`: unordered.
    Nan,
}

impl Cmp {
    /// All operators.
    pub const ALL: [Self; 14] = [
        Self::Eq,
        Self::Ne,
        Self::Lt,
        Self::Le,
        Self::Gt,
        Self::Ge,
        Self::Equ,
        Self::Neu,
        Self::Ltu,
        Self::Leu,
        Self::Gtu,
        Self::Geu,
        Self::Num,
        Self::Nan,
    ];

    /// Returns whether the operator is true of the relation.
    #[must_use]
    #[inline]
    pub const fn holds(self, relation: Relation) -> bool {
        // One bit a relation: less, equal, greater, unordered.
        let set: u8 = match self {
            Self::Eq => 0b0010,
            Self::Ne => 0b0101,
            Self::Lt => 0b0001,
            Self::Le => 0b0011,
            Self::Gt => 0b0100,
            Self::Ge => 0b0110,
            Self::Equ => 0b1010,
            Self::Neu => 0b1101,
            Self::Ltu => 0b1001,
            Self::Leu => 0b1011,
            Self::Gtu => 0b1100,
            Self::Geu => 0b1110,
            Self::Num => 0b0111,
            Self::Nan => 0b1000,
        };
        let bit = match relation {
            Relation::Less => 0,
            Relation::Equal => 1,
            Relation::Greater => 2,
            Relation::Unordered => 3,
        };
        set >> bit & 1 != 0
    }
}
