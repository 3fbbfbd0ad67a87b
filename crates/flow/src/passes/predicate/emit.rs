//! Predicated code as IR.
//!
//! Registers `pr1`, `pr2`, .. are the machine's predicates; the lanes that came into the function
//! (predicate 0) are EXEC, which only calls change: a callee's predicate 0 is the caller's
//! predicate at the call.

use super::super::emit::{Emitter, Label};
use super::allocate::{Allocation, Place, Register};
use super::graph::Graph;
use super::steps::{Step, Steps};
use ir::module::MaskTest;
use ir::op::Class;
use ir::{
    Function, Guard, Inst, LaneReg, Op, Operand, Origin, Reg, RegTy, Term, TermKind, Ty, WarpReg,
};
use rustc_hash::FxHashMap;

struct Writer<'a> {
    source: &'a Function,
    graph: &'a Graph,
    out: Emitter,
    /// The registers, by number; 0 is of no use.
    registers: Vec<LaneReg>,
    heads: FxHashMap<u32, Label>,
    save: Option<WarpReg>,
}

/// The function of predicated code, and its registers that are predicate registers.
pub(super) fn emit(
    source: &Function,
    graph: &Graph,
    steps: &Steps,
    allocation: &Allocation,
) -> (Function, Vec<LaneReg>) {
    let mut function = steps.function.clone();
    let mut registers = vec![LaneReg(0)];
    for i in 1..=allocation.used {
        registers.push(function.new_reg(format!("pr{i}"), RegTy::Pred));
    }
    function.spill_slots = allocation.slots;
    let mut writer = Writer {
        source,
        graph,
        out: Emitter::new(&function, Origin::Mask),
        registers,
        heads: FxHashMap::default(),
        save: None,
    };
    let last = steps.steps.len().saturating_sub(1);
    let mut ended = false;
    for (at, (step, place)) in steps.steps.iter().zip(&allocation.places).enumerate() {
        ended |= writer.step(step, place, at == last);
    }
    if !ended {
        writer.out.ret();
    }
    let file = writer.registers.split_off(1);
    (writer.out.finish(), file)
}

impl Writer<'_> {
    fn reg(&self, register: Register) -> Option<LaneReg> {
        (register > 0).then(|| self.registers[register as usize])
    }

    /// Emits a step; whether it ended the function.
    fn step(&mut self, step: &Step, place: &Place, last: bool) -> bool {
        for fill in &place.fills {
            let result = self.registers[fill.to as usize];
            let inst = Inst::new(Op::PredFill).operand(Operand::Imm(u128::from(fill.slot)));
            self.spill(inst.result(Reg::Lane(result)));
        }
        let reads = self.reg(place.reads);
        let writes = self.reg(place.writes);
        match step {
            Step::Name(block) => {
                self.out.loc = self.graph.loc(self.source, *block);
                self.out.start(self.graph.name(self.source, *block));
            }
            Step::Do { inst, .. } => self.instruction(inst, reads),
            Step::And { cond, loc, .. } => {
                self.out.loc = *loc;
                self.and(writes, reads, *cond);
            }
            Step::Copy { loc, .. } => {
                self.out.loc = *loc;
                let from = reads.map_or(Operand::Imm(1), Operand::lane);
                self.out.insert(Op::Mov, Some(Ty::Pred), writes.map(Reg::Lane), &[from]);
            }
            Step::Exit { term, .. } => return self.exit(term, reads, last),
            Step::Close | Step::Out => {}
            Step::Head { level, .. } => {
                let label = self.out.label();
                self.heads.insert(*level, label);
                self.out.place(label, "loop");
            }
            Step::Back { level, loc, .. } => {
                self.out.loc = *loc;
                if let Some(&head) = self.heads.get(level) {
                    match reads {
                        Some(pred) => self.out.branch_if_some(pred, head),
                        None => self.out.branch_if(MaskTest::Any, None, head),
                    }
                }
            }
        }
        if let (Some(slot), Some(reg)) = (place.store, writes) {
            let inst = Inst::new(Op::PredSpill).operand(Operand::Imm(u128::from(slot)));
            self.spill(inst.operand(Operand::lane(reg)));
        }
        false
    }

    fn spill(&mut self, inst: Inst) {
        let loc = self.out.loc;
        self.out.copy(&Inst { origin: Origin::Spill, loc, ..inst });
    }

    fn and(&mut self, to: Option<LaneReg>, from: Option<LaneReg>, cond: Guard) {
        let cond_reg = Operand::lane(cond.pred);
        let result = to.map(Reg::Lane);
        match (from, cond.negated) {
            (None, false) => self.out.insert(Op::Mov, Some(Ty::Pred), result, &[cond_reg]),
            (None, true) => self.out.insert(Op::Not, Some(Ty::Pred), result, &[cond_reg]),
            (Some(from), negated) => {
                let op = if negated { Op::AndNot } else { Op::And };
                let operands = [Operand::lane(from), cond_reg];
                self.out.insert(op, Some(Ty::Pred), result, &operands);
            }
        }
    }

    fn instruction(&mut self, inst: &Inst, under: Option<LaneReg>) {
        self.out.loc = inst.loc;
        match under {
            Some(pred) if inst.op.info().class == Class::Call => {
                let save = match self.save {
                    Some(save) => save,
                    None => *self.save.insert(self.out.mask_reg("caller")),
                };
                let over = self.out.label();
                let result = Some(Reg::Warp(save));
                self.out.insert(Op::ExecAndSave, None, result, &[Operand::lane(pred)]);
                self.out.branch_if(MaskTest::None, None, over);
                self.out.copy(inst);
                self.out.place(over, "returned");
                self.out.insert(Op::ExecOr, None, None, &[Operand::warp(save)]);
            }
            _ => {
                let guard = under.map(|pred| Guard { pred, negated: false });
                self.out.copy(&Inst { guard, ..inst.clone() });
            }
        }
    }

    fn exit(&mut self, term: &Term, under: Option<LaneReg>, last: bool) -> bool {
        let guard = under.map(|pred| Guard { pred, negated: false });
        if guard.is_none() && !last {
            self.out.exit_lanes_on(term);
            return false;
        }
        let kind = match term.kind {
            TermKind::Ret(_) => TermKind::Ret(guard),
            _ => TermKind::Exit(guard),
        };
        self.out.end(Term { kind, ..term.clone() });
        guard.is_none()
    }
}
