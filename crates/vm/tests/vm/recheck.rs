//! Comparing another engine's memory with the exact engine's.

use simt::machine::{Machine as _, Step};
use simt::memory::{MemoryMap, Snapshot};
use vm::{
    Claim, Counts, Difference, Engine, Launch, Program, Recheck, State, begin_bare, catalogued,
    recheck,
};

/// Thread t stores t, then thread 5 adds to the word of its own.
const TEXT: &str = "
kernel @k(out: u64 global) {
  reg %t: b32
  reg %p: pred
  reg %at, %wide: b64
entry:
  %at = ld.param.u64 [@out]
  %t = sreg.u32 tid.x
  %wide = mulwide.u32 %t, 4
  %at = add.u64 %at, %wide
  st.global.u32 [%at], %t
  %p = setp.eq.u32 %t, 5
  @%p st.global.u32 [%at], 7
  ret
}
kernel @spin() {
entry:
  br again
again:
  br again
}
";

/// A state before a launch of 64 threads, memory before it, and memory after it on the exact
/// engine.
fn launched() -> (Program, State<1>, Snapshot, MemoryMap, Counts) {
    let module = ir::text::parse(isa::FileId::default(), TEXT)
        .unwrap_or_else(|d| panic!("{:?}", d.iter().collect::<Vec<_>>()));
    let program = Program::link(module).expect("it links");
    let entry = converge::Entry::find("ipdom").expect("it is in the catalogue");
    let mut launch = Launch::new(ir::FuncId(0), catalogued(entry));
    let mut memory = MemoryMap::new();
    let out = memory.allocate("out", 256).expect("room");
    (launch.block, launch.params) = ([64, 1, 1], out.0.to_le_bytes().to_vec());
    let fresh = begin_bare(&program, launch).expect("it begins");
    let before = memory.snapshot();
    let mut state = fresh.clone();
    std::mem::swap(state.memory_mut(), &mut memory);
    assert_eq!(Engine::<1>.run_unobserved(&program, &mut state, 1000), Step::Done);
    let stats = *state.stats();
    (program, fresh, before, state.into_memory(), stats)
}

#[test]
fn what_is_equal_is_the_same() {
    let (program, fresh, before, mut memory, stats) = launched();
    let claim = Claim { done: true, stats: Some(stats), output: None };
    let came = recheck(&program, &fresh, (&before, &mut memory), &claim, &mut |_| true);
    assert_eq!(came, Ok(Recheck::Same));
    let counts = Counts { divergent_branches: 3, ..stats };
    let wrong = Claim { stats: Some(counts), ..claim };
    let came = recheck(&program, &fresh, (&before, &mut memory), &wrong, &mut |_| true);
    let Ok(different @ Recheck::Counts(_)) = came else { panic!("{came:?}") };
    assert_eq!(different, Recheck::Counts(Box::new([stats, counts])));
    let told = different.to_string();
    assert!(
        told.contains("(divergent_branches is 0 on the exact engine, 3 on the other)"),
        "{told}"
    );
    let stopped = Claim { done: false, ..claim };
    let came = recheck(&program, &fresh, (&before, &mut memory), &stopped, &mut |_| true);
    assert_eq!(came, Ok(Recheck::End(Box::new(Step::Done))));
}

#[test]
fn a_word_that_differs_is_told_with_its_last_writer() {
    let (program, fresh, before, mut memory, stats) = launched();
    let base = memory.regions()[0].base();
    let claim = Claim { done: true, stats: Some(stats), output: None };
    for (thread, value, place) in [(37u64, 37, 0), (5, 7, 1)] {
        let at = base.wrapping_add(4 * thread);
        memory.host_write(at.wrapping_add(1), &[0xaa]).expect("it is there");
        let came = recheck(&program, &fresh, (&before, &mut memory), &claim, &mut |_| true);
        let Ok(Recheck::Memory(difference)) = came else { panic!("{came:?}") };
        assert_eq!((&*difference.name, difference.offset), ("out", 4 * thread));
        assert_eq!((difference.exact, difference.other), (value, value & 0xff | 0xaa00));
        let writer = difference.writer.expect("a thread wrote it");
        let warp = writer.group.group;
        assert_eq!(u64::from(warp) * 32 + u64::from(writer.lane), thread);
        let stores: Vec<usize> = program
            .code()
            .iter()
            .enumerate()
            .filter(|(_, code)| code.op() == Some(ir::Op::St))
            .map(|(pc, _)| pc)
            .collect();
        assert_eq!(writer.pc.0, stores[place] as u64);
        // Memory is the exact engine's now.
        let came = recheck(&program, &fresh, (&before, &mut memory), &claim, &mut |_| true);
        assert_eq!(came, Ok(Recheck::Same));
    }
}

#[test]
fn a_word_that_nobody_writes_has_no_writer() {
    let (program, fresh, _, mut memory, stats) = launched();
    let more = memory.allocate("more", 10).expect("room");
    let before = memory.snapshot();
    memory.host_write(more.wrapping_add(9), &[1]).expect("it is there");
    let claim = Claim { done: true, stats: Some(stats), output: None };
    let came = recheck(&program, &fresh, (&before, &mut memory), &claim, &mut |_| true);
    let Ok(Recheck::Memory(difference)) = came else { panic!("{came:?}") };
    let Difference { offset, size, exact, other, writer, .. } = *difference;
    assert_eq!((offset, size, exact, other, writer), (8, 2, 0, 0x100, None));
}

#[test]
fn it_stops_when_it_is_told_to() {
    let module = ir::text::parse(isa::FileId::default(), TEXT).expect("it is read");
    let program = Program::link(module).expect("it links");
    let entry = converge::Entry::find("ipdom").expect("it is in the catalogue");
    let launch = Launch::new(ir::FuncId(1), catalogued(entry));
    let fresh = begin_bare(&program, launch).expect("it begins");
    let mut memory = MemoryMap::new();
    let before = memory.snapshot();
    let claim = Claim { done: true, stats: None, output: None };
    let came = recheck(&program, &fresh, (&before, &mut memory), &claim, &mut |_| false);
    // A state that repeats may be found before the first look.
    assert!(matches!(came, Ok(Recheck::Stopped | Recheck::End(_))), "{came:?}");
}
