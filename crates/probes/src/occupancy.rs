//! Occupied lanes over a whole run: a heat map with a row for each warp and a column for each
//! stretch of its issues.
//!
//! The map has a bounded size whatever the run: when there are more warps than rows, neighbouring
//! warps share a row, and when a warp has more issues than columns, neighbouring issues share a
//! column. Both are doubled as often as needed, so every issue of the run is in the map.

use machines::probe::{EventSink, LaunchStart, Probe, WORDS};
use rustc_hash::FxHashMap;
use simt::observe::{CtaEvent, Events, GroupId, Issue};
use simt::slots::Domain;

/// Most rows and columns.
const ROWS: usize = 48;
const COLUMNS: usize = 128;

/// The lanes of the issues of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupied {
    /// Lane slots.
    pub slots: u64,
    /// Of them, those whose lane executed.
    pub on: u64,
}

/// The heat map of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OccupancyMap {
    /// Cells by row and column; rows end with their last issue.
    pub rows: Vec<Vec<Occupied>>,
    /// Warps of a row, in the order in which they began.
    pub warps_of_row: u64,
    /// Issues of a warp in a column.
    pub issues_of_column: u64,
}

/// The probe of the heat map.
#[derive(Clone, Debug)]
pub struct Occupancy {
    map: OccupancyMap,
    /// Number and issues of each warp that has begun and not ended.
    warps: FxHashMap<GroupId, (u64, u64)>,
    begun: u64,
}

impl Default for Occupancy {
    fn default() -> Self {
        let map = OccupancyMap { rows: Vec::new(), warps_of_row: 1, issues_of_column: 1 };
        Self { map, warps: FxHashMap::default(), begun: 0 }
    }
}

impl Occupancy {
    /// Returns the map.
    #[must_use]
    pub fn map(self) -> OccupancyMap {
        self.map
    }
}

impl OccupancyMap {
    fn add(&mut self, warp: u64, issue: u64, slots: u64, on: u64) {
        while warp / self.warps_of_row >= ROWS as u64 {
            self.warps_of_row *= 2;
            self.rows = self.rows.chunks(2).map(join_rows).collect();
        }
        while issue / self.issues_of_column >= COLUMNS as u64 {
            self.issues_of_column *= 2;
            for row in &mut self.rows {
                *row = row.chunks(2).map(|pair| pair.iter().copied().fold_cells()).collect();
            }
        }
        let index = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let (row, column) = (index(warp / self.warps_of_row), index(issue / self.issues_of_column));
        if self.rows.len() <= row {
            self.rows.resize(row + 1, Vec::new());
        }
        let cells = &mut self.rows[row];
        if cells.len() <= column {
            cells.resize(column + 1, Occupied::default());
        }
        cells[column].slots += slots;
        cells[column].on += on;
    }
}

/// Sums of cells.
trait FoldCells {
    fn fold_cells(self) -> Occupied;
}

impl<I: Iterator<Item = Occupied>> FoldCells for I {
    fn fold_cells(self) -> Occupied {
        self.fold(Occupied::default(), |a, b| Occupied {
            slots: a.slots + b.slots,
            on: a.on + b.on,
        })
    }
}

fn join_rows(rows: &[Vec<Occupied>]) -> Vec<Occupied> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    (0..columns).map(|c| rows.iter().filter_map(|row| row.get(c).copied()).fold_cells()).collect()
}

impl Probe for Occupancy {
    fn begin(&mut self, _launch: &LaunchStart<'_>) {
        self.warps.clear();
    }
}

impl EventSink for Occupancy {
    fn events(&self) -> Events {
        Events::ISSUE.and(Events::CTA)
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        if issue.domain == Domain::Uniform {
            return;
        }
        let begun = &mut self.begun;
        let (warp, issues) = self.warps.entry(issue.group).or_insert_with(|| {
            *begun += 1;
            (*begun - 1, 0)
        });
        let on = u64::from(issue.lanes.on.count());
        self.map.add(*warp, *issues, u64::from(issue.lanes.width), on);
        *issues += 1;
    }

    fn cta(&mut self, cta: u64, event: CtaEvent) {
        if event == CtaEvent::End {
            self.warps.retain(|group, _| group.cta != cta);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_has_every_issue() {
        let mut map = Occupancy::default().map();
        let (mut slots, mut on) = (0, 0);
        for warp in 0..131 {
            for issue in 0..1000 + warp {
                let lanes = (warp * 7 + issue) % 33;
                map.add(warp, issue, 32, lanes);
                slots += 32;
                on += lanes;
            }
        }
        assert_eq!((map.warps_of_row, map.issues_of_column), (4, 16));
        assert!(map.rows.len() <= ROWS && map.rows.iter().all(|row| row.len() <= COLUMNS));
        let all = map.rows.iter().flatten().copied().fold_cells();
        assert_eq!(all, Occupied { slots, on });
        // A row of four warps, the shortest of which has 1000 issues: the last column is not full.
        let full = map.rows[0][0];
        assert_eq!(full.slots, 4 * 16 * 32);
        assert!(map.rows[0].last().is_some_and(|cell| cell.slots < full.slots));
    }
}
