//! The registers that the instruction at a place reads and writes: what a debugger asks.
//!
//! Operands alone are registers of the debugger: imports, counters and tiles are not, and template
//! blocks, which save and restore registers, do not tell.

use simt::inspect::Effects;

use crate::action::{Action, Branch, Descriptor, SOp, System};
use crate::insn::Insn;
use crate::inspect::{LANES, P, T, U};
use crate::regid::{Place, Reg, Source};
use crate::vector::{operands, reads_mask};

/// Pushes on the queue whose newest entry is `first`.
fn push(effects: &mut Effects, first: u32) {
    effects.writes.push(first);
    effects.moves.extend((first..first + 3).map(|entry| (entry + 1, entry)));
}

/// Writes a register of the 5-bit codes.
fn write(effects: &mut Effects, code: i64) {
    match code {
        1..=23 => effects.writes.push(code as u32),
        30 => push(effects, U),
        31 => push(effects, T),
        _ => {}
    }
}

/// Reads registers of the 5-bit codes; 0 is a number.
fn read(effects: &mut Effects, codes: &[i64]) {
    let registers = codes.iter().filter(|code| (1..32).contains(*code));
    effects.reads.extend(registers.map(|&code| code as u32));
}

/// The effects of an instruction; none if the machine does not tell.
pub(crate) fn of(insn: &Insn) -> Option<Effects> {
    let mut effects = Effects::default();
    match insn.action {
        Action::Scalar(op) => scalar(insn, op, &mut effects),
        Action::Vector(op) => {
            let ops = operands(insn, op);
            for source in [ops.l, ops.r, ops.a].into_iter().flatten() {
                read_source(&mut effects, source);
            }
            if reads_mask(insn, op, &ops) {
                effects.reads.push(P);
            }
            match ops.dest.map(|dest| dest.place) {
                Some(Place::Lane(hand)) => push(&mut effects, LANES + 4 * u32::from(hand)),
                Some(Place::T) => push(&mut effects, T),
                Some(Place::U) => push(&mut effects, U),
                Some(Place::P) => effects.writes.push(P),
                Some(Place::Ro(_) | Place::None(_)) | None => {}
            }
        }
        Action::Descriptor(descriptor) => {
            let field = |at| insn.bits(at, 5) as i64;
            match descriptor {
                Descriptor::Dim(_) => read(&mut effects, &[field(15)]),
                Descriptor::CDim => read(&mut effects, &[field(6)]),
                Descriptor::Ior => read(&mut effects, &[field(15), field(20), field(27)]),
                Descriptor::Iot => read(&mut effects, &[field(7)]),
                _ => {}
            }
        }
        Action::Branch(branch) => match branch {
            Branch::Compare(..) => read(&mut effects, &[insn.l, insn.r]),
            Branch::Register => read(&mut effects, &[insn.l]),
            Branch::Zero | Branch::NotZero => effects.reads.push(P),
            Branch::Jump => {}
        },
        Action::System(System::SsrGet) => write(&mut effects, insn.rd),
        Action::System(System::SsrSwap) => {
            read(&mut effects, &[insn.l]);
            write(&mut effects, insn.rd);
        }
        Action::System(System::Assert | System::SsrSet | System::Maintain(_)) => {
            read(&mut effects, &[insn.l]);
        }
        // Services of the host take and give registers; templates save and restore some.
        Action::System(System::Acrc | System::Acre) | Action::Template(_) => return None,
        // The next block has empty queues, if one begins.
        Action::Marker(_) | Action::ReservedTile | Action::Stop | Action::LegacyStop => {
            return None;
        }
        Action::System(System::Ebreak | System::Fence) | Action::None(_) => {}
    }
    effects.reads.sort_unstable();
    effects.reads.dedup();
    Some(effects)
}

fn read_source(effects: &mut Effects, source: Source) {
    let index = match source.reg {
        Reg::Lane { hand, depth, .. } => LANES + 4 * u32::from(hand & 3) + u32::from(depth & 3),
        Reg::T(depth) => T + u32::from(depth & 3),
        Reg::U(depth) => U + u32::from(depth & 3),
        Reg::P => P,
        Reg::Ri(_) | Reg::Lc(_) | Reg::Lb(_) | Reg::TileIn(_) | Reg::TileOut(_) | Reg::Zero => {
            return;
        }
    };
    effects.reads.push(index);
}

fn scalar(insn: &Insn, op: SOp, effects: &mut Effects) {
    let Insn { rd, rd1, l, r, a, b, .. } = *insn;
    // Stores of 16 bits take their data from t#1.
    let implied = if insn.short && matches!(op, SOp::Store(_)) { 24 } else { 0 };
    read(effects, &[l, r, a, b, implied]);
    match op {
        SOp::SetRet => write(effects, 10),
        SOp::Setc(_) | SOp::SetTgt | SOp::Prefetch => {}
        SOp::Store(_) | SOp::StorePcr(_) | SOp::StorePair(_) => {}
        SOp::DivBoth(..)
        | SOp::MulBoth(_)
        | SOp::Concat(_)
        | SOp::MaddBoth(_)
        | SOp::LoadIndexed(..)
        | SOp::LoadPair(..) => {
            write(effects, rd);
            write(effects, rd1);
        }
        _ => write(effects, rd),
    }
}
