//! Accesses to memory that threads share, told apart by what their addresses are computed from.

use ir::mods::Space;
use ir::module::Signature;
use ir::op::Class;
use ir::{Function, Inst, LaneReg, LocId, Op, Operand, Reg, Symbol};
use rustc_hash::FxHashMap;

/// Copies, sums and conversions that an address is followed through.
const STEPS: usize = 64;

/// What an address is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    Symbol(Symbol),
    /// An argument of the device function, by index.
    Argument(usize),
    Unknown,
}

/// An access to memory that threads share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) block: usize,
    /// Index of the instruction in its block: of the call, if a called function has it.
    pub(super) at: usize,
    pub(super) space: Space,
    pub(super) root: Root,
    pub(super) loc: LocId,
}

impl Access {
    pub(super) fn may_be(&self, other: &Self) -> bool {
        let space = self.space == other.space
            || self.space == Space::Generic
            || other.space == Space::Generic;
        let unknown = self.root == Root::Unknown || other.root == Root::Unknown;
        space && (unknown || self.root == other.root)
    }
}

pub(super) fn shared(inst: &Inst) -> Option<Space> {
    let space = inst.mods.space.unwrap_or(Space::Generic);
    matches!(space, Space::Generic | Space::Global | Space::Shared).then_some(space)
}

/// The writes of a function itself.
pub(super) fn writes(function: &Function, definitions: &Definitions<'_>) -> Vec<Access> {
    let mut out = Vec::new();
    for (block, b) in function.blocks.iter().enumerate() {
        for (at, inst) in b.insts.iter().enumerate() {
            if matches!(inst.op, Op::St | Op::Atom | Op::AtomVec | Op::MbarArrive)
                && let Some(space) = shared(inst)
            {
                let root = definitions.root(inst.operands.first());
                out.push(Access { block, at, space, root, loc: inst.loc });
            }
        }
    }
    out
}

/// Where registers are written.
pub(super) struct Definitions<'f> {
    pub(super) by_reg: FxHashMap<Reg, Vec<(usize, usize)>>,
    arguments: &'f [LaneReg],
    function: &'f Function,
}

impl<'f> Definitions<'f> {
    pub(super) fn new(function: &'f Function) -> Self {
        let mut by_reg: FxHashMap<Reg, Vec<(usize, usize)>> = FxHashMap::default();
        for (block, b) in function.blocks.iter().enumerate() {
            for (at, inst) in b.insts.iter().enumerate() {
                for reg in inst.results.iter().flatten() {
                    by_reg.entry(*reg).or_default().push((block, at));
                }
            }
        }
        let arguments = match &function.signature {
            Signature::Device { params, .. } => params.as_slice(),
            Signature::Kernel { .. } => &[],
        };
        Self { by_reg, arguments, function }
    }

    pub(super) fn inst(&self, (block, at): (usize, usize)) -> &'f Inst {
        &self.function.blocks[block].insts[at]
    }

    /// What an address is computed from: the one parameter, argument or variable in its sums.
    pub(super) fn root(&self, operand: Option<&Operand>) -> Root {
        let Some(&operand) = operand else { return Root::Unknown };
        let mut found: Option<Root> = None;
        let mut pending = vec![operand];
        for _ in 0..STEPS {
            let Some(operand) = pending.pop() else { return found.unwrap_or(Root::Unknown) };
            let root = match operand {
                Operand::Symbol(symbol @ (Symbol::Var(_) | Symbol::Param(_)), _) => {
                    Some(Root::Symbol(symbol))
                }
                Operand::Reg(reg) => self.step(reg, &mut pending),
                _ => None,
            };
            if root.is_some() && found.is_some() && root != found {
                return Root::Unknown;
            }
            found = found.or(root);
        }
        Root::Unknown
    }

    /// Goes from a register to what it is made of; gives the parameter or argument that it holds,
    /// if it does.
    fn step(&self, reg: Reg, pending: &mut Vec<Operand>) -> Option<Root> {
        let argument = self.arguments.iter().position(|&a| Reg::Lane(a) == reg);
        let written = self.by_reg.get(&reg).map_or(&[][..], Vec::as_slice);
        let only = match (argument, written) {
            (Some(index), []) => return Some(Root::Argument(index)),
            (None, [only]) => only,
            _ => return None,
        };
        let inst = self.inst(*only);
        match inst.op {
            Op::Ld if inst.mods.space == Some(Space::Param) => {
                if let Some(Operand::Symbol(symbol @ Symbol::Param(_), _)) = inst.operands.first() {
                    return Some(Root::Symbol(*symbol));
                }
            }
            // Of a product only the third operand can be an address.
            Op::Mad | Op::MadWide => pending.extend(inst.operands.get(2)),
            Op::Mov | Op::Add | Op::Sub | Op::Cvt | Op::CvtaTo | Op::CvtaFrom => {
                pending.extend(inst.operands.iter().copied());
            }
            _ => {}
        }
        None
    }
}

impl Definitions<'_> {
    /// Whether an address is the same in every round of a loop.
    pub(super) fn invariant(
        &self,
        operand: Option<&Operand>,
        inside: &dyn Fn(usize) -> bool,
    ) -> bool {
        let mut pending: Vec<Operand> = operand.copied().into_iter().collect();
        for _ in 0..STEPS {
            let Some(operand) = pending.pop() else { return true };
            let Operand::Reg(reg) = operand else { continue };
            let places = self.by_reg.get(&reg).map_or(&[][..], Vec::as_slice);
            match places {
                all if !all.iter().any(|p| inside(p.0)) => {}
                [only] => {
                    let inst = self.inst(*only);
                    let fixed = inst.mods.space == Some(Space::Param)
                        || inst.op.info().class == Class::Compute;
                    if !fixed || inst.guard.is_some() {
                        return false;
                    }
                    pending.extend(inst.operands.iter().copied());
                }
                _ => return false,
            }
        }
        // Too long to follow, or made of itself.
        false
    }
}
