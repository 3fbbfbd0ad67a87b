//! Accesses whose addresses are rows of 64 bits: gathers and scatters.

use super::Avx512;
use super::numbers::LOAD;
use crate::frame::{Frame, RegionCache};
use crate::select::level::Rows;
use crate::select::memory::{
    Fallback, PlaceWord, Places, Room, call_step, each_lane, short_load, short_store,
};
use crate::vcode::{Mem, Part, Pseudo, VReg, View};
use iced_x86::Code as Op;
use vector::{Access, Value};

use View::R64;

/// Where words of 32 bits are in the frame while they are accessed lane by lane.
const WORDS: i64 = Frame::LANE_ROOM + 256;

/// An access at any addresses.
struct Scattered {
    /// By quarter of the lanes.
    offsets: [VReg; 4],
    /// Lanes whose check has failed.
    bad: VReg,
    /// The greatest offset in bounds, if it is not negative.
    limit: VReg,
    /// What offsets count from.
    from: VReg,
}

impl Avx512<'_, '_> {
    /// Begins an access at any addresses: vectors of checked offsets, the mask of lanes whose check
    /// has failed, and what the offsets count from.
    fn offsets(&mut self, access: &Access, args: &[Value], entry: i64) -> Scattered {
        let align = access.bytes();
        let regions = self.f.def(Op::Mov_r64_rm64, R64, (Mem::frame(Frame::REGIONS),));
        let field = |offset| Mem::at(regions, entry + offset);
        let base = self.f.def(Op::Mov_r64_rm64, R64, (field(RegionCache::BASE),));
        let base = self.f.alu(Op::Neg_rm64, R64, base, ());
        let base = match self.offset(access) {
            Ok(0) => base,
            Ok(offset) => self.f.alu(Op::Add_rm64_imm32, R64, base, (offset,)),
            Err(offset) => self.f.alu(Op::Add_r64_rm64, R64, base, (offset,)),
        };
        let base = self.f.v2(Op::EVEX_Vpbroadcastq_zmm_k1z_r64, base);
        let len = self.f.def(Op::Mov_r64_rm64, R64, (field(RegionCache::LEN),));
        // Without a region, or with one that is too small, the limit is 0 and wraps.
        let limit = self.f.alu(Op::Sub_rm64_imm32, R64, len, (align as i32,));
        let limits = self.f.v2(Op::EVEX_Vpbroadcastq_zmm_k1z_r64, limit);
        let masks = self.quarters(args[0]);
        let low = Mem::pool(self.pool.word(align - 1)).broadcast();
        let constant = Mem::pool(self.pool.word(access.offset as u64)).broadcast();
        let mut bad = Vec::new();
        let offsets = [0, 1, 2, 3].map(|quarter| {
            let (address, mask) = (self.v(args[1], quarter), masks[quarter]);
            let offset = self.f.v3(Op::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, address, base);
            let compare = Op::EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8;
            bad.push(self.f.masked(mask).compare(compare, offset, limits, 6));
            if align > 1 {
                let test = Op::EVEX_Vptestmq_kr_k1_zmm_zmmm512b64;
                let add = Op::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64;
                let tested = match access.offset as u64 & (align - 1) {
                    0 => address,
                    _ => self.f.v3(add, address, constant),
                };
                bad.push(self.f.masked(mask).test(test, tested, low));
            }
            offset
        });
        let mut all = bad[0];
        for &mask in &bad[1..] {
            all = self.f.k3(Op::VEX_Korw_kr_kr_kr, all, mask);
        }
        let from = self.f.def(Op::Mov_r64_rm64, R64, (field(RegionCache::BYTES),));
        Scattered { offsets, bad: all, limit, from }
    }

    /// Begins an access and checks it. Returns a mask of all lanes if the interpreter has executed
    /// the step, else of none, and the same in a general register.
    fn scattered(&mut self, access: &Access, args: &[Value]) -> Option<(Scattered, VReg, VReg)> {
        let fallback = self.fallback(access, args);
        self.scattered_or(access, args, &fallback)
    }

    fn scattered_or(
        &mut self,
        access: &Access,
        args: &[Value],
        fallback: &Fallback,
    ) -> Option<(Scattered, VReg, VReg)> {
        self.note_access(access, args);
        let Room::Map(entry) = self.room(access) else {
            self.refuse(crate::Refused::Unsound);
            return None;
        };
        let at = self.offsets(access, args, entry);
        let (none, slow) = self.checked(&at, fallback);
        Some((at, none, slow))
    }

    /// Implements [`Accesses::places`](crate::select::level::Accesses::places).
    pub(super) fn places_of_addresses(
        &mut self,
        access: &Access,
        args: &[Value],
        fallback: &Fallback,
        part: i64,
    ) -> Option<Places> {
        let (at, _, interpreted) = self.scattered_or(access, args, fallback)?;
        for (quarter, &offsets) in at.offsets.iter().enumerate() {
            let to = Mem::frame(Frame::LANE_ROOM + 256 * part + 64 * quarter as i64);
            self.f.store(Op::EVEX_Vmovdqa32_zmmm512_k1z_zmm, to, offsets);
        }
        let lanes = self.mask_bits(args[0]);
        let andn = Op::VEX_Andn_r32_r32_rm32;
        let lanes = self.f.def(andn, View::R32, (interpreted.d(), lanes.d()));
        Some(Places { from: at.from, scale: 1, word: PlaceWord::Long, part, lanes, interpreted })
    }

    pub(super) fn gather_words(&mut self, access: &Access, args: &[Value], results: &[Value]) {
        // If a check fails, no lane is gathered here, and the interpreter's results are taken.
        let Some((at, none, slow)) = self.scattered(access, args) else { return };
        for i in self.used(results) {
            let distance = i as i64 * i64::from(access.word);
            let parts: Vec<VReg> = match access.word {
                1 | 2 => self.load_short(access, &at, distance, (args[0], slow)),
                8 => {
                    let op = Op::EVEX_Vpgatherqq_zmm_k1_vm64z;
                    self.gather_quarters(&at, distance, (args[0], none), op, View::Z).to_vec()
                }
                _ => {
                    let op = Op::EVEX_Vpgatherqd_ymm_k1_vm64z;
                    let words = self.gather_quarters(&at, distance, (args[0], none), op, View::Y);
                    let insert = Op::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8;
                    [0, 2]
                        .map(|q| self.f.def(insert, View::V, (words[q], words[q + 1].y(), 1)))
                        .to_vec()
                }
            };
            let parts = self.or_interpreted(slow, access.step.results[i], parts);
            self.put_row(Some(results[i]), parts);
        }
    }

    /// Gathers a word of each active lane, by quarter.
    fn gather_quarters(
        &mut self,
        at: &Scattered,
        distance: i64,
        (lanes, none): (Value, VReg),
        op: Op,
        view: View,
    ) -> [VReg; 4] {
        let masks = self.quarters(lanes);
        [0, 1, 2, 3].map(|quarter| {
            let from = Mem::at(at.from, distance).index(at.offsets[quarter], 1);
            let mask = self.f.k3(Op::VEX_Kandnw_kr_kr_kr, none, masks[quarter]);
            let zero = self.row_const(0, false);
            self.f.gather(op, view, from, mask, zero)
        })
    }

    /// Loads words of 8 or 16 bits, one lane after the other.
    fn load_short(
        &mut self,
        access: &Access,
        at: &Scattered,
        distance: i64,
        lanes: (Value, VReg),
    ) -> Vec<VReg> {
        let (load, from) = (short_load(access), at.from);
        self.by_lane(at, lanes, &[], |p, lane, place| {
            p.op(load, (place.d(), Mem::at(from, distance).index(place, 1)));
            p.op(Op::Mov_rm32_r32, (Mem::frame(WORDS).index(lane, 4), place.d()));
        });
        [0, 1].map(|half| self.f.v2(LOAD, Mem::frame(WORDS + 64 * half))).to_vec()
    }

    /// Stores words of 8 or 16 bits, one lane after the other.
    fn store_short(
        &mut self,
        access: &Access,
        at: &Scattered,
        distance: i64,
        lanes: (Value, VReg),
        data: Value,
    ) {
        let (rows, from) = ([0, 1].map(|part| self.v(data, part)), at.from);
        self.by_lane(at, lanes, &rows, |p, lane, place| {
            p.op(Op::Mov_r32_rm32, (lane.d(), Mem::frame(WORDS).index(lane, 4)));
            short_store(p, access, Mem::at(from, distance).index(place, 1), lane);
        });
    }

    /// Calls a function for code that is executed for each active lane in turn, unless the
    /// interpreter has executed the step, with registers of the lane's number and of its offset,
    /// which may change. Words are in the room for lanes.
    fn by_lane(
        &mut self,
        at: &Scattered,
        (lanes, interpreted): (Value, VReg),
        words: &[VReg],
        body: impl FnOnce(&mut Pseudo<'_>, VReg, VReg),
    ) {
        let masks = self.m(lanes);
        let mut p = self.f.pseudo();
        let [left, lane, place] = [(); 3].map(|()| p.temp(R64));
        let store = Op::EVEX_Vmovdqa32_zmmm512_k1z_zmm;
        for (quarter, &offsets) in at.offsets.iter().enumerate() {
            p.op(store, (Mem::frame(Frame::LANE_ROOM + 64 * quarter as i64), offsets));
        }
        for (half, &words) in words.iter().enumerate() {
            p.op(store, (Mem::frame(WORDS + 64 * half as i64), words));
        }
        super::bits_to(&mut p, &masks, left, lane);
        p.op(Op::VEX_Andn_r32_r32_rm32, (left.d(), interpreted.d(), left.d()));
        each_lane(&mut p, left, lane, |p| {
            p.op(Op::Mov_r64_rm64, (place, Mem::frame(Frame::LANE_ROOM).index(lane, 8)));
            body(p, lane, place);
        });
        p.end();
    }

    /// Has the interpreter execute the step if a check has failed. Returns a mask of all lanes if
    /// so, else of none, and the same in a general register.
    fn checked(&mut self, at: &Scattered, fallback: &Fallback) -> (VReg, VReg) {
        let mut p = self.f.pseudo();
        let flag = p.output(View::R32);
        let [temp, other] = [(); 2].map(|()| p.temp(R64));
        let (slow, back) = (p.label(), p.label());
        p.op(Op::Mov_r32_imm32, (flag.d(), 0));
        // A limit below zero is that of an empty room.
        p.int(Op::Test_rm64_r64, R64, (at.limit, at.limit));
        p.jump(Op::Js_rel32_64, slow);
        p.op(Op::VEX_Kortestw_kr_kr, (at.bad, at.bad));
        p.jump(Op::Jne_rel32_64, slow);
        p.bind(back);
        p.out_of_line();
        p.bind(slow);
        call_step(&mut p, fallback, [temp, other], &[]);
        p.op(Op::Mov_r32_imm32, (flag.d(), -1));
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
        let none = self.f.k2(Op::VEX_Kmovd_kr_r32, flag.d());
        (none, flag)
    }

    pub(super) fn scatter_words(&mut self, access: &Access, args: &[Value]) {
        let Some((at, none, slow)) = self.scattered(access, args) else { return };
        self.f.effect(Op::Mov_rm32_imm32, (Mem::frame(Frame::PROGRESS), 1));
        let count = args.len() - 2 - access.step.operands.len();
        for i in 0..count {
            let (data, distance) = (args[2 + i], i as i64 * i64::from(access.word));
            if access.word < 4 {
                self.store_short(access, &at, distance, (args[0], slow), data);
                continue;
            }
            for (quarter, mask) in self.quarters(args[0]).into_iter().enumerate() {
                let to = Mem::at(at.from, distance).index(at.offsets[quarter], 1);
                let mask = self.f.k3(Op::VEX_Kandnw_kr_kr_kr, none, mask);
                if access.word == 8 {
                    let value = self.v(data, quarter);
                    self.f.scatter(Op::EVEX_Vpscatterqq_vm64z_k1_zmm, to, mask, value);
                    continue;
                }
                let half = self.v(data, quarter / 2);
                let words = match quarter % 2 {
                    0 => half,
                    _ => {
                        let op = Op::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8;
                        self.f.def(op, View::Y, (half, 1))
                    }
                };
                self.f.scatter(Op::EVEX_Vpscatterqd_vm64z_k1_ymm, to, mask, words.y());
            }
        }
    }
}
