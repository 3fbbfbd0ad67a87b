//! Rows: constants, lines, selections, widths of lanes.

use super::Avx2;
use super::masks::Lanes;
use crate::Refused;
use crate::select::level::Rows;
use crate::vcode::{Mem, Part, VReg, View};
use iced_x86::Code as Op;
use vector::{InstData, Value};

impl Rows for Avx2<'_, '_> {
    fn row_const(&mut self, bits: u64, wide: bool) -> VReg {
        if bits == 0 {
            return self.f.same(Op::VEX_Vpxor_ymm_ymm_ymmm256, View::V, 2);
        }
        let from = self.constant(bits, wide);
        self.f.v2(Op::VEX_Vmovdqa_ymm_ymmm256, from)
    }

    fn broadcast(&mut self, scalar: Value, wide: bool) -> VReg {
        let scalar = self.s(scalar);
        match wide {
            true => {
                let word = self.f.def(Op::VEX_Vmovq_xmm_rm64, View::X, (scalar,));
                self.f.v2(Op::VEX_Vpbroadcastq_ymm_xmmm64, word.x())
            }
            false => self.spread(scalar),
        }
    }

    /// Operations on rows wait, and are selected part by part: none comes here.
    fn operation(&mut self, _: &InstData) {
        self.refuse(Refused::Unsound);
    }
}

impl Avx2<'_, '_> {
    pub(super) fn part_of_line(&mut self, base: VReg, by: i64, part: usize, wide: bool) -> VReg {
        // A vector of the pool has twice as many lanes.
        let (pair, at) = (part / 2, 32 * (part as i64 % 2));
        let (op, line) = match wide {
            true => (Op::VEX_Vpaddq_ymm_ymm_ymmm256, self.pool.line64(8 * pair as u64, by as u64)),
            false => {
                (Op::VEX_Vpaddd_ymm_ymm_ymmm256, self.pool.line32(16 * pair as u32, by as u32))
            }
        };
        self.f.v3(op, base, Mem::pool(line + at))
    }

    pub(super) fn part_of_selection(&mut self, args: &[Value], part: usize, wide: bool) -> VReg {
        let Lanes { vector: mask, exact, inverted } = self.lanes_of(args[0], part, wide);
        let (yes, no) = if inverted { (args[2], args[1]) } else { (args[1], args[2]) };
        if exact && self.known(no) == Some(0) {
            let yes = self.operand(yes, part);
            return self.f.v3(Op::VEX_Vpand_ymm_ymm_ymmm256, mask, yes);
        }
        if exact && self.known(yes) == Some(0) {
            let no = self.operand(no, part);
            return self.f.v3(Op::VEX_Vpandn_ymm_ymm_ymmm256, mask, no);
        }
        let no = self.v(no, part);
        let yes = self.operand(yes, part);
        self.blend(no, yes, mask, wide)
    }

    /// The second operand where the sign of the mask is set, else the first.
    pub(super) fn blend(
        &mut self,
        no: VReg,
        yes: impl Into<crate::vcode::Source>,
        mask: VReg,
        wide: bool,
    ) -> VReg {
        let op = match wide {
            true => Op::VEX_Vblendvpd_ymm_ymm_ymmm256_ymm,
            false => Op::VEX_Vblendvps_ymm_ymm_ymmm256_ymm,
        };
        self.f.def(op, View::V, (no, yes.into(), mask))
    }

    pub(super) fn part_of_mask_row(&mut self, mask: Value, part: usize) -> VReg {
        let Lanes { vector, inverted, .. } = self.lanes_of(mask, part, false);
        let bit = self.f.v2i(Op::VEX_Vpsrld_ymm_ymm_imm8, vector, 31);
        if !inverted {
            return bit;
        }
        let one = self.constant(1, false);
        self.f.v3(Op::VEX_Vpxor_ymm_ymm_ymmm256, bit, one)
    }

    /// The low words of a quarter of 64-bit lanes.
    pub(super) fn low(&mut self, row: Value, quarter: usize) -> VReg {
        if let Some(bits) = self.known(row) {
            return self.row_const(bits & 0xffff_ffff, false);
        }
        let (low, high) = (self.v(row, 2 * quarter), self.v(row, 2 * quarter + 1));
        self.low_of(low, high)
    }

    /// The low words of two vectors of 64-bit lanes.
    pub(super) fn low_of(&mut self, low: VReg, high: VReg) -> VReg {
        let mixed = self.f.v3i(Op::VEX_Vshufps_ymm_ymm_ymmm256_imm8, low, high, 0x88);
        self.f.v2i(Op::VEX_Vpermq_ymm_ymmm256_imm8, mixed, 0xd8)
    }

    /// A quarter of the lanes widened.
    pub(super) fn extended(&mut self, row: Value, signed: bool, quarter: usize) -> [VReg; 2] {
        if let Some(bits) = self.known(row) {
            let bits = if signed { i64::from(bits as i32) as u64 } else { bits & 0xffff_ffff };
            let all = self.row_const(bits, true);
            return [all, all];
        }
        let op = match signed {
            true => Op::VEX_Vpmovsxdq_ymm_xmmm128,
            false => Op::VEX_Vpmovzxdq_ymm_xmmm128,
        };
        let words = self.v(row, quarter);
        let low = self.f.v2(op, words.x());
        let extract = Op::VEX_Vextracti128_xmmm128_ymm_imm8;
        let high = self.f.def(extract, View::X, (words.y(), 1));
        [low, self.f.v2(op, high.x())]
    }
}
