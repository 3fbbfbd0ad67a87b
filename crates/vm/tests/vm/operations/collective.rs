//! Warp collectives, at several widths of the issue group: they meet on the architectural warp.

use crate::operations::harness::{Run, kernel, run_kernel};
use ir::Ty;

const THREADS: usize = 70;
const WIDTHS: [u32; 4] = [4, 16, 32, 64];

/// Runs some lines with `%v` the low 32 bits of the first operand and `%p` the lowest of the
/// second, in lanes for which the third one's low bits are not all zero; `%m` is the member mask of
/// those.
#[track_caller]
fn run(lines: &str, width: u32) -> Run {
    let text = kernel(
        "",
        "reg %v, %w, %m, %r: b32\nreg %p, %q, %on: pred",
        &format!(
            "%v = cvt.u32.u64 %a
%w = cvt.u32.u64 %b
%t = and.b32 %w, 1
%p = setp.ne.u32 %t, 0
%t = cvt.u32.u64 %c
%t = and.b32 %t, 3
%on = setp.ne.u32 %t, 0
%m = ballot %on, {}
@!%on br off
%q = mov.pred false
{lines}
%x = cvt.u64.u32 %r
%y = selp.b64 1, 0, %q
off:",
            "%full"
        ),
    );
    // The last warp is not full.
    let full = "%full = mov.u32 0xffffffff\n%q = setp.ge.u32 %tid, 64\n@%q %full = mov.u32 0x3f\n";
    let text = text.replace("%v = cvt.u32.u64 %a\n", &format!("{full}%v = cvt.u32.u64 %a\n"));
    let text = text.replace("reg %v, %w", "reg %full, %v, %w");
    run_kernel(&text, [Ty::B64; 4], THREADS, width)
}

/// A warp's lanes that are on, each with its value and predicate.
struct Warp {
    lanes: Vec<(usize, u32, bool)>,
}

impl Warp {
    fn mask(&self) -> u64 {
        self.lanes.iter().map(|l| 1 << l.0).sum()
    }

    fn ballot(&self) -> u64 {
        self.lanes.iter().filter(|l| l.2).map(|l| 1 << l.0).sum()
    }

    fn value(&self, lane: usize) -> Option<u32> {
        self.lanes.iter().find(|l| l.0 == lane).map(|l| l.1)
    }
}

/// Compares every lane that is on with what its warp and lane say.
#[track_caller]
fn check(lines: &str, expected: impl Fn(&Warp, usize) -> [u64; 2]) {
    for width in WIDTHS {
        let out = run(lines, width);
        for first in (0..THREADS).step_by(32) {
            let here = first..(first + 32).min(THREADS);
            let on = |t: &usize| out.rows[*t][2] & 3 != 0;
            let lane = |t: usize| (t - first, out.rows[t][0] as u32, out.rows[t][1] & 1 != 0);
            let warp = Warp { lanes: here.clone().filter(on).map(lane).collect() };
            for thread in here {
                let wanted = if on(&thread) { expected(&warp, thread - first) } else { [0, 0] };
                assert_eq!(
                    out.results[thread], wanted,
                    "{lines} at width {width}, thread {thread}"
                );
            }
        }
    }
}

#[test]
fn votes() {
    check("%r = ballot %p, %m", |warp, _| [warp.ballot(), 0]);
    check("%r = mov.b32 0\n%q = vote.all %p, %m", |warp, _| {
        [0, u64::from(warp.ballot() == warp.mask())]
    });
    check("%r = mov.b32 0\n%q = vote.any %p, %m", |warp, _| [0, u64::from(warp.ballot() != 0)]);
    check("%r = mov.b32 0\n%q = vote.uni %p, %m", |warp, _| {
        [0, u64::from(warp.ballot() == 0 || warp.ballot() == warp.mask())]
    });
}

#[test]
fn shuffles_within_segments() {
    for segment in [2usize, 8, 32] {
        let bits = (32 - segment) << 8;
        for distance in [0usize, 1, 3, 7, 30] {
            // From a lane of the same segment if there is one there, else from the lane itself.
            let from = |warp: &Warp, lane: usize, source: Option<usize>| {
                let inside = source.filter(|s| s / segment == lane / segment && *s < 32);
                let value = warp.value(inside.unwrap_or(lane)).or(warp.value(lane));
                [value.unwrap_or(0).into(), u64::from(inside.is_some())]
            };
            let shuffle = |mode: &str, clamp: usize| {
                format!("%r, %q = shfl.{mode}.b32 %v, {distance}, {}, %m", bits | clamp)
            };
            check(&shuffle("up", 0), |warp, lane| from(warp, lane, lane.checked_sub(distance)));
            check(&shuffle("down", 31), |warp, lane| from(warp, lane, Some(lane + distance)));
            // CUDA lets a butterfly reach into segments before its own.
            check(&shuffle("bfly", 31), |warp, lane| {
                let source = lane ^ distance;
                let inside = source / segment <= lane / segment;
                let value = warp.value(source).filter(|_| inside).or(warp.value(lane));
                [value.unwrap_or(0).into(), u64::from(inside)]
            });
            check(&shuffle("idx", 31), |warp, lane| {
                from(warp, lane, Some(lane / segment * segment + distance % segment))
            });
        }
    }
}

#[test]
fn matches() {
    check("%v = and.b32 %v, 3\n%r = match.b32 %v, %m", |warp, lane| {
        let mine = warp.value(lane).map(|v| v & 3);
        [warp.lanes.iter().filter(|l| Some(l.1 & 3) == mine).map(|l| 1u64 << l.0).sum(), 0]
    });
    check("%v = and.b32 %v, 0\n%r, %q = match.all_equal.b32 %v, %m", |warp, _| [warp.mask(), 1]);
    check("%v = mov.b32 %tid\n%r, %q = match.all_equal.b32 %v, %m", |warp, lane| {
        match warp.lanes.len() {
            1 => [1 << lane, 1],
            _ => [0, 0],
        }
    });
}

#[test]
fn reductions() {
    let fold = |warp: &Warp, f: fn(u32, u32) -> u32| {
        warp.lanes.iter().map(|l| l.1).reduce(f).unwrap_or(0).into()
    };
    check("%r = redux.add.u32 %v, %m", |warp, _| [fold(warp, u32::wrapping_add), 0]);
    check("%r = redux.min.u32 %v, %m", |warp, _| [fold(warp, u32::min), 0]);
    check("%r = redux.max.u32 %v, %m", |warp, _| [fold(warp, u32::max), 0]);
    check("%r = redux.min.s32 %v, %m", |warp, _| {
        [fold(warp, |a, b| (a as i32).min(b as i32) as u32), 0]
    });
    check("%r = redux.and.b32 %v, %m", |warp, _| [fold(warp, |a, b| a & b), 0]);
    check("%r = redux.or.b32 %v, %m", |warp, _| [fold(warp, |a, b| a | b), 0]);
    check("%r = redux.xor.b32 %v, %m", |warp, _| [fold(warp, |a, b| a ^ b), 0]);
}

#[test]
fn election_and_synchronisation() {
    check("warpsync %m\n%r, %q = elect %m", |warp, lane| {
        let leader = warp.lanes[0].0;
        [leader as u64, u64::from(lane == leader)]
    });
}

/// Barriers that reduce see every thread of the CTA once.
#[test]
fn reductions_over_the_cta() {
    let lines = "%t = cvt.u32.u64 %a
%t = and.b32 %t, 1
%p = setp.ne.u32 %t, 0
%n = bar.popc 0, %p
%x = cvt.u64.u32 %n
%all = bar.and 1, %p
%any = bar.or 2, %p
%y = selp.b64 1, 0, %all
@%any %y = or.b64 %y, 2
";
    let text = kernel("", "reg %n: b32\nreg %p, %all, %any: pred", lines);
    for width in WIDTHS {
        let out = run_kernel(&text, [Ty::B64; 4], THREADS, width);
        let count = out.rows.iter().filter(|r| r[0] & 1 != 0).count();
        let all = count == THREADS;
        let wanted = [count as u64, u64::from(all) | u64::from(count > 0) << 1];
        assert!(out.results.iter().all(|r| *r == wanted), "width {width}");
    }
}
