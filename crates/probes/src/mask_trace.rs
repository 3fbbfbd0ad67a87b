//! The mask of groups over the issues of a run, on machines whose groups have one mask that all
//! their instructions obey: what it was before and after each instruction, and how many lane slots
//! each instruction that narrows it has cost.
//!
//! An issue shows the mask as it was before it: the lanes that are on. What an issue makes of it is
//! what the next one of the same group begins with. Instructions that run for lanes outside the
//! mask say so ([`Issue::guard_off`]), and show nothing of it.

use std::fmt::Write as _;
use std::sync::Arc;

use machines::probe::{EventSink, Lanes, LaunchStart, Place, Probe, WORDS};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use simt::observe::{Events, GroupId, Issue};
use simt::slots::Domain;

/// Groups that are followed at a time; on these machines one group runs to its end.
const GROUPS: usize = 4096;
/// Instructions that tables list.
const SHOWN: usize = 8;

/// Returns the lanes that an issue shows as on, if it shows the mask.
fn shown(issue: &Issue<'_, WORDS>) -> Option<Lanes> {
    (issue.guard_off == 0).then_some(issue.lanes.unmasked)
}

/// Returns whether an issue belongs to no group: it has one lane where groups have several. What
/// groups have made of their masks ends there.
pub(crate) fn is_outside(issue: &Issue<'_, WORDS>, width: u32) -> bool {
    issue.domain == Domain::Uniform && issue.lanes.width == 1 && width > 1
}

/// A record of issues with the mask before and after each.
#[derive(Debug)]
pub struct MaskTrace {
    /// The mask's name.
    name: &'static str,
    most: usize,
    launch: usize,
    /// Lanes of a group.
    width: u32,
    places: Arc<[Place]>,
    lines: Vec<TracedIssue>,
    /// The last issue of a group, by its index in `lines`.
    last: FxHashMap<GroupId, usize>,
    issues: u64,
}

#[derive(Debug)]
struct TracedIssue {
    launch: usize,
    group: GroupId,
    place: Option<Place>,
    domain: Domain,
    before: Option<Lanes>,
    after: Option<Lanes>,
}

impl MaskTrace {
    /// Creates a record of at most `most` issues.
    #[must_use]
    pub fn new(name: &'static str, most: usize) -> Self {
        let (places, lines, last) = Default::default();
        Self { name, most, launch: 0, width: 1, places, lines, last, issues: 0 }
    }

    /// Returns the record as text, a line an issue, and whether it is complete.
    #[must_use]
    pub fn finish(self) -> (String, bool) {
        let name = self.name;
        let mut out =
            format!("  issue group  line runs  {name} before, {name} after, lanes, instruction\n");
        for (number, line) in self.lines.iter().enumerate() {
            let place = line.place.as_ref();
            let at = place.and_then(|p| p.line).map_or("-".to_owned(), |line| line.to_string());
            let runs = match line.domain {
                Domain::Uniform => "once",
                Domain::Vector => "lanes",
            };
            let mask = |mask: Option<Lanes>| mask.map_or("-".to_owned(), |m| format!("{m:#x}"));
            let (before, after) = (mask(line.before), mask(line.after.or(line.before)));
            let _ = write!(
                out,
                "{number:>7} {:>5} {at:>5} {runs:<5} {before} {after}{}  {}",
                line.group.group,
                changes(line),
                place.map_or("", |p| &*p.text)
            );
            if line.launch > 1 {
                let _ = write!(out, "  (launch {})", line.launch - 1);
            }
            out.push('\n');
        }
        let left = self.issues - self.lines.len() as u64;
        if left > 0 {
            let _ = writeln!(out, "{left} more issues");
        }
        (out, left == 0)
    }
}

/// The lanes that an issue turns off and on.
fn changes(line: &TracedIssue) -> String {
    let (Some(before), Some(after)) = (line.before, line.after) else { return String::new() };
    let (off, on) = (before - after, after - before);
    let mut out = String::new();
    if off.any() {
        let _ = write!(out, " -{off}");
    }
    if on.any() {
        let _ = write!(out, " +{on}");
    }
    out
}

impl Probe for MaskTrace {
    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.launch += 1;
        self.width = launch.shape.width;
        self.places = Arc::clone(launch.places);
        self.last.clear();
    }
}

impl EventSink for MaskTrace {
    fn events(&self) -> Events {
        Events::ISSUE
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        self.issues += 1;
        let outside = is_outside(issue, self.width);
        if outside {
            self.last.clear();
        }
        let before = shown(issue).filter(|_| !outside);
        if let (Some(&last), Some(_)) = (self.last.get(&issue.group), before) {
            self.lines[last].after = before;
        }
        if self.lines.len() >= self.most {
            self.last.remove(&issue.group);
            return;
        }
        let pc = usize::try_from(issue.pc.0).unwrap_or(usize::MAX);
        let place = self.places.get(pc).cloned();
        let (launch, group, domain) = (self.launch, issue.group, issue.domain);
        if before.is_some() {
            self.last.insert(group, self.lines.len());
        }
        self.lines.push(TracedIssue { launch, group, place, domain, before, after: None });
    }
}

/// The lane slots that masks turn off, by the instruction that turned the lane off.
#[derive(Clone, Debug, Default)]
pub struct MaskWriters {
    /// Lanes of a group.
    width: u32,
    places: Arc<[Place]>,
    by_pc: Vec<MaskCost>,
    groups: FxHashMap<GroupId, GroupMask>,
    /// Costs of earlier launches.
    total: Vec<(Place, MaskCost)>,
}

/// What an instruction has made of masks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaskCost {
    /// Issues after which lanes were off that had been on.
    pub narrowed: u64,
    /// Such lanes, summed.
    pub lanes: u64,
    /// Lane slots of later issues that were lost because of it.
    pub slots: u64,
}

#[derive(Clone, Debug)]
struct GroupMask {
    mask: Lanes,
    last: usize,
    /// The instruction that turned a lane off, by lane.
    writer: Vec<usize>,
}

impl MaskWriters {
    fn fold_launch(&mut self) {
        let made = self.places.iter().zip(&self.by_pc).filter(|(_, cost)| cost.narrowed > 0);
        self.total.extend(made.map(|(place, cost)| (place.clone(), *cost)));
        self.by_pc.clear();
        self.groups.clear();
    }

    /// Returns the instructions that turned lanes off, the most expensive first.
    #[must_use]
    pub fn costs(mut self) -> Vec<(Place, MaskCost)> {
        self.fold_launch();
        self.total.sort_by_key(|(place, cost)| (std::cmp::Reverse(cost.slots), place.line));
        self.total
    }
}

impl Probe for MaskWriters {
    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.fold_launch();
        self.width = launch.shape.width;
        self.places = Arc::clone(launch.places);
        self.by_pc = vec![MaskCost::default(); launch.places.len()];
    }
}

impl EventSink for MaskWriters {
    fn events(&self) -> Events {
        Events::ISSUE
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        let pc = usize::try_from(issue.pc.0).unwrap_or(usize::MAX);
        if is_outside(issue, self.width) {
            self.groups.clear();
            return;
        }
        let Some(mask) = shown(issue) else { return };
        if self.groups.len() >= GROUPS && !self.groups.contains_key(&issue.group) {
            self.groups.clear();
        }
        let group = self.groups.entry(issue.group).or_insert_with(|| GroupMask {
            mask: issue.lanes.active,
            last: usize::MAX,
            writer: Vec::new(),
        });
        let off = group.mask - mask;
        if off.any() {
            let width = off.highest().map_or(0, |lane| lane + 1);
            group.writer.resize(group.writer.len().max(width), usize::MAX);
            off.iter().for_each(|lane| group.writer[lane] = group.last);
            if let Some(cost) = self.by_pc.get_mut(group.last) {
                cost.narrowed += 1;
                cost.lanes += u64::from(off.count());
            }
        }
        (group.mask, group.last) = (mask, pc);
        if issue.domain == Domain::Vector {
            for lane in &issue.lanes.masked_off() {
                let writer = group.writer.get(lane).copied().unwrap_or(usize::MAX);
                if let Some(cost) = self.by_pc.get_mut(writer) {
                    cost.slots += 1;
                }
            }
        }
    }
}

/// Renders the instructions whose narrowing of the mask cost most; `lost` are all lost slots.
pub(crate) fn table(name: &str, costs: &[(Place, MaskCost)], lost: u64) -> String {
    if costs.is_empty() {
        return String::new();
    }
    let mut out = format!("\nby instruction that turned lanes of {name} off\n");
    let _ = writeln!(out, "{:>7} {:>9} {:>9} {:>11}", "lost%", "narrowed", "lanes", "lane slots");
    let all = lost.max(1) as f64;
    for (place, cost) in costs.iter().take(SHOWN) {
        let share = 100.0 * cost.slots as f64 / all;
        let MaskCost { narrowed, lanes, slots } = cost;
        let _ = writeln!(out, "{share:>7.1} {narrowed:>9} {lanes:>9} {slots:>11}");
        let text: String = place.text.chars().take(60).collect();
        let _ = writeln!(out, "          {}: {text}", place.describe());
    }
    if costs.len() > SHOWN {
        let rest: u64 = costs.iter().skip(SHOWN).map(|(_, cost)| cost.slots).sum();
        let _ = writeln!(out, "{} more: {rest} lane slots", costs.len() - SHOWN);
    }
    out
}

/// The costs as JSON.
pub(crate) fn to_json(costs: &[(Place, MaskCost)]) -> Value {
    let row = |(place, cost): &(Place, MaskCost)| {
        json!({
            "line": place.line,
            "text": &*place.text,
            "narrowed": cost.narrowed,
            "lanes": cost.lanes,
            "lane_slots": cost.slots,
        })
    };
    costs.iter().map(row).collect()
}
