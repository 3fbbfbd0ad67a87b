//! Stores at 32-bit numbers.

use super::Avx512;
use super::numbers::{LOAD, Numbered, Temporaries, put_half};
use crate::frame::Frame;
use crate::layout::{RowLayout, kind};
use crate::select::Located;
use crate::select::memory::layouts::layout_of;
use crate::select::memory::numbers::{Purpose, lane_word};
use crate::select::memory::{call_step, short_store};
use crate::vcode::{Local, Mem, Part, Pseudo, VReg, View};
use iced_x86::Code as Op;
use smallvec::SmallVec;
use vector::{Access, Value};

impl Avx512<'_, '_> {
    /// Stores words at 32-bit numbers.
    pub(super) fn store_numbers(&mut self, access: &Access, args: &[Value]) {
        let this = self.numbered(access, args, Purpose::Store);
        let first = 1 + access.shape.operands();
        let parts = if access.word == 8 { 4 } else { 2 };
        let rows: Vec<SmallVec<[VReg; 4]>> = args[first..first + usize::from(access.words)]
            .iter()
            .map(|&data| (0..parts).map(|part| self.v(data, part)).collect())
            .collect();
        let mut p = self.f.pseudo();
        let temps = Temporaries::new(&mut p);
        let [slow, cold, back] = [(); 3].map(|()| p.label());
        if let Some(located) = this.located {
            this.store_located(&mut p, located, &rows[0], &temps, (slow, back));
            p.bind(slow);
        }
        this.store_scattered(&mut p, &rows, &temps, cold);
        this.end_scattered(&mut p, back);
        p.bind(cold);
        let [a, b, ..] = temps.general;
        let [vector, other, _] = temps.vectors;
        this.store_addresses(&mut p, a, [vector, other]);
        call_step(&mut p, &this.fallback, [a, b], &[]);
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
    }
}

impl Numbered<'_> {
    /// Stores words whose place is known, or goes to `slow`, out of line.
    fn store_located(
        &self,
        p: &mut Pseudo<'_>,
        located: Located,
        row: &[VReg],
        temps: &Temporaries,
        (slow, back): (Local, Local),
    ) {
        let layout = temps.general[0];
        let distance = self.access.offset - located.first;
        let others = p.label();
        let kind = Mem::at(layout, RowLayout::STORES);
        let per_half = row.len() / 2;
        let part_bytes = 16 / per_half as i64 * i64::from(self.access.word);
        let expected = located.unless_expected(p, true, others);
        if expected.is_none() {
            layout_of(p, located, layout, slow);
            p.op(Op::Cmp_rm32_imm32, (kind, kind::CONTIGUOUS as i32));
            p.jump(Op::Jne_rel32_64, others);
        }
        p.op(Op::Mov_rm32_imm32, (Mem::frame(Frame::PROGRESS), 1));
        for (part, &value) in row.iter().enumerate() {
            let at = distance + part_bytes * (part % per_half) as i64;
            let to = Mem::at(located.halves[part / per_half], at);
            let mask = self.part_mask(p, part, per_half, temps.masks[0]);
            p.masked(mask).op(super::store_op(self.access.word), (to, value));
        }
        p.bind(back);
        p.out_of_line();
        p.bind(others);
        if self.access.word != 4 {
            return;
        }
        if expected.is_some() {
            layout_of(p, located, layout, slow);
        }
        p.op(Op::Cmp_rm32_imm32, (kind, kind::ONE_VECTOR as i32));
        p.jump(Op::Jb_rel32_64, slow);
        p.op(Op::Mov_rm32_imm32, (Mem::frame(Frame::PROGRESS), 1));
        for (half, &value) in row.iter().enumerate() {
            for vector in 0..2i64 {
                if vector == 1 {
                    let next = p.label();
                    p.op(Op::Cmp_rm32_imm32, (kind, kind::ONE_VECTOR as i32));
                    p.jump(Op::Je_rel32_64, next);
                    self.store_permuted(p, located, (half, vector), value, temps);
                    p.bind(next);
                } else {
                    self.store_permuted(p, located, (half, vector), value, temps);
                }
            }
        }
        p.jump(Op::Jmp_rel32_64, back);
    }

    /// Stores the words of half the lanes that belong to one vector.
    fn store_permuted(
        &self,
        p: &mut Pseudo<'_>,
        located: Located,
        (half, vector): (usize, i64),
        value: VReg,
        temps: &Temporaries,
    ) {
        let layout = temps.general[0];
        let [lanes, words, _] = temps.vectors;
        let [on, _] = temps.masks;
        let number = 2 * half as i64 + vector;
        let permute = Op::EVEX_Vpermd_zmm_k1z_zmm_zmmm512b32;
        p.op(LOAD, (lanes, Mem::at(layout, RowLayout::LANES + 64 * number)));
        // The elements whose lanes are active.
        p.op(Op::EVEX_Vpmovm2d_zmm_kr, (words, self.masks[half]));
        p.op(permute, (words, lanes, words));
        // The sign of an element says whether a lane stores it.
        p.op(Op::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, (words, words, lanes));
        p.op(Op::EVEX_Vpmovd2m_kr_zmm, (on, words));
        p.op(permute, (words, lanes, value));
        let distance = self.access.offset - located.first + 64 * vector;
        let to = Mem::at(located.halves[half], distance);
        p.masked(on).op(Op::EVEX_Vmovdqu32_zmmm512_k1z_zmm, (to, words));
    }

    /// Stores words one by one.
    fn store_scattered(
        &self,
        p: &mut Pseudo<'_>,
        rows: &[SmallVec<[VReg; 4]>],
        temps: &Temporaries,
        cold: Local,
    ) {
        let from = self.checked(p, temps, cold);
        p.op(Op::Mov_rm32_imm32, (Mem::frame(Frame::PROGRESS), 1));
        if self.access.word < 4 {
            return self.store_short(p, rows, temps, from);
        }
        let mask = temps.masks[0];
        for half in 0..2 {
            let (places, scale) = self.scaled_places(p, temps, half);
            for (i, row) in rows.iter().enumerate() {
                let distance = i as i64 * i64::from(self.access.word);
                if !self.wide() {
                    p.op(Op::VEX_Kmovw_kr_km16, (mask, self.masks[half]));
                    let to = Mem::at(from, distance).index(places, scale);
                    p.masked(mask).op(Op::EVEX_Vpscatterdd_vm32z_k1_zmm, (to, row[half]));
                    continue;
                }
                p.op(Op::VEX_Kmovw_kr_km16, (mask, self.masks[half]));
                let to = Mem::at(from, distance).index_part(places, View::Y, scale);
                p.masked(mask).op(Op::EVEX_Vpscatterdq_vm32y_k1_zmm, (to, row[2 * half]));
            }
            if !self.wide() {
                continue;
            }
            let upper = self.quarter(p, temps, places, half, 1, mask);
            for (i, row) in rows.iter().enumerate() {
                let distance = i as i64 * i64::from(self.access.word);
                p.op(Op::VEX_Kshiftrw_kr_kr_imm8, (mask, self.masks[half], 8));
                let to = Mem::at(from, distance).index_part(upper, View::Y, scale);
                p.masked(mask).op(Op::EVEX_Vpscatterdq_vm32y_k1_zmm, (to, row[2 * half + 1]));
            }
        }
    }

    /// Stores words of 8 or 16 bits, one lane after the other.
    fn store_short(
        &self,
        p: &mut Pseudo<'_>,
        rows: &[SmallVec<[VReg; 4]>],
        temps: &Temporaries,
        from: VReg,
    ) {
        self.put_places(p, temps, 0);
        for (i, row) in rows.iter().enumerate() {
            let distance = i as i64 * i64::from(self.access.word);
            for (half, &value) in row.iter().enumerate() {
                put_half(p, 1, half, value);
            }
            let [left, _, lane, place] = temps.general;
            self.by_lane(p, &self.lanes, [left, lane, place], |p, lane, place, scale| {
                p.op(Op::Mov_r32_rm32, (lane.d(), lane_word(1, lane)));
                short_store(p, self.access, Mem::at(from, distance).index(place, scale), lane);
            });
        }
    }
}
