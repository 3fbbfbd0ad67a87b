//! Scalar accesses to memory: loads, stores, pairs, accesses that write their base back, atomics,
//! reservations. An access has all of its effects or none.

use simt::memory::{AccessKind, Addr, Width};

use crate::action::{Rmw, SOp};
use crate::compute::{self, extend};
use crate::insn::Insn;
use crate::scalar::Effect;
use crate::state::State;
use crate::trap::Trap;

/// log2 of the bytes of a line: what a reservation covers.
const LINE: u32 = 6;

/// Bytes of an access.
fn size(log2: u8) -> u64 {
    1 << log2
}

/// What `lr`, `cas` and the like give: bytes and halves are zero-extended, words sign-extended.
fn exclusive(value: u64, log2: u8) -> u64 {
    extend(value, 8 << log2, log2 >= 2)
}

impl State {
    pub(crate) fn access_scalar(
        &mut self,
        i: &Insn,
        op: SOp,
        l: u64,
        pc: u64,
    ) -> Result<Effect, Trap> {
        match op {
            SOp::Load(log2, signed) => {
                let at = l.wrapping_add(self.right(i, false));
                let value = self.load(pc, at, size(log2), false)?;
                self.write_scalar(i.rd, extend(value, 8 << log2, signed));
            }
            SOp::LoadPcr(log2, signed) => {
                let value = self.load(pc, pc.wrapping_add_signed(i.imm), size(log2), false)?;
                self.write_scalar(i.rd, extend(value, 8 << log2, signed));
            }
            SOp::Store(log2) => {
                let (data, base, offset) = self.store_operands(i, l, log2);
                self.store(pc, base.wrapping_add(offset), size(log2), data, false)?;
            }
            SOp::StorePcr(log2) => {
                self.store(pc, pc.wrapping_add_signed(i.imm), size(log2), l, false)?;
            }
            SOp::Atomic(op, log2) => {
                let operand = self.scalar(i.r);
                let old = self.read_modify_write(pc, l, log2, op, operand, false)?;
                self.write_scalar(i.rd, extend(old, 8 << log2, true));
            }
            SOp::LoadIndexed(log2, signed, before) => {
                let moved = l.wrapping_add(self.right(i, false));
                let value = self.load(pc, if before { moved } else { l }, size(log2), false)?;
                self.write_scalar(i.rd, extend(value, 8 << log2, signed));
                self.write_scalar(i.rd1, moved);
            }
            SOp::StoreIndexed(log2, before) => {
                let (data, base, offset) = self.store_operands(i, l, log2);
                let moved = base.wrapping_add(offset);
                self.store(pc, if before { moved } else { base }, size(log2), data, false)?;
                self.write_scalar(i.rd, moved);
            }
            SOp::LoadPair(log2, signed) => {
                let at = l.wrapping_add(self.right(i, false));
                let first = self.load(pc, at, size(log2), false)?;
                let second = self.load(pc, at.wrapping_add(size(log2)), size(log2), false)?;
                self.write_scalar(i.rd, extend(first, 8 << log2, signed));
                self.write_scalar(i.rd1, extend(second, 8 << log2, signed));
            }
            SOp::StorePair(log2) => {
                let (first, base, offset) = self.store_operands(i, l, log2);
                let (at, second) = (base.wrapping_add(offset), self.scalar(i.b));
                let behind = at.wrapping_add(size(log2));
                self.check_access(pc, behind, size(log2), AccessKind::Store, false)?;
                self.store(pc, at, size(log2), first, false)?;
                self.store(pc, behind, size(log2), second, false)?;
            }
            SOp::LoadReserved(log2) => {
                self.check_access(pc, l, size(log2), AccessKind::Atomic, false)?;
                let value = self.load(pc, l, size(log2), false)?;
                self.reserved = Some(l >> LINE);
                self.write_scalar(i.rd, exclusive(value, log2));
            }
            SOp::StoreConditional(log2) => {
                let at = self.scalar(i.r);
                self.check_access(pc, at, size(log2), AccessKind::Atomic, false)?;
                let holds = self.reserved == Some(at >> LINE);
                if holds {
                    self.store(pc, at, size(log2), l, false)?;
                }
                self.reserved = None;
                self.write_scalar(i.rd, u64::from(!holds));
            }
            SOp::CompareSwap(log2) => {
                let bits = compute::ones(8 << log2);
                let (expected, new) = (self.scalar(i.r), self.scalar(i.a));
                let swap = |old| if old == expected & bits { new & bits } else { old };
                let old = self.exchange(pc, l, log2, swap, false)?;
                self.write_scalar(i.rd, exclusive(old, log2));
            }
            _ => {}
        }
        Ok(Effect::None)
    }

    /// Data of a store, its base and its offset.
    fn store_operands(&self, i: &Insn, l: u64, log2: u8) -> (u64, u64, u64) {
        if i.short {
            // The 16-bit stores take their data from t#1.
            return (self.scalar(24), l, i.imm as u64);
        }
        if i.has_imm {
            // Data is SrcL, or SrcD in the 48-bit forms; SrcR is the base.
            let data = if i.length == 6 { self.scalar(i.a) } else { l };
            return (data, self.scalar(i.r), i.imm as u64);
        }
        let scale = if i.unscaled { 0 } else { log2 };
        (self.scalar(i.a), l, self.right(i, false) << scale)
    }

    /// Loads bytes of global memory, little-endian. Misaligned accesses are done byte by byte or
    /// trap by option.
    pub(crate) fn load(&self, pc: u64, at: u64, size: u64, body: bool) -> Result<u64, Trap> {
        self.check_access(pc, at, size, AccessKind::Load, body)?;
        let mut bytes = [0; 8];
        let wanted = bytes.get_mut(..size as usize).unwrap_or_default();
        let read = self.memory.read_bytes(Addr(at), wanted);
        read.map_err(|error| Self::data_trap(pc, at, body, &error))?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Stores the low bytes of a value.
    pub(crate) fn store(
        &mut self,
        pc: u64,
        at: u64,
        size: u64,
        value: u64,
        body: bool,
    ) -> Result<(), Trap> {
        self.changes += 1;
        if !body && self.store_to_device(at, value) {
            return Ok(());
        }
        self.check_access(pc, at, size, AccessKind::Store, body)?;
        let bytes = value.to_le_bytes();
        let written =
            self.memory.write_bytes(Addr(at), bytes.get(..size as usize).unwrap_or_default());
        written.map_err(|error| Self::data_trap(pc, at, body, &error))
    }

    /// A read-modify-write; gives the old value. Atomics are aligned always.
    pub(crate) fn read_modify_write(
        &mut self,
        pc: u64,
        at: u64,
        log2: u8,
        op: Rmw,
        operand: u64,
        body: bool,
    ) -> Result<u64, Trap> {
        let bits = compute::ones(8 << log2);
        let change = |old| compute::rmw(op, old, operand, log2) & bits;
        self.exchange(pc, at, log2, change, body)
    }

    /// Replaces a value in memory at once; gives the old one.
    fn exchange(
        &mut self,
        pc: u64,
        at: u64,
        log2: u8,
        change: impl FnMut(u64) -> u64,
        body: bool,
    ) -> Result<u64, Trap> {
        self.changes += 1;
        self.check_access(pc, at, size(log2), AccessKind::Atomic, body)?;
        let width = Width::from_bytes(size(log2)).unwrap_or(Width::B8);
        let result = self.memory.atomic(Addr(at), width, change);
        result.map_err(|error| Self::data_trap(pc, at, body, &error))
    }

    /// Checks that an access is possible.
    pub(crate) fn check_access(
        &self,
        pc: u64,
        at: u64,
        size: u64,
        kind: AccessKind,
        body: bool,
    ) -> Result<(), Trap> {
        let atomic = kind == AccessKind::Atomic;
        if !at.is_multiple_of(size) && (self.options.align || atomic) {
            let trap = Trap::align(pc, at, size);
            return Err(if body { trap.in_body() } else { trap });
        }
        let allowed = self.memory.check(kind, Addr(at), size, 1);
        allowed.map_err(|error| Self::data_trap(pc, at, body, &error))
    }

    fn data_trap(pc: u64, at: u64, body: bool, error: &simt::memory::AccessError) -> Trap {
        let trap = Trap::data(pc, at, error);
        if body { trap.in_body() } else { trap }
    }
}
