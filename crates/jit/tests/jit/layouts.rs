//! Accesses whose addresses follow patterns: contiguous, the same, permuted within one vector or
//! two, two lanes on one word, far apart. Each pattern comes several times in a row, so that code
//! learns it; words are of all sizes, single ones and vectors; lanes are all active, or some.

use crate::harness::common::launches;
use crate::harness::{Count, at_least, compare, levels, per_level};
use ir::FuncId;
use jit::{Compiled, Refused};
use simt::machine::Machine;
use vm::Engine;

/// The number of the element of a lane, from `%t`, the number of the round `%i`, and free `%z`.
const PATTERNS: [&str; 12] = [
    "mov.b32 %n, %t;",
    "xor.b32 %n, %t, 5;",
    "xor.b32 %n, %t, 19;",
    "shl.b32 %n, %t, 1; and.b32 %n, %n, 63;",
    "sub.u32 %n, 63, %t;",
    "shr.u32 %n, %t, 1;",
    "and.b32 %n, %t, 48;",
    "mul.lo.u32 %n, %t, 7; and.b32 %n, %n, 63;",
    "and.b32 %n, %t, 15; and.b32 %z, %t, 16; mad.lo.u32 %n, %z, 3, %n;",
    "add.u32 %n, %t, %i; and.b32 %n, %n, 63;",
    "and.b32 %z, %t, 3; mad.lo.u32 %n, %z, 16, 2;",
    "mov.b32 %n, 9;",
];

/// Types of words, their registers, and the bytes of an element.
const WORDS: [(&str, &str, u32); 13] = [
    ("u8", "%h0", 1),
    ("s16", "%r0", 2),
    ("u32", "%r0", 4),
    ("b64", "%d0", 8),
    ("v2.u8", "{%h0, %h1}", 2),
    ("v4.u16", "{%h0, %h1, %h2, %h3}", 8),
    ("v2.u32", "{%r0, %r1}", 8),
    ("v4.u32", "{%r0, %r1, %r2, %r3}", 16),
    ("v2.b64", "{%d0, %d1}", 16),
    ("v4.b64", "{%d0, %d1, %d2, %d3}", 32),
    ("v8.b32", "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}", 32),
    ("v4.u32", "{%r0, _, %r1, _}", 16),
    ("v2.b64", "{_, %d0}", 16),
];

/// Loads elements by one pattern and stores them by another, in global and in shared memory; each
/// access has a guard, or a branch goes around all of them.
fn kernel(
    (load, store): (&str, &str),
    (ty, words, bytes): (&str, &str, u32),
    guard: &str,
    branches: bool,
) -> String {
    let all = words.replace('_', if words.contains("%d") { "%d0" } else { "%r0" });
    let text = format!(
        ".version 8.8
.target sm_100
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b) {{
  .reg .pred %p, %q;
  .reg .b16 %h<4>;
  .reg .b32 %r<8>, %t, %i, %n, %z, %s;
  .reg .b64 %d<4>, %a, %b, %from, %to;
  .shared .align 32 .b8 room[2176];
  ld.param.u64 %a, [a];
  ld.param.u64 %b, [b];
  mov.u32 %t, %tid.x;
  mov.u32 %i, 0;
round:
  {guard}
  {load}
  mad.wide.u32 %from, %n, {bytes}, %a;
  mov.u32 %z, room;
  mad.lo.u32 %s, %n, {bytes}, %z;
  @%p ld.global.{ty} {words}, [%from];
  @%p st.shared.{ty} [%s], {all};
  {store}
  mad.wide.u32 %to, %n, {bytes}, %b;
  mov.u32 %z, room;
  mad.lo.u32 %s, %n, {bytes}, %z;
  @%p st.global.{ty} [%to], {all};
  @%p ld.shared.{ty} {words}, [%s+64];
  @%p st.global.{ty} [%to+4096], {all};
  @%p ld.shared.{ty} {words}, [%s];
  @%p st.global.{ty} [%to+2048], {all};
  add.u32 %i, %i, 1;
  setp.lt.u32 %q, %i, 4;
  @%q bra round;
  ret;
}}
"
    )
    .replace(".s16 [", ".u16 [");
    if !branches {
        return text;
    }
    text.replace("@%p ", "")
        .replace("  mad.wide.u32 %from,", "  @!%p bra next;\n  mad.wide.u32 %from,")
        .replace("  add.u32 %i, %i, 1;", "next:\n  add.u32 %i, %i, 1;")
}

/// Compares a kernel with two buffers on all engines.
fn end_the_same(text: &str, count: &mut Count) {
    let (tree, found) = ptx::parse(isa::FileId::default(), text);
    assert!(!found.has_errors(), "{text}\n{:#?}", found.iter().collect::<Vec<_>>());
    let (module, found) = ptx::lower(&tree, ptx::Select::All);
    let Some(module) = module.filter(|_| !found.has_errors()) else {
        panic!("{text}\n{:#?}", found.iter().collect::<Vec<_>>());
    };
    let (program, mut launch) = launches::launch(&module, FuncId(0), 0);
    (launch.grid, launch.block) = ([1, 1, 1], [64, 1, 1]);
    launch.params.clear();
    for factor in [37u32, 0] {
        let buffer = launch.memory.allocate("buffer", 6144).expect("room");
        let content: Vec<u8> =
            (0..6144u32).map(|byte| ((byte * byte * factor) >> 5) as u8).collect();
        launch.memory.host_write(buffer, &content).expect("it is there");
        launch.params.extend(buffer.0.to_le_bytes());
    }
    compare(&program, &launch, count).unwrap_or_else(|what| panic!("{what}\n{text}"));
    let state = Engine::<1>.launch(&program, launch).expect("it launches");
    for level in levels() {
        let kernel = fast::prepare(&program, &state, true).expect("it is decoded");
        match Compiled::at(kernel, level, false) {
            Ok(_) | Err((_, Refused::Host)) => {}
            Err((_, refused)) => panic!("{level}: {refused}\n{text}"),
        }
    }
}

#[test]
fn words_are_the_same_by_layouts_and_one_by_one() {
    let mut count = Count::default();
    let guards = [
        // All lanes, then even ones.
        "shr.u32 %z, %i, 1; and.b32 %z, %z, %t; setp.eq.u32 %p, %z, 0;",
        "setp.ge.u32 %p, %t, 3;",
        "and.b32 %z, %t, 5; setp.ne.u32 %p, %z, 4;",
    ];
    for (number, &words) in WORDS.iter().enumerate() {
        // Single words of 32 bits are also permuted: all guards.
        let all = if words.0 == "u32" { guards.len() } else { 1 };
        for (pattern, of) in (0..PATTERNS.len()).flat_map(|p| (0..all).map(move |g| (p, g))) {
            let load = PATTERNS[pattern];
            let store = PATTERNS[(pattern + number) % PATTERNS.len()];
            let guard = guards[(pattern + 2 * number + of) % guards.len()];
            let text = kernel((load, store), words, guard, (pattern + of) % 2 == 0);
            end_the_same(&text, &mut count);
        }
    }
    assert!(count.compared > 100 || count.steps == 0, "{count:?}");
}

/// Layouts that change every eight rounds and come again, and exchange pairs of lanes, perhaps only
/// of those that the guard lets run.
#[test]
fn layouts_come_again() {
    let mut count = Count::default();
    // `%z` becomes a number that changes every eight rounds.
    let slow = "shr.u32 %z, %i, 3; and.b32 %z, %z, 3;";
    let rows = [
        format!("{slow} mul.lo.u32 %z, %z, 5; xor.b32 %n, %t, %z;"),
        format!("{slow} mul.lo.u32 %z, %z, 11; xor.b32 %n, %t, %z;"),
        format!(
            "{slow} mov.b32 %n, %t; bfe.u32 %s, %t, 1, 2; setp.eq.u32 %q, %s, %z; \
             @%q xor.b32 %n, %t, 1;"
        ),
        format!(
            "{slow} add.u32 %z, %z, 2; mov.b32 %n, %t; bfe.u32 %s, %t, 2, 3; \
             setp.eq.u32 %q, %s, %z; @%q xor.b32 %n, %t, 1;"
        ),
        "setp.lt.u32 %q, %i, 16; selp.b32 %z, 1, 2, %q; mul.lo.u32 %n, %t, %z; \
         and.b32 %n, %n, 63;"
            .to_owned(),
    ];
    let guards = [
        "setp.ge.u32 %p, %t, 0;".to_owned(),
        format!("{slow} bfe.u32 %n, %t, 1, 2; setp.eq.u32 %p, %n, %z;"),
        "mad.lo.u32 %z, %i, 7, %t; and.b32 %z, %z, 5; setp.ne.u32 %p, %z, 4;".to_owned(),
        format!("{slow} add.u32 %z, %z, 2; bfe.u32 %n, %t, 2, 3; setp.eq.u32 %p, %n, %z;"),
    ];
    for words in [WORDS[2], WORDS[3]] {
        for (number, row) in rows.iter().enumerate() {
            for (guard_number, guard) in guards.iter().enumerate() {
                let store = &rows[(number + guard_number) % rows.len()];
                let branches = (number + guard_number) % 2 == 0;
                let text = kernel((row, store), words, guard, branches);
                end_the_same(&text.replace("%q, %i, 4;", "%q, %i, 40;"), &mut count);
            }
        }
    }
    assert!(count.compared > 100 || count.steps == 0, "{count:?}");
}

/// Accesses to words of one size at one base and one row of numbers, which are counted in units of
/// the word, with their signs or without, and in units of two words.
#[test]
fn numbers_in_other_units_are_located_apart() {
    let mut count = Count::default();
    for pattern in PATTERNS {
        let text = format!(
            ".version 8.8
.target sm_100
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b) {{
  .reg .b32 %r<4>, %t, %i, %n, %z;
  .reg .pred %p;
  .reg .b64 %a, %b, %one, %signed, %two, %to;
  ld.param.u64 %a, [a];
  ld.param.u64 %b, [b];
  mov.u32 %t, %tid.x;
  mov.u32 %i, 0;
round:
  {pattern}
  mad.wide.u32 %one, %n, 4, %a;
  mad.wide.s32 %signed, %n, 4, %a;
  mad.wide.u32 %two, %n, 8, %a;
  ld.global.u32 %r0, [%one];
  ld.global.u32 %r1, [%signed];
  ld.global.u32 %r2, [%two];
  mad.lo.u32 %r0, %r0, 5, %r1;
  mad.lo.u32 %r0, %r0, 5, %r2;
  mad.wide.u32 %to, %t, 4, %b;
  st.global.u32 [%to], %r0;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, 4;
  @%p bra round;
  ret;
}}
"
        );
        end_the_same(&text, &mut count);
    }
    assert!(count.compared > per_level(50) || count.steps == 0, "{count:?}");
}

/// A misaligned access at the row of addresses of aligned ones, of which one is by no lane.
#[test]
fn words_are_located_with_others_aligned_alike() {
    let mut count = Count::default();
    for (bytes, ty, value) in [
        (2, "u16", "%h"),
        (4, "u32", "%r0"),
        (8, "v2.u32", "{%r0, %r1}"),
        (16, "v4.u32", "{%r0, %r1, %r2, %r3}"),
    ] {
        for at in ["shared.TYPE VALUE, [%s", "global.TYPE VALUE, [%to"] {
            let load = at.replace("TYPE", ty).replace("VALUE", value);
            let (near, far) = (bytes / 2, 3 * bytes + bytes / 2);
            for work in [
                format!("@%p ld.{load}]; ld.{load}+{far}];"),
                format!("ld.{load}]; ld.{load}+{bytes}]; ld.{load}+{near}];"),
            ] {
                let text = format!(
                    ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b) {{
  .reg .pred %p;
  .reg .b16 %h;
  .reg .b32 %r<4>, %t, %n, %s;
  .reg .b64 %a, %b, %to;
  .shared .align 16 .b8 room[2560];
  ld.param.u64 %a, [a];
  ld.param.u64 %b, [b];
  mov.u32 %t, %tid.x;
  mul.lo.u32 %n, %t, {bytes};
  mov.u32 %s, room;
  add.u32 %s, %s, %n;
  cvt.u64.u32 %to, %n;
  add.u64 %to, %to, %a;
  setp.eq.u32 %p, %t, 99;
  {work}
  mad.wide.u32 %to, %t, 4, %b;
  st.global.u32 [%to], %r0;
  ret;
}}
"
                );
                end_the_same(&text, &mut count);
            }
        }
    }
    assert!(count.compared == 0 && count.stopped > 40 || count.steps == 0, "{count:?}");
}

/// One lane's address is out of bounds or misaligned in a later round, with a layout or without.
#[test]
fn accesses_that_fail_are_found_in_each_lane() {
    let mut count = Count::default();
    let accesses = [
        "add.u32 %s, %s, %n; ld.shared.u32 %r, [%s];",
        "add.u32 %s, %s, %n; st.shared.u32 [%s], %t;",
        "cvt.u64.u32 %to, %n; add.u64 %to, %a, %to; ld.global.u32 %r, [%to];",
        "cvt.s64.s32 %to, %n; add.u64 %to, %a, %to; st.global.u32 [%to], %t;",
        "cvt.s64.s32 %to, %n; add.u64 %to, %a, %to; st.global.u64 [%to], %a;",
    ];
    for (number, access) in accesses.iter().enumerate() {
        for (lane, wrong) in [(0, 2), (9, 1 << 20), (18, 2), (31, -(1 << 20)), (26, 4092)] {
            let by = [4, 8, 40][(number + lane) % 3];
            let text = format!(
                ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b) {{
  .reg .pred %p, %q;
  .reg .b32 %r, %t, %i, %n, %s;
  .reg .b64 %a, %to;
  .shared .align 8 .b8 room[2560];
  ld.param.u64 %a, [a];
  mov.u32 %t, %tid.x;
  mov.u32 %r, 0;
  mov.u32 %i, 0;
round:
  mul.lo.u32 %n, %t, {by};
  and.b32 %n, %n, 2040;
  setp.eq.u32 %p, %t, {lane};
  setp.eq.and.u32 %p, %i, 5, %p;
  @%p add.u32 %n, %n, {wrong};
  mov.u32 %s, room;
  {access}
  add.u32 %i, %i, 1;
  setp.lt.u32 %q, %i, 8;
  @%q bra round;
  mad.wide.u32 %to, %t, 4, %a;
  st.global.u32 [%to], %r;
  ret;
}}
"
            );
            end_the_same(&text, &mut count);
        }
    }
    assert!(count.stopped > at_least(per_level(200)) / 2 || count.steps == 0, "{count:?}");
}

/// Each thread has a word of its own at one address of local memory, by a generic address, too, and
/// in as much local memory as threads may have.
#[test]
fn threads_have_words_of_their_own_in_local_memory() {
    let mut count = Count::default();
    for bytes in [64, 512 << 10] {
        let text = format!(
            ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b) {{
  .reg .b32 %r<3>, %t;
  .reg .b64 %a, %b, %to, %own, %generic;
  .local .align 16 .b8 room[{bytes}];
  ld.param.u64 %a, [a];
  ld.param.u64 %b, [b];
  mov.u32 %t, %tid.x;
  mov.u64 %own, room;
  cvta.local.u64 %generic, %own;
  mad.wide.u32 %to, %t, 4, %a;
  ld.global.u32 %r0, [%to];
  st.local.u32 [%own+{last}], %r0;
  ld.u32 %r1, [%generic+{last}];
  add.u32 %r1, %r1, 3;
  st.u32 [%generic+4], %r1;
  ld.local.u32 %r2, [%own+4];
  mad.wide.u32 %to, %t, 4, %b;
  st.global.u32 [%to], %r1;
  st.global.u32 [%to+256], %r2;
  ret;
}}
",
            last = bytes - 4,
        );
        end_the_same(&text, &mut count);
    }
    assert!(count.compared > 2 || count.steps == 0, "{count:?}");
}

/// Accesses at one row, and at its sums with constants, before a branch, on both of its sides, and
/// behind it: each side has lanes of its own, which may have addresses that other lanes do not.
fn branching_kernel(pattern: &str, guard: &str, [then, other, behind]: [i32; 3]) -> String {
    format!(
        ".version 8.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b) {{
  .reg .pred %p, %q, %e, %g;
  .reg .b32 %r<8>, %t, %i, %n, %z, %s, %u;
  .reg .b64 %a, %b, %from, %to;
  .shared .align 32 .b8 room[4096];
  ld.param.u64 %a, [a];
  ld.param.u64 %b, [b];
  mov.u32 %t, %tid.x;
  mov.u32 %i, 0;
  mad.wide.u32 %to, %t, 4, %b;
  mov.u32 %z, room;
  mad.lo.u32 %s, %t, 4, %z;
  mad.wide.u32 %from, %t, 4, %a;
  ld.global.u32 %r0, [%from];
  st.shared.u32 [%s+1024], %r0;
  ld.global.u32 %r0, [%from+256];
  st.shared.u32 [%s+1280], %r0;
  bar.sync 0;
  {guard}
round:
  {pattern}
  mov.u32 %z, room;
  mad.lo.u32 %s, %n, 4, %z;
  @%p bra far;
  ld.shared.u32 %r0, [%s+1024];
  setp.lt.u32 %q, %r0, 2147483648;
  @%q bra side;
  add.u32 %u, %s, {then};
  ld.shared.u32 %r1, [%u+1024];
  st.shared.u32 [%u+1028], %r0;
  bra.uni behind;
side:
  add.u32 %u, %s, {other};
  ld.shared.u32 %r1, [%u+1024];
  st.shared.u32 [%u+1032], %r0;
behind:
  add.u32 %u, %s, {behind};
  ld.shared.u32 %r2, [%u+1028];
  add.u32 %r1, %r1, %r2;
far:
  setp.lt.u32 %g, %t, 20;
  shl.b32 %u, %i, 3;
  @!%g xor.b32 %s, %s, %u;
  @%g ld.shared.u32 %r4, [%s+1024];
  ld.shared.u32 %r3, [%s+1024];
  @%g add.u32 %r3, %r3, %r4;
  add.u32 %r1, %r1, %r3;
  st.global.u32 [%to], %r1;
  add.s64 %to, %to, 256;
  xor.b32 %i, %i, 1;
  setp.ne.u32 %e, %i, 0;
  @%e bra round;
  ret;
}}
"
    )
}

#[test]
fn words_located_before_a_branch_serve_after_it() {
    let mut count = Count::default();
    let guards = [
        "setp.ge.u32 %p, %t, 64;",
        "and.b32 %z, %t, 1; setp.ne.u32 %p, %z, 0;",
        "setp.ge.u32 %p, %t, 37;",
    ];
    for pattern in PATTERNS {
        for (number, guard) in guards.into_iter().enumerate() {
            let offsets = [[0, 0, 0], [64, -64, 4], [4, 1024, -1028]][number];
            end_the_same(&branching_kernel(pattern, guard, offsets), &mut count);
        }
    }
    let least = at_least(per_level(300)) / 2;
    assert!(count.compared > least, "{count:?}");
}
