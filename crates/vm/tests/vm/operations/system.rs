//! What a kernel asks of the system, and how it stops.

use crate::operations::harness::{fault, kernel, run_uniform};

#[test]
fn output_is_in_lane_order() {
    let variables = "global @format align 1 = [\"%s %d|\\0\"]\nglobal @who align 1 = [\"lane\\0\"]";
    let declarations = "reg %f, %g: b64\nreg %n: b32\nreg %p: pred\nlocal @args size 16 align 8";
    let lines = "%f = mov.u64 @who
st.local.b64 [@args], %f
st.local.b32 [@args + 8], %tid
%f = mov.u64 @args
%g = cvta.local.u64 %f
%f = mov.u64 @format
%t = and.b32 %tid, 1
%p = setp.eq.u32 %t, 0
%n = mov.b32 99
@%p %n = printf %f, %g
%x = cvt.u64.u32 %n";
    let (output, run) = run_uniform(&kernel(variables, declarations, lines), 6);
    assert_eq!(output, "lane 0|lane 2|lane 4|");
    let counts: Vec<_> = run.results.iter().map(|r| r[0]).collect();
    assert_eq!(counts, [2, 99, 2, 99, 2, 99]);
}

#[test]
fn allocations_are_apart_and_are_given_back() {
    let lines = "%x = malloc 24
st.b64 [%x + 16], %a
%y = ld.b64 [%x + 16]
free %x";
    let (_, run) = run_uniform(&kernel("", "", lines), 40);
    let mut addresses: Vec<_> = run.results.iter().map(|r| r[0]).collect();
    assert!(run.rows.iter().zip(&run.results).all(|(row, r)| row[0] == r[1]));
    addresses.sort_unstable();
    assert!(addresses[0] != 0 && addresses.windows(2).all(|w| w[1] - w[0] >= 24));
    let (_, run) = run_uniform(&kernel("", "", "%x = malloc 0x7fffffffffffffff"), 1);
    assert_eq!(run.results[0][0], 0, "there is no such memory");
}

#[test]
fn operations_without_an_effect_take_an_issue() {
    let (_, run) =
        run_uniform(&kernel("", "", "nop\nfence.sc.sys\nnanosleep 100\nyield\n%x = mov.b64 1"), 3);
    assert!(run.results.iter().all(|r| r[0] == 1));
}

#[test]
fn lanes_that_are_active() {
    let lines = "%t = activemask\n%x = cvt.u64.u32 %t";
    let (_, run) = run_uniform(&kernel("", "", lines), 40);
    let wanted = |i| if i < 32 { 0xffff_ffff } else { 0xff };
    assert!(run.results.iter().enumerate().all(|(i, r)| r[0] == wanted(i)));
}

#[test]
fn calls_by_address() {
    let variables = "func @double(%v: b64) -> (%r: b64) {\nentry:\n  %r = add.u64 %v, %v\n  ret\n}\nglobal @table size 8 align 8\n  reloc 0: u64 @double";
    let lines =
        "%x = mov.u64 @double\n%x = calli %x(%a)\n%y = ld.global.u64 [@table]\n%y = calli %y(7)";
    let (_, run) = run_uniform(&kernel(variables, "", lines), 5);
    assert!(
        run.rows.iter().zip(&run.results).all(|(row, r)| *r == [row[0].wrapping_add(row[0]), 14])
    );
}

#[test]
fn vectors_of_atomics() {
    let lines = "%v, %w = atomv.add.global.f32 [%cell], 1.0, 2.5\nbar.sync 0\n%v, %w = ld.global.b32 [%cell]\n%x = pack.b64.b32 %v, %w";
    let (_, run) = run_uniform(&kernel("", "reg %v, %w: b32", lines), 40);
    let wanted = u64::from(100f32.to_bits()) << 32 | u64::from(40f32.to_bits());
    assert!(run.results.iter().all(|r| r[0] == wanted));
}

#[test]
fn faults_have_their_codes() {
    for (code, declarations, lines) in [
        ("trap", "", "trap"),
        ("breakpoint", "", "brkpt"),
        ("not-a-member", "reg %q: pred", "%q = vote.any true, 1"),
        ("barrier-count", "", "bar.sync 0, 33"),
        ("bad-free", "", "free 4096"),
        ("call-target", "", "calli 12345()"),
        ("branch-index", "", "switch 2, [next, next]\nnext:"),
        ("null-pointer", "", "%x = ld.global.u64 [8]"),
        ("misaligned", "", "%x = ld.global.u64 [%in + 4]"),
        ("out-of-bounds", "", "%x = ld.shared.u64 [0]"),
        ("out-of-bounds", "local @l size 8", "%x = ld.local.u64 [@l + 65536]"),
        ("out-of-bounds", "", "%x = ld.param.u64 [@cell + 8]"),
    ] {
        assert_eq!(fault(&kernel("", declarations, lines)), code, "{lines}");
    }
    let strings = "global @s align 1 = [\"x\\0\"]";
    let lines = "%x = mov.u64 @s\nassertfail %x, %x, 3, %x, 1";
    assert_eq!(fault(&kernel(strings, "", lines)), "assertion");
    let endless = "func @f() {\nentry:\n  call @f()\n  ret\n}";
    assert_eq!(fault(&kernel(endless, "", "call @f()")), "stack-overflow");
}

#[test]
fn lanes_that_are_off_do_not_fault() {
    for line in [
        "trap",
        "brkpt",
        "%y = ld.global.u64 [8]",
        "free 4096",
        "st.shared.u64 [0], %a",
        "bar.sync 0, 33",
    ] {
        let lines = format!("@%p {line}\n%x = mov.b64 1");
        let text = kernel("", "reg %p: pred", &format!("%p = mov.pred false\n{lines}"));
        let (_, run) = run_uniform(&text, 3);
        assert!(run.results.iter().all(|r| *r == [1, 0]), "{line}");
    }
}
