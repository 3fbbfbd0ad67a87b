//! Barriers of a number of threads, against the exact engine: rings of stages that some warps fill
//! and others read, each stage with a barrier for what is full and one for what is empty.

use crate::asynchronous::compare;
use crate::harness::Count;
use ir::testing::Rng;

struct Shape {
    producers: usize,
    consumers: usize,
    /// Threads that the last warp of the consumers lacks.
    absent: usize,
    stages: usize,
    rounds: usize,
    /// Whether registers hold numbers of barriers and counts.
    registers: bool,
}

impl Shape {
    fn new(rng: &mut Rng) -> Self {
        Self {
            producers: 1 + rng.below(3),
            consumers: 1 + rng.below(4),
            absent: if rng.one_in(2) { rng.below(32) } else { 0 },
            stages: 1 + rng.below(3),
            rounds: 1 + rng.below(6),
            registers: rng.one_in(2),
        }
    }

    fn threads(&self) -> usize {
        32 * (self.producers + self.consumers) - self.absent
    }

    /// An arrival at the barrier of stage `%s`, which is one of a list of instructions where the
    /// number is a constant.
    fn barrier(&self, label: &str, how: &str, first: usize) -> String {
        let count = 32 * (self.producers + self.consumers);
        if self.registers {
            return format!(
                "  add.u32 %id, %s, {first};
  mov.u32 %count, {count};
  bar.{how} %id, %count;
"
            );
        }
        let stage = |s: usize| {
            format!(
                "  setp.ne.u32 %q, %s, {s};
  @%q bra.uni {label}{s};
  bar.{how} {}, {count};
{label}{s}:
",
                first + s
            )
        };
        (0..self.stages).map(stage).collect()
    }
}

fn kernel(shape: &Shape, rng: &mut Rng) -> String {
    let (empty, full) = (1, 1 + shape.stages);
    let (filled, stages, rounds) = (32 * shape.producers, shape.stages, shape.rounds);
    let begin = if rng.one_in(2) { "  bar.sync 0;\n" } else { "" };
    let meet = format!("  bar.sync 15, {};\n", 32 * shape.consumers);
    format!(
        ".version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 n, .param .u64 a, .param .u64 b) {{
  .reg .pred %p, %q;
  .reg .b32 %t, %r, %s, %id, %count, %at, %x, %sum;
  .reg .b64 %a, %to;
  .shared .align 4 .b32 ring[{words}];
  .shared .align 4 .b32 sums[256];
  mov.u32 %t, %tid.x;
  mov.u32 %r, 0;
{begin}  setp.ge.u32 %p, %t, {filled};
  @%p bra.uni consume;
fill:
  rem.u32 %s, %r, {stages};
{wait_empty}  mad.lo.u32 %at, %s, {filled}, %t;
  shl.b32 %at, %at, 2;
  mad.lo.u32 %x, %r, 1000, %t;
  mov.u32 %id, ring;
  add.u32 %at, %at, %id;
  st.shared.u32 [%at], %x;
{tell_full}  add.u32 %r, %r, 1;
  setp.lt.u32 %p, %r, {rounds};
  @%p bra.uni fill;
  bra.uni done;
consume:
  mov.u32 %sum, 0;
  mov.u32 %s, 0;
begun:
{first_empty}  add.u32 %s, %s, 1;
  setp.lt.u32 %p, %s, {stages};
  @%p bra.uni begun;
next:
  rem.u32 %s, %r, {stages};
{wait_full}  mad.lo.u32 %x, %t, 7, %r;
  rem.u32 %x, %x, {filled};
  mad.lo.u32 %at, %s, {filled}, %x;
  shl.b32 %at, %at, 2;
  mov.u32 %id, ring;
  add.u32 %at, %at, %id;
  ld.shared.u32 %x, [%at];
  mad.lo.u32 %sum, %sum, 3, %x;
{tell_empty}  add.u32 %r, %r, 1;
  setp.lt.u32 %p, %r, {rounds};
  @%p bra.uni next;
  sub.u32 %s, %t, {filled};
  mov.u32 %id, sums;
  mad.lo.u32 %at, %s, 4, %id;
  st.shared.u32 [%at], %sum;
{meet}  add.u32 %s, %s, 11;
  rem.u32 %s, %s, {readers};
  mad.lo.u32 %at, %s, 4, %id;
  ld.shared.u32 %x, [%at];
  xor.b32 %sum, %sum, %x;
  ld.param.u64 %a, [a];
  mov.u32 %x, %ctaid.x;
  mad.lo.u32 %x, %x, 256, %t;
  mul.wide.u32 %to, %x, 4;
  add.u64 %a, %a, %to;
  st.global.u32 [%a], %sum;
done:
  ret;
}}
",
        words = stages * filled,
        wait_empty = shape.barrier("e", "sync", empty),
        tell_full = shape.barrier("f", "arrive", full),
        first_empty = shape.barrier("g", "arrive", empty),
        wait_full = shape.barrier("h", "sync", full),
        tell_empty = shape.barrier("i", "arrive", empty),
        readers = shape.threads() - filled,
    )
}

#[test]
fn barriers_of_some_threads_are_exact() {
    let mut count = Count::default();
    for seed in 0..24 {
        let mut rng = Rng::new(seed);
        let shape = Shape::new(&mut rng);
        let text = kernel(&shape, &mut rng);
        let same = compare(&text, shape.threads(), &mut rng, &mut count);
        same.unwrap_or_else(|what| panic!("{what}\n{text}"));
    }
    assert!(count.refused == 0 && count.stopped == 0 && count.compared > 0, "{count:?}");
}

/// A kernel whose text follows the loading of `%t` and `%a`, and that stores `%x`.
fn small(body: &str) -> String {
    format!(
        ".version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 n, .param .u64 a, .param .u64 b) {{
  .reg .pred %p, %q;
  .reg .b32 %t, %x, %id;
  .reg .b64 %a, %to;
  .shared .align 4 .b32 words[128];
  mov.u32 %t, %tid.x;
  ld.param.u64 %a, [a];
  mul.wide.u32 %to, %t, 4;
  add.u64 %a, %a, %to;
  mov.u32 %x, 0;
{body}  st.global.u32 [%a], %x;
  ret;
}}
"
    )
}

/// The exact engine alone runs barriers at which warps do not arrive whole and alike: launches are
/// declined before anything else than its result is there.
#[test]
fn arrivals_of_parts_of_warps_are_left_to_the_exact_engine() {
    const APART: &str = "lanes of a warp are at a barrier of some threads";
    let halves = "  and.b32 %x, %t, 1;
  setp.ne.u32 %p, %x, 0;
  @%p bra on;
  bar.sync 1, 32;
on:
";
    let ended = "  setp.eq.u32 %p, %t, 5;\n  @%p ret;\n  bar.sync 1, 64;\n";
    let by_register = "  add.u32 %id, %t, 1;
  sub.u32 %id, %id, %t;
  bar.sync %id, 64;
  bar.sync 1;
";
    let several = "  and.b32 %id, %t, 32;\n  shr.u32 %id, %id, 5;\n  add.u32 %id, %id, %t;
  and.b32 %id, %id, 1;\n  bar.sync %id, 32;\n";
    let counts = "  setp.ge.u32 %p, %t, 32;
  @%p bra.uni high;
  bar.arrive 1, 64;
  bra.uni on;
high:
  bar.sync 1, 32;
on:
";
    for (body, reason) in [
        (halves, APART),
        (ended, APART),
        (by_register, "a barrier of some threads is not defined"),
        (several, APART),
        (counts, "a barrier has several counts of threads"),
    ] {
        let mut count = Count::default();
        let ran = compare(&small(body), 64, &mut Rng::new(1), &mut count);
        let what = ran.expect_err(body);
        assert!(what.contains(reason) && count.compared == 0, "{what}\n{body}");
    }
}
