//! Any graph under EXEC: for each block, the lanes that wait to enter it.
//!
//! Blocks stand in the order of [`BlockOrder::structured`], in which only edges to loop headers go
//! back, and loops stand together. Each block takes the lanes that wait for it, runs, and adds them
//! to the masks of its successors. Behind a loop's last block stands a jump back to its header,
//! taken while lanes wait there; inner loops come first. Every lane is in EXEC or in one mask, so
//! that each block is run by all lanes that can be brought together in this order: thread frontiers
//! without hardware.

use super::emit::{Emitter, Label};
use crate::graph::{Cfg, Node};
use crate::loops::{LoopId, Loops};
use crate::order::BlockOrder;
use ir::module::MaskTest;
use ir::{BlockId, Function, Guard, Op, Operand, Origin, Reg, Term, TermKind, Ty, WarpReg};

struct Pending<'a> {
    source: &'a Function,
    cfg: &'a Cfg,
    out: Emitter,
    /// The mask of lanes that wait for each block; none for those entered only from the block
    /// before.
    waits: Vec<Option<WarpReg>>,
    labels: Vec<Label>,
    /// Where to go on if nobody waits for the block in hand, and those that it flows into.
    after: Option<Label>,
    /// EXEC at the start of the function.
    all: WarpReg,
    /// Lanes that jump, lanes that do not.
    jump: WarpReg,
    stay: WarpReg,
}

/// Rewrites a function with a mask for each block.
pub(super) fn pending(source: &Function, cfg: &Cfg) -> Function {
    let loops = Loops::new(cfg);
    let order = BlockOrder::structured(cfg, &loops);
    let reachable: Vec<Node> =
        order.blocks().iter().copied().filter(|&n| cfg.is_reachable(n)).collect();
    let mut out = Emitter::new(source, Origin::Mask);
    let all = out.mask_reg("all");
    let (jump, stay) = (out.mask_reg("jump"), out.mask_reg("stay"));
    let mut this = Pending {
        source,
        cfg,
        waits: vec![None; cfg.len()],
        labels: cfg.nodes().map(|_| out.label()).collect(),
        after: None,
        out,
        all,
        jump,
        stay,
    };
    this.enter(&reachable);
    for (i, &node) in reachable.iter().enumerate() {
        let next = reachable.get(i + 1).copied();
        this.block(node, next.is_some_and(|n| this.waits[n.index()].is_none()));
        this.loop_ends(&loops, node, next);
    }
    this.out.start("end");
    this.out.insert(Op::ExecWrite, None, None, &[Operand::warp(all)]);
    this.out.ret();
    this.out.finish()
}

impl Pending<'_> {
    /// Masks for all blocks but those that only the block in front of them leads to, in every lane;
    /// nobody waits at first.
    fn enter(&mut self, order: &[Node]) {
        self.out.start("start");
        self.out.insert(Op::ExecRead, None, Some(Reg::Warp(self.all)), &[]);
        for (i, &node) in order.iter().enumerate() {
            let before = i.checked_sub(1).map(|i| order[i]);
            let preds = self.cfg.predecessors(node);
            let flows_in = match before {
                Some(b) => {
                    preds == [b] && self.cfg.successors(b).len() == 1 && !self.cfg.is_exit(b)
                }
                None => preds.is_empty(),
            };
            if flows_in {
                continue;
            }
            let name = format!("wait.{}", self.source.blocks[node.index()].name);
            let mask = self.out.mask_reg(&name);
            self.waits[node.index()] = Some(mask);
            let first = if before.is_none() { Operand::warp(self.all) } else { Operand::Imm(0) };
            self.out.insert(Op::Mov, Some(Ty::Mask), Some(Reg::Warp(mask)), &[first]);
        }
    }

    /// A block; `flows_on` says that the next one is entered from it alone, with EXEC as it is.
    fn block(&mut self, node: Node, flows_on: bool) {
        let block = &self.source.blocks[node.index()];
        self.out.loc = block.term.loc;
        self.out.start(&block.name);
        if let Some(mask) = self.waits[node.index()] {
            self.out.place(self.labels[node.index()], &block.name);
            let after = self.out.label();
            self.out.branch_if(MaskTest::None, Some(mask), after);
            self.after = Some(after);
            self.out.insert(Op::ExecWrite, None, None, &[Operand::warp(mask)]);
            self.out.insert(Op::Mov, Some(Ty::Mask), Some(Reg::Warp(mask)), &[Operand::Imm(0)]);
        }
        block.insts.iter().for_each(|inst| self.out.copy(inst));
        self.end(node, &block.term);
        if let Some(after) = self.after.take_if(|_| !flows_on) {
            self.out.place(after, "next");
        }
    }

    fn end(&mut self, node: Node, term: &Term) {
        let kernel = self.source.is_kernel();
        let fall = Node::new(node.get().saturating_add(1));
        match term.kind {
            TermKind::Fall => self.go(node, fall),
            TermKind::Br(to) => self.go(node, target(to)),
            TermKind::CondBr(guard, to) if target(to) != fall => {
                self.part(guard);
                self.add(target(to), self.jump);
                self.add(fall, self.stay);
            }
            TermKind::CondBr(..) => self.go(node, fall),
            TermKind::Exit(None) => self.out.exit_lanes_on(term),
            TermKind::Ret(None) if kernel => self.out.exit_lanes_on(term),
            TermKind::Exit(Some(_)) => {
                self.out.end(term.clone());
                self.go(node, fall);
            }
            TermKind::Ret(Some(_)) if kernel => {
                self.out.end(term.clone());
                self.go(node, fall);
            }
            // Lanes that return from a called function are off until its end.
            TermKind::Ret(None) => {}
            TermKind::Ret(Some(guard)) => {
                self.part(guard);
                self.add(fall, self.stay);
            }
            // Written out, and refused, before.
            TermKind::Switch(..) | TermKind::MaskBr(..) => {}
        }
    }

    /// Parts the lanes that are on by a guard, into `jump` and `stay`.
    fn part(&mut self, guard: Guard) {
        let (holds, not) =
            if guard.negated { (self.stay, self.jump) } else { (self.jump, self.stay) };
        let mask = Some(Ty::Mask);
        self.out.insert(Op::MaskOf, None, Some(Reg::Warp(holds)), &[Operand::lane(guard.pred)]);
        self.out.insert(Op::ExecRead, None, Some(Reg::Warp(not)), &[]);
        let operands = [Operand::warp(not), Operand::warp(holds)];
        self.out.insert(Op::AndNot, mask, Some(Reg::Warp(not)), &operands);
    }

    /// All lanes that are on go to a block.
    fn go(&mut self, from: Node, to: Node) {
        debug_assert!(self.cfg.successors(from).contains(&to));
        if self.waits[to.index()].is_some() {
            self.out.insert(Op::ExecRead, None, Some(Reg::Warp(self.stay)), &[]);
            self.add(to, self.stay);
        }
    }

    /// Lanes of a mask wait for a block.
    fn add(&mut self, to: Node, lanes: WarpReg) {
        if let Some(mask) = self.waits[to.index()] {
            let operands = [Operand::warp(mask), Operand::warp(lanes)];
            self.out.insert(Op::Or, Some(Ty::Mask), Some(Reg::Warp(mask)), &operands);
        }
    }

    /// Jumps back for each loop whose last block is `node`, inner loops first.
    fn loop_ends(&mut self, loops: &Loops, node: Node, next: Option<Node>) {
        let mut at: Option<LoopId> = loops.innermost(node);
        while let Some(id) = at {
            if next.is_some_and(|n| loops.contains(id, n)) {
                return;
            }
            let header = loops.header(id);
            if let Some(mask) = self.waits[header.index()] {
                self.out.branch_if(MaskTest::Any, Some(mask), self.labels[header.index()]);
            }
            at = loops.parent(id);
        }
    }
}

fn target(block: BlockId) -> Node {
    Node::new(block.0)
}
