//! The pass `predicate`: what it makes runs under `uniform`, keeps to the predicate registers of the machine, and leaves the memory
//! that each thread alone would leave.

mod common;

use common::{HEAD, THREADS, verified, work};
use converge::catalogue::Entry;
use flow::passes::predicate::split_join::split_join;
use flow::passes::predicate::{Options, Predicated, predicate};
use ir::testing::{KERNEL_WORDS, KernelShape, Rng, expected, random_kernel};
use ir::{FuncId, Function, LaneReg, Module, Op, Origin, Reg, VerifiedModule};
use proptest::prelude::*;
use simt::machine::{Machine, Step};
use simt::observe::Blind;
use std::fmt::Write;
use vm::{Engine, Launch, Program, Stats, catalogued, load_variables};

/// Runs a kernel whose parameter is where its output goes.
fn run(
    module: &Module,
    (kernel, bytes): (FuncId, usize),
    mechanism: &str,
    (grid, block, width): (u32, u32, u32),
) -> (Vec<u32>, Stats) {
    let program = Program::link(module.clone()).unwrap_or_else(|e| panic!("{e:#?}"));
    let entry = Entry::find(mechanism).unwrap();
    let mut launch = Launch::<1>::new(kernel, catalogued(entry));
    let out = launch.memory.allocate("out", bytes as u64).unwrap();
    launch.variables = load_variables(&program, &mut launch.memory).unwrap();
    launch.params = out.0.to_le_bytes().to_vec();
    (launch.grid, launch.block) = ([grid, 1, 1], [block, 1, 1]);
    launch.width = width;
    launch.limit = 4_000_000;
    let engine = Engine::<1>;
    let mut state = engine.launch(&program, launch).unwrap();
    let end = engine.run(&program, &mut state, &mut Blind, u64::MAX);
    assert_eq!(end, Step::Done, "{mechanism} {width}\n{}", ir::text::print(module));
    assert!(state.stats().slots.identity_holds());
    let mut content = vec![0; bytes];
    state.memory().read_bytes(out, &mut content).unwrap();
    let words = content.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
    (words, *state.stats())
}

/// Runs kernel `k`, which has one word of output for each thread.
fn run_k(module: &Module, mechanism: &str, width: u32) -> (Vec<u32>, Stats) {
    let kernel = module.function("k").unwrap();
    run(module, (kernel, 4 * THREADS as usize), mechanism, (1, THREADS, width))
}

fn options(predicates: u32) -> Options {
    Options { predicates, ..Options::default() }
}

/// The predicate registers of the result: they are the last of the function.
fn registers(before: &Function, after: &Function) -> Vec<LaneReg> {
    let all = before.regs.len()..after.regs.len();
    let named = all.filter(|&i| after.regs[i].name.starts_with("pr"));
    named.map(|i| LaneReg(i as u32)).collect()
}

/// Every guard is a predicate register of the machine; only loops jump; what was inserted says so.
fn keeps_to_the_machine(before: &Function, after: &Function, predicates: u32) {
    let registers = registers(before, after);
    assert!(registers.len() < predicates as usize);
    for (i, block) in after.blocks.iter().enumerate() {
        for inst in &block.insts {
            assert!(inst.guard.is_none_or(|g| !g.negated && registers.contains(&g.pred)));
            let writes = |r: &Option<Reg>| matches!(r, Some(Reg::Lane(r)) if registers.contains(r));
            if inst.results.iter().any(writes) {
                let known =
                    matches!(inst.op, Op::And | Op::AndNot | Op::Mov | Op::Not | Op::PredFill);
                assert!(known && inst.guard.is_none(), "{:?}", inst.op);
                assert!(matches!(inst.origin, Origin::Mask | Origin::Spill));
            }
        }
        match &block.term.kind {
            ir::TermKind::MaskBr(ir::module::MaskTest::Any, _, to) => assert!(to.index() <= i),
            // Over a call that no lane makes.
            ir::TermKind::MaskBr(ir::module::MaskTest::None, _, to) => {
                let called = &after.blocks[i + 1].insts;
                assert!(called.len() == 1 && called[0].op == Op::Call && to.index() == i + 2);
            }
            ir::TermKind::Fall | ir::TermKind::Ret(_) | ir::TermKind::Exit(_) => {}
            other => panic!("{other:?}"),
        }
    }
    for inst in after.blocks.iter().flat_map(|b| &b.insts) {
        if inst.origin == Origin::Source {
            let known = before.blocks.iter().flat_map(|b| &b.insts).any(|i| i.op == inst.op);
            assert!(known, "only source instructions have no tag");
        }
    }
}

/// Checks one program at several sizes of the predicate file; gives what the pass did to kernel `k` for 16.
#[track_caller]
fn check(text: &str) -> Predicated {
    let module = verified(text);
    let (expected, _) = run_k(&module, "serial", 32);
    let kernel = module.function("k").unwrap();
    match split_join(&module, kernel) {
        Ok((made, _)) => {
            for width in [8, 32] {
                let (found, stats) = run_k(&made, "split-join", width);
                assert_eq!(found, expected, "{text}\n{}", ir::text::print(&made));
                assert_eq!(stats.divergent_branches, 0);
            }
        }
        Err(refusal) => assert!(refusal.to_string().contains("ends threads"), "{refusal}"),
    }
    let mut last = None;
    for predicates in [3, 4, 6, 16] {
        let (made, report) = predicate(&module, kernel, options(predicates)).unwrap();
        for id in report.iter().map(|r| r.function.index()) {
            keeps_to_the_machine(&module.functions[id], &made.functions[id], predicates);
        }
        for width in [8, 32] {
            let (found, stats) = run_k(&made, "uniform", width);
            assert_eq!(found, expected, "{predicates}\n{text}\n{}", ir::text::print(&made));
            assert_eq!(stats.divergent_branches, 0);
        }
        for about in &report {
            let spills = about.spilled > 0;
            let function = &module.functions[about.function.index()];
            let calls = function.blocks.iter().flat_map(|b| &b.insts).any(|i| i.op == Op::Call);
            assert!(spills == (about.peak > predicates) || calls, "{about:?}");
            assert!(about.registers <= predicates);
        }
        last = report.into_iter().find(|r| r.function == kernel);
    }
    last.unwrap()
}

fn random(shape: KernelShape, seeds: std::ops::Range<u64>) -> (u32, u32, u64) {
    let (mut taken, mut spilled, mut copied, mut joined) = (0, 0, 0, 0);
    for seed in seeds {
        let module = random_kernel(&mut Rng::new(seed), shape);
        let kernel = FuncId(module.functions.len() as u32 - 1);
        let block = [7, 32, 70][seed as usize % 3];
        let verified = VerifiedModule::new(module.clone()).unwrap();
        let predicates = [3, 4, 5, 8, 16][seed as usize / 3 % 5];
        let (made, report) = match predicate(&verified, kernel, options(predicates)) {
            Ok(done) => done,
            Err(refusal) => {
                let text = refusal.to_string();
                assert!(
                    text.contains("through an address")
                        || text.contains("recursive")
                        || text.contains("entered at several places"),
                    "{text}"
                );
                continue;
            }
        };
        for id in report.iter().map(|r| r.function.index()) {
            keeps_to_the_machine(&module.functions[id], &made.functions[id], predicates);
        }
        let threads = (0..2).flat_map(|cta| (0..block).map(move |tid| (cta, tid)));
        let words = threads.flat_map(|(cta, tid)| expected(&module, cta, block, tid).unwrap());
        let words: Vec<u32> = words.collect();
        let bytes = 2 * block as usize * KERNEL_WORDS * 4;
        let width = [1, 4, 8, 16, 32, 64][seed as usize % 6];
        let (found, _) = run(&made, (kernel, bytes), "uniform", (2, block, width));
        assert_eq!(
            found,
            words,
            "{shape:?} {seed} {predicates}\n{}\n{}",
            ir::text::print(&module),
            ir::text::print(&made)
        );
        if let Ok((made, _)) = split_join(&verified, kernel) {
            let (found, _) = run(&made, (kernel, bytes), "split-join", (2, block, width));
            assert_eq!(
                found,
                words,
                "{shape:?} {seed}\n{}\n{}",
                ir::text::print(&module),
                ir::text::print(&made)
            );
            joined += 1;
        }
        taken += 1;
        spilled += u32::from(report.iter().any(|r| r.spilled > 0));
        copied += report.iter().map(|r| r.copied_blocks).sum::<u64>();
    }
    assert!(2 * joined > taken, "{joined} of {taken} take splits");
    (taken, spilled, copied)
}

#[test]
fn random_structured_kernels() {
    let (taken, spilled, copied) = random(KernelShape::Structured, 0..60);
    assert!(taken > 30 && spilled > 5 && copied == 0, "{taken} {spilled} {copied}");
}

#[test]
fn random_kernels_with_breaks() {
    let (taken, spilled, _) = random(KernelShape::Breaks, 0..60);
    assert!(taken > 30 && spilled > 5, "{taken} {spilled}");
}

#[test]
fn random_graphs() {
    let (taken, spilled, copied) = random(KernelShape::Graph, 0..60);
    assert!(taken > 20 && spilled > 5 && copied > 0, "{taken} {spilled} {copied}");
}

/// The end of a block of a random graph.
#[derive(Clone, Debug)]
enum End {
    Fall,
    Br(usize),
    If(bool, usize),
    Switch(Vec<usize>),
    Ret,
    RetIf(bool),
    ExitIf(bool),
}

fn ends() -> impl Strategy<Value = Vec<End>> {
    let end = |n: usize| {
        prop_oneof![
            3 => Just(End::Fall),
            2 => (0..n).prop_map(End::Br),
            6 => (any::<bool>(), 0..n).prop_map(|(negated, to)| End::If(negated, to)),
            2 => prop::collection::vec(0..n, 4).prop_map(End::Switch),
            1 => Just(End::Ret),
            1 => any::<bool>().prop_map(End::RetIf),
            1 => any::<bool>().prop_map(End::ExitIf),
        ]
    };
    (1usize..9).prop_flat_map(move |n| prop::collection::vec(end(n), n))
}

/// A kernel of any shape. Each block ends lanes that have run for long, so that every loop ends.
fn graph(ends: &[End], device: bool) -> String {
    let mut body = String::new();
    for (i, end) in ends.iter().enumerate() {
        let _ = writeln!(body, "b{i}:");
        work(&mut body, i);
        let stop = if device { "ret" } else { "exit" };
        let _ = writeln!(body, "  @%q {stop}\nb{i}.end:\n  @%p st.global.u32 [%at], %n");
        let not = |negated: &bool| if *negated { "!" } else { "" };
        let _ = match end {
            End::Fall => writeln!(body, "  nop"),
            End::Br(to) => writeln!(body, "  br b{to}"),
            End::If(negated, to) => writeln!(body, "  @{}%p br b{to}", not(negated)),
            End::Switch(to) => {
                let names: Vec<String> = to.iter().map(|t| format!("b{t}")).collect();
                writeln!(body, "  switch %x, [{}]", names.join(", "))
            }
            End::Ret => writeln!(body, "  ret"),
            End::RetIf(negated) => writeln!(body, "  @{}%p ret", not(negated)),
            End::ExitIf(negated) => writeln!(body, "  @{}%p exit", not(negated)),
        };
    }
    if !device {
        return format!("kernel @k(out: u64 global) {{{HEAD}\n  br b0\n{body}last:\n  ret\n}}\n");
    }
    let head =
        HEAD.replace("  %at = ld.param.u64 [@out]\n", "").replace("reg %at, %wide", "reg %wide");
    format!("{CALLER}func @f(%at: b64) -> (%h) {{{head}\n  br b0\n{body}last:\n  ret\n}}\n")
}

const CALLER: &str = "kernel @k(out: u64 global) {
  reg %a: b64
  reg %t, %r: b32
  reg %p: pred
entry:
  %a = ld.param.u64 [@out]
  %t = sreg.u32 tid.x
  %p = setp.lt.u32 %t, 5
  @%p br few
all:
  %t = call @f(%a)
few:
  %r = call @f(%a)
  %t = add.u32 %t, %r
  %a = ld.param.u64 [@out]
  %r = sreg.u32 tid.x
  %r = shl.b32 %r, 2
  %a = madwide.u32 %r, 1, %a
  st.global.u32 [%a], %t
  ret
}
";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_graph(ends in ends()) {
        check(&graph(&ends, false));
    }

    #[test]
    fn any_called_graph(ends in ends()) {
        check(&graph(&ends, true));
    }
}
