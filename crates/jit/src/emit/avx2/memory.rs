//! Loads and stores of rows; see `emit::memory`. Lanes that are off touch nothing: vectors are
//! loaded and stored under masks, other words lane by lane.

use super::chunk::{CHUNKS, Chunk};
use super::operand::{BLEND, BLEND64, xmm};
use super::row;
use crate::asm::{Label, V, at, indexed};
use crate::emit::memory::{Access, Room};
use crate::emit::short::WORDS;
use crate::emit::{Emitter, On};
use crate::frame::Frame;
use fast::code::{Dst, Memory, Src};
use iced_x86::{Code as Op, MemoryOperand, Register};

use Register::{EAX, ECX, EDX, R11, RAX, RBP, RDI, RDX, RSI, YMM0, YMM1, YMM2, YMM3, YMM4};

const LOAD: Op = Op::VEX_Vmovdqu_ymm_ymmm256;
const SAVE: Op = Op::VEX_Vmovdqa_ymmm256_ymm;

/// All bits of 64-bit lanes that are on, from the mask in all 32-bit lanes of a register.
fn spread64(e: &mut Emitter<'_>, to: Register, from: Register, eighth: usize) {
    let bits = std::array::from_fn(|i| 1u64 << (4 * eighth + i % 4));
    let bits = V::M(R11, e.pool.vector(bits));
    e.asm.v3(Op::VEX_Vpand_ymm_ymm_ymmm256, to, from, bits, None);
    e.asm.v3(Op::VEX_Vpcmpeqq_ymm_ymm_ymmm256, to, to, bits, None);
}

fn spread32(e: &mut Emitter<'_>, to: Register, from: Register, quarter: usize) {
    let bit = |lane: usize| 1u64 << (8 * quarter + lane);
    let bits = std::array::from_fn(|i| bit(2 * i % 8) | bit((2 * i + 1) % 8) << 32);
    let bits = V::M(R11, e.pool.vector(bits));
    e.asm.v3(Op::VEX_Vpand_ymm_ymm_ymmm256, to, from, bits, None);
    e.asm.v3(Op::VEX_Vpcmpeqd_ymm_ymm_ymmm256, to, to, bits, None);
}

/// A part of a row, by all bits of lanes that are on, from the mask in all lanes of a register: a
/// quarter of 32-bit lanes, or an eighth of 64-bit ones.
pub(super) fn spread(e: &mut Emitter<'_>, wide: bool, to: Register, from: Register, part: usize) {
    if wide {
        spread64(e, to, from, part);
    } else {
        spread32(e, to, from, part);
    }
}

/// The mask of the lanes that are on, in all 32-bit lanes.
pub(super) fn masks(e: &mut Emitter<'_>, to: Register, on: On) {
    e.asm.rr(Op::VEX_Vmovd_xmm_rm32, xmm(to), on.lanes);
    e.asm.rr(Op::VEX_Vpbroadcastd_ymm_xmmm32, to, xmm(to));
}

/// How many vectors a row is.
fn parts(dst: Dst) -> usize {
    if matches!(dst, Dst::Narrow(_)) { CHUNKS } else { 2 * CHUNKS }
}

/// `ymm0` becomes each part of a row, in lanes that are on if others keep what they have. Uses
/// `ymm1` to `ymm3`.
pub(super) fn put_all(e: &mut Emitter<'_>, dst: Dst, on: On) {
    let Some((base, d)) = row(dst) else { return };
    let (part, done) = (e.asm.label(), e.asm.label());
    if e.blend {
        e.asm.ri(Op::Cmp_rm32_imm8, on.lanes, -1);
        e.asm.jump(Op::Jne_rel32_64, part);
    }
    for i in 0..parts(dst) {
        e.asm.mr(SAVE, at(base, d + 32 * i as i64), YMM0);
    }
    if e.blend {
        e.asm.jump(Op::Jmp_rel32_64, done);
        e.asm.bind(part);
        masks(e, YMM1, on);
        for i in 0..parts(dst) {
            blend_part(e, (dst, i), YMM0, YMM1);
        }
        e.asm.bind(done);
    }
}

/// A part of a row becomes `value` in lanes of the mask in all lanes of `masks`. Uses `ymm2` and
/// `ymm3`.
fn blend_part(e: &mut Emitter<'_>, (dst, part): (Dst, usize), value: Register, masks: Register) {
    let Some((base, d)) = row(dst) else { return };
    let wide = !matches!(dst, Dst::Narrow(_));
    let place = at(base, d + 32 * part as i64);
    spread(e, wide, YMM2, masks, part);
    e.asm.rm(LOAD, YMM3, place);
    e.asm.v3r(if wide { BLEND64 } else { BLEND }, YMM3, YMM3, value, YMM2);
    e.asm.mr(SAVE, place, YMM3);
}

/// What a result's parts are written with: whole, or blended under the mask in all lanes of
/// `masks`.
fn put_part(e: &mut Emitter<'_>, dst: (Dst, usize), value: Register, masks: Option<Register>) {
    match masks {
        Some(masks) => blend_part(e, dst, value, masks),
        None => {
            if let Some((base, d)) = row(dst.0) {
                e.asm.mr(SAVE, at(base, d + 32 * dst.1 as i64), value);
            }
        }
    }
}

/// 32 words at `rdi` become a row.
pub(super) fn copy_row(e: &mut Emitter<'_>, dst: Dst, on: On) {
    let masked = e.blend.then_some(YMM1);
    if masked.is_some() {
        masks(e, YMM1, on);
    }
    for part in 0..parts(dst) {
        e.asm.rm(LOAD, YMM0, at(RDI, 32 * part as i64));
        put_part(e, (dst, part), YMM0, masked);
    }
}

/// Loads adjacent words, of which lane 0's is at `rdi`.
pub(super) fn load_adjacent(e: &mut Emitter<'_>, memory: &Memory, on: On) {
    let dst = memory.dst[0];
    let op = match (memory.word, memory.extend) {
        (1, None) => Op::VEX_Vpmovzxbd_ymm_xmmm64,
        (1, _) => Op::VEX_Vpmovsxbd_ymm_xmmm64,
        (2, None) => Op::VEX_Vpmovzxwd_ymm_xmmm128,
        (2, _) => Op::VEX_Vpmovsxwd_ymm_xmmm128,
        _ => LOAD,
    };
    let bytes = if memory.word == 8 { 32 } else { 8 * i64::from(memory.word) };
    let (part, done) = (e.asm.label(), e.asm.label());
    e.asm.ri(Op::Cmp_rm32_imm8, on.lanes, -1);
    e.asm.jump(Op::Jne_rel32_64, part);
    for i in 0..parts(dst) {
        e.asm.rm(op, YMM0, at(RDI, bytes * i as i64));
        put_part(e, (dst, i), YMM0, None);
    }
    e.asm.jump(Op::Jmp_rel32_64, done);
    e.asm.bind(part);
    if memory.word < 4 {
        words_in(e, memory, on);
    } else {
        masks(e, YMM1, on);
        let wide = memory.word == 8;
        let op = match wide {
            true => Op::VEX_Vpmaskmovq_ymm_ymm_m256,
            false => Op::VEX_Vpmaskmovd_ymm_ymm_m256,
        };
        let blend = e.blend.then_some(YMM1);
        for i in 0..parts(dst) {
            spread(e, wide, YMM2, YMM1, i);
            e.asm.v3(op, YMM0, YMM2, V::M(RDI, 32 * i as i64), None);
            put_part(e, (dst, i), YMM0, blend);
        }
    }
    e.asm.bind(done);
}

/// A loop over the lanes that are on, in increasing order: the lane is in `rdx`. Uses `ecx`.
fn each_lane(e: &mut Emitter<'_>, on: On, body: impl FnOnce(&mut Emitter<'_>)) {
    let again = e.asm.label();
    e.asm.rr(Op::Mov_r32_rm32, ECX, on.lanes);
    e.asm.bind(again);
    e.asm.rr(Op::Tzcnt_r32_rm32, EDX, ECX);
    body(e);
    e.asm.rr(Op::VEX_Blsr_r32_rm32, ECX, ECX);
    e.asm.jump(Op::Jne_rel32_64, again);
}

/// The element of the lane in `rdx`: base, bytes of an element, displacement.
fn element(base: Register, scale: u32, displacement: i64) -> MemoryOperand {
    let operand = MemoryOperand::new(base, RDX, scale, 0, 1, false, Register::None);
    MemoryOperand { displacement, ..operand }
}

/// Adjacent words of less than 32 bits, lane by lane.
fn words_in(e: &mut Emitter<'_>, memory: &Memory, on: On) {
    let Some((base, d)) = row(memory.dst[0]) else { return };
    let op = match (memory.word, memory.extend) {
        (1, None) => Op::Movzx_r32_rm8,
        (1, _) => Op::Movsx_r32_rm8,
        (_, None) => Op::Movzx_r32_rm16,
        _ => Op::Movsx_r32_rm16,
    };
    each_lane(e, on, |e| {
        e.asm.rm(op, EAX, element(RDI, memory.word, 0));
        e.asm.mr(Op::Mov_rm32_r32, element(base, 4, d), EAX);
    });
}

/// Brings an operand of stores to memory, if it is not there: where it is then, by lane.
fn in_memory(e: &mut Emitter<'_>, src: Src, wide: bool, part: i64) -> (Register, i64) {
    match src {
        Src::Narrow(i) if !wide => return (Register::R12, 128 * i64::from(i)),
        Src::Wide(i) | Src::Pair(i, _) if wide => return (Register::R13, 256 * i64::from(i)),
        _ => {}
    }
    let room = Frame::LANE_ROOM + 256 * part;
    let now = e.now as usize;
    let mut chunk = Chunk::new(e, crate::emit::ALL, now, now + 1);
    for c in 0..CHUNKS {
        chunk.c = c;
        if wide {
            for half in 0..2 {
                let value = chunk.wz(src, half);
                let to = at(RBP, room + 64 * c as i64 + 32 * half as i64);
                chunk.e.asm.mr(SAVE, to, value);
            }
        } else {
            let value = chunk.nz(src);
            chunk.e.asm.mr(SAVE, at(RBP, room + 32 * c as i64), value);
        }
        chunk.cache.unpin();
        chunk.end_chunk();
    }
    (RBP, room)
}

/// Brings 32-bit words to the frame's room for lanes, where short ones are stored from.
fn words_to_room(e: &mut Emitter<'_>, src: Src) {
    let (base, d) = in_memory(e, src, false, 1);
    if (base, d) != (RBP, WORDS) {
        for c in 0..CHUNKS as i64 {
            e.asm.rm(LOAD, YMM0, at(base, d + 32 * c));
            e.asm.mr(SAVE, at(RBP, WORDS + 32 * c), YMM0);
        }
    }
}

/// Stores adjacent words, of which lane 0's is at `rdi`.
pub(super) fn store_adjacent(e: &mut Emitter<'_>, memory: &Memory, on: On) {
    let wide = memory.word == 8;
    let (base, d) = in_memory(e, memory.src[0], wide, 1);
    let (part, done) = (e.asm.label(), e.asm.label());
    if memory.word >= 4 {
        let count = if wide { 2 * CHUNKS } else { CHUNKS };
        e.asm.ri(Op::Cmp_rm32_imm8, on.lanes, -1);
        e.asm.jump(Op::Jne_rel32_64, part);
        for i in 0..count as i64 {
            e.asm.rm(LOAD, YMM0, at(base, d + 32 * i));
            e.asm.mr(Op::VEX_Vmovdqu_ymmm256_ymm, at(RDI, 32 * i), YMM0);
        }
        e.asm.jump(Op::Jmp_rel32_64, done);
        e.asm.bind(part);
        masks(e, YMM1, on);
        let op = match wide {
            true => Op::VEX_Vpmaskmovq_m256_ymm_ymm,
            false => Op::VEX_Vpmaskmovd_m256_ymm_ymm,
        };
        for i in 0..count {
            spread(e, wide, YMM2, YMM1, i);
            e.asm.rm(LOAD, YMM0, at(base, d + 32 * i as i64));
            e.asm.mrr(op, at(RDI, 32 * i as i64), YMM2, YMM0);
        }
        e.asm.bind(done);
        return;
    }
    let (op, value) = match memory.word {
        1 => (Op::Mov_rm8_r8, Register::AL),
        _ => (Op::Mov_rm16_r16, Register::AX),
    };
    each_lane(e, on, |e| {
        e.asm.rm(Op::Mov_r32_rm32, EAX, element(base, 4, d));
        e.asm.mr(op, element(RDI, memory.word, 0), value);
    });
}

/// Offsets of all lanes, checked, into the first part of the frame's room for lanes; `rdi` becomes
/// what they count from.
fn offsets(e: &mut Emitter<'_>, access: &Access<'_>, on: On, cold: Label) {
    let memory = access.memory;
    let align = memory.bytes();
    let (len, bytes) = match access.room {
        Room::Map(near) => e.in_region(near, memory, cold),
        Room::Window(bytes, len) => {
            // Addresses of windows are words: their sums have to be, too.
            e.asm.ri64(RAX, u64::from(memory.offset as u32));
            (at(RBP, len), at(RBP, bytes))
        }
    };
    e.limit(len, align, cold);
    let window = matches!(access.room, Room::Window(..));
    let now = e.now as usize;
    let mut chunk = Chunk::new(e, on, now, now + 1);
    // Of lanes that are off offsets can be anything: `ecx` collects where they are wrong.
    chunk.e.asm.rr(Op::Xor_r32_rm32, ECX, ECX);
    let (base, most) = (chunk.temp(), chunk.temp());
    for (register, from) in [(base, RAX), (most, RSI)] {
        chunk.e.asm.rr(Op::VEX_Vmovq_xmm_rm64, xmm(register), from);
        chunk.e.asm.rr(Op::VEX_Vpbroadcastq_ymm_xmmm64, register, xmm(register));
    }
    chunk.vvq(Op::VEX_Vpxor_ymm_ymm_ymmm256, most, most, 1 << 63);
    for eighth in 0..2 * CHUNKS {
        chunk.c = eighth / 2;
        let value = chunk.w(memory.addr, eighth % 2);
        let (to, wrong, low) = (chunk.temp(), chunk.temp(), chunk.temp());
        chunk.e.asm.v3(Op::VEX_Vpaddq_ymm_ymm_ymmm256, to, base, value, None);
        if window {
            chunk.vvq(Op::VEX_Vpand_ymm_ymm_ymmm256, to, to, u32::MAX.into());
        }
        let room = at(RBP, Frame::LANE_ROOM + 32 * eighth as i64);
        if let Some(bytes) = chunk.e.apart_in_local(memory) {
            let line = V::M(R11, chunk.e.pool.line64(4 * eighth as u64, bytes));
            chunk.e.asm.v3(Op::VEX_Vpaddq_ymm_ymm_ymmm256, wrong, to, line, None);
            chunk.e.asm.mr(SAVE, room, wrong);
        } else {
            chunk.e.asm.mr(SAVE, room, to);
        }
        chunk.vvq(Op::VEX_Vpxor_ymm_ymm_ymmm256, wrong, to, 1 << 63);
        chunk.vvv(Op::VEX_Vpcmpgtq_ymm_ymm_ymmm256, wrong, wrong, most);
        if align > 1 {
            // Shifted up, what is misaligned is not 0.
            chunk.vvq(Op::VEX_Vpand_ymm_ymm_ymmm256, low, to, align - 1);
            chunk.zero(to);
            chunk.vvv(Op::VEX_Vpcmpgtq_ymm_ymm_ymmm256, low, low, to);
            chunk.vvv(Op::VEX_Vpor_ymm_ymm_ymmm256, wrong, wrong, low);
        }
        chunk.e.asm.rr(Op::VEX_Vmovmskpd_r32_ymm, EAX, wrong);
        if eighth > 0 {
            chunk.e.asm.ri(Op::Shl_rm32_imm8, EAX, 4 * eighth as i32);
        }
        chunk.e.asm.rr(Op::Or_r32_rm32, ECX, EAX);
        for register in [to, wrong, low] {
            chunk.free(register);
        }
        chunk.unpin_but(&[base, most]);
        if eighth % 2 == 1 {
            chunk.forget(&[base, most]);
        }
    }
    e.asm.rr(Op::Test_rm32_r32, ECX, on.lanes);
    e.asm.jump(Op::Jne_rel32_64, cold);
    match access.room {
        Room::Map(_) => e.asm.rm(Op::Mov_r64_rm64, RDI, bytes),
        Room::Window(bytes, _) => e.window(memory, bytes),
    }
}

/// Counts an access at any addresses, of which lane 0's offset is told.
fn count(e: &mut Emitter<'_>, access: &Access<'_>, on: On) {
    if e.detailed {
        e.asm.rm(Op::Mov_r32_rm32, EAX, at(RBP, Frame::LANE_ROOM));
        e.count_access(access.memory, access.room.near(), on);
    }
}

pub(super) fn load_any(e: &mut Emitter<'_>, access: &Access<'_>, on: On, cold: Label) {
    let memory = access.memory;
    offsets(e, access, on, cold);
    count(e, access, on);
    masks(e, YMM1, on);
    let blend = e.blend.then_some(YMM1);
    for (i, &dst) in memory.dst.iter().enumerate() {
        let d = i as i64 * i64::from(memory.word);
        let from = MemoryOperand { displacement: d, ..indexed(RDI, YMM2) };
        if let (Dst::Narrow(_), 1 | 2) = (dst, memory.word) {
            e.short_words_in(memory, d, on);
            for part in 0..CHUNKS {
                e.asm.rm(LOAD, YMM0, at(RBP, WORDS + 32 * part as i64));
                put_part(e, (dst, part), YMM0, blend);
            }
            continue;
        }
        for part in 0..parts(dst) {
            let offset = |eighth| at(RBP, Frame::LANE_ROOM + 32 * eighth as i64);
            match dst {
                Dst::Narrow(_) => {
                    spread32(e, YMM3, YMM1, part);
                    for half in 0..2 {
                        e.asm.rm(LOAD, YMM2, offset(2 * part + half));
                        let (to, mask) = if half == 0 { (YMM0, YMM4) } else { (YMM2, YMM3) };
                        let to = if half == 0 { to } else { Register::YMM5 };
                        if half == 0 {
                            e.asm.v2(LOAD, mask, V::Z(YMM3), None);
                        } else {
                            e.asm.rri(Op::VEX_Vextracti128_xmmm128_ymm_imm8, xmm(mask), YMM3, 1);
                        }
                        let gather = Op::VEX_Vpgatherqd_xmm_vm64y_xmm;
                        e.asm.gather_by(gather, xmm(to), from, xmm(mask));
                    }
                    let insert = Op::VEX_Vinserti128_ymm_ymm_xmmm128_imm8;
                    e.asm.v3i(insert, YMM0, YMM0, V::Z(Register::XMM5), 1, None);
                }
                Dst::Wide(_) => {
                    spread64(e, YMM3, YMM1, part);
                    e.asm.rm(LOAD, YMM2, offset(part));
                    e.asm.gather_by(Op::VEX_Vpgatherqq_ymm_vm64y_ymm, YMM0, from, YMM3);
                }
                _ => continue,
            }
            put_part(e, (dst, part), YMM0, blend);
        }
    }
}

/// The greatest lane's value stays where several have one address: lanes store in increasing order.
pub(super) fn store_any(e: &mut Emitter<'_>, access: &Access<'_>, on: On, cold: Label) {
    let memory = access.memory;
    offsets(e, access, on, cold);
    count(e, access, on);
    let wide = memory.word == 8;
    let scale = if wide { 8 } else { 4 };
    for (i, &src) in memory.src.iter().enumerate() {
        if memory.word < 4 {
            words_to_room(e, src);
            e.short_words_out(memory, i as i64 * i64::from(memory.word), on);
            continue;
        }
        let (base, d) = in_memory(e, src, wide, 1);
        let to = MemoryOperand { displacement: i as i64 * scale, ..indexed(RDI, RAX) };
        each_lane(e, on, |e| {
            e.asm.rm(Op::Mov_r64_rm64, RAX, element(RBP, 8, Frame::LANE_ROOM));
            if wide {
                e.asm.rm(Op::Mov_r64_rm64, RSI, element(base, 8, d));
                e.asm.mr(Op::Mov_rm64_r64, to, RSI);
            } else {
                e.asm.rm(Op::Mov_r32_rm32, Register::ESI, element(base, 4, d));
                e.asm.mr(Op::Mov_rm32_r32, to, Register::ESI);
            }
        });
    }
}

/// See [`crate::emit::Vectors::lay`].
pub(super) fn lay(e: &mut Emitter<'_>, addr: Src, entry: usize, (side, one): (Label, Label)) {
    let now = e.now as usize;
    let mut chunk = Chunk::new(e, crate::emit::ALL, now, now + 1);
    let (adjacent, same) = (chunk.temp(), chunk.temp());
    for c in 0..CHUNKS {
        chunk.c = c;
        let lanes = chunk.nz(addr);
        let (apart, first) = (chunk.temp(), chunk.temp());
        chunk.e.asm.rr(Op::VEX_Vmovd_rm32_xmm, EAX, xmm(lanes));
        chunk.e.asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::first(entry, c)), RAX);
        chunk.e.asm.rr(Op::VEX_Vpbroadcastd_ymm_xmmm32, first, xmm(lanes));
        chunk.vvv(Op::VEX_Vpsubd_ymm_ymm_ymmm256, apart, lanes, first);
        let line = V::M(R11, chunk.e.pool.line32(0, 4));
        chunk.e.asm.v3(Op::VEX_Vpsubd_ymm_ymm_ymmm256, first, apart, line, None);
        // Bits collect that are not as they should be.
        if c == 0 {
            chunk.copy(adjacent, first);
            chunk.copy(same, apart);
        } else {
            chunk.vvv(Op::VEX_Vpor_ymm_ymm_ymmm256, adjacent, adjacent, first);
            chunk.vvv(Op::VEX_Vpor_ymm_ymm_ymmm256, same, same, apart);
        }
        for register in [apart, first] {
            chunk.free(register);
        }
        chunk.unpin_but(&[adjacent, same]);
        chunk.forget(&[adjacent, same]);
    }
    for (bits, to) in [(adjacent, side), (same, one)] {
        e.asm.rr(Op::VEX_Vptest_ymm_ymmm256, bits, bits);
        e.asm.jump(Op::Je_rel32_64, to);
    }
}

/// See [`crate::emit::Vectors::store_part`].
pub(super) fn store_part(e: &mut Emitter<'_>, src: Src, part: usize, to: (usize, i64)) {
    let now = e.now as usize;
    let mut chunk = Chunk::new(e, crate::emit::ALL, now, now + 1);
    chunk.c = part;
    let value = chunk.nz(src);
    chunk.cache.unpin();
    chunk.end_chunk();
    let to = e.part_at(to, part);
    e.asm.mr(Op::VEX_Vmovdqu_ymmm256_ymm, to, value);
}

/// Offsets and operands by lane, as 64-bit values.
pub(super) fn atomic_operands(e: &mut Emitter<'_>, access: &Access<'_>, on: On, cold: Label) {
    offsets(e, access, on, cold);
    for (i, &src) in access.memory.src.iter().enumerate() {
        let room = Frame::LANE_ROOM + 256 * (1 + i as i64);
        let now = e.now as usize;
        let mut chunk = Chunk::new(e, on, now, now + 1);
        for eighth in 0..2 * CHUNKS {
            chunk.c = eighth / 2;
            let value = chunk.wz(src, eighth % 2);
            chunk.e.asm.mr(SAVE, at(RBP, room + 32 * eighth as i64), value);
            chunk.cache.unpin();
            chunk.end_chunk();
        }
    }
}

/// What was there before, by lane, as a row.
pub(super) fn atomic_result(e: &mut Emitter<'_>, dst: Dst, on: On) {
    let from = |i: usize| at(RBP, Frame::LANE_ROOM + 3 * 256 + 32 * i as i64);
    let blend = e.blend.then_some(YMM1);
    masks(e, YMM1, on);
    for part in 0..parts(dst) {
        match dst {
            Dst::Narrow(_) => {
                let (low, high) = (YMM0, V::M(RBP, from(2 * part + 1).displacement));
                e.asm.rm(LOAD, low, from(2 * part));
                let shuffle = Op::VEX_Vshufps_ymm_ymm_ymmm256_imm8;
                e.asm.v3i(shuffle, low, low, high, 0x88, None);
                e.asm.v2i(Op::VEX_Vpermq_ymm_ymmm256_imm8, low, low, 0xd8);
            }
            Dst::Wide(_) => e.asm.rm(LOAD, YMM0, from(part)),
            _ => return,
        }
        put_part(e, (dst, part), YMM0, blend);
    }
}
