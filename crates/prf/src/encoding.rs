//! The instruction table and the ways in which its sources encode it differently.
//!
//! One text, `prf.tsv`, holds all of them; an [`Encoding`] chooses. The default is the encoding of
//! the newest code and programs; it also decodes (and names `jpnz.low`) the place where a compiler
//! of the family puts the predicate of `jpnz`, since the two cannot be confused.

use std::sync::OnceLock;

use isa::Table;

/// The number of predicate registers of a warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Predicates {
    /// 16, as in the founding document: an index above 15 is not an instruction.
    P16,
    /// 32, all that the five bits can name.
    #[default]
    P32,
}

impl Predicates {
    /// The number.
    #[must_use]
    pub const fn count(self) -> usize {
        match self {
            Self::P16 => 16,
            Self::P32 => 32,
        }
    }
}

/// The encoding of `jpnz`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JpnzForm {
    /// Predicate in bits 29..25, distance in half-words in 24..13; `jpnz.low` is the next one.
    #[default]
    Cardinal,
    /// Predicate in bits 11..7, distance as above: what a compiler of the family emits.
    Compiler,
    /// Predicate in bits 29..25, distance in bytes in 18..13: an old assembler.
    Bytes,
    /// Predicate in bits 18..13, target in the register of bits 24..19, taken when no lane is left:
    /// the ISA card.
    Register,
}

/// The unit of the distance of `jal`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JalUnit {
    /// Two bytes.
    #[default]
    HalfWords,
    /// One byte: an old assembler.
    Bytes,
}

/// A choice of encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encoding {
    /// Predicate registers of a warp.
    pub predicates: Predicates,
    /// The form of `jpnz`.
    pub jpnz: JpnzForm,
    /// The unit of `jal`.
    pub jal: JalUnit,
}

/// The text that all tables are made from.
const TEXT: &str = include_str!("prf.tsv");

/// One for each encoding, made when first asked for.
static TABLES: [OnceLock<Table>; 16] = [const { OnceLock::new() }; 16];

impl Encoding {
    /// The instruction table of this encoding.
    #[must_use]
    pub fn table(self) -> &'static Table {
        let slot = &TABLES[self.index()];
        slot.get_or_init(|| Table::parse(&self.text()).unwrap_or_else(|errors| panic!("{errors}")))
    }

    /// All encodings.
    pub fn all() -> impl Iterator<Item = Self> {
        let jpnz = [JpnzForm::Cardinal, JpnzForm::Compiler, JpnzForm::Bytes, JpnzForm::Register];
        let jal = [JalUnit::HalfWords, JalUnit::Bytes];
        [Predicates::P16, Predicates::P32].into_iter().flat_map(move |predicates| {
            jpnz.into_iter().flat_map(move |jpnz| {
                jal.into_iter().map(move |jal| Self { predicates, jpnz, jal })
            })
        })
    }

    fn index(self) -> usize {
        self.predicates as usize * 8 + self.jpnz as usize * 2 + self.jal as usize
    }

    /// The lines of the table that this encoding has, its legal predicates filled in.
    fn text(self) -> String {
        let jpnz = match self.jpnz {
            JpnzForm::Cardinal => "jpnz-cardinal",
            JpnzForm::Compiler => "jpnz-compiler",
            JpnzForm::Bytes => "jpnz-bytes",
            JpnzForm::Register => "jpnz-register",
        };
        let jal = match self.jal {
            JalUnit::HalfWords => "jal-halfwords",
            JalUnit::Bytes => "jal-bytes",
        };
        let has = |line: &&str| {
            let columns = line.split('\t').nth(6).unwrap_or_default();
            let variant = columns.split(';').find_map(|a| a.strip_prefix("variant="));
            variant.is_none_or(|v| v == jpnz || v == jal)
        };
        // Placeholders after a field's bits: any predicate; any but p0; that of `halt`, in six
        // bits.
        let small = self.predicates == Predicates::P16;
        let legal: [(&str, &str); 4] = if small {
            [
                (" P", " legal=0..15"),
                (" Q", " legal=1..15"),
                (" H", " legal=0..15|31"),
                (" R", " legal=0..15"),
            ]
        } else {
            [(" P", ""), (" Q", " legal=1..31"), (" H", ""), (" R", " legal=0..31")]
        };
        let mut out = String::new();
        for line in TEXT.lines().filter(has) {
            let mut columns: Vec<String> = line.split('\t').map(str::to_owned).collect();
            if let Some(fields) = columns.get_mut(4) {
                let filled: Vec<String> = fields
                    .split(';')
                    .map(|field| {
                        let found = legal.iter().find_map(|(placeholder, text)| {
                            field.strip_suffix(placeholder).map(|head| format!("{head}{text}"))
                        });
                        found.unwrap_or_else(|| field.to_owned())
                    })
                    .collect();
                *fields = filled.join(";");
            }
            out.push_str(&columns.join("\t"));
            out.push('\n');
        }
        out
    }
}
