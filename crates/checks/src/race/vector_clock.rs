//! Vector clocks of many threads. Threads share a clock while they know the same.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A thread of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thread {
    /// Linear index of its block.
    pub cta: u64,
    /// Linear index in the block.
    pub index: u32,
}

/// Set in the number of a block in clocks: its epochs that a proxy fence has made visible to
/// asynchronous operations.
const FENCED: u64 = 1 << 62;

/// Set in the number of a block in clocks: its epochs of which only the reads happen before.
const READS: u64 = 1 << 60;

/// Set in the number of a block in clocks: its epochs whose reads are complete before, by the order
/// of relaxed accesses alone.
const RELAXED: u64 = 1 << 59;

/// Set in the number of a block in clocks: its epochs whose writes a fence has put before, and
/// relaxed accesses behind it alone.
const OVERWRITES: u64 = 1 << 58;

/// A vector clock: for each thread, the last epoch whose accesses happen before. It has one vector
/// for each known block; clocks with equal vectors may share them.
#[derive(Clone, Debug, Default)]
pub(super) struct VectorClock(BTreeMap<u64, Arc<Vec<u32>>>);

impl VectorClock {
    /// Returns whether no access is known to happen before.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether an access of a thread in an epoch happens before.
    pub(super) fn covers(&self, thread: Thread, epoch: u32) -> bool {
        let epochs = self.0.get(&thread.cta);
        epochs.and_then(|e| e.get(thread.index as usize)).is_some_and(|&last| last >= epoch)
    }

    /// Returns whether an access happens before, with a proxy fence between.
    pub(super) fn covers_fenced(&self, thread: Thread, epoch: u32) -> bool {
        self.covers(Thread { cta: thread.cta | FENCED, ..thread }, epoch)
    }

    /// Returns whether a read of a thread in an epoch happens before.
    pub(super) fn covers_read(&self, thread: Thread, epoch: u32) -> bool {
        self.covers(thread, epoch) || self.covers(reads_of(thread), epoch)
    }

    /// Returns whether the order of relaxed accesses alone keeps a read of a thread in an epoch
    /// before.
    pub(super) fn covers_relaxed_read(&self, thread: Thread, epoch: u32) -> bool {
        self.covers(Thread { cta: thread.cta | RELAXED, ..thread }, epoch)
    }

    /// Returns whether a fence and relaxed accesses behind it keep a write of a thread in an epoch
    /// before later writes.
    pub(super) fn covers_overwritten(&self, thread: Thread, epoch: u32) -> bool {
        self.covers(Thread { cta: thread.cta | OVERWRITES, ..thread }, epoch)
    }

    /// Returns what stores behind a relaxed read of a published clock may overwrite.
    pub(super) fn overwrites(&self) -> Self {
        let mut overwrites = Self::default();
        for (cta, all) in self.0.iter().filter(|(cta, _)| *cta & (FENCED | READS | RELAXED) == 0) {
            overwrites.join(&Self([(cta | OVERWRITES, Arc::clone(all))].into()));
        }
        overwrites
    }

    /// Applies a fence to the writes that happen before, and to those of a thread up to an epoch.
    pub(super) fn complete_writes(&mut self, thread: Thread, epoch: u32) {
        let overwrites = self.overwrites();
        self.join(&overwrites);
        self.advance(Thread { cta: thread.cta | OVERWRITES, ..thread }, epoch);
    }

    /// Returns what a relaxed access hands on: the reads that are complete before it, and the
    /// writes that a fence has put before.
    pub(super) fn relaxed(&self) -> Self {
        let mut relaxed = Self::default();
        for (cta, all) in self.0.iter().filter(|(cta, _)| *cta & FENCED == 0) {
            let to = if cta & OVERWRITES != 0 { *cta } else { cta & !READS | RELAXED };
            relaxed.join(&Self([(to, Arc::clone(all))].into()));
        }
        relaxed
    }

    /// Returns whether it has everything that another clock has.
    pub(super) fn includes(&self, other: &Self) -> bool {
        other.0.iter().all(|(cta, theirs)| {
            let ours = self.0.get(cta);
            ours.is_some_and(|ours| Arc::ptr_eq(ours, theirs) || at_most(theirs, ours))
        })
    }

    /// Records that all reads of a thread up to an epoch happen before.
    pub(super) fn advance_reads(&mut self, thread: Thread, epoch: u32) {
        self.advance(reads_of(thread), epoch);
    }

    /// Applies a proxy fence to all that happens before, and to a thread up to an epoch.
    pub(super) fn fence_proxies(&mut self, thread: Thread, epoch: u32) {
        let plain =
            self.0.iter().filter(|(cta, _)| *cta & (FENCED | READS | RELAXED | OVERWRITES) == 0);
        let fenced = Self(plain.map(|(cta, all)| (cta | FENCED, Arc::clone(all))).collect());
        self.join(&fenced);
        self.advance(Thread { cta: thread.cta | FENCED, ..thread }, epoch);
    }

    /// Records that all accesses of a thread up to an epoch happen before.
    pub(super) fn advance(&mut self, thread: Thread, epoch: u32) {
        let epochs = Arc::make_mut(self.0.entry(thread.cta).or_default());
        let index = thread.index as usize;
        if epochs.len() <= index {
            epochs.resize(index + 1, 0);
        }
        epochs[index] = epochs[index].max(epoch);
    }

    /// Takes the maximum with another clock.
    pub(super) fn join(&mut self, other: &Self) {
        for (cta, theirs) in &other.0 {
            let Some(ours) = self.0.get_mut(cta) else {
                self.0.insert(*cta, Arc::clone(theirs));
                continue;
            };
            if Arc::ptr_eq(ours, theirs) || at_most(theirs, ours) {
                continue;
            }
            if at_most(ours, theirs) {
                *ours = Arc::clone(theirs);
                continue;
            }
            let epochs = Arc::make_mut(ours);
            if epochs.len() < theirs.len() {
                epochs.resize(theirs.len(), 0);
            }
            for (mine, their) in epochs.iter_mut().zip(theirs.iter()) {
                *mine = (*mine).max(*their);
            }
        }
    }

    /// Takes the minimum with another clock: what both know.
    pub(super) fn meet(&mut self, other: &Self) {
        self.0.retain(|cta, ours| {
            let Some(theirs) = other.0.get(cta) else { return false };
            if !Arc::ptr_eq(ours, theirs) && !at_most(ours, theirs) {
                let epochs = Arc::make_mut(ours);
                epochs.truncate(theirs.len());
                for (mine, their) in epochs.iter_mut().zip(theirs.iter()) {
                    *mine = (*mine).min(*their);
                }
            }
            true
        });
    }
}

fn reads_of(thread: Thread) -> Thread {
    Thread { cta: thread.cta | READS, ..thread }
}

/// Returns whether no element of `a` exceeds that of `b`.
fn at_most(a: &[u32], b: &[u32]) -> bool {
    let rest = a.get(b.len()..).unwrap_or(&[]);
    a.iter().zip(b).all(|(a, b)| a <= b) && rest.iter().all(|&e| e == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_takes_the_maximum() {
        let t = |cta, index| Thread { cta, index };
        let (mut a, mut b) = (VectorClock::default(), VectorClock::default());
        a.advance(t(0, 3), 5);
        a.advance(t(1, 0), 2);
        b.advance(t(0, 3), 4);
        b.advance(t(0, 7), 9);
        a.join(&b);
        assert!(a.covers(t(0, 3), 5) && !a.covers(t(0, 3), 6));
        assert!(a.covers(t(0, 7), 9) && a.covers(t(1, 0), 2));
        assert!(!a.covers(t(2, 0), 1) && !a.covers(t(0, 100), 1));
        b.join(&a);
        assert!(b.covers(t(1, 0), 2));
    }

    #[test]
    fn meet_takes_the_minimum() {
        let t = |cta, index| Thread { cta, index };
        let (mut a, mut b) = (VectorClock::default(), VectorClock::default());
        a.advance(t(0, 3), 5);
        a.advance(t(0, 7), 1);
        a.advance(t(1, 0), 2);
        b.advance(t(0, 3), 4);
        b.advance(t(2, 0), 9);
        a.meet(&b);
        assert!(a.covers(t(0, 3), 4) && !a.covers(t(0, 3), 5));
        assert!(!a.covers(t(0, 7), 1) && !a.covers(t(1, 0), 1) && !a.covers(t(2, 0), 1));
    }
}
