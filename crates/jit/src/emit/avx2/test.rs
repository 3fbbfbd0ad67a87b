//! Comparisons of chunks: masks of all bits by 32-bit lanes, or their negations.

use super::chunk::Chunk;
use crate::asm::V;
use crate::emit::predicate::float_relation;
use fast::code::Src;
use fast::ops::{Rel, Test};
use iced_x86::{Code as Op, Register};

impl Chunk<'_, '_> {
    /// Where a comparison holds, or where it does not: the second says which.
    pub(super) fn compare(&mut self, test: Test, wide: bool, src: &[Src; 3]) -> (Register, bool) {
        match test {
            Test::F(cmp) => {
                let (a, b) = (self.nz(src[0]), self.n(src[1]));
                let to = self.temp();
                let number = float_relation(cmp).unwrap_or(0);
                self.e.asm.v3i(Op::VEX_Vcmpps_ymm_ymm_ymmm256_imm8, to, a, b, number, None);
                (to, false)
            }
            Test::U(rel) | Test::S(rel) => {
                let unsigned = matches!(test, Test::U(_));
                if wide {
                    self.compare_wide(rel, unsigned, src)
                } else {
                    self.compare_narrow(rel, unsigned, src)
                }
            }
        }
    }

    fn compare_narrow(&mut self, rel: Rel, unsigned: bool, src: &[Src; 3]) -> (Register, bool) {
        let [a, b] = match rel {
            Rel::Lt | Rel::Ge if !unsigned => [src[1], src[0]],
            _ => [src[0], src[1]],
        };
        let (a, b) = (self.nz(a), self.n(b));
        let to = self.temp();
        let equal = Op::VEX_Vpcmpeqd_ymm_ymm_ymmm256;
        match (rel, unsigned) {
            (Rel::Eq | Rel::Ne, _) => self.e.asm.v3(equal, to, a, b, None),
            // Below or equal if it is the lesser of the two.
            (Rel::Le | Rel::Gt, true) => {
                self.e.asm.v3(Op::VEX_Vpminud_ymm_ymm_ymmm256, to, a, b, None);
                self.vvv(equal, to, to, a);
            }
            (Rel::Ge | Rel::Lt, true) => {
                self.e.asm.v3(Op::VEX_Vpmaxud_ymm_ymm_ymmm256, to, a, b, None);
                self.vvv(equal, to, to, a);
            }
            _ => self.e.asm.v3(Op::VEX_Vpcmpgtd_ymm_ymm_ymmm256, to, a, b, None),
        }
        let negated = match rel {
            Rel::Eq => false,
            Rel::Ne => true,
            Rel::Gt | Rel::Lt => unsigned,
            Rel::Le | Rel::Ge => !unsigned,
        };
        (to, negated)
    }

    fn compare_wide(&mut self, rel: Rel, unsigned: bool, src: &[Src; 3]) -> (Register, bool) {
        let turned = matches!(rel, Rel::Lt | Rel::Ge);
        let [a, b] = if turned { [src[1], src[0]] } else { [src[0], src[1]] };
        let [low, high] = [0, 1].map(|half| {
            let (a, b) = (self.wz(a, half), self.wz(b, half));
            let to = self.temp();
            if matches!(rel, Rel::Eq | Rel::Ne) {
                self.vvv(Op::VEX_Vpcmpeqq_ymm_ymm_ymmm256, to, a, b);
            } else {
                self.greater(to, a, b, unsigned);
            }
            to
        });
        self.narrowed(low, low, V::Z(high));
        (low, matches!(rel, Rel::Ne | Rel::Le | Rel::Ge))
    }
}
