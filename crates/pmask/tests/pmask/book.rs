//! The generated pages of the book: instructions, and which test checks which rule.
//! `SIMTLAB_BLESS=1` writes them anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use pmask::table::table;

fn page(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("SIMTLAB_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == text, "docs/{name} is out of date: run this test with SIMTLAB_BLESS=1");
}

#[test]
fn instructions() {
    let plain = table().filtered(|form| form.attribute("assembly-only").is_none()).unwrap();
    let text = isa::docs::reference(&plain);
    page(
        "pmask-instructions.md",
        &text.replacen("# rv64pmask instructions", "# PMASK machine: instructions", 1),
    );
}

/// Test functions by the rules that their comments name.
fn checks() -> BTreeMap<String, Vec<String>> {
    let sources = [
        ("vectors", include_str!("vectors.rs")),
        ("lanes", include_str!("lanes.rs")),
        ("gather", include_str!("gather.rs")),
        ("programs", include_str!("programs.rs")),
        ("rules", include_str!("rules.rs")),
    ];
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, source) in sources {
        let mut named: Vec<String> = Vec::new();
        for line in source.lines() {
            if let Some(comment) = line.strip_prefix("/// ") {
                let words = comment.split([' ', ',', ':']).map(|w| w.trim_end_matches('.'));
                named.extend(words.filter(|w| is_rule(w)).map(str::to_owned));
            } else if let Some(rest) = line.strip_prefix("fn ") {
                let name = rest.split('(').next().unwrap_or_default();
                for rule in named.drain(..) {
                    found.entry(rule).or_default().push(format!("{file}::{name}"));
                }
            } else if line.is_empty() {
                named.clear();
            }
        }
    }
    found
}

fn is_rule(word: &str) -> bool {
    ["PM-", "CAP-", "XM-", "RSV-", "CEXP-", "RT-"].iter().any(|p| word.starts_with(p))
}

#[test]
fn every_rule_has_a_test() {
    let checks = checks();
    let mut text = "# PMASK machine: rules and tests\n\nGenerated from the tests of `crates/pmask/tests`. Ids are those of the machine's rules: `PM` and a section of the PMASK\n\
        document, `CAP`, `XM`, `RSV`, `CEXP`, `RT` for the rules that the documents on its consumers add.\n\n| rule | level | checked by |\n|---|---|---|\n".to_owned();
    let mut known = Vec::new();
    for line in include_str!("../vectors/rules.tsv").lines().skip(1) {
        let (id, level) = line.split_once('\t').unwrap();
        let tests = checks.get(id).unwrap_or_else(|| panic!("no test names {id}"));
        let by = tests.iter().map(|t| format!("`{t}`")).collect::<Vec<_>>().join(", ");
        writeln!(text, "| {id} | {level} | {by} |").unwrap();
        known.push(id);
    }
    for id in checks.keys() {
        assert!(known.contains(&id.as_str()), "{id} is not a rule");
    }
    page("pmask-rules.md", &text);
}
