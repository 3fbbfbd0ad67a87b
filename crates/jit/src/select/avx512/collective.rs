//! Operations on the lanes of a warp together.

use super::Avx512;
use crate::select::level::{Collectives, Rows};
use crate::vcode::{Mem, Part, VReg, View};
use iced_x86::Code as Op;
use vector::{LaneOp, Value};

const PERMUTE: Op = Op::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32;

impl Collectives for Avx512<'_, '_> {
    fn lane_const(&mut self, lanes: &[u32; 32], result: Option<Value>) {
        let halves = [0, 1].map(|half| {
            let word = |i: usize| {
                let lane = |i: usize| u64::from(lanes[16 * half + i]);
                lane(2 * i) | lane(2 * i + 1) << 32
            };
            let vector = self.pool.vector(std::array::from_fn(word));
            self.f.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, Mem::pool(vector))
        });
        self.put_row(result, halves);
    }

    fn permute(&mut self, args: &[Value], result: Option<Value>) {
        let Some(row) = result else { return };
        let list: Vec<VReg> = (0..self.distinct_parts(row))
            .map(|part| {
                let index = self.v(args[1], part);
                let (low, high) = (self.v(args[0], 0), self.v(args[0], 1));
                self.f.v4(PERMUTE, index, low, high)
            })
            .collect();
        self.put_row(result, list);
    }

    fn reduce(&mut self, op: LaneOp, row: Value, result: Option<Value>) {
        let [low, high] = [0, 1].map(|half| self.v(row, half));
        let mut value = self.two_vectors(op, low, high);
        for rotation in [0x4e, 0xb1] {
            let quarters = Op::EVEX_Vshufi32x4_zmm_k1z_zmm_zmmm512b32_imm8;
            let other = self.f.v3i(quarters, value, value, rotation);
            value = self.two_vectors(op, value, other);
        }
        for rotation in [0x4e, 0xb1] {
            let words = Op::EVEX_Vpshufd_zmm_k1z_zmmm512b32_imm8;
            let other = self.f.v2i(words, value, rotation);
            value = self.two_vectors(op, value, other);
        }
        let scalar = self.f.def(Op::EVEX_Vmovd_rm32_xmm, View::R32, (value.x(),));
        self.put_scalar(result, scalar);
    }

    /// A loop over the distinct values: those of the lowest lane that is left, and the lanes that
    /// have them.
    fn match_lanes(&mut self, args: &[Value], result: Option<Value>) {
        const EQUAL: Op = Op::EVEX_Vpcmpeqd_kr_k1_zmm_zmmm512b32;
        let (lanes, rows) = (args[0], &args[1..]);
        let on = self.m(lanes);
        let all = self.mask_bits(lanes);
        let rows: Vec<[VReg; 2]> =
            rows.iter().map(|&row| [0, 1].map(|half| self.v(row, half))).collect();
        let zero = self.row_const(0, false);
        let head = self.f.block(&[View::R64, View::V, View::V]);
        let done = self.f.block(&[View::V, View::V]);
        self.f.jump((head, &[all, zero, zero]));
        self.f.begin(head);
        let [left, low, high] = [0, 1, 2].map(|i| self.f.param(head, i));
        let lane = self.f.int(Op::Tzcnt_r32_rm32, View::R32, (left,));
        let index = self.f.v2(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, lane.d());
        let mut same = on;
        for row in rows {
            let value = self.f.v4(PERMUTE, index, row[0], row[1]);
            same = [0, 1].map(|half| self.f.masked(same[half]).test(EQUAL, row[half], value));
        }
        let both = self.f.k3(Op::VEX_Kunpckwd_kr_kr_kr, same[1], same[0]);
        let bits = self.f.def(Op::VEX_Kmovd_r32_kr, View::R32, (both,));
        let list = [low, high];
        let [low, high] = [0, 1].map(|half| {
            let splat = self.f.merge(same[half], list[half]);
            splat.v2(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, bits.d())
        });
        // The value's own lane at least, so that the loop ends.
        let rest = Op::VEX_Andn_r32_r32_rm32;
        let left = self.f.def(rest, View::R32, (bits.d(), left.d()));
        let test = (Op::Test_rm32_r32, View::R32);
        let (again, end) = ((head, &[left, low, high][..]), (done, &[low, high][..]));
        self.f.branch(test, (left, left), Op::Jne_rel32_64, again, end);
        self.f.begin(done);
        let halves = [0, 1].map(|half| self.f.param(done, half));
        self.put_row(result, halves);
    }
}
