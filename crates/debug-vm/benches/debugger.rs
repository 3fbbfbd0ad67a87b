//! What the debugger costs: `cargo bench -p simtlab-debug-vm --bench debugger`.
//!
//! Two warps in a loop for ten million issues: snapshots and their memory, runs and steps in both
//! directions, conditions, watches. Then 10,000 blocks, whose last one is reached on the fast
//! engine and, under a mechanism that it does not have, without it.

#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/debug_vm/case.rs"]
mod case;

use std::io::Write as _;
use std::time::Instant;

use case::Case;
use debug::{Debugger, Direction, Execution, Session};
use vm::Engine;

/// About nine instructions a round, in two warps.
const LOOP: &str = "
.visible .entry k(.param .u64 out) {
  .reg .pred %p, %q;
  .reg .b32 %i, %t, %x;
  .reg .b64 %out;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %out, %t, 4, %out;
  mov.u32 %i, 0;
  mov.u32 %x, 1;
LOOP:
  mad.lo.u32 %x, %x, 5, %t;
  and.b32 %t, %x, 7;
  setp.eq.u32 %q, %t, 0;
  @%q bra SKIP;
  add.u32 %x, %x, 3;
SKIP:
  st.global.u32 [%out], %x;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, 600000;
  @%p bra LOOP;
  ret;
}";

/// 10,000 blocks of two warps, of about 1,000 issues each; the last one comes to the label `LAST`.
/// Each warp has fewer rounds than a turn takes, so that a block ends before the next one begins.
const BLOCKS: &str = "
.visible .entry k(.param .u64 out) {
  .reg .pred %p, %q;
  .reg .b32 %i, %t, %c, %n, %x;
  .reg .b64 %out;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %c, %ctaid.x;
  mad.lo.u32 %n, %c, 64, %t;
  mad.wide.u32 %out, %n, 4, %out;
  mov.u32 %i, 0;
  mov.u32 %x, 1;
LOOP:
  mad.lo.u32 %x, %x, 5, %t;
  and.b32 %t, %x, 7;
  setp.eq.u32 %q, %t, 0;
  @%q bra SKIP;
  add.u32 %x, %x, 3;
SKIP:
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, 60;
  @%p bra LOOP;
  st.global.u32 [%out], %x;
  setp.ne.u32 %p, %c, 9999;
  @%p bra END;
LAST:
  st.global.u32 [%out], %c;
END:
  ret;
}";

/// The lines of the two texts, behind the head of a program, that are broken at.
const FIRST: &str = "break 10";
const LAST: &str = "break 30";

/// Prints a figure: what was done, and how many issues a second.
fn say(what: &str, from: Instant, issues: u64) {
    let seconds = from.elapsed().as_secs_f64();
    let rate = issues as f64 / seconds / 1e6;
    let text = format!("{what:<44} {seconds:>8.3} s {rate:>10.3} million issues a second\n");
    // Nobody is there to read it otherwise.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Runs a command, and returns the position afterwards.
fn command(session: &mut Session<'_>, text: &str) -> u64 {
    let answer = session.command(text).text;
    assert!(!answer.starts_with("error"), "{text}: {answer}");
    session.look().position()
}

fn ten_million_issues(execution: &mut Execution<'_, Engine<1>, 1>) {
    let most = 10_000_000;
    let mut debugger = Debugger::default();
    let mut session = Session::new(&mut debugger, execution);
    command(&mut session, FIRST);
    command(&mut session, "continue");
    let start = Instant::now();
    let issues = command(&mut session, &format!("rewind {most}"));
    assert_eq!(issues, most, "the kernel is as long as it is meant to be");
    say("run of ten million issues, with snapshots", start, issues);
    let (bytes, count) = session.target().recorded();
    let start = Instant::now();
    let report = session.resume(Direction::Backward).expect("back");
    assert!(report.position < 10_000, "nothing but the breakpoint stops it: {report:?}");
    say("reverse-continue over them", start, most - report.position);
    command(&mut session, "delete");
    session.goto(most).expect("there");
    let start = Instant::now();
    session.resume(Direction::Backward).expect("back");
    say("reverse-continue to the start", start, most);
    let start = Instant::now();
    command(&mut session, "rewind 5000000");
    say("rewind to the middle", start, 5_000_000);
    for (what, point) in [
        ("a condition at each round", "break 23 if issue > 500000"),
        ("a watch of memory", "watch [out]:u32 if issue > 500000"),
        ("a watch of a register", "watch %i if issue > 500000"),
    ] {
        session.goto(0).expect("back");
        command(&mut session, point);
        let start = Instant::now();
        let issues = command(&mut session, "continue");
        assert!((500_000..510_000).contains(&issues), "{point} stops at issue {issues}");
        say(what, start, issues);
        command(&mut session, "delete");
    }
    for (what, step, count) in [
        ("1000 issues, one by one", "stepi", 1000),
        ("1000 issues back, one by one", "reverse-stepi", 1000),
        ("1000 lines", "step", 1000),
        ("100 lines back", "reverse-step", 100),
    ] {
        let start = Instant::now();
        for _ in 0..count {
            command(&mut session, step);
        }
        say(what, start, count);
    }
    let mib = bytes as f64 / f64::from(1 << 20);
    let each = mib / (most as f64 / 1e6);
    let text = format!("{count} snapshots: {mib:.1} MiB, {each:.2} MiB a million issues\n");
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn to_the_last_block(execution: &mut Execution<'_, Engine<1>, 1>, engine: &str) {
    let mut debugger = Debugger::default();
    let mut session = Session::new(&mut debugger, execution);
    command(&mut session, LAST);
    let start = Instant::now();
    let issues = command(&mut session, "continue");
    assert!(issues > 9_000_000, "the kernel is as long as it is meant to be: {issues}");
    say(&format!("continue to the last block, {engine}"), start, issues);
}

fn main() {
    let mut case = Case::new(LOOP, (1, [64, 1, 1]), 256);
    case.limit = u64::MAX;
    let begin = |name: &str| case.begin(name);
    ten_million_issues(&mut case.execution(&case.kernel("ipdom", &begin)));
    let case = Case::new(BLOCKS, (10_000, [64, 1, 1]), 4 * 64 * 10_000);
    let begin = |name: &str| case.begin(name);
    for (mechanism, engine) in [("ipdom", "fast"), ("convergence-barriers", "exact")] {
        to_the_last_block(&mut case.execution(&case.kernel(mechanism, &begin)), engine);
    }
}
