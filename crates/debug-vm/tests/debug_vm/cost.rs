//! What `continue` to a far place costs with the fast engine, and without:
//! `cargo test -p simtlab-debug-vm --release --test debug_vm -- --ignored --nocapture`.

use std::io::Write as _;
use std::time::Instant;

use debug::{Debugger, Session};

use crate::case::Case;

/// 2,000 blocks of two warps, each of which takes about 5,000 issues; the last block comes to the
/// label `LAST`.
const KERNEL: &str = "
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
  setp.lt.u32 %p, %i, 320;
  @%p bra LOOP;
  st.global.u32 [%out], %x;
  setp.ne.u32 %p, %c, 1999;
  @%p bra END;
LAST:
  st.global.u32 [%out], %c;
END:
  ret;
}";

#[test]
#[ignore = "a measurement"]
fn continue_to_the_last_block() {
    let case = Case::new(KERNEL, (2000, [64, 1, 1]), 4 * 64 * 2000);
    let begin = |name: &str| case.begin(name);
    for (mechanism, engine) in [("ipdom", "fast"), ("convergence-barriers", "exact")] {
        let kernel = case.kernel(mechanism, &begin);
        let mut execution = case.execution(&kernel);
        let mut debugger = Debugger::default();
        let mut session = Session::new(&mut debugger, &mut execution);
        let line = case.places.iter().rev().filter_map(|place| place.line).nth(1).unwrap_or(0);
        session.command(&format!("break {line}"));
        let start = Instant::now();
        session.command("continue");
        let seconds = start.elapsed().as_secs_f64();
        let (position, ahead) = (session.look().position(), session.command("info recording").text);
        let mut out = std::io::stdout();
        writeln!(out, "{engine}: issue {position} after {seconds:.2} s; {ahead}").expect("output");
        assert!(position > 9_000_000, "the kernel is as long as it is meant to be");
    }
}
