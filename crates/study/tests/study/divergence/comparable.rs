//! What makes rows of a comparison comparable: one efficiency, a reference that no knob changes,
//! and numbers that are absent where they mean nothing.

use machines::Unmonitored;
use study::divergence::{Comparison, Plan, Row, Verdict, compare, to_text};

use crate::divergence::common::{bundled, ir};
use crate::divergence::compare::{DIAMOND, ONE_WARP, compared};

fn row<'c>(comparison: &'c Comparison, mechanism: &str) -> &'c Row {
    comparison.rows.iter().find(|r| r.mechanism == mechanism).expect("a row")
}

fn issues(row: &Row) -> u64 {
    row.stats.as_ref().expect("it ran").counts.slots.issues()
}

/// Work of serial execution over the lanes of all issues: 2016 thread instructions in so many
/// issues of 32 lanes. SIMD efficiency would be 100 % under masks.
#[test]
fn masks_and_barriers_count_against_useful_lanes() {
    let names = ["ipdom", "predication", "exec-mask", "convergence-barriers", "compaction"];
    let comparison = compared(&bundled("divergence/nested/launch.toml"), &names, &[32]);
    let expected = [452, 482, 542, 638, 452];
    for (name, expected) in std::iter::zip(names, expected) {
        let found = row(&comparison, name);
        assert_eq!(issues(found), expected, "{name}");
        let useful = found.useful.expect("it ended");
        assert!((useful - 100.0 * 2016.0 / (expected * 32) as f64).abs() < 1e-9, "{name}");
    }
    let masked = row(&comparison, "exec-mask").stats.as_ref().expect("it ran");
    assert_eq!(masked.counts.metric("warp_execution_efficiency"), Some(100.0));
    // Regrouping over the block is no machine's: nothing is relative to it.
    let impact = row(&comparison, "ipdom").impact.divergence_impact_factor;
    assert_eq!(impact, Some(1.0));
}

#[test]
fn times_are_none_where_nothing_rejoins() {
    let comparison = compared(&ir("no_rejoin", DIAMOND, ONE_WARP), &["barrier-only"], &[32]);
    let apart = row(&comparison, "barrier-only");
    assert_eq!((apart.times.never, apart.times.mean, apart.impact.legacy), (1, None, None));
}

/// A policy that would starve lanes of the reference is that of the mechanisms that read it.
#[test]
fn a_policy_leaves_the_reference_alone() {
    let plan = Plan {
        mechanisms: ["serial", "min-pc", "ipdom"].map(str::to_owned).to_vec(),
        warp_sizes: vec![32],
        settings: vec![vec![("policy".to_owned(), "round-robin".to_owned())]],
        ..Plan::default()
    };
    let job = bundled("spinlock/textbook.toml");
    let turned = compare(&job, &plan, &mut Unmonitored).expect("begins").expect("ends");
    let plain = compared(&job, &["serial", "min-pc", "ipdom"], &[32]);
    assert_eq!(issues(row(&turned, "serial")), issues(row(&plain, "serial")));
    assert_eq!(row(&plain, "min-pc").verdict, Verdict::Hang);
    assert_ne!(row(&turned, "min-pc").verdict, Verdict::Hang, "each lane gets its turn");
    assert_eq!(row(&turned, "ipdom").verdict, Verdict::Hang, "ipdom reads no policy");
}

/// Rows that hang for one reason are told together, each reason once.
#[test]
fn equal_hangs_are_one_text() {
    let names = ["min-pc", "barrier-only", "exec-mask", "predication"];
    let text = to_text(&compared(&bundled("spinlock/textbook.toml"), &names, &[32]));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(text.matches("never chosen").count(), 2, "two mechanisms, two preferences\n{text}");
    assert_eq!(text.matches("masked off, has").count(), 1, "{text}");
    assert!(text.contains("hang: exec-mask, W = 32; predication, W = 32"), "{text}");
}
