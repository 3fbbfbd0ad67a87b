//! Barriers of all threads of the CTA.

use super::step::On;
use super::{Translator, Untranslated, Var};
use crate::function::{Condition, Terminator, Type, Value};
use crate::op::{Barrier, Home, MaskOp, Op};
use fast::BARRIERS;
use fast::code::{Dst, Kind, Src};
use fast::ops::{Native, Rel, Test};
use ir::mods;

impl Translator<'_> {
    /// Lanes arrive at a barrier.
    pub(super) fn barrier(
        &mut self,
        how: mods::Barrier,
        (id, pred, dst): (Src, Option<Src>, Dst),
        kind: &Kind,
        on: On,
    ) -> Result<(), Untranslated> {
        let id = self.barrier_number(id, kind, on)?;
        let holds = match pred {
            Some(pred) => self.mask(pred),
            None => self.constant(0, Type::Mask),
        };
        let (block, homes) = self.standing.after_step(self.code, self.step);
        let mut args = vec![self.read(Var::Running), on.lanes, id, holds];
        args.extend(homes.iter().map(|&home| self.read(Var::Home(home))).collect::<Vec<_>>());
        let standing = crate::Standing { block, step: Some(self.step), homes };
        let op = Op::Barrier(Box::new(Barrier { kind: how, standing }));
        if dst == Dst::None {
            self.effect(op, &args);
            return Ok(());
        }
        let value = self.one(op, &args, Type::Scalar);
        self.put_uniform(dst, value, on);
        Ok(())
    }

    /// Returns the number of a barrier. Where it is not that of a barrier, or where lanes have
    /// different ones, the interpreter stops the launch.
    fn barrier_number(&mut self, id: Src, kind: &Kind, on: On) -> Result<Value, Untranslated> {
        let number = match id {
            Src::Const(_) | Src::Line(_, 0, _) => self.scalar(id),
            _ => {
                let row = self.row32(id);
                let number = self.one(Op::FirstLane, &[on.lanes, row], Type::Scalar);
                let splat = self.one(Op::Splat, &[number], Type::Row32);
                let test = Op::Test(Test::U(Rel::Ne));
                let other = self.one(test, &[row, splat], Type::Mask);
                let other = self.one(Op::Mask(MaskOp::And), &[on.lanes, other], Type::Mask);
                self.stop_if(Condition::Any(other), kind, on)?;
                number
            }
        };
        if !matches!(id, Src::Const(id) if id < BARRIERS as u64) {
            let (most, zero) = (BARRIERS as u64, self.constant(0, Type::Scalar));
            let most = self.constant(most, Type::Scalar);
            let test = Native::Test { test: Test::U(Rel::Ge), wide: true, combine: None };
            let beyond = self.one(Op::Scalar(test), &[number, most, zero], Type::Scalar);
            self.stop_if(Condition::Bit(beyond), kind, on)?;
        }
        Ok(number)
    }

    /// Has the interpreter execute the step, which stops the launch, if a condition holds.
    fn stop_if(&mut self, condition: Condition, kind: &Kind, on: On) -> Result<(), Untranslated> {
        let (stop, go_on) = self.branch(condition);
        self.block = stop;
        self.interpret(kind, on)?;
        self.function.set_end(stop, Terminator::End);
        self.block = go_on;
        Ok(())
    }

    /// Writes a result that is the same in all lanes.
    pub(super) fn put_uniform(&mut self, dst: Dst, value: Value, on: On) {
        let (home, op) = match dst {
            Dst::None => return,
            Dst::Scalar(i) => return self.write(Var::Home(Home::Scalar(i)), value),
            Dst::Pred(i) => (Home::Pred(i), Op::MaskOfScalar),
            Dst::Narrow(i) => (Home::Narrow(i), Op::Splat),
            Dst::Wide(i) | Dst::Pair(i, _) => (Home::Wide(i), Op::Splat),
        };
        let value = self.one(op, &[value], home.ty());
        self.put(home, value, on);
    }
}
