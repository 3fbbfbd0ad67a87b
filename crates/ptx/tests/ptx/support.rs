//! The book's support table is the one that the table of forms makes.

use std::path::Path;

#[test]
fn the_support_table_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ptx-support.md");
    let page = ptx::support::page();
    if std::env::var_os("SIMTLAB_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == page, "docs/ptx-support.md is not current: run this test with SIMTLAB_BLESS=1");
}

/// Tables of the page have as many cells as their headings, and every opcode has a row.
#[test]
fn the_support_table_is_whole() {
    let page = ptx::support::page();
    for line in page.lines().filter(|l| l.starts_with("| `") && l.ends_with(" |")) {
        let cells = line.matches('|').count() - 1;
        assert!(matches!(cells, 2 | 5), "{line}");
    }
    for family in ptx::spelling::families() {
        assert!(page.contains(&format!("\n| `{}` |", family.name)), "{}", family.name);
    }
}
