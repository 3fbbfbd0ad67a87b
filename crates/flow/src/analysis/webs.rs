//! Webs: registers taken apart into values that never meet.
//!
//! A register is written many times, often for unrelated purposes. A *web* is a largest set of
//! writes of one register such that some read may see any two of them, directly or over others:
//! what single assignment with its copies coalesced gives. Webs are found from liveness alone:
//! where a register is live into a block, what it holds at the end of each predecessor is the same
//! web. A guarded write keeps the old value in some lanes, so it belongs to the web of that value,
//! if it is live.
//!
//! What always holds: every read of a register in a reachable block has a web; a write and a read
//! share a web if the write may reach the read. Near-linear in instructions, and in the sum over
//! blocks of registers that are live into them.

use crate::graph::{Cfg, Node};
use ir::{Block, Function, Guard, LaneReg, Operand, Reg, TermKind};

/// A web of a function: its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Web(pub u32);

impl Web {
    /// For slices.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

const NONE: u32 = u32::MAX;

/// More live registers than this, summed over blocks, and every register is one web.
const MOST_LIVE: usize = 1 << 24;

/// The webs of a function.
#[derive(Clone, Debug)]
pub struct Webs {
    /// The register of each web.
    pub(super) regs: Vec<LaneReg>,
    /// For each block, the place of its first instruction in `slots`, which has room for the
    /// block's end too.
    first_inst: Vec<u32>,
    /// For each instruction and end, its first slot.
    first_slot: Vec<u32>,
    slots: Vec<u32>,
    /// Whether the write in a slot leaves older values of its web in lanes that its guard turns
    /// off.
    merges: Vec<bool>,
    /// For each block, its first entry in `live`.
    first_live: Vec<u32>,
    live: Vec<Web>,
    /// Webs whose first value is what the register holds at the function's entry.
    pub(super) at_entry: Vec<Web>,
}

/// Where an instruction's registers stand in its slots: the guard, results, operands.
pub(super) fn registers(inst: &ir::Inst) -> impl Iterator<Item = Option<LaneReg>> + '_ {
    let guard = inst.guard.map(|g| g.pred);
    let results = inst.results.iter().map(|r| match r {
        Some(Reg::Lane(reg)) => Some(*reg),
        _ => None,
    });
    let operands = inst.operands.iter().map(|o| match o {
        Operand::Reg(Reg::Lane(reg)) => Some(*reg),
        _ => None,
    });
    std::iter::once(guard).chain(results).chain(operands)
}

/// The registers that a block's end reads: its guard, index or mask first, then what it returns.
fn end_registers<'f>(
    function: &'f Function,
    block: &'f Block,
) -> impl Iterator<Item = Option<LaneReg>> + 'f {
    let pred = |g: &Option<Guard>| g.map(|g| g.pred);
    let first = match &block.term.kind {
        TermKind::CondBr(guard, _) => Some(guard.pred),
        TermKind::Ret(guard) | TermKind::Exit(guard) => pred(guard),
        TermKind::Switch(Operand::Reg(Reg::Lane(reg)), _)
        | TermKind::MaskBr(_, ir::module::MaskRef::Pred(reg), _) => Some(*reg),
        _ => None,
    };
    let returned: &[LaneReg] = match (&block.term.kind, &function.signature) {
        (TermKind::Ret(_), ir::module::Signature::Device { results, .. }) => results,
        _ => &[],
    };
    std::iter::once(first).chain(returned.iter().map(|&r| Some(r)))
}

/// Registers of a function, other than its parameters, that it may read before it has written them:
/// those hold 0, in each call anew. In order, each once.
#[must_use]
pub fn unwritten(function: &Function, cfg: &Cfg) -> Vec<LaneReg> {
    let webs = Webs::new(function, cfg);
    let params: &[LaneReg] = match &function.signature {
        ir::module::Signature::Device { params, .. } => params,
        ir::module::Signature::Kernel { .. } => &[],
    };
    let read = webs.live_into(0).iter().map(|&web| webs.reg(web));
    let mut read: Vec<LaneReg> = read.filter(|reg| !params.contains(reg)).collect();
    read.sort_unstable();
    read.dedup();
    read
}

impl Webs {
    /// Finds the webs of a function with this graph.
    #[must_use]
    pub fn new(function: &Function, cfg: &Cfg) -> Self {
        let live = Liveness::new(function, cfg);
        Builder::new(function, cfg, live).run()
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.regs.len()
    }

    /// Whether the function has no registers in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.regs.is_empty()
    }

    /// The register that a web is part of.
    #[must_use]
    pub fn reg(&self, web: Web) -> LaneReg {
        self.regs[web.index()]
    }

    /// Webs that are live into a block, in no particular order.
    #[must_use]
    pub fn live_into(&self, block: usize) -> &[Web] {
        &self.live[self.first_live[block] as usize..self.first_live[block + 1] as usize]
    }

    /// How many instructions and ends there are.
    pub(super) fn places(&self) -> usize {
        self.first_slot.len() - 1
    }

    /// The number of an instruction, or of a block's end (`inst` is then the number of its
    /// instructions).
    pub(super) fn place(&self, block: usize, inst: usize) -> usize {
        self.first_inst[block] as usize + inst
    }

    /// The slots of a place.
    pub(super) fn slots(&self, place: usize) -> std::ops::Range<usize> {
        self.first_slot[place] as usize..self.first_slot[place + 1] as usize
    }

    pub(super) fn all_slots(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn in_slot(&self, slot: usize) -> Option<Web> {
        let web = self.slots[slot];
        (web != NONE).then_some(Web(web))
    }

    pub(super) fn merges(&self, slot: usize) -> bool {
        self.merges[slot]
    }

    fn of(&self, block: usize, inst: usize, at: usize) -> Option<Web> {
        let mut slots = self.slots(self.place(block, inst));
        slots.nth(at).and_then(|slot| self.in_slot(slot))
    }

    /// Returns, by web, whether an instruction or a block's end of the function reads it. A result
    /// that a guard may leave as it was is no reader.
    #[must_use]
    pub fn readers(&self, function: &Function) -> Vec<bool> {
        let mut read = vec![false; self.len()];
        for (b, block) in function.blocks.iter().enumerate() {
            let results = block.insts.iter().map(|inst| inst.results.len()).chain([0]);
            for (i, results) in results.enumerate() {
                let slots = self.slots(self.place(b, i)).enumerate();
                let slots = slots.filter(|(at, _)| !(1..1 + results).contains(at));
                let webs = slots.filter_map(|(_, slot)| self.in_slot(slot));
                webs.for_each(|web| read[web.index()] = true);
            }
        }
        read
    }

    /// The web of an instruction's guard.
    #[must_use]
    pub fn guard(&self, block: usize, inst: usize) -> Option<Web> {
        self.of(block, inst, 0)
    }

    /// The web of a result, if it is a per-lane register.
    #[must_use]
    pub fn result(&self, block: usize, inst: usize, index: usize) -> Option<Web> {
        self.of(block, inst, 1 + index)
    }

    /// The web of an operand of an instruction with `results` results, if it is a per-lane
    /// register.
    #[must_use]
    pub fn operand(&self, block: usize, inst: usize, results: usize, index: usize) -> Option<Web> {
        self.of(block, inst, 1 + results + index)
    }

    /// The web that the end of a block with `insts` instructions decides by: its guard's, index's
    /// or mask's.
    #[must_use]
    pub fn condition(&self, block: usize, insts: usize) -> Option<Web> {
        self.of(block, insts, 0)
    }

    /// The web of the value that a block's end returns.
    #[must_use]
    pub fn returned(&self, block: usize, insts: usize, index: usize) -> Option<Web> {
        self.of(block, insts, 1 + index)
    }
}

/// Which registers are live into each block.
struct Liveness {
    /// Registers that some block reads before it writes them, numbered; or [`NONE`].
    number: Vec<u32>,
    /// By block, the registers live into it.
    into: Vec<Vec<u32>>,
}

impl Liveness {
    fn new(function: &Function, cfg: &Cfg) -> Self {
        let mut number = vec![NONE; function.regs.len()];
        let mut regs: Vec<u32> = Vec::new();
        let mut local: Vec<(Vec<u32>, Vec<u32>)> = Vec::new();
        let mut killed = vec![NONE; function.regs.len()];
        let mut read = vec![NONE; function.regs.len()];
        for (b, block) in function.blocks.iter().enumerate() {
            let (mut uses, mut kills) = (Vec::new(), Vec::new());
            let mut see = |reg: LaneReg, killed: &[u32]| {
                let (r, b) = (reg.index(), b as u32);
                if killed[r] != b && std::mem::replace(&mut read[r], b) != b {
                    if number[r] == NONE {
                        number[r] = regs.len() as u32;
                        regs.push(reg.0);
                    }
                    uses.push(number[r]);
                }
            };
            for inst in &block.insts {
                let results = 1..1 + inst.results.len();
                for (at, reg) in registers(inst).enumerate() {
                    if let Some(reg) = reg.filter(|_| !results.contains(&at)) {
                        see(reg, &killed);
                    }
                }
                for result in inst.results.iter().filter(|_| inst.guard.is_none()) {
                    if let Some(Reg::Lane(reg)) = result {
                        killed[reg.index()] = b as u32;
                        kills.push(reg.0);
                    }
                }
            }
            end_registers(function, block).flatten().for_each(|reg| see(reg, &killed));
            local.push((uses, kills));
        }
        let into = flow_back(cfg, &local, &number, regs.len());
        let into = into.into_iter().map(|set| set.iter().map(|&n| regs[n as usize]).collect());
        Self { number, into: into.collect() }
    }
}

/// Solves live-in = uses or (live-out without kills); sets of numbers by block.
fn flow_back(
    cfg: &Cfg,
    local: &[(Vec<u32>, Vec<u32>)],
    number: &[u32],
    count: usize,
) -> Vec<Vec<u32>> {
    // Backwards from each read over the predecessors that do not write the register: work is the
    // size of the answer.
    let mut killed_in: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut read_in: Vec<Vec<u32>> = vec![Vec::new(); count];
    for (b, (uses, kills)) in local.iter().enumerate() {
        uses.iter().for_each(|&n| read_in[n as usize].push(b as u32));
        for &reg in kills {
            let n = number[reg as usize];
            if n != NONE && killed_in[n as usize].last() != Some(&(b as u32)) {
                killed_in[n as usize].push(b as u32);
            }
        }
    }
    let mut into: Vec<Vec<u32>> = vec![Vec::new(); cfg.len()];
    let mut seen = vec![NONE; cfg.len()];
    let mut kills = vec![NONE; cfg.len()];
    let mut stack = Vec::new();
    for n in 0..count as u32 {
        killed_in[n as usize].iter().for_each(|&b| kills[b as usize] = n);
        stack.extend(read_in[n as usize].iter().copied());
        while let Some(b) = stack.pop() {
            if std::mem::replace(&mut seen[b as usize], n) == n {
                continue;
            }
            into[b as usize].push(n);
            let before = cfg.predecessors(Node::new(b)).iter().map(|p| p.get());
            stack.extend(before.filter(|&p| kills[p as usize] != n && seen[p as usize] != n));
        }
    }
    into
}

/// Joins values into webs while it walks over the function.
struct Builder<'a> {
    function: &'a Function,
    cfg: &'a Cfg,
    live: Liveness,
    /// Union-find over values, and each value's register.
    parent: Vec<u32>,
    regs: Vec<u32>,
    /// By block: the values live into it, as pairs of register and value, sorted.
    into: Vec<Vec<(u32, u32)>>,
    /// The value that each register holds now, if `stamp` says that it is of this block.
    now: Vec<u32>,
    stamp: Vec<u32>,
    /// One web for each register: the function is too large for more.
    coarse: bool,
    first_inst: Vec<u32>,
    first_slot: Vec<u32>,
    slots: Vec<u32>,
    merges: Vec<bool>,
}

impl<'a> Builder<'a> {
    fn new(function: &'a Function, cfg: &'a Cfg, live: Liveness) -> Self {
        let regs = function.regs.len();
        let coarse = live.into.iter().map(Vec::len).sum::<usize>() > MOST_LIVE;
        let mut this = Self {
            function,
            cfg,
            live,
            parent: Vec::new(),
            regs: Vec::new(),
            into: Vec::new(),
            now: vec![NONE; regs],
            stamp: vec![NONE; regs],
            coarse,
            first_inst: Vec::new(),
            first_slot: Vec::new(),
            slots: Vec::new(),
            merges: Vec::new(),
        };
        if coarse {
            for reg in 0..regs as u32 {
                this.value(reg);
            }
        }
        for b in 0..cfg.len() {
            let mut into: Vec<(u32, u32)> = Vec::new();
            for reg in std::mem::take(&mut this.live.into[b]) {
                let value = if coarse { reg } else { this.value(reg) };
                into.push((reg, value));
            }
            into.sort_unstable();
            this.into.push(into);
        }
        this
    }

    fn value(&mut self, reg: u32) -> u32 {
        let value = self.parent.len() as u32;
        self.parent.push(value);
        self.regs.push(reg);
        value
    }

    fn find(&mut self, mut i: u32) -> u32 {
        while self.parent[i as usize] != i {
            let up = self.parent[self.parent[i as usize] as usize];
            self.parent[i as usize] = up;
            i = up;
        }
        i
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b) as usize] = a.min(b);
    }

    /// What a register holds now, if anything that matters.
    fn current(&self, block: usize, reg: LaneReg) -> Option<u32> {
        if self.stamp[reg.index()] == block as u32 {
            return Some(self.now[reg.index()]);
        }
        let into = &self.into[block];
        let found = into.binary_search_by_key(&reg.0, |v| v.0).ok();
        found.map(|i| into[i].1)
    }

    fn read(&mut self, block: usize, reg: Option<LaneReg>) {
        let slot = reg.map(|reg| match self.current(block, reg) {
            Some(value) => value,
            // A block that cannot be reached.
            None => self.value(reg.0),
        });
        self.slots.push(slot.unwrap_or(NONE));
        self.merges.push(false);
    }

    fn write(&mut self, block: usize, reg: Option<LaneReg>, guarded: bool) {
        let Some(reg) = reg else {
            self.slots.push(NONE);
            self.merges.push(false);
            return;
        };
        let before = self.current(block, reg).filter(|_| guarded);
        let value = match (self.coarse, before) {
            (true, _) => reg.0,
            (false, Some(before)) => before,
            (false, None) => self.value(reg.0),
        };
        self.slots.push(value);
        self.merges.push(guarded && (before.is_some() || self.coarse));
        self.now[reg.index()] = value;
        self.stamp[reg.index()] = block as u32;
    }

    fn block(&mut self, b: usize) {
        let block = &self.function.blocks[b];
        self.first_inst.push(self.first_slot.len() as u32);
        for inst in &block.insts {
            let first = self.slots.len();
            self.first_slot.push(first as u32);
            let results = 1..1 + inst.results.len();
            // Operands are read before results are written, though they stand behind them.
            let regs: Vec<_> = registers(inst).collect();
            let mut reads = Vec::new();
            for (at, &reg) in regs.iter().enumerate().filter(|r| !results.contains(&r.0)) {
                self.read(b, reg);
                reads.push((at, self.slots.pop().unwrap_or(NONE)));
                self.merges.pop();
            }
            let mut reads = reads.into_iter();
            for (at, &reg) in regs.iter().enumerate() {
                if results.contains(&at) {
                    self.write(b, reg, inst.guard.is_some());
                } else {
                    self.slots.push(reads.next().map_or(NONE, |r| r.1));
                    self.merges.push(false);
                }
            }
        }
        self.first_slot.push(self.slots.len() as u32);
        for reg in end_registers(self.function, block) {
            self.read(b, reg);
        }
        for &to in self.cfg.successors(Node::at(b)) {
            for i in 0..self.into[to.index()].len() {
                let (reg, value) = self.into[to.index()][i];
                if let Some(mine) = self.current(b, LaneReg(reg)) {
                    self.join(mine, value);
                }
            }
        }
    }

    fn run(mut self) -> Webs {
        debug_assert_eq!(self.live.number.len(), self.function.regs.len());
        for b in 0..self.cfg.len() {
            self.block(b);
        }
        self.first_slot.push(self.slots.len() as u32);
        // Numbers without gaps.
        let mut web_of = vec![NONE; self.parent.len()];
        let mut regs = Vec::new();
        for value in 0..self.parent.len() as u32 {
            let root = self.find(value) as usize;
            if web_of[root] == NONE {
                web_of[root] = regs.len() as u32;
                regs.push(LaneReg(self.regs[root]));
            }
            web_of[value as usize] = web_of[root];
        }
        for slot in self.slots.iter_mut().filter(|s| **s != NONE) {
            *slot = web_of[*slot as usize];
        }
        let (mut first_live, mut live) = (vec![0], Vec::new());
        for into in &self.into {
            live.extend(into.iter().map(|&(_, value)| Web(web_of[value as usize])));
            first_live.push(live.len() as u32);
        }
        let entry = &self.into[self.cfg.entry().index()];
        let at_entry = entry.iter().map(|&(_, value)| Web(web_of[value as usize])).collect();
        Webs {
            regs,
            first_inst: self.first_inst,
            first_slot: self.first_slot,
            slots: self.slots,
            merges: self.merges,
            first_live,
            live,
            at_entry,
        }
    }
}
