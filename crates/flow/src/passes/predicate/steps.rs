//! Predicated code over any number of predicates.
//!
//! Predicate 0 is the lanes that came into the function; it is never written. Each opening of a
//! region defines a predicate as the conjunction of the one around it with a condition, so bits
//! outside the one around are 0. A loop has a predicate of the lanes in it, which only shrinks;
//! where a region lasts to the end of its loop, the loop's predicate itself is narrowed.

use super::graph::{Block, End};
use super::regions::{Cond, Flag, Mark, RegionId};
use super::shape::{Item, Shape, sets_after_clear};
use ir::mods::{BoolOp, Cmp};
use ir::op::Class;
use ir::{
    Function, Guard, Inst, LaneReg, LocId, Op, Operand, Origin, Reg, RegTy, Term, TermKind, Ty,
};

/// A predicate before allocation: its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pred(pub(super) u32);

/// The lanes that came in.
pub(super) const ALL: Pred = Pred(0);

/// A step of predicated code.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// An instruction for the lanes of a predicate.
    Do { inst: Box<Inst>, under: Pred },
    /// `to = from and cond`: opens a region, or is the guard of an instruction.
    And { to: Pred, from: Pred, cond: Guard, opens: bool, loc: LocId },
    /// `to = from`.
    Copy { to: Pred, from: Pred, loc: LocId },
    /// The lanes of a predicate end.
    Exit { under: Pred, term: Term },
    /// The region opened last ends.
    Close,
    /// The loop of this number begins; `narrows` says that some lanes leave it other than by
    /// ending.
    Head { level: u32, narrows: bool },
    /// Behind the innermost loop.
    Out,
    /// Back to its beginning while the predicate has lanes.
    Back { level: u32, pred: Pred, loc: LocId },
    /// A block of the source begins.
    Name(u32),
}

/// A predicate and what it stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meaning {
    /// The region, for one that was opened.
    pub(super) region: Option<RegionId>,
    /// The loop whose lanes it holds.
    pub(super) level: Option<u32>,
}

/// The code of a function.
pub(super) struct Steps {
    pub(super) steps: Vec<Step>,
    /// What each predicate is.
    pub(super) preds: Vec<Meaning>,
    /// Registers of the function, with those that were added.
    pub(super) function: Function,
    /// Copies of conditions and flags that were added.
    pub(super) flags: u32,
}

struct Maker<'a> {
    source: &'a Function,
    shape: &'a Shape,
    out: Steps,
    /// Predicates in force, the innermost last.
    open: Vec<Pred>,
    /// Openings, by item, that narrow their loop's predicate.
    in_place: Vec<bool>,
    flags: Vec<Option<LaneReg>>,
    /// Registers with kept conditions, by region.
    kept: Vec<Option<Operand>>,
    loc: LocId,
    /// A predicate of this guard under that predicate, still right.
    conjunction: Option<(Pred, Guard, Pred)>,
}

/// The steps of a function in structured form.
pub(super) fn steps(source: &Function, shape: &Shape) -> Steps {
    let nothing = Meaning { region: None, level: None };
    let mut maker = Maker {
        source,
        shape,
        out: Steps {
            steps: Vec::new(),
            preds: vec![nothing],
            function: Function { blocks: Vec::new(), ..source.clone() },
            flags: 0,
        },
        open: vec![ALL],
        in_place: in_place(shape),
        flags: vec![None; shape.regions.flags as usize],
        kept: vec![None; shape.regions.regions.len()],
        loc: source.loc,
        conjunction: None,
    };
    for (at, &item) in shape.items.iter().enumerate() {
        maker.item(at, item);
    }
    maker.out
}

/// Openings of regions that are still open where their loop ends.
fn in_place(shape: &Shape) -> Vec<bool> {
    let mut out = vec![false; shape.items.len()];
    let mut open: Vec<Option<usize>> = Vec::new();
    for (at, &item) in shape.items.iter().enumerate() {
        match item {
            Item::Open(_) => open.push(Some(at)),
            Item::Close(_) => drop(open.pop()),
            Item::Loop(_) => open.push(None),
            Item::Again(_) => {
                for opening in open.iter().rev().map_while(|&o| o) {
                    out[opening] = true;
                }
            }
            Item::Out(_) => drop(open.pop()),
            Item::Block(_) => {}
        }
    }
    out
}

impl Maker<'_> {
    fn here(&self) -> Pred {
        self.open.last().copied().unwrap_or(ALL)
    }

    fn pred(&mut self, region: Option<RegionId>, level: Option<u32>) -> Pred {
        self.out.preds.push(Meaning { region, level });
        Pred(super::graph::number(self.out.preds.len() - 1))
    }

    fn push(&mut self, step: Step) {
        self.out.steps.push(step);
    }

    fn item(&mut self, at: usize, item: Item) {
        self.conjunction = None;
        match item {
            Item::Open(region) => self.open(region, self.in_place[at]),
            Item::Close(_) => {
                self.open.pop();
                self.push(Step::Close);
            }
            Item::Block(block) => self.block(block),
            Item::Loop(level) => self.begin_loop(level),
            Item::Again(level) => self.again(level),
            Item::Out(level) => {
                let ends = self.shape.regions.levels[level as usize].again.is_some();
                debug_assert!(ends || !self.open.is_empty());
                self.open.pop();
                self.push(Step::Out);
            }
        }
    }

    fn open(&mut self, region: RegionId, in_place: bool) {
        let from = self.here();
        let info = &self.shape.regions.regions[region.index()];
        self.loc = self.shape.graph.loc(self.source, info.by);
        let cond = match (&info.cond, self.kept[region.index()]) {
            (Cond::Guard(guard), Some(Operand::Reg(Reg::Lane(pred)))) => Guard { pred, ..*guard },
            (Cond::Index(index, values), kept) => {
                let pred = self.index_is(kept.unwrap_or(*index), values, from);
                Guard { pred, negated: false }
            }
            (Cond::Guard(guard), _) => *guard,
            (Cond::Flag(flag), _) => Guard { pred: self.flag(*flag), negated: false },
            (Cond::Root, _) => {
                self.open.push(from);
                return;
            }
        };
        let to = if in_place { from } else { self.pred(Some(region), None) };
        let loc = self.loc;
        self.push(Step::And { to, from, cond, opens: true, loc });
        self.open.push(to);
    }

    fn begin_loop(&mut self, level: u32) {
        let info = &self.shape.regions.levels[level as usize];
        let root = &self.shape.regions.regions[info.root as usize];
        self.loc = self.shape.graph.loc(self.source, root.block);
        self.marks(&info.before);
        let (from, loc) = (self.here(), self.loc);
        let to = self.pred(None, Some(level));
        self.push(Step::Copy { to, from, loc });
        let narrows = info.again.is_some_and(|region| region.0 != info.root);
        self.push(Step::Head { level, narrows });
        self.open.push(to);
    }

    fn again(&mut self, level: u32) {
        // All regions open here were opened in place, so this is the loop's own predicate.
        let (pred, loc) = (self.here(), self.loc);
        self.push(Step::Back { level, pred, loc });
    }

    fn block(&mut self, number: u32) {
        let block: &Block = &self.shape.graph.blocks[number as usize];
        if block.source.is_some() {
            self.push(Step::Name(number));
        }
        let origin = block.copy.then_some(Origin::Copy);
        for inst in self.shape.graph.insts(self.source, number) {
            self.inst(inst, origin);
        }
        self.conjunction = None;
        self.loc = self.shape.graph.loc(self.source, number);
        for &guard in &block.kills {
            let under = self.conjoin(self.here(), guard);
            self.exit(under, number);
        }
        if let End::Switch(index, targets) = &block.end {
            self.check_index(*index, targets.len());
        }
        self.keep(number);
        self.marks(&self.shape.regions.marks[number as usize]);
        let returns = block.source.is_none() && number != 0;
        if block.end == End::Stop && !returns {
            self.exit(self.here(), number);
        }
    }

    fn exit(&mut self, under: Pred, number: u32) {
        let source = self.shape.graph.blocks[number as usize].source;
        let Some(term) = source.map(|i| &self.source.blocks[i as usize].term) else { return };
        // A jump to a block that only ends the thread has become the end itself.
        let ends = matches!(term.kind, TermKind::Exit(_) | TermKind::Ret(_));
        let origin = if ends { term.origin } else { Origin::Mask };
        let returns = matches!(term.kind, TermKind::Ret(_));
        let kind = if returns { TermKind::Ret(None) } else { TermKind::Exit(None) };
        let term = Term { kind, origin, loc: term.loc };
        self.push(Step::Exit { under, term });
    }

    fn inst(&mut self, inst: &Inst, origin: Option<Origin>) {
        self.loc = inst.loc;
        let mut inst = inst.clone();
        if let Some(origin) = origin {
            inst.origin = origin;
        }
        let under = match inst.guard.take() {
            Some(guard) => self.conjoin(self.here(), guard),
            None => self.here(),
        };
        let writes = inst
            .results
            .iter()
            .flatten()
            .any(|r| self.conjunction.is_some_and(|(_, guard, _)| *r == Reg::Lane(guard.pred)));
        let calls = inst.op.info().class == Class::Call;
        self.push(Step::Do { inst: Box::new(inst), under });
        if writes || calls {
            self.conjunction = None;
        }
    }

    /// The lanes of a predicate for which a guard of the program holds.
    fn conjoin(&mut self, under: Pred, guard: Guard) -> Pred {
        if let Some((known, of, pred)) = self.conjunction
            && (known, of) == (under, guard)
        {
            return pred;
        }
        let (to, loc) = (self.pred(None, None), self.loc);
        self.push(Step::And { to, from: under, cond: guard, opens: false, loc });
        self.conjunction = Some((under, guard, to));
        to
    }

    fn insert(&mut self, inst: Inst, under: Pred) {
        let inst = Box::new(Inst { loc: self.loc, origin: Origin::Structure, ..inst });
        self.push(Step::Do { inst, under });
    }

    fn new_reg(&mut self, name: &str, ty: RegTy) -> LaneReg {
        self.out.flags += 1;
        self.out.function.new_reg(name, ty)
    }

    fn flag(&mut self, flag: Flag) -> LaneReg {
        if let Some(reg) = self.flags[flag.0 as usize] {
            return reg;
        }
        let reg = self.new_reg(&format!("flag{}", flag.0), RegTy::Pred);
        self.flags[flag.0 as usize] = Some(reg);
        reg
    }

    /// Copies of the conditions that will be overwritten before they are used.
    fn keep(&mut self, block: u32) {
        let Some(regions) = self.shape.kept.get(&block) else { return };
        let mut copies: Vec<(Operand, Operand)> = Vec::new();
        for &region in regions {
            let (operand, ty) = match &self.shape.regions.regions[region.index()].cond {
                Cond::Guard(guard) => (Operand::lane(guard.pred), Ty::Pred),
                Cond::Index(index, _) => (*index, Ty::B32),
                _ => continue,
            };
            let known = copies.iter().find(|c| c.0 == operand).map(|c| c.1);
            let copy = known.unwrap_or_else(|| {
                let reg = self.new_reg("kept", ty.reg());
                let inst = Inst::new(Op::Mov).ty(ty).result(Reg::Lane(reg)).operand(operand);
                self.insert(inst, self.here());
                copies.push((operand, Operand::lane(reg)));
                Operand::lane(reg)
            });
            self.kept[region.index()] = Some(copy);
        }
    }

    fn marks(&mut self, marks: &[Mark]) {
        for (i, mark) in marks.iter().enumerate() {
            let cleared_by_next = marks.get(i + 1).is_some_and(|_| sets_after_clear(marks, i + 1));
            let fresh = sets_after_clear(marks, i);
            let mov = |to, value: Operand| {
                Inst::new(Op::Mov).ty(Ty::Pred).result(Reg::Lane(to)).operand(value)
            };
            let inst = match mark {
                Mark::Clear(_) if cleared_by_next => continue,
                Mark::Clear(flag) => mov(self.flag(*flag), Operand::Imm(0)),
                Mark::Set(flag) => mov(self.flag(*flag), Operand::Imm(1)),
                Mark::SetIf(flag, cond) => {
                    let to = self.flag(*flag);
                    let guard = self.as_guard(cond);
                    set_if(to, guard, fresh)
                }
            };
            self.insert(inst, self.here());
        }
    }

    fn as_guard(&mut self, cond: &Cond) -> Guard {
        match cond {
            Cond::Guard(guard) => *guard,
            Cond::Index(index, values) => {
                let pred = self.index_is(*index, values, self.here());
                Guard { pred, negated: false }
            }
            Cond::Flag(flag) => Guard { pred: self.flag(*flag), negated: false },
            Cond::Root => Guard { pred: LaneReg(0), negated: false },
        }
    }

    /// A predicate that says whether an index is one of some values.
    fn index_is(&mut self, index: Operand, values: &[u32], under: Pred) -> LaneReg {
        let to = self.new_reg("case", RegTy::Pred);
        for (i, &value) in values.iter().enumerate() {
            let mut inst = Inst::new(Op::Setp).ty(Ty::U32).result(Reg::Lane(to));
            inst = inst.operand(index).operand(Operand::Imm(u128::from(value)));
            inst.mods.cmp = Some(Cmp::Eq);
            if i > 0 {
                inst.mods.bool_op = Some(BoolOp::Or);
                inst = inst.operand(Operand::lane(to));
            }
            self.insert(inst, under);
        }
        to
    }

    /// An index beyond the table is a fault, as it is in the branch.
    fn check_index(&mut self, index: Operand, targets: usize) {
        let under = self.here();
        let pred = self.new_reg("beyond", RegTy::Pred);
        let mut inst = Inst::new(Op::Setp).ty(Ty::U32).result(Reg::Lane(pred));
        inst = inst.operand(index).operand(Operand::Imm(targets as u128));
        inst.mods.cmp = Some(Cmp::Ge);
        self.insert(inst, under);
        let beyond = self.conjoin(under, Guard { pred, negated: false });
        self.insert(Inst::new(Op::Trap), beyond);
        self.conjunction = None;
    }
}

/// Sets a flag where the guard holds; a fresh one is cleared elsewhere.
fn set_if(to: LaneReg, guard: Guard, fresh: bool) -> Inst {
    let (flag, pred) = (Operand::lane(to), Operand::lane(guard.pred));
    let inst = |op| Inst::new(op).ty(Ty::Pred).result(Reg::Lane(to));
    match (fresh, guard.negated) {
        (true, false) => inst(Op::Mov).operand(pred),
        (true, true) => inst(Op::Not).operand(pred),
        (false, false) => inst(Op::Or).operand(flag).operand(pred),
        (false, true) => inst(Op::Selp).operand(flag).operand(Operand::Imm(1)).operand(pred),
    }
}
