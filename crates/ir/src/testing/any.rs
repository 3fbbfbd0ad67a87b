//! Any verified module.
//!
//! Instructions are proposed from their rows and kept if the verifier takes them, so whatever it
//! takes can occur.

use super::Rng;
use crate::matrix;
use crate::mods::{BoolOp, Flag, MatrixLayout, MatrixShape, MatrixTypes, Mods};
use crate::module::{
    Block, BlockId, FuncId, Function, Guard, Inlined, InlinedId, Inst, LaneReg, LaunchBounds, Loc,
    LocId, LocalVar, MaskRef, MaskTest, Module, Operand, Origin, Param, Reg, RegInfo, Reloc,
    Signature, SourceLine, Symbol, Term, TermKind, Var, VarId, WarpReg,
};
use crate::op::{Arity, Class, OPS, Op, Slot};
use crate::sreg::Sreg;
use crate::ty::{RegTy, Ty, TySet};
use crate::verify::inst_violations;
use simt::observe::Space;

/// Proposals for one instruction before `nop` is taken.
const TRIES: usize = 60;

/// A random module that keeps all rules of the verifier.
#[must_use]
pub fn random_module(rng: &mut Rng) -> Module {
    let mut module = Module::new();
    for i in 0..rng.below(3) {
        module.files.push(format!("file \"{i}\".cu"));
    }
    for i in 0..rng.below(4) {
        let id = VarId(i as u32);
        let var = variable(rng, id);
        module.vars.push(var);
    }
    let functions = 1 + rng.below(4);
    for i in 0..functions {
        let function = head(rng, i);
        module.functions.push(function);
    }
    relocs(rng, &mut module);
    for i in 0..functions {
        body(rng, &mut module, FuncId(i as u32));
    }
    module
}

fn name(rng: &mut Rng, stem: &str, index: usize) -> String {
    match rng.below(8) {
        0 => format!("odd {stem}\n\"{index}\\"),
        1 => format!("${stem}.{index}"),
        2 => format!("{index}{stem}"),
        _ => format!("{stem}{index}"),
    }
}

fn variable(rng: &mut Rng, id: VarId) -> Var {
    let space = *rng.pick(&[Space::Global, Space::Const, Space::Shared]).unwrap_or(&Space::Global);
    let dynamic = space == Space::Shared && rng.one_in(2);
    let size = if dynamic { 0 } else { 1 + rng.below(100) as u64 };
    let bytes = if space == Space::Shared { 0 } else { rng.below(size as usize + 1) };
    Var {
        name: name(rng, "var", id.index()),
        space,
        size,
        align: 1 << rng.below(5),
        init: (0..bytes).map(|_| rng.bits() as u8).collect(),
        relocs: Vec::new(),
        dynamic,
    }
}

fn relocs(rng: &mut Rng, module: &mut Module) {
    let functions = module.functions.len();
    for i in 0..module.vars.len() {
        let others = module.vars.len();
        let var = &mut module.vars[i];
        if var.space == Space::Shared || var.size < 8 || rng.one_in(2) {
            continue;
        }
        let symbol = if rng.one_in(2) {
            Symbol::Var(VarId(rng.below(others) as u32))
        } else {
            Symbol::Func(FuncId(rng.below(functions) as u32))
        };
        let size = *rng.pick(&[1, 4, 8]).unwrap_or(&8);
        let byte = rng.below(9 - size as usize) as u32;
        let offset = rng.below(var.size as usize - 7) as u32;
        let addend = rng.value().cast_signed();
        let generic = rng.one_in(2);
        var.relocs.push(Reloc { offset, size, symbol, addend, generic, byte });
    }
}

const REG_TYPES: [RegTy; 6] =
    [RegTy::Pred, RegTy::B8, RegTy::B16, RegTy::B32, RegTy::B64, RegTy::B128];

/// A function without blocks, with some registers of each type.
fn head(rng: &mut Rng, index: usize) -> Function {
    let signature = Signature::Device { params: Vec::new(), results: Vec::new() };
    let mut f = Function::new(name(rng, "fun", index), signature);
    for i in 0..20 {
        let ty = REG_TYPES[if i < 12 { i / 2 } else { rng.below(6) }];
        f.regs.push(RegInfo { name: name(rng, "reg", i), ty });
    }
    for i in 0..8 {
        let ty = *rng.pick(&REG_TYPES).unwrap_or(&RegTy::B32);
        let ty = if i < 3 { RegTy::Mask } else { ty };
        f.warp_regs.push(RegInfo { name: name(rng, "warp", i), ty });
    }
    locals(rng, &mut f);
    f.spill_slots = rng.below(4) as u32;
    f.signature = if rng.one_in(2) { kernel(rng) } else { device(rng, f.regs.len()) };
    f
}

fn locals(rng: &mut Rng, f: &mut Function) {
    let mut end = 0u32;
    for i in 0..rng.below(3) {
        let (align, size) = (1 << rng.below(5), 1 + rng.below(40) as u32);
        let gap = if rng.one_in(3) { align * rng.below(3) as u32 } else { 0 };
        let offset = end.next_multiple_of(align) + gap;
        end = offset + size;
        f.locals.push(LocalVar { name: name(rng, "loc", i), offset, size, align });
    }
}

fn kernel(rng: &mut Rng) -> Signature {
    let (mut params, mut end) = (Vec::new(), 0u32);
    for i in 0..rng.below(5) {
        let ty = *rng.pick(&[Ty::B8, Ty::U32, Ty::F32, Ty::U64, Ty::S16]).unwrap_or(&Ty::U32);
        let aggregate = ty == Ty::B8;
        let size = if aggregate { 1 + rng.below(30) as u32 } else { ty.bytes() };
        let align = if aggregate { 1 << rng.below(5) } else { ty.bytes() };
        let gap = if rng.one_in(4) { align } else { 0 };
        let offset = end.next_multiple_of(align) + gap;
        end = offset + size;
        let pointer = (ty == Ty::U64 && rng.one_in(2)).then_some(Space::Global);
        params.push(Param { name: name(rng, "par", i), ty, offset, size, align, pointer });
    }
    let mut dims = || rng.one_in(3).then(|| [1 + rng.below(64) as u32, 2, 1]);
    let bounds =
        LaunchBounds { max: dims(), required: dims(), cluster: dims(), ..LaunchBounds::default() };
    Signature::Kernel { params, bounds }
}

fn device(rng: &mut Rng, regs: usize) -> Signature {
    let mut params: Vec<LaneReg> = Vec::new();
    for i in 0..rng.below(4) {
        let reg = LaneReg(if rng.one_in(2) { i } else { rng.below(regs) } as u32);
        if !params.contains(&reg) {
            params.push(reg);
        }
    }
    let results = (0..rng.below(3)).map(|_| LaneReg(rng.below(regs) as u32)).collect();
    Signature::Device { params, results }
}

fn loc(rng: &mut Rng, module: &mut Module) -> LocId {
    if module.files.is_empty() || rng.one_in(2) {
        return LocId(0);
    }
    let file = rng.below(module.files.len()) as u32;
    let line = source_line(rng, module, file);
    if rng.one_in(4) {
        let function = format!("f{}", rng.below(9)).into();
        module.inlined.push(Inlined { function, call: line.clone() });
    }
    module.add_loc(Loc { line: Some(line), ..Loc::default() })
}

fn source_line(rng: &mut Rng, module: &Module, file: u32) -> SourceLine {
    let (line, column) = (1 + rng.below(999) as u32, rng.below(80) as u32);
    let inlined = match module.inlined.len() {
        0 => None,
        count => rng.one_in(2).then(|| InlinedId(rng.below(count) as u32)),
    };
    SourceLine { file, line, column, inlined }
}

fn origin(rng: &mut Rng) -> Origin {
    if rng.one_in(3) { Origin::ALL[rng.below(Origin::ALL.len())].0 } else { Origin::Source }
}

fn body(rng: &mut Rng, module: &mut Module, id: FuncId) {
    let blocks = 1 + rng.below(6);
    module.functions[id.index()].loc = loc(rng, module);
    // Blocks first, so that instructions can name them.
    for i in 0..blocks {
        let block = Block {
            name: name(rng, "blk", i),
            insts: Vec::new(),
            term: Term::new(TermKind::Ret(None)),
        };
        module.functions[id.index()].blocks.push(block);
    }
    for i in 0..blocks {
        for _ in 0..rng.below(8) {
            let mut inst = instruction(rng, module, id);
            (inst.origin, inst.loc) = (origin(rng), loc(rng, module));
            module.functions[id.index()].blocks[i].insts.push(inst);
        }
        let kind = end(rng, &module.functions[id.index()], i + 1 == blocks);
        let term = Term { kind, origin: origin(rng), loc: loc(rng, module) };
        module.functions[id.index()].blocks[i].term = term;
    }
}

fn end(rng: &mut Rng, f: &Function, last: bool) -> TermKind {
    let target = BlockId(rng.below(f.blocks.len()) as u32);
    let choice = if last { rng.below(4) } else { rng.below(9) };
    match choice {
        0 => TermKind::Ret(None),
        1 => TermKind::Exit(None),
        2 => TermKind::Br(target),
        3 => {
            let targets = (0..=rng.below(3)).map(|_| BlockId(rng.below(f.blocks.len()) as u32));
            let targets = targets.collect();
            let reg = lane(rng, f, RegTy::B32);
            TermKind::Switch(reg.map_or(Operand::Imm(1), Operand::Reg), targets)
        }
        4 => TermKind::Fall,
        5 => TermKind::Ret(guard(rng, f)),
        6 => TermKind::Exit(guard(rng, f)),
        7 => {
            let mask = match rng.below(3) {
                0 => MaskRef::Exec,
                1 => MaskRef::Reg(WarpReg(0)),
                _ => MaskRef::Pred(LaneReg(0)),
            };
            let test = if rng.one_in(2) { MaskTest::Any } else { MaskTest::None };
            TermKind::MaskBr(test, mask, target)
        }
        _ => guard(rng, f).map_or(TermKind::Br(target), |g| TermKind::CondBr(g, target)),
    }
}

/// A random register of a type in a list.
fn of_type(rng: &mut Rng, regs: &[RegInfo], fits: impl Fn(RegTy) -> bool) -> Option<u32> {
    let fitting: Vec<_> = (0..regs.len()).filter(|&i| fits(regs[i].ty)).collect();
    rng.pick(&fitting).map(|&i| i as u32)
}

fn lane(rng: &mut Rng, f: &Function, ty: RegTy) -> Option<Reg> {
    of_type(rng, &f.regs, |t| t == ty).map(|i| Reg::Lane(LaneReg(i)))
}

fn guard(rng: &mut Rng, f: &Function) -> Option<Guard> {
    let pred = of_type(rng, &f.regs, |t| t == RegTy::Pred)?;
    Some(Guard { pred: LaneReg(pred), negated: rng.one_in(2) })
}

fn instruction(rng: &mut Rng, module: &Module, id: FuncId) -> Inst {
    let row = &OPS[rng.below(OPS.len())];
    for _ in 0..TRIES {
        let inst = Proposal { rng, module, function: &module.functions[id.index()] }.make(row.op);
        if inst_violations(module, id, &inst).is_ok() {
            return inst;
        }
    }
    Inst::new(Op::Nop)
}

struct Proposal<'a> {
    rng: &'a mut Rng,
    module: &'a Module,
    function: &'a Function,
}

impl Proposal<'_> {
    fn make(&mut self, op: Op) -> Inst {
        let row = op.info();
        let mut inst = Inst::new(op);
        inst.ty = self.ty(row.types);
        inst.ty2 = self.ty(row.types2);
        inst.mods = self.mods(op);
        if self.rng.one_in(4) {
            inst.guard = guard(self.rng, self.function);
        }
        let warp = inst.ty == Some(Ty::Mask) || row.class == Class::Compute && self.rng.one_in(8);
        if warp {
            inst.guard = None;
        }
        if row.class == Class::Call {
            self.call(&mut inst);
            return inst;
        }
        let (results, operands) = match self.matrix(&mut inst) {
            Some(counts) => counts,
            None => (self.count(row.results), self.count(row.operands)),
        };
        for _ in 0..results {
            let slot = inst.result_slot(inst.results.len());
            let result = slot.and_then(|s| self.result(&inst, s, warp));
            // Of matrices there are more results than registers.
            let result = result.filter(|r| results < 3 || !inst.results.contains(&Some(*r)));
            inst.results.push(result);
        }
        for _ in 0..operands {
            let slot = inst.operand_slot(inst.operands.len());
            let operand = slot.map_or(Operand::Imm(0), |s| self.operand(&inst, s, warp));
            inst.operands.push(operand);
        }
        let metadata = match inst.op {
            Op::Mma => matrix::product(&inst.mods).and_then(|p| p.metadata()),
            Op::Wgmma | Op::WgmmaReg => matrix::group_product(&inst).and_then(|p| p.metadata()),
            _ => None,
        };
        if let Some(metadata) = metadata
            && let Some(selector) = inst.operands.last_mut()
        {
            *selector = Operand::Imm(self.rng.below(metadata.selectors()) as u128);
        }
        let addresses = (0..inst.operands.len()).any(|i| inst.operand_slot(i) == Some(Slot::Addr));
        if addresses && self.rng.one_in(2) {
            inst.offset = self.rng.value().cast_signed();
        }
        inst
    }

    /// Makes what is said of matrices go together; how many results and operands there are then.
    fn matrix(&mut self, inst: &mut Inst) -> Option<(usize, usize)> {
        match inst.op {
            Op::Mma => {
                let instruction = matrix::Instruction::of(inst.mods.flags);
                let sparse = instruction == matrix::Instruction::MmaSp;
                let fits = |f: &Flag| match f {
                    Flag::Sparse | Flag::Ordered => sparse,
                    _ => true,
                };
                inst.mods.flags = inst.mods.flags.iter().filter(fits).collect();
                let mut known = Vec::new();
                for elements in MatrixTypes::ALL {
                    let fits =
                        |s: &&MatrixShape| matrix::exists(instruction, **s, elements.types());
                    known.extend(MatrixShape::ALL.iter().filter(fits).map(|s| (*s, *elements)));
                }
                let (shape, elements) = *self.rng.pick(&known)?;
                (inst.mods.shape, inst.mods.elements) = (Some(shape), Some(elements));
                let product = matrix::product(&inst.mods)?;
                let quads = product.a().matrices() > 1;
                inst.mods.layout = quads.then_some(MatrixLayout::ColRow);
                let bits = elements.types()[1] == Ty::B1;
                inst.mods.bool_op = bits.then_some(BoolOp::Xor);
                inst.ty = Some(matrix::register_ty(product.elements[0]));
                Some((product.d().registers(), product.operands()))
            }
            Op::Wgmma | Op::WgmmaReg => {
                let known = |e: &&MatrixTypes| matrix::group_exists(8, e.types());
                let known: Vec<_> = MatrixTypes::ALL.iter().filter(known).collect();
                let elements = **self.rng.pick(&known)?;
                let [sum, factor, ..] = elements.types();
                let fits = |f: &Flag| match f {
                    Flag::Sparse => factor != Ty::B1,
                    Flag::NegA | Flag::NegB => sum != Ty::S32,
                    Flag::TransA | Flag::TransB => factor.bits() == 16,
                    _ => sum == Ty::S32 && factor != Ty::B1,
                };
                inst.mods.flags = inst.mods.flags.iter().filter(fits).collect();
                inst.mods.elements = Some(elements);
                let results = 4 * sum.bits() as usize / 32;
                let fixed = if inst.op == Op::Wgmma { 3 } else { 6 };
                let sparse = if inst.mods.flags.has(Flag::Sparse) { 2 } else { 0 };
                Some((results, fixed + results + sparse))
            }
            Op::WmmaLoad | Op::WmmaStore => {
                let fragment = matrix::fragment(inst)?;
                inst.ty = Some(matrix::register_ty(fragment.element));
                Some(match inst.op {
                    Op::WmmaLoad => (fragment.registers(), 2),
                    _ => (0, 2 + fragment.registers()),
                })
            }
            _ => None,
        }
    }

    fn ty(&mut self, set: TySet) -> Option<Ty> {
        let types: Vec<_> = set.iter().collect();
        self.rng.pick(&types).copied()
    }

    fn mods(&mut self, op: Op) -> Mods {
        let row = op.info();
        let mut mods = Mods::default();
        for kind in row.kinds.iter() {
            if row.required.has(kind) || self.rng.one_in(3) {
                let words = kind.words();
                let word = words[self.rng.below(words.len())];
                mods.set_word(kind, word);
            }
        }
        for flag in row.flags.iter() {
            if self.rng.one_in(if flag == Flag::NoMask { 2 } else { 6 }) {
                mods.flags = mods.flags.with(flag);
            }
        }
        mods
    }

    /// How many values for a list of slots.
    fn count(&mut self, list: &[Arity]) -> usize {
        let mut count = 0;
        for arity in list {
            count += match arity {
                Arity::One(_) => 1,
                Arity::Opt(_) => self.rng.below(2),
                Arity::Many(_) => [1, 2, 4, 8][self.rng.below(4)],
                Arity::Some(_) => self.rng.below(3),
            };
        }
        count
    }

    fn result(&mut self, inst: &Inst, slot: Slot, warp: bool) -> Option<Reg> {
        // Of a computation all results must say that it is uniform; others may be discarded.
        if !warp && self.rng.one_in(8) {
            return None;
        }
        let ty = inst.slot_ty(slot).unwrap_or(Ty::B32);
        let wider = matches!(inst.op, Op::Ld | Op::Cvt) && self.rng.one_in(4);
        self.reg(ty, warp || slot == Slot::Mask, wider)
    }

    fn reg(&mut self, ty: Ty, warp: bool, wider: bool) -> Option<Reg> {
        let exact = ty.reg();
        let number = !matches!(exact, RegTy::Pred | RegTy::Mask);
        let fits =
            |t: RegTy| t == exact || wider && number && t != RegTy::Mask && t.bits() > exact.bits();
        if warp {
            return of_type(self.rng, &self.function.warp_regs, fits)
                .map(|i| Reg::Warp(WarpReg(i)));
        }
        of_type(self.rng, &self.function.regs, fits).map(|i| Reg::Lane(LaneReg(i)))
    }

    fn operand(&mut self, inst: &Inst, slot: Slot, warp: bool) -> Operand {
        match slot {
            Slot::Addr => self.address(),
            Slot::Imm => Operand::Imm(self.rng.below(5) as u128),
            Slot::Sreg => Operand::Sreg(Sreg::ALL[self.rng.below(Sreg::ALL.len())]),
            Slot::Block => {
                Operand::Block(BlockId(self.rng.below(self.function.blocks.len()) as u32))
            }
            _ => {
                let ty = inst.slot_ty(slot).unwrap_or(Ty::B32);
                let wider = matches!(inst.op, Op::St | Op::Cvt) && self.rng.one_in(4);
                let warp = warp || slot == Slot::Mask || self.rng.one_in(8);
                match self.rng.below(4) {
                    0 => self.immediate(ty),
                    1 if ty.bits() == 64 => self.symbol(),
                    _ => self.reg(ty, warp, wider).map_or_else(|| self.immediate(ty), Operand::Reg),
                }
            }
        }
    }

    fn immediate(&mut self, ty: Ty) -> Operand {
        let wide = u128::from(self.rng.value()) << 64 | u128::from(self.rng.value());
        Operand::Imm(wide & u128::MAX >> (128 - ty.bits()))
    }

    fn address(&mut self) -> Operand {
        match self.rng.below(4) {
            0 => self.symbol(),
            1 => self.immediate(Ty::B64),
            _ => self.reg(Ty::B64, false, false).map_or(Operand::Imm(0), Operand::Reg),
        }
    }

    fn symbol(&mut self) -> Operand {
        let rng = &mut *self.rng;
        let symbol = match rng.below(4) {
            0 => Symbol::Var(VarId(rng.below(self.module.vars.len()) as u32)),
            1 => Symbol::Local(rng.below(self.function.locals.len()) as u32),
            2 => Symbol::Param(rng.below(self.function.params().len()) as u32),
            _ => Symbol::Func(FuncId(rng.below(self.module.functions.len()) as u32)),
        };
        let offset = if rng.one_in(2) { rng.value().cast_signed() } else { 0 };
        Operand::Symbol(symbol, offset)
    }

    /// A call of any function, with what its head asks for.
    fn call(&mut self, inst: &mut Inst) {
        let id = self.rng.below(self.module.functions.len());
        let callee = &self.module.functions[id];
        let direct = inst.op == Op::Call;
        let target =
            if direct { Operand::Func(FuncId(id as u32)) } else { self.immediate(Ty::B64) };
        inst.operands.push(target);
        let Signature::Device { params, results } = &callee.signature else { return };
        for reg in params {
            let ty = callee.regs[reg.index()].ty.ty();
            let operand = self.reg(ty, self.rng.0 & 7 == 0, false);
            let operand = operand.map_or_else(|| self.immediate(ty), Operand::Reg);
            inst.operands.push(operand);
        }
        for reg in results {
            let ty = callee.regs[reg.index()].ty.ty();
            let result = self.reg(ty, false, false).filter(|r| !inst.results.contains(&Some(*r)));
            inst.results.push(result);
        }
    }
}
