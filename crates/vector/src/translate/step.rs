//! Steps: operands as values, results as variables.

use super::live::homes_of;
use super::{Translator, Untranslated, Var, collective, counts_access};
use crate::function::{Condition, Type, Value};
use crate::op::{Await, Counter, Home, Interpreted, LaneOp, MaskOp, Op, Sreg};
use crate::recipe;
use fast::code::{Dst, Generic, Guard, Kind, Src, Step};
use fast::ops::{Native, Op64, Rel, Test};
use ir::Ty;
use ir::mods::{BoolOp, Cmp};
use vm::CollectiveKind;

/// The lanes that execute a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct On {
    pub(super) lanes: Value,
    /// Whether lanes that are off keep the old value of a result.
    pub(super) blend: bool,
}

/// Returns the operand of a shuffle whose lanes the result has, if it has no other role.
fn moved_by(kind: &Kind) -> Option<Home> {
    let Kind::Collective(what) = kind else { return None };
    let (CollectiveKind::Shuffle(_), [moved @ Src::Narrow(i), rest @ ..]) =
        (what.what.kind(), &what.src[..])
    else {
        return None;
    };
    let alone = !rest.contains(moved) && what.members != Some(*moved);
    alone.then_some(Home::Narrow(*i))
}

/// Returns whether a relation of floats is one that compares two numbers or detects NaNs.
fn is_float_relation(cmp: Cmp) -> bool {
    !matches!(cmp, Cmp::Lo | Cmp::Ls | Cmp::Hi | Cmp::Hs)
}

impl Translator<'_> {
    pub(super) fn translate(&mut self, step: &Step) -> Result<(), Untranslated> {
        let running = self.read(Var::Running);
        let Some(guard) = &step.guard else {
            return self.kind(&step.kind, On { lanes: running, blend: step.blend });
        };
        let lanes = self.guarded(guard);
        let counts = [self.read(Var::Population), self.population(lanes)];
        self.effect(Op::CountOff(self.step), &counts);
        let on = On { lanes, blend: step.blend };
        // A uniform guard skips the step: old values then stay without a selection.
        if matches!(guard.pred, Src::Pred(_)) && is_speculative(&step.kind) {
            return self.kind(&step.kind, on);
        }
        let (some, skip) = self.branch(Condition::Any(lanes));
        self.block = some;
        self.kind(&step.kind, on)?;
        if counts_access(&step.kind) {
            self.bump(Counter::Memory, 1);
        }
        self.jump(skip);
        self.block = skip;
        Ok(())
    }

    /// Returns the running lanes in which a guard holds.
    pub(super) fn guarded(&mut self, guard: &Guard) -> Value {
        let (running, holds) = (self.read(Var::Running), self.mask(guard.pred));
        self.one(Op::Mask(sides(guard)[0]), &[running, holds], Type::Mask)
    }

    fn kind(&mut self, kind: &Kind, on: On) -> Result<(), Untranslated> {
        match kind {
            Kind::Narrow { op, dst, src } => {
                let value = self.narrow(*op, src);
                self.put(Home::Narrow(*dst), value, on);
            }
            Kind::Wide { op, dst, src } => {
                let value = self.wide(*op, src);
                self.put(Home::Wide(*dst), value, on);
            }
            Kind::Low { dst, src } => {
                let value = self.row32(*src);
                self.put(Home::Narrow(*dst), value, on);
            }
            Kind::Rare { op, dst, src } => {
                let args = src.map(|s| self.arg(s));
                let value = recipe::rare(&mut self.function, self.block, *op, &args);
                self.put(Home::Narrow(*dst), value, on);
            }
            Kind::Generic(generic) if recipe::has(generic) => self.generic(generic, kind, on)?,
            Kind::Collective(what) if collective::has_form(what) => {
                self.collective(what, kind, on)?;
            }
            Kind::Test { test: Test::F(_), wide: true, .. } => self.interpret(kind, on)?,
            Kind::Test { test: Test::F(cmp), .. } if !is_float_relation(*cmp) => {
                self.interpret(kind, on)?;
            }
            Kind::Test { test, wide, combine, dst, src } => {
                let args = [self.row(src[0], *wide), self.row(src[1], *wide)];
                let mut holds = self.one(Op::Test(*test), &args, Type::Mask);
                if let Some(how) = combine {
                    let op = match how {
                        BoolOp::And => MaskOp::And,
                        BoolOp::Or => MaskOp::Or,
                        BoolOp::Xor => MaskOp::Xor,
                    };
                    let other = self.mask(src[2]);
                    holds = self.one(Op::Mask(op), &[holds, other], Type::Mask);
                }
                self.put(Home::Pred(*dst), holds, on);
            }
            Kind::Select { wide, dst, src } => {
                let (a, b) = (self.row(src[0], *wide), self.row(src[1], *wide));
                let home = if *wide { Home::Wide(*dst) } else { Home::Narrow(*dst) };
                let by = self.mask(src[2]);
                let value = self.one(Op::Select, &[by, a, b], home.ty());
                self.put(home, value, on);
            }
            Kind::Logic { op, dst, src } => {
                let value = self.logic(*op, *src);
                self.put(Home::Pred(*dst), value, on);
            }
            Kind::Scalar { native, dst, src } => {
                if let Native::Test { test: Test::F(cmp), wide, .. } = native
                    && (*wide || !is_float_relation(*cmp))
                {
                    return self.interpret(kind, on);
                }
                let args = src.map(|s| self.scalar(s));
                let value = self.one(Op::Scalar(*native), &args, Type::Scalar);
                self.write(Var::Home(Home::Scalar(*dst)), value);
            }
            Kind::Widen { .. } => self.widen(kind, on)?,
            Kind::Sreg { reg, dst: Dst::Scalar(dst), .. } => {
                let sreg = Sreg { reg: *reg, step: self.step };
                let value = self.one(Op::Sreg(sreg), &[], Type::Scalar);
                self.write(Var::Home(Home::Scalar(*dst)), value);
            }
            Kind::Sreg { reg, dst: Dst::Narrow(dst), .. } if is_by_warp(*reg) => {
                let sreg = Sreg { reg: *reg, step: self.step };
                let value = self.one(Op::Sreg(sreg), &[], Type::Row32);
                self.put(Home::Narrow(*dst), value, on);
            }
            Kind::Clock { high, dst, bits } => self.clock(*high, (*dst, *bits), on),
            Kind::Load(memory) => self.load(memory, kind, on)?,
            Kind::Store(memory) => self.store(memory, kind, on)?,
            Kind::Atomic(atomic) => self.atomic(atomic, kind, on)?,
            Kind::Copy(copy) => self.copy(copy, kind, on)?,
            Kind::Barrier { kind: how, id, pred, dst } => {
                self.barrier(*how, (*id, *pred, *dst), kind, on)?;
            }
            Kind::Nothing | Kind::Fence => {}
            Kind::Asynchronous(op) if op.may_wait() => self.interpret_and_wait(kind, on),
            _ => self.interpret(kind, on)?,
        }
        Ok(())
    }

    /// Translates a clock.
    fn clock(&mut self, high: bool, (dst, bits): (Dst, u32), on: On) {
        let step = self.step as usize;
        let mut blocks = self.code.blocks.iter();
        let number = blocks.position(|block| block.steps.contains(&step)).unwrap_or(0);
        let index = step - self.code.blocks[number].steps.start;
        let ahead = self.code.issues_ahead(number as u32, index) as u32;
        let mut value = self.one(Op::Clock(ahead), &[], Type::Scalar);
        if high {
            let by = self.constant(32, Type::Scalar);
            value = self.native(Op64::ShrU, value, by);
        }
        if bits < 64 {
            let mask = self.constant(u64::MAX >> (64 - bits.max(1)), Type::Scalar);
            value = self.native(Op64::And, value, mask);
        }
        let home = match dst {
            Dst::Scalar(i) => return self.write(Var::Home(Home::Scalar(i)), value),
            Dst::Narrow(i) => Home::Narrow(i),
            Dst::Wide(i) | Dst::Pair(i, _) => Home::Wide(i),
            Dst::None | Dst::Pred(_) => return,
        };
        let row = self.one(Op::Splat, &[value], home.ty());
        self.put(home, row, on);
    }

    /// Returns an operand of a recipe.
    fn arg(&mut self, src: Src) -> recipe::Arg {
        match src {
            Src::Const(bits) => recipe::Arg::Const(bits),
            Src::Pred(_) => recipe::Arg::Mask(self.mask(src)),
            Src::Line(_, stride, mask) => {
                let wide = mask > u64::from(u32::MAX);
                recipe::Arg::Row(self.row(src, wide), stride == 0)
            }
            Src::Wide(_) | Src::Pair(..) | Src::ConstPair(..) => {
                recipe::Arg::Row(self.row64(src), false)
            }
            Src::Narrow(_) => recipe::Arg::Row(self.row32(src), false),
        }
    }

    /// Translates a computation by its recipe.
    fn generic(&mut self, generic: &Generic, kind: &Kind, on: On) -> Result<(), Untranslated> {
        let is_scalar = generic.dst.iter().any(|d| matches!(d, Dst::Scalar(_)));
        let args: Vec<recipe::Arg> = generic
            .src
            .iter()
            .map(|&src| match src {
                // What lane 0 has, in all lanes.
                Src::Line(i, _, mask) if is_scalar => self.arg(Src::Line(i, 0, mask)),
                _ => self.arg(src),
            })
            .collect();
        if has_far_angles(generic) {
            let angle = self.row32(generic.src[0]);
            return self.near(generic, kind, (angle, &args), on);
        }
        self.by_recipe(generic, &args, on);
        Ok(())
    }

    /// Translates a sine or cosine: angles that are reduced in another way are left to the
    /// interpreter.
    fn near(
        &mut self,
        generic: &Generic,
        kind: &Kind,
        (angle, args): (Value, &[recipe::Arg]),
        on: On,
    ) -> Result<(), Untranslated> {
        const TY: Type = Type::Row32;
        // The magnitude, as single precision has it, above all others in the high bits.
        let bits = if generic.inst.ty == Some(Ty::Bf16) { 15 } else { 31 };
        let up = self.constant(32 - bits, TY);
        let up = self.lanes(LaneOp::Shl, &[angle, up], TY);
        let limit = self.constant(u64::from(recipe::NEAR.to_bits() << 1), TY);
        let far = self.one(Op::Test(Test::U(Rel::Ge)), &[up, limit], Type::Mask);
        let far = self.one(Op::Mask(MaskOp::And), &[far, on.lanes], Type::Mask);
        let (slow, fast) = self.branch(Condition::Any(far));
        let done = self.function.add_block();
        self.block = slow;
        self.interpret(kind, on)?;
        self.jump(done);
        self.block = fast;
        self.by_recipe(generic, args, on);
        self.jump(done);
        self.block = done;
        Ok(())
    }

    fn by_recipe(&mut self, generic: &Generic, args: &[recipe::Arg], on: On) {
        let results = recipe::build(&mut self.function, self.block, generic, args);
        // The first result wins where two go to one place.
        for (&dst, value) in generic.dst.iter().zip(results.unwrap_or_default()).rev() {
            let home = match dst {
                Dst::None | Dst::Pair(..) => continue,
                Dst::Narrow(i) => Home::Narrow(i),
                Dst::Wide(i) => Home::Wide(i),
                Dst::Pred(i) => Home::Pred(i),
                Dst::Scalar(i) => Home::Scalar(i),
            };
            let value = match (self.function.ty(value), home.ty()) {
                (Type::Row64, Type::Row32) => self.one(Op::Low, &[value], Type::Row32),
                (Type::Row32, Type::Row64) => self.one(Op::ZeroExtend, &[value], Type::Row64),
                (Type::Mask, Type::Scalar) => {
                    let bits = self.bits(value);
                    let one = self.constant(1, Type::Scalar);
                    let and = Op::Scalar(Native::Wide(Op64::And));
                    self.one(and, &[bits, one, one], Type::Scalar)
                }
                (_, Type::Scalar) => self.one(Op::First, &[value], Type::Scalar),
                _ => value,
            };
            self.put(home, value, on);
        }
    }

    /// Has the interpreter execute the step.
    pub(super) fn interpret(&mut self, kind: &Kind, on: On) -> Result<(), Untranslated> {
        let (mut step, args) = self.interpreted(kind);
        self.leave_in_memory(&mut step.results);
        let types: Vec<Type> =
            step.results.iter().map(|h| h.map_or(Type::Scalar, Home::ty)).collect();
        let homes = step.results.clone();
        let args: Vec<Value> = std::iter::once(on.lanes).chain(args).collect();
        let op = Op::Interpret(Box::new(step));
        let inst = self.function.append(self.block, op, &args, &types);
        let results = self.function.inst(inst).results.clone();
        for (home, value) in homes.into_iter().zip(results) {
            if let Some(home) = home {
                self.put(home, value, on);
            }
        }
        Ok(())
    }

    /// Leaves out results that the interpreter writes where they stay.
    fn leave_in_memory(&self, results: &mut [Option<Home>]) {
        for result in results {
            *result = result.filter(|&home| !self.standing.is_in_memory(home));
        }
    }

    /// Has the interpreter execute the step, after which the warp may wait. Results are there when
    /// it goes on.
    fn interpret_and_wait(&mut self, kind: &Kind, on: On) {
        let (mut step, args) = self.interpreted(kind);
        let mut results = std::mem::take(&mut step.results);
        self.leave_in_memory(&mut results);
        let args: Vec<Value> = std::iter::once(on.lanes).chain(args).collect();
        self.effect(Op::Interpret(Box::new(step)), &args);
        let (block, mut homes) = self.standing.after_step(self.code, self.step);
        // When the wait is over, the interpreter writes results where they are found. What they
        // were before must not be written over them.
        homes.retain(|&home| !results.contains(&Some(home)));
        let mut args = vec![self.read(Var::Running)];
        args.extend(homes.iter().map(|&home| self.read(Var::Home(home))).collect::<Vec<_>>());
        let types: Vec<Type> = results.iter().map(|h| h.map_or(Type::Scalar, Home::ty)).collect();
        let standing = crate::Standing { block, step: Some(self.step), homes };
        let op = Op::Await(Box::new(Await { results: results.clone(), standing }));
        let inst = self.function.append(self.block, op, &args, &types);
        let values = self.function.inst(inst).results.clone();
        for (home, value) in results.into_iter().zip(values) {
            if let Some(home) = home {
                self.put(home, value, on);
            }
        }
    }

    /// Returns the current step as the interpreter executes it, with its operands.
    pub(super) fn interpreted(&mut self, kind: &Kind) -> (Interpreted, Vec<Value>) {
        let mut operands: Vec<Home> = Vec::new();
        let mut add = |home: Home| {
            if !operands.contains(&home) {
                operands.push(home);
            }
        };
        let step = &self.code.steps[self.step as usize];
        step.operands(&mut |src| homes_of(src, &mut add));
        // Those in memory are where the interpreter reads and writes them.
        operands.retain(|&home| !self.standing.is_in_memory(home));
        let mut results = Vec::new();
        let mut result = |dst: Dst| match dst {
            Dst::None => results.push(None),
            Dst::Narrow(i) => results.push(Some(Home::Narrow(i))),
            Dst::Wide(i) => results.push(Some(Home::Wide(i))),
            Dst::Pair(a, b) => results.extend([Some(Home::Wide(a)), Some(Home::Wide(b))]),
            Dst::Pred(i) => results.push(Some(Home::Pred(i))),
            Dst::Scalar(i) => results.push(Some(Home::Scalar(i))),
        };
        match kind {
            Kind::Matrix(matrix) => matrix.dst.iter().for_each(|&d| result(d)),
            _ => {
                step.results(&mut result);
            }
        }
        let values = operands.iter().map(|&home| self.read(Var::Home(home))).collect();
        let moves = moved_by(kind).and_then(|moved| operands.iter().position(|&h| h == moved));
        let moves = moves.map(|operand| operand as u32);
        (Interpreted { step: self.step, operands, results, moves }, values)
    }

    /// Writes a result.
    pub(super) fn put(&mut self, home: Home, mut value: Value, on: On) {
        let var = Var::Home(home);
        if on.blend {
            match home.ty() {
                Type::Scalar => {}
                Type::Mask => {
                    let old = self.read(var);
                    let new = self.one(Op::Mask(MaskOp::And), &[value, on.lanes], Type::Mask);
                    let kept = self.one(Op::Mask(MaskOp::AndNot), &[old, on.lanes], Type::Mask);
                    value = self.one(Op::Mask(MaskOp::Or), &[new, kept], Type::Mask);
                }
                ty => {
                    let old = self.read(var);
                    value = self.one(Op::Select, &[on.lanes, value, old], ty);
                }
            }
        }
        self.write(var, value);
    }

    /// Returns a predicate operand.
    pub(super) fn mask(&mut self, src: Src) -> Value {
        match src {
            Src::Pred(i) => self.read(Var::Home(Home::Pred(i))),
            Src::Line(i, ..) => {
                let bit = self.read(Var::Home(Home::Scalar(i)));
                self.one(Op::MaskOfScalar, &[bit], Type::Mask)
            }
            Src::Const(bits) if bits & 1 != 0 => self.constant(u64::MAX, Type::Mask),
            _ => self.constant(0, Type::Mask),
        }
    }

    /// Returns a scalar operand: what lane 0 has.
    pub(super) fn scalar(&mut self, src: Src) -> Value {
        match src {
            Src::Line(i, ..) => self.read(Var::Home(Home::Scalar(i))),
            Src::Const(bits) | Src::ConstPair(bits, _) => self.constant(bits, Type::Scalar),
            _ => self.constant(0, Type::Scalar),
        }
    }

    fn row(&mut self, src: Src, wide: bool) -> Value {
        if wide { self.row64(src) } else { self.row32(src) }
    }

    /// Returns the low words of an operand.
    pub(super) fn row32(&mut self, src: Src) -> Value {
        match src {
            Src::Narrow(i) => self.read(Var::Home(Home::Narrow(i))),
            Src::Wide(i) | Src::Pair(i, _) => {
                let wide = self.read(Var::Home(Home::Wide(i)));
                self.one(Op::Low, &[wide], Type::Row32)
            }
            Src::Pred(i) => {
                let mask = self.read(Var::Home(Home::Pred(i)));
                self.one(Op::RowOfMask, &[mask], Type::Row32)
            }
            Src::Line(i, stride, mask) => self.line(i, stride, mask & 0xffff_ffff, Type::Row32),
            Src::Const(bits) | Src::ConstPair(bits, _) => {
                self.constant(bits & 0xffff_ffff, Type::Row32)
            }
        }
    }

    /// Returns an operand widened to 64 bits with zeros.
    pub(super) fn row64(&mut self, src: Src) -> Value {
        match src {
            Src::Wide(i) | Src::Pair(i, _) => self.read(Var::Home(Home::Wide(i))),
            Src::Line(i, stride, mask) => self.line(i, stride, mask, Type::Row64),
            Src::Const(bits) | Src::ConstPair(bits, _) => self.constant(bits, Type::Row64),
            Src::Narrow(_) | Src::Pred(_) => {
                let row = self.row32(src);
                self.one(Op::ZeroExtend, &[row], Type::Row64)
            }
        }
    }

    fn line(&mut self, scalar: u32, stride: i64, mask: u64, ty: Type) -> Value {
        let base = self.read(Var::Home(Home::Scalar(scalar)));
        if stride == 0 {
            // Scalars are zero-extended.
            return self.one(Op::Splat, &[base], ty);
        }
        let row = self.one(Op::Line(stride), &[base], ty);
        let all = if ty == Type::Row64 { u64::MAX } else { 0xffff_ffff };
        if mask & all == all {
            return row;
        }
        let mask = self.constant(mask, ty);
        self.one(Op::Lanes(LaneOp::And), &[row, mask], ty)
    }

    /// Widens the base of a line. If the line may wrap around, the interpreter decides for the
    /// lanes that are on.
    fn widen(&mut self, kind: &Kind, on: On) -> Result<(), Untranslated> {
        let Kind::Widen { signed, dst, base, stride, factor, addend } = *kind else {
            return Ok(());
        };
        let home = Home::Scalar(dst);
        let reach = stride.checked_mul(31).and_then(|r| i32::try_from(r).ok());
        if reach.is_none() {
            return self.interpret(kind, on);
        }
        let value = self.read(Var::Home(Home::Scalar(base)));
        let wraps = self.one(Op::Wraps(signed, stride), &[value], Type::Scalar);
        let (slow, fast) = self.branch(Condition::Bit(wraps));
        let done = self.function.add_block();
        self.block = slow;
        self.interpret(kind, on)?;
        self.jump(done);
        self.block = fast;
        let zero = self.constant(0, Type::Scalar);
        let (factor, addend) = (self.constant(factor, Type::Scalar), self.scalar(addend));
        let extend = Native::Wide(if signed { Op64::Sext32 } else { Op64::Zext32 });
        let line = self.one(Op::Scalar(extend), &[value, zero, zero], Type::Scalar);
        let mad = Op::Scalar(Native::Wide(Op64::Mad));
        let line = self.one(mad, &[line, factor, addend], Type::Scalar);
        self.write(Var::Home(home), line);
        self.jump(done);
        self.block = done;
        Ok(())
    }
}

/// Returns how the running lanes and a predicate yield the lanes in which a guard holds, and the
/// others.
pub(super) fn sides(guard: &Guard) -> [MaskOp; 2] {
    if guard.negated { [MaskOp::AndNot, MaskOp::And] } else { [MaskOp::And, MaskOp::AndNot] }
}

/// Returns whether an operand may be an angle that its recipe does not reduce.
fn has_far_angles(generic: &Generic) -> bool {
    matches!(generic.inst.op, ir::Op::Sin | ir::Op::Cos)
        && matches!(generic.inst.ty, Some(Ty::F32 | Ty::Bf16))
}

/// Returns whether a step other than an access has a form of its own.
pub(super) fn has_form(kind: &Kind) -> bool {
    match kind {
        Kind::Scalar { native: Native::Test { test: Test::F(cmp), wide, .. }, .. } => {
            !wide && is_float_relation(*cmp)
        }
        Kind::Scalar { .. } | Kind::Widen { .. } => true,
        Kind::Generic(generic) => recipe::has(generic),
        Kind::Collective(what) => collective::has_form(what),
        Kind::Sreg { dst: Dst::Scalar(_), .. } | Kind::Clock { .. } => true,
        Kind::Barrier { .. } | Kind::Copy(_) => true,
        kind => is_speculative(kind),
    }
}

/// Returns whether a step has no effect but rows and masks as its results, so that it may execute
/// although all lanes are off.
pub(super) fn is_speculative(kind: &Kind) -> bool {
    match kind {
        Kind::Narrow { .. } | Kind::Wide { .. } | Kind::Low { .. } | Kind::Select { .. } => true,
        Kind::Generic(generic) => {
            let rows = generic.dst.iter().all(|d| !matches!(d, Dst::Scalar(_)));
            rows && !has_far_angles(generic) && recipe::has(generic)
        }
        Kind::Rare { .. } => true,
        Kind::Test { test: Test::F(cmp), wide, .. } => !wide && is_float_relation(*cmp),
        Kind::Test { .. } | Kind::Logic { .. } | Kind::Nothing | Kind::Fence => true,
        Kind::Sreg { reg, dst: Dst::Narrow(_), .. } => is_by_warp(*reg),
        _ => false,
    }
}

/// Returns whether a special register differs by warp of a CTA and is the same in all CTAs.
#[must_use]
pub fn is_by_warp(reg: ir::Sreg) -> bool {
    use ir::Sreg;
    matches!(
        reg,
        Sreg::TidX
            | Sreg::TidY
            | Sreg::TidZ
            | Sreg::LaneId
            | Sreg::WarpId
            | Sreg::LaneMaskEq
            | Sreg::LaneMaskLt
            | Sreg::LaneMaskLe
            | Sreg::LaneMaskGe
            | Sreg::LaneMaskGt
    )
}
