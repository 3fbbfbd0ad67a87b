//! Rows in registers.

use super::{Place, Selector};
use crate::Refused;
use crate::vcode::{Mem, Part, VReg, View};
use fast::Level;
use vector::{LaneOp, Rounding, Type, Value};

/// Returns whether an operation takes no longer than a selection.
fn is_quick(op: LaneOp) -> bool {
    matches!(
        op,
        LaneOp::And
            | LaneOp::Or
            | LaneOp::Xor
            | LaneOp::AndNot
            | LaneOp::Add
            | LaneOp::Sub
            | LaneOp::Shl
            | LaneOp::Shr
            | LaneOp::Sar
            | LaneOp::MinU
            | LaneOp::MaxU
            | LaneOp::MinS
            | LaneOp::MaxS
    )
}

/// Returns the bits that stand for a rounding, in immediates and in the control word.
pub(super) fn rounding_bits(rounding: Rounding) -> i32 {
    match rounding {
        Rounding::Nearest => 0,
        Rounding::Down => 1,
        Rounding::Up => 2,
        Rounding::Zero => 3,
    }
}

impl Selector<'_> {
    pub(super) fn is_wide(&self, value: Value) -> bool {
        self.source.ty(value) == Type::Row64
    }

    pub(super) fn parts(&self, value: Value) -> usize {
        self.codes.views(self.source.ty(value)).len()
    }

    /// Returns whether a value is the same in all lanes by what it is computed from.
    pub(super) fn is_uniform(&self, value: Value) -> bool {
        self.uniform[value.index()]
    }

    /// Returns the number of parts of a row that may differ.
    pub(super) fn distinct_parts(&self, value: Value) -> usize {
        if self.is_uniform(value) { 1 } else { self.parts(value) }
    }

    /// Finds out whether the result of an instruction is the same in all lanes.
    pub(super) fn note_uniform(&mut self, data: &vector::InstData) {
        use vector::Op as V;
        let lanewise = matches!(
            data.op,
            V::Lanes(_)
                | V::Convert(_)
                | V::Test(_)
                | V::Unordered
                | V::Select
                | V::Low
                | V::ZeroExtend
                | V::SignExtend
                | V::RowOfMask
                | V::Mask(_)
        );
        let uniform = match data.op {
            V::Const(_) | V::Splat | V::MaskOfScalar | V::MaskConst(0 | u32::MAX) => true,
            V::Permute => data.args.iter().any(|&arg| self.is_uniform(arg)),
            _ => lanewise && data.args.iter().all(|&arg| self.is_uniform(arg)),
        };
        if let ([result], true) = (&data.results[..], uniform) {
            self.uniform[result.index()] = true;
        }
    }

    /// Finds operations of a block whose only use is a selection there: they are carried out under
    /// its mask. Only those that are as quick as the selection, for they wait for the mask.
    pub(super) fn find_masked(&mut self, insts: &[vector::Inst]) {
        if self.codes.level != Level::Avx512 {
            return;
        }
        for (at, &inst) in insts.iter().enumerate() {
            let data = self.source.inst(inst);
            let (vector::Op::Select, &[_, value, old]) = (&data.op, &data.args[..]) else {
                continue;
            };
            let Some(inner) = self.defined[value.index()] else { continue };
            if self.uses[value.index()] == 1
                && let Some((row, index, _)) = self.permuted(value)
                && row == old
            {
                self.uses[value.index()] = 0;
                self.uses[index.index()] -= 1;
                self.masked[value.index()] = true;
                continue;
            }
            let quick = matches!(self.source.inst(inner).op, vector::Op::Lanes(op) if is_quick(op));
            if quick
                && value != old
                && self.uses[value.index()] == 1
                && insts[..at].contains(&inner)
            {
                self.uses[value.index()] = 0;
                self.masked[value.index()] = true;
            }
        }
    }

    /// Returns the row, the index and its lanes, of a permutation by constants.
    fn permuted(&self, value: Value) -> Option<(Value, Value, &'_ [u32; 32])> {
        let data = |value: Value| Some(self.source.inst(self.defined[value.index()]?));
        let inst = data(value).filter(|inst| inst.op == vector::Op::Permute)?;
        match &data(inst.args[1])?.op {
            vector::Op::LaneConst(lanes) => Some((inst.args[0], inst.args[1], lanes)),
            _ => None,
        }
    }

    /// Returns the lanes by which a row is permuted where a selection carries that out: other lanes
    /// keep what they have in the row.
    pub(super) fn masked_permutation(&self, value: Value) -> Option<[u32; 32]> {
        let (_, _, lanes) = self.permuted(value).filter(|_| self.masked[value.index()])?;
        Some(*lanes)
    }

    /// Returns the operation that a selection of its result carries out.
    pub(super) fn masked_operation(&self, value: Value) -> Option<(LaneOp, Vec<Value>)> {
        let inst = self.defined[value.index()].filter(|_| self.masked[value.index()])?;
        let data = self.source.inst(inst);
        match data.op {
            vector::Op::Lanes(op) => Some((op, data.args.to_vec())),
            _ => None,
        }
    }

    /// A product by a constant that is a power of two, or next to one: shifts and additions are
    /// sooner done.
    pub(super) fn product_by(
        &mut self,
        a: Value,
        by: u64,
        part: usize,
        wide: bool,
    ) -> Option<VReg> {
        let codes = &self.codes.lanes[usize::from(wide)];
        let power = |bits: u64| bits.is_power_of_two().then(|| bits.trailing_zeros() as i32);
        if let Some(n) = power(by) {
            let a = self.v(a, part);
            return Some(self.f.v2i(codes.shift_left, a, n));
        }
        let (n, op) = match (power(by.wrapping_sub(1)), power(by.wrapping_add(1))) {
            (Some(n), _) => (n, codes.add),
            (_, Some(n)) => (n, codes.sub),
            _ => return None,
        };
        let a = self.v(a, part);
        let shifted = self.f.v2i(codes.shift_left, a, n);
        Some(self.f.v3(op, shifted, a))
    }

    /// A constant vector that repeats 16 bytes.
    pub(super) fn sixteen(&mut self, byte: impl Fn(usize) -> u8) -> Mem {
        let word = |i: usize| u64::from_le_bytes(std::array::from_fn(|b| byte(8 * (i % 2) + b)));
        Mem::pool(self.pool.vector(std::array::from_fn(word)))
    }

    /// Bytes of a lane by the numbers in the bytes of another; those from 128 on yield 0.
    pub(super) fn bytes(&mut self, a: Value, by: Value, part: usize, wide: bool) -> VReg {
        let bytes = if wide { 8 } else { 4 };
        let base = |i: usize| (i - i % bytes) as u8;
        let a = self.v(a, part);
        if let Some(bits) = self.known(by) {
            let selector = |i: usize| (bits >> (8 * (i % bytes))) as u8;
            let index = self.sixteen(|i| match selector(i) {
                s if s & 0x80 != 0 => 0x80,
                s => s % bytes as u8 + base(i),
            });
            return self.f.v3(self.codes.shuffle, a, index);
        }
        let codes = &self.codes.lanes[1];
        let low = (bytes as u64 - 1) * 0x0101_0101_0101_0101;
        let kept = self.level(|l| l.row_const(0x8080_8080_8080_8080 | low, true));
        let base = self.sixteen(base);
        let by = self.v(by, part);
        let index = self.f.v3(codes.and, by, kept);
        let index = self.f.v3(codes.or, index, base);
        self.f.v3(self.codes.shuffle, a, index)
    }

    /// Reverses the bits of each byte by table lookups, then the bytes.
    pub(super) fn reversed(&mut self, a: VReg, wide: bool) -> VReg {
        let (codes, shuffle) = (&self.codes.lanes[0], self.codes.shuffle);
        let four = self.level(|l| l.row_const(0x0f0f_0f0f, false));
        let turned = |i: usize| (i as u8).reverse_bits();
        let tables = [self.sixteen(turned), self.sixteen(|i| turned(i) >> 4)];
        let [high, low] = tables.map(|table| self.f.v2(self.codes.load, table));
        let lower = self.f.v3(codes.and, a, four);
        let lower = self.f.v3(shuffle, high, lower);
        let upper = self.f.v2i(codes.shift_right, a, 4);
        let upper = self.f.v3(codes.and, upper, four);
        let upper = self.f.v3(shuffle, low, upper);
        let value = self.f.v3(codes.or, lower, upper);
        let last = if wide { 7 } else { 3 };
        let order = self.sixteen(|i| i as u8 ^ last);
        self.f.v3(shuffle, value, order)
    }

    /// Lane 0 of a row as a scalar.
    pub(super) fn first(&mut self, row: Value, result: Option<Value>) {
        let lanes = self.v(row, 0);
        let wide = self.is_wide(row);
        let codes = if wide { &self.codes.double } else { &self.codes.single };
        let view = if wide { View::R64 } else { View::R32 };
        let scalar = self.f.def(codes.out_of, view, (lanes.x(),));
        self.put_scalar(result, scalar);
    }

    /// Returns a part of a row in a register.
    pub(super) fn v(&mut self, value: Value, part: usize) -> VReg {
        if self.is_waiting(value) {
            self.select_waiting();
        }
        if let Some(Place::Row(list)) = &self.places[value.index()] {
            return list[part];
        }
        let bits = self.known(value).unwrap_or_else(|| {
            self.refuse(Refused::Unsound);
            0
        });
        let wide = self.is_wide(value);
        self.level(|l| l.row_const(bits, wide))
    }

    pub(super) fn splat(&mut self, scalar: Value, result: Option<Value>) {
        let Some(row) = result else { return };
        let wide = self.is_wide(row);
        if let Some(bits) = self.known(scalar) {
            let bits = if wide { bits } else { bits & 0xffff_ffff };
            return self.put(result, Place::Const(bits));
        }
        let vector = match self.broadcasts.get(&scalar) {
            Some(&vector) => vector,
            None => self.level(|l| l.broadcast(scalar, wide)),
        };
        self.put_row(result, vec![vector; self.parts(row)]);
    }
}
