//! What each block of a kernel needs of the registers of a thread, and where they lie in the frame.
//!
//! Facts are those of one thread on the kernel's own graph, before it is put under masks. They hold
//! for the lanes of a warp: a lane's part of a frame slot changes only while the lane is on.

use ir::module::Symbol;
use ir::op::Class;
use ir::sreg::Sreg;
use ir::{BlockId, Function, Inst, LaneReg, Op, Operand, Reg, RegTy, TermKind};
use rustc_hash::FxHashMap;

/// A set of registers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Set(Vec<u64>);

impl Set {
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    pub(super) fn has(&self, reg: LaneReg) -> bool {
        self.0.get(reg.index() / 64).is_some_and(|word| word >> (reg.index() % 64) & 1 == 1)
    }

    fn insert(&mut self, reg: LaneReg) {
        if let Some(word) = self.0.get_mut(reg.index() / 64) {
            *word |= 1 << (reg.index() % 64);
        }
    }

    fn remove(&mut self, reg: LaneReg) {
        if let Some(word) = self.0.get_mut(reg.index() / 64) {
            *word &= !(1 << (reg.index() % 64));
        }
    }

    /// Adds the other's; returns whether any was new.
    fn add(&mut self, other: &Self) -> bool {
        let mut new = false;
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            new |= other & !*word != 0;
            *word |= other;
        }
        new
    }

    fn iter(&self) -> impl Iterator<Item = LaneReg> + '_ {
        (0..self.0.len() * 64).map(|i| LaneReg(i as u32)).filter(|&reg| self.has(reg))
    }
}

/// Registers that an instruction reads, its guard among them.
pub(super) fn reads(inst: &Inst) -> impl Iterator<Item = LaneReg> + '_ {
    let operands = inst.operands.iter().filter_map(|operand| match operand {
        Operand::Reg(Reg::Lane(reg)) => Some(*reg),
        _ => None,
    });
    operands.chain(inst.guard.map(|guard| guard.pred))
}

/// Registers that an instruction writes.
pub(super) fn writes(inst: &Inst) -> impl Iterator<Item = LaneReg> + '_ {
    inst.results.iter().flatten().filter_map(|reg| match reg {
        Reg::Lane(reg) => Some(*reg),
        Reg::Warp(_) => None,
    })
}

/// Registers that the end of a block reads.
pub(super) fn end_reads(term: &ir::Term) -> Option<LaneReg> {
    use ir::TermKind::{CondBr, Exit, MaskBr, Ret, Switch};
    match term.kind {
        CondBr(guard, _) | Ret(Some(guard)) | Exit(Some(guard)) => Some(guard.pred),
        Switch(Operand::Reg(Reg::Lane(reg)), _) | MaskBr(_, ir::module::MaskRef::Pred(reg), _) => {
            Some(reg)
        }
        _ => None,
    }
}

/// Where a register is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// In a slot of lane words.
    Slot(u32),
    /// In a scalar word of the frame: a predicate's mask, or a value that is the same in all lanes.
    Word(u32),
    /// A word of the parameters, at this offset.
    Param(u32),
    /// In no place: it never outlives its block.
    None,
}

/// The facts of a kernel.
pub(super) struct Facts {
    /// Registers needed behind a block, by its name.
    out: FxHashMap<String, Set>,
    /// Registers that are read before anything has written them.
    pub(super) unwritten: Vec<LaneReg>,
    pub(super) homes: Vec<Home>,
    /// Slots of lane words.
    pub(super) slots: u32,
    /// Scalar words.
    pub(super) words: u32,
}

impl Facts {
    pub(super) fn new(function: &Function, first_word: u32) -> Self {
        let count = function.regs.len();
        let lives = lives(function);
        let unwritten: Vec<LaneReg> = lives.first().map_or(Vec::new(), |l| l.0.iter().collect());
        let mut facts = Self {
            out: FxHashMap::default(),
            unwritten,
            homes: vec![Home::None; count],
            slots: 0,
            words: first_word,
        };
        facts.uniform(function);
        facts.share(function, &lives);
        for (index, info) in function.regs.iter().enumerate() {
            if info.ty == RegTy::Pred && facts.homes[index] == Home::None {
                facts.homes[index] = facts.word();
            }
        }
        facts.color(function, &lives);
        for (block, (_, out)) in function.blocks.iter().zip(lives) {
            facts.out.insert(block.name.clone(), out);
        }
        facts
    }

    /// Whether a register is needed behind a block; of blocks that are not the kernel's own, true.
    pub(super) fn needed(&self, block: &str, reg: LaneReg) -> bool {
        self.out.get(block).is_none_or(|set| set.has(reg))
    }

    pub(super) fn home(&self, reg: LaneReg) -> Home {
        // Registers that a pass has added are predicates.
        self.homes.get(reg.index()).copied().unwrap_or(Home::None)
    }

    /// The home of a register that a pass has added.
    pub(super) fn add(&mut self, reg: LaneReg, ty: RegTy) {
        if self.homes.len() <= reg.index() {
            self.homes.resize(reg.index() + 1, Home::None);
        }
        self.homes[reg.index()] = match ty {
            RegTy::Pred => self.word(),
            _ => {
                self.slots += 1;
                Home::Slot(self.slots - 1)
            }
        };
    }

    /// A new scalar word of the frame.
    pub(super) fn word(&mut self) -> Home {
        self.words += 1;
        Home::Word(self.words - 1)
    }

    /// Registers with one value for the launch or the CTA: written once, from such values.
    fn uniform(&mut self, function: &Function) {
        let mut defs: FxHashMap<LaneReg, (u32, Option<&Inst>)> = FxHashMap::default();
        for inst in function.blocks.iter().flat_map(|block| &block.insts) {
            for reg in writes(inst) {
                let def = defs.entry(reg).or_insert((0, None));
                *def = (def.0 + 1, Some(inst));
            }
        }
        // Operands come before results along chains, but not in the order of the table.
        loop {
            let mut changed = false;
            for (&reg, &(count, inst)) in &defs {
                let Some(inst) = inst.filter(|inst| count == 1 && inst.guard.is_none()) else {
                    continue;
                };
                if self.homes[reg.index()] != Home::None || self.unwritten.contains(&reg) {
                    continue;
                }
                if let Some(home) = self.uniform_home(function, inst) {
                    self.homes[reg.index()] = home;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
    }

    fn uniform_home(&mut self, function: &Function, inst: &Inst) -> Option<Home> {
        let single = inst.results.len() == 1;
        let word = inst.ty.is_some_and(|ty| ty.bits() == 32);
        if inst.op == Op::Ld && inst.mods.space == Some(ir::mods::Space::Param) && single && word {
            let &Operand::Symbol(Symbol::Param(index), within) = inst.operands.first()? else {
                return None;
            };
            let offset = i64::from(function.params().get(index as usize)?.offset);
            let at = u32::try_from(offset + within + inst.offset).ok()?;
            return (at < 1900).then_some(Home::Param(at));
        }
        let known = |operand: &Operand| match operand {
            Operand::Imm(_) => true,
            Operand::Reg(Reg::Lane(reg)) => {
                matches!(self.home(*reg), Home::Word(_) | Home::Param(_))
                    && function.regs[reg.index()].ty != RegTy::Pred
            }
            Operand::Sreg(sreg) => launch_word(*sreg).is_some(),
            Operand::Symbol(Symbol::Var(_), _) => true,
            _ => false,
        };
        let simple = match inst.op {
            Op::Mov | Op::Sreg | Op::Add | Op::Sub | Op::Mul | Op::And | Op::Or | Op::Xor => true,
            Op::Shl | Op::Shr => matches!(inst.operands.get(1), Some(Operand::Imm(0..=31))),
            _ => false,
        };
        let integer = inst.ty.is_none_or(|ty| !ty.is_float());
        let pure = inst.op.info().class == Class::Compute && simple && integer && single && word;
        (pure && inst.operands.iter().all(known)).then(|| self.word())
    }

    /// Gives predicates words that no other block needs and no end of a block reads; those of one
    /// word come one after the other.
    fn share(&mut self, function: &Function, lives: &[(Set, Set)]) {
        let mut kept = Set::new(function.regs.len());
        lives.iter().for_each(|(live_in, live_out)| {
            kept.add(live_in);
            kept.add(live_out);
        });
        let ends = function.blocks.iter().filter_map(|block| end_reads(&block.term));
        ends.for_each(|reg| kept.insert(reg));
        let mut seen: FxHashMap<LaneReg, usize> = FxHashMap::default();
        for (index, block) in function.blocks.iter().enumerate() {
            for reg in block.insts.iter().flat_map(|inst| reads(inst).chain(writes(inst))) {
                if *seen.entry(reg).or_insert(index) != index {
                    kept.insert(reg);
                }
            }
        }
        let mut free: Vec<Home> = Vec::new();
        for block in &function.blocks {
            let mut last: FxHashMap<LaneReg, usize> = FxHashMap::default();
            for (at, inst) in block.insts.iter().enumerate() {
                reads(inst).chain(writes(inst)).for_each(|reg| _ = last.insert(reg, at));
            }
            let mut ended: Vec<Home> = Vec::new();
            for (at, inst) in block.insts.iter().enumerate() {
                // Not before the next instruction: results may be written before operands are read.
                free.append(&mut ended);
                for reg in writes(inst).chain(reads(inst)) {
                    let own = function.regs[reg.index()].ty == RegTy::Pred && !kept.has(reg);
                    if own && self.homes[reg.index()] == Home::None {
                        self.homes[reg.index()] = free.pop().unwrap_or_else(|| self.word());
                    }
                    if own
                        && last.get(&reg) == Some(&at)
                        && !ended.contains(&self.homes[reg.index()])
                    {
                        ended.push(self.homes[reg.index()]);
                    }
                }
            }
            free.append(&mut ended);
        }
    }

    /// Gives each register that outlives a block a slot; two that are needed at once have different
    /// ones.
    fn color(&mut self, function: &Function, lives: &[(Set, Set)]) {
        let count = function.regs.len();
        let mut global = Set::new(count);
        for (live_in, live_out) in lives {
            global.add(live_in);
            global.add(live_out);
        }
        let wanted =
            |facts: &Self, reg: LaneReg| facts.homes[reg.index()] == Home::None && global.has(reg);
        let regs: Vec<LaneReg> = global.iter().filter(|&reg| wanted(self, reg)).collect();
        let dense: FxHashMap<LaneReg, usize> =
            regs.iter().enumerate().map(|(i, &reg)| (reg, i)).collect();
        let mut conflicts = vec![Set::new(regs.len()); regs.len()];
        let mut conflict = |a: usize, live: &Set| {
            for b in live.iter().filter_map(|reg| dense.get(&reg).copied()) {
                if a != b {
                    conflicts[a].insert(LaneReg(b as u32));
                    conflicts[b].insert(LaneReg(a as u32));
                }
            }
        };
        for (block, (live_in, live_out)) in function.blocks.iter().zip(lives) {
            let mut live = live_out.clone();
            for inst in block.insts.iter().rev() {
                for reg in writes(inst) {
                    if let Some(&a) = dense.get(&reg) {
                        conflict(a, &live);
                    }
                    // Several results of one instruction are there at once.
                    writes(inst).for_each(|other| {
                        if let (Some(&a), true) = (dense.get(&reg), other != reg) {
                            let mut both = Set::new(count);
                            both.insert(other);
                            conflict(a, &both);
                        }
                    });
                }
                step(&mut live, inst);
            }
            let all: Vec<LaneReg> = live_in.iter().collect();
            for a in all.iter().filter_map(|reg| dense.get(reg).copied()) {
                conflict(a, live_in);
            }
        }
        let mut taken: Vec<u32> = vec![0; regs.len()];
        for i in 0..regs.len() {
            let used: Vec<u32> = conflicts[i]
                .iter()
                .filter(|other| other.index() < i)
                .map(|other| taken[other.index()])
                .collect();
            let free = (0..).find(|slot| !used.contains(slot)).unwrap_or(0);
            taken[i] = free;
            self.homes[regs[i].index()] = Home::Slot(free);
            self.slots = self.slots.max(free + 1);
        }
    }
}

/// The word of the launch block with a special register's value, if all lanes have the same.
pub(super) fn launch_word(sreg: Sreg) -> Option<u32> {
    (sreg == Sreg::CtaidX).then_some(super::launch::CTA)
}

fn step(live: &mut Set, inst: &Inst) {
    if inst.guard.is_none() {
        writes(inst).for_each(|reg| live.remove(reg));
    }
    reads(inst).for_each(|reg| live.insert(reg));
}

/// Registers needed before and behind each block.
fn lives(function: &Function) -> Vec<(Set, Set)> {
    let count = function.regs.len();
    let blocks = function.blocks.len();
    let mut lives = vec![(Set::new(count), Set::new(count)); blocks];
    loop {
        let mut changed = false;
        for index in (0..blocks).rev() {
            let mut out = Set::new(count);
            for next in function.successors(BlockId(index as u32)) {
                if let Some((live_in, _)) = lives.get(next.index()) {
                    out.add(live_in);
                }
            }
            let block = &function.blocks[index];
            // The pass makes a chain of comparisons of a switch, behind the block.
            if let TermKind::Switch(Operand::Reg(Reg::Lane(reg)), _) = block.term.kind {
                out.insert(reg);
            }
            let mut live = out.clone();
            end_reads(&block.term).into_iter().for_each(|reg| live.insert(reg));
            block.insts.iter().rev().for_each(|inst| step(&mut live, inst));
            changed |= lives[index].0.add(&live);
            lives[index].1 = out;
        }
        if !changed {
            return lives;
        }
    }
}
