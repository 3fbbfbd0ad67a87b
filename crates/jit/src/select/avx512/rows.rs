//! Operations on rows.

use super::Avx512;
use crate::Refused;
use crate::select::Place;
use crate::select::level::Rows;
use crate::vcode::{Mem, Part, VReg, View};
use iced_x86::Code as Op;
use vector::{InstData, LaneOp, Op as V, Value};

const MOVE32: Op = Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512;
const MOVE64: Op = Op::EVEX_Vmovdqa64_zmm_k1z_zmmm512;

impl Rows for Avx512<'_, '_> {
    fn row_const(&mut self, bits: u64, wide: bool) -> VReg {
        if bits == 0 {
            return self.f.same(Op::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, View::V, 2);
        }
        let from = Mem::pool(self.pool.word(bits));
        let op = match wide {
            true => Op::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
            false => Op::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
        };
        self.f.v2(op, from)
    }

    fn broadcast(&mut self, scalar: Value, wide: bool) -> VReg {
        let scalar = self.s(scalar);
        match wide {
            true => self.f.v2(Op::EVEX_Vpbroadcastq_zmm_k1z_r64, scalar),
            false => self.f.v2(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, scalar.d()),
        }
    }

    fn operation(&mut self, data: &InstData) {
        let (args, result) = (&data.args[..], data.results.first().copied());
        match &data.op {
            V::Line(stride) => self.line(args[0], *stride, result),
            V::Lanes(op) => self.lanes(*op, args, result),
            V::Convert(conversion) => self.convert_lanes(*conversion, args[0], result),
            V::Test(test) => self.row_test(*test, args, result),
            V::Unordered => self.unordered(args, result),
            V::Select => self.select(args, result),
            V::Low => self.narrow_row(args[0], result),
            V::ZeroExtend => self.extend(args[0], false, result),
            V::SignExtend => self.extend(args[0], true, result),
            V::RowOfMask => self.row_of_mask(args[0], result),
            _ => self.refuse(Refused::Unsound),
        }
    }
}

impl Avx512<'_, '_> {
    /// A scalar plus the lane's number times a factor.
    fn line(&mut self, base: Value, stride: i64, result: Option<Value>) {
        let Some(row) = result else { return };
        let wide = self.is_wide(row);
        let base = self.broadcast(base, wide);
        let list: Vec<VReg> = (0..self.parts(row))
            .map(|part| {
                let (op, line) = match wide {
                    true => (
                        Op::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64,
                        self.pool.line64(8 * part as u64, stride as u64),
                    ),
                    false => (
                        Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
                        self.pool.line32(16 * part as u32, stride as u32),
                    ),
                };
                self.f.v3(op, base, Mem::pool(line))
            })
            .collect();
        self.put_row(result, list);
    }

    /// An operation on lanes.
    fn lanes(&mut self, op: LaneOp, args: &[Value], result: Option<Value>) {
        let Some(row) = result else { return };
        let wide = self.is_wide(row);
        let list: Vec<VReg> =
            (0..self.distinct_parts(row)).map(|part| self.lanes_of(op, args, part, wide)).collect();
        self.put_row(result, list);
    }

    /// The first row where the mask is set, else the second.
    fn select(&mut self, args: &[Value], result: Option<Value>) {
        let Some(row) = result else { return };
        let wide = self.is_wide(row);
        let masks: Vec<VReg> = match wide {
            // Of a mask that is the same in all lanes, any part will do.
            true if !self.is_uniform(row) => self.quarters(args[0]).to_vec(),
            _ => self.m(args[0]).to_vec(),
        };
        let distinct = self.distinct_parts(row);
        if let Some(lanes) = self.masked_permutation(args[1]) {
            let halves = [0, 1].map(|half| self.v(args[2], half));
            let half = |half: usize| self.permute_half(&lanes, half, halves, masks[half]);
            let list: Vec<VReg> = (0..distinct).map(half).collect();
            return self.put_row(result, list);
        }
        if let Some((op, operands)) = self.masked_operation(args[1]) {
            let parts = masks.into_iter().take(distinct).enumerate();
            let list: Vec<VReg> = parts
                .map(|(part, mask)| {
                    let old = (self.known(args[2]) != Some(0)).then(|| self.v(args[2], part));
                    self.under = Some((mask, old));
                    self.lanes_of(op, &operands, part, wide)
                })
                .collect();
            return self.put_row(result, list);
        }
        let blend = match wide {
            true => Op::EVEX_Vpblendmq_zmm_k1z_zmm_zmmm512b64,
            false => Op::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32,
        };
        let list: Vec<VReg> = masks
            .into_iter()
            .take(distinct)
            .enumerate()
            .map(|(part, mask)| {
                if self.known(args[2]) == Some(0) {
                    let a = self.v(args[1], part);
                    let op = if wide { MOVE64 } else { MOVE32 };
                    return self.f.zero(mask).v2(op, a);
                }
                let b = self.v(args[2], part);
                let a = self.operand(args[1], part);
                self.f.masked(mask).v3(blend, b, a)
            })
            .collect();
        self.put_row(result, list);
    }

    /// Half of a row permuted under a mask: other lanes keep what they have.
    fn permute_half(
        &mut self,
        lanes: &[u32; 32],
        half: usize,
        halves: [VReg; 2],
        mask: VReg,
    ) -> VReg {
        const PERMUTE: Op = Op::EVEX_Vpermt2d_zmm_k1z_zmm_zmmm512b32;
        // The half's own lanes are the first ones.
        let of_half = &lanes[16 * half..16 * (half + 1)];
        let from: Vec<u32> = of_half.iter().map(|lane| lane ^ (16 * half as u32)).collect();
        if (0..16).eq(from.iter().copied()) {
            return halves[half];
        }
        let word = |i: usize| u64::from(from[2 * i]) | u64::from(from[2 * i + 1]) << 32;
        let vector = self.pool.vector(std::array::from_fn(word));
        let index = self.f.v2(MOVE32, Mem::pool(vector));
        self.f.masked(mask).v4(PERMUTE, halves[half], index, halves[1 - half])
    }

    /// The low words of 64-bit lanes.
    fn narrow_row(&mut self, row: Value, result: Option<Value>) {
        if let Some(bits) = self.known(row) {
            return self.put(result, Place::Const(bits & 0xffff_ffff));
        }
        self.narrow(row, result, |this, part| {
            this.f.def(Op::EVEX_Vpmovqd_ymmm256_k1z_zmm, View::Y, (part,))
        });
    }

    /// 32-bit lanes widened to 64 bits.
    fn extend(&mut self, row: Value, signed: bool, result: Option<Value>) {
        if let Some(bits) = self.known(row) {
            let bits = if signed { i64::from(bits as i32) as u64 } else { bits };
            return self.put(result, Place::Const(bits));
        }
        let op = match signed {
            true => Op::EVEX_Vpmovsxdq_zmm_k1z_ymmm256,
            false => Op::EVEX_Vpmovzxdq_zmm_k1z_ymmm256,
        };
        self.widen(row, result, |this, half| this.f.v2(op, half.y()));
    }
}
