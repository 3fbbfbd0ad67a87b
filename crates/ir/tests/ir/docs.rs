//! The documents of the IR are current.

use std::path::PathBuf;

fn document(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

#[test]
fn the_reference_page_is_current() {
    let path = document("ir-operations.md");
    let page = ir::docs::operations();
    if std::env::var_os("SIMTLAB_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == page,
        "docs/ir-operations.md is not current: run this test with SIMTLAB_BLESS=1"
    );
}

#[test]
fn the_examples_of_the_text_form_are_verified_and_canonical() {
    let text = std::fs::read_to_string(document("ir.md")).unwrap();
    let examples: Vec<_> =
        text.split("```ir\n").skip(1).filter_map(|t| t.split("```").next()).collect();
    assert!(examples.len() >= 3);
    for example in examples {
        let module = ir::text::parse(isa::FileId(0), example)
            .unwrap_or_else(|e| panic!("{example}\n{:?}", e.iter().collect::<Vec<_>>()));
        ir::verify(&module).unwrap_or_else(|e| panic!("{example}\n{e}"));
        let bare = |text: &str| {
            let lines = text.lines().map(|l| l.split("//").next().unwrap_or("").trim_end());
            lines.filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(bare(&ir::text::print(&module)), bare(example));
    }
}
