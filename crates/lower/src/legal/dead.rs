//! Removes computations that nothing needs, and moves of values that one instruction makes.
//!
//! The upper words of addresses are most of the former. An instruction is needed if it does more
//! than compute, or if it writes a register that an instruction or an end that is needed reads.

use ir::module::{MaskRef, Signature};
use ir::op::Class;
use ir::{Function, Guard, Inst, LaneReg, Op, Operand, Reg, Term, TermKind};

/// Removes what is not needed from a function, then moves that renaming makes needless.
pub(super) fn remove(function: &mut Function) {
    let needed = needed(function);
    for block in &mut function.blocks {
        block.insts.retain(|inst| has_effect(inst) || writes(inst).any(|reg| needed[reg.index()]));
    }
    rename(function);
}

fn has_effect(inst: &Inst) -> bool {
    let loads_parameter = inst.op == Op::Ld && inst.mods.space == Some(ir::mods::Space::Param);
    !loads_parameter && inst.op.info().class != Class::Compute
}

fn lane(reg: Reg) -> Option<LaneReg> {
    match reg {
        Reg::Lane(reg) => Some(reg),
        Reg::Warp(_) => None,
    }
}

fn writes(inst: &Inst) -> impl Iterator<Item = LaneReg> + '_ {
    inst.results.iter().filter_map(|r| r.and_then(lane))
}

fn reads(inst: &Inst) -> impl Iterator<Item = LaneReg> + '_ {
    let operands = inst.operands.iter().filter_map(|operand| match operand {
        Operand::Reg(reg) => lane(*reg),
        _ => None,
    });
    operands.chain(inst.guard.map(|guard| guard.pred))
}

fn end_reads(term: &Term) -> Option<LaneReg> {
    match &term.kind {
        TermKind::CondBr(guard, _) => Some(guard.pred),
        TermKind::Ret(guard) | TermKind::Exit(guard) => guard.map(|guard| guard.pred),
        TermKind::Switch(Operand::Reg(reg), _) => lane(*reg),
        TermKind::MaskBr(_, MaskRef::Pred(reg), _) => Some(*reg),
        _ => None,
    }
}

/// Which registers are needed.
fn needed(function: &Function) -> Vec<bool> {
    let mut needed = vec![false; function.regs.len()];
    let mut stack: Vec<LaneReg> = Vec::new();
    let mut writers: Vec<Vec<(usize, usize)>> = vec![Vec::new(); function.regs.len()];
    for (b, block) in function.blocks.iter().enumerate() {
        stack.extend(end_reads(&block.term));
        for (i, inst) in block.insts.iter().enumerate() {
            writes(inst).for_each(|reg| writers[reg.index()].push((b, i)));
            if has_effect(inst) {
                stack.extend(reads(inst));
            }
        }
    }
    if let Signature::Device { results, .. } = &function.signature {
        stack.extend(results);
    }
    while let Some(reg) = stack.pop() {
        if std::mem::replace(&mut needed[reg.index()], true) {
            continue;
        }
        for &(block, inst) in &writers[reg.index()] {
            stack.extend(reads(&function.blocks[block].insts[inst]));
        }
    }
    needed
}

/// How often registers are written and read in a function.
fn counts(function: &Function) -> Vec<(u32, u32)> {
    let mut counts = vec![(0, 0); function.regs.len()];
    for block in &function.blocks {
        for inst in &block.insts {
            writes(inst).for_each(|reg| counts[reg.index()].0 += 1);
            reads(inst).for_each(|reg| counts[reg.index()].1 += 1);
        }
        end_reads(&block.term).into_iter().for_each(|reg| counts[reg.index()].1 += 1);
    }
    if let Signature::Device { params, results } = &function.signature {
        params.iter().for_each(|reg| counts[reg.index()].0 += 1);
        results.iter().for_each(|reg| counts[reg.index()].1 += 1);
    }
    counts
}

/// `t = op ...; r = mov t` becomes `r = op ...` where the move alone reads t, under the guard of
/// the operation, and nothing between them touches r or the guard.
fn rename(function: &mut Function) {
    let counts = counts(function);
    for block in &mut function.blocks {
        let mut gone = vec![false; block.insts.len()];
        for i in 0..block.insts.len() {
            let Some((from, to)) = moved(&block.insts[i]) else { continue };
            if counts[from.index()] != (1, 1) {
                continue;
            }
            let guard = block.insts[i].guard;
            if let Some(maker) = maker(&block.insts[..i], &gone, (from, to), guard) {
                for result in &mut block.insts[maker].results {
                    if *result == Some(Reg::Lane(from)) {
                        *result = Some(Reg::Lane(to));
                    }
                }
                gone[i] = true;
            }
        }
        let mut index = 0;
        block.insts.retain(|_| {
            index += 1;
            !gone[index - 1]
        });
    }
}

fn moved(inst: &Inst) -> Option<(LaneReg, LaneReg)> {
    match (inst.op, inst.operands.first(), inst.results.first()) {
        (Op::Mov, Some(Operand::Reg(Reg::Lane(from))), Some(Some(Reg::Lane(to)))) => {
            Some((*from, *to))
        }
        _ => None,
    }
}

/// The instruction that makes `from`, if it can write `to` in its place.
fn maker(
    before: &[Inst],
    gone: &[bool],
    (from, to): (LaneReg, LaneReg),
    guard: Option<Guard>,
) -> Option<usize> {
    for (i, inst) in before.iter().enumerate().rev().filter(|&(i, _)| !gone[i]) {
        if writes(inst).any(|reg| reg == from) {
            // Its own operands are read before it writes.
            let free = inst.guard == guard && writes(inst).all(|reg| reg != to);
            return free.then_some(i);
        }
        let touched = |reg| reg == to || guard.is_some_and(|guard| guard.pred == reg);
        let read = reads(inst).any(|reg| reg == to);
        if read || writes(inst).any(touched) {
            return None;
        }
    }
    None
}
