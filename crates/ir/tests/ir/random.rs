//! Properties over random modules, and over what is almost right.

use ir::testing::{
    KernelShape, Rng, expected, mutate_module, mutate_text, random_kernel, random_module,
};
use ir::text::{PrintOptions, parse, print, print_with};
use ir::{Op, Term, TermKind, verify};
use isa::FileId;
use proptest::prelude::*;
use std::collections::BTreeSet;

const LOCS: PrintOptions = PrintOptions { locs: true, origins: true };

#[test]
fn random_modules_are_verified_and_have_every_operation() {
    let mut seen = BTreeSet::new();
    for seed in 0..400 {
        let module = random_module(&mut Rng::new(seed));
        if let Err(errors) = verify(&module) {
            panic!("seed {seed}: {errors}\n{}", print(&module));
        }
        let insts = module.functions.iter().flat_map(|f| &f.blocks).flat_map(|b| &b.insts);
        seen.extend(insts.map(|i| i.op));
    }
    let missing: Vec<Op> = ir::op::OPS.iter().map(|r| r.op).filter(|o| !seen.contains(o)).collect();
    assert_eq!(missing, []);
}

#[test]
fn printed_modules_come_back() {
    for seed in 0..400 {
        let module = random_module(&mut Rng::new(seed));
        let text = print_with(&module, LOCS);
        let parsed = match parse(FileId(0), &text) {
            Ok(parsed) => parsed,
            Err(errors) => panic!("seed {seed}: {errors:?}\n{text}"),
        };
        assert!(parsed.same(&module, true), "seed {seed}\n{text}\n{}", print_with(&parsed, LOCS));
        assert_eq!(print_with(&parsed, LOCS), text, "seed {seed}");
        verify(&parsed).unwrap();
    }
}

#[test]
fn mutated_text_is_parsed_or_refused() {
    let mut accepted = 0;
    for seed in 0..1000 {
        let mut rng = Rng::new(seed);
        let module = if seed % 2 == 0 {
            random_module(&mut rng)
        } else {
            random_kernel(&mut rng, KernelShape::Breaks)
        };
        let text = mutate_text(&mut rng, &print_with(&module, LOCS));
        let Ok(parsed) = parse(FileId(0), &text) else { continue };
        accepted += 1;
        // Whether it is verified or not, printing is a fixed point.
        let _ = verify(&parsed);
        let printed = print(&parsed);
        let again =
            parse(FileId(0), &printed).unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{printed}"));
        assert_eq!(print(&again), printed, "seed {seed}");
    }
    assert!(accepted > 20, "the mutations are too coarse: {accepted}");
}

#[test]
fn mutated_modules_are_judged_and_printed() {
    let mut refused = 0;
    for seed in 0..1000 {
        let mut rng = Rng::new(seed);
        let mut module = random_module(&mut rng);
        mutate_module(&mut rng, &mut module);
        let text = print_with(&module, LOCS);
        match verify(&module) {
            Err(errors) => {
                refused += 1;
                for error in &errors {
                    let _ = error.diagnostic(&module);
                }
            }
            Ok(()) => {
                let parsed = parse(FileId(0), &text)
                    .unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{text}"));
                assert!(parsed.same(&module, true), "seed {seed}\n{text}");
            }
        }
    }
    assert!((200..950).contains(&refused), "{refused} of 1000 refused");
}

#[test]
fn random_kernels_are_verified_and_end() {
    for shape in KernelShape::ALL {
        let (mut back, mut stores, mut diverges) = (0, 0, 0);
        for seed in 0..200 {
            let module = random_kernel(&mut Rng::new(seed), shape);
            verify(&module).unwrap_or_else(|e| panic!("{shape:?} {seed}: {e}\n{}", print(&module)));
            let kernel = module.functions.last().unwrap();
            let backward = |(i, t): (usize, &Term)| t.targets().iter().any(|t| t.index() <= i);
            let terms = || kernel.blocks.iter().map(|b| &b.term).enumerate();
            back += usize::from(terms().any(backward));
            let parts = |(_, t): (usize, &Term)| {
                matches!(t.kind, TermKind::CondBr(..) | TermKind::Switch(..))
            };
            let words: BTreeSet<_> =
                (0..16).map(|tid| expected(&module, 1, 16, tid).unwrap()).collect();
            stores += usize::from(words.len() > 8);
            diverges += usize::from(terms().any(parts));
        }
        assert!(
            back > 80 && stores > 100 && diverges > 120,
            "{shape:?}: {back} {stores} {diverges}"
        );
    }
}

#[test]
fn deep_nesting_and_long_lines_are_no_danger() {
    for text in [
        "(".repeat(100_000),
        "[".repeat(100_000),
        format!("func @f() {{\n  nop {}\n}}\n", "%a, ".repeat(100_000)),
        "func @f(".repeat(20_000),
        "func @f() {\n".repeat(20_000),
        "a:".repeat(50_000),
        format!("func @f() {{\n{}}}\n", "x: br y\n".repeat(50_000)),
        "!".repeat(100_000),
    ] {
        assert!(parse(FileId(0), &text).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,200}") {
        let _ = parse(FileId(0), &text);
        let _ = parse(FileId(0), &format!("func @f() {{\nreg %a: b32\n{text}\n}}\n"));
    }

    #[test]
    fn any_bytes_are_parsed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(FileId(0), &String::from_utf8_lossy(&bytes));
    }
}
