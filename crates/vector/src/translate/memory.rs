//! Loads and stores: the shapes of their addresses.

use super::live::homes_of;
use super::step::On;
use super::{Translator, Untranslated, Var};
use crate::function::{Type, Value};
use crate::op::{Access, Extend, Home, LaneOp, Op, Shape, Sreg};
use fast::code::{Code, Dst, Kind, Memory, Src};
use fast::ops::{Native, Op32, Op64};
use ir::mods::Space;

/// Returns whether a space is a window that 32-bit offsets address.
pub(super) fn is_window(space: Space) -> bool {
    matches!(space, Space::Shared | Space::Param | Space::Local)
}

/// Most bytes of local memory of a thread that code accesses: offsets of all lanes of a warp have
/// 32 bits.
const MAX_LOCAL: usize = 1 << 20;

/// Returns whether code accesses memory at such addresses.
pub(super) fn has_address(code: &Code, detailed: bool, memory: &Memory) -> bool {
    match memory.space {
        Space::Local => code.local_bytes < MAX_LOCAL,
        // In clusters of several CTAs, others may have the memory that is accessed.
        Space::Shared => code.rank_step.is_none() || !memory.reaches_cluster,
        space if is_window(space) => true,
        // They are told apart by CTA there.
        Space::Generic if code.rank_step.is_some() && detailed => false,
        _ => match memory.address {
            Src::Narrow(_) | Src::Pred(_) | Src::Pair(..) => false,
            Src::Line(_, stride, mask) => stride == 0 || mask == u64::MAX,
            _ => true,
        },
    }
}

/// Returns whether a load or store is of the CTA's own shared memory in a cluster of several CTAs:
/// one that code does not let through is not allowed.
#[must_use]
pub fn is_own_memory(code: &Code, kind: &Kind) -> bool {
    match kind {
        Kind::Load(memory) | Kind::Store(memory) => {
            code.rank_step.is_some() && memory.space == Space::Shared && !memory.reaches_cluster
        }
        _ => false,
    }
}

fn shape(code: &Code, memory: &Memory, words: usize) -> Shape {
    let scalar = |dst: &Dst| matches!(dst, Dst::Scalar(_) | Dst::None);
    let may_be_local = memory.space == Space::Generic && code.local_bytes > 0;
    match memory.address {
        // Each thread has words of its own in local memory.
        _ if memory.space == Space::Local => Shape::Any,
        Src::Const(_) | Src::Line(_, 0, _) if may_be_local && !memory.dst.iter().all(scalar) => {
            Shape::Any
        }
        Src::Const(_) | Src::Line(_, 0, _) => Shape::One,
        Src::Line(_, stride, _) if stride == i64::from(memory.word) && words == 1 => {
            Shape::Adjacent
        }
        _ => Shape::Any,
    }
}

fn loads_adjacent(memory: &Memory) -> bool {
    match (memory.dst.first(), memory.word) {
        (Some(Dst::Narrow(_)), 4) | (Some(Dst::Wide(_)), 8) => memory.extend.is_none(),
        (Some(Dst::Narrow(_)), 1 | 2) => memory.extend.is_none_or(|e| e.1 == 32),
        _ => false,
    }
}

fn loads_any(memory: &Memory) -> bool {
    let narrow = |d: &Dst| matches!(d, Dst::Narrow(_) | Dst::None);
    match memory.word {
        8 => {
            memory.extend.is_none()
                && memory.dst.iter().all(|d| matches!(d, Dst::Wide(_) | Dst::None))
        }
        4 => memory.extend.is_none() && memory.dst.iter().all(narrow),
        _ => memory.dst.iter().all(narrow) && memory.extend.is_none_or(|e| e.1 == 32),
    }
}

/// Returns the row that the interpreter reads nothing but addresses from.
fn address_row(memory: &Memory) -> Option<Home> {
    let Src::Wide(row) = memory.address else { return None };
    let mut is_data = false;
    for &src in &memory.src {
        homes_of(src, &mut |home| is_data |= home == Home::Wide(row));
    }
    (!is_data).then_some(Home::Wide(row))
}

impl Translator<'_> {
    pub(super) fn access(
        &mut self,
        memory: &Memory,
        kind: &Kind,
        shape: Shape,
    ) -> (Access, Vec<Value>) {
        let (mut step, mut operands) = self.interpreted(kind);
        let mut row = address_row(memory);
        if is_own_memory(self.code, kind) {
            // The interpreter does not execute it.
            step.operands.clear();
            operands.clear();
            row = None;
        } else if self.has_base(memory) {
            row = None;
        }
        if let Some(at) = step.operands.iter().position(|&home| Some(home) == row) {
            step.operands.remove(at);
            operands.remove(at);
        }
        let extend = memory.extend.map_or(Extend::Zero, |e| Extend::Sign(e.1));
        let access = Access {
            step,
            row,
            space: memory.space,
            shape,
            word: memory.word as u8,
            words: memory.words as u8,
            extend,
            offset: memory.offset,
        };
        (access, operands)
    }

    pub(super) fn address(&mut self, memory: &Memory, shape: Shape) -> Value {
        let has_base = self.has_base(memory);
        match shape {
            Shape::One | Shape::Adjacent if has_base => {
                let address = self.scalar(memory.address);
                let base = self.shared_base();
                self.native(Op64::Sub, address, base)
            }
            Shape::One | Shape::Adjacent => self.scalar(memory.address),
            Shape::Any if has_base => self.shared_row(memory),
            Shape::Any if is_window(memory.space) => self.row32(memory.address),
            _ => self.row64(memory.address),
        }
    }

    /// Returns whether addresses in memory are not offsets in that of the CTA: shared ones in
    /// clusters of several CTAs.
    fn has_base(&self, memory: &Memory) -> bool {
        memory.space == Space::Shared && self.code.rank_step.is_some()
    }

    /// Returns the first address of the CTA's shared memory.
    fn shared_base(&mut self) -> Value {
        let step = self.code.rank_step.unwrap_or(0) as u32;
        let sreg = Sreg { reg: ir::Sreg::ClusterCtaRank, step };
        let rank = self.one(Op::Sreg(sreg), &[], Type::Scalar);
        let by = self.constant(vm::CTA_WINDOW.trailing_zeros().into(), Type::Scalar);
        let zero = self.constant(0, Type::Scalar);
        self.one(Op::Scalar(Native::Narrow(Op32::Shl)), &[rank, by, zero], Type::Scalar)
    }

    /// Returns the row of offsets in the CTA's shared memory of an access.
    pub(super) fn shared_row(&mut self, memory: &Memory) -> Value {
        let row = self.row32(memory.address);
        if !self.has_base(memory) {
            return row;
        }
        let base = self.shared_base();
        let base = self.one(Op::Splat, &[base], Type::Row32);
        self.lanes(LaneOp::Sub, &[row, base], Type::Row32)
    }

    pub(super) fn load(
        &mut self,
        memory: &Memory,
        kind: &Kind,
        on: On,
    ) -> Result<(), Untranslated> {
        let mut shape = shape(self.code, memory, memory.dst.len());
        if shape == Shape::Adjacent && !loads_adjacent(memory) {
            shape = Shape::Any;
        }
        if !has_address(self.code, self.detailed, memory)
            || shape == Shape::Any && !loads_any(memory)
        {
            return self.interpret(kind, on);
        }
        let address = self.address(memory, shape);
        let (access, operands) = self.access(memory, kind, shape);
        let ty = if shape == Shape::One { Type::Scalar } else { access.row_type() };
        let types = vec![ty; memory.dst.len()];
        let args: Vec<Value> = [on.lanes, address].into_iter().chain(operands).collect();
        let op = Op::Load(Box::new(access));
        let inst = self.function.append(self.block, op, &args, &types);
        let results = self.function.inst(inst).results.clone();
        for (&dst, value) in memory.dst.iter().zip(results) {
            self.loaded(dst, value, shape, on);
        }
        Ok(())
    }

    fn loaded(&mut self, dst: Dst, value: Value, shape: Shape, on: On) {
        let home = match dst {
            Dst::None => return,
            Dst::Narrow(i) => Home::Narrow(i),
            Dst::Wide(i) | Dst::Pair(i, _) => Home::Wide(i),
            Dst::Pred(i) => Home::Pred(i),
            Dst::Scalar(i) => return self.write(Var::Home(Home::Scalar(i)), value),
        };
        let value = match (shape, home) {
            (Shape::One, Home::Pred(_)) => self.one(Op::MaskOfScalar, &[value], Type::Mask),
            (Shape::One, _) => self.one(Op::Splat, &[value], home.ty()),
            _ => value,
        };
        self.put(home, value, on);
    }

    pub(super) fn store(
        &mut self,
        memory: &Memory,
        kind: &Kind,
        on: On,
    ) -> Result<(), Untranslated> {
        let mut shape = shape(self.code, memory, memory.src.len());
        if shape == Shape::One {
            // The last lane's value remains, as it does with a scatter.
            shape = Shape::Any;
        }
        if !has_address(self.code, self.detailed, memory) || memory.space == Space::Param {
            return self.interpret(kind, on);
        }
        let address = self.address(memory, shape);
        let (access, operands) = self.access(memory, kind, shape);
        let wide = access.row_type() == Type::Row64;
        let mut args = vec![on.lanes, address];
        for &src in &memory.src {
            args.push(if wide { self.row64(src) } else { self.row32(src) });
        }
        args.extend(operands);
        self.effect(Op::Store(Box::new(access)), &args);
        Ok(())
    }
}
