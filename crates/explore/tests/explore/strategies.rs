//! A schedule that deviates nowhere is the canonical one, bit by bit, under every mechanism; one of
//! another program is refused.

use explore::{Deviation, RecordedSchedule, run_recorded};
use lab::run::Job;
use machines::{End, Unmonitored};
use vm::Choice;

use crate::common::ptx;

/// Warps and lanes that part, loop, wait at barriers and change memory by atomics.
const KERNEL: &str = "
.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 word[4];
.visible .entry k(.param .u64 out) {
  .reg .pred %p;
  .reg .b32 %t, %n, %v, %b;
  .reg .b64 %out, %at;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %b, %ctaid.x;
  mov.u32 %n, %t;
  st.shared.u32 [word], 0;
  bar.sync 0;
LOOP:
  atom.shared.add.u32 %v, [word], %n;
  setp.eq.u32 %p, %n, 0;
  @%p bra DONE;
  sub.u32 %n, %n, 1;
  bra LOOP;
DONE:
  bar.sync 0;
  mad.lo.u32 %n, %b, 48, %t;
  mad.wide.u32 %at, %n, 4, %out;
  atom.global.add.u32 %n, [%out+384], %v;
  add.u32 %v, %v, %n;
  st.global.u32 [%at], %v;
  ret;
}
";

const LAUNCH: &str = "
[buffers]
out = \"u32[97]:zeros\"
[[launch]]
kernel = \"k\"
grid = [2]
block = [48]
args = [\"&out\"]
";

fn run(mechanism: &str) -> (Job, RecordedSchedule) {
    let launch = format!("[run]\nmechanism = \"{mechanism}\"\n{LAUNCH}");
    let schedule = RecordedSchedule {
        mechanism: mechanism.to_owned(),
        warp_size: 32,
        order: None,
        deviations: Vec::new(),
    };
    (ptx(&format!("canonical-{mechanism}"), KERNEL, &launch), schedule)
}

#[test]
fn the_default_strategy_is_the_canonical_schedule() {
    for mechanism in ["ipdom", "serial", "multi-path", "convergence-barriers", "min-pc", "tf-stack"]
    {
        let (job, schedule) = run(mechanism);
        let plain = job.run(true, &mut Unmonitored).expect("begins");
        let (report, fits) = run_recorded(&job, &schedule, true, &mut Unmonitored).expect("begins");
        assert_eq!(fits, Ok(()));
        assert!(matches!(report.ends[..], [End::Done]), "{mechanism}");
        assert_eq!(report.buffers, plain.buffers, "{mechanism}");
        assert_eq!(
            report.stats.total().counts.slots,
            plain.stats.total().counts.slots,
            "{mechanism}"
        );
    }
}

#[test]
fn a_schedule_of_another_program_is_refused() {
    let (job, mut schedule) = run("serial");
    let path = |cta, thread| Choice::Path { cta, thread };
    schedule.deviations.push(Deviation {
        launch: 0,
        instead_of: path(0, 0),
        step: 1,
        choice: path(7, 0),
    });
    let (_, fits) = run_recorded(&job, &schedule, false, &mut Unmonitored).expect("begins");
    let message = fits.expect_err("there is no block 7").to_string();
    assert!(message.contains("block 7 thread 0"), "{message}");
}
