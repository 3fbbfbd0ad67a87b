//! The commands `explain`, `diff` and `trace` on kernels whose every issue is known.

use std::sync::Arc;

use lab::run::Variant;
use lab::show::flow_dot;
use machines::probe::{EventSink, LaunchStart, Place, Probe};
use machines::{ControlFlow, FlowBlock, ProbedMonitor, Unmonitored};
use simt::observe::Events;
use simt::slots::SlotCause;
use study::divergence::{diff, explain, trace};

use crate::divergence::common::{bundled, ir};
use crate::divergence::compare::{DIAMOND, ONE_WARP};

fn variant(mechanism: &str, warp_size: u64) -> Variant {
    Variant::of(mechanism, warp_size)
}

#[test]
fn each_side_of_a_diamond_loses_the_lanes_of_the_other() {
    let job = ir("explain", DIAMOND, ONE_WARP);
    let (run, explanation) =
        explain(&job, &variant("ipdom", 32), &mut Unmonitored).expect("begins");
    let total = run.total();
    assert_eq!(explanation.total, total.counts.slots);
    let lost: u64 = explanation.text.iter().map(|(_, line)| line.lost()).sum();
    assert_eq!(lost, 10 * 2 + 22 * 4);
    assert_eq!(total.counts.slots.of(SlotCause::Diverged), lost);
    let line = |n: u32| &explanation.text.iter().find(|(l, _)| *l == Some(n)).expect("a line").1;
    assert_eq!((line(10).splits, line(10).lost()), (1, 0), "the branch");
    assert_eq!((line(12).lost(), line(15).lost()), (10, 22), "the sides");
    let text = explanation.to_text(4);
    assert!(text.contains("%v = mov.u32 1"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    let json = explanation.to_json();
    assert_eq!(json["lane_slots"]["diverged"], 108);
}

#[test]
fn a_line_table_yields_losses_by_source_line() {
    let job = bundled("collatz/launch.toml");
    let (run, explanation) =
        explain(&job, &variant("ipdom", 32), &mut Unmonitored).expect("begins");
    assert_eq!(explanation.total, run.total().counts.slots);
    assert!(
        explanation
            .source
            .iter()
            .any(|((file, _), line)| file.ends_with("collatz.cu") && line.lost() > 0)
    );
    let sum = explanation.text.iter().fold(0, |sum, (_, line)| sum + line.slots.width);
    assert_eq!(sum, explanation.total.width);
}

#[test]
fn two_mechanisms_differ_where_one_merges() {
    let job = ir("diff", DIAMOND, ONE_WARP);
    let variants = [variant("ipdom", 32), variant("barrier-only", 32)];
    let diff = diff(&job, &variants, &mut Unmonitored).expect("begins");
    assert!(diff.complete);
    let difference = diff.difference.as_ref().expect("they part");
    // Four issues before the branch and one whole side are the same; then they differ.
    assert!(difference.common >= 4 && difference.common < 14, "{difference:?}");
    let (a, b) = (&difference.first[0], &difference.second[0]);
    assert!(a.place != b.place || a.lanes != b.lanes);
    assert_eq!(diff.runs[0].total().counts.slots.issues(), 14);
    assert_eq!(diff.runs[1].total().counts.slots.issues(), 18);
    let text = diff.to_text();
    assert!(text.contains("last in common") && text.contains("1.286 times"), "{text}");
}

/// Two orders of the sides of a branch part early and merge alike; what only one merges is found
/// behind that.
#[test]
fn the_first_merge_that_only_one_has_is_found() {
    let job = ir("merge", DIAMOND, ONE_WARP);
    let both = |a: &str, b: &str| {
        diff(&job, &[variant(a, 32), variant(b, 32)], &mut Unmonitored).expect("begins")
    };
    let found = both("ipdom", "barrier-only");
    let merge = found.merge.as_ref().expect("barrier-only merges nothing");
    assert_eq!((merge.run, merge.parts.len(), merge.issue.lanes.count()), (0, 2, 32));
    assert_eq!(merge.apart.len(), 2, "the two sides");
    let parts = merge.parts.iter().fold(0, |all, part| all + part.1.count());
    assert_eq!(parts, 32);
    let swapped = both("barrier-only", "ipdom");
    let other = swapped.merge.as_ref().expect("the same");
    assert_eq!((other.run, &other.issue.place), (1, &merge.issue.place));
    let text = swapped.to_text();
    assert!(text.contains("the first merge that only one has is one of ipdom"), "{text}");
    assert!(text.contains("barrier-only issues the same apart"), "{text}");
    assert!(swapped.to_json()["merge"]["mechanism"] == "ipdom");
    // The sides run in another order, and the same lanes merge at the same place.
    let order = |order: &str| Variant { order: Some(order.to_owned()), ..variant("ipdom", 32) };
    let variants = [order("taken"), order("fallthrough")];
    let found = diff(&job, &variants, &mut Unmonitored).expect("begins");
    assert!(found.difference.is_some() && found.merge.is_none());
    assert!(found.to_text().contains("both merge the same lanes at the same places"));
    // A mechanism with a pass has no branches; what it executes otherwise is compared.
    let masked = both("exec-mask", "barrier-only");
    let merge = masked.merge.as_ref().expect("the mask's lanes meet");
    assert_eq!((merge.run, merge.issue.lanes.count()), (0, 32));
}

#[test]
fn equal_mechanisms_have_no_difference() {
    let job = ir("diff_same", DIAMOND, ONE_WARP);
    let variants = [variant("ipdom", 32), variant("ipdom", 32)];
    let diff = diff(&job, &variants, &mut Unmonitored).expect("begins");
    assert!(diff.difference.is_none() && diff.complete);
    assert!(diff.to_text().starts_with("ipdom and ipdom issue the same"));
}

/// Keeps the places of each launch.
#[derive(Default)]
struct PlacesOfLaunches(Vec<Arc<[Place]>>);

impl EventSink for PlacesOfLaunches {
    fn events(&self) -> Events {
        Events::NONE
    }
}

impl Probe for PlacesOfLaunches {
    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.0.push(Arc::clone(launch.places));
    }
}

#[test]
fn launches_of_one_program_share_its_places_and_leave_other_kernels_out() {
    let others = ["b", "c"].map(|name| DIAMOND.replace("@k(", &format!("@{name}(")));
    let kernels = format!("{DIAMOND}{}", others.concat());
    let launch = &ONE_WARP[ONE_WARP.find("[[launch]]").expect("a launch")..];
    let launches = format!("{ONE_WARP}{launch}{}", launch.replace("\"k\"", "\"b\""));
    let job = ir("shared_places", &kernels, &launches);
    let places = |mechanism: &str| {
        let mut probe = PlacesOfLaunches::default();
        let mut monitor = ProbedMonitor { monitor: &mut Unmonitored, probe: &mut probe };
        let run = job.run_variant(&variant(mechanism, 32), &mut monitor).expect("begins");
        assert!(run.ends.iter().all(|end| end.name() == "done"), "{:?}", run.ends);
        probe.0
    };
    let plain = places("ipdom");
    assert!(plain.len() == 3 && plain.iter().all(|p| Arc::ptr_eq(p, &plain[0])));
    // A pass makes a program of each kernel, in which the others have no code.
    let made = places("predication");
    assert!(Arc::ptr_eq(&made[0], &made[1]) && !Arc::ptr_eq(&made[0], &made[2]));
    assert!(made[0].len() < plain[0].len() / 2, "{} of {}", made[0].len(), plain[0].len());
}

#[test]
fn a_backslash_of_an_instruction_is_kept_in_a_graph() {
    let block = FlowBlock {
        name: "entry".into(),
        instructions: vec!["nop \\new \"x\"".into()],
        ..FlowBlock::default()
    };
    let flow = ControlFlow { kernel: "k".into(), notes: Vec::new(), blocks: vec![block] };
    let dot = flow_dot(&flow);
    assert!(dot.contains(r#"[label="entry:\l  nop \\new \"x\"\l"];"#), "{dot}");
}

#[test]
fn a_trace_is_json_whose_slices_cover_all_issues() {
    let job = ir("trace", DIAMOND, ONE_WARP);
    let traced = trace(&job, &variant("ipdom", 32), 1000, &mut Unmonitored).expect("begins");
    let (run, text, complete) = traced;
    assert!(complete);
    let value: serde_json::Value = serde_json::from_str(&text).expect("is JSON");
    let events = value["traceEvents"].as_array().expect("events");
    let slices: Vec<_> = events.iter().filter(|e| e["ph"] == "X").collect();
    let covered: u64 = slices.iter().filter_map(|e| e["dur"].as_u64()).sum();
    assert_eq!(covered, run.total().counts.slots.issues());
    // Before the branch, one side, the other side, after it.
    assert_eq!(slices.len(), 4);
    let masks: Vec<_> = slices.iter().filter_map(|e| e["args"]["mask"].as_str()).collect();
    assert!(masks.contains(&"0x3ff") && masks.contains(&"0xfffffc00"), "{masks:?}");
    assert_eq!(events.iter().filter(|e| e["ph"] == "M").count(), 2);
    // A trace that has room for each event, and for none more, is complete.
    let full = trace(&job, &variant("ipdom", 32), 4, &mut Unmonitored).expect("begins");
    assert!(full.2 && full.1 == text);
    let cut = trace(&job, &variant("ipdom", 32), 3, &mut Unmonitored).expect("begins");
    assert!(!cut.2 && cut.1.contains("\"complete\":false"));
    assert!(serde_json::from_str::<serde_json::Value>(&cut.1).is_ok());
}
