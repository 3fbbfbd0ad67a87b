//! Some kernels of a file alone: what is lowered is what the whole file gives.

use isa::FileId;
use ptx::Select;
use std::path::Path;

/// Compares each kernel of a text; returns their number and the number of bodies that were read.
fn compare(text: &str) -> (usize, usize) {
    let (whole, found) = ptx::parse(FileId(0), text);
    if found.has_errors() {
        return (0, 0);
    }
    let kernels = whole.functions().filter(|f| f.kind == ptx::ast::FunctionKind::Entry);
    let (mut count, mut read) = (0, 0);
    for kernel in kernels {
        let name = whole.name(kernel.signature.name.symbol);
        let (some, found) = ptx::parse_kernels(FileId(0), text, &[name]);
        assert!(!found.has_errors(), "{name}: {found:?}");
        let select = Select::Kernel(name);
        let [(expected, errors), (module, found)] =
            [&whole, &some].map(|tree| ptx::lower(tree, select));
        assert_eq!(found.iter().count(), errors.iter().count(), "{name}: {found:?}");
        match (&module, &expected) {
            (Some(module), Some(expected)) => assert!(module.same(expected, true), "{name}"),
            _ => assert!(module.is_none() && expected.is_none(), "{name}"),
        }
        count += 1;
        read += some.functions().filter(|f| !some.body(f).is_empty()).count();
    }
    (count, read)
}

pub(super) fn texts(folder: &Path, to: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts(&path, to);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            to.extend(std::fs::read_to_string(path));
        }
    }
}

#[test]
fn kernels_of_all_files_are_the_same_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = Vec::new();
    for folder in ["kernels", "crates/filetests", "crates/ptx/tests/data"] {
        texts(&root.join(folder), &mut all);
    }
    let count: usize = all.iter().map(|text| compare(text).0).sum();
    assert!(count > 300, "{count} kernels of {} files", all.len());
}

const HEAD: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

#[test]
fn what_a_kernel_reaches_is_read_and_nothing_else() {
    let text = format!(
        "{HEAD}
.func direct() {{ call.uni deeper; ret; }}
.func deeper() {{ ret; }}
.func inTable() {{ ret; }}
.func behind() {{ ret; }}
.alias other, behind;
.func behind2() {{ ret; }}
.global .u64 table[1] = {{ inTable }};
.func unused() {{ ret; }}
.entry first() {{ call.uni direct; ret; }}
.entry third() {{ .reg .b64 %a; mov.b64 %a, table; call.uni other; ret; }}
// }} a brace in a comment
.entry second() {{ .pragma \"}}\"; /* }} */ {{ ret; }} }}"
    );
    let read = |kernel: &str| {
        let (tree, found) = ptx::parse_kernels(FileId(0), &text, &[kernel]);
        assert!(found.is_empty(), "{found:?}");
        let read = tree.functions().filter(|f| !tree.body(f).is_empty());
        let names = read.map(|f| tree.name(f.signature.name.symbol).to_owned());
        let inits = tree.declarators.iter().map(|d| d.init.len()).sum::<usize>();
        (names.collect::<Vec<_>>(), inits)
    };
    let names = |list: &[&str]| list.iter().map(|&n| n.to_owned()).collect::<Vec<_>>();
    assert_eq!(read("first"), (names(&["direct", "deeper", "first"]), 0));
    assert_eq!(read("third"), (names(&["inTable", "behind", "third"]), 3));
    let (tree, _) = ptx::parse_kernels(FileId(0), &text, &["first"]);
    assert!(tree.functions().all(|f| f.body.is_some() || f.kind == ptx::ast::FunctionKind::Func));
    let (tree, found) = ptx::parse_kernels(FileId(0), &text, &["second"]);
    assert!(found.is_empty() && ptx::lower(&tree, Select::Kernel("second")).0.is_some());
}

#[test]
fn errors_elsewhere_are_not_reported() {
    let text = format!("{HEAD}.entry bad() {{ ld.; ret; }}\n.entry good() {{ ret; }}\n");
    assert!(ptx::parse(FileId(0), &text).1.has_errors());
    assert!(ptx::parse_kernels(FileId(0), &text, &["good"]).1.is_empty());
    assert!(ptx::parse_kernels(FileId(0), &text, &["bad"]).1.has_errors());
}

#[test]
fn braces_that_are_missing_are_told_as_for_the_whole_file() {
    for text in [
        ".entry a() { {ret; }\n.entry b() { ret; }\n",
        ".entry a() { ret; }}\n.entry b() { ret; }\n",
        ".entry b() { ret; }\n.entry a() { ret;\n",
        ".entry a() { ret; \"}\n.entry b() { ret; }\n",
        ".entry a() { ret; /* }\n.entry b() { ret; }\n",
        ".entry a() { ret; }\n.entry a() { ret; }\n.entry b() { ret; }\n",
    ] {
        let text = format!("{HEAD}{text}");
        let [whole, some] =
            [ptx::parse(FileId(0), &text).1, ptx::parse_kernels(FileId(0), &text, &["b"]).1]
                .map(|found| found.iter().map(|d| d.message.clone()).collect::<Vec<_>>());
        assert_eq!(whole, some, "{text}");
    }
}
