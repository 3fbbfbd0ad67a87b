//! The fewest issues that the executions of a run need, however its lanes are regrouped.
//!
//! An issue is of one place and has at most one thread of each lane column (thread index modulo the
//! width), for register banks have one lane each. So however threads are grouped, and in whatever
//! order places run, a place takes at least as many issues as the column that executes it most
//! often: the sum over places is a lower bound of issues. With groups of one warp the bound is that
//! of each warp by itself; with regrouping over a block, that of the block. Both hold for every
//! mechanism that runs the same executions; whether a schedule reaches them depends on the kernel.

use std::collections::BTreeMap;

use machines::probe::{EventSink, LaunchStart, Probe, WORDS};
use simt::observe::{CtaEvent, Events, GroupId, Issue};
use simt::slots::Domain;

/// Most cells of counts at once: places times threads, over the resident blocks.
const MOST_CELLS: usize = 1 << 26;

/// Lower bounds of issues at one width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeastIssues {
    /// Where only lanes of one warp issue together.
    pub within_warps: u64,
    /// Where any lanes of a block issue together that are of different columns.
    pub within_blocks: u64,
}

/// The probe that counts executions by place and thread.
#[derive(Clone, Debug)]
pub struct ExecutionCounts {
    places: usize,
    /// Executions of each place, by block and thread, for the blocks that run.
    blocks: BTreeMap<u64, Vec<Vec<u32>>>,
    cells: usize,
    bounds: BTreeMap<u64, LeastIssues>,
    /// Whether everything was counted.
    complete: bool,
}

impl ExecutionCounts {
    /// Creates a probe for these widths.
    #[must_use]
    pub fn new(widths: &[u64]) -> Self {
        let bounds = widths.iter().map(|&width| (width.max(1), LeastIssues::default()));
        Self {
            places: 0,
            blocks: BTreeMap::new(),
            cells: 0,
            bounds: bounds.collect(),
            complete: true,
        }
    }

    /// Returns the bounds by width; none if the run was too large to count.
    #[must_use]
    pub fn bounds(mut self) -> BTreeMap<u64, LeastIssues> {
        self.fold_all();
        if self.complete { self.bounds } else { BTreeMap::new() }
    }

    fn fold_all(&mut self) {
        for threads in std::mem::take(&mut self.blocks).into_values() {
            self.fold(&threads);
        }
    }

    fn fold(&mut self, threads: &[Vec<u32>]) {
        self.cells -= threads.iter().map(Vec::len).sum::<usize>();
        for (&width, least) in &mut self.bounds {
            let width = usize::try_from(width).unwrap_or(usize::MAX);
            for warp in threads.chunks(width) {
                least.within_warps += most_by_place(self.places, warp, warp.len());
            }
            least.within_blocks += most_by_place(self.places, threads, width);
        }
    }
}

/// Returns the sum over places of the executions by the column that has most.
fn most_by_place(places: usize, threads: &[Vec<u32>], columns: usize) -> u64 {
    let columns = columns.clamp(1, threads.len().max(1));
    let executions = |place: usize, column: usize| -> u64 {
        let column = threads.iter().skip(column).step_by(columns);
        column.map(|counts| u64::from(counts.get(place).copied().unwrap_or(0))).sum()
    };
    let most = |place| (0..columns).map(|column| executions(place, column)).max().unwrap_or(0);
    (0..places).map(most).sum()
}

impl Probe for ExecutionCounts {
    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.fold_all();
        self.places = launch.places.len();
    }
}

impl EventSink for ExecutionCounts {
    fn events(&self) -> Events {
        Events::ISSUE.and(Events::CTA)
    }

    fn idle(&self) -> bool {
        !self.complete
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        let Ok(place) = usize::try_from(issue.pc.0) else { return };
        if issue.domain == Domain::Uniform || place >= self.places || !self.complete {
            return;
        }
        let GroupId { cta, first_thread, .. } = issue.group;
        let threads = self.blocks.entry(cta).or_default();
        for lane in issue.lanes.active {
            let thread = first_thread as usize + lane;
            if thread >= threads.len() {
                threads.resize(thread + 1, Vec::new());
            }
            let counts = &mut threads[thread];
            if counts.is_empty() {
                self.cells += self.places;
                if self.cells > MOST_CELLS {
                    self.complete = false;
                    return;
                }
                counts.resize(self.places, 0);
            }
            counts[place] = counts[place].saturating_add(1);
        }
    }

    fn cta(&mut self, cta: u64, event: CtaEvent) {
        if event == CtaEvent::End
            && let Some(threads) = self.blocks.remove(&cta)
        {
            self.fold(&threads);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_needs_the_issues_of_its_largest_column() {
        // Two places; threads 0 and 2 are of column 0 at width 2.
        let threads = [vec![3, 0], vec![1, 1], vec![2, 1], vec![0, 4]];
        assert_eq!(most_by_place(2, &threads, 2), 5 + 5);
        assert_eq!(most_by_place(2, &threads, 4), 3 + 4);
        assert_eq!(most_by_place(2, &threads, 1), 6 + 6);
        assert_eq!(most_by_place(2, &threads, 1 << 10), 3 + 4);
        let mut probe = ExecutionCounts::new(&[2]);
        probe.places = 2;
        probe.cells = 8;
        probe.fold(&threads);
        let least = LeastIssues { within_warps: (3 + 1) + (2 + 4), within_blocks: 10 };
        assert_eq!(probe.bounds(), BTreeMap::from([(2, least)]));
    }
}
