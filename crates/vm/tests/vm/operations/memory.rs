//! Loads, stores and atomics.

use crate::operations::harness::{Run, kernel, run_kernel};
use crate::operations::integer::{low, number};
use ir::Ty;
use simt::arith::{F32, FpEnv, soft};

const THREADS: usize = 40;

/// Runs some lines with 64-bit operands that are random bits.
#[track_caller]
fn run(variables: &str, declarations: &str, lines: &str) -> Run {
    run_kernel(&kernel(variables, declarations, lines), [Ty::B64; 4], THREADS, 32)
}

#[test]
fn loads_extend_by_the_sign_of_their_type() {
    for ty in [Ty::U8, Ty::S8, Ty::B8, Ty::U16, Ty::S16, Ty::U32, Ty::S32, Ty::B32, Ty::U64] {
        let out = run("", "", &format!("%x = ld.global.{ty} [%in]\n%y = ld.{ty} [%in + 8]"));
        for (row, result) in out.rows.iter().zip(&out.results) {
            let cut = |v: u64| low(number(v & (u64::MAX >> (64 - ty.bits())), ty));
            assert_eq!(*result, [cut(row[0]), cut(row[1])], "{ty}");
        }
    }
}

#[test]
fn stores_write_the_width_of_their_type() {
    for ty in [Ty::U8, Ty::S16, Ty::B32, Ty::B64] {
        let lines = format!(
            "%cell = add.u64 %cell, %wide
st.global.b64 [%cell], %a
st.global.{ty} [%cell], %b
%x = ld.global.b64 [%cell]"
        );
        let out = run("", "", &lines);
        let mask = u64::MAX >> (64 - ty.bits());
        for (row, result) in out.rows.iter().zip(&out.results) {
            assert_eq!(result[0], row[0] & !mask | row[1] & mask, "{ty}");
        }
    }
}

#[test]
fn vectors_are_adjacent() {
    let lines = "%cell = add.u64 %cell, %wide
%v0 = cvt.u32.u64 %a
%v1 = cvt.u32.u64 %b
st.global.b32 [%cell + 16], %v0, %v1, 7, %v0
%v0, %v1, %v2, %v3 = ld.global.b32 [%cell + 16]
%x = pack.b64.b32 %v0, %v1
%y = pack.b64.b32 %v2, %v3
%q = pack.b128.b64 %x, %y
st.global.b128 [%cell + 32], %q
%y, %x = ld.global.b64 [%cell + 32]
";
    let out = run("", "reg %v<4>: b32\nreg %q: b128", lines);
    for (row, result) in out.rows.iter().zip(&out.results) {
        let [a, b] = [row[0] & 0xffff_ffff, row[1] & 0xffff_ffff];
        assert_eq!(*result, [a << 32 | 7, b << 32 | a]);
    }
}

#[test]
fn registers_of_a_warp_hold_128_bits() {
    let lines = "%cell = add.u64 %cell, %wide
%v = mov.b128 0x0123456789abcdef_fedcba9876543210
%u = mov.b64 7
%w = mov.b128 %v
_ = mov.b128 %v
st.global.b128 [%cell], %w
%x, %y = ld.global.b64 [%cell]
%cell = add.u64 %u, 0";
    let out = run("", "warp %v, %w: b128\nwarp %u: b64", lines);
    for result in out.results {
        assert_eq!(result, [0xfedc_ba98_7654_3210, 0x0123_4567_89ab_cdef]);
    }
}

#[test]
fn every_space_has_its_own_memory_and_generic_addresses_reach_it() {
    let variables = "global @g size 640 align 8 = [hex \"0100000000000000\"]
const @c size 16 align 8 = [u64 5, 6]
shared @s size 640 align 8";
    let declarations = "reg %at, %gen: b64\nlocal @l size 16 align 8";
    for (space, symbol) in [("global", "@g"), ("shared", "@s"), ("local", "@l")] {
        let scale = if space == "local" { 0 } else { 8 };
        let lines = format!(
            "%at = mulwide.u32 %tid, {scale}
%gen = mov.u64 {symbol}
%at = add.u64 %at, %gen
st.{space}.b64 [%at], %a
%gen = cvta.{space}.u64 %at
%x = ld.b64 [%gen]
st.b64 [%gen], %b
%y = ld.{space}.b64 [%at]"
        );
        let out = run(variables, declarations, &lines);
        for (row, result) in out.rows.iter().zip(&out.results) {
            assert_eq!(*result, [row[0], row[1]], "{space}");
        }
    }
    let out = run(variables, declarations, "%x = ld.const.u64 [@c + 8]\n%y = ld.global.u64 [@g]");
    assert!(out.results.iter().all(|r| *r == [6, 1]));
}

/// What an atomic leaves, given what was there and its operands.
type Combine = fn(u64, u64, u64) -> u64;

#[test]
fn atomics_take_effect_in_thread_order() {
    let operations: [(&str, Ty, Combine); 16] = [
        ("add", Ty::U32, |old, a, _| old + a),
        ("add", Ty::S32, |old, a, _| old + a),
        ("add", Ty::U64, |old, a, _| old.wrapping_add(a)),
        ("min", Ty::U32, |old, a, _| old.min(a)),
        ("max", Ty::U32, |old, a, _| old.max(a)),
        ("min", Ty::S32, |old, a, _| (old as i32).min(a as i32) as u64),
        ("max", Ty::S64, |old, a, _| (old as i64).max(a as i64) as u64),
        ("and", Ty::B32, |old, a, _| old & a),
        ("or", Ty::B64, |old, a, _| old | a),
        ("xor", Ty::B32, |old, a, _| old ^ a),
        ("exch", Ty::B64, |_, a, _| a),
        ("cas", Ty::B32, |old, a, b| if old == a { b } else { old }),
        ("cas", Ty::B64, |old, a, b| if old == a { b } else { old }),
        ("inc", Ty::U32, |old, a, _| if old >= a { 0 } else { old + 1 }),
        ("dec", Ty::U32, |old, a, _| if old == 0 || old > a { a } else { old - 1 }),
        ("add", Ty::F32, |old, a, _| soft::add::<F32>(old, a, FpEnv::PTX).0),
    ];
    for (op, ty, combine) in operations {
        for (space, symbol) in [("global", "%cell"), ("shared", "@s"), ("generic", "%cell")] {
            atomic(op, ty, space, symbol, combine);
        }
    }
}

fn atomic(op: &str, ty: Ty, space: &str, symbol: &str, combine: Combine) {
    let narrow = ty.bits() == 32;
    let cas = op == "cas";
    // Compare-and-swap finds what it looks for where a thread before left it: values are few.
    let cut = |from: &str, to: &str| match (narrow, cas) {
        (true, true) => format!("%{to} = cvt.u32.u64 %{from}\n%{to} = and.b32 %{to}, 3\n"),
        (true, false) => format!("%{to} = cvt.u32.u64 %{from}\n"),
        (false, true) => format!("%{to} = and.b64 %{from}, 3\n"),
        (false, false) => format!("%{to} = mov.b64 %{from}\n"),
    };
    let third = if cas { ", %w" } else { "" };
    let widen = |name: &str| {
        if narrow { format!("cvt.u64.u32 %{name}") } else { format!("mov.b64 %{name}") }
    };
    let lines = format!(
        "{}{}%old = atom.{op}.relaxed.gpu.{space}.{ty} [{symbol}], %v{third}
%x = {}
atom.{op}.{space}.{ty} [{symbol} + 8], %v{third}
bar.sync 0
%old = ld.{space}.{ty} [{symbol} + 8]
%y = {}",
        cut("a", "v"),
        cut("b", "w"),
        widen("old"),
        widen("old"),
    );
    let bits = ty.bits();
    let text = kernel("shared @s size 16 align 8", &format!("reg %v, %w, %old: b{bits}"), &lines);
    let out = run_kernel(&text, [ty, ty, Ty::B64, Ty::B64], THREADS, 32);
    let few = |v: u64| if cas { v & 3 } else { v };
    let mask = u64::MAX >> (64 - bits);
    let mut cell = 0;
    for (row, result) in out.rows.iter().zip(&out.results) {
        assert_eq!(result[0], cell, "{op}.{ty}.{space} gives the old value");
        cell = combine(cell, few(row[0]), few(row[1])) & mask;
    }
    assert!(out.results.iter().all(|r| r[1] == cell), "{op}.{ty}.{space} leaves {cell:x}");
    if space != "shared" {
        let first = u64::from_le_bytes(out.cells[..8].try_into().unwrap());
        assert_eq!(first, cell, "{op}.{ty}.{space} in memory");
    }
}

#[test]
fn a_guarded_atomic_leaves_out_its_lanes() {
    let lines = "%t = and.b32 %tid, 1
%p = setp.eq.u32 %t, 0
@%p atom.add.global.u32 [%cell], 1
bar.sync 0
%x = ld.global.u32 [%cell]";
    let out = run("", "reg %p: pred", lines);
    assert!(out.results.iter().all(|r| r[0] == THREADS as u64 / 2));
}

#[test]
fn local_memory_taken_in_a_call_is_given_back() {
    let variables = "func @leaf(%v: b64) -> (%r: b64) {
  reg %at: b64
entry:
  %at = alloca.u64 64, 16
  st.local.b64 [%at], %v
  %r = ld.local.b64 [%at]
  ret
}";
    let lines = "%n = mov.b32 0
again:
%y = call @leaf(%a)
%x = xor.b64 %x, %y
%n = add.u32 %n, 1
%p = setp.lt.u32 %n, 10001
@%p br again
end:";
    let out = run(variables, "reg %n: b32\nreg %p: pred", lines);
    for (row, result) in out.rows.iter().zip(&out.results) {
        assert_eq!(*result, [row[0], row[0]], "after an odd number of calls");
    }
}

#[test]
fn copies_read_as_many_bytes_as_they_are_told() {
    for (ty, size) in [(Ty::B32, 4), (Ty::B64, 8), (Ty::B128, 16)] {
        for bytes in
            [None, Some(0), Some(1), Some(3), Some(4), Some(7), Some(11), Some(16), Some(99)]
        {
            let told = bytes.map_or(String::new(), |n| format!(", {n}"));
            let lines = format!(
                "%at = mulwide.u32 %tid, 16
%gen = mov.u64 @s
%at = add.u64 %at, %gen
st.shared.b64 [%at], -1, -1
cpasync.shared.{ty} [%at], %in, 16{told}
copycommit
copywait 0
copywait
%x, %y = ld.shared.b64 [%at]"
            );
            let out = run("shared @s size 640 align 16", "reg %at, %gen: b64", &lines);
            for (row, result) in out.rows.iter().zip(&out.results) {
                let source = [row[2].to_le_bytes(), row[3].to_le_bytes()].concat();
                let mut expected = [0xff; 16];
                expected[..size].fill(0);
                let read = bytes.unwrap_or(size).min(size);
                expected[..read].copy_from_slice(&source[..read]);
                let found = [result[0].to_le_bytes(), result[1].to_le_bytes()].concat();
                assert_eq!(found, expected, "{ty}, {bytes:?} bytes");
            }
        }
    }
}

#[test]
fn barriers_in_memory_count_arrivals_down_by_phase() {
    // A barrier of three arrivals for each thread: two arrive together, then one.
    let lines = "%at = mulwide.u32 %tid, 8
%gen = mov.u64 @s
%at = add.u64 %at, %gen
mbarinit.shared.layout_v1 [%at], 3
%first = mbararrive.shared [%at], 2
%second = mbararrive.shared [%at], 1
%n = mbarpending %first
%x = cvt.u64.u32 %n
%n = mbarpending %second
%y = cvt.u64.u32 %n
%x = mad.u64 %x, 16, %y
%p = mbartest.shared [%at], %second
%y = selp.b64 1, 0, %p
%third = mbararrive.shared [%at], 1
%p = mbartest.shared [%at], %third
@%p %y = add.u64 %y, 2
%p = mbartest.shared.parity [%at], 0
@%p %y = add.u64 %y, 4
%p = mbarlayout.shared.layout_v1 [%at]
@%p %y = add.u64 %y, 8
%p = mbarlayout.shared [%at]
@%p %y = add.u64 %y, 16
mbarinval.shared [%at]";
    let declarations = "reg %at, %gen, %first, %second, %third: b64\nreg %n: b32\nreg %p: pred";
    let out = run("shared @s size 320 align 8", declarations, lines);
    // Three arrivals pend, then one; the first phase has completed, that of the third has not.
    assert!(out.results.iter().all(|r| *r == [0x31, 1 + 4 + 8]), "{:x?}", out.results[0]);
}
