//! Loads at 32-bit numbers.
//!
//! Single words come into registers at once. Of vectors of words there may be more than there are
//! registers: a quarter of the lanes is loaded after the other; words that are not contiguous lie
//! in the frame first.

use super::Avx2;
use super::numbers::{LOAD, Numbered, STORE, Temporaries};
use crate::frame::Frame;
use crate::layout::{RowLayout, kind};
use crate::select::Located;
use crate::select::memory::layouts::layout_of;
use crate::select::memory::numbers::{Purpose, lane_word};
use crate::select::memory::{short_load, take_row};
use crate::select::turns::place_of;
use crate::vcode::{Local, Mem, Part, Pseudo, VReg, View};
use iced_x86::Code as Op;
use smallvec::SmallVec;
use vector::{Access, Value};

const PERMUTE: Op = Op::VEX_Vpermd_ymm_ymm_ymmm256;
/// Exchanges the middle two of four 64-bit lanes.
const MIDDLE: i32 = 0xd8;
/// Where words of 8 or 16 bits are in the room for lanes, after the places.
const SHORT: i64 = 128;

impl Avx2<'_, '_> {
    /// Loads words at 32-bit numbers.
    pub(super) fn load_numbers(&mut self, access: &Access, args: &[Value], results: &[Value]) {
        let this = self.numbered(access, args, Purpose::Load);
        let used = self.used(results);
        if access.words == 1 {
            if used.is_empty() {
                return self.load_rows(&this, &used, results);
            }
            return self.load_row(&this, results[0]);
        }
        self.load_rows(&this, &used, results);
    }

    /// Loads a word a lane.
    fn load_row(&mut self, this: &Numbered<'_>, result: Value) {
        let access = this.access;
        let mut p = self.f.pseudo();
        let row: Vec<VReg> = (0..this.parts()).map(|_| p.output(View::V)).collect();
        let temps = Temporaries::new(&mut p);
        this.allow_memory(&mut p, &[]);
        let [slow, cold, back] = [(); 3].map(|()| p.label());
        if let Some(located) = this.located {
            this.load_located(&mut p, located, &row, &temps, (slow, back));
        }
        p.bind(slow);
        let from = this.checked(&mut p, &temps, cold);
        match access.word {
            1 | 2 => {
                this.load_short(&mut p, &temps, (from, 0), SHORT);
                for (part, &to) in row.iter().enumerate() {
                    p.op(LOAD, (to, in_room(SHORT + 32 * part as i64)));
                }
            }
            _ => this.gather(&mut p, &temps, (from, 0), |part| row[part], |_, _, _| {}),
        }
        this.end_scattered(&mut p, back);
        p.bind(cold);
        this.interpret(&mut p, &temps, &row);
        if let Some(home) = access.step.results[0] {
            take_row(&mut p, &super::CODES, home, temps.general[0], &row);
        }
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
        self.put_row(Some(result), row);
    }

    /// Loads several words a lane.
    fn load_rows(&mut self, this: &Numbered<'_>, used: &[usize], results: &[Value]) {
        let in_frame = self.words_in_frame(this, used);
        let row_bytes = 32 * this.parts() as i64;
        let first = if this.access.word < 4 { SHORT } else { 0 };
        let mut rows: Vec<Vec<VReg>> = vec![Vec::new(); used.len()];
        match (this.located, in_frame) {
            (Some(located), Some(in_frame)) => {
                for quarter in 0..4 {
                    self.contiguous_quarter(this, (located, in_frame), quarter, used, &mut rows);
                }
            }
            _ => {
                for (number, row) in rows.iter_mut().enumerate() {
                    let at = first + row_bytes * number as i64;
                    *row = (0..this.parts())
                        .map(|part| self.f.v2(LOAD, in_room(at + 32 * part as i64)))
                        .collect();
                }
            }
        }
        for (&i, row) in used.iter().zip(rows) {
            self.put_row(Some(results[i]), row);
        }
    }

    /// Loads several words a lane into the frame, rows one after the other, unless they are
    /// contiguous in each half. Returns whether it has, if it may have not.
    fn words_in_frame(&mut self, this: &Numbered<'_>, used: &[usize]) -> Option<VReg> {
        let access = this.access;
        let (row_bytes, short) = (32 * this.parts() as i64, access.word < 4);
        let first = if short { SHORT } else { 0 };
        let row_at = |number: usize| first + row_bytes * number as i64;
        let mut p = self.f.pseudo();
        let in_frame = this.located.map(|_| p.output(View::R32));
        let temps = Temporaries::new(&mut p);
        this.allow_memory(&mut p, &[]);
        let [slow, apart, cold, back] = [(); 4].map(|()| p.label());
        if let (Some(located), Some(in_frame)) = (this.located, in_frame) {
            let layout = temps.general[0];
            let loads = Mem::at(layout, RowLayout::LOADS);
            p.op(Op::Mov_r32_imm32, (in_frame.d(), 1));
            layout_of(&mut p, located, layout, slow);
            p.op(Op::Cmp_rm32_imm32, (loads, kind::CONTIGUOUS as i32));
            p.jump(Op::Jne_rel32_64, apart);
            p.op(Op::Mov_r32_imm32, (in_frame.d(), 0));
            p.bind(back);
            p.out_of_line();
            p.bind(apart);
            p.op(Op::Cmp_rm32_imm32, (loads, kind::SAME as i32));
            p.jump(Op::Jne_rel32_64, slow);
            for (number, &i) in used.iter().enumerate() {
                this.same_in_frame(&mut p, located, i, row_at(number), &temps);
            }
            p.jump(Op::Jmp_rel32_64, back);
        }
        p.bind(slow);
        let from = this.checked(&mut p, &temps, cold);
        for (number, &i) in used.iter().enumerate() {
            let words = (from, i as i64 * i64::from(access.word));
            if short {
                this.load_short(&mut p, &temps, words, row_at(number));
                continue;
            }
            let to = temps.vectors[4];
            this.gather(
                &mut p,
                &temps,
                words,
                |_| to,
                |p, part, to| {
                    p.op(STORE, (in_room(row_at(number) + 32 * part as i64), to));
                },
            );
        }
        this.end_scattered(&mut p, back);
        p.bind(cold);
        this.interpret(&mut p, &temps, in_frame.as_slice());
        let ([base, ..], [vector, ..]) = (temps.general, temps.vectors);
        for (number, &i) in used.iter().enumerate() {
            let Some(home) = access.step.results[i] else { continue };
            let (pointer, offset) = place_of(home);
            p.op(Op::Mov_r64_rm64, (base, Mem::frame(Frame::WARP)));
            p.op(Op::Mov_r64_rm64, (base, Mem::at(base, pointer)));
            for at in (0..row_bytes).step_by(32) {
                p.op(LOAD, (vector, Mem::at(base, offset + at)));
                p.op(STORE, (in_room(row_at(number) + at), vector));
            }
        }
        if let Some(in_frame) = in_frame {
            p.op(Op::Mov_r32_imm32, (in_frame.d(), 1));
        }
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
        in_frame
    }

    /// Loads a quarter of several words a lane, which are contiguous in each half or in the frame,
    /// and adds it to rows.
    fn contiguous_quarter(
        &mut self,
        this: &Numbered<'_>,
        (located, in_frame): (Located, VReg),
        quarter: usize,
        used: &[usize],
        rows: &mut [Vec<VReg>],
    ) {
        let access = this.access;
        let parts = this.parts() / 4;
        let mut p = self.f.pseudo();
        let outputs: Vec<SmallVec<[VReg; 2]>> =
            used.iter().map(|_| (0..parts).map(|_| p.output(View::V)).collect()).collect();
        let [take, back] = [(); 2].map(|()| p.label());
        p.op(Op::Test_rm32_r32, (in_frame.d(), in_frame.d()));
        p.jump(Op::Jne_rel32_64, take);
        let bytes = 8 * access.bytes() as i64;
        let first = access.offset - located.first + bytes * (quarter as i64 % 2);
        let from = |at: i64| Mem::at(located.halves[quarter / 2], first + at);
        let wanted = |i: usize| used.iter().position(|&of| of == i).map(|n| &outputs[n]);
        match access.words {
            2 => mix_pairs(&mut p, this.wide(), from, [wanted(0), wanted(1)]),
            _ => mix_fours(&mut p, from, [0, 1, 2, 3].map(|i| Some(wanted(i)?[0]))),
        }
        p.bind(back);
        p.out_of_line();
        p.bind(take);
        for (number, row) in outputs.iter().enumerate() {
            for (part, &to) in row.iter().enumerate() {
                let vector = this.parts() * number + parts * quarter + part;
                p.op(LOAD, (to, in_room(32 * vector as i64)));
            }
        }
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
        rows.iter_mut().zip(outputs).for_each(|(row, more)| row.extend(more));
    }
}

/// The frame's room for lanes, from an offset on.
fn in_room(offset: i64) -> Mem {
    Mem::frame(Frame::LANE_ROOM + offset)
}

/// Takes vectors of pairs of words apart.
fn mix_pairs(
    p: &mut Pseudo<'_>,
    wide: bool,
    from: impl Fn(i64) -> Mem,
    wanted: [Option<&SmallVec<[VReg; 2]>>; 2],
) {
    let low = p.temp(View::V);
    let parts = if wide { 2 } else { 1 };
    for part in 0..parts {
        let at = 64 * part as i64;
        p.op(LOAD, (low, from(at)));
        for (i, row) in wanted.iter().enumerate() {
            let Some(&to) = row.and_then(|row| row.get(part)) else { continue };
            let high = from(at + 32);
            match (wide, i) {
                (true, 0) => p.op(Op::VEX_Vunpcklpd_ymm_ymm_ymmm256, (to, low, high)),
                (true, _) => p.op(Op::VEX_Vunpckhpd_ymm_ymm_ymmm256, (to, low, high)),
                (false, _) => {
                    let words = if i == 0 { 0x88 } else { 0xdd };
                    p.op(Op::VEX_Vshufps_ymm_ymm_ymmm256_imm8, (to, low, high, words))
                }
            };
            p.op(Op::VEX_Vpermq_ymm_ymmm256_imm8, (to, to, MIDDLE));
        }
    }
}

/// Takes eight elements of four 32-bit words apart.
fn mix_fours(p: &mut Pseudo<'_>, from: impl Fn(i64) -> Mem, wanted: [Option<VReg>; 4]) {
    // Two of four elements, and the same of the other four, in the halves of vectors.
    let elements = [(); 4].map(|()| p.temp(View::V));
    let mixed = [(); 2].map(|()| p.temp(View::V));
    for (i, &to) in elements.iter().enumerate() {
        let at = 16 * i as i64;
        p.op(Op::VEX_Vmovdqu_xmm_xmmm128, (to.x(), from(at)));
        let insert = Op::VEX_Vinserti128_ymm_ymm_xmmm128_imm8;
        p.op(insert, (to, to, from(at + 64), 1));
    }
    let halves = [Op::VEX_Vunpcklps_ymm_ymm_ymmm256, Op::VEX_Vunpckhps_ymm_ymm_ymmm256];
    for (half, words) in halves.into_iter().zip([&wanted[..2], &wanted[2..]]) {
        if words.iter().all(Option::is_none) {
            continue;
        }
        for (to, pair) in mixed.iter().zip(elements.chunks_exact(2)) {
            p.op(half, (*to, pair[0], pair[1]));
        }
        let words = words
            .iter()
            .zip([Op::VEX_Vunpcklpd_ymm_ymm_ymmm256, Op::VEX_Vunpckhpd_ymm_ymm_ymmm256]);
        for (to, op) in words {
            if let Some(to) = *to {
                p.op(op, (to, mixed[0], mixed[1]));
            }
        }
    }
}

impl Numbered<'_> {
    /// Loads a word a lane whose place is known, or goes to `slow`.
    fn load_located(
        &self,
        p: &mut Pseudo<'_>,
        located: Located,
        row: &[VReg],
        temps: &Temporaries,
        (slow, back): (Local, Local),
    ) {
        let layout = temps.general[0];
        let word = self.access.word;
        let distance = self.access.offset - located.first;
        let [others, near] = [(); 2].map(|()| p.label());
        let is = |p: &mut Pseudo<'_>, kind: u32| {
            let loads = Mem::at(layout, RowLayout::LOADS);
            p.op(Op::Cmp_rm32_imm32, (loads, kind as i32));
        };
        layout_of(p, located, layout, near);
        is(p, kind::CONTIGUOUS);
        p.jump(Op::Jne_rel32_64, others);
        let per_half = row.len() / 2;
        let part_bytes = 16 / per_half as i64 * i64::from(word);
        for (part, &to) in row.iter().enumerate() {
            let at = distance + part_bytes * (part % per_half) as i64;
            let from = Mem::at(located.halves[part / per_half], at);
            p.op(super::access::load_op(word, self.access.extend), (to, from));
        }
        p.bind(back);
        p.out_of_line();
        p.bind(near);
        p.jump(Op::Jmp_rel32_64, slow);
        p.bind(others);
        let permuted = p.label();
        is(p, kind::SAME);
        p.jump(Op::Jne_rel32_64, permuted);
        for (half, parts) in row.chunks_exact(per_half).enumerate() {
            self.load_same(p, Mem::at(located.halves[half], distance), parts, temps);
        }
        p.jump(Op::Jmp_rel32_64, back);
        p.bind(permuted);
        if word < 4 {
            return;
        }
        let two = p.label();
        is(p, kind::ONE_VECTOR);
        p.jump(Op::Jne_rel32_64, two);
        for (part, &to) in row.iter().enumerate() {
            let from = self.window(p, located, part / (per_half / 2), temps);
            p.op(LOAD, (to, elements(layout, part)));
            p.op(PERMUTE, (to, to, from));
        }
        p.jump(Op::Jmp_rel32_64, back);
        p.bind(two);
        let [numbers, high, ..] = temps.vectors;
        for (part, &to) in row.iter().enumerate() {
            let from = self.window(p, located, part / (per_half / 2), temps);
            p.op(LOAD, (numbers, elements(layout, part)));
            p.op(PERMUTE, (to, numbers, from));
            p.op(PERMUTE, (high, numbers, from.offset(32)));
            // Elements from 8 on are in the second vector.
            p.op(Op::VEX_Vpslld_ymm_ymm_imm8, (numbers, numbers, 28));
            p.op(Op::VEX_Vblendvps_ymm_ymm_ymmm256_ymm, (to, to, high, numbers));
        }
        p.jump(Op::Jmp_rel32_64, back);
    }

    /// Returns the memory of the words of a quarter; its distance from its half's is in the second
    /// free register.
    pub(super) fn window(
        &self,
        p: &mut Pseudo<'_>,
        located: Located,
        quarter: usize,
        temps: &Temporaries,
    ) -> Mem {
        let [layout, window, ..] = temps.general;
        let field = Mem::at(layout, RowLayout::WINDOWS + 8 * quarter as i64);
        p.op(Op::Mov_r64_rm64, (window, field));
        let distance = self.access.offset - located.first;
        Mem::at(located.halves[quarter / 2], distance).index(window, 1)
    }

    /// Loads a word into all lanes of parts.
    fn load_same(&self, p: &mut Pseudo<'_>, from: Mem, parts: &[VReg], temps: &Temporaries) {
        for &to in parts {
            match self.access.word {
                8 => p.op(Op::VEX_Vpbroadcastq_ymm_xmmm64, (to, from)),
                4 => p.op(Op::VEX_Vpbroadcastd_ymm_xmmm32, (to, from)),
                _ => {
                    let word = temps.general[1];
                    p.op(short_load(self.access), (word.d(), from));
                    super::splat_to(p, to, word, false);
                    continue;
                }
            };
        }
    }

    /// Loads words that are the same in each half into a row in the frame.
    fn same_in_frame(
        &self,
        p: &mut Pseudo<'_>,
        located: Located,
        number: usize,
        row_at: i64,
        temps: &Temporaries,
    ) {
        let word = i64::from(self.access.word);
        let distance = self.access.offset - located.first + word * number as i64;
        let half_bytes = 16 * self.parts() as i64;
        for (half, &from) in located.halves.iter().enumerate() {
            let to = temps.vectors[0];
            self.load_same(p, Mem::at(from, distance), &[to], temps);
            for at in (0..half_bytes).step_by(32) {
                p.op(STORE, (in_room(row_at + half_bytes * half as i64 + at), to));
            }
        }
    }

    /// Loads words of 8 or 16 bits, one lane after the other, into a row in the frame.
    fn load_short(
        &self,
        p: &mut Pseudo<'_>,
        temps: &Temporaries,
        (from, distance): (VReg, i64),
        row_at: i64,
    ) {
        self.put_places(p, temps, 0);
        let load = short_load(self.access);
        let [left, _, lane, place] = temps.general;
        self.by_lane(p, &[self.lanes], [left, lane, place], |p, lane, place, scale| {
            p.op(load, (place.d(), Mem::at(from, distance).index(place, scale)));
            p.op(Op::Mov_rm32_r32, (lane_word(row_at / 128, lane), place.d()));
        });
    }
}

/// The numbers of elements of a part.
fn elements(layout: VReg, part: usize) -> Mem {
    Mem::at(layout, RowLayout::ELEMENTS + 32 * part as i64)
}
