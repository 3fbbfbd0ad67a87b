//! Reports the counts and accesses that workers have gathered themselves in launches in detail.

use crate::code::{Block, Memory, Src, Step};
use crate::machine::Machine;
use crate::tier::{Addresses, Counts, Lines, Logged, Noted, Remembered};
use crate::{Line, WarpAccesses};
use simt::Pc;
use simt::memory::{Addr, Space};
use simt::observe::{Access, AccessKind, GroupId};

const LANES: usize = vm::WARP_SIZE as usize;
/// Logged accesses that are offered to the observer at once.
const AT_ONCE: usize = 32;

impl Machine<'_> {
    /// Collects the worker's counts, if the launch runs in detail.
    pub(crate) fn take_counts(&mut self) {
        if self.detail.is_some()
            && let Some(worker) = &mut self.worker
        {
            let counts = worker.counts();
            self.counted(&counts);
        }
    }

    /// Adds a worker's counts to the launch's, and reports its accesses.
    fn counted(&mut self, counts: &Counts) {
        let code = self.context.code;
        if let Some(detail) = &mut self.detail {
            detail.add_counts(code, counts);
        }
        let place = |step: usize| {
            let block = code.blocks.iter().find(|b: &&Block| b.steps.contains(&step))?;
            Some((block.first + (step - block.steps.start) as u64, &code.steps[step]))
        };
        for lines in &counts.lines {
            if let Some((pc, step)) = place(lines.step) {
                self.announce_lines(pc, step, lines);
            }
        }
        for noted in &counts.noted {
            if let Some((pc, step)) = place(noted.step) {
                self.announce_noted(pc, step, noted);
            }
        }
        for logged in counts.logged.iter().map(Remembered::logged) {
            if let Some((pc, step)) = place(logged.step) {
                self.announce_logged(pc, step, &logged);
            }
        }
    }

    /// Reports accesses of whole warps with affine addresses.
    pub(crate) fn announce_lines(&mut self, pc: u64, step: &Step, lines: &Lines) {
        let Some((op, kind)) = step.access() else { return };
        let stride = if let Src::Line(_, stride, _) = op.addr { stride } else { 0 };
        let at = op.space.window().map_or(lines.at, |w| w.start + u64::from(lines.at as u32));
        let space = Space::of(Addr(at));
        let at = if space.window().is_some() { at & 0xffff_ffff } else { at };
        let size = if kind == AccessKind::Atomic { op.word } else { op.bytes() as u32 };
        let (pc, times) = (Pc(pc), lines.times);
        let count = LANES as u16;
        let line = Line { pc, kind, space, size, first_thread: 0, lanes: count, at, stride, times };
        if self.watch.line(&line) {
            return;
        }
        let here: [(u16, u64); LANES] =
            std::array::from_fn(|i| (i as u16, at.wrapping_add_signed(i as i64 * stride)));
        let (group, order, scope, lanes) = (GroupId::default(), op.order, op.scope, &here[..]);
        let access = Access { group, pc, kind, space, order, scope, size, lanes };
        self.watch.accesses(&access, times);
    }

    /// Reports congruent accesses with their number.
    #[inline(always)]
    pub(crate) fn announce_noted(&mut self, pc: u64, step: &Step, noted: &Noted) {
        let Some((op, kind)) = step.access() else { return };
        let what = (op, kind, Pc(pc));
        if !self.warp_takes(what, noted.on, &mut noted.at.clone(), noted.times) {
            let address = |lane: usize| noted.at[lane];
            self.announce_lanes(what, GroupId::default(), (noted.on, address), noted.times);
        }
    }

    /// Reports logged accesses.
    #[inline(always)]
    pub(crate) fn announce_logged(&mut self, pc: u64, step: &Step, logged: &Logged<'_>) {
        let Some((op, kind)) = step.access() else { return };
        let offset = logged.offset;
        let mut low = [[0; LANES]; AT_ONCE];
        for (n, on) in logged.on.chunks(AT_ONCE).enumerate() {
            let at = logged.at.from(n * AT_ONCE);
            let mut page = Some(0);
            match at {
                Addresses::Narrow(at) => {
                    for (low, at) in low.iter_mut().zip(at) {
                        for lane in 0..LANES {
                            low[lane] = at[lane].wrapping_add(offset as u32);
                        }
                    }
                }
                Addresses::Wide(at) => page = halves(&mut low, on, at, offset),
            }
            let window = op.space.window().map(|window| window.start);
            let taken = match window.or(page.map(|page| u64::from(page) << u32::BITS)) {
                Some(start) => {
                    let at = &low[..on.len()];
                    self.warps_take((op, kind, Pc(pc)), Addr(start), on, at)
                }
                None => 0,
            };
            for (i, &on) in on.iter().enumerate().skip(taken) {
                let at = match at {
                    Addresses::Narrow(at) => at[i].map(|at| at.wrapping_add(offset as u32).into()),
                    Addresses::Wide(at) => at[i].map(|at| at.wrapping_add_signed(offset)),
                };
                let noted = Noted { step: logged.step, on, at, times: 1 };
                self.announce_noted(pc, step, &noted);
            }
        }
    }

    /// Offers accesses to the observer, in the space of the address `start`. Returns the length of
    /// the prefix that it has taken.
    #[inline(always)]
    fn warps_take(
        &mut self,
        (op, kind, pc): (&Memory, AccessKind, Pc),
        start: Addr,
        on: &[u32],
        at: &[[u32; LANES]],
    ) -> usize {
        let space = Space::of(start);
        let page = if space.window().is_some() { 0 } else { (start.0 >> u32::BITS) as u32 };
        let size = if kind == AccessKind::Atomic { op.word } else { op.bytes() as u32 };
        self.watch.warps(&WarpAccesses { pc, kind, space, size, on, at, page })
    }
}

/// Computes the low halves of addresses, and the high half if it is equal for all active lanes.
#[inline(always)]
fn halves(
    low: &mut [[u32; LANES]; AT_ONCE],
    on: &[u32],
    at: &[[u64; LANES]],
    offset: i64,
) -> Option<u32> {
    let (&first_on, first) = (on.first()?, at.first()?);
    let lane = first_on.trailing_zeros() as usize % LANES;
    let page = first[lane].wrapping_add_signed(offset) >> u32::BITS;
    let mut others = [0_u64; LANES];
    for ((low, at), on) in low.iter_mut().zip(at).zip(on) {
        for lane in 0..LANES {
            let at = at[lane].wrapping_add_signed(offset);
            low[lane] = at as u32;
            others[lane] |=
                (at >> u32::BITS ^ page) & 0_u64.wrapping_sub(u64::from(on >> lane & 1));
        }
    }
    (others == [0; LANES]).then_some(page as u32)
}
