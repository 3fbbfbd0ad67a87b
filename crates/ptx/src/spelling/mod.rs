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
pub(crate) use matrix::{fragment, fragment_mods, matrix_count, matrix_mods, register_type};
pub use table::{Arg, Form, Rule, Special, Target, Val, all_forms, forms};

use smallvec::SmallVec;

use crate::ast::Type;

/// An instruction's modifiers, by kind.
#[derive(Clone, Debug)]
pub struct Spelled {
    /// The form.
    pub form: &'static Form,
    /// The types in order.
    pub types: SmallVec<[Type; 4]>,
    words: [Option<&'static str>; Kind::ALL.len()],
}

impl Spelled {
    /// The word of a kind, if the instruction has it.
    #[must_use]
    pub fn word(&self, kind: Kind) -> Option<&'static str> {
        self.words[kind as usize]
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
        match self {
            Self::Missing { .. } | Self::MissingOneOf { .. } | Self::Rule { .. } => 1,
            Self::Twice { .. } | Self::TypeTwice { .. } => 2,
            Self::Unknown { .. } => 3,
            Self::Type { .. } => 5,
            Self::TypeMissing { .. } => 6,
        }
    }
}

/// A modifier as it is written: its word, and the type that the word names.
pub type Word<'a> = (&'a str, Option<Type>);

/// Finds the form of an opcode that takes these modifiers.
///
/// # Errors
/// Returns the errors for the form that fits best; never empty.
pub fn spell(forms: &[&'static Form], words: &[Word<'_>]) -> Result<Spelled, Vec<Misspelling>> {
    let mut best: Option<(u32, Vec<Misspelling>)> = None;
    let mut missing: Vec<&'static str> = Vec::new();
    for &form in forms {
        match assign(form, words) {
            Ok(spelled) => return Ok(spelled),
            Err(wrong) => {
                let distance = wrong.iter().map(Misspelling::distance).sum();
                if let [Misspelling::Missing { what }] = wrong.as_slice()
                    && !missing.contains(what)
                {
                    missing.push(what);
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
        Some((_, wrong)) => wrong,
        None => vec![Misspelling::Missing { what: "a form" }],
    })
}

fn assign(form: &'static Form, words: &[Word<'_>]) -> Result<Spelled, Vec<Misspelling>> {
    let mut spelled = Spelled { form, types: SmallVec::new(), words: [None; Kind::ALL.len()] };
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
            (Some((kind, known)), _) => spelled.words[kind as usize] = Some(known),
            (None, Some(what)) => wrong.push(Misspelling::Twice { index, what }),
            (None, None) if form.hints && is_cache_hint(word) => {}
            (None, None) => wrong.push(Misspelling::Unknown { index, possible: possible(form) }),
        }
    }
    for kind in form.required.iter().filter(|&k| !spelled.has(k)) {
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

fn names(types: &[Type]) -> Vec<&'static str> {
    types.iter().map(|t| t.word()).collect()
}

fn possible(form: &Form) -> Vec<&'static str> {
    form.kinds().flat_map(|k| form.words(k).iter().copied()).collect()
}
