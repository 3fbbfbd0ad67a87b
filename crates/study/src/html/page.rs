//! Assembly of the page.

use std::fmt::Write as _;

use machines::ControlFlow;
use serde_json::Value;

use super::bars::{PATTERNS, bars, legend};
use super::escape::{json, text};
use super::frame::{begin, section};
use super::graph::graph;
use super::listing::listings;
use super::page_data::PageData;
use super::remarks::remarks;
use super::table::table;
use super::views::views;
use crate::divergence::{Comparison, Verdict, to_json};
use crate::source_texts::last_component;

const SCRIPT: &str = include_str!("report.js");

/// The content security policy: the page loads nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Arrowheads of the graphs.
const ARROW: &str = "<svg width=\"0\" height=\"0\" class=\"defs\" aria-hidden=\"true\" focusable=\"false\"><defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" class=\"ink\"/></marker></defs></svg>\n";

const LANES: &str = r##"<div class="pick"><label>run <select id="pick-row"></select></label> <label>warp <select id="pick-warp"></select></label></div>
<div id="stepper">
<div class="controls" role="group" aria-label="Step through the issues of the warp">
<button type="button" id="step-first" title="first issue (Home)">|◀<span class="sr">first issue</span></button>
<button type="button" id="step-before" title="previous change of lanes (Page Up)">◀◀<span class="sr">previous change of lanes</span></button>
<button type="button" id="step-prev" title="one issue back (←)">◀<span class="sr">one issue back</span></button>
<output id="step-number" aria-live="polite"></output>
<button type="button" id="step-next" title="one issue on (→)">▶<span class="sr">one issue on</span></button>
<button type="button" id="step-after" title="next change of lanes (Page Down)">▶▶<span class="sr">next change of lanes</span></button>
<button type="button" id="step-last" title="last issue kept (End)">▶|<span class="sr">last issue kept</span></button>
</div>
<input type="range" id="step-slider" min="1" value="1" aria-label="Issue of the warp">
<div id="lane-picture" class="scroll" role="img" tabindex="0" aria-describedby="step-text"></div>
<div id="step-text" aria-live="polite"><p id="step-code"></p><dl id="step-lanes"></dl></div>
</div>
<p class="note" id="lane-note"></p>
<p class="keys">Keys: ← → one issue, Page Up and Page Down to where the lanes change, Home and End.</p>
"##;

const OCCUPANCY: &str = r##"<p>A row for each warp in the order in which they began, a column for each stretch of its issues, over all of the run: the darker, the more of the lanes execute. Rows end with their warp.</p>
<figure class="scroll"><canvas id="occupancy-map" role="img" aria-label="Lanes over the whole run"></canvas></figure>
<p class="note" id="occupancy-note"></p>
"##;

const BRANCHES: &str = r##"<p>Lane slots that are lost because a lane is on another path, charged to the branch that sent it there.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Branches"><table class="branches"><caption>Branches by the lane slots lost because of them</caption><thead><tr>
<th scope="col" class="n">line</th><th scope="col" class="n">issues</th><th scope="col" class="n">diverged</th><th scope="col" class="n">lanes jumping</th><th scope="col" class="n">going on</th><th scope="col">rejoined at line</th><th scope="col" class="n">never</th><th scope="col">slots lost</th><th scope="col" class="n">predicated saves</th><th scope="col">branch</th>
</tr></thead><tbody id="branch-rows"></tbody></table></div>
<p class="note" id="branch-note"></p>
"##;

/// Renders a comparison as a page.
#[must_use]
pub fn to_html(comparison: &Comparison, page_data: &PageData) -> String {
    let kernels = comparison.title();
    let title = text(&format!("{kernels}: convergence mechanisms compared"));
    let mut out = String::new();
    begin(&mut out, POLICY, &title);
    let _ = write!(out, "{PATTERNS}{ARROW}");
    header(&mut out, comparison, page_data, &kernels);
    out.push_str("<main>\n");
    section(&mut out, "summary", "Mechanisms", &table(comparison));
    section(&mut out, "findings", "What there is to say", &remarks(comparison));
    section(&mut out, "lost", "Where the lane slots went", &bars(comparison));
    let recorded = comparison.rows.iter().any(|r| r.views.is_some());
    if recorded {
        section(&mut out, "lanes", "Lanes over time", &format!("{}{LANES}", legend()));
    } else {
        let none = "<p>This machine tells no events of single issues, so there are no lanes to step through and no lines to blame.</p>\n";
        section(&mut out, "lanes", "Lanes over time", none);
    }
    if recorded {
        section(&mut out, "occupancy", "Lanes over the whole run", OCCUPANCY);
        section(&mut out, "branches", "Branches", BRANCHES);
    }
    section(&mut out, "source", "Where lanes are lost", &listings(comparison, page_data));
    if !page_data.graphs.is_empty() {
        let folded = |(i, flow): (usize, &ControlFlow)| fold(i, &flow.kernel, &graph(i, flow));
        let graphs: String = page_data.graphs.iter().enumerate().map(folded).collect();
        section(
            &mut out,
            "graph",
            "Control flow and thread frontiers",
            &format!("{GRAPH_HELP}{graphs}"),
        );
    }
    section(&mut out, "about", "How to read this", ABOUT);
    out.push_str("</main>\n");
    data(&mut out, "comparison", &to_json(comparison));
    data(&mut out, "views", &views(comparison, page_data));
    let _ = write!(out, "<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    out
}

const GRAPH_HELP: &str = "<p>Each block with its lines, its last instruction, the block where all ways on from it meet again, and its thread frontier: \
the blocks in which other lanes of the warp may be waiting while it runs. T is the taken side of a branch, F the other. Choose a block (click, or Tab and Enter) to mark its frontier and its meeting point.</p>\n";

const ABOUT: &str = "<p>The reference is fair serial execution: every thread runs its own program and gets its turn. A mechanism has to leave the same memory, \
unless the kernel races or executes instructions that show the schedule. A <em>lane slot</em> is one lane of one issue; each has exactly one cause, so the bars always add up; \
they are drawn to one scale, scalar issues as whole issues. \
Under <em>masked</em> mechanisms lanes that a mask turns off are <em>predicated off</em>, not on another path.</p>\n\
<p>The figures are those of <code>simtlab compare --json</code>, which this file holds whole in the element <code>comparison</code>.</p>\n";

fn header(out: &mut String, comparison: &Comparison, page_data: &PageData, kernels: &str) {
    let order =
        comparison.order.as_deref().map_or(String::new(), |o| format!(" · order {}", text(o)));
    let _ = write!(
        out,
        "<header>\n<p class=\"brand\">simtlab compare</p>\n<h1>{}</h1>\n<p class=\"sub\"><code>{}</code> · machine {} · seed {}{order}</p>\n<p class=\"verdicts\">",
        text(kernels),
        text(last_component(&comparison.module)),
        text(&comparison.machine),
        comparison.seed
    );
    for verdict in Verdict::ALL {
        let n = comparison.rows.iter().filter(|r| r.verdict == verdict).count();
        if n > 0 {
            let name = verdict.name();
            let _ = write!(out, "<span class=\"badge v-{name}\">{n} {name}</span> ");
        }
    }
    let graph = if page_data.graphs.is_empty() { "" } else { " <a href=\"#graph\">graph</a>" };
    let _ = write!(
        out,
        "</p>\n<nav aria-label=\"Parts of the report\"><a href=\"#summary\">mechanisms</a> <a href=\"#findings\">findings</a> <a href=\"#lost\">lane slots</a> \
         <a href=\"#lanes\">lanes</a> <a href=\"#branches\">branches</a> <a href=\"#source\">source</a>{graph}</nav>\n\
         <noscript><p class=\"note\">Without scripts the tables, bars, listings and graphs are here, but not the lanes over time.</p></noscript>\n</header>\n",
    );
}

/// Most graphs that are open when the page opens.
const OPEN_GRAPHS: usize = 4;

/// Puts a graph behind the name of its kernel; the first few are open.
fn fold(index: usize, kernel: &str, graph: &str) -> String {
    let open = if index < OPEN_GRAPHS { " open" } else { "" };
    let kernel = text(kernel);
    format!(
        "<details class=\"fold\"{open}><summary><code>{kernel}</code></summary>\n{graph}</details>\n"
    )
}

fn data(out: &mut String, id: &str, value: &Value) {
    let _ = writeln!(out, "<script type=\"application/json\" id=\"{id}\">{}</script>", json(value));
}
