//! Branches that split lanes, and where these meet. Rules and charges are those of `fast`'s stack.

use super::compute::is_word;
use super::context::{Meets, Wait};
use super::loops::is_uniform;
use super::step::sides;
use super::{Ctx, Place, Translator, Untranslated, Var};
use crate::function::{Condition, Terminator, Type, Value};
use crate::op::{Counter, MaskOp, Op};
use fast::Order;
use fast::code::{Block, Guard, Rejoin, Src};
use fast::ops::{Native, Op64, Rel, Test};

/// Most nodes of a context that are the same: more are left by a loop without end.
const MOST_EQUAL: usize = 4;

/// Most targets of a switch, and most numbers of them, that are tested one by one.
const MOST_TARGETS: usize = 12;
const MOST_NUMBERS: usize = 64;

/// A side of a branch: where it begins, and its lanes.
pub(super) type Side = (u32, Value);

/// What follows in a context.
type Next<'n, 'c> = &'n mut dyn FnMut(&mut Translator<'c>, Ctx) -> Result<(), Untranslated>;

impl<'c> Translator<'c> {
    /// Ends the current block where the running lanes are at the beginning of a block of the
    /// kernel.
    pub(super) fn enter(&mut self, to: u32, ctx: Ctx) -> Result<(), Untranslated> {
        if self.stack.is_some() {
            self.enter_on_stack(to);
            return Ok(());
        }
        match self.contexts.meets(ctx, to) {
            Meets::Here => self.go_to(Place::Arrive(ctx)),
            Meets::Perhaps => {
                let Some(node) = self.contexts.top(ctx) else { return Ok(()) };
                let split = self.read(Var::Split(node.depth));
                let (yes, no) = self.branch(Condition::Bit(split));
                self.block = no;
                self.enter(to, node.parent)?;
                self.block = yes;
                self.begin(to, ctx)?;
            }
            Meets::No => self.begin(to, ctx)?,
        }
        Ok(())
    }

    /// Begins a block at which the running lanes meet no others. Lanes that leave a loop wait for
    /// the others: the nodes for them are made where it begins, so that all its iterations have one
    /// context.
    fn begin(&mut self, to: u32, mut ctx: Ctx) -> Result<(), Untranslated> {
        let rejoins = self.loops.rejoins(to).unwrap_or_default();
        let fresh = rejoins.iter().copied().filter(|&r| !self.contexts.has_join(ctx, r));
        for rejoin in fresh.collect::<Vec<u32>>() {
            ctx = self.push_join(ctx, rejoin)?;
        }
        self.go_to(Place::Block(to, ctx));
        Ok(())
    }

    fn push(&mut self, ctx: Ctx, wait: Wait) -> Result<Ctx, Untranslated> {
        if self.contexts.in_call(ctx).filter(|node| node.wait == wait).count() >= MOST_EQUAL {
            return Err(Untranslated::Stack("iterations of a loop leave others behind"));
        }
        Ok(self.contexts.push(ctx, wait))
    }

    fn push_join(&mut self, ctx: Ctx, rejoin: u32) -> Result<Ctx, Untranslated> {
        let depth = self.contexts.depth(ctx);
        let zero = self.constant(0, Type::Scalar);
        self.write(Var::Lanes(depth), zero);
        self.write(Var::Split(depth), zero);
        self.push(ctx, Wait::Join(rejoin))
    }

    fn push_side(
        &mut self,
        ctx: Ctx,
        (block, lanes): Side,
        uncertain: bool,
    ) -> Result<Ctx, Untranslated> {
        let depth = self.contexts.depth(ctx);
        let lanes = self.bits(lanes);
        self.write(Var::Lanes(depth), lanes);
        self.push(ctx, Wait::Side(block, uncertain))
    }

    /// Goes on in the context in which a branch at the end of a block splits lanes.
    fn at_branch(
        &mut self,
        rejoin: Rejoin,
        ctx: Ctx,
        next: Next<'_, 'c>,
    ) -> Result<(), Untranslated> {
        let top = self.contexts.top(ctx);
        let hides = match (rejoin, top) {
            (Rejoin::At(to), Some(_)) => match self.contexts.meets(ctx, to) {
                Meets::Here => return next(self, ctx),
                Meets::Perhaps => true,
                Meets::No => false,
            },
            // The sides meet where lanes meet that split before them: that must be known.
            (Rejoin::Enclosing | Rejoin::Return(_), Some(node)) => {
                matches!(node.wait, Wait::Join(_))
            }
            (_, None) => false,
        };
        if let (Some(node), true) = (top, hides) {
            let split = self.read(Var::Split(node.depth));
            let (yes, no) = self.branch(Condition::Bit(split));
            self.block = no;
            self.at_branch(rejoin, node.parent, next)?;
            self.block = yes;
        }
        let ctx = match rejoin {
            Rejoin::At(to) => self.push_join(ctx, to)?,
            _ => ctx,
        };
        next(self, ctx)
    }

    /// A branch that may split lanes.
    pub(super) fn divergent(
        &mut self,
        number: u32,
        guard: &Guard,
        (to, next): (u32, u32),
        ctx: Ctx,
    ) -> Result<(), Untranslated> {
        let block = &self.code.blocks[number as usize];
        if self.stack.is_some() {
            return self.branch_in(block, guard, (to, next), ctx);
        }
        if let Rejoin::At(rejoin) = block.rejoin
            && self.convert_if(number, guard, (to, next), rejoin, ctx)?
        {
            return self.enter(rejoin, ctx);
        }
        self.at_branch(block.rejoin, ctx, &mut |this, ctx| {
            this.branch_in(block, guard, (to, next), ctx)
        })
    }

    fn branch_in(
        &mut self,
        block: &Block,
        guard: &Guard,
        (to, next): (u32, u32),
        ctx: Ctx,
    ) -> Result<(), Untranslated> {
        let (running, holds) = (self.read(Var::Running), self.mask(guard.pred));
        let [with, without] = sides(guard);
        // Mostly all lanes of a loop stay in it, and of another branch none is taken: that is
        // tested first, and the mask then stays what it is.
        let stays = self.is_back(block, to);
        let (op, other_op) = if stays { (without, with) } else { (with, without) };
        let (usual, other) = if stays { (to, next) } else { (next, to) };
        let parting = self.one(Op::Mask(op), &[running, holds], Type::Mask);
        let (some, none) = self.branch(Condition::Any(parting));
        self.block = none;
        self.uniform(block, usual, ctx, true)?;
        self.block = some;
        let rest = self.one(Op::Mask(other_op), &[running, holds], Type::Mask);
        let (both, all) = self.branch(Condition::Any(rest));
        self.block = all;
        self.uniform(block, other, ctx, true)?;
        self.block = both;
        let (taken, others) = if stays { (rest, parting) } else { (parting, rest) };
        self.split(block, [(to, taken), (next, others)], ctx)
    }

    /// Both sides of a branch have lanes.
    fn split(&mut self, block: &Block, sides: [Side; 2], ctx: Ctx) -> Result<(), Untranslated> {
        let place = |side: &Side| self.code.blocks[side.0 as usize].first;
        let mut sides = sides;
        sides.sort_by_key(place);
        let [a, b] = sides;
        let next = block.pc + 1;
        let (a_first, order) = match self.order {
            Order::Taken => (place(&a) != next, None),
            Order::Fallthrough => (place(&b) != next, None),
            Order::Minority => (true, Some(Rel::Le)),
            Order::Majority => (true, Some(Rel::Ge)),
        };
        let Some(rel) = order else {
            return self.split_in_order(block, if a_first { [a, b] } else { [b, a] }, ctx);
        };
        let [x, y] = [a, b].map(|side| self.population(side.1));
        let zero = self.constant(0, Type::Scalar);
        let test = Native::Test { test: Test::U(rel), wide: true, combine: None };
        let holds = self.one(Op::Scalar(test), &[x, y, zero], Type::Scalar);
        let (yes, no) = self.branch(Condition::Bit(holds));
        self.block = yes;
        self.split_in_order(block, [a, b], ctx)?;
        self.block = no;
        self.split_in_order(block, [b, a], ctx)
    }

    /// Both sides of a branch have lanes, and the first runs first.
    fn split_in_order(
        &mut self,
        block: &Block,
        [first, second]: [Side; 2],
        ctx: Ctx,
    ) -> Result<(), Untranslated> {
        if self.stack.is_some() {
            return self.split_on_stack(block, [first, second]);
        }
        let sides = [first, second];
        let join = self.contexts.join(ctx);
        let waits = |side: &Side| join.is_some_and(|join| join.0 == side.0);
        let pushed = sides.iter().filter(|side| !waits(side)).count() as u32;
        self.bump(Counter::SplitBranches, 1);
        self.bump(Counter::Pushes, pushed);
        if let Some((_, depth)) = join {
            let one = self.constant(1, Type::Scalar);
            self.write(Var::Split(depth), one);
            for side in sides.iter().filter(|side| waits(side)) {
                self.wait(depth, side.1);
            }
        }
        let (run, inner) = match pushed {
            2 => (first, self.push_side(ctx, second, false)?),
            _ => (if waits(&first) { second } else { first }, ctx),
        };
        self.height(inner, 1, None);
        let depths = self.depths(inner);
        self.deepest(&depths);
        self.run_lanes(run.1);
        if sides.iter().any(|side| self.is_back(block, side.0)) {
            self.back_edge(run.0);
        }
        self.enter(run.0, inner)
    }

    /// Lanes go each to the block of its index.
    pub(super) fn switch(
        &mut self,
        number: u32,
        index: Src,
        table: &[u32],
        ctx: Ctx,
    ) -> Result<(), Untranslated> {
        let block = &self.code.blocks[number as usize];
        if is_uniform(index) {
            return self.uniform_switch(number, index, table, ctx);
        }
        if self.stack.is_some() {
            return self.end_by_interpreter(number);
        }
        let place = |to: u32| self.code.blocks[to as usize].first;
        let mut targets = table.to_vec();
        targets.sort_unstable_by_key(|&to| place(to));
        targets.dedup();
        if targets.len() > MOST_TARGETS || table.len() > MOST_NUMBERS {
            return Err(Untranslated::Stack("a switch has many targets"));
        }
        let next = block.pc + 1;
        match self.order {
            Order::Taken => targets.sort_by_key(|&to| place(to) == next),
            Order::Fallthrough => targets.sort_by_key(|&to| place(to) != next),
            _ => return Err(Untranslated::Stack("a switch whose order depends on its lanes")),
        }
        let running = self.read(Var::Running);
        let sides = self.switch_sides(index, table, &targets);
        let inside = self.any_of(sides.iter().map(|side| side.1));
        let outside = self.one(Op::Mask(MaskOp::AndNot), &[running, inside], Type::Mask);
        let (wrong, right) = self.branch(Condition::Any(outside));
        self.block = wrong;
        self.end_by_interpreter(number)?;
        self.block = right;
        self.at_branch(block.rejoin, ctx, &mut |this, ctx| this.switch_in(block, &sides, ctx))
    }

    /// A switch by a scalar: lanes stay together.
    fn uniform_switch(
        &mut self,
        number: u32,
        index: Src,
        table: &[u32],
        ctx: Ctx,
    ) -> Result<(), Untranslated> {
        let block = &self.code.blocks[number as usize];
        let index = self.scalar(index);
        let default = self.function.add_block();
        let cases: Vec<_> = table.iter().map(|_| self.function.add_block()).collect();
        let from = self.block;
        let numbers = 0..;
        let targets = numbers.zip(&cases).map(|(n, &case)| (n, self.ssa.edge(from, case)));
        let targets = targets.collect();
        let end = Terminator::Switch(index, targets, self.ssa.edge(from, default));
        self.function.set_end(from, end);
        self.block = default;
        self.end_by_interpreter(number)?;
        for (&to, case) in table.iter().zip(cases) {
            self.block = case;
            self.uniform(block, to, ctx, true)?;
        }
        Ok(())
    }

    /// Returns the sides of a switch: for each target, the running lanes whose index leads there.
    fn switch_sides(&mut self, index: Src, table: &[u32], targets: &[u32]) -> Vec<Side> {
        let running = self.read(Var::Running);
        let (row, ty) = match is_word(index) {
            true => (self.row32(index), Type::Row32),
            false => (self.row64(index), Type::Row64),
        };
        let side = |&to: &u32| {
            let numbers = table.iter().enumerate().filter(|entry| *entry.1 == to);
            let masks: Vec<Value> = numbers
                .map(|(number, _)| {
                    let number = self.constant(number as u64, ty);
                    self.one(Op::Test(Test::U(Rel::Eq)), &[row, number], Type::Mask)
                })
                .collect();
            let lanes = self.any_of(masks.into_iter());
            (to, self.one(Op::Mask(MaskOp::And), &[running, lanes], Type::Mask))
        };
        targets.iter().map(side).collect()
    }

    /// Returns the disjunction of masks.
    fn any_of(&mut self, masks: impl Iterator<Item = Value>) -> Value {
        let first = self.constant(0, Type::Mask);
        masks.fold(first, |a, b| self.one(Op::Mask(MaskOp::Or), &[a, b], Type::Mask))
    }

    pub(super) fn native(&mut self, op: Op64, a: Value, b: Value) -> Value {
        let zero = self.constant(0, Type::Scalar);
        self.one(Op::Scalar(Native::Wide(op)), &[a, b, zero], Type::Scalar)
    }

    /// Returns how many of some sides have lanes.
    fn sides_with_lanes(&mut self, sides: &[Side]) -> Value {
        let zero = self.constant(0, Type::Scalar);
        sides.iter().fold(zero, |sum, side| {
            let bits = self.bits(side.1);
            let any = self.one(Op::IsNonzero, &[bits], Type::Scalar);
            self.native(Op64::Add, sum, any)
        })
    }

    /// A switch whose sides are in the order in which they run.
    fn switch_in(&mut self, block: &Block, sides: &[Side], ctx: Ctx) -> Result<(), Untranslated> {
        let count = self.sides_with_lanes(sides);
        let two = self.constant(2, Type::Scalar);
        let zero = self.constant(0, Type::Scalar);
        let test = Native::Test { test: Test::U(Rel::Ge), wide: true, combine: None };
        let splits = self.one(Op::Scalar(test), &[count, two, zero], Type::Scalar);
        let (some, one) = self.branch(Condition::Bit(splits));
        self.block = one;
        self.first_with_lanes(sides, &mut |this, i| this.uniform(block, sides[i].0, ctx, true))?;
        self.block = some;
        self.bump(Counter::SplitBranches, 1);
        let more = self.native(Op64::Sub, count, two);
        self.effect(Op::BumpBy(Counter::MorePaths), &[more]);
        let join = self.contexts.join(ctx);
        let waits = |side: &&Side| join.is_some_and(|join| join.0 == side.0);
        if let Some((_, depth)) = join {
            let one = self.constant(1, Type::Scalar);
            self.write(Var::Split(depth), one);
            if let Some(side) = sides.iter().find(waits) {
                self.wait(depth, side.1);
            }
        }
        let pushed: Vec<Side> = sides.iter().filter(|side| !waits(side)).copied().collect();
        let pushes = self.sides_with_lanes(&pushed);
        self.effect(Op::BumpBy(Counter::Pushes), &[pushes]);
        self.height(ctx, 0, Some(pushes));
        let depths = self.depths(ctx);
        self.deepest(&depths);
        let back: Vec<Value> =
            sides.iter().filter(|s| self.is_back(block, s.0)).map(|s| s.1).collect();
        let back = self.any_of(back.into_iter());
        self.first_with_lanes(&pushed, &mut |this, i| {
            let mut inner = ctx;
            for &side in pushed[i + 1..].iter().rev() {
                inner = this.push_side(inner, side, true)?;
            }
            let (to, lanes) = pushed[i];
            this.run_lanes(lanes);
            let (yes, no) = this.branch(Condition::Any(back));
            this.block = yes;
            this.back_edge(to);
            this.enter(to, inner)?;
            this.block = no;
            this.enter(to, inner)
        })
    }

    /// Goes on with the first side that has lanes; one has.
    fn first_with_lanes(
        &mut self,
        sides: &[Side],
        next: &mut dyn FnMut(&mut Self, usize) -> Result<(), Untranslated>,
    ) -> Result<(), Untranslated> {
        for (i, side) in sides.iter().enumerate() {
            if i + 1 == sides.len() {
                return next(self, i);
            }
            let (some, none) = self.branch(Condition::Any(side.1));
            self.block = some;
            next(self, i)?;
            self.block = none;
        }
        Ok(())
    }

    /// Adds lanes to those that wait at a reconvergence point.
    fn wait(&mut self, depth: u32, lanes: Value) {
        let var = Var::Lanes(depth);
        let (waiting, lanes) = (self.read(var), self.bits(lanes));
        let all = self.native(Op64::Or, waiting, lanes);
        self.write(var, all);
    }

    /// Returns the lanes that wait at a node.
    fn waiting(&mut self, depth: u32) -> Value {
        let bits = self.read(Var::Lanes(depth));
        self.one(Op::MaskOfBits, &[bits], Type::Mask)
    }

    /// Records the height of the stack: an entry for each node, for a reconvergence point only if
    /// lanes have split that meet there, and so many more, of which a scalar may tell.
    pub(super) fn height(&mut self, ctx: Ctx, known: u32, more: Option<Value>) {
        let nodes: Vec<_> = self.contexts.nodes(ctx).collect();
        let mut known = known;
        let mut list: Vec<Value> = more.into_iter().collect();
        for node in nodes {
            match node.wait {
                Wait::Join(_) => list.push(self.read(Var::Split(node.depth))),
                Wait::Side(_, true) => {
                    let lanes = self.read(Var::Lanes(node.depth));
                    list.push(self.one(Op::IsNonzero, &[lanes], Type::Scalar));
                }
                Wait::Side(_, false) | Wait::Call(_) => known += 1,
            }
        }
        self.effect(Op::Height(known), &list);
    }

    /// Ends the current block where the running lanes are at the innermost reconvergence point.
    pub(super) fn arrive(&mut self, ctx: Ctx) -> Result<(), Untranslated> {
        let (Some(node), Some((rejoin, depth))) = (self.contexts.top(ctx), self.contexts.join(ctx))
        else {
            return Ok(());
        };
        let split = self.read(Var::Split(depth));
        self.effect(Op::BumpBy(Counter::Merges), &[split]);
        let running = self.read(Var::Running);
        if let Wait::Side(..) = node.wait {
            self.wait(depth, running);
            self.go_to(Place::Leave(ctx));
            return Ok(());
        }
        let waiting = self.waiting(depth);
        let all = self.one(Op::Mask(MaskOp::Or), &[running, waiting], Type::Mask);
        self.run_lanes(all);
        self.enter(rejoin, node.parent)
    }

    /// Ends the current block where no lanes run any more, because they have ended, returned, or
    /// wait: those that wait at the innermost node are next.
    pub(super) fn leave(&mut self, ctx: Ctx) -> Result<(), Untranslated> {
        let Some(node) = self.contexts.top(ctx) else {
            self.function.set_end(self.block, Terminator::End);
            return Ok(());
        };
        let lanes = self.waiting(node.depth);
        let (to, certain) = match node.wait {
            Wait::Join(to) => (to, false),
            Wait::Side(to, uncertain) => (to, !uncertain),
            Wait::Call(to) => (to, true),
        };
        if !certain {
            let (some, none) = self.branch(Condition::Any(lanes));
            self.block = none;
            self.go_to(Place::Leave(node.parent));
            self.block = some;
        }
        self.run_lanes(lanes);
        self.enter(to, node.parent)
    }
}
