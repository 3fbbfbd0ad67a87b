//! Computations of linked instructions without a state, so that other engines execute them with the
//! same code.

use crate::code::{Code, CollectiveKind, CollectiveOp, Exec, WarpGroupOp};
use compute::Computation;
use simt::LaneMask;

/// A collective whose member lanes are all active.
#[derive(Clone, Copy, Debug)]
pub struct DetachedCollective {
    kind: CollectiveKind,
    named: bool,
}

impl Code {
    /// Returns its per-lane computation, if it is one.
    #[must_use]
    pub fn computation(&self) -> Option<&Computation> {
        match &self.exec {
            Exec::Lanes(op) if !op.uniform => Some(&op.computation),
            _ => None,
        }
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

    /// Returns its operation on products of a warp group, if it is one.
    #[must_use]
    pub fn warp_group_operation(&self) -> Option<WarpGroupOp> {
        match &self.exec {
            Exec::Collective(CollectiveOp { kind: CollectiveKind::WarpGroup(op), .. }) => Some(*op),
            _ => None,
        }
    }

    /// Returns its collective, if it is one.
    #[must_use]
    pub fn detached_collective(&self) -> Option<DetachedCollective> {
        match &self.exec {
            Exec::Collective(op) if !matches!(op.kind, CollectiveKind::WarpGroup(_)) => {
                Some(DetachedCollective { kind: op.kind, named: op.members.is_some() })
            }
            _ => None,
        }
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
