//! Kernels whose lanes may wait in any number of places: those that wait are entries of a stack in
//! the warp's memory, and one block goes on with the stack's top. Rules and charges are those of
//! `fast`'s stack; the interpreter executes what is rare, on the same entries.

use super::live::homes_of;
use super::loops::is_uniform;
use super::split::Side;
use super::{Ctx, Place, Translator, Untranslated, Var};
use crate::function::{Condition, Target, Terminator, Type, Value};
use crate::op::{Counter, Home, InterpretedEnd, MaskOp, Op, StackOp};
use fast::code::{Block, Code, End, Guard, Rejoin, Src};
use fast::ops::{Native, Op64, Rel, Test};

/// In place of a reconvergence point: none.
const NO_BLOCK: u64 = u32::MAX as u64;

/// Blocks of a kernel at which lanes may stand whose entry becomes the top.
#[derive(Debug)]
pub(super) struct Points {
    /// By block, whether it is a reconvergence point.
    rejoins: Vec<bool>,
    /// The blocks, ascending.
    resumes: Vec<u32>,
    /// Whether the interpreter executes ends of blocks with back-edges.
    back_edges: bool,
}

impl Points {
    pub(super) fn new(code: &Code) -> Self {
        let mut rejoins = vec![false; code.blocks.len()];
        let mut resumes = Vec::new();
        let mut back_edges = false;
        for block in &code.blocks {
            if let Rejoin::At(to) = block.rejoin {
                rejoins[to as usize] = true;
                resumes.push(to);
            }
            match &block.end {
                End::Branch(guard, ..) if matches!(guard.pred, Src::Pred(_)) => {
                    resumes.extend(block.end.targets());
                }
                End::Switch(index, _) if !is_uniform(*index) => {
                    resumes.extend(block.end.targets());
                    back_edges = true;
                }
                End::Call(_, back) => resumes.push(*back),
                End::CallByAddress(_, callees, back) => {
                    resumes.extend(callees.iter().map(|callee| callee.1).chain([*back]));
                    back_edges = true;
                }
                End::Exit(Some(_), next) => resumes.push(*next),
                // Where lanes are back is behind a call.
                End::Return(Some(_), next, _) => resumes.push(*next),
                _ => {}
            }
        }
        resumes.sort_unstable();
        resumes.dedup();
        Self { rejoins, resumes, back_edges }
    }

    fn is_rejoin(&self, block: u32) -> bool {
        self.rejoins[block as usize]
    }

    /// Returns the blocks, ascending.
    pub(super) fn resumes(&self) -> &[u32] {
        &self.resumes
    }
}

impl Translator<'_> {
    fn is_rejoin(&self, block: u32) -> bool {
        self.stack.as_ref().is_some_and(|points| points.is_rejoin(block))
    }

    /// Begins with the entry of the launched lanes.
    pub(super) fn begin_stack(&mut self) {
        for (var, bits) in [(Var::Rejoin, NO_BLOCK), (Var::Depth, 1), (Var::BackEdge, 0)] {
            let value = self.constant(bits, Type::Scalar);
            self.write(var, value);
        }
    }

    fn is_equal(&mut self, a: Value, b: Value) -> Value {
        let zero = self.constant(0, Type::Scalar);
        let test = Native::Test { test: Test::U(Rel::Eq), wide: true, combine: None };
        self.one(Op::Scalar(test), &[a, b, zero], Type::Scalar)
    }

    /// Returns whether the running lanes wait at a block for others.
    fn waits_at(&mut self, block: u32) -> Value {
        let (rejoin, block) = (self.read(Var::Rejoin), self.constant(block.into(), Type::Scalar));
        self.is_equal(rejoin, block)
    }

    /// The running lanes go to a block of the kernel.
    pub(super) fn enter_on_stack(&mut self, to: u32) {
        if self.is_rejoin(to) {
            let waits = self.waits_at(to);
            let (yes, no) = self.branch(Condition::Bit(waits));
            self.block = yes;
            self.bump(Counter::Merges, 1);
            self.effect(Op::Stack(StackOp::Pop), &[]);
            self.go_to(Place::Resume);
            self.block = no;
        }
        self.go_to(Place::Block(to, Ctx::BASE));
    }

    /// Goes on with the top of the stack, but for entries without lanes, and those that have
    /// reached their reconvergence point.
    pub(super) fn resume(&mut self) {
        let results = [Type::Scalar; 4];
        let inst = self.function.append(self.block, Op::Stack(StackOp::Top), &[], &results);
        let results = self.function.inst(inst).results.clone();
        let [block, lanes, rejoin, depth] = [0, 1, 2, 3].map(|i| results[i]);
        let zero = self.constant(0, Type::Scalar);
        for (a, b, counter) in [(lanes, zero, Counter::Emptied), (block, rejoin, Counter::Merges)] {
            let pops = self.is_equal(a, b);
            let (yes, no) = self.branch(Condition::Bit(pops));
            self.block = yes;
            self.bump(counter, 1);
            self.effect(Op::Stack(StackOp::Pop), &[]);
            self.go_to(Place::Resume);
            self.block = no;
        }
        self.write(Var::Rejoin, rejoin);
        self.write(Var::Depth, depth);
        self.deepest(&[depth]);
        let lanes = self.one(Op::MaskOfBits, &[lanes], Type::Mask);
        self.run_lanes(lanes);
        let Some(points) = &self.stack else { return };
        let (mut list, back_edges) = (points.resumes.clone(), points.back_edges);
        let Some(last) = list.pop() else { return };
        let from = self.block;
        let target = |this: &mut Self, to: u32| -> Target {
            let case = this.function.add_block();
            let target = this.ssa.edge(from, case);
            this.block = case;
            if back_edges {
                this.late_back_edge(to);
            }
            this.go_to(Place::Block(to, Ctx::BASE));
            target
        };
        let cases = list.iter().map(|&to| (to.into(), target(self, to))).collect();
        let last = target(self, last);
        self.function.set_end(from, Terminator::Switch(block, cases, last));
    }

    /// Ends the turn before a block if the interpreter has executed a back-edge.
    fn late_back_edge(&mut self, to: u32) {
        let back = self.read(Var::BackEdge);
        let (yes, no) = self.branch(Condition::Bit(back));
        self.block = yes;
        let zero = self.constant(0, Type::Scalar);
        self.write(Var::BackEdge, zero);
        self.back_edge(to);
        self.jump(no);
        self.block = no;
    }

    fn push_entry(&mut self, (block, lanes): Side) {
        let lanes = self.bits(lanes);
        let args = [lanes, self.read(Var::Rejoin), self.read(Var::Depth)];
        self.effect(Op::Stack(StackOp::Push(block)), &args);
        self.bump(Counter::Pushes, 1);
    }

    fn stack_height(&mut self) {
        let height = self.one(Op::Stack(StackOp::Height), &[], Type::Scalar);
        self.effect(Op::Height(0), &[height]);
    }

    /// Both sides of a branch have lanes, and the first runs first.
    pub(super) fn split_on_stack(
        &mut self,
        block: &Block,
        [first, second]: [Side; 2],
    ) -> Result<(), Untranslated> {
        self.bump(Counter::SplitBranches, 1);
        match block.rejoin {
            Rejoin::At(rejoin) => {
                self.wait_on_stack(rejoin);
                let sides = [second, first];
                let pushed: Vec<Side> = sides.into_iter().filter(|side| side.0 != rejoin).collect();
                self.run_top(block, [first, second], &pushed);
            }
            Rejoin::Enclosing | Rejoin::Return(_) => {
                self.effect(Op::Stack(StackOp::Pop), &[]);
                for (one, other) in [(first, second), (second, first)] {
                    if self.is_rejoin(one.0) {
                        let waits = self.waits_at(one.0);
                        let (yes, no) = self.branch(Condition::Bit(waits));
                        self.block = yes;
                        self.run_top(block, [first, second], &[other]);
                        self.block = no;
                    }
                }
                self.run_top(block, [first, second], &[second, first]);
            }
        }
        Ok(())
    }

    /// Makes the top an entry whose lanes wait at a reconvergence point, or removes it if its lanes
    /// wait there in an entry below.
    fn wait_on_stack(&mut self, rejoin: u32) {
        let same = self.waits_at(rejoin);
        let (yes, no) = self.branch(Condition::Bit(same));
        let both = self.function.add_block();
        self.block = no;
        self.effect(Op::Stack(StackOp::Wait(rejoin)), &[]);
        let (depth, one) = (self.read(Var::Depth), self.constant(1, Type::Scalar));
        let depth = self.native(Op64::Add, depth, one);
        self.write(Var::Depth, depth);
        self.deepest(&[depth]);
        let rejoin = self.constant(rejoin.into(), Type::Scalar);
        self.write(Var::Rejoin, rejoin);
        self.jump(both);
        self.block = yes;
        self.effect(Op::Stack(StackOp::Pop), &[]);
        self.jump(both);
        self.block = both;
    }

    /// Pushes sides of a branch, the last of which runs.
    fn run_top(&mut self, block: &Block, sides: [Side; 2], pushed: &[Side]) {
        pushed.iter().for_each(|&side| self.push_entry(side));
        let Some(&(to, lanes)) = pushed.last() else { return };
        self.stack_height();
        self.run_lanes(lanes);
        if sides.iter().any(|side| self.is_back(block, side.0)) {
            self.back_edge(to);
        }
        self.go_to(Place::Block(to, Ctx::BASE));
    }

    /// The running lanes call a function, and wait for its return at a block.
    pub(super) fn call_on_stack(
        &mut self,
        block: &Block,
        to: u32,
        back: u32,
    ) -> Result<(), Untranslated> {
        self.effect(Op::Stack(StackOp::Wait(back)), &[]);
        let none = self.constant(NO_BLOCK, Type::Scalar);
        self.write(Var::Rejoin, none);
        let running = self.read(Var::Running);
        self.push_entry((to, running));
        self.stack_height();
        if self.is_back(block, to) {
            self.back_edge(to);
        }
        self.go_to(Place::Block(to, Ctx::BASE));
        Ok(())
    }

    /// Lanes end; the others go on.
    pub(super) fn exit_on_stack(
        &mut self,
        number: u32,
        guard: Option<&Guard>,
        next: u32,
    ) -> Result<(), Untranslated> {
        let running = self.read(Var::Running);
        if let Some(guard) = guard {
            let on = self.guarded(guard);
            let (some, none) = self.branch(Condition::Any(on));
            self.block = none;
            self.count_end_off(guard);
            self.enter_on_stack(next);
            self.block = some;
            let rest = self.one(Op::Mask(MaskOp::AndNot), &[running, on], Type::Mask);
            let (part, all) = self.branch(Condition::Any(rest));
            self.block = part;
            self.end_by_interpreter(number)?;
            self.block = all;
        }
        let height = self.one(Op::Stack(StackOp::Height), &[], Type::Scalar);
        let one = self.constant(1, Type::Scalar);
        let alone = self.is_equal(height, one);
        let (alone, others) = self.branch(Condition::Bit(alone));
        self.block = others;
        self.end_by_interpreter(number)?;
        self.block = alone;
        self.effect(Op::Exit, &[running]);
        self.bump(Counter::Emptied, 1);
        self.function.set_end(alone, Terminator::End);
        Ok(())
    }

    /// Has the interpreter execute the end of a block. Without a stack, it stops the launch.
    pub(super) fn end_by_interpreter(&mut self, number: u32) -> Result<(), Untranslated> {
        let mut operands: Vec<Home> = Vec::new();
        let mut add = |home: Home| operands.push(home);
        let end = &self.code.blocks[number as usize].end;
        match end {
            End::Switch(index, _) | End::CallByAddress(index, ..) => homes_of(*index, &mut add),
            End::Exit(Some(guard), _) | End::Return(Some(guard), ..) => {
                homes_of(guard.pred, &mut add);
            }
            _ => {}
        }
        if let End::Return(.., back) = end
            && let End::ReturnBy(site, _) = &self.code.blocks[*back as usize].end
        {
            homes_of(*site, &mut add);
        }
        operands.retain(|&home| !self.standing.is_in_memory(home));
        let mut args = vec![self.read(Var::Running)];
        args.extend(operands.iter().map(|&home| self.read(Var::Home(home))).collect::<Vec<_>>());
        let op = Op::InterpretEnd(Box::new(InterpretedEnd { block: number, operands }));
        let inst = self.function.append(self.block, op, &args, &[Type::Scalar; 2]);
        let (left, back) =
            (self.function.inst(inst).results[0], self.function.inst(inst).results[1]);
        if self.stack.is_none() {
            self.function.set_end(self.block, Terminator::End);
            return Ok(());
        }
        self.write(Var::BackEdge, back);
        let (some, none) = self.branch(Condition::Bit(left));
        self.function.set_end(none, Terminator::End);
        self.block = some;
        self.go_to(Place::Resume);
        Ok(())
    }
}
