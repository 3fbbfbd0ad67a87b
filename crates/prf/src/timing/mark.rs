//! Recognition of a state that comes again: the program then runs in a circle for ever.
//!
//! Two cycles are alike if all that decides what follows is alike: warps, what is in flight, queues
//! and buffers, times counted from the cycle at hand. Counters, records and the hazards that were
//! met decide nothing. Memory is as it was if nothing was stored.

use crate::timing::State;
use crate::timing::cache::Cache;
use crate::timing::execute::Execute;
use crate::timing::fetch::Scheduler;
use crate::timing::flight::Flight;
use crate::timing::issue::Issue;

/// A remembered cycle.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    stores: u64,
    scheduler: Scheduler,
    cache: Cache,
    decoded: Option<Box<Flight>>,
    issue: Issue,
    execute: Execute,
    #[allow(clippy::vec_box, reason = "as in the state")]
    selected: Vec<Box<Flight>>,
}

impl State {
    /// Remembers the state; `None` once all has ended.
    #[must_use]
    pub fn mark(&self) -> Option<Mark> {
        if self.ended {
            return None;
        }
        let now = self.cycle;
        let mut mark = Mark {
            stores: self.stores,
            scheduler: self.scheduler.clone(),
            cache: self.cache.clone(),
            decoded: self.decoded.clone(),
            issue: self.issue.clone(),
            execute: self.execute.clone(),
            selected: self.selected.clone(),
        };
        mark.scheduler.count_from(now);
        mark.cache.count_from(now);
        mark.issue.count_from(now);
        mark.execute.count_from(now);
        mark.decoded.iter_mut().chain(&mut mark.selected).for_each(|f| f.count_from(now));
        Some(mark)
    }

    /// Returns whether the state is the one that was remembered.
    #[must_use]
    pub fn is_at(&self, mark: &Mark) -> bool {
        // Most states differ in what is compared without a copy.
        self.stores == mark.stores
            && self.selected.len() == mark.selected.len()
            && self.scheduler.stands_as(&mark.scheduler)
            && self.mark().as_ref() == Some(mark)
    }

    /// The program counter of the first warp that has not ended.
    #[must_use]
    pub fn pc(&self) -> Option<u32> {
        let mut running = self.scheduler.warps.iter().flatten().filter(|r| !r.halted);
        running.next().map(|resident| resident.warp.pc)
    }
}
