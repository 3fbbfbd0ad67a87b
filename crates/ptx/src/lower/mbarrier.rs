//! Barriers in memory: `mbarrier` and `cp.async.mbarrier.arrive`.

use ir::mods::{Flag, Order, Space as IrSpace};
use ir::{Inst, LaneReg, Op, Origin, Reg};
use simt::mbarrier::{MAX_COUNT, MAX_COUNT_V1, MAX_TX};

use super::Lowering;
use super::address::Address;
use super::emit::inst;
use super::function::Body;
use super::modifiers::scope;
use crate::ast::{Instruction, Operand, OperandKind, Type};
use crate::spelling::{Arg, Kind, Spelled, Val};

impl Body<'_, '_> {
    pub(super) fn mbarrier(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        let tree = self.cx.tree;
        let phase = self.phase_args(s, i)?;
        let args = phase.as_ref().map_or(s.form.args, |args| &args[..]);
        let optional = args.iter().filter(|a| matches!(a, Arg::O(_))).count();
        self.count(i, args.len() - optional, args.len())?;
        let mut inst = mbarrier_op(s);
        let expects = s.has(Kind::ExpectTx) || s.has(Kind::CompleteTx);
        let mut reports = Vec::new();
        for (arg, operand) in args.iter().zip(&tree.operands[i.operands]) {
            match *arg {
                Arg::D(val) | Arg::Ds(val) => {
                    let sink = matches!(arg, Arg::Ds(_));
                    let ty = Self::value_ty(s, val);
                    let to = self.destination(operand, ty, false, sink)?;
                    inst.results.push(to.map(Reg::Lane));
                }
                Arg::Dpp(val) => {
                    let (done, report) = self.pair(operand, Self::value_ty(s, val), true)?;
                    inst.results.push(done.map(Reg::Lane));
                    reports.extend(report.flatten().map(|to| (ir::Ty::Pred, to)));
                }
                Arg::Any => {
                    let to = self.destination(operand, Type::B8, false, true)?;
                    reports.extend(to.map(|to| (ir::Ty::B8, to)));
                }
                Arg::S(val) => {
                    let value = self.source(operand, Self::value_ty(s, val), false)?;
                    if expects {
                        self.transactions(operand, value)?;
                    } else {
                        self.arrivals(&inst, operand, value)?;
                    }
                    inst.operands.push(value);
                }
                // How long a wait may take is a hint.
                Arg::O(val) => drop(self.source(operand, Self::value_ty(s, val), false)?),
                _ => self.barrier_place(&mut inst, s, operand)?,
            }
        }
        match inst.op {
            Op::MbarArrive if inst.operands.len() == 1 => {
                inst.operands.push(ir::Operand::Imm(1));
            }
            Op::MbarArrive if expects => inst.operands.insert(1, ir::Operand::Imm(1)),
            Op::MbarTest | Op::MbarTry if s.has(Kind::Parity) => {
                inst.operands[1] = self.zero_extended(inst.operands[1]);
            }
            _ => {}
        }
        self.report(inst, reports);
        Ok(())
    }

    /// The operands of a form that names the kind of a phase.
    fn phase_args(&mut self, s: &Spelled, i: &Instruction) -> Lowering<Option<Vec<Arg>>> {
        if !s.form.args.contains(&Arg::Rest) {
            return Ok(None);
        }
        let all = &self.cx.tree.operands[i.operands];
        let reports = all.first().is_some_and(|o| matches!(o.kind, OperandKind::Pair(..)));
        if reports && s.word(Kind::PhaseType) == Some("phase_type::conditional") {
            let message = "a conditional phase has no report";
            let label = "one predicate is needed";
            return self.cx.error("ptx::operand", message, all[0].span, label);
        }
        let mut args = vec![if reports { Arg::Dpp(Val::P) } else { Arg::D(Val::P) }];
        let value = all
            .get(1)
            .is_some_and(|o| !matches!(o.kind, OperandKind::Bracket(_) | OperandKind::Address(..)));
        args.extend((reports && value).then_some(Arg::Any));
        args.push(Arg::A);
        args.push(Arg::S(if s.has(Kind::Parity) { Val::B32 } else { Val::T }));
        args.extend(s.has(Kind::MbarTry).then_some(Arg::O(Val::B32)));
        Ok(Some(args))
    }

    /// Emits a test, and the reports of the operations that the phase has tracked: those that
    /// report are not supported, so that reports are zero.
    fn report(&mut self, test: Inst, reports: Vec<(ir::Ty, LaneReg)>) {
        let guard = self.context.guard.map(|guard| guard.pred);
        let (after, before): (Vec<_>, Vec<_>) =
            reports.into_iter().partition(|(_, to)| Some(*to) == guard);
        for (ty, to) in before {
            self.emit(inst(Op::Mov, Some(ty), to, &[ir::Operand::Imm(0)]), Origin::Lowering);
        }
        self.emit(test, Origin::Source);
        for (ty, to) in after {
            self.emit(inst(Op::Mov, Some(ty), to, &[ir::Operand::Imm(0)]), Origin::Lowering);
        }
    }

    /// The address of a barrier.
    fn barrier_place(&mut self, inst: &mut Inst, s: &Spelled, operand: &Operand) -> Lowering<()> {
        let Address::Memory { base, offset, space: found } = self.address(operand)? else {
            let message = "barriers are in shared memory";
            return self.cx.error("ptx::space", message, operand.span, "a parameter is not");
        };
        let shared = s.has(Kind::OwnShared) || s.has(Kind::MbarSpace);
        let written = shared.then_some(IrSpace::Shared);
        if s.word(Kind::MbarSpace) == Some("shared::cluster") {
            if inst.results.first().is_some_and(Option::is_some) {
                let message = "an arrival at a barrier of the cluster has no result";
                let label = "write `_` as the destination";
                return self.cx.error("ptx::operand", message, operand.span, label);
            }
            inst.mods.flags = inst.mods.flags.with(Flag::Cluster);
        }
        inst.mods.space = self.access_space(operand, written, found)?;
        let reachable = matches!(inst.mods.space, None | Some(IrSpace::Generic | IrSpace::Shared));
        if !reachable || matches!(found, Some(IrSpace::Global | IrSpace::Const)) {
            let message = "barriers are in shared memory";
            return self.cx.error("ptx::space", message, operand.span, "in another state space");
        }
        inst.operands.push(base);
        inst.offset = offset;
        Ok(())
    }

    /// Checks a number of bytes that is a constant.
    fn transactions(&mut self, operand: &Operand, value: ir::Operand) -> Lowering<()> {
        match value {
            ir::Operand::Imm(bytes) if bytes > MAX_TX.into() => {
                let message = format!("{bytes} bytes of transactions");
                let label = format!("at most {MAX_TX} are possible");
                self.cx.error("ptx::constant-range", message, operand.span, label)
            }
            _ => Ok(()),
        }
    }

    /// Checks a count of arrivals that is a constant.
    fn arrivals(&mut self, inst: &Inst, operand: &Operand, value: ir::Operand) -> Lowering<()> {
        let counts = matches!(inst.op, Op::MbarInit | Op::MbarArrive);
        let most = if inst.mods.flags.has(Flag::LayoutV1) { MAX_COUNT_V1 } else { MAX_COUNT };
        match value {
            ir::Operand::Imm(count) if counts && !(1..=most.into()).contains(&count) => {
                let message = format!("a count of {count} arrivals");
                let label = format!("1 to {most} are possible");
                self.cx.error("ptx::constant-range", message, operand.span, label)
            }
            _ => Ok(()),
        }
    }
}

/// The operation and its modifiers.
fn mbarrier_op(s: &Spelled) -> Inst {
    let copies = s.has(Kind::Mbarrier);
    let mut inst = Inst::new(match () {
        () if s.has(Kind::MbarInit) => Op::MbarInit,
        () if s.has(Kind::MbarInval) => Op::MbarInval,
        () if s.has(Kind::MbarCheck) => Op::MbarLayout,
        () if s.has(Kind::MbarTest) => Op::MbarTest,
        () if s.has(Kind::MbarTry) => Op::MbarTry,
        () if s.has(Kind::MbarArrive) => Op::MbarArrive,
        () if s.has(Kind::ExpectTx) => Op::MbarExpect,
        () if s.has(Kind::CompleteTx) => Op::MbarComplete,
        () if s.has(Kind::MbarPending) => Op::MbarPending,
        () => Op::MbarArrive,
    });
    let first = |kinds: &[Kind]| kinds.iter().find_map(|k| s.word(*k));
    let orders =
        [Kind::Relaxed, Kind::ArriveOrder, Kind::ArriveOrders, Kind::TestOrder, Kind::TestOrders];
    inst.mods.order = first(&orders).and_then(Order::from_word);
    inst.mods.scope = first(&[Kind::Cta, Kind::MbarScope]).and_then(scope);
    for (has, flag) in [
        (s.has(Kind::NoComplete), Flag::NoComplete),
        (s.word(Kind::MbarArrive) == Some("arrive_drop"), Flag::Drop),
        (s.has(Kind::Parity), Flag::Parity),
        (s.word(Kind::MbarLayout) == Some("layout::v1"), Flag::LayoutV1),
        (copies, Flag::Copies),
        (copies && !s.has(Kind::NoIncrement), Flag::Counted),
    ] {
        if has {
            inst.mods.flags = inst.mods.flags.with(flag);
        }
    }
    inst
}
