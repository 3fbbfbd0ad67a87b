//! What the mechanisms' files share: paths with names, and images of masks.

use crate::mechanism::{Path, PathId, Refusal};
use simt::{LaneMask, Pc};

/// A path as a mechanism keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group<const N: usize> {
    pub(crate) id: u32,
    pub(crate) pc: Pc,
    pub(crate) lanes: LaneMask<N>,
}

impl<const N: usize> Group<N> {
    pub(crate) fn path(&self, depth: u32) -> Path<N> {
        Path { id: PathId(self.id), pc: self.pc, lanes: self.lanes, depth }
    }
}

/// Names of paths. Non-empty disjoint paths are at most as many as lanes, so a free name always
/// exists.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ids<const N: usize>(LaneMask<N>);

impl<const N: usize> Ids<N> {
    pub(crate) fn take(&mut self) -> u32 {
        let id = (!self.0).lowest().unwrap_or(LaneMask::<N>::CAPACITY - 1);
        self.0.insert(id);
        u32::try_from(id).unwrap_or(u32::MAX)
    }

    pub(crate) fn give_back(&mut self, id: u32) {
        self.0.remove(id as usize);
    }
}

/// The index of a path among groups.
pub(crate) fn position<const N: usize>(groups: &[Group<N>], id: PathId) -> Result<usize, Refusal> {
    groups.iter().position(|g| g.id == id.0).ok_or(Refusal::UnknownPath { path: id.0 })
}

/// Puts a place and a mask into an image.
pub(crate) fn image<const N: usize>(out: &mut Vec<u64>, pc: Pc, lanes: &LaneMask<N>) {
    out.push(pc.0);
    out.extend(lanes.words());
}

/// A number as an index into lists that are never longer than memory.
pub(crate) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
