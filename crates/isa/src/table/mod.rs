//! Instruction tables: one table yields decoder, encoder, assembler, disassembler and reference
//! page.
//!
//! A table is data. It is read at start-up from a text file that the machine embeds (see [`tsv`]),
//! or built from [`FormSpec`]s when the machine's own catalogue has another shape; both go through
//! the same validation ([`Table::new`]). Reading at start-up, rather than generating Rust from the
//! text, keeps one readable file as the only source, leaves no generated code that could be out of
//! date, and costs a few milliseconds for a thousand forms.
//!
//! What always holds for a [`Table`]:
//! - Form names are unique. Widths are multiples of 8, from 8 to 64 bits.
//! - Every bit of a form is either fixed or in exactly one field; no field lies outside the form.
//! - If two forms can match one word, exactly one of them wins: the one of higher `priority`, or at
//!   equal priority the one whose fixed bits include all fixed bits of the other (most specific
//!   first). Any other overlap is an error.
//! - Every field value has an `i64`; defaults can be encoded; a kind of names has a name for every
//!   legal value.
//! - Templates name only fields of their form and kinds of the table.

mod check;
pub mod decode;
mod field;
mod kind;
mod template;
pub mod tsv;

use std::collections::BTreeMap;

pub use self::field::{Field, FieldError, Piece};
pub use self::kind::{Kind, KindDef, KindId, Names};
pub(crate) use self::template::for_each_field;
pub use self::template::{Part, Template, TemplateError};

use self::decode::Tree;

/// Index of a form in its [`Table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormId(pub(crate) u16);

impl FormId {
    /// The index into [`Table::forms`].
    #[must_use]
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A form as declared: the input of [`Table::new`].
#[derive(Clone, Debug, Default)]
pub struct FormSpec {
    /// Unique name; machines find the form by it.
    pub name: String,
    /// Width in bits: a multiple of 8, up to 64.
    pub bits: u32,
    /// The fixed bits.
    pub mask: u64,
    /// What the fixed bits are.
    pub pattern: u64,
    /// The values in the other bits.
    pub fields: Vec<Field>,
    /// The canonical syntax (see [`Template`]); read and printed.
    pub syntax: String,
    /// Other ways to write it.
    pub aliases: Vec<AliasSpec>,
    /// Wins an overlap against forms of lower priority.
    pub priority: i32,
    /// Group, status, context and the like, by name.
    pub attributes: Vec<(String, String)>,
    /// One line: what it does.
    pub doc: String,
}

/// Another way to write a form, as declared.
#[derive(Clone, Debug, Default)]
pub struct AliasSpec {
    /// The syntax.
    pub syntax: String,
    /// Fields that this way of writing fixes; those neither fixed nor written have their defaults.
    pub fixed: Vec<(String, i64)>,
    /// Whether it is printed when it applies.
    pub printed: bool,
}

/// A form of a valid table.
#[derive(Clone, Debug)]
pub struct Form {
    /// Unique name.
    pub name: String,
    /// Width in bits.
    pub bits: u32,
    /// The fixed bits.
    pub mask: u64,
    /// What the fixed bits are; zero outside `mask`.
    pub pattern: u64,
    /// The values in the other bits.
    pub fields: Vec<Field>,
    /// The canonical syntax.
    pub syntax: Template,
    /// Other ways to write it.
    pub aliases: Vec<Alias>,
    /// Wins an overlap against forms of lower priority.
    pub priority: i32,
    /// Group, status, context and the like, by name.
    pub attributes: Vec<(String, String)>,
    /// One line: what it does.
    pub doc: String,
}

/// Another way to write a form.
#[derive(Clone, Debug)]
pub struct Alias {
    /// The syntax.
    pub syntax: Template,
    /// Index and value of the fields that this way of writing fixes.
    pub fixed: Vec<(usize, i64)>,
    /// Whether it is printed when it applies.
    pub printed: bool,
}

impl Form {
    /// Bytes in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bits as usize / 8
    }

    /// A field by name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| f.name == name)
    }

    /// An attribute by name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// Whether the word has the fixed bits and only legal values: the form's own part of decoding,
    /// without regard to other forms.
    #[must_use]
    pub fn matches(&self, word: u64) -> bool {
        word & self.mask == self.pattern
            && self.fields.iter().all(|f| f.legal.is_empty() || f.is_legal(f.extract(word)))
    }

    /// All bits of the form.
    #[must_use]
    pub fn width_mask(&self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }
}

/// How the first bits of an instruction tell its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthRule {
    /// The bits to look at.
    pub mask: u64,
    /// What they are.
    pub pattern: u64,
    /// The width in bits.
    pub bits: u32,
}

/// Everything that [`Table::new`] validates.
#[derive(Clone, Debug, Default)]
pub struct TableSpec {
    /// The instruction set.
    pub name: String,
    /// Operand kinds beside the built-in ones.
    pub kinds: Vec<KindDef>,
    /// How to tell the width of a word that is not a form; the first that applies counts. May be
    /// empty.
    pub lengths: Vec<LengthRule>,
    /// The forms, each with the line of its declaration, 0 for none.
    pub forms: Vec<(FormSpec, u32)>,
}

/// A valid instruction table.
#[derive(Clone, Debug)]
pub struct Table {
    name: String,
    kinds: Vec<KindDef>,
    lengths: Vec<LengthRule>,
    forms: Vec<Form>,
    by_name: BTreeMap<String, FormId>,
    by_mnemonic: BTreeMap<String, Vec<Spelling>>,
    unit_bits: u32,
    tree: Tree,
}

/// A way to write a form: the canonical one or an alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// The form.
    pub form: FormId,
    /// Index into [`Form::aliases`]; `None` for the canonical syntax.
    pub alias: Option<usize>,
}

/// What is wrong with a table, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {problem}", line_prefix(*.line), .form)]
pub struct TableError {
    /// Line of the declaration, from 1; 0 if it has none.
    pub line: u32,
    /// Name of the form or other declaration.
    pub form: String,
    /// What is wrong.
    pub problem: Problem,
}

fn line_prefix(line: u32) -> String {
    if line == 0 { String::new() } else { format!("line {line}: ") }
}

/// The ways in which a table can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Something that the text format does not know.
    #[error("{0}")]
    Text(String),
    /// More than 65,535 forms.
    #[error("more than 65535 forms")]
    TooMany,
    /// Two forms of one name, or two kinds, fields or attributes.
    #[error("`{0}` is declared twice")]
    Duplicate(String),
    /// The width is not 8, 16, ... 64.
    #[error("a width of {0} bits; possible are 8, 16, ... 64")]
    Width(u32),
    /// A fixed bit outside the width.
    #[error("fixed bits {0:#x} lie outside the width")]
    MaskWidth(u64),
    /// A pattern bit that the mask does not fix.
    #[error("pattern bits {0:#x} lie outside the mask")]
    PatternOutsideMask(u64),
    /// A field with no pieces, an empty piece, or bits outside the form or beyond value bit 62.
    #[error("field `{0}` has no bits, or bits outside the instruction or above value bit 62")]
    FieldBits(String),
    /// A field on fixed bits or on another field.
    #[error("field `{field}` shares instruction bits {bits:#x} with {with}")]
    FieldOverlap {
        /// The field.
        field: String,
        /// The bits.
        bits: u64,
        /// The fixed bits or the other field.
        with: String,
    },
    /// Two pieces of a field set one value bit.
    #[error("field `{0}` sets a value bit twice")]
    ValueOverlap(String),
    /// Scale 0, or values beyond 64 bits.
    #[error("field `{0}` has scale 0 or values beyond 64 bits")]
    Scale(String),
    /// A default or fixed value that the field cannot hold.
    #[error("value cannot be encoded: {0}")]
    Value(#[from] FieldError),
    /// Bits that are neither fixed nor in a field.
    #[error("bits {0:#x} are neither fixed nor in a field")]
    Uncovered(u64),
    /// A field whose kind of names lacks a name for a legal value.
    #[error("operand kind `{kind}` has no name for value {value} of field `{field}`")]
    Unnamed {
        /// The kind.
        kind: String,
        /// The field.
        field: String,
        /// The value.
        value: i64,
    },
    /// A wrong template.
    #[error("{text:?}: {error}")]
    Template {
        /// The template.
        text: String,
        /// What is wrong with it.
        error: TemplateError,
    },
    /// An alias fixes a field that does not exist or that it also writes.
    #[error("the alias fixes `{0}`, which is not a field, or which its syntax writes")]
    Fixed(String),
    /// Two forms that can match one word, with no rule to choose.
    #[error(
        "overlaps `{other}` (both match {word:#x}); neither is more specific: give one a priority"
    )]
    Overlap {
        /// The other form.
        other: String,
        /// A word that both match.
        word: u64,
    },
    /// A form that no word reaches, since another one wins everywhere.
    #[error("is never decoded: `{0}` matches the same words and wins")]
    Hidden(String),
    /// The width of a form is not what the length rules say.
    #[error("has {bits} bits, but the length rules say {rule} (attribute `fused` allows it)")]
    Length {
        /// Of the form.
        bits: u32,
        /// By the rules.
        rule: u32,
    },
    /// A machine's list does not fit the table.
    #[error("{0}")]
    Unbound(String),
}

/// All mistakes of a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("instruction table: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct TableErrors(pub Vec<TableError>);

impl Table {
    /// Validates a table.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn new(spec: TableSpec) -> Result<Self, TableErrors> {
        check::table(spec).map_err(TableErrors)
    }

    /// Reads and validates the text form of a table; see [`tsv`].
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, TableErrors> {
        tsv::parse(text).map_err(TableErrors).and_then(Self::new)
    }

    /// The table without the forms for which `keep` does not hold: a profile of the instruction
    /// set.
    ///
    /// # Errors
    /// [`Problem::Hidden`] and the like cannot newly arise; the type is that of validation.
    pub fn filtered(&self, mut keep: impl FnMut(&Form) -> bool) -> Result<Self, TableErrors> {
        let forms = self.forms.iter().filter(|f| keep(f)).map(|f| (f.to_spec(), 0)).collect();
        let kinds = self.kinds[check::BUILT_IN.len()..].to_vec();
        Self::new(TableSpec {
            name: self.name.clone(),
            kinds,
            lengths: self.lengths.clone(),
            forms,
        })
    }

    /// The instruction set's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All forms, in order of declaration.
    #[must_use]
    pub fn forms(&self) -> &[Form] {
        &self.forms
    }

    /// The form of an id of this table.
    ///
    /// # Panics
    /// If the id is of another, larger table.
    #[must_use]
    #[inline]
    pub fn form(&self, id: FormId) -> &Form {
        &self.forms[id.index()]
    }

    /// Ids with forms, in order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (FormId, &Form)> {
        self.forms.iter().enumerate().map(|(i, f)| (FormId(i as u16), f))
    }

    /// A form by its name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<FormId> {
        self.by_name.get(name).copied()
    }

    /// The operand kinds, built-in ones first.
    #[must_use]
    pub fn kinds(&self) -> &[KindDef] {
        &self.kinds
    }

    /// The kind of an id of this table.
    ///
    /// # Panics
    /// If the id is of another, larger table.
    #[must_use]
    pub fn kind(&self, id: KindId) -> &KindDef {
        &self.kinds[usize::from(id.0)]
    }

    /// Mnemonics in lower case, in alphabetical order.
    pub fn mnemonics(&self) -> impl Iterator<Item = &str> {
        self.by_mnemonic.keys().map(String::as_str)
    }

    /// All ways to write a mnemonic (given in lower case), in order of declaration.
    #[must_use]
    pub fn spellings(&self, mnemonic: &str) -> &[Spelling] {
        self.by_mnemonic.get(mnemonic).map_or(&[], Vec::as_slice)
    }

    /// The template of a spelling.
    #[must_use]
    pub fn template(&self, spelling: Spelling) -> &Template {
        let form = self.form(spelling.form);
        match spelling.alias.and_then(|i| form.aliases.get(i)) {
            Some(alias) => &alias.syntax,
            None => &form.syntax,
        }
    }

    /// Greatest common divisor of all widths: instructions lie at multiples of this many bits.
    #[must_use]
    pub fn unit_bits(&self) -> u32 {
        self.unit_bits
    }

    /// Width in bits of the instruction that starts with these bits, by the length rules alone;
    /// where no rule applies, [`Self::unit_bits`]. This is how far to skip over a word that is not
    /// a form.
    #[must_use]
    pub fn length(&self, window: u64) -> u32 {
        let rule = self.lengths.iter().find(|r| window & r.mask == r.pattern);
        rule.map_or(self.unit_bits, |r| r.bits)
    }

    /// The length rules.
    #[must_use]
    pub fn lengths(&self) -> &[LengthRule] {
        &self.lengths
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Pairs every form with a machine's own name for it, such as an `enum` of operations: the
    /// result is indexed by [`FormId::index`].
    ///
    /// # Errors
    /// Names that are not forms, and forms without a pair.
    pub fn bind<T: Clone>(&self, pairs: &[(&str, T)]) -> Result<Vec<T>, TableErrors> {
        let mut out: Vec<Option<T>> = vec![None; self.forms.len()];
        let mut errors = Vec::new();
        let mut unbound = |name: &str, what: &str| {
            let problem = Problem::Unbound(what.to_owned());
            errors.push(TableError { line: 0, form: name.to_owned(), problem });
        };
        for (name, value) in pairs {
            match self.find(name) {
                Some(id) if out[id.index()].is_some() => unbound(name, "bound twice"),
                Some(id) => out[id.index()] = Some(value.clone()),
                None => unbound(name, "no such form"),
            }
        }
        for (form, slot) in self.forms.iter().zip(&out) {
            if slot.is_none() {
                unbound(&form.name, "the form is bound to nothing");
            }
        }
        if errors.is_empty() {
            Ok(out.into_iter().flatten().collect())
        } else {
            Err(TableErrors(errors))
        }
    }
}

impl Form {
    fn to_spec(&self) -> FormSpec {
        let alias = |a: &Alias| AliasSpec {
            syntax: a.syntax.text.clone(),
            fixed: a.fixed.iter().map(|&(i, v)| (self.fields[i].name.clone(), v)).collect(),
            printed: a.printed,
        };
        FormSpec {
            name: self.name.clone(),
            bits: self.bits,
            mask: self.mask,
            pattern: self.pattern,
            fields: self.fields.clone(),
            syntax: self.syntax.text.clone(),
            aliases: self.aliases.iter().map(alias).collect(),
            priority: self.priority,
            attributes: self.attributes.clone(),
            doc: self.doc.clone(),
        }
    }
}
