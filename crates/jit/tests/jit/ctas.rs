//! CTAs that follow each other: in slots of CTAs that have ended, among CTAs that wait, and in
//! storage that earlier launches have left.

use crate::harness::common::launches::{launch as launch_of, parsed};
use crate::harness::common::observed::{Exact, HashingObserver};
use crate::harness::{Count, compare_tiers, differs, supported};
use fast::{Finished, Level};
use ir::FuncId;
use jit::Compiled;
use simt::machine::{Machine, Step};
use vm::{Engine, Launch, Program, Resident, State};

const CTAS: u32 = 30;

fn linked(text: &str) -> (Program, Launch<1>) {
    let module = parsed(text);
    launch_of(&module, FuncId(0), 0)
}

/// What threads of [`waiting`] do besides.
#[derive(Clone, Copy, Debug)]
struct Besides {
    /// They read the clock.
    clock: bool,
    /// The interpreter executes a step (`fns`).
    interpreted: bool,
    /// Some end before the others come to the barrier.
    early: bool,
}

/// Returns a launch in which every third CTA waits until the next one has ended. Each thread stores
/// the CTA's clock, or a number, and what it has counted in shared memory.
fn waiting(block: u32, resident: u32, besides: Besides) -> (Program, Launch<1>) {
    let choose = |chosen, yes, no| if chosen { yes } else { no };
    let clock = choose(besides.clock, "sreg.u64 clock64", "mov.b64 7");
    let fns = choose(besides.interpreted, "fns.b32 %s, 0, 2", "mov.b32 2");
    let early = choose(besides.early, "3", "0");
    // One CTA alone does not wait.
    let waits = choose(resident == 1, "7", "1");
    let (program, mut launch) = linked(&format!(
        "shared @count size 4 align 4

kernel @k(flags: u64 global, out: u64 global) {{
  reg %t, %c, %n, %r, %s: b32
  reg %flags, %out, %at, %clock: b64
  reg %p: pred
entry:
  %flags = ld.param.u64 [@flags]
  %out = ld.param.u64 [@out]
  %t = sreg.u32 tid.x
  %c = sreg.u32 ctaid.x
  %n = sreg.u32 ntid.x
  %at = mulwide.u32 %c, 4
  %flags = add.u64 %flags, %at
  %r = rem.u32 %c, 3
  %p = setp.ne.u32 %r, {waits}
  @%p br work
wait:
  %r = ld.volatile.global.u32 [%flags+4]
  %p = setp.eq.u32 %r, 0
  @%p br wait
work:
  %r = and.b32 %t, {early}
  %p = setp.eq.u32 %r, 1
  @%p br leave
together:
  %s = atom.add.shared.u32 [@count], %t
  bar.sync 0
  %s = ld.shared.u32 [@count]
  %n = {fns}
  %s = add.u32 %s, %n
  %n = sreg.u32 ntid.x
  %clock = {clock}
  %r = cvt.u32.u64 %clock
  %r = mad.u32 %s, 1000, %r
  %c = mad.u32 %c, %n, %t
  %at = mulwide.u32 %c, 4
  %out = add.u64 %out, %at
  st.global.u32 [%out], %r
  %r = mov.b32 1
  st.volatile.global.u32 [%flags], %r
  ret
leave:
  ret
}}
",
    ));
    (launch.grid, launch.block) = ([CTAS, 1, 1], [block, 1, 1]);
    launch.resident = Resident::Fixed(resident);
    // Far from it, counts of CTAs that have ended are kept.
    launch.limit = 1 << 40;
    launch.params.clear();
    for words in [CTAS + 1, CTAS * block] {
        let buffer = launch.memory.allocate("words", 4 * u64::from(words)).expect("room");
        launch.params.extend(buffer.0.to_le_bytes());
    }
    (program, launch)
}

#[test]
fn ended_ctas_are_followed_while_others_wait() {
    let all = (0..8).map(|i| Besides { clock: i & 1 != 0, interpreted: i & 2 != 0, early: i > 3 });
    for besides in all {
        for block in [7, 32, 70, 256] {
            for resident in [1, 2, 64] {
                let (program, launch) = waiting(block, resident, besides);
                let mut count = Count::default();
                compare_tiers(&program, &launch, &mut count)
                    .unwrap_or_else(|what| panic!("{besides:?} {block} {resident}: {what}"));
                assert!(count.compared > 0, "{besides:?} {block} {resident}: {count:?}");
            }
        }
    }
}

/// Returns a launch of CTAs without loops, of which the last one alone takes more issues.
fn of_lengths(limit: u64) -> (Program, Launch<1>) {
    let more: String = (0..40).map(|_| "  %v = mad.u32 %v, 5, %t\n").collect();
    let (program, mut launch) = linked(&format!(
        "kernel @k(out: u64 global) {{
  reg %t, %c, %v: b32
  reg %out, %at: b64
  reg %p: pred
entry:
  %out = ld.param.u64 [@out]
  %t = sreg.u32 tid.x
  %c = sreg.u32 ctaid.x
  %v = mad.u32 %c, 64, %t
  %at = mulwide.u32 %v, 4
  %out = add.u64 %out, %at
  %p = setp.lt.u32 %c, {last}
  @%p br done
more:
{more}
done:
  st.global.u32 [%out], %v
  ret
}}
",
        last = CTAS - 1
    ));
    (launch.grid, launch.block) = ([CTAS, 1, 1], [64, 1, 1]);
    launch.limit = limit;
    let buffer = launch.memory.allocate("out", u64::from(4 * 64 * CTAS)).expect("room");
    launch.params = buffer.0.to_le_bytes().to_vec();
    (program, launch)
}

#[test]
fn the_limit_holds_for_each_cta_whose_counts_are_kept() {
    for (limit, ends) in [(1 << 30, true), (100_000, true), (110, true), (80, false), (20, false)] {
        let (program, launch) = of_lengths(limit);
        let exact = Exact::new(&program, &launch);
        assert_eq!(matches!(exact.end, Step::Done), ends, "{limit}");
        let mut count = Count::default();
        compare_tiers(&program, &launch, &mut count).unwrap_or_else(|w| panic!("{limit}: {w}"));
        assert_eq!(count.compared > 0, ends, "{limit}: {count:?}");
    }
}

/// Returns a launch whose threads read registers and shared memory that they have not written, and
/// write them afterwards.
fn unwritten(block: u32, dynamic_shared: u64) -> (Program, Launch<1>) {
    let (program, mut launch) = linked(
        "shared @own size 512 align 4

kernel @k(out: u64 global) {
  reg %t, %c, %i, %s, %v: b32
  reg %out, %at, %long: b64
  reg %p, %q: pred
entry:
  %out = ld.param.u64 [@out]
  %t = sreg.u32 tid.x
  %c = sreg.u32 ctaid.x
  %c = mad.u32 %c, 70, %t
  %at = mulwide.u32 %c, 4
  %out = add.u64 %out, %at
  %s = mov.u32 @own
  %s = mad.u32 %t, 4, %s
  %i = mov.b32 0
again:
  %v = add.u32 %v, %t
  @%q %v = add.u32 %v, 100
  %long = add.u64 %long, 3
  %c = ld.shared.u32 [%s]
  %v = add.u32 %v, %c
  %c = cvt.u32.u64 %long
  %v = add.u32 %v, %c
  st.shared.u32 [%s], %v
  %q = setp.gt.u32 %v, 40
  %i = add.u32 %i, 1
  %p = setp.lt.u32 %i, 3
  @%p br again
done:
  st.global.u32 [%out], %v
  ret
}
",
    );
    (launch.grid, launch.block) = ([CTAS, 1, 1], [block, 1, 1]);
    launch.limit = 1 << 40;
    launch.dynamic_shared = dynamic_shared;
    let buffer = launch.memory.allocate("out", u64::from(4 * 70 * CTAS)).expect("room");
    launch.params = buffer.0.to_le_bytes().to_vec();
    (program, launch)
}

/// Runs launches one after another on the same kernel: with more shared memory, and with less.
fn check_launches(
    (block, name): (u32, &str),
    run: &dyn Fn(State<1>, &mut HashingObserver) -> Finished,
) {
    for dynamic_shared in [0, 4096, 0, 64, 64] {
        let (program, launch) = unwritten(block, dynamic_shared);
        let exact = Exact::new(&program, &launch);
        let state = Engine::<1>.launch(&program, launch).expect("it is right");
        let mut observer = HashingObserver::default();
        let finished = run(state, &mut observer);
        differs(&finished, &observer, &exact)
            .unwrap_or_else(|what| panic!("{block} {name} {dynamic_shared}: {what}"));
    }
}

#[test]
fn launches_find_nothing_of_others() {
    // With whole warps, CTAs follow each other in place.
    for block in [70, 64] {
        let (program, launch) = unwritten(block, 0);
        let state = Engine::<1>.launch(&program, launch).expect("it is right");
        let kernel = || fast::prepare(&program, &state, true).expect("it is taken");
        let interpreted = kernel();
        check_launches((block, "interpreted"), &|mut state, observer| {
            fast::run(&interpreted, &mut state, Level::best(), false, observer).expect("it ends")
        });
        for level in supported() {
            let Ok(compiled) = Compiled::at(kernel(), level, false) else { continue };
            check_launches((block, level.name()), &|state, observer| {
                compiled.run(state, observer).expect("it ends")
            });
        }
    }
}
