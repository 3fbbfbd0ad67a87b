//! Loads and stores of global, constant, shared, local and parameter memory.
//!
//! Every byte that a lane accesses is checked before any is touched. If a check fails (another
//! region than last time, a fault), the interpreter executes the whole access. One address,
//! adjacent addresses and arbitrary addresses each have their own code. Inactive lanes touch
//! nothing: vectors are loaded and stored under masks, and a store never rewrites bytes of inactive
//! lanes.

use super::short::is_short;
use super::{Emitter, On};
use crate::asm::{Label, at};
use crate::frame::{Frame, RegionCache};
use crate::warp_context::WarpContext;
use fast::code::{Dst, Memory, Src};
use iced_x86::{Code as Op, MemoryOperand, Register};
use ir::mods::Space;

use Register::{EAX, ECX, EDX, R8, RAX, RBP, RCX, RDI, RDX, RSI};

/// Bytes of a cache line of the host.
const LINE: i64 = 64;
/// Prefetch distance in bytes: about what warps access during one memory latency.
const AHEAD: i64 = 1024;

/// The shape of an access's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// One address for all lanes.
    One,
    /// One word per lane, contiguous in lane order.
    Adjacent,
    /// Arbitrary addresses.
    Any,
}

/// The memory that an access is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// Regions at 64-bit addresses; the frame's entry of this number holds the one accessed last.
    Map(u32),
    /// A window of 32-bit addresses: the frame's offsets of its host address and its length.
    Window(i64, i64),
}

/// Out-of-line computation of the first active lane's offset and of the bytes that the active lanes
/// span.
pub(super) struct Part {
    from: Label,
    back: Label,
    lanes: Register,
    shift: i32,
}

/// An access that code executes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access<'m> {
    pub(super) memory: &'m Memory,
    pub(super) room: Room,
    pub(super) pattern: Pattern,
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
    /// Returns whether code can be made for an access to its space at such addresses.
    pub(super) fn has_room(memory: &Memory) -> bool {
        match memory.space {
            Space::Global | Space::Const | Space::Generic => match memory.addr {
                Src::Narrow(_) | Src::Pred(_) | Src::Pair(..) => false,
                Src::Line(_, stride, mask) => stride == 0 || mask == u64::MAX,
                _ => true,
            },
            Space::Shared | Space::Param | Space::Local => true,
        }
    }

    /// Returns the memory that an access is to, if code can be made for it.
    pub(super) fn room(&mut self, memory: &Memory) -> Option<Room> {
        if !Self::has_room(memory) || !can_be_local(memory, self) {
            return None;
        }
        match memory.space {
            Space::Shared => Some(Room::Window(Frame::SHARED, Frame::SHARED_LEN)),
            Space::Param => Some(Room::Window(Frame::PARAMS, Frame::PARAMS_LEN)),
            Space::Local => Some(Room::Window(Frame::LOCAL, Frame::LOCAL_LEN)),
            _ => {
                self.nears.push(self.now);
                Some(Room::Map(self.nears.len() as u32 - 1))
            }
        }
    }

    fn pattern(memory: &Memory, words: usize) -> Pattern {
        match memory.addr {
            // Each lane has words of its own in local memory.
            _ if memory.space == Space::Local => Pattern::Any,
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
        if pattern == Pattern::Any && !any && !is_short(memory) {
            return false;
        }
        let Some(room) = self.room(memory) else { return false };
        self.announce(memory, on);
        let (cold, back) = self.cold(on);
        let access = Access { memory, room, pattern };
        match pattern {
            Pattern::One => self.load_one(memory, room, on, cold),
            Pattern::Adjacent => {
                self.adjacent(memory, room, on, cold);
                self.vectors.load(self, &access, on, cold);
            }
            Pattern::Any if self.load_together(memory, room, cold, on) => {}
            Pattern::Any => self.vectors.load(self, &access, on, cold),
        }
        self.count_memory(on);
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

    /// Computes the address of a scalar operand into `rax`.
    pub(super) fn scalar_address(&mut self, memory: &Memory, room: Room) {
        let window = matches!(room, Room::Window(..));
        self.s(memory.addr, RAX);
        match i32::try_from(memory.offset) {
            Ok(0) => {}
            Ok(offset) => self.asm.ri(Op::Add_rm64_imm32, RAX, offset),
            Err(_) => {
                self.asm.ri64(RCX, memory.offset as u64);
                self.asm.rr(Op::Add_r64_rm64, RAX, RCX);
            }
        }
        if window {
            self.asm.rr(Op::Mov_r32_rm32, EAX, EAX);
        }
    }

    /// Converts the guest address in `rax` of an access of `rdx` bytes to the host address in
    /// `rdi`.
    pub(super) fn locate(&mut self, room: Room, align: u64, cold: Label) {
        if align > 1 {
            self.asm.ri(Op::Test_rm32_imm32, EAX, align as i32 - 1);
            self.asm.jump(Op::Jne_rel32_64, cold);
        }
        match room {
            Room::Map(near) => {
                let entry = i64::from(near) * RegionCache::SIZE;
                self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::REGIONS));
                self.asm.rm(Op::Sub_r64_rm64, RAX, at(R8, entry + RegionCache::BASE));
                self.asm.rm(Op::Mov_r64_rm64, RSI, at(R8, entry + RegionCache::LEN));
                self.inside(cold);
                self.asm.rm(Op::Mov_r64_rm64, RDI, at(R8, entry + RegionCache::BYTES));
            }
            Room::Window(bytes, len) => {
                self.asm.rm(Op::Mov_r64_rm64, RSI, at(RBP, len));
                self.inside(cold);
                self.asm.rm(Op::Mov_r64_rm64, RDI, at(RBP, bytes));
            }
        }
        self.asm.rr(Op::Add_r64_rm64, RDI, RAX);
    }

    /// Checks `rax + rdx <= rsi`.
    fn inside(&mut self, cold: Label) {
        self.asm.rr(Op::Sub_r64_rm64, RSI, RDX);
        self.asm.jump(Op::Jb_rel32_64, cold);
        self.asm.rr(Op::Cmp_r64_rm64, RAX, RSI);
        self.asm.jump(Op::Ja_rel32_64, cold);
    }

    fn load_one(&mut self, memory: &Memory, room: Room, on: On, cold: Label) {
        if let Some(param) = self.param(memory) {
            self.asm.ri64(RAX, param);
            self.asm.rm(Op::Mov_r64_rm64, RDI, at(RBP, Frame::PARAMS));
            self.asm.rr(Op::Add_r64_rm64, RDI, RAX);
        } else {
            self.scalar_address(memory, room);
            self.asm.ri64(RDX, memory.bytes());
            self.locate(room, memory.bytes(), cold);
        }
        self.count_access(memory, room.near(), on);
        let word = i64::from(memory.word);
        for (i, &dst) in memory.dst.iter().enumerate() {
            let from = at(RDI, i as i64 * word);
            match (dst, memory.word) {
                (Dst::None, _) => continue,
                (Dst::Narrow(row), 4) => {
                    self.vectors.splat_word(self, row, from, on);
                    continue;
                }
                _ => self.load_word(memory, from),
            }
            match dst {
                Dst::Scalar(scalar) => {
                    self.put_scalar(scalar);
                }
                Dst::Narrow(_) | Dst::Wide(_) | Dst::Pair(..) => self.vectors.splat(self, dst, on),
                Dst::Pred(mask) => {
                    self.asm.ri(Op::And_rm32_imm8, EAX, 1);
                    self.asm.r(Op::Neg_rm32, EAX);
                    self.put_predicate(mask, on);
                }
                Dst::None => {}
            }
        }
    }

    /// Returns the offset of a parameter if it is constant, aligned and in bounds.
    fn param(&self, memory: &Memory) -> Option<u64> {
        let Src::Const(base) = memory.addr else { return None };
        let at = u64::from((base as u32).wrapping_add(memory.offset as u32));
        let inside = at + memory.bytes() <= self.code.param_bytes as u64;
        let is = memory.space == Space::Param && inside && at.is_multiple_of(memory.bytes());
        is.then_some(at)
    }

    /// Loads one word into `rax`, extended as the register holds it.
    fn load_word(&mut self, memory: &Memory, from: MemoryOperand) {
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

    /// Sets `rdi` to the host address of lane 0's word of adjacent ones. If lane 0 is inactive,
    /// that word may lie outside the region.
    pub(super) fn adjacent(&mut self, memory: &Memory, room: Room, on: On, cold: Label) {
        let shift = memory.word.trailing_zeros() as i32;
        self.scalar_address(memory, room);
        // The check covers the first active lane to the last; a partial mask takes an out-of-line
        // path.
        let (part, back) = (self.asm.label(), self.asm.label());
        self.asm.rr(Op::Xor_r32_rm32, ECX, ECX);
        self.asm.ri64(RDX, 32 << shift);
        self.asm.ri(Op::Cmp_rm32_imm8, on.lanes, -1);
        self.asm.jump(Op::Jne_rel32_64, part);
        self.asm.bind(back);
        self.parts.push(Part { from: part, back, lanes: on.lanes, shift });
        match room {
            Room::Map(_) => self.asm.rr(Op::Add_r64_rm64, RAX, RCX),
            Room::Window(..) => self.asm.rr(Op::Add_r32_rm32, EAX, ECX),
        }
        self.locate(room, memory.word.into(), cold);
        self.count_access(memory, room.near(), on);
        self.asm.rr(Op::Sub_r64_rm64, RDI, RCX);
        self.look_ahead(memory, room);
    }

    /// Prefetches what later warps will probably access. Outside of loops, they access it soon. Any
    /// address will do: a prefetch never faults.
    fn look_ahead(&mut self, memory: &Memory, room: Room) {
        if room.near().is_none() || self.depths[self.block as usize] > 0 {
            return;
        }
        for line in 0..(32 * i64::from(memory.word)).max(LINE) / LINE {
            self.asm.m(Op::Prefetcht0_m8, at(RDI, AHEAD + LINE * line));
        }
    }

    pub(super) fn parts_out_of_line(&mut self) {
        for part in std::mem::take(&mut self.parts) {
            self.asm.bind(part.from);
            self.asm.rr(Op::Tzcnt_r32_rm32, ECX, part.lanes);
            self.asm.rr(Op::Lzcnt_r32_rm32, EDX, part.lanes);
            self.asm.rr(Op::Add_r32_rm32, EDX, ECX);
            self.asm.r(Op::Neg_rm32, EDX);
            self.asm.ri(Op::Add_rm32_imm8, EDX, 32);
            if part.shift > 0 {
                self.asm.ri(Op::Shl_rm32_imm8, ECX, part.shift);
                self.asm.ri(Op::Shl_rm32_imm8, EDX, part.shift);
            }
            self.asm.jump(Op::Jmp_rel32_64, part.back);
        }
    }

    /// Sets `rax` to the addend that turns the lanes' addresses into offsets in a region; jumps to
    /// `cold` if the region is not aligned. Returns operands for the region's length and host
    /// address, valid while `r8` is preserved.
    pub(super) fn in_region(
        &mut self,
        near: u32,
        memory: &Memory,
        cold: Label,
    ) -> (MemoryOperand, MemoryOperand) {
        let entry = i64::from(near) * RegionCache::SIZE;
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::REGIONS));
        self.asm.ri64(RAX, memory.offset as u64);
        self.asm.rm(Op::Mov_r64_rm64, RCX, at(R8, entry + RegionCache::BASE));
        self.asm.ri(Op::Test_rm32_imm32, ECX, memory.bytes() as i32 - 1);
        self.asm.jump(Op::Jne_rel32_64, cold);
        self.asm.rr(Op::Sub_r64_rm64, RAX, RCX);
        (at(R8, entry + RegionCache::LEN), at(R8, entry + RegionCache::BYTES))
    }

    /// Sets `rsi` to the greatest offset in bounds.
    pub(super) fn limit(&mut self, len: MemoryOperand, bytes: u64, cold: Label) {
        self.asm.rm(Op::Mov_r64_rm64, RSI, len);
        self.asm.ri(Op::Sub_rm64_imm32, RSI, bytes as i32);
        self.asm.jump(Op::Jb_rel32_64, cold);
    }

    pub(super) fn store(&mut self, memory: &Memory, on: On) -> bool {
        let mut pattern = Self::pattern(memory, memory.src.len());
        if memory.space == Space::Param {
            return false;
        }
        if pattern == Pattern::One {
            // The last lane's value must remain, as it does with a scatter.
            pattern = Pattern::Any;
        }

        let Some(room) = self.room(memory) else { return false };
        self.announce(memory, on);
        let (cold, back) = self.cold(on);
        if pattern == Pattern::Adjacent {
            self.adjacent(memory, room, on, cold);
        }
        let any = pattern == Pattern::Any;
        if !(any && self.store_together(memory, room, cold, on)) {
            self.vectors.store(self, &Access { memory, room, pattern }, on, cold);
        }
        self.count_memory(on);
        self.asm.mi(Op::Mov_rm32_imm32, at(RBP, Frame::PROGRESS), 1);
        self.asm.bind(back);
        true
    }
}

/// Returns whether code can be made for an access as far as local memory is concerned: the threads'
/// memory must fit the offsets, and launches in detail leave such accesses to the interpreter.
fn can_be_local(memory: &Memory, e: &Emitter<'_>) -> bool {
    memory.space != Space::Local || !e.detailed && e.code.local_bytes < 1 << 20
}

impl Emitter<'_> {
    /// Sets `rdi` to the host address that offsets into a window count from; for local memory, that
    /// of the warp's first lane. Clobbers `rcx`.
    pub(super) fn window(&mut self, memory: &Memory, bytes: i64) {
        self.asm.rm(Op::Mov_r64_rm64, RDI, at(RBP, bytes));
        if memory.space == Space::Local {
            self.asm.rm(Op::Mov_r64_rm64, RCX, at(RBP, Frame::WARP));
            self.asm.rm(Op::Add_r64_rm64, RDI, at(RCX, WarpContext::LOCAL));
        }
    }

    /// Returns the bytes of local memory per thread for an access to it.
    pub(super) fn apart_in_local(&self, memory: &Memory) -> Option<u64> {
        (memory.space == Space::Local).then_some(self.code.local_bytes as u64)
    }
}

/// Returns whether the words of neighbouring lanes may turn out to be contiguous at run time,
/// although the analysis does not know it.
pub(super) fn may_meet(memory: &Memory) -> bool {
    memory.words == 1
        && memory.space != Space::Local
        && !matches!(memory.addr, Src::Line(..) | Src::Const(_))
}
