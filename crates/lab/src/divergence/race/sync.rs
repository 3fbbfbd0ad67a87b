//! What threads learn from each other: at barriers, and through what they release and acquire.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use simt::observe::Scope;

use super::clock::{Knowledge, Thread};

/// A thread's clock.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// Releases so far. Epochs count from 1, so that nothing known is 0.
    releases: u32,
    known: Arc<Knowledge>,
    /// What its last fence lets others know through later strong writes, and how far.
    fenced: Option<(Arc<Knowledge>, Scope)>,
    /// What its strong reads have seen, to be known after a fence: within the block, and beyond.
    seen: Knowledge,
    seen_wide: Knowledge,
    has_seen: bool,
}

fn wide(scope: Scope) -> bool {
    scope != Scope::Cta
}

impl State {
    /// The epoch of its next access.
    pub(super) fn epoch(&self) -> u32 {
        self.releases + 1
    }

    pub(super) fn known(&self) -> Arc<Knowledge> {
        Arc::clone(&self.known)
    }

    /// All that it knows, its own accesses included; they end an epoch.
    fn release(&mut self, thread: Thread) -> Arc<Knowledge> {
        let mut all = Knowledge::clone(&self.known);
        all.learn(thread, self.epoch());
        self.releases = self.releases.saturating_add(1);
        Arc::new(all)
    }

    fn learn(&mut self, knowledge: &Knowledge) {
        Arc::make_mut(&mut self.known).join(knowledge);
    }

    /// A fence of both directions.
    pub(super) fn fence(&mut self, thread: Thread, scope: Scope) {
        if self.has_seen {
            let seen = std::mem::take(&mut self.seen);
            self.learn(&seen);
            if wide(scope) {
                let seen = std::mem::take(&mut self.seen_wide);
                self.learn(&seen);
            }
            self.has_seen = false;
        }
        self.fenced = Some((self.release(thread), scope));
    }

    /// A strong read of a place where something was published.
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

    /// What a strong write publishes and how far: its own release's, or the last fence's.
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

/// What was published at a place: to threads of each block, and to all.
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

/// Threads that meet at a barrier.
#[derive(Clone, Debug, Default)]
pub(super) struct Meeting {
    arrived: BTreeSet<Thread>,
    /// All that those who arrived know.
    gathered: Knowledge,
    /// What the last to arrive knew: those who met before know the same.
    last: Option<Arc<Knowledge>>,
    /// What those let go know; set when the first of them is.
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

    /// Threads that are to be let go.
    pub(super) fn arrived(&self) -> Vec<Thread> {
        self.arrived.iter().copied().collect()
    }

    /// Whether it has begun to let threads go: who arrives now meets others.
    pub(super) fn is_over(&self) -> bool {
        self.outcome.is_some()
    }

    /// Lets a thread go.
    pub(super) fn release(&mut self, thread: Thread, state: &mut State) {
        let outcome = match &self.outcome {
            Some(outcome) => Arc::clone(outcome),
            None => Arc::new(self.gathered.clone()),
        };
        self.arrived.remove(&thread);
        self.outcome = Some(Arc::clone(&outcome));
        // It has waited since it arrived, so it knows nothing that the others do not know now.
        state.known = outcome;
    }
}
