//! Vectors of AVX-512: a row of 32-bit values is two, one of 64-bit values four; masks are in mask
//! registers.
//!
//! | register | what |
//! |---|---|
//! | `k1`, `k2` | halves of the lanes that run |
//! | `k3`, `k4` | halves of the lanes that are on in a guarded step |
//! | `zmm0` .. `zmm7`, `k5` .. `k7` | scratch within a step |
//! | `zmm8` .. `zmm31` | assigned rows |

mod approx;
mod assign;
mod atomic;
mod collective;
mod float;
mod gather;
mod integer;
mod memory;
mod narrow;
mod noting;
mod operand;
mod recipe;
mod test;
mod wide;

use super::memory::{Access, Pattern};
use super::together::Words;
use super::{ALL, Emitter, On, Vectors};
use crate::asm::{Label, V, at};
pub(in crate::emit) use assign::Assignment;
use fast::code::{Collective, Dst, Kind, Memory, Src};
use iced_x86::{Code as Op, MemoryOperand, Register};
use vm::CollectiveKind;

use Register::{EAX, EBX, K1, K2, K3, K4, R9D, R10D, RAX};

/// Scratch vectors.
const T: [Register; 8] = [
    Register::ZMM0,
    Register::ZMM1,
    Register::ZMM2,
    Register::ZMM3,
    Register::ZMM4,
    Register::ZMM5,
    Register::ZMM6,
    Register::ZMM7,
];

/// The level.
pub(super) struct Avx512;

impl On {
    /// The halves of the lanes, in mask registers.
    fn halves(self) -> [Register; 2] {
        if self.lanes == R10D { [K3, K4] } else { [K1, K2] }
    }
}

impl Vectors for Avx512 {
    fn running(&self, e: &mut Emitter<'_>) {
        // Sooner than a shift of the mask register; the number of lanes follows.
        e.asm.rr(Op::Mov_r32_rm32, R9D, EBX);
        e.asm.rr(Op::VEX_Kmovd_kr_r32, K1, EBX);
        e.asm.ri(Op::Shr_rm32_imm8, R9D, 16);
        e.asm.rr(Op::VEX_Kmovd_kr_r32, K2, R9D);
    }

    fn guarded(&self, e: &mut Emitter<'_>) {
        e.asm.rr(Op::VEX_Kmovd_kr_r32, K3, R10D);
        e.asm.rri(Op::VEX_Kshiftrd_kr_kr_imm8, K4, K3, 16);
    }

    fn spill(&self, e: &mut Emitter<'_>) {
        for (register, base, offset) in e.assignment.places() {
            e.asm.mr(Op::EVEX_Vmovdqa32_zmmm512_k1z_zmm, at(base, offset), register);
        }
    }

    fn reload(&self, e: &mut Emitter<'_>) {
        for (register, base, offset) in e.assignment.places() {
            let from = V::M(base, offset);
            e.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, register, from, None);
        }
    }

    fn begin(&self, e: &mut Emitter<'_>) {
        for src in &e.code.cleared {
            let (narrow, wide) = match *src {
                Src::Narrow(row) => (Some(row), [None, None]),
                Src::Wide(row) => (None, [Some(row), None]),
                Src::Pair(low, high) => (None, [Some(low), Some(high)]),
                _ => continue,
            };
            let halves = narrow.into_iter().flat_map(|row| (0..2).map(move |half| (row, half)));
            let halves = halves.filter_map(|(row, half)| e.assignment.narrow(row, half));
            let quarters = wide.into_iter().flatten().flat_map(|row| (0..4).map(move |q| (row, q)));
            let quarters = quarters.filter_map(|(row, q)| e.assignment.wide(row, q));
            for register in halves.chain(quarters) {
                let zero = Op::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32;
                e.asm.v3(zero, register, register, V::Z(register), None);
            }
        }
    }

    fn execute(&self, e: &mut Emitter<'_>, kind: &Kind, on: On) -> bool {
        match kind {
            Kind::Narrow { op, dst, src } => e.narrow(*op, *dst, src, on),
            Kind::Wide { op, dst, src } => e.wide(*op, *dst, src, on),
            Kind::Low { dst, src } => e.low(*dst, *src, on),
            Kind::Test { test, wide, combine, dst, src } => {
                e.test(*test, *wide, *combine, *dst, src, on)
            }
            Kind::Select { wide, dst, src } => e.select(*wide, *dst, src, on),
            Kind::Generic(generic) => e.generic(generic, on),
            Kind::Rare { op, dst, src } => e.rare(*op, *dst, src, on),
            _ => false,
        }
    }

    fn splat(&self, e: &mut Emitter<'_>, dst: Dst, on: On) {
        match dst {
            Dst::Narrow(row) => {
                e.asm.rr(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, T[0], EAX);
                e.put_halves(row, on);
            }
            Dst::Wide(row) | Dst::Pair(row, _) => {
                e.asm.rr(Op::EVEX_Vpbroadcastq_zmm_k1z_r64, T[0], RAX);
                for quarter in 0..4 {
                    e.put_wide(row, quarter, on, T[0]);
                }
            }
            _ => {}
        }
    }

    fn splat_word(&self, e: &mut Emitter<'_>, row: u32, from: MemoryOperand, on: On) {
        e.asm.rm(Op::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, T[0], from);
        e.put_halves(row, on);
    }

    fn copy_row(&self, e: &mut Emitter<'_>, row: u32, on: On) {
        for half in 0..2 {
            let from = V::M(Register::RDI, 64 * half as i64);
            e.asm.v2(Op::EVEX_Vmovdqu32_zmm_k1z_zmmm512, T[0], from, None);
            e.put(row, half, on, T[0]);
        }
    }

    fn load(&self, e: &mut Emitter<'_>, access: &Access<'_>, on: On, cold: Label) {
        match access.pattern {
            Pattern::Adjacent => e.load_adjacent(access.memory, on),
            _ => e.load_any(access.memory, access.room, on, cold),
        }
    }

    fn store(&self, e: &mut Emitter<'_>, access: &Access<'_>, on: On, cold: Label) {
        match access.pattern {
            Pattern::Adjacent => e.store_adjacent(access.memory, on),
            _ => e.store_any(access.memory, access.room, on, cold),
        }
    }

    fn atomic_operands(&self, e: &mut Emitter<'_>, access: &Access<'_>, on: On, cold: Label) {
        e.atomic_operands(access, on, cold);
    }

    fn atomic_result(&self, e: &mut Emitter<'_>, dst: Dst, on: On) {
        e.atomic_result(dst, on);
    }

    fn apart(&self, e: &mut Emitter<'_>, memory: &Memory, wide: bool, on: On) {
        if wide { e.apart64(memory, on) } else { e.apart32(memory, on) }
    }

    fn unlike(&self, e: &mut Emitter<'_>, wide: bool, on: On, to: Label) {
        if wide { e.unlike64(on, to) } else { e.unlike32(on, to) }
    }

    fn put_addresses(&self, e: &mut Emitter<'_>, memory: &Memory, wide: bool, to: i64) {
        e.put_addresses(memory, wide, to);
    }

    fn parts(&self) -> usize {
        2
    }

    fn lay(&self, e: &mut Emitter<'_>, addr: Src, entry: usize, to: (Label, Label)) {
        e.lay(addr, entry, to);
    }

    fn has_masks(&self) -> bool {
        true
    }

    fn load_part(
        &self,
        e: &mut Emitter<'_>,
        (row, half): (u32, usize),
        from: MemoryOperand,
        words: Words,
    ) {
        let mask = ALL.halves()[half];
        match (words, e.assignment.narrow(row, half)) {
            (Words::All, register) => {
                // All lanes are on: nothing is to be kept.
                let to = register.unwrap_or(T[0]);
                e.asm.rm(Op::EVEX_Vmovdqu32_zmm_k1z_zmmm512, to, from);
                if register.is_none() {
                    let place = at(Register::R12, i64::from(row) * 128 + half as i64 * 64);
                    e.asm.mr(Op::EVEX_Vmovdqa32_zmmm512_k1z_zmm, place, to);
                }
            }
            (Words::One, _) => {
                e.asm.rm(Op::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, T[0], from);
                e.put(row, half, ALL, T[0]);
            }
            (Words::Masked, Some(to)) if e.blend => {
                let from = V::M(from.base, from.displacement);
                e.asm.v2(Op::EVEX_Vmovdqu32_zmm_k1z_zmmm512, to, from, Some(mask));
            }
            (Words::Masked, Some(to)) => {
                e.asm.v2z(Op::EVEX_Vmovdqu32_zmm_k1z_zmmm512, to, from, mask);
            }
            (Words::Masked, None) => {
                e.asm.v2z(Op::EVEX_Vmovdqu32_zmm_k1z_zmmm512, T[0], from, mask);
                e.put(row, half, ALL, T[0]);
            }
        }
    }

    fn store_part(
        &self,
        e: &mut Emitter<'_>,
        src: Src,
        half: usize,
        to: (usize, i64),
        masked: bool,
    ) {
        let value = e.nz(src, half, T[0]);
        let to = e.part_at(to, half);
        let op = Op::EVEX_Vmovdqu32_zmmm512_k1z_zmm;
        if masked {
            e.asm.store(op, to, value, ALL.halves()[half]);
        } else {
            e.asm.mr(op, to, value);
        }
    }

    fn collective(&self, e: &mut Emitter<'_>, what: &Collective, on: On) {
        match what.what.kind() {
            CollectiveKind::Shuffle(mode) => e.shuffle(mode, what, on),
            CollectiveKind::Redux { op, ty, .. } => e.redux(op, ty, what, on),
            _ => {}
        }
    }
}

impl Emitter<'_> {
    /// The same vector for both halves of a row.
    fn put_halves(&mut self, row: u32, on: On) {
        for half in 0..2 {
            self.put(row, half, on, T[0]);
        }
    }
}
