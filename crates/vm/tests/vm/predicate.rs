//! The pass `predicate`: what it makes runs under `uniform`, keeps to the predicate registers of
//! the machine, and leaves the memory that each thread alone would leave.

use crate::common;

use crate::common::{Run, graph, verified};
use flow::passes::predicate::split_join::split_join;
use flow::passes::predicate::{Options, Predicated, predicate};
use ir::testing::{KERNEL_WORDS, KernelShape, Rng, expected, random_kernel};
use ir::{FuncId, Function, LaneReg, Module, Op, Origin, Reg, VerifiedModule};
use proptest::prelude::*;
use vm::Counts;

/// Runs kernel `k`, which has one word of output for each thread.
#[track_caller]
fn run_k(module: &Module, mechanism: &str, width: u32) -> (Vec<u32>, Counts) {
    Run::new(module, mechanism, width).done()
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

/// Checks one program at several sizes of the predicate file; gives what the pass did to kernel `k`
/// for 16.
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
        let width = [1, 4, 8, 16, 32, 64][seed as usize % 6];
        let of_two = 2 * block as usize * KERNEL_WORDS;
        let run = |made, mechanism| {
            let run = Run::of(made, kernel, mechanism, width);
            Run { words: of_two, grid: 2, block, ..run }.done().0
        };
        let found = run(&made, "uniform");
        assert_eq!(
            found,
            words,
            "{shape:?} {seed} {predicates}\n{}\n{}",
            ir::text::print(&module),
            ir::text::print(&made)
        );
        if let Ok((made, _)) = split_join(&verified, kernel) {
            let found = run(&made, "split-join");
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_graph(ends in common::ends()) {
        check(&graph(&ends, false));
    }

    #[test]
    fn any_called_graph(ends in common::ends()) {
        check(&graph(&ends, true));
    }
}
