//! Snapshots of a launch, at growing distances, in branches.
//!
//! Marks lie dense near the present position and sparse far from it. When they take more than the
//! budget, those go whose loss lengthens replay least in proportion to their distance from the
//! present. The first mark of a branch stays.

use simt::memory::Snapshot;

/// Bytes that marks may take by default.
pub(crate) const BUDGET: usize = 256 << 20;

/// The state at a position.
pub(crate) struct Mark<S> {
    pub(crate) at: u64,
    /// The state without its memory.
    pub(crate) state: S,
    pub(crate) memory: Snapshot,
    pub(crate) bytes: usize,
}

/// A branch of the recording: what follows from its first mark.
pub(crate) struct Branch<S> {
    pub(crate) parent: Option<(usize, u64)>,
    /// Its first position.
    pub(crate) start: u64,
    pub(crate) edits: Vec<String>,
    /// By position, ascending.
    pub(crate) marks: Vec<Mark<S>>,
    pub(crate) reached: u64,
}

impl<S> Branch<S> {
    /// Index of the last mark at or before a position.
    pub(crate) fn before(&self, position: u64) -> Option<usize> {
        self.marks.partition_point(|mark| mark.at <= position).checked_sub(1)
    }
}

/// All branches.
pub(crate) struct Timeline<S> {
    pub(crate) branches: Vec<Branch<S>>,
    pub(crate) current: usize,
    pub(crate) budget: usize,
    bytes: usize,
}

impl<S> Timeline<S> {
    pub(crate) fn new(first: Mark<S>) -> Self {
        let bytes = first.bytes;
        let reached = first.at;
        let (start, edits) = (first.at, Vec::new());
        let branch = Branch { parent: None, start, edits, marks: vec![first], reached };
        Self { branches: vec![branch], current: 0, budget: BUDGET, bytes }
    }

    pub(crate) fn recorded(&self) -> (usize, usize) {
        (self.bytes, self.branches.iter().map(|branch| branch.marks.len()).sum())
    }

    /// Notes that a position of the current branch was reached.
    pub(crate) fn reach(&mut self, position: u64) {
        let branch = &mut self.branches[self.current];
        branch.reached = branch.reached.max(position);
    }

    /// Adds a mark on the way to the current branch, and drops others if there are too many.
    pub(crate) fn add(&mut self, mark: Mark<S>) {
        let now = mark.at;
        self.bytes += mark.bytes;
        let mut owner = self.current;
        while now < self.branches[owner].start
            && let Some((parent, _)) = self.branches[owner].parent
        {
            owner = parent;
        }
        let marks = &mut self.branches[owner].marks;
        let index = marks.partition_point(|other| other.at < mark.at);
        marks.insert(index, mark);
        while self.bytes > self.budget && self.thin(now) {}
    }

    /// Begins a branch at a mark of the present state, or replaces the first mark of a branch that
    /// has only just begun there.
    pub(crate) fn fork(&mut self, mark: Mark<S>, what: String) {
        let (at, current) = (mark.at, self.current);
        self.bytes += mark.bytes;
        let branch = &mut self.branches[current];
        if branch.parent.is_some() && branch.start == at && branch.reached == at {
            branch.edits.push(what);
            self.bytes -= branch.marks[0].bytes;
            branch.marks[0] = mark;
            return;
        }
        let parent = Some((current, at));
        let (edits, marks) = (vec![what], vec![mark]);
        self.branches.push(Branch { parent, start: at, edits, marks, reached: at });
        self.current = self.branches.len() - 1;
    }

    /// The branch and index of the last mark at or before a position of the current branch.
    pub(crate) fn nearest(&self, position: u64) -> Option<(usize, usize)> {
        let mut branch = self.current;
        loop {
            if let Some(mark) = self.branches[branch].before(position) {
                return Some((branch, mark));
            }
            branch = self.branches[branch].parent?.0;
        }
    }

    /// The positions of marks that lie on the way to a position of the current branch, ascending.
    pub(crate) fn positions(&self, until: u64) -> Vec<u64> {
        let (mut branch, mut bound, mut out) = (self.current, until, Vec::new());
        loop {
            let marks = self.branches[branch].marks.iter().rev().map(|mark| mark.at);
            out.extend(marks.filter(|&at| at <= bound));
            let Some((parent, at)) = self.branches[branch].parent else { break };
            // The parent's own mark at the fork is the state before the change.
            (branch, bound) = (parent, at.min(bound).saturating_sub(1));
            if at == 0 {
                break;
            }
        }
        out.reverse();
        out
    }

    /// Drops a quarter of the marks, the least useful ones; returns whether any went.
    fn thin(&mut self, now: u64) -> bool {
        let mut scored: Vec<(u64, usize, usize)> = Vec::new();
        for (b, branch) in self.branches.iter().enumerate() {
            for (i, around) in branch.marks.windows(3).enumerate() {
                let distance = now.abs_diff(around[1].at).max(1);
                let gap = around[2].at - around[0].at;
                // Fixed point: gaps in units of a 1024th of the distance.
                let score = u128::from(gap) * 1024 / u128::from(distance);
                scored.push((u64::try_from(score).unwrap_or(u64::MAX), b, i + 1));
            }
        }
        if scored.is_empty() {
            return false;
        }
        scored.sort_unstable();
        scored.truncate(scored.len().div_ceil(4));
        // Neighbours lend each other their gaps, so that of two only one goes.
        scored.sort_unstable_by_key(|&(_, b, i)| (b, i));
        let mut last = None;
        scored.retain(|&(_, b, i)| {
            let keep = last != Some((b, i - 1));
            last = if keep { Some((b, i)) } else { None };
            keep
        });
        for &(_, b, i) in scored.iter().rev() {
            self.bytes -= self.branches[b].marks.remove(i).bytes;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simt::memory::MemoryMap;

    fn mark(at: u64) -> Mark<()> {
        Mark { at, state: (), memory: MemoryMap::new().snapshot(), bytes: 1 }
    }

    #[test]
    fn marks_lie_at_growing_distances_within_the_budget() {
        let mut timeline = Timeline::new(mark(0));
        timeline.budget = 32;
        for at in 1..10_000 {
            timeline.add(mark(at));
        }
        let (bytes, count) = timeline.recorded();
        assert!(bytes <= 32 && bytes == count);
        let at = timeline.positions(u64::MAX);
        assert_eq!(at[0], 0);
        // No gap is longer than a few tenths of the distance from its end to the present, but for
        // the newest.
        for pair in at.windows(2).filter(|pair| pair[1] < 9_900) {
            let (gap, age) = (pair[1] - pair[0], 10_000 - pair[0]);
            assert!(gap * 10 <= age * 7, "{gap} at {}", pair[0]);
        }
    }

    #[test]
    fn a_branch_sees_what_lies_before_it() {
        let mut timeline = Timeline::new(mark(0));
        for at in [10, 20, 30] {
            timeline.add(mark(at));
        }
        timeline.reach(30);
        timeline.fork(mark(20), "set".to_owned());
        assert_eq!(timeline.positions(25), [0, 10, 20]);
        assert_eq!(timeline.nearest(19), Some((0, 1)));
        assert_eq!(timeline.nearest(29), Some((1, 0)));
        timeline.fork(mark(20), "again".to_owned());
        assert_eq!(timeline.branches.len(), 2);
        timeline.reach(21);
        timeline.fork(mark(21), "later".to_owned());
        assert_eq!(timeline.branches.len(), 3);
    }
}
