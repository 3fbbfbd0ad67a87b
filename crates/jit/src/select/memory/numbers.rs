//! Accesses whose addresses are rows of 32-bit numbers: what all levels of vector instructions have
//! in common.

use super::layouts::{Offsets, add};
use super::{Fallback, PlaceWord, Places, Room, each_lane};
use crate::frame::{Frame, RegionCache};
use crate::select::{Located, Mask, Selector};
use crate::vcode::{Local, Mem, Part, Pseudo, VReg};
use crate::warp_context::WarpContext;
use iced_x86::Code as Op;
use ir::mods::Space;
use vector::{Access, Value};

/// What an access is begun for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::select) enum Purpose {
    Load,
    Store,
    /// To find the places of words, which are then accessed lane by lane.
    Places,
}

/// An access to rows of numbers.
pub(in crate::select) struct NumberedAccess<'a> {
    pub(in crate::select) access: &'a Access,
    pub(in crate::select) located: Option<Located>,
    pub(in crate::select) room: Room,
    pub(in crate::select) offsets: Offsets,
    pub(in crate::select) lanes: Mask,
    pub(in crate::select) fallback: Fallback,
}

impl Selector<'_> {
    /// Begins an access to rows of numbers.
    pub(in crate::select) fn numbered_access<'a>(
        &mut self,
        access: &'a Access,
        args: &[Value],
        purpose: Purpose,
        fallback: Fallback,
    ) -> NumberedAccess<'a> {
        let offsets = self.numbers(access, args);
        let located = match purpose {
            Purpose::Load => self.located(access, args, &offsets, true),
            Purpose::Store => self.located(access, args, &offsets, false),
            Purpose::Places => None,
        };
        if located.is_none() {
            self.note_access(access, args);
        }
        NumberedAccess {
            access,
            located,
            room: self.room(access),
            offsets,
            lanes: self.mask(args[0]),
            fallback,
        }
    }
}

impl NumberedAccess<'_> {
    pub(in crate::select) fn wide(&self) -> bool {
        self.access.word == 8
    }

    /// The base-2 logarithm of the unit of numbers.
    fn shift(&self) -> u8 {
        self.offsets.indexed.map_or(0, |(_, scale)| scale.shift)
    }

    /// Returns the low bits of the numbers of misaligned addresses. The alignment of the scalar
    /// that indices are added to is checked apart.
    pub(in crate::select) fn odd_bits(&self) -> u64 {
        (self.access.bytes() - 1) >> self.shift().min(63)
    }

    /// Puts the greatest number in bounds of a window into the first register, and what numbers
    /// count from into the second.
    pub(in crate::select) fn window_bounds(
        &self,
        p: &mut Pseudo<'_>,
        [limit, from]: [VReg; 2],
        cold: Local,
    ) {
        let Room::Window(bytes, len) = self.room else { return };
        p.op(Op::Mov_r64_rm64, (from, Mem::frame(bytes)));
        if self.access.space == Space::Local {
            p.op(Op::Mov_r64_rm64, (limit, Mem::frame(Frame::WARP)));
            p.op(Op::Add_r64_rm64, (from, Mem::at(limit, WarpContext::LOCAL)));
        }
        p.op(Op::Mov_r64_rm64, (limit, Mem::frame(len)));
        p.op(Op::Sub_rm64_imm32, (limit, self.access.bytes() as i32));
        p.jump(Op::Jb_rel32_64, cold);
    }

    /// Puts the least index in bounds, the greatest one minus the least, and the host address that
    /// indices count from into registers. Goes to `cold` if there is none.
    pub(in crate::select) fn index_bounds(
        &self,
        p: &mut Pseudo<'_>,
        [low, high, from, region]: [VReg; 4],
        cold: Local,
    ) {
        let (Some((base, scale)), Room::Map(entry)) = (self.offsets.indexed, self.room) else {
            return;
        };
        let shift = i32::from(scale.shift);
        p.op(Op::Mov_r64_rm64, (from, base));
        add(p, from, low, self.access.offset);
        let align = self.access.bytes() as i32 - 1;
        if align > 0 {
            // Units below the alignment are checked by lane.
            p.op(Op::Test_rm32_imm32, (from.d(), align));
            p.jump(Op::Jne_rel32_64, cold);
        }
        p.op(Op::Mov_r64_rm64, (region, Mem::frame(Frame::REGIONS)));
        let field = |offset| Mem::at(region, entry + offset);
        p.op(Op::Sub_r64_rm64, (from, field(RegionCache::BASE)));
        // Numbers from -(from >> shift) to (len - bytes - from) >> shift are in bounds.
        p.op(Op::Mov_r64_rm64, (high, field(RegionCache::LEN)));
        p.op(Op::Sub_rm64_imm32, (high, self.access.bytes() as i32));
        p.op(Op::Sub_r64_rm64, (high, from));
        p.op(Op::Mov_r64_rm64, (low, from));
        if shift > 0 {
            p.op(Op::Sar_rm64_imm8, (high, shift));
            p.op(Op::Sar_rm64_imm8, (low, shift));
        }
        p.op(Op::Neg_rm64, (low,));
        p.op(Op::Add_r64_rm64, (from, field(RegionCache::BYTES)));
        // Gathers scale by 8 at most, and read numbers with their signs.
        let most = i64::from(i32::MAX) >> (shift - 3).max(0);
        let least = if scale.signed { -most - 1 } else { 0 };
        let bound = region;
        p.op(Op::Mov_rm64_imm32, (bound, least as i32));
        p.op(Op::Cmp_r64_rm64, (low, bound));
        p.op(Op::Cmovl_r64_rm64, (low, bound));
        p.op(Op::Mov_rm64_imm32, (bound, most as i32));
        p.op(Op::Cmp_r64_rm64, (high, bound));
        p.op(Op::Cmovg_r64_rm64, (high, bound));
        p.op(Op::Sub_r64_rm64, (high, low));
        p.jump(Op::Jl_rel32_64, cold);
    }

    /// Returns the unit of numbers as a scale of addresses, and by how much numbers are shifted
    /// before.
    pub(in crate::select) fn scale(&self) -> (u8, i32) {
        let shift = self.shift();
        (1 << shift.min(3), i32::from(shift.saturating_sub(3)))
    }

    /// Ends the code that needs no layout. It is in line if there is no other code, else out of it.
    pub(in crate::select) fn end_scattered(&self, p: &mut Pseudo<'_>, back: Local) {
        if self.located.is_some() {
            p.jump(Op::Jmp_rel32_64, back);
        } else {
            p.bind(back);
            p.out_of_line();
        }
    }

    /// Stores the addresses where the interpreter reads them, if it does.
    pub(in crate::select) fn store_addresses(
        &self,
        p: &mut Pseudo<'_>,
        context: VReg,
        temps: [VReg; 2],
    ) {
        if let Some(home) = self.access.row {
            self.offsets.store_at(p, self.fallback.codes, home, (context, temps));
        }
    }

    /// Returns that places are in a part of the frame's room for lanes: what they count from, the
    /// lanes that code accesses, and whether the interpreter has executed the step.
    pub(in crate::select) fn in_frame(
        &self,
        from: VReg,
        part: i64,
        (lanes, interpreted): (VReg, VReg),
    ) -> Places {
        let word = PlaceWord::Short { signed: self.offsets.indexed.is_some() };
        Places { from, scale: self.scale().0, word, part, lanes, interpreted }
    }

    /// Calls a function for code that is executed for each lane of a mask in turn, with registers
    /// of the lane's number and of its place, which may change, and the scale of places. Places
    /// are in the frame's room for lanes.
    pub(in crate::select) fn by_lane(
        &self,
        p: &mut Pseudo<'_>,
        lanes: &[VReg],
        [left, lane, place]: [VReg; 3],
        body: impl FnOnce(&mut Pseudo<'_>, VReg, VReg, u8),
    ) {
        let (scale, _) = self.scale();
        (self.fallback.codes.bits_to)(p, lanes, left, lane);
        each_lane(p, left, lane, |p| {
            let from = lane_word(0, lane);
            match self.offsets.indexed {
                Some(_) => p.op(Op::Movsxd_r64_rm32, (place, from)),
                None => p.op(Op::Mov_r32_rm32, (place.d(), from)),
            };
            body(p, lane, place, scale);
        });
    }
}

/// Returns the word of a lane in a part of the frame's room for lanes.
pub(in crate::select) fn lane_word(part: i64, lane: VReg) -> Mem {
    Mem::frame(Frame::LANE_ROOM + 128 * part).index(lane, 4)
}
