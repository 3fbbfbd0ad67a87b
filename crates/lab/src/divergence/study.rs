//! The commands `explain`, `diff` and `trace`: detailed studies of one run or two.

use std::fmt::Write as _;

use isa::Diagnostics;
use serde_json::{Value, json};
use simt::slots::SlotCause;

use super::explain::{Explanation, Losses};
use super::json::{place_json, slots};
use super::names::paragraph;
use super::part::{Moment, Parted, Parting, Recording};
use super::timeline::Timeline;
use super::verdict;
use super::watching::Watched;
use crate::machine::Watch;
use crate::probe::Probe;
use crate::run::{Job, Variant, VariantRun};

/// Limit of the second run as a multiple of the first run's issues.
const PATIENCE: u64 = 16;
/// Least limit of the second run in issues.
const LEAST_LIMIT: u64 = 1 << 24;

fn look(
    job: &mut Job,
    variant: &Variant,
    probe: &mut dyn Probe,
    watch: &mut dyn Watch,
) -> Result<VariantRun, Diagnostics> {
    let mut watched = Watched { watch, probe };
    job.run_variant(variant, &mut watched)
}

/// Runs a job and explains its lost lane slots.
///
/// # Errors
/// Returns diagnostics if the launches cannot start.
pub fn explain(
    job: &mut Job,
    variant: &Variant,
    watch: &mut dyn Watch,
) -> Result<(VariantRun, Explanation), Diagnostics> {
    let mut losses = Losses::default();
    let run = look(job, variant, &mut losses, watch)?;
    Ok((run, losses.explanation()))
}

/// Runs a job and records a trace of at most `most` events. Returns the trace as JSON text, and
/// whether it is complete.
///
/// # Errors
/// Returns diagnostics if the launches cannot start.
pub fn trace(
    job: &mut Job,
    variant: &Variant,
    most: usize,
    watch: &mut dyn Watch,
) -> Result<(VariantRun, String, bool), Diagnostics> {
    let mut timeline = Timeline::new(most);
    let run = look(job, variant, &mut timeline, watch)?;
    let Variant { mechanism, warp_size, .. } = variant;
    let about = format!("{} under {mechanism}, warp size {warp_size}", job.module_name());
    let complete = timeline.complete();
    Ok((run, timeline.finish(&about), complete))
}

/// The comparison of two mechanisms, issue by issue.
#[derive(Clone, Debug)]
pub struct Diff {
    /// The two runs.
    pub runs: [VariantRun; 2],
    /// The first difference, if there is one.
    pub parted: Option<Parted>,
    /// Whether all issues were compared.
    pub complete: bool,
}

/// Runs a job under two mechanisms and finds their first difference.
///
/// # Errors
/// Returns diagnostics if the launches cannot start.
pub fn diff(
    job: &mut Job,
    variants: &[Variant; 2],
    watch: &mut dyn Watch,
) -> Result<Diff, Diagnostics> {
    let mut recording = Recording::default();
    let first = look(job, &variants[0], &mut recording, watch)?;
    let limit = first.total().slots.issues().saturating_mul(PATIENCE).max(LEAST_LIMIT);
    let variant = Variant { limit: variants[1].limit.or(Some(limit)), ..variants[1].clone() };
    let mut parting = Parting::new(&recording);
    let second = look(job, &variant, &mut parting, watch)?;
    let parted = parting.outcome();
    Ok(Diff { runs: [first, second], parted, complete: recording.complete() })
}

/// Returns the end of a run: `done`, or the short name of its fault or hang.
fn end(run: &VariantRun) -> &'static str {
    run.ends.last().map_or("done", crate::machine::End::name)
}

impl Diff {
    /// Renders the comparison as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let [a, b] = &self.runs;
        let (a, b) = (&a.stats.mechanism, &b.stats.mechanism);
        let mut out = String::new();
        match &self.parted {
            None if self.complete => {
                let _ = writeln!(out, "{a} and {b} issue the same, lane by lane");
            }
            None => {
                let _ = writeln!(out, "{a} and {b} issue the same as far as issues were kept");
            }
            Some(parted) => self.describe(&mut out, parted),
        }
        out.push_str("\nin the end\n");
        let _ = writeln!(
            out,
            "  {:<20} {:>12} {:>14} {:>14} {:>12}",
            "mechanism", "issues", "lane slots", "diverged", "end"
        );
        for run in &self.runs {
            let total = run.total();
            let _ = writeln!(
                out,
                "  {:<20} {:>12} {:>14} {:>14} {:>12}",
                run.stats.mechanism,
                total.slots.issues(),
                total.slots.width,
                total.slots.of(SlotCause::Diverged),
                end(run)
            );
        }
        let issues = self.runs.each_ref().map(|r| r.total().slots.issues());
        if self.ended() && issues[0] > 0 {
            let factor = issues[1] as f64 / issues[0] as f64;
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

    fn describe(&self, out: &mut String, parted: &Parted) {
        let _ = writeln!(
            out,
            "they part in launch {}, block {}, warp {}, after {} issues in common",
            parted.launch, parted.group.cta, parted.group.group, parted.common
        );
        if let Some(last) = &parted.last {
            out.push_str("\nlast in common\n");
            moment(out, last);
        }
        for (run, moments) in self.runs.iter().zip([&parted.first, &parted.second]) {
            let _ = writeln!(out, "\nthen {}", run.stats.mechanism);
            if moments.is_empty() {
                out.push_str("  issues nothing more for this warp\n");
            }
            moments.iter().for_each(|m| moment(out, m));
        }
    }

    /// Renders JSON as `docs/explain.md` describes it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let moments = |moments: &[Moment]| -> Value { moments.iter().map(moment_json).collect() };
        let parted = self.parted.as_ref().map(|p| {
            json!({
                "launch": p.launch,
                "block": p.group.cta,
                "warp": p.group.group,
                "common": p.common,
                "last": p.last.as_ref().map(moment_json),
                "first": moments(&p.first),
                "second": moments(&p.second),
            })
        });
        let runs: Vec<Value> = self
            .runs
            .iter()
            .map(|run| {
                let total = run.total();
                json!({
                    "mechanism": run.stats.mechanism,
                    "warp_size": run.stats.warp_size,
                    "end": end(run),
                    "inst_executed": total.slots.issues(),
                    "lane_slots": slots(&total.slots),
                })
            })
            .collect();
        json!({ "complete": self.complete, "parted": parted, "runs": runs })
    }
}

fn moment(out: &mut String, moment: &Moment) {
    let place = &moment.place;
    let text: String = place.text.chars().take(72).collect();
    let lanes = moment.lanes;
    let _ =
        writeln!(out, "  issue {}, {}: {} lanes", moment.number, place.describe(), lanes.count());
    paragraph(out, "  lanes ", &format!("{lanes} = {lanes:#x}"));
    let _ = writeln!(out, "    {text}");
}

fn moment_json(moment: &Moment) -> Value {
    let mut value = place_json(&moment.place);
    value["issue"] = json!(moment.number);
    value["mask"] = json!(format!("{:#x}", moment.lanes));
    value["lanes"] = json!(moment.lanes.iter().collect::<Vec<_>>());
    value
}
