//! Which functions a kernel calls, and which of them may be entered again before they return.

use crate::Declined;
use crate::frames::StackBytes;
use crate::inline::{MAX_CALL_DEPTH, can_be_copied, is_call};
use flow::analysis::Webs;
use flow::components;
use flow::kernel::graph_of;
use ir::module::{Signature, TermKind};
use ir::{BlockId, Function, Inst, LaneReg, Op, Operand, Reg};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use vm::Program;

/// The most functions whose addresses are taken: each call by address may lead to all of them.
const MAX_ADDRESSED: usize = 512;

/// The registers that calls of a function must clear, or the reason that these are not inlined.
type Cleared = Result<Rc<[LaneReg]>, Declined>;

/// The functions that are reachable from a kernel.
pub(crate) struct CallGraph<'p> {
    program: &'p Program,
    /// Functions that calls by address may lead to, as far as they can be copied.
    addressed: Vec<u32>,
    /// The number of the group of each function that may call itself.
    groups: FxHashMap<u32, u32>,
    /// By function, the stack that it takes with what it calls, as far as known.
    stack: RefCell<FxHashMap<u32, StackBytes>>,
    webs: RefCell<FxHashMap<u32, Rc<Webs>>>,
    /// By function, the result of [`Self::registers_to_clear`], as far as known.
    cleared: RefCell<FxHashMap<u32, Cleared>>,
}

impl<'p> CallGraph<'p> {
    pub(crate) fn new(program: &'p Program, kernel: u32) -> Self {
        let (addressed, groups) = (Vec::new(), FxHashMap::default());
        let (stack, webs, cleared) = Default::default();
        let mut graph = Self { program, addressed, groups, stack, webs, cleared };
        let calls_by_address = |f| graph.insts(f).any(|inst| inst.op == Op::CallInd);
        if program.addressed().len() <= MAX_ADDRESSED
            && program.reachable(kernel).any(calls_by_address)
        {
            let can_be_called =
                |f: &u32| !graph.function(*f).is_kernel() && graph.registers_to_clear(*f).is_ok();
            graph.addressed = program.addressed().iter().copied().filter(can_be_called).collect();
        }
        let components = components(kernel, |f| graph.all_callees(f)).into_iter();
        for (number, cycle) in (0..).zip(components.filter(|component| component.is_cyclic)) {
            graph.groups.extend(cycle.nodes.into_iter().map(|function| (function, number)));
        }
        graph
    }

    fn function(&self, index: u32) -> &'p Function {
        &self.program.module().functions[index as usize]
    }

    fn insts(&self, index: u32) -> impl Iterator<Item = &'p Inst> {
        self.function(index).blocks.iter().flat_map(|block| &block.insts)
    }

    /// Returns the registers of a function that calls must clear, if its calls can be inlined.
    pub(crate) fn registers_to_clear(&self, index: u32) -> Cleared {
        if let Some(known) = self.cleared.borrow().get(&index) {
            return known.clone();
        }
        let cleared = can_be_copied(self.function(index)).map(Rc::from);
        self.cleared.borrow_mut().insert(index, cleared.clone());
        cleared
    }

    /// Returns the functions that a call leads to, as far as they can be copied if it calls by
    /// address.
    pub(crate) fn callees(&self, call: &Inst) -> Vec<u32> {
        let mut callees = self.program.callees(call);
        if call.op == Op::CallInd {
            callees.retain(|callee| self.addressed.binary_search(callee).is_ok());
        }
        callees
    }

    /// Returns all functions that a function calls.
    fn all_callees(&self, index: u32) -> Vec<u32> {
        let calls = self.insts(index).filter(|inst| is_call(inst));
        let all: BTreeSet<u32> = calls.flat_map(|call| self.callees(call)).collect();
        all.into_iter().collect()
    }

    /// Returns the number of the group of functions that call each other to which a function
    /// belongs, if it may call itself.
    pub(crate) fn group(&self, index: u32) -> Option<u32> {
        self.groups.get(&index).copied()
    }

    /// Returns the functions of a group, in order.
    pub(crate) fn members(&self, group: u32) -> Vec<u32> {
        let own = self.groups.iter().filter(|(_, number)| **number == group);
        let mut members: Vec<u32> = own.map(|(&index, _)| index).collect();
        members.sort_unstable();
        members
    }

    /// Returns the stack that a function's frame takes.
    pub(crate) fn frame_bytes(&self, index: u32) -> StackBytes {
        let frame = self.program.frame_size(index as usize).unwrap_or_default();
        StackBytes::of(frame.rows.into(), frame.local_bytes.into())
    }

    /// Returns the stack that a function takes at most with all that it calls, but for calls in its
    /// group, whose frames are counted when they are kept.
    pub(crate) fn stack_bytes(&self, index: u32) -> StackBytes {
        self.stack_within(index, MAX_CALL_DEPTH)
    }

    fn stack_within(&self, index: u32, depth: usize) -> StackBytes {
        if let Some(&known) = self.stack.borrow().get(&index) {
            return known;
        }
        // Deeper calls are declined anyway.
        let Some(depth) = depth.checked_sub(1) else { return StackBytes::default() };
        let group = self.group(index);
        let callees = self.all_callees(index).into_iter();
        let others = callees.filter(|&callee| group.is_none() || self.group(callee) != group);
        let others = others.map(|callee| self.stack_within(callee, depth));
        let most = others.reduce(StackBytes::max).unwrap_or_default();
        let bytes = self.frame_bytes(index) + most;
        self.stack.borrow_mut().insert(index, bytes);
        bytes
    }

    /// Returns the registers of a function that are live behind a call, but for its results.
    pub(crate) fn live_after(
        &self,
        index: u32,
        (block, call): (usize, usize),
    ) -> Result<BTreeSet<LaneReg>, Declined> {
        let function = self.function(index);
        let webs = self.webs(index)?;
        let mut live = BTreeSet::new();
        for to in function.successors(BlockId(block as u32)) {
            live.extend(webs.live_into(to.index()).iter().map(|&web| webs.reg(web)));
        }
        let block = &function.blocks[block];
        match (&block.term.kind, &function.signature) {
            (TermKind::Ret(_), Signature::Device { results, .. }) => live.extend(results),
            (TermKind::Switch(Operand::Reg(Reg::Lane(reg)), _), _) => live.extend([*reg]),
            _ => {}
        }
        if let TermKind::CondBr(guard, _) | TermKind::Ret(Some(guard)) = &block.term.kind {
            live.insert(guard.pred);
        }
        for (i, inst) in block.insts.iter().enumerate().skip(call).rev() {
            if inst.guard.is_none() {
                for reg in inst.results.iter().flatten() {
                    if let Reg::Lane(reg) = reg {
                        live.remove(reg);
                    }
                }
            }
            if i > call {
                live.extend(inst.guard.map(|guard| guard.pred));
                live.extend(inst.operands.iter().filter_map(|operand| match operand {
                    Operand::Reg(Reg::Lane(reg)) => Some(*reg),
                    _ => None,
                }));
            }
        }
        Ok(live)
    }

    /// Returns the webs of a function.
    fn webs(&self, index: u32) -> Result<Rc<Webs>, Declined> {
        if let Some(known) = self.webs.borrow().get(&index) {
            return Ok(Rc::clone(known));
        }
        let function = self.function(index);
        let graph = graph_of(function)
            .map_err(|_| Declined::Kernel("it calls a function that has no flow graph"))?;
        let webs = Rc::new(Webs::new(function, &graph));
        self.webs.borrow_mut().insert(index, Rc::clone(&webs));
        Ok(webs)
    }
}
