//! The commands `explain`, `diff` and `trace`: detailed studies of one run or two.

use std::fmt::Write as _;

use isa::Diagnostics;
use lab::run::{Job, Variant, VariantRun};
use lab::show::paragraph;
use lab::stats::slots_json;
use machines::probe::{Lanes, Probe, ProbePair};
use machines::{LaunchMonitor, ProbedMonitor};
use serde_json::{Value, json};
use simt::slots::SlotCause;

use super::verdict;
use crate::source_texts::SourceTexts;
use probes::place_json;
use probes::{
    BranchCosts, Explanation, FirstDifference, FirstMerge, IssueComparison, IssueRecord,
    IssueRecording, LostSlots, MaskTrace, MaskWriters, Timeline, first_merge,
};

/// Limit of the second run as a multiple of the first run's issues.
const LIMIT_FACTOR: u64 = 16;
/// Least limit of the second run in issues.
const LEAST_LIMIT: u64 = 1 << 24;

fn run_with_probe(
    job: &Job,
    variant: &Variant,
    probe: &mut dyn Probe,
    monitor: &mut dyn LaunchMonitor,
) -> Result<VariantRun, Diagnostics> {
    let mut probed = ProbedMonitor { monitor, probe };
    job.run_variant(variant, &mut probed)
}

/// Runs a job and explains its lost lane slots.
///
/// # Errors
/// Returns diagnostics if the launches cannot start.
pub fn explain(
    job: &Job,
    variant: &Variant,
    monitor: &mut dyn LaunchMonitor,
) -> Result<(VariantRun, Explanation), Diagnostics> {
    let (mut losses, mut branches) = (LostSlots::default(), BranchCosts::default());
    let mut masks = MaskWriters::default();
    let mut both = ProbePair(&mut losses, &mut branches);
    let run = match job.machine().group_mask {
        Some(_) => run_with_probe(job, variant, &mut ProbePair(&mut both, &mut masks), monitor)?,
        None => run_with_probe(job, variant, &mut both, monitor)?,
    };
    let mut explanation = losses.explanation();
    explanation.branches = branches.table();
    explanation.masks = job.machine().group_mask.map(|name| (name, masks.costs()));
    let mut texts = SourceTexts::of(job);
    explanation.name_source_lines(|file, line| texts.line(file, line).map(str::to_owned));
    Ok((run, explanation))
}

/// Runs a job and records a trace of at most `most` events. Returns the trace as JSON text, and
/// whether it is complete.
///
/// # Errors
/// Returns diagnostics if the launches cannot start.
pub fn trace(
    job: &Job,
    variant: &Variant,
    most: usize,
    monitor: &mut dyn LaunchMonitor,
) -> Result<(VariantRun, String, bool), Diagnostics> {
    let mut timeline = Timeline::new(most, job.machine().group_mask);
    let run = run_with_probe(job, variant, &mut timeline, monitor)?;
    let Variant { mechanism, warp_size, .. } = variant;
    let about = format!("{} under {mechanism}, warp size {warp_size}", job.module_name());
    let (text, complete) = timeline.finish(&about);
    Ok((run, text, complete))
}

/// Runs a job and records at most `most` issues, each with the mask of its group before and after
/// it. Returns the record as text, and whether it is complete; `None` if groups of the machine have
/// no mask of their own.
///
/// # Errors
/// Returns diagnostics if the launches cannot start.
pub fn trace_masks(
    job: &Job,
    variant: &Variant,
    most: usize,
    monitor: &mut dyn LaunchMonitor,
) -> Result<Option<(VariantRun, String, bool)>, Diagnostics> {
    let Some(name) = job.machine().group_mask else { return Ok(None) };
    let mut trace = MaskTrace::new(name, most);
    let run = run_with_probe(job, variant, &mut trace, monitor)?;
    let (text, complete) = trace.finish();
    Ok(Some((run, text, complete)))
}

/// The comparison of two mechanisms, issue by issue.
#[derive(Clone, Debug)]
pub struct Diff {
    /// The two runs.
    pub runs: [VariantRun; 2],
    /// The first difference, if there is one.
    pub difference: Option<FirstDifference>,
    /// The first merge that one has and the other lacks, if there is one.
    pub merge: Option<FirstMerge>,
    /// Whether all issues were compared.
    pub complete: bool,
}

/// Runs a job under two mechanisms and finds their first difference.
///
/// # Errors
/// Returns diagnostics if the launches cannot start.
pub fn diff(
    job: &Job,
    variants: &[Variant; 2],
    monitor: &mut dyn LaunchMonitor,
) -> Result<Diff, Diagnostics> {
    let mut recording = IssueRecording::default();
    let first = run_with_probe(job, &variants[0], &mut recording, monitor)?;
    let limit = first.total().counts.slots.issues().saturating_mul(LIMIT_FACTOR).max(LEAST_LIMIT);
    let variant = Variant { limit: variants[1].limit.or(Some(limit)), ..variants[1].clone() };
    let (mut comparison, mut other) = (IssueComparison::new(&recording), IssueRecording::default());
    let mut both = ProbePair(&mut comparison, &mut other);
    let second = run_with_probe(job, &variant, &mut both, monitor)?;
    let difference = comparison.outcome();
    let merge = first_merge([&recording, &other]);
    let complete = recording.complete() && other.complete();
    Ok(Diff { runs: [first, second], difference, merge, complete })
}

/// Returns the end of a run: `done`, or the short name of its fault or hang.
fn end_name(run: &VariantRun) -> &'static str {
    run.ends.last().map_or("done", machines::End::name)
}

impl Diff {
    /// Renders the comparison as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let [a, b] = &self.runs;
        let (a, b) = (&a.stats.mechanism, &b.stats.mechanism);
        let mut out = String::new();
        match &self.difference {
            None if self.complete => {
                let _ = writeln!(out, "{a} and {b} issue the same, lane by lane");
            }
            None => {
                let _ = writeln!(out, "{a} and {b} issue the same as far as issues were kept");
            }
            Some(difference) => self.describe(&mut out, difference),
        }
        self.describe_merge(&mut out);
        out.push_str("\nin the end\n");
        let _ = writeln!(
            out,
            "  {:<20} {:>12} {:>14} {:>14} {:>12}",
            "mechanism", "issues", "lane slots", "diverged", "end"
        );
        for run in &self.runs {
            let total = run.total().counts;
            let _ = writeln!(
                out,
                "  {:<20} {:>12} {:>14} {:>14} {:>12}",
                run.stats.mechanism,
                total.slots.issues(),
                total.slots.width,
                total.slots.of(SlotCause::Diverged),
                end_name(run)
            );
        }
        let counts = self.runs.each_ref().map(|r| r.total().counts.slots.issues());
        if self.ended() && counts[0] > 0 {
            let factor = counts[1] as f64 / counts[0] as f64;
            let _ = writeln!(out, "  {b} takes {factor:.3} times the issues of {a}");
        }
        for run in &self.runs {
            if let Some((_, report)) = verdict::of_end(run) {
                let _ = writeln!(out, "\n{}:", run.stats.mechanism);
                paragraph(&mut out, "", &report.message);
                report.notes.iter().for_each(|note| paragraph(&mut out, "", note));
            }
        }
        out
    }

    fn ended(&self) -> bool {
        self.runs.iter().all(|run| verdict::of_end(run).is_none())
    }

    fn describe(&self, out: &mut String, difference: &FirstDifference) {
        let _ = writeln!(
            out,
            "they part in launch {}, block {}, warp {}, after {} issues in common",
            difference.launch, difference.group.cta, difference.group.group, difference.common
        );
        if let Some(last) = &difference.last {
            out.push_str("\nlast in common\n");
            write_issue(out, last);
        }
        for (run, issues) in self.runs.iter().zip([&difference.first, &difference.second]) {
            let _ = writeln!(out, "\nthen {}", run.stats.mechanism);
            if issues.is_empty() {
                out.push_str("  issues nothing more for this warp\n");
            }
            issues.iter().for_each(|m| write_issue(out, m));
        }
    }

    fn describe_merge(&self, out: &mut String) {
        let name = |run: usize| &self.runs[run].stats.mechanism;
        let Some(merge) = &self.merge else {
            let same = self.difference.is_some();
            if same && self.complete {
                out.push_str("\nboth merge the same lanes at the same places\n");
            }
            return;
        };
        let (has, lacks) = (name(merge.run), name(1 - merge.run));
        let _ = writeln!(
            out,
            "\nthe first merge that only one has is one of {has}, in launch {}, block {}, warp {}",
            merge.launch, merge.group.cta, merge.group.group
        );
        write_issue(out, &merge.issue);
        for (last, lanes) in &merge.parts {
            let place = last.as_ref().map(|last| last.place.describe());
            let from = place.map_or_else(String::new, |place| format!(", which ran {place} last"));
            paragraph(out, "  of lanes ", &format!("{lanes}{from}"));
        }
        let _ = writeln!(out, "{lacks} issues the same apart");
        merge.apart.iter().for_each(|issue| write_issue(out, issue));
    }

    /// Renders JSON as `docs/explain.md` describes it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let lanes = |lanes: &Lanes| json!(lanes.iter().collect::<Vec<_>>());
        let merge = self.merge.as_ref().map(|m| {
            let part = |(last, of): &(Option<IssueRecord>, Lanes)| {
                json!({ "lanes": lanes(of), "last": last.as_ref().map(issue_json) })
            };
            json!({
                "launch": m.launch,
                "block": m.group.cta,
                "warp": m.group.group,
                "mechanism": self.runs[m.run].stats.mechanism,
                "issue": issue_json(&m.issue),
                "parts": m.parts.iter().map(part).collect::<Vec<_>>(),
                "apart": m.apart.iter().map(issue_json).collect::<Vec<_>>(),
            })
        });
        let issues = |issues: &[IssueRecord]| -> Value { issues.iter().map(issue_json).collect() };
        let difference = self.difference.as_ref().map(|p| {
            json!({
                "launch": p.launch,
                "block": p.group.cta,
                "warp": p.group.group,
                "common": p.common,
                "last": p.last.as_ref().map(issue_json),
                "first": issues(&p.first),
                "second": issues(&p.second),
            })
        });
        let runs: Vec<Value> = self
            .runs
            .iter()
            .map(|run| {
                let total = run.total().counts;
                json!({
                    "mechanism": run.stats.mechanism,
                    "warp_size": run.stats.warp_size,
                    "end": end_name(run),
                    "inst_executed": total.slots.issues(),
                    "lane_slots": slots_json(&total.slots),
                })
            })
            .collect();
        json!({ "complete": self.complete, "parted": difference, "merge": merge, "runs": runs })
    }
}

fn write_issue(out: &mut String, issue: &IssueRecord) {
    let place = &issue.place;
    let text: String = place.text.chars().take(72).collect();
    let lanes = issue.lanes;
    let _ =
        writeln!(out, "  issue {}, {}: {} lanes", issue.number, place.describe(), lanes.count());
    paragraph(out, "  lanes ", &format!("{lanes} = {lanes:#x}"));
    let _ = writeln!(out, "    {text}");
}

fn issue_json(issue: &IssueRecord) -> Value {
    let mut value = place_json(&issue.place);
    value["issue"] = json!(issue.number);
    value["mask"] = json!(format!("{:#x}", issue.lanes));
    value["lanes"] = json!(issue.lanes.iter().collect::<Vec<_>>());
    value
}
