//! Loads and stores of lanes, atomics lane by lane, warps that give way.
//!
//! Addresses are words: the machine's memory for kernels lies below 2 GiB, so that a word and its
//! sign-extension name the same place.

use super::emit::Window::{Row, Same};
use super::launch::PARAMS;
use super::rows::{File, Source};
use super::select::{RESUME, Select, WAITING, missing};
use super::target::whole;
use crate::Missing;
use ir::mods::{AtomOp, Space};
use ir::module::Symbol;
use ir::{Inst, LaneReg, Op, Operand, Reg, Ty};

/// Words of a lane for the operands and the result of an atomic.
pub(super) const BOXES: u32 = 4;

fn names(ty: Ty) -> Option<(&'static str, &'static str)> {
    Some(match ty {
        Ty::U8 | Ty::B8 => ("lbu", "sb"),
        Ty::S8 => ("lb", "sb"),
        Ty::U16 | Ty::B16 | Ty::F16 | Ty::Bf16 => ("lhu", "sh"),
        Ty::S16 => ("lh", "sh"),
        _ if ty.bits() == 32 => ("lw", "sw"),
        _ => return None,
    })
}

impl Select<'_> {
    pub(super) fn access(&mut self, inst: &Inst) -> Result<(), Missing> {
        let ty = inst.ty.unwrap_or(Ty::B32);
        let Some((load, store)) = names(ty) else {
            return Err(missing(inst, &format!("accesses to {ty} values")));
        };
        match inst.mods.space {
            Some(Space::Param) => return self.parameter(inst, ty),
            Some(Space::Local | Space::Shared) => {
                return Err(missing(inst, "memory of threads and blocks"));
            }
            _ => {}
        }
        let address = self.x_row(Self::operand(inst, 0));
        let (address, offset) = self.lane_reach(inst, address);
        if inst.op == Op::St {
            self.stores(inst, ty, store, (address, offset));
        } else {
            self.loads(inst, ty, load, (address, offset));
        }
        Ok(())
    }

    /// An address row and an offset that fits.
    fn lane_reach(&mut self, inst: &Inst, address: u32) -> (u32, i64) {
        let offset = inst.offset;
        if (-2048..1984).contains(&offset) {
            return (address, offset);
        }
        let scalar = self.scratch();
        self.emit.constant(scalar, offset as u32);
        let to = self.two("addw", Source::Row(address), Source::Same(scalar));
        (to, 0)
    }

    fn stores(&mut self, inst: &Inst, ty: Ty, name: &str, (address, offset): (u32, i64)) {
        for index in 1..inst.operands.len() {
            let at = offset + i64::from(ty.bytes()) * (index as i64 - 1);
            let scalars = self.scratch;
            let value = self.x(inst.operands[index]);
            if let Some(guard) = inst.guard {
                // The mask takes the scalar registers that a value may be in.
                let (from, window) = value.parts();
                self.emit.scalar(format!("addi x1, x{}, 0", if window == Same { from } else { 0 }));
                let value = if window == Same { Source::Same(1) } else { value };
                self.guarded(guard);
                self.store(name, value, (address, at));
                self.unguarded();
            } else {
                self.store(name, value, (address, at));
            }
            self.unpin(File::X, value);
            self.scratch = scalars;
        }
    }

    fn store(&mut self, name: &str, value: Source, (address, at): (u32, i64)) {
        let (value, window) = value.parts();
        self.emit.lane(format!("{name} x{value}, {at}(x{address})"), Some(Row), Some(window));
    }

    fn loads(&mut self, inst: &Inst, ty: Ty, name: &str, (address, offset): (u32, i64)) {
        for (index, result) in inst.results.iter().enumerate() {
            let Some(Reg::Lane(reg)) = *result else { continue };
            let at = offset + i64::from(ty.bytes()) * index as i64;
            let last = index + 1 == inst.results.len();
            let to = match inst.guard {
                // Lanes that the guard turns off keep what they have.
                Some(_) => self.x_row(Operand::lane(reg)),
                None if last => self.result_row(File::X, &[Source::Row(address)]),
                None => self.temp(File::X),
            };
            // A guarded load into its own address: the address moves away first.
            if let Some(guard) = inst.guard {
                self.guarded(guard);
            }
            self.emit.lane(format!("{name} x{to}, {at}(x{address})"), Some(Row), None);
            if inst.guard.is_some() {
                self.unguarded();
            }
            self.loaded_value(reg, to, last || inst.results.len() == 1);
        }
    }

    /// A loaded value is its register's from here on; while addresses are still needed, in memory
    /// alone.
    fn loaded_value(&mut self, reg: LaneReg, row: u32, last: bool) {
        let overwrites_address = !last && self.reads.contains(&reg);
        if overwrites_address {
            let copy = self.temp(File::X);
            self.emit.lane(format!("addi x{copy}, x{row}, 0"), Some(Row), None);
            self.define(File::X, copy, reg, true);
            return;
        }
        self.define(File::X, row, reg, true);
    }

    /// A parameter whose register is written elsewhere, too.
    fn parameter(&mut self, inst: &Inst, ty: Ty) -> Result<(), Missing> {
        let Some(&Operand::Symbol(Symbol::Param(index), within)) = inst.operands.first() else {
            return Err(missing(inst, "computed parameter addresses"));
        };
        let offset = self.function.params().get(index as usize).map_or(0, |param| param.offset);
        let Some((load, _)) = names(ty).filter(|_| inst.op == Op::Ld) else {
            return Err(missing(inst, "such access to parameters"));
        };
        for (index, result) in inst.results.iter().enumerate() {
            let Some(Reg::Lane(reg)) = *result else { continue };
            let at = i64::from(offset) + within + inst.offset;
            let at = at + i64::from(ty.bytes()) * index as i64 + i64::from(PARAMS);
            let (base, at) = self.reach(7, at);
            self.emit.scalar(format!("{load} x4, {at}(x{base})"));
            match self.facts.home(reg) {
                super::live::Home::Word(word) => self.store_word(4, word),
                super::live::Home::Param(_) => {}
                _ if inst.guard.is_some() => {
                    return Err(missing(inst, "guarded access to parameters"));
                }
                _ => {
                    let row = self.temp(File::X);
                    self.emit.lane(format!("addi x{row}, x4, 0"), Some(Same), None);
                    self.define(File::X, row, reg, true);
                }
            }
        }
        Ok(())
    }

    /// The frame slot of a box.
    fn box_slot(&self, index: u32) -> u32 {
        self.boxes + index
    }

    fn put_in_box(&mut self, operand: Operand, index: u32) {
        let row = self.x_row(operand);
        let slot = self.box_slot(index);
        self.frame("sw", 'x', row, slot);
        self.unpin(File::X, Source::Row(row));
        self.drop_temp(File::X, row);
        self.scratch = 0;
    }

    /// Atomics trap while lanes are enabled, so each lane that is on has its turn, in increasing
    /// order: operands go to the frame, and the result comes from there.
    pub(super) fn atomic(&mut self, inst: &Inst) -> Result<(), Missing> {
        let ty = inst.ty.unwrap_or(Ty::B32);
        let Some(op) = inst.mods.atom else { return Err(missing(inst, "such operation")) };
        if ty.bits() != 32 || matches!(ty, Ty::F16x2 | Ty::Bf16x2) {
            return Err(missing(inst, &format!("atomics on {ty} values")));
        }
        if ty == Ty::F32 {
            // The sum is made in f30 and f31.
            self.flush();
            self.forget();
        }
        let address = self.x_row(Self::operand(inst, 0));
        let (address, offset) = self.lane_reach(inst, address);
        let slot = self.box_slot(0);
        self.frame("sw", 'x', address, slot);
        self.unpin(File::X, Source::Row(address));
        self.scratch = 0;
        for index in 1..inst.operands.len() {
            self.put_in_box(inst.operands[index], index as u32);
        }
        match inst.guard {
            Some(guard) => {
                self.guard_mask(guard);
                self.emit.scalar("addi x6, x4, 0");
            }
            None => self.read_exec(6),
        }
        let (again, done) = (self.new_label(), self.new_label());
        self.emit.branch(["beq x6, x0, ", "bne x6, x0, "], "", &done);
        self.emit.label(&again);
        self.turn(inst, op, ty, offset)?;
        self.emit.branch(["bne x6, x0, ", "beq x6, x0, "], "", &again);
        self.emit.label(&done);
        if let Some(Reg::Lane(reg)) = inst.results.first().copied().flatten() {
            let slot = self.box_slot(3);
            if let Some(guard) = inst.guard {
                let row = self.x_row(Operand::lane(reg));
                self.guarded(guard);
                self.frame("lw", 'x', row, slot);
                self.unguarded();
                self.define(File::X, row, reg, true);
            } else {
                let row = self.temp(File::X);
                self.frame("lw", 'x', row, slot);
                self.define(File::X, row, reg, true);
            }
        }
        Ok(())
    }

    /// The atomic of the lowest lane of x6, which leaves it.
    fn turn(&mut self, inst: &Inst, op: AtomOp, ty: Ty, offset: i64) -> Result<(), Missing> {
        let at = |this: &Self, index: u32| this.slot_offset(this.box_slot(index));
        let base = at(self, 0);
        let near = (-2048..1900).contains(&base);
        let (near, word) = if near { (2, base) } else { (1, 0) };
        for line in ["ctz x5, x6", "addi x4, x6, -1", "and x6, x6, x4", "slli x5, x5, 2"] {
            self.emit.scalar(line);
        }
        if near == 1 {
            self.emit.constant(1, base as u32);
            self.emit.scalar("add x5, x5, x1");
        }
        self.emit.scalar("add x5, x5, x2");
        let distance = i64::from(4 * self.lanes);
        let place = |index: i64| word + index * distance;
        self.emit.scalar(format!("lw x4, {}(x5)", place(0)));
        if offset != 0 {
            self.emit.scalar(format!("addi x4, x4, {offset}"));
        }
        self.emit.scalar(format!("lw x1, {}(x5)", place(1)));
        let signed = ty.is_signed();
        let name = match op {
            AtomOp::Add if ty == Ty::F32 => return self.retried(inst, op, &place),
            AtomOp::Add => "amoadd.w",
            AtomOp::Min if whole(ty) => {
                if signed {
                    "amomin.w"
                } else {
                    "amominu.w"
                }
            }
            AtomOp::Max if whole(ty) => {
                if signed {
                    "amomax.w"
                } else {
                    "amomaxu.w"
                }
            }
            AtomOp::And => "amoand.w",
            AtomOp::Or => "amoor.w",
            AtomOp::Xor => "amoxor.w",
            AtomOp::Exch => "amoswap.w",
            AtomOp::Cas | AtomOp::Inc | AtomOp::Dec => return self.retried(inst, op, &place),
            _ => return Err(missing(inst, "such operation")),
        };
        self.emit.scalar(format!("{name} x4, x1, (x4)"));
        self.emit.scalar(format!("sw x4, {}(x5)", place(3)));
        Ok(())
    }

    /// An operation that the machine has not: a reserved load, and a conditional store that is
    /// tried again. x4 has the address, x1 the operand, x5 the lane's boxes.
    fn retried(
        &mut self,
        inst: &Inst,
        op: AtomOp,
        place: &dyn Fn(i64) -> i64,
    ) -> Result<(), Missing> {
        // The lanes still to come are put aside: x6 is the old value.
        self.store_word(6, WAITING);
        let (again, keep) = (self.new_label(), self.new_label());
        self.emit.label(&again);
        self.emit.scalar("lr.w x6, (x4)");
        self.emit.scalar(format!("sw x6, {}(x5)", place(3)));
        match op {
            AtomOp::Cas => {
                // The value to store comes third.
                self.emit.branch(["bne x6, x1, ", "beq x6, x1, "], "", &keep);
                self.emit.scalar(format!("lw x6, {}(x5)", place(2)));
            }
            AtomOp::Inc => {
                // old >= limit ? 0 : old + 1
                self.emit.scalar("sltu x1, x6, x1");
                self.emit.scalar("sub x1, x0, x1");
                self.emit.scalar("addiw x6, x6, 1");
                self.emit.scalar("and x6, x6, x1");
            }
            AtomOp::Dec => {
                // old == 0 or old > limit ? limit : old - 1
                self.emit.scalar("addiw x6, x6, -1");
                self.emit.scalar("minu x6, x6, x1");
            }
            AtomOp::Add => {
                self.emit.scalar("fmv.w.x f31, x6");
                self.emit.scalar("fmv.w.x f30, x1");
                self.emit.scalar("fadd.s f31, f31, f30, rne");
                self.emit.scalar("fmv.x.w x6, f31");
                // The NaN of PTX.
                self.emit.scalar("feq.s x1, f31, f31");
                self.emit.scalar("addi x1, x1, -1");
                self.emit.scalar("srliw x1, x1, 10");
                self.emit.scalar("or x6, x6, x1");
            }
            _ => return Err(missing(inst, "such operation")),
        }
        self.emit.scalar("sc.w x6, x6, (x4)");
        self.emit.scalar(format!("lw x1, {}(x5)", place(1)));
        self.emit.branch(["bne x6, x0, ", "beq x6, x0, "], "", &again);
        self.emit.label(&keep);
        self.load_word(6, WAITING);
        Ok(())
    }
}

impl Select<'_> {
    /// The warp gives way to the others of its block: it goes on in the next round.
    pub(super) fn sleep(&mut self, inst: &Inst) {
        self.flush();
        self.forget();
        let (behind, awake) = (self.new_label(), self.new_label());
        if let Some(guard) = inst.guard {
            self.guard_mask(guard);
            self.emit.branch(["beq x4, x0, ", "bne x4, x0, "], "", &awake);
        }
        // A program that sleeps by itself waits for something that others may do.
        if let Some(progress) = self.progress.filter(|_| inst.origin != ir::Origin::Lowering) {
            self.emit.address(5, &super::launch::variable(progress), 0);
            self.emit.scalar("addi x4, x0, 1");
            self.emit.scalar("sw x4, 0(x5)");
        }
        self.read_exec(4);
        self.store_word(4, WAITING);
        self.emit.address(5, &behind, 0);
        let (base, offset) = self.reach(2, Self::word_offset(RESUME));
        self.emit.scalar(format!("sd x5, {offset}(x{base})"));
        self.emit.jump("next");
        self.emit.label(&behind);
        self.load_word(4, WAITING);
        self.emit.once("pmlow.wr 1, x4");
        self.emit.label(&awake);
    }
}
