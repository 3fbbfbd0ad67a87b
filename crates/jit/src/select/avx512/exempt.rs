//! Whether rows of addresses lie in bytes whose accesses are not logged: see
//! [`crate::screen_log::ExemptCell`].

use super::Avx512;
use crate::frame::Frame;
use crate::screen_log::ExemptCell;
use crate::vcode::{Mem, Part, Pseudo, VReg, View};
use iced_x86::Code as Op;
use vector::{Access, Scale, Value};

use View::{K, R64, V};

/// The relation of unsigned comparisons: not less than.
const NOT_LESS: i32 = 5;

/// Registers of a comparison.
struct Registers {
    flag: VReg,
    /// The address of all cells.
    cells: VReg,
    low: VReg,
    /// The lowest address in all lanes, and distances from there.
    lows: VReg,
    at: VReg,
    /// Lanes that are not exempt, of all and of a part of the row.
    all: VReg,
    part: VReg,
}

impl Registers {
    fn new(p: &mut Pseudo<'_>) -> Self {
        Self {
            flag: p.output(R64),
            cells: p.temp(R64),
            low: p.temp(R64),
            lows: p.temp(V),
            at: p.temp(V),
            all: p.temp(K),
            part: p.temp(K),
        }
    }

    /// Sets the flag if a lane of the masks is not exempt.
    fn end(&self, p: &mut Pseudo<'_>) {
        p.op(Op::Mov_r32_imm32, (self.flag.d(), 0));
        p.op(Op::VEX_Kortestw_kr_kr, (self.all, self.part));
        p.op(Op::Setne_rm8, (self.flag.b(),));
    }
}

impl Avx512<'_, '_> {
    /// The same for 32-bit numbers in a window, modulo 2^32.
    pub(super) fn is_judged_window(&mut self, access: &Access, args: &[Value], cell: i64) -> VReg {
        let masks = self.m(args[0]);
        let numbers = self.numbers(access, args);
        let mut p = self.f.pseudo();
        let to = Registers::new(&mut p);
        p.op(Op::Mov_r64_rm64, (to.cells, Mem::frame(Frame::EXEMPT)));
        p.op(Op::Mov_r32_rm32, (to.low.d(), Mem::at(to.cells, cell + ExemptCell::LOW)));
        let mut shift = 0;
        if let Some((base, scale)) = numbers.indexed {
            p.op(Op::Sub_r32_rm32, (to.low.d(), base.d()));
            shift = i32::from(scale.shift);
        }
        p.op(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, (to.lows, to.low.d()));
        for (half, bad) in [to.all, to.part].into_iter().enumerate() {
            let mut row = numbers.rows[half];
            if shift > 0 {
                p.op(Op::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, (to.at, row, shift));
                row = to.at;
            }
            p.op(Op::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, (to.at, row, to.lows));
            let count = Mem::at(to.cells, cell + ExemptCell::COUNT).broadcast();
            let compare = Op::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
            p.masked(masks[half]).op(compare, (bad, to.at, count, NOT_LESS));
        }
        to.end(&mut p);
        let flag = to.flag;
        p.end();
        flag
    }

    /// The same for addresses of 64 bits.
    pub(super) fn is_judged_map(&mut self, access: &Access, args: &[Value], cell: i64) -> VReg {
        let quarters = self.quarters(args[0]);
        let offsets = self.numbers(access, args);
        let narrow = self.has_numbers(access, args);
        let mut p = self.f.pseudo();
        let to = Registers::new(&mut p);
        p.op(Op::Mov_r64_rm64, (to.cells, Mem::frame(Frame::EXEMPT)));
        p.op(Op::Mov_r64_rm64, (to.low, Mem::at(to.cells, cell + ExemptCell::LOW)));
        let mut scale = Scale { shift: 0, signed: false };
        if let Some((base, by)) = offsets.indexed {
            p.op(Op::Sub_r64_rm64, (to.low, base));
            scale = by;
        }
        p.op(Op::EVEX_Vpbroadcastq_zmm_k1z_r64, (to.lows, to.low));
        for (quarter, mask) in quarters.into_iter().enumerate() {
            let mut row = offsets.rows[if narrow { quarter / 2 } else { quarter }];
            if narrow {
                p.op(super::CODES.load, (to.at, row));
                super::widen_half(&mut p, to.at, quarter % 2 == 1, scale.signed);
                row = to.at;
            }
            if scale.shift > 0 {
                let shift = i32::from(scale.shift);
                p.op(Op::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8, (to.at, row, shift));
                row = to.at;
            }
            p.op(Op::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64, (to.at, row, to.lows));
            let count = Mem::at(to.cells, cell + ExemptCell::COUNT).broadcast();
            let compare = Op::EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8;
            let bad = if quarter == 0 { to.all } else { to.part };
            p.masked(mask).op(compare, (bad, to.at, count, NOT_LESS));
            if quarter > 0 {
                p.op(Op::VEX_Korw_kr_kr_kr, (to.all, to.all, to.part));
            }
        }
        to.end(&mut p);
        let flag = to.flag;
        p.end();
        flag
    }
}
