//! Any text: the parser, printer, checker and lowering neither panic nor hang; what parses without
//! findings prints to text that parses to the same tree; what lowers is valid IR.

#![no_main]

use isa::FileId;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (tree, found) = ptx::parse(FileId::default(), text);
    let printed = tree.to_string();
    if found.is_empty() {
        let (again, found) = ptx::parse(FileId::default(), &printed);
        assert!(found.is_empty(), "printed text has findings: {found:?}\n{printed}");
        assert_eq!(again.without_spans(), tree.clone().without_spans());
    }
    let _ = ptx::check(&tree);
    if let (Some(module), _) = ptx::lower(&tree, ptx::Select::All) {
        assert!(ir::verify(&module).is_ok(), "{:?}", ir::verify(&module));
    }
});
