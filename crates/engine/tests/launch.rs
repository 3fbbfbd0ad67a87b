//! Launches through the one door: which engine runs them, and what it leaves.

use std::convert::Infallible;
use std::sync::Mutex;

use engine::{
    Cache, Choice, End, EngineUsed, ExactLaunch, Guest, Launch, Level, Monitor, Options, Outcome,
    Progress, Selected, launch,
};
use simt::memory::{Addr, MemoryMap};
use vm::{Asynchrony, Program, Recheck, Retry, State, begin_bare, catalogued};

/// Thread t stores t. `lanes` makes lane 0 wait for lane 1 of its warp. `forever` never ends.
/// `count` ends after 30 million issues of each warp.
/// `twice` adds 1 to thread t's word, counts to a number, and adds 1 again.
/// `copies` would call a function with a copy if its parameter were 0.
const TEXT: &str = "
kernel @store(out: u64 global) {
  reg %t: b32
  reg %at, %wide: b64
entry:
  %at = ld.param.u64 [@out]
  %t = sreg.u32 tid.x
  %wide = mulwide.u32 %t, 4
  %at = add.u64 %at, %wide
  st.global.u32 [%at], %t
  ret
}
kernel @lanes(out: u64 global) {
  reg %t, %v: b32
  reg %p: pred
  reg %at: b64
entry:
  %at = ld.param.u64 [@out]
  %t = sreg.u32 tid.x
  %p = setp.eq.u32 %t, 0
  @%p br again
other:
  br write
again:
  %v = ld.volatile.global.u32 [%at]
  %p = setp.eq.u32 %v, 0
  @%p br again
seen:
  br end
write:
  st.volatile.global.u32 [%at], 1
  br end
end:
  ret
}
kernel @forever(out: u64 global) {
entry:
  br again
again:
  br again
}
kernel @twice(out: u64 global, limit: u32) {
  reg %t, %i, %v, %limit: b32
  reg %p: pred
  reg %at, %wide: b64
entry:
  %at = ld.param.u64 [@out]
  %limit = ld.param.u32 [@limit]
  %t = sreg.u32 tid.x
  %wide = mulwide.u32 %t, 4
  %at = add.u64 %at, %wide
  %v = ld.global.u32 [%at]
  %v = add.u32 %v, 1
  st.global.u32 [%at], %v
  %i = mov.u32 0
  br again
again:
  %i = add.u32 %i, 1
  %p = setp.lt.u32 %i, %limit
  @%p br again
end:
  %v = ld.global.u32 [%at]
  %v = add.u32 %v, 1
  st.global.u32 [%at], %v
  ret
}
kernel @count(out: u64 global) {
  reg %i: b32
  reg %p: pred
entry:
  %i = mov.u32 0
  br again
again:
  %i = add.u32 %i, 1
  %p = setp.lt.u32 %i, 10000000
  @%p br again
end:
  ret
}
func @copy(%from: b64) {
entry:
  cpasync.shared.b32 [%from], %from, 0
  ret
}
kernel @copies(out: u64 global) {
  reg %from: b64
  reg %p: pred
entry:
  %from = ld.param.u64 [@out]
  %p = setp.eq.u64 %from, 0
  @%p br copy
other:
  br end
copy:
  call @copy(%from)
  br end
end:
  ret
}
";

struct Bench {
    program: Program,
    cache: Mutex<Cache>,
    memory: MemoryMap,
    out: Addr,
    /// The parameter of `twice`.
    limit: u32,
    asynchrony: Option<Asynchrony>,
}

/// The number of the kernel `twice`.
const TWICE: u32 = 3;

/// Notes what the engine reports, and stops the launch after some polls.
#[derive(Default)]
struct Notes {
    selected: Vec<String>,
    polls: usize,
    stop_after: Option<usize>,
}

impl Monitor for Notes {
    fn poll(&mut self, _progress: Progress) -> bool {
        self.polls += 1;
        self.stop_after.is_none_or(|most| self.polls < most)
    }

    fn selected(&mut self, selected: &Selected<'_>) {
        self.selected.push(selected.to_string());
    }
}

impl Bench {
    fn new() -> Self {
        let module = ir::text::parse(isa::FileId::default(), TEXT)
            .unwrap_or_else(|d| panic!("{:?}", d.iter().collect::<Vec<_>>()));
        let mut memory = MemoryMap::new();
        let out = memory.allocate("out", 256).expect("room");
        let program = Program::link(module).expect("it links");
        Self { program, cache: Mutex::default(), memory, out, limit: 1, asynchrony: None }
    }

    fn state(&self, kernel: u32, mechanism: &str) -> State<1> {
        let entry = converge::Entry::find(mechanism).expect("it is in the catalogue");
        let mut launch = vm::Launch::new(ir::FuncId(kernel), catalogued(entry));
        // One warp alone waits for its own lanes.
        launch.block = if kernel == 1 { [32, 1, 1] } else { [64, 1, 1] };
        launch.params = self.out.0.to_le_bytes().to_vec();
        launch.params.extend(self.limit.to_le_bytes().into_iter().filter(|_| kernel == TWICE));
        launch.asynchrony = self.asynchrony;
        begin_bare(&self.program, launch).expect("it begins")
    }

    fn run(&mut self, kernel: u32, options: Options, notes: &mut Notes) -> Outcome {
        self.run_with(kernel, options, (false, None), notes)
    }

    fn run_with(
        &mut self,
        kernel: u32,
        options: Options,
        (retry, corrupt_byte): (bool, Option<(Addr, u8)>),
        notes: &mut Notes,
    ) -> Outcome {
        let state = self.state(kernel, "ipdom");
        let mut memory = std::mem::take(&mut self.memory);
        let (program, cache) = (&self.program, &self.cache);
        let mut restart = || {
            let state = self.state(kernel, Retry::MECHANISM);
            Ok::<_, Infallible>(ExactLaunch { program, state, counters: None })
        };
        let request = Launch { program, cache, options, state, corrupt_byte };
        let guest = Guest { memory: &mut memory, heap: None };
        let ran = if retry {
            launch(request, guest, Some(&mut restart), notes)
        } else {
            launch::<Infallible>(request, guest, None, notes)
        };
        self.memory = memory;
        ran.expect("it can be run")
    }

    fn words(&self) -> Vec<u32> {
        let mut bytes = [0; 256];
        self.memory.read_bytes(self.out, &mut bytes).expect("it is there");
        bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }
}

fn options(engine: Choice, detailed: bool) -> Options {
    Options { engine, detailed, ..Options::default() }
}

#[test]
fn every_engine_runs_a_launch_to_the_same_end() {
    let run = |engine| {
        let (mut bench, mut notes) = (Bench::new(), Notes::default());
        let outcome = bench.run(0, options(engine, true), &mut notes);
        assert_eq!(outcome.end, End::Done, "{engine:?}");
        assert_eq!(bench.words(), (0..64).collect::<Vec<u32>>(), "{engine:?}");
        let fast = matches!(outcome.ran, EngineUsed::Fast(_));
        assert_eq!(fast, engine != Choice::Exact, "{:?}", notes.selected);
        (outcome.stats, outcome.counters, notes.selected)
    };
    let (stats, counters, selected) = run(Choice::Exact);
    assert_eq!(selected, [""; 0]);
    assert_eq!((counters.counts.stores, counters.counts.traffic.global_sectors), (2, 8));
    for engine in [Choice::Fast, Choice::Interpreted, Choice::Compiled, Choice::Both] {
        let (other, counted, selected) = run(engine);
        assert_eq!((other, &counted), (stats, &counters), "{engine:?}");
        assert!(selected[0].starts_with("fast ("), "{selected:?}");
        assert_eq!(selected.len(), 1 + usize::from(engine == Choice::Both), "{selected:?}");
    }
}

/// Whether the last launch ran in code.
fn compiled(notes: &Notes) -> bool {
    notes.selected.last().is_some_and(|selected| selected.starts_with("fast (compiled"))
}

#[test]
fn kernels_are_compiled_after_long_launches() {
    // Other hosts compile no launches in detail.
    if Level::best() == Level::Portable {
        return;
    }
    // One long launch, which begins again in code; and many short ones.
    for (limit, most) in [(100_000, 1), (1, 1000)] {
        for detailed in [false, true] {
            let mut exact = Bench { limit, ..Bench::new() };
            let expected =
                exact.run(TWICE, options(Choice::Exact, detailed), &mut Notes::default());
            let (mut bench, mut notes) = (Bench { limit, ..Bench::new() }, Notes::default());
            let mut launches = 0;
            while launches == 0 || !compiled(&notes) {
                let ran = bench.run(TWICE, options(Choice::Fast, detailed), &mut notes);
                launches += 1;
                assert_eq!((ran.end, ran.stats), (End::Done, expected.stats));
                assert_eq!(ran.counters, expected.counters);
                assert!(bench.words().iter().all(|&word| word == 2 * launches));
                assert!(launches <= most, "{:?}", notes.selected);
            }
            assert_eq!(launches == 1, most == 1);
            // At once, or never.
            for (choice, code) in [(Choice::Compiled, true), (Choice::Interpreted, false)] {
                let mut bench = Bench { limit, ..Bench::new() };
                bench.run(TWICE, options(choice, detailed), &mut notes);
                assert_eq!(compiled(&notes), code, "{:?}", notes.selected.last());
            }
        }
    }
}

#[test]
fn counts_are_kept_only_if_asked_for() {
    for engine in [Choice::Exact, Choice::Fast] {
        let outcome = Bench::new().run(0, options(engine, false), &mut Notes::default());
        assert_eq!(outcome.counters, engine::Counters::default(), "{engine:?}");
        assert_eq!(outcome.stats.threads, 64);
    }
}

#[test]
fn engines_that_differ_are_reported_with_memory_of_the_exact_one() {
    let (mut bench, mut notes) = (Bench::new(), Notes::default());
    let corrupt_byte = Some((bench.out.wrapping_add(4 * 41), 0xee));
    let outcome =
        bench.run_with(0, options(Choice::Both, false), (false, corrupt_byte), &mut notes);
    let End::Differs(came) = outcome.end else { panic!("{:?}", outcome.end) };
    let Recheck::Memory(difference) = *came else { panic!("{came:?}") };
    assert_eq!((difference.offset, difference.exact, difference.other), (164, 41, 0xee));
    assert_eq!(difference.writer.map(|w| (w.group.group, w.lane)), Some((1, 9)));
    assert_eq!(bench.words(), (0..64).collect::<Vec<u32>>());
}

#[test]
fn a_hang_is_reported_or_run_again_as_the_caller_wants() {
    for engine in [Choice::Fast, Choice::Exact, Choice::Both] {
        let (mut bench, mut notes) = (Bench::new(), Notes::default());
        let hung = bench.run(1, options(engine, false), &mut notes);
        assert!(matches!(hung.end, End::Hang(_)), "{:?}", hung.end);
        assert!(matches!(hung.ran, EngineUsed::Exact(_)), "{:?}", hung.ran);
        let mut bench = Bench::new();
        let again = bench.run_with(1, options(engine, false), (true, None), &mut notes);
        assert_eq!((again.end, again.ran), (End::Done, EngineUsed::Retried));
        assert_eq!(bench.words()[0], 1);
        // What hangs in the second run, too, is the first run's hang.
        let never = bench.run_with(2, options(engine, false), (true, None), &mut notes);
        assert!(matches!(never.end, End::Hang(_)), "{:?}", never.end);
        assert!(matches!(never.ran, EngineUsed::Exact(_)), "{:?}", never.ran);
    }
}

#[test]
fn kernels_without_asynchronous_operations_have_no_order_of_them() {
    let mut bench = Bench::new();
    bench.asynchrony = Some(Asynchrony::Late);
    for (name, kernel, fast) in [("store", 0, true), ("copies", 6, false)] {
        let outcome = bench.run(kernel, options(Choice::Fast, true), &mut Notes::default());
        assert_eq!(outcome.end, End::Done, "{name}");
        assert_eq!(matches!(outcome.ran, EngineUsed::Fast(_)), fast, "{name}: {:?}", outcome.ran);
    }
}

#[test]
fn a_monitor_stops_a_launch() {
    for engine in [Choice::Exact, Choice::Interpreted, Choice::Fast, Choice::Both] {
        let (mut bench, mut notes) =
            (Bench::new(), Notes { stop_after: Some(1), ..Notes::default() });
        let outcome = bench.run(4, options(engine, true), &mut notes);
        assert_eq!(outcome.end, End::Interrupted, "{engine:?}");
        assert_eq!(notes.polls, 1, "{engine:?}");
        assert_eq!(outcome.counters.counts.ctas, 0, "{engine:?}");
    }
}
