//! Changes of tensor maps: `tensormap.replace` and `tensormap.cp_fenceproxy`.
//!
//! A map is bytes in memory, whose form [`simt::tensor`] defines, so that both are ordinary
//! accesses: a field is stored, with the bytes that every map begins with; a copy is made by one
//! lane of the warp, between waits for the other lanes. A number that a field has no room for is
//! stored as the greatest one, which no map may have.

use ir::mods::{Cmp, Order, Space as IrSpace};
use ir::{Inst, Op, Operand as Value, Origin, Reg, RegTy, Sreg, Ty};
use simt::tensor::{BYTES, Field, MAGIC};

use super::Lowering;
use super::address::Address;
use super::constant::{Constant, evaluate};
use super::function::Body;
use super::modifiers::scope;
use crate::ast::{Instruction, Operand, Type};
use crate::spelling::{Kind, Spelled};

/// The types of elements by number in the PTX ISA (table "New Values of Different Fields"), as the
/// driver numbers them.
const ELEMENTS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12, 13, 14, 15];

/// An address: base, offset and space.
type Place = (Value, i64, Option<IrSpace>);

impl Body<'_, '_> {
    /// `tensormap.replace`
    pub(super) fn replace_field(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        let Some(field) = s.word(Kind::MapField).and_then(named) else { return Ok(()) };
        let (first, bytes, elements) = field.place();
        let count = if elements > 1 { 3 } else { 2 };
        self.count(i, count, count)?;
        let all = &self.cx.tree.operands[i.operands];
        let (given, value) = (&all[0], &all[all.len() - 1]);
        let ordinal = match elements {
            1 => 0,
            _ => self.below(&all[1], elements)?,
        };
        let new = match setting(field) {
            0 => self.source(value, s.ty(), false)?,
            values => self.numbered(field, value, values)?,
        };
        let (base, offset, space) = self.map_place(s, given)?;
        let magic = Value::Imm(u32::from_le_bytes(MAGIC).into());
        self.map_store((base, offset, space), Ty::U32, magic, Origin::Lowering);
        let new = self.stored_number(field, new);
        let ty = match bytes {
            1 => Ty::U8,
            2 => Ty::U16,
            4 => Ty::U32,
            _ => Ty::U64,
        };
        let at = offset.saturating_add_unsigned(first + bytes * ordinal);
        self.map_store((base, at, space), ty, new, Origin::Source);
        Ok(())
    }

    /// `tensormap.cp_fenceproxy`
    pub(super) fn copy_map(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        self.count(i, 3, 3)?;
        let all = &self.cx.tree.operands[i.operands];
        self.map_size(&all[2])?;
        let (to, to_offset) = self.bulk_place(&all[0], IrSpace::Global)?;
        let (from, from_offset) = self.bulk_place(&all[1], IrSpace::Shared)?;
        self.warp_sync();
        let lane = self.code.temporary(RegTy::B32);
        let own = Inst::new(Op::Sreg).ty(Ty::U32).result(Reg::Lane(lane));
        self.emit(own.operand(Value::Sreg(Sreg::LaneId)), Origin::Lowering);
        let first = self.code.temporary(RegTy::Pred);
        let mut is_first = Inst::new(Op::Setp).ty(Ty::U32).result(Reg::Lane(first));
        is_first.mods.cmp = Some(Cmp::Eq);
        self.emit(is_first.operand(Value::lane(lane)).operand(Value::Imm(0)), Origin::Lowering);
        // All lanes of the warp are there, so that the guard of the instruction adds nothing.
        let guard = self.context.guard.replace(ir::Guard { pred: first, negated: false });
        for at in (0..BYTES as i64).step_by(8) {
            let word = self.code.temporary(RegTy::B64);
            let mut load = Inst::new(Op::Ld).ty(Ty::B64).result(Reg::Lane(word)).operand(from);
            load.mods.space = Some(IrSpace::Shared);
            load.offset = from_offset.saturating_add(at);
            self.emit(load, Origin::Lowering);
            let place = (to, to_offset.saturating_add(at), Some(IrSpace::Global));
            self.map_store(place, Ty::B64, Value::lane(word), Origin::Lowering);
        }
        self.context.guard = guard;
        let mut fence = Inst::new(Op::Fence);
        fence.mods.order = Some(Order::Release);
        fence.mods.scope = s.word(Kind::Scope).and_then(scope);
        self.emit(fence, Origin::Source);
        self.warp_sync();
        Ok(())
    }

    /// The operands of `fence.proxy.tensormap::generic.acquire`, which change nothing.
    pub(super) fn acquired_map(&mut self, i: &Instruction) -> Lowering<()> {
        self.count(i, 2, 2)?;
        let all = &self.cx.tree.operands[i.operands];
        self.address(&all[0])?;
        self.map_size(&all[1])
    }

    /// Bytes of a map, which is the only size.
    fn map_size(&mut self, operand: &Operand) -> Lowering<()> {
        match self.source(operand, Type::U32, false)? {
            Value::Imm(size) if size == BYTES as u128 => Ok(()),
            _ => {
                let message = format!("a tensor map has {BYTES} bytes");
                self.cx.error("ptx::constant-range", message, operand.span, "another size")
            }
        }
    }

    /// A constant below a bound.
    fn below(&mut self, operand: &Operand, bound: u64) -> Lowering<u64> {
        let value = evaluate(self.cx.tree, operand).map_err(|d| self.cx.fail(d))?;
        let number = match value {
            Some(Constant::Int(number)) => Some(number.bits),
            _ => None,
        };
        match number.filter(|&number| number < bound) {
            Some(number) => Ok(number),
            None => {
                let message = format!("a constant from 0 to {} is needed", bound - 1);
                self.cx.error("ptx::constant-range", message, operand.span, "out of range")
            }
        }
    }

    /// The number of a setting, as a map has it.
    fn numbered(&mut self, field: Field, operand: &Operand, values: u64) -> Lowering<Value> {
        let number = self.below(operand, values)?;
        Ok(Value::Imm(match field {
            Field::Elemtype => ELEMENTS[number as usize].into(),
            _ => number.into(),
        }))
    }

    /// The place of a map in global or shared memory.
    fn map_place(&mut self, s: &Spelled, operand: &Operand) -> Lowering<Place> {
        let Address::Memory { base, offset, space: found } = self.address(operand)? else {
            let message = "a tensor map that is changed is in `.global` or `.shared`";
            return self.cx.error("ptx::space", message, operand.span, "a parameter is in neither");
        };
        let written = match s.word(Kind::MapSpace) {
            Some("global") => Some(IrSpace::Global),
            Some(_) => Some(IrSpace::Shared),
            None => None,
        };
        let space = self.access_space(operand, written, found)?;
        if space != Some(IrSpace::Shared) {
            self.address_width(base, space, operand.span)?;
        }
        Ok((self.zero_extended(base), offset, space))
    }

    /// A number as the field has it, in a register or a constant of the field's width.
    fn stored_number(&mut self, field: Field, value: Value) -> Value {
        let bits = match field.place().1 {
            1 => 8,
            2 => 16,
            _ => 0,
        };
        let less_one = field.counts_from_one();
        if let Value::Imm(number) = value {
            let number = (number as u64).wrapping_sub(less_one.into());
            return Value::Imm(match bits {
                0 if less_one => u128::from(number as u32),
                0 => number.into(),
                _ => u128::from(number.min((1 << bits) - 1)),
            });
        }
        let mut value = value;
        if less_one {
            value = self.map_step(Op::Sub, Ty::U32, RegTy::B32, &[value, Value::Imm(1)]);
        }
        if bits == 0 {
            return value;
        }
        let most = Value::Imm((1 << bits) - 1);
        let value = self.map_step(Op::Min, Ty::U32, RegTy::B32, &[value, most]);
        let (ty, reg) = if bits == 8 { (Ty::U8, RegTy::B8) } else { (Ty::U16, RegTy::B16) };
        let to = self.code.temporary(reg);
        let mut narrow = Inst::new(Op::Cvt).ty(ty).result(Reg::Lane(to)).operand(value);
        narrow.ty2 = Some(Ty::U32);
        self.emit(narrow, Origin::Lowering);
        Value::lane(to)
    }

    fn map_step(&mut self, op: Op, ty: Ty, reg: RegTy, operands: &[Value]) -> Value {
        let to = self.code.temporary(reg);
        let mut step = Inst::new(op).ty(ty).result(Reg::Lane(to));
        step.operands.extend_from_slice(operands);
        self.emit(step, Origin::Lowering);
        Value::lane(to)
    }

    fn map_store(&mut self, (base, offset, space): Place, ty: Ty, value: Value, origin: Origin) {
        let mut store = Inst::new(Op::St).ty(ty).operand(base).operand(value);
        store.mods.space = space;
        store.offset = offset;
        self.emit(store, origin);
    }

    /// Waits for all lanes of the warp.
    fn warp_sync(&mut self) {
        let all = Value::Imm(u32::MAX.into());
        self.emit(Inst::new(Op::WarpSync).operand(all), Origin::Lowering);
    }
}

/// Values of a field that is a setting, 0 for others.
fn setting(field: Field) -> u64 {
    match field {
        Field::Elemtype => ELEMENTS.len() as u64,
        Field::InterleaveLayout => 3,
        Field::SwizzleMode | Field::SwizzleAtomicity => 4,
        Field::FillMode => 2,
        _ => 0,
    }
}

/// The field of a name.
fn named(word: &str) -> Option<Field> {
    Some(match word {
        "global_address" => Field::GlobalAddress,
        "rank" => Field::Rank,
        "box_dim" => Field::BoxDim,
        "global_dim" => Field::GlobalDim,
        "global_stride" => Field::GlobalStride,
        "element_stride" => Field::ElementStride,
        "elemtype" => Field::Elemtype,
        "interleave_layout" => Field::InterleaveLayout,
        "swizzle_mode" => Field::SwizzleMode,
        "swizzle_atomicity" => Field::SwizzleAtomicity,
        "fill_mode" => Field::FillMode,
        _ => return None,
    })
}
