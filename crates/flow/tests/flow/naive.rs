//! Every analysis against its definition, on random graphs.

use std::collections::BTreeSet;

use flow::{
    BlockOrder, Cfg, CfgBuilder, Component, ControlDependence, Dominators, FrontierRule, Frontiers,
    Loops, Node, PostDominator, PostDominators, Region, RegionId, Structure,
};
use proptest::prelude::*;

/// Any graph of up to `max` blocks, mostly with one or two successors, some of which may also exit.
fn graphs(max: u32) -> impl Strategy<Value = Cfg> {
    (1..=max).prop_flat_map(|n| {
        let successors = prop_oneof![
            1 => prop::collection::vec(0..n, 0..=0),
            4 => prop::collection::vec(0..n, 1..=1),
            5 => prop::collection::vec(0..n, 2..=2),
            1 => prop::collection::vec(0..n, 3..=4),
        ];
        let block = (successors, prop::bool::weighted(0.05));
        (prop::collection::vec(block, n as usize), 0..n).prop_map(|(blocks, entry)| {
            let mut b = CfgBuilder::new();
            for (list, exits) in blocks {
                if exits { b.exiting_block(list) } else { b.block(list) }.unwrap();
            }
            b.build(entry).unwrap()
        })
    })
}

/// Graphs whose edges are mostly short and forward: closer to real code, with nested loops.
fn codelike(max: u32) -> impl Strategy<Value = Cfg> {
    (2..=max).prop_flat_map(|n| {
        let jump = prop_oneof![4 => 1i64..3, 1 => 1i64..8, 2 => -5i64..1];
        prop::collection::vec(prop::collection::vec(jump, 0..=1), n as usize).prop_map(
            move |jumps| {
                let mut b = CfgBuilder::new();
                for (i, jump) in jumps.iter().enumerate() {
                    let i = i64::try_from(i).unwrap();
                    let next = (i + 1 < i64::from(n)).then_some(i + 1);
                    let to = jump.iter().map(|j| (i + j).clamp(0, i64::from(n) - 1));
                    b.block(to.chain(next).map(|t| u32::try_from(t).unwrap())).unwrap();
                }
                b.build(0).unwrap()
            },
        )
    })
}

fn any_graph() -> impl Strategy<Value = Cfg> {
    prop_oneof![graphs(14), codelike(20)]
}

/// Blocks reachable from `from` without entering `without`.
fn reach(cfg: &Cfg, from: &[Node], without: Option<Node>) -> BTreeSet<Node> {
    let mut seen = BTreeSet::new();
    let mut work: Vec<Node> = from.to_vec();
    while let Some(n) = work.pop() {
        if Some(n) != without && seen.insert(n) {
            work.extend(cfg.successors(n));
        }
    }
    seen
}

/// The closest of `above` (all of which lie on every path): the one that all others in it relate
/// to.
fn closest(above: &[Node], relates: impl Fn(Node, Node) -> bool) -> Option<Node> {
    above.iter().copied().find(|&a| above.iter().all(|&b| relates(b, a)))
}

/// Strongly connected sets with at least one edge, of the graph on `blocks`.
fn components(cfg: &Cfg, blocks: &BTreeSet<Node>) -> BTreeSet<BTreeSet<Node>> {
    let within = |n: Node| {
        let mut seen = BTreeSet::new();
        let mut work: Vec<Node> = cfg.successors(n).to_vec();
        while let Some(m) = work.pop() {
            if blocks.contains(&m) && seen.insert(m) {
                work.extend(cfg.successors(m));
            }
        }
        seen
    };
    let reached: Vec<(Node, BTreeSet<Node>)> = blocks.iter().map(|&n| (n, within(n))).collect();
    let of = |n: Node, r: &BTreeSet<Node>| -> BTreeSet<Node> {
        let both = reached.iter().filter(|(m, back)| r.contains(m) && back.contains(&n));
        both.map(|&(m, _)| m).collect()
    };
    reached.iter().map(|(n, r)| of(*n, r)).filter(|c| !c.is_empty()).collect()
}

/// Preorder of the walk that visits the last successor first, written recursively.
fn preorder(cfg: &Cfg, at: Node, seen: &mut Vec<Node>) {
    if !seen.contains(&at) {
        seen.push(at);
        for &to in cfg.successors(at).iter().rev() {
            preorder(cfg, to, seen);
        }
    }
}

/// `(header, body, parent header)` of every loop by the definition.
type NaiveLoop = (Node, BTreeSet<Node>, Option<Node>);

fn naive_loops(
    cfg: &Cfg,
    blocks: &BTreeSet<Node>,
    first: &[Node],
    parent: Option<Node>,
    out: &mut Vec<NaiveLoop>,
) {
    for body in components(cfg, blocks) {
        let header = *first.iter().find(|n| body.contains(n)).unwrap();
        out.push((header, body.clone(), parent));
        let mut rest = body;
        rest.remove(&header);
        naive_loops(cfg, &rest, first, Some(header), out);
    }
}

/// Blocks in the region and those in it.
fn blocks_of(s: &Structure, id: RegionId, out: &mut Vec<Node>) {
    for id in s.sequence(id) {
        match s.region(id) {
            Region::Block(n) => out.push(n),
            Region::Branch { .. } => {
                s.sides(id).iter().flatten().for_each(|&side| blocks_of(s, side, out));
            }
            Region::Loop { head, body, .. } => {
                blocks_of(s, head, out);
                if let Some(b) = body {
                    blocks_of(s, b, out);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn dominators(cfg in any_graph()) {
        let d = Dominators::new(&cfg);
        let all = reach(&cfg, &[cfg.entry()], None);
        let dominates = |a: Node, b: Node| {
            let without = || reach(&cfg, &[cfg.entry()], Some(a));
            all.contains(&a) && all.contains(&b) && !without().contains(&b)
        };
        for b in cfg.nodes() {
            prop_assert_eq!(cfg.is_reachable(b), all.contains(&b));
            for a in cfg.nodes() {
                prop_assert_eq!(d.dominates(a, b), dominates(a, b), "{} over {}", a, b);
            }
            let above: Vec<Node> = cfg.nodes().filter(|&a| a != b && dominates(a, b)).collect();
            prop_assert_eq!(d.immediate(b), closest(&above, dominates));
        }
    }

    #[test]
    fn strongly_connected_components(cfg in any_graph()) {
        let entry = cfg.entry();
        let successors = |n: u32| cfg.successors(Node::new(n)).iter().map(|m| m.get()).collect();
        let found = flow::components(entry.get(), successors);
        let reached = reach(&cfg, &[entry], None);
        let nodes = |c: &Component| c.nodes.iter().map(|&n| Node::new(n)).collect::<BTreeSet<_>>();
        let cyclic = found.iter().filter(|c| c.is_cyclic).map(nodes);
        prop_assert_eq!(cyclic.collect::<BTreeSet<_>>(), components(&cfg, &reached));
        let mut before = BTreeSet::new();
        for component in &found {
            let own = nodes(component);
            prop_assert!(component.is_cyclic || own.len() == 1);
            prop_assert!(own.is_disjoint(&before));
            before.extend(&own);
            let successors = own.iter().flat_map(|&n| cfg.successors(n));
            prop_assert!(successors.into_iter().all(|m| before.contains(m)));
        }
        prop_assert_eq!(before, reached);
    }

    #[test]
    fn dominators_against_petgraph(cfg in any_graph()) {
        use petgraph::graph::{DiGraph, NodeIndex};
        let edges = cfg.edges().map(|(a, b)| (a.get(), b.get()));
        let mut g: DiGraph<(), ()> = DiGraph::from_edges(edges);
        while g.node_count() < cfg.len() {
            g.add_node(());
        }
        let entry = NodeIndex::new(cfg.entry().index());
        let theirs = petgraph::algo::dominators::simple_fast(&g, entry);
        let ours = Dominators::new(&cfg);
        for n in cfg.nodes() {
            let t = theirs.immediate_dominator(NodeIndex::new(n.index())).map(NodeIndex::index);
            prop_assert_eq!(ours.immediate(n).map(Node::index), t);
        }
    }

    #[test]
    fn post_dominators(cfg in any_graph()) {
        let p = PostDominators::new(&cfg);
        let leaves = |from: Node, without: Option<Node>| {
            reach(&cfg, &[from], without).iter().any(|&n| cfg.is_exit(n))
        };
        let post = |a: Node, b: Node| leaves(a, None) && leaves(b, None) && !leaves(b, Some(a));
        for b in cfg.nodes() {
            prop_assert_eq!(p.reaches_exit(b), leaves(b, None));
            for a in cfg.nodes() {
                prop_assert_eq!(p.post_dominates(a, b), post(a, b), "{} after {}", a, b);
            }
            let after: Vec<Node> = cfg.nodes().filter(|&a| a != b && post(a, b)).collect();
            let expected = match closest(&after, post) {
                _ if !leaves(b, None) => PostDominator::None,
                Some(a) => PostDominator::Block(a),
                None => PostDominator::Exit,
            };
            prop_assert_eq!(p.immediate(b), expected);
            for a in cfg.nodes() {
                let both: Vec<Node> = cfg.nodes().filter(|&x| post(x, a) && post(x, b)).collect();
                let expected = match closest(&both, post) {
                    _ if !leaves(a, None) || !leaves(b, None) => PostDominator::None,
                    Some(x) => PostDominator::Block(x),
                    None => PostDominator::Exit,
                };
                prop_assert_eq!(p.common(a, b), expected);
            }
        }
    }

    #[test]
    fn control_dependence(cfg in any_graph()) {
        let p = PostDominators::new(&cfg);
        let c = ControlDependence::new(&cfg, &p);
        let edges: BTreeSet<(Node, Node)> = cfg.edges().collect();
        for x in cfg.nodes() {
            let by_definition = |&(u, v): &(Node, Node)| {
                let strictly = p.post_dominates(x, u) && x != u;
                p.post_dominates(x, v) && !strictly
            };
            let expected: BTreeSet<_> = edges.iter().copied().filter(by_definition).collect();
            let found: BTreeSet<_> = c.controllers(x).collect();
            prop_assert_eq!(&found, &expected);
            for &edge in &edges {
                prop_assert_eq!(c.depends(x, edge), expected.contains(&edge));
                prop_assert_eq!(c.controlled_by(edge).any(|y| y == x), expected.contains(&edge));
            }
        }
    }

    #[test]
    fn loops(cfg in any_graph()) {
        let l = Loops::new(&cfg);
        let mut first = Vec::new();
        preorder(&cfg, cfg.entry(), &mut first);
        let all: BTreeSet<Node> = first.iter().copied().collect();
        let mut expected = Vec::new();
        naive_loops(&cfg, &all, &first, None, &mut expected);
        expected.sort();
        let mut found: Vec<NaiveLoop> = l.ids().map(|id| {
            let body: BTreeSet<Node> = l.body(id).iter().copied().collect();
            assert_eq!(body.len(), l.body(id).len());
            (l.header(id), body, l.parent(id).map(|p| l.header(p)))
        }).collect();
        found.sort();
        prop_assert_eq!(&found, &expected);
        let d = Dominators::new(&cfg);
        for id in l.ids() {
            let body = l.body(id);
            for n in cfg.nodes() {
                prop_assert_eq!(l.contains(id, n), body.contains(&n));
            }
            // Entered only at the header, seen both ways.
            let entries: Vec<Node> = l.entries(&cfg, id).collect();
            let only_header = entries == [l.header(id)];
            let entered = format!("{} entered at {:?}", l.header(id), entries);
            prop_assert_eq!(l.is_reducible(id), only_header, "{}", entered);
            prop_assert_eq!(only_header, body.iter().all(|&n| d.dominates(l.header(id), n)));
            if let Some(p) = l.parent(id) {
                prop_assert!(p.index() < id.index() && l.depth(id) == l.depth(p) + 1);
            }
            let latches: BTreeSet<Node> = l.latches(&cfg, id).collect();
            let expected: BTreeSet<Node> = cfg.edges()
                .filter(|&(a, b)| b == l.header(id) && body.contains(&a)).map(|e| e.0).collect();
            prop_assert_eq!(latches, expected);
            let exits = l.exits(&cfg, id).count();
            let leaves = |(a, b): &(Node, Node)| body.contains(a) && !body.contains(b);
            prop_assert_eq!(exits, cfg.edges().filter(leaves).count());
        }
        for n in cfg.nodes() {
            let around = expected.iter().filter(|(_, body, _)| body.contains(&n));
            prop_assert_eq!(l.depth_of(n) as usize, around.count());
        }
        // Every edge against the walk goes to a dominating header if and only if the graph is
        // reducible.
        let position = |n: Node| first.iter().position(|&m| m == n);
        let ancestors_of = |n: Node| { let mut s = Vec::new(); preorder(&cfg, n, &mut s); s };
        let retreating = cfg.edges().filter(|&(a, b)| {
            cfg.is_reachable(a) && position(b) <= position(a) && ancestors_of(b).contains(&a)
        });
        let back = |(a, b): (Node, Node)| d.dominates(b, a);
        let by_dominance: Vec<(Node, Node)> = retreating.filter(|&e| !back(e)).collect();
        if l.graph_is_reducible() {
            let backwards = |&(a, b): &(Node, Node)| {
                cfg.is_reachable(a) && cfg.position(b) <= cfg.position(a)
            };
            let rpo_back = cfg.edges().filter(backwards);
            for e in rpo_back {
                prop_assert!(back(e), "{:?}", e);
            }
        } else {
            prop_assert!(!by_dominance.is_empty());
        }
    }

    #[test]
    fn structured_order(cfg in any_graph()) {
        let l = Loops::new(&cfg);
        let o = BlockOrder::structured(&cfg, &l);
        let all: BTreeSet<Node> = o.blocks().iter().copied().collect();
        prop_assert_eq!((all.len(), o.blocks().len()), (cfg.len(), cfg.len()));
        for (a, b) in cfg.edges().filter(|&(a, _)| cfg.is_reachable(a)) {
            prop_assert_eq!(o.position(b) <= o.position(a), l.is_back_edge(a, b), "{} -> {}", a, b);
        }
        for id in l.ids() {
            let at: Vec<usize> = l.body(id).iter().map(|&n| o.position(n)).collect();
            let (min, max) = (at.iter().min().unwrap(), at.iter().max().unwrap());
            prop_assert_eq!(max - min + 1, at.len());
        }
    }

    #[test]
    fn frontiers((cfg, shuffle) in (any_graph(), prop::collection::vec(any::<u32>(), 20))) {
        let mut order: Vec<u32> = cfg.nodes().map(Node::get).collect();
        order.sort_by_key(|&i| shuffle[i as usize % 20].wrapping_mul(i + 1));
        let order = BlockOrder::new(&cfg, &order).unwrap();
        let pos = |n: Node| order.position(n);
        // The paper's walk.
        let f = Frontiers::new(&cfg, order.clone(), FrontierRule::Forward);
        let mut pending: BTreeSet<(usize, Node)> = BTreeSet::new();
        for &b in order.blocks() {
            pending.remove(&(pos(b), b));
            let expected: Vec<Node> = pending.iter().map(|&(_, n)| n).collect();
            prop_assert_eq!(f.of(b).collect::<Vec<_>>(), expected.clone());
            prop_assert_eq!(f.sizes()[b.index()] as usize, expected.len());
            prop_assert_eq!(f.first(b), expected.first().copied());
            if cfg.is_reachable(b) {
                let on = cfg.successors(b).iter().filter(|&&s| pos(s) > pos(b));
                pending.extend(on.map(|&s| (pos(s), s)));
            }
        }
        // The same walk repeated until nothing changes, where an edge back carries what is pending
        // along.
        let f = Frontiers::new(&cfg, order.clone(), FrontierRule::Closed);
        let mut since: Vec<usize> = (0..cfg.len()).collect();
        let mut after: Vec<usize> = vec![usize::MAX; cfg.len()];
        loop {
            let before = (since.clone(), after.clone());
            for (a, b) in cfg.edges().filter(|&(a, _)| cfg.is_reachable(a)) {
                let (u, h) = (pos(a), pos(b));
                if u < h {
                    since[h] = since[h].min(u + 1);
                    after[h] = after[h].min(u);
                } else {
                    // Lanes of u part for h and for another block before u.
                    for t in cfg.successors(a).iter().map(|&t| pos(t)) {
                        if h < t && t <= u {
                            since[t] = since[t].min(h);
                            after[t] = after[t].min(h);
                        }
                    }
                    // x waits at the end of u if it is pending there or u leads to it.
                    for x in u + 1..cfg.len() {
                        if after[x] <= u {
                            since[x] = since[x].min(h);
                            after[x] = after[x].min(h);
                        }
                    }
                }
            }
            if before == (since.clone(), after.clone()) {
                break;
            }
        }
        for &a in order.blocks() {
            for &b in order.blocks() {
                let expected = pos(a) < pos(b) && since[pos(b)] <= pos(a);
                prop_assert_eq!(f.contains(a, b), expected, "{} waits while {} runs", b, a);
            }
            let listed: Vec<Node> = f.of(a).collect();
            let expected = order.blocks().iter().copied().filter(|&b| f.contains(a, b));
            let expected: Vec<Node> = expected.collect();
            prop_assert_eq!(listed, expected);
        }
    }

    /// Lanes walk at random, the highest-priority block first: those that wait are in the frontier.
    #[test]
    fn waiting_lanes_are_in_the_closed_frontier(
        (cfg, coins) in (any_graph(), prop::collection::vec(any::<u32>(), 64)),
    ) {
        let order = BlockOrder::structured(&cfg, &Loops::new(&cfg));
        let f = Frontiers::new(&cfg, order.clone(), FrontierRule::Closed);
        let mut lanes = [Some(cfg.entry()); 6];
        for step in 0..200u32 {
            let Some(run) = lanes.iter().flatten().copied().min_by_key(|&n| order.position(n))
            else {
                break;
            };
            for waiting in lanes.iter().flatten().filter(|&&n| n != run) {
                prop_assert!(f.contains(run, *waiting), "{} waits while {} runs", waiting, run);
            }
            for (i, lane) in lanes.iter_mut().enumerate() {
                if *lane == Some(run) {
                    let out = cfg.successors(run);
                    let coin = coins[(step as usize * 7 + i) % 64].rotate_left(step) as usize;
                    *lane = if out.is_empty() { None } else { Some(out[coin % out.len()]) };
                }
            }
        }
    }

    #[test]
    fn region_tree_holds_every_block_once(cfg in any_graph()) {
        if let Ok(s) = Structure::new(&cfg) {
            let mut blocks = Vec::new();
            blocks_of(&s, s.root(), &mut blocks);
            let distinct: BTreeSet<Node> = blocks.iter().copied().collect();
            prop_assert_eq!(distinct.len(), blocks.len());
            prop_assert_eq!(distinct, reach(&cfg, &[cfg.entry()], None));
            prop_assert!(Loops::new(&cfg).graph_is_reducible());
        }
    }
}

/// A random structured program as nested statements.
#[derive(Clone, Debug)]
enum Code {
    Plain,
    Seq(Vec<Code>),
    If(Box<Code>, Option<Box<Code>>),
    While(Box<Code>),
    DoWhile(Box<Code>),
    Switch(Vec<Code>),
}

fn programs() -> impl Strategy<Value = Code> {
    Just(Code::Plain).prop_recursive(5, 30, 4, |inner| {
        let code = || inner.clone().prop_map(Box::new);
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Code::Seq),
            (code(), prop::option::of(code())).prop_map(|(a, b)| Code::If(a, b)),
            code().prop_map(Code::While),
            code().prop_map(Code::DoWhile),
            prop::collection::vec(inner, 3..5).prop_map(Code::Switch),
        ]
    })
}

/// Adds the code's blocks; returns its first block and the block that control leaves it from.
fn emit(code: &Code, g: &mut Vec<Vec<u32>>) -> (u32, u32) {
    let block = |g: &mut Vec<Vec<u32>>| {
        g.push(Vec::new());
        u32::try_from(g.len() - 1).unwrap()
    };
    match code {
        Code::Plain => {
            let b = block(g);
            (b, b)
        }
        Code::Seq(list) => {
            let parts: Vec<_> = list.iter().map(|c| emit(c, g)).collect();
            for w in parts.windows(2) {
                g[w[0].1 as usize].push(w[1].0);
            }
            (parts[0].0, parts[parts.len() - 1].1)
        }
        Code::If(a, b) => {
            let head = block(g);
            let sides: Vec<_> =
                [Some(a), b.as_ref()].into_iter().flatten().map(|c| emit(c, g)).collect();
            let join = block(g);
            for &(first, last) in &sides {
                g[head as usize].push(first);
                g[last as usize].push(join);
            }
            if sides.len() == 1 {
                g[head as usize].push(join);
            }
            (head, join)
        }
        Code::While(body) => {
            let head = block(g);
            let (first, last) = emit(body, g);
            let exit = block(g);
            g[head as usize].extend([first, exit]);
            g[last as usize].push(head);
            (head, exit)
        }
        Code::DoWhile(body) => {
            let (first, last) = emit(body, g);
            let test = block(g);
            let exit = block(g);
            g[last as usize].push(test);
            g[test as usize].extend([first, exit]);
            (first, exit)
        }
        Code::Switch(sides) => {
            let head = block(g);
            let sides: Vec<_> = sides.iter().map(|c| emit(c, g)).collect();
            let join = block(g);
            for (first, last) in sides {
                g[head as usize].push(first);
                g[last as usize].push(join);
            }
            (head, join)
        }
    }
}

proptest! {
    #[test]
    fn structured_programs_are_recognised(code in programs()) {
        let mut g = Vec::new();
        let (entry, _) = emit(&code, &mut g);
        let cfg = Cfg::new(entry, &g).unwrap();
        let s = Structure::new(&cfg);
        prop_assert!(s.is_ok(), "{:?}: {}", g, s.unwrap_err());
        // Immediate post-dominators are where the region tree says that branches end.
        let p = PostDominators::new(&cfg);
        let s = s.unwrap();
        let mut work = vec![s.root()];
        while let Some(first) = work.pop() {
            let ids: Vec<RegionId> = s.sequence(first).collect();
            for (i, &id) in ids.iter().enumerate() {
                if let Region::Branch { at } = s.region(id) {
                    work.extend(s.sides(id).iter().flatten());
                    if let Some(&next) = ids.get(i + 1) {
                        let mut blocks = Vec::new();
                        blocks_of(&s, next, &mut blocks);
                        let join = p.immediate(at).block();
                        prop_assert!(join.is_some_and(|j| blocks.contains(&j)));
                    }
                }
            }
        }
    }
}
