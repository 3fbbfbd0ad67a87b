//! Listings with columns for the losses of each line.
//!
//! The page contains the lines; its script fills in the columns for the run that the reader
//! selects. Long texts are reduced to the executed lines and their surroundings.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::escape::text;
use super::page_data::{PageData, Text};
use crate::divergence::Comparison;
use crate::source_texts::last_component;

/// Most lines of a text that is shown in full.
const WHOLE: usize = 400;
/// Lines shown before and after an executed one.
const AROUND: u32 = 6;
/// Most lines shown of a longer text.
const MOST: usize = 3_000;
/// Most characters shown of a line.
const LONGEST: usize = 240;

/// Renders the listings: sources first, then the program.
pub(super) fn listings(comparison: &Comparison, page_data: &PageData) -> String {
    let mut out = String::new();
    let views: Vec<_> = comparison.rows.iter().filter_map(|row| row.views.as_ref()).collect();
    for (index, source) in page_data.sources.iter().enumerate() {
        let lines = views.iter().flat_map(|v| &v.losses.source);
        let lines = lines.filter(|((file, _), _)| **file == *source.name).map(|((_, n), _)| *n);
        listing(&mut out, "Source", &format!("s{index}-"), source, &lines.collect());
    }
    if !page_data.missing.is_empty() {
        let names: Vec<String> =
            page_data.missing.iter().map(|name| text(last_component(name))).collect();
        let _ = writeln!(
            out,
            "<p class=\"note\">Compiled from {}, which is not beside the program and so cannot be shown.</p>",
            names.join(", ")
        );
    }
    if let Some(program) = &page_data.program {
        let lines = views.iter().flat_map(|v| &v.losses.text).filter_map(|(n, _)| *n);
        listing(&mut out, "Program", "t", program, &lines.collect());
    }
    if out.is_empty() {
        out.push_str("<p>The program is not text.</p>\n");
    }
    out
}

/// Returns the line numbers to show, from 1.
fn shown(lines: usize, executed: &BTreeSet<u32>) -> Vec<u32> {
    let all = u32::try_from(lines).unwrap_or(u32::MAX);
    if lines <= WHOLE {
        return (1..=all).collect();
    }
    let mut out: Vec<u32> = Vec::new();
    for &line in executed {
        let from = line.saturating_sub(AROUND).max(1).max(out.last().map_or(1, |l| l + 1));
        out.extend(from..=line.saturating_add(AROUND).min(all));
    }
    out.truncate(MOST);
    out
}

fn listing(out: &mut String, kind: &str, id: &str, source: &Text, executed: &BTreeSet<u32>) {
    let lines: Vec<&str> = source.text.lines().collect();
    let shown = shown(lines.len(), executed);
    let name = text(last_component(&source.name));
    let _ =
        write!(out, "<figure class=\"listing\"><figcaption><h3>{kind}: <code>{name}</code></h3>");
    if shown.len() < lines.len() {
        let _ = write!(
            out,
            "<p class=\"note\">{} of {} lines: what was executed and its surroundings.</p>",
            shown.len(),
            lines.len()
        );
    }
    let _ = writeln!(
        out,
        "</figcaption><div class=\"scroll tall\" role=\"region\" aria-label=\"{kind} {name} with lost lane slots by line\" tabindex=\"0\">\
         <table class=\"code\"><thead><tr><th scope=\"col\">line</th><th scope=\"col\">issues</th><th scope=\"col\">SIMD %</th>\
         <th scope=\"col\">share of all lost</th><th scope=\"col\">text</th></tr></thead><tbody data-listing=\"{id}\">"
    );
    let mut last = 0;
    for line in shown {
        if line > last + 1 {
            let _ = writeln!(
                out,
                "<tr class=\"gap\"><td colspan=\"5\">{} lines not shown</td></tr>",
                line - last - 1
            );
        }
        last = line;
        let code = lines.get(line as usize - 1).copied().unwrap_or("");
        let cut: String = code.chars().take(LONGEST).collect();
        let more = if cut.len() < code.len() { " …" } else { "" };
        let _ = writeln!(
            out,
            "<tr id=\"{id}{line}\"><th scope=\"row\">{line}</th><td class=\"n\"></td><td class=\"n\"></td><td class=\"heat\"></td><td class=\"src\">{}{more}</td></tr>",
            text(&cut)
        );
    }
    out.push_str("</tbody></table></div></figure>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_folded_around_what_was_executed() {
        let executed = BTreeSet::from([3, 500, 505, 2_000]);
        let lines = shown(2_000, &executed);
        assert_eq!(lines.first(), Some(&1));
        assert!(lines.contains(&494) && lines.contains(&511) && !lines.contains(&512));
        assert_eq!(lines.last(), Some(&2_000));
        assert!(lines.windows(2).all(|w| w[0] < w[1]), "each once, in order");
        assert_eq!(shown(10, &BTreeSet::new()).len(), 10);
        assert!(shown(1 << 20, &(1..=1 << 20).collect()).len() <= MOST);
    }
}
