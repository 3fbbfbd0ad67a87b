//! Loads and stores: the shapes of their addresses.

use super::live::homes_of;
use super::step::On;
use super::{Translator, Untranslated, Var};
use crate::function::{Type, Value};
use crate::op::{Access, Extend, Home, Op, Shape};
use fast::code::{Code, Dst, Kind, Memory, Src};
use ir::mods::Space;

/// Returns whether a space is a window that 32-bit offsets address.
pub(super) fn is_window(space: Space) -> bool {
    matches!(space, Space::Shared | Space::Param | Space::Local)
}

/// Most bytes of local memory of a thread that code accesses: offsets of all lanes of a warp have
/// 32 bits.
const MAX_LOCAL: usize = 1 << 20;

/// Returns whether code accesses memory at such addresses.
pub(super) fn has_address(code: &Code, memory: &Memory) -> bool {
    match memory.space {
        Space::Local => code.local_bytes < MAX_LOCAL,
        space if is_window(space) => true,
        _ => match memory.addr {
            Src::Narrow(_) | Src::Pred(_) | Src::Pair(..) => false,
            Src::Line(_, stride, mask) => stride == 0 || mask == u64::MAX,
            _ => true,
        },
    }
}

fn shape(code: &Code, memory: &Memory, words: usize) -> Shape {
    let scalar = |dst: &Dst| matches!(dst, Dst::Scalar(_) | Dst::None);
    let may_be_local = memory.space == Space::Generic && code.local_bytes > 0;
    match memory.addr {
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
    let Src::Wide(row) = memory.addr else { return None };
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
        let row = address_row(memory);
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
        match shape {
            Shape::One | Shape::Adjacent => self.scalar(memory.addr),
            Shape::Any if is_window(memory.space) => self.row32(memory.addr),
            _ => self.row64(memory.addr),
        }
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
        if !has_address(self.code, memory) || shape == Shape::Any && !loads_any(memory) {
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
        if !has_address(self.code, memory) || memory.space == Space::Param {
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
