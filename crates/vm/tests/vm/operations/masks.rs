//! EXEC masks, mask registers and spilled predicates, under the mechanism that keeps all lanes
//! together.

use crate::operations::harness::{kernel, run_under, run_uniform};

const THREADS: usize = 40;

/// Runs lines with `%p` and `%q` the lowest bits of two operands; `expected` gives the two results
/// of a thread of those bits.
#[track_caller]
fn check(lines: &str, expected: impl Fn(bool, bool) -> [u64; 2]) {
    let lines = format!(
        "%x = and.b64 %a, 1
%p = setp.ne.u64 %x, 0
%x = and.b64 %b, 1
%q = setp.ne.u64 %x, 0
%x = mov.b64 0
{lines}"
    );
    let text = kernel("", "reg %p, %q: pred\nwarp %m, %n: mask\nspills 2", &lines);
    let (_, run) = run_uniform(&text, THREADS);
    for (row, result) in run.rows.iter().zip(run.results) {
        let wanted = expected(row[0] & 1 != 0, row[1] & 1 != 0);
        assert_eq!(result, wanted, "{lines}: {:?}", [row[0] & 1, row[1] & 1]);
    }
}

#[test]
fn both_sides_of_a_saved_mask() {
    let lines = "%m = exec_and_save %p
%x = mov.b64 1
exec_xor %m
%x = mov.b64 2
exec_write %m
%y = add.u64 %x, 10";
    check(lines, |p, _| if p { [1, 11] } else { [2, 12] });
}

#[test]
fn nested_masks() {
    let lines = "%m = exec_and_save %p
%n = exec_and_save %q
%x = mov.b64 3
exec_xor %n
%x = mov.b64 4
exec_or %n
%y = mov.b64 7
exec_write %m
%x = add.u64 %x, 16";
    check(lines, |p, q| match (p, q) {
        (true, true) => [19, 7],
        (true, false) => [20, 7],
        (false, _) => [16, 0],
    });
}

#[test]
fn lanes_turned_off() {
    check("%n = exec_read\nexec_andn %q\n%x = mov.b64 5\nexec_write %n\n%y = mov.b64 6", |_, q| {
        [if q { 0 } else { 5 }, 6]
    });
    check("%n = exec_read\nexec_write 0\n%x = mov.b64 5\nexec_write %n\n%y = mov.b64 6", |_, _| {
        [0, 6]
    });
}

#[test]
fn predicates_and_masks() {
    let lines = "%m = maskof %p
%n = maskof %q
%n = andn.mask %m, %n
%n = or.mask %n, 0
%n = and.mask %n, 0xffffffff
%q = predof %n
%x = selp.b64 1, 0, %q
%n = not.mask %n
%n = xor.mask %n, %m
%q = predof %n
%y = selp.b64 1, 0, %q";
    check(lines, |p, q| [u64::from(p & !q), u64::from(!(p & !q) ^ p)]);
}

/// Spills take the predicate of every lane, those that are off too.
#[test]
fn spilled_predicates_come_back() {
    let lines = "%m = exec_and_save %q
pspill 1, %p
exec_write %m
%p = mov.pred false
pspill 0, %p
%p = pfill 1
%x = selp.b64 1, 0, %p
%p = pfill 0
%y = selp.b64 1, 0, %p";
    check(lines, |p, _| [u64::from(p), 0]);
}

#[test]
fn branches_on_masks() {
    let lines = "%m = maskof %p
maskbr.any %m, some
none:
%x = mov.b64 9
br on
some:
%x = mov.b64 1
on:
%n = exec_read
exec_write 0
maskbr.none exec, zero
never:
%y = mov.b64 9
zero:
exec_write %n
%y = mov.b64 2";
    // Every group of these threads has a lane where `%p` holds.
    check(lines, |_, _| [1, 2]);
}

/// Lanes that leave a convergence barrier are not waited for; the others meet, however long each
/// took.
#[test]
fn lanes_leave_a_convergence_barrier() {
    let lines = "%n = and.b32 %tid, 6
%t = and.b32 %tid, 1
%odd = setp.ne.u32 %t, 0
cb_set 0, meet
head:
%p = setp.eq.u32 %n, 0
@%p br leave
body:
%n = sub.u32 %n, 2
yield
br head
leave:
@%odd cb_break 0
@%odd br out
meet:
cb_wait 0
%t = activemask
%x = cvt.u64.u32 %t
out:";
    let text = kernel("", "reg %n: b32\nreg %p, %odd: pred", lines);
    let (_, run) = run_under("convergence-barriers", &text, 40);
    for (thread, result) in run.results.iter().enumerate() {
        let even = if thread < 32 { 0x5555_5555 } else { 0x55 };
        assert_eq!(result[0], if thread % 2 == 0 { even } else { 0 }, "thread {thread}");
    }
}
