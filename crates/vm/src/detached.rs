//! Computations of linked instructions without a state, so that other engines execute them with the
//! same code.

use crate::code::{Code, CollectiveKind, Exec, LaneOp, Src};
use crate::compute::{Bases, Columns};
use simt::LaneMask;

/// A per-lane computation on a file of the caller: row `i` holds source `i`, followed by the
/// results.
#[derive(Clone, Debug)]
pub struct DetachedLanes {
    op: LaneOp,
    sources: usize,
}

/// A collective whose member lanes are all active.
#[derive(Clone, Copy, Debug)]
pub struct DetachedCollective {
    kind: CollectiveKind,
    named: bool,
}

impl Code {
    /// Returns its per-lane computation, if it is one.
    #[must_use]
    pub fn detached_lanes(&self) -> Option<DetachedLanes> {
        let Exec::Lanes(op) = &self.exec else { return None };
        if op.uniform {
            return None;
        }
        let sources = op.src.len();
        let mut op = op.clone();
        for (i, src) in op.src.iter_mut().enumerate() {
            if !matches!(src, Src::Const(_)) {
                *src = Src::Row(i as u32);
            }
        }
        for (i, row) in op.dst.iter_mut().enumerate() {
            *row = (sources + i) as u32;
        }
        Some(DetachedLanes { op, sources })
    }

    /// Returns its operation on matrices, if it is one.
    #[must_use]
    pub fn detached_matrix(&self) -> Option<crate::Matrix> {
        match &self.exec {
            Exec::Collective(op) => match op.kind {
                CollectiveKind::Matrix(matrix) => Some(matrix),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns its collective, if it is one.
    #[must_use]
    pub fn detached_collective(&self) -> Option<DetachedCollective> {
        match &self.exec {
            Exec::Collective(op) => {
                Some(DetachedCollective { kind: op.kind, named: op.members.is_some() })
            }
            _ => None,
        }
    }
}

impl DetachedLanes {
    /// Rows that hold sources: 128-bit operands take two.
    #[must_use]
    pub fn sources(&self) -> usize {
        self.sources
    }

    /// Rows that hold results, discarded ones included.
    #[must_use]
    pub fn results(&self) -> usize {
        self.op.dst.len()
    }

    /// Computes the results of the lanes that are on. Row `r` of lane `i` is `file[r * lanes + i]`;
    /// there are at most 64 lanes.
    ///
    /// # Panics
    /// Panics if the file lacks rows.
    pub fn run(&self, file: &mut [u64], lanes: usize, on: LaneMask<1>) {
        let base = Bases::Uniform(0);
        let (stride, first) = (lanes, 0);
        let mut columns = Columns { file, stride, first, lanes, on, base, scalars: &[], vars: &[] };
        (self.op.run)(&mut columns, &self.op);
    }
}

impl DetachedCollective {
    /// Returns the kind of the collective.
    #[must_use]
    pub fn kind(&self) -> CollectiveKind {
        self.kind
    }

    /// Returns whether it names its members; otherwise the lanes that execute it together are the
    /// members.
    #[must_use]
    pub fn names_members(&self) -> bool {
        self.named
    }

    /// Returns, for a shuffle with these operands, the lane that each lane reads, and the lanes for
    /// which it is inside of the segment.
    #[must_use]
    pub fn pattern(&self, b: u64, c: u64) -> Option<([u8; 32], u32)> {
        let CollectiveKind::Shuffle(mode) = self.kind else { return None };
        let (mut sources, mut inside) = ([0; 32], 0);
        for (lane, source) in (0u32..).zip(&mut sources) {
            let (from, is_inside) =
                crate::collective::shuffle_source(mode, crate::WARP_SIZE, lane, b, c);
            *source = from as u8;
            inside |= u32::from(is_inside) << lane;
        }
        Some((sources, inside))
    }

    /// Returns the result of a vote from the active lanes and those in which the predicate holds.
    #[must_use]
    pub fn voted(&self, on: u32, holds: u32) -> Option<u64> {
        let CollectiveKind::Vote(vote) = self.kind else { return None };
        Some(crate::collective::voted(vote, on.into(), (on & holds).into()))
    }

    /// Computes the two results of each lane, from its operands without the member mask.
    #[must_use]
    pub fn results(&self, on: LaneMask<1>, operands: &[[u64; 3]; 32]) -> [(u64, u64); 32] {
        crate::collective::results(self.kind, crate::WARP_SIZE, on, operands)
    }
}
