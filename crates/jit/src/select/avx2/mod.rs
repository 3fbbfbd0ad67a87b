//! AVX2: a row of 32-bit lanes is four vectors, one of 64-bit lanes eight; a mask is the low 32
//! bits of a general register, whose others are 0.
//!
//! Where lanes are selected, a mask is vectors, too: see [`masks`]. Registers are few, so
//! operations on rows wait until something else needs a result, and are then selected quarter by
//! quarter of the lanes: see [`order`].

mod access;
mod bits;
mod collective;
mod conversions;
mod floats;
mod integers;
mod loads;
mod masks;
mod numbers;
mod order;
mod rows;
mod scattered;
mod stores;

use super::Selector;
use super::level::{Codes, FloatCodes, LaneCodes};
use crate::vcode::{Mem, Part, Pseudo, Source, VReg, View};
use fast::Level;
use iced_x86::Code as Op;
pub(super) use order::Waiting;
use std::ops::{Deref, DerefMut};
use vector::Value;

/// A selector with the patterns of this level.
pub(super) struct Avx2<'s, 'c>(pub(super) &'s mut Selector<'c>);

impl<'c> Deref for Avx2<'_, 'c> {
    type Target = Selector<'c>;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl DerefMut for Avx2<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.0
    }
}

pub(super) static CODES: Codes = Codes {
    level: Level::Avx2,
    row32: &[View::V; 4],
    row64: &[View::V; 8],
    mask: &[View::R64],
    vector_bytes: 32,
    load: Op::VEX_Vmovdqa_ymm_ymmm256,
    load_unaligned: Op::VEX_Vmovdqu_ymm_ymmm256,
    store: Op::VEX_Vmovdqa_ymmm256_ymm,
    splat: [Op::VEX_Vpbroadcastd_ymm_xmmm32, Op::VEX_Vpbroadcastq_ymm_xmmm64],
    lanes: [
        LaneCodes {
            and: Op::VEX_Vpand_ymm_ymm_ymmm256,
            or: Op::VEX_Vpor_ymm_ymm_ymmm256,
            add: Op::VEX_Vpaddd_ymm_ymm_ymmm256,
            sub: Op::VEX_Vpsubd_ymm_ymm_ymmm256,
            shift_left: Op::VEX_Vpslld_ymm_ymm_imm8,
            shift_right: Op::VEX_Vpsrld_ymm_ymm_imm8,
        },
        LaneCodes {
            and: Op::VEX_Vpand_ymm_ymm_ymmm256,
            or: Op::VEX_Vpor_ymm_ymm_ymmm256,
            add: Op::VEX_Vpaddq_ymm_ymm_ymmm256,
            sub: Op::VEX_Vpsubq_ymm_ymm_ymmm256,
            shift_left: Op::VEX_Vpsllq_ymm_ymm_imm8,
            shift_right: Op::VEX_Vpsrlq_ymm_ymm_imm8,
        },
    ],
    shuffle: Op::VEX_Vpshufb_ymm_ymm_ymmm256,
    single: FloatCodes {
        into: Op::VEX_Vmovd_xmm_rm32,
        out_of: Op::VEX_Vmovd_rm32_xmm,
        compare: Op::VEX_Vucomiss_xmm_xmmm32,
        add: Op::VEX_Vaddss_xmm_xmm_xmmm32,
        sub: Op::VEX_Vsubss_xmm_xmm_xmmm32,
        mul: Op::VEX_Vmulss_xmm_xmm_xmmm32,
        div: Op::VEX_Vdivss_xmm_xmm_xmmm32,
        sqrt: Op::VEX_Vsqrtss_xmm_xmm_xmmm32,
        fma: Op::VEX_Vfmadd213ss_xmm_xmm_xmmm32,
    },
    double: FloatCodes {
        into: Op::VEX_Vmovq_xmm_rm64,
        out_of: Op::VEX_Vmovq_rm64_xmm,
        compare: Op::VEX_Vucomisd_xmm_xmmm64,
        add: Op::VEX_Vaddsd_xmm_xmm_xmmm64,
        sub: Op::VEX_Vsubsd_xmm_xmm_xmmm64,
        mul: Op::VEX_Vmulsd_xmm_xmm_xmmm64,
        div: Op::VEX_Vdivsd_xmm_xmm_xmmm64,
        sqrt: Op::VEX_Vsqrtsd_xmm_xmm_xmmm64,
        fma: Op::VEX_Vfmadd213sd_xmm_xmm_xmmm64,
    },
    zero: Op::VEX_Vpxor_xmm_xmm_xmmm128,
    float_of_long: Op::VEX_Vcvtsi2ss_xmm_xmm_rm64,
    float_of_int: Op::VEX_Vcvtsi2ss_xmm_xmm_rm32,
    bits_to: |p, mask, to, _| {
        p.op(Op::Mov_r32_rm32, (to.d(), mask[0].d()));
    },
    splat_to,
    load_words: access::load_words,
    load_partial: Some(access::load_partial),
    store_words: access::store_words,
    store_partial: Some(access::store_partial),
    widen_half: access::widen_half,
    compare_temps: &[View::V, View::V, View::V, View::V, View::R64],
    differs: access::differs,
};

fn splat_to(p: &mut Pseudo<'_>, to: VReg, word: VReg, wide: bool) {
    match wide {
        true => {
            p.op(Op::VEX_Vmovq_xmm_rm64, (to.x(), word));
            p.op(Op::VEX_Vpbroadcastq_ymm_xmmm64, (to, to.x()));
        }
        false => {
            p.op(Op::VEX_Vmovd_xmm_rm32, (to.x(), word.d()));
            p.op(Op::VEX_Vpbroadcastd_ymm_xmmm32, (to, to.x()));
        }
    }
}

impl Avx2<'_, '_> {
    /// A constant in all lanes of a vector in memory.
    fn constant(&mut self, bits: u64, wide: bool) -> Mem {
        let bits = if wide { bits } else { (bits & 0xffff_ffff) | bits << 32 };
        Mem::pool(self.pool.vector([bits; 8]))
    }

    /// Returns a part of a row as an operand that may be in memory.
    fn operand(&mut self, value: Value, part: usize) -> Source {
        match self.known(value) {
            Some(bits) => {
                let wide = self.is_wide(value);
                self.constant(bits, wide).into()
            }
            None => self.v(value, part).into(),
        }
    }

    /// Refuses an operation.
    fn lacking(&mut self, what: &dyn std::fmt::Debug) -> VReg {
        self.refuse(crate::Refused::Form(format!("{what:?} has no pattern")));
        self.f.same(Op::VEX_Vpxor_ymm_ymm_ymmm256, View::V, 2)
    }
}
