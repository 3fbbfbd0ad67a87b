//! Warp collectives, CTA barriers, and special registers.
//!
//! A collective is executed here if all lanes that it waits for execute it together; otherwise the
//! launch is declined. A barrier waits for all threads of the CTA that have not ended; arrivals are
//! counted by thread, as in the exact engine.

use crate::Declined;
use crate::code::{Collective, Dst, Src};
use crate::machine::Machine;
use crate::row::{LANES, lanes};
use crate::step::StepOutcome;
use crate::warp::Warp;
use ir::Sreg;
use ir::mods::Barrier as BarrierKind;
use simt::LaneMask;

/// The number of barriers of a CTA.
pub const BARRIERS: usize = 16;

/// The threads that wait at a barrier.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barrier {
    pub(crate) arrived: u32,
    pub(crate) holding: u32,
    /// Waiting warps: the warp's number, its lanes, the kind of result, and where that goes.
    pub(crate) waiting: Vec<(usize, u32, BarrierKind, Dst)>,
}

impl Barrier {
    /// Removes all threads.
    #[inline]
    pub(crate) fn clear(&mut self) {
        (self.arrived, self.holding) = (0, 0);
        self.waiting.clear();
    }
}

impl Machine<'_> {
    /// Executes a barrier for the active lanes of a warp.
    pub(crate) fn barrier(
        &mut self,
        warp: &mut Warp,
        kind: BarrierKind,
        id: Src,
        pred: Option<Src>,
        dst: Dst,
        on: u32,
    ) -> Result<StepOutcome, Declined> {
        let first = warp.lane(id, on.trailing_zeros() as usize);
        let varies = !matches!(id, Src::Const(_) | Src::Line(_, 0, _));
        if varies && lanes(on).any(|lane| warp.lane(id, lane) != first) {
            return Err(Declined::Running("lanes are at different barriers"));
        }
        let id = usize::try_from(first).ok().filter(|&i| i < BARRIERS);
        let id = id.ok_or(Declined::Running("a barrier does not exist"))?;
        if let Some(detail) = &mut self.detail {
            detail.counts.barrier_arrivals += 1;
        }
        let holding = pred.map_or(0, |p| warp.pred(p) & on);
        let group = self.group;
        let cta = &mut self.ctas[self.slot];
        let barrier = &mut cta.storage.barriers[id];
        barrier.arrived += on.count_ones();
        barrier.holding += holding.count_ones();
        barrier.waiting.push((group, on, kind, dst));
        let arrived = barrier.arrived;
        if arrived < cta.live {
            warp.parked = true;
            return Ok(StepOutcome::Park);
        }
        self.screen_barrier(arrived)?;
        self.complete(id, Some(warp));
        Ok(StepOutcome::Next)
    }

    /// Completes a barrier and releases its threads. `now` is the running warp, which has been
    /// taken out of its CTA.
    fn complete(&mut self, id: usize, now: Option<&mut Warp>) {
        self.stats.barriers += 1;
        self.progress = true;
        let (group, cta) = (self.group, &mut self.ctas[self.slot]);
        let mut barrier = std::mem::take(&mut cta.storage.barriers[id]);
        let waiting: u32 = barrier.waiting.iter().map(|w| w.1.count_ones()).sum();
        let mut now = now;
        for (warp, on, kind, dst) in barrier.waiting.drain(..) {
            let value = match kind {
                BarrierKind::RedPopc => u64::from(barrier.holding),
                BarrierKind::RedAnd => u64::from(barrier.holding == waiting),
                _ => u64::from(barrier.holding > 0),
            };
            match now.as_deref_mut() {
                Some(running) if warp == group => running.put_all(dst, value, on),
                _ => {
                    let warp = &mut cta.storage.warps[warp];
                    warp.put_all(dst, value, on);
                    warp.parked = false;
                }
            }
        }
        // Keeps the allocation.
        cta.storage.barriers[id].waiting = barrier.waiting;
    }

    /// Completes the barriers that waited only for threads that have just ended.
    pub(crate) fn after_exit(&mut self) -> Result<(), Declined> {
        for id in 0..BARRIERS {
            let cta = &self.ctas[self.slot];
            let arrived = cta.storage.barriers[id].arrived;
            if arrived > 0 && arrived >= cta.live {
                self.screen_barrier(arrived)?;
                self.complete(id, None);
            }
        }
        Ok(())
    }

    /// Executes a collective for the active lanes.
    pub(crate) fn collective(
        &mut self,
        warp: &mut Warp,
        op: &Collective,
        on: u32,
    ) -> Result<(), Declined> {
        self.screen_collective(on)?;
        if let Some(detail) = &mut self.detail {
            detail.counts.collectives += 1;
        }
        let Some(members) = op.members else {
            finish(warp, op, on);
            return Ok(());
        };
        let awaited = warp.launched & !warp.exited;
        let mut rest = on;
        while rest != 0 {
            let mask = warp.lane(members, rest.trailing_zeros() as usize) as u32;
            let meeting: u32 =
                lanes(rest).filter(|&l| warp.lane(members, l) as u32 == mask).map(|l| 1 << l).sum();
            if meeting & !mask != 0 {
                return Err(Declined::Running("a lane is not a member of its collective"));
            }
            if mask & awaited & !meeting != 0 {
                return Err(Declined::Running("lanes come to a collective one after another"));
            }
            finish(warp, op, meeting);
            self.stats.member_collectives += 1;
            rest &= !meeting;
        }
        Ok(())
    }

    /// Returns a special register of a thread of the CTA, truncated to `bits` bits.
    pub(crate) fn scalar_sreg(&self, thread: u32, reg: Sreg, bits: u32) -> u64 {
        let cta = &self.ctas[self.slot];
        let value = self.context.sreg(reg, cta.id, self.slot, thread);
        value & u64::MAX >> (64 - bits.clamp(1, 64))
    }

    /// Reads a special register for the active lanes.
    pub(crate) fn sreg(&self, warp: &mut Warp, reg: Sreg, dst: Dst, bits: u32, on: u32) {
        let mask = u64::MAX >> (64 - bits.clamp(1, 64));
        let first = warp.first_thread;
        let cta = &self.ctas[self.slot];
        let of =
            |lane: usize| self.context.sreg(reg, cta.id, self.slot, first + lane as u32) & mask;
        match dst {
            Dst::Scalar(_) => warp.put_lane(dst, 0, of(0)),
            _ => warp.put_each(dst, on, of),
        }
    }
}

fn finish(warp: &mut Warp, op: &Collective, on: u32) {
    if let Some(pattern) = &op.pattern
        && let Src::Narrow(row) = op.src[0]
    {
        return shuffle(warp, op, (row, pattern), on);
    }
    if let &[Src::Pred(mask)] = op.src.as_slice()
        && let (Some(result), Some(&dst)) =
            (op.what.voted(on, warp.preds[mask as usize]), op.dst.first())
    {
        return warp.put_all(dst, result, on);
    }
    let mut operands = [[0u64; 3]; 32];
    for lane in lanes(on) {
        for (to, &src) in operands[lane].iter_mut().zip(&op.src) {
            *to = warp.lane(src, lane);
        }
    }
    let results = op.what.results(LaneMask::from_bits(u64::from(on)), &operands);
    for (i, &dst) in op.dst.iter().enumerate() {
        warp.put_each(dst, on, |lane| if i == 0 { results[lane].0 } else { results[lane].1 });
    }
}

/// Shuffles a row by a constant pattern.
fn shuffle(warp: &mut Warp, op: &Collective, (row, pattern): (u32, &([u8; 32], u32)), on: u32) {
    let own = warp.narrow[row as usize];
    let mut out = own;
    for (lane, to) in out.0.iter_mut().enumerate() {
        let from = pattern.0[lane] as usize % LANES;
        // An inactive source lane has no value here: the lane keeps its own.
        *to = if on >> from & 1 != 0 { own.0[from] } else { *to };
    }
    match op.dst.first() {
        Some(&Dst::Narrow(dst)) => warp.put_narrow(dst, &out, on, true),
        Some(&dst) => warp.put_each(dst, on, |lane| u64::from(out.0[lane])),
        None => {}
    }
    if let Some(&dst) = op.dst.get(1) {
        warp.put_each(dst, on, |lane| u64::from(pattern.1 >> lane & 1));
    }
}
