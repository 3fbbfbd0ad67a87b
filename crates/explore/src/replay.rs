//! Replays a recorded schedule.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use vm::Choice;

use crate::recorded::Deviation;
use crate::recorder::{Picker, Point};

/// A place at which a schedule may deviate: the launch, the path and its step.
type Key = (usize, Choice, u64);

/// Takes the choices of a recorded schedule, and the default everywhere else.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replay {
    left: FxHashMap<Key, VecDeque<Deviation>>,
}

impl Replay {
    pub(crate) fn new(deviations: &[Deviation]) -> Self {
        let mut left: FxHashMap<Key, VecDeque<Deviation>> = FxHashMap::default();
        for deviation in deviations {
            let key = (deviation.launch, deviation.instead_of, deviation.step);
            left.entry(key).or_default().push_back(*deviation);
        }
        Self { left }
    }

    /// Returns a choice that was not made: there was no such point, or no such path.
    pub(crate) fn unused(&self) -> Option<Deviation> {
        self.left
            .values()
            .filter_map(|queue| queue.front())
            .copied()
            .min_by_key(|d| (d.launch, d.step))
    }
}

impl Picker for Replay {
    fn pick(&mut self, point: &Point<'_>) -> Option<usize> {
        let key = (point.launch, point.alternatives[point.default].choice, point.step);
        let Some(queue) = self.left.get_mut(&key) else { return Some(point.default) };
        let Some(wanted) = queue.front() else { return Some(point.default) };
        let is_it = |choice: Choice| choice == wanted.choice;
        let Some(index) = point.alternatives.iter().position(|a| is_it(a.choice)) else {
            return Some(point.default);
        };
        queue.pop_front();
        if queue.is_empty() {
            self.left.remove(&key);
        }
        Some(index)
    }
}
