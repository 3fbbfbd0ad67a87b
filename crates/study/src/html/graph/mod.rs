//! A kernel's control-flow graph as a picture, with the immediate post-dominator and the thread
//! frontier of each block.

mod coordinates;
mod layers;

use std::fmt::Write as _;

use machines::{ControlFlow, FlowBlock, PostDominator};

use super::escape::text;
use coordinates::BOX;
use layers::Layered;

/// Most blocks of a graph that is drawn.
const DRAWN: usize = 240;
/// Most edges of a graph that is drawn; a picture of more is unreadable.
const EDGES: usize = 720;
/// Most blocks in the table.
const LISTED: usize = 600;
/// Height of a box, and of the space between layers.
const HEIGHT: f64 = 84.0;
const ROOM: f64 = 44.0;
/// Width of the track of a back-edge.
const LANE: f64 = 12.0;
const MARGIN: f64 = 14.0;
/// Most members of a frontier that a box names.
const NAMED: usize = 5;
/// Most characters of an instruction that a box shows.
const CODE: usize = 27;

/// Renders the graph of a kernel: a picture, then the same as a table.
pub(super) fn graph(index: usize, flow: &ControlFlow) -> String {
    let mut out = String::new();
    let kernel = text(&flow.kernel);
    let _ = write!(
        out,
        "<figure class=\"graph\" data-graph=\"{index}\"><figcaption><h3><code>{kernel}</code></h3><p>"
    );
    let _ = write!(out, "{} blocks", flow.blocks.len());
    for note in &flow.notes {
        let _ = write!(out, "; {}", text(note));
    }
    out.push_str(".</p></figcaption>\n");
    let (edges, labels) = if flow.blocks.len() <= DRAWN { edges(flow) } else { Default::default() };
    if flow.blocks.len() <= DRAWN && edges.len() <= EDGES {
        draw(&mut out, flow, &edges, &labels);
    } else {
        let _ = writeln!(
            out,
            "<p class=\"note\">Too large to draw: graphs of up to {DRAWN} blocks and {EDGES} edges are drawn.</p>"
        );
    }
    list(&mut out, flow);
    out.push_str("</figure>\n");
    out
}

fn name(flow: &ControlFlow, at: usize) -> &str {
    flow.blocks.get(at).map_or("?", |b| &b.name)
}

fn post_dominator(flow: &ControlFlow, block: &FlowBlock) -> String {
    match block.post_dominator {
        PostDominator::Block(at) => name(flow, at).to_owned(),
        PostDominator::Exit => "the end".to_owned(),
        PostDominator::None => "nowhere".to_owned(),
    }
}

fn frontier(flow: &ControlFlow, block: &FlowBlock, most: usize) -> String {
    let names: Vec<&str> = block.frontier.iter().take(most).map(|&at| name(flow, at)).collect();
    match block.frontier.len() {
        0 => "none".to_owned(),
        n if n > most => format!("{} +{}", names.join(" "), n - most),
        _ => names.join(" "),
    }
}

fn lines(block: &FlowBlock) -> String {
    match (block.lines.iter().min(), block.lines.iter().max()) {
        (Some(a), Some(b)) if a == b => format!("line {a}"),
        (Some(a), Some(b)) => format!("lines {a}–{b}"),
        _ => String::new(),
    }
}

fn edges(flow: &ControlFlow) -> (Vec<(usize, usize)>, Vec<String>) {
    let mut edges: Vec<(usize, usize)> = Vec::new();
    let mut labels: Vec<Vec<&str>> = Vec::new();
    for (from, block) in flow.blocks.iter().enumerate() {
        let own = edges.len();
        for (to, why) in block.successors.iter().filter(|s| s.0 < flow.blocks.len()) {
            // Cases of a switch with the same target are one edge.
            match edges[own..].iter().position(|e| e.1 == *to) {
                Some(at) => labels[own + at].push(why),
                None => {
                    edges.push((from, *to));
                    labels.push(vec![why]);
                }
            }
        }
    }
    let label = |list: Vec<&str>| match list.as_slice() {
        [a] => short(a),
        [a, ..] => format!("{} +{}", short(a), list.len() - 1),
        [] => String::new(),
    };
    (edges, labels.into_iter().map(label).collect())
}

/// Abbreviates the sides of a branch to `T` and `F`.
fn short(why: &str) -> String {
    match why {
        "taken" => "T".to_owned(),
        "not taken" => "F".to_owned(),
        other => other.to_owned(),
    }
}

fn draw(out: &mut String, flow: &ControlFlow, edges: &[(usize, usize)], labels: &[String]) {
    let blocks = flow.blocks.len();
    let layered = Layered::new(blocks, edges);
    let (x, inner) = coordinates::middles(&layered, blocks);
    let x: Vec<f64> = x.into_iter().map(|x| x + MARGIN).collect();
    let top = |slot: usize| MARGIN + layered.layer_of[slot] as f64 * (HEIGHT + ROOM) + ROOM / 2.0;
    let right = MARGIN + inner + LANE;
    let width = right + LANE * layered.back.len() as f64 + MARGIN;
    let height = 2.0 * MARGIN + layered.layers.len() as f64 * (HEIGHT + ROOM);
    let kernel = text(&flow.kernel);
    let _ = writeln!(
        out,
        "<div class=\"scroll tall\" role=\"region\" aria-label=\"Control-flow graph of {kernel}\" tabindex=\"0\">\
         <svg class=\"cfg\" role=\"group\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\">"
    );
    for (chain, &edge) in layered.chains.iter().zip(&layered.chain_edge) {
        let mut path = String::new();
        for (index, pair) in chain.windows(2).enumerate() {
            let (x0, x1) = (x[pair[0]], x[pair[1]]);
            // The edges of a branch are apart where they leave the box.
            let side = |label: &str| match label {
                "T" => 16.0,
                "F" => -16.0,
                _ => 0.0,
            };
            let from = if index == 0 { x0 + side(&labels[edge]) } else { x0 };
            let (y0, y1) = (top(pair[0]) + HEIGHT, top(pair[1]));
            let middle = f64::midpoint(y0, y1);
            if index == 0 {
                let _ = write!(path, "M{from:.1} {y0:.1}");
            }
            let _ = write!(path, "C{from:.1} {middle:.1} {x1:.1} {middle:.1} {x1:.1} {y1:.1}");
            if pair[1] >= blocks {
                let _ = write!(path, "V{:.1}", y1 + HEIGHT);
            }
        }
        arrow(out, &path, edges[edge], "edge");
        let at = (x[chain[0]], top(chain[0]) + HEIGHT + 12.0);
        label(out, &labels[edge], at);
    }
    for (lane, &edge) in layered.back.iter().enumerate() {
        let (from, to) = edges[edge];
        let (y0, y1) = (top(from) + HEIGHT, top(to));
        let way = right + LANE * lane as f64;
        let (x0, x1) = (x[from] + 34.0, x[to] + 34.0);
        let path = format!(
            "M{x0:.1} {y0:.1}V{:.1}Q{x0:.1} {:.1} {:.1} {:.1}H{:.1}Q{way:.1} {:.1} {way:.1} {:.1}V{:.1}Q{way:.1} {:.1} {:.1} {:.1}H{:.1}Q{x1:.1} {:.1} {x1:.1} {:.1}V{y1:.1}",
            y0 + 4.0,
            y0 + 10.0,
            x0 + 6.0,
            y0 + 10.0,
            way - 6.0,
            y0 + 10.0,
            y0 + 4.0,
            y1 - 4.0,
            y1 - 10.0,
            way - 6.0,
            y1 - 10.0,
            x1 + 6.0,
            y1 - 10.0,
            y1 - 4.0
        );
        arrow(out, &path, edges[edge], "edge back");
        label(out, &labels[edge], (x0 + 8.0, y0 + 7.0));
    }
    for (at, block) in flow.blocks.iter().enumerate() {
        node(out, flow, at, block, (x[at] - BOX / 2.0, top(at)));
    }
    out.push_str("</svg></div>\n");
}

fn arrow(out: &mut String, path: &str, (from, to): (usize, usize), class: &str) {
    let _ = writeln!(
        out,
        "<path class=\"{class}\" d=\"{path}\" data-from=\"{from}\" data-to=\"{to}\" marker-end=\"url(#arrow)\"/>"
    );
}

fn label(out: &mut String, label: &str, (x, y): (f64, f64)) {
    let shift = match label {
        "" => return,
        "T" => 20.0,
        "F" => -28.0,
        _ => 4.0,
    };
    let _ = writeln!(
        out,
        "<text class=\"why\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
        x + shift,
        text(label)
    );
}

fn node(out: &mut String, flow: &ControlFlow, at: usize, block: &FlowBlock, (x, y): (f64, f64)) {
    let last = block.instructions.last().map_or("", String::as_str);
    let code: String = last.chars().take(CODE).collect();
    let more = if code.len() < last.len() { "…" } else { "" };
    let where_to = post_dominator(flow, block);
    let waits = frontier(flow, block, NAMED);
    let name = text(&block.name);
    let said = format!(
        "{}, {}, paths meet again at {where_to}, thread frontier {}",
        block.name,
        lines(block),
        frontier(flow, block, usize::MAX)
    );
    let _ = writeln!(
        out,
        "<g class=\"block\" data-block=\"{at}\" tabindex=\"0\" role=\"img\" aria-label=\"{}\" transform=\"translate({x:.1} {y:.1})\">\
         <title>{}</title><rect class=\"box\" width=\"{BOX}\" height=\"{HEIGHT}\" rx=\"6\"/><rect class=\"loss\" x=\"1\" y=\"{}\" width=\"0\" height=\"6\"/>\
         <text class=\"name\" x=\"9\" y=\"18\">{name}</text><text class=\"lines\" x=\"{}\" y=\"18\" text-anchor=\"end\">{}</text>\
         <text class=\"code\" x=\"9\" y=\"35\">{}{more}</text><text class=\"meets\" x=\"9\" y=\"52\">meet at {where_to}</text>\
         <text class=\"share\" x=\"{}\" y=\"52\" text-anchor=\"end\"></text><text class=\"tf\" x=\"9\" y=\"68\">frontier: {waits}</text></g>",
        text(&said),
        text(&said),
        HEIGHT - 9.0,
        BOX - 9.0,
        text(&lines(block)),
        text(&code),
        BOX - 9.0,
    );
}

fn list(out: &mut String, flow: &ControlFlow) {
    out.push_str(
        "<details><summary>The graph as a table</summary><div class=\"scroll\" role=\"region\" aria-label=\"Blocks\" tabindex=\"0\">\
         <table class=\"blocks\"><thead><tr><th scope=\"col\">block</th><th scope=\"col\">lines</th><th scope=\"col\">ways on</th>\
         <th scope=\"col\">paths meet at</th><th scope=\"col\">thread frontier</th><th scope=\"col\">notes</th></tr></thead><tbody>\n",
    );
    for block in flow.blocks.iter().take(LISTED) {
        let ways: Vec<String> = block
            .successors
            .iter()
            .take(NAMED + 1)
            .map(|(to, why)| match why.as_str() {
                "" => name(flow, *to).to_owned(),
                why => format!("{} ({why})", name(flow, *to)),
            })
            .collect();
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            text(&block.name),
            text(&lines(block)),
            text(&ways.join(", ")),
            text(&post_dominator(flow, block)),
            text(&frontier(flow, block, 4 * NAMED)),
            text(&block.notes.join("; "))
        );
    }
    out.push_str("</tbody></table></div>");
    if flow.blocks.len() > LISTED {
        let _ = write!(
            out,
            "<p class=\"note\">The first {LISTED} of {} blocks.</p>",
            flow.blocks.len()
        );
    }
    out.push_str("</details>\n");
}
