//! Builds random kernels.

use super::{KERNEL_WORDS, KernelShape};
use crate::mods::{Cmp, Space};
use crate::module::{
    Block, BlockId, FuncId, Function, Guard, Inst, LaneReg, LaunchBounds, Module, Operand, Param,
    Reg, Signature, Symbol, Term, TermKind,
};
use crate::op::Op;
use crate::sreg::Sreg;
use crate::testing::Rng;
use crate::ty::{RegTy, Ty};

/// Registers that hold data.
const DATA: usize = 6;
/// Jumps back that a thread may make, in the kernel and in each call.
const FUEL: u128 = 24;

pub(super) fn module(rng: &mut Rng, shape: KernelShape) -> Module {
    let mut module = Module::new();
    let functions = rng.below(3);
    for i in 0..functions {
        let mut builder = Builder::new(rng, shape, &format!("leaf{i}"), None);
        builder.device();
        let function = builder.finish();
        module.functions.push(function);
    }
    let mut builder = Builder::new(rng, shape, "random", Some(functions));
    builder.kernel();
    let function = builder.finish();
    module.functions.push(function);
    module
}

struct Builder<'r> {
    rng: &'r mut Rng,
    shape: KernelShape,
    f: Function,
    data: Vec<LaneReg>,
    preds: Vec<LaneReg>,
    fuel: LaneReg,
    /// Where the thread's words are, in a kernel.
    address: Option<LaneReg>,
    /// Device functions that can be called: those before this one.
    callees: usize,
    /// Block of each label; block ids in ends are labels until [`Builder::finish`].
    labels: Vec<Option<BlockId>>,
    /// Labels of the innermost loops: where it goes on, where it ends.
    loops: Vec<(u32, u32)>,
}

impl<'r> Builder<'r> {
    fn new(rng: &'r mut Rng, shape: KernelShape, name: &str, callees: Option<usize>) -> Self {
        let signature = Signature::Device { params: Vec::new(), results: Vec::new() };
        let mut f = Function::new(name, signature);
        let data = (0..DATA).map(|i| f.new_reg(format!("d{i}"), RegTy::B32)).collect();
        let preds = (0..3).map(|i| f.new_reg(format!("p{i}"), RegTy::Pred)).collect();
        let fuel = f.new_reg("fuel", RegTy::B32);
        let address = callees.map(|_| f.new_reg("address", RegTy::B64));
        let (labels, loops) = (Vec::new(), Vec::new());
        let callees = callees.unwrap_or(0);
        let mut out = Self { rng, shape, f, data, preds, fuel, address, callees, labels, loops };
        out.open("entry");
        out
    }

    fn open(&mut self, name: &str) {
        let (name, term) = (name.to_owned(), Term::new(TermKind::Fall));
        self.f.blocks.push(Block { name, insts: Vec::new(), term });
    }

    fn label(&mut self) -> u32 {
        self.labels.push(None);
        self.labels.len() as u32 - 1
    }

    /// Begins the block of a label; the block before falls into it unless it has ended.
    fn place(&mut self, label: u32) {
        self.labels[label as usize] = Some(BlockId(self.f.blocks.len() as u32));
        self.open(&format!("b{label}"));
    }

    /// Ends the block; `continue_in` begins the next one.
    fn end(&mut self, kind: TermKind) {
        if let Some(block) = self.f.blocks.last_mut() {
            block.term = Term::new(kind);
        }
    }

    /// Ends the block, and begins the one that it falls into.
    fn end_and_fall(&mut self, kind: TermKind) {
        self.end(kind);
        let label = self.label();
        self.place(label);
    }

    fn push(&mut self, inst: Inst) {
        if let Some(block) = self.f.blocks.last_mut() {
            block.insts.push(inst);
        }
    }

    fn emit(&mut self, op: Op, ty: Ty, result: LaneReg, operands: &[Operand]) {
        let inst = Inst::new(op).ty(ty).result(Reg::Lane(result));
        self.push(operands.iter().fold(inst, |inst, &o| inst.operand(o)));
    }

    fn finish(mut self) -> Function {
        for block in &mut self.f.blocks {
            for target in block.term.targets_mut() {
                // Every label that is used is placed.
                *target = self.labels[target.index()].unwrap_or_default();
            }
        }
        self.f
    }

    fn kernel(&mut self) {
        let param = Param {
            name: "out".to_owned(),
            ty: Ty::U64,
            offset: 0,
            size: 8,
            align: 8,
            pointer: Some(Space::Global),
        };
        let bounds = LaunchBounds::default();
        self.f.signature = Signature::Kernel { params: vec![param], bounds };
        let [g, a, b] = ["g", "a", "b"].map(|n| self.f.new_reg(n, RegTy::B32));
        let wide = self.f.new_reg("wide", RegTy::B64);
        for (reg, sreg) in [(g, Sreg::CtaidX), (a, Sreg::NtidX), (b, Sreg::TidX)] {
            self.emit(Op::Sreg, Ty::B32, reg, &[Operand::Sreg(sreg)]);
        }
        let lane = Operand::lane;
        self.emit(Op::Mad, Ty::U32, g, &[lane(g), lane(a), lane(b)]);
        let Some(address) = self.address else { return };
        let bytes = Operand::Imm(4 * KERNEL_WORDS as u128);
        self.emit(Op::MulWide, Ty::U32, wide, &[lane(g), bytes]);
        let mut load = Inst::new(Op::Ld).ty(Ty::U64).result(Reg::Lane(address));
        load.mods.space = Some(Space::Param);
        self.push(load.operand(Operand::Symbol(Symbol::Param(0), 0)));
        self.emit(Op::Add, Ty::U64, address, &[lane(address), lane(wide)]);
        for i in 0..DATA {
            let addend = self.rng.below(100) as u128;
            // Half of the data differ from thread to thread for certain.
            let factor = if i % 2 == 0 { self.rng.bits() | 1 } else { self.rng.value() } as u32;
            let data = self.data[i];
            let factor = Operand::Imm(u128::from(factor));
            self.emit(Op::Mad, Ty::U32, data, &[lane(g), factor, Operand::Imm(addend)]);
        }
        self.start();
        self.body();
        // Every word tells of all data.
        for i in 0..DATA {
            let [a, b] = [self.data[i], self.data[(i + 1) % DATA]];
            self.emit(Op::Mad, Ty::U32, b, &[lane(a), Operand::Imm(0x9e37_79b1), lane(b)]);
        }
        for i in 0..KERNEL_WORDS {
            self.store(self.data[i], i);
        }
        self.end(TermKind::Ret(None));
    }

    fn device(&mut self) {
        let params = self.data[..2].to_vec();
        let results = self.data[2..4].to_vec();
        self.f.signature = Signature::Device { params, results };
        for i in 2..DATA {
            let value = Operand::Imm(u128::from(self.rng.value() as u32));
            self.emit(Op::Mov, Ty::B32, self.data[i], &[value]);
        }
        self.start();
        self.body();
        self.end(TermKind::Ret(None));
    }

    /// First values of what the body reads.
    fn start(&mut self) {
        self.emit(Op::Mov, Ty::B32, self.fuel, &[Operand::Imm(FUEL)]);
        for i in 0..self.preds.len() {
            self.compare(self.preds[i]);
        }
    }

    fn body(&mut self) {
        match self.shape {
            KernelShape::Structured | KernelShape::Breaks => self.statements(3),
            KernelShape::Graph => self.graph(),
        }
    }

    fn store(&mut self, value: LaneReg, word: usize) {
        let Some(address) = self.address else { return };
        let mut inst = Inst::new(Op::St).ty(Ty::U32);
        inst.mods.space = Some(Space::Global);
        inst.offset = 4 * word as i64;
        self.push(inst.operand(Operand::lane(address)).operand(Operand::lane(value)));
    }

    fn datum(&mut self) -> LaneReg {
        self.data[self.rng.below(DATA)]
    }

    fn value(&mut self) -> Operand {
        if self.rng.one_in(4) {
            return Operand::Imm(u128::from(self.rng.value() as u32));
        }
        Operand::lane(self.datum())
    }

    fn pred(&mut self) -> Guard {
        let pred = self.preds[self.rng.below(self.preds.len())];
        Guard { pred, negated: self.rng.one_in(2) }
    }

    fn compare(&mut self, result: LaneReg) {
        let ty = if self.rng.one_in(2) { Ty::U32 } else { Ty::S32 };
        let mut inst = Inst::new(Op::Setp).ty(ty).result(Reg::Lane(result));
        inst.mods.cmp =
            Some([Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge][self.rng.below(6)]);
        // Few values, so that equality is not a rare event.
        let bits = self.f.new_reg("bits", RegTy::B32);
        let (datum, mask) = (self.datum(), Operand::Imm(7 << self.rng.below(8)));
        self.emit(Op::And, Ty::B32, bits, &[Operand::lane(datum), mask]);
        let right =
            if self.rng.one_in(2) { Operand::Imm(self.rng.below(8) as u128) } else { self.value() };
        self.push(inst.operand(Operand::lane(bits)).operand(right));
    }

    /// Some instructions without control flow.
    fn straight(&mut self) {
        for _ in 0..1 + self.rng.below(4) {
            let before = self.f.blocks.last().map_or(0, |b| b.insts.len());
            self.one();
            if self.rng.one_in(4) {
                let guard = self.pred();
                let block = self.f.blocks.last_mut();
                // The guard goes on the last instruction added: nothing reads what the others left
                // out.
                if let Some([.., inst]) = block.map(|b| &mut b.insts[before..])
                    && inst.op != Op::Call
                {
                    inst.guard = Some(guard);
                }
            }
        }
    }

    fn one(&mut self) {
        let (result, a, b) = (self.datum(), self.value(), self.value());
        let small = Operand::Imm(self.rng.below(36) as u128);
        match self.rng.below(14) {
            0 => self.emit(Op::Sub, Ty::U32, result, &[a, b]),
            1 => self.emit(Op::Mul, Ty::U32, result, &[a, b]),
            2 => self.emit(Op::Xor, Ty::B32, result, &[a, b]),
            3 => self.emit(Op::Or, Ty::B32, result, &[a, b]),
            4 => self.emit(Op::Shl, Ty::B32, result, &[a, small]),
            5 => self.emit(Op::Shr, Ty::U32, result, &[a, small]),
            6 => self.emit(Op::Min, Ty::S32, result, &[a, b]),
            7 => self.emit(Op::Popc, Ty::B32, result, &[a]),
            8 => {
                let pred = Operand::lane(self.preds[self.rng.below(3)]);
                self.emit(Op::Selp, Ty::B32, result, &[a, b, pred]);
            }
            9 => {
                let pred = self.preds[self.rng.below(3)];
                self.compare(pred);
            }
            10 if self.address.is_some() => {
                let word = self.rng.below(KERNEL_WORDS);
                let datum = self.datum();
                self.store(datum, word);
            }
            11 if self.callees > 0 => {
                let callee = FuncId(self.rng.below(self.callees) as u32);
                let other = self.data.iter().copied().find(|&r| r != result);
                let inst = Inst::new(Op::Call).result(Reg::Lane(result));
                let mut inst = inst.operand(Operand::Func(callee)).operand(a).operand(b);
                inst.results.push(other.map(Reg::Lane).filter(|_| self.rng.one_in(2)));
                self.push(inst);
            }
            _ => self.emit(Op::Add, Ty::U32, result, &[a, b]),
        }
    }

    /// A predicate that holds if `condition` does and there is fuel, of which it takes one then.
    fn fuelled(&mut self, condition: Guard) -> Guard {
        let go = self.f.new_reg("go", RegTy::Pred);
        let (fuel, lane) = (self.fuel, Operand::lane);
        let mut inst = Inst::new(Op::Setp).ty(Ty::U32).result(Reg::Lane(go));
        inst.mods.cmp = Some(Cmp::Ne);
        self.push(inst.operand(lane(fuel)).operand(Operand::Imm(0)));
        let op = if condition.negated { Op::AndNot } else { Op::And };
        self.emit(op, Ty::Pred, go, &[lane(go), lane(condition.pred)]);
        self.emit(Op::Sub, Ty::U32, fuel, &[lane(fuel), Operand::Imm(1)]);
        let guard = Guard { pred: go, negated: false };
        if let Some(inst) = self.f.blocks.last_mut().and_then(|b| b.insts.last_mut()) {
            inst.guard = Some(guard);
        }
        guard
    }

    fn statements(&mut self, depth: usize) {
        for _ in 0..1 + self.rng.below(3) {
            self.straight();
            match self.rng.below(6) {
                0 | 1 if depth > 0 => self.conditional(depth - 1),
                2 | 3 if depth > 0 => self.repeat(depth - 1),
                4 if depth > 0 => self.cases(depth - 1),
                5 if self.shape == KernelShape::Breaks => self.leave(),
                _ => {}
            }
        }
    }

    fn conditional(&mut self, depth: usize) {
        let (other, end) = (self.label(), self.label());
        let guard = self.pred();
        let two_sided = self.rng.one_in(2);
        let target = BlockId(if two_sided { other } else { end });
        self.end_and_fall(TermKind::CondBr(guard, target));
        self.statements(depth);
        if two_sided {
            self.end(TermKind::Br(BlockId(end)));
            self.place(other);
            self.statements(depth);
        }
        self.place(end);
    }

    fn repeat(&mut self, depth: usize) {
        let (head, again, end) = (self.label(), self.label(), self.label());
        self.place(head);
        self.loops.push((again, end));
        self.statements(depth);
        self.loops.pop();
        self.place(again);
        self.straight();
        let condition = self.pred();
        let guard = self.fuelled(condition);
        self.end(TermKind::CondBr(guard, BlockId(head)));
        self.place(end);
    }

    fn cases(&mut self, depth: usize) {
        let end = self.label();
        let labels: Vec<_> = (0..1usize << self.rng.below(3)).map(|_| self.label()).collect();
        self.switch(labels.iter().map(|&l| BlockId(l)).collect());
        for (i, &label) in labels.iter().enumerate() {
            self.place(label);
            self.statements(depth.saturating_sub(1));
            // Some cases go on in the next one.
            if i + 1 < labels.len() && !(self.shape == KernelShape::Breaks && self.rng.one_in(4)) {
                self.end(TermKind::Br(BlockId(end)));
            }
        }
        self.place(end);
    }

    /// A switch on some bits of a datum; the number of targets is a power of two.
    fn switch(&mut self, targets: Vec<BlockId>) {
        let index = self.f.new_reg("index", RegTy::B32);
        let datum = Operand::lane(self.datum());
        let mask = Operand::Imm(targets.len() as u128 - 1);
        self.emit(Op::And, Ty::B32, index, &[datum, mask]);
        self.end(TermKind::Switch(Operand::lane(index), targets));
    }

    /// Leaves a loop, goes on with it, or ends early.
    fn leave(&mut self) {
        let guard = self.pred();
        let kind = match (self.rng.below(4), self.loops.last()) {
            (0 | 1, Some(&(_, end))) => TermKind::CondBr(guard, BlockId(end)),
            (2, Some(&(again, _))) => TermKind::CondBr(guard, BlockId(again)),
            (3, _) => TermKind::Exit(Some(guard)),
            _ => TermKind::Ret(Some(guard)),
        };
        self.end_and_fall(kind);
    }

    fn graph(&mut self) {
        let labels: Vec<_> = (0..3 + self.rng.below(7)).map(|_| self.label()).collect();
        for (i, &label) in labels.iter().enumerate() {
            self.place(label);
            self.straight();
            let ahead = &labels[i + 1..];
            if ahead.is_empty() {
                break;
            }
            self.graph_end(i, &labels);
        }
        let last = self.label();
        self.place(last);
    }

    fn graph_end(&mut self, i: usize, labels: &[u32]) {
        let ahead = &labels[i + 1..];
        let forward = |rng: &mut Rng| BlockId(ahead[rng.below(ahead.len())]);
        let guard = self.pred();
        match self.rng.below(8) {
            0 => {}
            1 => {
                let target = forward(self.rng);
                self.end(TermKind::Br(target));
            }
            2 => {
                let targets = (0..1 << self.rng.below(3)).map(|_| forward(self.rng)).collect();
                self.switch(targets);
            }
            3 => self.end(TermKind::Ret(Some(guard))),
            4 | 5 => {
                let target = forward(self.rng);
                self.end(TermKind::CondBr(guard, target));
            }
            _ => {
                let back = BlockId(labels[self.rng.below(i + 1)]);
                let guard = self.fuelled(guard);
                self.end(TermKind::CondBr(guard, back));
            }
        }
    }
}
