//! Control-flow graphs of functions.

use ::flow::{
    BlockOrder, Cfg, FrontierRule, Frontiers, Loops, Node, PostDominator as Immediate,
    PostDominators, Structure, Unstructured, kernel::graph_of,
};
use ir::module::TermKind;
use ir::{Block, BlockId, FuncId, Function, LocId, Module, Op, Operand};

use super::program::VmProgram;
use crate::graph::{ControlFlow, FlowBlock, PostDominator};

/// Returns the control-flow graph of a kernel or function.
pub(super) fn control_flow(program: &VmProgram, name: &str) -> Option<ControlFlow> {
    let module = program.module();
    let function = &module.functions[module.function(name)?.index()];
    let cfg = graph_of(function).ok()?;
    let tree = PostDominators::new(&cfg);
    let loops = Loops::new(&cfg);
    let frontiers = Frontiers::new(&cfg, BlockOrder::layout(&cfg), FrontierRule::Closed);
    let sizes = frontiers.sizes();
    let mut blocks = Vec::with_capacity(function.blocks.len());
    for (node, block) in cfg.nodes().zip(&function.blocks) {
        let instructions = instructions(program, block);
        blocks.push(FlowBlock {
            name: block_name(node),
            line: instructions.first().map(|(line, _)| *line),
            lines: instructions.iter().map(|(line, _)| *line).collect(),
            frontier: frontier(&cfg, &frontiers, node),
            instructions: instructions.into_iter().map(|(_, text)| text).collect(),
            successors: successors(function, BlockId(node.get())),
            post_dominator: match tree.immediate(node) {
                Immediate::Block(to) => PostDominator::Block(to.index()),
                Immediate::Exit => PostDominator::Exit,
                Immediate::None => PostDominator::None,
            },
            notes: notes(&cfg, &loops, node, sizes[node.index()]),
        });
    }
    Some(ControlFlow { kernel: name.to_owned(), notes: shape(&cfg, &loops), blocks })
}

/// Returns the functions that a kernel calls directly or indirectly, in breadth-first order.
/// Indirect calls are not followed.
pub(super) fn called(module: &Module, kernel: &str) -> Vec<String> {
    let mut seen: Vec<FuncId> = module.function(kernel).into_iter().collect();
    let mut next = 0;
    while let Some(&id) = seen.get(next) {
        next += 1;
        let function = &module.functions[id.index()];
        for inst in function.blocks.iter().flat_map(|b| &b.insts) {
            if let (Op::Call, Some(&Operand::Func(to))) = (inst.op, inst.operands.first())
                && !seen.contains(&to)
            {
                seen.push(to);
            }
        }
    }
    let called = seen.iter().skip(1).map(|id| &module.functions[id.index()]);
    called.filter(|f| !f.blocks.is_empty()).map(|f| f.name.clone()).collect()
}

/// Returns the first members of a block's thread frontier; empty for unreachable blocks.
fn frontier(cfg: &Cfg, frontiers: &Frontiers, node: Node) -> Vec<usize> {
    if !cfg.is_reachable(node) {
        return Vec::new();
    }
    frontiers.of(node).take(FlowBlock::FRONTIER).map(Node::index).collect()
}

fn block_name(node: Node) -> String {
    format!("B{}", node.index())
}

/// Describes the loops, and whether the graph consists of sequences, branches and loops only.
fn shape(cfg: &Cfg, loops: &Loops) -> Vec<String> {
    let mut notes = Vec::new();
    let deepest = loops.ids().map(|l| loops.depth(l)).max().unwrap_or(0);
    let entries = if loops.graph_is_reducible() { "" } else { ", some with several entries" };
    match loops.len() {
        0 => {}
        1 => notes.push(format!("one loop{entries}")),
        n => notes.push(format!("{n} loops, up to {deepest} deep{entries}")),
    }
    notes.push(match Structure::new(cfg) {
        Ok(_) => "structured: sequences, branches and loops with one way in and out".to_owned(),
        Err(Unstructured::Branch { at }) => {
            format!("not structured: see the ways on from {}", block_name(at))
        }
        Err(Unstructured::Endless { at }) => {
            format!("not structured: the loop at {} has no way out", block_name(at))
        }
    });
    notes
}

fn notes(cfg: &Cfg, loops: &Loops, node: Node, frontier: u32) -> Vec<String> {
    let mut notes = Vec::new();
    if !cfg.is_reachable(node) {
        notes.push("unreachable".to_owned());
    }
    if let Some(inner) = loops.innermost(node) {
        let header = block_name(loops.header(inner));
        let depth = loops.depth(inner);
        notes.push(match loops.header(inner) == node {
            true if loops.is_reducible(inner) => format!("loop header, depth {depth}"),
            true => format!("header of a loop with several entries, depth {depth}"),
            false => format!("in the loop of {header}, depth {depth}"),
        });
    }
    match frontier {
        0 => {}
        1 => notes.push("thread frontier: 1 block".to_owned()),
        n => notes.push(format!("thread frontier: {n} blocks")),
    }
    notes
}

/// Returns the lines of text from which a block's operations were lowered; consecutive operations
/// of one line yield it once.
fn instructions(program: &VmProgram, block: &Block) -> Vec<(u32, String)> {
    let mut out: Vec<(u32, String)> = Vec::new();
    let mut last = LocId(0);
    let insts = block.insts.iter().map(|i| i.loc);
    let term = block.term.issues().then_some(block.term.loc);
    for loc in insts.chain(term) {
        let Some(span) = program.span(loc) else { continue };
        if loc == last {
            continue;
        }
        last = loc;
        let text = program.text.text().get(span.range()).unwrap_or("");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        out.push((program.line(span), text));
    }
    out
}

fn successors(function: &Function, block: BlockId) -> Vec<(usize, String)> {
    let Some(b) = function.blocks.get(block.index()) else { return Vec::new() };
    let next = block.index() + 1;
    let (taken, falls) = match &b.term.kind {
        TermKind::CondBr(..) | TermKind::MaskBr(..) => ("taken", "not taken"),
        TermKind::Ret(Some(_)) | TermKind::Exit(Some(_)) => ("", "not taken"),
        _ => ("", ""),
    };
    let mut out = Vec::new();
    if b.term.falls() {
        out.push((next, falls.to_owned()));
    }
    for (case, target) in b.term.targets().iter().enumerate() {
        let why = match b.term.kind {
            TermKind::Switch(..) => format!("case {case}"),
            _ => taken.to_owned(),
        };
        out.push((target.index(), why));
    }
    out
}
