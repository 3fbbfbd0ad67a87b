//! Every atomic operation on every type that it has, against the exact engine: in global and shared
//! memory and by generic addresses; with a result and without one; by all lanes of several warps,
//! by some of them, by one; on one word and on many.

use crate::harness::{Count, with_buffers};
use ir::testing::Rng;
use std::fmt::Write as _;

/// Operations and their types, by the width of the values.
const FORMS: [(&str, &str); 12] = [
    ("add", "u32 s32 f32 f16x2 bf16x2 u64 s64 f64 f16 bf16"),
    ("min", "u32 s32 f16x2 bf16x2 u64 s64 f16 bf16"),
    ("max", "u32 s32 f16x2 bf16x2 u64 s64 f16 bf16"),
    ("and", "b32 b64"),
    ("or", "b32 b64"),
    ("xor", "b32 b64"),
    ("exch", "b32 b64 b16"),
    ("cas", "b32 b64 b16"),
    ("inc", "u32"),
    ("dec", "u32"),
    // Additions of uniform operands.
    ("add", "uniform-f32 uniform-u32"),
    ("add", "uniform-f64 uniform-u64"),
];

/// The active lanes: in a guarded step, or in one side of a branch.
const LANES: [(&str, &str); 6] = [
    ("all", ""),
    ("most", "%p = setp.ne.u32 %lane, 5"),
    ("one", "%p = setp.eq.u32 %lane, 17"),
    ("few", "%p = setp.lt.u32 %x, 0x40000000"),
    ("side", "%p = setp.lt.u32 %lane, 9"),
    ("word", "%p = setp.gt.u32 %n, 100"),
];

fn bytes(ty: &str) -> u32 {
    match ty {
        "f16" | "bf16" | "b16" => 2,
        "u64" | "s64" | "f64" | "b64" => 8,
        _ => 4,
    }
}

/// Returns a kernel with one operation on words of a space, by all these sets of lanes, each on
/// words of its own. Results are summed up.
fn kernel(space: &str, op: &str, ty: &str) -> String {
    let (uniform, ty) = match ty.strip_prefix("uniform-") {
        Some(ty) => (true, ty),
        None => (false, ty),
    };
    let size = bytes(ty);
    let register = match (size, uniform) {
        (_, true) if size == 8 => ["%v", "%ul", "%ul"],
        (_, true) => ["%y", "%n", "%n"],
        (2, _) => ["%k", "%h", "%g"],
        (8, _) => ["%v", "%w", "%z"],
        _ => ["%y", "%x", "%f"],
    };
    let [result, first, second] = register;
    let operands = if op == "cas" { format!("{first}, {second}") } else { first.to_owned() };
    let mut text = String::from(
        "shared @s size 4096 align 16
kernel @k(n: u32, a: u64 global, b: u64 global) {
  reg %t, %n, %x, %y, %f, %i, %s, %lane, %sum: b32
  reg %a, %b, %at, %own, %v, %w, %z, %ul: b64
  reg %h, %g, %k: b16
  reg %p: pred
entry:
  %n = ld.param.u32 [@n]
  %a = ld.param.u64 [@a]
  %b = ld.param.u64 [@b]
  %lane = sreg.u32 laneid
  %t = sreg.u32 tid.x
  %i = sreg.u32 tid.y
  %t = mad.u32 %i, 32, %t
  %i = and.b32 %t, 255
  %own = mulwide.u32 %i, 16
  %at = add.u64 %b, %own
  %x, %f = ld.global.u32 [%at]
  %w, %z = ld.global.u64 [%at]
  %h = cvt.u16.u32 %x
  %g = cvt.u16.u32 %f
  %ul = ld.global.u64 [%b]
  %n = add.u32 %n, 98
  %own = add.u64 %own, %a
  %s = mov.u32 @s
",
    );
    let mut section = 0;
    for many in [false, true] {
        for (lanes, condition) in LANES {
            for with_result in [false, true] {
                let _ = writeln!(text, "  {condition}");
                // One word for all lanes, or eight neighbouring ones.
                let _ = match many {
                    true => writeln!(text, "  %i = and.b32 %t, 7\n  %i = mul.u32 %i, {size}"),
                    false => writeln!(text, "  %i = mov.u32 0"),
                };
                let at = if space == "shared" {
                    let _ = writeln!(text, "  %i = add.u32 %i, %s");
                    "%i"
                } else if many && space == "global" {
                    // Numbers below 0, from behind the words.
                    let _ = writeln!(text, "  %i = sub.u32 %i, {}", 8 * size);
                    text.push_str("  %at = cvt.s64.s32 %i\n  %at = add.u64 %at, %b\n");
                    "%at"
                } else {
                    let _ = writeln!(text, "  %at = cvt.u64.u32 %i\n  %at = add.u64 %at, %b");
                    "%at"
                };
                let to = if with_result { result } else { "_" };
                let guard = if matches!(lanes, "all" | "side") { "" } else { "@%p " };
                if lanes == "side" {
                    let _ = writeln!(text, "  @!%p br past{section}\non{section}:");
                }
                let behind = if many && space == "global" { 8 * size } else { 0 };
                let offset = 64 * section + behind;
                let _ = writeln!(
                    text,
                    "  {guard}{to} = atom.{op}.{space}.{ty} [{at} + {offset}], {operands}"
                );
                if lanes == "side" {
                    let _ = writeln!(text, "past{section}:");
                }
                if with_result {
                    let _ = match result {
                        "%v" => writeln!(text, "  %f = cvt.u32.u64 %v"),
                        "%k" => writeln!(text, "  %f = cvt.u32.u16 %k"),
                        _ => writeln!(text, "  %f = mov.b32 %y"),
                    };
                    text.push_str("  %sum = mad.u32 %sum, 31, %f\n");
                }
                section += 1;
            }
        }
    }
    text.push_str("  bar.sync 0\n");
    if space == "shared" {
        // Reads the words, as earlier blocks have left them.
        text.push_str(
            "  %i = and.b32 %t, 255
  %i = mul.u32 %i, 16
  %i = add.u32 %i, %s
  %w, %z = ld.shared.u64 [%i]
  %i = and.b32 %t, 255
  %at = mulwide.u32 %i, 16
  %at = add.u64 %at, %a
  st.global.u64 [%at + 4096], %w, %z
",
        );
    }
    text.push_str("  st.global.u32 [%own], %sum\n  ret\n}\n");
    text
}

/// `ONLY=add.f` runs some of them.
#[test]
fn atomics_of_all_types_are_exact() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut count = Count::default();
    let mut rng = Rng::new(7);
    // Blocks of 32 threads, of 70 threads, and of two dimensions.
    let mut seeds = [1, 2, 3].into_iter().cycle();
    for (op, types) in FORMS {
        for ty in types.split(' ') {
            for space in ["global", "shared", "generic"] {
                let seed = seeds.next().unwrap_or(1);
                if !format!("{op}.{ty}").starts_with(&only) {
                    continue;
                }
                with_buffers(&kernel(space, op, ty), &mut rng, seed, &mut count);
            }
            seeds.next();
        }
    }
    let expected = if only.is_empty() { 500 } else { 1 };
    assert!(count.compared > expected || count.steps == 0, "{count:?}");
}
