//! Histograms of issues in launches that run in detail: by place the number of executions by number
//! of active lanes.
//!
//! Code increments one cell an execution; executions, active lanes, and issues by number
//! of active lanes come of it afterwards. Lanes that are not live are the same throughout most of a
//! launch, so each pair of their numbers has a bank of its own, and code knows the running warp's.

use crate::counters::IssueSpan;
use fast::IssueSite;
use vm::WARP_SIZE;

/// Cells of a place: by number of active lanes, and the sum of the split levels that are not the
/// same each time. Executions without active lanes are none.
pub(crate) const CELLS: usize = WARP_SIZE as usize + 2;
/// The cell of split levels.
pub(crate) const LEVELS: usize = WARP_SIZE as usize + 1;

/// Most banks.
const MAX_BANKS: usize = 16;

/// A place where issues are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IssueCells {
    pub(crate) span: IssueSpan,
    /// Split levels that the lanes are in each time.
    pub(crate) levels: u32,
}

/// The histograms of one worker.
#[derive(Debug)]
pub(crate) struct Histograms {
    places: Box<[IssueCells]>,
    banks: Vec<Bank>,
    /// Banks that have been replaced.
    replaced: usize,
    sums: Sums,
}

#[derive(Debug)]
struct Bank {
    /// Lanes that were never launched, and exited ones.
    not_live: [u32; 2],
    cells: Box<[u64]>,
}

/// What histograms say.
#[derive(Debug)]
pub(crate) struct Sums {
    pub(crate) sites: Vec<IssueSite>,
    pub(crate) active_lanes: [u64; CELLS - 1],
    pub(crate) depth_sum: u64,
}

impl Sums {
    fn new(places: &[IssueCells]) -> Self {
        let site = |place: &IssueCells| {
            let IssueSpan { block, first, issues } = place.span;
            IssueSite { block, first, issues, times: 0, lanes: 0, exited: 0, never_launched: 0 }
        };
        let sites = places.iter().map(site).collect();
        Self { sites, active_lanes: [0; CELLS - 1], depth_sum: 0 }
    }

    /// Adds the counts of a bank, and clears it.
    fn add(&mut self, places: &[IssueCells], bank: &mut Bank) {
        let [never_launched, exited] = bank.not_live.map(u64::from);
        let cells = bank.cells.chunks_exact_mut(CELLS);
        for ((place, site), cells) in places.iter().zip(&mut self.sites).zip(cells) {
            let issues = place.span.issues as u64;
            let mut times = 0;
            for (lanes, cell) in (0..).zip(&mut cells[..LEVELS]).skip(1) {
                let count = std::mem::take(cell);
                times += count;
                site.lanes += lanes as u64 * count;
                self.active_lanes[lanes] += count * issues;
            }
            site.times += times;
            site.never_launched += times * never_launched;
            site.exited += times * exited;
            let levels = std::mem::take(&mut cells[LEVELS]);
            self.depth_sum += issues * (times * u64::from(place.levels) + levels);
            cells[0] = 0;
        }
    }
}

impl Histograms {
    pub(crate) fn new(places: &[IssueCells]) -> Self {
        let sums = Sums::new(places);
        Self { places: places.into(), banks: Vec::new(), replaced: 0, sums }
    }

    /// Returns the cells of warps with so many lanes that were never launched and that have exited,
    /// where they stay until the next call.
    pub(crate) fn bank(&mut self, never_launched: u32, exited: u32) -> *mut u64 {
        let not_live = [never_launched, exited];
        let known = self.banks.iter().position(|bank| bank.not_live == not_live);
        let index = known.unwrap_or_else(|| self.new_bank(not_live));
        self.banks[index].cells.as_mut_ptr()
    }

    fn new_bank(&mut self, not_live: [u32; 2]) -> usize {
        if self.banks.len() < MAX_BANKS {
            let cells = vec![0; self.places.len() * CELLS].into();
            self.banks.push(Bank { not_live, cells });
            return self.banks.len() - 1;
        }
        // The first one is that of most warps.
        let index = 1 + self.replaced % (MAX_BANKS - 1);
        self.replaced += 1;
        let bank = &mut self.banks[index];
        self.sums.add(&self.places, bank);
        bank.not_live = not_live;
        index
    }

    /// Returns all counts since the last call, and resets them.
    pub(crate) fn take(&mut self) -> Sums {
        for bank in &mut self.banks {
            self.sums.add(&self.places, bank);
        }
        std::mem::replace(&mut self.sums, Sums::new(&self.places))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histograms(places: usize) -> Histograms {
        let span = IssueSpan { block: 0, first: 0, issues: 3 };
        Histograms::new(&vec![IssueCells { span, levels: 2 }; places])
    }

    /// Adds executions of the second place as code does.
    fn count(histograms: &mut Histograms, not_live: (u32, u32), lanes: usize, levels: u64) {
        histograms.bank(not_live.0, not_live.1);
        let bank = |bank: &&mut Bank| bank.not_live == [not_live.0, not_live.1];
        let bank = histograms.banks.iter_mut().find(bank).unwrap();
        bank.cells[CELLS + lanes] += 1;
        bank.cells[CELLS + LEVELS] += levels;
    }

    #[test]
    fn counts_come_of_cells() {
        let mut histograms = histograms(2);
        count(&mut histograms, (0, 0), 32, 0);
        count(&mut histograms, (0, 0), 5, 4);
        count(&mut histograms, (10, 1), 7, 1);
        count(&mut histograms, (0, 0), 0, 0);
        let sums = histograms.take();
        let IssueSite { times, lanes, exited, never_launched, .. } = sums.sites[1];
        assert_eq!((times, lanes, exited, never_launched), (3, 44, 1, 10));
        assert_eq!(sums.sites[0].times, 0);
        assert_eq!([5, 7, 32].map(|n| sums.active_lanes[n]), [3; 3]);
        assert_eq!(sums.depth_sum, 3 * (3 * 2 + 5));
        let sums = histograms.take();
        assert_eq!((sums.sites[1].times, sums.depth_sum, sums.active_lanes[32]), (0, 0, 0));
    }

    #[test]
    fn replaced_banks_keep_their_counts() {
        let mut histograms = histograms(2);
        for round in 0..2 {
            for exited in 0..32 {
                count(&mut histograms, (0, exited), 1, round);
            }
        }
        assert_eq!(histograms.banks.len(), MAX_BANKS);
        assert_eq!(histograms.banks[0].not_live, [0, 0]);
        let sums = histograms.take();
        assert_eq!((sums.sites[1].times, sums.sites[1].exited), (64, 2 * 31 * 16));
        assert_eq!((sums.active_lanes[1], sums.depth_sum), (192, 3 * (64 * 2 + 32)));
    }
}
