//! Loops that wait through calls: what each function writes and waits for, callees first.

use ir::mods::Space;
use ir::{Inst, LocId, Module, Op, Operand};

use super::SpinWaits;
use super::access::{Access, Definitions, Root, writes};
use super::search::{Called, Search, Unmet};
use crate::kernel::graph_of;

/// Most writes and loops of a function that its callers look at.
const MOST: usize = 256;

/// A write of a function, as its callers see it.
#[derive(Clone, Copy, Debug)]
struct Written {
    space: Space,
    root: Root,
    loc: LocId,
}

/// What callers see of a function.
#[derive(Clone, Debug, Default)]
struct Summary {
    writes: Vec<Written>,
    unmet: Vec<Unmet>,
}

#[derive(Clone, Debug)]
enum State {
    New,
    /// Its callees are being looked at: a call of it is recursion.
    Open,
    Done(Summary),
}

/// The functions of a module.
pub(super) struct Functions<'m> {
    module: &'m Module,
    states: Vec<State>,
    out: SpinWaits,
}

impl<'m> Functions<'m> {
    pub(super) fn new(module: &'m Module) -> Self {
        let states = vec![State::New; module.functions.len()];
        Self { module, states, out: SpinWaits { found: Vec::new(), complete: true } }
    }

    pub(super) fn search(mut self) -> SpinWaits {
        for root in 0..self.module.functions.len() {
            let mut open = vec![root];
            while let Some(&index) = open.last() {
                match self.states[index] {
                    State::New => {
                        self.states[index] = State::Open;
                        let callees = self.callees(index);
                        let new = |f: &usize| matches!(self.states[*f], State::New);
                        open.extend(callees.into_iter().filter(new));
                    }
                    State::Open => {
                        open.pop();
                        let summary = self.look(index);
                        self.states[index] = State::Done(summary);
                    }
                    State::Done(_) => {
                        open.pop();
                    }
                }
            }
        }
        self.out
    }

    fn callees(&self, index: usize) -> Vec<usize> {
        let insts = self.module.functions[index].blocks.iter().flat_map(|b| &b.insts);
        let mut callees: Vec<usize> = insts.filter_map(|inst| self.callee(inst)).collect();
        callees.sort_unstable();
        callees.dedup();
        callees
    }

    fn callee(&self, inst: &Inst) -> Option<usize> {
        let Some(Operand::Func(callee)) = inst.operands.first() else { return None };
        let known = inst.op == Op::Call && callee.index() < self.module.functions.len();
        known.then(|| callee.index())
    }

    /// Looks at a function whose callees have been looked at.
    fn look(&mut self, index: usize) -> Summary {
        let function = &self.module.functions[index];
        let Ok(cfg) = graph_of(function) else { return Summary::default() };
        let definitions = Definitions::new(function);
        let mut own = writes(function, &definitions);
        let mut called: Vec<Called<'_>> = Vec::new();
        for (block, b) in function.blocks.iter().enumerate() {
            for (at, inst) in b.insts.iter().enumerate() {
                let Some(State::Done(callee)) = self.callee(inst).map(|f| &self.states[f]) else {
                    continue;
                };
                let access = |space, root, loc| {
                    let root = in_caller(root, inst, &definitions);
                    Access { block, at, space, root, loc }
                };
                own.extend(callee.writes.iter().map(|w| access(w.space, w.root, w.loc)));
                called.extend(callee.unmet.iter().map(|unmet| Called {
                    read: access(unmet.space, unmet.root, unmet.wait.read),
                    unmet,
                }));
            }
        }
        let mut search = Search::new((index, function), &cfg, definitions, own);
        let (found, mut unmet, complete) = search.run(&called);
        let written = search.writes.iter();
        let mut writes: Vec<Written> = Vec::new();
        for &Access { space, root, loc, .. } in written {
            let known = writes.iter().any(|w| (w.space, w.root) == (space, root));
            if !known && writes.len() < MOST {
                writes.push(Written { space, root, loc });
            }
        }
        let known = |out: &SpinWaits, wait: &super::SpinWait| {
            out.found.iter().any(|f| (f.function, f.header) == (wait.function, wait.header))
        };
        for wait in found {
            if !known(&self.out, &wait) {
                self.out.found.push(wait);
            }
        }
        unmet.truncate(MOST);
        self.out.complete &= complete;
        Summary { writes, unmet }
    }
}

/// What an address of a called function is computed from, in its caller.
fn in_caller(root: Root, call: &Inst, definitions: &Definitions<'_>) -> Root {
    match root {
        Root::Argument(index) => definitions.root(call.operands.get(1 + index)),
        Root::Symbol(_) | Root::Unknown => root,
    }
}
