//! Float arithmetic. Roundings other than to the nearest are a mode of the processor, which is
//! switched around an operation.

use super::Avx2;
use crate::select::rows::rounding_bits;
use crate::vcode::{VReg, View};
use iced_x86::Code as Op;
use vector::{Arith, Rounding, Value};

fn code(arith: Arith, wide: bool) -> Op {
    match (arith, wide) {
        (Arith::Add, false) => Op::VEX_Vaddps_ymm_ymm_ymmm256,
        (Arith::Add, true) => Op::VEX_Vaddpd_ymm_ymm_ymmm256,
        (Arith::Sub, false) => Op::VEX_Vsubps_ymm_ymm_ymmm256,
        (Arith::Sub, true) => Op::VEX_Vsubpd_ymm_ymm_ymmm256,
        (Arith::Mul, false) => Op::VEX_Vmulps_ymm_ymm_ymmm256,
        (Arith::Mul, true) => Op::VEX_Vmulpd_ymm_ymm_ymmm256,
        (Arith::Div, false) => Op::VEX_Vdivps_ymm_ymm_ymmm256,
        (Arith::Div, true) => Op::VEX_Vdivpd_ymm_ymm_ymmm256,
        (Arith::Fma, false) => Op::VEX_Vfmadd213ps_ymm_ymm_ymmm256,
        (Arith::Fma, true) => Op::VEX_Vfmadd213pd_ymm_ymm_ymmm256,
        (Arith::Sqrt, false) => Op::VEX_Vsqrtps_ymm_ymmm256,
        (Arith::Sqrt, true) => Op::VEX_Vsqrtpd_ymm_ymmm256,
    }
}

/// The processor's control word: all exceptions masked, and a rounding.
pub(super) fn control(rounding: Rounding) -> u64 {
    0x1f80 | (rounding_bits(rounding) as u64) << 13
}

impl Avx2<'_, '_> {
    pub(super) fn float(
        &mut self,
        arith: Arith,
        rounding: Rounding,
        args: &[Value],
        part: usize,
        wide: bool,
    ) -> VReg {
        let op = code(arith, wide);
        if rounding != Rounding::Nearest {
            let args: Vec<VReg> = args.iter().map(|&arg| self.v(arg, part)).collect();
            return self.under(rounding, op, View::V, &args);
        }
        match *args {
            [a] => {
                let a = self.v(a, part);
                self.f.v2(op, a)
            }
            [a, b] => {
                let commutes = matches!(arith, Arith::Add | Arith::Mul);
                let (a, b) = if commutes { self.commuted(a, b) } else { (a, b) };
                let a = self.v(a, part);
                let b = self.operand(b, part);
                self.f.v3(op, a, b)
            }
            [a, b, c] => self.multiply_add(a, b, c, part, wide),
            _ => self.lacking(&arith),
        }
    }

    /// A product and a sum, in the register of an operand that is not read again.
    fn multiply_add(&mut self, a: Value, b: Value, c: Value, part: usize, wide: bool) -> VReg {
        let last = |this: &Self, value: Value| {
            this.known(value).is_none() && this.uses[value.index()] == 1
        };
        let (a, b) = self.commuted(a, b);
        if last(self, c) && !last(self, a) {
            let op = match wide {
                true => Op::VEX_Vfmadd231pd_ymm_ymm_ymmm256,
                false => Op::VEX_Vfmadd231ps_ymm_ymm_ymmm256,
            };
            let (c, a) = (self.v(c, part), self.v(a, part));
            let b = self.operand(b, part);
            return self.f.v4(op, c, a, b);
        }
        let (a, b) = (self.v(a, part), self.v(b, part));
        let c = self.operand(c, part);
        self.f.v4(code(Arith::Fma, wide), a, b, c)
    }
}
