//! Comparisons of mechanisms: verdicts, equality, numbers that can be checked by hand, and the JSON
//! schema.

use std::path::Path;

use isa::Span;
use lab::run::Job;
use machines::probe::{ScheduleDependence, ScheduleDependenceProbe};
use machines::{ProbedMonitor, Unmonitored, find, mechanisms_named};
use study::divergence::{
    Comparison, Plan, Row, Verdict, compare, numbers_named, order_named, to_json, to_text,
};

use crate::divergence::common::{bundled, ir};

pub(crate) fn compared(job: &Job, mechanisms: &[&str], warp_sizes: &[u64]) -> Comparison {
    let plan = Plan {
        mechanisms: mechanisms.iter().map(|&m| m.to_owned()).collect(),
        warp_sizes: warp_sizes.to_vec(),
        settings: vec![Vec::new()],
        ..Plan::default()
    };
    compare(job, &plan, &mut Unmonitored).expect("begins").expect("is not interrupted")
}

fn row<'c>(comparison: &'c Comparison, mechanism: &str, warp_size: u64) -> &'c Row {
    let mut rows = comparison.rows.iter().chain(&comparison.unsupported);
    rows.find(|r| r.mechanism == mechanism && r.warp_size == warp_size).expect("a row")
}

/// Lanes 0 to 9 run four instructions, the others two, then all rejoin.
pub(crate) const DIAMOND: &str = "
kernel @k(out: u64 global) {
  reg %tid, %v: b32
  reg %p: pred
  reg %at, %wide: b64
entry:
  %tid = sreg.u32 tid.x
  %at = ld.param.u64 [@out]
  %p = setp.lt.u32 %tid, 10
  @%p br low
high:
  %v = mov.u32 7
  br meet
low:
  %v = mov.u32 1
  %v = add.u32 %v, %tid
  %v = add.u32 %v, %tid
  br meet
meet:
  %wide = mulwide.u32 %tid, 4
  %at = add.u64 %at, %wide
  st.global.u32 [%at], %v
  ret
}
";

pub(crate) const ONE_WARP: &str = "
[buffers]
out = \"u32[32]:zeros\"
[[launch]]
kernel = \"k\"
grid = [1]
block = [32]
args = [\"&out\"]
";

#[test]
fn a_diamond_by_hand() {
    let comparison =
        compared(&ir("diamond", DIAMOND, ONE_WARP), &["ipdom", "min-pc", "barrier-only"], &[32]);
    for mechanism in ["ipdom", "min-pc"] {
        let row = row(&comparison, mechanism, 32);
        assert_eq!((row.verdict, row.equal), (Verdict::Ok, Some(true)));
        let stats = row.stats.as_ref().expect("ran");
        // 4 before the branch, 2 and 4 on the sides, 4 after.
        assert_eq!(stats.counts.slots.issues(), 14, "{mechanism}");
        assert_eq!(stats.counts.slots.active(), 32 * 8 + 22 * 2 + 10 * 4);
        assert_eq!((stats.counts.divergent_branches, stats.counts.divergent_paths), (1, 2));
        assert_eq!((row.times.rejoined, row.times.never), (1, 0));
        assert_eq!((row.times.mean, row.times.p50, row.times.p99), (Some(6.0), Some(6), Some(6)));
        assert_eq!(row.impact.divergence_impact_factor, Some(1.0));
    }
    // No paths merge: the four instructions after the branch are issued twice.
    let apart = row(&comparison, "barrier-only", 32);
    assert_eq!(apart.stats.as_ref().map(|s| s.counts.slots.issues()), Some(18));
    assert_eq!((apart.times.rejoined, apart.times.never), (0, 1));
    assert_eq!(apart.impact.divergence_impact_factor, Some(18.0 / 14.0));
}

#[test]
fn a_lock_released_after_the_loop_hangs_where_lanes_wait_for_each_other() {
    let mechanisms = ["serial", "ipdom", "min-pc", "max-pc", "uniform"];
    let comparison = compared(&bundled("spinlock/textbook.toml"), &mechanisms, &[32]);
    let verdict = |m| row(&comparison, m, 32).verdict;
    assert_eq!(verdict("serial"), Verdict::Ok);
    assert_eq!(verdict("ipdom"), Verdict::Hang);
    assert_eq!(verdict("min-pc"), Verdict::Hang);
    assert_eq!(verdict("uniform"), Verdict::Unsupported);
    let report = row(&comparison, "ipdom", 32).report.as_ref().expect("says why");
    assert!(report.notes.iter().any(|n| n.contains("lanes")), "{report:?}");
    assert_eq!(row(&comparison, "ipdom", 32).equal, None);
    assert!(to_text(&comparison).contains("hang: ipdom, W = 32"));
}

/// Odd lanes take another path; each lane then writes the mask of lanes that run with it.
const ACTIVE: &str = "
kernel @k(out: u64 global) {
  reg %tid, %v: b32
  reg %p: pred
  reg %at, %wide: b64
entry:
  %tid = sreg.u32 tid.x
  %at = ld.param.u64 [@out]
  %v = activemask
  %wide = mulwide.u32 %tid, 4
  %at = add.u64 %at, %wide
  st.global.u32 [%at], %v
  ret
}
";

#[test]
fn an_atomic_whose_old_value_is_not_read_exposes_nothing() {
    let found = |name: &str, last: &str| {
        let kernel = ACTIVE
            .replace("%v = activemask", "%v = atom.add.relaxed.gpu.global.u32 [%at], 1")
            .replace("st.global.u32 [%at], %v", last);
        let mut probe = ScheduleDependenceProbe::default();
        let mut monitor = ProbedMonitor { monitor: &mut Unmonitored, probe: &mut probe };
        ir(name, &kernel, ONE_WARP).run(false, &mut monitor).expect("runs");
        probe.found().iter().map(|(dependence, _)| *dependence).collect::<Vec<_>>()
    };
    let read = found("old-value-read", "st.global.u32 [%at], %v");
    assert_eq!(read, [ScheduleDependence::ReturnedAtomic]);
    assert_eq!(found("old-value-unread", "st.global.u32 [%at], %tid"), []);
}

#[test]
fn instructions_that_expose_the_schedule_are_named() {
    let comparison = compared(&ir("active", ACTIVE, ONE_WARP), &["ipdom", "serial"], &[32, 8]);
    assert!(comparison.sound());
    for size in [32, 8] {
        assert_eq!(row(&comparison, "serial", size).verdict, Verdict::Ok);
        let row = row(&comparison, "ipdom", size);
        assert_eq!((row.verdict, row.equal), (Verdict::OrderDependent, Some(false)));
        let (shows, place) = row.witnesses.first().expect("a witness");
        assert_eq!((*shows, place.line), (ScheduleDependence::ActiveLanes, Some(9)));
        assert_eq!(&*place.text, "%v = activemask");
        assert_eq!(row.differences.first().map(|d| d.what.as_str()), Some("out"));
    }
}

#[test]
fn every_mechanism_agrees_with_serial_on_a_bundled_kernel_and_slots_add_up() {
    let job = bundled("switch32/launch.toml");
    let all: Vec<String> = job.machine().mechanisms.iter().map(|m| m.name.to_owned()).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let comparison = compared(&job, &all, &[16, 32]);
    assert_eq!(comparison.rows.len() + comparison.unsupported.len(), 2 * all.len());
    assert_eq!(comparison.unsupported.len(), 2, "uniform");
    for row in &comparison.rows {
        // `basic` uses an unsound rejoin point in this kernel, but its results are correct.
        let expected = match row.mechanism.as_str() {
            "basic" => row.verdict == Verdict::Unsound && row.equal == Some(true),
            _ => matches!(row.verdict, Verdict::Ok | Verdict::Unsupported),
        };
        assert!(expected, "{} at {}: {:?}", row.mechanism, row.warp_size, row.verdict);
        if let Some(stats) = &row.stats {
            assert!(stats.counts.slots.identity_holds(), "{}", row.mechanism);
        }
    }
    let text = to_text(&comparison);
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    assert!(!text.contains('\u{1b}'), "no colour");
    let kept = text.split("done and kept").nth(1).expect("a table of charges");
    let line = kept.lines().find(|l| l.starts_with("ipdom")).expect("a row of it");
    let stats = comparison.rows[0].stats.as_ref().expect("it ran");
    assert_eq!(comparison.rows[0].mechanism, "ipdom");
    let reported: Vec<u64> = line.split_whitespace().skip(2).map(|n| n.parse().unwrap()).collect();
    let c = &stats.counts.charges;
    let counted = [c.splits, c.merges, c.pushes, c.pops, c.visits, stats.counts.slots.idle_issues];
    assert_eq!(reported, [&counted[..], &[stats.state_bits]].concat());
}

#[test]
fn the_json_matches_its_schema() {
    let schema =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas/compare.schema.json");
    let schema = std::fs::read_to_string(schema).expect("is there");
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("is JSON");
    let validator = jsonschema::validator_for(&schema).expect("a usable schema");
    let jobs = [
        (bundled("spinlock/textbook.toml"), ["ipdom", "uniform", "serial"]),
        (ir("active_json", ACTIVE, ONE_WARP), ["ipdom", "serial", "max-pc"]),
    ];
    for (job, mechanisms) in jobs {
        let report = to_json(&compared(&job, &mechanisms, &[32]));
        let errors: Vec<String> = validator.iter_errors(&report).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
        let count = |key: &str| report[key].as_array().map_or(0, Vec::len);
        assert_eq!(count("rows") + count("unsupported"), 3);
    }
}

/// `basic` expects the sides of the diamond to rejoin at the instruction after the branch, which
/// one side does not pass: the results are equal, and the unsound rejoin point is reported. It is
/// right about a loop's branch.
#[test]
fn basic_is_unsound_where_lanes_jump_forward() {
    let comparison = compared(&ir("basic", DIAMOND, ONE_WARP), &["basic"], &[32]);
    let found = row(&comparison, "basic", 32);
    assert_eq!((found.verdict, found.equal), (Verdict::Unsound, Some(true)));
    assert_eq!(found.report.as_ref().map(|r| r.code), Some("compare::rejoin"));
    // The four instructions after the branch are issued twice; the results are the same.
    assert_eq!(
        found.stats.as_ref().map(|s| (s.counts.slots.issues(), s.counts.charges.unsound_splits)),
        Some((18, 1))
    );
    assert!(comparison.sound());
    let job = bundled("divergence/trip_count/launch.toml");
    let comparison = compared(&job, &["basic"], &[32]);
    assert_eq!(row(&comparison, "basic", 32).verdict, Verdict::Ok);
}

#[test]
fn names_that_do_not_exist_get_the_nearest() {
    let machine = find("ptx").expect("there is one");
    let none = Span::default();
    let named = |list| mechanisms_named(machine, list, none);
    assert_eq!(named("cfg,ipdom,min-pc").expect("known"), ["ipdom", "min-pc"]);
    assert!(named("all").expect("known").len() > 4);
    let help = |list| named(list).expect_err("unknown").help.unwrap_or_default();
    assert_eq!(help("ipdon"), "did you mean ipdom?");
    assert!(help("quicksort").starts_with("mechanisms are "));
    assert!(help("").starts_with("mechanisms are "));
    assert_eq!(numbers_named("8, 16,8", none).expect("sizes"), [8, 16]);
    for bad in ["0", "1025", "x", "", "8,,16", "-1"] {
        assert!(numbers_named(bad, none).is_err(), "{bad}");
    }
    let order = order_named("minorty", none).expect_err("unknown");
    assert_eq!(order.help.as_deref(), Some("did you mean minority?"));
}

/// A loop of so many rounds as each thread says, and one divergent branch in it: 128 threads that
/// a group of 4 takes from anywhere in the block. Before lanes had turns, those that were ahead at
/// the back-edge ran alone.
const LOOP: &str = "kernel @k(out: u64 global) {
  reg %t, %n, %v, %b: b32
  reg %p, %q: pred
  reg %at, %wide: b64
entry:
  %t = sreg.u32 tid.x
  %n = mul.u32 %t, 2654435761
  %n = shr.u32 %n, 28
  %v = mov.u32 1
round:
  %b = and.b32 %v, 1
  %p = setp.eq.u32 %b, 0
  @%p br even
odd:
  %v = mad.u32 %v, 3, %t
  br next
even:
  %v = shr.u32 %v, 1
  %v = add.u32 %v, %t
next:
  %q = setp.ne.u32 %n, 0
  %n = sub.u32 %n, 1
  @%q br round
done:
  %at = ld.param.u64 [@out]
  %wide = mulwide.u32 %t, 4
  %at = add.u64 %at, %wide
  st.global.u32 [%at], %v
  ret
}
";

const FOUR_WARPS: &str = "
[buffers]
out = \"u32[128]:zeros\"

[[launch]]
kernel = \"k\"
grid = 1
block = 128
args = [\"&out\"]
";

#[test]
fn issues_are_never_below_the_bounds() {
    let jobs = [
        ("loop", ir("least", LOOP, FOUR_WARPS)),
        ("partition", bundled("divergence/partition/launch.toml")),
        ("trip_count", bundled("divergence/trip_count/launch.toml")),
        ("short_circuit", bundled("divergence/short_circuit/launch.toml")),
        ("nqueens", bundled("nqueens/launch.toml")),
    ];
    let names = [
        "serial",
        "ipdom",
        "multi-path",
        "tf-stack",
        "min-pc",
        "max-pc",
        "barrier-only",
        "compaction",
    ];
    for (name, job) in &jobs {
        let comparison = compared(job, &names, &[4, 32]);
        for width in [4, 32] {
            let issues = |name: &str| {
                let stats = row(&comparison, name, width).stats.as_ref().expect("it ran");
                stats.counts.slots.issues()
            };
            let least = row(&comparison, "ipdom", width).least.expect("all executes as in serial");
            assert!(least.within_blocks <= least.within_warps, "{name}");
            for mechanism in names {
                let found = row(&comparison, mechanism, width);
                assert_eq!(found.least, Some(least), "{name}, {mechanism}");
                let bound = match mechanism {
                    "compaction" => least.within_blocks,
                    _ => least.within_warps,
                };
                assert!(issues(mechanism) >= bound, "{name}, {mechanism} at {width}");
                assert!(
                    issues("compaction") <= issues(mechanism),
                    "{name}, {mechanism} at {width}"
                );
            }
        }
    }
    // A simulation of the threads' traces in Python gives these: the bound, and the issues where
    // each place lets all its threads go before the next. Where one group of a place runs ahead,
    // the same takes 3153.
    let four = compared(&jobs[0].1, &["compaction"], &[4]);
    let found = row(&four, "compaction", 4);
    let issues = found.stats.as_ref().map(|s| s.counts.slots.issues());
    let least = found.least.map(|least| least.within_blocks);
    assert_eq!((issues, least), (Some(2904), Some(2834)));
    // With a thread in each column the block is one warp, and the bound of both is one.
    let whole = compared(&jobs[0].1, &["ipdom", "compaction", "exec-mask"], &[128]);
    let least = row(&whole, "ipdom", 128).least.expect("known");
    assert_eq!(least.within_warps, least.within_blocks);
    assert_eq!(row(&whole, "exec-mask", 128).least, None, "a pass has changed the code");
    let text = to_text(&whole);
    assert!(text.contains("no mechanism needs less, W = 128: "), "{text}");
}
