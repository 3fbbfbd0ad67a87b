//! Atomics of machines without them: lane by lane, and warp by warp under a lock.
//!
//! Lanes count down from their number; the one at zero has its turn, so lanes take effect in
//! increasing order and each leaves the loop after its turn. Between warps the lock is Burns and
//! Lamport's of one flag a warp (Lamport, The Mutual Exclusion Problem, part II, 1986): it needs
//! stores and loads alone. A warp that finds the flag of a lower number up takes its own down; then
//! it waits for those of higher numbers. Plain stores of others to the same place at the same time
//! may be lost between the load and the store.

use super::build::word;
use super::launch::{Stage, Value};
use super::words::missing;
use crate::Missing;
use ir::mods::{AtomOp, Cmp, Mods, Space};
use ir::{Guard, Inst, LaneReg, Op, Operand, Reg, RegTy, TermKind, Ty};

impl Stage<'_> {
    pub(super) fn atomic(&mut self, inst: &Inst) -> Result<(), Missing> {
        if (self.target.has)(inst) {
            return self.access(inst);
        }
        let inst = &self.resolved_values(inst)?;
        let behind = self.skip(inst);
        let (address, offset) = self.global(inst, inst.operands[0], inst.offset)?;
        let locks = !self.layout.turns
            && match inst.mods.space {
                Some(Space::Shared) => self.launch.warps() > 1,
                _ => self.launch.warps() > 1 || self.launch.blocks() > 1,
            };
        if locks {
            self.acquire();
        }
        let lane = self.begin_with(Value::Lane);
        let lane = match self.narrow() {
            true => self.builder.and(lane, word(self.layout.lanes - 1)),
            false => lane,
        };
        let left = self.builder.temp();
        self.builder.put(Some(left), lane);
        self.cut(TermKind::Fall);
        let head = self.flow.label();
        self.flow.place(head);
        let turn = self.builder.compare(Cmp::Eq, Ty::B32, Operand::lane(left), word(0));
        self.turn(inst, turn, address, offset)?;
        let next = self.builder.sub(Operand::lane(left), word(1));
        self.builder.put(Some(left), next);
        let waits = self.builder.compare(Cmp::Ge, Ty::S32, Operand::lane(left), word(0));
        self.branch(waits, head);
        if locks {
            self.release();
        }
        self.rejoin(behind);
        Ok(())
    }

    /// Lanes where a predicate holds go to a label.
    pub(super) fn branch(&mut self, holds: Operand, to: super::flow::Label) {
        if let Operand::Reg(Reg::Lane(pred)) = holds {
            self.cut(TermKind::CondBr(Guard { pred, negated: false }, to.0));
        }
    }

    /// The access of the lanes whose turn it is: one at most.
    fn turn(
        &mut self,
        inst: &Inst,
        turn: Operand,
        address: Operand,
        offset: i64,
    ) -> Result<(), Missing> {
        let (ty, Some(op)) = (inst.ty.unwrap_or(Ty::B32), inst.mods.atom) else {
            return Err(missing(inst, "such atomic"));
        };
        let bits = match ty.bits() {
            16 => (Ty::B16, RegTy::B16),
            32 => (Ty::B32, RegTy::B32),
            64 => (Ty::B64, RegTy::B64),
            _ => return Err(missing(inst, &format!("atomics on {ty} values"))),
        };
        let old = self.builder.function.new_reg("old", bits.1);
        let mods = Mods { space: Some(Space::Global), ..Mods::default() };
        let mut load = Inst::new(Op::Ld).ty(bits.0).operand(address).result(Reg::Lane(old));
        (load.mods, load.offset) = (mods, offset);
        self.builder.emit_under(turn, load);
        let (value, stores) = self.combined(inst, op, ty, bits, old)?;
        let stores = match stores {
            Some(stores) => self.builder.logic(Op::And, &[turn, stores]),
            None => turn,
        };
        let mut store = Inst::new(Op::St).ty(bits.0).operand(address).operand(value);
        (store.mods, store.offset) = (mods, offset);
        self.builder.emit_under(stores, store);
        // Not before the last turn: the result may be one of the operands.
        if let Some(&Some(to)) = inst.results.first() {
            let mov = Inst::new(Op::Mov).ty(bits.0).operand(Operand::lane(old));
            self.builder.emit_under(turn, mov.result(to));
        }
        Ok(())
    }

    /// The new value, and in which lanes it is stored if not in all.
    fn combined(
        &mut self,
        inst: &Inst,
        op: AtomOp,
        ty: Ty,
        bits: (Ty, RegTy),
        old: LaneReg,
    ) -> Result<(Operand, Option<Operand>), Missing> {
        let (old, b) = (Operand::lane(old), inst.operands[1]);
        let float = matches!(ty, Ty::F32 | Ty::F64 | Ty::F16 | Ty::Bf16 | Ty::F16x2 | Ty::Bf16x2);
        let computed = |stage: &mut Self, op: Op, ty: Ty, operands: &[Operand]| {
            let to = stage.builder.function.new_reg("new", bits.1);
            let mut made = Inst::new(op).ty(ty);
            made.operands.extend_from_slice(operands);
            stage.builder.emit(made.result(Reg::Lane(to)));
            Operand::lane(to)
        };
        let compared = |stage: &mut Self, cmp: Cmp, ty: Ty, a: Operand, b: Operand| {
            let mut setp = Inst::new(Op::Setp).ty(ty).operand(a).operand(b);
            setp.mods.cmp = Some(cmp);
            stage.builder.holds(setp)
        };
        let number = match (float, ty) {
            (true, ty) | (false, ty @ (Ty::S32 | Ty::S64)) => ty,
            (false, ty) if ty.bits() == 64 => Ty::U64,
            _ => Ty::U32,
        };
        let value = match op {
            AtomOp::Add => computed(self, Op::Add, number, &[old, b]),
            AtomOp::Min => computed(self, Op::Min, number, &[old, b]),
            AtomOp::Max => computed(self, Op::Max, number, &[old, b]),
            AtomOp::And => computed(self, Op::And, bits.0, &[old, b]),
            AtomOp::Or => computed(self, Op::Or, bits.0, &[old, b]),
            AtomOp::Xor => computed(self, Op::Xor, bits.0, &[old, b]),
            AtomOp::Exch => b,
            AtomOp::Cas => {
                let equal = compared(self, Cmp::Eq, bits.0, old, b);
                // Nothing is stored where it differs: another warp's plain store stays.
                return Ok((inst.operands[2], Some(equal)));
            }
            AtomOp::Inc => {
                let wraps = compared(self, Cmp::Ge, Ty::U32, old, b);
                let next = computed(self, Op::Add, Ty::U32, &[old, word(1)]);
                computed(self, Op::Selp, Ty::B32, &[word(0), next, wraps])
            }
            AtomOp::Dec => {
                let zero = compared(self, Cmp::Eq, Ty::U32, old, word(0));
                let above = compared(self, Cmp::Gt, Ty::U32, old, b);
                let wraps = self.builder.logic(Op::Or, &[zero, above]);
                let next = computed(self, Op::Sub, Ty::U32, &[old, word(1)]);
                computed(self, Op::Selp, Ty::B32, &[b, next, wraps])
            }
        };
        Ok((value, None))
    }

    /// Warps of the lock, in whole words of flags.
    fn locked_warps(&self) -> u32 {
        self.slots().saturating_mul(self.launch.warps()).next_multiple_of(4)
    }

    /// The flags of all warps, the own one, and the masks of those below and above it.
    fn flags(&mut self) -> [Operand; 3] {
        let count = self.locked_warps();
        let warp = self.begin_with(Value::Warp);
        let flags = self.region("locks", count, 1);
        let flags = self.address(flags);
        let own = self.builder.add(flags, warp);
        let masks = self.table("masks", masks(count));
        let masks = self.address(masks);
        let row = self.builder.mul(warp, word(2 * count));
        [flags, own, self.builder.add(masks, row)]
    }

    fn raise(&mut self, own: Operand, up: u32) {
        let mut store = Inst::new(Op::St).ty(Ty::B8).operand(own).operand(word(up));
        store.mods.space = Some(Space::Global);
        self.builder.emit(store);
    }

    /// Whether a flag is up of those that masks from `at` on leave.
    fn any_up(&mut self, flags: Operand, masks: Operand, at: u32) -> Operand {
        let mut up = word(0);
        for index in (0..self.locked_warps()).step_by(4) {
            let flag = self.read(flags, index);
            let mask = self.read(masks, at + index);
            let of = self.builder.and(flag, mask);
            up = self.builder.or(up, of);
        }
        self.builder.compare(Cmp::Ne, Ty::B32, up, word(0))
    }

    fn acquire(&mut self) {
        let [flags, own, masks] = self.flags();
        let (again, wait) = (self.flow.label(), self.flow.label());
        self.cut(TermKind::Fall);
        self.flow.place(again);
        self.raise(own, 1);
        let below = self.any_up(flags, masks, 0);
        let free = self.builder.logic(Op::Not, &[below]);
        self.branch(free, wait);
        self.raise(own, 0);
        // With the own flag down until those are: else the warp that they are of may never find
        // it down.
        self.cut(TermKind::Fall);
        let retreat = self.flow.label();
        self.flow.place(retreat);
        let still = self.any_up(flags, masks, 0);
        self.branch(still, retreat);
        self.cut(TermKind::Br(again.0));
        self.flow.place(wait);
        let above = self.any_up(flags, masks, self.locked_warps());
        self.branch(above, wait);
    }

    fn release(&mut self) {
        let [_, own, _] = self.flags();
        self.raise(own, 0);
    }
}

/// For each of so many warps, the bytes below its own and those above it.
fn masks(count: u32) -> Vec<u8> {
    let byte = |holds: bool| if holds { 0xff } else { 0 };
    (0..count)
        .flat_map(|warp| {
            let below = (0..count).map(move |other| byte(other < warp));
            below.chain((0..count).map(move |other| byte(other > warp)))
        })
        .collect()
}
