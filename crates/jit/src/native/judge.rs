//! The log of a worker in screened launches, and what judges it.

use super::calls::{Host, call};
use super::exempt::ExemptCells;
use super::patterns::Patterns;
use crate::frame::Frame;
use crate::machine_code::Facts;
use crate::screen_log::{CHUNKS, ExemptSite, LogAddresses, LogChunk, LogSite, MOST_CHUNKS};
use crate::warp_context::WarpContext;
use fast::{AccessScreen, ExemptUntil, ScreenedAddresses, Verdict};
use vector::Scale;
use vm::WARP_SIZE;

const LANES: usize = WARP_SIZE as usize;

/// The memory that code logs accesses in.
pub(super) struct Log {
    chunks: Box<[LogChunk]>,
    /// Whether an access or a barrier was refused.
    pub(super) refused: bool,
    patterns: Patterns,
    exempt: ExemptCells,
}

impl Log {
    pub(super) fn new(facts: &Facts) -> Self {
        let chunks = vec![LogChunk([0; 8]); CHUNKS + MOST_CHUNKS].into();
        let exempt = ExemptCells::new(facts.exempt_sites.len());
        Self { chunks, refused: false, patterns: Patterns::default(), exempt }
    }

    /// Points the frame to an empty log for a visit to a CTA in a slot.
    pub(super) fn begin(&mut self, frame: &mut Frame, slot: usize, cta: u64) {
        self.exempt.begin(slot, cta);
        frame.exempt = self.exempt.table();
        frame.log = self.chunks.as_mut_ptr();
        frame.log_end = frame.log.wrapping_add(CHUNKS);
    }
}

/// Judges the log of a visit, and empties it.
pub(super) fn judge_log(host: &mut Host<'_, '_, '_>, frame: &mut Frame) {
    let Some(log) = host.log else { return };
    // SAFETY: the log belongs to the runner, which is borrowed for the visit; otherwise only code
    // accesses it, which has written whole entries up to where the frame points.
    let (Log { refused, patterns, exempt, .. }, chunks) = unsafe {
        let log = &mut *log;
        let first = log.chunks.as_ptr();
        let count = frame.log.cast_const().offset_from(first);
        (log, std::slice::from_raw_parts(first, count.max(0) as usize))
    };
    let Facts { log_sites: sites, exempt_sites, .. } = &host.code.facts;
    if !*refused && let Some(screen) = host.visit.screening() {
        let entries = Entries { chunks, sites, exempt_sites, warps: frame.warps as usize };
        *refused = !fast::wide(
            #[inline(always)]
            || entries.judge(screen, patterns, exempt),
        );
    }
    frame.log = chunks.as_ptr().cast_mut();
}

/// Implements [`Frame::judge`].
pub(super) extern "C" fn judge(frame: *mut Frame) {
    call(frame, |host, frame| {
        judge_log(host, frame);
        Ok(Some(()))
    });
}

/// Implements [`Frame::completed`].
pub(super) extern "C" fn completed(frame: *mut Frame, _: u32, arrived: u32) {
    call(frame, |host, frame| {
        judge_log(host, frame);
        if host.visit.screen_barrier(arrived).is_err() {
            host.refuse();
        }
        if let Some(log) = host.log {
            // SAFETY: the log belongs to the runner, which is borrowed for the visit; otherwise
            // only code accesses it.
            unsafe { (*log).exempt.end(ExemptUntil::Barrier) };
        }
        Ok(Some(()))
    });
}

struct Entries<'l> {
    chunks: &'l [LogChunk],
    sites: &'l [LogSite],
    exempt_sites: &'l [ExemptSite],
    /// The address of the first warp's context.
    warps: usize,
}

impl Entries<'_> {
    /// Judges all entries, up to the first that is refused.
    #[inline(always)]
    fn judge(
        &self,
        mut screen: AccessScreen<'_>,
        patterns: &mut Patterns,
        exempt: &mut ExemptCells,
    ) -> bool {
        let code = screen.code();
        let mut rest = self.chunks;
        while let Some((head, behind)) = rest.split_first() {
            let [what, warp, address, ..] = head.0;
            let number = what as u32 as usize;
            let Some(site) = self.sites.get(number) else { return false };
            let on = (what >> 32) as u32;
            let rows = site.addresses.chunks() - 1;
            let Some((row, next)) = behind.split_at_checked(rows) else { return false };
            rest = next;
            let access = code.steps.get(site.step as usize).and_then(|step| step.access());
            let Some((memory, kind)) = access.filter(|_| on != 0) else { continue };
            let warp = (warp as usize).wrapping_sub(self.warps) / size_of::<WarpContext>();
            let first_thread = (warp * LANES) as u32;
            let mut by_lane;
            let at = match site.addresses {
                LogAddresses::Line(stride) => ScreenedAddresses::Line { first: address, stride },
                LogAddresses::Narrow(scale) | LogAddresses::Wide(scale) => {
                    by_lane = [0; LANES];
                    match row.len() {
                        2 => narrow(row, scale, address, &mut by_lane),
                        _ => wide(row, scale, address, &mut by_lane),
                    }
                    match patterns.find(number, on, &by_lane) {
                        Some((at, pattern)) => ScreenedAddresses::Pattern { at, pattern },
                        None => ScreenedAddresses::Each(&by_lane),
                    }
                }
            };
            match screen.judge(first_thread, (memory, kind), on, at) {
                Verdict::Refused => return false,
                Verdict::Idle if exempt.is_asked(site.cell) => {
                    let found = screen.exempt(first_thread, (memory, kind), on, at);
                    let accesses = self.exempt_sites.get(site.cell as usize);
                    if let (Some(found), Some(&accesses)) = (found, accesses) {
                        exempt.set(site.cell, accesses, &found);
                    }
                }
                Verdict::Idle | Verdict::Passed => {}
            }
        }
        true
    }
}

/// Addresses by lane from a row of 32-bit numbers.
#[inline(always)]
fn narrow(row: &[LogChunk], scale: Scale, base: u64, to: &mut [u64; LANES]) {
    for (chunk, to) in row.iter().zip(to.as_chunks_mut::<16>().0) {
        // SAFETY: both are plain numbers.
        let numbers: [u32; 16] = unsafe { std::mem::transmute(chunk.0) };
        // With loops of their own, both are vectors.
        if scale.signed {
            for (to, number) in to.iter_mut().zip(numbers) {
                *to = base.wrapping_add((number as i32 as u64) << scale.shift);
            }
        } else {
            for (to, number) in to.iter_mut().zip(numbers) {
                *to = base.wrapping_add(u64::from(number) << scale.shift);
            }
        }
    }
}

/// Addresses by lane from a row of 64-bit numbers.
#[inline(always)]
fn wide(row: &[LogChunk], scale: Scale, base: u64, to: &mut [u64; LANES]) {
    for (chunk, to) in row.iter().zip(to.as_chunks_mut::<8>().0) {
        for (number, to) in chunk.0.iter().zip(to) {
            *to = base.wrapping_add(number << scale.shift);
        }
    }
}
