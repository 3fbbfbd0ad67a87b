//! Launches of which checks see the accesses and barriers, so that those in which nothing is
//! suspicious need no events of the exact engine.
//!
//! A [`Screen`] judges each access on its own and may be wrong in one direction alone: what it
//! refuses need not be a defect, what it lets pass is none. A refusal declines the launch, which
//! the exact engine then runs from its beginning, with all events. Screened launches run on
//! one thread, and commit nothing before they end.
//!
//! The engine itself refuses what screens do not follow: barriers that a part of a warp comes
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
use std::ops::Range;

/// The bits of an offset in a space with a window.
const OFFSET: u64 = 0xffff_ffff;

/// Why screened launches are declined.
pub const REFUSED: Declined = Declined::Running("checks have to see its events");

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

/// An access of lanes of a warp.
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
    /// Address by lane; an offset in shared, local and parameter space.
    pub at: ScreenedAddresses<'a>,
}

/// Addresses of lanes.
#[derive(Clone, Copy, Debug)]
pub enum ScreenedAddresses<'a> {
    /// Lane 0's address, and the distance from each lane's to the next one's. Those of lanes that
    /// are off need not exist.
    Line {
        /// Lane 0's address.
        first: u64,
        /// The distance.
        stride: i64,
    },
    /// The first active lane's address, and the distances of others from there.
    Pattern {
        /// The first active lane's address.
        at: u64,
        /// The distances.
        pattern: &'a RowPattern,
    },
    /// By lane, defined for active lanes only.
    Each(&'a [u64; LANES]),
}

/// Distances of the addresses of active lanes that accesses have again and again.
#[derive(Clone, Debug)]
pub struct RowPattern {
    /// A number of its own, from 0 in each launch, for the active lanes and the step, too.
    pub id: u32,
    /// Bytes from the first active lane's address to each other one; 0 for lanes that are off.
    pub distances: [i32; LANES],
    /// The least of the distances.
    pub low: i32,
    /// The greatest.
    pub high: i32,
}

impl ScreenedAddresses<'_> {
    /// Returns a lane's address.
    #[must_use]
    pub fn of(self, lane: usize) -> u64 {
        match self {
            Self::Line { first, stride } => first.wrapping_add_signed(stride * lane as i64),
            Self::Pattern { at, pattern } => at.wrapping_add_signed(pattern.distances[lane].into()),
            Self::Each(at) => at[lane],
        }
    }
}

/// What a screen says of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The exact engine has to run the launch.
    Refused,
    /// Nothing is suspicious.
    Passed,
    /// Nothing is suspicious, and the screen knows nothing more than before: [`Screen::exempt`] may
    /// tell of other such accesses.
    Idle,
}

/// How long accesses are exempt from judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExemptUntil {
    /// Until a barrier of the CTA is complete, or the CTA ends.
    Barrier,
    /// Until the CTA ends.
    CtaEnd,
    /// Until the launch ends.
    LaunchEnd,
}

/// Accesses that need no judgement: those of one kind, order and scope to these bytes, by any
/// threads of the CTA, or of all CTAs if it is until the launch ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exempt {
    /// The bytes. An access lies in them whole.
    pub bytes: Range<u64>,
    /// For how long.
    pub until: ExemptUntil,
}

impl Exempt {
    /// Returns that all accesses to a space, or to the 4 GiB around an address, are exempt.
    #[must_use]
    pub fn all(access: &ScreenedAccess<'_>) -> Self {
        let lane = access.on.trailing_zeros() as usize % LANES;
        let start = if access.space.window().is_some() { 0 } else { access.at.of(lane) & !OFFSET };
        Self { bytes: start..start.saturating_add(OFFSET + 1), until: ExemptUntil::LaunchEnd }
    }
}

/// Judges the accesses of a launch.
pub trait Screen {
    /// Called before the first access of a launch. Returns `false` if the exact engine has to run
    /// it.
    fn begin(&mut self, launch: &ScreenedLaunch) -> bool;

    /// Returns whether accesses need be judged. Else [`Self::access`] may not be called.
    fn judges_accesses(&self) -> bool;

    /// Called for each access in the canonical order, perhaps after it was made, unless it is
    /// exempt.
    fn access(&mut self, access: &ScreenedAccess<'_>) -> Verdict;

    /// Returns which accesses around an [idle](Verdict::Idle) one are as idle, and will be.
    fn exempt(&mut self, access: &ScreenedAccess<'_>) -> Option<Exempt>;

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

/// Judges accesses of a CTA.
pub struct AccessScreen<'s> {
    screen: &'s mut dyn Screen,
    context: &'s Context<'s>,
    cta: u64,
}

impl<'s> AccessScreen<'s> {
    /// Returns the decoded kernel.
    #[inline]
    #[must_use]
    pub fn code(&self) -> &'s Code {
        self.context.code
    }

    /// Judges an access at addresses to which its offset is to be added.
    #[inline]
    pub fn judge(
        &mut self,
        first_thread: u32,
        (op, kind): (&Memory, AccessKind),
        on: u32,
        at: ScreenedAddresses<'_>,
    ) -> Verdict {
        let judged = self.resolved(
            (first_thread, op, kind, on, at),
            #[inline(always)]
            |this, access, bytes| match this.is_in_variables(access, bytes) {
                true => this.screen.access(access),
                false => Verdict::Refused,
            },
        );
        judged.unwrap_or(Verdict::Refused)
    }

    /// Returns which accesses around an [idle](Verdict::Idle) one need not be judged, by addresses
    /// with the offset.
    #[cold]
    pub fn exempt(
        &mut self,
        first_thread: u32,
        (op, kind): (&Memory, AccessKind),
        on: u32,
        at: ScreenedAddresses<'_>,
    ) -> Option<Exempt> {
        let lane = on.trailing_zeros() as usize % LANES;
        let given = at.of(lane).wrapping_add_signed(op.offset);
        self.resolved((first_thread, op, kind, on, at), |this, access, bytes| {
            let Exempt { bytes: all, until } = this.screen.exempt(access)?;
            let variable = match access.space {
                Space::Shared => this.context.variable_around(bytes)?,
                _ => all.clone(),
            };
            let (start, end) = (all.start.max(variable.start), all.end.min(variable.end));
            // Back to addresses as they were given.
            let moved = |at: u64| given.wrapping_add(at.wrapping_sub(access.at.of(lane)));
            Some(Exempt { bytes: moved(start)..moved(end), until })
        })?
    }

    /// Calls a function with an access whose space is known, and the least bytes around it; returns
    /// `None` if lanes access several spaces.
    #[inline(always)]
    fn resolved<R>(
        &mut self,
        (first_thread, op, kind, on, at): Given<'_, '_>,
        f: impl FnOnce(&mut Self, &ScreenedAccess<'_>, Range<u64>) -> R,
    ) -> Option<R> {
        let size = op.lane_bytes(kind);
        let cta = self.cta;
        let access = |space, at| ScreenedAccess {
            cta,
            first_thread,
            kind,
            order: op.order,
            scope: op.scope,
            space,
            size,
            on,
            at,
        };
        let around =
            |low: u64, span: u64| low..low.saturating_add(span).saturating_add(u64::from(size));
        match at {
            ScreenedAddresses::Line { first, stride } => {
                let lane = i64::from(on.trailing_zeros() & 31);
                let last = i64::from(31 - (on | 1).leading_zeros());
                let first = first.wrapping_add_signed(op.offset);
                let of = |lane: i64| first.wrapping_add_signed(stride.wrapping_mul(lane));
                let (low, high) = (of(lane), of(last));
                let space = space_of(op, [low, high].into_iter())?;
                let (low, span) = (within(space, low), high.wrapping_sub(low));
                let first = low.wrapping_sub(stride.wrapping_mul(lane) as u64);
                let at = ScreenedAddresses::Line { first, stride };
                Some(f(self, &access(space, at), around(low, span)))
            }
            ScreenedAddresses::Pattern { at, pattern } => {
                let first = at.wrapping_add_signed(op.offset);
                let of = |distance: i32| first.wrapping_add_signed(distance.into());
                let (low, high) = (of(pattern.low), of(pattern.high));
                let space = space_of(op, [low, high].into_iter())?;
                let (low, span) = (within(space, low), high.wrapping_sub(low));
                let at = low.wrapping_sub(pattern.low as u64);
                let at = ScreenedAddresses::Pattern { at, pattern };
                Some(f(self, &access(space, at), around(low, span)))
            }
            ScreenedAddresses::Each(at) => {
                let mut at = *at;
                at.iter_mut().for_each(|at| *at = at.wrapping_add_signed(op.offset));
                let space = space_of(op, lanes(on).map(|lane| at[lane]))?;
                at.iter_mut().for_each(|at| *at = within(space, *at));
                // All lanes in a vector: those that are off count as the first one.
                let first = at[on.trailing_zeros() as usize % LANES];
                let (mut low, mut high) = (first, first);
                for (lane, &at) in at.iter().enumerate() {
                    let at = if on >> lane & 1 != 0 { at } else { first };
                    (low, high) = (low.min(at), high.max(at));
                }
                let at = ScreenedAddresses::Each(&at);
                Some(f(self, &access(space, at), around(low, high.wrapping_sub(low))))
            }
        }
    }

    /// Returns whether each lane's access lies in a variable, if it is to shared memory. They are
    /// within these bytes.
    #[inline]
    fn is_in_variables(&self, access: &ScreenedAccess<'_>, bytes: Range<u64>) -> bool {
        let context = self.context;
        if access.space != Space::Shared || context.variables.is_empty() {
            return true;
        }
        let (at, size) = (access.at, u64::from(access.size));
        // Mostly, all lie in the same one.
        context.is_in_variable(bytes.start, bytes.end)
            || lanes(access.on).all(|lane| context.is_in_variable(at.of(lane), at.of(lane) + size))
    }
}

/// An access as it is logged: the thread in lane 0, the operation, the active lanes, and addresses
/// without the offset.
type Given<'g, 'a> = (u32, &'g Memory, AccessKind, u32, ScreenedAddresses<'a>);

/// Returns an address as a space counts it.
#[inline]
fn within(space: Space, at: u64) -> u64 {
    if space.window().is_some() { at & OFFSET } else { at }
}

/// Returns the space of an access at these addresses, if it is the same for all.
#[inline]
fn space_of(op: &Memory, mut at: impl Iterator<Item = u64>) -> Option<Space> {
    if op.space != Space::Generic {
        return Some(op.space);
    }
    let space = Space::of(Addr(at.next()?));
    at.all(|at| Space::of(Addr(at)) == space).then_some(space)
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
        let at = warp.wide(op.address).0;
        let refused = self.screening().is_some_and(|mut it| {
            let at = ScreenedAddresses::Each(&at);
            it.judge(warp.first_thread, (op, kind), on, at) == Verdict::Refused
        });
        if refused { Err(REFUSED) } else { Ok(()) }
    }

    /// Returns what judges accesses of the CTA whose turn it is, if anything does.
    #[inline]
    pub(crate) fn screening(&mut self) -> Option<AccessScreen<'_>> {
        let (context, cta) = (self.context, self.ctas[self.slot].index);
        Some(AccessScreen { screen: self.observer.screen()?, context, cta })
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
