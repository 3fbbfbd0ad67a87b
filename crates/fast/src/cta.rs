//! Resident CTAs, and the storage of their threads.

use crate::asynchronous::AsyncState;
use crate::code::Code;
use crate::context::Context;
use crate::local::LocalMemory;
use crate::sync::{BARRIERS, Barrier};
use crate::warp::Warp;
use converge::mechanism::Order;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use vm::WARP_SIZE;

/// A slot for a resident CTA.
#[derive(Default)]
pub(crate) struct Cta {
    pub(crate) index: u64,
    pub(crate) id: [u32; 3],
    pub(crate) alive: bool,
    /// Storage of its threads, empty before the CTA's first turn and after its last. It moves from
    /// slot to slot, so it is boxed.
    pub(crate) storage: Box<CtaStorage>,
    /// Threads that have not ended.
    pub(crate) live: u32,
    pub(crate) issues: u64,
    /// Whether no warp could go on in its last turn.
    pub(crate) is_blocked: bool,
}

/// The number of the next storage that is allocated. Numbers only tell storage apart.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

/// The storage of a CTA's threads.
#[derive(Default)]
pub(crate) struct CtaStorage {
    /// A number that no other storage of the process has; 0 if this one is empty. The
    /// registers of its warps do not move as long as the number stays.
    pub(crate) number: u64,
    /// Threads of the CTA, and the order of the sides of its branches.
    threads: u32,
    order: Option<Order>,
    pub(crate) warps: Vec<Warp>,
    /// Whether the interpreter has placed warps, or looked after one, since the storage was reset.
    pub(crate) has_positions: bool,
    pub(crate) shared: Vec<u8>,
    pub(crate) local: LocalMemory,
    pub(crate) barriers: Vec<Barrier>,
    pub(crate) asynchronous: AsyncState,
}

impl CtaStorage {
    /// Allocates what the threads of a CTA need, into empty storage.
    pub(crate) fn allocate(&mut self, context: &Context<'_>) {
        let (threads, code) = (context.threads, context.code);
        self.number = NEXT_NUMBER.fetch_add(1, Relaxed);
        (self.threads, self.order) = (threads, context.order);
        let warps = (0..threads).step_by(WARP_SIZE as usize);
        self.has_positions = true;
        self.warps = warps.map(|first| Warp::new(code, first, threads, context.order)).collect();
        self.shared = vec![0; context.shared.bytes() as usize];
        self.local = LocalMemory::new(code, threads as usize);
        self.barriers = vec![Barrier::default(); BARRIERS];
    }

    /// Returns the bytes of host memory that it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let warps: usize = self.warps.iter().map(Warp::bytes).sum();
        warps + self.shared.capacity() + self.local.used() + size_of::<Self>()
    }

    /// Makes the storage that a launch of the same kernel has left fit another launch; returns
    /// whether that is possible. It has to be reset all the same.
    pub(crate) fn fit(&mut self, context: &Context<'_>) -> bool {
        let fits = self.threads == context.threads && self.order == context.order;
        if fits {
            self.shared.resize(context.shared.bytes() as usize, 0);
        }
        fits
    }

    /// Prepares the storage of a CTA that has ended for another one. With `positions`, the
    /// positions of warps are reset, too, because no worker keeps them.
    pub(crate) fn reset(&mut self, code: &Code, positions: bool) {
        if std::mem::replace(&mut self.has_positions, positions) || positions {
            self.warps.iter_mut().for_each(Warp::make_stale);
        }
        self.clear(code);
        if positions {
            self.warps.iter_mut().for_each(|warp| warp.reset_position(code));
        }
        self.barriers.iter_mut().for_each(Barrier::clear);
        self.asynchronous.clear();
    }

    /// Clears registers that may be read before they are written, and memory.
    #[inline]
    pub(crate) fn clear(&mut self, code: &Code) {
        if !code.cleared.is_empty() {
            self.warps.iter_mut().for_each(|warp| warp.clear(code));
        }
        // Even an empty fill is a call.
        if !self.shared.is_empty() {
            self.shared.fill(0);
        }
        self.local.clear(code);
    }

    /// Returns whether there is storage for no thread.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.warps.is_empty()
    }
}
