//! Accesses whose addresses are rows of 32-bit numbers.
//!
//! Words are loaded and stored by layouts where these are known, else by gathers and scatters;
//! short words have none and are accessed lane by lane.

use super::Avx512;
use crate::frame::Frame;
use crate::select::memory::numbers::{NumberedAccess, Purpose};
use crate::select::memory::{Fallback, Places, call_step};
use crate::vcode::{Local, Mem, Part, Pseudo, VReg, View};
use iced_x86::Code as Op;
use ir::mods::Space;
use std::ops::Deref;
use vector::{Access, Value};

use View::R64;

/// Loads a vector.
pub(super) const LOAD: Op = Op::EVEX_Vmovdqu32_zmm_k1z_zmmm512;

/// A pattern of indices for permutations of two vectors.
pub(super) struct Patterns {
    /// Of elements of two words: all first ones, all second ones.
    pub(super) pairs: [i64; 2],
    /// Of elements of four words: the first ones then the second ones, the third then the fourth.
    pub(super) fours: [i64; 2],
}

/// An access to rows of numbers.
pub(super) struct Numbered<'a> {
    this: NumberedAccess<'a>,
    pub(super) masks: [VReg; 2],
    pub(super) patterns: Option<Patterns>,
    /// The constant that numbers of windows are added to, and that whose bits misaligned ones have.
    constant: Option<i64>,
    low: i64,
    /// The distance of threads in local memory, by half.
    lines: Option<[i64; 2]>,
}

impl<'a> Deref for Numbered<'a> {
    type Target = NumberedAccess<'a>;

    fn deref(&self) -> &NumberedAccess<'a> {
        &self.this
    }
}

/// Registers that are free within an access.
pub(super) struct Temporaries {
    pub(super) general: [VReg; 4],
    pub(super) vectors: [VReg; 3],
    pub(super) masks: [VReg; 2],
}

impl Temporaries {
    pub(super) fn new(p: &mut Pseudo<'_>) -> Self {
        Self {
            general: [(); 4].map(|()| p.temp(R64)),
            vectors: [(); 3].map(|()| p.temp(View::V)),
            masks: [(); 2].map(|()| p.temp(View::K)),
        }
    }
}

impl Avx512<'_, '_> {
    pub(super) fn numbered<'a>(
        &mut self,
        access: &'a Access,
        args: &[Value],
        purpose: Purpose,
    ) -> Numbered<'a> {
        let fallback = self.fallback(access, args);
        self.numbered_for(access, args, purpose, fallback)
    }

    fn numbered_for<'a>(
        &mut self,
        access: &'a Access,
        args: &[Value],
        purpose: Purpose,
        fallback: Fallback,
    ) -> Numbered<'a> {
        let this = self.numbered_access(access, args, purpose, fallback);
        let patterns = (access.words > 1 && access.word >= 4).then(|| {
            let mut pattern = |of: &dyn Fn(u64) -> u64| {
                let words: [u64; 16] = std::array::from_fn(|i| of(i as u64));
                self.pool.vector(match access.word {
                    8 => std::array::from_fn(|i| words[i]),
                    _ => std::array::from_fn(|i| words[2 * i] | words[2 * i + 1] << 32),
                })
            };
            Patterns {
                pairs: [0, 1].map(|word| pattern(&|i| 2 * i + word)),
                fours: [0, 2].map(|word| pattern(&|i| 4 * (i % 8) + word + i / 8)),
            }
        });
        let constant = match this.offsets.indexed {
            None if access.offset as u32 != 0 => {
                Some(self.pool.word(u64::from(access.offset as u32)))
            }
            _ => None,
        };
        let low = self.pool.word(this.odd_bits());
        let lines = (access.space == Space::Local).then(|| {
            let apart = self.code.local_bytes as u32;
            [0, 1].map(|half| self.pool.line32(16 * half, apart))
        });
        let masks = [this.lanes[0], this.lanes[1]];
        Numbered { this, masks, patterns, constant, low, lines }
    }

    /// Implements [`Accesses::places`](crate::select::level::Accesses::places).
    pub(super) fn places_of_numbers(
        &mut self,
        access: &Access,
        args: &[Value],
        fallback: Fallback,
        part: i64,
    ) -> Places {
        let this = self.numbered_for(access, args, Purpose::Places, fallback);
        let mut p = self.f.pseudo();
        let [from, lanes, interpreted] = [(); 3].map(|()| p.output(R64));
        let temps = Temporaries::new(&mut p);
        let [cold, back] = [(); 2].map(|()| p.label());
        let checked = this.checked(&mut p, &temps, cold);
        p.op(Op::Mov_r64_rm64, (from, checked));
        this.put_places(&mut p, &temps, part);
        super::bits_to(&mut p, &this.masks, lanes, interpreted);
        p.op(Op::Xor_r32_rm32, (interpreted.d(), interpreted.d()));
        p.bind(back);
        p.out_of_line();
        p.bind(cold);
        let [a, b, ..] = temps.general;
        let [vector, other, _] = temps.vectors;
        this.store_addresses(&mut p, a, [vector, other]);
        call_step(&mut p, &this.fallback, [a, b], &[from, lanes, interpreted]);
        p.op(Op::Xor_r32_rm32, (lanes.d(), lanes.d()));
        p.op(Op::Mov_r32_imm32, (interpreted.d(), 1));
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
        this.in_frame(from, part, (lanes, interpreted))
    }
}

impl Numbered<'_> {
    /// Returns a register with the active lanes of a part of a row in its low bits.
    pub(super) fn part_mask(
        &self,
        p: &mut Pseudo<'_>,
        part: usize,
        per_half: usize,
        temp: VReg,
    ) -> VReg {
        let half = self.masks[part / per_half];
        if part.is_multiple_of(per_half) {
            return half;
        }
        p.op(Op::VEX_Kshiftrw_kr_kr_imm8, (temp, half, 8));
        temp
    }

    /// Checks all lanes. Goes to `cold` if one fails. Returns the register of the host address that
    /// numbers count from; checked numbers of windows are in vectors.
    pub(super) fn checked(&self, p: &mut Pseudo<'_>, temps: &Temporaries, cold: Local) -> VReg {
        match self.offsets.indexed {
            Some(_) => self.check_indexed(p, temps, cold),
            None => self.check_window(p, temps, cold),
        }
    }

    fn check_window(&self, p: &mut Pseudo<'_>, temps: &Temporaries, cold: Local) -> VReg {
        let [limit, from, ..] = temps.general;
        let [limits, ..] = temps.vectors;
        self.window_bounds(p, [limit, from], cold);
        p.op(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, (limits, limit.d()));
        for half in 0..2 {
            let at = self.plain_numbers(p, temps, half);
            let compare = Op::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
            self.fail_unless(p, temps, (compare, at, limits, 6), half, cold);
        }
        from
    }

    /// Goes to `cold` if a number of an active lane fails a comparison, or is not aligned.
    fn fail_unless(
        &self,
        p: &mut Pseudo<'_>,
        temps: &Temporaries,
        (compare, at, limits, relation): (Op, VReg, VReg, i32),
        half: usize,
        cold: Local,
    ) {
        let [bad, odd] = temps.masks;
        p.masked(self.masks[half]).op(compare, (bad, at, limits, relation));
        if self.odd_bits() > 0 {
            let low = Mem::pool(self.low).broadcast();
            let numbers = if self.offsets.indexed.is_some() { self.offsets.rows[half] } else { at };
            p.masked(self.masks[half])
                .op(Op::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32, (odd, numbers, low));
            p.op(Op::VEX_Kortestw_kr_kr, (bad, odd));
        } else {
            p.op(Op::VEX_Kortestw_kr_kr, (bad, bad));
        }
        p.jump(Op::Jne_rel32_64, cold);
    }

    /// Returns numbers of half the lanes with the constant of a window added.
    fn plain_numbers(&self, p: &mut Pseudo<'_>, temps: &Temporaries, half: usize) -> VReg {
        let Some(constant) = self.constant else { return self.offsets.rows[half] };
        let to = temps.vectors[1 + half];
        let constant = Mem::pool(constant).broadcast();
        let numbers = self.offsets.rows[half];
        p.op(Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, (to, numbers, constant));
        to
    }

    /// Returns what words of half the lanes are at, as distances from the checked address.
    fn places(&self, p: &mut Pseudo<'_>, temps: &Temporaries, half: usize) -> VReg {
        if self.offsets.indexed.is_some() {
            return self.offsets.rows[half];
        }
        let plain = match self.constant {
            Some(_) => temps.vectors[1 + half],
            None => self.offsets.rows[half],
        };
        let Some(lines) = self.lines else { return plain };
        let to = temps.vectors[0];
        p.op(Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, (to, plain, Mem::pool(lines[half])));
        to
    }

    /// Checks indices: a lane is in bounds if its number is between two scalars.
    fn check_indexed(&self, p: &mut Pseudo<'_>, temps: &Temporaries, cold: Local) -> VReg {
        let [low, from, high, region] = temps.general;
        self.index_bounds(p, [low, high, from, region], cold);
        let [limits, lows, at] = temps.vectors;
        p.op(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, (limits, high.d()));
        p.op(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, (lows, low.d()));
        for half in 0..2 {
            let numbers = self.offsets.rows[half];
            p.op(Op::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, (at, numbers, lows));
            let compare = Op::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
            self.fail_unless(p, temps, (compare, at, limits, 6), half, cold);
        }
        from
    }

    /// Returns the places of half the lanes, shifted as scales of addresses need it.
    pub(super) fn scaled_places(
        &self,
        p: &mut Pseudo<'_>,
        temps: &Temporaries,
        half: usize,
    ) -> (VReg, u8) {
        let (scale, before) = self.scale();
        let places = self.places(p, temps, half);
        if before == 0 {
            return (places, scale);
        }
        let to = temps.vectors[0];
        p.op(Op::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, (to, places, before));
        (to, scale)
    }

    /// Returns the places of a quarter of the lanes in the low half of a register; `mask` becomes
    /// the mask of the quarter.
    pub(super) fn quarter(
        &self,
        p: &mut Pseudo<'_>,
        temps: &Temporaries,
        places: VReg,
        half: usize,
        quarter: usize,
        mask: VReg,
    ) -> VReg {
        if quarter == 0 {
            p.op(Op::VEX_Kmovw_kr_km16, (mask, self.masks[half]));
            return places;
        }
        p.op(Op::VEX_Kshiftrw_kr_kr_imm8, (mask, self.masks[half], 8));
        let to = temps.vectors[0];
        p.op(Op::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8, (to.y(), places, 1));
        to
    }

    /// Stores the places of all lanes in a part of the frame's room for lanes, of 256 bytes.
    pub(super) fn put_places(&self, p: &mut Pseudo<'_>, temps: &Temporaries, part: i64) {
        for half in 0..2 {
            let (places, _) = self.scaled_places(p, temps, half);
            put_half(p, 2 * part, half, places);
        }
    }
}

/// Stores half a row of 32-bit values in a part of the frame's room for lanes.
pub(super) fn put_half(p: &mut Pseudo<'_>, part: i64, half: usize, value: VReg) {
    let to = Mem::frame(Frame::LANE_ROOM + 128 * part + 64 * half as i64);
    p.op(Op::EVEX_Vmovdqa32_zmmm512_k1z_zmm, (to, value));
}
