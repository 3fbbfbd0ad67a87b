//! The book's page on mechanisms lists the catalogue as it is.

use converge::CATALOGUE;
use std::fmt::Write;

const PAGE: &str = include_str!("../../../../docs/mechanisms.md");

/// The catalogue as the page shows it.
fn listing() -> String {
    let mut out = String::new();
    for entry in CATALOGUE {
        let _ = writeln!(out, "### `{}`\n\n{}\n", entry.name, sentence(entry.summary));
        let _ = writeln!(out, "- source: {}", entry.source);
        let _ = writeln!(out, "- state: {}", entry.state);
        let _ = writeln!(out, "- limits: {}", entry.limits);
        if !entry.knobs.is_empty() {
            let _ = writeln!(out, "- reads: `{}`", entry.knobs.join("`, `"));
        }
        if entry.pass.is_some() {
            let _ = writeln!(out, "- the program goes through a pass first");
        }
        out.push('\n');
    }
    out
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

#[test]
fn the_page_is_true() {
    let listing = listing();
    let (before, rest) = PAGE.split_once("<!-- catalogue -->\n\n").unwrap();
    let (shown, after) = rest.split_once("<!-- end -->").unwrap();
    if std::env::var_os("SIMTLAB_BLESS").is_some_and(|v| !v.is_empty() && v != "0") {
        let page = format!("{before}<!-- catalogue -->\n\n{listing}<!-- end -->{after}");
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mechanisms.md");
        std::fs::write(path, page).unwrap();
        return;
    }
    assert!(shown == listing, "docs/mechanisms.md should say:\n\n{listing}");
}
