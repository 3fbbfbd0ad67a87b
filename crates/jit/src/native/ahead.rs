//! Rounds over warps that code begins by itself: further ones of the visited CTA, and first ones of
//! CTAs that follow it when it has ended. The host says before how many, and takes note when code
//! calls it or returns.

use super::calls::Host;
use crate::frame::Frame;
use fast::Visit;
use fast::code::{Code, Kind};
use ir::Sreg;
use vector::translate::is_by_warp;

/// A special register whose value is a coordinate of the CTA.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coordinate {
    /// Its index among the CTA's special registers, and its axis.
    index: usize,
    axis: usize,
    bits: u32,
}

/// Returns the coordinates among special registers that steps read; `None` if the value of another
/// one may differ by CTA.
pub(super) fn coordinates(code: &Code, sregs: &[u32]) -> Option<Vec<Coordinate>> {
    let mut list = Vec::new();
    for (index, &step) in sregs.iter().enumerate() {
        let Kind::Sreg { reg, bits, .. } = code.steps[step as usize].kind else { return None };
        let axis = match reg {
            Sreg::CtaidX => 0,
            Sreg::CtaidY => 1,
            Sreg::CtaidZ => 2,
            reg if is_by_warp(reg) || is_of_launch(reg) => continue,
            _ => return None,
        };
        list.push(Coordinate { index, axis, bits });
    }
    Some(list)
}

/// Returns whether a special register has the same value in all CTAs.
fn is_of_launch(reg: Sreg) -> bool {
    use Sreg::{NWarpId, NctaidX, NctaidY, NctaidZ, NtidX, NtidY, NtidZ};
    matches!(reg, NtidX | NtidY | NtidZ | NctaidX | NctaidY | NctaidZ | NWarpId)
}

/// The values of special registers of the visited CTA and of those that may follow it.
#[derive(Debug, Default)]
pub(super) struct SregsAhead {
    values: Vec<u64>,
}

impl SregsAhead {
    /// Computes them for so many more CTAs; returns them.
    fn set(&mut self, coordinates: &[Coordinate], host: &Host<'_, '_, '_>, count: u32) -> &[u64] {
        self.values.clear();
        for ahead in 0..=count {
            let first = self.values.len();
            self.values.extend_from_slice(&host.contexts.cta_sregs);
            let id = host.visit.coordinates_ahead(ahead.into());
            for &Coordinate { index, axis, bits } in coordinates {
                let mask = u64::MAX >> (64 - bits.clamp(1, 64));
                self.values[first + index] = u64::from(id[axis]) & mask;
            }
        }
        &self.values
    }
}

/// Allows code so many rounds, as far as the host need not see to what is between them, and some of
/// these to be first ones of CTAs that follow.
pub(super) fn allow(
    host: &Host<'_, '_, '_>,
    frame: &mut Frame,
    sregs: &mut SregsAhead,
    (rounds, ctas): (u32, u32),
) {
    let code = host.code;
    frame.cta_sregs = host.contexts.cta_sregs.as_ptr();
    (frame.rounds, frame.followed) = (0, 0);
    let rounds = rounds.min(host.visit.rounds_left());
    frame.may_stay = u32::from(host.visit.is_only_resident() && host.contexts.are_warps_whole());
    frame.threads = 32 * host.contexts.warps.len() as u32;
    frame.ctas_ahead = match &code.coordinates {
        Some(coordinates) if ctas.min(rounds) > 0 && may_follow(host, frame) => {
            let ahead = host.visit.ctas_ahead().min(ctas.min(rounds).into()) as u32;
            if ahead > 0 {
                frame.cta_sregs = sregs.set(coordinates, host, ahead).as_ptr();
            }
            ahead
        }
        _ => 0,
    };
    frame.rounds_left = if frame.ctas_ahead > 0 || frame.may_stay != 0 { rounds } else { 0 };
}

/// Returns whether CTAs can begin in code: all warps have all lanes, the host sees to no exits,
/// no region is valid for one CTA alone, and shared memory is whole vectors.
fn may_follow(host: &Host<'_, '_, '_>, frame: &Frame) -> bool {
    let visit: &Visit<'_, '_> = host.visit;
    visit.launched(host.contexts.warps.len() - 1) == u32::MAX
        && !visit.code().has_cluster_barriers
        && host.cta_windows.is_empty()
        && frame.shared_len.is_multiple_of(32)
}

/// Takes note of the CTAs that code has begun, and has it begin no more. Returns their number.
pub(super) fn catch_up(host: &mut Host<'_, '_, '_>, frame: &mut Frame) -> u32 {
    (frame.rounds_left, frame.ctas_ahead) = (0, 0);
    let followed = std::mem::take(&mut frame.followed);
    if followed == 0 {
        return 0;
    }
    host.visit.follow_ahead(followed);
    host.contexts.cta = host.visit.cta();
    let sregs = host.contexts.cta_sregs.len();
    // SAFETY: code has set the pointer to the values of the CTA, which `allow` has stored; the
    // runner keeps them.
    let values = unsafe { std::slice::from_raw_parts(frame.cta_sregs, sregs) };
    host.contexts.cta_sregs.copy_from_slice(values);
    followed
}
