//! Observers of the threads of a launch. The leading one passes on the progress of all.

use crate::workers::Workers;
use crate::{AccessSink, ForkedSink, LaunchObserver};
use simt::{GroupId, Pc, WarpMask};
use std::sync::atomic::Ordering::Relaxed;
use vm::Counts;

/// The observer of the leading thread: passes the progress of all threads on to the launch's
/// observer.
pub(crate) struct LeadObserver<'w> {
    pub(crate) workers: &'w Workers,
    /// Statistics of the CTAs that ended before this engine took over.
    pub(crate) done: &'w Counts,
    pub(crate) observer: &'w mut dyn LaunchObserver,
    /// Receives the accesses of this thread. The launch's observer merges them once all threads
    /// have succeeded.
    pub(crate) fork: Option<Box<dyn ForkedSink>>,
}

impl LaunchObserver for LeadObserver<'_> {
    fn poll(&mut self, blocks: u64, issues: u64) -> bool {
        let (others, theirs) = (&self.workers.blocks, &self.workers.issues);
        let (blocks, issues) = (blocks + self.done.ctas, issues + self.done.slots.issues());
        self.observer.poll(blocks + others.load(Relaxed), issues + theirs.load(Relaxed))
    }

    fn wants_lanes(&mut self) -> bool {
        self.observer.wants_lanes()
    }

    fn lanes(&mut self, lanes: &mut dyn Iterator<Item = (GroupId, WarpMask, Pc)>) {
        self.observer.lanes(lanes);
    }

    fn accesses(&mut self) -> Option<&mut dyn AccessSink> {
        self.fork.as_deref_mut().map(|fork| fork as &mut dyn AccessSink)
    }
}

/// The observer of another thread: publishes the thread's progress.
pub(crate) struct WorkerObserver<'w> {
    pub(crate) workers: &'w Workers,
    /// CTAs that have ended, and issues, as published.
    pub(crate) reported: (u64, u64),
    pub(crate) fork: Option<Box<dyn ForkedSink>>,
}

impl LaunchObserver for WorkerObserver<'_> {
    fn poll(&mut self, blocks: u64, issues: u64) -> bool {
        self.workers.blocks.fetch_add(blocks - self.reported.0, Relaxed);
        self.workers.issues.fetch_add(issues - self.reported.1, Relaxed);
        self.reported = (blocks, issues);
        true
    }

    fn accesses(&mut self) -> Option<&mut dyn AccessSink> {
        self.fork.as_deref_mut().map(|fork| fork as &mut dyn AccessSink)
    }
}
