//! The EXEC mask, mask registers, and operations on the mechanism.

use crate::code::{Exec, GuardRow, MaskOp, MaskSrc, Src};
use crate::engine::{Now, Outcome, guarded};
use crate::state::{Cta, Group, State};
use converge::SyncOp;
use ir::Op;
use simt::LaneMask;

/// Executes a mask operation.
pub(crate) fn execute<const N: usize>(state: &mut State<N>, now: &Now<N>, op: &MaskOp) {
    let width = state.info.width as usize;
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return };
    let all = LaneMask::first(width);
    // The operand that is a predicate, as the mask of lanes that are on and in which it holds.
    let holds = |cta: &Cta<N>, pred: &Src| predicate(cta, now, *pred);
    match op {
        MaskOp::Read(dst) => {
            let group = &mut cta.groups[now.group];
            group.masks[*dst as usize] = group.exec;
        }
        MaskOp::Write(mask) => {
            let group = &mut cta.groups[now.group];
            group.exec = source(group, *mask) & all;
        }
        MaskOp::AndSave { save, pred } => {
            let keep = holds(cta, pred);
            let group = &mut cta.groups[now.group];
            group.masks[*save as usize] = group.exec;
            // Lanes without a thread on this path keep their bit, which belongs to other paths.
            group.exec = keep | (group.exec - now.path.lanes);
        }
        MaskOp::AndNot(pred) => {
            let drop = holds(cta, pred);
            cta.groups[now.group].exec -= drop;
        }
        MaskOp::Xor(mask) => {
            let group = &mut cta.groups[now.group];
            group.exec = source(group, *mask) - group.exec;
        }
        MaskOp::Or(mask) => {
            let group = &mut cta.groups[now.group];
            group.exec |= source(group, *mask) & all;
        }
        MaskOp::Of { dst, pred } => {
            let lanes = holds(cta, pred);
            cta.groups[now.group].masks[*dst as usize] = lanes;
        }
        MaskOp::PredOf { dst, mask } => {
            let mask = source(&cta.groups[now.group], *mask);
            set_predicate(cta, now, *dst, mask);
        }
        MaskOp::Logic { op, dst, a, b } => {
            let group = &mut cta.groups[now.group];
            let (a, b) = (source(group, *a), source(group, *b));
            group.masks[*dst as usize] = match op {
                Op::Not => !a,
                Op::And => a & b,
                Op::Or => a | b,
                Op::Xor => a ^ b,
                Op::AndNot => a - b,
                _ => a,
            } & all;
        }
        MaskOp::Spill { slot, pred } => {
            // A spill stores the predicate of every lane, active or not.
            let every = Now { on: now.path.lanes, ..*now };
            let lanes = predicate(cta, &every, *pred);
            cta.groups[now.group].spills[*slot as usize] = lanes;
        }
        MaskOp::Fill { slot, dst } => {
            let lanes = cta.groups[now.group].spills[*slot as usize];
            let every = Now { on: now.path.lanes, ..*now };
            set_predicate(cta, &every, *dst, lanes);
        }
    }
}

fn source<const N: usize>(group: &Group<N>, mask: MaskSrc) -> LaneMask<N> {
    match mask {
        MaskSrc::Reg(index) => group.masks[index as usize],
        MaskSrc::Const(bits) => LaneMask::from_window(0, bits),
    }
}

/// Lanes that are on and in which a predicate operand holds.
pub(crate) fn predicate<const N: usize>(cta: &Cta<N>, now: &Now<N>, pred: Src) -> LaneMask<N> {
    match pred {
        Src::Row(row) => guarded(cta, now.group, now.on, GuardRow { row, negated: false }),
        Src::Const(bits) if bits & 1 != 0 => now.on,
        _ => LaneMask::EMPTY,
    }
}

fn set_predicate<const N: usize>(cta: &mut Cta<N>, now: &Now<N>, row: u32, mask: LaneMask<N>) {
    for lane in now.on {
        let thread = cta.groups[now.group].thread(lane);
        cta.set_row(row, thread, u64::from(mask.contains(lane)));
    }
}

/// Operations that only the mechanism understands.
pub(crate) fn converge<const N: usize>(state: &State<N>, now: &Now<N>, exec: &Exec) -> Outcome<N> {
    let Some(cta) = state.resident[now.slot].as_deref() else { return Outcome::Advance };
    Outcome::Sync(match exec {
        Exec::Split(pred) => {
            // Lanes that EXEC turns off follow those in which the predicate holds, if there are
            // any.
            let holds = predicate(cta, now, *pred);
            let off = now.path.lanes - now.unmasked;
            SyncOp::Split { taken: if holds.is_empty() { holds } else { holds | off } }
        }
        Exec::Join => SyncOp::Join,
        Exec::BarrierSet { barrier, rejoin } => SyncOp::Set { barrier: *barrier, rejoin: *rejoin },
        Exec::BarrierWait(barrier) => SyncOp::Wait { barrier: *barrier },
        Exec::BarrierBreak(barrier) => SyncOp::Break { barrier: *barrier, lanes: now.on },
        _ => SyncOp::Yield,
    })
}
