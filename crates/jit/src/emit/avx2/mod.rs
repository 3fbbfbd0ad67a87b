//! Vectors of AVX2 and FMA, for hosts without AVX-512: a row of 32-bit values is four, one of
//! 64-bit values eight.
//!
//! There are no mask registers and half as many vector registers, so steps are compiled in groups,
//! a quarter of the warp at a time ([`group`]); rows are in memory between groups. Masks become
//! vectors where a blend needs them; each group that blends has a second form for warps all of
//! whose lanes are on.
//!
//! | register | what |
//! |---|---|
//! | `ymm0` .. `ymm15` | chunks of rows, scratch |
//! | `esi`, `edi`, `r8`, `edx` | predicates that a group computes |
//! | `ymm8` .. `ymm15` | distances between addresses that are noted |

mod approx;
mod cache;
mod chunk;
mod float;
mod group;
mod memory;
mod narrow;
mod noting;
mod operand;
mod recipe;
mod test;
mod warp;
mod wide;

use super::memory::{Access, Pattern};
use super::together::Words;
use super::{Emitter, On, Vectors};
use crate::asm::{Label, at};
use fast::code::{Collective, Dst, Kind, Memory, Src};
use iced_x86::{Code as Op, MemoryOperand, Register};
use vm::CollectiveKind;

use Register::{EAX, R12, R13, RAX, XMM0, YMM0};

/// The level.
pub(super) struct Avx2;

impl Vectors for Avx2 {
    fn running(&self, _: &mut Emitter<'_>) {}

    fn guarded(&self, _: &mut Emitter<'_>) {}

    fn spill(&self, _: &mut Emitter<'_>) {}

    fn reload(&self, _: &mut Emitter<'_>) {}

    fn group(&self, e: &mut Emitter<'_>, block: usize, first: usize) -> usize {
        group::compile(e, block, first)
    }

    fn execute(&self, e: &mut Emitter<'_>, kind: &Kind, on: On) -> bool {
        match kind {
            Kind::Generic(generic) => group::scalar(e, generic, on),
            // All that there is code for is in groups.
            _ => false,
        }
    }

    fn splat(&self, e: &mut Emitter<'_>, dst: Dst, on: On) {
        if let Dst::Narrow(_) = dst {
            e.asm.rr(Op::VEX_Vmovd_xmm_rm32, XMM0, EAX);
            e.asm.rr(Op::VEX_Vpbroadcastd_ymm_xmmm32, YMM0, XMM0);
        } else {
            e.asm.rr(Op::VEX_Vmovq_xmm_rm64, XMM0, RAX);
            e.asm.rr(Op::VEX_Vpbroadcastq_ymm_xmmm64, YMM0, XMM0);
        }
        memory::put_all(e, dst, on);
    }

    fn splat_word(&self, e: &mut Emitter<'_>, row: u32, from: MemoryOperand, on: On) {
        e.asm.rm(Op::VEX_Vpbroadcastd_ymm_xmmm32, YMM0, from);
        memory::put_all(e, Dst::Narrow(row), on);
    }

    fn copy_row(&self, e: &mut Emitter<'_>, row: u32, on: On) {
        memory::copy_row(e, Dst::Narrow(row), on);
    }

    fn load(&self, e: &mut Emitter<'_>, access: &Access<'_>, on: On, cold: Label) {
        match access.pattern {
            Pattern::Adjacent => memory::load_adjacent(e, access.memory, on),
            _ => memory::load_any(e, access, on, cold),
        }
    }

    fn store(&self, e: &mut Emitter<'_>, access: &Access<'_>, on: On, cold: Label) {
        match access.pattern {
            Pattern::Adjacent => memory::store_adjacent(e, access.memory, on),
            _ => memory::store_any(e, access, on, cold),
        }
    }

    fn atomic_operands(&self, e: &mut Emitter<'_>, access: &Access<'_>, on: On, cold: Label) {
        memory::atomic_operands(e, access, on, cold);
    }

    fn atomic_result(&self, e: &mut Emitter<'_>, dst: Dst, on: On) {
        memory::atomic_result(e, dst, on);
    }

    fn apart(&self, e: &mut Emitter<'_>, memory: &Memory, wide: bool, on: On) {
        noting::apart(e, memory, wide, on);
    }

    fn unlike(&self, e: &mut Emitter<'_>, wide: bool, on: On, to: Label) {
        noting::unlike(e, wide, on, to);
    }

    fn put_addresses(&self, e: &mut Emitter<'_>, memory: &Memory, wide: bool, to: i64) {
        noting::put_addresses(e, memory, wide, to);
    }

    fn parts(&self) -> usize {
        chunk::CHUNKS
    }

    fn lays_once(&self) -> bool {
        true
    }

    fn lay(&self, e: &mut Emitter<'_>, addr: Src, entry: usize, to: (Label, Label)) {
        memory::lay(e, addr, entry, to);
    }

    fn load_part(
        &self,
        e: &mut Emitter<'_>,
        (row, part): (u32, usize),
        from: MemoryOperand,
        words: Words,
    ) {
        let op = if words == Words::One {
            Op::VEX_Vbroadcastss_ymm_m32
        } else {
            Op::VEX_Vmovdqu_ymm_ymmm256
        };
        e.asm.rm(op, YMM0, from);
        let to = at(R12, 128 * i64::from(row) + 32 * part as i64);
        e.asm.mr(Op::VEX_Vmovdqa_ymmm256_ymm, to, YMM0);
    }

    fn store_part(
        &self,
        e: &mut Emitter<'_>,
        src: Src,
        part: usize,
        to: (usize, i64),
        _masked: bool,
    ) {
        memory::store_part(e, src, part, to);
    }

    fn collective(&self, e: &mut Emitter<'_>, what: &Collective, on: On) {
        match what.what.kind() {
            CollectiveKind::Shuffle(mode) => warp::shuffle(e, mode, what, on),
            CollectiveKind::Redux { op, ty, .. } => warp::redux(e, op, ty, what, on),
            _ => {}
        }
    }
}

/// Where a row is in memory.
fn row(dst: Dst) -> Option<(Register, i64)> {
    match dst {
        Dst::Narrow(i) => Some((R12, 128 * i64::from(i))),
        Dst::Wide(i) | Dst::Pair(i, _) => Some((R13, 256 * i64::from(i))),
        _ => None,
    }
}
