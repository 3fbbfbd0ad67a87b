//! Which functions a kernel calls, and which of them may be entered again before they return.

use crate::Declined;
use crate::inline::{MAX_CALL_DEPTH, can_be_copied, is_call};
use flow::analysis::Webs;
use flow::kernel::graph_of;
use ir::module::{Signature, TermKind};
use ir::{BlockId, FuncId, Function, Inst, LaneReg, Op, Operand, Reg};
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
    /// By function, bytes of the stack that it takes with what it calls, as far as known.
    bytes: RefCell<FxHashMap<u32, u64>>,
    webs: RefCell<FxHashMap<u32, Rc<Webs>>>,
    /// By function, the result of [`Self::registers_to_clear`], as far as known.
    cleared: RefCell<FxHashMap<u32, Cleared>>,
}

impl<'p> CallGraph<'p> {
    pub(crate) fn new(program: &'p Program, kernel: u32) -> Self {
        let (addressed, groups) = (Vec::new(), FxHashMap::default());
        let (bytes, webs, cleared) = Default::default();
        let mut graph = Self { program, addressed, groups, bytes, webs, cleared };
        let calls_by_address = |f| graph.insts(f).any(|inst| inst.op == Op::CallInd);
        if program.addressed().len() <= MAX_ADDRESSED
            && program.reachable(kernel).any(calls_by_address)
        {
            let can_be_called =
                |f: &u32| !graph.function(*f).is_kernel() && graph.registers_to_clear(*f).is_ok();
            graph.addressed = program.addressed().iter().copied().filter(can_be_called).collect();
        }
        graph.groups = Components::find(&graph, kernel);
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

    /// Returns the functions that a call leads to: for one by address, those whose address is taken
    /// and that have as many parameters, and enough results. The exact engine calls the same.
    pub(crate) fn callees(&self, call: &Inst) -> Vec<u32> {
        if call.op != Op::CallInd {
            return match call.operands.first() {
                Some(&Operand::Func(FuncId(callee))) => vec![callee],
                _ => Vec::new(),
            };
        }
        let fits = |index: &u32| match &self.function(*index).signature {
            Signature::Device { params, results } => {
                params.len() == call.operands.len() - 1 && results.len() >= call.results.len()
            }
            Signature::Kernel { .. } => false,
        };
        self.addressed.iter().copied().filter(fits).collect()
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

    /// Returns the bytes of the stack that a function's frame takes.
    pub(crate) fn frame_bytes(&self, index: u32) -> u64 {
        let frame = self.program.frame_size(index as usize).unwrap_or_default();
        8 * u64::from(frame.rows) + u64::from(frame.local_bytes)
    }

    /// Returns the bytes of the stack that a function takes at most with all that it calls, but for
    /// calls in its group, whose frames are counted when they are kept.
    pub(crate) fn stack_bytes(&self, index: u32) -> u64 {
        self.bytes_within(index, MAX_CALL_DEPTH)
    }

    fn bytes_within(&self, index: u32, depth: usize) -> u64 {
        if let Some(&known) = self.bytes.borrow().get(&index) {
            return known;
        }
        // Deeper calls are declined anyway.
        let Some(depth) = depth.checked_sub(1) else { return 0 };
        let group = self.group(index);
        let callees = self.all_callees(index).into_iter();
        let others = callees.filter(|&callee| group.is_none() || self.group(callee) != group);
        let most = others.map(|callee| self.bytes_within(callee, depth)).max();
        let bytes = self.frame_bytes(index).saturating_add(most.unwrap_or(0));
        self.bytes.borrow_mut().insert(index, bytes);
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

/// Finds the groups of functions that call each other: the strongly connected components of the
/// calls, by Tarjan's algorithm ("Depth-first search and linear graph algorithms", SIAM Journal on
/// Computing, 1972).
#[derive(Default)]
struct Components {
    found: FxHashMap<u32, Found>,
    /// Functions that belong to no component yet.
    open: Vec<u32>,
    groups: FxHashMap<u32, u32>,
    count: u32,
}

/// A function that was found.
struct Found {
    /// The number of functions that were found before.
    order: u32,
    /// The least such number of the functions without a component that it is known to reach.
    lowest: u32,
    /// Whether it belongs to no component yet.
    is_open: bool,
}

/// A function whose callees are being looked at.
struct Visit {
    function: u32,
    callees: Vec<u32>,
    next: usize,
}

impl Components {
    /// Returns the number of the group of each function that may call itself.
    fn find(graph: &CallGraph<'_>, kernel: u32) -> FxHashMap<u32, u32> {
        let mut components = Self::default();
        let mut visits = vec![components.begin(graph, kernel)];
        while let Some(visit) = visits.last_mut() {
            let function = visit.function;
            let Some(&callee) = visit.callees.get(visit.next) else {
                let calls_itself = visit.callees.contains(&function);
                visits.pop();
                let lowest = components.close(function, calls_itself);
                if let Some(caller) = visits.last() {
                    components.lower(caller.function, lowest);
                }
                continue;
            };
            visit.next += 1;
            match components.found.get(&callee) {
                None => visits.push(components.begin(graph, callee)),
                Some(&Found { order, is_open: true, .. }) => components.lower(function, order),
                Some(_) => {}
            }
        }
        components.groups
    }

    fn begin(&mut self, graph: &CallGraph<'_>, function: u32) -> Visit {
        let order = self.found.len() as u32;
        self.found.insert(function, Found { order, lowest: order, is_open: true });
        self.open.push(function);
        Visit { function, callees: graph.all_callees(function), next: 0 }
    }

    fn lower(&mut self, function: u32, order: u32) {
        if let Some(found) = self.found.get_mut(&function) {
            found.lowest = order.min(found.lowest);
        }
    }

    /// Ends the visit of a function; returns the first one that it reaches.
    fn close(&mut self, function: u32, calls_itself: bool) -> u32 {
        let Some(&Found { order, lowest, .. }) = self.found.get(&function) else { return 0 };
        if order != lowest {
            return lowest;
        }
        let first = self.open.iter().rposition(|&open| open == function).unwrap_or(0);
        let members = self.open.split_off(first);
        for member in &members {
            self.found.entry(*member).and_modify(|found| found.is_open = false);
        }
        if members.len() > 1 || calls_itself {
            self.groups.extend(members.into_iter().map(|member| (member, self.count)));
            self.count += 1;
        }
        lowest
    }
}
