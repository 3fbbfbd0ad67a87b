//! Every operation that is compiled, against the exact engine: on special values, in lanes that are all on, guarded, or in one side of
//! a branch; operands that vary, lie on a line, are uniform or constant; loads and stores of all widths and patterns.

mod harness;

use converge::catalogue::Entry;
use fast::code::Kind;
use harness::common::launches::number;
use harness::{Count, Way, compare_in, levels, with_buffers};
use ir::testing::Rng;
use jit::Compiled;
use simt::machine::Machine;
use std::fmt::Write as _;
use std::io::Write;
use vm::{Engine, Launch, Program, catalogued, load_variables};

const SPECIAL: [u32; 40] = [
    0,
    1,
    2,
    31,
    32,
    33,
    63,
    64,
    0xff,
    0x8000,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_ffff,
    0xffff_fffe,
    // 1, -1, infinities, NaNs of all kinds, subnormals, least and greatest.
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0001,
    0xffc0_0000,
    0x7f80_0001,
    0x0000_0007,
    0x8040_0000,
    0x0080_0000,
    0x7f7f_ffff,
    0x4f00_0000,
    0xcb80_0001,
    // Pairs of half precision, and where single precision is rounded to it: infinities, NaNs, subnormals, ties, the greatest.
    0x7c00_3c00,
    0xfc00_7e01,
    0x0001_8400,
    0x7bff_03ff,
    0x477f_efff,
    0x477f_f000,
    0x3380_0000,
    0x3300_0000,
    0x3f80_3000,
    0x3f80_8000,
    0x0000_0080,
    0x0001_5410,
];

const SPECIAL64: [u64; 36] = [
    0,
    1,
    63,
    64,
    u64::MAX,
    1 << 63,
    (1 << 63) - 1,
    1 << 32,
    0xffff_ffff,
    0x3ff0_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0001,
    0x7ff0_0000_0000_0001,
    0x0000_0000_0000_0003,
    0x8010_0000_0000_0000,
    // Numbers where conversions are rounded or clamped.
    0xbff0_0000_0000_0000,
    0x3fe0_0000_0000_0000,
    0xbff8_0000_0000_0000,
    0x8000_0000_0000_0000,
    0x41df_ffff_ffe0_0000,
    0x41ef_ffff_fff0_0000,
    0xc1e0_0000_0020_0000,
    0x43e0_0000_0000_0000,
    0xc3e0_0000_0000_0000,
    0x43f0_0000_0000_0000,
    0x43ef_ffff_ffff_ffff,
    0x4340_0000_0000_0001,
    0x3ff0_0000_1000_0000,
    0x3ff0_0000_1000_0001,
    0x47ef_ffff_f000_0000,
    0x36a0_0000_0000_0000,
    0x40ef_fe00_0000_0000,
    0x3ff0_0200_0000_0001,
    0x0020_0000_0000_0001,
    0x7fff_ffbf_ffff_ffff,
];

/// Operations on 32-bit values, by their operands.
const NARROW: [(&str, usize); 83] = [
    ("add.u32", 2),
    ("sub.u32", 2),
    ("mul.u32", 2),
    ("mad.u32", 3),
    ("mulhi.u32", 2),
    ("mulhi.s32", 2),
    ("and.b32", 2),
    ("or.b32", 2),
    ("xor.b32", 2),
    ("not.b32", 1),
    ("neg.s32", 1),
    ("abs.s32", 1),
    ("shl.b32", 2),
    ("shr.u32", 2),
    ("shr.s32", 2),
    ("min.u32", 2),
    ("max.u32", 2),
    ("min.s32", 2),
    ("max.s32", 2),
    ("popc.b32", 1),
    ("clz.b32", 1),
    ("mov.b32", 1),
    ("add.rn.f32", 2),
    ("sub.rn.f32", 2),
    ("mul.rn.f32", 2),
    ("fma.rn.f32", 3),
    ("div.rn.f32", 2),
    ("rcp.rn.f32", 1),
    ("sqrt.rn.f32", 1),
    ("abs.f32", 1),
    ("neg.f32", 1),
    ("cvt.rn.f32.u32", 1),
    ("cvt.rn.f32.s32", 1),
    ("min.f32", 2),
    ("max.f32", 2),
    ("div.s32", 2),
    ("rem.s32", 2),
    ("div.u32", 2),
    ("rem.u32", 2),
    ("cvt.rzi.s32.f32", 1),
    ("cvt.rzi.u32.f32", 1),
    ("add.ftz.f32", 2),
    ("mul.ftz.f32", 2),
    ("fma.rn.ftz.f32", 3),
    ("mul.rz.f32", 2),
    ("brev.b32", 1),
    ("add.rz.f32", 2),
    ("sub.rm.f32", 2),
    ("mul.rp.f32", 2),
    ("fma.rm.f32", 3),
    ("fma.rp.ftz.f32", 3),
    ("div.rz.f32", 2),
    ("div.rn.ftz.f32", 2),
    ("sqrt.rm.f32", 1),
    ("sqrt.rn.ftz.f32", 1),
    ("rcp.rp.f32", 1),
    ("rcp.rn.ftz.f32", 1),
    ("add.sat.f32", 2),
    ("mul.sat.ftz.f32", 2),
    ("fma.rn.sat.f32", 3),
    ("cvt.sat.f32.f32", 1),
    ("cvt.rni.f32.f32", 1),
    ("cvt.rmi.ftz.f32.f32", 1),
    ("cvt.rpi.f32.f32", 1),
    ("cvt.rzi.f32.f32", 1),
    ("cvt.rni.s32.f32", 1),
    ("cvt.rmi.u32.f32", 1),
    ("cvt.rpi.s32.f32", 1),
    ("ex2.approx.f32", 1),
    ("ex2.approx.ftz.f32", 1),
    ("lg2.approx.f32", 1),
    ("lg2.approx.ftz.f32", 1),
    ("sin.approx.f32", 1),
    ("cos.approx.ftz.f32", 1),
    ("tanh.approx.f32", 1),
    ("rsqrt.approx.f32", 1),
    ("rsqrt.approx.ftz.f32", 1),
    ("rcp.approx.ftz.f32", 1),
    ("rcp.approx.f32", 1),
    ("sqrt.approx.f32", 1),
    ("div.approx.f32", 2),
    ("div.approx.ftz.f32", 2),
    ("div.full.f32", 2),
];

/// Operations on 64-bit values; those that end in `shift` take a 32-bit amount.
const WIDE: [(&str, usize); 21] = [
    ("add.u64", 2),
    ("sub.u64", 2),
    ("mul.u64", 2),
    ("mad.u64", 3),
    ("and.b64", 2),
    ("or.b64", 2),
    ("xor.b64", 2),
    ("not.b64", 1),
    ("neg.s64", 1),
    ("mov.b64", 1),
    ("add.rn.f64", 2),
    ("sub.rn.f64", 2),
    ("mul.rn.f64", 2),
    ("fma.rn.f64", 3),
    ("div.rn.f64", 2),
    ("min.s64", 2),
    ("max.u64", 2),
    ("min.u64", 2),
    ("max.s64", 2),
    ("div.s64", 2),
    ("sqrt.rn.f64", 1),
];

const FLOAT_RELATIONS: [&str; 14] =
    ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "isnan"];

/// Operations on values of several kinds: what their results and their operands are (`h`, `r`, `w` registers of 16, 32 and 64 bits, `p`
/// predicates, `b` any byte as a number).
const MIXED: &[(&str, &str, &str)] = &[
    ("r", "lop3.b32", "rrrb"),
    ("rp", "lop3.or.b32", "rrrbp"),
    ("r", "prmt.b32", "rrr"),
    ("r", "prmt.b32", "rrb"),
    ("r", "prmt.f4e.b32", "rrb"),
    ("r", "prmt.b4e.b32", "rrb"),
    ("r", "prmt.rc8.b32", "rrb"),
    ("r", "prmt.ecl.b32", "rrb"),
    ("r", "prmt.ecr.b32", "rrb"),
    ("r", "prmt.rc16.b32", "rrb"),
    ("r", "bfe.u32", "rrr"),
    ("r", "bfe.s32", "rrr"),
    ("r", "bfe.u32", "rbb"),
    ("r", "bfe.s32", "rbb"),
    ("w", "bfe.u64", "wrr"),
    ("w", "bfe.s64", "wrr"),
    ("r", "bfi.b32", "rrrr"),
    ("r", "bfi.b32", "rrbb"),
    ("w", "bfi.b64", "wwrr"),
    ("r", "bfind.u32", "r"),
    ("r", "bfind.s32", "r"),
    ("r", "bfind.shiftamt.u32", "r"),
    ("r", "bfind.shiftamt.s64", "w"),
    ("r", "bfind.u64", "w"),
    ("r", "clz.b64", "w"),
    ("r", "popc.b64", "w"),
    ("w", "brev.b64", "w"),
    ("r", "cnot.b32", "r"),
    ("w", "cnot.b64", "w"),
    ("h", "cnot.b16", "h"),
    ("r", "bmsk.b32", "rr"),
    ("r", "bmsk.wrap.b32", "rr"),
    ("r", "szext.u32", "rr"),
    ("r", "szext.s32", "rr"),
    ("r", "szext.wrap.s32", "rr"),
    ("r", "dp4a.u32.u32", "rrr"),
    ("r", "dp4a.s32.u32", "rrr"),
    ("r", "dp4a.s32.s32", "rrr"),
    ("r", "dp2a.u32.s32", "rrr"),
    ("r", "dp2a.upper.s32.s32", "rrr"),
    ("r", "dp2a.upper.u32.u32", "rrr"),
    ("r", "sad.u32", "rrr"),
    ("r", "sad.s32", "rrr"),
    ("w", "sad.u64", "www"),
    ("h", "sad.s16", "hhh"),
    ("r", "madhi.u32", "rrr"),
    ("r", "madhi.s32", "rrr"),
    ("w", "mulhi.u64", "ww"),
    ("w", "mulhi.s64", "ww"),
    ("h", "mulhi.u16", "hh"),
    ("h", "mulhi.s16", "hh"),
    ("r", "mulwide.u16", "hh"),
    ("r", "mulwide.s16", "hh"),
    ("r", "madwide.s16", "hhr"),
    ("r", "mul24.u32", "rr"),
    ("r", "mul24hi.s32", "rr"),
    ("r", "mad24.s32", "rrr"),
    ("r", "mad24hi.u32", "rrr"),
    ("r", "add.sat.s32", "rr"),
    ("r", "sub.sat.s32", "rr"),
    ("rp", "addc.u32", "rrp"),
    ("rp", "subc.u32", "rrp"),
    ("rp", "madc.u32", "rrrp"),
    ("rp", "madchi.s32", "rrrp"),
    ("rp", "madchi.u32", "rrrp"),
    ("wp", "addc.u64", "wwp"),
    ("wp", "subc.s64", "wwp"),
    ("h", "add.u16", "hh"),
    ("h", "sub.s16", "hh"),
    ("h", "mul.u16", "hh"),
    ("h", "mad.u16", "hhh"),
    ("h", "min.s16", "hh"),
    ("h", "max.u16", "hh"),
    ("h", "abs.s16", "h"),
    ("h", "neg.s16", "h"),
    ("h", "and.b16", "hh"),
    ("h", "xor.b16", "hh"),
    ("h", "not.b16", "h"),
    ("h", "shl.b16", "hr"),
    ("h", "shr.u16", "hr"),
    ("h", "shr.s16", "hr"),
    ("h", "div.u16", "hh"),
    ("h", "rem.s16", "hh"),
    ("h", "mov.b16", "h"),
    ("r", "max.relu.s32", "rr"),
    ("r", "add.u16x2", "rr"),
    ("r", "min.s16x2", "rr"),
    ("r", "max.relu.s16x2", "rr"),
    ("r", "max.u16x2", "rr"),
    ("r", "pack.b32.b16", "hh"),
    ("w", "pack.b64.b32", "rr"),
    ("w", "pack.b64.b16", "hhhh"),
    ("hh", "unpack.b32.b16", "r"),
    ("rr", "unpack.b64.b32", "w"),
    ("r", "shfl2.b32", "rrr"),
    ("r", "shfr2.wrap.b32", "rrr"),
    ("w", "cvta.shared.u64", "w"),
    ("w", "cvtafrom.local.u64", "w"),
    ("h", "selp.b16", "hhp"),
    ("r", "slct.b32.s32", "rrr"),
    ("r", "slct.f32.f32", "rrr"),
    ("r", "slct.ftz.b32.f32", "rrr"),
    ("p", "setp.lt.s16", "hh"),
    ("p", "setp.ge.u16", "hh"),
    ("p", "setp.ne.xor.u16", "hhp"),
    ("pp", "setp.le.s32", "rr"),
    ("pp", "setp.gt.and.u64", "wwp"),
    ("pp", "setp.lt.or.f32", "rrp"),
    ("p", "setp.lt.ftz.f32", "rr"),
    ("p", "setp.geu.ftz.f32", "rr"),
    ("p", "setp.lt.f64", "ww"),
    ("p", "setp.neu.f64", "ww"),
    ("p", "setp.isnan.or.f64", "wwp"),
    ("pp", "setp.leu.f64", "ww"),
    ("p", "setp.gt.f16", "hh"),
    ("p", "setp.equ.bf16", "hh"),
    ("r", "set.lt.u32.s32", "rr"),
    ("r", "set.ge.and.f32.f32", "rrp"),
    ("r", "set.ne.f32.u32", "rr"),
    ("r", "set.gt.f64.u32", "ww"),
    ("p", "testp.finite.f32", "r"),
    ("p", "testp.infinite.f64", "w"),
    ("p", "testp.number.f32", "r"),
    ("p", "testp.notanumber.f64", "w"),
    ("p", "testp.normal.f32", "r"),
    ("p", "testp.subnormal.f64", "w"),
    ("r", "copysign.f32", "rr"),
    ("w", "copysign.f64", "ww"),
    ("r", "abs.ftz.f32", "r"),
    ("r", "neg.ftz.f32", "r"),
    ("r", "min.ftz.f32", "rr"),
    ("r", "max.nan.f32", "rr"),
    ("r", "min.ftz.nan.xorsign.f32", "rr"),
    ("r", "max.xorsign.f32", "rr"),
    ("r", "max.f32", "rrr"),
    ("r", "fma.rn.relu.f32", "rrr"),
    ("w", "abs.f64", "w"),
    ("w", "neg.f64", "w"),
    ("w", "min.f64", "ww"),
    ("w", "max.f64", "ww"),
    ("w", "add.rz.f64", "ww"),
    ("w", "sub.rm.f64", "ww"),
    ("w", "mul.rp.f64", "ww"),
    ("w", "fma.rz.f64", "www"),
    ("w", "div.rm.f64", "ww"),
    ("w", "rcp.rn.f64", "w"),
    ("w", "rcp.rp.f64", "w"),
    ("w", "sqrt.rz.f64", "w"),
    ("w", "add.rn.f32x2", "ww"),
    ("w", "fma.rm.ftz.f32x2", "www"),
    ("w", "cvt.f64.f32", "r"),
    ("w", "cvt.ftz.f64.f32", "r"),
    ("r", "cvt.rn.f32.f64", "w"),
    ("r", "cvt.rz.f32.f64", "w"),
    ("r", "cvt.rm.ftz.f32.f64", "w"),
    ("r", "cvt.rp.sat.f32.f64", "w"),
    ("w", "cvt.rn.f64.s32", "r"),
    ("w", "cvt.rn.f64.u32", "r"),
    ("w", "cvt.rn.f64.s64", "w"),
    ("w", "cvt.rm.f64.s64", "w"),
    ("w", "cvt.rp.f64.u64", "w"),
    ("r", "cvt.rn.f32.s64", "w"),
    ("r", "cvt.rn.f32.u64", "w"),
    ("r", "cvt.rz.f32.u64", "w"),
    ("r", "cvt.rp.f32.s64", "w"),
    ("r", "cvt.rz.f32.u32", "r"),
    ("r", "cvt.rm.f32.s32", "r"),
    ("r", "cvt.rn.f32.s16", "h"),
    ("r", "cvt.rn.f32.u8", "h"),
    ("h", "cvt.rn.f16.s32", "r"),
    ("h", "cvt.rz.f16.u32", "r"),
    ("h", "cvt.rn.f16.u16", "h"),
    ("h", "cvt.rn.bf16.s32", "r"),
    ("h", "cvt.rn.bf16.u64", "w"),
    ("h", "cvt.rn.f16.s64", "w"),
    ("r", "cvt.rzi.s32.f64", "w"),
    ("r", "cvt.rni.u32.f64", "w"),
    ("w", "cvt.rzi.s64.f64", "w"),
    ("w", "cvt.rmi.u64.f64", "w"),
    ("w", "cvt.rpi.s64.f64", "w"),
    ("w", "cvt.rzi.s64.f32", "r"),
    ("w", "cvt.rni.u64.f32", "r"),
    ("w", "cvt.rpi.ftz.u64.f32", "r"),
    ("r", "cvt.rni.sat.s32.f32", "r"),
    ("h", "cvt.rzi.s16.f32", "r"),
    ("h", "cvt.rzi.u8.f32", "r"),
    ("r", "cvt.rni.s8.f64", "w"),
    ("r", "cvt.rzi.s32.f16", "h"),
    ("w", "cvt.rmi.s64.bf16", "h"),
    ("h", "cvt.rni.f16.f16", "h"),
    ("w", "cvt.rzi.f64.f64", "w"),
    ("r", "cvt.f32.f16", "h"),
    ("r", "cvt.sat.f32.f16", "h"),
    ("w", "cvt.f64.f16", "h"),
    ("r", "cvt.f32.bf16", "h"),
    ("h", "cvt.rn.f16.f32", "r"),
    ("h", "cvt.rz.f16.f32", "r"),
    ("h", "cvt.rm.ftz.f16.f32", "r"),
    ("h", "cvt.rp.f16.f32", "r"),
    ("h", "cvt.rn.relu.f16.f32", "r"),
    ("h", "cvt.rn.sat.f16.f32", "r"),
    ("h", "cvt.rn.bf16.f32", "r"),
    ("h", "cvt.rz.bf16.f32", "r"),
    ("h", "cvt.rm.bf16.f32", "r"),
    ("h", "cvt.rp.relu.bf16.f32", "r"),
    ("h", "cvt.rn.f16.f64", "w"),
    ("h", "cvt.rz.bf16.f64", "w"),
    ("h", "cvt.rp.f16.f64", "w"),
    ("h", "cvt.rn.bf16.f16", "h"),
    ("h", "cvt.rn.f16.bf16", "h"),
    ("r", "cvt.rn.f16x2.f32", "rr"),
    ("r", "cvt.rz.relu.bf16x2.f32", "rr"),
    ("h", "add.f16", "hh"),
    ("h", "sub.ftz.f16", "hh"),
    ("h", "mul.sat.f16", "hh"),
    ("h", "fma.rn.f16", "hhh"),
    ("h", "fma.rn.relu.f16", "hhh"),
    ("h", "min.f16", "hh"),
    ("h", "max.nan.f16", "hh"),
    ("h", "abs.f16", "h"),
    ("h", "neg.ftz.f16", "h"),
    ("h", "add.bf16", "hh"),
    ("h", "mul.bf16", "hh"),
    ("h", "fma.rn.bf16", "hhh"),
    ("h", "max.bf16", "hh"),
    ("r", "add.f16x2", "rr"),
    ("r", "mul.ftz.f16x2", "rr"),
    ("r", "fma.rn.f16x2", "rrr"),
    ("r", "fma.rn.sat.f16x2", "rrr"),
    ("r", "min.nan.f16x2", "rr"),
    ("r", "neg.f16x2", "r"),
    ("r", "sub.bf16x2", "rr"),
    ("r", "fma.rn.bf16x2", "rrr"),
    ("r", "max.bf16x2", "rr"),
    ("r", "cvt.u32.u16", "h"),
    ("r", "cvt.s32.s16", "h"),
    ("r", "cvt.s32.s8", "r"),
    ("r", "cvt.u32.u8", "w"),
    ("w", "cvt.s64.s16", "h"),
    ("w", "cvt.s64.s8", "r"),
    ("w", "cvt.u64.u16", "h"),
    ("h", "cvt.u16.u32", "r"),
    ("h", "cvt.s8.s32", "r"),
    ("h", "cvt.u16.u64", "w"),
    ("r", "cvt.s8.s64", "w"),
    ("h", "cvt.sat.s16.s32", "r"),
    ("r", "cvt.sat.u8.s32", "r"),
    ("r", "cvt.sat.s8.u64", "w"),
    ("r", "cvt.sat.u32.s64", "w"),
    ("w", "cvt.sat.u64.s32", "r"),
    ("w", "cvt.sat.s64.u64", "w"),
];

struct Builder<'r> {
    rng: &'r mut Rng,
    text: String,
    labels: usize,
}

impl Builder<'_> {
    fn one_of<'s>(&mut self, list: &[&'s str]) -> &'s str {
        list[self.rng.below(list.len())]
    }

    fn value(&mut self) -> String {
        match self.rng.below(9) {
            0 => format!("{:#x}", SPECIAL[self.rng.below(SPECIAL.len())]),
            1 => "%t".to_owned(),
            2 => "%n".to_owned(),
            3 => "%u".to_owned(),
            4 => "%line".to_owned(),
            _ => format!("%r{}", self.rng.below(6)),
        }
    }

    fn wide(&mut self) -> String {
        match self.rng.below(8) {
            0 => format!("{:#x}", SPECIAL64[self.rng.below(SPECIAL64.len())]),
            1 => "%ul".to_owned(),
            2 => "%wl".to_owned(),
            _ => format!("%w{}", self.rng.below(4)),
        }
    }

    fn short(&mut self) -> String {
        match self.rng.below(6) {
            0 => format!("{:#x}", SPECIAL[self.rng.below(SPECIAL.len())] & 0xffff),
            1 => "%uh".to_owned(),
            _ => format!("%h{}", self.rng.below(4)),
        }
    }

    fn byte(&mut self) -> String {
        format!("{:#x}", [0, 1, 5, 8, 16, 31, 32, 40, 0x96, 0xca, 0xe8, 0xff][self.rng.below(12)])
    }

    /// An operation on values of several kinds.
    fn mixed(&mut self) -> String {
        let (results, op, operands) = MIXED[self.rng.below(MIXED.len())];
        let mut first = self.rng.below(6);
        let results: Vec<String> = results
            .chars()
            .map(|kind| {
                // Results of one instruction go to different registers.
                first += 1;
                format!("%{kind}{}", first % if kind == 'r' { 6 } else { 4 })
            })
            .collect();
        let operands: Vec<String> = operands
            .chars()
            .map(|kind| match kind {
                // A number has to be of the type that is converted.
                kind if op.starts_with("cvt") => format!("%{kind}{}", self.rng.below(4)),
                'h' => self.short(),
                'r' => self.value(),
                'w' => self.wide(),
                'p' => self.pred(),
                _ => self.byte(),
            })
            .collect();
        format!("{} = {op} {}", results.join(", "), operands.join(", "))
    }

    /// The same of values that are the same in all lanes.
    fn uniform(&mut self) -> String {
        let with = |kinds: &str| !kinds.contains('p') || kinds == "p";
        let fits = |m: &&(&str, &str, &str)| m.0.len() == 1 && with(m.2);
        let list: Vec<_> = MIXED.iter().filter(fits).collect();
        let (result, op, operands) = list[self.rng.below(list.len())];
        let number = !op.starts_with("cvt");
        let result = match *result {
            "h" => "%uh",
            "r" => "%u",
            "w" => "%ul",
            _ => "%up",
        };
        let operands: Vec<String> = operands
            .chars()
            .map(|kind| match kind {
                'h' if number && self.rng.one_in(2) => {
                    format!("{:#x}", SPECIAL[self.rng.below(SPECIAL.len())] & 0xffff)
                }
                'h' => "%uh".to_owned(),
                'r' if number && self.rng.one_in(2) => {
                    format!("{:#x}", SPECIAL[self.rng.below(SPECIAL.len())])
                }
                'r' => "%u".to_owned(),
                'w' if number && self.rng.one_in(2) => {
                    format!("{:#x}", SPECIAL64[self.rng.below(SPECIAL64.len())])
                }
                'w' => "%ul".to_owned(),
                'p' => "%up".to_owned(),
                _ => self.byte(),
            })
            .collect();
        format!("{result} = {op} {}", operands.join(", "))
    }

    fn pred(&mut self) -> String {
        match self.rng.below(6) {
            0 => "%up".to_owned(),
            _ => format!("%p{}", self.rng.below(4)),
        }
    }

    fn guard(&mut self) -> String {
        let not = if self.rng.one_in(2) { "!" } else { "" };
        format!("@{not}{} ", self.pred())
    }

    fn line(&mut self, text: &str) {
        let guard = if self.rng.one_in(4) { self.guard() } else { String::new() };
        let _ = writeln!(self.text, "  {guard}{text}");
    }

    fn statement(&mut self) {
        let (d, w, p) = (self.rng.below(6), self.rng.below(4), self.rng.below(4));
        let (a, b, c) = (self.value(), self.value(), self.value());
        let (x, y, z) = (self.wide(), self.wide(), self.wide());
        let q = self.pred();
        // Now and then a scalar's turn: its operands are the same in all lanes.
        let text = match self.rng.below(34) {
            20..=31 => self.mixed(),
            32 | 33 => self.uniform(),
            0..=5 => {
                let (op, operands) = NARROW[self.rng.below(NARROW.len())];
                format!("%r{d} = {op} {}", [a, b, c][..operands].join(", "))
            }
            6 | 7 => {
                let (op, operands) = WIDE[self.rng.below(WIDE.len())];
                format!("%w{w} = {op} {}", [x, y, z][..operands].join(", "))
            }
            8 => {
                let op = self.one_of(&["shl.b64", "shr.u64", "shr.s64"]);
                format!("%w{w} = {op} {x}, {b}")
            }
            9 => {
                let op = self.one_of(&["mulwide.u32", "mulwide.s32"]);
                format!("%w{w} = {op} {a}, {b}")
            }
            10 => {
                let op = self.one_of(&["madwide.u32", "madwide.s32"]);
                format!("%w{w} = {op} {a}, {b}, {z}")
            }
            11 => {
                let op = self.one_of(&["cvt.u64.u32", "cvt.s64.s32", "cvt.u64.s32"]);
                format!("%w{w} = {op} {a}")
            }
            12 => format!("%r{d} = cvt.u32.u64 {x}"),
            13 => {
                let (cmp, ty) = (self.one_of(&FLOAT_RELATIONS[..6]), self.one_of(&["u32", "s32"]));
                self.compare(p, cmp, ty, &a, &b)
            }
            14 => {
                let cmp = self.one_of(&FLOAT_RELATIONS);
                self.compare(p, cmp, "f32", &a, &b)
            }
            15 => {
                let (cmp, ty) = (self.one_of(&FLOAT_RELATIONS[..6]), self.one_of(&["u64", "s64"]));
                self.compare(p, cmp, ty, &x, &y)
            }
            16 => {
                let op = self.one_of(&["and", "or", "xor", "andn"]);
                format!("%p{p} = {op}.pred {q}, %p{}", self.rng.below(4))
            }
            17 if self.rng.one_in(2) => format!("%p{p} = not.pred {q}"),
            17 => format!("%r{d} = selp.b32 {a}, {b}, {q}"),
            18 => format!("%w{w} = selp.b64 {x}, {y}, {q}"),
            _ => self.scalar(),
        };
        self.line(&text);
    }

    fn compare(&mut self, p: usize, cmp: &str, ty: &str, a: &str, b: &str) -> String {
        if self.rng.one_in(2) {
            return format!("%p{p} = setp.{cmp}.{ty} {a}, {b}");
        }
        let (how, q) = (self.one_of(&["and", "or", "xor"]), self.pred());
        format!("%p{p} = setp.{cmp}.{how}.{ty} {a}, {b}, {q}")
    }

    /// An operation whose operands are the same in all lanes.
    fn scalar(&mut self) -> String {
        let one = |s: &mut Self| match s.rng.below(3) {
            0 => "%n".to_owned(),
            1 => format!("{:#x}", SPECIAL[s.rng.below(SPECIAL.len())]),
            _ => "%u".to_owned(),
        };
        let (a, b, c) = (one(self), one(self), one(self));
        match self.rng.below(6) {
            0..=2 => {
                let (op, operands) = NARROW[self.rng.below(NARROW.len())];
                format!("%u = {op} {}", [a, b, c][..operands].join(", "))
            }
            3 => {
                let (op, operands) = WIDE[self.rng.below(WIDE.len())];
                let x = format!("{:#x}", SPECIAL64[self.rng.below(SPECIAL64.len())]);
                format!("%ul = {op} {}", ["%ul", &x, "%ul"][..operands].join(", "))
            }
            4 => {
                let op = self.one_of(&["shl.b64", "shr.u64", "shr.s64"]);
                format!("%ul = {op} %ul, {b}")
            }
            _ => {
                let (cmp, ty) = (self.one_of(&FLOAT_RELATIONS), "f32");
                format!("%up = setp.{cmp}.{ty} {a}, {b}")
            }
        }
    }

    /// A register with an index: on a line, any, the same in all lanes, or in runs of lanes side by side.
    fn index(&mut self) -> String {
        match self.rng.below(6) {
            0 | 1 => "%i".to_owned(),
            2 => format!("%r{}", self.rng.below(6)),
            3 => "%n".to_owned(),
            4 => {
                let by = [3, 4, 5][self.rng.below(3)];
                let _ = writeln!(self.text, "  %f = shr.u32 %t, {by}");
                "%f".to_owned()
            }
            _ => {
                let (op, by) =
                    [("xor", 16), ("xor", 1), ("and", 15), ("and", 7)][self.rng.below(4)];
                let _ = writeln!(self.text, "  %f = {op}.b32 %t, {by}");
                "%f".to_owned()
            }
        }
    }

    /// A read-modify-write operation on global or shared words.
    fn atomic(&mut self) {
        let shared = self.rng.one_in(2);
        let wide = self.rng.one_in(3);
        let size = if wide { 8 } else { 4 };
        let index = self.index();
        let _ = writeln!(self.text, "  %f = and.b32 {index}, {}", 2048 / size - 1);
        let at = if shared {
            let _ = writeln!(self.text, "  %at32 = mad.u32 %f, {size}, %s");
            "%at32"
        } else {
            let _ = writeln!(self.text, "  %wide = mulwide.u32 %f, {size}");
            let _ = writeln!(self.text, "  %at = add.u64 %b, %wide");
            "%at"
        };
        let space = if shared { "shared" } else { "global" };
        let op = self.one_of(&["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc"]);
        let sign = match op {
            "min" | "max" => self.one_of(&["u", "s"]),
            "add" | "inc" => "u",
            _ => "b",
        };
        let op = if wide && op == "inc" { "add" } else { op };
        let bits = 8 * size;
        let reg = |b: &mut Self| match wide {
            true => format!("%w{}", b.rng.below(4)),
            false => format!("%r{}", b.rng.below(6)),
        };
        let (d, mut x) = (reg(self), reg(self));
        if op == "cas" {
            x = format!("{x}, {}", reg(self));
        }
        self.line(&format!("{d} = atom.{op}.{space}.{sign}{bits} [{at}], {x}"));
    }

    /// A collective, of all lanes or of those that happen to be on.
    fn collective(&mut self) {
        let [d, a, l] = std::array::from_fn(|_| format!("%r{}", self.rng.below(6)));
        let [p, q] = std::array::from_fn(|_| format!("%p{}", self.rng.below(4)));
        let members = ["0xffffffff", "%u", "0xffff"][self.rng.below(12).saturating_sub(9)];
        let mode = self.one_of(&["up", "down", "bfly", "idx"]);
        let lane = match self.rng.below(4) {
            0 => l,
            1 => "%lane".to_owned(),
            2 => "%n".to_owned(),
            _ => format!("{}", self.rng.below(40)),
        };
        let clamp = [31, 0, 0x1c1f, 0x101f, 0x1800, 7][self.rng.below(6)];
        let vote = self.one_of(&["any", "all", "uni"]);
        let op = self.one_of(&["add", "min", "max", "and", "or", "xor"]);
        let ty = match op {
            "add" => "u32",
            "min" | "max" => self.one_of(&["u32", "s32"]),
            _ => "b32",
        };
        let text = match self.rng.below(8) {
            0 | 1 => format!("{d} = shfl.{mode}.b32 {a}, {lane}, {clamp}, {members}"),
            2 => format!("{d}, {q} = shfl.{mode}.b32 {a}, {lane}, {clamp}, {members}"),
            3 => format!("{d} = ballot {p}, {members}"),
            4 => format!("{q} = vote.{vote} {p}, {members}"),
            5 => format!("{d} = redux.{op}.{ty} {a}, {members}"),
            6 => format!("{d} = match.b32 {a}, {members}"),
            _ => format!("{d} = activemask"),
        };
        let _ = writeln!(self.text, "  {text}");
    }

    /// An access of so many elements of a type: its address is adjacent, the same, far apart, or any.
    fn access(&mut self) {
        let shared = self.rng.one_in(3);
        let (ty, bytes) = [("u8", 1), ("s8", 1), ("u16", 2), ("s16", 2), ("u32", 4), ("u64", 8)]
            [self.rng.below(6)];
        let elements = if bytes >= 4 && self.rng.one_in(3) { 2 } else { 1 };
        let size = bytes * elements;
        let index = self.index();
        let mask = if shared { 2048 / size - 1 } else { 8192 / size - 1 };
        let _ = writeln!(self.text, "  %f = and.b32 {index}, {mask}");
        let stride = if self.rng.one_in(5) { size * 2 } else { size };
        let at = if shared {
            let _ = writeln!(self.text, "  %at32 = mad.u32 %f, {stride}, %s");
            "%at32"
        } else {
            let buffer = self.one_of(&["%a", "%b"]);
            let _ = writeln!(self.text, "  %wide = mulwide.u32 %f, {stride}");
            let _ = writeln!(self.text, "  %at = add.u64 {buffer}, %wide");
            "%at"
        };
        let space = if shared { "shared" } else { self.one_of(&["global", "generic"]) };
        let regs: Vec<String> = (0..elements)
            .map(|i| match bytes {
                8 => format!("%w{}", (self.rng.below(2) + 2 * i as usize) % 4),
                _ => format!("%r{}", (self.rng.below(3) + 3 * i as usize) % 6),
            })
            .collect();
        let regs = regs.join(", ");
        let offset = if self.rng.one_in(3) { format!(" + {size}") } else { String::new() };
        let text = if self.rng.one_in(2) && ty.starts_with('u') {
            format!("st.{space}.{ty} [{at}{offset}], {regs}")
        } else {
            format!("{regs} = ld.{space}.{ty} [{at}{offset}]")
        };
        self.line(&text);
    }

    fn body(&mut self, count: usize, depth: usize) {
        for _ in 0..count {
            if depth > 0 && self.rng.one_in(8) {
                self.labels += 1;
                let (id, guard) = (self.labels, self.guard());
                let _ = writeln!(self.text, "  {guard}br e{id}\nt{id}:");
                self.body(3, depth - 1);
                let _ = writeln!(self.text, "  br j{id}\ne{id}:");
                self.body(2, depth - 1);
                let _ = writeln!(self.text, "j{id}:");
            } else if self.rng.one_in(3) {
                self.access();
            } else if self.rng.one_in(8) {
                self.atomic();
            } else if depth > 1 && self.rng.one_in(8) {
                self.collective();
            } else {
                self.statement();
            }
        }
    }
}

fn kernel(rng: &mut Rng) -> String {
    let mut b = Builder { rng, text: String::new(), labels: 0 };
    let [s0, s1] = std::array::from_fn(|_| SPECIAL[b.rng.below(SPECIAL.len())]);
    let s2 = SPECIAL64[b.rng.below(SPECIAL64.len())];
    let _ = write!(
        b.text,
        "shared @s size 4352 align 16
kernel @k(n: u32, a: u64 global, b: u64 global) {{
  reg %r0, %r1, %r2, %r3, %r4, %r5: b32
  reg %t, %g, %n, %u, %i, %f, %line, %lane, %at32, %s: b32
  reg %w0, %w1, %w2, %w3, %ul, %wl, %at, %out, %a, %b, %wide: b64
  reg %h0, %h1, %h2, %h3, %uh: b16
  reg %p0, %p1, %p2, %p3, %up, %loop: pred
entry:
  %n = ld.param.u32 [@n]
  %s = mov.u32 @s
  %a = ld.param.u64 [@a]
  %b = ld.param.u64 [@b]
  %t = sreg.u32 tid.x
  %lane = sreg.u32 laneid
  %r0 = sreg.u32 ctaid.x
  %r1 = sreg.u32 ntid.x
  %g = mad.u32 %r0, %r1, %t
  %i = and.b32 %g, 1023
  %line = mad.u32 %t, {}, {s0:#x}
  %u = xor.b32 %n, {s1:#x}
  %ul = mov.b64 {s2:#x}
  %wl = cvt.u64.u32 %t
  %wide = mulwide.u32 %i, 8
  %out = add.u64 %b, %wide
  %w0 = ld.global.u64 [%out]
  %w1 = ld.global.u64 [%out + 64]
  %at = add.u64 %a, %wide
  %r0, %r1 = ld.global.u32 [%at]
  %r2, %r3 = ld.global.u32 [%at + 4096]
  %r4 = mov.b32 {s1:#x}
  %r5 = mul.u32 %g, 0x9e3779b1
  %w2 = mulwide.u32 %r0, %r5
  %w3 = madwide.s32 %r1, %r2, %w0
  %uh = cvt.u16.u32 %u
  %h0, %h1 = unpack.b32.b16 %r2
  %h2 = cvt.u16.u32 %t
  %h3 = cvt.u16.u32 %r0
  %p0 = setp.lt.u32 %r0, %r1
  %p1 = setp.lt.f32 %r2, %r3
  %p2 = setp.gt.s32 %r5, 0
  %p3 = setp.ne.u32 %r0, %r2
  %up = setp.gt.u32 %n, 3
again:
",
        [1, 4, 3, -1i32 as u32, 0x4000_0000][b.rng.below(5)],
    );
    b.body(14, 2);
    // A second round, so that there are rows in registers.
    b.text.push_str("  %line = add.u32 %line, 1\n  %loop = setp.lt.u32 %line, 0x80000002\n");
    let rounds = b.rng.below(3);
    let _ = writeln!(b.text, "  %n = add.u32 %n, 4\n  %loop = setp.lt.u32 %n, {}", 4 * rounds);
    b.text.push_str("  @%loop br again\nend:\n");
    for i in 0..6 {
        let _ = writeln!(b.text, "  %g = mad.u32 %g, 5, %r{i}");
    }
    for i in 0..4 {
        let _ = writeln!(b.text, "  %wl = mad.u64 %wl, 7, %w{i}");
        let _ = writeln!(b.text, "  @%p{i} %g = xor.b32 %g, {}", 1 << i);
    }
    for i in 0..4 {
        let _ = writeln!(b.text, "  %f = cvt.u32.u16 %h{i}\n  %g = mad.u32 %g, 3, %f");
    }
    b.text.push_str("  %f = cvt.u32.u16 %uh\n  %g = xor.b32 %g, %f\n");
    let _ = writeln!(b.text, "  %wide = cvt.u64.u32 %u\n  %wl = add.u64 %wl, %wide");
    let _ = writeln!(b.text, "  %wl = add.u64 %wl, %ul\n  @%up %g = not.b32 %g");
    let _ = writeln!(b.text, "  st.global.u32 [%out], %g\n  st.global.u64 [%out + 8192], %wl");
    b.text.push_str("  ret\n}\n");
    b.text
}

fn all(seeds: std::ops::Range<u64>, count: &mut Count) {
    for seed in seeds {
        let mut rng = Rng::new(seed);
        let text = kernel(&mut rng);
        with_buffers(&text, &mut rng, seed, count);
    }
}

/// A kernel of one of the operations on values of several kinds.
fn kernel_of(results: &str, op: &str, operands: &str) -> String {
    let register = |kind: char, i: usize| match kind {
        'b' => "0x2d".to_owned(),
        kind => format!("%{kind}{i}"),
    };
    let list = |kinds: &str| {
        let all: Vec<String> = kinds.chars().enumerate().map(|(i, k)| register(k, i)).collect();
        all.join(", ")
    };
    format!(
        "kernel @k(n: u32, a: u64 global, b: u64 global) {{
  reg %r0, %r1, %r2, %r3, %t: b32
  reg %h0, %h1, %h2, %h3: b16
  reg %w0, %w1, %w2, %w3, %a: b64
  reg %p0, %p1, %p2, %p3, %p4: pred
entry:
  %a = ld.param.u64 [@a]
  %t = sreg.u32 tid.x
  %w0 = mulwide.u32 %t, 32
  %a = add.u64 %a, %w0
  %r0, %r1, %r2, %r3 = ld.global.u32 [%a]
  %w0, %w1 = ld.global.u64 [%a]
  %w2, %w3 = ld.global.u64 [%a + 16]
  %h0, %h1, %h2, %h3 = ld.global.u16 [%a]
  %p2 = setp.lt.u32 %r0, %r1
  %p3 = setp.lt.u32 %r2, %r1
  %p4 = setp.lt.u32 %r2, %r3
  {} = {op} {}
  st.global.u32 [%a], %r0, %r1
  st.global.u64 [%a + 8], %w0
  st.global.u16 [%a + 16], %h0, %h1, %h2, %h3
  %t = selp.u32 3, 4, %p0
  @%p1 %t = xor.b32 %t, 16
  st.global.u32 [%a + 24], %t
  ret
}}
",
        list(results),
        list(operands)
    )
}

/// A launch of such a kernel on special values and others.
fn on_special_values(program: &Program, rng: &mut Rng) -> Launch<1> {
    let entry = Entry::find("ipdom").expect("it is in the catalogue");
    let mut launch = Launch::<1>::new(ir::FuncId(0), catalogued(entry));
    launch.variables = load_variables(program, &mut launch.memory).expect("room");
    (launch.grid, launch.block) = ([4, 1, 1], [64, 1, 1]);
    let word = |rng: &mut Rng| match rng.below(5) {
        0 => SPECIAL64[rng.below(SPECIAL64.len())],
        1 => rng.value(),
        2 => u64::from(SPECIAL[rng.below(SPECIAL.len())]) << 32 | rng.below(70) as u64,
        _ => {
            let [a, b] = std::array::from_fn(|_| u64::from(SPECIAL[rng.below(SPECIAL.len())]));
            // Now and then half a word of another one.
            if rng.one_in(2) { a << 32 | b } else { (a << 48 | b) ^ (b << 13 & 0xffff_0000) }
        }
    };
    let content: Vec<u8> = (0..4 * 64 * 4).flat_map(|_| word(rng).to_le_bytes()).collect();
    let buffer = launch.memory.allocate("a", content.len() as u64).expect("room");
    launch.memory.host_write(buffer, &content).expect("it is there");
    launch.params = [0, buffer.0, buffer.0].iter().flat_map(|p| p.to_le_bytes()).collect();
    launch
}

/// What is wrong with an operation: that it is not known, has no code, or that the exact engine says something else.
fn wrong_of((results, op, operands): (&str, &str, &str), launches: u64) -> Result<(), String> {
    let text = kernel_of(results, op, operands);
    let module = ir::text::parse(isa::FileId::default(), &text)
        .map_err(|d| format!("{:?}", d.iter().map(|d| &d.message).collect::<Vec<_>>()))?;
    let program = Program::link(module).map_err(|what| format!("{what:?}"))?;
    let mut rng = Rng::new(launches);
    let launch = on_special_values(&program, &mut rng);
    let state = Engine::<1>.launch(&program, launch).map_err(|what| format!("{what:?}"))?;
    for level in levels() {
        let kernel = fast::prepare(&program, &state, true).map_err(|what| format!("{what:?}"))?;
        let Ok(compiled) = Compiled::at(kernel, level, false) else { continue };
        if compiled.left().any(|s| matches!(s.kind, Kind::Generic(_))) {
            return Err(format!("no code with {level}"));
        }
    }
    let mut count = Count::default();
    for _ in 0..launches {
        let launch = on_special_values(&program, &mut rng);
        let ways = levels().map(|level| Way {
            compiled: true,
            level,
            assume: true,
            detailed: false,
            threads: 1,
        });
        compare_in(ways, &program, &launch, &mut count)?;
    }
    if count.compared == 0 && count.steps > 0 {
        return Err(format!("{count:?}"));
    }
    Ok(())
}

#[test]
fn operations_on_values_of_several_kinds_have_code_and_are_exact() {
    let launches = number("LAUNCHES", 2);
    let wrong = |&m: &(&'static str, &'static str, &'static str)| {
        Some(format!("{}: {}", m.1, wrong_of(m, launches).err()?))
    };
    let wrong: Vec<String> = MIXED.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn operations_on_special_values_are_exact() {
    let mut count = Count::default();
    all(0..150, &mut count);
    assert!(count.compared > 150 || count.steps == 0, "{count:?}");
}

/// `KERNELS=100000 SEED=1 cargo test -p simtlab-jit --release --test operations -- --ignored --nocapture`.
#[test]
#[ignore = "a campaign"]
fn many_operations_are_exact() {
    let (first, kernels) = (number("SEED", 1) << 32, number("KERNELS", 1000));
    let mut count = Count::default();
    all(first..first + kernels, &mut count);
    let _ = writeln!(std::io::stdout(), "{count:?}");
}
