//! The values that live where a warp may stop.

use crate::Refused;
use rustc_hash::{FxHashMap, FxHashSet};
use vector::{Block, Function, Inst, Op, Value};

/// Most values in all lists together.
const MOST: usize = 20_000_000;

/// Returns whether the warp may stop at an operation.
pub(super) fn may_stop(op: &Op) -> bool {
    matches!(op, Op::BackEdge(_) | Op::Barrier(_) | Op::Await(_))
}

/// The values that live where a warp may stop.
pub(super) struct Liveness {
    /// By instruction at which it may.
    after: FxHashMap<Inst, Vec<Value>>,
    /// By value, whether it lives at one of them.
    crosses: Vec<bool>,
}

impl Liveness {
    /// Finds them: from each use, blocks are walked up to the value's definition.
    ///
    /// # Errors
    /// Returns [`Refused::TooLarge`] if they are too many.
    pub(super) fn new(source: &Function) -> Result<Self, Refused> {
        let mut walk = Walk::new(source);
        for block in source.reverse_postorder() {
            let data = source.block(block);
            for &inst in &data.insts {
                for &arg in &source.inst(inst).args {
                    walk.used(arg, block)?;
                }
            }
            let mut uses = Vec::new();
            data.end.uses(|value| uses.push(value));
            for value in uses {
                walk.used(value, block)?;
            }
        }
        let mut this =
            Self { after: FxHashMap::default(), crosses: vec![false; source.value_count()] };
        for block in source.reverse_postorder() {
            this.find_in(source, block, &walk.live_in);
        }
        Ok(this)
    }

    /// Returns the values that live after an instruction at which the warp may stop, in the order
    /// of their numbers, without the instruction's results.
    pub(super) fn after(&self, inst: Inst) -> Vec<Value> {
        self.after.get(&inst).cloned().unwrap_or_default()
    }

    /// Returns whether the warp may stop while a value lives.
    pub(super) fn crosses(&self, value: Value) -> bool {
        self.crosses[value.index()]
    }

    /// Finds the values that live where the warp may stop in a block.
    fn find_in(&mut self, source: &Function, block: Block, live_in: &[Vec<Value>]) {
        let data = source.block(block);
        if !data.insts.iter().any(|&inst| may_stop(&source.inst(inst).op)) {
            return;
        }
        let mut live = FxHashSet::default();
        data.end.uses(|value| {
            live.insert(value);
        });
        for target in data.end.targets() {
            live.extend(&live_in[target.block.index()]);
        }
        for &inst in data.insts.iter().rev() {
            let data = source.inst(inst);
            for result in &data.results {
                live.remove(result);
            }
            if may_stop(&data.op) {
                let mut list: Vec<Value> = live.iter().copied().collect();
                list.sort_unstable();
                list.iter().for_each(|value| self.crosses[value.index()] = true);
                self.after.insert(inst, list);
            }
            live.extend(&data.args);
        }
    }
}

/// What a walk from uses to definitions needs.
struct Walk {
    /// By value, the block that defines it.
    defined_in: Vec<Option<Block>>,
    predecessors: Vec<Vec<Block>>,
    live_in: Vec<Vec<Value>>,
    seen: FxHashSet<(Block, Value)>,
    total: usize,
}

impl Walk {
    fn new(source: &Function) -> Self {
        let mut defined_in = vec![None; source.value_count()];
        let mut predecessors = vec![Vec::new(); source.block_count()];
        for (block, data) in source.blocks() {
            let results = data.insts.iter().flat_map(|&inst| &source.inst(inst).results);
            for value in data.params.iter().chain(results) {
                defined_in[value.index()] = Some(block);
            }
        }
        for block in source.reverse_postorder() {
            for target in source.block(block).end.targets() {
                predecessors[target.block.index()].push(block);
            }
        }
        let live_in = vec![Vec::new(); source.block_count()];
        Self { defined_in, predecessors, live_in, seen: FxHashSet::default(), total: 0 }
    }

    /// Adds a use in a block.
    fn used(&mut self, value: Value, block: Block) -> Result<(), Refused> {
        let mut todo = vec![block];
        while let Some(block) = todo.pop() {
            let is_defined = self.defined_in[value.index()] == Some(block);
            if is_defined || !self.seen.insert((block, value)) {
                continue;
            }
            self.live_in[block.index()].push(value);
            self.total += 1;
            if self.total > MOST {
                return Err(Refused::TooLarge);
            }
            todo.extend(&self.predecessors[block.index()]);
        }
        Ok(())
    }
}
