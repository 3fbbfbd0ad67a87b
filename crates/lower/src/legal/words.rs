//! The first stage: 64-bit values become pairs of words, small ones words.
//!
//! What always holds after it:
//!
//! - each register is a word or a predicate. The register of a 64-bit value keeps its number for
//!   the low word; a value of 8 or 16 bits is a word whose upper bits are zero;
//! - an address is the low word of what it was.

use super::build::{Builder, word};
use super::half::half;
use super::integer::carry_at;
use super::pairs::{PAIRS, Pair};
use crate::Missing;
use ir::mods::{BoolOp, Flag, Space};
use ir::module::Signature;
use ir::op::Class;
use ir::{Block, Function, Inst, LaneReg, Module, Op, Operand, Reg, RegTy, Ty};
use rustc_hash::FxHashMap;

/// The function with words for all values.
pub(super) fn words(source: &Function, module: &Module) -> Result<Function, Missing> {
    let mut stage = Words::new(source, module);
    let mut done = Vec::with_capacity(source.blocks.len());
    for block in &source.blocks {
        for inst in &block.insts {
            stage.builder.stand_for(inst);
            stage.inst(inst)?;
        }
        let insts = std::mem::take(&mut stage.builder.insts);
        done.push(Block { name: block.name.clone(), insts, term: block.term.clone() });
    }
    let mut function = stage.builder.function;
    function.blocks = done;
    Ok(function)
}

pub(super) struct Words<'a> {
    pub(super) builder: Builder,
    /// What registers were before.
    before: Vec<RegTy>,
    high: FxHashMap<LaneReg, LaneReg>,
    module: &'a Module,
}

pub(super) fn missing(inst: &Inst, what: &str) -> Missing {
    let ty = inst.ty.map_or(String::new(), |ty| format!(".{ty}"));
    Missing { what: format!("{what} (for `{}{ty}`)", inst.op.name()), loc: inst.loc }
}

/// Whether a type is a 64-bit integer, or 64 bits of anything.
fn long(ty: Ty) -> bool {
    matches!(ty, Ty::U64 | Ty::S64 | Ty::B64)
}

fn small(ty: Ty) -> bool {
    matches!(ty, Ty::U8 | Ty::S8 | Ty::B8 | Ty::U16 | Ty::S16 | Ty::B16)
}

impl<'a> Words<'a> {
    fn new(source: &Function, module: &'a Module) -> Self {
        let before: Vec<RegTy> = source.regs.iter().map(|reg| reg.ty).collect();
        let mut function = Function { blocks: Vec::new(), ..source.clone() };
        let mut high = FxHashMap::default();
        for (index, ty) in (0u32..).zip(&before) {
            let reg = LaneReg(index);
            match ty {
                RegTy::B64 => {
                    let name = format!("{}.high", function.regs[reg.index()].name);
                    high.insert(reg, function.new_reg(name, RegTy::B32));
                }
                RegTy::B8 | RegTy::B16 => {}
                _ => continue,
            }
            function.regs[reg.index()].ty = RegTy::B32;
        }
        let spread = |regs: &mut Vec<LaneReg>| {
            let split = |&reg: &LaneReg| [Some(reg), high.get(&reg).copied()];
            *regs = regs.iter().flat_map(split).flatten().collect();
        };
        if let Signature::Device { params, results } = &mut function.signature {
            spread(params);
            spread(results);
        }
        Self { builder: Builder::new(function), before, high, module }
    }

    /// A stage for single instructions of a function whose registers stay as they are.
    pub(super) fn none(function: Function, module: &'a Module) -> Self {
        let high = FxHashMap::default();
        Self { builder: Builder::new(function), before: Vec::new(), high, module }
    }

    /// A new register that is the low word of a pair.
    pub(super) fn new_pair(&mut self) -> LaneReg {
        let (low, high) = (self.builder.temp(), self.builder.temp());
        self.high.insert(low, high);
        low
    }

    /// The register of the high word of a pair; of a word alone, it is that word's.
    pub(super) fn high_word(&self, low: LaneReg) -> LaneReg {
        self.high.get(&low).copied().unwrap_or(low)
    }

    fn inst(&mut self, inst: &Inst) -> Result<(), Missing> {
        if inst.is_uniform() {
            return Err(missing(inst, "scalars of the warp"));
        }
        let (ty, ty2) = (inst.ty.unwrap_or(Ty::B32), inst.ty2.unwrap_or(Ty::B32));
        match inst.op {
            Op::Ld => self.load(inst),
            Op::St => self.store(inst),
            Op::Call => self.call(inst),
            Op::Cvt => match self.convert_half(inst) {
                Some(()) => Ok(()),
                None => self.convert(inst),
            },
            Op::Pack | Op::Unpack => self.repack(inst),
            Op::MulWide | Op::MadWide => self.wide(inst),
            Op::Set => self.set(inst),
            Op::CvtaTo | Op::CvtaFrom if inst.mods.space == Some(Space::Global) => {
                let a = self.pair(inst, 0);
                self.put(inst, a);
                Ok(())
            }
            Op::CvtaTo | Op::CvtaFrom | Op::IsSpace => {
                Err(missing(inst, "generic addresses of spaces but global"))
            }
            Op::Slct if long(ty) || ty == Ty::F64 => {
                let not_negative = self.not_negative(inst, ty2);
                let (a, b) = (self.pair(inst, 0), self.pair(inst, 1));
                let value = self.builder.select_pair(not_negative, a, b);
                self.put_pair(inst, value);
                Ok(())
            }
            _ if long(ty) || ty == Ty::F64 && matches!(inst.op, Op::Mov | Op::Selp) => {
                self.long(inst, ty)
            }
            _ if ty == Ty::F64 && inst.op.info().class == Class::Compute => self.double(inst),
            _ if small(ty) => self.narrow(inst, ty),
            Op::Mov | Op::Selp if ty.bits() == 16 => self.keep(inst),
            Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Fma
            | Op::Neg
            | Op::Abs
            | Op::Min
            | Op::Max
            | Op::Setp
                if half(ty).is_some() =>
            {
                self.half(inst, half(ty).unwrap_or(ty))
            }
            _ if self.all_words(inst) && ty.bits() <= 32 && ty.bits() != 16 => self.keep(inst),
            _ => Err(missing(inst, &format!("operations on {ty} values"))),
        }
    }

    /// Whether registers that the instruction names hold words or predicates already.
    fn all_words(&self, inst: &Inst) -> bool {
        let word = |reg: &Reg| match reg {
            Reg::Lane(reg) => matches!(self.before[reg.index()], RegTy::B32 | RegTy::Pred),
            Reg::Warp(_) => false,
        };
        let results = inst.results.iter().flatten().all(word);
        let operands = inst.operands.iter().all(|operand| match operand {
            Operand::Reg(reg) => word(reg),
            _ => true,
        });
        // An address is a word whatever it was.
        results && (operands || matches!(inst.op, Op::Atom) && self.words_but_address(inst))
    }

    fn words_but_address(&self, inst: &Inst) -> bool {
        inst.operands.iter().skip(1).all(|operand| match operand {
            Operand::Reg(Reg::Lane(reg)) => self.before[reg.index()] == RegTy::B32,
            _ => true,
        })
    }

    fn keep(&mut self, inst: &Inst) -> Result<(), Missing> {
        let mut inst = inst.clone();
        if inst.ty.is_some_and(|ty| ty.bits() == 16) {
            inst.ty = Some(Ty::B32);
        }
        self.builder.keep(inst);
        Ok(())
    }

    /// The register of an operand, and what it was.
    pub(super) fn width(&self, inst: &Inst, index: usize) -> RegTy {
        match inst.operands.get(index) {
            Some(Operand::Reg(Reg::Lane(reg))) => self.before[reg.index()],
            _ => RegTy::B32,
        }
    }

    /// An operand's low word.
    pub(super) fn low(&self, inst: &Inst, index: usize) -> Operand {
        match inst.operands.get(index) {
            Some(&Operand::Imm(value)) => word(value as u32),
            Some(&operand) => operand,
            None => word(0),
        }
    }

    /// An operand of 64 bits.
    pub(super) fn pair(&self, inst: &Inst, index: usize) -> Pair {
        let low = self.low(inst, index);
        let high = match inst.operands.get(index) {
            Some(&Operand::Imm(value)) => word((value >> 32) as u32),
            Some(Operand::Reg(Reg::Lane(reg))) => {
                self.high.get(reg).map_or(word(0), |&high| Operand::lane(high))
            }
            _ => word(0),
        };
        [low, high]
    }

    pub(super) fn result(inst: &Inst, index: usize) -> Option<LaneReg> {
        match inst.results.get(index).copied().flatten() {
            Some(Reg::Lane(reg)) => Some(reg),
            _ => None,
        }
    }

    /// Writes the first result, of whatever width.
    fn put(&mut self, inst: &Inst, value: Pair) {
        self.put_at(inst, 0, value);
    }

    pub(super) fn put_at(&mut self, inst: &Inst, index: usize, value: Pair) {
        let to = Self::result(inst, index);
        if let Some(&high) = to.and_then(|to| self.high.get(&to)) {
            // The high word may still be read from the register of the low one: both are made.
            let [low, up] = self.apart(value, to);
            self.builder.put(Some(high), up);
            self.builder.put(to, low);
        } else {
            self.builder.put(to, value[0]);
        }
    }

    /// The pair, with a word copied that the other's move would overwrite.
    fn apart(&mut self, [low, up]: Pair, to: Option<LaneReg>) -> Pair {
        let high = to.and_then(|to| self.high.get(&to)).copied();
        if high.is_some_and(|high| low == Operand::lane(high)) {
            let copy = self.builder.op(Op::Mov, Ty::B32, &[low]);
            return [copy, up];
        }
        [low, up]
    }

    /// What a register held before.
    pub(super) fn was(&self, reg: LaneReg) -> RegTy {
        self.before[reg.index()]
    }

    pub(super) fn put_pair(&mut self, inst: &Inst, value: Pair) {
        self.put(inst, value);
    }

    pub(super) fn put_word(&mut self, inst: &Inst, value: Operand) {
        self.put(inst, [value, word(0)]);
    }

    fn long(&mut self, inst: &Inst, ty: Ty) -> Result<(), Missing> {
        let signed = ty.is_signed();
        let (a, b) = (self.pair(inst, 0), self.pair(inst, 1));
        let build = &mut self.builder;
        let value = match inst.op {
            Op::Mov => a,
            Op::AddCarry | Op::SubCarry | Op::MadCarry | Op::MadHiCarry => {
                self.with_carry_pair(inst);
                return Ok(());
            }
            Op::Add => build.add_pair(a, b),
            Op::Sub => build.sub_pair(a, b),
            Op::Mul => build.mul_pair(a, b),
            Op::MulHi => build.mul_high_pair(signed, a, b),
            Op::Mad | Op::MadHi => {
                let c = self.pair(inst, 2);
                let build = &mut self.builder;
                let product = match inst.op {
                    Op::Mad => build.mul_pair(a, b),
                    _ => build.mul_high_pair(signed, a, b),
                };
                build.add_pair(product, c)
            }
            Op::Div => build.divide_pair(signed, a, b)[0],
            Op::Rem => build.divide_pair(signed, a, b)[1],
            Op::And => build.each((a, b), Builder::and),
            Op::Or => build.each((a, b), Builder::or),
            Op::Xor => build.each((a, b), Builder::xor),
            Op::AndNot => {
                let b = build.both(b, Builder::not);
                build.each((a, b), Builder::and)
            }
            Op::Not => build.both(a, Builder::not),
            Op::Neg => build.negate_pair(a),
            Op::Abs if !signed => a,
            Op::Abs => {
                let sign = build.sign(a[1]);
                let folded = build.both(a, |build, a| build.xor(a, sign));
                build.sub_pair(folded, [sign, sign])
            }
            Op::Min | Op::Max if inst.operands.len() == 2 => {
                let less = build.compare_pair(ir::mods::Cmp::Lt, signed, a, b);
                let (x, y) = if inst.op == Op::Min { (a, b) } else { (b, a) };
                build.select_pair(less, x, y)
            }
            Op::Shl => build.shl_pair(a, b[0]),
            Op::Shr => build.shr_pair(signed, a, b[0]),
            Op::Selp => {
                let p = self.low(inst, 2);
                self.builder.select_pair(p, a, b)
            }
            Op::Brev => {
                let reversed = build.both(a, |build, a| build.op(Op::Brev, Ty::B32, &[a]));
                [reversed[1], reversed[0]]
            }
            Op::Cnot => {
                let any = build.or(a[0], a[1]);
                let empty = build.compare(ir::mods::Cmp::Eq, Ty::B32, any, word(0));
                [build.bit(empty), word(0)]
            }
            Op::Popc => {
                let ones = build.both(a, |build, a| build.op(Op::Popc, Ty::B32, &[a]));
                [build.add(ones[0], ones[1]), word(0)]
            }
            Op::Clz => [build.leading_zeros_pair(a), word(0)],
            Op::Setp => {
                let Some(cmp) = inst.mods.cmp else { return Err(missing(inst, "comparison")) };
                let p = build.compare_pair(cmp, signed, a, b);
                self.put_predicates(inst, p);
                return Ok(());
            }
            _ => return Err(missing(inst, &format!("operation `{}` on {ty}", inst.op.name()))),
        };
        self.put_pair(inst, value);
        Ok(())
    }

    /// A sum with a carry in and out.
    fn with_carry_pair(&mut self, inst: &Inst) {
        let operands = [self.pair(inst, 0), self.pair(inst, 1), self.pair(inst, 2)];
        let carry = self.low(inst, carry_at(inst.op));
        let (sum, out) = self.builder.sum_with_carry(inst, operands, carry, &PAIRS);
        self.put(inst, sum);
        self.builder.put(Self::result(inst, 1), out);
    }

    /// The results of a comparison: combined with the predicate operand, and the complement's.
    pub(super) fn put_predicates(&mut self, inst: &Inst, p: Operand) {
        let second = Self::result(inst, 1);
        let not = second.map(|_| self.builder.logic(Op::Not, &[p]));
        let p = self.combined(inst, p);
        let not = not.map(|not| self.combined(inst, not));
        self.builder.put(Self::result(inst, 0), p);
        if let Some(not) = not {
            self.builder.put(second, not);
        }
    }

    fn combined(&mut self, inst: &Inst, p: Operand) -> Operand {
        let op = match inst.mods.bool_op {
            None => return p,
            Some(BoolOp::And) => Op::And,
            Some(BoolOp::Or) => Op::Or,
            Some(BoolOp::Xor) => Op::Xor,
        };
        let with = inst.operands.get(2).copied().unwrap_or(Operand::Imm(0));
        self.builder.logic(op, &[p, with])
    }

    /// `set`: all ones, or one as a float, where the comparison holds.
    fn set(&mut self, inst: &Inst) -> Result<(), Missing> {
        let (ty, to) = (inst.ty.unwrap_or(Ty::B32), inst.ty2.unwrap_or(Ty::B32));
        let (Some(cmp), false) = (inst.mods.cmp, ty.bits() == 64 && !long(ty)) else {
            return Err(missing(inst, &format!("comparison of {ty} values")));
        };
        let p = if long(ty) {
            let (a, b) = (self.pair(inst, 0), self.pair(inst, 1));
            self.builder.compare_pair(cmp, ty.is_signed(), a, b)
        } else {
            let (a, b, ty) = self.compared(inst, ty)?;
            let mut compare = Inst::new(Op::Setp).ty(ty).operand(a).operand(b);
            compare.mods = inst.mods;
            compare.mods.bool_op = None;
            self.builder.holds(compare)
        };
        let p = self.combined(inst, p);
        let ones = match to {
            Ty::U32 | Ty::S32 => u32::MAX,
            Ty::U16 | Ty::S16 => 0xffff,
            Ty::F32 => 1f32.to_bits(),
            Ty::F16 => 0x3c00,
            Ty::Bf16 => 0x3f80,
            _ => return Err(missing(inst, &format!("comparisons into {to}"))),
        };
        let value = self.builder.select(p, word(ones), word(0));
        self.put_word(inst, value);
        Ok(())
    }

    /// Operands of a comparison as words, and the type that compares them.
    fn compared(&mut self, inst: &Inst, ty: Ty) -> Result<(Operand, Operand, Ty), Missing> {
        match ty {
            _ if small(ty) => {
                let (a, b) = (self.extended(inst, 0, ty), self.extended(inst, 1, ty));
                Ok((a, b, if ty.is_signed() { Ty::S32 } else { Ty::U32 }))
            }
            _ if ty.bits() == 32 && !matches!(ty, Ty::F16x2 | Ty::Bf16x2) => {
                Ok((self.low(inst, 0), self.low(inst, 1), ty))
            }
            _ => Err(missing(inst, &format!("comparison of {ty} values"))),
        }
    }

    pub(super) fn not_negative(&mut self, inst: &Inst, ty: Ty) -> Operand {
        let c = self.low(inst, 2);
        let mut compare = Inst::new(Op::Setp).ty(ty).operand(c).operand(word(0));
        compare.mods.cmp = Some(ir::mods::Cmp::Ge);
        if inst.mods.flags.has(Flag::Ftz) {
            compare.mods.flags = ir::mods::Flags::of(&[Flag::Ftz]);
        }
        self.builder.holds(compare)
    }

    /// The whole product of words or halves, and a sum with it.
    fn wide(&mut self, inst: &Inst) -> Result<(), Missing> {
        let ty = inst.ty.unwrap_or(Ty::U32);
        if ty.bits() == 16 {
            let (a, b) = (self.extended(inst, 0, ty), self.extended(inst, 1, ty));
            let mut value = self.builder.mul(a, b);
            if inst.op == Op::MadWide {
                let c = self.low(inst, 2);
                value = self.builder.add(value, c);
            }
            self.put_word(inst, value);
            return Ok(());
        }
        let (a, b) = (self.low(inst, 0), self.low(inst, 1));
        let mut value = self.builder.mul_wide(ty.is_signed(), a, b);
        if inst.op == Op::MadWide {
            let c = self.pair(inst, 2);
            value = self.builder.add_pair(value, c);
        }
        self.put_pair(inst, value);
        Ok(())
    }

    fn load(&mut self, inst: &Inst) -> Result<(), Missing> {
        let ty = inst.ty.unwrap_or(Ty::B32);
        let mut load = self.access(inst, ty)?;
        if ty.bits() != 64 {
            for index in 0..inst.results.len() {
                load.results.push(Self::result(inst, index).map(Reg::Lane));
            }
            self.builder.keep(load);
            for index in 0..inst.results.len() {
                self.extend_result(inst, index, ty);
            }
            return Ok(());
        }
        for index in 0..inst.results.len() {
            let to = Self::result(inst, index);
            let high = to.and_then(|to| self.high.get(&to)).copied();
            load.results.extend([to.map(Reg::Lane), high.map(Reg::Lane)]);
        }
        if load.mods.space == Some(Space::Param) {
            return self.load_apart(&load);
        }
        self.builder.keep(load);
        Ok(())
    }

    /// Loads words of parameters one by one, so that those that nothing needs can go.
    fn load_apart(&mut self, load: &Inst) -> Result<(), Missing> {
        for (index, &result) in (0i64..).zip(&load.results) {
            let mut one = load.clone();
            one.results.clear();
            one.results.push(result);
            one.offset += 4 * index;
            self.builder.keep(one);
        }
        Ok(())
    }

    /// A result of a load or conversion that is wider than the type: its upper bits.
    fn extend_result(&mut self, inst: &Inst, index: usize, ty: Ty) {
        let Some(to) = Self::result(inst, index) else { return };
        let whole = match self.before[to.index()] {
            RegTy::B64 => 64,
            RegTy::B16 => 16,
            RegTy::B8 => 8,
            _ => 32,
        };
        // The load has extended the value to a word by its type.
        if whole < 32 && ty.is_signed() {
            let kept = self.builder.and(Operand::lane(to), word((1 << whole) - 1));
            self.builder.put(Some(to), kept);
        }
        if whole == 64 {
            let sign = match ty.is_signed() {
                true => self.builder.sign(Operand::lane(to)),
                false => word(0),
            };
            self.builder.put(self.high.get(&to).copied(), sign);
        }
    }

    fn store(&mut self, inst: &Inst) -> Result<(), Missing> {
        let ty = inst.ty.unwrap_or(Ty::B32);
        let mut store = self.access(inst, ty)?;
        for index in 1..inst.operands.len() {
            match ty.bits() {
                64 => store.operands.extend(self.pair(inst, index)),
                bits => {
                    let value = match inst.operands[index] {
                        Operand::Imm(value) => word(value as u32 & u32::MAX >> (32 - bits)),
                        operand => operand,
                    };
                    store.operands.push(value);
                }
            }
        }
        self.builder.keep(store);
        Ok(())
    }

    /// A load or store with its address alone.
    fn access(&mut self, inst: &Inst, ty: Ty) -> Result<Inst, Missing> {
        let ty = match ty.bits() {
            64 => Ty::B32,
            8 | 16 | 32 => ty,
            _ => return Err(missing(inst, &format!("accesses to {ty} values"))),
        };
        let mut access = Inst { ty: Some(ty), ..inst.clone() };
        access.results.clear();
        access.operands.truncate(1);
        if let Some(Operand::Imm(address)) = access.operands.first_mut() {
            *address &= u128::from(u32::MAX);
        }
        Ok(access)
    }

    fn call(&mut self, inst: &Inst) -> Result<(), Missing> {
        let Some(&Operand::Func(callee)) = inst.operands.first() else {
            return Err(missing(inst, "calls through addresses"));
        };
        let target = &self.module.functions[callee.index()];
        let Signature::Device { params, .. } = &target.signature else {
            return Err(missing(inst, "calls of kernels"));
        };
        let params: Vec<RegTy> = params.iter().map(|reg| target.regs[reg.index()].ty).collect();
        let mut call = inst.clone();
        call.operands.truncate(1);
        for (index, ty) in (1..).zip(params) {
            let [low, high] = self.pair(inst, index);
            call.operands.push(low);
            if ty == RegTy::B64 {
                call.operands.push(high);
            }
        }
        call.results.clear();
        for index in 0..inst.results.len() {
            let Some(to) = Self::result(inst, index) else {
                return Err(missing(inst, "discarded results of calls"));
            };
            call.results.push(Some(Reg::Lane(to)));
            call.results.extend(self.high.get(&to).map(|&high| Some(Reg::Lane(high))));
        }
        self.builder.keep(call);
        Ok(())
    }
}
