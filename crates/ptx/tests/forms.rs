//! Every row of the table of forms, with every type and modifier, becomes IR that the verifier takes; and every opcode
//! that compilers write for plain kernels is in the table.

use std::fmt::Write as _;

use isa::FileId;
use ptx::ast::Type;
use ptx::spelling::{
    Arg, Form, Kind, Special, Spelled, Target, Val, all_forms, family, forms, spell,
};

/// Registers of every type, and something to name.
const HEAD: &str = "
    .reg .pred %pred<9>;
    .reg .b8 %b8_<9>; .reg .u8 %u8_<9>; .reg .s8 %s8_<9>;
    .reg .b16 %b16_<9>; .reg .u16 %u16_<9>; .reg .s16 %s16_<9>; .reg .f16 %f16_<9>;
    .reg .b32 %b32_<9>; .reg .u32 %u32_<9>; .reg .s32 %s32_<9>; .reg .f32 %f32_<9>; .reg .f16x2 %f16x2_<9>;
    .reg .b64 %b64_<9>; .reg .u64 %u64_<9>; .reg .s64 %s64_<9>; .reg .f64 %f64_<9>;
    .reg .b128 %b128_<9>;
";

/// A register of a type, as the assembler wants it declared.
fn register(ty: Type, number: usize) -> String {
    let word = match ty {
        Type::Pred => return format!("%pred{number}"),
        Type::Bf16 | Type::E4m3x2 | Type::E5m2x2 => "b16",
        Type::Bf16x2 | Type::Tf32 => "b32",
        other => other.word(),
    };
    format!("%{word}_{number}")
}

fn value_ty(types: &[Type], val: Val) -> Type {
    let first = types.first().copied().unwrap_or(Type::B32);
    match val {
        Val::T => first,
        Val::T2 => types.get(1).copied().unwrap_or(first),
        Val::Wide => match first {
            Type::U16 => Type::U32,
            Type::S16 => Type::S32,
            Type::S32 => Type::S64,
            _ => Type::U64,
        },
        Val::P | Val::PNot => Type::Pred,
        Val::B32 | Val::Imm => Type::B32,
        Val::B64 => Type::B64,
    }
}

fn vector(spelled: &Spelled, from: usize) -> String {
    let length = match spelled.word(Kind::Vector) {
        Some("v2") => 2,
        Some("v4") => 4,
        Some("v8") => 8,
        _ => return register(spelled.ty(), from),
    };
    let parts: Vec<_> = (0..length).map(|k| register(spelled.ty(), k)).collect();
    format!("{{{}}}", parts.join(", "))
}

/// Operands of a form; `None` for those that this does not make.
fn operands(form: &Form, s: &Spelled, optional: bool) -> Option<String> {
    let types = &s.types;
    match form.target {
        Target::Special(Special::Mov) => {
            return Some(format!("{}, {}", register(s.ty(), 0), register(s.ty(), 1)));
        }
        Target::Special(Special::Bra) => return Some("target".to_owned()),
        Target::Special(Special::Brx) => return Some("%b32_0, table".to_owned()),
        Target::Special(Special::Call) => return Some("callee".to_owned()),
        Target::Special(Special::Nop) => {
            return Some(match form.opcode {
                "prefetch" | "prefetchu" => "[%b64_0]".to_owned(),
                "applypriority" | "discard" => "[%b64_0], 128".to_owned(),
                "pmevent" => "1".to_owned(),
                "setmaxnreg" => "64".to_owned(),
                _ => String::new(),
            });
        }
        _ => {}
    }
    let cas = s.word(Kind::Atom) == Some("cas");
    let mut out = Vec::new();
    for (k, arg) in form.args.iter().enumerate() {
        out.push(match *arg {
            Arg::O(Val::T) if form.opcode == "atom" && !cas => continue,
            Arg::O(Val::T) if form.opcode == "atom" => register(s.ty(), k),
            Arg::O(Val::B64) => continue,
            Arg::O(_) if !optional => continue,
            Arg::D(val) | Arg::Ds(val) | Arg::O(val) | Arg::S(val) if val != Val::Imm => {
                // Member masks name the lanes that are there.
                register(value_ty(types, val), k)
            }
            Arg::Dp(val) if !optional => register(value_ty(types, val), k),
            Arg::Dp(val) | Arg::Dpp(val) => {
                format!("{}|{}", register(value_ty(types, val), k), register(Type::Pred, 7))
            }
            Arg::A => "[%b64_0]".to_owned(),
            Arg::V => vector(s, k),
            _ => "8".to_owned(),
        });
    }
    Some(out.join(", "))
}

/// All products of types for a form.
fn type_choices(form: &Form) -> Vec<Vec<Type>> {
    (0..form.types).fold(vec![Vec::new()], |all, position| {
        let mut out = Vec::new();
        for choice in &all {
            for ty in form.type_set(position) {
                let mut choice = choice.clone();
                choice.push(*ty);
                out.push(choice);
            }
        }
        out
    })
}

/// All choices of a word for each required kind, then with each word of each optional kind in turn, then with all.
fn word_choices(form: &Form) -> Vec<Vec<&'static str>> {
    let mut base = vec![Vec::new()];
    for kind in form.required.iter() {
        base = base
            .iter()
            .flat_map(|choice: &Vec<&str>| {
                kind.words().iter().map(move |w| [choice.as_slice(), &[*w]].concat())
            })
            .collect();
    }
    let mut out = base.clone();
    for choice in base {
        for kind in form.optional {
            out.extend(kind.words().iter().map(|w| [choice.as_slice(), &[*w]].concat()));
        }
        let firsts: Vec<&str> =
            form.optional.iter().filter_map(|k| k.words().first().copied()).collect();
        out.push([choice.as_slice(), &firsts].concat());
    }
    out
}

/// Every instruction of the table, as text.
fn instructions() -> Vec<(&'static Form, String)> {
    let mut out = Vec::new();
    for form in all_forms() {
        for types in type_choices(form) {
            for words in word_choices(form) {
                let mut all: Vec<(&str, Option<Type>)> = words.iter().map(|w| (*w, None)).collect();
                all.extend(types.iter().map(|t| (t.word(), Some(*t))));
                let Ok(spelled) = spell(&[form], &all) else { continue };
                for optional in [false, true] {
                    let Some(operands) = operands(form, &spelled, optional) else { continue };
                    let mut text = form.opcode.to_owned();
                    for (word, _) in &all {
                        let _ = write!(text, ".{word}");
                    }
                    let _ = write!(text, " {operands};");
                    if out.last().is_none_or(|(_, last)| *last != text) {
                        out.push((form, text));
                    }
                }
            }
        }
    }
    out
}

fn file(body: &str) -> String {
    format!(
        ".version 9.0\n.target sm_100\n.address_size 64\n.func callee() {{ ret; }}\n\
         .visible .entry k() {{{HEAD}target:\n{body}\ntable: .branchtargets target;\nret;\n}}\n"
    )
}

fn lower(text: &str) -> Result<ir::Module, Vec<String>> {
    let (tree, mut found) = ptx::parse(FileId(0), text);
    let (module, more) = ptx::lower(&tree, ptx::Select::All);
    found.append(more);
    module.ok_or_else(|| found.iter().map(|d| d.message.clone()).collect())
}

/// What the table takes and lowering refuses all the same: rules that need operands.
fn refused_for_a_reason(messages: &[String]) -> bool {
    messages.iter().all(|m| {
        [
            "an access of",
            "this memory order is not possible",
            "a scope without a memory order",
            "atomic operations work on",
            "constants and a kernel's parameters",
            "takes two operands",
        ]
        .iter()
        .any(|reason| m.contains(reason))
    })
}

#[test]
fn every_form_becomes_verified_ir() {
    let all = instructions();
    assert!(all.len() > 4000, "{}", all.len());
    let mut lowered = 0;
    let mut wrong = Vec::new();
    for (form, text) in &all {
        match lower(&file(text)) {
            Ok(module) => {
                lowered += 1;
                if let Err(errors) = ir::verify::verify(&module) {
                    wrong.push(format!("{text} {errors}"));
                }
            }
            Err(messages) if refused_for_a_reason(&messages) => {}
            Err(messages) => wrong.push(format!("{text} {messages:?}")),
        }
        assert!(family(form.opcode).is_some(), "{} is in no family", form.opcode);
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(lowered * 10 > all.len() * 8, "{lowered} of {}", all.len());
}

/// Writes every instruction as a file of its own line, for a comparison with an assembler.
#[test]
#[ignore = "writes files to the directory in PTX_FORMS_OUT"]
fn write_every_form() {
    let Ok(out) = std::env::var("PTX_FORMS_OUT") else { return };
    let mut text = String::new();
    for (_, instruction) in instructions() {
        let ours = lower(&file(&instruction)).is_ok();
        let _ = writeln!(text, "{}\t{instruction}", u8::from(ours));
    }
    std::fs::write(format!("{out}/forms.tsv"), text).unwrap();
    std::fs::write(format!("{out}/file.txt"), file("INSTRUCTION")).unwrap();
}

#[test]
fn opcodes_of_plain_kernels_are_in_the_table() {
    // What no assembler takes, although one compiler writes it; packed pairs of f32, which only newer devices have; and
    // comparisons of packed pairs.
    let known = [
        "set.gt.f16x2.f16x2",
        "ex2.approx.f64",
        "rcp.approx.f64",
        "lg2.approx.f64",
        "sin.approx.f64",
        "sqrt.approx.f64",
        "add.f32x2",
        "sub.f32x2",
        "mul.f32x2",
    ];
    let mut missing = Vec::new();
    for line in include_str!("data/opcodes.tsv").lines().filter(|l| !l.starts_with('#')) {
        let (tier, spelling) = line.split_once('\t').unwrap();
        let mut words = spelling.split('.');
        let opcode = words.next().unwrap();
        if family(opcode).is_none() {
            missing.push(format!("{spelling}: unknown family"));
            continue;
        }
        let mut names = ptx::Names::new();
        let words: Vec<_> = words.map(|w| (w, Type::from_symbol(names.intern(w)))).collect();
        if tier.starts_with(['1', '2'])
            && let Err(wrong) = spell(&forms(opcode), &words)
        {
            missing.push(format!("{spelling}: {wrong:?}"));
        }
    }
    missing.retain(|m| !known.iter().any(|k| m.starts_with(&format!("{k}:"))));
    assert!(missing.is_empty(), "{} missing:\n{}", missing.len(), missing.join("\n"));
}
