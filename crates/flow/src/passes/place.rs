//! Where convergence barriers go in one function: the analysis behind [`super::barriers`].

use crate::dom::{Dominators, PostDominators};
use crate::graph::{Cfg, Node};
use crate::loops::{LoopId, Loops};
use ir::mods::Order;
use ir::{FuncId, Function, Inst, LaneReg, Op, Operand, Reg, TermKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// Barrier registers, as many as the mechanism has.
pub const REGISTERS: u16 = 16;

/// Where a barrier is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SetAt {
    /// In front of the end of a block.
    End(Node),
    /// Where lanes enter the loop of this header.
    Entry(Node),
}

impl SetAt {
    fn node(self) -> Node {
        match self {
            Self::End(n) | Self::Entry(n) => n,
        }
    }
}

/// A barrier that is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Barrier {
    pub(super) set: SetAt,
    pub(super) rejoin: Node,
    pub(super) register: u16,
}

/// The barriers of a function.
pub(super) struct Placement {
    /// In order of the dominator tree: outer ones first.
    pub(super) barriers: Vec<Barrier>,
    /// Branches without a barrier.
    pub(super) without: u32,
    loops: Loops,
    post: PostDominators,
    by_set: FxHashMap<SetAt, Vec<usize>>,
    by_rejoin: FxHashMap<Node, Vec<usize>>,
    by_loop: FxHashMap<LoopId, Vec<usize>>,
    spinning: FxHashSet<LoopId>,
    calls: FxHashMap<(Node, usize), u16>,
    /// Registers in use in each block, as bits.
    used: Vec<u16>,
    base: u16,
}

impl Placement {
    /// Places barriers in registers from `base` on; `apart` says whether the lanes of a call may
    /// return one by one.
    pub(super) fn new(
        function: &Function,
        cfg: &Cfg,
        base: u16,
        apart: &dyn Fn(Option<FuncId>) -> bool,
    ) -> Self {
        let loops = Loops::new(cfg);
        let spinning = loops.ids().filter(|&l| spins(function, cfg, &loops, l)).collect();
        let mut this = Self {
            barriers: Vec::new(),
            without: 0,
            loops,
            post: PostDominators::new(cfg),
            by_set: FxHashMap::default(),
            by_rejoin: FxHashMap::default(),
            by_loop: FxHashMap::default(),
            spinning,
            calls: FxHashMap::default(),
            used: vec![0; cfg.len()],
            base,
        };
        for (set, rejoin) in this.candidates(function, cfg) {
            this.allocate(cfg, set, rejoin);
        }
        this.around_calls(function, cfg, apart);
        this
    }

    /// Where barriers should be, outer ones first.
    fn candidates(&mut self, function: &Function, cfg: &Cfg) -> Vec<(SetAt, Node)> {
        let dominators = Dominators::new(cfg);
        let mut rank = vec![0usize; cfg.len()];
        let mut found = Vec::new();
        let mut known = FxHashSet::default();
        let mut covering: FxHashMap<Node, Vec<Node>> = FxHashMap::default();
        for (i, &b) in dominators.preorder().iter().enumerate() {
            rank[b.index()] = i;
            if !parts(function, b) || cfg.successors(b).len() < 2 {
                continue;
            }
            let Some((set, rejoin)) = self.where_to(function, b) else {
                self.without += 1;
                continue;
            };
            if let SetAt::End(_) = set {
                // A branch further out that meets at the same place covers this one.
                let above = covering.entry(rejoin).or_default();
                while above.last().is_some_and(|&a| !dominators.dominates(a, b)) {
                    above.pop();
                }
                let around = self.loops.common(rejoin, b);
                let covers = |&&a: &&Node| around.is_none_or(|l| self.loops.contains(l, a));
                if above.last().filter(covers).is_some() {
                    continue;
                }
                above.push(b);
            }
            if known.insert((set, rejoin)) {
                found.push((set, rejoin));
            }
        }
        found.sort_by_key(|&(set, rejoin)| (rank[set.node().index()], set, rejoin));
        found
    }

    /// Where the barrier of a branch is set and waited for.
    fn where_to(&self, function: &Function, b: Node) -> Option<(SetAt, Node)> {
        let rejoin = self.post.immediate(b).block()?;
        let shared = self.loops.common(b, rejoin).map_or(0, |l| self.loops.depth(l));
        let Some(inner) = self.loops.innermost(b).filter(|&l| self.loops.depth(l) > shared) else {
            return Some((SetAt::End(b), rejoin));
        };
        let left = self.loops.at_depth(inner, shared + 1);
        if !self.loops.is_reducible(left) {
            return None;
        }
        let spins = self.spinning.contains(&inner) || self.spinning.contains(&left);
        let rejoin = if spins { self.behind_release(function, rejoin)? } else { rejoin };
        Some((SetAt::Entry(self.loops.header(left)), rejoin))
    }

    /// The block in which lanes have certainly done what follows a spin loop: a store or atomic
    /// that may release others.
    fn behind_release(&self, function: &Function, from: Node) -> Option<Node> {
        let mut at = from;
        for _ in 0..64 {
            let releases = function.blocks[at.index()].insts.iter().any(|i| {
                matches!(i.op, Op::Atom | Op::AtomVec | Op::MbarArrive)
                    || i.op == Op::St && ordered(i)
            });
            let next = self.post.immediate(at).block()?;
            if self.loops.innermost(next) != self.loops.innermost(from) {
                return None;
            }
            if releases {
                return Some(next);
            }
            at = next;
        }
        None
    }

    /// Gives a barrier a register that no other uses where it is in use.
    fn allocate(&mut self, cfg: &Cfg, set: SetAt, rejoin: Node) {
        let all = free_from(self.base);
        if self.used[set.node().index()] & all == all {
            self.without += 1;
            return;
        }
        let region = self.region(cfg, set, rejoin);
        let taken = region.iter().fold(0, |bits, n| bits | self.used[n.index()]);
        let Some(register) = lowest(all & !taken) else {
            self.without += 1;
            return;
        };
        for n in region {
            self.used[n.index()] |= 1 << register;
        }
        let index = self.barriers.len();
        self.barriers.push(Barrier { set, rejoin, register });
        self.by_set.entry(set).or_default().push(index);
        self.by_rejoin.entry(rejoin).or_default().push(index);
        if let SetAt::Entry(header) = set
            && let Some(l) = self.loops.innermost(header)
        {
            self.by_loop.entry(l).or_default().push(index);
        }
    }

    /// Blocks in which the barrier may have participants, both ends included.
    fn region(&self, cfg: &Cfg, set: SetAt, rejoin: Node) -> Vec<Node> {
        let start = set.node();
        let mut seen: FxHashSet<Node> = [start].into_iter().collect();
        let mut region = vec![start];
        let mut next = 0;
        while let Some(&n) = region.get(next) {
            next += 1;
            if n == rejoin && n != start {
                continue;
            }
            for &to in cfg.successors(n) {
                if self.post.post_dominates(rejoin, to) | self.stays(set, to) && seen.insert(to) {
                    region.push(to);
                }
            }
        }
        region
    }

    fn stays(&self, set: SetAt, node: Node) -> bool {
        match set {
            SetAt::End(_) => false,
            SetAt::Entry(h) => {
                self.loops.innermost(h).is_some_and(|l| self.loops.contains(l, node))
            }
        }
    }

    fn around_calls(
        &mut self,
        function: &Function,
        cfg: &Cfg,
        apart: &dyn Fn(Option<FuncId>) -> bool,
    ) {
        for node in cfg.nodes().filter(|&n| cfg.is_reachable(n)) {
            for (i, inst) in function.blocks[node.index()].insts.iter().enumerate() {
                let callee = match inst.op {
                    Op::Call => callee(inst),
                    Op::CallInd => None,
                    _ => continue,
                };
                if !apart(callee) {
                    continue;
                }
                // The register is free again behind the call, so calls of one block share it.
                match lowest(free_from(self.base) & !self.used[node.index()]) {
                    Some(register) => {
                        self.calls.insert((node, i), register);
                    }
                    None => self.without += 1,
                }
            }
        }
    }

    /// Direct calls with the first register that is not in use there.
    pub(super) fn calls(&self, function: &Function) -> Vec<(FuncId, u16)> {
        let mut out = Vec::new();
        for (b, block) in function.blocks.iter().enumerate() {
            for (i, inst) in block.insts.iter().enumerate() {
                if inst.op == Op::Call
                    && let Some(callee) = callee(inst)
                {
                    let around = self.calls.get(&(Node::at(b), i)).map_or(0, |r| 1u16 << r);
                    let used = self.used[b] | around;
                    let above =
                        u16::try_from(u16::BITS - used.leading_zeros()).unwrap_or(REGISTERS);
                    out.push((callee, above.max(self.base)));
                }
            }
        }
        out
    }

    fn indexed<'a, K: std::hash::Hash + Eq>(
        &'a self,
        map: &'a FxHashMap<K, Vec<usize>>,
        key: &K,
    ) -> impl DoubleEndedIterator<Item = &'a Barrier> + use<'a, K> {
        map.get(key).into_iter().flatten().map(|&i| &self.barriers[i])
    }

    pub(super) fn sets(&self, at: SetAt) -> impl Iterator<Item = &Barrier> {
        self.indexed(&self.by_set, &at)
    }

    /// Barriers that are waited for at a block, those set last first.
    pub(super) fn waits_at(&self, node: Node) -> impl Iterator<Item = &Barrier> {
        self.indexed(&self.by_rejoin, &node).rev()
    }

    /// Whether the wait stands where its block's loop is entered: it comes from outside, so it is
    /// over before the loop begins.
    pub(super) fn waits_in_front(&self, barrier: &Barrier) -> bool {
        let header = barrier.rejoin;
        match self.loops.innermost(header) {
            Some(l) => {
                let inside = self.loops.contains(l, barrier.set.node());
                self.loops.header(l) == header && self.loops.is_reducible(l) && !inside
            }
            None => false,
        }
    }

    /// Whether a loop header has a block in front, for lanes that enter the loop.
    pub(super) fn has_front(&self, node: Node) -> bool {
        self.sets(SetAt::Entry(node)).next().is_some()
            || self.waits_at(node).any(|b| self.waits_in_front(b))
    }

    /// Whether an edge enters the loop of the header it goes to.
    pub(super) fn enters(&self, from: Node, to: Node) -> bool {
        !self.loops.is_back_edge(from, to)
    }

    /// Barriers that lanes leave on an edge: those of loops that the edge leaves, if it does not
    /// lead to their wait.
    pub(super) fn breaks(&self, from: Node, to: Node) -> impl Iterator<Item = &Barrier> {
        let inner = self.loops.innermost(from);
        let left = std::iter::successors(inner, |&l| self.loops.parent(l))
            .take_while(move |&l| !self.loops.contains(l, to));
        left.flat_map(move |l| {
            let all = self.indexed(&self.by_loop, &l);
            all.filter(move |b| !self.post.post_dominates(b.rejoin, to))
        })
    }

    /// Barriers of the loops around a block.
    pub(super) fn around(&self, node: Node) -> impl Iterator<Item = &Barrier> {
        let inner = self.loops.innermost(node);
        std::iter::successors(inner, |&l| self.loops.parent(l))
            .flat_map(move |l| self.indexed(&self.by_loop, &l))
    }

    /// Whether a block goes back to the header of a loop (that spins).
    pub(super) fn is_latch(&self, cfg: &Cfg, node: Node, spinning: bool) -> bool {
        cfg.successors(node).iter().any(|&to| {
            let l = self.loops.innermost(to).filter(|_| self.loops.is_back_edge(node, to));
            l.is_some_and(|l| !spinning || self.spinning.contains(&l))
        })
    }

    pub(super) fn call_barrier(&self, node: Node, inst: usize) -> Option<u16> {
        self.calls.get(&(node, inst)).copied()
    }
}

fn free_from(base: u16) -> u16 {
    if base >= REGISTERS { 0 } else { u16::MAX << base }
}

fn lowest(bits: u16) -> Option<u16> {
    (bits != 0).then(|| u16::try_from(bits.trailing_zeros()).unwrap_or(0))
}

fn callee(inst: &Inst) -> Option<FuncId> {
    match inst.operands.first() {
        Some(&Operand::Func(id)) => Some(id),
        _ => None,
    }
}

/// Whether lanes may part at a block's end.
fn parts(function: &Function, b: Node) -> bool {
    let end = &function.blocks[b.index()].term.kind;
    matches!(end, TermKind::CondBr(..) | TermKind::Switch(..) | TermKind::Ret(Some(_)))
}

/// Whether an access takes part in synchronisation.
fn ordered(inst: &Inst) -> bool {
    inst.mods.order.is_some_and(|o| o != Order::Weak)
}

/// Whether a loop's exits depend on what an atomic or ordered read in the loop gives.
fn spins(function: &Function, cfg: &Cfg, loops: &Loops, id: LoopId) -> bool {
    let body = loops.body(id);
    let reads = |i: &Inst| matches!(i.op, Op::Atom | Op::MbarTest) || i.op == Op::Ld && ordered(i);
    let insts = || body.iter().flat_map(|n| &function.blocks[n.index()].insts);
    if !insts().any(reads) {
        return false;
    }
    let mut needed: FxHashSet<LaneReg> = FxHashSet::default();
    for (from, _) in loops.exits(cfg, id) {
        match &function.blocks[from.index()].term.kind {
            TermKind::CondBr(g, _) | TermKind::Ret(Some(g)) | TermKind::Exit(Some(g)) => {
                needed.insert(g.pred);
            }
            TermKind::Switch(Operand::Reg(Reg::Lane(r)), _) => {
                needed.insert(*r);
            }
            _ => {}
        }
    }
    // Definitions by register, so that following them is linear in the loop.
    let mut definitions: FxHashMap<LaneReg, Vec<&Inst>> = FxHashMap::default();
    for inst in insts() {
        for result in inst.results.iter().flatten() {
            if let Reg::Lane(r) = result {
                definitions.entry(*r).or_default().push(inst);
            }
        }
    }
    let mut work: Vec<LaneReg> = needed.iter().copied().collect();
    while let Some(reg) = work.pop() {
        for inst in definitions.remove(&reg).into_iter().flatten() {
            if reads(inst) {
                return true;
            }
            for operand in &inst.operands {
                if let Operand::Reg(Reg::Lane(r)) = operand
                    && needed.insert(*r)
                {
                    work.push(*r);
                }
            }
        }
    }
    false
}
