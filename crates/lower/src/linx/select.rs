//! From instructions of the kernel to instructions of a body.

use super::barriers::Barriers;
use super::code::{Body, Inst, Item, Mask, Src, Val, When};
use super::layout::Layout;
use crate::Missing;
use ir::module::{Block, Guard};
use ir::op::Class;
use ir::{Function, LaneReg, LocId, Op, Operand, Reg, RegTy, Ty};
use rustc_hash::FxHashMap;

/// A comparison that a branch may make again, straight into the mask.
#[derive(Clone, Debug)]
pub(super) struct Compare {
    pub(super) text: String,
    /// The text of the comparison that holds where this one does not.
    pub(super) opposite: Option<String>,
    pub(super) sources: Vec<(Src, &'static str)>,
}

pub(super) struct Select<'a> {
    pub(super) function: &'a Function,
    pub(super) layout: &'a Layout,
    pub(super) body: Body,
    /// Registers that are another name of what is always there, or of a constant.
    pub(super) alias: FxHashMap<LaneReg, Alias>,
    /// How often each register is read.
    pub(super) reads: FxHashMap<LaneReg, u32>,
    pub(super) compares: FxHashMap<LaneReg, Compare>,
    /// Sums and products of this block that an access may compute itself.
    pub(super) parts: FxHashMap<LaneReg, Part>,
    /// The lanes that have not ended, if some end before the others.
    pub(super) alive: Option<Val>,
    /// Barriers of the kernel, if it has some.
    pub(super) barriers: Option<Barriers>,
    pub(super) labels: u32,
    pub(super) loc: LocId,
}

/// How a register was computed.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// An import and a value of each lane.
    Sum(String, LaneReg),
    /// A value as it is read, shifted left.
    Scaled(Src, &'static str, u32),
}

/// What a register stands for everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Alias {
    Fixed(String),
    Constant(u64),
}

/// Where a result goes.
pub(super) type To = (Val, char);

/// The letter of a width.
pub(super) fn letter(bits: u32) -> char {
    match bits {
        64 => 'd',
        32 => 'w',
        16 => 'h',
        _ => 'b',
    }
}

/// The suffix of an integer operand.
pub(super) fn suffix(bits: u32, signed: bool) -> &'static str {
    match (bits, signed) {
        (64, false) => "ud",
        (32, false) => "uw",
        (16, false) => "uh",
        (_, false) => "ub",
        (64, true) => "sd",
        (32, true) => "sw",
        (16, true) => "sh",
        (_, true) => "sb",
    }
}

/// The suffix of an operand of a type.
pub(super) fn of(ty: Ty) -> &'static str {
    match ty {
        Ty::F64 => "fd",
        Ty::F32 => "fs",
        Ty::F16 => "fh",
        _ => suffix(ty.bits(), ty.is_signed()),
    }
}

/// The suffix of a type's plain bits.
pub(super) fn plain(ty: Ty) -> &'static str {
    suffix(ty.bits(), false)
}

impl Select<'_> {
    pub(super) fn missing(&self, what: impl Into<String>) -> Missing {
        Missing { what: what.into(), loc: self.loc }
    }

    pub(super) fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels - 1
    }

    /// Emits an instruction: its name, its sources in order, its result.
    pub(super) fn op(&mut self, name: &str, sources: &[(Src, &'static str)], to: To) {
        let holes: Vec<String> = (0..sources.len()).map(|i| format!("{{{i}}}")).collect();
        self.text(format!("{name} {}", holes.join(", ")), sources, Some(to));
    }

    /// The same with an immediate as its last operand.
    pub(super) fn op_imm(&mut self, name: &str, source: (Src, &'static str), imm: i64, to: To) {
        self.text(format!("{name} {{0}}, {imm}"), &[source], Some(to));
    }

    pub(super) fn text(
        &mut self,
        text: String,
        sources: &[(Src, &'static str)],
        result: Option<To>,
    ) {
        self.push(Inst {
            text,
            sources: sources.to_vec(),
            result,
            mask: None,
            saves: false,
            effect: result.is_none(),
            loc: self.loc,
        });
    }

    pub(super) fn push(&mut self, inst: Inst) {
        self.body.items.push(Item::Inst(inst));
    }

    /// An instruction on a temporary of its own.
    pub(super) fn temp(&mut self, name: &str, sources: &[(Src, &'static str)], width: char) -> Src {
        let to = self.body.lane();
        self.op(name, sources, (to, width));
        Src::Val(to)
    }

    pub(super) fn temp_imm(
        &mut self,
        name: &str,
        source: (Src, &'static str),
        imm: i64,
        width: char,
    ) -> Src {
        let to = self.body.lane();
        self.op_imm(name, source, imm, (to, width));
        Src::Val(to)
    }

    pub(super) fn constant(&mut self, value: u64) -> Src {
        match value {
            0 => Src::zero(),
            _ => Src::Val(self.body.constant(value)),
        }
    }

    /// The constant that an operand is, cut to a number of bits.
    pub(super) fn known(&self, operand: &Operand, bits: u32) -> Option<u64> {
        let ones = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        let value = match operand {
            Operand::Imm(value) => *value as u64,
            Operand::Reg(Reg::Lane(reg)) => match self.alias.get(reg)? {
                Alias::Constant(value) => *value,
                Alias::Fixed(_) => return None,
            },
            Operand::Symbol(symbol, offset) => self.layout.address(*symbol, *offset)?,
            _ => return None,
        };
        Some(value & ones)
    }

    /// An operand of a number of bits.
    pub(super) fn src(&mut self, operand: &Operand, bits: u32) -> Result<Src, Missing> {
        if let Some(value) = self.known(operand, bits) {
            return Ok(self.constant(value));
        }
        match operand {
            Operand::Reg(Reg::Lane(reg)) => Ok(match self.alias.get(reg) {
                Some(Alias::Fixed(name)) => Src::fixed(name),
                _ => Src::Val(Val::Lane(reg.0)),
            }),
            Operand::Symbol(..) => Err(self.missing("addresses of functions")),
            _ => Err(self.missing("such operand")),
        }
    }

    /// A value of fewer bits than a cell as one of 64 bits whose others are zero, as all cells are;
    /// imports may hold more.
    pub(super) fn cell(&mut self, src: Src, bits: u32) -> Src {
        match src {
            Src::Fixed(_) if bits < 64 => {
                self.temp_imm("v.addi", (src, suffix(bits, false)), 0, 'd')
            }
            _ => src,
        }
    }

    /// An operand of an instruction.
    pub(super) fn arg(&mut self, inst: &ir::Inst, index: usize, bits: u32) -> Result<Src, Missing> {
        match inst.operands.get(index) {
            Some(operand) => self.src(&operand.clone(), bits),
            None => Err(self.missing(format!("form of `{}` with so few operands", inst.op.name()))),
        }
    }

    /// Where a result of an instruction goes; a temporary if it is dropped.
    pub(super) fn to(&mut self, inst: &ir::Inst, index: usize) -> Result<To, Missing> {
        match inst.results.get(index).copied().flatten() {
            Some(Reg::Lane(reg)) => {
                let info = self.function.regs.get(reg.index());
                let ty = info.map_or(RegTy::B32, |info| info.ty);
                if ty.bits() > 64 {
                    return Err(self.missing("values of 128 bits"));
                }
                Ok((Val::Lane(reg.0), letter(ty.bits())))
            }
            Some(Reg::Warp(_)) => Err(self.missing("scalars of the warp")),
            None => Ok((self.body.lane(), 'd')),
        }
    }

    /// All instructions of a block.
    pub(super) fn block(&mut self, block: &Block) -> Result<(), Missing> {
        self.compares.clear();
        self.parts.clear();
        let mut at = 0;
        while let Some(inst) = block.insts.get(at) {
            self.loc = inst.loc;
            let Some(guard) = inst.guard else {
                self.inst(inst)?;
                at += 1;
                continue;
            };
            if self.selects(inst) {
                self.guarded(inst, guard)?;
                at += 1;
                continue;
            }
            // Instructions under one guard run under one mask.
            let same = |i: &&ir::Inst| i.guard == Some(guard) && !writes(i, guard.pred);
            let count = block.insts[at..].iter().take_while(same).count().max(1);
            let save = self.save();
            self.narrow(guard)?;
            for inst in &block.insts[at..at + count] {
                self.loc = inst.loc;
                self.inst(inst)?;
            }
            self.restore(save);
            at += count;
        }
        Ok(())
    }

    /// Whether a guarded instruction becomes a select.
    fn selects(&self, inst: &ir::Inst) -> bool {
        let one = matches!(inst.results.as_slice(), [Some(Reg::Lane(_))]);
        inst.op.info().class == Class::Compute && one
    }

    /// Computes in all lanes that are on, and keeps the old value where the guard does not hold.
    fn guarded(&mut self, inst: &ir::Inst, guard: Guard) -> Result<(), Missing> {
        let to = self.to(inst, 0)?;
        let new = self.body.lane();
        let before = self.body.items.len();
        self.inst(inst)?;
        for item in &mut self.body.items[before..] {
            if let Item::Inst(made) = item
                && let Some((val, _)) = &mut made.result
                && *val == to.0
            {
                *val = new;
            }
        }
        let pred = self.src(&Operand::lane(guard.pred), 8)?;
        let bits = suffix(if to.1 == 'd' { 64 } else { 32 }, false);
        let (new, old) = ((Src::Val(new), bits), (Src::Val(to.0), bits));
        let (yes, no) = if guard.negated { (old, new) } else { (new, old) };
        self.forget(to.0);
        self.op("v.csel", &[(pred, "ub"), yes, no], to);
        Ok(())
    }

    /// Comparisons whose operands or result have changed cannot be made again.
    pub(super) fn forget(&mut self, val: Val) {
        let Val::Lane(written) = val else { return };
        self.compares.retain(|reg, compare| {
            reg.0 != written && !compare.sources.iter().any(|(src, _)| *src == Src::Val(val))
        });
        self.parts.retain(|reg, part| {
            let reads = match part {
                Part::Sum(_, lane) => lane.0 == written,
                Part::Scaled(src, ..) => *src == Src::Val(val),
            };
            reg.0 != written && !reads
        });
    }

    fn inst(&mut self, inst: &ir::Inst) -> Result<(), Missing> {
        if self.is_alias(inst) {
            return Ok(());
        }
        for result in inst.results.iter().flatten() {
            if let Reg::Lane(reg) = result {
                self.forget(Val::Lane(reg.0));
            }
        }
        match inst.op.info().class {
            Class::Compute => {
                self.compute(inst)?;
                self.remember(inst);
                Ok(())
            }
            Class::Memory => self.memory(inst),
            Class::Barrier if inst.op == Op::Bar => self.barrier(inst),
            Class::Exec => self.exec(inst),
            Class::System if inst.op == Op::Nop || inst.op == Op::Nanosleep => Ok(()),
            Class::Collective if inst.op == Op::WarpSync => self.barrier(inst),
            Class::System if inst.op == Op::Trap => {
                let over = self.label();
                self.body.items.push(Item::Branch(When::NoLane, over));
                self.text("ebreak 1".to_owned(), &[], None);
                self.body.items.push(Item::Label(over, "no lane traps".to_owned()));
                Ok(())
            }
            _ => Err(self.missing(format!("operation `{}`", inst.op.name()))),
        }
    }

    /// Whether an instruction only makes a name for what is always there.
    fn is_alias(&self, inst: &ir::Inst) -> bool {
        match inst.results.as_slice() {
            [Some(Reg::Lane(reg))] => self.alias.contains_key(reg),
            _ => false,
        }
    }

    /// A mask's copy of what is on.
    pub(super) fn save(&mut self) -> Val {
        let to = self.body.group();
        self.save_to(to);
        to
    }

    pub(super) fn save_to(&mut self, to: Val) {
        self.push(Inst {
            text: "v.addi p.ud, 0".to_owned(),
            sources: Vec::new(),
            result: Some((to, 'd')),
            mask: None,
            saves: true,
            effect: false,
            loc: self.loc,
        });
    }

    /// Turns lanes on again that were on when the mask was saved.
    pub(super) fn restore(&mut self, save: Val) {
        match self.alive {
            None => self.set_mask("v.addi {0}, 0", &[save], Mask::Restored(save)),
            Some(alive) => self.set_mask("v.and {0}, {1}", &[save, alive], Mask::Within(save)),
        }
    }

    /// Computes the mask from masks.
    pub(super) fn set_mask(&mut self, text: &str, sources: &[Val], mask: Mask) {
        self.push(Inst {
            text: format!("{text}, ->p"),
            sources: sources.iter().map(|&val| (Src::Val(val), "ud")).collect(),
            result: None,
            mask: Some(mask),
            saves: false,
            effect: true,
            loc: self.loc,
        });
    }

    /// Computes a mask of the group.
    pub(super) fn group(&mut self, text: &str, sources: &[(Src, &'static str)], to: Val) {
        self.text(text.to_owned(), sources, Some((to, 'd')));
    }

    /// Turns lanes off where a guard does not hold.
    pub(super) fn narrow(&mut self, guard: Guard) -> Result<(), Missing> {
        let once = self.reads.get(&guard.pred) == Some(&1);
        let again = self.compares.get(&guard.pred).filter(|_| once).cloned();
        let text = again.as_ref().and_then(|compare| match guard.negated {
            false => Some(compare.text.clone()),
            true => compare.opposite.clone(),
        });
        let (text, sources) = match (text, again) {
            (Some(text), Some(compare)) => (text, compare.sources),
            _ => {
                let pred = self.src(&Operand::lane(guard.pred), 8)?;
                let name = if guard.negated { "v.cmp.eqi" } else { "v.cmp.nei" };
                (format!("{name} {{0}}, 0"), vec![(pred, "ub")])
            }
        };
        self.push(Inst {
            text: format!("{text}, ->p"),
            sources,
            result: None,
            mask: Some(Mask::Narrowed),
            saves: false,
            effect: true,
            loc: self.loc,
        });
        Ok(())
    }
}

fn writes(inst: &ir::Inst, pred: LaneReg) -> bool {
    inst.results.iter().flatten().any(|reg| *reg == Reg::Lane(pred))
}
