//! Calls become the code of what they call.
//!
//! A callee's registers and local variables are those of the kernel's frame, so recursion and calls
//! through addresses are refused. A callee's register that is read before it is written keeps what
//! the call before has left in it.

use super::flow::{Flow, Label};
use super::words::missing;
use crate::Missing;
use ir::module::Signature;
use ir::{
    Block, FuncId, Function, Guard, Inst, LaneReg, Module, Op, Operand, Origin, Reg, Symbol, Term,
    TermKind, Ty,
};

/// Most instructions of a kernel with all that it calls.
const MAX_INSTRUCTIONS: usize = 1 << 17;

/// The kernel without calls.
pub(super) fn inline(module: &Module, kernel: FuncId) -> Result<Function, Missing> {
    let source = &module.functions[kernel.index()];
    let calls = |block: &Block| block.insts.iter().any(|inst| inst.op == Op::Call);
    if !source.blocks.iter().any(calls) {
        return Ok(source.clone());
    }
    let function = Function { blocks: Vec::new(), ..source.clone() };
    let flow = Flow::new(source.blocks.len());
    let mut inliner =
        Inliner { module, function, flow, stack: Vec::new(), insts: Vec::new(), count: 0 };
    let frame = Frame { labels: 0, regs: 0, locals: 0, back: None };
    inliner.copy(kernel, &frame)?;
    let mut function = inliner.function;
    function.blocks = inliner.flow.finish(Vec::new());
    Ok(function)
}

struct Inliner<'a> {
    module: &'a Module,
    function: Function,
    flow: Flow,
    /// Functions that are being copied.
    stack: Vec<FuncId>,
    insts: Vec<Inst>,
    count: usize,
}

/// Where the parts of a copy begin, and where it returns to.
struct Frame {
    labels: u32,
    regs: u32,
    locals: u32,
    back: Option<Label>,
}

impl Frame {
    fn reg(&self, reg: LaneReg) -> LaneReg {
        LaneReg(reg.0 + self.regs)
    }

    fn guard(&self, guard: Guard) -> Guard {
        Guard { pred: self.reg(guard.pred), ..guard }
    }

    fn operand(&self, operand: Operand) -> Operand {
        match operand {
            Operand::Reg(Reg::Lane(reg)) => Operand::lane(self.reg(reg)),
            Operand::Symbol(Symbol::Local(index), at) => {
                Operand::Symbol(Symbol::Local(index + self.locals), at)
            }
            other => other,
        }
    }
}

impl<'a> Inliner<'a> {
    fn copy(&mut self, id: FuncId, frame: &Frame) -> Result<(), Missing> {
        self.stack.push(id);
        let module: &'a Module = self.module;
        for (index, block) in (0u32..).zip(&module.functions[id.index()].blocks) {
            self.flow.place(Label(ir::BlockId(frame.labels + index)));
            self.flow.name(&block.name);
            for inst in &block.insts {
                self.inst(inst, frame)?;
            }
            self.end(&block.term, frame);
        }
        self.stack.pop();
        Ok(())
    }

    fn inst(&mut self, inst: &Inst, frame: &Frame) -> Result<(), Missing> {
        self.count += 1;
        if self.count > MAX_INSTRUCTIONS {
            return Err(missing(inst, "room for all calls inlined"));
        }
        let mut copy = inst.clone();
        copy.guard = inst.guard.map(|guard| frame.guard(guard));
        for operand in &mut copy.operands {
            *operand = frame.operand(*operand);
        }
        for result in copy.results.iter_mut().flatten() {
            if let Reg::Lane(reg) = result {
                *reg = frame.reg(*reg);
            }
        }
        if inst.op != Op::Call {
            self.insts.push(copy);
            return Ok(());
        }
        self.call(&copy)
    }

    /// A call with the registers of the copy that it is in.
    fn call(&mut self, call: &Inst) -> Result<(), Missing> {
        let Some(&Operand::Func(callee)) = call.operands.first() else {
            return Err(missing(call, "calls through addresses"));
        };
        if self.stack.contains(&callee) {
            return Err(missing(call, "recursion"));
        }
        let target = &self.module.functions[callee.index()];
        let Signature::Device { params, results } = &target.signature else {
            return Err(missing(call, "calls of kernels"));
        };
        let back = self.flow.label();
        if let Some(guard) = call.guard {
            let not = Guard { negated: !guard.negated, ..guard };
            let insts = std::mem::take(&mut self.insts);
            self.flow.cut(insts, TermKind::CondBr(not, back.0), call.loc);
        }
        let frame = self.frame(target, back);
        for (&param, &operand) in params.iter().zip(&call.operands[1..]) {
            self.copied(target, param, frame.reg(param), operand, call);
        }
        let insts = std::mem::take(&mut self.insts);
        self.flow.cut(insts, TermKind::Fall, call.loc);
        self.copy(callee, &frame)?;
        // Results are read where the callee has returned, in the lanes that have called.
        self.flow.place(back);
        self.flow.name(&format!("{}.returned", target.name));
        for (&from, to) in results.iter().zip(&call.results) {
            if let Some(Reg::Lane(to)) = *to {
                self.copied(target, from, to, Operand::lane(frame.reg(from)), call);
            }
        }
        Ok(())
    }

    fn frame(&mut self, target: &Function, back: Label) -> Frame {
        let frame = Frame {
            labels: self.flow.labels(target.blocks.len()),
            regs: self.function.regs.len() as u32,
            locals: self.function.locals.len() as u32,
            back: Some(back),
        };
        self.function.regs.extend(target.regs.iter().cloned());
        let size = self.function.frame_size().next_multiple_of(16);
        self.function.locals.extend(target.locals.iter().cloned().map(|mut local| {
            local.offset += size;
            local
        }));
        frame
    }

    /// Moves an argument or result of a register of the callee.
    fn copied(&mut self, callee: &Function, of: LaneReg, to: LaneReg, from: Operand, call: &Inst) {
        let ty = match callee.regs[of.index()].ty {
            ir::RegTy::Pred => Ty::Pred,
            ty => match ty.bits() {
                8 | 16 => Ty::B16,
                64 => Ty::B64,
                128 => Ty::B128,
                _ => Ty::B32,
            },
        };
        let mut inst = Inst::new(Op::Mov).ty(ty).operand(from).result(Reg::Lane(to));
        // What a call leaves off keeps its results.
        (inst.guard, inst.loc, inst.origin) = (call.guard, call.loc, Origin::Lowering);
        self.insts.push(inst);
    }

    fn end(&mut self, term: &Term, frame: &Frame) {
        let mut term = term.clone();
        for target in term.targets_mut() {
            target.0 += frame.labels;
        }
        term.kind = match (term.kind, frame.back) {
            (TermKind::Ret(None), Some(back)) => TermKind::Br(back.0),
            (TermKind::Ret(Some(guard)), Some(back)) => {
                TermKind::CondBr(frame.guard(guard), back.0)
            }
            (TermKind::Ret(guard), _) => TermKind::Ret(guard.map(|guard| frame.guard(guard))),
            (TermKind::Exit(guard), _) => TermKind::Exit(guard.map(|guard| frame.guard(guard))),
            (TermKind::CondBr(guard, to), _) => TermKind::CondBr(frame.guard(guard), to),
            (TermKind::Switch(operand, targets), _) => {
                TermKind::Switch(frame.operand(operand), targets)
            }
            (other, _) => other,
        };
        let insts = std::mem::take(&mut self.insts);
        self.flow.end(insts, term);
    }
}
