//! Loads at 32-bit numbers.

use super::Avx512;
use super::numbers::{LOAD, Numbered, Temporaries};
use crate::frame::Frame;
use crate::layout::{RowLayout, kind};
use crate::select::Located;
use crate::select::memory::layouts::layout_of;
use crate::select::memory::numbers::{Purpose, lane_word};
use crate::select::memory::{call_step, short_load, take_row};
use crate::vcode::{Local, Mem, Part, Pseudo, VReg, View};
use iced_x86::Code as Op;
use smallvec::SmallVec;
use vector::{Access, Value};

const SPLAT32: Op = Op::EVEX_Vpbroadcastd_zmm_k1z_xmmm32;
const SPLAT64: Op = Op::EVEX_Vpbroadcastq_zmm_k1z_xmmm64;
const MIX32: Op = Op::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32;
const MIX64: Op = Op::EVEX_Vpermi2q_zmm_k1z_zmm_zmmm512b64;
const PERMUTE: Op = Op::EVEX_Vpermd_zmm_k1z_zmm_zmmm512b32;

impl Avx512<'_, '_> {
    /// Loads words at 32-bit numbers.
    pub(super) fn load_numbers(&mut self, access: &Access, args: &[Value], results: &[Value]) {
        let this = self.numbered(access, args, Purpose::Load);
        let parts = if access.word == 8 { 4 } else { 2 };
        let used = self.used(results);
        let mut p = self.f.pseudo();
        let rows: Vec<(usize, SmallVec<[VReg; 4]>)> =
            used.iter().map(|&i| (i, (0..parts).map(|_| p.output(View::V)).collect())).collect();
        let temps = Temporaries::new(&mut p);
        let [slow, cold, back] = [(); 3].map(|()| p.label());
        if let Some(located) = this.located {
            this.load_located(&mut p, located, &rows, &temps, (slow, back));
        }
        p.bind(slow);
        let from = this.checked(&mut p, &temps, cold);
        for (i, row) in &rows {
            let distance = *i as i64 * i64::from(access.word);
            match access.word {
                1 | 2 => this.load_short(&mut p, &temps, row, (from, distance)),
                _ => this.gather(&mut p, &temps, row, (from, distance)),
            }
        }
        this.end_scattered(&mut p, back);
        p.bind(cold);
        let outputs: Vec<VReg> = rows.iter().flat_map(|(_, row)| row.iter().copied()).collect();
        let [a, b, ..] = temps.general;
        let [vector, other, _] = temps.vectors;
        this.store_addresses(&mut p, a, [vector, other]);
        call_step(&mut p, &this.fallback, [a, b], &outputs);
        for (i, row) in &rows {
            if let Some(home) = access.step.results[*i] {
                take_row(&mut p, &super::CODES, home, a, row);
            }
        }
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
        for (i, row) in rows {
            self.put_row(Some(results[i]), row);
        }
    }
}

impl Numbered<'_> {
    /// Loads words whose place is known, or goes to `slow`.
    fn load_located(
        &self,
        p: &mut Pseudo<'_>,
        located: Located,
        rows: &[(usize, SmallVec<[VReg; 4]>)],
        temps: &Temporaries,
        (slow, back): (Local, Local),
    ) {
        let layout = temps.general[0];
        let distance = self.access.offset - located.first;
        let [others, near] = [(); 2].map(|()| p.label());
        let is = |p: &mut Pseudo<'_>, kind: u32| {
            let loads = Mem::at(layout, RowLayout::LOADS);
            p.op(Op::Cmp_rm32_imm32, (loads, kind as i32));
        };
        let rest = p.label();
        let load = |p: &mut Pseudo<'_>, kind: u32| match kind {
            kind::SAME => {
                for (i, row) in rows {
                    let at = distance + *i as i64 * i64::from(self.access.word);
                    self.load_same(p, located, at, row, temps);
                }
            }
            _ => self.load_contiguous(p, located, distance, rows, temps),
        };
        let first = located.unless_expected(p, false, others);
        if let Some(kind) = first {
            load(p, kind);
        } else {
            layout_of(p, located, layout, near);
            is(p, kind::CONTIGUOUS);
            p.jump(Op::Jne_rel32_64, rest);
            load(p, kind::CONTIGUOUS);
        }
        p.bind(back);
        p.out_of_line();
        if first.is_some() {
            p.bind(others);
            layout_of(p, located, layout, near);
            p.jump(Op::Jmp_rel32_64, rest);
        }
        p.bind(near);
        p.jump(Op::Jmp_rel32_64, slow);
        p.bind(rest);
        let permuted = p.label();
        let second = if first == Some(kind::SAME) { kind::CONTIGUOUS } else { kind::SAME };
        is(p, second);
        p.jump(Op::Jne_rel32_64, permuted);
        load(p, second);
        p.jump(Op::Jmp_rel32_64, back);
        p.bind(permuted);
        let [(_, row)] = rows else { return };
        if self.access.words > 1 || self.access.word < 4 {
            return;
        }
        let two = p.label();
        is(p, kind::ONE_VECTOR);
        p.jump(Op::Jne_rel32_64, two);
        let per_half = row.len() / 2;
        let elements = |part: usize| Mem::at(layout, RowLayout::ELEMENTS + 64 * part as i64);
        for (part, &to) in row.iter().enumerate() {
            p.op(LOAD, (to, elements(part)));
            p.op(PERMUTE, (to, to, Mem::at(located.halves[part / per_half], distance)));
        }
        p.jump(Op::Jmp_rel32_64, back);
        p.bind(two);
        is(p, kind::TWO_VECTORS);
        p.jump(Op::Jne_rel32_64, slow);
        for (part, &to) in row.iter().enumerate() {
            let from = located.halves[part / per_half];
            p.op(LOAD, (to, elements(part)));
            p.op(LOAD, (temps.vectors[0], Mem::at(from, distance)));
            p.op(MIX32, (to, temps.vectors[0], Mem::at(from, distance + 64)));
        }
        p.jump(Op::Jmp_rel32_64, back);
    }

    /// Loads words that are contiguous in each half.
    fn load_contiguous(
        &self,
        p: &mut Pseudo<'_>,
        located: Located,
        distance: i64,
        rows: &[(usize, SmallVec<[VReg; 4]>)],
        temps: &Temporaries,
    ) {
        let access = self.access;
        if access.words == 1 {
            for (_, row) in rows {
                let per_half = row.len() / 2;
                let bytes = 16 / per_half as i64 * i64::from(access.word);
                for (part, &to) in row.iter().enumerate() {
                    let half = part / per_half;
                    let from =
                        Mem::at(located.halves[half], distance + bytes * (part % per_half) as i64);
                    let mask = self.part_mask(p, part, per_half, temps.masks[0]);
                    p.zero(mask).op(super::load_op(access.word, access.extend), (to, from));
                }
            }
            return;
        }
        let Some(patterns) = &self.patterns else { return };
        let parts = if self.wide() { 4 } else { 2 };
        for part in 0..parts {
            let half = 2 * part / parts;
            let vectors = i64::from(access.words);
            let first = distance + 64 * vectors * (part % (parts / 2)) as i64;
            let from = |vector: i64| Mem::at(located.halves[half], first + 64 * vector);
            if access.words == 2 {
                let mix = if self.wide() { MIX64 } else { MIX32 };
                p.op(LOAD, (temps.vectors[0], from(0)));
                for (i, row) in rows {
                    p.op(LOAD, (row[part], Mem::pool(patterns.pairs[*i])));
                    p.op(mix, (row[part], temps.vectors[0], from(1)));
                }
                continue;
            }
            for (pattern, pair) in patterns.fours.iter().zip([[0, 1], [2, 3]]) {
                let wanted = pair.map(|i| rows.iter().find(|(of, _)| *of == i).map(|r| r.1[part]));
                if wanted == [None; 2] {
                    continue;
                }
                let [a, b, c] = temps.vectors;
                for (to, vector) in [(a, 0), (b, 2)] {
                    p.op(LOAD, (to, Mem::pool(*pattern)));
                    p.op(LOAD, (c, from(vector)));
                    p.op(MIX32, (to, c, from(vector + 1)));
                }
                if let Some(to) = wanted[0] {
                    p.op(Op::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8, (to, a, b.y(), 1));
                }
                if let Some(to) = wanted[1] {
                    p.op(Op::EVEX_Vshufi64x2_zmm_k1z_zmm_zmmm512b64_imm8, (to, a, b, 0xee));
                }
            }
        }
    }

    /// Loads words that are the same in each half.
    fn load_same(
        &self,
        p: &mut Pseudo<'_>,
        located: Located,
        distance: i64,
        row: &[VReg],
        temps: &Temporaries,
    ) {
        let per_half = row.len() / 2;
        for (part, &to) in row.iter().enumerate() {
            let from = Mem::at(located.halves[part / per_half], distance);
            match self.access.word {
                8 => p.op(SPLAT64, (to, from)),
                4 => p.op(SPLAT32, (to, from)),
                _ => {
                    let word = temps.general[1];
                    p.op(short_load(self.access), (word.d(), from));
                    p.op(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, (to, word.d()))
                }
            };
        }
    }

    /// Loads words of 32 or 64 bits one by one.
    fn gather(
        &self,
        p: &mut Pseudo<'_>,
        temps: &Temporaries,
        row: &[VReg],
        (from, distance): (VReg, i64),
    ) {
        let zero = Op::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32;
        for half in 0..2 {
            let (places, scale) = self.scaled_places(p, temps, half);
            let [mask, _] = temps.masks;
            if !self.wide() {
                let to = row[half];
                p.op(zero, (to, to, to));
                p.op(Op::VEX_Kmovw_kr_km16, (mask, self.masks[half]));
                let words = Mem::at(from, distance).index(places, scale);
                p.masked(mask).op(Op::EVEX_Vpgatherdd_zmm_k1_vm32z, (to, words));
                continue;
            }
            for quarter in 0..2 {
                let to = row[2 * half + quarter];
                p.op(zero, (to, to, to));
                let places = self.quarter(p, temps, places, half, quarter, mask);
                let words = Mem::at(from, distance).index_part(places, View::Y, scale);
                p.masked(mask).op(Op::EVEX_Vpgatherdq_zmm_k1_vm32y, (to, words));
            }
        }
    }

    /// Loads words of 8 or 16 bits, one lane after the other.
    fn load_short(
        &self,
        p: &mut Pseudo<'_>,
        temps: &Temporaries,
        row: &[VReg],
        (from, distance): (VReg, i64),
    ) {
        self.put_places(p, temps, 0);
        let load = short_load(self.access);
        let [left, _, lane, place] = temps.general;
        self.by_lane(p, &self.lanes, [left, lane, place], |p, lane, place, scale| {
            p.op(load, (place.d(), Mem::at(from, distance).index(place, scale)));
            p.op(Op::Mov_rm32_r32, (lane_word(1, lane), place.d()));
        });
        for (half, &to) in row.iter().enumerate() {
            p.op(LOAD, (to, Mem::frame(Frame::LANE_ROOM + 128 + 64 * half as i64)));
        }
    }
}
