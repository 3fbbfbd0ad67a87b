//! Barriers in memory: `mbarrier` and `cp.async.mbarrier.arrive`.

use ir::mods::{Flag, Order, Space as IrSpace};
use ir::{Inst, Op, Origin, Reg};
use simt::mbarrier::{MAX_COUNT, MAX_TX};

use super::Lowering;
use super::address::Address;
use super::function::Body;
use super::modifiers::scope;
use crate::ast::{Instruction, Operand};
use crate::spelling::{Arg, Kind, Spelled};

impl Body<'_, '_> {
    pub(super) fn mbarrier(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        let tree = self.cx.tree;
        let args = s.form.args;
        let optional = args.iter().filter(|a| matches!(a, Arg::O(_))).count();
        self.count(i, args.len() - optional, args.len())?;
        let mut inst = mbarrier_op(s);
        let expects = s.has(Kind::ExpectTx) || s.has(Kind::CompleteTx);
        for (arg, operand) in args.iter().zip(&tree.operands[i.operands]) {
            match *arg {
                Arg::D(val) | Arg::Ds(val) => {
                    let sink = matches!(arg, Arg::Ds(_));
                    let ty = Self::value_ty(s, val);
                    let to = self.destination(operand, ty, false, sink)?;
                    inst.results.push(to.map(Reg::Lane));
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
        self.emit(inst, Origin::Source);
        Ok(())
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
        match value {
            ir::Operand::Imm(count) if counts && !(1..=MAX_COUNT.into()).contains(&count) => {
                let message = format!("a count of {count} arrivals");
                let label = format!("1 to {MAX_COUNT} are possible");
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
        (copies, Flag::Copies),
        (copies && !s.has(Kind::NoIncrement), Flag::Counted),
    ] {
        if has {
            inst.mods.flags = inst.mods.flags.with(flag);
        }
    }
    inst
}
