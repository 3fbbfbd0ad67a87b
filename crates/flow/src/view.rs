//! A function's flow graph to look at: as data, as text, and as Graphviz dot.
//!
//! For each block: where it stands, where it goes, its immediate dominator and post-dominator, the loops it is in, and the size
//! of its thread frontier. Output depends on the function alone.

use crate::dom::{Dominators, PostDominator, PostDominators};
use crate::frontier::{FrontierRule, Frontiers};
use crate::graph::{Cfg, GraphError, Node};
use crate::kernel::{block_lengths, graph_of};
use crate::loops::Loops;
use crate::order::BlockOrder;
use crate::structure::{Structure, Unstructured};
use ir::text::FunctionNames;
use ir::{BlockId, FuncId, Module};
use std::fmt::Write;

/// How control gets along an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EdgeKind {
    /// Into the block that follows.
    Fall,
    /// By a jump.
    Jump,
    /// By a jump that comes back to a loop's header.
    Back,
}

/// An edge of a [`GraphView`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeView {
    /// Index of the block it goes to.
    pub to: u32,
    /// How.
    pub kind: EdgeKind,
}

/// A block of a [`GraphView`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockView {
    /// Its label.
    pub name: String,
    /// Its instructions that are issued, the end included.
    pub length: u64,
    /// Its first place, counted from the start of the function.
    pub first: u64,
    /// Whether control can get there.
    pub reachable: bool,
    /// Whether lanes may leave the function here.
    pub exits: bool,
    /// Where it goes.
    pub edges: Vec<EdgeView>,
    /// Its immediate dominator.
    pub dominator: Option<u32>,
    /// Its immediate post-dominator: where lanes that part at its end meet again.
    pub post_dominator: PostDominator,
    /// How many loops it is in.
    pub loop_depth: u32,
    /// Whether it is a loop's header, and whether that loop is reducible.
    pub header: Option<bool>,
    /// How many blocks are in its thread frontier, by layout order.
    pub frontier: u32,
}

/// A function's flow graph with what the analyses say of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphView {
    /// The function's name.
    pub function: String,
    /// Whether it is a kernel.
    pub kernel: bool,
    /// Its blocks in layout order.
    pub blocks: Vec<BlockView>,
    /// How many loops there are.
    pub loops: u32,
    /// Whether every loop has one entry.
    pub reducible: bool,
    /// Why the graph is not structured, if it is not.
    pub unstructured: Option<Unstructured>,
}

impl GraphView {
    /// Analyses a function of a module.
    ///
    /// # Errors
    /// [`GraphError`] if the function has no well-formed graph; verified IR has.
    ///
    /// # Panics
    /// If the module has no such function.
    pub fn new(module: &Module, id: FuncId) -> Result<Self, GraphError> {
        let function = &module.functions[id.index()];
        let cfg = graph_of(function)?;
        let names = FunctionNames::new(module, id);
        let analyses = Analyses::new(&cfg);
        let mut first = 0;
        let mut blocks = Vec::with_capacity(cfg.len());
        for (node, length) in cfg.nodes().zip(block_lengths(function)) {
            let name = names.block(BlockId(node.get()));
            let falls = function.blocks[node.index()].term.falls();
            blocks.push(analyses.block(&cfg, node, name, first, length, falls));
            first += length;
        }
        Ok(Self {
            function: function.name.clone(),
            kernel: function.is_kernel(),
            blocks,
            loops: u32::try_from(analyses.loops.len()).unwrap_or(u32::MAX),
            reducible: analyses.loops.graph_is_reducible(),
            unstructured: Structure::new(&cfg).err(),
        })
    }

    fn name(&self, block: u32) -> &str {
        self.blocks.get(block as usize).map_or("?", |b| &b.name)
    }

    /// One line for each block, aligned.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = self.headline();
        let rows: Vec<[String; 6]> = self.blocks.iter().map(|b| self.row(b)).collect();
        let titles = ["block", "place", "length", "goes to", "rejoins at", "notes"];
        let mut widths = titles.map(str::len);
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count()).min(48);
            }
        }
        let mut line = |cells: [&str; 6]| {
            let mut text = String::new();
            for (i, (cell, width)) in cells.iter().zip(widths).enumerate() {
                let numeric = i == 1 || i == 2;
                let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
                let (before, after) = if numeric { (pad.as_str(), "") } else { ("", pad.as_str()) };
                let _ = write!(text, "{before}{cell}{after}  ");
            }
            let _ = writeln!(out, "{}", text.trim_end());
        };
        line(titles);
        for row in &rows {
            line(std::array::from_fn(|i| row[i].as_str()));
        }
        out
    }

    fn headline(&self) -> String {
        let kind = if self.kernel { "kernel" } else { "func" };
        let edges: usize = self.blocks.iter().map(|b| b.edges.len()).sum();
        let number = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let mut out = format!(
            "{kind} {}: {}, {}, {}",
            self.function,
            number(self.blocks.len(), "block"),
            number(edges, "edge"),
            number(self.loops as usize, "loop"),
        );
        if !self.reducible {
            out.push_str(" (irreducible)");
        }
        match &self.unstructured {
            None => out.push_str(", structured\n"),
            Some(Unstructured::Branch { at }) => {
                let _ = writeln!(out, ", unstructured at {}", self.name(at.get()));
            }
            Some(Unstructured::Endless { at }) => {
                let _ = writeln!(out, ", endless loop at {}", self.name(at.get()));
            }
        }
        out
    }

    fn row(&self, b: &BlockView) -> [String; 6] {
        let mark = |e: &EdgeView| match e.kind {
            EdgeKind::Fall => format!("{} (falls)", self.name(e.to)),
            EdgeKind::Jump => self.name(e.to).to_owned(),
            EdgeKind::Back => format!("{} (back)", self.name(e.to)),
        };
        let mut to: Vec<String> = b.edges.iter().take(LISTED).map(mark).collect();
        if b.edges.len() > LISTED {
            to.push(format!("{} more", b.edges.len() - LISTED));
        }
        if b.exits {
            to.push("exit".into());
        }
        [
            b.name.clone(),
            b.first.to_string(),
            b.length.to_string(),
            to.join(", "),
            self.rejoin(b),
            notes(b),
        ]
    }

    fn rejoin(&self, b: &BlockView) -> String {
        match b.post_dominator {
            PostDominator::Block(n) => self.name(n.get()).to_owned(),
            PostDominator::Exit => "exit".into(),
            PostDominator::None => "never".into(),
        }
    }

    /// A Graphviz graph: solid edges are control flow, dashed ones lead to immediate post-dominators.
    #[must_use]
    pub fn to_dot(&self) -> String {
        let mut out = format!("digraph {} {{\n", quoted(&self.function));
        out.push_str("  node [shape=box, fontname=\"monospace\"];\n");
        for (i, b) in self.blocks.iter().enumerate() {
            let label =
                format!("{}\nplaces {}..{}\n{}", b.name, b.first, b.first + b.length, notes(b));
            let style = if b.reachable { "" } else { ", style=dotted" };
            let _ = writeln!(out, "  n{i} [label={}{style}];", quoted(label.trim_end()));
        }
        let ends = self.blocks.iter().any(|b| b.exits || b.post_dominator == PostDominator::Exit);
        if ends {
            out.push_str("  exit [shape=doublecircle, label=\"\"];\n");
        }
        for (i, b) in self.blocks.iter().enumerate() {
            for e in &b.edges {
                let style = match e.kind {
                    EdgeKind::Fall => "",
                    EdgeKind::Jump => " [label=\"jump\"]",
                    EdgeKind::Back => " [label=\"back\", constraint=false]",
                };
                let _ = writeln!(out, "  n{i} -> n{}{style};", e.to);
            }
            if b.exits {
                let _ = writeln!(out, "  n{i} -> exit;");
            }
        }
        for (i, b) in self.blocks.iter().enumerate() {
            let to = match b.post_dominator {
                PostDominator::Block(n) => format!("n{}", n.get()),
                PostDominator::Exit => "exit".into(),
                PostDominator::None => continue,
            };
            let _ = writeln!(out, "  n{i} -> {to} [style=dashed, color=gray, constraint=false];");
        }
        out.push_str("}\n");
        out
    }
}

/// Successors that a line of text lists.
const LISTED: usize = 8;

fn notes(b: &BlockView) -> String {
    let mut notes = Vec::new();
    if !b.reachable {
        notes.push("unreachable".to_owned());
    }
    match b.header {
        Some(true) => notes.push("loop header".to_owned()),
        Some(false) => notes.push("header of an irreducible loop".to_owned()),
        None => {}
    }
    if b.loop_depth > 0 {
        notes.push(format!("depth {}", b.loop_depth));
    }
    if b.frontier > 0 {
        notes.push(format!("frontier {}", b.frontier));
    }
    notes.join(", ")
}

/// A string as dot reads it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

struct Analyses {
    dominators: Dominators,
    post: PostDominators,
    loops: Loops,
    frontier: Vec<u32>,
}

impl Analyses {
    fn new(cfg: &Cfg) -> Self {
        let frontiers = Frontiers::new(cfg, BlockOrder::layout(cfg), FrontierRule::Closed);
        Self {
            dominators: Dominators::new(cfg),
            post: PostDominators::new(cfg),
            loops: Loops::new(cfg),
            frontier: frontiers.sizes(),
        }
    }

    fn block(
        &self,
        cfg: &Cfg,
        node: Node,
        name: String,
        first: u64,
        length: u64,
        falls: bool,
    ) -> BlockView {
        let inner = self.loops.innermost(node).filter(|&l| self.loops.header(l) == node);
        let edge = |(i, &to): (usize, &Node)| {
            let kind = match () {
                () if falls && i == 0 => EdgeKind::Fall,
                () if self.loops.is_back_edge(node, to) => EdgeKind::Back,
                () => EdgeKind::Jump,
            };
            EdgeView { to: to.get(), kind }
        };
        BlockView {
            name,
            length,
            first,
            reachable: cfg.is_reachable(node),
            exits: cfg.is_exit(node),
            edges: cfg.successors(node).iter().enumerate().map(edge).collect(),
            dominator: self.dominators.immediate(node).map(Node::get),
            post_dominator: self.post.immediate(node),
            loop_depth: self.loops.depth_of(node),
            header: inner.map(|l| self.loops.is_reducible(l)),
            frontier: self.frontier[node.index()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::FileId;

    const LOOP: &str = "
        kernel @\"k \\\"q\\\"\"() {
          reg %p: pred
          reg %a: b32
        entry:
          nop
          @%p br done
        loop:
          nop
          nop
          @%p br loop
        after:
          fall
        done:
          ret
        }";

    fn view(text: &str) -> GraphView {
        let module = ir::text::parse(FileId(0), text).unwrap();
        GraphView::new(&module, FuncId(0)).unwrap()
    }

    #[test]
    fn text_lists_blocks_with_their_rejoin_points() {
        let expected = "\
kernel k \"q\": 4 blocks, 5 edges, 1 loop, structured
block  place  length  goes to                   rejoins at  notes
entry      0       2  loop (falls), done        done        
loop       2       3  after (falls), loop (back)  after       loop header, depth 1, frontier 2
after      5       0  done (falls)              done        frontier 1
done       5       1  exit                      exit        
";
        let strip = |s: &str| {
            s.lines()
                .map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect::<Vec<_>>()
        };
        assert_eq!(strip(&view(LOOP).to_text()), strip(expected));
    }

    #[test]
    fn dot_is_escaped() {
        let dot = view(LOOP).to_dot();
        assert!(dot.starts_with("digraph \"k \\\"q\\\"\" {\n"));
        assert!(dot.contains("  n1 -> n1 [label=\"back\", constraint=false];\n"));
        assert!(dot.contains("  n0 -> n3 [style=dashed, color=gray, constraint=false];\n"));
    }

    #[test]
    fn an_endless_loop_is_named() {
        let v = view("kernel @k() {\na:\n  nop\n  br a\nb:\n  ret\n}");
        assert_eq!(v.blocks[0].post_dominator, PostDominator::None);
        assert!(v.to_text().contains("endless loop at a"));
        assert!(v.to_text().contains("unreachable"));
    }
}
