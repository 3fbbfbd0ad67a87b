//! What debugging costs:
//! `cargo test -p simtlab-debug --release --test debug -- --ignored --nocapture`.

use std::io::Write as _;
use std::time::Instant;

use debug::{Debugger, Direction, Session};

use crate::common::case;

/// A loop of so many rounds, about ten instructions each, in two warps.
const KERNEL: &str = "\
.version 8.0
.target sm_80
.address_size 64
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
  setp.lt.u32 %p, %i, 560000;
  @%p bra LOOP;
  ret;
}
";

#[test]
#[ignore = "a measurement"]
fn ten_million_issues() {
    let case = case(KERNEL, "ipdom", (1, [64, 1, 1], 32), 256);
    let mut execution = case.execution();
    let mut debugger = Debugger::default();
    let mut session = Session::new(&mut debugger, &mut execution);
    let mut out = std::io::stdout();
    let mut say = |what: &str, from: Instant, issues: u64| {
        let seconds = from.elapsed().as_secs_f64();
        let rate = issues as f64 / seconds / 1e6;
        writeln!(out, "{what}: {seconds:.2} s, {rate:.2} million issues a second").expect("output");
    };
    // The tenth line of the text is reached once.
    session.command("break 10");
    let start = Instant::now();
    session.command("continue");
    session.command("rewind 10000000");
    let issues = session.look().position();
    assert_eq!(issues, 10_000_000, "the kernel is as long as it is meant to be");
    say("replay of all, with snapshots", start, issues);
    let (bytes, count) = session.target().recorded();
    let start = Instant::now();
    let report = session.resume(Direction::Backward).expect("back");
    say(&format!("reverse-continue to issue {}", report.position), start, issues);
    session.command("delete");
    session.command("break 23 if issue == 100000");
    session.goto(0).expect("back");
    let start = Instant::now();
    session.command("continue");
    say("a condition at each round", start, session.look().position());
    let start = Instant::now();
    for _ in 0..1000 {
        session.command("stepi");
    }
    say("1000 steps", start, 1000);
    let start = Instant::now();
    for _ in 0..100 {
        session.command("reverse-stepi");
    }
    say("100 steps back", start, 100);
    let mib = bytes as f64 / (1 << 20) as f64;
    let each = mib / (issues as f64 / 1e6);
    writeln!(out, "{count} snapshots, {mib:.1} MiB, {each:.2} MiB a million issues")
        .expect("output");
}
