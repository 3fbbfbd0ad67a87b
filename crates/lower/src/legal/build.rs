//! Emits instructions in the place of one.

use ir::mods::Cmp;
use ir::{Function, Guard, Inst, LaneReg, LocId, Op, Operand, Origin, Reg, RegTy, Ty};

/// Emits the instructions of one block. They carry the guard and the place of the instruction that
/// they stand for, so lanes that it leaves off stay off.
pub(super) struct Builder {
    pub(super) function: Function,
    pub(super) insts: Vec<Inst>,
    guard: Option<Guard>,
    loc: LocId,
}

/// An immediate word.
pub(super) fn word(value: u32) -> Operand {
    Operand::Imm(u128::from(value))
}

/// The value of an immediate.
pub(super) fn constant(operand: Operand) -> Option<u32> {
    match operand {
        Operand::Imm(value) => Some(value as u32),
        _ => None,
    }
}

impl AsMut<Builder> for Builder {
    fn as_mut(&mut self) -> &mut Builder {
        self
    }
}

/// Puts what `each` emits in the place of every instruction of the stage's function.
pub(super) fn replace_each<S: AsMut<Builder>, E>(
    stage: &mut S,
    mut each: impl FnMut(&mut S, Inst) -> Result<(), E>,
) -> Result<(), E> {
    let mut blocks = std::mem::take(&mut stage.as_mut().function.blocks);
    for block in &mut blocks {
        for inst in std::mem::take(&mut block.insts) {
            stage.as_mut().stand_for(&inst);
            each(stage, inst)?;
        }
        block.insts = std::mem::take(&mut stage.as_mut().insts);
    }
    stage.as_mut().function.blocks = blocks;
    Ok(())
}

impl Builder {
    pub(super) fn new(function: Function) -> Self {
        Self { function, insts: Vec::new(), guard: None, loc: LocId(0) }
    }

    /// What follows stands for this instruction.
    pub(super) fn stand_for(&mut self, inst: &Inst) {
        (self.guard, self.loc) = (inst.guard, inst.loc);
    }

    /// Emits an instruction as it is.
    pub(super) fn keep(&mut self, inst: Inst) {
        self.insts.push(inst);
    }

    /// Emits an instruction under the guard of the one that it stands for.
    pub(super) fn emit(&mut self, mut inst: Inst) {
        (inst.guard, inst.loc) = (self.guard, self.loc);
        inst.origin = Origin::Lowering;
        self.insts.push(inst);
    }

    /// Where the instruction is that is stood for.
    pub(super) fn loc(&self) -> LocId {
        self.loc
    }

    /// Emits an instruction in the lanes where a predicate holds, of those where it would be on;
    /// its result is a word, zero in the others.
    pub(super) fn under(&mut self, holds: Operand, inst: Inst) -> Operand {
        let to = self.temp();
        self.put(Some(to), word(0));
        self.emit_under(holds, inst.result(Reg::Lane(to)));
        Operand::lane(to)
    }

    /// Emits an instruction in the lanes where a predicate holds, of those where it would be on.
    pub(super) fn emit_under(&mut self, holds: Operand, inst: Inst) {
        let Operand::Reg(Reg::Lane(mut pred)) = holds else { return };
        if let Some(guard) = self.guard {
            let on = match guard.negated {
                true => self.logic(Op::Not, &[Operand::lane(guard.pred)]),
                false => Operand::lane(guard.pred),
            };
            if let Operand::Reg(Reg::Lane(both)) = self.logic(Op::And, &[on, holds]) {
                pred = both;
            }
        }
        let outer = self.guard.replace(Guard { pred, negated: false });
        self.emit(inst);
        self.guard = outer;
    }

    pub(super) fn temp(&mut self) -> LaneReg {
        self.function.new_reg("w", RegTy::B32)
    }

    pub(super) fn pred(&mut self) -> LaneReg {
        self.function.new_reg("c", RegTy::Pred)
    }

    /// Emits an instruction with a word as its result.
    pub(super) fn value(&mut self, inst: Inst) -> Operand {
        let to = self.temp();
        self.emit(inst.result(Reg::Lane(to)));
        Operand::lane(to)
    }

    /// Emits an instruction with a predicate as its result.
    pub(super) fn holds(&mut self, inst: Inst) -> Operand {
        let to = self.pred();
        self.emit(inst.result(Reg::Lane(to)));
        Operand::lane(to)
    }

    /// An operation on words.
    pub(super) fn op(&mut self, op: Op, ty: Ty, operands: &[Operand]) -> Operand {
        let mut inst = Inst::new(op).ty(ty);
        inst.operands.extend_from_slice(operands);
        self.value(inst)
    }

    /// An operation on predicates.
    pub(super) fn logic(&mut self, op: Op, operands: &[Operand]) -> Operand {
        let mut inst = Inst::new(op).ty(Ty::Pred);
        inst.operands.extend_from_slice(operands);
        self.holds(inst)
    }

    /// A comparison.
    pub(super) fn compare(&mut self, cmp: Cmp, ty: Ty, a: Operand, b: Operand) -> Operand {
        let mut inst = Inst::new(Op::Setp).ty(ty).operand(a).operand(b);
        inst.mods.cmp = Some(cmp);
        self.holds(inst)
    }

    pub(super) fn add(&mut self, a: Operand, b: Operand) -> Operand {
        match (constant(a), constant(b)) {
            (Some(a), Some(b)) => word(a.wrapping_add(b)),
            (Some(0), _) => b,
            (_, Some(0)) => a,
            _ => self.op(Op::Add, Ty::U32, &[a, b]),
        }
    }

    pub(super) fn sub(&mut self, a: Operand, b: Operand) -> Operand {
        match (constant(a), constant(b)) {
            (Some(a), Some(b)) => word(a.wrapping_sub(b)),
            (_, Some(0)) => a,
            _ => self.op(Op::Sub, Ty::U32, &[a, b]),
        }
    }

    pub(super) fn mul(&mut self, a: Operand, b: Operand) -> Operand {
        match (constant(a), constant(b)) {
            (Some(a), Some(b)) => word(a.wrapping_mul(b)),
            (Some(0), _) | (_, Some(0)) => word(0),
            (Some(1), _) => b,
            (_, Some(1)) => a,
            _ => self.op(Op::Mul, Ty::U32, &[a, b]),
        }
    }

    pub(super) fn and(&mut self, a: Operand, b: Operand) -> Operand {
        match (constant(a), constant(b)) {
            (Some(a), Some(b)) => word(a & b),
            (Some(0), _) | (_, Some(0)) => word(0),
            (Some(u32::MAX), _) => b,
            (_, Some(u32::MAX)) => a,
            _ => self.op(Op::And, Ty::B32, &[a, b]),
        }
    }

    pub(super) fn or(&mut self, a: Operand, b: Operand) -> Operand {
        match (constant(a), constant(b)) {
            (Some(a), Some(b)) => word(a | b),
            (Some(0), _) => b,
            (_, Some(0)) => a,
            _ => self.op(Op::Or, Ty::B32, &[a, b]),
        }
    }

    pub(super) fn xor(&mut self, a: Operand, b: Operand) -> Operand {
        match (constant(a), constant(b)) {
            (Some(a), Some(b)) => word(a ^ b),
            (Some(0), _) => b,
            (_, Some(0)) => a,
            _ => self.op(Op::Xor, Ty::B32, &[a, b]),
        }
    }

    pub(super) fn not(&mut self, a: Operand) -> Operand {
        match constant(a) {
            Some(a) => word(!a),
            None => self.op(Op::Not, Ty::B32, &[a]),
        }
    }

    /// Shifts left; amounts beyond 31 give zero.
    pub(super) fn shl(&mut self, a: Operand, amount: Operand) -> Operand {
        match (constant(a), constant(amount)) {
            (_, Some(0)) => a,
            (_, Some(32..)) | (Some(0), _) => word(0),
            (Some(a), Some(n)) => word(a << n),
            _ => self.op(Op::Shl, Ty::B32, &[a, amount]),
        }
    }

    /// Shifts right with zeros; amounts beyond 31 give zero.
    pub(super) fn shr(&mut self, a: Operand, amount: Operand) -> Operand {
        match (constant(a), constant(amount)) {
            (_, Some(0)) => a,
            (_, Some(32..)) | (Some(0), _) => word(0),
            (Some(a), Some(n)) => word(a >> n),
            _ => self.op(Op::Shr, Ty::U32, &[a, amount]),
        }
    }

    /// Shifts right with copies of the sign.
    pub(super) fn sar(&mut self, a: Operand, amount: Operand) -> Operand {
        match (constant(a), constant(amount)) {
            (_, Some(0)) => a,
            (Some(a), Some(n)) => word((a.cast_signed() >> n.min(31)).cast_unsigned()),
            _ => self.op(Op::Shr, Ty::S32, &[a, amount]),
        }
    }

    /// `if p { a } else { b }`.
    pub(super) fn select(&mut self, p: Operand, a: Operand, b: Operand) -> Operand {
        if a == b {
            return a;
        }
        self.op(Op::Selp, Ty::B32, &[a, b, p])
    }

    /// 1 where the predicate holds, else 0.
    pub(super) fn bit(&mut self, p: Operand) -> Operand {
        self.select(p, word(1), word(0))
    }

    /// All ones if the word is negative, else zero.
    pub(super) fn sign(&mut self, a: Operand) -> Operand {
        self.sar(a, word(31))
    }

    /// The lower of two unsigned words.
    pub(super) fn at_most(&mut self, a: Operand, limit: u32) -> Operand {
        match constant(a) {
            Some(a) => word(a.min(limit)),
            None => self.op(Op::Min, Ty::U32, &[a, word(limit)]),
        }
    }

    /// Moves a value into a register of the program.
    pub(super) fn put(&mut self, to: Option<LaneReg>, value: Operand) {
        let Some(to) = to else { return };
        let ty = if self.function.regs[to.index()].ty == RegTy::Pred { Ty::Pred } else { Ty::B32 };
        self.emit(Inst::new(Op::Mov).ty(ty).result(Reg::Lane(to)).operand(value));
    }
}
