//! Copies from global to shared memory, against the exact engine: of 4, 8 and 16 bytes; of all
//! bytes, of some and of none; by all lanes, by some of them; to words of their own, and several
//! lanes to one word.

use crate::harness::{Count, at_least, with_buffers};
use ir::testing::Rng;
use std::fmt::Write as _;

/// The bytes that are read of those that are written: `%x` is random.
const COUNTS: [&str; 5] = [
    "",
    "%c = mov.b32 0",
    "%c = and.b32 %x, 1\n  %c = mul.u32 %c, SIZE",
    "%c = and.b32 %x, 3\n  %p = setp.eq.u32 %c, 0\n  %c = selp.b32 0, SIZE, %p",
    "%c = rem.u32 %x, SIZE",
];

/// Where each thread's copy goes, in units of its size.
const TARGETS: [&str; 3] =
    ["%i = and.b32 %t, 63", "%i = and.b32 %t, 7", "%i = xor.b32 %t, 21\n  %i = and.b32 %i, 63"];

/// Where it comes from.
const SOURCES: [&str; 3] =
    ["%j = and.b32 %t, 63", "%j = shr.u32 %x, 26", "%j = shr.u32 %t, 4\n  %j = and.b32 %j, 63"];

fn kernel(rng: &mut Rng) -> String {
    let mut text = String::from(
        "shared @s size 4096 align 16
kernel @k(n: u32, a: u64 global, b: u64 global) {
  reg %t, %i, %j, %c, %x, %s, %v: b32
  reg %a, %b, %at, %w: b64
  reg %p, %q: pred
entry:
  %a = ld.param.u64 [@a]
  %b = ld.param.u64 [@b]
  %t = sreg.u32 tid.x
  %s = mov.u32 @s
",
    );
    for section in 0..4 {
        let size = [4, 8, 16][rng.below(3)];
        let count = COUNTS[rng.below(COUNTS.len())].replace("SIZE", &size.to_string());
        let (target, source) = (TARGETS[rng.below(3)], SOURCES[rng.below(3)]);
        let with = if count.is_empty() { "" } else { ", %c" };
        let guard = ["", "@%q ", "@!%q "][rng.below(3)];
        let offset = 16 * rng.below(4);
        let _ = write!(
            text,
            "  %x = mad.u32 %t, 0x9e3779b1, {section}
  %x = mul.u32 %x, 0x85ebca6b
  %q = setp.lt.u32 %x, 0xa0000000
  {source}
  %at = mulwide.u32 %j, {size}
  %at = add.u64 %at, %b
  {target}
  %i = mul.u32 %i, {size}
  %i = add.u32 %i, %s
  {count}
  {guard}cpasync.shared.b{} [%i + {}], %at, {offset}{with}
",
            8 * size,
            1024 * section
        );
    }
    text.push_str(
        "  bar.sync 0
  %i = and.b32 %t, 127
  %j = mul.u32 %i, 8
  %i = add.u32 %j, %s
",
    );
    for section in 0..4 {
        let _ = write!(
            text,
            "  %w = ld.shared.u64 [%i + {}]
  %at = cvt.u64.u32 %j
  %at = add.u64 %at, %a
  st.global.u64 [%at + {}], %w
",
            1024 * section,
            1024 * section
        );
    }
    text.push_str("  ret\n}\n");
    text
}

#[test]
fn copies_to_shared_memory_are_exact() {
    let mut count = Count::default();
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let text = kernel(&mut rng);
        with_buffers(&text, &mut rng, seed, &mut count);
    }
    assert!(count.compared > at_least(200) || count.steps == 0, "{count:?}");
}
