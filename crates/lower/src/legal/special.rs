//! Special registers from the dimensions of the launch.

use super::build::word;
use super::launch::{Stage, Value};
use super::words::missing;
use crate::Missing;
use ir::{Inst, Op, Operand, Reg, RegTy, Sreg, Ty};

impl Stage<'_> {
    pub(super) fn special(&mut self, inst: &Inst) -> Result<(), Missing> {
        let Some(&Operand::Sreg(sreg)) = inst.operands.first() else {
            return Err(missing(inst, "such special register"));
        };
        let Some(value) = self.special_value(sreg) else {
            return Err(missing(inst, &format!("special register `{}`", sreg.name())));
        };
        let result = inst.results.first().copied().flatten();
        let held = match result {
            Some(Reg::Lane(reg)) => self.builder.function.regs[reg.index()].ty,
            _ => RegTy::B32,
        };
        let mut to = match held {
            RegTy::B64 => Inst::new(Op::Cvt).ty(Ty::U64),
            RegTy::B16 => Inst::new(Op::Cvt).ty(Ty::U16),
            _ => Inst::new(Op::Mov).ty(Ty::B32),
        };
        to.ty2 = (to.op == Op::Cvt).then_some(Ty::U32);
        to = to.operand(value);
        to.results.push(result);
        self.builder.emit(to);
        Ok(())
    }

    fn special_value(&mut self, sreg: Sreg) -> Option<Operand> {
        let (block, grid) = (self.launch.block, self.launch.grid);
        Some(match sreg {
            Sreg::TidX => self.coordinate(Sreg::TidX, block, 0),
            Sreg::TidY => self.coordinate(Sreg::TidX, block, 1),
            Sreg::TidZ => self.coordinate(Sreg::TidX, block, 2),
            Sreg::CtaidX => self.coordinate(Sreg::CtaidX, grid, 0),
            Sreg::CtaidY => self.coordinate(Sreg::CtaidX, grid, 1),
            Sreg::CtaidZ => self.coordinate(Sreg::CtaidX, grid, 2),
            Sreg::NtidX => word(block[0]),
            Sreg::NtidY => word(block[1]),
            Sreg::NtidZ => word(block[2]),
            Sreg::NctaidX => word(grid[0]),
            Sreg::NctaidY => word(grid[1]),
            Sreg::NctaidZ => word(grid[2]),
            Sreg::NWarpId => word(self.launch.warps()),
            Sreg::DynamicSmemSize => word(self.launch.shared),
            Sreg::LaneId => self.begin_with(Value::Lane),
            Sreg::WarpId => {
                let thread = self.begin_with(Value::Thread);
                self.builder.shr(thread, word(5))
            }
            Sreg::LaneMaskEq
            | Sreg::LaneMaskLe
            | Sreg::LaneMaskLt
            | Sreg::LaneMaskGe
            | Sreg::LaneMaskGt => self.lane_mask(sreg),
            _ => return None,
        })
    }

    /// One coordinate of a number that counts all of them, x fastest.
    fn coordinate(&mut self, number: Sreg, sizes: [u32; 3], index: usize) -> Operand {
        if sizes[index] == 1 {
            return word(0);
        }
        let mut value = match number {
            Sreg::TidX => self.begin_with(Value::Thread),
            other => self.builder.op(Op::Sreg, Ty::U32, &[Operand::Sreg(other)]),
        };
        let below: u32 = sizes[..index].iter().product();
        if below > 1 {
            value = self.divided(value, below, Op::Div);
        }
        if sizes[index + 1..].iter().any(|&size| size > 1) {
            value = self.divided(value, sizes[index], Op::Rem);
        }
        value
    }

    fn divided(&mut self, value: Operand, by: u32, op: Op) -> Operand {
        match (by.is_power_of_two(), op) {
            (true, Op::Div) => self.builder.shr(value, word(by.trailing_zeros())),
            (true, _) => self.builder.and(value, word(by - 1)),
            // Numbers of threads and blocks are not negative.
            _ => self.builder.op(op, Ty::S32, &[value, word(by)]),
        }
    }

    fn lane_mask(&mut self, sreg: Sreg) -> Operand {
        let lane = self.begin_with(Value::Lane);
        let own = self.builder.shl(word(1), lane);
        match sreg {
            Sreg::LaneMaskEq => own,
            Sreg::LaneMaskLt => self.builder.sub(own, word(1)),
            Sreg::LaneMaskGe => self.builder.sub(word(0), own),
            Sreg::LaneMaskLe => {
                let below = self.builder.sub(own, word(1));
                self.builder.or(below, own)
            }
            _ => {
                let from = self.builder.sub(word(0), own);
                self.builder.xor(from, own)
            }
        }
    }
}
