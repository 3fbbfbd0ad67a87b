//! Node splitting: irreducible graphs made reducible by copies of blocks.
//!
//! A loop that can be entered at several blocks keeps one of them as its header. What can be
//! reached from the other entries without passing the header is copied: lanes from outside run
//! through the copies until they reach the header or leave, so that the loop itself is entered at
//! its header alone. The copies may hold inner cycles with several entries again; those are split
//! in turn, and since they lack the header, the process ends. The number of instructions may grow
//! exponentially with the nesting of such cycles, so it has a bound. (Compare Unger and Mueller,
//! "Handling irreducible loops", 2002, which copies the same sets.)

use super::graph::{Graph, number};
use crate::graph::{Cfg, Node};
use crate::loops::{LoopId, Loops};
use ir::Function;
use rustc_hash::FxHashMap;

/// Entries of a loop that are tried as its header.
const CANDIDATES: usize = 4;

/// The graph grew beyond the bound at this block.
pub(in crate::passes) struct Exploded {
    pub(in crate::passes) block: u32,
}

/// Makes the graph reducible. At most `limit` instructions (ends of blocks included) may be copied.
pub(in crate::passes) fn split(
    function: &Function,
    mut graph: Graph,
    mut cfg: Cfg,
    limit: u64,
) -> Result<(Graph, Cfg, Loops), Exploded> {
    let mut copied = 0;
    loop {
        let loops = Loops::new(&cfg);
        let mut irreducible = loops.ids().filter(|&l| !loops.is_reducible(l)).peekable();
        if irreducible.peek().is_none() {
            return Ok((graph, cfg, loops));
        }
        // Outer loops come first; one inside another that was split waits for the next round.
        let mut done: Vec<LoopId> = Vec::new();
        for id in irreducible {
            let inside = std::iter::successors(loops.parent(id), |&l| loops.parent(l));
            if inside.take(64).any(|l| done.contains(&l)) {
                continue;
            }
            split_loop(function, &mut graph, &cfg, &loops, id, &mut copied, limit)?;
            done.push(id);
            if done.len() >= 64 {
                break;
            }
        }
        cfg = graph.cfg().map_err(|_| Exploded { block: 0 })?;
    }
}

fn split_loop(
    function: &Function,
    graph: &mut Graph,
    cfg: &Cfg,
    loops: &Loops,
    id: LoopId,
    copied: &mut u64,
    limit: u64,
) -> Result<(), Exploded> {
    let mut entries: Vec<Node> = loops.entries(cfg, id).collect();
    // The header that the analysis chose is a candidate, and as many others as are worth a look.
    let header = loops.header(id);
    entries.sort_by_key(|&n| (n != header, n));
    let mut best: Option<(u64, Node, Vec<Node>)> = None;
    for &keep in entries.iter().take(CANDIDATES) {
        let set = reachable(cfg, loops, id, keep, &entries);
        let cost = set.iter().map(|&n| weight(function, graph, n)).sum();
        if best.as_ref().is_none_or(|b| cost < b.0) {
            best = Some((cost, keep, set));
        }
    }
    let Some((cost, _, set)) = best else { return Ok(()) };
    *copied += cost;
    if *copied > limit {
        return Err(Exploded { block: header.get() });
    }
    copy(graph, loops, id, &set, &entries, cfg);
    Ok(())
}

fn weight(function: &Function, graph: &Graph, node: Node) -> u64 {
    graph.insts(function, node.get()).len() as u64 + 1
}

/// Blocks of the loop that can be reached from its entries other than `keep` without passing it.
fn reachable(cfg: &Cfg, loops: &Loops, id: LoopId, keep: Node, entries: &[Node]) -> Vec<Node> {
    let mut seen: rustc_hash::FxHashSet<Node> = entries.iter().copied().collect();
    seen.insert(keep);
    let mut work: Vec<Node> = entries.iter().copied().filter(|&n| n != keep).collect();
    let mut out = Vec::new();
    while let Some(node) = work.pop() {
        out.push(node);
        for &to in cfg.successors(node) {
            if loops.contains(id, to) && seen.insert(to) {
                work.push(to);
            }
        }
    }
    out.sort_unstable();
    out
}

/// Copies the set; edges into it from outside the loop, and from the copies, go to the copies.
fn copy(graph: &mut Graph, loops: &Loops, id: LoopId, set: &[Node], entries: &[Node], cfg: &Cfg) {
    let first = number(graph.blocks.len());
    let of: FxHashMap<u32, u32> =
        set.iter().enumerate().map(|(i, n)| (n.get(), first + number(i))).collect();
    let rename = |targets: &mut [u32]| {
        for to in targets {
            *to = of.get(to).copied().unwrap_or(*to);
        }
    };
    for &node in set {
        let mut block = graph.blocks[node.index()].clone();
        block.copy = true;
        rename(block.targets_mut());
        graph.blocks.push(block);
    }
    for &entry in entries {
        for &from in cfg.predecessors(entry) {
            if !loops.contains(id, from) {
                rename(graph.blocks[from.index()].targets_mut());
            }
        }
    }
}
