//! PTX kernels, lowered and run by the exact engine: what an instruction becomes does what the PTX
//! ISA says.
//!
//! Each kernel `k` gets the address of a buffer of 32-bit words and runs one CTA.

use converge::catalogue::Entry;
use isa::FileId;
use ptx::Select;
use simt::machine::{Machine as _, Step};
use vm::{Engine, Launch, Program, catalogued, load_variables};

fn program(text: &str) -> Program {
    let (tree, mut found) = ptx::parse(FileId(0), text);
    let (module, more) = ptx::lower(&tree, Select::Kernel("k"));
    found.append(more);
    let found: Vec<_> = found
        .iter()
        .map(|d| {
            let at = d.primary.as_ref().and_then(|l| text.get(l.span.range())).unwrap_or("");
            format!("{}: `{at}`", d.message)
        })
        .collect();
    assert!(found.is_empty(), "{found:#?}\n{text}");
    let module = module.unwrap();
    Program::link(module).unwrap_or_else(|e| panic!("{e:#?}\n{text}"))
}

/// Runs `threads` threads under two mechanisms; the first `count` words of the buffer.
fn run_file(text: &str, threads: u32, count: usize) -> Vec<u32> {
    let program = program(text);
    let results = ["serial", "ipdom"].map(|mechanism| {
        let entry = Entry::find(mechanism).unwrap();
        let kernel = program.module().function("k").unwrap();
        let mut launch: Launch<1> = Launch::new(kernel, catalogued(entry));
        let out = launch.memory.allocate("out", 4096).unwrap();
        launch.variables = load_variables(&program, &mut launch.memory).unwrap();
        launch.params = out.0.to_le_bytes().to_vec();
        launch.block = [threads, 1, 1];
        launch.dynamic_shared = 1024;
        let mut state = Engine::<1>.launch(&program, launch).unwrap();
        let end = Engine::<1>.run_unobserved(&program, &mut state, 1_000_000);
        assert_eq!(end, Step::Done, "{mechanism}");
        assert!(state.stats().slots.identity_holds());
        let mut bytes = vec![0; 4 * count];
        state.memory().read_bytes(out, &mut bytes).unwrap();
        let words = bytes.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap()));
        words.collect::<Vec<u32>>()
    });
    assert_eq!(results[0], results[1]);
    let [result, _] = results;
    result
}

/// A kernel with `%out` (the buffer), `%mine` (the thread's word in it) and `%t` (its index) ready.
fn kernel(module: &str, body: &str) -> String {
    format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n{module}\n.visible .entry k(.param .u64 out) {{
         .reg .b64 %out, %mine; .reg .b32 %t, %r<30>; .reg .b64 %d<20>; .reg .pred %p<10>; .reg .f32 %f<10>; .reg .b16 %h<10>;
         ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %mine, %t, 4, %out;
         {body}\n ret;\n }}\n"
    )
}

/// What one thread stores as words.
fn one(module: &str, body: &str, count: usize) -> Vec<u32> {
    run_file(&kernel(module, body), 1, count)
}

/// What 32 threads store, each its word.
fn warp(module: &str, body: &str) -> Vec<u32> {
    run_file(&kernel(module, body), 32, 32)
}

#[test]
fn aggregates_travel_whole() {
    // struct { int a; double b; char c[5]; } by value, there and back; parts are read and written
    // at their own sizes.
    let module = "
    .func (.param .align 8 .b8 ret[24]) f(.param .b32 x, .param .align 8 .b8 s[24]) {
      .reg .b32 %x, %a, %c; .reg .f64 %b; .reg .b16 %h; .reg .s16 %s;
      ld.param.b32 %x, [x];
      ld.param.b32 %a, [s]; ld.param.f64 %b, [s+8]; ld.param.s8 %s, [s+17]; ld.param.u8 %h, [s+18];
      add.s32 %a, %a, %x;
      add.rn.f64 %b, %b, %b;
      cvt.s32.s16 %c, %s;
      add.s32 %a, %a, %c;
      st.param.b32 [ret+0], %a;
      st.param.f64 [ret+8], %b;
      st.param.b8 [ret+16], %h;
      st.param.b8 [ret+17], 7;
      st.param.b8 [ret+20], %x;
      ret;
    }";
    let body = "
      .reg .f64 %g; mov.f64 %g, 1.5;
      { .param .b32 p0; .param .align 8 .b8 p1[24]; .param .align 8 .b8 r[24];
        st.param.b32 [p0], 100;
        st.param.b32 [p1], 5; st.param.f64 [p1+8], %g;
        st.param.b8 [p1+16], 1; st.param.b8 [p1+17], -3; st.param.b8 [p1+18], 200;
        call.uni (r), f, (p0, p1);
        ld.param.b32 %r1, [r]; ld.param.v2.b32 {%r2, %r3}, [r+8]; ld.param.b32 %r4, [r+16]; ld.param.u8 %r5, [r+20];
      }
      st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4}; st.global.u32 [%out+16], %r5;";
    let out = one(module, body, 5);
    let double = 3.0_f64.to_bits();
    assert_eq!(out, [102, double as u32, (double >> 32) as u32, 200 | 7 << 8, 100]);
}

#[test]
fn functions_recurse_and_return_several_values() {
    let module = "
    .func (.param .b32 r) fib(.param .b32 n) {
      .reg .b32 %n, %a, %b; .reg .pred %p;
      ld.param.b32 %n, [n]; setp.lt.u32 %p, %n, 2; @%p bra small;
      sub.u32 %a, %n, 1;
      { .param .b32 q; .param .b32 v; st.param.b32 [q], %a; call (v), fib, (q); ld.param.b32 %b, [v]; }
      sub.u32 %a, %n, 2;
      { .param .b32 q; .param .b32 v; st.param.b32 [q], %a; call (v), fib, (q); ld.param.b32 %a, [v]; }
      add.u32 %n, %a, %b;
    small: st.param.b32 [r], %n; ret;
    }
    .func (.reg .u32 q, .reg .u32 m) divmod(.reg .u32 a, .reg .u32 b) { div.u32 q, a, b; rem.u32 m, a, b; ret; }";
    let body = "
      { .param .b32 a; .param .b32 r; rem.u32 %r0, %t, 12; st.param.b32 [a], %r0; call (r), fib, (a); ld.param.b32 %r1, [r]; }
      call (%r2, %r3), divmod, (%r1, 10);
      mad.lo.u32 %r1, %r2, 1000, %r3;
      st.global.u32 [%mine], %r1;";
    let fib = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89];
    let expected: Vec<u32> = (0..32).map(|t| fib[t % 12] / 10 * 1000 + fib[t % 12] % 10).collect();
    assert_eq!(warp(module, body), expected);
}

#[test]
fn calls_go_by_address_and_by_guard() {
    let module = "
    .func (.param .b32 r) inc(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; add.u32 %a, %a, 1; st.param.b32 [r], %a; ret; }
    .func (.param .b32 r) tri(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; mul.lo.u32 %a, %a, 3; st.param.b32 [r], %a; ret; }
    .global .u64 table[2] = {inc, tri};";
    let body = "
      and.b32 %r0, %t, 1; mul.wide.u32 %d0, %r0, 8; mov.u64 %d1, table; add.u64 %d1, %d1, %d0; ld.global.u64 %d2, [%d1];
      { .param .b32 a; .param .b32 v; st.param.b32 [a], %t;
        proto: .callprototype (.param .b32 _) _ (.param .b32 _);
        call (v), %d2, (a), proto; ld.param.b32 %r1, [v]; }
      setp.gt.u32 %p0, %t, 15;
      { .param .b32 a; .param .b32 v; st.param.b32 [a], %r1; st.param.b32 [v], %r1;
        @%p0 call (v), tri, (a); ld.param.b32 %r1, [v]; }
      mov.u64 %d3, inc; setp.eq.u64 %p1, %d3, 0; @%p1 mov.u32 %r1, 0;
      st.global.u32 [%mine], %r1;";
    let expected: Vec<u32> = (0..32)
        .map(|t| if t % 2 == 0 { t + 1 } else { t * 3 })
        .enumerate()
        .map(|(t, v)| if t > 15 { v * 3 } else { v })
        .collect();
    assert_eq!(warp(module, body), expected);
}

#[test]
fn carries_make_wide_sums() {
    let body = "
      mov.u32 %r0, 0xffffffff; mov.u32 %r1, 0xffffffff; mov.u32 %r2, 5;
      add.cc.u32 %r3, %r0, 1; addc.cc.u32 %r4, %r1, 0; addc.u32 %r5, %r2, 0;
      sub.cc.u32 %r6, 0, 1; subc.u32 %r7, %r2, 0;
      mad.lo.cc.u32 %r8, %r0, 2, 3; madc.hi.u32 %r9, %r0, 2, 0;
      st.global.v4.u32 [%out], {%r3, %r4, %r5, %r6}; st.global.v2.u32 [%out+16], {%r7, %r8}; st.global.u32 [%out+24], %r9;";
    // 0xffffffff * 2 + 3 = 0x2_00000001
    assert_eq!(one("", body, 7), [0, 0, 6, u32::MAX, 4, 1, 2]);
}

#[test]
fn moves_pack_and_unpack() {
    let body = "
      .reg .b128 %q; .reg .v4 .b32 v; .reg .b16 %x, %y;
      mov.b64 %d0, {0x11223344, 0x55667788}; mov.b64 {%r0, %r1}, %d0; mov.b64 {_, %r2}, %d0;
      mov.b32 {%x, %y}, %r0; mov.b32 %r3, {%y, %x};
      mov.b128 %q, {%d0, 7}; mov.b128 {%d1, %d2}, %q; cvt.u32.u64 %r4, %d2;
      mov.u32 v.x, 1; mov.u32 v.y, 2; mov.u32 v.z, %r3; mov.b32 v.w, %r4;
      st.global.v4.b32 [%out], v;
      st.global.v2.u32 [%out+16], {%r1, %r2};
      mov.b32 %f0, 0f40490FDB; st.global.f32 [%out+24], %f0; mov.f32 %f0, 0.1; st.global.b32 [%out+28], %f0;";
    let expected = [1, 2, 0x3344_1122, 7, 0x5566_7788, 0x5566_7788, 0x4049_0fdb, 0.1_f32.to_bits()];
    assert_eq!(one("", body, 8), expected);
}

#[test]
fn indexed_branches_pick_their_label() {
    let body = "
      rem.u32 %r0, %t, 3;
      list: .branchtargets a, b, L<1>;
      brx.idx %r0, list;
      a: mov.u32 %r1, 10; bra done;
      b: mov.u32 %r1, 20; bra done;
      L0: mov.u32 %r1, 30;
      done: st.global.u32 [%mine], %r1;";
    let expected: Vec<u32> = (0..32).map(|t| 10 + t % 3 * 10).collect();
    assert_eq!(warp("", body), expected);
}

#[test]
fn scopes_hide_registers_and_labels() {
    let body = "
      mov.u32 %r0, 1;
      { .reg .b32 %r0; .reg .pred %p0; mov.u32 %r0, 50; setp.lt.u32 %p0, %t, 10; @%p0 bra SKIP; add.u32 %r0, %r0, 5; SKIP: st.global.u32 [%mine], %r0; }
      { .reg .b32 %r<2>; mov.u32 %r1, %t; setp.lt.u32 %p0, %t, 20; @%p0 bra SKIP; add.u32 %r1, %r1, 100; SKIP: atom.global.add.u32 %r0, [%mine], %r1; }
      add.u32 %r0, %r0, 1000; red.global.add.u32 [%mine], %r0;";
    let expected: Vec<u32> = (0..32)
        .map(|t| {
            let (first, second) = (if t < 10 { 50 } else { 55 }, if t < 20 { t } else { t + 100 });
            first + second + 1001
        })
        .collect();
    assert_eq!(warp("", body), expected);
}

#[test]
fn initialisers_fill_what_they_name() {
    let module = "
    .global .u32 a[4] = {1, 2};
    .const .u16 grid[2][3] = {{1}, {4, 5}};
    .global .u64 where[3] = {a, generic(a)+4, where};
    .global .align 4 .u8 bytes[] = {1, 0xff, -1, 4};
    .const .f32 third = 0.333333333;
    .global .f64 d = 0d3FF8000000000000;
    .global .b8 text[6] = \"abc\";
    .global .v2 .u32 pairs[2] = {{1, 2}, {3, 4}};";
    let body = "
      ld.global.u32 %r0, [a+4]; ld.global.u32 %r1, a[3]; ld.const.u16 %r2, [grid+8]; ld.const.u16 %r3, grid[3];
      st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};
      ld.global.u64 %d0, [where]; ld.global.u32 %r4, [%d0]; ld.global.u64 %d1, [where+8]; ld.u32 %r5, [%d1];
      ld.global.u64 %d2, where[2]; ld.global.u64 %d3, [%d2]; ld.global.u32 %r6, [%d3+4];
      ld.global.u32 %r7, [bytes]; st.global.v4.u32 [%out+16], {%r4, %r5, %r6, %r7};
      ld.const.f32 %f0, [third]; st.global.f32 [%out+32], %f0;
      ld.global.u64 %d4, [d]; shr.u64 %d4, %d4, 32; cvt.u32.u64 %r8, %d4; ld.global.u8 %r9, [text+2]; ld.global.u32 %r10, [pairs+8];
      st.global.u32 [%out+36], %r8; st.global.v2.u32 [%out+40], {%r9, %r10};";
    let third = 0.333_333_333_f64 as f32;
    let expected =
        [2, 0, 5, 4, 1, 2, 2, 0x04ff_ff01, third.to_bits(), 0x3ff8_0000, u32::from(b'c'), 3];
    assert_eq!(one(module, body, 12), expected);
}

#[test]
fn shared_memory_static_and_dynamic() {
    let module = ".extern .shared .align 16 .b8 dyn[];";
    let body = "
      .shared .align 4 .b32 tile[32];
      mov.u32 %r0, tile; mad.lo.u32 %r1, %t, 4, %r0; mul.lo.u32 %r2, %t, 3; st.shared.u32 [%r1], %r2;
      mov.u64 %d0, dyn; cvta.shared.u64 %d1, %d0; mad.wide.u32 %d1, %t, 4, %d1; st.u32 [%d1], %t;
      setp.lt.u32 %p0, %t, 12; bar.red.popc.u32 %r9, 0, !%p0;
      sub.u32 %r3, 31, %t; mad.lo.u32 %r4, %r3, 4, %r0; ld.shared.u32 %r5, [%r4];
      cvta.to.shared.u64 %d2, %d1; ld.shared.u32 %r6, [%d2]; isspacep.shared %p1, %d1; selp.u32 %r7, 1000, 0, %p1;
      ld.shared.u32 %r8, [dyn+8];
      add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7; mad.lo.u32 %r5, %r9, 10000, %r5; add.u32 %r5, %r5, %r8; st.global.u32 [%mine], %r5;";
    let expected: Vec<u32> = (0..32).map(|t| 3 * (31 - t) + t + 1000 + 200_000 + 2).collect();
    assert_eq!(warp(module, body), expected);
}

#[test]
fn predicates_combine() {
    let body = "
      setp.lt.u32 %p0, %t, 8; setp.lt.and.u32 %p1|%p2, %t, 16, !%p0; selp.u32 %r0, 1, 0, %p1; selp.u32 %r1, 2, 0, %p2; selp.u32 %r2, 4, 0, !%p0;
      or.pred %p3, %p1, %p0; not.pred %p4, %p3; and.pred %p5, %p4, 1; mov.pred %p6, -1; xor.pred %p5, %p5, %p6; selp.u32 %r3, 8, 0, %p5;
      vote.sync.any.pred %p7, !%p0, 0xffffffff; selp.u32 %r4, 16, 0, %p7; vote.sync.ballot.b32 %r5, !%p3, -1; popc.b32 %r5, %r5; shl.b32 %r5, %r5, 8;
      set.ge.u32.u32 %r6, %t, 30; and.b32 %r6, %r6, 32; lop3.and.b32 %r7|%p8, %t, 1, 0, 0xc0, %p0; selp.u32 %r7, 64, 0, %p8;
      add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, %r2; add.u32 %r0, %r0, %r3; add.u32 %r0, %r0, %r4; add.u32 %r0, %r0, %r5; add.u32 %r0, %r0, %r6; add.u32 %r0, %r0, %r7;
      st.global.u32 [%mine], %r0;";
    let expected: Vec<u32> = (0..32)
        .map(|t: u32| {
            let p0 = t < 8;
            let (p1, p2) = ((t < 16) && !p0, (t >= 16) && !p0);
            let p3 = p1 || p0;
            let bits = [p1, p2, !p0, p3, true].into_iter().enumerate();
            let sum: u32 = bits.map(|(k, b)| u32::from(b) << k).sum();
            let odd = t & 1 == 1 && p0;
            sum + (16 << 8) + if t >= 30 { 32 } else { 0 } + if odd { 64 } else { 0 }
        })
        .collect();
    assert_eq!(warp("", body), expected);
}

#[test]
fn narrow_values_extend_and_truncate() {
    let body = "
      .reg .s16 %s; .reg .u16 %u;
      st.global.u32 [%out], 0x80f1; ld.global.s8 %s, [%out]; cvt.s32.s16 %r0, %s; ld.global.u8 %u, [%out]; cvt.u32.u16 %r1, %u; ld.global.s16 %r2, [%out]; ld.global.s8 %d0, [%out+1];
      mov.u32 %r3, 0x12345678; st.global.u16 [%out+4], %r3; cvt.u8.u32 %r4, %r3; cvt.s8.s32 %r5, %r1; cvt.sat.u8.s32 %r6, %r0; cvt.u32.u64 %r7, %d0;
      cvt.u64.u32 %d1, %ntid.x; mov.u16 %u, %ntid.x; cvt.u32.u16 %r8, %u; cvt.u32.u64 %r9, %d1; add.u32 %r8, %r8, %r9;
      st.global.v4.u32 [%out+16], {%r0, %r1, %r2, %r4}; st.global.v4.u32 [%out+32], {%r5, %r6, %r7, %r8};
      mul.wide.s16 %r10, %s, -2; st.global.u32 [%out+48], %r10; mov.u32 %r11, 0x1ffffffff; st.global.u32 [%out+52], %r11;";
    let out = one("", body, 14);
    assert_eq!(out[1] & 0xffff, 0x5678);
    let minus = |v: i32| v as u32;
    assert_eq!(out[4..8], [minus(-15), 0xf1, minus(-32527), 0x78]);
    assert_eq!(out[8..], [minus(-15), 0, minus(-128), 2, 30, u32::MAX]);
}

#[test]
fn local_memory_and_early_ends() {
    let body = "
      .local .align 8 .b8 buf[64]; .local .u32 word;
      and.b32 %r0, %t, 7; mul.wide.u32 %d0, %r0, 4; mov.u64 %d1, buf; cvta.local.u64 %d2, %d1; add.u64 %d3, %d2, %d0; st.u32 [%d3], %t;
      add.u64 %d4, %d1, %d0; ld.local.u32 %r1, [%d4]; st.local.u32 [word], %r1; ld.local.u32 %r2, [word];
      st.global.u32 [%mine], %r2; setp.gt.u32 %p0, %t, 23; @%p0 exit; setp.lt.u32 %p1, %t, 4; @!%p1 bra go; ret;
      go: red.global.add.u32 [%mine], 100;";
    let expected: Vec<u32> =
        (0..32).map(|t| if (4..24).contains(&t) { t + 100 } else { t }).collect();
    assert_eq!(warp("", body), expected);
}

#[test]
fn atomic_operations_give_the_old_value() {
    let body = "
      atom.global.add.u32 %r0, [%out], 5; atom.global.cas.b32 %r1, [%out], 5, 9; atom.exch.b32 %r2, [%out+0], 40; atom.global.inc.u32 _, [%out], 100;
      atom.global.gpu.relaxed.max.s32 %r3, [%out], -1; red.relaxed.gpu.global.add.f32 [%out+4], 0f40000000; atom.global.sys.and.b32 %r4, [%out+8], 0xff;
      .shared .u64 w; st.shared.u64 [w], 3; atom.shared.add.u64 %d0, [w], 4; ld.shared.u64 %d1, [w]; cvt.u32.u64 %r5, %d1;
      st.global.v4.u32 [%out+16], {%r0, %r1, %r2, %r3}; st.global.v2.u32 [%out+32], {%r4, %r5};";
    assert_eq!(one("", body, 10), [41, 2.0_f32.to_bits(), 0, 0, 0, 5, 9, 41, 0, 7]);
}

#[test]
fn collectives_of_a_warp() {
    let body = "
      shfl.sync.down.b32 %r0|%p0, %t, 4, 31, -1; selp.u32 %r1, 100, 0, %p0; shfl.sync.bfly.b32 %r2, %t, 1, 0x1f, 0xffffffff;
      activemask.b32 %r3; popc.b32 %r3, %r3; bar.warp.sync -1; redux.sync.max.u32 %r4, %t, -1; match.any.sync.b32 %r5, 7, -1; popc.b32 %r5, %r5;
      add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, %r2; add.u32 %r0, %r0, %r4; add.u32 %r0, %r0, %r5; mov.u32 %r6, %laneid; mov.b32 %r7, %lanemask_lt; popc.b32 %r7, %r7; sub.u32 %r6, %r6, %r7; add.u32 %r0, %r0, %r6;
      st.global.u32 [%mine], %r0;";
    let expected: Vec<u32> =
        (0..32).map(|t| (if t < 28 { t + 4 + 100 } else { t }) + (t ^ 1) + 31 + 32).collect();
    assert_eq!(warp("", body), expected);
}

#[test]
fn text_goes_out_and_assertions_fault() {
    let module = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
      .global .align 1 .b8 fmt[9] = {120, 61, 37, 100, 32, 37, 103, 10, 0};";
    let body = "
      .local .align 8 .b8 args[16]; mov.u64 %d0, args; cvta.local.u64 %d1, %d0; st.local.u32 [args], 42; mov.b64 %d3, 0d4004000000000000; st.local.b64 [args+8], %d3;
      mov.u64 %d2, fmt; cvta.global.u64 %d2, %d2;
      { .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %d2; st.param.b64 [b], %d1; call.uni (r), vprintf, (a, b); ld.param.b32 %r0, [r]; }
      st.global.u32 [%out], %r0;";
    assert_eq!(one(module, body, 1), [2]);
}
