//! Loads, stores and atomics of the hart.

use simt::arith::int::{self, Int};
use simt::memory::{AccessKind, Addr, Width};

use crate::op::Amo;
use crate::pmp::Need;
use crate::state::State;
use crate::trap::{Trap, TrapCause};

/// The value at an address, zero-extended.
#[inline]
pub(crate) fn load(state: &State, addr: u64, width: Width) -> Result<u64, Trap> {
    let size = width.bytes();
    if !state.may_access(addr, size, Need::Read) {
        return Err(Trap::new(TrapCause::LoadFault, addr));
    }
    if addr & (size - 1) == 0 {
        let value = state.memory.load(Addr(addr), width);
        return value.map_err(|_| Trap::new(TrapCause::LoadFault, addr));
    }
    if state.config.misaligned_trap {
        return Err(Trap::new(TrapCause::LoadMisaligned, addr));
    }
    let mut bytes = [0; 8];
    let (bytes_read, _) = bytes.split_at_mut(size as usize);
    match state.memory.read_bytes(Addr(addr), bytes_read) {
        Ok(()) => Ok(u64::from_le_bytes(bytes)),
        Err(_) => Err(Trap::new(TrapCause::LoadFault, addr)),
    }
}

/// Stores the low bits of a value.
#[inline]
pub(crate) fn store(state: &mut State, addr: u64, width: Width, value: u64) -> Result<(), Trap> {
    let size = width.bytes();
    let fault = Trap::new(TrapCause::StoreFault, addr);
    if !state.may_access(addr, size, Need::Write) {
        return Err(fault);
    }
    if addr & (size - 1) == 0 {
        state.memory.store(Addr(addr), width, value).map_err(|_| fault)?;
        state.changed(addr, size);
    } else if state.config.misaligned_trap {
        return Err(Trap::new(TrapCause::StoreMisaligned, addr));
    } else {
        let bytes = value.to_le_bytes();
        let (written, _) = bytes.split_at(size as usize);
        state.write(addr, written).map_err(|_| fault)?;
    }
    if state.host.watches(addr, size) {
        crate::host::htif_store(state, size);
    }
    Ok(())
}

/// An aligned address for an atomic, or its trap.
fn aligned(addr: u64, width: Width, cause: TrapCause) -> Result<(), Trap> {
    if addr & (width.bytes() - 1) == 0 { Ok(()) } else { Err(Trap::new(cause, addr)) }
}

/// `lr`: the value, sign-extended.
pub(crate) fn load_reserved(state: &mut State, addr: u64, width: Width) -> Result<u64, Trap> {
    aligned(addr, width, TrapCause::LoadMisaligned)?;
    let value = load(state, addr, width)?;
    state.reservation = Some((addr, width.bytes()));
    Ok(extend(value, width))
}

/// `sc`: 0 if it has stored, else 1. Gives up the reservation.
pub(crate) fn store_conditional(
    state: &mut State,
    addr: u64,
    width: Width,
    value: u64,
) -> Result<u64, Trap> {
    aligned(addr, width, TrapCause::StoreMisaligned)?;
    if !state.may_access(addr, width.bytes(), Need::Write) {
        return Err(Trap::new(TrapCause::StoreFault, addr));
    }
    let access = state.memory.check(AccessKind::Store, Addr(addr), width.bytes(), width.bytes());
    access.map_err(|_| Trap::new(TrapCause::StoreFault, addr))?;
    if state.reservation.take() != Some((addr, width.bytes())) {
        return Ok(1);
    }
    store(state, addr, width, value)?;
    Ok(0)
}

/// A read-modify-write: the old value, sign-extended.
pub(crate) fn atomic(
    state: &mut State,
    op: Amo,
    addr: u64,
    width: Width,
    value: u64,
) -> Result<u64, Trap> {
    aligned(addr, width, TrapCause::StoreMisaligned)?;
    let both = [Need::Read, Need::Write];
    if !both.into_iter().all(|need| state.may_access(addr, width.bytes(), need)) {
        return Err(Trap::new(TrapCause::StoreFault, addr));
    }
    let old = state.memory.atomic(Addr(addr), width, |old| match width {
        Width::B8 => combine::<i64, u64>(op, old, value),
        _ => combine::<i32, u32>(op, old, value),
    });
    let old = old.map_err(|_| Trap::new(TrapCause::StoreFault, addr))?;
    state.changed(addr, width.bytes());
    if state.host.watches(addr, width.bytes()) {
        crate::host::htif_store(state, width.bytes());
    }
    Ok(extend(old, width))
}

fn combine<S: Int, U: Int>(op: Amo, old: u64, value: u64) -> u64 {
    match op {
        Amo::Swap => U::truncate(value),
        Amo::Add => int::add::<U>(old, value),
        Amo::Xor => int::xor::<U>(old, value),
        Amo::And => int::and::<U>(old, value),
        Amo::Or => int::or::<U>(old, value),
        Amo::Min => int::min::<S>(old, value),
        Amo::Max => int::max::<S>(old, value),
        Amo::Minu => int::min::<U>(old, value),
        Amo::Maxu => int::max::<U>(old, value),
    }
}

/// A value of this width, sign-extended.
#[inline]
pub(crate) fn extend(value: u64, width: Width) -> u64 {
    match width {
        Width::B1 => i8::extend(value),
        Width::B2 => i16::extend(value),
        Width::B4 => i32::extend(value),
        Width::B8 => value,
    }
}
