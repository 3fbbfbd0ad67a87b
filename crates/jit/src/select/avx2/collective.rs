//! Operations on the lanes of a warp together.

use super::Avx2;
use crate::Refused;
use crate::frame::Frame;
use crate::select::level::{Collectives, Rows};
use crate::vcode::{Mem, Part, VReg, View};
use iced_x86::Code as Op;
use vector::{LaneOp, Value};

const PERMUTE: Op = Op::VEX_Vpermd_ymm_ymm_ymmm256;
const LOAD: Op = Op::VEX_Vmovdqu_ymm_ymmm256;

impl Collectives for Avx2<'_, '_> {
    fn lane_const(&mut self, lanes: &[u32; 32], result: Option<Value>) {
        let list: Vec<VReg> = (0..4)
            .map(|quarter| {
                let from = self.words_of(|lane| lanes[8 * quarter + lane]);
                self.f.v2(LOAD, from)
            })
            .collect();
        self.put_row(result, list);
    }

    fn permute(&mut self, args: &[Value], result: Option<Value>) {
        let Some(row) = result else { return };
        let distinct = self.distinct_parts(row);
        let constant = self.defined[args[1].index()].map(|inst| &self.source.inst(inst).op);
        let list: Vec<VReg> = match constant {
            Some(vector::Op::LaneConst(lanes)) => (0..distinct)
                .map(|quarter| {
                    let lanes: [u32; 8] = std::array::from_fn(|i| lanes[8 * quarter + i] % 32);
                    self.permuted_by(args[0], lanes)
                })
                .collect(),
            _ => (0..distinct)
                .map(|quarter| {
                    let index = self.v(args[1], quarter);
                    self.permuted(args[0], index)
                })
                .collect(),
        };
        let list: Vec<VReg> = (0..4).map(|quarter| list[quarter % distinct]).collect();
        self.put_row(result, list);
    }

    fn reduce(&mut self, op: LaneOp, row: Value, result: Option<Value>) {
        let Some(two) = super::integers::binary(op, false) else {
            self.refuse(Refused::Form(format!("{op:?} of two vectors has no pattern")));
            return;
        };
        let [a, b, c, d] = [0, 1, 2, 3].map(|quarter| self.v(row, quarter));
        let (low, high) = (self.f.v3(two, a, b), self.f.v3(two, c, d));
        let mut value = self.f.v3(two, low, high);
        let other = self.f.v2i(Op::VEX_Vpermq_ymm_ymmm256_imm8, value, 0x4e);
        value = self.f.v3(two, value, other);
        for rotation in [0x4e, 0xb1] {
            let other = self.f.v2i(Op::VEX_Vpshufd_ymm_ymmm256_imm8, value, rotation);
            value = self.f.v3(two, value, other);
        }
        let scalar = self.f.def(Op::VEX_Vmovd_rm32_xmm, View::R32, (value.x(),));
        self.put_scalar(result, scalar);
    }

    /// A loop over the distinct values: those of the lowest lane that is left, and the lanes that
    /// have them.
    fn match_lanes(&mut self, args: &[Value], result: Option<Value>) {
        const EQUAL: Op = Op::VEX_Vpcmpeqd_ymm_ymm_ymmm256;
        let room = |row: usize| Mem::frame(Frame::LANE_ROOM + 128 * row as i64);
        let all = self.mask_bits(args[0]);
        let rows: Vec<[VReg; 4]> =
            args[1..].iter().map(|&row| [0, 1, 2, 3].map(|quarter| self.v(row, quarter))).collect();
        for (number, row) in rows.iter().enumerate() {
            for (quarter, &words) in row.iter().enumerate() {
                let to = room(number).offset(32 * quarter as i64);
                self.f.store(Op::VEX_Vmovdqu_ymmm256_ymm, to, words);
            }
        }
        let zero = self.row_const(0, false);
        let head = self.f.block(&[View::R64, View::V, View::V, View::V, View::V]);
        let done = self.f.block(&[View::V; 4]);
        self.f.jump((head, &[all, zero, zero, zero, zero]));
        self.f.begin(head);
        let left = self.f.param(head, 0);
        let lane = self.f.int(Op::Tzcnt_r32_rm32, View::R32, (left,));
        let values: Vec<VReg> = (0..rows.len())
            .map(|row| self.f.v2(Op::VEX_Vpbroadcastd_ymm_xmmm32, room(row).index(lane, 4)))
            .collect();
        let same = [0, 1, 2, 3].map(|quarter| {
            let mut same = None;
            for (row, &value) in rows.iter().zip(&values) {
                let equal = self.f.v3(EQUAL, value, row[quarter]);
                same = Some(match same {
                    Some(same) => self.f.v3(Op::VEX_Vpand_ymm_ymm_ymmm256, same, equal),
                    None => equal,
                });
            }
            same.unwrap_or(zero)
        });
        let mut bits = all;
        for (quarter, same) in same.iter().enumerate().rev() {
            let more = self.f.def(Op::VEX_Vmovmskps_r32_ymm, View::R32, (same.y(),));
            bits = if quarter == 3 {
                more
            } else {
                let upper = self.f.alu(Op::Shl_rm32_imm8, View::R32, bits, (8,));
                self.f.alu(Op::Or_r32_rm32, View::R32, upper, (more,))
            };
        }
        let bits = self.f.alu(Op::And_r32_rm32, View::R32, bits, (all,));
        let splat = self.spread(bits);
        let list = [0, 1, 2, 3].map(|quarter| {
            let old = self.f.param(head, 1 + quarter);
            self.blend(old, splat, same[quarter], false)
        });
        // The value's own lane at least, so that the loop ends.
        let rest = Op::VEX_Andn_r32_r32_rm32;
        let left = self.f.def(rest, View::R32, (bits.d(), left.d()));
        let test = (Op::Test_rm32_r32, View::R32);
        let again: Vec<VReg> = std::iter::once(left).chain(list).collect();
        self.f.branch(test, (left, left), Op::Jne_rel32_64, (head, &again), (done, &list));
        self.f.begin(done);
        let list = [0, 1, 2, 3].map(|quarter| self.f.param(done, quarter));
        self.put_row(result, list);
    }
}

impl Avx2<'_, '_> {
    /// A constant vector of 32-bit words.
    fn words_of(&mut self, word: impl Fn(usize) -> u32) -> Mem {
        let pair = |i: usize| match i {
            0..4 => u64::from(word(2 * i)) | u64::from(word(2 * i + 1)) << 32,
            _ => 0,
        };
        Mem::pool(self.pool.vector(std::array::from_fn(pair)))
    }

    /// Words of a row by their lanes' numbers.
    fn permuted(&mut self, row: Value, index: VReg) -> VReg {
        let quarters = [0, 1, 2, 3].map(|quarter| {
            let words = self.v(row, quarter);
            self.f.v3(PERMUTE, index, words)
        });
        // The bits of the quarter's number, as signs.
        let shift = Op::VEX_Vpslld_ymm_ymm_imm8;
        let (low, high) = (self.f.v2i(shift, index, 28), self.f.v2i(shift, index, 27));
        let first = self.blend(quarters[0], quarters[1], low, false);
        let second = self.blend(quarters[2], quarters[3], low, false);
        self.blend(first, second, high, false)
    }

    /// Words of a row by constant numbers of lanes.
    fn permuted_by(&mut self, row: Value, lanes: [u32; 8]) -> VReg {
        let mut result: Option<VReg> = None;
        for quarter in 0..4 {
            let of_quarter = |i: usize| lanes[i] / 8 == quarter;
            let here = (0..8).filter(|&i| of_quarter(i)).fold(0, |bits, i| bits | 1 << i);
            if here == 0 {
                continue;
            }
            let words = self.v(row, quarter as usize);
            let in_place = (0..8).all(|i| !of_quarter(i) || lanes[i] % 8 == i as u32);
            let moved = if in_place {
                words
            } else {
                let index = self.words_of(|i| lanes[i] % 8);
                let index = self.f.v2(LOAD, index);
                self.f.v3(PERMUTE, index, words)
            };
            result = Some(match result {
                None => moved,
                Some(other) => {
                    let blend = Op::VEX_Vpblendd_ymm_ymm_ymmm256_imm8;
                    self.f.v3i(blend, other, moved, here)
                }
            });
        }
        match result {
            Some(result) => result,
            None => self.row_const(0, false),
        }
    }
}
