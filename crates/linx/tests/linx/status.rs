//! Which forms execute and which encode only, pinned: the table says what the machine does.

use std::fmt::Write as _;

use linx::action::{Action, Marker, action};
use linx::{TileOps, table};

/// What a form's attribute `status` must be.
fn status(index: usize) -> String {
    match action(index) {
        Action::Marker(Marker::Fixp) => "encodes only: no operation is assigned to it".to_owned(),
        Action::None(why) => format!("encodes only: {why}"),
        _ => "executes".to_owned(),
    }
}

#[test]
fn every_form_has_the_status_that_the_table_says() {
    let mut wrong = String::new();
    for (id, form) in table(TileOps::V04).iter() {
        let status = status(id.index());
        if form.attribute("status") != Some(status.as_str()) {
            let _ = writeln!(wrong, "{}\t{status}", form.name);
        }
    }
    assert!(wrong.is_empty(), "the table says otherwise:\n{wrong}");
}

#[test]
fn how_many_forms_execute() {
    let all = table(TileOps::V04).forms();
    let executes = |context: &str| {
        let of = all.iter().filter(|f| f.attribute("context") == Some(context));
        let done = of.clone().filter(|f| f.attribute("status") == Some("executes")).count();
        (done, of.count())
    };
    assert_eq!(executes("body64"), (184, 184));
    assert_eq!(executes("body-branch"), (10, 10));
    assert_eq!(executes("term"), (2, 2));
    assert_eq!(executes("hdr"), (21, 21));
    assert_eq!(executes("marker"), (51, 52));
    let done = all.iter().filter(|f| f.attribute("status") == Some("executes")).count();
    assert_eq!(done, 729);
}

/// Every form has words, and those of a family that differ in size or sign differ in words.
#[test]
fn every_form_is_described() {
    for (id, form) in table(TileOps::V04).iter() {
        let words = linx::prose(id.index(), form);
        assert!(
            words.ends_with('.') && words.len() > 5 && !words.contains('?'),
            "{}: {words}",
            form.name
        );
    }
}

#[test]
fn the_page_of_instructions_is_current() {
    let page = isa::docs::reference_with(table(TileOps::V04), linx::prose);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/linx-instructions.md");
    if std::env::var_os("SIMTLAB_BLESS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(kept == page, "docs/linx-instructions.md is not current: run with SIMTLAB_BLESS=1");
}
