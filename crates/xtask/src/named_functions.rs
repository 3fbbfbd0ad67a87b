//! A test that docs/one-launch.md names functions and files that are there.

use std::fs;

use crate::tree;

/// Returns the pairs "`NAME` in `PATH`" of a text, and all other paths below `crates/` as pairs
/// without a name.
fn named(text: &str) -> Vec<(Option<&str>, &str)> {
    let parts: Vec<&str> = text.split('`').collect();
    // Every second part is between backticks.
    let code = |at: usize| parts.get(at).filter(|_| at % 2 == 1).copied();
    let mut found = Vec::new();
    for at in (1..parts.len()).step_by(2) {
        let Some(path) = code(at).filter(|word| word.starts_with("crates/")) else { continue };
        let between = parts.get(at - 1).copied().unwrap_or_default();
        let name = at.checked_sub(2).and_then(code).filter(|_| between.trim() == "in");
        found.push((name, path));
    }
    found
}

/// Whether a file of Rust defines an item of this name.
fn defines(text: &str, name: &str) -> bool {
    let kinds = ["fn", "struct", "enum", "trait", "macro_rules!"];
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    kinds.iter().any(|kind| {
        let item = format!("{kind} {name}");
        text.match_indices(&item).any(|(at, _)| ends(&text[at + item.len()..]))
    })
}

#[test]
fn functions_of_the_page_on_a_launch_are_in_their_files() {
    let page = fs::read_to_string(tree::root().join("docs/one-launch.md")).expect("the page");
    let named = named(&page);
    let functions = named.iter().filter(|(name, _)| name.is_some()).count();
    assert!(functions >= 30, "{functions} functions");
    let mut wrong = Vec::new();
    for (name, path) in named {
        let place = tree::root().join(path);
        match (fs::read_to_string(&place), name) {
            (Ok(text), Some(name)) if !defines(&text, name) => {
                wrong.push(format!("`{name}` is not in {path}"));
            }
            (Err(_), _) if !place.exists() => wrong.push(format!("{path} is not there")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn names_and_paths_are_found() {
    let text = "`run` in\n `crates/a.rs`, `x`; `crates/b.rs` of `y` or `crates/toy`";
    let none = None;
    let wanted = [(Some("run"), "crates/a.rs"), (none, "crates/b.rs"), (none, "crates/toy")];
    assert_eq!(named(text), wanted);
    assert!(defines("pub fn run<T>()", "run") && !defines("fn runs()", "run"));
    assert!(defines("pub struct Cfg {", "Cfg") && !defines("use Cfg;", "Cfg"));
}
