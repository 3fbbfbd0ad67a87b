//! The spelling of instructions: the table of forms, and the assignment of modifiers to kinds.
//!
//! A [`Form`] lists the modifiers, types and operands of an opcode, and the operation of the kernel
//! IR that it becomes. An opcode has one form for each group of types that takes the same
//! modifiers. Modifiers are assigned by kind, in any order; [`spell`] reports the errors if no form
//! takes them.

mod families;
mod kind;
mod matrix;
mod table;

pub use families::{Family, Later, Tier, families, family, later_form};
pub use kind::{Kind, Kinds, is_cache_hint};
pub(crate) use matrix::{
    fragment, fragment_mods, group_product, matrix_mods, register_type, tiles,
};
pub use table::{Arg, Form, Rule, Special, Target, Val, all_forms, forms};

use std::cell::Cell;

use ir::{Mods, Op};
use smallvec::SmallVec;

use crate::ast::Type;

/// An instruction's modifiers, by kind.
#[derive(Clone, Debug)]
pub struct Spelled {
    /// The form.
    pub form: &'static Form,
    /// The types in order.
    pub types: SmallVec<[Type; 4]>,
    /// Whether other forms take the same modifiers with other numbers of operands.
    pub by_count: bool,
    words: [Option<&'static str>; Kind::COUNT],
    /// The IR's modifiers that were made of them last, and for which operation.
    mods: Cell<Option<(Op, Mods)>>,
}

impl Spelled {
    /// The word of a kind, if the instruction has it.
    #[must_use]
    pub fn word(&self, kind: Kind) -> Option<&'static str> {
        self.words[kind.index()]
    }

    /// Returns the IR's modifiers for an operation, as `make` makes them of this. They are kept:
    /// most instructions are spelled as others are.
    pub(crate) fn mods(&self, op: Op, make: impl FnOnce() -> Mods) -> Mods {
        if let Some((_, mods)) = self.mods.get().filter(|(known, _)| *known == op) {
            return mods;
        }
        let mods = make();
        self.mods.set(Some((op, mods)));
        mods
    }

    /// Returns whether the instruction has a word of the kind.
    #[must_use]
    pub fn has(&self, kind: Kind) -> bool {
        self.word(kind).is_some()
    }

    /// The first type; `.b32` for forms without one.
    #[must_use]
    pub fn ty(&self) -> Type {
        self.types.first().copied().unwrap_or(Type::B32)
    }

    /// The last type: the source's, where there are two.
    #[must_use]
    pub fn source_ty(&self) -> Type {
        self.types.last().copied().unwrap_or(Type::B32)
    }
}

/// An error in an instruction's modifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misspelling {
    /// The modifier at this index belongs to none of the kinds that the opcode takes.
    Unknown {
        /// Index of the modifier.
        index: usize,
        /// The possible words.
        possible: Vec<&'static str>,
    },
    /// The modifier at this index is the second of its kind.
    Twice {
        /// Index of the modifier.
        index: usize,
        /// The kind's name.
        what: &'static str,
    },
    /// The modifier at this index is the shape of a matrix that the opcode does not have.
    Shape {
        /// Index of the modifier.
        index: usize,
        /// The possible shapes.
        possible: Vec<&'static str>,
    },
    /// A modifier of this kind is missing.
    Missing {
        /// The kind's name.
        what: &'static str,
    },
    /// One of several kinds is missing, each of which another form needs.
    MissingOneOf {
        /// The kinds' names.
        what: Vec<&'static str>,
    },
    /// Each modifier is right by itself, but not in this combination.
    Rule {
        /// The rule.
        needed: &'static str,
    },
    /// The type at this index is not one that the opcode works on.
    Type {
        /// Index of the modifier.
        index: usize,
        /// The possible types.
        possible: Vec<&'static str>,
    },
    /// There are too few types.
    TypeMissing {
        /// The possible types.
        possible: Vec<&'static str>,
    },
    /// There are more types than the opcode takes.
    TypeTwice {
        /// Index of the modifier.
        index: usize,
    },
}

impl Misspelling {
    /// Returns a measure of the error: the form with the smallest one was meant.
    fn distance(&self) -> u32 {
        let sparse = [Kind::Sparse.what(), Kind::SparseOrdered.what()];
        match self {
            // Nobody leaves out the word that makes a factor sparse.
            Self::Missing { what } if sparse.contains(what) => 4,
            Self::Missing { .. } | Self::MissingOneOf { .. } | Self::Rule { .. } => 1,
            Self::Twice { .. } | Self::TypeTwice { .. } | Self::Shape { .. } => 2,
            Self::Unknown { .. } => 3,
            Self::Type { .. } => 5,
            Self::TypeMissing { .. } => 6,
        }
    }
}

/// A modifier as it is written: its word, and the type that the word names.
pub type Word<'a> = (&'a str, Option<Type>);

/// Finds the form of an opcode that takes these modifiers and this number of operands; if there is
/// none for the number, the one that is nearest to it.
///
/// # Errors
/// Returns the errors for the form that fits best; never empty.
pub fn spell_counted(
    forms: &[&'static Form],
    words: &[Word<'_>],
    operands: usize,
) -> Result<Spelled, Vec<Misspelling>> {
    let mut best = spell(forms, words)?;
    let from = forms.iter().position(|f| std::ptr::eq(*f, best.form)).map_or(0, |at| at + 1);
    for form in &forms[from..] {
        let Ok(other) = assign(form, words) else { continue };
        let by_count = best.by_count || other.form.args.len() != best.form.args.len();
        if other.form.count_distance(operands) < best.form.count_distance(operands) {
            best = other;
        }
        best.by_count = by_count;
    }
    Ok(best)
}

/// Finds the first form of an opcode that takes these modifiers.
///
/// # Errors
/// Returns the errors for the form that fits best; never empty.
pub fn spell(forms: &[&'static Form], words: &[Word<'_>]) -> Result<Spelled, Vec<Misspelling>> {
    let mut best: Option<(u32, Vec<Misspelling>)> = None;
    let mut missing: Vec<&'static str> = Vec::new();
    let mut shapes: Vec<&'static str> = Vec::new();
    for &form in forms {
        match assign(form, words) {
            Ok(spelled) => return Ok(spelled),
            Err(wrong) => {
                let distance = wrong.iter().map(Misspelling::distance).sum();
                match wrong.as_slice() {
                    [Misspelling::Missing { what }] if !missing.contains(what) => {
                        missing.push(what);
                    }
                    [Misspelling::Shape { possible, .. }] => shapes.extend(possible),
                    _ => {}
                }
                if best.as_ref().is_none_or(|(least, _)| distance < *least) {
                    best = Some((distance, wrong));
                }
            }
        }
    }
    Err(match best {
        Some((_, wrong))
            if matches!(*wrong, [Misspelling::Missing { .. }]) && missing.len() > 1 =>
        {
            vec![Misspelling::MissingOneOf { what: missing }]
        }
        Some((_, wrong)) => match *wrong {
            // Forms with the same types may have shapes of their own.
            [Misspelling::Shape { index, .. }] => {
                vec![Misspelling::Shape { index, possible: shapes }]
            }
            _ => wrong,
        },
        None => vec![Misspelling::Missing { what: "a form" }],
    })
}

fn assign(form: &'static Form, words: &[Word<'_>]) -> Result<Spelled, Vec<Misspelling>> {
    let mut spelled = Spelled {
        form,
        types: SmallVec::new(),
        by_count: false,
        words: [None; Kind::COUNT],
        mods: Cell::new(None),
    };
    let mut wrong = Vec::new();
    for (index, &(word, ty)) in words.iter().enumerate() {
        if let Some(ty) = ty.filter(|_| form.types > 0) {
            add_type(&mut spelled, &mut wrong, index, ty);
            continue;
        }
        let mut twice = None;
        let found = form.kinds().find_map(|kind| {
            let known = form.words(kind).iter().find(|w| **w == word)?;
            if spelled.has(kind) {
                twice = Some(kind.what());
                return None;
            }
            Some((kind, *known))
        });
        match (found, twice) {
            (Some((kind, known)), _) => spelled.words[kind.index()] = Some(known),
            (None, Some(what)) => wrong.push(Misspelling::Twice { index, what }),
            (None, None) if form.hints && is_cache_hint(word) => {}
            (None, None)
                if form.kinds().any(|k| k == Kind::MatrixShape) && shape_of(word).is_some() =>
            {
                let possible = form.words(Kind::MatrixShape).to_vec();
                wrong.push(Misspelling::Shape { index, possible });
            }
            (None, None) => wrong.push(Misspelling::Unknown { index, possible: possible(form) }),
        }
    }
    let no_shape = wrong.iter().any(|w| matches!(w, Misspelling::Shape { .. }));
    let given = |kind| spelled.has(kind) || no_shape && kind == Kind::MatrixShape;
    for kind in form.required.iter().filter(|&k| !given(k)) {
        wrong.push(Misspelling::Missing { what: kind.what() });
    }
    if spelled.types.len() < form.types {
        let set = form.type_set(spelled.types.len());
        wrong.push(Misspelling::TypeMissing { possible: names(set) });
    }
    if wrong.is_empty() {
        let broken = form.rules().find(|rule| !(rule.holds)(&spelled));
        wrong.extend(broken.map(|rule| Misspelling::Rule { needed: rule.text }));
    }
    if wrong.is_empty() { Ok(spelled) } else { Err(wrong) }
}

fn add_type(spelled: &mut Spelled, wrong: &mut Vec<Misspelling>, index: usize, ty: Type) {
    let form = spelled.form;
    let at = spelled.types.len();
    if at >= form.types {
        wrong.push(Misspelling::TypeTwice { index });
        return;
    }
    let set = form.type_set(at);
    if !set.contains(&ty) {
        wrong.push(Misspelling::Type { index, possible: names(set) });
    }
    spelled.types.push(ty);
}

/// Returns the sizes in a word such as `m16n8k16`; `m8n8` has 0 for the last.
pub(crate) fn shape_of(word: &str) -> Option<[u32; 3]> {
    let (rows, rest) = word.strip_prefix('m')?.split_once('n')?;
    let (columns, depth) = rest.split_once('k').unwrap_or((rest, "0"));
    Some([rows.parse().ok()?, columns.parse().ok()?, depth.parse().ok()?])
}

fn names(types: &[Type]) -> Vec<&'static str> {
    types.iter().map(|t| t.word()).collect()
}

fn possible(form: &Form) -> Vec<&'static str> {
    form.kinds().flat_map(|k| form.words(k).iter().copied()).collect()
}
