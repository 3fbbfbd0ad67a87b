//! Accesses that launches in detail report: with few patterns, with more patterns than are kept,
//! with none; by all lanes, by some, by varying ones; with addresses that differ only in their
//! state space.

use crate::harness::{Count, with_buffers};
use ir::testing::Rng;
use std::fmt::Write;

/// The access of one round: `%k` counts up to a bound and wraps to 0, `%x` is random.
const ACCESSES: [&str; 14] = [
    // One pattern for each `%k`.
    "%f = mul.u32 %t, %k\n  %f = and.b32 %f, 255\n  %f = shl.b32 %f, 2\n  %f = add.u32 %f, %o\n  %v = ld.shared.u32 [%f]",
    "%f = mul.u32 %t, %k\n  %f = and.b32 %f, 511\n  %at = cvt.u64.u32 %f\n  %at = add.u64 %a, %at\n  %v = ld.global.u8 [%at + 1]",
    // The same with varying lanes.
    "%f = shr.u32 %t, 2\n  %f = shl.b32 %f, 3\n  %f = add.u32 %f, %o\n  @%p st.shared.u64 [%f], %w",
    "%f = shr.u32 %t, %k\n  %wide = mulwide.u32 %f, 8\n  %at = add.u64 %a, %wide\n  @%q %w = ld.global.u64 [%at]",
    // No repeated pattern.
    "%wide = mulwide.u32 %x, 4\n  %at = add.u64 %a, %wide\n  %v = ld.global.u32 [%at]",
    "%f = and.b32 %x, 255\n  %f = shl.b32 %f, 2\n  %f = add.u32 %f, %o\n  @%p %v = atom.add.shared.u32 [%f], 1",
    // One pattern in two spaces.
    "%f = xor.b32 %t, 5\n  %wide = mulwide.u32 %f, 4\n  %at = selp.b64 %s, %a, %even\n  %at = add.u64 %at, %wide\n  %v = ld.generic.u32 [%at]",
    // Affine addresses under partial masks.
    "%wide = mulwide.u32 %t, 4\n  %at = add.u64 %b, %wide\n  @%q %v = ld.global.u32 [%at]",
    "%f = shl.b32 %t, 2\n  %f = add.u32 %f, %o\n  @%p %v = ld.shared.u32 [%f]",
    // Words that lanes which vary exchange, in banks of their own or not.
    "%f = xor.b32 %t, %k\n  %f = and.b32 %f, 127\n  %f = shl.b32 %f, 2\n  %f = add.u32 %f, %o\n  @%p st.shared.u32 [%f], %x\n  @%p st.shared.u32 [%f + 512], %i",
    "%f = xor.b32 %t, %k\n  %f = shl.b32 %f, 3\n  %f = and.b32 %f, 1023\n  %f = add.u32 %f, %o\n  @%p st.shared.u32 [%f], %x",
    "%f = xor.b32 %t, %k\n  %f = and.b32 %f, 15\n  %f = shl.b32 %f, 2\n  %f = add.u32 %f, %o\n  @%p %v = ld.shared.u32 [%f]",
    // Lines under varying masks: in one sector and in others, of larger words, of one word.
    "%wide = mulwide.u32 %t, 4\n  %at = add.u64 %b, %wide\n  @%p %v = ld.global.u32 [%at + 4]\n  @%p %v = ld.global.u32 [%at + 36]\n  @%even %v = ld.global.u32 [%at + 20]\n  @%even %v = ld.global.u32 [%at + 28]\n  @!%p %v = ld.global.u32 [%at + 20]\n  @!%p %v = ld.global.u32 [%at + 32]\n  %wide = mulwide.u32 %t, 8\n  %at = add.u64 %b, %wide\n  @%p %w = ld.global.u64 [%at]",
    "@%p %v = ld.global.u32 [%a + 20]\n  @%p %v = atom.add.global.u32 [%b + 64], 1\n  @%p %v = atom.add.shared.u32 [%o + 8], 1\n  @!%p %v = ld.shared.u32 [%o]\n  @!%p %w = ld.global.u64 [%a + 24]",
];

fn kernel(rng: &mut Rng, accesses: &[&str]) -> String {
    let mut text = "shared @s size 4096 align 16
kernel @k(n: u32, a: u64 global, b: u64 global) {
  reg %t, %g, %o, %i, %k, %x, %f, %v, %sum: b32
  reg %p, %q, %even, %more: pred
  reg %a, %b, %s, %at, %wide, %w: b64
entry:
  %a = ld.param.u64 [@a]
  %b = ld.param.u64 [@b]
  %o = mov.u32 @s
  %s = cvt.u64.u32 %o
  %s = cvta.shared.u64 %s
  %t = sreg.u32 tid.x
  %g = sreg.u32 ctaid.x
  %i = mov.b32 0
  %k = mov.b32 0
  %sum = mov.b32 0
  %w = mov.b64 7
loop:
  %x = mad.u32 %t, 0x9e3779b1, %i
  %x = mul.u32 %x, 0x85ebca6b
  %x = shr.u32 %x, 20
  %x = and.b32 %x, 1023
  %f = and.b32 %x, 8
  %p = setp.ne.u32 %f, 0
  %q = setp.gt.u32 %t, %k
  %f = and.b32 %i, 1
  %even = setp.eq.u32 %f, 0
"
    .to_owned();
    for access in accesses {
        let _ = writeln!(text, "  {access}\n  %sum = mad.u32 %sum, 5, %v");
    }
    let (rounds, patterns) = (100 + rng.below(300), [1, 3, 7, 12][rng.below(4)]);
    let _ = write!(
        text,
        "  %k = add.u32 %k, 1
  %more = setp.ge.u32 %k, {patterns}
  %k = selp.b32 0, %k, %more
  %i = add.u32 %i, 1
  %more = setp.lt.u32 %i, {rounds}
  @%more br loop
done:
  %f = mad.u32 %g, 128, %t
  %f = and.b32 %f, 1023
  %wide = mulwide.u32 %f, 4
  %at = add.u64 %b, %wide
  st.global.u32 [%at], %sum
  ret
}}
"
    );
    text
}

#[test]
fn reported_accesses_equal_the_exact_engines() {
    let mut count = Count::default();
    for seed in 0..26 {
        let mut rng = Rng::new(seed);
        let count_of = 4 + rng.below(6);
        let any: Vec<&str> = (0..count_of).map(|_| ACCESSES[rng.below(ACCESSES.len())]).collect();
        let one = [ACCESSES[seed as usize % ACCESSES.len()]];
        let text = kernel(&mut rng, if seed % 2 == 0 { &one } else { &any });
        with_buffers(&text, &mut rng, seed, &mut count);
    }
    assert!(count.compared > 90 || count.steps == 0, "{count:?}");
}
