//! Whether the manifests of libraries say which tests they hold.
//!
//! Cargo compiles a library once more for its unit tests and runs rustdoc for its examples, even if
//! there are none. `test = false` and `doctest = false` save that time; left over in a library that
//! has gained tests, they would hide these.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::tree;

/// What the sources of a library hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    unit_tests: bool,
    examples: bool,
}

/// Reads what the files of a folder hold.
fn held(folder: &Path) -> Result<Held> {
    let mut all = Held { unit_tests: false, examples: false };
    for path in tree::entries(folder)? {
        let found = if path.is_dir() {
            held(&path)?
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            of_text(&fs::read_to_string(&path).with_context(|| tree::shown(&path))?)
        } else {
            continue;
        };
        all.unit_tests |= found.unit_tests;
        all.examples |= found.examples;
    }
    Ok(all)
}

fn of_text(text: &str) -> Held {
    let fence = |line: &str| line.starts_with("/// ```") || line.starts_with("//! ```");
    let test = |line: &str| line.starts_with("#[test]") || line.starts_with("proptest! {");
    let lines = || text.lines().map(str::trim_start);
    Held { unit_tests: lines().any(test), examples: lines().any(fence) }
}

/// Returns what a manifest says otherwise than the sources.
fn contradictions(manifest: &str, held: Held) -> Result<Vec<String>> {
    let manifest: toml::Table = manifest.parse()?;
    let said = |key: &str| {
        let library = manifest.get("lib").and_then(toml::Value::as_table);
        library.and_then(|library| library.get(key)?.as_bool()).unwrap_or(true)
    };
    let pairs = [("test", held.unit_tests), ("doctest", held.examples)];
    let wrong = pairs.into_iter().filter(|(key, holds)| said(key) != *holds);
    Ok(wrong.map(|(key, holds)| format!("`{key}` has to be {holds}")).collect())
}

/// Returns the libraries whose manifests contradict their sources.
fn wrong() -> Result<Vec<String>> {
    let mut found = Vec::new();
    for package in tree::entries(&tree::root().join("crates"))? {
        let library = package.join("src/lib.rs");
        if !library.is_file() {
            continue;
        }
        let path = package.join("Cargo.toml");
        let manifest = fs::read_to_string(&path).with_context(|| tree::shown(&path))?;
        let more = contradictions(&manifest, held(&package.join("src"))?)?;
        found.extend(more.into_iter().map(|what| format!("{}: {what}", tree::shown(&path))));
    }
    Ok(found)
}

#[test]
fn manifests_say_which_tests_libraries_hold() {
    assert_eq!(wrong().expect("files can be read"), Vec::<String>::new());
}

#[test]
fn contradictions_are_found() {
    let text = "//! ```\n    #[test]\n    fn a() {}\n";
    let (both, none) = (of_text(text), of_text("fn a() {} // #[test]\n"));
    assert_eq!(both, Held { unit_tests: true, examples: true });
    assert_eq!(none, Held { unit_tests: false, examples: false });
    let of = |manifest, held| contradictions(manifest, held).expect("it is TOML");
    assert_eq!(of("[lib]\ntest = false", both), ["`test` has to be true"]);
    assert_eq!(of("[lib]\ntest = false", none), ["`doctest` has to be false"]);
    assert_eq!(of("[package]", both), Vec::<String>::new());
}
