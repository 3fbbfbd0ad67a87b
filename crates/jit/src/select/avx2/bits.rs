//! Operations on the bits and bytes of lanes.

use super::Avx2;
use crate::select::level::Rows;
use crate::vcode::{VReg, View};
use iced_x86::Code as Op;
use vector::Value;

const AND: Op = Op::VEX_Vpand_ymm_ymm_ymmm256;
const AND_NOT: Op = Op::VEX_Vpandn_ymm_ymm_ymmm256;
const OR: Op = Op::VEX_Vpor_ymm_ymm_ymmm256;
const XOR: Op = Op::VEX_Vpxor_ymm_ymm_ymmm256;
const SHUFFLE: Op = Op::VEX_Vpshufb_ymm_ymm_ymmm256;

impl Avx2<'_, '_> {
    /// A function of three bits by its truth table: one of the last two where the first is 0,
    /// changed by another where it is not.
    pub(super) fn table(&mut self, table: u8, args: [Value; 3], part: usize) -> VReg {
        let (if_not, if_so) = (table & 0xf, table >> 4);
        let [a, b, c] = args.map(|arg| self.v(arg, part));
        if if_so == 0 {
            let rest = self.table_of_two(if_not, b, c);
            return self.f.v3(AND_NOT, a, rest);
        }
        if if_so == 0xf {
            let rest = self.table_of_two(if_not, b, c);
            return self.f.v3(OR, a, rest);
        }
        let change = match if_so ^ if_not {
            0 => return self.table_of_two(if_not, b, c),
            0xf => a,
            other => {
                let change = self.table_of_two(other, b, c);
                self.f.v3(AND, change, a)
            }
        };
        if if_not == 0 {
            return change;
        }
        let rest = self.table_of_two(if_not, b, c);
        self.f.v3(XOR, rest, change)
    }

    /// A function of two bits by its truth table, of which bit `2 * a + b` is the result.
    fn table_of_two(&mut self, table: u8, a: VReg, b: VReg) -> VReg {
        match table {
            0b0000 => self.row_const(0, true),
            0b1111 => self.row_const(u64::MAX, true),
            0b1100 => a,
            0b1010 => b,
            0b1000 => self.f.v3(AND, a, b),
            0b1110 => self.f.v3(OR, a, b),
            0b0110 => self.f.v3(XOR, a, b),
            0b0010 => self.f.v3(AND_NOT, a, b),
            0b0100 => self.f.v3(AND_NOT, b, a),
            other => {
                let complement = self.table_of_two(!other & 0xf, a, b);
                let ones = self.constant(u64::MAX, true);
                self.f.v3(XOR, complement, ones)
            }
        }
    }

    /// A rotation to the left.
    pub(super) fn rotated(&mut self, a: Value, by: Value, part: usize, wide: bool) -> VReg {
        let width = if wide { 64 } else { 32 };
        if let Some(by) = self.known(by) {
            let (by, a) = ((by % width) as i32, self.v(a, part));
            if by == 0 {
                return a;
            }
            let (left, right) = match wide {
                true => (Op::VEX_Vpsllq_ymm_ymm_imm8, Op::VEX_Vpsrlq_ymm_ymm_imm8),
                false => (Op::VEX_Vpslld_ymm_ymm_imm8, Op::VEX_Vpsrld_ymm_ymm_imm8),
            };
            let high = self.f.v2i(left, a, by);
            let low = self.f.v2i(right, a, width as i32 - by);
            return self.f.v3(OR, high, low);
        }
        let (left, right, subtract) = match wide {
            true => (
                Op::VEX_Vpsllvq_ymm_ymm_ymmm256,
                Op::VEX_Vpsrlvq_ymm_ymm_ymmm256,
                Op::VEX_Vpsubq_ymm_ymm_ymmm256,
            ),
            false => (
                Op::VEX_Vpsllvd_ymm_ymm_ymmm256,
                Op::VEX_Vpsrlvd_ymm_ymm_ymmm256,
                Op::VEX_Vpsubd_ymm_ymm_ymmm256,
            ),
        };
        let (a, by) = (self.v(a, part), self.v(by, part));
        let most = self.constant(width - 1, wide);
        let by = self.f.v3(AND, by, most);
        let high = self.f.v3(left, a, by);
        // By the whole width, which yields 0, if the amount is 0.
        let whole = self.row_const(width, wide);
        let rest = self.f.v3(subtract, whole, by);
        let low = self.f.v3(right, a, rest);
        self.f.v3(OR, high, low)
    }

    /// The low halves of the words of a vector, side by side in 16 bytes.
    pub(super) fn low_halves(&mut self, a: VReg) -> VReg {
        let order = [0, 1, 4, 5, 8, 9, 12, 13];
        let order = self.sixteen(|i| order.get(i).copied().unwrap_or(0x80));
        let halves = self.f.v3(SHUFFLE, a, order);
        self.f.def(Op::VEX_Vpermq_ymm_ymmm256_imm8, View::V, (halves, 0x08))
    }
}
