//! Passes over functions.

mod forward;
mod hoist;
mod index;
mod low;
mod nan;
mod simplify;
mod total;

pub use forward::forward_selected;
pub use hoist::hoist;
pub use index::index_addresses;
pub use low::narrow_low_words;
pub use nan::remove_canonical_nans;
pub use simplify::simplify;
pub use total::total_atomics;

use crate::function::{Block, Function, Value};
use crate::op::Op;

/// Runs all passes.
pub fn optimize(function: &mut Function) {
    simplify(function);
    remove_canonical_nans(function);
    number_values(function);
    remove_trivial_params(function);
    forward_selected(function);
    index_addresses(function);
    narrow_low_words(function);
    simplify(function);
    number_values(function);
    remove_unused(function);
    total_atomics(function);
    if function.any(|op| matches!(op, Op::AtomicTotal(_))) {
        number_values(function);
        remove_unused(function);
    }
    hoist(function);
}

/// Removes parameters of blocks that have one value on all edges.
pub fn remove_trivial_params(function: &mut Function) {
    let mut same = Replaced(vec![None; function.value_count()]);
    let mut incoming: Vec<Vec<&[Value]>> = vec![Vec::new(); function.block_count()];
    for (_, block) in function.blocks() {
        for target in block.end.targets() {
            incoming[target.block.index()].push(&target.args);
        }
    }
    // Along edges that go forward, values come through all blocks in one round.
    let order = function.reverse_postorder();
    loop {
        let mut changed = false;
        for &block in &order {
            for (index, &param) in function.block(block).params.iter().enumerate() {
                if same.0[param.index()].is_some() {
                    continue;
                }
                let args = incoming[block.index()].iter().map(|args| args[index]);
                if let Some(value) = only_value(args, param, &mut same) {
                    same.0[param.index()] = Some(value);
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    let keep: Vec<Vec<bool>> = function
        .blocks()
        .map(|(_, block)| block.params.iter().map(|p| same.0[p.index()].is_none()).collect())
        .collect();
    for block in 0..function.block_count() {
        let data = function.block_mut(Block::new(block));
        retain(&mut data.params, &keep[block]);
        for target in data.end.targets_mut() {
            retain(&mut target.args, &keep[target.block.index()]);
        }
    }
    function.map_uses(|value| same.get(value));
}

/// By value, the one that takes its place.
struct Replaced(Vec<Option<Value>>);

impl Replaced {
    /// Returns what takes a value's place in the end.
    fn get(&self, mut value: Value) -> Value {
        while let Some(next) = self.0[value.index()] {
            value = next;
        }
        value
    }

    /// The same, which takes fewer steps the next time.
    fn find(&mut self, value: Value) -> Value {
        let last = self.get(value);
        let mut at = value;
        while let Some(next) = self.0[at.index()] {
            self.0[at.index()] = Some(last);
            at = next;
        }
        last
    }
}

/// Returns the only argument of a parameter other than itself.
fn only_value(
    args: impl Iterator<Item = Value>,
    param: Value,
    same: &mut Replaced,
) -> Option<Value> {
    let mut only = None;
    for arg in args {
        let arg = same.find(arg);
        if arg != param && *only.get_or_insert(arg) != arg {
            return None;
        }
    }
    only
}

fn retain(list: &mut Vec<Value>, keep: &[bool]) {
    let mut keep = keep.iter();
    list.retain(|_| *keep.next().unwrap_or(&true));
}

/// Removes pure instructions and parameters whose values nothing uses.
pub fn remove_unused(function: &mut Function) {
    let mut used = vec![false; function.value_count()];
    let mut work = Vec::new();
    let mut defined: Vec<Option<crate::Inst>> = vec![None; function.value_count()];
    let mut args: Vec<Vec<Value>> = vec![Vec::new(); function.value_count()];
    for (_, block) in function.blocks() {
        for &inst in &block.insts {
            let data = function.inst(inst);
            if data.op.is_pure() {
                data.results.iter().for_each(|r| defined[r.index()] = Some(inst));
            } else {
                work.extend(&data.args);
            }
        }
        work.extend(block.end.tested());
        for target in block.end.targets() {
            for (param, &arg) in function.block(target.block).params.iter().zip(&target.args) {
                args[param.index()].push(arg);
            }
        }
    }
    while let Some(value) = work.pop() {
        if std::mem::replace(&mut used[value.index()], true) {
            continue;
        }
        if let Some(inst) = defined[value.index()] {
            work.extend(&function.inst(inst).args);
        }
        work.extend(&args[value.index()]);
    }
    let entry = Function::ENTRY;
    let keep: Vec<Vec<bool>> = function
        .blocks()
        .map(|(b, block)| block.params.iter().map(|p| b == entry || used[p.index()]).collect())
        .collect();
    for block in 0..function.block_count() {
        let mut insts = std::mem::take(&mut function.block_mut(Block::new(block)).insts);
        insts.retain(|&inst| {
            let data = function.inst(inst);
            !data.op.is_pure() || data.results.iter().any(|r| used[r.index()])
        });
        let data = function.block_mut(Block::new(block));
        data.insts = insts;
        retain(&mut data.params, &keep[block]);
        for target in data.end.targets_mut() {
            retain(&mut target.args, &keep[target.block.index()]);
        }
    }
}

/// Shares equal pure instructions: one that dominates another takes its place.
pub fn number_values(function: &mut Function) {
    crate::verify::Dominance::new(function).number_values(function);
}
