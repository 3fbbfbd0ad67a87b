//! Control-flow graphs of functions.

use ::flow::{CfgBuilder, PostDominator as Immediate, PostDominators};
use ir::module::TermKind;
use ir::{Block, BlockId, Function, LocId};

use super::VmProgram;
use crate::machine::{ControlFlow, FlowBlock, PostDominator};

/// The graph of a kernel or function.
pub(super) fn control_flow(program: &VmProgram, name: &str) -> Option<ControlFlow> {
    let module = program.module();
    let function = &module.functions[module.function(name)?.index()];
    let rejoin = post_dominators(function)?;
    let mut blocks = Vec::with_capacity(function.blocks.len());
    for (index, block) in function.blocks.iter().enumerate() {
        let instructions = instructions(program, block);
        blocks.push(FlowBlock {
            name: format!("B{index}"),
            line: instructions.first().map(|(line, _)| *line),
            instructions: instructions.into_iter().map(|(_, text)| text).collect(),
            successors: successors(function, BlockId(index as u32)),
            post_dominator: rejoin[index],
        });
    }
    Some(ControlFlow { kernel: name.to_owned(), blocks })
}

fn post_dominators(function: &Function) -> Option<Vec<PostDominator>> {
    let mut builder = CfgBuilder::new();
    for (i, block) in function.blocks.iter().enumerate() {
        let successors = function.successors(BlockId(i as u32));
        let successors = successors.iter().map(|b| b.0);
        let added = match block.term.kind {
            TermKind::Ret(Some(_)) | TermKind::Exit(Some(_)) => builder.exiting_block(successors),
            _ => builder.block(successors),
        };
        added.ok()?;
    }
    let cfg = builder.build(0).ok()?;
    let tree = PostDominators::new(&cfg);
    let immediate = cfg.nodes().map(|node| match tree.immediate(node) {
        Immediate::Block(to) => PostDominator::Block(to.index()),
        Immediate::Exit => PostDominator::Exit,
        Immediate::None => PostDominator::None,
    });
    Some(immediate.collect())
}

/// Lines of the text that a block's operations came from, each once in a row: what the programmer wrote, not what it became.
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
