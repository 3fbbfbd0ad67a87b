//! Transfer of vector clocks between threads, at barriers, through releases and acquires, and, for
//! what later stores may overwrite, through relaxed accesses.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use simt::observe::Scope;

use super::vector_clock::{Thread, VectorClock};

/// A thread's clock.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadClock {
    /// Number of releases. Epochs count from 1: a known epoch of 0 stands for no access.
    releases: u32,
    known: Arc<VectorClock>,
    /// What its relaxed writes publish, while `known` is the same.
    relaxed: Option<Arc<VectorClock>>,
    /// The clock that its last fence makes later strong writes publish, and the fence's scope.
    fenced: Option<(Arc<VectorClock>, Scope)>,
    /// The clocks that its strong reads have read, which a fence turns into its own: a fence of any
    /// scope that published within the block, and a fence of a wider scope the rest.
    read_cta: VectorClock,
    read_wide: VectorClock,
    has_read: bool,
}

fn beyond_cta(scope: Scope) -> bool {
    scope != Scope::Cta
}

impl ThreadClock {
    /// Returns the epoch of the thread's next access.
    pub(super) fn epoch(&self) -> u32 {
        self.releases + 1
    }

    pub(super) fn known(&self) -> Arc<VectorClock> {
        Arc::clone(&self.known)
    }

    /// Returns all that the thread knows, including its own accesses, and ends its epoch.
    pub(super) fn release(&mut self, thread: Thread) -> Arc<VectorClock> {
        let mut all = VectorClock::clone(&self.known);
        all.advance(thread, self.epoch());
        self.releases = self.releases.saturating_add(1);
        Arc::new(all)
    }

    pub(super) fn acquire(&mut self, published: &VectorClock) {
        self.relaxed = None;
        Arc::make_mut(&mut self.known).join(published);
    }

    /// Applies a fence between the proxies of threads and of asynchronous operations.
    pub(super) fn fence_proxies(&mut self, thread: Thread) {
        let epoch = self.epoch();
        self.relaxed = None;
        Arc::make_mut(&mut self.known).fence_proxies(thread, epoch);
        self.releases = self.releases.saturating_add(1);
    }

    /// Applies a fence that both acquires and releases.
    pub(super) fn fence(&mut self, thread: Thread, scope: Scope) {
        if self.has_read {
            let read = std::mem::take(&mut self.read_cta);
            self.acquire(&read);
            if beyond_cta(scope) {
                let read = std::mem::take(&mut self.read_wide);
                self.acquire(&read);
            }
            // A fence of the block leaves what only a wider fence may take.
            self.has_read = !self.read_wide.is_empty();
        }
        if beyond_cta(scope) {
            let epoch = self.epoch();
            self.relaxed = None;
            Arc::make_mut(&mut self.known).complete_writes(thread, epoch);
        }
        self.fenced = Some((self.release(thread), scope));
    }

    /// Applies a strong read of an address at which a clock was published.
    pub(super) fn read(&mut self, thread: Thread, at: &Location, scope: Scope, acquires: bool) {
        let by_cta = at.by_cta.get(&thread.cta);
        let wide = at.wide.as_ref().filter(|_| beyond_cta(scope));
        for published in by_cta.into_iter().chain(wide) {
            if !self.known.includes(&published.relaxed) {
                self.acquire(&published.relaxed);
            }
            if acquires {
                self.acquire(&published.all);
            }
        }
        if acquires {
            return;
        }
        if let Some(by_cta) = by_cta {
            self.read_cta.join(&by_cta.all);
            self.has_read |= !by_cta.all.is_empty();
        }
        if let Some(wide) = wide {
            self.read_wide.join(&wide.all);
            self.has_read |= !wide.all.is_empty();
        }
    }

    /// Returns what every strong write publishes: the reads and writes that are complete whatever
    /// the thread does next. Returns `None` if there are none.
    pub(super) fn publish_relaxed(&mut self) -> Option<Arc<VectorClock>> {
        if self.known.is_empty() {
            return None;
        }
        let relaxed = self.relaxed.get_or_insert_with(|| Arc::new(self.known.relaxed()));
        Some(Arc::clone(relaxed))
    }

    /// Returns the clock that a strong write publishes, and its scope: that of its own release,
    /// or that of the last fence.
    pub(super) fn publish(
        &mut self,
        thread: Thread,
        scope: Scope,
        releases: bool,
    ) -> Option<(Arc<VectorClock>, Scope)> {
        if releases {
            return Some((self.release(thread), scope));
        }
        let (published, fence) = self.fenced.as_ref()?;
        let reach = if beyond_cta(*fence) { scope } else { Scope::Cta };
        Some((Arc::clone(published), reach))
    }
}

/// What is published at an address.
#[derive(Clone, Debug, Default)]
struct Published {
    /// What happens before the acquires that read there.
    all: VectorClock,
    /// What stores that follow a strong read there may overwrite.
    relaxed: VectorClock,
}

/// Clocks published at an address: to threads of each block, and to all.
#[derive(Clone, Debug, Default)]
pub(super) struct Location {
    by_cta: BTreeMap<u64, Published>,
    wide: Option<Published>,
}

impl Location {
    pub(super) fn publish(&mut self, cta: u64, scope: Scope, published: &VectorClock) {
        let overwrites = published.overwrites();
        self.each(cta, scope, |at| {
            at.all.join(published);
            at.relaxed.join(&overwrites);
        });
    }

    pub(super) fn publish_relaxed(&mut self, cta: u64, scope: Scope, relaxed: &VectorClock) {
        self.each(cta, scope, |at| at.relaxed.join(relaxed));
    }

    fn each(&mut self, cta: u64, scope: Scope, mut publish: impl FnMut(&mut Published)) {
        if beyond_cta(scope) {
            publish(self.wide.get_or_insert_default());
        }
        publish(self.by_cta.entry(cta).or_default());
    }
}

/// The state of a barrier.
#[derive(Clone, Debug, Default)]
pub(super) struct BarrierPhase {
    arrived: BTreeSet<Thread>,
    /// Join of the clocks of the threads that have arrived.
    joined: VectorClock,
    /// The clock of the last thread to arrive. Threads that synchronised before share it, so it
    /// need not be joined again.
    last: Option<Arc<VectorClock>>,
    /// The clock of released threads; set when the first of them is released.
    released: Option<Arc<VectorClock>>,
}

impl BarrierPhase {
    pub(super) fn arrive(&mut self, thread: Thread, clock: &mut ThreadClock) {
        self.arrived.insert(thread);
        let same = self.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &clock.known));
        if !same {
            self.joined.join(&clock.known);
            self.last = Some(Arc::clone(&clock.known));
        }
        self.joined.advance(thread, clock.epoch());
        clock.releases = clock.releases.saturating_add(1);
    }

    /// Returns the threads that have arrived and are not released.
    pub(super) fn arrived(&self) -> Vec<Thread> {
        self.arrived.iter().copied().collect()
    }

    /// Returns whether a release has started; later arrivals belong to the next use of the barrier.
    pub(super) fn is_complete(&self) -> bool {
        self.released.is_some()
    }

    /// Releases a thread.
    pub(super) fn release(&mut self, thread: Thread, clock: &mut ThreadClock) {
        let released = match &self.released {
            Some(released) => Arc::clone(released),
            None => Arc::new(self.joined.clone()),
        };
        self.arrived.remove(&thread);
        self.released = Some(Arc::clone(&released));
        // The thread has only waited since it arrived, so the join includes all that it knows.
        clock.known = released;
        clock.relaxed = None;
    }
}
