//! The commands `explain`, `diff` and `trace` on kernels whose every issue is known.

use crate::common::{bundled, ir};
use crate::compare::{DIAMOND, ONE_WARP};
use lab::divergence::{diff, explain, trace};
use lab::machine::Unwatched;
use lab::run::Variant;
use simt::slots::SlotCause;

fn variant(mechanism: &str, warp_size: u64) -> Variant {
    Variant {
        mechanism: mechanism.to_owned(),
        warp_size,
        order: None,
        options: Vec::new(),
        limit: None,
    }
}

#[test]
fn the_lines_of_a_diamond_lose_what_their_side_leaves_out() {
    let mut job = ir("explain", DIAMOND, ONE_WARP);
    let (run, told) = explain(&mut job, &variant("ipdom", 32), &mut Unwatched).expect("begins");
    let total = run.total();
    assert_eq!(told.total, total.slots);
    let lost: u64 = told.text.iter().map(|(_, line)| line.lost()).sum();
    assert_eq!(lost, 10 * 2 + 22 * 4);
    assert_eq!(total.slots.of(SlotCause::Diverged), lost);
    let line = |n: u32| &told.text.iter().find(|(l, _)| *l == Some(n)).expect("a line").1;
    assert_eq!((line(10).splits, line(10).lost()), (1, 0), "the branch");
    assert_eq!((line(12).lost(), line(15).lost()), (10, 22), "the sides");
    let text = told.to_text(4);
    assert!(text.contains("%v = mov.u32 1"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    let json = told.to_json();
    assert_eq!(json["lane_slots"]["diverged"], 108);
}

#[test]
fn lines_of_the_source_are_told_where_there_is_a_line_table() {
    let mut job = bundled("collatz/launch.toml");
    let (run, told) = explain(&mut job, &variant("ipdom", 32), &mut Unwatched).expect("begins");
    assert_eq!(told.total, run.total().slots);
    assert!(
        told.source.iter().any(|((file, _), line)| file.ends_with("collatz.cu") && line.lost() > 0)
    );
    let sum = told.text.iter().fold(0, |sum, (_, line)| sum + line.slots.width);
    assert_eq!(sum, told.total.width);
}

#[test]
fn two_mechanisms_part_where_one_merges() {
    let mut job = ir("diff", DIAMOND, ONE_WARP);
    let variants = [variant("ipdom", 32), variant("barrier-only", 32)];
    let diff = diff(&mut job, &variants, &mut Unwatched).expect("begins");
    assert!(diff.complete);
    let parted = diff.parted.as_ref().expect("they part");
    // Four issues before the branch and one whole side are the same; then they differ.
    assert!(parted.common >= 4 && parted.common < 14, "{parted:?}");
    let (a, b) = (&parted.first[0], &parted.second[0]);
    assert!(a.place != b.place || a.lanes != b.lanes);
    assert_eq!(diff.runs[0].total().slots.issues(), 14);
    assert_eq!(diff.runs[1].total().slots.issues(), 18);
    let text = diff.to_text();
    assert!(text.contains("last in common") && text.contains("1.286 times"), "{text}");
}

#[test]
fn mechanisms_that_do_the_same_do_not_part() {
    let mut job = ir("diff_same", DIAMOND, ONE_WARP);
    let variants = [variant("ipdom", 32), variant("ipdom", 32)];
    let diff = diff(&mut job, &variants, &mut Unwatched).expect("begins");
    assert!(diff.parted.is_none() && diff.complete);
    assert!(diff.to_text().starts_with("ipdom and ipdom issue the same"));
}

#[test]
fn a_trace_is_json_whose_slices_cover_all_issues() {
    let mut job = ir("trace", DIAMOND, ONE_WARP);
    let traced = trace(&mut job, &variant("ipdom", 32), 1000, &mut Unwatched).expect("begins");
    let (run, text, complete) = traced;
    assert!(complete);
    let value: serde_json::Value = serde_json::from_str(&text).expect("is JSON");
    let events = value["traceEvents"].as_array().expect("events");
    let slices: Vec<_> = events.iter().filter(|e| e["ph"] == "X").collect();
    let covered: u64 = slices.iter().filter_map(|e| e["dur"].as_u64()).sum();
    assert_eq!(covered, run.total().slots.issues());
    // Before the branch, one side, the other side, after it.
    assert_eq!(slices.len(), 4);
    let masks: Vec<_> = slices.iter().filter_map(|e| e["args"]["mask"].as_str()).collect();
    assert!(masks.contains(&"0x3ff") && masks.contains(&"0xfffffc00"), "{masks:?}");
    assert_eq!(events.iter().filter(|e| e["ph"] == "M").count(), 2);
    let cut = trace(&mut job, &variant("ipdom", 32), 2, &mut Unwatched).expect("begins");
    assert!(!cut.2);
    assert!(serde_json::from_str::<serde_json::Value>(&cut.1).is_ok());
}
