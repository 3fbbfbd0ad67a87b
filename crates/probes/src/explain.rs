//! Lost lane slots by cause, by line of the program's text, and by line of the source.
//!
//! Each lane slot of each issue has one cause ([`simt::slots`]). This probe sums the causes by
//! instruction, then by line. It also counts the splits of each branch, which is where losses
//! begin.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use lab::show::paragraph;
use lab::stats::slots_json;
use machines::probe::{EventSink, LaunchStart, Place, Probe, WORDS};
use serde_json::{Value, json};
use simt::observe::{Branch, Events, Issue};
use simt::slots::{Domain, LaneSlots, SlotCause};

use crate::branches::BranchTable;
use crate::mask_trace::{self, MaskCost};
use crate::slot_columns::{Column, SLOTS};

/// The probe of lost lane slots.
#[derive(Clone, Debug, Default)]
pub struct LostSlots {
    places: Arc<[Place]>,
    by_pc: Vec<LaneSlots>,
    splits: Vec<u64>,
    text: BTreeMap<Option<u32>, LineLosses>,
    source: BTreeMap<(Arc<str>, u32), LineLosses>,
    total: LaneSlots,
}

/// The losses of one line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineLosses {
    /// Text of the line's first instruction.
    pub text: Arc<str>,
    /// Lane slots of the line's issues, by cause.
    pub slots: LaneSlots,
    /// Branch issues that sent lanes to more than one place.
    pub splits: u64,
}

impl LineLosses {
    /// Returns the lane slots in which no lane was on.
    #[must_use]
    pub fn lost(&self) -> u64 {
        lost(&self.slots)
    }

    fn add(&mut self, place: &Place, slots: &LaneSlots, splits: u64) {
        if self.text.is_empty() {
            self.text = Arc::clone(&place.text);
        }
        self.slots.add(slots);
        self.splits += splits;
    }
}

fn lost(slots: &LaneSlots) -> u64 {
    slots.width - slots.of(SlotCause::On)
}

impl LostSlots {
    /// Adds the counts of the current launch to its lines.
    fn fold_launch(&mut self) {
        let counted = self.places.iter().zip(self.by_pc.iter().zip(&self.splits));
        for (place, (slots, splits)) in counted.filter(|c| c.1.0.issues() > 0) {
            self.total.add(slots);
            self.text.entry(place.line).or_default().add(place, slots, *splits);
            if let Some(source) = &place.source {
                let key = (Arc::clone(&source.file), source.line);
                self.source.entry(key).or_default().add(place, slots, *splits);
            }
        }
        self.by_pc.clear();
        self.splits.clear();
    }

    /// Returns the losses of all launches.
    #[must_use]
    pub fn explanation(mut self) -> Explanation {
        self.fold_launch();
        let text = self.text.into_iter().collect();
        let source = self.source.into_iter().collect();
        let branches = BranchTable::default();
        Explanation { total: self.total, text, source, branches, masks: None }
    }
}

impl Probe for LostSlots {
    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.fold_launch();
        self.places = Arc::clone(launch.places);
        self.by_pc = vec![LaneSlots::default(); launch.places.len()];
        self.splits = vec![0; launch.places.len()];
    }
}

impl EventSink for LostSlots {
    fn events(&self) -> Events {
        Events::ISSUE.and(Events::BRANCH)
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        let pc = usize::try_from(issue.pc.0).unwrap_or(usize::MAX);
        let Some(slots) = self.by_pc.get_mut(pc) else { return };
        match issue.domain {
            Domain::Uniform => slots.uniform(),
            Domain::Vector => slots.vector(issue.lanes),
        }
    }

    fn branch(&mut self, branch: &Branch<'_, WORDS>) {
        let pc = usize::try_from(branch.pc.0).unwrap_or(usize::MAX);
        if let Some(splits) = self.splits.get_mut(pc).filter(|_| branch.targets.len() > 1) {
            *splits += 1;
        }
    }
}

/// Lost lane slots by line.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Sum over all lines.
    pub total: LaneSlots,
    /// By line of the program's text, in line order; `None` for operations that a pass inserted
    /// without a line.
    pub text: Vec<(Option<u32>, LineLosses)>,
    /// By file and line of the source.
    pub source: Vec<((Arc<str>, u32), LineLosses)>,
    /// The cost of each branch.
    pub branches: BranchTable,
    /// The mask of groups, on machines that have one, and the instructions that turned lanes off.
    pub masks: Option<(&'static str, Vec<(Place, MaskCost)>)>,
}

const BRANCH_LEGEND: &str = "lost%: slots lost on another path because lanes parted at the branch, of all that is lost. jumping, falling: lanes each way, summed. never: splits that did not rejoin. predicate: issues that running its region as predicated code would save.";

/// The columns of lost slots: all but the first, of lanes that were on.
fn columns() -> impl Iterator<Item = &'static Column> {
    SLOTS.iter().skip(1)
}

/// Branches that are listed.
const SHOWN_BRANCHES: usize = 8;

impl Explanation {
    /// Replaces the instruction of each source line by the line itself, where `text` of its file
    /// and line is known.
    pub fn name_source_lines(&mut self, mut text: impl FnMut(&str, u32) -> Option<String>) {
        for ((file, line), losses) in &mut self.source {
            if let Some(text) = text(file, *line) {
                losses.text = text.trim().into();
            }
        }
    }

    /// Renders the branches that cost most.
    fn branch_table(&self, out: &mut String) {
        let table = &self.branches;
        if table.branches.is_empty() {
            return;
        }
        out.push_str("\nby branch\n");
        let _ = writeln!(
            out,
            "{:>7} {:>9} {:>9} {:>10} {:>10} {:>6} {:>9}  rejoined",
            "lost%", "executed", "divergent", "jumping", "falling", "never", "predicate"
        );
        let all = lost(&self.total).max(1) as f64;
        let by_cost = table.by_cost();
        for branch in by_cost.iter().take(SHOWN_BRANCHES) {
            let saves = branch.predicated_saves.map_or("-".to_owned(), |n| format!("{n:+}"));
            let rejoined = branch.rejoined.iter().take(2).map(|(place, n)| {
                let line = place.line.map_or("-".to_owned(), |line| line.to_string());
                format!("line {line} x{n}")
            });
            let _ = writeln!(
                out,
                "{:>7.1} {:>9} {:>9} {:>10} {:>10} {:>6} {saves:>9}  {}",
                100.0 * branch.lost as f64 / all,
                branch.executed,
                branch.divergent,
                branch.jumping,
                branch.falling,
                branch.never,
                rejoined.collect::<Vec<_>>().join(", ")
            );
            let text = format!("{}: {}", branch.place.describe(), branch.place.text);
            paragraph(out, "        ", &text);
        }
        if by_cost.len() > SHOWN_BRANCHES {
            let rest: u64 = by_cost.iter().skip(SHOWN_BRANCHES).map(|b| b.lost).sum();
            let more = by_cost.len() - SHOWN_BRANCHES;
            let _ = writeln!(out, "{more} more branches: {:.1}%", 100.0 * rest as f64 / all);
        }
        let other = table.unattributed();
        if other > 0 {
            let share = 100.0 * other as f64 / all;
            let _ =
                writeln!(out, "no branch: {share:.1}% (calls, returns, sides that met in part)");
        }
        paragraph(out, "", BRANCH_LEGEND);
    }

    /// Renders the causes as text, then the `most` lines of text and of source with the highest
    /// losses.
    #[must_use]
    pub fn to_text(&self, most: usize) -> String {
        let mut out = String::new();
        let whole = self.total.width.max(1) as f64;
        let _ = writeln!(
            out,
            "{} issues, {} lane slots, {} of them lost ({:.1}%)",
            self.total.issues(),
            self.total.width,
            lost(&self.total),
            100.0 * lost(&self.total) as f64 / whole
        );
        for (name, of) in columns() {
            let n = of(&self.total);
            let _ = writeln!(out, "  {name:<9} {n:>14} {:>6.1}%", 100.0 * n as f64 / whole);
        }
        let text = self
            .text
            .iter()
            .map(|(line, l)| (line.map_or_else(|| "-".to_owned(), |n| n.to_string()), l));
        self.branch_table(&mut out);
        if let Some((name, costs)) = &self.masks {
            out.push_str(&mask_trace::table(name, costs, lost(&self.total)));
        }
        out.push_str("\nby line of the program's text\n");
        self.table(&mut out, text.collect(), most);
        if !self.source.is_empty() {
            out.push_str("\nby line of the source\n");
            let source = self.source.iter().map(|((file, line), l)| {
                let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
                (format!("{name}:{line}"), l)
            });
            self.table(&mut out, source.collect(), most);
        }
        out
    }

    fn table(&self, out: &mut String, mut lines: Vec<(String, &LineLosses)>, most: usize) {
        lines.retain(|(_, line)| line.lost() > 0);
        lines.sort_by_key(|(_, line)| std::cmp::Reverse(line.lost()));
        if lines.is_empty() {
            out.push_str("  nothing is lost\n");
            return;
        }
        let all = lost(&self.total).max(1) as f64;
        let width = lines.iter().take(most).map(|(name, _)| name.chars().count()).max();
        let width = width.unwrap_or(0).clamp(4, 18);
        let _ = write!(out, "{:>width$} {:>6} {:>7}", "line", "lost%", "splits");
        for (name, _) in columns() {
            let _ = write!(out, " {name:>6}");
        }
        out.push('\n');
        for (name, line) in lines.iter().take(most) {
            let name: String = name.chars().take(width).collect();
            let share = 100.0 * line.lost() as f64 / all;
            let _ = write!(out, "{name:>width$} {share:>6.1} {:>7}", line.splits);
            for (column, of) in columns() {
                let n = 100.0 * of(&line.slots) as f64 / line.slots.width.max(1) as f64;
                let _ = write!(out, " {n:>0$.1}", column.len().max(6));
            }
            let text: String = line.text.chars().take(77 - width).collect();
            let _ = writeln!(out, "\n{:>width$}   {text}", "");
        }
        if lines.len() > most {
            let rest: u64 = lines.iter().skip(most).map(|(_, line)| line.lost()).sum();
            let share = 100.0 * rest as f64 / all;
            let _ = writeln!(out, "{} more lines lose {share:.1}%", lines.len() - most);
        }
        out.push_str("lost%: of all that is lost. Causes: of the lane slots of the line.\n");
    }

    /// Renders JSON as `docs/explain.md` describes it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let line = |l: &LineLosses| {
            json!({
                "text": &*l.text,
                "issues": l.slots.issues(),
                "splits": l.splits,
                "lane_slots": slots_json(&l.slots),
                "slots_masked_off": l.slots.masked_off,
            })
        };
        let text: Vec<Value> = self
            .text
            .iter()
            .map(|(number, l)| {
                let mut value = line(l);
                value["line"] = json!(number);
                value
            })
            .collect();
        let source: Vec<Value> = self
            .source
            .iter()
            .map(|((file, number), l)| {
                let mut value = line(l);
                value["file"] = json!(places::shown_file(file));
                value["line"] = json!(number);
                value
            })
            .collect();
        let masked = self.total.masked_off;
        json!({
            "lane_slots": slots_json(&self.total),
            "slots_masked_off": masked,
            "text": text,
            "source": source,
            "by_branch": self.branches.to_json(),
            "by_mask": self.masks.as_ref().map(|(_, costs)| mask_trace::to_json(costs)),
        })
    }
}
