//! Structured code under EXEC: save, narrow, restore, along the region tree.

use super::emit::{Emitter, Label};
use crate::graph::Node;
use crate::structure::{Region, RegionId, Structure};
use ir::module::MaskTest;
use ir::op::Class;
use ir::{Function, Guard, Op, Operand, Origin, Reg, TermKind, WarpReg};

/// When a side of a branch is jumped over if no lane takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Skip {
    /// If it has more source instructions than this, or one that must not run without lanes (calls,
    /// collectives, barriers, output). LLVM's limit was 12 for a long time.
    Longer(u32),
    /// Always.
    Always,
}

impl Default for Skip {
    fn default() -> Self {
        Self::Longer(12)
    }
}

/// What remains to be emitted, the next last.
#[derive(Clone, Copy)]
enum Work {
    /// A region and those that follow it, inside so many branches and loops.
    Sequence(RegionId, usize),
    /// The second side of a branch.
    Else { save: WarpReg, side: RegionId, here: Label, join: Label, depth: usize },
    /// The join of a branch.
    Join { save: WarpReg, here: Label },
    /// The test of a loop.
    Test(Test),
    /// The end of a loop's body.
    Again { header: Label, exit: Label, save: WarpReg },
}

/// The test of a loop, and what its sides need to know.
#[derive(Clone, Copy)]
struct Test {
    at: Node,
    head: RegionId,
    body: Option<RegionId>,
    header: Label,
    exit: Label,
    save: WarpReg,
    depth: usize,
}

/// Size of a region, and whether it must not run without lanes.
#[derive(Clone, Copy, Default)]
struct Weight {
    insts: u32,
    must_skip: bool,
}

impl Weight {
    fn add(&mut self, other: Self) {
        self.insts = self.insts.saturating_add(other.insts);
        self.must_skip |= other.must_skip;
    }
}

struct Masker<'a> {
    source: &'a Function,
    tree: &'a Structure,
    weights: Vec<Weight>,
    skip: Skip,
    out: Emitter,
    saves: Vec<WarpReg>,
    work: Vec<Work>,
    /// The function's own end was emitted.
    ended: bool,
}

/// Rewrites a function along its region tree.
pub(super) fn structured(source: &Function, tree: &Structure, skip: Skip) -> Function {
    let mut masker = Masker {
        source,
        tree,
        weights: weights(source, tree),
        skip,
        out: Emitter::new(source, Origin::Mask),
        saves: Vec::new(),
        work: vec![Work::Sequence(tree.root(), 0)],
        ended: false,
    };
    while let Some(work) = masker.work.pop() {
        masker.step(work);
    }
    if !masker.ended {
        masker.out.ret();
    }
    masker.out.finish()
}

/// Regions come after those inside them, so one pass in order suffices.
fn weights(source: &Function, tree: &Structure) -> Vec<Weight> {
    let mut weights: Vec<Weight> = Vec::new();
    for id in tree.ids() {
        let sum = |first: Option<RegionId>, weights: &[Weight]| {
            let mut all = Weight::default();
            for id in first.into_iter().flat_map(|f| tree.sequence(f)) {
                all.add(weights[id.index()]);
            }
            all
        };
        let mut weight = Weight::default();
        match tree.region(id) {
            Region::Block(n) => {
                let block = &source.blocks[n.index()];
                weight.insts = u32::try_from(block.insts.len()).unwrap_or(u32::MAX);
                weight.must_skip = block.insts.iter().any(needs_lanes);
            }
            Region::Branch { .. } => {
                tree.sides(id).iter().for_each(|&side| weight.add(sum(side, &weights)));
            }
            Region::Loop { head, body, .. } => {
                weight.add(sum(Some(head), &weights));
                weight.add(sum(body, &weights));
            }
        }
        weights.push(weight);
    }
    weights
}

fn needs_lanes(inst: &ir::Inst) -> bool {
    matches!(inst.op.info().class, Class::Call | Class::Collective | Class::Barrier | Class::System)
}

impl Masker<'_> {
    fn save(&mut self, depth: usize) -> WarpReg {
        while self.saves.len() <= depth {
            let name = format!("exec{}", self.saves.len());
            self.saves.push(self.out.mask_reg(&name));
        }
        self.saves[depth]
    }

    fn step(&mut self, work: Work) {
        match work {
            Work::Sequence(id, depth) => {
                if let Some(next) = self.tree.sequence(id).nth(1) {
                    self.work.push(Work::Sequence(next, depth));
                }
                match self.tree.region(id) {
                    Region::Block(n) => self.block(n, depth),
                    Region::Branch { at } => self.branch(id, at, depth),
                    Region::Loop { head, body, at } => self.enter_loop(head, body, at, depth),
                }
            }
            Work::Else { save, side, here, join, depth } => {
                self.out.place(here, "else");
                self.out.insert(Op::ExecXor, None, None, &[Operand::warp(save)]);
                self.side(side, join, depth);
            }
            Work::Join { save, here } => self.restore(save, here, "join"),
            Work::Test(test) => self.test(test),
            Work::Again { header, exit, save } => {
                self.out.jump(header);
                self.restore(save, exit, "out");
            }
        }
    }

    fn restore(&mut self, save: WarpReg, here: Label, name: &str) {
        self.out.place(here, name);
        self.out.insert(Op::ExecOr, None, None, &[Operand::warp(save)]);
    }

    fn block(&mut self, node: Node, depth: usize) {
        let block = &self.source.blocks[node.index()];
        self.out.start(&block.name);
        self.out.loc = block.term.loc;
        block.insts.iter().for_each(|inst| self.out.copy(inst));
        let kernel = self.source.is_kernel();
        match block.term.kind {
            TermKind::Ret(None) | TermKind::Exit(None) if depth == 0 => {
                self.out.end(block.term.clone());
                self.ended = true;
            }
            TermKind::Exit(None) => self.out.exit_lanes_on(&block.term),
            TermKind::Ret(None) if kernel => self.out.exit_lanes_on(&block.term),
            TermKind::Exit(Some(_)) => self.out.end(block.term.clone()),
            TermKind::Ret(Some(_)) if kernel => self.out.end(block.term.clone()),
            _ => {}
        }
    }

    /// The guard of the branch that ends a block, and its two sides: where the guard's register
    /// holds, and where it does not. `sides` are those of the successors in order: the
    /// fall-through, then the jump (or the way out of a guarded return).
    fn guard<T: Copy>(&self, at: Node, sides: [T; 2]) -> (Guard, [T; 2]) {
        let guard = match self.source.blocks[at.index()].term.kind {
            TermKind::CondBr(g, _) | TermKind::Ret(Some(g)) | TermKind::Exit(Some(g)) => g,
            _ => Guard { pred: ir::LaneReg(0), negated: false },
        };
        let [fall, jump] = sides;
        (guard, if guard.negated { [fall, jump] } else { [jump, fall] })
    }

    fn branch(&mut self, id: RegionId, at: Node, depth: usize) {
        let &[fall, jump] = self.tree.sides(id) else { return };
        let (guard, [yes, no]) = self.guard(at, [fall, jump]);
        self.out.loc = self.source.blocks[at.index()].term.loc;
        let save = self.save(depth);
        let (result, pred) = (Some(Reg::Warp(save)), Operand::lane(guard.pred));
        let join = self.out.label();
        self.work.push(Work::Join { save, here: join });
        match (yes, no) {
            (Some(first), second) => {
                self.out.insert(Op::ExecAndSave, None, result, &[pred]);
                let mut after = join;
                if let Some(side) = second {
                    after = self.out.label();
                    self.work.push(Work::Else { save, side, here: after, join, depth });
                }
                self.side(first, after, depth);
            }
            (None, Some(only)) => {
                self.out.insert(Op::ExecRead, None, result, &[]);
                self.out.insert(Op::ExecAndNot, None, None, &[pred]);
                self.side(only, join, depth);
            }
            (None, None) => {}
        }
    }

    /// A side of a branch, jumped over without lanes if that is worth it.
    fn side(&mut self, first: RegionId, after: Label, depth: usize) {
        let mut weight = Weight::default();
        self.tree.sequence(first).for_each(|id| weight.add(self.weights[id.index()]));
        let skips = match self.skip {
            Skip::Always => true,
            Skip::Longer(limit) => weight.must_skip || weight.insts > limit,
        };
        if skips {
            self.out.branch_if(MaskTest::None, None, after);
        }
        self.work.push(Work::Sequence(first, depth + 1));
    }

    fn enter_loop(&mut self, head: RegionId, body: Option<RegionId>, at: Node, depth: usize) {
        let save = self.save(depth);
        self.out.insert(Op::ExecRead, None, Some(Reg::Warp(save)), &[]);
        let (header, exit) = (self.out.label(), self.out.label());
        self.out.place(header, "loop");
        self.work.push(Work::Test(Test { at, head, body, header, exit, save, depth }));
        self.work.push(Work::Sequence(head, depth + 1));
    }

    fn test(&mut self, test: Test) {
        let Test { at, head, body, header, exit, save, depth } = test;
        let block = &self.source.blocks[at.index()];
        self.out.loc = block.term.loc;
        // Which successor stays in the loop: the one that begins the body, or the head.
        let back = self.first_block(body.unwrap_or(head));
        let falls_back = block.term.falls() && at.index() + 1 == back.index();
        let (guard, [yes_stays, _]) = self.guard(at, [falls_back, !falls_back]);
        let pred = Operand::lane(guard.pred);
        if yes_stays {
            let scratch = self.save(depth + 1);
            self.out.insert(Op::ExecAndSave, None, Some(Reg::Warp(scratch)), &[pred]);
        } else {
            self.out.insert(Op::ExecAndNot, None, None, &[pred]);
        }
        match body {
            None => {
                self.out.branch_if(MaskTest::Any, None, header);
                self.restore(save, exit, "out");
            }
            Some(body) => {
                self.out.branch_if(MaskTest::None, None, exit);
                self.work.push(Work::Again { header, exit, save });
                self.work.push(Work::Sequence(body, depth + 1));
            }
        }
    }

    fn first_block(&self, mut id: RegionId) -> Node {
        loop {
            match self.tree.region(id) {
                Region::Block(n) => return n,
                Region::Loop { head, .. } => id = head,
                Region::Branch { at } => return at,
            }
        }
    }
}
