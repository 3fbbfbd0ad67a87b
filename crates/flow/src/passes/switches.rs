//! Tables of branches as comparisons, for passes that know branches of two ways alone.
//!
//! ```text
//! switch %i, [a, b, a]      =>   case = %i >= 3;  @case trap
//!                                case = %i == 0 or %i == 2;  @case br a
//!                                br b
//! ```
//!
//! What always holds of the result: lanes go where the table sent them; an index beyond it is still
//! a fault. There is one comparison for each entry of the table and one branch for each distinct
//! target, so that the code grows with the table alone.

use ir::layout::Layout;
use ir::mods::{BoolOp, Cmp};
use ir::{
    Block, BlockId, Function, Guard, Inst, LaneReg, LocId, Op, Operand, Origin, Reg, RegTy, Term,
    TermKind, Ty,
};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// The function with every table of branches written as comparisons and branches.
pub(super) fn without_switches(function: &Function) -> Cow<'_, Function> {
    let has = |b: &Block| matches!(b.term.kind, TermKind::Switch(..));
    if !function.blocks.iter().any(has) {
        return Cow::Borrowed(function);
    }
    let mut out = function.clone();
    let case = out.new_reg("case", RegTy::Pred);
    let mut layout = Layout::take(&mut out);
    let mut order = Vec::new();
    for id in layout.order().to_vec() {
        order.push(id);
        expand(&mut layout, id, case, &mut order);
    }
    layout.set_order(order);
    match layout.finish(&mut out) {
        Ok(_) => Cow::Owned(out),
        // Every block added falls into the next one or jumps.
        Err(_) => Cow::Borrowed(function),
    }
}

/// Writes out the table that ends a block, if one does, in blocks behind it.
fn expand(layout: &mut Layout, id: BlockId, case: LaneReg, order: &mut Vec<BlockId>) {
    let Some(block) = layout.block_mut(id) else { return };
    let TermKind::Switch(index, targets) = block.term.kind.clone() else { return };
    let loc = block.term.loc;
    block.insts.push(compare(Cmp::Ge, index, targets.len(), case, loc));
    let mut trap = Inst::new(Op::Trap).origin(Origin::Structure);
    (trap.guard, trap.loc) = (Some(Guard { pred: case, negated: false }), loc);
    block.insts.push(trap);
    let name = block.name.clone();
    let mut at = id;
    let mut ways = ways(&targets).into_iter().peekable();
    while let Some((target, values)) = ways.next() {
        let block = layout.block_mut(at).into_iter();
        if ways.peek().is_none() {
            block.for_each(|b| b.term = end(TermKind::Br(target), loc));
            return;
        }
        block.for_each(|b| {
            b.insts.extend(index_is(index, &values, case, loc));
            let guard = Guard { pred: case, negated: false };
            b.term = end(TermKind::CondBr(guard, target), loc);
        });
        let name = format!("{name}.{}", order.len());
        let next = Block { name, insts: Vec::new(), term: end(TermKind::Fall, loc) };
        let next = layout.push(next, None);
        layout.set_fall(at, next);
        order.push(next);
        at = next;
    }
}

/// The distinct targets of a table, each with the indices that lead to it.
fn ways(targets: &[BlockId]) -> Vec<(BlockId, Vec<usize>)> {
    let mut at = FxHashMap::default();
    let mut out: Vec<(BlockId, Vec<usize>)> = Vec::new();
    for (value, &target) in targets.iter().enumerate() {
        let i = *at.entry(target).or_insert_with(|| {
            out.push((target, Vec::new()));
            out.len() - 1
        });
        out[i].1.push(value);
    }
    out
}

fn end(kind: TermKind, loc: LocId) -> Term {
    Term { kind, origin: Origin::Structure, loc }
}

fn compare(cmp: Cmp, index: Operand, value: usize, case: LaneReg, loc: LocId) -> Inst {
    let inst = Inst::new(Op::Setp).ty(Ty::U32).origin(Origin::Structure).result(Reg::Lane(case));
    let mut inst = inst.operand(index).operand(Operand::Imm(value as u128));
    (inst.mods.cmp, inst.loc) = (Some(cmp), loc);
    inst
}

/// Sets `case` where the index is one of some values.
fn index_is(
    index: Operand,
    values: &[usize],
    case: LaneReg,
    loc: LocId,
) -> impl Iterator<Item = Inst> {
    values.iter().enumerate().map(move |(i, &value)| {
        let mut inst = compare(Cmp::Eq, index, value, case, loc);
        if i > 0 {
            inst.mods.bool_op = Some(BoolOp::Or);
            inst = inst.operand(Operand::lane(case));
        }
        inst
    })
}
