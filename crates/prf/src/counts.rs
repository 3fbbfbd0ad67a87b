//! Counters and observed events, the same in all models.

use std::fmt;

use simt::mask::WarpMask;
use simt::memory::Space;
use simt::memory::{AccessKind, Width};
use simt::observe::{Access, GroupId, Observer, Pc};
use simt::slots::IssueLanes;

use crate::exec::{Effect, Inputs, LANES};
use crate::op::{Insn, Op};

/// Counters besides the lane slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Predicates read: as masks, by `jpnz`, `prsw` and `halt`.
    pub predicate_reads: u64,
    /// Predicates written.
    pub predicate_writes: u64,
    /// Those of them that comparisons wrote.
    pub branches: u64,
    /// Comparisons that some, not all lanes of their mask passed.
    pub divergent: u64,
    /// Masks stored to memory (`prsw`).
    pub spills: u64,
    /// Masks loaded from memory (`prlw`).
    pub fills: u64,
    /// Lanes that took part in comparisons, which do no work but on predicates.
    pub comparing_lanes: u64,
}

/// One line for display.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { predicate_reads, predicate_writes, branches, divergent, spills, fills, .. } =
            self;
        writeln!(
            f,
            "predicates: {predicate_reads} read, {predicate_writes} written; comparisons: {branches}, \
             {divergent} divergent; masks: {spills} stored, {fills} loaded"
        )
    }
}

impl Counts {
    /// Each count with its name.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let Self { predicate_reads, predicate_writes, branches, divergent, .. } = *self;
        let Self { spills, fills, comparing_lanes, .. } = *self;
        [
            ("predicate_reads", predicate_reads),
            ("predicate_writes", predicate_writes),
            ("comparisons", branches),
            ("divergent_comparisons", divergent),
            ("spills", spills),
            ("fills", fills),
            ("comparing_lanes", comparing_lanes),
        ]
        .into_iter()
    }

    /// Counts an instruction with its effect.
    pub(crate) fn count(&mut self, insn: &Insn, effect: &Effect) {
        self.predicate_reads += u64::from(insn.reads_predicate());
        self.predicate_writes += u64::from(insn.writes_predicate());
        self.spills += u64::from(insn.op == Op::Prsw);
        self.fills += u64::from(insn.op == Op::Prlw);
        if let Effect::Predicate { set, lanes, .. } = effect {
            self.branches += 1;
            self.comparing_lanes += u64::from(lanes.count());
            self.divergent += u64::from(set.any() && set != lanes);
        }
    }
}

/// The lane sets of an instruction.
pub(crate) fn lanes(warp_launched: WarpMask, live: WarpMask, on: WarpMask) -> IssueLanes<1> {
    IssueLanes {
        width: LANES as u32,
        launched: warp_launched,
        exited: warp_launched - live,
        waiting: WarpMask::EMPTY,
        active: live,
        // Predicates are all the control flow there is: what they turn off is diverged in the
        // logical view.
        unmasked: on,
        on,
    }
}

/// Returns the lanes that participate: those of the mask, all live ones in a jump, lane 0 when a
/// mask is moved to or from memory.
pub(crate) fn participants(insn: &Insn, predicate: WarpMask, live: WarpMask) -> WarpMask {
    match insn.op {
        Op::Jal | Op::Jalr | Op::Jpnz => live,
        Op::Prsw | Op::Prlw => WarpMask::lane(0),
        _ => predicate & live,
    }
}

/// Reports a memory access.
pub(crate) fn announce<O: Observer<1>>(
    inputs: &Inputs<'_>,
    effect: &Effect,
    group: GroupId,
    observer: &mut O,
) {
    let i = inputs.insn;
    let (kind, base, size) = match i.op {
        Op::Lw => (AccessKind::Load, inputs.a, Width::B4),
        Op::Lh => (AccessKind::Load, inputs.a, Width::B2),
        Op::Lb => (AccessKind::Load, inputs.a, Width::B1),
        Op::Prlw => (AccessKind::Load, inputs.b, Width::B4),
        Op::Sw | Op::Sh | Op::Sb => match effect {
            Effect::Store { width, .. } => (AccessKind::Store, inputs.a, *width),
            _ => return,
        },
        Op::Prsw => (AccessKind::Store, inputs.b, Width::B4),
        _ => return,
    };
    let on = participants(&i, inputs.predicate, inputs.live);
    let address = |lane: usize| u64::from(base[lane].wrapping_add_signed(i.imm));
    let lanes: Vec<(u16, u64)> = on.iter().map(|lane| (lane as u16, address(lane))).collect();
    let (order, scope) = Default::default();
    let (pc, size) = (Pc(inputs.pc.into()), size.bytes() as u32);
    let space = Space::Global;
    let (lanes, values) = (&lanes[..], &[][..]);
    observer.access(&Access {
        group,
        pc,
        kind,
        space,
        owner: group.cta,
        order,
        scope,
        size,
        lanes,
        values,
    });
}
