//! The tables against NVIDIA's headers, as a C compiler reads them: `tests/cupti.tsv` holds what
//! the compiler said of `cupti.h` of CUDA 13.2, and `tests/arguments.tsv` where the arguments of
//! functions lie in the structures of `generated_cuda_meta.h` and its kin. `SIMTLAB_CUPTI_INCLUDE`
//! names folders with the headers, which are then compiled again.

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
    let mut body = String::new();
    for expression in rows.keys() {
        let line = format!("printf(\"{expression}\\t%lld\\n\", (long long)({expression}));\n");
        body.push_str(&line);
    }
    output(folders, "cupti-headers", &body)
}

/// Returns what statements of C print, with the headers in some folders.
fn output(folders: &OsStr, name: &str, body: &str) -> String {
    let headers = ["stddef.h", "stdio.h", "cupti.h"].map(|h| format!("#include <{h}>\n")).concat();
    let program = format!("{headers}int main(void) {{\n{body}return 0; }}\n");
    let stem = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
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

/// The structure with the arguments of a function in the headers: its name without `_params`.
fn structure(function: &str) -> Option<String> {
    let (table, runtime) = match function.starts_with("cuda") {
        true => (include_str!("../../data/runtime.tsv"), true),
        false => (include_str!("../../data/driver.tsv"), false),
    };
    let mut names = table.lines().map(|line| line.split_once('\t').unwrap().1);
    let version = |name: &str| {
        let (plain, version) = name.rsplit_once("_v")?;
        (version.len() >= 4).then(|| plain.to_owned())
    };
    let is_it = |name: &&str| match runtime {
        true => version(name).is_some_and(|plain| plain == function),
        false => *name == function,
    };
    names.rfind(is_it).map(str::to_owned)
}

/// The names of the fields of a structure as a header declares it.
fn fields(header: &str, name: &str) -> Option<Vec<String>> {
    let start = header.find(&format!("typedef struct {name}_params_st {{"))?;
    let body = header[start..].split_once('{')?.1.split_once(&format!("}} {name}_params;"))?.0;
    let field = |line: &str| {
        let line = line.trim().strip_suffix(';')?;
        let line = line.split('[').next()?;
        let name = line.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        Some(name.to_owned())
    };
    Some(body.lines().filter_map(field).collect())
}

/// Statements of C that print where the fields of each function's structure lie.
fn statements(folders: &OsStr, functions: &[&str]) -> String {
    let headers = ["generated_cuda_meta.h", "generated_cuda_runtime_api_meta.h"];
    let read = |name: &str| {
        let mut files = std::env::split_paths(folders).map(|folder| folder.join(name));
        files.find_map(|file| std::fs::read_to_string(file).ok()).unwrap()
    };
    let text = headers.map(read).concat();
    let mut body = String::new();
    for function in functions {
        let Some(name) = structure(function) else { continue };
        let Some(fields) = fields(&text, &name) else { continue };
        body.push_str(&format!("printf(\"{function}\\t\");\n"));
        for field in fields {
            body.push_str(&format!("printf(\"%zu \", offsetof({name}_params, {field}));\n"));
        }
        body.push_str(&format!("printf(\"of %zu\\n\", sizeof({name}_params));\n"));
    }
    body
}

#[test]
fn arguments_lie_where_the_headers_have_them() {
    let functions = cuda::exports::argument_layouts();
    let runtime = include_str!("../../data/runtime.tsv").lines();
    let runtime = runtime.filter_map(|line| Some(line.split_once('\t')?.1.rsplit_once("_v")?.0));
    let mut names: Vec<&str> = functions.iter().map(|(name, _)| *name).chain(runtime).collect();
    names.sort_unstable();
    names.dedup();
    let record = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/arguments.tsv");
    if let Some(folders) = std::env::var_os("SIMTLAB_CUPTI_INCLUDE") {
        let body = statements(&folders, &names);
        let measured = output(&folders, "cupti-arguments", &body);
        if std::env::var_os("SIMTLAB_BLESS").is_some() {
            std::fs::write(&record, &measured).unwrap();
        }
        assert_eq!(measured, std::fs::read_to_string(&record).unwrap());
    }
    let own: BTreeMap<&str, &(Vec<usize>, usize)> =
        functions.iter().map(|(name, layout)| (*name, layout)).collect();
    let record = std::fs::read_to_string(&record).unwrap();
    let (mut differing, mut compared) = (Vec::new(), 0);
    for line in record.lines() {
        let (name, there) = line.split_once('\t').unwrap();
        // Those of the runtime are compared by its own tests.
        let Some((places, size)) = own.get(name) else { continue };
        compared += 1;
        let places: String = places.iter().map(|place| format!("{place} ")).collect();
        let here = format!("{places}of {size}");
        if here != there {
            differing.push(format!("{name}: {here}, and {there} in the headers"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert!(compared > 400, "{compared} functions");
}
