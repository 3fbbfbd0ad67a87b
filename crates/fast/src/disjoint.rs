//! What footprints (`flow::footprint`) tell of the regions of global memory before a launch runs.
//!
//! Claims ([`crate::workers`]) cost time in each CTA, and more the more threads share their table.
//! In a region of which each CTA accesses bytes of its own, as far as its accesses have footprints,
//! these make no claims; all others are refused there. Where all stores have footprints, loads from
//! regions that none of these reaches make none either.
#![allow(unsafe_code, reason = "only footprints tell that CTAs do not meet")]

use crate::code::{Code, Kind};
use crate::context::Context;
use flow::footprint::Arguments;
use ir::mods::Space;
use simt::memory::{DirectMemory, RegionUses, Together};

/// The uses of a launch's regions, as lists of their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Proven {
    /// Each CTA accesses bytes of its own.
    pub(crate) disjoint: Vec<u32>,
    /// Nobody writes them.
    unwritten: Vec<u32>,
    /// Somebody may write them, and they are not disjoint.
    pub(crate) shared: Vec<u32>,
}

impl Proven {
    /// Finds the uses of a launch's regions.
    pub(crate) fn new(context: &Context<'_>, memory: &DirectMemory<'_>) -> Self {
        let (mut found, code) = (Self::default(), context.code);
        if code.footprints.is_read_only() {
            return found;
        }
        let (grid, block, params) = (context.grid, context.block, context.params.as_slice());
        let launch = code.footprints.in_launch(&Arguments { grid, block, params });
        let Some(launch) = launch else { return found };
        let elsewhere = writes_elsewhere(code);
        for (region, (base, len)) in (0..).zip(memory.extents()) {
            let len = len as u64;
            if launch.is_disjoint(base, len) {
                found.disjoint.push(region);
            } else if launch.is_written(base, len) {
                found.shared.push(region);
            } else if !elsewhere {
                found.unwritten.push(region);
            }
        }
        found
    }

    /// Returns the parts of a memory for so many threads, and their claims, as
    /// [`DirectMemory::parts`] does.
    pub(crate) fn parts<'m>(
        &self,
        memory: &'m mut DirectMemory<'_>,
        threads: usize,
        written: &[u32],
    ) -> (Vec<DirectMemory<'m>>, Together) {
        let (unwritten, disjoint) = (&self.unwritten, &self.disjoint);
        // SAFETY: an owner is a CTA. Steps with a footprint alone ask for own places, and of the
        // words around these they use those that their lanes name; compiled code stores no others,
        // and drops others that it loads. A footprint has all bytes that lanes of a CTA reach at a
        // step, and in these regions no byte that is written is in the footprints of two CTAs.
        unsafe { memory.disjoint_parts(threads, RegionUses { written, unwritten, disjoint }) }
    }
}

/// Returns whether a step without a footprint may write global memory.
fn writes_elsewhere(code: &Code) -> bool {
    let global = |space: Space| matches!(space, Space::Global | Space::Generic);
    code.steps.iter().any(|step| match &step.kind {
        Kind::Store(memory) => !memory.has_footprint && global(memory.space),
        Kind::Atomic(atomic) => global(atomic.memory.space),
        Kind::Texture(texture) => texture.op.kind.writes(),
        Kind::Matrix(bulk) => bulk.memory.as_ref().is_some_and(|memory| global(memory.space)),
        _ => false,
    })
}
