//! The registers on which the future of warps depends while they stay in the loops where they
//! stand.
//!
//! Between two times at which a lane stands at the same block, it has been in blocks of one
//! strongly connected set alone, an outermost loop. A register is *relevant* to such a set if its
//! value may decide where lanes go, which address is accessed, what is stored or who meets whom, in
//! one of these blocks, directly or through others of them. The exact engine has the same notion
//! (`vm::slice`), but for the instructions that were issued; these blocks contain them all. So
//! where it finds that a launch repeats, although a counter grows, equal values of relevant
//! registers show that it will.

use crate::code::{Code, Dst, End, Guard, Kind, Src, Step};
use crate::warp::Warp;
use flow::{Cfg, Loops};
use std::rc::Rc;

/// No loop.
const NONE: u32 = u32::MAX;

/// Registers of a warp, some of them relevant.
#[derive(Clone, Debug, Default)]
struct Registers {
    narrow: Vec<bool>,
    wide: Vec<bool>,
    preds: Vec<bool>,
    scalars: Vec<bool>,
    /// Whether a clock is among what relevant ones are computed from.
    clock: bool,
}

impl Registers {
    /// Adds an operand; whether any of it is new.
    fn add(&mut self, src: Src) -> bool {
        let new = |set: &mut Vec<bool>, i: u32| !std::mem::replace(&mut set[i as usize], true);
        match src {
            Src::Narrow(i) => new(&mut self.narrow, i),
            Src::Wide(i) => new(&mut self.wide, i),
            Src::Pair(low, high) => new(&mut self.wide, low) | new(&mut self.wide, high),
            Src::Pred(i) => new(&mut self.preds, i),
            Src::Line(i, ..) => new(&mut self.scalars, i),
            Src::Const(_) | Src::ConstPair(..) => false,
        }
    }

    fn add_guard(&mut self, guard: Option<&Guard>) -> bool {
        guard.is_some_and(|guard| self.add(guard.pred))
    }

    fn add_operands(&mut self, step: &Step) -> bool {
        let mut new = self.add_guard(step.guard.as_ref());
        step.operands(&mut |src| new |= self.add(src));
        new
    }

    fn has(&self, dst: Dst) -> bool {
        match dst {
            Dst::None => false,
            Dst::Narrow(i) => self.narrow[i as usize],
            Dst::Wide(i) => self.wide[i as usize],
            Dst::Pair(low, high) => self.wide[low as usize] || self.wide[high as usize],
            Dst::Pred(i) => self.preds[i as usize],
            Dst::Scalar(i) => self.scalars[i as usize],
        }
    }

    /// Adds what a step does depends on, beyond its results.
    fn add_roots(&mut self, step: &Step) {
        match &step.kind {
            Kind::Narrow { .. }
            | Kind::Wide { .. }
            | Kind::Rare { .. }
            | Kind::Low { .. }
            | Kind::Test { .. }
            | Kind::Select { .. }
            | Kind::Logic { .. }
            | Kind::Scalar { .. }
            | Kind::Generic(_)
            | Kind::Sreg { .. }
            | Kind::Clock { .. }
            | Kind::SaveFrame(_)
            | Kind::RestoreFrame(_)
            | Kind::Nothing
            | Kind::Fence
            | Kind::Leave(_) => {}
            Kind::Collective(collective) => {
                self.add_guard(step.guard.as_ref());
                if let Some(members) = collective.members {
                    self.add(members);
                }
            }
            // It takes all lanes of a warp, whatever the numbers are that it computes with.
            Kind::Matrix(matrix) if matrix.only_computes() => {
                self.add_guard(step.guard.as_ref());
            }
            // A line that wraps around is left to the exact engine, too.
            Kind::Widen { .. }
            | Kind::Load(_)
            | Kind::Store(_)
            | Kind::Atomic(_)
            | Kind::Matrix(_)
            | Kind::Copy(_)
            | Kind::Asynchronous(_)
            | Kind::Texture(_)
            | Kind::Print(_)
            | Kind::Barrier { .. } => {
                self.add_operands(step);
            }
        }
    }

    /// Adds the operands of a step that computes a relevant result; whether any is new.
    fn add_sources(&mut self, step: &Step) -> bool {
        let mut relevant = false;
        match &step.kind {
            Kind::Matrix(matrix) => relevant = matrix.dst.iter().any(|&dst| self.has(dst)),
            _ => {
                step.results(&mut |dst| relevant |= self.has(dst));
            }
        }
        self.clock |= relevant && matches!(step.kind, Kind::Clock { .. });
        relevant && self.add_operands(step)
    }

    /// Adds what decides where lanes go from the end of a block.
    fn add_end(&mut self, end: &End) {
        match end {
            End::Branch(guard, ..) => self.add_guard(Some(guard)),
            End::Exit(guard, _) | End::Return(guard, ..) => self.add_guard(guard.as_ref()),
            End::Switch(index, _) | End::ReturnBy(index, _) => self.add(*index),
            End::CallByAddress(address, ..) => self.add(*address),
            End::Go(_) | End::Call(..) => false,
        };
    }
}

impl Registers {
    /// Returns the relevant registers as operands.
    fn operands(&self) -> Vec<Src> {
        let numbers = |set: &[bool]| -> Vec<u32> {
            (0..set.len() as u32).filter(|&i| set[i as usize]).collect()
        };
        let narrow = numbers(&self.narrow).into_iter().map(Src::Narrow);
        let wide = numbers(&self.wide).into_iter().map(Src::Wide);
        let preds = numbers(&self.preds).into_iter().map(Src::Pred);
        let scalars = numbers(&self.scalars).into_iter().map(|i| Src::Line(i, 0, u64::MAX));
        narrow.chain(wide).chain(preds).chain(scalars).collect()
    }
}

impl Code {
    /// Returns, by block, the registers that decide whether a launch repeats while lanes stand in
    /// the loops around the block: a tier that keeps registers of warps itself has to write these
    /// back ([`crate::Worker::write_back`]), as far as they are live. Scalars are lines without
    /// steps.
    #[must_use]
    pub fn relevant_registers(&self) -> Vec<Rc<[Src]>> {
        let slice = Slice::new(self);
        let mut known: Vec<Option<Rc<[Src]>>> = vec![None; self.blocks.len()];
        let none: Rc<[Src]> = Rc::new([]);
        let of_loop = |&number: &u32| {
            if number == NONE {
                return none.clone();
            }
            let list = known[number as usize].get_or_insert_with(|| {
                let mut stand = vec![false; self.blocks.len()];
                stand[number as usize] = true;
                slice.relevant(self, &stand).operands().into()
            });
            list.clone()
        };
        slice.loops.iter().map(of_loop).collect()
    }
}

/// The outermost loops of a kernel, and what is relevant to those where warps stand.
pub(crate) struct Slice {
    /// By block.
    loops: Vec<u32>,
    /// Loops where lanes stand, and what is relevant to them.
    known: Option<(Vec<bool>, Registers)>,
}

impl Slice {
    pub(crate) fn new(code: &Code) -> Self {
        let successors: Vec<Vec<u32>> =
            code.blocks.iter().map(|block| block.end.targets().collect()).collect();
        let Ok(cfg) = Cfg::new(code.entry, &successors) else {
            // All of it counts as one loop.
            return Self { loops: vec![0; code.blocks.len()], known: None };
        };
        let loops = Loops::new(&cfg);
        let outermost = |node| {
            let innermost = loops.innermost(node);
            let around = std::iter::successors(innermost, |&inner| loops.parent(inner));
            around.last().map_or(NONE, |outermost| outermost.index() as u32)
        };
        Self { loops: cfg.nodes().map(outermost).collect(), known: None }
    }

    /// Turns to the loops where lanes of warps stand.
    pub(crate) fn turn_to<'w>(&mut self, code: &Code, warps: impl Iterator<Item = &'w Warp>) {
        let mut stand = vec![false; self.loops.len()];
        for warp in warps {
            let mut seen = 0;
            // Lanes of an entry stand where they are in an entry above, and wait here for others.
            for entry in warp.stack.entries().iter().rev() {
                let own = self.loops[entry.block as usize];
                if entry.lanes & !seen != 0 && own != NONE {
                    stand[own as usize] = true;
                }
                seen |= entry.lanes;
            }
        }
        if self.known.as_ref().is_none_or(|known| known.0 != stand) {
            let relevant = self.relevant(code, &stand);
            self.known = Some((stand, relevant));
        }
    }

    /// What is relevant to some of the loops.
    fn relevant(&self, code: &Code, stand: &[bool]) -> Registers {
        let mut registers = Registers {
            narrow: vec![false; code.narrow as usize],
            wide: vec![false; code.wide as usize],
            preds: vec![false; code.preds as usize],
            scalars: vec![false; code.scalars as usize],
            clock: false,
        };
        let inside = code.blocks.iter().zip(&self.loops);
        let inside = inside.filter(|(_, of)| stand.get(**of as usize) == Some(&true));
        let blocks: Vec<_> = inside.map(|(block, _)| block).collect();
        let steps = || blocks.iter().rev().flat_map(|b| code.steps[b.steps.clone()].iter().rev());
        blocks.iter().for_each(|block| registers.add_end(&block.end));
        steps().for_each(|step| registers.add_roots(step));
        while steps().fold(false, |new, step| registers.add_sources(step) | new) {}
        registers
    }

    /// Returns whether a clock decides what happens: no state repeats then.
    pub(crate) fn reads_clock(&self) -> bool {
        self.known.as_ref().is_some_and(|known| known.1.clock)
    }

    /// Tells of the relevant registers of a warp.
    pub(crate) fn values(&self, warp: &Warp, mut to: impl FnMut(u64)) {
        let Some((_, relevant)) = &self.known else { return };
        let scalars = warp.scalars.iter().zip(&relevant.scalars).filter(|s| *s.1);
        scalars.for_each(|(&scalar, _)| to(scalar));
        let preds = warp.preds.iter().zip(&relevant.preds).filter(|p| *p.1);
        preds.for_each(|(&pred, _)| to(pred.into()));
        let narrow = warp.narrow.iter().zip(&relevant.narrow).filter(|r| *r.1);
        narrow.flat_map(|(row, _)| row.0).for_each(|value| to(value.into()));
        let wide = warp.wide.iter().zip(&relevant.wide).filter(|r| *r.1);
        wide.flat_map(|(row, _)| row.0).for_each(to);
    }
}
