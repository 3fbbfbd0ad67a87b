//! What registers stand for, which of them are read before they are written, and what nothing
//! reads.

use super::code::{Body, Item, Src, Val};
use super::layout::Layout;
use super::regions::reads as item_reads;
use super::select::Alias;
use ir::mods::Space;
use ir::module::{MaskRef, TermKind};
use ir::{BlockId, Function, Inst, LaneReg, Op, Operand, Reg, Symbol, Term, Ty};
use rustc_hash::{FxHashMap, FxHashSet};

fn lanes<'a>(inst: &'a Inst) -> impl Iterator<Item = LaneReg> + 'a {
    let operands = inst.operands.iter().filter_map(|operand| match operand {
        Operand::Reg(Reg::Lane(reg)) => Some(*reg),
        _ => None,
    });
    operands.chain(inst.guard.map(|guard| guard.pred))
}

fn written(inst: &Inst) -> impl Iterator<Item = LaneReg> + '_ {
    inst.results.iter().flatten().filter_map(|reg| match reg {
        Reg::Lane(reg) => Some(*reg),
        Reg::Warp(_) => None,
    })
}

fn end_reads(term: &Term) -> Option<LaneReg> {
    match &term.kind {
        TermKind::CondBr(guard, _) => Some(guard.pred),
        TermKind::Ret(guard) | TermKind::Exit(guard) => guard.map(|guard| guard.pred),
        TermKind::Switch(Operand::Reg(Reg::Lane(reg)), _) => Some(*reg),
        TermKind::MaskBr(_, MaskRef::Pred(reg), _) => Some(*reg),
        _ => None,
    }
}

/// How often each register is read.
pub(super) fn reads(function: &Function) -> FxHashMap<LaneReg, u32> {
    let mut counts = FxHashMap::default();
    for block in &function.blocks {
        for inst in &block.insts {
            lanes(inst).for_each(|reg| *counts.entry(reg).or_default() += 1);
        }
        end_reads(&block.term).into_iter().for_each(|reg| *counts.entry(reg).or_default() += 1);
    }
    counts
}

/// Registers that some path reads before it writes them: they are zero there. Guarded writes may
/// leave the old value, so they count as reads.
pub(super) fn unwritten(function: &Function) -> FxHashSet<LaneReg> {
    let blocks = &function.blocks;
    let mut read = vec![FxHashSet::default(); blocks.len()];
    let mut kill = vec![FxHashSet::default(); blocks.len()];
    for (b, block) in blocks.iter().enumerate() {
        for inst in &block.insts {
            let kept = written(inst).filter(|_| inst.guard.is_some());
            read[b].extend(lanes(inst).chain(kept).filter(|reg| !kill[b].contains(reg)));
            if inst.guard.is_none() {
                kill[b].extend(written(inst));
            }
        }
        read[b].extend(end_reads(&block.term).filter(|reg| !kill[b].contains(reg)));
    }
    let mut live: Vec<FxHashSet<LaneReg>> = read;
    loop {
        let mut changed = false;
        for b in (0..blocks.len()).rev() {
            for to in function.successors(BlockId(b as u32)) {
                let Some(of) = live.get(to.index()) else { continue };
                let new: Vec<LaneReg> = of
                    .iter()
                    .copied()
                    .filter(|reg| !kill[b].contains(reg) && !live[b].contains(reg))
                    .collect();
                changed |= !new.is_empty();
                live[b].extend(new);
            }
        }
        if !changed {
            return live.into_iter().next().unwrap_or_default();
        }
    }
}

/// Registers with one write that stand for an import, a counter or a constant.
pub(super) fn aliases(
    function: &Function,
    layout: &Layout,
    unwritten: &FxHashSet<LaneReg>,
) -> FxHashMap<LaneReg, Alias> {
    let mut writes: FxHashMap<LaneReg, u32> = FxHashMap::default();
    let insts = || function.blocks.iter().flat_map(|block| &block.insts);
    insts().flat_map(written).for_each(|reg| *writes.entry(reg).or_default() += 1);
    let mut found: FxHashMap<LaneReg, Alias> = FxHashMap::default();
    loop {
        let before = found.len();
        for inst in insts() {
            let [Some(Reg::Lane(to))] = inst.results.as_slice() else { continue };
            let once = writes.get(to) == Some(&1) && !unwritten.contains(to);
            if !once || inst.guard.is_some() || found.contains_key(to) {
                continue;
            }
            let bits = function.regs.get(to.index()).map_or(0, |info| info.ty.bits());
            if let Some(alias) = alias(inst, bits, function, layout, &found) {
                found.insert(*to, alias);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

fn alias(
    inst: &Inst,
    bits: u32,
    function: &Function,
    layout: &Layout,
    found: &FxHashMap<LaneReg, Alias>,
) -> Option<Alias> {
    let ty = inst.ty?;
    let first = inst.operands.first()?;
    let ones = if bits >= 64 { u64::MAX } else { (1 << bits.max(1)) - 1 };
    match (inst.op, first) {
        (Op::Ld, &Operand::Symbol(Symbol::Param(index), within)) => {
            let param = function.params().get(index as usize)?;
            let whole = ty.bits() == bits && ty.bytes() <= param.size;
            let start = inst.mods.space == Some(Space::Param) && within + inst.offset == 0;
            let one = whole && start && !layout.block;
            one.then(|| Alias::Fixed(format!("ri{index}")))
        }
        (Op::Sreg, Operand::Sreg(sreg)) => {
            let constant = layout.constant(*sreg).map(|value| Alias::Constant(value & ones));
            constant.or_else(|| layout.fixed(*sreg).map(Alias::Fixed))
        }
        (Op::Mov, Operand::Imm(value)) if ty != Ty::Mask && bits <= 64 => {
            Some(Alias::Constant(*value as u64 & ones))
        }
        (Op::Mov, &Operand::Symbol(symbol, offset)) => {
            Some(Alias::Constant(layout.address(symbol, offset)? & ones))
        }
        (Op::Mov, Operand::Reg(Reg::Lane(reg))) => found.get(reg).cloned(),
        (Op::CvtaTo | Op::CvtaFrom, Operand::Reg(Reg::Lane(reg)))
            if matches!(inst.mods.space, Some(Space::Global | Space::Const)) =>
        {
            found.get(reg).cloned()
        }
        _ => None,
    }
}

/// Removes what pushes values that nothing reads.
pub(super) fn remove_unread(body: &mut Body) {
    loop {
        let mut read: FxHashSet<Val> = FxHashSet::default();
        read.extend(body.items.iter().flat_map(item_reads));
        let before = body.items.len();
        body.items.retain(|item| match item {
            Item::Inst(inst) if !inst.effect && inst.mask.is_none() => {
                inst.result.is_none_or(|(val, _)| read.contains(&val))
            }
            _ => true,
        });
        if body.items.len() == before {
            return;
        }
    }
}

/// How often each constant is read.
pub(super) fn constants(body: &Body) -> Vec<(u32, u32)> {
    let mut counts: FxHashMap<u32, u32> = FxHashMap::default();
    for item in &body.items {
        let Item::Inst(inst) = item else { continue };
        for (src, _) in &inst.sources {
            if let Src::Val(Val::Const(index)) = src {
                *counts.entry(*index).or_default() += 1;
            }
        }
    }
    let mut list: Vec<(u32, u32)> = counts.into_iter().collect();
    list.sort_unstable_by_key(|&(index, count)| (std::cmp::Reverse(count), index));
    list
}
