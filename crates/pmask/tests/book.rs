//! The generated pages of the book: instructions, and which test checks which rule. `BLESS=1` writes them anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use pmask::table::table;

fn page(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == text, "docs/{name} is out of date: run this test with BLESS=1");
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

/// The rules that no test can check, and why.
const FREEDOM: [(&str, &str); 4] = [
    ("PM-2.2-b", "a freedom: nothing to see"),
    ("PM-5-b", "a freedom: nothing to see"),
    ("XM-5.1-a", "indexed access (SVMEM) has no instruction and is not offered"),
    ("XM-5.1-b", "indexed access (SVMEM) has no instruction and is not offered"),
];

/// Test functions by the rules that their comments name.
fn checks() -> BTreeMap<String, Vec<String>> {
    let sources = [
        ("vectors", include_str!("vectors.rs")),
        ("lanes", include_str!("lanes.rs")),
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
    for line in include_str!("vectors/rules.tsv").lines().skip(1) {
        let (id, level) = line.split_once('\t').unwrap();
        let free = FREEDOM.iter().find(|(free, _)| *free == id);
        let by = match (checks.get(id), free) {
            (Some(tests), None) => {
                tests.iter().map(|t| format!("`{t}`")).collect::<Vec<_>>().join(", ")
            }
            (None, Some((_, why))) => (*why).to_owned(),
            (tests, free) => panic!("{id}: {tests:?} {free:?}"),
        };
        writeln!(text, "| {id} | {level} | {by} |").unwrap();
        known.push(id);
    }
    for id in checks.keys() {
        assert!(known.contains(&id.as_str()), "{id} is no rule");
    }
    page("pmask-rules.md", &text);
}
