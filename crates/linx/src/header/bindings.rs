//! What a block takes exactly: source tiles, a destination tile or the accumulator, scalars.
//!
//! Kernels bind what they name. Upstream's text gives the counts of engine blocks (chapter 8 of the
//! manual; operations by `tepl` tables); its compiler's output contradicts them for TSTORE, which
//! it writes with a destination. The option `lenient-tiles` takes any surplus.

use super::{Header, Kind};
use crate::trap::{Detail, Family, Trap};

/// Where the result of a block goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    None,
    Tile,
    Accumulator,
}

/// The bindings of a block.
#[derive(Clone, Copy, Debug)]
struct Bindings {
    /// Source tiles.
    sources: usize,
    target: Target,
    /// Fewest scalar sources; more are optional by the manual, and without effect.
    scalars: usize,
}

const fn bindings(sources: usize, target: Target, scalars: usize) -> Bindings {
    Bindings { sources, target, scalars }
}

impl Kind {
    /// The bindings of a block; `None` for kernels.
    fn bindings(self) -> Option<Bindings> {
        Some(match self {
            Self::Simt(_) => return None,
            // The address, with the stride before it.
            Self::Load => bindings(0, Target::Tile, 1),
            Self::Store => bindings(1, Target::None, 1),
            Self::Move => bindings(1, Target::Tile, 0),
            Self::Matmul { .. } => bindings(2, Target::Accumulator, 0),
            Self::Convert => bindings(0, Target::Tile, 0),
            Self::Tile(op) => {
                let scalar = op.v04 >= 0x20 || op.name == "TEXPANDS";
                let scalars = usize::from(scalar);
                bindings(usize::from(op.sources), Target::Tile, scalars)
            }
        })
    }
}

impl Header {
    /// Checks that a header binds what its block takes; `at` is the instruction that ends it.
    pub(super) fn validate_bindings(&self, at: u64) -> Result<(), Trap> {
        let Some(wanted) = self.kind.bindings() else { return Ok(()) };
        let (tiles, scalars) = (self.inputs().len(), self.scalars().len());
        let words = |what: &str, has: usize, takes: String| {
            format!("{has} {what}; this block takes {takes}")
        };
        if tiles != wanted.sources {
            let detail = if tiles < wanted.sources { Detail::Missing } else { Detail::Illegal };
            let words = words("source tiles", tiles, wanted.sources.to_string());
            return Err(Trap::format(at, Family::Iot, detail, words));
        }
        let destinations: Vec<u8> = self.iot.iter().filter_map(|iot| iot.dest).collect();
        let wrong = match (wanted.target, destinations.as_slice()) {
            (Target::None, []) | (Target::Accumulator, [4]) => None,
            (Target::Tile, [hand]) if *hand < 4 => None,
            (Target::Tile, []) => Some((Detail::Missing, "a destination tile is missing")),
            (Target::Accumulator, []) => {
                Some((Detail::Missing, "the destination `->acc` is missing"))
            }
            (Target::None, _) => Some((Detail::Illegal, "a destination of a block without one")),
            (Target::Accumulator, _) => {
                Some((Detail::Illegal, "the destination is the accumulator"))
            }
            (Target::Tile, _) => Some((Detail::Illegal, "the destination is one tile")),
        };
        if let Some((detail, words)) = wrong {
            return Err(Trap::format(at, Family::Iot, detail, words));
        }
        if scalars < wanted.scalars {
            let words = words("scalars", scalars, wanted.scalars.to_string());
            return Err(Trap::format(at, Family::Ior, Detail::Missing, words));
        }
        self.validate_last(at)
    }

    /// `last` stands on the last tile descriptor, and on no other.
    fn validate_last(&self, at: u64) -> Result<(), Trap> {
        let rows = self.iot.len();
        match self.iot.iter().enumerate().find(|(k, iot)| iot.last != (k + 1 == rows)) {
            None => Ok(()),
            Some((_, iot)) => {
                let words = if iot.last {
                    "a tile descriptor after the one with `last`"
                } else {
                    "the last tile descriptor lacks `last`"
                };
                Err(Trap::format(at, Family::Iot, Detail::Illegal, words))
            }
        }
    }
}
