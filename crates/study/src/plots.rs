//! Plots of the runs of a comparison as SVG: lanes over the whole run, and the cost of branches.
//!
//! All rows of a plot have one scale, that of the longest run that ended: runs that did not end
//! fill the width, and their titles say so. A plot is of bounded size; what it leaves out is told
//! in it.

use std::fmt::Write as _;

use crate::divergence::{Comparison, Row, Views};
use crate::svg::{Plot, Svg, colour};
use probes::{BranchCost, OccupancyMap, Occupied};

/// Most rows of a plot.
const ROWS: usize = 24;
/// Most branches of a row.
const BRANCHES: usize = 8;
/// Shades of a heat map.
const SHADES: usize = 12;

/// The width of a picture, and that of what is drawn to scale.
const WIDTH: f64 = 900.0;
const SCALE: f64 = 640.0;

/// Draws the plots of a comparison whose rows have views; those without data are left out.
#[must_use]
pub fn plots(comparison: &Comparison) -> Vec<Plot> {
    let viewed: Vec<Run<'_>> = comparison
        .rows
        .iter()
        .filter_map(|row| Some(Run { row, views: row.views.as_ref()? }))
        .collect();
    let kernels = comparison.title();
    [occupancy(&kernels, &viewed), branches(&kernels, &viewed)].into_iter().flatten().collect()
}

/// A row with its views.
struct Run<'a> {
    row: &'a Row,
    views: &'a Views,
}

impl Run<'_> {
    fn ended(&self) -> bool {
        self.row.useful.is_some()
    }

    /// Returns the title of its part of a plot.
    fn title(&self) -> String {
        let useful =
            self.row.useful.map_or("did not end".to_owned(), |u| format!("useful {u:.1} %"));
        format!("{}: {useful}", self.row.label())
    }
}

/// Returns the largest value of runs that ended, or of all where none did; at least 1.
fn longest(runs: &[Run<'_>], value: impl Fn(&Run<'_>) -> u64) -> f64 {
    let of_ended = runs.iter().filter(|run| run.ended()).map(&value).max();
    of_ended.or(runs.iter().map(&value).max()).unwrap_or(0).max(1) as f64
}

/// Tells what is not in a picture.
fn omitted(svg: &mut Svg, y: f64, all: usize) {
    if all > ROWS {
        svg.small((12.0, y), &format!("{} more rows are not shown.", all - ROWS));
    }
}

/// Returns the issues of the longest warp of a map, in whole columns.
fn issues(map: &OccupancyMap) -> u64 {
    map.rows.iter().map(Vec::len).max().unwrap_or(0) as u64 * map.issues_of_column
}

/// Draws the lanes that execute over the whole run: a map for each row of the comparison.
fn occupancy(kernels: &str, viewed: &[Run<'_>]) -> Option<Plot> {
    if !viewed.iter().any(|run| !run.views.occupancy.rows.is_empty()) {
        return None;
    }
    let title = format!("Lanes that execute over the whole run: {kernels}");
    let shown = &viewed[..viewed.len().min(ROWS)];
    let scale = longest(shown, |run| issues(&run.views.occupancy));
    let line = |run: &Run<'_>| if run.views.occupancy.rows.len() <= 8 { 12.0 } else { 4.0 };
    let part = |run: &Run<'_>| 40.0 + line(run) * run.views.occupancy.rows.len() as f64;
    let height = 60.0 + shown.iter().map(part).sum::<f64>() + 20.0;
    let mut svg = Svg::new(WIDTH, height, &title);
    svg.small((12.0, 40.0), "A row is a warp (or several), left to right are its issues; the darker, the more lanes execute.");
    let mut y = 60.0;
    for run in shown {
        let map = &run.views.occupancy;
        let share = (issues(map) as f64 / scale).min(1.0);
        map_of(&mut svg, run, (12.0, y), (SCALE * share, line(run)));
        y += part(run);
    }
    omitted(&mut svg, height - 8.0, viewed.len());
    Some(Plot { name: "occupancy", title, svg: svg.finish() })
}

/// Draws the map of a run at a place: `wide` pixels for its longest warp, `high` for a row.
fn map_of(svg: &mut Svg, run: &Run<'_>, (left, top): (f64, f64), (wide, high): (f64, f64)) {
    let map = &run.views.occupancy;
    let columns = map.rows.iter().map(Vec::len).max().unwrap_or(0).max(1) as f64;
    let on: u64 = map.rows.iter().flatten().map(|cell| cell.on).sum();
    let slots: u64 = map.rows.iter().flatten().map(|cell| cell.slots).sum();
    let mean = 100.0 * on as f64 / slots.max(1) as f64;
    let scale = format!(
        "{}; {mean:.1} % of lane slots on; a row is {} warp(s), a column {} issue(s)",
        run.title(),
        map.warps_of_row,
        map.issues_of_column
    );
    svg.text((left, top + 14.0), "start", &scale);
    let top = top + 20.0;
    let mut shades = vec![String::new(); SHADES + 1];
    for (row, cells) in map.rows.iter().enumerate() {
        let y = top + high * row as f64;
        let mut at = 0;
        for same in cells.chunk_by(|a, b| shade(a) == shade(b)) {
            let x = left + wide * at as f64 / columns;
            let w = wide * same.len() as f64 / columns;
            at += same.len();
            let level = shade(&same[0]);
            if level > 0 {
                let path = &mut shades[level];
                let _ = write!(path, "M{x:.1} {y:.1}h{w:.2}v{high:.1}h-{w:.2}z");
            }
        }
    }
    for (level, path) in shades.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        svg.area(path, level as f64 / SHADES as f64, colour(0));
    }
    svg.frame((left, top), (wide, high * map.rows.len() as f64), &scale);
}

/// Returns the shade of a cell: 0 for no lane on, [`SHADES`] for all.
fn shade(cell: &Occupied) -> usize {
    let most = SHADES as u64;
    let level = (most * cell.on).div_ceil(cell.slots.max(1));
    usize::try_from(level.min(most)).unwrap_or(SHADES)
}

/// Draws the lane slots that are lost because of each branch: bars of all rows to one scale.
fn branches(kernels: &str, viewed: &[Run<'_>]) -> Option<Plot> {
    if viewed.iter().all(|run| run.views.branches.branches.is_empty()) {
        return None;
    }
    let title = format!("Lane slots lost because of each branch: {kernels}");
    let shown = &viewed[..viewed.len().min(ROWS)];
    let most = |run: &Run<'_>| costly(run).iter().map(|b| b.lost).max().unwrap_or(0);
    let scale = longest(shown, most);
    let part = |run: &Run<'_>| 34.0 + 15.0 * costly(run).len() as f64;
    let height = 56.0 + shown.iter().map(part).sum::<f64>() + 20.0;
    let mut svg = Svg::new(WIDTH, height, &title);
    svg.small((12.0, 40.0), "Lanes on another path, charged to the branch that sent them there; the branches of each row that cost most, to one scale.");
    let mut y = 56.0;
    for run in shown {
        let table = &run.views.branches;
        let other = table.unattributed();
        let heading = format!(
            "{}; {} of {} branches, {} slots on other paths, {other} charged to none",
            run.title(),
            costly(run).len(),
            table.branches.len(),
            table.diverged
        );
        svg.text((12.0, y + 14.0), "start", &heading);
        for (index, branch) in costly(run).iter().enumerate() {
            bar(&mut svg, branch, y + 20.0 + 15.0 * index as f64, scale);
        }
        y += part(run);
    }
    omitted(&mut svg, height - 8.0, viewed.len());
    Some(Plot { name: "branches", title, svg: svg.finish() })
}

/// Returns the branches of a run that are drawn: those that cost most, if they cost anything.
fn costly<'a>(run: &Run<'a>) -> Vec<&'a BranchCost> {
    let mut all = run.views.branches.by_cost();
    all.retain(|branch| branch.lost > 0);
    all.truncate(BRANCHES);
    all
}

fn bar(svg: &mut Svg, branch: &BranchCost, y: f64, scale: f64) {
    let left = 90.0;
    let line = branch.place.line.map_or("–".to_owned(), |line| format!("line {line}"));
    let wide = (SCALE - left) * (branch.lost as f64 / scale).min(1.0);
    let divergent = format!("{} of {} diverge", branch.divergent, branch.executed);
    let label = format!("{line}: {}: {} slots lost, {divergent}", branch.place.text, branch.lost);
    svg.text((left - 8.0, y + 10.0), "end", &line);
    svg.rect((left, y), (wide, 12.0), colour(1), &label);
    svg.small((left + wide + 6.0, y + 10.0), &format!("{} ({divergent})", branch.lost));
}
