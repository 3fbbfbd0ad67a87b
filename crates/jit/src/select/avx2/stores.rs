//! Stores at 32-bit numbers.

use super::Avx2;
use super::numbers::{LOAD, Numbered, STORE, Temporaries};
use crate::frame::{Frame, LaneRoom};
use crate::layout::{RowLayout, kind};
use crate::select::Located;
use crate::select::memory::layouts::layout_of;
use crate::select::memory::numbers::Purpose;
use crate::select::memory::{Places, short_store};
use crate::vcode::{Local, Mem, Part, Pseudo, VReg, View};
use iced_x86::Code as Op;
use ir::mods::Space;
use std::ops::Range;
use vector::{Access, Value};

use View::R64;

const PERMUTE: Op = Op::VEX_Vpermd_ymm_ymm_ymmm256;
/// Where values are in the room for lanes, after the places.
const VALUES: i64 = 128;

impl Avx2<'_, '_> {
    /// Stores words at 32-bit numbers.
    pub(super) fn store_numbers(&mut self, access: &Access, args: &[Value]) {
        let this = self.numbered(access, args, Purpose::Store);
        let first = 1 + access.shape.operands();
        let data = &args[first..first + usize::from(access.words)];
        match data {
            &[value] => self.store_row(&this, value),
            _ => self.store_rows(&this, data),
        }
    }

    /// Stores a word a lane.
    fn store_row(&mut self, this: &Numbered<'_>, value: Value) {
        let row: Vec<VReg> = (0..this.parts()).map(|part| self.v(value, part)).collect();
        let shuffle = (this.access.word < 4).then(|| self.short_words(this.access.word));
        let mut p = self.f.pseudo();
        let temps = Temporaries::new(&mut p);
        this.allow_memory(&mut p, &row);
        let [slow, cold, back] = [(); 3].map(|()| p.label());
        if let Some(located) = this.located {
            this.store_located(&mut p, located, (&row, shuffle), &temps, (slow, back));
        }
        p.bind(slow);
        let from = this.checked(&mut p, &temps, cold);
        p.op(Op::Mov_rm32_imm32, (Mem::frame(Frame::PROGRESS), 1));
        this.put_places(&mut p, &temps, 0);
        let [vector, ..] = temps.vectors;
        for (part, &value) in row.iter().enumerate() {
            p.op(LOAD, (vector, value.any()));
            p.op(STORE, (value_at(32 * part as i64), vector));
        }
        let [left, _, lane, place] = temps.general;
        this.by_lane(&mut p, &[this.lanes], [left, lane, place], |p, lane, place, scale| {
            store_word(p, this.access, lane, value_at(0), Mem::at(from, 0).index(place, scale));
        });
        this.end_scattered(&mut p, back);
        p.bind(cold);
        this.interpret(&mut p, &temps, &[]);
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
    }

    /// Stores several words a lane.
    fn store_rows(&mut self, this: &Numbered<'_>, data: &[Value]) {
        let Places { from, lanes, .. } = self.checked_places(this, 0);
        self.f.effect(Op::Mov_rm32_imm32, (Mem::frame(Frame::PROGRESS), 1));
        let row_bytes = 32 * this.parts();
        // Lanes' words are aligned to all of them: none overlap in part, so that the order of words
        // does not matter.
        let most = (size_of::<LaneRoom>() - VALUES as usize) / row_bytes;
        for first in (0..data.len()).step_by(most) {
            let words = first..data.len().min(first + most);
            for (number, &value) in data[words.clone()].iter().enumerate() {
                for part in 0..this.parts() {
                    let vector = self.v(value, part);
                    let at = value_at((row_bytes * number + 32 * part) as i64);
                    self.f.store(STORE, at, vector);
                }
            }
            self.store_words_by_lane(this, (from, lanes), words);
        }
    }

    /// Stores some of the words of each lane, lane by lane.
    fn store_words_by_lane(
        &mut self,
        this: &Numbered<'_>,
        (from, lanes): (VReg, VReg),
        words: Range<usize>,
    ) {
        let row_bytes = 32 * this.parts() as i64;
        let mut p = self.f.pseudo();
        let [left, at_lane, at, word] = [(); 4].map(|()| p.temp(R64));
        this.by_lane(&mut p, &[lanes], [left, at_lane, at], |p, lane, place, scale| {
            for (number, i) in words.enumerate() {
                let distance = i as i64 * i64::from(this.access.word);
                let to = Mem::at(from, distance).index(place, scale);
                p.op(Op::Mov_r32_rm32, (word.d(), lane.d()));
                store_word(p, this.access, word, value_at(row_bytes * number as i64), to);
            }
        });
        p.end();
    }
}

/// The memory of values in the room for lanes.
fn value_at(offset: i64) -> Mem {
    Mem::frame(Frame::LANE_ROOM + VALUES + offset)
}

/// Stores a word of the lane whose number is in a register, which changes.
fn store_word(p: &mut Pseudo<'_>, access: &Access, lane: VReg, value: Mem, to: Mem) {
    if access.word == 8 {
        p.op(Op::Mov_r64_rm64, (lane, value.index(lane, 8)));
        p.op(Op::Mov_rm64_r64, (to, lane));
        return;
    }
    p.op(Op::Mov_r32_rm32, (lane.d(), value.index(lane, 4)));
    match access.word {
        4 => p.op(Op::Mov_rm32_r32, (to, lane.d())),
        _ => short_store(p, access, to, lane),
    };
}

impl Numbered<'_> {
    /// Stores words whose place is known, or goes to `slow`, out of line.
    fn store_located(
        &self,
        p: &mut Pseudo<'_>,
        located: Located,
        (row, shuffle): (&[VReg], Option<Mem>),
        temps: &Temporaries,
        (slow, back): (Local, Local),
    ) {
        let layout = temps.general[0];
        let word = self.access.word;
        let distance = self.access.offset - located.first;
        let per_half = row.len() / 2;
        let part_bytes = 16 / per_half as i64 * i64::from(word);
        let stores = Mem::at(layout, RowLayout::STORES);
        let progress = (Mem::frame(Frame::PROGRESS), 1);
        let [vector, high, ..] = temps.vectors;
        let part_at = |part: usize| {
            let at = distance + part_bytes * (part % per_half) as i64;
            Mem::at(located.halves[part / per_half], at)
        };
        let [others, partial] = [(); 2].map(|()| p.label());
        layout_of(p, located, layout, slow);
        p.op(Op::Cmp_rm32_imm32, (stores, kind::CONTIGUOUS as i32));
        p.jump(Op::Jne_rel32_64, others);
        p.op(Op::Cmp_rm32_imm8, (self.lanes.d(), -1));
        p.jump(Op::Jne_rel32_64, if word < 4 { slow } else { partial });
        p.op(Op::Mov_rm32_imm32, progress);
        for (part, &value) in row.iter().enumerate() {
            p.op(LOAD, (vector, value.any()));
            match shuffle {
                Some(shuffle) => {
                    super::access::store_short(p, word, part_at(part), shuffle, [vector, high]);
                }
                None => {
                    p.op(STORE, (part_at(part), vector));
                }
            }
        }
        p.bind(back);
        p.out_of_line();
        p.bind(partial);
        if word >= 4 {
            self.store_partial(p, row, temps, part_at);
            p.jump(Op::Jmp_rel32_64, back);
        }
        p.bind(others);
        if word != 4 {
            return;
        }
        p.op(Op::Cmp_rm32_imm32, (stores, kind::ONE_VECTOR as i32));
        p.jump(Op::Jb_rel32_64, slow);
        p.op(Op::Mov_rm32_imm32, progress);
        super::splat_to(p, vector, self.lanes, false);
        for (quarter, &value) in row.iter().enumerate() {
            let to = self.window(p, located, quarter, temps);
            let next = p.label();
            self.store_permuted(p, (quarter, 0), value, to, temps);
            p.op(Op::Cmp_rm32_imm32, (stores, kind::ONE_VECTOR as i32));
            p.jump(Op::Je_rel32_64, next);
            self.store_permuted(p, (quarter, 1), value, to.offset(32), temps);
            p.bind(next);
        }
        p.jump(Op::Jmp_rel32_64, back);
    }

    /// Stores contiguous words of the active lanes.
    fn store_partial(
        &self,
        p: &mut Pseudo<'_>,
        row: &[VReg],
        temps: &Temporaries,
        part_at: impl Fn(usize) -> Mem,
    ) {
        let [lanes, mask, vector, old, _] = temps.vectors;
        p.op(Op::Mov_rm32_imm32, (Mem::frame(Frame::PROGRESS), 1));
        super::splat_to(p, lanes, self.lanes, false);
        for (part, &value) in row.iter().enumerate() {
            p.op(LOAD, (vector, value.any()));
            self.signs(p, part, lanes, mask);
            self.store_masked(p, part_at(part), mask, vector, old);
        }
    }

    /// Stores the lanes of a vector whose signs are set in a mask. Words of shared memory that are
    /// not stored may be written, since one host thread has all of it.
    fn store_masked(&self, p: &mut Pseudo<'_>, to: Mem, mask: VReg, value: VReg, old: VReg) {
        if self.access.space == Space::Shared {
            let blend = match self.wide() {
                true => Op::VEX_Vblendvpd_ymm_ymm_ymmm256_ymm,
                false => Op::VEX_Vblendvps_ymm_ymm_ymmm256_ymm,
            };
            p.op(LOAD, (old, to));
            p.op(blend, (old, old, value, mask));
            p.op(STORE, (to, old));
            return;
        }
        let store = match self.wide() {
            true => Op::VEX_Vpmaskmovq_m256_ymm_ymm,
            false => Op::VEX_Vpmaskmovd_m256_ymm_ymm,
        };
        p.op(store, (to, mask, value));
    }

    /// Stores the words of a quarter of the lanes that belong to one of its vectors. The first free
    /// vector has the lanes in each word.
    fn store_permuted(
        &self,
        p: &mut Pseudo<'_>,
        (quarter, vector): (usize, usize),
        value: VReg,
        to: Mem,
        temps: &Temporaries,
    ) {
        let layout = temps.general[0];
        let [lanes, mask, numbers, words, _] = temps.vectors;
        let number = 2 * quarter + vector;
        p.op(LOAD, (numbers, Mem::at(layout, RowLayout::LANES + 32 * number as i64)));
        self.signs(p, quarter, lanes, mask);
        p.op(PERMUTE, (mask, numbers, mask));
        // The sign of an element says whether a lane stores it.
        p.op(Op::VEX_Vpand_ymm_ymm_ymmm256, (mask, mask, numbers));
        p.op(PERMUTE, (words, numbers, value.any()));
        self.store_masked(p, to, mask, words, numbers);
    }
}
