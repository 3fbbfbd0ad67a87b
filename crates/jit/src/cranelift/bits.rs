//! Operations on the bits and bytes of lanes.

use super::scalars::Shift;
use super::values::lanes_type;
use super::{Lowering, Val};
use cranelift_codegen::ir::{InstBuilder, types};

impl Lowering<'_> {
    /// A function of three bits by its truth table: one of the last two where the first is 0,
    /// changed by another where it is not.
    pub(super) fn table(&mut self, table: u8, [a, b, c]: [Val; 3], wide: bool) -> Val {
        let if_not = self.table_of_two(table & 0xf, b, c, wide);
        let if_so = self.table_of_two(table >> 4, b, c, wide);
        if if_not == if_so {
            return if_not;
        }
        self.b.ins().bitselect(a, if_so, if_not)
    }

    /// A function of two bits by its truth table, of which bit `2 * a + b` is the result.
    fn table_of_two(&mut self, table: u8, a: Val, b: Val, wide: bool) -> Val {
        match table {
            0b0000 => self.row_const(0, wide),
            0b1111 => self.row_const(u64::MAX, wide),
            0b1100 => a,
            0b1010 => b,
            0b1000 => self.b.ins().band(a, b),
            0b1110 => self.b.ins().bor(a, b),
            0b0110 => self.b.ins().bxor(a, b),
            0b0010 => {
                let not = self.b.ins().bnot(a);
                self.b.ins().band(b, not)
            }
            0b0100 => {
                let not = self.b.ins().bnot(b);
                self.b.ins().band(a, not)
            }
            other => {
                let complement = self.table_of_two(!other & 0xf, a, b, wide);
                self.b.ins().bnot(complement)
            }
        }
    }

    /// Bits that are set: those of bytes, then summed.
    pub(super) fn population_of_lanes(&mut self, a: Val, wide: bool) -> Val {
        let bytes = self.cast(types::I8X16, a);
        let bytes = self.b.ins().popcnt(bytes);
        let mut sum = self.cast(lanes_type(wide), bytes);
        for by in if wide { &[8, 16, 32][..] } else { &[8, 16] } {
            let moved = self.shifted_by(Shift::Right, sum, *by, wide);
            sum = self.b.ins().iadd(sum, moved);
        }
        let byte = self.row_const(0xff, wide);
        self.b.ins().band(sum, byte)
    }

    /// Leading zeros: the complement of those below the highest bit that is set.
    pub(super) fn leading_zeros(&mut self, a: Val, wide: bool) -> Val {
        let mut below = a;
        for by in if wide { &[1, 2, 4, 8, 16, 32][..] } else { &[1, 2, 4, 8, 16] } {
            let moved = self.shifted_by(Shift::Right, below, *by, wide);
            below = self.b.ins().bor(below, moved);
        }
        let above = self.b.ins().bnot(below);
        self.population_of_lanes(above, wide)
    }

    /// Reverses the bits of each byte, then the bytes.
    pub(super) fn reversed(&mut self, a: Val, wide: bool) -> Val {
        let mut value = a;
        for (by, bits) in [(1, 0x5555_5555), (2, 0x3333_3333), (4, 0x0f0f_0f0f)] {
            let bits = self.row_const(bits << 32 | bits, wide);
            let low = self.b.ins().band(value, bits);
            let low = self.shifted_by(Shift::Left, low, by, wide);
            let high = self.shifted_by(Shift::Right, value, by, wide);
            let high = self.b.ins().band(high, bits);
            value = self.b.ins().bor(low, high);
        }
        let last = if wide { 7 } else { 3 };
        let order = self.byte_consts(|i| i as u8 ^ last);
        self.swizzled(value, order, wide)
    }

    fn swizzled(&mut self, a: Val, order: Val, wide: bool) -> Val {
        let bytes = self.cast(types::I8X16, a);
        let bytes = self.b.ins().swizzle(bytes, order);
        self.cast(lanes_type(wide), bytes)
    }

    /// Bytes of a lane by the numbers in the bytes of another; those from 128 on yield 0.
    pub(super) fn bytes(&mut self, a: Val, by: Val, wide: bool) -> Val {
        let bytes = if wide { 8 } else { 4 };
        let by = self.cast(types::I8X16, by);
        let kept = self.byte_consts(|_| 0x80 | (bytes as u8 - 1));
        let base = self.byte_consts(|i| (i - i % bytes) as u8);
        let index = self.b.ins().band(by, kept);
        let index = self.b.ins().bor(index, base);
        self.swizzled(a, index, wide)
    }
}
