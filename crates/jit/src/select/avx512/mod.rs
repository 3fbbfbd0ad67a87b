//! AVX-512: a row of 32-bit lanes is two vectors, one of 64-bit lanes four; a mask is two mask
//! registers, a half of the lanes in the low 16 bits of each.

mod collective;
mod exempt;
mod lanes;
mod loads;
mod masks;
mod numbers;
mod rows;
mod scattered;
mod stores;

use super::level::{Accesses, Codes, Compared, FloatCodes, LaneCodes, Words};
use super::memory::{Fallback, Places};
use super::{Selector, Value};
use crate::layout::RowLayout;
use crate::vcode::{Local, Mem, Part, Pseudo, VReg, View};
use fast::Level;
use iced_x86::Code as Op;
use ir::mods::Space;
use smallvec::SmallVec;
use std::ops::{Deref, DerefMut};
use vector::{Access, Extend};

/// A selector with the patterns of this level.
pub(super) struct Avx512<'s, 'c>(pub(super) &'s mut Selector<'c>);

impl<'c> Deref for Avx512<'_, 'c> {
    type Target = Selector<'c>;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl DerefMut for Avx512<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.0
    }
}

pub(super) static CODES: Codes = Codes {
    level: Level::Avx512,
    row32: &[View::V; 2],
    row64: &[View::V; 4],
    mask: &[View::K; 2],
    vector_bytes: 64,
    load: Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512,
    load_unaligned: Op::EVEX_Vmovdqu32_zmm_k1z_zmmm512,
    store: Op::EVEX_Vmovdqa32_zmmm512_k1z_zmm,
    splat: [Op::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, Op::EVEX_Vpbroadcastq_zmm_k1z_xmmm64],
    lanes: [
        LaneCodes {
            and: Op::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32,
            or: Op::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32,
            add: Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
            sub: Op::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32,
            shift_left: Op::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8,
            shift_right: Op::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8,
        },
        LaneCodes {
            and: Op::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64,
            or: Op::EVEX_Vporq_zmm_k1z_zmm_zmmm512b64,
            add: Op::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64,
            sub: Op::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64,
            shift_left: Op::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8,
            shift_right: Op::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8,
        },
    ],
    shuffle: Op::EVEX_Vpshufb_zmm_k1z_zmm_zmmm512,
    single: FloatCodes {
        into: Op::EVEX_Vmovd_xmm_rm32,
        out_of: Op::EVEX_Vmovd_rm32_xmm,
        compare: Op::EVEX_Vucomiss_xmm_xmmm32_sae,
        add: Op::EVEX_Vaddss_xmm_k1z_xmm_xmmm32_er,
        sub: Op::EVEX_Vsubss_xmm_k1z_xmm_xmmm32_er,
        mul: Op::EVEX_Vmulss_xmm_k1z_xmm_xmmm32_er,
        div: Op::EVEX_Vdivss_xmm_k1z_xmm_xmmm32_er,
        sqrt: Op::EVEX_Vsqrtss_xmm_k1z_xmm_xmmm32_er,
        fma: Op::EVEX_Vfmadd213ss_xmm_k1z_xmm_xmmm32_er,
    },
    double: FloatCodes {
        into: Op::EVEX_Vmovq_xmm_rm64,
        out_of: Op::EVEX_Vmovq_rm64_xmm,
        compare: Op::EVEX_Vucomisd_xmm_xmmm64_sae,
        add: Op::EVEX_Vaddsd_xmm_k1z_xmm_xmmm64_er,
        sub: Op::EVEX_Vsubsd_xmm_k1z_xmm_xmmm64_er,
        mul: Op::EVEX_Vmulsd_xmm_k1z_xmm_xmmm64_er,
        div: Op::EVEX_Vdivsd_xmm_k1z_xmm_xmmm64_er,
        sqrt: Op::EVEX_Vsqrtsd_xmm_k1z_xmm_xmmm64_er,
        fma: Op::EVEX_Vfmadd213sd_xmm_k1z_xmm_xmmm64_er,
    },
    zero: Op::EVEX_Vpxord_xmm_k1z_xmm_xmmm128b32,
    float_of_long: Op::EVEX_Vcvtsi2ss_xmm_xmm_rm64_er,
    float_of_int: Op::EVEX_Vcvtsi2ss_xmm_xmm_rm32_er,
    bits_to,
    splat_to,
    load_words,
    load_partial: None,
    store_words,
    store_partial: None,
    widen_half,
    compare_temps: &[View::V, View::K, View::K],
    differs,
};

fn differs(p: &mut Pseudo<'_>, compared: &Compared, to: Local) {
    let &Compared { first, layout, .. } = compared;
    let [expected, ref apart @ ..] = compared.temps[..] else { return };
    for (half, &row) in compared.rows.iter().enumerate() {
        let distances = Mem::at(layout, RowLayout::DISTANCES + 64 * half as i64);
        p.op(Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, (expected, first, distances));
        let compare = Op::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
        p.masked(compared.lanes[half]).op(compare, (apart[half], expected, row.any(), 4));
    }
    p.op(Op::VEX_Kortestw_kr_kr, (apart[0], apart[1]));
    p.jump(Op::Jne_rel32_64, to);
}

fn bits_to(p: &mut Pseudo<'_>, mask: &[VReg], to: VReg, temp: VReg) {
    p.op(Op::VEX_Kmovw_r32_kr, (temp.d(), mask[1]));
    p.op(Op::VEX_Kmovw_r32_kr, (to.d(), mask[0]));
    p.op(Op::Shl_rm32_imm8, (temp.d(), 16));
    p.op(Op::Or_r32_rm32, (to.d(), temp.d()));
}

fn splat_to(p: &mut Pseudo<'_>, to: VReg, word: VReg, wide: bool) {
    match wide {
        true => p.op(Op::EVEX_Vpbroadcastq_zmm_k1z_r64, (to, word)),
        false => p.op(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, (to, word.d())),
    };
}

/// The memory of a part's words.
fn part_at(words: &Words, at: VReg, part: usize) -> Mem {
    Mem::at(at, (32 / words.parts * usize::from(words.word) * part) as i64)
}

/// Returns the instruction that loads contiguous words as lanes.
fn load_op(word: u8, extend: Extend) -> Op {
    match (word, extend) {
        (1, Extend::Zero) => Op::EVEX_Vpmovzxbd_zmm_k1z_xmmm128,
        (1, _) => Op::EVEX_Vpmovsxbd_zmm_k1z_xmmm128,
        (2, Extend::Zero) => Op::EVEX_Vpmovzxwd_zmm_k1z_ymmm256,
        (2, _) => Op::EVEX_Vpmovsxwd_zmm_k1z_ymmm256,
        (4, _) => Op::EVEX_Vmovdqu32_zmm_k1z_zmmm512,
        _ => Op::EVEX_Vmovdqu64_zmm_k1z_zmmm512,
    }
}

/// Returns the instruction that stores lanes as contiguous words.
fn store_op(word: u8) -> Op {
    match word {
        1 => Op::EVEX_Vpmovdb_xmmm128_k1z_zmm,
        2 => Op::EVEX_Vpmovdw_ymmm256_k1z_zmm,
        4 => Op::EVEX_Vmovdqu32_zmmm512_k1z_zmm,
        _ => Op::EVEX_Vmovdqu64_zmmm512_k1z_zmm,
    }
}

fn load_words(p: &mut Pseudo<'_>, words: &Words, at: VReg, to: &[VReg]) {
    let op = load_op(words.word, words.extend);
    for (part, (&to, &mask)) in to.iter().zip(&words.mask).enumerate() {
        p.zero(mask).op(op, (to, part_at(words, at, part)));
    }
}

fn store_words(p: &mut Pseudo<'_>, words: &Words, at: VReg, values: &[VReg], _: Local) {
    let op = store_op(words.word);
    for (part, (&value, &mask)) in values.iter().zip(&words.mask).enumerate() {
        p.masked(mask).op(op, (part_at(words, at, part), value));
    }
}

/// See [`Codes::widen_half`].
fn widen_half(p: &mut Pseudo<'_>, row: VReg, upper: bool, signed: bool) {
    if upper {
        p.op(Op::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8, (row.y(), row, 1));
    }
    let extend = match signed {
        true => Op::EVEX_Vpmovsxdq_zmm_k1z_ymmm256,
        false => Op::EVEX_Vpmovzxdq_zmm_k1z_ymmm256,
    };
    p.op(extend, (row, row.y()));
}

impl Accesses for Avx512<'_, '_> {
    fn words(&mut self, access: &Access, mask: Value) -> Words {
        let mask: SmallVec<[VReg; 4]> = match access.word {
            8 => SmallVec::from_slice(&self.quarters(mask)),
            _ => SmallVec::from_slice(&self.m(mask)),
        };
        let (word, extend, parts) = (access.word, access.extend, mask.len());
        Words { word, extend, parts, mask, constants: Vec::new() }
    }

    fn layout_constants(&mut self) -> Vec<Mem> {
        Vec::new()
    }

    fn load_any(&mut self, access: &Access, args: &[Value], results: &[Value]) {
        match self.has_numbers(access, args) {
            true => self.load_numbers(access, args, results),
            false => self.gather_words(access, args, results),
        }
    }

    fn store_any(&mut self, access: &Access, args: &[Value]) {
        match self.has_numbers(access, args) {
            true => self.store_numbers(access, args),
            false => self.scatter_words(access, args),
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
            false => self.places_of_addresses(access, args, &fallback, part),
        }
    }

    fn is_judged(&mut self, access: &Access, args: &[Value], cell: i64) -> Option<VReg> {
        Some(match (access.space, self.has_numbers(access, args)) {
            // Addresses of windows wrap around.
            (Space::Shared | Space::Local, true) => self.is_judged_window(access, args, cell),
            _ => self.is_judged_map(access, args, cell),
        })
    }

    /// Half by half: a load waits until all words that it reads have left the store buffer.
    fn load_written(&mut self, from: Mem) -> VReg {
        let low = self.f.def(Op::EVEX_Vmovdqu32_ymm_k1z_ymmm256, View::Y, (from,));
        let insert = Op::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8;
        self.f.def(insert, View::V, (low, from.offset(32), 1))
    }
}
