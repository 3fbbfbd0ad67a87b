//! Every row of the table of forms, with every type and modifier, becomes IR that the verifier
//! takes and the engine has code for; and every opcode that compilers write for plain kernels is in
//! the table.

use ir::mods::Kind as IrKind;
use isa::FileId;
use ptx::ast::Type;
use ptx::spelling::{Kind, Kinds, Target, family, forms, spell};
use ptx::testing::{file, instructions};

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
            "a kernel has no parameters of a function",
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
        match lower(&file("sm_100a", text)) {
            Ok(module) => {
                lowered += 1;
                if let Err(errors) = ir::verify::verify(&module) {
                    wrong.push(format!("{text} {errors}"));
                } else if let Err(errors) = vm::Program::link(module) {
                    wrong.push(format!("{text} {errors:?}"));
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

#[test]
fn opcodes_of_plain_kernels_are_in_the_table() {
    // What no assembler takes, although one compiler writes it.
    let known =
        ["ex2.approx.f64", "rcp.approx.f64", "lg2.approx.f64", "sin.approx.f64", "sqrt.approx.f64"];
    let mut missing = Vec::new();
    for line in include_str!("../data/opcodes.tsv").lines().filter(|l| !l.starts_with('#')) {
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

#[test]
fn kinds_are_numbered_and_sets_hold_them_in_order() {
    assert!(Kind::ALL.into_iter().map(Kind::index).eq(0..Kind::COUNT));
    let shuffle = Kind::Ir(IrKind::Shuffle);
    let set = Kinds::of(&[shuffle, Kind::Pack, Kind::Ftz]);
    assert_eq!(set.iter().collect::<Vec<_>>(), [Kind::Ftz, Kind::Pack, shuffle]);
}

/// A modifier that PTX spells as the IR does needs no code in the front end.
#[test]
fn modifiers_that_are_spelled_alike_reach_the_ir() {
    let mut reached = Vec::new();
    for (form, text) in instructions() {
        let Target::Op(op) = form.target else { continue };
        let words = || text.split([' ', '.']).skip(1);
        let kinds =
            form.kinds().filter_map(|k| if let Kind::Ir(kind) = k { Some(kind) } else { None });
        for kind in kinds.filter(|&kind| op.info().kinds.has(kind)) {
            let Some(word) = words().find(|word| kind.words().contains(word)) else { continue };
            let Ok(module) = lower(&file("sm_100a", &text)) else { continue };
            let mut insts =
                module.functions.iter().flat_map(|f| &f.blocks).flat_map(|block| &block.insts);
            let has = |inst: &ir::Inst| inst.op == op && inst.mods.word(kind) == Some(word);
            assert!(insts.any(has), "{text}: no `{word}` in the IR");
            reached.push(kind);
        }
    }
    for kind in [IrKind::BoolOp, IrKind::Permute, IrKind::Shuffle, IrKind::TestP, IrKind::Vote] {
        assert!(reached.contains(&kind), "{kind:?}");
    }
}
