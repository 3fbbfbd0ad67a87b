//! docs/ptx-targets.md: which targets have the forms of the table, as `ptxas` judges.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;
use ptx::spelling::Form;
use ptx::testing::{file, instructions};

use super::{BATCH, Judge, ours};
use crate::tree;

/// The targets: 8.0, and all from 9.0 on that the assembler knows.
const TARGETS: [&str; 21] = [
    "80", "90", "90a", "100", "100f", "100a", "103", "103f", "103a", "107", "107f", "107a", "110",
    "110f", "110a", "120", "120f", "120a", "121", "121f", "121a",
];

const HEAD: &str = "# Forms and targets

Which targets have the forms that run, as `ptxas` 13.5 judges: `cargo xtask ptxas --table` makes this page. The front end takes a form for every target, with a warning where
the PTX ISA names a later one. A row is a form of [the table of forms](ptx-support.md), with the words that it always has; a cell says how many of its instructions `ptxas`
takes for the target. Forms that all targets have are counted at the end. Targets that have the same forms share a column.
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
    for (column, target) in TARGETS.iter().enumerate() {
        let (assembler, scratch) = (assembler.to_owned(), work.to_owned());
        let judge = Judge { assembler, scratch, target: format!("sm_{target}") };
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

/// A target as its compute capability is written: `9.0a` for `sm_90a`.
fn capability(target: &str) -> String {
    let digits = target.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
    let (major, minor) = target.split_at(digits - 1);
    format!("{major}.{minor}")
}

/// The targets, by number, those together that take the same instructions of each form.
fn columns(rows: &[Row]) -> Vec<Vec<usize>> {
    let mut columns: Vec<Vec<usize>> = Vec::new();
    for target in 0..TARGETS.len() {
        let alike = |first: usize| rows.iter().all(|row| row.taken[first] == row.taken[target]);
        match columns.iter_mut().find(|column| alike(column[0])) {
            Some(column) => column.push(target),
            None => columns.push(vec![target]),
        }
    }
    columns
}

fn page(rows: &[Row]) -> String {
    let mut out = HEAD.to_owned();
    let columns = columns(rows);
    let names: Vec<String> = columns
        .iter()
        .map(|column| column.iter().map(|k| capability(TARGETS[*k])).collect::<Vec<_>>().join(", "))
        .collect();
    let _ =
        write!(out, "\n| form | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    let everywhere = |row: &&Row| row.taken.iter().all(|&taken| taken == row.all);
    for row in rows.iter().filter(|row| !everywhere(row)) {
        let cell = |column: &Vec<usize>| match row.taken[column[0]] {
            0 => "-".to_owned(),
            taken if taken == row.all => "all".to_owned(),
            taken => format!("{taken} of {}", row.all),
        };
        let cells: Vec<String> = columns.iter().map(cell).collect();
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
