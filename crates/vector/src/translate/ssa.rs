//! Construction of SSA form while blocks are made: Braun et al., "Simple and efficient construction
//! of static single assignment form" (2013). A variable that is read in a block before it is
//! written there becomes a parameter of the block; when all edges are known, parameters get their
//! arguments, and those that always have one value are removed.

use super::Var;
use crate::Type;
use crate::function::{Block, Function, Target, Value};
use crate::op::Op;
use rustc_hash::FxHashMap;

/// The state of the construction.
#[derive(Debug, Default)]
pub(super) struct Ssa {
    /// The values of variables at the ends of blocks.
    values: FxHashMap<(Block, Var), Value>,
    /// The variables of parameters, in the order of the blocks' parameters.
    params: FxHashMap<Block, Vec<Var>>,
    edges: Vec<(Block, Block)>,
    /// Parameters whose arguments are not known yet.
    open: Vec<(Block, Var)>,
}

impl Ssa {
    /// Adds an edge; returns the target without arguments.
    pub(super) fn edge(&mut self, from: Block, to: Block) -> Target {
        self.edges.push((from, to));
        Target { block: to, args: Vec::new() }
    }

    pub(super) fn write(&mut self, block: Block, var: Var, value: Value) {
        self.values.insert((block, var), value);
    }

    /// Returns the value of a variable at the current end of a block.
    pub(super) fn read(&mut self, function: &mut Function, block: Block, var: Var) -> Value {
        if let Some(&value) = self.values.get(&(block, var)) {
            return value;
        }
        let value = if block == Function::ENTRY {
            zero(function, var.ty())
        } else {
            self.params.entry(block).or_default().push(var);
            self.open.push((block, var));
            function.add_param(block, var.ty())
        };
        self.values.insert((block, var), value);
        value
    }

    /// Gives parameters their arguments.
    pub(super) fn finish(mut self, function: &mut Function) {
        let mut before: FxHashMap<Block, Vec<Block>> = FxHashMap::default();
        for &(from, to) in &self.edges {
            before.entry(to).or_default().push(from);
        }
        while let Some((block, var)) = self.open.pop() {
            for &from in before.get(&block).into_iter().flatten() {
                self.read(function, from, var);
            }
        }
        for (from, to) in std::mem::take(&mut self.edges) {
            let vars = self.params.get(&to).map_or(&[][..], Vec::as_slice);
            let args: Vec<Value> = vars.iter().map(|&var| self.values[&(from, var)]).collect();
            let targets = function.block_mut(from).end.targets_mut();
            targets.filter(|t| t.block == to).for_each(|t| t.args.clone_from(&args));
        }
        crate::passes::remove_trivial_params(function);
    }
}

/// What a variable holds that is read before it is written.
fn zero(function: &mut Function, ty: Type) -> Value {
    let op = if ty == Type::Mask { Op::MaskConst(0) } else { Op::Const(0) };
    let inst = function.add_inst(op, &[], &[ty]);
    function.block_mut(Function::ENTRY).insts.insert(0, inst);
    function.inst(inst).results[0]
}
