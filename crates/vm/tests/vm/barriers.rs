//! The pass that places convergence barriers: results stay those of serial execution under any
//! schedule of the paths, lanes meet again where the stack would bring them together, and spin
//! locks end.

use crate::common;

use crate::common::graphs::HEAD;
use crate::common::{Run, THREADS, graph, verified};
use converge::{CATALOGUE, Knobs, Policy};
use flow::passes::barriers::{Yields, place_barriers};
use ir::{FuncId, Module, Origin};
use proptest::prelude::*;
use vm::Counts;

/// A run that may hang.
fn run<'a>(module: &'a Module, mechanism: &'a str, policy: Policy) -> Run<'a> {
    Run { policy, limit: 300_000, ..Run::new(module, mechanism, 32) }
}

#[track_caller]
fn ends(module: &Module, mechanism: &str, policy: Policy) -> (Vec<u32>, Counts) {
    run(module, mechanism, policy).done()
}

fn check(text: &str, seed: u64) {
    let module = verified(text);
    let expected = ends(&module, "serial", Policy::First).0;
    for yields in [Yields::Never, Yields::Always] {
        let (placed, report) =
            place_barriers(&module, module.function("k").unwrap(), yields).unwrap();
        let inserted: u64 = report.iter().map(|r| r.inserted).sum();
        let count =
            |m: &Module| -> u64 { m.functions.iter().flat_map(flow::kernel::block_lengths).sum() };
        // Block ends that issue nothing may have become jumps; everything else is as it was.
        assert_eq!(count(&placed), count(&module) + inserted);
        for policy in
            [Policy::First, Policy::RoundRobin { turn: 0 }, Policy::Random { state: seed }]
        {
            assert_eq!(ends(&placed, "convergence-barriers", policy).0, expected, "{text}");
        }
        // Other mechanisms take the operations for nothing.
        assert_eq!(ends(&placed, "ipdom", Policy::First).0, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_kernel(ends in common::ends(), seed in any::<u64>()) {
        check(&graph(&ends, false), seed);
    }

    #[test]
    fn any_called_function(ends in common::ends(), seed in any::<u64>()) {
        check(&graph(&ends, true), seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(25))]

    /// Whatever mechanism is named, the memory is that of serial execution; what its pass cannot
    /// take is refused.
    #[test]
    fn every_mechanism_of_the_catalogue(ends in common::ends(), device in any::<bool>()) {
        let text = graph(&ends, device);
        let module = verified(&text);
        let kernel = module.function("k").unwrap();
        let expected = self::ends(&module, "serial", Policy::First).0;
        for entry in CATALOGUE.iter().filter(|e| e.name != "uniform") {
            match vm::prepare(&module, kernel, entry.pass) {
                Ok(module) => {
                    let found = self::ends(&module, entry.name, Policy::First).0;
                    prop_assert_eq!(&found, &expected, "{}\n{}", entry.name, text);
                }
                Err(refusal) => {
                    let copies = refusal.to_string().contains("entered at several places");
                    let ends = refusal.to_string().contains("ends threads in a called function");
                    prop_assert!(copies || ends, "{} {}", entry.name, refusal);
                }
            }
        }
    }
}

/// What the barriers cost beyond the stack is their own operations, which this shape allows to
/// count by hand.
#[test]
fn lanes_meet_where_the_stack_brings_them_together() {
    let text = format!(
        "kernel @k(out: u64 global) {{{HEAD}
  %x = and.b32 %tid, 7
head:
  %h = add.u32 %h, 3
  %p = setp.eq.u32 %x, 0
  @%p br out
body:
  %x = sub.u32 %x, 1
  %q = setp.lt.u32 %x, 3
  @%q br small
large:
  %h = add.u32 %h, 5
  br tail
small:
  %h = add.u32 %h, 7
tail:
  %h = mul.u32 %h, 3
  br head
out:
  st.global.u32 [%at], %h
  ret
}}\n"
    );
    let module = verified(&text);
    let (placed, report) = place_barriers(&module, FuncId(0), Yields::Spinning).unwrap();
    assert_eq!((report[0].barriers, report[0].without), (2, 0));
    let serial = ends(&module, "serial", Policy::First);
    let stack = ends(&module, "ipdom", Policy::First);
    let barriers = ends(&placed, "convergence-barriers", Policy::First);
    assert_eq!(barriers.0, serial.0);
    // Two groups. Each of 7 rounds sets and waits, once for each side that is taken; one set and
    // wait around the loop, waits once for each of 8 trip counts. All lanes take the same side in
    // this kernel's first rounds and the last ones.
    let issues = |s: &Counts| s.slots.issues();
    let sync = issues(&barriers.1) - issues(&stack.1);
    let upper = 2 * (1 + 8 + 7 * 3);
    assert!(sync <= upper, "{sync} operations more than the stack, {upper} expected at most");
    assert!(issues(&barriers.1) * 4 < issues(&serial.1));
}

/// Lanes of a warp take a lock one after another; it is released behind the loop that takes it, or
/// inside.
fn lock(behind: bool) -> String {
    let critical = "
  %x = ld.volatile.global.u32 [%sum]
  %x = add.u32 %x, %tid
  st.volatile.global.u32 [%sum], %x
  %h = atom.exch.global.b32 [%lock], 0";
    let body = if behind {
        format!(
            "try:
  %h = atom.cas.global.b32 [%lock], 0, 1
  %p = setp.ne.u32 %h, 0
  @%p br try
critical:{critical}
done:
  ret"
        )
    } else {
        format!(
            "  %n = mov.u32 0
try:
  %h = atom.cas.global.b32 [%lock], 0, 1
  %p = setp.ne.u32 %h, 0
  @%p br again
critical:{critical}
  %n = mov.u32 1
again:
  %p = setp.eq.u32 %n, 0
  @%p br try
done:
  ret"
        )
    };
    format!(
        "kernel @k(out: u64 global) {{{HEAD}
  %lock = ld.param.u64 [@out]
  %sum = add.u64 %lock, 4
{body}
}}\n"
    )
    .replace("reg %at, %wide", "reg %at, %wide, %lock, %sum")
}

/// Which schemes end a spin lock that is released behind its loop: the first column of the deadlock
/// matrix.
#[test]
fn a_spin_lock_ends_where_it_should() {
    let module = verified(&lock(true));
    let sum: u32 = (0..THREADS).sum();
    let place = |yields| place_barriers(&module, FuncId(0), yields).unwrap().0.into_inner();
    let mask = || {
        let options = flow::passes::exec_mask::Options::default();
        flow::passes::exec_mask::exec_mask(&module, FuncId(0), options).unwrap().0.into_inner()
    };
    let plain = || Module::clone(&module);
    let turns = Policy::RoundRobin { turn: 0 };
    let cases: [(&str, Module, Policy, bool); 13] = [
        ("serial", plain(), Policy::First, true),
        ("ipdom", plain(), Policy::First, false),
        ("tf-stack", plain(), Policy::First, false),
        ("tf-sandy", plain(), Policy::First, false),
        ("min-pc", plain(), Policy::First, false),
        ("min-sp-pc", plain(), Policy::First, false),
        ("max-pc", plain(), Policy::First, true),
        ("min-pc", plain(), turns, true),
        ("barrier-only", plain(), turns, true),
        ("convergence-barriers", place(Yields::Spinning), Policy::First, true),
        ("convergence-barriers", place(Yields::Never), Policy::First, false),
        ("convergence-barriers", place(Yields::Never), turns, true),
        ("uniform", mask(), Policy::First, false),
    ];
    for (mechanism, module, policy, ends) in cases {
        let end = run(&module, mechanism, policy).end();
        assert_eq!(end.map(|e| e.0[1]), ends.then_some(sum), "{mechanism} {policy:?}");
    }
}

/// The stack hangs whichever side runs first: the owner waits at the rejoin point, or below the
/// lanes that spin.
#[test]
fn no_order_of_sides_helps_the_stack() {
    let module = verified(&lock(true));
    for (name, order) in converge::Order::ALL {
        let knobs = Knobs { order: Some(order), ..Knobs::default() };
        let run = Run { knobs, ..run(&module, "ipdom", Policy::First) };
        assert!(run.end().is_none(), "{name}");
    }
}

#[test]
fn the_safe_form_of_the_lock_ends_everywhere() {
    let module = verified(&lock(false));
    let sum: u32 = (0..THREADS).sum();
    let (placed, _) = place_barriers(&module, FuncId(0), Yields::Spinning).unwrap();
    for (mechanism, module) in [
        ("serial", &module),
        ("ipdom", &module),
        ("min-pc", &module),
        ("convergence-barriers", &placed),
    ] {
        assert_eq!(ends(module, mechanism, Policy::First).0[1], sum, "{mechanism}");
    }
}

#[test]
fn operations_read_as_the_rule_says() {
    let text = "
kernel @k(out: u64 global) {
  reg %p: pred
  reg %a: b32
entry:
  %p = setp.lt.u32 %a, 7
  @%p br head
then:
  %a = add.u32 %a, 1
head:
  %a = sub.u32 %a, 1
  %p = setp.ne.u32 %a, 0
  @%p br head
done:
  ret
}
";
    let module = verified(text);
    let (placed, _) = place_barriers(&module, FuncId(0), Yields::Always).unwrap();
    let expected = "\
kernel @k(out: u64 global) {
  reg %p: pred
  reg %a: b32
entry:
  %p = setp.lt.u32 %a, 7
  cb_set 0, enter !sync
  @%p br enter
then:
  %a = add.u32 %a, 1
enter:
  cb_wait 0 !sync
  cb_set 1, done !sync
head:
  %a = sub.u32 %a, 1
  %p = setp.ne.u32 %a, 0
  yield !sync
  @%p br head
done:
  cb_wait 1 !sync
  ret
}
";
    assert_eq!(ir::text::print(&placed), expected);
    let tagged = placed.functions[0].blocks.iter().flat_map(|b| &b.insts);
    assert_eq!(tagged.filter(|i| i.origin == Origin::Sync).count(), 5);
}
