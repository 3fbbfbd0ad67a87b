//! Graphs of up to a million blocks, in the shapes that make simple algorithms quadratic or recurse
//! too deep.
//!
//! `cargo test --release -p simtlab-flow --test flow -- --ignored --nocapture scale::` prints times
//! for 10^5 and 10^6 blocks.

use std::time::{Duration, Instant};

use flow::{
    BlockOrder, Cfg, CfgBuilder, Dominators, FrontierRule, Frontiers, Loops, Node, PostDominators,
    Structure,
};

/// A graph of about `n` blocks.
type Shape = fn(u32) -> Cfg;

fn graph(n: u32, successors: impl Fn(u32) -> Vec<u32>) -> Cfg {
    let mut b = CfgBuilder::new();
    for i in 0..n {
        b.block(successors(i)).unwrap();
    }
    b.build(0).unwrap()
}

fn chain(n: u32) -> Cfg {
    graph(n, |i| if i + 1 < n { vec![i + 1] } else { vec![] })
}

/// Diamonds one after another.
fn ladder(n: u32) -> Cfg {
    let n = n / 3 * 3 + 1;
    graph(n, |i| match i % 3 {
        _ if i + 1 == n => vec![],
        0 => vec![i + 1, i + 2],
        1 => vec![i + 2],
        _ => vec![i + 1],
    })
}

/// Every block checks and may leave for one handler at the end.
fn handler(n: u32) -> Cfg {
    graph(n, |i| if i + 2 < n { vec![i + 1, n - 1] } else { vec![] })
}

/// `while` loops nested n/2 deep.
fn loop_nest(n: u32) -> Cfg {
    let d = n / 2;
    // Headers 0..d go in or out; block d + k is the latch of loop d - 1 - k, and the exit of the
    // one inside it.
    graph(2 * d + 1, |i| match i {
        _ if i + 1 < d => vec![i + 1, 2 * d - i],
        _ if i < d => vec![d, 2 * d - i],
        _ if i < 2 * d => vec![2 * d - 1 - i],
        _ => vec![],
    })
}

/// As [`loop_nest`], where the innermost block can break out of every loop through its headers'
/// exits, and each level is also entered beside its header.
fn irreducible_nest(n: u32) -> Cfg {
    let d = n / 2;
    graph(2 * d + 1, |i| match i {
        0 => vec![1, d / 2 + 1],
        _ if i + 1 < d => vec![i + 1, 2 * d - i, i + (d - i) / 2],
        _ if i < d => vec![d, 2 * d - i],
        _ if i < 2 * d => vec![2 * d - 1 - i, 2 * d],
        _ => vec![],
    })
}

/// `if`s nested n/2 deep.
fn if_nest(n: u32) -> Cfg {
    let d = n / 2;
    graph(2 * d + 1, |i| match i {
        _ if i < d => vec![i + 1, 2 * d - i],
        _ if i < 2 * d => vec![i + 1],
        _ => vec![],
    })
}

/// One branch with n ways.
fn fan(n: u32) -> Cfg {
    graph(n, |i| match i {
        0 => (1..n - 1).collect(),
        _ if i + 1 < n => vec![n - 1],
        _ => vec![],
    })
}

/// Two successors anywhere.
fn random(n: u32) -> Cfg {
    let mut state = 1u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((state >> 33) % u64::from(n)).unwrap()
    };
    let mut b = CfgBuilder::new();
    for i in 0..n {
        b.block(if i % 64 == 63 { vec![] } else { vec![next(), next()] }).unwrap();
    }
    b.build(0).unwrap()
}

/// Short jumps forward and back, as in compiled code.
fn codelike(n: u32) -> Cfg {
    let mut state = 7u64;
    let mut next = |k: u32| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((state >> 33) % u64::from(k)).unwrap()
    };
    let mut b = CfgBuilder::new();
    for i in 0..n {
        let to =
            if next(4) == 0 { i.saturating_sub(next(40)) } else { (i + 1 + next(20)).min(n - 1) };
        b.block(if i + 1 == n { vec![] } else { vec![i + 1, to] }).unwrap();
    }
    b.build(0).unwrap()
}

const SHAPES: [(&str, Shape); 9] = [
    ("chain", chain),
    ("ladder", ladder),
    ("handler", handler),
    ("loop nest", loop_nest),
    ("irreducible nest", irreducible_nest),
    ("if nest", if_nest),
    ("fan", fan),
    ("random", random),
    ("code-like", codelike),
];

/// Runs every analysis; gives times of dominators, post-dominators, loops, order and frontiers,
/// structure.
fn analyse(cfg: &Cfg) -> [Duration; 5] {
    let mut times = [Duration::ZERO; 5];
    let mut start = Instant::now();
    let mut lap = |i: usize| {
        times[i] = start.elapsed();
        start = Instant::now();
    };
    let d = Dominators::new(cfg);
    lap(0);
    let p = PostDominators::new(cfg);
    lap(1);
    let l = Loops::new(cfg);
    lap(2);
    let order = BlockOrder::structured(cfg, &l);
    let f = Frontiers::new(cfg, order, FrontierRule::Closed);
    let sizes = f.sizes();
    let joins = f.join_edges(cfg).count();
    lap(3);
    let s = Structure::new(cfg);
    lap(4);
    // The answers are used, and agree with each other where they must.
    assert!(joins <= cfg.edge_count() && sizes.len() == cfg.len());
    assert!(d.dominates(cfg.entry(), cfg.entry()));
    assert!(s.is_err() || l.graph_is_reducible());
    assert!(cfg.exits().all(|n| p.post_dominates(n, n)));
    times
}

#[test]
fn no_analysis_recurses_or_is_quadratic() {
    for (name, shape) in SHAPES {
        let g = shape(40_000);
        let before = Instant::now();
        analyse(&g);
        // Quadratic would be minutes; the bound is generous for a busy machine.
        assert!(before.elapsed() < Duration::from_secs(20), "{name}: {:?}", before.elapsed());
    }
}

#[test]
fn shapes_are_what_they_say() {
    assert!(Structure::new(&chain(100)).is_ok());
    assert!(Structure::new(&ladder(100)).is_ok());
    assert!(Structure::new(&loop_nest(100)).is_ok());
    assert!(Structure::new(&if_nest(100)).is_ok());
    assert!(Structure::new(&fan(100)).is_ok());
    assert!(Structure::new(&handler(100)).is_err());
    let nest = loop_nest(100);
    let l = Loops::new(&nest);
    assert_eq!((l.len(), l.ids().map(|i| l.depth(i)).max()), (50, Some(50)));
    assert!(!Loops::new(&irreducible_nest(100)).graph_is_reducible());
}

#[test]
#[ignore = "a benchmark: prints times"]
#[allow(clippy::print_stdout, reason = "a benchmark shows its figures")]
fn million() {
    println!(
        "{:>18} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8}  ms",
        "shape", "blocks", "dom", "pdom", "loops", "front", "struct"
    );
    for (name, shape) in SHAPES {
        for n in [100_000, 1_000_000] {
            let g = shape(n);
            let t = analyse(&g).map(|t| t.as_millis());
            println!(
                "{name:>18} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8}",
                g.len(),
                t[0],
                t[1],
                t[2],
                t[3],
                t[4]
            );
        }
    }
}

#[test]
#[ignore = "a benchmark: prints times of petgraph's dominators on the same graphs"]
#[allow(clippy::print_stdout, reason = "a benchmark shows its figures")]
fn petgraph_for_comparison() {
    use petgraph::graph::{DiGraph, NodeIndex};
    for (name, shape) in SHAPES {
        for n in [5_000, 10_000] {
            let cfg = shape(n);
            let g: DiGraph<(), ()> =
                DiGraph::from_edges(cfg.edges().map(|(a, b)| (a.get(), b.get())));
            let start = Instant::now();
            let theirs = petgraph::algo::dominators::simple_fast(&g, NodeIndex::new(0));
            let t = start.elapsed();
            let start = Instant::now();
            let ours = Dominators::new(&cfg);
            let u = start.elapsed();
            for n in cfg.nodes() {
                let t = theirs.immediate_dominator(NodeIndex::new(n.index()));
                assert_eq!(ours.immediate(n).map(Node::index), t.map(NodeIndex::index));
            }
            println!(
                "{name:>18} {n:>9} petgraph {:>8} us, ours {:>8} us",
                t.as_micros(),
                u.as_micros()
            );
        }
    }
}
