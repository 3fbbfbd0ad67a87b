//! Comparisons of machines as a single HTML file, by the rules of the page of mechanisms: it loads
//! nothing, holds its data as JSON, and needs no script.

use std::fmt::Write as _;

use simt::slots::SlotCause;

use super::text::{COLUMNS, cells, costly, difference, of, refusal};
use super::{Equality, MachineComparison, Outcome, to_json};
use crate::html::escape::{grouped, json, text};
use crate::html::frame::{begin, section};

/// The content security policy: the page loads nothing and runs nothing.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const ABOUT: &str = "<p>Each machine runs the kernel as a program of its own, lowered from the same intermediate representation, on the same arguments; \
buffers have to be equal byte by byte. Groups have the width that is the machine's own. An instruction that runs <em>once</em> for its group has no lane slots. \
What a machine cannot take is refused, with the operation and its line.</p>\n\
<p>The figures are those of <code>simtlab compare --machines ... --json</code>, which this file holds whole in the element <code>machines</code>.</p>\n";

/// Renders a comparison as a page.
#[must_use]
pub fn to_html(comparison: &MachineComparison) -> String {
    let kernels = text(&comparison.kernels.join(", "));
    let mut out = String::new();
    begin(&mut out, POLICY, &format!("{kernels}: machines compared"));
    let _ = write!(
        out,
        "<header>\n<p class=\"brand\">simtlab compare</p>\n<h1>{kernels}</h1>\n\
         <p class=\"sub\"><code>{}</code></p>\n</header>\n<main>\n",
        text(&comparison.module)
    );
    section(&mut out, "summary", "Machines", &table(comparison));
    section(&mut out, "remarks", "What there is to say", &remarks(comparison));
    section(&mut out, "lost", "Where the lane slots went", &slots(comparison));
    section(&mut out, "source", "Instructions by line", &lines(comparison));
    section(&mut out, "about", "How to read this", ABOUT);
    let _ = write!(
        out,
        "</main>\n<script type=\"application/json\" id=\"machines\">{}</script>\n</body>\n</html>\n",
        json(&to_json(comparison))
    );
    out
}

fn open(out: &mut String, label: &str, columns: &[(&str, &str)]) {
    let _ = write!(
        out,
        "<div class=\"scroll\" role=\"region\" aria-label=\"{label}\" tabindex=\"0\">\
         <table class=\"costs\"><caption>{label}</caption>\n<thead><tr><th scope=\"col\">machine</th>"
    );
    for (name, about) in columns {
        let _ = write!(out, "<th scope=\"col\" title=\"{}\">{}</th>", text(about), text(name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
}

const CLOSE: &str = "</tbody></table></div>\n";

fn table(comparison: &MachineComparison) -> String {
    let mut out = String::new();
    open(&mut out, "One kernel on every machine", &COLUMNS);
    for row in &comparison.rows {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", text(&row.machine));
        match &row.outcome {
            Outcome::Ran(figures) => {
                for cell in cells(figures) {
                    let cell = cell.parse().map_or_else(|_| text(&cell), grouped);
                    let _ = write!(out, "<td>{cell}</td>");
                }
            }
            Outcome::Refused { .. } | Outcome::Stopped { .. } => {
                let refused = matches!(row.outcome, Outcome::Refused { .. });
                let what = if refused { "refused" } else { "stopped" };
                let _ = write!(out, "<td colspan=\"{}\">{what}</td>", COLUMNS.len());
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str(CLOSE);
    out
}

fn remarks(comparison: &MachineComparison) -> String {
    let mut out = String::from("<ul>\n");
    for row in &comparison.rows {
        let words = match &row.outcome {
            Outcome::Ran(figures) => match &figures.equality {
                Equality::Reference => "the other machines are compared with it".to_owned(),
                Equality::Equal => "all buffers are equal".to_owned(),
                Equality::Differs { buffer, element, count, order } => {
                    difference(buffer, *element, *count, order)
                }
            },
            Outcome::Refused { kernel, message, line, source } => {
                refusal(kernel, message, *line, source.as_deref())
            }
            Outcome::Stopped { message } => message.clone(),
        };
        let _ = writeln!(out, "<li><strong>{}</strong>: {}</li>", text(&row.machine), text(&words));
    }
    out.push_str("</ul>\n");
    out
}

fn slots(comparison: &MachineComparison) -> String {
    let columns = SlotCause::ALL.map(|cause| (cause.name(), "lane slots with this cause"));
    let mut out = String::new();
    open(&mut out, "Lane slots by cause", &columns);
    for row in &comparison.rows {
        let Outcome::Ran(figures) = &row.outcome else { continue };
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", text(&row.machine));
        for cause in SlotCause::ALL {
            let _ = write!(out, "<td>{}</td>", grouped(of(figures, cause)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str(CLOSE);
    out
}

fn lines(comparison: &MachineComparison) -> String {
    let costly = costly(comparison);
    if costly.is_empty() {
        return "<p>The program has no line table.</p>\n".to_owned();
    }
    let ran = comparison.rows.iter().filter(|row| matches!(row.outcome, Outcome::Ran(_)));
    let names: Vec<(&str, &str)> =
        ran.map(|row| (row.machine.as_str(), "instructions that stand for the line")).collect();
    let mut out = String::new();
    open(&mut out, "The costliest lines of the source", &names);
    for (line, costs) in costly {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", text(&line));
        for cost in costs {
            let _ = write!(out, "<td>{}</td>", cost.map_or("–".to_owned(), grouped));
        }
        out.push_str("</tr>\n");
    }
    out.push_str(CLOSE);
    out
}
