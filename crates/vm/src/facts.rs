//! Checks the facts of `flow::analysis` while the exact engine runs.
//!
//! [`FactCheck::step`] executes one issue as the engine does and holds every fact about it against
//! what the lanes really see: classes, bounds and spans of all operands; that branches said to keep
//! lanes together do; that blocks said to run with the whole group do; and that no lane ever reads
//! a value that an engine without blends would have destroyed. A launch that breaks an assumption
//! (`flow::analysis`, module text) is no longer checked: its facts do not apply.

use crate::cause::Cause;
use crate::code::Exec;
use crate::control::value;
use crate::engine::{self, guarded};
use crate::program::Program;
use crate::state::{Cta, State};
use converge::Path;
use flow::analysis::{Facts, Options, Shape, Web};
use ir::{Inst, LaneReg, Operand, Reg, RegTy, TermKind};
use rustc_hash::FxHashMap;
use simt::machine::Step;
use simt::observe::{AnyObserver, Blind};
use simt::{CtaMask, LaneMask, Pc};
use thiserror::Error;

/// A fact that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("function `{function}`, block {block}, instruction {inst} (place {pc}): {what}")]
pub struct Violation {
    /// The function.
    pub function: String,
    /// Its block.
    pub block: usize,
    /// The instruction in the block; its end if it is the number of its instructions.
    pub inst: usize,
    /// The place.
    pub pc: u64,
    /// The fact, and the value that breaks it.
    pub what: String,
}

/// Rows of webs by the thread that must not read them.
type Stale = FxHashMap<(u64, u32, u32), Vec<CtaMask>>;

/// Facts about a program for one launch shape, and what is needed to check them.
#[derive(Clone, Debug)]
pub struct FactCheck {
    facts: Vec<Facts>,
    /// For each place, its block and number.
    places: Vec<(u32, u32)>,
    /// By CTA, function and depth of calls: for each web, threads whose value an engine without
    /// blends would have lost.
    stale: Stale,
    broken: bool,
    checked: u64,
}

impl FactCheck {
    /// Analyses all functions of a program for launches of a shape.
    ///
    /// # Errors
    /// If a function has no graph.
    pub fn new(
        program: &Program,
        shape: Shape,
        options: Options<'_>,
    ) -> Result<Self, flow::GraphError> {
        let module = program.module();
        let facts = module.functions.iter().map(|f| Facts::new(f, shape, options));
        let mut places = Vec::with_capacity(program.code.len());
        let mut order: Vec<usize> = (0..module.functions.len()).collect();
        order.sort_by_key(|&f| program.functions[f].entry);
        for f in order {
            for (b, block) in module.functions[f].blocks.iter().enumerate() {
                let count = block.insts.len() + usize::from(block.term.issues());
                places.extend((0..count).map(|i| (b as u32, i as u32)));
            }
        }
        let facts = facts.collect::<Result<_, _>>()?;
        Ok(Self { facts, places, stale: Stale::default(), broken: false, checked: 0 })
    }

    /// Returns whether the launch has broken an assumption, after which nothing is checked.
    #[must_use]
    pub fn broken(&self) -> bool {
        self.broken
    }

    /// Facts checked so far, one for each operand of each issue.
    #[must_use]
    pub fn checked(&self) -> u64 {
        self.checked
    }

    /// Executes one issue as the exact engine does, and checks its facts.
    ///
    /// # Errors
    /// Returns the first fact that does not hold.
    pub fn step<const N: usize>(
        &mut self,
        program: &Program,
        state: &mut State<N>,
    ) -> Result<Step<Cause, N>, Box<Violation>> {
        let mut blind = Blind;
        let mut unobserved = AnyObserver::new(&mut blind);
        let path = match engine::next(program, state, &mut unobserved) {
            Ok(path) => path,
            Err(end) => return Ok(end),
        };
        if !self.broken && path.lanes.any() {
            self.check(program, state, &path)?;
        }
        Ok(engine::issue(program, state, path, &mut unobserved))
    }

    fn check<const N: usize>(
        &mut self,
        program: &Program,
        state: &State<N>,
        path: &Path<N>,
    ) -> Result<(), Box<Violation>> {
        let Some(code) = program.at(path.pc) else { return Ok(()) };
        let Some(Some(cta)) = state.resident.get(state.turn.slot) else { return Ok(()) };
        let group = state.turn.group;
        let function = &program.module.functions[code.function as usize];
        let (block, inst) = self.places[path.pc.0 as usize];
        let at = At {
            program,
            cta,
            group,
            function: code.function,
            block: block as usize,
            inst: inst as usize,
            pc: path.pc,
        };
        let unmasked = path.lanes & cta.groups[group].exec;
        let on = match code.guard {
            Some(guard) if !code.is_control() => guarded(cta, group, unmasked, guard),
            _ => unmasked,
        };
        let insts = &function.blocks[at.block].insts;
        self.whole(&at, path)?;
        match insts.get(at.inst) {
            Some(inst) => self.instruction(&at, inst, unmasked, on),
            None => self.end(&at, unmasked),
        }
    }

    /// Checks that a block that is said to run with the whole group does.
    fn whole<const N: usize>(&self, at: &At<'_, N>, path: &Path<N>) -> Result<(), Box<Violation>> {
        let group = &at.cta.groups[at.group];
        let kernel = at.program.functions[at.function as usize].kernel;
        let all = group.launched - group.exited;
        if kernel && !self.facts[at.function as usize].partial(at.block) && path.lanes != all {
            return Err(at.violation(format!("lanes {} of {all} in a whole block", path.lanes)));
        }
        Ok(())
    }

    fn instruction<const N: usize>(
        &mut self,
        at: &At<'_, N>,
        inst: &Inst,
        unmasked: LaneMask<N>,
        on: LaneMask<N>,
    ) -> Result<(), Box<Violation>> {
        let facts = &self.facts[at.function as usize];
        let (webs, results) = (facts.webs(), inst.results.len());
        let guard = webs.guard(at.block, at.inst);
        let assumption =
            facts.assumption(&at.program.module.functions[at.function as usize], at.block, at.inst);
        if let (Some(web), Some(guard)) = (guard, inst.guard) {
            self.read(at, web, guard.pred, unmasked)?;
        }
        for (i, operand) in inst.operands.iter().enumerate() {
            let Operand::Reg(Reg::Lane(reg)) = *operand else { continue };
            let web =
                self.facts[at.function as usize].webs().operand(at.block, at.inst, results, i);
            if let Some(web) = web {
                self.read(at, web, reg, on)?;
            }
            if let Some(assumption) = assumption.filter(|a| a.operand == i) {
                self.broken |= !assumption.holds(&at.values(reg, on));
            }
        }
        for i in 0..results {
            let facts = &self.facts[at.function as usize];
            if let Some(web) = facts.webs().result(at.block, at.inst, i) {
                let keeps = facts.blends(at.block, at.inst, i);
                self.write(at, web, on, keeps);
            }
        }
        let code = &at.program.code[at.pc.0 as usize];
        if let Exec::Call(_) = &code.exec {
            self.enter(at, unmasked);
        }
        Ok(())
    }

    fn end<const N: usize>(
        &mut self,
        at: &At<'_, N>,
        lanes: LaneMask<N>,
    ) -> Result<(), Box<Violation>> {
        let function = &at.program.module.functions[at.function as usize];
        let reg = match &function.blocks[at.block].term.kind {
            TermKind::CondBr(guard, _) => Some(guard.pred),
            TermKind::Ret(guard) | TermKind::Exit(guard) => guard.map(|g| g.pred),
            TermKind::Switch(Operand::Reg(Reg::Lane(reg)), _) => Some(*reg),
            _ => None,
        };
        let web = self.facts[at.function as usize].webs().condition(at.block, at.inst);
        if let (Some(web), Some(reg)) = (web, reg) {
            self.read(at, web, reg, lanes)?;
            let parts = self.facts[at.function as usize].parts(at.block);
            let branch = matches!(
                function.blocks[at.block].term.kind,
                TermKind::CondBr(..) | TermKind::Switch(..)
            );
            let values = at.values(reg, lanes);
            if branch && !parts && values.windows(2).any(|w| w[0].1 != w[1].1) {
                return Err(at.violation("lanes part at a branch that keeps them together".into()));
            }
        }
        if let (TermKind::Ret(guard), ir::module::Signature::Device { results, .. }) =
            (&function.blocks[at.block].term.kind, &function.signature)
        {
            let code = &at.program.code[at.pc.0 as usize];
            let going = match (guard, code.guard) {
                (Some(_), Some(row)) => guarded(at.cta, at.group, lanes, row),
                _ => lanes,
            };
            for (i, &reg) in results.iter().enumerate() {
                let facts = &self.facts[at.function as usize];
                if let Some(web) = facts.webs().returned(at.block, at.inst, i) {
                    self.read(at, web, reg, going)?;
                }
            }
        }
        Ok(())
    }

    /// Checks the facts of a web that lanes read, and that none of the lanes would have lost its
    /// value.
    fn read<const N: usize>(
        &mut self,
        at: &At<'_, N>,
        web: Web,
        reg: LaneReg,
        lanes: LaneMask<N>,
    ) -> Result<(), Box<Violation>> {
        let Some(leader) = lanes.lowest() else { return Ok(()) };
        self.checked += 1;
        let fact = self.facts[at.function as usize].value(web);
        let info = &at.program.module.functions[at.function as usize].regs[reg.index()];
        if info.ty != RegTy::B128 {
            let values = at.values(reg, lanes);
            if !fact.holds(&values, info.ty.bits()) {
                let what = format!("%{} is {values:x?}, which is not {fact:?}", info.name);
                return Err(at.violation(what));
            }
        }
        let key = at.key(leader);
        if let Some(stale) = self.stale.get(&key) {
            let stale = &stale[web.index()];
            let group = &at.cta.groups[at.group];
            if let Some(lane) = lanes.iter().find(|&l| stale.contains(group.thread(l))) {
                let what = format!("lane {lane} reads %{} after a write without blend", info.name);
                return Err(at.violation(what));
            }
        }
        Ok(())
    }

    fn write<const N: usize>(&mut self, at: &At<'_, N>, web: Web, on: LaneMask<N>, keeps: bool) {
        let Some(leader) = on.lowest() else { return };
        let webs = self.facts[at.function as usize].webs().len();
        let stale = self.stale.entry(at.key(leader)).or_insert_with(|| vec![CtaMask::EMPTY; webs]);
        let group = &at.cta.groups[at.group];
        for lane in group.launched {
            let thread = group.thread(lane);
            if on.contains(lane) {
                stale[web.index()].remove(thread);
            } else if !keeps {
                stale[web.index()].insert(thread);
            }
        }
    }

    /// Forgets the values of a function's webs at the depth at which lanes enter it.
    fn enter<const N: usize>(&mut self, at: &At<'_, N>, lanes: LaneMask<N>) {
        let group = &at.cta.groups[at.group];
        for lane in lanes {
            let (cta, _, depth) = at.key(lane);
            for ((_, _, _), stale) in
                self.stale.iter_mut().filter(|(k, _)| k.0 == cta && k.2 == depth + 1)
            {
                stale.iter_mut().for_each(|web| web.remove(group.thread(lane)));
            }
        }
    }
}

/// The issue at hand.
struct At<'a, const N: usize> {
    program: &'a Program,
    cta: &'a Cta<N>,
    group: usize,
    function: u32,
    block: usize,
    inst: usize,
    pc: Pc,
}

impl<const N: usize> At<'_, N> {
    fn violation(&self, what: String) -> Box<Violation> {
        let function = self.program.module.functions[self.function as usize].name.clone();
        Box::new(Violation { function, block: self.block, inst: self.inst, pc: self.pc.0, what })
    }

    /// Returns the CTA, function and depth of a lane's frame.
    fn key(&self, lane: usize) -> (u64, u32, u32) {
        let thread = self.cta.groups[self.group].thread(lane);
        let depth = self.cta.frames.stack[thread].len() as u32;
        (self.cta.index, self.function, depth)
    }

    /// Lanes with their values of a register.
    fn values(&self, reg: LaneReg, lanes: LaneMask<N>) -> Vec<(u64, u64)> {
        let function = &self.program.module.functions[self.function as usize];
        let before = &function.regs[..reg.index()];
        let row = before.iter().map(|r| if r.ty == RegTy::B128 { 2 } else { 1 }).sum();
        let src = crate::code::Src::Row(row);
        let group = &self.cta.groups[self.group];
        let get = |lane| value(self.cta, self.group, &[], src, group.thread(lane));
        lanes.iter().map(|lane| (lane as u64, get(lane))).collect()
    }
}
