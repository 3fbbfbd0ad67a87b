//! Control-flow graphs as text and for Graphviz.

use std::fmt::Write as _;

use machines::{ControlFlow, FlowBlock, PostDominator};

/// Most instructions of a block in a Graphviz node.
const SHOWN: usize = 12;

fn rejoin(flow: &ControlFlow, block: &FlowBlock) -> String {
    match block.post_dominator {
        PostDominator::Block(index) => {
            flow.blocks.get(index).map_or("?".to_owned(), |b| b.name.clone())
        }
        PostDominator::Exit => "exit".to_owned(),
        PostDominator::None => "none (no way leads to the end)".to_owned(),
    }
}

/// Renders the graph as text, one paragraph a block.
#[must_use]
pub fn flow_text(flow: &ControlFlow) -> String {
    let mut out = String::new();
    let branches = flow.blocks.iter().filter(|b| b.successors.len() > 1).count();
    let _ = writeln!(
        out,
        "{}: {} blocks, {branches} of them end in a branch",
        flow.kernel,
        flow.blocks.len()
    );
    for note in &flow.notes {
        let _ = writeln!(out, "{note}");
    }
    for block in &flow.blocks {
        let line = block.line.map_or(String::new(), |line| format!(", line {line}"));
        let _ = writeln!(out, "\n{} ({} instructions{line})", block.name, block.instructions.len());
        for instruction in &block.instructions {
            let _ = writeln!(out, "    {instruction}");
        }
        for (next, why) in &block.successors {
            let name = flow.blocks.get(*next).map_or("?", |b| b.name.as_str());
            let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
            let _ = writeln!(out, "  -> {name}{why}");
        }
        let _ = writeln!(out, "  immediate post-dominator: {}", rejoin(flow, block));
        for note in &block.notes {
            let _ = writeln!(out, "  {note}");
        }
    }
    out
}

/// Renders the graph for Graphviz. Solid edges are control flow; dashed edges lead from branches to
/// their immediate post-dominators.
#[must_use]
pub fn flow_dot(flow: &ControlFlow) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "digraph {} {{", quoted(&flow.kernel));
    let _ = writeln!(out, "  node [shape=box, fontname=monospace];");
    for (index, block) in flow.blocks.iter().enumerate() {
        // Graphviz ends left-aligned lines with `\l`.
        let mut label = format!("{}:\\l", escaped(&block.name));
        for instruction in block.instructions.iter().take(SHOWN) {
            let _ = write!(label, "  {}\\l", escaped(instruction));
        }
        if block.instructions.len() > SHOWN {
            let _ = write!(label, "  ... {} more\\l", block.instructions.len() - SHOWN);
        }
        let _ = writeln!(out, "  b{index} [label=\"{label}\"];");
    }
    for (index, block) in flow.blocks.iter().enumerate() {
        for (next, why) in &block.successors {
            let label =
                if why.is_empty() { String::new() } else { format!(" [label={}]", quoted(why)) };
            let _ = writeln!(out, "  b{index} -> b{next}{label};");
        }
        if let PostDominator::Block(to) = block.post_dominator
            && block.successors.len() > 1
        {
            let _ =
                writeln!(out, "  b{index} -> b{to} [style=dashed, color=gray, constraint=false];");
        }
    }
    out.push_str("}\n");
    out
}

/// Quotes a string for Graphviz.
fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// Escapes a string for a place between Graphviz's quotes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diamond() -> ControlFlow {
        let block =
            |name: &str, text: &str, successors: Vec<(usize, &str)>, post_dominator| FlowBlock {
                name: name.into(),
                instructions: vec![text.into()],
                successors: successors.into_iter().map(|(b, w)| (b, w.to_owned())).collect(),
                post_dominator,
                line: None,
                ..FlowBlock::default()
            };
        ControlFlow {
            kernel: "k".into(),
            notes: vec!["structured".into()],
            blocks: vec![
                block(
                    "entry",
                    "@%p1 bra \"X\"",
                    vec![(2, "if %p1"), (1, "else")],
                    PostDominator::Block(2),
                ),
                block("a", "nop", vec![(2, "")], PostDominator::Block(2)),
                block("x", "ret", vec![], PostDominator::Exit),
            ],
        }
    }

    #[test]
    fn text_names_successors_and_post_dominators() {
        assert_eq!(
            flow_text(&diamond()),
            "\
k: 3 blocks, 1 of them end in a branch
structured

entry (1 instructions)
    @%p1 bra \"X\"
  -> x (if %p1)
  -> a (else)
  immediate post-dominator: x

a (1 instructions)
    nop
  -> x
  immediate post-dominator: x

x (1 instructions)
    ret
  immediate post-dominator: exit
"
        );
    }

    #[test]
    fn dot_is_quoted() {
        let text = flow_dot(&diamond());
        assert!(text.contains(r#"b0 [label="entry:\l  @%p1 bra \"X\"\l"];"#), "{text}");
        assert!(text.contains("b0 -> b2 [style=dashed"), "{text}");
        assert!(text.ends_with("}\n"));
    }
}
