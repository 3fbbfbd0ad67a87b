//! Clocks, against the exact engine: in branches of some lanes, in loops, beside barriers, under
//! guards, behind calls; and loops that wait for one.

use crate::harness::{Count, common, compare_tiers};
use ir::testing::Rng;
use std::fmt::Write as _;

/// Parts of a kernel; `N` is a number of its own.
const PARTS: [&str; 9] = [
    "  %c = sreg.u64 clock64\n",
    "  %d = sreg.u32 clock\n  %e = sreg.u32 clock_hi\n  %d = sub.u32 %d, %e\n",
    "  @%p br oneN\n  %c = sreg.u64 clock64\n  %d = add.u32 %d, 3\n  br twoN
oneN:\n  %d = mul.u32 %d, 5\n  %c = sreg.u64 clock64\ntwoN:\n",
    "  %j = and.b32 %t, 7\nloopN:\n  %d = sreg.u32 clock\n  %a = xor.b32 %a, %d
  %j = sub.u32 %j, 1\n  %q = setp.gt.s32 %j, 0\n  @%q br loopN\n",
    "  %c = sreg.u64 globaltimer\n  bar.sync 0\n  %d = sreg.u32 globaltimer_lo\n",
    "  bar.sync 0\n  %d = add.u32 %d, 1\n  bar.sync 0\n  %c = sreg.u64 clock64\n",
    "  @%p %d = sreg.u32 clock\n  @!%p %c = sreg.u64 clock64\n",
    "  %d = call @timed(%d)\n  %e = sreg.u32 clock\n  %d = add.u32 %d, %e\n",
    "  %c = sreg.u64 clock64\nwaitN:\n  %w = sreg.u64 clock64\n  %w = sub.u64 %w, %c
  %q = setp.lt.u64 %w, 300\n  @%q br waitN\n",
];

fn kernel(rng: &mut Rng) -> String {
    let mut text = String::from(
        "kernel @k(n: u32, a: u64 global, b: u64 global) {
  reg %t, %i, %j, %d, %e, %a: b32
  reg %to, %c, %w: b64
  reg %p, %q: pred
entry:
  %to = ld.param.u64 [@b]
  %t = sreg.u32 tid.x
  %i = sreg.u32 tid.y
  %t = mad.u32 %i, 16, %t
  %i = sreg.u32 ctaid.x
  %j = mad.u32 %i, 31, %t
  %j = and.b32 %j, 3
  %p = setp.eq.u32 %j, 1
",
    );
    for number in 0..1 + rng.below(6) {
        let part = PARTS[rng.below(PARTS.len())].replace('N', &number.to_string());
        let _ = write!(
            text,
            "{part}  %e = cvt.u32.u64 %c\n  %a = mad.u32 %a, 31, %d\n  %a = mad.u32 %a, 31, %e\n"
        );
    }
    let own = ["and.b32 %i, 63", "mov.b32 0"][rng.below(2)];
    let _ = write!(
        text,
        "  %i = {own}
  %i = mad.u32 %i, 8, %t
  %i = and.b32 %i, 511
  %w = mulwide.u32 %i, 4
  %to = add.u64 %to, %w
  st.global.u32 [%to], %a
  ret
}}
func @timed(%x: b32) -> (%r: b32) {{
  reg %y: b32
entry:
  %y = sreg.u32 clock
  %r = add.u32 %x, %y
  ret
}}
"
    );
    text
}

#[test]
fn the_clock_is_exact() {
    let mut count = Count::default();
    for seed in 0..120 {
        let mut rng = Rng::new(seed);
        let text = kernel(&mut rng);
        let mut compare = |program: &_, launch: &_| compare_tiers(program, launch, &mut count);
        common::launches::with_buffers(&text, &mut rng, seed, &mut compare);
    }
    assert!(count.compared > 700 || count.steps == 0, "{count:?}");
    assert!(count.parallel > 0 || count.steps == 0, "{count:?}");
}
