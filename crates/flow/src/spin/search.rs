//! The search for loops that wait, in one function.

use ir::mods::Space;
use ir::{BlockId, Function, Inst, LocId, Op, Operand, Reg, TermKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::access::{Access, Definitions, Root, shared};
use super::{SpinWait, WORK, WriteIs};
use crate::analysis::{Facts, Options, Shape};
use crate::{Cfg, LoopId, Loops, Node, PostDominators};

/// Launches of many blocks, whose warps have 32 lanes.
const WARPS: Shape = Shape { grid: [1 << 16; 3], block: [1024, 1, 1], width: 32 };

/// A loop that waits for a write which its function does not do.
#[derive(Clone, Debug)]
pub(super) struct Unmet {
    /// The loop; its write is not known.
    pub(super) wait: SpinWait,
    /// The space of the read.
    pub(super) space: Space,
    /// What its address is computed from.
    pub(super) root: Root,
    /// Whether lanes of a warp may leave the loop one after another.
    pub(super) apart: bool,
}

/// What was seen of a loop.
#[derive(Clone, Debug, Default)]
pub(super) struct Looked {
    pub(super) found: Option<SpinWait>,
    pub(super) unmet: Vec<Unmet>,
}

/// A loop of a called function, at a call.
pub(super) struct Called<'u> {
    /// The read of the loop, at the place of the call.
    pub(super) read: Access,
    pub(super) unmet: &'u Unmet,
}

/// The search in one function.
pub(super) struct Search<'f> {
    pub(super) index: usize,
    pub(super) function: &'f Function,
    pub(super) cfg: &'f Cfg,
    pub(super) definitions: Definitions<'f>,
    /// The writes of the function, and of those that it calls.
    pub(super) writes: Vec<Access>,
    facts: Option<Facts>,
    work: usize,
}

impl<'f> Search<'f> {
    pub(super) fn new(
        (index, function): (usize, &'f Function),
        cfg: &'f Cfg,
        definitions: Definitions<'f>,
        writes: Vec<Access>,
    ) -> Self {
        Self { index, function, cfg, definitions, writes, facts: None, work: WORK }
    }

    /// Searches the loops of the function and of those that it calls. Returns what was found, which
    /// loops wait for what is not written here, and whether everything was looked at.
    pub(super) fn run(&mut self, called: &[Called<'_>]) -> (Vec<SpinWait>, Vec<Unmet>, bool) {
        let (loops, tree) = (Loops::new(self.cfg), PostDominators::new(self.cfg));
        let (mut found, mut unmet) = (Vec::new(), Vec::new());
        for id in loops.ids() {
            let looked = self.look(&loops, &tree, id);
            match looked.found {
                Some(wait) => found.push(wait),
                None => unmet.extend(looked.unmet),
            }
            if self.work == 0 {
                return (found, unmet, false);
            }
        }
        for Called { read, unmet: of } in called {
            match self.look_at_call(read, of.apart) {
                Some((write, place)) => found.push(SpinWait { write, place, ..of.wait.clone() }),
                None => unmet.push(Unmet { space: read.space, root: read.root, ..(*of).clone() }),
            }
        }
        (found, unmet, self.work > 0)
    }

    fn spend(&mut self, work: usize) -> bool {
        self.work = self.work.saturating_sub(work);
        self.work > 0
    }

    /// Looks at a loop. Gives the finding, or what the loop waits for if nothing here ends that.
    fn look(&mut self, loops: &Loops, tree: &PostDominators, id: LoopId) -> Looked {
        if !self.spend(loops.body(id).len()) {
            return Looked::default();
        }
        let inside = |block: usize| loops.contains(id, Node::at(block));
        let exits: Vec<(Node, Node)> = loops.exits(self.cfg, id).collect();
        let mut looked = Looked::default();
        for (from, to) in exits {
            let term = &self.function.blocks[from.index()].term;
            for read in self.reads(condition(&term.kind), &inside) {
                let lets_go = |w: &Access| {
                    inside(w.block) && (w.block, w.at) != (read.block, read.at) && w.may_be(&read)
                };
                if self.writes.iter().any(lets_go) {
                    continue;
                }
                let rejoin = tree.immediate(from).block();
                let wait = SpinWait {
                    function: self.index,
                    header: BlockId(loops.header(id).get()),
                    body: loops.body(id).iter().map(|n| BlockId(n.get())).collect(),
                    read: read.loc,
                    exit: term.loc,
                    rejoin: rejoin.map(|n| BlockId(n.get())),
                    write: LocId(0),
                    place: WriteIs::After,
                };
                let apart = self.parts(from);
                let after = self.reach(rejoin.unwrap_or(to), 0, true);
                let from_loop = self.reach(to, 0, false);
                let is_after =
                    |w: &Access| apart && after.get(&w.block).is_some_and(|&until| w.at < until);
                let entry = loops.header(id);
                let found = self.write_of(&read, |w| inside(w.block), is_after, &from_loop, entry);
                if let Some((write, place)) = found {
                    looked.found = Some(SpinWait { write, place, ..wait });
                    return looked;
                }
                looked.unmet.push(Unmet { wait, space: read.space, root: read.root, apart });
            }
        }
        looked
    }

    /// Looks at a loop of a called function that waits for what that does not write: `call` is the
    /// read as it is here, at the call.
    fn look_at_call(&mut self, call: &Access, apart: bool) -> Option<(LocId, WriteIs)> {
        let node = Node::at(call.block);
        let mut after = self.reach(node, call.at + 1, true);
        let from_loop = self.reach(node, call.at + 1, false);
        // Of the block of the call, what stands in front of it comes after it only around a loop.
        let around = self.cfg.successors(node).iter().any(|&s| self.leads_to(s.index(), node));
        let until = after.remove(&call.block);
        let is_after = |w: &Access| {
            let here = until.is_some_and(|until| w.at > call.at && w.at < until);
            let reached = after.get(&w.block).is_some_and(|&until| w.at < until);
            apart && (reached || (w.block == call.block && (here || around && w.at < call.at)))
        };
        let inside = |w: &Access| (w.block, w.at) == (call.block, call.at);
        self.write_of(call, inside, is_after, &from_loop, node)
    }

    /// The write that a loop waits for, outside of the loop.
    fn write_of(
        &mut self,
        read: &Access,
        inside: impl Fn(&Access) -> bool,
        is_after: impl Fn(&Access) -> bool,
        from_loop: &FxHashMap<usize, usize>,
        entry: Node,
    ) -> Option<(LocId, WriteIs)> {
        let candidates = self.writes.iter().filter(|w| !inside(w) && w.may_be(read));
        let candidates: Vec<Access> = candidates.copied().collect();
        candidates.into_iter().find_map(|w| {
            if is_after(&w) {
                return Some((w.loc, WriteIs::After));
            }
            let reached = from_loop.contains_key(&w.block) || w.block == entry.index();
            let beside = !reached && !self.leads_to(w.block, entry) && self.choice(&w, entry);
            beside.then_some((w.loc, WriteIs::Beside))
        })
    }

    /// Whether lanes of a warp may part at a branch so that some come to a write and others to a
    /// loop.
    fn choice(&mut self, write: &Access, entry: Node) -> bool {
        let (to_write, to_loop) = (self.ways_to(write.block), self.ways_to(entry.index()));
        let nodes: Vec<Node> = self.cfg.nodes().collect();
        nodes.into_iter().any(|branch| {
            let next = self.cfg.successors(branch);
            let leads = |ways: &[bool]| next.iter().filter(|n| ways[n.index()]).count();
            next.len() > 1 && leads(&to_write) > 0 && leads(&to_loop) > 0 && self.parts(branch)
        })
    }

    /// The blocks from which one is reached, itself included.
    fn ways_to(&mut self, block: usize) -> Vec<bool> {
        let mut ways = vec![false; self.cfg.len()];
        let mut pending = vec![Node::at(block)];
        while let Some(node) = pending.pop() {
            if !std::mem::replace(&mut ways[node.index()], true) && self.spend(1) {
                pending.extend(self.cfg.predecessors(node));
            }
        }
        ways
    }

    /// Whether lanes of a warp that end a block together may go to different places.
    fn parts(&mut self, node: Node) -> bool {
        if !self.cfg.is_reachable(node) {
            return false;
        }
        let facts = self.facts.get_or_insert_with(|| {
            Facts::with_graph(
                self.function,
                self.cfg,
                WARPS,
                Options { assume: false, ..Options::default() },
            )
        });
        facts.parts(node.index())
    }

    /// Reads of shared memory inside of the loop that a register depends on.
    fn reads(&mut self, condition: Option<Reg>, inside: &dyn Fn(usize) -> bool) -> Vec<Access> {
        let mut out = Vec::new();
        let mut seen: FxHashSet<Reg> = condition.into_iter().collect();
        let mut pending: Vec<Reg> = seen.iter().copied().collect();
        while let Some(reg) = pending.pop() {
            let places = self.definitions.by_reg.get(&reg).cloned().unwrap_or_default();
            if !self.spend(places.len() + 1) {
                break;
            }
            for place in places.into_iter().filter(|p| inside(p.0)) {
                let inst = self.definitions.inst(place);
                if matches!(inst.op, Op::Ld | Op::Atom | Op::AtomVec | Op::MbarTest)
                    && let Some(space) = shared(inst)
                {
                    // A loop that waits looks at one place again and again; one that walks over
                    // memory ends by itself.
                    if self.definitions.invariant(inst.operands.first(), inside) {
                        let root = self.definitions.root(inst.operands.first());
                        let (block, at) = place;
                        out.push(Access { block, at, space, root, loc: inst.loc });
                    }
                    continue;
                }
                let guard = inst.guard.map(|g| Reg::Lane(g.pred));
                let operands = inst.operands.iter().filter_map(|o| match o {
                    Operand::Reg(reg) => Some(*reg),
                    _ => None,
                });
                pending.extend(operands.chain(guard).filter(|reg| seen.insert(*reg)));
            }
        }
        out
    }

    /// Blocks that can be reached from instruction `first` of one, each with the number of its
    /// instructions that are; not past CTA barriers, if `barriers`.
    fn reach(&mut self, from: Node, first: usize, barriers: bool) -> FxHashMap<usize, usize> {
        let mut out = FxHashMap::default();
        let mut pending = vec![from];
        while let Some(node) = pending.pop() {
            let block = node.index();
            if out.contains_key(&block) || !self.spend(1) {
                continue;
            }
            let insts = &self.function.blocks[block].insts;
            let skip = if node == from && out.is_empty() { first } else { 0 };
            let stop = |(at, i): (usize, &Inst)| at >= skip && barriers && i.op == Op::Bar;
            let stop = insts.iter().enumerate().position(stop);
            out.insert(block, stop.unwrap_or(usize::MAX));
            if stop.is_none() {
                pending.extend(self.cfg.successors(node));
            }
        }
        out
    }

    /// Whether a block is on a way to another.
    fn leads_to(&self, from: usize, to: Node) -> bool {
        let (mut seen, mut pending) = (FxHashSet::default(), vec![Node::at(from)]);
        while let Some(node) = pending.pop() {
            if node == to {
                return true;
            }
            let next = self.cfg.successors(node).iter().copied();
            pending.extend(next.filter(|n| seen.insert(*n)));
        }
        false
    }
}

/// The register that decides whether lanes leave.
fn condition(term: &TermKind) -> Option<Reg> {
    match term {
        TermKind::CondBr(guard, _) | TermKind::Ret(Some(guard)) | TermKind::Exit(Some(guard)) => {
            Some(Reg::Lane(guard.pred))
        }
        TermKind::Switch(Operand::Reg(reg), _) => Some(*reg),
        _ => None,
    }
}
