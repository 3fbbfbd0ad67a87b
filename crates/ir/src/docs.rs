//! The reference page of operations, made from the tables.

use crate::mods::{Flag, Kind};
use crate::op::{Arity, Class, OPS, OpInfo, Slot};
use crate::sreg::Sreg;
use crate::ty::{self, Ty, TySet};
use std::fmt::Write;

/// Names of sets of types, largest first.
const SETS: [(&str, TySet); 5] =
    [("INT", ty::INT), ("BITS", ty::BITS), ("HALF", ty::HALF), ("F", ty::F), ("INT8", ty::INT8)];

const INTRODUCTION: &str = "\
# Operations of the kernel IR

<!-- Made from the tables in crates/ir/src by its tests (SIMTLAB_BLESS=1 writes it anew); do not edit. -->

What an operation does, by its row in the table. `docs/ir.md` describes the text form. In the forms below `d` and `e` are results
and `a`, `b`, ... operands; what stands in brackets may be left out, and `...` repeats. Behind the colon stands what a value is:

- `T`, `U`: a value of the first and the second type of the instruction, in a register of that width; `W`: of twice the width of `T`;
- `pred`: a predicate; `b32`, `b64`: a value of that width; `mask`: a set of lanes, in a warp register;
- `address`: `[%x + 4]`, `[@name + 4]`; `imm`: an immediate; `sreg`: a special register; `@f`: a function; `label`: a block;
- `any`: as the function that is called, or the modifier, asks for.

Words in capitals stand for a modifier of a kind; those with a question mark may be left out.
";

/// The page.
#[must_use]
pub fn operations() -> String {
    let mut out = INTRODUCTION.to_owned();
    put(&mut out, format_args!("\n## Types\n\n| set | types |\n|---|---|\n"));
    for (name, set) in SETS {
        put(&mut out, format_args!("| {name} | {} |\n", join(set.iter().map(Ty::name))));
    }
    for (class, heading) in Class::ALL {
        put(&mut out, format_args!("\n## {heading}\n\n| form | types | |\n|---|---|---|\n"));
        for row in OPS.iter().filter(|r| r.class == class) {
            let (form, types, doc) = (form(row), types(row), row.doc);
            put(&mut out, format_args!("| `{form}` | {types} | {doc} |\n"));
        }
    }
    modifiers(&mut out);
    special_registers(&mut out);
    out
}

/// `write!` to a `String`, which cannot fail.
fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

fn join<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

/// What a slot holds.
const fn slot(slot: Slot) -> &'static str {
    match slot {
        Slot::T => "T",
        Slot::T2 => "U",
        Slot::Wide => "W",
        Slot::P => "pred",
        Slot::B16 => "b16",
        Slot::B32 => "b32",
        Slot::B64 => "b64",
        Slot::Addr => "address",
        Slot::Mask => "mask",
        Slot::Imm => "imm",
        Slot::Sreg => "sreg",
        Slot::Func => "@f",
        Slot::Block => "label",
        Slot::Any => "any",
    }
}

/// Values with names from `names`: `a:T, [b:T], c:T...`.
fn values(list: &[Arity], names: &[&str]) -> String {
    let value = |(arity, name): (&Arity, &&str)| {
        let what = slot(arity.slot());
        match arity {
            Arity::One(_) => format!("{name}:{what}"),
            Arity::Opt(_) => format!("[{name}:{what}]"),
            Arity::Many(_) => format!("{name}:{what}..."),
            Arity::Some(_) => format!("[{name}:{what}...]"),
        }
    };
    list.iter().zip(names).map(value).collect::<Vec<_>>().join(", ")
}

/// How an instruction of a row is written.
fn form(row: &OpInfo) -> String {
    let mut out = String::new();
    if !row.results.is_empty() {
        put(&mut out, format_args!("{} = ", values(row.results, &["d", "e"])));
    }
    out.push_str(row.name);
    for kind in row.kinds.iter() {
        let mark = if row.required.has(kind) { "" } else { "?" };
        put(&mut out, format_args!(".{}{mark}", kind.heading()));
    }
    for flag in row.flags.iter() {
        put(&mut out, format_args!(".{}?", flag.word()));
    }
    for (set, word) in [(row.types, "T"), (row.types2, "U")] {
        if !set.is_empty() {
            put(&mut out, format_args!(".{word}"));
        }
    }
    let operands = values(row.operands, &["a", "b", "c", "f", "g"]);
    match (row.class, operands.split_once(", ")) {
        (Class::Call, Some((callee, args))) => put(&mut out, format_args!(" {callee}({args})")),
        _ if operands.is_empty() => {}
        _ => put(&mut out, format_args!(" {operands}")),
    }
    out
}

fn types(row: &OpInfo) -> String {
    match (row.types.is_empty(), row.types2.is_empty()) {
        (true, _) => String::new(),
        (_, true) => set_name(row.types),
        _ => format!("T: {}; U: {}", set_name(row.types), set_name(row.types2)),
    }
}

/// A set by the names of the sets it is made of, and what remains.
fn set_name(set: TySet) -> String {
    let mut left: Vec<Ty> = set.iter().collect();
    let mut words = Vec::new();
    for (name, part) in SETS {
        if part.iter().all(|t| left.contains(&t)) {
            left.retain(|&t| !part.has(t));
            words.push(name);
        }
    }
    words.extend(left.iter().map(|t| t.name()));
    words.join(", ")
}

fn modifiers(out: &mut String) {
    put(out, format_args!("\n## Modifiers\n"));
    for kind in Kind::ALL {
        table(out, kind.heading(), &kind.meanings());
    }
    let flags: Vec<_> = Flag::ALL.iter().map(|f| (f.word(), f.doc())).collect();
    table(out, "flags", &flags);
}

fn special_registers(out: &mut String) {
    put(out, format_args!("\n## Special registers\n"));
    let rows: Vec<_> = Sreg::ALL.iter().map(|s| (s.name(), s.doc())).collect();
    table(out, "register", &rows);
}

fn table(out: &mut String, heading: &str, rows: &[(&str, &str)]) {
    put(out, format_args!("\n| {heading} | |\n|---|---|\n"));
    for (word, doc) in rows {
        put(out, format_args!("| `{word}` | {doc} |\n"));
    }
}
