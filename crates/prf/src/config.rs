//! The options of the machine, and the profiles that set them.

use crate::encoding::{Encoding, Predicates};

/// The effect of an instruction that writes a predicate on lanes outside its own mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PredicateWrites {
    /// They become 0: the result is ANDed with the mask.
    #[default]
    And,
    /// They stay.
    Merge,
}

/// The condition of `jpnz`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Polarity {
    /// When any live lane has the predicate set.
    #[default]
    AnyLane,
    /// When no live lane has it set.
    NoLane,
}

/// The functional choices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The encoding.
    pub encoding: Encoding,
    /// Lanes outside the mask of a predicate write.
    pub writes: PredicateWrites,
    /// The condition of `jpnz`.
    pub polarity: Polarity,
    /// Whether `halt` with predicate field 31 retires the lanes of p31. Otherwise it retires all
    /// lanes, as older programs expect.
    pub strict_halt: bool,
}

/// A named set of choices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The founding document: 16 predicates, AND, a predicate port of its own.
    Founding,
    /// The published cycle model: 32 predicates; the predicate port looks for register bank 0's
    /// identifier.
    #[default]
    Cardinal,
    /// 32 predicates, a predicate port of its own.
    Clean,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 3] = [Self::Founding, Self::Cardinal, Self::Clean];

    /// The name in options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Founding => "founding",
            Self::Cardinal => "cardinal",
            Self::Clean => "clean",
        }
    }

    /// A one-line description.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Founding => "16 predicates, a predicate port of its own",
            Self::Cardinal => "32 predicates, the published model's write-back ports",
            Self::Clean => "32 predicates, a predicate port of its own",
        }
    }

    /// Its functional choices.
    #[must_use]
    pub fn config(self) -> Config {
        let predicates = match self {
            Self::Founding => Predicates::P16,
            Self::Cardinal | Self::Clean => Predicates::P32,
        };
        Config { encoding: Encoding { predicates, ..Encoding::default() }, ..Config::default() }
    }
}
