//! Loops that wait for a write which a mechanism may put off for ever: a warning before anything
//! runs.
//!
//! Source: the static rule of ElTantawy and Aamodt, "MIMD synchronization on SIMT architectures"
//! (MICRO 2016). A loop may hang where lanes of a group rejoin if its exit depends on a read of
//! shared memory, and a write that may be to the same place comes only *after* the point at which
//! the loop's lanes rejoin, or stands on a path *beside* the loop: then lanes that left the loop,
//! or took the other path, wait for lanes that wait for them. What always holds:
//!
//! - a write inside of the loop, apart from the read itself, makes the loop safe: whoever leaves
//!   has let go before;
//! - writes behind a CTA barrier are no reason: no lane passes the barrier before the others come
//!   to it;
//! - the read looks at the same place in every round: a loop that walks over memory does not wait;
//! - addresses are told apart by the parameter or variable that they are computed from; an address
//!   of unknown origin may be any.
//!
//! Functions are looked at one by one, so a lock taken and released in different functions is not
//! seen. The work is bounded by [`WORK`]; [`SpinWaits::complete`] says whether all loops were
//! looked at.

use ir::mods::Space;
use ir::op::Class;
use ir::{BlockId, Function, Inst, LocId, Op, Operand, Reg, Symbol, TermKind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::graph_of;
use crate::{Cfg, LoopId, Loops, Node, PostDominators};

/// Instructions and blocks looked at in one function, all loops together.
const WORK: usize = 1 << 22;
/// Copies, sums and conversions that an address is followed through.
const STEPS: usize = 64;

/// Where the write stands that the loop waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteIs {
    /// Behind the place where the loop's lanes rejoin.
    After,
    /// On a path that goes past the loop.
    Beside,
}

/// A loop that may wait for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpinWait {
    /// The loop's header.
    pub header: BlockId,
    /// All its blocks, in increasing order.
    pub body: Vec<BlockId>,
    /// The read that its exit depends on.
    pub read: LocId,
    /// The branch that leaves it.
    pub exit: LocId,
    /// Where lanes that leave it rejoin; none if only at the function's end.
    pub rejoin: Option<BlockId>,
    /// The write.
    pub write: LocId,
    /// Where that stands.
    pub place: WriteIs,
}

/// What was found in a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpinWaits {
    /// The loops, by header.
    pub found: Vec<SpinWait>,
    /// Whether everything was looked at.
    pub complete: bool,
}

/// What an address is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    Symbol(Symbol),
    Unknown,
}

/// An access to memory that threads share.
#[derive(Clone, Copy, Debug)]
struct Access {
    block: usize,
    /// Index of the instruction in its block.
    at: usize,
    space: Space,
    root: Root,
    loc: LocId,
}

impl Access {
    fn may_be(&self, other: &Self) -> bool {
        let space = self.space == other.space
            || self.space == Space::Generic
            || other.space == Space::Generic;
        let unknown = self.root == Root::Unknown || other.root == Root::Unknown;
        space && (unknown || self.root == other.root)
    }
}

/// Finds the loops of a function that may wait for ever.
#[must_use]
pub fn spin_waits(function: &Function) -> SpinWaits {
    let mut out = SpinWaits { found: Vec::new(), complete: true };
    let Ok(cfg) = graph_of(function) else { return out };
    let definitions = Definitions::new(function);
    let writes = writes(function, &definitions);
    if writes.is_empty() {
        return out;
    }
    let (loops, tree) = (Loops::new(&cfg), PostDominators::new(&cfg));
    let mut search = Search { function, cfg: &cfg, definitions, writes, work: WORK };
    for id in loops.ids() {
        if let Some(found) = search.look(&loops, &tree, id) {
            out.found.push(found);
        }
        if search.work == 0 {
            out.complete = false;
            break;
        }
    }
    out.found.sort_by_key(|f| f.header.0);
    out
}

fn shared(inst: &Inst) -> Option<Space> {
    let space = inst.mods.space.unwrap_or(Space::Generic);
    matches!(space, Space::Generic | Space::Global | Space::Shared).then_some(space)
}

fn writes(function: &Function, definitions: &Definitions<'_>) -> Vec<Access> {
    let mut out = Vec::new();
    for (block, b) in function.blocks.iter().enumerate() {
        for (at, inst) in b.insts.iter().enumerate() {
            if matches!(inst.op, Op::St | Op::Atom | Op::AtomVec | Op::MbarArrive)
                && let Some(space) = shared(inst)
            {
                let root = definitions.root(inst.operands.first());
                out.push(Access { block, at, space, root, loc: inst.loc });
            }
        }
    }
    out
}

/// Where registers are written.
struct Definitions<'f> {
    by_reg: FxHashMap<Reg, Vec<(usize, usize)>>,
    function: &'f Function,
}

impl<'f> Definitions<'f> {
    fn new(function: &'f Function) -> Self {
        let mut by_reg: FxHashMap<Reg, Vec<(usize, usize)>> = FxHashMap::default();
        for (block, b) in function.blocks.iter().enumerate() {
            for (at, inst) in b.insts.iter().enumerate() {
                for reg in inst.results.iter().flatten() {
                    by_reg.entry(*reg).or_default().push((block, at));
                }
            }
        }
        Self { by_reg, function }
    }

    fn inst(&self, (block, at): (usize, usize)) -> &'f Inst {
        &self.function.blocks[block].insts[at]
    }

    /// What an address is computed from: the one parameter or variable in its sums.
    fn root(&self, operand: Option<&Operand>) -> Root {
        let Some(&operand) = operand else { return Root::Unknown };
        let mut found: Option<Symbol> = None;
        let mut pending = vec![operand];
        for _ in 0..STEPS {
            let Some(operand) = pending.pop() else {
                return found.map_or(Root::Unknown, Root::Symbol);
            };
            let symbol = match operand {
                Operand::Symbol(symbol @ (Symbol::Var(_) | Symbol::Param(_)), _) => Some(symbol),
                Operand::Reg(reg) => self.step(reg, &mut pending),
                _ => None,
            };
            if symbol.is_some() && found.is_some() && symbol != found {
                return Root::Unknown;
            }
            found = found.or(symbol);
        }
        Root::Unknown
    }

    /// Goes from a register to what it is made of; gives the parameter that it holds, if it does.
    fn step(&self, reg: Reg, pending: &mut Vec<Operand>) -> Option<Symbol> {
        let [only] = self.by_reg.get(&reg)?.as_slice() else { return None };
        let inst = self.inst(*only);
        match inst.op {
            Op::Ld if inst.mods.space == Some(Space::Param) => {
                if let Some(Operand::Symbol(symbol @ Symbol::Param(_), _)) = inst.operands.first() {
                    return Some(*symbol);
                }
            }
            // Of a product only the third operand can be an address.
            Op::Mad | Op::MadWide => pending.extend(inst.operands.get(2)),
            Op::Mov | Op::Add | Op::Sub | Op::Cvt | Op::CvtaTo | Op::CvtaFrom => {
                pending.extend(inst.operands.iter().copied());
            }
            _ => {}
        }
        None
    }
}

impl Definitions<'_> {
    /// Whether an address is the same in every round of a loop.
    fn invariant(&self, operand: Option<&Operand>, inside: &dyn Fn(usize) -> bool) -> bool {
        let mut pending: Vec<Operand> = operand.copied().into_iter().collect();
        for _ in 0..STEPS {
            let Some(operand) = pending.pop() else { return true };
            let Operand::Reg(reg) = operand else { continue };
            let places = self.by_reg.get(&reg).map_or(&[][..], Vec::as_slice);
            match places {
                all if !all.iter().any(|p| inside(p.0)) => {}
                [only] => {
                    let inst = self.inst(*only);
                    let fixed = inst.mods.space == Some(Space::Param)
                        || inst.op.info().class == Class::Compute;
                    if !fixed || inst.guard.is_some() {
                        return false;
                    }
                    pending.extend(inst.operands.iter().copied());
                }
                _ => return false,
            }
        }
        // Too long to follow, or made of itself.
        false
    }
}

struct Search<'f> {
    function: &'f Function,
    cfg: &'f Cfg,
    definitions: Definitions<'f>,
    writes: Vec<Access>,
    work: usize,
}

impl Search<'_> {
    fn spend(&mut self, work: usize) -> bool {
        self.work = self.work.saturating_sub(work);
        self.work > 0
    }

    fn look(&mut self, loops: &Loops, tree: &PostDominators, id: LoopId) -> Option<SpinWait> {
        if !self.spend(loops.body(id).len()) {
            return None;
        }
        let inside = |block: usize| loops.contains(id, Node::at(block));
        let exits: Vec<(Node, Node)> = loops.exits(self.cfg, id).collect();
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
                let after = self.reach(rejoin.unwrap_or(to), true);
                let from_loop = self.reach(to, false);
                let candidates = self.writes.iter().filter(|w| !inside(w.block) && w.may_be(&read));
                let place = |w: &Access| {
                    if after.get(&w.block).is_some_and(|&until| w.at < until) {
                        return Some(WriteIs::After);
                    }
                    let reached = from_loop.contains_key(&w.block);
                    (!reached && !self.leads_to(w.block, from)).then_some(WriteIs::Beside)
                };
                let found = candidates.filter_map(|w| Some((w.loc, place(w)?))).next();
                if let Some((write, place)) = found {
                    let body = loops.body(id).iter().map(|n| BlockId(n.get())).collect();
                    return Some(SpinWait {
                        header: BlockId(loops.header(id).get()),
                        body,
                        read: read.loc,
                        exit: term.loc,
                        rejoin: rejoin.map(|n| BlockId(n.get())),
                        write,
                        place,
                    });
                }
            }
        }
        None
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

    /// Blocks that can be reached from one, each with how many of its instructions; past CTA
    /// barriers or not.
    fn reach(&mut self, from: Node, barriers: bool) -> FxHashMap<usize, usize> {
        let mut out = FxHashMap::default();
        let mut pending = vec![from];
        while let Some(node) = pending.pop() {
            let block = node.index();
            if out.contains_key(&block) || !self.spend(1) {
                continue;
            }
            let insts = &self.function.blocks[block].insts;
            let stop = insts.iter().position(|i| barriers && i.op == Op::Bar);
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
