//! Structured code: blocks in order, regions opened and closed around them, loops.
//!
//! This is what all passes that replace branches by masks have in common. Regions nest; a region
//! that is opened twice has the same condition both times. The registers that conditions read are
//! kept: where a branch's predicate is overwritten before the region opens, it is copied into a
//! register of its own first ([`Shape::kept`]).

use super::graph::{Graph, number};
use super::regions::{Cond, Mark, Member, RegionId, Regions, reads};
use ir::{LaneReg, Reg};
use rustc_hash::FxHashMap;

/// A step of structured code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::passes) enum Item {
    /// Only lanes of this region go on.
    Open(RegionId),
    /// Back to the lanes of the region around.
    Close(RegionId),
    /// A block runs, with its kills and marks.
    Block(u32),
    /// A level's marks, then its loop begins.
    Loop(u32),
    /// Lanes of the innermost open region go round again; the loop ends when there are none.
    /// Regions opened in the loop are closed after it.
    Again(u32),
    /// Behind the loop.
    Out(u32),
}

/// A function as structured code.
pub(in crate::passes) struct Shape {
    pub(in crate::passes) graph: Graph,
    pub(in crate::passes) regions: Regions,
    pub(in crate::passes) items: Vec<Item>,
    /// Regions, by the block whose branch gives their condition, whose condition has to be kept.
    pub(in crate::passes) kept: FxHashMap<u32, Vec<RegionId>>,
}

impl Shape {
    /// Orders the blocks of a reducible graph.
    pub(in crate::passes) fn new(function: &ir::Function, graph: Graph, regions: Regions) -> Self {
        let mut order = Order {
            regions: &regions,
            items: Vec::new(),
            open: Vec::new(),
            is_open: vec![false; regions.regions.len()],
            blocks: 0,
            position: vec![0; graph.blocks.len()],
            last_opened: vec![None; regions.regions.len()],
        };
        order.run();
        let Order { items, position, last_opened, .. } = order;
        let kept = kept(function, &graph, &regions, &items, &position, &last_opened);
        Self { graph, regions, items, kept }
    }
}

struct Order<'a> {
    regions: &'a Regions,
    items: Vec<Item>,
    open: Vec<RegionId>,
    is_open: Vec<bool>,
    /// Blocks so far.
    blocks: u32,
    position: Vec<u32>,
    /// Blocks in front of the last opening of each region.
    last_opened: Vec<Option<u32>>,
}

impl Order<'_> {
    fn run(&mut self) {
        // Levels being ordered: index, how far, open regions around it.
        let mut work: Vec<(u32, usize, usize)> = vec![self.enter(0)];
        while let Some((level, at, around)) = work.pop() {
            let this = &self.regions.levels[level as usize];
            match this.order.get(at) {
                Some(&Member::Block(block)) => {
                    self.go_to(self.regions.of_block[block as usize]);
                    self.items.push(Item::Block(block));
                    self.position[block as usize] = self.blocks;
                    self.blocks += 1;
                    work.push((level, at + 1, around));
                }
                Some(&Member::Level(inner)) => {
                    work.push((level, at + 1, around));
                    self.go_to(self.regions.of_level[inner as usize]);
                    self.items.push(Item::Loop(inner));
                    work.push(self.enter(inner));
                }
                None => self.leave(level, around),
            }
        }
    }

    fn enter(&mut self, level: u32) -> (u32, usize, usize) {
        let around = self.open.len();
        let root = RegionId(self.regions.levels[level as usize].root);
        self.open.push(root);
        self.is_open[root.index()] = true;
        (level, 0, around)
    }

    fn leave(&mut self, level: u32, around: usize) {
        if level > 0
            && let Some(again) = self.regions.levels[level as usize].again
        {
            self.go_to(again);
            self.items.push(Item::Again(level));
        }
        while self.open.len() > around {
            self.close();
        }
        if level > 0 {
            self.items.push(Item::Out(level));
        }
    }

    fn close(&mut self) {
        if let Some(region) = self.open.pop() {
            self.is_open[region.index()] = false;
            if self.regions.regions[region.index()].cond != Cond::Root {
                self.items.push(Item::Close(region));
            }
        }
    }

    /// Closes and opens regions until this one is innermost.
    fn go_to(&mut self, region: RegionId) {
        let mut path = Vec::new();
        let mut at = region;
        while !self.is_open[at.index()] {
            path.push(at);
            let Some(parent) = self.regions.regions[at.index()].parent else { break };
            at = parent;
        }
        while self.open.last().is_some_and(|&top| top != at) {
            self.close();
        }
        for region in path.into_iter().rev() {
            self.items.push(Item::Open(region));
            self.open.push(region);
            self.is_open[region.index()] = true;
            self.last_opened[region.index()] = Some(self.blocks);
        }
    }
}

/// Regions whose condition's register is written between the branch and the last opening.
fn kept(
    function: &ir::Function,
    graph: &Graph,
    regions: &Regions,
    items: &[Item],
    position: &[u32],
    last_opened: &[Option<u32>],
) -> FxHashMap<u32, Vec<RegionId>> {
    let mut read = rustc_hash::FxHashSet::default();
    read.extend(regions.regions.iter().filter_map(|r| reads(&r.cond)));
    let mut writes: FxHashMap<LaneReg, Vec<u32>> = FxHashMap::default();
    for &item in items {
        let Item::Block(block) = item else { continue };
        for inst in graph.insts(function, block) {
            for &result in inst.results.iter().flatten() {
                if let Reg::Lane(reg) = result
                    && read.contains(&reg)
                {
                    writes.entry(reg).or_default().push(position[block as usize]);
                }
            }
        }
    }
    let mut kept: FxHashMap<u32, Vec<RegionId>> = FxHashMap::default();
    for (i, region) in regions.regions.iter().enumerate() {
        let (Some(reg), Some(opened)) = (reads(&region.cond), last_opened[i]) else { continue };
        let Some(writes) = writes.get(&reg) else { continue };
        let after = writes.partition_point(|&w| w <= position[region.by as usize]);
        if writes.get(after).is_some_and(|&w| w < opened) {
            kept.entry(region.by).or_default().push(RegionId(number(i)));
        }
    }
    kept
}

/// The mark that clears a flag in front of another that sets it is one write.
pub(in crate::passes) fn sets_after_clear(marks: &[Mark], at: usize) -> bool {
    let flag = match marks[at] {
        Mark::Set(flag) | Mark::SetIf(flag, _) => flag,
        Mark::Clear(_) => return false,
    };
    at > 0 && marks[at - 1] == Mark::Clear(flag)
}
