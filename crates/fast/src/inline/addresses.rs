//! Frames of functions that call each other: each call has another one, at an address that the copy
//! of the function keeps in a register.
//!
//! The moves before a copy place its frame behind that of the caller, as the exact engine does, and
//! compute the addresses of variables that the copy names. They are computed again from the frame
//! that is put back when lanes have returned.

use super::{Base, Builder, movement};
use crate::Declined;
use ir::{Function, Inst, LaneReg, Op, Operand, Reg, RegTy, Symbol, Ty};
use std::collections::BTreeMap;

/// The registers of a copy that hold addresses in its frame.
pub(super) struct FrameRegisters {
    /// The address of the frame.
    pub(super) start: LaneReg,
    /// Those that instructions of the function name, by offset in the frame.
    variables: BTreeMap<i64, LaneReg>,
}

impl Builder<'_> {
    /// Returns whether a function belongs to a group that has frames at no fixed addresses.
    pub(super) fn has_frames(&self, index: u32) -> bool {
        let has_variables = |member: u32| self.calls.frame_bytes(member).local > 0;
        self.calls
            .group(index)
            .is_some_and(|g| self.calls.members(g).into_iter().any(has_variables))
    }

    /// Adds registers for the addresses in a function's frame that it names; returns their index.
    pub(super) fn frame_registers(&mut self, function: &Function) -> Result<usize, Declined> {
        let start = self.register(RegTy::B64);
        let mut variables = BTreeMap::new();
        for inst in function.blocks.iter().flat_map(|block| &block.insts) {
            for (index, operand) in inst.operands.iter().enumerate() {
                let Some(offset) = offset_in_frame(function, operand) else { continue };
                let slot = inst.operand_slot(index).and_then(|slot| inst.slot_ty(slot));
                if slot.is_some_and(|ty| ty.bits() != 64) {
                    return Err(Declined::Kernel(
                        "addresses of variables of functions that call themselves are truncated",
                    ));
                }
                variables.entry(offset).or_insert_with(|| self.register(RegTy::B64));
            }
        }
        self.frames.push(FrameRegisters { start, variables });
        Ok(self.frames.len() - 1)
    }

    /// Returns the moves of a call that place the frame of the callee.
    pub(super) fn enter_frame(
        &mut self,
        (caller, base): (u32, Base),
        own: Base,
    ) -> Result<Vec<Inst>, Declined> {
        let Some(frame) = own.frame else { return Ok(Vec::new()) };
        let addresses = self.addresses(own)?;
        let start = self.frames[frame].start;
        let bytes = self.calls.frame_bytes(caller).local;
        let place = match base.frame {
            Some(frame) => sum(start, self.frames[frame].start, bytes as i64),
            None => {
                let address = u64::from(base.local_bytes) + bytes;
                movement(Reg::Lane(start), Ty::B64, Operand::Imm(address.into()))
            }
        };
        Ok(std::iter::once(place).chain(addresses).collect())
    }

    /// Returns the moves that compute the addresses in the frame of a copy.
    pub(super) fn addresses(&mut self, base: Base) -> Result<Vec<Inst>, Declined> {
        let Some(frame) = base.frame else { return Ok(Vec::new()) };
        let FrameRegisters { start, ref variables } = self.frames[frame];
        let moves = variables.iter().map(|(&offset, &reg)| sum(reg, start, offset));
        let moves: Vec<Inst> = moves.collect();
        self.grow(moves.len())?;
        Ok(moves)
    }

    /// Renumbers the registers and variables of an instruction for a copy.
    pub(super) fn rebased(&self, (function, inst): (&Function, &Inst), base: Base) -> Inst {
        let mut inst = super::rebased(inst, base);
        let Some(frame) = base.frame else { return inst };
        for operand in &mut inst.operands {
            if let Some(offset) = offset_in_frame(function, operand) {
                let known = self.frames[frame].variables.get(&offset);
                *operand = Operand::Reg(Reg::Lane(known.copied().unwrap_or(LaneReg(0))));
            }
        }
        inst
    }
}

/// Returns the sum of a register and a constant.
fn sum(to: LaneReg, from: LaneReg, constant: i64) -> Inst {
    let inst = Inst::new(Op::Add).ty(Ty::U64).result(Reg::Lane(to));
    inst.operand(Operand::Reg(Reg::Lane(from))).operand(Operand::Imm((constant as u64).into()))
}

/// Returns the offset in a function's frame that an operand names.
fn offset_in_frame(function: &Function, operand: &Operand) -> Option<i64> {
    match *operand {
        Operand::Symbol(Symbol::Local(local), offset) => {
            Some(i64::from(function.locals.get(local as usize)?.offset).wrapping_add(offset))
        }
        _ => None,
    }
}
