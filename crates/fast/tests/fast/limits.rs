//! Extreme kernels: very large ones, many live values, faults in the middle of a warp, launches on
//! many threads at once.

use crate::common::both::{Count, compare};
use crate::common::observed::bytes;
use crate::common::spins;
use converge::catalogue::Entry;
use fast::{Declined, Level};
use ir::FuncId;
use ir::testing::Rng;
use simt::machine::{Machine, Step};
use simt::memory::Addr;
use std::fmt::Write;
use std::time::{Duration, Instant};
use vm::{Engine, Launch, Program, catalogued, load_variables};

/// Words in the kernels' buffer.
const WORDS: u64 = 512;

fn program(text: &str) -> Program {
    let module = ir::text::parse(isa::FileId::default(), text)
        .unwrap_or_else(|d| panic!("{:#?}", d.iter().collect::<Vec<_>>()));
    Program::link(module).expect("it links")
}

/// Creates a launch of two blocks of 128 threads with a buffer of [`WORDS`] words; returns also the
/// buffer's address.
fn launch(program: &Program) -> (Launch<1>, Addr) {
    let entry = Entry::find("ipdom").expect("it is in the catalogue");
    let mut launch = Launch::new(FuncId(0), catalogued(entry));
    launch.variables = load_variables(program, &mut launch.memory).expect("room");
    (launch.grid, launch.block) = ([2, 1, 1], [128, 1, 1]);
    let buffer = launch.memory.allocate("a", 4 * WORDS).expect("room");
    let content: Vec<u8> = (0..4 * WORDS).map(|i| (i * 37) as u8).collect();
    launch.memory.host_write(buffer, &content).expect("it is there");
    launch.params = buffer.0.to_le_bytes().to_vec();
    (launch, buffer)
}

/// Compares a kernel on both engines.
fn same(text: &str) -> Count {
    let program = program(text);
    let (launch, _) = launch(&program);
    let mut count = Count::default();
    if let Err(what) = compare(&program, &launch, &mut count) {
        panic!("{what}");
    }
    count
}

const OPENING: &str = "entry:
  %a = ld.param.u64 [@a]
  %t = sreg.u32 tid.x
  %c = sreg.u32 ctaid.x
  %i = mad.u32 %c, 128, %t
  %wide = mulwide.u32 %i, 4
  %at = add.u64 %a, %wide
";

#[test]
fn large_kernels_end_the_same() {
    // 500 live values, one block of 10,000 instructions, 30,000 instructions in all.
    let mut rng = Rng::new(5);
    let names: Vec<String> = (0..500).map(|i| format!("%r{i}")).collect();
    let mut text = format!(
        "kernel @k(a: u64 global) {{\n  reg {}, %t, %c, %i: b32\n  reg %a, %at, %wide: b64\n  reg %p: pred\n{OPENING}",
        names.join(", ")
    );
    let mut body = |text: &mut String, count: usize| {
        for _ in 0..count {
            let [d, a, b] = [rng.below(500), rng.below(500), rng.below(500)];
            let op = ["add.u32", "xor.b32", "mul.u32", "sub.u32", "add.rn.f32"][rng.below(5)];
            let _ = writeln!(text, "  %r{d} = {op} %r{a}, %r{b}");
        }
    };
    for (i, name) in names.iter().enumerate() {
        let _ = writeln!(text, "  {name} = mad.u32 %i, {}, {i}", 2 * i + 1);
    }
    body(&mut text, 10_000);
    for part in 0..190 {
        let _ = writeln!(text, "  %p = setp.gt.s32 %r{part}, %r{}", part + 1);
        let _ = writeln!(text, "  @%p br skip{part}\nwork{part}:");
        body(&mut text, 100);
        let _ = writeln!(text, "skip{part}:");
    }
    for name in &names {
        let _ = writeln!(text, "  %t = xor.b32 %t, {name}");
    }
    text.push_str("  st.global.u32 [%at], %t\n  ret\n}\n");
    let begin = Instant::now();
    let count = same(&text);
    assert!(count.compared > 0 && count.refused + count.stopped == 0, "{count:?}");
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}

#[test]
fn faults_leave_memory_to_the_exact_engine() {
    // Lane 17 of warp 3 of the second block faults, after stores of all others.
    for (what, fault) in [
        ("unmapped", "  @%p %at = add.u64 %at, 0x100000"),
        ("misaligned", "  @%p %at = add.u64 %at, 2"),
        ("null", "  @%p %at = mov.b64 0"),
        ("read-only", "  @%p %at = mov.b64 @table"),
    ] {
        let text = format!(
            "const @table size 16 align 8 = [u64 5, 6]
kernel @k(a: u64 global) {{
  reg %t, %c, %i, %v: b32
  reg %a, %at, %wide: b64
  reg %p: pred
{OPENING}  st.global.u32 [%at], %i
  %v = ld.global.u32 [%at]
  %p = setp.eq.u32 %i, 241
{fault}
  st.global.u32 [%at], %t
  ret
}}
"
        );
        let program = program(&text);
        let (launch, _) = launch(&program);
        let mut state = Engine::<1>.launch(&program, launch.clone()).expect("it launches");
        let kernel = fast::prepare(&program, &state, true).expect("it is taken");
        let ended = fast::run(&kernel, &mut state, Level::best(), false, &mut |_, _| true);
        assert!(matches!(ended, Err(Declined::Running(_))), "{what}: {ended:?}");
        assert_eq!(bytes(state.memory()), bytes(&launch.memory), "{what}");
        // The exact engine can run the state, and reports the place of the fault.
        match Engine::<1>.run_unobserved(&program, &mut state, u64::MAX) {
            Step::Fault(fault) => {
                assert_eq!((fault.group.cta, fault.group.group), (1, 3), "{what}");
                assert_eq!(fault.lanes.iter().collect::<Vec<_>>(), [17], "{what}");
            }
            other => panic!("{what}: {other:?}"),
        }
        let mut stored = [0; 8];
        let buffer = Addr(u64::from_le_bytes(launch.params[..8].try_into().expect("eight")));
        state.memory().read_bytes(buffer.wrapping_add(4 * 239), &mut stored).expect("it is there");
        // Both stores of warp 2, whose last lane is thread 223, and only the first store of warp 3.
        assert_eq!(stored, [[239, 0, 0, 0], [240, 0, 0, 0]].concat()[..], "{what}");
        let count = same(&text);
        // The first block can be committed, because it does not fault.
        assert!(count.stopped > 0 && count.resumed > 0, "{what}: {count:?}");
    }
}

#[test]
fn concurrent_launches_end_the_same() {
    let text = format!(
        "kernel @k(a: u64 global) {{
  reg %t, %c, %i, %v, %n: b32
  reg %a, %at, %wide: b64
  reg %p: pred
{OPENING}  %v = ld.global.u32 [%at]
  %n = mov.b32 0
again:
  %v = mad.u32 %v, 5, %n
  %n = add.u32 %n, 1
  %p = setp.le.u32 %n, %t
  @%p br again
done:
  st.global.u32 [%at], %v
  ret
}}
"
    );
    let program = program(&text);
    let run = || {
        let (launch, buffer) = launch(&program);
        let mut state = Engine::<1>.launch(&program, launch).expect("it launches");
        let kernel = fast::prepare(&program, &state, true).expect("it is taken");
        let ended = fast::run(&kernel, &mut state, Level::best(), false, &mut |_, _| true);
        let mut out = vec![0; 4 * WORDS as usize];
        ended.expect("it ends").memory.read_bytes(buffer, &mut out).expect("it is there");
        out
    };
    let expected = run();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(run)).collect();
        for thread in threads {
            assert_eq!(thread.join().expect("no panic"), expected);
        }
    });
}

/// How a kernel ends where it is stopped after so many issues.
fn ends(text: &str, issues: u64) -> Result<bool, Declined> {
    spins::ends(text, issues, &|kernel, state, observer| {
        fast::run(&kernel, state, Level::best(), false, observer)
    })
}

#[test]
fn spins_that_count_are_left_to_the_exact_engine_early() {
    let counts = spins::spin("  %p = setp.ne.u32 %n, 0");
    assert_eq!(ends(&counts, 1 << 24), Err(Declined::Running("its state repeats")));
    // A count, by scalar or by row, that decides when the loop ends.
    let limited = spins::spin("  %p = setp.lt.u32 %i, 300000");
    assert_eq!(ends(&limited, 1 << 28), Ok(true));
    let limited = spins::spin("  %n = add.u32 %v, %i\n  %p = setp.ne.u32 %n, 12345");
    assert_eq!(ends(&limited, 1 << 24), Ok(false));
}
