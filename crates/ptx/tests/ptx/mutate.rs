//! Broken PTX, made from whole files by small changes: nothing panics, and what is accepted holds
//! together.
//!
//! Deterministic: the changes follow from a seed. `PTX_MUTATIONS=N` makes N of them instead of the
//! default.

use isa::FileId;
use ptx::testing::{Random, mutate};

/// All that can be done with a text. Gives whether it was accepted whole.
fn exercise(text: &str) -> bool {
    let (tree, found) = ptx::parse(FileId(0), text);
    for d in &found {
        let labels = d.primary.iter().chain(&d.secondary);
        for label in labels {
            assert!(text.get(label.span.range()).is_some(), "{label:?} of {text}");
        }
    }
    assert_eq!(tree.incomplete, found.has_errors());
    let printed = tree.to_string();
    if !found.has_errors() {
        let (again, found) = ptx::parse(FileId(0), &printed);
        assert!(found.is_empty(), "{found:?}\n{printed}\n--- from\n{text}");
        assert!(
            again.without_spans() == tree.clone().without_spans(),
            "{printed}\n--- from\n{text}"
        );
    }
    let (module, more) = ptx::lower(&tree, ptx::Select::All);
    for label in more.iter().flat_map(|d| d.primary.iter().chain(&d.secondary)) {
        assert!(text.get(label.span.range()).is_some(), "{label:?} of {text}");
    }
    let Some(module) = module else { return false };
    assert!(!more.has_errors());
    if let Err(errors) = ir::verify::verify(&module) {
        panic!("lowered, but not right: {errors}\n--- from\n{text}");
    }
    !found.has_errors()
}

fn corpus() -> Vec<String> {
    let mut files = vec![include_str!("../data/grammar.ptx").to_owned()];
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    for path in names {
        let file = path.join(path.file_name().unwrap()).with_extension("ptx");
        files.extend(std::fs::read_to_string(file));
    }
    files
}

#[test]
fn broken_files_are_refused_or_hold_together() {
    let files = corpus();
    assert!(files[1..].iter().all(|f| exercise(f)), "the unbroken ones are right");
    let count = std::env::var("PTX_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(600);
    let mut random = Random::new(0x9E37_79B9_7F4A_7C15);
    let mut accepted = 0;
    for _ in 0..count {
        let file = &files[random.below(files.len())];
        let text = mutate(file, &mut random);
        accepted += usize::from(exercise(&text));
    }
    assert!(accepted > count / 50, "{accepted} of {count} accepted: the changes are too coarse");
}
