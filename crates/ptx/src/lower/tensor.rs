//! Tensor copies.

use ir::mods::{Bulk, Flag, Space as IrSpace, TensorMode};
use ir::{Inst, Op, Origin};

use super::Lowering;
use super::function::Body;
use super::modifiers::ir_mods;
use crate::ast::{Instruction, Operand, OperandKind, Type};
use crate::spelling::{Kind, Spelled};

impl<'t> Body<'t, '_> {
    /// `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor` and `cp.async.bulk.prefetch.tensor`.
    pub(super) fn tensor(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        let tree = self.cx.tree;
        let (store, prefetch) = (s.has(Kind::BulkGroup), s.has(Kind::Prefetch));
        let load = !store && !prefetch;
        let mode = tensor_mode(s);
        let columns = !matches!(mode, TensorMode::Tile | TensorMode::Rows);
        let offsets = columns && !store;
        let (multicast, hinted) = (s.has(Kind::Multicast), self.has_cache_policy(i));
        let least = 1 + usize::from(store) + 2 * usize::from(load);
        let count = least + [offsets, multicast, hinted].into_iter().filter(|b| *b).count();
        self.count(i, count, count)?;
        let all = &tree.operands[i.operands];
        let tensor = &all[usize::from(load)];
        let rank =
            s.word(Kind::TensorRank).map_or(1, |word| usize::from(word.as_bytes()[0] - b'0'));
        let rows = mode == TensorMode::Rows;
        let (map, at) = self.tensor_place(tensor, if rows { 5 } else { rank })?;
        let mut inst = Inst::new(Op::TensorCopy);
        inst.mods.atom = ir_mods(s, Op::TensorCopy).atom;
        inst.mods.bulk = Some(if load { Bulk::Load } else { Bulk::Store });
        inst.mods.tensor = Some(mode);
        let mut rest = all[least..].iter();
        let mut places = Vec::new();
        for part in at {
            places.push(self.source(part, Type::B32, false)?);
        }
        if offsets && let Some(given) = rest.next() {
            let wide = mode != TensorMode::Im2col;
            for part in self.listed(given, if wide { 2 } else { rank.saturating_sub(2) })? {
                let offset = self.source(part, Type::B16, false)?;
                places.push(self.word_of_half(offset));
            }
        }
        if multicast && let Some(mask) = rest.next() {
            let mask = self.source(mask, Type::B16, false)?;
            places.push(self.word_of_half(mask));
            inst.mods.flags = inst.mods.flags.with(Flag::Multicast);
        }
        if let Some(policy) = rest.next() {
            self.source(policy, Type::B64, false)?;
        }
        if prefetch {
            self.emit(Inst::new(Op::Nop), Origin::Source);
            return Ok(());
        }
        let (base, offset) = self.bulk_place(&all[usize::from(store)], IrSpace::Shared)?;
        let barrier = match load {
            true => self.bulk_address(&all[2], IrSpace::Shared)?,
            false => ir::Operand::Imm(0),
        };
        inst.operands.extend([base, map, barrier]);
        inst.operands.extend(places);
        inst.offset = offset;
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// The generic address of a tensor map and the coordinates in `[map, {x, y}]`.
    fn tensor_place(
        &mut self,
        operand: &Operand,
        rank: usize,
    ) -> Lowering<(ir::Operand, &'t [Operand])> {
        let tree = self.cx.tree;
        let parts = match operand.kind {
            OperandKind::Bracket(parts) => &tree.operands[parts],
            _ => &[],
        };
        let [map, at] = parts else {
            let message = "a tensor map and coordinates are needed";
            return self.cx.error("ptx::address", message, operand.span, "write `[map, {x, y}]`");
        };
        let at = self.listed(at, rank)?;
        let map = self.source(map, Type::B64, false)?;
        Ok((map, at))
    }

    /// The elements of `{a, b}`, or a single one without braces.
    pub(super) fn listed(&mut self, operand: &'t Operand, count: usize) -> Lowering<&'t [Operand]> {
        let parts = match operand.kind {
            OperandKind::Vector(parts) => &self.cx.tree.operands[parts],
            _ => std::slice::from_ref(operand),
        };
        if parts.len() == count {
            return Ok(parts);
        }
        let message = format!("a vector of {count} is needed");
        let label = format!("{} given", parts.len());
        self.cx.error("ptx::vector", message, operand.span, label)
    }
}

/// How a copy takes elements from the tensor.
fn tensor_mode(s: &Spelled) -> TensorMode {
    let kinds = [
        Kind::TensorLoad,
        Kind::TensorStore,
        Kind::TensorGather,
        Kind::TensorScatter,
        Kind::TensorWide,
    ];
    match kinds.into_iter().find_map(|kind| s.word(kind)) {
        Some("tile::gather4" | "tile::scatter4") => TensorMode::Rows,
        Some("im2col" | "im2col_no_offs") => TensorMode::Im2col,
        Some("im2col::w") => TensorMode::Im2colWide,
        Some("im2col::w::128") => TensorMode::Im2colWide128,
        _ => TensorMode::Tile,
    }
}
