//! Under which condition each block runs: regions, one inside the other.
//!
//! Each loop, and the function as a whole, is an acyclic graph of its own: inner loops are single
//! nodes, an edge to the header leads to a node *again*, edges out of the loop lead to a node
//! *out*. In such a graph, a block runs with
//!
//! - the lanes of its immediate dominator, if it post-dominates it: the same region;
//! - those of its only predecessor for which the branch went its way: a region inside the
//!   predecessor's, under the branch's condition;
//! - otherwise, those of its immediate dominator that took one of its edges: a region under a
//!   *flag*, a per-lane bit that is cleared behind the dominator and set on the edges. Edges may
//!   come out of inner loops, so a flag also gathers lanes over iterations.
//!
//! This is if-conversion by control dependence (Park and Schlansker, "On predicated execution",
//! 1991), with flags in place of or-type compares, so that a machine needs no operation on masks
//! but the conjunction with a condition.

use super::graph::{End, Graph, number};
use crate::dom::{Dominators, PostDominators};
use crate::graph::{Cfg, CfgBuilder, GraphError, Node};
use crate::loops::{LoopId, Loops};
use ir::{Guard, LaneReg, Operand};

/// A region: its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::passes) struct RegionId(pub(in crate::passes) u32);

impl RegionId {
    pub(in crate::passes) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What lanes of the region around must fulfil to be in a region.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::passes) enum Cond {
    /// Nothing: the region is a loop's, or the function's.
    Root,
    /// A predicate of the program.
    Guard(Guard),
    /// An index has one of these values.
    Index(Operand, Vec<u32>),
    /// A flag is set.
    Flag(Flag),
}

/// A flag: its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::passes) struct Flag(pub(in crate::passes) u32);

/// Lanes that run the same blocks.
#[derive(Clone, Debug)]
pub(in crate::passes) struct Region {
    /// The region around it; none of the function's.
    pub(in crate::passes) parent: Option<RegionId>,
    pub(in crate::passes) cond: Cond,
    /// The block whose branch gives the condition.
    pub(in crate::passes) by: u32,
    /// The block it was made for.
    pub(in crate::passes) block: u32,
}

/// What is done to flags behind a block.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::passes) enum Mark {
    Clear(Flag),
    /// Set in all lanes here.
    Set(Flag),
    /// Set where the condition holds.
    SetIf(Flag, Cond),
}

/// A level: the function (index 0), or a loop.
#[derive(Clone, Debug, Default)]
pub(in crate::passes) struct Level {
    /// Blocks and inner levels in an order that all edges but those to the header go along.
    pub(in crate::passes) order: Vec<Member>,
    pub(in crate::passes) root: u32,
    /// The region of lanes that go round again; none if nobody does.
    pub(in crate::passes) again: Option<RegionId>,
    /// Flags that are cleared in front of the loop.
    pub(in crate::passes) before: Vec<Mark>,
}

/// What a level consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::passes) enum Member {
    Block(u32),
    Level(u32),
}

/// Regions, levels and flags of a reducible graph.
#[derive(Debug, Default)]
pub(in crate::passes) struct Regions {
    pub(in crate::passes) regions: Vec<Region>,
    pub(in crate::passes) levels: Vec<Level>,
    /// The region of each block; of no use for blocks that cannot be reached.
    pub(in crate::passes) of_block: Vec<RegionId>,
    /// The region around each level.
    pub(in crate::passes) of_level: Vec<RegionId>,
    /// What is done behind each block.
    pub(in crate::passes) marks: Vec<Vec<Mark>>,
    pub(in crate::passes) flags: u32,
}

impl Regions {
    /// Finds them.
    pub(in crate::passes) fn new(
        graph: &Graph,
        cfg: &Cfg,
        loops: &Loops,
    ) -> Result<Self, GraphError> {
        let blocks = graph.blocks.len();
        let mut this = Self {
            levels: vec![Level::default(); loops.len() + 1],
            of_block: vec![RegionId(0); blocks],
            of_level: vec![RegionId(0); loops.len() + 1],
            marks: vec![Vec::new(); blocks],
            ..Self::default()
        };
        let places = Places::new(cfg, loops);
        for level in 0..=loops.len() {
            this.level(graph, cfg, loops, &places, level)?;
        }
        Ok(this)
    }

    fn region(&mut self, region: Region) -> RegionId {
        self.regions.push(region);
        RegionId(number(self.regions.len() - 1))
    }

    fn level(
        &mut self,
        graph: &Graph,
        cfg: &Cfg,
        loops: &Loops,
        places: &Places,
        level: usize,
    ) -> Result<(), GraphError> {
        let local = Local::new(cfg, loops, places, level)?;
        let header = local.block_of(local.cfg.entry());
        let parent = (level > 0).then(|| self.of_level[level]);
        let root = self.region(Region { parent, cond: Cond::Root, by: header, block: header });
        self.levels[level].root = root.0;
        let dom = Dominators::new(&local.cfg);
        let post = PostDominators::new(&local.cfg);
        let mut of = vec![root; local.cfg.len()];
        for &node in local.cfg.reverse_postorder() {
            if node == local.out {
                continue;
            }
            if let Some(above) = dom.immediate(node) {
                of[node.index()] = if post.post_dominates(node, above) {
                    of[above.index()]
                } else {
                    self.inside(graph, &local, &of, node, above)
                };
            }
            let region = of[node.index()];
            match local.members.get(node.index()) {
                None => self.levels[level].again = Some(region),
                Some(&member) => {
                    match member {
                        Member::Block(b) => self.of_block[b as usize] = region,
                        Member::Level(l) => self.of_level[l as usize] = region,
                    }
                    self.levels[level].order.push(member);
                }
            }
        }
        Ok(())
    }

    /// The region of a node that not all lanes of its dominator get to.
    fn inside(
        &mut self,
        graph: &Graph,
        local: &Local,
        of: &[RegionId],
        node: Node,
        above: Node,
    ) -> RegionId {
        let edges = &local.incoming[node.index()];
        let block = local.first_block(node);
        if let [(by, target)] = edges[..]
            && local.members.get(above.index()) == Some(&Member::Block(by))
        {
            let cond = condition(graph, by, target).unwrap_or(Cond::Root);
            return self.region(Region { parent: Some(of[above.index()]), cond, by, block });
        }
        let flag = Flag(self.flags);
        self.flags += 1;
        let by = match local.members[above.index()] {
            Member::Block(b) => {
                self.marks[b as usize].push(Mark::Clear(flag));
                b
            }
            Member::Level(l) => {
                self.levels[l as usize].before.push(Mark::Clear(flag));
                edges.first().map_or(0, |e| e.0)
            }
        };
        for &(from, target) in edges {
            let mark = match condition(graph, from, target) {
                None => Mark::Set(flag),
                Some(cond) => Mark::SetIf(flag, cond),
            };
            self.marks[from as usize].push(mark);
        }
        let parent = Some(of[above.index()]);
        self.region(Region { parent, cond: Cond::Flag(flag), by, block })
    }
}

/// The condition on which a block goes on to `target`; none if it always does.
fn condition(graph: &Graph, from: u32, target: u32) -> Option<Cond> {
    match &graph.blocks[from as usize].end {
        End::Stop | End::Jump(_) => None,
        End::Branch(guard, [yes, _]) => {
            let negated = guard.negated != (*yes != target);
            Some(Cond::Guard(Guard { negated, ..*guard }))
        }
        End::Switch(operand, targets) => {
            let hits = (0..).zip(targets).filter(|(_, t)| **t == target).map(|(i, _)| i);
            let hits: Vec<u32> = hits.collect();
            (hits.len() < targets.len()).then_some(Cond::Index(*operand, hits))
        }
    }
}

/// Where blocks and loops stand in the graph of the level that they are directly in.
struct Places {
    block: Vec<u32>,
    level: Vec<u32>,
    members: Vec<Vec<Member>>,
    /// The loop of each level but the function's.
    ids: Vec<LoopId>,
}

impl Places {
    fn new(cfg: &Cfg, loops: &Loops) -> Self {
        let mut members = vec![Vec::new(); loops.len() + 1];
        let mut block = vec![0; cfg.len()];
        let mut level = vec![0; loops.len() + 1];
        for &node in cfg.reverse_postorder() {
            let list = &mut members[level_of(loops.innermost(node))];
            block[node.index()] = number(list.len());
            list.push(Member::Block(node.get()));
        }
        for id in loops.ids() {
            let list: &mut Vec<Member> = &mut members[level_of(loops.parent(id))];
            level[level_of(Some(id))] = number(list.len());
            list.push(Member::Level(number(level_of(Some(id)))));
        }
        Self { block, level, members, ids: loops.ids().collect() }
    }
}

fn level_of(id: Option<LoopId>) -> usize {
    id.map_or(0, |l| l.index() + 1)
}

/// The acyclic graph of a level: its members, then *again*, then *out*.
struct Local {
    cfg: Cfg,
    members: Vec<Member>,
    out: Node,
    /// Edges of the function into each node: block, and the block that it goes to.
    incoming: Vec<Vec<(u32, u32)>>,
    /// Headers of the inner levels, by member.
    headers: Vec<u32>,
}

impl Local {
    fn new(cfg: &Cfg, loops: &Loops, places: &Places, level: usize) -> Result<Self, GraphError> {
        let members = places.members[level].clone();
        let id = level.checked_sub(1).map(|i| places.ids[i]);
        let again = number(members.len());
        let resolve = |to: Node| -> u32 {
            let Some(id) = id else { return inner(loops, places, None, to) };
            if to == loops.header(id) {
                again
            } else if loops.contains(id, to) {
                inner(loops, places, Some(id), to)
            } else {
                again + 1
            }
        };
        let mut incoming = vec![Vec::new(); members.len() + 2];
        let mut builder = CfgBuilder::new();
        let mut headers = Vec::new();
        for &member in &members {
            let mut list: Vec<u32> = Vec::new();
            let mut seen = rustc_hash::FxHashSet::default();
            let mut edge = |from: Node, to: Node| {
                let target = resolve(to);
                incoming[target as usize].push((from.get(), to.get()));
                if seen.insert(target) {
                    list.push(target);
                }
            };
            match member {
                Member::Block(b) => {
                    let from = Node::new(b);
                    headers.push(b);
                    cfg.successors(from).iter().for_each(|&to| edge(from, to));
                }
                Member::Level(l) => {
                    let inner = places.ids[l as usize - 1];
                    headers.push(loops.header(inner).get());
                    loops.exits(cfg, inner).for_each(|(from, to)| edge(from, to));
                }
            }
            builder.block(list)?;
        }
        builder.block([])?;
        let out = builder.block([])?;
        let entry = id.map_or(cfg.entry(), |id| loops.header(id));
        let cfg = builder.build(places.block[entry.index()])?;
        Ok(Self { cfg, members, out, incoming, headers })
    }

    fn block_of(&self, node: Node) -> u32 {
        self.headers.get(node.index()).copied().unwrap_or(0)
    }

    /// A block to name a node by: of *again*, where the first edge comes from.
    fn first_block(&self, node: Node) -> u32 {
        self.headers
            .get(node.index())
            .copied()
            .unwrap_or_else(|| self.incoming[node.index()].first().map_or(0, |e| e.1))
    }
}

/// The node for a block inside a level.
fn inner(loops: &Loops, places: &Places, level: Option<LoopId>, to: Node) -> u32 {
    let mut at = loops.innermost(to);
    if at == level {
        return places.block[to.index()];
    }
    while let Some(id) = at {
        let parent = loops.parent(id);
        if parent == level {
            return places.level[level_of(at)];
        }
        at = parent;
    }
    places.block[to.index()]
}

/// The register that a condition reads, if it reads one of the program's.
pub(in crate::passes) fn reads(cond: &Cond) -> Option<LaneReg> {
    match cond {
        Cond::Guard(guard) => Some(guard.pred),
        Cond::Index(Operand::Reg(ir::Reg::Lane(reg)), _) => Some(*reg),
        _ => None,
    }
}
