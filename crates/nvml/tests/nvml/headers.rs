//! The tables against NVIDIA's headers, as a C compiler reads them: `tests/nvml.tsv` holds what the
//! compiler said of `nvml.h` of CUDA 12.9 and 13.5, which agree. `SIMTLAB_NVML_INCLUDE` names
//! folders with the header, which is then compiled again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use nvml::Status;
use nvml::abi::{CONSTANTS, NVML_LAYOUTS};

/// Returns the expressions of C that the tables give values.
fn table() -> BTreeMap<String, i64> {
    let numbers = CONSTANTS.iter().chain(Status::ALL);
    let mut rows: BTreeMap<String, i64> =
        numbers.map(|&(name, number)| (name.to_owned(), number)).collect();
    for layout in NVML_LAYOUTS {
        let name = layout.name;
        rows.insert(format!("sizeof({name})"), layout.size as i64);
        for &(field, offset, size) in layout.fields {
            let field = field.trim_start_matches("r#");
            rows.insert(format!("offsetof({name}, {field})"), offset as i64);
            rows.insert(format!("sizeof((({name} *)0)->{field})"), size as i64);
        }
    }
    rows
}

/// Returns the lines of a record.
fn written(rows: &BTreeMap<String, i64>) -> String {
    rows.iter().fold(String::new(), |mut text, (expression, value)| {
        let _ = writeln!(text, "{expression}\t{value}");
        text
    })
}

/// Returns what a C compiler says of the header in a folder.
fn measure(folder: &Path, rows: &BTreeMap<String, i64>) -> String {
    let mut program = String::from(
        "#include <stddef.h>\n#include <stdio.h>\n#include <nvml.h>\nint main(void) {\n",
    );
    let text = std::fs::read_to_string(folder.join("nvml.h")).unwrap();
    // The older header lacks some constants.
    let is_known = |expression: &&String| expression.contains('(') || text.contains(*expression);
    for expression in rows.keys().filter(is_known) {
        let line = format!("printf(\"{expression}\\t%lld\\n\", (long long)({expression}));\n");
        program.push_str(&line);
    }
    program.push_str("return 0; }\n");
    let stem = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nvml-header");
    let source = stem.with_extension("c");
    std::fs::write(&source, program).unwrap();
    let mut compile = Command::new("cc");
    let compiled = compile.arg("-I").arg(folder).arg(&source).arg("-o").arg(&stem).output();
    let compiled = compiled.expect("a C compiler: cargo needs one for linking, too");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&stem).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
#[allow(clippy::print_stderr, reason = "says what was not compared")]
fn the_tables_agree_with_the_header() {
    let rows = table();
    let record = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nvml.tsv");
    let given = std::env::var_os("SIMTLAB_NVML_INCLUDE");
    let folders: Vec<PathBuf> = given.iter().flat_map(std::env::split_paths).collect();
    if folders.is_empty() {
        eprintln!("not compiled: no header; SIMTLAB_NVML_INCLUDE may name its folder");
    }
    for folder in folders {
        let measured = measure(&folder, &rows);
        if std::env::var_os("SIMTLAB_BLESS").is_some() && measured.lines().count() == rows.len() {
            std::fs::write(&record, &measured).unwrap();
        }
        for line in measured.lines() {
            let (expression, value) = line.split_once('\t').unwrap();
            assert_eq!(value.parse(), Ok(rows[expression]), "{expression} of {}", folder.display());
        }
    }
    assert_eq!(std::fs::read_to_string(&record).unwrap_or_default(), written(&rows));
}
