//! Explanations of verdicts, and warnings before a run.

use study::divergence::{Verdict, to_text};

use crate::divergence::common::{bundled, ir};
use crate::divergence::compare::{ONE_WARP, compared};

/// A spin lock within a warp: the lock is released after the loop.
const LOCK: &str = "kernel @k(out: u64 global) {
  reg %v: b32
  reg %p: pred
  reg %at: b64
entry:
  %at = ld.param.u64 [@out]
again:
  %v = atom.cas.relaxed.gpu.global.b32 [%at], 0, 1
  %p = setp.ne.u32 %v, 0
  @%p br again
free:
  st.relaxed.gpu.global.u32 [%at], 0
  ret
}
";

/// Lane 0 waits at one barrier, the others at another.
const BARRIERS: &str = "kernel @k(out: u64 global) {
  reg %t: b32
  reg %p: pred
entry:
  %t = sreg.u32 tid.x
  %p = setp.eq.u32 %t, 0
  @%p br one
others:
  bar.sync 1
  ret
one:
  bar.sync 2
  ret
}
";

/// Returns the sentence and the verdict of a kernel of 4 lanes under a mechanism, and the number of
/// warnings.
fn study(name: &str, text: &str, mechanism: &str) -> (Option<String>, Verdict, usize) {
    let launch = ONE_WARP.replace("block = [32]", "block = [4]");
    let comparison = compared(&ir(name, text, &launch), &[mechanism], &[32]);
    let row = &comparison.rows[0];
    (row.sentence.clone(), row.verdict, comparison.warnings.len())
}

#[test]
fn a_hang_names_the_spinning_lanes_and_the_lanes_they_wait_for() {
    let (sentence, verdict, warnings) = study("say_ipdom", LOCK, "ipdom");
    assert_eq!((verdict, warnings), (Verdict::Hang, 1));
    assert_eq!(
        sentence.as_deref(),
        Some(
            "hangs under ipdom: lanes 1-3 at line 8 spin on what lane 0, parked at its rejoin point at line 12, has to release (line 12)"
        )
    );
    let (sentence, verdict, _) = study("say_min_pc", LOCK, "min-pc");
    assert_eq!(verdict, Verdict::Hang);
    let sentence = sentence.expect("a sentence");
    assert!(
        sentence.starts_with("hangs under min-pc: lanes 1-3 at line 8 spin on what lane 0"),
        "{sentence}"
    );
    // A run that completes has no sentence, but the warning remains.
    let (sentence, verdict, warnings) = study("say_max_pc", LOCK, "max-pc");
    assert_eq!((sentence, verdict, warnings), (None, Verdict::Ok, 1));
}

#[test]
fn a_deadlock_names_both_barriers() {
    let (sentence, verdict, warnings) = study("say_barriers", BARRIERS, "ipdom");
    assert_eq!((verdict, warnings), (Verdict::Hang, 0));
    let sentence = sentence.expect("a sentence");
    assert_eq!(
        sentence,
        "hangs under ipdom: lane 0 at line 12 waits at barrier 2 for 3 more threads, while lanes 1-3 wait for another path at line 9"
    );
}

#[test]
fn a_hang_names_the_schedule_that_replays_it() {
    let comparison = compared(&bundled("spinlock/textbook.toml"), &["ipdom"], &[8]);
    let report = comparison.rows[0].report.as_ref().expect("a report");
    let schedule = report.notes.iter().find(|n| n.starts_with("the schedule: "));
    assert_eq!(
        schedule.map(String::as_str),
        Some(
            "the schedule: mechanism ipdom, warp size 8, seed 0; the same again is the same run, issue by issue"
        )
    );
    let text = to_text(&comparison);
    assert!(text.contains("before running") && text.contains("spin on what lane 0"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    // The explanation is accurate: another run hangs after the same issues.
    let again = compared(&bundled("spinlock/textbook.toml"), &["ipdom"], &[8]);
    assert_eq!(again.rows[0].stats, comparison.rows[0].stats);
}

/// Every lane adds the number of lanes that run with it.
const ACTIVE: &str = "kernel @k(out: u64 global) {
  reg %t, %n: b32
  reg %p: pred
  reg %at, %wide: b64
entry:
  %at = ld.param.u64 [@out]
  %t = sreg.u32 tid.x
  %n = activemask
  %wide = mulwide.u32 %t, 4
  %at = add.u64 %at, %wide
  st.global.u32 [%at], %n
  ret
}
";

#[test]
fn order_dependent_and_racy_name_their_instructions() {
    let (sentence, verdict, _) = study("say_active", ACTIVE, "ipdom");
    assert_eq!(verdict, Verdict::OrderDependent);
    let sentence = sentence.expect("a sentence");
    assert!(
        sentence.contains("`out` differs") && sentence.contains("`%n = activemask` at line 8"),
        "{sentence}"
    );
    let racy = ACTIVE
        .replace("  %at = add.u64 %at, %wide\n", "")
        .replace("%n = activemask", "%n = mov.u32 %t");
    let (sentence, verdict, _) = study("say_racy", &racy, "ipdom");
    assert_eq!(verdict, Verdict::Racy);
    let sentence = sentence.expect("a sentence");
    assert_eq!(
        sentence.matches("the write `st.global.u32 [%at], %n` at line 10").count(),
        2,
        "{sentence}"
    );
}

#[test]
fn bundled_kernels_that_end_everywhere_have_no_warnings() {
    for kernel in
        ["collatz", "bfs", "hash_table", "histogram", "reduce", "scan", "compaction", "match_any"]
    {
        let warnings = bundled(&format!("{kernel}/launch.toml")).warnings();
        assert!(warnings.is_empty(), "{kernel}: {warnings:?}");
    }
    // The safe form of the lock.
    assert!(bundled("spinlock/launch.toml").warnings().is_empty());
    assert_eq!(bundled("spinlock/textbook.toml").warnings().len(), 1);
}
