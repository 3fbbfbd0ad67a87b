//! Proofs that the contracts between the rooms carry, beyond what one mechanism on one thread
//! shows.

use converge::catalogue::Entry;
use converge::{BuildMechanism, Knobs, Order, Policy, Start};
use simt::machine::{Machine, Step};
use simt::memory::Addr;
use simt::observe::{self, Events, Observer};
use simt::slots::LaneSlots;
use vm::{Compiled, Engine, Launch, Program, State, catalogued, load_variables};

/// Nested divergence, a loop with a lane-dependent trip count, shared memory, a barrier, a shuffle
/// and an atomic.
const KERNEL: &str = "
shared @tile size 1024 align 4
kernel @k(out: u64 global) {
  reg %tid, %x, %y, %i, %slot: b32
  reg %p, %q: pred
  reg %at, %base, %wide: b64
entry:
  %base = ld.param.u64 [@out]
  %tid = sreg.u32 tid.x
  %x = mul.u32 %tid, 2654435761
  %x = shr.u32 %x, 27
  %y = mov.u32 0
  %i = mov.u32 0
head:
  %p = setp.ge.u32 %i, %x
  @%p br after
body:
  %slot = and.b32 %i, 1
  %q = setp.eq.u32 %slot, 0
  @%q br even
odd:
  %y = add.u32 %y, 7
  br latch
even:
  %y = mad.u32 %y, 3, 1
latch:
  %i = add.u32 %i, 1
  br head
after:
  %slot = mov.u32 @tile
  %slot = mad.u32 %tid, 4, %slot
  st.shared.u32 [%slot], %y
  bar.sync 0
  %i = xor.b32 %tid, 32
  %slot = mov.u32 @tile
  %slot = mad.u32 %i, 4, %slot
  %x = ld.shared.u32 [%slot]
  %x = shfl.bfly.b32 %x, 3, 31, 0xffffffff
  atom.add.global.u32 [%base], %x
  %wide = mulwide.u32 %tid, 4
  %at = add.u64 %base, %wide
  st.global.u32 [%at + 4], %x
  ret
}
";

const THREADS: u32 = 64;

fn program() -> Program {
    let module = ir::text::parse(isa::FileId::default(), KERNEL).expect("the kernel parses");
    ir::verify::verify(&module).expect("the kernel is valid");
    Program::link(module).expect("the kernel links")
}

fn launch<const N: usize>(program: &Program, mechanism: &str, width: u32) -> (Launch<N>, Addr)
where
    Start<N>: BuildMechanism<N>,
{
    let kernel = program.module().function("k").expect("there is a kernel k");
    let entry = Entry::find(mechanism).expect("a mechanism of the catalogue");
    let mut launch = Launch::new(kernel, catalogued(entry));
    let out = launch.memory.allocate("out", 4 * u64::from(THREADS) + 4).expect("room");
    launch.variables = load_variables(program, &mut launch.memory).expect("room");
    launch.params = out.0.to_le_bytes().to_vec();
    launch.block = [THREADS, 1, 1];
    launch.width = width;
    (launch, out)
}

fn content<const N: usize>(state: &State<N>, out: Addr) -> Vec<u8> {
    let mut bytes = vec![0; 4 * THREADS as usize + 4];
    state.memory().read_bytes(out, &mut bytes).expect("the buffer is mapped");
    bytes
}

fn run<const N: usize>(program: &Program, launch: Launch<N>, out: Addr) -> (Vec<u8>, State<N>)
where
    State<N>: Compiled<N>,
{
    let engine = Engine::<N>;
    let mut state = engine.launch(program, launch).expect("it launches");
    let end = engine.run_unobserved(program, &mut state, 1_000_000);
    assert_eq!(end, Step::Done);
    assert!(state.stats().slots.identity_holds());
    (content(&state, out), state)
}

fn reference(program: &Program) -> Vec<u8> {
    let (launch, out) = launch::<1>(program, "serial", 32);
    run(program, launch, out).0
}

#[test]
fn every_mechanism_order_and_policy_leaves_the_memory_of_serial() {
    let program = program();
    let expected = reference(&program);
    for mechanism in ["ipdom", "min-pc", "serial"] {
        for order in [None, Some(Order::Taken), Some(Order::Minority), Some(Order::Majority)] {
            for policy in
                [Policy::First, Policy::RoundRobin { turn: 0 }, Policy::Random { state: 7 }]
            {
                for width in [1, 8, 16, 32, 64] {
                    let (mut launch, out) = launch::<1>(&program, mechanism, width);
                    launch.knobs = Knobs { order, ..Knobs::default() };
                    launch.policy = policy;
                    let found = run(&program, launch, out).0;
                    assert_eq!(found, expected, "{mechanism} {order:?} {policy:?} {width}");
                }
            }
        }
    }
}

#[test]
fn a_cta_wide_group_is_a_group_like_any_other() {
    let program = program();
    let (launch, out) = launch::<16>(&program, "ipdom", 1024);
    let (found, state) = run(&program, launch, out);
    assert_eq!(found, reference(&program));
    assert_eq!(state.stats().slots.width, 1024 * state.stats().slots.vector_issues);
}

#[test]
fn a_state_cloned_in_mid_kernel_runs_on_to_the_same_end() {
    let program = program();
    for mechanism in ["serial", "ipdom", "min-pc"] {
        let (launch, out) = launch::<1>(&program, mechanism, 32);
        let engine = Engine::<1>;
        let mut state = engine.launch(&program, launch).expect("it launches");
        let mut copies = Vec::new();
        while engine.run_unobserved(&program, &mut state, 31) == Step::Issued {
            copies.push(state.clone());
        }
        assert!(copies.len() > 5, "{mechanism}");
        for mut copy in copies {
            assert_eq!(engine.run_unobserved(&program, &mut copy, 1_000_000), Step::Done);
            assert_eq!(content(&copy, out), content(&state, out), "{mechanism}");
            assert_eq!(copy.stats(), state.stats(), "{mechanism}");
        }
    }
}

#[test]
fn two_host_threads_step_two_launches_of_one_program() {
    let program = program();
    let expected = reference(&program);
    let ends = std::thread::scope(|scope| {
        let run_on = |mechanism: &'static str| {
            let program = &program;
            scope.spawn(move || {
                let (launch, out) = launch::<1>(program, mechanism, 32);
                let engine = Engine::<1>;
                let mut state = engine.launch(program, launch).expect("it launches");
                while engine.run_unobserved(program, &mut state, 1) == Step::Issued {
                    std::thread::yield_now();
                }
                content(&state, out)
            })
        };
        let threads = [run_on("ipdom"), run_on("min-pc")];
        threads.map(|t| t.join().expect("no panic"))
    });
    assert_eq!(ends, [expected.clone(), expected]);
}

/// Counts issues by itself, to be held against the engine's counters.
#[derive(Default)]
struct Counter {
    slots: LaneSlots,
    branches: u64,
    accesses: u64,
    arrivals: u32,
}

impl Observer<1> for Counter {
    const EVENTS: Events = Events::ALL;
    fn issue(&mut self, issue: &observe::Issue<'_, 1>) {
        self.slots.vector(issue.lanes);
    }
    fn branch(&mut self, branch: &observe::Branch<'_, 1>) {
        self.branches += u64::from(branch.targets.len() > 1);
    }
    fn access(&mut self, access: &observe::Access<'_>) {
        self.accesses += access.lanes.len() as u64;
    }
    fn sync(&mut self, sync: &observe::Sync<'_, 1>) {
        if sync.kind == observe::SyncKind::BarrierArrive {
            self.arrivals += sync.lanes.count();
        }
    }
}

#[test]
fn an_observer_sees_what_the_engine_counts() {
    let program = program();
    let (launch, _) = launch::<1>(&program, "ipdom", 32);
    let engine = Engine::<1>;
    let mut state = engine.launch(&program, launch).expect("it launches");
    let mut counter = Counter::default();
    assert_eq!(engine.run(&program, &mut state, &mut counter, 1_000_000), Step::Done);
    assert_eq!(counter.slots, state.stats().slots);
    assert_eq!(counter.branches, state.stats().divergent_branches);
    assert_eq!(counter.arrivals, THREADS);
    // Parameter load, shared store and load, atomic, global store: once a thread each.
    assert_eq!(counter.accesses, 5 * u64::from(THREADS));
}
