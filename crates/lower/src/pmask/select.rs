//! Blocks, masks and predicates: control that lanes share, and which lanes are on.
//!
//! EXEC is bank 1. Saved masks and predicates are words of the frame, one bit a lane: their algebra
//! is scalar. A predicate's bits of lanes that are off keep their values where something may need
//! them.

use super::Options;
use super::emit::Emit;
use super::live::{Facts, Home, end_reads, reads};
use super::rows::{File, Held, Source};
use crate::Missing;
use ir::mods::BoolOp;
use ir::module::{MaskRef, MaskTest};
use ir::{Block, Function, Guard, Inst, LaneReg, LocId, Op, Operand, Reg, RegTy, TermKind, Ty};
use rustc_hash::{FxHashMap, FxHashSet};

/// Scalar words that every frame has.
pub(super) const FIRST_THREAD: u32 = 0;
/// Lanes that have not ended.
pub(super) const ALIVE: u32 = 1;
/// Lanes that were on at a barrier.
pub(super) const WAITING: u32 = 2;
/// A mask that is put aside.
const ASIDE: u32 = 3;
/// Where the warp goes on, 64 bits; 0 if it has ended.
pub(super) const RESUME: u32 = 4;
/// The first word of the kernel's own.
pub(super) const FIRST_WORD: u32 = 6;

pub(super) struct Select<'a> {
    pub(super) function: &'a Function,
    pub(super) options: Options,
    pub(super) lanes: u32,
    pub(super) facts: Facts,
    pub(super) emit: Emit,
    pub(super) rows: [Vec<Option<Held>>; 2],
    /// The block in hand: its name, the places of uses in it, and the place in hand.
    pub(super) block: String,
    pub(super) uses: FxHashMap<LaneReg, Vec<u32>>,
    pub(super) at: u32,
    /// Registers that the instruction in hand reads.
    pub(super) reads: Vec<LaneReg>,
    /// Slots of values that stay in the block.
    pub(super) spilled: FxHashMap<LaneReg, u32>,
    pub(super) most_slots: u32,
    pub(super) spills: u64,
    /// Scalar registers that the instruction in hand has taken.
    pub(super) scratch: u32,
    /// Registers that only floating-point instructions write.
    pub(super) raw: FxHashSet<LaneReg>,
    /// Predicates of which only one block knows.
    local: FxHashSet<LaneReg>,
    /// Words of mask registers.
    masks: Vec<u32>,
    /// Whether lanes end before the kernel does.
    exits: bool,
    pub(super) labels: u32,
    /// The first slot of the boxes of atomics.
    pub(super) boxes: u32,
    /// Where a warp that goes on says so.
    pub(super) progress: Option<ir::module::VarId>,
    pub(super) line: &'a dyn Fn(LocId) -> Option<String>,
    last_loc: LocId,
}

pub(super) fn missing(inst: &Inst, what: &str) -> Missing {
    let ty = inst.ty.map_or(String::new(), |ty| format!(".{ty}"));
    Missing { what: format!("{what} (for `{}{ty}`)", inst.op.name()), loc: inst.loc }
}

impl<'a> Select<'a> {
    pub(super) fn new(
        function: &'a Function,
        mut facts: Facts,
        options: Options,
        line: &'a dyn Fn(LocId) -> Option<String>,
    ) -> Self {
        for index in facts.homes.len()..function.regs.len() {
            facts.add(LaneReg(index as u32), function.regs[index].ty);
        }
        let masks = function.warp_regs.iter().map(|_| match facts.word() {
            Home::Word(word) => word,
            _ => 0,
        });
        let masks = masks.collect();
        let exit = |block: &Block| {
            matches!(block.term.kind, TermKind::Exit(Some(_)) | TermKind::Ret(Some(_)))
        };
        let lanes = options.lanes;
        Self {
            function,
            options,
            lanes,
            most_slots: facts.slots,
            emit: Emit::new(lanes, &function.name),
            rows: [vec![None; (24 / lanes) as usize], vec![None; (32 / lanes) as usize]],
            block: String::new(),
            uses: FxHashMap::default(),
            at: 0,
            reads: Vec::new(),
            spilled: FxHashMap::default(),
            spills: 0,
            scratch: 0,
            raw: super::float::raw(function),
            local: local(function),
            masks,
            exits: function.blocks.iter().any(exit),
            labels: 0,
            boxes: 0,
            progress: None,
            line,
            last_loc: LocId(0),
            facts,
        }
    }

    pub(super) fn word_offset(word: u32) -> i64 {
        i64::from(word) * 4 - 2048
    }

    /// Where the slots begin: behind the words.
    pub(super) fn slot_offset(&self, slot: u32) -> i64 {
        let words = (self.facts.words * 4).next_multiple_of(32);
        i64::from(words + slot * 4 * self.lanes) - 2048
    }

    pub(super) fn new_label(&mut self) -> String {
        self.labels += 1;
        format!("l{}", self.labels)
    }

    /// All blocks. The kernel ends at the label `end`.
    pub(super) fn blocks(&mut self) -> Result<(), Missing> {
        for (index, block) in self.function.blocks.iter().enumerate() {
            self.enter(block, index);
            for (at, inst) in (1..).zip(&block.insts) {
                self.at = at;
                self.inst(inst)?;
                self.release();
            }
            self.at = block.insts.len() as u32 + 1;
            self.reads.clear();
            self.end(block)?;
        }
        Ok(())
    }

    fn enter(&mut self, block: &Block, index: usize) {
        self.emit.label(&format!("b{index}"));
        self.emit.comment(&block.name);
        self.block.clone_from(&block.name);
        self.forget();
        self.spilled.clear();
        self.uses.clear();
        for (at, inst) in (1..).zip(&block.insts) {
            for reg in reads(inst) {
                self.uses.entry(reg).or_default().push(at);
            }
            // A guarded instruction leaves the value of other lanes.
            if inst.guard.is_some() {
                for reg in super::live::writes(inst) {
                    self.uses.entry(reg).or_default().push(at);
                }
            }
        }
    }

    fn inst(&mut self, inst: &Inst) -> Result<(), Missing> {
        if inst.loc != self.last_loc {
            self.last_loc = inst.loc;
            if let Some(line) = (self.line)(inst.loc) {
                self.emit.comment(&line);
            }
        }
        self.reads.clear();
        self.reads.extend(reads(inst));
        if inst.guard.is_some() {
            self.reads.extend(super::live::writes(inst));
        }
        let result = inst.results.first().copied().flatten();
        match inst.op.info().class {
            ir::op::Class::Exec => return self.exec(inst),
            ir::op::Class::Compute if inst.is_uniform() => return self.mask_algebra(inst),
            _ => {}
        }
        if let Some(Reg::Lane(reg)) = result
            && inst.ty == Some(Ty::Pred)
        {
            return self.predicate(inst, reg);
        }
        if let Some(Reg::Lane(reg)) = result
            && inst.op.info().class != ir::op::Class::Barrier
        {
            match self.facts.home(reg) {
                Home::Param(_) => return Ok(()),
                Home::Word(word) if self.function.regs[reg.index()].ty != RegTy::Pred => {
                    return self.uniform(inst, word);
                }
                _ => {}
            }
        }
        match inst.op {
            Op::Setp => self.setp(inst),
            Op::Nop => Ok(()),
            Op::Ld | Op::St => self.access(inst),
            Op::Atom => self.atomic(inst),
            Op::Nanosleep => {
                self.sleep(inst);
                Ok(())
            }
            Op::Fence => Ok(()),
            Op::Trap | Op::Brkpt => {
                self.trap(inst);
                Ok(())
            }
            Op::Ballot => self.computed(inst),
            _ if inst.op.info().class == ir::op::Class::Compute => self.computed(inst),
            _ => Err(missing(inst, &format!("operation `{}`", inst.op.name()))),
        }
    }

    /// Some lane that is on ends the program as the machine's breakpoint does.
    fn trap(&mut self, inst: &Inst) {
        let behind = self.new_label();
        match inst.guard {
            Some(guard) => {
                self.guard_mask(guard);
                self.emit.branch(["beq x4, x0, ", "bne x4, x0, "], "", &behind);
            }
            None => self.none_on(&behind),
        }
        self.emit.scalar("ebreak");
        // Rows stay what they are: nothing was written between the branch and the label.
        self.emit.label(&behind);
    }

    /// A computation on lanes, with its guard.
    fn computed(&mut self, inst: &Inst) -> Result<(), Missing> {
        let Some(Reg::Lane(reg)) = inst.results.first().copied().flatten() else {
            return Ok(());
        };
        let (file, row) = self.compute(inst)?;
        let canonical = file == File::X || !self.raw.contains(&reg);
        let Some(guard) = inst.guard else {
            self.define(file, row, reg, canonical);
            return Ok(());
        };
        // All lanes compute; those whose guard holds take the result.
        let old = match file {
            File::X => self.x_row(Operand::lane(reg)),
            File::F => self.f_row(Operand::lane(reg)),
        };
        self.guarded(guard);
        let text = match file {
            File::X => format!("addi x{old}, x{row}, 0"),
            File::F => format!("fsgnj.s f{old}, f{row}, f{row}"),
        };
        let b = (file == File::F).then_some(super::emit::Window::Row);
        self.emit.lane(text, Some(super::emit::Window::Row), b);
        self.unguarded();
        self.define(file, old, reg, canonical);
        Ok(())
    }

    // --- Masks

    /// EXEC in a scalar register.
    pub(super) fn read_exec(&mut self, register: u32) {
        self.emit.once(format!("pmlow.rd 1, x{register}"));
    }

    /// Jumps if no lane is on.
    pub(super) fn none_on(&mut self, to: &str) {
        if self.options.fused {
            self.emit.branch(["bp.none 1, ", "bp.any 1, "], "", to);
        } else {
            self.emit.scalar("pmany 1, x4");
            self.emit.branch(["beq x4, x0, ", "bne x4, x0, "], "", to);
        }
    }

    fn some_on(&mut self, to: &str) {
        if self.options.fused {
            self.emit.branch(["bp.any 1, ", "bp.none 1, "], "", to);
        } else {
            self.emit.scalar("pmany 1, x4");
            self.emit.branch(["bne x4, x0, ", "beq x4, x0, "], "", to);
        }
    }

    /// A predicate's word in a scalar register.
    pub(super) fn load_predicate(&mut self, register: u32, operand: Operand) {
        match operand {
            Operand::Imm(value) => {
                let all = if value & 1 == 1 { u32::MAX } else { 0 };
                self.emit.constant(register, all);
            }
            Operand::Reg(Reg::Lane(reg)) => {
                if let Home::Word(word) = self.facts.home(reg) {
                    self.load_word(register, word);
                }
            }
            _ => {}
        }
    }

    /// The lanes that are on and whose guard holds, in x4.
    pub(super) fn guard_mask(&mut self, guard: Guard) {
        self.load_predicate(4, Operand::lane(guard.pred));
        self.read_exec(5);
        let name = if guard.negated { "andn x4, x5, x4" } else { "and x4, x5, x4" };
        self.emit.scalar(name);
    }

    /// Turns the lanes off whose guard does not hold: by bank 2, or in bank 1 with EXEC aside.
    pub(super) fn guarded(&mut self, guard: Guard) {
        self.guard_mask(guard);
        self.under(4);
    }

    /// The lanes of a mask in a scalar register, other than x5, are on.
    pub(super) fn under(&mut self, register: u32) {
        if self.options.banks > 2 {
            self.emit.once(format!("pmlow.wr 2, x{register}"));
            self.emit.bank(2);
        } else {
            self.read_exec(5);
            self.store_word(5, ASIDE);
            self.emit.once(format!("pmlow.wr 1, x{register}"));
            self.emit.bank(1);
        }
    }

    /// EXEC again.
    pub(super) fn unguarded(&mut self) {
        if self.options.banks > 2 {
            self.emit.bank(1);
        } else {
            self.load_word(5, ASIDE);
            self.emit.once("pmlow.wr 1, x5");
        }
    }

    /// Whether each lane's bit of a row holds, as a mask in x4. Bits of lanes that are off may be
    /// anything.
    fn gather_bits(&mut self, row: u32) {
        use super::emit::Window::{Down, Row, Same};
        if !self.options.lane_forms {
            // x4 = 2 x4 + bit, from the last lane to the first, all of them.
            // What lanes that are off hold must not reach the bits of others.
            // A row that makes place is stored by the lanes that are on alone.
            let bit = self.result_row(File::X, &[Source::Row(row)]);
            self.emit.bank(0);
            self.emit.lane(format!("sltu x{bit}, x0, x{row}"), Some(Same), Some(Row));
            let row = bit;
            self.emit.windows(Some(Same), Some(Down));
            self.emit.scalar("addi x4, x0, 0");
            self.emit.once("csrwi svdst, 0");
            self.emit.lane(format!("sh1add x4, x4, x{row}"), Some(Same), Some(Down));
            self.emit.once("csrw svdst, x3");
            self.emit.close();
            self.emit.bank(1);
            return;
        }
        if self.options.banks > 2 {
            self.emit.lane(format!("pmmov.to_p0 2, x{row}"), Some(Row), None);
            self.emit.once("pmlow.rd 2, x4");
        } else {
            self.read_exec(5);
            self.emit.lane(format!("pmmov.to_p0 1, x{row}"), Some(Row), None);
            self.emit.once("pmlow.rd 1, x4");
            self.emit.once("pmlow.wr 1, x5");
        }
    }

    /// Writes x4 as a predicate's new bits, of the lanes that are on and whose guard holds.
    fn put_predicate(&mut self, reg: LaneReg, guard: Option<Guard>) {
        let Home::Word(word) = self.facts.home(reg) else { return };
        if guard.is_none() && self.local.contains(&reg) {
            self.store_word(4, word);
            return;
        }
        self.read_exec(5);
        if let Some(guard) = guard {
            self.load_predicate(6, Operand::lane(guard.pred));
            let name = if guard.negated { "andn x5, x5, x6" } else { "and x5, x5, x6" };
            self.emit.scalar(name);
        }
        self.load_word(6, word);
        self.emit.scalar("andn x6, x6, x5");
        self.emit.scalar("and x4, x4, x5");
        self.emit.scalar("or x4, x4, x6");
        self.store_word(4, word);
    }

    fn setp(&mut self, inst: &Inst) -> Result<(), Missing> {
        let (row, inverted) = self.compare(inst)?;
        self.gather_bits(row);
        if inverted {
            self.emit.scalar("xori x4, x4, -1");
        }
        let second = inst.results.get(1).copied().flatten();
        if inst.mods.bool_op.is_none() && second.is_none() {
            if let Some(Reg::Lane(reg)) = inst.results[0] {
                self.put_predicate(reg, inst.guard);
            }
            return Ok(());
        }
        // The results may be the operand that they are combined with.
        self.emit.scalar("addi x1, x4, 0");
        if let Some(join) = inst.mods.bool_op {
            let with = inst.operands.get(2).copied().unwrap_or(Operand::Imm(0));
            self.load_predicate(6, with);
            let name = match join {
                BoolOp::And => "and",
                BoolOp::Or => "or",
                BoolOp::Xor => "xor",
            };
            self.emit.scalar("xori x4, x4, -1");
            self.emit.scalar(format!("{name} x4, x4, x6"));
            self.emit.scalar(format!("{name} x1, x1, x6"));
        } else {
            self.emit.scalar("xori x4, x4, -1");
        }
        // x1 is the first result, x4 the second.
        self.store_word(4, ASIDE);
        if let Some(Some(Reg::Lane(reg))) = inst.results.first().copied() {
            self.emit.scalar("addi x4, x1, 0");
            self.put_predicate(reg, inst.guard);
        }
        if let Some(Reg::Lane(reg)) = second {
            self.load_word(4, ASIDE);
            self.put_predicate(reg, inst.guard);
        }
        Ok(())
    }

    /// Computations on predicates, all lanes at once.
    fn predicate(&mut self, inst: &Inst, to: LaneReg) -> Result<(), Missing> {
        let operand = |index: usize| inst.operands.get(index).copied().unwrap_or(Operand::Imm(0));
        self.load_predicate(4, operand(0));
        if inst.operands.len() > 1 {
            self.load_predicate(5, operand(1));
        }
        match inst.op {
            Op::Mov => {}
            Op::And | Op::Mul => self.emit.scalar("and x4, x4, x5"),
            Op::Or => self.emit.scalar("or x4, x4, x5"),
            Op::Xor | Op::Add | Op::Sub => self.emit.scalar("xor x4, x4, x5"),
            Op::AndNot => self.emit.scalar("andn x4, x4, x5"),
            Op::Not => self.emit.scalar("xori x4, x4, -1"),
            Op::Selp => {
                self.load_predicate(6, operand(2));
                self.emit.scalar("and x4, x4, x6");
                self.emit.scalar("andn x5, x5, x6");
                self.emit.scalar("or x4, x4, x5");
            }
            _ => return Err(missing(inst, "such operation on predicates")),
        }
        self.put_predicate(to, inst.guard);
        Ok(())
    }

    fn mask_word(&self, operand: Option<&Operand>) -> Option<u32> {
        match operand {
            Some(Operand::Reg(Reg::Warp(reg))) => self.masks.get(reg.index()).copied(),
            _ => None,
        }
    }

    fn load_mask(&mut self, register: u32, operand: Option<&Operand>) {
        match (self.mask_word(operand), operand) {
            (Some(word), _) => self.load_word(register, word),
            (None, Some(&Operand::Imm(value))) => self.emit.constant(register, value as u32),
            _ => {}
        }
    }

    fn result_mask(&self, inst: &Inst) -> Option<u32> {
        match inst.results.first().copied().flatten() {
            Some(Reg::Warp(reg)) => self.masks.get(reg.index()).copied(),
            _ => None,
        }
    }

    /// Scalar computations on saved masks.
    fn mask_algebra(&mut self, inst: &Inst) -> Result<(), Missing> {
        let Some(to) = self.result_mask(inst) else { return Err(missing(inst, "such register")) };
        self.load_mask(4, inst.operands.first());
        self.load_mask(5, inst.operands.get(1));
        match inst.op {
            Op::Mov => {}
            Op::And => self.emit.scalar("and x4, x4, x5"),
            Op::Or => self.emit.scalar("or x4, x4, x5"),
            Op::Xor => self.emit.scalar("xor x4, x4, x5"),
            Op::AndNot => self.emit.scalar("andn x4, x4, x5"),
            Op::Not => self.emit.scalar("xori x4, x4, -1"),
            _ => return Err(missing(inst, "such operation on masks")),
        }
        self.store_word(4, to);
        Ok(())
    }

    /// Lanes that have ended stay off.
    fn only_alive(&mut self, register: u32) {
        if self.exits {
            let other = if register == 6 { 5 } else { 6 };
            self.load_word(other, ALIVE);
            self.emit.scalar(format!("and x{register}, x{register}, x{other}"));
        }
    }

    /// Operations on EXEC.
    fn exec(&mut self, inst: &Inst) -> Result<(), Missing> {
        let operand = inst.operands.first();
        let predicate = operand.copied().unwrap_or(Operand::Imm(0));
        if !matches!(inst.op, Op::ExecRead | Op::MaskOf | Op::PredOf) {
            self.flush();
        }
        match inst.op {
            Op::ExecRead => {
                self.read_exec(4);
                self.put_mask(inst);
            }
            Op::ExecWrite => {
                self.load_mask(4, operand);
                self.only_alive(4);
                self.emit.once("pmlow.wr 1, x4");
                self.forget();
            }
            Op::ExecAndSave => {
                self.read_exec(4);
                self.put_mask(inst);
                self.load_predicate(5, predicate);
                self.emit.once("pmand 1, x5");
            }
            Op::ExecAndNot => {
                self.load_predicate(5, predicate);
                self.emit.once("pmandn 1, x5");
            }
            Op::ExecXor => {
                self.load_mask(5, operand);
                self.only_alive(5);
                self.read_exec(4);
                self.emit.scalar("andn x4, x5, x4");
                self.emit.once("pmlow.wr 1, x4");
                self.forget();
            }
            Op::ExecOr => {
                self.load_mask(5, operand);
                self.only_alive(5);
                self.emit.once("pmor 1, x5");
                self.forget();
            }
            Op::MaskOf => {
                self.load_predicate(5, predicate);
                self.read_exec(4);
                self.emit.scalar("and x4, x4, x5");
                self.put_mask(inst);
            }
            Op::PredOf => {
                self.load_mask(4, operand);
                if let Some(Reg::Lane(reg)) = inst.results.first().copied().flatten() {
                    self.put_predicate(reg, inst.guard);
                }
            }
            _ => return Err(missing(inst, "such operation on masks")),
        }
        Ok(())
    }

    fn put_mask(&mut self, inst: &Inst) {
        if let Some(word) = self.result_mask(inst) {
            self.store_word(4, word);
        }
    }

    // --- Ends of blocks

    fn end(&mut self, block: &Block) -> Result<(), Missing> {
        let target = |block: ir::BlockId| format!("b{}", block.0);
        self.flush();
        self.scratch = 0;
        match block.term.kind {
            TermKind::Fall => {}
            TermKind::Br(to) => self.emit.jump(&target(to)),
            TermKind::Ret(None) | TermKind::Exit(None) => self.emit.jump("end"),
            TermKind::Ret(Some(guard)) | TermKind::Exit(Some(guard)) => {
                self.guard_mask(guard);
                self.emit.once("pmandn 1, x4");
                self.load_word(5, ALIVE);
                self.emit.scalar("andn x5, x5, x4");
                self.store_word(5, ALIVE);
            }
            TermKind::MaskBr(test, MaskRef::Exec, to) => match test {
                MaskTest::Any => self.some_on(&target(to)),
                MaskTest::None => self.none_on(&target(to)),
            },
            TermKind::MaskBr(test, mask, to) => {
                match mask {
                    MaskRef::Reg(reg) => self.load_mask(4, Some(&Operand::warp(reg))),
                    MaskRef::Pred(reg) => self.guard_mask(Guard { pred: reg, negated: false }),
                    MaskRef::Exec => {}
                }
                let names = match test {
                    MaskTest::Any => ["bne x4, x0, ", "beq x4, x0, "],
                    MaskTest::None => ["beq x4, x0, ", "bne x4, x0, "],
                };
                self.emit.branch(names, "", &target(to));
            }
            TermKind::CondBr(..) | TermKind::Switch(..) => {
                let what = "branch that lanes take apart".to_owned();
                return Err(Missing { what, loc: block.term.loc });
            }
        }
        Ok(())
    }
}

/// Predicates that occur in one block alone, and are written before they are read, by all lanes
/// that are on.
fn local(function: &Function) -> FxHashSet<LaneReg> {
    let mut home: FxHashMap<LaneReg, usize> = FxHashMap::default();
    let mut shared: FxHashSet<LaneReg> = FxHashSet::default();
    for (index, block) in function.blocks.iter().enumerate() {
        let mut written: FxHashSet<LaneReg> = FxHashSet::default();
        for inst in &block.insts {
            for reg in reads(inst).filter(|reg| !written.contains(reg)) {
                shared.insert(reg);
            }
            for reg in super::live::writes(inst) {
                if inst.guard.is_none() {
                    written.insert(reg);
                } else if !written.contains(&reg) {
                    shared.insert(reg);
                }
                if *home.entry(reg).or_insert(index) != index {
                    shared.insert(reg);
                }
            }
        }
        if let Some(reg) = end_reads(&block.term).filter(|reg| !written.contains(reg)) {
            shared.insert(reg);
        }
    }
    (0..function.regs.len() as u32).map(LaneReg).filter(|reg| !shared.contains(reg)).collect()
}
