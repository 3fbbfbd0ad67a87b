//! Runs ahead on a faster engine, searches, and changes of the state.

use std::sync::Arc;

use simt::Pc;
use simt::inspect::Inspect;

use super::{Execution, mark};
use crate::companion::{Ahead, Found, Goal, Search, Segment};

impl<'p, M: Inspect<N>, const N: usize> Execution<'p, M, N> {
    /// Lets searches follow the next issue; returns `false` if they were interrupted.
    pub(super) fn search_on(&mut self, wanted: &[Search]) -> bool {
        let (branch, next) = (self.timeline.current, self.at + 1);
        let own = self.searches.iter_mut().filter(|(b, s, _)| *b == branch && wanted.contains(s));
        let interrupt = &self.interrupt;
        own.fold(true, |on, (_, _, searcher)| on && searcher.advance(next, interrupt))
    }

    /// What a search has found in the last issue.
    pub(super) fn found(&self, search: &Search) -> Option<Found> {
        let (branch, last) = (self.timeline.current, self.at.checked_sub(1)?);
        let mut searches = self.searches.iter();
        let (.., searcher) = searches.find(|(b, s, _)| *b == branch && s == search)?;
        let found = searcher.found();
        let index = found.binary_search_by_key(&last, |found| found.position).ok()?;
        Some(found[index].clone())
    }

    /// The state of a mark, with its memory.
    pub(super) fn state_of(&self, (branch, index): (usize, usize)) -> Result<M::State, String> {
        let mark = &self.timeline.branches[branch].marks[index];
        let memory = self.machine.memory(&self.state).try_clone();
        let mut memory = memory.map_err(|error| error.to_string())?;
        memory.restore(&mark.memory).map_err(|error| error.to_string())?;
        let mut state = mark.state.clone();
        *self.machine.memory_mut(&mut state) = memory;
        Ok(state)
    }

    /// The states from which the recording up to the present branch follows.
    pub(super) fn segments(&self) -> Result<Vec<Segment<M::State>>, String> {
        let mut out = Vec::new();
        let mut next = Some(self.timeline.current);
        while let Some(branch) = next {
            let view = &self.timeline.branches[branch];
            out.push((view.start, self.state_of((branch, 0))?));
            next = view.parent.map(|(parent, _)| parent);
        }
        out.reverse();
        Ok(out)
    }

    /// The last mark of this branch before a position from which the launch can run ahead.
    pub(super) fn springboard(&self, until: u64) -> Option<(usize, usize)> {
        let companion = self.companion.as_deref()?;
        let current = self.timeline.current;
        let marks = self.timeline.branches[current].marks.iter().enumerate().rev();
        let mut marks = marks.filter(|(_, mark)| mark.at <= until);
        let found = marks.find(|(_, mark)| companion.may_run_ahead(&mark.state));
        found.map(|(index, _)| (current, index))
    }

    /// Runs ahead to the last place before the goal; the position there.
    pub(super) fn leap(&mut self, until: u64, places: &[Pc]) -> Result<u64, String> {
        let companion = self.companion.as_deref().ok_or("this machine has one engine")?;
        let from = self.springboard(self.at).ok_or("the launch was changed after its start")?;
        let interrupt = Arc::clone(&self.interrupt);
        let mut goal = Goal { until, places, interrupt: &interrupt };
        let reached = loop {
            let mut state = self.state_of(from)?;
            match companion.run_ahead(&mut state, &goal)? {
                Ahead::Reached(at) => break (state, at),
                // The state is wanted, so the last blocks are left to the exact engine.
                Ahead::Ended(at) if at > 0 && at <= goal.until => goal.until = at - 1,
                Ahead::Ended(_) => return Err("no block has ended before".to_owned()),
            }
        };
        let (state, at) = reached;
        if at <= self.at {
            return Err("the next block that ends does so behind the place".to_owned());
        }
        (self.state, self.at, self.end) = (state, at, None);
        self.mark_here();
        self.timeline.reach(at);
        self.look_ahead();
        Ok(at)
    }

    /// After a change of the state: a new branch begins.
    pub(super) fn changed(&mut self, what: &str) {
        let mark = mark(self.machine, &mut self.state, self.at, None);
        self.timeline.fork(mark, what.to_owned());
        let branch = self.timeline.current;
        self.searches.retain(|(b, ..)| *b != branch);
        self.end = None;
        self.look_ahead();
    }
}
