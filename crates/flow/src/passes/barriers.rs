//! `convergence-barriers`: places the operations under which the run-time mechanism of that name
//! brings lanes together.
//!
//! **Source.** What NVIDIA's compilers do from Volta on, as far as "Control flow management in
//! modern GPUs" (Hanoi, 2024) shows it, with the late wait for spin loops after ElTantawy and
//! Aamodt, "MIMD synchronization on SIMT architectures" (MICRO 2016). For a branch whose immediate
//! post-dominator is block `r`:
//!
//! - a barrier is set in front of the branch and waited for at the start of `r`;
//! - if the branch is in a loop that `r` is not in, the barrier is set where that loop is entered,
//!   once for all such branches, and lanes that leave the loop for a place from which `r` is not
//!   always reached leave the barrier on that edge;
//! - if such a loop spins (what it waits for is read by an atomic or volatile operation in it), the
//!   wait is moved behind the release that follows the loop, or left out if none does, and the loop
//!   yields;
//! - a call whose lanes may return one by one is put between a set and a wait.
//!
//! Branches that meet at the end only, or never, and loops with several entries get no barrier.
//! Barriers that are in use at one place have different registers; when the [`REGISTERS`] are used
//! up, inner branches go without, which costs issues but changes no result. What always holds:
//! without the inserted operations, marked [`Origin::Sync`], the code is the source's.

use super::emit::{Emitter, Label};
use super::place::{Barrier, Placement, SetAt};
use super::{PassError, blame, called_from, finish};
use crate::graph::{Cfg, Node};
use crate::kernel::graph_for_masks;
use crate::passes::{Reason, calls};
use ir::{FuncId, Function, Module, Op, Operand, Origin, Term, TermKind, VerifiedModule};

pub use super::place::REGISTERS;

/// Which loops yield at their back edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Yields {
    /// None.
    Never,
    /// Loops that spin on memory that others write.
    #[default]
    Spinning,
    /// All.
    Always,
}

/// What the pass did to a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The function.
    pub function: FuncId,
    /// Barriers placed, calls included.
    pub barriers: u32,
    /// Branches that got none.
    pub without: u32,
    /// Operations inserted, jumps included.
    pub inserted: u64,
}

/// Places barriers in a kernel and the functions it calls.
///
/// # Errors
/// [`PassError`] if a function has no flow graph or steers convergence itself.
pub fn place_barriers(
    module: &VerifiedModule,
    kernel: FuncId,
    yields: Yields,
) -> Result<(VerifiedModule, Vec<Placed>), PassError> {
    // With recursion or calls through addresses, callees cannot know which registers are free: only
    // the kernel is done.
    let mut functions = match called_from(module, kernel) {
        Ok(list) => list,
        Err(PassError { reason: Reason::Recursive { .. } | Reason::IndirectCall(_), .. }) => {
            vec![kernel]
        }
        Err(other) => return Err(other),
    };
    // Callers first: a callee starts behind the registers in use where it is called.
    functions.reverse();
    let mut base = vec![0u16; module.functions.len()];
    let (mut done, mut report) = (Vec::new(), Vec::new());
    for &id in &functions {
        let function = &module.functions[id.index()];
        refuse_own_operations(module, id)?;
        let cfg = graph_for_masks(function).map_err(|e| blame(module, id, Reason::Graph(e)))?;
        let apart = |callee: Option<FuncId>| callee.is_none_or(|c| returns_apart(module, c));
        let placement = Placement::new(function, &cfg, base[id.index()], &apart);
        for (callee, in_use) in placement.calls(function) {
            base[callee.index()] = base[callee.index()].max(in_use);
        }
        let after = Writer::new(function, &cfg, &placement, yields).run();
        let inserted = inserted(&after);
        let barriers = u32::try_from(placement.barriers.len()).unwrap_or(u32::MAX);
        report.push(Placed { function: id, barriers, without: placement.without, inserted });
        done.push((id, after));
    }
    Ok((finish(Module::clone(module), done)?, report))
}

/// Whether lanes that call the function together may return from it one by one.
fn returns_apart(module: &Module, id: FuncId) -> bool {
    let Some(function) = module.functions.get(id.index()) else { return true };
    let guarded = |t: &Term| matches!(t.kind, TermKind::Ret(Some(_)));
    let several =
        function.blocks.iter().filter(|b| matches!(b.term.kind, TermKind::Ret(_))).count();
    several > 1 || function.blocks.iter().any(|b| guarded(&b.term)) || calls(module, id).is_err()
}

fn refuse_own_operations(module: &Module, id: FuncId) -> Result<(), PassError> {
    for block in &module.functions[id.index()].blocks {
        for inst in &block.insts {
            let info = inst.op.info();
            if info.class == ir::op::Class::Converge {
                let reason = Reason::Masked { block: block.name.clone(), what: info.name };
                let block = Some(block.name.clone());
                return Err(PassError { block, loc: inst.loc, ..blame(module, id, reason) });
            }
        }
    }
    Ok(())
}

fn inserted(function: &Function) -> u64 {
    let ours = |b: &ir::Block| {
        let insts = b.insts.iter().filter(|i| i.origin == Origin::Sync).count();
        insts as u64 + u64::from(b.term.origin == Origin::Sync && b.term.issues())
    };
    function.blocks.iter().map(ours).sum()
}

struct Writer<'a> {
    source: &'a Function,
    cfg: &'a Cfg,
    placement: &'a Placement,
    yields: Yields,
    out: Emitter,
    /// Each block itself, and the block in front of it that edges from outside its loop go through.
    own: Vec<Label>,
    outer: Vec<Label>,
    /// Edges whose lanes leave barriers on the way: emitted at the end.
    stubs: Vec<(Label, Node, Node)>,
}

impl<'a> Writer<'a> {
    fn new(source: &'a Function, cfg: &'a Cfg, placement: &'a Placement, yields: Yields) -> Self {
        let mut out = Emitter::new(source, Origin::Sync);
        let own: Vec<Label> = cfg.nodes().map(|_| out.label()).collect();
        let front = |n: Node| placement.has_front(n);
        let outer = cfg.nodes().map(|n| if front(n) { out.label() } else { own[n.index()] });
        let outer = outer.collect();
        Self { source, cfg, placement, yields, out, own, outer, stubs: Vec::new() }
    }

    fn run(mut self) -> Function {
        for node in self.cfg.nodes() {
            self.front(node);
            self.block(node);
        }
        for (label, from, to) in std::mem::take(&mut self.stubs) {
            self.out.place(label, "leave");
            self.breaks(from, to);
            let to = self.label(from, to);
            self.out.jump(to);
        }
        self.out.finish()
    }

    fn barrier(&mut self, op: Op, barrier: &Barrier) {
        let mut operands = vec![Operand::Imm(u128::from(barrier.register))];
        if op == Op::CbSet {
            let r = barrier.rejoin;
            let waits_in_front = self.placement.waits_in_front(barrier);
            let label = if waits_in_front { self.outer[r.index()] } else { self.own[r.index()] };
            operands.push(self.out.block_operand(label));
        }
        self.out.insert(op, None, None, &operands);
    }

    /// What lanes do that enter a loop from outside.
    fn front(&mut self, node: Node) {
        if !self.placement.has_front(node) {
            return;
        }
        self.out.start("enter");
        self.out.place(self.outer[node.index()], "enter");
        let placement = self.placement;
        for barrier in placement.waits_at(node).filter(|b| placement.waits_in_front(b)) {
            self.barrier(Op::CbWait, barrier);
        }
        for barrier in placement.sets(SetAt::Entry(node)) {
            self.barrier(Op::CbSet, barrier);
        }
    }

    fn block(&mut self, node: Node) {
        let block = &self.source.blocks[node.index()];
        self.out.loc = block.insts.first().map_or(block.term.loc, |i| i.loc);
        self.out.start(&block.name);
        self.out.place(self.own[node.index()], &block.name);
        let placement = self.placement;
        for barrier in placement.waits_at(node).filter(|b| !placement.waits_in_front(b)) {
            self.barrier(Op::CbWait, barrier);
        }
        for (i, inst) in block.insts.iter().enumerate() {
            self.out.loc = inst.loc;
            let around = placement.call_barrier(node, i);
            if let Some(register) = around {
                let here = self.out.block_operand(self.own[node.index()]);
                let operands = [Operand::Imm(u128::from(register)), here];
                self.out.insert(Op::CbSet, None, None, &operands);
            }
            self.out.copy(inst);
            if let Some(register) = around {
                self.out.insert(Op::CbWait, None, None, &[Operand::Imm(u128::from(register))]);
            }
        }
        self.out.loc = block.term.loc;
        for barrier in placement.sets(SetAt::End(node)) {
            self.barrier(Op::CbSet, barrier);
        }
        let yields = match self.yields {
            Yields::Never => false,
            Yields::Spinning => placement.is_latch(self.cfg, node, true),
            Yields::Always => placement.is_latch(self.cfg, node, false),
        };
        if yields {
            self.out.insert(Op::Yield, None, None, &[]);
        }
        self.end(node, &block.term);
    }

    /// Where an edge goes, after what is done on it.
    fn label(&self, from: Node, to: Node) -> Label {
        if self.placement.enters(from, to) { self.outer[to.index()] } else { self.own[to.index()] }
    }

    fn breaks(&mut self, from: Node, to: Node) {
        let placement = self.placement;
        for barrier in placement.breaks(from, to) {
            self.barrier(Op::CbBreak, barrier);
        }
    }

    fn end(&mut self, node: Node, term: &Term) {
        let mut term = term.clone();
        // Lanes of a called function that return under a guard leave its barriers.
        if let TermKind::Ret(Some(guard)) = term.kind
            && !self.source.is_kernel()
        {
            for barrier in self.placement.around(node) {
                self.out.guarded_break(guard, barrier.register);
            }
        }
        for to in term.targets_mut() {
            let target = Node::new(to.0);
            let label = if self.placement.breaks(node, target).next().is_some() {
                let stub = self.out.label();
                self.stubs.push((stub, node, target));
                stub
            } else {
                self.label(node, target)
            };
            *to = self.out.target(label);
        }
        let falls = term.falls();
        self.out.end(term);
        let next = Node::new(node.get().saturating_add(1));
        if !falls {
            return;
        }
        if self.placement.breaks(node, next).next().is_some() {
            self.out.start("leave");
            self.breaks(node, next);
        }
        if self.placement.has_front(next) && !self.placement.enters(node, next) {
            let own = self.own[next.index()];
            self.out.jump(own);
        }
    }
}
