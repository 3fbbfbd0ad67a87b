//! Accesses whose addresses are rows of 32-bit numbers.
//!
//! Words are loaded and stored by layouts where these are known. Otherwise they are gathered, and
//! stored lane by lane; short ones are loaded so, too. Vectors are few: rows of numbers and of
//! values may be in memory.

use super::Avx2;
use crate::frame::Frame;
use crate::select::memory::numbers::{NumberedAccess, Purpose};
use crate::select::memory::{Fallback, Places, call_step_by};
use crate::vcode::{Local, Mem, Part, Pseudo, VReg, View};
use iced_x86::Code as Op;
use ir::mods::Space;
use std::ops::Deref;
use vector::{Access, Type, Value};

use View::R64;

const AND: Op = Op::VEX_Vpand_ymm_ymm_ymmm256;
const ADD: Op = Op::VEX_Vpaddd_ymm_ymm_ymmm256;
/// Loads and stores a vector.
pub(super) const LOAD: Op = Op::VEX_Vmovdqu_ymm_ymmm256;
pub(super) const STORE: Op = Op::VEX_Vmovdqu_ymmm256_ymm;
/// The upper half of a vector.
const UPPER: Op = Op::VEX_Vextracti128_xmmm128_ymm_imm8;

/// An access to rows of numbers.
pub(super) struct Numbered<'a> {
    this: NumberedAccess<'a>,
    pub(super) lanes: VReg,
    /// The constant that numbers of windows are added to, that whose bits misaligned ones have, and
    /// zeros.
    constant: Option<Mem>,
    low: Mem,
    zeros: Mem,
    /// The distance of threads in local memory, by quarter.
    lines: Option<[Mem; 4]>,
    /// By part of the row of words: see [`Avx2::sign_shifts`].
    shifts: Vec<Mem>,
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
    pub(super) vectors: [VReg; 5],
}

impl Temporaries {
    pub(super) fn new(p: &mut Pseudo<'_>) -> Self {
        Self { general: [(); 4].map(|()| p.temp(R64)), vectors: [(); 5].map(|()| p.temp(View::V)) }
    }
}

impl Avx2<'_, '_> {
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
        mut fallback: Fallback,
    ) -> Numbered<'a> {
        self.limit_operands(&mut fallback);
        let this = self.numbered_access(access, args, purpose, fallback);
        let constant = match this.offsets.indexed {
            None if access.offset as u32 != 0 => {
                Some(self.constant(u64::from(access.offset as u32), false))
            }
            _ => None,
        };
        let lines = (access.space == Space::Local).then(|| {
            let apart = self.code.local_bytes as u32;
            let halves = [0, 1].map(|half| self.pool.line32(16 * half, apart));
            [0, 1, 2, 3].map(|quarter| Mem::pool(halves[quarter / 2] + 32 * (quarter as i64 % 2)))
        });
        Numbered {
            lanes: this.lanes[0],
            constant,
            low: self.constant(this.odd_bits(), false),
            zeros: self.constant(0, false),
            lines,
            shifts: {
                let parts = if this.wide() { 8 } else { 4 };
                (0..parts).map(|part| self.sign_shifts(part, this.wide())).collect()
            },
            this,
        }
    }
}

impl Avx2<'_, '_> {
    /// Implements [`Accesses::places`](crate::select::level::Accesses::places).
    pub(super) fn places_of_numbers(
        &mut self,
        access: &Access,
        args: &[Value],
        fallback: Fallback,
        part: i64,
    ) -> Places {
        let this = self.numbered_for(access, args, Purpose::Places, fallback);
        self.checked_places(&this, part)
    }

    /// Checks an access and stores its places in a part of the frame's room for lanes.
    pub(super) fn checked_places(&mut self, this: &Numbered<'_>, room: i64) -> Places {
        let mut p = self.f.pseudo();
        let [base, lanes, interpreted] = [(); 3].map(|()| p.output(R64));
        let temps = Temporaries::new(&mut p);
        this.allow_memory(&mut p, &[]);
        let [cold, back] = [(); 2].map(|()| p.label());
        let from = this.checked(&mut p, &temps, cold);
        this.put_places(&mut p, &temps, room);
        p.op(Op::Mov_r64_rm64, (base, from));
        p.op(Op::Mov_r32_rm32, (lanes.d(), this.lanes.d()));
        p.op(Op::Xor_r32_rm32, (interpreted.d(), interpreted.d()));
        p.bind(back);
        p.out_of_line();
        p.bind(cold);
        this.interpret(&mut p, &temps, &[base, lanes, interpreted]);
        p.op(Op::Xor_r32_rm32, (lanes.d(), lanes.d()));
        p.op(Op::Mov_r32_imm32, (interpreted.d(), 1));
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
        this.in_frame(base, room, (lanes, interpreted))
    }
}

impl Numbered<'_> {
    /// Vectors of a row of words.
    pub(super) fn parts(&self) -> usize {
        if self.wide() { 8 } else { 4 }
    }

    /// Lets rows be in memory: those that the access reads and others.
    pub(super) fn allow_memory(&self, p: &mut Pseudo<'_>, others: &[VReg]) {
        let is_row = |ty: Type| matches!(ty, Type::Row32 | Type::Row64);
        let operands = self.fallback.operands.iter().filter(|(home, _)| is_row(home.ty()));
        let rows = operands.flat_map(|(_, rows)| rows);
        for &row in self.offsets.rows.iter().chain(rows).chain(others) {
            p.any(row);
        }
    }

    /// Has the interpreter execute the step.
    pub(super) fn interpret(&self, p: &mut Pseudo<'_>, temps: &Temporaries, results: &[VReg]) {
        let [a, b, ..] = temps.general;
        let [vector, other, ..] = temps.vectors;
        self.store_addresses(p, a, [vector, other]);
        call_step_by(p, &self.fallback, [a, b], Some(temps.vectors[0]), results);
    }

    /// Checks all lanes. Goes to `cold` if one fails. Returns the register of the host address that
    /// places count from.
    pub(super) fn checked(&self, p: &mut Pseudo<'_>, temps: &Temporaries, cold: Local) -> VReg {
        let [low, from, high, region] = temps.general;
        let [limits, lows, ..] = temps.vectors;
        if self.offsets.indexed.is_some() {
            self.index_bounds(p, [low, high, from, region], cold);
            super::splat_to(p, limits, high, false);
            super::splat_to(p, lows, low, false);
        } else {
            self.window_bounds(p, [high, from], cold);
            super::splat_to(p, limits, high, false);
        }
        for quarter in 0..4 {
            self.check_quarter(p, temps, quarter);
        }
        // The lanes whose numbers are good.
        p.op(Op::VEX_Andn_r32_r32_rm32, (low.d(), low.d(), self.lanes.d()));
        p.jump(Op::Jne_rel32_64, cold);
        from
    }

    /// Adds the lanes of a quarter whose numbers are in bounds and aligned to a register.
    fn check_quarter(&self, p: &mut Pseudo<'_>, temps: &Temporaries, quarter: usize) {
        let [good, _, bits, _] = temps.general;
        let [limits, lows, at, inside, even] = temps.vectors;
        self.plain_numbers(p, quarter, at);
        if self.odd_bits() > 0 {
            p.op(AND, (even, at, self.low));
            p.op(Op::VEX_Vpcmpeqd_ymm_ymm_ymmm256, (even, even, self.zeros));
        }
        if self.offsets.indexed.is_some() {
            p.op(Op::VEX_Vpsubd_ymm_ymm_ymmm256, (at, at, lows));
        }
        // The lesser of a number in bounds and of the limit is the number.
        p.op(Op::VEX_Vpminud_ymm_ymm_ymmm256, (inside, at, limits));
        p.op(Op::VEX_Vpcmpeqd_ymm_ymm_ymmm256, (inside, inside, at));
        if self.odd_bits() > 0 {
            p.op(AND, (inside, inside, even));
        }
        let to = if quarter == 0 { good } else { bits };
        p.op(Op::VEX_Vmovmskps_r32_ymm, (to.d(), inside));
        if quarter > 0 {
            p.op(Op::Shl_rm32_imm8, (bits.d(), 8 * quarter as i32));
            p.op(Op::Or_r32_rm32, (good.d(), bits.d()));
        }
    }

    /// Puts a quarter of the numbers, with the constant of a window added, into a vector.
    fn plain_numbers(&self, p: &mut Pseudo<'_>, quarter: usize, to: VReg) {
        p.op(LOAD, (to, self.offsets.rows[quarter].any()));
        if let Some(constant) = self.constant {
            p.op(ADD, (to, to, constant));
        }
    }

    /// Puts what words of a quarter of the lanes are at, shifted as scales of addresses need it,
    /// into a vector. Returns the scale.
    fn places(&self, p: &mut Pseudo<'_>, quarter: usize, to: VReg) -> u8 {
        let (scale, before) = self.scale();
        self.plain_numbers(p, quarter, to);
        if let Some(lines) = self.lines {
            p.op(ADD, (to, to, lines[quarter]));
        }
        if before > 0 {
            p.op(Op::VEX_Vpslld_ymm_ymm_imm8, (to, to, before));
        }
        scale
    }

    /// Stores the places of all lanes in a part of the frame's room for lanes, of 256 bytes.
    pub(super) fn put_places(&self, p: &mut Pseudo<'_>, temps: &Temporaries, room: i64) {
        let to = temps.vectors[0];
        for quarter in 0..4 {
            self.places(p, quarter, to);
            let at = Frame::LANE_ROOM + 256 * room + 32 * quarter as i64;
            p.op(STORE, (Mem::frame(at), to));
        }
    }

    /// Loads words of 32 or 64 bits one by one, each part of the row into a register that a
    /// function names, and calls another with it.
    pub(super) fn gather(
        &self,
        p: &mut Pseudo<'_>,
        temps: &Temporaries,
        (from, distance): (VReg, i64),
        to: impl Fn(usize) -> VReg,
        mut done: impl FnMut(&mut Pseudo<'_>, usize, VReg),
    ) {
        let [lanes, places, mask, upper, _] = temps.vectors;
        super::splat_to(p, lanes, self.lanes, false);
        for quarter in 0..4 {
            let scale = self.places(p, quarter, places);
            if !self.wide() {
                let to = to(quarter);
                let words = Mem::at(from, distance).index(places, scale);
                self.signs(p, quarter, lanes, mask);
                p.op(Op::VEX_Vpxor_ymm_ymm_ymmm256, (to, to, to));
                p.op(Op::VEX_Vpgatherdd_ymm_vm32y_ymm, (to, words, mask));
                done(p, quarter, to);
                continue;
            }
            p.op(UPPER, (upper.x(), places, 1));
            for (part, places) in [(2 * quarter, places), (2 * quarter + 1, upper)] {
                let to = to(part);
                let words = Mem::at(from, distance).index_part(places, View::X, scale);
                self.signs(p, part, lanes, mask);
                p.op(Op::VEX_Vpxor_ymm_ymm_ymmm256, (to, to, to));
                p.op(Op::VEX_Vpgatherdq_ymm_vm32x_ymm, (to, words, mask));
                done(p, part, to);
            }
        }
    }

    /// Puts the signs of the active lanes of a part of the row of words into a vector, from the
    /// lanes in all words of another.
    pub(super) fn signs(&self, p: &mut Pseudo<'_>, part: usize, lanes: VReg, to: VReg) {
        let shift = match self.wide() {
            true => Op::VEX_Vpsllvq_ymm_ymm_ymmm256,
            false => Op::VEX_Vpsllvd_ymm_ymm_ymmm256,
        };
        p.op(shift, (to, lanes, self.shifts[part]));
    }
}
