//! Loads and stores of global, constant, shared and parameter memory.
//!
//! Every byte that a lane reaches is checked before any is touched; what a check does not let through (another region than last time,
//! a fault) the interpreter does as a whole. One address, adjacent addresses and any addresses each have their code. Lanes that are
//! off touch nothing: vectors are loaded and stored under masks, and never stored whole to change a part.

use super::{Emitter, On, T};
use crate::asm::{Label, V, at};
use crate::frame::{Frame, Near};
use fast::code::{Dst, Memory, Src};
use iced_x86::{Code as Op, Register};
use ir::mods::Space;

use Register::{EAX, ECX, EDX, K5, K6, R8, R15, RAX, RBP, RCX, RDI, RDX, RSI};

/// How the addresses of an access lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    /// One for all lanes.
    One,
    /// Words of this many bytes, one after another.
    Adjacent,
    /// Any.
    Any,
}

/// What memory an access is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// Regions, by 64-bit addresses: the one of this number was accessed last.
    Map(u32),
    /// A window of 32-bit addresses: where the frame has its beginning and its length.
    Window(i64, i64),
}

impl Room {
    pub(super) fn near(self) -> Option<u32> {
        match self {
            Self::Map(near) => Some(near),
            Self::Window(..) => None,
        }
    }
}

impl Emitter<'_> {
    /// What memory an access is to, if code can be made for it.
    pub(super) fn room(&mut self, memory: &Memory) -> Option<Room> {
        match memory.space {
            Space::Global | Space::Const | Space::Generic => {
                if matches!(memory.addr, Src::Narrow(_) | Src::Pred(_) | Src::Pair(..)) {
                    return None;
                }
                if matches!(memory.addr, Src::Line(_, stride, mask) if stride != 0 && mask != u64::MAX)
                {
                    return None;
                }
                self.nears.push(self.now);
                Some(Room::Map(self.nears.len() as u32 - 1))
            }
            Space::Shared => Some(Room::Window(Frame::SHARED, Frame::SHARED_LEN)),
            Space::Param => Some(Room::Window(Frame::PARAMS, Frame::PARAMS_LEN)),
            _ => None,
        }
    }

    fn pattern(memory: &Memory, words: usize) -> Pattern {
        match memory.addr {
            Src::Const(_) | Src::Line(_, 0, _) => Pattern::One,
            Src::Line(_, stride, _) if stride == i64::from(memory.word) && words == 1 => {
                Pattern::Adjacent
            }
            _ => Pattern::Any,
        }
    }

    pub(super) fn load(&mut self, memory: &Memory, on: On) -> bool {
        let mut pattern = Self::pattern(memory, memory.dst.len());
        if pattern == Pattern::Adjacent && !self.can_load_adjacent(memory) {
            pattern = Pattern::Any;
        }
        let rows = |d: &Dst| matches!(d, Dst::Narrow(_) | Dst::Wide(_) | Dst::None);
        let any = matches!(memory.word, 4 | 8)
            && memory.extend.is_none()
            && memory.dst.iter().all(|d| match d {
                Dst::Narrow(_) => memory.word == 4,
                Dst::Wide(_) => memory.word == 8,
                d => rows(d),
            });
        if pattern == Pattern::Any && !any {
            return false;
        }
        let Some(room) = self.room(memory) else { return false };
        self.announce(memory, on);
        let (cold, back) = self.cold(on);
        match pattern {
            Pattern::One => self.load_one(memory, room, on, cold),
            Pattern::Adjacent => self.load_adjacent(memory, room, on, cold),
            Pattern::Any => self.load_any(memory, room, on, cold),
        }
        self.asm.m(Op::Inc_rm64, at(RBP, Frame::MEMORY));
        self.asm.bind(back);
        true
    }

    fn can_load_adjacent(&self, memory: &Memory) -> bool {
        match (memory.dst.first(), memory.word) {
            (Some(Dst::Narrow(_)), 4) | (Some(Dst::Wide(_)), 8) => true,
            (Some(Dst::Narrow(_)), 1 | 2) => memory.extend.is_none_or(|e| e.1 == 32),
            _ => false,
        }
    }

    /// `rax` becomes the address of a scalar operand.
    fn scalar_address(&mut self, memory: &Memory, room: Room) {
        let window = matches!(room, Room::Window(..));
        match memory.addr {
            Src::Line(i, ..) => self.asm.rm(Op::Mov_r64_rm64, RAX, at(R15, 8 * i64::from(i))),
            Src::Const(bits) => self.asm.ri64(RAX, bits),
            _ => self.asm.ri64(RAX, 0),
        }
        if memory.offset != 0 {
            self.asm.ri64(RCX, memory.offset as u64);
            self.asm.rr(Op::Add_r64_rm64, RAX, RCX);
        }
        if window {
            self.asm.rr(Op::Mov_r32_rm32, EAX, EAX);
        }
    }

    /// From the address in `rax` and the bytes of the access in `rdx` to where it is in the host's memory, in `rdi`.
    fn locate(&mut self, room: Room, align: u64, cold: Label) {
        if align > 1 {
            self.asm.ri(Op::Test_rm32_imm32, EAX, align as i32 - 1);
            self.asm.jump(Op::Jne_rel32_64, cold);
        }
        match room {
            Room::Map(near) => {
                let entry = i64::from(near) * Near::SIZE;
                self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::NEAR));
                self.asm.rm(Op::Sub_r64_rm64, RAX, at(R8, entry + Near::BASE));
                self.asm.rm(Op::Mov_r64_rm64, RSI, at(R8, entry + Near::LEN));
                self.inside(cold);
                self.asm.rm(Op::Mov_r64_rm64, RDI, at(R8, entry + Near::BYTES));
            }
            Room::Window(bytes, len) => {
                self.asm.rm(Op::Mov_r64_rm64, RSI, at(RBP, len));
                self.inside(cold);
                self.asm.rm(Op::Mov_r64_rm64, RDI, at(RBP, bytes));
            }
        }
        self.asm.rr(Op::Add_r64_rm64, RDI, RAX);
    }

    /// `rax + rdx <= rsi`.
    fn inside(&mut self, cold: Label) {
        self.asm.rr(Op::Sub_r64_rm64, RSI, RDX);
        self.asm.jump(Op::Jb_rel32_64, cold);
        self.asm.rr(Op::Cmp_r64_rm64, RAX, RSI);
        self.asm.jump(Op::Ja_rel32_64, cold);
    }

    fn load_one(&mut self, memory: &Memory, room: Room, on: On, cold: Label) {
        self.scalar_address(memory, room);
        self.asm.ri64(RDX, memory.bytes());
        self.locate(room, memory.bytes(), cold);
        self.count_access(memory, room.near(), on);
        let word = i64::from(memory.word);
        for (i, &dst) in memory.dst.iter().enumerate() {
            let from = at(RDI, i as i64 * word);
            match (dst, memory.word) {
                (Dst::None, _) => continue,
                (Dst::Narrow(row), 4) => {
                    self.asm.rm(Op::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, T[0], from);
                    for half in 0..2 {
                        self.put(row, half, on, T[0]);
                    }
                    continue;
                }
                _ => self.load_word(memory, from),
            }
            match dst {
                Dst::Scalar(scalar) => {
                    self.asm.mr(Op::Mov_rm64_r64, at(R15, 8 * i64::from(scalar)), RAX);
                }
                Dst::Narrow(row) => {
                    self.asm.rr(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, T[0], EAX);
                    for half in 0..2 {
                        self.put(row, half, on, T[0]);
                    }
                }
                Dst::Wide(row) | Dst::Pair(row, _) => {
                    self.asm.rr(Op::EVEX_Vpbroadcastq_zmm_k1z_r64, T[0], RAX);
                    for quarter in 0..4 {
                        self.put_wide(row, quarter, on, T[0]);
                    }
                }
                Dst::Pred(mask) => {
                    self.asm.ri(Op::And_rm32_imm8, EAX, 1);
                    self.asm.r(Op::Neg_rm32, EAX);
                    self.put_predicate(mask, on);
                }
                Dst::None => {}
            }
        }
    }

    /// One word into `rax`, as the register holds it.
    fn load_word(&mut self, memory: &Memory, from: iced_x86::MemoryOperand) {
        let to = memory.extend.map(|e| e.1);
        let (op, register) = match (memory.word, to) {
            (1, None) => (Op::Movzx_r32_rm8, EAX),
            (2, None) => (Op::Movzx_r32_rm16, EAX),
            (4, None) => (Op::Mov_r32_rm32, EAX),
            (1, Some(_)) => (Op::Movsx_r64_rm8, RAX),
            (2, Some(_)) => (Op::Movsx_r64_rm16, RAX),
            (4, Some(_)) => (Op::Movsxd_r64_rm32, RAX),
            _ => (Op::Mov_r64_rm64, RAX),
        };
        self.asm.rm(op, register, from);
        match to {
            Some(32) => self.asm.rr(Op::Mov_r32_rm32, EAX, EAX),
            Some(bits) if bits < 32 => {
                self.asm.ri(Op::And_rm32_imm32, EAX, (1 << bits) - 1);
            }
            _ => {}
        }
    }

    /// `rdi` becomes the place of lane 0's word of adjacent ones, which lanes that are off may have outside.
    fn adjacent(&mut self, memory: &Memory, room: Room, on: On, cold: Label) {
        let shift = memory.word.trailing_zeros() as i32;
        self.scalar_address(memory, room);
        self.asm.rr(Op::Tzcnt_r32_rm32, ECX, on.lanes);
        self.asm.rr(Op::Lzcnt_r32_rm32, EDX, on.lanes);
        self.asm.rr(Op::Add_r32_rm32, EDX, ECX);
        self.asm.r(Op::Neg_rm32, EDX);
        self.asm.ri(Op::Add_rm32_imm8, EDX, 32);
        if shift > 0 {
            self.asm.ri(Op::Shl_rm32_imm8, ECX, shift);
            self.asm.ri(Op::Shl_rm32_imm8, EDX, shift);
        }
        match room {
            Room::Map(_) => self.asm.rr(Op::Add_r64_rm64, RAX, RCX),
            Room::Window(..) => self.asm.rr(Op::Add_r32_rm32, EAX, ECX),
        }
        self.locate(room, memory.word.into(), cold);
        self.count_access(memory, room.near(), on);
        self.asm.rr(Op::Sub_r64_rm64, RDI, RCX);
    }

    fn load_adjacent(&mut self, memory: &Memory, room: Room, on: On, cold: Label) {
        self.adjacent(memory, room, on, cold);
        let op = match (memory.word, memory.extend) {
            (1, None) => Op::EVEX_Vpmovzxbd_zmm_k1z_xmmm128,
            (1, _) => Op::EVEX_Vpmovsxbd_zmm_k1z_xmmm128,
            (2, None) => Op::EVEX_Vpmovzxwd_zmm_k1z_ymmm256,
            (2, _) => Op::EVEX_Vpmovsxwd_zmm_k1z_ymmm256,
            (4, _) => Op::EVEX_Vmovdqu32_zmm_k1z_zmmm512,
            _ => Op::EVEX_Vmovdqu64_zmm_k1z_zmmm512,
        };
        match memory.dst[0] {
            Dst::Narrow(row) => {
                for half in 0..2 {
                    let from = at(RDI, 16 * i64::from(memory.word) * half as i64);
                    self.asm.v2z(op, T[0], from, on.halves[half]);
                    self.put(row, half, on, T[0]);
                }
            }
            Dst::Wide(row) => {
                for quarter in 0..4 {
                    let mask = self.quarter(on, quarter);
                    self.asm.v2z(op, T[0], at(RDI, 64 * quarter as i64), mask);
                    self.put_wide(row, quarter, on, T[0]);
                }
            }
            _ => {}
        }
    }

    /// Offsets of all lanes: of 64-bit addresses in a region in `T[2]` .. `T[5]`, of a window in `T[2]` and `T[3]`. `rdi` becomes
    /// what they count from.
    pub(super) fn offsets(&mut self, memory: &Memory, room: Room, on: On, cold: Label) {
        let align = memory.bytes();
        match room {
            Room::Map(near) => {
                let entry = i64::from(near) * Near::SIZE;
                self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::NEAR));
                self.asm.ri64(RAX, memory.offset as u64);
                self.asm.rm(Op::Mov_r64_rm64, RCX, at(R8, entry + Near::BASE));
                self.asm.ri(Op::Test_rm32_imm32, ECX, align as i32 - 1);
                self.asm.jump(Op::Jne_rel32_64, cold);
                self.asm.rr(Op::Sub_r64_rm64, RAX, RCX);
                self.limit(at(R8, entry + Near::LEN), align, cold);
                self.asm.rr(Op::EVEX_Vpbroadcastq_zmm_k1z_r64, T[6], RAX);
                for q in 0..4 {
                    let value = self.w(memory.addr, q, T[2 + q]);
                    let add = Op::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64;
                    self.asm.v3(add, T[2 + q], T[6], value, None);
                }
                self.asm.rr(Op::EVEX_Vpbroadcastq_zmm_k1z_r64, T[6], RSI);
                let low = self.bits64(align - 1);
                for q in 0..4 {
                    let mask = self.quarter(on, q);
                    let compare = Op::EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8;
                    self.asm.v3i(compare, K5, T[2 + q], V::Z(T[6]), 6, Some(mask));
                    let test = Op::EVEX_Vptestmq_kr_k1_zmm_zmmm512b64;
                    self.asm.v3(test, K6, T[2 + q], low, Some(mask));
                    self.asm.rr(Op::VEX_Kortestb_kr_kr, K5, K6);
                    self.asm.jump(Op::Jne_rel32_64, cold);
                }
                self.asm.rm(Op::Mov_r64_rm64, RDI, at(R8, entry + Near::BYTES));
            }
            Room::Window(bytes, len) => {
                self.limit(at(RBP, len), align, cold);
                self.asm.rr(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, T[6], Register::ESI);
                let (low, offset) = (self.bits32(align as u32 - 1), memory.offset as u32);
                let offset = self.bits32(offset);
                for half in 0..2 {
                    let value = self.nz(memory.addr, half, T[2 + half]);
                    let add = Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
                    self.asm.v3(add, T[2 + half], value, offset, None);
                    let mask = Some(on.halves[half]);
                    let compare = Op::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
                    self.asm.v3i(compare, K5, T[2 + half], V::Z(T[6]), 6, mask);
                    let test = Op::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
                    self.asm.v3(test, K6, T[2 + half], low, mask);
                    self.asm.rr(Op::VEX_Kortestw_kr_kr, K5, K6);
                    self.asm.jump(Op::Jne_rel32_64, cold);
                }
                self.asm.rm(Op::Mov_r64_rm64, RDI, at(RBP, bytes));
            }
        }
    }

    /// `rsi` becomes the greatest offset that is allowed.
    fn limit(&mut self, len: iced_x86::MemoryOperand, bytes: u64, cold: Label) {
        self.asm.rm(Op::Mov_r64_rm64, RSI, len);
        self.asm.ri(Op::Sub_rm64_imm32, RSI, bytes as i32);
        self.asm.jump(Op::Jb_rel32_64, cold);
    }

    fn load_any(&mut self, memory: &Memory, room: Room, on: On, cold: Label) {
        self.offsets(memory, room, on, cold);
        if self.detailed {
            self.asm.rr(Op::EVEX_Vmovd_rm32_xmm, EAX, Register::XMM2);
            self.count_access(memory, room.near(), on);
        }
        for (i, &dst) in memory.dst.iter().enumerate() {
            let d = i as i64 * i64::from(memory.word);
            match dst {
                Dst::Narrow(row) => {
                    for half in 0..2 {
                        self.gather32(room, half, d, (on, may_meet(memory)));
                        self.put(row, half, on, T[0]);
                    }
                }
                Dst::Wide(row) => {
                    for quarter in 0..4 {
                        self.gather64(room, quarter, d, on);
                        self.put_wide(row, quarter, on, T[0]);
                    }
                }
                _ => {}
            }
        }
    }

    pub(super) fn store(&mut self, memory: &Memory, on: On) -> bool {
        let mut pattern = Self::pattern(memory, memory.src.len());
        if memory.space == Space::Param {
            return false;
        }
        if pattern == Pattern::One {
            // The last lane's value stays: scattering does that.
            pattern = Pattern::Any;
        }
        if pattern == Pattern::Any && !matches!(memory.word, 4 | 8) {
            return false;
        }
        let Some(room) = self.room(memory) else { return false };
        self.announce(memory, on);
        let (cold, back) = self.cold(on);
        match pattern {
            Pattern::Adjacent => self.store_adjacent(memory, room, on, cold),
            _ => self.store_any(memory, room, on, cold),
        }
        self.asm.m(Op::Inc_rm64, at(RBP, Frame::MEMORY));
        self.asm.mi(Op::Mov_rm32_imm32, at(RBP, Frame::PROGRESS), 1);
        self.asm.bind(back);
        true
    }

    fn store_adjacent(&mut self, memory: &Memory, room: Room, on: On, cold: Label) {
        self.adjacent(memory, room, on, cold);
        let src = memory.src[0];
        if memory.word == 8 {
            for quarter in 0..4 {
                let value = self.wz(src, quarter, T[0]);
                let mask = self.quarter(on, quarter);
                let to = at(RDI, 64 * quarter as i64);
                self.asm.store(Op::EVEX_Vmovdqu64_zmmm512_k1z_zmm, to, value, mask);
            }
            return;
        }
        let op = match memory.word {
            1 => Op::EVEX_Vpmovdb_xmmm128_k1z_zmm,
            2 => Op::EVEX_Vpmovdw_ymmm256_k1z_zmm,
            _ => Op::EVEX_Vmovdqu32_zmmm512_k1z_zmm,
        };
        for half in 0..2 {
            let value = self.nz(src, half, T[0]);
            let to = at(RDI, 16 * i64::from(memory.word) * half as i64);
            self.asm.store(op, to, value, on.halves[half]);
        }
    }
}

/// Whether words of lanes side by side may turn out to be adjacent, though nothing says so.
pub(super) fn may_meet(memory: &Memory) -> bool {
    memory.words == 1 && !matches!(memory.addr, Src::Line(..) | Src::Const(_))
}
