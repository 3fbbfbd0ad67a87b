//! Eight lanes of a group of steps: what one register holds of a row of 32-bit values, and two of
//! one of 64-bit values.

use super::cache::{Cache, Key};
use super::group::{STORED, loaded, pointer, stored};
use crate::asm::{V, at};
use crate::emit::{Emitter, On};
use crate::rows::Row;
use fast::code::{Dst, Kind, Memory, Src, Step};
use fast::ops::Op32;
use iced_x86::{Code as Op, Register};

use Register::{EAX, RAX};

/// Chunks of a warp.
pub(super) const CHUNKS: usize = 4;

/// Where the masks of predicates come together that a group computes: so many can be in one.
pub(super) const TESTED: [Register; 4] =
    [Register::ESI, Register::EDI, Register::R8D, Register::EDX];

/// The chunk that is being compiled.
pub(super) struct Chunk<'e, 'c> {
    pub(super) e: &'e mut Emitter<'c>,
    /// Its number.
    pub(super) c: usize,
    pub(super) cache: Cache,
    pub(super) on: On,
    /// Whether lanes that are off keep what they have.
    pub(super) blend: bool,
    /// The step being compiled, and the first one behind the group.
    pub(super) now: usize,
    pub(super) end: usize,
    /// The predicates that the group computes, and whether what is collected are their negations.
    pub(super) tests: Vec<(u32, bool)>,
    /// The steps of the group that load.
    pub(super) loads: Vec<usize>,
}

impl<'e, 'c> Chunk<'e, 'c> {
    pub(super) fn new(e: &'e mut Emitter<'c>, on: On, now: usize, end: usize) -> Self {
        let (cache, tests, loads) = (Cache::default(), Vec::new(), Vec::new());
        Self { e, c: 0, cache, on, blend: false, now, end, tests, loads }
    }

    /// Compiles the chunk's part of a step that [`super::group`] has found to have code; `full` if
    /// all lanes are known to be on.
    pub(super) fn step(&mut self, index: usize, step: &Step, full: bool) {
        self.now = index;
        self.blend = step.blend && !full;
        match &step.kind {
            Kind::Narrow { op, dst, src } => self.narrow(*op, *dst, src),
            Kind::Wide { op, dst, src } => self.wide(*op, *dst, src),
            Kind::Low { dst, src } => {
                let value = self.nc(*src);
                self.put(*dst, value);
            }
            Kind::Select { wide, dst, src } => self.select(*wide, *dst, src),
            Kind::Test { test, wide, combine, dst, src } => {
                let holds = self.compare(*test, *wide, src);
                self.collect(*dst, holds, combine.is_some());
            }
            Kind::Rare { op, dst, src } => self.rare(*op, *dst, src),
            Kind::Generic(generic) => self.generic(generic),
            Kind::Load(memory) => self.load(memory, full),
            Kind::Store(memory) => self.store(memory, full),
            _ => {}
        }
        self.pass();
    }

    /// Loads the chunk of adjacent words that have been checked.
    fn load(&mut self, memory: &Memory, full: bool) {
        let number = self.loads.iter().position(|&l| l == self.now).unwrap_or(0);
        self.e.asm.rm(Op::Mov_r64_rm64, RAX, pointer(number));
        let from = |part: i64| V::M(RAX, part);
        match loaded(memory) {
            Some(Row::Narrow(row)) => {
                let value = self.words((from(32 * self.c as i64), full), None);
                self.put(row, value);
            }
            Some(Row::Wide(row)) => {
                for half in 0..2 {
                    let place = from(64 * self.c as i64 + 32 * half as i64);
                    let value = self.words((place, full), Some(half));
                    self.put_wide(row, half, value);
                }
            }
            None => {}
        }
    }

    /// Words in memory, of lanes that are on; of half a chunk if they are of 64 bits.
    fn words(&mut self, (from, full): (V, bool), half: Option<usize>) -> Register {
        if full {
            let to = self.temp();
            self.e.asm.v2(Op::VEX_Vmovdqu_ymm_ymmm256, to, from, None);
            return to;
        }
        let on = self.on();
        let (op, on) = match half {
            None => (Op::VEX_Vpmaskmovd_ymm_ymm_m256, on),
            Some(half) => (Op::VEX_Vpmaskmovq_ymm_ymm_m256, self.widened_mask(on, half)),
        };
        let to = self.temp();
        self.e.asm.v3(op, to, on, from, None);
        to
    }

    /// Stores the chunk of adjacent words that have been checked.
    fn store(&mut self, memory: &Memory, full: bool) {
        let halves = match stored(memory) {
            Some(Row::Narrow(_)) => 1,
            Some(Row::Wide(_)) => 2,
            None => 0,
        };
        for half in 0..halves {
            let wide = halves == 2;
            let src = memory.src[0];
            let value = if wide { self.wz(src, half) } else { self.nz(src) };
            self.e.asm.rm(Op::Mov_r64_rm64, RAX, pointer(STORED));
            let to = at(RAX, 32 * (halves * self.c + half) as i64);
            if full {
                self.e.asm.mr(Op::VEX_Vmovdqu_ymmm256_ymm, to, value);
                continue;
            }
            let on = self.on();
            let (op, on) = match wide {
                false => (Op::VEX_Vpmaskmovd_m256_ymm_ymm, on),
                true => (Op::VEX_Vpmaskmovq_m256_ymm_ymm, self.widened_mask(on, half)),
            };
            self.e.asm.mrr(op, to, on, value);
        }
    }

    /// Takes note of where a comparison holds, or where it does not.
    pub(super) fn collect(&mut self, dst: u32, (mask, negated): (Register, bool), combined: bool) {
        let known = self.tests.iter().position(|t| t.0 == dst);
        let number = known.unwrap_or_else(|| {
            self.tests.push((dst, negated));
            self.tests.len() - 1
        });
        let to = TESTED[number];
        if self.c == 0 {
            self.e.asm.rr(Op::VEX_Vmovmskps_r32_ymm, to, mask);
        } else {
            self.e.asm.rr(Op::VEX_Vmovmskps_r32_ymm, EAX, mask);
            self.e.asm.ri(Op::Shl_rm32_imm8, EAX, 8 * self.c as i32);
            self.e.asm.rr(Op::Or_r32_rm32, to, EAX);
        }
        if !combined {
            self.hold(mask, Key::Pred(dst, negated), false);
        }
    }

    /// A choice by a predicate.
    fn select(&mut self, wide: bool, dst: u32, src: &[Src; 3]) {
        let (mask, negated) = match src[2] {
            Src::Pred(i) => self.holds(i),
            Src::Const(bits) => {
                self.choose(wide, dst, src[usize::from(bits & 1 == 0)]);
                return;
            }
            uniform => {
                let value = self.nc(uniform);
                self.e.asm.v2i(Op::VEX_Vpslld_ymm_ymm_imm8, value, value, 31);
                self.e.asm.v2i(Op::VEX_Vpsrad_ymm_ymm_imm8, value, value, 31);
                (value, false)
            }
        };
        let [yes, no] = if negated { [src[1], src[0]] } else { [src[0], src[1]] };
        if !wide {
            let (no, yes) = (self.nz(no), self.n(yes));
            let to = self.temp();
            self.blendv(super::operand::BLEND, to, no, yes, mask);
            self.put(dst, to);
            return;
        }
        let halves = [0, 1].map(|half| {
            let mask = self.widened_mask(mask, half);
            let (no, yes) = (self.wz(no, half), self.w(yes, half));
            self.blendv(super::operand::BLEND64, mask, no, yes, mask);
            mask
        });
        self.put_halves(dst, halves);
    }

    fn choose(&mut self, wide: bool, dst: u32, src: Src) {
        if wide {
            let halves = [0, 1].map(|half| self.wc(src, half));
            self.put_halves(dst, halves);
        } else {
            let value = self.nc(src);
            self.put(dst, value);
        }
    }

    /// Both halves of a chunk of a row of 64-bit values, once all operands have been read.
    pub(super) fn put_halves(&mut self, dst: u32, halves: [Register; 2]) {
        for (half, value) in halves.into_iter().enumerate() {
            self.put_wide(dst, half, value);
        }
    }

    /// `no`, and `yes` where the highest bits of a mask are set.
    pub(super) fn blendv(&mut self, op: Op, to: Register, no: Register, yes: V, by: Register) {
        match yes {
            V::Z(yes) => self.e.asm.v3r(op, to, no, yes, by),
            V::M(base, d) | V::B(base, d) => {
                self.e.asm.v3mr(op, to, no, at(base, d), by);
            }
        }
    }

    pub(super) fn vvv(&mut self, op: Op, to: Register, a: Register, b: Register) {
        self.e.asm.v3(op, to, a, V::Z(b), None);
    }

    /// With a 32-bit constant as the second operand.
    pub(super) fn vvc(&mut self, op: Op, to: Register, a: Register, bits: u32) {
        let c = self.bits(bits);
        self.e.asm.v3(op, to, a, c, None);
    }

    /// With a 64-bit constant as the second operand.
    pub(super) fn vvq(&mut self, op: Op, to: Register, a: Register, bits: u64) {
        let c = self.bits64(bits);
        self.e.asm.v3(op, to, a, c, None);
    }

    pub(super) fn vi(&mut self, op: Op, to: Register, a: Register, by: i32) {
        self.e.asm.v2i(op, to, a, by);
    }

    pub(super) fn zero(&mut self, to: Register) {
        self.vvv(Op::VEX_Vpxor_ymm_ymm_ymmm256, to, to, to);
    }

    pub(super) fn constant(&mut self, to: Register, bits: u32) {
        let c = self.bits(bits);
        self.e.asm.v2(super::operand::COPY, to, c, None);
    }

    pub(super) fn copy(&mut self, to: Register, from: Register) {
        self.e.asm.v2(super::operand::COPY, to, V::Z(from), None);
    }
}

/// Where a result goes, if it is one row of 32-bit values.
pub(super) fn one_row(dst: &[Dst]) -> Option<u32> {
    match *dst {
        [Dst::Narrow(row)] => Some(row),
        _ => None,
    }
}

/// Whether an operation's second operand may be exchanged with its first.
pub(super) fn commutes(op: Op32) -> bool {
    matches!(
        op,
        Op32::Add
            | Op32::Mul
            | Op32::And
            | Op32::Or
            | Op32::Xor
            | Op32::MinU
            | Op32::MaxU
            | Op32::MinS
            | Op32::MaxS
    )
}
