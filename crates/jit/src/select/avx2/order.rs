//! The order of operations on rows.
//!
//! A row takes a quarter of the registers or half of them. Operations therefore wait until
//! something needs one of their results that is not itself an operation on rows; then all that wait
//! are selected for the first quarter of the lanes, for the second, and so on. What only counts, or
//! computes scalars from masks, waits with them.

use super::Avx2;
use super::masks::Vectors;
use crate::select::{Place, Selector};
use crate::vcode::VReg;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use vector::{Block, Inst, Op, Type, Value};

/// Most operations that wait: the quarters should overlap in the processor's window.
const MOST: usize = 40;

/// Operations of the current block that wait, and masks as vectors.
#[derive(Default)]
pub(in crate::select) struct Waiting {
    rows: Vec<Inst>,
    /// What follows the operations on rows.
    after: Vec<Inst>,
    /// Whether one of these has an effect.
    counts: bool,
    /// By value, whether it is a result of one.
    results: Vec<bool>,
    /// By value of a mask, whether something else than a selection in its block uses it.
    pub(super) needs_bits: Vec<bool>,
    /// Masks as vectors of 32-bit lanes, of 64-bit lanes.
    pub(super) vectors: FxHashMap<(Value, bool), Vectors>,
    /// The bits of a mask in all lanes of a vector.
    pub(super) spread: FxHashMap<Value, VReg>,
    /// By value, the block that defines it, if an instruction does; the current block.
    block_of: Vec<Option<Block>>,
    current: Option<Block>,
    /// The bases of lines, by row.
    bases: FxHashMap<Value, VReg>,
}

/// Returns whether an operation computes lanes from lanes.
fn is_on_rows(op: &Op) -> bool {
    matches!(
        op,
        Op::Line(_)
            | Op::Lanes(_)
            | Op::Convert(_)
            | Op::Test(_)
            | Op::Unordered
            | Op::Select
            | Op::Low
            | Op::ZeroExtend
            | Op::SignExtend
            | Op::RowOfMask
    )
}

/// Returns whether an operation may wait for masks.
fn may_wait(op: &Op) -> bool {
    matches!(
        op,
        Op::Mask(_)
            | Op::Bits
            | Op::MaskOfBits
            | Op::Population
            | Op::PopulationIfAny
            | Op::IsNonzero
            | Op::Scalar(_)
    ) || is_count(op)
}

fn is_count(op: &Op) -> bool {
    matches!(
        op,
        Op::Count(_)
            | Op::CountOff(_)
            | Op::CountEndOff(_)
            | Op::Bump(..)
            | Op::BumpBy(_)
            | Op::Height(_)
            | Op::Depth(_)
    )
}

impl Selector<'_> {
    /// Finds the masks that are more than operands of selections in their blocks.
    pub(in crate::select) fn find_uses_of_masks(&mut self) {
        let source = self.source;
        let mut needs = vec![false; source.value_count()];
        let mut block_of = vec![None; source.value_count()];
        for (block, data) in source.blocks() {
            for &inst in &data.insts {
                let data = source.inst(inst);
                data.results.iter().for_each(|r| block_of[r.index()] = Some(block));
            }
        }
        for (block, data) in source.blocks() {
            for &inst in &data.insts {
                let inst = source.inst(inst);
                let selects = matches!(inst.op, Op::Select | Op::RowOfMask);
                for arg in &inst.args {
                    needs[arg.index()] |= !selects || block_of[arg.index()] != Some(block);
                }
            }
            data.end.uses(|v| needs[v.index()] = true);
        }
        self.waiting.needs_bits = needs;
        self.waiting.block_of = block_of;
        self.waiting.results = vec![false; source.value_count()];
    }

    /// Begins a block.
    pub(in crate::select) fn begin_block(&mut self, block: Block) {
        self.waiting.current = Some(block);
        self.waiting.vectors.clear();
        self.waiting.spread.clear();
    }

    pub(in crate::select) fn is_waiting(&self, value: Value) -> bool {
        self.waiting.results.get(value.index()) == Some(&true)
    }

    /// Has an operation wait if it can; returns whether it does.
    pub(in crate::select) fn wait(&mut self, inst: Inst) -> bool {
        let source = self.source;
        let data = source.inst(inst);
        if is_on_rows(&data.op) {
            let ready = |this: &Self, &arg: &Value| match source.ty(arg) {
                Type::Row32 | Type::Row64 => true,
                Type::Mask => this.has_vectors(arg),
                Type::Scalar => !this.is_waiting(arg),
            };
            let full = self.waiting.rows.len() >= MOST;
            if full || !data.args.iter().all(|arg| ready(self, arg)) {
                self.select_waiting();
            }
            if let (Op::Line(_), &[base], &[result]) = (&data.op, &data.args[..], &data.results[..])
            {
                let wide = self.is_wide(result);
                let base = self.level(|l| l.broadcast(base, wide));
                self.waiting.bases.insert(result, base);
            }
            let now = data.results.iter().any(|&result| self.is_uniform(result));
            if now && !data.args.iter().any(|&arg| self.is_waiting(arg)) {
                (0..4).for_each(|quarter| Avx2(self).quarter(inst, quarter));
                return true;
            }
            self.waiting.rows.push(inst);
            data.results.iter().for_each(|r| self.waiting.results[r.index()] = true);
            return true;
        }
        if self.waiting.rows.is_empty() {
            return false;
        }
        if data.args.iter().any(|&arg| self.is_waiting(arg)) && may_wait(&data.op) {
            self.waiting.after.push(inst);
            self.waiting.counts |= is_count(&data.op);
            data.results.iter().for_each(|r| self.waiting.results[r.index()] = true);
            return true;
        }
        let access = matches!(data.op, Op::Load(_) | Op::Store(_));
        if data.op.is_pure() || is_count(&data.op) || access && !self.waiting.counts {
            // Operands that wait are selected when they are asked for.
            return false;
        }
        self.select_waiting();
        false
    }

    /// Whether a mask is there, or will be as vectors when operations on rows are selected.
    fn has_vectors(&self, mask: Value) -> bool {
        if !self.is_waiting(mask) {
            return true;
        }
        let Some(inst) = self.defined[mask.index()] else { return false };
        let data = self.source.inst(inst);
        match data.op {
            Op::Test(_) | Op::Unordered => true,
            Op::Mask(_) => data.args.iter().all(|&arg| self.has_vectors(arg)),
            _ => false,
        }
    }

    /// Selects all operations that wait.
    pub(in crate::select) fn select_waiting(&mut self) {
        let rows = std::mem::take(&mut self.waiting.rows);
        let after = std::mem::take(&mut self.waiting.after);
        self.waiting.counts = false;
        let source = self.source;
        for &inst in rows.iter().chain(&after) {
            let results = &source.inst(inst).results;
            results.iter().for_each(|r| self.waiting.results[r.index()] = false);
        }
        for quarter in 0..4 {
            for &inst in &rows {
                Avx2(self).quarter(inst, quarter);
            }
        }
        for &inst in &after {
            self.select_now(inst);
        }
    }
}

impl Avx2<'_, '_> {
    /// Orders the operands of an operation that commutes: the second one may be in memory, where
    /// constants are, and, if registers are few, values of other blocks.
    pub(super) fn commuted(&self, a: Value, b: Value) -> (Value, Value) {
        let place = |value: Value| match self.known(value) {
            Some(_) => 2,
            None if self.waiting.block_of.get(value.index()) == Some(&self.waiting.current) => 0,
            None => 1,
        };
        if place(a) > place(b) { (b, a) } else { (a, b) }
    }

    /// Selects an operation for a quarter of the lanes.
    fn quarter(&mut self, inst: Inst, quarter: usize) {
        let data = self.source.inst(inst);
        let (args, result) = (&data.args, data.results[0]);
        match &data.op {
            Op::Test(test) => return self.quarter_of_test(*test, args, result, quarter),
            Op::Unordered => return self.quarter_unordered(args, result, quarter),
            _ => {}
        }
        let parts = if self.is_wide(result) { 2 } else { 1 };
        if self.is_uniform(result)
            && let Some(Place::Row(row)) = &mut self.places[result.index()]
        {
            // One quarter serves as the others.
            let quarter: SmallVec<[VReg; 2]> = row[..parts].into();
            row.extend(quarter);
            return;
        }
        let mut list: SmallVec<[VReg; 2]> = SmallVec::new();
        match &data.op {
            Op::Low => list.push(self.low(args[0], quarter)),
            Op::Convert(conversion) => list.extend(self.converted(*conversion, args[0], quarter)),
            Op::ZeroExtend => list.extend(self.extended(args[0], false, quarter)),
            Op::SignExtend => list.extend(self.extended(args[0], true, quarter)),
            _ => {
                for part in quarter * parts..(quarter + 1) * parts {
                    let vector = match &data.op {
                        Op::Line(stride) => {
                            let base = self.waiting.bases[&result];
                            self.part_of_line(base, *stride, part, parts == 2)
                        }
                        Op::Lanes(op) => self.part_of_lanes(*op, args, part, parts == 2),
                        Op::Select => self.part_of_selection(args, part, parts == 2),
                        _ => self.part_of_mask_row(args[0], part),
                    };
                    list.push(vector);
                }
            }
        }
        match &mut self.places[result.index()] {
            Some(Place::Row(row)) if quarter > 0 => row.extend(list),
            place => *place = Some(Place::Row(list.into_iter().collect())),
        }
    }
}
