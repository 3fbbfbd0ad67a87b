//! Rows and scalars of a warp in which the values of a kernel's webs are.

use crate::code::{Dst, Src};
use flow::analysis::{Facts, Web};
use ir::{Function, LaneReg, Op, Operand, Reg, RegTy};
use std::collections::BTreeMap;

/// Storage of webs.
#[derive(Clone, Debug)]
pub(crate) struct Storage {
    of: Vec<Src>,
    /// Webs that are known to hold one constant wherever they are read.
    constants: Vec<Option<Src>>,
    /// By register, the row of one that products of warp groups read or write while other steps may
    /// follow ([`crate::code::Asynchronous::in_flight`]): all its webs have this row.
    in_flight: BTreeMap<u32, u32>,
    pub(crate) narrow: u32,
    pub(crate) wide: u32,
    pub(crate) preds: u32,
    pub(crate) scalars: u32,
}

impl Storage {
    pub(crate) fn new(function: &Function, facts: &Facts) -> Self {
        let constants = vec![None; facts.webs().len()];
        let (of, in_flight) = (Vec::new(), BTreeMap::new());
        let mut this = Self { of, constants, in_flight, narrow: 0, wide: 0, preds: 0, scalars: 0 };
        let next = |n: &mut u32| {
            *n += 1;
            *n - 1
        };
        for reg in in_flight_registers(function) {
            this.in_flight.entry(reg).or_insert_with(|| next(&mut this.narrow));
        }
        for web in 0..facts.webs().len() as u32 {
            let reg = facts.webs().reg(Web(web));
            let (web, ty) = (Web(web), function.regs[reg.index()].ty);
            if let Some(&row) = this.in_flight.get(&reg.0) {
                this.of.push(Src::Narrow(row));
                continue;
            }
            let src = match (facts.value(web).stride(), ty) {
                (_, RegTy::B128) => Src::Pair(next(&mut this.wide), next(&mut this.wide)),
                (Some(stride), _) => {
                    let mask = u64::MAX >> (64 - ty.bits().clamp(1, 64));
                    Src::Line(next(&mut this.scalars), stride, mask)
                }
                (None, RegTy::Pred) => Src::Pred(next(&mut this.preds)),
                (None, RegTy::B64) => Src::Wide(next(&mut this.wide)),
                (None, _) => Src::Narrow(next(&mut this.narrow)),
            };
            this.of.push(src);
        }
        this
    }

    /// Returns from where a web is read.
    pub(crate) fn operand(&self, web: Web) -> Src {
        self.constants[web.index()].unwrap_or(self.of[web.index()])
    }

    /// Webs that are written once, by a move of a constant, and never read before.
    pub(crate) fn find_constants(
        &mut self,
        function: &Function,
        facts: &Facts,
        constant: impl Fn(&Operand) -> Option<Src>,
    ) {
        let webs = facts.webs();
        let mut writes = vec![0u32; webs.len()];
        // What may be read before it is written is 0 there.
        webs.live_into(0).iter().for_each(|web| writes[web.index()] = 1);
        let mut moves = Vec::new();
        for (b, block) in function.blocks.iter().enumerate() {
            for (i, inst) in block.insts.iter().enumerate() {
                for r in 0..inst.results.len() {
                    let Some(web) = webs.result(b, i, r) else { continue };
                    writes[web.index()] += 1;
                    if inst.op == Op::Mov && inst.guard.is_none() {
                        moves.push((web, inst));
                    }
                }
            }
        }
        for (web, inst) in moves {
            let bits = function.regs[webs.reg(web).index()].ty.bits();
            let plain = writes[web.index()] == 1
                && !self.is_in_flight(webs.reg(web))
                && bits <= 64
                && inst.ty.is_some_and(|t| t.bits() == bits);
            let value = inst.operands.first().filter(|_| plain).and_then(&constant);
            if let Some(Src::Const(value)) = value {
                let value = value & u64::MAX >> (64 - bits.clamp(1, 64));
                self.constants[web.index()] = Some(Src::Const(value));
            }
        }
    }

    /// Returns whether a register is read or written while other steps may follow.
    pub(crate) fn is_in_flight(&self, reg: LaneReg) -> bool {
        self.in_flight.contains_key(&reg.0)
    }

    /// The rows of such registers, which steps may read before anything has written them.
    pub(crate) fn rows_in_flight(&self) -> impl Iterator<Item = Src> {
        self.in_flight.values().map(|&row| Src::Narrow(row))
    }

    /// Returns where a result goes that is a web, or that nothing reads.
    pub(crate) fn result(&self, web: Option<Web>) -> Dst {
        match web.map(|w| self.of[w.index()]) {
            None => Dst::None,
            Some(Src::Narrow(i)) => Dst::Narrow(i),
            Some(Src::Wide(i)) => Dst::Wide(i),
            Some(Src::Pair(a, b)) => Dst::Pair(a, b),
            Some(Src::Pred(i)) => Dst::Pred(i),
            Some(Src::Line(i, ..)) => Dst::Scalar(i),
            Some(Src::Const(_) | Src::ConstPair(..)) => Dst::None,
        }
    }
}

/// The registers of 32 bits that products of warp groups name.
fn in_flight_registers(function: &Function) -> impl Iterator<Item = u32> {
    let insts = function.blocks.iter().flat_map(|block| &block.insts);
    let products = insts.filter(|inst| matches!(inst.op, Op::Wgmma | Op::WgmmaReg));
    let named = products.flat_map(|inst| {
        let operands = inst.operands.iter().filter_map(|operand| match operand {
            Operand::Reg(reg) => Some(*reg),
            _ => None,
        });
        inst.results.iter().flatten().copied().chain(operands)
    });
    named.filter_map(|reg| match reg {
        Reg::Lane(reg) if function.regs[reg.index()].ty == RegTy::B32 => Some(reg.0),
        _ => None,
    })
}
