//! Neighbours of the table's instructions: one word or type more, less, or different. Those that an
//! assembler accepts are missing from the table.

use std::collections::HashSet;
use std::fmt::Write as _;

use ir::mods::Kind as IrKind;

use super::examples::{register, type_choices, value_ty};
use crate::ast::Type;
use crate::spelling::{Arg, Form, Kind, Val, all_forms, spell};

/// Words that belong to no kind but occur in instructions.
const MORE: &[&str] = &[
    "oob",
    "rs",
    "scaled",
    "noinc",
    "mmio",
    "multimem",
    "unified",
    "L1::evict_last",
    "L2::128B",
    "L2::cache_hint",
    "async",
    "proxy",
    "sync_restrict",
    "alias",
];

/// Types that instructions are tried with.
const TYPES: &[Type] = &[
    Type::Pred,
    Type::B8,
    Type::B16,
    Type::B32,
    Type::B64,
    Type::B128,
    Type::U8,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::S8,
    Type::S16,
    Type::S32,
    Type::S64,
    Type::F16,
    Type::F16x2,
    Type::F32,
    Type::F32x2,
    Type::F64,
    Type::Bf16,
    Type::Bf16x2,
    Type::Tf32,
    Type::E4m3,
    Type::E5m2,
    Type::E4m3x2,
    Type::E5m2x2,
    Type::U16x2,
    Type::S16x2,
];

/// An instruction under construction.
#[derive(Clone)]
struct Draft {
    words: Vec<&'static str>,
    types: Vec<Type>,
}

/// Returns the changes of a draft: each word added at the front and the end, removed, and replaced;
/// types likewise.
fn changes(draft: &Draft, vocabulary: &[&'static str]) -> Vec<Draft> {
    let mut out = vec![draft.clone()];
    let mut with_words = |words: Vec<&'static str>| {
        out.push(Draft { words, types: draft.types.clone() });
    };
    for word in vocabulary {
        if !draft.words.contains(word) {
            with_words([&[*word], draft.words.as_slice()].concat());
            with_words([draft.words.as_slice(), &[*word]].concat());
            for at in 0..draft.words.len() {
                let mut words = draft.words.clone();
                words[at] = word;
                with_words(words);
            }
        }
    }
    for at in 0..draft.words.len() {
        let mut words = draft.words.clone();
        words.remove(at);
        with_words(words);
    }
    let mut with_types = |types: Vec<Type>| out.push(Draft { words: draft.words.clone(), types });
    for at in 0..draft.types.len() {
        let mut types = draft.types.clone();
        types.remove(at);
        with_types(types);
    }
    for ty in TYPES {
        for at in 0..=draft.types.len() {
            let mut types = draft.types.clone();
            types.insert(at, *ty);
            with_types(types.clone());
            if at + 1 < types.len() {
                types.remove(at + 1);
                with_types(types);
            }
        }
    }
    out
}

/// Returns the operands of a form in the ways in which they may match the types.
fn operand_lists(form: &Form, draft: &Draft) -> Vec<String> {
    let first = draft.types.first().copied().unwrap_or(Type::B32);
    let second = draft.types.get(1).copied().unwrap_or(first);
    let most = form.args.len();
    let vector = match draft.words.iter().find(|w| Kind::Vector.words().contains(w)) {
        Some(&"v2") => 2,
        Some(&"v4") => 4,
        Some(_) => 8,
        None => 1,
    };
    let list = |count: usize, last: Type, sources: Type| {
        let mut out = Vec::new();
        for (k, arg) in form.args.iter().take(count).enumerate() {
            let typed = |val: Val| match (val, arg, k + 1 == count) {
                (Val::T, Arg::S(_) | Arg::O(_), true) => last,
                (Val::T, Arg::S(_) | Arg::O(_), false) => sources,
                _ => value_ty(&draft.types, val),
            };
            out.push(match *arg {
                Arg::S(Val::Imm) | Arg::O(Val::Imm) => "8".to_owned(),
                Arg::D(val) | Arg::Ds(val) | Arg::S(val) | Arg::O(val) | Arg::Dp(val) => {
                    register(typed(val), k)
                }
                Arg::Dpp(val) => {
                    format!("{}|{}", register(typed(val), k), register(Type::Pred, 7))
                }
                Arg::A => "[%b64_0]".to_owned(),
                Arg::V if vector > 1 => {
                    let parts: Vec<_> = (0..vector).map(|n| register(first, n)).collect();
                    format!("{{{}}}", parts.join(", "))
                }
                Arg::V => register(first, k),
                Arg::Any | Arg::Rest => "8".to_owned(),
            });
        }
        out
    };
    let mut out = Vec::new();
    let fewest = most - form.args.iter().filter(|a| matches!(a, Arg::O(_))).count();
    for count in fewest..=most {
        for (sources, last) in [(first, first), (second, second), (second, first), (first, second)]
        {
            out.push(list(count, last, sources).join(", "));
            if draft.types.len() < 2 {
                break;
            }
        }
    }
    let mut longer = list(most, first, first);
    longer.push(register(first, 8));
    out.push(longer.join(", "));
    longer.pop();
    longer.push(register(Type::B32, 8));
    out.push(longer.join(", "));
    longer.truncate(most.saturating_sub(1));
    out.push(longer.join(", "));
    out
}

/// All words of the kinds that any form of the opcode has, and some more.
fn vocabulary(opcode: &str) -> Vec<&'static str> {
    let own =
        all_forms().filter(|f| f.opcode == opcode).flat_map(|f| f.kinds().collect::<Vec<_>>());
    let general = [
        Kind::Rounding,
        Kind::Away,
        Kind::Integral,
        Kind::Approx,
        Kind::Full,
        Kind::Ftz,
        Kind::Sat,
        Kind::SatFinite,
        Kind::Relu,
        Kind::Nan,
        Kind::XorSign,
        Kind::Abs,
        Kind::LoHi,
        Kind::Carry,
        Kind::NoFtz,
        Kind::Sync,
        Kind::Aligned,
        Kind::Uni,
        Kind::Order,
        Kind::Scope,
        Kind::Space,
        Kind::Vector,
        Kind::Pack,
        Kind::ShiftMode,
    ];
    let mut out: Vec<&'static str> = Vec::new();
    let kinds = own.chain(general);
    for word in kinds.flat_map(|k| k.words().iter().copied()).chain(MORE.iter().copied()) {
        if !out.contains(&word) {
            out.push(word);
        }
    }
    out
}

/// Some words of a kind: those that stand for the others, too, where there are many.
fn some_words(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Cmp => &["eq", "lt", "lo", "ltu"],
        Kind::Space => &["global", "shared"],
        // Rules of the table ask for words of these; those of the others are all alike to it.
        Kind::Ir(IrKind::AtomOp | IrKind::BoolOp | IrKind::Shuffle | IrKind::Vote) => kind.words(),
        Kind::Ir(_) => &kind.words()[..1],
        _ => kind.words(),
    }
}

/// Choices of words for the required kinds.
fn required(form: &Form) -> Vec<Vec<&'static str>> {
    form.required.iter().fold(vec![Vec::new()], |all, kind| {
        all.iter()
            .flat_map(|choice: &Vec<&'static str>| {
                some_words(kind).iter().map(move |w| [choice.as_slice(), &[*w]].concat())
            })
            .collect()
    })
}

/// Every instruction that is one change away from one of the table with its required words, each
/// once.
#[must_use]
pub fn neighbours(opcode: &str) -> Vec<String> {
    let vocabulary = vocabulary(opcode);
    let (mut out, mut known) = (Vec::new(), HashSet::new());
    let plain =
        |f: &&Form| !matches!(f.args.first(), Some(Arg::Any | Arg::Rest)) || f.opcode == "mov";
    for form in all_forms().filter(|f| f.opcode == opcode).filter(plain) {
        for types in type_choices(form) {
            for words in required(form) {
                let spelled: Vec<(&str, Option<Type>)> = words
                    .iter()
                    .map(|w| (*w, None))
                    .chain(types.iter().map(|t| (t.word(), Some(*t))))
                    .collect();
                if spell(&[form], &spelled).is_err() {
                    continue;
                }
                for draft in changes(&Draft { words, types: types.clone() }, &vocabulary) {
                    for operands in operand_lists(form, &draft) {
                        let mut text = opcode.to_owned();
                        for word in
                            draft.words.iter().copied().chain(draft.types.iter().map(|t| t.word()))
                        {
                            let _ = write!(text, ".{word}");
                        }
                        let _ = write!(text, " {operands};");
                        if known.insert(text.clone()) {
                            out.push(text);
                        }
                    }
                }
            }
        }
    }
    out
}
