//! The tables against NVIDIA's headers, as a C compiler reads them: `tests/cupti.tsv` holds what
//! the compiler said of `cupti.h` of CUDA 13.2. `SIMTLAB_CUPTI_INCLUDE` names folders with the
//! headers, which are then compiled again.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use cupti::Status;
use cupti::records::{CALLBACK_LAYOUTS, CONSTANTS, layouts};

/// Returns the expressions of C that the tables give values.
fn table() -> BTreeMap<String, i64> {
    let numbers = CONSTANTS.iter().chain(Status::ALL);
    let mut rows: BTreeMap<String, i64> =
        numbers.map(|&(name, number)| (name.to_owned(), number)).collect();
    let mut add = |name: &str, size: usize, fields: &[(&str, usize, usize)]| {
        rows.insert(format!("sizeof({name})"), size as i64);
        for &(field, offset, size) in fields {
            rows.insert(format!("offsetof({name}, {field})"), offset as i64);
            rows.insert(format!("sizeof((({name} *)0)->{field})"), size as i64);
        }
    };
    for (name, size, fields) in layouts() {
        add(name, size, &fields);
    }
    for layout in CALLBACK_LAYOUTS {
        add(layout.name, layout.size, layout.fields);
    }
    for (table, prefix) in [
        (include_str!("../../data/driver.tsv"), "CUPTI_DRIVER_TRACE_CBID_"),
        (include_str!("../../data/runtime.tsv"), "CUPTI_RUNTIME_TRACE_CBID_"),
    ] {
        for line in table.lines() {
            let (number, name) = line.split_once('\t').unwrap();
            rows.insert(format!("{prefix}{name}"), number.parse().unwrap());
        }
    }
    rows
}

/// Returns what a C compiler says of the headers in some folders.
fn measure(folders: &OsStr, rows: &BTreeMap<String, i64>) -> String {
    let mut program = String::from(
        "#include <stddef.h>\n#include <stdio.h>\n#include <cupti.h>\nint main(void) {\n",
    );
    for expression in rows.keys() {
        let line = format!("printf(\"{expression}\\t%lld\\n\", (long long)({expression}));\n");
        program.push_str(&line);
    }
    program.push_str("return 0; }\n");
    let stem = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cupti-headers");
    let source = stem.with_extension("c");
    std::fs::write(&source, program).unwrap();
    let mut compile = Command::new("cc");
    for folder in std::env::split_paths(folders) {
        compile.arg("-I").arg(folder);
    }
    let compiled = compile.arg(&source).arg("-o").arg(&stem).output();
    let compiled = compiled.expect("a C compiler: cargo needs one for linking, too");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&stem).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
#[allow(clippy::print_stderr, reason = "says what was not compared")]
fn the_tables_agree_with_the_headers() {
    let rows = table();
    let record = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cupti.tsv");
    let written: String = rows.iter().map(|(name, value)| format!("{name}\t{value}\n")).collect();
    match std::env::var_os("SIMTLAB_CUPTI_INCLUDE") {
        Some(folders) => {
            let measured = measure(&folders, &rows);
            if std::env::var_os("SIMTLAB_BLESS").is_some() {
                std::fs::write(&record, &measured).unwrap();
            }
            assert_eq!(measured, written, "{}", folders.display());
        }
        None => {
            eprintln!("not compiled: no headers; SIMTLAB_CUPTI_INCLUDE may name their folder");
        }
    }
    assert_eq!(std::fs::read_to_string(&record).unwrap_or_default(), written);
}
