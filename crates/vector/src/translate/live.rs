//! Values on which it depends whether a launch repeats, at the places where warps stand between
//! turns: those relevant to the loops around (`fast`'s notion) that are live there.

use crate::op::Home;
use fast::code::{Code, Dst, End, Kind, Src, Step};
use std::rc::Rc;

/// The registers of a kernel by number: rows of 32 bits, rows of 64 bits, predicates, scalars.
#[derive(Debug)]
struct Numbers {
    first: [usize; 5],
}

impl Numbers {
    fn new(code: &Code) -> Self {
        let counts = [code.narrow, code.wide, code.preds, code.scalars];
        let mut first = [0; 5];
        for (i, count) in counts.into_iter().enumerate() {
            first[i + 1] = first[i] + count as usize;
        }
        Self { first }
    }

    fn of(&self, home: Home) -> usize {
        match home {
            Home::Narrow(i) => self.first[0] + i as usize,
            Home::Wide(i) => self.first[1] + i as usize,
            Home::Pred(i) => self.first[2] + i as usize,
            Home::Scalar(i) => self.first[3] + i as usize,
        }
    }
}

/// Calls a function for each home of an operand.
pub(super) fn homes_of(src: Src, to: &mut dyn FnMut(Home)) {
    match src {
        Src::Narrow(i) => to(Home::Narrow(i)),
        Src::Wide(i) => to(Home::Wide(i)),
        Src::Pair(a, b) => {
            to(Home::Wide(a));
            to(Home::Wide(b));
        }
        Src::Pred(i) => to(Home::Pred(i)),
        Src::Line(i, ..) => to(Home::Scalar(i)),
        Src::Const(_) | Src::ConstPair(..) => {}
    }
}

/// Returns the home of a result, or the first one of two.
pub(super) fn home_of(dst: Dst) -> Option<Home> {
    match dst {
        Dst::None => None,
        Dst::Narrow(i) => Some(Home::Narrow(i)),
        Dst::Wide(i) | Dst::Pair(i, _) => Some(Home::Wide(i)),
        Dst::Pred(i) => Some(Home::Pred(i)),
        Dst::Scalar(i) => Some(Home::Scalar(i)),
    }
}

/// A set of registers.
type Set = Vec<u64>;

fn has(set: &Set, number: usize) -> bool {
    set[number / 64] >> (number % 64) & 1 != 0
}

fn set(set: &mut Set, number: usize, value: bool) {
    let bit = 1 << (number % 64);
    if value {
        set[number / 64] |= bit;
    } else {
        set[number / 64] &= !bit;
    }
}

/// Relevant and live registers.
#[derive(Debug)]
pub(super) struct StandingRegisters {
    numbers: Numbers,
    /// Registers that are in the interpreter's memory at all times: those that asynchronous
    /// operations read or write after their step, and those that [`Self::keep_in_memory`] adds.
    in_memory: Set,
    relevant: Vec<Rc<[Src]>>,
    /// By block: registers that are live at its beginning, and at its end.
    live: Vec<(Set, Set)>,
}

impl StandingRegisters {
    pub(super) fn new(code: &Code) -> Self {
        let numbers = Numbers::new(code);
        let words = numbers.first[4].div_ceil(64);
        let empty = vec![0; words];
        let mut live = vec![(empty.clone(), empty.clone()); code.blocks.len()];
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for b in (0..code.blocks.len()).rev() {
                let block = &code.blocks[b];
                let mut now: Set = vec![0; words];
                for to in block.end.targets() {
                    now.iter_mut().zip(&live[to as usize].0).for_each(|(a, b)| *a |= b);
                }
                let end = now.clone();
                read_by_end(&block.end, &mut |home| set(&mut now, numbers.of(home), true));
                for step in code.steps[block.steps.clone()].iter().rev() {
                    pass(step, &numbers, &mut now);
                }
                changed |= now != live[b].0;
                live[b] = (now, end);
            }
        }
        let mut in_memory = empty;
        for step in &code.steps {
            let Kind::Asynchronous(op) = &step.kind else { continue };
            let (operands, results) = op.in_flight();
            let mut add = |home: Home| set(&mut in_memory, numbers.of(home), true);
            operands.iter().for_each(|&src| homes_of(src, &mut add));
            results.iter().filter_map(|&dst| home_of(dst)).for_each(add);
        }
        Self { numbers, in_memory, relevant: code.relevant_registers(), live }
    }

    /// Returns whether a register is in the interpreter's memory at all times.
    pub(super) fn is_in_memory(&self, home: Home) -> bool {
        has(&self.in_memory, self.numbers.of(home))
    }

    /// Keeps in memory what is live at the beginning of one of these blocks, if that is more than
    /// `most` registers.
    pub(super) fn keep_in_memory(&mut self, blocks: &[u32], most: usize) {
        let mut all = self.in_memory.clone();
        for &block in blocks {
            let live = &self.live[block as usize].0;
            all.iter_mut().zip(live).for_each(|(all, bits)| *all |= bits);
        }
        let count: usize = all.iter().map(|bits| bits.count_ones() as usize).sum();
        if count > most {
            self.in_memory = all;
        }
    }

    fn chosen(&self, block: u32, live: &Set) -> Vec<Home> {
        let mut list = Vec::new();
        for &src in &*self.relevant[block as usize] {
            homes_of(src, &mut |home| {
                if has(live, self.numbers.of(home)) && !self.is_in_memory(home) {
                    list.push(home);
                }
            });
        }
        list
    }

    /// Returns what a warp has to write back that stands at the beginning of a block.
    pub(super) fn at_block(&self, block: u32) -> Vec<Home> {
        self.chosen(block, &self.live[block as usize].0)
    }

    /// Returns the block of a step, and what a warp has to write back that stands after the step.
    pub(super) fn after_step(&self, code: &Code, step: u32) -> (u32, Vec<Home>) {
        let step = step as usize;
        let number = code.blocks.iter().position(|b| b.steps.contains(&step)).unwrap_or(0);
        let block = &code.blocks[number];
        let mut now = self.live[number].1.clone();
        read_by_end(&block.end, &mut |home| set(&mut now, self.numbers.of(home), true));
        for step in code.steps[step + 1..block.steps.end].iter().rev() {
            pass(step, &self.numbers, &mut now);
        }
        (number as u32, self.chosen(number as u32, &now))
    }
}

fn read_by_end(end: &End, to: &mut dyn FnMut(Home)) {
    match end {
        End::Branch(guard, ..) | End::Exit(Some(guard), _) | End::Return(Some(guard), ..) => {
            homes_of(guard.pred, to);
        }
        End::Switch(index, _) | End::CallByAddress(index, ..) | End::ReturnBy(index, _) => {
            homes_of(*index, to);
        }
        _ => {}
    }
}

/// Passes a step backwards: what it writes in all lanes is not live before it, what it reads is.
fn pass(step: &Step, numbers: &Numbers, live: &mut Set) {
    if step.guard.is_none() && !step.blend {
        step.results(&mut |dst| {
            let mut kill = |home: Home| set(live, numbers.of(home), false);
            match dst {
                Dst::None => {}
                Dst::Narrow(i) => kill(Home::Narrow(i)),
                Dst::Wide(i) => kill(Home::Wide(i)),
                Dst::Pair(a, b) => {
                    kill(Home::Wide(a));
                    kill(Home::Wide(b));
                }
                Dst::Pred(i) => kill(Home::Pred(i)),
                Dst::Scalar(i) => kill(Home::Scalar(i)),
            }
        });
    }
    let mut read = |src: Src| homes_of(src, &mut |home| set(live, numbers.of(home), true));
    if let Some(guard) = &step.guard {
        read(guard.pred);
    }
    step.operands(&mut read);
}
