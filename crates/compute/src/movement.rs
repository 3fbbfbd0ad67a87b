//! Moves, packing, and addresses.

use crate::{LaneFn, Settings, lane, map2};
use ir::mods::Space;
use ir::{Inst, Op, Ty};
use simt::memory::{Addr, CONST_HEAP, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};

pub(super) fn resolve(inst: &Inst, ty: Ty) -> Option<LaneFn> {
    Some(match inst.op {
        Op::Mov if ty == Ty::B128 => move_wide,
        Op::Selp if ty == Ty::B128 => select_wide,
        Op::Mov => lane!(|_e, a| a),
        Op::Pack => pack,
        Op::Unpack => unpack,
        // 32-bit generic addresses cannot name a window: what is left of one is cut to the
        // register.
        Op::CvtaTo => match window(inst.mods.space?) {
            Some(_) if ty == Ty::U32 => lane!(|e, a| a.wrapping_add(e.extra) & 0xffff_ffff),
            Some(_) => lane!(|e, a| a.wrapping_add(e.extra)),
            None => lane!(|_e, a| a),
        },
        Op::CvtaFrom => match window(inst.mods.space?) {
            Some(_) if ty == Ty::U32 => lane!(|e, a| a.wrapping_sub(e.extra) & 0xffff_ffff),
            Some(_) => lane!(|e, a| a.wrapping_sub(e.extra)),
            None => lane!(|_e, a| a),
        },
        Op::IsSpace => match inst.mods.space? {
            Space::Global => lane!(|_e, a| u64::from(space_of(a) == Space::Global)),
            Space::Const => lane!(|_e, a| u64::from(space_of(a) == Space::Const)),
            Space::Shared => lane!(|_e, a| u64::from(space_of(a) == Space::Shared)),
            Space::Local => lane!(|_e, a| u64::from(space_of(a) == Space::Local)),
            Space::Param => lane!(|_e, a| u64::from(space_of(a) == Space::Param)),
            Space::Generic => return None,
        },
        Op::Mapa => lane!(|_e, a, rank| cluster_address(a, rank)),
        Op::CtaRank => lane!(|_e, a| cta_rank(a)),
        _ => return None,
    })
}

/// Bits of a shared address above the offset in a CTA's shared memory: the CTA's rank in its
/// cluster.
const RANK: u32 = 24;

/// The rank of the CTA that a shared address, or a generic one in the shared window, belongs to.
#[must_use]
const fn cta_rank(address: u64) -> u64 {
    address >> RANK & 0xff
}

/// The address of the same byte in the shared memory of the CTA of a rank.
#[must_use]
const fn cluster_address(address: u64, rank: u64) -> u64 {
    address & !(0xff << RANK) | (rank & 0xff) << RANK
}

/// First generic address of a space that is a window; `None` where generic and specific addresses
/// are the same.
pub(crate) fn window(space: Space) -> Option<u64> {
    match space {
        Space::Shared => Some(SHARED_WINDOW.start),
        Space::Local => Some(LOCAL_WINDOW.start),
        Space::Param => Some(PARAM_WINDOW.start),
        Space::Global | Space::Const | Space::Generic => None,
    }
}

/// The space that a generic address lies in.
#[must_use]
pub fn space_of(address: u64) -> Space {
    match simt::memory::resolve(Addr(address)).0 {
        _ if CONST_HEAP.contains(&address) => Space::Const,
        Space::Shared => Space::Shared,
        Space::Local => Space::Local,
        Space::Param => Space::Param,
        _ => Space::Global,
    }
}

fn move_wide(_: &Settings, sources: &[u64], results: &mut [u64], lanes: usize) {
    map2(sources, results, lanes, |[low, high]| (low, high));
}

fn select_wide(_: &Settings, sources: &[u64], results: &mut [u64], lanes: usize) {
    map2(sources, results, lanes, |[a, ah, b, bh, p]| if p != 0 { (a, ah) } else { (b, bh) });
}

/// Joins all sources, parts of `e.extra` bits, into one or two words.
fn pack(e: &Settings, sources: &[u64], results: &mut [u64], lanes: usize) {
    let bits = e.extra as u32;
    for lane in 0..lanes {
        let mut whole = 0u128;
        for (i, row) in sources.chunks(lanes).enumerate() {
            whole |= u128::from(row[lane]) << (bits * i as u32);
        }
        for (i, row) in results.chunks_mut(lanes).enumerate() {
            row[lane] = (whole >> (64 * i)) as u64;
        }
    }
}

/// Splits one or two words into parts of `e.extra` bits.
fn unpack(e: &Settings, sources: &[u64], results: &mut [u64], lanes: usize) {
    let bits = e.extra as u32;
    let mask = u64::MAX >> (64 - bits);
    for lane in 0..lanes {
        let mut whole = u128::from(sources[lane]);
        if e.sources > 1 {
            whole |= u128::from(sources[lanes + lane]) << 64;
        }
        for (i, row) in results.chunks_mut(lanes).enumerate() {
            row[lane] = (whole >> (bits * i as u32)) as u64 & mask;
        }
    }
}
