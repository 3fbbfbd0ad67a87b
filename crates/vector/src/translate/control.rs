//! Control flow: the ends of blocks, exits, calls.

use super::context::Wait;
use super::{Ctx, Place, Translator, Untranslated, Var, counts_access};
use crate::function::{Condition, Type, Value};
use crate::op::{BlockCounts, Counter, MaskOp, Op, Standing};
use fast::code::{Block, End, Guard, Src};

impl Translator<'_> {
    /// Translates a block of the kernel.
    pub(super) fn block_of(&mut self, number: u32, ctx: Ctx) -> Result<(), Untranslated> {
        let code = self.code;
        let block = &code.blocks[number as usize];
        let depths = self.depths(ctx);
        self.count(number, 0, &depths);
        for index in block.steps.clone() {
            self.step = index as u32;
            self.translate(&code.steps[index])?;
            if code.steps[index].may_wait() {
                self.count(number, index + 1 - block.steps.start, &depths);
            }
        }
        self.end(number, block, ctx)
    }

    /// Returns the split levels of the running lanes, in launches in detail: such as there may be,
    /// beyond a first one.
    pub(super) fn depths(&mut self, ctx: Ctx) -> Vec<Value> {
        match (self.detailed, &self.stack) {
            (false, _) => Vec::new(),
            (true, Some(_)) => vec![self.read(Var::Depth)],
            (true, None) => {
                let nodes: Vec<_> = self.contexts.nodes(ctx).collect();
                let joins = nodes.iter().filter(|node| matches!(node.wait, Wait::Join(_)));
                joins.map(|node| self.read(Var::Split(node.depth))).collect()
            }
        }
    }

    /// Returns the number of levels that are not among [`Self::depths`].
    fn certain_depth(&self) -> u32 {
        u32::from(self.detailed && self.stack.is_none())
    }

    /// Records the greatest number of split levels.
    pub(super) fn deepest(&mut self, depths: &[Value]) {
        if self.detailed {
            self.effect(Op::Depth(self.certain_depth()), depths);
        }
    }

    /// Counts the issues from a step of a block to the next one after which the warp may wait, or
    /// to the block's end.
    pub(super) fn count(&mut self, number: u32, first: usize, depths: &[Value]) {
        let block = &self.code.blocks[number as usize];
        let steps = &self.code.steps[block.steps.clone()];
        let (issues, end) = self.code.issues_from(number, first);
        let access = |s: &&fast::code::Step| s.guard.is_none() && counts_access(&s.kind);
        let counts = BlockCounts {
            block: number,
            first: first as u32,
            issues: issues as u32,
            head: first == 0 && block.is_head && issues > 0,
            memory: steps[first..end.unwrap_or(steps.len())].iter().filter(access).count() as u32,
            branches: u32::from(
                end.is_none() && matches!(block.end, End::Branch(..) | End::Switch(..)),
            ),
            splits: [0; 3],
            depth: self.certain_depth(),
        };
        let mut args = vec![self.read(Var::Population)];
        args.extend(depths);
        self.effect(Op::Count(counts), &args);
    }

    fn end(&mut self, number: u32, block: &Block, ctx: Ctx) -> Result<(), Untranslated> {
        match &block.end {
            End::Branch(guard, ..) => self.count_end_off(guard),
            // With a stack the interpreter may execute these, and counts.
            End::Exit(Some(guard), _) | End::Return(Some(guard), ..) if self.stack.is_none() => {
                self.count_end_off(guard);
            }
            _ => {}
        }
        match &block.end {
            End::Go(to) => self.uniform(block, *to, ctx, block.end_issues),
            End::Branch(_, to, next) if to == next => self.uniform(block, *to, ctx, true),
            End::Branch(guard, to, next) => match guard.pred {
                Src::Pred(_) => self.divergent(number, guard, (*to, *next), ctx),
                Src::Const(bits) => {
                    let taken = (bits & 1 != 0) != guard.negated;
                    self.uniform(block, if taken { *to } else { *next }, ctx, true)
                }
                Src::Line(..) => {
                    let bit = self.scalar(guard.pred);
                    let (mut yes, mut no) = self.branch(Condition::Bit(bit));
                    if guard.negated {
                        std::mem::swap(&mut yes, &mut no);
                    }
                    self.block = yes;
                    self.uniform(block, *to, ctx, true)?;
                    self.block = no;
                    self.uniform(block, *next, ctx, true)
                }
                _ => Err(Untranslated::Step("a branch by something else than a predicate")),
            },
            End::Exit(guard, next) if self.stack.is_some() => {
                self.exit_on_stack(number, guard.as_ref(), *next)
            }
            End::Exit(guard, next) => self.exit(guard.as_ref(), *next, ctx),
            End::Switch(index, table) => self.switch(number, *index, table, ctx),
            End::Call(to, back) => self.call(block, *to, *back, ctx),
            End::CallByAddress(..) => self.end_by_interpreter(number),
            End::ReturnBy(..) => Err(Untranslated::Step("a block that no lanes come to")),
            End::Return(..) if self.stack.is_some() => self.end_by_interpreter(number),
            End::Return(guard, next, _) => self.come_back(guard.as_ref(), *next, ctx),
        }
    }

    /// Counts the running lanes in which the guard of a block's end does not hold.
    pub(super) fn count_end_off(&mut self, guard: &Guard) {
        if self.detailed {
            let holds = self.guarded(guard);
            let counts = [self.read(Var::Population), self.population(holds)];
            self.effect(Op::CountEndOff(self.steps()), &counts);
        }
    }

    /// The number of steps of the code.
    fn steps(&self) -> u32 {
        u32::try_from(self.code.steps.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn is_back(&self, block: &Block, to: u32) -> bool {
        self.code.blocks[to as usize].first <= block.pc
    }

    /// All running lanes go to a block.
    pub(super) fn uniform(
        &mut self,
        block: &Block,
        to: u32,
        ctx: Ctx,
        issues: bool,
    ) -> Result<(), Untranslated> {
        if issues && self.is_back(block, to) {
            self.back_edge(to);
        }
        self.enter(to, ctx)
    }

    pub(super) fn back_edge(&mut self, to: u32) {
        let homes = self.standing.at_block(to);
        self.stand(homes, |homes| {
            Op::BackEdge(Box::new(Standing { block: to, step: None, homes }))
        });
    }

    /// The running lanes call a function, and wait for its return at a block.
    fn call(&mut self, block: &Block, to: u32, back: u32, ctx: Ctx) -> Result<(), Untranslated> {
        if self.stack.is_some() {
            return self.call_on_stack(block, to, back);
        }
        let depth = self.contexts.depth(ctx);
        let running = self.read(Var::Running);
        let lanes = self.bits(running);
        self.write(Var::Lanes(depth), lanes);
        let inner = self.contexts.push(ctx, Wait::Call(back));
        self.bump(Counter::Pushes, 1);
        self.height(inner, 1, None);
        if self.is_back(block, to) {
            self.back_edge(to);
        }
        self.enter(to, inner)
    }

    /// Lanes return from a function; the others go on.
    fn come_back(
        &mut self,
        guard: Option<&Guard>,
        next: u32,
        ctx: Ctx,
    ) -> Result<(), Untranslated> {
        let Some(guard) = guard else {
            self.bump(Counter::Emptied, 1);
            self.go_to(Place::Leave(ctx));
            return Ok(());
        };
        let running = self.read(Var::Running);
        let on = self.guarded(guard);
        let rest = self.one(Op::Mask(MaskOp::AndNot), &[running, on], Type::Mask);
        let (part, all) = self.branch(Condition::Any(rest));
        self.block = all;
        self.bump(Counter::Emptied, 1);
        self.go_to(Place::Leave(ctx));
        self.block = part;
        self.bump(Counter::SplitReturns, 1);
        self.run_lanes(rest);
        self.enter(next, ctx)
    }

    /// Lanes end; the others go on.
    fn exit(&mut self, guard: Option<&Guard>, next: u32, ctx: Ctx) -> Result<(), Untranslated> {
        let Some(guard) = guard else {
            self.end_lanes(ctx);
            return Ok(());
        };
        let running = self.read(Var::Running);
        let on = self.guarded(guard);
        let (some, none) = self.branch(Condition::Any(on));
        self.block = none;
        self.enter(next, ctx)?;
        self.block = some;
        let rest = self.one(Op::Mask(MaskOp::AndNot), &[running, on], Type::Mask);
        let (part, all) = self.branch(Condition::Any(rest));
        self.block = all;
        self.end_lanes(ctx);
        self.block = part;
        self.effect(Op::Exit, &[on]);
        self.run_lanes(rest);
        self.enter(next, ctx)
    }

    /// All running lanes end.
    pub(super) fn end_lanes(&mut self, ctx: Ctx) {
        let running = self.read(Var::Running);
        self.effect(Op::Exit, &[running]);
        self.bump(Counter::Emptied, 1);
        self.go_to(Place::Leave(ctx));
    }
}
