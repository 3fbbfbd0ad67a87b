//! Instructions for each operation of the IR.

use super::Assembly;
use super::data::Data;
use super::packets::pack;
use super::text::{Code, Line, SLOTS_OF_BASE, text};
use super::values::{FIRST_SCRATCH, short, whole};
use crate::Missing;
use ir::mods::{BoolOp, Flag, Order, Rounding, Space};
use ir::module::{MaskRef, Symbol};
use ir::sreg::Sreg;
use ir::{Function, Inst, LaneReg, LocId, Op, Operand, Reg, TermKind, Ty};
use rustc_hash::FxHashMap;
use std::fmt::Write;

pub(super) struct Select<'a> {
    function: &'a Function,
    file: FxHashMap<LaneReg, u8>,
    assigned: &'a FxHashMap<LaneReg, u32>,
    pub(super) data: &'a Data,
    lines: Vec<Line>,
    /// The instruction of the IR in hand.
    loc: LocId,
    /// The predicate in force.
    pred: u8,
    /// The predicate for ballots.
    scratch: u8,
    /// The first word of each parameter, and how many it takes.
    params: Vec<(u32, u32)>,
    arguments: Vec<(u32, u32)>,
}

/// Writes the function.
pub(super) fn select(
    function: &Function,
    file: &[LaneReg],
    assigned: &FxHashMap<LaneReg, u32>,
    (bases, scratch): (u32, Option<u32>),
    data: &Data,
    line: &dyn Fn(LocId) -> Option<String>,
) -> Result<Assembly, Missing> {
    let numbered = (1u8..).zip(file).map(|(i, &reg)| (reg, i));
    let mut this = Select {
        function,
        file: numbered.collect(),
        assigned,
        data,
        lines: Vec::new(),
        loc: LocId(0),
        pred: 0,
        scratch: scratch.unwrap_or(0) as u8,
        params: Vec::new(),
        arguments: Vec::new(),
    };
    let params = this.params();
    this.bases(bases);
    for (i, block) in function.blocks.iter().enumerate() {
        this.pred = 0;
        let label = u32::try_from(i).unwrap_or(u32::MAX);
        this.lines.push(Line::Label(label, block.name.clone()));
        for inst in &block.insts {
            this.loc = inst.loc;
            this.inst(inst)?;
        }
        this.loc = block.term.loc;
        this.end(&block.term)?;
    }
    let used = assigned.values().max().copied().unwrap_or(0);
    let free: Vec<u32> = (used + 1..FIRST_SCRATCH - bases).collect();
    let (code, instructions) = text(&pack(this.lines, &free), line);
    let mut out = format!("# kernel {}\n{params}    .text\n{code}", function.name);
    out.push_str(&data.text);
    let registers = used + bases + 64 - FIRST_SCRATCH;
    let arguments = this.arguments;
    Ok(Assembly { text: out, instructions, registers, spilled: 0, words: 0, arguments })
}

impl Select<'_> {
    pub(super) fn code(&mut self, text: String) {
        let code = Code { text, pred: self.pred, loc: self.loc, open: false };
        self.lines.push(Line::Code(code));
    }

    pub(super) fn reg(&self, reg: LaneReg) -> u32 {
        self.assigned.get(&reg).copied().unwrap_or(0)
    }

    pub(super) fn missing(&self, inst: &Inst, what: &str) -> Missing {
        let name = inst.op.name();
        let ty = inst.ty.map_or(String::new(), |t| format!(".{t}"));
        Missing { what: format!("{what} (for `{name}{ty}`)"), loc: inst.loc }
    }

    /// Whether an instruction reads a word of a parameter.
    fn reads_word(&self, index: u32, word: i64) -> bool {
        let reads = |inst: &Inst| match inst.operands.first() {
            Some(&Operand::Symbol(Symbol::Param(of), at)) => {
                of == index && (at + inst.offset) / 4 == word
            }
            _ => false,
        };
        self.function.blocks.iter().flat_map(|block| &block.insts).any(reads)
    }

    fn params(&mut self) -> String {
        let mut out = String::new();
        for (index, param) in (0u32..).zip(self.function.params()) {
            let first = self.arguments.len() as u32;
            let pointer = param.size == 8 && !self.reads_word(index, 1);
            if param.size <= 4 || pointer {
                let kind = if pointer { " ptr" } else { "" };
                let _ = writeln!(out, "    .param {}{kind}", param.name);
                self.arguments.push((param.offset, param.size.min(4)));
            } else {
                for at in (0..param.size).step_by(4) {
                    let _ = writeln!(out, "    .param {}_{}", param.name, at / 4);
                    self.arguments.push((param.offset + at, (param.size - at).min(4)));
                }
            }
            self.params.push((first, self.arguments.len() as u32 - first));
        }
        out
    }

    /// Base registers of the warp's spill slots, each in the middle of what it reaches.
    fn bases(&mut self, bases: u32) {
        if bases == 0 {
            return;
        }
        let bytes = self.data.slots * 4;
        for line in ["csrr x62, bid", "addi x63, x0, 31", "and x62, x62, x63", "slli x62, x62, 5"] {
            self.code(line.to_owned());
        }
        for line in ["csrr x63, tid", "srli x63, x63, 5", "add x62, x62, x63"] {
            self.code(line.to_owned());
        }
        let size = self.constant(bytes, 63);
        self.code(format!("mul x62, x62, x{size}"));
        // The data section begins here.
        let start = self.constant(super::data::START + 32, 63);
        self.code(format!("add x{}, x62, x{start}", FIRST_SCRATCH - 1));
        for i in 1..bases {
            self.code("addi x63, x0, 31".to_owned());
            self.code("addi x63, x63, 31".to_owned());
            self.code("addi x63, x63, 2".to_owned());
            self.code(format!("add x{}, x{}, x63", FIRST_SCRATCH - 1 - i, FIRST_SCRATCH - i));
        }
    }

    /// Where a spill slot lies: offset and base.
    fn slot(inst: &Inst) -> (i64, u32) {
        Self::place(Self::immediate(inst, 0).unwrap_or(0))
    }

    fn place(slot: u32) -> (i64, u32) {
        let base = FIRST_SCRATCH - 1 - slot / SLOTS_OF_BASE;
        (i64::from(slot % SLOTS_OF_BASE) * 4 - 32, base)
    }

    fn pred_of(&self, operand: Option<&Operand>) -> Option<u8> {
        match operand {
            Some(Operand::Reg(Reg::Lane(reg))) => self.file.get(reg).copied(),
            _ => None,
        }
    }

    fn end(&mut self, term: &ir::Term) -> Result<(), Missing> {
        match term.kind {
            TermKind::Fall => {}
            TermKind::Ret(guard) | TermKind::Exit(guard) => {
                // A guard that is not a predicate of the machine is one that always holds.
                self.pred = guard.and_then(|g| self.file.get(&g.pred).copied()).unwrap_or(0);
                if self.pred == 31 {
                    let what = "way to end the lanes of p31, which means all".to_owned();
                    return Err(Missing { what, loc: term.loc });
                }
                self.code("halt".to_owned());
                self.pred = 0;
            }
            TermKind::MaskBr(_, MaskRef::Pred(reg), to) => {
                let pred = self.file.get(&reg).copied().unwrap_or(0);
                self.lines.push(Line::Jump(pred, to.0));
            }
            _ => {
                let what = "branches on masks other than a predicate's (calls)".to_owned();
                return Err(Missing { what, loc: term.loc });
            }
        }
        Ok(())
    }

    fn inst(&mut self, inst: &Inst) -> Result<(), Missing> {
        let guard = inst.guard.and_then(|g| self.file.get(&g.pred).copied());
        self.pred = guard.unwrap_or(0);
        let result = inst.results.first().copied().flatten();
        let made = result.map(Operand::Reg);
        if let Some(to) = self.pred_of(made.as_ref()) {
            return self.mask(inst, to);
        }
        if inst.op == Op::PredSpill {
            let (offset, base) = Self::slot(inst);
            let pred = self.pred_of(inst.operands.get(1)).unwrap_or(0);
            self.code(format!("prsw p{pred}, {offset}(x{base})"));
            return Ok(());
        }
        for flag in inst.mods.flags.iter() {
            let what = match flag {
                Flag::Ftz => "flush to zero",
                Flag::Sat | Flag::SatFinite => "saturation",
                _ => continue,
            };
            return Err(self.missing(inst, what));
        }
        let to = match result {
            Some(Reg::Lane(reg)) => self.reg(reg),
            Some(Reg::Warp(_)) => return Err(self.missing(inst, "scalars of the warp")),
            None => 0,
        };
        self.operation(inst, to)
    }

    /// Instructions that write a predicate of the machine.
    fn mask(&mut self, inst: &Inst, to: u8) -> Result<(), Missing> {
        let from = self.pred_of(inst.operands.first());
        let data = |this: &Self, index: usize| match inst.operands.get(index) {
            Some(&Operand::Reg(Reg::Lane(reg))) => this.reg(reg),
            _ => 0,
        };
        self.pred = from.unwrap_or(0);
        match (inst.op, from) {
            (Op::And, _) => self.code(format!("bne p{to}, x{}, x0", data(self, 1))),
            (Op::AndNot, _) => self.code(format!("beq p{to}, x{}, x0", data(self, 1))),
            // Of a predicate, or of all lanes.
            (Op::Mov, Some(_)) => self.code(format!("beq p{to}, x0, x0")),
            (Op::Mov, None) if Self::immediate(inst, 0).is_some() => {
                self.code(format!("beq p{to}, x0, x0"));
            }
            (Op::Mov, None) => self.code(format!("bne p{to}, x{}, x0", data(self, 0))),
            (Op::Not, _) => self.code(format!("beq p{to}, x{}, x0", data(self, 0))),
            (Op::PredFill, _) => {
                let (offset, base) = Self::slot(inst);
                self.code(format!("prlw p{to}, {offset}(x{base})"));
            }
            _ => return Err(self.missing(inst, "such operation on predicates")),
        }
        self.pred = 0;
        Ok(())
    }

    fn operation(&mut self, inst: &Inst, to: u32) -> Result<(), Missing> {
        match inst.op {
            Op::Mov => self.mov(inst, to),
            Op::Sreg => self.sreg(inst, to),
            Op::Ld | Op::St => self.memory(inst),
            Op::Setp => self.setp(inst, to),
            Op::Cvt => self.convert(inst, to),
            Op::CvtaTo | Op::CvtaFrom if inst.mods.space == Some(Space::Global) => {
                self.mov(inst, to)
            }
            Op::Ballot => self.ballot(inst, to),
            Op::Nop => {
                self.code("addi x0, x0, 0".to_owned());
                Ok(())
            }
            // An access that is not aligned stops the machine.
            Op::Trap => {
                self.code("lw x0, 1(x0)".to_owned());
                Ok(())
            }
            _ => self.compute(inst, to),
        }
    }

    /// The lanes in which a predicate holds: as a mask, through memory. The base of spill slots is
    /// in all lanes that the warp began with, so in the lane that `prsw` takes it from.
    fn ballot(&mut self, inst: &Inst, to: u32) -> Result<(), Missing> {
        let (offset, base) = Self::place(self.function.spill_slots);
        let (mask, pred) = (self.scratch, self.pred);
        let holds = self.value(inst, 0, 60)?;
        self.code(format!("bne p{mask}, x{holds}, x0"));
        self.pred = 0;
        self.code(format!("prsw p{mask}, {offset}(x{base})"));
        self.pred = pred;
        self.code(format!("lw x{to}, {offset}(x{base})"));
        Ok(())
    }

    /// Whether the operation works on what the low 32 bits of its operands give.
    fn low(&self, inst: &Inst) -> Result<(), Missing> {
        let ty = inst.ty.unwrap_or(Ty::B32);
        if ty == Ty::Pred || whole(ty) {
            return Ok(());
        }
        Err(self.missing(inst, &format!("operations on {ty} values")))
    }

    fn mov(&mut self, inst: &Inst, to: u32) -> Result<(), Missing> {
        if inst.ty != Some(Ty::F32) {
            self.low(inst)?;
        }
        if let Some(value) = Self::immediate(inst, 0) {
            if value == 0 || short(value) {
                self.code(format!("addi x{to}, x0, {}", value.cast_signed()));
            } else {
                self.constant(value, to);
            }
            return Ok(());
        }
        let from = self.value(inst, 0, 60)?;
        self.code(format!("addi x{to}, x{from}, 0"));
        Ok(())
    }

    fn sreg(&mut self, inst: &Inst, to: u32) -> Result<(), Missing> {
        let Some(&Operand::Sreg(sreg)) = inst.operands.first() else {
            return Err(self.missing(inst, "such special register"));
        };
        match sreg {
            Sreg::TidX => self.code(format!("csrr x{to}, tid")),
            Sreg::CtaidX => self.code(format!("csrr x{to}, bid")),
            Sreg::NtidX => self.code(format!("csrr x{to}, bdim")),
            // Launches have one dimension.
            Sreg::TidY | Sreg::TidZ | Sreg::CtaidY | Sreg::CtaidZ => {
                self.code(format!("addi x{to}, x0, 0"));
            }
            Sreg::NtidY | Sreg::NtidZ | Sreg::NctaidY | Sreg::NctaidZ => {
                self.code(format!("addi x{to}, x0, 1"));
            }
            Sreg::LaneId => {
                self.code("csrr x62, tid".to_owned());
                self.code("addi x63, x0, 31".to_owned());
                self.code(format!("and x{to}, x62, x63"));
            }
            Sreg::WarpId => {
                self.code("csrr x62, tid".to_owned());
                self.code(format!("srli x{to}, x62, 5"));
            }
            other => {
                let what = format!("special register `{}`", other.name());
                return Err(self.missing(inst, &what));
            }
        }
        Ok(())
    }

    fn setp(&mut self, inst: &Inst, to: u32) -> Result<(), Missing> {
        let (a, b) = (self.value(inst, 0, 60)?, self.value(inst, 1, 61)?);
        let second = match inst.results.get(1).copied().flatten() {
            Some(Reg::Lane(reg)) => Some(self.reg(reg)),
            _ => None,
        };
        if inst.mods.bool_op.is_none() && second.is_none() {
            return self.compare(to, inst, a, b);
        }
        // The result may be the operand that it is combined with.
        self.compare(60, inst, a, b)?;
        self.code("xori x61, x60, 1".to_owned());
        if let Some(join) = inst.mods.bool_op {
            let name = match join {
                BoolOp::And => "and",
                BoolOp::Or => "or",
                BoolOp::Xor => "xor",
            };
            let with = self.value(inst, 2, 62)?;
            self.code(format!("{name} x60, x60, x{with}"));
            self.code(format!("{name} x61, x61, x{with}"));
        }
        if inst.results.first().copied().flatten().is_some() {
            self.code(format!("addi x{to}, x60, 0"));
        }
        if let Some(second) = second {
            self.code(format!("addi x{second}, x61, 0"));
        }
        Ok(())
    }

    fn convert(&mut self, inst: &Inst, to: u32) -> Result<(), Missing> {
        let (ty, from) = (inst.ty.unwrap_or(Ty::B32), inst.ty2.unwrap_or(Ty::B32));
        let what = format!("conversion from {from} to {ty}");
        let a = self.value(inst, 0, 60)?;
        let rounding = inst.mods.rounding;
        match (ty, from) {
            _ if inst.operands.len() > 1 => return Err(self.missing(inst, &what)),
            (ty, from) if whole(ty) && whole(from) => self.code(format!("addi x{to}, x{a}, 0")),
            (Ty::F32, Ty::S32) if matches!(rounding, None | Some(Rounding::Rn)) => {
                self.code(format!("itof x{to}, x{a}"));
            }
            (Ty::S32, Ty::F32) if matches!(rounding, Some(Rounding::Rzi | Rounding::Rz)) => {
                self.code(format!("ftoi x{to}, x{a}"));
            }
            _ => return Err(self.missing(inst, &what)),
        }
        Ok(())
    }

    fn memory(&mut self, inst: &Inst) -> Result<(), Missing> {
        let ty = inst.ty.unwrap_or(Ty::B32);
        let space = inst.mods.space.unwrap_or(Space::Generic);
        if !matches!(inst.mods.order, None | Some(Order::Weak | Order::Relaxed | Order::Volatile)) {
            return Err(self.missing(inst, "ordered accesses"));
        }
        if space == Space::Param {
            return self.parameter(inst, ty);
        }
        if !matches!(space, Space::Global | Space::Generic) {
            return Err(self.missing(inst, &format!("{space:?} memory").to_lowercase()));
        }
        let Some((load, store)) = Self::names(ty) else {
            return Err(self.missing(inst, &format!("accesses to {ty} values")));
        };
        let address = self.value(inst, 0, 60)?;
        let count = if inst.op == Op::Ld { inst.results.len() } else { inst.operands.len() - 1 };
        for i in 0..count {
            let offset = inst.offset + i64::from(ty.bytes()) * i as i64;
            let (base, offset) = self.reach(address, offset, count > 1);
            if inst.op == Op::St {
                let value = self.value(inst, i + 1, 61)?;
                self.code(format!("{store} x{value}, {offset}(x{base})"));
                continue;
            }
            let to = match inst.results[i] {
                Some(Reg::Lane(reg)) => self.reg(reg),
                _ => 0,
            };
            // The address may be overwritten by the first of several values.
            let overwrites = to == base && i + 1 < count;
            if overwrites {
                self.code(format!("addi x60, x{base}, 0"));
                return self.rest_of_load(inst, ty, load, (60, i));
            }
            self.load_one(load, ty, to, offset, base);
        }
        Ok(())
    }

    /// The values of a load from the `first` on, by a copy of the address.
    fn rest_of_load(
        &mut self,
        inst: &Inst,
        ty: Ty,
        load: &str,
        (address, first): (u32, usize),
    ) -> Result<(), Missing> {
        for i in first..inst.results.len() {
            let offset = inst.offset + i64::from(ty.bytes()) * i as i64;
            let (base, offset) = self.reach(address, offset, true);
            let to = match inst.results[i] {
                Some(Reg::Lane(reg)) => self.reg(reg),
                _ => 0,
            };
            self.load_one(load, ty, to, offset, base);
        }
        Ok(())
    }

    fn load_one(&mut self, load: &str, ty: Ty, to: u32, offset: i64, base: u32) {
        self.code(format!("{load} x{to}, {offset}(x{base})"));
        let unsigned = match ty {
            Ty::U16 | Ty::B16 => 16,
            Ty::U8 | Ty::B8 => 24,
            _ => return,
        };
        self.code(format!("slli x{to}, x{to}, {unsigned}"));
        self.code(format!("srli x{to}, x{to}, {unsigned}"));
    }

    /// An address with an offset that fits: a base and the offset from it.
    fn reach(&mut self, address: u32, offset: i64, keep: bool) -> (u32, i64) {
        if (-32..32).contains(&offset) {
            return (address, offset);
        }
        // Addresses wrap at 32 bits.
        let scratch = if keep { 63 } else { 62 };
        let add = self.constant(offset as u32, scratch);
        self.code(format!("add x62, x{address}, x{add}"));
        (62, 0)
    }

    fn parameter(&mut self, inst: &Inst, ty: Ty) -> Result<(), Missing> {
        let Some(&Operand::Symbol(Symbol::Param(index), within)) = inst.operands.first() else {
            return Err(self.missing(inst, "computed parameter addresses"));
        };
        let at = within + inst.offset;
        let size = self.function.params().get(index as usize).map_or(0, |p| p.size);
        let one = inst.op == Op::Ld && inst.results.len() == 1 && ty.bytes() <= 4;
        let bytes = i64::from(ty.bytes());
        if !one || at % bytes != 0 || !(0..=i64::from(size) - bytes).contains(&at) {
            return Err(self.missing(inst, "access to parts of parameters"));
        }
        let to = match inst.results[0] {
            Some(Reg::Lane(reg)) => self.reg(reg),
            _ => 0,
        };
        let (first, count) = self.params[index as usize];
        if at / 4 >= i64::from(count) {
            // Of a pointer.
            self.code(format!("addi x{to}, x0, 0"));
            return Ok(());
        }
        self.code("csrr x60, argp".to_owned());
        let (base, offset) = self.reach(60, 4 * i64::from(first) + at, false);
        let (load, _) = Self::names(ty).unwrap_or(("lw", "sw"));
        self.load_one(load, ty, to, offset, base);
        Ok(())
    }

    /// Load and store of a type.
    fn names(ty: Ty) -> Option<(&'static str, &'static str)> {
        Some(match ty {
            Ty::F32 => ("lw", "sw"),
            ty if whole(ty) => ("lw", "sw"),
            Ty::S16 | Ty::U16 | Ty::B16 => ("lh", "sh"),
            Ty::S8 | Ty::U8 | Ty::B8 => ("lb", "sb"),
            _ => return None,
        })
    }
}
