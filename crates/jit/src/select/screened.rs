//! Accesses of screened launches: code logs them for the host, see [`crate::screen_log`].

use super::Selector;
use crate::asm::{Asm, Label, at};
use crate::frame::Frame;
use crate::screen_log::{LogAddresses, LogChunk, LogSite};
use crate::vcode::{Mem, Part, VReg, View};
use fast::Level;
use fast::code::Judged;
use iced_x86::{Code as Op, Register};
use ir::mods::Space;
use smallvec::SmallVec;
use vector::{Access, Scale, Shape, Value};

use Register::{R11, RAX, RBP, RCX, RDI, RDX, RSI};

/// A row that is an address by itself.
const PLAIN: Scale = Scale { shift: 0, signed: false };

impl Selector<'_> {
    /// Logs an access in screened launches; otherwise this does nothing. The arguments are those of
    /// [`vector::Op::Load`].
    pub(super) fn log_access(&mut self, access: &Access, args: &[Value]) {
        let judged = match (self.code.screened, access.space) {
            (None | Some(Judged::Nothing), _) | (_, Space::Param | Space::Const) => false,
            (Some(Judged::Shared), space) => matches!(space, Space::Shared | Space::Generic),
            (Some(Judged::All), _) => true,
        };
        if !judged {
            return;
        }
        let bits = self.bits_of_lanes(args[0]);
        let (addresses, address, rows) = self.logged_addresses(access, args);
        let site = self.log_sites.len() as i32;
        self.log_sites.push(LogSite { step: access.step.step, addresses });
        let (codes, judge) = (self.codes, self.outside.judge);
        let mut p = self.f.pseudo();
        let [to, warp] = [(); 2].map(|()| p.temp(View::R64));
        let vector = p.temp(View::V);
        let [full, room] = [(); 2].map(|()| p.label());
        p.op(Op::Mov_r64_rm64, (to, Mem::frame(Frame::LOG)));
        p.op(Op::Mov_r64_rm64, (warp, Mem::frame(Frame::WARP)));
        p.op(Op::Mov_rm32_imm32, (Mem::at(to, LogChunk::SITE), site));
        p.op(Op::Mov_rm32_r32, (Mem::at(to, LogChunk::ON), bits.d()));
        p.op(Op::Mov_rm64_r64, (Mem::at(to, LogChunk::WARP), warp));
        match address {
            Some(address) => p.op(Op::Mov_rm64_r64, (Mem::at(to, LogChunk::ADDRESS), address)),
            None => p.op(Op::Mov_rm64_imm32, (Mem::at(to, LogChunk::ADDRESS), 0)),
        };
        for (part, &row) in rows.iter().enumerate() {
            let part = Mem::at(to, LogChunk::SIZE + codes.vector_bytes * part as i64);
            p.any(row);
            p.op(codes.load, (vector, row.any()));
            p.op(codes.store, (part, vector));
        }
        p.op(Op::Add_rm64_imm32, (to, LogChunk::SIZE as i32 * addresses.chunks() as i32));
        p.op(Op::Mov_rm64_r64, (Mem::frame(Frame::LOG), to));
        p.op(Op::Cmp_r64_rm64, (to, Mem::frame(Frame::LOG_END)));
        p.jump(Op::Jae_rel32_64, full);
        p.bind(room);
        p.out_of_line();
        p.bind(full);
        p.jump_out(Op::Call_rel32_64, judge);
        p.jump(Op::Jmp_rel32_64, room);
        p.end();
    }

    /// Returns how the addresses of an access are logged, the scalar, and the rows.
    fn logged_addresses(
        &mut self,
        access: &Access,
        args: &[Value],
    ) -> (LogAddresses, Option<VReg>, SmallVec<[VReg; 4]>) {
        let (scalar, row, scale) = match access.shape {
            Shape::One | Shape::Adjacent => {
                let stride = if access.shape == Shape::One { 0 } else { i64::from(access.word) };
                let address = self.s(args[1]);
                return (LogAddresses::Line(stride), Some(address), SmallVec::new());
            }
            Shape::Any => (None, args[1], PLAIN),
            Shape::Indexed(scale) => (Some(self.s(args[1])), args[2], scale),
        };
        let addresses = match self.is_wide(row) {
            true => LogAddresses::Wide(scale),
            false => LogAddresses::Narrow(scale),
        };
        (addresses, scalar, self.registers(row))
    }
}

/// Registers that the code which empties a log may change, beside those that it saves itself.
const SAVED: [Register; 5] = [RAX, RCX, RDX, RSI, RDI];

/// Emits the code that has the host judge the log. It preserves all registers.
pub(super) fn emit(asm: &mut Asm, judge: Label, level: Level) {
    let call = asm.label();
    asm.bind(judge);
    SAVED.into_iter().for_each(|register| asm.r(Op::Push_r64, register));
    asm.jump(Op::Call_rel32_64, call);
    SAVED.into_iter().rev().for_each(|register| asm.r(Op::Pop_r64, register));
    asm.op0(Op::Retnq);
    super::notes::host_call(asm, call, level, Frame::JUDGE);
}

/// Tells the host of a barrier that is completed: `esi` and `edx` are as in the code that releases
/// its warps, and are preserved together with `ecx`.
pub(super) fn completed(asm: &mut Asm) {
    // The stack is aligned after these and the return address.
    let kept = [RSI, RDX, RCX];
    kept.into_iter().for_each(|register| asm.r(Op::Push_r64, register));
    asm.rr(Op::Mov_r64_rm64, RDI, RBP);
    asm.op0(Op::VEX_Vzeroupper);
    asm.m(Op::Call_rm64, at(RBP, Frame::COMPLETED));
    kept.into_iter().rev().for_each(|register| asm.r(Op::Pop_r64, register));
    asm.rm(Op::Mov_r64_rm64, R11, at(RBP, Frame::CONSTANTS));
}
