//! A program of a million branches: its plan and a run are near-linear in its size.
//!
//! `cargo test --release -p simtlab-converge --test converge -- --ignored --nocapture scale::`
//! prints times and memory for 125,000 to a million branches.

use converge::{CATALOGUE, Flow, Listing, Session};
use simt::{Pc, WarpMask};
use std::time::{Duration, Instant};

/// Branches one after another: each jumps over one instruction, every tenth goes to a handler at
/// the end instead, and every hundredth goes back to itself.
fn program(branches: u64) -> Vec<Flow> {
    let end = 2 * branches;
    let mut code = Vec::new();
    for i in 0..branches {
        let at = code.len() as u64;
        let target = match i {
            _ if i % 100 == 99 => at,
            _ if i % 10 == 9 => end,
            _ => at + 2,
        };
        code.extend([Flow::Branch(Pc(target)), Flow::Next]);
    }
    code.push(Flow::End);
    code
}

/// Times of graph, plan and a run, and issues of the run, in which lane 0 takes no branch and lane
/// 1 each that goes on.
fn measure(branches: u64, mechanism: &str) -> (Duration, Duration, Duration, u64) {
    let code = program(branches);
    let start = Instant::now();
    let listing = Listing::new(&code).unwrap();
    let graph = start.elapsed();
    let plan = listing.plan().unwrap();
    let planned = start.elapsed() - graph;
    assert!(plan.blocks().len() as u64 > branches);
    let mut session = Session::<1>::new(mechanism).unwrap();
    session.set_graph(&code).unwrap();
    session.begin(Pc(0), WarpMask::first(2), 2).unwrap();
    let start = Instant::now();
    while let Some(path) = session.now() {
        match code[path.pc.0 as usize] {
            Flow::Branch(to) => {
                let goes = to == Pc(path.pc.0 + 2);
                let taken = if goes { path.lanes & WarpMask::lane(1) } else { WarpMask::EMPTY };
                session.branch(path.lanes, taken, to).unwrap();
            }
            Flow::End => session.exit(path.lanes).unwrap(),
            _ => session.step().unwrap(),
        }
    }
    (graph, planned, start.elapsed(), session.statistics().issues)
}

/// Most memory that the process had, in MiB (Linux).
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib >> 10)
}

#[test]
fn ten_thousand_branches_run_under_every_mechanism() {
    for entry in CATALOGUE.iter().filter(|e| e.parts_lanes()) {
        let (.., issues) = measure(10_000, entry.name);
        assert!(issues >= 20_000, "{}: {issues}", entry.name);
    }
}

#[test]
#[ignore = "a benchmark: prints times and memory"]
#[allow(clippy::print_stdout, reason = "a benchmark shows what it measured")]
fn million() {
    for mechanism in ["ipdom", "tf-stack", "tf-sandy", "min-pc", "multi-path", "predicated-stack"] {
        let mut totals = Vec::new();
        for branches in [125_000, 250_000, 500_000, 1_000_000] {
            let (graph, plan, run, issues) = measure(branches, mechanism);
            // Sizes grow, so the peak is this size's, but for the first mechanism's largest.
            println!(
                "{mechanism}: {branches} branches: graph {graph:?}, plan {plan:?}, run {run:?} for {issues} issues; peak {:?} MiB",
                peak()
            );
            totals.push((graph + plan + run).as_secs_f64());
        }
        // Eight times the branches: far from 64 times the time, even on a busy machine.
        assert!(totals[3] < 24.0 * totals[0], "{mechanism}: {totals:?}");
    }
}
