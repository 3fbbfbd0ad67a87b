//! Conversions between lanes of 32 and of 64 bits.

use super::values::{lanes_type, parts};
use super::{Lowering, Val, Vals};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, types};
use vector::{Conversion, Rounding, Value};

const TWO_31: f64 = 2_147_483_648.;
const TWO_32: f64 = 4_294_967_296.;

impl Lowering<'_> {
    pub(super) fn convert(&mut self, conversion: Conversion, row: Value, result: Option<Value>) {
        use Conversion as C;
        match conversion {
            C::DoubleOfSingle | C::DoubleOfS | C::DoubleOfU => {
                self.each_part(&[row], result, |this, part| this.doubles(conversion, row, part));
            }
            C::SingleOfDouble(rounding) | C::SingleOfS(rounding) | C::SingleOfU(rounding)
                if rounding != Rounding::Nearest =>
            {
                self.rare_conversion(conversion, row, result);
            }
            C::SingleOfDouble(_) => self.each_part(&[row], result, |this, part| {
                let [a, b] = [0, 1].map(|i| this.floats(row, 2 * part + i));
                let [a, b] = [a, b].map(|v| {
                    let low = this.b.ins().fvdemote(v);
                    this.cast(types::I32X4, low)
                });
                this.shuffled(a, b, [0, 1, 4, 5])
            }),
            C::SingleOfS(_) | C::SingleOfU(_) => {
                let signed = matches!(conversion, C::SingleOfS(_));
                self.each_lane(row, result, |this, lane| match signed {
                    true => this.b.ins().fcvt_from_sint(types::F32, lane),
                    false => this.b.ins().fcvt_from_uint(types::F32, lane),
                });
            }
            C::SignedOfDouble => self.words_of_doubles(true, row, result),
            C::UnsignedOfDouble => self.words_of_doubles(false, row, result),
        }
    }

    /// Two doubles of a half of a vector of words.
    fn doubles(&mut self, conversion: Conversion, row: Value, part: usize) -> Val {
        let words = self.v(row, part / 2);
        let upper = part % 2 == 1;
        match conversion {
            Conversion::DoubleOfSingle => {
                let low = match upper {
                    true => self.shuffled(words, words, [2, 3, 2, 3]),
                    false => words,
                };
                let low = self.cast(types::F32X4, low);
                self.b.ins().fvpromote_low(low)
            }
            Conversion::DoubleOfS => {
                let low = match upper {
                    true => self.shuffled(words, words, [2, 3, 2, 3]),
                    false => words,
                };
                let longs = self.half_widened(low, false, true);
                self.b.ins().fcvt_from_sint(types::F64X2, longs)
            }
            _ => {
                let longs = self.half_widened(words, upper, false);
                self.b.ins().fcvt_from_uint(types::F64X2, longs)
            }
        }
    }

    /// Computes 32-bit lanes of 64-bit lanes one by one.
    fn each_lane(
        &mut self,
        row: Value,
        result: Option<Value>,
        mut f: impl FnMut(&mut Self, Val) -> Val,
    ) {
        self.each_part(&[row], result, |this, part| {
            let lanes: Vals = (0..4)
                .map(|lane| {
                    let pair = this.v(row, 2 * part + lane / 2);
                    let lane = this.b.ins().extractlane(pair, (lane % 2) as u8);
                    let value = f(this, lane);
                    this.cast(types::I32, value)
                })
                .collect();
            this.gathered(&lanes)
        });
    }

    /// Four words as a vector.
    pub(super) fn gathered(&mut self, lanes: &[Val]) -> Val {
        let mut vector = self.b.ins().scalar_to_vector(types::I32X4, lanes[0]);
        for (i, &lane) in lanes.iter().enumerate().skip(1) {
            vector = self.b.ins().insertlane(vector, lane, i as u8);
        }
        vector
    }

    /// Doubles as words, rounded toward zero: the top bit alone if a signed one does not fit, all
    /// bits if an unsigned one does not.
    fn words_of_doubles(&mut self, signed: bool, row: Value, result: Option<Value>) {
        let (least, limit) = if signed { (-TWO_31, TWO_31) } else { (0., TWO_32) };
        let other = if signed { 1 << 31 } else { u64::MAX };
        self.each_part(&[row], result, |this, part| {
            let [a, b] = [0, 1].map(|i| {
                let a = this.floats(row, 2 * part + i);
                let a = this.b.ins().trunc(a);
                let value = this.long_integers(true, a);
                let least = this.float_const(least.to_bits(), true);
                let limit = this.float_const(limit.to_bits(), true);
                let above = this.b.ins().fcmp(FloatCC::GreaterThanOrEqual, a, least);
                let below = this.b.ins().fcmp(FloatCC::LessThan, a, limit);
                let fits = this.b.ins().band(above, below);
                let fits = this.cast(lanes_type(true), fits);
                let other = this.row_const(other, true);
                this.b.ins().bitselect(fits, value, other)
            });
            this.shuffled(a, b, [0, 2, 4, 6])
        });
    }

    /// Loads the lanes of a row that have been stored one by one.
    pub(super) fn load_room(&mut self, at: i64, wide: bool) -> Vals {
        let list = self.load_vectors(self.frame, crate::frame::Frame::LANE_ROOM + at, wide);
        debug_assert_eq!(list.len(), parts(wide));
        list
    }

    /// Stores a row for accesses by lane.
    pub(super) fn store_room(&mut self, list: &[Val], at: i64) {
        self.store_vectors(list, self.frame, crate::frame::Frame::LANE_ROOM + at);
    }
}
