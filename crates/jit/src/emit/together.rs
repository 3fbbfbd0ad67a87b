//! Layouts of shared-memory words, shared by accesses through the same row of addresses with
//! different constant offsets.
//!
//! Tiled kernels access shared memory through one row of addresses and growing constant offsets.
//! The layout of its words (contiguous or broadcast, by part of a row) is classified once per block
//! and cached in an entry of the frame. Each access then needs one comparison before it accesses
//! the words of a whole part at once; accesses that fail it take the path for arbitrary addresses,
//! out of line.

use super::memory::{Access, Pattern, Room};
use super::{ALL, Emitter, On};
use crate::asm::{Label, at};
use crate::frame::{Frame, WordLayout};
use fast::code::{Dst, Kind, Memory, Src, Step};
use iced_x86::{Code as Op, MemoryOperand, Register};
use ir::mods::Space;

use Register::{EBX, ECX, RAX, RBP, RCX, RDI, RDX, RSI};

/// A row of addresses whose layout an entry of the frame holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    addr: Src,
    entry: usize,
}

/// The out-of-line path of an access, for when its offset exceeds the entry's limit.
pub(super) struct Elsewhere {
    from: Label,
    back: Label,
    cold: Label,
    block: u32,
    step: u32,
    entry: usize,
    room: Room,
}

/// The words of a part of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// One word per lane, for all lanes or for the running ones.
    All,
    Masked,
    /// One word for all lanes.
    One,
}

/// A limit below every offset.
const NONE: i32 = i32::MIN;

/// Returns whether a step writes, or may write, a row of addresses.
fn writes(step: &Step, addr: Src) -> bool {
    let mut found = false;
    let known = step.results(&mut |dst| {
        found |= match (dst, addr) {
            (Dst::Narrow(a), Src::Narrow(b)) | (Dst::Wide(a), Src::Wide(b)) => a == b,
            (Dst::Pair(low, high), Src::Wide(b)) => low == b || high == b,
            _ => false,
        };
    });
    found || !known
}

/// Returns the constant offset of an access to one aligned 32-bit word of shared memory through a
/// row of addresses.
fn offset(memory: &Memory) -> Option<i32> {
    let rows = matches!(memory.addr, Src::Narrow(_) | Src::Wide(_));
    let one = memory.word == 4 && memory.words == 1 && memory.extend.is_none();
    let whole = memory.offset >= 0 && memory.offset % 4 == 0;
    let is = memory.space == Space::Shared && rows && one && whole;
    i32::try_from(memory.offset).ok().filter(|_| is)
}

impl Emitter<'_> {
    /// Forgets all layouts: at the beginning of a block, and where other warps may have run.
    pub(super) fn begin_together(&mut self) {
        self.known.clear();
    }

    /// Forgets the layouts of rows that a step has written.
    pub(super) fn written_together(&mut self, step: &Step) {
        self.known.retain(|known| !writes(step, known.addr));
    }

    /// Returns the entry for an access's addresses. Classifies their layout here if there is none
    /// yet and other accesses will use it.
    fn entry_of(&mut self, memory: &Memory, on: On) -> Option<usize> {
        let parts = self.vectors.parts();
        if offset(memory).is_none() || on.lanes != ALL.lanes || parts == 0 {
            return None;
        }
        if let Some(known) = self.known.iter().find(|k| k.addr == memory.addr) {
            return Some(known.entry);
        }
        if !self.vectors.lays_once() && !self.comes_again(memory) {
            return None;
        }
        let taken = |entry: &usize| self.known.iter().any(|k| k.entry == *entry);
        let free = (0..WordLayout::COUNT).find(|entry| !taken(entry));
        let entry = free.unwrap_or_else(|| self.known.remove(0).entry);
        self.known.push(Known { addr: memory.addr, entry });
        self.find_out(memory.addr, entry, parts);
        Some(entry)
    }

    /// Returns whether a later access of the block uses the same row of addresses.
    fn comes_again(&self, memory: &Memory) -> bool {
        let block = &self.code.blocks[self.block as usize];
        let now = self.now as usize;
        if writes(&self.code.steps[now], memory.addr) {
            return false;
        }
        for step in &self.code.steps[now + 1..block.steps.end] {
            let other = match &step.kind {
                Kind::Barrier { .. } => return false,
                Kind::Load(other) | Kind::Store(other) if step.guard.is_none() => Some(other),
                _ => None,
            };
            if other.is_some_and(|o| o.addr == memory.addr && offset(o).is_some()) {
                return true;
            }
            if writes(step, memory.addr) {
                return false;
            }
        }
        false
    }

    /// Classifies the layout of a row of addresses and fills its entry.
    fn find_out(&mut self, addr: Src, entry: usize, parts: usize) {
        let (none, side, one) = (self.asm.label(), self.asm.label(), self.asm.label());
        let (adjacent, masked) = (Frame::adjacent(entry), Frame::masked(entry));
        let same = Frame::same(entry);
        for most in [adjacent, masked, same] {
            self.asm.mi(Op::Mov_rm64_imm32, at(RBP, most), NONE);
        }
        if !self.vectors.has_masks() {
            self.asm.ri(Op::Cmp_rm32_imm8, EBX, -1);
            self.asm.jump(Op::Jne_rel32_64, none);
        }
        self.vectors.lay(self, addr, entry, (side, one));
        self.asm.jump(Op::Jmp_rel32_64, none);
        self.asm.bind(side);
        self.rooms(entry, parts, none);
        self.asm.ri(Op::Sub_rm64_imm32, RSI, 128 / parts as i32);
        let part = self.asm.label();
        if self.vectors.has_masks() {
            self.asm.ri(Op::Cmp_rm32_imm8, EBX, -1);
            self.asm.jump(Op::Jne_rel32_64, part);
        }
        self.asm.mr(Op::Mov_rm64_r64, at(RBP, adjacent), RSI);
        self.asm.jump(Op::Jmp_rel32_64, none);
        self.asm.bind(part);
        self.asm.mr(Op::Mov_rm64_r64, at(RBP, masked), RSI);
        self.asm.jump(Op::Jmp_rel32_64, none);
        self.asm.bind(one);
        self.rooms(entry, parts, none);
        self.asm.ri(Op::Sub_rm64_imm32, RSI, 4);
        self.asm.mr(Op::Mov_rm64_r64, at(RBP, same), RSI);
        self.asm.bind(none);
    }

    /// Converts the addresses of the parts' first lanes to host addresses; sets `rsi` to the bytes
    /// from the highest of them to the end of shared memory. Jumps to `none` if one is not aligned.
    fn rooms(&mut self, entry: usize, parts: usize, none: Label) {
        self.asm.rm(Op::Mov_r64_rm64, RDX, at(RBP, Frame::first(entry, 0)));
        self.asm.rr(Op::Mov_r64_rm64, RCX, RDX);
        for part in 1..parts {
            self.asm.rm(Op::Mov_r64_rm64, RAX, at(RBP, Frame::first(entry, part)));
            self.asm.rr(Op::Or_r64_rm64, RCX, RAX);
            self.asm.rr(Op::Cmp_r64_rm64, RAX, RDX);
            self.asm.rr(Op::Cmova_r64_rm64, RDX, RAX);
        }
        self.asm.ri(Op::Test_rm32_imm32, ECX, 3);
        self.asm.jump(Op::Jne_rel32_64, none);
        self.asm.rm(Op::Mov_r64_rm64, RSI, at(RBP, Frame::SHARED_LEN));
        self.asm.rr(Op::Sub_r64_rm64, RSI, RDX);
        self.asm.rm(Op::Mov_r64_rm64, RDI, at(RBP, Frame::SHARED));
        for part in 0..parts {
            self.asm.mr(Op::Add_rm64_r64, at(RBP, Frame::first(entry, part)), RDI);
        }
    }

    /// Compiles a load through an entry; returns whether there is one.
    pub(super) fn load_together(
        &mut self,
        memory: &Memory,
        room: Room,
        cold: Label,
        on: On,
    ) -> bool {
        let [Dst::Narrow(row)] = memory.dst[..] else { return false };
        let Some(entry) = self.entry_of(memory, on) else { return false };
        let back = self.elsewhere(memory, entry, (room, cold));
        self.load_parts(memory, entry, row, Words::All);
        self.asm.bind(back);
        true
    }

    /// Compiles a store through an entry; returns whether there is one.
    pub(super) fn store_together(
        &mut self,
        memory: &Memory,
        room: Room,
        cold: Label,
        on: On,
    ) -> bool {
        let Some(entry) = self.entry_of(memory, on) else { return false };
        let back = self.elsewhere(memory, entry, (room, cold));
        for part in 0..self.vectors.parts() {
            let to = (entry, memory.offset);
            self.vectors.store_part(self, memory.src[0], part, to, false);
        }
        self.asm.bind(back);
        true
    }

    fn elsewhere(&mut self, memory: &Memory, entry: usize, (room, cold): (Room, Label)) -> Label {
        let (from, back) = (self.asm.label(), self.asm.label());
        self.unless_inside(Frame::adjacent(entry), memory, from);
        let (block, step) = (self.block, self.now);
        self.elsewhere.push(Elsewhere { from, back, cold, block, step, entry, room });
        back
    }

    /// Jumps to `to` if the access's offset exceeds an entry's limit.
    fn unless_inside(&mut self, most: i64, memory: &Memory, to: Label) {
        self.asm.mi(Op::Cmp_rm64_imm32, at(RBP, most), memory.offset as i32);
        self.asm.jump(Op::Jl_rel32_64, to);
    }

    /// Returns a part's memory operand at an offset from an entry. Clobbers `rax`.
    pub(super) fn part_at(&mut self, (entry, offset): (usize, i64), part: usize) -> MemoryOperand {
        self.asm.rm(Op::Mov_r64_rm64, RAX, at(RBP, Frame::first(entry, part)));
        at(RAX, offset)
    }

    fn load_parts(&mut self, memory: &Memory, entry: usize, row: u32, words: Words) {
        for part in 0..self.vectors.parts() {
            let from = self.part_at((entry, memory.offset), part);
            self.vectors.load_part(self, (row, part), from, words);
        }
    }

    /// Compiles the accesses whose offset exceeds the entry's limit.
    pub(super) fn elsewhere_out_of_line(&mut self) {
        let code = self.code;
        let mut block = None;
        for access in std::mem::take(&mut self.elsewhere) {
            let step = &code.steps[access.step as usize];
            let Some((memory, _)) = step.access() else { continue };
            (self.block, self.now, self.blend) = (access.block, access.step, step.blend);
            if block.replace(access.block) != Some(access.block) {
                self.uses.turn_to(code, access.block as usize);
            }
            self.asm.bind(access.from);
            let any = Access { memory, room: access.room, pattern: Pattern::Any };
            let (masked, general) = (self.asm.label(), self.asm.label());
            let has_masks = self.vectors.has_masks();
            if let (Kind::Load(_), [Dst::Narrow(row)]) = (&step.kind, &memory.dst[..]) {
                self.unless_inside(Frame::same(access.entry), memory, masked);
                self.load_parts(memory, access.entry, *row, Words::One);
                self.asm.jump(Op::Jmp_rel32_64, access.back);
                self.asm.bind(masked);
                if has_masks {
                    self.unless_inside(Frame::masked(access.entry), memory, general);
                    self.load_parts(memory, access.entry, *row, Words::Masked);
                    self.asm.jump(Op::Jmp_rel32_64, access.back);
                }
                self.asm.bind(general);
                self.vectors.load(self, &any, ALL, access.cold);
            } else {
                if has_masks {
                    self.unless_inside(Frame::masked(access.entry), memory, general);
                    let to = (access.entry, memory.offset);
                    for part in 0..self.vectors.parts() {
                        self.vectors.store_part(self, memory.src[0], part, to, true);
                    }
                    self.asm.jump(Op::Jmp_rel32_64, access.back);
                }
                self.asm.bind(general);
                self.vectors.store(self, &any, ALL, access.cold);
            }
            self.asm.jump(Op::Jmp_rel32_64, access.back);
        }
    }
}
