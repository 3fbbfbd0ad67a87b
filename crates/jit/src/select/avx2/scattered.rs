//! Accesses whose addresses are rows of 64 bits: words are gathered, or moved one by one by way of
//! memory.

use super::Avx2;
use crate::frame::{Frame, LaneRoom, RegionCache};
use crate::select::level::Rows;
use crate::select::memory::{
    Fallback, PlaceWord, Places, Room, call_step, each_lane, short_load, short_store,
};
use crate::vcode::{Mem, Part, VReg, View};
use iced_x86::Code as Op;
use std::ops::Range;
use vector::{Access, Value};

use View::R64;

const AND: Op = Op::VEX_Vpand_ymm_ymm_ymmm256;
const SIGN: u64 = 1 << 63;
/// Bytes of the room by lane of the frame that offsets take.
const OFFSETS: i64 = 256;

/// Checked offsets of an access at any addresses.
struct Scattered {
    offsets: Vec<VReg>,
    /// What offsets count from.
    from: VReg,
    /// The lanes that code accesses: none if the interpreter has executed the step.
    lanes: VReg,
    /// Not 0 if it has.
    interpreted: VReg,
}

impl Avx2<'_, '_> {
    /// Checks the addresses of all lanes that are on, and has the interpreter execute the step if
    /// any is out of bounds or not aligned.
    fn scattered(
        &mut self,
        access: &Access,
        args: &[Value],
        mut fallback: Fallback,
    ) -> Option<Scattered> {
        self.note_access(access, args);
        self.limit_operands(&mut fallback);
        let Room::Map(entry) = self.room(access) else {
            self.refuse(crate::Refused::Unsound);
            return None;
        };
        let (offsets, bad, limit, from) = self.offsets(access, args, entry);
        let bad = self.f.def(Op::VEX_Vmovmskpd_r32_ymm, View::R32, (bad.y(),));
        let (lanes, interpreted) = self.checked(bad, limit, &fallback);
        Some(Scattered { offsets, from, lanes, interpreted })
    }

    /// Offsets from a region, plus 2^63: compared as signed numbers, they compare as unsigned ones.
    fn offsets(
        &mut self,
        access: &Access,
        args: &[Value],
        entry: i64,
    ) -> (Vec<VReg>, VReg, VReg, VReg) {
        let bytes = access.bytes();
        let regions = self.f.def(Op::Mov_r64_rm64, R64, (Mem::frame(Frame::REGIONS),));
        let field = |offset| Mem::at(regions, entry + offset);
        let start = self.f.constant((access.offset as u64).wrapping_add(SIGN));
        let start = self.f.alu(Op::Sub_r64_rm64, R64, start, (field(RegionCache::BASE),));
        let start = self.spread_long(start);
        let len = self.f.def(Op::Mov_r64_rm64, R64, (field(RegionCache::LEN),));
        let limit = self.f.alu(Op::Sub_rm64_imm32, R64, len, (bytes as i32,));
        let flipped = self.f.alu(Op::Btc_rm64_imm8, R64, limit, (63,));
        let limits = self.spread_long(flipped);
        let mut offsets = Vec::with_capacity(8);
        let mut bad = None;
        for part in 0..8 {
            let address = self.v(args[1], part);
            let offset = self.f.v3(Op::VEX_Vpaddq_ymm_ymm_ymmm256, address, start);
            let beyond = self.f.v3(Op::VEX_Vpcmpgtq_ymm_ymm_ymmm256, offset, limits);
            let odd = self.misaligned(access, address);
            bad = Some(self.also_bad(bad, args[0], part, [Some(beyond), odd]));
            offsets.push(offset);
        }
        let from = self.f.def(Op::Mov_r64_rm64, R64, (field(RegionCache::BYTES),));
        let from = self.f.alu(Op::Btc_rm64_imm8, R64, from, (63,));
        (offsets, bad.unwrap_or(limits), limit, from)
    }

    /// Returns the lanes in which an address is not aligned.
    fn misaligned(&mut self, access: &Access, address: VReg) -> Option<VReg> {
        let align = access.bytes();
        if align == 1 {
            return None;
        }
        let mut tested = address;
        if !(access.offset as u64).is_multiple_of(align) {
            let constant = self.constant(access.offset as u64, true);
            tested = self.f.v3(Op::VEX_Vpaddq_ymm_ymm_ymmm256, address, constant);
        }
        let low = self.constant(align - 1, true);
        let low = self.f.v3(AND, tested, low);
        let zero = self.row_const(0, true);
        Some(self.f.v3(Op::VEX_Vpcmpgtq_ymm_ymm_ymmm256, low, zero))
    }

    /// Adds what is wrong with the lanes of a part that are on.
    fn also_bad(
        &mut self,
        bad: Option<VReg>,
        mask: Value,
        part: usize,
        found: [Option<VReg>; 2],
    ) -> VReg {
        const OR: Op = Op::VEX_Vpor_ymm_ymm_ymmm256;
        let lanes = self.lanes_of(mask, part, true);
        let [Some(first), second] = found else { return lanes.vector };
        let found = second.map_or(first, |second| self.f.v3(OR, first, second));
        let op = if lanes.inverted { Op::VEX_Vpandn_ymm_ymm_ymmm256 } else { AND };
        let found = self.f.v3(op, lanes.vector, found);
        bad.map_or(found, |bad| self.f.v3(OR, bad, found))
    }

    /// Has the interpreter execute the step if a check has failed. Returns the lanes that code
    /// accesses, and whether the interpreter has.
    fn checked(&mut self, bad: VReg, limit: VReg, fallback: &Fallback) -> (VReg, VReg) {
        let mut p = self.f.pseudo();
        let [lanes, flag] = [(); 2].map(|()| p.output(View::R32));
        let [temp, other] = [(); 2].map(|()| p.temp(R64));
        let (slow, back) = (p.label(), p.label());
        p.op(Op::Mov_r32_rm32, (lanes.d(), fallback.lanes[0].d()));
        p.op(Op::Mov_r32_imm32, (flag.d(), 0));
        // A limit below zero is that of an empty room.
        p.int(Op::Test_rm64_r64, R64, (limit, limit));
        p.jump(Op::Js_rel32_64, slow);
        p.op(Op::Test_rm32_r32, (bad.d(), bad.d()));
        p.jump(Op::Jne_rel32_64, slow);
        p.bind(back);
        p.out_of_line();
        p.bind(slow);
        call_step(&mut p, fallback, [temp, other], &[lanes, flag]);
        p.op(Op::Xor_r32_rm32, (lanes.d(), lanes.d()));
        p.op(Op::Mov_r32_imm32, (flag.d(), 1));
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
        (lanes, flag)
    }

    pub(super) fn load_scattered(&mut self, access: &Access, args: &[Value], results: &[Value]) {
        let fallback = self.fallback(access, args);
        let Some(at) = self.scattered(access, args, fallback) else { return };
        let signs = (access.word >= 4).then(|| self.spread(at.lanes));
        for i in self.used(results) {
            let distance = i as i64 * i64::from(access.word);
            let parts: Vec<VReg> = match (access.word, signs) {
                (8, Some(signs)) => (0..8)
                    .map(|part| {
                        let by = self.sign_shifts(part, true);
                        let mask = self.f.v3(Op::VEX_Vpsllvq_ymm_ymm_ymmm256, signs, by);
                        let from = Mem::at(at.from, distance).index(at.offsets[part], 1);
                        self.gather(Op::VEX_Vpgatherqq_ymm_vm64y_ymm, View::Y, from, mask)
                    })
                    .collect(),
                (_, Some(signs)) => {
                    (0..4).map(|quarter| self.gather_words(&at, signs, quarter, distance)).collect()
                }
                _ => self.load_one_by_one(&at, access, distance),
            };
            let parts = self.or_interpreted(at.interpreted, access.step.results[i], parts);
            self.put_row(Some(results[i]), parts);
        }
    }

    /// Gathers a quarter of a row of 32-bit words.
    fn gather_words(&mut self, at: &Scattered, signs: VReg, quarter: usize, distance: i64) -> VReg {
        let from = Mem::at(at.from, distance);
        let by = self.sign_shifts(quarter, false);
        let mask = self.f.v3(Op::VEX_Vpsllvd_ymm_ymm_ymmm256, signs, by);
        let extract = Op::VEX_Vextracti128_xmmm128_ymm_imm8;
        let upper = self.f.def(extract, View::X, (mask.y(), 1));
        let [low, high] = [(0, mask), (1, upper)].map(|(half, mask)| {
            let from = from.index_part(at.offsets[2 * quarter + half], View::Y, 1);
            self.gather(Op::VEX_Vpgatherqd_xmm_vm64y_xmm, View::X, from, mask)
        });
        let insert = Op::VEX_Vinserti128_ymm_ymm_xmmm128_imm8;
        self.f.def(insert, View::V, (low, high.x(), 1))
    }

    /// Gathers the lanes whose sign in the mask is set.
    fn gather(&mut self, op: Op, view: View, from: Mem, mask: VReg) -> VReg {
        let zero = self.row_const(0, false);
        let mut p = self.f.pseudo();
        let to = p.output_tied(view, zero);
        let left = p.output_tied(view, mask);
        let part = |v: VReg| if view == View::X { v.x() } else { v.y() };
        p.op(op, (part(to), from, part(left)));
        p.end();
        to
    }

    /// Stores offsets as 64-bit values by lane in a part of the frame's room for lanes.
    fn put_offsets(&mut self, at: &Scattered, room: i64) {
        for (part, &offsets) in at.offsets.iter().enumerate() {
            let to = Mem::frame(Frame::LANE_ROOM + 256 * room + 32 * part as i64);
            self.f.store(Op::VEX_Vmovdqu_ymmm256_ymm, to, offsets);
        }
    }

    /// Implements [`Accesses::places`](crate::select::level::Accesses::places).
    pub(super) fn places_of_addresses(
        &mut self,
        access: &Access,
        args: &[Value],
        fallback: Fallback,
        part: i64,
    ) -> Option<Places> {
        let at = self.scattered(access, args, fallback)?;
        self.put_offsets(&at, part);
        let Scattered { from, lanes, interpreted, .. } = at;
        Some(Places { from, scale: 1, word: PlaceWord::Long, part, lanes, interpreted })
    }

    /// Loads short words lane by lane.
    fn load_one_by_one(&mut self, at: &Scattered, access: &Access, distance: i64) -> Vec<VReg> {
        self.put_offsets(at, 0);
        let load = short_load(access);
        let room = Mem::frame(Frame::LANE_ROOM);
        let mut p = self.f.pseudo();
        let [left, lane, word] = [(); 3].map(|()| p.temp(R64));
        p.op(Op::Mov_r32_rm32, (left.d(), at.lanes.d()));
        each_lane(&mut p, left, lane, |p| {
            p.op(Op::Mov_r64_rm64, (word, room.index(lane, 8)));
            p.op(load, (word.d(), Mem::at(at.from, distance).index(word, 1)));
            p.op(Op::Mov_rm32_r32, (room.offset(OFFSETS).index(lane, 4), word.d()));
        });
        p.end();
        (0..4)
            .map(|part| self.f.v2(Op::VEX_Vmovdqu_ymm_ymmm256, room.offset(OFFSETS + 32 * part)))
            .collect()
    }

    pub(super) fn store_scattered(&mut self, access: &Access, args: &[Value]) {
        let fallback = self.fallback(access, args);
        let Some(at) = self.scattered(access, args, fallback) else { return };
        self.f.effect(Op::Mov_rm32_imm32, (Mem::frame(Frame::PROGRESS), 1));
        self.put_offsets(&at, 0);
        let room = Mem::frame(Frame::LANE_ROOM);
        let wide = access.word == 8;
        let row = if wide { 256 } else { 128 };
        let data = 1 + access.shape.operands();
        let count = args.len() - data - access.step.operands.len();
        // Lanes' words are aligned to all of them: none overlap in part, so that the order of
        // words does not matter.
        let most = (size_of::<LaneRoom>() - OFFSETS as usize) / row;
        for first in (0..count).step_by(most) {
            let words = first..count.min(first + most);
            for i in words.clone() {
                for part in 0..row / 32 {
                    let value = self.v(args[data + i], part);
                    let to = room.offset(OFFSETS + (row * (i - first) + 32 * part) as i64);
                    self.f.store(Op::VEX_Vmovdqu_ymmm256_ymm, to, value);
                }
            }
            self.store_one_by_one(&at, access, words);
        }
    }

    /// Stores some of the words of each lane, lane by lane.
    fn store_one_by_one(&mut self, at: &Scattered, access: &Access, words: Range<usize>) {
        let room = Mem::frame(Frame::LANE_ROOM);
        let wide = access.word == 8;
        let row = if wide { 256 } else { 128 };
        let mut p = self.f.pseudo();
        let [left, lane, place, word] = [(); 4].map(|()| p.temp(R64));
        p.op(Op::Mov_r32_rm32, (left.d(), at.lanes.d()));
        each_lane(&mut p, left, lane, |p| {
            p.op(Op::Mov_r64_rm64, (place, room.index(lane, 8)));
            for i in words.clone() {
                let value = room.offset(OFFSETS + (row * (i - words.start)) as i64);
                let to = Mem::at(at.from, i as i64 * i64::from(access.word)).index(place, 1);
                if wide {
                    p.op(Op::Mov_r64_rm64, (word, value.index(lane, 8)));
                } else {
                    p.op(Op::Mov_r32_rm32, (word.d(), value.index(lane, 4)));
                }
                match access.word {
                    4 => p.op(Op::Mov_rm32_r32, (to, word.d())),
                    8 => p.op(Op::Mov_rm64_r64, (to, word)),
                    _ => short_store(p, access, to, word),
                };
            }
        });
        p.end();
    }

    /// Puts a 64-bit value into all lanes of a vector.
    fn spread_long(&mut self, value: VReg) -> VReg {
        let word = self.f.def(Op::VEX_Vmovq_xmm_rm64, View::X, (value,));
        self.f.v2(Op::VEX_Vpbroadcastq_ymm_xmmm64, word.x())
    }
}
