//! Values of the vector IR in Cranelift's.

use super::{Lowering, Val, Vals, index_of};
use crate::Refused;
use crate::frame::Frame;
use crate::warp_context::WarpContext;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, ConstantData, InstBuilder, MemFlagsData, types};
use cranelift_frontend::Variable;
use smallvec::SmallVec;
use vector::{Sreg, Type, Value};

/// A scalar, a vector of a row, or a mask.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// Its only definition.
    Val(Val),
    /// What is defined in several places: where it is computed, and where the warp continues.
    Var(Variable),
}

/// A value of the vector IR.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Scalar(Part),
    /// Vectors of 128 bits; one if all lanes have the same value.
    Row(SmallVec<[Part; 16]>),
    /// The bits of 32 lanes.
    Mask(Part),
    /// A constant: a scalar, all lanes of a row, or a mask.
    Const(u64),
}

/// Flags of accesses to memory that code and host share.
pub(super) const SHARED: MemFlagsData = MemFlagsData::trusted();

/// Flags of accesses that code has checked: they may be misaligned for the host.
pub(super) const CHECKED: MemFlagsData = MemFlagsData::new().with_notrap();

/// Returns the type of a vector of lanes.
pub(super) fn lanes_type(wide: bool) -> ir::Type {
    if wide { types::I64X2 } else { types::I32X4 }
}

/// Returns the type of a vector of floats.
pub(super) fn floats_type(wide: bool) -> ir::Type {
    if wide { types::F64X2 } else { types::F32X4 }
}

/// Returns the number of vectors of a row.
pub(super) fn parts(wide: bool) -> usize {
    if wide { 16 } else { 8 }
}

/// Returns the flags of a bitcast.
fn cast() -> MemFlagsData {
    MemFlagsData::new().with_endianness(ir::Endianness::Little)
}

impl Lowering<'_> {
    pub(super) fn iconst(&mut self, bits: u64) -> Val {
        self.b.ins().iconst(types::I64, bits as i64)
    }

    pub(super) fn iconst32(&mut self, bits: u32) -> Val {
        self.b.ins().iconst(types::I32, i64::from(bits))
    }

    /// Loads 64 bits of memory that code and host share.
    pub(super) fn load64(&mut self, base: Val, offset: i64) -> Val {
        self.b.ins().load(types::I64, SHARED, base, offset as i32)
    }

    pub(super) fn load32(&mut self, base: Val, offset: i64) -> Val {
        self.b.ins().load(types::I32, SHARED, base, offset as i32)
    }

    /// Stores a value in memory that code and host share.
    pub(super) fn put_at(&mut self, value: Val, base: Val, offset: i64) {
        self.b.ins().store(SHARED, value, base, offset as i32);
    }

    pub(super) fn field64(&mut self, offset: i64) -> Val {
        self.load64(self.frame, offset)
    }

    /// Adds to a counter of 64 bits.
    pub(super) fn add_to(&mut self, by: Val, base: Val, offset: i64) {
        let old = self.load64(base, offset);
        let sum = self.b.ins().iadd(old, by);
        self.put_at(sum, base, offset);
    }

    pub(super) fn cast(&mut self, ty: ir::Type, value: Val) -> Val {
        if self.b.func.dfg.value_type(value) == ty {
            return value;
        }
        self.b.ins().bitcast(ty, cast(), value)
    }

    /// Returns the low word of a scalar.
    pub(super) fn low_word(&mut self, value: Val) -> Val {
        self.b.ins().ireduce(types::I32, value)
    }

    pub(super) fn widened(&mut self, value: Val) -> Val {
        self.b.ins().uextend(types::I64, value)
    }

    /// Returns a constant vector.
    pub(super) fn vector(&mut self, bytes: [u8; 16], ty: ir::Type) -> Val {
        let data = ConstantData::from(&bytes[..]);
        let constant = self.b.func.dfg.constants.insert(data);
        self.b.ins().vconst(ty, constant)
    }

    /// Returns a vector with a constant of its own in each lane.
    pub(super) fn lane_consts(&mut self, wide: bool, lane: impl Fn(usize) -> u64) -> Val {
        let mut bytes = [0; 16];
        let size = if wide { 8 } else { 4 };
        for (i, chunk) in bytes.chunks_exact_mut(size).enumerate() {
            chunk.copy_from_slice(&lane(i).to_le_bytes()[..size]);
        }
        self.vector(bytes, lanes_type(wide))
    }

    /// Returns a vector with a constant in all lanes.
    pub(super) fn row_const(&mut self, bits: u64, wide: bool) -> Val {
        self.lane_consts(wide, |_| bits)
    }

    /// Returns a vector of bytes.
    pub(super) fn byte_consts(&mut self, byte: impl Fn(usize) -> u8) -> Val {
        self.vector(std::array::from_fn(byte), types::I8X16)
    }

    /// Moves 32-bit lanes of two vectors: each of the result is one of the eight.
    pub(super) fn shuffled(&mut self, a: Val, b: Val, lanes: [u8; 4]) -> Val {
        let bytes: Vec<u8> = lanes.iter().flat_map(|l| (0..4).map(move |i| 4 * l + i)).collect();
        let mask = self.b.func.dfg.immediates.push(ConstantData::from(&bytes[..]));
        let [a, b] = [a, b].map(|v| self.cast(types::I8X16, v));
        let value = self.b.ins().shuffle(a, b, mask);
        self.cast(types::I32X4, value)
    }

    /// Returns a scalar in all lanes of a vector.
    pub(super) fn spread(&mut self, scalar: Val, wide: bool) -> Val {
        let word = self.b.func.dfg.value_type(scalar) == types::I64 && !wide;
        let scalar = if word { self.low_word(scalar) } else { scalar };
        self.b.ins().splat(lanes_type(wide), scalar)
    }

    pub(super) fn put(&mut self, result: Option<Value>, place: Place) {
        if let Some(result) = result {
            self.places[result.index()] = Some(place);
        }
    }

    /// Returns a part of a value: a variable if the warp may stop while the value lives.
    fn part(&mut self, of: Value, value: Val) -> Part {
        if !self.live.crosses(of) {
            return Part::Val(value);
        }
        let ty = self.b.func.dfg.value_type(value);
        let variable = self.b.declare_var(ty);
        self.b.def_var(variable, value);
        Part::Var(variable)
    }

    pub(super) fn get(&mut self, part: Part) -> Val {
        match part {
            Part::Val(value) => value,
            Part::Var(variable) => self.b.use_var(variable),
        }
    }

    /// Defines a part that has been declared.
    pub(super) fn define(&mut self, part: Part, value: Val) {
        if let Part::Var(variable) = part {
            self.b.def_var(variable, value);
        }
    }

    /// Sets a scalar; words are widened with zeros.
    pub(super) fn put_scalar(&mut self, result: Option<Value>, value: Val) {
        let ty = self.b.func.dfg.value_type(value);
        let value = if ty == types::I64 { value } else { self.widened(value) };
        let Some(result) = result else { return };
        let part = self.part(result, value);
        self.put(Some(result), Place::Scalar(part));
    }

    pub(super) fn put_mask(&mut self, result: Option<Value>, bits: Val) {
        let Some(result) = result else { return };
        let part = self.part(result, bits);
        self.put(Some(result), Place::Mask(part));
    }

    pub(super) fn put_row(&mut self, result: Option<Value>, list: &[Val]) {
        let Some(result) = result else { return };
        let same = list.iter().all(|v| *v == list[0]);
        let list = if same { &list[..1] } else { list };
        let list = list.iter().map(|&v| self.part(result, v)).collect();
        self.put(Some(result), Place::Row(list));
    }

    /// Declares a value that is defined on several ways.
    pub(super) fn declare(&mut self, value: Value) -> Place {
        let ty = self.source.ty(value);
        let mut variable = |ty| Part::Var(self.b.declare_var(ty));
        match ty {
            Type::Scalar => Place::Scalar(variable(types::I64)),
            Type::Mask => Place::Mask(variable(types::I32)),
            Type::Row32 => Place::Row((0..parts(false)).map(|_| variable(types::I32X4)).collect()),
            Type::Row64 => Place::Row((0..parts(true)).map(|_| variable(types::I64X2)).collect()),
        }
    }

    /// Returns a constant scalar, row or mask, if the value is one.
    pub(super) fn known(&self, value: Value) -> Option<u64> {
        match self.places[value.index()] {
            Some(Place::Const(bits)) => Some(bits),
            _ => None,
        }
    }

    /// Returns a scalar.
    pub(super) fn s(&mut self, value: Value) -> Val {
        match self.places[value.index()] {
            Some(Place::Scalar(part)) => self.get(part),
            Some(Place::Const(bits)) => self.iconst(bits),
            _ => {
                self.refuse(Refused::Unsound);
                self.iconst(0)
            }
        }
    }

    /// Returns the low word of a scalar.
    pub(super) fn s32(&mut self, value: Value) -> Val {
        let value = self.s(value);
        self.low_word(value)
    }

    /// Returns the bits of a mask.
    pub(super) fn mask(&mut self, value: Value) -> Val {
        match self.places[value.index()] {
            Some(Place::Mask(part)) => self.get(part),
            Some(Place::Const(bits)) => self.iconst32(bits as u32),
            _ => {
                self.refuse(Refused::Unsound);
                self.iconst32(0)
            }
        }
    }

    /// Returns whether all lanes of a row have the same value by what it is computed from.
    pub(super) fn is_uniform(&self, value: Value) -> bool {
        match &self.places[value.index()] {
            Some(Place::Row(list)) => list.len() == 1,
            Some(Place::Const(_)) => true,
            _ => false,
        }
    }

    /// Returns a part of a row.
    pub(super) fn v(&mut self, value: Value, part: usize) -> Val {
        let wide = self.is_wide(value);
        match &self.places[value.index()] {
            Some(Place::Row(list)) => {
                let part = list[part.min(list.len() - 1)];
                self.get(part)
            }
            Some(Place::Const(bits)) => {
                let bits = *bits;
                self.row_const(bits, wide)
            }
            _ => {
                self.refuse(Refused::Unsound);
                self.row_const(0, wide)
            }
        }
    }

    /// Returns all parts of a row.
    pub(super) fn row(&mut self, value: Value) -> Vals {
        (0..parts(self.is_wide(value))).map(|part| self.v(value, part)).collect()
    }

    /// Returns a part of a row of floats.
    pub(super) fn floats(&mut self, value: Value, part: usize) -> Val {
        let lanes = self.v(value, part);
        self.cast(floats_type(self.is_wide(value)), lanes)
    }

    /// Computes a row part by part; once if the operands are the same in all lanes.
    pub(super) fn each_part(
        &mut self,
        args: &[Value],
        result: Option<Value>,
        mut f: impl FnMut(&mut Self, usize) -> Val,
    ) {
        let Some(row) = result else { return };
        let uniform = args.iter().all(|&arg| self.is_uniform(arg));
        let count = if uniform { 1 } else { parts(self.is_wide(row)) };
        let ty = lanes_type(self.is_wide(row));
        let list: Vals = (0..count)
            .map(|part| {
                let value = f(self, part);
                self.cast(ty, value)
            })
            .collect();
        self.put_row(result, &list);
    }

    pub(super) fn splat(&mut self, scalar: Value, result: Option<Value>) {
        let Some(row) = result else { return };
        let wide = self.is_wide(row);
        if let Some(bits) = self.known(scalar) {
            let bits = if wide { bits } else { bits & 0xffff_ffff };
            return self.put(result, Place::Const(bits));
        }
        let scalar = self.s(scalar);
        let vector = self.spread(scalar, wide);
        self.put_row(result, &[vector]);
    }

    /// A scalar plus the lane's number times a factor.
    pub(super) fn line(&mut self, stride: i64, base: Value, result: Option<Value>) {
        let Some(row) = result else { return };
        let wide = self.is_wide(row);
        let base = self.s(base);
        let base = self.spread(base, wide);
        let lanes = if wide { 2 } else { 4 };
        let list: Vals = (0..parts(wide))
            .map(|part| {
                let lane = |i: usize| ((lanes * part + i) as u64).wrapping_mul(stride as u64);
                let steps = self.lane_consts(wide, lane);
                self.b.ins().iadd(base, steps)
            })
            .collect();
        self.put_row(result, &list);
    }

    pub(super) fn sreg(&mut self, sreg: Sreg, result: Option<Value>) {
        let Some(value) = result else { return };
        if self.source.ty(value) == Type::Scalar {
            let index = index_of(&mut self.lowered.sregs, sreg.step);
            let list = match vector::translate::is_by_warp(sreg.reg) {
                true => self.load64(self.context, WarpContext::SREGS),
                false => self.field64(Frame::CTA_SREGS),
            };
            let value = self.load64(list, 8 * index as i64);
            return self.put_scalar(result, value);
        }
        let index = index_of(&mut self.lowered.sreg_rows, sreg.step);
        let rows = self.load64(self.context, WarpContext::SREG_ROWS);
        let list = self.load_vectors(rows, 128 * index as i64, false);
        self.put_row(result, &list);
    }

    /// Loads a row from memory that code and host share.
    pub(super) fn load_vectors(&mut self, base: Val, offset: i64, wide: bool) -> Vals {
        let ty = lanes_type(wide);
        let load = |this: &mut Self, part: i64| {
            this.b.ins().load(ty, CHECKED, base, (offset + 16 * part) as i32)
        };
        (0..parts(wide) as i64).map(|part| load(self, part)).collect()
    }

    /// Stores a row there.
    pub(super) fn store_vectors(&mut self, list: &[Val], base: Val, offset: i64) {
        for (part, &vector) in list.iter().enumerate() {
            let at = (offset + 16 * part as i64) as i32;
            self.b.ins().store(CHECKED, vector, base, at);
        }
    }

    /// Lane 0 of a row as a scalar.
    pub(super) fn first(&mut self, row: Value, result: Option<Value>) {
        let lanes = self.v(row, 0);
        let lane = self.b.ins().extractlane(lanes, 0);
        self.put_scalar(result, lane);
    }

    /// The low words of 64-bit lanes.
    pub(super) fn low(&mut self, row: Value, result: Option<Value>) {
        self.each_part(&[row], result, |this, part| {
            let [a, b] = [0, 1].map(|i| this.v(row, 2 * part + i));
            this.shuffled(a, b, [0, 2, 4, 6])
        });
    }

    /// 32-bit lanes widened.
    pub(super) fn extend(&mut self, row: Value, signed: bool, result: Option<Value>) {
        self.each_part(&[row], result, |this, part| {
            let words = this.v(row, part / 2);
            this.half_widened(words, part % 2 == 1, signed)
        });
    }

    /// Widens half of the 32-bit lanes of a vector.
    pub(super) fn half_widened(&mut self, words: Val, upper: bool, signed: bool) -> Val {
        match (upper, signed) {
            (false, false) => self.b.ins().uwiden_low(words),
            (true, false) => self.b.ins().uwiden_high(words),
            (false, true) => self.b.ins().swiden_low(words),
            (true, true) => self.b.ins().swiden_high(words),
        }
    }

    /// Returns whether a comparison with zero holds, as 0 or 1.
    pub(super) fn is_zero(&mut self, value: Val) -> Val {
        self.b.ins().icmp_imm_s(IntCC::Equal, value, 0)
    }
}
