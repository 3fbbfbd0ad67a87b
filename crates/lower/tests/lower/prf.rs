//! Random kernels on the predicate-register-file GPU store what each thread alone would store.

use super::programs::{
    Kind, body, collectives, comparisons, fixed, graph, graphs, kernel, launched_kernel,
    launched_straight, programs, rounds, shifts, straight, verified, work,
};
use ::prf::timing::Timed;
use ::prf::{Prf, Profile, Words};
use ir::{FuncId, Module, VerifiedModule};
use lower::legal::{self, legalise};
use lower::prf::{Assembly, TARGET, prf, prf_for};
use proptest::prelude::*;
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Permission};
use std::fmt::Write;
use vm::{Engine, Launch, Program, catalogued, load_variables};

pub(crate) const THREADS: u32 = 40;
pub(crate) const BLOCKS: u32 = 2;
const OUT: u64 = 0x2000_0000;
const ARGUMENTS: u64 = 0xf0_0000;

/// What every thread stores when it runs alone.
pub(crate) fn alone(module: &Module) -> Vec<u32> {
    alone_in(module, BLOCKS, THREADS)
}

/// The same, of so many blocks of so many threads.
fn alone_in(module: &Module, blocks: u32, threads: u32) -> Vec<u32> {
    let program = Program::link(module.clone()).unwrap();
    let serial = converge::Entry::find("serial").unwrap();
    let mut launch = Launch::<1>::new(FuncId(0), catalogued(serial));
    let bytes = 4 * (threads * blocks) as usize;
    let out = Addr(OUT);
    launch.memory.map_at("out", out, bytes as u64, Permission::ReadWrite).unwrap();
    launch.variables = load_variables(&program, &mut launch.memory).unwrap();
    launch.params = [out.0.to_le_bytes(), 77u64.to_le_bytes()].concat()[..12].to_vec();
    (launch.grid, launch.block) = ([blocks, 1, 1], [threads, 1, 1]);
    let mut state = Engine::<1>.launch(&program, launch).unwrap();
    assert_eq!(Engine::<1>.run_unobserved(&program, &mut state, u64::MAX), Step::Done);
    words(state.memory(), out, bytes)
}

pub(crate) fn words(memory: &MemoryMap, at: Addr, bytes: usize) -> Vec<u32> {
    let mut content = vec![0; bytes];
    memory.read_bytes(at, &mut content).unwrap();
    content.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect()
}

/// A program with its launch of so many blocks of so many threads.
fn launched(
    assembly: &Assembly,
    profile: Profile,
    (blocks, threads): (u32, u32),
) -> (::prf::Program, ::prf::Launch) {
    let config = profile.config();
    let assembled = ::prf::assemble(config.encoding, isa::FileId::default(), &assembly.text);
    let assembled = assembled.unwrap_or_else(|d| panic!("{}\n{d:#?}", assembly.text));
    let program = ::prf::Program::new(&Words::assembled(&assembled), config).unwrap();
    let bytes = u64::from(4 * threads * blocks);
    let mut memory = MemoryMap::new();
    memory.map_at("out", Addr(OUT), bytes, Permission::ReadWrite).unwrap();
    memory.map_at("arguments", Addr(ARGUMENTS), 4096, Permission::ReadWrite).unwrap();
    memory
        .host_write(Addr(ARGUMENTS), &[OUT.to_le_bytes()[..4].to_vec(), vec![77, 0, 0, 0]].concat())
        .unwrap();
    let argument = ARGUMENTS as u32;
    let launch = ::prf::Launch { threads, blocks, total: None, argument, entry: None, memory };
    (program, launch)
}

/// What the machine stores.
fn on_machine(assembly: &Assembly, predicates: u32) -> Vec<u32> {
    let profile = if predicates <= 16 { Profile::Founding } else { Profile::Cardinal };
    let (program, launch) = launched(assembly, profile, (BLOCKS, THREADS));
    let machine = Prf { config: profile.config() };
    let mut state = machine.launch(&program, launch).unwrap();
    let end = machine.run_unobserved(&program, &mut state, 1 << 22);
    assert_eq!(end, Step::Done, "{}", assembly.text);
    words(&state.memory, Addr(OUT), 4 * (THREADS * BLOCKS) as usize)
}

/// What the machine stores cycle by cycle, where blocks run at one time.
fn in_cycles(assembly: &Assembly, blocks: u32, threads: u32) -> Vec<u32> {
    let profile = Profile::Cardinal;
    let (program, launch) = launched(assembly, profile, (blocks, threads));
    let timed = Timed { config: profile.config(), profile, ..Timed::default() };
    let mut state = timed.launch(&program, launch).unwrap();
    assert_eq!(timed.run_unobserved(&program, &mut state, 1 << 24), Step::Done);
    words(&state.memory, Addr(OUT), 4 * (threads * blocks) as usize)
}

/// Numbers of predicates that must not matter.
const PREDICATES: [u32; 4] = [3, 5, 16, 31];

const LAUNCH: legal::Launch =
    legal::Launch { grid: [BLOCKS, 1, 1], block: [THREADS, 1, 1], shared: 0 };

fn lowered(module: &VerifiedModule, predicates: u32) -> Result<Assembly, lower::Refused> {
    prf(module, FuncId(0), predicates).map(|done| done.0)
}

#[track_caller]
fn check(text: &str) {
    check_legalised(text);
    check_with(text, &PREDICATES);
}

#[track_caller]
fn check_legalised(text: &str) {
    let module = verified(text);
    let legal = legalise(&module, FuncId(0), TARGET).unwrap();
    assert_eq!(alone(&legal), alone(&module), "{text}\n{}", ir::text::print(&legal));
}

/// Compares the machine with the engine, with these numbers of predicates.
#[track_caller]
fn check_with(text: &str, picked: &[u32]) {
    let module = verified(text);
    let expected = alone(&module);
    same(text, &expected, picked, |predicates| lowered(&module, predicates));
}

/// The same for kernels that need to know the launch.
#[track_caller]
fn check_launched(text: &str, picked: &[u32]) {
    let module = verified(text);
    let expected = alone(&module);
    same(text, &expected, picked, |predicates| {
        prf_for(&module, FuncId(0), predicates, &LAUNCH, &|_| None).map(|done| done.0)
    });
}

/// Compares the machine, with several numbers of predicates, with what is expected.
#[track_caller]
fn same(
    text: &str,
    expected: &[u32],
    picked: &[u32],
    lowered: impl Fn(u32) -> Result<Assembly, lower::Refused>,
) {
    for &predicates in picked {
        let assembly = lowered(predicates).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let found = on_machine(&assembly, predicates);
        assert_eq!(found, expected, "{predicates}\n{text}\n{}", assembly.text);
    }
}

#[test]
fn fixed_kernels() {
    fixed().iter().for_each(|text| check(text));
}

#[test]
fn straight_code() {
    straight().iter().for_each(|text| check(text));
}

#[test]
fn values_of_earlier_rounds_are_kept() {
    rounds().iter().for_each(|text| check(text));
}

#[test]
fn both_results_of_joined_comparisons() {
    comparisons().iter().for_each(|text| check(text));
}

#[test]
fn shifts_by_any_amount() {
    shifts().iter().for_each(|text| check(text));
}

#[test]
fn straight_code_of_launches() {
    launched_straight().iter().for_each(|text| check_launched(text, &[5]));
}

#[test]
fn collectives_are_those_of_warps_of_32() {
    collectives().iter().for_each(|text| check_launched(text, &[5]));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn structured_kernels(code in programs()) {
        check(&kernel(&body(&code)));
    }

    #[test]
    fn any_graph(ends in graphs()) {
        check(&graph(&ends));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 8, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn launched_kernels(code in programs()) {
        check_launched(&launched_kernel(&body(&code)), &PREDICATES);
    }
}

/// The campaign: kernels of all kinds, each with a number of predicates of its own.
#[test]
#[ignore = "an hour"]
fn campaign() {
    super::programs::campaign(|kind, text, pick| {
        let picked = [PREDICATES[pick % PREDICATES.len()]];
        match kind {
            Kind::Launched => check_launched(text, &picked),
            Kind::Plain => check_with(text, &picked),
        }
    });
}

#[test]
fn a_loop_longer_than_the_reach_of_a_conditional_jump_ends() {
    let mut out = String::from("  br head\nhead:\n");
    for index in 0..150 {
        work(&mut out, index % 4);
    }
    out.push_str("  @!%p br head\nlast:\n");
    let text = kernel(&out);
    let assembly = lowered(&verified(&text), 16).unwrap();
    assert!(assembly.text.contains("jal x0"), "the loop has the long form of the jump");
    check(&text);
}

#[test]
fn registers_that_nothing_has_written_are_zero() {
    let body = "  %u = add.u64 %u, 3\n  %h = cvt.u32.u64 %u\n  st.global.u32 [%at], %h\n";
    check(&kernel(body));
}

/// More values than registers, written under predicates and read in a loop.
#[test]
fn values_beyond_the_registers_lie_in_memory() {
    let values = 0..90;
    let mut text = String::from("  br head\nhead:\n");
    for v in values.clone() {
        let guard = if v % 3 == 0 { "@%p " } else { "" };
        let _ = writeln!(text, "  {guard}%v{v} = mad.u32 %h, {}, %v{v}", 2 * v + 3);
        let _ = writeln!(text, "  %h = add.u32 %h, {v}");
    }
    text.push_str("  %p = setp.lt.s32 %h, 0\n");
    for v in values.clone().rev() {
        let _ = write!(text, "  %h = xor.b32 %h, %v{v}\n  %h = mad.u32 %h, 5, 1\n");
    }
    text.push_str("  %n = add.u32 %n, 1\n  %q = setp.lt.u32 %n, 4\n  @%q br head\nlast:\n");
    text.push_str("  st.global.u32 [%at], %h\n");
    let names: Vec<String> = values.map(|v| format!("%v{v}")).collect();
    let regs = format!("  reg %s: b16\n  reg {}: b32\n", names.join(", "));
    let text = kernel(&text).replace("  reg %s: b16\n", &regs);
    let assembly = lowered(&verified(&text), 16).unwrap();
    assert!(assembly.spilled > 30, "{}", assembly.spilled);
    check(&text);
    let few = kernel("  st.global.u32 [%at], %h\n");
    assert_eq!(lowered(&verified(&few), 16).unwrap().spilled, 0);
}

/// Two crowds of values, one needed after the other: each has more than there are registers.
fn crowds() -> String {
    let mut text = String::new();
    for crowd in ["a", "b"] {
        for v in 0..70 {
            let _ = writeln!(text, "  %{crowd}{v} = mad.u32 %h, {}, %y", 2 * v + 3);
            let _ = writeln!(text, "  %h = add.u32 %h, {v}");
        }
        for v in (0..70).rev() {
            let _ = write!(text, "  %h = xor.b32 %h, %{crowd}{v}\n  %h = mad.u32 %h, 5, 1\n");
        }
    }
    text.push_str("  st.global.u32 [%at], %h\n");
    let names: Vec<String> = (0..70).map(|v| format!("%a{v}, %b{v}")).collect();
    let regs = format!("  reg %s: b16\n  reg {}: b32\n", names.join(", "));
    kernel(&text).replace("  reg %s: b16\n", &regs)
}

#[test]
fn registers_that_are_not_needed_at_one_place_share_words() {
    let text = crowds();
    let Assembly { spilled, words, .. } = lowered(&verified(&text), 16).unwrap();
    assert!(spilled > 20 && words > 10 && words < spilled * 2 / 3, "{spilled} in {words}");
    check(&text);
}

/// The same, where lanes may read the first crowd before they have written it.
fn unwritten_crowds() -> String {
    let mut text = crowds();
    for v in 0..70 {
        let write = format!("  %a{v} = mad.u32 %h, {}, %y\n", 2 * v + 3);
        text = text.replace(&write, &format!("  @%p %a{v} = mad.u32 %h, {}, %y\n", 2 * v + 3));
    }
    text.replace("  @%p %a0 =", "  %p = setp.gt.s32 %h, 0\n  @%p %a0 =")
}

/// Blocks of all sizes, as many of them as run at a time and more; those behind them have words
/// that others have left.
#[test]
fn lanes_that_run_at_a_time_have_words_of_their_own() {
    let module = verified(&unwritten_crowds());
    for (blocks, threads) in [(34, 32), (12, 90)] {
        let launch = legal::Launch { grid: [blocks, 1, 1], block: [threads, 1, 1], shared: 0 };
        let expected = alone_in(&module, blocks, threads);
        let made = prf_for(&module, FuncId(0), 16, &launch, &|_| None).unwrap().0;
        for assembly in [lowered(&module, 16).unwrap(), made] {
            assert!(assembly.spilled > 20);
            assert_eq!(in_cycles(&assembly, blocks, threads), expected, "{blocks} x {threads}");
        }
    }
}

/// Prints how many registers of random graphs lie in memory, and how many words they share.
#[test]
#[ignore = "a measurement: minutes"]
#[allow(clippy::print_stderr, reason = "it is what the test is for")]
fn words_of_random_graphs() {
    let config = ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        ..ProptestConfig::default()
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let most = std::cell::Cell::new((0, 0));
    let sums = std::cell::Cell::new((0, 0, 0));
    let result = runner.run(&(graphs(), 0..PREDICATES.len()), |(ends, pick)| {
        let module = verified(&graph(&ends));
        let Assembly { spilled, words, .. } = lowered(&module, PREDICATES[pick]).unwrap();
        most.set((most.get().0.max(spilled), most.get().1.max(words)));
        let (count, all, shared) = sums.get();
        sums.set((count + usize::from(spilled > 0), all + spilled, shared + words));
        Ok(())
    });
    result.unwrap();
    eprintln!("most registers in memory, words: {:?}; kernels, sums: {:?}", most.get(), sums.get());
}

#[test]
fn a_launch_may_have_more_than_2_to_the_31_blocks() {
    let launch = legal::Launch { grid: [3_000_000_000, 1, 1], ..LAUNCH };
    let module = verified(&launched_straight()[0]);
    let made = prf_for(&module, FuncId(0), 16, &launch, &|_| None);
    made.unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn what_is_missing_is_named() {
    let missing = |inst: &str| {
        let text = format!(
            "kernel @k(out: u64 global) {{
  reg %x, %y: b32
  reg %w: b64
  reg %d: b64
  reg %p: pred
a:
  {inst}
  ret
}}
"
        );
        lowered(&verified(&text), 16).unwrap_err().to_string()
    };
    assert_eq!(missing("bar.sync 0"), "the machine has no operation `bar`");
    assert_eq!(missing("%x = tanh.f16x2.approx %x"), "the machine has no operation `tanh.f16x2`");
    assert_eq!(
        missing("%x = ld.shared.b32 [%x]"),
        "the machine has no shared memory (for `ld.b32`)"
    );
    assert_eq!(
        missing("%d = cvt.sat.rn.f64.f32 %x"),
        "the machine has no conversion from f32 to f64 (for `cvt.f64`)"
    );
}
