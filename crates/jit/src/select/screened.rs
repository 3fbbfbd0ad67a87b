//! Accesses of screened launches: code logs them for the host, see [`crate::screen_log`].

use super::Selector;
use crate::asm::{Asm, Label, at};
use crate::frame::Frame;
use crate::screen_log::{ExemptCell, ExemptSite, LogAddresses, LogChunk, LogSite};
use crate::vcode::{Mem, Part, VReg, View};
use fast::Level;
use iced_x86::{Code as Op, Register};
use ir::mods::{Order, Space};
use simt::observe::AccessKind;
use smallvec::SmallVec;
use vector::{Access, Scale, Shape, Value};

use Register::{R11, RAX, RBP, RCX, RDI, RDX, RSI};

/// Loads of the same lanes at the same rows of addresses but for their offsets, in weak order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ExemptLoads {
    lanes: Value,
    base: Value,
    row: Value,
    scale: Option<Scale>,
    space: Space,
    bytes: u8,
}

/// Whether accesses are exempt: a register that is 0 if so, and the cell, with the least and the
/// greatest of their offsets.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExemptGroup {
    is_judged: VReg,
    cell: u32,
    first: i64,
    last: i64,
}

impl Selector<'_> {
    /// Logs an access in screened launches; otherwise this does nothing. The arguments are those of
    /// [`vector::Op::Load`].
    pub(super) fn log_access(&mut self, access: &Access, args: &[Value]) {
        if !self.code.screened.is_some_and(|judged| judged.includes(access.space)) {
            return;
        }
        let lanes = self.mask(args[0]);
        let (addresses, address, rows) = self.logged_addresses(access, args);
        let (cell, is_judged) = match addresses {
            LogAddresses::Line(stride) => {
                let span = 31 * stride as u64 + access.bytes();
                (self.exempt_cell(access.offset, span), None)
            }
            _ => self.exempt_rows(access, args),
        };
        let site = self.log_sites.len() as i32;
        self.log_sites.push(LogSite { step: access.step.step, addresses, cell });
        let (codes, judge) = (self.codes, self.outside.judge);
        let mut p = self.f.pseudo();
        let [to, temp] = [(); 2].map(|()| p.temp(View::R64));
        let vector = p.temp(View::V);
        let [log, done] = [(); 2].map(|()| p.label());
        match (addresses, address, is_judged) {
            (LogAddresses::Line(_), Some(address), _) => {
                let cell = i64::from(cell) * ExemptCell::SIZE;
                p.op(Op::Mov_r64_rm64, (to, Mem::frame(Frame::EXEMPT)));
                p.op(Op::Mov_r64_rm64, (temp, address));
                p.op(Op::Sub_r64_rm64, (temp, Mem::at(to, cell + ExemptCell::LOW)));
                p.op(Op::Cmp_r64_rm64, (temp, Mem::at(to, cell + ExemptCell::COUNT)));
                p.jump(Op::Jae_rel32_64, log);
            }
            (_, _, Some(is_judged)) => {
                p.op(Op::Test_rm32_r32, (is_judged.d(), is_judged.d()));
                p.jump(Op::Jne_rel32_64, log);
            }
            _ => {
                p.jump(Op::Jmp_rel32_64, log);
            }
        }
        p.bind(done);
        p.out_of_line();
        p.bind(log);
        (codes.bits_to)(&mut p, &lanes, temp, to);
        p.op(Op::Mov_r64_rm64, (to, Mem::frame(Frame::LOG)));
        p.op(Op::Mov_rm32_imm32, (Mem::at(to, LogChunk::SITE), site));
        p.op(Op::Mov_rm32_r32, (Mem::at(to, LogChunk::ON), temp.d()));
        p.op(Op::Mov_r64_rm64, (temp, Mem::frame(Frame::WARP)));
        p.op(Op::Mov_rm64_r64, (Mem::at(to, LogChunk::WARP), temp));
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
        p.jump(Op::Jb_rel32_64, done);
        p.jump_out(Op::Call_rel32_64, judge);
        p.jump(Op::Jmp_rel32_64, done);
        p.end();
    }

    /// Makes a cell for accesses.
    fn exempt_cell(&mut self, first: i64, span: u64) -> u32 {
        self.exempt_sites.push(ExemptSite { first, span });
        self.exempt_sites.len() as u32 - 1
    }

    /// Returns the cell of an access at rows of addresses, and a register that is 0 if it is
    /// exempt. Loads that differ by their offsets alone are so together.
    fn exempt_rows(&mut self, access: &Access, args: &[Value]) -> (u32, Option<VReg>) {
        let key = self.exempt_loads_of(access, args);
        let known = key.and_then(|key| self.exempt_loads.get(&key));
        if let Some(known) = known.filter(|it| (it.first..=it.last).contains(&access.offset)) {
            return (known.cell, Some(known.is_judged));
        }
        let (mut first, mut last) = (access.offset, access.offset);
        for &inst in self.ahead.iter().filter(|_| key.is_some()) {
            let data = self.source.inst(inst);
            match &data.op {
                vector::Op::Load(other) if self.exempt_loads_of(other, &data.args) == key => {
                    first = first.min(other.offset);
                    last = last.max(other.offset);
                }
                vector::Op::Barrier(..) | vector::Op::BackEdge(_) | vector::Op::Await(_) => break,
                _ => {}
            }
        }
        let cell = self.exempt_cell(first, last.abs_diff(first) + access.bytes());
        let offset = i64::from(cell) * ExemptCell::SIZE;
        let is_judged = self.level(|l| l.is_judged(access, args, offset));
        if let (Some(key), Some(is_judged)) = (key, is_judged) {
            self.exempt_loads.insert(key, ExemptGroup { is_judged, cell, first, last });
        }
        (cell, is_judged)
    }

    /// Returns what accesses are exempt together with this one.
    fn exempt_loads_of(&self, access: &Access, args: &[Value]) -> Option<ExemptLoads> {
        let step = self.code.steps.get(access.step.step as usize)?;
        let (memory, kind) = step.access()?;
        let is_row = matches!(access.shape, Shape::Any | Shape::Indexed(_));
        (is_row && kind == AccessKind::Load && memory.order == Order::Weak).then(|| ExemptLoads {
            lanes: args[0],
            base: args[1],
            row: args[access.shape.operands()],
            scale: access.shape.scale(),
            space: access.space,
            bytes: access.bytes() as u8,
        })
    }

    /// Returns how the addresses of an access are logged, the scalar, and the rows.
    fn logged_addresses(
        &mut self,
        access: &Access,
        args: &[Value],
    ) -> (LogAddresses, Option<VReg>, SmallVec<[VReg; 4]>) {
        let row = args[access.shape.operands()];
        let addresses = LogAddresses::of(access, self.is_wide(row));
        let scalar = (access.shape != Shape::Any).then(|| self.s(args[1]));
        let rows = match addresses {
            LogAddresses::Line(_) => SmallVec::new(),
            _ => self.registers(row),
        };
        (addresses, scalar, rows)
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
