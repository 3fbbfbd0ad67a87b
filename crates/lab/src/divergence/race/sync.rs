//! Transfer of knowledge between threads, at barriers and through releases and acquires.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use simt::observe::Scope;

use super::clock::{Knowledge, Thread};

/// A thread's clock.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// Number of releases. Epochs count from 1: a known epoch of 0 means no knowledge.
    releases: u32,
    known: Arc<Knowledge>,
    /// Knowledge that its last fence makes later strong writes publish, and the fence's scope.
    fenced: Option<(Arc<Knowledge>, Scope)>,
    /// Knowledge that its strong reads have read, which a fence turns into its own: a fence of any
    /// scope that published within the block, and a fence of a wider scope the rest.
    seen: Knowledge,
    seen_wide: Knowledge,
    has_seen: bool,
}

fn wide(scope: Scope) -> bool {
    scope != Scope::Cta
}

impl State {
    /// Returns the epoch of the thread's next access.
    pub(super) fn epoch(&self) -> u32 {
        self.releases + 1
    }

    pub(super) fn known(&self) -> Arc<Knowledge> {
        Arc::clone(&self.known)
    }

    /// Returns all that the thread knows, including its own accesses, and ends its epoch.
    fn release(&mut self, thread: Thread) -> Arc<Knowledge> {
        let mut all = Knowledge::clone(&self.known);
        all.learn(thread, self.epoch());
        self.releases = self.releases.saturating_add(1);
        Arc::new(all)
    }

    fn learn(&mut self, knowledge: &Knowledge) {
        Arc::make_mut(&mut self.known).join(knowledge);
    }

    /// Applies a fence that both acquires and releases.
    pub(super) fn fence(&mut self, thread: Thread, scope: Scope) {
        if self.has_seen {
            let seen = std::mem::take(&mut self.seen);
            self.learn(&seen);
            if wide(scope) {
                let seen = std::mem::take(&mut self.seen_wide);
                self.learn(&seen);
            }
            // A fence of the block leaves what only a wider fence may take.
            self.has_seen = !self.seen_wide.is_empty();
        }
        self.fenced = Some((self.release(thread), scope));
    }

    /// Applies a strong read of an address at which knowledge was published.
    pub(super) fn read(&mut self, thread: Thread, at: &Location, scope: Scope, acquires: bool) {
        let near = at.near.get(&thread.cta);
        let far = at.far.as_ref().filter(|_| wide(scope));
        if acquires {
            near.into_iter().chain(far).for_each(|k| self.learn(k));
            return;
        }
        if let Some(near) = near {
            self.seen.join(near);
        }
        if let Some(far) = far {
            self.seen_wide.join(far);
        }
        self.has_seen |= near.is_some() || far.is_some();
    }

    /// Returns the knowledge that a strong write publishes, and its scope: that of its own release,
    /// or that of the last fence.
    pub(super) fn publish(
        &mut self,
        thread: Thread,
        scope: Scope,
        releases: bool,
    ) -> Option<(Arc<Knowledge>, Scope)> {
        if releases {
            return Some((self.release(thread), scope));
        }
        let (knowledge, fence) = self.fenced.as_ref()?;
        let reach = if wide(*fence) { scope } else { Scope::Cta };
        Some((Arc::clone(knowledge), reach))
    }
}

/// Knowledge published at an address: to threads of each block, and to all.
#[derive(Clone, Debug, Default)]
pub(super) struct Location {
    near: BTreeMap<u64, Knowledge>,
    far: Option<Knowledge>,
}

impl Location {
    pub(super) fn publish(&mut self, cta: u64, scope: Scope, knowledge: &Knowledge) {
        if wide(scope) {
            self.far.get_or_insert_default().join(knowledge);
        }
        self.near.entry(cta).or_default().join(knowledge);
    }
}

/// The state of a barrier.
#[derive(Clone, Debug, Default)]
pub(super) struct Meeting {
    arrived: BTreeSet<Thread>,
    /// Join of the clocks of the threads that have arrived.
    gathered: Knowledge,
    /// The clock of the last thread to arrive. Threads that synchronised before share it, so it
    /// need not be joined again.
    last: Option<Arc<Knowledge>>,
    /// The clock of released threads; set when the first of them is released.
    outcome: Option<Arc<Knowledge>>,
}

impl Meeting {
    pub(super) fn arrive(&mut self, thread: Thread, state: &mut State) {
        self.arrived.insert(thread);
        let same = self.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &state.known));
        if !same {
            self.gathered.join(&state.known);
            self.last = Some(Arc::clone(&state.known));
        }
        self.gathered.learn(thread, state.epoch());
        state.releases = state.releases.saturating_add(1);
    }

    /// Returns the threads that have arrived and are not released.
    pub(super) fn arrived(&self) -> Vec<Thread> {
        self.arrived.iter().copied().collect()
    }

    /// Returns whether a release has started; later arrivals belong to the next use of the barrier.
    pub(super) fn is_over(&self) -> bool {
        self.outcome.is_some()
    }

    /// Releases a thread.
    pub(super) fn release(&mut self, thread: Thread, state: &mut State) {
        let outcome = match &self.outcome {
            Some(outcome) => Arc::clone(outcome),
            None => Arc::new(self.gathered.clone()),
        };
        self.arrived.remove(&thread);
        self.outcome = Some(Arc::clone(&outcome));
        // The thread has only waited since it arrived, so the join includes all that it knows.
        state.known = outcome;
    }
}
