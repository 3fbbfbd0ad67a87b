//! docs/ptx-targets.md: which targets have the forms of the table, as `ptxas` judges.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;
use ptx::spelling::Form;
use ptx::testing::{file, instructions};

use super::{BATCH, Judge, ours};
use crate::tree;

/// The targets, with their names in the table.
const TARGETS: [(&str, &str); 6] = [
    ("sm_80", "8.0"),
    ("sm_90", "9.0"),
    ("sm_90a", "9.0a"),
    ("sm_100", "10.0"),
    ("sm_100a", "10.0a"),
    ("sm_120a", "12.0a"),
];

const HEAD: &str = "# Forms and targets

Which targets have the forms that run, as `ptxas` 13.5 judges: `cargo xtask ptxas --table` makes this page. The front end takes a form for every target, with a warning where
the PTX ISA names a later one. A row is a form of [the table of forms](ptx-support.md), with the words that it always has; a cell says how many of its instructions `ptxas`
takes for the target. Forms that all targets have are counted at the end.
";

/// A form, with its instructions that each target takes.
struct Row {
    name: String,
    all: usize,
    taken: [usize; TARGETS.len()],
}

/// Asks `ptxas` for each target, and writes the page.
pub(super) fn write(assembler: &Path, work: &Path) -> Result<()> {
    let mut all = instructions();
    all.retain(|(_, text)| ours(&file("sm_100a", text)).is_none());
    let mut rows: Vec<Row> = Vec::new();
    let mut owners = Vec::with_capacity(all.len());
    for (form, _) in &all {
        let name = name(form);
        let at = rows.iter().rposition(|row| row.name == name).unwrap_or(rows.len());
        if at == rows.len() {
            rows.push(Row { name, all: 0, taken: [0; TARGETS.len()] });
        }
        rows[at].all += 1;
        owners.push(at);
    }
    let texts: Vec<String> = all.into_iter().map(|(_, text)| text).collect();
    for (column, (target, _)) in TARGETS.iter().enumerate() {
        let (assembler, scratch) = (assembler.to_owned(), work.to_owned());
        let judge = Judge { assembler, scratch, target: (*target).to_owned() };
        for (start, batch) in texts.chunks(BATCH).enumerate().map(|(k, b)| (k * BATCH, b)) {
            for (k, refused) in judge.refused(batch)?.into_iter().enumerate() {
                rows[owners[start + k]].taken[column] += usize::from(refused.is_none());
            }
        }
    }
    fs::write(tree::root().join("docs/ptx-targets.md"), page(&rows))?;
    Ok(())
}

/// The opcode and the words that the form always has.
fn name(form: &Form) -> String {
    let mut name = form.opcode.to_owned();
    for kind in form.kinds().filter(|kind| form.required.has(*kind)) {
        if let [word] = form.words(kind) {
            let _ = write!(name, ".{word}");
        }
    }
    name
}

fn page(rows: &[Row]) -> String {
    let mut out = HEAD.to_owned();
    let names: Vec<&str> = TARGETS.iter().map(|(_, name)| *name).collect();
    let _ =
        write!(out, "\n| form | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    let everywhere = |row: &&Row| row.taken.iter().all(|&taken| taken == row.all);
    for row in rows.iter().filter(|row| !everywhere(row)) {
        let cell = |&taken: &usize| match taken {
            0 => "-".to_owned(),
            _ if taken == row.all => "all".to_owned(),
            _ => format!("{taken} of {}", row.all),
        };
        let cells: Vec<String> = row.taken.iter().map(cell).collect();
        let _ = writeln!(out, "| `{}` | {} |", row.name, cells.join(" | "));
    }
    let (count, instructions) =
        rows.iter().filter(everywhere).fold((0, 0), |(forms, all), row| (forms + 1, all + row.all));
    let _ = writeln!(
        out,
        "\n{count} forms more, of {instructions} instructions, are taken for all of these targets."
    );
    out
}
