//! Launches of which checks see the accesses and barriers, so that those in which nothing is
//! suspicious need no events of the exact engine.
//!
//! A [`Screen`] judges each access on its own and may be wrong in one direction alone: what it
//! refuses need not be a defect, what it lets pass is none. A refusal declines the launch, which
//! the exact engine then runs from its beginning, with all events. Screened launches run on the
//! interpreter, on one thread, and commit nothing before they end.
//!
//! The interpreter itself refuses what screens do not follow: barriers that a part of a warp comes
//! to, or that the end of threads completes, collectives of some lanes, copies, accesses of
//! matrices, and registers that are read before they are written.

use crate::Declined;
use crate::code::{Code, Kind, Memory};
use crate::context::Context;
use crate::machine::Machine;
use crate::row::{LANES, lanes};
use crate::warp::Warp;
use ir::mods::{Order, Scope};
use simt::memory::{Addr, Space};
use simt::observe::AccessKind;

/// The bits of an offset in a space with a window.
const OFFSET: u64 = 0xffff_ffff;

const REFUSED: Declined = Declined::Running("checks have to see its events");

/// The extents of a screened launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScreenedLaunch {
    /// CTAs of the grid.
    pub ctas: u64,
    /// Threads of a CTA.
    pub threads: u32,
    /// Bytes of shared memory of a CTA.
    pub shared_bytes: u64,
    /// Bytes of local memory of a thread.
    pub local_bytes: usize,
    /// Bytes of the smallest word that the kernel writes; a power of two.
    pub smallest_word: u32,
}

/// An access of lanes of a warp, before it is made.
#[derive(Clone, Copy, Debug)]
pub struct ScreenedAccess<'a> {
    /// The number of the CTA in the grid.
    pub cta: u64,
    /// The number in the CTA of the thread in lane 0.
    pub first_thread: u32,
    /// Whether it loads, stores or is an atomic.
    pub kind: AccessKind,
    /// Its order.
    pub order: Order,
    /// Among whom.
    pub scope: Scope,
    /// The space accessed, never the generic one.
    pub space: Space,
    /// Bytes per lane.
    pub size: u32,
    /// The active lanes; never 0.
    pub on: u32,
    /// Address by lane, defined for active lanes only; an offset in shared, local and parameter
    /// space.
    pub at: &'a [u64; LANES],
}

/// Judges the accesses of a launch.
pub trait Screen {
    /// Called before the first access of a launch. Returns `false` if the exact engine has to run
    /// it.
    fn begin(&mut self, launch: &ScreenedLaunch) -> bool;

    /// Called before each access, in the canonical order. Returns `false` if the exact engine has
    /// to run the launch.
    fn access(&mut self, access: &ScreenedAccess<'_>) -> bool;

    /// Called when all threads of a CTA have come to a barrier.
    fn barrier(&mut self, cta: u64);

    /// Called when all threads of a CTA have ended.
    fn cta_ended(&mut self, cta: u64);

    /// Called when the launch has ended with nothing refused.
    fn ended(&mut self);
}

/// Returns the smallest word that steps write, in bytes.
fn smallest_word(code: &Code) -> u32 {
    let word = |kind: &Kind| match kind {
        Kind::Store(memory) => Some(memory.word),
        Kind::Atomic(atomic) => Some(atomic.memory.word),
        _ => None,
    };
    code.steps.iter().filter_map(|step| word(&step.kind)).min().unwrap_or(4).clamp(1, 8)
}

impl Machine<'_> {
    /// Begins a screened launch.
    pub(crate) fn begin_screened(&mut self) -> Result<(), Declined> {
        let Context { code, total, threads, ref shared, .. } = *self.context;
        if code.has_calls {
            return Err(Declined::Launch("checks follow the registers of its calls"));
        }
        if !code.cleared.is_empty() {
            return Err(Declined::Launch("it may read registers that it has not written"));
        }
        let launch = ScreenedLaunch {
            ctas: total,
            threads,
            shared_bytes: shared.bytes(),
            local_bytes: code.local_bytes,
            smallest_word: smallest_word(code),
        };
        let begun = self.observer.screen().is_none_or(|screen| screen.begin(&launch));
        if begun { Ok(()) } else { Err(REFUSED) }
    }

    /// Has the screen judge an access of a warp.
    #[inline(never)]
    pub(crate) fn screen_access(
        &mut self,
        warp: &Warp,
        op: &Memory,
        kind: AccessKind,
        on: u32,
    ) -> Result<(), Declined> {
        let mut at = warp.wide(op.addr).0;
        at.iter_mut().for_each(|at| *at = at.wrapping_add_signed(op.offset));
        let space = match op.space {
            Space::Generic => {
                let space = |lane: usize| Space::of(Addr(at[lane]));
                let first = space(on.trailing_zeros() as usize);
                if lanes(on).any(|lane| space(lane) != first) {
                    return Err(REFUSED);
                }
                first
            }
            named => named,
        };
        if space.window().is_some() {
            at.iter_mut().for_each(|at| *at &= OFFSET);
        }
        let size = op.lane_bytes(kind);
        if space == Space::Shared && !self.context.is_in_variables(&at, u64::from(size), on) {
            return Err(REFUSED);
        }
        let access = ScreenedAccess {
            cta: self.ctas[self.slot].index,
            first_thread: warp.first_thread,
            kind,
            order: op.order,
            scope: op.scope,
            space,
            size,
            on,
            at: &at,
        };
        let passes = self.observer.screen().is_none_or(|screen| screen.access(&access));
        if passes { Ok(()) } else { Err(REFUSED) }
    }

    /// Refuses a collective of some lanes of a warp.
    #[inline]
    pub(crate) fn screen_collective(&self, on: u32) -> Result<(), Declined> {
        if self.screened && on != u32::MAX { Err(REFUSED) } else { Ok(()) }
    }

    /// Refuses a step that screens do not follow.
    #[inline]
    pub(crate) fn screen_other(&self) -> Result<(), Declined> {
        if self.screened { Err(REFUSED) } else { Ok(()) }
    }

    /// Tells the screen of a barrier that so many threads complete. If these are all of the CTA,
    /// whole warps have come: a warp waits with all of its lanes.
    pub(crate) fn screen_barrier(&mut self, arrived: u32) -> Result<(), Declined> {
        if !self.screened {
            return Ok(());
        }
        if arrived != self.context.threads {
            return Err(REFUSED);
        }
        let cta = self.ctas[self.slot].index;
        if let Some(screen) = self.observer.screen() {
            screen.barrier(cta);
        }
        Ok(())
    }
}
