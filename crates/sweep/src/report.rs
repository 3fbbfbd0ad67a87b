//! The report of a sweep: one HTML file without scripts that loads nothing.

use std::fmt::Write as _;
use std::path::Path;

use crate::plot::{self, Summary};
use crate::store::{Manifest, StoreError};

/// Most messages that are listed.
const MESSAGES: usize = 60;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#222}\
h1{margin-bottom:0}svg{max-width:100%;height:auto;border:1px solid #ddd;margin:.5rem 0}table{border-collapse:collapse}\
th,td{padding:.2rem .6rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\
.scroll{overflow-x:auto}nav a{margin-right:1rem}";

/// Renders the report of a directory.
///
/// # Errors
/// Returns an error if the directory is not a sweep's or its rows cannot be read.
pub fn report(folder: &Path) -> Result<String, StoreError> {
    let manifest = Manifest::read(folder)?;
    let summary = Summary::read(folder)?;
    let plots = plot::of(&summary);
    let escape = plot::escape;
    let (all, ok) = summary.verdicts().totals();
    let mut out = String::new();
    let suite = escape(&manifest.suite);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{suite}</title><style>{STYLE}</style></head>\n\
         <body><h1>{suite}</h1><p>{all} runs of {} launches; {ok} end as under the reference. Shard {}/{}.</p>\n<nav>",
        summary.verdicts().launches.len(),
        manifest.shard.index,
        manifest.shard.count
    );
    for plot in &plots {
        let _ = write!(out, "<a href=\"#{0}\">{0}</a>", plot.name);
    }
    out.push_str("<a href=\"#means\">means</a><a href=\"#messages\">messages</a></nav>\n");
    means(&mut out, &summary);
    for plot in &plots {
        let _ = writeln!(
            out,
            "<section id=\"{}\"><h2>{}</h2><div class=\"scroll\">{}</div></section>",
            plot.name,
            escape(&plot.title),
            plot.svg
        );
    }
    messages(&mut out, &summary);
    out.push_str("<p>Columns and their units are in columns.json beside the rows; docs/sweeps.md says how means are made.</p></body></html>\n");
    Ok(out)
}

fn means(out: &mut String, summary: &Summary) {
    let widths = summary.widths();
    let relative = summary.relative();
    out.push_str("<section id=\"means\"><h2>Geometric means</h2><div class=\"scroll\"><table><thead><tr><th>mechanism</th>");
    for w in &widths {
        let _ = write!(
            out,
            "<th class=\"n\">useful %, W = {w}</th><th class=\"n\">issues / ipdom</th>"
        );
    }
    out.push_str("</tr></thead><tbody>\n");
    for (name, values) in summary.efficiency() {
        let _ = write!(out, "<tr><th>{}</th>", plot::escape(&name));
        for w in &widths {
            let useful = values.iter().find(|(width, _)| width == w).map(|(_, value)| *value);
            let factor = relative.iter().find(|(n, _)| *n == name).and_then(|(_, v)| v.get(w));
            let cell = |value: Option<f64>, digits: usize| {
                value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
            };
            let _ = write!(
                out,
                "<td class=\"n\">{}</td><td class=\"n\">{}</td>",
                cell(useful, 1),
                cell(factor.copied(), 3)
            );
        }
        out.push_str("</tr>\n");
    }
    let _ = writeln!(
        out,
        "</tbody></table></div><p>Over the {} launches that end under all of these mechanisms.</p></section>",
        summary.compared().len()
    );
}

fn messages(out: &mut String, summary: &Summary) {
    let all = summary.messages();
    out.push_str("<section id=\"messages\"><h2>What did not go as under the reference</h2>\n");
    if all.is_empty() {
        out.push_str("<p>Nothing.</p></section>\n");
        return;
    }
    out.push_str("<div class=\"scroll\"><table><thead><tr><th>verdict</th><th class=\"n\">runs</th><th>first launch</th><th>message</th></tr></thead><tbody>\n");
    for (verdict, message, count, first) in all.iter().take(MESSAGES) {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"n\">{count}</td><td>{}</td><td>{}</td></tr>",
            plot::escape(verdict),
            plot::escape(first),
            plot::escape(message)
        );
    }
    out.push_str("</tbody></table></div>");
    if all.len() > MESSAGES {
        let _ = write!(out, "<p>And {} more.</p>", all.len() - MESSAGES);
    }
    out.push_str("</section>\n");
}
