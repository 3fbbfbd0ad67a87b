//! Data for the page's script: lanes over time and losses by line, for each row.

use machines::probe::Place;
use machines::{ControlFlow, PostDominator};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use simt::slots::SlotCause;

use super::bars::{ON, SCALAR, SEGMENTS};
use super::page_data::PageData;
use crate::divergence::{Comparison, Row};
use probes::{
    BranchCost, BranchTable, Explanation, LaneCauses, LaneTrace, LineLosses, OccupancyMap,
    Occupied, WarpTrace,
};

/// Most lines with losses on a page, over all rows.
const LINES: usize = 60_000;

/// Places and lane sets, deduplicated over all rows.
#[derive(Default)]
struct Tables {
    places: Vec<Value>,
    place_index: FxHashMap<PlaceKey, usize>,
    sets: Vec<String>,
    set_index: FxHashMap<String, usize>,
}

/// Identity of a place across recordings.
type PlaceKey = (std::sync::Arc<str>, Option<u32>, Option<places::Source>);

impl Tables {
    fn place(&mut self, place: &Place) -> usize {
        let key = (place.text.clone(), place.line, place.source.clone());
        if let Some(&at) = self.place_index.get(&key) {
            return at;
        }
        let source = place.source.as_ref().map(|s| json!([places::shown_file(&s.file), s.line]));
        self.places.push(json!([&*place.text, place.line, source, place.origin]));
        self.place_index.insert(key, self.places.len() - 1);
        self.places.len() - 1
    }

    fn set(&mut self, causes: &LaneCauses, width: u32) -> usize {
        let text = letters(causes, width);
        if let Some(&at) = self.set_index.get(&text) {
            return at;
        }
        self.sets.push(text.clone());
        self.set_index.insert(text, self.sets.len() - 1);
        self.sets.len() - 1
    }
}

/// Encodes an issue as a letter for each lane, by cause.
fn letters(causes: &LaneCauses, width: u32) -> String {
    let mut letters = vec!['-'; width as usize];
    for part in &SEGMENTS {
        let once = causes.is_uniform() && part.letter == ON;
        let letter = if once { SCALAR.0 } else { part.letter };
        for lane in (part.lanes)(causes).iter().take_while(|&lane| lane < width as usize) {
            letters[lane] = letter;
        }
    }
    letters.into_iter().collect()
}

/// Returns the data of the script.
pub(super) fn views(comparison: &Comparison, page_data: &PageData) -> Value {
    let mut tables = Tables::default();
    let mut lines_left = LINES;
    let mut rows = Vec::new();
    for (index, row) in comparison.rows.iter().enumerate() {
        let Some(views) = &row.views else { continue };
        let lines = views.losses.text.len() + views.losses.source.len();
        let heat = (lines <= lines_left).then(|| heat(&views.losses, page_data));
        lines_left = lines_left.saturating_sub(lines);
        rows.push(json!({
            "row": index,
            "name": Row::label(row),
            "warps": views
                .lanes
                .warps
                .iter()
                .map(|w| warp(w, &views.lanes, &mut tables))
                .collect::<Vec<_>>(),
            "warps_of": views.lanes.of,
            "heat": heat,
            "branches": branches(&views.branches),
            "occupancy": occupancy(&views.occupancy),
        }));
    }
    let mut letters: Vec<Value> = SEGMENTS
        .iter()
        .map(|part| json!([part.letter.to_string(), part.pattern, part.name]))
        .collect();
    letters.push(json!([SCALAR.0.to_string(), SCALAR.1, SCALAR.2]));
    json!({
        "letters": letters,
        "rows": rows,
        "places": tables.places,
        "sets": tables.sets,
        "files": page_data.sources.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(),
        "graphs": page_data.graphs.iter().map(graph).collect::<Vec<_>>(),
    })
}

fn warp(warp: &WarpTrace, recorded: &LaneTrace, tables: &mut Tables) -> Value {
    let mut steps = Vec::with_capacity(3 * warp.steps.len());
    for step in &warp.steps {
        let place = recorded.places.get(step.place as usize).map_or(0, |p| tables.place(p));
        let set = recorded.lanes.get(step.lanes as usize).map_or(0, |s| tables.set(s, warp.width));
        steps.extend([place as u64, set as u64, u64::from(step.depth)]);
    }
    json!({
        "launch": warp.launch,
        "block": warp.group.cta,
        "warp": warp.group.group,
        "width": warp.width,
        "issues": warp.issues,
        "lane_slots": warp.slots,
        "lost": warp.lost,
        "steps": steps,
    })
}

/// Most branches of a row on a page.
const BRANCHES: usize = 40;

/// Encodes the branches that cost most as one array for each: line, text, issues, divergent ones,
/// lanes that jumped and that did not, places of rejoining with counts, splits that never did,
/// slots lost, issues saved by predication.
fn branches(table: &BranchTable) -> Value {
    let branch = |b: &&BranchCost| {
        let rejoined = b.rejoined.iter().take(3).map(|(at, n)| json!([at.line, n]));
        json!([
            b.place.line,
            &*b.place.text,
            b.executed,
            b.divergent,
            b.jumping,
            b.falling,
            rejoined.collect::<Vec<_>>(),
            b.never,
            b.lost,
            b.predicated_saves,
        ])
    };
    let all = table.by_cost();
    json!({
        "rows": all.iter().take(BRANCHES).map(branch).collect::<Vec<_>>(),
        "of": all.len(),
        "diverged": table.diverged,
        "unattributed": table.unattributed(),
    })
}

/// Encodes the heat map as a text for each row: a letter for each cell, `0` for no lane on to `Z`
/// for all, `-` for no issue.
fn occupancy(map: &OccupancyMap) -> Value {
    const LEVELS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let most = LEVELS.len() as u64 - 1;
    let letter = |cell: &Occupied| match (most * cell.on + cell.slots / 2).checked_div(cell.slots) {
        Some(level) => char::from(LEVELS[level.min(most) as usize]),
        None => '-',
    };
    let rows: Vec<String> = map.rows.iter().map(|row| row.iter().map(letter).collect()).collect();
    json!({ "rows": rows, "warps": map.warps_of_row, "issues": map.issues_of_column })
}

/// Encodes losses as one array for each line: number, issues, lane slots, slots on, slots in the
/// issuing group, splits.
fn heat(losses: &Explanation, page_data: &PageData) -> Value {
    let line = |number: u32, line: &LineLosses| {
        let slots = &line.slots;
        json!([
            number,
            slots.issues(),
            slots.width,
            slots.of(SlotCause::On),
            slots.active(),
            line.splits
        ])
    };
    let text: Vec<Value> = losses.text.iter().filter_map(|(n, l)| n.map(|n| line(n, l))).collect();
    let file = |name: &str| -> Vec<Value> {
        let of = losses.source.iter().filter(|((file, _), _)| **file == *name);
        of.map(|((_, n), l)| line(*n, l)).collect()
    };
    let files: Vec<Value> = page_data.sources.iter().map(|s| json!(file(&s.name))).collect();
    let total = &losses.total;
    json!({ "lost": total.width - total.of(SlotCause::On), "text": text, "files": files })
}

/// Encodes lines, post-dominators and frontiers by block.
fn graph(flow: &ControlFlow) -> Value {
    let blocks: Vec<Value> = flow
        .blocks
        .iter()
        .map(|b| {
            let meets = match b.post_dominator {
                PostDominator::Block(at) => json!(at),
                PostDominator::Exit => json!("exit"),
                PostDominator::None => json!("none"),
            };
            json!({ "name": b.name, "lines": b.lines, "meets": meets, "frontier": b.frontier })
        })
        .collect();
    json!({ "kernel": flow.kernel, "blocks": blocks })
}
