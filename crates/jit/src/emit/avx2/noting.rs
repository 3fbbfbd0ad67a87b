//! Distances between lanes' addresses: in `ymm8` .. `ymm15` those of 64 bits, in `ymm8` .. `ymm11`
//! those of 32 bits.

use super::chunk::{CHUNKS, Chunk};
use super::memory::{masks, spread};
use super::operand::xmm;
use crate::asm::{Label, V, at};
use crate::emit::{Emitter, On};
use crate::frame::Frame;
use fast::code::Memory;
use iced_x86::{Code as Op, MemoryOperand, Register};

use Register::{EAX, ECX, RAX, RBP, RCX, RDI, RSI, YMM0, YMM1, YMM2};

const SAVE: Op = Op::VEX_Vmovdqa_ymmm256_ymm;

/// How many vectors of distances there are.
fn count(wide: bool) -> usize {
    if wide { 2 * CHUNKS } else { CHUNKS }
}

fn distances(i: usize) -> Register {
    Register::YMM8 + i as u32
}

pub(super) fn apart(e: &mut Emitter<'_>, memory: &Memory, wide: bool, on: On) {
    // The addresses in the frame first, where that of the first lane can be found.
    rows(e, memory, wide, on, (RBP, Frame::LANE_ROOM));
    let bytes = if wide { 8 } else { 4 };
    let first = MemoryOperand::new(RBP, RCX, bytes, 0, 1, false, Register::None);
    let first = MemoryOperand { displacement: Frame::LANE_ROOM, ..first };
    e.asm.rr(Op::Tzcnt_r32_rm32, ECX, on.lanes);
    let (subtract, spread) = if wide {
        e.asm.rm(Op::Mov_r64_rm64, RAX, first);
        (Op::VEX_Vpsubq_ymm_ymm_ymmm256, Op::VEX_Vpbroadcastq_ymm_xmmm64)
    } else {
        e.asm.rm(Op::Mov_r32_rm32, EAX, first);
        (Op::VEX_Vpsubd_ymm_ymm_ymmm256, Op::VEX_Vpbroadcastd_ymm_xmmm32)
    };
    e.asm.rr(Op::VEX_Vmovq_xmm_rm64, xmm(YMM0), RAX);
    e.asm.rr(spread, YMM0, xmm(YMM0));
    for i in 0..count(wide) {
        let to = distances(i);
        let lanes = V::M(RBP, Frame::LANE_ROOM + 32 * i as i64);
        e.asm.v2(Op::VEX_Vmovdqa_ymm_ymmm256, to, lanes, None);
        e.asm.v3(subtract, to, to, V::Z(YMM0), None);
    }
}

pub(super) fn unlike(e: &mut Emitter<'_>, wide: bool, on: On, to: Label) {
    masks(e, YMM1, on);
    let equal = match wide {
        true => Op::VEX_Vpcmpeqq_ymm_ymm_ymmm256,
        false => Op::VEX_Vpcmpeqd_ymm_ymm_ymmm256,
    };
    for i in 0..count(wide) {
        spread(e, wide, YMM2, YMM1, i);
        e.asm.v3(equal, YMM0, distances(i), V::M(RSI, 32 * i as i64), None);
        // Carry: no lane that is on is apart from what it is compared with.
        e.asm.rr(Op::VEX_Vptest_ymm_ymmm256, YMM0, YMM2);
        e.asm.jump(Op::Jae_rel32_64, to);
    }
}

pub(super) fn put_addresses(e: &mut Emitter<'_>, memory: &Memory, wide: bool, to: i64) {
    let lanes = On { lanes: Register::EBX };
    rows(e, memory, wide, lanes, (RDI, to));
}

/// Stores all lanes' addresses, without the offset.
fn rows(
    e: &mut Emitter<'_>,
    memory: &Memory,
    wide: bool,
    on: On,
    (base, displacement): (Register, i64),
) {
    let now = e.now as usize;
    let mut chunk = Chunk::new(e, on, now, now);
    for i in 0..count(wide) {
        chunk.c = if wide { i / 2 } else { i };
        let value = match wide {
            true => chunk.wz(memory.addr, i % 2),
            false => chunk.nz(memory.addr),
        };
        chunk.e.asm.mr(SAVE, at(base, displacement + 32 * i as i64), value);
        chunk.cache.unpin();
        chunk.end_chunk();
    }
}
