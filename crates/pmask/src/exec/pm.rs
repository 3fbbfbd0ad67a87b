//! Operations on P0 and the mask banks. Banks that do not exist have been refused by the decoder.

use crate::decode::Inst;
use crate::op::{PmOp, Test};
use crate::state::{State, ones};

/// One bank operation.
pub(crate) fn bank_op(state: &mut State, op: PmOp, inst: &Inst) {
    let bank = inst.bank;
    let source = state.x[usize::from(inst.rs1)];
    let old = state.bank(bank);
    match op {
        PmOp::Clr => write(state, bank, 0, Some(false)),
        PmOp::Set => write(state, bank, ones(state.evl()), Some(true)),
        PmOp::Not | PmOp::And | PmOp::Or | PmOp::Xor | PmOp::Andn => {
            algebra(state, op, bank, old, source);
        }
        PmOp::LowRd => state.set_x(inst.rd, old & 0xffff_ffff),
        PmOp::HighRd => state.set_x(inst.rd, old >> 32),
        PmOp::LowWr => write(state, bank, old & !0xffff_ffff | source & 0xffff_ffff, None),
        PmOp::HighWr => write(state, bank, old & 0xffff_ffff | source << 32, None),
        PmOp::Any => state.set_x(inst.rd, any(state, bank).into()),
        PmOp::None => state.set_x(inst.rd, (!any(state, bank)).into()),
        PmOp::All => {
            let all = tested(state, bank) == ones(state.evl());
            state.set_x(inst.rd, all.into());
        }
        PmOp::Popcnt => state.set_x(inst.rd, state.lanes(bank).count_ones().into()),
        PmOp::P0 => state.set_x(inst.rd, state.masks.p0.into()),
    }
}

/// Complement and the operations with a source. With bank 0 alone they may act on P0, by an option;
/// otherwise those on bank 0 do nothing.
fn algebra(state: &mut State, op: PmOp, bank: u8, old: u64, source: u64) {
    let combine = |old: u64, source: u64| match op {
        PmOp::Not => !old,
        PmOp::And => old & source,
        PmOp::Or => old | source,
        PmOp::Xor => old ^ source,
        _ => old & !source,
    };
    if bank == 0 {
        if state.config.scalar_algebra && state.config.banks == 1 {
            let new = combine(state.masks.p0.into(), (source != 0).into());
            state.masks.p0 = new & 1 == 1;
        }
        return;
    }
    let new = combine(old, source);
    write(state, bank, new, Some(new & 1 == 1));
}

/// Writes a bank, and P0 if it has a new value; nothing for bank 0.
fn write(state: &mut State, bank: u8, value: u64, p0: Option<bool>) {
    if bank > 0 {
        state.set_bank(bank, value);
        state.masks.p0 = p0.unwrap_or(state.masks.p0);
    }
}

/// Returns the bits that tests read.
fn tested(state: &State, bank: u8) -> u64 {
    if state.config.literal_tests { state.bank(bank) } else { state.lanes(bank) }
}

/// Returns whether some lane of a bank is on.
pub(crate) fn any(state: &State, bank: u8) -> bool {
    tested(state, bank) != 0
}

/// Returns the result of a test of two values.
#[inline]
pub(crate) fn holds(test: Test, a: u64, b: u64) -> bool {
    match test {
        Test::NonZero => a != 0,
        Test::Common => a & b != 0,
        Test::Compare(compare) => compare.holds(a, b),
    }
}

/// A test run once: P0, and bit 0 of a bank that it names.
pub(crate) fn scalar_test(state: &mut State, test: Test, inst: &Inst) {
    let result = holds(test, state.x[usize::from(inst.rs1)], state.x[usize::from(inst.rs2)]);
    state.masks.p0 = result;
    if inst.bank > 0 {
        let old = state.bank(inst.bank);
        state.set_bank(inst.bank, old & !1 | u64::from(result));
    }
}
