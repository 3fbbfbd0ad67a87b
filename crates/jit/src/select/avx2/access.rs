//! Accesses to contiguous words.
//!
//! Loads whose words are all in bounds load them for all lanes: those that are off hold anything.
//! A store by all lanes is plain; others are out of line, masked or lane by lane.

use super::Avx2;
use crate::frame::Frame;
use crate::layout::RowLayout;
use crate::select::level::{Accesses, Compared, Words};
use crate::select::memory::{Fallback, Places};
use crate::vcode::{Local, Mem, Part, Pseudo, VReg, View};
use iced_x86::Code as Op;
use vector::{Access, Extend, Value};

impl Accesses for Avx2<'_, '_> {
    fn is_judged(&mut self, _: &Access, _: &[Value], _: i64) -> Option<VReg> {
        None
    }

    fn words(&mut self, access: &Access, mask: Value) -> Words {
        let mask = self.mask(mask).into_iter().collect();
        let wide = access.word == 8;
        let parts = if wide { 8 } else { 4 };
        let constants = match access.word {
            word @ (1 | 2) => vec![self.short_words(word)],
            _ => (0..parts).map(|part| self.sign_shifts(part, wide)).collect(),
        };
        Words { word: access.word, extend: access.extend, parts, mask, constants }
    }

    fn layout_constants(&mut self) -> Vec<Mem> {
        // Dwords of packed quarters in the order of lanes.
        let order = [0, 4, 1, 5, 2, 6, 3, 7];
        let word = |i: usize| order[2 * i % 8] | order[2 * i % 8 + 1] << 32;
        vec![Mem::pool(self.pool.vector(std::array::from_fn(word)))]
    }

    fn load_any(&mut self, access: &Access, args: &[Value], results: &[Value]) {
        match self.has_numbers(access, args) {
            true => self.load_numbers(access, args, results),
            false => self.load_scattered(access, args, results),
        }
    }

    fn store_any(&mut self, access: &Access, args: &[Value]) {
        match self.has_numbers(access, args) {
            true => self.store_numbers(access, args),
            false => self.store_scattered(access, args),
        }
    }

    fn places(
        &mut self,
        access: &Access,
        args: &[Value],
        fallback: Fallback,
        part: i64,
    ) -> Option<Places> {
        match self.has_numbers(access, args) {
            true => Some(self.places_of_numbers(access, args, fallback, part)),
            false => self.places_of_addresses(access, args, fallback, part),
        }
    }

    fn load_written(&mut self, from: Mem) -> VReg {
        self.f.v2(super::CODES.load, from)
    }
}

impl Avx2<'_, '_> {
    /// A shuffle of the low 8 or 16 bits of 32-bit lanes to the beginning of each half.
    pub(super) fn short_words(&mut self, word: u8) -> Mem {
        match word {
            1 => self.low_bytes([0, 4, 8, 12]),
            _ => self.low_bytes([0, 1, 4, 5, 8, 9, 12, 13]),
        }
    }

    /// A shuffle of these bytes of each half of a vector to its beginning.
    fn low_bytes<const N: usize>(&mut self, bytes: [u8; N]) -> Mem {
        let mut half = [0x80; 16];
        half[..N].copy_from_slice(&bytes);
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| half[at + i]));
        let words = [word(0), word(8)];
        Mem::pool(self.pool.vector(std::array::from_fn(|i| words[i % 2])))
    }
}

/// See [`Codes::widen_half`](crate::select::level::Codes::widen_half).
pub(super) fn widen_half(p: &mut Pseudo<'_>, row: VReg, upper: bool, signed: bool) {
    if upper {
        p.op(Op::VEX_Vextracti128_xmmm128_ymm_imm8, (row.x(), row, 1));
    }
    let extend = match signed {
        true => Op::VEX_Vpmovsxdq_ymm_xmmm128,
        false => Op::VEX_Vpmovzxdq_ymm_xmmm128,
    };
    p.op(extend, (row, row.x()));
}

/// See [`Codes::differs`](crate::select::level::Codes::differs).
pub(super) fn differs(p: &mut Pseudo<'_>, compared: &Compared, to: Local) {
    let &Compared { first, layout, .. } = compared;
    let ([quarters @ .., bits], [order]) = (&compared.temps[..], &compared.constants[..]) else {
        return;
    };
    for (quarter, (&equal, &row)) in quarters.iter().zip(&compared.rows).enumerate() {
        let distances = Mem::at(layout, RowLayout::DISTANCES + 32 * quarter as i64);
        p.op(Op::VEX_Vpaddd_ymm_ymm_ymmm256, (equal, first, distances));
        p.op(Op::VEX_Vpcmpeqd_ymm_ymm_ymmm256, (equal, equal, row.any()));
    }
    let &[a, b, c, d] = quarters else { return };
    p.op(Op::VEX_Vpackssdw_ymm_ymm_ymmm256, (a, a, b));
    p.op(Op::VEX_Vpackssdw_ymm_ymm_ymmm256, (c, c, d));
    p.op(Op::VEX_Vpacksswb_ymm_ymm_ymmm256, (a, a, c));
    p.op(Op::VEX_Vmovdqu_ymm_ymmm256, (b, *order));
    p.op(Op::VEX_Vpermd_ymm_ymm_ymmm256, (a, b, a));
    p.op(Op::VEX_Vpmovmskb_r32_ymm, (bits.d(), a));
    p.op(Op::VEX_Andn_r32_r32_rm32, (bits.d(), bits.d(), compared.lanes[0].d()));
    p.jump(Op::Jne_rel32_64, to);
}

/// The memory of a part's words.
fn part_at(words: &Words, at: VReg, part: usize) -> Mem {
    Mem::at(at, (32 / words.parts * usize::from(words.word) * part) as i64)
}

/// Returns the instruction that loads contiguous words as lanes.
pub(super) fn load_op(word: u8, extend: Extend) -> Op {
    match (word, extend) {
        (1, Extend::Zero) => Op::VEX_Vpmovzxbd_ymm_xmmm64,
        (1, _) => Op::VEX_Vpmovsxbd_ymm_xmmm64,
        (2, Extend::Zero) => Op::VEX_Vpmovzxwd_ymm_xmmm128,
        (2, _) => Op::VEX_Vpmovsxwd_ymm_xmmm128,
        _ => Op::VEX_Vmovdqu_ymm_ymmm256,
    }
}

/// Loads the words of all lanes.
pub(super) fn load_words(p: &mut Pseudo<'_>, words: &Words, at: VReg, to: &[VReg]) {
    let op = load_op(words.word, words.extend);
    for (part, &to) in to.iter().enumerate() {
        p.op(op, (to, part_at(words, at, part)));
    }
}

/// Loads the words of the lanes that are on; returns whether it has.
pub(super) fn load_partial(p: &mut Pseudo<'_>, words: &Words, at: VReg, to: &[VReg]) -> bool {
    if words.word < 4 {
        return false;
    }
    let op = match words.word {
        8 => Op::VEX_Vpmaskmovq_ymm_ymm_m256,
        _ => Op::VEX_Vpmaskmovd_ymm_ymm_m256,
    };
    let spread = spread(p, words);
    for (part, &to) in to.iter().enumerate() {
        signs(p, words, part, spread, to);
        p.op(op, (to, to, part_at(words, at, part)));
    }
    true
}

/// Puts the mask into each word of a vector.
fn spread(p: &mut Pseudo<'_>, words: &Words) -> VReg {
    let spread = p.temp(View::V);
    p.op(Op::VEX_Vmovd_xmm_rm32, (spread.x(), words.mask[0].d()));
    p.op(Op::VEX_Vpbroadcastd_ymm_xmmm32, (spread, spread.x()));
    spread
}

/// Shifts the bits of a part's lanes to their signs.
fn signs(p: &mut Pseudo<'_>, words: &Words, part: usize, spread: VReg, to: VReg) {
    let op = match words.word {
        8 => Op::VEX_Vpsllvq_ymm_ymm_ymmm256,
        _ => Op::VEX_Vpsllvd_ymm_ymm_ymmm256,
    };
    p.op(op, (to, spread, words.constants[part]));
}

/// Stores the words of all lanes if all are on; otherwise goes to a label.
pub(super) fn store_words(
    p: &mut Pseudo<'_>,
    words: &Words,
    at: VReg,
    values: &[VReg],
    partial: Local,
) {
    p.op(Op::Cmp_rm32_imm8, (words.mask[0].d(), -1));
    p.jump(Op::Jne_rel32_64, partial);
    if words.word >= 4 {
        for (part, &value) in values.iter().enumerate() {
            p.op(Op::VEX_Vmovdqu_ymmm256_ymm, (part_at(words, at, part), value));
        }
        return;
    }
    let [low, high] = [(); 2].map(|()| p.temp(View::V));
    for (part, &value) in values.iter().enumerate() {
        p.op(Op::VEX_Vmovdqa_ymm_ymmm256, (low, value));
        store_short(p, words.word, part_at(words, at, part), words.constants[0], [low, high]);
    }
}

/// Stores contiguous words of 8 or 16 bits, which are the lanes of the first register; both change.
pub(super) fn store_short(
    p: &mut Pseudo<'_>,
    word: u8,
    to: Mem,
    shuffle: Mem,
    [low, high]: [VReg; 2],
) {
    p.op(Op::VEX_Vpshufb_ymm_ymm_ymmm256, (low, low, shuffle));
    p.op(Op::VEX_Vextracti128_xmmm128_ymm_imm8, (high.x(), low, 1));
    if word == 1 {
        p.op(Op::VEX_Vpunpckldq_xmm_xmm_xmmm128, (low.x(), low.x(), high.x()));
        p.op(Op::VEX_Vmovq_xmmm64_xmm, (to, low.x()));
    } else {
        p.op(Op::VEX_Vpunpcklqdq_xmm_xmm_xmmm128, (low.x(), low.x(), high.x()));
        p.op(Op::VEX_Vmovdqu_xmmm128_xmm, (to, low.x()));
    }
}

/// Stores the words of the lanes that are on; the general registers are free.
pub(super) fn store_partial(
    p: &mut Pseudo<'_>,
    words: &Words,
    at: VReg,
    values: &[VReg],
    [left, lane, value]: [VReg; 3],
) {
    if words.word >= 4 {
        let op = match words.word {
            8 => Op::VEX_Vpmaskmovq_m256_ymm_ymm,
            _ => Op::VEX_Vpmaskmovd_m256_ymm_ymm,
        };
        let (spread, mask) = (spread(p, words), p.temp(View::V));
        for (part, &value) in values.iter().enumerate() {
            signs(p, words, part, spread, mask);
            p.op(op, (part_at(words, at, part), mask, value));
        }
        return;
    }
    let room = Mem::frame(Frame::LANE_ROOM);
    for (part, &value) in values.iter().enumerate() {
        p.op(Op::VEX_Vmovdqu_ymmm256_ymm, (room.offset(32 * part as i64), value));
    }
    let (next, done) = (p.label(), p.label());
    p.op(Op::Mov_r32_rm32, (left.d(), words.mask[0].d()));
    p.op(Op::Test_rm32_r32, (left.d(), left.d()));
    p.jump(Op::Je_rel32_64, done);
    p.bind(next);
    p.op(Op::Tzcnt_r32_rm32, (lane.d(), left.d()));
    p.op(Op::Mov_r32_rm32, (value.d(), room.index(lane, 4)));
    let to = Mem::at(at, 0).index(lane, words.word);
    match words.word {
        1 => p.op(Op::Mov_rm8_r8, (to, value.b())),
        _ => p.op(Op::Mov_rm16_r16, (to, value.w())),
    };
    p.op(Op::VEX_Blsr_r32_rm32, (left.d(), left.d()));
    p.jump(Op::Jne_rel32_64, next);
    p.bind(done);
}
