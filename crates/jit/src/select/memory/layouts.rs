//! Where the words of a row of addresses lie, by the layouts of [`crate::layout`].

use super::Room;
use crate::frame::{Frame, RegionCache};
use crate::layout::{LayoutCell, LayoutSite, RowLayout, kind};
use crate::select::detail::{Group, LayoutCount};
use crate::select::level::{Codes, Compared};
use crate::select::turns::place_of;
use crate::select::{Expected, Located, Selector};
use crate::vcode::{Local, Mem, Part, Pseudo, Source, StubArgument, VReg, View};
use fast::Level;
use iced_x86::Code as Op;
use ir::mods::Space;
use smallvec::SmallVec;
use vector::{Access, Home, Scale, Shape, Value};

use View::R64;

/// Offsets of a row of 32-bit numbers: what they count from, if not from the room's beginning.
#[derive(Clone)]
pub(in crate::select) struct Offsets {
    pub(in crate::select) rows: SmallVec<[VReg; 4]>,
    pub(in crate::select) indexed: Option<(VReg, Scale)>,
}

impl Offsets {
    /// Stores addresses in the frame's room for lanes: 64 bits each if they count from a scalar,
    /// else 32. The rows may be in memory.
    pub(in crate::select) fn store(&self, p: &mut Pseudo<'_>, codes: &Codes, temps: [VReg; 2]) {
        let to = |bytes| Mem::frame(Frame::LANE_ROOM + bytes);
        if self.indexed.is_some() {
            return self.store_wide(p, codes, temps, to);
        }
        for (part, &numbers) in self.rows.iter().enumerate() {
            p.op(codes.load, (temps[0], numbers.any()));
            p.op(codes.store, (to(codes.vector_bytes * part as i64), temps[0]));
        }
    }

    /// Stores addresses of 64 bits where the interpreter reads them. The rows may be in memory.
    pub(in crate::select) fn store_at(
        &self,
        p: &mut Pseudo<'_>,
        codes: &Codes,
        home: Home,
        (context, temps): (VReg, [VReg; 2]),
    ) {
        let (pointer, offset) = place_of(home);
        p.op(Op::Mov_r64_rm64, (context, Mem::frame(Frame::WARP)));
        p.op(Op::Mov_r64_rm64, (context, Mem::at(context, pointer)));
        self.store_wide(p, codes, temps, |bytes| Mem::at(context, offset + bytes));
    }

    fn store_wide(
        &self,
        p: &mut Pseudo<'_>,
        codes: &Codes,
        [at, bases]: [VReg; 2],
        to: impl Fn(i64) -> Mem,
    ) {
        if let Some((base, _)) = self.indexed {
            (codes.splat_to)(p, bases, base, true);
        }
        for part in 0..2 * self.rows.len() {
            p.op(codes.load, (at, self.rows[part / 2].any()));
            let signed = self.indexed.is_some_and(|(_, scale)| scale.signed);
            (codes.widen_half)(p, at, part % 2 == 1, signed);
            if let Some((_, scale)) = self.indexed {
                if scale.shift > 0 {
                    p.op(codes.lanes[1].shift_left, (at, at, i32::from(scale.shift)));
                }
                p.op(codes.lanes[1].add, (at, at, bases));
            }
            p.op(codes.store, (to(codes.vector_bytes * part as i64), at));
        }
    }
}

impl Selector<'_> {
    /// Returns whether addresses are rows of 32-bit numbers.
    pub(in crate::select) fn has_numbers(&self, access: &Access, args: &[Value]) -> bool {
        !self.is_wide(args[access.shape.operands()])
    }

    /// Returns the 32-bit numbers of an access's addresses.
    pub(in crate::select) fn numbers(&mut self, access: &Access, args: &[Value]) -> Offsets {
        let indexed = match access.shape {
            Shape::Indexed(scale) => Some((self.s(args[1]), scale)),
            _ => None,
        };
        Offsets { rows: self.registers(args[access.shape.operands()]), indexed }
    }

    /// Returns where the words of an access lie, found here or before in the block, if code can use
    /// it. The words of two lanes are never neighbours in local memory.
    pub(in crate::select) fn located(
        &mut self,
        access: &Access,
        args: &[Value],
        offsets: &Offsets,
        is_load: bool,
    ) -> Option<Located> {
        let has_form = match (access.word, access.words) {
            (_, 1) => true,
            (4, 2 | 4) | (8, 2) => is_load,
            _ => false,
        };
        if access.space == Space::Local || !has_form {
            return None;
        }
        // Regions of global memory are known by the step that has accessed them; loads may use each
        // other's.
        let (key, constant) = self.located_by(access, args, is_load);
        if let Some(located) = self.find_located(&key, access.offset + constant) {
            return Some(located.from(constant));
        }
        let (first, last) = self.range_of(access.offset + constant, &key);
        let (first, last) = (first - constant, last - constant);
        let shift = offsets.indexed.map_or(0, |(_, scale)| scale.shift);
        let site = self.layout_sites.len();
        let bytes = access.bytes() as u8;
        let part = (self.codes.vector_bytes / 4) as u8;
        self.layout_sites.push(LayoutSite { bytes, shift, part });
        let room = self.room(access);
        let group = self.group(access, args, None, false);
        let kind = match self.kind_of_layout(access, args) {
            kind::SAME if !is_load => kind::CONTIGUOUS,
            kind => kind,
        };
        // With AVX2, code for a quarter of the lanes follows code for another.
        let expects = self.codes.level == Level::Avx512;
        let expected = expects.then_some((kind, !is_load));
        let range = (first, last, bytes);
        let located = self.locate(site, room, args[0], offsets, range, (group, expected));
        self.located.insert(key, located.from(-constant));
        Some(located)
    }

    /// Finds the host addresses of the first words of both halves of the lanes, from offset `first`
    /// on, or 0. In launches in detail, counts a group of accesses.
    fn locate(
        &mut self,
        site: usize,
        room: Room,
        lanes: Value,
        offsets: &Offsets,
        (first, last, bytes): (i64, i64, u8),
        (group, expected): (Option<Group>, Option<(u32, bool)>),
    ) -> Located {
        let lanes = self.mask(lanes);
        let (find, codes) = (self.outside.find, self.codes);
        let constants = self.level(|l| l.layout_constants());
        let wide = matches!(room, Room::Map(_));
        let stub = self.note_stub(wide, false);
        let cell = site as i64 * LayoutCell::SIZE;
        let mut p = self.f.pseudo();
        let [at, other] = [(); 2].map(|()| p.output(R64));
        let expected = expected.map(|(kind, stores)| {
            let is_met = p.output(R64);
            Expected { kind, stores, is_met }
        });
        let outputs: SmallVec<[VReg; 3]> =
            [at, other].into_iter().chain(expected.map(|expected| expected.is_met)).collect();
        let [table, layout, temp] = [(); 3].map(|()| p.temp(R64));
        let first_lane = p.temp(View::V);
        let temps = codes.compare_temps.iter().map(|&view| p.temp(view)).collect();
        for &row in &offsets.rows {
            p.any(row);
        }
        let compared = Compared {
            rows: offsets.rows.clone(),
            first: first_lane,
            layout,
            lanes,
            temps,
            constants,
        };
        let store_temps = [first_lane, compared.temps[0]];
        let [miss, unknown, hit, not_counted, none, done] = [(); 6].map(|()| p.label());
        let [other_lanes, not_known, counted] = [(); 3].map(|()| p.label());
        let field = |offset: i64| Mem::at(layout, offset);
        let current = Mem::at(table, cell + LayoutCell::LAYOUT);
        p.op(Op::Mov_r64_rm64, (table, Mem::frame(Frame::LAYOUT_CELLS)));
        p.op(Op::Mov_r64_rm64, (layout, current));
        p.op(Op::Cmp_rm32_imm32, (field(RowLayout::LOADS), kind::NONE as i32));
        p.jump(Op::Je_rel32_64, unknown);
        p.op(codes.splat[0], (first_lane, Source::Any(offsets.rows[0], Some(View::X))));
        p.op(codes.single.out_of, (at.d(), first_lane.x()));
        (codes.differs)(&mut p, &compared, miss);
        p.bind(hit);
        if let Some((base, scale)) = offsets.indexed {
            let low = field(RowLayout::LOW_UNITS);
            scaled(&mut p, (at, temp, base), scale, low, not_counted);
        }
        p.op(Op::Add_r64_rm64, (at, field(RowLayout::LOW)));
        add(&mut p, at, temp, first);
        let count = group.map(|group| {
            let page = if wide { p.temp(R64) } else { temp };
            LayoutCount { group, stub, wide, at, layout, temps: [temp, other, page] }
        });
        if let Some(count) = &count {
            count.count(&mut p, other_lanes, not_known);
            p.bind(counted);
        }
        if bytes > 1 {
            p.op(Op::Test_rm32_imm32, (at.d(), i32::from(bytes) - 1));
            p.jump(Op::Jne_rel32_64, none);
        }
        let (len, host) = match room {
            Room::Map(entry) => {
                p.op(Op::Mov_r64_rm64, (other, Mem::frame(Frame::REGIONS)));
                let field = |offset| Mem::at(other, entry + offset);
                p.op(Op::Sub_r64_rm64, (at, field(RegionCache::BASE)));
                (field(RegionCache::LEN), field(RegionCache::BYTES))
            }
            Room::Window(bytes, len) => (Mem::frame(len), Mem::frame(bytes)),
        };
        p.op(Op::Mov_r64_rm64, (temp, len));
        p.op(Op::Sub_r64_rm64, (temp, field(RowLayout::SPAN)));
        p.jump(Op::Jb_rel32_64, none);
        if last > first {
            p.op(Op::Sub_rm64_imm32, (temp, (last - first) as i32));
            p.jump(Op::Jb_rel32_64, none);
        }
        p.op(Op::Cmp_r64_rm64, (at, temp));
        p.jump(Op::Ja_rel32_64, none);
        p.op(Op::Add_r64_rm64, (at, host));
        p.op(Op::Inc_rm32, (Mem::at(table, cell + LayoutCell::USES),));
        if let Some(Expected { kind, stores, is_met }) = expected {
            let field = field(if stores { RowLayout::STORES } else { RowLayout::LOADS });
            p.op(Op::Xor_r32_rm32, (is_met.d(), is_met.d()));
            p.op(Op::Cmp_rm32_imm32, (field, kind as i32));
            p.op(Op::Sete_rm8, (is_met.b(),));
        }
        p.op(Op::Mov_r64_rm64, (other, at));
        p.op(Op::Add_r64_rm64, (at, field(RowLayout::HALVES)));
        p.op(Op::Add_r64_rm64, (other, field(RowLayout::HALVES + 8)));
        p.bind(done);
        p.out_of_line();
        p.bind(miss);
        p.op(Op::Mov_r64_rm64, (layout, field(RowLayout::NEXT)));
        p.op(Op::Cmp_r64_rm64, (layout, current));
        p.jump(Op::Je_rel32_64, unknown);
        (codes.differs)(&mut p, &compared, miss);
        p.op(Op::Mov_rm64_r64, (current, layout));
        p.jump(Op::Jmp_rel32_64, hit);
        p.bind(unknown);
        p.op(Op::Dec_rm32, (Mem::at(table, cell + LayoutCell::WAIT),));
        p.jump(Op::Jne_rel32_64, not_counted);
        for (part, &numbers) in offsets.rows.iter().enumerate() {
            let to = Mem::frame(Frame::LANE_ROOM + codes.vector_bytes * part as i64);
            p.op(codes.load, (first_lane, numbers.any()));
            p.op(codes.store, (to, first_lane));
        }
        (codes.bits_to)(&mut p, &compared.lanes, temp, table);
        let arguments = [StubArgument::Imm(site as u32), StubArgument::Reg(temp)];
        p.call(find, &arguments, &outputs);
        p.bind(not_counted);
        if let Some(count) = &count {
            offsets.store(&mut p, codes, store_temps);
            count.by_pattern(&mut p);
        }
        p.bind(none);
        for output in outputs {
            p.op(Op::Xor_r32_rm32, (output.d(), output.d()));
        }
        p.jump(Op::Jmp_rel32_64, done);
        if let Some(count) = &count {
            count.count_unknown(&mut p, not_known, [other_lanes, counted]);
            p.bind(other_lanes);
            offsets.store(&mut p, codes, store_temps);
            count.by_pattern(&mut p);
            count.keep(&mut p, counted);
        }
        p.end();
        Located { halves: [at, other], site, first, last, expected }
    }
}

impl Located {
    /// Returns the same for accesses to whose offsets a constant is added.
    fn from(self, constant: i64) -> Self {
        Self { first: self.first - constant, last: self.last - constant, ..self }
    }

    /// Goes to a label unless the words are accessed as expected; returns how that is. Returns
    /// `None`, without any code, if nothing is expected.
    pub(in crate::select) fn unless_expected(
        &self,
        p: &mut Pseudo<'_>,
        stores: bool,
        otherwise: Local,
    ) -> Option<u32> {
        let expected = self.expected.filter(|expected| expected.stores == stores)?;
        p.any(expected.is_met);
        p.op(Op::Cmp_rm32_imm8, (Source::Any(expected.is_met, Some(View::R32)), 0));
        p.jump(Op::Je_rel32_64, otherwise);
        Some(expected.kind)
    }
}

/// Puts the layout of a located access into a register, or goes to a label if it has none.
pub(in crate::select) fn layout_of(p: &mut Pseudo<'_>, located: Located, to: VReg, unknown: Local) {
    p.op(Op::Test_rm64_r64, (located.halves[0], located.halves[0]));
    p.jump(Op::Je_rel32_64, unknown);
    let cell = located.site as i64 * LayoutCell::SIZE;
    p.op(Op::Mov_r64_rm64, (to, Mem::frame(Frame::LAYOUT_CELLS)));
    p.op(Op::Mov_r64_rm64, (to, Mem::at(to, cell + LayoutCell::LAYOUT)));
}

/// Turns lane 0's number in `at` into an address. Goes to `none` if a lane within the layout might
/// have a number that wraps around.
fn scaled(
    p: &mut Pseudo<'_>,
    (at, temp, base): (VReg, VReg, VReg),
    scale: Scale,
    low: Mem,
    none: Local,
) {
    if scale.signed {
        p.op(Op::Movsxd_r64_rm32, (at, at.d()));
        p.op(Op::Lea_r64_m, (temp, Mem::at(at, 1 << 30)));
    } else {
        p.op(Op::Mov_r64_rm64, (temp, low));
        p.op(Op::Add_r64_rm64, (temp, at));
        p.op(Op::Or_r64_rm64, (temp, at));
    }
    p.op(Op::Shr_rm64_imm8, (temp, if scale.signed { 31 } else { 30 }));
    p.jump(Op::Jne_rel32_64, none);
    if scale.shift > 0 {
        p.op(Op::Shl_rm64_imm8, (at, i32::from(scale.shift)));
    }
    p.op(Op::Add_r64_rm64, (at, base));
}

/// Adds a constant.
pub(in crate::select) fn add(p: &mut Pseudo<'_>, to: VReg, temp: VReg, constant: i64) {
    match i32::try_from(constant) {
        Ok(0) => {}
        Ok(constant) => {
            p.op(Op::Add_rm64_imm32, (to, constant));
        }
        Err(_) => {
            p.op(Op::Mov_r32_imm32, (temp.d(), Source::Imm((constant >> 32) as i32)));
            p.op(Op::Shl_rm64_imm8, (temp, 32));
            p.op(Op::Add_r64_rm64, (to, temp));
            p.op(Op::Mov_r32_imm32, (temp.d(), Source::Imm(constant as i32)));
            p.op(Op::Add_r64_rm64, (to, temp));
        }
    }
}
