//! Comparisons on the axes of machines that have no choice of mechanisms.

use std::path::Path;

use isa::SourceMap;
use lab::run::{Job, JobParts, Settings};
use machines::Unmonitored;
use machines::probe::Lanes;
use simt::slots::SlotCause;
use study::divergence::{Comparison, Plan, Verdict, compare, default_settings, to_json, to_text};

/// Compares a bundled program under the usual settings of its machine.
fn compared(path: &str) -> Comparison {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels").join(path);
    let mut sources = SourceMap::new();
    let parts = JobParts::from_launch_file(&file, None, &mut sources).expect("reads");
    let job = Job::prepare(parts, &Settings::default(), &mut sources).expect("is ready");
    let plan = Plan {
        mechanisms: job.machine().mechanisms.iter().map(|m| m.name.to_owned()).collect(),
        warp_sizes: vec![job.warp_size()],
        order: None,
        settings: default_settings(job.machine()),
        star: true,
        record_views: true,
        profiles: Vec::new(),
        jobs: 0,
    };
    compare(&job, &plan, &mut Unmonitored).expect("begins").expect("ends")
}

fn row<'c>(comparison: &'c Comparison, name: &str) -> &'c study::divergence::Row {
    comparison.rows.iter().find(|r| r.name() == name).unwrap_or_else(|| panic!("no row {name}"))
}

#[test]
fn linx_groups_of_any_width_leave_the_memory_of_single_lanes() {
    let comparison = compared("linx/collatz/launch.toml");
    assert_eq!(comparison.reference_name, "exec of width 1");
    let issues =
        |name: &str| row(&comparison, name).stats.as_ref().expect("ran").counts.slots.issues();
    let mut last = u64::MAX;
    for width in [1, 2, 4, 8, 16, 32] {
        let name = format!("group-width={width}");
        let row = row(&comparison, &name);
        assert_eq!((row.verdict, row.equal, row.warp_size), (Verdict::Ok, Some(true), width));
        assert!(row.stats.as_ref().is_some_and(|s| s.counts.slots.identity_holds()));
        // Wider groups take fewer issues.
        assert!(issues(&name) < last, "{width}");
        last = issues(&name);
    }
    for name in ["exec", "exec-zero", "exec-poison", "exec-taken-path"] {
        assert_eq!(row(&comparison, name).equal, Some(true), "{name}");
    }
    // One lane at a time takes as many issues as groups of one lane.
    assert_eq!(issues("replay"), issues("group-width=1"));
    let factor = row(&comparison, "replay").impact.divergence_impact_factor;
    assert!(factor.is_some_and(|f| f > 10.0), "{factor:?}");
    let json = to_json(&comparison);
    assert_eq!(json["rows"][1]["settings"]["group-width"], "1");
    assert_eq!(json["reference"]["mechanism"], "exec of width 1");
    let text = to_text(&comparison);
    assert!(text.contains("memory as under exec of width 1"), "{text}");
}

#[test]
fn pmask_programs_declare_their_banks_and_modes() {
    let comparison = compared("pmask/filter/launch.toml");
    for name in ["masks", "zmode=zero", "vlmax=32", "vlmax=16", "vlmax=8"] {
        assert_eq!(row(&comparison, name).equal, Some(true), "{name}");
    }
    // The program uses all banks.
    for name in ["banks=3", "banks=2", "banks=1"] {
        let row = row(&comparison, name);
        assert_eq!(row.verdict, Verdict::Fault, "{name}");
        let report = row.report.as_ref().expect("a report");
        assert!(report.message.contains("illegal-instruction"), "{}", report.message);
    }
    // Without the lane forms the program computes something else.
    let other = row(&comparison, "lane-forms=off");
    assert_eq!((other.verdict, other.equal), (Verdict::Unsound, Some(false)));
    assert!(!other.differences.is_empty());
}

#[test]
fn prf_varies_predicates_writes_profiles_and_schedulers() {
    let comparison = compared("prf/collatz/launch.toml");
    let names: Vec<String> = comparison.rows.iter().map(study::divergence::Row::name).collect();
    for axis in ["profile=", "writes=", "predicates=", "scheduler="] {
        assert!(names.iter().any(|n| n.starts_with(axis)), "{axis}: {names:?}");
    }
    let default = &comparison.rows[0];
    assert_eq!((default.verdict, default.equal), (Verdict::Ok, Some(true)));
    for row in comparison.rows.iter().filter(|r| r.name().starts_with("scheduler=")) {
        assert_eq!(row.equal, Some(true), "who fetches first changes no result");
    }
}

/// Machines with assembly programs have views of lanes and lines, and the losses by line add up to
/// the counted slots.
#[test]
fn machines_with_a_listing_show_their_lanes() {
    for path in
        ["linx/nested_if/launch.toml", "pmask/filter/launch.toml", "prf/if_else/launch.toml"]
    {
        let comparison = compared(path);
        let row = &comparison.rows[0];
        let (views, stats) = (row.views.as_ref().expect(path), row.stats.as_ref().expect(path));
        assert_eq!(views.losses.total, stats.counts.slots, "{path}");
        assert!(views.losses.text.iter().any(|(line, l)| line.is_some() && l.lost() > 0), "{path}");
        let warp = views.lanes.warps.first().expect("a warp");
        let places = &views.lanes.places;
        assert!(warp.steps.iter().all(|step| places[step.place as usize].line.is_some()), "{path}");
        assert!(stats.counts.slots.masked_off > 0, "{path}");
        // Each recorded lane set distinguishes lanes that a mask turns off from those that a guard
        // does.
        assert!(views.lanes.lanes.iter().any(|c| !c.masked_off().is_empty()), "{path}");
        for causes in &views.lanes.lanes {
            let off = causes.lanes(SlotCause::PredicatedOff);
            assert_eq!(causes.masked_off() - off, Lanes::EMPTY, "{path}");
        }
    }
}

/// Only models with a clock have cycles.
#[test]
fn machines_with_a_clock_report_cycles_and_issues() {
    let comparison = compared("prf/collatz/launch.toml");
    let json = to_json(&comparison);
    let cycles = |name: &str| {
        let at = comparison.rows.iter().position(|r| r.name() == name).expect(name);
        json["rows"][at]["cycles"].as_u64()
    };
    assert!(cycles("scheduler=greedy-then-oldest").is_some_and(|c| c > 0));
    assert_eq!(cycles("predicates=32"), None);
    let text = to_text(&comparison);
    assert!(text.lines().any(|l| l.contains("impact    cycles")));
    // A name too long for its column has a line of its own.
    assert!(text.lines().any(|l| l == "scheduler=greedy-then-oldest"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
}

#[test]
fn a_width_that_is_listed_has_one_row() {
    let linx = machines::find("linx").expect("there is one");
    let plan = Plan {
        mechanisms: vec!["exec".to_owned()],
        warp_sizes: vec![1, 8],
        settings: default_settings(linx),
        star: true,
        ..Plan::default()
    };
    let rows: Vec<(u64, usize)> =
        plan.cells(linx).iter().map(|cell| (cell.warp_size, cell.settings.len())).collect();
    // Two listed widths, and the other ones of the axis: 64 is the default.
    let axis = [2, 4, 16, 32].map(|width| (width, 1));
    let mut expected = vec![(1, 0), (8, 0)];
    expected.splice(1..1, axis);
    assert_eq!(rows, expected);
}
