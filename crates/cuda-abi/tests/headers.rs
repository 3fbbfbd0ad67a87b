//! The tables against CUDA's headers, as a C compiler reads them.
//!
//! `tests/headers/` holds what the compiler said of the headers of some versions: constants, sizes
//! and offsets. Where a toolkit is installed, its headers are compiled again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_abi::{Extent, NUMBERS, Status, layouts};

/// The recorded versions: the number in `cuda.h`, and the file.
const RECORDED: [(i32, &str, &str); 2] = [
    (12090, "12.9.tsv", include_str!("headers/12.9.tsv")),
    (13050, "13.5.tsv", include_str!("headers/13.5.tsv")),
];

/// Returns the expressions of C that the tables give values, with the names that a header must have
/// for an expression.
fn table(version: i32) -> Vec<(String, i64, Vec<&'static str>)> {
    let mut rows = Vec::new();
    for &(name, number) in NUMBERS {
        rows.push((name.to_owned(), number.into(), vec![name]));
    }
    for (name, number) in Status::names() {
        let name = name.to_str().unwrap();
        rows.push((name.to_owned(), number.into(), vec![name]));
    }
    let described = |extent| match extent {
        Extent::Whole | Extent::Prefix => true,
        Extent::Before13 => version < 13000,
        Extent::Since13 => version >= 13000,
    };
    for layout in layouts().filter(|layout| described(layout.extent)) {
        let name = layout.name;
        let plain = name.trim_start_matches("struct ");
        if layout.extent != Extent::Prefix {
            rows.push((format!("sizeof({name})"), layout.size as i64, vec![plain]));
        }
        for &(field, offset, size) in layout.fields {
            let field = field.trim_start_matches("r#");
            if field.starts_with('_') {
                continue;
            }
            let needed = vec![plain, field];
            rows.push((format!("offsetof({name}, {field})"), offset as i64, needed.clone()));
            rows.push((format!("sizeof((({name} *)0)->{field})"), size as i64, needed));
        }
    }
    let mut known = BTreeSet::new();
    rows.retain(|(expression, ..)| known.insert(expression.clone()));
    rows
}

/// Reads the lines of a record: an expression and its value.
fn parse(record: &str) -> BTreeMap<&str, i64> {
    let lines = record.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split_once('\t').unwrap())
        .map(|(expression, value)| (expression, value.parse().unwrap()))
        .collect()
}

#[test]
fn the_tables_agree_with_the_recorded_headers() {
    let mut missing: BTreeSet<String> =
        RECORDED.iter().flat_map(|r| table(r.0)).map(|row| row.0).collect();
    for (version, file, record) in RECORDED {
        let mut recorded = parse(record);
        for (expression, value, _) in table(version) {
            if let Some(there) = recorded.remove(expression.as_str()) {
                assert_eq!(value, there, "{expression} of {file}");
                missing.remove(&expression);
            }
        }
        assert!(recorded.is_empty(), "{file} has more than the tables: {recorded:?}");
    }
    let first = missing.first();
    assert!(first.is_none(), "no header has {first:?}, one of {}", missing.len());
}

/// Returns folders with headers: those of `SIMTLAB_CUDA_INCLUDE`, which colons separate, else those
/// of installed toolkits and of the packages that the scripts of `clients/` have installed.
fn folders() -> Vec<PathBuf> {
    if let Some(given) = std::env::var_os("SIMTLAB_CUDA_INCLUDE") {
        return std::env::split_paths(&given).collect();
    }
    let inside = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let clients = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../clients");
    let packages = inside(clients)
        .into_iter()
        .flat_map(|environment| inside(environment.join("lib")))
        .flat_map(|python| inside(python.join("site-packages/nvidia")))
        .map(|package| package.join("include"));
    let has_headers = |folder: &PathBuf| {
        let header = std::fs::read_to_string(folder.join("cuda.h")).unwrap_or_default();
        header.contains("CUDA_VERSION") && folder.join("driver_types.h").exists()
    };
    let installed = [PathBuf::from("/usr/local/cuda/include")];
    installed.into_iter().chain(packages).filter(has_headers).collect()
}

/// Compilers' keywords of the headers. NVIDIA's file of them is in a package of its own in version
/// 12; this takes its place where it is missing.
const HOST_DEFINES: &str = "\
#define __device_builtin__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
";

/// Returns the version of the headers in a folder, and what a compiler says of the expressions that
/// they know.
fn measure(folder: &Path) -> (i32, String) {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let text = ["cuda.h", "driver_types.h", "texture_types.h", "vector_types.h"].map(read).concat();
    let version = text.split("#define CUDA_VERSION ").nth(1).unwrap();
    let version: i32 = version.split_whitespace().next().unwrap().parse().unwrap();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let names: BTreeSet<&str> = text.split(|c| !is_name(c)).collect();
    let mut program = String::from(
        "#include <stddef.h>\n#include <stdio.h>\n#include <cuda.h>\n#include <driver_types.h>\n\
         #include <texture_types.h>\n#include <vector_types.h>\nint main(void) {\n",
    );
    for (expression, _, needed) in table(version) {
        if needed.iter().all(|name| names.contains(name)) {
            let _ =
                writeln!(program, "printf(\"{expression}\\t%lld\\n\", (long long)({expression}));");
        }
    }
    program.push_str("return 0; }\n");
    let stem = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("headers-{version}"));
    let source = stem.with_extension("c");
    std::fs::write(&source, program).unwrap();
    let others = stem.with_extension("include");
    std::fs::create_dir_all(others.join("crt")).unwrap();
    std::fs::write(others.join("crt/host_defines.h"), HOST_DEFINES).unwrap();
    let mut compile = Command::new("cc");
    compile.arg("-I").arg(folder).arg("-idirafter").arg(others);
    let compiled = compile.arg(&source).arg("-o").arg(&stem).output();
    let compiled = compiled.expect("a C compiler: cargo needs one for linking, too");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&stem).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    (version, String::from_utf8(ran.stdout).unwrap())
}

#[test]
#[allow(clippy::print_stderr, reason = "says what was not compared")]
fn the_records_are_what_a_compiler_says() {
    let folders = folders();
    if folders.is_empty() {
        eprintln!("not compared: no CUDA headers; SIMTLAB_CUDA_INCLUDE may name their folder");
    }
    for folder in folders {
        let (version, measured) = measure(&folder);
        let Some((_, file, record)) = RECORDED.iter().find(|r| r.0 == version) else {
            let measured = parse(&measured);
            for (expression, value, _) in table(version) {
                if let Some(&there) = measured.get(expression.as_str()) {
                    assert_eq!(value, there, "{expression} of version {version}");
                }
            }
            continue;
        };
        if std::env::var_os("SIMTLAB_BLESS").is_some() {
            let (major, minor) = (version / 1000, version % 1000 / 10);
            let head = format!(
                "# Values that a C compiler computes from the headers of CUDA {major}.{minor}.\n"
            );
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/headers").join(file);
            std::fs::write(path, head + &measured).unwrap();
        } else {
            assert_eq!(parse(&measured), parse(record), "{file}");
        }
    }
}
