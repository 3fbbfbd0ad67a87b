//! The verifier, and dominance.

use crate::function::{Block, Condition, Function, Inst, Terminator, Type, Value};
use crate::op::Op;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::mem::{Discriminant, discriminant};
use thiserror::Error;

/// What is wrong with a function.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VerifyError {
    /// An instruction has arguments or results of wrong types.
    #[error("block{block}: `{inst}`: {what}")]
    Inst {
        /// The block.
        block: usize,
        /// The operation.
        inst: String,
        /// What is wrong.
        what: &'static str,
    },
    /// A value is used where its definition does not dominate.
    #[error("block{block}: v{value} is used where it is not defined")]
    Undefined {
        /// The block.
        block: usize,
        /// The value.
        value: usize,
    },
    /// The end of a block is wrong.
    #[error("block{block}: {what}")]
    End {
        /// The block.
        block: usize,
        /// What is wrong.
        what: &'static str,
    },
}

/// Immediate dominators of the blocks that control reaches.
#[derive(Debug)]
pub(crate) struct Dominance {
    /// Blocks in reverse postorder.
    order: Vec<Block>,
    /// By block: its position in the order, if control reaches it.
    rank: Vec<Option<usize>>,
    /// By position: the position of the immediate dominator.
    above: Vec<usize>,
}

impl Dominance {
    /// The algorithm of Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm" (2001).
    pub(crate) fn new(function: &Function) -> Self {
        let order = function.reverse_postorder();
        let mut rank = vec![None; function.block_count()];
        order.iter().enumerate().for_each(|(i, b)| rank[b.index()] = Some(i));
        let mut before = vec![Vec::new(); order.len()];
        for (i, &block) in order.iter().enumerate() {
            for target in function.block(block).end.targets() {
                if let Some(to) = rank[target.block.index()] {
                    before[to].push(i);
                }
            }
        }
        let mut above: Vec<Option<usize>> = vec![None; order.len()];
        above[0] = Some(0);
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for i in 1..order.len() {
                let mut new: Option<usize> = None;
                for &p in before[i].iter().filter(|&&p| above[p].is_some()) {
                    new = Some(new.map_or(p, |other| meet(&above, p, other)));
                }
                if new != above[i] {
                    above[i] = new;
                    changed = true;
                }
            }
        }
        let above = above.into_iter().map(|a| a.unwrap_or(0)).collect();
        Self { order, rank, above }
    }

    /// Returns the blocks that control reaches, in reverse postorder.
    pub(crate) fn order(&self) -> &[Block] {
        &self.order
    }

    /// Returns the number of loops around each block.
    pub(crate) fn loop_depths(&self, function: &Function) -> Vec<u32> {
        let mut before = vec![Vec::new(); function.block_count()];
        for &block in &self.order {
            for target in function.block(block).end.targets() {
                before[target.block.index()].push(block);
            }
        }
        let mut depths = vec![0; function.block_count()];
        for &head in &self.order {
            let latches = before[head.index()].iter().filter(|&&b| self.dominates(head, b));
            let mut work: Vec<Block> = latches.copied().collect();
            if work.is_empty() {
                continue;
            }
            let mut inside = vec![false; function.block_count()];
            inside[head.index()] = true;
            depths[head.index()] += 1;
            while let Some(block) = work.pop() {
                if !std::mem::replace(&mut inside[block.index()], true) {
                    depths[block.index()] += 1;
                    work.extend(&before[block.index()]);
                }
            }
        }
        depths
    }

    /// Returns the block in the fewest loops among those that dominate `from` and are dominated by
    /// `above`; the nearest to `from` if there are several.
    pub(crate) fn shallowest(&self, depths: &[u32], above: Block, from: Block) -> Block {
        let (Some(top), Some(mut at)) = (self.rank[above.index()], self.rank[from.index()]) else {
            return from;
        };
        let mut best = from;
        while at > top {
            at = self.above[at];
            if at < top {
                break;
            }
            let block = self.order[at];
            if depths[block.index()] < depths[best.index()] {
                best = block;
            }
        }
        best
    }

    /// Returns whether a block dominates another.
    pub(crate) fn dominates(&self, a: Block, b: Block) -> bool {
        let (Some(a), Some(mut b)) = (self.rank[a.index()], self.rank[b.index()]) else {
            return false;
        };
        while b > a {
            b = self.above[b];
        }
        a == b
    }

    /// See [`crate::passes::number_values`].
    pub(crate) fn number_values(&self, function: &mut Function) {
        let mut known: FxHashMap<Expression, Vec<(Block, Inst)>> = FxHashMap::default();
        let mut same: Vec<Option<Value>> = vec![None; function.value_count()];
        for &block in &self.order {
            let insts = function.block(block).insts.clone();
            let mut kept = Vec::with_capacity(insts.len());
            for inst in insts {
                let data = function.inst_mut(inst);
                data.args.iter_mut().for_each(|v| *v = same[v.index()].unwrap_or(*v));
                let data = function.inst(inst);
                let [result] = data.results[..] else {
                    kept.push(inst);
                    continue;
                };
                if !data.op.is_pure() {
                    kept.push(inst);
                    continue;
                }
                let key = (discriminant(&data.op), data.args.clone(), function.ty(result));
                let list = known.entry(key).or_default();
                let found = list.iter().find(|(b, other)| {
                    function.inst(*other).op == data.op && self.dominates(*b, block)
                });
                if let Some(&(_, other)) = found {
                    same[result.index()] = Some(function.inst(other).results[0]);
                } else {
                    list.push((block, inst));
                    kept.push(inst);
                }
            }
            function.block_mut(block).insts = kept;
        }
        function.map_uses(|v| same[v.index()].unwrap_or(v));
    }
}

/// The kind of an operation, its arguments, and the type of its result.
type Expression = (Discriminant<Op>, SmallVec<[Value; 4]>, Type);

fn meet(above: &[Option<usize>], mut a: usize, mut b: usize) -> usize {
    while a != b {
        if a > b {
            a = above[a].unwrap_or(0);
        } else {
            b = above[b].unwrap_or(0);
        }
    }
    a
}

impl Function {
    /// Checks types, and that definitions dominate their uses.
    ///
    /// # Errors
    /// Returns the first error.
    pub fn verify(&self) -> Result<(), VerifyError> {
        let dominance = Dominance::new(self);
        let mut defined: Vec<Option<(Block, usize)>> = vec![None; self.value_count()];
        for &block in &dominance.order {
            let data = self.block(block);
            data.params.iter().for_each(|p| defined[p.index()] = Some((block, 0)));
            for (i, &inst) in data.insts.iter().enumerate() {
                for r in &self.inst(inst).results {
                    defined[r.index()] = Some((block, i + 1));
                }
            }
        }
        let is_defined = |value: Value, block: Block, at: usize| match defined[value.index()] {
            Some((b, i)) if b == block => i <= at,
            Some((b, _)) => dominance.dominates(b, block),
            None => false,
        };
        for &block in &dominance.order {
            let data = self.block(block);
            let number = block.index();
            let undefined =
                |value: Value| VerifyError::Undefined { block: number, value: value.index() };
            for (i, &inst) in data.insts.iter().enumerate() {
                let inst = self.inst(inst);
                let results: Vec<Type> = inst.results.iter().map(|&r| self.ty(r)).collect();
                inst.op.check(&inst.args, &results, |v| self.ty(v)).map_err(|what| {
                    VerifyError::Inst { block: number, inst: inst.op.to_string(), what }
                })?;
                if let Some(&v) = inst.args.iter().find(|&&v| !is_defined(v, block, i)) {
                    return Err(undefined(v));
                }
            }
            let mut wrong = None;
            data.end.uses(|v| {
                if !is_defined(v, block, data.insts.len()) {
                    wrong = Some(v);
                }
            });
            if let Some(v) = wrong {
                return Err(undefined(v));
            }
            self.verify_end(block)?;
        }
        Ok(())
    }

    fn verify_end(&self, block: Block) -> Result<(), VerifyError> {
        let error = |what| Err(VerifyError::End { block: block.index(), what });
        let end = &self.block(block).end;
        match end {
            Terminator::Branch(Condition::Any(v), ..) if self.ty(*v) != Type::Mask => {
                return error("it branches on something else than a mask");
            }
            Terminator::Branch(Condition::Bit(v), ..) | Terminator::Switch(v, ..)
                if self.ty(*v) != Type::Scalar =>
            {
                return error("it branches on something else than a scalar");
            }
            Terminator::Switch(_, cases, _) if !cases.is_sorted_by(|a, b| a.0 < b.0) => {
                return error("the numbers of a switch do not ascend");
            }
            _ => {}
        }
        for target in end.targets() {
            let params = &self.block(target.block).params;
            let types = params.iter().zip(&target.args).all(|(&p, &a)| self.ty(p) == self.ty(a));
            if !types || params.len() != target.args.len() {
                return error("a target's parameters and arguments differ");
            }
        }
        Ok(())
    }

    /// Returns whether an operation occurs in a block that control reaches.
    #[must_use]
    pub fn any(&self, is: impl Fn(&Op) -> bool) -> bool {
        self.reverse_postorder()
            .into_iter()
            .any(|b| self.block(b).insts.iter().any(|&i| is(&self.inst(i).op)))
    }
}
