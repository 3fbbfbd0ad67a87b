//! Comparisons of machines as text.

use std::fmt::Write as _;

use lab::show::paragraph;
use simt::slots::SlotCause;

use super::{Equality, Figures, MachineComparison, Order, Outcome};

/// Most lines of the source that are listed.
const LINES: usize = 8;

/// The cells of a machine's row, in the order of [`COLUMNS`].
pub(super) fn cells(figures: &Figures) -> Vec<String> {
    let optional = |figure: Option<u64>| figure.map_or("-".to_owned(), |n| n.to_string());
    let slots = figures.lane_slots();
    let used = figures.used();
    vec![
        figures.width.to_string(),
        figures.instructions.to_string(),
        optional(figures.code_bytes),
        figures.slots.issues().to_string(),
        figures.slots.uniform_issues.to_string(),
        slots.to_string(),
        percent(used, slots),
        optional(figures.masks),
        optional(figures.spills),
        match &figures.equality {
            Equality::Reference => "ref".to_owned(),
            Equality::Equal => "yes".to_owned(),
            Equality::Differs { order, .. } if order.explains() => "order".to_owned(),
            Equality::Differs { .. } => "no".to_owned(),
        },
    ]
}

/// Columns behind the machine's name, with their descriptions.
pub(super) const COLUMNS: [(&str, &str); 10] = [
    ("W", "lanes of a group"),
    ("insts", "instructions of the kernels' programs"),
    ("bytes", "of their code"),
    ("issues", "instructions that groups have issued"),
    ("once", "those of them that run once for the group"),
    ("lane slots", "lanes of all issues that lanes take part in"),
    ("on %", "lane slots of lanes that executed"),
    ("masks", "masks or predicates that a program has at most"),
    ("spills", "values, masks or predicates that live in memory"),
    (
        "equal",
        "whether all buffers are those of the first row; order: but for the order of threads",
    ),
];

fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "-".to_owned(),
        _ => format!("{:.1}", 100.0 * part as f64 / whole as f64),
    }
}

/// Renders a comparison: the table, what machines lack, and the lines that differ most.
#[must_use]
pub fn to_text(comparison: &MachineComparison) -> String {
    let mut out = format!("{} in {}\n\n", comparison.kernels.join(", "), comparison.module);
    table(&mut out, comparison);
    for row in &comparison.rows {
        let text = match &row.outcome {
            Outcome::Ran(figures) => match &figures.equality {
                Equality::Differs { buffer, element, count, order } => {
                    difference(buffer, *element, *count, order)
                }
                _ => continue,
            },
            Outcome::Refused { kernel, message, line, source } => {
                refusal(kernel, message, *line, source.as_deref())
            }
            Outcome::Stopped { message } => message.clone(),
        };
        out.push('\n');
        paragraph(&mut out, &format!("{}: ", row.machine), &text);
    }
    lines(&mut out, comparison);
    out
}

/// How results differ, in a sentence.
pub(super) fn difference(buffer: &str, element: usize, count: usize, order: &Order) -> String {
    let mut out = format!("{count} elements differ; the first is {buffer}[{element}]");
    if order.explains() {
        out.push_str("; the order of threads is the cause: the expectations of the job hold");
    }
    if let Some(mechanism) = order.mechanism {
        let _ = write!(out, "; under `{mechanism}` the first row's machine leaves others, too");
    }
    out
}

/// Why a machine does not take a kernel, in a sentence.
pub(super) fn refusal(
    kernel: &str,
    message: &str,
    line: Option<u32>,
    source: Option<&str>,
) -> String {
    let at = line.map_or(String::new(), |line| format!(", line {line}"));
    let source = source.map_or(String::new(), |source| format!(" ({source})"));
    format!("refused: `{kernel}`{at}{source}: {message}")
}

fn table(out: &mut String, comparison: &MachineComparison) {
    let mut rows: Vec<Vec<String>> =
        vec![std::iter::once("machine").chain(COLUMNS.map(|c| c.0)).map(str::to_owned).collect()];
    for row in &comparison.rows {
        let mut cells = vec![row.machine.clone()];
        match &row.outcome {
            Outcome::Ran(figures) => cells.extend(self::cells(figures)),
            Outcome::Refused { .. } => cells.push("refused".to_owned()),
            Outcome::Stopped { .. } => cells.push("stopped".to_owned()),
        }
        rows.push(cells);
    }
    let width = |column: usize| {
        let all = rows.iter().filter(|row| row.len() > 2 || column == 0);
        all.filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..=COLUMNS.len()).map(width).collect();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 => write!(line, "{cell:<width$}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// Lines of the source by what they take on the machines, the costliest first.
pub(super) fn costly(comparison: &MachineComparison) -> Vec<(String, Vec<Option<u64>>)> {
    let ran: Vec<&Figures> = comparison
        .rows
        .iter()
        .filter_map(|row| match &row.outcome {
            Outcome::Ran(figures) => Some(&**figures),
            _ => None,
        })
        .collect();
    let of = |figures: &Figures, line: &str| {
        let found = figures.lines.iter().find(|cost| cost.line == line);
        match (found, figures.lines.is_empty()) {
            (Some(cost), _) => Some(cost.instructions),
            (None, true) => None,
            (None, false) => Some(0),
        }
    };
    let mut names: Vec<&str> = ran
        .iter()
        .flat_map(|figures| figures.lines.iter().map(|cost| cost.line.as_str()))
        .collect();
    names.sort_unstable();
    names.dedup();
    let mut list: Vec<(String, Vec<Option<u64>>)> = names
        .into_iter()
        .map(|line| (line.to_owned(), ran.iter().map(|figures| of(figures, line)).collect()))
        .collect();
    list.sort_by_key(|(_, costs)| {
        let sum: u64 = costs.iter().skip(1).flatten().sum();
        std::cmp::Reverse(sum)
    });
    list.truncate(LINES);
    list
}

fn lines(out: &mut String, comparison: &MachineComparison) {
    let costly = costly(comparison);
    if costly.is_empty() || comparison.rows.len() < 2 {
        return;
    }
    out.push_str("\ninstructions by line of the source, the costliest lines:\n");
    let ran = |row: &&super::MachineRow| matches!(row.outcome, Outcome::Ran(_));
    let width = costly.iter().map(|(line, _)| line.len()).max().unwrap_or(0);
    let _ = write!(out, "  {:<width$}", "");
    for row in comparison.rows.iter().filter(ran) {
        let _ = write!(out, "  {:>7}", row.machine);
    }
    out.push('\n');
    for (line, costs) in costly {
        let _ = write!(out, "  {line:<width$}");
        for cost in costs {
            let cost = cost.map_or("-".to_owned(), |cost| cost.to_string());
            let _ = write!(out, "  {cost:>7}");
        }
        out.push('\n');
    }
}

/// The lanes of a cause.
pub(super) fn of(figures: &Figures, cause: SlotCause) -> u64 {
    figures.slots.of(cause)
}
