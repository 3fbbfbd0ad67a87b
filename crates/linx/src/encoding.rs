//! What differs between the encodings of programs: numbers of tile operations, and conventions in
//! which the text of v0.4 and upstream's compiler disagree.

use crate::names::TileOps;
use crate::variant::Variant;

/// How fields and frames are read on which v0.4 and upstream's tools contradict each other.
///
/// | | `v0.4` (manual, formal model) | `compiler` (LLVM, lld, RTL, Rust model) |
/// |---|---|---|
/// | SrcRType of scalar forms | none, `.sw`, `.uw`, `.neg`/`.not` | one less, 3 none |
/// | `addtpc` | from the instruction, half-words | from its page, pages of 4 KB |
/// | `csel` | the left operand if the predicate holds | the right one |
/// | distances of `*.pcr` | half-words | bytes |
/// | distance of `hl.setret` | unsigned | signed |
/// | size of a frame | without the saved registers | with them |
/// | registers in a frame | ascending behind the size | descending from its end |
/// | queues `t`, `u` at the start of a block | empty | as they were |
/// | after FENTRY | a marker | a marker, or the block goes on |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Conventions {
    /// The text of v0.4.
    #[default]
    V04,
    /// What upstream's compiler writes: ELF files.
    Compiler,
}

impl Conventions {
    /// Returns the table of forms with the units of these conventions.
    pub(crate) fn forms(self, text: &str) -> String {
        if self == Self::V04 {
            return text.to_owned();
        }
        let line = |line: &str| {
            let name = line.split('\t').next().unwrap_or_default();
            match name {
                "addtpc" => line.replace(" signed scale=2", " signed scale=4096"),
                "hl.setret" => line.replace(" scale=2", " signed scale=2"),
                _ if name.ends_with(".pcr") => line.replace(" signed scale=2", " signed"),
                _ => line.to_owned(),
            }
        };
        text.lines().map(|l| line(l) + "\n").collect()
    }

    /// Returns the modifier of v0.4 for the SrcRType of a scalar form.
    pub(crate) fn modifier(self, code: i64) -> i64 {
        match self {
            Self::V04 => code,
            Self::Compiler => (code + 1) & 3,
        }
    }

    /// Returns the SrcRType of a scalar form for a modifier of v0.4.
    pub(crate) fn code(self, modifier: i64) -> i64 {
        match self {
            Self::V04 => modifier,
            Self::Compiler => (modifier + 3) & 3,
        }
    }
}

/// How a program is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Encoding {
    /// The numbers of tile operations.
    pub tile_ops: TileOps,
    /// Contradictions between the text and the tools.
    pub conventions: Conventions,
    /// The table of a designer, in place of the numbers of LinxISA.
    pub variant: Option<&'static Variant>,
}

impl From<TileOps> for Encoding {
    fn from(tile_ops: TileOps) -> Self {
        Self { tile_ops, ..Self::default() }
    }
}

impl Encoding {
    /// A number from 0 to 3.
    pub(crate) fn index(self) -> usize {
        2 * usize::from(self.conventions == Conventions::Compiler)
            + usize::from(self.tile_ops == TileOps::V03)
    }

    /// The encoding with a number.
    pub(crate) const fn at(index: usize) -> Self {
        Self {
            tile_ops: if index.is_multiple_of(2) { TileOps::V04 } else { TileOps::V03 },
            conventions: if index < 2 { Conventions::V04 } else { Conventions::Compiler },
            variant: None,
        }
    }
}
