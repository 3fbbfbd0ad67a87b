//! The addresses of shared variables in clusters of several CTAs.
//!
//! A shared address has the CTA's rank in its cluster in its upper bits (`vm::CTA_WINDOW`), so that
//! the address of a variable is not the same in all CTAs. A block of moves, without issues,
//! computes such addresses at the kernel's entry, and registers take their places in instructions.

use crate::Declined;
use crate::inline::{Inlined, Part, Sort};
use ir::mods::Space;
use ir::module::{RegInfo, Term, TermKind};
use ir::{Block, Function, Inst, LaneReg, Module, Op, Operand, Reg, RegTy, Sreg, Symbol, Ty};
use std::collections::BTreeMap;

/// The exponent of the bytes of a CTA's shared memory in that of its cluster.
const SHIFT: u32 = vm::CTA_WINDOW.trailing_zeros();

/// The address of a shared variable: its index, the distance from it, and whether it has 64 bits.
type Address = (u32, i64, bool);

impl Inlined<'_> {
    /// Has the kernel compute the addresses of shared variables at its entry.
    pub(crate) fn with_shared_addresses(mut self, module: &Module) -> Result<Self, Declined> {
        let function = self.function.to_mut();
        let mut registers = BTreeMap::new();
        let base = [RegTy::B32, RegTy::B32, RegTy::B64].map(|ty| register(function, ty));
        for b in 0..function.blocks.len() {
            for i in 0..function.blocks[b].insts.len() {
                replace(function, module, (b, i), &mut registers)?;
            }
        }
        for block in &mut function.blocks {
            block.term.targets_mut().iter_mut().for_each(|target| target.0 += 1);
        }
        for part in &mut self.parts {
            part.back = part.back.map(|back| back + 1);
            if let Sort::Call(block) | Sort::Return(block) = &mut part.sort {
                *block += 1;
            }
        }
        let entry = self.parts.first().map_or(0, |part| part.places.start);
        let insts = moves(base, &registers);
        let term = Term::new(TermKind::Fall);
        function.blocks.insert(0, Block { name: String::new(), insts, term });
        self.parts.insert(0, Part::free(Sort::Moves, entry));
        Ok(self)
    }
}

fn register(function: &mut Function, ty: RegTy) -> LaneReg {
    function.regs.push(RegInfo { name: String::new(), ty });
    LaneReg(function.regs.len() as u32 - 1)
}

/// Has an instruction read registers in place of addresses of shared variables.
fn replace(
    function: &mut Function,
    module: &Module,
    (b, i): (usize, usize),
    registers: &mut BTreeMap<Address, LaneReg>,
) -> Result<(), Declined> {
    for k in 0..function.blocks[b].insts[i].operands.len() {
        let inst = &function.blocks[b].insts[i];
        let Operand::Symbol(Symbol::Var(var), offset) = inst.operands[k] else { continue };
        if module.vars.get(var.index()).is_none_or(|var| var.space != Space::Shared) {
            continue;
        }
        let ty = inst.operand_slot(k).and_then(|slot| inst.slot_ty(slot));
        let bits = ty.map_or(64, Ty::bits);
        if bits > 64 {
            return Err(Declined::Kernel("it has addresses of more than 64 bits"));
        }
        let is_wide = bits == 64;
        let ty = if is_wide { RegTy::B64 } else { RegTy::B32 };
        let address = (var.0, offset, is_wide);
        let known = registers.get(&address).copied();
        let reg = known.unwrap_or_else(|| register(function, ty));
        registers.insert(address, reg);
        function.blocks[b].insts[i].operands[k] = Operand::Reg(Reg::Lane(reg));
    }
    Ok(())
}

/// The instructions that compute addresses, by way of the CTA's rank and its first address, as a
/// value of 32 bits and one of 64.
fn moves([rank, narrow, wide]: [LaneReg; 3], registers: &BTreeMap<Address, LaneReg>) -> Vec<Inst> {
    let of = |reg: LaneReg| Operand::Reg(Reg::Lane(reg));
    let to = |op: Op, ty: Ty, reg: LaneReg| Inst::new(op).ty(ty).result(Reg::Lane(reg));
    let mut insts = vec![
        to(Op::Sreg, Ty::U32, rank).operand(Operand::Sreg(Sreg::ClusterCtaRank)),
        to(Op::Shl, Ty::B32, narrow).operand(of(rank)).operand(Operand::Imm(SHIFT.into())),
        Inst { ty2: Some(Ty::U32), ..to(Op::Cvt, Ty::U64, wide).operand(of(narrow)) },
    ];
    for (&(var, offset, is_wide), &reg) in registers {
        let (ty, base) = if is_wide { (Ty::U64, wide) } else { (Ty::U32, narrow) };
        let symbol = Operand::Symbol(Symbol::Var(ir::VarId(var)), offset);
        insts.push(to(Op::Add, ty, reg).operand(of(base)).operand(symbol));
    }
    insts
}
