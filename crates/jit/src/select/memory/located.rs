//! Accesses that are located together: at one row, or at sums of one row with constants, by lanes
//! of which all are in those that the words have been located for.

use crate::layout::kind;
use crate::select::{Located, LocatedBy, Selector};
use ir::mods::Space;
use rustc_hash::FxHashMap;
use vector::{Access, LaneOp, MaskOp, Shape, Type, Value};

/// Greatest distance of accesses that are located together.
const NEAR: u64 = 1 << 16;
/// Most masks that are looked at to tell whether lanes are a part of others.
const MOST_MASKS: usize = 16;
/// Most accesses that are located before a block, if they are to serve in it.
const MOST_LOCATED: usize = 32;
/// Most sums and products whose operands are looked at to tell how a row grows.
const MOST_SUMS: usize = 8;

impl Selector<'_> {
    /// Returns what an access is located by, and what has to be added to its offset then.
    pub(super) fn located_by(
        &self,
        access: &Access,
        args: &[Value],
        is_load: bool,
    ) -> (LocatedBy, i64) {
        let window = is_window(access.space);
        let step = self.code.steps.get(access.step.step as usize).and_then(|step| step.access());
        let (numbers, constant) = self.without_constant(access, args);
        let base = if access.shape == Shape::Any { numbers } else { args[1] };
        let key = LocatedBy {
            lanes: args[0],
            base,
            numbers,
            scale: access.shape.scale(),
            space: access.space,
            bytes: access.bytes() as u8,
            step: (!is_load && !window).then_some(access.step.step),
            has_footprint: step.is_some_and(|(memory, _)| memory.has_footprint()),
        };
        (key, constant)
    }

    /// Returns the row whose sum with a constant is the row of addresses of an access, and the
    /// constant. Sums wrap around in windows as addresses do. In launches in detail, accesses are
    /// counted by rows.
    fn without_constant(&self, access: &Access, args: &[Value]) -> (Value, i64) {
        let row = args[access.shape.operands()];
        let sums = access.shape == Shape::Any && is_window(access.space) && !self.detailed;
        if !sums || self.is_wide(row) {
            return (row, 0);
        }
        let inst = self.defined[row.index()].map(|inst| self.source.inst(inst));
        let Some((vector::Op::Lanes(LaneOp::Add), [a, b])) =
            inst.map(|inst| (&inst.op, &inst.args[..]))
        else {
            return (row, 0);
        };
        for (of, constant) in [(a, b), (b, a)] {
            if let Some(bits) = self.constant_row(*constant) {
                return (*of, i64::from((bits as u32).cast_signed()));
            }
        }
        (row, 0)
    }

    /// Returns the value of a row whose lanes are one constant.
    fn constant_row(&self, row: Value) -> Option<u64> {
        let of = self.source.inst(self.defined[row.index()]?);
        match of.op {
            vector::Op::Const(bits) => Some(bits),
            vector::Op::Splat => self.known(of.args[0]),
            _ => None,
        }
    }

    /// Returns where words are that are located for the lanes of an access, or for more lanes.
    pub(super) fn find_located(&self, key: &LocatedBy, offset: i64) -> Option<Located> {
        let has = |located: &&Located| {
            (located.first..=located.last).contains(&offset)
                && are_aligned_alike(located.first, offset, key)
        };
        if let Some(located) = self.located.get(key).filter(has) {
            return Some(*located);
        }
        // There, one count stands for accesses by the same lanes alone.
        if self.detailed {
            return None;
        }
        let found = self.located.iter().filter(|(other, located)| {
            LocatedBy { lanes: key.lanes, ..**other } == *key
                && has(located)
                && self.is_part(key.lanes, other.lanes, &mut Vec::new())
        });
        // The order of the map is not the same in all runs.
        found.min_by_key(|(_, located)| located.site).map(|(_, located)| *located)
    }

    /// Returns whether all lanes of a mask are in another one.
    fn is_part(&self, lanes: Value, of: Value, seen: &mut Vec<Value>) -> bool {
        // What is looked at already holds if all the rest does.
        if lanes == of || seen.contains(&lanes) {
            return true;
        }
        if seen.len() == MOST_MASKS {
            return false;
        }
        seen.push(lanes);
        let Some(inst) = self.defined[lanes.index()] else {
            let arguments = self.given(lanes);
            return arguments.is_some_and(|list| list.iter().all(|&v| self.is_part(v, of, seen)));
        };
        let inst = self.source.inst(inst);
        match &inst.op {
            vector::Op::Mask(MaskOp::And) => {
                inst.args.iter().any(|&v| self.is_part(v, of, &mut seen.clone()))
            }
            vector::Op::Mask(MaskOp::AndNot) => self.is_part(inst.args[0], of, seen),
            vector::Op::Mask(MaskOp::Or) => inst.args.iter().all(|&v| self.is_part(v, of, seen)),
            _ => false,
        }
    }

    /// Returns the values that jumps give a parameter. Returns `None` for what is no parameter, and
    /// for one of a loop: it may have the value of another iteration.
    fn given(&self, param: Value) -> Option<Vec<Value>> {
        let &(block, index) = self.mask_params.get(&param)?;
        if self.is_header[block.index()] {
            return None;
        }
        let mut arguments = Vec::new();
        for &before in &self.predecessors[block.index()] {
            let targets = self.source.block(before).end.targets().filter(|to| to.block == block);
            arguments.extend(targets.map(|to| to.args[index]));
        }
        Some(arguments)
    }

    /// Returns the least and the greatest offset of accesses that are located together with one at
    /// an offset: in windows all near it, else those in the rest of the block. Only the least one's
    /// alignment is checked.
    pub(super) fn range_of(&self, offset: i64, key: &LocatedBy) -> (i64, i64) {
        let near =
            |other: &i64| other.abs_diff(offset) < NEAR && are_aligned_alike(*other, offset, key);
        let (mut first, mut last) = (offset, offset);
        let mut extend = |offset: i64| {
            first = first.min(offset);
            last = last.max(offset);
        };
        if let Some(offsets) = self.offsets.get(&(key.numbers, key.space, key.bytes)) {
            offsets.iter().copied().filter(near).for_each(extend);
            return (first, last);
        }
        for &inst in self.ahead {
            let data = self.source.inst(inst);
            let (other, load) = match &data.op {
                vector::Op::Load(other) => (other, true),
                vector::Op::Store(other) => (other, false),
                vector::Op::Barrier(..) | vector::Op::BackEdge(_) | vector::Op::Await(_) => break,
                _ => continue,
            };
            let (by, constant) = self.located_by(other, &data.args, load);
            let offset = other.offset + constant;
            if near(&offset) && by == *key {
                extend(offset);
            }
        }
        (first, last)
    }

    /// Finds the offsets of accesses to windows, which are located for all blocks that follow.
    pub(in crate::select) fn find_offsets(&mut self) {
        if self.detailed {
            return;
        }
        let source = self.source;
        for (_, block) in source.blocks() {
            for &inst in &block.insts {
                let data = source.inst(inst);
                let (vector::Op::Load(access) | vector::Op::Store(access)) = &data.op else {
                    continue;
                };
                if access.shape == Shape::Any && is_window(access.space) {
                    let (numbers, constant) = self.without_constant(access, &data.args);
                    let key = (numbers, access.space, access.bytes() as u8);
                    self.offsets.entry(key).or_default().push(access.offset + constant);
                }
            }
        }
    }

    /// Finds the blocks before each block, and the headers of loops.
    pub(in crate::select) fn find_predecessors(&mut self, order: &[vector::Block]) {
        let mut begun = vec![false; self.source.block_count()];
        self.is_header[vector::Function::ENTRY.index()] = true;
        for &block in order {
            begun[block.index()] = true;
            for (index, &param) in self.source.block(block).params.iter().enumerate() {
                if self.source.ty(param) == Type::Mask {
                    self.mask_params.insert(param, (block, index));
                }
            }
            for target in self.source.block(block).end.targets() {
                let of = &mut self.predecessors[target.block.index()];
                if of.last() != Some(&block) {
                    of.push(block);
                }
                self.is_header[target.block.index()] |= begun[target.block.index()];
            }
        }
    }

    /// Returns what is located wherever a block begins. Nothing is where a loop begins.
    pub(in crate::select) fn located_before(
        &self,
        block: vector::Block,
    ) -> FxHashMap<LocatedBy, Located> {
        let mut before = self.predecessors[block.index()].iter();
        let after = |block: &vector::Block| self.located_after[block.index()].as_ref();
        let Some(mut found) = before
            .next()
            .and_then(after)
            .filter(|of| !self.detailed && of.len() <= MOST_LOCATED)
            .cloned()
        else {
            return FxHashMap::default();
        };
        for other in before {
            let Some(other) = after(other) else { return FxHashMap::default() };
            found.retain(|key, located| {
                other.get(key).is_some_and(|other| other.halves == located.halves)
            });
        }
        found
    }

    /// Returns the kind of layout that a row of addresses has most probably, by its computation.
    pub(super) fn kind_of_layout(&self, access: &Access, args: &[Value]) -> u32 {
        let slope = self.slope(args[access.shape.operands()], MOST_SUMS);
        if slope == Some(0) { kind::SAME } else { kind::CONTIGUOUS }
    }

    /// Returns by how much a row grows from a lane to the next one of the same row of the CTA,
    /// where it is a sum of so many multiples of special registers at most.
    fn slope(&self, row: Value, depth: usize) -> Option<i64> {
        let inst = self.source.inst(self.defined[row.index()]?);
        let depth = depth.checked_sub(1)?;
        let slope = |i: usize| self.slope(inst.args[i], depth);
        let constant =
            |i: usize| self.constant_row(inst.args[i]).map(|bits| i64::from(bits as u32));
        match &inst.op {
            vector::Op::Const(_) | vector::Op::Splat => Some(0),
            vector::Op::Line(step) => Some(*step),
            vector::Op::Sreg(register) => match register.reg {
                ir::Sreg::TidX | ir::Sreg::LaneId => Some(1),
                ir::Sreg::TidY | ir::Sreg::TidZ => Some(0),
                _ => None,
            },
            vector::Op::Lanes(LaneOp::Add) => slope(0)?.checked_add(slope(1)?),
            vector::Op::Lanes(LaneOp::Sub) => slope(0)?.checked_sub(slope(1)?),
            vector::Op::Lanes(LaneOp::Shl) => {
                slope(0)?.checked_mul(1 << constant(1).filter(|by| *by < 32)?)
            }
            vector::Op::Lanes(LaneOp::Mul) => match (slope(0)?, slope(1)?) {
                (0, 0) => Some(0),
                (slope, 0) => slope.checked_mul(constant(1)?),
                (0, slope) => slope.checked_mul(constant(0)?),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Returns whether addresses in a state space have 32 bits.
fn is_window(space: Space) -> bool {
    matches!(space, Space::Shared | Space::Param)
}

/// Returns whether accesses at two offsets are both aligned if one is.
fn are_aligned_alike(offset: i64, other: i64, key: &LocatedBy) -> bool {
    offset.abs_diff(other).is_multiple_of(key.bytes.into())
}
