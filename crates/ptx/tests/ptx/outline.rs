//! Files part by part: what is said of them is what the whole file gives, for every text.
//!
//! The oracle is the whole file, parsed and lowered at once.

use std::path::Path;

use ir::device::Limits;
use ir::{Function, Module};
use isa::FileId;
use ptx::testing::{Random, mutate};

use super::kernels::texts;

/// What is compared of a function: all but the numbers of places, variables and functions.
fn shape(function: &Function) -> String {
    let blocks = function.blocks.iter().map(|block| {
        let insts = block.insts.iter().map(|i| {
            (i.op, i.ty, i.ty2, &i.mods, i.guard, &i.results, i.offset, i.operands.len(), i.origin)
        });
        format!("{} {:?} {:?}", block.name, insts.collect::<Vec<_>>(), block.term.kind)
    });
    let blocks: Vec<_> = blocks.collect();
    let Function { name, signature, regs, locals, .. } = function;
    format!("{name} {signature:?} {regs:?} {locals:?} {blocks:?}")
}

fn kernels(module: &Module) -> Vec<String> {
    module.functions.iter().filter(|f| f.is_kernel()).map(shape).collect()
}

/// Compares a text part by part with the whole. Returns whether it was taken part by part.
fn compare(text: &str, least: usize) -> bool {
    let take = |seen: &mut Vec<String>, part: ptx::Part| {
        ir::verify(&part.module).expect("a part is right");
        seen.extend(part.module.functions[..part.kernels].iter().map(shape));
        Some(())
    };
    let how = (1 + least % 3, least);
    let Some(seen) = ptx::lower_parts_of(FileId(0), text, Limits::OfTarget, how, take) else {
        return false;
    };
    let (tree, found) = ptx::parse(FileId(0), text);
    assert!(found.is_empty(), "{found:?}\n{text}");
    let (module, found) = ptx::lower(&tree, ptx::Select::All);
    assert!(found.is_empty(), "{found:?}\n{text}");
    assert_eq!(seen.concat(), kernels(&module.expect("without errors")), "{text}");
    true
}

fn corpus() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = Vec::new();
    for folder in ["kernels", "crates/filetests", "crates/ptx/tests/data"] {
        texts(&root.join(folder), &mut all);
    }
    all
}

/// Whether nothing at all is said of a file as a whole.
fn clean(text: &str) -> bool {
    let (tree, found) = ptx::parse(FileId(0), text);
    found.is_empty() && ptx::lower(&tree, ptx::Select::All).1.is_empty()
}

#[test]
fn all_files_are_the_same_part_by_part() {
    let all = corpus();
    let mut whole = Vec::new();
    for text in &all {
        for least in [1, 3000, usize::MAX] {
            if !compare(text, least) && clean(text) {
                whole.push(text);
            }
        }
    }
    assert!(whole.is_empty(), "{} of {}: {}", whole.len(), all.len(), whole[0]);
}

#[test]
fn broken_files_are_never_taken_for_right_ones() {
    let files = corpus();
    let mut random = Random::new(0x5EED_0F0F_1234_5678);
    let count = std::env::var("PTX_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let mut taken = 0;
    for round in 0..count {
        let one = &files[random.below(files.len())];
        // Half of the texts are two files behind each other, so that there are several parts.
        let other = &files[random.below(files.len())];
        let text = if round % 2 == 0 { one.clone() } else { format!("{one}\n{other}") };
        let mut text = mutate(&text, &mut random);
        if round % 7 == 0 {
            text.truncate(text.floor_char_boundary(random.below(text.len())));
        }
        taken += usize::from(compare(&text, 1 + random.below(4000)));
    }
    assert!(taken > count / 50, "{taken} of {count} taken: the changes are too coarse");
}

const HEAD: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

/// Returns the kernels of the parts of a text, if it is taken part by part.
fn parts(text: &str, least: usize) -> Option<Vec<Vec<String>>> {
    let take = |seen: &mut Vec<Vec<String>>, part: ptx::Part| {
        let names = part.module.functions.iter().map(|f| f.name.clone());
        seen.push(names.collect());
        Some(())
    };
    let text = format!("{HEAD}{text}");
    let of =
        |threads| ptx::lower_parts_of(FileId(0), &text, Limits::OfTarget, (threads, least), take);
    let all = of(1).map(|seen| seen.concat());
    // What several threads take is as right or wrong.
    assert_eq!(of(3).is_some(), all.is_some(), "{text}");
    all
}

#[test]
fn a_part_has_kernels_and_what_they_reach() {
    let text = "
.func f() { ret; }
.func g() { call f; ret; }
.func unused() { ret; }
.global .u64 table[2] = { f, 0 };
.entry a() { call g; ret; }
.entry b() { call f; ret; }
.entry c() { .reg .b64 %a; mov.b64 %a, table; ret; }";
    let names = |list: &[&str]| list.iter().map(|&n| n.to_owned()).collect::<Vec<_>>();
    let alone = parts(text, 1).unwrap();
    let expected = [&[][..], &["a", "g", "f"], &["b", "f"], &["c", "f"], &["unused"]];
    assert_eq!(alone, expected.map(names));
    let all = parts(text, usize::MAX).unwrap();
    assert_eq!(all, [&[][..], &["a", "b", "c", "g", "f"], &["unused"]].map(names));
    let alias = ".func f() { ret; } .alias other, f; .entry a() { call other; ret; }";
    assert_eq!(parts(alias, 1).unwrap(), [&[][..], &["a", "f"]].map(names));
}

#[test]
fn what_is_wrong_anywhere_takes_the_whole_file() {
    let good = ".entry a() { ret; } .entry b() { ret; }";
    assert!(parts(good, 1).is_some());
    for wrong in [
        ".func unused() { nonsense; }",
        ".func unused(.reg .b31 %x) { ret; }",
        ".func prototype(.reg .b31 %x);",
        ".global .u32 v[2] = { 1, 2, 3 };",
        ".global .u32 w = { 1 ;",
        ".entry c() { bra NOWHERE; }",
        ".entry c() { ld.; ret; }",
        ".entry c() { 5; ret; }",
        ".entry c() { ret; ",
        ".section .debug_x { .b8 nonsense nonsense }",
        ".unknown;",
        ".alias a, nothing;",
        ".entry b() { ret; }",
        ".const .b8 x[40000]; .entry c() { .const .b8 y[40000]; ret; }",
    ] {
        assert!(parts(&format!("{good} {wrong}"), 1).is_none(), "{wrong}");
        assert!(parts(&format!("{wrong} {good}"), 1).is_none(), "{wrong}");
    }
    // Each of these takes a part of what a file may ask for by few words.
    let many = |count: usize| {
        let kernel = |n| format!(".entry k{n}() {{ .param .b8 p[4000]; ret; }}\n");
        (0..count).map(kernel).collect::<String>()
    };
    assert!(parts(&many(200), 1).is_some() && parts(&many(300), 1).is_none());
    assert!(clean(&format!("{HEAD}{}", many(200))) && !clean(&format!("{HEAD}{}", many(300))));
    // The same variable in two parts counts once.
    let shared = ".const .b8 x[40000];
        .entry c() { .reg .b64 %a; mov.b64 %a, x; ret; }
        .entry d() { .reg .b64 %a; mov.b64 %a, x; ret; }";
    assert!(parts(shared, 1).is_some());
}
