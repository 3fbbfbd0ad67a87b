//! CTAs that follow each other: in slots of CTAs that have ended, among CTAs that wait, and in
//! storage that earlier launches have left.

use crate::harness::common::launches::{launch as launch_of, parsed};
use crate::harness::common::observed::{Exact, HashingObserver};
use crate::harness::{Count, compare_tiers, differs, supported};
use fast::{Declined, Finished, Level};
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

/// What CTAs of [`short_ctas`] do besides.
#[derive(Clone, Copy, Debug)]
struct Now {
    /// All wait at a barrier.
    barrier: bool,
    /// In some, the interpreter executes a step.
    interpreted: bool,
    /// In some, threads end before the others: not the same ones in each.
    early: bool,
}

/// Returns a launch of a box of CTAs. Each thread stores the CTA's coordinates and what it finds in
/// shared memory before and after it writes there.
fn short_ctas((block, shared): (u32, u32), resident: u32, now: Now) -> (Program, Launch<1>) {
    let barrier = if now.barrier { "bar.sync 0" } else { "%w = mov.b32 1" };
    let (interpreted, early) =
        (if now.interpreted { 4 } else { 99 }, if now.early { 2 } else { 99 });
    let (program, mut launch) = linked(&format!(
        "shared @own size {shared} align 4

kernel @k(out: u64 global) {{
  reg %t, %x, %y, %z, %n, %c, %s, %v, %w, %r: b32
  reg %out, %at: b64
  reg %p: pred
entry:
  %out = ld.param.u64 [@out]
  %t = sreg.u32 tid.x
  %x = sreg.u32 ctaid.x
  %y = sreg.u32 ctaid.y
  %z = sreg.u32 ctaid.z
  %n = sreg.u32 nctaid.y
  %c = mad.u32 %z, %n, %y
  %n = sreg.u32 nctaid.x
  %c = mad.u32 %c, %n, %x
  %r = and.b32 %t, 7
  %s = mov.u32 @own
  %s = mad.u32 %r, 4, %s
  %v = ld.shared.u32 [%s]
  %w = add.u32 %c, %t
  st.shared.u32 [%s], %w
  %n = rem.u32 %c, 5
  %p = setp.lt.u32 %n, {early}
  @%p br whole
some:
  %w = add.u32 %r, %c
  %w = and.b32 %w, 7
  %p = setp.gt.u32 %w, 3
  @%p br leave
whole:
  {barrier}
  %w = ld.shared.u32 [%s]
  %n = rem.u32 %c, 9
  %p = setp.ne.u32 %n, {interpreted}
  @%p br done
rare:
  %n = fns.b32 %w, 0, 2
  %w = add.u32 %w, %n
done:
  %n = sreg.u32 ntid.x
  %c = mad.u32 %c, %n, %t
  %at = mulwide.u32 %c, 4
  %out = add.u64 %out, %at
  %v = mad.u32 %w, 7, %v
  %v = mad.u32 %x, 100, %v
  %v = mad.u32 %y, 1000, %v
  %v = mad.u32 %z, 10000, %v
  st.global.u32 [%out], %v
  ret
leave:
  ret
}}
",
    ));
    let grid = [7, 5, 6];
    (launch.grid, launch.block) = (grid, [block, 1, 1]);
    launch.resident = Resident::Fixed(resident);
    launch.limit = 1 << 40;
    let words = u64::from(block * grid.iter().product::<u32>());
    let buffer = launch.memory.allocate("out", 4 * words).expect("room");
    launch.params = buffer.0.to_le_bytes().to_vec();
    (program, launch)
}

#[test]
fn short_ctas_follow_each_other() {
    let all = (0..8).map(|i| Now { barrier: i & 1 != 0, interpreted: i & 2 != 0, early: i > 3 });
    for now in all {
        for of in [(32, 32), (64, 36), (70, 64), (256, 1024)] {
            for resident in [1, 3, 16] {
                let (program, launch) = short_ctas(of, resident, now);
                let mut count = Count::default();
                compare_tiers(&program, &launch, &mut count)
                    .unwrap_or_else(|what| panic!("{now:?} {of:?} {resident}: {what}"));
                assert!(count.compared > 0, "{now:?} {of:?} {resident}: {count:?}");
            }
        }
    }
}

/// Returns a launch whose lanes part in the interpreter, and meet before a barrier.
fn parted(targets: u32) -> (Program, Launch<1>) {
    let each = |i| format!("l{i}:\n  %v = add.u32 %v, {i}\n  br join\n");
    let blocks: String = (0..targets).map(each).collect();
    let names: Vec<String> = (0..targets).map(|i| format!("l{i}")).collect();
    let (program, mut launch) = linked(&format!(
        "kernel @k(out: u64 global) {{
  reg %t, %c, %v: b32
  reg %out, %at: b64
entry:
  %out = ld.param.u64 [@out]
  %t = sreg.u32 tid.x
  %v = sreg.u32 ctaid.x
  %c = mad.u32 %v, 64, %t
  %t = rem.u32 %t, {targets}
  switch %t, [{names}]
{blocks}
join:
  bar.sync 0
  %at = mulwide.u32 %c, 4
  %out = add.u64 %out, %at
  st.global.u32 [%out], %v
  ret
}}
",
        names = names.join(", "),
    ));
    (launch.grid, launch.block) = ([CTAS, 1, 1], [64, 1, 1]);
    launch.limit = 1 << 40;
    let buffer = launch.memory.allocate("out", u64::from(4 * 64 * CTAS)).expect("room");
    launch.params = buffer.0.to_le_bytes().to_vec();
    (program, launch)
}

#[test]
fn ctas_follow_those_whose_lanes_the_interpreter_has_parted() {
    for targets in [2, 30] {
        for resident in [1, 16] {
            let (program, mut launch) = parted(targets);
            launch.resident = Resident::Fixed(resident);
            let mut count = Count::default();
            compare_tiers(&program, &launch, &mut count)
                .unwrap_or_else(|what| panic!("{targets} {resident}: {what}"));
            assert!(count.compared > 0, "{targets} {resident}: {count:?}");
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

/// Returns a launch of two CTAs one after another that go through a loop as often. Of 32 lanes, 31
/// go through the long block of the loop by themselves, so that a turn takes nearly as many issues
/// as it can.
fn long_ctas(trips: u32, limit: u64) -> (Program, Launch<1>) {
    let long: String = (0..800).map(|_| "  %v = mad.u32 %v, 5, %t\n").collect();
    let test = |i| format!("  %p = setp.eq.u32 %t, {i}\n  @%p br long\nt{}:\n", i + 1);
    let tests: String = (0..31).map(test).collect();
    let (program, mut launch) = linked(&format!(
        "kernel @k(out: u64 global) {{
  reg %t, %c, %n, %v: b32
  reg %out, %at: b64
  reg %p: pred
entry:
  %out = ld.param.u64 [@out]
  %t = sreg.u32 tid.x
  %c = sreg.u32 ctaid.x
  %v = mad.u32 %c, 32, %t
  %at = mulwide.u32 %v, 4
  %out = add.u64 %out, %at
  %n = mov.b32 {trips}
again:
{tests}
  br next
long:
{long}
  br next
next:
  st.global.u32 [%out], %v
  %n = sub.u32 %n, 1
  %p = setp.ne.u32 %n, 0
  @%p br again
done:
  ret
}}
"
    ));
    (launch.grid, launch.block) = ([2, 1, 1], [32, 1, 1]);
    launch.resident = Resident::Fixed(1);
    launch.limit = limit;
    let buffer = launch.memory.allocate("out", 4 * 32 * 2).expect("room");
    launch.params = buffer.0.to_le_bytes().to_vec();
    (program, launch)
}

#[test]
fn the_limit_holds_for_each_cta_that_others_follow() {
    for level in supported() {
        let (program, mut launch) = long_ctas(64 * 62, 1 << 40);
        let both = run_at(level, &program, &launch).expect("it ends").stats.slots.vector_issues;
        for (percent, ends) in [(99, false), (170, true)] {
            launch.limit = both / 2 / 100 * percent;
            let end = run_at(level, &program, &launch);
            assert_eq!(end.is_ok(), ends, "{level}: {percent} % of {both}");
        }
    }
}

/// Runs a launch on code for a level.
fn run_at(level: Level, program: &Program, launch: &Launch<1>) -> Result<Finished, Declined> {
    let state = Engine::<1>.launch(program, launch.clone()).expect("valid");
    let kernel = fast::prepare(program, &state, true).expect("supported");
    let compiled = Compiled::at(kernel, level, false).map_err(|(_, refused)| refused);
    let compiled = compiled.expect("code").on_threads(1);
    compiled.run(state, &mut HashingObserver::default())
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
  bar.sync 0
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
    // Turns of CTAs do not alternate at barriers.
    launch.resident = Resident::Fixed(1);
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
