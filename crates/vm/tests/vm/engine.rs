//! The exact engine on small IR kernels: results, lane slots, barriers, collectives, calls, hangs.

use converge::catalogue::Entry;
use simt::machine::{HangKind, Machine, Step, Wait};
use simt::memory::Addr;
use simt::slots::SlotCause;
use vm::{Engine, Launch, Program, State, catalogued, load_variables};

/// Links a module in text form.
fn program(text: &str) -> Program {
    let module = ir::text::parse(isa::FileId::default(), text)
        .unwrap_or_else(|d| panic!("{:#?}", d.iter().collect::<Vec<_>>()));
    Program::link(module).unwrap_or_else(|e| panic!("{e:#?}"))
}

/// A launch of kernel `k` with one output buffer of `words` 32-bit words, its address as the only
/// parameter.
fn launch(
    program: &Program,
    mechanism: &str,
    width: u32,
    block: u32,
    words: u64,
) -> (Launch<1>, Addr) {
    let entry = Entry::find(mechanism).unwrap();
    let mut launch = Launch::new(program.module().function("k").unwrap(), catalogued(entry));
    let out = launch.memory.allocate("out", 4 * words).unwrap();
    launch.variables = load_variables(program, &mut launch.memory).unwrap();
    launch.params = out.0.to_le_bytes().to_vec();
    launch.block = [block, 1, 1];
    launch.width = width;
    (launch, out)
}

fn words(state: &State<1>, out: Addr, count: usize) -> Vec<u32> {
    let mut bytes = vec![0; 4 * count];
    state.memory().read_bytes(out, &mut bytes).unwrap();
    bytes.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect()
}

/// Runs to the end; the words of the buffer.
fn run(text: &str, mechanism: &str, width: u32, block: u32, count: u64) -> (Vec<u32>, State<1>) {
    let program = program(text);
    let (launch, out) = launch(&program, mechanism, width, block, count);
    let engine = Engine::<1>;
    let mut state = engine.launch(&program, launch).unwrap();
    let end = engine.run_unobserved(&program, &mut state, 1_000_000);
    assert_eq!(end, Step::Done, "{mechanism}");
    assert!(state.stats().slots.identity_holds());
    (words(&state, out, count as usize), state)
}

const TRIPS: &str = "
kernel @k(out: u64 global) {
  reg %tid, %n, %sum: b32
  reg %p: pred
  reg %at, %wide: b64
entry:
  %at = ld.param.u64 [@out]
  %tid = sreg.u32 tid.x
  %n = mov.u32 %tid
  %sum = mov.u32 0
head:
  %p = setp.eq.u32 %n, 0
  @%p br done
body:
  %sum = add.u32 %sum, %n
  %n = sub.u32 %n, 1
  br head
done:
  %wide = mulwide.u32 %tid, 4
  %at = add.u64 %at, %wide
  st.global.u32 [%at], %sum
  ret
}
";

#[test]
fn a_divergent_loop_sums_under_every_mechanism() {
    for mechanism in ["serial", "ipdom", "min-pc"] {
        for width in [4, 8, 32] {
            let (out, state) = run(TRIPS, mechanism, width, 20, 20);
            let expected: Vec<u32> = (0..20).map(|t| t * (t + 1) / 2).collect();
            assert_eq!(out, expected, "{mechanism} {width}");
            let never = state.stats().slots.of(SlotCause::NeverLaunched);
            assert_eq!(never > 0, width > 4, "20 threads fill groups of 4 only");
        }
    }
}

#[test]
fn ipdom_runs_the_loop_as_often_as_its_longest_lane() {
    let (_, state) = run(TRIPS, "ipdom", 32, 32, 32);
    let stats = state.stats();
    // Entry 4, head 2 x 32, body 3 x 31, done 4.
    assert_eq!(stats.slots.vector_issues, 4 + 64 + 93 + 4);
    assert_eq!((stats.conditional_branches, stats.divergent_branches), (32, 31));
    assert_eq!(stats.block_issues, 1 + 32 + 31 + 1);
}

const SHARED: &str = "
shared @tile size 256 align 4
kernel @k(out: u64 global) {
  reg %tid, %v, %at32, %other: b32
  reg %at, %wide: b64
entry:
  %at = ld.param.u64 [@out]
  %tid = sreg.u32 tid.x
  %v = mul.u32 %tid, 3
  %at32 = shl.b32 %tid, 2
  st.shared.u32 [%at32], %v
  bar.sync 0
  %other = sub.u32 63, %tid
  %at32 = shl.b32 %other, 2
  %v = ld.shared.u32 [%at32]
  %wide = mulwide.u32 %tid, 4
  %at = add.u64 %at, %wide
  st.global.u32 [%at], %v
  ret
}
";

#[test]
fn a_barrier_makes_the_other_warps_stores_visible() {
    // The shared array is named, so that it is laid out.
    let text = SHARED.replace(
        "%at32 = shl.b32 %tid, 2\n",
        "%at32 = mov.u32 @tile\n  %v = mul.u32 %tid, 3\n  %at32 = mad.u32 %tid, 4, %at32\n",
    );
    for mechanism in ["serial", "ipdom", "min-pc"] {
        for width in [8, 32] {
            let (out, state) = run(&text, mechanism, width, 64, 64);
            assert_eq!(out, (0..64).map(|t| 3 * (63 - t)).collect::<Vec<_>>());
            assert_eq!(state.stats().barriers, 1);
        }
    }
}

const SHUFFLE: &str = "
kernel @k(out: u64 global) {
  reg %tid, %v, %o: b32
  reg %at, %wide: b64
entry:
  %at = ld.param.u64 [@out]
  %tid = sreg.u32 tid.x
  %v = mul.u32 %tid, %tid
  %o = shfl.down.b32 %v, 1, 31, 0xffffffff
  %wide = mulwide.u32 %tid, 4
  %at = add.u64 %at, %wide
  st.global.u32 [%at], %o
  ret
}
";

#[test]
fn a_shuffle_meets_on_the_architectural_warp_at_any_width() {
    let expected: Vec<u32> =
        (0u32..64).map(|t| if t % 32 == 31 { t * t } else { (t + 1) * (t + 1) }).collect();
    for mechanism in ["serial", "ipdom", "min-pc"] {
        for width in [8, 16, 32] {
            let (out, state) = run(SHUFFLE, mechanism, width, 64, 64);
            assert_eq!(out, expected, "{mechanism} {width}");
            assert_eq!(state.stats().member_collectives, 2);
        }
    }
}

const RECURSION: &str = "
func @fib(%n: b32) -> (%r: b32) {
  reg %p: pred
  reg %m, %a, %b: b32
entry:
  %r = mov.u32 %n
  %p = setp.lt.u32 %n, 2
  @%p ret
more:
  %m = sub.u32 %n, 1
  %a = call @fib(%m)
  %m = sub.u32 %n, 2
  %b = call @fib(%m)
  %r = add.u32 %a, %b
  ret
}
kernel @k(out: u64 global) {
  reg %tid, %v: b32
  reg %at, %wide: b64
entry:
  %at = ld.param.u64 [@out]
  %tid = sreg.u32 tid.x
  %v = call @fib(%tid)
  %wide = mulwide.u32 %tid, 4
  %at = add.u64 %at, %wide
  st.global.u32 [%at], %v
  ret
}
";

#[test]
fn lanes_recurse_to_depths_of_their_own() {
    for mechanism in ["serial", "ipdom", "min-pc"] {
        let (out, _) = run(RECURSION, mechanism, 32, 12, 12);
        assert_eq!(out, [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89], "{mechanism}");
    }
}

#[test]
fn endless_recursion_is_a_fault() {
    let program = program(&RECURSION.replace("%p = setp.lt.u32 %n, 2", "%p = setp.lt.u32 0, 0"));
    let (launch, _) = launch(&program, "ipdom", 32, 1, 1);
    let engine = Engine::<1>;
    let mut state = engine.launch(&program, launch).unwrap();
    let Step::Fault(fault) = engine.run_unobserved(&program, &mut state, 10_000_000) else {
        panic!("must fault")
    };
    assert!(matches!(fault.cause, vm::Cause::StackOverflow { .. }));
}

const ONE_SIDED_BARRIER: &str = "
kernel @k(out: u64 global) {
  reg %tid: b32
  reg %p: pred
entry:
  %tid = sreg.u32 tid.x
  %p = setp.lt.u32 %tid, 4
  @%p br then
else:
  bar.sync 1
  br end
then:
  bar.sync 0
end:
  ret
}
";

#[test]
fn a_barrier_that_not_all_threads_reach_is_a_deadlock() {
    for mechanism in ["serial", "ipdom", "min-pc"] {
        let program = program(ONE_SIDED_BARRIER);
        let (launch, _) = launch(&program, mechanism, 32, 8, 1);
        let engine = Engine::<1>;
        let mut state = engine.launch(&program, launch).unwrap();
        let Step::Hang(hang) = engine.run_unobserved(&program, &mut state, 10_000) else {
            panic!("{mechanism} must hang")
        };
        assert_eq!(hang.kind, HangKind::Deadlock);
        let waits = hang.waiters.iter().filter(|w| matches!(w.wait, Wait::Barrier { .. })).count();
        assert!(waits >= 1, "{mechanism}: {hang:?}");
    }
}

const SPIN: &str = "
kernel @k(out: u64 global) {
  reg %old, %tid: b32
  reg %p: pred
  reg %at: b64
entry:
  %at = ld.param.u64 [@out]
try:
  %old = atom.cas.global.b32 [%at], 0, 1
  %p = setp.ne.u32 %old, 0
  @%p br try
critical:
  %old = ld.global.u32 [%at + 4]
  %old = add.u32 %old, 1
  st.global.u32 [%at + 4], %old
  %old = atom.exch.global.b32 [%at], 0
  ret
}
";

#[test]
fn a_spin_lock_ends_under_serial_and_hangs_under_ipdom() {
    let (out, _) = run(SPIN, "serial", 32, 4, 2);
    assert_eq!(out, [0, 4]);
    let program = program(SPIN);
    let (launch, _) = launch(&program, "ipdom", 32, 4, 2);
    let engine = Engine::<1>;
    let mut state = engine.launch(&program, launch).unwrap();
    let Step::Hang(hang) = engine.run_unobserved(&program, &mut state, 10_000_000) else {
        panic!("must hang")
    };
    assert_eq!(hang.kind, HangKind::Repeats);
}

#[test]
fn out_of_bounds_faults_with_the_lanes_and_leaves_memory_alone() {
    let program = program(TRIPS);
    let (mut launch, out) = launch(&program, "ipdom", 32, 32, 32);
    launch.params = (out.0 + 64).to_le_bytes().to_vec();
    let engine = Engine::<1>;
    let mut state = engine.launch(&program, launch).unwrap();
    let Step::Fault(fault) = engine.run_unobserved(&program, &mut state, 10_000) else {
        panic!("must fault")
    };
    assert_eq!(fault.lanes.to_string(), "{16-31}");
    assert_eq!(simt::trap::Cause::code(&fault.cause), "out-of-bounds");
    assert_eq!(words(&state, out, 32), [0; 32], "no lane's store took effect");
}
