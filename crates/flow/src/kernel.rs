//! Flow graphs of IR functions.
//!
//! Block `i` of the graph is block `i` of the function; successors are the fall-through first, then
//! jump targets in order, each once. A block that ends in a guarded `ret` or `exit` is an exit and
//! goes on as well. Calls are not edges: a call comes back. A block that stops the launch (a failed
//! assertion, a trap) is no exit: what compilers write behind it is not reached, and lanes that may
//! come to an assertion inside a branch still meet behind the branch.

use crate::graph::{Cfg, CfgBuilder, GraphError, Node};
use ir::{Block, BlockId, Function, Inst, Op, TermKind};
use std::ops::Range;

/// The flow graph of a function.
///
/// # Errors
/// [`GraphError`] if the function has no blocks, jumps to a block that does not exist, or falls out
/// of its last block; verified IR does none of these.
pub fn graph_of(function: &Function) -> Result<Cfg, GraphError> {
    build(function, |_| true, stops)
}

/// As [`graph_of`], where lanes that end under a guard just vanish: a guarded `exit`, and a
/// kernel's guarded `ret`, only go on.
pub(crate) fn graph_for_masks(function: &Function) -> Result<Cfg, GraphError> {
    let kernel = function.is_kernel();
    build(
        function,
        |end| match end {
            TermKind::Ret(guard) => guard.is_none() || !kernel,
            TermKind::Exit(guard) => guard.is_none(),
            _ => false,
        },
        |_| false,
    )
}

/// Whether no lane comes to the end of the block.
fn stops(block: &Block) -> bool {
    let stop = |inst: &Inst| inst.guard.is_none() && matches!(inst.op, Op::AssertFail | Op::Trap);
    block.insts.iter().any(stop)
}

fn build(
    function: &Function,
    exits: impl Fn(&TermKind) -> bool,
    stops: impl Fn(&Block) -> bool,
) -> Result<Cfg, GraphError> {
    let mut builder = CfgBuilder::new();
    for i in 0..function.blocks.len() {
        let id = BlockId(Node::at(i).get());
        if stops(&function.blocks[i]) {
            builder.stopping_block()?;
            continue;
        }
        let successors = function.successors(id);
        let end = &function.blocks[i].term.kind;
        let leaves = matches!(end, TermKind::Ret(_) | TermKind::Exit(_)) && exits(end);
        let list = successors.iter().map(|s| s.0);
        if leaves {
            builder.exiting_block(list)?
        } else {
            builder.block(list)?
        };
    }
    builder.build(0)
}

/// How many places each block takes: its instructions, and its end if that is issued.
pub fn block_lengths(function: &Function) -> impl Iterator<Item = u64> + '_ {
    function.blocks.iter().map(|b| b.insts.len() as u64 + u64::from(b.term.issues()))
}

/// The places of each block of a function whose first instruction is at `base`.
#[must_use]
pub fn block_places(function: &Function, base: u64) -> Vec<Range<u64>> {
    let mut at = base;
    let next = |n: u64| {
        let first = at;
        at += n;
        first..at
    };
    block_lengths(function).map(next).collect()
}

/// The block of a graph's node.
#[must_use]
pub fn block_of(node: Node) -> BlockId {
    BlockId(node.get())
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::FileId;

    #[test]
    fn edges_exits_and_places() {
        let text = "
            kernel @k() {
              reg %p: pred
            entry:
              nop
              @%p exit
            a:
              @%p br c
            b:
              nop
              fall
            c:
              ret
            }";
        let module = ir::text::parse(FileId(0), text).unwrap();
        let f = &module.functions[0];
        let g = graph_of(f).unwrap();
        let edges: Vec<(u32, u32)> = g.edges().map(|(a, b)| (a.get(), b.get())).collect();
        assert_eq!(edges, [(0, 1), (1, 2), (1, 3), (2, 3)]);
        assert_eq!(g.exits().map(Node::get).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(block_places(f, 10), [10..12, 12..13, 13..14, 14..15]);
    }

    #[test]
    fn lanes_meet_behind_a_branch_with_an_assertion_in_it() {
        let text = "
            kernel @k() {
              reg %p: pred
            entry:
              @%p br join
            a:
              @%p br stop
            b:
              fall
            join:
              ret
            stop:
              trap
              ret
            }";
        let module = ir::text::parse(FileId(0), text).unwrap();
        let g = graph_of(&module.functions[0]).unwrap();
        assert_eq!(g.exits().map(Node::get).collect::<Vec<_>>(), [3]);
        let post = crate::PostDominators::new(&g);
        assert_eq!(post.immediate(Node::new(0)).block(), Some(Node::new(3)));
        assert_eq!(post.immediate(Node::new(1)).block(), Some(Node::new(2)));
        assert!(!post.reaches_exit(Node::new(4)));
    }

    #[test]
    fn falling_out_of_the_end_is_an_error() {
        let mut f = Function::new(
            "f",
            ir::module::Signature::Device { params: Vec::new(), results: Vec::new() },
        );
        assert_eq!(graph_of(&f).unwrap_err(), GraphError::Empty);
        let term = ir::Term::new(TermKind::Fall);
        f.blocks.push(Block { name: "b".into(), insts: Vec::new(), term });
        assert!(matches!(graph_of(&f), Err(GraphError::Target { target: 1, .. })));
    }
}
